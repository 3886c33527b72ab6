// SPDX-License-Identifier: Apache-2.0
// Compares kernels with the reference (kernel_test_util.h): elementwise ops and data movement.
#include "codegen/loops/kernel_test_util.h"

static void test_elementwise(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<7x13xf16>, %b: tensor<7x13xf16>) -> tensor<7x13xf16> {\n"
      "%0 = stablehlo.add %a, %b : tensor<7x13xf16>\n"
      "%1 = stablehlo.multiply %0, %a : tensor<7x13xf16>\n"
      "%2 = stablehlo.subtract %1, %b : tensor<7x13xf16>\n"
      "%3 = stablehlo.maximum %2, %0 : tensor<7x13xf16>\n"
      "%4 = stablehlo.divide %3, %1 : tensor<7x13xf16>\n"
      "%5 = stablehlo.sqrt %4 : tensor<7x13xf16>\n"
      "return %5 : tensor<7x13xf16>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<7x13xf32>, %b: tensor<7x13xf32>) -> tensor<7x13xf32> {\n"
      "%0 = stablehlo.add %a, %b : tensor<7x13xf32>\n"
      "%1 = stablehlo.multiply %0, %a : tensor<7x13xf32>\n"
      "return %1 : tensor<7x13xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<100xi32>, %b: tensor<100xi32>) -> (tensor<100xi1>, "
      "tensor<100xi32>) {\n"
      "%0 = stablehlo.compare LT, %a, %b : (tensor<100xi32>, tensor<100xi32>) -> tensor<100xi1>\n"
      "%1 = stablehlo.select %0, %a, %b : tensor<100xi1>, tensor<100xi32>\n"
      "return %0, %1 : tensor<100xi1>, tensor<100xi32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x11xbf16>, %b: tensor<11xf32>) -> tensor<5x11xf32> {\n"
      "%0 = stablehlo.convert %a : (tensor<5x11xbf16>) -> tensor<5x11xf32>\n"
      "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<11xf32>) -> tensor<5x11xf32>\n"
      "%2 = stablehlo.multiply %0, %1 : tensor<5x11xf32>\n"
      "return %2 : tensor<5x11xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<61xf32>, %b: tensor<61xi64>) -> (tensor<61xf32>, tensor<61xf64>, "
      "tensor<61xui8>) {\n"
      "%c = stablehlo.constant dense<-2147483648> : tensor<61xi32>\n"
      "%0 = stablehlo.bitcast_convert %a : (tensor<61xf32>) -> tensor<61xi32>\n"
      "%1 = stablehlo.xor %0, %c : tensor<61xi32>\n"
      "%2 = stablehlo.bitcast_convert %1 : (tensor<61xi32>) -> tensor<61xf32>\n"
      "%3 = stablehlo.bitcast_convert %b : (tensor<61xi64>) -> tensor<61xf64>\n"
      "%4 = stablehlo.convert %0 : (tensor<61xi32>) -> tensor<61xi8>\n"
      "%5 = stablehlo.bitcast_convert %4 : (tensor<61xi8>) -> tensor<61xui8>\n"
      "return %2, %3, %5 : tensor<61xf32>, tensor<61xf64>, tensor<61xui8>\n}",
      0, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
      "%c = stablehlo.constant dense<2.0> : tensor<f32>\n"
      "%0 = stablehlo.multiply %a, %c : tensor<f32>\n"
      "return %0 : tensor<f32>\n}",
      1, 0);
}

static void test_movement(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<6x10x4xf32>) -> tensor<4x6x10xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<6x10x4xf32>) -> tensor<4x6x10xf32>\n"
      "%1 = stablehlo.add %0, %0 : tensor<4x6x10xf32>\n"
      "return %1 : tensor<4x6x10xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<6x20xf32>) -> tensor<4x5x6xf32> {\n"
      "%0 = stablehlo.reshape %a : (tensor<6x20xf32>) -> tensor<6x4x5xf32>\n"
      "%1 = stablehlo.transpose %0, dims = [1, 2, 0] : (tensor<6x4x5xf32>) -> tensor<4x5x6xf32>\n"
      "return %1 : tensor<4x5x6xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<9x21xf32>) -> tensor<4x7xf32> {\n"
      "%0 = stablehlo.slice %a [1:9:2, 2:21:3] : (tensor<9x21xf32>) -> tensor<4x7xf32>\n"
      "%1 = stablehlo.negate %0 : tensor<4x7xf32>\n"
      "return %1 : tensor<4x7xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x18xf32>, %z: tensor<f32>) -> tensor<9x24xf32> {\n"
      "%0 = stablehlo.pad %a, %z, low = [1, 4], high = [3, 2], interior = [0, 0] : "
      "(tensor<5x18xf32>, tensor<f32>) -> tensor<9x24xf32>\n"
      "return %0 : tensor<9x24xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x18xf32>, %b: tensor<5x3xf32>) -> tensor<5x24xf32> {\n"
      "%0 = stablehlo.concatenate %b, %a, %b, dim = 1 : (tensor<5x3xf32>, tensor<5x18xf32>, "
      "tensor<5x3xf32>) -> tensor<5x24xf32>\n"
      "%1 = stablehlo.add %0, %0 : tensor<5x24xf32>\n"
      "return %1 : tensor<5x24xf32>\n}",
      1, 0);
  // Five is not a power of two: positions are divided at run time.
  hlo_test_agree(
      "func.func @main(%a: tensor<2x2x7xf32>, %b: tensor<1x7xf32>) -> tensor<7x5xf32> {\n"
      "%0 = stablehlo.reshape %a : (tensor<2x2x7xf32>) -> tensor<4x7xf32>\n"
      "%1 = stablehlo.concatenate %0, %b, dim = 0 : (tensor<4x7xf32>, tensor<1x7xf32>) -> "
      "tensor<5x7xf32>\n"
      "%2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>\n"
      "%3 = stablehlo.negate %2 : tensor<7x5xf32>\n"
      "return %3 : tensor<7x5xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<2x2x7xf32>, %b: tensor<1x7xf32>) -> tensor<7x5xf32> {\n"
      "%t = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<2x2x7xf32>) -> tensor<2x2x7xf32>\n"
      "%0 = stablehlo.reshape %t : (tensor<2x2x7xf32>) -> tensor<4x7xf32>\n"
      "%1 = stablehlo.concatenate %0, %b, dim = 0 : (tensor<4x7xf32>, tensor<1x7xf32>) -> "
      "tensor<5x7xf32>\n"
      "%2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>\n"
      "%3 = stablehlo.negate %2 : tensor<7x5xf32>\n"
      "return %3 : tensor<7x5xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x18xf32>) -> tensor<5x18xf32> {\n"
      "%0 = stablehlo.reverse %a, dims = [0, 1] : tensor<5x18xf32>\n"
      "return %0 : tensor<5x18xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<30x18xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<3x5xf32> "
      "{\n"
      "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [3, 5] : (tensor<30x18xf32>, tensor<i32>, "
      "tensor<i32>) -> tensor<3x5xf32>\n"
      "return %0 : tensor<3x5xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main() -> tensor<6x9xi32> {\n"
      "%0 = stablehlo.iota dim = 1 : tensor<6x9xi32>\n"
      "%1 = stablehlo.iota dim = 0 : tensor<6x9xi32>\n"
      "%2 = stablehlo.multiply %0, %1 : tensor<6x9xi32>\n"
      "return %2 : tensor<6x9xi32>\n}",
      1, 0);
}

