// SPDX-License-Identifier: Apache-2.0
// Evaluation of integers (see integers.h): a search through arithmetic and tables, with a limit of
// its size.
#include "spmd/integers.h"

#include "passes/constants.h"

enum { DEPTH_MAX = 24, TERMS_MAX = 200 };

typedef struct evaluation {
  const hlo_integer_env_t* env;
  uint32_t depth, term_count;  // limits of the search
} evaluation_t;

static bool evaluate(evaluation_t* e, const hlo_value_t* value, int64_t* out);

// Wraps a result around as its element type does.
static int64_t wrap(hlo_dtype_t dtype, int64_t value) {
  const uint32_t bits = hlo_dtype_info(dtype)->bits;
  if (bits >= 64) return value;
  const uint64_t low = (uint64_t)value << (64 - bits);
  return hlo_dtype_is_unsigned(dtype) ? (int64_t)(low >> (64 - bits)) : (int64_t)low >> (64 - bits);
}

static bool compute(hlo_op_t op, int64_t a, int64_t b, int64_t* out) {
  switch (op) {
    case HLO_OP_add: return !__builtin_add_overflow(a, b, out);
    case HLO_OP_subtract: return !__builtin_sub_overflow(a, b, out);
    case HLO_OP_multiply: return !__builtin_mul_overflow(a, b, out);
    case HLO_OP_maximum: *out = a > b ? a : b; return true;
    case HLO_OP_minimum: *out = a < b ? a : b; return true;
    case HLO_OP_and: *out = a & b; return true;
    case HLO_OP_divide:
    case HLO_OP_remainder:
      if (a < 0 || b <= 0) return false;
      *out = op == HLO_OP_divide ? a / b : a % b;
      return true;
    case HLO_OP_shift_right_logical:
      if (a < 0 || b < 0 || b > 62) return false;
      *out = a >> b;
      return true;
    default: return false;
  }
}

// Reads an element of a constant or of an iota.
static bool read_table(evaluation_t* e, const hlo_node_t* slice, int64_t* out) {
  const hlo_value_t* table = hlo_node_operand(slice, 0);
  const hlo_type_t* type = table->type;
  const hlo_literal_t* literal = hlo_constant_literal(table);
  const bool is_iota = table->def && table->def->op == HLO_OP_iota && type->rank == 1;
  int64_t at = 0;
  if (!literal && !is_iota) return false;
  for (uint32_t d = 0; d < type->rank; ++d) {
    int64_t index;
    if (!evaluate(e, hlo_node_operand(slice, 1 + d), &index)) return false;
    index = index < 0 ? 0 : index >= type->dims[d] ? type->dims[d] - 1 : index;
    at = at * type->dims[d] + index;
  }
  if (is_iota) {
    *out = at;
    return true;
  }
  const size_t width = hlo_dtype_size_bytes(literal->dtype);
  const size_t position = literal->is_splat ? 0 : (size_t)at;
  *out = hlo_dtype_load_int64(literal->dtype, (const char*)literal->data + position * width);
  return true;
}

static bool compare(evaluation_t* e, const hlo_value_t* value, bool* out) {
  const hlo_node_t* node = value->def;
  int64_t a, b;
  while (node && (node->op == HLO_OP_broadcast_in_dim || node->op == HLO_OP_reshape)) {
    if (hlo_type_element_count(hlo_node_operand_type(node, 0)) != 1) return false;
    node = hlo_node_operand(node, 0)->def;
  }
  if (!node || node->op != HLO_OP_compare || !evaluate(e, hlo_node_operand(node, 0), &a) ||
      !evaluate(e, hlo_node_operand(node, 1), &b)) {
    return false;
  }
  switch (hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1)) {
    case HLO_COMPARISON_DIRECTION_EQ: *out = a == b; return true;
    case HLO_COMPARISON_DIRECTION_NE: *out = a != b; return true;
    case HLO_COMPARISON_DIRECTION_GE: *out = a >= b; return true;
    case HLO_COMPARISON_DIRECTION_GT: *out = a > b; return true;
    case HLO_COMPARISON_DIRECTION_LE: *out = a <= b; return true;
    case HLO_COMPARISON_DIRECTION_LT: *out = a < b; return true;
    default: return false;
  }
}

static bool evaluate_node(evaluation_t* e, const hlo_node_t* node, int64_t* out) {
  int64_t a, b;
  switch (node->op) {
    case HLO_OP_partition_id: *out = e->env->partition; return e->env->has_process;
    case HLO_OP_replica_id: *out = e->env->replica; return e->env->has_process;
    case HLO_OP_iota: *out = 0; return true;
    case HLO_OP_constant: {
      const hlo_literal_t* literal = hlo_constant_literal(&node->results[0]);
      if (!literal) return false;
      *out = hlo_dtype_load_int64(literal->dtype, literal->data);
      return true;
    }
    case HLO_OP_hlo_bitcast:
      if (hlo_node_operand_type(node, 0)->dtype != node->results[0].type->dtype) return false;
      return evaluate(e, hlo_node_operand(node, 0), out);
    case HLO_OP_hlo_copy:
    case HLO_OP_reshape:
    case HLO_OP_convert:
    case HLO_OP_broadcast_in_dim: return evaluate(e, hlo_node_operand(node, 0), out);
    case HLO_OP_clamp:
      if (!evaluate(e, hlo_node_operand(node, 0), &a) ||
          !evaluate(e, hlo_node_operand(node, 2), &b) ||
          !evaluate(e, hlo_node_operand(node, 1), out)) {
        return false;
      }
      *out = *out < a ? a : *out;
      *out = *out > b ? b : *out;
      return true;
    case HLO_OP_dynamic_slice: return read_table(e, node, out);
    case HLO_OP_select: {
      bool holds;
      return compare(e, hlo_node_operand(node, 0), &holds) &&
             evaluate(e, hlo_node_operand(node, holds ? 1 : 2), out);
    }
    default:
      return node->operand_count == 2 && node->result_count == 1 &&
             evaluate(e, hlo_node_operand(node, 0), &a) &&
             evaluate(e, hlo_node_operand(node, 1), &b) && compute(node->op, a, b, out);
  }
}

static bool evaluate(evaluation_t* e, const hlo_value_t* value, int64_t* out) {
  const hlo_type_t* type = value->type;
  if (value == e->env->known) {
    *out = e->env->known_value;
    return true;
  }
  if (!value->def || !hlo_type_is_tensor(type) || !hlo_dtype_is_integer(type->dtype) ||
      hlo_type_element_count(type) != 1 || hlo_dtype_info(type->dtype)->bits < 8 ||
      e->depth == DEPTH_MAX || e->term_count == TERMS_MAX) {
    return false;
  }
  ++e->depth;
  ++e->term_count;
  const bool ok = evaluate_node(e, value->def, out);
  --e->depth;
  if (ok) *out = wrap(type->dtype, *out);
  return ok && (*out >= 0 || !hlo_dtype_is_unsigned(type->dtype));
}

bool hlo_integer_evaluate(const hlo_integer_env_t* env, const hlo_value_t* value, int64_t* out) {
  evaluation_t evaluation = {.env = env};
  return evaluate(&evaluation, value, out);
}

bool hlo_integer_compare(const hlo_integer_env_t* env, const hlo_value_t* value, bool* out) {
  evaluation_t evaluation = {.env = env};
  return compare(&evaluation, value, out);
}
