// SPDX-License-Identifier: Apache-2.0
// Pass pipeline_collectives, forward: a collective at the end of an iteration runs in the next one,
// beside the work there.
//
//   for i: x = work(i); buffer = update(buffer, collective(x), i)     becomes
//
//   x = work(first)
//   for i from the second: buffer = update(buffer, collective(x), i - 1); x = work(i)
//   buffer = update(buffer, collective(x), last)
//
// The collective moves with all nodes that depend on it, which have to be cheap: copies and
// elementwise ops. The values that they return, such as `buffer`, may be read by the rest of the
// body only where the previous iteration does not write, which is computed for every iteration.
// Values stay the same bit for bit. Linear in the size of a loop for each of its collectives.
#include <string.h>

#include "spmd/pipeline_impl.h"

typedef struct forward {
  hlo_pipeliner_t* p;
  hlo_counted_loop_t loop;
  hlo_node_t** list;  // nodes added for one collective
  uint32_t count, capacity;
} forward_t;

static bool add_node(forward_t* f, hlo_node_t* node) {
  if (f->p->moves[node->index]) return true;
  if (!HLO_ARENA_GROW(&f->p->ctx->scratch, f->list, f->count, f->capacity)) return false;
  f->list[f->count++] = node;
  f->p->moves[node->index] = true;
  return true;
}

// Adds a collective and what depends on it. False if something cannot move.
static bool add_dependents(forward_t* f, hlo_node_t* collective) {
  if (!add_node(f, collective)) return false;
  for (uint32_t k = 0; k < f->count; ++k) {
    for (uint32_t i = 0; i < f->list[k]->result_count; ++i) {
      for (const hlo_use_t* use = f->list[k]->results[i].uses; use; use = use->next) {
        if (use->user == f->loop.end) continue;
        if (use->user->parent != f->loop.body || !hlo_pipeline_can_move(use->user) ||
            !add_node(f, use->user)) {
          return false;
        }
      }
    }
  }
  return true;
}

static bool is_moved(const forward_t* f, const hlo_value_t* value) {
  return value->def && value->def->parent == f->loop.body && f->p->moves[value->def->index];
}

// ---- parts of a buffer

// Returns true if what an iteration reads is not what the one before it writes.
static bool are_apart(const forward_t* f, const hlo_node_t* read, const hlo_node_t* write) {
  const hlo_type_t* whole = hlo_node_operand_type(read, 0);
  const int64_t *read_sizes = read->results[0].type->dims,
                *write_sizes = hlo_node_operand_type(write, 1)->dims;
  if (f->loop.trip_count > HLO_PIPELINE_ITERATIONS_MAX || !hlo_type_is_static(whole)) return false;
  for (int32_t i = 1; i < f->loop.trip_count; ++i) {
    int64_t a[HLO_RANK_MAX], b[HLO_RANK_MAX];
    bool overlap = true;
    if (!hlo_pipeline_find_starts(&f->loop, read, 1, i, read_sizes, a) ||
        !hlo_pipeline_find_starts(&f->loop, write, 2, i - 1, write_sizes, b)) {
      return false;
    }
    for (uint32_t d = 0; d < whole->rank; ++d) {
      overlap &= a[d] < b[d] + write_sizes[d] && b[d] < a[d] + read_sizes[d];
    }
    if (overlap) return false;
  }
  return true;
}

// Returns true if a value of slot `slot` is only changed by updates, all apart from `read`.
static bool is_read_apart(const forward_t* f, const hlo_node_t* read, uint32_t slot) {
  const hlo_value_t* value = hlo_node_operand(f->loop.end, slot);
  while (value != f->loop.body->args[slot]) {
    const hlo_node_t* node = value->def;
    if (!node || !is_moved(f, value)) return false;
    if (node->op == HLO_OP_dynamic_update_slice && !are_apart(f, read, node)) return false;
    if (node->op != HLO_OP_dynamic_update_slice && node->op != HLO_OP_optimization_barrier) {
      return false;
    }
    value = hlo_node_operand(node, node->op == HLO_OP_optimization_barrier ? value->number : 0);
  }
  return true;
}

