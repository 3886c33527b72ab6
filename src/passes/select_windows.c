// SPDX-License-Identifier: Apache-2.0
// Pass select_windows: turns a select_and_scatter with small windows, as in the gradient of max
// pooling, into selects that fuse. The first ones compute the position that each window selects,
// from one slice of the operand per position; then each element combines the windows that may
// contain it, in order. Dimensions of stride s are split into quotients and remainders by s, so
// that windows q, q - 1 ... cover the elements with quotient q.
#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/stride_split.h"

enum { MAX_RANK = HLO_STRIDE_SPLIT_RANK_MAX };

typedef struct windows {
  hlo_node_t* node;
  hlo_module_t* module;
  hlo_value_t *operand, *source, *init;
  uint32_t rank;
  hlo_stride_split_t split;  // of the operand by the windows' strides
  int64_t sizes[MAX_RANK];
  int64_t meets[MAX_RANK];    // windows along a dimension that may contain an element
  const hlo_node_t* compare;  // the body of select
  hlo_op_t scatter;
  bool is_scatter_swapped;   // the element is the first argument, the source the second
  const hlo_type_t* number;  // the window-shaped type of position numbers
} windows_t;

// ---- matching

static bool read_bodies(windows_t* w) {
  bool is_swapped;
  w->compare = hlo_region_binary_op(w->node->regions[0], &is_swapped);
  if (!w->compare || w->compare->op != HLO_OP_compare || is_swapped) return false;
  const hlo_node_t* combine = hlo_region_binary_op(w->node->regions[1], &w->is_scatter_swapped);
  w->scatter = combine ? combine->op : HLO_OP_COUNT;
  switch (w->scatter) {
    case HLO_OP_add:
    case HLO_OP_multiply:
    case HLO_OP_maximum:
    case HLO_OP_minimum: return true;
    default: return false;
  }
}

static bool is_unpadded(const hlo_node_t* node) {
  uint32_t count;
  const int64_t* padding = hlo_node_attr_ints(node, HLO_ATTR_padding, &count);
  for (uint32_t i = 0; padding && i < count; ++i) {
    if (padding[i]) return false;
  }
  return true;
}

static bool read_sizes(windows_t* w) {
  const int64_t* dims = w->operand->type->dims;
  int64_t positions = 1, strides[MAX_RANK];
  for (uint32_t d = 0; d < w->rank; ++d) {
    int64_t size = w->sizes[d] = hlo_node_attr_item(w->node, HLO_ATTR_window_dimensions, d, 1);
    int64_t stride = strides[d] = hlo_node_attr_item(w->node, HLO_ATTR_window_strides, d, 1);
    if (size < 1 || size > HLO_TUNING_SELECT_MAX_WINDOW || stride < 1 || size > dims[d] ||
        (dims[d] - size) / stride + 1 != w->source->type->dims[d]) {
      return false;
    }
    positions *= size;
    if (positions > HLO_TUNING_SELECT_MAX_WINDOW) return false;
    w->meets[d] = (size - 1) / stride + 1;
  }
  return hlo_stride_split_init(w->node, w->operand->type, strides, &w->split);
}

// Returns an integer type as wide as the elements.
static hlo_dtype_t number_dtype(hlo_dtype_t dtype) {
  switch (hlo_dtype_size_bytes(dtype)) {
    case 1: return HLO_DTYPE_S8;
    case 2: return HLO_DTYPE_S16;
    case 8: return HLO_DTYPE_S64;
    default: return HLO_DTYPE_S32;
  }
}

static bool read_windows(hlo_node_t* node, windows_t* w) {
  if (node->op != HLO_OP_select_and_scatter || node->extra || node->region_count != 2) return false;
  *w = (windows_t){.node = node,
                   .module = node->parent->module,
                   .operand = hlo_node_operand(node, 0),
                   .source = hlo_node_operand(node, 1),
                   .init = hlo_node_operand(node, 2)};
  const hlo_type_t *type = w->operand->type, *source = w->source->type;
  w->rank = type->rank;
  if (w->rank == 0 || w->rank > MAX_RANK || !hlo_type_is_plain(type) ||
      !hlo_type_is_plain(source) || source->rank != w->rank || source->dtype != type->dtype ||
      w->init->type->dtype != type->dtype || node->results[0].type != type ||
      type->dtype == HLO_DTYPE_PRED || hlo_type_element_count(source) == 0) {
    return false;
  }
  w->number = hlo_type_tensor(w->module, number_dtype(type->dtype), w->rank, source->dims);
  return w->number && is_unpadded(node) && read_bodies(w) && read_sizes(w);
}

