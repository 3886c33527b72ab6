// SPDX-License-Identifier: Apache-2.0
// Cumulative operations against plain loops: types, shapes, both directions, threads.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "lib/scan.h"

static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

// Small integers: every sum is exact in any order.
static void fill(hlo_dtype_t dtype, int64_t count, void* out) {
  for (int64_t i = 0; i < count; i++) {
    uint8_t* element = (uint8_t*)out + (size_t)i * hlo_dtype_size_bytes(dtype);
    if (hlo_dtype_is_float(dtype)) {
      hlo_dtype_store_double(dtype, element, (double)(next_random() % 9) - 4);
    } else {
      hlo_dtype_store_int64(dtype, element, next_random() % 200);
    }
  }
}

static double plain(hlo_fold_op_t op, double a, double b) {
  switch (op) {
    case HLO_FOLD_ADD: return a + b;
    case HLO_FOLD_MAXIMUM: return a > b ? a : b;
    default: return a < b ? a : b;
  }
}

static double load_number(hlo_dtype_t dtype, const void* data, int64_t i) {
  const uint8_t* element = (const uint8_t*)data + (size_t)i * hlo_dtype_size_bytes(dtype);
  return hlo_dtype_is_float(dtype) ? hlo_dtype_load_double(dtype, element)
                                   : (double)hlo_dtype_load_int64(dtype, element);
}

static void check_scan(const hlo_parallel_t* parallel, const hlo_scan_t* scan) {
  const int64_t count = scan->outer * scan->length * scan->inner;
  const hlo_fold_t* fold = hlo_fold_find(scan->op, scan->dtype);
  const size_t bytes = (size_t)count * hlo_dtype_size_bytes(scan->dtype);
  uint8_t* in = hlo_mem_alloc_aligned(2 * bytes + 1, 64);
  uint8_t* out = in + bytes;
  void* scratch = hlo_mem_alloc_aligned(hlo_scan_scratch_bytes(scan) + 1, 64);
  _Alignas(8) char init[8] = {0};
  fill(scan->dtype, count, in);
  hlo_scan_run(parallel, scan, init, in, out, scratch);
  for (int64_t o = 0; o < scan->outer; o++) {
    for (int64_t k = 0; k < scan->inner; k++) {
      double total = 0;
      for (int64_t i = 0; i < scan->length; i++) {
        const int64_t row = scan->is_reverse ? scan->length - 1 - i : i;
        const int64_t at = (o * scan->length + row) * scan->inner + k;
        total = plain(scan->op, total, load_number(scan->dtype, in, at));
        assert_true(load_number(scan->dtype, out, at) == total);
      }
    }
  }
  hlo_scan_run(parallel, scan, init, in, in, scratch);
  assert_memory_equal(in, out, bytes);
  assert_non_null(fold);
  hlo_mem_free(in);
  hlo_mem_free(scratch);
}

static void test_shapes(void** state) {
  (void)state;
  static const hlo_dtype_t types[] = {HLO_DTYPE_F32, HLO_DTYPE_F64, HLO_DTYPE_S32,
                                      HLO_DTYPE_U32, HLO_DTYPE_S64, HLO_DTYPE_U64};
  static const int64_t shapes[][3] = {{1, 1, 1},   {1, 5, 1}, {3, 7, 1}, {9, 100, 1}, {2, 3, 5},
                                      {1, 9, 300}, {0, 3, 1}, {3, 0, 2}, {4, 17, 257}};
  static const hlo_fold_op_t ops[] = {HLO_FOLD_ADD, HLO_FOLD_MAXIMUM, HLO_FOLD_MINIMUM};
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
      for (int form = 0; form < 6; form++) {
        const hlo_scan_t scan = {.op = ops[form / 2],
                                 .dtype = types[t],
                                 .is_reverse = form % 2,
                                 .outer = shapes[s][0],
                                 .length = shapes[s][1],
                                 .inner = shapes[s][2]};
        check_scan(NULL, &scan);
      }
    }
  }
}

// Lines of several segments give the same bits for any distribution over threads.
static void test_long_lines(void** state) {
  (void)state;
  enum { LENGTH = 70003, LINES = 3 };
  hlo_pool_t* pool = NULL;
  assert_true(hlo_status_is_ok(hlo_pool_create(3, &pool)));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
    const hlo_scan_t scan = {.op = HLO_FOLD_ADD,
                             .dtype = HLO_DTYPE_F32,
                             .is_reverse = is_reverse,
                             .outer = LINES,
                             .length = LENGTH,
                             .inner = 1};
    check_scan(&parallel, &scan);
    float* in = hlo_mem_alloc(3 * LINES * LENGTH * sizeof(float));
    float *alone = in + LINES * LENGTH, *shared = alone + LINES * LENGTH;
    void* scratch = hlo_mem_alloc_aligned(hlo_scan_scratch_bytes(&scan), 64);
    for (int i = 0; i < LINES * LENGTH; i++) in[i] = (float)next_random() * 1e-3f - 8e3f;
    const double init = 0;
    hlo_scan_run(NULL, &scan, &init, in, alone, scratch);
    hlo_scan_run(&parallel, &scan, &init, in, shared, scratch);
    assert_memory_equal(alone, shared, LINES * LENGTH * sizeof(float));
    double total = 0;
    for (int i = 0; i < LENGTH; i++) {
      const int at = is_reverse ? LENGTH - 1 - i : i;
      total += in[at];
      assert_true(fabs(alone[at] - total) <= 6e-8 * fabs(total) + 1e-6);
    }
    hlo_mem_free(in);
    hlo_mem_free(scratch);
  }
  hlo_pool_release(pool);
}

// A NaN persists for the rest of a line; infinities keep their sign.
static void test_special_values(void** state) {
  (void)state;
  const float in[6] = {1, INFINITY, NAN, 2, -INFINITY, 3};
  float out[6];
  const float lowest = -INFINITY;
  hlo_scan_t scan = {.op = HLO_FOLD_MAXIMUM, .dtype = HLO_DTYPE_F32, .outer = 1, .length = 6};
  scan.inner = 1;
  char scratch[64];
  hlo_scan_run(NULL, &scan, &lowest, in, out, scratch);
  assert_true(out[0] == 1 && out[1] == INFINITY);
  for (int i = 2; i < 6; i++) assert_true(isnan(out[i]));
  scan.op = HLO_FOLD_MULTIPLY;
  const double one = 1;
  hlo_scan_run(NULL, &scan, &one, in, out, scratch);
  assert_true(out[1] == INFINITY && isnan(out[2]) && isnan(out[5]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_special_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
