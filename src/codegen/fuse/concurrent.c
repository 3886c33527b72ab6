// SPDX-License-Identifier: Apache-2.0
// Concurrent groups: collects steps in program order until one depends on a member, then decides
// whether running the members as chunks of one loop saves time.
#include "codegen/fuse/concurrent.h"

#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/body/split.h"
#include "codegen/loops/tile_kernel.h"

enum { MAX_CONCURRENT_GROUP_MEMBERS = 512 };

/// A group while it grows: its members, and the steps between them, which move before or after the
/// group.
typedef struct group_builder {
  const hlo_target_t* target;
  hlo_schedule_t* schedule;
  hlo_arena_t* arena;
  const hlo_step_t* first;  // the first of these steps
  uint32_t before_count, member_count, after_count;
  hlo_step_t *before, *members, *after;  // room for a whole sequence each
  // by index of the value: the number of the group whose members or followers compute it, or whose
  // members read it
  uint32_t *made_in, *read_in;
  uint32_t number;
} group_builder_t;

static bool is_member_made(const group_builder_t* g, const hlo_value_t* value) {
  return g->made_in[value->index] == g->number;
}

static bool needs_member(const group_builder_t* g, const hlo_step_t* step) {
  if (step->fusion) {
    for (uint32_t i = 0; i < step->fusion->input_count; ++i) {
      if (is_member_made(g, step->fusion->inputs[i])) return true;
    }
    return false;
  }
  for (uint32_t i = 0; i < step->node->operand_count; ++i) {
    if (is_member_made(g, hlo_node_operand(step->node, i))) return true;
  }
  return false;
}

static void mark_made(group_builder_t* g, const hlo_step_t* step) {
  if (step->fusion) {
    for (uint32_t i = 0; i < step->fusion->output_count; ++i) {
      g->made_in[step->fusion->outputs[i]->index] = g->number;
    }
    return;
  }
  for (uint32_t i = 0; i < step->node->result_count; ++i) {
    g->made_in[step->node->results[i].index] = g->number;
  }
}

// Returns the value that is reinterpreted by a chain of views, or the value itself.
static const hlo_value_t* viewed_value(const hlo_value_t* value) {
  for (const hlo_node_t* node; (node = value->def) != NULL;) {
    if (!hlo_node_is_view(node)) break;
    value = hlo_node_operand(node, value->number);
  }
  return value;
}

static void mark_read(group_builder_t* g, const hlo_step_t* step) {
  for (uint32_t i = 0; i < step->fusion->input_count; ++i) {
    g->read_in[viewed_value(step->fusion->inputs[i])->index] = g->number;
  }
}

// Returns true if `next` is the next iteration's value of a loop-carried value.
static bool is_next_of(const hlo_value_t* next, const hlo_value_t* carried) {
  const hlo_region_t* region = carried->region;
  if (carried->def || !region->parent || region->parent->op != HLO_OP_while) return false;
  const hlo_node_t* end = hlo_region_terminator(region);
  return carried->number < end->operand_count &&
         viewed_value(hlo_node_operand(end, carried->number)) == viewed_value(next);
}

// Returns true if the step overwrites an array that a member reads, in part or as a loop-carried
// value: before the member, or concurrently, it would need a copy of the array.
static bool overwrites_read(const group_builder_t* g, const hlo_step_t* step) {
  const hlo_fusion_t* fusion = step->fusion;
  for (uint32_t i = 0; fusion && i < fusion->input_count; ++i) {
    const hlo_value_t* input = viewed_value(fusion->inputs[i]);
    if (g->read_in[input->index] != g->number) continue;
    for (uint32_t o = 0; o < fusion->output_count; ++o) {
      if (hlo_kernel_updates(fusion->kernel, o) == (int32_t)i) return true;
      if (is_next_of(fusion->outputs[o], input) && hlo_kernel_may_share(fusion->kernel, o, i)) {
        return true;
      }
    }
  }
  return false;
}

typedef enum step_role {
  ROLE_MEMBER,
  ROLE_SMALL,  // may move before the group
  ROLE_VIEW,   // may move after the group, too
  ROLE_OTHER,  // ends the group
} step_role_t;

