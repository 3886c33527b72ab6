// SPDX-License-Identifier: Apache-2.0
// Makes the steps of a region: the groups' fusions with their kernels, and calls for ops that loops
// cannot compute, ordered so that every value is computed before it is read.
#include "codegen/fuse/fusion_impl.h"

// ---- fusions ------------------------------------------------------------------------------------

// Makes the group's fusion; *out is NULL if loops cannot compute it.
static hlo_status_t make_fusion(hlo_fuser_t* f, const hlo_fuser_group_t* group,
                                hlo_fusion_t** out) {
  hlo_fusion_t* fusion;
  HLO_TRY(hlo_fuser_build(f, group, NULL, f->arena, &fusion));
  *out = NULL;
  if (!fusion) return hlo_ok();
  bool has;
  hlo_arena_mark_t mark = hlo_arena_mark(&f->trial);
  hlo_status_t status = hlo_fuser_has_loops(f, fusion, true, &has);
  hlo_arena_reset(&f->trial, mark);
  if (hlo_status_is_ok(status) && has) *out = fusion;
  return status;
}

// Returns true for a view of an array in memory.
static bool is_lone_view(const hlo_fuser_t* f, const hlo_fuser_group_t* group) {
  if (group->member_count != 1 || !hlo_node_is_view(group->members[0])) return false;
  const hlo_node_t* def = hlo_node_operand(group->members[0], 0)->def;
  if (!def || def->parent != group->members[0]->parent) return true;
  return !hlo_fuser_state(f, def)->is_fusible || hlo_fuser_state(f, def)->group != HLO_NO_GROUP;
}

// Turns the node into a call. It loads its operands from memory: cheap operands get groups of their
// own.
static hlo_status_t make_call(hlo_fuser_t* f, const hlo_node_t* node) {
  hlo_fuser_node_t* state = hlo_fuser_state(f, node);
  state->is_fusible = state->is_cheap = state->is_duplicated = false;
  state->group = HLO_NO_GROUP;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_node_t* def = hlo_node_operand(node, i)->def;
    if (!def || def->parent != node->parent || def->op == HLO_OP_constant) continue;
    if (hlo_fuser_state(f, def)->is_fusible && hlo_fuser_state(f, def)->group == HLO_NO_GROUP) {
      HLO_TRY(hlo_fuser_start_group(f, def));
    }
  }
  return hlo_ok();
}

// Returns true if a user outside the group loads a member's result, instead of recomputing it.
static bool is_read_outside(const hlo_fuser_t* f, const hlo_node_t* node, int32_t group) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      if (use->user->parent != node->parent) return true;
      const hlo_fuser_node_t* state = hlo_fuser_state(f, use->user);
      if (state->group != group && !state->is_duplicated) return true;
    }
  }
  return false;
}

// Removes members that any fusion can recompute: otherwise one half of the group would have to
// store their operands for the other.
static hlo_status_t remove_cheap_members(hlo_fuser_t* f, int32_t number, hlo_fuser_group_t* whole) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < whole->member_count; ++i) {
    hlo_node_t* node = whole->members[i];
    hlo_fuser_node_t* state = hlo_fuser_state(f, node);
    if (!state->is_cheap) {
      whole->members[kept++] = node;
      continue;
    }
    bool is_stored = is_read_outside(f, node, number);
    state->is_duplicated = true;
    state->group = HLO_NO_GROUP;
    if (is_stored) HLO_TRY(hlo_fuser_start_group(f, node));
  }
  whole->member_count = kept;
  return hlo_ok();
}

