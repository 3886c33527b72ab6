// SPDX-License-Identifier: Apache-2.0
// Pass single_scatter: turns a scatter of one window, as x.at[i].set(y) and the like are, into a
// dynamic_update_slice. A window that is not inside the operand changes nothing: its slice is
// overwritten with itself. A scatter of one element per line (vmap makes those) becomes a select of
// every element if lines are so short that the whole line is transferred anyway; the select can be
// fused. In loops, where a library call costs more than an iteration, a few windows are updated one
// after the other.
#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/splice.h"

enum { MAX_RANK = 16 };

// A scatter of one window: its start, and its size in each dimension.
typedef struct window {
  hlo_node_t* node;
  hlo_value_t *operand, *indices, *update;
  uint32_t rank, map_count;
  const int64_t* map;  // operand dimension of each index
  int64_t sizes[MAX_RANK];
  int64_t starts[MAX_RANK];  // of dimensions without an index
} window_t;

static bool read_sizes(window_t* w) {
  uint32_t window_count, inserted_count, batching;
  const int64_t* windows = hlo_node_attr_ints(w->node, HLO_ATTR_update_window_dims, &window_count);
  const int64_t* inserted =
      hlo_node_attr_ints(w->node, HLO_ATTR_inserted_window_dims, &inserted_count);
  const int64_t* batch = hlo_node_attr_ints(w->node, HLO_ATTR_input_batching_dims, &batching);
  if (window_count + inserted_count + batching != w->rank) return false;
  uint32_t from = 0;
  for (uint32_t d = 0; d < w->rank; ++d) {
    bool is_one = hlo_dims_contain(inserted, inserted_count, d, NULL) ||
                  hlo_dims_contain(batch, batching, d, NULL);
    if (!is_one && from == window_count) return false;
    w->sizes[d] = is_one ? 1 : w->update->type->dims[windows[from++]];
    int64_t extent = w->operand->type->dims[d];
    if (w->sizes[d] < 1 || w->sizes[d] > extent || extent > INT32_MAX) return false;
  }
  return true;
}

// Reads the properties that both forms require of a scatter.
static bool read_scatter(hlo_node_t* node, window_t* w) {
  if (node->op != HLO_OP_scatter || node->operand_count != 3 || node->region_count != 1) {
    return false;
  }
  *w = (window_t){.node = node,
                  .operand = hlo_node_operand(node, 0),
                  .indices = hlo_node_operand(node, 1),
                  .update = hlo_node_operand(node, 2)};
  w->map = hlo_node_attr_ints(node, HLO_ATTR_scatter_dims_to_operand_dims, &w->map_count);
  w->rank = w->operand->type->rank;
  const hlo_dtype_t index = w->indices->type->dtype;
  return w->map_count > 0 && w->rank >= 1 && w->rank <= MAX_RANK && hlo_dtype_is_integer(index) &&
         hlo_dtype_info(index)->bits >= 32 && hlo_type_is_plain(w->operand->type) &&
         hlo_type_is_plain(w->indices->type) && hlo_type_is_plain(w->update->type) &&
         w->update->type->dtype == w->operand->type->dtype && hlo_lift_can(node->regions[0]);
}

static bool is_one_window(window_t* w) {
  uint32_t batching = 0, window_count = 0;
  hlo_node_attr_ints(w->node, HLO_ATTR_input_batching_dims, &batching);
  hlo_node_attr_ints(w->node, HLO_ATTR_update_window_dims, &window_count);
  return batching == 0 && w->indices->type->rank == 1 &&
         w->indices->type->dims[0] == w->map_count && window_count == w->update->type->rank &&
         hlo_node_attr_int(w->node, HLO_ATTR_index_vector_dim, -1) == 0 && read_sizes(w);
}

static bool is_in_loop(const hlo_node_t* node) {
  const hlo_node_t* outer = node->parent->parent;
  return outer && (outer->op == HLO_OP_while || is_in_loop(outer));
}

// Lists the dimensions that count windows: all but `others`.
static uint32_t list_positions(uint32_t rank, const int64_t* others, uint32_t other_count,
                               int64_t* out) {
  uint32_t count = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    if (!hlo_dims_contain(others, other_count, d, NULL)) out[count++] = d;
  }
  return count;
}

