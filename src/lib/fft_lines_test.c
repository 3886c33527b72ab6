// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of lines against sums of terms: every kind, type and variant, lengths for
// every method, layouts, threads.
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
#include "lib/fft_lines_impl.h"
#include "lib/isa.h"

typedef double complex number_t;

static uint32_t random_state = 1;
static double next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (double)(random_state >> 8) * 0x1p-23 - 1;
}

// Numbers of a test in complex double; only the real parts of real lines count.
typedef struct {
  hlo_fft_lines_t lines;
  int64_t in_size, out_size;  // elements of a line
  int64_t start[2], step;     // of the line under test: first elements of in and out
} case_t;

static double epsilon_of(const case_t* c) {
  return c->lines.real == HLO_DTYPE_F32 ? FLT_EPSILON : DBL_EPSILON;
}

static number_t element(const case_t* c, bool is_out, const void* data, int64_t i) {
  const bool is_real =
      is_out ? c->lines.kind == HLO_FFT_TO_REAL : c->lines.kind == HLO_FFT_FROM_REAL;
  const int64_t at = is_real ? i : 2 * i;
  const float* narrow = data;
  const double* wide = data;
  if (c->lines.real == HLO_DTYPE_F32) return narrow[at] + (is_real ? 0 : I * narrow[at + 1]);
  return wide[at] + (is_real ? 0 : I * wide[at + 1]);
}

// Reads the input of a line as n complex numbers.
static void read_line(const case_t* c, const void* data, int64_t n, number_t* out) {
  for (int64_t k = 0; k < n; k++) {
    const bool is_mirrored = k >= c->in_size;
    const number_t x = element(c, false, data, c->start[0] + (is_mirrored ? n - k : k) * c->step);
    out[k] = is_mirrored ? conj(x) : x;
    const bool is_real = c->lines.kind == HLO_FFT_TO_REAL && (k == 0 || 2 * k == n);
    if (is_real) out[k] = creal(x);
  }
}

// Checks some elements of one line, or all of a short one.
static void check_line(const case_t* c, int64_t n, const void* in, const void* out) {
  number_t *x = hlo_mem_alloc((size_t)n * sizeof(*x)), *w = hlo_mem_alloc((size_t)n * sizeof(*w));
  double size = 0;
  const double sign = c->lines.inverse || c->lines.kind == HLO_FFT_TO_REAL ? 1 : -1;
  read_line(c, in, n, x);
  for (int64_t k = 0; k < n; k++) {
    const double angle = sign * 6.283185307179586476925 * (double)k / (double)n;
    w[k] = cos(angle) + I * sin(angle);
    size += creal(x[k]) * creal(x[k]) + cimag(x[k]) * cimag(x[k]);
  }
  const int64_t tries = n <= 64 ? c->out_size : 12;
  for (int64_t t = 0; t < tries; t++) {
    const int64_t k = n <= 64  ? t
                      : t == 0 ? c->out_size - 1
                               : (int64_t)(fabs(next_random()) * (double)c->out_size);
    long double parts[2] = {0, 0};  // many terms need the extra bits
    for (int64_t j = 0, at = 0; j < n; j++, at = at + k < n ? at + k : at + k - n) {
      const number_t term = x[j] * w[at];
      parts[0] += creal(term);
      parts[1] += cimag(term);
    }
    const number_t sum =
        (double)parts[0] * c->lines.scale + I * ((double)parts[1] * c->lines.scale);
    const number_t found = element(c, true, out, c->start[1] + k * c->step);
    const double bound = 4 * epsilon_of(c) * (2 + log2((double)n)) * sqrt(size) * c->lines.scale;
    if (!(cabs(found - sum) <= bound)) {
      fail_msg(
          "length %lld, kind %d, inverse %d, type %d, element %lld: %.17g %.17g, expected %.17g "
          "%.17g",
          (long long)n, (int)c->lines.kind, c->lines.inverse, (int)c->lines.real, (long long)k,
          creal(found), cimag(found), creal(sum), cimag(sum));
    }
  }
  hlo_mem_free(x);
  hlo_mem_free(w);
}

