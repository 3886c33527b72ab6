// SPDX-License-Identifier: Apache-2.0
// Pass lower_composite: a composite becomes a call of the function that says what it computes.
#include "ir/clone.h"
#include "passes/passes.h"

static hlo_status_t visit(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  if (node->op != HLO_OP_composite) return hlo_ok();
  if (node->region_count > 0) {
    return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED,
                          "a composite with regions has no call form");
  }
  hlo_module_t* module = node->parent->module;
  hlo_value_t** operands =
      hlo_arena_array(&ctx->scratch, node->operand_count + 1, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(&ctx->scratch, node->result_count + 1, sizeof *types);
  if (!operands || !types) return hlo_arena_status(&ctx->scratch);
  for (uint32_t i = 0; i < node->operand_count; ++i) operands[i] = hlo_node_operand(node, i);
  for (uint32_t i = 0; i < node->result_count; ++i) types[i] = node->results[i].type;
  hlo_named_attr_t callee = {HLO_ATTR_callee, hlo_node_attr(node, HLO_ATTR_decomposition)};
  hlo_node_t* call =
      hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_call,
                                                 .loc = node->loc,
                                                 .operand_count = node->operand_count,
                                                 .operands = operands,
                                                 .attr_count = 1,
                                                 .attrs = &callee,
                                                 .extra = node->extra,
                                                 .result_count = node->result_count,
                                                 .result_types = types});
  if (hlo_node_is_poison(call)) return hlo_module_status(module);
  hlo_node_insert_before(node, call);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&node->results[i], &call->results[i]);
  }
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_composite(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                                      bool* out_changed) {
  hlo_status_t status = hlo_module_walk(module, false, visit, ctx);
  *out_changed = ctx->step_count > 0;
  return status;
}
