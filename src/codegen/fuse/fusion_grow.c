// SPDX-License-Identifier: Apache-2.0
// Assigns a node to a group, by its users and by whether the group's loops can compute it, too. The
// users of the node are found first; hlo_fuser_assign_node() then applies one rule after the other.
#include <string.h>

#include "codegen/fuse/fusion_impl.h"
#include "codegen/math/elementwise.h"

enum {
  MANY = -2,  // several groups
};

// ---- users of a node ----------------------------------------------------------------------------

/// The groups that use a node's results, and the first user outside of them.
typedef struct users {
  int32_t group;             // a group, HLO_NO_GROUP or MANY
  int32_t first_group;       // the first of several to run; HLO_NO_GROUP: unknown
  uint32_t second_position;  // of the next of several to run
  uint32_t group_count;      // HLO_FUSER_MAX_RECOMPUTING + 1: more or unknown
  uint32_t through_count;    // indirect users visited
  bool is_unknown;           // some users may be in any group
  int32_t groups[HLO_FUSER_MAX_RECOMPUTING];
  bool has_outside;        // some users load the value from memory
  uint32_t first_outside;  // position
} users_t;

static bool contains_group(const int32_t* groups, uint32_t count, int32_t group) {
  for (uint32_t i = 0; i < count; ++i) {
    if (groups[i] == group) return true;
  }
  return false;
}

static void list_group(users_t* users, int32_t group) {
  if (users->group_count > HLO_FUSER_MAX_RECOMPUTING ||
      contains_group(users->groups, users->group_count, group))
    return;
  if (users->group_count < HLO_FUSER_MAX_RECOMPUTING) users->groups[users->group_count] = group;
  ++users->group_count;
}

static void add_group(const hlo_fuser_t* f, users_t* users, int32_t group) {
  list_group(users, group);
  if (users->group == group || users->is_unknown) return;
  if (users->group == HLO_NO_GROUP) {
    users->group = users->first_group = group;
    return;
  }
  users->group = MANY;
  if (users->first_group == HLO_NO_GROUP || users->first_group == group) return;
  uint32_t position = f->groups[group].last_position;
  uint32_t first = f->groups[users->first_group].last_position;
  uint32_t later = position > first ? position : first;
  if (position < first) users->first_group = group;
  if (later < users->second_position) users->second_position = later;
}

// A duplicated user may be in any group.
static void add_unknown_groups(users_t* users) {
  users->group = MANY;
  users->first_group = HLO_NO_GROUP;
  users->is_unknown = true;
  users->group_count = HLO_FUSER_MAX_RECOMPUTING + 1;
}

static void add_outside(users_t* users, uint32_t position) {
  if (!users->has_outside || position < users->first_outside) users->first_outside = position;
  users->has_outside = true;
}

// Returns true for a duplicated node that is also stored, for users that load it from memory: not
// all users of its operands are known.
static bool is_also_stored(const hlo_fuser_node_t* state) {
  return state->is_duplicated && state->group != HLO_NO_GROUP;
}

// Adds the groups with users of a duplicated node: they compute the node and use its operands.
static void add_through(const hlo_fuser_t* f, users_t* users, const hlo_node_t* node,
                        uint32_t depth) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      const hlo_fuser_node_t* state = hlo_fuser_state(f, use->user);
      bool is_known = use->user->parent == node->parent && depth < HLO_TUNING_FUSE_MAX_USER_DEPTH &&
                      !is_also_stored(state) &&
                      ++users->through_count <= HLO_TUNING_FUSE_MAX_THROUGH;
      if (!is_known) {
        add_unknown_groups(users);
        return;
      }
      for (uint32_t i = 0; i < state->recomputed_in_count; ++i)
        add_group(f, users, state->recomputed_in[i]);
      if (state->group != HLO_NO_GROUP) add_group(f, users, state->group);
      if (state->is_duplicated && !state->recomputed_in_count)
        add_through(f, users, use->user, depth + 1);
    }
  }
}