// Splits a group into a later and an earlier half.
static hlo_status_t split_group(hlo_fuser_t* f, int32_t number, hlo_fuser_group_t* whole) {
  HLO_TRY(remove_cheap_members(f, number, whole));
  hlo_node_t** members = whole->members;
  for (uint32_t i = 1; i < whole->member_count;
       ++i) {  // merged groups are sorted one after the other
    hlo_node_t* node = members[i];
    uint32_t at = i, position = hlo_fuser_state(f, node)->position;
    for (; at && hlo_fuser_state(f, members[at - 1])->position < position; --at) {
      members[at] = members[at - 1];
    }
    members[at] = node;
  }
  uint32_t middle = (whole->member_count + 1) / 2;
  for (uint32_t i = 0; i < whole->member_count; ++i) {
    if (i == 0 || i == middle) {
      HLO_TRY(hlo_fuser_start_group(f, members[i]));
    } else {
      HLO_TRY(hlo_fuser_join(f, (int32_t)f->group_count - 1, members[i]));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_fuser_make_fusions(hlo_fuser_t* f, bool* is_whole) {
  for (uint32_t g = 0; g < f->group_count; ++g) {
    if (f->groups[g].merged != HLO_NO_GROUP || is_lone_view(f, &f->groups[g])) continue;
    HLO_TRY(make_fusion(f, &f->groups[g], &f->groups[g].fusion));
    if (f->groups[g].fusion) {
      f->groups[g].fusion->index = f->schedule->fusion_count++;
      continue;
    }
    if (f->groups[g].is_optimistic) {
      hlo_fuser_restart_region(f, &f->groups[g]);
      continue;
    }
    hlo_fuser_group_t whole = f->groups[g];
    f->groups[g].member_count = 0;
    *is_whole = false;
    if (whole.member_count == 1) {
      HLO_TRY(make_call(f, whole.members[0]));
    } else {
      HLO_TRY(split_group(f, (int32_t)g, &whole));
    }
  }
  return hlo_ok();
}

// ---- steps --------------------------------------------------------------------------------------

hlo_status_t hlo_fuser_make_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) {
  const hlo_region_t* region = sequence->region;
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) ++count;
  sequence->steps = hlo_arena_array(f->arena, count ? count : 1, sizeof *sequence->steps);
  if (!sequence->steps) return hlo_arena_status(f->arena);
  for (hlo_node_t* node = region->first; node; node = node->next) {
    const hlo_fuser_node_t* state = hlo_fuser_state(f, node);
    hlo_step_t* step = &sequence->steps[sequence->step_count];
    if (node->op == HLO_OP_constant || (hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR)) {
      continue;
    }
    if (state->group != HLO_NO_GROUP) {
      const hlo_fuser_group_t* group = &f->groups[state->group];
      if (group->members[0] != node) continue;
      *step = (hlo_step_t){group->fusion ? HLO_STEP_FUSION : HLO_STEP_VIEW, node, group->fusion};
    } else if (state->is_fusible) {
      continue;  // duplicated, or dead
    } else {
      *step = (hlo_step_t){hlo_op_is_control(node->op) ? HLO_STEP_CONTROL
                           : hlo_node_is_view(node)    ? HLO_STEP_VIEW
                                                       : HLO_STEP_CALL,
                           node, NULL};
    }
    ++sequence->step_count;
  }
  return hlo_ok();
}

// ---- order of steps -----------------------------------------------------------------------------

/// The next step in program order and the values it reads; steps that compute them come first.
typedef struct pending_step {
  uint32_t step, seen_count;
  hlo_value_list_t read;
} pending_step_t;

static const uint32_t NO_STEP = UINT32_MAX;

// Returns the next step that has to come before; NO_STEP: all have.
static uint32_t next_missing(const hlo_fuser_t* f, const hlo_region_t* region,
                             pending_step_t* pending, const bool* is_done) {
  for (; pending->seen_count < pending->read.count; ++pending->seen_count) {
    const hlo_node_t* def =
        hlo_region_ancestor(region, pending->read.values[pending->seen_count]->def);
    uint32_t maker = def ? hlo_fuser_state(f, def)->step : 0;
    if (maker && maker - 1 != pending->step && !is_done[maker - 1]) return maker - 1;
  }
  return NO_STEP;
}

static void number_steps(hlo_fuser_t* f, const hlo_sequence_t* sequence) {
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    hlo_fuser_node_t* state = hlo_fuser_state(f, sequence->steps[i].node);
    const hlo_fuser_group_t* group = state->group == HLO_NO_GROUP ? NULL : &f->groups[state->group];
    state->step = i + 1;
    for (uint32_t m = 0; group && m < group->member_count; ++m) {
      hlo_fuser_state(f, group->members[m])->step = i + 1;
    }
  }
}

hlo_status_t hlo_fuser_order_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) {
  // A value computed in the first of its fusions is read by later ones. After a split, a part may
  // stand before a step that it reads from: it waits for that step.
  uint32_t count = sequence->step_count, done = 0;
  hlo_step_t* ordered = hlo_arena_array(f->arena, count, sizeof *ordered);
  bool* is_done = hlo_arena_array(&f->scratch, count, sizeof *is_done);
  pending_step_t* stack = hlo_arena_array(&f->scratch, count, sizeof *stack);
  HLO_TRY(hlo_arena_status(f->arena));
  HLO_TRY(hlo_arena_status(&f->scratch));
  number_steps(f, sequence);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t depth = 0, next = is_done[i] ? NO_STEP : i;
    while (next != NO_STEP || depth) {
      if (next != NO_STEP) {
        if (depth == count) return hlo_internal_error("fusions that wait for each other");
        stack[depth] = (pending_step_t){.step = next};
        HLO_TRY(hlo_step_list_read(&sequence->steps[next], &f->scratch, &stack[depth++].read));
      } else {
        is_done[stack[--depth].step] = true;
        ordered[done++] = sequence->steps[stack[depth].step];
      }
      next = depth ? next_missing(f, sequence->region, &stack[depth - 1], is_done) : NO_STEP;
    }
  }
  sequence->steps = ordered;
  return hlo_ok();
}
