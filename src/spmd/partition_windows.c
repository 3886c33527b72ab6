// SPDX-License-Identifier: Apache-2.0
// Ops that read neighbouring elements, along divided dimensions: slices, pads, reversals,
// concatenations, reductions over windows and their gradients, convolutions (see partition_impl.h).
//
// A device computes its part of the result as propagation decided. It gets the elements that this
// part needs by an exchange, in which padding becomes elements like others, and applies the same op
// to them.
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "spmd/partition_impl.h"

// A window of a dimension, as of reduce_window: the others are special cases.
typedef struct window {
  int64_t size, stride, in_dilation, dilation, low;
} window_t;

// Computes the elements that the first part needs, of which there are `reach` with padding, and how
// far they move from part to part; `false` if that is no number of elements.
static bool find_range(const window_t* w, int64_t reach, int64_t step, hlo_spmd_window_t* dim) {
  if (step % w->in_dilation) return false;
  // The first element at or after the first padded position of part 0, and its distance from there.
  const int64_t first = hlo_divide_up(-w->low, w->in_dilation);
  const int64_t distance = w->low + first * w->in_dilation;
  if (distance >= reach) return false;
  dim->exchange.start = first;
  dim->exchange.step = step / w->in_dilation;
  dim->exchange.count = (reach - 1 - distance) / w->in_dilation + 1;
  dim->low = distance;
  dim->high = reach - distance - ((dim->exchange.count - 1) * w->in_dilation + 1);
  return true;
}

// The same for elements that padding separates, of parts that do not all begin alike: the local op
// computes more than the part.
static bool find_padded_ranges(hlo_op_plan_t* plan, const window_t* w, int64_t count, int64_t parts,
                               hlo_spmd_window_t* dim) {
  hlo_arena_t* arena = &plan->p->spmd->arena;
  int64_t* starts = hlo_arena_array(arena, (size_t)parts, sizeof *starts);
  int64_t* out_starts = hlo_arena_array(arena, (size_t)parts, sizeof *out_starts);
  if (plan->node->op != HLO_OP_pad || !starts || !out_starts) return false;
  dim->low = w->in_dilation - 1;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t position = i * count - w->low;
    starts[i] = hlo_divide_up(position, w->in_dilation);
    out_starts[i] = dim->low - (starts[i] * w->in_dilation - position);
  }
  dim->exchange.starts = starts;
  dim->exchange.count = (count - 1) / w->in_dilation + 1;
  dim->high = count - ((dim->exchange.count - 1) * w->in_dilation + 1);
  dim->out_starts = out_starts;
  dim->out_count = count;
  return true;
}

// Gives the axes that propagation decided for a dimension of the result to the plan, if no factor
// has them.
static bool take_axes(hlo_op_plan_t* plan, uint32_t out_dim, hlo_dim_axes_t* axes) {
  hlo_partitioner_t* p = plan->p;
  const hlo_value_t* result = &plan->node->results[0];
  const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, result);
  if (!spec) return false;
  const uint8_t* list;
  axes->count = hlo_spec_dim(spec, out_dim, &list);
  memcpy(axes->axes, list, axes->count);
  if (plan->used & hlo_axis_set(list, axes->count)) return false;
  const int64_t parts = hlo_grid_size(p->grid, list, axes->count);
  const int64_t size = result->type->dims[out_dim];
  return parts > 1 && size <= INT32_MAX - parts;
}

// Divides a dimension of an operand by the axes of an exchange if it is divided already, in any
// way, and can be; returns true if it is now.
static bool divide_operand(hlo_op_plan_t* plan, uint32_t operand, uint32_t dim,
                           const hlo_dim_axes_t* axes) {
  hlo_partitioner_t* p = plan->p;
  const hlo_value_t* value = hlo_node_operand(plan->node, operand);
  const hlo_spec_t* decided = hlo_spmd_value_spec(p->spmd, value);
  const bool is_divided = decided && hlo_spec_parts(p->grid, decided, dim) > 1;
  plan->specs[operand] =
      hlo_spec_with_dim(p, plan->specs[operand], dim, axes->axes, is_divided ? axes->count : 0);
  return is_divided;
}

static void divide_results(hlo_op_plan_t* plan, uint32_t dim, const hlo_dim_axes_t* axes) {
  const uint32_t operands = plan->node->operand_count;
  for (uint32_t i = 0; i < plan->node->result_count; ++i) {
    plan->specs[operands + i] =
        hlo_spec_with_dim(plan->p, plan->specs[operands + i], dim, axes->axes, axes->count);
  }
  plan->used |= hlo_axis_set(axes->axes, axes->count);
}

