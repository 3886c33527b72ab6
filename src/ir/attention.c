// SPDX-License-Identifier: Apache-2.0
// Recognition of attention (see attention.h), from the second product backwards.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attention_impl.h"
#include "ir/reducer.h"

enum {
  NO_LABEL = HLO_ATTENTION_NO_LABEL,
  DEPTH_LABEL = HLO_ATTENTION_DEPTH_LABEL,
  MAX_DEPTH = 64,
  MAX_INDEX = 1 << 30,  // of indices and constants of 64 bits: sums of two fit 32 bits
  MAX_FACTORS = 4,      // of probabilities
};

static bool is_visited(const hlo_attention_match_t* m, const hlo_node_t* node) {
  for (uint32_t i = 0; i < m->visited.count; ++i) {
    if (m->visited.nodes[i] == node) return true;
  }
  return false;
}

bool hlo_attention_visit(hlo_attention_match_t* m, const hlo_node_t* node) {
  if (is_visited(m, node)) return true;
  if (m->visited.count == sizeof m->visited.nodes / sizeof *m->visited.nodes) return false;
  m->visited.nodes[m->visited.count++] = node;
  return true;
}

bool hlo_attention_is_plain(const hlo_type_t* type) {
  return hlo_type_is_tensor(type) && !type->quant && hlo_type_is_static(type) &&
         type->rank <= HLO_ATTENTION_MAX_RANK;
}

bool hlo_attention_is_float(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_BF16 || dtype == HLO_DTYPE_F16;
}

bool hlo_attention_view_is_equal(const hlo_attention_view_t* a, const hlo_attention_view_t* b) {
  return a->value == b->value &&
         memcmp(a->labels, b->labels, a->value->type->rank * sizeof *a->labels) == 0;
}

bool hlo_attention_view_has_label(const hlo_attention_view_t* view, int label) {
  for (uint32_t i = 0; i < view->value->type->rank; ++i) {
    if (view->labels[i] == label) return true;
  }
  return false;
}

// ---- movement

