// SPDX-License-Identifier: Apache-2.0
// Recognition of attention (see attention.h). Dimensions are followed from the second product
// backwards: each dimension of a value has the label of the axis of the scores that it runs along,
// which is the dimension of the probabilities in the second product; dimensions of one element have
// none.
#include "ir/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/reducer.h"

enum {
  NO_LABEL = -1,
  MAX_DEPTH = 64,
  MAX_INDEX = 1 << 30,  // of indices and constants of 64 bits: sums of two fit 32 bits
};

/// A value with the labels of its dimensions.
typedef struct view {
  const hlo_value_t* value;
  int8_t labels[HLO_ATTENTION_MAX_RANK];
} view_t;

/// A dimension number list of a product.
typedef struct product {
  const hlo_node_t* node;
  hlo_ints_t batch[2], depth[2];
} product_t;

typedef struct match {
  hlo_attention_t* out;
  hlo_attention_nodes_t visited;
  int64_t extents[HLO_ATTENTION_MAX_RANK];  // by label
  int8_t key_label;
  view_t scores;  // the first product; value NULL until it is found
  uint32_t memo_count;
  view_t memo[HLO_ATTENTION_MAX_STEPS];
  uint8_t memo_steps[HLO_ATTENTION_MAX_STEPS];
  view_t arrays[HLO_ATTENTION_MAX_ARRAYS];
} match_t;

static bool visit(match_t* m, const hlo_node_t* node) {
  for (uint32_t i = 0; i < m->visited.count; ++i) {
    if (m->visited.nodes[i] == node) return true;
  }
  if (m->visited.count == sizeof m->visited.nodes / sizeof *m->visited.nodes) return false;
  m->visited.nodes[m->visited.count++] = node;
  return true;
}

static bool is_plain(const hlo_type_t* type) {
  return hlo_type_is_tensor(type) && !type->quant && hlo_type_is_static(type) &&
         type->rank <= HLO_ATTENTION_MAX_RANK;
}

static bool is_float(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_BF16 || dtype == HLO_DTYPE_F16;
}

static bool is_equal(const view_t* a, const view_t* b) {
  return a->value == b->value &&
         memcmp(a->labels, b->labels, a->value->type->rank * sizeof *a->labels) == 0;
}

static bool has_label(const view_t* view, int label) {
  for (uint32_t i = 0; i < view->value->type->rank; ++i) {
    if (view->labels[i] == label) return true;
  }
  return false;
}

// ---- movement

static bool move_reshape(const view_t* view, const hlo_value_t* from, int8_t* labels) {
  const hlo_type_t* type = view->value->type;
  uint32_t at = 0;
  for (uint32_t i = 0; i < from->type->rank; ++i) {
    labels[i] = NO_LABEL;
    if (from->type->dims[i] == 1) continue;
    while (at < type->rank && type->dims[at] == 1) ++at;
    if (at == type->rank || type->dims[at] != from->type->dims[i]) return false;
    labels[i] = view->labels[at++];
  }
  while (at < type->rank && type->dims[at] == 1) ++at;
  return at == type->rank;
}

// Moves a view to the operand of an op that only moves elements, or broadcasts them if allowed.
static bool move(const view_t* view, bool can_broadcast, view_t* out) {
  const hlo_node_t* node = view->value->def;
  if (!node || node->extra || node->operand_count != 1) return false;
  const hlo_value_t* from = hlo_node_operand(node, 0);
  if (!is_plain(from->type)) return false;
  view_t moved = {.value = from};
  uint32_t count;
  const int64_t* dims;
  switch (node->op) {
    case HLO_OP_transpose:
      dims = hlo_node_attr_ints(node, HLO_ATTR_permutation, &count);
      for (uint32_t i = 0; i < count; ++i) moved.labels[dims[i]] = view->labels[i];
      break;
    case HLO_OP_reshape:
      if (!move_reshape(view, from, moved.labels)) return false;
      break;
    case HLO_OP_broadcast_in_dim:
      dims = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
      for (uint32_t i = 0; i < count; ++i) {
        moved.labels[i] = from->type->dims[i] == 1 ? NO_LABEL : view->labels[dims[i]];
      }
      if (!can_broadcast &&
          hlo_type_element_count(from->type) != hlo_type_element_count(view->value->type)) {
        return false;
      }
      break;
    default: return false;
  }
  *out = moved;
  return true;
}

