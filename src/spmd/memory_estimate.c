// SPDX-License-Identifier: Apache-2.0
// Estimates memory (see memory_estimate.h). Two passes over each region: backwards, to find where
// every value is read for the last time, where an op inside of a fusion reads at the op that ends
// the fusion; forwards, to add up the values that are alive.
#include "spmd/memory_estimate.h"

#include "ir/entry.h"
#include "ir/work.h"

// The memory of a value.
typedef struct storage {
  double bytes;          // 0: another value has taken it over
  uint32_t end;          // the op that reads it last
  struct storage* next;  // that ends at the same op
} storage_t;

typedef struct estimator {
  const hlo_module_t* module;
  hlo_arena_t arena;
  uint32_t* positions;        // by node->index: in its region
  uint32_t* reads;            // by node->index: the position at which it reads its operands
  storage_t** storages;       // by value->index; NULL: none of its own
  const hlo_value_t** roots;  // by value->index: whose bytes a view shows; NULL: its own
  bool* is_home;   // by value->index: computed where the results of its region are wanted
  uint32_t depth;  // of calls
} estimator_t;

static hlo_status_t estimate_region(estimator_t* e, const hlo_region_t* region, double* out_peak);

// Returns true if loops can compute an op together with the op that uses it.
static bool is_fusible(const hlo_node_t* node) {
  switch (hlo_op_info(node->op)->cost) {
    case HLO_COST_INDEX:
    case HLO_COST_MOVE:
    case HLO_COST_UPDATE:
    case HLO_COST_LOOKUP:
    case HLO_COST_SIMPLE:
    case HLO_COST_SEVERAL:
    case HLO_COST_DIVIDE:
    case HLO_COST_ROOT:
    case HLO_COST_FUNCTION:
    case HLO_COST_SPECIAL:
    case HLO_COST_POWER: return true;
    default: return false;
  }
}

// Returns true for a reduction of innermost dimensions, whose result loops over rows can use.
static bool reduces_rows(const hlo_node_t* node) {
  uint32_t count;
  if (node->op != HLO_OP_reduce) return false;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[i] + count < type->rank) return false;
  }
  return count > 0 && count < type->rank;
}

// Returns true if loops can compute the operands of an op.
static bool takes_fused(const hlo_node_t* node) {
  return is_fusible(node) || hlo_op_info(node->op)->cost == HLO_COST_REDUCE;
}

static bool is_terminator(const hlo_node_t* node) {
  return hlo_op_has(node->op, HLO_TRAIT_TERMINATOR);
}

static bool is_view(const hlo_node_t* node) {
  return hlo_op_has(node->op, HLO_TRAIT_VIEW) || node->op == HLO_OP_optimization_barrier;
}

// Returns true if every use reads an op's elements where it computes its own.
static bool is_recomputed(const hlo_node_t* node) {
  return hlo_op_info(node->op)->cost == HLO_COST_INDEX && !is_view(node);
}

static const hlo_value_t* root_of(const estimator_t* e, const hlo_value_t* value) {
  const hlo_value_t* root = e->roots[value->index];
  return root ? root : value;
}

// ---- backwards: where values are read

typedef struct users {
  uint32_t last;     // position of the last read
  bool is_one_read;  // all reads are there
  bool are_fused;    // loops that compute the users can compute the value
  bool is_returned;
} users_t;

static users_t find_users(const estimator_t* e, const hlo_region_t* region,
                          const hlo_value_t* value, uint32_t at) {
  users_t users = {.last = at, .is_one_read = value->uses != NULL, .are_fused = true};
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    const hlo_node_t* user = hlo_region_ancestor(region, use->user);
    if (!user) continue;
    const uint32_t read = e->reads[user->index];
    users.is_one_read &= users.last == at || users.last == read;
    if (read > users.last) users.last = read;
    users.are_fused &= takes_fused(user) && user == use->user;
    users.is_returned |= is_terminator(user);
  }
  return users;
}

// Returns true if an op is computed inside of the op that uses it.
static bool is_inside(const hlo_node_t* node, const users_t* users) {
  if (node->result_count != 1 || users->is_returned) return false;
  if (is_recomputed(node)) return true;
  return (is_fusible(node) || reduces_rows(node)) && users->is_one_read && users->are_fused;
}