static users_t find_users(const hlo_fuser_t* f, const hlo_node_t* node) {
  users_t users = {
      .group = HLO_NO_GROUP, .first_group = HLO_NO_GROUP, .second_position = UINT32_MAX};
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      const hlo_node_t* user = use->user;
      if (user->parent == node->parent && hlo_fuser_needs_memory(f, user, use)) {
        add_outside(&users, hlo_fuser_state(f, user)->position);
        continue;
      }
      if (user->parent != node->parent) {
        const hlo_node_t* outer = hlo_region_ancestor(node->parent, user);
        add_outside(&users, outer ? hlo_fuser_state(f, outer)->position : UINT32_MAX);
        continue;
      }
      const hlo_fuser_node_t* state = hlo_fuser_state(f, user);
      if (is_also_stored(state)) {
        add_unknown_groups(&users);
      } else if (state->is_duplicated && !state->recomputed_in_count) {
        add_through(f, &users, user, 0);
      }
      for (uint32_t i = 0; i < state->recomputed_in_count; ++i)
        add_group(f, &users, state->recomputed_in[i]);
      if (state->group != HLO_NO_GROUP) {
        add_group(f, &users, state->group);
      } else if (!state->is_duplicated) {
        add_outside(&users, state->position);
      }
    }
  }
  // Its only group may stop computing it, if the duplicated users store it for others.
  if (users.through_count && users.group >= 0) add_unknown_groups(&users);
  return users;
}

// ---- admission to a group -----------------------------------------------------------------------

// Returns false if the node and all its users compute element by element: no trial is needed.
static bool needs_trial(const hlo_node_t* node) {
  if (hlo_op_has(node->op, HLO_TRAIT_REDUCES | HLO_TRAIT_JOINS) || node->op == HLO_OP_gather ||
      node->op == HLO_OP_transpose) {
    return true;
  }
  if (hlo_fuser_only_indexes(node)) return false;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (hlo_op_has(use->user->op, HLO_TRAIT_MOVES | HLO_TRAIT_JOINS | HLO_TRAIT_REDUCES))
      return true;
  }
  return false;
}

// Returns true if the loops can store a result of another size on the way: reduced values beside
// the reductions, values of whole rows beside the rows.
static bool may_be_extra_output(const hlo_fuser_group_t* group, const hlo_node_t* node) {
  if (group->has_product || node->result_count != 1) return false;
  bool is_reduction = node->op == HLO_OP_reduce;
  bool is_larger = hlo_type_element_count(node->results[0].type) > group->element_count;
  return is_larger ? group->has_reduction && hlo_elementwise_supports(node)
                   : is_reduction || hlo_elementwise_supports(node);
}

// Returns true if the trial can be left to that of the whole group, which mostly fits. Only without
// accumulating ops: any part of a group without them fits if the group does.
static bool may_be_optimistic(const hlo_fuser_t* f, const hlo_fuser_group_t* group,
                              const hlo_node_t* node) {
  return f->may_be_optimistic && !group->accumulates && !hlo_fuser_accumulates(node) &&
         group->member_count < HLO_TUNING_FUSE_MAX_TRIAL &&
         !hlo_fuser_state(f, group->members[0])->requires_trials;
}

