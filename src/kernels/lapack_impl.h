// SPDX-License-Identifier: Apache-2.0
// The factorisations of lapack_ref.h, one table per instruction set. All give the same bits:
// nothing is reordered or contracted.
#ifndef HLO_KERNELS_LAPACK_IMPL_H_
#define HLO_KERNELS_LAPACK_IMPL_H_

#include "kernels/lapack_ref.h"

typedef struct hlo_lapack {
  int64_t (*potrf)(bool lower, int64_t n, hlo_matrix_t a);
  int64_t (*zpotrf)(bool lower, int64_t n, hlo_zmatrix_t a);
  void (*trsm)(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal, int64_t m,
               int64_t n, hlo_matrix_t a, hlo_matrix_t b);
  void (*ztrsm)(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal, int64_t m,
                int64_t n, hlo_zmatrix_t a, hlo_zmatrix_t b);
  int64_t (*getrf)(int64_t m, int64_t n, hlo_matrix_t a, int32_t* pivots);
  void (*geqrf)(int64_t m, int64_t n, hlo_matrix_t a, double* tau);
  void (*orgqr)(int64_t m, int64_t n, int64_t k, hlo_matrix_t a, const double* tau);
  int64_t (*syevd)(bool vectors, bool lower, int64_t n, hlo_matrix_t a, double* w, double* work);
} hlo_lapack_t;

extern const hlo_lapack_t hlo_lapack_generic;
#if defined(__x86_64__)
extern const hlo_lapack_t hlo_lapack_avx2;
extern const hlo_lapack_t hlo_lapack_avx512;
#endif

#endif  // HLO_KERNELS_LAPACK_IMPL_H_
