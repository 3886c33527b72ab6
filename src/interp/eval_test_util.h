// SPDX-License-Identifier: Apache-2.0
// For tests of the evaluator: short ways to build modules by hand and to run them.
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "interp/program.h"

static inline void hlo_test_must(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static inline hlo_module_t* hlo_test_new_module(void) {
  hlo_module_t* module = NULL;
  hlo_test_must(hlo_module_create(0, &module));
  return module;
}

static inline const hlo_type_t* hlo_test_scalar_type(hlo_module_t* m, hlo_dtype_t dtype) {
  return hlo_type_tensor(m, dtype, 0, NULL);
}

static inline const hlo_type_t* hlo_test_vector_type(hlo_module_t* m, hlo_dtype_t dtype,
                                                     int64_t count) {
  return hlo_type_tensor(m, dtype, 1, &count);
}

/// Appends a node to `region`; operands and types end with NULL.
static inline hlo_node_t* hlo_test_add_node(hlo_region_t* region, hlo_op_t op,
                                            hlo_value_t* const* operands,
                                            const hlo_type_t* const* types, uint32_t attr_count,
                                            const hlo_named_attr_t* attrs, uint32_t region_count) {
  hlo_node_spec_t spec = {.op = op,
                          .operands = operands,
                          .result_types = types,
                          .attr_count = attr_count,
                          .attrs = attrs,
                          .region_count = region_count};
  while (operands && operands[spec.operand_count]) ++spec.operand_count;
  while (types && types[spec.result_count]) ++spec.result_count;
  hlo_node_t* node = hlo_node_create(region->module, &spec);
  hlo_region_append(region, node);
  return node;
}

#define VALUES(...) ((hlo_value_t*[]){__VA_ARGS__, NULL})
#define TYPES(...) ((const hlo_type_t*[]){__VA_ARGS__, NULL})

/// Appends an op with one result of its first operand's type.
static inline hlo_value_t* hlo_test_add_op(hlo_region_t* region, hlo_op_t op,
                                           hlo_value_t* const* operands) {
  return &hlo_test_add_node(region, op, operands, TYPES(operands[0]->type), 0, NULL, 0)->results[0];
}

static inline hlo_value_t* hlo_test_add_compare(hlo_region_t* region, int64_t direction,
                                                hlo_value_t* lhs, hlo_value_t* rhs,
                                                int64_t compare_type) {
  hlo_module_t* m = region->module;
  hlo_named_attr_t attrs[2] = {
      {HLO_ATTR_comparison_direction, hlo_attr_enum(m, HLO_ENUM_COMPARISON_DIRECTION, direction)},
      {HLO_ATTR_compare_type, hlo_attr_enum(m, HLO_ENUM_COMPARISON_TYPE, compare_type)}};
  return &hlo_test_add_node(region, HLO_OP_compare, VALUES(lhs, rhs),
                            TYPES(hlo_type_with_dtype(m, lhs->type, HLO_DTYPE_PRED)), 2, attrs, 0)
              ->results[0];
}

static inline hlo_value_t* hlo_test_add_constant(hlo_region_t* region, const hlo_type_t* type,
                                                 const void* data, bool is_splat) {
  hlo_literal_t* literal = NULL;
  hlo_test_must(hlo_literal_create(type->dtype, type->rank, type->dims, is_splat, &literal));
  memcpy(hlo_literal_mutable_data(literal), data, literal->data_bytes);
  hlo_named_attr_t value = {HLO_ATTR_value, hlo_attr_literal(region->module, type, literal)};
  hlo_literal_release(literal);
  return &hlo_test_add_node(region, HLO_OP_constant, NULL, TYPES(type), 1, &value, 0)->results[0];
}

static inline hlo_value_t* hlo_test_add_s32(hlo_region_t* region, int32_t value) {
  return hlo_test_add_constant(region, hlo_test_scalar_type(region->module, HLO_DTYPE_S32), &value,
                               true);
}

static inline hlo_value_t* hlo_test_add_f32(hlo_region_t* region, float value) {
  return hlo_test_add_constant(region, hlo_test_scalar_type(region->module, HLO_DTYPE_F32), &value,
                               true);
}

static inline hlo_func_t* hlo_test_add_func(hlo_module_t* m, const char* name,
                                            const hlo_type_t* const* inputs,
                                            const hlo_type_t* const* results) {
  uint32_t input_count = 0, result_count = 0;
  while (inputs && inputs[input_count]) ++input_count;
  while (results && results[result_count]) ++result_count;
  const hlo_type_t* type = hlo_type_function(m, input_count, inputs, result_count, results);
  return hlo_func_create(m, name, type, HLO_PUBLIC, true, 0);
}

static inline void hlo_test_add_return(hlo_region_t* region, hlo_value_t* const* values) {
  hlo_op_t op = region->parent ? HLO_OP_return : HLO_OP_func_return;
  hlo_test_add_node(region, op, values, NULL, 0, NULL, 0);
}

static inline hlo_tensor_t* hlo_test_s32_tensor(int32_t value) {
  hlo_tensor_t* tensor = NULL;
  hlo_test_must(hlo_tensor_create(HLO_DTYPE_S32, 0, NULL, &tensor));
  memcpy(tensor->data, &value, sizeof(value));
  return tensor;
}

static inline hlo_tensor_t* hlo_test_vector_tensor(hlo_dtype_t dtype, int64_t count,
                                                   const void* data) {
  hlo_tensor_t* tensor = NULL;
  hlo_test_must(hlo_tensor_create(dtype, 1, &count, &tensor));
  if (tensor->size_bytes) memcpy(tensor->data, data, tensor->size_bytes);
  return tensor;
}

/// Prepares the module and calls its entry; the outputs are new references.
static inline hlo_status_t hlo_test_run_entry(const hlo_module_t* m, uint32_t input_count,
                                              hlo_tensor_t* const* inputs, uint32_t output_count,
                                              hlo_tensor_t** outputs) {
  hlo_interp_program_t* program = NULL;
  hlo_test_must(hlo_interp_program_create(m, &program));
  hlo_status_t status = hlo_interp_call(program, hlo_module_entry(m), input_count, inputs,
                                        output_count, outputs, NULL);
  hlo_interp_program_release(program);
  return status;
}

static inline int32_t hlo_test_take_s32(hlo_tensor_t* tensor) {
  int32_t value;
  assert_int_equal(tensor->dtype, HLO_DTYPE_S32);
  memcpy(&value, tensor->data, sizeof(value));
  hlo_tensor_release(tensor);
  return value;
}
