// SPDX-License-Identifier: Apache-2.0
// The steps of a region: the groups' fusions are made, with their kernels; what loops cannot
// compute becomes calls; everything is put in an order in which it is made before it is read.
#include "codegen/fuse/fusion_impl.h"

// ---- fusions

// The group's fusion; NULL when loops cannot compute it.
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

// A view of something that is in memory.
static bool is_lone_view(const hlo_fuser_t* f, const hlo_fuser_group_t* group) {
  if (group->member_count != 1 || !hlo_node_is_view(group->members[0])) return false;
  const hlo_node_t* def = hlo_node_operand(group->members[0], 0)->def;
  if (!def || def->parent != group->members[0]->parent) return true;
  return !hlo_fuser_state(f, def)->is_fusible || hlo_fuser_state(f, def)->group != HLO_NO_GROUP;
}

// A node that becomes a call reads its operands from memory: cheap ones that were to be computed
// where they are used get groups of their own.
static hlo_status_t make_site(hlo_fuser_t* f, const hlo_node_t* node) {
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

// Whether something finds what a member makes in memory that neither is a member nor computes it for
// itself.
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

// Members that any fusion computes where it uses them belong to no part of a group: a part that uses
// one makes it of what it reads, which another part has to store.
static hlo_status_t leave_cheap(hlo_fuser_t* f, int32_t number, hlo_fuser_group_t* whole) {
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

// What comes later of a group, and what before, as groups of their own.
static hlo_status_t halve(hlo_fuser_t* f, int32_t number, hlo_fuser_group_t* whole) {
  HLO_TRY(leave_cheap(f, number, whole));
  hlo_node_t** members = whole->members;
  for (uint32_t i = 1; i < whole->member_count; ++i) {  // of siblings, one row behind the other
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

// Groups made on the way come last in the list.
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
      HLO_TRY(make_site(f, whole.members[0]));
    } else {
      HLO_TRY(halve(f, (int32_t)g, &whole));
    }
  }
  return hlo_ok();
}

// ---- steps

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
      continue;  // computed where it is used, or dead
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

// ---- their order

/// A step whose turn has come, and what it reads; it waits for what is not made yet.
typedef struct waiting {
  uint32_t step, seen_count;
  hlo_value_list_t read;
} waiting_t;

static const uint32_t NO_STEP = UINT32_MAX;

// The next step that has to come before; NO_STEP: none is missing.
static uint32_t next_missing(const hlo_fuser_t* f, const hlo_region_t* region, waiting_t* w,
                             const bool* is_done) {
  for (; w->seen_count < w->read.count; ++w->seen_count) {
    const hlo_node_t* def = hlo_region_ancestor(region, w->read.values[w->seen_count]->def);
    uint32_t maker = def ? hlo_fuser_state(f, def)->step : 0;
    if (maker && maker - 1 != w->step && !is_done[maker - 1]) return maker - 1;
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

// What is computed in the first of its fusions is read by later ones. Later they are no more where
// one of them fell apart: its pieces then wait for what they read.
hlo_status_t hlo_fuser_order_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) {
  uint32_t count = sequence->step_count, done = 0;
  hlo_step_t* ordered = hlo_arena_array(f->arena, count, sizeof *ordered);
  bool* is_done = hlo_arena_array(&f->scratch, count, sizeof *is_done);
  waiting_t* stack = hlo_arena_array(&f->scratch, count, sizeof *stack);
  HLO_TRY(hlo_arena_status(f->arena));
  HLO_TRY(hlo_arena_status(&f->scratch));
  number_steps(f, sequence);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t depth = 0, next = is_done[i] ? NO_STEP : i;
    while (next != NO_STEP || depth) {
      if (next != NO_STEP) {
        if (depth == count) {
          return hlo_status_create(HLO_STATUS_INTERNAL, "fusions that wait for each other");
        }
        stack[depth] = (waiting_t){.step = next};
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
