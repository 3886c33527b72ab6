// SPDX-License-Identifier: Apache-2.0
// Start and done halves of collectives (see split.h).
#include "codegen/lower/split.h"

#include "base/tuning.h"
#include "codegen/body/split.h"
#include "codegen/lower/op_list.h"
#include "passes/splice.h"

enum {
  DEPTH_LIMIT = 128,
};

// ---- pairs

// Replaces all uses of the collective's results with those of a barrier before `place`.
static void end_before(hlo_node_t* collective, hlo_node_t* place) {
  hlo_module_t* module = collective->parent->module;
  uint32_t count = collective->result_count;
  hlo_value_t** values = hlo_arena_array(&module->arena, count, sizeof *values);
  const hlo_type_t** types = hlo_arena_array(&module->arena, count, sizeof *types);
  if (!values || !types) return;  // the module records the failure
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = &collective->results[i];
    types[i] = values[i]->type;
  }
  hlo_node_t* barrier =
      hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_optimization_barrier,
                                                 .loc = collective->loc,
                                                 .operand_count = count,
                                                 .operands = values,
                                                 .result_count = count,
                                                 .result_types = types});
  if (hlo_node_is_poison(barrier)) return;
  hlo_node_insert_before(place, barrier);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_replace_uses(values[i], &barrier->results[i]);
    hlo_node_set_operand(barrier, i, values[i]);
  }
}

// ---- async_start and async_done

// Returns the only async_done of a start.
static hlo_node_t* find_done(const hlo_node_t* start) {
  if (start->result_count != 1 || start->region_count != 1) return NULL;
  hlo_node_t* done = start->results[0].uses ? start->results[0].uses->user : NULL;
  bool is_pair = done && !start->results[0].uses->next && done->op == HLO_OP_async_done;
  return is_pair ? done : NULL;
}

// Moves the collective before its start. False if it cannot be extracted.
static bool inline_async(hlo_node_t* start, const char* sync) {
  hlo_node_t* done = find_done(start);
  const hlo_node_t* end = done ? hlo_region_terminator(start->regions[0]) : NULL;
  hlo_node_t* last = end ? end->prev : NULL;
  if (!last || end->operand_count != done->result_count || !hlo_splice_own_body(start)) {
    return false;
  }
  for (uint32_t i = 0; i < done->result_count; ++i) {
    hlo_value_replace_uses(&done->results[i], hlo_node_operand(end, i));
  }
  if (hlo_node_is_collective(last) && last->result_count && done->parent == start->parent &&
      !hlo_op_list_has(sync, last->op)) {
    end_before(last, done);
  }
  hlo_node_erase(done);
  hlo_node_erase(start);
  return true;
}

// ---- collectives with results that are used later

static bool is_small(const hlo_node_t* node) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    if (type->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(type)) return false;
    bytes += hlo_type_size_bytes(type);
  }
  return node->result_count > 0 && bytes <= HLO_TUNING_SPLIT_MAX_BYTES;
}

static bool uses_results_of(const hlo_node_t* node, const hlo_node_t* maker) {
  for (uint32_t i = 0; i < maker->result_count; ++i) {
    for (const hlo_use_t* use = maker->results[i].uses; use; use = use->next) {
      if (hlo_region_ancestor(maker->parent, use->user) == node) return true;
    }
  }
  return false;
}

// Returns the node before which a collective must be complete, if others start before it; NULL: the
// collective cannot be split.
static hlo_node_t* find_first_user(const hlo_node_t* collective) {
  bool has_others = false;
  uint32_t distance = 0;
  hlo_node_t* node = collective->next;
  for (; node && distance < HLO_TUNING_SPLIT_MAX_DISTANCE; node = node->next, ++distance) {
    if (uses_results_of(node, collective)) return has_others ? node : NULL;
    has_others |= hlo_node_is_collective(node);
  }
  return NULL;
}

hlo_status_t hlo_split_collectives(hlo_region_t* region, const char* sync) {
  uint32_t depth = 0;
  for (const hlo_region_t* r = region; r->parent; r = r->parent->parent) ++depth;
  if (depth > DEPTH_LIMIT) return hlo_ok();  // refused later
  for (hlo_node_t *node = region->first, *next; node; node = next) {
    hlo_node_t* previous = node->prev;
    if (node->op == HLO_OP_async_start && inline_async(node, sync)) {
      next = previous ? previous->next : region->first;
      continue;
    }
    next = node->next;
    for (uint32_t i = 0; i < node->region_count && !hlo_node_is_collective(node); ++i) {
      HLO_TRY(hlo_split_collectives(node->regions[i], sync));
    }
  }
  for (hlo_node_t* node = region->first; node; node = node->next) {
    if (!hlo_node_is_collective(node) || !is_small(node) || hlo_split_end(node)) continue;
    if (hlo_op_list_has(sync, node->op)) continue;
    hlo_node_t* user = find_first_user(node);
    if (user) end_before(node, user);
  }
  return hlo_module_status(region->module);
}