// Positions of 64 bits, which are in no lane, beside lanes of 32 bits.
static void test_wide_positions(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<30x37xf32>, %i: tensor<i64>, %j: tensor<i64>) -> "
      "tensor<3x35xf32> "
      "{\n"
      "%k = stablehlo.add %i, %j : tensor<i64>\n"
      "%0 = stablehlo.dynamic_slice %a, %i, %k, sizes = [3, 35] : (tensor<30x37xf32>, tensor<i64>, "
      "tensor<i64>) -> tensor<3x35xf32>\n"
      "%1 = stablehlo.negate %0 : tensor<3x35xf32>\n"
      "return %1 : tensor<3x35xf32>\n}",
      0, 0);
  // One position is also an element of each lane, as itself or converted.
  hlo_test_agree(
      "func.func @main(%a: tensor<3x37xf32>, %i: tensor<ui64>, %j: tensor<ui64>) -> "
      "(tensor<3x35xf32>, tensor<3x35xui64>) {\n"
      "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [3, 35] : (tensor<3x37xf32>, tensor<ui64>, "
      "tensor<ui64>) -> tensor<3x35xf32>\n"
      "%1 = stablehlo.convert %j : (tensor<ui64>) -> tensor<f32>\n"
      "%2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3x35xf32>\n"
      "%3 = stablehlo.add %0, %2 : tensor<3x35xf32>\n"
      "%4 = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<ui64>) -> tensor<3x35xui64>\n"
      "return %3, %4 : tensor<3x35xf32>, tensor<3x35xui64>\n}",
      0, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<3x37xf32>, %b: tensor<3x37xi16>, %i: tensor<i64>, %j: "
      "tensor<i64>) -> (tensor<3x37xf32>, tensor<3x37xi16>) {\n"
      "%c = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
      "%d = stablehlo.subtract %i, %j : tensor<i64>\n"
      "%f = stablehlo.convert %d : (tensor<i64>) -> tensor<f32>\n"
      "%0 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x37xf32>\n"
      "%1 = stablehlo.multiply %a, %0 : tensor<3x37xf32>\n"
      "%2 = stablehlo.select %c, %a, %1 : tensor<i1>, tensor<3x37xf32>\n"
      "%s = stablehlo.convert %d : (tensor<i64>) -> tensor<i16>\n"
      "%3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i16>) -> tensor<3x37xi16>\n"
      "%4 = stablehlo.select %c, %3, %b : tensor<i1>, tensor<3x37xi16>\n"
      "return %2, %4 : tensor<3x37xf32>, tensor<3x37xi16>\n}",
      0, 1e-6);
  hlo_test_agree(
      "func.func @main(%a: tensor<30x70xf32>, %i: tensor<i64>, %j: tensor<i64>) -> tensor<30xf32> "
      "{\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [30, 61] : (tensor<30x70xf32>, "
      "tensor<i64>, tensor<i64>) -> tensor<30x61xf32>\n"
      "%1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<30x61xf32>, tensor<f32>) -> tensor<30xf32>\n"
      "return %1 : tensor<30xf32>\n}",
      0, 1e-4);
}

// Element numbers as in random number generators: no 64-bit lanes are computed.
static void test_positions(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%k: tensor<ui32>) -> tensor<7x19xui32> {\n"
      "%0 = stablehlo.iota dim = 0 : tensor<7x19xui64>\n"
      "%c = stablehlo.constant dense<19> : tensor<7x19xui64>\n"
      "%1 = stablehlo.multiply %c, %0 : tensor<7x19xui64>\n"
      "%2 = stablehlo.iota dim = 1 : tensor<7x19xui64>\n"
      "%3 = stablehlo.add %1, %2 : tensor<7x19xui64>\n"
      "%4 = stablehlo.constant dense<32> : tensor<7x19xui64>\n"
      "%5 = stablehlo.shift_right_logical %3, %4 : tensor<7x19xui64>\n"
      "%6 = stablehlo.convert %3 : (tensor<7x19xui64>) -> tensor<7x19xui32>\n"
      "%7 = stablehlo.convert %5 : (tensor<7x19xui64>) -> tensor<7x19xui32>\n"
      "%8 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<ui32>) -> tensor<7x19xui32>\n"
      "%9 = stablehlo.add %7, %8 : tensor<7x19xui32>\n"
      "%10 = stablehlo.xor %9, %6 : tensor<7x19xui32>\n"
      "return %10 : tensor<7x19xui32>\n}",
      1, 0);
  // Values that wrap in their type, or are divided: lanes compute them.
  hlo_test_agree(
      "func.func @main() -> (tensor<300xui8>, tensor<300xi8>, tensor<300xui32>) {\n"
      "%0 = stablehlo.iota dim = 0 : tensor<300xui32>\n"
      "%1 = stablehlo.convert %0 : (tensor<300xui32>) -> tensor<300xui8>\n"
      "%2 = stablehlo.convert %0 : (tensor<300xui32>) -> tensor<300xi8>\n"
      "%c = stablehlo.constant dense<100000000> : tensor<300xui32>\n"
      "%3 = stablehlo.multiply %0, %c : tensor<300xui32>\n"
      "%4 = stablehlo.constant dense<3> : tensor<300xui32>\n"
      "%5 = stablehlo.shift_right_logical %0, %4 : tensor<300xui32>\n"
      "%6 = stablehlo.add %3, %5 : tensor<300xui32>\n"
      "return %1, %2, %6 : tensor<300xui8>, tensor<300xi8>, tensor<300xui32>\n}",
      3, 0);
}

static void check_bitcast(const char* from, const char* to) {
  char text[512];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<41x%s>) -> tensor<41x%s> {\n"
           "%%0 = stablehlo.bitcast_convert %%a : (tensor<41x%s>) -> tensor<41x%s>\n"
           "%%1 = stablehlo.reverse %%0, dims = [0] : tensor<41x%s>\n"  // alone it is a view
           "return %%1 : tensor<41x%s>\n}",
           from, to, from, to, to, to);
  hlo_test_agree(text, 1, 0);
}