static bool move_reshape(const hlo_attention_view_t* view, const hlo_value_t* from,
                         int8_t* labels) {
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

bool hlo_attention_move(const hlo_attention_view_t* view, bool can_broadcast,
                        hlo_attention_view_t* out) {
  const hlo_node_t* node = view->value->def;
  if (!node || node->extra || node->operand_count != 1) return false;
  const hlo_value_t* from = hlo_node_operand(node, 0);
  if (!hlo_attention_is_plain(from->type)) return false;
  hlo_attention_view_t moved = {.value = from};
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

bool hlo_attention_peel(hlo_attention_match_t* m, bool can_broadcast, hlo_attention_view_t* view) {
  for (;;) {
    const hlo_node_t* node = view->value->def;
    if (node && node->op == HLO_OP_convert && !node->extra &&
        hlo_attention_is_float(view->value->type->dtype) &&
        hlo_attention_is_float(hlo_node_operand_type(node, 0)->dtype)) {
      view->value = hlo_node_operand(node, 0);
    } else if (!hlo_attention_move(view, can_broadcast, view)) {
      return true;
    }
    if (!hlo_attention_visit(m, node)) return false;
  }
}

// ---- products

bool hlo_attention_read_product(const hlo_value_t* value, hlo_attention_product_t* out) {
  const hlo_node_t* node = value->def;
  if (!node || node->op != HLO_OP_dot_general || node->extra ||
      !hlo_attention_is_plain(value->type) || !hlo_attention_is_float(value->type->dtype)) {
    return false;
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (!hlo_attention_is_plain(type) || !hlo_attention_is_float(type->dtype)) return false;
  }
  *out = (hlo_attention_product_t){
      .node = node,
      .batch = {hlo_node_ints(node, HLO_ATTR_lhs_batching_dimensions),
                hlo_node_ints(node, HLO_ATTR_rhs_batching_dimensions)},
      .depth = {hlo_node_ints(node, HLO_ATTR_lhs_contracting_dimensions),
                hlo_node_ints(node, HLO_ATTR_rhs_contracting_dimensions)}};
  return true;
}

// Returns the result's dimension of an operand's dimension; -1 for a contracted one.
static int32_t result_dim(const hlo_attention_product_t* p, uint32_t side, uint32_t dim) {
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

int32_t hlo_attention_contracted_dim(const hlo_attention_product_t* p, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(p->node, side);
  int32_t found = -1;
  for (uint32_t i = 0; i < p->depth[side].count; ++i) {
    const int32_t dim = (int32_t)p->depth[side].values[i];
    if (type->dims[dim] == 1) continue;
    if (found >= 0) return HLO_ATTENTION_SEVERAL;
    found = dim;
  }
  return found;
}

static int64_t stride_of(const hlo_type_t* type, uint32_t dim) {
  int64_t stride = 1;
  for (uint32_t i = dim + 1; i < type->rank; ++i) stride *= type->dims[i];
  return stride;
}

bool hlo_attention_label_product(const hlo_attention_product_t* p, uint32_t side,
                                 const hlo_attention_view_t* weights, hlo_attention_view_t* other,
                                 int8_t* result_labels, int64_t* extent) {
  const uint32_t with = 1 - side;
  other->value = hlo_node_operand(p->node, with);
  const hlo_type_t *type = weights->value->type, *other_type = other->value->type;
  memset(result_labels, NO_LABEL, HLO_ATTENTION_MAX_RANK * sizeof *result_labels);
  for (uint32_t i = 0; i < type->rank; ++i) {
    const int32_t dim = result_dim(p, side, i);
    if (dim >= 0) result_labels[dim] = weights->labels[i];
  }
  *extent = 1;
  for (uint32_t i = 0; i < other_type->rank; ++i) {
    uint32_t at;
    other->labels[i] = NO_LABEL;
    if (other_type->dims[i] == 1) continue;
    if (hlo_dims_contain(p->depth[with].values, p->depth[with].count, i, &at)) {
      other->labels[i] = weights->labels[p->depth[side].values[at]];
    } else if (hlo_dims_contain(p->batch[with].values, p->batch[with].count, i, &at)) {
      other->labels[i] = weights->labels[p->batch[side].values[at]];
    } else {
      if (*extent != 1) return false;
      *extent = other_type->dims[i];
      other->labels[i] = result_labels[result_dim(p, with, i)] = DEPTH_LABEL;
    }
  }
  return true;
}

bool hlo_attention_label_root(hlo_attention_match_t* m, const hlo_attention_product_t* p,
                              const int8_t* result_labels, hlo_attention_view_t* root) {
  hlo_attention_view_t moved = *root;
  for (uint32_t i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) moved.labels[i] = (int8_t)i;
  while (moved.value->def != p->node) {
    if (!hlo_attention_visit(m, moved.value->def) || !hlo_attention_move(&moved, false, &moved)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < moved.value->type->rank; ++i) {
    root->labels[moved.labels[i]] = result_labels[i];
  }
  return true;
}

// ---- softmax

static const hlo_node_t* node_of(const hlo_attention_view_t* view, hlo_op_t op) {
  const hlo_node_t* node = view->value->def;
  return node && node->op == op && !node->extra ? node : NULL;
}

bool hlo_attention_read_number(const hlo_value_t* value, double* out) {
  while (value->def && value->def->op == HLO_OP_broadcast_in_dim) {
    value = hlo_node_operand(value->def, 0);
  }
  const hlo_attr_t* attr = value->def && value->def->op == HLO_OP_constant
                               ? hlo_node_attr(value->def, HLO_ATTR_value)
                               : NULL;
  if (!attr || attr->kind != HLO_ATTR_KIND_LITERAL) return false;
  const hlo_literal_t* literal = attr->literal;
  if (!literal->is_splat && literal->element_count != 1) return false;
  if (!hlo_attention_is_float(literal->dtype)) return false;
  hlo_dtype_convert(literal->dtype, literal->data, HLO_DTYPE_F64, out, 1);
  return true;
}

// Visits what leads to a constant.
static bool visit_constant(hlo_attention_match_t* m, const hlo_value_t* value) {
  for (; value->def && value->def->op == HLO_OP_broadcast_in_dim;
       value = hlo_node_operand(value->def, 0)) {
    if (!hlo_attention_visit(m, value->def)) return false;
  }
  return hlo_attention_visit(m, value->def);
}

static hlo_value_t* other_operand(const hlo_node_t* node, uint32_t side) {
  return hlo_node_operand(node, 1 - side);
}

// Follows a value that is broadcast along the keys back to the reduction of them, past a maximum
// with -infinity, and gives what is reduced.
static bool peel_reduction(hlo_attention_match_t* m, hlo_op_t op, hlo_attention_view_t* view,
                           hlo_attention_view_t* out_result) {
  double limit;
  if (!hlo_attention_peel(m, true, view)) return false;
  const hlo_node_t* node;
  while (op == HLO_OP_maximum && (node = node_of(view, HLO_OP_maximum))) {
    const bool is_first = hlo_attention_read_number(hlo_node_operand(node, 0), &limit);
    const uint32_t side = is_first ? 0 : 1;
    if (!hlo_attention_read_number(hlo_node_operand(node, side), &limit) || limit != -INFINITY)
      return false;
    if (!hlo_attention_visit(m, node) || !visit_constant(m, hlo_node_operand(node, side)))
      return false;
    view->value = other_operand(node, side);
    if (!hlo_attention_peel(m, true, view)) return false;
  }
  node = node_of(view, HLO_OP_reduce);
  if (!node || node->operand_count != 2 || hlo_reduce_op(node, 0) != op ||
      !hlo_attention_visit(m, node) ||
      !hlo_attention_read_number(hlo_node_operand(node, 1), &limit) ||
      limit != (op == HLO_OP_add ? 0 : -INFINITY) || !visit_constant(m, hlo_node_operand(node, 1)))
    return false;
  *out_result = *view;
  hlo_attention_view_t from = {.value = hlo_node_operand(node, 0)};
  const hlo_type_t* type = from.value->type;
  const hlo_ints_t dims = hlo_node_ints(node, HLO_ATTR_dimensions);
  if (!hlo_attention_is_plain(type)) return false;
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
  return has_key && hlo_attention_peel(m, false, view);
}

// Matches exp(x - max(x)) / sum(exp(x - max(x))) over the keys and gives x.
static bool match_softmax(hlo_attention_match_t* m, hlo_attention_view_t* view) {
  if (!hlo_attention_peel(m, false, view)) return false;
  const hlo_node_t* node = node_of(view, HLO_OP_divide);
  if (!node || !hlo_attention_visit(m, node)) return false;
  hlo_attention_view_t sum = *view, most, again;
  sum.value = hlo_node_operand(node, 1);
  view->value = hlo_node_operand(node, 0);
  if (!hlo_attention_peel(m, false, view) || !peel_reduction(m, HLO_OP_add, &sum, &m->sum) ||
      !hlo_attention_view_is_equal(view, &sum)) {
    return false;
  }
  node = node_of(view, HLO_OP_exponential);
  if (!node || !hlo_attention_visit(m, node)) return false;
  view->value = hlo_node_operand(node, 0);
  if (!hlo_attention_peel(m, false, view)) return false;
  node = node_of(view, HLO_OP_subtract);
  if (!node || !hlo_attention_visit(m, node)) return false;
  most = again = *view;
  most.value = hlo_node_operand(node, 1);
  again.value = hlo_node_operand(node, 0);
  if (!peel_reduction(m, HLO_OP_maximum, &most, &m->most) || !hlo_attention_peel(m, false, &again))
    return false;
  *view = again;
  return hlo_attention_view_is_equal(&most, &again);
}

// Finds the softmax whose probabilities, times factors, are `weights`: products, quotients and
// selections of zero. Gives its result and what it reads; returns the number of factors, -1 if
// there is no softmax.
static int find_softmax(hlo_attention_match_t* m, const hlo_attention_view_t* weights, int depth,
                        hlo_attention_view_t* out_result, hlo_attention_view_t* out_scores) {
  const uint32_t visited = m->visited.count;
  *out_result = *weights;
  if (!hlo_attention_peel(m, false, out_result)) return -1;
  *out_scores = *out_result;
  if (match_softmax(m, out_scores)) return depth;
  m->visited.count = visited;  // the factors are visited when their steps are built
  const hlo_attention_view_t product = *out_result;
  const hlo_node_t* node = product.value->def;
  if (!node || node->extra || depth == MAX_FACTORS) return -1;
  uint32_t first = 0, count = 0;
  double number;
  if (node->op == HLO_OP_multiply) count = 2;
  if (node->op == HLO_OP_divide) count = 1;
  if (node->op == HLO_OP_select && hlo_attention_read_number(hlo_node_operand(node, 2), &number) &&
      number == 0) {
    first = count = 1;
  }
  for (uint32_t i = first; i < first + count; ++i) {
    hlo_attention_view_t operand = product;
    operand.value = hlo_node_operand(node, i);
    if (operand.value->type->rank != product.value->type->rank) continue;
    const int found = find_softmax(m, &operand, depth + 1, out_result, out_scores);
    if (found >= 0) return found;
  }
  return -1;
}

// ---- the function of the scores

uint32_t hlo_attention_operand_count(hlo_attention_op_t op) {
  if (op < HLO_ATTENTION_ADD) return 0;
  switch (op) {
    case HLO_ATTENTION_NEGATE:
    case HLO_ATTENTION_ABS:
    case HLO_ATTENTION_TANH:
    case HLO_ATTENTION_EXP:
    case HLO_ATTENTION_NOT:
    case HLO_ATTENTION_CONVERT: return 1;
    case HLO_ATTENTION_SELECT: return 3;
    default: return 2;
  }
}

static int add_step(hlo_attention_match_t* m, const hlo_attention_step_t* step) {
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

static int add_array(hlo_attention_match_t* m, const hlo_attention_view_t* view,
                     hlo_attention_type_t type) {
  if (view->value->type->dtype == HLO_DTYPE_S64) return -1;  // steps have 32 bits
  uint32_t i = 0;
  while (i < m->out->array_count && !hlo_attention_view_is_equal(&m->arrays[i], view)) ++i;
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

// Adds the index along the axis of a dimension, plus `first`.
static int add_index(hlo_attention_match_t* m, int label, int64_t first) {
  hlo_attention_step_t step = {
      .op = HLO_ATTENTION_CONSTANT, .type = HLO_ATTENTION_INTEGER, .integer = (int32_t)first};
  if (label == m->key_label) step.op = HLO_ATTENTION_KEY;
  // Which label the rows have is known at the end; `array` holds it until then.
  if (label != m->key_label && label != NO_LABEL) {
    step.op = HLO_ATTENTION_ROW;
    step.array = (uint8_t)label;
  }
  return add_step(m, &step);
}

// Returns true if an index plus `first` is small.
static bool can_shift(const hlo_attention_match_t* m, int label, int64_t first) {
  return first > -MAX_INDEX && first <= MAX_INDEX - m->extents[label];
}

// Returns true if a constant counts along one axis, as the positions of local windows do: its
// elements are *first and the index.
static bool read_count(const hlo_attention_match_t* m, const hlo_attention_view_t* view, int* label,
                       int64_t* first) {
  const hlo_literal_t* literal = hlo_node_attr(view->value->def, HLO_ATTR_value)->literal;
  const bool is_long = literal->dtype == HLO_DTYPE_S64;
  if (!is_long && literal->dtype != HLO_DTYPE_S32) return false;
  *label = NO_LABEL;
  for (uint32_t i = 0; i < view->value->type->rank; ++i) {
    if (view->value->type->dims[i] == 1) continue;
    if (*label != NO_LABEL) return false;
    *label = view->labels[i];
  }
  const int32_t* words = (const int32_t*)literal->data;
  const int64_t* numbers = (const int64_t*)literal->data;
  *first = is_long ? numbers[0] : words[0];
  if (*label == NO_LABEL || !can_shift(m, *label, *first)) return false;
  for (int64_t i = 0; i < literal->element_count; ++i) {
    if ((is_long ? numbers[i] : words[i]) != *first + i) return false;
  }
  return true;
}

static int build_constant(hlo_attention_match_t* m, const hlo_attention_view_t* view,
                          hlo_attention_type_t type) {
  const hlo_literal_t* literal = hlo_node_attr(view->value->def, HLO_ATTR_value)->literal;
  int64_t integer;
  int label;
  if (!literal->is_splat && literal->element_count != 1) {
    if (!read_count(m, view, &label, &integer)) return add_array(m, view, type);
    return hlo_attention_visit(m, view->value->def) ? add_index(m, label, integer) : -1;
  }
  hlo_attention_step_t step = {.op = HLO_ATTENTION_CONSTANT, .type = type};
  if (type == HLO_ATTENTION_FLOAT) {
    hlo_dtype_convert(literal->dtype, literal->data, HLO_DTYPE_F32, &step.number, 1);
  } else {
    hlo_dtype_convert(literal->dtype, literal->data, HLO_DTYPE_S64, &integer, 1);
    step.integer = (int32_t)integer;
    const bool is_small = integer >= -MAX_INDEX && integer <= MAX_INDEX;
    if (literal->dtype == HLO_DTYPE_S64 && !is_small) return -1;
  }
  return hlo_attention_visit(m, view->value->def) ? add_step(m, &step) : -1;
}

static int build_iota(hlo_attention_match_t* m, const hlo_attention_view_t* view,
                      hlo_attention_type_t type) {
  const int64_t dim = hlo_node_attr_int(view->value->def, HLO_ATTR_iota_dimension, 0);
  if (type != HLO_ATTENTION_INTEGER) return add_array(m, view, type);
  if (!hlo_attention_visit(m, view->value->def)) return -1;
  return add_index(m, view->labels[dim], 0);
}

static bool is_index(const hlo_attention_step_t* step) {
  return step->op == HLO_ATTENTION_ROW || step->op == HLO_ATTENTION_KEY;
}

// Makes the sum or difference of an index and a constant an index.
static void simplify_shift(const hlo_attention_match_t* m, hlo_attention_step_t* step) {
  const hlo_attention_step_t* index = &m->out->steps[step->operands[0]];
  const hlo_attention_step_t* shift = &m->out->steps[step->operands[1]];
  if (step->op == HLO_ATTENTION_ADD && is_index(shift)) {
    const hlo_attention_step_t* other = index;
    index = shift;
    shift = other;
  }
  if (!is_index(index) || shift->op != HLO_ATTENTION_CONSTANT) return;
  const int64_t by = step->op == HLO_ATTENTION_ADD ? shift->integer : -(int64_t)shift->integer;
  const int64_t first = index->integer + by;
  const int label = index->op == HLO_ATTENTION_KEY ? m->key_label : index->array;
  if (!can_shift(m, label, first)) return;
  *step = *index;
  step->integer = (int32_t)first;
}

// Returns true if a step computes integers of 64 bits with 32: it only selects, or adds indices and
// constants.
static bool is_exact(const hlo_attention_match_t* m, const hlo_attention_step_t* step) {
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

// Makes the quotient of a truth value and a constant a selection.
static void simplify_division(hlo_attention_match_t* m, hlo_attention_step_t* step) {
  const hlo_attention_step_t* above = &m->out->steps[step->operands[0]];
  const hlo_attention_step_t* below = &m->out->steps[step->operands[1]];
  hlo_attention_step_t number = *below;
  if (above->op != HLO_ATTENTION_CONVERT || above->from != HLO_ATTENTION_BOOLEAN ||
      below->op != HLO_ATTENTION_CONSTANT || !(fabsf(below->number) > 0)) {
    return;
  }
  number.number = 1 / below->number;
  const int yes = add_step(m, &number);
  number.number = 0;
  const int no = add_step(m, &number);
  if (yes < 0 || no < 0) return;
  *step = (hlo_attention_step_t){.op = HLO_ATTENTION_SELECT,
                                 .type = HLO_ATTENTION_FLOAT,
                                 .from = HLO_ATTENTION_BOOLEAN,
                                 .operands = {above->operands[0], (uint8_t)yes, (uint8_t)no}};
}

static int build_op(hlo_attention_match_t* m, const hlo_attention_view_t* view,
                    hlo_attention_op_t op, hlo_attention_type_t type, uint32_t depth) {
  const hlo_node_t* node = view->value->def;
  hlo_attention_step_t step = {.op = op, .type = type, .from = type};
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_attention_view_t operand = *view;
    operand.value = hlo_node_operand(node, i);
    hlo_attention_type_t from;
    if (!hlo_attention_is_plain(operand.value->type) || !type_of(operand.value->type->dtype, &from))
      return -1;
    // A predicate, or an operand of clamp, may be a scalar.
    if (operand.value->type->rank != view->value->type->rank && operand.value->type->rank)
      return -1;
    const int number = hlo_attention_build(m, operand, depth + 1);
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
  const bool is_sum = op == HLO_ATTENTION_ADD || op == HLO_ATTENTION_SUBTRACT;
  if (is_sum && type == HLO_ATTENTION_INTEGER) simplify_shift(m, &step);
  if (node->results[0].type->dtype == HLO_DTYPE_S64 && !is_index(&step) && !is_exact(m, &step))
    return -1;
  if (!hlo_attention_visit(m, node)) return -1;
  if (op == HLO_ATTENTION_DIVIDE) simplify_division(m, &step);
  return op == HLO_ATTENTION_CONVERT && step.from == type ? step.operands[0] : add_step(m, &step);
}

// Returns true if a value is cheap to compute for each score, rather than once before.
static bool is_computed(const hlo_attention_match_t* m, const hlo_attention_view_t* view,
                        hlo_attention_type_t type) {
  uint32_t rows = 0;
  for (uint32_t i = 0; i < view->value->type->rank; ++i) {
    rows += view->labels[i] != NO_LABEL && view->labels[i] != m->key_label;
  }
  return hlo_attention_view_has_label(view, m->key_label) ? rows > 0 || type != HLO_ATTENTION_FLOAT
                                                          : rows > 0 && type != HLO_ATTENTION_FLOAT;
}

// Builds the steps of a truth value. If they would read a matrix of numbers that is computed, or
// contain an op that has no step, the truth values are an array: those of dropout.
static int build_truth(hlo_attention_match_t* m, const hlo_attention_view_t* view,
                       hlo_attention_op_t op, uint32_t depth) {
  const uint32_t visited = m->visited.count, products = m->product_count;
  const uint32_t steps = m->out->step_count, arrays = m->out->array_count, memo = m->memo_count;
  const int64_t elements = hlo_type_element_count(view->value->type);
  const int step = build_op(m, view, op, HLO_ATTENTION_BOOLEAN, depth);
  bool has_matrix = step < 0;
  for (uint32_t i = arrays; i < m->out->array_count; ++i) {
    const hlo_type_t* type = m->arrays[i].value->type;
    has_matrix |= m->arrays[i].value->def && type->dtype != HLO_DTYPE_PRED &&
                  hlo_type_element_count(type) == elements;
  }
  if (!has_matrix || m->product_count != products) return step;
  m->visited.count = visited;
  m->out->step_count = steps;
  m->out->array_count = arrays;
  m->memo_count = memo;
  return add_array(m, view, HLO_ATTENTION_BOOLEAN);
}

static bool has_visited_users(const hlo_attention_match_t* m, const hlo_value_t* value) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (!is_visited(m, use->user)) return false;
  }
  return true;
}

static int build_new(hlo_attention_match_t* m, hlo_attention_view_t* view, uint32_t depth) {
  const hlo_node_t* node = view->value->def;
  hlo_attention_type_t type;
  if (depth > MAX_DEPTH || !type_of(view->value->type->dtype, &type)) return -1;
  if (!node || node->extra) return add_array(m, view, type);
  hlo_attention_product_t product;
  if (m->product_count < m->product_limit && hlo_attention_view_has_label(view, m->key_label) &&
      hlo_attention_read_product(view->value, &product) &&
      (m->is_shared || !view->value->uses->next || has_visited_users(m, view->value))) {
    const hlo_attention_op_t op = m->product_count ? HLO_ATTENTION_SECOND : HLO_ATTENTION_SCORE;
    m->products[m->product_count++] = *view;
    return hlo_attention_visit(m, node) ? add_step(m, &(hlo_attention_step_t){.op = op}) : -1;
  }
  if (node->op == HLO_OP_constant) return build_constant(m, view, type);
  if (node->op == HLO_OP_iota) return build_iota(m, view, type);
  hlo_attention_view_t moved;
  if (hlo_attention_move(view, true, &moved)) {
    const hlo_op_t op = moved.value->def ? moved.value->def->op : HLO_OP_COUNT;
    if (op == HLO_OP_constant || op == HLO_OP_iota || is_computed(m, &moved, type) ||
        hlo_type_element_count(moved.value->type) != hlo_type_element_count(view->value->type)) {
      return hlo_attention_visit(m, node) ? hlo_attention_build(m, moved, depth + 1) : -1;
    }
  }
  const hlo_attention_op_t op = op_of(node, type);
  const bool is_widened = op == HLO_ATTENTION_CONVERT && view->value->type->dtype == HLO_DTYPE_S64;
  if (is_widened) return build_op(m, view, op, type, depth);
  if (op == HLO_ATTENTION_SCORE || !is_computed(m, view, type)) return add_array(m, view, type);
  if (op == HLO_ATTENTION_COMPARE) return build_truth(m, view, op, depth);
  return build_op(m, view, op, type, depth);
}

int hlo_attention_build(hlo_attention_match_t* m, hlo_attention_view_t view, uint32_t depth) {
  for (uint32_t i = 0; i < m->memo_count; ++i) {
    if (hlo_attention_view_is_equal(&m->memo[i], &view)) return m->memo_steps[i];
  }
  const int step = build_new(m, &view, depth);
  if (step >= 0 && m->memo_count < HLO_ATTENTION_MAX_MEMO) {
    m->memo[m->memo_count] = view;
    m->memo_steps[m->memo_count++] = (uint8_t)step;
  }
  return step;
}

// ---- the axes of the arrays

void hlo_attention_store_array(const hlo_attention_match_t* m, int row,
                               const hlo_attention_strides_t* strides, const hlo_value_t* value,
                               hlo_attention_array_t* out) {
  *out = (hlo_attention_array_t){.value = value,
                                 .row = strides->axes[row],
                                 .key = strides->axes[m->key_label],
                                 .depth = strides->depth};
  uint32_t count = 0;
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] > 1 && i != row && i != m->key_label) out->batch[count++] = strides->axes[i];
  }
}

// Gives the strides of a view, whose dimension DEPTH_LABEL is no axis.
hlo_attention_strides_t hlo_attention_strides_of(const hlo_attention_view_t* view) {
  hlo_attention_strides_t strides = {0};
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

bool hlo_attention_view_operand(const hlo_attention_product_t* p, uint32_t side,
                                const int8_t* labels, hlo_attention_view_t* out) {
  const int32_t depth = hlo_attention_contracted_dim(p, side);
  out->value = hlo_node_operand(p->node, side);
  const hlo_type_t* type = out->value->type;
  for (uint32_t i = 0; i < type->rank; ++i) {
    const int32_t dim = result_dim(p, side, i);
    out->labels[i] = NO_LABEL;
    if (type->dims[i] != 1 && dim >= 0) out->labels[i] = labels[dim];
    if ((int32_t)i == depth) out->labels[i] = DEPTH_LABEL;
  }
  return depth != HLO_ATTENTION_SEVERAL;
}

bool hlo_attention_peel_operand(hlo_attention_match_t* m, hlo_attention_view_t* view) {
  for (;;) {
    const hlo_node_t* node = view->value->def;
    if (node && node->op == HLO_OP_convert && !node->extra &&
        view->value->type->dtype == HLO_DTYPE_F32 &&
        hlo_attention_is_float(hlo_node_operand_type(node, 0)->dtype)) {
      view->value = hlo_node_operand(node, 0);
    } else if (!hlo_attention_move(view, true, view)) {
      return true;
    }
    if (!hlo_attention_visit(m, node)) return false;
  }
}

int hlo_attention_choose_rows(const hlo_attention_match_t* m, const hlo_attention_view_t* query,
                              const hlo_attention_view_t* key, const hlo_attention_view_t* value) {
  int row = -1;
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] <= 1 || i == m->key_label || !hlo_attention_view_has_label(query, i) ||
        hlo_attention_view_has_label(key, i) || hlo_attention_view_has_label(value, i)) {
      continue;
    }
    if (row < 0 || m->extents[i] >= m->extents[row]) row = i;
  }
  return row;
}

