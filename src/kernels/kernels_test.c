// SPDX-License-Identifier: Apache-2.0
// Kernels against the plainest way to compute the same: matrix products of every variant that this
// machine runs, transforms, factorisations.
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
#include "kernels/fft.h"
#include "kernels/gemm.h"
#include "kernels/gemm_impl.h"
#include "kernels/isa.h"
#include "kernels/lapack_impl.h"

// Small whole numbers make every sum exact. A linear congruential generator: the same everywhere.
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

static void test_gemm_integers_wrap(void** state) {
  (void)state;
  const uint32_t a[2] = {UINT32_MAX, 3}, b[2] = {5, 7};
  uint32_t c = 1;
  _Alignas(64) char scratch[4096];
  assert_true(hlo_gemm_scratch_bytes(HLO_DTYPE_U32, 1, 1, 2) <= sizeof(scratch));
  const hlo_gemm_t gemm = {.m = 1,
                           .n = 1,
                           .k = 2,
                           .a = a,
                           .a_row = 2,
                           .a_col = 1,
                           .b = b,
                           .b_row = 1,
                           .b_col = 1,
                           .c = &c,
                           .c_row = 1};
  hlo_gemm(HLO_DTYPE_U32, &gemm, scratch);
  assert_int_equal(c, 16);
}

static void test_fft_lengths(void** state) {
  (void)state;
  enum { LONGEST = 130 };
  double complex in[LONGEST], out[LONGEST], back[LONGEST];
  for (int n = 1; n <= LONGEST; n++) {
    hlo_fft_t* fft = NULL;
    assert_true(hlo_status_is_ok(hlo_fft_create(n, &fft)));
    for (int i = 0; i < n; i++) in[i] = small_number() + I * small_number();
    hlo_fft_run(fft, false, in, out);
    hlo_fft_run(fft, true, out, back);
    for (int k = 0; k < n; k++) {
      double complex sum = 0;
      for (int j = 0; j < n; j++) sum += in[j] * cexp(-2 * M_PI * I * ((double)(j * k % n) / n));
      assert_true(cabs(sum - out[k]) < 1e-10);
      assert_true(cabs(back[k] / n - in[k]) < 1e-12);
    }
    hlo_fft_release(fft);
  }
  hlo_fft_t* none = NULL;
  hlo_status_t status = hlo_fft_create(0, &none);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
}

enum { ORDER = 9 };

// Entry (i, j) of the product of a and b, the first transposed if asked.
static double product(hlo_matrix_t a, bool transposed, hlo_matrix_t b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < ORDER; k++) {
    const double left = transposed ? a.data[k * a.row + i * a.col] : a.data[i * a.row + k * a.col];
    sum += left * b.data[k * b.row + j * b.col];
  }
  return sum;
}

static void test_eigenvectors(void** state) {
  (void)state;
  double a[ORDER * ORDER], v[ORDER * ORDER], w[ORDER], work[ORDER];
  for (int form = 0; form < 4; form++) {  // both triangles, both layouts
    const bool lower = form & 1;
    const hlo_matrix_t view = {v, form & 2 ? 1 : ORDER, form & 2 ? ORDER : 1};
    const hlo_matrix_t full = {a, view.row, view.col};
    for (int i = 0; i < ORDER; i++) {
      for (int j = 0; j <= i; j++) a[i * ORDER + j] = a[j * ORDER + i] = small_number();
    }
    for (int i = 0; i < ORDER; i++) {
      for (int j = 0; j < ORDER; j++) {
        const bool is_read = lower ? j <= i : j >= i;
        v[i * view.row + j * view.col] = is_read ? a[i * ORDER + j] : NAN;
      }
    }
    assert_int_equal(hlo_lapack_syevd(true, lower, ORDER, view, w, work), 0);
    for (int i = 0; i < ORDER; i++) {
      assert_true(i == 0 || w[i - 1] <= w[i]);
      for (int j = 0; j < ORDER; j++) {
        assert_true(fabs(product(full, false, view, i, j) - w[j] * v[i * view.row + j * view.col]) <
                    1e-12);
        assert_true(fabs(product(view, true, view, i, j) - (i == j)) < 1e-13);
      }
    }
  }
}

