// SPDX-License-Identifier: Apache-2.0
// The factorisations of the machine's instruction set (see lapack_ref.h).
#include "kernels/isa.h"
#include "kernels/lapack_impl.h"

static const hlo_lapack_t* table(void) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: return &hlo_lapack_avx2;
    case HLO_ISA_AVX512: return &hlo_lapack_avx512;
  }
#endif
  return &hlo_lapack_generic;
}

int64_t hlo_lapack_potrf(bool lower, int64_t n, hlo_matrix_t a) {
  return table()->potrf(lower, n, a);
}

int64_t hlo_lapack_zpotrf(bool lower, int64_t n, hlo_zmatrix_t a) {
  return table()->zpotrf(lower, n, a);
}

void hlo_lapack_trsm(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal,
                     int64_t m, int64_t n, hlo_matrix_t a, hlo_matrix_t b) {
  table()->trsm(left, lower, transpose, unit_diagonal, m, n, a, b);
}

void hlo_lapack_ztrsm(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal,
                      int64_t m, int64_t n, hlo_zmatrix_t a, hlo_zmatrix_t b) {
  table()->ztrsm(left, lower, transpose, unit_diagonal, m, n, a, b);
}

int64_t hlo_lapack_getrf(int64_t m, int64_t n, hlo_matrix_t a, int32_t* pivots) {
  return table()->getrf(m, n, a, pivots);
}

void hlo_lapack_geqrf(int64_t m, int64_t n, hlo_matrix_t a, double* tau) {
  table()->geqrf(m, n, a, tau);
}

void hlo_lapack_orgqr(int64_t m, int64_t n, int64_t k, hlo_matrix_t a, const double* tau) {
  table()->orgqr(m, n, k, a, tau);
}

int64_t hlo_lapack_syevd(bool vectors, bool lower, int64_t n, hlo_matrix_t a, double* w,
                         double* work) {
  return table()->syevd(vectors, lower, n, a, w, work);
}
