// SPDX-License-Identifier: Apache-2.0
// The choice between the variants of the folding loops (see fold.h).
#include "lib/fold_impl.h"
#include "lib/isa.h"

const hlo_fold_t* hlo_fold_find(hlo_fold_op_t op, hlo_dtype_t dtype) {
  switch (hlo_isa()) {
#if defined(__x86_64__)
    case HLO_ISA_AVX512: return hlo_fold_find_avx512(op, dtype);
    case HLO_ISA_AVX2: return hlo_fold_find_avx2(op, dtype);
#endif
    default: return hlo_fold_find_generic(op, dtype);
  }
}
