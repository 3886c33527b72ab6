// SPDX-License-Identifier: Apache-2.0
// The graph: creation and editing of modules, functions, regions, nodes and values (see module.h).
#include "ir/module.h"

#include <string.h>

#include "base/check.h"
#include "ir/interner.h"

hlo_status_t hlo_module_create(size_t limit_bytes, hlo_module_t** out_module) {
  hlo_module_t* module = hlo_mem_alloc_zeroed(sizeof *module);
  if (!module) return hlo_status_out_of_memory(sizeof *module);
  hlo_arena_init(&module->arena, limit_bytes);
  module->interner = hlo_arena_alloc_zeroed(&module->arena, sizeof *module->interner);
  module->poison = hlo_arena_alloc_zeroed(&module->arena, sizeof *module->poison);
  module->locs = hlo_arena_array(&module->arena, 16, sizeof *module->locs);
  if (!module->interner || !module->poison || !module->locs) {
    hlo_status_t status = hlo_arena_status(&module->arena);
    hlo_arena_deinit(&module->arena);
    hlo_mem_free(module);
    return status;
  }
  module->poison->op = HLO_OP_COUNT;
  module->loc_count = 1;  // location 0 is unknown
  module->loc_capacity = 16;
  module->top = hlo_region_create(module, NULL, NULL);
  if (!module->top) {
    hlo_status_t status = hlo_arena_status(&module->arena);
    hlo_module_release(module);
    return status;
  }
  *out_module = module;
  return hlo_ok();
}

void hlo_module_release(hlo_module_t* module) {
  if (!module) return;
  hlo_interner_release_literals(module->interner);
  hlo_map_deinit(&module->funcs);
  hlo_map_deinit(&module->shardings);
  hlo_arena_deinit(&module->arena);
  hlo_mem_free(module);
}

bool hlo_module_had_any(const hlo_module_t* module, const hlo_op_t* ops) {
  while (*ops != HLO_OP_COUNT && !module->had_op[*ops]) ++ops;
  return *ops != HLO_OP_COUNT;
}

hlo_status_t hlo_module_status(const hlo_module_t* module) {
  return hlo_arena_status(&module->arena);
}

// ---- Locations

hlo_loc_t hlo_module_loc(hlo_module_t* module, const hlo_loc_info_t* info) {
  if (!HLO_ARENA_GROW(&module->arena, module->locs, module->loc_count, module->loc_capacity))
    return 0;
  hlo_loc_info_t* entry = &module->locs[module->loc_count];
  *entry = *info;
  if (info->text) entry->text = hlo_module_string(module, info->text, strlen(info->text));
  if (info->child_count) {
    hlo_loc_t* children = hlo_arena_array(&module->arena, info->child_count, sizeof *children);
    if (!children) return 0;
    memcpy(children, info->children, info->child_count * sizeof *children);
    entry->children = children;
  }
  return module->loc_count++;
}

hlo_loc_t hlo_module_loc_file(hlo_module_t* module, const char* file, size_t length, uint32_t line,
                              uint32_t col) {
  const char* name = hlo_module_string(module, file, length);
  hlo_loc_info_t info = {.kind = HLO_LOC_FILE, .line = line, .col = col, .text = name};
  return hlo_module_loc(module, &info);
}

// Returns the first file location at or below `loc`, and the outermost name on the way. Hostile
// input may nest and share locations in any way, so depth and number of visits are bounded.
static const hlo_loc_info_t* find_file(const hlo_module_t* module, hlo_loc_t loc, int depth,
                                       int* visits, const char** name) {
  if (loc == 0 || loc >= module->loc_count || depth > 32 || --*visits < 0) return NULL;
  const hlo_loc_info_t* info = &module->locs[loc];
  if (info->kind == HLO_LOC_FILE) return info;
  if (info->kind == HLO_LOC_NAME && !*name) *name = info->text;
  for (uint32_t i = 0; i < info->child_count; ++i) {
    const hlo_loc_info_t* found = find_file(module, info->children[i], depth + 1, visits, name);
    if (found) return found;
    if (info->kind != HLO_LOC_FUSED) break;
  }
  return NULL;
}