// A barrier around nothing but the buffer that is written moves with the update.
static bool add_barrier(forward_t* f, hlo_node_t* node) {
  if (node->op != HLO_OP_optimization_barrier || node->operand_count != 1) return false;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (use->user->parent != f->loop.body || !f->p->moves[use->user->index] ||
        use->user->op != HLO_OP_dynamic_update_slice ||
        hlo_node_operand(use->user, 0) != &node->results[0]) {
      return false;
    }
  }
  return node->results[0].uses && add_node(f, node);
}

// Returns true if the rest of the body reads a slot only apart from what was written.
static bool slot_is_free(forward_t* f, uint32_t slot) {
  const hlo_value_t* arg = f->loop.body->args[slot];
  if (f->loop.cond->args[slot]->uses) return false;
  for (const hlo_use_t* use = arg->uses; use; use = use->next) {
    hlo_node_t* user = use->user;
    if (user->parent != f->loop.body || user == f->loop.end) return false;
    if (f->p->moves[user->index] || add_barrier(f, user)) continue;
    if (user->op != HLO_OP_dynamic_slice || hlo_node_operand(user, 0) != arg ||
        !is_read_apart(f, user, slot)) {
      return false;
    }
  }
  return true;
}

static bool slots_are_free(forward_t* f) {
  for (uint32_t i = 0; i < f->loop.end->operand_count; ++i) {
    if (is_moved(f, hlo_node_operand(f->loop.end, i)) && !slot_is_free(f, i)) return false;
  }
  return true;
}

// Returns true if an operand of the added nodes is computed by the rest of the body.
static bool waits_for_work(const forward_t* f) {
  for (uint32_t k = 0; k < f->count; ++k) {
    for (uint32_t i = 0; i < f->list[k]->operand_count; ++i) {
      const hlo_value_t* value = hlo_node_operand(f->list[k], i);
      if (value->region == f->loop.body && value->def && !is_moved(f, value) &&
          hlo_op_info(value->def->op)->cost != HLO_COST_INDEX) {
        return true;
      }
    }
  }
  return false;
}

static bool choose(forward_t* f) {
  bool found = false;
  for (hlo_node_t* node = f->loop.body->first; node; node = node->next) {
    if (hlo_op_info(node->op)->cost != HLO_COST_EXCHANGE || f->p->moves[node->index]) continue;
    f->count = 0;
    if (add_dependents(f, node) && slots_are_free(f) && waits_for_work(f)) {
      found = true;
      continue;
    }
    for (uint32_t i = 0; i < f->count; ++i) f->p->moves[f->list[i]->index] = false;
  }
  return found;
}

// ---- the new loop

/// Values that the moved nodes need from the rest of the body, carried to the next iteration.
typedef struct carried {
  uint32_t count, capacity;
  hlo_value_t** values;
} carried_t;

// Returns true if a moved node finds a value as it is: constants are copied.
static bool is_at_hand(const forward_t* f, const hlo_value_t* value) {
  if (value->region != f->loop.body || is_moved(f, value)) return true;
  if (value->def) return value->def->op == HLO_OP_constant;
  return hlo_loop_is_invariant(&f->loop, value->number) ||
         is_moved(f, hlo_node_operand(f->loop.end, value->number));
}

static hlo_status_t find_carried(forward_t* f, carried_t* out) {
  for (const hlo_node_t* node = f->loop.body->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->operand_count && f->p->moves[node->index]; ++i) {
      hlo_value_t* value = hlo_node_operand(node, i);
      uint32_t k = 0;
      if (is_at_hand(f, value)) continue;
      while (k < out->count && out->values[k] != value) ++k;
      if (k < out->count) continue;
      if (!HLO_ARENA_GROW(&f->p->ctx->scratch, out->values, out->count, out->capacity)) {
        return hlo_arena_status(&f->p->ctx->scratch);
      }
      out->values[out->count++] = value;
    }
  }
  return hlo_ok();
}

