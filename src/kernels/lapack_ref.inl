// SPDX-License-Identifier: Apache-2.0
// Textbook factorisations, unblocked, once per instruction set. Loops run along dense rows where
// the view has them. Needs LAPACK, the name of the table that is defined. source: Golub and Van
// Loan, "Matrix Computations": Cholesky 4.2, LU 3.4, Householder QR 5.2,
//         symmetric tridiagonal reduction 8.3; implicit QL: Bowdler, Martin, Reinsch, Wilkinson
//         1968
#include <float.h>
#include <math.h>

#include "kernels/lapack_impl.h"

#define T double
#define MATRIX hlo_matrix_t
#define CONJ(x) (x)
#define REAL(x) (x)
#define NAME(x) real_##x
#include "kernels/lapack_loop.inl"
#define T double complex
#define MATRIX hlo_zmatrix_t
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define NAME(x) complex_##x
#include "kernels/lapack_loop.inl"

static inline double* at(hlo_matrix_t a, int64_t i, int64_t j) {
  return a.data + i * a.row + j * a.col;
}

static hlo_matrix_t sub(hlo_matrix_t a, int64_t i, int64_t j) {
  return (hlo_matrix_t){at(a, i, j), a.row, a.col};
}

static void swap_rows(int64_t n, hlo_matrix_t a, int64_t i, int64_t k) {
  for (int64_t j = 0; j < n; j++) {
    const double swap = *at(a, i, j);
    *at(a, i, j) = *at(a, k, j);
    *at(a, k, j) = swap;
  }
}

static int64_t getrf(int64_t m, int64_t n, hlo_matrix_t a, int32_t* pivots) {
  int64_t info = 0;
  for (int64_t j = 0; j < (m < n ? m : n); j++) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < m; i++) {
      if (fabs(*at(a, i, j)) > fabs(*at(a, pivot, j))) pivot = i;
    }
    pivots[j] = (int32_t)(pivot + 1);
    if (*at(a, pivot, j) == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (pivot != j) swap_rows(n, a, j, pivot);
    const double head = *at(a, j, j);
    for (int64_t i = j + 1; i < m; i++) *at(a, i, j) /= head;
    if (a.row == 1) {
      for (int64_t c = j + 1; c < n; c++) {
        const double factor = *at(a, j, c);
        double* column = at(a, 0, c);
        const double* lower = at(a, 0, j);
        for (int64_t i = j + 1; i < m; i++) column[i] -= lower[i] * factor;
      }
    } else {
      for (int64_t i = j + 1; i < m; i++) {
        const double factor = *at(a, i, j);
        double* row = at(a, i, 0);
        const double* top = at(a, j, 0);
        for (int64_t c = j + 1; c < n; c++) row[c * a.col] -= factor * top[c * a.col];
      }
    }
  }
  return info;
}

// Makes the reflector that takes column 0 of `a` (m rows) to (beta, 0, ...): beta at the top, v
// below (v[0] = 1 implied). Returns tau.
static double reflector(int64_t m, hlo_matrix_t a) {
  double largest = 0, sum = 0;
  for (int64_t i = 1; i < m; i++) largest = fmax(largest, fabs(*at(a, i, 0)));
  if (largest == 0) return 0;
  for (int64_t i = 1; i < m; i++) {  // scaled, so that squares neither overflow nor vanish
    const double part = *at(a, i, 0) / largest;
    sum += part * part;
  }
  const double norm = largest * sqrt(sum);
  const double alpha = *at(a, 0, 0);
  const double beta = -copysign(hypot(alpha, norm), alpha);
  for (int64_t i = 1; i < m; i++) *at(a, i, 0) /= alpha - beta;
  *at(a, 0, 0) = beta;
  return (beta - alpha) / beta;
}

