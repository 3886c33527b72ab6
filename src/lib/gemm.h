// SPDX-License-Identifier: Apache-2.0
// Matrix products of strided matrices: packed, blocked for the caches, vectorised.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

/// How the product is combined with c.
typedef enum hlo_gemm_mode {
  HLO_GEMM_SET,       // c = a b
  HLO_GEMM_ADD,       // c += a b
  HLO_GEMM_SUBTRACT,  // c -= a b
} hlo_gemm_mode_t;

/// c[m x n] = a[m x k] * b[k x n], or added or subtracted (k = 0: the product is zero). Strides are
/// in elements.
typedef struct hlo_gemm {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* c;
  int64_t c_row;  // rows of c are dense
  hlo_gemm_mode_t mode;
} hlo_gemm_t;

/// Returns the bytes of scratch memory (64-byte aligned) that hlo_gemm() needs for products of at
/// most these sizes.
size_t hlo_gemm_scratch_bytes(hlo_dtype_t dtype, int64_t m, int64_t n, int64_t k);

/// errors : none; the type is F32 or F64
/// owner  : all lent for the call; c overlaps nothing
/// threads: safe with a scratch block each
/// source : blocking after Goto and van de Geijn, "Anatomy of high-performance matrix
///          multiplication"; sums run over k in blocks of 256, each in order
void hlo_gemm(hlo_dtype_t dtype, const hlo_gemm_t* gemm, void* scratch);
