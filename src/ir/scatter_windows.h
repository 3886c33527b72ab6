// SPDX-License-Identifier: Apache-2.0
// Geometry of scatter: the windows of updates and results that the index vectors select.
#pragma once

#include "ir/index_vectors.h"

/// Dims of a window are the result's dims that are neither inserted nor batch dims, in order.
/// Strides are in elements.
typedef struct hlo_scatter_windows {
  hlo_index_vectors_t vectors;
  uint32_t rank, result_rank;
  const int64_t* result_dims;
  uint32_t dims[HLO_RANK_MAX];  // of the result, by dim of the window
  int64_t sizes[HLO_RANK_MAX];
  int64_t update_strides[HLO_RANK_MAX];  // of a window's dims in the updates
  int64_t result_strides[HLO_RANK_MAX];  // of a window's dims in the result
  int64_t batch_strides[HLO_RANK_MAX];   // of positions of index vectors in the updates
  int64_t all_strides[HLO_RANK_MAX];     // of the result's dims
} hlo_scatter_windows_t;

/// A dense array of a scatter.
typedef struct hlo_scatter_array {
  hlo_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
} hlo_scatter_array_t;

/// Reads the dimension numbers of a scatter; returns false if they do not fit the arrays. The dims
/// of `result` are lent.
bool hlo_scatter_windows_init(hlo_scatter_windows_t* windows, const hlo_node_t* node,
                              hlo_scatter_array_t result, hlo_scatter_array_t indices,
                              hlo_scatter_array_t update);

/// The first elements of a window.
typedef struct hlo_scatter_offsets {
  int64_t result, update;
} hlo_scatter_offsets_t;

/// Finds the window that the index vector at `position` selects. Returns false if it is partly out
/// of bounds.
bool hlo_scatter_window_find(const hlo_scatter_windows_t* windows, const void* indices,
                             const int64_t* position, hlo_scatter_offsets_t* out_offsets);
