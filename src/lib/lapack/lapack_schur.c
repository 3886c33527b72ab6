// SPDX-License-Identifier: Apache-2.0
// Schur forms and eigenvectors of general matrices (see lapack_schur.h).
#include "lib/lapack/lapack_schur.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lapack/lapack_impl.h"
#include "lib/lapack/lapack_schur_impl.h"

typedef double complex number_t;

bool hlo_lapack_schur_scratch_bytes(int64_t n, size_t* out_bytes) {
  return hlo_lapack_scratch_bytes(HLO_DTYPE_C128, n, n, out_bytes);
}

// A matrix being reduced to Schur form, in double or complex double.
typedef struct form {
  hlo_dtype_t dtype;
  int64_t n, ld;  // ld: until the rows are dense
  void *t, *z;
  number_t* w;
} form_t;

static bool is_finite(int64_t count, const double* x) {
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) return false;
  }
  return true;
}

// Returns the length of row i or column i of t (n x n, `parts` numbers in an entry) without its
// diagonal.
static double length_of(int64_t n, int64_t ld, int parts, const double* t, int64_t i,
                        bool is_column) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) {
    const double* entry = t + (is_column ? j * ld + i : i * ld + j) * parts;
    const double size = parts == 2 ? hypot(entry[0], entry[1]) : fabs(entry[0]);
    if (j != i) sum = hypot(sum, size);
  }
  return sum;
}

// t = D^-1 t D with powers of two in D (scales), so that row i and column i have about the same
// length: eigenvalues of matrices with widely varying entries are then accurate.
// source: Parlett and Reinsch 1969; lengths in the Euclidean norm after James, Langou and Lowery
// 2014
static void balance(int64_t n, int64_t ld, int parts, double* t, double* scales) {
  enum { ROUNDS_MAX = 64, EXPONENT_MAX = 200 };
  bool is_changed = true;
  for (int64_t i = 0; i < n; i++) scales[i] = 1;
  for (int round = 0; is_changed && round < ROUNDS_MAX; round++) {
    is_changed = false;
    for (int64_t i = 0; i < n; i++) {
      const double column = length_of(n, ld, parts, t, i, true);
      const double row = length_of(n, ld, parts, t, i, false);
      if (!(column > 0) || !(row > 0) || !isfinite(column) || !isfinite(row)) continue;
      const int exponent = (int)lrint(log2(row / column) / 2);
      const double by = ldexp(1, exponent), scale = scales[i] * by;
      if (exponent == 0 || abs(ilogb(scale)) > EXPONENT_MAX ||
          !(hypot(column * by, row / by) < 0.95 * hypot(column, row))) {
        continue;
      }
      for (int64_t j = 0; j < n * parts; j++) t[i * ld * parts + j] /= by;
      for (int64_t j = 0; j < n * parts; j++) t[(j / parts * ld + i) * parts + j % parts] *= by;
      scales[i] = scale;
      is_changed = true;
    }
  }
}

// Forms the orthogonal matrix of gehrd, whose reflectors are below the diagonal of t.
static void form_basis(form_t* form, const void* tau, const hlo_lapack_work_t* work) {
  const size_t each = hlo_dtype_size_bytes(form->dtype), row = (size_t)form->ld * each;
  const int64_t n = form->n;
  char *z = form->z, *t = form->t;
  const number_t one = 1;
  memset(z, 0, (size_t)n * row);
  if (n > 0) memcpy(z, &one, each);
  for (int64_t i = 2; i < n; i++) {  // each vector moves one column to the right
    memcpy(z + (size_t)i * row + each, t + (size_t)i * row, (size_t)(i - 1) * each);
  }
  if (n > 1) {
    hlo_lapack_of(form->dtype)->orgqr(n - 1, n - 1, n - 1, z + row + each, form->ld, tau, work);
  }
}

// Makes the rows dense.
static void close_rows(const form_t* form, void* matrix) {
  const size_t each = hlo_dtype_size_bytes(form->dtype), row = (size_t)form->n * each;
  char* data = matrix;
  for (int64_t i = 1; data && i < form->n; i++) {
    memmove(data + (size_t)i * row, data + (size_t)(i * form->ld) * each, row);
  }
}

