// SPDX-License-Identifier: Apache-2.0
// Data movement: slices, pads, transposes, broadcasts, gathers and scatters, with their corner
// cases.
#include "interp/ref_text_test_util.h"

static void test_reshape_keeps_what_others_hold(void** state) {
  (void)state;
  // the view of %a hlo_test_must not be overwritten in place while %a is still used, nor the other
  // way round
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<6xi32>\n"
      "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "%new = stablehlo.constant dense<-1> : tensor<1xi32>\n"
      "%new2 = stablehlo.constant dense<-2> : tensor<1x1xi32>\n"
      "%view = stablehlo.reshape %a : (tensor<6xi32>) -> tensor<2x3xi32>\n"
      "%view2 = stablehlo.reshape %view : (tensor<2x3xi32>) -> tensor<3x2xi32>\n"
      "%b = stablehlo.dynamic_update_slice %view, %new2, %zero, %zero : (tensor<2x3xi32>, "
      "tensor<1x1xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>\n"
      "%c = stablehlo.dynamic_update_slice %a, %new, %zero : (tensor<6xi32>, tensor<1xi32>, "
      "tensor<i32>) -> tensor<6xi32>\n"
      "check.expect_eq_const %view2, dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi32>\n"
      "check.expect_eq_const %b, dense<[[-2, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>\n"
      "check.expect_eq_const %c, dense<[-1, 1, 2, 3, 4, 5]> : tensor<6xi32>\n");
}

static void test_transpose(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<2048xi16>\n"
      "%m = stablehlo.reshape %a : (tensor<2048xi16>) -> tensor<32x64xi16>\n"
      "%t = stablehlo.transpose %m, dims = [1, 0] : (tensor<32x64xi16>) -> tensor<64x32xi16>\n"
      "%u = stablehlo.transpose %t, dims = [1, 0] : (tensor<64x32xi16>) -> tensor<32x64xi16>\n"
      "check.expect_eq %u, %m : tensor<32x64xi16>\n"
      "%corner = stablehlo.slice %t [62:64, 30:32] : (tensor<64x32xi16>) -> tensor<2x2xi16>\n"
      "check.expect_eq_const %corner, dense<[[1982, 2046], [1983, 2047]]> : tensor<2x2xi16>\n"
      "%x = stablehlo.reshape %a : (tensor<2048xi16>) -> tensor<4x8x64xi16>\n"
      "%y = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<4x8x64xi16>) -> tensor<64x4x8xi16>\n"
      "%z = stablehlo.transpose %y, dims = [1, 2, 0] : (tensor<64x4x8xi16>) -> tensor<4x8x64xi16>\n"
      "check.expect_eq %z, %x : tensor<4x8x64xi16>\n");
}

static void test_slice_pad_reverse(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>\n"
      "%z = stablehlo.constant dense<0> : tensor<i8>\n"
      "%s = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xi8>) -> tensor<2x2xi8>\n"
      "check.expect_eq_const %s, dense<[[1, 3], [4, 6]]> : tensor<2x2xi8>\n"
      "%p = stablehlo.pad %a, %z, low = [1, -1], high = [0, 1], interior = [1, 1] : "
      "(tensor<2x3xi8>, tensor<i8>) -> tensor<4x5xi8>\n"
      "check.expect_eq_const %p, dense<[[0, 0, 0, 0, 0], [0, 2, 0, 3, 0], [0, 0, 0, 0, 0], "
      "[0, 5, 0, 6, 0]]> : tensor<4x5xi8>\n"
      "%n = stablehlo.pad %a, %z, low = [-3, 0], high = [4, 0], interior = [0, 0] : "
      "(tensor<2x3xi8>, tensor<i8>) -> tensor<3x3xi8>\n"
      "check.expect_eq_const %n, dense<0> : tensor<3x3xi8>\n"
      "%r = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3xi8>\n"
      "check.expect_eq_const %r, dense<[[6, 5, 4], [3, 2, 1]]> : tensor<2x3xi8>\n");
}

