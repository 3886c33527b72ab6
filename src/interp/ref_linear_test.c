// SPDX-License-Identifier: Apache-2.0
// Contractions, convolutions, transforms and factorisations.
#include "interp/ref_text_test_util.h"

static void test_dot_general_any_dims(void** state) {
  (void)state;
  // batch dims in the middle, two contracting dims in different orders, and strides that need
  // packing
  hlo_test_expect_runs(
      "%a = stablehlo.iota dim = 0 : tensor<24xi32>\n"
      "%l = stablehlo.reshape %a : (tensor<24xi32>) -> tensor<2x3x4xi32>\n"
      "%r = stablehlo.reshape %a : (tensor<24xi32>) -> tensor<4x3x2xi32>\n"
      "%d = stablehlo.dot_general %l, %r, batching_dims = [1] x [1], contracting_dims = [0, 2] x "
      "[2, 0] : (tensor<2x3x4xi32>, tensor<4x3x2xi32>) -> tensor<3xi32>\n"
      "check.expect_eq_const %d, dense<[654, 1142, 1758]> : tensor<3xi32>\n"
      "%o = stablehlo.dot_general %l, %r, contracting_dims = [2] x [0] : (tensor<2x3x4xi32>, "
      "tensor<4x3x2xi32>) -> tensor<2x3x3x2xi32>\n"
      "%c = stablehlo.slice %o [1:2, 2:3, 2:3, 0:2] : (tensor<2x3x3x2xi32>) -> "
      "tensor<1x1x1x2xi32>\n"
      "check.expect_eq_const %c, dense<[[[[1148, 1234]]]]> : tensor<1x1x1x2xi32>\n");
}

static void test_dot_element_types(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%b = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>\n"
      "%wide = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<3xi8>, "
      "tensor<3xi8>) -> tensor<i32>\n"
      "check.expect_eq_const %wide, dense<30000> : tensor<i32>\n"
      "%wraps = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<3xi8>, "
      "tensor<3xi8>) -> tensor<i8>\n"
      "check.expect_eq_const %wraps, dense<48> : tensor<i8>\n"
      "%p = stablehlo.constant dense<[true, false]> : tensor<2xi1>\n"
      "%and_or = stablehlo.dot_general %p, %p, contracting_dims = [0] x [0] : (tensor<2xi1>, "
      "tensor<2xi1>) -> tensor<i1>\n"
      "check.expect_eq_const %and_or, dense<true> : tensor<i1>\n"
      "%c = stablehlo.constant dense<[(1.0, 2.0), (3.0, -1.0)]> : tensor<2xcomplex<f32>>\n"
      "%z = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<2xcomplex<f32>>, "
      "tensor<2xcomplex<f32>>) -> tensor<complex<f32>>\n"
      "check.expect_eq_const %z, dense<(5.0, -2.0)> : tensor<complex<f32>>\n"
      "%h = stablehlo.constant dense<1.0> : tensor<1000xbf16>\n"
      "%long = stablehlo.dot_general %h, %h, contracting_dims = [0] x [0] : (tensor<1000xbf16>, "
      "tensor<1000xbf16>) -> tensor<bf16>\n"
      "check.expect_eq_const %long, dense<1000.0> : tensor<bf16>\n");
}

#define PRODUCT(x, y, precision, sum, products, lhs, rhs, out)                               \
  "stablehlo.dot_general " x ", " y                                                          \
  ", contracting_dims = [0] x [0], algorithm = "                                             \
  "<lhs_precision_type = " precision ", rhs_precision_type = " precision                     \
  ", accumulation_type = " sum                                                               \
  ", lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = " products \
  ", allow_imprecise_accumulation = false> : (" lhs ", " rhs ") -> " out "\n"
#define SQUARE(x, precision, sum, products, type, out) \
  PRODUCT(x, x, precision, sum, products, type, type, out)