// Computes the Hessenberg form, its basis, and the Schur form. scales: n, the balancing; NULL: no
// balancing.
static int64_t reduce(hlo_dtype_t given, const void* a, bool has_vectors, double* scales,
                      form_t* form, const hlo_lapack_work_t* work, hlo_lapack_pieces_t* pieces) {
  const bool is_complex = hlo_dtype_is_complex(given);
  const int parts = is_complex ? 2 : 1;
  const int64_t n = form->n;
  form->dtype = is_complex ? HLO_DTYPE_C128 : HLO_DTYPE_F64;
  const size_t each = hlo_dtype_size_bytes(form->dtype), from = hlo_dtype_size_bytes(given);
  const int64_t ld = form->ld = hlo_lapack_padded(n, each);
  const size_t row = (size_t)ld * each;
  form->t = hlo_lapack_take(pieces, (size_t)n * row);
  form->z = has_vectors ? hlo_lapack_take(pieces, (size_t)n * row) : NULL;
  form->w = hlo_lapack_take(pieces, (size_t)n * sizeof(number_t));
  char* tau = hlo_lapack_take(pieces, row);
  for (int64_t i = 0; i < n; i++) {
    char* to = (char*)form->t + (size_t)i * row;
    hlo_dtype_convert(given, (const char*)a + (size_t)(i * n) * from, form->dtype, to, (size_t)n);
    if (!is_finite(n * parts, (const double*)to)) return n;
  }
  if (scales) balance(n, ld, parts, form->t, scales);
  const hlo_lapack_work_t rest = {pieces->next, (size_t)(pieces->end - pieces->next),
                                  work->parallel};
  hlo_lapack_of(form->dtype)->gehrd(n, 0, n, form->t, ld, tau, &rest);
  if (has_vectors) form_basis(form, tau, &rest);
  const bool is_single = given == HLO_DTYPE_F32 || given == HLO_DTYPE_C64;
  const double epsilon = is_single ? FLT_EPSILON : DBL_EPSILON,
               least = is_single ? FLT_MIN : DBL_MIN;
  const int64_t failed = is_complex
                             ? hlo_schur_complex(n, epsilon, least, ld, form->t, form->z, form->w)
                             : hlo_schur_real(n, epsilon, least, ld, form->t, form->z, form->w);
  close_rows(form, form->t);
  close_rows(form, form->z);
  return failed;
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

// ---- eigenvectors

// Real and imaginary planes of a matrix; im NULL: all zero.
typedef struct planes {
  double *re, *im;
} planes_t;

static inline number_t entry(const planes_t* p, int64_t at) {
  return __builtin_complex(p->re[at], p->im ? p->im[at] : 0);
}

static inline void set_entry(const planes_t* p, int64_t at, number_t value) {
  p->re[at] = creal(value);
  if (p->im) p->im[at] = cimag(value);
}

// An eigenvector of a triangular matrix in progress: the right-hand side minus the known terms.
typedef struct triangular {
  int64_t n;
  planes_t t;  // by columns
  planes_t x;
  number_t w;    // the eigenvalue
  double least;  // magnitudes below this count as zero
} triangular_t;

static inline number_t t_at(const triangular_t* s, int64_t i, int64_t j) {
  return entry(&s->t, j * s->n + i);
}

// Subtracts x[j] times the first `rows` entries of column j from x.
static void eliminate(const triangular_t* s, int64_t rows, int64_t j) {
  const double re = s->x.re[j], im = s->x.im ? s->x.im[j] : 0;
  const double* restrict t_re = s->t.re + j * s->n, * restrict t_im = s->t.im + j * s->n;
  double* restrict x_re = s->x.re, * restrict x_im = s->x.im;
  for (int64_t i = 0; i < rows; i++) x_re[i] -= re * t_re[i];
  for (int64_t i = 0; x_im && i < rows; i++) x_im[i] -= im * t_re[i];
  if (!s->t.im) return;
  for (int64_t i = 0; i < rows; i++) x_re[i] += im * t_im[i];
  for (int64_t i = 0; i < rows; i++) x_im[i] -= re * t_im[i];
}

// Returns a divisor that is at least as large as the rounding error of zero.
static number_t away_from_zero(number_t x, double least) {
  return fabs(creal(x)) + fabs(cimag(x)) < least ? least : x;
}

// Solves (t - w) x = 0: x from row k on is known, the rows above follow, those of 2 x 2 blocks in
// pairs.
static void solve_above(const triangular_t* s, int64_t k) {
  for (int64_t j = k - 1; j >= 0; j--) {
    const bool is_pair = j > 0 && t_at(s, j, j - 1) != 0;
    const int64_t top = is_pair ? j - 1 : j;
    const number_t a = t_at(s, top, top) - s->w, over = entry(&s->x, top);
    if (is_pair) {
      const number_t b = t_at(s, top, j), c = t_at(s, j, top), d = t_at(s, j, j) - s->w;
      const number_t determinant = away_from_zero(a * d - b * c, s->least * s->least);
      const number_t under = entry(&s->x, j);
      set_entry(&s->x, top, (d * over - b * under) / determinant);
      set_entry(&s->x, j, (a * under - c * over) / determinant);
    } else if (s->x.im) {
      set_entry(&s->x, j, over / away_from_zero(a, s->least));
    } else {
      s->x.re[j] = creal(over) / creal(away_from_zero(a, s->least));
    }
    const double size = cabs(entry(&s->x, top)) + cabs(entry(&s->x, j));
    for (int64_t i = 0; size > 1e100 && i < s->n; i++) {  // only the direction matters
      set_entry(&s->x, i, entry(&s->x, i) / size);
    }
    eliminate(s, top, j);
    if (is_pair) eliminate(s, top, top);
    j = top;
  }
}

// Computes an eigenvector for the eigenvalue at row k; the other entries must be zero.
static void triangular_vector(const triangular_t* s, int64_t k) {
  const int64_t n = s->n;
  int64_t top = k;
  set_entry(&s->x, k, 1);
  if (k > 0 && t_at(s, k, k - 1) != 0) top = k - 1;
  if (top < k || (k + 1 < n && t_at(s, k + 1, k) != 0)) {  // null vector of the block
    const number_t b = t_at(s, top, top + 1), c = t_at(s, top + 1, top);
    const bool is_first = cabs(b) >= cabs(c);
    const number_t other =
        is_first ? (s->w - t_at(s, top, top)) / b : (s->w - t_at(s, top + 1, top + 1)) / c;
    set_entry(&s->x, top, is_first ? 1 : other);
    set_entry(&s->x, top + 1, is_first ? other : 1);
    eliminate(s, top, top + 1);
  }
  eliminate(s, top, top);
  solve_above(s, top);
}

// t = the form by columns; for left vectors its adjoint with rows and columns reversed, which is
// upper triangular too. Returns the magnitude of its largest entry.
static double transpose_form(const form_t* form, bool is_left, const planes_t* t) {
  const int64_t n = form->n;
  double norm = 0;
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = 0; i < n; i++) {
      const int64_t from = is_left ? (n - 1 - j) * n + n - 1 - i : i * n + j;
      const bool is_below = i > j + (t->im ? 0 : 1);
      const number_t value = is_below ? 0
                             : t->im  ? ((const number_t*)form->t)[from]
                                      : ((const double*)form->t)[from];
      set_entry(t, j * n + i, is_left ? conj(value) : value);
      norm = fmax(norm, cabs(value));
    }
  }
  return norm;
}

