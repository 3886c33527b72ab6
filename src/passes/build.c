// SPDX-License-Identifier: Apache-2.0
// Builders of the nodes that passes insert (see build.h).
#include "passes/build.h"

#include "ir/clone.h"
#include "passes/constants.h"

// Inserts a new node and returns its only result.
static hlo_value_t* place_node(hlo_node_t* insertion_point, hlo_node_t* node) {
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(insertion_point, node);
  return &node->results[0];
}

hlo_value_t* hlo_build_node(hlo_node_t* insertion_point, hlo_op_t op, const hlo_type_t* type,
                            uint32_t operand_count, hlo_value_t* const* operands,
                            uint32_t attr_count, const hlo_named_attr_t* attrs) {
  const hlo_node_spec_t spec = {.op = op,
                                .loc = insertion_point->loc,
                                .operand_count = operand_count,
                                .operands = operands,
                                .attr_count = attr_count,
                                .attrs = attrs,
                                .result_count = 1,
                                .result_types = &type};
  return place_node(insertion_point, hlo_node_create(insertion_point->parent->module, &spec));
}

hlo_value_t* hlo_build_copy(hlo_node_t* insertion_point, const hlo_node_t* node,
                            const hlo_type_t* type, hlo_value_t* const* operands) {
  const hlo_node_spec_t spec = {.op = node->op,
                                .loc = node->loc,
                                .operand_count = node->operand_count,
                                .operands = operands,
                                .region_count = node->region_count,
                                .result_count = 1,
                                .result_types = &type};
  hlo_node_t* copy = hlo_node_create(node->parent->module, &spec);
  hlo_node_copy_attrs(copy, node);
  return place_node(insertion_point, copy);
}

hlo_value_t* hlo_build_like(hlo_node_t* node, const hlo_type_t* type,
                            hlo_value_t* const* operands) {
  return hlo_build_copy(node, node, type, operands);
}

hlo_literal_t* hlo_build_literal(hlo_module_t* module, const hlo_type_t* type, bool is_splat) {
  hlo_literal_t* literal = NULL;
  if (!type) return NULL;
  hlo_status_t status = hlo_literal_create(type->dtype, type->rank, type->dims, is_splat, &literal);
  module->arena.failed |= !hlo_status_is_ok(status);
  hlo_status_release(status);
  return literal;
}

hlo_value_t* hlo_build_constant(hlo_node_t* insertion_point, const hlo_type_t* type,
                                hlo_literal_t* literal) {
  if (!literal) return NULL;
  hlo_node_t* node =
      hlo_constant_create(insertion_point->parent->module, type, literal, insertion_point->loc);
  hlo_literal_release(literal);
  return place_node(insertion_point, node);
}

hlo_value_t* hlo_build_integers(hlo_node_t* insertion_point, const hlo_type_t* type,
                                const int64_t* values) {
  hlo_literal_t* literal = hlo_build_literal(insertion_point->parent->module, type, false);
  for (int64_t i = 0; literal && i < literal->element_count; ++i) {
    char* data = hlo_literal_mutable_data(literal);
    hlo_dtype_store_int64(type->dtype, data + i * (int64_t)hlo_dtype_size_bytes(type->dtype),
                          values[i]);
  }
  return hlo_build_constant(insertion_point, type, literal);
}

hlo_value_t* hlo_build_slice(hlo_node_t* insertion_point, const hlo_type_t* type,
                             hlo_value_t* value, const int64_t* first, const int64_t* steps) {
  if (!type) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  int64_t end[HLO_RANK_MAX], ones[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) ones[d] = 1;
  if (!steps) steps = ones;
  for (uint32_t d = 0; d < type->rank; ++d) end[d] = first[d] + (type->dims[d] - 1) * steps[d] + 1;
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_start_indices, hlo_attr_ints(module, type->rank, first)},
      {HLO_ATTR_limit_indices, hlo_attr_ints(module, type->rank, end)},
      {HLO_ATTR_strides, hlo_attr_ints(module, type->rank, steps)},
  };
  return hlo_build_node(insertion_point, HLO_OP_slice, type, 1, &value, 3, attrs);
}

hlo_value_t* hlo_build_dynamic_slice(hlo_node_t* insertion_point, const hlo_type_t* type,
                                     hlo_value_t* value, hlo_value_t* const* starts) {
  hlo_value_t* operands[1 + HLO_RANK_MAX] = {value};
  if (!type) return NULL;
  memcpy(&operands[1], starts, type->rank * sizeof *operands);
  const hlo_named_attr_t sizes = {
      HLO_ATTR_slice_sizes, hlo_attr_ints(insertion_point->parent->module, type->rank, type->dims)};
  return hlo_build_node(insertion_point, HLO_OP_dynamic_slice, type, 1 + type->rank, operands, 1,
                        &sizes);
}