static double max_member_ns(const hlo_target_t* target) {
  return (double)target->tile.max_chunks * target->tile.moving.chunk_ns;
}

static step_role_t role_of_step(const group_builder_t* g, const hlo_step_t* step) {
  if (step->kind == HLO_STEP_VIEW && !hlo_split_begin(step->node)) return ROLE_VIEW;
  if (step->kind != HLO_STEP_FUSION || hlo_kernel_tile(step->fusion->kernel)) return ROLE_OTHER;
  double cost_ns = hlo_kernel_cost_ns(step->fusion->kernel);
  if (cost_ns > 0 && cost_ns < HLO_TUNING_GROUP_MIN_NS) return ROLE_SMALL;
  return cost_ns >= HLO_TUNING_GROUP_MIN_NS && cost_ns <= max_member_ns(g->target) ? ROLE_MEMBER
                                                                                   : ROLE_OTHER;
}

static bool is_split_kernel(const hlo_kernel_t* kernel) {
  for (uint32_t phase = 0; phase < hlo_kernel_phase_count(kernel); ++phase) {
    if (hlo_kernel_chunk_count(kernel, phase) > 1) return true;
  }
  return false;
}

// Returns true if two threads save at least half of the fixed cost of a parallel loop.
static bool saves_time(const group_builder_t* g) {
  double whole = 0, cut = 0, longest = 0;
  for (uint32_t i = 0; i < g->member_count; ++i) {
    const hlo_kernel_t* kernel = g->members[i].fusion->kernel;
    double cost_ns = hlo_kernel_cost_ns(kernel);
    if (is_split_kernel(kernel)) {
      cut += cost_ns;
    } else {
      whole += cost_ns;
      if (cost_ns > longest) longest = cost_ns;
    }
  }
  double together = (whole + cut) / 2;
  if (together < longest) together = longest;
  return whole + cut / 2 - together >= g->target->tile.moving.serial_ns / 2;
}

static hlo_status_t make_concurrent_group(group_builder_t* g) {
  hlo_concurrent_group_t* group = hlo_arena_alloc(g->arena, sizeof *group);
  hlo_fusion_t** members = hlo_arena_array(g->arena, g->member_count, sizeof *members);
  HLO_TRY(hlo_arena_status(g->arena));
  *group =
      (hlo_concurrent_group_t){g->schedule->concurrent_group_count++, g->member_count, members};
  for (uint32_t i = 0; i < g->member_count; ++i) {
    members[i] = g->members[i].fusion;
    members[i]->concurrent_group = group;
  }
  return hlo_ok();
}

static hlo_step_t* append_steps(hlo_step_t* to, const hlo_step_t* steps, uint32_t count) {
  if (count) memcpy(to, steps, count * sizeof *to);
  return to + count;
}

// Appends the group and the steps around it to `*to`, and starts an empty group.
static hlo_status_t finish_group(group_builder_t* g, hlo_step_t** to) {
  uint32_t count = g->before_count + g->member_count + g->after_count;
  if (g->member_count > 1 && saves_time(g)) {
    HLO_TRY(make_concurrent_group(g));
    *to = append_steps(*to, g->before, g->before_count);
    *to = append_steps(*to, g->members, g->member_count);
    *to = append_steps(*to, g->after, g->after_count);
  } else {
    *to = append_steps(*to, g->first, count);
  }
  g->first += count;
  g->before_count = g->member_count = g->after_count = 0;
  ++g->number;
  return hlo_ok();
}

static hlo_status_t add_step(group_builder_t* g, const hlo_step_t* step, hlo_step_t** to) {
  step_role_t role = role_of_step(g, step);
  bool is_follower = needs_member(g, step);
  if (role == ROLE_VIEW && is_follower) {
    mark_made(g, step);
    g->after[g->after_count++] = *step;
    return hlo_ok();
  }
  if (role == ROLE_OTHER || is_follower || overwrites_read(g, step) ||
      g->member_count == MAX_CONCURRENT_GROUP_MEMBERS) {
    HLO_TRY(finish_group(g, to));
  }
  if (role == ROLE_MEMBER) {
    mark_made(g, step);
    mark_read(g, step);
    g->members[g->member_count++] = *step;
  } else {
    g->before[g->before_count++] = *step;
  }
  return hlo_ok();
}