// Plans the exchange of one dimension of the first `inputs` operands, which are alike.
static void plan_window(hlo_op_plan_t* plan, uint32_t inputs, uint32_t in_dim, uint32_t out_dim,
                        const window_t* window) {
  hlo_spmd_window_t dim = {.exchange = {.dim = in_dim}, .out_dim = out_dim};
  const hlo_type_t *in = hlo_node_operand_type(plan->node, 0), *out = plan->node->results[0].type;
  hlo_dim_exchange_t* x = &dim.exchange;
  if (!take_axes(plan, out_dim, &x->axes) || in->dims[in_dim] > INT32_MAX) return;
  const int64_t parts = hlo_grid_size(plan->p->grid, x->axes.axes, x->axes.count);
  const int64_t count = hlo_divide_up(out->dims[out_dim], parts);
  const int64_t reach = (count - 1) * window->stride + (window->size - 1) * window->dilation + 1;
  if (!find_range(window, reach, count * window->stride, &dim) &&
      !find_padded_ranges(plan, window, count, parts, &dim)) {
    return;
  }
  x->size = x->valid_high = in->dims[in_dim];
  x->is_divided = true;
  for (uint32_t i = 0; i < inputs; ++i) x->is_divided &= divide_operand(plan, i, in_dim, &x->axes);
  for (uint32_t i = 0; !x->is_divided && i < inputs; ++i) {
    plan->specs[i] = hlo_spec_with_dim(plan->p, plan->specs[i], in_dim, NULL, 0);
  }
  divide_results(plan, out_dim, &x->axes);
  plan->windows[plan->window_count++] = dim;
}

static void plan_slice(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  const hlo_type_t *in = hlo_node_operand_type(node, 0), *out = node->results[0].type;
  for (uint32_t d = 0; d < in->rank; ++d) {
    if (in->dims[d] == out->dims[d]) continue;
    const window_t window = {1, hlo_node_attr_item(node, HLO_ATTR_strides, d, 1), 1, 1,
                             -hlo_node_attr_item(node, HLO_ATTR_start_indices, d, 0)};
    plan_window(plan, 1, d, d, &window);
  }
}

static void plan_pad(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  const uint32_t rank = node->results[0].type->rank;
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t low = hlo_node_attr_item(node, HLO_ATTR_edge_padding_low, d, 0);
    const int64_t high = hlo_node_attr_item(node, HLO_ATTR_edge_padding_high, d, 0);
    const int64_t between = hlo_node_attr_item(node, HLO_ATTR_interior_padding, d, 0);
    const window_t window = {1, 1, between + 1, 1, low};
    if (low || high || between) plan_window(plan, 1, d, d, &window);
  }
}

static void plan_reverse(hlo_op_plan_t* plan) {
  const hlo_ints_t dims = hlo_node_ints(plan->node, HLO_ATTR_dimensions);
  const hlo_type_t* type = plan->node->results[0].type;
  for (uint32_t i = 0; i < dims.count; ++i) {
    const uint32_t d = (uint32_t)dims.values[i], before = plan->window_count;
    plan_window(plan, 1, d, d, &(window_t){1, 1, 1, 1, 0});
    if (plan->window_count == before) continue;
    // From the other end.
    hlo_dim_exchange_t* x = &plan->windows[before].exchange;
    x->start = type->dims[d] - x->count;
    x->step = -x->count;
  }
}

// A window that is as large as the dimension: the devices reduce their parts, and then what comes
// before (or after) them.
static bool plan_cumulative(hlo_op_plan_t* plan, uint32_t dim, const window_t* window,
                            int64_t high) {
  const hlo_node_t* node = plan->node;
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  const int64_t size = type->dims[dim];
  const bool is_from_start = window->low == size - 1 && high == 0;
  const bool is_from_end = window->low == 0 && high == size - 1;
  if (plan->cumulative.is_used || window->size != size || window->stride != 1 ||
      window->in_dilation != 1 || window->dilation != 1 || (!is_from_start && !is_from_end)) {
    return false;
  }
  const hlo_op_t op =
      node->operand_count == 2 ? hlo_region_reducer(node->regions[0]) : HLO_OP_COUNT;
  // Identities are built from doubles, which the largest integers of 8 bytes are not.
  const bool is_double = hlo_dtype_size_bytes(type->dtype) <= 4 ||
                         hlo_dtype_is_float(type->dtype) || op == HLO_OP_maximum;
  const bool is_exact =
      op == HLO_OP_add || op == HLO_OP_multiply ||
      ((op == HLO_OP_maximum || op == HLO_OP_minimum) && is_double);  // identities are doubles
  hlo_cumulative_t cumulative = {.is_used = true, .is_from_end = is_from_end, .dim = dim};
  cumulative.is_general = op == HLO_OP_COUNT;
  if (cumulative.is_general) {
    if (node->operand_count != 2 || node->regions[0]->arg_count != 2) return false;
  } else if (!is_exact || !hlo_is_identity(op, hlo_node_operand(node, 1))) {
    return false;
  }
  if (!take_axes(plan, dim, &cumulative.axes)) return false;
  if (!divide_operand(plan, 0, dim, &cumulative.axes)) return false;
  divide_results(plan, dim, &cumulative.axes);
  plan->cumulative = cumulative;
  return true;
}

