// SPDX-License-Identifier: Apache-2.0
// Merges groups that read the same large array, if loading it takes longer than another pass costs
// and the earlier group can run at the position of the later one.
#include <string.h>

#include "codegen/fuse/fusion_impl.h"

/// Two groups with equal element counts that read the same array; one runs earlier.
typedef struct merge_pair {
  int32_t early, late;
  const hlo_value_t* shared;
} merge_pair_t;

static bool is_in_pair(const hlo_fuser_t* f, const merge_pair_t* pair, int32_t group) {
  while (f->groups[group].merged != HLO_NO_GROUP) group = f->groups[group].merged;
  return group == pair->early || group == pair->late;
}

static void note_reader(const hlo_fuser_t* f, const merge_pair_t* pair, int32_t group,
                        uint32_t* first) {
  if (!is_in_pair(f, pair, group) && f->groups[group].last_position < *first) {
    *first = f->groups[group].last_position;
  }
}

// Returns the position of the first step, other than the two groups, that reads results of `node`,
// directly or through duplicated nodes.
static uint32_t first_reader(const hlo_fuser_t* f, const merge_pair_t* pair, const hlo_node_t* node,
                             uint32_t depth) {
  uint32_t first = depth > HLO_TUNING_FUSE_MAX_READER_DEPTH ? 0 : UINT32_MAX;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use && first > 0; use = use->next) {
      const hlo_node_t* user = hlo_region_ancestor(node->parent, use->user);
      if (!user) return 0;
      const hlo_fuser_node_t* state = hlo_fuser_state(f, user);
      bool is_outside =
          user != use->user || (state->group == HLO_NO_GROUP && !state->is_duplicated);
      if (is_outside && state->position < first) first = state->position;
      if (state->group != HLO_NO_GROUP) note_reader(f, pair, state->group, &first);
      for (uint32_t i = 0; i < state->recomputed_in_count; ++i)
        note_reader(f, pair, state->recomputed_in[i], &first);
      if (is_outside || !state->is_duplicated || state->recomputed_in_count) continue;
      uint32_t later = first_reader(f, pair, user, depth + 1);
      if (later < first) first = later;
    }
  }
  return first;
}

// Returns true if a value is as large as the loops and loading it takes longer than a pass costs.
static bool is_large(const hlo_fuser_t* f, const hlo_fuser_group_t* group,
                     const hlo_value_t* value) {
  const hlo_tile_target_t* tile = &f->target->tile;
  double bytes = (double)hlo_type_size_bytes(value->type);
  return hlo_type_element_count(value->type) >= group->element_count &&
         bytes / hlo_tile_home(tile, bytes)->bytes_per_ns >= tile->pass_ns;
}

static bool reads_value(const hlo_fuser_t* f, int32_t group, const hlo_value_t* value) {
  const hlo_region_t* region =
      f->groups[group].members[0]->parent;  // all groups are of this region
  uint32_t seen = 0;
  for (const hlo_use_t* use = value->uses; use && ++seen <= HLO_TUNING_FUSE_MAX_USES;
       use = use->next) {
    if (use->user->parent == region && hlo_fuser_state(f, use->user)->group == group) return true;
  }
  return false;
}

// Returns true if a step stores the value and the node loads it.
static bool is_stored_for(const hlo_fuser_t* f, const hlo_node_t* node, const hlo_value_t* value) {
  if (!value->def || value->def->parent != node->parent) return false;
  const hlo_fuser_node_t* state = hlo_fuser_state(f, value->def);
  return value->def->op != HLO_OP_constant && !state->is_duplicated &&
         state->group != hlo_fuser_state(f, node)->group;
}

// Returns true if the earlier group can run at the later position: no step in between reads its
// results, and no large array stays live longer.
static bool can_run_later(const hlo_fuser_t* f, const merge_pair_t* pair) {
  const hlo_fuser_group_t *early = &f->groups[pair->early], *late = &f->groups[pair->late];
  for (uint32_t i = 0; i < early->member_count; ++i) {
    const hlo_node_t* node = early->members[i];
    if (first_reader(f, pair, node, 0) <= late->last_position) return false;
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      const hlo_value_t* value = hlo_node_operand(node, k);
      bool is_held = is_stored_for(f, node, value) && is_large(f, early, value);
      if (is_held && !reads_value(f, pair->late, value)) return false;
    }
  }
  return true;
}

static bool may_merge(const hlo_fuser_t* f, const merge_pair_t* pair) {
  const hlo_fuser_group_t *a = &f->groups[pair->early], *b = &f->groups[pair->late];
  return a->element_count == b->element_count && !a->has_product && !b->has_product &&
         !a->has_update && !b->has_update &&
         a->member_count + b->member_count <= HLO_TUNING_FUSE_MAX_TRIAL &&
         a->output_count + b->output_count <= HLO_TUNING_MERGE_MAX_OUTPUTS &&
         is_large(f, a, pair->shared) && can_run_later(f, pair);
}

