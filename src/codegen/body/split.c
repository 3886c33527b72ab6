// SPDX-License-Identifier: Apache-2.0
// Recognizes split collectives (see split.h).
#include "codegen/body/split.h"

bool hlo_node_is_collective(const hlo_node_t* node) {
  return (hlo_op_info(node->op)->traits & HLO_TRAIT_COLLECTIVE) != 0 &&
         node->op != HLO_OP_async_start && node->op != HLO_OP_async_done;
}

static const hlo_node_t* only_user(const hlo_value_t* value) {
  return value->uses && !value->uses->next ? value->uses->user : NULL;
}

static bool are_results_of(const hlo_node_t* barrier, const hlo_node_t* node) {
  if (barrier->op != HLO_OP_optimization_barrier || barrier->parent != node->parent ||
      barrier->operand_count != node->result_count) {
    return false;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_node_operand(barrier, i) != &node->results[i] ||
        only_user(&node->results[i]) != barrier) {
      return false;
    }
  }
  return true;
}

const hlo_node_t* hlo_split_end(const hlo_node_t* collective) {
  if (!hlo_node_is_collective(collective) || collective->result_count == 0) return NULL;
  const hlo_node_t* user = only_user(&collective->results[0]);
  return user && are_results_of(user, collective) ? user : NULL;
}

const hlo_node_t* hlo_split_begin(const hlo_node_t* node) {
  if (node->op != HLO_OP_optimization_barrier || node->operand_count == 0) return NULL;
  const hlo_node_t* maker = hlo_node_operand(node, 0)->def;
  return maker && hlo_split_end(maker) == node ? maker : NULL;
}
