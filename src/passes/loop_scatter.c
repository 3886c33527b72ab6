// SPDX-License-Identifier: Apache-2.0
// Pass loop_scatter: turns a scatter with a body that the library has no loops for, as
// x.at[i].apply(f) has, into a loop over its windows. Each iteration is a scatter of one window
// (see single_scatter.c). A table with one row per window holds the positions of the windows.
// Scatters of several operands or with other bodies are expanded in the same way (see expand.h).
#include <string.h>

#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"
#include "passes/splice.h"

typedef struct windows {
  hlo_node_t* node;
  hlo_module_t* module;
  hlo_value_t *operand, *indices, *updates;
  const int64_t *windows, *inserted, *map, *batching, *indices_batching;  // dimensions
  uint32_t window_count, inserted_count, map_count, batching_count;
  uint32_t rank;               // of the dimensions that count windows
  int64_t dims[HLO_RANK_MAX];  // of the positions
  int64_t count;               // number of windows
  const hlo_type_t* number;    // the types of a window's number and of a row of the table
} windows_t;

// Returns true if the library has loops for the body: the update itself, or one operation.
static bool is_known(const hlo_node_t* node, hlo_dtype_t dtype) {
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  if (end && hlo_node_operand(end, 0) == body->args[1]) return true;
  bool is_swapped;
  const hlo_node_t* op = hlo_region_binary_op(body, &is_swapped);
  return op && hlo_op_has(op->op, HLO_TRAIT_ASSOCIATIVE) &&
         (op->op == HLO_OP_add || !hlo_dtype_is_complex(dtype));
}

static void read_dims(windows_t* w) {
  uint32_t count;
  const hlo_node_t* node = w->node;
  w->windows = hlo_node_attr_ints(node, HLO_ATTR_update_window_dims, &w->window_count);
  w->inserted = hlo_node_attr_ints(node, HLO_ATTR_inserted_window_dims, &w->inserted_count);
  w->map = hlo_node_attr_ints(node, HLO_ATTR_scatter_dims_to_operand_dims, &w->map_count);
  w->batching = hlo_node_attr_ints(node, HLO_ATTR_input_batching_dims, &w->batching_count);
  w->indices_batching = hlo_node_attr_ints(node, HLO_ATTR_scatter_indices_batching_dims, &count);
}

static int64_t vector_dim(const windows_t* w) {
  return hlo_node_attr_int(w->node, HLO_ATTR_index_vector_dim, -1);
}

static bool read_positions(windows_t* w) {
  const hlo_type_t* type = w->indices->type;
  w->count = 1;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (d == vector_dim(w)) continue;
    w->dims[w->rank++] = type->dims[d];
    w->count *= type->dims[d];
  }
  return w->rank > 0 && w->count > 0 && w->count <= INT32_MAX &&
         w->map_count + w->batching_count > 0 &&
         w->rank + w->window_count == w->updates->type->rank;
}

static bool read_windows(hlo_node_t* node, windows_t* w) {
  if (node->op != HLO_OP_scatter || node->extra || node->operand_count != 3) return false;
  *w = (windows_t){.node = node,
                   .module = node->parent->module,
                   .operand = hlo_node_operand(node, 0),
                   .indices = hlo_node_operand(node, 1),
                   .updates = hlo_node_operand(node, 2)};
  const hlo_type_t *type = w->operand->type, *updates = w->updates->type;
  const hlo_dtype_t index = w->indices->type->dtype;
  if (!hlo_type_is_plain(type) || !hlo_type_is_plain(updates) ||
      !hlo_type_is_plain(w->indices->type) || node->results[0].type != type ||
      (index != HLO_DTYPE_S32 && index != HLO_DTYPE_S64) || type->dtype != updates->dtype ||
      hlo_type_element_count(updates) == 0 || updates->rank >= HLO_RANK_MAX ||
      !hlo_lift_can(node->regions[0]) || is_known(node, type->dtype)) {
    return false;
  }
  read_dims(w);
  w->number = hlo_type_tensor(w->module, index, 0, NULL);
  return w->number && read_positions(w);
}

// ---- construction -------------------------------------------------------------------------------

