// SPDX-License-Identifier: Apache-2.0
// Edits of the graph: nodes are removed, or replaced by values that are already computed.
#include <string.h>

#include "dev/shrink_impl.h"
#include "passes/build.h"
#include "passes/splice.h"

static bool is_terminator(const hlo_node_t* node) {
  return hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR;
}

static bool is_splat(const hlo_node_t* node) {
  const hlo_attr_t* value =
      node->op == HLO_OP_constant ? hlo_node_attr(node, HLO_ATTR_value) : NULL;
  return value && value->kind == HLO_ATTR_KIND_LITERAL && value->literal->is_splat;
}

// Returns true for types with a known shape and plain elements.
static bool is_plain(const hlo_type_t* type) {
  return hlo_type_is_static(type) && !type->quant && !type->encoding;
}

// Finds the entry and its terminator; returns false if there is no entry.
static bool find_entry(hlo_module_t* module, hlo_func_t** out_func, hlo_node_t** out_end) {
  hlo_func_t* func = hlo_module_entry(module);
  hlo_node_t* end = func && func->body ? hlo_region_terminator(func->body) : NULL;
  *out_func = func;
  *out_end = end;
  return end != NULL;
}

hlo_status_t hlo_shrink_functions(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  const hlo_func_t* entry = hlo_module_entry(module);
  hlo_func_t* next;
  for (hlo_func_t* f = module->first_func; f; f = next) {
    next = f->next;
    if (f != entry && hlo_shrink_picks(pick)) hlo_func_remove(f);
  }
  return hlo_ok();
}

// ---- results and arguments of the entry

// Replaces the operands of a region's terminator.
static hlo_status_t set_terminator(hlo_node_t* end, uint32_t count, hlo_value_t** values) {
  hlo_module_t* module = end->parent->module;
  hlo_node_spec_t spec = {
      .op = end->op, .loc = end->loc, .operand_count = count, .operands = values};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return hlo_module_status(module);
  hlo_node_insert_before(end, node);
  hlo_node_erase(end);
  return hlo_ok();
}

// Returns values[i], which has the attributes of the old result origins[i].
static hlo_status_t set_results(hlo_func_t* func, hlo_node_t* end, uint32_t count,
                                hlo_value_t** values, const uint32_t* origins) {
  hlo_module_t* module = func->module;
  HLO_TRY(set_terminator(end, count, values));
  if (!func->result_attrs) return hlo_ok();
  const hlo_attr_t** attrs = hlo_arena_array(&module->arena, count + 1, sizeof *attrs);
  if (!attrs) return hlo_module_status(module);
  for (uint32_t i = 0; i < count; ++i) attrs[i] = func->result_attrs[origins[i]];
  func->result_attrs = attrs;
  return hlo_ok();
}

typedef struct results {
  uint32_t count;
  hlo_value_t** values;
  uint32_t* origins;
} results_t;

static bool make_results(hlo_module_t* module, size_t capacity, results_t* out) {
  out->count = 0;
  out->values = hlo_arena_array(&module->arena, capacity + 1, sizeof *out->values);
  out->origins = hlo_arena_array(&module->arena, capacity + 1, sizeof *out->origins);
  return out->values && out->origins;
}

static void add_result(results_t* results, hlo_value_t* value, uint32_t origin) {
  results->values[results->count] = value;
  results->origins[results->count++] = origin;
}

hlo_status_t hlo_shrink_results(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  results_t kept;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  if (!make_results(module, end->operand_count, &kept)) return hlo_module_status(module);
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    if (!hlo_shrink_picks(pick)) add_result(&kept, hlo_node_operand(end, i), i);
  }
  return set_results(func, end, kept.count, kept.values, kept.origins);
}

// Returns the operands of a result's node instead of the result.
hlo_status_t hlo_shrink_to_operands(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  results_t all;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  size_t capacity = end->operand_count;
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    const hlo_node_t* def = hlo_node_operand(end, i)->def;
    if (def) capacity += def->operand_count;
  }
  if (!make_results(module, capacity, &all)) return hlo_module_status(module);
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(end, i);
    const hlo_node_t* def = value->def;
    if (!def || !def->operand_count || !hlo_shrink_picks(pick)) {
      add_result(&all, value, i);
      continue;
    }
    for (uint32_t j = 0; j < def->operand_count; ++j) {
      if (hlo_type_is_tensor(hlo_node_operand_type(def, j))) {
        add_result(&all, hlo_node_operand(def, j), i);
      }
    }
  }
  return set_results(func, end, all.count, all.values, all.origins);
}