// Checks all rules that keep the node out of its users' group; if none does, the loops are tried.
static hlo_verdict_t check_rules(const hlo_fuser_t* f, const hlo_node_t* node,
                                 const users_t* users) {
  if (users->group < 0) return hlo_verdict_no(HLO_REASON_FUSER_USERS, NULL);
  const bool is_update = node->op == HLO_OP_dynamic_update_slice;
  if (is_update) return hlo_verdict_no(HLO_REASON_FUSER_UPDATE, NULL);
  const hlo_fuser_group_t* group = &f->groups[users->group];
  const double work = group->work + hlo_elementwise_cost(node);
  if (work > HLO_TUNING_FUSE_MAX_WORK) {
    return hlo_verdict_beyond(HLO_REASON_FUSER_WORK, NULL, work, HLO_TUNING_FUSE_MAX_WORK);
  }
  // A product stores its outputs in narrow strips: many outputs cost more than another pass.
  if (group->output_count > HLO_TUNING_FUSE_PRODUCT_OUTPUTS &&
      hlo_fuser_state(f, node)->is_product) {
    return hlo_verdict_beyond(HLO_REASON_FUSER_OUTPUTS, NULL, group->output_count,
                              HLO_TUNING_FUSE_PRODUCT_OUTPUTS);
  }
  if (!users->has_outside) return hlo_verdict_yes();
  const bool is_extra_output =
      hlo_type_element_count(node->results[0].type) != group->element_count;
  const bool is_late = users->first_outside <= group->last_position;
  if (is_late) return hlo_verdict_no(HLO_REASON_FUSER_ORDER, NULL);
  if (is_extra_output && !may_be_extra_output(group, node))
    return hlo_verdict_no(HLO_REASON_FUSER_SIZE, NULL);
  const uint32_t outputs = group->output_count + node->result_count;
  return outputs > HLO_TUNING_FUSE_MAX_ARRAYS / 2
             ? hlo_verdict_beyond(HLO_REASON_FUSER_OUTPUTS, NULL, outputs,
                                  HLO_TUNING_FUSE_MAX_ARRAYS / 2)
             : hlo_verdict_yes();
}

static hlo_status_t can_join(hlo_fuser_t* f, hlo_node_t* node, const users_t* users,
                             bool* out_joins) {
  *out_joins = false;
  f->verdict = check_rules(f, node, users);
  if (hlo_verdict_is_no(&f->verdict)) return hlo_ok();
  hlo_fuser_group_t* group = &f->groups[users->group];
  bool is_plain = !users->has_outside && !group->has_product && !group->has_extra_outputs;
  if (!is_plain || needs_trial(node)) {
    if (!is_plain || !may_be_optimistic(f, group, node)) {
      return hlo_fuser_try_member(f, group, node, out_joins);
    }
    group->is_optimistic = true;
  }
  *out_joins = true;
  return hlo_ok();
}

// ---- nodes with users in several groups ---------------------------------------------------------

// Returns true if only this node uses a matrix product: it is better fused as the product's
// epilogue.
static bool follows_product(const hlo_fuser_t* f, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(node, i);
    if (value->def && value->def->parent == node->parent && !value->uses->next &&
        hlo_fuser_state(f, value->def)->is_product) {
      return true;
    }
  }
  return false;
}

// Prefers the group that runs first: it can store the value for the others.
static void prefer_first(const hlo_fuser_t* f, const hlo_node_t* node, users_t* users) {
  if (users->group != MANY || users->first_group == HLO_NO_GROUP || follows_product(f, node)) {
    return;
  }
  users->group = users->first_group;
  add_outside(users, users->second_position);
}

// Returns true for a broadcast constant, which costs one register in every fusion and is never
// worth storing.
static bool is_splat(const hlo_fuser_t* f, const hlo_node_t* node) {
  if (node->op != HLO_OP_broadcast_in_dim) return false;
  const hlo_node_t* def = hlo_node_operand(node, 0)->def;
  return def && def->op == HLO_OP_constant && hlo_fuser_state(f, def)->is_fusible;
}

static bool is_computed_in(const hlo_fuser_node_t* state, int32_t group) {
  return state->group == group ||
         contains_group(state->recomputed_in, state->recomputed_in_count, group);
}

// Returns true if a plain op is in the group, or, not assigned yet, has its first user there.
static bool may_be_computed_in(const hlo_fuser_t* f, const hlo_node_t* node, int32_t group) {
  if (is_computed_in(hlo_fuser_state(f, node), group)) return true;
  if (node->result_count != 1) return false;
  const hlo_use_t* use = node->results[0].uses;
  return use && use->user->parent == node->parent && hlo_elementwise_supports(node) &&
         !hlo_fuser_state(f, node)->is_duplicated &&
         hlo_fuser_state(f, node)->group == HLO_NO_GROUP &&
         is_computed_in(hlo_fuser_state(f, use->user), group);
}