// Shifts all lanes by constants, including rotations and shifts that clear all bits.
static void test_shifts(void** state) {
  (void)state;
  static const char* const types[] = {"ui8", "i16", "ui32", "i64"};
  for (int t = 0; t < 4; ++t) {
    int bits = 8 << t;
    const int counts[] = {1, 5, bits - 1, bits, bits + 9};
    for (int i = 0; i < 5; ++i) {
      char text[1024];
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<41x%s>) -> (tensor<41x%s>, tensor<41x%s>) {\n"
               "%%n = stablehlo.constant dense<%d> : tensor<41x%s>\n"
               "%%m = stablehlo.constant dense<%d> : tensor<41x%s>\n"
               "%%0 = stablehlo.shift_left %%a, %%n : tensor<41x%s>\n"
               "%%1 = stablehlo.shift_right_logical %%a, %%m : tensor<41x%s>\n"
               "%%2 = stablehlo.or %%0, %%1 : tensor<41x%s>\n"
               "%%3 = stablehlo.shift_right_arithmetic %%a, %%n : tensor<41x%s>\n"
               "return %%2, %%3 : tensor<41x%s>, tensor<41x%s>\n}",
               types[t], types[t], types[t], counts[i], types[t],
               counts[i] < bits ? bits - counts[i] : 3, types[t], types[t], types[t], types[t],
               types[t], types[t], types[t]);
      hlo_test_agree(text, 2, 0);
    }
  }
  check_bitcast("f32", "ui32");
  check_bitcast("ui32", "f32");
  check_bitcast("i64", "f64");
  check_bitcast("ui16", "bf16");
  check_bitcast("bf16", "i16");
  check_bitcast("bf16", "f16");
}

// Programs that only move elements of type T; a constant is N.
static const char* const MOVES[] = {
    // Rows that are looked up, between others.
    "func.func @main(%a: tensor<50x37xT>, %b: tensor<3x37xT>, %i: tensor<9x1xi32>) -> "
    "tensor<12x37xT> {\n"
    "%0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
    "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
    "array<i64: 1, 37>} : (tensor<50x37xT>, tensor<9x1xi32>) -> tensor<9x37xT>\n"
    "%1 = stablehlo.concatenate %0, %b, dim = 0 : (tensor<9x37xT>, tensor<3x37xT>) -> "
    "tensor<12x37xT>\n"
    "return %1 : tensor<12x37xT>\n}",
    // Blocks transposed in registers, strides, and selections by an f32.
    "func.func @main(%a: tensor<70x41xT>, %b: tensor<41x140xT>, %c: tensor<41x70xf32>) -> "
    "(tensor<41x70xT>, tensor<41x24xT>) {\n"
    "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<70x41xT>) -> tensor<41x70xT>\n"
    "%1 = stablehlo.slice %b [0:41, 0:140:2] : (tensor<41x140xT>) -> tensor<41x70xT>\n"
    "%2 = stablehlo.compare GT, %c, %c : (tensor<41x70xf32>, tensor<41x70xf32>) -> "
    "tensor<41x70xi1>\n"
    "%3 = stablehlo.select %2, %0, %1 : tensor<41x70xi1>, tensor<41x70xT>\n"
    "%4 = stablehlo.slice %3 [0:41, 0:24] : (tensor<41x70xT>) -> tensor<41x24xT>\n"
    "%5 = stablehlo.reverse %4, dims = [1] : tensor<41x24xT>\n"
    "return %0, %5 : tensor<41x70xT>, tensor<41x24xT>\n}",
    // Short rows, padded.
    "func.func @main(%a: tensor<30x4x5xT>, %p: tensor<T>) -> (tensor<4x30x5xT>, tensor<40x11xT>) "
    "{\n"
    "%0 = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<30x4x5xT>) -> tensor<4x30x5xT>\n"
    "%1 = stablehlo.slice %a [0:10, 0:4, 0:5] : (tensor<30x4x5xT>) -> tensor<10x4x5xT>\n"
    "%2 = stablehlo.reshape %1 : (tensor<10x4x5xT>) -> tensor<40x5xT>\n"
    "%3 = stablehlo.pad %2, %p, low = [0, 2], high = [0, 1], interior = [0, 0] : "
    "(tensor<40x5xT>, tensor<T>) -> tensor<40x8xT>\n"
    "%n = stablehlo.constant dense<N> : tensor<T>\n"
    "%4 = stablehlo.pad %3, %n, low = [0, 0], high = [0, 3], interior = [0, 0] : "
    "(tensor<40x8xT>, tensor<T>) -> tensor<40x11xT>\n"
    "return %0, %4 : tensor<4x30x5xT>, tensor<40x11xT>\n}",
    // Interleaved elements, columns repeated, and a slice replaced.
    "func.func @main(%a: tensor<70x2xT>, %b: tensor<70xT>, %i: tensor<i32>) -> "
    "(tensor<70x3xT>, tensor<70x45xT>, tensor<140xT>) {\n"
    "%0 = stablehlo.reshape %b : (tensor<70xT>) -> tensor<70x1xT>\n"
    "%1 = stablehlo.concatenate %a, %0, dim = 1 : (tensor<70x2xT>, tensor<70x1xT>) -> "
    "tensor<70x3xT>\n"
    "%2 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<70xT>) -> tensor<70x45xT>\n"
    "%3 = stablehlo.reshape %a : (tensor<70x2xT>) -> tensor<140xT>\n"
    "%4 = stablehlo.dynamic_update_slice %3, %b, %i : (tensor<140xT>, tensor<70xT>, tensor<i32>) "
    "-> tensor<140xT>\n"
    "return %1, %2, %4 : tensor<70x3xT>, tensor<70x45xT>, tensor<140xT>\n}",
};

// Moved floats keep all bits: of NaNs, of subnormal numbers, of codes below a byte.
static void test_moved_bits(void** state) {
  (void)state;
  static const char* const types[][2] = {
      {"bf16", "0x7FA1"}, {"f16", "0x7D01"}, {"f8E5M2", "0x7D"}, {"f8E4M3FN", "0xFF"}};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
    for (size_t m = 0; m < sizeof MOVES / sizeof MOVES[0]; ++m) {
      hlo_strbuf_t text = {0};
      for (const char* at = MOVES[m]; *at; ++at) {
        const bool is_type = *at == 'T' && strchr("x<", at[-1]);
        const bool is_nan = *at == 'N' && at[-1] == '<';
        if (is_type || is_nan)
          hlo_strbuf_puts(&text, types[t][is_nan]);
        else
          hlo_strbuf_putc(&text, *at);
      }
      hlo_test_agree(hlo_strbuf_text(&text), 0, HLO_TEST_SAME_BITS);
      hlo_strbuf_deinit(&text);
    }
  }
}