// ---- construction -------------------------------------------------------------------------------

static hlo_value_t* number(const windows_t* w, int64_t value) {
  return hlo_build_integers(w->node, hlo_type_tensor(w->module, w->number->dtype, 0, NULL), &value);
}

static hlo_value_t* splat(const windows_t* w, int64_t value) {
  return hlo_build_broadcast(w->node, w->number, number(w, value), NULL);
}

// Returns the elements at one position of all windows.
static hlo_value_t* slice_at(const windows_t* w, const int64_t* insertion_point) {
  return hlo_build_slice(w->node, w->source->type, w->operand, insertion_point, w->split.strides);
}

// Returns the numbers of the selected positions.
static hlo_value_t* select_positions(const windows_t* w) {
  int64_t insertion_point[MAX_RANK] = {0}, count = 0;
  const hlo_type_t* pred = hlo_type_with_dtype(w->module, w->source->type, HLO_DTYPE_PRED);
  hlo_value_t *kept = slice_at(w, insertion_point), *selected = splat(w, 0);
  while (hlo_stride_split_next(w->rank, w->sizes, insertion_point)) {
    hlo_value_t* other = slice_at(w, insertion_point);
    hlo_value_t* stays =
        hlo_build_node(w->node, HLO_OP_compare, pred, 2, (hlo_value_t*[]){kept, other}, 0, NULL);
    if (stays) hlo_node_copy_attrs(stays->def, w->compare);
    kept = hlo_build_select(w->node, stays, kept, other);
    selected = hlo_build_select(w->node, stays, selected, splat(w, ++count));
  }
  // Overlapping windows use the numbers several times, so they are computed once.
  bool is_shared = false;
  for (uint32_t d = 0; d < w->rank; ++d) is_shared |= w->meets[d] > 1;
  if (!is_shared) return selected;
  return hlo_build_node(w->node, HLO_OP_optimization_barrier, w->number, 1, &selected, 0, NULL);
}

// Returns, per remainder, the position of the element in the window `back` before its quotient; -1:
// the window does not contain it.
static hlo_value_t* position_of(const windows_t* w, const int64_t* back) {
  int64_t values[HLO_STRIDE_SPLIT_REMAINDERS_MAX], at[MAX_RANK] = {0};
  uint32_t count = 0;
  do {
    int64_t insertion_point = 0;
    bool is_inside = true;
    for (uint32_t d = 0; d < w->rank; ++d) {
      int64_t step = at[d] + back[d] * w->split.strides[d];
      is_inside &= step < w->sizes[d];
      insertion_point = insertion_point * w->sizes[d] + step;
    }
    values[count++] = is_inside ? insertion_point : -1;
  } while (hlo_stride_split_next(w->rank, w->split.strides, at));
  return hlo_stride_split_table(&w->split, w->number->dtype, values);
}

// Combines the elements with the sources of the windows number `back` before their quotients.
static hlo_value_t* scatter_from(const windows_t* w, hlo_value_t* elements, hlo_value_t* selected,
                                 const int64_t* back) {
  if (!elements) return NULL;
  hlo_value_t* insertion_point =
      hlo_stride_split_value(&w->split, selected, number(w, HLO_TUNING_SELECT_MAX_WINDOW), back);
  hlo_value_t* is_here = hlo_build_compare(w->node, HLO_COMPARISON_DIRECTION_EQ, insertion_point,
                                           position_of(w, back));
  hlo_value_t* values[] = {hlo_stride_split_value(&w->split, w->source, w->init, back), elements};
  if (w->is_scatter_swapped) {
    values[1] = values[0];
    values[0] = elements;
  }
  hlo_value_t* changed = hlo_build_binary(w->node, w->scatter, values[0], values[1]);
  return hlo_build_select(w->node, is_here, changed, elements);
}

// Returns NULL when memory is exhausted, which the module records.
static hlo_value_t* make_choices(const windows_t* w) {
  int64_t from_last[MAX_RANK] = {0}, back[MAX_RANK];
  hlo_value_t *selected = select_positions(w),
              *elements = hlo_stride_split_splat(&w->split, w->init);
  do {
    for (uint32_t d = 0; d < w->rank; ++d) back[d] = w->meets[d] - 1 - from_last[d];
    elements = scatter_from(w, elements, selected, back);
  } while (hlo_stride_split_next(w->rank, w->meets, from_last));
  return hlo_stride_split_join(&w->split, elements);
}

static hlo_value_t* replace_select(hlo_node_t* node) {
  windows_t windows;
  return read_windows(node, &windows) ? make_choices(&windows) : NULL;
}

hlo_status_t hlo_pass_select_windows(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_select);
}
