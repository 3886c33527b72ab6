// SPDX-License-Identifier: Apache-2.0
// reduce, reduce_window, select_and_scatter and sort: fast forms against each other and by hand.
#include "interp/ref_text_test_util.h"

#define REDUCE(op, in, dims, out, type) \
  "(" in " init: %z) applies stablehlo." op " across dimensions = " dims " : " type " -> " out "\n"

static void test_reduce_dims(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<24xf32>\n"
      "%m = stablehlo.reshape %a : (tensor<24xf32>) -> tensor<2x3x4xf32>\n"
      "%z = stablehlo.constant dense<0.5> : tensor<f32>\n"
      "%r0 = stablehlo.reduce" REDUCE("add", "%m", "[0]", "tensor<3x4xf32>",
                                      "(tensor<2x3x4xf32>, tensor<f32>)")
      "check.expect_eq_const %r0, dense<[[12.5, 14.5, 16.5, 18.5], [20.5, 22.5, 24.5, 26.5], "
      "[28.5, 30.5, 32.5, 34.5]]> : tensor<3x4xf32>\n"
      "%r1 = stablehlo.reduce" REDUCE("add", "%m", "[0, 2]", "tensor<3xf32>",
                                      "(tensor<2x3x4xf32>, tensor<f32>)")
      "check.expect_eq_const %r1, dense<[60.5, 92.5, 124.5]> : tensor<3xf32>\n"
      "%r2 = stablehlo.reduce" REDUCE("maximum", "%m", "[2, 1]", "tensor<2xf32>",
                                      "(tensor<2x3x4xf32>, tensor<f32>)")
      "check.expect_eq_const %r2, dense<[11.0, 23.0]> : tensor<2xf32>\n");
}

static void test_reduce_short_rows(void** state) {
  (void)state;
  // rows of 3 beside 100 outputs are folded side by side; the sum over all hlo_test_must agree
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<600xbf16>\n"
      "%w = stablehlo.constant dense<1.0> : tensor<2x100x3xbf16>\n"
      "%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
      "%r = stablehlo.reduce" REDUCE("add", "%w", "[2]", "tensor<2x100xbf16>",
                                     "(tensor<2x100x3xbf16>, tensor<bf16>)")
      "check.expect_eq_const %r, dense<3.0> : tensor<2x100xbf16>\n"
      "%s = stablehlo.reduce" REDUCE("add", "%w", "[0, 2]", "tensor<100xbf16>",
                                     "(tensor<2x100x3xbf16>, tensor<bf16>)")
      "check.expect_eq_const %s, dense<6.0> : tensor<100xbf16>\n");
}

static void test_reduce_nan_wins(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[1.0, 0x7FC00000, 3.0, -2.0]> : tensor<4xf32>\n"
      "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%r = stablehlo.reduce" REDUCE("maximum", "%a", "[0]", "tensor<f32>",
                                     "(tensor<4xf32>, tensor<f32>)")
      "%is_number = stablehlo.compare EQ, %r, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "check.expect_eq_const %is_number, dense<false> : tensor<i1>\n");
}

// +0 is above -0 at any position.
static void test_reduce_zeros(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%n = stablehlo.constant dense<-0.0> : tensor<40xf32>\n"
      "%p = stablehlo.constant dense<0.0> : tensor<1xf32>\n"
      "%z = stablehlo.constant dense<-0.0> : tensor<f32>\n"
      "%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "%a = stablehlo.concatenate %p, %n, dim = 0 : (tensor<1xf32>, tensor<40xf32>) -> "
      "tensor<41xf32>\n"
      "%r = stablehlo.reduce" REDUCE("maximum", "%a", "[0]", "tensor<f32>",
                                     "(tensor<41xf32>, tensor<f32>)")
      "%positive = stablehlo.divide %one, %r : tensor<f32>\n"
      "check.expect_eq_const %positive, dense<0x7F800000> : tensor<f32>\n"
      "%s = stablehlo.reduce" REDUCE("minimum", "%a", "[0]", "tensor<f32>",
                                     "(tensor<41xf32>, tensor<f32>)")
      "%negative = stablehlo.divide %one, %s : tensor<f32>\n"
      "check.expect_eq_const %negative, dense<0xFF800000> : tensor<f32>\n");
}