static void test_dynamic_slices_clamp(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<5xf32>\n"
      "%far = stablehlo.constant dense<18446744073709551615> : tensor<ui64>\n"
      "%low = stablehlo.constant dense<-9223372036854775808> : tensor<i64>\n"
      "%s = stablehlo.dynamic_slice %a, %far, sizes = [2] : (tensor<5xf32>, tensor<ui64>) -> "
      "tensor<2xf32>\n"
      "check.expect_eq_const %s, dense<[3.0, 4.0]> : tensor<2xf32>\n"
      "%u = stablehlo.dynamic_update_slice %a, %s, %low : (tensor<5xf32>, tensor<2xf32>, "
      "tensor<i64>) -> tensor<5xf32>\n"
      "check.expect_eq_const %u, dense<[3.0, 4.0, 2.0, 3.0, 4.0]> : tensor<5xf32>\n");
}

static void test_gather_clamps(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<12xi32>\n"
      "%m = stablehlo.reshape %a : (tensor<12xi32>) -> tensor<4x3xi32>\n"
      "%i = stablehlo.constant dense<[[2], [-7], [9223372036854775807]]> : tensor<3x1xi64>\n"
      "%g = \"stablehlo.gather\"(%m, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
      "array<i64: 1, 2>} : (tensor<4x3xi32>, tensor<3x1xi64>) -> tensor<3x2xi32>\n"
      "check.expect_eq_const %g, dense<[[6, 7], [0, 1], [9, 10]]> : tensor<3x2xi32>\n");
}

static void test_scatter_drops_windows_that_are_partly_outside(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
      "%i = stablehlo.constant dense<[[3], [-9223372036854775808], [-1], [1], [1], "
      "[9223372036854775807]]> : tensor<6x1xi64>\n"
      "%u = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60], [1, 2], [1, 2], [70, 80]]> : "
      "tensor<6x2xi32>\n"
      "%s = \"stablehlo.scatter\"(%a, %i, %u) ({\n"
      "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
      "  %sum = stablehlo.add %x, %y : tensor<i32>\n"
      "  stablehlo.return %sum : tensor<i32>\n"
      "}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
      "inserted_window_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
      "(tensor<4xi32>, tensor<6x1xi64>, tensor<6x2xi32>) -> tensor<4xi32>\n"
      "check.expect_eq_const %s, dense<[1, 4, 7, 4]> : tensor<4xi32>\n"
      "check.expect_eq_const %a, dense<[1, 2, 3, 4]> : tensor<4xi32>\n");
}

#define BODY(op)                              \
  "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n" \
  "  %r = stablehlo." op                      \
  " %x, %y : tensor<f32>\n"                   \
  "  stablehlo.return %r : tensor<f32>\n"
#define KEEP                                  \
  "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n" \
  "  stablehlo.return %y : tensor<f32>\n"
#define SCATTER(body, window, operand, updates)                \
  "\"stablehlo.scatter\"(%a, %i, %u) ({\n" body                \
  "}) {scatter_dimension_numbers = #stablehlo.scatter<" window \
  "index_vector_dim = 1>} : (" operand ", tensor<4x2xi32>, " updates ") -> " operand "\n"

// Index vectors of two components, single elements, repeated and out of bounds.
static void test_scatter_elements(void** state) {
  (void)state;
#define ELEMENTS                                                                            \
  "%a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>\n" \
  "%i = stablehlo.constant dense<[[1, 1], [0, 2], [1, 1], [-1, 0]]> : tensor<4x2xi32>\n"    \
  "%u = stablehlo.constant dense<[10.0, 20.0, 0.5, 40.0]> : tensor<4xf32>\n"
#define SINGLE "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], "
  hlo_test_expect_runs(ELEMENTS "%s = " SCATTER(
      BODY("add"), SINGLE, "tensor<3x2xf32>",
      "tensor<4xf32>") "check.expect_eq_const %s, dense<[[1.0, 2.0], [3.0, 14.5], [5.0, 6.0]]> : "
                       "tensor<3x2xf32>\n");
  hlo_test_expect_runs(ELEMENTS "%s = " SCATTER(
      BODY("maximum"), SINGLE, "tensor<3x2xf32>",
      "tensor<4xf32>") "check.expect_eq_const %s, dense<[[1.0, 2.0], [3.0, 10.0], [5.0, 6.0]]> : "
                       "tensor<3x2xf32>\n");
  hlo_test_expect_runs(ELEMENTS "%s = " SCATTER(
      KEEP, SINGLE, "tensor<3x2xf32>",
      "tensor<4xf32>") "check.expect_eq_const %s, dense<[[1.0, 2.0], [3.0, 0.5], [5.0, 6.0]]> : "
                       "tensor<3x2xf32>\n");
}

