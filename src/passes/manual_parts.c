// SPDX-License-Identifier: Apache-2.0
// Finds and moves the ops of manual computations (see manual_parts.h).
#include "passes/manual_parts.h"

#include <string.h>

#include "ir/clone.h"
#include "ir/custom_call.h"
#include "passes/passes.h"

static bool is_call_of(const hlo_node_t* node, const char* a, const char* b) {
  if (node->op != HLO_OP_custom_call || node->operand_count != node->result_count ||
      node->operand_count == 0) {
    return false;
  }
  const char* target = hlo_custom_call_target(node);
  return strcmp(target, a) == 0 || strcmp(target, b) == 0;
}

static bool is_entry(const hlo_node_t* node) {
  return is_call_of(node, "SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape");
}

static bool is_exit(const hlo_node_t* node) {
  return is_call_of(node, "SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape");
}

// ---- finding

// The ops of a region by position, in sets: parents[i] leads to the first op of its set; NONE: an
// op outside of all parts.
typedef struct finder {
  hlo_arena_t* arena;
  uint32_t count;
  hlo_node_t** nodes;
  uint32_t* parents;
  uint32_t* nexts;      // the next op of the same set, or NONE
  uint32_t* sizes;      // of the set that an op is the first of
  uint32_t* positions;  // by index of the node
} finder_t;

enum { NONE = UINT32_MAX };

static uint32_t root_of(finder_t* f, uint32_t i) {
  while (f->parents[i] != i) i = f->parents[i] = f->parents[f->parents[i]];
  return i;
}

static void join(finder_t* f, uint32_t a, uint32_t b) {
  a = root_of(f, a);
  b = root_of(f, b);
  f->parents[a > b ? a : b] = a > b ? b : a;
}

// Adds a user of a value to the part that the value belongs to, if any.
static void add_use(finder_t* f, const hlo_region_t* region, uint32_t user,
                    const hlo_value_t* value) {
  if (!value->def || value->region != region || is_exit(value->def)) return;
  const uint32_t source = f->positions[value->def->index];
  if (f->parents[source] == NONE) return;
  if (f->parents[user] == NONE) f->parents[user] = user;
  join(f, user, source);
}

// Begins the sets: entries, exits, and what makes values for exits from nothing, such as calls
// without arguments. Constants stay outside: parts compute them again.
static void begin_sets(finder_t* f, const hlo_region_t* region) {
  for (uint32_t i = 0; i < f->count; ++i) {
    f->parents[i] = is_entry(f->nodes[i]) || is_exit(f->nodes[i]) ? i : NONE;
  }
  for (uint32_t i = f->count; i-- > 0;) {
    const hlo_node_t* node = f->nodes[i];
    if (f->parents[i] == NONE || is_entry(node)) continue;
    for (uint32_t o = 0; o < node->operand_count; ++o) {
      const hlo_node_t* def = hlo_node_operand(node, o)->def;
      if (!def || def->parent != region || is_exit(def)) continue;
      const bool is_constant = hlo_op_has(def->op, HLO_TRAIT_PURE) && !def->region_count;
      const uint32_t source = f->positions[def->index];
      if (!is_constant) f->parents[source] = source;
    }
  }
}

static hlo_status_t find_sets(finder_t* f, const hlo_region_t* region) {
  begin_sets(f, region);
  for (uint32_t i = 0; i < f->count; ++i) {
    const hlo_node_t* node = f->nodes[i];
    if (is_entry(node)) continue;
    for (uint32_t o = 0; o < node->operand_count; ++o) {
      add_use(f, region, i, hlo_node_operand(node, o));
    }
    if (!node->region_count) continue;
    uint32_t count;
    const hlo_value_t** captures;
    HLO_TRY(hlo_node_captures(node, f->arena, &count, &captures));
    for (uint32_t c = 0; c < count; ++c) add_use(f, region, i, captures[c]);
  }
  return hlo_ok();
}

// Chains the ops of each set.
static void chain_sets(finder_t* f) {
  for (uint32_t i = 0; i < f->count; ++i) f->nexts[i] = NONE;
  for (uint32_t i = f->count; i-- > 0;) {
    if (f->parents[i] == NONE) continue;
    const uint32_t root = root_of(f, i);  // the first op of the set
    ++f->sizes[root];
    if (root == i) continue;
    f->nexts[i] = f->nexts[root];
    f->nexts[root] = i;
  }
}

