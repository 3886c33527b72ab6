// SPDX-License-Identifier: Apache-2.0
// Pass reassociate_collectives: computes an op on results of equal collectives before a single
// collective, op(reduce(a), reduce(b)) as reduce(op(a, b)), where both reduce by the same op: it
// exchanges one value instead of two. A chain or tree of sums becomes one collective, as operands
// come before the ops that use them. Sums are regrouped: floats are rounded differently.
#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

// Returns the collective of one operand that alone makes `value`, which only `user` uses.
static hlo_node_t* find_collective(const hlo_value_t* value, const hlo_node_t* user) {
  hlo_node_t* node = value->def;
  if (!node || (node->op != HLO_OP_all_reduce && node->op != HLO_OP_reduce_scatter) ||
      node->operand_count != 1 || node->parent != user->parent ||
      hlo_node_operand_type(node, 0)->dtype != value->type->dtype) {
    return NULL;
  }
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (use->user != user) return NULL;
  }
  return node;
}

static hlo_status_t reassociate(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  hlo_module_t* module = node->parent->module;
  if (node->operand_count != 2 || !hlo_op_has(node->op, HLO_TRAIT_ASSOCIATIVE) || node->extra) {
    return hlo_ok();
  }
  hlo_node_t* a = find_collective(hlo_node_operand(node, 0), node);
  hlo_node_t* b = find_collective(hlo_node_operand(node, 1), node);
  if (!a || !b || !hlo_collective_exchanges_alike(a, b) || hlo_collective_reducer(a) != node->op ||
      hlo_collective_reducer(b) != node->op ||
      hlo_node_operand_type(a, 0) != hlo_node_operand_type(b, 0)) {
    return hlo_ok();
  }
  hlo_value_t* sum =
      hlo_build_binary(node, node->op, hlo_node_operand(a, 0), hlo_node_operand(b, 0));
  if (!sum || !hlo_collective_replace(node, a->op, a, sum, HLO_ATTR_COUNT, 0)) {
    return hlo_module_status(module);
  }
  if (b != a) hlo_node_erase(b);
  hlo_node_erase(a);
  ++ctx->step_count;
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_reassociate_collectives(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, reassociate, ctx);
}