#define WINDOW(op, sizes, more, in_type, out_type)                     \
  "= \"stablehlo.reduce_window\"(%a, %z) ({\n"                         \
  "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"                          \
  "  %s = stablehlo." op                                               \
  " %x, %y : tensor<i32>\n"                                            \
  "  stablehlo.return %s : tensor<i32>\n"                              \
  "}) {window_dimensions = array<i64: " sizes ">" more "} : (" in_type \
  ", tensor<i32>) -> " out_type "\n"

static void test_window_long(void** state) {
  (void)state;
  // a running sum over the whole dimension, and a long maximum with stride, padding and dilation
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<40xi32>\n"
      "%z = stablehlo.constant dense<0> : tensor<i32>\n"
      "%sums " WINDOW("add", "40", ", padding = dense<[[39, 0]]> : tensor<1x2xi64>", "tensor<40xi32>",
                      "tensor<40xi32>")
      "%last = stablehlo.slice %sums [36:40] : (tensor<40xi32>) -> tensor<4xi32>\n"
      "check.expect_eq_const %last, dense<[666, 703, 741, 780]> : tensor<4xi32>\n"
      "%max " WINDOW("maximum", "13",
                     ", window_strides = array<i64: 30>, padding = dense<[[20, 5]]> : "
                     "tensor<1x2xi64>, base_dilations = array<i64: 2>",
                     "tensor<40xi32>", "tensor<4xi32>")
      "check.expect_eq_const %max, dense<[0, 11, 26, 39]> : tensor<4xi32>\n");
}

#define CHOOSE(padding, sizes)                                                       \
  "= \"stablehlo.reduce_window\"(%a, %z) ({\n"                                       \
  "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"                                        \
  "  %c = stablehlo.compare GT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>\n" \
  "  %s = stablehlo.select %c, %x, %y : tensor<i1>, tensor<i32>\n"                   \
  "  stablehlo.return %s : tensor<i32>\n"                                            \
  "}) {window_dimensions = array<i64: " sizes ">, padding = dense<" padding          \
  "> : tensor<2x2xi64>} : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>\n"

// Running maxima by a body that is not a single op, along either dimension, from either end.
static void test_window_scan(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]]> : tensor<3x4xi32>\n"
      "%z = stablehlo.constant dense<2> : tensor<i32>\n"
      "%rows " CHOOSE("[[0, 0], [3, 0]]", "1, 4")
      "check.expect_eq_const %rows, dense<[[3, 3, 4, 4], [5, 9, 9, 9], [5, 5, 5, 8]]> : "
      "tensor<3x4xi32>\n"
      "%cols " CHOOSE("[[2, 0], [0, 0]]", "3, 1")
      "check.expect_eq_const %cols, dense<[[3, 2, 4, 2], [5, 9, 4, 6], [5, 9, 5, 8]]> : "
      "tensor<3x4xi32>\n"
      "%back " CHOOSE("[[0, 0], [0, 3]]", "1, 4")
      "check.expect_eq_const %back, dense<[[4, 4, 4, 2], [9, 9, 6, 6], [8, 8, 8, 8]]> : "
      "tensor<3x4xi32>\n"
      "%longer " CHOOSE("[[0, 0], [6, 0]]", "1, 7")
      "check.expect_eq_const %longer, dense<[[3, 3, 4, 4], [5, 9, 9, 9], [5, 5, 5, 8]]> : "
      "tensor<3x4xi32>\n");
}

static void test_window_longer_than_memory(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<40xi32>\n"
      "%z = stablehlo.constant dense<0> : tensor<i32>\n"
      "%r " WINDOW("add", "1099511627776", ", padding = dense<[[1099511627776, 0]]> : tensor<1x2xi64>",
                   "tensor<40xi32>", "tensor<41xi32>")
      "%last = stablehlo.slice %r [39:41] : (tensor<41xi32>) -> tensor<2xi32>\n"
      "check.expect_eq_const %last, dense<[741, 780]> : tensor<2xi32>\n");
}

