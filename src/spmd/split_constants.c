// SPDX-License-Identifier: Apache-2.0
// Copies of constants for each of their uses, before propagation: a mask that two matrices of
// different shardings use is cheaper made twice than sent. Equal ops are merged later.
// source : Shardy, "constant or scalar splitter"
#include "ir/clone.h"
#include "spmd/propagate_impl.h"

typedef struct splitter {
  hlo_arena_t* arena;
  bool* is_constant;  // by node->index: computed from constants alone
  bool* is_spread;    // by node->index: a broadcast scalar
  uint32_t node_count;
  hlo_value_map_t map;
  uint64_t budget;  // copies that are left
  hlo_node_t** chain;
  uint32_t chain_count, chain_capacity;
  hlo_node_t** found;
  uint32_t found_count, found_capacity;
} splitter_t;

static bool keeps_constants(const hlo_node_t* node) {
  return node->op == HLO_OP_broadcast_in_dim || node->op == HLO_OP_reshape ||
         node->op == HLO_OP_slice || node->op == HLO_OP_sdy_sharding_constraint ||
         hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE);
}

// All uses of a value of a group are divided as the group is.
static bool is_in_group(const hlo_node_t* node) {
  const hlo_use_t* use = node->result_count == 1 ? node->results[0].uses : NULL;
  while (use && use->user->op != HLO_OP_sdy_sharding_group) use = use->next;
  return use != NULL;
}

static bool is_marked(const bool* marks, const splitter_t* s, const hlo_value_t* value) {
  return value->def && value->def->index < s->node_count && marks[value->def->index];
}

static bool is_scalar(const hlo_value_t* value) {
  return !hlo_type_is_tensor(value->type) || value->type->rank == 0;
}

// Collects the nodes of a value's computation that are to be copied, operands first. Returns false
// if no copy is needed: this is the only use of all of them.
static bool collect(splitter_t* s, hlo_node_t* root) {
  bool is_shared = false;
  s->chain_count = s->found_count = 0;
  if (!HLO_ARENA_GROW(s->arena, s->chain, 0, s->chain_capacity)) return false;
  s->chain[s->chain_count++] = root;
  while (s->chain_count) {
    hlo_node_t* node = s->chain[s->chain_count - 1];
    hlo_node_t* below = NULL;
    for (uint32_t i = 0; i < node->operand_count && !below; ++i) {
      const hlo_value_t* operand = hlo_node_operand(node, i);
      if (is_scalar(operand) || !is_marked(s->is_constant, s, operand)) continue;
      if (!s->map.values[operand->index]) below = operand->def;
    }
    hlo_node_t*** list = below ? &s->chain : &s->found;
    uint32_t* count = below ? &s->chain_count : &s->found_count;
    uint32_t* capacity = below ? &s->chain_capacity : &s->found_capacity;
    if (!hlo_arena_grow(s->arena, list, *count, capacity, sizeof **list)) break;
    (*list)[(*count)++] = below ? below : node;
    if (below) continue;
    --s->chain_count;
    s->map.values[node->results[0].index] = &node->results[0];  // seen; the copy comes later
    is_shared = is_shared || (node->results[0].uses && node->results[0].uses->next);
  }
  for (uint32_t i = 0; i < s->found_count; ++i) {
    s->map.values[s->found[i]->results[0].index] = NULL;
  }
  return is_shared && !s->arena->failed;
}

static void split_use(splitter_t* s, hlo_node_t* user, uint32_t operand) {
  hlo_value_t* value = hlo_node_operand(user, operand);
  if (!collect(s, value->def) || s->found_count > s->budget) return;
  s->budget -= s->found_count;
  for (uint32_t i = 0; i < s->found_count; ++i) {
    hlo_node_t* copy = hlo_node_clone(user->parent, s->found[i], &s->map);
    if (hlo_node_is_poison(copy)) return;
    hlo_node_unlink(copy);
    hlo_node_insert_before(user, copy);
  }
  hlo_node_set_operand(user, operand, s->map.values[value->index]);
  for (uint32_t i = 0; i < s->found_count; ++i) {
    s->map.values[s->found[i]->results[0].index] = NULL;
  }
}

static hlo_status_t split_node(void* context, hlo_node_t* node) {
  splitter_t* s = context;
  if (node->index >= s->node_count) return hlo_ok();  // a copy
  bool is_constant = hlo_op_has(node->op, HLO_TRAIT_CONSTANT) || node->op == HLO_OP_iota;
  if (!is_constant && node->operand_count && keeps_constants(node)) {
    is_constant = true;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      is_constant = is_constant && is_marked(s->is_constant, s, hlo_node_operand(node, i));
    }
  }
  const bool is_grouped = is_in_group(node);
  s->is_constant[node->index] = is_constant && !is_grouped;
  if (s->is_constant[node->index]) return hlo_ok();
  if (node->op == HLO_OP_broadcast_in_dim && is_scalar(hlo_node_operand(node, 0)) && !is_grouped) {
    s->is_spread[node->index] = true;
    return hlo_ok();
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    if (is_scalar(operand)) continue;
    if (is_marked(s->is_constant, s, operand) || is_marked(s->is_spread, s, operand)) {
      split_use(s, node, i);
    }
  }
  return hlo_ok();
}

// Erases the originals that no use is left of.
static void erase_unused(const splitter_t* s, hlo_region_t* region) {
  hlo_node_t* before;
  for (hlo_node_t* node = region->last; node; node = before) {
    before = node->prev;
    for (uint32_t i = 0; i < node->region_count; ++i) erase_unused(s, node->regions[i]);
    if (node->index >= s->node_count) continue;
    const bool is_split = s->is_constant[node->index] || s->is_spread[node->index];
    if (is_split && hlo_value_is_unused(&node->results[0])) hlo_node_erase(node);
  }
}

hlo_status_t hlo_spmd_split_constants(hlo_func_t* func, hlo_arena_t* arena) {
  hlo_module_t* module = func->module;
  splitter_t s = {.arena = arena, .node_count = module->node_count};
  s.is_constant = hlo_arena_alloc_zeroed(arena, s.node_count + 1);
  s.is_spread = hlo_arena_alloc_zeroed(arena, s.node_count + 1);
  s.map.count = module->value_count;
  s.map.values = hlo_arena_array(arena, s.map.count + 1, sizeof *s.map.values);
  if (!s.is_constant || !s.is_spread || !s.map.values) return hlo_arena_status(arena);
  // A long computation from constants with many uses stays shared rather than fill the memory.
  s.budget = 8 * (uint64_t)module->node_count + 4096;
  HLO_TRY(hlo_region_walk(func->body, false, split_node, &s));
  HLO_TRY(hlo_arena_status(arena));
  erase_unused(&s, func->body);
  return hlo_module_status(module);
}