static void test_qr_and_lu(void** state) {
  (void)state;
  double a[ORDER * ORDER], q[ORDER * ORDER], r[ORDER * ORDER], tau[ORDER];
  int32_t pivots[ORDER];
  const hlo_matrix_t q_view = {q, ORDER, 1}, r_view = {r, ORDER, 1};
  for (int i = 0; i < ORDER * ORDER; i++) q[i] = a[i] = small_number();
  hlo_lapack_geqrf(ORDER, ORDER, q_view, tau);
  for (int i = 0; i < ORDER * ORDER; i++) r[i] = i % ORDER >= i / ORDER ? q[i] : 0;
  hlo_lapack_orgqr(ORDER, ORDER, ORDER, q_view, tau);
  for (int i = 0; i < ORDER * ORDER; i++) {
    assert_true(fabs(product(q_view, false, r_view, i / ORDER, i % ORDER) - a[i]) < 1e-12);
  }
  memcpy(q, a, sizeof(a));
  assert_int_equal(hlo_lapack_getrf(ORDER, ORDER, q_view, pivots), 0);
  memcpy(r, q, sizeof(q));
  for (int i = 0; i < ORDER; i++) {  // split into L (in q) and U (in r), apply the swaps to a
    for (int j = 0; j < ORDER; j++) {
      if (j > i) q[i * ORDER + j] = 0;
      if (j == i) q[i * ORDER + j] = 1;
      if (j < i) r[i * ORDER + j] = 0;
      const double swap = a[i * ORDER + j];
      a[i * ORDER + j] = a[(pivots[i] - 1) * ORDER + j];
      a[(pivots[i] - 1) * ORDER + j] = swap;
    }
  }
  for (int i = 0; i < ORDER * ORDER; i++) {
    assert_true(fabs(product(q_view, false, r_view, i / ORDER, i % ORDER) - a[i]) < 1e-12);
  }
  memset(a, 0, sizeof(a));
  assert_int_equal(hlo_lapack_getrf(2, 2, (hlo_matrix_t){a, 2, 1}, pivots), 1);
}

// Every factorisation on one matrix, results one after the other.
static void factorise_all(const hlo_lapack_t* lapack, const double* a, double* out) {
  enum { ORDER = 37, COUNT = ORDER * ORDER };
  double tau[ORDER], w[ORDER], work[ORDER];
  int32_t pivots[ORDER];
  for (int form = 0; form < 10; form++, out += COUNT) {
    const bool turned = form >= 5;
    const hlo_matrix_t view = {out, turned ? 1 : ORDER, turned ? ORDER : 1};
    memcpy(out, a, COUNT * sizeof(*out));
    switch (form % 5) {
      case 0: assert_int_equal(lapack->potrf(true, ORDER, view), 0); break;
      case 1: assert_int_equal(lapack->getrf(ORDER, ORDER, view, pivots), 0); break;
      case 2:
        lapack->geqrf(ORDER, ORDER, view, tau);
        lapack->orgqr(ORDER, ORDER, ORDER, view, tau);
        break;
      case 3: assert_int_equal(lapack->syevd(true, turned, ORDER, view, w, work), 0); break;
      default:
        lapack->trsm(true, true, HLO_LAPACK_PLAIN, false, ORDER, ORDER,
                     (hlo_matrix_t){(double*)(uintptr_t)a, ORDER, 1}, view);
    }
  }
}

static void test_lapack_variants(void** state) {
  (void)state;
  enum { ORDER = 37, COUNT = ORDER * ORDER };
  const hlo_lapack_t* variants[3] = {&hlo_lapack_generic};
  int count = 1;
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) variants[count++] = &hlo_lapack_avx2;
  if (hlo_isa() >= HLO_ISA_AVX512) variants[count++] = &hlo_lapack_avx512;
#endif
  double* a = hlo_mem_alloc(21 * COUNT * sizeof(*a));
  for (int i = 0; i < ORDER; i++) {  // symmetric, heavy on the diagonal
    for (int j = 0; j <= i; j++) {
      a[i * ORDER + j] = a[j * ORDER + i] = small_number() + (i == j ? 1000 + i : 0);
    }
  }
  factorise_all(variants[0], a, a + COUNT);
  for (int v = 1; v < count; v++) {
    factorise_all(variants[v], a, a + 11 * COUNT);
    assert_memory_equal(a + COUNT, a + 11 * COUNT, 10 * COUNT * sizeof(*a));
  }
  hlo_mem_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gemm_variants), cmocka_unit_test(test_gemm_integers_wrap),
      cmocka_unit_test(test_fft_lengths),   cmocka_unit_test(test_eigenvectors),
      cmocka_unit_test(test_qr_and_lu),     cmocka_unit_test(test_lapack_variants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
