// SPDX-License-Identifier: Apache-2.0
// Which nodes can be members of a fusion at all, and what the bodies of reductions are (see
// tiled.h).
#include "codegen/dot/matmul.h"
#include "codegen/elementwise.h"
#include "codegen/tiled_impl.h"
#include "interp/ref_dot.h"

enum { MAX_WINDOW = 64 };  // elements of a reduce_window that loops compute

static bool is_compare(const hlo_value_t* value, int64_t direction, const hlo_value_t* x,
                       const hlo_value_t* y) {
  const hlo_node_t* node = value->def;
  return node && node->op == HLO_OP_compare && hlo_node_operand(node, 0) == x &&
         hlo_node_operand(node, 1) == y &&
         hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1) == direction;
}

// `value` is a or b (in this order of operands).
static bool is_binary(const hlo_value_t* value, hlo_op_t op, const hlo_value_t** a,
                      const hlo_value_t** b) {
  if (!value->def || value->def->op != op) return false;
  *a = hlo_node_operand(value->def, 0);
  *b = hlo_node_operand(value->def, 1);
  return true;
}

static bool is_selection(const hlo_value_t* value, const hlo_value_t** condition,
                         const hlo_value_t* x, const hlo_value_t* y) {
  if (!value->def || value->def->op != HLO_OP_select) return false;
  *condition = hlo_node_operand(value->def, 0);
  return hlo_node_operand(value->def, 1) == x && hlo_node_operand(value->def, 2) == y;
}

// The body that frameworks emit for argmax and argmin: the better value (NaN is best), of equal
// ones that with the smaller index; so the order of combination does not matter.
hlo_op_t hlo_tiled_arg_reducer(const hlo_node_t* node) {
  const hlo_region_t* body = node->op == HLO_OP_reduce ? node->regions[0] : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || node->result_count != 2 || body->arg_count != 4 || end->operand_count != 2 ||
      !hlo_dtype_is_integer(node->results[1].type->dtype)) {
    return HLO_OP_COUNT;
  }
  const hlo_value_t *x = body->args[0], *i = body->args[1], *y = body->args[2], *j = body->args[3];
  const hlo_value_t *pick, *pick_index, *better, *again, *tie, *is_equal, *is_first;
  if (!is_selection(hlo_node_operand(end, 0), &pick, x, y) ||
      !is_selection(hlo_node_operand(end, 1), &pick_index, i, j) ||
      !is_binary(pick_index, HLO_OP_or, &again, &tie) || again != pick ||
      !is_binary(tie, HLO_OP_and, &is_equal, &is_first) ||
      !is_compare(is_equal, HLO_COMPARISON_DIRECTION_EQ, x, y) ||
      !is_compare(is_first, HLO_COMPARISON_DIRECTION_LT, i, j)) {
    return HLO_OP_COUNT;
  }
  const hlo_value_t* is_nan;
  better = pick;
  if (is_binary(pick, HLO_OP_or, &better, &is_nan)) {
    if (!is_compare(is_nan, HLO_COMPARISON_DIRECTION_NE, x, x)) return HLO_OP_COUNT;
  } else if (hlo_dtype_is_float(node->results[0].type->dtype)) {
    return HLO_OP_COUNT;  // what NaN does depends on the order
  }
  if (is_compare(better, HLO_COMPARISON_DIRECTION_GT, x, y)) return HLO_OP_maximum;
  if (is_compare(better, HLO_COMPARISON_DIRECTION_LT, x, y)) return HLO_OP_minimum;
  return HLO_OP_COUNT;
}

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
  if (node->region_count == 0) return HLO_OP_add;  // dot_general
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  uint32_t count = node->result_count;
  if (!end || end->operand_count != count || body->arg_count != 2 * count) return HLO_OP_COUNT;
  const hlo_node_t* node_of = hlo_node_operand(end, result)->def;
  if (!node_of || node_of->operand_count != 2 || node_of->parent != body) return HLO_OP_COUNT;
  const hlo_value_t *a = hlo_node_operand(node_of, 0), *b = hlo_node_operand(node_of, 1);
  const hlo_value_t *x = body->args[result], *y = body->args[count + result];
  if (!((a == x && b == y) || (a == y && b == x))) return HLO_OP_COUNT;
  switch (node_of->op) {
    case HLO_OP_add: case HLO_OP_multiply: case HLO_OP_maximum: case HLO_OP_minimum:
    case HLO_OP_and: case HLO_OP_or: case HLO_OP_xor:
      return node_of->op;
    default: return HLO_OP_COUNT;
  }
}

static bool supports_types(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count + node->result_count; ++i) {
    const hlo_type_t* type = i < node->operand_count
                                 ? hlo_node_operand_type(node, i)
                                 : node->results[i - node->operand_count].type;
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
  if (hlo_tiled_arg_reducer(node) != HLO_OP_COUNT) return true;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_tiled_reducer(node, i) == HLO_OP_COUNT) return false;
    if (node->results[i].type->dtype != hlo_node_operand_type(node, i)->dtype) return false;
  }
  return true;
}

// Many windows that reach back to the beginning of a dimension, or on to its end: the reference
// goes along it once. Of few it takes the steps of each in order, which loops do sooner.
static bool is_long_scan(const hlo_node_t* node, uint32_t rank, const int64_t* window) {
  enum { SHORT = 8, STEPS = 1 << 18 };
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  for (uint32_t i = 0; i < rank; ++i) {
    const int64_t low = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * i, 0);
    const int64_t high = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * i + 1, 0);
    if (window[i] > SHORT && window[i] == operand->dims[i] && low + high == window[i] - 1 &&
        (low == 0 || high == 0) && hlo_type_element_count(operand) > STEPS / window[i]) {
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
    if (elements > MAX_WINDOW || hlo_node_attr_item(node, HLO_ATTR_base_dilations, i, 1) != 1) {
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
  if (!supports_types(node)) return false;
  uint32_t count;
  const int64_t* list;
  switch (node->op) {
    case HLO_OP_reshape: case HLO_OP_broadcast_in_dim: case HLO_OP_transpose: case HLO_OP_slice:
    case HLO_OP_reverse: case HLO_OP_dynamic_slice: case HLO_OP_gather: case HLO_OP_concatenate:
    case HLO_OP_iota:
      return true;
    case HLO_OP_constant: {
      const hlo_literal_t* literal = hlo_node_attr(node, HLO_ATTR_value)->literal;
      return literal->is_splat || literal->element_count == 1;
    }
    case HLO_OP_pad:
      list = hlo_node_attr_ints(node, HLO_ATTR_interior_padding, &count);
      return is_zero(list, count);
    case HLO_OP_dynamic_update_slice: return true;
    case HLO_OP_reduce: return supports_reduce(node);
    case HLO_OP_reduce_window: return supports_reduce_window(node);
    case HLO_OP_dot: case HLO_OP_dot_general: return supports_dot(node);
    case HLO_OP_convolution: return hlo_matmul_supports(node);
    default: return hlo_elementwise_supports(node);
  }
}
