// SPDX-License-Identifier: Apache-2.0
// Recognition of reducer bodies (see reducer.h).
#include "ir/reducer.h"

hlo_op_t hlo_reduce_op(const hlo_node_t* node, uint32_t result) {
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  uint32_t count = node->result_count;
  if (!end || end->operand_count != count || body->arg_count != 2 * count) return HLO_OP_COUNT;
  const hlo_node_t* node_of = hlo_node_operand(end, result)->def;
  if (!node_of || node_of->operand_count != 2 || node_of->parent != body) return HLO_OP_COUNT;
  const hlo_value_t *a = hlo_node_operand(node_of, 0), *b = hlo_node_operand(node_of, 1);
  const hlo_value_t *x = body->args[result], *y = body->args[count + result];
  if (!((a == x && b == y) || (a == y && b == x))) return HLO_OP_COUNT;
  return hlo_op_has(node_of->op, HLO_TRAIT_ASSOCIATIVE) ? node_of->op : HLO_OP_COUNT;
}

static bool is_compare(const hlo_value_t* value, int64_t direction, const hlo_value_t* x,
                       const hlo_value_t* y) {
  const hlo_node_t* node = value->def;
  return node && node->op == HLO_OP_compare && hlo_node_operand(node, 0) == x &&
         hlo_node_operand(node, 1) == y &&
         hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1) == direction;
}

// Matches `op` and gives its operands in order.
static bool match_binary(const hlo_value_t* value, hlo_op_t op, const hlo_value_t** a,
                         const hlo_value_t** b) {
  if (!value->def || value->def->op != op) return false;
  *a = hlo_node_operand(value->def, 0);
  *b = hlo_node_operand(value->def, 1);
  return true;
}

static bool match_select(const hlo_value_t* value, const hlo_value_t** condition,
                         const hlo_value_t* x, const hlo_value_t* y) {
  if (!value->def || value->def->op != HLO_OP_select) return false;
  *condition = hlo_node_operand(value->def, 0);
  return hlo_node_operand(value->def, 1) == x && hlo_node_operand(value->def, 2) == y;
}

hlo_op_t hlo_reduce_arg_op(const hlo_node_t* node) {
  const hlo_region_t* body = node->op == HLO_OP_reduce ? node->regions[0] : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || node->result_count != 2 || body->arg_count != 4 || end->operand_count != 2 ||
      !hlo_dtype_is_integer(node->results[1].type->dtype)) {
    return HLO_OP_COUNT;
  }
  const hlo_value_t *x = body->args[0], *i = body->args[1], *y = body->args[2], *j = body->args[3];
  const hlo_value_t *pick, *pick_index, *better, *again, *tie, *is_equal, *is_first;
  if (!match_select(hlo_node_operand(end, 0), &pick, x, y) ||
      !match_select(hlo_node_operand(end, 1), &pick_index, i, j) ||
      !match_binary(pick_index, HLO_OP_or, &again, &tie) || again != pick ||
      !match_binary(tie, HLO_OP_and, &is_equal, &is_first) ||
      !is_compare(is_equal, HLO_COMPARISON_DIRECTION_EQ, x, y) ||
      !is_compare(is_first, HLO_COMPARISON_DIRECTION_LT, i, j)) {
    return HLO_OP_COUNT;
  }
  const hlo_value_t* is_nan;
  better = pick;
  if (match_binary(pick, HLO_OP_or, &better, &is_nan)) {
    if (!is_compare(is_nan, HLO_COMPARISON_DIRECTION_NE, x, x)) return HLO_OP_COUNT;
  } else if (hlo_dtype_is_float(node->results[0].type->dtype)) {
    return HLO_OP_COUNT;  // the effect of NaN depends on the order
  }
  if (is_compare(better, HLO_COMPARISON_DIRECTION_GT, x, y)) return HLO_OP_maximum;
  if (is_compare(better, HLO_COMPARISON_DIRECTION_LT, x, y)) return HLO_OP_minimum;
  return HLO_OP_COUNT;
}
