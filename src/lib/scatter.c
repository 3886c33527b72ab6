// SPDX-License-Identifier: Apache-2.0
// Selects the variant of the scattering loops (see scatter.h).
#include "lib/isa.h"
#include "lib/scatter_impl.h"

static const hlo_scatter_loops_t* loops(void) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: return &hlo_scatter_loops_avx2;
    case HLO_ISA_AVX512: return &hlo_scatter_loops_avx512;
  }
#endif
  return &hlo_scatter_loops_generic;
}

hlo_scatter_loop_t hlo_scatter_fold(hlo_fold_op_t op, hlo_dtype_t dtype) {
  return loops()->fold(op, dtype);
}

hlo_scatter_loop_t hlo_scatter_copy(size_t bytes) {
  switch (bytes) {
    case 1: return loops()->copy_8;
    case 2: return loops()->copy_16;
    case 4: return loops()->copy_32;
    case 8: return loops()->copy_64;
    default: return NULL;
  }
}
