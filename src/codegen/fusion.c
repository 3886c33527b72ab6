// SPDX-License-Identifier: Apache-2.0
// Cutting a function into steps (see fusion.h). Fusions grow backwards from their last op: a
// producer joins when all that use it are in the fusion, or when its result is one more output of
// the same elements; cheap ops are computed again in every fusion that uses them, and so are
// those that take no longer than keeping what they make, where what they are made of is at hand. In
// the end groups that read the same array become one where they may. A product takes what makes its
// operands, and nothing else, where computing it on the way costs less than memory.
//
// A fusion runs where its last op stands. An output that others use as well is only allowed when
// those stand behind that place, so no cycle can arise.
#include "codegen/fusion.h"

#include <string.h>

#include "base/mem.h"
#include "codegen/dot/matmul.h"
#include "codegen/elementwise.h"
#include "codegen/fusion_key.h"
#include "codegen/plan.h"
#include "codegen/tiled.h"
#include "ir/captures.h"

enum { NONE = -1, MANY = -2 };  // groups

// Limits keep compiling linear in the program; none decides what a result is.
enum {
  MAX_MEMBERS = 320,            // of a fusion,
  MAX_NODES = 4 * MAX_MEMBERS,  // with what is computed wherever it is used
  MAX_TRIAL_MEMBERS = 64,       // of one whose loops are made to see whether it can grow
  MAX_MEMORY = 40,              // inputs, or outputs, of a fusion
  PRODUCT_OUTPUTS = 2,          // of one that begins with a product
  MAX_CHAIN = 16,               // ops that a product takes to compute an operand
  MAX_AGAIN = 3,                // fusions that compute a plain op each for itself,
  MAX_AGAIN_USES = 24,          // and uses that are looked at to find them
};

/// A fusion being grown.
typedef struct group {
  uint32_t member_count, member_capacity, output_count;
  bool has_product;      // a matrix product
  bool has_reduction, has_sides, has_update;
  int32_t merged;        // the group that took all members over; NONE
  hlo_node_t** members;  // last first
  int64_t element_count;
  uint32_t last_position;
  hlo_fusion_t* fusion;  // made at the end
} group_t;

/// What a node became.
typedef struct placing {
  uint32_t position;     // in its region
  int32_t group;         // NONE
  bool is_fusible, is_cheap;
  bool is_product;       // of matrices, or a convolution
  bool is_taken;         // part of what a product computes its operand by
  uint8_t spread;        // n > 0: made of much less by broadcasts and n or n - 1 ops in a row
  bool is_everywhere;    // cheap and used by several fusions: computed in each
  uint8_t again_count;   // if it is everywhere: the groups that compute it, when it is known which
  int32_t again[MAX_AGAIN];
} placing_t;

/// Ops that make an operand of a product, and of nothing else: its maker first.
typedef struct chain {
  uint32_t count;
  hlo_node_t* nodes[MAX_CHAIN];
} chain_t;

typedef struct fuser {
  const hlo_func_t* func;
  const hlo_target_t* target;
  hlo_arena_t* arena;       // of the schedule
  hlo_arena_t scratch;
  hlo_arena_t trial;        // of one trial
  hlo_tile_memo_t* memo;
  placing_t* placings;      // by node->index
  uint32_t* numbers;        // by node->index, zeros
  uint32_t* listed;         // by node->index: the last list that it was in
  uint32_t list_number, list_count;
  hlo_node_t* list[MAX_NODES];  // members of the fusion that is being built
  hlo_fusion_table_t known;  // what was tried, and what was made
  uint32_t group_count, group_capacity;
  group_t* groups;          // of the region at work
  chain_t* chain;           // that a product may take; NULL: none is tried
  hlo_schedule_t* schedule;
  uint32_t sequence_capacity;
} fuser_t;

static placing_t* place_of(const fuser_t* f, const hlo_node_t* node) {
  return &f->placings[node->index];
}

// Ops that cost nothing but index arithmetic.
static bool is_cheap_op(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_constant: case HLO_OP_iota: case HLO_OP_broadcast_in_dim: case HLO_OP_reshape:
    case HLO_OP_slice:
      return true;
    default: return false;
  }
}

static bool is_control(const hlo_node_t* node) {
  return node->op == HLO_OP_while || node->op == HLO_OP_if || node->op == HLO_OP_case;
}

// ---- who uses a node

/// The fusions that use a node's results, and the first place outside of them.
typedef struct users {
  int32_t group;             // NONE, one, MANY
  int32_t first_group;       // of several the one that runs first; NONE: it is not among them
  uint32_t second_position;  // where the next one of several runs
  uint32_t group_count;      // MAX_AGAIN + 1: more, or not known
  uint32_t through_count;    // users of users that were looked at
  bool is_unknown;           // some may be in any
  int32_t groups[MAX_AGAIN];
  bool has_outside;          // memory is needed
  uint32_t first_outside;    // position
} users_t;

static bool is_among(const int32_t* groups, uint32_t count, int32_t group) {
  for (uint32_t i = 0; i < count; ++i) {
    if (groups[i] == group) return true;
  }
  return false;
}

static void list_group(users_t* users, int32_t group) {
  if (users->group_count > MAX_AGAIN || is_among(users->groups, users->group_count, group)) return;
  if (users->group_count < MAX_AGAIN) users->groups[users->group_count] = group;
  ++users->group_count;
}

static void add_group(const fuser_t* f, users_t* users, int32_t group) {
  list_group(users, group);
  if (users->group == group || users->is_unknown) return;
  if (users->group == NONE) {
    users->group = users->first_group = group;
    return;
  }
  users->group = MANY;
  if (users->first_group == NONE || users->first_group == group) return;
  uint32_t here = f->groups[group].last_position;
  uint32_t first = f->groups[users->first_group].last_position;
  uint32_t later = here > first ? here : first;
  if (here < first) users->first_group = group;
  if (later < users->second_position) users->second_position = later;
}

// A cheap user that is computed in several fusions may be in any.
static void add_everywhere(users_t* users) {
  users->group = MANY;
  users->first_group = NONE;
  users->is_unknown = true;
  users->group_count = MAX_AGAIN + 1;
}

static void add_outside(users_t* users, uint32_t position) {
  if (!users->has_outside || position < users->first_outside) users->first_outside = position;
  users->has_outside = true;
}

// The node of `region` that `node` is in, or is.
static const hlo_node_t* enclosing(const hlo_region_t* region, const hlo_node_t* node) {
  while (node && node->parent != region) node = node->parent ? node->parent->parent : NULL;
  return node;
}

