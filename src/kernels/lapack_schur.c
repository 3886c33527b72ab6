// SPDX-License-Identifier: Apache-2.0
// Schur forms and eigenvectors of general matrices (see lapack_schur.h).
#include "kernels/lapack_schur.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/lapack_impl.h"
#include "kernels/lapack_schur_impl.h"

typedef double complex number_t;

bool hlo_lapack_schur_scratch_bytes(int64_t n, size_t* out_bytes) {
  return hlo_lapack_scratch_bytes(HLO_DTYPE_C128, n, n, out_bytes);
}

// A matrix on its way to Schur form, in double or complex double.
typedef struct form {
  hlo_dtype_t dtype;
  int64_t n;
  void *t, *z;
  number_t* w;
} form_t;

static bool is_finite(int64_t count, const double* x) {
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) return false;
  }
  return true;
}

// Length of row i or column i of t (n x n, `parts` numbers in an entry) without its diagonal.
static double length_of(int64_t n, int parts, const double* t, int64_t i, bool is_column) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) {
    const double* entry = t + (is_column ? j * n + i : i * n + j) * parts;
    const double size = parts == 2 ? hypot(entry[0], entry[1]) : fabs(entry[0]);
    if (j != i) sum = hypot(sum, size);
  }
  return sum;
}

// t = D^-1 t D with powers of two in D (scales), so that row i and column i are about as long:
// eigenvalues of entries of very different sizes are exact to their own.
// source: Parlett and Reinsch 1969; lengths in the Euclidean norm after James, Langou
// and Lowery 2014
static void balance(int64_t n, int parts, double* t, double* scales) {
  enum { ROUNDS_MAX = 64, EXPONENT_MAX = 200 };
  bool is_changed = true;
  for (int64_t i = 0; i < n; i++) scales[i] = 1;
  for (int round = 0; is_changed && round < ROUNDS_MAX; round++) {
    is_changed = false;
    for (int64_t i = 0; i < n; i++) {
      const double column = length_of(n, parts, t, i, true), row = length_of(n, parts, t, i, false);
      if (!(column > 0) || !(row > 0) || !isfinite(column) || !isfinite(row)) continue;
      const int exponent = (int)lrint(log2(row / column) / 2);
      const double by = ldexp(1, exponent), scale = scales[i] * by;
      if (exponent == 0 || abs(ilogb(scale)) > EXPONENT_MAX ||
          !(hypot(column * by, row / by) < 0.95 * hypot(column, row))) {
        continue;
      }
      for (int64_t j = 0; j < n * parts; j++) t[i * n * parts + j] /= by;
      for (int64_t j = 0; j < n * parts; j++) t[(j / parts * n + i) * parts + j % parts] *= by;
      scales[i] = scale;
      is_changed = true;
    }
  }
}

// Hessenberg form, its basis, the iteration. scales: n, what the matrix is balanced by;
// NULL: it is not.
static int64_t reduce(hlo_dtype_t given, const void* a, bool has_vectors, double* scales, form_t* form,
                      const hlo_lapack_work_t* work, hlo_lapack_pieces_t* pieces) {
  const bool is_complex = hlo_dtype_is_complex(given);
  const int64_t n = form->n;
  form->dtype = is_complex ? HLO_DTYPE_C128 : HLO_DTYPE_F64;
  const size_t each = hlo_dtype_size_bytes(form->dtype), row = (size_t)n * each;
  form->t = hlo_lapack_take(pieces, (size_t)n * row);
  form->z = has_vectors ? hlo_lapack_take(pieces, (size_t)n * row) : NULL;
  form->w = hlo_lapack_take(pieces, (size_t)n * sizeof(number_t));
  char* tau = hlo_lapack_take(pieces, row);
  hlo_dtype_convert(given, a, form->dtype, form->t, (size_t)(n * n));
  if (!is_finite(n * n * (is_complex ? 2 : 1), form->t)) return n;
  if (scales) balance(n, is_complex ? 2 : 1, form->t, scales);
  const hlo_lapack_work_t rest = {pieces->next, (size_t)(pieces->end - pieces->next),
                                  work->parallel};
  hlo_lapack_gehrd(form->dtype, n, 0, n, form->t, n, tau, &rest);
  if (has_vectors) {
    char *z = form->z, *t = form->t;
    const number_t one = 1;
    memset(z, 0, (size_t)n * row);
    if (n > 0) memcpy(z, &one, each);
    for (int64_t i = 2; i < n; i++) {  // each vector moves one column to the right
      memcpy(z + (size_t)i * row + each, t + (size_t)i * row, (size_t)(i - 1) * each);
    }
    if (n > 1) {
      hlo_lapack_orgqr(form->dtype, n - 1, n - 1, n - 1, z + row + each, n, tau, &rest);
    }
  }
  const bool is_single = given == HLO_DTYPE_F32 || given == HLO_DTYPE_C64;
  const double epsilon = is_single ? FLT_EPSILON : DBL_EPSILON,
               least = is_single ? FLT_MIN : DBL_MIN;
  return is_complex ? hlo_schur_complex(n, epsilon, least, form->t, form->z, form->w)
                    : hlo_schur_real(n, epsilon, least, form->t, form->z, form->w);
}

