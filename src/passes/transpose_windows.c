// SPDX-License-Identifier: Apache-2.0
// Pass transpose_windows: transposes the operands of convolutions with features before spatial
// dimensions, and their results back. A convolution with windows larger than its output, as in the
// gradient of a kernel, is a product with long sums and a small result: lanes run over a dimension
// that is not summed, so that one becomes innermost. In the others lanes run over features: along
// spatial dimensions they would load strided elements, or have too few positions.
#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

enum {
  MAX_RANK = 16,
  ATTRS_MAX = 9,  // three per operand and for the result
};

/// The dimensions of an operand, or of the result.
typedef struct side {
  hlo_attr_id_t outer, inner, spatial;
} side_t;

static const side_t INPUT = {HLO_ATTR_input_feature_dimension, HLO_ATTR_input_batch_dimension,
                             HLO_ATTR_input_spatial_dimensions};
static const side_t FEATURES = {HLO_ATTR_input_batch_dimension, HLO_ATTR_input_feature_dimension,
                                HLO_ATTR_input_spatial_dimensions};
static const side_t KERNEL = {HLO_ATTR_kernel_input_feature_dimension,
                              HLO_ATTR_kernel_output_feature_dimension,
                              HLO_ATTR_kernel_spatial_dimensions};
static const side_t OUTPUT = {HLO_ATTR_output_batch_dimension, HLO_ATTR_output_feature_dimension,
                              HLO_ATTR_output_spatial_dimensions};

/// A convolution and its transposed form.
typedef struct transposed {
  hlo_node_t* node;
  uint32_t rank, attr_count;
  hlo_named_attr_t attrs[ATTRS_MAX];  // the changed ones
} transposed_t;

static int64_t dim_of(const hlo_node_t* node, hlo_attr_id_t id) {
  return hlo_node_attr_int(node, id, 0);
}

static bool is_innermost(const hlo_node_t* node, hlo_attr_id_t id) {
  return dim_of(node, id) == hlo_node_operand_type(node, 0)->rank - 1;
}

static double spatial_count(const hlo_node_t* node, const hlo_type_t* type, hlo_attr_id_t id) {
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, id, &count);
  double elements = 1;
  for (uint32_t i = 0; i < count; ++i) elements *= (double)type->dims[dims[i]];
  return elements;
}

static bool is_plain_product(const hlo_node_t* node) {
  if (node->op != HLO_OP_convolution || node->extra) return false;
  const hlo_type_t* type = node->results[0].type;
  return dim_of(node, HLO_ATTR_feature_group_count) == 1 &&
         dim_of(node, HLO_ATTR_batch_group_count) == 1 && type->rank <= MAX_RANK &&
         hlo_type_is_plain(type) && hlo_type_is_plain(hlo_node_operand_type(node, 0)) &&
         hlo_type_is_plain(hlo_node_operand_type(node, 1));
}

static bool has_long_sums(const hlo_node_t* node) {
  const hlo_type_t *type = node->results[0].type, *kernel = hlo_node_operand_type(node, 1);
  if (is_innermost(node, INPUT.inner) && is_innermost(node, KERNEL.inner)) return false;
  double positions = spatial_count(node, type, OUTPUT.spatial);
  double batch = (double)type->dims[dim_of(node, OUTPUT.outer)];
  double features = (double)type->dims[dim_of(node, OUTPUT.inner)];
  return spatial_count(node, kernel, KERNEL.spatial) > positions &&
         positions * batch >= HLO_TUNING_TRANSPOSE_MIN_PRODUCTS &&
         positions * features >= HLO_TUNING_TRANSPOSE_MIN_PRODUCTS;
}

static bool has_strides(const hlo_node_t* node) {
  uint32_t count;
  const int64_t* strides = hlo_node_attr_ints(node, HLO_ATTR_window_strides, &count);
  for (uint32_t i = 0; i < count; ++i) {
    if (strides[i] != 1) return true;
  }
  return false;
}

// Returns true if innermost spatial dimensions should give way to features as lanes.
static bool has_inner_places(const hlo_node_t* node) {
  const hlo_type_t *type = node->results[0].type, *kernel = hlo_node_operand_type(node, 1);
  const hlo_type_t* input = hlo_node_operand_type(node, 0);
  if (is_innermost(node, INPUT.inner) || is_innermost(node, INPUT.outer) ||
      spatial_count(node, kernel, KERNEL.spatial) < 2) {
    return false;
  }
  double features = (double)type->dims[dim_of(node, OUTPUT.inner)];
  double elements = (double)hlo_type_element_count(type);
  double products = elements * (double)hlo_type_element_count(kernel) / features;
  double moved = elements + (double)hlo_type_element_count(input);
  return features >= HLO_TUNING_TRANSPOSE_MIN_FEATURES &&
         products >= moved * (has_strides(node) ? HLO_TUNING_TRANSPOSE_MIN_STRIDED_PRODUCTS
                                                : HLO_TUNING_TRANSPOSE_MIN_PRODUCTS);
}

