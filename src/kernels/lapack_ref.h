// SPDX-License-Identifier: Apache-2.0
// Plain dense linear algebra: the factorisations that programs ask for by LAPACK's names.
// Everything is computed in double; callers convert f32 matrices before and after, which costs
// little beside the cubic work and leaves one rounding.
#ifndef HLO_KERNELS_LAPACK_REF_H_
#define HLO_KERNELS_LAPACK_REF_H_

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

/// A view of a matrix: element (i, j) is data[i * row + j * col]. Row-major n x m: row = m, col =
/// 1; column-major: row = 1, col = n.
typedef struct hlo_matrix {
  double* data;
  int64_t row, col;
} hlo_matrix_t;

/// The same of complex numbers.
typedef struct hlo_zmatrix {
  double complex* data;
  int64_t row, col;
} hlo_zmatrix_t;

/// Which form of a matrix a triangular solve uses.
typedef enum hlo_transpose {
  HLO_LAPACK_PLAIN,
  HLO_LAPACK_TRANSPOSED,
  HLO_LAPACK_ADJOINT,
} hlo_transpose_t;

/// Cholesky factor of the n x n matrix in one triangle of `a`, in place; the other triangle is left
/// alone. Returns 0, or the 1-based order of the first leading minor that is not positive.
/// owner: lent for the call; threads: safe (all functions here)
int64_t hlo_lapack_potrf(bool lower, int64_t n, hlo_matrix_t a);
int64_t hlo_lapack_zpotrf(bool lower, int64_t n, hlo_zmatrix_t a);

/// Solves op(a) x = b (left) or x op(a) = b in place of `b` (m x n); `a` is triangular, its other
/// triangle (and with unit_diagonal its diagonal) is not read. A zero pivot divides to Inf and NaN.
void hlo_lapack_trsm(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal,
                     int64_t m, int64_t n, hlo_matrix_t a, hlo_matrix_t b);
void hlo_lapack_ztrsm(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal,
                      int64_t m, int64_t n, hlo_zmatrix_t a, hlo_zmatrix_t b);

/// LU with partial pivoting of the m x n matrix `a`, in place (unit lower and upper factor).
/// pivots: min(m, n), 1-based as in LAPACK: row i was swapped with row pivots[i] - 1.
/// Returns 0, or the 1-based place of the first zero on the diagonal of U.
int64_t hlo_lapack_getrf(int64_t m, int64_t n, hlo_matrix_t a, int32_t* pivots);

/// Householder QR of the m x n matrix `a`, in place: R above and on the diagonal, below it the
/// vectors v of H = I - tau v v' (v[0] = 1 implied). tau: min(m, n). Signs as in LAPACK.
void hlo_lapack_geqrf(int64_t m, int64_t n, hlo_matrix_t a, double* tau);

/// The first n columns of Q (m x n, m >= n >= k) from k reflectors of geqrf, in place of `a`.
void hlo_lapack_orgqr(int64_t m, int64_t n, int64_t k, hlo_matrix_t a, const double* tau);

/// Eigenvalues w (n, ascending) of the symmetric matrix in one triangle of `a`, and with `vectors`
/// the eigenvectors as columns in place of `a` (which is destroyed otherwise). work: n doubles.
/// Returns 0, or the number of eigenvalues that did not converge.
int64_t hlo_lapack_syevd(bool vectors, bool lower, int64_t n, hlo_matrix_t a, double* w,
                         double* work);

#endif  // HLO_KERNELS_LAPACK_REF_H_