// Follows movement, and conversions between floats, back to what computes the value.
static bool peel(match_t* m, bool can_broadcast, view_t* view) {
  for (;;) {
    const hlo_node_t* node = view->value->def;
    if (node && node->op == HLO_OP_convert && !node->extra && is_float(view->value->type->dtype) &&
        is_float(hlo_node_operand_type(node, 0)->dtype)) {
      view->value = hlo_node_operand(node, 0);
    } else if (!move(view, can_broadcast, view)) {
      return true;
    }
    if (!visit(m, node)) return false;
  }
}

// ---- products

static bool read_product(const hlo_value_t* value, product_t* out) {
  const hlo_node_t* node = value->def;
  if (!node || node->op != HLO_OP_dot_general || node->extra || !is_plain(value->type) ||
      !is_float(value->type->dtype)) {
    return false;
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (!is_plain(type) || !is_float(type->dtype)) return false;
  }
  *out = (product_t){.node = node,
                     .batch = {hlo_node_ints(node, HLO_ATTR_lhs_batching_dimensions),
                               hlo_node_ints(node, HLO_ATTR_rhs_batching_dimensions)},
                     .depth = {hlo_node_ints(node, HLO_ATTR_lhs_contracting_dimensions),
                               hlo_node_ints(node, HLO_ATTR_rhs_contracting_dimensions)}};
  return true;
}

// Returns the result's dimension of an operand's dimension; -1 for a contracted one.
static int32_t result_dim(const product_t* p, uint32_t side, uint32_t dim) {
  uint32_t at;
  if (hlo_dims_contain(p->depth[side].values, p->depth[side].count, dim, NULL)) return -1;
  if (hlo_dims_contain(p->batch[side].values, p->batch[side].count, dim, &at)) return (int32_t)at;
  uint32_t next = p->batch[0].count;
  if (side == 1) {
    next = hlo_node_operand_type(p->node, 0)->rank - p->depth[0].count;
  }
  for (uint32_t i = 0; i < dim; ++i) {
    next += !hlo_dims_contain(p->depth[side].values, p->depth[side].count, i, NULL) &&
            !hlo_dims_contain(p->batch[side].values, p->batch[side].count, i, NULL);
  }
  return (int32_t)next;
}

// Returns the only contracted dimension of more than one element; -1 if there are several.
static int32_t contracted_dim(const product_t* p, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(p->node, side);
  int32_t found = -1;
  for (uint32_t i = 0; i < p->depth[side].count; ++i) {
    const int32_t dim = (int32_t)p->depth[side].values[i];
    if (type->dims[dim] == 1) continue;
    if (found >= 0) return -1;
    found = dim;
  }
  return found;
}

static int64_t stride_of(const hlo_type_t* type, uint32_t dim) {
  int64_t stride = 1;
  for (uint32_t i = dim + 1; i < type->rank; ++i) stride *= type->dims[i];
  return stride;
}

// ---- softmax

static const hlo_node_t* node_of(const view_t* view, hlo_op_t op) {
  const hlo_node_t* node = view->value->def;
  return node && node->op == op && !node->extra ? node : NULL;
}

static bool read_constant(const hlo_value_t* value, double* out) {
  while (value->def && value->def->op == HLO_OP_broadcast_in_dim) {
    value = hlo_node_operand(value->def, 0);
  }
  const hlo_attr_t* attr = value->def && value->def->op == HLO_OP_constant
                               ? hlo_node_attr(value->def, HLO_ATTR_value)
                               : NULL;
  if (!attr || attr->kind != HLO_ATTR_KIND_LITERAL) return false;
  const hlo_literal_t* literal = attr->literal;
  if (!literal->is_splat && literal->element_count != 1) return false;
  if (!is_float(literal->dtype)) return false;
  hlo_dtype_convert(literal->dtype, literal->data, HLO_DTYPE_F64, out, 1);
  return true;
}