bool hlo_attention_resolve_rows(hlo_attention_t* out, int row) {
  for (uint32_t i = 0; i < out->step_count; ++i) {
    if (out->steps[i].op != HLO_ATTENTION_ROW) continue;
    if (out->steps[i].array != row) return false;
    out->steps[i].array = 0;
  }
  return true;
}

void hlo_attention_store_arrays(hlo_attention_match_t* m, int row) {
  for (uint32_t i = 0; i < m->out->array_count; ++i) {
    const hlo_attention_strides_t own = hlo_attention_strides_of(&m->arrays[i]);
    hlo_attention_store_array(m, row, &own, m->arrays[i].value, &m->out->arrays[i]);
  }
}

static bool finish(hlo_attention_match_t* m, const hlo_attention_view_t* root,
                   const hlo_attention_view_t* value_operand) {
  hlo_attention_t* out = m->out;
  hlo_attention_product_t first;
  hlo_attention_view_t sides[2], value = *value_operand;
  if (!hlo_attention_read_product(m->products[0].value, &first)) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    if (!hlo_attention_view_operand(&first, i, m->products[0].labels, &sides[i])) return false;
  }
  const uint32_t key_side = hlo_attention_view_has_label(&sides[1], m->key_label) ? 1 : 0;
  hlo_attention_view_t *query = &sides[1 - key_side], *key = &sides[key_side];
  if (!hlo_attention_view_has_label(key, m->key_label) ||
      hlo_attention_view_has_label(query, m->key_label))
    return false;
  const int row = hlo_attention_choose_rows(m, query, key, &value);
  if (row < 0 || !hlo_attention_resolve_rows(out, row)) return false;
  out->rows = m->extents[row];
  out->keys = m->extents[m->key_label];
  const hlo_type_t* type = hlo_node_operand_type(first.node, 0);
  const int32_t depth = hlo_attention_contracted_dim(&first, 0);
  out->depth = depth < 0 ? 1 : type->dims[depth];
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] > 1 && i != row && i != m->key_label)
      out->batch[out->batch_count++] = m->extents[i];
  }
  if (!hlo_attention_peel_operand(m, query) || !hlo_attention_peel_operand(m, key) ||
      !hlo_attention_peel_operand(m, &value))
    return false;
  const hlo_attention_strides_t strides[4] = {
      hlo_attention_strides_of(query), hlo_attention_strides_of(key),
      hlo_attention_strides_of(&value), hlo_attention_strides_of(root)};
  hlo_attention_store_array(m, row, &strides[0], query->value, &out->query);
  hlo_attention_store_array(m, row, &strides[1], key->value, &out->key);
  hlo_attention_store_array(m, row, &strides[2], value.value, &out->value);
  hlo_attention_store_array(m, row, &strides[3], root->value, &out->result);
  hlo_attention_store_arrays(m, row);
  const hlo_attention_strides_t most = hlo_attention_strides_of(&m->most);
  const hlo_attention_strides_t sum = hlo_attention_strides_of(&m->sum);
  hlo_attention_store_array(m, row, &most, m->most.value, &out->most);
  hlo_attention_store_array(m, row, &sum, m->sum.value, &out->sum);
  out->is_narrow &= query->value->type->dtype == HLO_DTYPE_BF16 &&
                    key->value->type->dtype == HLO_DTYPE_BF16 &&
                    value.value->type->dtype == HLO_DTYPE_BF16;
  return hlo_attention_is_float(query->value->type->dtype) &&
         hlo_attention_is_float(key->value->type->dtype) &&
         hlo_attention_is_float(value.value->type->dtype) &&
         hlo_attention_is_float(root->value->type->dtype);
}

