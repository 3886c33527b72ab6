// SPDX-License-Identifier: Apache-2.0
// Ops that need a whole dimension which is divided, such as sorts and transforms: its axes move to
// another dimension, along which the op does the same for every index, by an all_to_all. Each
// device then computes a part of the lines, where after a gather all would compute all of them (see
// partition_impl.h).
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "spmd/partition_impl.h"

// A dimension that an op needs whole, and the factor that takes its axes.
typedef struct move {
  hlo_dim_axes_t axes;
  uint32_t factor;
} move_t;

// These find out where their elements are, or have rules of their own.
static bool is_excluded(hlo_op_t op) {
  return op == HLO_OP_dynamic_slice || op == HLO_OP_dynamic_update_slice ||
         op == HLO_OP_concatenate || op == HLO_OP_gather || op == HLO_OP_scatter;
}

// Returns the only factor of a dimension; UINT32_MAX if it has none or several.
static uint32_t factor_of(const hlo_op_plan_t* plan, uint32_t tensor, uint32_t dim) {
  const hlo_dim_factors_t* dims = plan->rule->dims[tensor];
  return dims && dims[dim].count == 1 ? dims[dim].factors[0] : UINT32_MAX;
}

static bool is_tensor(const hlo_op_plan_t* plan, uint32_t tensor) {
  return plan->rule->dims[tensor] && hlo_type_is_tensor(hlo_node_type(plan->node, tensor));
}

// Returns the least number of elements that a device has along a factor; 0 if a dimension consists
// of that factor and others.
static int64_t part_of_factor(const hlo_op_plan_t* plan, uint32_t factor, int64_t parts) {
  int64_t least = INT64_MAX;
  for (uint32_t t = 0; t < plan->rule->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(plan->node, t);
    for (uint32_t d = 0; is_tensor(plan, t) && d < type->rank; ++d) {
      const hlo_dim_factors_t* dim = &plan->rule->dims[t][d];
      bool has_factor = false;
      for (uint32_t k = 0; k < dim->count; ++k) has_factor |= dim->factors[k] == factor;
      if (!has_factor) continue;
      const int64_t have = hlo_spec_parts(plan->p->grid, plan->specs[t], d);
      if (dim->count > 1 || type->dims[d] % (have * parts)) return 0;
      if (type->dims[d] / have < least) least = type->dims[d] / have;
    }
  }
  return least == INT64_MAX ? 0 : least;
}

// Finds the dimension of a tensor that can be divided the most.
static bool find_free_dim(const hlo_op_plan_t* plan, uint32_t tensor, int64_t parts,
                          uint32_t* out_factor) {
  const hlo_type_t* type = hlo_node_type(plan->node, tensor);
  int64_t best = 0;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const uint32_t f = factor_of(plan, tensor, d);
    if (f == UINT32_MAX || !plan->is_divisible[f] ||
        plan->rule->factors[f].kind != HLO_FACTOR_PASS_THROUGH) {
      continue;
    }
    const int64_t part = part_of_factor(plan, f, parts);
    if (part <= best) continue;
    best = part;
    *out_factor = f;
  }
  return best > 0;
}

// Finds a dimension of an operand whose axes the plan does not use because the op needs all of it.
static bool find_move(const hlo_op_plan_t* plan, uint32_t tensor, uint32_t dim, move_t* out) {
  hlo_partitioner_t* p = plan->p;
  const hlo_value_t* value = hlo_node_operand(plan->node, tensor);
  const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, value);
  const hlo_dim_factors_t* factors = &plan->rule->dims[tensor][dim];
  if (!spec || factors->count > 1) return false;
  if (factors->count && plan->is_divisible[factors->factors[0]]) return false;
  if (hlo_spec_parts(p->grid, plan->specs[tensor], dim) > 1) return false;
  const uint8_t* axes;
  out->axes.count = hlo_spec_dim(spec, dim, &axes);
  memcpy(out->axes.axes, axes, out->axes.count);
  return out->axes.count && !(plan->used & hlo_axis_set(axes, out->axes.count)) &&
         find_free_dim(plan, tensor, hlo_grid_size(p->grid, axes, out->axes.count), &out->factor);
}