// Visits what leads to a constant.
static bool visit_constant(match_t* m, const hlo_value_t* value) {
  for (; value->def && value->def->op == HLO_OP_broadcast_in_dim;
       value = hlo_node_operand(value->def, 0)) {
    if (!visit(m, value->def)) return false;
  }
  return visit(m, value->def);
}

static hlo_value_t* other_operand(const hlo_node_t* node, uint32_t side) {
  return hlo_node_operand(node, 1 - side);
}

// Follows a value that is broadcast along the keys back to the reduction of them, past a maximum
// with -infinity, and gives what is reduced.
static bool peel_reduction(match_t* m, hlo_op_t op, view_t* view) {
  double limit;
  if (!peel(m, true, view)) return false;
  const hlo_node_t* node;
  while (op == HLO_OP_maximum && (node = node_of(view, HLO_OP_maximum))) {
    const bool is_first = read_constant(hlo_node_operand(node, 0), &limit);
    const uint32_t side = is_first ? 0 : 1;
    if (!read_constant(hlo_node_operand(node, side), &limit) || limit != -INFINITY) return false;
    if (!visit(m, node) || !visit_constant(m, hlo_node_operand(node, side))) return false;
    view->value = other_operand(node, side);
    if (!peel(m, true, view)) return false;
  }
  node = node_of(view, HLO_OP_reduce);
  if (!node || node->operand_count != 2 || hlo_reduce_op(node, 0) != op || !visit(m, node) ||
      !read_constant(hlo_node_operand(node, 1), &limit) ||
      limit != (op == HLO_OP_add ? 0 : -INFINITY) || !visit_constant(m, hlo_node_operand(node, 1)))
    return false;
  view_t from = {.value = hlo_node_operand(node, 0)};
  const hlo_type_t* type = from.value->type;
  const hlo_ints_t dims = hlo_node_ints(node, HLO_ATTR_dimensions);
  if (!is_plain(type)) return false;
  bool has_key = false;
  for (uint32_t i = 0, at = 0; i < type->rank; ++i) {
    const bool is_reduced = hlo_ints_has(dims, i);
    from.labels[i] =
        is_reduced ? (int8_t)(type->dims[i] == 1 ? NO_LABEL : m->key_label) : view->labels[at++];
    if (is_reduced && type->dims[i] == 1) continue;
    if (is_reduced && (has_key || type->dims[i] != m->extents[m->key_label])) return false;
    has_key |= is_reduced;
  }
  *view = from;
  return has_key && peel(m, false, view);
}

// Matches exp(x - max(x)) / sum(exp(x - max(x))) over the keys and gives x.
static bool match_softmax(match_t* m, view_t* view) {
  if (!peel(m, false, view)) return false;
  const hlo_node_t* node = node_of(view, HLO_OP_divide);
  if (!node || !visit(m, node)) return false;
  view_t sum = *view, most, again;
  sum.value = hlo_node_operand(node, 1);
  view->value = hlo_node_operand(node, 0);
  if (!peel(m, false, view) || !peel_reduction(m, HLO_OP_add, &sum) || !is_equal(view, &sum)) {
    return false;
  }
  node = node_of(view, HLO_OP_exponential);
  if (!node || !visit(m, node)) return false;
  view->value = hlo_node_operand(node, 0);
  if (!peel(m, false, view)) return false;
  node = node_of(view, HLO_OP_subtract);
  if (!node || !visit(m, node)) return false;
  most = again = *view;
  most.value = hlo_node_operand(node, 1);
  again.value = hlo_node_operand(node, 0);
  if (!peel_reduction(m, HLO_OP_maximum, &most) || !peel(m, false, &again)) return false;
  *view = again;
  return is_equal(&most, &again);
}

// ---- the function of the scores

static int add_step(match_t* m, const hlo_attention_step_t* step) {
  if (m->out->step_count == HLO_ATTENTION_MAX_STEPS) return -1;
  m->out->steps[m->out->step_count] = *step;
  return (int)m->out->step_count++;
}

