// SPDX-License-Identifier: Apache-2.0
// convolution and dynamic_conv. The operands are brought into one order (batch, space, features;
// kernel: space, in, out), windows are gathered into rows of a patch matrix, and a matrix product
// with the kernel computes the features of many outputs at once (im2col).
#include <string.h>

#include "interp/quant.h"
#include "interp/ref_dot.h"
#include "interp/ref_window.h"
#include "lib/gemm.h"

// A convolution in canonical order.
typedef struct {
  uint32_t space;  // number of spatial dims
  hlo_window_dim_t windows[HLO_RANK_MAX];
  bool reversed[HLO_RANK_MAX];
  int64_t lhs_order[HLO_RANK_MAX];  // operand dim of each canonical dim
  int64_t rhs_order[HLO_RANK_MAX];
  int64_t out_order[HLO_RANK_MAX];
  int64_t batch, in_features, out_features;  // of the whole operands
  int64_t feature_groups, batch_groups;
  hlo_dtype_t dtype;  // of the arithmetic
  // per group
  int64_t group_batch, group_in, group_out;
  int64_t kernel_count;                 // window elements
  int64_t row_length;                   // kernel_count * group_in
  int64_t out_count;                    // output positions of one image
  int64_t image_strides[HLO_RANK_MAX];  // of spatial dims of canonical lhs, in elements
  int64_t image_count;                  // elements of one image
} conv_t;

static hlo_status_t conv_misfit(const hlo_node_t* node, const char* what) {
  return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "%s does not match the operands", what);
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
  conv->kernel_count = conv->out_count = 1;
  bool is_empty = false;
  for (uint32_t s = 0; s < conv->space; s++) {
    const int64_t size = rhs->dims[conv->rhs_order[s]];
    is_empty |= size == 0;
    conv->reversed[s] = hlo_ints_at(reversal, s, 0) != 0;
    conv->windows[s] = (hlo_window_dim_t){.in_size = lhs->dims[conv->lhs_order[s + 1]],
                                          .size = size > 0 ? size : 1,
                                          .stride = hlo_ints_at(strides, s, 1),
                                          .base_dilation = hlo_ints_at(base, s, 1),
                                          .window_dilation = hlo_ints_at(window, s, 1),
                                          .low = hlo_ints_at(pads, 2 * s, 0),
                                          .high = hlo_ints_at(pads, 2 * s + 1, 0)};
    HLO_TRY(hlo_window_dim_finish(node, &conv->windows[s]));
    conv->kernel_count *= size;
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
  conv->row_length = is_empty ? 0 : conv->kernel_count * conv->group_in;
  return hlo_ok();
}

// Returns part `part` of `tensor` with its dims in the given order, in `dtype`; dims marked in
// `reversed` (leading ones) are reversed. Returns the tensor itself if nothing changes.
static hlo_status_t canonical_part(hlo_tensor_t* tensor, const int64_t* order, const bool* reversed,
                                   uint32_t reversed_count, int part, hlo_dtype_t dtype,
                                   hlo_tensor_t** out_tensor) {
  const hlo_dtype_t from = hlo_dtype_info(tensor->dtype)->part;
  const size_t bytes = hlo_dtype_size_bytes(from);
  bool is_same = tensor->dtype == dtype;
  for (uint32_t d = 0; d < tensor->rank; d++) {
    is_same &= order[d] == d && !(d < reversed_count && reversed[d]);
  }
  if (is_same) {
    *out_tensor = hlo_tensor_retain(tensor);
    return hlo_ok();
  }
  int64_t dims[HLO_RANK_MAX], in[HLO_RANK_MAX], strides[HLO_RANK_MAX], out[HLO_RANK_MAX];
  hlo_tensor_t *moved = NULL, *result = NULL;
  const char* data = (const char*)tensor->data + (size_t)part * bytes;
  hlo_tensor_strides(tensor, strides);
  for (uint32_t d = 0; d < tensor->rank; d++) {
    dims[d] = tensor->dims[order[d]];
    in[d] = strides[order[d]];
    if (d < reversed_count && reversed[d] && dims[d] > 0) {
      data += (dims[d] - 1) * in[d];
      in[d] = -in[d];
    }
  }
  HLO_TRY(hlo_tensor_create(from, tensor->rank, dims, &moved));
  hlo_strided_dense(bytes, tensor->rank, dims, out);
  hlo_strided_copy(bytes, tensor->rank, dims, moved->data, out, data, in);
  if (from == dtype) {
    *out_tensor = moved;
    return hlo_ok();
  }
  hlo_status_t status = hlo_tensor_create(dtype, tensor->rank, dims, &result);
  if (hlo_status_is_ok(status)) {
    hlo_dtype_convert(from, moved->data, dtype, result->data, (size_t)moved->element_count);
    *out_tensor = result;
  }
  hlo_tensor_release(moved);
  return status;
}