static void check_lines_of(const hlo_fft_variant_t* variant, const hlo_parallel_t* parallel,
                           hlo_fft_lines_t lines) {
  const int64_t n = lines.length, kept = n / 2 + 1;
  case_t c = {.lines = lines,
              .in_size = lines.kind == HLO_FFT_TO_REAL ? kept : n,
              .out_size = lines.kind == HLO_FFT_FROM_REAL ? kept : n,
              .step = lines.inner};
  const size_t each = hlo_dtype_size_bytes(lines.real);
  const size_t numbers = 2 * (size_t)(lines.count * (n + 2));
  void *in = hlo_mem_alloc_aligned(numbers * each, 64),
       *out = hlo_mem_alloc_aligned(numbers * each, 64);
  for (size_t i = 0; i < numbers; i++) {
    const double x = next_random();
    if (lines.real == HLO_DTYPE_F32) {
      ((float*)in)[i] = (float)x;
    } else {
      ((double*)in)[i] = x;
    }
  }
  c.lines.in = in;
  c.lines.out = out;
  const hlo_fft_run_t run = lines.real == HLO_DTYPE_F32 ? variant->f32 : variant->f64;
  hlo_fft_cache_t cache = {0};
  assert_true(hlo_status_is_ok(run(parallel, &cache, &c.lines)));
  const int64_t tested[] = {0, lines.count / 2, lines.count - 1};
  for (int t = 0; t < 3; t++) {
    const int64_t l = tested[t];
    const int64_t outer = l / lines.inner, rest = l % lines.inner;
    c.start[0] = outer * c.in_size * lines.inner + rest;
    c.start[1] = outer * c.out_size * lines.inner + rest;
    check_line(&c, n, in, out);
  }
  if (lines.kind == HLO_FFT_COMPLEX) {  // in place, without threads: the same bits
    c.lines.out = in;
    assert_true(hlo_status_is_ok(run(NULL, &cache, &c.lines)));
    assert_memory_equal(in, out, 2 * (size_t)(lines.count * n) * each);
  }
  hlo_fft_cache_deinit(&cache);
  hlo_mem_free(in);
  hlo_mem_free(out);
}

static void check_all(const hlo_fft_variant_t* variant, const hlo_parallel_t* parallel, int64_t n,
                      int64_t count) {
  for (int form = 0; form < 8; form++) {
    const hlo_fft_kind_t kind = form < 4   ? HLO_FFT_COMPLEX
                                : form < 6 ? HLO_FFT_FROM_REAL
                                           : HLO_FFT_TO_REAL;
    hlo_fft_lines_t lines = {.real = form % 2 ? HLO_DTYPE_F32 : HLO_DTYPE_F64,
                             .kind = kind,
                             .inverse = form & 2 && form < 4,
                             .scale = form & 2 ? 1 / (double)n : 1,
                             .length = n,
                             .count = count,
                             .inner = 1};
    check_lines_of(variant, parallel, lines);
  }
}

static void on_every_variant(const hlo_parallel_t* parallel, int64_t n, int64_t count) {
  check_all(&hlo_fft_generic, parallel, n, count);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_all(&hlo_fft_avx2, parallel, n, count);
  if (hlo_isa() >= HLO_ISA_AVX512) check_all(&hlo_fft_avx512, parallel, n, count);
#endif
}

static void with_threads(void (*run)(const hlo_parallel_t* parallel)) {
  hlo_pool_t* pool = NULL;
  assert_true(hlo_status_is_ok(hlo_pool_create(2, &pool)));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  run(&parallel);
  hlo_pool_release(pool);
}

static void run_lengths(const hlo_parallel_t* parallel) {
  static const int64_t few[] = {90, 97, 128, 210, 1000, 1009, 1024, 31 * 31 * 2, 4096};
  for (int64_t n = 1; n <= 40; n++) on_every_variant(parallel, n, 1 + n % 21);
  for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
    on_every_variant(parallel, few[i], 1);
    on_every_variant(parallel, few[i], 19);
  }
}

static void test_lengths(void** state) {
  (void)state;
  with_threads(run_lengths);
}

// Matrices whose sides are not multiples of vectors, and convolutions with them.
static void run_long(const hlo_parallel_t* parallel) {
  static const int64_t lengths[] = {1 << 14, 9000, 15015, 10007, 30030, 1 << 17};
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    on_every_variant(parallel, lengths[i], 1 + (int64_t)i % 2);
  }
}

static void test_long_lines(void** state) {
  (void)state;
  with_threads(run_long);
}

