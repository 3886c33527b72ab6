// SPDX-License-Identifier: Apache-2.0
// Maximum and minimum of floats by every loop and instruction set: NaN wins and +0 is above -0, so
// the order of the elements does not matter.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "base/fpenv.h"
#include "lib/fold_impl.h"
#include "lib/isa.h"

enum { COUNT = 67 };  // full lanes and a remainder

static bool is_same(double a, double b) {
  return (isnan(a) && isnan(b)) || hlo_f64_to_bits(a) == hlo_f64_to_bits(b);
}

static double plain(hlo_fold_op_t op, double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return (op == HLO_FOLD_MAXIMUM) == !signbit(a) ? a : b;
  return (a > b) == (op == HLO_FOLD_MAXIMUM) ? a : b;
}

static double load_number(hlo_dtype_t dtype, const void* numbers, int64_t i) {
  return dtype == HLO_DTYPE_F32 ? (double)((const float*)numbers)[i] : ((const double*)numbers)[i];
}

static void store_number(hlo_dtype_t dtype, void* numbers, int64_t i, double value) {
  if (dtype == HLO_DTYPE_F32) {
    ((float*)numbers)[i] = (float)value;
  } else {
    ((double*)numbers)[i] = value;
  }
}

// Checks every pair with the pairwise loops.
static void check_pairs(const hlo_fold_t* fold, hlo_fold_op_t op, hlo_dtype_t dtype) {
  static const double kValues[] = {0.0, -0.0, 1.5, -1.5, INFINITY, -INFINITY, NAN};
  enum { VALUES = sizeof kValues / sizeof kValues[0] };
  double a[VALUES * VALUES], b[VALUES * VALUES], out[VALUES * VALUES], acc[VALUES * VALUES];
  for (int form = 0; form < 3; ++form) {
    for (int i = 0; i < VALUES * VALUES; ++i) {
      store_number(dtype, form < 2 ? acc : out, i, kValues[i / VALUES]);
      store_number(dtype, a, i, kValues[i / VALUES]);
      store_number(dtype, b, i, kValues[i % VALUES]);
    }
    switch (form) {
      case 0: fold->rows(VALUES * VALUES, b, acc); break;
      case 1: fold->scan_rows(VALUES * VALUES, b, acc, out); break;
      default: fold->into(VALUES * VALUES, b, out); break;
    }
    for (int i = 0; i < VALUES * VALUES; ++i) {
      const double expected = plain(op, load_number(dtype, a, i), load_number(dtype, b, i));
      assert_true(is_same(load_number(dtype, form == 0 ? acc : out, i), expected));
    }
  }
}

// Checks zeros of both signs, one of them at every position in turn, with the line loops.
static void check_lines(const hlo_fold_t* fold, hlo_fold_op_t op, hlo_dtype_t dtype) {
  const double common = op == HLO_FOLD_MAXIMUM ? -0.0 : 0.0;
  double line[COUNT], out[COUNT], total, totals[HLO_FOLD_LINES];
  for (int64_t at = 0; at < COUNT; ++at) {
    for (int64_t i = 0; i < COUNT; ++i) store_number(dtype, line, i, i == at ? -common : common);
    store_number(dtype, &total, 0, common);
    fold->row(COUNT, line, &total);
    assert_true(is_same(load_number(dtype, &total, 0), -common));

    const void* in[HLO_FOLD_LINES] = {line, line, line, line};
    void* outs[HLO_FOLD_LINES] = {out, out, out, out};
    for (int64_t l = 0; l < HLO_FOLD_LINES; ++l) store_number(dtype, totals, l, common);
    fold->scan(COUNT, 1, in, outs, totals);
    for (int64_t i = 0; i < COUNT; ++i) {
      assert_true(is_same(load_number(dtype, out, i), i < at ? common : -common));
    }
  }
}

// Every loop flushes the selected value where arithmetic would flush it.
static void check_subnormal(const hlo_fold_t* fold, hlo_fold_op_t op, hlo_dtype_t dtype) {
  const double sign = op == HLO_FOLD_MAXIMUM ? 1 : -1;
  const double small = sign * (dtype == HLO_DTYPE_F32 ? 0x1p-140 : 0x1p-1050);
  for (int flushes = 0; flushes < 2; ++flushes) {
    double line[COUNT], others[COUNT], out[COUNT], total, totals[COUNT];
    for (int64_t i = 0; i < COUNT; ++i) store_number(dtype, line, i, small);
    for (int64_t i = 0; i < COUNT; ++i) store_number(dtype, others, i, -sign);
    for (int64_t i = 0; i < COUNT; ++i) store_number(dtype, totals, i, -sign);
    store_number(dtype, &total, 0, -sign);
    const hlo_fp_state_t before =
        hlo_fp_enter(flushes ? HLO_SUBNORMALS_FLUSH : HLO_SUBNORMALS_KEEP);
    fold->row(COUNT, line, &total);
    fold->into(COUNT, line, others);
    fold->scan_rows(COUNT, line, totals, out);
    hlo_fp_leave(before);
    const double wanted = flushes ? copysign(0, sign) : small;
    assert_true(is_same(load_number(dtype, &total, 0), wanted));
    for (int64_t i = 0; i < COUNT; ++i) {
      assert_true(is_same(load_number(dtype, others, i), wanted));
      assert_true(is_same(load_number(dtype, totals, i), wanted));
      assert_true(is_same(load_number(dtype, out, i), wanted));
    }
  }
}

static void test_extremes(void** state) {
  (void)state;
  typedef const hlo_fold_t* (*find_t)(hlo_fold_op_t op, hlo_dtype_t dtype);
  find_t finds[3] = {hlo_fold_find_generic};
  int count = 1;
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) finds[count++] = hlo_fold_find_avx2;
  if (hlo_isa() >= HLO_ISA_AVX512) finds[count++] = hlo_fold_find_avx512;
#endif
  static const hlo_fold_op_t ops[] = {HLO_FOLD_MAXIMUM, HLO_FOLD_MINIMUM};
  static const hlo_dtype_t types[] = {HLO_DTYPE_F32, HLO_DTYPE_F64};
  for (int i = 0; i < 4 * count; ++i) {
    const hlo_fold_op_t op = ops[i % 2];
    const hlo_dtype_t dtype = types[i / 2 % 2];
    const hlo_fold_t* fold = finds[i / 4](op, dtype);
    check_pairs(fold, op, dtype);
    check_lines(fold, op, dtype);
    check_subnormal(fold, op, dtype);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_extremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