// Returns false for ops that only copy elements, which takes next to no time beside the exchanges.
static bool does_work(hlo_op_t op) {
  switch (hlo_op_info(op)->cost) {
    case HLO_COST_INDEX:
    case HLO_COST_MOVE:
    case HLO_COST_LOOKUP:
    case HLO_COST_UPDATE:
    case HLO_COST_SIMPLE: return false;
    default: return true;
  }
}

// Returns the time that an op takes on one device with its exchanges, in bytes that are sent.
static double plan_cost(const hlo_op_plan_t* plan) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const double weight = does_work(node->op) ? HLO_TUNING_LINE_BYTES_PER_BYTE : 0;
  double cost = 0;
  for (uint32_t t = 0; t < plan->rule->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(node, t);
    if (!is_tensor(plan, t)) continue;
    const hlo_spec_t* spec = plan->specs[t];
    cost += weight * (double)hlo_type_element_count(type) *
            (double)hlo_dtype_size_bytes(type->dtype) /
            (double)hlo_grid_size(p->grid, spec->axes, hlo_spec_axis_count(spec));
    if (t < node->operand_count) {
      cost += hlo_local_bytes(p, hlo_node_operand(node, t), spec);
      continue;
    }
    const hlo_value_t* result = &node->results[t - node->operand_count];
    const hlo_spec_t* decided = hlo_spmd_value_spec(p->spmd, result);
    if (decided) cost += hlo_reshard_bytes(p, type, spec, decided);
  }
  return cost;
}

// Appends axes to the dimensions of a factor.
static void divide_factor(hlo_op_plan_t* plan, const move_t* move) {
  for (uint32_t t = 0; t < plan->rule->tensor_count; ++t) {
    const uint32_t rank = hlo_node_type(plan->node, t)->rank;
    for (uint32_t d = 0; is_tensor(plan, t) && d < rank; ++d) {
      if (factor_of(plan, t, d) != move->factor || !plan->specs[t]) continue;
      const uint8_t* axes;
      hlo_dim_axes_t all = {.count = hlo_spec_dim(plan->specs[t], d, &axes)};
      memcpy(all.axes, axes, all.count);
      memcpy(&all.axes[all.count], move->axes.axes, move->axes.count);
      all.count += move->axes.count;
      plan->specs[t] = hlo_spec_with_dim(plan->p, plan->specs[t], d, all.axes, all.count);
    }
  }
  hlo_dim_axes_t* factor = &plan->factors[move->factor];
  memcpy(&factor->axes[factor->count], move->axes.axes, move->axes.count);
  factor->count += move->axes.count;
  plan->used |= hlo_axis_set(move->axes.axes, move->axes.count);
}

// Moves the axes if the op then takes less time.
static hlo_status_t try_move(hlo_op_plan_t* plan, const move_t* move) {
  const uint32_t count = plan->rule->tensor_count;
  const hlo_spec_t** specs = hlo_arena_array(&plan->p->spmd->arena, count, sizeof *specs);
  if (!specs) return hlo_partitioner_status(plan->p);
  memcpy(specs, plan->specs, count * sizeof *specs);
  const hlo_axis_set_t used = plan->used;
  const uint32_t axis_count = plan->factors[move->factor].count;
  const double before = plan_cost(plan);
  divide_factor(plan, move);
  HLO_TRY(hlo_partitioner_status(plan->p));
  if (plan_cost(plan) < before) return hlo_ok();
  memcpy(plan->specs, specs, count * sizeof *specs);
  plan->factors[move->factor].count = axis_count;
  plan->used = used;
  return hlo_ok();
}

hlo_status_t hlo_plan_moves(hlo_op_plan_t* plan) {
  if (!plan->rule || is_excluded(plan->node->op)) return hlo_ok();
  for (uint32_t t = 0; t < plan->node->operand_count; ++t) {
    if (!is_tensor(plan, t)) continue;
    for (uint32_t d = 0; d < hlo_node_type(plan->node, t)->rank; ++d) {
      move_t move;
      if (plan->specs[t] && find_move(plan, t, d, &move)) HLO_TRY(try_move(plan, &move));
    }
  }
  return hlo_partitioner_status(plan->p);
}