static void plan_reduce_window(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  const uint32_t rank = node->results[0].type->rank;
  for (uint32_t d = 0; d < rank; ++d) {
    const window_t window = {hlo_node_attr_item(node, HLO_ATTR_window_dimensions, d, 1),
                             hlo_node_attr_item(node, HLO_ATTR_window_strides, d, 1),
                             hlo_node_attr_item(node, HLO_ATTR_base_dilations, d, 1),
                             hlo_node_attr_item(node, HLO_ATTR_window_dilations, d, 1),
                             hlo_ints_at(hlo_node_ints(node, HLO_ATTR_padding), 2 * d, 0)};
    const int64_t high = hlo_ints_at(hlo_node_ints(node, HLO_ATTR_padding), 2 * d + 1, 0);
    const bool is_trivial =
        window.size == 1 && window.stride == 1 && window.in_dilation == 1 && !window.low && !high;
    if (is_trivial || plan_cumulative(plan, d, &window, high)) continue;
    plan_window(plan, node->operand_count / 2, d, d, &window);
  }
}

// Divides a window as propagation decided for operand 1, as of the gradient of a kernel, whose
// windows are all of an image: each device multiplies the elements that meet its part.
static void plan_window_parts(hlo_op_plan_t* plan, uint32_t in_dim, uint32_t kernel_dim,
                              uint32_t out_dim, const window_t* window) {
  hlo_partitioner_t* p = plan->p;
  hlo_spmd_window_t dim = {.exchange = {.dim = in_dim}, .out_dim = out_dim};
  const hlo_type_t *in = hlo_node_operand_type(plan->node, 0), *out = plan->node->results[0].type;
  const hlo_value_t* kernel = hlo_node_operand(plan->node, 1);
  const hlo_spec_t* spec =
      hlo_spec_even(p->spmd, hlo_spmd_value_spec(p->spmd, kernel), kernel->type);
  hlo_dim_exchange_t* x = &dim.exchange;
  const uint8_t* axes;
  if (!spec || in->dims[in_dim] > INT32_MAX) return;
  x->axes.count = hlo_spec_dim(spec, kernel_dim, &axes);
  memcpy(x->axes.axes, axes, x->axes.count);
  const hlo_axis_set_t set = hlo_axis_set(axes, x->axes.count);
  if (!set || (plan->used & set)) return;
  const int64_t count = window->size / hlo_grid_size(p->grid, axes, x->axes.count);
  const int64_t reach =
      (out->dims[out_dim] - 1) * window->stride + (count - 1) * window->dilation + 1;
  if (!find_range(window, reach, count * window->dilation, &dim)) return;
  x->size = x->valid_high = in->dims[in_dim];
  x->is_divided = divide_operand(plan, 0, in_dim, &x->axes);
  plan->specs[1] = hlo_spec_with_dim(p, plan->specs[1], kernel_dim, axes, x->axes.count);
  plan->used |= set;
  plan->sums |= set;
  plan->windows[plan->window_count++] = dim;
}

static void plan_convolution(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  const hlo_ints_t in = hlo_node_ints(node, HLO_ATTR_input_spatial_dimensions);
  const hlo_ints_t kernel = hlo_node_ints(node, HLO_ATTR_kernel_spatial_dimensions);
  const hlo_ints_t out = hlo_node_ints(node, HLO_ATTR_output_spatial_dimensions);
  const hlo_attr_t* reversal = hlo_node_attr(node, HLO_ATTR_window_reversal);
  for (uint32_t i = 0; i < in.count; ++i) {
    const uint32_t in_dim = (uint32_t)in.values[i], kernel_dim = (uint32_t)kernel.values[i];
    const window_t window = {hlo_node_operand_type(node, 1)->dims[kernel_dim],
                             hlo_node_attr_item(node, HLO_ATTR_window_strides, i, 1),
                             hlo_node_attr_item(node, HLO_ATTR_lhs_dilation, i, 1),
                             hlo_node_attr_item(node, HLO_ATTR_rhs_dilation, i, 1),
                             hlo_ints_at(hlo_node_ints(node, HLO_ATTR_padding), 2 * i, 0)};
    const bool is_whole = hlo_spec_parts(plan->p->grid, plan->specs[0], in_dim) == 1 &&
                          hlo_spec_parts(plan->p->grid, plan->specs[1], kernel_dim) == 1;
    const uint32_t before = plan->window_count;
    const bool is_reversed = reversal && i < reversal->count && reversal->values[i];
    if (is_whole) plan_window(plan, 1, in_dim, (uint32_t)out.values[i], &window);
    if (is_whole && plan->window_count == before && !is_reversed) {
      plan_window_parts(plan, in_dim, kernel_dim, (uint32_t)out.values[i], &window);
    }
    if (plan->window_count > before) plan->windows[before].spatial = i;
  }
}

// One dimension of the windows of a select_and_scatter.
typedef struct scattered_dim {
  int64_t size, stride, low, high;
} scattered_dim_t;

// Finds the elements of the first device's windows that are padding, and those of the last one's;
// returns false if other devices have such windows, too.
static bool find_edges(const scattered_dim_t* s, int64_t parts, hlo_spmd_window_t* dim) {
  const hlo_dim_exchange_t* x = &dim->exchange;
  if (!s->low && !s->high) return true;
  const int64_t part = dim->out_count, start = x->starts[0], end = start + x->count;
  if (part * parts != x->size || start < -part || end > 2 * part) return false;
  for (int64_t i = 1; i < parts; ++i) {
    if (x->starts[i] - x->starts[i - 1] != part) return false;
  }
  if (s->low) dim->low = -start;
  if (s->high && end > part) dim->high = end - part;
  return true;
}

