// SPDX-License-Identifier: Apache-2.0
// Kernels that run side by side (see team.h).
#include "codegen/fuse/concurrent.h"

#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/body/split.h"
#include "codegen/loops/tile_kernel.h"

enum { MAX_CONCURRENT_GROUP_MEMBERS = 512 };

/// Steps being gathered: members of a team, and what stands between them, which goes before or
/// behind it.
typedef struct gathering {
  const hlo_target_t* target;
  hlo_schedule_t* schedule;
  hlo_arena_t* arena;
  const hlo_step_t* first;  // where it began
  uint32_t before_count, member_count, behind_count;
  hlo_step_t *before, *members, *behind;  // room for a whole sequence each
  // by index of the value: the gathering whose members or followers make it, whose members read it
  uint32_t *made_in, *read_in;
  uint32_t number;
} gathering_t;

static bool is_member_made(const gathering_t* g, const hlo_value_t* value) {
  return g->made_in[value->index] == g->number;
}

static bool needs_member(const gathering_t* g, const hlo_step_t* step) {
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

static void mark_made(gathering_t* g, const hlo_step_t* step) {
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

// What a value is another view of, or itself.
static const hlo_value_t* viewed(const hlo_value_t* value) {
  for (const hlo_node_t* node; (node = value->def) != NULL;) {
    if (!hlo_node_is_view(node)) break;
    value = hlo_node_operand(node, value->number);
  }
  return value;
}

static void mark_read(gathering_t* g, const hlo_step_t* step) {
  for (uint32_t i = 0; i < step->fusion->input_count; ++i) {
    g->read_in[viewed(step->fusion->inputs[i])->index] = g->number;
  }
}

// Whether a loop's value goes on as `next` in the next turn.
static bool is_next_of(const hlo_value_t* next, const hlo_value_t* carried) {
  const hlo_region_t* region = carried->region;
  if (carried->def || !region->parent || region->parent->op != HLO_OP_while) return false;
  const hlo_node_t* end = hlo_region_terminator(region);
  return carried->number < end->operand_count &&
         viewed(hlo_node_operand(end, carried->number)) == viewed(next);
}

// Whether the step overwrites what a member reads, in part or with a loop's next value: before the
// member, or beside it, it would need a copy of all of it.
static bool overwrites_read(const gathering_t* g, const hlo_step_t* step) {
  const hlo_fusion_t* fusion = step->fusion;
  for (uint32_t i = 0; fusion && i < fusion->input_count; ++i) {
    const hlo_value_t* input = viewed(fusion->inputs[i]);
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

typedef enum role {
  ROLE_MEMBER,
  ROLE_SMALL,  // may as well stand before the team
  ROLE_VIEW,   // or behind it
  ROLE_OTHER,  // ends it
} role_t;

static double most_ns(const hlo_target_t* target) {
  return (double)target->tile.max_chunks * target->tile.moving.chunk_ns;
}

static role_t role_of(const gathering_t* g, const hlo_step_t* step) {
  if (step->kind == HLO_STEP_VIEW && !hlo_split_begin(step->node)) return ROLE_VIEW;
  if (step->kind != HLO_STEP_FUSION || hlo_kernel_tile(step->fusion->kernel)) return ROLE_OTHER;
  double cost_ns = hlo_kernel_cost_ns(step->fusion->kernel);
  if (cost_ns > 0 && cost_ns < HLO_TUNING_GROUP_MIN_NS) return ROLE_SMALL;
  return cost_ns >= HLO_TUNING_GROUP_MIN_NS && cost_ns <= most_ns(g->target) ? ROLE_MEMBER
                                                                             : ROLE_OTHER;
}

static bool is_cut(const hlo_kernel_t* kernel) {
  for (uint32_t phase = 0; phase < hlo_kernel_phase_count(kernel); ++phase) {
    if (hlo_kernel_chunk_count(kernel, phase) > 1) return true;
  }
  return false;
}

// Whether two threads, the fewest that there is a gain with, save as much as by cutting a kernel
// that is just worth it.
static bool is_worth_it(const gathering_t* g) {
  double whole = 0, cut = 0, longest = 0;
  for (uint32_t i = 0; i < g->member_count; ++i) {
    const hlo_kernel_t* kernel = g->members[i].fusion->kernel;
    double cost_ns = hlo_kernel_cost_ns(kernel);
    if (is_cut(kernel)) {
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

static hlo_status_t make_concurrent_group(gathering_t* g) {
  hlo_concurrent_group_t* concurrent_group = hlo_arena_alloc(g->arena, sizeof *concurrent_group);
  hlo_fusion_t** members = hlo_arena_array(g->arena, g->member_count, sizeof *members);
  HLO_TRY(hlo_arena_status(g->arena));
  *concurrent_group = (hlo_concurrent_group_t){g->schedule->concurrent_group_count++, g->member_count, members};
  for (uint32_t i = 0; i < g->member_count; ++i) {
    members[i] = g->members[i].fusion;
    members[i]->concurrent_group = concurrent_group;
  }
  return hlo_ok();
}

static hlo_step_t* put(hlo_step_t* to, const hlo_step_t* steps, uint32_t count) {
  if (count) memcpy(to, steps, count * sizeof *to);
  return to + count;
}

// What was gathered becomes the next steps of `*to`, and the gathering begins anew.
static hlo_status_t close_gathering(gathering_t* g, hlo_step_t** to) {
  uint32_t count = g->before_count + g->member_count + g->behind_count;
  if (g->member_count > 1 && is_worth_it(g)) {
    HLO_TRY(make_concurrent_group(g));
    *to = put(*to, g->before, g->before_count);
    *to = put(*to, g->members, g->member_count);
    *to = put(*to, g->behind, g->behind_count);
  } else {
    *to = put(*to, g->first, count);
  }
  g->first += count;
  g->before_count = g->member_count = g->behind_count = 0;
  ++g->number;
  return hlo_ok();
}

static hlo_status_t gather(gathering_t* g, const hlo_step_t* step, hlo_step_t** to) {
  role_t role = role_of(g, step);
  bool is_follower = needs_member(g, step);
  if (role == ROLE_VIEW && is_follower) {
    mark_made(g, step);
    g->behind[g->behind_count++] = *step;
    return hlo_ok();
  }
  if (role == ROLE_OTHER || is_follower || overwrites_read(g, step) ||
      g->member_count == MAX_CONCURRENT_GROUP_MEMBERS) {
    HLO_TRY(close_gathering(g, to));
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

static hlo_status_t gather_sequence(gathering_t* g, hlo_sequence_t* sequence) {
  hlo_step_t* steps = hlo_arena_array(g->arena, sequence->step_count, sizeof *steps);
  HLO_TRY(hlo_arena_status(g->arena));
  hlo_step_t* to = steps;
  g->first = sequence->steps;
  for (uint32_t i = 0; i < sequence->step_count; ++i) HLO_TRY(gather(g, &sequence->steps[i], &to));
  HLO_TRY(close_gathering(g, &to));
  sequence->steps = steps;
  return hlo_ok();
}

static uint32_t most_steps(const hlo_schedule_t* schedule) {
  uint32_t most = 0;
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    if (schedule->sequences[s].step_count > most) most = schedule->sequences[s].step_count;
  }
  return most;
}

hlo_status_t hlo_schedule_make_concurrent_groups(hlo_schedule_t* schedule, const hlo_module_t* module,
                                     const hlo_target_t* target, hlo_arena_t* arena) {
  uint32_t room = most_steps(schedule);
  if (room < 2) return hlo_ok();
  gathering_t g = {.target = target, .schedule = schedule, .arena = arena, .number = 1};
  g.before = hlo_arena_array(arena, room, sizeof *g.before);
  g.members = hlo_arena_array(arena, room, sizeof *g.members);
  g.behind = hlo_arena_array(arena, room, sizeof *g.behind);
  g.made_in = hlo_arena_array(arena, module->value_count, sizeof *g.made_in);
  g.read_in = hlo_arena_array(arena, module->value_count, sizeof *g.read_in);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    if (schedule->sequences[s].step_count > 1) {
      HLO_TRY(gather_sequence(&g, &schedule->sequences[s]));
    }
  }
  return hlo_ok();
}

// ---- chunks

uint32_t hlo_concurrent_phase_count(const hlo_concurrent_group_t* concurrent_group) {
  uint32_t most = 0;
  for (uint32_t m = 0; m < concurrent_group->member_count; ++m) {
    uint32_t count = hlo_kernel_phase_count(concurrent_group->members[m]->kernel);
    if (count > most) most = count;
  }
  return most;
}

// What a phase takes of a member that is not cut: the last one most of it, as what comes before
// brings operands into another form. Of those that are cut it is little beside their chunks.
static double whole_ns(const hlo_kernel_t* kernel, uint32_t phase) {
  if (is_cut(kernel)) return 0;
  bool is_last = phase + 1 == hlo_kernel_phase_count(kernel);
  return hlo_kernel_cost_ns(kernel) * (is_last ? 1 : HLO_TUNING_PREPARING_SHARE);
}

hlo_status_t hlo_concurrent_group_split(const hlo_concurrent_group_t* concurrent_group, const hlo_target_t* target, uint32_t phase,
                          hlo_arena_t* arena, uint32_t* out_count, hlo_concurrent_part_t** out_parts) {
  hlo_concurrent_part_t* parts = hlo_arena_array(arena, concurrent_group->member_count, sizeof *parts);
  HLO_TRY(hlo_arena_status(arena));
  uint32_t count = 0;
  uint64_t chunks = 0;
  double ns = 0;
  bool is_open = false;  // whether another small member may join the last part
  for (uint32_t m = 0; m < concurrent_group->member_count; ++m) {
    const hlo_kernel_t* kernel = concurrent_group->members[m]->kernel;
    if (phase >= hlo_kernel_phase_count(kernel)) continue;
    uint64_t own = hlo_kernel_chunk_count(kernel, phase);
    double own_ns = whole_ns(kernel, phase);
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
