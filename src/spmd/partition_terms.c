// SPDX-License-Identifier: Apache-2.0
// Ops that are applied to the terms of sums that devices hold, instead of to the sums: where a
// result is to stay a sum over axes and the op distributes over sums, nothing needs to be sent.
#include "spmd/partition_impl.h"

// Returns true for conversions that round no term.
static bool is_exact_convert(const hlo_node_t* node) {
  const hlo_dtype_t from = hlo_node_operand_type(node, 0)->dtype;
  const hlo_dtype_t to = node->results[0].type->dtype;
  return hlo_dtype_is_float(from) && hlo_dtype_is_float(to) && hlo_dtype_size_bytes(to) >= 4 &&
         hlo_dtype_size_bytes(to) >= hlo_dtype_size_bytes(from);
}

// Returns true if an op may be applied to each term of a sum, in place of their sum, if tensor
// `tensor` alone, or with the others that are such terms, is one.
static bool takes_terms(const hlo_node_t* node, uint32_t tensor) {
  switch (node->op) {
    case HLO_OP_add:
    case HLO_OP_subtract:
    case HLO_OP_negate:
    case HLO_OP_reshape:
    case HLO_OP_transpose:
    case HLO_OP_broadcast_in_dim:
    case HLO_OP_concatenate:
    case HLO_OP_slice:
    case HLO_OP_reverse:
    case HLO_OP_optimization_barrier:
    case HLO_OP_real:
    case HLO_OP_imag: return true;
    case HLO_OP_convert: return is_exact_convert(node);
    case HLO_OP_select: return tensor > 0;
    case HLO_OP_dynamic_slice:
    case HLO_OP_gather:
    case HLO_OP_divide: return tensor == 0;
    case HLO_OP_dynamic_update_slice: return tensor < 2;
    case HLO_OP_multiply:
    case HLO_OP_dot_general:
    case HLO_OP_convolution: return tensor < 2;
    default: return false;
  }
}

static bool is_product(const hlo_node_t* node) {
  return node->op == HLO_OP_multiply || node->op == HLO_OP_dot_general ||
         node->op == HLO_OP_convolution;
}

bool hlo_is_term(const hlo_op_plan_t* plan, uint32_t tensor) {
  const hlo_type_t* type = hlo_node_type(plan->node, tensor);
  if (!plan->unreduced || !hlo_type_is_tensor(type)) return false;
  if (tensor >= plan->node->operand_count) return true;
  if (!takes_terms(plan->node, tensor)) return false;
  const hlo_spec_t* spec = hlo_spmd_value_spec(plan->p->spmd, hlo_node_operand(plan->node, tensor));
  return !is_product(plan->node) || (spec && (spec->unreduced & plan->unreduced));
}

void hlo_find_terms(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  if (!node->result_count || !node->operand_count) return;
  const hlo_spec_t* result = hlo_spmd_value_spec(plan->p->spmd, &node->results[0]);
  plan->unreduced = result ? result->unreduced : 0;
  uint32_t terms = 0;
  for (uint32_t t = 0; t < node->operand_count; ++t) terms += hlo_is_term(plan, t);
  if (is_product(node) ? terms != 1 : terms == 0) plan->unreduced = 0;
  plan->used = plan->unreduced;
}
