// SPDX-License-Identifier: Apache-2.0
// Pass pipeline_collectives, backward: a collective that an iteration begins with runs in the one
// before, beside the work there.
//
//   for i: work(collective(part(i)))                                  becomes
//
//   y = collective(part(first))
//   for i but the last: work(y); y = collective(part(i + 1))
//   work(y)
//
// The operands come from values that do not change in the loop and from its counter, through cheap
// nodes, which are copied. Values stay the same bit for bit. Linear in the size of a loop for each
// of its collectives.
#include "spmd/pipeline_impl.h"

typedef struct backward {
  hlo_pipeliner_t* p;
  hlo_counted_loop_t loop;
  hlo_node_t** list;  // nodes added for one collective
  uint32_t count, capacity;
  hlo_node_t** collectives;
  uint32_t collective_count, collective_capacity;
} backward_t;

static bool add_node(backward_t* b, hlo_node_t* node) {
  if (b->p->moves[node->index]) return true;
  if (!HLO_ARENA_GROW(&b->p->ctx->scratch, b->list, b->count, b->capacity)) return false;
  b->list[b->count++] = node;
  b->p->moves[node->index] = true;
  return true;
}

// Adds a collective and what it depends on. False if something cannot move.
static bool add_sources(backward_t* b, hlo_node_t* collective) {
  if (!add_node(b, collective)) return false;
  for (uint32_t k = 0; k < b->count; ++k) {
    if (!hlo_pipeline_can_move(b->list[k])) return false;
    for (uint32_t i = 0; i < b->list[k]->operand_count; ++i) {
      const hlo_value_t* value = hlo_node_operand(b->list[k], i);
      if (value->region != b->loop.body) continue;
      const bool is_known = value->def ? add_node(b, value->def)
                                       : value->number == b->loop.counter ||
                                             hlo_loop_is_invariant(&b->loop, value->number);
      if (!is_known) return false;
    }
  }
  return true;
}

// Returns true if the rest of the body uses a collective, which the sources of others are not.
static bool has_work(const backward_t* b, const hlo_node_t* collective) {
  for (uint32_t i = 0; i < collective->result_count; ++i) {
    for (const hlo_use_t* use = collective->results[i].uses; use; use = use->next) {
      if (use->user != b->loop.end && !hlo_op_has(use->user->op, HLO_TRAIT_COLLECTIVE)) return true;
    }
  }
  return false;
}

static bool choose(backward_t* b) {
  for (hlo_node_t* node = b->loop.body->first; node; node = node->next) {
    if (hlo_op_info(node->op)->cost != HLO_COST_EXCHANGE || !has_work(b, node)) continue;
    b->count = 0;
    if (!add_sources(b, node)) {
      for (uint32_t i = 0; i < b->count; ++i) b->p->moves[b->list[i]->index] = false;
      continue;
    }
    if (!HLO_ARENA_GROW(&b->p->ctx->scratch, b->collectives, b->collective_count,
                        b->collective_capacity)) {
      return false;
    }
    b->collectives[b->collective_count++] = node;
  }
  return b->collective_count > 0;
}

// ---- the new loop

// Copies the moved nodes before `insertion_point`, for an iteration that starts from values[].
static bool copy_sources(const backward_t* b, hlo_value_t* const* values, uint32_t count,
                         hlo_value_map_t* map, hlo_node_t* insertion_point) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!hlo_value_map_set(map, &b->p->ctx->scratch, b->loop.body->args[i], values[i])) {
      return false;
    }
  }
  const hlo_node_t* last = b->loop.end->prev;  // copies in the body follow it
  for (const hlo_node_t* node = b->loop.body->first;; node = node->next) {
    if (b->p->moves[node->index] && !hlo_node_copy_before(insertion_point, node, map)) return false;
    if (node == last) return true;
  }
}

static uint32_t result_count(const backward_t* b) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < b->collective_count; ++k) count += b->collectives[k]->result_count;
  return count;
}

// Lists the results of the collectives, or what a map has for them.
static void list_results(const backward_t* b, const hlo_value_map_t* map, hlo_value_t** out) {
  for (uint32_t k = 0; k < b->collective_count; ++k) {
    for (uint32_t i = 0; i < b->collectives[k]->result_count; ++i) {
      *out++ = hlo_value_map_get(map, &b->collectives[k]->results[i]);
    }
  }
}

