// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra: the factorisations that programs request by LAPACK's names, for F32, F64,
// C64 and C128, computed in the type itself. Matrices are row-major with dense rows: element (i, j)
// of `a` is a[i * lda + j]. Blocked: the cubic work is in matrix products (gemm.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/parallel.h"

/// The resources of a call: scratch memory (64-byte aligned, one call at a time) and a way to run
/// loops in parallel (NULL: on the caller). Loops are split by shapes only, so results do not
/// depend on threads.
typedef struct hlo_lapack_work {
  void* scratch;
  size_t scratch_bytes;
  const hlo_parallel_t* parallel;
} hlo_lapack_work_t;

/// Returns true if the functions below support matrices of this type.
bool hlo_lapack_supports(hlo_dtype_t dtype);

/// Computes scratch memory that suffices for every function here on a matrix of this size; for a
/// triangular solve, the order of the triangle and the other size of b.
/// errors: false if the size overflows
bool hlo_lapack_scratch_bytes(hlo_dtype_t dtype, int64_t rows, int64_t columns, size_t* out_bytes);

/// The form of a matrix that an operation uses.
typedef enum hlo_transpose {
  HLO_LAPACK_PLAIN,
  HLO_LAPACK_TRANSPOSED,
  HLO_LAPACK_ADJOINT,
} hlo_transpose_t;

/// A triangular matrix and its form and side.
typedef struct hlo_triangle {
  const void* a;
  int64_t lda;
  bool is_lower, is_unit;  // is_unit: ones on the diagonal, which is not read
  bool is_left;            // op(a) x = b, else x op(a) = b
  hlo_transpose_t form;    // op
} hlo_triangle_t;

/// Many small dense matrices that are contiguous in memory are processed together, one per vector
/// lane; HLO_LAPACK_SMALL_COUNT at once is best.
enum { HLO_LAPACK_SMALL_COUNT = 16, HLO_LAPACK_SMALL_ELEMENTS = 1024 };

/// Returns true if `count` matrices of this size are small. For a triangular solve both matrices
/// must be.
bool hlo_lapack_is_small(hlo_dtype_t dtype, int64_t count, int64_t m, int64_t n);

