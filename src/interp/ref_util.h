// SPDX-License-Identifier: Apache-2.0
// Helpers shared by several families of reference functions: clamping of indices, and reshaped
// views.
#pragma once

#include <assert.h>

#include "base/copy.h"
#include "interp/eval.h"
#include "ir/module.h"

static_assert(HLO_SHAPE_RANK_LIMIT == HLO_RANK_MAX, "a strided view holds tensors of any rank");

static inline int64_t hlo_index_clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

static inline size_t hlo_tensor_element_bytes(const hlo_tensor_t* tensor) {
  return hlo_dtype_size_bytes(tensor->dtype);
}

/// Computes the row-major strides of a tensor, in bytes.
static inline void hlo_tensor_strides(const hlo_tensor_t* tensor, int64_t* out_strides) {
  hlo_strided_dense(hlo_tensor_element_bytes(tensor), tensor->rank, tensor->dims, out_strides);
}

/// Returns result i with the elements of operand k in the given dims, in the operand's storage
/// where possible.
/// errors: INTERNAL if the element counts differ
hlo_status_t hlo_move_reshape(const hlo_node_t* node, uint32_t i, hlo_tensor_t** operands,
                              uint32_t k, uint32_t rank, const int64_t* dims,
                              hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Reads the elements of an integer tensor of rank 1 as int64, at most `capacity` of them.
void hlo_tensor_read_ints(const hlo_tensor_t* tensor, uint32_t capacity, int64_t* out_values);

/// Pads `operand` with a scalar; the amounts may be negative. The caller has checked the dims.
hlo_status_t hlo_move_pad(hlo_eval_t* eval, const hlo_node_t* node, const hlo_tensor_t* operand,
                          const hlo_tensor_t* value, const int64_t* low, const int64_t* high,
                          const int64_t* interior, hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Copies the strided slice of `operand` from `starts`, of `dims` elements per dimension.
hlo_status_t hlo_move_slice(hlo_eval_t* eval, const hlo_node_t* node, const hlo_tensor_t* operand,
                            const int64_t* starts, const int64_t* strides, const int64_t* dims,
                            hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Copies the slice from `starts` to `limits`, checked. errors: INVALID_ARGUMENT
hlo_status_t hlo_move_slice_to(hlo_eval_t* eval, const hlo_node_t* node,
                               const hlo_tensor_t* operand, const int64_t* starts,
                               const int64_t* limits, const int64_t* strides,
                               hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Broadcasts operand 0 to `dims`; its dimension d becomes `mapping[d]`.
hlo_status_t hlo_move_broadcast(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                const int64_t* mapping, uint32_t rank, const int64_t* dims,
                                hlo_tensor_t** out_tensor) HLO_MUST_USE;