// Returns true if nothing else uses the probabilities and scores, which would be computed for it
// anyway.
static bool is_private(const hlo_attention_match_t* m, const hlo_value_t* root) {
  const int64_t scores = hlo_type_element_count(m->products[0].value->type);
  for (uint32_t i = 0; i < m->visited.count; ++i) {
    const hlo_node_t* node = m->visited.nodes[i];
    const hlo_value_t* value = &node->results[0];
    const bool is_large = node->op != HLO_OP_iota && node->op != HLO_OP_constant &&
                          node->op != HLO_OP_broadcast_in_dim &&
                          hlo_type_element_count(value->type) == scores &&
                          hlo_attention_is_float(value->type->dtype);
    if (value == root || !is_large) continue;
    if (!has_visited_users(m, value)) return false;
  }
  return true;
}

static bool is_number(const hlo_attention_t* out, uint32_t step, float* number) {
  *number = out->steps[step].number;
  return out->steps[step].op == HLO_ATTENTION_CONSTANT && fabsf(*number) > 0 &&
         fabsf(*number) < INFINITY;
}

// Splits the weights of dropout, t ? x * c : 0 or x * (t ? c : 0), into the selection and c.
static bool split_scale(hlo_attention_match_t* m, uint32_t weight, uint32_t* step) {
  hlo_attention_t* out = m->out;
  hlo_attention_step_t last = out->steps[*step];
  if (last.op == HLO_ATTENTION_MULTIPLY) {
    const uint32_t side = last.operands[0] == weight ? 1 : 0;
    if (last.operands[1 - side] != weight) return false;
    last = out->steps[last.operands[side]];
    if (last.op != HLO_ATTENTION_SELECT || !is_number(out, last.operands[1], &out->scale)) {
      return false;
    }
  } else if (last.op == HLO_ATTENTION_SELECT) {
    const hlo_attention_step_t* x = &out->steps[last.operands[1]];
    if ((x->op != HLO_ATTENTION_MULTIPLY && x->op != HLO_ATTENTION_DIVIDE) ||
        x->operands[0] != weight || !is_number(out, x->operands[1], &out->scale)) {
      return false;
    }
    if (x->op == HLO_ATTENTION_DIVIDE) out->scale = 1 / out->scale;
  } else {
    return false;
  }
  const hlo_attention_step_t* zero = &out->steps[last.operands[2]];
  if (zero->op != HLO_ATTENTION_CONSTANT || zero->number != 0) return false;
  last.operands[1] = (uint8_t)weight;
  const int selection = add_step(m, &last);
  if (selection >= 0) *step = (uint32_t)selection;
  return selection >= 0;
}