static void store_values(hlo_dtype_t dtype, const form_t* form, void* wr, void* wi) {
  if (hlo_dtype_is_complex(dtype)) {
    hlo_dtype_convert(HLO_DTYPE_C128, form->w, dtype, wr, (size_t)form->n);
    return;
  }
  const size_t each = hlo_dtype_size_bytes(dtype);
  for (int64_t i = 0; i < form->n; i++) {
    const double re = creal(form->w[i]), im = cimag(form->w[i]);
    hlo_dtype_convert(HLO_DTYPE_F64, &re, dtype, (char*)wr + (size_t)i * each, 1);
    hlo_dtype_convert(HLO_DTYPE_F64, &im, dtype, (char*)wi + (size_t)i * each, 1);
  }
}

int64_t hlo_lapack_gees(hlo_dtype_t dtype, int64_t n, void* a, void* z, void* wr, void* wi,
                        const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  form_t form = {.n = n};
  const int64_t failed = reduce(dtype, a, z != NULL, NULL, &form, work, &pieces);
  if (failed) return failed;
  hlo_dtype_convert(form.dtype, form.t, dtype, a, (size_t)(n * n));
  if (z) hlo_dtype_convert(form.dtype, form.z, dtype, z, (size_t)(n * n));
  store_values(dtype, &form, wr, wi);
  return 0;
}

// ---- eigenvectors of triangular matrices
// ------------------------------------------------------------

// A divisor that is not smaller than what rounding leaves of zero.
static number_t away_from_zero(number_t x, double least) {
  return fabs(creal(x)) + fabs(cimag(x)) < least ? least : x;
}

// Solves (t - w) x = 0 for the eigenvalue at row k: x[k] and below are known, rows above follow,
// from 2 x 2 blocks in pairs.
static void solve_above(int64_t n, const number_t* t, number_t w, int64_t k, double least,
                        number_t* x) {
  for (int64_t j = k - 1; j >= 0; j--) {
    const bool is_pair = j > 0 && t[j * n + j - 1] != 0;
    const int64_t top = is_pair ? j - 1 : j;
    number_t sums[2] = {0, 0};
    for (int64_t r = top; r <= j; r++) {
      number_t sum = 0;
      for (int64_t c = j + 1; c < n; c++) {
        if (x[c] != 0) sum += t[r * n + c] * x[c];
      }
      sums[r - top] = -sum;
    }
    const number_t a = t[top * n + top] - w;
    if (is_pair) {
      const number_t b = t[top * n + j], c = t[j * n + top], d = t[j * n + j] - w;
      const number_t determinant = away_from_zero(a * d - b * c, least * least);
      x[top] = (d * sums[0] - b * sums[1]) / determinant;
      x[j] = (a * sums[1] - c * sums[0]) / determinant;
      j--;
    } else {
      x[j] = sums[0] / away_from_zero(a, least);
    }
    const double size = cabs(x[top]) + cabs(x[is_pair ? top + 1 : top]);
    if (size > 1e100) {  // only the direction matters
      for (int64_t i = 0; i < n; i++) x[i] /= size;
    }
  }
}

