// SPDX-License-Identifier: Apache-2.0
// Factorisations of every type and instruction set, over edge sizes, by their residuals: products
// of the factors, computed in complex doubles, against the original matrix.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "lib/isa.h"
#include "lib/lapack/lapack_impl.h"
#include "lib/lapack/lapack_schur.h"

typedef double complex number_t;

static const hlo_dtype_t types[HLO_LAPACK_TYPES] = {HLO_DTYPE_F32, HLO_DTYPE_F64, HLO_DTYPE_C64,
                                                    HLO_DTYPE_C128};
static const int64_t sizes[] = {0, 1, 2, 3, 7, 31, 33, 64, 100, 255, 256, 300};  // the last always
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

// One type on one instruction set.
typedef struct {
  const hlo_lapack_t* run;
  hlo_dtype_t dtype, real;
  double epsilon;
  hlo_lapack_work_t work;
} kernel_t;

// A linear congruential generator, the same on every platform. Numbers between -1 and 1.
static uint32_t random_state = 1;
static double next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (double)(random_state >> 8) / (1 << 23) - 1;
}

static void* wanted(size_t bytes) {
  void* memory = hlo_mem_alloc_aligned(bytes + 1, 64);
  assert_non_null(memory);
  return memory;
}

static number_t* numbers(int64_t count) {
  return wanted((size_t)count * sizeof(number_t));
}

// A matrix in the kernel's type.
static void* narrow(const kernel_t* k, int64_t count, const number_t* wide) {
  void* out = wanted((size_t)count * hlo_dtype_size_bytes(k->dtype));
  hlo_dtype_convert(HLO_DTYPE_C128, wide, k->dtype, out, (size_t)count);
  return out;
}

static void widen(hlo_dtype_t dtype, int64_t count, const void* in, number_t* wide) {
  hlo_dtype_convert(dtype, in, HLO_DTYPE_C128, wide, (size_t)count);
}

// Returns random entries, rounded to the kernel's type.
static number_t* random_matrix(const kernel_t* k, int64_t m, int64_t n) {
  number_t* a = numbers(m * n);
  for (int64_t i = 0; i < m * n; i++) {
    const double re = next_random();
    a[i] = hlo_dtype_is_complex(k->dtype) ? re + I * next_random() : re;
  }
  void* rounded = narrow(k, m * n, a);
  widen(k->dtype, m * n, rounded, a);
  hlo_mem_free(rounded);
  return a;
}

static number_t* random_hermitian(const kernel_t* k, int64_t n, double shift) {
  number_t* a = random_matrix(k, n, n);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) a[j * n + i] = conj(a[i * n + j]);
    a[i * n + i] = creal(a[i * n + i]) + shift;
  }
  return a;
}

// Returns true if all sizes run and residuals use full products, which is slow:
// HLO_LAPACK_TEST_FULL=1.
static bool is_full(void) {
  const char* text = getenv("HLO_LAPACK_TEST_FULL");
  return text && *text && *text != '0';
}

// Returns the largest entry of c - op(a) b; op is the adjoint if is_adjoint.
static double residual_of(bool is_adjoint, int64_t m, int64_t n, int64_t k, const number_t* a,
                          const number_t* b, const number_t* c) {
  double worst = 0;
  number_t* row = numbers(n);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) row[j] = c[i * n + j];
    for (int64_t p = 0; p < k; p++) {
      const number_t left = is_adjoint ? conj(a[p * m + i]) : a[i * k + p];
      if (left == 0) continue;
      for (int64_t j = 0; j < n; j++) row[j] -= left * b[p * n + j];
    }
    for (int64_t j = 0; j < n; j++) {
      if (!(cabs(row[j]) <= worst)) worst = cabs(row[j]);
    }
  }
  hlo_mem_free(row);
  return worst;
}

// Returns x times `count` columns of random signs; x has m rows of n.
static number_t* probed(int64_t m, int64_t n, int64_t count, const number_t* x,
                        const double* signs) {
  number_t* out = numbers(m * count);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t s = 0; s < count; s++) {
      number_t sum = 0;
      for (int64_t j = 0; j < n; j++) sum += x[i * n + j] * signs[s * n + j];
      out[i * count + s] = sum;
    }
  }
  return out;
}

// For large matrices, checks a few sums of columns with random signs: every wrong entry affects
// each of them, and rounding errors grow with the square root of n.
static double residual(bool is_adjoint, int64_t m, int64_t n, int64_t k, const number_t* a,
                       const number_t* b, const number_t* c) {
  enum { LARGE = 40, PROBES = 3 };
  if (n <= LARGE || is_full()) return residual_of(is_adjoint, m, n, k, a, b, c);
  double* signs = wanted((size_t)(n * PROBES) * sizeof(double));
  for (int64_t i = 0; i < n * PROBES; i++) signs[i] = next_random() < 0 ? -1 : 1;
  number_t *few_b = probed(k, n, PROBES, b, signs), *few_c = probed(m, n, PROBES, c, signs);
  const double worst = residual_of(is_adjoint, m, PROBES, k, a, few_b, few_c);
  hlo_mem_free(few_b);
  hlo_mem_free(few_c);
  hlo_mem_free(signs);
  return worst / sqrt((double)n);
}

static number_t* identity(int64_t n) {
  number_t* unit = numbers(n * n);
  for (int64_t i = 0; i < n * n; i++) unit[i] = i % (n + 1) == 0;
  return unit;
}

static void check_residual(const kernel_t* k, double error, double scale) {
  if (!(error <= 64 * k->epsilon * (scale + 1))) {
    fail_msg("type %d: error %g, scale %g", k->dtype, error, scale);
  }
}

static void check_cholesky(const kernel_t* k, int64_t n) {
  for (int form = 0; form < 2; form++) {
    const bool is_lower = form == 0;
    number_t* a = random_hermitian(k, n, 4 * (double)n);
    number_t* given = numbers(n * n);
    for (int64_t i = 0; i < n * n; i++) {
      given[i] = (is_lower ? i % n <= i / n : i % n >= i / n) ? a[i] : 77;
    }
    void* factor = narrow(k, n * n, given);
    assert_int_equal(k->run->potrf(is_lower, n, factor, n, &k->work), 0);
    widen(k->dtype, n * n, factor, given);
    for (int64_t i = 0; i < n; i++) {  // the adjoint of the lower one is the upper one
      for (int64_t j = 0; j < n; j++) {
        if (is_lower ? j > i : j < i) {
          assert_true(given[i * n + j] == 77);
          given[i * n + j] = 0;
        }
      }
    }
    number_t* transposed = numbers(n * n);
    for (int64_t i = 0; i < n * n; i++) transposed[i] = conj(given[i % n * n + i / n]);
    check_residual(
        k,
        residual(false, n, n, n, is_lower ? given : transposed, is_lower ? transposed : given, a),
        8 * (double)n);
    hlo_mem_free(a);
    hlo_mem_free(given);
    hlo_mem_free(transposed);
    hlo_mem_free(factor);
  }
}

