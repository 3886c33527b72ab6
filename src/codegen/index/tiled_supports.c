// SPDX-License-Identifier: Apache-2.0
// Decides which ops can be members of a fusion (see tiled.h).
#include "base/tuning.h"
#include "codegen/index/contraction.h"
#include "codegen/index/tiled_impl.h"
#include "codegen/math/elementwise.h"
#include "ir/dot_algorithm.h"
#include "ir/reducer.h"

hlo_dtype_t hlo_tiled_sum_dtype(const hlo_node_t* node) {
  if (node->op == HLO_OP_convolution) {
    return hlo_dot_compute_dtype(hlo_node_operand_type(node, 0)->dtype,
                                 hlo_node_operand_type(node, 1)->dtype,
                                 node->results[0].type->dtype);
  }
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c) ? c.dtype : HLO_DTYPE_F32;
}

hlo_op_t hlo_tiled_reducer(const hlo_node_t* node, uint32_t result) {
  return node->region_count == 0 ? HLO_OP_add : hlo_reduce_op(node, result);  // dot_general
}

bool hlo_tiled_supports_types(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count + node->result_count; ++i) {
    const hlo_type_t* type = hlo_node_type(node, i);
    if (type->kind != HLO_TYPE_TENSOR || type->quant || type->rank > HLO_TILED_MAX_RANK)
      return false;
    if (!hlo_elementwise_supports_dtype(type->dtype)) return false;
    int64_t count = hlo_type_element_count(type);
    if (count <= 0 || count > (int64_t)1 << 46) return false;
  }
  return node->result_count > 0;
}

static bool is_zero(const int64_t* list, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i]) return false;
  }
  return true;
}

static bool supports_reduce(const hlo_node_t* node) {
  if (hlo_reduce_arg_op(node) != HLO_OP_COUNT) return true;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_tiled_reducer(node, i) == HLO_OP_COUNT) return false;
    if (node->results[i].type->dtype != hlo_node_operand_type(node, i)->dtype) return false;
  }
  return true;
}

// Many windows that reach back to the beginning of a dimension, or on to its end, are faster as one
// running reduction by the reference. A few are computed by loops.
static bool is_long_scan(const hlo_node_t* node, uint32_t rank, const int64_t* window) {
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  for (uint32_t i = 0; i < rank; ++i) {
    const int64_t low = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * i, 0);
    const int64_t high = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * i + 1, 0);
    if (window[i] > HLO_TUNING_SCAN_SHORT && window[i] == operand->dims[i] &&
        low + high == window[i] - 1 && (low == 0 || high == 0) &&
        hlo_type_element_count(operand) > HLO_TUNING_SCAN_MIN_STEPS / window[i]) {
      return true;
    }
  }
  return false;
}

// Small windows without dilation of the operand: each output element reduces its own window.
static bool supports_reduce_window(const hlo_node_t* node) {
  uint32_t count;
  const int64_t* window = hlo_node_attr_ints(node, HLO_ATTR_window_dimensions, &count);
  int64_t elements = 1;
  for (uint32_t i = 0; i < count; ++i) {
    elements *= window[i];
    if (elements > HLO_TUNING_WINDOW_MAX_ELEMENTS ||
        hlo_node_attr_item(node, HLO_ATTR_base_dilations, i, 1) != 1) {
      return false;
    }
  }
  return node->result_count == 1 && !is_long_scan(node, count, window) && supports_reduce(node);
}

static bool supports_dot(const hlo_node_t* node) {
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c);
}

bool hlo_tiled_supports(const hlo_node_t* node) {
  if (!hlo_tiled_supports_types(node)) return false;
  uint32_t count;
  const int64_t* list;
  switch (node->op) {
    case HLO_OP_iota:
    case HLO_OP_dynamic_update_slice: return true;
    case HLO_OP_constant: {
      const hlo_literal_t* literal = hlo_node_attr(node, HLO_ATTR_value)->literal;
      return literal->is_splat || literal->element_count == 1;
    }
    case HLO_OP_pad:
      list = hlo_node_attr_ints(node, HLO_ATTR_interior_padding, &count);
      return is_zero(list, count);
    case HLO_OP_reduce: return supports_reduce(node);
    case HLO_OP_reduce_window: return supports_reduce_window(node);
    case HLO_OP_dot:
    case HLO_OP_dot_general: return supports_dot(node);
    default: return hlo_tiling_moves(node->op) || hlo_elementwise_supports(node);
  }
}
