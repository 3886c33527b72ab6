// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of HLO protos: any bytes are read or refused, and what is read can be verified.
#include "base/wire_mutator.inl"
#include "frontend/hlo/hlo.h"
#include "ir/infer.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_hlo_proto_read(data, size, &module);
  if (hlo_status_is_ok(status)) {
    hlo_diag_t diag;
    hlo_diag_init(&diag, "fuzz.pb", NULL, 0);
    hlo_status_release(hlo_module_verify(module, &diag));
    hlo_diag_deinit(&diag);
    hlo_module_release(module);
  }
  hlo_status_release(status);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutate_wire(data, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  hlo_wire_bytes_t message = {first, first_size}, donor = {second, second_size};
  return mutate_wire_from(message, donor, out, max_size, seed);
}