static bool is_in_chain(const chain_t* chain, const hlo_node_t* node) {
  for (uint32_t i = 0; chain && i < chain->count; ++i) {
    if (chain->nodes[i] == node) return true;
  }
  return false;
}

// Whether a product computes the value that it multiplies by itself.
static bool is_taken(const fuser_t* f, const hlo_value_t* value) {
  return value->def && (place_of(f, value->def)->is_taken || is_in_chain(f->chain, value->def));
}

// The buffer that dynamic_update_slice overwrites is memory, whoever made it, and so are matrices
// that are multiplied, if they are not taken.
static bool needs_memory(const fuser_t* f, const hlo_node_t* user, const hlo_use_t* use) {
  return (user->op == HLO_OP_dynamic_update_slice && use == &user->operands[0]) ||
         (place_of(f, user)->is_product && !is_taken(f, use->value));
}

// Computed wherever it is used, and in a fusion of its own for what reads memory: some of those who
// need what it is made of are not seen from there.
static bool is_also_stored(const placing_t* place) {
  return place->is_everywhere && place->group != NONE;
}

// What uses a node that is computed wherever it is used: those fusions use what it is made of.
static void add_through(const fuser_t* f, users_t* users, const hlo_node_t* node, uint32_t depth) {
  enum { MAX_DEPTH = 4, MAX_THROUGH = 64 };  // beyond them the users count as unknown
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      const placing_t* place = place_of(f, use->user);
      bool is_known = use->user->parent == node->parent && depth < MAX_DEPTH &&
                      !is_also_stored(place) && ++users->through_count <= MAX_THROUGH;
      if (!is_known) {
        add_everywhere(users);
        return;
      }
      for (uint32_t i = 0; i < place->again_count; ++i) add_group(f, users, place->again[i]);
      if (place->group != NONE) add_group(f, users, place->group);
      if (place->is_everywhere && !place->again_count) add_through(f, users, use->user, depth + 1);
    }
  }
}

static users_t find_users(const fuser_t* f, const hlo_node_t* node) {
  users_t users = {.group = NONE, .first_group = NONE, .second_position = UINT32_MAX};
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      const hlo_node_t* user = use->user;
      if (user->parent == node->parent && needs_memory(f, user, use)) {
        add_outside(&users, place_of(f, user)->position);
        continue;
      }
      if (user->parent != node->parent) {
        const hlo_node_t* outer = enclosing(node->parent, user);
        add_outside(&users, outer ? place_of(f, outer)->position : UINT32_MAX);
        continue;
      }
      const placing_t* place = place_of(f, user);
      if (is_also_stored(place)) {
        add_everywhere(&users);
      } else if (place->is_everywhere && !place->again_count) {
        add_through(f, &users, user, 0);
      }
      for (uint32_t i = 0; i < place->again_count; ++i) add_group(f, &users, place->again[i]);
      if (place->group != NONE) {
        add_group(f, &users, place->group);
      } else if (!place->is_everywhere) {
        add_outside(&users, place->position);
      }
    }
  }
  // By itself the one fusion could do without what it stores for others.
  if (users.through_count && users.group >= 0) add_everywhere(&users);
  return users;
}

// ---- building the fusion of a group

static bool is_listed(const fuser_t* f, const hlo_node_t* node) {
  return f->listed[node->index] == f->list_number;
}

static void list_node(fuser_t* f, hlo_node_t* node) {
  f->list[f->list_count++] = node;
  f->listed[node->index] = f->list_number;
}

// Adds the cheap nodes that members need and that are not members of their own.
static bool list_cheap(fuser_t* f) {
  for (uint32_t i = 0; i < f->list_count; ++i) {
    const hlo_node_t* node = f->list[i];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      hlo_node_t* def = hlo_node_operand(node, k)->def;
      if (!def || is_listed(f, def) || needs_memory(f, node, &node->operands[k])) continue;
      const placing_t* place = place_of(f, def);
      bool is_splat = def->op == HLO_OP_constant && place->is_fusible;
      bool is_here = def->parent == f->list[0]->parent;
      if (!place->is_fusible || !(is_splat || (place->is_cheap && is_here))) continue;
      if (f->list_count == MAX_NODES) return false;
      list_node(f, def);
    }
  }
  return true;
}

static bool is_used_outside(const fuser_t* f, const hlo_value_t* value) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (!is_listed(f, use->user)) return true;
  }
  return false;
}

