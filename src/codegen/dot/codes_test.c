// SPDX-License-Identifier: Apache-2.0
// Products whose columns are narrow codes, with scales of blocks and without, compared with the
// reference (kernel_test_util.h).
#include "base/tuning.h"
#include "codegen/loops/kernel_test_util.h"

/// A product of A's rows and B's columns of codes. `before`: leading dimensions of both operands,
/// like "2x"; `dims`: the dimension numbers.
typedef struct shape {
  const char* before;
  int rows, columns, depth;
  bool is_swapped;  // codes are the left operand
  bool is_grouped;  // blocks are a dimension where they are scaled
} shape_t;

// Writes what widens the codes of operand %w to bf16 as %wide.
static int print_codes(char* text, size_t size, const char* type, const char* plain,
                       const shape_t* s, int block, const char* scale) {
  const int n = s->columns, k = s->depth;
  if (!block) {
    return snprintf(text, size, "%%wide = stablehlo.convert %%w : (%s) -> %s\n", type, plain);
  }
  char few[64], cut[64];
  snprintf(few, sizeof few, "tensor<%s%dx%dxbf16>", s->before, n, k / block);
  snprintf(cut, sizeof cut, "tensor<%s%dx%dx%dxbf16>", s->before, n, k / block, block);
  const char* dims = *s->before ? "0, 1, 2" : "0, 1";
  const int start = snprintf(text, size,
                             "%%1 = stablehlo.convert %%w : (%s) -> %s\n"
                             "%%2 = stablehlo.convert %%s : (tensor<%s%dx%dx%s>) -> %s\n"
                             "%%3 = stablehlo.broadcast_in_dim %%2, dims = [%s] : (%s) -> %s\n",
                             type, plain, s->before, n, k / block, scale, few, dims, few, cut);
  const char* const grouped =
      "%%4 = stablehlo.reshape %%1 : (%s) -> %s\n%%g = stablehlo.multiply %%4, %%3 : %s\n"
      "%%wide = stablehlo.reshape %%g : (%s) -> %s\n";
  const char* const repeated =
      "%%4 = stablehlo.reshape %%3 : (%s) -> %s\n%%wide = stablehlo.multiply %%1, %%4 : %s\n";
  return start + (s->is_grouped
                      ? snprintf(text + start, size - start, grouped, plain, cut, cut, cut, plain)
                      : snprintf(text + start, size - start, repeated, cut, plain, plain));
}

// Where a few rows are multiplied, a scale multiplies the sum of its block's products; else
// operands have the reference's bits. Products with scales of bf16 are rounded in the reference.
static void check(const char* dtype, const shape_t* s, int block, const char* scale) {
  char text[2048], codes[1024], type[64], plain[64], few[64], a[64], result[64];
  const bool has_batch = *s->before != 0;
  snprintf(type, sizeof type, "tensor<%s%dx%dx%s>", s->before, s->columns, s->depth, dtype);
  snprintf(plain, sizeof plain, "tensor<%s%dx%dxbf16>", s->before, s->columns, s->depth);
  snprintf(few, sizeof few, "tensor<%s%dx%dx%s>", s->before, s->columns,
           block ? s->depth / block : 1, scale);
  snprintf(a, sizeof a, "tensor<%s%dx%dxbf16>", s->before, s->rows, s->depth);
  snprintf(result, sizeof result, "tensor<%s%dx%dxf32>", s->before,
           s->is_swapped ? s->columns : s->rows, s->is_swapped ? s->rows : s->columns);
  print_codes(codes, sizeof codes, type, plain, s, block, scale);
  snprintf(
      text, sizeof text,
      "func.func @main(%%a: %s, %%w: %s, %%s: %s, %%c: %s) -> %s {\n%s"
      "%%5 = stablehlo.dot_general %s, batching_dims = %s, contracting_dims = %s : (%s, %s) -> "
      "%s\n%%6 = stablehlo.multiply %%5, %%c : %s\nreturn %%6 : %s\n}",
      a, type, few, result, result, codes, s->is_swapped ? "%wide, %a" : "%a, %wide",
      has_batch ? "[0] x [0]" : "[] x []", has_batch ? "[2] x [2]" : "[1] x [1]",
      s->is_swapped ? plain : a, s->is_swapped ? a : plain, result, result, result);
  const bool is_rounded = block && strcmp(scale, "bf16") == 0;
  const double few_rows = is_rounded ? 0.5 : 2e-2;
  hlo_test_agree(text, 0, s->rows <= HLO_TUNING_CODES_MAX_ROWS ? few_rows : 2e-3);
}

static const shape_t row = {"", 1, 64, 256, false, false};

static void test_types(void** state) {
  (void)state;
  static const char* const types[] = {
      "f8E4M3FN", "f8E5M2",        "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3",
      "f8E3M4",   "f8E4M3B11FNUZ", "f6E2M3FN",   "f6E3M2FN",   "f4E2M1FN",
      "i4",       "ui4",           "i2",         "ui2",        "i8"};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    check(types[i], &row, i % 2 ? 32 : 0, "f8E8M0FNU");
  }
}

// Heights of tiles, edge panels, remainders of spans, batches, both sides.
static void test_shapes(void** state) {
  (void)state;
  static const shape_t shapes[] = {{"", 3, 67, 320, false, false},
                                   {"", 7, 65, 256, true, true},
                                   {"2x", 2, 63, 448, false, true},
                                   {"", 16, 33, 576, false, false},
                                   {"2x", 1, 64, 256, true, false}};
  static const int blocks[] = {32, 16, 64, 16, 0};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    check("f8E4M3FN", &shapes[i], blocks[i], "f8E8M0FNU");
    check("f4E2M1FN", &shapes[i], blocks[(i + 1) % 5], "f8E4M3FN");
  }
  check("i4", &row, 128, "bf16");
}

