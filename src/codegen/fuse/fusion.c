// SPDX-License-Identifier: Apache-2.0
// Groups ops into fusions (see fusion.h); schedule_region() shows the phases. Fusions grow
// backwards from their last op: an op joins if the fusion has all its users, or if its result can
// be another output of the same size. Cheap ops are recomputed in every fusion that uses them, as
// are ops whose recomputation takes no longer than storing the result, if their operands are
// available there (fusion_grow.c). A product computes its operands as prologues if that costs less
// than memory (fusion_operand.c). Finally, groups that read the same array are merged
// (fusion_merge.c).
//
// A fusion runs where its last op stands. Other users of an output must stand after that position,
// so that no cycle can arise.
#include "base/mem.h"
#include "codegen/fuse/fusion_impl.h"
#include "codegen/math/elementwise.h"

bool hlo_fuser_only_indexes(const hlo_node_t* node) {
  return hlo_op_info(node->op)->cost == HLO_COST_INDEX;
}

// Returns a number above 0 for broadcasts of small values, and for a few plain ops on nothing else:
// recomputing them is faster than loading their results.
static uint8_t broadcast_of(const hlo_fuser_t* f, const hlo_node_t* node) {
  if (node->op == HLO_OP_constant) return 1;
  if (node->op == HLO_OP_broadcast_in_dim) {
    int64_t count = hlo_type_element_count(hlo_node_operand_type(node, 0));
    return count <= hlo_type_element_count(node->results[0].type) / HLO_TUNING_BROADCAST_SHARE;
  }
  if (!hlo_elementwise_supports(node) || hlo_elementwise_cost(node) > 1) return 0;
  uint8_t most = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_node_t* def = hlo_node_operand(node, i)->def;
    uint8_t broadcast = def && def->parent == node->parent ? hlo_fuser_state(f, def)->broadcast : 0;
    if (broadcast == 0 || broadcast == HLO_TUNING_BROADCAST_OPS) return 0;
    if (broadcast > most) most = broadcast;
  }
  return most ? most + 1 : 0;
}

// Initializes the states of all nodes; returns the number of nodes.
static uint32_t init_node_states(hlo_fuser_t* f, const hlo_region_t* region) {
  uint32_t position = 0;
  for (hlo_node_t* node = region->first; node; node = node->next) {
    bool is_product = hlo_matmul_supports(node);  // has a kernel form
    bool is_computed = is_product ? hlo_tiled_supports_types(node) : hlo_tiled_supports(node);
    bool is_fusible = !hlo_op_is_control(node->op) && is_computed;
    f->nodes[node->index] =
        (hlo_fuser_node_t){.position = position++,
                           .group = HLO_NO_GROUP,
                           .requires_trials = hlo_fuser_state(f, node)->requires_trials,
                           .is_fusible = is_fusible,
                           .is_cheap = is_fusible && hlo_fuser_only_indexes(node),
                           .is_product = is_product};
    if (!is_fusible) continue;
    f->nodes[node->index].broadcast = broadcast_of(f, node);
    f->nodes[node->index].is_cheap |= f->nodes[node->index].broadcast > 0;
  }
  return position;
}

// Makes one attempt to assign all nodes and to make the groups' fusions; it ends early if an
// optimistic group is rejected.
static hlo_status_t assign_nodes(hlo_fuser_t* f, const hlo_region_t* region, uint32_t attempt,
                                 uint32_t first_rejection, bool* is_whole) {
  f->groups = NULL;
  f->started_group = HLO_NO_GROUP;
  f->group_count = f->group_capacity = 0;
  f->is_rejected = false;
  f->schedule->rejection_count = first_rejection;
  *is_whole = true;
  uint32_t node_count = init_node_states(f, region);
  f->may_be_optimistic =
      attempt < HLO_TUNING_FUSE_ATTEMPTS && node_count <= HLO_TUNING_FUSE_OPTIMISTIC_NODES;
  for (hlo_node_t* node = region->last; node; node = node->prev) {
    HLO_TRY(hlo_fuser_assign_node(f, node));
    if (f->is_rejected) return hlo_ok();
  }
  HLO_TRY(hlo_fuser_merge_groups(f));
  return hlo_fuser_make_fusions(f, is_whole);
}