static void test_window_any_body(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
      "%z = stablehlo.constant dense<0> : tensor<i32>\n"
      "%r " WINDOW("subtract", "2", ", window_dilations = array<i64: 2>", "tensor<4xi32>",
                   "tensor<2xi32>") "check.expect_eq_const %r, dense<[-4, -6]> : tensor<2xi32>\n");
}

static void test_select_and_scatter(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[1.0, 5.0, 2.0, 2.0], [3.0, 4.0, 7.0, 7.0]]> : "
      "tensor<2x4xf32>\n"
      "%g = stablehlo.constant dense<[[10.0, 20.0]]> : tensor<1x2xf32>\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%r = \"stablehlo.select_and_scatter\"(%a, %g, %z) ({\n"
      "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "  %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "  stablehlo.return %c : tensor<i1>\n"
      "}, {\n"
      "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "  %s = stablehlo.add %x, %y : tensor<f32>\n"
      "  stablehlo.return %s : tensor<f32>\n"
      "}) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>} : "
      "(tensor<2x4xf32>, tensor<1x2xf32>, tensor<f32>) -> tensor<2x4xf32>\n"
      "check.expect_eq_const %r, dense<[[0.0, 10.0, 0.0, 0.0], [0.0, 0.0, 20.0, 0.0]]> : "
      "tensor<2x4xf32>\n");
}

static void test_max_pooling(void** state) {
  (void)state;
  // windows that overlap, ties, NaN and out-of-bounds elements; f64 uses the general path
  hlo_test_expect_runs(
      "%i = stablehlo.iota dim = 0 : tensor<210xi32>\n"
      "%p = stablehlo.constant dense<37> : tensor<210xi32>\n"
      "%q = stablehlo.constant dense<11> : tensor<210xi32>\n"
      "%j = stablehlo.multiply %i, %p : tensor<210xi32>\n"
      "%k = stablehlo.remainder %j, %q : tensor<210xi32>\n"
      "%f = stablehlo.convert %k : (tensor<210xi32>) -> tensor<210xf32>\n"
      "%six = stablehlo.constant dense<6.0> : tensor<210xf32>\n"
      "%nan = stablehlo.constant dense<0x7FC00000> : tensor<210xf32>\n"
      "%is = stablehlo.compare EQ, %f, %six : (tensor<210xf32>, tensor<210xf32>) -> "
      "tensor<210xi1>\n"
      "%v = stablehlo.select %is, %nan, %f : tensor<210xi1>, tensor<210xf32>\n"
      "%a = stablehlo.reshape %v : (tensor<210xf32>) -> tensor<2x5x7x3xf32>\n"
      "%b = stablehlo.convert %a : (tensor<2x5x7x3xf32>) -> tensor<2x5x7x3xf64>\n"
      "%g = stablehlo.iota dim = 2 : tensor<2x3x4x3xf32>\n"
      "%h = stablehlo.convert %g : (tensor<2x3x4x3xf32>) -> tensor<2x3x4x3xf64>\n"
      "%z = stablehlo.constant dense<0.5> : tensor<f32>\n"
      "%y = stablehlo.constant dense<0.5> : tensor<f64>\n"
      "%r = \"stablehlo.select_and_scatter\"(%a, %g, %z) ({\n"
      "^bb0(%m: tensor<f32>, %n: tensor<f32>):\n"
      "  %c = stablehlo.compare GE, %m, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "  stablehlo.return %c : tensor<i1>\n"
      "}, {\n"
      "^bb0(%m: tensor<f32>, %n: tensor<f32>):\n"
      "  %s = stablehlo.add %m, %n : tensor<f32>\n"
      "  stablehlo.return %s : tensor<f32>\n"
      "}) {window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, "
      "padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>} : "
      "(tensor<2x5x7x3xf32>, tensor<2x3x4x3xf32>, tensor<f32>) -> tensor<2x5x7x3xf32>\n"
      "%t = \"stablehlo.select_and_scatter\"(%b, %h, %y) ({\n"
      "^bb0(%m: tensor<f64>, %n: tensor<f64>):\n"
      "  %c = stablehlo.compare GE, %m, %n : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
      "  stablehlo.return %c : tensor<i1>\n"
      "}, {\n"
      "^bb0(%m: tensor<f64>, %n: tensor<f64>):\n"
      "  %s = stablehlo.add %m, %n : tensor<f64>\n"
      "  stablehlo.return %s : tensor<f64>\n"
      "}) {window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, "
      "padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>} : "
      "(tensor<2x5x7x3xf64>, tensor<2x3x4x3xf64>, tensor<f64>) -> tensor<2x5x7x3xf64>\n"
      "%u = stablehlo.convert %t : (tensor<2x5x7x3xf64>) -> tensor<2x5x7x3xf32>\n"
      "check.expect_eq %r, %u : tensor<2x5x7x3xf32>\n");
}

