// SPDX-License-Identifier: Apache-2.0
// Compares reductions in kernels with the reference (kernel_test_util.h): along rows and columns,
// in windows, and with users of their results.
#include "codegen/loops/kernel_test_util.h"

// Large enough for several chunks: the row cache holds the exponentials between the two loops.
static void test_kept_rows(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "bf16"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char* t = types[i];
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<400x201x%s>) -> tensor<400x201x%s> {\n"
             "%%z = stablehlo.constant dense<0.0> : tensor<%s>\n"
             "%%n = stablehlo.negate %%a : tensor<400x201x%s>\n"
             "%%e = stablehlo.exponential %%n : tensor<400x201x%s>\n"
             "%%s = stablehlo.reduce(%%e init: %%z) applies stablehlo.add across dimensions = [1] "
             ": (tensor<400x201x%s>, tensor<%s>) -> tensor<400x%s>\n"
             "%%b = stablehlo.broadcast_in_dim %%s, dims = [0] : (tensor<400x%s>) -> "
             "tensor<400x201x%s>\n"
             "%%r = stablehlo.divide %%e, %%b : tensor<400x201x%s>\n"
             "return %%r : tensor<400x201x%s>\n}",
             t, t, t, t, t, t, t, t, t, t, t, t);
    hlo_test_agree(text, 1, i ? 1e-2 : 1e-5);
  }
}

// Short rows in blocks and the remaining rows: results alone, chains of reductions, rows that need
// the results, with and without a row cache; several reductions at once.
static void test_row_blocks(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "bf16", "i32", "i8"};
  static const int widths[] = {3, 16, 37, 70, 200};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    for (uint32_t k = 0; k < sizeof widths / sizeof widths[0]; ++k) {
      const char* t = types[i];
      int w = widths[k];
      char text[4096];
      snprintf(
          text, sizeof text,
          "func.func @main(%%a: tensor<3x35x%dx%s>, %%b: tensor<35x%s>) -> tensor<3x35x%s> {\n"
          "%%z = stablehlo.constant dense<%s> : tensor<%s>\n"
          "%%0 = stablehlo.reduce(%%a init: %%z) applies stablehlo.maximum across dimensions = [2] "
          ": (tensor<3x35x%dx%s>, tensor<%s>) -> tensor<3x35x%s>\n"
          "%%1 = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<35x%s>) -> tensor<3x35x%s>\n"
          "%%2 = stablehlo.multiply %%0, %%1 : tensor<3x35x%s>\n"
          "%%3 = stablehlo.broadcast_in_dim %%2, dims = [0, 1] : (tensor<3x35x%s>) -> "
          "tensor<3x35x%dx%s>\n"
          "%%4 = stablehlo.minimum %%a, %%3 : tensor<3x35x%dx%s>\n"
          "%%5 = stablehlo.reduce(%%4 init: %%z) applies stablehlo.add across dimensions = [2] : "
          "(tensor<3x35x%dx%s>, tensor<%s>) -> tensor<3x35x%s>\n"
          "return %%5 : tensor<3x35x%s>\n}",
          w, t, t, t, i < 3 ? "1.0" : "1", t, w, t, t, t, t, t, t, t, w, t, w, t, w, t, t, t, t);
      hlo_test_agree(text, 0, i == 2 ? 3e-2 : 1e-5);
    }
  }
}