// Inputs of the list: operands that no member computes.
static bool collect_inputs(const fuser_t* f, hlo_value_t** inputs, uint32_t* count) {
  for (uint32_t i = 0; i < f->list_count; ++i) {
    const hlo_node_t* node = f->list[i];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      hlo_value_t* value = hlo_node_operand(node, k);
      bool is_memory = needs_memory(f, node, &node->operands[k]);
      if (value->def && is_listed(f, value->def) && !is_memory) continue;
      uint32_t at = 0;
      while (at < *count && inputs[at] != value) ++at;
      if (at < *count) continue;
      if (*count == MAX_MEMORY) return false;
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

static int64_t written_count(const hlo_value_t* value) {
  return hlo_type_element_count(hlo_tiled_written(value)->type);
}

// Puts outputs of other sizes than the group's behind the others; how many they are.
static uint32_t sides_last(const group_t* group, hlo_value_t** outputs, uint32_t count) {
  hlo_value_t* sides[MAX_MEMORY];
  uint32_t side_count = 0, kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (written_count(outputs[i]) == group->element_count) {
      outputs[kept++] = outputs[i];
    } else {
      sides[side_count++] = outputs[i];
    }
  }
  memcpy(outputs + kept, sides, side_count * sizeof *outputs);
  return side_count;
}

// The fusion of members (the group's, and `extra` if not NULL); *out NULL when it has
// too much memory.
static hlo_status_t build(fuser_t* f, const group_t* group, hlo_node_t* extra, hlo_arena_t* arena,
                          hlo_fusion_t** out) {
  hlo_value_t *inputs[MAX_MEMORY], *outputs[MAX_MEMORY];
  uint32_t input_count = 0, output_count = 0, side_count = 0;
  *out = NULL;
  ++f->list_number;
  f->list_count = 0;
  for (uint32_t i = 0; i < group->member_count; ++i) list_node(f, group->members[i]);
  if (extra) list_node(f, extra);
  for (uint32_t i = 0; f->chain && i < f->chain->count; ++i) list_node(f, f->chain->nodes[i]);
  for (uint32_t i = f->list_count; i-- > 0;) {  // in program order
    for (uint32_t r = 0; r < f->list[i]->result_count; ++r) {
      hlo_value_t* value = &f->list[i]->results[r];
      if (!is_used_outside(f, value)) continue;
      if (output_count == MAX_MEMORY) return hlo_ok();
      outputs[output_count++] = value;
    }
  }
  if (output_count == 0 || !list_cheap(f)) return hlo_ok();
  side_count = sides_last(group, outputs, output_count);
  if (!collect_inputs(f, inputs, &input_count)) return hlo_ok();
  hlo_fusion_t* fusion = hlo_arena_alloc(arena, sizeof *fusion);
  if (!fusion) return hlo_arena_status(arena);
  *fusion = (hlo_fusion_t){.node_count = f->list_count,
                           .input_count = input_count,
                           .output_count = output_count,
                           .side_count = side_count,
                           .nodes = copy_array(arena, f->list, f->list_count),
                           .inputs = copy_array(arena, inputs, input_count),
                           .outputs = copy_array(arena, outputs, output_count)};
  *out = fusion;
  return hlo_arena_status(arena);
}

// ---- growing

static hlo_status_t join(fuser_t* f, int32_t number, hlo_node_t* node) {
  group_t* group = &f->groups[number];
  hlo_node_t** room =
      hlo_arena_room(&f->scratch, group->members, group->member_count, &group->member_capacity,
                     sizeof *room);
  if (!room) return hlo_arena_status(&f->scratch);
  group->members = room;
  group->members[group->member_count++] = node;
  group->has_product |= place_of(f, node)->is_product;
  group->has_reduction |= node->op == HLO_OP_reduce;
  group->has_update |= node->op == HLO_OP_dynamic_update_slice;
  place_of(f, node)->group = number;
  return hlo_ok();
}

static hlo_status_t start_group(fuser_t* f, hlo_node_t* node) {
  group_t* room =
      hlo_arena_room(&f->scratch, f->groups, f->group_count, &f->group_capacity, sizeof *room);
  if (!room) return hlo_arena_status(&f->scratch);
  f->groups = room;
  f->groups[f->group_count] =
      (group_t){.element_count = written_count(&node->results[0]),
                .merged = NONE,
                .last_position = place_of(f, node)->position,
                .output_count = node->result_count};
  return join(f, (int32_t)f->group_count++, node);
}

// Whether loops can compute a fusion; `made`: it is one of the schedule, whose kernel stays, and
// shares that of an earlier one.
static hlo_status_t has_loops(fuser_t* f, hlo_fusion_t* fusion, bool is_made, bool* out_has) {
  hlo_fusion_key_t key;
  HLO_TRY(hlo_fusion_key(fusion, f->numbers, &f->trial, &key));
  hlo_fusion_known_t* known = hlo_fusion_table_find(&f->known, &key);
  *out_has = known && !known->is_refused;
  if (known && (known->is_refused || !is_made)) return hlo_ok();
  if (known && known->fusion) {
    fusion->kernel = known->fusion->kernel;
    fusion->model = known->fusion->model = known->fusion;
    return hlo_ok();
  }
  if (!known) known = hlo_fusion_table_add(&f->known, &key, &f->scratch);
  if (!known) return hlo_arena_status(&f->scratch);
  hlo_kernel_t* kernel;
  f->schedule->walked_count += fusion->node_count;
  hlo_status_t status =
      hlo_kernel_create(fusion, f->target, f->memo, is_made ? f->arena : &f->trial, &kernel);
  known->is_refused = hlo_status_code(status) == HLO_STATUS_UNIMPLEMENTED;
  *out_has = hlo_status_is_ok(status);
  if (*out_has && is_made) known->fusion = fusion;
  if (!known->is_refused) return status;
  hlo_status_release(status);
  return hlo_ok();
}

// Whether the loops of the group could compute the node too.
static hlo_status_t try_member(fuser_t* f, const group_t* group, hlo_node_t* node, bool* out_fits) {
  *out_fits = false;
  if (group->member_count >= MAX_TRIAL_MEMBERS) return hlo_ok();
  hlo_arena_mark_t mark = hlo_arena_mark(&f->trial);
  hlo_fusion_t* fusion;
  hlo_status_t status = build(f, group, node, &f->trial, &fusion);
  if (hlo_status_is_ok(status) && fusion) status = has_loops(f, fusion, false, out_fits);
  hlo_arena_reset(&f->trial, mark);
  return status;
}

static bool changes_elements(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_broadcast_in_dim: case HLO_OP_gather: case HLO_OP_pad: case HLO_OP_concatenate:
    case HLO_OP_dynamic_slice: case HLO_OP_slice: case HLO_OP_reverse: case HLO_OP_transpose:
      return true;
    default: return false;
  }
}

static bool is_reduction(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_reduce: case HLO_OP_reduce_window: case HLO_OP_dot: case HLO_OP_dot_general:
    case HLO_OP_convolution:
      return true;
    default: return false;
  }
}

// Joining is safe without a trial when the node and all its users just go along with the elements.
static bool needs_trial(const hlo_node_t* node) {
  if (is_reduction(node) || node->op == HLO_OP_pad || node->op == HLO_OP_concatenate ||
      node->op == HLO_OP_gather || node->op == HLO_OP_transpose) {
    return true;
  }
  if (is_cheap_op(node)) return false;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (changes_elements(use->user) || use->user->op == HLO_OP_reshape ||
        is_reduction(use->user)) {
      return true;
    }
  }
  return false;
}

// Whether a matrix product is made for this node alone, which is better computed behind it.
static bool follows_product(const fuser_t* f, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(node, i);
    if (value->def && value->def->parent == node->parent && !value->uses->next &&
        place_of(f, value->def)->is_product) {
      return true;
    }
  }
  return false;
}

// What several fusions use may be computed in the first of them, from where the others have it.
static void prefer_first(const fuser_t* f, const hlo_node_t* node, users_t* users) {
  if (users->group != MANY || users->first_group == NONE || follows_product(f, node)) {
    return;
  }
  users->group = users->first_group;
  add_outside(users, users->second_position);
}

// A splat costs a register wherever it is used, and is never worth a member's place.
static bool is_splat(const fuser_t* f, const hlo_node_t* node) {
  if (node->op != HLO_OP_broadcast_in_dim) return false;
  const hlo_node_t* def = hlo_node_operand(node, 0)->def;
  return def && def->op == HLO_OP_constant && place_of(f, def)->is_fusible;
}

static bool is_in(const placing_t* place, int32_t group) {
  return place->group == group || is_among(place->again, place->again_count, group);
}

// Whether a plain op is in the group, or, not placed yet, has its first user there.
static bool goes_to(const fuser_t* f, const hlo_node_t* node, int32_t group) {
  if (is_in(place_of(f, node), group)) return true;
  if (node->result_count != 1) return false;
  const hlo_use_t* use = node->results[0].uses;
  return use && use->user->parent == node->parent && hlo_elementwise_supports(node) &&
         !place_of(f, node)->is_everywhere && place_of(f, node)->group == NONE &&
         is_in(place_of(f, use->user), group);
}