// Finds the windows that reach into each part, and their elements.
static bool find_scattered_ranges(hlo_op_plan_t* plan, const scattered_dim_t* s, int64_t parts,
                                  hlo_spmd_window_t* dim) {
  hlo_arena_t* arena = &plan->p->spmd->arena;
  const int64_t part = dim->out_count;
  int64_t* windows = hlo_arena_array(arena, (size_t)parts, sizeof *windows);
  int64_t* starts = hlo_arena_array(arena, (size_t)parts, sizeof *starts);
  int64_t* out_starts = hlo_arena_array(arena, (size_t)parts, sizeof *out_starts);
  if (!windows || !starts || !out_starts) return false;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t origin = i * part;
    int64_t first = hlo_divide_up(origin + s->low + 1 - s->size, s->stride);
    if (first * s->stride - s->low > origin) --first;  // elements before the first window
    const int64_t count = (origin + part - 1 + s->low) / s->stride - first + 1;
    windows[i] = first;
    starts[i] = first * s->stride - s->low;
    out_starts[i] = origin - starts[i];
    if (count > dim->source.count) dim->source.count = count;
  }
  dim->exchange.count = (dim->source.count - 1) * s->stride + s->size;
  for (int64_t i = 0; i < parts; ++i) {  // elements after the last window
    const int64_t count = out_starts[i] + part;
    if (count > dim->exchange.count) dim->exchange.count = count;
  }
  dim->source.starts = windows;
  dim->exchange.starts = starts;
  dim->out_starts = out_starts;
  return true;
}

// Plans one dimension: a device computes the windows that reach into its part, with sources that
// change nothing where there are no windows. Returns true if windows reach over its ends.
static bool plan_scattered_dim(hlo_op_plan_t* plan, uint32_t d, const scattered_dim_t* s) {
  hlo_spmd_window_t dim = {.exchange = {.dim = d}, .out_dim = d, .has_source = true};
  const int64_t size = hlo_node_operand_type(plan->node, 0)->dims[d];
  const int64_t windows = hlo_node_operand_type(plan->node, 1)->dims[d];
  hlo_dim_axes_t axes;
  if (!take_axes(plan, d, &axes)) return false;
  const int64_t parts = hlo_grid_size(plan->p->grid, axes.axes, axes.count);
  dim.exchange = (hlo_dim_exchange_t){.dim = d, .axes = axes, .size = size, .valid_high = size};
  dim.source = (hlo_dim_exchange_t){.dim = d, .axes = axes, .size = windows, .valid_high = windows};
  dim.out_count = hlo_divide_up(size, parts);
  if (!find_scattered_ranges(plan, s, parts, &dim) || !find_edges(s, parts, &dim)) return false;
  dim.exchange.is_divided = divide_operand(plan, 0, d, &axes);
  dim.source.is_divided = divide_operand(plan, 1, d, &axes);
  divide_results(plan, d, &axes);
  plan->windows[plan->window_count++] = dim;
  return dim.low || dim.high;
}

static void plan_select_and_scatter(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  const hlo_type_t* type = node->results[0].type;
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  bool has_edges = false;  // of one dimension
  if (!hlo_has_identity(hlo_region_reducer(node->regions[1]), type)) return;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const scattered_dim_t dim = {hlo_node_attr_item(node, HLO_ATTR_window_dimensions, d, 1),
                                 hlo_node_attr_item(node, HLO_ATTR_window_strides, d, 1),
                                 hlo_ints_at(padding, 2 * d, 0),
                                 hlo_ints_at(padding, 2 * d + 1, 0)};
    const bool is_trivial = dim.size == 1 && dim.stride == 1 && !dim.low && !dim.high;
    if (is_trivial || dim.low < 0 || dim.high < 0) continue;
    if (!has_edges || (!dim.low && !dim.high)) has_edges |= plan_scattered_dim(plan, d, &dim);
  }
}

hlo_status_t hlo_plan_windows(hlo_op_plan_t* plan) {
  static const struct {
    hlo_op_t op;
    void (*plan)(hlo_op_plan_t* plan);
  } kPlans[] = {
      {HLO_OP_slice, plan_slice},
      {HLO_OP_pad, plan_pad},
      {HLO_OP_reverse, plan_reverse},
      {HLO_OP_reduce_window, plan_reduce_window},
      {HLO_OP_convolution, plan_convolution},
      {HLO_OP_select_and_scatter, plan_select_and_scatter},
  };
  for (size_t i = 0; i < sizeof kPlans / sizeof *kPlans; ++i) {
    if (kPlans[i].op != plan->node->op) continue;
    const uint32_t rank = plan->node->results[0].type->rank;
    plan->windows = hlo_arena_array(&plan->p->spmd->arena, rank, sizeof *plan->windows);
    if (plan->windows) kPlans[i].plan(plan);
  }
  return hlo_partitioner_status(plan->p);
}