static void find_reads(estimator_t* e, const hlo_region_t* region) {
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    e->positions[node->index] = count++;
  }
  for (const hlo_node_t* node = region->last; node; node = node->prev) {
    const uint32_t at = e->positions[node->index];
    e->reads[node->index] = at;
    if (node->result_count != 1) continue;
    const users_t users = find_users(e, region, &node->results[0], at);
    if (is_view(node) || is_inside(node, &users)) e->reads[node->index] = users.last;
  }
}

// Returns true if an op can write its result over an operand that nothing reads afterwards.
static bool writes_in_place(const hlo_node_t* node) {
  return is_fusible(node) || node->op == HLO_OP_while || hlo_op_has(node->op, HLO_TRAIT_UPDATES) ||
         hlo_op_has(node->op, HLO_TRAIT_COLLECTIVE);
}

static uint32_t last_read(const estimator_t* e, const hlo_region_t* region,
                          const hlo_value_t* value) {
  return find_users(e, region, value, e->positions[value->def->index]).last;
}

// Marks the values that are computed where the caller wants the results: those that are returned,
// and what is written over in place on the way to them.
static void find_homes(estimator_t* e, const hlo_region_t* region) {
  for (const hlo_node_t* node = region->last; node; node = node->prev) {
    const uint32_t at = e->positions[node->index];
    const bool is_end = is_terminator(node);
    bool is_home =
        is_end || (is_view(node) && node->result_count == 1 && e->is_home[node->results[0].index]);
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      const hlo_value_t* operand = hlo_node_operand(node, i);
      if (!operand->def || operand->region != region) continue;
      bool takes_over = false;
      for (uint32_t r = 0; r < node->result_count && writes_in_place(node) && !is_home; ++r) {
        takes_over |=
            e->is_home[node->results[r].index] && (node->op != HLO_OP_while || r == i) &&
            hlo_type_work_bytes(node->results[r].type) == hlo_type_work_bytes(operand->type) &&
            last_read(e, region, operand) == at;
      }
      if (is_home || takes_over) e->is_home[operand->index] = true;
      if (takes_over) break;
    }
  }
}

// ---- forwards: what is alive

typedef struct walk {
  storage_t** ends;  // by position: storages that end there
  double alive, peak;
} walk_t;

static void end_at(walk_t* walk, storage_t* storage, uint32_t end) {
  storage->end = end;
  storage->next = walk->ends[end];
  walk->ends[end] = storage;
}

// A search for memory that a result can be written over.
typedef struct reuse {
  uint32_t at;  // the position of its op
  double bytes;
  uint32_t steps;  // that are left
} reuse_t;

static storage_t* find_reusable(const estimator_t* e, const hlo_value_t* operand, reuse_t* reuse) {
  const hlo_value_t* root = root_of(e, operand);
  storage_t* storage = e->storages[root->index];
  if (storage || !root->def || !reuse->steps) {
    const bool fits = storage && storage->end == reuse->at && storage->bytes == reuse->bytes;
    return fits ? storage : NULL;
  }
  --reuse->steps;
  // Computed where the result is.
  const hlo_node_t* node = root->def;
  for (uint32_t i = 0; i < node->operand_count && e->reads[node->index] == reuse->at; ++i) {
    storage = find_reusable(e, hlo_node_operand(node, i), reuse);
    if (storage) return storage;
  }
  return NULL;
}

// Returns the memory of an operand that ends at an op and has the size of a result; NULL: none.
static storage_t* find_operand(const estimator_t* e, const hlo_node_t* node, uint32_t result,
                               double bytes) {
  enum { STEPS_MAX = 64 };
  if (!writes_in_place(node)) return NULL;
  const bool is_loop = node->op == HLO_OP_while;
  reuse_t reuse = {e->positions[node->index], bytes, STEPS_MAX};
  for (uint32_t i = is_loop ? result : 0; i < node->operand_count; ++i) {
    storage_t* storage = find_reusable(e, hlo_node_operand(node, i), &reuse);
    if (storage || is_loop) return storage;
  }
  return NULL;
}