// Whether something else in the group uses the value, too.
static bool is_used_in(const fuser_t* f, const hlo_value_t* value, const hlo_node_t* besides,
                       int32_t group) {
  uint32_t seen = 0;
  for (const hlo_use_t* use = value->uses; use && ++seen <= MAX_AGAIN_USES; use = use->next) {
    if (use->user == besides || use->user->parent != besides->parent) continue;
    if (goes_to(f, use->user, group)) return true;
  }
  return false;
}

// Whether computing the op again takes no longer than storing what it makes and loading it.
static bool is_sooner_again(const fuser_t* f, const hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  double registers = (double)hlo_type_element_count(type) *
                     hlo_elementwise_register_bytes(type->dtype) / f->target->vector_bytes;
  hlo_tile_work_t again = {.vector_ops = registers * hlo_elementwise_cost(node)};
  return hlo_tile_work_ns(&f->target->tile, &again) <=
         hlo_tile_kept_ns(&f->target->tile, registers, (double)hlo_type_size_bytes(type));
}

// An op that a few fusions use is perhaps sooner computed again than stored and loaded, where all
// it is made of is at hand: used by other ops of those fusions.
static bool is_computed_again(const fuser_t* f, const hlo_node_t* node, const users_t* users) {
  if (users->group_count < 2 || users->group_count > MAX_AGAIN || users->has_outside) return false;
  if (!hlo_elementwise_supports(node) || !is_sooner_again(f, node)) return false;
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

// Whether a result of another size than the group's might be stored by the loops that compute it
// anyway: what is reduced, beside the sums; what belongs to whole rows, beside the rows.
static bool may_be_side(const group_t* group, const hlo_node_t* node) {
  if (group->has_product || node->result_count != 1) return false;
  bool is_reduction = node->op == HLO_OP_reduce;
  bool is_larger = hlo_type_element_count(node->results[0].type) > group->element_count;
  return is_larger ? group->has_reduction && hlo_elementwise_supports(node)
                   : is_reduction || hlo_elementwise_supports(node);
}

static hlo_status_t can_join(fuser_t* f, hlo_node_t* node, const users_t* users, bool* out_joins) {
  *out_joins = false;
  if (users->group < 0 || node->op == HLO_OP_dynamic_update_slice) return hlo_ok();
  const group_t* group = &f->groups[users->group];
  if (group->member_count >= MAX_MEMBERS) return hlo_ok();
  // What a product leaves in registers is stored in narrow strips: many of them cost
  // more than a pass.
  if (group->output_count > PRODUCT_OUTPUTS && place_of(f, node)->is_product) return hlo_ok();
  if (users->has_outside) {
    bool is_side = hlo_type_element_count(node->results[0].type) != group->element_count;
    if (users->first_outside <= group->last_position || (is_side && !may_be_side(group, node)) ||
        group->output_count + node->result_count > MAX_MEMORY / 2) {
      return hlo_ok();
    }
  }
  if (users->has_outside || group->has_product || group->has_sides || needs_trial(node)) {
    return try_member(f, group, node, out_joins);
  }
  *out_joins = true;
  return hlo_ok();
}

// ---- operands that products compute

// Ops whose elements are made of a few elements at places that loops can tell.
static bool is_chainable(const fuser_t* f, const hlo_node_t* node) {
  if (!place_of(f, node)->is_fusible || node->result_count != 1) return false;
  switch (node->op) {
    case HLO_OP_broadcast_in_dim: case HLO_OP_reshape: case HLO_OP_slice: case HLO_OP_transpose:
    case HLO_OP_dynamic_slice: case HLO_OP_reverse: case HLO_OP_gather:
      return true;
    default: return hlo_elementwise_supports(node);
  }
}

// The one group whose product all uses belong to, as operands or as part of what makes them; NONE.
static int32_t taking_group(const fuser_t* f, const hlo_node_t* node) {
  int32_t group = NONE;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    const placing_t* place = place_of(f, use->user);
    bool is_here = use->user->parent == node->parent && place->group != NONE &&
                   (group == NONE || place->group == group) && place->is_product;
    if (!is_here) return NONE;
    group = place->group;
  }
  return group;
}

static bool is_made_for_chain(const chain_t* chain, const hlo_node_t* node) {
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (!is_in_chain(chain, use->user)) return false;
  }
  return true;
}

// Whether some step keeps a value in memory whatever becomes of the product.
static bool is_kept_anyway(const fuser_t* f, const hlo_node_t* node, const chain_t* chain) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      if (is_in_chain(chain, use->user)) continue;
      if (use->user->parent != node->parent) return true;
      const placing_t* place = place_of(f, use->user);
      if (place->group != NONE || !place->is_fusible) return true;
    }
  }
  return false;
}

// Whether a value that the chain begins with is in memory, or so small that it does not matter.
static bool may_begin(const fuser_t* f, const chain_t* chain, const hlo_value_t* value,
                      bool computes) {
  enum { FEWER = 8 };
  const hlo_node_t *def = value->def, *last = chain->nodes[0];
  int64_t count = hlo_type_element_count(value->type);
  if (!def || def->parent != last->parent || !place_of(f, def)->is_fusible) return true;
  if (count <= hlo_type_element_count(last->results[0].type) / FEWER) return true;
  // What follows a product is better computed behind it.
  if (place_of(f, def)->is_product) return !computes || is_kept_anyway(f, def, chain);
  return def->op == HLO_OP_constant || is_kept_anyway(f, def, chain);
}

// Everything that an operand is made of and that nothing else needs; false: it is not to be taken.
static bool find_chain(const fuser_t* f, hlo_node_t* node, chain_t* chain) {
  bool computes = false;
  *chain = (chain_t){.count = 1, .nodes = {node}};
  for (uint32_t i = 0; i < chain->count; ++i) {
    const hlo_node_t* member = chain->nodes[i];
    computes |= hlo_elementwise_supports(member);
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      hlo_node_t* def = hlo_node_operand(member, k)->def;
      if (!def || is_in_chain(chain, def) || def->parent != node->parent) continue;
      if (!is_chainable(f, def) || !is_made_for_chain(chain, def)) continue;
      if (chain->count == MAX_CHAIN) return false;
      chain->nodes[chain->count++] = def;
    }
  }
  for (uint32_t i = 0; i < chain->count; ++i) {
    const hlo_node_t* member = chain->nodes[i];
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      const hlo_value_t* value = hlo_node_operand(member, k);
      bool is_cheap = value->def && place_of(f, value->def)->is_cheap;
      if ((value->def && is_in_chain(chain, value->def)) || is_cheap) continue;
      if (!may_begin(f, chain, value, computes)) return false;
    }
  }
  return chain->count > 1 || node->op != HLO_OP_reshape;  // a view of what is in memory
}