// Returns true if another op of the group uses the value.
static bool is_used_in(const hlo_fuser_t* f, const hlo_value_t* value, const hlo_node_t* besides,
                       int32_t group) {
  uint32_t seen = 0;
  for (const hlo_use_t* use = value->uses; use && ++seen <= HLO_TUNING_FUSE_MAX_USES;
       use = use->next) {
    if (use->user == besides || use->user->parent != besides->parent) continue;
    if (may_be_computed_in(f, use->user, group)) return true;
  }
  return false;
}

// Returns true if recomputing the op takes no longer than storing its result and loading it again.
static bool is_cheaper_recomputed(const hlo_fuser_t* f, const hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  double registers = (double)hlo_type_element_count(type) *
                     hlo_elementwise_register_bytes(type->dtype) / f->target->vector_bytes;
  hlo_tile_work_t recomputation = {.vector_ops = registers * hlo_elementwise_cost(node)};
  return hlo_tile_work_ns(&f->target->tile, &recomputation) <=
         hlo_tile_store_ns(&f->target->tile, registers, (double)hlo_type_size_bytes(type));
}

// Returns true if each of a few groups should recompute the op instead of loading its result: its
// operands must be used there, too.
static bool is_recomputed(const hlo_fuser_t* f, const hlo_node_t* node, const users_t* users) {
  if (users->group_count < 2 || users->group_count > HLO_FUSER_MAX_RECOMPUTING ||
      users->has_outside)
    return false;
  if (!hlo_elementwise_supports(node) || !is_cheaper_recomputed(f, node)) return false;
  for (uint32_t g = 0; g < users->group_count; ++g) {
    if (users->groups[g] == users->first_group) continue;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      const hlo_value_t* value = hlo_node_operand(node, i);
      if (value->def && is_splat(f, value->def)) continue;
      if (!is_used_in(f, value, node, users->groups[g])) return false;
    }
  }
  return true;
}

// ---- slices updated in place --------------------------------------------------------------------

// Returns true if `target` depends on the node, within the region; also if the search is too long.
static bool is_used_for(const hlo_node_t* node, const hlo_node_t* target, uint32_t* seen) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      if (use->user == target || ++*seen > HLO_TUNING_FUSE_MAX_USES) return true;
      if (use->user->parent == target->parent && is_used_for(use->user, target, seen)) return true;
    }
  }
  return false;
}

// Returns true if a dynamic_slice reads exactly the elements that the update overwrites, and each
// is replaced by a function of itself.
static bool is_same_slice(const hlo_node_t* node, const hlo_node_t* update) {
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (use->user != update && !hlo_elementwise_supports(use->user)) return false;
  }
  if (node->op != HLO_OP_dynamic_slice || node->operand_count + 1 != update->operand_count ||
      node->results[0].type != hlo_node_operand_type(update, 1)) {
    return false;
  }
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    if (hlo_node_operand(node, i) != hlo_node_operand(update, i + 1)) return false;
  }
  return true;
}

// Returns true if the node contributes to an update of another slice of `array`.
static bool is_for_slice_of(const hlo_node_t* node, const hlo_value_t* array) {
  uint32_t seen = 0;
  for (const hlo_use_t* use = array->uses; use && ++seen <= HLO_TUNING_FUSE_MAX_USES;
       use = use->next) {
    const hlo_node_t* update = use->user;
    uint32_t steps = 0;
    if (update->op == HLO_OP_dynamic_update_slice && use == &update->operands[0] &&
        update->parent == node->parent && update != node && !is_same_slice(node, update) &&
        is_used_for(node, update, &steps)) {
      return true;
    }
  }
  return false;
}

// Returns true if that holds for an operand, directly or through elementwise ops.
static bool is_operand_updated(const hlo_node_t* node, const hlo_node_t* reader, uint32_t depth) {
  const uint64_t bytes = hlo_type_size_bytes(node->results[0].type);
  for (uint32_t k = 0; k < reader->operand_count; ++k) {
    const hlo_value_t* value = hlo_node_operand(reader, k);
    const hlo_node_t* def = value->def;
    if (bytes >= hlo_type_size_bytes(value->type)) continue;
    if (is_for_slice_of(node, value)) return true;
    if (depth < HLO_TUNING_FUSE_MAX_READ_DEPTH && def && def->parent == node->parent &&
        hlo_elementwise_supports(def) && is_operand_updated(node, def, depth + 1)) {
      return true;
    }
  }
  return false;
}