static bool type_of(hlo_dtype_t dtype, hlo_attention_type_t* out) {
  switch (dtype) {
    case HLO_DTYPE_F32:
    case HLO_DTYPE_BF16:
    case HLO_DTYPE_F16: *out = HLO_ATTENTION_FLOAT; return true;
    case HLO_DTYPE_S64:
    case HLO_DTYPE_S32: *out = HLO_ATTENTION_INTEGER; return true;
    case HLO_DTYPE_PRED: *out = HLO_ATTENTION_BOOLEAN; return true;
    default: return false;
  }
}

static int add_array(match_t* m, const view_t* view, hlo_attention_type_t type) {
  if (view->value->type->dtype == HLO_DTYPE_S64) return -1;  // steps have 32 bits
  uint32_t i = 0;
  while (i < m->out->array_count && !is_equal(&m->arrays[i], view)) ++i;
  if (i == HLO_ATTENTION_MAX_ARRAYS) return -1;
  m->arrays[i] = *view;
  if (i == m->out->array_count) ++m->out->array_count;
  return add_step(
      m, &(hlo_attention_step_t){.op = HLO_ATTENTION_ARRAY, .type = type, .array = (uint8_t)i});
}

static hlo_attention_op_t op_of(const hlo_node_t* node, hlo_attention_type_t type) {
  const bool is_boolean = type == HLO_ATTENTION_BOOLEAN, is_number = type == HLO_ATTENTION_FLOAT;
  switch (node->op) {
    case HLO_OP_add: return is_boolean ? HLO_ATTENTION_OR : HLO_ATTENTION_ADD;
    case HLO_OP_subtract: return HLO_ATTENTION_SUBTRACT;
    case HLO_OP_multiply: return is_boolean ? HLO_ATTENTION_AND : HLO_ATTENTION_MULTIPLY;
    case HLO_OP_divide: return is_number ? HLO_ATTENTION_DIVIDE : HLO_ATTENTION_SCORE;
    case HLO_OP_maximum: return is_boolean ? HLO_ATTENTION_OR : HLO_ATTENTION_MAXIMUM;
    case HLO_OP_minimum: return is_boolean ? HLO_ATTENTION_AND : HLO_ATTENTION_MINIMUM;
    case HLO_OP_negate: return HLO_ATTENTION_NEGATE;
    case HLO_OP_abs: return HLO_ATTENTION_ABS;
    case HLO_OP_tanh: return HLO_ATTENTION_TANH;
    case HLO_OP_exponential: return HLO_ATTENTION_EXP;
    case HLO_OP_compare: return HLO_ATTENTION_COMPARE;
    case HLO_OP_select: return HLO_ATTENTION_SELECT;
    case HLO_OP_and: return is_boolean ? HLO_ATTENTION_AND : HLO_ATTENTION_SCORE;
    case HLO_OP_or: return is_boolean ? HLO_ATTENTION_OR : HLO_ATTENTION_SCORE;
    case HLO_OP_not: return is_boolean ? HLO_ATTENTION_NOT : HLO_ATTENTION_SCORE;
    case HLO_OP_convert: return HLO_ATTENTION_CONVERT;
    default: return HLO_ATTENTION_SCORE;  // none
  }
}

static int build_constant(match_t* m, const view_t* view, hlo_attention_type_t type) {
  const hlo_literal_t* literal = hlo_node_attr(view->value->def, HLO_ATTR_value)->literal;
  if (!literal->is_splat && literal->element_count != 1) return add_array(m, view, type);
  hlo_attention_step_t step = {.op = HLO_ATTENTION_CONSTANT, .type = type};
  if (type == HLO_ATTENTION_FLOAT) {
    hlo_dtype_convert(literal->dtype, literal->data, HLO_DTYPE_F32, &step.number, 1);
  } else {
    int64_t integer;
    hlo_dtype_convert(literal->dtype, literal->data, HLO_DTYPE_S64, &integer, 1);
    step.integer = (int32_t)integer;
    if (literal->dtype == HLO_DTYPE_S64 && llabs(integer) > MAX_INDEX) return -1;
  }
  return visit(m, view->value->def) ? add_step(m, &step) : -1;
}

