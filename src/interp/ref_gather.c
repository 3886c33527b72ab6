// SPDX-License-Identifier: Apache-2.0
// gather, dynamic_gather and torch_index_select: copy a slice of the operand for every index
// vector.
#include <string.h>

#include "interp/ref_util.h"
#include "ir/index_vectors.h"

static hlo_index_dims_t index_dims_of(const hlo_node_t* node) {
  return (hlo_index_dims_t){
      .index_vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
      .index_map = hlo_node_ints(node, HLO_ATTR_start_index_map),
      .operand_batching = hlo_node_ints(node, HLO_ATTR_operand_batching_dims),
      .indices_batching = hlo_node_ints(node, HLO_ATTR_start_indices_batching_dims),
  };
}

// Computes the dims of the result and its strides for the window's dims (in operand order) and the
// batch dims.
static void gather_dims(const hlo_node_t* node, const hlo_index_vectors_t* vectors,
                        const int64_t* sizes, const bool* collapsed, uint32_t* out_rank,
                        int64_t* out_dims, uint32_t* window_dims, uint32_t* batch_dims) {
  const hlo_ints_t offsets = hlo_node_ints(node, HLO_ATTR_offset_dims);
  const uint32_t rank = vectors->batch_rank + offsets.count;
  uint32_t batch = 0, operand_dim = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (hlo_ints_has(offsets, d)) {
      while (operand_dim < vectors->rank && collapsed[operand_dim]) operand_dim++;
      out_dims[d] = sizes[operand_dim];
      window_dims[operand_dim++] = d;
    } else {
      batch_dims[batch] = d;
      out_dims[d] = vectors->dims[batch++];
    }
  }
  *out_rank = rank;
}

static hlo_status_t gather_windows(hlo_eval_t* eval, const hlo_node_t* node,
                                   const hlo_tensor_t* operand, const hlo_tensor_t* indices,
                                   const int64_t* sizes, hlo_tensor_t** out_tensor) {
  const hlo_index_dims_t index_dims = index_dims_of(node);
  const hlo_ints_t collapsed_dims = hlo_node_ints(node, HLO_ATTR_collapsed_slice_dims);
  hlo_index_vectors_t vectors;
  if (!hlo_index_vectors_init(&vectors, indices->dtype, indices->rank, indices->dims, operand->rank,
                              &index_dims)) {
    return hlo_node_invalid(node, "dimension numbers do not fit");
  }
  bool collapsed[HLO_RANK_MAX];
  uint32_t kept = 0;
  for (uint32_t d = 0; d < operand->rank; d++) {
    collapsed[d] = hlo_ints_has(collapsed_dims, d) || hlo_ints_has(index_dims.operand_batching, d);
    kept += !collapsed[d];
    if (sizes[d] < 0 || sizes[d] > operand->dims[d] || (collapsed[d] && sizes[d] > 1)) {
      return hlo_node_invalid(node, "slice size %lld exceeds dimension %u of size %lld",
                              (long long)sizes[d], d, (long long)operand->dims[d]);
    }
  }
  const uint32_t offset_count = hlo_node_ints(node, HLO_ATTR_offset_dims).count;
  if (kept != offset_count || vectors.batch_rank + offset_count > HLO_RANK_MAX) {
    return hlo_node_invalid(node, "dimension numbers do not fit");
  }
  uint32_t rank = 0, window_dims[HLO_RANK_MAX] = {0}, batch_dims[HLO_RANK_MAX];
  int64_t dims[HLO_RANK_MAX], strides[HLO_RANK_MAX], in[HLO_RANK_MAX], out[HLO_RANK_MAX] = {0};
  gather_dims(node, &vectors, sizes, collapsed, &rank, dims, window_dims, batch_dims);
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  *out_tensor = result;
  if (result->element_count == 0) return hlo_ok();

  hlo_tensor_strides(result, strides);
  hlo_tensor_strides(operand, in);
  const size_t bytes = hlo_tensor_element_bytes(operand);
  for (uint32_t d = 0; d < operand->rank; d++) {
    if (!collapsed[d]) out[d] = strides[window_dims[d]];
  }
  int64_t position[HLO_RANK_MAX] = {0}, start[HLO_RANK_MAX];
  do {
    char* to = result->data;
    const char* from = operand->data;
    for (uint32_t b = 0; b < vectors.batch_rank; b++) to += position[b] * strides[batch_dims[b]];
    hlo_index_vectors_start(&vectors, indices->data, position, start);
    for (uint32_t d = 0; d < operand->rank; d++) {
      from += hlo_index_clamp(start[d], 0, operand->dims[d] - sizes[d]) * in[d];
    }
    hlo_strided_copy(bytes, operand->rank, sizes, to, out, from, in);
  } while (hlo_index_next(vectors.batch_rank, vectors.dims, position));
  return hlo_ok();
}

hlo_status_t hlo_ref_gather(HLO_REF_ARGUMENTS) {
  const hlo_ints_t sizes = hlo_node_ints(node, HLO_ATTR_slice_sizes);
  return gather_windows(eval, node, operands[0], operands[1], sizes.values, &results[0]);
}

hlo_status_t hlo_ref_dynamic_gather(HLO_REF_ARGUMENTS) {
  int64_t sizes[HLO_RANK_MAX] = {0};
  hlo_tensor_read_ints(operands[2], operands[0]->rank, sizes);
  return gather_windows(eval, node, operands[0], operands[1], sizes, &results[0]);
}

hlo_status_t hlo_ref_torch_index_select(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t *operand = operands[0], *index = operands[1];
  const uint32_t dim = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_dim, 0);
  const uint32_t batch_rank = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_batch_dims, 0);
  if (dim >= operand->rank || batch_rank > dim || batch_rank > index->rank ||
      operand->rank + index->rank > HLO_RANK_MAX) {
    return hlo_node_invalid(node, "dimension numbers do not fit");
  }
  // result: operand dims before dim, index dims after its batch dims, operand dims after dim
  int64_t dims[HLO_RANK_MAX], before = 1, picks = 1, after = 1, batches = 1;
  uint32_t rank = 0;
  for (uint32_t d = 0; d < dim; d++) dims[rank++] = operand->dims[d];
  for (uint32_t d = batch_rank; d < index->rank; d++) dims[rank++] = index->dims[d];
  for (uint32_t d = dim + 1; d < operand->rank; d++) dims[rank++] = operand->dims[d];
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  results[0] = result;
  if (result->element_count == 0) return hlo_ok();
  for (uint32_t d = 0; d < batch_rank; d++) batches *= operand->dims[d];
  for (uint32_t d = batch_rank; d < dim; d++) before *= operand->dims[d];
  for (uint32_t d = batch_rank; d < index->rank; d++) picks *= index->dims[d];
  for (uint32_t d = dim + 1; d < operand->rank; d++) after *= operand->dims[d];
  const size_t row_bytes = (size_t)after * hlo_tensor_element_bytes(operand);
  const int64_t size = operand->dims[dim];
  char* to = result->data;
  for (int64_t i = 0; i < batches * before; i++) {
    const char* from = (const char*)operand->data + (size_t)(i * size) * row_bytes;
    for (int64_t j = 0; j < picks; j++, to += row_bytes) {
      const int64_t found = hlo_tensor_int(index, i / before * picks + j);
      const int64_t at = found < 0 && hlo_dtype_is_unsigned(index->dtype) ? size : found;
      if (size == 0) {
        memset(to, 0, row_bytes);
      } else {
        memcpy(to, from + (size_t)hlo_index_clamp(at, 0, size - 1) * row_bytes, row_bytes);
      }
    }
  }
  return hlo_ok();
}
