// SPDX-License-Identifier: Apache-2.0
// Fuzzes the bytecode reader, and the verifier and printer on its output.
#include "base/strbuf.h"
#include "frontend/bytecode/bytecode_mutator.inl"
#include "ir/infer.h"
#include "ir/print.h"

enum { USED_INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_bytecode_read(data, size, NULL, &module);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    return 0;
  }
  if (size <= USED_INPUT_MAX) {
    hlo_diag_t diag;
    hlo_diag_init(&diag, NULL, NULL, 0);
    hlo_status_release(hlo_module_verify(module, &diag));
    hlo_diag_deinit(&diag);
    hlo_strbuf_t text = {0};
    hlo_print_module(module, &(hlo_print_options_t){.elide_literals_above = 64}, &text);
    hlo_strbuf_deinit(&text);
  }
  hlo_module_release(module);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutate_bytecode(data, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  return splice_bytecode(first, first_size, second, second_size, out, max_size, seed);
}