static void run_across(const hlo_parallel_t* parallel) {
  static const int64_t lengths[] = {1, 2, 12, 64, 100, 67}, inners[] = {2, 8, 16, 37};
  for (int form = 0; form < 48; form++) {
    const int64_t inner = inners[form / 6 % 4], n = lengths[form % 6];
    const hlo_fft_lines_t lines = {.real = form < 24 ? HLO_DTYPE_F32 : HLO_DTYPE_F64,
                                   .inverse = form % 2,
                                   .scale = 1,
                                   .length = n,
                                   .count = 3 * inner,
                                   .inner = inner};
    check_lines_of(&hlo_fft_generic, parallel, lines);
#if defined(__x86_64__)
    if (hlo_isa() >= HLO_ISA_AVX512) check_lines_of(&hlo_fft_avx512, parallel, lines);
#endif
  }
}

static void test_lines_across_memory(void** state) {
  (void)state;
  with_threads(run_across);
}

// The contents of one line do not affect another.
static void test_lines_stay_apart(void** state) {
  (void)state;
  enum { LENGTH = 12, COUNT = 5 };
  float in[COUNT * LENGTH], out[2 * COUNT * (LENGTH / 2 + 1)];
  for (int i = 0; i < COUNT * LENGTH; i++)
    in[i] = i / LENGTH == 2 ? NAN : i / LENGTH == 3 ? 1e30f : 1;
  const hlo_fft_lines_t lines = {.real = HLO_DTYPE_F32,
                                 .kind = HLO_FFT_FROM_REAL,
                                 .scale = 1,
                                 .length = LENGTH,
                                 .count = COUNT,
                                 .inner = 1,
                                 .in = in,
                                 .out = out};
  assert_true(hlo_status_is_ok(hlo_fft_lines_run(NULL, NULL, &lines)));
  for (int l = 0; l < COUNT; l++) {
    const float* line = out + 2 * l * (LENGTH / 2 + 1);
    if (l == 2) assert_true(isnan(line[0]));
    for (int k = 0; l != 2 && l != 3 && k <= LENGTH / 2; k++) {
      assert_true(fabsf(line[2 * k] - (k == 0 ? LENGTH : 0)) < 1e-5f &&
                  fabsf(line[2 * k + 1]) < 1e-5f);
    }
  }
}

// After memory was exhausted the cache holds complete tables only: the next transform is correct.
static void test_memory_out(void** state) {
  (void)state;
  enum { LENGTH = 10007, COUNT = 1, NUMBERS = 2 * LENGTH * COUNT };
  float *in = hlo_mem_alloc(NUMBERS * sizeof(float)),
        *want = hlo_mem_alloc(NUMBERS * sizeof(float));
  float* out = hlo_mem_alloc(NUMBERS * sizeof(float));
  for (int i = 0; i < NUMBERS; i++) in[i] = (float)next_random();
  hlo_fft_lines_t lines = {.real = HLO_DTYPE_F32,
                           .kind = HLO_FFT_COMPLEX,
                           .scale = 1,
                           .length = LENGTH,
                           .count = COUNT,
                           .inner = 1,
                           .in = in,
                           .out = want};
  assert_true(hlo_status_is_ok(hlo_fft_lines_run(NULL, NULL, &lines)));
  lines.out = out;
  bool is_through = false;
  for (uint64_t n = 1; !is_through; n++) {
    hlo_fft_cache_t cache = {0};
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_fft_lines_run(NULL, &cache, &lines);
    hlo_mem_fail_nth(0);
    is_through = hlo_status_is_ok(status);
    if (!is_through) assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
    hlo_status_release(status);
    assert_true(hlo_status_is_ok(hlo_fft_lines_run(NULL, &cache, &lines)));
    assert_memory_equal(out, want, NUMBERS * sizeof(float));
    hlo_fft_cache_deinit(&cache);
  }
  hlo_mem_free(in);
  hlo_mem_free(want);
  hlo_mem_free(out);
}

static void test_smooth_lengths(void** state) {
  (void)state;
  assert_int_equal(hlo_fft_smooth_length(1), 1);
  assert_int_equal(hlo_fft_smooth_length(7), 8);
  assert_int_equal(hlo_fft_smooth_length(2017), 2048);  // in 4 passes; 2025 = 81 * 25 takes 6
  assert_int_equal(hlo_fft_smooth_length(201), 216);
  for (int64_t least = 1; least < 100000; least = least * 5 / 4 + 1) {
    int64_t rest = hlo_fft_smooth_length(least);
    assert_true(rest >= least && rest < 2 * least);
    for (int p = 2; p <= 5; p++) {
      while (rest % p == 0) rest /= p;
    }
    assert_int_equal(rest, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_lines_across_memory),
      cmocka_unit_test(test_lines_stay_apart),
      cmocka_unit_test(test_smooth_lengths),
      cmocka_unit_test(test_memory_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
