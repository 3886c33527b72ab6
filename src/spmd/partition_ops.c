// SPDX-License-Identifier: Apache-2.0
// The local form of single ops (see partition_impl.h).
//
// The axes of an op's factors are chosen from those that divide its tensors, the largest first, so
// that large values stay where they are. Operands are then asked for as the factors say, the op is
// built with the shapes of parts, and partial results are combined.
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "ir/clone.h"
#include "spmd/collective.h"
#include "spmd/partition_impl.h"

static hlo_value_t* tensor_value(const hlo_node_t* node, uint32_t i) {
  return i < node->operand_count ? hlo_node_operand(node, i)
                                 : &node->results[i - node->operand_count];
}

// ---- the axes of factors

const hlo_spec_t* hlo_spec_with_dim(hlo_partitioner_t* p, const hlo_spec_t* spec, uint32_t dim,
                                    const uint8_t* axes, uint32_t count) {
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; spec && d < spec->rank; ++d) {
    const uint8_t* list = axes;
    dims[d].count = d == dim ? count : hlo_spec_dim(spec, d, &list);
    if (dims[d].count) memcpy(dims[d].axes, list, dims[d].count);
  }
  return spec ? hlo_spec_make(p->spmd, spec->rank, dims, spec->unreduced) : NULL;
}

// Appends to a factor's axes those of a list that continue it.
static void extend_factor(hlo_op_plan_t* plan, uint32_t factor, const uint8_t* axes,
                          uint32_t count) {
  hlo_dim_axes_t* have = &plan->factors[factor];
  if (count <= have->count || memcmp(have->axes, axes, have->count) != 0) return;
  for (uint32_t i = have->count; i < count; ++i) {
    if (plan->used & hlo_axis_bit(axes[i])) return;
    plan->used |= hlo_axis_bit(axes[i]);
    have->axes[have->count++] = axes[i];
  }
}

// A spatial dimension of a convolution can be a sum over devices if one window is all of it.
static void restrict_spatial_factors(hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  const hlo_ints_t in = hlo_node_ints(node, HLO_ATTR_input_spatial_dimensions);
  const hlo_ints_t kernel = hlo_node_ints(node, HLO_ATTR_kernel_spatial_dimensions);
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  const hlo_attr_t* reversal = hlo_node_attr(node, HLO_ATTR_window_reversal);
  for (uint32_t i = 0; i < in.count; ++i) {
    const int64_t size = hlo_node_operand_type(node, 0)->dims[in.values[i]];
    const bool is_whole = size == hlo_node_operand_type(node, 1)->dims[kernel.values[i]] &&
                          hlo_ints_at(padding, 2 * i, 0) == 0 &&
                          hlo_ints_at(padding, 2 * i + 1, 0) == 0 &&
                          hlo_node_attr_item(node, HLO_ATTR_lhs_dilation, i, 1) == 1 &&
                          hlo_node_attr_item(node, HLO_ATTR_rhs_dilation, i, 1) == 1 &&
                          (!reversal || i >= reversal->count || !reversal->values[i]);
    const hlo_dim_factors_t* dim = &plan->rule->dims[1][kernel.values[i]];
    for (uint32_t k = 0; !is_whole && k < dim->count; ++k)
      plan->is_divisible[dim->factors[k]] = false;
  }
}

static bool has_factor(const hlo_op_plan_t* plan, uint32_t tensor, uint32_t factor) {
  const hlo_dim_factors_t* dims = plan->rule->dims[tensor];
  const hlo_type_t* type = hlo_node_type(plan->node, tensor);
  for (uint32_t d = 0; dims && d < type->rank; ++d) {
    for (uint32_t k = 0; k < dims[d].count; ++k) {
      if (dims[d].factors[k] == factor) return true;
    }
  }
  return false;
}

// The rule of a custom call, or of a reshape, may have factors of operands, or results, alone,
// which say nothing of how parts are computed.
static void restrict_own_factors(hlo_op_plan_t* plan) {
  const uint32_t operands = plan->node->operand_count;
  for (uint32_t f = 0; f < plan->rule->factor_count; ++f) {
    bool is_in = false, is_out = plan->rule->factors[f].kind == HLO_FACTOR_REDUCTION;
    for (uint32_t t = 0; t < plan->rule->tensor_count; ++t) {
      *(t < operands ? &is_in : &is_out) |= has_factor(plan, t, f);
    }
    plan->is_divisible[f] = plan->is_divisible[f] && is_in && is_out;
  }
}