// Floats of 8 bits and less become bf16 in lanes of 16 bits, among moves and selections.
static void test_widened_bits(void** state) {
  (void)state;
  static const char* const types[] = {"f4E2M1FN", "f6E3M2FN",   "f8E3M4",   "f8E4M3FN",
                                      "f8E5M2",   "f8E5M2FNUZ", "f8E8M0FNU"};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<7x37x%s>, %%c: tensor<37x7xi1>, %%d: tensor<37x7xbf16>) -> "
        "(tensor<7x37xbf16>, tensor<37x7xbf16>) {\n"
        "%%0 = stablehlo.convert %%a : (tensor<7x37x%s>) -> tensor<7x37xbf16>\n"
        "%%1 = stablehlo.transpose %%0, dims = [1, 0] : (tensor<7x37xbf16>) -> "
        "tensor<37x7xbf16>\n"
        "%%2 = stablehlo.select %%c, %%1, %%d : tensor<37x7xi1>, tensor<37x7xbf16>\n"
        "return %%0, %%2 : tensor<7x37xbf16>, tensor<37x7xbf16>\n}",
        types[t], types[t]);
    hlo_test_agree(text, 0, HLO_TEST_SAME_BITS);
  }
}

// Rotations as jnp.roll is lowered: segments without masks, and edges of one element.
static void test_rolls(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<19x37xf32>) -> tensor<19x37xf32> {\n"
      "%0 = stablehlo.slice %a [0:19, 36:37] : (tensor<19x37xf32>) -> tensor<19x1xf32>\n"
      "%1 = stablehlo.slice %a [0:19, 0:36] : (tensor<19x37xf32>) -> tensor<19x36xf32>\n"
      "%2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<19x1xf32>, tensor<19x36xf32>) -> "
      "tensor<19x37xf32>\n"
      "%3 = stablehlo.slice %a [2:19, 0:37] : (tensor<19x37xf32>) -> tensor<17x37xf32>\n"
      "%4 = stablehlo.slice %a [0:2, 0:37] : (tensor<19x37xf32>) -> tensor<2x37xf32>\n"
      "%5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<17x37xf32>, tensor<2x37xf32>) -> "
      "tensor<19x37xf32>\n"
      "%6 = stablehlo.subtract %2, %5 : tensor<19x37xf32>\n"
      "%7 = stablehlo.slice %6 [0:19, 20:37] : (tensor<19x37xf32>) -> tensor<19x17xf32>\n"
      "%8 = stablehlo.slice %6 [0:19, 0:20] : (tensor<19x37xf32>) -> tensor<19x20xf32>\n"
      "%9 = stablehlo.concatenate %7, %8, dim = 1 : (tensor<19x17xf32>, tensor<19x20xf32>) -> "
      "tensor<19x37xf32>\n"
      "%10 = stablehlo.add %9, %a : tensor<19x37xf32>\n"
      "return %10 : tensor<19x37xf32>\n}",
      1, 0);
}

// Only some gathered rows are sums: they must not be computed in the loops of another sum of the
// same length.
static void test_guarded_sums(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<9x3xf32>, %b: tensor<9x3xf32>, %c: tensor<1x3xf32>, %d: "
      "tensor<4x3xf32>, %e: tensor<4xf32>, %i: tensor<18x1xi32>, %j: tensor<4x1xi32>) -> "
      "(tensor<4x3xf32>, tensor<4xf32>) {\n"
      "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] "
      ": (tensor<9x3xf32>, tensor<9x3xf32>) -> tensor<9xf32>\n"
      "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<9xf32>) -> tensor<9x3xf32>\n"
      "%2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<9x3xf32>, tensor<1x3xf32>) -> "
      "tensor<10x3xf32>\n"
      "%3 = \"stablehlo.gather\"(%2, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
      "array<i64: 1, 3>} : (tensor<10x3xf32>, tensor<18x1xi32>) -> tensor<18x3xf32>\n"
      "%4 = \"stablehlo.gather\"(%3, %j) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
      "array<i64: 1, 3>} : (tensor<18x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>\n"
      "%5 = stablehlo.dot_general %4, %d, batching_dims = [0] x [0], contracting_dims = [1] x [1] "
      ": (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4xf32>\n"
      "%6 = stablehlo.subtract %5, %e : tensor<4xf32>\n"
      "%7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>\n"
      "%8 = stablehlo.subtract %4, %7 : tensor<4x3xf32>\n"
      "return %8, %6 : tensor<4x3xf32>, tensor<4xf32>\n}",
      2, 1e-5);
}

// Whole tiles, partial tiles at both edges, several operands, and loads that cannot be tiled.
static void test_transpositions(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "i32", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x37x50x%s>) -> tensor<3x50x37x%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<3x37x50x%s>) -> "
             "tensor<3x50x37x%s>\n"
             "return %%0 : tensor<3x50x37x%s>\n}",
             types[i], types[i], types[i], types[i], types[i]);
    hlo_test_agree(text, 1, 0);
  }
  hlo_test_agree(
      "func.func @main(%a: tensor<48x32xf32>, %b: tensor<48x32xf32>, %c: tensor<32x48xf32>, %d: "
      "tensor<48xi8>) -> tensor<32x48xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>\n"
      "%1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>\n"
      "%2 = stablehlo.multiply %0, %1 : tensor<32x48xf32>\n"
      "%3 = stablehlo.add %2, %c : tensor<32x48xf32>\n"
      "%4 = stablehlo.convert %d : (tensor<48xi8>) -> tensor<48xf32>\n"
      "%5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<48xf32>) -> tensor<32x48xf32>\n"
      "%6 = stablehlo.subtract %3, %5 : tensor<32x48xf32>\n"
      "return %6 : tensor<32x48xf32>\n}",
      1, 0);
  // One load is contiguous along the first loop, two along the second: the tiles are along the
  // second.
  hlo_test_agree(
      "func.func @main(%a: tensor<17x20x18xf32>, %b: tensor<17x18x20xf32>, %c: "
      "tensor<17x18x20xf32>) -> tensor<18x20x17xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<17x20x18xf32>) -> "
      "tensor<18x20x17xf32>\n"
      "%1 = stablehlo.transpose %b, dims = [1, 2, 0] : (tensor<17x18x20xf32>) -> "
      "tensor<18x20x17xf32>\n"
      "%2 = stablehlo.transpose %c, dims = [1, 2, 0] : (tensor<17x18x20xf32>) -> "
      "tensor<18x20x17xf32>\n"
      "%3 = stablehlo.multiply %1, %2 : tensor<18x20x17xf32>\n"
      "%4 = stablehlo.subtract %0, %3 : tensor<18x20x17xf32>\n"
      "return %4 : tensor<18x20x17xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x18x4x23xi16>) -> tensor<23x4x18x5xi16> {\n"
      "%0 = stablehlo.transpose %a, dims = [3, 2, 1, 0] : (tensor<5x18x4x23xi16>) -> "
      "tensor<23x4x18x5xi16>\n"
      "return %0 : tensor<23x4x18x5xi16>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<20x30xf32>, %z: tensor<f32>) -> tensor<34x22xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<20x30xf32>) -> tensor<30x20xf32>\n"
      "%1 = stablehlo.pad %0, %z, low = [3, 1], high = [1, 1], interior = [0, 0] : "
      "(tensor<30x20xf32>, tensor<f32>) -> tensor<34x22xf32>\n"
      "return %1 : tensor<34x22xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<40x64xf32>, %u: tensor<32x40xf32>, %i: tensor<i32>) -> "
      "tensor<64x40xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<40x64xf32>) -> tensor<64x40xf32>\n"
      "%1 = stablehlo.dynamic_update_slice %0, %u, %i, %i : (tensor<64x40xf32>, tensor<32x40xf32>, "
      "tensor<i32>, tensor<i32>) -> tensor<64x40xf32>\n"
      "return %1 : tensor<64x40xf32>\n}",
      0, 0);
}