static void set_dim(transposed_t* t, hlo_attr_id_t id, int64_t dim) {
  t->attrs[t->attr_count++] =
      (hlo_named_attr_t){id, hlo_attr_int(t->node->parent->module, HLO_DTYPE_S64, dim)};
}

static void set_dims(transposed_t* t, hlo_attr_id_t id, int64_t first) {
  int64_t dims[MAX_RANK];
  for (uint32_t i = 0; i + 2 < t->rank; ++i) dims[i] = first + i;
  t->attrs[t->attr_count++] =
      (hlo_named_attr_t){id, hlo_attr_ints(t->node->parent->module, t->rank - 2, dims)};
}

// Returns `type` with its dimensions permuted.
static const hlo_type_t* permuted(const transposed_t* t, const hlo_type_t* type,
                                  const int64_t* order) {
  int64_t dims[MAX_RANK];
  for (uint32_t i = 0; i < t->rank; ++i) dims[i] = type->dims[order[i]];
  return hlo_type_tensor(t->node->parent->module, type->dtype, t->rank, dims);
}

static hlo_value_t* transpose(const transposed_t* t, hlo_value_t* value, const int64_t* order) {
  const hlo_named_attr_t attr = {HLO_ATTR_permutation,
                                 hlo_attr_ints(t->node->parent->module, t->rank, order)};
  return hlo_build_node(t->node, HLO_OP_transpose, permuted(t, value->type, order), 1, &value, 1,
                        &attr);
}

// Transposes an operand so that the side's inner dimension is innermost.
static hlo_value_t* transpose_operand(transposed_t* t, uint32_t k, const side_t* side) {
  hlo_value_t* value = hlo_node_operand(t->node, k);
  if (is_innermost(t->node, side->inner)) return value;
  uint32_t count;
  const int64_t* spatial = hlo_node_attr_ints(t->node, side->spatial, &count);
  int64_t order[MAX_RANK] = {dim_of(t->node, side->outer)};
  for (uint32_t i = 0; i < count; ++i) order[1 + i] = spatial[i];
  order[t->rank - 1] = dim_of(t->node, side->inner);
  set_dim(t, side->outer, 0);
  set_dims(t, side->spatial, 1);
  set_dim(t, side->inner, t->rank - 1);
  return transpose(t, value, order);
}

static hlo_value_t* replace_convolution(hlo_node_t* node) {
  if (!is_plain_product(node)) return NULL;
  bool is_long = has_long_sums(node);
  if (!is_long && !has_inner_places(node)) return NULL;
  const hlo_type_t* type = node->results[0].type;
  transposed_t t = {.node = node, .rank = type->rank};
  hlo_value_t* operands[] = {transpose_operand(&t, 0, is_long ? &INPUT : &FEATURES),
                             transpose_operand(&t, 1, &KERNEL)};
  int64_t positions[MAX_RANK], back[MAX_RANK];
  uint32_t count;
  const int64_t* spatial = hlo_node_attr_ints(node, OUTPUT.spatial, &count);
  // The lanes' dimension is innermost. The batch comes next to it if it is innermost in the
  // operands.
  uint32_t first = is_long ? 0 : 1, outer = is_long ? count : 0;
  for (uint32_t i = 0; i < count; ++i) back[positions[first + i] = spatial[i]] = first + i;
  back[positions[outer] = dim_of(node, OUTPUT.outer)] = outer;
  back[positions[count + 1] = dim_of(node, OUTPUT.inner)] = count + 1;
  set_dims(&t, OUTPUT.spatial, first);
  set_dim(&t, OUTPUT.outer, outer);
  set_dim(&t, OUTPUT.inner, count + 1);
  hlo_value_t* product = hlo_build_like(node, permuted(&t, type, positions), operands);
  if (!product) return NULL;
  for (uint32_t i = 0; i < t.attr_count; ++i) {
    hlo_node_set_attr(product->def, t.attrs[i].id, t.attrs[i].value);
  }
  return transpose(&t, product, back);
}

hlo_status_t hlo_pass_transpose_windows(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_convolution);
}
