// SPDX-License-Identifier: Apache-2.0
// The rules of reductions (see tiled_impl.h): reduce and reduce_window, and matrix products and
// convolutions as sums of products.
#include "codegen/index/contraction.h"
#include "codegen/index/tiled_impl.h"

// Returns a reduction of the operands at `inner` over `space`; the initial value replaces elements
// outside the operands.
static hlo_tiled_t* make_reduction(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                   uint32_t space, hlo_index_t inner, uint32_t depth) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  uint32_t half = node->operand_count / 2;
  hlo_tiled_t* tiled =
      hlo_tiling_make(t,
                      &(hlo_tiled_t){.kind = HLO_TILED_REDUCE,
                                     .value = &node->results[0],
                                     .index = hlo_tiling_copy_index(t, to->rank, index),
                                     .reduction = space},
                      2 * half);
  if (!tiled) return NULL;
  bool is_outside = false;
  for (uint32_t d = 0; d < from->rank; ++d) {
    is_outside |= inner[d]->high < 0 || inner[d]->low >= from->dims[d];
  }
  for (uint32_t i = 0; i < half; ++i) {
    hlo_tiled_t* first = hlo_tiling_get(t, hlo_node_operand(node, half + i), NULL, depth);
    hlo_tiled_t* operand =
        is_outside ? first : hlo_tiling_get(t, hlo_node_operand(node, i), inner, depth + 1);
    for (uint32_t d = 0; d < from->rank && first && operand && !is_outside; ++d) {
      if (inner[d]->low >= 0 && inner[d]->high < from->dims[d]) continue;
      operand = hlo_tiling_mask(t, hlo_node_operand(node, i), inner, from->rank, inner[d], 0,
                                from->dims[d], operand, first);
    }
    tiled->operands[i] = operand;
    tiled->operands[half + i] = first;
    if (!operand || !first) return NULL;
  }
  return hlo_tiling_add(t, tiled, to->rank);
}

static hlo_tiled_t* walk_reduce(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t dim_count, kept = 0, at;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &dim_count);
  int64_t reduced_dims[HLO_TILED_MAX_RANK], count = 1;
  for (uint32_t i = 0; i < dim_count; ++i) count *= reduced_dims[i] = from->dims[dims[i]];
  uint32_t space = hlo_tiling_find_space(t, count, depth + 1);
  if (hlo_verdict_is_no(&t->verdict)) return NULL;
  const hlo_expr_t *reduced[HLO_TILED_MAX_RANK], *inner[HLO_TILED_MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[space].linear, dim_count, reduced_dims, reduced);
  for (uint32_t i = 0; i < from->rank; ++i) {
    inner[i] = hlo_dims_contain(dims, dim_count, i, &at) ? reduced[at] : index[kept++];
  }
  return make_reduction(t, node, index, space, inner, depth);
}

static hlo_tiled_t* walk_reduce_window(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                       uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t rank;
  const int64_t* window = hlo_node_attr_ints(node, HLO_ATTR_window_dimensions, &rank);
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) count *= window[i];
  uint32_t space = hlo_tiling_find_space(t, count, depth + 1);
  if (hlo_verdict_is_no(&t->verdict)) return NULL;
  const hlo_expr_t *position[HLO_TILED_MAX_RANK], *inner[HLO_TILED_MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[space].linear, rank, window, position);
  for (uint32_t i = 0; i < from->rank; ++i) {
    const hlo_expr_t* start =
        hlo_expr_mul(&t->exprs, index[i], hlo_node_attr_item(node, HLO_ATTR_window_strides, i, 1));
    const hlo_expr_t* step = hlo_expr_mul(
        &t->exprs, position[i], hlo_node_attr_item(node, HLO_ATTR_window_dilations, i, 1));
    int64_t padding = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * i, 0);
    inner[i] = hlo_expr_add(&t->exprs, hlo_expr_add(&t->exprs, start, step),
                            hlo_tiling_number(t, -padding));
  }
  return make_reduction(t, node, index, space, inner, depth);
}

static hlo_tiled_t* reduce_result(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                                  uint32_t depth) {
  const hlo_node_t* node = value->def;
  hlo_tiled_t* whole = hlo_tiling_get(t, &node->results[0], index, depth);
  if (!whole || value->number == 0) return whole;
  hlo_tiled_t* tiled =
      hlo_tiling_make(t,
                      &(hlo_tiled_t){.kind = HLO_TILED_RESULT,
                                     .value = value,
                                     .index = hlo_tiling_copy_index(t, value->type->rank, index)},
                      1);
  if (!tiled) return NULL;
  tiled->operands[0] = whole;
  return hlo_tiling_add(t, tiled, value->type->rank);
}