static int build_iota(match_t* m, const view_t* view, hlo_attention_type_t type) {
  const int64_t dim = hlo_node_attr_int(view->value->def, HLO_ATTR_iota_dimension, 0);
  const int label = view->labels[dim];
  hlo_attention_step_t step = {.op = HLO_ATTENTION_CONSTANT, .type = HLO_ATTENTION_INTEGER};
  if (label == m->key_label) step.op = HLO_ATTENTION_KEY;
  // Which label the rows have is known at the end; `array` holds it until then.
  if (label != m->key_label && label != NO_LABEL) {
    step.op = HLO_ATTENTION_ROW;
    step.array = (uint8_t)label;
  }
  if (type != HLO_ATTENTION_INTEGER) return add_array(m, view, type);
  return visit(m, view->value->def) ? add_step(m, &step) : -1;
}

static int build(match_t* m, view_t view, uint32_t depth);

// Returns true if a step computes integers of 64 bits with 32: it only selects, or adds indices and
// constants.
static bool is_exact(const match_t* m, const hlo_attention_step_t* step) {
  switch (step->op) {
    case HLO_ATTENTION_CONVERT:
    case HLO_ATTENTION_MAXIMUM:
    case HLO_ATTENTION_MINIMUM:
    case HLO_ATTENTION_SELECT: return true;
    case HLO_ATTENTION_ADD:
    case HLO_ATTENTION_SUBTRACT: break;
    default: return false;
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_attention_op_t op = m->out->steps[step->operands[i]].op;
    if (op != HLO_ATTENTION_ROW && op != HLO_ATTENTION_KEY && op != HLO_ATTENTION_CONSTANT) {
      return false;
    }
  }
  return true;
}

static int build_op(match_t* m, const view_t* view, hlo_attention_op_t op,
                    hlo_attention_type_t type, uint32_t depth) {
  const hlo_node_t* node = view->value->def;
  hlo_attention_step_t step = {.op = op, .type = type, .from = type};
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    view_t operand = *view;
    operand.value = hlo_node_operand(node, i);
    hlo_attention_type_t from;
    if (!is_plain(operand.value->type) || !type_of(operand.value->type->dtype, &from)) return -1;
    // A predicate, or an operand of clamp, may be a scalar.
    if (operand.value->type->rank != view->value->type->rank && operand.value->type->rank)
      return -1;
    const int number = build(m, operand, depth + 1);
    if (number < 0) return -1;
    step.operands[i] = (uint8_t)number;
    if (i == 0) step.from = from;
  }
  if (op == HLO_ATTENTION_COMPARE) {
    step.direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, 0);
    if (hlo_node_attr(node, HLO_ATTR_compare_type) && step.from == HLO_ATTENTION_FLOAT &&
        hlo_node_attr_int(node, HLO_ATTR_compare_type, HLO_COMPARISON_TYPE_FLOAT) !=
            HLO_COMPARISON_TYPE_FLOAT) {
      return -1;
    }
  }
  if (op == HLO_ATTENTION_CONVERT && step.from == HLO_ATTENTION_FLOAT && type != step.from)
    return -1;
  if (node->results[0].type->dtype == HLO_DTYPE_S64 && !is_exact(m, &step)) return -1;
  if (!visit(m, node)) return -1;
  return op == HLO_ATTENTION_CONVERT && step.from == type ? step.operands[0] : add_step(m, &step);
}

// Returns true if a value is cheap to compute for each score, rather than once before.
static bool is_computed(const match_t* m, const view_t* view, hlo_attention_type_t type) {
  uint32_t rows = 0;
  for (uint32_t i = 0; i < view->value->type->rank; ++i) {
    rows += view->labels[i] != NO_LABEL && view->labels[i] != m->key_label;
  }
  return has_label(view, m->key_label) ? rows > 0 || type != HLO_ATTENTION_FLOAT
                                       : rows > 0 && type != HLO_ATTENTION_FLOAT;
}

