// SPDX-License-Identifier: Apache-2.0
// Purity and removability of ops (see effects.h). The recursion is as deep as regions nest, which
// the parsers limit.
#include "passes/effects.h"

bool hlo_node_is_pure(const hlo_node_t* node) {
  if (!hlo_op_has(node->op, HLO_TRAIT_PURE)) return false;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    for (const hlo_node_t* n = node->regions[i]->first; n; n = n->next) {
      if (!hlo_op_has(n->op, HLO_TRAIT_TERMINATOR) && !hlo_node_is_pure(n)) return false;
    }
  }
  return true;
}

static bool op_is_removable(const hlo_node_t* node, hlo_callee_query_t callee_is_removable,
                            void* context) {
  switch (node->op) {
    case HLO_OP_partition_id:
    case HLO_OP_replica_id:
    case HLO_OP_optimization_barrier: return true;
    case HLO_OP_custom_call:
      // A call without results can only have an effect.
      return node->result_count > 0 && !hlo_node_attr_bool(node, HLO_ATTR_has_side_effect, false);
    case HLO_OP_call:
    case HLO_OP_composite: return callee_is_removable && callee_is_removable(context, node);
    default:
      return hlo_op_has(node->op, HLO_TRAIT_PURE | HLO_TRAIT_TERMINATOR | HLO_TRAIT_STRUCTURED);
  }
}

bool hlo_node_is_removable(const hlo_node_t* node, hlo_callee_query_t callee_is_removable,
                           void* context) {
  if (!op_is_removable(node, callee_is_removable, context)) return false;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    for (const hlo_node_t* n = node->regions[i]->first; n; n = n->next) {
      if (!hlo_node_is_removable(n, callee_is_removable, context)) return false;
    }
  }
  return true;
}