// ---- local operands and attributes

// Returns what stands for padding of input i; NULL if no element is outside.
static hlo_value_t* build_fill(hlo_op_plan_t* plan, uint32_t i, hlo_value_t* const* operands) {
  const hlo_node_t* node = plan->node;
  if (node->op == HLO_OP_pad) return operands[1];
  if (node->op == HLO_OP_reduce_window) return operands[node->operand_count / 2 + i];
  if (node->op != HLO_OP_convolution) return NULL;
  const hlo_type_t* scalar = hlo_type_with_dims(plan->p->module, operands[0]->type, 0, NULL);
  return scalar ? hlo_build_splat(plan->p->at, scalar, 0) : NULL;
}

static hlo_status_t fit_sources(hlo_op_plan_t* plan, hlo_value_t** operands) {
  hlo_partitioner_t* p = plan->p;
  const hlo_op_t op = hlo_region_reducer(plan->node->regions[1]);
  for (uint32_t k = 0; k < plan->window_count; ++k) {
    const hlo_type_t* scalar = hlo_type_with_dims(p->module, operands[1]->type, 0, NULL);
    hlo_value_t* nothing = hlo_build_identity(p, op, scalar);
    operands[1] =
        nothing ? hlo_build_exchange(p, operands[1], &plan->windows[k].source, nothing) : NULL;
    if (!operands[1]) return hlo_partitioner_status(p);
  }
  return hlo_ok();
}

hlo_status_t hlo_fit_windows(hlo_op_plan_t* plan, hlo_value_t** operands) {
  const hlo_node_t* node = plan->node;
  const uint32_t inputs = node->op == HLO_OP_reduce_window ? node->operand_count / 2 : 1;
  if (plan->cumulative.is_used) {
    plan->cumulative.init = operands[1];
    HLO_TRY(hlo_mask_cumulative(plan, operands));
  }
  for (uint32_t i = 0; i < inputs && plan->window_count; ++i) {
    hlo_value_t* fill = build_fill(plan, i, operands);
    for (uint32_t k = 0; k < plan->window_count; ++k) {
      operands[i] = hlo_build_exchange(plan->p, operands[i], &plan->windows[k].exchange, fill);
    }
    if (!operands[i]) return hlo_partitioner_status(plan->p);
  }
  return node->op == HLO_OP_select_and_scatter ? fit_sources(plan, operands) : hlo_ok();
}

// Replaces item `at` of a list of `count` integers; absent items are `fallback`.
static void set_item(hlo_partitioner_t* p, hlo_node_t* local, hlo_attr_id_t id, uint32_t count,
                     uint32_t at, int64_t fallback, int64_t value) {
  int64_t values[2 * HLO_RANK_MAX];
  const hlo_ints_t old = hlo_node_ints(local, id);
  for (uint32_t i = 0; i < count; ++i) values[i] = hlo_ints_at(old, i, fallback);
  values[at] = value;
  hlo_node_set_attr(local, id,
                    id == HLO_ATTR_padding ? hlo_attr_matrix(p->module, count / 2, 2, values)
                                           : hlo_attr_ints(p->module, count, values));
}

const hlo_type_t* hlo_window_result_type(const hlo_op_plan_t* plan, hlo_value_t* const* operands,
                                         const hlo_type_t* type) {
  const hlo_node_t* node = plan->node;
  if (node->op == HLO_OP_select_and_scatter) return operands[0]->type;
  for (uint32_t k = 0; type && k < plan->window_count; ++k) {
    const hlo_spmd_window_t* w = &plan->windows[k];
    if (!w->out_starts) continue;
    const int64_t between = hlo_node_attr_item(node, HLO_ATTR_interior_padding, w->out_dim, 0);
    type = hlo_type_with_dim(plan->p->module, type, w->out_dim,
                             w->low + (w->exchange.count - 1) * (between + 1) + 1 + w->high);
  }
  return type;
}

void hlo_fit_window_attrs(hlo_op_plan_t* plan, hlo_node_t* local) {
  hlo_partitioner_t* p = plan->p;
  if (!plan->window_count && !plan->cumulative.is_used) return;
  const uint32_t rank = local->results[0].type->rank;
  if (plan->cumulative.is_used) {
    const uint32_t d = plan->cumulative.dim;
    const int64_t size = local->results[0].type->dims[d];
    set_item(p, local, HLO_ATTR_window_dimensions, rank, d, 1, size);
    set_item(p, local, HLO_ATTR_padding, 2 * rank, 2 * d + plan->cumulative.is_from_end, 0,
             size - 1);
  }
  for (uint32_t k = 0; k < plan->window_count; ++k) {
    const hlo_spmd_window_t* w = &plan->windows[k];
    const uint32_t d = w->exchange.dim;
    switch (local->op) {
      case HLO_OP_slice:
        set_item(p, local, HLO_ATTR_start_indices, rank, d, 0, 0);
        set_item(p, local, HLO_ATTR_limit_indices, rank, d, 0, w->exchange.count);
        break;
      case HLO_OP_pad:
        set_item(p, local, HLO_ATTR_edge_padding_low, rank, d, 0, w->low);
        set_item(p, local, HLO_ATTR_edge_padding_high, rank, d, 0, w->high);
        break;
      case HLO_OP_select_and_scatter:
        if (!hlo_node_attr(local, HLO_ATTR_padding)) break;
        set_item(p, local, HLO_ATTR_padding, 2 * rank, 2 * d, 0, 0);
        set_item(p, local, HLO_ATTR_padding, 2 * rank, 2 * d + 1, 0, 0);
        break;
      case HLO_OP_reduce_window:
      case HLO_OP_convolution: {
        const bool is_conv = local->op == HLO_OP_convolution;
        const uint32_t at = is_conv ? w->spatial : d, count = 2 * (is_conv ? rank - 2 : rank);
        set_item(p, local, HLO_ATTR_padding, count, 2 * at, 0, w->low);
        set_item(p, local, HLO_ATTR_padding, count, 2 * at + 1, 0, w->high);
        break;
      }
      default: break;
    }
  }
}