// Finds out if the kernel visits the arrays that both groups read in one order.
static hlo_status_t visits_once(hlo_fuser_t* f, const merge_pair_t* pair, hlo_fusion_t* fusion,
                                bool* out_does) {
  hlo_kernel_t* kernel;
  HLO_TRY(hlo_kernel_create(fusion, f->target, &hlo_product_form, f->memo, &f->trial, &kernel));
  *out_does = true;
  for (uint32_t i = 0; i < fusion->input_count && *out_does; ++i) {
    const hlo_value_t* value = fusion->inputs[i];
    if (!is_large(f, &f->groups[pair->early], value) || !reads_value(f, pair->early, value) ||
        !reads_value(f, pair->late, value)) {
      continue;
    }
    HLO_TRY(hlo_kernel_visits_once(kernel, i, out_does));
  }
  return hlo_ok();
}

// Finds out if one kernel can compute both groups without loading more than it saves.
static hlo_status_t try_merge(hlo_fuser_t* f, const merge_pair_t* pair,
                              const hlo_fuser_group_t* both, bool* out_fits) {
  *out_fits = false;
  hlo_fusion_t* fusion;
  f->verdict = hlo_verdict_no(HLO_REASON_FUSER_MEMORY, NULL);  // if no fusion is built
  HLO_TRY(hlo_fuser_build(f, both, NULL, &f->trial, &fusion));
  if (!fusion) return hlo_ok();
  hlo_fusion_key_t key;
  HLO_TRY(hlo_fusion_key(fusion, f->numbers, &f->trial, &key));
  hlo_fusion_known_t* known = hlo_fusion_table_find(&f->known, &key);
  if (!known ||
      (!hlo_verdict_is_no(&known->verdict) && !known->is_merged && !known->is_not_merged)) {
    bool has;
    HLO_TRY(hlo_fuser_has_loops(f, fusion, false, &has));
    known = hlo_fusion_table_find(&f->known, &key);
    if (has) HLO_TRY(visits_once(f, pair, fusion, &known->is_merged));
    known->is_not_merged = !known->is_merged;
  }
  *out_fits = known->is_merged;
  const bool has_loops = !hlo_verdict_is_no(&known->verdict);
  f->verdict = has_loops ? hlo_verdict_no(HLO_REASON_FUSER_VISITS, NULL) : known->verdict;
  return hlo_ok();
}

static hlo_status_t merge_pair(hlo_fuser_t* f, const merge_pair_t* pair, bool* out_merged) {
  *out_merged = false;
  if (!may_merge(f, pair)) return hlo_ok();
  hlo_fuser_group_t *early = &f->groups[pair->early], *late = &f->groups[pair->late];
  hlo_fuser_group_t both = *late;
  both.member_count = both.member_capacity = late->member_count + early->member_count;
  both.members = hlo_arena_array(&f->scratch, both.member_count, sizeof *both.members);
  if (!both.members) return hlo_arena_status(&f->scratch);
  memcpy(both.members, late->members, late->member_count * sizeof *both.members);
  memcpy(both.members + late->member_count, early->members,
         early->member_count * sizeof *both.members);
  both.output_count += early->output_count;
  both.work += early->work;
  both.has_reduction |= early->has_reduction;
  both.has_extra_outputs |= early->has_extra_outputs;
  both.accumulates |= early->accumulates;
  both.is_optimistic = false;
  hlo_arena_mark_t mark = hlo_arena_mark(&f->trial);
  hlo_status_t status = try_merge(f, pair, &both, out_merged);
  hlo_arena_reset(&f->trial, mark);
  if (hlo_status_is_ok(status) && !*out_merged) {
    status = hlo_fuser_record_rejection(f, early->members[0], pair->late, true);
  }
  if (!hlo_status_is_ok(status) || !*out_merged) return status;
  for (uint32_t i = 0; i < early->member_count; ++i) {
    hlo_fuser_state(f, early->members[i])->group = pair->late;
  }
  *late = both;
  *early = (hlo_fuser_group_t){.merged = pair->late, .last_position = late->last_position};
  return hlo_ok();
}

// Merges groups that run before `late` and read the array `shared`, which it reads, too.
static hlo_status_t merge_readers(hlo_fuser_t* f, int32_t late, const hlo_value_t* shared) {
  const hlo_region_t* region = f->groups[late].members[0]->parent;
  uint32_t seen = 0;
  for (const hlo_use_t* use = shared->uses; use && ++seen <= HLO_TUNING_FUSE_MAX_USES;
       use = use->next) {
    if (use->user->parent != region) continue;
    merge_pair_t pair = {
        .early = hlo_fuser_state(f, use->user)->group, .late = late, .shared = shared};
    if (pair.early == HLO_NO_GROUP || pair.early == late ||
        f->groups[pair.early].last_position >= f->groups[late].last_position) {
      continue;
    }
    bool merged;
    HLO_TRY(merge_pair(f, &pair, &merged));
  }
  return hlo_ok();
}

hlo_status_t hlo_fuser_merge_groups(hlo_fuser_t* f) {
  for (uint32_t g = 0; g < f->group_count; ++g) {
    for (uint32_t i = 0; i < f->groups[g].member_count; ++i) {  // including those merged into it
      const hlo_node_t* node = f->groups[g].members[i];
      for (uint32_t k = 0; k < node->operand_count && !f->groups[g].has_product; ++k) {
        const hlo_value_t* value = hlo_node_operand(node, k);
        bool is_inner = value->def && value->def->parent == node->parent &&
                        hlo_fuser_state(f, value->def)->group == (int32_t)g;
        if (!is_inner && is_large(f, &f->groups[g], value)) {
          HLO_TRY(merge_readers(f, (int32_t)g, value));
        }
      }
    }
  }
  return hlo_ok();
}