static void check_solve(const kernel_t* k, int64_t n) {
  for (int form = 0; form < 24; form++) {
    const bool is_left = form & 1, is_lower = form & 2, is_unit = form & 4;
    const hlo_transpose_t op = (hlo_transpose_t)(form / 8);
    if (n > 100 && form % 5) continue;
    const int64_t other = form % 3 ? n / 2 + 3 : 1, m = is_left ? n : other,
                  columns = is_left ? other : n;
    number_t *a = random_matrix(k, n, n), *b = random_matrix(k, m, columns), *full = numbers(n * n);
    for (int64_t i = 0; i < n; i++) {  // well conditioned; entries that must not be read are NaN
      for (int64_t j = 0; j < n; j++) {
        number_t* entry = &a[i * n + j];
        if (i == j)
          *entry = is_unit ? NAN : *entry + 3;
        else if (is_lower ? j > i : j < i)
          *entry = NAN;
        else
          *entry = *entry * (1 / 64.0);
      }
    }
    void *given = narrow(k, n * n, a), *x = narrow(k, m * columns, b);
    widen(k->dtype, n * n, given, a);
    for (int64_t i = 0; i < n; i++) {  // op(a) in full
      for (int64_t j = 0; j < n; j++) {
        number_t entry = a[i * n + j];
        if (i == j && is_unit)
          entry = 1;
        else if (is_lower ? j > i : j < i)
          entry = 0;
        full[op == HLO_LAPACK_PLAIN ? i * n + j : j * n + i] =
            op == HLO_LAPACK_ADJOINT ? conj(entry) : entry;
      }
    }
    const hlo_triangle_t triangle = {given, n, is_lower, is_unit, is_left, op};
    k->run->trsm(&triangle, m, columns, x, columns, &k->work);
    number_t* solved = numbers(m * columns);
    widen(k->dtype, m * columns, x, solved);
    check_residual(k,
                   is_left ? residual(false, m, columns, n, full, solved, b)
                           : residual(false, m, columns, n, solved, full, b),
                   1);
    number_t* kept[] = {a, b, full, solved};
    for (int i = 0; i < 4; i++) hlo_mem_free(kept[i]);
    hlo_mem_free(given);
    hlo_mem_free(x);
  }
}

static void check_lu(const kernel_t* k, int64_t m, int64_t n) {
  const int64_t steps = m < n ? m : n;
  number_t *a = random_matrix(k, m, n), *lower = numbers(m * steps), *upper = numbers(steps * n);
  number_t* both = numbers(m * n);
  int32_t* pivots = wanted((size_t)steps * sizeof(*pivots));
  void* factor = narrow(k, m * n, a);
  assert_int_equal(k->run->getrf(m, n, factor, n, pivots, &k->work), 0);
  widen(k->dtype, m * n, factor, both);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < steps; j++) {
      lower[i * steps + j] = i == j ? 1 : j < i ? both[i * n + j] : 0;
      assert_true(cabs(lower[i * steps + j]) < 1.5);
    }
  }
  for (int64_t i = 0; i < steps; i++) {
    for (int64_t j = 0; j < n; j++) upper[i * n + j] = j >= i ? both[i * n + j] : 0;
    assert_true(pivots[i] > i && pivots[i] <= m);
    for (int64_t j = 0; j < n; j++) {
      const number_t kept = a[i * n + j];
      a[i * n + j] = a[(pivots[i] - 1) * n + j];
      a[(pivots[i] - 1) * n + j] = kept;
    }
  }
  check_residual(k, residual(false, m, n, steps, lower, upper, a), sqrt((double)(m + n)));
  number_t* kept[] = {a, lower, upper, both};
  for (int i = 0; i < 4; i++) hlo_mem_free(kept[i]);
  hlo_mem_free(pivots);
  hlo_mem_free(factor);
}

static void check_qr(const kernel_t* k, int64_t m, int64_t n) {
  const int64_t steps = m < n ? m : n;
  const size_t each = hlo_dtype_size_bytes(k->dtype);
  number_t *a = random_matrix(k, m, n), *upper = numbers(steps * n), *q = numbers(m * steps);
  number_t *both = numbers(m * n), *unit = identity(steps);
  void *factor = narrow(k, m * n, a), *tau = wanted((size_t)steps * each);
  k->run->geqrf(m, n, factor, n, tau, &k->work);
  widen(k->dtype, m * n, factor, both);
  for (int64_t i = 0; i < steps; i++) {
    for (int64_t j = 0; j < n; j++) upper[i * n + j] = j >= i ? both[i * n + j] : 0;
  }
  void* vectors = wanted((size_t)(m * steps) * each);
  for (int64_t i = 0; i < m; i++) {
    memcpy((char*)vectors + (size_t)(i * steps) * each, (char*)factor + (size_t)(i * n) * each,
           (size_t)steps * each);
  }
  k->run->orgqr(m, steps, steps, vectors, steps, tau, &k->work);
  widen(k->dtype, m * steps, vectors, q);
  check_residual(k, residual(false, m, n, steps, q, upper, a), sqrt((double)(m + n)));
  check_residual(k, residual(true, steps, steps, m, q, q, unit), 1);
  number_t* kept[] = {a, upper, q, both, unit};
  for (int i = 0; i < 5; i++) hlo_mem_free(kept[i]);
  hlo_mem_free(vectors);
  hlo_mem_free(factor);
  hlo_mem_free(tau);
}

static void check_eigh(const kernel_t* k, int64_t n) {
  for (int form = 0; form < 2; form++) {
    const bool is_lower = form == 0;
    number_t* a = random_hermitian(k, n, 0);
    number_t *given = numbers(n * n), *v = numbers(n * n), *scaled = numbers(n * n);
    number_t *w = numbers(n), *unit = identity(n);
    for (int64_t i = 0; i < n * n; i++) {
      given[i] = (is_lower ? i % n <= i / n : i % n >= i / n) ? a[i] : NAN;
    }
    void *vectors = narrow(k, n * n, given), *values = wanted((size_t)n * sizeof(double));
    assert_int_equal(k->run->syevd(true, is_lower, n, vectors, n, values, &k->work), 0);
    widen(k->dtype, n * n, vectors, v);
    widen(k->real, n, values, w);
    for (int64_t i = 0; i < n * n; i++) scaled[i] = v[i] * w[i % n];
    for (int64_t i = 1; i < n; i++) assert_true(creal(w[i - 1]) <= creal(w[i]));
    check_residual(k, residual(false, n, n, n, a, v, scaled), 2 * sqrt((double)n));
    check_residual(k, residual(true, n, n, n, v, v, unit), 1);
    void *again = narrow(k, n * n, given), *same = wanted((size_t)n * sizeof(double));
    assert_int_equal(k->run->syevd(false, is_lower, n, again, n, same, &k->work), 0);
    assert_memory_equal(values, same, (size_t)n * hlo_dtype_size_bytes(k->real));
    number_t* kept[] = {a, given, v, scaled, w, unit};
    for (int i = 0; i < 6; i++) hlo_mem_free(kept[i]);
    void* narrow_ones[] = {vectors, values, again, same};
    for (int i = 0; i < 4; i++) hlo_mem_free(narrow_ones[i]);
  }
}