static hlo_status_t visit_set(finder_t* f, uint32_t root, hlo_manual_part_visit_t visit,
                              void* context) {
  const size_t size = f->sizes[root];
  hlo_node_t** lists = hlo_arena_array(f->arena, 3 * size, sizeof *lists);
  if (!lists) return hlo_arena_status(f->arena);
  hlo_manual_part_t part = {.entries = lists,
                            .members = lists + size,
                            .exits = lists + 2 * size,
                            .positions = f->positions};
  for (uint32_t i = root; i != NONE; i = f->nexts[i]) {
    hlo_node_t* node = f->nodes[i];
    if (hlo_op_has(node->op, HLO_TRAIT_TERMINATOR)) {
      return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED,
                            "returns a value that each device has for itself");
    }
    if (is_entry(node)) {
      part.entries[part.entry_count++] = node;
    } else if (is_exit(node)) {
      part.exits[part.exit_count++] = node;
    } else {
      part.members[part.member_count++] = node;
    }
  }
  return visit(context, &part);
}

static hlo_status_t find_in_region(hlo_region_t* region, uint32_t* positions, hlo_arena_t* arena,
                                   hlo_manual_part_visit_t visit, void* context) {
  finder_t f = {.arena = arena, .positions = positions};
  bool found = false;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    found |= is_entry(node) || is_exit(node);
    ++f.count;
  }
  if (!found) return hlo_ok();
  f.nodes = hlo_arena_array(arena, f.count, sizeof *f.nodes);
  f.parents = hlo_arena_array(arena, f.count, sizeof *f.parents);
  f.nexts = hlo_arena_array(arena, f.count, sizeof *f.nexts);
  f.sizes = hlo_arena_array(arena, f.count, sizeof *f.sizes);
  HLO_TRY(hlo_arena_status(arena));
  uint32_t at = 0;
  for (hlo_node_t* node = region->first; node; node = node->next) {
    positions[node->index] = at;
    f.nodes[at++] = node;
  }
  HLO_TRY(find_sets(&f, region));
  chain_sets(&f);
  for (uint32_t i = 0; i < f.count; ++i) {
    if (f.parents[i] == i) HLO_TRY(visit_set(&f, i, visit, context));
  }
  return hlo_ok();
}

// The regions that exist before any part is visited.
typedef struct regions {
  hlo_arena_t* arena;
  uint32_t count, capacity;
  hlo_region_t** items;
} regions_t;

static hlo_status_t add_region(regions_t* list, hlo_region_t* region) {
  if (!HLO_ARENA_GROW(list->arena, list->items, list->count, list->capacity)) {
    return hlo_arena_status(list->arena);
  }
  list->items[list->count++] = region;
  return hlo_ok();
}

static hlo_status_t add_regions_of(void* context, hlo_node_t* node) {
  for (uint32_t r = 0; r < node->region_count; ++r) {
    HLO_TRY(add_region(context, node->regions[r]));
  }
  return hlo_ok();
}

hlo_status_t hlo_manual_parts_find(hlo_module_t* module, hlo_arena_t* arena,
                                   hlo_manual_part_visit_t visit, void* context) {
  regions_t regions = {.arena = arena};
  uint32_t* positions = hlo_arena_array(arena, module->node_count, sizeof *positions);
  if (!positions) return hlo_arena_status(arena);
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(add_region(&regions, func->body));
  }
  HLO_TRY(hlo_module_walk(module, false, add_regions_of, &regions));
  for (uint32_t i = 0; i < regions.count; ++i) {
    HLO_TRY(find_in_region(regions.items[i], positions, arena, visit, context));
  }
  return hlo_ok();
}

// ---- building

typedef struct builder {
  hlo_module_t* module;
  const hlo_manual_part_t* part;
  hlo_node_t* node;  // the manual computation
  hlo_region_t* body;
  hlo_value_map_t map;  // values that are computed again
  hlo_arena_t arena;
} builder_t;

static bool precedes(const hlo_node_t* a, const hlo_node_t* b) {
  while (a && a != b) a = a->next;
  return a != NULL;
}

