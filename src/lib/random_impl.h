// SPDX-License-Identifier: Apache-2.0
// Variants of random.h by instruction set; all give the same bits.
#pragma once

#include "lib/random.h"

typedef struct hlo_random_loops {
  void (*threefry)(uint64_t key, uint64_t counter, uint32_t words[2][HLO_RANDOM_BLOCK]);
  void (*philox)(uint64_t key, const uint64_t counter[2], uint32_t words[HLO_RANDOM_BLOCK][4]);
} hlo_random_loops_t;

extern const hlo_random_loops_t hlo_random_loops_generic;
extern const hlo_random_loops_t hlo_random_loops_avx2;
extern const hlo_random_loops_t hlo_random_loops_avx512;