// a = (I - tau v v') a for the m x n matrix a; v is a column with v[0] = 1 implied.
static void apply_reflector(int64_t m, int64_t n, hlo_matrix_t v, double tau, hlo_matrix_t a) {
  enum { COLUMNS = 64 };
  if (tau == 0) return;
  for (int64_t j0 = 0; j0 < n; j0 += COLUMNS) {
    const int64_t count = n - j0 < COLUMNS ? n - j0 : COLUMNS;
    double sums[COLUMNS];
    for (int64_t j = 0; j < count; j++) sums[j] = *at(a, 0, j0 + j);
    for (int64_t i = 1; i < m; i++) {
      const double factor = *at(v, i, 0);
      const double* row = at(a, i, j0);
      for (int64_t j = 0; j < count; j++) sums[j] += factor * row[j * a.col];
    }
    for (int64_t j = 0; j < count; j++) sums[j] *= tau;
    for (int64_t j = 0; j < count; j++) *at(a, 0, j0 + j) -= sums[j];
    for (int64_t i = 1; i < m; i++) {
      const double factor = *at(v, i, 0);
      double* row = at(a, i, j0);
      for (int64_t j = 0; j < count; j++) row[j * a.col] -= factor * sums[j];
    }
  }
}

static void geqrf(int64_t m, int64_t n, hlo_matrix_t a, double* tau) {
  for (int64_t j = 0; j < (m < n ? m : n); j++) {
    tau[j] = reflector(m - j, sub(a, j, j));
    apply_reflector(m - j, n - j - 1, sub(a, j, j), tau[j], sub(a, j, j + 1));
  }
}

// orgqr with factors `tau_step` doubles apart.
static void form_q(int64_t m, int64_t n, int64_t k, hlo_matrix_t a, const double* tau,
                   int64_t tau_step) {
  for (int64_t j = k; j < n; j++) {
    for (int64_t i = 0; i < m; i++) *at(a, i, j) = i == j;
  }
  for (int64_t j = k - 1; j >= 0; j--) {
    const double factor = tau[j * tau_step];
    apply_reflector(m - j, n - j - 1, sub(a, j, j), factor, sub(a, j, j + 1));
    for (int64_t i = 0; i < j; i++) *at(a, i, j) = 0;
    *at(a, j, j) = 1 - factor;
    for (int64_t i = j + 1; i < m; i++) *at(a, i, j) *= -factor;
  }
}

static void orgqr(int64_t m, int64_t n, int64_t k, hlo_matrix_t a, const double* tau) {
  form_q(m, n, k, a, tau, 1);
}

// ---- symmetric eigenproblem
// ----------------------------------------------------------------------

static void transpose_square(int64_t n, hlo_matrix_t a) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) {
      const double swap = *at(a, i, j);
      *at(a, i, j) = *at(a, j, i);
      *at(a, j, i) = swap;
    }
  }
}

// Reduces the full symmetric matrix to its diagonal (in place) and off-diagonal e; the reflectors
// stay below the off-diagonal, their factors in row 0 right of the diagonal. p: n doubles.
static void tridiagonalise(int64_t n, hlo_matrix_t a, double* e, double* p) {
  for (int64_t j = 0; j + 1 < n; j++) {
    const int64_t m = n - j - 1;
    const hlo_matrix_t v = sub(a, j + 1, j), rest = sub(a, j + 1, j + 1);
    const double tau = m > 1 ? reflector(m, v) : 0;
    e[j] = *at(v, 0, 0);
    if (tau == 0) {
      *at(a, 0, j + 1) = 0;
      continue;
    }
    *at(v, 0, 0) = 1;
    double along =
        0;  // rest = H rest H = rest - v w' - w v', w = p - (tau/2)(p'v) v, p = tau rest v
    for (int64_t i = 0; i < m; i++) p[i] = 0;
    for (int64_t i = 0; i < m; i++) {
      const double factor = tau * *at(v, i, 0);
      const double* row = at(rest, i, 0);
      for (int64_t c = 0; c < m; c++) p[c] += factor * row[c * rest.col];
    }
    for (int64_t i = 0; i < m; i++) along += p[i] * *at(v, i, 0);
    for (int64_t i = 0; i < m; i++) p[i] -= tau / 2 * along * *at(v, i, 0);
    for (int64_t i = 0; i < m; i++) *at(a, j, j + 1 + i) = *at(v, i, 0);  // v as a dense row
    const double* v_row = at(a, j, j + 1);
    for (int64_t i = 0; i < m; i++) {
      const double vi = v_row[i * a.col], pi = p[i];
      double* row = at(rest, i, 0);
      for (int64_t c = 0; c < m; c++) {
        row[c * rest.col] -= vi * p[c] + pi * v_row[c * a.col];
      }
    }
    *at(a, 0, j + 1) = tau;
  }
}