// Decides which factors may be divided.
static void find_divisible_factors(hlo_op_plan_t* plan) {
  for (uint32_t f = 0; f < plan->rule->factor_count; ++f) {
    const hlo_factor_kind_t kind = plan->rule->factors[f].kind;
    plan->is_divisible[f] =
        kind == HLO_FACTOR_PASS_THROUGH || (kind == HLO_FACTOR_REDUCTION && hlo_can_combine(plan));
    // The bits are those of the whole result, unless partition_random.c finds their counters.
    if (plan->node->op == HLO_OP_rng_bit_generator) plan->is_divisible[f] = false;
    // The types in the body are those of the whole dimensions.
    if (plan->node->op == HLO_OP_chlo_scan) plan->is_divisible[f] = false;
    // The systems of a triangular_solve with one matrix are independent.
    if (plan->node->op == HLO_OP_triangular_solve && !has_factor(plan, 0, f)) {
      plan->is_divisible[f] = true;
    }
  }
  if (plan->node->op == HLO_OP_convolution) restrict_spatial_factors(plan);
  if (plan->node->op == HLO_OP_custom_call || plan->node->op == HLO_OP_reshape) {
    restrict_own_factors(plan);
  }
  if (plan->node->op == HLO_OP_gather || plan->node->op == HLO_OP_scatter) {
    hlo_restrict_index_factors(plan);
  }
}

// Divides the axes of a dimension among its factors, major to minor.
static void offer_dim(hlo_op_plan_t* plan, const hlo_dim_factors_t* dim, const uint8_t* axes,
                      uint32_t count) {
  for (uint32_t k = 0; k < dim->count && count; ++k) {
    const hlo_factor_t* factor = &plan->rule->factors[dim->factors[k]];
    uint32_t taken = 0;
    int64_t parts = 1;
    const bool may_be_uneven = plan->is_uneven[dim->factors[k]];
    while (taken < count &&
           (may_be_uneven || factor->size % (parts * plan->p->grid->sizes[axes[taken]]) == 0)) {
      parts *= plan->p->grid->sizes[axes[taken++]];
    }
    if (plan->is_divisible[dim->factors[k]]) extend_factor(plan, dim->factors[k], axes, taken);
    if (parts != factor->size) return;
    axes += taken;
    count -= taken;
  }
}

static void offer_tensor(hlo_op_plan_t* plan, uint32_t tensor) {
  const hlo_value_t* value = tensor_value(plan->node, tensor);
  const hlo_dim_factors_t* dims = plan->rule->dims[tensor];
  if (!dims || !hlo_type_is_tensor(value->type)) return;
  const hlo_spec_t* spec = hlo_spmd_value_spec(plan->p->spmd, value);
  for (uint32_t d = 0; spec && d < value->type->rank; ++d) {
    const uint8_t* axes;
    const uint32_t count = hlo_spec_dim(spec, d, &axes);
    offer_dim(plan, &dims[d], axes, count);
  }
}

// A minor factor may be divided only where the factors before it are in parts of one element.
static bool drop_minor_factors(hlo_op_plan_t* plan) {
  bool dropped = false;
  for (uint32_t t = 0; t < plan->rule->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(plan->node, t);
    for (uint32_t d = 0; plan->rule->dims[t] && d < type->rank; ++d) {
      const hlo_dim_factors_t* dim = &plan->rule->dims[t][d];
      bool is_open = true;
      for (uint32_t k = 0; k < dim->count; ++k) {
        hlo_dim_axes_t* axes = &plan->factors[dim->factors[k]];
        if (!is_open && axes->count) {
          axes->count = 0;
          dropped = true;
        }
        is_open = is_open && hlo_grid_size(plan->p->grid, axes->axes, axes->count) ==
                                 plan->rule->factors[dim->factors[k]].size;
      }
    }
  }
  return dropped;
}

