// SPDX-License-Identifier: Apache-2.0
// Ops that only move elements: each is a strided copy (base/strided.h) or no copy at all. Element
// types play no part, so quantized tensors are moved as their storage.
#include <string.h>

#include "interp/ref_util.h"

static void release_viewed(void* context) {
  hlo_tensor_release(context);
}

hlo_status_t hlo_move_reshape(const hlo_node_t* node, uint32_t i, hlo_tensor_t** operands,
                              uint32_t k, uint32_t rank, const int64_t* dims,
                              hlo_tensor_t** out_tensor) {
  hlo_tensor_t* operand = operands[k];
  int64_t count = 0;
  if (!hlo_dims_element_count(rank, dims, &count) || count != operand->element_count) {
    return hlo_node_error(node, HLO_STATUS_INTERNAL, "cannot reshape %lld elements to %lld",
                          (long long)operand->element_count, (long long)count);
  }
  if (rank == operand->rank && memcmp(dims, operand->dims, rank * sizeof(int64_t)) == 0) {
    *out_tensor = hlo_tensor_retain(operand);
    return hlo_ok();
  }
  // A view of a view shares its owner, so views never form chains. A view of an operand without
  // other references may be overwritten; any other view is read-only, and so are the other views of
  // its owner.
  const bool is_unique = hlo_tensor_is_unique(operand);
  const bool is_view = operand->release == release_viewed;
  hlo_tensor_t* owner = is_view ? operand->release_context : operand;
  hlo_tensor_t* view = NULL;
  HLO_TRY(hlo_tensor_create_lent(operand->dtype, rank, dims, operand->data, !is_unique,
                                 release_viewed, owner, &view));
  hlo_tensor_retain(owner);
  if (is_view && !is_unique) operand->is_read_only = true;
  view->quant = node->results[i].type->quant;
  *out_tensor = view;
  return hlo_ok();
}

hlo_status_t hlo_ref_reshape(HLO_REF_ARGUMENTS) {
  const hlo_type_t* type = node->results[0].type;
  return hlo_move_reshape(node, 0, operands, 0, type->rank, type->dims, &results[0]);
}

hlo_status_t hlo_ref_hlo_bitcast(HLO_REF_ARGUMENTS) {
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result(eval, node, 0, &result));
  if (result->size_bytes != operands[0]->size_bytes) {
    hlo_tensor_release(result);
    return hlo_node_invalid(node, "operand and result differ in bytes");
  }
  memcpy(result->data, operands[0]->data, result->size_bytes);
  results[0] = result;
  return hlo_ok();
}

hlo_status_t hlo_ref_hlo_copy(HLO_REF_ARGUMENTS) {
  results[0] = hlo_tensor_retain(operands[0]);
  return hlo_ok();
}

