// SPDX-License-Identifier: Apache-2.0
// Ops that are other forms of basic ones: with implicit broadcasts, with known shapes as operands,
// scans along a dimension, random rounding (see expand.h).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"
#include "passes/static_form.h"

// ---- implicit broadcasts ------------------------------------------------------------------------

// Returns the op without the broadcast: add of broadcast_add.
static hlo_op_t plain_op(hlo_op_t op) {
  static const char* const dialects[] = {"stablehlo.", "chlo."};
  char name[64];
  for (uint32_t i = 0; i < sizeof dialects / sizeof *dialects; ++i) {
    const char* rest = strchr(hlo_op_info(op)->name, '_') + 1;
    const int length = snprintf(name, sizeof name, "%s%s", dialects[i], rest);
    const hlo_op_t found = hlo_op_from_name(name, (size_t)length);
    if (found != HLO_OP_COUNT) return found;
  }
  return HLO_OP_COUNT;
}

static hlo_value_t* broadcast_operand(hlo_node_t* node, uint32_t i) {
  const hlo_type_t* result = node->results[0].type;
  hlo_value_t* value = hlo_node_operand(node, i);
  uint32_t count = 0;
  const int64_t* given = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  const uint32_t rank = value->type->rank;
  const bool is_given = given && count == rank && rank < result->rank;
  int64_t along[HLO_RANK_MAX];
  if (rank > result->rank || !hlo_type_is_plain(value->type)) return NULL;
  for (uint32_t d = 0; d < rank; ++d) {
    along[d] = is_given ? given[d] : (int64_t)(result->rank - rank + d);
  }
  const hlo_type_t* type = hlo_type_with_dtype(node->parent->module, result, value->type->dtype);
  return type == value->type ? value : hlo_build_broadcast(node, type, value, along);
}

bool hlo_expand_broadcasting(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  enum { OPERANDS_MAX = 3 };
  (void)ctx;
  const hlo_op_t op = plain_op(node->op);
  hlo_value_t* operands[OPERANDS_MAX];
  hlo_named_attr_t attrs[2];
  uint32_t attr_count = 0;
  if (op == HLO_OP_COUNT || node->operand_count > OPERANDS_MAX ||
      !hlo_type_is_plain(node->results[0].type)) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) operands[i] = broadcast_operand(node, i);
  for (uint32_t i = 0; op == HLO_OP_compare && i < 2; ++i) {
    const hlo_attr_id_t id = i ? HLO_ATTR_compare_type : HLO_ATTR_comparison_direction;
    const hlo_attr_t* value = hlo_node_attr(node, id);
    if (value) attrs[attr_count++] = (hlo_named_attr_t){id, value};
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!operands[i]) return false;
  }
  results[0] = hlo_build_node(node, op, node->results[0].type, node->operand_count, operands,
                              attr_count, attrs);
  return results[0] != NULL;
}

// ---- known shapes -------------------------------------------------------------------------------

bool hlo_expand_static_form(HLO_UNUSED hlo_pass_ctx_t* ctx, hlo_node_t* node,
                            hlo_value_t** results) {
  results[0] = hlo_static_form(node);
  return results[0] && results[0]->type == node->results[0].type;
}

bool hlo_expand_broadcast(HLO_UNUSED hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  const hlo_type_t *type = node->results[0].type, *operand = hlo_node_operand_type(node, 0);
  int64_t along[HLO_RANK_MAX];
  if (!hlo_type_is_plain(type) || !hlo_type_is_plain(operand)) return false;
  for (uint32_t d = 0; d < operand->rank; ++d) along[d] = type->rank - operand->rank + d;
  results[0] = hlo_build_broadcast(node, type, hlo_node_operand(node, 0), along);
  return results[0] != NULL;
}

// ---- constants ----------------------------------------------------------------------------------

// Returns one element of a constant of the shape of an operand; NULL if the value is no number.
static hlo_literal_t* splat_of(hlo_node_t* node, const hlo_attr_t* value) {
  const hlo_type_t* type = node->results[0].type;
  const bool is_literal = value->kind == HLO_ATTR_KIND_LITERAL;
  if (is_literal ? value->literal->element_count != 1
                 : value->kind != HLO_ATTR_KIND_INT && value->kind != HLO_ATTR_KIND_FLOAT) {
    return NULL;
  }
  hlo_literal_t* literal = hlo_build_literal(node->parent->module, type, true);
  void* element = literal ? hlo_literal_mutable_data(literal) : NULL;
  if (!literal) return NULL;
  if (is_literal) {
    hlo_dtype_convert(value->literal->dtype, hlo_literal_element(value->literal, 0), type->dtype,
                      element, 1);
  } else if (value->kind == HLO_ATTR_KIND_INT) {
    hlo_dtype_store_int64(type->dtype, element, value->i);
  } else {
    hlo_dtype_store_double(type->dtype, element, value->f);
  }
  return literal;
}

