// SPDX-License-Identifier: Apache-2.0
// Which programs are cheap enough to run where they are launched.
#include "compiler/signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/frontend.h"

// Of a program @main whose lines are `body`, with arguments a: 64x64, b: 1024x1024, i: index.
static bool is_cheap_as(const char* body, const char* result, bool is_machine_code) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<64x64xf32>, %%b: tensor<1024x1024xf32>, %%i: tensor<i32>) "
           "-> tensor<%s> {\n%s\n  return %%r : tensor<%s>\n}\n",
           result, body, result);
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_frontend_load(text, strlen(text), NULL, NULL, NULL, &module);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  bool cheap = hlo_func_is_cheap(hlo_module_entry(module), is_machine_code, 1);
  hlo_module_release(module);
  return cheap;
}

static bool is_cheap(const char* body, const char* result) {
  return is_cheap_as(body, result, false);
}

static void little_work_is_cheap(void** state) {
  (void)state;
  assert_true(is_cheap("%r = stablehlo.add %a, %a : tensor<64x64xf32>", "64x64xf32"));
  assert_true(
      is_cheap("%r = stablehlo.transpose %a, dims = [1, 0] : "
               "(tensor<64x64xf32>) -> tensor<64x64xf32>",
               "64x64xf32"));
  // A piece of something large costs what the piece is.
  assert_true(
      is_cheap("%r = stablehlo.dynamic_slice %b, %i, %i, sizes = [1, 64] : "
               "(tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>",
               "1x64xf32"));
  assert_true(
      is_cheap("%v = stablehlo.slice %a [0:1, 0:64] : "
               "(tensor<64x64xf32>) -> tensor<1x64xf32>\n"
               "%r = stablehlo.dot_general %v, %a, contracting_dims = [1] x [0] : "
               "(tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>",
               "1x64xf32"));
}