static void check_svd_form(const kernel_t* k, int64_t m, int64_t n, bool is_full) {
  const int64_t least = m < n ? m : n, columns = is_full ? m : least, rows = is_full ? n : least;
  const size_t each = hlo_dtype_size_bytes(k->dtype);
  number_t *a = random_matrix(k, m, n), *u = numbers(m * columns), *vt = numbers(rows * n);
  number_t *s = numbers(least), *scaled = numbers(m * least), *top = numbers(least * n);
  void *given = narrow(k, m * n, a), *values = wanted((size_t)least * sizeof(double));
  void *left = wanted((size_t)(m * columns) * each), *right = wanted((size_t)(rows * n) * each);
  hlo_lapack_work_t work = {0};
  const int64_t tall = m > n ? m : n;
  assert_true(
      hlo_lapack_scratch_bytes(k->dtype, tall, is_full ? tall : least, &work.scratch_bytes));
  work.scratch = wanted(work.scratch_bytes);
  assert_int_equal(k->run->gesdd(m, n, given, values, columns, left, rows, right, &work), 0);
  widen(k->dtype, m * columns, left, u);
  widen(k->dtype, rows * n, right, vt);
  widen(k->real, least, values, s);
  for (int64_t i = 0; i < least; i++) {
    assert_true(creal(s[i]) >= 0 && (i == 0 || creal(s[i]) <= creal(s[i - 1])));
    for (int64_t r = 0; r < m; r++) scaled[r * least + i] = u[r * columns + i] * s[i];
    for (int64_t c = 0; c < n; c++) top[i * n + c] = vt[i * n + c];
  }
  check_residual(k, residual(false, m, n, least, scaled, top, a), sqrt((double)(m + n)));
  number_t *unit = identity(columns), *other = identity(rows), *transposed = numbers(rows * n);
  for (int64_t i = 0; i < rows * n; i++) transposed[i] = conj(vt[i % rows * n + i / rows]);
  check_residual(k, residual(true, columns, columns, m, u, u, unit), 1);
  check_residual(k, residual(false, rows, rows, n, vt, transposed, other), 1);
  void *again = narrow(k, m * n, a), *same = wanted((size_t)least * sizeof(double));
  assert_int_equal(k->run->gesdd(m, n, again, same, least, NULL, least, NULL, &work), 0);
  check_residual(k, fabs(creal(s[0]) - (k->real == HLO_DTYPE_F32 ? *(float*)same : *(double*)same)),
                 creal(s[0]));
  number_t* kept[] = {a, u, vt, s, scaled, top, unit, other, transposed};
  for (int i = 0; i < 9; i++) hlo_mem_free(kept[i]);
  void* narrow_ones[] = {given, values, left, right, work.scratch, again, same};
  for (int i = 0; i < 7; i++) hlo_mem_free(narrow_ones[i]);
}

static void check_svd(const kernel_t* k, int64_t n) {
  if (n == 0) return;
  check_svd_form(k, n, n, true);
  check_svd_form(k, n, n / 2 + 1, n < 100);
  check_svd_form(k, n / 2 + 1, n, n < 100);
}

// Checks c = op(Q) c and c op(Q) against products with the Q of orgqr.
static void check_multiply(const kernel_t* k, int64_t n) {
  const size_t each = hlo_dtype_size_bytes(k->dtype);
  number_t *a = random_matrix(k, n, n), *q = numbers(n * n), *c = random_matrix(k, n, 5);
  number_t *result = numbers(n * 5), *transposed = numbers(n * n);
  void *factor = narrow(k, n * n, a), *full = wanted((size_t)(n * n) * each);
  void* tau = wanted((size_t)n * each);
  k->run->geqrf(n, n, factor, n, tau, &k->work);
  memcpy(full, factor, (size_t)(n * n) * each);
  k->run->orgqr(n, n, n, full, n, tau, &k->work);
  widen(k->dtype, n * n, full, q);
  for (int64_t i = 0; i < n * n; i++) transposed[i] = conj(q[i % n * n + i / n]);
  for (int form = 0; form < 4; form++) {
    const bool is_left = form & 1, is_adjoint = form & 2;
    const number_t* op = is_adjoint ? transposed : q;
    void* x = narrow(k, n * 5, c);
    const int64_t rows = is_left ? n : 5, columns = is_left ? 5 : n;
    k->run->ormqr(is_left, is_adjoint, rows, columns, n, factor, n, tau, x, columns, &k->work);
    widen(k->dtype, n * 5, x, result);
    check_residual(
        k,
        is_left ? residual(false, n, 5, n, op, c, result) : residual(false, 5, n, n, c, op, result),
        sqrt((double)n));
    hlo_mem_free(x);
  }
  number_t* kept[] = {a, q, c, result, transposed};
  for (int i = 0; i < 5; i++) hlo_mem_free(kept[i]);
  hlo_mem_free(factor);
  hlo_mem_free(full);
  hlo_mem_free(tau);
}

static void check_pivoted_qr(const kernel_t* k, int64_t n) {
  const int64_t m = n / 2 + 2, steps = m < n ? m : n;
  const size_t each = hlo_dtype_size_bytes(k->dtype);
  number_t *a = random_matrix(k, m, n), *both = numbers(m * n), *upper = numbers(m * n);
  number_t* picked = numbers(m * n);
  void *factor = narrow(k, m * n, a), *tau = wanted((size_t)steps * each);
  int32_t* order = wanted((size_t)n * sizeof(*order));
  for (int64_t i = 0; i < n; i++) order[i] = i == n - 1;  // the last column moves to the front
  k->run->geqp3(m, n, factor, n, order, tau, &k->work);
  widen(k->dtype, m * n, factor, both);
  assert_true(n == 0 || order[0] == n);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      upper[i * n + j] = j >= i ? both[i * n + j] : 0;
      picked[i * n + j] = a[i * n + order[j] - 1];
      if (i == j && i > 1) {
        assert_true(cabs(upper[i * n + i]) <=
                    cabs(upper[(i - 1) * n + i - 1]) * (1 + 100 * k->epsilon));
      }
    }
  }
  void* product = narrow(k, m * n, upper);
  k->run->ormqr(true, false, m, n, steps, factor, n, tau, product, n, &k->work);
  widen(k->dtype, m * n, product, both);
  double worst = 0;
  for (int64_t i = 0; i < m * n; i++) worst = fmax(worst, cabs(both[i] - picked[i]));
  check_residual(k, worst, sqrt((double)n));
  number_t* kept[] = {a, both, upper, picked};
  for (int i = 0; i < 4; i++) hlo_mem_free(kept[i]);
  void* narrow_ones[] = {factor, tau, order, product};
  for (int i = 0; i < 4; i++) hlo_mem_free(narrow_ones[i]);
}

