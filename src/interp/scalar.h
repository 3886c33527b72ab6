// SPDX-License-Identifier: Apache-2.0
// Elementwise ops as plain functions on single elements and on arrays of elements, for callers that
// apply an op many times without creating tensors: region functions, reductions, scatters.
#pragma once

#include "ir/module.h"

/// Computes one element: args[i] points at an element of operand i, `result` at room for one
/// element. `result` may be one of the args.
typedef void (*hlo_scalar_fn_t)(const void* const* args, void* result);
/// Computes `count` consecutive elements; `out` may equal one of the inputs but not overlap it
/// partially.
typedef void (*hlo_loop_fn_t)(const void* const* in, void* out, size_t count);

/// Returns the function of an op whose operands have element type `dtype` (select: that of the
/// values). NULL if the op has no function for the type: float types below 32 bits (see
/// hlo_scalar_step_t), ops that need attributes (compare: see below; convert: hlo_dtype_convert())
/// and ops that are not elementwise.
hlo_scalar_fn_t hlo_ref_scalar(hlo_op_t op, hlo_dtype_t dtype);
hlo_loop_fn_t hlo_ref_loop(hlo_op_t op, hlo_dtype_t dtype);
/// Returns the comparison `direction` (HLO_COMPARISON_DIRECTION_*) of the same types, or NULL as
/// above.
hlo_scalar_fn_t hlo_ref_scalar_compare(hlo_dtype_t dtype, int64_t direction, bool is_total_order);

/// One prepared node of a scalar body: every elementwise op of StableHLO and CHLO on every element
/// type, including compare and convert; no quantized types, no reduce_precision.
/// threads: immutable once prepared
typedef struct hlo_scalar_step {
  hlo_scalar_fn_t fn;  // NULL: convert
  hlo_loop_fn_t loop;  // `fn` for many elements
  hlo_dtype_t from;    // type of the operands (of operand 1 of select)
  hlo_dtype_t to;      // type of the result
  uint8_t arity;
  bool is_narrow;  // operands are widened to f32, the result (unless PRED) narrowed again
  bool is_select;  // operand 0 is PRED
} hlo_scalar_step_t;
/// An elementwise op described by its types, without a node.
typedef struct hlo_scalar_op {
  hlo_op_t op;
  uint32_t arity;
  hlo_dtype_t operands[3], result;
  int64_t direction;    // of compare
  bool is_total_order;  // of compare
} hlo_scalar_op_t;
/// Returns false if the op is not defined on these types.
bool hlo_scalar_op_prepare(const hlo_scalar_op_t* op, hlo_scalar_step_t* out_step);
/// Returns false if the node is not such an op (constants, tuples, nested regions ...).
bool hlo_scalar_step_prepare(const hlo_node_t* node, hlo_scalar_step_t* out_step);
void hlo_scalar_step_run_indirect(const hlo_scalar_step_t* step, const void* const* args,
                                  void* result);
static inline void hlo_scalar_step_run(const hlo_scalar_step_t* step, const void* const* args,
                                       void* result) {
  if (HLO_LIKELY(step->fn != NULL && !step->is_narrow)) {
    step->fn(args, result);
  } else {
    hlo_scalar_step_run_indirect(step, args, result);
  }
}

/// Runs the step on `count` consecutive elements; `result` may equal one of the args.
void hlo_scalar_step_run_many(const hlo_scalar_step_t* step, const void* const* args, void* result,
                              size_t count);