// stablehlo.dot contracts the last dimension of its first operand.
static void legacy_products_are_counted(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {\n"
      "%r = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>\n"
      "return %r : tensor<4x16xf32>\n}\n";
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_frontend_load(kText, strlen(kText), NULL, NULL, NULL, &module);
  assert_true(hlo_status_is_ok(status));
  hlo_cost_t cost;
  hlo_cost_count(module, &cost);
  assert_true(cost.flops == 2.0 * 4 * 8 * 16);
  hlo_module_release(module);
}

static void much_work_and_loops_are_not(void** state) {
  (void)state;
  assert_false(is_cheap("%r = stablehlo.add %b, %b : tensor<1024x1024xf32>", "1024x1024xf32"));
  assert_false(
      is_cheap("%e = stablehlo.exponential %a : tensor<64x64xf32>\n"
               "%r = stablehlo.tanh %e : tensor<64x64xf32>",
               "64x64xf32"));
  assert_false(
      is_cheap("%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : "
               "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>",
               "64x64xf32"));
  assert_false(
      is_cheap("%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%r = stablehlo.reduce(%b init: %c) applies stablehlo.add across "
               "dimensions = [0, 1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<f32>",
               "f32"));
  assert_false(
      is_cheap("%r = stablehlo.while(%x = %i) : tensor<i32> cond {\n"
               "  %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> "
               "tensor<i1>\n  stablehlo.return %p : tensor<i1>\n} do {\n"
               "  stablehlo.return %x : tensor<i32>\n}",
               "i32"));
}

static void machine_code_does_more(void** state) {
  (void)state;
  const char* product =
      "%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : "
      "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>";
  assert_false(is_cheap_as(product, "64x64xf32", false));
  assert_true(is_cheap_as(product, "64x64xf32", true));
  const char* large =
      "%r = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0] : "
      "(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>";
  assert_false(is_cheap_as(large, "1024x1024xf32", true));
  // A pass over some megabytes is; a hundred of them are not.
  const char* pass = "%r = stablehlo.add %b, %b : tensor<1024x1024xf32>";
  assert_false(is_cheap_as(pass, "1024x1024xf32", false));
  assert_true(is_cheap_as(pass, "1024x1024xf32", true));
  const char* copies =
      "%r = stablehlo.broadcast_in_dim %b, dims = [1, 2] : "
      "(tensor<1024x1024xf32>) -> tensor<100x1024x1024xf32>";
  assert_false(is_cheap_as(copies, "100x1024x1024xf32", true));
}

// A loop of `turns` turns, each of which sorts 64 rows of 64.
static bool is_cheap_loop(int turns) {
  char body[1024];
  snprintf(
      body, sizeof body,
      "%%n = stablehlo.constant dense<%d> : tensor<i32>\n"
      "%%o = stablehlo.constant dense<1> : tensor<i32>\n"
      "%%z = stablehlo.constant dense<0> : tensor<i32>\n"
      "%%k, %%r = stablehlo.while(%%x = %%z, %%y = %%a) : tensor<i32>, tensor<64x64xf32> cond {\n"
      "  %%p = stablehlo.compare LT, %%x, %%n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  stablehlo.return %%p : tensor<i1>\n} do {\n"
      "  %%s = \"stablehlo.sort\"(%%y) <{dimension = 1 : i64}> ({\n"
      "  ^bb0(%%u: tensor<f32>, %%v: tensor<f32>):\n"
      "    %%l = stablehlo.compare LT, %%u, %%v : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    stablehlo.return %%l : tensor<i1>\n"
      "  }) : (tensor<64x64xf32>) -> tensor<64x64xf32>\n"
      "  %%m = stablehlo.add %%x, %%o : tensor<i32>\n"
      "  stablehlo.return %%m, %%s : tensor<i32>, tensor<64x64xf32>\n}",
      turns);
  return is_cheap_as(body, "64x64xf32", true);
}

static void loops_count_as_often_as_they_run(void** state) {
  (void)state;
  assert_true(is_cheap_loop(0));
  assert_true(is_cheap_loop(5));
  assert_false(is_cheap_loop(100));
  assert_false(is_cheap_loop(1000000));
}

static void short_transforms_are_cheap(void** state) {
  (void)state;
  assert_true(
      is_cheap_as("%c = stablehlo.complex %a, %a : tensor<64x64xcomplex<f32>>\n"
                  "%r = stablehlo.fft %c, type = FFT, length = [64] : "
                  "(tensor<64x64xcomplex<f32>>) -> tensor<64x64xcomplex<f32>>",
                  "64x64xcomplex<f32>", true));
  assert_false(
      is_cheap_as("%c = stablehlo.complex %b, %b : tensor<1024x1024xcomplex<f32>>\n"
                  "%r = stablehlo.fft %c, type = FFT, length = [1024] : "
                  "(tensor<1024x1024xcomplex<f32>>) -> tensor<1024x1024xcomplex<f32>>",
                  "1024x1024xcomplex<f32>", true));
}

static void small_factorisations_are_cheap(void** state) {
  (void)state;
  assert_true(is_cheap_as("%r = stablehlo.cholesky %a, lower = true : tensor<64x64xf32>",
                          "64x64xf32", true));
  assert_false(is_cheap_as("%r = stablehlo.cholesky %b, lower = true : tensor<1024x1024xf32>",
                           "1024x1024xf32", true));
  const char* values =
      "%r, %j = stablehlo.custom_call @NAME(%a) : (tensor<64x64xf32>) -> "
      "(tensor<64x64xf32>, tensor<i32>)";
  static const char* const names[] = {"lapack_spotrf_ffi", "lapack_ssyevd_ffi", "somebody_elses"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char body[256];
    const char* place = strstr(values, "NAME");
    snprintf(body, sizeof body, "%.*s%s%s", (int)(place - values), values, names[i], place + 4);
    assert_int_equal(is_cheap_as(body, "64x64xf32", true), i == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(little_work_is_cheap),
      cmocka_unit_test(legacy_products_are_counted),
      cmocka_unit_test(much_work_and_loops_are_not),
      cmocka_unit_test(machine_code_does_more),
      cmocka_unit_test(loops_count_as_often_as_they_run),
      cmocka_unit_test(short_transforms_are_cheap),
      cmocka_unit_test(small_factorisations_are_cheap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
