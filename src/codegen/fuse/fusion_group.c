// SPDX-License-Identifier: Apache-2.0
// Groups and their fusions: members, inputs, outputs, and trials, which make a kernel to find out
// if loops can compute a fusion (see fusion_impl.h).
#include <string.h>

#include "codegen/fuse/fusion_impl.h"
#include "codegen/math/elementwise.h"

bool hlo_fuser_prologue_has(const hlo_fuser_prologue_t* prologue, const hlo_node_t* node) {
  for (uint32_t i = 0; prologue && i < prologue->count; ++i) {
    if (prologue->nodes[i] == node) return true;
  }
  return false;
}

// Returns true if a product computes its operand `value` in a prologue.
static bool is_prologue(const hlo_fuser_t* f, const hlo_value_t* value) {
  return value->def && (hlo_fuser_state(f, value->def)->is_prologue ||
                        hlo_fuser_prologue_has(f->prologue, value->def));
}

bool hlo_fuser_needs_memory(const hlo_fuser_t* f, const hlo_node_t* user, const hlo_use_t* use) {
  // The buffer that dynamic_update_slice overwrites, and operands of products without prologue.
  return (user->op == HLO_OP_dynamic_update_slice && use == &user->operands[0]) ||
         (hlo_fuser_state(f, user)->is_product && !is_prologue(f, use->value));
}

static bool is_listed(const hlo_fuser_t* f, const hlo_node_t* node) {
  return f->listed[node->index] == f->list_number;
}

static void add_to_list(hlo_fuser_t* f, hlo_node_t* node) {
  f->list[f->list_count++] = node;
  f->listed[node->index] = f->list_number;
}

// Returns true if a single group computes the node.
static bool is_made_elsewhere(const hlo_fuser_node_t* state) {
  return state->group != HLO_NO_GROUP && !state->is_duplicated;
}

// Adds the cheap nodes that members need and that no other group computes.
static bool list_cheap_nodes(hlo_fuser_t* f) {
  for (uint32_t i = 0; i < f->list_count; ++i) {
    const hlo_node_t* node = f->list[i];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      hlo_node_t* def = hlo_node_operand(node, k)->def;
      if (!def || is_listed(f, def) || hlo_fuser_needs_memory(f, node, &node->operands[k]))
        continue;
      const hlo_fuser_node_t* state = hlo_fuser_state(f, def);
      bool is_splat = def->op == HLO_OP_constant && state->is_fusible;
      bool is_here = def->parent == f->list[0]->parent;
      bool is_own = state->is_cheap && is_here && !is_made_elsewhere(state);
      if (!state->is_fusible || !(is_splat || is_own)) continue;
      if (f->list_count == HLO_FUSER_MAX_NODES) return false;
      add_to_list(f, def);
    }
  }
  return true;
}

static bool is_used_outside(const hlo_fuser_t* f, const hlo_value_t* value) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (!is_listed(f, use->user)) return true;
  }
  return false;
}

// Collects operands that no member computes.
static bool collect_inputs(const hlo_fuser_t* f, hlo_value_t** inputs, uint32_t* count) {
  for (uint32_t i = 0; i < f->list_count; ++i) {
    const hlo_node_t* node = f->list[i];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      hlo_value_t* value = hlo_node_operand(node, k);
      bool is_memory = hlo_fuser_needs_memory(f, node, &node->operands[k]);
      if (value->def && is_listed(f, value->def) && !is_memory) continue;
      uint32_t at = 0;
      while (at < *count && inputs[at] != value) ++at;
      if (at < *count) continue;
      if (*count == HLO_TUNING_FUSE_MAX_ARRAYS) return false;
      inputs[(*count)++] = value;
    }
  }
  return true;
}

static void* copy_array(hlo_arena_t* arena, const void* items, uint32_t count) {
  void* copy = hlo_arena_array(arena, count, sizeof(void*));
  if (copy && count) memcpy(copy, items, count * sizeof(void*));
  return copy;
}

// Moves outputs of other sizes than the group's to the end; returns their number.
static uint32_t extra_outputs_last(const hlo_fuser_group_t* group, hlo_value_t** outputs,
                                   uint32_t count) {
  hlo_value_t* extra_outputs[HLO_TUNING_FUSE_MAX_ARRAYS];
  uint32_t extra_output_count = 0, kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (hlo_fuser_written_count(outputs[i]) == group->element_count) {
      outputs[kept++] = outputs[i];
    } else {
      extra_outputs[extra_output_count++] = outputs[i];
    }
  }
  memcpy(outputs + kept, extra_outputs, extra_output_count * sizeof *outputs);
  return extra_output_count;
}