// Returns true if a loop carries a value that it never changes.
static bool is_invariant(const hlo_node_t* node, uint32_t result) {
  if (node->op != HLO_OP_while || node->region_count != 2) return false;
  const hlo_node_t* end = hlo_region_terminator(node->regions[1]);
  return end && result < end->operand_count &&
         hlo_node_operand(end, result) == node->regions[1]->args[result];
}

// Gives a result its memory.
static hlo_status_t store(estimator_t* e, const hlo_region_t* region, const hlo_node_t* node,
                          uint32_t result, walk_t* walk) {
  const hlo_value_t* value = &node->results[result];
  const double bytes = hlo_type_work_bytes(value->type);
  const uint32_t end = last_read(e, region, value);
  if (is_invariant(node, result)) {
    e->roots[value->index] = root_of(e, hlo_node_operand(node, result));
    return hlo_ok();
  }
  if (bytes == 0 || e->is_home[value->index]) return hlo_ok();
  storage_t* reused = find_operand(e, node, result, bytes);
  storage_t* storage = hlo_arena_alloc_zeroed(&e->arena, sizeof *storage);
  if (!storage) return hlo_arena_status(&e->arena);
  storage->bytes = bytes;
  if (reused) {
    reused->bytes = 0;
  } else {
    walk->alive += bytes;
  }
  end_at(walk, storage, end);
  e->storages[value->index] = storage;
  return hlo_ok();
}

static bool has_storage(const estimator_t* e, const hlo_region_t* region, const hlo_node_t* node) {
  if (is_view(node) || hlo_op_has(node->op, HLO_TRAIT_CONSTANT)) return false;
  if (node->result_count != 1) return true;
  const users_t users = find_users(e, region, &node->results[0], e->positions[node->index]);
  return !is_inside(node, &users);
}

// Returns what the regions of an op need, of which one runs at a time.
static hlo_status_t estimate_inside(estimator_t* e, const hlo_node_t* node, double* out_peak) {
  enum { DEPTH_MAX = 1000 };
  *out_peak = 0;
  if (node->op == HLO_OP_call) {
    const char* callee = hlo_node_attr_text(node, HLO_ATTR_callee);
    const hlo_func_t* func = callee ? hlo_module_find_func(e->module, callee) : NULL;
    if (!func || !func->body || e->depth == DEPTH_MAX) return hlo_ok();
    ++e->depth;
    hlo_status_t status = estimate_region(e, func->body, out_peak);
    --e->depth;
    return status;
  }
  if (!hlo_op_has(node->op, HLO_TRAIT_CONTROL)) return hlo_ok();
  for (uint32_t i = 0; i < node->region_count; ++i) {
    double peak;
    HLO_TRY(estimate_region(e, node->regions[i], &peak));
    if (peak > *out_peak) *out_peak = peak;
  }
  return hlo_ok();
}

// The memory of arguments is that of the caller, who may let an iteration write over it.
static hlo_status_t store_arguments(estimator_t* e, const hlo_region_t* region, walk_t* walk) {
  if (!region->parent || region->parent->op != HLO_OP_while) return hlo_ok();
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    const hlo_value_t* value = region->args[i];
    if (is_invariant(region->parent, i)) continue;
    const users_t users = find_users(e, region, value, 0);
    storage_t* storage = hlo_arena_alloc_zeroed(&e->arena, sizeof *storage);
    if (!storage) return hlo_arena_status(&e->arena);
    storage->bytes = hlo_type_work_bytes(value->type);
    e->storages[value->index] = storage;
    walk->alive += storage->bytes;
    end_at(walk, storage, users.last);
  }
  walk->peak = walk->alive;
  return hlo_ok();
}

static hlo_status_t estimate_region(estimator_t* e, const hlo_region_t* region, double* out_peak) {
  const bool is_loop = region->parent && region->parent->op == HLO_OP_while;
  walk_t walk = {0};
  find_reads(e, region);
  if (!is_loop) find_homes(e, region);
  const uint32_t count = region->last ? e->positions[region->last->index] + 1 : 1;
  walk.ends = hlo_arena_array(&e->arena, count, sizeof *walk.ends);
  if (!walk.ends) return hlo_arena_status(&e->arena);
  HLO_TRY(store_arguments(e, region, &walk));
  const double given = walk.alive;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    double inside;
    if (is_view(node) && node->operand_count && node->result_count == 1) {
      e->roots[node->results[0].index] = root_of(e, hlo_node_operand(node, 0));
    }
    for (uint32_t i = 0; i < node->result_count && has_storage(e, region, node); ++i) {
      HLO_TRY(store(e, region, node, i, &walk));
    }
    HLO_TRY(estimate_inside(e, node, &inside));
    if (walk.alive + inside > walk.peak) walk.peak = walk.alive + inside;
    const uint32_t at = e->positions[node->index];
    for (const storage_t* s = walk.ends[at]; s; s = s->next) walk.alive -= s->bytes;
  }
  *out_peak = walk.peak - given;
  return hlo_ok();
}