hlo_value_t* hlo_build_dynamic_update_slice(hlo_node_t* insertion_point, hlo_value_t* value,
                                            hlo_value_t* update, hlo_value_t* const* starts) {
  hlo_value_t* operands[2 + HLO_RANK_MAX] = {value, update};
  if (!value) return NULL;
  memcpy(&operands[2], starts, value->type->rank * sizeof *operands);
  return hlo_build_node(insertion_point, HLO_OP_dynamic_update_slice, value->type,
                        2 + value->type->rank, operands, 0, NULL);
}

hlo_value_t* hlo_build_reshape(hlo_node_t* insertion_point, const hlo_type_t* type,
                               hlo_value_t* value) {
  return hlo_build_node(insertion_point, HLO_OP_reshape, type, 1, &value, 0, NULL);
}

hlo_value_t* hlo_build_broadcast(hlo_node_t* insertion_point, const hlo_type_t* type,
                                 hlo_value_t* value, const int64_t* along) {
  if (!value) return NULL;
  const hlo_named_attr_t dims = {
      HLO_ATTR_broadcast_dimensions,
      hlo_attr_ints(insertion_point->parent->module, value->type->rank, along)};
  return hlo_build_node(insertion_point, HLO_OP_broadcast_in_dim, type, 1, &value, 1, &dims);
}

hlo_value_t* hlo_build_transpose(hlo_node_t* insertion_point, hlo_value_t* value,
                                 const int64_t* order) {
  if (!value) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  const hlo_type_t* type = value->type;
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[order[d]];
  const hlo_named_attr_t attr = {HLO_ATTR_permutation, hlo_attr_ints(module, type->rank, order)};
  return hlo_build_node(insertion_point, HLO_OP_transpose,
                        hlo_type_with_dims(module, type, type->rank, dims), 1, &value, 1, &attr);
}

hlo_value_t* hlo_build_iota(hlo_node_t* insertion_point, const hlo_type_t* type, int64_t dim) {
  if (!type) return NULL;
  const hlo_named_attr_t along = {
      HLO_ATTR_iota_dimension, hlo_attr_int(insertion_point->parent->module, HLO_DTYPE_S64, dim)};
  return hlo_build_node(insertion_point, HLO_OP_iota, type, 0, NULL, 1, &along);
}

hlo_value_t* hlo_build_pad(hlo_node_t* insertion_point, hlo_value_t* value, hlo_value_t* element,
                           const int64_t* low, const int64_t* high, const int64_t* between) {
  if (!value) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  const uint32_t rank = value->type->rank;
  int64_t dims[HLO_RANK_MAX], zeros[HLO_RANK_MAX] = {0};
  bool is_padded = false;
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t size = value->type->dims[d], gap = between ? between[d] : 0;
    dims[d] = size + (size > 0 ? size - 1 : 0) * gap + low[d] + high[d];
    is_padded |= low[d] || high[d] || gap;
  }
  if (!is_padded) return value;
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_edge_padding_low, hlo_attr_ints(module, rank, low)},
      {HLO_ATTR_edge_padding_high, hlo_attr_ints(module, rank, high)},
      {HLO_ATTR_interior_padding, hlo_attr_ints(module, rank, between ? between : zeros)},
  };
  return hlo_build_node(insertion_point, HLO_OP_pad,
                        hlo_type_with_dims(module, value->type, rank, dims), 2,
                        (hlo_value_t*[]){value, element}, 3, attrs);
}

hlo_value_t* hlo_build_pair(hlo_node_t* insertion_point, hlo_value_t* x, hlo_value_t* y,
                            uint32_t dim) {
  if (!x) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  const hlo_type_t* type = hlo_type_with_dim(module, x->type, dim, 2 * x->type->dims[dim]);
  const hlo_named_attr_t along = {HLO_ATTR_dimension, hlo_attr_int(module, HLO_DTYPE_S64, dim)};
  return hlo_build_node(insertion_point, HLO_OP_concatenate, type, 2, (hlo_value_t*[]){x, y}, 1,
                        &along);
}

hlo_value_t* hlo_build_unary(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x) {
  return hlo_build_node(insertion_point, op, x ? x->type : NULL, 1, &x, 0, NULL);
}

hlo_value_t* hlo_build_binary(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x,
                              hlo_value_t* y) {
  return hlo_build_node(insertion_point, op, x ? x->type : NULL, 2, (hlo_value_t*[]){x, y}, 0,
                        NULL);
}

hlo_value_t* hlo_build_multiply(hlo_node_t* insertion_point, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(insertion_point, HLO_OP_multiply, x, y);
}