static void test_sort_by_two_keys(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[2, 1, 2, 1, 2]> : tensor<5xi32>\n"
      "%b = stablehlo.constant dense<[0.0, 3.0, -0.0, 0x7FC00000, -1.0]> : tensor<5xf32>\n"
      "%i = stablehlo.iota dim = 0 : tensor<5xi8>\n"
      "%r:3 = \"stablehlo.sort\"(%a, %b, %i) ({\n"
      "^bb0(%a0: tensor<i32>, %a1: tensor<i32>, %b0: tensor<f32>, %b1: tensor<f32>, "
      "%c0: tensor<i8>, %c1: tensor<i8>):\n"
      "  %lt = stablehlo.compare LT, %a0, %a1 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  %eq = stablehlo.compare EQ, %a0, %a1 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  %gt = stablehlo.compare GT, %b0, %b1, TOTALORDER : (tensor<f32>, tensor<f32>) -> "
      "tensor<i1>\n"
      "  %and = stablehlo.and %eq, %gt : tensor<i1>\n"
      "  %or = stablehlo.or %lt, %and : tensor<i1>\n"
      "  stablehlo.return %or : tensor<i1>\n"
      "}) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>, tensor<5xf32>, tensor<5xi8>) "
      "-> (tensor<5xi32>, tensor<5xf32>, tensor<5xi8>)\n"
      "check.expect_eq_const %r#0, dense<[1, 1, 2, 2, 2]> : tensor<5xi32>\n"
      "check.expect_eq_const %r#2, dense<[3, 1, 0, 2, 4]> : tensor<5xi8>\n");
}

static void test_sort_any_comparator(void** state) {
  (void)state;
  // by the last digit, which is not a recognised key; along a dimension that is not the last
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[31, 1], [22, 3], [13, 2], [12, 0]]> : tensor<4x2xi32>\n"
      "%r = \"stablehlo.sort\"(%a) ({\n"
      "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
      "  %ten = stablehlo.constant dense<10> : tensor<i32>\n"
      "  %u = stablehlo.remainder %x, %ten : tensor<i32>\n"
      "  %v = stablehlo.remainder %y, %ten : tensor<i32>\n"
      "  %lt = stablehlo.compare LT, %u, %v : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  stablehlo.return %lt : tensor<i1>\n"
      "}) {dimension = 0 : i64, is_stable = true} : (tensor<4x2xi32>) -> tensor<4x2xi32>\n"
      "check.expect_eq_const %r, dense<[[31, 0], [22, 1], [12, 2], [13, 3]]> : tensor<4x2xi32>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reduce_dims),        cmocka_unit_test(test_reduce_short_rows),
      cmocka_unit_test(test_reduce_nan_wins),    cmocka_unit_test(test_reduce_zeros),
      cmocka_unit_test(test_window_long),        cmocka_unit_test(test_window_scan),
      cmocka_unit_test(test_window_any_body),    cmocka_unit_test(test_window_longer_than_memory),
      cmocka_unit_test(test_select_and_scatter), cmocka_unit_test(test_max_pooling),
      cmocka_unit_test(test_sort_by_two_keys),   cmocka_unit_test(test_sort_any_comparator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