// ---- results

// Returns what a device's own elements have in all, of every device, and the initial value where
// they do not come before this device's.
static hlo_value_t* get_totals(hlo_op_plan_t* plan, hlo_value_t* result, hlo_op_t op) {
  hlo_partitioner_t* p = plan->p;
  const hlo_cumulative_t* c = &plan->cumulative;
  const int64_t parts = hlo_grid_size(p->grid, c->axes.axes, c->axes.count);
  hlo_value_t* total =
      hlo_slice_dim(p, result, c->dim, c->is_from_end ? 0 : result->type->dims[c->dim] - 1, 1);
  hlo_value_t* totals = hlo_build_all_gather(p, total, c->dim, c->axes.axes, c->axes.count);
  if (!totals) return NULL;
  // Positions are counted from the device's own total.
  const hlo_dim_exchange_t range = {.dim = c->dim, .axes = c->axes, .step = -1, .count = parts};
  hlo_value_t* mask = hlo_build_range_mask(p, &range, totals->type, c->is_from_end ? 1 : INT64_MIN,
                                           c->is_from_end ? INT64_MAX : 0);
  hlo_value_t* nothing = c->is_general ? hlo_build_broadcast(p->at, totals->type, c->init, NULL)
                                       : hlo_build_identity(p, op, totals->type);
  return mask && nothing ? hlo_build_select(p->at, mask, totals, nothing) : NULL;
}

// Builds an op whose body is a copy of another one.
static hlo_value_t* build_with_body(hlo_op_plan_t* plan, hlo_op_t op, const hlo_type_t* type,
                                    hlo_value_t* const* operands, uint32_t dim_count,
                                    const int64_t* dims, const hlo_region_t* body) {
  hlo_partitioner_t* p = plan->p;
  const hlo_named_attr_t attr = {HLO_ATTR_dimensions, hlo_attr_ints(p->module, dim_count, dims)};
  hlo_node_t* node = hlo_node_create(p->module, &(hlo_node_spec_t){.op = op,
                                                                   .loc = p->at->loc,
                                                                   .operand_count = 2,
                                                                   .operands = operands,
                                                                   .attr_count = 1,
                                                                   .attrs = &attr,
                                                                   .region_count = 1,
                                                                   .result_count = 1,
                                                                   .result_types = &type});
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(p->at, node);
  hlo_status_t status = hlo_copy_body(p, node, body);
  const bool is_copied = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_copied ? &node->results[0] : NULL;
}

// Combines the totals along the dimension.
static hlo_value_t* reduce_totals(hlo_op_plan_t* plan, hlo_value_t* totals, hlo_op_t op,
                                  const hlo_region_t* body) {
  hlo_partitioner_t* p = plan->p;
  const int64_t dim = plan->cumulative.dim;
  if (!plan->cumulative.is_general) {
    hlo_value_t* nothing = hlo_build_identity(p, op, totals->type);
    const hlo_attr_t* literal = nothing ? hlo_node_attr(nothing->def, HLO_ATTR_value) : NULL;
    if (!literal) return NULL;
    const double init = hlo_dtype_load_double(totals->type->dtype, literal->literal->data);
    return hlo_build_reduce(p->at, op, totals, init, 1, &dim);
  }
  int64_t dims[HLO_RANK_MAX];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < totals->type->rank; ++d) {
    if (d != dim) dims[rank++] = totals->type->dims[d];
  }
  const hlo_type_t* type = hlo_type_with_dims(p->module, totals->type, rank, dims);
  hlo_value_t* operands[] = {totals, plan->cumulative.init};
  return type ? build_with_body(plan, HLO_OP_reduce, type, operands, 1, &dim, body) : NULL;
}

