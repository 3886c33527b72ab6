// SPDX-License-Identifier: Apache-2.0
// Static forms of ops with computed shapes (see static_form.h).
#include "passes/static_form.h"

#include <string.h>

#include "ir/infer.h"
#include "passes/build.h"
#include "passes/constants.h"

enum { ATTR_LIMIT = 24 };

bool hlo_read_integers(const hlo_value_t* value, hlo_integers_t* out) {
  const hlo_literal_t* literal = hlo_constant_literal(value);
  if (!literal || literal->element_count > HLO_INTEGERS_MAX ||
      !hlo_dtype_is_integer(literal->dtype) || hlo_dtype_info(literal->dtype)->bits < 8) {
    return false;
  }
  out->count = (uint32_t)literal->element_count;
  for (uint32_t i = 0; i < out->count; ++i) {
    out->values[i] = hlo_dtype_load_int64(literal->dtype, hlo_literal_element(literal, i));
  }
  return true;
}

// ---- new nodes

typedef struct form {
  hlo_node_t* insertion_point;  // the node that is replaced
  hlo_op_t op;
  const hlo_type_t* type;
  uint32_t attr_count;
  hlo_named_attr_t attrs[ATTR_LIMIT];
} form_t;

static void set_attr(form_t* form, hlo_attr_id_t id, const hlo_attr_t* value) {
  form->attrs[form->attr_count++] = (hlo_named_attr_t){id, value};
}

// Collects the attributes that both ops have, and the known part of the type.
static form_t open_form(hlo_node_t* node, hlo_op_t op) {
  form_t form = {.insertion_point = node, .op = op, .type = node->results[0].type};
  const hlo_op_info_t* info = hlo_op_info(op);
  for (uint32_t i = 0; i < info->attr_count && form.attr_count < ATTR_LIMIT - 3; ++i) {
    const hlo_attr_t* value = hlo_node_attr(node, info->attrs[i].id);
    if (value) set_attr(&form, info->attrs[i].id, value);
  }
  return form;
}

// Builds the op with the first operands of the old one; NULL if the op's verifier rejects it.
static hlo_value_t* close_form(const form_t* form, uint32_t operand_count) {
  hlo_value_t* operands[2];
  for (uint32_t i = 0; i < operand_count; ++i)
    operands[i] = hlo_node_operand(form->insertion_point, i);
  if (!form->type) return NULL;
  hlo_value_t* value = hlo_build_node(form->insertion_point, form->op, form->type, operand_count,
                                      operands, form->attr_count, form->attrs);
  if (!value || hlo_node_is_valid(value->def)) return value;
  hlo_node_erase(value->def);
  return NULL;
}

// ---- ops

// The shape comes from the result's type or from operand `shape`.
static hlo_value_t* to_shape(hlo_node_t* node, hlo_op_t op, uint32_t shape) {
  form_t form = open_form(node, op);
  hlo_integers_t dims;
  int64_t count;
  if (!hlo_type_is_static(form.type)) {
    if (!hlo_read_integers(hlo_node_operand(node, shape), &dims) || dims.count != form.type->rank ||
        !hlo_dims_element_count(dims.count, dims.values, &count)) {
      return NULL;
    }
    form.type = hlo_type_with_dims(node->parent->module, form.type, dims.count, dims.values);
  }
  for (uint32_t i = 0; i < shape; ++i) {
    if (!hlo_type_is_static(hlo_node_operand_type(node, i))) return NULL;
  }
  return close_form(&form, shape);
}

// Turns three vectors of amounts, from operand `first` on, into attributes.
static hlo_value_t* by_amounts(hlo_node_t* node, hlo_op_t op, uint32_t first,
                               const hlo_attr_id_t ids[3]) {
  form_t form = open_form(node, op);
  for (uint32_t i = 0; i < 3; ++i) {
    hlo_integers_t amounts;
    if (!hlo_read_integers(hlo_node_operand(node, first + i), &amounts)) return NULL;
    set_attr(&form, ids[i], hlo_attr_ints(node->parent->module, amounts.count, amounts.values));
  }
  return close_form(&form, first);
}

static hlo_value_t* gather(hlo_node_t* node) {
  form_t form = open_form(node, HLO_OP_gather);
  hlo_integers_t sizes;
  if (!hlo_read_integers(hlo_node_operand(node, 2), &sizes)) return NULL;
  set_attr(&form, HLO_ATTR_slice_sizes,
           hlo_attr_ints(node->parent->module, sizes.count, sizes.values));
  return close_form(&form, 2);
}

static hlo_value_t* convolution(hlo_node_t* node) {
  form_t form = open_form(node, HLO_OP_convolution);
  hlo_integers_t padding;
  if (!hlo_read_integers(hlo_node_operand(node, 2), &padding) || padding.count % 2) return NULL;
  set_attr(&form, HLO_ATTR_padding,
           hlo_attr_matrix(node->parent->module, padding.count / 2, 2, padding.values));
  return close_form(&form, 2);
}

static hlo_value_t* dimension_size(hlo_node_t* node) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  int64_t d = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  if (d < 0 || d >= type->rank || type->dims[d] < 0 || !hlo_type_is_plain(node->results[0].type)) {
    return NULL;
  }
  return hlo_build_integers(node, node->results[0].type, &type->dims[d]);
}

// Takes the first elements of the dimension.
static hlo_value_t* resize_dim(hlo_node_t* node) {
  hlo_value_t* operand = hlo_node_operand(node, 0);
  const hlo_type_t* type = operand->type;
  int64_t d = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  hlo_integers_t size;
  if (!hlo_type_is_static(type) || d < 0 || d >= type->rank ||
      !hlo_read_integers(hlo_node_operand(node, 1), &size) || size.count != 1 ||
      size.values[0] < 0 || size.values[0] > type->dims[d]) {
    return NULL;
  }
  if (size.values[0] == type->dims[d]) return operand;
  int64_t dims[HLO_RANK_MAX], first[HLO_RANK_MAX] = {0};
  memcpy(dims, type->dims, type->rank * sizeof *dims);
  dims[d] = size.values[0];
  const hlo_type_t* small = hlo_type_with_dims(node->parent->module, type, type->rank, dims);
  return small && hlo_type_element_count(small) > 0
             ? hlo_build_slice(node, small, operand, first, NULL)
             : NULL;
}

hlo_value_t* hlo_static_form(hlo_node_t* node) {
  static const hlo_attr_id_t kSlice[] = {HLO_ATTR_start_indices, HLO_ATTR_limit_indices,
                                         HLO_ATTR_strides};
  static const hlo_attr_id_t kPad[] = {HLO_ATTR_edge_padding_low, HLO_ATTR_edge_padding_high,
                                       HLO_ATTR_interior_padding};
  if (node->extra) return NULL;
  switch (node->op) {
    case HLO_OP_dynamic_iota: return to_shape(node, HLO_OP_iota, 0);
    case HLO_OP_dynamic_reshape: return to_shape(node, HLO_OP_reshape, 1);
    case HLO_OP_dynamic_broadcast_in_dim: return to_shape(node, HLO_OP_broadcast_in_dim, 1);
    case HLO_OP_real_dynamic_slice: return by_amounts(node, HLO_OP_slice, 1, kSlice);
    case HLO_OP_dynamic_pad: return by_amounts(node, HLO_OP_pad, 2, kPad);
    case HLO_OP_dynamic_gather: return gather(node);
    case HLO_OP_dynamic_conv: return convolution(node);
    case HLO_OP_get_dimension_size: return dimension_size(node);
    case HLO_OP_set_dimension_size: return resize_dim(node);
    default: return NULL;
  }
}