// Runs of two elements that begin at [row, column]; a run that is partly out of bounds is dropped.
static void test_scatter_runs(void** state) {
  (void)state;
#define RUNS                                                                             \
  "%a = stablehlo.constant dense<0.0> : tensor<2x3xf32>\n"                               \
  "%i = stablehlo.constant dense<[[0, 1], [1, 2], [1, -1], [0, 1]]> : tensor<4x2xi32>\n" \
  "%u = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : "   \
  "tensor<4x2xf32>\n"
#define RUN \
  "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], "
  hlo_test_expect_runs(RUNS "%s = " SCATTER(
      BODY("add"), RUN, "tensor<2x3xf32>",
      "tensor<4x2xf32>") "check.expect_eq_const %s, dense<[[0.0, 8.0, 10.0], [0.0, 0.0, 0.0]]> : "
                         "tensor<2x3xf32>\n");
  hlo_test_expect_runs(RUNS "%s = " SCATTER(
      KEEP, RUN, "tensor<2x3xf32>",
      "tensor<4x2xf32>") "check.expect_eq_const %s, dense<[[0.0, 7.0, 8.0], [0.0, 0.0, 0.0]]> : "
                         "tensor<2x3xf32>\n");
}

// Indices along a batching dimension of the operand: the first one, the last one, with windows.
static void test_shared_dimensions(void** state) {
  (void)state;
#define SHARED(operand, window, updates)                                                          \
  "%s = \"stablehlo.scatter\"(%a, %i, %u) ({\n" BODY(                                             \
      "add") "}) {scatter_dimension_numbers = #stablehlo.scatter<" window                         \
             "index_vector_dim = 2>} : (" operand ", tensor<2x2x1xi32>, " updates ") -> " operand \
             "\n"
#define INDICES "%i = stablehlo.constant dense<[[[2], [0]], [[2], [-1]]]> : tensor<2x2x1xi32>\n"
  hlo_test_expect_runs("%a = stablehlo.constant dense<1.0> : tensor<2x3xf32>\n" INDICES
              "%u = stablehlo.constant dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf32>\n"
              SHARED("tensor<2x3xf32>", "inserted_window_dims = [1], input_batching_dims = [0], "
                     "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], ",
                     "tensor<2x2xf32>")
              "check.expect_eq_const %s, dense<[[21.0, 1.0, 11.0], [1.0, 1.0, 31.0]]> : "
              "tensor<2x3xf32>\n");
  hlo_test_expect_runs("%a = stablehlo.constant dense<1.0> : tensor<3x2xf32>\n" INDICES
              "%u = stablehlo.constant dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf32>\n"
              SHARED("tensor<3x2xf32>", "inserted_window_dims = [0], input_batching_dims = [1], "
                     "scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], ",
                     "tensor<2x2xf32>")
              "check.expect_eq_const %s, dense<[[1.0, 21.0], [1.0, 1.0], [41.0, 1.0]]> : "
              "tensor<3x2xf32>\n");
  hlo_test_expect_runs("%a = stablehlo.constant dense<1.0> : tensor<2x3x2xf32>\n" INDICES
              "%u = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> "
              ": tensor<2x2x2xf32>\n"
              SHARED("tensor<2x3x2xf32>", "update_window_dims = [2], inserted_window_dims = [1], "
                     "input_batching_dims = [0], scatter_indices_batching_dims = [0], "
                     "scatter_dims_to_operand_dims = [1], ", "tensor<2x2x2xf32>")
              "check.expect_eq_const %s, dense<[[[4.0, 5.0], [1.0, 1.0], [2.0, 3.0]], [[1.0, 1.0], "
              "[1.0, 1.0], [6.0, 7.0]]]> : tensor<2x3x2xf32>\n");
  hlo_test_expect_runs(
      "%n = stablehlo.iota dim = 0 : tensor<12xi32>\n"
      "%a = stablehlo.reshape %n : (tensor<12xi32>) -> tensor<2x3x2xi32>\n" INDICES
      "%g = \"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims "
      "= [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
      "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, "
      "slice_sizes = array<i64: 1, 1, 2>} : (tensor<2x3x2xi32>, tensor<2x2x1xi32>) -> "
      "tensor<2x2x2xi32>\n"
      "check.expect_eq_const %g, dense<[[[4, 5], [0, 1]], [[10, 11], [6, 7]]]> : "
      "tensor<2x2x2xi32>\n");
}