static void check_softmax(const char* dims, const char* rows, const char* type, double tolerance) {
  char text[4096];
  const char *d = dims, *r = rows, *t = type;
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%sx%s>) -> tensor<%sx%s> {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<%s>\n"
           "%%i = stablehlo.constant dense<-1.0> : tensor<%s>\n"
           "%%0 = stablehlo.reduce(%%a init: %%i) applies stablehlo.maximum across dimensions = "
           "[1] : (tensor<%sx%s>, tensor<%s>) -> tensor<%sx%s>\n"
           "%%1 = stablehlo.broadcast_in_dim %%0, dims = [0] : (tensor<%sx%s>) -> tensor<%sx%s>\n"
           "%%2 = stablehlo.subtract %%a, %%1 : tensor<%sx%s>\n"
           "%%3 = stablehlo.exponential %%2 : tensor<%sx%s>\n"
           "%%4 = stablehlo.reduce(%%3 init: %%z) applies stablehlo.add across dimensions = [1] : "
           "(tensor<%sx%s>, tensor<%s>) -> tensor<%sx%s>\n"
           "%%5 = stablehlo.broadcast_in_dim %%4, dims = [0] : (tensor<%sx%s>) -> tensor<%sx%s>\n"
           "%%6 = stablehlo.divide %%3, %%5 : tensor<%sx%s>\n"
           "return %%6 : tensor<%sx%s>\n}",
           d, t, d, t, t, t, d, t, t, r, t, r, t, d, t, d, t, d, t, d, t, t, r, t, r, t, d, t, d, t,
           d, t);
  hlo_test_agree(text, 0, tolerance);
}

static void test_softmax_of_short_rows(void** state) {
  (void)state;
  check_softmax("53x20", "53", "f32", 1e-5);
  check_softmax("33x65", "33", "bf16", 2e-2);
  check_softmax("2000x71", "2000", "f32", 1e-5);  // rows are kept, in chunks
  check_softmax("900x150", "900", "bf16", 2e-2);
  check_softmax("700x256", "700", "f64", 1e-5);
}

enum { SUM_COUNT = 333 };

// Sums of a few rows in memory that is displaced from its alignment.
static void sum_displaced(const hlo_target_t* target, size_t displaced_bytes, float* out) {
  static const char text[] =
      "func.func @main(%a: tensor<9x333xf32>) -> tensor<333xf32> {\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<9x333xf32>, tensor<f32>) -> tensor<333xf32>\n"
      "return %0 : tensor<333xf32>\n}";
  hlo_module_t* module = hlo_test_parse(text);
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_schedule_t* schedule;
  const hlo_func_t* func = hlo_module_entry(module);
  hlo_test_expect_ok(hlo_schedule_create(func, target, &arena, &schedule), text, NULL);
  hlo_test_memory_t memory = {.displaced_bytes = displaced_bytes};
  float* in = hlo_test_allocate(&memory, func->body->args[0]);
  for (uint32_t i = 0; i < 9 * SUM_COUNT; ++i) in[i] = 1.0f / (float)(i + 1);
  hlo_test_make_constants(func->body, &memory);
  hlo_test_run_steps(schedule, target, &arena, &memory, text);
  const hlo_value_t* result = hlo_node_operand(hlo_region_terminator(func->body), 0);
  memcpy(out, memory.of[result->index], SUM_COUNT * sizeof *out);
  hlo_test_drop_memory(&memory);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

// The number of elements after the last whole vector depends on sizes alone, never on addresses.
static void test_bits_do_not_depend_on_alignment(void** state) {
  (void)state;
  static const hlo_cpu_t cpus[] = {{.level = HLO_CPU_LEVEL_AVX512},
                                   {.level = HLO_CPU_LEVEL_AVX2},
                                   {.level = HLO_CPU_LEVEL_SSE2}};
  for (uint32_t i = 0; i < sizeof cpus / sizeof *cpus; ++i) {
    hlo_target_t target;
    hlo_target_init(&cpus[i], &target);
    target.tile.memories[target.tile.memory_count - 2].capacity_bytes = 1000;
    float expected[SUM_COUNT], found[SUM_COUNT];
    sum_displaced(&target, 0, expected);
    for (size_t bytes = 4; bytes < 64; bytes += 4) {
      sum_displaced(&target, bytes, found);
      assert_memory_equal(found, expected, sizeof found);
    }
  }
}

// Maxima and minima, also with NaNs.
static void test_extremes(void** state) {
  (void)state;
  const char *ops[] = {"maximum", "minimum"}, *inits[] = {"0xFF800000", "0x7F800000"};
  for (uint32_t i = 0; i < 2; ++i) {
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<6x203xf32>) -> (tensor<6xf32>, tensor<6xf32>) {\n"
             "%%i = stablehlo.constant dense<%s> : tensor<f32>\n"
             "%%n = stablehlo.sqrt %%a : tensor<6x203xf32>\n"
             "%%0 = stablehlo.reduce(%%n init: %%i) applies stablehlo.%s across dimensions = [1] : "
             "(tensor<6x203xf32>, tensor<f32>) -> tensor<6xf32>\n"
             "%%1 = stablehlo.reduce(%%a init: %%i) applies stablehlo.%s across dimensions = [1] : "
             "(tensor<6x203xf32>, tensor<f32>) -> tensor<6xf32>\n"
             "return %%0, %%1 : tensor<6xf32>, tensor<6xf32>\n}",
             inits[i], ops[i], ops[i]);
    hlo_test_agree(text, 0, 0);
  }
}

