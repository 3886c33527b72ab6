// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of HLO text: any text is read or refused, and what is read can be verified.
#include "frontend/hlo/hlo.h"
#include "ir/infer.h"
#include "ir/text_mutator.inl"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_hlo_text_read((const char*)data, size, "fuzz.hlo", NULL, &module);
  if (hlo_status_is_ok(status)) {
    hlo_diag_t diag;
    hlo_diag_init(&diag, "fuzz.hlo", NULL, 0);
    hlo_status_release(hlo_module_verify(module, &diag));
    hlo_diag_deinit(&diag);
    hlo_module_release(module);
  }
  hlo_status_release(status);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return seed % 2 ? mutate_text(data, size, max_size, seed / 2)
                  : LLVMFuzzerMutate(data, size, max_size);
}