// Several windows: the dimensions of the indices and of the update that count them.
typedef struct few {
  uint32_t rank, count;
  int64_t indices[MAX_RANK], update[MAX_RANK];
} few_t;

static bool is_few_windows(window_t* w, few_t* few) {
  const hlo_type_t *indices = w->indices->type, *update = w->update->type;
  const int64_t vector_dim = hlo_node_attr_int(w->node, HLO_ATTR_index_vector_dim, -1);
  uint32_t window_count;
  const int64_t* windows = hlo_node_attr_ints(w->node, HLO_ATTR_update_window_dims, &window_count);
  if (indices->rank > MAX_RANK || update->rank > MAX_RANK || !is_in_loop(w->node)) return false;
  few->count = w->map_count;
  few->rank = list_positions(indices->rank, &vector_dim, 1, few->indices);
  if (list_positions(update->rank, windows, window_count, few->update) != few->rank) return false;
  for (uint32_t p = 0; p < few->rank; ++p) {
    const int64_t size = indices->dims[few->indices[p]];
    if (size != update->dims[few->update[p]] || size < 1 || size > HLO_TUNING_SCATTER_MAX_POSITIONS)
      return false;
    few->count *= (uint32_t)size;
    if (few->count > HLO_TUNING_SCATTER_MAX_POSITIONS) return false;
  }
  few->count /= w->map_count;
  return read_sizes(w);
}

// One index per batch element, which selects an element of a short line; other dimensions are
// complete.
typedef struct line {
  uint32_t index_rank;            // of the indices without the index vector dimension
  int64_t positions[MAX_RANK];    // operand dimensions of the dimensions of the indices
  int64_t update_dims[MAX_RANK];  // operand dimensions of the dimensions of the update
} line_t;

// Maps the update's dimensions to the operand's: the window dimensions in order, between them the
// batch dimensions.
static bool map_update_dims(const window_t* w, line_t* line) {
  uint32_t window_count;
  const int64_t* windows = hlo_node_attr_ints(w->node, HLO_ATTR_update_window_dims, &window_count);
  const hlo_type_t *update = w->update->type, *operand = w->operand->type;
  if (update->rank + 1 != w->rank || window_count + line->index_rank != update->rank) return false;
  uint32_t position = 0;
  int64_t rest = 0;
  for (uint32_t d = 0; d < update->rank; ++d) {
    if (hlo_dims_contain(windows, window_count, d, NULL)) {
      while (rest == w->map[0] || hlo_dims_contain(line->positions, line->index_rank, rest, NULL)) {
        ++rest;
      }
      line->update_dims[d] = rest++;
    } else {
      line->update_dims[d] = line->positions[position++];
    }
    if (line->update_dims[d] >= w->rank || update->dims[d] != operand->dims[line->update_dims[d]]) {
      return false;
    }
  }
  return true;
}

// Returns true if a line, from its first element to its last, is about as long as a cache line and
// there are many lines.
static bool is_short(const window_t* w) {
  const hlo_type_t* type = w->operand->type;
  int64_t line = 1, lines = 1;
  for (uint32_t d = 0; d < w->rank; ++d) *(d < w->map[0] ? &lines : &line) *= type->dims[d];
  return lines >= HLO_TUNING_SCATTER_MIN_LINES &&
         line * hlo_dtype_info(type->dtype)->bits <= HLO_TUNING_SCATTER_MAX_LINE_BYTES * 8;
}

static bool is_line_each(const window_t* w, line_t* line) {
  uint32_t batching, count, inserted;
  const int64_t* batch = hlo_node_attr_ints(w->node, HLO_ATTR_input_batching_dims, &batching);
  const int64_t* from = hlo_node_attr_ints(w->node, HLO_ATTR_scatter_indices_batching_dims, &count);
  const int64_t vector_dim = hlo_node_attr_int(w->node, HLO_ATTR_index_vector_dim, -1);
  const hlo_type_t* indices = w->indices->type;
  *line = (line_t){.index_rank = batching};
  hlo_node_attr_ints(w->node, HLO_ATTR_inserted_window_dims, &inserted);
  if (batching != count || w->map_count != 1 || inserted != 1 ||
      indices->rank != batching + (vector_dim < indices->rank) || !is_short(w)) {
    return false;
  }
  for (uint32_t b = 0; b < batching; ++b) {
    line->positions[from[b] - (from[b] > vector_dim)] = batch[b];
  }
  return map_update_dims(w, line);
}