static void test_reduce(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<6x37xf32>) -> tensor<6xf32> {\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<6x37xf32>, tensor<f32>) -> tensor<6xf32>\n"
      "%1 = stablehlo.add %0, %0 : tensor<6xf32>\n"
      "return %1 : tensor<6xf32>\n}",
      1, 1e-5);
  hlo_test_agree(
      "func.func @main(%a: tensor<37x22xf32>) -> tensor<22xf32> {\n"
      "%z = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<37x22xf32>, tensor<f32>) -> tensor<22xf32>\n"
      "return %0 : tensor<22xf32>\n}",
      1, 1e-5);
  hlo_test_agree(
      "func.func @main(%a: tensor<4x9x70xf32>) -> tensor<9xf32> {\n"
      "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0, 2] : "
      "(tensor<4x9x70xf32>, tensor<f32>) -> tensor<9xf32>\n"
      "return %0 : tensor<9xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<40x21xi1>) -> (tensor<40xi1>, tensor<i1>) {\n"
      "%z = stablehlo.constant dense<true> : tensor<i1>\n"
      "%f = stablehlo.constant dense<false> : tensor<i1>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.and across dimensions = [1] : "
      "(tensor<40x21xi1>, tensor<i1>) -> tensor<40xi1>\n"
      "%1 = stablehlo.reduce(%a init: %f) applies stablehlo.or across dimensions = [0, 1] : "
      "(tensor<40x21xi1>, tensor<i1>) -> tensor<i1>\n"
      "return %0, %1 : tensor<40xi1>, tensor<i1>\n}",
      2, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<300xbf16>) -> tensor<bf16> {\n"
      "%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<300xbf16>, tensor<bf16>) -> tensor<bf16>\n"
      "return %0 : tensor<bf16>\n}",
      1, 1e-2);
}

static void test_arg_reduce(void** state) {
  (void)state;
  static const char body[] =
      "%%0:2 = stablehlo.reduce(%%a init: %%z), (%%i init: %%j) across dimensions = [%d] : "
      "(tensor<23x41xf32>, tensor<23x41xi32>, tensor<f32>, tensor<i32>) -> (tensor<%sxf32>, "
      "tensor<%sxi32>)\n"
      "reducer(%%x: tensor<f32>, %%y: tensor<f32>) (%%k: tensor<i32>, %%l: tensor<i32>) {\n"
      "%%1 = stablehlo.compare GT, %%x, %%y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%%2 = stablehlo.compare NE, %%x, %%x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%%3 = stablehlo.or %%1, %%2 : tensor<i1>\n"
      "%%4 = stablehlo.compare EQ, %%x, %%y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%%5 = stablehlo.compare LT, %%k, %%l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%%6 = stablehlo.and %%4, %%5 : tensor<i1>\n"
      "%%7 = stablehlo.or %%3, %%6 : tensor<i1>\n"
      "%%8 = stablehlo.select %%3, %%x, %%y : tensor<i1>, tensor<f32>\n"
      "%%9 = stablehlo.select %%7, %%k, %%l : tensor<i1>, tensor<i32>\n"
      "stablehlo.return %%8, %%9 : tensor<f32>, tensor<i32>\n}\n";
  for (int dim = 0; dim < 2; ++dim) {
    char reduce[2048], text[4096];
    const char* left = dim ? "23" : "41";
    snprintf(reduce, sizeof reduce, body, dim, left, left);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<23x41xf32>) -> tensor<%sxi32> {\n"
             "%%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
             "%%j = stablehlo.constant dense<0> : tensor<i32>\n"
             "%%i = stablehlo.iota dim = %d : tensor<23x41xi32>\n%s"
             "return %%0#1 : tensor<%sxi32>\n}",
             left, dim, reduce, left);
    hlo_test_agree(text, 1, 0);
  }
}