static void check_tridiagonal_solve(const kernel_t* k, int64_t n) {
  if (n == 0) return;
  number_t *bands = random_matrix(k, 3, n), *b = random_matrix(k, n, 3), *x = numbers(n * 3);
  const size_t line = (size_t)n * hlo_dtype_size_bytes(k->dtype);
  char* given = narrow(k, 3 * n, bands);
  for (int64_t i = 0; i < n; i++) bands[n + i] += i % 2;  // every other step swaps rows
  void* rounded = narrow(k, 3 * n, bands);
  memcpy(given, rounded, 3 * line);
  widen(k->dtype, 3 * n, given, bands);
  void* solved = narrow(k, n * 3, b);
  assert_int_equal(
      k->run->gtsv(false, n, 3, given, given + line, given + 2 * line, solved, 3, &k->work), 0);
  widen(k->dtype, n * 3, solved, x);
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < 3; j++) {
      number_t sum = bands[n + i] * x[i * 3 + j] - b[i * 3 + j];
      if (i > 0) sum += bands[i - 1] * x[(i - 1) * 3 + j];
      if (i + 1 < n) sum += bands[2 * n + i] * x[(i + 1) * 3 + j];
      worst = fmax(worst, cabs(sum));
      largest = fmax(largest, cabs(x[i * 3 + j]));
    }
  }
  check_residual(k, worst, largest);
  number_t* kept[] = {bands, b, x};
  for (int i = 0; i < 3; i++) hlo_mem_free(kept[i]);
  hlo_mem_free(given);
  hlo_mem_free(rounded);
  hlo_mem_free(solved);
}

// Returns the Q of a reduction whose reflectors start one row lower than those of geqrf.
static number_t* shifted_q(const kernel_t* k, int64_t n, const void* factor, const void* tau) {
  const size_t each = hlo_dtype_size_bytes(k->dtype), row = (size_t)n * each;
  char* q = wanted((size_t)n * row);
  number_t* wide = identity(n);
  void* unit = narrow(k, n * n, wide);
  memcpy(q, unit, (size_t)n * row);
  for (int64_t i = 2; i < n; i++) {
    memcpy(q + (size_t)i * row + each, (const char*)factor + (size_t)i * row,
           (size_t)(i - 1) * each);
  }
  if (n > 1) k->run->orgqr(n - 1, n - 1, n - 1, q + row + each, n, tau, &k->work);
  widen(k->dtype, n * n, q, wide);
  hlo_mem_free(q);
  hlo_mem_free(unit);
  return wide;
}

static void check_reductions(const kernel_t* k, int64_t n) {
  if (n == 0) return;
  const size_t each = hlo_dtype_size_bytes(k->dtype);
  for (int form = 0; form < 2; form++) {  // tridiagonal and Hessenberg
    number_t *a = form ? random_matrix(k, n, n) : random_hermitian(k, n, 0), *t = numbers(n * n);
    number_t* middle = numbers(n * n);
    void *factor = narrow(k, n * n, a), *tau = wanted((size_t)n * each);
    void *d = wanted((size_t)n * each), *e = wanted((size_t)n * each);
    if (form) {
      k->run->gehrd(n, 0, n, factor, n, tau, &k->work);
      widen(k->dtype, n * n, factor, t);
      for (int64_t i = 0; i < n * n; i++) t[i] = i % n + 1 < i / n ? 0 : t[i];
    } else {
      k->run->sytrd(true, n, factor, n, d, e, tau, &k->work);
      memset(t, 0, (size_t)(n * n) * sizeof(*t));
      for (int64_t i = 0; i < n; i++) {
        const size_t real = hlo_dtype_size_bytes(k->real);
        widen(k->real, 1, (char*)d + (size_t)i * real, &t[i * n + i]);
        if (i + 1 == n) continue;
        widen(k->real, 1, (char*)e + (size_t)i * real, &t[i * n + i + 1]);
        t[(i + 1) * n + i] = t[i * n + i + 1];
      }
    }
    number_t* q = shifted_q(k, n, factor, tau);  // a Q = Q T
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) {
        number_t sum = 0;
        for (int64_t p = form || j == 0 ? 0 : j - 1; p <= j + 1 && p < n; p++) {
          sum += q[i * n + p] * t[p * n + j];
        }
        middle[i * n + j] = sum;
      }
    }
    check_residual(k, residual(false, n, n, n, a, q, middle), 2 * sqrt((double)n));
    number_t* kept[] = {a, t, middle, q};
    for (int i = 0; i < 4; i++) hlo_mem_free(kept[i]);
    void* narrow_ones[] = {factor, tau, d, e};
    for (int i = 0; i < 4; i++) hlo_mem_free(narrow_ones[i]);
  }
}

// ---- many small matrices: equal to single ones up to rounding -----------------------------------

typedef struct {
  const kernel_t* k;
  int64_t count, each;  // matrices, elements of one
  number_t* a;
  void *together, *alone;
} small_t;

static small_t small_begin(const kernel_t* k, int64_t count, int64_t each) {
  small_t s = {k, count, each, random_matrix(k, count, each), NULL, NULL};
  return s;
}

static void small_copy(small_t* s) {
  s->together = narrow(s->k, s->count * s->each, s->a);
  s->alone = narrow(s->k, s->count * s->each, s->a);
}

static void* small_at(const small_t* s, int64_t index) {
  return (char*)s->alone + (size_t)(index * s->each) * hlo_dtype_size_bytes(s->k->dtype);
}

static void check_alike(const kernel_t* k, int64_t count, const void* x, const void* y,
                        double slack) {
  number_t *one = numbers(count), *other = numbers(count);
  double worst = 0, largest = 0;
  widen(k->dtype, count, x, one);
  widen(k->dtype, count, y, other);
  for (int64_t i = 0; i < count; i++) {
    if (!(cabs(one[i] - other[i]) <= worst)) worst = cabs(one[i] - other[i]);
    largest = fmax(largest, cabs(one[i]));
  }
  check_residual(k, worst, slack * largest);
  hlo_mem_free(one);
  hlo_mem_free(other);
}

