// SPDX-License-Identifier: Apache-2.0
// Products of a few rows of bytes, four in a lane along the contraction, compared with the
// reference (kernel_test_util.h). They are exact.
#include "codegen/loops/kernel_test_util.h"

/// `before`: leading dimensions of both operands, like "2x".
typedef struct shape {
  const char* before;
  int rows, columns, depth;
  bool is_swapped;  // the few rows are the right operand
} shape_t;

// Compares products of elements of both types. `is_computed`: the rows are converted from f32.
static void check(const shape_t* s, const char* few, const char* many, const char* result,
                  bool is_computed) {
  char text[2048], a[64], from[64], w[64], out[64];
  const bool has_batch = *s->before != 0;
  snprintf(a, sizeof a, "tensor<%s%dx%dx%s>", s->before, s->rows, s->depth, few);
  snprintf(from, sizeof from, "tensor<%s%dx%dxf32>", s->before, s->rows, s->depth);
  snprintf(w, sizeof w, "tensor<%s%dx%dx%s>", s->before, s->columns, s->depth, many);
  snprintf(out, sizeof out, "tensor<%s%dx%dx%s>", s->before, s->is_swapped ? s->columns : s->rows,
           s->is_swapped ? s->rows : s->columns, result);
  snprintf(text, sizeof text,
           "func.func @main(%%x: %s, %%w: %s, %%c: %s) -> %s {\n"
           "%%a = stablehlo.convert %%x : (%s) -> %s\n"
           "%%0 = stablehlo.dot_general %s, batching_dims = %s, contracting_dims = %s : (%s, %s) "
           "-> %s\n%%1 = stablehlo.add %%0, %%c : %s\nreturn %%1 : %s\n}",
           is_computed ? from : a, w, out, out, is_computed ? from : a, a,
           s->is_swapped ? "%w, %a" : "%a, %w", has_batch ? "[0] x [0]" : "[] x []",
           has_batch ? "[2] x [2]" : "[1] x [1]", s->is_swapped ? w : a, s->is_swapped ? a : w, out,
           out, out);
  hlo_test_agree(text, 0, 0);
}

// Signs of both operands, which decide what is flipped; all fill a vector but for the last bytes.
static void test_types(void** state) {
  (void)state;
  static const char* const types[] = {"i8", "ui8"};
  static const shape_t shapes[] = {{"", 1, 64, 256, false}, {"", 1, 67, 259, true}};
  for (uint32_t i = 0; i < 8; ++i) {
    check(&shapes[i / 4], types[i & 1], types[i >> 1 & 1], i % 3 ? "i32" : "i64", false);
  }
}

// Heights of tiles, edge panels, ends of the contraction, batches.
static void test_shapes(void** state) {
  (void)state;
  static const shape_t shapes[] = {{"", 2, 65, 321, false},
                                   {"", 3, 63, 270, true},
                                   {"2x", 1, 33, 511, false},
                                   {"", 7, 35, 516, false},
                                   {"3x", 5, 30, 256, true}};
  for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    check(&shapes[i], i % 2 ? "ui8" : "i8", "i8", "i32", false);
  }
}

static void test_computed_rows(void** state) {
  (void)state;
  static const shape_t shapes[] = {{"", 1, 64, 262, false}, {"", 4, 66, 320, true}};
  for (uint32_t i = 0; i < 2; ++i) check(&shapes[i], "i8", "i8", "i32", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_types), cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_computed_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
