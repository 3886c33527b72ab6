// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary bytes as compile options: parsed or refused, with bounded memory.
#include "base/wire_mutator.inl"
#include "compiler/compile_options.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, ((size_t)16 << 20) + 64 * size);
  hlo_compile_options_t options;
  hlo_status_release(hlo_compile_options_parse(data, size, &arena, &options));
  hlo_arena_deinit(&arena);
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