// ---- construction -------------------------------------------------------------------------------

static hlo_value_t* integer(const window_t* w, const hlo_type_t* type, int64_t value) {
  return hlo_build_integers(w->node, type, &value);
}

// Returns the new element for an old element and its `update`.
static hlo_value_t* combine_update(const window_t* w, hlo_value_t* old, hlo_value_t* update) {
  hlo_value_t *args[] = {old, update}, *result = NULL;
  if (old && update) (void)hlo_lift(w->node, w->node->regions[0], args, &result);
  return result;
}

// Returns index number `at` as a scalar tensor.
static hlo_value_t* index_of(const window_t* w, const hlo_type_t* type, int64_t at) {
  hlo_value_t* one = w->indices;
  if (w->map_count > 1) {
    const int64_t count = 1;
    const hlo_type_t* single = hlo_type_tensor(w->node->parent->module, type->dtype, 1, &count);
    one = hlo_build_slice(w->node, single, one, &at, NULL);
  }
  return hlo_build_reshape(w->node, type, one);
}

// Returns a predicate: the window fits at its start in one dimension.
static hlo_value_t* is_inside(const window_t* w, hlo_value_t* index, int64_t last) {
  hlo_value_t* end = integer(w, index->type, last);
  if (!hlo_dtype_is_signed(index->type->dtype)) {
    return hlo_build_compare(w->node, HLO_COMPARISON_DIRECTION_LE, index, end);
  }
  hlo_value_t* zero = integer(w, index->type, 0);
  hlo_value_t* above = hlo_build_compare(w->node, HLO_COMPARISON_DIRECTION_GE, index, zero);
  hlo_value_t* below = hlo_build_compare(w->node, HLO_COMPARISON_DIRECTION_LE, index, end);
  return hlo_build_binary(w->node, HLO_OP_and, above, below);
}

// Returns NULL when memory is exhausted, which the module records.
static hlo_value_t* make_update(const window_t* w) {
  hlo_module_t* module = w->node->parent->module;
  const hlo_type_t* index = hlo_type_tensor(module, w->indices->type->dtype, 0, NULL);
  const hlo_type_t* type = hlo_type_tensor(module, w->operand->type->dtype, w->rank, w->sizes);
  hlo_value_t *starts[MAX_RANK], *inside = NULL, *zero = integer(w, index, 0);
  for (uint32_t d = 0; d < w->rank; ++d) {
    starts[d] = w->starts[d] ? integer(w, index, w->starts[d]) : zero;
  }
  for (uint32_t i = 0; i < w->map_count; ++i) {
    int64_t d = w->map[i];
    hlo_value_t* start = starts[d] = index_of(w, index, i);
    if (!start) return NULL;
    hlo_value_t* fits = is_inside(w, start, w->operand->type->dims[d] - w->sizes[d]);
    inside = i == 0 ? fits : hlo_build_binary(w->node, HLO_OP_and, inside, fits);
  }
  hlo_value_t* update = hlo_build_reshape(w->node, type, w->update);
  hlo_value_t* old = hlo_build_dynamic_slice(w->node, type, w->operand, starts);
  return hlo_build_dynamic_update_slice(
      w->node, w->operand, hlo_build_select(w->node, inside, combine_update(w, old, update), old),
      starts);
}

// Broadcasts `value`, whose dimensions are `dims` of the operand in any order, to the operand's
// shape.
static hlo_value_t* broadcast_value(const window_t* w, hlo_value_t* value, const int64_t* dims) {
  if (!value) return NULL;
  const hlo_type_t* type =
      hlo_type_with_dtype(w->node->parent->module, w->operand->type, value->type->dtype);
  return hlo_build_broadcast(w->node, type, value, dims);
}