// Returns the op before which the computation stands: the first exit, else what follows the last
// member.
static hlo_node_t* place_of(const hlo_manual_part_t* part) {
  if (part->exit_count) return part->exits[0];
  if (part->member_count) return part->members[part->member_count - 1]->next;
  return part->entries[part->entry_count - 1]->next;
}

static hlo_status_t check_order(const hlo_manual_part_t* part, const hlo_node_t* place) {
  for (uint32_t i = 0; i < part->entry_count; ++i) {
    const hlo_node_t* entry = part->entries[i];
    if (part->positions[entry->index] < part->positions[place->index]) continue;
    for (uint32_t o = 0; o < entry->operand_count; ++o) {
      const hlo_node_t* def = hlo_node_operand(entry, o)->def;
      if (!def || def->parent != place->parent || precedes(def->next, place)) continue;
      return hlo_pass_error(entry, HLO_STATUS_UNIMPLEMENTED,
                            "a device's value that depends on a whole value made of the same part");
    }
  }
  return hlo_ok();
}

// Creates the computation, whose body has the results of entries as arguments.
static hlo_status_t create_node(builder_t* b, hlo_node_t* place, const hlo_named_attr_t* attrs) {
  const hlo_manual_part_t* part = b->part;
  uint32_t in_count = 0, out_count = 0;
  for (uint32_t i = 0; i < part->entry_count; ++i) in_count += part->entries[i]->operand_count;
  for (uint32_t i = 0; i < part->exit_count; ++i) out_count += part->exits[i]->result_count;
  hlo_value_t** operands = hlo_arena_array(&b->arena, in_count, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(&b->arena, out_count, sizeof *types);
  HLO_TRY(hlo_arena_status(&b->arena));
  uint32_t at = 0;
  for (uint32_t i = 0; i < part->entry_count; ++i) {
    for (uint32_t o = 0; o < part->entries[i]->operand_count; ++o) {
      operands[at++] = hlo_node_operand(part->entries[i], o);
    }
  }
  at = 0;
  for (uint32_t i = 0; i < part->exit_count; ++i) {
    for (uint32_t r = 0; r < part->exits[i]->result_count; ++r) {
      types[at++] = part->exits[i]->results[r].type;
    }
  }
  b->node = hlo_node_create(b->module, &(hlo_node_spec_t){.op = HLO_OP_sdy_manual_computation,
                                                          .loc = place->loc,
                                                          .operand_count = in_count,
                                                          .operands = operands,
                                                          .attr_count = 3,
                                                          .attrs = attrs,
                                                          .region_count = 1,
                                                          .result_count = out_count,
                                                          .result_types = types});
  HLO_TRY(hlo_module_status(b->module));
  hlo_node_insert_before(place, b->node);
  b->body = b->node->regions[0];
  for (uint32_t i = 0; i < part->entry_count; ++i) {
    for (uint32_t r = 0; r < part->entries[i]->result_count; ++r) {
      hlo_value_t* arg = hlo_region_add_arg(b->body, part->entries[i]->results[r].type);
      if (!arg) return hlo_module_status(b->module);
      hlo_value_replace_uses(&part->entries[i]->results[r], arg);
    }
  }
  return hlo_ok();
}

// Computes a value again in the body, from constants only.
static hlo_status_t clone_value(builder_t* b, const hlo_node_t* user, const hlo_value_t* value,
                                int depth) {
  enum { DEPTH_MAX = 64 };
  const hlo_node_t* def = value->def;
  if (value->region == b->body || b->map.values[value->index]) return hlo_ok();
  if (!def || depth == DEPTH_MAX || def->region_count || !hlo_op_has(def->op, HLO_TRAIT_PURE)) {
    return hlo_pass_error(user, HLO_STATUS_UNIMPLEMENTED,
                          "uses a whole value where each device has a value of its own");
  }
  for (uint32_t i = 0; i < def->operand_count; ++i) {
    HLO_TRY(clone_value(b, user, hlo_node_operand(def, i), depth + 1));
  }
  hlo_node_clone(b->body, def, &b->map);
  return hlo_module_status(b->module);
}

static bool is_in_body(const builder_t* b, const hlo_region_t* region) {
  while (region && region != b->body) region = region->parent ? region->parent->parent : NULL;
  return region != NULL;
}

static hlo_status_t clone_operands(void* context, hlo_node_t* node) {
  builder_t* b = context;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    if (is_in_body(b, value->region)) continue;
    HLO_TRY(clone_value(b, node, value, 0));
    hlo_node_set_operand(node, i, b->map.values[value->index]);
  }
  return hlo_ok();
}

