// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra by textbook methods on matrices of complex doubles, row-major and dense:
// element (i, j) of an m x n matrix is a[i * n + j]. Real matrices have zero imaginary parts.
#pragma once

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

typedef double complex hlo_c128_t;

/// Cholesky factor in one triangle of `a`, in place; the other one is neither read nor written.
/// Returns 0, or the 1-based order of the first leading minor that is not positive.
int64_t hlo_ref_potrf(bool is_lower, int64_t n, hlo_c128_t* a);

/// A triangular matrix, as it is or transposed, and whether it is conjugated.
typedef struct hlo_ref_triangle {
  const hlo_c128_t* a;  // n x n
  int64_t n;
  bool is_lower, is_unit;             // is_unit: ones on the diagonal
  bool is_transposed, is_conjugated;  // of what is solved with
  bool is_real;
} hlo_ref_triangle_t;
/// Solves t x = b (is_left; b is n x other) or x t = b (b is other x n) in place of b.
void hlo_ref_trsm(const hlo_ref_triangle_t* t, bool is_left, int64_t other, hlo_c128_t* b);

/// LU with partial pivoting in place; pivots and the answer as LAPACK's getrf.
int64_t hlo_ref_getrf(int64_t m, int64_t n, hlo_c128_t* a, hlo_c128_t* pivots);
/// Solves a tridiagonal system with partial pivoting in place of b (n x columns); dl[i] is left of
/// d[i], du[i] right of it, all overwritten. Returns 0, or the 1-based index of a zero pivot.
int64_t hlo_ref_gtsv(double tiny, int64_t n, int64_t columns, hlo_c128_t* dl, hlo_c128_t* d,
                     hlo_c128_t* du, hlo_c128_t* b);

/// Householder QR in place: R, and below it the reflectors I - tau v v' with v[0] = 1. With `order`
/// columns are sorted by norm, those with nonzero entries first, as in LAPACK's geqp3.
void hlo_ref_geqrf(int64_t m, int64_t n, hlo_c128_t* a, hlo_c128_t* order, hlo_c128_t* tau);
/// Multiplies c (m x n) by Q of `k` reflectors, columns of `a` (columns wide), or by its adjoint.
void hlo_ref_ormqr(bool is_left, bool is_adjoint, int64_t k, int64_t columns, const hlo_c128_t* a,
                   const hlo_c128_t* tau, int64_t m, int64_t n, hlo_c128_t* c);
/// Hessenberg form of rows and columns low..high-1, with the reflectors below it. tau: n - 1
void hlo_ref_gehrd(int64_t n, int64_t low, int64_t high, hlo_c128_t* a, hlo_c128_t* tau);
/// Tridiagonal form of the Hermitian matrix in one triangle, which keeps the reflectors.
void hlo_ref_sytrd(bool is_lower, int64_t n, hlo_c128_t* a, hlo_c128_t* d, hlo_c128_t* e,
                   hlo_c128_t* tau);

/// Eigenvalues (ascending) and eigenvectors (columns of v) of the Hermitian matrix in one triangle
/// of `a`, which is overwritten. source: Jacobi's rotations
void hlo_ref_syevd(bool is_lower, int64_t n, hlo_c128_t* a, hlo_c128_t* values, hlo_c128_t* v);
/// Singular values (descending) and vectors of `a`, m x n: columns of u (m x u_columns), rows of vt
/// (vt_rows x n); 0 of them: none. spare: as many elements as `a`, u, vt and a square of the
/// smaller size together source: one-sided rotations (Hestenes 1958)
void hlo_ref_gesdd(int64_t m, int64_t n, const hlo_c128_t* a, hlo_c128_t* values, int64_t u_columns,
                   hlo_c128_t* u, int64_t vt_rows, hlo_c128_t* vt, hlo_c128_t* spare);

/// Schur form a = Z T Z' in place of `a`, upper triangular. Returns the number of eigenvalues that
/// did not converge. spare: n elements. source: QR with the shifts of Wilkinson
int64_t hlo_ref_schur(int64_t n, hlo_c128_t* a, hlo_c128_t* z, hlo_c128_t* spare);
/// The same for a real matrix, with 2 x 2 blocks of equal diagonals for conjugate pairs: the spaces
/// of eigenvectors are split off one after the other. spare: 4 n * n elements
int64_t hlo_ref_schur_real(int64_t n, hlo_c128_t* a, hlo_c128_t* z, hlo_c128_t* spare);
/// The right (left) eigenvector of eigenvalue k from the Schur form: of length 1, its largest entry
/// real. spare: n elements
void hlo_ref_schur_vector(bool is_left, int64_t n, int64_t k, const hlo_c128_t* t,
                          const hlo_c128_t* z, hlo_c128_t* vector, hlo_c128_t* spare);