static int build_new(match_t* m, view_t* view, uint32_t depth) {
  const hlo_node_t* node = view->value->def;
  hlo_attention_type_t type;
  if (depth > MAX_DEPTH || !type_of(view->value->type->dtype, &type)) return -1;
  if (!node || node->extra) return add_array(m, view, type);
  product_t product;
  if (!m->scores.value && has_label(view, m->key_label) && read_product(view->value, &product) &&
      !view->value->uses->next) {
    m->scores = *view;
    if (!visit(m, node)) return -1;
    return add_step(m, &(hlo_attention_step_t){.op = HLO_ATTENTION_SCORE});
  }
  if (node->op == HLO_OP_constant) return build_constant(m, view, type);
  if (node->op == HLO_OP_iota) return build_iota(m, view, type);
  view_t moved;
  if (move(view, true, &moved)) {
    const hlo_op_t op = moved.value->def ? moved.value->def->op : HLO_OP_COUNT;
    if (op == HLO_OP_constant || op == HLO_OP_iota || is_computed(m, &moved, type) ||
        hlo_type_element_count(moved.value->type) != hlo_type_element_count(view->value->type)) {
      return visit(m, node) ? build(m, moved, depth + 1) : -1;
    }
  }
  const hlo_attention_op_t op = op_of(node, type);
  const bool is_widened = op == HLO_ATTENTION_CONVERT && view->value->type->dtype == HLO_DTYPE_S64;
  if (is_widened) return build_op(m, view, op, type, depth);
  if (op == HLO_ATTENTION_SCORE || !is_computed(m, view, type)) return add_array(m, view, type);
  return build_op(m, view, op, type, depth);
}

// Returns the number of the step that computes a view; -1 if none does.
static int build(match_t* m, view_t view, uint32_t depth) {
  for (uint32_t i = 0; i < m->memo_count; ++i) {
    if (is_equal(&m->memo[i], &view)) return m->memo_steps[i];
  }
  const int step = build_new(m, &view, depth);
  if (step >= 0 && m->memo_count < HLO_ATTENTION_MAX_STEPS) {
    m->memo[m->memo_count] = view;
    m->memo_steps[m->memo_count++] = (uint8_t)step;
  }
  return step;
}

// ---- the axes of the arrays

/// Strides by label, and along the dimension that is no axis.
typedef struct strides {
  int64_t axes[HLO_ATTENTION_MAX_RANK];
  int64_t depth;
} strides_t;

static void store_array(const match_t* m, const strides_t* strides, int row,
                        const hlo_value_t* value, hlo_attention_array_t* out) {
  *out = (hlo_attention_array_t){.value = value,
                                 .row = strides->axes[row],
                                 .key = strides->axes[m->key_label],
                                 .depth = strides->depth};
  uint32_t count = 0;
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] > 1 && i != row && i != m->key_label) out->batch[count++] = strides->axes[i];
  }
}

enum { DEPTH_LABEL = HLO_ATTENTION_MAX_RANK };

// Gives the strides of a view, whose dimension DEPTH_LABEL is no axis.
static strides_t strides_of(const view_t* view) {
  strides_t strides = {0};
  const hlo_type_t* type = view->value->type;
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (view->labels[i] == NO_LABEL || type->dims[i] == 1) continue;
    if (view->labels[i] == DEPTH_LABEL) {
      strides.depth = stride_of(type, i);
    } else {
      strides.axes[view->labels[i]] = stride_of(type, i);
    }
  }
  return strides;
}

// Gives the view of a product's operand, past movement and widening; -1 if it is contracted along
// more than one dimension.
static bool view_operand(match_t* m, const product_t* p, uint32_t side, const int8_t* labels,
                         view_t* out) {
  const int32_t depth = contracted_dim(p, side);
  out->value = hlo_node_operand(p->node, side);
  const hlo_type_t* type = out->value->type;
  for (uint32_t i = 0; i < type->rank; ++i) {
    const int32_t dim = result_dim(p, side, i);
    out->labels[i] = NO_LABEL;
    if (type->dims[i] != 1 && dim >= 0) out->labels[i] = labels[dim];
    if ((int32_t)i == depth) out->labels[i] = DEPTH_LABEL;
  }
  (void)m;
  return depth >= 0;
}