// Builds the steps of the weights from the result of the softmax. Each value of the probabilities
// must have one use: then the weights are linear in them.
static bool build_weights(hlo_attention_match_t* m, const hlo_attention_view_t* weights,
                          const hlo_attention_view_t* softmax) {
  hlo_attention_t* out = m->out;
  const int weight = add_step(m, &(hlo_attention_step_t){.op = HLO_ATTENTION_WEIGHT});
  if (weight < 0 || m->memo_count == HLO_ATTENTION_MAX_MEMO) return false;
  m->memo[m->memo_count] = *softmax;
  m->memo_steps[m->memo_count++] = (uint8_t)weight;
  const int step = hlo_attention_build(m, *weights, 0);
  if (step < 0) return false;
  uint32_t paths[HLO_ATTENTION_MAX_STEPS] = {0};
  paths[step] = 1;
  for (uint32_t i = (uint32_t)step + 1; i-- > 0;) {
    const uint32_t count = hlo_attention_operand_count(out->steps[i].op);
    for (uint32_t k = 0; k < count; ++k) {
      uint32_t* to = &paths[out->steps[i].operands[k]];
      *to = *to + paths[i] < 2 ? *to + paths[i] : 2;
    }
    if (paths[i] && out->steps[i].op == HLO_ATTENTION_SCORE) return false;
  }
  uint32_t last = (uint32_t)step;
  if (!split_scale(m, (uint32_t)weight, &last)) out->scale = 1;
  out->weight = (uint8_t)last;
  out->has_factor = true;
  return paths[weight] == 1;
}