static void small_end(small_t* s, double slack) {
  check_alike(s->k, s->count * s->each, s->together, s->alone, slack);
  hlo_mem_free(s->together);
  hlo_mem_free(s->alone);
  hlo_mem_free(s->a);
}

enum { SMALL_MOST = HLO_LAPACK_SMALL_COUNT + 3, SMALL_SIDE = 34 };

static bool is_small_size(const kernel_t* k, int64_t n) {
  return n >= 1 && n < SMALL_SIDE && k->run->getrf_small;
}

static void check_small_lu(const kernel_t* k, int64_t n) {
  if (!is_small_size(k, n)) return;
  for (int form = 0; form < 3; form++) {
    const int64_t m = n + 1 - form, steps = m < n ? m : n;
    small_t s = small_begin(k, SMALL_MOST - form, m * n);
    // Well conditioned, with different pivot rows in every matrix; one matrix lacks its first
    // pivot.
    for (int64_t r = 0; r < s.count * m; r++) s.a[r * n + (r + r / m) % n] += 2 * (double)n;
    for (int64_t i = 0; i < m; i++) s.a[s.each + i * n] = 0;
    small_copy(&s);
    int32_t pivots[2][SMALL_MOST * SMALL_SIDE], info[SMALL_MOST];
    k->run->getrf_small(s.count, m, n, s.together, pivots[0], info, &k->work);
    for (int64_t l = 0; l < s.count; l++) {
      const int64_t failed = k->run->getrf(m, n, small_at(&s, l), n, pivots[1], &k->work);
      assert_int_equal(failed, info[l]);
      assert_memory_equal(pivots[0] + l * steps, pivots[1], (size_t)steps * sizeof(int32_t));
    }
    small_end(&s, 10);
  }
}

static void check_small_cholesky(const kernel_t* k, int64_t n) {
  if (!is_small_size(k, n)) return;
  for (int form = 0; form < 2; form++) {
    small_t s = small_begin(k, SMALL_MOST - form, n * n);
    for (int64_t i = 0; i < s.count * n; i++) s.a[i / n * n * n + i % n * (n + 1)] += 2 * (double)n;
    small_copy(&s);
    int32_t info[SMALL_MOST];
    k->run->potrf_small(form, s.count, n, s.together, info, &k->work);
    for (int64_t l = 0; l < s.count; l++) {
      assert_int_equal(k->run->potrf(form, n, small_at(&s, l), n, &k->work), info[l]);
      assert_int_equal(info[l], 0);
    }
    small_end(&s, 4);
  }
  small_t s = small_begin(k, SMALL_MOST, n * n);
  for (int64_t l = 0; l < s.count; l++) {
    for (int64_t i = 0; i < n * n; i++) s.a[l * n * n + i] = i % (n + 1) ? 0 : i / n == l ? -1 : 1;
  }
  small_copy(&s);
  int32_t info[SMALL_MOST];
  k->run->potrf_small(true, s.count, n, s.together, info, &k->work);
  for (int64_t l = 0; l < s.count; l++) assert_int_equal(info[l], l < n ? l + 1 : 0);
  hlo_mem_free(s.together);
  hlo_mem_free(s.alone);
  hlo_mem_free(s.a);
}

static void check_small_solve(const kernel_t* k, int64_t n) {
  if (!is_small_size(k, n)) return;
  const size_t bytes = hlo_dtype_size_bytes(k->dtype);
  for (int form = 0; form < 24; form++) {
    const bool is_left = form & 1;
    const int64_t other = form % 7 + 1, m = is_left ? n : other, columns = is_left ? other : n;
    small_t s = small_begin(k, SMALL_MOST - form % 5, m * columns);
    number_t* a = random_matrix(k, s.count, n * n);
    for (int64_t i = 0; i < s.count * n; i++) a[i / n * n * n + i % n * (n + 1)] += 2 * (double)n;
    void* given = narrow(k, s.count * n * n, a);
    small_copy(&s);
    if (form & 4) {  // unit diagonal: smaller entries below and above
      for (int64_t i = 0; i < s.count * n * n; i++) a[i] /= 2 * (double)n;
      hlo_mem_free(given);
      given = narrow(k, s.count * n * n, a);
    }
    hlo_triangle_t triangle = {given, n, form & 2, form & 4, is_left, (hlo_transpose_t)(form / 8)};
    k->run->trsm_small(&triangle, s.count, m, columns, s.together, &k->work);
    for (int64_t l = 0; l < s.count; l++) {
      triangle.a = (char*)given + (size_t)(l * n * n) * bytes;
      k->run->trsm(&triangle, m, columns, small_at(&s, l), columns, &k->work);
    }
    small_end(&s, 1);
    hlo_mem_free(a);
    hlo_mem_free(given);
  }
}

static void check_small_qr(const kernel_t* k, int64_t n) {
  if (!is_small_size(k, n)) return;
  for (int form = 0; form < 4; form++) {
    const int64_t m = form == 1 ? n / 2 + 1 : n + form, steps = m < n ? m : n;
    small_t s = small_begin(k, SMALL_MOST - form, m * n);
    for (int64_t i = 0; i < n; i++) s.a[i * n] = 0;  // lanes that need no reflection
    if (form == 3) {                                 // squares overflow and underflow
      for (int64_t i = 0; i < s.each; i++)
        s.a[i] *= sqrt(k->real == HLO_DTYPE_F32 ? FLT_MAX : DBL_MAX);
      for (int64_t i = 0; i < m; i++)
        s.a[s.each + i * n] *= k->real == HLO_DTYPE_F32 ? 1e-30 : 1e-300;
    }
    small_copy(&s);
    void *tau = narrow(k, s.count * steps, s.a), *one = narrow(k, s.count * steps, s.a);
    k->run->geqrf_small(s.count, m, n, s.together, tau, &k->work);
    for (int64_t l = 0; l < s.count; l++) {
      void* at = (char*)one + (size_t)(l * steps) * hlo_dtype_size_bytes(k->dtype);
      k->run->geqrf(m, n, small_at(&s, l), n, at, &k->work);
    }
    check_alike(k, s.count * steps, tau, one, 2);
    check_alike(k, s.count * s.each, s.together, s.alone, 2);
    const int64_t reflectors = steps - (form == 2);  // fewer than columns
    if (m >= n) {
      memcpy(s.together, s.alone, (size_t)(s.count * s.each) * hlo_dtype_size_bytes(k->dtype));
      k->run->orgqr_small(s.count, m, n, reflectors, s.together, one, &k->work);
    }
    for (int64_t l = 0; m >= n && l < s.count; l++) {
      void* at = (char*)one + (size_t)(l * reflectors) * hlo_dtype_size_bytes(k->dtype);
      k->run->orgqr(m, n, reflectors, small_at(&s, l), n, at, &k->work);
    }
    hlo_mem_free(tau);
    hlo_mem_free(one);
    small_end(&s, 2);
  }
}