// Makes the fusions of all groups; rejected attempts leave no fusions in the schedule.
static hlo_status_t make_groups(hlo_fuser_t* f, const hlo_region_t* region, bool* is_whole) {
  const uint32_t fusion_count = f->schedule->fusion_count;
  const uint32_t first_rejection = f->schedule->rejection_count;
  for (uint32_t attempt = 0;; ++attempt) {
    HLO_TRY(assign_nodes(f, region, attempt, first_rejection, is_whole));
    if (!f->is_rejected) return hlo_ok();
    hlo_fusion_table_forget(&f->known, fusion_count);
    f->schedule->fusion_count = fusion_count;
  }
}

static hlo_status_t schedule_region(hlo_fuser_t* f, const hlo_region_t* region) {
  if (!HLO_ARENA_GROW(f->arena, f->schedule->sequences, f->schedule->sequence_count,
                      f->sequence_capacity))
    return hlo_arena_status(f->arena);
  uint32_t at = f->schedule->sequence_count++;
  f->schedule->sequences[at] = (hlo_sequence_t){.region = region};
  bool is_whole;
  HLO_TRY(make_groups(f, region, &is_whole));
  HLO_TRY(hlo_fuser_make_steps(f, &f->schedule->sequences[at]));
  if (!is_whole) HLO_TRY(hlo_fuser_order_steps(f, &f->schedule->sequences[at]));
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (!hlo_op_is_control(node->op)) continue;
    for (uint32_t i = 0; i < node->region_count; ++i) HLO_TRY(schedule_region(f, node->regions[i]));
  }
  return hlo_ok();
}

static hlo_status_t create_schedule(const hlo_func_t* func, const hlo_target_t* target,
                                    bool is_explained, hlo_arena_t* arena,
                                    hlo_schedule_t** out_schedule) {
  hlo_fuser_t f = {.target = target, .arena = arena, .is_explained = is_explained};
  hlo_arena_init(&f.scratch, 0);
  hlo_arena_init(&f.trial, 0);
  f.schedule = hlo_arena_alloc_zeroed(arena, sizeof *f.schedule);
  f.nodes = hlo_arena_array(&f.scratch, func->module->node_count + 1, sizeof *f.nodes);
  f.memo = hlo_tile_memo_create(&f.scratch);
  (void)hlo_arena_alloc(&f.trial, 1);  // a first block, which trials reuse
  f.numbers = hlo_arena_array(&f.scratch, func->module->node_count + 1, sizeof *f.numbers);
  f.listed = hlo_arena_array(&f.scratch, func->module->node_count + 1, sizeof *f.listed);
  hlo_status_t status = hlo_arena_status(arena);
  if (hlo_status_is_ok(status)) status = hlo_arena_status(&f.scratch);
  if (hlo_status_is_ok(status)) status = schedule_region(&f, func->body);
  if (hlo_status_is_ok(status)) status = hlo_schedule_finish(f.schedule, func->module, arena);
  hlo_arena_deinit(&f.scratch);
  hlo_arena_deinit(&f.trial);
  if (hlo_status_is_ok(status)) *out_schedule = f.schedule;
  return status;
}

hlo_status_t hlo_schedule_create(const hlo_func_t* func, const hlo_target_t* target,
                                 hlo_arena_t* arena, hlo_schedule_t** out_schedule) {
  return create_schedule(func, target, false, arena, out_schedule);
}

hlo_status_t hlo_schedule_create_explained(const hlo_func_t* func, const hlo_target_t* target,
                                           hlo_arena_t* arena, hlo_schedule_t** out_schedule) {
  return create_schedule(func, target, true, arena, out_schedule);
}