// Strides of a few elements, forwards and backwards, up to the first and last element of an array.
static void test_strides(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char* t = types[i];
    for (int step = 2; step <= 5; ++step) {
      int count = 77 * step - step + 1;
      char text[1024];
      snprintf(
          text, sizeof text,
          "func.func @main(%%a: tensor<%dx%s>) -> (tensor<77x%s>, tensor<77x%s>, tensor<%dx%s>) {\n"
          "%%0 = stablehlo.slice %%a [0:%d:%d] : (tensor<%dx%s>) -> tensor<77x%s>\n"
          "%%1 = stablehlo.reverse %%0, dims = [0] : tensor<77x%s>\n"
          "%%2 = stablehlo.reverse %%a, dims = [0] : tensor<%dx%s>\n"
          "return %%0, %%1, %%2 : tensor<77x%s>, tensor<77x%s>, tensor<%dx%s>\n}",
          count, t, t, t, count, t, count, step, count, t, t, t, count, t, t, t, count, t);
      hlo_test_agree(text, 0, 0);
    }
    // Adjacent elements with a common stride share their loads, up to the ends of the array.
    for (int count = 231; count <= 237; count += 2) {
      char phases[1024];
      snprintf(phases, sizeof phases,
               "func.func @main(%%a: tensor<%dx%s>) -> tensor<77x%s> {\n"
               "%%0 = stablehlo.slice %%a [0:229:3] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%1 = stablehlo.slice %%a [1:230:3] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%2 = stablehlo.slice %%a [%d:%d:3] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%3 = stablehlo.maximum %%0, %%1 : tensor<77x%s>\n"
               "%%4 = stablehlo.minimum %%3, %%2 : tensor<77x%s>\n"
               "return %%4 : tensor<77x%s>\n}",
               count, t, t, count, t, t, count, t, t, count - 229, count, count, t, t, t, t, t);
      hlo_test_agree(phases, 1, 0);
    }
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<2x35x3x%s>) -> tensor<2x3x35x%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<2x35x3x%s>) -> "
             "tensor<2x3x35x%s>\n"
             "return %%0 : tensor<2x3x35x%s>\n}",
             t, t, t, t, t);
    hlo_test_agree(text, 1, 0);
  }
}

// Transposes the last two dimensions, both of a few elements: the loops are unrolled, and only
// existing elements are read.
static void test_small_matrices_transpose(void** state) {
  (void)state;
  static const int sizes[][2] = {{2, 3}, {4, 4}, {3, 3}, {2, 8}, {5, 2}};
  static const char* const types[] = {"f32", "bf16", "i8", "f64"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes * 4; ++i) {
    const int m = sizes[i / 4][0], n = sizes[i / 4][1];
    const char* t = types[i % 4];
    char text[1024];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<7x%dx%dx%s>, %%b: tensor<%dx%s>) -> tensor<7x%dx%dx%s> {\n"
        "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<7x%dx%dx%s>) -> "
        "tensor<7x%dx%dx%s>\n"
        "%%1 = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<%dx%s>) -> tensor<7x%dx%dx%s>\n"
        "%%2 = stablehlo.add %%0, %%1 : tensor<7x%dx%dx%s>\n"
        "return %%2 : tensor<7x%dx%dx%s>\n}",
        m, n, t, n, t, n, m, t, m, n, t, n, m, t, n, t, n, m, t, n, m, t, n, m, t);
    hlo_test_agree(text, 1, 0);
  }
}

// Long rows at any alignment in large outputs: streamed stores from the first aligned vector on,
// beside narrower outputs and segments.
static void test_rows_begin_anywhere(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<5x150xf32>, %b: tensor<5x141xf32>) -> tensor<5x291xf32> {\n"
      "%0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<5x150xf32>, tensor<5x141xf32>) -> "
      "tensor<5x291xf32>\n"
      "return %0 : tensor<5x291xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x150xf64>, %z: tensor<f64>) -> tensor<9x155xf64> {\n"
      "%0 = stablehlo.pad %a, %z, low = [1, 2], high = [3, 3], interior = [0, 0] : "
      "(tensor<5x150xf64>, tensor<f64>) -> tensor<9x155xf64>\n"
      "return %0 : tensor<9x155xf64>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<5x300xf32>) -> (tensor<4x297xf32>, tensor<4x297xf16>, "
      "tensor<4x297xf32>) {\n"
      "%0 = stablehlo.slice %a [1:5, 3:300] : (tensor<5x300xf32>) -> tensor<4x297xf32>\n"
      "%1 = stablehlo.negate %0 : tensor<4x297xf32>\n"
      "%2 = stablehlo.convert %1 : (tensor<4x297xf32>) -> tensor<4x297xf16>\n"
      "%3 = stablehlo.abs %0 : tensor<4x297xf32>\n"
      "return %1, %2, %3 : tensor<4x297xf32>, tensor<4x297xf16>, tensor<4x297xf32>\n}",
      0, 0);
  static const char* const narrower[] = {"bf16", "i8", "i1"};
  for (size_t i = 0; i < sizeof narrower / sizeof *narrower; ++i) {
    char text[512];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<5x300xf32>) -> tensor<4x297x%s> {\n"
             "%%0 = stablehlo.slice %%a [1:5, 3:300] : (tensor<5x300xf32>) -> tensor<4x297xf32>\n"
             "%%1 = stablehlo.convert %%0 : (tensor<4x297xf32>) -> tensor<4x297x%s>\n"
             "return %%1 : tensor<4x297x%s>\n}",
             narrower[i], narrower[i], narrower[i]);
    hlo_test_agree(text, 1, 0);
  }
}