// Returns an operand's element at positions of the batch, free and contracting dimensions of
// `side`.
static hlo_tiled_t* dot_operand(hlo_tiling_t* t, const hlo_contraction_t* c, uint32_t side,
                                hlo_index_t batch, hlo_index_t free, hlo_index_t deep,
                                uint32_t depth) {
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < c->batch[side].count; ++i) inner[c->batch[side].dims[i]] = batch[i];
  for (uint32_t i = 0; i < c->free[side].count; ++i) inner[c->free[side].dims[i]] = free[i];
  for (uint32_t i = 0; i < c->depth[side].count; ++i) inner[c->depth[side].dims[i]] = deep[i];
  return hlo_tiling_get(t, hlo_node_operand(c->node, side), inner, depth);
}

// Returns the sum of products over `space`. Product and sum have the same value and index.
static hlo_tiled_t* make_sum(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                             uint32_t space, hlo_tiled_t* a, hlo_tiled_t* b) {
  uint32_t rank = node->results[0].type->rank;
  hlo_tiled_t fields = {.kind = HLO_TILED_PRODUCT,
                        .value = &node->results[0],
                        .index = hlo_tiling_copy_index(t, rank, index)};
  hlo_tiled_t* product = hlo_tiling_make(t, &fields, 2);
  fields.kind = HLO_TILED_REDUCE;
  fields.reduction = space;
  hlo_tiled_t* sum = hlo_tiling_make(t, &fields, 1);
  if (!product || !sum) return NULL;
  product->operands[0] = a;
  product->operands[1] = b;
  sum->operands[0] =
      hlo_tiling_add(t, product, rank);  // the sum is added later: the table finds it first
  return sum->operands[0] ? hlo_tiling_add(t, sum, rank) : NULL;
}

// Returns a dot_general as the sum of products over its contracting dimensions.
static hlo_tiled_t* walk_dot(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                             uint32_t depth) {
  hlo_contraction_t c;
  if (!hlo_contraction_init(node, &c)) {
    return hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_INDEX_PRODUCT, node));
  }
  int64_t dims[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < c.depth[0].count; ++i) {
    dims[i] = hlo_node_operand_type(node, 0)->dims[c.depth[0].dims[i]];
  }
  uint32_t space = hlo_tiling_find_space(t, hlo_contraction_extent(&c, &c.depth[0], 0), depth + 1);
  if (hlo_verdict_is_no(&t->verdict)) return NULL;
  const hlo_expr_t* deep[HLO_TILED_MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[space].linear, c.depth[0].count, dims, deep);
  hlo_index_t free = index + c.batch[0].count;
  hlo_tiled_t* a = dot_operand(t, &c, 0, index, free, deep, depth + 1);
  hlo_tiled_t* b = dot_operand(t, &c, 1, index, free + c.free[0].count, deep, depth + 1);
  return a && b ? make_sum(t, node, index, space, a, b) : NULL;
}

// Returns a zero of the type of `value`, at an index that no element has.
static hlo_tiled_t* make_zero(hlo_tiling_t* t, const hlo_value_t* value) {
  const hlo_expr_t* nowhere[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < value->type->rank; ++i) nowhere[i] = hlo_tiling_number(t, -1);
  return hlo_tiling_leaf(t, value, nowhere, HLO_TILED_CONSTANT, 0, NULL);
}