hlo_value_t* hlo_build_compare(hlo_node_t* insertion_point, int64_t direction, hlo_value_t* x,
                               hlo_value_t* y) {
  if (!x) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  const hlo_named_attr_t how = {HLO_ATTR_comparison_direction,
                                hlo_attr_enum(module, HLO_ENUM_COMPARISON_DIRECTION, direction)};
  return hlo_build_node(insertion_point, HLO_OP_compare,
                        hlo_type_with_dtype(module, x->type, HLO_DTYPE_PRED), 2,
                        (hlo_value_t*[]){x, y}, 1, &how);
}

hlo_value_t* hlo_build_select(hlo_node_t* insertion_point, hlo_value_t* which, hlo_value_t* yes,
                              hlo_value_t* no) {
  hlo_value_t* operands[] = {which, yes, no};
  return hlo_build_node(insertion_point, HLO_OP_select, yes ? yes->type : NULL, 3, operands, 0,
                        NULL);
}

hlo_value_t* hlo_build_convert(hlo_node_t* insertion_point, hlo_dtype_t dtype, hlo_value_t* x) {
  if (!x || x->type->dtype == dtype) return x;
  const hlo_type_t* type = hlo_type_with_dtype(insertion_point->parent->module, x->type, dtype);
  return hlo_build_node(insertion_point, HLO_OP_convert, type, 1, &x, 0, NULL);
}

hlo_value_t* hlo_build_splat(hlo_node_t* insertion_point, const hlo_type_t* type, double value) {
  hlo_literal_t* literal = hlo_build_literal(insertion_point->parent->module, type, true);
  if (literal) hlo_dtype_store_double(type->dtype, hlo_literal_mutable_data(literal), value);
  return hlo_build_constant(insertion_point, type, literal);
}

bool hlo_build_reducer(hlo_node_t* node, hlo_op_t op) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* scalar = hlo_type_with_dims(module, hlo_node_operand_type(node, 0), 0, NULL);
  if (!scalar) return false;
  hlo_value_t* args[] = {hlo_region_add_arg(node->regions[0], scalar),
                         hlo_region_add_arg(node->regions[0], scalar)};
  const hlo_node_spec_t spec = {
      .op = HLO_OP_return, .loc = node->loc, .operand_count = 1, .operands = args};
  hlo_node_t* end = args[0] && args[1] ? hlo_node_create(node->parent->module, &spec) : NULL;
  if (!end || hlo_node_is_poison(end)) return false;
  hlo_region_append(node->regions[0], end);
  hlo_value_t* result = hlo_build_binary(end, op, args[0], args[1]);
  if (result) hlo_node_set_operand(end, 0, result);
  return result != NULL;
}

hlo_value_t* hlo_build_reduce(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x, double init,
                              uint32_t dim_count, const int64_t* dims) {
  if (!x) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  int64_t kept[HLO_RANK_MAX];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < x->type->rank; ++d) {
    if (!hlo_dims_contain(dims, dim_count, d, NULL)) kept[rank++] = x->type->dims[d];
  }
  const hlo_type_t* type = hlo_type_with_dims(module, x->type, rank, kept);
  const hlo_type_t* scalar = hlo_type_with_dims(module, x->type, 0, NULL);
  hlo_value_t* operands[] = {x, scalar ? hlo_build_splat(insertion_point, scalar, init) : NULL};
  const hlo_named_attr_t attr = {HLO_ATTR_dimensions, hlo_attr_ints(module, dim_count, dims)};
  const hlo_node_spec_t spec = {.op = HLO_OP_reduce,
                                .loc = insertion_point->loc,
                                .operand_count = 2,
                                .operands = operands,
                                .attr_count = 1,
                                .attrs = &attr,
                                .region_count = 1,
                                .result_count = 1,
                                .result_types = &type};
  hlo_value_t* value =
      operands[1] && type ? place_node(insertion_point, hlo_node_create(module, &spec)) : NULL;
  return value && hlo_build_reducer(value->def, op) ? value : NULL;
}

typedef struct replacer {
  hlo_pass_ctx_t* ctx;
  hlo_replace_node_t replace;
} replacer_t;

static hlo_status_t replace_node(void* context, hlo_node_t* node) {
  const replacer_t* replacer = context;
  hlo_value_t* result = replacer->replace(node);
  if (!result) return hlo_module_status(node->parent->module);
  hlo_value_replace_uses(&node->results[0], result);
  hlo_node_erase(node);
  ++replacer->ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_replace_nodes(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                               hlo_replace_node_t replace) {
  replacer_t replacer = {ctx, replace};
  return hlo_module_walk(module, false, replace_node, &replacer);
}