static hlo_status_t add_argument(hlo_func_t* func, hlo_value_t* stands_for) {
  hlo_module_t* module = func->module;
  uint32_t count = func->body->arg_count;
  hlo_value_t* arg = hlo_region_add_arg(func->body, stands_for->type);
  if (!arg) return hlo_module_status(module);
  hlo_value_replace_uses(stands_for, arg);
  if (!func->arg_attrs) return hlo_ok();
  const hlo_attr_t** attrs = hlo_arena_array(&module->arena, count + 1, sizeof *attrs);
  if (!attrs) return hlo_module_status(module);
  memcpy(attrs, func->arg_attrs, count * sizeof *attrs);
  func->arg_attrs = attrs;
  return hlo_ok();
}

// Replaces the nodes computed first by arguments.
hlo_status_t hlo_shrink_to_arguments(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  hlo_node_t* previous;
  for (hlo_node_t* node = end->prev; node; node = previous) {
    previous = node->prev;
    if (!node->result_count || is_splat(node) || !hlo_shrink_picks(pick)) continue;
    bool may_go = true;
    for (uint32_t i = 0; i < node->result_count; ++i) {
      hlo_value_t* result = &node->results[i];
      if (hlo_value_is_unused(result)) continue;
      may_go &= is_plain(result->type);
      if (is_plain(result->type)) HLO_TRY(add_argument(func, result));
    }
    if (may_go) hlo_node_erase(node);
  }
  return hlo_ok();
}

// Removes unused arguments.
hlo_status_t hlo_shrink_arguments(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  hlo_region_t* body = func->body;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    hlo_value_t* arg = body->args[i];
    if (hlo_shrink_picks(pick) && hlo_value_is_unused(arg)) continue;
    if (func->arg_attrs) func->arg_attrs[kept] = func->arg_attrs[i];
    arg->number = kept;
    body->args[kept++] = arg;
  }
  body->arg_count = kept;
  return hlo_ok();
}

// ---- replacements of results

// Creates, before the node, the replacement of its result i; NULL: none.
typedef hlo_value_t* (*instead_t)(hlo_node_t* node, uint32_t i);

// Visits inner nodes first, so that no removed node is edited.
static hlo_status_t replace(hlo_module_t* module, hlo_shrink_pick_t* pick, instead_t instead) {
  hlo_shrink_nodes_t nodes;
  HLO_TRY(hlo_shrink_list_nodes(module, &nodes));
  for (uint32_t n = nodes.count; n-- > 0;) {
    hlo_node_t* node = nodes.items[n];
    if (is_terminator(node) || is_splat(node) || !hlo_shrink_picks(pick)) continue;
    bool may_go = node->result_count > 0;
    for (uint32_t i = 0; i < node->result_count; ++i) {
      if (hlo_value_is_unused(&node->results[i])) continue;
      hlo_value_t* value = instead(node, i);
      if (value) hlo_value_replace_uses(&node->results[i], value);
      may_go &= value != NULL;
    }
    if (may_go) hlo_node_erase(node);
  }
  return hlo_module_status(module);
}

// Returns operand i for result i of loops and barriers, else an operand that has the result's type.
static hlo_value_t* operand_like(hlo_node_t* node, uint32_t i, bool is_last) {
  const hlo_type_t* type = node->results[i].type;
  hlo_value_t* found = NULL;
  if (node->operand_count == node->result_count && hlo_node_operand_type(node, i) == type) {
    return hlo_node_operand(node, i);
  }
  for (uint32_t j = 0; j < node->operand_count && (!found || is_last); ++j) {
    if (hlo_node_operand_type(node, j) == type) found = hlo_node_operand(node, j);
  }
  return found;
}

static hlo_value_t* first_operand(hlo_node_t* node, uint32_t i) {
  return operand_like(node, i, false);
}

static hlo_value_t* last_operand(hlo_node_t* node, uint32_t i) {
  return operand_like(node, i, true);
}

hlo_status_t hlo_shrink_to_first_operand(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  return replace(module, pick, first_operand);
}

hlo_status_t hlo_shrink_to_last_operand(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  return replace(module, pick, last_operand);
}

static hlo_value_t* zeros(hlo_node_t* node, uint32_t i) {
  const hlo_type_t* type = node->results[i].type;
  if (!is_plain(type)) return NULL;
  return hlo_build_constant(node, type, hlo_build_literal(node->parent->module, type, true));
}

hlo_status_t hlo_shrink_to_zeros(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  return replace(module, pick, zeros);
}

// ---- control flow