const hlo_loc_info_t* hlo_loc_find(const hlo_module_t* module, hlo_loc_t loc,
                                   const char** out_name) {
  enum { VISITS_MAX = 1000 };
  int visits = VISITS_MAX;
  *out_name = NULL;
  return find_file(module, loc, 0, &visits, out_name);
}

void hlo_loc_format(const hlo_module_t* module, hlo_loc_t loc, hlo_strbuf_t* out) {
  const char* name;
  const hlo_loc_info_t* file = hlo_loc_find(module, loc, &name);
  if (file) hlo_strbuf_printf(out, "%s:%u:%u", file->text, file->line, file->col);
  if (name) hlo_strbuf_printf(out, file ? " (%s)" : "%s", name);
}

// ---- Functions and regions

hlo_region_t* hlo_region_create(hlo_module_t* module, hlo_func_t* func, hlo_node_t* parent) {
  hlo_region_t* region = hlo_arena_alloc_zeroed(&module->arena, sizeof *region);
  if (!region) return NULL;
  region->module = module;
  region->func = func;
  region->parent = parent;
  return region;
}

hlo_value_t* hlo_region_add_arg(hlo_region_t* region, const hlo_type_t* type) {
  hlo_module_t* module = region->module;
  if (!HLO_ARENA_GROW(&module->arena, region->args, region->arg_count, region->arg_capacity))
    return NULL;
  hlo_value_t* value = hlo_arena_alloc_zeroed(&module->arena, sizeof *value);
  if (!value) return NULL;
  value->type = type;
  value->region = region;
  value->number = region->arg_count;
  value->index = module->value_count++;
  region->args[region->arg_count++] = value;
  return value;
}

const hlo_node_t* hlo_region_ancestor(const hlo_region_t* region, const hlo_node_t* node) {
  while (node && node->parent != region) node = node->parent ? node->parent->parent : NULL;
  return node;
}

hlo_node_t* hlo_region_terminator(const hlo_region_t* region) {
  hlo_node_t* last = region->last;
  return last && (hlo_op_info(last->op)->traits & HLO_TRAIT_TERMINATOR) ? last : NULL;
}

const hlo_node_t* hlo_region_binary_op(const hlo_region_t* region, bool* out_is_swapped) {
  const hlo_node_t* end = hlo_region_terminator(region);
  if (!end || end->operand_count != 1 || region->arg_count != 2) return NULL;
  const hlo_node_t* op = hlo_node_operand(end, 0)->def;
  if (!op || op->parent != region || op->operand_count != 2 || op->result_count != 1) return NULL;
  *out_is_swapped = hlo_node_operand(op, 0) == region->args[1];
  const bool is_of_both = hlo_node_operand(op, *out_is_swapped) == region->args[0] &&
                          hlo_node_operand(op, !*out_is_swapped) == region->args[1];
  return is_of_both ? op : NULL;
}

hlo_op_t hlo_region_reducer(const hlo_region_t* region) {
  bool is_swapped;
  const hlo_node_t* op = hlo_region_binary_op(region, &is_swapped);
  return op ? op->op : HLO_OP_COUNT;
}

bool hlo_node_is_unused(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!hlo_value_is_unused(&node->results[i])) return false;
  }
  return true;
}

// Enters a function under its name, unless the name is taken. False when memory is exhausted.
static bool name_func(hlo_func_t* func) {
  hlo_module_t* module = func->module;
  if (hlo_module_find_func(module, func->name)) {
    module->has_namesakes = true;
    return true;
  }
  bool ok = hlo_map_put(&module->funcs, func->name, strlen(func->name), func);
  module->arena.failed |= !ok;
  return ok;
}

hlo_func_t* hlo_func_create(hlo_module_t* module, const char* name, const hlo_type_t* type,
                            hlo_visibility_t visibility, bool has_body, hlo_loc_t loc) {
  hlo_func_t* func = hlo_arena_alloc_zeroed(&module->arena, sizeof *func);
  if (!func || !type) return NULL;
  func->module = module;
  func->name = hlo_module_string(module, name, strlen(name));
  func->visibility = visibility;
  func->loc = loc;
  func->type = type;
  if (has_body) {
    func->body = hlo_region_create(module, func, NULL);
    if (!func->body) return NULL;
    for (uint32_t i = 0; i < type->input_count; ++i) {
      if (!hlo_region_add_arg(func->body, type->elements[i])) return NULL;
    }
  }
  if (!name_func(func)) return NULL;
  func->index = module->func_count++;
  func->prev = module->last_func;
  *(func->prev ? &func->prev->next : &module->first_func) = func;
  module->last_func = func;
  return func;
}