// An operand of a product may be computed where the product packs or reads it.
static hlo_status_t take_operand(fuser_t* f, hlo_node_t* node, bool* out_taken) {
  *out_taken = false;
  if (!is_chainable(f, node)) return hlo_ok();
  int32_t group = taking_group(f, node);
  chain_t chain;
  if (group == NONE || !find_chain(f, node, &chain)) return hlo_ok();
  f->chain = &chain;
  hlo_status_t status = try_member(f, &f->groups[group], NULL, out_taken);
  f->chain = NULL;
  for (uint32_t i = 0; *out_taken && i < chain.count && hlo_status_is_ok(status); ++i) {
    place_of(f, chain.nodes[i])->is_taken = true;
    status = join(f, group, chain.nodes[i]);
  }
  return status;
}

// What only moves elements of something in memory is read there by each of a few products.
static hlo_status_t take_everywhere(fuser_t* f, hlo_node_t* node, bool* out_taken) {
  placing_t* place = place_of(f, node);
  const placing_t before = *place;
  uint32_t count = 0;
  if (node->op != HLO_OP_transpose && node->op != HLO_OP_slice) return hlo_ok();
  const hlo_node_t* def = hlo_node_operand(node, 0)->def;
  if (def && def->parent == node->parent && place_of(f, def)->is_fusible) return hlo_ok();
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    const placing_t* user = place_of(f, use->user);
    bool is_product = use->user->parent == node->parent && user->is_product && user->group != NONE;
    if (!is_product || ++count > MAX_AGAIN) return hlo_ok();
  }
  place->is_taken = place->is_cheap = place->is_everywhere = true;
  hlo_status_t status = hlo_ok();
  *out_taken = true;
  for (const hlo_use_t* use = node->results[0].uses; use && *out_taken; use = use->next) {
    status = try_member(f, &f->groups[place_of(f, use->user)->group], NULL, out_taken);
    if (!hlo_status_is_ok(status)) break;
  }
  if (!*out_taken) *place = before;
  return status;
}

static hlo_status_t place_node(fuser_t* f, hlo_node_t* node) {
  placing_t* place = place_of(f, node);
  if (!place->is_fusible || node->op == HLO_OP_constant || place->is_taken) return hlo_ok();
  bool is_taken;
  HLO_TRY(take_operand(f, node, &is_taken));
  if (!is_taken) HLO_TRY(take_everywhere(f, node, &is_taken));
  if (is_taken) return hlo_ok();
  users_t users = find_users(f, node);
  if (users.group == NONE && !users.has_outside) return hlo_ok();  // dead
  if (!place->is_cheap && is_computed_again(f, node, &users)) {
    place->is_cheap = place->is_everywhere = true;
    place->again_count = (uint8_t)users.group_count;
    memcpy(place->again, users.groups, users.group_count * sizeof *users.groups);
    return hlo_ok();
  }
  if (!place->is_cheap) prefer_first(f, node, &users);
  if (users.group != NONE && !users.has_outside && is_splat(f, node)) {
    place->is_everywhere = true;
    return hlo_ok();
  }
  bool joins;
  HLO_TRY(can_join(f, node, &users, &joins));
  if (joins) {
    group_t* group = &f->groups[users.group];
    if (users.has_outside) {
      group->output_count += node->result_count;
      group->has_sides |= written_count(&node->results[0]) != group->element_count;
    }
    return join(f, users.group, node);
  }
  place->is_everywhere = place->is_cheap && users.group != NONE;
  if (place->is_everywhere && !users.has_outside) return hlo_ok();
  return start_group(f, node);
}

// ---- sequences

// Broadcasts of something small, and a few plain ops on nothing else, are sooner computed again
// than read from memory.
static uint8_t spread_of(const fuser_t* f, const hlo_node_t* node) {
  enum { FEWER = 8, IN_A_ROW = 4 };  // elements against the result's; ops that add up to a load
  if (node->op == HLO_OP_constant) return 1;
  if (node->op == HLO_OP_broadcast_in_dim) {
    int64_t count = hlo_type_element_count(hlo_node_operand_type(node, 0));
    return count <= hlo_type_element_count(node->results[0].type) / FEWER;
  }
  if (!hlo_elementwise_supports(node) || hlo_elementwise_cost(node) > 1) return 0;
  uint8_t most = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_node_t* def = hlo_node_operand(node, i)->def;
    uint8_t spread = def && def->parent == node->parent ? place_of(f, def)->spread : 0;
    if (spread == 0 || spread == IN_A_ROW) return 0;
    if (spread > most) most = spread;
  }
  return most ? most + 1 : 0;
}

static void number_nodes(fuser_t* f, const hlo_region_t* region) {
  uint32_t position = 0;
  for (hlo_node_t* node = region->first; node; node = node->next) {
    bool is_fusible = node->op == HLO_OP_constant
                          ? hlo_tiled_supports(node)
                          : !is_control(node) && hlo_tiled_supports(node);
    f->placings[node->index] = (placing_t){.position = position++,
                                           .group = NONE,
                                           .is_fusible = is_fusible,
                                           .is_cheap = is_fusible && is_cheap_op(node),
                                           .is_product = hlo_matmul_supports(node)};
    if (!is_fusible) continue;
    f->placings[node->index].spread = spread_of(f, node);
    f->placings[node->index].is_cheap |= f->placings[node->index].spread > 0;
  }
}

static bool is_view(const hlo_node_t* node) {
  return node->op == HLO_OP_reshape || node->op == HLO_OP_optimization_barrier ||
         node->op == HLO_OP_hlo_bitcast;
}

// The group's fusion; NULL when loops cannot compute it.
static hlo_status_t make_fusion(fuser_t* f, const group_t* group, hlo_fusion_t** out) {
  hlo_fusion_t* fusion;
  HLO_TRY(build(f, group, NULL, f->arena, &fusion));
  *out = NULL;
  if (!fusion) return hlo_ok();
  bool has;
  hlo_arena_mark_t mark = hlo_arena_mark(&f->trial);
  hlo_status_t status = has_loops(f, fusion, true, &has);
  hlo_arena_reset(&f->trial, mark);
  if (hlo_status_is_ok(status) && has) *out = fusion;
  return status;
}