// Returns a region that one execution of the node may run: a branch, or one iteration of a loop;
// NULL without a region.
static hlo_region_t* run_once(const hlo_node_t* node, bool is_last) {
  switch (node->op) {
    case HLO_OP_while: return node->regions[1];
    case HLO_OP_if:
    case HLO_OP_case: return node->regions[is_last ? node->region_count - 1 : 0];
    default: return NULL;
  }
}

static hlo_status_t open(hlo_module_t* module, hlo_shrink_pick_t* pick, bool is_last) {
  hlo_shrink_nodes_t nodes;
  HLO_TRY(hlo_shrink_list_nodes(module, &nodes));
  hlo_splicer_t splicer = {.arena = &module->arena};
  for (uint32_t n = nodes.count; n-- > 0;) {
    hlo_node_t* node = nodes.items[n];
    const hlo_region_t* body = run_once(node, is_last);
    if (!body || !hlo_shrink_picks(pick)) continue;
    hlo_value_t** values = hlo_arena_array(&module->arena, node->operand_count + 1, sizeof *values);
    if (!values) return hlo_module_status(module);
    for (uint32_t i = 0; i < node->operand_count; ++i) values[i] = hlo_node_operand(node, i);
    HLO_TRY(hlo_splice(&splicer, body, values, node, NULL, NULL));
    for (uint32_t i = 0; i < node->result_count; ++i) {
      hlo_value_replace_uses(&node->results[i], hlo_splice_result(&splicer, body, i));
    }
    hlo_node_erase(node);
  }
  return hlo_ok();
}

hlo_status_t hlo_shrink_to_first_region(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  return open(module, pick, false);
}

hlo_status_t hlo_shrink_to_last_region(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  return open(module, pick, true);
}

// Removes the values of a loop that are not kept; their uses read the initial values.
static hlo_status_t carry_less(hlo_node_t* loop, const bool* is_kept) {
  hlo_module_t* module = loop->parent->module;
  const uint32_t all = loop->operand_count;
  hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  hlo_value_t** operands = hlo_arena_array(&module->arena, all + 1, sizeof *operands);
  hlo_value_t** returned = hlo_arena_array(&module->arena, all + 1, sizeof *returned);
  const hlo_type_t** types = hlo_arena_array(&module->arena, all + 1, sizeof *types);
  if (!operands || !returned || !types) return hlo_module_status(module);
  uint32_t count = 0;
  for (uint32_t i = 0; i < all; ++i) {
    hlo_value_t* operand = hlo_node_operand(loop, i);
    for (uint32_t r = 0; r < loop->region_count; ++r) {
      hlo_value_t* arg = loop->regions[r]->args[i];
      if (!is_kept[i]) hlo_value_replace_uses(arg, operand);
      arg->number = count;
      if (is_kept[i]) loop->regions[r]->args[count] = arg;
    }
    if (!is_kept[i]) {
      hlo_value_replace_uses(&loop->results[i], operand);
      continue;
    }
    types[count] = operand->type;
    operands[count] = operand;
    returned[count++] = hlo_node_operand(end, i);
  }
  HLO_TRY(set_terminator(end, count, returned));
  hlo_node_spec_t spec = {.op = loop->op,
                          .loc = loop->loc,
                          .operand_count = count,
                          .operands = operands,
                          .region_count = loop->region_count,
                          .result_count = count,
                          .result_types = types};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return hlo_module_status(module);
  hlo_node_insert_before(loop, node);
  for (uint32_t r = 0; r < loop->region_count; ++r) {
    hlo_region_t* region = loop->regions[r];
    loop->regions[r] = node->regions[r];
    loop->regions[r]->parent = loop;
    node->regions[r] = region;
    region->parent = node;
    region->arg_count = count;
  }
  count = 0;
  for (uint32_t i = 0; i < all; ++i) {
    if (is_kept[i]) hlo_value_replace_uses(&loop->results[i], &node->results[count++]);
  }
  hlo_node_erase(loop);
  return hlo_ok();
}

hlo_status_t hlo_shrink_loops(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  hlo_shrink_nodes_t nodes;
  HLO_TRY(hlo_shrink_list_nodes(module, &nodes));
  for (uint32_t n = nodes.count; n-- > 0;) {
    hlo_node_t* node = nodes.items[n];
    if (node->op != HLO_OP_while) continue;
    bool* is_kept = hlo_arena_array(&module->arena, node->operand_count + 1, sizeof *is_kept);
    if (!is_kept) return hlo_module_status(module);
    bool is_less = false;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      is_kept[i] = !hlo_shrink_picks(pick);
      is_less |= !is_kept[i];
    }
    if (is_less) HLO_TRY(carry_less(node, is_kept));
  }
  return hlo_ok();
}