// Calls offer_tensor() for the largest tensors first, operands after results of their size.
static void offer_tensors(hlo_op_plan_t* plan) {
  const uint32_t count = plan->rule->tensor_count, operands = plan->node->operand_count;
  int64_t last_size = INT64_MAX;
  uint32_t last = UINT32_MAX;
  for (uint32_t turn = 0; turn < count; ++turn) {
    int64_t best_size = -1;
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t t = (k + operands) % count;  // results first
      const hlo_type_t* type = hlo_node_type(plan->node, t);
      const int64_t size = hlo_type_is_tensor(type) ? hlo_type_element_count(type) : 0;
      const bool is_left =
          size < last_size ||
          (size == last_size && (t + count - operands) % count > (last + count - operands) % count);
      if (turn && !is_left) continue;
      if (size > best_size) {
        best_size = size;
        best = t;
      }
    }
    if (best == UINT32_MAX) return;
    offer_tensor(plan, best);
    last_size = best_size;
    last = best;
  }
}

static hlo_status_t make_specs(hlo_op_plan_t* plan) {
  const hlo_sharding_rule_t* rule = plan->rule;
  for (uint32_t t = 0; t < rule->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(plan->node, t);
    hlo_dim_axes_t dims[HLO_RANK_MAX];
    const uint32_t rank = hlo_type_is_tensor(type) ? type->rank : 0;
    for (uint32_t d = 0; d < rank; ++d) {
      dims[d].count = 0;
      for (uint32_t k = 0; rule->dims[t] && k < rule->dims[t][d].count; ++k) {
        const hlo_dim_axes_t* axes = &plan->factors[rule->dims[t][d].factors[k]];
        memcpy(&dims[d].axes[dims[d].count], axes->axes, axes->count);
        dims[d].count += axes->count;
      }
    }
    plan->specs[t] =
        hlo_spec_make(plan->p->spmd, rank, dims, hlo_is_term(plan, t) ? plan->unreduced : 0);
    if (!plan->specs[t]) return hlo_partitioner_status(plan->p);
  }
  for (uint32_t f = 0; f < rule->factor_count; ++f) {
    if (rule->factors[f].kind != HLO_FACTOR_REDUCTION) continue;
    plan->sums |= hlo_axis_set(plan->factors[f].axes, plan->factors[f].count);
  }
  return hlo_ok();
}

// ---- products

enum {
  PRODUCT_TENSORS = 3,
  PRODUCT_ORDERS = 16,  // ordered subsets of the tensors
  PRODUCT_PLANS_MAX = 64,
};

typedef struct product_plan {
  hlo_axis_set_t used, sums;
  const hlo_spec_t* specs[PRODUCT_TENSORS];
  hlo_dim_axes_t* factors;
  hlo_spmd_window_t* windows;  // of a convolution
  uint32_t window_count;
  double bytes, cost;
} product_plan_t;

static void clear_plan(hlo_op_plan_t* plan) {
  memset(plan->factors, 0, plan->rule->factor_count * sizeof *plan->factors);
  plan->used = plan->unreduced;
  plan->sums = 0;
  plan->window_count = 0;
}

// Divides factors by the axes of the tensors of an order, the first one first; NULL: the largest.
static hlo_status_t apply_order(hlo_op_plan_t* plan, const uint8_t* order, uint32_t count) {
  clear_plan(plan);
  for (uint32_t i = 0; i < count; ++i) offer_tensor(plan, order[i]);
  if (!order) offer_tensors(plan);
  while (drop_minor_factors(plan)) continue;
  return make_specs(plan);
}

// Returns the bytes that the operands and the result send.
static double product_bytes(const hlo_op_plan_t* plan) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  double bytes = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    bytes += hlo_local_bytes(p, hlo_node_operand(node, i), plan->specs[i]);
  }
  const hlo_value_t* result = &node->results[0];
  const hlo_spec_t* decided = hlo_spmd_value_spec(p->spmd, result);
  hlo_spec_t partial = *plan->specs[2];
  partial.unreduced |= plan->sums;
  const hlo_spec_t* from = hlo_spec_intern(p->spmd, &partial);
  for (uint32_t i = 0; i < plan->window_count; ++i) {
    const hlo_type_t* local = hlo_local_type(p, hlo_node_operand_type(node, 0), plan->specs[0]);
    if (local) bytes += hlo_dim_exchange_bytes(p, local, &plan->windows[i].exchange);
  }
  return from && decided ? bytes + hlo_reshard_bytes(p, result->type, from, decided) : bytes;
}