// ---- every variant ------------------------------------------------------------------------------

typedef void (*check_fn_t)(const kernel_t* k, int64_t n);

static void on_every_variant(check_fn_t run) {
  const hlo_lapack_t* variants[3] = {hlo_lapack_generic};
  int count = 1;
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) variants[count++] = hlo_lapack_avx2;
  if (hlo_isa() >= HLO_ISA_AVX512) variants[count++] = hlo_lapack_avx512;
#endif
  for (int v = 0; v < count; v++) {
    for (int t = 0; t < HLO_LAPACK_TYPES; t++) {
      kernel_t k = {.run = &variants[v][t], .dtype = types[t]};
      k.real = types[t] == HLO_DTYPE_C64    ? HLO_DTYPE_F32
               : types[t] == HLO_DTYPE_C128 ? HLO_DTYPE_F64
                                            : types[t];
      k.epsilon = k.real == HLO_DTYPE_F32 ? FLT_EPSILON : DBL_EPSILON;
      for (int s = 0; s < SIZE_COUNT; s++) {
        // Larger sizes run only on the last variant, one size per type.
        if (sizes[s] > 100 && v + 1 < count) continue;
        if (sizes[s] > 100 && s != SIZE_COUNT - 1 && (!is_full() || t != s % HLO_LAPACK_TYPES))
          continue;
        const int64_t side = sizes[s] + 5;
        assert_true(hlo_lapack_scratch_bytes(k.dtype, side, side, &k.work.scratch_bytes));
        k.work.scratch = wanted(k.work.scratch_bytes);
        run(&k, sizes[s]);
        hlo_mem_free(k.work.scratch);
      }
    }
  }
}

static void rectangles_lu(const kernel_t* k, int64_t n) {
  check_lu(k, n, n);
  check_lu(k, n, n / 2 + 3);
  check_lu(k, n / 2 + 3, n);
}

static void rectangles_qr(const kernel_t* k, int64_t n) {
  check_qr(k, n, n);
  check_qr(k, n, n / 2 + 3);
  check_qr(k, n / 2 + 3, n);
}

static void test_cholesky(void** state) {
  (void)state;
  on_every_variant(check_cholesky);
}

static void test_solve(void** state) {
  (void)state;
  on_every_variant(check_solve);
}

static void test_lu(void** state) {
  (void)state;
  on_every_variant(rectangles_lu);
}

static void test_qr(void** state) {
  (void)state;
  on_every_variant(rectangles_qr);
}

static void test_small(void** state) {
  (void)state;
  on_every_variant(check_small_lu);
  on_every_variant(check_small_cholesky);
  on_every_variant(check_small_solve);
  on_every_variant(check_small_qr);
}

static void test_svd(void** state) {
  (void)state;
  on_every_variant(check_svd);
}

static void test_multiplication(void** state) {
  (void)state;
  on_every_variant(check_multiply);
  on_every_variant(check_pivoted_qr);
}

static void test_reductions(void** state) {
  (void)state;
  on_every_variant(check_reductions);
  on_every_variant(check_tridiagonal_solve);
}

static void test_eigh(void** state) {
  (void)state;
  on_every_variant(check_eigh);
}

// ---- general eigenproblems ----------------------------------------------------------------------

// Checks a v = w v for the columns of v, or a' v = conj(w) v.
static void check_eigenvectors(const kernel_t* k, int64_t n, bool is_left, const number_t* a,
                               const number_t* w, const number_t* v) {
  number_t* scaled = numbers(n * n);
  for (int64_t i = 0; i < n * n; i++) scaled[i] = v[i] * (is_left ? conj(w[i % n]) : w[i % n]);
  check_residual(k, residual(is_left, n, n, n, a, v, scaled), 4 * (double)n);
  hlo_mem_free(scaled);
}

static void check_schur(const kernel_t* k, int64_t n) {
  const size_t each = hlo_dtype_size_bytes(k->dtype);
  const bool is_real = k->dtype == k->real;
  number_t *a = random_matrix(k, n, n), *t = numbers(n * n), *z = numbers(n * n),
           *w = numbers(2 * n);
  number_t *v = numbers(n * n), *unit = identity(n);
  void *form = narrow(k, n * n, a), *vectors = wanted((size_t)(n * n) * each);
  void *wr = wanted((size_t)n * each), *wi = wanted((size_t)n * each);
  assert_int_equal(hlo_lapack_gees(k->dtype, n, form, vectors, wr, is_real ? wi : NULL, &k->work),
                   0);
  widen(k->dtype, n * n, form, t);
  widen(k->dtype, n * n, vectors, z);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) assert_true(t[i * n + j] == 0 || (is_real && j == i - 1));
    for (int64_t j = 0; j < n; j++) {
      number_t sum = 0;
      for (int64_t p = 0; p < n && p <= j + 1; p++) sum += z[i * n + p] * t[p * n + j];
      v[i * n + j] = sum;
    }
  }
  check_residual(k, residual(false, n, n, n, a, z, v), 2 * sqrt((double)n));
  check_residual(k, residual(true, n, n, n, z, z, unit), 2);
  const hlo_dtype_t complex_type = k->real == HLO_DTYPE_F32 ? HLO_DTYPE_C64 : HLO_DTYPE_C128;
  const size_t wide = hlo_dtype_size_bytes(complex_type);
  void *left = wanted((size_t)(n * n) * wide), *right = wanted((size_t)(n * n) * wide);
  void* given = narrow(k, n * n, a);
  assert_int_equal(
      hlo_lapack_geev(k->dtype, n, given, wr, is_real ? wi : NULL, left, right, &k->work), 0);
  widen(k->dtype, n, wr, w);
  if (is_real) widen(k->dtype, n, wi, w + n);
  for (int64_t i = 0; is_real && i < n; i++) w[i] += I * w[n + i];
  widen(complex_type, n * n, left, v);
  check_eigenvectors(k, n, true, a, w, v);
  widen(complex_type, n * n, right, v);
  check_eigenvectors(k, n, false, a, w, v);
  number_t* kept[] = {a, t, z, w, v, unit};
  for (int i = 0; i < 6; i++) hlo_mem_free(kept[i]);
  void* narrow_ones[] = {form, vectors, wr, wi, left, right, given};
  for (int i = 0; i < 7; i++) hlo_mem_free(narrow_ones[i]);
}

