// SPDX-License-Identifier: Apache-2.0
// Deep copies of nodes and modules (see clone.h).
#include "ir/clone.h"

#include <string.h>

// The state of one copy: its target, the maps of values and locations, and whether types and
// attributes must be interned in another module.
typedef struct copier {
  hlo_module_t* to;
  const hlo_module_t* from;
  hlo_value_map_t* map;
  const hlo_loc_t* locs;  // new location by old location; NULL within one module
  bool across;
} copier_t;

static const hlo_type_t* copy_type(const copier_t* c, const hlo_type_t* type) {
  return c->across ? hlo_type_import(c->to, type) : type;
}

static const hlo_attr_t* copy_attr(const copier_t* c, const hlo_attr_t* attr) {
  return c->across && attr ? hlo_attr_import(c->to, attr) : attr;
}

static hlo_value_t* copy_value(const copier_t* c, hlo_value_t* value) {
  hlo_value_t* mapped = value->index < c->map->count ? c->map->values[value->index] : NULL;
  return mapped || c->across ? mapped : value;
}

static bool map_value(const copier_t* c, const hlo_value_t* from, hlo_value_t* to) {
  hlo_value_map_t* map = c->map;
  if (from->index >= map->count) {
    uint32_t count = map->count ? map->count * 2 : 64;
    if (count <= from->index) count = from->index + 1;
    hlo_value_t** values = hlo_arena_array(&c->to->arena, count, sizeof *values);
    if (!values) return false;
    if (map->count) memcpy(values, map->values, map->count * sizeof *values);
    map->values = values;
    map->count = count;
  }
  map->values[from->index] = to;
  return true;
}

static bool copy_region(const copier_t* c, const hlo_region_t* from, hlo_region_t* to);

static hlo_node_t* copy_node(const copier_t* c, const hlo_node_t* node) {
  hlo_arena_t* arena = &c->to->arena;
  uint32_t attr_count = hlo_op_info(node->op)->attr_count;
  hlo_value_t** operands = hlo_arena_array(arena, node->operand_count + 1, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(arena, node->result_count + 1, sizeof *types);
  if (!operands || !types) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = copy_value(c, hlo_node_operand(node, i));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    types[i] = copy_type(c, node->results[i].type);
  }
  hlo_node_spec_t spec = {.op = node->op,
                          .loc = c->locs ? c->locs[node->loc] : node->loc,
                          .operand_count = node->operand_count,
                          .operands = operands,
                          .extra = copy_attr(c, node->extra),
                          .region_count = node->region_count,
                          .result_count = node->result_count,
                          .result_types = types};
  hlo_node_t* copy = hlo_node_create(c->to, &spec);
  if (hlo_node_is_poison(copy)) return NULL;
  for (uint32_t i = 0; i < attr_count; ++i) copy->attrs[i] = copy_attr(c, node->attrs[i]);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!map_value(c, &node->results[i], &copy->results[i])) return NULL;
  }
  for (uint32_t i = 0; i < node->region_count; ++i) {
    if (!copy_region(c, node->regions[i], copy->regions[i])) return NULL;
  }
  return copy;
}

static bool copy_nodes(const copier_t* c, const hlo_region_t* from, hlo_region_t* to) {
  for (const hlo_node_t* node = from->first; node; node = node->next) {
    hlo_node_t* copy = copy_node(c, node);
    if (!copy) return false;
    hlo_region_append(to, copy);
  }
  return true;
}

static bool copy_region(const copier_t* c, const hlo_region_t* from, hlo_region_t* to) {
  for (uint32_t i = 0; i < from->arg_count; ++i) {
    hlo_value_t* arg = hlo_region_add_arg(to, copy_type(c, from->args[i]->type));
    if (!arg || !map_value(c, from->args[i], arg)) return false;
  }
  return copy_nodes(c, from, to);
}

hlo_node_t* hlo_node_clone(hlo_region_t* region, const hlo_node_t* node, hlo_value_map_t* map) {
  copier_t c = {.to = region->module, .from = region->module, .map = map};
  hlo_node_t* copy = copy_node(&c, node);
  if (!copy) return region->module->poison;
  hlo_region_append(region, copy);
  return copy;
}

static const hlo_attr_t** copy_attr_list(const copier_t* c, uint32_t count,
                                         const hlo_attr_t* const* attrs) {
  if (!attrs) return NULL;
  const hlo_attr_t** copy = hlo_arena_array(&c->to->arena, count + 1, sizeof *copy);
  for (uint32_t i = 0; copy && i < count; ++i) copy[i] = copy_attr(c, attrs[i]);
  return copy;
}

static bool copy_func(const copier_t* c, const hlo_func_t* from) {
  hlo_func_t* to = hlo_func_create(c->to, from->name, copy_type(c, from->type), from->visibility,
                                   from->body != NULL, c->locs[from->loc]);
  if (!to) return false;
  uint32_t inputs = from->type->input_count;
  to->arg_attrs = copy_attr_list(c, inputs, from->arg_attrs);
  to->result_attrs = copy_attr_list(c, from->type->element_count - inputs, from->result_attrs);
  to->extra = copy_attr(c, from->extra);
  if (!from->body) return true;
  for (uint32_t i = 0; i < from->body->arg_count; ++i) {
    if (!map_value(c, from->body->args[i], to->body->args[i])) return false;
  }
  return copy_nodes(c, from->body, to->body);
}