hlo_status_t hlo_fuser_build(hlo_fuser_t* f, const hlo_fuser_group_t* group, hlo_node_t* extra,
                             hlo_arena_t* arena, hlo_fusion_t** out_fusion) {
  hlo_value_t *inputs[HLO_TUNING_FUSE_MAX_ARRAYS], *outputs[HLO_TUNING_FUSE_MAX_ARRAYS];
  uint32_t input_count = 0, output_count = 0, extra_output_count = 0;
  *out_fusion = NULL;
  ++f->list_number;
  f->list_count = 0;
  for (uint32_t i = 0; i < group->member_count; ++i) add_to_list(f, group->members[i]);
  if (extra) add_to_list(f, extra);
  for (uint32_t i = 0; f->prologue && i < f->prologue->count; ++i)
    add_to_list(f, f->prologue->nodes[i]);
  for (uint32_t i = f->list_count; i-- > 0;) {  // in program order
    for (uint32_t r = 0; r < f->list[i]->result_count; ++r) {
      hlo_value_t* value = &f->list[i]->results[r];
      if (!is_used_outside(f, value)) continue;
      if (output_count == HLO_TUNING_FUSE_MAX_ARRAYS) return hlo_ok();
      outputs[output_count++] = value;
    }
  }
  if (output_count == 0 || !list_cheap_nodes(f)) return hlo_ok();
  extra_output_count = extra_outputs_last(group, outputs, output_count);
  if (!collect_inputs(f, inputs, &input_count)) return hlo_ok();
  hlo_fusion_t* fusion = hlo_arena_alloc(arena, sizeof *fusion);
  if (!fusion) return hlo_arena_status(arena);
  *fusion = (hlo_fusion_t){.node_count = f->list_count,
                           .input_count = input_count,
                           .output_count = output_count,
                           .extra_output_count = extra_output_count,
                           .nodes = copy_array(arena, f->list, f->list_count),
                           .inputs = copy_array(arena, inputs, input_count),
                           .outputs = copy_array(arena, outputs, output_count)};
  *out_fusion = fusion;
  return hlo_arena_status(arena);
}

hlo_status_t hlo_fuser_has_loops(hlo_fuser_t* f, hlo_fusion_t* fusion, bool is_made,
                                 bool* out_has) {
  hlo_fusion_key_t key;
  HLO_TRY(hlo_fusion_key(fusion, f->numbers, &f->trial, &key));
  hlo_fusion_known_t* known = hlo_fusion_table_find(&f->known, &key);
  *out_has = known && !hlo_verdict_is_no(&known->verdict);
  if (known) f->verdict = known->verdict;
  if (known && (hlo_verdict_is_no(&known->verdict) || !is_made)) return hlo_ok();
  if (known && known->fusion) {
    fusion->kernel = known->fusion->kernel;
    fusion->model = known->fusion->model = known->fusion;
    return hlo_ok();
  }
  if (!known) known = hlo_fusion_table_add(&f->known, &key, &f->scratch);
  if (!known) return hlo_arena_status(&f->scratch);
  hlo_kernel_t* kernel;
  hlo_arena_t* arena = is_made ? f->arena : &f->trial;
  f->schedule->walked_count += fusion->node_count;
  HLO_TRY(hlo_kernel_try(fusion, f->target, &hlo_product_form, f->memo, arena, &known->verdict,
                         &kernel));
  f->verdict = known->verdict;
  *out_has = !hlo_verdict_is_no(&known->verdict);
  if (*out_has && is_made) known->fusion = fusion;
  return hlo_ok();
}

// A group is usually tried with one node after the other: the loops found are kept for the next
// trial.
static hlo_status_t keep_start(hlo_fuser_t* f, int32_t group, const hlo_kernel_t* kernel) {
  HLO_TRY(hlo_kernel_keep_start(kernel, &f->scratch, &f->start));
  f->started_group = group;
  return hlo_ok();
}

bool hlo_fuser_accumulates(const hlo_node_t* node) {
  return hlo_op_has(node->op, HLO_TRAIT_REDUCES);
}

void hlo_fuser_restart_region(hlo_fuser_t* f, const hlo_fuser_group_t* group) {
  hlo_fuser_state(f, group->members[0])->requires_trials = true;
  f->is_rejected = true;
}