// Labels the dimensions of the probabilities, operand `side` of the second product, and matches
// what computes them.
static bool match_side(hlo_attention_match_t* m, const hlo_attention_product_t* second,
                       uint32_t side, const hlo_attention_view_t* root) {
  hlo_attention_view_t scores = {.value = hlo_node_operand(second->node, side)}, value,
                       result = *root;
  const hlo_type_t* type = scores.value->type;
  const int32_t key = hlo_attention_contracted_dim(second, side);
  if (key < 0 || key >= HLO_ATTENTION_MAX_RANK) return false;
  m->key_label = (int8_t)key;
  m->out->is_narrow = type->dtype == HLO_DTYPE_BF16;
  for (uint32_t i = 0; i < type->rank; ++i) {
    m->extents[i] = type->dims[i];
    if (type->dims[i] > MAX_INDEX) return false;
    scores.labels[i] = type->dims[i] == 1 ? NO_LABEL : (int8_t)i;
  }
  int8_t labels[HLO_ATTENTION_MAX_RANK];  // of the product's result
  if (!hlo_attention_label_product(second, side, &scores, &value, labels, &m->out->features) ||
      !hlo_attention_label_root(m, second, labels, &result)) {
    return false;
  }
  hlo_attention_view_t softmax;
  const hlo_attention_view_t weights = scores;
  if (!hlo_attention_visit(m, second->node)) return false;
  const int factors = find_softmax(m, &weights, 0, &softmax, &scores);
  const int step = factors < 0 ? -1 : hlo_attention_build(m, scores, 0);
  if (step < 0 || m->product_count != 1) return false;
  m->out->score = (uint8_t)step;
  if (factors > 0 && !build_weights(m, &weights, &softmax)) return false;
  return finish(m, &result, &value) && (m->is_shared || is_private(m, root->value));
}

