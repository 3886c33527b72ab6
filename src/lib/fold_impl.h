// SPDX-License-Identifier: Apache-2.0
// Variants of fold.h by instruction set; all give the same bits.
#pragma once

#include "lib/fold.h"

const hlo_fold_t* hlo_fold_find_generic(hlo_fold_op_t op, hlo_dtype_t dtype);
const hlo_fold_t* hlo_fold_find_avx2(hlo_fold_op_t op, hlo_dtype_t dtype);
const hlo_fold_t* hlo_fold_find_avx512(hlo_fold_op_t op, hlo_dtype_t dtype);