// Returns the bytes that could be sent while a device multiplies.
static double product_work(const hlo_op_plan_t* plan) {
  double flops = 2;
  for (uint32_t f = 0; f < plan->rule->factor_count; ++f) {
    const hlo_dim_axes_t* axes = &plan->factors[f];
    flops *= (double)plan->rule->factors[f].size /
             (double)hlo_grid_size(plan->p->grid, axes->axes, axes->count);
  }
  for (uint32_t i = 0; i < plan->window_count; ++i) {
    const hlo_dim_axes_t* axes = &plan->windows[i].exchange.axes;
    flops /= (double)hlo_grid_size(plan->p->grid, axes->axes, axes->count);
  }
  return flops / HLO_TUNING_PRODUCT_FLOPS_PER_BYTE;
}

static bool is_known_product(const product_plan_t* known, uint32_t count,
                             const hlo_spec_t* const* specs) {
  for (uint32_t i = 0; i < count; ++i) {
    if (memcmp(known[i].specs, specs, sizeof known[i].specs) == 0) return true;
  }
  return false;
}

typedef struct product_plans {
  hlo_op_plan_t* plan;
  uint32_t count, best;
  product_plan_t items[PRODUCT_PLANS_MAX];
} product_plans_t;

// Adds the plan that was made last, if it is a new one.
static hlo_status_t add_plan(product_plans_t* plans) {
  hlo_op_plan_t* plan = plans->plan;
  plan->window_count = 0;
  HLO_TRY(hlo_plan_windows(plan));
  if (plans->count == PRODUCT_PLANS_MAX ||
      is_known_product(plans->items, plans->count, plan->specs)) {
    return hlo_ok();
  }
  const size_t factor_bytes = plan->rule->factor_count * sizeof *plan->factors;
  product_plan_t* next = &plans->items[plans->count];
  *next = (product_plan_t){.used = plan->used,
                           .sums = plan->sums,
                           .windows = plan->windows,
                           .window_count = plan->window_count};
  memcpy(next->specs, plan->specs, sizeof next->specs);
  next->factors = hlo_arena_alloc(&plan->p->spmd->arena, factor_bytes);
  if (!next->factors) return hlo_partitioner_status(plan->p);
  memcpy(next->factors, plan->factors, factor_bytes);
  next->bytes = product_bytes(plan);
  next->cost = next->bytes + product_work(plan);
  if (next->cost < plans->items[plans->best].cost) plans->best = plans->count;
  ++plans->count;
  return hlo_partitioner_status(plan->p);
}

// Adds plans that divide one factor, whichever it is, by the axes of a dimension.
static hlo_status_t add_splits(product_plans_t* plans, const uint8_t* axes, uint32_t count) {
  hlo_op_plan_t* plan = plans->plan;
  const int64_t parts = hlo_grid_size(plan->p->grid, axes, count);
  for (uint32_t f = 0; count && f < plan->rule->factor_count; ++f) {
    if (!plan->is_divisible[f]) continue;
    if (plan->rule->factors[f].size % parts && !plan->is_uneven[f]) continue;
    clear_plan(plan);
    extend_factor(plan, f, axes, count);
    offer_tensors(plan);
    while (drop_minor_factors(plan)) continue;
    HLO_TRY(make_specs(plan));
    HLO_TRY(add_plan(plans));
  }
  return hlo_ok();
}

// Chooses the plan of a product that takes the least time: any subset of the tensors may keep their
// axes, and any axes divide any batch, free or contracted dimension.
static hlo_status_t plan_product(hlo_op_plan_t* plan) {
  static const uint8_t orders[PRODUCT_ORDERS][PRODUCT_TENSORS + 1] = {
      {0},          {1, 0},       {1, 1},       {1, 2},       {2, 0, 1},    {2, 0, 2},
      {2, 1, 0},    {2, 1, 2},    {2, 2, 0},    {2, 2, 1},    {3, 0, 1, 2}, {3, 0, 2, 1},
      {3, 1, 0, 2}, {3, 1, 2, 0}, {3, 2, 0, 1}, {3, 2, 1, 0},
  };
  hlo_partitioner_t* p = plan->p;
  product_plans_t* plans = hlo_arena_alloc_zeroed(&p->spmd->arena, sizeof *plans);
  if (!plans) return hlo_partitioner_status(p);
  plans->plan = plan;
  HLO_TRY(apply_order(plan, NULL, 0));
  HLO_TRY(add_plan(plans));
  if (plans->items[0].bytes == 0) return hlo_ok();
  for (uint32_t i = 0; i < PRODUCT_ORDERS; ++i) {
    HLO_TRY(apply_order(plan, &orders[i][1], orders[i][0]));
    HLO_TRY(add_plan(plans));
  }
  for (uint32_t t = 0; t < PRODUCT_TENSORS; ++t) {
    const hlo_value_t* value = tensor_value(plan->node, t);
    const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, value);
    for (uint32_t d = 0; spec && d < spec->rank; ++d) {
      const uint8_t* axes;
      const uint32_t count = hlo_spec_dim(spec, d, &axes);
      HLO_TRY(add_splits(plans, axes, count));
    }
  }
  const product_plan_t* best = &plans->items[plans->best];
  plan->used = best->used;
  plan->sums = best->sums;
  plan->windows = best->windows;
  plan->window_count = best->window_count;
  memcpy(plan->specs, best->specs, sizeof best->specs);
  memcpy(plan->factors, best->factors, plan->rule->factor_count * sizeof *plan->factors);
  return hlo_partitioner_status(p);
}

