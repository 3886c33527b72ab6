// SPDX-License-Identifier: Apache-2.0
// Dimensions whose size is not a multiple of their parts: all parts are as long as the first one,
// and what is after the last element of the dimension is arbitrary (see partition_impl.h).
//
// Most ops compute each index of a dimension for itself, and so compute what nobody reads. Where
// elements are combined, those after the last one become what changes no result. Ops that are not
// named here take parts of equal size.
#include "base/mem.h"
#include "spmd/partition_impl.h"

// Returns the size of the largest dimension: as an index of a scatter, it is out of bounds.
static int64_t largest_dim(const hlo_type_t* type) {
  int64_t size = 0;
  for (uint32_t d = 0; d < type->rank; ++d) size = type->dims[d] > size ? type->dims[d] : size;
  return size;
}

static bool can_be_out_of_bounds(const hlo_node_t* scatter) {
  const hlo_type_t* indices = hlo_node_operand_type(scatter, scatter->operand_count / 2);
  return hlo_dtype_size_bytes(indices->dtype) >= 4 &&
         largest_dim(hlo_node_operand_type(scatter, 0)) <= INT32_MAX;
}

static bool has_products(const hlo_node_t* node) {
  return hlo_has_identity(HLO_OP_add, hlo_node_operand_type(node, 0)) &&
         hlo_has_identity(HLO_OP_add, hlo_node_operand_type(node, 1));
}

// Returns true if the local form of an op does not depend on what is after the last element of a
// dimension that it passes through, or masks it where it combines elements.
static bool takes_uneven(const hlo_node_t* node) {
  if (hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE)) return true;
  switch (node->op) {
    case HLO_OP_broadcast:
    case HLO_OP_broadcast_in_dim:
    case HLO_OP_concatenate:
    case HLO_OP_pad:
    case HLO_OP_reshape:
    case HLO_OP_reverse:
    case HLO_OP_slice:
    case HLO_OP_transpose:
    case HLO_OP_gather:
    case HLO_OP_dynamic_slice:
    case HLO_OP_dynamic_update_slice:
    case HLO_OP_select_and_scatter:
    case HLO_OP_optimization_barrier:
    case HLO_OP_hlo_copy:
    case HLO_OP_map:
    case HLO_OP_reduce:
    case HLO_OP_reduce_window:
    case HLO_OP_sort:
    case HLO_OP_fft:
    case HLO_OP_cholesky:
    case HLO_OP_triangular_solve:
    case HLO_OP_batch_norm_grad:
    case HLO_OP_batch_norm_inference:
    case HLO_OP_batch_norm_training:
    case HLO_OP_chlo_top_k: return true;
    case HLO_OP_scatter: return can_be_out_of_bounds(node);
    case HLO_OP_convolution:
    case HLO_OP_dot:
    case HLO_OP_dot_general: return has_products(node);
    default: return false;
  }
}

static bool is_broadcast(const hlo_node_t* node) {
  return node->op == HLO_OP_broadcast || node->op == HLO_OP_broadcast_in_dim;
}

// Returns true if a factor is a whole dimension of an operand, unless that is broadcast, and of a
// result, unless it is summed over, and part of no other dimension.
static bool is_whole_dim(const hlo_op_plan_t* plan, uint32_t factor) {
  const hlo_sharding_rule_t* rule = plan->rule;
  bool is_in = is_broadcast(plan->node),
       is_out = rule->factors[factor].kind == HLO_FACTOR_REDUCTION;
  for (uint32_t t = 0; t < rule->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(plan->node, t);
    for (uint32_t d = 0; rule->dims[t] && d < type->rank; ++d) {
      const hlo_dim_factors_t* dim = &rule->dims[t][d];
      for (uint32_t k = 0; k < dim->count; ++k) {
        if (dim->factors[k] != factor) continue;
        if (dim->count > 1 || type->dims[d] != rule->factors[factor].size || type->quant) {
          return false;
        }
        *(t < plan->node->operand_count ? &is_in : &is_out) = true;
      }
    }
  }
  return is_in && is_out;
}

void hlo_find_uneven_factors(hlo_op_plan_t* plan) {
  const bool is_taken = takes_uneven(plan->node);
  for (uint32_t f = 0; f < plan->rule->factor_count; ++f) {
    const int64_t size = plan->rule->factors[f].size;
    plan->is_uneven[f] =
        is_taken && plan->is_divisible[f] && size > 1 && size <= INT32_MAX && is_whole_dim(plan, f);
  }
}

// ---- masks

