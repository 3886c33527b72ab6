// SPDX-License-Identifier: Apache-2.0
// convolution and dynamic_conv by the definition: each element of the result is the sum of products
// of a window of the input and of the kernel, in the widest type of its kind, rounded once.
#include <string.h>

#include "interp/quant.h"
#include "interp/ref_dot.h"
#include "interp/ref_fold.h"
#include "ir/window.h"

// A convolution in canonical order: batch, space, features; kernel: space, in, out.
typedef struct {
  uint32_t space;  // number of spatial dims
  hlo_window_dim_t windows[HLO_RANK_MAX];
  bool reversed[HLO_RANK_MAX];
  int64_t lhs_order[HLO_RANK_MAX];  // operand dim of each canonical dim
  int64_t rhs_order[HLO_RANK_MAX];
  int64_t out_order[HLO_RANK_MAX];
  int64_t batch, in_features, out_features;  // of the whole operands
  int64_t feature_groups, batch_groups;
  int64_t group_batch, group_in, group_out;  // per group
} conv_t;

static hlo_status_t conv_misfit(const hlo_node_t* node, const char* what) {
  return hlo_node_invalid(node, "%s does not match the operands", what);
}

// Checks that `order` names every dim of a tensor of that rank once.
static bool is_permutation(uint32_t rank, const int64_t* order) {
  uint64_t seen = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (order[d] < 0 || order[d] >= rank) return false;
    seen |= (uint64_t)1 << order[d];
  }
  return rank == 64 ? seen == UINT64_MAX : seen == ((uint64_t)1 << rank) - 1;
}

static hlo_status_t conv_orders(conv_t* conv, const hlo_node_t* node, uint32_t rank) {
  const hlo_ints_t lhs_space = hlo_node_ints(node, HLO_ATTR_input_spatial_dimensions);
  const hlo_ints_t rhs_space = hlo_node_ints(node, HLO_ATTR_kernel_spatial_dimensions);
  const hlo_ints_t out_space = hlo_node_ints(node, HLO_ATTR_output_spatial_dimensions);
  if (rank < 2 || lhs_space.count != rank - 2 || rhs_space.count != rank - 2 ||
      out_space.count != rank - 2) {
    return conv_misfit(node, "the number of spatial dimensions");
  }
  conv->space = rank - 2;
  conv->lhs_order[0] = hlo_node_attr_int(node, HLO_ATTR_input_batch_dimension, 0);
  conv->lhs_order[rank - 1] = hlo_node_attr_int(node, HLO_ATTR_input_feature_dimension, 0);
  conv->rhs_order[rank - 2] = hlo_node_attr_int(node, HLO_ATTR_kernel_input_feature_dimension, 0);
  conv->rhs_order[rank - 1] = hlo_node_attr_int(node, HLO_ATTR_kernel_output_feature_dimension, 0);
  conv->out_order[0] = hlo_node_attr_int(node, HLO_ATTR_output_batch_dimension, 0);
  conv->out_order[rank - 1] = hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, 0);
  for (uint32_t s = 0; s < conv->space; s++) {
    conv->lhs_order[s + 1] = lhs_space.values[s];
    conv->rhs_order[s] = rhs_space.values[s];
    conv->out_order[s + 1] = out_space.values[s];
  }
  if (!is_permutation(rank, conv->lhs_order) || !is_permutation(rank, conv->rhs_order) ||
      !is_permutation(rank, conv->out_order)) {
    return conv_misfit(node, "a dimension number");
  }
  return hlo_ok();
}