static bool is_product(const hlo_node_t* node) {
  return (node->op == HLO_OP_dot_general || node->op == HLO_OP_dot ||
          node->op == HLO_OP_convolution) &&
         node->operand_count == 2 && node->result_count == 1;
}

static hlo_status_t plan_op(hlo_op_plan_t* plan) {
  hlo_arena_t* arena = &plan->p->spmd->arena;
  const uint32_t tensors = plan->node->operand_count + plan->node->result_count;
  plan->specs = hlo_arena_array(arena, tensors, sizeof *plan->specs);
  if (!plan->specs) return hlo_partitioner_status(plan->p);
  if (!plan->rule) {
    for (uint32_t t = 0; t < tensors; ++t) {
      const hlo_type_t* type = hlo_node_type(plan->node, t);
      plan->specs[t] =
          hlo_spec_replicated(plan->p->spmd, hlo_type_is_tensor(type) ? type->rank : 0);
      if (!plan->specs[t]) return hlo_partitioner_status(plan->p);
    }
    return hlo_ok();
  }
  plan->factors =
      hlo_arena_alloc_zeroed(arena, (plan->rule->factor_count + 1) * sizeof *plan->factors);
  plan->is_divisible = hlo_arena_array(arena, plan->rule->factor_count, sizeof(bool));
  plan->is_uneven = hlo_arena_alloc_zeroed(arena, plan->rule->factor_count + 1);
  if (!plan->factors || !plan->is_divisible || !plan->is_uneven) {
    return hlo_partitioner_status(plan->p);
  }
  find_divisible_factors(plan);
  hlo_find_uneven_factors(plan);
  hlo_find_terms(plan);
  if (is_product(plan->node)) {
    HLO_TRY(plan_product(plan));
  } else {
    HLO_TRY(apply_order(plan, NULL, 0));
    HLO_TRY(hlo_plan_windows(plan));
  }
  const int64_t parts = plan->p->grid->device_count;
  hlo_plan_top_k(plan, parts);  // fewer candidates than elements of a part
  HLO_TRY(hlo_plan_moves(plan));
  hlo_plan_top_k(plan, 2);
  return hlo_partitioner_status(plan->p);
}

// ---- ops that are not used

static bool is_droppable(const hlo_node_t* node) {
  return hlo_collective_is_unused(node) ||
         (hlo_op_has(node->op, HLO_TRAIT_PURE) && !node->region_count && hlo_node_is_unused(node));
}

void hlo_drop_unused(hlo_partitioner_t* p, hlo_region_t* region) {
  for (hlo_node_t* node = region->last; node;) {
    hlo_node_t* prev = node->prev;
    if (node->index >= p->first_new_node && node->result_count && is_droppable(node)) {
      hlo_node_erase(node);
    } else {
      for (uint32_t i = 0; i < node->region_count; ++i) hlo_drop_unused(p, node->regions[i]);
    }
    node = prev;
  }
}

// ---- the local op

// Returns a list attribute with items replaced where a dimension is divided.
static void set_sizes(hlo_partitioner_t* p, hlo_node_t* local, hlo_attr_id_t id,
                      const hlo_spec_t* spec, const int64_t* sizes, uint32_t rank) {
  int64_t values[HLO_RANK_MAX];
  const hlo_ints_t old = hlo_node_ints(local, id);
  for (uint32_t d = 0; d < rank; ++d) {
    values[d] = hlo_spec_parts(p->grid, spec, d) > 1 ? sizes[d] : hlo_ints_at(old, d, 0);
  }
  hlo_node_set_attr(local, id, hlo_attr_ints(p->module, rank, values));
}

