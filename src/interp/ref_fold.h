// SPDX-License-Identifier: Apache-2.0
// Shared by ops that fold elements with a region: reduce, reduce_window, select_and_scatter,
// scatter.
#pragma once

#include "interp/eval.h"
#include "interp/ref_util.h"

/// Returns `tensor` in another element type: a new tensor, or a new reference if it already has the
/// type.
hlo_status_t hlo_tensor_as(hlo_tensor_t* tensor, hlo_dtype_t dtype,
                           hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Operands of a folding node, `count` inputs then as many initial values, in the element types of
/// the body's second and first arguments (a body may be wider than its inputs).
typedef struct hlo_fold_operands {
  uint32_t count;
  hlo_tensor_t** inputs;  // owned
  hlo_tensor_t** inits;   // owned
  hlo_region_fn_t* fn;    // owned: the body
  // Sums and products of floats: inputs, initial values and results are doubles (C128 for complex
  // numbers) until the end, so that they are rounded once. HLO_DTYPE_INVALID: the body runs.
  hlo_dtype_t wide;
  bool is_product;  // of wide numbers, else a sum
} hlo_fold_operands_t;

/// Runs the body on `count` consecutive elements each: args: accumulators, then elements.
hlo_status_t hlo_fold_step(const hlo_fold_operands_t* fold, size_t count, const void* const* args,
                           void* const* outs) HLO_MUST_USE;

/// Creates results with these dims, filled with the initial values. errors: INVALID_ARGUMENT
/// (inputs of different shapes)
hlo_status_t hlo_fold_results(hlo_eval_t* eval, const hlo_node_t* node,
                              const hlo_fold_operands_t* fold, uint32_t rank, const int64_t* dims,
                              hlo_tensor_t** results) HLO_MUST_USE;

/// Runs `run` on the prepared operands of a node with inputs and as many initial values. On failure
/// no result is set.
typedef hlo_status_t (*hlo_fold_run_fn_t)(hlo_eval_t* eval, const hlo_node_t* node,
                                          const hlo_fold_operands_t* fold, hlo_tensor_t** results);
hlo_status_t hlo_fold_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                          hlo_tensor_t** results, hlo_fold_run_fn_t run) HLO_MUST_USE;
