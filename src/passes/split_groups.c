// SPDX-License-Identifier: Apache-2.0
// Pass split_groups: rewrites convolutions whose groups have a few features. If a group sums a few
// features to one, as in the gradient of a depthwise convolution with several output features per
// input feature, it becomes a depthwise convolution of all features and sums of a few neighbours.
// In gradients of that convolution's kernel, where a group makes a few features of one, the one is
// repeated. Lanes then run over features, of which a group has no more than a few.
#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

static int64_t number(const hlo_node_t* node, hlo_attr_id_t id) {
  return hlo_node_attr_int(node, id, 1);
}

static const hlo_attr_t* integer(const hlo_node_t* node, int64_t value) {
  return hlo_attr_int(node->parent->module, HLO_DTYPE_S64, value);
}

static bool is_plain(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && hlo_type_is_static(type) && type->rank < HLO_RANK_MAX &&
         !hlo_dtype_is_complex(type->dtype) && hlo_type_element_count(type) > 0;
}

static bool is_few(int64_t features) {
  return features > 1 && features <= HLO_TUNING_SPLIT_GROUPS_MAX_FEATURES;
}

// If lanes run over spatial positions, groups cost nothing.
static bool is_innermost(const hlo_type_t* type, int64_t dim) {
  return dim == (int64_t)type->rank - 1;
}

// Returns `type` with dimension `dim` split in two; the inner one has `inner` elements.
static const hlo_type_t* split_dim(hlo_module_t* module, const hlo_type_t* type, int64_t dim,
                                   int64_t inner) {
  int64_t dims[HLO_RANK_MAX];
  for (int64_t d = 0; d < type->rank; ++d) dims[d + (d > dim)] = type->dims[d];
  dims[dim] = type->dims[dim] / inner;
  dims[dim + 1] = inner;
  return hlo_type_tensor(module, type->dtype, type->rank + 1, dims);
}

static const hlo_type_t* resize_dim(hlo_module_t* module, const hlo_type_t* type, int64_t dim,
                                    int64_t size) {
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) dims[d] = d == dim ? size : type->dims[d];
  return hlo_type_with_dims(module, type, type->rank, dims);
}

// ---- groups that sum several features

// Makes every feature of the kernel an output feature, and the single input feature of each group
// outermost.
static hlo_value_t* ungroup_kernel(hlo_node_t* node, int64_t features) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t* kernel = hlo_node_operand(node, 1);
  const hlo_type_t* type = kernel->type;
  const int64_t in = number(node, HLO_ATTR_kernel_input_feature_dimension);
  const int64_t out = number(node, HLO_ATTR_kernel_output_feature_dimension);
  int64_t order[HLO_RANK_MAX], transposed[HLO_RANK_MAX], dims[HLO_RANK_MAX] = {1};
  uint32_t rank = 0, wide = 1;
  for (int64_t d = 0; d < type->rank; ++d) {
    if (d == in) continue;
    order[rank++] = d;
    if (d == out) order[rank++] = in;
    dims[wide++] = type->dims[d] * (d == out ? features : 1);
  }
  for (uint32_t d = 0; d < rank; ++d) transposed[d] = type->dims[order[d]];
  const hlo_named_attr_t permutation = {HLO_ATTR_permutation, hlo_attr_ints(module, rank, order)};
  kernel =
      hlo_build_node(node, HLO_OP_transpose, hlo_type_with_dims(module, type, rank, transposed), 1,
                     &kernel, 1, &permutation);
  return hlo_build_reshape(node, hlo_type_with_dims(module, type, rank, dims), kernel);
}

static void set_kernel_dims(const hlo_node_t* node, hlo_node_t* each) {
  const int64_t in = number(node, HLO_ATTR_kernel_input_feature_dimension);
  const int64_t out = number(node, HLO_ATTR_kernel_output_feature_dimension);
  int64_t positions[HLO_RANK_MAX];
  uint32_t count;
  const int64_t* spatial = hlo_node_attr_ints(node, HLO_ATTR_kernel_spatial_dimensions, &count);
  for (uint32_t i = 0; i < count; ++i) positions[i] = spatial[i] + (spatial[i] < in);
  hlo_node_set_attr(each, HLO_ATTR_kernel_spatial_dimensions,
                    hlo_attr_ints(node->parent->module, count, positions));
  hlo_node_set_attr(each, HLO_ATTR_kernel_input_feature_dimension, integer(node, 0));
  hlo_node_set_attr(each, HLO_ATTR_kernel_output_feature_dimension,
                    integer(node, out + (out < in)));
}