// A view of something that is in memory.
static bool is_lone_view(const fuser_t* f, const group_t* group) {
  if (group->member_count != 1 || !is_view(group->members[0])) return false;
  const hlo_node_t* def = hlo_node_operand(group->members[0], 0)->def;
  if (!def || def->parent != group->members[0]->parent) return true;
  return !place_of(f, def)->is_fusible || place_of(f, def)->group != NONE;
}

// A node that becomes a call reads its operands from memory: cheap ones that were to be computed
// where they are used get groups of their own.
static hlo_status_t make_site(fuser_t* f, const hlo_node_t* node) {
  placing_t* place = place_of(f, node);
  place->is_fusible = place->is_cheap = place->is_everywhere = false;
  place->group = NONE;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_node_t* def = hlo_node_operand(node, i)->def;
    if (!def || def->parent != node->parent || def->op == HLO_OP_constant) continue;
    if (place_of(f, def)->is_fusible && place_of(f, def)->group == NONE) {
      HLO_TRY(start_group(f, def));
    }
  }
  return hlo_ok();
}

// The fusions of all groups. A group that loops cannot compute falls apart into its members; a
// member that they cannot compute by itself is called: no longer whole. Groups made on the way come
// last in the list.
static hlo_status_t make_fusions(fuser_t* f, bool* is_whole) {
  for (uint32_t g = 0; g < f->group_count; ++g) {
    if (f->groups[g].merged != NONE || is_lone_view(f, &f->groups[g])) continue;
    HLO_TRY(make_fusion(f, &f->groups[g], &f->groups[g].fusion));
    if (f->groups[g].fusion) {
      f->groups[g].fusion->index = f->schedule->fusion_count++;
      continue;
    }
    group_t whole = f->groups[g];
    f->groups[g].member_count = 0;
    *is_whole = false;
    if (whole.member_count == 1) HLO_TRY(make_site(f, whole.members[0]));
    for (uint32_t i = 0; whole.member_count > 1 && i < whole.member_count; ++i) {
      HLO_TRY(start_group(f, whole.members[i]));
    }
  }
  return hlo_ok();
}

// ---- siblings

/// Two groups of the same number of elements that read the same array, one of which runs earlier.
typedef struct siblings {
  int32_t early, late;
  const hlo_value_t* shared;
} siblings_t;

static bool is_either(const fuser_t* f, const siblings_t* s, int32_t group) {
  while (f->groups[group].merged != NONE) group = f->groups[group].merged;
  return group == s->early || group == s->late;
}

static void note_reader(const fuser_t* f, const siblings_t* s, int32_t group, uint32_t* first) {
  if (!is_either(f, s, group) && f->groups[group].last_position < *first) {
    *first = f->groups[group].last_position;
  }
}

// The earliest step but the two that reads what `node` makes, through what is computed
// where it is used.
static uint32_t first_reader(const fuser_t* f, const siblings_t* s, const hlo_node_t* node,
                             uint32_t depth) {
  enum { MAX_DEPTH = 6 };  // beyond it a reader may be anywhere
  uint32_t first = depth > MAX_DEPTH ? 0 : UINT32_MAX;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use && first > 0; use = use->next) {
      const hlo_node_t* user = enclosing(node->parent, use->user);
      if (!user) return 0;
      const placing_t* place = place_of(f, user);
      bool is_outside = user != use->user || (place->group == NONE && !place->is_everywhere);
      if (is_outside && place->position < first) first = place->position;
      if (place->group != NONE) note_reader(f, s, place->group, &first);
      for (uint32_t i = 0; i < place->again_count; ++i) note_reader(f, s, place->again[i], &first);
      if (is_outside || !place->is_everywhere || place->again_count) continue;
      uint32_t later = first_reader(f, s, user, depth + 1);
      if (later < first) first = later;
    }
  }
  return first;
}

// Whether not loading a value again saves more than nothing: it is as large as the loops, and
// far enough away.
static bool is_large(const fuser_t* f, const group_t* group, const hlo_value_t* value) {
  const hlo_tile_target_t* tile = &f->target->tile;
  double bytes = (double)hlo_type_size_bytes(value->type);
  return hlo_type_element_count(value->type) >= group->element_count &&
         bytes / hlo_tile_home(tile, bytes)->bytes_per_ns >= tile->pass_ns;
}

static bool reads_value(const fuser_t* f, int32_t group, const hlo_value_t* value) {
  const hlo_region_t* region = f->groups[group].members[0]->parent;  // whose groups these are
  uint32_t seen = 0;
  for (const hlo_use_t* use = value->uses; use && ++seen <= MAX_AGAIN_USES; use = use->next) {
    if (use->user->parent == region && place_of(f, use->user)->group == group) return true;
  }
  return false;
}

// What the node reads there from memory that some step has to keep for it.
static bool is_kept_for(const fuser_t* f, const hlo_node_t* node, const hlo_value_t* value) {
  if (!value->def || value->def->parent != node->parent) return false;
  const placing_t* place = place_of(f, value->def);
  return value->def->op != HLO_OP_constant && !place->is_everywhere &&
         place->group != place_of(f, node)->group;
}

// Whether the earlier group may as well run where the later one does: nobody waits for it before,
// and it keeps nothing large alive that would not be.
static bool may_wait(const fuser_t* f, const siblings_t* s) {
  const group_t *early = &f->groups[s->early], *late = &f->groups[s->late];
  for (uint32_t i = 0; i < early->member_count; ++i) {
    const hlo_node_t* node = early->members[i];
    if (first_reader(f, s, node, 0) <= late->last_position) return false;
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      const hlo_value_t* value = hlo_node_operand(node, k);
      bool is_held = is_kept_for(f, node, value) && is_large(f, early, value);
      if (is_held && !reads_value(f, s->late, value)) return false;
    }
  }
  return true;
}

static bool may_merge(const fuser_t* f, const siblings_t* s) {
  enum { MAX_STREAMS = 16 };  // arrays written side by side
  const group_t *a = &f->groups[s->early], *b = &f->groups[s->late];
  return a->element_count == b->element_count && !a->has_product && !b->has_product &&
         !a->has_update && !b->has_update &&
         a->member_count + b->member_count <= MAX_TRIAL_MEMBERS &&
         a->output_count + b->output_count <= MAX_STREAMS && is_large(f, a, s->shared) &&
         may_wait(f, s);
}