// Product of the reflectors of tridiagonalise(), in place.
static void form_vectors(int64_t n, hlo_matrix_t a) {
  if (n == 0) return;
  for (int64_t j = n - 1; j > 0; j--) {  // each vector moves one column to the right
    for (int64_t i = j + 1; i < n; i++) *at(a, i, j) = *at(a, i, j - 1);
  }
  if (n > 1) form_q(n - 1, n - 1, n - 1, sub(a, 1, 1), at(a, 0, 1), a.col);
  for (int64_t i = 0; i < n; i++) *at(a, i, 0) = *at(a, 0, i) = i == 0;
}

// One implicit QL sweep on the unreduced block l..m; rotates rows of z (its rows are the vectors).
static void sweep(int64_t l, int64_t m, double* d, double* e, bool vectors, int64_t n,
                  hlo_matrix_t z) {
  double g = (d[l + 1] - d[l]) / (2 * e[l]);
  g = d[m] - d[l] + e[l] / (g + copysign(hypot(g, 1), g));
  double s = 1, c = 1, p = 0;
  for (int64_t i = m - 1; i >= l; i--) {
    const double f = s * e[i], b = c * e[i];
    double r = hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {  // the block splits here
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    if (!vectors) continue;
    double *low = at(z, i, 0), *high = at(z, i + 1, 0);
    for (int64_t k = 0; k < n; k++) {
      const double x = low[k * z.col], y = high[k * z.col];
      high[k * z.col] = s * x + c * y;
      low[k * z.col] = c * x - s * y;
    }
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

// Returns the number of eigenvalues that did not converge.
static int64_t diagonalise(int64_t n, double* d, double* e, bool vectors, hlo_matrix_t z) {
  enum { SWEEPS_MAX = 60 };
  if (n > 0) e[n - 1] = 0;
  for (int64_t l = 0; l < n; l++) {
    for (int sweeps = 0;; sweeps++) {
      int64_t m = l;
      while (m + 1 < n && !(fabs(e[m]) <= DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])))) m++;
      if (m == l) break;
      if (sweeps == SWEEPS_MAX) return n - l;
      sweep(l, m, d, e, vectors, n, z);
    }
  }
  return 0;
}

static void sort_ascending(int64_t n, double* d, bool vectors, hlo_matrix_t z) {
  for (int64_t i = 0; i < n; i++) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; j++) {
      if (d[j] < d[least]) least = j;
    }
    if (least == i) continue;
    const double swap = d[i];
    d[i] = d[least];
    d[least] = swap;
    if (vectors) swap_rows(n, z, i, least);
  }
}

static int64_t syevd(bool vectors, bool lower, int64_t n, hlo_matrix_t a, double* w, double* work) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) {
      if (lower) {
        *at(a, j, i) = *at(a, i, j);
      } else {
        *at(a, i, j) = *at(a, j, i);
      }
    }
  }
  // The matrix is its own transpose: work on the view with dense rows.
  const bool turned = a.row == 1 && a.col != 1;
  const hlo_matrix_t z = turned ? (hlo_matrix_t){a.data, a.col, a.row} : a;
  tridiagonalise(n, z, work, w);
  for (int64_t i = 0; i < n; i++) w[i] = *at(z, i, i);
  if (vectors) {
    form_vectors(n, z);
    transpose_square(n, z);  // vectors as rows, which the rotations combine
  }
  const int64_t failed = diagonalise(n, w, work, vectors, z);
  sort_ascending(n, w, vectors, z);
  if (vectors && !turned) transpose_square(n, z);
  return failed;
}

const hlo_lapack_t LAPACK = {
    .potrf = real_potrf,
    .zpotrf = complex_potrf,
    .trsm = real_trsm,
    .ztrsm = complex_trsm,
    .getrf = getrf,
    .geqrf = geqrf,
    .orgqr = orgqr,
    .syevd = syevd,
};