// Follows an operand to the array in memory.
static bool peel_operand(match_t* m, view_t* view) {
  for (;;) {
    const hlo_node_t* node = view->value->def;
    if (node && node->op == HLO_OP_convert && !node->extra &&
        view->value->type->dtype == HLO_DTYPE_F32 &&
        is_float(hlo_node_operand_type(node, 0)->dtype)) {
      view->value = hlo_node_operand(node, 0);
    } else if (!move(view, true, view)) {
      return true;
    }
    if (!visit(m, node)) return false;
  }
}

// Selects the rows: the longest axis that is free in the query and in the probabilities.
static int choose_rows(const match_t* m, const view_t* query, const view_t* key,
                       const view_t* value) {
  int row = -1;
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] <= 1 || i == m->key_label || !has_label(query, i) || has_label(key, i) ||
        has_label(value, i)) {
      continue;
    }
    if (row < 0 || m->extents[i] >= m->extents[row]) row = i;
  }
  return row;
}

// Resolves the index along each axis that f uses.
static bool resolve_rows(hlo_attention_t* out, int row) {
  for (uint32_t i = 0; i < out->step_count; ++i) {
    if (out->steps[i].op != HLO_ATTENTION_ROW) continue;
    if (out->steps[i].array != row) return false;
    out->steps[i].array = 0;
  }
  return true;
}

static bool finish(match_t* m, const view_t* root, const view_t* value_operand) {
  hlo_attention_t* out = m->out;
  product_t first;
  view_t sides[2], value = *value_operand;
  if (!read_product(m->scores.value, &first)) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    if (!view_operand(m, &first, i, m->scores.labels, &sides[i])) return false;
  }
  const uint32_t key_side = has_label(&sides[1], m->key_label) ? 1 : 0;
  view_t *query = &sides[1 - key_side], *key = &sides[key_side];
  if (!has_label(key, m->key_label) || has_label(query, m->key_label)) return false;
  const int row = choose_rows(m, query, key, &value);
  if (row < 0 || !resolve_rows(out, row)) return false;
  out->rows = m->extents[row];
  out->keys = m->extents[m->key_label];
  const hlo_type_t* type = hlo_node_operand_type(first.node, 0);
  out->depth = type->dims[contracted_dim(&first, 0)];
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] > 1 && i != row && i != m->key_label)
      out->batch[out->batch_count++] = m->extents[i];
  }
  if (!peel_operand(m, query) || !peel_operand(m, key) || !peel_operand(m, &value)) return false;
  const strides_t strides[4] = {strides_of(query), strides_of(key), strides_of(&value),
                                strides_of(root)};
  store_array(m, &strides[0], row, query->value, &out->query);
  store_array(m, &strides[1], row, key->value, &out->key);
  store_array(m, &strides[2], row, value.value, &out->value);
  store_array(m, &strides[3], row, root->value, &out->result);
  for (uint32_t i = 0; i < out->array_count; ++i) {
    const strides_t own = strides_of(&m->arrays[i]);
    store_array(m, &own, row, m->arrays[i].value, &out->arrays[i]);
  }
  out->is_narrow &= query->value->type->dtype == HLO_DTYPE_BF16 &&
                    key->value->type->dtype == HLO_DTYPE_BF16 &&
                    value.value->type->dtype == HLO_DTYPE_BF16;
  return is_float(query->value->type->dtype) && is_float(key->value->type->dtype) &&
         is_float(value.value->type->dtype) && is_float(root->value->type->dtype);
}

static bool is_visited(const match_t* m, const hlo_node_t* node) {
  for (uint32_t i = 0; i < m->visited.count; ++i) {
    if (m->visited.nodes[i] == node) return true;
  }
  return false;
}

