// SPDX-License-Identifier: Apache-2.0
// Geometry of sliding windows (see window.h).
#include "ir/window.h"

hlo_status_t hlo_window_dim_finish(const hlo_node_t* node, hlo_window_dim_t* dim) {
  int64_t padded = 0, extent = 0;
  const int64_t limit = INT64_MAX / 4;  // so that the sum of two positions does not overflow
  const bool is_valid =
      dim->low > -limit && dim->high > -limit && dim->low < limit && dim->high < limit &&
      dim->size >= 1 && dim->stride >= 1 && dim->base_dilation >= 1 && dim->window_dilation >= 1 &&
      !__builtin_mul_overflow(dim->in_size > 0 ? dim->in_size - 1 : 0, dim->base_dilation,
                              &padded) &&
      !__builtin_add_overflow(padded, dim->in_size > 0, &padded) &&
      !__builtin_add_overflow(padded, dim->low, &padded) &&
      !__builtin_add_overflow(padded, dim->high, &padded) &&
      !__builtin_mul_overflow(dim->size - 1, dim->window_dilation, &extent) && extent < limit;
  if (!is_valid) {
    return hlo_node_error(
        node, HLO_STATUS_INVALID_ARGUMENT,
        "window sizes, strides and dilations must be positive and must not overflow");
  }
  dim->out_size = padded > extent ? (padded - extent - 1) / dim->stride + 1 : 0;
  return hlo_ok();
}

hlo_status_t hlo_window_dims_of(const hlo_node_t* node, uint32_t rank, const int64_t* dims,
                                hlo_window_dim_t* out_windows) {
  const hlo_ints_t sizes = hlo_node_ints(node, HLO_ATTR_window_dimensions);
  const hlo_ints_t strides = hlo_node_ints(node, HLO_ATTR_window_strides);
  const hlo_ints_t base = hlo_node_ints(node, HLO_ATTR_base_dilations);
  const hlo_ints_t window = hlo_node_ints(node, HLO_ATTR_window_dilations);
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  for (uint32_t d = 0; d < rank; d++) {
    out_windows[d] = (hlo_window_dim_t){.in_size = dims[d],
                                        .size = hlo_ints_at(sizes, d, 1),
                                        .stride = hlo_ints_at(strides, d, 1),
                                        .base_dilation = hlo_ints_at(base, d, 1),
                                        .window_dilation = hlo_ints_at(window, d, 1),
                                        .low = hlo_ints_at(padding, 2 * d, 0),
                                        .high = hlo_ints_at(padding, 2 * d + 1, 0)};
    HLO_TRY(hlo_window_dim_finish(node, &out_windows[d]));
  }
  return hlo_ok();
}

int64_t hlo_window_offset(uint32_t rank, const hlo_window_dim_t* windows, const int64_t* strides,
                          const int64_t* o, const int64_t* w) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < rank; d++) {
    const int64_t i = hlo_window_input(&windows[d], o[d], w[d]);
    if (i < 0) return -1;
    offset += i * strides[d];
  }
  return offset;
}

// Finds the elements first..last of a window whose position lies between the first and the last
// input element; last is below first if the window reaches no input.
static void reach_of(const hlo_window_dim_t* dim, int64_t o, int64_t* out_first,
                     int64_t* out_last) {
  const int64_t at = o * dim->stride - dim->low, step = dim->window_dilation;
  const int64_t extent = (dim->in_size - 1) * dim->base_dilation;
  *out_first = at < 0 ? (-at + step - 1) / step : 0;
  *out_last = at > extent ? -1 : (extent - at) / step;
  if (*out_last >= dim->size) *out_last = dim->size - 1;
}

bool hlo_window_reach(uint32_t rank, const hlo_window_dim_t* windows, const int64_t* o,
                      int64_t* out_first, int64_t* out_sizes) {
  bool has_elements = true;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t last;
    reach_of(&windows[d], o[d], &out_first[d], &last);
    out_sizes[d] = last - out_first[d] + 1;
    has_elements &= out_sizes[d] > 0;
  }
  return has_elements;
}

bool hlo_window_is_scan(uint32_t rank, const hlo_window_dim_t* windows, uint32_t* out_axis,
                        bool* out_is_reverse) {
  uint32_t found = 0;
  for (uint32_t d = 0; d < rank; d++) {
    const hlo_window_dim_t* dim = &windows[d];
    if (dim->stride != 1 || dim->base_dilation != 1) return false;
    if (dim->size == 1 && dim->low == 0 && dim->high == 0) continue;
    const bool is_prefix = dim->low == dim->size - 1 && dim->high == 0;
    const bool is_suffix = dim->high == dim->size - 1 && dim->low == 0;
    if (dim->window_dilation != 1 || dim->size < dim->in_size || found++ ||
        !(is_prefix || is_suffix)) {
      return false;
    }
    *out_axis = d;
    *out_is_reverse = !is_prefix;
  }
  return found == 1;
}
