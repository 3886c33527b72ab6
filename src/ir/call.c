// SPDX-License-Identifier: Apache-2.0
// Properties of calls (see call.h).
#include "ir/call.h"

#include "ir/custom_call.h"

bool hlo_call_may_wait(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_send:
    case HLO_OP_recv:
    case HLO_OP_infeed:
    case HLO_OP_outfeed: return true;
    case HLO_OP_custom_call: return hlo_custom_call_is_foreign(node);
    default: return (hlo_op_info(node->op)->traits & HLO_TRAIT_COLLECTIVE) != 0;
  }
}

bool hlo_call_may_share(const hlo_node_t* node, uint32_t result, uint32_t operand) {
  return hlo_op_has(node->op, HLO_TRAIT_UPDATES) && operand == result;
}

bool hlo_node_wants_collective_memory(const hlo_node_t* node) {
  return hlo_op_has(node->op, HLO_TRAIT_COLLECTIVE) && node->result_count > 0 &&
         hlo_attr_dict_get(node->extra, "hlocc.collective_memory") != NULL;
}

bool hlo_call_may_cover(const hlo_node_t* node, uint32_t result, uint32_t operand) {
  if (node->results[result].type != hlo_node_operand_type(node, operand)) return false;
  switch (node->op) {
    case HLO_OP_all_reduce:
    case HLO_OP_cross_replica_sum:
      return result == operand && !hlo_attr_dict_get(node->extra, "hlocc.out_of_place");
    case HLO_OP_custom_call: return hlo_custom_call_may_cover(node, result, operand);
    default: return false;
  }
}
