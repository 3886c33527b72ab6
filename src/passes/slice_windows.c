// SPDX-License-Identifier: Apache-2.0
// Pass slice_windows: rewrites windows into forms that vectorise. A reduce_window along the
// innermost dimension becomes ops of strided slices; for maxima and minima the other dimensions are
// reduced first. A transposed convolution with an output that ends between two multiples of its
// stride is computed up to the next multiple and sliced, since only then the zeros between the
// input's elements are skipped.
#include <string.h>

#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

enum { MAX_RANK = 16 };
static const int64_t ELEMENTS_MAX = INT64_MAX / 64, DISTANCE_MAX = 1 << 28;

static bool is_near(int64_t distance) {
  return distance >= -DISTANCE_MAX && distance <= DISTANCE_MAX;
}

// ---- windows along the innermost dimension ------------------------------------------------------

typedef struct windows {
  hlo_node_t* node;
  hlo_value_t *input, *init;
  uint32_t rank;
  hlo_op_t op;
  int64_t sizes[MAX_RANK], strides[MAX_RANK], dilations[MAX_RANK], low[MAX_RANK], high[MAX_RANK];
} windows_t;

static bool read_body(windows_t* w) {
  bool is_swapped;
  const hlo_node_t* op = hlo_region_binary_op(w->node->regions[0], &is_swapped);
  if (!op || is_swapped) return false;
  w->op = op->op;
  switch (op->op) {
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_add:
    case HLO_OP_multiply: return true;
    default: return false;
  }
}

static bool is_in_parts(const windows_t* w) {
  return w->op == HLO_OP_maximum || w->op == HLO_OP_minimum;
}

static bool read_sizes(windows_t* w) {
  const hlo_type_t *type = w->input->type, *result = w->node->results[0].type;
  uint32_t last = w->rank - 1;
  int64_t outer = 1;
  for (uint32_t d = 0; d < w->rank; ++d) {
    w->sizes[d] = hlo_node_attr_item(w->node, HLO_ATTR_window_dimensions, d, 1);
    w->strides[d] = hlo_node_attr_item(w->node, HLO_ATTR_window_strides, d, 1);
    w->dilations[d] = hlo_node_attr_item(w->node, HLO_ATTR_window_dilations, d, 1);
    w->low[d] = hlo_node_attr_item(w->node, HLO_ATTR_padding, 2 * d, 0);
    w->high[d] = hlo_node_attr_item(w->node, HLO_ATTR_padding, 2 * d + 1, 0);
    if (w->sizes[d] < 1 || w->sizes[d] > HLO_TUNING_SLICE_MAX_WINDOW ||
        w->sizes[d] > type->dims[d] ||
        hlo_node_attr_item(w->node, HLO_ATTR_base_dilations, d, 1) != 1 || result->dims[d] < 1 ||
        !is_near(w->strides[d]) || !is_near(w->dilations[d]) || !is_near(w->low[d]) ||
        !is_near(w->high[d])) {
      return false;
    }
    if (d < last) outer *= w->sizes[d];
    if (outer > HLO_TUNING_SLICE_MAX_WINDOW) return false;
  }
  // A window as long as the dimension is a running sum, which has faster implementations.
  return w->sizes[last] > 1 && w->sizes[last] < type->dims[last] && result->dims[last] > 1 &&
         (is_in_parts(w) || outer * w->sizes[last] <= HLO_TUNING_SLICE_MAX_WINDOW);
}

static bool read_windows(hlo_node_t* node, windows_t* w) {
  if (node->op != HLO_OP_reduce_window || node->extra || node->operand_count != 2) return false;
  *w = (windows_t){
      .node = node, .input = hlo_node_operand(node, 0), .init = hlo_node_operand(node, 1)};
  const hlo_type_t* type = w->input->type;
  w->rank = type->rank;
  return w->rank > 0 && w->rank <= MAX_RANK && hlo_type_is_plain(type) &&
         hlo_type_is_plain(node->results[0].type) && node->results[0].type->dtype == type->dtype &&
         w->init->type->dtype == type->dtype && hlo_type_element_count(type) < ELEMENTS_MAX &&
         read_body(w) && read_sizes(w);
}

static hlo_value_t* make_pad(const windows_t* w, hlo_value_t* value, uint32_t from, uint32_t end) {
  int64_t low[MAX_RANK] = {0}, high[MAX_RANK] = {0};
  memcpy(low + from, w->low + from, (end - from) * sizeof *low);
  memcpy(high + from, w->high + from, (end - from) * sizeof *high);
  return hlo_build_pad(w->node, value, w->init, low, high, NULL);
}