// Permuted rows: streamed stores in the order of the loads, alone, with loads in another order,
// repeated, and in several segments.
static void test_rows_change_places(void** state) {
  (void)state;
  for (int row = 15; row <= 81; row += row < 16 ? 1 : 13) {
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x4x5x%dxf32>, %%b: tensor<5x4x3x%dxf32>) -> "
             "tensor<5x4x3x%dxf32> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [2, 1, 0, 3] : (tensor<3x4x5x%dxf32>) -> "
             "tensor<5x4x3x%dxf32>\n"
             "%%1 = stablehlo.add %%0, %%b : tensor<5x4x3x%dxf32>\n"
             "return %%1 : tensor<5x4x3x%dxf32>\n}",
             row, row, row, row, row, row, row);
    hlo_test_agree(text, 1, 0);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x5x%dxf32>) -> tensor<3x5x4x%dxf32> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [1, 0, 2] : (tensor<4x5x%dxf32>) -> "
             "tensor<5x4x%dxf32>\n"
             "%%1 = stablehlo.broadcast_in_dim %%0, dims = [1, 2, 3] : (tensor<5x4x%dxf32>) -> "
             "tensor<3x5x4x%dxf32>\n"
             "%%2 = stablehlo.negate %%1 : tensor<3x5x4x%dxf32>\n"
             "return %%2 : tensor<3x5x4x%dxf32>\n}",
             row, row, row, row, row, row, row, row);
    hlo_test_agree(text, 1, 0);
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<6x2x7x%dxbf16>, %%i: tensor<i32>) -> tensor<7x6x2x%dxbf16> {\n"
        "%%0 = stablehlo.slice %%a [0:6, 0:2, 4:7, 0:%d] : (tensor<6x2x7x%dxbf16>) -> "
        "tensor<6x2x3x%dxbf16>\n"
        "%%1 = stablehlo.slice %%a [0:6, 0:2, 0:4, 0:%d] : (tensor<6x2x7x%dxbf16>) -> "
        "tensor<6x2x4x%dxbf16>\n"
        "%%2 = stablehlo.concatenate %%0, %%1, dim = 2 : (tensor<6x2x3x%dxbf16>, "
        "tensor<6x2x4x%dxbf16>) -> tensor<6x2x7x%dxbf16>\n"
        "%%3 = stablehlo.transpose %%2, dims = [2, 0, 1, 3] : (tensor<6x2x7x%dxbf16>) -> "
        "tensor<7x6x2x%dxbf16>\n"
        "return %%3 : tensor<7x6x2x%dxbf16>\n}",
        row, row, row, row, row, row, row, row, row, row, row, row, row, row);
    hlo_test_agree(text, 1, 0);
  }
}

// Dimensions that are split, permuted, merged again and rotated: contiguous rows are one loop, and
// the rotation is cut into segments without masks.
static void test_parts_change_places(void** state) {
  (void)state;
  for (int row = 3; row <= 19; row += 16) {
    char text[3072];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<12x4x%dxf32>) -> tensor<2x8x12x%dxf32> {\n"
             "%%0 = stablehlo.reshape %%a : (tensor<12x4x%dxf32>) -> tensor<2x2x3x4x4x%dxf32>\n"
             "%%1 = stablehlo.transpose %%0, dims = [0, 1, 3, 2, 4, 5] : "
             "(tensor<2x2x3x4x4x%dxf32>) -> tensor<2x2x4x3x4x%dxf32>\n"
             "%%2 = stablehlo.reshape %%1 : (tensor<2x2x4x3x4x%dxf32>) -> tensor<2x8x12x%dxf32>\n"
             "%%3 = stablehlo.slice %%2 [0:2, 6:8, 0:12, 0:%d] : (tensor<2x8x12x%dxf32>) -> "
             "tensor<2x2x12x%dxf32>\n"
             "%%4 = stablehlo.slice %%2 [0:2, 0:6, 0:12, 0:%d] : (tensor<2x8x12x%dxf32>) -> "
             "tensor<2x6x12x%dxf32>\n"
             "%%5 = stablehlo.concatenate %%3, %%4, dim = 1 : (tensor<2x2x12x%dxf32>, "
             "tensor<2x6x12x%dxf32>) -> tensor<2x8x12x%dxf32>\n"
             "%%6 = stablehlo.slice %%5 [0:2, 0:8, 9:12, 0:%d] : (tensor<2x8x12x%dxf32>) -> "
             "tensor<2x8x3x%dxf32>\n"
             "%%7 = stablehlo.slice %%5 [0:2, 0:8, 0:9, 0:%d] : (tensor<2x8x12x%dxf32>) -> "
             "tensor<2x8x9x%dxf32>\n"
             "%%8 = stablehlo.concatenate %%6, %%7, dim = 2 : (tensor<2x8x3x%dxf32>, "
             "tensor<2x8x9x%dxf32>) -> tensor<2x8x12x%dxf32>\n"
             "return %%8 : tensor<2x8x12x%dxf32>\n}",
             4 * row, row, 4 * row, row, row, row, row, row, row, row, row, row, row, row, row, row,
             row, row, row, row, row, row, row, row, row, row, row);
    hlo_test_agree(text, 1, 0);
  }
  hlo_test_agree(
      "func.func @main(%a: tensor<3x2x6x5xf32>) -> tensor<3x6x2x5xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<3x2x6x5xf32>) -> "
      "tensor<3x6x2x5xf32>\n"
      "%1 = stablehlo.negate %0 : tensor<3x6x2x5xf32>\n"
      "return %1 : tensor<3x6x2x5xf32>\n}",
      1, 0);
}