const hlo_value_t* hlo_attention_product_of(const hlo_value_t* root) {
  const hlo_value_t* value = root;
  for (uint32_t i = 0; value->def && value->def->op == HLO_OP_transpose && i < 4; ++i) {
    value = hlo_node_operand(value->def, 0);
  }
  return value;
}

hlo_value_t* hlo_attention_root(hlo_node_t* product) {
  hlo_value_t* root = &product->results[0];
  for (uint32_t i = 0; i < 4; ++i) {
    const hlo_use_t* use = root->uses;
    if (!use || use->next || use->user->op != HLO_OP_transpose || use->user->extra) break;
    root = &use->user->results[0];
  }
  return root;
}

bool hlo_attention_match(const hlo_value_t* root, bool is_shared, hlo_attention_t* out,
                         hlo_attention_nodes_t* out_nodes) {
  hlo_attention_product_t second;
  if (!hlo_attention_is_plain(root->type) ||
      !hlo_attention_read_product(hlo_attention_product_of(root), &second)) {
    return false;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (!hlo_node_operand(second.node, side)->def) continue;  // weights are computed
    hlo_attention_match_t m = {.out = out, .is_shared = is_shared, .product_limit = 1};
    *out = (hlo_attention_t){.root = root};
    const hlo_attention_view_t view = {.value = root};
    if (!match_side(&m, &second, side, &view)) continue;
    if (out_nodes) *out_nodes = m.visited;
    return true;
  }
  return false;
}