// Reduces the windows along dimensions from <= d < end: all of their positions in order.
static hlo_value_t* reduce_along(const windows_t* w, hlo_value_t* value, uint32_t from,
                                 uint32_t end) {
  hlo_module_t* module = w->node->parent->module;
  hlo_value_t* padded = make_pad(w, value, from, end);
  int64_t dims[MAX_RANK], steps[MAX_RANK], at[MAX_RANK] = {0}, positions = 1;
  for (uint32_t d = 0; d < w->rank; ++d) {
    bool is_here = d >= from && d < end;
    dims[d] = is_here ? w->node->results[0].type->dims[d] : value->type->dims[d];
    steps[d] = is_here ? w->strides[d] : 1;
    if (is_here) positions *= w->sizes[d];
  }
  const hlo_type_t* type = hlo_type_tensor(module, value->type->dtype, w->rank, dims);
  hlo_value_t* sum = hlo_build_broadcast(w->node, type, w->init, NULL);
  for (int64_t n = 0; n < positions && sum; ++n) {
    int64_t rest = n;
    for (uint32_t d = end; d-- > from;) {
      at[d] = rest % w->sizes[d] * w->dilations[d];
      rest /= w->sizes[d];
    }
    sum = hlo_build_binary(w->node, w->op, sum, hlo_build_slice(w->node, type, padded, at, steps));
  }
  return sum;
}

// Returns NULL when memory is exhausted, which the module records.
static hlo_value_t* make_slices(const windows_t* w) {
  uint32_t last = w->rank - 1;
  int64_t outer = 1;
  for (uint32_t d = 0; d < last; ++d) outer *= w->sizes[d] * w->strides[d];
  if (!is_in_parts(w) || outer == 1) return reduce_along(w, w->input, 0, w->rank);
  hlo_value_t* rows = reduce_along(w, w->input, 0, last);
  if (!rows) return NULL;
  if (w->strides[last] > (w->sizes[last] - 1) * w->dilations[last]) {
    return reduce_along(w, rows, last, w->rank);
  }
  // Several windows use each row, so rows are computed once.
  rows = hlo_build_node(w->node, HLO_OP_optimization_barrier, rows->type, 1, &rows, 0, NULL);
  return rows ? reduce_along(w, rows, last, w->rank) : NULL;
}

// ---- transposed convolutions --------------------------------------------------------------------

// Returns the number of elements that a spatial dimension of the output lacks to a multiple of the
// stride.
static int64_t missing_elements(const hlo_node_t* node, uint32_t s) {
  const hlo_type_t* type = node->results[0].type;
  int64_t dilation = hlo_node_attr_item(node, HLO_ATTR_lhs_dilation, s, 1);
  int64_t dim = hlo_node_attr_item(node, HLO_ATTR_output_spatial_dimensions, s, 0);
  if (dilation <= 1 || !is_near(hlo_node_attr_item(node, HLO_ATTR_padding, 2 * s + 1, 0)) ||
      hlo_node_attr_item(node, HLO_ATTR_window_strides, s, 1) != 1 ||
      hlo_node_attr_item(node, HLO_ATTR_rhs_dilation, s, 1) != 1 || dim + 1 >= type->rank ||
      type->dims[dim] < dilation) {
    return 0;
  }
  return (dilation - type->dims[dim] % dilation) % dilation;
}

static hlo_value_t* make_phases(hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = node->results[0].type;
  int64_t padding[2 * MAX_RANK], dims[MAX_RANK], zeros[MAX_RANK] = {0};
  for (uint32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[d];
  for (uint32_t s = 0; s + 2 < type->rank; ++s) {
    int64_t more = missing_elements(node, s);
    padding[2 * s] = hlo_node_attr_item(node, HLO_ATTR_padding, 2 * s, 0);
    padding[2 * s + 1] =
        // the padding is small, or nothing is added
        hlo_node_attr_item(node, HLO_ATTR_padding, 2 * s + 1, 0) + more;
    dims[hlo_node_attr_item(node, HLO_ATTR_output_spatial_dimensions, s, 0)] += more;
  }
  hlo_value_t* operands[] = {hlo_node_operand(node, 0), hlo_node_operand(node, 1)};
  hlo_value_t* whole =
      hlo_build_like(node, hlo_type_with_dims(module, type, type->rank, dims), operands);
  if (!whole) return NULL;
  hlo_node_set_attr(whole->def, HLO_ATTR_padding,
                    hlo_attr_matrix(module, type->rank - 2, 2, padding));
  return hlo_build_slice(node, type, whole, zeros, NULL);
}

static bool is_cut_convolution(const hlo_node_t* node) {
  if (node->op != HLO_OP_convolution || node->extra) return false;
  const hlo_type_t* type = node->results[0].type;
  if (type->rank > MAX_RANK || !hlo_type_is_plain(type) ||
      !hlo_type_is_plain(hlo_node_operand_type(node, 0)) ||
      !hlo_type_is_plain(hlo_node_operand_type(node, 1)) ||
      hlo_type_element_count(type) >= ELEMENTS_MAX) {
    return false;
  }
  for (uint32_t s = 0; s + 2 < type->rank; ++s) {
    if (missing_elements(node, s)) return true;
  }
  return false;
}

// -------------------------------------------------------------------------------------------------

static hlo_value_t* replace_windows(hlo_node_t* node) {
  windows_t windows;
  if (read_windows(node, &windows)) return make_slices(&windows);
  return is_cut_convolution(node) ? make_phases(node) : NULL;
}

hlo_status_t hlo_pass_slice_windows(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_windows);
}