// Combines a cumulative result with the totals of the devices before this one.
static hlo_value_t* add_totals(hlo_op_plan_t* plan, hlo_value_t* result) {
  hlo_partitioner_t* p = plan->p;
  const hlo_cumulative_t* c = &plan->cumulative;
  const hlo_region_t* body = result->def->regions[0];
  const hlo_op_t op = hlo_region_reducer(body);
  const hlo_type_t* type = result->type;
  hlo_value_t* totals = get_totals(plan, result, op);
  hlo_value_t* before = totals ? reduce_totals(plan, totals, op, body) : NULL;
  int64_t along[HLO_RANK_MAX];
  for (uint32_t d = 0; d + 1 < type->rank; ++d) along[d] = d < c->dim ? d : d + 1;
  before = before ? hlo_build_broadcast(p->at, type, before, along) : NULL;
  if (!before) return NULL;
  if (!c->is_general) return hlo_build_binary(p->at, op, before, result);
  hlo_value_t* operands[] = {c->is_from_end ? result : before, c->is_from_end ? before : result};
  for (uint32_t d = 0; d < type->rank; ++d) along[d] = d;
  return build_with_body(plan, HLO_OP_map, type, operands, type->rank, along, body);
}

hlo_value_t* hlo_finish_windows(hlo_op_plan_t* plan, hlo_value_t* result) {
  hlo_partitioner_t* p = plan->p;
  if (plan->cumulative.is_used) result = add_totals(plan, result);
  for (uint32_t k = 0; result && k < plan->window_count; ++k) {
    const hlo_spmd_window_t* w = &plan->windows[k];
    if (w->has_source && (w->low || w->high)) result = hlo_build_edges(plan, w, result);
  }
  for (uint32_t k = 0; result && k < plan->window_count; ++k) {
    const hlo_spmd_window_t* w = &plan->windows[k];
    if (!w->out_starts || (w->has_source && (w->low || w->high))) continue;
    const hlo_dim_exchange_t part = {.dim = w->out_dim,
                                     .axes = w->exchange.axes,
                                     .size = result->type->dims[w->out_dim],
                                     .starts = w->out_starts,
                                     .count = w->out_count};
    result = hlo_build_exchange(p, result, &part, NULL);
  }
  return result;
}

// ---- concatenations

enum {
  JOINED_MAX = 64,           // operands
  EXCHANGED_JOINED_MAX = 4,  // each by an exchange of its own
};

// Finds the value that an operand of a concatenation is a range of: itself, or the operand of a
// slice; returns the first element.
static int64_t find_source(const hlo_node_t* node, uint32_t operand, uint32_t dim,
                           hlo_value_t** out_source) {
  hlo_value_t* value = hlo_node_operand(node, operand);
  const hlo_node_t* slice = value->def;
  *out_source = value;
  if (!slice || slice->op != HLO_OP_slice) return 0;
  const hlo_type_t* in = hlo_node_operand_type(slice, 0);
  for (uint32_t d = 0; d < in->rank; ++d) {
    if (d != dim && in->dims[d] != value->type->dims[d]) return 0;
  }
  if (hlo_node_attr_item(slice, HLO_ATTR_strides, dim, 1) != 1) return 0;
  *out_source = hlo_node_operand(slice, 0);
  return hlo_node_attr_item(slice, HLO_ATTR_start_indices, dim, 0);
}

// Operand i as a range of a value: x says which elements each device needs of the value.
typedef struct joined {
  hlo_value_t* source;
  const hlo_spec_t* spec;
  hlo_dim_exchange_t x;
} joined_t;

static joined_t find_joined(hlo_op_plan_t* plan, uint32_t i, const hlo_dim_exchange_t* result,
                            int64_t offset) {
  hlo_partitioner_t* p = plan->p;
  joined_t joined = {.x = *result};
  hlo_dim_exchange_t* x = &joined.x;
  const int64_t first = find_source(plan->node, i, x->dim, &joined.source);
  const hlo_spec_t* decided = hlo_spmd_value_spec(p->spmd, joined.source);
  x->size = joined.source->type->dims[x->dim];
  x->is_divided = decided && hlo_spec_parts(p->grid, decided, x->dim) > 1;
  x->start = first - offset;
  x->valid_low = first;
  x->valid_high = first + hlo_node_operand_type(plan->node, i)->dims[x->dim];
  joined.spec =
      hlo_spec_with_dim(p, plan->specs[i], x->dim, x->axes.axes, x->is_divided ? x->axes.count : 0);
  return joined;
}

// Returns the transfers of all operands if they cost less than an exchange of each.
static hlo_transfers_t* plan_joined_transfers(hlo_op_plan_t* plan, const joined_t* items,
                                              bool may_exchange) {
  hlo_partitioner_t* p = plan->p;
  const hlo_dim_exchange_t* x = &items[0].x;
  const uint32_t count = plan->node->operand_count;
  const int64_t parts = hlo_grid_size(p->grid, x->axes.axes, x->axes.count);
  hlo_transfers_t* t = hlo_transfers_create(p, x->dim, &x->axes, x->count);
  double bytes_per_element = 0, others = 0;
  for (uint32_t k = 0; k < count && t; ++k) {
    const hlo_dim_exchange_t* own = &items[k].x;
    const hlo_type_t* local = hlo_local_type(p, items[k].source->type, items[k].spec);
    if (!local) return NULL;
    bytes_per_element = (double)hlo_type_size_bytes(local) / (double)local->dims[x->dim];
    others += may_exchange      ? hlo_dim_exchange_bytes(p, local, own)
              : own->is_divided ? (double)hlo_type_size_bytes(local) * (double)(parts - 1) +
                                      HLO_TUNING_COLLECTIVE_BYTES
                                : 0;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t start = own->start + i * own->step, end = start + own->count;
      const int64_t low = start > own->valid_low ? start : own->valid_low;
      const int64_t high = end < own->valid_high ? end : own->valid_high;
      if (!hlo_transfers_add(t, k, own->size, own->is_divided, i, low - start, low, high)) {
        return NULL;
      }
    }
  }
  return t && hlo_transfers_plan(t, bytes_per_element) < others ? t : NULL;
}

