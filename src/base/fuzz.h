// SPDX-License-Identifier: Apache-2.0
// Shared by all fuzz targets: libFuzzer's entry points, and random choices for mutators.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed);
/// libFuzzer's own mutations, the fallback of mutators.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

/// A linear congruential generator, whose upper half is good enough for choices.
static inline uint32_t hlo_fuzz_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}
