// SPDX-License-Identifier: Apache-2.0
// Kernels of matrix products and convolutions, compared with the reference (kernel_test_util.h).
#include "codegen/loops/kernel_test_util.h"

/// Compares one dot_general of random operands. Dimensions are text like "2x3", dimension numbers
/// like "[0], [1]".
static void check_dot(const char* lhs, const char* rhs, const char* result, const char* batch,
                      const char* depth, double tolerance) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%s>, %%b: tensor<%s>) -> tensor<%s> {\n"
           "%%0 = stablehlo.dot_general %%a, %%b, batching_dims = %s, contracting_dims = %s : "
           "(tensor<%s>, tensor<%s>) -> tensor<%s>\n"
           "return %%0 : tensor<%s>\n}",
           lhs, rhs, result, batch, depth, lhs, rhs, result, result);
  hlo_test_agree(text, 1, tolerance);
}

// Products whose elements are multiplied in groups: whole and partial groups, each operand along
// the contraction and across it, full panels and edge panels, in place and packed.
static void check_groups(const char* const types[3]) {
  static const char* const shapes[][5] = {
      {"9x16", "16x70", "9x70", "[] x []", "[1] x [0]"},
      {"9x17", "17x70", "9x70", "[] x []", "[1] x [0]"},
      {"17x21", "19x17", "21x19", "[] x []", "[0] x [1]"},
      {"20x21", "20x130", "21x130", "[] x []", "[0] x [0]"},
      {"10x18", "33x18", "10x33", "[] x []", "[1] x [1]"},
      {"3x12x11", "3x11x20", "3x12x20", "[0] x [0]", "[2] x [1]"},
      {"12x3x9", "9x3x20", "12x20", "[] x []", "[1, 2] x [1, 0]"},
      {"9x11", "11x300", "9x300", "[] x []", "[1] x [0]"},
      {"40x1", "1x20", "40x20", "[] x []", "[1] x [0]"},
  };
  for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    char text[3][32];
    for (uint32_t k = 0; k < 3; ++k) snprintf(text[k], 32, "%s%s", shapes[i][k], types[k]);
    check_dot(text[0], text[1], text[2], shapes[i][3], shapes[i][4], 2e-2);
  }
}

static void test_small_dots(void** state) {
  (void)state;
  check_dot("9x3xf32", "3x3xf32", "9x3xf32", "[] x []", "[1] x [0]", 1e-5);
  check_dot("5x8x8xf32", "5x8x8xf32", "5x8x8xf32", "[0] x [0]", "[2] x [1]", 1e-5);
  check_dot("4x5x2xf64", "7x4x2xf64", "5x7xf64", "[] x []", "[0, 2] x [1, 2]", 1e-12);
  check_dot("300xf32", "300xf32", "f32", "[] x []", "[0] x [0]", 1e-4);
  check_dot("8x6xbf16", "6x5xbf16", "8x5xbf16", "[] x []", "[1] x [0]", 1e-2);
  check_dot("8x6xi8", "6x5xi8", "8x5xi32", "[] x []", "[1] x [0]", 0);
  check_dot("6x8xi32", "6x5xi32", "8x5xi32", "[] x []", "[0] x [0]", 0);
  check_dot("8x6xi8", "6x40xi8", "8x40xi8", "[] x []", "[1] x [0]", 0);
  check_dot("8x6xi64", "5x6xi64", "8x5xi64", "[] x []", "[1] x [1]", 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<9x4xf32>, %b: tensor<4x6xf32>, %c: tensor<6xf32>) -> "
      "tensor<9x6xf32> {\n"
      "%0 = stablehlo.add %a, %a : tensor<9x4xf32>\n"
      "%1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<9x4xf32>, "
      "tensor<4x6xf32>) -> tensor<9x6xf32>\n"
      "%2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> tensor<9x6xf32>\n"
      "%3 = stablehlo.add %1, %2 : tensor<9x6xf32>\n"
      "return %3 : tensor<9x6xf32>\n}",
      1, 1e-5);
}