// Transposes `value` so that the dimensions `is_first` come first; the order is otherwise
// unchanged.
static hlo_value_t* put_first(const windows_t* w, hlo_value_t* value, const bool* is_first) {
  const hlo_type_t* type = value->type;
  int64_t order[HLO_RANK_MAX];
  uint32_t count = 0;
  bool is_same = true;
  for (uint32_t pass = 0; pass < 2; ++pass) {
    for (uint32_t d = 0; d < type->rank; ++d) {
      if (is_first[d] == (pass == 1)) continue;
      is_same &= count == d;
      order[count++] = d;
    }
  }
  if (is_same) return value;
  return hlo_build_transpose(w->node, value, order);
}

// Returns a column with each window's index in one of the dimensions that count windows.
static hlo_value_t* position_column(const windows_t* w, int64_t dim) {
  const int64_t dims[] = {w->count, 1};
  const hlo_dtype_t dtype = w->number->dtype;
  const hlo_type_t* all = hlo_type_tensor(w->module, dtype, w->rank, w->dims);
  return hlo_build_reshape(w->node, hlo_type_tensor(w->module, dtype, 2, dims),
                           hlo_build_iota(w->node, all, dim));
}

// Returns a row per window: its indices, then its position in each batch dimension.
static hlo_value_t* position_table(const windows_t* w) {
  const int64_t dims[] = {w->count, w->map_count};
  const int64_t all_dims[] = {w->count, w->map_count + w->batching_count};
  const hlo_named_attr_t along = {HLO_ATTR_dimension, hlo_attr_int(w->module, HLO_DTYPE_S64, 1)};
  hlo_value_t* columns[HLO_RANK_MAX + 1];
  bool is_position[HLO_RANK_MAX];
  for (uint32_t d = 0; d < HLO_RANK_MAX; ++d) is_position[d] = d != vector_dim(w);
  columns[0] = hlo_build_reshape(w->node, hlo_type_with_dims(w->module, w->indices->type, 2, dims),
                                 put_first(w, w->indices, is_position));
  for (uint32_t b = 0; b < w->batching_count; ++b) {
    const int64_t dim = w->indices_batching[b];
    columns[1 + b] = position_column(w, dim - (dim > vector_dim(w)));
  }
  if (w->batching_count == 0) return columns[0];
  return hlo_build_node(w->node, HLO_OP_concatenate,
                        hlo_type_with_dims(w->module, w->indices->type, 2, all_dims),
                        1 + w->batching_count, columns, 1, &along);
}

// Returns the updates as one row per window.
static hlo_value_t* stack_updates(const windows_t* w) {
  const hlo_type_t* type = w->updates->type;
  int64_t dims[HLO_RANK_MAX] = {w->count};
  bool is_position[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) {
    is_position[d] = !hlo_dims_contain(w->windows, w->window_count, d, NULL);
  }
  for (uint32_t i = 0; i < w->window_count; ++i) dims[1 + i] = type->dims[w->windows[i]];
  return hlo_build_reshape(w->node, hlo_type_with_dims(w->module, type, 1 + w->window_count, dims),
                           put_first(w, w->updates, is_position));
}

static void move_body(hlo_region_t* from, hlo_region_t* to) {
  for (uint32_t i = 0; i < from->arg_count; ++i) {
    hlo_value_t* arg = hlo_region_add_arg(to, from->args[i]->type);
    if (arg) hlo_value_replace_uses(from->args[i], arg);
  }
  for (hlo_node_t* node = from->first; node; node = from->first) {
    hlo_node_unlink(node);
    hlo_region_append(to, node);
  }
}

