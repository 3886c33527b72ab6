// SPDX-License-Identifier: Apache-2.0
// Scattering loops of every variant against one element after the other: special values, targets
// out of range, rows of several lengths, selected rows.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "lib/isa.h"
#include "lib/scatter_impl.h"

enum { ROWS = 37, TARGETS = 11, LONGEST = 37, BYTES_MAX = 8 };

static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

static void fill(hlo_dtype_t dtype, size_t count, char* out) {
  static const double special[] = {0.0, -0.0, 1.5, -1.5, INFINITY, -INFINITY, NAN, 3e-5};
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  for (size_t i = 0; i < count; i++, out += bytes) {
    if (hlo_dtype_is_float(dtype)) {
      const double number = next_random() % 2 ? special[next_random() % 8] : next_random() * 1e-3;
      hlo_dtype_store_double(dtype, out, number);
    } else {
      hlo_dtype_store_int64(dtype, out, (int64_t)((uint64_t)next_random() << 42 ^ next_random()));
      if (dtype == HLO_DTYPE_PRED) *out &= 1;
    }
  }
}

static double max_of(double a, double b) {
  return a != a || b != b ? (double)NAN : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

// Combines in the widest type; products and sums of two floats are exact in it, or rounded once.
static void combine(hlo_fold_op_t op, hlo_dtype_t dtype, char* to, const char* from) {
  if (hlo_dtype_is_float(dtype)) {
    const double a = hlo_dtype_load_double(dtype, to), b = hlo_dtype_load_double(dtype, from);
    const double results[] = {a + b, a * b, max_of(a, b), -max_of(-a, -b)};
    hlo_dtype_store_double(dtype, to, results[op]);
    return;
  }
  const bool is_pred = dtype == HLO_DTYPE_PRED;
  const int64_t a = hlo_dtype_load_int64(dtype, to), b = hlo_dtype_load_int64(dtype, from);
  const uint64_t u = (uint64_t)a, v = (uint64_t)b;
  const bool is_less = hlo_dtype_is_signed(dtype) ? a < b : u < v;
  const uint64_t results[] = {
      is_pred ? u | v : u + v, u * v, is_less ? v : u, is_less ? u : v, u & v, u | v, u ^ v};
  hlo_dtype_store_int64(dtype, to, (int64_t)results[op]);
}

static bool is_same(hlo_dtype_t dtype, const char* a, const char* b) {
  if (!hlo_dtype_is_float(dtype)) return memcmp(a, b, hlo_dtype_size_bytes(dtype)) == 0;
  const double x = hlo_dtype_load_double(dtype, a), y = hlo_dtype_load_double(dtype, b);
  return x != x ? y != y : x == y && !signbit(x) == !signbit(y);
}

// op HLO_FOLD_OP_COUNT: a copy
static void check_rows(hlo_scatter_loop_t loop, hlo_fold_op_t op, hlo_dtype_t dtype, int64_t row,
                       bool is_chosen) {
  static char in[ROWS * LONGEST * BYTES_MAX], out[TARGETS * LONGEST * BYTES_MAX];
  static char want[sizeof out];
  const size_t bytes = hlo_dtype_size_bytes(dtype), row_bytes = (size_t)row * bytes;
  enum { FIRST = 3, SIZE = 6 };
  uint32_t targets[ROWS], numbers[ROWS], count = 0;
  fill(dtype, (size_t)(ROWS * row), in);
  fill(dtype, (size_t)(TARGETS * row), out);
  memcpy(want, out, sizeof out);
  for (uint32_t i = 0; i < ROWS; i++) {
    targets[i] = next_random() % 9 == 0 ? UINT32_MAX : next_random() % TARGETS;
    if (targets[i] - FIRST >= SIZE) continue;
    numbers[count++] = i;
    for (int64_t k = 0; k < row; k++) {
      char* to = want + targets[i] * row_bytes + (size_t)k * bytes;
      const char* from = in + i * row_bytes + (size_t)k * bytes;
      if (op == HLO_FOLD_OP_COUNT) {
        memcpy(to, from, bytes);
      } else {
        combine(op, dtype, to, from);
      }
    }
  }
  const hlo_scatter_t scatter = {.count = is_chosen ? count : ROWS,
                                 .numbers = is_chosen ? numbers : NULL,
                                 .targets = targets,
                                 .first = FIRST,
                                 .size = SIZE,
                                 .row = row,
                                 .in = in,
                                 .out = out + FIRST * row_bytes};
  loop(&scatter);
  for (size_t i = 0; i < (size_t)(TARGETS * row); i++) {
    assert_true(is_same(dtype, out + i * bytes, want + i * bytes));
  }
}

static void check_loop(hlo_scatter_loop_t loop, hlo_fold_op_t op, hlo_dtype_t dtype) {
  static const int64_t rows[] = {1, 2, 7, 16, LONGEST};
  for (size_t r = 0; loop && r < sizeof rows / sizeof rows[0]; r++) {
    check_rows(loop, op, dtype, rows[r], false);
    check_rows(loop, op, dtype, rows[r], true);
  }
}

static void check_loops(const hlo_scatter_loops_t* loops) {
  static const hlo_dtype_t types[] = {HLO_DTYPE_PRED, HLO_DTYPE_F16, HLO_DTYPE_BF16,
                                      HLO_DTYPE_F32,  HLO_DTYPE_F64, HLO_DTYPE_S32,
                                      HLO_DTYPE_U32,  HLO_DTYPE_S64, HLO_DTYPE_U64};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
    assert_non_null(loops->fold(HLO_FOLD_ADD, types[t]));
    for (int op = 0; op < HLO_FOLD_OP_COUNT; op++) {
      check_loop(loops->fold((hlo_fold_op_t)op, types[t]), (hlo_fold_op_t)op, types[t]);
    }
  }
  assert_null(loops->fold(HLO_FOLD_ADD, HLO_DTYPE_C64));
  assert_null(loops->fold(HLO_FOLD_OP_COUNT, HLO_DTYPE_F32));
  check_loop(loops->copy_8, HLO_FOLD_OP_COUNT, HLO_DTYPE_U8);
  check_loop(loops->copy_16, HLO_FOLD_OP_COUNT, HLO_DTYPE_U16);
  check_loop(loops->copy_32, HLO_FOLD_OP_COUNT, HLO_DTYPE_U32);
  check_loop(loops->copy_64, HLO_FOLD_OP_COUNT, HLO_DTYPE_U64);
}

static void test_loops(void** state) {
  (void)state;
  check_loops(&hlo_scatter_loops_generic);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_loops(&hlo_scatter_loops_avx2);
  if (hlo_isa() >= HLO_ISA_AVX512) check_loops(&hlo_scatter_loops_avx512);
#endif
}

static void test_choice(void** state) {
  (void)state;
  check_loop(hlo_scatter_fold(HLO_FOLD_MAXIMUM, HLO_DTYPE_F32), HLO_FOLD_MAXIMUM, HLO_DTYPE_F32);
  check_loop(hlo_scatter_copy(2), HLO_FOLD_OP_COUNT, HLO_DTYPE_U16);
  assert_null(hlo_scatter_copy(16));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops), cmocka_unit_test(test_choice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
