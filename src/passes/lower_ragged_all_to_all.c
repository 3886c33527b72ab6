// SPDX-License-Identifier: Apache-2.0
// Pass lower_ragged_all_to_all: StableHLO lacks the collective, so JAX sends it as a custom call.
#include <string.h>

#include "ir/clone.h"
#include "ir/custom_call.h"
#include "passes/passes.h"

enum { OPERANDS = 6 };  // operand, output, input offsets, send sizes, output offsets, recv sizes

// Returns the groups of the call as a matrix, or NULL if they have another form.
static const hlo_attr_t* groups_of(const hlo_node_t* node, hlo_arena_t* arena) {
  const hlo_attr_t* groups = hlo_attr_dict_get(hlo_custom_call_config(node), "replica_groups");
  if (!groups || groups->kind == HLO_ATTR_KIND_OPAQUE || groups->kind == HLO_ATTR_KIND_INTS) {
    return groups;
  }
  const hlo_literal_t* ids = groups->kind == HLO_ATTR_KIND_LITERAL ? groups->literal : NULL;
  if (!ids || ids->rank != 2 || !hlo_dtype_is_integer(ids->dtype)) return NULL;
  int64_t* values = hlo_arena_array(arena, (size_t)ids->element_count, sizeof *values);
  if (!values) return NULL;
  for (int64_t i = 0; i < ids->element_count; ++i) {
    values[i] = hlo_dtype_load_int64(ids->dtype, hlo_literal_element(ids, i));
  }
  return hlo_attr_matrix(node->parent->module, (uint32_t)ids->dims[0], (uint32_t)ids->dims[1],
                         values);
}

static hlo_status_t lower_node(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  if (node->op != HLO_OP_custom_call ||
      strcmp(hlo_custom_call_target(node), "ragged_all_to_all") != 0) {
    return hlo_ok();
  }
  hlo_module_t* module = node->parent->module;
  const hlo_attr_t* groups = groups_of(node, &ctx->scratch);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  HLO_TRY(hlo_module_status(module));
  if (!groups || node->operand_count != OPERANDS || node->result_count != 1) {
    return hlo_pass_error(node, HLO_STATUS_INVALID_ARGUMENT,
                          "ragged_all_to_all needs six operands, one result and a matrix of "
                          "replica_groups in its configuration");
  }
  hlo_value_t* operands[OPERANDS];
  for (uint32_t i = 0; i < OPERANDS; ++i) operands[i] = hlo_node_operand(node, i);
  const int64_t channel = hlo_custom_call_int(node, "channel_id", 0);
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_replica_groups, groups},
      {HLO_ATTR_channel_id, hlo_attr_int(module, HLO_DTYPE_S64, channel)}};
  hlo_node_t* lowered =
      hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_hlo_ragged_all_to_all,
                                                 .loc = node->loc,
                                                 .operand_count = OPERANDS,
                                                 .operands = operands,
                                                 .attr_count = channel > 0 ? 2 : 1,
                                                 .attrs = attrs,
                                                 .result_count = 1,
                                                 .result_types = &node->results[0].type});
  if (hlo_node_is_poison(lowered)) return hlo_module_status(module);
  hlo_node_insert_before(node, lowered);
  hlo_value_replace_uses(&node->results[0], &lowered->results[0]);
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_ragged_all_to_all(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, lower_node, ctx);
}