// Returns the scalar that changes no result where it stands in an operand.
static hlo_value_t* build_neutral(hlo_op_plan_t* plan, uint32_t operand,
                                  hlo_value_t* const* operands) {
  hlo_partitioner_t* p = plan->p;
  const hlo_node_t* node = plan->node;
  const hlo_type_t* scalar = hlo_type_with_dims(p->module, operands[operand]->type, 0, NULL);
  if (!scalar) return NULL;
  if (node->op == HLO_OP_reduce) {
    const uint32_t inputs = node->operand_count / 2;
    const hlo_op_t op = inputs == 1 ? hlo_region_reducer(node->regions[0]) : HLO_OP_COUNT;
    const bool is_known = op != HLO_OP_COUNT && hlo_has_identity(op, scalar);
    return is_known ? hlo_build_identity(p, op, scalar) : operands[inputs + operand];
  }
  if (node->op == HLO_OP_scatter) {  // no element has this index
    const int64_t size = largest_dim(hlo_node_operand_type(node, 0));
    return hlo_build_integers(p->at, scalar, &size);
  }
  // The product of -0 and +0 is -0, which changes no sum. Nothing but zero times zero is sure to be
  // zero.
  return operand ? hlo_build_splat(p->at, scalar, 0) : hlo_build_identity(p, HLO_OP_add, scalar);
}

// Replaces what is after the last element of a dimension.
static hlo_value_t* mask_dim(hlo_op_plan_t* plan, uint32_t operand, uint32_t dim,
                             const hlo_dim_axes_t* axes, hlo_value_t* value, hlo_value_t* neutral) {
  hlo_partitioner_t* p = plan->p;
  const int64_t part = value->type->dims[dim];
  const hlo_dim_exchange_t range = {.dim = dim, .axes = *axes, .step = part, .count = part};
  hlo_value_t* mask = hlo_build_range_mask(p, &range, value->type, INT64_MIN,
                                           hlo_node_operand_type(plan->node, operand)->dims[dim]);
  neutral = neutral ? hlo_build_broadcast(p->at, value->type, neutral, NULL) : NULL;
  return mask && neutral ? hlo_build_select(p->at, mask, value, neutral) : NULL;
}

// Returns true if an op combines elements of this operand; a gather and a scatter find them by
// their indices.
static bool is_combined(const hlo_node_t* node, uint32_t operand) {
  if (node->op == HLO_OP_scatter) return operand == node->operand_count / 2;
  return node->op != HLO_OP_gather;
}

hlo_status_t hlo_mask_uneven(hlo_op_plan_t* plan, hlo_value_t** operands) {
  const hlo_sharding_rule_t* rule = plan->rule;
  for (uint32_t t = 0; rule && t < plan->node->operand_count; ++t) {
    const bool is_masked = rule->dims[t] && is_combined(plan->node, t);
    const uint32_t rank = is_masked ? operands[t]->type->rank : 0;
    for (uint32_t d = 0; d < rank; ++d) {
      const hlo_dim_factors_t* dim = &rule->dims[t][d];
      if (dim->count != 1 || rule->factors[dim->factors[0]].kind != HLO_FACTOR_REDUCTION) continue;
      const hlo_dim_axes_t* axes = &plan->factors[dim->factors[0]];
      const int64_t parts = hlo_grid_size(plan->p->grid, axes->axes, axes->count);
      if (hlo_node_operand_type(plan->node, t)->dims[d] % parts == 0) continue;
      operands[t] = mask_dim(plan, t, d, axes, operands[t], build_neutral(plan, t, operands));
      if (!operands[t]) return hlo_partitioner_status(plan->p);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_mask_cumulative(hlo_op_plan_t* plan, hlo_value_t** operands) {
  hlo_partitioner_t* p = plan->p;
  const hlo_cumulative_t* c = &plan->cumulative;
  const hlo_type_t* type = hlo_node_operand_type(plan->node, 0);
  if (type->dims[c->dim] % hlo_grid_size(p->grid, c->axes.axes, c->axes.count) == 0) {
    return hlo_ok();
  }
  const hlo_op_t op = hlo_region_reducer(plan->node->regions[0]);
  hlo_value_t* neutral =
      c->is_general ? c->init
                    : hlo_build_identity(p, op, hlo_type_with_dims(p->module, type, 0, NULL));
  operands[0] = mask_dim(plan, 0, c->dim, &c->axes, operands[0], neutral);
  return operands[0] ? hlo_ok() : hlo_partitioner_status(p);
}
