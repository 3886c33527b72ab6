// SPDX-License-Identifier: Apache-2.0
// Custom calls: the hook of the evaluation is asked first (FFI handlers, callbacks), then the table
// below.
#include "interp/custom_call.h"

#include <string.h>

#include "interp/eval_impl.h"
#include "ir/check.h"

static hlo_status_t expect_operands(const hlo_node_t* node, uint32_t count) {
  if (node->operand_count == count) return hlo_ok();
  return hlo_node_invalid(node, "@%s has %u operands, expected %u", hlo_custom_call_target(node),
                          node->operand_count, count);
}

// ---- checks -------------------------------------------------------------------------------------

// A check that has a result returns true; a failed check is an error anyway.
static hlo_status_t custom_check(HLO_REF_ARGUMENTS) {
  HLO_TRY(expect_operands(node, 2));
  HLO_TRY(hlo_check_operands(node, operands));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hlo_eval_result(eval, node, i, &results[i]));
    memset(results[i]->data, 1, results[i]->size_bytes);
  }
  return hlo_ok();
}

static hlo_status_t custom_shape_assertion(HLO_REF_ARGUMENTS) {
  if (!node->operand_count || operands[0]->kind != HLO_TYPE_TENSOR) return expect_operands(node, 1);
  if (hlo_tensor_int(operands[0], 0)) return hlo_ok();
  enum { NAMED_MAX = 10 };  // {0} to {9}
  int64_t values[NAMED_MAX];
  uint32_t count = 0;
  for (uint32_t i = 1; i < node->operand_count && count < NAMED_MAX; ++i) {
    if (operands[i]->kind != HLO_TYPE_TENSOR) break;
    values[count++] = hlo_tensor_int(operands[i], 0);
  }
  return hlo_node_annotate(node, hlo_check_shape_error(node, count, values));
}

// ---- annotations --------------------------------------------------------------------------------

// Annotations for a partitioner: on one process they return their operands.
static hlo_status_t custom_identity(HLO_REF_ARGUMENTS) {
  if (node->operand_count < node->result_count) return expect_operands(node, node->result_count);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    bool is_alike = type->kind == operands[i]->kind && type->rank == operands[i]->rank;
    for (uint32_t d = 0; is_alike && d < type->rank; ++d) {
      is_alike = type->dims[d] < 0 || type->dims[d] == operands[i]->dims[d];
    }
    if (!is_alike) {
      return hlo_node_unimplemented(node, "@%s changes a shape: partition the module first",
                                    hlo_custom_call_target(node));
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) results[i] = hlo_tensor_retain(operands[i]);
  return hlo_ok();
}

// Pin and Unpin convert an array to a buffer and back. CreateBuffer has no operand and returns
// zeros. Values are immutable here, so in-place updates get a copy.
static hlo_status_t custom_pin(HLO_REF_ARGUMENTS) {
  if (node->result_count != 1 || node->operand_count > 1) return expect_operands(node, 1);
  const hlo_type_t* type = node->results[0].type;
  HLO_TRY(hlo_eval_result(eval, node, 0, &results[0]));
  if (node->operand_count == 0) {
    memset(results[0]->data, 0, results[0]->size_bytes);
    return hlo_ok();
  }
  if (operands[0]->dtype != type->dtype || operands[0]->size_bytes != results[0]->size_bytes) {
    return hlo_node_invalid(node, "@%s changes a type", hlo_custom_call_target(node));
  }
  memcpy(results[0]->data, operands[0]->data, results[0]->size_bytes);
  return hlo_ok();
}

static hlo_status_t custom_nothing(HLO_REF_ARGUMENTS) {
  if (node->result_count == 0) return hlo_ok();
  return hlo_node_invalid(node, "@%s has no results", hlo_custom_call_target(node));
}

// ---- the table ----------------------------------------------------------------------------------

static const hlo_ref_fn_t functions[HLO_CUSTOM_FUNCTION_COUNT] = {
    [HLO_CUSTOM_check_eq... HLO_CUSTOM_check_expect_almost_eq] = custom_check,
    [HLO_CUSTOM_shape_assertion] = custom_shape_assertion,
    [HLO_CUSTOM_identity] = custom_identity,
    [HLO_CUSTOM_pin] = custom_pin,
    [HLO_CUSTOM_nothing... HLO_CUSTOM_control_dep] = custom_nothing,
    [HLO_CUSTOM_top_k] = hlo_ref_chlo_top_k,
    [HLO_CUSTOM_approx_top_k] = hlo_ref_chlo_top_k,
    [HLO_CUSTOM_acos] = hlo_ref_chlo_acos,
    [HLO_CUSTOM_acosh] = hlo_ref_chlo_acosh,
    [HLO_CUSTOM_asin] = hlo_ref_chlo_asin,
    [HLO_CUSTOM_asinh] = hlo_ref_chlo_asinh,
    [HLO_CUSTOM_atanh] = hlo_ref_chlo_atanh,
    [HLO_CUSTOM_cosh] = hlo_ref_chlo_cosh,
    [HLO_CUSTOM_erf] = hlo_ref_chlo_erf,
    [HLO_CUSTOM_sinh] = hlo_ref_chlo_sinh,
    [HLO_CUSTOM_tan] = hlo_ref_chlo_tan,
    [HLO_CUSTOM_potrf... HLO_CUSTOM_gtsv_perturbed] = hlo_custom_lapack,
};

hlo_status_t hlo_ref_custom_call(HLO_REF_ARGUMENTS) {
  if (eval->options.custom_call) {
    bool is_handled = false, is_pending = false;
    hlo_status_t status =
        eval->options.custom_call(eval->options.custom_call_context, eval, node, operands, results,
                                  &eval->op_state, &is_handled, &is_pending);
    if (!hlo_status_is_ok(status)) return hlo_node_annotate(node, status);
    if (is_pending) hlo_eval_suspend(eval);
    if (is_handled || is_pending) return hlo_ok();
  }
  const hlo_custom_function_t function = hlo_custom_function_of(node);
  if (function == HLO_CUSTOM_FUNCTION_COUNT) return hlo_custom_call_unknown(node);
  return functions[function](eval, node, operands, results);
}