// Returns true if the node reads a part of an array to compute the update of another part: one
// fusion could not update the array in place.
static bool is_for_update(const hlo_node_t* node) {
  return !hlo_elementwise_supports(node) && is_operand_updated(node, node, 0);
}

// ---- assignment ---------------------------------------------------------------------------------

// Records f->verdict for all groups that use the node, as far as they are known.
static hlo_status_t reject_node(hlo_fuser_t* f, const hlo_node_t* node, const users_t* users) {
  if (!f->is_explained) return hlo_ok();
  if (users->group >= 0) return hlo_fuser_record_rejection(f, node, users->group, false);
  const uint32_t count = users->group_count < HLO_FUSER_MAX_RECOMPUTING ? users->group_count
                                                                        : HLO_FUSER_MAX_RECOMPUTING;
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_fuser_record_rejection(f, node, users->groups[i], false));
  }
  return hlo_ok();
}

// Records a reason for a node that is rejected without regard to its users.
static hlo_status_t reject_for(hlo_fuser_t* f, const hlo_node_t* node, hlo_reason_t reason) {
  if (!f->is_explained) return hlo_ok();
  const users_t users = find_users(f, node);
  f->verdict = hlo_verdict_no(reason, NULL);
  return reject_node(f, node, &users);
}

hlo_status_t hlo_fuser_assign_node(hlo_fuser_t* f, hlo_node_t* node) {
  // Applies the first rule that holds: the node contributes to an update of an array that it reads,
  // and starts a group; a product computes it as a prologue; it is dead; a few groups recompute it;
  // it is a splat, duplicated in every fusion; it joins its users' group; it is cheap and
  // duplicated; it starts a group. A cheap node that is also loaded from memory does both of the
  // latter.
  hlo_fuser_node_t* state = hlo_fuser_state(f, node);
  if (!state->is_fusible && (hlo_op_is_control(node->op) || hlo_node_is_view(node))) {
    return hlo_ok();
  }
  if (!state->is_fusible) return reject_for(f, node, HLO_REASON_FUSER_OP);
  if (node->op == HLO_OP_constant || state->is_prologue) return hlo_ok();
  if (is_for_update(node)) {
    state->is_cheap = false;
    HLO_TRY(reject_for(f, node, HLO_REASON_FUSER_UPDATED));
    return hlo_fuser_start_group(f, node);
  }
  bool is_prologue;
  HLO_TRY(hlo_fuser_fuse_prologue(f, node, &is_prologue));
  if (!is_prologue) HLO_TRY(hlo_fuser_duplicate_operand(f, node, &is_prologue));
  if (is_prologue) return hlo_ok();
  users_t users = find_users(f, node);
  if (users.group == HLO_NO_GROUP && !users.has_outside) return hlo_ok();  // dead
  if (!state->is_cheap && is_recomputed(f, node, &users)) {
    state->is_cheap = state->is_duplicated = true;
    state->recomputed_in_count = (uint8_t)users.group_count;
    memcpy(state->recomputed_in, users.groups, users.group_count * sizeof *users.groups);
    return hlo_ok();
  }
  if (!state->is_cheap) prefer_first(f, node, &users);
  if (users.group != HLO_NO_GROUP && !users.has_outside && is_splat(f, node)) {
    state->is_duplicated = true;
    return hlo_ok();
  }
  bool joins;
  HLO_TRY(can_join(f, node, &users, &joins));
  if (joins) {
    hlo_fuser_group_t* group = &f->groups[users.group];
    if (users.has_outside) {
      group->output_count += node->result_count;
      group->has_extra_outputs |=
          hlo_fuser_written_count(&node->results[0]) != group->element_count;
    }
    return hlo_fuser_join(f, users.group, node);
  }
  state->is_duplicated = state->is_cheap && users.group != HLO_NO_GROUP;
  if (!state->is_duplicated) HLO_TRY(reject_node(f, node, &users));
  if (state->is_duplicated && !users.has_outside) return hlo_ok();
  return hlo_fuser_start_group(f, node);
}