// Codes that are widened where they are packed: as columns, whose edges do not fill a register, and
// as lines; chunks and a rest of the contraction; products with scales that bf16 holds or rounds.
static void test_packed(void** state) {
  (void)state;
  static const shape_t shapes[] = {{"", 35, 37, 160, false, true},
                                   {"", 25, 35, 128, true, false},
                                   {"2x", 34, 19, 192, false, false},
                                   {"2x", 33, 18, 96, true, false}};
  static const struct {
    const char *type, *scale;
    int block;
  } codes[] = {{"f8E4M3FN", "f8E8M0FNU", 32},
               {"f4E2M1FN", "f8E4M3FN", 16},
               {"i4", "bf16", 16},
               {"f8E5M2FNUZ", "bf16", 32},
               {"ui2", "f8E5M2", 32},
               {"f6E3M2FN", "bf16", 0},
               {"i8", "bf16", 32}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    for (size_t k = 0; k < 2; ++k) {
      check(codes[i].type, &shapes[(i + k) % 4], codes[i].block, codes[i].scale);
    }
  }
  check("f8E3M4", &shapes[2], 64, "f8E8M0FNU");
}

// Writes what multiplies codes %<name> by the scales %<name>s of their blocks as %<name>w.
static int print_scaled(char* text, size_t size, char name, const char* before, int n, int k,
                        int block, const char* dtype, const char* scale) {
  const char* dims = *before ? "0, 1, 2" : "0, 1";
  char few[64], cut[64], plain[64];
  snprintf(plain, sizeof plain, "%s%dx%d", before, n, k);
  snprintf(few, sizeof few, "%s%dx%d", before, n, k / block);
  snprintf(cut, sizeof cut, "%s%dx%dx%dxbf16", before, n, k / block, block);
  return snprintf(
      text, size,
      "%%%c1 = stablehlo.convert %%%c : (tensor<%sx%s>) -> tensor<%sxbf16>\n"
      "%%%c2 = stablehlo.convert %%%cs : (tensor<%sx%s>) -> tensor<%sxbf16>\n"
      "%%%c3 = stablehlo.broadcast_in_dim %%%c2, dims = [%s] : (tensor<%sxbf16>) -> tensor<%s>\n"
      "%%%c4 = stablehlo.reshape %%%c3 : (tensor<%s>) -> tensor<%sxbf16>\n"
      "%%%cw = stablehlo.multiply %%%c1, %%%c4 : tensor<%sxbf16>\n",
      name, name, plain, dtype, plain, name, name, few, scale, few, name, name, dims, few, cut,
      name, name, cut, plain, name, name, name, plain);
}

// Both operands are codes with scales. Products of integers are exact but for the sums of blocks.
static void check_both(const char* left, const char* right, const shape_t* s, int block,
                       const char* scale) {
  char text[4096], a[1024], w[1024];
  const int m = s->rows, n = s->columns, k = s->depth;
  const char* before = s->before;
  print_scaled(a, sizeof a, 'a', before, m, k, block, left, scale);
  print_scaled(w, sizeof w, 'w', before, n, k, block, right, scale);
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%s%dx%dx%s>, %%as: tensor<%s%dx%dx%s>, "
           "%%w: tensor<%s%dx%dx%s>, %%ws: tensor<%s%dx%dx%s>) -> tensor<%s%dx%dxf32> {\n%s%s"
           "%%5 = stablehlo.dot_general %%aw, %%ww, batching_dims = %s, contracting_dims = %s : "
           "(tensor<%s%dx%dxbf16>, tensor<%s%dx%dxbf16>) -> tensor<%s%dx%dxf32>\n"
           "return %%5 : tensor<%s%dx%dxf32>\n}",
           before, m, k, left, before, m, k / block, scale, before, n, k, right, before, n,
           k / block, scale, before, m, n, a, w, *before ? "[0] x [0]" : "[] x []",
           *before ? "[2] x [2]" : "[1] x [1]", before, m, k, before, n, k, before, m, n, before, m,
           n);
  hlo_test_agree(text, 0, 2e-3);
}

// Types with and without integers, blocks shorter and longer than a span, edges of tiles.
static void test_integers(void** state) {
  (void)state;
  static const shape_t shapes[] = {{"", 1, 64, 256, false, false},
                                   {"", 7, 37, 768, false, false},
                                   {"2x", 3, 33, 512, false, false},
                                   {"", 19, 24, 1024, false, false}};
  static const struct {
    const char *left, *right, *scale;
    int block;
  } codes[] = {{"f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16},
               {"f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32},
               {"i8", "i4", "f8E8M0FNU", 64},
               {"i4", "i8", "f8E8M0FNU", 256},
               {"f6E2M3FN", "ui2", "f8E8M0FNU", 32},
               {"i2", "ui4", "f8E4M3FN", 128},
               {"f4E2M1FN", "f6E3M2FN", "f8E4M3FN", 16},
               {"ui4", "f6E2M3FN", "f8E4M3FN", 512}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    const shape_t* s = &shapes[codes[i].block > 256 ? 2 : i % 4];
    check_both(codes[i].left, codes[i].right, s, codes[i].block, codes[i].scale);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_types), cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_packed),
                                     cmocka_unit_test(test_integers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