// ---- the entry

static hlo_status_t estimate_entry(estimator_t* e, const hlo_func_t* entry,
                                   hlo_memory_estimate_t* out) {
  const uint32_t inputs = entry->type->input_count;
  uint32_t* results = hlo_arena_array(&e->arena, inputs + 1, sizeof *results);
  uint32_t* arguments =
      hlo_arena_array(&e->arena, entry->type->element_count - inputs + 1, sizeof *arguments);
  HLO_TRY(hlo_arena_status(&e->arena));
  hlo_func_pair_donations(entry, results, arguments);
  for (uint32_t i = 0; i < entry->type->element_count; ++i) {
    const double bytes = hlo_type_work_bytes(entry->type->elements[i]);
    *(i < inputs ? &out->argument_bytes : &out->result_bytes) += bytes;
    if (i < inputs && results[i] != HLO_DONATED_NOWHERE) out->alias_bytes += bytes;
  }
  return estimate_region(e, entry->body, &out->temporary_bytes);
}

// Makes the tables of a module in e->arena.
static hlo_status_t make_tables(estimator_t* e) {
  const size_t nodes = e->module->node_count + 1, values = e->module->value_count + 1;
  e->positions = hlo_arena_array(&e->arena, nodes, sizeof *e->positions);
  e->reads = hlo_arena_array(&e->arena, nodes, sizeof *e->reads);
  e->storages = hlo_arena_array(&e->arena, values, sizeof(storage_t*));
  e->is_home = hlo_arena_array(&e->arena, values, sizeof *e->is_home);
  e->roots = hlo_arena_array(&e->arena, values, sizeof(hlo_value_t*));
  return hlo_arena_status(&e->arena);
}

hlo_status_t hlo_memory_estimate(const hlo_module_t* module, hlo_memory_estimate_t* out_estimate) {
  estimator_t e = {.module = module};
  const hlo_func_t* entry = hlo_module_entry(module);
  hlo_memory_estimate_t estimate = {0};
  hlo_arena_init(&e.arena, 0);
  hlo_status_t status = make_tables(&e);
  if (hlo_status_is_ok(status) && entry) status = estimate_entry(&e, entry, &estimate);
  hlo_arena_deinit(&e.arena);
  if (hlo_status_is_ok(status)) *out_estimate = estimate;
  return status;
}

// ---- what is computed together

static void mark_inside(estimator_t* e, const hlo_region_t* region, bool* inside) {
  find_reads(e, region);
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (node->result_count == 1 && !is_view(node)) {
      const users_t users = find_users(e, region, &node->results[0], e->positions[node->index]);
      inside[node->index] = is_inside(node, &users);
    }
    if (!hlo_op_has(node->op, HLO_TRAIT_CONTROL)) continue;
    for (uint32_t i = 0; i < node->region_count; ++i) mark_inside(e, node->regions[i], inside);
  }
}

hlo_status_t hlo_memory_find_inside(const hlo_module_t* module, hlo_arena_t* arena,
                                    const bool** out_inside) {
  estimator_t e = {.module = module};
  bool* inside = hlo_arena_array(arena, module->node_count + 1, sizeof *inside);
  if (!inside) return hlo_arena_status(arena);
  hlo_arena_init(&e.arena, 0);
  hlo_status_t status = make_tables(&e);
  for (const hlo_func_t* func = module->first_func; func && hlo_status_is_ok(status);
       func = func->next) {
    if (func->body) mark_inside(&e, func->body, inside);
  }
  hlo_arena_deinit(&e.arena);
  if (hlo_status_is_ok(status)) *out_inside = inside;
  return status;
}
