// SPDX-License-Identifier: Apache-2.0
// Choice of the kernels' instruction set.
#include "kernels/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static hlo_isa_t detect(void) {
#if defined(__x86_64__)
  hlo_isa_t best = HLO_ISA_GENERIC;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = HLO_ISA_AVX2;
  if (best == HLO_ISA_AVX2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    best = HLO_ISA_AVX512;
  }
  const char* limit = getenv("HLOCC_CPU");
  if (!limit) return best;
  if (strcmp(limit, "generic") == 0) return HLO_ISA_GENERIC;
  if (strcmp(limit, "avx2") == 0 && best > HLO_ISA_AVX2) return HLO_ISA_AVX2;
  return best;
#else
  return HLO_ISA_GENERIC;
#endif
}

hlo_isa_t hlo_isa(void) {
  // relaxed: every thread computes the same value, and nothing else is published with it
  static atomic_int known = -1;
  int isa = atomic_load_explicit(&known, memory_order_relaxed);
  if (isa < 0) {
    isa = (int)detect();
    atomic_store_explicit(&known, isa, memory_order_relaxed);
  }
  return (hlo_isa_t)isa;
}
