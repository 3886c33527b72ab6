// SPDX-License-Identifier: Apache-2.0
// Pass drop_empty: replaces ops that read values without elements, which the loops do not support:
// reductions of nothing are their initial values, an update by nothing changes nothing.
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

static bool is_empty(const hlo_value_t* value) {
  return hlo_type_is_plain(value->type) && hlo_type_element_count(value->type) == 0;
}

// Concatenates the operands that have elements.
static hlo_value_t* concatenate(hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t** operands = hlo_arena_array(&module->arena, node->operand_count, sizeof *operands);
  uint32_t count = 0;
  for (uint32_t i = 0; operands && i < node->operand_count; ++i) {
    if (!is_empty(hlo_node_operand(node, i))) operands[count++] = hlo_node_operand(node, i);
  }
  if (count == 0 || count == node->operand_count) return NULL;
  if (count == 1) return operands[0];
  const hlo_named_attr_t along = {HLO_ATTR_dimension, hlo_node_attr(node, HLO_ATTR_dimension)};
  return hlo_build_node(node, HLO_OP_concatenate, node->results[0].type, count, operands, 1,
                        &along);
}

static hlo_value_t* replace_node(hlo_node_t* node) {
  if (node->result_count != 1 || !hlo_type_is_plain(node->results[0].type) ||
      is_empty(&node->results[0])) {
    return NULL;
  }
  const hlo_type_t* type = node->results[0].type;
  switch (node->op) {
    case HLO_OP_concatenate: return concatenate(node);
    case HLO_OP_reduce:
    case HLO_OP_reduce_window:
    case HLO_OP_pad: {
      const bool is_init = is_empty(hlo_node_operand(node, 0)) && node->operand_count == 2 &&
                           hlo_node_operand_type(node, 1)->dtype == type->dtype;
      return is_init ? hlo_build_broadcast(node, type, hlo_node_operand(node, 1), NULL) : NULL;
    }
    case HLO_OP_dot:
    case HLO_OP_dot_general:
    case HLO_OP_convolution:
      return is_empty(hlo_node_operand(node, 0)) || is_empty(hlo_node_operand(node, 1))
                 ? hlo_build_splat(node, type, 0)
                 : NULL;
    case HLO_OP_dynamic_update_slice:
      return is_empty(hlo_node_operand(node, 1)) ? hlo_node_operand(node, 0) : NULL;
    case HLO_OP_scatter: {
      const bool is_kept = node->operand_count != 3 || !is_empty(hlo_node_operand(node, 2));
      return is_kept ? NULL : hlo_node_operand(node, 0);
    }
    default: return NULL;
  }
}

hlo_status_t hlo_pass_drop_empty(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_node);
}