/// The functions for one type, which hlo_lapack_of() selects for the processor.
/// owner: lent for the call; threads: safe with scratch of their own
typedef struct hlo_lapack {
  /// Cholesky factor of the n x n matrix in one triangle of `a`, in place; the other triangle is
  /// left alone. Returns 0, or the 1-based order of the first leading minor that is not positive.
  int64_t (*potrf)(bool is_lower, int64_t n, void* a, int64_t lda, const hlo_lapack_work_t* work);
  /// Solves in place of `b` (m x n); the other triangle of `a` is not read. A zero pivot divides to
  /// Inf and NaN.
  void (*trsm)(const hlo_triangle_t* triangle, int64_t m, int64_t n, void* b, int64_t ldb,
               const hlo_lapack_work_t* work);
  /// LU with partial pivoting of the m x n matrix `a`, in place (unit lower and upper factor).
  /// pivots: min(m, n), 1-based as in LAPACK: row i was swapped with row pivots[i] - 1. Returns 0,
  /// or the 1-based index of the first zero on the diagonal of U.
  int64_t (*getrf)(int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots,
                   const hlo_lapack_work_t* work);
  /// The functions of the same names for `count` small matrices, with the same results up to
  /// rounding; real types only. pivots and tau: min(m, n) per matrix (k for orgqr); info: one per
  /// matrix.
  void (*potrf_small)(bool is_lower, int64_t count, int64_t n, void* a, int32_t* info,
                      const hlo_lapack_work_t* work);
  void (*getrf_small)(int64_t count, int64_t m, int64_t n, void* a, int32_t* pivots, int32_t* info,
                      const hlo_lapack_work_t* work);
  void (*trsm_small)(const hlo_triangle_t* triangle, int64_t count, int64_t m, int64_t n, void* b,
                     const hlo_lapack_work_t* work);
  void (*geqrf_small)(int64_t count, int64_t m, int64_t n, void* a, void* tau,
                      const hlo_lapack_work_t* work);
  void (*orgqr_small)(int64_t count, int64_t m, int64_t n, int64_t k, void* a, const void* tau,
                      const hlo_lapack_work_t* work);
  /// Householder QR of the m x n matrix `a`, in place: R above and on the diagonal, below it the
  /// vectors v of H = I - tau v v' (v[0] = 1 implied). tau: min(m, n). Signs as in LAPACK.
  void (*geqrf)(int64_t m, int64_t n, void* a, int64_t lda, void* tau,
                const hlo_lapack_work_t* work);
  /// Computes the first n columns of Q (m x n, m >= n >= k) from k reflectors of geqrf, in place of
  /// `a`.
  void (*orgqr)(int64_t m, int64_t n, int64_t k, void* a, int64_t lda, const void* tau,
                const hlo_lapack_work_t* work);
  /// c = op(Q) c (is_left) or c op(Q) for the m x n matrix c and the Q of k reflectors of geqrf,
  /// which are columns of `a` (m or n rows); op is the adjoint if asked.
  void (*ormqr)(bool is_left, bool is_adjoint, int64_t m, int64_t n, int64_t k, const void* a,
                int64_t lda, const void* tau, void* c, int64_t ldc, const hlo_lapack_work_t* work);
  /// geqrf of a matrix whose columns are sorted by decreasing norm. order: n, nonzero on entry for
  /// columns to move to the front; on return the 1-based original column at each position.
  void (*geqp3)(int64_t m, int64_t n, void* a, int64_t lda, int32_t* order, void* tau,
                const hlo_lapack_work_t* work);
  /// Hessenberg form Q' a Q of rows and columns low..high-1 of the n x n matrix, in place: the
  /// reflectors are stored below the subdiagonal. tau: n - 1.
  void (*gehrd)(int64_t n, int64_t low, int64_t high, void* a, int64_t lda, void* tau,
                const hlo_lapack_work_t* work);
  /// Tridiagonal form of the Hermitian matrix in one triangle of `a`, which keeps the reflectors.
  /// d: n and e: n - 1 real numbers, tau: n - 1.
  void (*sytrd)(bool is_lower, int64_t n, void* a, int64_t lda, void* d, void* e, void* tau,
                const hlo_lapack_work_t* work);
  /// Solves a tridiagonal system with partial pivoting in place of b (n x columns). d: n, dl below
  /// and du above it: n - 1; all overwritten. is_perturbed: pivots near zero are perturbed. Returns
  /// 0, or the 1-based index of a zero pivot.
  int64_t (*gtsv)(bool is_perturbed, int64_t n, int64_t columns, void* dl, void* d, void* du,
                  void* b, int64_t ldb, const hlo_lapack_work_t* work);
  /// Singular values s (min(m, n) real numbers, descending) of the m x n matrix a, which is
  /// overwritten; with vectors (may be NULL) the columns of u (m x u_columns) and the rows of vt
  /// (vt_rows x n). u_columns and vt_rows are min(m, n), or m and n. Rows are dense.
  /// Returns 0, or the number of values that did not converge (all if an entry is not finite).
  int64_t (*gesdd)(int64_t m, int64_t n, void* a, void* s, int64_t u_columns, void* u,
                   int64_t vt_rows, void* vt, const hlo_lapack_work_t* work);
  /// Eigenvalues w (n real numbers, ascending) of the Hermitian matrix in one triangle of `a`; with
  /// has_vectors the eigenvectors as columns in place of `a` (which is overwritten in any case).
  /// Returns 0, or the number of eigenvalues that did not converge (all if an entry is not finite).
  int64_t (*syevd)(bool has_vectors, bool is_lower, int64_t n, void* a, int64_t lda, void* w,
                   const hlo_lapack_work_t* work);
} hlo_lapack_t;

const hlo_lapack_t* hlo_lapack_of(hlo_dtype_t dtype);
