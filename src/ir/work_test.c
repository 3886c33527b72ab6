// SPDX-License-Identifier: Apache-2.0
// Counts of the work of ops.
#include "ir/work.h"

#include "ir/test_util.h"

// The work of the first op of a function's body.
static double work_of(const char* arguments, const char* op, const char* result) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(
      &text, "func.func @main(%s) -> tensor<%s> {\n  %%r = %s\n  return %%r : tensor<%s>\n}\n",
      arguments, result, op, result);
  hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
  const double work = hlo_node_work(module->first_func->body->first);
  hlo_module_release(module);
  hlo_strbuf_deinit(&text);
  return work;
}

static void work_follows_the_cost_class(void** state) {
  (void)state;
  const char* pair = "%a: tensor<4x6xf32>, %b: tensor<6x5xf32>, %z: tensor<f32>";
  assert_true(work_of(pair, "stablehlo.tanh %a : tensor<4x6xf32>", "4x6xf32") == 24);
  assert_true(work_of(pair,
                      "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
                      "(tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>",
                      "4x5xf32") == 4 * 5 * 6);
  assert_true(
      work_of(pair,
              "stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
              "(tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>",
              "4xf32") == 24);
  assert_true(
      work_of("%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>",
              "stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
              "f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, "
              "feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> "
              "tensor<1x8x8x16xf32>",
              "1x8x8x16xf32") == 8 * 8 * 16 * 27);
}

static void bytes_are_those_of_operands_and_results(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(
      "func.func @main(%a: tensor<4xf32>) -> tensor<4xf64> {\n"
      "  %r = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf64>\n"
      "  return %r : tensor<4xf64>\n}\n");
  assert_true(hlo_node_work_bytes(module->first_func->body->first) == 16 + 32);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_follows_the_cost_class),
                                     cmocka_unit_test(bytes_are_those_of_operands_and_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
