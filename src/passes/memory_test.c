// SPDX-License-Identifier: Apache-2.0
// Tests passes that build bodies with memory exhausted at every allocation: NULL operands give NULL
// results.
#include "ir/test_util.h"
#include "passes/runner.h"

enum { MOST_LEFT = 24000, STEP = 96 };

// Parses a module with `left_bytes` bytes left in the arena's current block.
static hlo_module_t* parse_with_room(const char* text, size_t left_bytes) {
  enum { GRAIN = 32 };  // small enough not to open a new block
  hlo_module_t* module = hlo_test_parse(text);
  hlo_arena_t* arena = &module->arena;
  if ((size_t)(arena->end - arena->next) < left_bytes) hlo_arena_alloc(arena, 2 * left_bytes);
  while ((size_t)(arena->end - arena->next) > left_bytes + GRAIN) hlo_arena_alloc(arena, 1);
  return module;
}

static void check_passes(const char* passes, const char* text) {
  for (size_t left = 0; left < MOST_LEFT; left += STEP) {
    bool failed = true;
    for (uint64_t n = 1; failed; ++n) {
      hlo_module_t* module = parse_with_room(text, left);
      hlo_mem_fail_nth(n);
      hlo_status_t status = hlo_passes_run(module, passes, NULL);
      failed = hlo_mem_failed();
      hlo_mem_fail_nth(0);
      assert_int_equal(hlo_status_code(status), failed ? HLO_STATUS_RESOURCE_EXHAUSTED : 0);
      hlo_status_release(status);
      hlo_module_release(module);
    }
  }
}

static void test_layouts(void** state) {
  (void)state;
  check_passes("lower_layouts",
               "func.func @main(%x: tensor<2x8xf32> {mhlo.layout_mode = \"{0,1}\"})\n"
               "    -> (tensor<8x2xf32> {mhlo.layout_mode = \"auto\"},\n"
               "        tensor<2x8xf32> {mhlo.layout_mode = \"{0,1}\"}) {\n"
               "  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x8xf32>) -> "
               "tensor<8x2xf32>\n"
               "  return %0, %x : tensor<8x2xf32>, tensor<2x8xf32>\n"
               "}\n");
}

static void test_reduction(void** state) {
  (void)state;
  check_passes("slice_reduces",
               "func.func @main(%x: tensor<8xf32>) -> tensor<f32> {\n"
               "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "  %0 = \"stablehlo.reduce\"(%x, %z) ({\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %c = stablehlo.constant dense<0.5> : tensor<f32>\n"
               "    %s = stablehlo.add %a, %b : tensor<f32>\n"
               "    %t = stablehlo.add %s, %c : tensor<f32>\n"
               "    stablehlo.return %t : tensor<f32>\n"
               "  }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
               "  return %0 : tensor<f32>\n"
               "}\n");
}

static void test_lifted_windows(void** state) {
  (void)state;
  check_passes("lift_windows",
               "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
               "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "  %0 = \"stablehlo.reduce_window\"(%x, %z) <{window_dimensions = array<i64: 2>,\n"
               "      padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %s = stablehlo.add %a, %b : tensor<f32>\n"
               "    %t = stablehlo.multiply %s, %s : tensor<f32>\n"
               "    stablehlo.return %t : tensor<f32>\n"
               "  }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>\n"
               "  return %0 : tensor<8xf32>\n"
               "}\n");
}

static void test_scatter(void** state) {
  (void)state;
  check_passes("loop_scatter,single_scatter",
               "func.func @main(%x: tensor<2x8xf32>, %i: tensor<2x3x1xi32>, %u: tensor<2x3xf32>) "
               "-> tensor<2x8xf32> {\n"
               "  %0 = \"stablehlo.scatter\"(%x, %i, %u) ({\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %c = stablehlo.constant dense<0.5> : tensor<f32>\n"
               "    %s = stablehlo.subtract %a, %c : tensor<f32>\n"
               "    stablehlo.return %s : tensor<f32>\n"
               "  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], "
               "input_batching_dims = [0], scatter_indices_batching_dims = [0], "
               "scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<2x8xf32>, "
               "tensor<2x3x1xi32>, tensor<2x3xf32>) -> tensor<2x8xf32>\n"
               "  return %0 : tensor<2x8xf32>\n"
               "}\n");
}

static void test_windows(void** state) {
  (void)state;
  check_passes("select_windows",
               "func.func @main(%x: tensor<6xf32>, %s: tensor<3xf32>) -> tensor<6xf32> {\n"
               "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "  %0 = \"stablehlo.select_and_scatter\"(%x, %s, %z) ({\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
               "    stablehlo.return %p : tensor<i1>\n"
               "  }, {\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %t = stablehlo.add %a, %b : tensor<f32>\n"
               "    stablehlo.return %t : tensor<f32>\n"
               "  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : "
               "(tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>\n"
               "  return %0 : tensor<6xf32>\n"
               "}\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layouts),        cmocka_unit_test(test_reduction),
      cmocka_unit_test(test_lifted_windows), cmocka_unit_test(test_scatter),
      cmocka_unit_test(test_windows),
  };
  return cmocka_run_group_tests_name("passes/memory", tests, NULL, NULL);
}
