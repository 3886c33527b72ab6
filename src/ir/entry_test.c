// SPDX-License-Identifier: Apache-2.0
// Pairing of donated arguments with results.
#include "ir/entry.h"

#include "ir/test_util.h"

#define DONOR(dtype) "tensor<4x" dtype "> {jax.buffer_donor = true}"

static void donors_go_to_results_of_their_size(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse("func.func @main(%a: " DONOR("f64") ", %b: " DONOR(
      "i32") ",\n"
             "    %c: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %d: " DONOR(
                 "f32") ",\n"
                        "    %e: " DONOR(
                            "f32") ", %f: tensor<4xf32>)\n"
                                   "    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {\n"
                                   "  return %f, %f, %f : tensor<4xf32>, tensor<4xf32>, "
                                   "tensor<4xf32>\n}\n");
  const uint32_t none = HLO_DONATED_NOWHERE;
  uint32_t results[6], arguments[3];
  hlo_func_pair_donations(module->first_func, results, arguments);
  assert_memory_equal(results, ((uint32_t[]){none, 0, 1, 2, none, none}), sizeof results);
  assert_memory_equal(arguments, ((uint32_t[]){1, 2, 3}), sizeof arguments);
  hlo_module_release(module);
}

static void donors_go_to_results_of_their_layout(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(
      "func.func @main(%a: tensor<2x4xf32> {jax.buffer_donor = true, hlocc.layout = array<i64: 0, "
      "1>}, %b: tensor<2x4xf32> {jax.buffer_donor = true})\n"
      "    -> (tensor<2x4xf32>, tensor<2x4xf32> {hlocc.layout = array<i64: 0, 1>}) {\n"
      "  return %b, %a : tensor<2x4xf32>, tensor<2x4xf32>\n}\n");
  uint32_t results[2], arguments[2];
  hlo_func_pair_donations(module->first_func, results, arguments);
  assert_memory_equal(results, ((uint32_t[]){1, 0}), sizeof results);
  assert_memory_equal(arguments, ((uint32_t[]){1, 0}), sizeof arguments);
  hlo_module_release(module);
}

static void donors_go_to_results_of_their_memory_kind(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(
      "func.func @main(%a: tensor<4xf32> {jax.buffer_donor = true},\n"
      "    %b: tensor<4xf32> {jax.buffer_donor = true, mhlo.memory_kind = \"pinned_host\"})\n"
      "    -> (tensor<4xf32> {mhlo.memory_kind = \"unpinned_host\"},\n"
      "        tensor<4xf32> {mhlo.memory_kind = \"pinned_host\"},\n"
      "        tensor<4xf32> {mhlo.memory_kind = \"device\"}) {\n"
      "  return %a, %a, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n}\n");
  uint32_t results[2], arguments[3];
  hlo_func_pair_donations(module->first_func, results, arguments);
  assert_memory_equal(results, ((uint32_t[]){2, 1}), sizeof results);
  assert_memory_equal(arguments, ((uint32_t[]){HLO_DONATED_NOWHERE, 1, 0}), sizeof arguments);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(donors_go_to_results_of_their_size),
                                     cmocka_unit_test(donors_go_to_results_of_their_layout),
                                     cmocka_unit_test(donors_go_to_results_of_their_memory_kind)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
