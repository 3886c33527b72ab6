// SPDX-License-Identifier: Apache-2.0
// Pass create_async_collectives: each collective becomes a pair, async_start with the collective as
// its body and async_done, so that other work can be scheduled in between. So do calls without side
// effects that are annotated as collectives. Attributes stay with the collective; discardable ones
// are also on the pair, where schedulers look for them.
#include "ir/clone.h"
#include "passes/effects.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

static bool callee_is_removable(void* module, const hlo_node_t* call) {
  const char* callee = hlo_node_attr_text(call, HLO_ATTR_callee);
  const hlo_func_t* func = callee ? hlo_module_find_func(module, callee) : NULL;
  if (!func || !func->body) return false;
  for (const hlo_node_t* n = func->body->first; n; n = n->next) {
    if (!hlo_node_is_removable(n, NULL, NULL)) return false;
  }
  return true;
}

static bool is_collective(const hlo_node_t* node) {
  if (node->result_count == 0) return false;
  if (node->parent->parent && node->parent->parent->op == HLO_OP_async_start) return false;
  if (hlo_op_info(node->op)->cost == HLO_COST_EXCHANGE) return true;
  return hlo_call_communicates(node) &&
         hlo_node_is_removable(node, callee_is_removable, node->parent->module);
}

static const hlo_type_t* future_of(hlo_module_t* module, const hlo_node_t* node,
                                   hlo_arena_t* scratch) {
  const hlo_type_t** types = hlo_arena_array(scratch, node->result_count, sizeof *types);
  for (uint32_t i = 0; types && i < node->result_count; ++i) types[i] = node->results[i].type;
  return types ? hlo_type_future(module, node->result_count, types) : NULL;
}

static hlo_value_t** list_operands(const hlo_node_t* node, hlo_arena_t* scratch) {
  hlo_value_t** operands = hlo_arena_array(scratch, node->operand_count + 1, sizeof *operands);
  for (uint32_t i = 0; operands && i < node->operand_count; ++i) {
    operands[i] = hlo_node_operand(node, i);
  }
  return operands;
}

// Moves the collective into the body of `start`, between arguments and results. False when memory
// is exhausted, which the module records.
static bool fill_body(hlo_node_t* start, hlo_node_t* collective, hlo_value_t** results) {
  hlo_region_t* body = start->regions[0];
  for (uint32_t i = 0; i < collective->operand_count; ++i) {
    hlo_value_t* arg = hlo_region_add_arg(body, hlo_node_operand_type(collective, i));
    if (!arg) return false;
    hlo_node_set_operand(collective, i, arg);
  }
  for (uint32_t i = 0; i < collective->result_count; ++i) results[i] = &collective->results[i];
  const hlo_node_spec_t spec = {.op = HLO_OP_return,
                                .loc = collective->loc,
                                .operand_count = collective->result_count,
                                .operands = results};
  hlo_node_t* end = hlo_node_create(body->module, &spec);
  if (hlo_node_is_poison(end)) return false;
  hlo_node_unlink(collective);
  hlo_region_append(body, collective);
  hlo_region_append(body, end);
  return true;
}

static hlo_node_t* create_done(hlo_node_t* start, const hlo_node_t* collective,
                               const hlo_type_t* const* types) {
  hlo_value_t* future = &start->results[0];
  const hlo_node_spec_t spec = {.op = HLO_OP_async_done,
                                .loc = collective->loc,
                                .operand_count = 1,
                                .operands = &future,
                                .extra = collective->extra,
                                .result_count = collective->result_count,
                                .result_types = types};
  return hlo_node_create(start->parent->module, &spec);
}

static hlo_status_t make_pair(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  if (!is_collective(node)) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* future = future_of(module, node, &ctx->scratch);
  hlo_value_t** operands = list_operands(node, &ctx->scratch);
  hlo_value_t** results = hlo_arena_array(&ctx->scratch, node->result_count, sizeof *results);
  if (!future || !operands || !results) return hlo_module_status(module);
  const hlo_node_spec_t spec = {.op = HLO_OP_async_start,
                                .loc = node->loc,
                                .operand_count = node->operand_count,
                                .operands = operands,
                                .extra = node->extra,
                                .region_count = 1,
                                .result_count = 1,
                                .result_types = &future};
  hlo_node_t* start = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(start)) return hlo_module_status(module);
  hlo_node_insert_before(node, start);
  hlo_node_t* done = create_done(start, node, future->elements);
  if (hlo_node_is_poison(done)) return hlo_module_status(module);
  hlo_node_insert_before(node, done);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&node->results[i], &done->results[i]);
  }
  if (fill_body(start, node, results)) ++ctx->step_count;
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_create_async_collectives(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  HLO_TRY(hlo_module_walk(module, true, make_pair, ctx));
  return hlo_arena_status(&ctx->scratch);
}