static void test_matrix_products(void** state) {
  (void)state;
  check_dot("9x17xf32", "17x70xf32", "9x70xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("70x9xf32", "9x1xf32", "70x1xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("1x33xf32", "33x101xf32", "1x101xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("33x1xf32", "33x101xf32", "1x101xf32", "[] x []", "[0] x [0]", 1e-4);
  check_dot("40x19xf32", "19x37xf32", "40x37xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("19x40xf32", "37x19xf32", "40x37xf32", "[] x []", "[0] x [1]", 1e-4);
  check_dot("67x21xf64", "21x67xf64", "67x67xf64", "[] x []", "[1] x [0]", 1e-12);
  // A large operand, panels in slices, accumulators in the output, an edge panel.
  check_dot("2x200x131xf32", "2x131x261xf32", "2x200x261xf32", "[0] x [0]", "[2] x [1]", 1e-3);
  check_dot("3x20x12xf32", "3x12x25xf32", "3x20x25xf32", "[0] x [0]", "[2] x [1]", 1e-4);
  check_dot("2x20x3x12xf32", "2x25x3x12xf32", "2x3x20x25xf32", "[0, 2] x [0, 2]", "[3] x [3]",
            1e-4);
  check_dot("5x12x20xf32", "20x12x9xf32", "5x9xf32", "[] x []", "[2, 1] x [0, 1]", 1e-3);
  check_dot("5x12x20xf32", "20x7x9xf32", "5x12x7x9xf32", "[] x []", "[2] x [0]", 1e-4);
  check_dot("20x12x5xf32", "7x20x9xf32", "12x5x7x9xf32", "[] x []", "[0] x [1]", 1e-4);
  check_dot("30x64xbf16", "64x40xbf16", "30x40xf32", "[] x []", "[1] x [0]", 1e-3);
  check_dot("30x64xbf16", "40x64xbf16", "30x40xbf16", "[] x []", "[1] x [1]", 2e-2);
  check_dot("2x64xbf16", "64x40xbf16", "2x40xbf16", "[] x []", "[1] x [0]", 2e-2);
  check_dot("30x20xi8", "20x40xi8", "30x40xi32", "[] x []", "[1] x [0]", 0);
  check_dot("12x1040xi8", "1040x20xi8", "12x20xi32", "[] x []", "[1] x [0]", 0);
  check_dot("12x40xui8", "40x20xi8", "12x20xi32", "[] x []", "[1] x [0]", 0);
  check_dot("30x20xi64", "20x40xi64", "30x40xi64", "[] x []", "[1] x [0]", 0);
  check_dot("8x1040xi8", "1040x20xi8", "8x20xi64", "[] x []", "[1] x [0]", 0);
  static const char* const bytes[][3] = {{"xi8", "xi8", "xi32"},     {"xui8", "xui8", "xi32"},
                                         {"xui8", "xi8", "xi32"},    {"xi8", "xui8", "xi32"},
                                         {"xi8", "xi8", "xi8"},      {"xui8", "xui8", "xui32"},
                                         {"xi8", "xi8", "xi64"},     {"xui8", "xui8", "xui8"},
                                         {"xbf16", "xbf16", "xf32"}, {"xbf16", "xbf16", "xbf16"}};
  for (uint32_t i = 0; i < sizeof bytes / sizeof *bytes; ++i) check_groups(bytes[i]);
  check_dot("13x1543xf32", "1543x70xf32", "13x70xf32", "[] x []", "[1] x [0]", 1e-2);
  check_dot("70x1600xf64", "1600x9xf64", "70x9xf64", "[] x []", "[1] x [0]", 1e-9);
  check_dot("13x6300xi8", "6300x20xi8", "13x20xi32", "[] x []", "[1] x [0]", 0);
  check_dot("2x1601x14xf32", "2x40x1601xf32", "2x14x40xf32", "[0] x [0]", "[1] x [2]", 1e-2);
  check_dot("7x512xf32", "512x19xf32", "7x19xf32", "[] x []", "[1] x [0]", 1e-3);
  check_dot("40x512xf32", "512x300xf32", "40x300xf32", "[] x []", "[1] x [0]", 1e-3);
}

// Lanes along the contraction: few rows, few columns, remainders of vectors, packed and in place.
static void test_long_products(void** state) {
  (void)state;
  check_dot("3x300xf32", "21x300xf32", "3x21xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("16x256xf32", "5x256xf32", "16x5xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("259x2xf32", "21x259xf32", "2x21xf32", "[] x []", "[0] x [1]", 1e-2);
  check_dot("30x300xf32", "300x5xf32", "30x5xf32", "[] x []", "[1] x [0]", 1e-2);
  check_dot("2x9x300xf64", "2x300x7xf64", "2x9x7xf64", "[0] x [0]", "[2] x [1]", 1e-9);
  check_dot("2x9x3x300xf32", "300x7xf32", "2x9x3x7xf32", "[] x []", "[3] x [0]", 1e-2);
  check_dot("8x1024xf32", "20x1024xf32", "8x20xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("20x1024xf32", "9x1024xf32", "20x9xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("4x300xbf16", "21x300xbf16", "4x21xbf16", "[] x []", "[1] x [1]", 3e-2);
  check_dot("30x301xi8", "301x3xi8", "30x3xi32", "[] x []", "[1] x [0]", 0);
  check_dot("30x301xi64", "301x3xi64", "30x3xi64", "[] x []", "[1] x [0]", 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<30x300xf32>, %b: tensor<300x5xf32>, %c: tensor<5xf32>, %d: "
      "tensor<30x5xf32>) -> tensor<30x5xf32> {\n"
      "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<30x300xf32>, "
      "tensor<300x5xf32>) -> tensor<30x5xf32>\n"
      "%2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<5xf32>) -> tensor<30x5xf32>\n"
      "%3 = stablehlo.add %1, %2 : tensor<30x5xf32>\n"
      "%4 = stablehlo.maximum %3, %d : tensor<30x5xf32>\n"
      "return %4 : tensor<30x5xf32>\n}",
      1, 1e-2);
}

static void check_convolution(const char* lhs, const char* rhs, const char* result,
                              const char* numbers, const char* window, int groups,
                              int batch_groups) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%s>, %%b: tensor<%s>) -> tensor<%s> {\n"
           "%%0 = stablehlo.convolution(%%a, %%b) dim_numbers = %s, window = {%s} "
           "{feature_group_count = %d : i64, batch_group_count = %d : i64} : "
           "(tensor<%s>, tensor<%s>) -> tensor<%s>\n"
           "return %%0 : tensor<%s>\n}",
           lhs, rhs, result, numbers, window, groups, batch_groups, lhs, rhs, result, result);
  hlo_test_agree(text, 1, strstr(lhs, "f16") ? 2e-2 : 1e-3);
}

static void test_convolutions(void** state) {
  (void)state;
  check_convolution("2x7x9x5xf32", "3x3x5x18xf32", "2x7x9x18xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1, 1);
  check_convolution("2x5x7x9xf32", "6x5x3x2xf32", "2x6x3x5xf32",
                    "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                    "stride = [2, 2], pad = [[0, 1], [2, -1]]", 1, 1);
  check_convolution("2x9x4xf32", "3x4x20xf32", "2x21x20xf32", "[b, 0, f]x[0, i, o]->[b, 0, f]",
                    "pad = [[3, 3]], lhs_dilate = [2], rhs_dilate = [1], reverse = [true]", 1, 1);
  check_convolution("1x9x5x4xf32", "5x3x4x20xf32", "1x20x10x20xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                    "pad = [[2, 5], [1, 2]], lhs_dilate = [2, 2], reverse = [true, false]", 1, 1);
  // Windows that do not overlap: a matrix product except for the padding.
  check_convolution("1x28x1xf32", "3x1x3xf32", "1x10x3xf32", "[b, 0, f]x[0, i, o]->[b, 0, f]",
                    "stride = [3], pad = [[1, 1]]", 1, 1);
  check_convolution("1x20x16xbf16", "4x70x16xbf16", "1x40x70xbf16",
                    "[b, 0, f]x[0, o, i]->[b, 0, f]", "pad = [[2, 2]], lhs_dilate = [2]", 1, 1);
  check_convolution("3x6x6x4xf32", "3x3x2x16xf32", "3x2x2x16xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "rhs_dilate = [2, 2]", 2, 1);
  check_convolution("4x6x6x3xf32", "3x3x3x16xf32", "2x4x4x16xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 2);
  check_convolution("2x6x7x20xf32", "3x3x1x20xf32", "2x6x7x20xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 20, 1);
  check_convolution("2x6x7x21xbf16", "2x2x1x21xbf16", "2x5x3x21xbf16",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [1, 2]", 21, 1);
  check_convolution("1x9x6x9xbf16", "3x3x2x9xbf16", "1x3x15x6xbf16",
                    "[b,f,0,1]x[o,i,0,1]->[b,f,0,1]", "pad = [[0, 0], [2, 3]], lhs_dilate = [3, 1]",
                    3, 1);
  check_convolution("5x8x8x2xbf16", "5x6x6x24xbf16", "5x5x2x24xbf16",
                    "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 1]]", 1, 1);
}

// One random dimension of a convolution's window.
typedef struct place {
  int64_t input, taps, output, stride, low, high, lhs_dilation, rhs_dilation;
  bool is_reversed;
} place_t;

static place_t random_place(void) {
  for (;;) {
    place_t p = {.input = 1 + hlo_test_below(12),
                 .taps = 1 + hlo_test_below(4),
                 .stride = 1 + hlo_test_below(3) / 2 * hlo_test_below(3)};
    p.low = (int64_t)hlo_test_below(5) - 1;
    p.high = (int64_t)hlo_test_below(5) - 1;
    p.lhs_dilation = hlo_test_below(4) ? 1 : 1 + hlo_test_below(3);
    p.rhs_dilation = hlo_test_below(3) ? 1 : 1 + hlo_test_below(3);
    p.is_reversed = hlo_test_below(5) == 0;
    if (hlo_test_below(8) == 0) p.taps = p.input;
    int64_t covered = (p.input - 1) * p.lhs_dilation + 1 + p.low + p.high;
    int64_t reach = (p.taps - 1) * p.rhs_dilation + 1;
    p.output = covered >= reach ? (covered - reach) / p.stride + 1 : 0;
    if (p.output > 0 && covered > 0) return p;
  }
}

static void append_shape(char* text, const char* order, const place_t* places, int which,
                         const int64_t* other, const char* dtype) {
  for (; *order; ++order) {
    bool is_place = *order == '0' || *order == '1';
    const place_t* p = &places[is_place ? *order - '0' : 0];
    int64_t dims[] = {p->input, p->taps, p->output};
    int64_t dim = is_place ? dims[which] : other[*order == 'o' || *order == 'f'];
    sprintf(text + strlen(text), "%dx", (int)dim);
  }
  strcat(text, dtype);
}

// Random convolutions, including depthwise ones and those with feature or batch groups.
static void test_random_convolutions(void** state) {
  (void)state;
  static const char* const orders[][3] = {{"b01f", "01io", "b01f"},
                                          {"b01f", "01io", "b01f"},
                                          {"bf01", "oi01", "bf01"},
                                          {"f01b", "i01o", "01bf"},
                                          {"01bf", "01oi", "01bf"}};
  static const int64_t groups_of[] = {1, 1, 3, 17, 20}, per_group[] = {1, 1, 2, 4, 9, 12, 18};
  static const char* const dtypes[][3] = {
      {"f32", "f32", "f32"},   {"f32", "f32", "f32"}, {"bf16", "bf16", "bf16"},
      {"bf16", "bf16", "f32"}, {"f64", "f64", "f64"}, {"f16", "f16", "f16"},
      {"i32", "i32", "i32"},   {"i8", "i8", "i32"},   {"ui8", "ui8", "i32"}};
  for (int round = 0; round < 60; ++round) {
    place_t places[2] = {random_place(), random_place()};
    const char* const* order = orders[hlo_test_below(5)];
    int64_t groups = groups_of[hlo_test_below(5)], in = per_group[hlo_test_below(6)],
            out = per_group[hlo_test_below(7)];
    int64_t batch = 1 + hlo_test_below(2);
    bool is_batch = groups > 1 && hlo_test_below(3) == 0;
    int64_t lhs[] = {is_batch ? batch * groups : batch, is_batch ? in : in * groups};
    int64_t rhs[] = {in, out * groups}, result[] = {batch, out * groups};
    if (batch * out * groups * places[0].output * places[1].output == 1) continue;
    char texts[3][64] = {"", "", ""}, numbers[64], window[256];
    uint32_t kind = hlo_test_below(sizeof dtypes / sizeof *dtypes);
    append_shape(texts[0], order[0], places, 0, lhs, dtypes[kind][0]);
    append_shape(texts[1], order[1], places, 1, rhs, dtypes[kind][1]);
    append_shape(texts[2], order[2], places, 2, result, dtypes[kind][2]);
    snprintf(numbers, sizeof numbers, "[%c,%c,%c,%c]x[%c,%c,%c,%c]->[%c,%c,%c,%c]", order[0][0],
             order[0][1], order[0][2], order[0][3], order[1][0], order[1][1], order[1][2],
             order[1][3], order[2][0], order[2][1], order[2][2], order[2][3]);
    const place_t *p = &places[0], *q = &places[1];
    snprintf(window, sizeof window,
             "stride = [%d, %d], pad = [[%d, %d], [%d, %d]], lhs_dilate = [%d, %d], "
             "rhs_dilate = [%d, %d], reverse = [%s, %s]",
             (int)p->stride, (int)q->stride, (int)p->low, (int)p->high, (int)q->low, (int)q->high,
             (int)p->lhs_dilation, (int)q->lhs_dilation, (int)p->rhs_dilation, (int)q->rhs_dilation,
             p->is_reversed ? "true" : "false", q->is_reversed ? "true" : "false");
    check_convolution(texts[0], texts[1], texts[2], numbers, window, is_batch ? 1 : (int)groups,
                      is_batch ? (int)groups : 1);
  }
}

static void test_products_and_more(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<19x24xf32>, %b: tensor<24x46xf32>, %c: tensor<46xf32>, %d: "
      "tensor<19x46xf32>) -> tensor<19x46xf32> {\n"
      "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x24xf32>, "
      "tensor<24x46xf32>) -> tensor<19x46xf32>\n"
      "%2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<46xf32>) -> tensor<19x46xf32>\n"
      "%3 = stablehlo.add %1, %2 : tensor<19x46xf32>\n"
      "%4 = stablehlo.exponential %d : tensor<19x46xf32>\n"
      "%5 = stablehlo.add %3, %4 : tensor<19x46xf32>\n"
      "return %5 : tensor<19x46xf32>\n}",
      1, 1e-3);
  hlo_test_agree(
      "func.func @main(%a: tensor<19x24xf32>, %b: tensor<24x46xf32>) -> (tensor<19x46xf32>, "
      "tensor<19x46xbf16>) {\n"
      "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x24xf32>, "
      "tensor<24x46xf32>) -> tensor<19x46xf32>\n"
      "%2 = stablehlo.convert %1 : (tensor<19x46xf32>) -> tensor<19x46xbf16>\n"
      "return %1, %2 : tensor<19x46xf32>, tensor<19x46xbf16>\n}",
      1, 2e-2);
  hlo_test_agree(
      "func.func @main(%a: tensor<40x24xf32>, %b: tensor<24xf32>) -> tensor<40xf32> {\n"
      "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x24xf32>, "
      "tensor<24xf32>) -> tensor<40xf32>\n"
      "%2 = stablehlo.tanh %1 : tensor<40xf32>\n"
      "return %2 : tensor<40xf32>\n}",
      0, 1e-3);
  hlo_test_agree(
      "func.func @main(%a: tensor<19x24xf32>, %b: tensor<24x46xf32>) -> tensor<19xf32> {\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x24xf32>, "
      "tensor<24x46xf32>) -> tensor<19x46xf32>\n"
      "%2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<19x46xf32>, tensor<f32>) -> tensor<19xf32>\n"
      "return %2 : tensor<19xf32>\n}",
      2, 1e-3);
}

// Layers of stacked weights as loops over 64-bit counters read them, with a computed operand.
static void test_products_of_slices(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<3x19x24xf32>, %b: tensor<3x24x46xf32>, %i: tensor<i64>) -> "
      "tensor<19x46xf32> {\n"
      "%z = stablehlo.constant dense<0> : tensor<i64>\n"
      "%0 = stablehlo.dynamic_slice %b, %i, %z, %z, sizes = [1, 24, 46] : (tensor<3x24x46xf32>, "
      "tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x24x46xf32>\n"
      "%1 = stablehlo.reshape %0 : (tensor<1x24x46xf32>) -> tensor<24x46xf32>\n"
      "%2 = stablehlo.dynamic_slice %a, %i, %z, %z, sizes = [1, 19, 24] : (tensor<3x19x24xf32>, "
      "tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x19x24xf32>\n"
      "%3 = stablehlo.negate %2 : tensor<1x19x24xf32>\n"
      "%4 = stablehlo.reshape %3 : (tensor<1x19x24xf32>) -> tensor<19x24xf32>\n"
      "%5 = stablehlo.dot_general %4, %1, contracting_dims = [1] x [0] : (tensor<19x24xf32>, "
      "tensor<24x46xf32>) -> tensor<19x46xf32>\n"
      "%6 = stablehlo.tanh %5 : tensor<19x46xf32>\n"
      "return %6 : tensor<19x46xf32>\n}",
      0, 1e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products_of_slices), cmocka_unit_test(test_small_dots),
      cmocka_unit_test(test_matrix_products),    cmocka_unit_test(test_long_products),
      cmocka_unit_test(test_convolutions),       cmocka_unit_test(test_random_convolutions),
      cmocka_unit_test(test_products_and_more),
  };
  return cmocka_run_group_tests_name("codegen/dot/kernel_product", tests, NULL, NULL);
}