// Builds the scatter of one window before `insertion_point`.
static hlo_value_t* scatter_one(const windows_t* w, hlo_node_t* insertion_point,
                                hlo_value_t* operand, hlo_value_t* index, hlo_value_t* update) {
  int64_t windows[HLO_RANK_MAX], inserted[HLO_RANK_MAX], map[HLO_RANK_MAX];
  const int64_t rank = operand->type->rank;
  uint32_t inserted_count = 0, map_count = 0;
  for (uint32_t i = 0; i < w->window_count; ++i) windows[i] = i;
  for (int64_t d = 0; d < rank; ++d) {
    if (hlo_dims_contain(w->inserted, w->inserted_count, d, NULL) ||
        hlo_dims_contain(w->batching, w->batching_count, d, NULL)) {
      inserted[inserted_count++] = d;
    }
  }
  for (uint32_t i = 0; i < w->map_count; ++i) map[map_count++] = w->map[i];
  for (uint32_t i = 0; i < w->batching_count; ++i) map[map_count++] = w->batching[i];
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_update_window_dims, hlo_attr_ints(w->module, w->window_count, windows)},
      {HLO_ATTR_inserted_window_dims, hlo_attr_ints(w->module, inserted_count, inserted)},
      {HLO_ATTR_scatter_dims_to_operand_dims, hlo_attr_ints(w->module, map_count, map)},
      {HLO_ATTR_index_vector_dim, hlo_attr_int(w->module, HLO_DTYPE_S64, 0)},
  };
  hlo_value_t* operands[] = {operand, index, update};
  const hlo_node_spec_t spec = {.op = HLO_OP_scatter,
                                .loc = w->node->loc,
                                .operand_count = 3,
                                .operands = operands,
                                .attr_count = sizeof attrs / sizeof *attrs,
                                .attrs = attrs,
                                .region_count = 1,
                                .result_count = 1,
                                .result_types = &operand->type};
  hlo_node_t* node = index && update ? hlo_node_create(w->module, &spec) : NULL;
  if (!node || hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(insertion_point, node);
  move_body(w->node->regions[0], node->regions[0]);
  return &node->results[0];
}

static hlo_value_t* replace_scatter(hlo_node_t* node) {
  windows_t w;
  hlo_loop_t loop;
  if (!read_windows(node, &w)) return NULL;
  hlo_value_t *indices = position_table(&w), *updates = stack_updates(&w), *result = NULL;
  if (!hlo_loop_begin(node, w.number, w.count, 1, &w.operand, &loop)) return NULL;
  hlo_value_t* index = hlo_loop_row(loop.end, indices, loop.number);
  hlo_value_t* update = hlo_loop_row(loop.end, updates, loop.number);
  hlo_value_t* next = scatter_one(&w, loop.end, loop.values[0], index, update);
  return hlo_loop_finish(&loop, &next, &result) ? result : NULL;
}

// ---- scatters of several operands, or with any body ---------------------------------------------

static bool read_any(hlo_node_t* node, windows_t* w) {
  const uint32_t count = (node->operand_count - 1) / 2;
  const hlo_region_t* body = node->regions[0];
  *w = (windows_t){.node = node,
                   .module = node->parent->module,
                   .operand = hlo_node_operand(node, 0),
                   .indices = hlo_node_operand(node, count),
                   .updates = hlo_node_operand(node, count + 1)};
  if (count == 0 || count > HLO_EXPAND_VALUES_MAX || node->result_count != count ||
      !hlo_expand_can_apply(body, 2 * count, count) || !hlo_type_is_plain(w->indices->type) ||
      w->updates->type->rank >= HLO_RANK_MAX) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* operand = hlo_node_operand_type(node, i);
    const hlo_type_t* updates = hlo_node_operand_type(node, count + 1 + i);
    if (!hlo_type_is_plain(operand) || !hlo_type_is_plain(updates) ||
        node->results[i].type != operand || body->args[i]->type->dtype != operand->dtype ||
        body->args[count + i]->type->dtype != updates->dtype ||
        hlo_node_operand_type(body->last, i)->dtype != operand->dtype ||
        updates->rank != w->updates->type->rank || hlo_type_element_count(updates) == 0) {
      return false;
    }
  }
  read_dims(w);
  w->number = hlo_type_tensor(w->module, HLO_DTYPE_S64, 0, NULL);
  w->indices = hlo_build_convert(node, HLO_DTYPE_S64, w->indices);
  return w->number && w->indices &&
         (read_positions(w) || (w->rank == 0 && w->window_count == w->updates->type->rank));
}

/// The window of an iteration in the operands.
typedef struct place {
  hlo_value_t* starts[HLO_RANK_MAX];
  int64_t sizes[HLO_RANK_MAX];  // 1 for dimensions that the window lacks
  hlo_value_t* is_inside;
} place_t;