static void test_dot_algorithms(void** state) {
  (void)state;
  // 1 + 2^-8, 1 + 2^-12 and 1 + 2^-40 are between two bf16, f16 and f32 values.
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<1.00390625> : tensor<1xf32>\n"
      "%one = stablehlo.constant dense<1.0> : tensor<1xf32>\n"
      "%0 = " SQUARE("%a", "bf16", "f32", "1", "tensor<1xf32>", "tensor<f32>")
      "check.expect_eq_const %0, dense<1.0> : tensor<f32>\n"
      "%1 = " PRODUCT("%a", "%one", "bf16", "f32", "3", "tensor<1xf32>", "tensor<1xf32>",
                      "tensor<f32>")
      "check.expect_eq_const %1, dense<1.00390625> : tensor<f32>\n"
      "%b = stablehlo.constant dense<1.000244140625> : tensor<1xf32>\n"
      "%2 = " SQUARE("%b", "f16", "f32", "1", "tensor<1xf32>", "tensor<f32>")
      "check.expect_eq_const %2, dense<1.0> : tensor<f32>\n"
      "%3 = " PRODUCT("%b", "%one", "tf32", "f32", "1", "tensor<1xf32>", "tensor<1xf32>",
                      "tensor<f32>")
      "check.expect_eq_const %3, dense<1.000244140625> : tensor<f32>\n"
      "%c = stablehlo.constant dense<1.0000000000009094947> : tensor<1xf64>\n"
      "%4 = " SQUARE("%c", "f32", "f32", "1", "tensor<1xf64>", "tensor<f64>")
      "check.expect_eq_const %4, dense<1.0> : tensor<f64>\n"
      "%5 = " SQUARE("%b", "f64", "f64", "1", "tensor<1xf32>", "tensor<f64>")
      "check.expect_eq_const %5, dense<1.000488340854644775390625> : tensor<f64>\n");
}

static void test_dot_algorithm_sums(void** state) {
  (void)state;
  // 2049 and 257 are between two f16 and bf16 values.
  hlo_test_expect_runs(
      "%one = stablehlo.constant dense<1.0> : tensor<2xf32>\n"
      "%h = stablehlo.constant dense<[2048.0, 1.0]> : tensor<2xf32>\n"
      "%0 = " PRODUCT("%h", "%one", "f16", "f16", "1", "tensor<2xf32>", "tensor<2xf32>",
                      "tensor<f32>")
      "check.expect_eq_const %0, dense<2048.0> : tensor<f32>\n"
      "%1 = " PRODUCT("%h", "%one", "f16", "f32", "1", "tensor<2xf32>", "tensor<2xf32>",
                      "tensor<f32>")
      "check.expect_eq_const %1, dense<2049.0> : tensor<f32>\n"
      "%b = stablehlo.constant dense<[256.0, 1.0]> : tensor<2xf32>\n"
      "%2 = " PRODUCT("%b", "%one", "bf16", "bf16", "1", "tensor<2xf32>", "tensor<2xf32>",
                      "tensor<f32>")
      "check.expect_eq_const %2, dense<256.0> : tensor<f32>\n"
      "%3 = " PRODUCT("%b", "%one", "bf16", "f32", "1", "tensor<2xf32>", "tensor<2xf32>",
                      "tensor<bf16>")
      "check.expect_eq_const %3, dense<256.0> : tensor<bf16>\n"
      "%i = stablehlo.constant dense<[0x7F800000, 1.0]> : tensor<2xf32>\n"
      "%z = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf32>\n"
      "%4 = " PRODUCT("%i", "%z", "bf16", "f32", "6", "tensor<2xf32>", "tensor<2xf32>",
                      "tensor<f32>")
      "check.expect_eq_const %4, dense<0x7F800000> : tensor<f32>\n"
      "%e = stablehlo.constant dense<[1.5, 3.0]> : tensor<2xf8E5M2>\n"
      "%5 = " SQUARE("%e", "f8E5M2", "f32", "1", "tensor<2xf8E5M2>", "tensor<f32>")
      "check.expect_eq_const %5, dense<11.25> : tensor<f32>\n");
}

static void test_einsum(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
      "%d = \"stablehlo.unary_einsum\"(%a) {einsum_config = \"ii->i\"} : (tensor<2x2xi32>) -> "
      "tensor<2xi32>\n"
      "check.expect_eq_const %d, dense<[1, 4]> : tensor<2xi32>\n"
      "%s = \"stablehlo.einsum\"(%a, %a) {einsum_config = \"ab,cb->ca\"} : (tensor<2x2xi32>, "
      "tensor<2x2xi32>) -> tensor<2x2xi32>\n"
      "check.expect_eq_const %s, dense<[[5, 11], [11, 25]]> : tensor<2x2xi32>\n"
      "%t = \"stablehlo.einsum\"(%a, %a) {einsum_config = \"ab,cd->d\"} : (tensor<2x2xi32>, "
      "tensor<2x2xi32>) -> tensor<2xi32>\n"
      "check.expect_eq_const %t, dense<[40, 60]> : tensor<2xi32>\n");
}

