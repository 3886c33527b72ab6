// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of f32 against those in double: every length up to a long line, every variant
// that the machine has, threads.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/fft.h"
#include "kernels/fft32.h"
#include "kernels/fft32_impl.h"
#include "kernels/isa.h"

static uint32_t random_state = 1;
static float next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (float)(random_state >> 8) * 0x1p-23f - 1;
}

// Relative to the largest element, a few roundings for each doubling of the length.
static void expect_near(int64_t n, const double complex* want, const float* found) {
  double largest = 0, error = 0;
  for (int64_t k = 0; k < n; k++) {
    largest = fmax(largest, cabs(want[k]));
    error = fmax(error, hypot(creal(want[k]) - found[2 * k], cimag(want[k]) - found[2 * k + 1]));
  }
  assert_true(error <= FLT_EPSILON * (1 + log2((double)n)) * largest);
}

static void check(const hlo_parallel_t* parallel, int64_t n, int64_t lines, bool inverse) {
  const size_t count = (size_t)(n * lines);
  float* in = hlo_mem_alloc_aligned(4 * count * sizeof(float), 64);
  float* out = in + 2 * count;
  double complex* wide = hlo_mem_alloc(2 * (size_t)n * sizeof(*wide));
  hlo_fft_t* plan = NULL;
  assert_true(hlo_status_is_ok(hlo_fft_create(n, &plan)));
  for (size_t i = 0; i < 2 * count; i++) in[i] = next_random();
  assert_true(hlo_status_is_ok(hlo_fft32_run(parallel, n, lines, inverse, in, out)));
  for (int64_t l = 0; l < lines; l++) {
    const float* line = in + 2 * l * n;
    for (int64_t k = 0; k < n; k++) {
      wide[k] = __builtin_complex((double)line[2 * k], (double)line[2 * k + 1]);
    }
    hlo_fft_run(plan, inverse, wide, wide + n);
    expect_near(n, wide + n, out + 2 * l * n);
  }
  assert_true(hlo_status_is_ok(hlo_fft32_run(NULL, n, lines, inverse, in, in)));
  assert_memory_equal(in, out, 2 * count * sizeof(float));
  hlo_fft_release(plan);
  hlo_mem_free(in);
  hlo_mem_free(wide);
}

static void test_lengths(void** state) {
  (void)state;
  hlo_pool_t* pool = NULL;
  assert_true(hlo_status_is_ok(hlo_pool_create(&(hlo_pool_options_t){.worker_count = 2}, &pool)));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  for (int64_t n = 1; n <= 1 << 14; n *= 2) {
    check(&parallel, n, 1, false);
    check(&parallel, n, 3, true);
  }
  check(&parallel, 64, 1000, false);
  check(&parallel, 1 << 17, 1, true);
  hlo_pool_release(pool);
  assert_false(hlo_fft32_supports(0));
  assert_false(hlo_fft32_supports(96));
}

static void check_block(hlo_fft32_block_fn_t block) {
  enum { LENGTH = 128, COUNT = LENGTH * HLO_FFT32_ROW };
  float* in = hlo_mem_alloc_aligned(3 * COUNT * sizeof(float), 64);
  float *x = in + COUNT, *y = x + COUNT, roots[2 * LENGTH];
  double complex line[LENGTH], image[LENGTH];
  hlo_fft_t* plan = NULL;
  assert_true(hlo_status_is_ok(hlo_fft_create(LENGTH, &plan)));
  for (int k = 0; k < LENGTH; k++) {
    roots[2 * k] = (float)cos(2 * 3.14159265358979323846 * k / LENGTH);
    roots[2 * k + 1] = (float)-sin(2 * 3.14159265358979323846 * k / LENGTH);
  }
  for (int i = 0; i < COUNT; i++) in[i] = next_random();
  const float* found = block(LENGTH, roots, in, x, y);
  for (int l = 0; l < HLO_FFT32_LINES; l++) {
    float one[2 * LENGTH];
    for (int k = 0; k < LENGTH; k++) {
      const float* row = in + k * HLO_FFT32_ROW + l;
      line[k] = __builtin_complex((double)row[0], (double)row[HLO_FFT32_LINES]);
      one[2 * k] = found[k * HLO_FFT32_ROW + l];
      one[2 * k + 1] = found[k * HLO_FFT32_ROW + HLO_FFT32_LINES + l];
    }
    hlo_fft_run(plan, false, line, image);
    expect_near(LENGTH, image, one);
  }
  hlo_fft_release(plan);
  hlo_mem_free(in);
}

static void test_variants(void** state) {
  (void)state;
  check_block(hlo_fft32_block_generic);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_block(hlo_fft32_block_avx2);
  if (hlo_isa() >= HLO_ISA_AVX512) check_block(hlo_fft32_block_avx512);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