// Innermost dimensions of a few elements: transposed, concatenated and computed with.
static void test_interleaved(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char* t = types[i];
    for (int count = 2; count <= 9; ++count) {
      char text[2048];
      snprintf(
          text, sizeof text,
          "func.func @main(%%a: tensor<2x%dx77x%s>, %%b: tensor<%dx%s>) -> tensor<2x77x%dx%s> {\n"
          "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<2x%dx77x%s>) -> "
          "tensor<2x77x%dx%s>\n"
          "%%1 = stablehlo.broadcast_in_dim %%b, dims = [2] : (tensor<%dx%s>) -> "
          "tensor<2x77x%dx%s>\n"
          "%%2 = stablehlo.maximum %%0, %%1 : tensor<2x77x%dx%s>\n"
          "return %%2 : tensor<2x77x%dx%s>\n}",
          count, t, count, t, count, t, count, t, count, t, count, t, count, t, count, t, count, t);
      hlo_test_agree(text, 1, 0);
    }
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<83x%s>, %%b: tensor<83x2x%s>) -> tensor<83x3x%s> {\n"
             "%%0 = stablehlo.reshape %%a : (tensor<83x%s>) -> tensor<83x1x%s>\n"
             "%%1 = stablehlo.concatenate %%b, %%0, dim = 1 : (tensor<83x2x%s>, tensor<83x1x%s>) "
             "-> tensor<83x3x%s>\n"
             "return %%1 : tensor<83x3x%s>\n}",
             t, t, t, t, t, t, t, t, t);
    hlo_test_agree(text, 0, 0);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x70x%s>, %%o: tensor<100x3x%s>, %%i: tensor<i32>) -> "
             "tensor<100x3x%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [1, 0] : (tensor<3x70x%s>) -> tensor<70x3x%s>\n"
             "%%1 = stablehlo.dynamic_update_slice %%o, %%0, %%i, %%i : (tensor<100x3x%s>, "
             "tensor<70x3x%s>, tensor<i32>, tensor<i32>) -> tensor<100x3x%s>\n"
             "return %%1 : tensor<100x3x%s>\n}",
             t, t, t, t, t, t, t, t, t);
    hlo_test_agree(text, 0, 0);
    snprintf(text, sizeof text,  // every element of the last dimension is a segment
             "func.func @main(%%a: tensor<70x1x%s>, %%b: tensor<70x2x%s>, %%o: tensor<4x70x3x%s>, "
             "%%i: tensor<i32>) -> (tensor<70x3x%s>, tensor<4x70x3x%s>) {\n"
             "%%z = stablehlo.constant dense<0> : tensor<i32>\n"
             "%%0 = stablehlo.concatenate %%a, %%b, dim = 1 : (tensor<70x1x%s>, tensor<70x2x%s>) "
             "-> tensor<70x3x%s>\n"
             "%%1 = stablehlo.maximum %%0, %%0 : tensor<70x3x%s>\n"
             "%%2 = stablehlo.reshape %%1 : (tensor<70x3x%s>) -> tensor<1x70x3x%s>\n"
             "%%3 = stablehlo.dynamic_update_slice %%o, %%2, %%i, %%z, %%z : (tensor<4x70x3x%s>, "
             "tensor<1x70x3x%s>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x70x3x%s>\n"
             "return %%1, %%3 : tensor<70x3x%s>, tensor<4x70x3x%s>\n}",
             t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t);
    hlo_test_agree(text, 0, 0);
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<90x3x%s>, %%b: tensor<90x%s>) -> (tensor<90x3x%s>, "
        "tensor<90x3x%s>) {\n"
        "%%0 = stablehlo.broadcast_in_dim %%b, dims = [0] : (tensor<90x%s>) -> tensor<90x3x%s>\n"
        "%%1 = stablehlo.maximum %%a, %%0 : tensor<90x3x%s>\n"
        "%%2 = stablehlo.minimum %%a, %%1 : tensor<90x3x%s>\n"
        "return %%1, %%2 : tensor<90x3x%s>, tensor<90x3x%s>\n}",
        t, t, t, t, t, t, t, t, t, t);
    hlo_test_agree(text, 1, 0);
  }
}

// Broadcasts along some of several short dimensions that the lanes run over at once, beside
// exponentials, which make lanes worthwhile; also at the ends of arrays.
// worth it; at the ends of arrays too.
static void test_lanes_over_short_dimensions(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char *t = types[i], *op = i == 0 || i == 1 || i == 3 ? "exponential" : "not";
    for (int count = 2; count <= 20; count += count < 7 ? 1 : 6) {
      char whole[64], groups[64], shorts[64], text[2048];
      snprintf(whole, sizeof whole, "tensor<3x7x5x%dx%s>", count, t);
      snprintf(groups, sizeof groups, "tensor<3x5x%s>", t);
      snprintf(shorts, sizeof shorts, "tensor<%dx%s>", count, t);
      snprintf(text, sizeof text,
               "func.func @main(%%a: %s, %%b: %s, %%c: %s) -> (%s, %s) {\n"
               "%%0 = stablehlo.broadcast_in_dim %%b, dims = [0, 2] : (%s) -> %s\n"
               "%%1 = stablehlo.broadcast_in_dim %%c, dims = [3] : (%s) -> %s\n"
               "%%2 = stablehlo.maximum %%a, %%0 : %s\n"
               "%%3 = stablehlo.minimum %%a, %%1 : %s\n"
               "%%4 = stablehlo.%s %%2 : %s\n"
               "%%5 = stablehlo.%s %%3 : %s\n"
               "return %%4, %%5 : %s, %s\n}",
               whole, groups, shorts, whole, whole, groups, whole, shorts, whole, whole, whole, op,
               whole, op, whole, whole, whole);
      hlo_test_agree(text, 0, 1e-3);
    }
  }
}

// Products of pairs, as of complex numbers, of many lengths: results may share memory with
// operands.
static void test_interleaved_in_place(void** state) {
  (void)state;
  for (int rows = 1; rows <= 3; ++rows) {
    for (int count = 3; count <= 77; count += 19) {
      char a[48], b[48], text[2048];
      snprintf(a, sizeof a, "tensor<%dx%dx2xf32>", rows, count);
      snprintf(b, sizeof b, "tensor<%dx%dx1xf32>", rows, count);
      snprintf(text, sizeof text,
               "func.func @main(%%a: %s, %%b: %s) -> (%s, %s) {\n"
               "%%0 = stablehlo.slice %%a [0:%d, 0:%d, 0:1] : (%s) -> %s\n"
               "%%1 = stablehlo.slice %%a [0:%d, 0:%d, 1:2] : (%s) -> %s\n"
               "%%2 = stablehlo.slice %%b [0:%d, 0:%d, 0:1] : (%s) -> %s\n"
               "%%3 = stablehlo.multiply %%0, %%2 : %s\n"
               "%%4 = stablehlo.multiply %%1, %%2 : %s\n"
               "%%5 = stablehlo.concatenate %%3, %%4, dim = 2 : (%s, %s) -> %s\n"
               "%%6 = stablehlo.concatenate %%1, %%0, dim = 2 : (%s, %s) -> %s\n"
               "return %%5, %%6 : %s, %s\n}",
               a, a, a, a, rows, count, a, b, rows, count, a, b, rows, count, a, b, b, b, b, b, a,
               b, b, a, a, a);
      hlo_test_agree(text, 0, 0);
    }
  }
}

