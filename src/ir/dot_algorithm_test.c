// SPDX-License-Identifier: Apache-2.0
// Algorithms of products: their names, attributes and element types.
#include "ir/dot_algorithm.h"

#include "ir/test_util.h"

enum { TEXT_BYTES = 1024 };

static hlo_node_t* first_node(hlo_module_t* module) {
  return module->first_func->body->first;
}

// Makes a product of `dtype` with an f32, i64 or complex result, and an algorithm in the notation
// of attributes or "".
static hlo_module_t* product_module(const char* dtype, const char* algorithm) {
  const bool is_kept = strncmp(dtype, "complex", 7) == 0 || strcmp(dtype, "i64") == 0;
  const char* result = is_kept ? dtype : "f32";
  char text[TEXT_BYTES];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<4x%s>) -> tensor<%s> {\n"
           "  %%0 = stablehlo.dot_general %%x, %%x, contracting_dims = [0] x [0]%s : "
           "(tensor<4x%s>, tensor<4x%s>) -> tensor<%s>\n"
           "  return %%0 : tensor<%s>\n}\n",
           dtype, result, algorithm, dtype, dtype, result, result);
  return hlo_test_parse(text);
}

static const hlo_dot_algorithm_t* row_of(const hlo_node_t* node) {
  const hlo_dot_algorithm_t* row = NULL;
  hlo_test_check(hlo_dot_algorithm_find(node, &row));
  return row;
}

// The attributes of each row lead back to the row.
static void attributes_name_their_row(void** state) {
  (void)state;
  hlo_module_t* module = product_module("f32", "");
  hlo_node_t* node = first_node(module);
  assert_false(hlo_dot_has_algorithm(node));
  int64_t number = 1;
  const hlo_dot_algorithm_t* row;
  for (; (row = hlo_dot_algorithm_numbered(number)); ++number) {
    assert_ptr_equal(hlo_dot_algorithm_named(row->name, strlen(row->name)), row);
    hlo_named_attr_t attrs[HLO_DOT_ALGORITHM_ATTR_COUNT];
    hlo_dot_algorithm_attrs(module, row, attrs);
    for (uint32_t i = 0; i < HLO_DOT_ALGORITHM_ATTR_COUNT; ++i) {
      hlo_node_set_attr(node, attrs[i].id, attrs[i].value);
    }
    hlo_test_check(hlo_module_verify(module, NULL));
    assert_true(hlo_dot_has_algorithm(node));
    assert_ptr_equal(row_of(node), row);
  }
  assert_int_equal(number, 14);
  assert_null(hlo_dot_algorithm_numbered(0));
  assert_null(hlo_dot_algorithm_named("dot_f32_f32_f3", 14));
  hlo_module_release(module);
}

#define ALGORITHM(lhs, rhs, sum, lhs_count, rhs_count, products, imprecise)     \
  ", algorithm = <lhs_precision_type = " lhs ", rhs_precision_type = " rhs      \
  ", accumulation_type = " sum ", lhs_component_count = " lhs_count             \
  ", rhs_component_count = " rhs_count ", num_primitive_operations = " products \
  ", allow_imprecise_accumulation = " imprecise ">"

static void expect_row(const char* algorithm, const char* name) {
  hlo_module_t* module = product_module("f32", algorithm);
  assert_string_equal(row_of(first_node(module))->name, name);
  hlo_module_release(module);
}

static void components_may_be_counted(void** state) {
  (void)state;
  expect_row(ALGORITHM("bf16", "bf16", "f32", "1", "1", "6", "false"), "dot_bf16_bf16_f32_x6");
  expect_row(ALGORITHM("bf16", "bf16", "f32", "3", "3", "6", "false"), "dot_bf16_bf16_f32_x6");
  expect_row(ALGORITHM("tf32", "tf32", "f32", "2", "2", "3", "false"), "dot_tf32_tf32_f32_x3");
  expect_row(ALGORITHM("f8E4M3FN", "f8E5M2", "f32", "1", "1", "1", "true"),
             "dot_any_f8_any_f8_f32_fast_accum");
}

static void expect_types(const char* dtype, const char* algorithm, hlo_dtype_t operand,
                         hlo_dtype_t result) {
  hlo_module_t* module = product_module(dtype, algorithm);
  hlo_dot_types_t types;
  hlo_test_check(hlo_dot_algorithm_types(first_node(module), &types));
  assert_int_equal(types.operands[0], operand);
  assert_int_equal(types.operands[1], operand);
  assert_int_equal(types.result, result);
  hlo_module_release(module);
}