// Selects for every element; an index outside its line selects none. NULL when memory is exhausted.
static hlo_value_t* make_choice(const window_t* w, const line_t* line) {
  hlo_module_t* module = w->node->parent->module;
  const hlo_type_t* operand = w->operand->type;
  const hlo_dtype_t dtype = w->indices->type->dtype;
  int64_t dims[MAX_RANK];
  for (uint32_t d = 0; d < line->index_rank; ++d) dims[d] = operand->dims[line->positions[d]];
  const hlo_type_t* lines = hlo_type_tensor(module, dtype, line->index_rank, dims);
  hlo_value_t* index =
      broadcast_value(w, hlo_build_reshape(w->node, lines, w->indices), line->positions);
  const hlo_named_attr_t along = {HLO_ATTR_iota_dimension,
                                  hlo_attr_int(module, HLO_DTYPE_S64, w->map[0])};
  hlo_value_t* number = hlo_build_node(
      w->node, HLO_OP_iota, hlo_type_with_dtype(module, operand, dtype), 0, NULL, 1, &along);
  hlo_value_t* update =
      combine_update(w, w->operand, broadcast_value(w, w->update, line->update_dims));
  hlo_value_t* is_here = hlo_build_compare(w->node, HLO_COMPARISON_DIRECTION_EQ, number, index);
  return hlo_build_select(w->node, is_here, update, w->operand);
}

// Returns the slice of `value` for one window, by its position in the dimensions that count
// windows.
static hlo_value_t* part_of(const window_t* w, hlo_value_t* value, uint32_t rank,
                            const int64_t* dims, const int64_t* insertion_point) {
  const hlo_type_t* type = value->type;
  int64_t first[MAX_RANK] = {0}, sizes[MAX_RANK];
  for (uint32_t d = 0; d < type->rank; ++d) sizes[d] = type->dims[d];
  for (uint32_t p = 0; p < rank; ++p) {
    first[dims[p]] = insertion_point[p];
    sizes[dims[p]] = 1;
  }
  type = hlo_type_with_dims(w->node->parent->module, type, type->rank, sizes);
  return hlo_build_slice(w->node, type, value, first, NULL);
}

// Updates the windows one after the other, in the order of their positions.
static hlo_value_t* make_updates(const window_t* all, const few_t* few) {
  hlo_module_t* module = all->node->parent->module;
  const int64_t map_count = all->map_count;
  uint32_t batching, count;
  const int64_t* batch = hlo_node_attr_ints(all->node, HLO_ATTR_input_batching_dims, &batching);
  const int64_t* from =
      hlo_node_attr_ints(all->node, HLO_ATTR_scatter_indices_batching_dims, &count);
  const hlo_type_t* vector = hlo_type_tensor(module, all->indices->type->dtype, 1, &map_count);
  window_t w = *all;
  for (uint32_t i = 0; i < few->count && w.operand; ++i) {
    int64_t insertion_point[MAX_RANK] = {0}, rest = i;
    for (uint32_t p = few->rank; p-- > 0;) {
      const int64_t size = all->indices->type->dims[few->indices[p]];
      insertion_point[p] = rest % size;
      rest /= size;
      for (uint32_t b = 0; b < count; ++b) {
        if (from[b] == few->indices[p]) w.starts[batch[b]] = insertion_point[p];
      }
    }
    hlo_value_t* indices = part_of(all, all->indices, few->rank, few->indices, insertion_point);
    w.indices = hlo_build_reshape(w.node, vector, indices);
    w.update = part_of(all, all->update, few->rank, few->update, insertion_point);
    if (!w.indices || !w.update) return NULL;
    w.operand = make_update(&w);
  }
  return w.operand;
}

static hlo_value_t* replace_scatter(hlo_node_t* node) {
  window_t window;
  line_t line;
  few_t few;
  if (!read_scatter(node, &window)) return NULL;
  if (is_line_each(&window, &line)) return make_choice(&window, &line);
  if (is_one_window(&window)) return make_update(&window);
  return is_few_windows(&window, &few) ? make_updates(&window, &few) : NULL;
}

hlo_status_t hlo_pass_single_scatter(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_scatter);
}