static void reverse(int64_t n, double* x) {
  for (int64_t i = 0; x && 2 * i < n - 1; i++) {
    const double kept = x[i];
    x[i] = x[n - 1 - i];
    x[n - 1 - i] = kept;
  }
}

// Returns true if this row and the next are the real and imaginary parts of a vector.
static bool is_first_of_pair(const form_t* form, int64_t k) {
  return form->dtype == HLO_DTYPE_F64 && cimag(form->w[k]) > 0 && k + 1 < form->n;
}

// Computes the vectors of the triangular matrix as rows of x. A conjugate pair of a real matrix
// takes two rows.
static void triangular_vectors(const form_t* form, bool is_left, const planes_t* t,
                               const planes_t* x) {
  const int64_t n = form->n;
  triangular_t s = {.n = n, .t = *t};
  s.least = fmax(DBL_EPSILON * transpose_form(form, is_left, t), DBL_MIN / DBL_EPSILON);
  memset(x->re, 0, (size_t)(n * n) * sizeof(double));
  if (x->im) memset(x->im, 0, (size_t)(n * n) * sizeof(double));
  for (int64_t k = 0; k < n; k++) {
    const bool is_pair = is_first_of_pair(form, k);
    s.x = (planes_t){x->re + k * n, x->im ? x->im + k * n : NULL};
    if (is_pair) s.x.im = x->re + (k + 1) * n;
    s.w = is_left ? conj(form->w[k]) : form->w[k];
    triangular_vector(&s, is_left ? n - 1 - k : k);
    if (is_left) {
      reverse(n, s.x.re);
      reverse(n, s.x.im);
    }
    k += is_pair;
  }
}