static void test_windows(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<2x9x9x20xf32>) -> tensor<2x5x5x20xf32> {\n"
      "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%0 = \"stablehlo.reduce_window\"(%a, %i) <{window_dimensions = array<i64: 1, 2, 2, 1>, "
      "window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [0, 1], [1, 0], [0, 0]]> "
      ": tensor<4x2xi64>}> ({\n"
      "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "%m = stablehlo.maximum %x, %y : tensor<f32>\n"
      "stablehlo.return %m : tensor<f32>\n}) : (tensor<2x9x9x20xf32>, tensor<f32>) -> "
      "tensor<2x5x5x20xf32>\n"
      "return %0 : tensor<2x5x5x20xf32>\n}",
      1, 0);
}

static void test_softmax(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<6x45xf32>) -> tensor<6x45xf32> {\n"
      "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %i) applies stablehlo.maximum across dimensions = [1] : "
      "(tensor<6x45xf32>, tensor<f32>) -> tensor<6xf32>\n"
      "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<6xf32>) -> tensor<6x45xf32>\n"
      "%2 = stablehlo.subtract %a, %1 : tensor<6x45xf32>\n"
      "%3 = stablehlo.exponential %2 : tensor<6x45xf32>\n"
      "%4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<6x45xf32>, tensor<f32>) -> tensor<6xf32>\n"
      "%5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xf32>) -> tensor<6x45xf32>\n"
      "%6 = stablehlo.divide %3, %5 : tensor<6x45xf32>\n"
      "return %6 : tensor<6x45xf32>\n}",
      1, 1e-5);
}

static void test_sweeps(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<700x1037xf32>, %b: tensor<700x1037xf32>) -> tensor<1037xf32> {\n"
      "%z = stablehlo.constant dense<2.0> : tensor<f32>\n"
      "%m = stablehlo.multiply %a, %b : tensor<700x1037xf32>\n"
      "%0 = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<700x1037xf32>, tensor<f32>) -> tensor<1037xf32>\n"
      "return %0 : tensor<1037xf32>\n}",
      1, 1e-4);
}

static void test_blocks(void** state) {
  (void)state;
  hlo_test_agree(
      "func.func @main(%a: tensor<64x96xf32>) -> tensor<96x64xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>\n"
      "%1 = stablehlo.negate %0 : tensor<96x64xf32>\n"
      "return %1 : tensor<96x64xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<3x64x5x64xf32>) -> tensor<3x64x5x64xf32> {\n"
      "%0 = stablehlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<3x64x5x64xf32>) -> "
      "tensor<3x64x5x64xf32>\n"
      "%1 = stablehlo.negate %0 : tensor<3x64x5x64xf32>\n"
      "return %1 : tensor<3x64x5x64xf32>\n}",
      1, 0);
}

