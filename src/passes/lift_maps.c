// SPDX-License-Identifier: Apache-2.0
// Pass lift_maps: turns map into the ops of its body, on whole values.
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/splice.h"

static hlo_value_t* lift_map(hlo_node_t* node) {
  if (node->op != HLO_OP_map || node->operand_count > HLO_LIFT_MAX_VALUES ||
      node->result_count != 1 || node->operand_count != node->regions[0]->arg_count ||
      !hlo_lift_can(node->regions[0])) {
    return NULL;
  }
  hlo_value_t *args[HLO_LIFT_MAX_VALUES], *result = NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    args[i] = hlo_node_operand(node, i);
    if (!hlo_type_is_plain(args[i]->type) ||
        node->regions[0]->args[i]->type->dtype != args[i]->type->dtype) {
      return NULL;
    }
  }
  const bool is_lifted = node->operand_count && hlo_lift(node, node->regions[0], args, &result);
  return is_lifted && result->type == node->results[0].type ? result : NULL;
}

hlo_status_t hlo_pass_lift_maps(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, lift_map);
}