bool hlo_expand_constant(HLO_UNUSED hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  const hlo_type_t* type = node->results[0].type;
  if (!value || !hlo_type_is_plain(type)) return false;
  const bool is_whole = node->op == HLO_OP_chlo_constant && value->kind == HLO_ATTR_KIND_LITERAL;
  hlo_literal_t* literal = is_whole ? hlo_literal_retain(value->literal) : splat_of(node, value);
  results[0] = hlo_build_constant(node, type, literal);
  return results[0] != NULL;
}

// ---- fusions

bool hlo_expand_fusion(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  const hlo_region_t* body = node->region_count == 1 ? node->regions[0] : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  hlo_value_t* args[HLO_EXPAND_VALUES_MAX];
  if (!end || end->operand_count != node->result_count || body->arg_count != node->operand_count ||
      node->operand_count > HLO_EXPAND_VALUES_MAX) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) args[i] = hlo_node_operand(node, i);
  return hlo_expand_copy(ctx, node, body, args, results);
}

// ---- scans --------------------------------------------------------------------------------------

typedef struct scan {
  hlo_node_t* node;
  uint32_t inputs, carries, outputs;
  int64_t axis, steps;
} scan_t;

static bool read_scan(hlo_node_t* node, scan_t* s) {
  uint32_t first, after;
  *s = (scan_t){.node = node, .axis = hlo_node_attr_int(node, HLO_ATTR_dimension, 0)};
  const hlo_node_t* end = hlo_region_terminator(node->regions[0]);
  if (!hlo_node_operand_segment(node, 0, &first, &s->inputs) ||
      !hlo_node_operand_segment(node, 1, &after, &s->carries) || !end ||
      node->result_count < s->carries || end->operand_count != node->result_count ||
      node->operand_count > HLO_EXPAND_VALUES_MAX ||
      node->regions[0]->arg_count != node->operand_count) {
    return false;
  }
  s->outputs = node->result_count - s->carries;
  if (s->inputs + s->outputs == 0) return false;
  for (uint32_t i = 0; i < s->inputs + s->outputs; ++i) {
    const hlo_type_t* type =
        i < s->inputs ? hlo_node_operand_type(node, i) : node->results[i - s->inputs].type;
    if (!hlo_type_is_plain(type) || s->axis < 0 || s->axis >= (int64_t)type->rank) return false;
    if (i == 0) s->steps = type->dims[s->axis];
    if (type->dims[s->axis] != s->steps || hlo_type_element_count(type) == 0) return false;
  }
  return true;
}

// Moves the scanned dimension to the front, or back.
static hlo_value_t* move_axis(const scan_t* s, hlo_value_t* value, bool is_back) {
  int64_t order[HLO_RANK_MAX];
  if (!value || s->axis == 0) return value;
  for (int64_t d = 0; d < (int64_t)value->type->rank; ++d) {
    if (is_back) order[d] = d == s->axis ? 0 : d < s->axis ? d + 1 : d;
    if (!is_back) order[d] = d == 0 ? s->axis : d <= s->axis ? d - 1 : d;
  }
  return hlo_build_transpose(s->node, value, order);
}

static hlo_value_t* empty_rows(const scan_t* s, const hlo_type_t* type) {
  int64_t dims[HLO_RANK_MAX];
  for (int64_t d = 0; d < (int64_t)type->rank; ++d) {
    dims[d] = type->dims[d == 0 ? s->axis : d <= s->axis ? d - 1 : d];
  }
  type = hlo_type_with_dims(s->node->parent->module, type, type->rank, dims);
  return type ? hlo_build_splat(s->node, type, 0) : NULL;
}