static bool find_place(const windows_t* w, hlo_node_t* at, hlo_value_t* index, place_t* p) {
  const hlo_type_t* type = w->operand->type;
  uint32_t from = 0;
  if (!index) return false;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const bool is_one = hlo_dims_contain(w->inserted, w->inserted_count, d, NULL) ||
                        hlo_dims_contain(w->batching, w->batching_count, d, NULL);
    if (!is_one && from == w->window_count) return false;
    p->sizes[d] = is_one ? 1 : w->updates->type->dims[w->windows[from++]];
    p->starts[d] = hlo_build_integers(at, w->number, (int64_t[]){0});
  }
  p->is_inside = hlo_build_splat(at, hlo_type_tensor(w->module, HLO_DTYPE_PRED, 0, NULL), 1);
  for (uint32_t i = 0; i < w->map_count + w->batching_count; ++i) {
    const int64_t d = i < w->map_count ? w->map[i] : w->batching[i - w->map_count];
    const int64_t first = i, last = type->dims[d] - p->sizes[d];
    const hlo_type_t* one = hlo_type_tensor(w->module, HLO_DTYPE_S64, 1, (int64_t[]){1});
    p->starts[d] = hlo_build_reshape(at, w->number, hlo_build_slice(at, one, index, &first, NULL));
    hlo_value_t* tests[] = {hlo_build_compare(at, HLO_COMPARISON_DIRECTION_GE, p->starts[d],
                                              hlo_build_integers(at, w->number, (int64_t[]){0})),
                            hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LE, p->starts[d],
                                              hlo_build_integers(at, w->number, &last))};
    for (uint32_t t = 0; t < 2; ++t) {
      p->is_inside = hlo_build_binary(at, HLO_OP_and, p->is_inside, tests[t]);
    }
  }
  return p->is_inside != NULL;
}

// Combines one window of all operands with its updates.
static bool combine_window(hlo_pass_ctx_t* ctx, const windows_t* w, hlo_loop_t* loop,
                           const place_t* p, hlo_value_t* const* updates, hlo_value_t** next) {
  hlo_node_t* at = loop->end;
  const uint32_t count = loop->value_count, rank = w->operand->type->rank;
  hlo_value_t* args[2 * HLO_EXPAND_VALUES_MAX];
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = loop->values[i]->type;
    hlo_value_t* window = hlo_build_dynamic_slice(
        at, hlo_type_with_dims(w->module, type, rank, p->sizes), loop->values[i], p->starts);
    args[count + i] = hlo_loop_row(at, updates[i], loop->number);
    args[i] =
        args[count + i]
            ? hlo_build_reshape(
                  at, hlo_type_with_dtype(w->module, args[count + i]->type, type->dtype), window)
            : NULL;
  }
  if (!hlo_expand_apply(ctx, at, w->node->regions[0], args, next)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = loop->values[i]->type;
    next[i] = hlo_build_select(at, p->is_inside, next[i], args[i]);
    next[i] = hlo_build_reshape(at, hlo_type_with_dims(w->module, type, rank, p->sizes), next[i]);
    next[i] = hlo_build_dynamic_update_slice(at, loop->values[i], next[i], p->starts);
  }
  return true;
}

bool hlo_expand_scatter(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  windows_t w;
  place_t place;
  hlo_value_t *values[HLO_EXPAND_VALUES_MAX], *updates[HLO_EXPAND_VALUES_MAX];
  if (!read_any(node, &w)) return false;
  hlo_value_t* indices = position_table(&w);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    values[i] = hlo_node_operand(node, i);
    w.updates = hlo_node_operand(node, node->result_count + 1 + i);
    updates[i] = stack_updates(&w);
  }
  hlo_loop_t loop;
  return hlo_loop_begin(node, w.number, w.count, node->result_count, values, &loop) &&
         find_place(&w, loop.end, hlo_loop_row(loop.end, indices, loop.number), &place) &&
         combine_window(ctx, &w, &loop, &place, updates, values) &&
         hlo_loop_finish(&loop, values, results);
}

hlo_status_t hlo_pass_loop_scatter(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_scatter);
}