hlo_func_t* hlo_module_find_func(const hlo_module_t* module, const char* name) {
  return hlo_map_get(&module->funcs, name, strlen(name));
}

hlo_func_t* hlo_module_entry(const hlo_module_t* module) {
  hlo_func_t* entry = hlo_module_find_func(module, "main");
  if (entry && entry->body) return entry;
  hlo_func_t* only_public = NULL;
  uint32_t public_count = 0;
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->visibility == HLO_PUBLIC && func->body) {
      only_public = func;
      ++public_count;
    }
  }
  if (public_count == 1) return only_public;
  hlo_func_t* first = module->first_func;
  return first && !first->next && first->body ? first : NULL;
}

void hlo_func_remove(hlo_func_t* func) {
  hlo_module_t* module = func->module;
  *(func->prev ? &func->prev->next : &module->first_func) = func->next;
  *(func->next ? &func->next->prev : &module->last_func) = func->prev;
  func->prev = func->next = NULL;
  if (hlo_module_find_func(module, func->name) != func) return;
  hlo_map_remove(&module->funcs, func->name, strlen(func->name));
  for (hlo_func_t* other = module->first_func; module->has_namesakes && other;
       other = other->next) {
    if (strcmp(other->name, func->name) != 0) continue;
    name_func(other);
    return;
  }
}

void hlo_func_update_type(hlo_func_t* func) {
  hlo_module_t* module = func->module;
  hlo_node_t* end = func->body ? hlo_region_terminator(func->body) : NULL;
  if (!end) return;
  uint32_t inputs = func->body->arg_count;
  const hlo_type_t** types =
      hlo_arena_array(&module->arena, inputs + end->operand_count, sizeof *types);
  if (!types) return;
  for (uint32_t i = 0; i < inputs; ++i) types[i] = func->body->args[i]->type;
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    types[inputs + i] = hlo_node_operand_type(end, i);
  }
  const hlo_type_t* type =
      hlo_type_function(module, inputs, types, end->operand_count, types + inputs);
  if (type) func->type = type;
}

// ---- Uses

static void use_link(hlo_use_t* use, hlo_value_t* value) {
  HLO_ASSERT(!use->value, "a use is in the list of one value");
  use->value = value;
  use->next = value->uses;
  use->link = &value->uses;
  if (use->next) use->next->link = &use->next;
  value->uses = use;
}

static void use_unlink(hlo_use_t* use) {
  if (!use->value) return;
  *use->link = use->next;
  if (use->next) use->next->link = use->link;
  use->value = NULL;
}

void hlo_node_set_operand(hlo_node_t* node, uint32_t i, hlo_value_t* value) {
  use_unlink(&node->operands[i]);
  use_link(&node->operands[i], value);
}

void hlo_value_replace_uses(hlo_value_t* from, hlo_value_t* to) {
  if (from == to) return;
  while (from->uses) {
    hlo_use_t* use = from->uses;
    use_unlink(use);
    use_link(use, to);
  }
}

// ---- Nodes

static bool node_alloc_parts(hlo_module_t* module, hlo_node_t* node, const hlo_node_spec_t* spec) {
  hlo_arena_t* arena = &module->arena;
  uint32_t attr_count = hlo_op_info(spec->op)->attr_count;
  if (spec->operand_count) {
    node->operands = hlo_arena_array(arena, spec->operand_count, sizeof *node->operands);
  }
  if (spec->result_count) {
    node->results = hlo_arena_array(arena, spec->result_count, sizeof *node->results);
  }
  if (attr_count) node->attrs = hlo_arena_array(arena, attr_count, sizeof *node->attrs);
  if (spec->region_count) {
    node->regions = hlo_arena_array(arena, spec->region_count, sizeof *node->regions);
    for (uint32_t i = 0; node->regions && i < spec->region_count; ++i) {
      node->regions[i] = hlo_region_create(module, NULL, node);
    }
  }
  return !arena->failed;
}