static void test_ragged_dot(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%l = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>\n"
      "%r = stablehlo.constant dense<[[[1.0], [1.0]], [[10.0], [100.0]]]> : tensor<2x2x1xf32>\n"
      "%g = stablehlo.constant dense<[1, 1]> : tensor<2xi32>\n"
      "%d = \"chlo.ragged_dot\"(%l, %r, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<"
      "lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = "
      "[1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = "
      "[0]>} : (tensor<3x2xf32>, tensor<2x2x1xf32>, tensor<2xi32>) -> tensor<3x1xf32>\n"
      "check.expect_eq_const %d, dense<[[3.0], [430.0], [0.0]]> : tensor<3x1xf32>\n");
}

#define CONV(window, more, lhs, rhs, out)                                                         \
  "stablehlo.convolution(%l, %r) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {" window \
  "} {" more "} : (" lhs ", " rhs ") -> " out "\n"

static void test_convolution(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%l = stablehlo.constant dense<[[[1], [2], [3], [4]]]> : tensor<1x4x1xi32>\n"
      "%r = stablehlo.constant dense<[[[1]], [[10]]]> : tensor<2x1x1xi32>\n"
      "%a = " CONV("stride = [1], pad = [[1, 0]]",
                   "batch_group_count = 1 : i64, feature_group_count = 1 : i64",
                   "tensor<1x4x1xi32>", "tensor<2x1x1xi32>", "tensor<1x4x1xi32>")
      "check.expect_eq_const %a, dense<[[[10], [21], [32], [43]]]> : tensor<1x4x1xi32>\n"
      "%b = " CONV("stride = [2], pad = [[0, 0]], lhs_dilate = [2], rhs_dilate = [2], reverse = "
                   "[true]",
                   "batch_group_count = 1 : i64, feature_group_count = 1 : i64",
                   "tensor<1x4x1xi32>", "tensor<2x1x1xi32>", "tensor<1x3x1xi32>")
      "check.expect_eq_const %b, dense<[[[12], [23], [34]]]> : tensor<1x3x1xi32>\n");
}

static void test_grouped_convolution(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%l = stablehlo.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>\n"
      "%r = stablehlo.constant dense<[[[10.0, 100.0]]]> : tensor<1x1x2xf32>\n"
      "%a = " CONV("stride = [1]", "batch_group_count = 1 : i64, feature_group_count = 2 : i64",
                   "tensor<2x1x2xf32>", "tensor<1x1x2xf32>", "tensor<2x1x2xf32>")
      "check.expect_eq_const %a, dense<[[[10.0, 200.0]], [[30.0, 400.0]]]> : tensor<2x1x2xf32>\n"
      "%k = stablehlo.constant dense<[[[1.0, 10.0], [100.0, 1000.0]]]> : tensor<1x2x2xf32>\n"
      "%b = stablehlo.convolution(%l, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = "
      "{} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x1x2xf32>, "
      "tensor<1x2x2xf32>) -> tensor<1x1x2xf32>\n"
      "check.expect_eq_const %b, dense<[[[201.0, 4030.0]]]> : tensor<1x1x2xf32>\n");
}

// Compares narrow transforms of powers of two with the same in double.
#define NARROW_FFT(type, in_narrow, in_wide, out_narrow, out_wide)                                \
  "%wide_in = stablehlo.convert %x : (" in_narrow ") -> " in_wide                                 \
  "\n"                                                                                            \
  "%wide = stablehlo.fft %wide_in, type = " type ", length = [4, 8] : (" in_wide ") -> " out_wide \
  "\n"                                                                                            \
  "%narrow = stablehlo.fft %x, type = " type ", length = [4, 8] : (" in_narrow ") -> " out_narrow \
  "\n"                                                                                            \
  "%want = stablehlo.convert %wide : (" out_wide ") -> " out_narrow                               \
  "\n"                                                                                            \
  "check.expect_almost_eq %narrow, %want : " out_narrow "\n"