static void test_schur(void** state) {
  (void)state;
  for (int t = 0; t < HLO_LAPACK_TYPES; t++) {
    kernel_t k = {.run = &hlo_lapack_generic[t], .dtype = types[t]};
    k.real = t == HLO_LAPACK_F32 || t == HLO_LAPACK_C64 ? HLO_DTYPE_F32 : HLO_DTYPE_F64;
    k.epsilon = k.real == HLO_DTYPE_F32 ? FLT_EPSILON : DBL_EPSILON;
    for (int s = 0; s < SIZE_COUNT && sizes[s] <= 100; s++) {
      assert_true(hlo_lapack_schur_scratch_bytes(sizes[s], &k.work.scratch_bytes));
      k.work.scratch = wanted(k.work.scratch_bytes);
      check_schur(&k, sizes[s]);
      hlo_mem_free(k.work.scratch);
    }
  }
}

// ---- special matrices ---------------------------------------------------------------------------

static kernel_t plain_kernel(void) {
  kernel_t k = {.run = &hlo_lapack_generic[HLO_LAPACK_F64],
                .dtype = HLO_DTYPE_F64,
                .real = HLO_DTYPE_F64,
                .epsilon = DBL_EPSILON};
  assert_true(hlo_lapack_schur_scratch_bytes(64, &k.work.scratch_bytes));
  k.work.scratch = wanted(k.work.scratch_bytes);
  return k;
}

static void test_failures_are_told(void** state) {
  (void)state;
  const kernel_t k = plain_kernel();
  double a[4] = {1, 2, 2, 1}, zeros[4] = {0}, w[2];
  int32_t pivots[2];
  assert_int_equal(k.run->potrf(true, 2, a, 2, &k.work), 2);
  assert_int_equal(k.run->getrf(2, 2, zeros, 2, pivots, &k.work), 1);
  double nans[4] = {NAN, 1, 1, 1}, infinities[4] = {1, INFINITY, INFINITY, 1};
  assert_int_equal(k.run->potrf(true, 2, nans, 2, &k.work), 1);
  assert_int_equal(k.run->syevd(true, true, 2, nans, 2, w, &k.work), 2);
  assert_int_equal(k.run->syevd(true, true, 2, infinities, 2, w, &k.work), 2);
  double s[2];
  assert_int_equal(k.run->gesdd(2, 2, nans, s, 2, NULL, 2, NULL, &k.work), 2);
  double none[4] = {1, 2, NAN, 3}, wr[2], wi[2];
  assert_int_equal(hlo_lapack_gees(k.dtype, 2, none, NULL, wr, wi, &k.work), 2);
  double singular[3] = {0, 0, 0}, b[3] = {1, 1, 1}, beside[2] = {0, 0}, above[2] = {0, 0};
  assert_int_equal(k.run->gtsv(false, 3, 1, beside, singular, above, b, 1, &k.work), 1);
  assert_int_equal(k.run->gtsv(true, 3, 1, beside, singular, above, b, 1, &k.work), 0);
  for (int i = 0; i < 3; i++) assert_true(isfinite(b[i]) && b[i] > 1e6);
  hlo_mem_free(k.work.scratch);
}

// Few nonzero singular values, or all equal; a triangle of ones has equal eigenvalues.
static void test_degenerate(void** state) {
  (void)state;
  enum { ORDER = 40 };
  const kernel_t k = plain_kernel();
  double a[ORDER * ORDER], s[ORDER], wi[ORDER];
  for (int i = 0; i < ORDER * ORDER; i++) a[i] = 1;
  assert_int_equal(k.run->gesdd(ORDER, ORDER, a, s, ORDER, NULL, ORDER, NULL, &k.work), 0);
  assert_true(fabs(s[0] - ORDER) < 1e-13 * ORDER && s[1] < 1e-13 && s[ORDER - 1] >= 0);
  for (int i = 0; i < ORDER * ORDER; i++) a[i] = i % ORDER == (i / ORDER + 1) % ORDER;
  assert_int_equal(k.run->gesdd(ORDER, ORDER, a, s, ORDER, NULL, ORDER, NULL, &k.work), 0);
  assert_true(fabs(s[0] - 1) < 1e-14 && fabs(s[ORDER - 1] - 1) < 1e-14);
  for (int i = 0; i < ORDER * ORDER; i++) a[i] = 0;
  assert_int_equal(k.run->gesdd(ORDER, ORDER, a, s, ORDER, NULL, ORDER, NULL, &k.work), 0);
  assert_true(s[0] == 0 && s[ORDER - 1] == 0);
  for (int i = 0; i < ORDER * ORDER; i++) a[i] = i % ORDER >= i / ORDER;
  assert_int_equal(hlo_lapack_gees(k.dtype, ORDER, a, NULL, s, wi, &k.work), 0);
  for (int i = 0; i < ORDER; i++) assert_true(s[i] == 1 && wi[i] == 0);
  for (int i = 0; i < ORDER * ORDER; i++) a[i] = i % ORDER == (i / ORDER + 1) % ORDER;
  assert_int_equal(hlo_lapack_gees(k.dtype, ORDER, a, NULL, s, wi, &k.work), 0);
  for (int i = 0; i < ORDER; i++) assert_true(fabs(hypot(s[i], wi[i]) - 1) < 1e-13);
  hlo_mem_free(k.work.scratch);
}

// Entries of very different magnitude: eigenvalues are as accurate as those of the matrix in a
// better basis.
static void test_balanced(void** state) {
  (void)state;
  enum { ORDER = 12 };
  const kernel_t k = plain_kernel();
  double a[ORDER * ORDER], b[ORDER * ORDER], wr[2][ORDER], wi[2][ORDER];
  number_t left[ORDER * ORDER], right[ORDER * ORDER];
  for (int i = 0; i < ORDER; i++) {
    for (int j = 0; j < ORDER; j++) {
      a[i * ORDER + j] = i == j ? i + 1 : 0.3 * next_random();
      b[i * ORDER + j] = ldexp(a[i * ORDER + j], 9 * ((i * 5) % ORDER - (j * 5) % ORDER));
    }
  }
  assert_int_equal(hlo_lapack_geev(k.dtype, ORDER, a, wr[0], wi[0], NULL, NULL, &k.work), 0);
  assert_int_equal(hlo_lapack_geev(k.dtype, ORDER, b, wr[1], wi[1], left, right, &k.work), 0);
  for (int i = 0; i < ORDER; i++) {
    double nearest = INFINITY;
    for (int j = 0; j < ORDER; j++) {
      nearest = fmin(nearest, hypot(wr[0][i] - wr[1][j], wi[0][i] - wi[1][j]));
    }
    assert_true(nearest < 1e-13);
    for (int r = 0; r < ORDER; r++) {  // b v = w v and b' u = conj(w) u, row by row
      const number_t w = wr[1][i] + I * wi[1][i];
      number_t sums[2] = {-w * right[r * ORDER + i], -conj(w) * left[r * ORDER + i]};
      double sizes[2] = {cabs(sums[0]), cabs(sums[1])};
      for (int j = 0; j < ORDER; j++) {
        const number_t parts[2] = {b[r * ORDER + j] * right[j * ORDER + i],
                                   b[j * ORDER + r] * left[j * ORDER + i]};
        for (int side = 0; side < 2; side++) {
          sums[side] += parts[side];
          sizes[side] = fmax(sizes[side], cabs(parts[side]));
        }
      }
      assert_true(cabs(sums[0]) <= 1e-11 * sizes[0] && cabs(sums[1]) <= 1e-11 * sizes[1]);
    }
  }
  hlo_mem_free(k.work.scratch);
}

