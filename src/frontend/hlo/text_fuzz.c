// SPDX-License-Identifier: Apache-2.0
// Fuzzes HLO text: the reader accepts or refuses any text, accepted modules can be verified, and
// verified ones are written as text that reads back and is then written the same.
#include <stdlib.h>
#include <string.h>

#include "frontend/hlo/hlo.h"
#include "ir/infer.h"
#include "ir/text_mutator.inl"

static bool is_memory(hlo_status_t status) {
  return hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED;
}

static void write_and_read(const hlo_module_t* module) {
  hlo_strbuf_t text = {0}, again = {0};
  hlo_module_t* back = NULL;
  hlo_status_t status = hlo_hlo_text_print(module, NULL, &text);
  if (hlo_status_is_ok(status)) {
    hlo_status_release(status);
    status = hlo_hlo_text_read(hlo_strbuf_text(&text), text.length, "back.hlo", NULL, NULL, &back);
    if (!hlo_status_is_ok(status) && !is_memory(status)) abort();
  }
  if (back) {
    hlo_status_release(status);
    status = hlo_hlo_text_print(back, NULL, &again);
    if (hlo_status_is_ok(status) && strcmp(hlo_strbuf_text(&text), hlo_strbuf_text(&again)) != 0) {
      abort();
    }
    hlo_module_release(back);
  }
  hlo_status_release(status);
  hlo_strbuf_deinit(&text);
  hlo_strbuf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_hlo_text_read((const char*)data, size, "fuzz.hlo", NULL, NULL, &module);
  if (hlo_status_is_ok(status)) {
    hlo_diag_t diag;
    hlo_diag_init(&diag, "fuzz.hlo", NULL, 0);
    status = hlo_module_verify(module, &diag);
    hlo_diag_deinit(&diag);
    if (hlo_status_is_ok(status)) write_and_read(module);
    hlo_module_release(module);
  }
  hlo_status_release(status);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return seed % 2 ? mutate_text(data, size, max_size, seed / 2)
                  : LLVMFuzzerMutate(data, size, max_size);
}