// Readers that build bottom-up enter children before their parents. A child after its parent
// (hostile input) becomes the unknown location.
static hlo_loc_t* copy_locs(hlo_module_t* to, const hlo_module_t* from) {
  hlo_loc_t* locs = hlo_arena_array(&to->arena, from->loc_count, sizeof *locs);
  for (uint32_t i = 1; locs && i < from->loc_count; ++i) {
    hlo_loc_info_t info = from->locs[i];
    hlo_loc_t* children = hlo_arena_array(&to->arena, info.child_count + 1, sizeof *children);
    if (!children) return NULL;
    for (uint32_t k = 0; k < info.child_count; ++k) {
      hlo_loc_t child = info.children[k];
      children[k] = child < i ? locs[child] : 0;
    }
    info.children = children;
    locs[i] = hlo_module_loc(to, &info);
  }
  return locs;
}

hlo_status_t hlo_module_clone(const hlo_module_t* module, hlo_module_t** out_module) {
  hlo_module_t* to;
  HLO_TRY(hlo_module_create(module->arena.limit_bytes, &to));
  hlo_value_map_t map = {0};
  copier_t c = {.to = to, .from = module, .map = &map, .across = true};
  c.locs = copy_locs(to, module);
  bool ok = c.locs != NULL;
  if (ok && module->name) to->name = hlo_module_string(to, module->name, strlen(module->name));
  if (ok) to->extra = copy_attr(&c, module->extra);
  ok = ok && copy_nodes(&c, module->top, to->top);
  for (const hlo_func_t* func = module->first_func; ok && func; func = func->next) {
    ok = copy_func(&c, func);
  }
  hlo_status_t status = hlo_module_status(to);
  if (hlo_status_is_ok(status) && !ok) status = hlo_status_out_of_memory(0);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(to);
    return status;
  }
  *out_module = to;
  return hlo_ok();
}

hlo_status_t hlo_region_import(const hlo_region_t* body, hlo_value_t* const* args,
                               hlo_node_t* place, hlo_value_t** results) {
  hlo_module_t* to = hlo_region_module(place->parent);
  const hlo_module_t* from = hlo_region_module(body);
  hlo_loc_t* locs = hlo_arena_array(&to->arena, from->loc_count + 1, sizeof *locs);
  if (!locs) return hlo_module_status(to);
  for (uint32_t i = 0; i < from->loc_count; ++i) locs[i] = place->loc;
  hlo_value_map_t map = {0};
  const copier_t c = {.to = to, .from = from, .map = &map, .locs = locs, .across = true};
  bool ok = true;
  for (uint32_t i = 0; ok && i < body->arg_count; ++i) ok = map_value(&c, body->args[i], args[i]);
  for (const hlo_node_t* node = body->first; ok && node != body->last; node = node->next) {
    hlo_node_t* copy = copy_node(&c, node);
    ok = copy != NULL;
    if (ok) hlo_node_insert_before(place, copy);
  }
  for (uint32_t i = 0; ok && i < body->last->operand_count; ++i) {
    results[i] = copy_value(&c, hlo_node_operand(body->last, i));
  }
  HLO_TRY(hlo_module_status(to));
  return ok ? hlo_ok() : hlo_status_out_of_memory(0);
}

// ---- captured values

static bool is_inside(const hlo_region_t* region, const hlo_node_t* node) {
  while (region && region->parent && region->parent != node) {
    region = region->parent->parent;
  }
  return region && region->parent == node;
}

typedef struct captures {
  const hlo_node_t* owner;
  hlo_arena_t* arena;
  uint32_t count, capacity;
  const hlo_value_t** values;
} captures_t;

static hlo_status_t add_capture(captures_t* captures, const hlo_value_t* value) {
  if (is_inside(value->region, captures->owner)) return hlo_ok();
  for (uint32_t i = 0; i < captures->count; ++i) {
    if (captures->values[i] == value) return hlo_ok();
  }
  if (!HLO_ARENA_GROW(captures->arena, captures->values, captures->count, captures->capacity))
    return hlo_arena_status(captures->arena);
  captures->values[captures->count++] = value;
  return hlo_ok();
}

static hlo_status_t capture_in(captures_t* captures, const hlo_region_t* region) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      HLO_TRY(add_capture(captures, hlo_node_operand(node, i)));
    }
    for (uint32_t i = 0; i < node->region_count; ++i) {
      HLO_TRY(capture_in(captures, node->regions[i]));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_node_captures(const hlo_node_t* node, hlo_arena_t* arena, uint32_t* out_count,
                               const hlo_value_t*** out_values) {
  captures_t captures = {.owner = node, .arena = arena};
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(capture_in(&captures, node->regions[i]));
  }
  *out_count = captures.count;
  *out_values = captures.values;
  return hlo_ok();
}

// ---- walks: recursion is as deep as regions nest, which the readers bound

static hlo_status_t walk_node(hlo_node_t* node, bool post_order, hlo_visit_t visit, void* context) {
  if (!post_order) HLO_TRY(visit(context, node));
  // Read the regions after the visit, which may change them, or erase the node.
  for (uint32_t i = 0; i < node->region_count && node->parent; ++i) {
    HLO_TRY(hlo_region_walk(node->regions[i], post_order, visit, context));
  }
  return post_order ? visit(context, node) : hlo_ok();
}

hlo_status_t hlo_region_walk(hlo_region_t* region, bool post_order, hlo_visit_t visit,
                             void* context) {
  hlo_node_t* next;
  for (hlo_node_t* node = region->first; node; node = next) {
    next = node->next;  // the visit may erase the node
    HLO_TRY(walk_node(node, post_order, visit, context));
  }
  return hlo_ok();
}

hlo_status_t hlo_module_walk(hlo_module_t* module, bool post_order, hlo_visit_t visit,
                             void* context) {
  HLO_TRY(hlo_region_walk(module->top, post_order, visit, context));
  hlo_func_t* next;
  for (hlo_func_t* func = module->first_func; func; func = next) {
    next = func->next;
    if (func->body) HLO_TRY(hlo_region_walk(func->body, post_order, visit, context));
  }
  return hlo_ok();
}