// Returns the input's element at position `window` (spatial dimensions, then the feature of its
// group) of the window at `index`; zero outside the input and between its dilated elements.
static hlo_tiled_t* window_operand(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                   hlo_index_t window, uint32_t depth) {
  const hlo_value_t* lhs = hlo_node_operand(node, 0);
  const hlo_type_t *from = lhs->type, *to = node->results[0].type;
  uint32_t space = from->rank - 2;
  int64_t out_batch = hlo_node_attr_int(node, HLO_ATTR_output_batch_dimension, 0);
  int64_t out_feature = hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, 0);
  int64_t batch_dim = hlo_node_attr_int(node, HLO_ATTR_input_batch_dimension, 0);
  int64_t feature_dim = hlo_node_attr_int(node, HLO_ATTR_input_feature_dimension, 0);
  int64_t batches = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  int64_t groups = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  int64_t features = to->dims[out_feature];
  hlo_expr_space_t* e = &t->exprs;
  const hlo_expr_t *inner[HLO_TILED_MAX_RANK], *positions[HLO_TILED_MAX_RANK],
      *gaps[HLO_TILED_MAX_RANK];
  const hlo_expr_t* group = hlo_expr_div(e, index[out_feature], features / groups);
  const hlo_expr_t* part = hlo_expr_div(e, index[out_feature], features / batches);
  inner[feature_dim] =
      hlo_expr_add(e, hlo_expr_mul(e, group, from->dims[feature_dim] / groups), window[space]);
  inner[batch_dim] = hlo_expr_add(e, hlo_expr_mul(e, part, to->dims[out_batch]), index[out_batch]);
  for (uint32_t i = 0; i < space; ++i) {
    int64_t out = hlo_node_attr_item(node, HLO_ATTR_output_spatial_dimensions, i, 0);
    int64_t dilation = hlo_node_attr_item(node, HLO_ATTR_lhs_dilation, i, 1);
    const hlo_expr_t* start =
        hlo_expr_mul(e, index[out], hlo_node_attr_item(node, HLO_ATTR_window_strides, i, 1));
    const hlo_expr_t* step =
        hlo_expr_mul(e, window[i], hlo_node_attr_item(node, HLO_ATTR_rhs_dilation, i, 1));
    const hlo_expr_t* position =
        hlo_expr_add(e, hlo_expr_add(e, start, step),
                     hlo_tiling_number(t, -hlo_node_attr_item(node, HLO_ATTR_padding, 2 * i, 0)));
    gaps[i] = hlo_expr_mod(e, position, dilation);
    positions[i] = inner[hlo_node_attr_item(node, HLO_ATTR_input_spatial_dimensions, i, 0)] =
        hlo_expr_div(e, position, dilation);
  }
  hlo_tiled_t *zero = make_zero(t, lhs), *found = hlo_tiling_get(t, lhs, inner, depth);
  for (uint32_t i = 0; i < space && found; ++i) {
    int64_t end = from->dims[hlo_node_attr_item(node, HLO_ATTR_input_spatial_dimensions, i, 0)];
    if (positions[i]->low < 0 || positions[i]->high >= end) {
      found = hlo_tiling_mask(t, lhs, inner, from->rank, positions[i], 0, end, found, zero);
    }
    if (found && gaps[i]->high > 0) {
      found = hlo_tiling_mask(t, lhs, inner, from->rank, gaps[i], 0, 1, found, zero);
    }
  }
  return found;
}

// Returns a convolution as the sum of products over its window and the features of a group.
static hlo_tiled_t* walk_convolution(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                     uint32_t depth) {
  const hlo_type_t* rhs = hlo_node_operand_type(node, 1);
  uint32_t space = rhs->rank - 2;
  int64_t in_dim = hlo_node_attr_int(node, HLO_ATTR_kernel_input_feature_dimension, 0);
  int64_t out_dim = hlo_node_attr_int(node, HLO_ATTR_kernel_output_feature_dimension, 0);
  int64_t dims[HLO_TILED_MAX_RANK], count = rhs->dims[in_dim];
  for (uint32_t i = 0; i < space; ++i) {
    dims[i] = rhs->dims[hlo_node_attr_item(node, HLO_ATTR_kernel_spatial_dimensions, i, 0)];
    count *= dims[i];
  }
  dims[space] = rhs->dims[in_dim];
  uint32_t reduced = hlo_tiling_find_space(t, count, depth + 1);
  if (hlo_verdict_is_no(&t->verdict)) return NULL;
  const hlo_expr_t *window[HLO_TILED_MAX_RANK], *inner[HLO_TILED_MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[reduced].linear, space + 1, dims, window);
  inner[in_dim] = window[space];
  inner[out_dim] = index[hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, 0)];
  for (uint32_t i = 0; i < space; ++i) {
    const hlo_expr_t* position = window[i];
    if (hlo_node_attr_item(node, HLO_ATTR_window_reversal, i, 0)) {
      position = hlo_expr_add(&t->exprs, hlo_expr_mul(&t->exprs, position, -1),
                              hlo_tiling_number(t, dims[i] - 1));
    }
    inner[hlo_node_attr_item(node, HLO_ATTR_kernel_spatial_dimensions, i, 0)] = position;
  }
  hlo_tiled_t* a = window_operand(t, node, index, window, depth + 1);
  hlo_tiled_t* b = hlo_tiling_get(t, hlo_node_operand(node, 1), inner, depth + 1);
  return a && b ? make_sum(t, node, index, reduced, a, b) : NULL;
}

// Returns the result of a product whose kernel is elsewhere.
static hlo_tiled_t* product_result(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index) {
  const hlo_type_t* type = value->type;
  return hlo_tiling_leaf(t, value, index, HLO_TILED_DOT, 0,
                         hlo_expr_linearize(&t->exprs, type->rank, type->dims, index));
}

hlo_tiled_t* hlo_tiling_reduce(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                               uint32_t depth) {
  const hlo_node_t* node = value->def;
  switch (node->op) {
    case HLO_OP_reduce:
      return value->number ? reduce_result(t, value, index, depth)
                           : walk_reduce(t, node, index, depth);
    case HLO_OP_reduce_window: return walk_reduce_window(t, node, index, depth);
    case HLO_OP_convolution:
      if (t->expands_products) return walk_convolution(t, node, index, depth);
      break;
    default: break;
  }
  return t->dot == node ? product_result(t, value, index) : walk_dot(t, node, index, depth);
}
