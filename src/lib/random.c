// SPDX-License-Identifier: Apache-2.0
// Selects the variant of random.h.
#include "lib/isa.h"
#include "lib/random_impl.h"

static const hlo_random_loops_t* loops(void) {
  switch (hlo_isa()) {
#if defined(__x86_64__)
    case HLO_ISA_AVX512: return &hlo_random_loops_avx512;
    case HLO_ISA_AVX2: return &hlo_random_loops_avx2;
#endif
    default: return &hlo_random_loops_generic;
  }
}

void hlo_random_threefry(uint64_t key, uint64_t counter, uint32_t words[2][HLO_RANDOM_BLOCK]) {
  loops()->threefry(key, counter, words);
}

void hlo_random_philox(uint64_t key, const uint64_t counter[2],
                       uint32_t words[HLO_RANDOM_BLOCK][4]) {
  loops()->philox(key, counter, words);
}