// The groups are the major factor of a dimension of the input.
static void divide_groups(hlo_op_plan_t* plan, hlo_node_t* local, hlo_attr_id_t count_id,
                          hlo_attr_id_t dim_id) {
  hlo_partitioner_t* p = plan->p;
  const int64_t count = hlo_node_attr_int(local, count_id, 1);
  if (count == 1) return;
  const int64_t dim = hlo_node_attr_int(local, dim_id, 0);
  const hlo_dim_axes_t* axes = &plan->factors[plan->rule->dims[0][dim].factors[0]];
  const int64_t parts = hlo_grid_size(p->grid, axes->axes, axes->count);
  hlo_node_set_attr(local, count_id,
                    hlo_attr_int(p->module, HLO_DTYPE_S64, hlo_divide_up(count, parts)));
}

// Changes attributes that state sizes of dimensions.
static void fit_attrs(hlo_op_plan_t* plan, hlo_node_t* local) {
  hlo_partitioner_t* p = plan->p;
  const hlo_type_t* in = local->operand_count ? hlo_node_operand_type(local, 0) : NULL;
  switch (local->op) {
    case HLO_OP_slice:
      set_sizes(p, local, HLO_ATTR_limit_indices, plan->specs[0], in->dims, in->rank);
      break;
    case HLO_OP_gather:
      // A divided dimension is either sliced as a whole, or an element of it is.
      {
        int64_t sizes[HLO_RANK_MAX];
        const hlo_ints_t old = hlo_node_ints(local, HLO_ATTR_slice_sizes);
        for (uint32_t d = 0; d < in->rank; ++d) {
          sizes[d] = hlo_ints_at(old, d, 1) == 1 ? 1 : in->dims[d];
        }
        set_sizes(p, local, HLO_ATTR_slice_sizes, plan->specs[0], sizes, in->rank);
      }
      break;
    case HLO_OP_convolution:
      divide_groups(plan, local, HLO_ATTR_feature_group_count, HLO_ATTR_input_feature_dimension);
      divide_groups(plan, local, HLO_ATTR_batch_group_count, HLO_ATTR_input_batch_dimension);
      break;
    default: break;
  }
}

const hlo_attr_t* hlo_local_extra(hlo_partitioner_t* p, const hlo_attr_t* extra) {
  return hlo_sharding_drop_attrs(p->module, extra);
}

static hlo_status_t drop_constraint(void* context, hlo_node_t* node) {
  (void)context;
  if (node->op != HLO_OP_sdy_sharding_constraint && node->op != HLO_OP_sdy_reshard) return hlo_ok();
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
  hlo_node_erase(node);
  return hlo_ok();
}

// A value that a body uses from outside.
static hlo_status_t take_capture(void* context, hlo_node_t* node) {
  hlo_partitioner_t* p = context;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    if (value->index >= p->local_capacity || !p->locals[value->index]) continue;
    hlo_value_t* local = hlo_local_get_whole(p, value);
    if (!local) return hlo_partitioner_status(p);
    hlo_node_set_operand(node, i, local);
  }
  return hlo_ok();
}

// Moves the bodies of scalars that an op applies.
static hlo_status_t move_bodies(hlo_partitioner_t* p, hlo_node_t* node, hlo_node_t* local) {
  hlo_local_move_regions(node, local);
  for (uint32_t i = 0; i < local->region_count; ++i) {
    HLO_TRY(hlo_region_walk(local->regions[i], true, drop_constraint, NULL));
    HLO_TRY(hlo_region_walk(local->regions[i], true, take_capture, p));
  }
  return hlo_ok();
}

