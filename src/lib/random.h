// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: bits that are a function of a key and a counter.
// source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
#pragma once

#include <stdint.h>

enum { HLO_RANDOM_BLOCK = 32 };  // counters per call of the functions below

/// Threefry-2x32 with 20 rounds on counters counter, counter + 1, ...: two words each, in two rows.
/// threads: safe
void hlo_random_threefry(uint64_t key, uint64_t counter, uint32_t words[2][HLO_RANDOM_BLOCK]);
/// Philox-4x32 with 10 rounds on the same number of 128-bit counters: four consecutive words each.
void hlo_random_philox(uint64_t key, const uint64_t counter[2],
                       uint32_t words[HLO_RANDOM_BLOCK][4]);
