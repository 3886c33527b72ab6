// SPDX-License-Identifier: Apache-2.0
// Reshapes of reshapes as one, before propagation: a dimension that is merged and split again keeps
// its axes, which the merged dimension may not be able to have.
#include "ir/clone.h"
#include "spmd/propagate_impl.h"

static bool is_plain_reshape(const hlo_node_t* node) {
  return node && node->op == HLO_OP_reshape && !node->extra;
}

static hlo_status_t merge_reshape(HLO_UNUSED void* context, hlo_node_t* node) {
  if (!is_plain_reshape(node)) return hlo_ok();
  hlo_node_t* inner = hlo_node_operand(node, 0)->def;
  if (is_plain_reshape(inner)) {  // its own operand is no reshape: it came first
    hlo_node_set_operand(node, 0, hlo_node_operand(inner, 0));
    if (hlo_value_is_unused(&inner->results[0])) hlo_node_erase(inner);
  }
  if (node->results[0].type != hlo_node_operand_type(node, 0)) return hlo_ok();
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
  hlo_node_erase(node);
  return hlo_ok();
}

hlo_status_t hlo_spmd_merge_reshapes(hlo_func_t* func) {
  return hlo_region_walk(func->body, false, merge_reshape, NULL);
}