// Both parts of a pair use the same value: it is computed once, however expensive it is.
static void test_interleaved_parts_share(void** state) {
  (void)state;
  enum { OPS = 100 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "func.func @main(%0: tensor<4000xf64>) -> tensor<4000x2xf64> {\n");
  for (int i = 0; i < OPS; ++i) {
    hlo_strbuf_printf(&text, "%%%d = stablehlo.%s %%%d, %%0 : tensor<4000xf64>\n", i + 1,
                      i % 2 ? "maximum" : "subtract", i);
  }
  hlo_strbuf_printf(&text, "%%a = stablehlo.negate %%%d : tensor<4000xf64>\n", OPS);
  hlo_strbuf_printf(
      &text, "%%b = stablehlo.reshape %%%d : (tensor<4000xf64>) -> tensor<4000x1xf64>\n", OPS);
  hlo_strbuf_puts(&text,
                  "%c = stablehlo.reshape %a : (tensor<4000xf64>) -> tensor<4000x1xf64>\n"
                  "%d = stablehlo.concatenate %b, %c, dim = 1 : (tensor<4000x1xf64>, "
                  "tensor<4000x1xf64>) -> tensor<4000x2xf64>\n"
                  "return %d : tensor<4000x2xf64>\n}");
  const hlo_cpu_t cpu = {.level = HLO_CPU_LEVEL_AVX512};
  hlo_target_t target;
  hlo_target_init(&cpu, &target);
  hlo_test_agree_on(hlo_strbuf_text(&text), &target, 1, 0);
  hlo_strbuf_deinit(&text);
}

static void test_gather(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<12x20xf32>, %i: tensor<5x1xi32>) -> tensor<5x20xf32> {\n"
      "%0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
      "array<i64: 1, 20>} : (tensor<12x20xf32>, tensor<5x1xi32>) -> tensor<5x20xf32>\n"
      "return %0 : tensor<5x20xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<7xf32>, %i: tensor<50x1xi32>) -> tensor<50xf32> {\n"
      "%0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = "
      "#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
      "slice_sizes = array<i64: 1>} : (tensor<7xf32>, tensor<50x1xi32>) -> tensor<50xf32>\n"
      "return %0 : tensor<50xf32>\n}",
      1, 0);
}

// Tables of one to several registers, and one that is too large; indices past the end; all widths.
static void test_tables(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "bf16", "f8E5M2", "i8", "i64", "ui16", "f16"};
  static const char* const index_types[] = {"i32", "ui8", "i64", "i16"};
  static const int sizes[] = {2, 8, 13, 64, 65, 200};
  char text[2000];
  for (unsigned i = 0; i < sizeof types / sizeof *types * (sizeof sizes / sizeof *sizes); ++i) {
    const char *t = types[i % 8], *p = index_types[i % 4];
    const int size = sizes[i / 8];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<%dx%s>, %%i: tensor<75x1x%s>) -> tensor<75x%s> {\n"
        "%%0 = \"stablehlo.gather\"(%%a, %%i) {dimension_numbers = "
        "#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = "
        "1>, slice_sizes = array<i64: 1>} : (tensor<%dx%s>, tensor<75x1x%s>) -> tensor<75x%s>\n"
        "return %%0 : tensor<75x%s>\n}",
        size, t, p, t, size, t, p, t, t);
    hlo_test_agree(text, 1, 0);
  }
  hlo_test_agree(
      "func.func @main(%a: tensor<4x5xf32>, %i: tensor<75x2xi32>) -> tensor<75xf32> {\n"
      "%0 = stablehlo.negate %i : tensor<75x2xi32>\n"
      "%1 = \"stablehlo.gather\"(%a, %0) {dimension_numbers = "
      "#stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim "
      "= 1>, slice_sizes = array<i64: 1, 1>} : (tensor<4x5xf32>, tensor<75x2xi32>) -> "
      "tensor<75xf32>\n"
      "return %1 : tensor<75xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<9x7xf32>, %b: tensor<7x9xf32>) -> tensor<7x9xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<9x7xf32>) -> tensor<7x9xf32>\n"
      "%1 = stablehlo.add %0, %b : tensor<7x9xf32>\n"
      "return %1 : tensor<7x9xf32>\n}",
      1, 0);
}

static void test_updates(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<20x18xf32>, %u: tensor<3x11xf32>, %i: tensor<i32>, %j: "
      "tensor<i32>) -> tensor<20x18xf32> {\n"
      "%0 = stablehlo.negate %u : tensor<3x11xf32>\n"
      "%1 = stablehlo.dynamic_update_slice %a, %0, %i, %j : (tensor<20x18xf32>, tensor<3x11xf32>, "
      "tensor<i32>, tensor<i32>) -> tensor<20x18xf32>\n"
      "return %1 : tensor<20x18xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%u: tensor<3x11xf32>, %i: tensor<i32>) -> tensor<20x11xf32> {\n"
      "%c = stablehlo.constant dense<1.5> : tensor<f32>\n"
      "%z = stablehlo.constant dense<0> : tensor<i32>\n"
      "%a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<20x11xf32>\n"
      "%s = stablehlo.dynamic_slice %a, %i, %z, sizes = [3, 11] : (tensor<20x11xf32>, tensor<i32>, "
      "tensor<i32>) -> tensor<3x11xf32>\n"
      "%0 = stablehlo.add %s, %u : tensor<3x11xf32>\n"
      "%1 = stablehlo.dynamic_update_slice %a, %0, %i, %z : (tensor<20x11xf32>, tensor<3x11xf32>, "
      "tensor<i32>, tensor<i32>) -> tensor<20x11xf32>\n"
      "return %1 : tensor<20x11xf32>\n}",
      2, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elementwise),
      cmocka_unit_test(test_movement),
      cmocka_unit_test(test_wide_positions),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_shifts),
      cmocka_unit_test(test_moved_bits),
      cmocka_unit_test(test_widened_bits),
      cmocka_unit_test(test_rolls),
      cmocka_unit_test(test_guarded_sums),
      cmocka_unit_test(test_transpositions),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_small_matrices_transpose),
      cmocka_unit_test(test_rows_begin_anywhere),
      cmocka_unit_test(test_rows_change_places),
      cmocka_unit_test(test_parts_change_places),
      cmocka_unit_test(test_interleaved),
      cmocka_unit_test(test_lanes_over_short_dimensions),
      cmocka_unit_test(test_interleaved_in_place),
      cmocka_unit_test(test_interleaved_parts_share),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_tables),
      cmocka_unit_test(test_updates),
  };
  return cmocka_run_group_tests_name("codegen/kernel", tests, NULL, NULL);
}