// v = x z' (rows of x are vectors), one product per part.
static void multiply(int64_t n, const double* x, const double* z, int parts, hlo_gemm_mode_t mode,
                     double* v, void* scratch) {
  const hlo_gemm_t gemm = {.m = n,
                           .n = n,
                           .k = n,
                           .a = x,
                           .a_row = n,
                           .a_col = 1,
                           .b = z,
                           .b_row = parts,
                           .b_col = n * parts,
                           .c = v,
                           .c_row = n,
                           .mode = mode};
  hlo_gemm(HLO_DTYPE_F64, &gemm, scratch);
}

// Scales to length 1, with a real largest entry.
static void normalise_vector(int64_t n, bool is_real, number_t* v) {
  double sum = 0, largest = 0;
  int64_t largest_at = 0;
  for (int64_t i = 0; i < n; i++) {
    const double size = cabs(v[i]);
    if (size > largest) {
      largest = size;
      largest_at = i;
    }
  }
  if (largest == 0) return;
  for (int64_t i = 0; i < n; i++) {
    const double re = creal(v[i]) / largest, im = cimag(v[i]) / largest;
    sum += re * re + im * im;
  }
  const number_t phase = (is_real ? 1 : conj(v[largest_at]) / largest) / (largest * sqrt(sum));
  const double c = creal(phase), s = cimag(phase);
  for (int64_t i = 0; i < n; i++) {
    v[i] = __builtin_complex(creal(v[i]) * c - cimag(v[i]) * s, creal(v[i]) * s + cimag(v[i]) * c);
  }
  if (!is_real) v[largest_at] = creal(v[largest_at]);
}

// Stores column k of a result.
static void store_vector(hlo_dtype_t dtype, int64_t n, int64_t k, const number_t* v,
                         bool is_conjugate, void* out) {
  const bool is_single = dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_C64;
  for (int64_t i = 0; i < n; i++) {
    const number_t value = is_conjugate ? conj(v[i]) : v[i];
    if (is_single) {
      ((float complex*)out)[i * n + k] = (float complex)value;
    } else {
      ((number_t*)out)[i * n + k] = value;
    }
  }
}

// Computes the eigenvectors of the matrix with a given Schur form; left ones are those of the
// adjoint.
static void vectors(hlo_dtype_t dtype, const form_t* form, const double* scales, bool is_left,
                    void* out, hlo_lapack_pieces_t pieces) {
  const int64_t n = form->n;
  const bool is_complex = form->dtype == HLO_DTYPE_C128;
  const size_t bytes = (size_t)(n * n) * sizeof(double);
  planes_t t = {hlo_lapack_take(&pieces, bytes), NULL}, x = {hlo_lapack_take(&pieces, bytes), NULL};
  if (is_complex) t.im = hlo_lapack_take(&pieces, bytes);
  if (is_complex) x.im = hlo_lapack_take(&pieces, bytes);
  number_t* v = hlo_lapack_take(&pieces, (size_t)n * sizeof(*v));
  void* scratch = hlo_lapack_take(&pieces, hlo_gemm_scratch_bytes(HLO_DTYPE_F64, n, n, n));
  triangular_vectors(form, is_left, &t, &x);
  const double* z = form->z;
  multiply(n, x.re, z, is_complex ? 2 : 1, HLO_GEMM_SET, t.re, scratch);
  if (is_complex) {
    multiply(n, x.im, z + 1, 2, HLO_GEMM_SUBTRACT, t.re, scratch);
    multiply(n, x.re, z + 1, 2, HLO_GEMM_SET, t.im, scratch);
    multiply(n, x.im, z, 2, HLO_GEMM_ADD, t.im, scratch);
  }
  for (int64_t k = 0; k < n; k++) {
    const bool is_pair = is_first_of_pair(form, k);
    const planes_t row = {t.re + k * n, is_complex ? t.im + k * n
                                        : is_pair  ? t.re + (k + 1) * n
                                                   : NULL};
    for (int64_t i = 0; i < n; i++) {
      v[i] = is_left ? entry(&row, i) / scales[i] : entry(&row, i) * scales[i];
    }
    normalise_vector(n, !row.im, v);
    store_vector(dtype, n, k, v, false, out);
    if (is_pair) store_vector(dtype, n, ++k, v, true, out);
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