static hlo_status_t conv_init(conv_t* conv, const hlo_node_t* node, const hlo_tensor_t* lhs,
                              const hlo_tensor_t* rhs, const int64_t* padding,
                              uint32_t padding_count) {
  const uint32_t rank = lhs->rank;
  if (rhs->rank != rank) return conv_misfit(node, "the kernel's rank");
  HLO_TRY(conv_orders(conv, node, rank));
  const hlo_ints_t strides = hlo_node_ints(node, HLO_ATTR_window_strides);
  const hlo_ints_t base = hlo_node_ints(node, HLO_ATTR_lhs_dilation);
  const hlo_ints_t window = hlo_node_ints(node, HLO_ATTR_rhs_dilation);
  const hlo_ints_t reversal = hlo_node_ints(node, HLO_ATTR_window_reversal);
  const hlo_ints_t pads = {padding, padding_count};
  for (uint32_t s = 0; s < conv->space; s++) {
    const int64_t size = rhs->dims[conv->rhs_order[s]];
    conv->reversed[s] = hlo_ints_at(reversal, s, 0) != 0;
    conv->windows[s] = (hlo_window_dim_t){.in_size = lhs->dims[conv->lhs_order[s + 1]],
                                          .size = size > 0 ? size : 1,
                                          .stride = hlo_ints_at(strides, s, 1),
                                          .base_dilation = hlo_ints_at(base, s, 1),
                                          .window_dilation = hlo_ints_at(window, s, 1),
                                          .low = hlo_ints_at(pads, 2 * s, 0),
                                          .high = hlo_ints_at(pads, 2 * s + 1, 0)};
    HLO_TRY(hlo_window_dim_finish(node, &conv->windows[s]));
  }
  conv->batch = lhs->dims[conv->lhs_order[0]];
  conv->in_features = lhs->dims[conv->lhs_order[rank - 1]];
  conv->out_features = rhs->dims[conv->rhs_order[rank - 1]];
  conv->feature_groups = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  conv->batch_groups = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  const int64_t groups = conv->feature_groups > 1 ? conv->feature_groups : conv->batch_groups;
  if (conv->feature_groups < 1 || conv->batch_groups < 1 ||
      (conv->feature_groups > 1 && conv->batch_groups > 1) || conv->out_features % groups ||
      conv->in_features % conv->feature_groups || conv->batch % conv->batch_groups ||
      rhs->dims[conv->rhs_order[rank - 2]] != conv->in_features / conv->feature_groups) {
    return conv_misfit(node, "a group count");
  }
  conv->group_in = conv->in_features / conv->feature_groups;
  conv->group_out = conv->out_features / groups;
  conv->group_batch = conv->batch / conv->batch_groups;
  return hlo_ok();
}

// The strides of a tensor in elements, in canonical order.
static void order_strides(const hlo_tensor_t* tensor, const int64_t* order, int64_t* out_strides) {
  int64_t strides[HLO_RANK_MAX];
  hlo_strided_dense(1, tensor->rank, tensor->dims, strides);
  for (uint32_t d = 0; d < tensor->rank; d++) out_strides[d] = strides[order[d]];
}

// Operands in a wide type.
typedef struct {
  const conv_t* conv;
  const hlo_tensor_t *lhs, *rhs;
  int64_t lhs_strides[HLO_RANK_MAX], rhs_strides[HLO_RANK_MAX];  // canonical
} wide_t;

// Adds the window at canonical output position `o`: batch, space, feature.
static void add_window(const wide_t* wide, const int64_t* o, void* sum) {
  const conv_t* conv = wide->conv;
  const size_t bytes = hlo_tensor_element_bytes(wide->lhs);
  const uint32_t last = conv->space + 1;  // the position of features
  const int64_t group = o[last] / conv->group_out;
  int64_t sizes[HLO_RANK_MAX], w[HLO_RANK_MAX] = {0};
  int64_t image = o[0] * wide->lhs_strides[0], kernel = o[last] * wide->rhs_strides[last];
  if (conv->feature_groups > 1) image += group * conv->group_in * wide->lhs_strides[last];
  if (conv->batch_groups > 1) image += group * conv->group_batch * wide->lhs_strides[0];
  for (uint32_t s = 0; s < conv->space; s++) sizes[s] = conv->windows[s].size;
  do {
    const int64_t at =
        hlo_window_offset(conv->space, conv->windows, wide->lhs_strides + 1, o + 1, w);
    int64_t element = kernel;
    for (uint32_t s = 0; s < conv->space; s++) {
      element += (conv->reversed[s] ? sizes[s] - 1 - w[s] : w[s]) * wide->rhs_strides[s];
    }
    if (at < 0) continue;
    hlo_dot_add_products(wide->lhs->dtype, conv->group_in,
                         (char*)wide->lhs->data + (size_t)(image + at) * bytes,
                         wide->lhs_strides[last], (char*)wide->rhs->data + (size_t)element * bytes,
                         wide->rhs_strides[conv->space], sum);
  } while (hlo_index_next(conv->space, sizes, w));
}

