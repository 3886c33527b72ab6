// SPDX-License-Identifier: Apache-2.0
// Pass drop_shardy: removes shardings, which mean nothing for one partition.
#include "ir/sharding.h"
#include "passes/passes.h"
#include "passes/splice.h"

// Replaces the op with its body: the operands become the arguments, the returned values the
// results.
static hlo_status_t inline_manual(hlo_node_t* node) {
  hlo_region_t* body = node->regions[0];
  hlo_node_t* end = hlo_region_terminator(body);
  if (!end || body->arg_count != node->operand_count || end->operand_count != node->result_count) {
    return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED,
                          "the body does not fit operands and results");
  }
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    if (body->args[i]->type != hlo_node_operand_type(node, i)) {
      return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED, "needs more than one partition");
    }
  }
  hlo_splice_own_body(node);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i].type != hlo_node_operand_type(end, i)) {
      return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED, "needs more than one partition");
    }
    hlo_value_replace_uses(&node->results[i], hlo_node_operand(end, i));
  }
  hlo_node_erase(node);
  return hlo_ok();
}

// Ops with attributes of shardings would not be optimised.
static void drop_attrs(hlo_pass_ctx_t* ctx, hlo_node_t* node) {
  const hlo_attr_t* rest = hlo_sharding_drop_attrs(node->parent->module, node->extra);
  if (rest == node->extra) return;
  node->extra = rest;
  ++ctx->step_count;
}

static hlo_status_t drop_sharding(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  switch (node->op) {
    case HLO_OP_sdy_sharding_constraint:
    case HLO_OP_sdy_reshard:
    case HLO_OP_sdy_propagation_barrier:
      hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
      hlo_node_erase(node);
      break;
    case HLO_OP_sdy_manual_computation: HLO_TRY(inline_manual(node)); break;
    case HLO_OP_sdy_sharding_group:
    case HLO_OP_sdy_mesh: hlo_node_erase(node); break;
    default: drop_attrs(ctx, node); return hlo_module_status(node->parent->module);
  }
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_drop_shardy(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  // Visits inner ops first, so that a body has no shardings when it is moved out.
  return hlo_module_walk(module, true, drop_sharding, ctx);
}
