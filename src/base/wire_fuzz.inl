// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry points for a target whose inputs are protobuf messages.
#include "base/wire_mutator.inl"

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutate_wire(data, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  hlo_wire_bytes_t message = {first, first_size}, donor = {second, second_size};
  return mutate_wire_from(message, donor, out, max_size, seed);
}
