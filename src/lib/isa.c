// SPDX-License-Identifier: Apache-2.0
// Selects the instruction set of the library functions.
#include "lib/isa.h"

#include <stdatomic.h>

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
  enum { UNKNOWN, NO, YES };
  // relaxed: every thread computes the same value, and nothing else is published with it
  static atomic_int known = UNKNOWN;
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == UNKNOWN) {
    hlo_cpu_t cpu = {0};
    hlo_status_release(hlo_cpu_detect(NULL, &cpu));  // cannot fail
    state = hlo_cpu_has(&cpu, HLO_CPU_AVX512BF16) ? YES : NO;
    atomic_store_explicit(&known, state, memory_order_relaxed);
  }
  return state == YES && hlo_isa() == HLO_ISA_AVX512;
}