static void test_fft_narrow(void** state) {
  (void)state;
#define REAL_INPUT(dims)                           \
  "%i = stablehlo.iota dim = 0 : tensor<96xf32>\n" \
  "%s = stablehlo.sine %i : tensor<96xf32>\n"      \
  "%part = stablehlo.slice %s [0:" dims "] : (tensor<96xf32>) -> tensor<" dims "xf32>\n"
  hlo_test_expect_runs(
      REAL_INPUT(
          "64") "%x = stablehlo.reshape %part : (tensor<64xf32>) -> tensor<2x4x8xf32>\n" NARROW_FFT("RFFT",
                                                                                                    "tensor<2x4x8xf32>",
                                                                                                    "tensor<2x4x8xf64>",
                                                                                                    "tensor<2x4x5xcomplex<f32>>",
                                                                                                    "tensor<2x4x5xcomplex<f64>>"));
#define COMPLEX_INPUT(dims, shape)                                                  \
  REAL_INPUT(dims)                                                                  \
  "%back = stablehlo.reverse %part, dims = [0] : tensor<" dims                      \
  "xf32>\n"                                                                         \
  "%flat = stablehlo.complex %part, %back : tensor<" dims                           \
  "xcomplex<f32>>\n"                                                                \
  "%x = stablehlo.reshape %flat : (tensor<" dims "xcomplex<f32>>) -> tensor<" shape \
  "xcomplex<f32>>\n"
  hlo_test_expect_runs(COMPLEX_INPUT("64", "2x4x8") NARROW_FFT(
      "FFT", "tensor<2x4x8xcomplex<f32>>", "tensor<2x4x8xcomplex<f64>>",
      "tensor<2x4x8xcomplex<f32>>", "tensor<2x4x8xcomplex<f64>>"));
  hlo_test_expect_runs(COMPLEX_INPUT("64", "2x4x8") NARROW_FFT(
      "IFFT", "tensor<2x4x8xcomplex<f32>>", "tensor<2x4x8xcomplex<f64>>",
      "tensor<2x4x8xcomplex<f32>>", "tensor<2x4x8xcomplex<f64>>"));
  hlo_test_expect_runs(COMPLEX_INPUT("60", "3x4x5") NARROW_FFT(
      "IRFFT", "tensor<3x4x5xcomplex<f32>>", "tensor<3x4x5xcomplex<f64>>", "tensor<3x4x8xf32>",
      "tensor<3x4x8xf64>"));
}

static void test_fft(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>\n"
      "%f = stablehlo.fft %a, type = RFFT, length = [5] : (tensor<5xf32>) -> "
      "tensor<3xcomplex<f32>>\n"
      "check.expect_almost_eq_const %f, dense<[(15.0, 0.0), (-2.5, 3.4409548), (-2.5, "
      "0.81229925)]> "
      ": tensor<3xcomplex<f32>>\n"
      "%b = stablehlo.fft %f, type = IRFFT, length = [5] : (tensor<3xcomplex<f32>>) -> "
      "tensor<5xf32>\n"
      "check.expect_almost_eq %b, %a : tensor<5xf32>\n");
}

// More planes than are transformed together: each equals its transform alone, and the inverse
// restores the input.
static void test_fft_planes(void** state) {
  (void)state;
#define KEPT "129xcomplex<f64>>"
  hlo_test_expect_runs(
      "%i = stablehlo.iota dim = 0 : tensor<983040xf64>\n"
      "%s = stablehlo.sine %i : tensor<983040xf64>\n"
      "%x = stablehlo.reshape %s : (tensor<983040xf64>) -> tensor<15x256x256xf64>\n"
      "%f = stablehlo.fft %x, type = RFFT, length = [256, 256] : (tensor<15x256x256xf64>) -> "
      "tensor<15x256x" KEPT
      "\n"
      "%last = stablehlo.slice %x [14:15, 0:256, 0:256] : (tensor<15x256x256xf64>) -> "
      "tensor<1x256x256xf64>\n"
      "%alone = stablehlo.fft %last, type = RFFT, length = [256, 256] : (tensor<1x256x256xf64>) -> "
      "tensor<1x256x" KEPT
      "\n"
      "%among = stablehlo.slice %f [14:15, 0:256, 0:129] : (tensor<15x256x" KEPT
      ") -> tensor<1x256x" KEPT
      "\n"
      "check.expect_eq %among, %alone : tensor<1x256x" KEPT
      "\n"
      "%b = stablehlo.fft %f, type = IRFFT, length = [256, 256] : (tensor<15x256x" KEPT
      ") -> tensor<15x256x256xf64>\n"
      "check.expect_almost_eq %b, %x : tensor<15x256x256xf64>\n"
      "%cube = stablehlo.fft %x, type = RFFT, length = [15, 256, 256] : (tensor<15x256x256xf64>) "
      "-> "
      "tensor<15x256x" KEPT
      "\n"
      "%c = stablehlo.fft %cube, type = IRFFT, length = [15, 256, 256] : (tensor<15x256x" KEPT
      ") -> tensor<15x256x256xf64>\n"
      "check.expect_almost_eq %c, %x : tensor<15x256x256xf64>\n");
}

