// SPDX-License-Identifier: Apache-2.0
// Geometry of scatter (see scatter_windows.h).
#include "ir/scatter_windows.h"

#include "base/copy.h"

bool hlo_scatter_windows_init(hlo_scatter_windows_t* windows, const hlo_node_t* node,
                              hlo_scatter_array_t result, hlo_scatter_array_t indices,
                              hlo_scatter_array_t update) {
  const hlo_ints_t update_window = hlo_node_ints(node, HLO_ATTR_update_window_dims);
  const hlo_ints_t inserted = hlo_node_ints(node, HLO_ATTR_inserted_window_dims);
  const hlo_index_dims_t dims = {
      .index_vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
      .index_map = hlo_node_ints(node, HLO_ATTR_scatter_dims_to_operand_dims),
      .operand_batching = hlo_node_ints(node, HLO_ATTR_input_batching_dims),
      .indices_batching = hlo_node_ints(node, HLO_ATTR_scatter_indices_batching_dims),
  };
  *windows = (hlo_scatter_windows_t){.result_rank = result.rank, .result_dims = result.dims};
  hlo_index_vectors_t* vectors = &windows->vectors;
  if (!hlo_index_vectors_init(vectors, indices.dtype, indices.rank, indices.dims, result.rank,
                              &dims)) {
    return false;
  }
  for (uint32_t d = 0; d < result.rank; d++) {
    if (hlo_ints_has(inserted, d) || hlo_ints_has(dims.operand_batching, d)) continue;
    windows->dims[windows->rank++] = d;
  }
  if (windows->rank != update_window.count ||
      update.rank != update_window.count + vectors->batch_rank) {
    return false;
  }
  int64_t update_strides[HLO_RANK_MAX];
  hlo_strided_dense(1, update.rank, update.dims, update_strides);
  hlo_strided_dense(1, result.rank, result.dims, windows->all_strides);
  uint32_t window = 0, batch = 0;
  for (uint32_t d = 0; d < update.rank; d++) {
    if (hlo_ints_has(update_window, d)) {
      windows->sizes[window] = update.dims[d];
      windows->update_strides[window] = update_strides[d];
      windows->result_strides[window] = windows->all_strides[windows->dims[window]];
      window++;
    } else {
      if (batch == vectors->batch_rank || vectors->dims[batch] != update.dims[d]) return false;
      windows->batch_strides[batch++] = update_strides[d];
    }
  }
  return true;
}

bool hlo_scatter_window_find(const hlo_scatter_windows_t* windows, const void* indices,
                             const int64_t* position, hlo_scatter_offsets_t* out_offsets) {
  int64_t start[HLO_RANK_MAX];
  hlo_index_vectors_start(&windows->vectors, indices, position, start);
  hlo_scatter_offsets_t offsets = {0};
  for (uint32_t b = 0; b < windows->vectors.batch_rank; b++) {
    offsets.update += position[b] * windows->batch_strides[b];
  }
  uint32_t w = 0;
  for (uint32_t d = 0; d < windows->result_rank; d++) {
    const bool in_window = w < windows->rank && windows->dims[w] == d;
    const int64_t size = in_window ? windows->sizes[w++] : 1;
    if (start[d] < 0 || start[d] > windows->result_dims[d] - size) return false;
    offsets.result += start[d] * windows->all_strides[d];
  }
  *out_offsets = offsets;
  return true;
}
