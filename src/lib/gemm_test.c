// SPDX-License-Identifier: Apache-2.0
// Kernels against naive loops: matrix products of every variant that this machine runs, transforms.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/gemm.h"
#include "lib/gemm_impl.h"
#include "lib/isa.h"

// Small integers make every sum exact. A linear congruential generator gives the same numbers on
// every platform.
static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}
static double small_number(void) {
  return (double)(next_random() % 17) - 8;
}

typedef void (*gemm_fn_t)(const hlo_gemm_t* gemm, void* scratch);

static void check_gemm(gemm_fn_t variant, int64_t m, int64_t n, int64_t k, bool transposed) {
  float* a = hlo_mem_alloc((size_t)(m * k + 1) * sizeof(float));
  float* b = hlo_mem_alloc((size_t)(k * n + 1) * sizeof(float));
  float* c = hlo_mem_alloc((size_t)(m * (n + 3)) * sizeof(float));
  void* scratch = hlo_mem_alloc_aligned(hlo_gemm_scratch_bytes(HLO_DTYPE_F32, m, n, k), 64);
  for (int64_t i = 0; i < m * k; i++) a[i] = (float)small_number();
  for (int64_t i = 0; i < k * n; i++) b[i] = (float)small_number();
  for (int64_t i = 0; i < m * (n + 3); i++) c[i] = -1000;
  const hlo_gemm_t gemm = {.m = m,
                           .n = n,
                           .k = k,
                           .a = a,
                           .a_row = transposed ? 1 : k,
                           .a_col = transposed ? m : 1,
                           .b = b,
                           .b_row = transposed ? 1 : n,
                           .b_col = transposed ? k : 1,
                           .c = c,
                           .c_row = n + 3};
  if (variant) {
    variant(&gemm, scratch);
  } else {
    hlo_gemm(HLO_DTYPE_F32, &gemm, scratch);
  }
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n + 3; j++) {
      double sum = j < n ? 0 : -1000;
      for (int64_t p = 0; p < k && j < n; p++) {
        sum += (double)a[i * gemm.a_row + p * gemm.a_col] * b[p * gemm.b_row + j * gemm.b_col];
      }
      assert_true(c[i * (n + 3) + j] == (float)sum);
    }
  }
  hlo_mem_free(a);
  hlo_mem_free(b);
  hlo_mem_free(c);
  hlo_mem_free(scratch);
}

static void test_gemm_variants(void** state) {
  (void)state;
  gemm_fn_t variants[4] = {NULL, hlo_gemm_f32_generic, NULL, NULL};
  int count = 2;
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) variants[count++] = hlo_gemm_f32_avx2;
  if (hlo_isa() >= HLO_ISA_AVX512) variants[count++] = hlo_gemm_f32_avx512;
#endif
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 40, 300},  {5, 3, 7},    {40, 1, 33},
                              {6, 16, 256}, {13, 33, 257}, {193, 35, 9}, {7, 1030, 3}};
  for (int v = 0; v < count; v++) {
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
      check_gemm(variants[v], sizes[s][0], sizes[s][1], sizes[s][2], false);
      check_gemm(variants[v], sizes[s][0], sizes[s][1], sizes[s][2], true);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gemm_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