// Makes the body use the carried results, from argument `first` on, and compute those of the next
// iteration. values: room for all carried values.
static bool build_next(const backward_t* b, uint32_t first, hlo_value_t** values) {
  hlo_value_map_t map = {0}, none = {0};
  const uint32_t count = result_count(b);
  for (uint32_t i = 0; i < first; ++i) values[i] = hlo_node_operand(b->loop.end, i);
  if (!copy_sources(b, values, first, &map, b->loop.end)) return false;
  list_results(b, &map, values);
  for (uint32_t i = 0; i < count; ++i) hlo_node_set_operand(b->loop.end, first + i, values[i]);
  list_results(b, &none, values);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_replace_uses(values[i], b->loop.body->args[first + i]);
  }
  return true;
}

// Erases the nodes up to `last` that only computed operands of the old collectives.
static void erase_old(const backward_t* b, hlo_node_t* last) {
  for (hlo_node_t *node = last, *before; node; node = before) {
    bool is_used = !b->p->moves[node->index];
    before = node->prev;
    for (uint32_t i = 0; i < node->result_count && !is_used; ++i) is_used = node->results[i].uses;
    if (!is_used) hlo_node_erase(node);
  }
}

// Copies the body without what is new, from `stop` on, before the old loop as the last iteration,
// and replaces that loop.
static bool build_last(const backward_t* b, hlo_node_t* old, const hlo_node_t* stop) {
  hlo_value_map_t map = {0};
  for (uint32_t i = 0; i < b->loop.body->arg_count; ++i) {
    if (!hlo_value_map_set(&map, &b->p->ctx->scratch, b->loop.body->args[i],
                           &b->loop.node->results[i])) {
      return false;
    }
  }
  for (const hlo_node_t* node = b->loop.body->first; node != stop; node = node->next) {
    if (!hlo_node_copy_before(old, node, &map)) return false;
  }
  for (uint32_t i = 0; i < old->result_count; ++i) {
    hlo_value_replace_uses(&old->results[i],
                           hlo_value_map_get(&map, hlo_node_operand(b->loop.end, i)));
  }
  hlo_node_erase(old);
  return true;
}

// Builds the loop; initial[] has room for all carried values, types[] for the new ones.
static bool build(backward_t* b, hlo_value_t** initial, const hlo_type_t** types) {
  hlo_value_map_t map = {0};
  hlo_node_t* loop = b->loop.node;
  const uint32_t first = loop->operand_count, count = result_count(b);
  for (uint32_t i = 0; i < first; ++i) initial[i] = hlo_node_operand(loop, i);
  if (!copy_sources(b, initial, first, &map, loop)) return false;
  list_results(b, &map, initial + first);
  for (uint32_t i = 0; i < count; ++i) types[i] = initial[first + i]->type;
  hlo_node_t* old = hlo_loop_widen(&b->loop, count, initial, types, &b->p->ctx->scratch);
  hlo_node_t* last = b->loop.end->prev;
  if (!old || !build_next(b, first, initial)) return false;
  const hlo_node_t* stop = last->next;
  erase_old(b, last);
  return build_last(b, old, stop);
}

hlo_status_t hlo_pipeline_backward(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) {
  backward_t b = {.p = p, .loop = *loop};
  hlo_module_t* module = loop->body->module;
  const bool found = choose(&b);
  HLO_TRY(hlo_arena_status(&p->ctx->scratch));
  if (!found || !hlo_counted_loop_shorten(&b.loop)) return hlo_module_status(module);
  const uint32_t count = result_count(&b);
  hlo_value_t** initial =
      hlo_arena_array(&p->ctx->scratch, loop->node->operand_count + count, sizeof *initial);
  const hlo_type_t** types = hlo_arena_array(&p->ctx->scratch, count, sizeof *types);
  HLO_TRY(hlo_arena_status(&p->ctx->scratch));
  if (build(&b, initial, types)) ++p->ctx->step_count;
  HLO_TRY(hlo_arena_status(&p->ctx->scratch));
  return hlo_module_status(module);
}