// Whether the kernel visits all that both read in one order.
static hlo_status_t visits_once(fuser_t* f, const siblings_t* s, hlo_fusion_t* fusion,
                                bool* out_does) {
  hlo_kernel_t* kernel;
  HLO_TRY(hlo_kernel_create(fusion, f->target, f->memo, &f->trial, &kernel));
  *out_does = true;
  for (uint32_t i = 0; i < fusion->input_count && *out_does; ++i) {
    const hlo_value_t* value = fusion->inputs[i];
    if (!is_large(f, &f->groups[s->early], value) || !reads_value(f, s->early, value) ||
        !reads_value(f, s->late, value)) {
      continue;
    }
    HLO_TRY(hlo_kernel_visits_once(kernel, i, out_does));
  }
  return hlo_ok();
}

// Whether one kernel can do both without reading more than it saves.
static hlo_status_t try_merge(fuser_t* f, const siblings_t* s, const group_t* both,
                              bool* out_fits) {
  *out_fits = false;
  hlo_fusion_t* fusion;
  HLO_TRY(build(f, both, NULL, &f->trial, &fusion));
  if (!fusion) return hlo_ok();
  hlo_fusion_key_t key;
  HLO_TRY(hlo_fusion_key(fusion, f->numbers, &f->trial, &key));
  hlo_fusion_known_t* known = hlo_fusion_table_find(&f->known, &key);
  if (!known || (!known->is_refused && !known->is_merged && !known->is_not_merged)) {
    bool has;
    HLO_TRY(has_loops(f, fusion, false, &has));
    known = hlo_fusion_table_find(&f->known, &key);
    if (has) HLO_TRY(visits_once(f, s, fusion, &known->is_merged));
    known->is_not_merged = !known->is_merged;
  }
  *out_fits = known->is_merged;
  return hlo_ok();
}

static hlo_status_t merge(fuser_t* f, const siblings_t* s, bool* out_merged) {
  *out_merged = false;
  if (!may_merge(f, s)) return hlo_ok();
  group_t *early = &f->groups[s->early], *late = &f->groups[s->late];
  group_t both = *late;
  both.member_count = both.member_capacity = late->member_count + early->member_count;
  both.members = hlo_arena_array(&f->scratch, both.member_count, sizeof *both.members);
  if (!both.members) return hlo_arena_status(&f->scratch);
  memcpy(both.members, late->members, late->member_count * sizeof *both.members);
  memcpy(both.members + late->member_count, early->members,
         early->member_count * sizeof *both.members);
  both.output_count += early->output_count;
  both.has_reduction |= early->has_reduction;
  both.has_sides |= early->has_sides;
  hlo_arena_mark_t mark = hlo_arena_mark(&f->trial);
  hlo_status_t status = try_merge(f, s, &both, out_merged);
  hlo_arena_reset(&f->trial, mark);
  if (!hlo_status_is_ok(status) || !*out_merged) return status;
  for (uint32_t i = 0; i < early->member_count; ++i) {
    place_of(f, early->members[i])->group = s->late;
  }
  *late = both;
  *early = (group_t){.merged = s->late, .last_position = late->last_position};
  return hlo_ok();
}

// The groups that run before `late` and read an array that it reads.
static hlo_status_t merge_readers(fuser_t* f, int32_t late, const hlo_value_t* shared) {
  const hlo_region_t* region = f->groups[late].members[0]->parent;
  uint32_t seen = 0;
  for (const hlo_use_t* use = shared->uses; use && ++seen <= MAX_AGAIN_USES; use = use->next) {
    if (use->user->parent != region) continue;
    siblings_t s = {.early = place_of(f, use->user)->group, .late = late, .shared = shared};
    if (s.early == NONE || s.early == late ||
        f->groups[s.early].last_position >= f->groups[late].last_position) {
      continue;
    }
    bool merged;
    HLO_TRY(merge(f, &s, &merged));
  }
  return hlo_ok();
}

static hlo_status_t merge_siblings(fuser_t* f) {
  for (uint32_t g = 0; g < f->group_count; ++g) {
    for (uint32_t i = 0; i < f->groups[g].member_count; ++i) {  // those taken over, too
      const hlo_node_t* node = f->groups[g].members[i];
      for (uint32_t k = 0; k < node->operand_count && !f->groups[g].has_product; ++k) {
        const hlo_value_t* value = hlo_node_operand(node, k);
        bool is_inner = value->def && value->def->parent == node->parent &&
                        place_of(f, value->def)->group == (int32_t)g;
        if (!is_inner && is_large(f, &f->groups[g], value)) {
          HLO_TRY(merge_readers(f, (int32_t)g, value));
        }
      }
    }
  }
  return hlo_ok();
}

static hlo_status_t make_steps(fuser_t* f, hlo_sequence_t* sequence) {
  const hlo_region_t* region = sequence->region;
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) ++count;
  sequence->steps = hlo_arena_array(f->arena, count ? count : 1, sizeof *sequence->steps);
  if (!sequence->steps) return hlo_arena_status(f->arena);
  for (hlo_node_t* node = region->first; node; node = node->next) {
    const placing_t* place = place_of(f, node);
    hlo_step_t* step = &sequence->steps[sequence->step_count];
    if (node->op == HLO_OP_constant || (hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR)) {
      continue;
    }
    if (place->group != NONE) {
      const group_t* group = &f->groups[place->group];
      if (group->members[0] != node) continue;
      *step = (hlo_step_t){group->fusion ? HLO_STEP_FUSION : HLO_STEP_VIEW, node, group->fusion};
    } else if (place->is_fusible) {
      continue;  // computed where it is used, or dead
    } else {
      *step = (hlo_step_t){is_control(node) ? HLO_STEP_CONTROL
                           : is_view(node)  ? HLO_STEP_VIEW
                                            : HLO_STEP_SITE,
                           node, NULL};
    }
    ++sequence->step_count;
  }
  return hlo_ok();
}

// ---- order of steps

/// Steps being put in an order in which everything is made before it is read.
typedef struct ordering {
  fuser_t* f;
  const hlo_step_t* steps;  // as their last nodes are in the program
  const hlo_region_t* region;
  uint32_t* step_of;        // by node->index: step + 1 that makes its results; 0: none does
  bool* is_done;
  uint32_t* stack;
} ordering_t;

static hlo_status_t list_read(fuser_t* f, const hlo_step_t* step, uint32_t* out_count,
                              const hlo_value_t* const** out_values) {
  if (step->fusion) {
    *out_count = step->fusion->input_count;
    *out_values = (const hlo_value_t* const*)step->fusion->inputs;
    return hlo_ok();
  }
  const hlo_node_t* node = step->node;
  uint32_t captured = 0;
  const hlo_value_t** captures = NULL;
  if (node->region_count) HLO_TRY(hlo_node_captures(node, &f->scratch, &captured, &captures));
  const hlo_value_t** values =
      hlo_arena_array(&f->scratch, (size_t)node->operand_count + captured, sizeof(*values));
  HLO_TRY(hlo_arena_status(&f->scratch));
  for (uint32_t i = 0; i < node->operand_count; ++i) values[i] = hlo_node_operand(node, i);
  for (uint32_t i = 0; i < captured; ++i) values[node->operand_count + i] = captures[i];
  *out_count = node->operand_count + captured;
  *out_values = values;
  return hlo_ok();
}

