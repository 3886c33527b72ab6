// SPDX-License-Identifier: Apache-2.0
// Variants of scatter.h by instruction set; all give the same bits.
#pragma once

#include "lib/scatter.h"

typedef struct hlo_scatter_loops {
  hlo_scatter_loop_t (*fold)(hlo_fold_op_t op, hlo_dtype_t dtype);
  hlo_scatter_loop_t copy_8, copy_16, copy_32, copy_64;
} hlo_scatter_loops_t;

extern const hlo_scatter_loops_t hlo_scatter_loops_generic;
#if defined(__x86_64__)
extern const hlo_scatter_loops_t hlo_scatter_loops_avx2, hlo_scatter_loops_avx512;
#endif