// Moves the members to the body; values from outside, which are clones of constants, precede them.
static hlo_status_t move_members(builder_t* b) {
  const hlo_manual_part_t* part = b->part;
  for (uint32_t i = 0; i < part->member_count; ++i) {
    hlo_node_unlink(part->members[i]);
    hlo_region_append(b->body, part->members[i]);
  }
  hlo_node_t* first = part->member_count ? part->members[0] : NULL;
  // Clones are appended; the members follow them again afterwards.
  hlo_node_t* last = b->body->last;
  for (uint32_t i = 0; i < part->member_count; ++i) {
    HLO_TRY(clone_operands(b, part->members[i]));
    for (uint32_t r = 0; r < part->members[i]->region_count; ++r) {
      HLO_TRY(hlo_region_walk(part->members[i]->regions[r], false, clone_operands, b));
    }
  }
  while (last && last->next) {
    hlo_node_t* clone = last->next;
    hlo_node_unlink(clone);
    hlo_node_insert_before(first, clone);
  }
  return hlo_ok();
}

static hlo_status_t add_return(builder_t* b) {
  const hlo_manual_part_t* part = b->part;
  hlo_value_t** values = hlo_arena_array(&b->arena, b->node->result_count, sizeof *values);
  if (!values) return hlo_arena_status(&b->arena);
  uint32_t count = 0;
  for (uint32_t i = 0; i < part->exit_count; ++i) {
    for (uint32_t o = 0; o < part->exits[i]->operand_count; ++o) {
      hlo_value_t* value = hlo_node_operand(part->exits[i], o);
      HLO_TRY(clone_value(b, part->exits[i], value, 0));
      values[count++] = value->region == b->body ? value : b->map.values[value->index];
    }
  }
  hlo_node_t* end = hlo_node_create(b->module, &(hlo_node_spec_t){.op = HLO_OP_sdy_return,
                                                                  .loc = b->node->loc,
                                                                  .operand_count = count,
                                                                  .operands = values});
  HLO_TRY(hlo_module_status(b->module));
  hlo_region_append(b->body, end);
  return hlo_ok();
}

static void drop_calls(builder_t* b) {
  const hlo_manual_part_t* part = b->part;
  uint32_t at = 0;
  for (uint32_t i = 0; i < part->exit_count; ++i) {
    for (uint32_t r = 0; r < part->exits[i]->result_count; ++r) {
      hlo_value_replace_uses(&part->exits[i]->results[r], &b->node->results[at++]);
    }
    hlo_node_erase(part->exits[i]);
  }
  for (uint32_t i = 0; i < part->entry_count; ++i) hlo_node_erase(part->entries[i]);
}

hlo_status_t hlo_manual_part_build(hlo_module_t* module, const hlo_manual_part_t* part,
                                   const hlo_attr_t* in_shardings, const hlo_attr_t* out_shardings,
                                   const hlo_attr_t* manual_axes) {
  builder_t b = {.module = module, .part = part};
  const hlo_named_attr_t attrs[] = {{HLO_ATTR_in_shardings, in_shardings},
                                    {HLO_ATTR_out_shardings, out_shardings},
                                    {HLO_ATTR_manual_axes, manual_axes}};
  hlo_node_t* place = place_of(part);
  HLO_TRY(check_order(part, place));
  hlo_status_t status = create_node(&b, place, attrs);
  b.map.count = module->value_count;
  b.map.values = hlo_arena_array(&b.arena, b.map.count, sizeof *b.map.values);
  if (hlo_status_is_ok(status)) status = hlo_arena_status(&b.arena);
  if (hlo_status_is_ok(status)) status = move_members(&b);
  if (hlo_status_is_ok(status)) status = add_return(&b);
  if (hlo_status_is_ok(status)) drop_calls(&b);
  hlo_arena_deinit(&b.arena);
  return status;
}