// Gathers one row of the patch matrix: the inputs under the window of output position `o`.
static void gather_patch(const conv_t* conv, const char* image, const int64_t* o,
                         const int64_t* kernel_dims, size_t bytes, char* row) {
  const size_t run = (size_t)conv->group_in * bytes;
  int64_t w[HLO_RANK_MAX] = {0};
  do {
    const int64_t offset = hlo_window_offset(conv->space, conv->windows, conv->image_strides, o, w);
    if (offset < 0) {
      memset(row, 0, run);
    } else if (run == 4) {
      memcpy(row, image + (size_t)offset * bytes, 4);
    } else {
      memcpy(row, image + (size_t)offset * bytes, run);
    }
    row += run;
  } while (hlo_index_next(conv->space, kernel_dims, w));
}

// Memory for the patch matrix and the matrix product.
typedef struct {
  int64_t rows;
  hlo_tensor_t *patches, *scratch;
} conv_memory_t;

// Returns true if the rows of the input already are the patches, in order.
static bool is_pointwise(const conv_t* conv) {
  for (uint32_t s = 0; s < conv->space; s++) {
    const hlo_window_dim_t* dim = &conv->windows[s];
    if (dim->size != 1 || dim->stride != 1 || dim->base_dilation != 1 || dim->low != 0 ||
        dim->high != 0) {
      return false;
    }
  }
  return conv->row_length > 0;
}

// Computes all outputs of one group: images [group_batch] x positions, `group_out` features from
// `out`.
static void conv_group(const conv_t* conv, const conv_memory_t* memory, const char* images,
                       const char* kernel, char* out) {
  const size_t bytes = hlo_dtype_size_bytes(conv->dtype);
  const bool pointwise = is_pointwise(conv);
  int64_t places[HLO_RANK_MAX + 1], at[HLO_RANK_MAX + 1] = {0}, kernel_dims[HLO_RANK_MAX];
  places[0] = conv->group_batch;
  for (uint32_t s = 0; s < conv->space; s++) {
    places[s + 1] = conv->windows[s].out_size;
    kernel_dims[s] = conv->windows[s].size;
  }
  const int64_t total = conv->group_batch * conv->out_count;
  const int64_t step = pointwise ? total : memory->rows;
  for (int64_t first = 0; first < total; first += step) {
    const int64_t rows = total - first < step ? total - first : step;
    for (int64_t r = 0; r < rows && conv->row_length > 0 && !pointwise; r++) {
      gather_patch(conv, images + (size_t)(at[0] * conv->image_count) * bytes, at + 1, kernel_dims,
                   bytes, (char*)memory->patches->data + (size_t)(r * conv->row_length) * bytes);
      hlo_index_next(conv->space + 1, places, at);
    }
    const hlo_gemm_t gemm = {.m = rows,
                             .n = conv->group_out,
                             .k = conv->row_length,
                             .a = pointwise ? images : memory->patches->data,
                             .a_row = pointwise ? conv->in_features : conv->row_length,
                             .a_col = 1,
                             .b = kernel,
                             .b_row = conv->out_features,
                             .b_col = 1,
                             .c = out + (size_t)(first * conv->out_features) * bytes,
                             .c_row = conv->out_features};
    hlo_gemm(conv->dtype, &gemm, memory->scratch->data);
  }
}