static hlo_status_t group_sequence(group_builder_t* g, hlo_sequence_t* sequence) {
  hlo_step_t* steps = hlo_arena_array(g->arena, sequence->step_count, sizeof *steps);
  HLO_TRY(hlo_arena_status(g->arena));
  hlo_step_t* to = steps;
  g->first = sequence->steps;
  for (uint32_t i = 0; i < sequence->step_count; ++i)
    HLO_TRY(add_step(g, &sequence->steps[i], &to));
  HLO_TRY(finish_group(g, &to));
  sequence->steps = steps;
  return hlo_ok();
}

static uint32_t max_step_count(const hlo_schedule_t* schedule) {
  uint32_t most = 0;
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    if (schedule->sequences[s].step_count > most) most = schedule->sequences[s].step_count;
  }
  return most;
}

hlo_status_t hlo_schedule_make_concurrent_groups(hlo_schedule_t* schedule,
                                                 const hlo_module_t* module,
                                                 const hlo_target_t* target, hlo_arena_t* arena) {
  uint32_t room = max_step_count(schedule);
  if (room < 2) return hlo_ok();
  group_builder_t g = {.target = target, .schedule = schedule, .arena = arena, .number = 1};
  g.before = hlo_arena_array(arena, room, sizeof *g.before);
  g.members = hlo_arena_array(arena, room, sizeof *g.members);
  g.after = hlo_arena_array(arena, room, sizeof *g.after);
  g.made_in = hlo_arena_array(arena, module->value_count, sizeof *g.made_in);
  g.read_in = hlo_arena_array(arena, module->value_count, sizeof *g.read_in);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    if (schedule->sequences[s].step_count > 1) {
      HLO_TRY(group_sequence(&g, &schedule->sequences[s]));
    }
  }
  return hlo_ok();
}

// ---- chunks -------------------------------------------------------------------------------------

uint32_t hlo_concurrent_phase_count(const hlo_concurrent_group_t* group) {
  uint32_t most = 0;
  for (uint32_t m = 0; m < group->member_count; ++m) {
    uint32_t count = hlo_kernel_phase_count(group->members[m]->kernel);
    if (count > most) most = count;
  }
  return most;
}

// Returns the time of a phase of a member that is not split: mostly the last phase, as earlier
// phases only pack operands. For split members it is negligible beside their chunks.
static double unsplit_ns(const hlo_kernel_t* kernel, uint32_t phase) {
  if (is_split_kernel(kernel)) return 0;
  bool is_last = phase + 1 == hlo_kernel_phase_count(kernel);
  return hlo_kernel_cost_ns(kernel) * (is_last ? 1 : HLO_TUNING_PREPARING_SHARE);
}

hlo_status_t hlo_concurrent_group_split(const hlo_concurrent_group_t* group,
                                        const hlo_target_t* target, uint32_t phase,
                                        hlo_arena_t* arena, uint32_t* out_count,
                                        hlo_concurrent_part_t** out_parts) {
  hlo_concurrent_part_t* parts = hlo_arena_array(arena, group->member_count, sizeof *parts);
  HLO_TRY(hlo_arena_status(arena));
  uint32_t count = 0;
  uint64_t chunks = 0;
  double ns = 0;
  bool is_open = false;  // true if another small member may join the last part
  for (uint32_t m = 0; m < group->member_count; ++m) {
    const hlo_kernel_t* kernel = group->members[m]->kernel;
    if (phase >= hlo_kernel_phase_count(kernel)) continue;
    uint64_t own = hlo_kernel_chunk_count(kernel, phase);
    double own_ns = unsplit_ns(kernel, phase);
    if (own == 1 && is_open && ns + own_ns <= target->tile.moving.chunk_ns) {
      parts[count - 1].end_member = m + 1;
      ns += own_ns;
      continue;
    }
    parts[count++] = (hlo_concurrent_part_t){m, m + 1, chunks, own};
    chunks += own;
    ns = own_ns;
    is_open = own == 1;
  }
  *out_count = count;
  *out_parts = parts;
  return hlo_ok();
}