static void element_types_compute_the_algorithm(void** state) {
  (void)state;
  expect_types("f32", ALGORITHM("bf16", "bf16", "f32", "1", "1", "1", "false"), HLO_DTYPE_BF16,
               HLO_DTYPE_F32);
  expect_types("bf16", ALGORITHM("bf16", "bf16", "f32", "1", "1", "9", "false"), HLO_DTYPE_F32,
               HLO_DTYPE_F32);
  expect_types("f64", ALGORITHM("f16", "f16", "f16", "1", "1", "1", "false"), HLO_DTYPE_F16,
               HLO_DTYPE_F16);
  expect_types("f32", ALGORITHM("f64", "f64", "f64", "1", "1", "1", "false"), HLO_DTYPE_F64,
               HLO_DTYPE_F32);
  expect_types("f8E4M3FN", ALGORITHM("f8E5M2", "f8E5M2", "f32", "1", "1", "1", "false"),
               HLO_DTYPE_F8E4M3FN, HLO_DTYPE_F32);
}

static void expect_refusal(const char* dtype, const char* algorithm, const char* part) {
  hlo_module_t* module = product_module(dtype, algorithm);
  hlo_dot_types_t types;
  hlo_status_t status = hlo_dot_algorithm_types(first_node(module), &types);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
  hlo_module_release(module);
}

static void integers_keep_their_types(void** state) {
  (void)state;
  hlo_module_t* module =
      product_module("i64", ALGORITHM("tf32", "tf32", "f32", "1", "1", "1", "false"));
  hlo_dot_types_t types;
  assert_true(hlo_status_is_ok(hlo_dot_algorithm_types(first_node(module), &types)));
  assert_int_equal(types.operands[0], HLO_DTYPE_S64);
  assert_int_equal(types.operands[1], HLO_DTYPE_S64);
  assert_int_equal(types.result, HLO_DTYPE_S64);
  hlo_module_release(module);
}

static void others_are_refused_by_name(void** state) {
  (void)state;
  expect_refusal(
      "f32", ALGORITHM("bf16", "f32", "f32", "1", "1", "1", "false"),
      "bf16 times f32, accumulated in f32, with 1 and 1 components and 1 products is not");
  expect_refusal("f32", ALGORITHM("f32", "f32", "f32", "1", "3", "1", "false"), "1 and 3 comp");
  expect_refusal("f32", ALGORITHM("f32", "f32", "f32", "1", "1", "1", "true"),
                 "imprecise accumulation");
  expect_refusal("i32", ALGORITHM("f8E5M2", "f8E5M2", "f32", "1", "1", "1", "false"),
                 "multiplies 8-bit floats and gives floats, but the operands are i32");
  expect_refusal("complex<f32>", ALGORITHM("f32", "f32", "f32", "1", "1", "1", "false"),
                 "complex<f32>");
  expect_refusal("f32", ALGORITHM("f8E5M2", "f8E5M2", "f32", "1", "1", "1", "false"),
                 "dot_any_f8_any_f8_f32 multiplies 8-bit floats");
}

static void expect_fault(const char* attributes, const char* part) {
  char text[TEXT_BYTES];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<4xf32>) -> tensor<f32> {\n"
           "  %%0 = stablehlo.dot_general %%x, %%x, contracting_dims = [0] x [0]%s : "
           "(tensor<4xf32>, tensor<4xf32>) -> tensor<f32>\n"
           "  return %%0 : tensor<f32>\n}\n",
           attributes);
  hlo_module_t* module = NULL;
  hlo_test_check(hlo_parse_module(text, strlen(text), "test", NULL, &module));
  hlo_status_t status = hlo_module_verify(module, NULL);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
  hlo_module_release(module);
}

static void attributes_are_verified(void** state) {
  (void)state;
  expect_fault(
      ", precision = [DEFAULT, HIGHEST]" ALGORITHM("f32", "f32", "f32", "1", "1", "1", "false"),
      "the precision of both operands must be DEFAULT");
  expect_fault(ALGORITHM("f32", "f32", "f32", "1", "0", "1", "false"),
               "rhs_component_count is 0, not positive");
  hlo_module_t* module =
      product_module("f32", ALGORITHM("f32", "f32", "f32", "1", "1", "1", "false"));
  hlo_node_set_attr(first_node(module), HLO_ATTR_accumulation_type, NULL);
  hlo_status_t status = hlo_module_verify(module, NULL);
  assert_non_null(strstr(hlo_status_message(status), "6 of the 7 attributes of an algorithm"));
  hlo_status_release(status);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_name_their_row),
      cmocka_unit_test(components_may_be_counted),
      cmocka_unit_test(element_types_compute_the_algorithm),
      cmocka_unit_test(integers_keep_their_types),
      cmocka_unit_test(others_are_refused_by_name),
      cmocka_unit_test(attributes_are_verified),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