// Copies nodes of the body before `insertion_point`: those that move and constants, or the others.
static bool copy_part(const forward_t* f, bool moves, hlo_value_map_t* map,
                      hlo_node_t* insertion_point) {
  for (const hlo_node_t* node = f->loop.body->first; node != f->loop.end; node = node->next) {
    const bool is_part = f->p->moves[node->index] == moves || node->op == HLO_OP_constant;
    if (is_part && !hlo_node_copy_before(insertion_point, node, map)) return false;
  }
  return true;
}

// Runs the rest of the first iteration before the loop. initial: what the new loop starts from.
static bool build_first(const forward_t* f, const carried_t* carried, hlo_value_t** initial) {
  hlo_value_map_t map = {0};
  const uint32_t count = f->loop.node->operand_count;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_t* start = hlo_node_operand(f->loop.node, i);
    if (!hlo_value_map_set(&map, &f->p->ctx->scratch, f->loop.body->args[i], start)) return false;
  }
  if (!copy_part(f, false, &map, f->loop.node)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_t* next = hlo_node_operand(f->loop.end, i);
    initial[i] =
        is_moved(f, next) ? hlo_node_operand(f->loop.node, i) : hlo_value_map_get(&map, next);
  }
  for (uint32_t i = 0; i < carried->count; ++i) {
    initial[count + i] = hlo_value_map_get(&map, carried->values[i]);
  }
  return true;
}

// Makes the moved nodes use what the previous iteration carried.
static void use_carried(const forward_t* f, const carried_t* carried, uint32_t first) {
  for (hlo_node_t* node = f->loop.body->first; node != f->loop.end; node = node->next) {
    for (uint32_t i = 0; i < node->operand_count && f->p->moves[node->index]; ++i) {
      uint32_t k = 0;
      while (k < carried->count && carried->values[k] != hlo_node_operand(node, i)) ++k;
      if (k < carried->count) hlo_node_set_operand(node, i, f->loop.body->args[first + k]);
    }
  }
  for (uint32_t k = 0; k < carried->count; ++k) {
    hlo_node_set_operand(f->loop.end, first + k, carried->values[k]);
  }
}

// Runs the moved nodes of the last iteration after the loop, before the old one, and replaces it.
static bool build_last(const forward_t* f, hlo_node_t* old) {
  hlo_value_map_t map = {0};
  for (uint32_t i = 0; i < f->loop.body->arg_count; ++i) {
    if (!hlo_value_map_set(&map, &f->p->ctx->scratch, f->loop.body->args[i],
                           &f->loop.node->results[i])) {
      return false;
    }
  }
  if (!copy_part(f, true, &map, old)) return false;
  for (uint32_t i = 0; i < old->result_count; ++i) {
    hlo_value_t* next = hlo_node_operand(f->loop.end, i);
    hlo_value_replace_uses(&old->results[i], is_moved(f, next) ? hlo_value_map_get(&map, next)
                                                               : &f->loop.node->results[i]);
  }
  hlo_node_erase(old);
  return true;
}

static hlo_status_t rotate(forward_t* f) {
  hlo_arena_t* scratch = &f->p->ctx->scratch;
  hlo_module_t* module = f->loop.body->module;
  carried_t carried = {0};
  HLO_TRY(find_carried(f, &carried));
  const uint32_t count = f->loop.node->operand_count;
  hlo_value_t** initial = hlo_arena_array(scratch, count + carried.count, sizeof *initial);
  const hlo_type_t** types = hlo_arena_array(scratch, carried.count + 1, sizeof *types);
  HLO_TRY(hlo_arena_status(scratch));
  for (uint32_t i = 0; i < carried.count; ++i) types[i] = carried.values[i]->type;
  if (build_first(f, &carried, initial)) {
    hlo_node_t* old = hlo_loop_widen(&f->loop, carried.count, initial, types, scratch);
    if (old) {
      use_carried(f, &carried, count);
      if (build_last(f, old)) ++f->p->ctx->step_count;
    }
  }
  HLO_TRY(hlo_arena_status(scratch));
  return hlo_module_status(module);
}

hlo_status_t hlo_pipeline_forward(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) {
  forward_t forward = {.p = p, .loop = *loop};
  if (!choose(&forward)) return hlo_arena_status(&p->ctx->scratch);
  return rotate(&forward);
}