hlo_node_t* hlo_node_create(hlo_module_t* module, const hlo_node_spec_t* spec) {
  hlo_node_t* node = hlo_arena_alloc_zeroed(&module->arena, sizeof *node);
  if (!node || !node_alloc_parts(module, node, spec)) return module->poison;
  for (uint32_t i = 0; i < spec->operand_count; ++i) {
    if (!spec->operands[i]) return module->poison;
  }
  for (uint32_t i = 0; i < spec->result_count; ++i) {
    if (!spec->result_types[i]) return module->poison;
  }
  node->op = spec->op;
  module->had_op[node->op] = true;
  node->index = module->node_count++;
  node->loc = spec->loc;
  node->extra = spec->extra;
  node->operand_count = spec->operand_count;
  node->result_count = spec->result_count;
  node->region_count = spec->region_count;
  for (uint32_t i = 0; i < spec->operand_count; ++i) {
    node->operands[i].user = node;
    use_link(&node->operands[i], spec->operands[i]);
  }
  for (uint32_t i = 0; i < spec->result_count; ++i) {
    node->results[i] = (hlo_value_t){
        .type = spec->result_types[i], .def = node, .number = i, .index = module->value_count++};
  }
  for (uint32_t i = 0; i < spec->attr_count; ++i) {
    hlo_node_set_attr(node, spec->attrs[i].id, spec->attrs[i].value);
  }
  return node;
}

// Tells a linked node's results and nested regions where they are.
static void update_parents(hlo_region_t* region, hlo_node_t* node) {
  HLO_ASSERT(!node->parent || node->parent == region, "a node is in one region");
  node->parent = region;
  for (uint32_t i = 0; i < node->result_count; ++i) node->results[i].region = region;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    hlo_region_t* inner = node->regions[i];
    if (inner->func == region->func) continue;
    inner->func = region->func;
    for (hlo_node_t* n = inner->first; n; n = n->next) update_parents(inner, n);
  }
}

void hlo_region_append(hlo_region_t* region, hlo_node_t* node) {
  if (hlo_node_is_poison(node)) return;
  node->prev = region->last;
  node->next = NULL;
  *(region->last ? &region->last->next : &region->first) = node;
  region->last = node;
  update_parents(region, node);
}

void hlo_node_insert_before(hlo_node_t* before, hlo_node_t* node) {
  if (hlo_node_is_poison(node)) return;
  hlo_region_t* region = before->parent;
  node->next = before;
  node->prev = before->prev;
  *(before->prev ? &before->prev->next : &region->first) = node;
  before->prev = node;
  update_parents(region, node);
}

void hlo_node_unlink(hlo_node_t* node) {
  hlo_region_t* region = node->parent;
  if (!region) return;
  *(node->prev ? &node->prev->next : &region->first) = node->next;
  *(node->next ? &node->next->prev : &region->last) = node->prev;
  node->prev = node->next = NULL;
  node->parent = NULL;
}

// Readers bound how deep regions nest, which bounds the recursion.
static void drop_uses(hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) use_unlink(&node->operands[i]);
  for (uint32_t i = 0; i < node->region_count; ++i) {
    for (hlo_node_t* n = node->regions[i]->first; n; n = n->next) drop_uses(n);
  }
}

void hlo_node_erase(hlo_node_t* node) {
  hlo_node_unlink(node);
  drop_uses(node);
}

// ---- Attributes of nodes

const hlo_attr_t* hlo_node_attr(const hlo_node_t* node, hlo_attr_id_t id) {
  int slot = hlo_op_attr_slot(node->op, id);
  return slot < 0 ? NULL : node->attrs[slot];
}

void hlo_node_set_attr(hlo_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value) {
  int slot = hlo_op_attr_slot(node->op, id);
  if (slot >= 0) node->attrs[slot] = value;
}

int64_t hlo_node_attr_int(const hlo_node_t* node, hlo_attr_id_t id, int64_t fallback) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  if (!attr || (attr->kind != HLO_ATTR_KIND_INT && attr->kind != HLO_ATTR_KIND_ENUM &&
                attr->kind != HLO_ATTR_KIND_BOOL)) {
    return fallback;
  }
  return attr->i;
}