// An index out of bounds in its dimension does not reach the next row.
static void test_scatter_stays_in_its_dimension(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<1> : tensor<2x3xi32>\n"
      "%i = stablehlo.constant dense<[[2], [3], [4], [-1]]> : tensor<4x1xi32>\n"
      "%u = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>\n"
      "%s = \"stablehlo.scatter\"(%a, %i, %u) ({\n"
      "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
      "  %r = stablehlo.add %x, %y : tensor<i32>\n"
      "  stablehlo.return %r : tensor<i32>\n"
      "}) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], "
      "scatter_dims_to_operand_dims = [1], index_vector_dim = 1>} : "
      "(tensor<2x3xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<2x3xi32>\n"
      "check.expect_eq_const %s, dense<[[1, 1, 11], [1, 1, 1]]> : tensor<2x3xi32>\n");
}

static void test_gather_elements(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<12xi32>\n"
      "%m = stablehlo.reshape %a : (tensor<12xi32>) -> tensor<4x3xi32>\n"
      "%i = stablehlo.constant dense<[[2, 1], [-7, 2], [9, 9], [0, 0]]> : tensor<4x2xi8>\n"
      "%g = \"stablehlo.gather\"(%m, %i) {dimension_numbers = #stablehlo.gather<"
      "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, "
      "slice_sizes = array<i64: 1, 1>} : (tensor<4x3xi32>, tensor<4x2xi8>) -> tensor<4xi32>\n"
      "check.expect_eq_const %g, dense<[7, 2, 11, 0]> : tensor<4xi32>\n"
      "%j = stablehlo.constant dense<[1, 250, 3]> : tensor<3xui8>\n"
      "%h = \"stablehlo.gather\"(%m, %j) {dimension_numbers = #stablehlo.gather<"
      "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = "
      "1>, "
      "slice_sizes = array<i64: 1, 3>} : (tensor<4x3xi32>, tensor<3xui8>) -> tensor<3x3xi32>\n"
      "check.expect_eq_const %h, dense<[[3, 4, 5], [9, 10, 11], [9, 10, 11]]> : "
      "tensor<3x3xi32>\n");
}

static void test_dynamic_shapes(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>\n"
      "%i = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi64>) -> tensor<2x3xbf16>\n"
      "check.expect_eq_const %i, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xbf16>\n"
      "%one = stablehlo.constant dense<7> : tensor<1xi32>\n"
      "%b = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [0] : (tensor<1xi32>, "
      "tensor<2xi64>) -> tensor<2x3xi32>\n"
      "check.expect_eq_const %b, dense<7> : tensor<2x3xi32>\n");
}

static void test_empty_tensors(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<> : tensor<0x3xf32>\n"
      "%z = stablehlo.constant dense<2.0> : tensor<f32>\n"
      "%t = stablehlo.transpose %a, dims = [1, 0] : (tensor<0x3xf32>) -> tensor<3x0xf32>\n"
      "%c = stablehlo.concatenate %a, %a, dim = 0 : (tensor<0x3xf32>, tensor<0x3xf32>) -> "
      "tensor<0x3xf32>\n"
      "%p = stablehlo.pad %a, %z, low = [1, 0], high = [0, 0], interior = [4, 0] : "
      "(tensor<0x3xf32>, tensor<f32>) -> tensor<1x3xf32>\n"
      "check.expect_eq_const %p, dense<2.0> : tensor<1x3xf32>\n"
      "%d = stablehlo.dot_general %t, %a, contracting_dims = [1] x [0] : (tensor<3x0xf32>, "
      "tensor<0x3xf32>) -> tensor<3x3xf32>\n"
      "check.expect_eq_const %d, dense<0.0> : tensor<3x3xf32>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reshape_keeps_what_others_hold),
      cmocka_unit_test(test_transpose),
      cmocka_unit_test(test_slice_pad_reverse),
      cmocka_unit_test(test_dynamic_slices_clamp),
      cmocka_unit_test(test_gather_clamps),
      cmocka_unit_test(test_scatter_drops_windows_that_are_partly_outside),
      cmocka_unit_test(test_scatter_elements),
      cmocka_unit_test(test_scatter_runs),
      cmocka_unit_test(test_shared_dimensions),
      cmocka_unit_test(test_scatter_stays_in_its_dimension),
      cmocka_unit_test(test_gather_elements),
      cmocka_unit_test(test_dynamic_shapes),
      cmocka_unit_test(test_empty_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
