// SPDX-License-Identifier: Apache-2.0
// Geometry of sliding windows: reduce_window, select_and_scatter, convolution.
#pragma once

#include "ir/module.h"

/// One dimension of a window. Output o and window element w read input (o * stride + w *
/// window_dilation - low) / base_dilation if that is an integer in bounds.
typedef struct hlo_window_dim {
  int64_t in_size, out_size, size;
  int64_t stride, base_dilation, window_dilation;
  int64_t low, high;
} hlo_window_dim_t;

/// Sets out_size from the other fields. errors: INVALID_ARGUMENT (not positive, overflow)
hlo_status_t hlo_window_dim_finish(const hlo_node_t* node, hlo_window_dim_t* dim) HLO_MUST_USE;

/// Reads the windows of a node with window_dimensions, window_strides, base_dilations,
/// window_dilations and padding over an input of the given dims. errors: INVALID_ARGUMENT
hlo_status_t hlo_window_dims_of(const hlo_node_t* node, uint32_t rank, const int64_t* dims,
                                hlo_window_dim_t* out_windows) HLO_MUST_USE;

/// Returns true if every window is one element of the input, at the same index.
static inline bool hlo_window_is_trivial(const hlo_window_dim_t* dim) {
  return dim->size == 1 && dim->stride == 1 && dim->base_dilation == 1 && dim->low == 0 &&
         dim->high == 0;
}

/// Returns the input element, or -1 for padding and holes.
static inline int64_t hlo_window_input(const hlo_window_dim_t* dim, int64_t o, int64_t w) {
  const int64_t at = o * dim->stride + w * dim->window_dilation - dim->low;
  if (at < 0) return -1;
  if (dim->base_dilation == 1) return at < dim->in_size ? at : -1;
  const int64_t i = at / dim->base_dilation;
  return i < dim->in_size && i * dim->base_dilation == at ? i : -1;
}

/// Returns the element offset of the input under window element `w` of output `o`, or -1 if out of
/// bounds.
int64_t hlo_window_offset(uint32_t rank, const hlo_window_dim_t* windows, const int64_t* strides,
                          const int64_t* o, const int64_t* w);

/// Limits the window of output `o` to the elements between the first and the last input element:
/// from out_first[d], out_sizes[d] of them. Returns false if that is nothing.
bool hlo_window_reach(uint32_t rank, const hlo_window_dim_t* windows, const int64_t* o,
                      int64_t* out_first, int64_t* out_sizes);

/// Returns true if the windows extend back to the beginning of one dimension, or forward to its
/// end: JAX writes cumsum, cumprod, cummax and the like so.
bool hlo_window_is_scan(uint32_t rank, const hlo_window_dim_t* windows, uint32_t* out_axis,
                        bool* out_is_reverse);