// A step that has to come before; NO_STEP: none is missing.
static const uint32_t NO_STEP = UINT32_MAX;
static hlo_status_t find_missing(ordering_t* o, uint32_t step, uint32_t* out_missing) {
  uint32_t count = 0;
  const hlo_value_t* const* values = NULL;
  *out_missing = NO_STEP;
  HLO_TRY(list_read(o->f, &o->steps[step], &count, &values));
  for (uint32_t i = 0; i < count && *out_missing == NO_STEP; ++i) {
    const hlo_node_t* def = enclosing(o->region, values[i]->def);
    uint32_t maker = def ? o->step_of[def->index] : 0;
    if (maker && maker - 1 != step && !o->is_done[maker - 1]) *out_missing = maker - 1;
  }
  return hlo_ok();
}

// What is computed in the first of its fusions is read by later ones. Later they are no more where
// one of them fell apart: its pieces then wait for what they read.
static hlo_status_t order_steps(fuser_t* f, hlo_sequence_t* sequence) {
  uint32_t count = sequence->step_count, done = 0;
  ordering_t o = {.f = f, .steps = sequence->steps, .region = sequence->region};
  hlo_step_t* ordered = hlo_arena_array(f->arena, count, sizeof *ordered);
  o.step_of = hlo_arena_array(&f->scratch, f->func->module->node_count + 1, sizeof *o.step_of);
  o.is_done = hlo_arena_array(&f->scratch, count, sizeof *o.is_done);
  o.stack = hlo_arena_array(&f->scratch, (size_t)count + 1, sizeof *o.stack);
  HLO_TRY(hlo_arena_status(f->arena));
  HLO_TRY(hlo_arena_status(&f->scratch));
  for (uint32_t i = 0; i < count; ++i) {
    const placing_t* place = place_of(f, o.steps[i].node);
    const group_t* group = place->group == NONE ? NULL : &f->groups[place->group];
    o.step_of[o.steps[i].node->index] = i + 1;
    for (uint32_t m = 0; group && m < group->member_count; ++m) {
      o.step_of[group->members[m]->index] = i + 1;
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t depth = 0;
    if (!o.is_done[i]) o.stack[depth++] = i;
    while (depth) {
      uint32_t missing;
      HLO_TRY(find_missing(&o, o.stack[depth - 1], &missing));
      if (missing != NO_STEP && depth <= count) {
        o.stack[depth++] = missing;
      } else if (missing != NO_STEP) {
        return hlo_status_create(HLO_STATUS_INTERNAL, "fusions that wait for each other");
      } else {
        o.is_done[o.stack[--depth]] = true;
        ordered[done++] = o.steps[o.stack[depth]];
      }
    }
  }
  sequence->steps = ordered;
  return hlo_ok();
}

static hlo_status_t add_region(fuser_t* f, const hlo_region_t* region) {
  hlo_sequence_t* room =
      hlo_arena_room(f->arena, f->schedule->sequences, f->schedule->sequence_count,
                     &f->sequence_capacity, sizeof *room);
  if (!room) return hlo_arena_status(f->arena);
  f->schedule->sequences = room;
  uint32_t at = f->schedule->sequence_count++;
  f->schedule->sequences[at] = (hlo_sequence_t){.region = region};
  f->groups = NULL;
  f->group_count = f->group_capacity = 0;
  number_nodes(f, region);
  for (hlo_node_t* node = region->last; node; node = node->prev) HLO_TRY(place_node(f, node));
  bool is_whole = true;
  HLO_TRY(merge_siblings(f));
  HLO_TRY(make_fusions(f, &is_whole));
  HLO_TRY(make_steps(f, &f->schedule->sequences[at]));
  if (!is_whole) HLO_TRY(order_steps(f, &f->schedule->sequences[at]));
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (!is_control(node)) continue;
    for (uint32_t i = 0; i < node->region_count; ++i) HLO_TRY(add_region(f, node->regions[i]));
  }
  return hlo_ok();
}

hlo_status_t hlo_schedule_create(const hlo_func_t* func, const hlo_target_t* target,
                                 hlo_arena_t* arena, hlo_schedule_t** out_schedule) {
  fuser_t f = {.func = func, .target = target, .arena = arena};
  hlo_arena_init(&f.scratch, 0);
  hlo_arena_init(&f.trial, 0);
  f.schedule = hlo_arena_alloc_zeroed(arena, sizeof *f.schedule);
  f.placings = hlo_arena_array(&f.scratch, func->module->node_count + 1, sizeof *f.placings);
  f.memo = hlo_tile_memo_create(&f.scratch);
  (void)hlo_arena_alloc(&f.trial, 1);  // a first block that trials leave behind
  f.numbers = hlo_arena_array(&f.scratch, func->module->node_count + 1, sizeof *f.numbers);
  f.listed = hlo_arena_array(&f.scratch, func->module->node_count + 1, sizeof *f.listed);
  hlo_status_t status = hlo_arena_status(arena);
  if (hlo_status_is_ok(status)) status = hlo_arena_status(&f.scratch);
  if (hlo_status_is_ok(status)) status = add_region(&f, func->body);
  if (hlo_status_is_ok(status)) status = hlo_schedule_finish(f.schedule, func->module, arena);
  hlo_arena_deinit(&f.scratch);
  hlo_arena_deinit(&f.trial);
  if (hlo_status_is_ok(status)) *out_schedule = f.schedule;
  return status;
}

hlo_status_t hlo_schedule_finish(hlo_schedule_t* schedule, const hlo_module_t* module,
                                 hlo_arena_t* arena) {
  schedule->sequence_of =
      hlo_arena_array(arena, (size_t)module->node_count + 1, sizeof *schedule->sequence_of);
  for (uint32_t i = 0; schedule->sequence_of && i < schedule->sequence_count; ++i) {
    const hlo_node_t* end = hlo_region_terminator(schedule->sequences[i].region);
    if (end) schedule->sequence_of[end->index] = i + 1;
  }
  return hlo_arena_status(arena);
}

const hlo_sequence_t* hlo_schedule_find(const hlo_schedule_t* schedule,
                                        const hlo_region_t* region) {
  const hlo_node_t* end = hlo_region_terminator(region);
  uint32_t number = end ? schedule->sequence_of[end->index] : 0;
  return number ? &schedule->sequences[number - 1] : NULL;
}
