// SPDX-License-Identifier: Apache-2.0
// Choice of the kernels' instruction set.
#include "lib/isa.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cpu.h"

// A level that HLOCC_CPU names but that the machine does not reach is reported where a client reads
// its options; here it just does not count.
static hlo_isa_t detect(void) {
  hlo_cpu_t cpu = {0};
  hlo_status_t status = hlo_cpu_detect(getenv("HLOCC_CPU"), &cpu);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    hlo_status_release(hlo_cpu_detect(NULL, &cpu));  // cannot fail
  }
  switch (cpu.level) {
    case HLO_CPU_LEVEL_GENERIC:
    case HLO_CPU_LEVEL_SSE2:
    case HLO_CPU_LEVEL_SSE4: return HLO_ISA_GENERIC;
    case HLO_CPU_LEVEL_AVX2: return HLO_ISA_AVX2;
    default: return HLO_ISA_AVX512;
  }
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