// Returns true if nothing else uses the probabilities and scores, which would be computed for it
// anyway.
static bool is_private(const match_t* m, const hlo_value_t* root) {
  const int64_t scores = hlo_type_element_count(m->scores.value->type);
  for (uint32_t i = 0; i < m->visited.count; ++i) {
    const hlo_node_t* node = m->visited.nodes[i];
    const hlo_value_t* value = &node->results[0];
    const bool is_large = node->op != HLO_OP_iota && node->op != HLO_OP_constant &&
                          node->op != HLO_OP_broadcast_in_dim &&
                          hlo_type_element_count(value->type) == scores &&
                          is_float(value->type->dtype);
    if (value == root || !is_large) continue;
    for (const hlo_use_t* use = value->uses; use; use = use->next) {
      if (!is_visited(m, use->user)) return false;
    }
  }
  return true;
}

// Labels the dimensions of the probabilities, operand `side` of the second product, and matches
// what computes them.
static bool match_side(match_t* m, const product_t* second, uint32_t side, const view_t* root) {
  view_t scores = {.value = hlo_node_operand(second->node, side)}, value, result = *root;
  const hlo_type_t* type = scores.value->type;
  const int32_t key = contracted_dim(second, side);
  if (key < 0 || key >= HLO_ATTENTION_MAX_RANK) return false;
  m->key_label = (int8_t)key;
  m->out->is_narrow = type->dtype == HLO_DTYPE_BF16;
  int8_t labels[HLO_ATTENTION_MAX_RANK];  // of the product's result
  memset(labels, NO_LABEL, sizeof labels);
  for (uint32_t i = 0; i < type->rank; ++i) {
    m->extents[i] = type->dims[i];
    if (type->dims[i] > MAX_INDEX) return false;
    scores.labels[i] = type->dims[i] == 1 ? NO_LABEL : (int8_t)i;
    const int32_t dim = result_dim(second, side, i);
    if (dim >= 0) labels[dim] = scores.labels[i];
  }
  const uint32_t other = 1 - side;
  if (!view_operand(m, second, other, labels, &value)) return false;
  // The contracted dimension is the keys, a free one the features.
  const hlo_type_t* value_type = value.value->type;
  m->out->features = 1;
  for (uint32_t i = 0; i < value_type->rank; ++i) {
    const int32_t dim = result_dim(second, other, i);
    if (value.labels[i] == DEPTH_LABEL) value.labels[i] = m->key_label;
    const bool is_free = dim >= 0 && !hlo_dims_contain(second->batch[other].values,
                                                       second->batch[other].count, i, NULL);
    if (!is_free || value_type->dims[i] == 1) continue;
    if (m->out->features != 1) return false;
    m->out->features = value_type->dims[i];
    value.labels[i] = labels[dim] = DEPTH_LABEL;
  }
  // The labels of the root: those of the product, moved through the transposes above it.
  view_t moved = result;
  for (uint32_t i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) moved.labels[i] = (int8_t)i;
  while (moved.value->def != second->node) {
    if (!visit(m, moved.value->def) || !move(&moved, false, &moved)) return false;
  }
  for (uint32_t i = 0; i < moved.value->type->rank; ++i) result.labels[moved.labels[i]] = labels[i];
  if (!visit(m, second->node) || !match_softmax(m, &scores)) return false;
  const int step = build(m, scores, 0);
  return step >= 0 && step == (int)m->out->step_count - 1 && m->scores.value &&
         finish(m, &result, &value) && is_private(m, root->value);
}

bool hlo_attention_match(const hlo_value_t* root, hlo_attention_t* out,
                         hlo_attention_nodes_t* out_nodes) {
  const hlo_value_t* value = root;
  for (uint32_t i = 0; value->def && value->def->op == HLO_OP_transpose && i < 4; ++i) {
    value = hlo_node_operand(value->def, 0);
  }
  product_t second;
  if (!is_plain(root->type) || !read_product(value, &second)) return false;
  for (uint32_t side = 0; side < 2; ++side) {
    match_t m = {.out = out};
    *out = (hlo_attention_t){.root = root};
    const view_t view = {.value = root};
    if (!match_side(&m, &second, side, &view)) continue;
    if (out_nodes) *out_nodes = m.visited;
    return true;
  }
  return false;
}