static hlo_status_t build_local(hlo_op_plan_t* plan, hlo_node_t** out_local) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const uint32_t operands = node->operand_count, results = node->result_count;
  hlo_value_t** values = hlo_arena_array(&p->spmd->arena, operands, sizeof *values);
  const hlo_type_t** types = hlo_arena_array(&p->spmd->arena, results, sizeof *types);
  if (!values || !types) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < operands; ++i) {
    values[i] = hlo_local_get(p, hlo_node_operand(node, i), plan->specs[i]);
    if (!values[i]) return hlo_partitioner_status(p);
  }
  HLO_TRY(hlo_mask_uneven(plan, values));
  if (node->op == HLO_OP_gather || node->op == HLO_OP_scatter) {
    HLO_TRY(hlo_fit_indices(plan, values));
  }
  HLO_TRY(hlo_fit_initial_values(plan, values));
  HLO_TRY(hlo_fit_windows(plan, values));
  for (uint32_t i = 0; i < results; ++i) {
    types[i] = hlo_local_type(p, node->results[i].type, plan->specs[operands + i]);
    types[i] = hlo_window_result_type(plan, values, types[i]);
  }
  hlo_node_t* local = hlo_local_create(p, node, values, types);
  if (!local) return hlo_partitioner_status(p);
  hlo_node_insert_before(p->at, local);
  HLO_TRY(move_bodies(p, node, local));
  if (plan->rule) fit_attrs(plan, local);
  hlo_fit_window_attrs(plan, local);
  *out_local = local;
  return hlo_ok();
}

// ---- results

// Counts up from the device's part of the dimension.
static hlo_status_t partition_iota(hlo_op_plan_t* plan) {
  hlo_partitioner_t* p = plan->p;
  hlo_value_t* result = &plan->node->results[0];
  const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, result);
  const hlo_type_t* type = hlo_local_type(p, result->type, spec);
  const int64_t dim = hlo_node_attr_int(plan->node, HLO_ATTR_iota_dimension, 0);
  if (!spec || !type) return hlo_partitioner_status(p);
  hlo_value_t* value = hlo_build_iota(p->at, type, dim);
  const uint8_t* axes;
  const uint32_t count = hlo_spec_dim(spec, (uint32_t)dim, &axes);
  if (count && value) {
    hlo_value_t* first = hlo_scaled_index(p, hlo_axis_index(p, axes, count), type->dims[dim]);
    first = first ? hlo_build_convert(p->at, type->dtype, first) : NULL;
    hlo_value_t* all = first ? hlo_build_broadcast(p->at, type, first, NULL) : NULL;
    value = all ? hlo_build_binary(p->at, HLO_OP_add, value, all) : NULL;
  }
  return hlo_local_set(p, result, spec, value);
}

// Builds ops that are not the same op of parts.
static hlo_status_t partition_specially(hlo_op_plan_t* plan, bool* out_is_built) {
  *out_is_built = false;
  if (!plan->rule) return hlo_ok();
  switch (plan->node->op) {
    case HLO_OP_dynamic_slice: *out_is_built = true; return hlo_partition_dynamic_slice(plan);
    case HLO_OP_dynamic_update_slice: *out_is_built = true; return hlo_partition_update_slice(plan);
    case HLO_OP_concatenate: return hlo_partition_concatenate(plan, out_is_built);
    case HLO_OP_fft: return hlo_partition_fft(plan, out_is_built);
    case HLO_OP_reshape: return hlo_partition_reshape(plan, out_is_built);
    default: return hlo_ok();
  }
}

hlo_status_t hlo_partition_op(hlo_partitioner_t* p, hlo_node_t* node) {
  hlo_op_plan_t plan = {.p = p, .node = node};
  bool is_built;
  if (node->op == HLO_OP_iota) return partition_iota(&plan);
  if (node->op == HLO_OP_rng_bit_generator) {
    HLO_TRY(hlo_partition_random_bits(&plan, &is_built));
    if (is_built) return hlo_ok();
  }
  HLO_TRY(hlo_sharding_rule_make(node, &p->spmd->arena, &plan.rule));
  HLO_TRY(plan_op(&plan));
  HLO_TRY(partition_specially(&plan, &is_built));
  if (is_built) return hlo_ok();
  hlo_node_t* local = NULL;
  HLO_TRY(build_local(&plan, &local));
  if (plan.candidates.count) return hlo_partition_top_k(&plan, local);
  hlo_value_t** results = hlo_arena_array(&p->spmd->arena, node->result_count, sizeof *results);
  if (!results) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < node->result_count; ++i) results[i] = &local->results[i];
  if (node->result_count) results[0] = hlo_finish_windows(&plan, results[0]);
  if (plan.mask) results[0] = hlo_mask_gathered(&plan, results[0]);
  if (plan.sums) {
    return hlo_combine_results(&plan, local->region_count ? local->regions[0] : NULL, results);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hlo_local_set(p, &node->results[i], plan.specs[node->operand_count + i], results[i]));
  }
  return hlo_ok();
}