static hlo_value_t* sum_features(hlo_node_t* node, hlo_value_t* each, int64_t dim,
                                 int64_t features) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = each->type;
  const hlo_type_t* wide = split_dim(module, type, dim, features);
  const hlo_type_t* part = wide ? resize_dim(module, wide, dim + 1, 1) : NULL;
  const hlo_type_t* one = resize_dim(module, type, dim, type->dims[dim] / features);
  int64_t first[HLO_RANK_MAX] = {0};
  hlo_value_t *sum = NULL, *split = hlo_build_reshape(node, wide, each);
  for (int64_t i = 0; i < features; ++i) {
    first[dim + 1] = i;
    hlo_value_t* term =
        hlo_build_reshape(node, one, hlo_build_slice(node, part, split, first, NULL));
    sum = i ? hlo_build_binary(node, HLO_OP_add, sum, term) : term;
  }
  return sum;
}

// Sums of narrow floats are rounded once, at the end.
static hlo_dtype_t sum_dtype(hlo_dtype_t dtype) {
  const bool is_narrow = hlo_dtype_is_float(dtype) && hlo_dtype_size_bytes(dtype) < sizeof(float);
  return is_narrow ? HLO_DTYPE_F32 : dtype;
}

static hlo_value_t* sum_groups(hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t *kernel = hlo_node_operand_type(node, 1), *type = node->results[0].type;
  const int64_t groups = number(node, HLO_ATTR_feature_group_count);
  const int64_t features = kernel->dims[number(node, HLO_ATTR_kernel_input_feature_dimension)];
  const int64_t dim = number(node, HLO_ATTR_output_feature_dimension);
  if (groups < 2 || type->dims[dim] != groups || !is_few(features) || !is_innermost(type, dim) ||
      !is_innermost(hlo_node_operand_type(node, 0),
                    number(node, HLO_ATTR_input_feature_dimension))) {
    return NULL;
  }
  const hlo_type_t* sums = hlo_type_with_dtype(module, type, sum_dtype(type->dtype));
  const hlo_type_t* wide = sums ? resize_dim(module, sums, dim, groups * features) : NULL;
  hlo_value_t* operands[] = {hlo_node_operand(node, 0), ungroup_kernel(node, features)};
  hlo_value_t* each = hlo_build_like(node, wide, operands);
  if (!each) return NULL;
  set_kernel_dims(node, each->def);
  hlo_node_set_attr(each->def, HLO_ATTR_feature_group_count, integer(node, groups * features));
  return hlo_build_convert(node, type->dtype, sum_features(node, each, dim, features));
}

// ---- groups that make several features of one

static hlo_value_t* repeat_batch(hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t* input = hlo_node_operand(node, 0);
  const hlo_type_t *type = input->type, *kernel = hlo_node_operand_type(node, 1);
  const int64_t groups = number(node, HLO_ATTR_batch_group_count);
  const int64_t dim = number(node, HLO_ATTR_input_batch_dimension);
  const int64_t out = number(node, HLO_ATTR_kernel_output_feature_dimension);
  const int64_t features = kernel->dims[out] / groups;
  if (groups < 2 || type->dims[dim] != groups || !is_few(features) || !is_innermost(type, dim) ||
      !is_innermost(kernel, out)) {
    return NULL;
  }
  const hlo_type_t* repeated = resize_dim(module, type, dim, groups * features);
  const hlo_type_t* wide = repeated ? split_dim(module, repeated, dim, features) : NULL;
  int64_t along[HLO_RANK_MAX];
  for (int64_t d = 0; d < type->rank; ++d) along[d] = d + (d > dim);
  input = hlo_build_reshape(node, repeated, hlo_build_broadcast(node, wide, input, along));
  hlo_value_t* result = hlo_build_like(node, node->results[0].type,
                                       (hlo_value_t*[]){input, hlo_node_operand(node, 1)});
  if (result) {
    hlo_node_set_attr(result->def, HLO_ATTR_batch_group_count, integer(node, groups * features));
  }
  return result;
}

static hlo_value_t* replace_convolution(hlo_node_t* node) {
  if (node->op != HLO_OP_convolution || node->extra || !is_plain(node->results[0].type) ||
      !is_plain(hlo_node_operand_type(node, 0)) || !is_plain(hlo_node_operand_type(node, 1))) {
    return NULL;
  }
  return number(node, HLO_ATTR_batch_group_count) > 1 ? repeat_batch(node) : sum_groups(node);
}

hlo_status_t hlo_pass_split_groups(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_convolution);
}