// After a failed trial, checks whether an optimistic group fits without the new member.
static hlo_status_t check_optimistic_group(hlo_fuser_t* f, const hlo_fuser_group_t* group) {
  const hlo_fuser_prologue_t* prologue = f->prologue;
  hlo_fusion_t* fusion;
  bool fits = false;
  f->prologue = NULL;
  hlo_status_t status = hlo_fuser_build(f, group, NULL, &f->trial, &fusion);
  if (hlo_status_is_ok(status) && fusion) status = hlo_fuser_has_loops(f, fusion, false, &fits);
  f->prologue = prologue;
  if (!fits) hlo_fuser_restart_region(f, group);
  return status;
}

hlo_status_t hlo_fuser_try_member(hlo_fuser_t* f, const hlo_fuser_group_t* group, hlo_node_t* node,
                                  bool* out_fits) {
  *out_fits = false;
  if (group->member_count >= HLO_TUNING_FUSE_MAX_TRIAL) {
    f->verdict = hlo_verdict_beyond(HLO_REASON_FUSER_MEMBERS, NULL, group->member_count,
                                    HLO_TUNING_FUSE_MAX_TRIAL - 1);
    return hlo_ok();
  }
  hlo_arena_mark_t mark = hlo_arena_mark(&f->trial);
  hlo_fusion_t* fusion;
  f->verdict = hlo_verdict_no(HLO_REASON_FUSER_MEMORY, NULL);  // if no fusion is built
  hlo_status_t status = hlo_fuser_build(f, group, node, &f->trial, &fusion);
  int32_t number = (int32_t)(group - f->groups);
  if (hlo_status_is_ok(status) && fusion) {
    fusion->start = f->started_group == number ? f->start : NULL;
    status = hlo_fuser_has_loops(f, fusion, false, out_fits);
    if (*out_fits && fusion->kernel) status = keep_start(f, number, fusion->kernel);
  }
  const hlo_verdict_t verdict = f->verdict;
  if (hlo_status_is_ok(status) && !*out_fits && group->is_optimistic)
    status = check_optimistic_group(f, group);
  f->verdict = verdict;
  hlo_arena_reset(&f->trial, mark);
  return status;
}

hlo_status_t hlo_fuser_record_rejection(hlo_fuser_t* f, const hlo_node_t* node, int32_t group,
                                        bool is_merge) {
  hlo_schedule_t* schedule = f->schedule;
  const hlo_node_t* user = f->groups[group].members ? f->groups[group].members[0] : NULL;
  if (!f->is_explained || !user || !hlo_verdict_is_no(&f->verdict)) return hlo_ok();
  if (!HLO_ARENA_GROW(f->arena, schedule->rejections, schedule->rejection_count,
                      f->rejection_capacity))
    return hlo_arena_status(f->arena);
  schedule->rejections[schedule->rejection_count++] =
      (hlo_rejection_t){node, user, is_merge, f->verdict};
  return hlo_ok();
}

hlo_status_t hlo_fuser_join(hlo_fuser_t* f, int32_t number, hlo_node_t* node) {
  hlo_fuser_group_t* group = &f->groups[number];
  if (!HLO_ARENA_GROW(&f->scratch, group->members, group->member_count, group->member_capacity))
    return hlo_arena_status(&f->scratch);
  group->members[group->member_count++] = node;
  group->work += hlo_elementwise_cost(node);
  group->has_product |= hlo_fuser_state(f, node)->is_product;
  group->has_reduction |= node->op == HLO_OP_reduce;
  group->accumulates |= hlo_fuser_accumulates(node);
  group->has_update |= node->op == HLO_OP_dynamic_update_slice;
  hlo_fuser_state(f, node)->group = number;
  return hlo_ok();
}

hlo_status_t hlo_fuser_start_group(hlo_fuser_t* f, hlo_node_t* node) {
  if (!HLO_ARENA_GROW(&f->scratch, f->groups, f->group_count, f->group_capacity))
    return hlo_arena_status(&f->scratch);
  f->groups[f->group_count] =
      (hlo_fuser_group_t){.element_count = hlo_fuser_written_count(&node->results[0]),
                          .merged = HLO_NO_GROUP,
                          .last_position = hlo_fuser_state(f, node)->position,
                          .output_count = node->result_count};
  return hlo_fuser_join(f, (int32_t)f->group_count++, node);
}