// One kernel per feature, all features at once: each window element adds an elementwise product of
// rows.
static void conv_depthwise(const conv_t* conv, const char* images, const char* kernel, char* out) {
  const size_t row_bytes = (size_t)conv->in_features * hlo_dtype_size_bytes(conv->dtype);
  int64_t places[HLO_RANK_MAX], kernel_dims[HLO_RANK_MAX];
  for (uint32_t s = 0; s < conv->space; s++) {
    places[s] = conv->windows[s].out_size;
    kernel_dims[s] = conv->windows[s].size;
  }
  for (int64_t b = 0; b < conv->batch; b++) {
    int64_t o[HLO_RANK_MAX] = {0};
    do {
      const char* weights = kernel;
      int64_t w[HLO_RANK_MAX] = {0};
      memset(out, 0, row_bytes);
      do {
        const int64_t offset =
            hlo_window_offset(conv->space, conv->windows, conv->image_strides, o, w);
        if (offset >= 0) {
          hlo_gemm_multiply_add(
              conv->dtype, conv->in_features,
              images + (size_t)(b * conv->image_count + offset) * hlo_dtype_size_bytes(conv->dtype),
              weights, out);
        }
        weights += row_bytes;
      } while (hlo_index_next(conv->space, kernel_dims, w));
      out += row_bytes;
    } while (hlo_index_next(conv->space, places, o));
  }
}

static hlo_status_t conv_memory_init(const conv_t* conv, conv_memory_t* memory) {
  enum { PATCH_ELEMENTS = 1 << 18 };
  const int64_t total = conv->group_batch * conv->out_count;
  const int64_t length = conv->row_length > 0 ? conv->row_length : 1;
  memory->rows = PATCH_ELEMENTS / length;
  if (memory->rows < 8) memory->rows = 8;
  if (memory->rows > total) memory->rows = total;
  const int64_t dims[2] = {memory->rows, length};
  HLO_TRY(hlo_tensor_create(conv->dtype, 2, dims, &memory->patches));
  return hlo_scratch_create(
      hlo_gemm_scratch_bytes(conv->dtype, memory->rows, conv->group_out, length), &memory->scratch);
}

// Convolves one part of each operand (real numbers) into canonical dense `out`.
static hlo_status_t conv_parts(conv_t* conv, hlo_tensor_t* lhs, int lhs_part, hlo_tensor_t* rhs,
                               int rhs_part, char* out) {
  hlo_tensor_t *images = NULL, *kernel = NULL;
  conv_memory_t memory = {0};
  const size_t bytes = hlo_dtype_size_bytes(conv->dtype);
  hlo_status_t status =
      canonical_part(lhs, conv->lhs_order, NULL, 0, lhs_part, conv->dtype, &images);
  if (hlo_status_is_ok(status)) {
    status = canonical_part(rhs, conv->rhs_order, conv->reversed, conv->space, rhs_part,
                            conv->dtype, &kernel);
  }
  if (hlo_status_is_ok(status)) status = conv_memory_init(conv, &memory);
  if (hlo_status_is_ok(status)) {
    int64_t strides[HLO_RANK_MAX];
    hlo_strided_dense(1, images->rank, images->dims, strides);
    conv->image_count = strides[0];
    memcpy(conv->image_strides, strides + 1, conv->space * sizeof(strides[0]));
    const bool depthwise = conv->feature_groups > 1 && conv->group_in == 1 &&
                           conv->group_out == 1 && conv->row_length > 0;
    if (depthwise) conv_depthwise(conv, images->data, kernel->data, out);
    const int64_t groups = depthwise ? 0 : conv->feature_groups * conv->batch_groups;
    for (int64_t g = 0; g < groups; g++) {
      const int64_t first =
          conv->feature_groups > 1 ? g * conv->group_in : g * conv->group_batch * conv->image_count;
      conv_group(conv, &memory, (const char*)images->data + (size_t)first * bytes,
                 (const char*)kernel->data + (size_t)(g * conv->group_out) * bytes,
                 out + (size_t)(g * conv->group_out) * bytes);
    }
  }
  hlo_tensor_release(memory.patches);
  hlo_tensor_release(memory.scratch);
  hlo_tensor_release(images);
  hlo_tensor_release(kernel);
  return status;
}

// Converts the canonical output in `wide` (planes of parts) to the result's order and type.
static hlo_status_t conv_store(const conv_t* conv, const int64_t* dims, const char* planes,
                               size_t plane_bytes, hlo_tensor_t* result) {
  const hlo_dtype_t part = hlo_dtype_info(result->dtype)->part;
  const int parts = part == result->dtype ? 1 : 2;
  const size_t bytes = hlo_dtype_size_bytes(part);
  int64_t strides[HLO_RANK_MAX], out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  hlo_tensor_strides(result, strides);
  hlo_strided_dense(bytes, result->rank, dims, in);
  for (uint32_t d = 0; d < result->rank; d++) out[d] = strides[conv->out_order[d]];
  hlo_tensor_t* line = NULL;
  HLO_TRY(hlo_tensor_create(part, 1, &result->element_count, &line));
  for (int p = 0; p < parts; p++) {
    hlo_dtype_convert(conv->dtype, planes + (size_t)p * plane_bytes, part, line->data,
                      (size_t)result->element_count);
    hlo_strided_copy(bytes, result->rank, dims, (char*)result->data + (size_t)p * bytes, out,
                     line->data, in);
  }
  hlo_tensor_release(line);
  return hlo_ok();
}

