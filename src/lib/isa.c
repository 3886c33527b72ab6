// SPDX-License-Identifier: Apache-2.0
// Selects the instruction set of the library functions.
#include "lib/isa.h"

#include "base/env.h"

hlo_isa_t hlo_isa(void) {
  switch (hlo_env_level()) {
    case HLO_CPU_LEVEL_GENERIC:
    case HLO_CPU_LEVEL_SSE2:
    case HLO_CPU_LEVEL_SSE4: return HLO_ISA_GENERIC;
    case HLO_CPU_LEVEL_AVX2: return HLO_ISA_AVX2;
    default: return HLO_ISA_AVX512;
  }
}

bool hlo_isa_has_pairs(void) {
  return hlo_env_has_pairs();
}