// Eigenvalues of two rows are accurate to the last digits of the larger one; one of equal rows is
// zero.
static void test_pairs(void** state) {
  (void)state;
  const kernel_t k = plain_kernel();
  double a[4], w[2];
  for (int i = 0; i < 2000; i++) {
    const double scale = pow(2, (int)(next_random() * 20));
    const double x = next_random(), y = next_random() * scale,
                 z = i % 4 ? next_random() / scale : x;
    const long double half = ((long double)x + z) / 2, apart = ((long double)x - z) / 2;
    const long double root = sqrtl(apart * apart + (long double)y * y);
    memcpy(a, (double[]){x, y, y, z}, sizeof a);
    assert_int_equal(k.run->syevd(true, true, 2, a, 2, w, &k.work), 0);
    const double most = 4 * DBL_EPSILON * (double)(fabsl(half) + root);
    assert_true(fabs(w[0] - (double)(half - root)) <= most);
    assert_true(fabs(w[1] - (double)(half + root)) <= most);
    for (int v = 0; v < 2; v++) {
      const double length = a[v] * a[v] + a[2 + v] * a[2 + v] - 1;
      assert_true(fabs(x * a[v] + y * a[2 + v] - w[v] * a[v]) <= 2 * most);
      assert_true(fabs(y * a[v] + z * a[2 + v] - w[v] * a[2 + v]) <= 2 * most);
      assert_true(fabs(length) <= 4 * DBL_EPSILON);
    }
    memcpy(a, (double[]){y, y, y, y}, sizeof a);
    assert_int_equal(k.run->syevd(true, true, 2, a, 2, w, &k.work), 0);
    assert_true(w[y < 0] == 0 && w[y > 0] == 2 * y);
  }
  hlo_mem_free(k.work.scratch);
}

// Squares of the entries overflow or underflow; the results do not.
static void test_extreme_scales(void** state) {
  (void)state;
  const kernel_t k = plain_kernel();
  const double scales[] = {1e-300, 1e-160, 1e160, 1e300};
  for (int s = 0; s < 4; s++) {
    double a[4] = {3 * scales[s], 4 * scales[s], 4 * scales[s], -3 * scales[s]}, w[2], tau[2];
    assert_int_equal(k.run->syevd(true, true, 2, a, 2, w, &k.work), 0);
    assert_true(fabs(w[0] / scales[s] + 5) < 1e-14 && fabs(w[1] / scales[s] - 5) < 1e-14);
    double q[4] = {3 * scales[s], 1, 4 * scales[s], 1};
    k.run->geqrf(2, 2, q, 2, tau, &k.work);
    assert_true(fabs(q[0] / scales[s] + 5) < 1e-14);
  }
  hlo_mem_free(k.work.scratch);
}

// The number of threads does not change the bits of the results.
static void test_threads_change_nothing(void** state) {
  (void)state;
  enum { ORDER = 300, COUNT = ORDER * ORDER };
  hlo_pool_t* pool = NULL;
  hlo_status_t status = hlo_pool_create(3, &pool);
  assert_true(hlo_status_is_ok(status));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  hlo_lapack_work_t work[2] = {{.parallel = NULL}, {.parallel = &parallel}};
  float *a = wanted(COUNT * sizeof(float)), *out[2], *values[2];
  int32_t* pivots = wanted(ORDER * sizeof(*pivots));
  for (int i = 0; i < ORDER; i++) {
    for (int j = 0; j <= i; j++) {
      a[i * ORDER + j] = a[j * ORDER + i] = (float)(next_random() + (i == j ? 2 * ORDER : 0));
    }
  }
  for (int p = 0; p < 2; p++) {
    assert_true(hlo_lapack_scratch_bytes(HLO_DTYPE_F32, ORDER, ORDER, &work[p].scratch_bytes));
    work[p].scratch = wanted(work[p].scratch_bytes);
    out[p] = wanted(COUNT * sizeof(float));
    values[p] = wanted(ORDER * sizeof(float));
  }
  const hlo_triangle_t triangle = {.a = a, .lda = ORDER, .is_left = true};
  for (int form = 0; form < 5; form++) {
    for (int p = 0; p < 2; p++) {
      memcpy(out[p], a, COUNT * sizeof(float));
      memset(values[p], 0, ORDER * sizeof(float));
      const hlo_dtype_t dtype = HLO_DTYPE_F32;
      switch (form) {
        case 0: hlo_lapack_of(dtype)->potrf(true, ORDER, out[p], ORDER, &work[p]); break;
        case 1: hlo_lapack_of(dtype)->getrf(ORDER, ORDER, out[p], ORDER, pivots, &work[p]); break;
        case 2: hlo_lapack_of(dtype)->trsm(&triangle, ORDER, ORDER, out[p], ORDER, &work[p]); break;
        case 3:
          hlo_lapack_of(dtype)->geqrf(ORDER, ORDER, out[p], ORDER, values[p], &work[p]);
          hlo_lapack_of(dtype)->orgqr(ORDER, ORDER, ORDER, out[p], ORDER, values[p], &work[p]);
          break;
        default: hlo_lapack_of(dtype)->syevd(true, true, ORDER, out[p], ORDER, values[p], &work[p]);
      }
    }
    assert_memory_equal(out[0], out[1], COUNT * sizeof(float));
    assert_memory_equal(values[0], values[1], ORDER * sizeof(float));
  }
  for (int p = 0; p < 2; p++) {
    hlo_mem_free(work[p].scratch);
    hlo_mem_free(out[p]);
    hlo_mem_free(values[p]);
  }
  hlo_mem_free(a);
  hlo_mem_free(pivots);
  hlo_pool_release(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cholesky),
      cmocka_unit_test(test_solve),
      cmocka_unit_test(test_lu),
      cmocka_unit_test(test_qr),
      cmocka_unit_test(test_small),
      cmocka_unit_test(test_svd),
      cmocka_unit_test(test_multiplication),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_schur),
      cmocka_unit_test(test_eigh),
      cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_failures_are_told),
      cmocka_unit_test(test_balanced),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_extreme_scales),
      cmocka_unit_test(test_threads_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
