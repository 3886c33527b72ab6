// SPDX-License-Identifier: Apache-2.0
// Pass convert_async_to_sync: a collective that is started and awaited with nothing to do in
// between becomes synchronous again, which costs less. Other collectives in flight, constants and
// reshapes are nothing. Attributes of the pair that the collective lacks are added to it. Linear in
// the size of the module.
#include "ir/clone.h"
#include "spmd/passes.h"

typedef struct converter {
  hlo_pass_ctx_t* ctx;
  const hlo_node_t** starts;  // since the last work of the region
  uint32_t count, capacity;
} converter_t;

static bool is_work(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_async_start:
    case HLO_OP_async_done:
    case HLO_OP_constant:
    case HLO_OP_reshape:
    case HLO_OP_bitcast_convert:
    case HLO_OP_partition_id:
    case HLO_OP_replica_id: return false;
    default: return !hlo_op_has(node->op, HLO_TRAIT_TERMINATOR);
  }
}

// Returns the only op of a start's body, if it takes the arguments and returns the results in
// order.
static hlo_node_t* find_collective(const hlo_node_t* start) {
  const hlo_region_t* body = start->regions[0];
  hlo_node_t *node = body->first, *end = hlo_region_terminator(body);
  if (!node || node->next != end || !end || node->operand_count != body->arg_count ||
      node->result_count != end->operand_count) {
    return NULL;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand(node, i) != body->args[i]) return NULL;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_node_operand(end, i) != &node->results[i]) return NULL;
  }
  return node;
}

// Adds the attributes that a collective lacks.
static const hlo_attr_t* add_attrs(hlo_module_t* module, const hlo_attr_t* to,
                                   const hlo_attr_t* from) {
  for (uint32_t i = 0; from && i < from->count; ++i) {
    if (hlo_attr_dict_get(to, from->keys[i])) continue;
    to = hlo_attr_dict_with(module, to, from->keys[i], from->items[i]);
  }
  return to;
}

static bool is_in_flight(const converter_t* c, const hlo_node_t* start) {
  for (uint32_t i = c->count; i > 0; --i) {
    if (c->starts[i - 1] == start) return true;
  }
  return false;
}

// Puts the collective of a pair in place of its end.
static hlo_status_t convert(converter_t* c, hlo_node_t* done) {
  hlo_module_t* module = done->parent->module;
  hlo_node_t* start = hlo_node_operand(done, 0)->def;
  if (!start || start->op != HLO_OP_async_start || !is_in_flight(c, start)) return hlo_ok();
  hlo_node_t* node = find_collective(start);
  if (!node || start->results[0].uses->next) return hlo_ok();
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_node_set_operand(node, i, hlo_node_operand(start, i));
  }
  node->extra = add_attrs(module, add_attrs(module, node->extra, start->extra), done->extra);
  hlo_node_t* end = hlo_region_terminator(start->regions[0]);
  hlo_node_erase(end);
  hlo_node_unlink(node);
  hlo_node_insert_before(done, node);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&done->results[i], &node->results[i]);
  }
  hlo_node_erase(done);
  hlo_node_erase(start);
  ++c->ctx->step_count;
  return hlo_module_status(module);
}

static hlo_status_t convert_region(converter_t* c, hlo_region_t* region) {
  c->count = 0;
  for (hlo_node_t *node = region->first, *next; node; node = next) {
    next = node->next;
    if (is_work(node)) c->count = 0;
    if (node->op == HLO_OP_async_start) {
      if (!HLO_ARENA_GROW(&c->ctx->scratch, c->starts, c->count, c->capacity)) break;
      c->starts[c->count++] = node;
    }
    if (node->op == HLO_OP_async_done) HLO_TRY(convert(c, node));
  }
  for (hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->region_count && node->op != HLO_OP_async_start; ++i) {
      HLO_TRY(convert_region(c, node->regions[i]));
    }
  }
  return hlo_arena_status(&c->ctx->scratch);
}

hlo_status_t hlo_pass_convert_async_to_sync(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  converter_t converter = {.ctx = ctx};
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(convert_region(&converter, func->body));
  }
  return hlo_ok();
}
