// SPDX-License-Identifier: Apache-2.0
// The all_reduces of pass sink_all_reduces whose results are kept:
//
//   while i: all[i] = move(all_reduce(x))     becomes     while i: all[i] = move(x)
//                                                         all = all_reduce(all)
//
// for a carried value that the loop does not read and a loop that counts from 0 by 1. `move` are
// reshapes, transposes, slices and conversions to wider floats, which are undone for the exchange;
// further updates at constant positions may follow. The part that the iterations fill is exchanged,
// each slice of which has one iteration. Every element is reduced as before, by whatever reducer.
#include "base/integer.h"
#include "base/tuning.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/pipeline_impl.h"
#include "spmd/sink_impl.h"

/// The slices of a carried value that the iterations fill.
typedef struct filling {
  const hlo_counted_loop_t* loop;
  uint32_t index;  // of the carried value
  hlo_node_t* collective;
  int64_t starts[HLO_RANK_MAX], sizes[HLO_RANK_MAX];  // of all slices together
} filling_t;

static bool has_one_use(const hlo_value_t* value) {
  return value->uses && !value->uses->next;
}

static bool is_plain(const hlo_node_t* node, const hlo_region_t* body) {
  return node && node->parent == body && !node->extra;
}

// ---- positions

// Finds where each iteration's slice starts in dimension `d`: `by` elements after the one before.
static bool find_stride(const filling_t* f, const hlo_node_t* update, uint32_t d,
                        int64_t* out_first, int64_t* out_by) {
  int64_t starts[HLO_RANK_MAX], previous = 0;
  const int64_t* sizes = hlo_node_operand_type(update, 1)->dims;
  *out_by = 0;
  for (int32_t i = 0; i < f->loop->trip_count; ++i) {
    if (!hlo_pipeline_find_starts(f->loop, update, 2, i, sizes, starts)) return false;
    if (i == 0) *out_first = starts[d];
    if (i == 1) *out_by = starts[d] - previous;
    if (i > 1 && starts[d] - previous != *out_by) return false;
    previous = starts[d];
  }
  return true;
}

// Adds the position of an update. Only the one of the carried value may be another one in each
// iteration, in one dimension, where its extent is 1.
static bool add_position(filling_t* f, const hlo_node_t* update, bool is_carried) {
  const hlo_type_t* type = hlo_node_operand_type(update, 1);
  uint32_t moving = 0;
  for (uint32_t d = 0; d < type->rank; ++d) {
    int64_t first = 0, by = 0;
    if (!find_stride(f, update, d, &first, &by)) return false;
    if (by != 0) {
      if (!is_carried || type->dims[d] != 1 || (by != 1 && by != -1)) return false;
      f->sizes[d] = f->loop->trip_count;
      first = hlo_min(first, first + by * (f->loop->trip_count - 1));
      ++moving;
    }
    f->starts[d] += first;
  }
  return moving == is_carried;
}

// ---- the way from the all_reduce to the carried value

// Follows the moves of what is stored back to an all_reduce that nothing else uses.
static bool find_collective(filling_t* f, const hlo_value_t* value) {
  const hlo_region_t* body = f->loop->body;
  bool is_converted = false;
  for (;; value = hlo_node_operand(value->def, 0)) {
    hlo_node_t* node = value->def;
    if (!node || node->parent != body || !has_one_use(value)) return false;
    if (node->op == HLO_OP_all_reduce) {
      f->collective = node;
      return node->operand_count == 1 && hlo_node_operand_type(node, 0) == node->results[0].type &&
             (!is_converted || hlo_dtype_is_float(value->type->dtype));
    }
    const bool is_move = node->op == HLO_OP_reshape || node->op == HLO_OP_transpose ||
                         node->op == HLO_OP_slice ||
                         (node->op == HLO_OP_convert && hlo_convert_widens(node));
    if (!is_move || node->extra) return false;
    is_converted |= node->op == HLO_OP_convert;
  }
}

