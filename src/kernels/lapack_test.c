// SPDX-License-Identifier: Apache-2.0
// Factorisations of every type and instruction set, over edge sizes, by their residuals: products
// of the factors, computed in complex doubles, beside the matrix they came from.
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
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "kernels/isa.h"
#include "kernels/lapack_impl.h"

typedef double complex number_t;

static const hlo_dtype_t types[HLO_LAPACK_TYPES] = {HLO_DTYPE_F32, HLO_DTYPE_F64, HLO_DTYPE_C64,
                                                    HLO_DTYPE_C128};
static const int64_t sizes[] = {0, 1, 2, 3, 7, 31, 33, 64, 100, 255, 256, 300};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

// One type on one instruction set.
typedef struct {
  const hlo_lapack_t* run;
  hlo_dtype_t dtype, real;
  double epsilon;
  hlo_lapack_work_t work;
} kernel_t;

// A linear congruential generator: the same everywhere. Numbers between -1 and 1.
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

// Random entries, rounded to the kernel's type.
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

// Largest entry of c - op(a) b; op is the adjoint if asked.
static double residual(bool is_adjoint, int64_t m, int64_t n, int64_t k, const number_t* a,
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

static number_t* identity(int64_t n) {
  number_t* unit = numbers(n * n);
  for (int64_t i = 0; i < n * n; i++) unit[i] = i % (n + 1) == 0;
  return unit;
}

static void check(const kernel_t* k, double error, double scale) {
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
    number_t* turned = numbers(n * n);
    for (int64_t i = 0; i < n * n; i++) turned[i] = conj(given[i % n * n + i / n]);
    check(k, residual(false, n, n, n, is_lower ? given : turned, is_lower ? turned : given, a),
          8 * (double)n);
    hlo_mem_free(a);
    hlo_mem_free(given);
    hlo_mem_free(turned);
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
    for (int64_t i = 0; i < n; i++) {  // well conditioned, and what must not be read is poison
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
    check(k,
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
  check(k, residual(false, m, n, steps, lower, upper, a), sqrt((double)(m + n)));
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
  check(k, residual(false, m, n, steps, q, upper, a), sqrt((double)(m + n)));
  check(k, residual(true, steps, steps, m, q, q, unit), 1);
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
    check(k, residual(false, n, n, n, a, v, scaled), 2 * sqrt((double)n));
    check(k, residual(true, n, n, n, v, v, unit), 1);
    void *again = narrow(k, n * n, given), *same = wanted((size_t)n * sizeof(double));
    assert_int_equal(k->run->syevd(false, is_lower, n, again, n, same, &k->work), 0);
    assert_memory_equal(values, same, (size_t)n * hlo_dtype_size_bytes(k->real));
    number_t* kept[] = {a, given, v, scaled, w, unit};
    for (int i = 0; i < 6; i++) hlo_mem_free(kept[i]);
    void* narrow_ones[] = {vectors, values, again, same};
    for (int i = 0; i < 4; i++) hlo_mem_free(narrow_ones[i]);
  }
}

// Many small matrices are what one after the other is, apart from rounding.
static void check_small(const kernel_t* k, int64_t n) {
  enum { COUNT = HLO_LAPACK_SMALL_COUNT };
  if (n < 1 || n > 7 || !k->run->getrf_small) return;
  const int64_t m = n + 1, each = m * n;
  for (int64_t count = COUNT - 3; count <= COUNT; count += 3) {
    number_t *a = random_matrix(k, count, each), *one = numbers(each), *other = numbers(each);
    void* many = narrow(k, count * each, a);
    int32_t pivots[2][COUNT * 8], info[COUNT];
    k->run->getrf_small(count, m, n, many, pivots[0], info);
    for (int64_t l = 0; l < count; l++) {
      void* alone = narrow(k, each, a + l * each);
      assert_int_equal(k->run->getrf(m, n, alone, n, pivots[1], &k->work), info[l]);
      assert_memory_equal(pivots[0] + l * n, pivots[1], (size_t)n * sizeof(int32_t));
      widen(k->dtype, each, alone, one);
      widen(k->dtype, each, (char*)many + (size_t)(l * each) * hlo_dtype_size_bytes(k->dtype),
            other);
      double worst = 0;
      for (int64_t i = 0; i < each; i++) worst = fmax(worst, cabs(one[i] - other[i]));
      check(k, worst, 10);
      hlo_mem_free(alone);
    }
    hlo_mem_free(many);
    hlo_mem_free(a);
    hlo_mem_free(one);
    hlo_mem_free(other);
  }
}

static void check_small_solve(const kernel_t* k, int64_t n) {
  enum { COUNT = HLO_LAPACK_SMALL_COUNT - 1 };
  if (n < 1 || n > 7 || !k->run->trsm_small) return;
  const size_t bytes = hlo_dtype_size_bytes(k->dtype);
  for (int form = 0; form < 24; form++) {
    const bool is_left = form & 1;
    const int64_t m = is_left ? n : 3, columns = is_left ? 3 : n;
    number_t *a = random_matrix(k, COUNT, n * n), *b = random_matrix(k, COUNT, m * columns);
    for (int64_t i = 0; i < COUNT * n; i++) a[i / n * n * n + i % n * (n + 1)] += 3;
    void *given = narrow(k, COUNT * n * n, a), *x = narrow(k, COUNT * m * columns, b);
    void* alone = narrow(k, COUNT * m * columns, b);
    hlo_triangle_t triangle = {given, n, form & 2, form & 4, is_left, (hlo_transpose_t)(form / 8)};
    k->run->trsm_small(&triangle, COUNT, m, columns, x);
    for (int64_t l = 0; l < COUNT; l++) {
      triangle.a = (char*)given + (size_t)(l * n * n) * bytes;
      k->run->trsm(&triangle, m, columns, (char*)alone + (size_t)(l * m * columns) * bytes, columns,
                   &k->work);
    }
    number_t* both = numbers(2 * COUNT * m * columns);
    widen(k->dtype, COUNT * m * columns, x, both);
    widen(k->dtype, COUNT * m * columns, alone, both + COUNT * m * columns);
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < COUNT * m * columns; i++) {
      worst = fmax(worst, cabs(both[i] - both[i + COUNT * m * columns]));
      largest = fmax(largest, cabs(both[i]));
    }
    check(k, worst, largest);
    number_t* kept[] = {a, b, both};
    for (int i = 0; i < 3; i++) hlo_mem_free(kept[i]);
    hlo_mem_free(given);
    hlo_mem_free(x);
    hlo_mem_free(alone);
  }
}

// ---- every variant
// --------------------------------------------------------------------------------

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
        // The larger ones once: on the last variant, and of every type on one size.
        if (sizes[s] > 100 && v + 1 < count) continue;
        if (sizes[s] > 100 && s != SIZE_COUNT - 1 && t != s % HLO_LAPACK_TYPES) continue;
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
  on_every_variant(check_small);
  on_every_variant(check_small_solve);
}