// Returns the device's range of the result, by transfers or, if that is NULL, by an exchange of
// each operand.
static hlo_value_t* build_joined(hlo_op_plan_t* plan, const joined_t* items, hlo_transfers_t* t) {
  hlo_partitioner_t* p = plan->p;
  const uint32_t count = plan->node->operand_count;
  hlo_value_t** values = hlo_arena_array(&p->spmd->arena, count, sizeof *values);
  hlo_value_t* result = NULL;
  for (uint32_t i = 0; i < count && values; ++i) {
    const hlo_dim_exchange_t* x = &items[i].x;
    values[i] = hlo_local_get(p, items[i].source, items[i].spec);
    if (!values[i]) return NULL;
    if (t) continue;
    hlo_value_t* next = hlo_build_exchange(p, values[i], x, NULL);
    if (i && next) {
      const hlo_dim_exchange_t own = {
          .dim = x->dim, .axes = x->axes, .step = x->step, .count = x->count};
      hlo_value_t* mask =
          hlo_build_range_mask(p, &own, next->type, x->valid_low - x->start, INT64_MAX);
      next = mask ? hlo_build_select(p->at, mask, next, result) : NULL;
    }
    if (!next) return NULL;
    result = next;
  }
  if (!t || !values) return result;
  const hlo_type_t* scalar = hlo_type_with_dims(p->module, values[0]->type, 0, NULL);
  return hlo_transfers_build(t, count, values, scalar ? hlo_build_splat(p->at, scalar, 0) : NULL);
}

// Finds what is rotated if the operands are the end of a divided value and its beginning, and the
// element that it then begins with.
static hlo_value_t* find_rotation(hlo_op_plan_t* plan, hlo_dim_exchange_t* x) {
  hlo_partitioner_t* p = plan->p;
  const hlo_node_t* node = plan->node;
  hlo_value_t *source, *other;
  if (node->operand_count != 2) return NULL;
  x->start = find_source(node, 0, x->dim, &source);
  const int64_t second = find_source(node, 1, x->dim, &other);
  x->size = node->results[0].type->dims[x->dim];
  if (source != other || second != 0 || source->type != node->results[0].type ||
      x->start + hlo_node_operand_type(node, 0)->dims[x->dim] != x->size ||
      hlo_node_operand_type(node, 1)->dims[x->dim] != x->start) {
    return NULL;
  }
  const hlo_spec_t* decided = hlo_spmd_value_spec(p->spmd, source);
  x->is_divided = decided && hlo_spec_parts(p->grid, decided, x->dim) > 1 &&
                  x->size == x->count * hlo_grid_size(p->grid, x->axes.axes, x->axes.count);
  return x->is_divided ? source : NULL;
}

hlo_status_t hlo_partition_concatenate(hlo_op_plan_t* plan, bool* out_is_built) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const uint32_t dim = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  const int64_t size = node->results[0].type->dims[dim];
  hlo_dim_exchange_t x = {.dim = dim};
  *out_is_built = false;
  if (node->operand_count > JOINED_MAX || !take_axes(plan, dim, &x.axes)) return hlo_ok();
  x.step = x.count = hlo_divide_up(size, hlo_grid_size(p->grid, x.axes.axes, x.axes.count));
  hlo_dim_exchange_t rotation = x;
  hlo_value_t* rotated = find_rotation(plan, &rotation);
  if (rotated) {
    divide_results(plan, dim, &x.axes);
    *out_is_built = true;
    const hlo_spec_t* spec = plan->specs[node->operand_count];
    return hlo_local_set(p, &node->results[0], spec,
                         hlo_build_rotation(p, hlo_local_get(p, rotated, spec), &rotation));
  }
  int64_t offset = 0;
  joined_t* items = hlo_arena_array(&p->spmd->arena, node->operand_count, sizeof *items);
  if (!items) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    items[i] = find_joined(plan, i, &x, offset);
    offset += hlo_node_operand_type(node, i)->dims[dim];
  }
  const bool may_exchange = node->operand_count <= EXCHANGED_JOINED_MAX;
  hlo_transfers_t* transfers = plan_joined_transfers(plan, items, may_exchange);
  if (!transfers && !may_exchange) return hlo_partitioner_status(p);
  hlo_value_t* result = build_joined(plan, items, transfers);
  divide_results(plan, dim, &x.axes);
  *out_is_built = true;
  return hlo_local_set(p, &node->results[0], plan->specs[node->operand_count], result);
}
