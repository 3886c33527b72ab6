// SPDX-License-Identifier: Apache-2.0
// Pass spread_windows: a reduce_window that sums elements with interior zero padding, as in the
// gradient of average pooling, adds only the elements that a window contains. Positions of the
// output are split into quotients and remainders by the elements' distance s: at quotient q a
// window contains the elements q + first, q + first + 1 ..., each of them for some of the
// remainders.
#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/stride_split.h"

enum { MAX_RANK = HLO_STRIDE_SPLIT_RANK_MAX };

typedef struct windows {
  hlo_node_t* node;
  hlo_value_t *input, *zero;
  uint32_t rank;
  hlo_stride_split_t split;
  int64_t sizes[MAX_RANK], low[MAX_RANK];
  int64_t first[MAX_RANK], counts[MAX_RANK];  // elements in windows at one quotient
} windows_t;

static bool is_zero(const hlo_value_t* value) {
  const uint8_t* element = hlo_constant_splat(value);
  for (size_t i = 0; element && i < hlo_dtype_size_bytes(value->type->dtype); ++i) {
    if (element[i]) return false;
  }
  return element != NULL;
}

static bool is_sum(const hlo_region_t* body) {
  bool is_swapped;
  const hlo_node_t* op = hlo_region_binary_op(body, &is_swapped);
  return op && op->op == HLO_OP_add && !is_swapped;
}

static int64_t floor_divide(int64_t x, int64_t by) {
  return x / by - (x % by < 0);
}

// The element at position p of the padded input is number (p - low) / s.
static bool read_sizes(windows_t* w, const hlo_node_t* pad) {
  int64_t strides[MAX_RANK], terms = 1, distances = 1;
  for (uint32_t d = 0; d < w->rank; ++d) {
    int64_t between = hlo_node_attr_item(pad, HLO_ATTR_interior_padding, d, 0);
    if (between >= HLO_STRIDE_SPLIT_REMAINDERS_MAX) return false;
    int64_t stride = strides[d] = between + 1;
    int64_t size = w->sizes[d] = hlo_node_attr_item(w->node, HLO_ATTR_window_dimensions, d, 1);
    int64_t padded = hlo_node_attr_item(pad, HLO_ATTR_edge_padding_low, d, 0);
    int64_t low = hlo_node_attr_item(w->node, HLO_ATTR_padding, 2 * d, 0);
    if (padded < 0 || padded > HLO_STRIDE_SPLIT_REMAINDERS_MAX || low < 0 ||
        low > HLO_STRIDE_SPLIT_REMAINDERS_MAX) {
      return false;
    }
    low = w->low[d] = padded + low;
    if (size < 1 || size > HLO_STRIDE_SPLIT_REMAINDERS_MAX ||
        hlo_node_attr_item(w->node, HLO_ATTR_window_strides, d, 1) != 1 ||
        hlo_node_attr_item(w->node, HLO_ATTR_window_dilations, d, 1) != 1 ||
        hlo_node_attr_item(w->node, HLO_ATTR_base_dilations, d, 1) != 1 ||
        hlo_node_attr_item(pad, HLO_ATTR_edge_padding_high, d, 0) < 0 ||
        hlo_node_attr_item(w->node, HLO_ATTR_padding, 2 * d + 1, 0) < 0) {
      return false;
    }
    w->first[d] = -floor_divide(low, stride);
    w->counts[d] = floor_divide(size - 1 - low + stride - 1, stride) - w->first[d] + 1;
    if (w->counts[d] < 1 || w->counts[d] > HLO_TUNING_SPREAD_MAX_TERMS) return false;
    terms *= w->counts[d];
    distances *= stride;
    if (terms > HLO_TUNING_SPREAD_MAX_TERMS || distances > HLO_STRIDE_SPLIT_REMAINDERS_MAX)
      return false;
  }
  return distances > 1 &&
         hlo_stride_split_init(w->node, w->node->results[0].type, strides, &w->split);
}

static bool read_windows(hlo_node_t* node, windows_t* w) {
  if (node->op != HLO_OP_reduce_window || node->extra || node->operand_count != 2) return false;
  const hlo_node_t* pad = hlo_node_operand(node, 0)->def;
  if (!pad || pad->op != HLO_OP_pad || pad->extra) return false;
  *w = (windows_t){
      .node = node, .input = hlo_node_operand(pad, 0), .zero = hlo_node_operand(node, 1)};
  const hlo_type_t *type = w->input->type, *result = node->results[0].type;
  w->rank = type->rank;
  return w->rank <= MAX_RANK && hlo_type_is_plain(type) && hlo_type_is_plain(result) &&
         type->dtype == result->dtype && hlo_type_element_count(type) > 0 &&
         hlo_type_element_count(result) > 0 && is_zero(w->zero) &&
         is_zero(hlo_node_operand(pad, 1)) && is_sum(node->regions[0]) && read_sizes(w, pad);
}

// ---- construction -------------------------------------------------------------------------------

// Fills in 1 for the remainders at which windows contain that element, else 0; false: all contain
// it.
static bool find_remainders(const windows_t* w, const int64_t* number, int64_t* values) {
  int64_t at[MAX_RANK] = {0};
  bool is_partial = false;
  uint32_t count = 0;
  do {
    bool is_inside = true;
    for (uint32_t d = 0; d < w->rank; ++d) {
      int64_t step = (w->first[d] + number[d]) * w->split.strides[d] + w->low[d] - at[d];
      is_inside &= step >= 0 && step < w->sizes[d];
    }
    values[count++] = is_inside;
    is_partial |= !is_inside;
  } while (hlo_stride_split_next(w->rank, w->split.strides, at));
  return is_partial;
}

static hlo_value_t* add_element(const windows_t* w, hlo_value_t* sum, const int64_t* number) {
  int64_t shift[MAX_RANK], values[HLO_STRIDE_SPLIT_REMAINDERS_MAX];
  for (uint32_t d = 0; d < w->rank; ++d) shift[d] = -(w->first[d] + number[d]);
  hlo_value_t* element = hlo_stride_split_value(&w->split, w->input, w->zero, shift);
  hlo_value_t* more = hlo_build_binary(w->node, HLO_OP_add, sum, element);
  if (!find_remainders(w, number, values)) return more;
  hlo_value_t* table = hlo_stride_split_table(&w->split, HLO_DTYPE_S32, values);
  const hlo_type_t* scalar = hlo_type_tensor(w->node->parent->module, HLO_DTYPE_S32, 0, NULL);
  hlo_value_t* one = hlo_build_integers(w->node, scalar, (int64_t[]){1});
  hlo_value_t* has_it = hlo_build_compare(w->node, HLO_COMPARISON_DIRECTION_EQ, table,
                                          hlo_stride_split_splat(&w->split, one));
  return hlo_build_select(w->node, has_it, more, sum);
}

static hlo_value_t* replace_windows(hlo_node_t* node) {
  windows_t windows;
  if (!read_windows(node, &windows)) return NULL;
  int64_t number[MAX_RANK] = {0};
  hlo_value_t* sum = hlo_stride_split_splat(&windows.split, windows.zero);
  do {
    sum = add_element(&windows, sum, number);
  } while (hlo_stride_split_next(windows.rank, windows.counts, number));
  return hlo_stride_split_join(&windows.split, sum);
}

hlo_status_t hlo_pass_spread_windows(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_windows);
}