static bool find_filling(const hlo_counted_loop_t* loop, uint32_t index, filling_t* f) {
  const hlo_value_t *old = loop->body->args[index], *value = hlo_node_operand(loop->end, index);
  *f = (filling_t){.loop = loop, .index = index};
  if (loop->cond->args[index]->uses || !has_one_use(old) || !hlo_type_is_static(old->type) ||
      loop->node->results[index].type != old->type) {
    return false;
  }
  // From the carried value inwards; the innermost update has the sizes of a slice.
  const hlo_node_t* updates[4];
  uint32_t count = 0;
  while (is_plain(value->def, loop->body) && value->def->op == HLO_OP_dynamic_update_slice) {
    if (count == sizeof updates / sizeof *updates || !has_one_use(value)) return false;
    updates[count++] = value->def;
    value = hlo_node_operand(value->def, 1);
  }
  if (count == 0 || hlo_node_operand(updates[0], 0) != old || !find_collective(f, value)) {
    return false;
  }
  for (uint32_t d = 0; d < value->type->rank; ++d) f->sizes[d] = value->type->dims[d];
  for (uint32_t i = count; i > 0; --i) {
    if (!add_position(f, updates[i - 1], i == 1)) return false;
  }
  const double bytes =
      (double)loop->trip_count * (double)hlo_type_size_bytes(f->collective->results[0].type);
  return bytes <= HLO_TUNING_SINK_UPDATES_MAX_BYTES;
}

// ---- the all_reduce after the loop

static hlo_value_t* build_position(hlo_node_t* at, const filling_t* f, uint32_t d) {
  hlo_module_t* module = at->parent->module;
  const hlo_type_t* type = hlo_type_tensor(module, HLO_DTYPE_S64, 0, NULL);
  return type ? hlo_build_integers(at, type, &f->starts[d]) : NULL;
}

// Reduces the part of `all` that the loop filled, before `at`.
static hlo_value_t* build_reduced(hlo_node_t* at, const filling_t* f, hlo_value_t* all) {
  hlo_module_t* module = at->parent->module;
  const uint32_t rank = all->type->rank;
  const hlo_type_t* part = hlo_type_with_dims(module, all->type, rank, f->sizes);
  if (!part) return NULL;
  const bool is_whole = part == all->type;
  const hlo_dtype_t dtype = f->collective->results[0].type->dtype;
  hlo_value_t* value = is_whole ? all : hlo_build_slice(at, part, all, f->starts, NULL);
  if (dtype != part->dtype) value = hlo_build_convert(at, dtype, value);
  if (!value) return NULL;
  hlo_node_t* reduce =
      hlo_collective_create_like(HLO_OP_all_reduce, f->collective, 1, &value, 1, &value->type);
  if (hlo_node_is_poison(reduce)) return NULL;
  hlo_node_insert_before(at, reduce);
  value = &reduce->results[0];
  if (dtype != part->dtype) value = hlo_build_convert(at, part->dtype, value);
  if (is_whole || !value) return value;
  hlo_value_t* starts[HLO_RANK_MAX];
  for (uint32_t d = 0; d < rank; ++d) starts[d] = build_position(at, f, d);
  return hlo_build_dynamic_update_slice(at, all, value, starts);
}

static hlo_status_t sink(hlo_pass_ctx_t* ctx, const filling_t* f) {
  hlo_node_t *loop = f->loop->node, *at = loop->next;
  hlo_module_t* module = loop->parent->module;
  hlo_value_t *all = &loop->results[f->index], *initial = hlo_node_operand(loop, f->index);
  // Built of the initial value first, so that the uses of the result can be replaced.
  hlo_value_t* reduced = build_reduced(at, f, initial);
  if (!reduced) return hlo_module_status(module);
  hlo_value_replace_uses(all, reduced);
  for (hlo_node_t* n = loop->next; n != at; n = n->next) {
    for (uint32_t i = 0; i < n->operand_count; ++i) {
      if (hlo_node_operand(n, i) == initial) hlo_node_set_operand(n, i, all);
    }
  }
  hlo_value_replace_uses(&f->collective->results[0], hlo_node_operand(f->collective, 0));
  hlo_node_erase(f->collective);
  ++ctx->step_count;
  return hlo_module_status(module);
}

hlo_status_t hlo_sink_updates(hlo_pass_ctx_t* ctx, hlo_node_t* node) {
  hlo_counted_loop_t loop;
  filling_t filling;
  if (!hlo_counted_loop_match(node, &loop) || loop.first != 0 || loop.step != 1 ||
      loop.trip_count < 2 || loop.trip_count > HLO_PIPELINE_ITERATIONS_MAX) {
    return hlo_ok();
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (find_filling(&loop, i, &filling)) HLO_TRY(sink(ctx, &filling));
  }
  return hlo_ok();
}
