// SPDX-License-Identifier: Apache-2.0
// Windows of a select_and_scatter that reach over the ends of a divided dimension (see
// partition_impl.h).
//
// No element of the padding is ever selected, which no value of an element can stand for. So the
// first and the last device, which alone have such windows, apply the op with padding in place of
// the elements outside of the dimension.
#include "base/mem.h"
#include "ir/clone.h"
#include "spmd/partition_impl.h"

// Elements that are padding on one device.
typedef struct edge {
  int64_t low, high;
} edge_t;

// Returns elements of a dimension, sliced in a region that has no end yet.
static hlo_value_t* slice_in(hlo_partitioner_t* p, hlo_region_t* region, hlo_value_t* value,
                             uint32_t dim, int64_t first, int64_t count) {
  hlo_node_t* at = p->at;
  p->at = hlo_end_region(p, region, 0, NULL);
  hlo_value_t* result = p->at ? hlo_slice_dim(p, value, dim, first, count) : NULL;
  if (p->at) hlo_node_erase(p->at);
  p->at = at;
  return result;
}

// Fills in a branch: the op with padding at its ends.
static bool fill_branch(hlo_op_plan_t* plan, const hlo_spmd_window_t* w, const hlo_node_t* local,
                        hlo_region_t* region, const edge_t* edge) {
  hlo_partitioner_t* p = plan->p;
  const uint32_t dim = w->exchange.dim;
  hlo_value_t* value = slice_in(p, region, hlo_node_operand(local, 0), dim, edge->low,
                                w->exchange.count - edge->low - edge->high);
  hlo_value_map_t map = {0};
  hlo_node_t* copy = hlo_node_clone(region, local, &map);
  if (!value || hlo_node_is_poison(copy)) return false;
  int64_t padding[2 * HLO_RANK_MAX];
  const uint32_t rank = value->type->rank;
  const hlo_ints_t old = hlo_node_ints(local, HLO_ATTR_padding);
  for (uint32_t i = 0; i < 2 * rank; ++i) padding[i] = hlo_ints_at(old, i, 0);
  padding[2 * dim] = edge->low;
  padding[2 * dim + 1] = edge->high;
  hlo_node_set_operand(copy, 0, value);
  hlo_node_set_attr(copy, HLO_ATTR_padding, hlo_attr_matrix(p->module, rank, 2, padding));
  copy->results[0].type = value->type;
  hlo_value_t* part = slice_in(p, region, &copy->results[0], w->out_dim,
                               w->out_starts[0] - edge->low, w->out_count);
  return part && hlo_end_region(p, region, 1, &part);
}

// Returns the number of the branch of this device: 0 between the ends.
static hlo_value_t* build_branch_index(hlo_partitioner_t* p, const hlo_spmd_window_t* w,
                                       const edge_t* edges, uint32_t count) {
  const hlo_dim_axes_t* axes = &w->exchange.axes;
  const int64_t parts = hlo_grid_size(p->grid, axes->axes, axes->count);
  hlo_value_t* part = hlo_axis_index(p, axes->axes, axes->count);
  hlo_value_t* index = hlo_build_s32(p, 0);
  for (uint32_t i = 1; i < count && part && index; ++i) {
    hlo_value_t* end = hlo_build_s32(p, edges[i].low ? 0 : parts - 1);
    hlo_value_t* is_end =
        end ? hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_EQ, part, end) : NULL;
    hlo_value_t* number = hlo_build_s32(p, i);
    index = is_end && number ? hlo_build_select(p->at, is_end, number, index) : NULL;
  }
  return part ? index : NULL;
}

hlo_value_t* hlo_build_edges(hlo_op_plan_t* plan, const hlo_spmd_window_t* w, hlo_value_t* result) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* local = result->def;
  edge_t edges[3] = {{0}};
  uint32_t count = 1;
  if (w->low) edges[count++].low = w->low;
  if (w->high) edges[count++].high = w->high;
  hlo_value_t* index = build_branch_index(p, w, edges, count);
  const hlo_type_t* type = hlo_type_with_dim(p->module, result->type, w->out_dim, w->out_count);
  if (!index || !type) return NULL;
  hlo_node_t* node = hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_case,
                                                                   .loc = local->loc,
                                                                   .operand_count = 1,
                                                                   .operands = &index,
                                                                   .region_count = count,
                                                                   .result_count = 1,
                                                                   .result_types = &type});
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(p->at, node);
  for (uint32_t i = 0; i < count; ++i) {
    if (!fill_branch(plan, w, local, node->regions[i], &edges[i])) return NULL;
  }
  hlo_node_erase(local);
  return &node->results[0];
}