static hlo_status_t conv_run(conv_t* conv, hlo_tensor_t* lhs, hlo_tensor_t* rhs,
                             const int64_t* dims, hlo_tensor_t* result) {
  conv->dtype = hlo_dot_compute_dtype(lhs->dtype, rhs->dtype, result->dtype);
  const int parts = hlo_dtype_is_complex(result->dtype) ? 2 : 1;
  const int lhs_parts = hlo_dtype_is_complex(lhs->dtype) ? 2 : 1;
  const int rhs_parts = hlo_dtype_is_complex(rhs->dtype) ? 2 : 1;
  const size_t count = (size_t)result->element_count;
  const size_t plane_bytes = count * hlo_dtype_size_bytes(conv->dtype);
  size_t total = 0;
  if (!hlo_size_mul(plane_bytes, parts == 2 ? 3 : 1, &total)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  bool in_order = conv->dtype == result->dtype;
  for (uint32_t d = 0; d < result->rank; d++) in_order &= conv->out_order[d] == d;
  if (in_order) return conv_parts(conv, lhs, 0, rhs, 0, result->data);
  hlo_tensor_t* scratch = NULL;
  HLO_TRY(hlo_scratch_create(total, &scratch));
  char* planes = scratch->data;
  hlo_status_t status = hlo_ok();
  if (parts == 1) {
    status = conv_parts(conv, lhs, 0, rhs, 0, planes);
  } else {
    memset(planes, 0, 2 * plane_bytes);
    for (int i = 0; i < lhs_parts; i++) {
      for (int j = 0; j < rhs_parts && hlo_status_is_ok(status); j++) {
        status = conv_parts(conv, lhs, i, rhs, j, planes + 2 * plane_bytes);
        hlo_dot_add_plane(conv->dtype, count, i + j == 2 ? -1 : 1, planes + 2 * plane_bytes,
                          planes + ((i + j) % 2 ? plane_bytes : 0));
      }
    }
  }
  if (hlo_status_is_ok(status)) status = conv_store(conv, dims, planes, plane_bytes, result);
  hlo_tensor_release(scratch);
  return status;
}

static hlo_status_t convolve(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                             const int64_t* padding, uint32_t padding_count,
                             hlo_tensor_t** results) {
  conv_t conv = {0};
  hlo_tensor_t *lhs = operands[0], *rhs = operands[1];
  HLO_TRY(conv_init(&conv, node, lhs, rhs, padding, padding_count));
  int64_t dims[HLO_RANK_MAX], result_dims[HLO_RANK_MAX];
  dims[0] = conv.group_batch;
  dims[lhs->rank - 1] = conv.out_features;
  for (uint32_t s = 0; s < conv.space; s++) dims[s + 1] = conv.windows[s].out_size;
  for (uint32_t d = 0; d < lhs->rank; d++) result_dims[conv.out_order[d]] = dims[d];
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, lhs->rank, result_dims, &result));
  hlo_status_t status = hlo_ok();
  if (result->element_count > 0) {
    for (uint32_t s = 0; s < conv.space; s++) conv.out_count *= dims[s + 1];
    status = conv_run(&conv, lhs, rhs, dims, result);
  }
  if (hlo_status_is_ok(status)) {
    results[0] = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}

hlo_status_t hlo_ref_convolution(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                 hlo_tensor_t** results) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_convolution, operands, results);
  }
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  return convolve(eval, node, operands, padding.values, padding.count, results);
}

hlo_status_t hlo_ref_dynamic_conv(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                  hlo_tensor_t** results) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_dynamic_conv, operands, results);
  }
  int64_t padding[2 * HLO_RANK_MAX];
  const int64_t count = operands[2]->element_count;
  if (count > 2 * HLO_RANK_MAX) return conv_misfit(node, "the padding");
  hlo_tensor_read_ints(operands[2], 2 * HLO_RANK_MAX, padding);
  return convolve(eval, node, operands, padding, (uint32_t)count, results);
}