hlo_status_t hlo_move_broadcast(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                const int64_t* mapping, uint32_t rank, const int64_t* dims,
                                hlo_tensor_t** out_tensor) {
  const hlo_tensor_t* operand = operands[0];
  int64_t count = 0;
  bool in_order = true;
  for (uint32_t d = 0; d < operand->rank; d++) {
    if (mapping[d] < 0 || mapping[d] >= rank ||
        (operand->dims[d] != 1 && operand->dims[d] != dims[mapping[d]])) {
      return hlo_node_invalid(node, "operand dimension %u of size %lld does not match the result",
                              d, (long long)operand->dims[d]);
    }
    in_order &= d == 0 || mapping[d] > mapping[d - 1];
  }
  if (in_order && hlo_dims_element_count(rank, dims, &count) && count == operand->element_count) {
    return hlo_move_reshape(node, 0, operands, 0, rank, dims, out_tensor);
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  const size_t bytes = hlo_tensor_element_bytes(operand);
  if (operand->element_count == 1) {
    hlo_strided_fill(bytes, (size_t)result->element_count, result->data, operand->data);
  } else {
    int64_t operand_strides[HLO_RANK_MAX], in[HLO_RANK_MAX] = {0}, out[HLO_RANK_MAX];
    hlo_tensor_strides(operand, operand_strides);
    hlo_tensor_strides(result, out);
    for (uint32_t d = 0; d < operand->rank; d++) {
      if (operand->dims[d] != 1) in[mapping[d]] = operand_strides[d];
    }
    hlo_strided_copy(bytes, rank, dims, result->data, out, operand->data, in);
  }
  *out_tensor = result;
  return hlo_ok();
}

hlo_status_t hlo_ref_broadcast_in_dim(HLO_REF_ARGUMENTS) {
  const hlo_ints_t mapping = hlo_node_ints(node, HLO_ATTR_broadcast_dimensions);
  const hlo_type_t* type = node->results[0].type;
  return hlo_move_broadcast(eval, node, operands, mapping.values, type->rank, type->dims,
                            &results[0]);
}

hlo_status_t hlo_ref_broadcast(HLO_REF_ARGUMENTS) {
  const hlo_ints_t sizes = hlo_node_ints(node, HLO_ATTR_broadcast_sizes);
  const hlo_tensor_t* operand = operands[0];
  int64_t dims[HLO_RANK_MAX], mapping[HLO_RANK_MAX];
  if (sizes.count + operand->rank > HLO_RANK_MAX) {
    return hlo_node_invalid(node, "result rank above %d", HLO_RANK_MAX);
  }
  for (uint32_t d = 0; d < sizes.count; d++) dims[d] = sizes.values[d];
  for (uint32_t d = 0; d < operand->rank; d++) {
    dims[sizes.count + d] = operand->dims[d];
    mapping[d] = sizes.count + d;
  }
  return hlo_move_broadcast(eval, node, operands, mapping, sizes.count + operand->rank, dims,
                            &results[0]);
}

hlo_status_t hlo_ref_concatenate(HLO_REF_ARGUMENTS) {
  const uint32_t axis = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  const uint32_t rank = operands[0]->rank;
  if (node->operand_count == 1) {
    results[0] = hlo_tensor_retain(operands[0]);
    return hlo_ok();
  }
  int64_t dims[HLO_RANK_MAX], out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  memcpy(dims, operands[0]->dims, rank * sizeof(dims[0]));
  for (uint32_t k = 1; k < node->operand_count; k++) {
    if (__builtin_add_overflow(dims[axis], operands[k]->dims[axis], &dims[axis])) {
      return hlo_node_invalid(node, "dimension %u overflows", axis);
    }
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  hlo_tensor_strides(result, out);
  char* place = result->data;
  for (uint32_t k = 0; k < node->operand_count; k++) {
    hlo_tensor_strides(operands[k], in);
    hlo_strided_copy(hlo_tensor_element_bytes(result), rank, operands[k]->dims, place, out,
                     operands[k]->data, in);
    place += operands[k]->dims[axis] * out[axis];
  }
  results[0] = result;
  return hlo_ok();
}

hlo_status_t hlo_move_slice(hlo_eval_t* eval, const hlo_node_t* node, const hlo_tensor_t* operand,
                            const int64_t* starts, const int64_t* strides, const int64_t* dims,
                            hlo_tensor_t** out_tensor) {
  const uint32_t rank = operand->rank;
  int64_t out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  hlo_tensor_strides(result, out);
  hlo_tensor_strides(operand, in);
  const char* place = operand->data;
  if (result->element_count > 0) {
    for (uint32_t d = 0; d < rank; d++) {
      place += starts[d] * in[d];
      if (dims[d] > 1) in[d] *= strides[d];
    }
    hlo_strided_copy(hlo_tensor_element_bytes(operand), rank, dims, result->data, out, place, in);
  }
  *out_tensor = result;
  return hlo_ok();
}

hlo_status_t hlo_move_slice_to(hlo_eval_t* eval, const hlo_node_t* node,
                               const hlo_tensor_t* operand, const int64_t* starts,
                               const int64_t* limits, const int64_t* strides,
                               hlo_tensor_t** out_tensor) {
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < operand->rank; d++) {
    if (starts[d] < 0 || limits[d] < starts[d] || limits[d] > operand->dims[d] || strides[d] < 1) {
      return hlo_node_error(
          node, HLO_STATUS_INVALID_ARGUMENT, "slice [%lld, %lld) exceeds dimension %u of size %lld",
          (long long)starts[d], (long long)limits[d], d, (long long)operand->dims[d]);
    }
    const int64_t length = limits[d] - starts[d];
    dims[d] = length / strides[d] + (length % strides[d] != 0);
  }
  return hlo_move_slice(eval, node, operand, starts, strides, dims, out_tensor);
}

hlo_status_t hlo_ref_slice(HLO_REF_ARGUMENTS) {
  return hlo_move_slice_to(eval, node, operands[0],
                           hlo_node_ints(node, HLO_ATTR_start_indices).values,
                           hlo_node_ints(node, HLO_ATTR_limit_indices).values,
                           hlo_node_ints(node, HLO_ATTR_strides).values, &results[0]);
}

// Reads the start indices of dynamic_(update_)slice, clamped so that `sizes` fit into `dims`.
static hlo_status_t clamped_starts(const hlo_node_t* node, hlo_tensor_t* const* indices,
                                   uint32_t rank, const int64_t* dims, const int64_t* sizes,
                                   int64_t* out_starts) {
  for (uint32_t d = 0; d < rank; d++) {
    if (sizes[d] < 0 || sizes[d] > dims[d]) {
      return hlo_node_invalid(node, "slice of size %lld exceeds dimension %u of size %lld",
                              (long long)sizes[d], d, (long long)dims[d]);
    }
    int64_t start = hlo_tensor_int(indices[d], 0);
    if (start < 0 && indices[d]->dtype == HLO_DTYPE_U64) start = INT64_MAX;
    out_starts[d] = hlo_index_clamp(start, 0, dims[d] - sizes[d]);
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_dynamic_slice(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* operand = operands[0];
  const int64_t* sizes = hlo_node_ints(node, HLO_ATTR_slice_sizes).values;
  int64_t starts[HLO_RANK_MAX], strides[HLO_RANK_MAX];
  HLO_TRY(clamped_starts(node, operands + 1, operand->rank, operand->dims, sizes, starts));
  for (uint32_t d = 0; d < operand->rank; d++) strides[d] = 1;
  return hlo_move_slice(eval, node, operand, starts, strides, sizes, &results[0]);
}

hlo_status_t hlo_ref_dynamic_update_slice(HLO_REF_ARGUMENTS) {
  hlo_tensor_t* operand = operands[0];
  const hlo_tensor_t* update = operands[1];
  const uint32_t rank = operand->rank;
  int64_t starts[HLO_RANK_MAX], out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  HLO_TRY(clamped_starts(node, operands + 2, rank, operand->dims, update->dims, starts));
  if (update->element_count == 0) {
    results[0] = hlo_tensor_retain(operand);
    return hlo_ok();
  }
  if (update->element_count == operand->element_count) {
    results[0] = hlo_tensor_retain(operands[1]);
    return hlo_ok();
  }
  hlo_tensor_t* result = operand;
  if (hlo_tensor_is_unique(operand)) {
    hlo_tensor_retain(operand);
  } else {
    HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, operand->dims, &result));
    memcpy(result->data, operand->data, operand->size_bytes);
  }
  hlo_tensor_strides(result, out);
  hlo_tensor_strides(update, in);
  char* place = result->data;
  for (uint32_t d = 0; d < rank; d++) place += starts[d] * out[d];
  hlo_strided_copy(hlo_tensor_element_bytes(update), rank, update->dims, place, out, update->data,
                   in);
  results[0] = result;
  return hlo_ok();
}

// Computes the size of a dimension after padding; returns false if it overflows or is negative.
static bool padded_size(int64_t size, int64_t low, int64_t high, int64_t interior, int64_t* out) {
  int64_t result = 0;
  if (interior < 0) return false;
  if (size > 0 && (__builtin_mul_overflow(size - 1, interior, &result) ||
                   __builtin_add_overflow(result, size, &result))) {
    return false;
  }
  if (__builtin_add_overflow(result, low, &result) ||
      __builtin_add_overflow(result, high, &result)) {
    return false;
  }
  *out = result;
  return result >= 0;
}

// Computes which elements of one operand dimension remain inside the result, [first, first +
// count), and the position of the first of them. `step` = interior + 1.
static void pad_window(int64_t size, int64_t low, int64_t step, int64_t result_size,
                       int64_t* out_first, int64_t* out_count, int64_t* out_place) {
  int64_t first = low < 0 ? (-low + step - 1) / step : 0;
  if (first > size) first = size;
  const int64_t place = low + first * step;
  int64_t count = 0;
  if (place < result_size) count = (result_size - 1 - place) / step + 1;
  if (count > size - first) count = size - first;
  *out_first = first;
  *out_count = count;
  *out_place = place;
}

hlo_status_t hlo_move_pad(hlo_eval_t* eval, const hlo_node_t* node, const hlo_tensor_t* operand,
                          const hlo_tensor_t* value, const int64_t* low, const int64_t* high,
                          const int64_t* interior, hlo_tensor_t** out_tensor) {
  const uint32_t rank = operand->rank;
  int64_t dims[HLO_RANK_MAX], counts[HLO_RANK_MAX], out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  for (uint32_t d = 0; d < rank; d++) {
    if (low[d] == INT64_MIN || interior[d] == INT64_MAX ||
        !padded_size(operand->dims[d], low[d], high[d], interior[d], &dims[d])) {
      return hlo_node_invalid(node, "padding makes the size of dimension %u negative or overflow",
                              d);
    }
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  const size_t bytes = hlo_tensor_element_bytes(operand);
  hlo_strided_fill(bytes, (size_t)result->element_count, result->data, value->data);
  *out_tensor = result;
  if (operand->element_count == 0 || result->element_count == 0) return hlo_ok();

  hlo_tensor_strides(result, out);
  hlo_tensor_strides(operand, in);
  char* to = result->data;
  const char* from = operand->data;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t first = 0, place = 0;
    pad_window(operand->dims[d], low[d], interior[d] + 1, dims[d], &first, &counts[d], &place);
    if (counts[d] <= 0) return hlo_ok();
    from += first * in[d];
    to += place * out[d];
    if (counts[d] > 1) out[d] *= interior[d] + 1;
  }
  hlo_strided_copy(bytes, rank, counts, to, out, from, in);
  return hlo_ok();
}

hlo_status_t hlo_ref_pad(HLO_REF_ARGUMENTS) {
  return hlo_move_pad(eval, node, operands[0], operands[1],
                      hlo_node_ints(node, HLO_ATTR_edge_padding_low).values,
                      hlo_node_ints(node, HLO_ATTR_edge_padding_high).values,
                      hlo_node_ints(node, HLO_ATTR_interior_padding).values, &results[0]);
}

hlo_status_t hlo_ref_reverse(HLO_REF_ARGUMENTS) {
  const hlo_ints_t reversed = hlo_node_ints(node, HLO_ATTR_dimensions);
  const hlo_tensor_t* operand = operands[0];
  int64_t out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, operand->rank, operand->dims, &result));
  results[0] = result;
  if (result->element_count == 0) return hlo_ok();
  hlo_tensor_strides(result, out);
  hlo_tensor_strides(operand, in);
  const char* from = operand->data;
  for (uint32_t i = 0; i < reversed.count; i++) {
    const int64_t d = reversed.values[i];
    from += (operand->dims[d] - 1) * in[d];
    in[d] = -in[d];
  }
  hlo_strided_copy(hlo_tensor_element_bytes(operand), operand->rank, operand->dims, result->data,
                   out, from, in);
  return hlo_ok();
}

hlo_status_t hlo_ref_transpose(HLO_REF_ARGUMENTS) {
  const int64_t* permutation = hlo_node_ints(node, HLO_ATTR_permutation).values;
  const hlo_tensor_t* operand = operands[0];
  const uint32_t rank = operand->rank;
  int64_t dims[HLO_RANK_MAX], strides[HLO_RANK_MAX], out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  int64_t last_moved = -1;
  bool in_order = true;
  for (uint32_t d = 0; d < rank; d++) {
    dims[d] = operand->dims[permutation[d]];
    if (dims[d] == 1) continue;
    in_order &= permutation[d] > last_moved;
    last_moved = permutation[d];
  }
  if (in_order) return hlo_move_reshape(node, 0, operands, 0, rank, dims, &results[0]);
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  hlo_tensor_strides(operand, strides);
  hlo_tensor_strides(result, out);
  for (uint32_t d = 0; d < rank; d++) in[d] = strides[permutation[d]];
  hlo_strided_copy(hlo_tensor_element_bytes(operand), rank, dims, result->data, out, operand->data,
                   in);
  results[0] = result;
  return hlo_ok();
}
