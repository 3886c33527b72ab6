// SPDX-License-Identifier: Apache-2.0
// The places of random words in arrays.
#pragma once

#include <stdint.h>

/// Returns the dimension along which the two words of a Threefry counter are neighbours: the first
/// of even size, else the largest, whose last element has no neighbour.
/// source: XLA's expansion of rng_bit_generator
uint32_t hlo_threefry_dimension(uint32_t rank, const int64_t* dims);
