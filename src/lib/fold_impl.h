// SPDX-License-Identifier: Apache-2.0
// Variants of fold.h by instruction set; all give the same bits.
#ifndef HLO_LIB_FOLD_IMPL_H_
#define HLO_LIB_FOLD_IMPL_H_

#include "lib/fold.h"

const hlo_fold_t* hlo_fold_find_generic(hlo_fold_op_t op, hlo_dtype_t dtype);
const hlo_fold_t* hlo_fold_find_avx2(hlo_fold_op_t op, hlo_dtype_t dtype);
const hlo_fold_t* hlo_fold_find_avx512(hlo_fold_op_t op, hlo_dtype_t dtype);

#endif  // HLO_LIB_FOLD_IMPL_H_