static void test_eigh(void** state) {
  (void)state;
  on_every_variant(check_eigh);
}

// ---- special matrices
// -----------------------------------------------------------------------------

static kernel_t plain_kernel(void) {
  kernel_t k = {.run = &hlo_lapack_generic[HLO_LAPACK_F64],
                .dtype = HLO_DTYPE_F64,
                .real = HLO_DTYPE_F64,
                .epsilon = DBL_EPSILON};
  assert_true(hlo_lapack_scratch_bytes(k.dtype, 64, 64, &k.work.scratch_bytes));
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
  hlo_mem_free(k.work.scratch);
}

// Squares of the entries overflow or vanish, the results do not.
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

// The same bits however many threads there are.
static void test_threads_change_nothing(void** state) {
  (void)state;
  enum { ORDER = 300, COUNT = ORDER * ORDER };
  hlo_pool_t* pool = NULL;
  hlo_status_t status = hlo_pool_create(&(hlo_pool_options_t){.worker_count = 3}, &pool);
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
        case 0: hlo_lapack_potrf(dtype, true, ORDER, out[p], ORDER, &work[p]); break;
        case 1: hlo_lapack_getrf(dtype, ORDER, ORDER, out[p], ORDER, pivots, &work[p]); break;
        case 2: hlo_lapack_trsm(dtype, &triangle, ORDER, ORDER, out[p], ORDER, &work[p]); break;
        case 3:
          hlo_lapack_geqrf(dtype, ORDER, ORDER, out[p], ORDER, values[p], &work[p]);
          hlo_lapack_orgqr(dtype, ORDER, ORDER, ORDER, out[p], ORDER, values[p], &work[p]);
          break;
        default: hlo_lapack_syevd(dtype, true, true, ORDER, out[p], ORDER, values[p], &work[p]);
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
      cmocka_unit_test(test_eigh),
      cmocka_unit_test(test_failures_are_told),
      cmocka_unit_test(test_extreme_scales),
      cmocka_unit_test(test_threads_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