bool hlo_expand_scan(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  scan_t s;
  hlo_value_t *rows[HLO_EXPAND_VALUES_MAX], *values[HLO_EXPAND_VALUES_MAX];
  hlo_value_t *args[HLO_EXPAND_VALUES_MAX], *found[HLO_EXPAND_VALUES_MAX];
  if (!read_scan(node, &s)) return false;
  for (uint32_t i = 0; i < s.inputs; ++i) {
    rows[i] = move_axis(&s, hlo_node_operand(node, i), false);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    values[i] = i < s.outputs ? empty_rows(&s, node->results[i].type)
                              : hlo_node_operand(node, s.inputs + i - s.outputs);
  }
  hlo_loop_t loop;
  const hlo_type_t* number = hlo_loop_number(node->parent->module, s.steps);
  if (!hlo_loop_begin(node, number, s.steps, node->result_count, values, &loop)) return false;
  hlo_value_t* at = loop.number;
  if (hlo_node_attr_bool(node, HLO_ATTR_is_reverse, false)) {
    const int64_t last = s.steps - 1;
    at = hlo_build_binary(loop.end, HLO_OP_subtract, hlo_build_integers(loop.end, number, &last),
                          at);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    args[i] =
        i < s.inputs ? hlo_loop_row(loop.end, rows[i], at) : loop.values[s.outputs + i - s.inputs];
  }
  if (!hlo_expand_copy(ctx, loop.end, node->regions[0], args, found)) return false;
  for (uint32_t i = 0; i < s.outputs; ++i) {
    found[i] = hlo_loop_set_row(loop.end, loop.values[i], found[i], at);
  }
  if (!hlo_loop_finish(&loop, found, results)) return false;
  for (uint32_t i = 0; i < s.outputs; ++i) results[i] = move_axis(&s, results[i], true);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!results[i] || results[i]->type != node->results[i].type) return false;
  }
  return true;
}

// ---- random rounding ----------------------------------------------------------------------------

// Rounds |x| up where the random number is below its fraction, as a number of as many bits.
static hlo_value_t* round_randomly(hlo_node_t* at, hlo_value_t* size, hlo_value_t* random) {
  const uint32_t bits = hlo_dtype_info(random->type->dtype)->bits;
  hlo_value_t* whole = hlo_build_unary(at, HLO_OP_floor, size);
  hlo_value_t* fraction = hlo_build_binary(at, HLO_OP_subtract, size, whole);
  hlo_value_t* scale = hlo_build_splat(at, size->type, ldexp(1, (int)bits));
  hlo_value_t* threshold = hlo_build_binary(at, HLO_OP_multiply, fraction, scale);
  threshold = hlo_build_convert(at, random->type->dtype, threshold);  // NaN, of infinity, is 0
  hlo_value_t* is_up = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, random, threshold);
  hlo_value_t* one = hlo_build_splat(at, size->type, 1);
  return hlo_build_select(at, is_up, hlo_build_binary(at, HLO_OP_add, whole, one), whole);
}

bool hlo_expand_stochastic_convert(HLO_UNUSED hlo_pass_ctx_t* ctx, hlo_node_t* node,
                                   hlo_value_t** results) {
  hlo_value_t *x = hlo_node_operand(node, 0), *random = hlo_node_operand(node, 1);
  const hlo_type_t* type = node->results[0].type;
  if (!hlo_type_is_plain(x->type) || !hlo_type_is_plain(random->type) ||
      !hlo_dtype_is_float(x->type->dtype) || !hlo_dtype_is_unsigned(random->type->dtype) ||
      !hlo_dtype_is_integer(type->dtype) || !hlo_type_same_dims(x->type, random->type)) {
    return false;
  }
  const bool is_wide = x->type->dtype == HLO_DTYPE_F64;
  x = hlo_build_convert(node, is_wide ? HLO_DTYPE_F64 : HLO_DTYPE_F32, x);
  hlo_value_t* size = x ? hlo_build_unary(node, HLO_OP_abs, x) : NULL;
  hlo_value_t* rounded = size ? round_randomly(node, size, random) : NULL;
  if (!rounded) return false;
  hlo_value_t* zero = hlo_build_splat(node, x->type, 0);
  hlo_value_t* is_negative = hlo_build_compare(node, HLO_COMPARISON_DIRECTION_LT, x, zero);
  hlo_value_t* negated = hlo_build_unary(node, HLO_OP_negate, rounded);
  rounded = hlo_build_select(node, is_negative, negated, rounded);
  results[0] = hlo_build_convert(node, type->dtype, rounded);
  return results[0] != NULL;
}
