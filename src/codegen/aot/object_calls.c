// SPDX-License-Identifier: Apache-2.0
// The called nodes of a program as a module (see object_calls.h): a copy of the program's module in
// which the nodes are cloned into a separate function and the program itself is removed.
#include "codegen/aot/object_calls.h"

#include "ir/captures.h"
#include "ir/clone.h"
#include "ir/print.h"

typedef struct listing {
  const hlo_call_site_table_t* table;
  hlo_object_calls_t* calls;
  uint32_t position;
} listing_t;

static hlo_status_t list_call_site(void* context, hlo_node_t* node) {
  listing_t* listing = context;
  hlo_object_calls_t* calls = listing->calls;
  const hlo_call_site_t* call_site = &listing->table->call_sites[node->index];
  if (call_site->node == node) {
    calls->call_sites[calls->count] = call_site;
    calls->positions[calls->count++] = listing->position;
  }
  ++listing->position;
  return hlo_ok();
}

hlo_status_t hlo_object_calls_list(const hlo_call_site_table_t* table, hlo_arena_t* arena,
                                   hlo_object_calls_t* out_calls) {
  *out_calls = (hlo_object_calls_t){
      .call_sites = hlo_arena_array(arena, table->node_count, sizeof *out_calls->call_sites),
      .positions = hlo_arena_array(arena, table->node_count, sizeof *out_calls->positions)};
  HLO_TRY(hlo_arena_status(arena));
  listing_t listing = {.table = table, .calls = out_calls};
  return hlo_module_walk((hlo_module_t*)(uintptr_t)table->module, false, list_call_site, &listing);
}

// ---- the module --------------------------------------------------------------------------------

typedef struct maker {
  const hlo_object_calls_t* calls;
  hlo_module_t* module;
  hlo_region_t* body;
  hlo_value_map_t map;
  hlo_arena_t* arena;
  const hlo_node_t** nodes;  // nodes of the copy, by call
  uint32_t node_count, position;
} maker_t;

// Visits the copy in the order of the original.
static hlo_status_t find_node(void* context, hlo_node_t* node) {
  maker_t* maker = context;
  bool is_called = maker->node_count < maker->calls->count &&
                   maker->calls->positions[maker->node_count] == maker->position;
  if (is_called) maker->nodes[maker->node_count++] = node;
  ++maker->position;
  return hlo_ok();
}

// Returns true for a scalar constant. Library functions are chosen by its value.
static bool is_constant(const hlo_value_t* value) {
  return value->def && value->def->op == HLO_OP_constant && value->type->rank == 0;
}

// Adds the arguments of one call, its constants, and the node on them; a repeated operand has two
// arguments.
static hlo_status_t add_call(maker_t* maker, const hlo_node_t* node) {
  uint32_t captured = 0, first = maker->body->arg_count;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, maker->arena, &captured, &captures));
  for (uint32_t i = 0; i < node->operand_count + captured; ++i) {
    const hlo_value_t* value =
        i < node->operand_count ? hlo_node_operand(node, i) : captures[i - node->operand_count];
    hlo_value_t* argument = hlo_region_add_arg(maker->body, value->type);
    if (!argument) return hlo_module_status(maker->module);
    maker->map.values[value->index] = argument;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(node, i);
    if (is_constant(value)) hlo_node_clone(maker->body, value->def, &maker->map);
  }
  hlo_node_t* copy = hlo_node_clone(maker->body, node, &maker->map);
  HLO_TRY(hlo_module_status(maker->module));
  for (uint32_t i = 0; i < copy->operand_count; ++i) {
    if (is_constant(hlo_node_operand(node, i))) continue;
    hlo_node_set_operand(copy, i, maker->body->args[first + i]);
  }
  return hlo_module_status(maker->module);
}

static hlo_status_t make_module(maker_t* maker, const char* program_name) {
  hlo_module_t* module = maker->module;
  hlo_func_t* program = hlo_module_find_func(module, program_name);
  maker->map.count = module->value_count;
  maker->map.values = hlo_arena_array(maker->arena, maker->map.count, sizeof(hlo_value_t*));
  maker->nodes = hlo_arena_array(maker->arena, maker->calls->count, sizeof(hlo_node_t*));
  HLO_TRY(hlo_arena_status(maker->arena));
  HLO_TRY(hlo_module_walk(module, false, find_node, maker));
  const hlo_type_t* type = hlo_type_function(module, 0, NULL, 0, NULL);
  hlo_func_t* func = type ? hlo_func_create(module, "calls", type, HLO_PUBLIC, true, 0) : NULL;
  if (!func) return hlo_module_status(module);
  maker->body = func->body;
  for (uint32_t i = 0; i < maker->node_count; ++i) HLO_TRY(add_call(maker, maker->nodes[i]));
  hlo_region_append(func->body,
                    hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_func_return}));
  hlo_func_update_type(func);
  if (program) hlo_func_remove(program);
  return hlo_module_status(module);
}

hlo_status_t hlo_object_calls_print(const hlo_call_site_table_t* table,
                                    const hlo_object_calls_t* calls, hlo_arena_t* arena,
                                    hlo_strbuf_t* out_text) {
  maker_t maker = {.calls = calls, .arena = arena};
  HLO_TRY(hlo_module_clone(table->module, &maker.module));
  hlo_status_t status = make_module(&maker, table->func->name);
  const hlo_print_options_t options = {0};
  if (hlo_status_is_ok(status)) hlo_print_module(maker.module, &options, out_text);
  hlo_module_release(maker.module);
  return hlo_status_is_ok(status) ? hlo_strbuf_status(out_text) : status;
}