static void test_factorisations(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[4.0, 99.0], [2.0, 5.0]]> : tensor<2x2xf64>\n"
      "%l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>\n"
      "check.expect_eq_const %l, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf64>\n"
      "%b = stablehlo.constant dense<[[2.0], [5.0]]> : tensor<2x1xf64>\n"
      "%x = \"stablehlo.triangular_solve\"(%l, %b) {left_side = true, lower = true, unit_diagonal "
      "= false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf64>, "
      "tensor<2x1xf64>) -> tensor<2x1xf64>\n"
      "check.expect_eq_const %x, dense<[[1.0], [2.0]]> : tensor<2x1xf64>\n"
      "%y = \"stablehlo.triangular_solve\"(%l, %b) {left_side = true, lower = true, unit_diagonal "
      "= true, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<2x2xf64>, "
      "tensor<2x1xf64>) -> tensor<2x1xf64>\n"
      "check.expect_eq_const %y, dense<[[-3.0], [5.0]]> : tensor<2x1xf64>\n"
      "%bad = stablehlo.constant dense<[[1.0, 0.0], [2.0, 1.0]]> : tensor<2x2xf64>\n"
      "%n = stablehlo.cholesky %bad, lower = true : tensor<2x2xf64>\n"
      "%ne = stablehlo.compare NE, %n, %n : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xi1>\n"
      "check.expect_eq_const %ne, dense<true> : tensor<2x2xi1>\n");
}

static void test_batch_norm(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[1.0, 10.0], [3.0, 30.0]]> : tensor<2x2xf32>\n"
      "%s = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
      "%o = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>\n"
      "%r:3 = \"stablehlo.batch_norm_training\"(%a, %s, %o) {epsilon = 0.0 : f32, feature_index = "
      "1 "
      ": i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, "
      "tensor<2xf32>, tensor<2xf32>)\n"
      "check.expect_almost_eq_const %r#0, dense<[[-1.0, -1.0], [1.0, 3.0]]> : tensor<2x2xf32>\n"
      "check.expect_almost_eq_const %r#1, dense<[2.0, 20.0]> : tensor<2xf32>\n"
      "check.expect_almost_eq_const %r#2, dense<[1.0, 100.0]> : tensor<2xf32>\n"
      "%g:3 = \"stablehlo.batch_norm_grad\"(%a, %s, %r#1, %r#2, %a) {epsilon = 0.0 : f32, "
      "feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, "
      "tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)\n"
      "check.expect_almost_eq_const %g#0, dense<0.0> : tensor<2x2xf32>\n"
      "check.expect_almost_eq_const %g#1, dense<[2.0, 20.0]> : tensor<2xf32>\n"
      "check.expect_almost_eq_const %g#2, dense<[4.0, 40.0]> : tensor<2xf32>\n");
}

static void test_top_k(void** state) {
  (void)state;
  hlo_test_expect_runs(
      "%a = stablehlo.constant dense<[[3, 9, 9], [-1, -3, -2]]> : tensor<2x3xi16>\n"
      "%v, %i = chlo.top_k(%a, k = 2) : tensor<2x3xi16> -> (tensor<2x2xi16>, tensor<2x2xi32>)\n"
      "check.expect_eq_const %v, dense<[[9, 9], [-1, -2]]> : tensor<2x2xi16>\n"
      "check.expect_eq_const %i, dense<[[1, 2], [0, 2]]> : tensor<2x2xi32>\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dot_general_any_dims),
      cmocka_unit_test(test_dot_element_types),
      cmocka_unit_test(test_dot_algorithms),
      cmocka_unit_test(test_dot_algorithm_sums),
      cmocka_unit_test(test_einsum),
      cmocka_unit_test(test_ragged_dot),
      cmocka_unit_test(test_convolution),
      cmocka_unit_test(test_grouped_convolution),
      cmocka_unit_test(test_fft),
      cmocka_unit_test(test_fft_narrow),
      cmocka_unit_test(test_fft_planes),
      cmocka_unit_test(test_factorisations),
      cmocka_unit_test(test_batch_norm),
      cmocka_unit_test(test_top_k),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