// Row k of x: an eigenvector of the upper (block) triangular t for its eigenvalue k.
static void triangular_vector(int64_t n, const number_t* t, number_t w, int64_t k, double norm,
                              number_t* x) {
  memset(x, 0, (size_t)n * sizeof(*x));
  int64_t top = k;
  x[k] = 1;
  if (k > 0 && t[k * n + k - 1] != 0) top = k - 1;
  const bool is_pair = top < k || (k + 1 < n && t[(k + 1) * n + k] != 0);
  if (is_pair) {  // null vector of the block
    const number_t a = t[top * n + top], b = t[top * n + top + 1], c = t[(top + 1) * n + top];
    if (cabs(b) >= cabs(c)) {
      x[top] = 1;
      x[top + 1] = (w - a) / b;
    } else {
      x[top + 1] = 1;
      x[top] = (w - t[(top + 1) * n + top + 1]) / c;
    }
  }
  const double least = fmax(DBL_EPSILON * norm, DBL_MIN / DBL_EPSILON);
  solve_above(n, t, w, top, least, x);
}

// Length 1, the largest entry real.
static void normalise(int64_t n, bool is_real, number_t* v) {
  double sum = 0, largest = 0;
  int64_t place = 0;
  for (int64_t i = 0; i < n; i++) {
    const double size = cabs(v[i]);
    if (size > largest) {
      largest = size;
      place = i;
    }
  }
  if (largest == 0) return;
  for (int64_t i = 0; i < n; i++) sum += cabs(v[i] / largest) * cabs(v[i] / largest);
  const number_t turn = is_real ? 1 : conj(v[place]) / largest;
  for (int64_t i = 0; i < n; i++) v[i] = v[i] / largest * turn / sqrt(sum);
  if (!is_real) v[place] = creal(v[place]);
}

// Eigenvectors of the matrix behind a form. Left ones are those of the adjoint: its form with rows
// and columns in reverse is upper triangular again.
static void vectors(hlo_dtype_t dtype, const form_t* form, const double* scales, bool is_left,
                    void* out, hlo_lapack_pieces_t pieces) {
  const int64_t n = form->n;
  const bool is_complex = form->dtype == HLO_DTYPE_C128;
  number_t* t = hlo_lapack_take(&pieces, (size_t)(n * n) * sizeof(*t));
  number_t* z = hlo_lapack_take(&pieces, (size_t)(n * n) * sizeof(*z));
  number_t* x = hlo_lapack_take(&pieces, (size_t)n * sizeof(*x));
  number_t* v = hlo_lapack_take(&pieces, (size_t)n * sizeof(*v));
  const hlo_dtype_t complex_type =
      dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_C64 ? HLO_DTYPE_C64 : HLO_DTYPE_C128;
  const size_t each = hlo_dtype_size_bytes(complex_type);
  hlo_dtype_convert(form->dtype, form->z, HLO_DTYPE_C128, z, (size_t)(n * n));
  double norm = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      const int64_t place = is_left ? (n - 1 - j) * n + n - 1 - i : i * n + j;
      const number_t entry =
          is_complex ? ((const number_t*)form->t)[place] : ((const double*)form->t)[place];
      t[i * n + j] = is_left ? conj(entry) : entry;
      if (j + 1 < i || (is_complex && j < i)) t[i * n + j] = 0;
      norm = fmax(norm, cabs(t[i * n + j]));
    }
  }
  for (int64_t k = 0; k < n; k++) {
    const int64_t row = is_left ? n - 1 - k : k;
    const number_t w = is_left ? conj(form->w[k]) : form->w[k];
    triangular_vector(n, t, w, row, norm, x);
    for (int64_t i = 0; i < n; i++) {
      number_t sum = 0;
      for (int64_t j = 0; j < n; j++) sum += z[i * n + j] * x[is_left ? n - 1 - j : j];
      v[i] = is_left ? sum / scales[i] : sum * scales[i];
    }
    normalise(n, !is_complex && cimag(w) == 0, v);
    for (int64_t i = 0; i < n; i++) {
      hlo_dtype_convert(HLO_DTYPE_C128, &v[i], complex_type,
                        (char*)out + (size_t)(i * n + k) * each, 1);
    }
  }
}

int64_t hlo_lapack_geev(hlo_dtype_t dtype, int64_t n, const void* a, void* wr, void* wi, void* left,
                        void* right, const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  form_t form = {.n = n};
  double* scales = hlo_lapack_take(&pieces, (size_t)n * sizeof(*scales));
  const int64_t failed = reduce(dtype, a, left || right, scales, &form, work, &pieces);
  if (failed) return failed;
  store_values(dtype, &form, wr, wi);
  if (left) vectors(dtype, &form, scales, true, left, pieces);
  if (right) vectors(dtype, &form, scales, false, right, pieces);
  return 0;
}
