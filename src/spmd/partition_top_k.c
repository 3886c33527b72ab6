// SPDX-License-Identifier: Apache-2.0
// The best elements of a divided dimension (see partition_impl.h): each device selects those of its
// part, all devices get these candidates, and select among them again.
//
// The candidates are in the order of the parts, and those of a part in the order of the op, which
// puts equal elements in the order of their positions. So the second selection finds the same
// elements in the same order as one of the whole dimension.
#include <string.h>

#include "ir/sort_comparator.h"
#include "spmd/partition_impl.h"

// The operands that are divided along the dimension: the elements, and what is selected with them.
static uint32_t input_count(const hlo_top_k_t* top_k) {
  return 1 + top_k->has_companion;
}

static bool read_top_k(const hlo_node_t* node, hlo_top_k_t* out) {
  const bool is_one = node->op == HLO_OP_chlo_top_k || node->op == HLO_OP_custom_call;
  if (!is_one || node->result_count != 2 || !node->operand_count) return false;
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  hlo_status_t status = hlo_top_k_of(node, out);
  const bool is_read = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_read && out->axis < type->rank && out->kept > 0 &&
         node->results[0].type->dims[out->axis] == out->kept && type->dims[out->axis] <= INT32_MAX;
}

void hlo_plan_top_k(hlo_op_plan_t* plan, int64_t least_gain) {
  hlo_partitioner_t* p = plan->p;
  const hlo_node_t* node = plan->node;
  hlo_top_k_t top_k;
  if (plan->candidates.count || !plan->rule || !read_top_k(node, &top_k)) return;
  const uint32_t dim = top_k.axis;
  const hlo_value_t* value = hlo_node_operand(node, 0);
  const hlo_spec_t* spec = hlo_spec_even(p->spmd, hlo_spmd_value_spec(p->spmd, value), value->type);
  const uint8_t* axes;
  const uint32_t count = spec ? hlo_spec_dim(spec, dim, &axes) : 0;
  if (!count || (plan->used & hlo_axis_set(axes, count))) return;
  if (hlo_spec_parts(p->grid, plan->specs[0], dim) > 1) return;
  const int64_t part = value->type->dims[dim] / hlo_grid_size(p->grid, axes, count);
  if (part < top_k.kept * least_gain) return;
  for (uint32_t i = 0; i < input_count(&top_k); ++i) {
    plan->specs[i] = hlo_spec_with_dim(p, plan->specs[i], dim, axes, count);
  }
  plan->candidates.count = count;
  memcpy(plan->candidates.axes, axes, count);
  plan->used |= hlo_axis_set(axes, count);
}

// Counts positions from the beginning of the whole dimension.
static hlo_value_t* add_first_position(hlo_op_plan_t* plan, hlo_value_t* positions, int64_t part) {
  hlo_partitioner_t* p = plan->p;
  hlo_value_t* first =
      hlo_scaled_index(p, hlo_axis_index(p, plan->candidates.axes, plan->candidates.count), part);
  first = first ? hlo_build_convert(p->at, positions->type->dtype, first) : NULL;
  first = first ? hlo_build_broadcast(p->at, positions->type, first, NULL) : NULL;
  return first ? hlo_build_binary(p->at, HLO_OP_add, positions, first) : NULL;
}

// Returns the elements of lines along `dim` that are at given positions.
static hlo_value_t* take_along(hlo_partitioner_t* p, hlo_value_t* lines, hlo_value_t* positions,
                               uint32_t dim) {
  int64_t batches[HLO_RANK_MAX], sizes[HLO_RANK_MAX], taken = dim;
  uint32_t count = 0;
  const uint32_t rank = lines->type->rank;
  for (uint32_t d = 0; d < rank; ++d) {
    sizes[d] = 1;
    if (d != dim) batches[count++] = d;
  }
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_offset_dims, hlo_attr_ints(p->module, 0, NULL)},
      {HLO_ATTR_collapsed_slice_dims, hlo_attr_ints(p->module, 1, &taken)},
      {HLO_ATTR_operand_batching_dims, hlo_attr_ints(p->module, count, batches)},
      {HLO_ATTR_start_indices_batching_dims, hlo_attr_ints(p->module, count, batches)},
      {HLO_ATTR_start_index_map, hlo_attr_ints(p->module, 1, &taken)},
      {HLO_ATTR_index_vector_dim, hlo_attr_int(p->module, HLO_DTYPE_S64, rank)},
      {HLO_ATTR_slice_sizes, hlo_attr_ints(p->module, rank, sizes)},
      {HLO_ATTR_indices_are_sorted, hlo_attr_bool(p->module, false)},
  };
  return hlo_build_node(p->at, HLO_OP_gather,
                        hlo_type_with_dims(p->module, lines->type, rank, positions->type->dims), 2,
                        (hlo_value_t*[]){lines, positions}, sizeof attrs / sizeof *attrs, attrs);
}

hlo_status_t hlo_partition_top_k(hlo_op_plan_t* plan, hlo_node_t* local) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const hlo_dim_axes_t* axes = &plan->candidates;
  hlo_top_k_t top_k;
  if (!read_top_k(node, &top_k)) return hlo_internal_error("no selection of the best elements");
  const int64_t part = hlo_node_operand_type(local, 0)->dims[top_k.axis];
  hlo_value_t** operands = hlo_arena_array(&p->spmd->arena, node->operand_count, sizeof *operands);
  if (!operands) return hlo_partitioner_status(p);
  hlo_value_t* second = &local->results[1];
  if (!top_k.has_companion) second = add_first_position(plan, second, part);
  hlo_value_t* candidates[] = {
      hlo_build_all_gather(p, &local->results[0], top_k.axis, axes->axes, axes->count),
      hlo_build_all_gather(p, second, top_k.axis, axes->axes, axes->count)};
  if (!candidates[0] || !candidates[1]) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = i < input_count(&top_k) ? candidates[i] : hlo_node_operand(local, i);
  }
  const hlo_type_t* types[] = {local->results[0].type, local->results[1].type};
  hlo_node_t* last = hlo_local_create(p, node, operands, types);
  if (!last) return hlo_partitioner_status(p);
  hlo_node_insert_before(p->at, last);
  second = &last->results[1];
  if (!top_k.has_companion) second = take_along(p, candidates[1], second, top_k.axis);
  HLO_TRY(hlo_local_set(p, &node->results[0], plan->specs[node->operand_count], &last->results[0]));
  return hlo_local_set(p, &node->results[1], plan->specs[node->operand_count + 1], second);
}