static void test_chunks(void** state) {
  (void)state;
  // Segments share the loop that is split into chunks, or the two outer ones.
  hlo_test_agree(
      "func.func @main(%a: tensor<2001x33xf32>, %b: tensor<2001x120xf32>) -> tensor<2001x153xf32> "
      "{\n"
      "%0 = stablehlo.negate %b : tensor<2001x120xf32>\n"
      "%1 = stablehlo.concatenate %a, %0, dim = 1 : (tensor<2001x33xf32>, tensor<2001x120xf32>) -> "
      "tensor<2001x153xf32>\n"
      "return %1 : tensor<2001x153xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<2x901x100xf32>, %z: tensor<f32>) -> tensor<2x901x107xf32> {\n"
      "%0 = stablehlo.pad %a, %z, low = [0, 0, 3], high = [0, 0, 4], interior = [0, 0, 0] : "
      "(tensor<2x901x100xf32>, tensor<f32>) -> tensor<2x901x107xf32>\n"
      "return %0 : tensor<2x901x107xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<3x17x5001xf32>, %b: tensor<3x2x5001xf32>) -> "
      "tensor<3x19x5001xf32> {\n"
      "%0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<3x17x5001xf32>, tensor<3x2x5001xf32>) "
      "-> tensor<3x19x5001xf32>\n"
      "return %0 : tensor<3x19x5001xf32>\n}",
      1, 0);
  hlo_test_agree(
      "func.func @main(%a: tensor<3x40001xf32>) -> tensor<3x40001xf32> {\n"
      "%0 = stablehlo.exponential %a : tensor<3x40001xf32>\n"
      "%1 = stablehlo.log %0 : tensor<3x40001xf32>\n"
      "return %1 : tensor<3x40001xf32>\n}",
      1, 1e-4);
  hlo_test_agree(
      "func.func @main(%a: tensor<600x2003xf32>) -> (tensor<f32>, tensor<f32>) {\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%n = stablehlo.constant dense<1201800.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : "
      "(tensor<600x2003xf32>, tensor<f32>) -> tensor<f32>\n"
      "%1 = stablehlo.divide %0, %n : tensor<f32>\n"
      "%2 = stablehlo.abs %a : tensor<600x2003xf32>\n"
      "%3 = stablehlo.reduce(%2 init: %i) applies stablehlo.maximum across dimensions = [0, 1] : "
      "(tensor<600x2003xf32>, tensor<f32>) -> tensor<f32>\n"
      "return %1, %3 : tensor<f32>, tensor<f32>\n}",
      1, 1e-4);
}

// Sums and maxima of every few elements of narrow types, up to more of them than vectors have
// lanes.
static void test_narrow_strides(void** state) {
  (void)state;
  static const char* const types[][2] = {{"bf16", "f32"}, {"f16", "f64"}, {"i8", "i32"}};
  for (uint32_t i = 0; i < sizeof types / sizeof *types; ++i) {
    const char *from = types[i][0], *to = types[i][1], *zero = i == 2 ? "0" : "0.0";
    for (int step = 2; step <= 9; ++step) {
      const int count = (700 - 3 + step - 1) / step;
      char text[2048];
      snprintf(
          text, sizeof text,
          "func.func @main(%%a: tensor<7x700x%s>) -> (tensor<7x%s>, tensor<7x%s>) {\n"
          "%%z = stablehlo.constant dense<%s> : tensor<%s>\n"
          "%%y = stablehlo.constant dense<%s> : tensor<%s>\n"
          "%%0 = stablehlo.slice %%a [0:7, 3:700:%d] : (tensor<7x700x%s>) -> tensor<7x%dx%s>\n"
          "%%1 = stablehlo.convert %%0 : (tensor<7x%dx%s>) -> tensor<7x%dx%s>\n"
          "%%2 = stablehlo.reduce(%%1 init: %%z) applies stablehlo.add across dimensions = [1] : "
          "(tensor<7x%dx%s>, tensor<%s>) -> tensor<7x%s>\n"
          "%%3 = stablehlo.reduce(%%0 init: %%y) applies stablehlo.maximum across dimensions = [1] "
          ": "
          "(tensor<7x%dx%s>, tensor<%s>) -> tensor<7x%s>\n"
          "return %%2, %%3 : tensor<7x%s>, tensor<7x%s>\n}",
          from, to, from, zero, to, zero, from, step, from, count, from, count, from, count, to,
          count, to, to, to, count, from, from, from, to, from);
      hlo_test_agree(text, 0, 1e-4);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kept_rows),
      cmocka_unit_test(test_row_blocks),
      cmocka_unit_test(test_softmax_of_short_rows),
      cmocka_unit_test(test_bits_do_not_depend_on_alignment),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_arg_reduce),
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_sweeps),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_narrow_strides),
  };
  return cmocka_run_group_tests_name("codegen/kernel_reduce", tests, NULL, NULL);
}