// Computes the result in the wide type of the operands. Sums of nothing are zero.
static void conv_run(const wide_t* wide, const int64_t* dims, hlo_tensor_t* result) {
  const size_t bytes = hlo_tensor_element_bytes(result);
  int64_t o[HLO_RANK_MAX] = {0}, strides[HLO_RANK_MAX];
  order_strides(result, wide->conv->out_order, strides);
  memset(result->data, 0, result->size_bytes);
  if (wide->rhs->element_count == 0) return;
  for (int64_t i = 0; i < result->element_count; i++) {
    int64_t at = 0;
    for (uint32_t d = 0; d < result->rank; d++) at += o[d] * strides[d];
    add_window(wide, o, (char*)result->data + (size_t)at * bytes);
    hlo_index_next(result->rank, dims, o);
  }
}

static hlo_status_t convolve(HLO_UNUSED hlo_eval_t* eval, const hlo_node_t* node,
                             hlo_tensor_t** operands, const int64_t* padding,
                             uint32_t padding_count, hlo_tensor_t** results) {
  conv_t conv = {0};
  hlo_tensor_t *lhs = operands[0], *rhs = operands[1], *wide_lhs = NULL, *wide_rhs = NULL;
  HLO_TRY(conv_init(&conv, node, lhs, rhs, padding, padding_count));
  int64_t dims[HLO_RANK_MAX], result_dims[HLO_RANK_MAX];
  dims[0] = conv.group_batch;
  dims[lhs->rank - 1] = conv.out_features;
  for (uint32_t s = 0; s < conv.space; s++) dims[s + 1] = conv.windows[s].out_size;
  for (uint32_t d = 0; d < lhs->rank; d++) result_dims[conv.out_order[d]] = dims[d];
  const hlo_dtype_t dtype = node->results[0].type->dtype;
  const hlo_dtype_t wide = hlo_dot_wide_dtype(lhs->dtype, rhs->dtype, dtype);
  hlo_tensor_t* result = NULL;
  hlo_status_t status = hlo_tensor_create(wide, lhs->rank, result_dims, &result);
  if (hlo_status_is_ok(status)) status = hlo_tensor_as(lhs, wide, &wide_lhs);
  if (hlo_status_is_ok(status)) status = hlo_tensor_as(rhs, wide, &wide_rhs);
  if (hlo_status_is_ok(status)) {
    wide_t w = {.conv = &conv, .lhs = wide_lhs, .rhs = wide_rhs};
    order_strides(lhs, conv.lhs_order, w.lhs_strides);
    order_strides(rhs, conv.rhs_order, w.rhs_strides);
    conv_run(&w, dims, result);
    status = hlo_tensor_as(result, dtype, &results[0]);
  }
  hlo_tensor_release(wide_lhs);
  hlo_tensor_release(wide_rhs);
  hlo_tensor_release(result);
  return status;
}

hlo_status_t hlo_ref_convolution(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_convolution, operands, results);
  }
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  return convolve(eval, node, operands, padding.values, padding.count, results);
}

hlo_status_t hlo_ref_dynamic_conv(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_dynamic_conv, operands, results);
  }
  int64_t padding[2 * HLO_RANK_MAX];
  const int64_t count = operands[2]->element_count;
  if (count > 2 * HLO_RANK_MAX) return conv_misfit(node, "the padding");
  hlo_tensor_read_ints(operands[2], 2 * HLO_RANK_MAX, padding);
  return convolve(eval, node, operands, padding, (uint32_t)count, results);
}
