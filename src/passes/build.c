// SPDX-License-Identifier: Apache-2.0
// Nodes that passes make (see build.h).
#include "passes/build.h"

#include "ir/clone.h"
#include "ir/literal.h"
#include "passes/constants.h"

hlo_value_t* hlo_build_node(hlo_node_t* place, hlo_op_t op, const hlo_type_t* type,
                            uint32_t operand_count, hlo_value_t* const* operands,
                            uint32_t attr_count, const hlo_named_attr_t* attrs) {
  hlo_node_t* node =
      hlo_node_create(place->parent->module, &(hlo_node_spec_t){.op = op,
                                                                .loc = place->loc,
                                                                .operand_count = operand_count,
                                                                .operands = operands,
                                                                .attr_count = attr_count,
                                                                .attrs = attrs,
                                                                .result_count = 1,
                                                                .result_types = &type});
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(place, node);
  return &node->results[0];
}

hlo_value_t* hlo_build_integers(hlo_node_t* place, const hlo_type_t* type, const int64_t* values) {
  hlo_literal_t* literal = NULL;
  hlo_status_t status = hlo_literal_create(type->dtype, type->rank, type->dims, false, &literal);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    return NULL;
  }
  char* data = hlo_literal_mutable_data(literal);
  for (int64_t i = 0; i < hlo_type_element_count(type); ++i) {
    hlo_dtype_store_int64(type->dtype, data + i * (int64_t)hlo_dtype_size_bytes(type->dtype),
                          values[i]);
  }
  hlo_node_t* node = hlo_constant_create(place->parent->module, type, literal, place->loc);
  hlo_literal_release(literal);
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(place, node);
  return &node->results[0];
}

hlo_value_t* hlo_build_slice(hlo_node_t* place, hlo_value_t* value, const hlo_type_t* type,
                             const int64_t* first, const int64_t* steps) {
  hlo_module_t* module = place->parent->module;
  int64_t end[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) end[d] = first[d] + (type->dims[d] - 1) * steps[d] + 1;
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_start_indices, hlo_attr_ints(module, type->rank, first)},
      {HLO_ATTR_limit_indices, hlo_attr_ints(module, type->rank, end)},
      {HLO_ATTR_strides, hlo_attr_ints(module, type->rank, steps)},
  };
  return value ? hlo_build_node(place, HLO_OP_slice, type, 1, &value, 3, attrs) : NULL;
}

hlo_value_t* hlo_build_unary(hlo_node_t* place, hlo_op_t op, hlo_value_t* x) {
  return x ? hlo_build_node(place, op, x->type, 1, &x, 0, NULL) : NULL;
}

hlo_value_t* hlo_build_binary(hlo_node_t* place, hlo_op_t op, hlo_value_t* x, hlo_value_t* y) {
  return x && y ? hlo_build_node(place, op, x->type, 2, (hlo_value_t*[]){x, y}, 0, NULL) : NULL;
}

hlo_value_t* hlo_build_compare(hlo_node_t* place, int64_t direction, hlo_value_t* x,
                               hlo_value_t* y) {
  if (!x) return NULL;
  hlo_module_t* module = place->parent->module;
  const hlo_named_attr_t how = {HLO_ATTR_comparison_direction,
                                hlo_attr_enum(module, HLO_ENUM_COMPARISON_DIRECTION, direction)};
  return hlo_build_node(place, HLO_OP_compare, hlo_type_with_dtype(module, x->type, HLO_DTYPE_PRED),
                        2, (hlo_value_t*[]){x, y}, 1, &how);
}

hlo_value_t* hlo_build_select(hlo_node_t* place, hlo_value_t* which, hlo_value_t* yes,
                              hlo_value_t* no) {
  hlo_value_t* operands[] = {which, yes, no};
  if (!which || !yes || !no) return NULL;
  return hlo_build_node(place, HLO_OP_select, yes->type, 3, operands, 0, NULL);
}

hlo_value_t* hlo_build_convert(hlo_node_t* place, hlo_dtype_t dtype, hlo_value_t* x) {
  if (!x || x->type->dtype == dtype) return x;
  const hlo_type_t* type = hlo_type_with_dtype(place->parent->module, x->type, dtype);
  return hlo_build_node(place, HLO_OP_convert, type, 1, &x, 0, NULL);
}

hlo_value_t* hlo_build_splat(hlo_node_t* place, const hlo_type_t* type, double value) {
  hlo_literal_t* literal = NULL;
  hlo_status_t status = hlo_literal_create(type->dtype, type->rank, type->dims, true, &literal);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    return NULL;
  }
  hlo_dtype_store_double(type->dtype, hlo_literal_mutable_data(literal), value);
  hlo_node_t* node = hlo_constant_create(place->parent->module, type, literal, place->loc);
  hlo_literal_release(literal);
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(place, node);
  return &node->results[0];
}

typedef struct replacer {
  hlo_pass_ctx_t* ctx;
  hlo_replace_node_t replace;
} replacer_t;

static hlo_status_t visit(void* context, hlo_node_t* node) {
  const replacer_t* replacer = context;
  hlo_value_t* result = replacer->replace(node);
  if (!result) return hlo_module_status(node->parent->module);
  hlo_value_replace_uses(&node->results[0], result);
  hlo_node_erase(node);
  ++replacer->ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_replace_nodes(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                               hlo_replace_node_t replace, bool* out_changed) {
  replacer_t replacer = {ctx, replace};
  hlo_status_t status = hlo_module_walk(module, false, visit, &replacer);
  *out_changed = ctx->step_count > 0;
  return status;
}