bool hlo_node_attr_bool(const hlo_node_t* node, hlo_attr_id_t id, bool fallback) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  if (!attr) return fallback;
  if (attr->kind == HLO_ATTR_KIND_UNIT) return true;
  return attr->kind == HLO_ATTR_KIND_BOOL || attr->kind == HLO_ATTR_KIND_INT ? attr->i != 0
                                                                             : fallback;
}

const char* hlo_node_attr_text(const hlo_node_t* node, hlo_attr_id_t id) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  if (!attr || (attr->kind != HLO_ATTR_KIND_STRING && attr->kind != HLO_ATTR_KIND_SYMBOL)) {
    return NULL;
  }
  return attr->text;
}

const int64_t* hlo_node_attr_ints(const hlo_node_t* node, hlo_attr_id_t id, uint32_t* out_count) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  bool found = attr && attr->kind == HLO_ATTR_KIND_INTS;
  if (out_count) *out_count = found ? attr->count : 0;
  return found ? attr->values : NULL;
}

int64_t hlo_node_attr_item(const hlo_node_t* node, hlo_attr_id_t id, uint32_t i, int64_t fallback) {
  uint32_t count;
  const int64_t* values = hlo_node_attr_ints(node, id, &count);
  return i < count ? values[i] : fallback;
}

void hlo_node_copy_attrs(hlo_node_t* to, const hlo_node_t* from) {
  const uint32_t count = hlo_node_is_poison(to) ? 0 : hlo_op_info(from->op)->attr_count;
  if (count) memcpy(to->attrs, from->attrs, count * sizeof *to->attrs);
}

bool hlo_node_operand_segment(const hlo_node_t* node, uint32_t port, uint32_t* out_first,
                              uint32_t* out_count) {
  const hlo_op_info_t* info = hlo_op_info(node->op);
  uint32_t segment_count = 0;
  const int64_t* segments =
      hlo_node_attr_ints(node, HLO_ATTR_operand_segment_sizes, &segment_count);
  uint32_t fixed = 0, variadic = 0;
  for (uint32_t i = 0; i < info->operand_count; ++i) {
    if (info->operands[i].arity == HLO_ARITY_ONE)
      ++fixed;
    else
      ++variadic;
  }
  if (node->operand_count < fixed || (variadic == 0 && node->operand_count != fixed)) return false;
  uint32_t rest = node->operand_count - fixed;
  bool by_segments = segments && segment_count == info->operand_count;
  if (!by_segments && variadic && rest % variadic != 0) return false;
  uint32_t first = 0, count = 0;
  for (uint32_t i = 0; i <= port; ++i) {
    first += count;
    if (by_segments) {
      if (segments[i] < 0 || segments[i] > node->operand_count) return false;
      count = (uint32_t)segments[i];
    } else {
      count = info->operands[i].arity == HLO_ARITY_ONE ? 1 : rest / variadic;
    }
  }
  if (first > node->operand_count || count > node->operand_count - first) return false;
  *out_first = first;
  *out_count = count;
  return true;
}

// ---- errors of single ops

void hlo_node_print_location(const hlo_node_t* node, hlo_strbuf_t* out) {
  if (node->parent && node->loc) {
    hlo_loc_format(hlo_region_module(node->parent), node->loc, out);
    hlo_strbuf_puts(out, ": ");
  }
  hlo_strbuf_puts(out, hlo_node_is_poison(node) ? "poison" : hlo_op_info(node->op)->name);
}

hlo_status_t hlo_node_error(const hlo_node_t* node, hlo_status_code_t code, const char* format,
                            ...) {
  HLO_SCOPED_STRBUF location = {0};
  hlo_node_print_location(node, &location);
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(code, format, args);
  va_end(args);
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "%s: %s", hlo_strbuf_text(&location), hlo_status_message(status));
  hlo_status_release(status);
  status = hlo_status_create(code, "%s", hlo_strbuf_text(&text));
  return status;
}

hlo_status_t hlo_node_annotate(const hlo_node_t* node, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return status;
  hlo_status_code_t code = hlo_status_code(status);
  hlo_status_t located = hlo_node_error(node, code, "%s", hlo_status_message(status));
  hlo_status_release(status);
  return located;
}
