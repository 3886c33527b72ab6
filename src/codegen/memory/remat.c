// SPDX-License-Identifier: Apache-2.0
// Rematerialization where memory is limited (see remat.h). Memory in use follows from the steps of
// a plan: a value is live from its definition to its last reader. Only values of fusions are
// recomputed, together with as many of their operands as no longer have their results.
#include "codegen/memory/remat.h"

#include <string.h>

#include "base/tuning.h"
#include "codegen/index/contraction.h"
#include "codegen/math/elementwise.h"
#include "ir/clone.h"
#include "ir/work.h"

enum {
  MAX_NODES = 48,     // recomputed ops per value
  MAX_READERS = 256,  // operands that read copies instead
};
static const uint32_t NOWHERE = UINT32_MAX;

/// A value in memory, by index; views count as their base.
typedef struct live_range {
  uint32_t root;
  uint32_t begin, end;            // positions
  uint32_t before, after;         // the last reader before the peak, the first one after it
  bool is_stored, is_read_there;  // at the peak
  bool is_moved, is_needed;       // in this step: recomputed; read by recomputed ops
} live_range_t;

typedef struct change {
  hlo_node_t* user;
  uint32_t operand;
  hlo_value_t *from, *to;
} change_t;

/// A value that may be recomputed.
typedef struct candidate {
  hlo_value_t* value;
  double freed_bytes, cost_ns;
  uint32_t node_count, moved_count, change_count;
  hlo_node_t* nodes[MAX_NODES];   // its ops, operands first,
  hlo_value_t* moved[MAX_NODES];  // then shared ops that only move it,
  change_t changes[MAX_READERS];  // and its readers after the peak
} candidate_t;

struct hlo_remat {
  hlo_module_t* module;
  const hlo_func_t* func;
  const hlo_target_t* target;
  hlo_arena_t* arena;
  const hlo_plan_t* plan;
  uint32_t tried_count;  // of the flags
  uint32_t node_count;   // when the step began: larger indices were made in it
  bool* is_tried;        // by index of the value
  // Of this step, by index of the value or node:
  live_range_t* live_ranges;
  uint32_t* position_of;  // of the single step that a node of the body is in; NOWHERE: several, or
                          // none
  uint32_t* users;        // fusions that contain a node
  uint32_t* order;        // of nodes in the body
  uint32_t* visits;
  uint32_t visit;
  uint32_t step_count, peak;
  candidate_t* candidate;
  // The result of the last step.
  uint32_t clone_count, change_count, clone_capacity, change_capacity;
  hlo_node_t** clones;
  change_t* changes;
};

static uint64_t bytes_of(const hlo_value_t* value) {
  return hlo_type_size_bytes(value->type);
}

static live_range_t* live_range_of(const hlo_remat_t* r, const hlo_value_t* value) {
  return &r->live_ranges[r->live_ranges[value->index].root];
}

// ---- live memory

static void begin_live_range(hlo_remat_t* r, const hlo_step_t* step, const hlo_value_t* value,
                             uint32_t position) {
  uint32_t root = value->index;
  if (step->kind == HLO_STEP_VIEW)
    root = r->live_ranges[hlo_node_operand(step->node, 0)->index].root;
  r->live_ranges[value->index].root = root;
  if (root != value->index) return;
  bool is_stored = hlo_plan_allocation(r->plan, value).kind == HLO_ALLOCATION_TEMPORARY;
  r->live_ranges[root] =
      (live_range_t){root, position, position, NOWHERE, NOWHERE, .is_stored = is_stored};
}

static void read_at(hlo_remat_t* r, const hlo_value_t* value, uint32_t position) {
  live_range_t* live_range = live_range_of(r, value);
  if (live_range->end < position) live_range->end = position;
}

static uint32_t output_count(const hlo_step_t* step) {
  return step->fusion ? step->fusion->output_count : step->node->result_count;
}

static const hlo_value_t* output(const hlo_step_t* step, uint32_t i) {
  return step->fusion ? step->fusion->outputs[i] : &step->node->results[i];
}

// Returns the most bytes that a sequence has in use at once, besides those from around it, and
// their position in the body.
static hlo_status_t find_peak(hlo_remat_t* r, const hlo_sequence_t* sequence, uint32_t depth,
                              double* out_bytes) {
  uint32_t count = sequence->step_count;
  double* changes = hlo_arena_array(r->arena, (size_t)count + 2, sizeof *changes);
  double* inside = hlo_arena_array(r->arena, (size_t)count + 1, sizeof *inside);
  HLO_TRY(hlo_arena_status(r->arena));
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    hlo_value_list_t read;
    for (uint32_t o = 0; o < output_count(step); ++o) begin_live_range(r, step, output(step, o), i);
    HLO_TRY(hlo_step_list_read(step, r->arena, &read));
    for (uint32_t k = 0; k < read.count; ++k) {
      // Values from around a region are counted there.
      if (step->kind != HLO_STEP_VIEW && live_range_of(r, read.values[k])->is_stored) {
        const hlo_node_t* def = read.values[k]->def;
        if (def && def->parent == sequence->region) read_at(r, read.values[k], i);
      }
    }
    for (uint32_t k = 0; step->kind == HLO_STEP_CONTROL && k < step->node->region_count; ++k) {
      double bytes = 0;
      const hlo_sequence_t* inner = hlo_schedule_find(r->plan->schedule, step->node->regions[k]);
      if (inner && depth < HLO_TUNING_REMAT_MAX_DEPTH)
        HLO_TRY(find_peak(r, inner, depth + 1, &bytes));
      if (bytes > inside[i]) inside[i] = bytes;
    }
  }
  const hlo_node_t* end = hlo_region_terminator(sequence->region);
  for (uint32_t k = 0; k < end->operand_count; ++k) read_at(r, hlo_node_operand(end, k), count);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t o = 0; o < output_count(&sequence->steps[i]); ++o) {
      const hlo_value_t* value = output(&sequence->steps[i], o);
      const live_range_t* live_range = &r->live_ranges[value->index];
      if (live_range->root != value->index || !live_range->is_stored) continue;
      changes[live_range->begin] += (double)bytes_of(value);
      changes[live_range->end + 1] -= (double)bytes_of(value);
    }
  }
  double used = 0;
  *out_bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    used += changes[i];
    if (used + inside[i] <= *out_bytes) continue;
    *out_bytes = used + inside[i];
    if (depth == 0) r->peak = i;
  }
  return hlo_ok();
}

// ---- readers around the peak

static void number_body(hlo_remat_t* r, const hlo_sequence_t* body) {
  uint32_t number = 0;
  for (const hlo_node_t* node = body->region->first; node; node = node->next) {
    r->order[node->index] = number++;
    r->position_of[node->index] = NOWHERE;
  }
  for (uint32_t i = 0; i < body->step_count; ++i) {
    const hlo_step_t* step = &body->steps[i];
    if (!step->fusion) {
      if (step->kind != HLO_STEP_VIEW) r->position_of[step->node->index] = i;
      continue;
    }
    for (uint32_t k = 0; k < step->fusion->node_count; ++k) {
      uint32_t index = step->fusion->nodes[k]->index;
      r->position_of[index] = r->users[index]++ ? NOWHERE : i;
    }
  }
}

static hlo_status_t note_readers(hlo_remat_t* r, const hlo_sequence_t* body) {
  for (uint32_t i = 0; i < body->step_count; ++i) {
    hlo_value_list_t read;
    if (body->steps[i].kind == HLO_STEP_VIEW) continue;
    HLO_TRY(hlo_step_list_read(&body->steps[i], r->arena, &read));
    for (uint32_t k = 0; k < read.count; ++k) {
      live_range_t* live_range = live_range_of(r, read.values[k]);
      if (i < r->peak) live_range->before = i;
      if (i == r->peak) live_range->is_read_there = true;
      if (i > r->peak && live_range->after == NOWHERE) live_range->after = i;
    }
  }
  return hlo_ok();
}

// Returns true if a node only passes values on, to several steps.
static bool is_passing(const hlo_remat_t* r, const hlo_node_t* node) {
  if (node->parent != r->func->body || node->result_count != 1) return false;
  return r->users[node->index] > 1 || (!r->users[node->index] && hlo_node_is_view(node));
}

// Lists the readers of the value after the peak, and the nodes that pass it on; false: too many, or
// other uses.
static bool list_readers(const hlo_remat_t* r, candidate_t* c) {
  c->moved[c->moved_count++] = c->value;
  for (uint32_t i = 0; i < c->moved_count; ++i) {
    for (const hlo_use_t* use = c->moved[i]->uses; use; use = use->next) {
      const hlo_node_t* top = hlo_region_ancestor(r->func->body, use->user);
      if (!top || top->index >= r->node_count) return false;
      if (top == use->user && is_passing(r, top)) {
        bool is_known = false;
        for (uint32_t k = 0; k < c->moved_count; ++k) is_known |= c->moved[k] == top->results;
        if (is_known) continue;
        if (c->moved_count == MAX_NODES) return false;
        c->moved[c->moved_count++] = top->results;
        continue;
      }
      uint32_t position = r->position_of[top->index];
      if (position == NOWHERE || c->change_count == MAX_READERS) return false;
      if (position <= r->peak) continue;
      c->changes[c->change_count++] =
          (change_t){use->user, (uint32_t)(use - use->user->operands), c->moved[i], NULL};
    }
  }
  return c->change_count > 0;
}

// ---- what computing it again takes

static double node_ns(const hlo_remat_t* r, const hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  const hlo_op_cost_t cost = hlo_op_info(node->op)->cost;
  const double lanes =
      (double)r->target->vector_bytes / hlo_elementwise_register_bytes(type->dtype);
  if (cost == HLO_COST_PRODUCT || cost == HLO_COST_CONVOLUTION) {
    hlo_contraction_t contraction;
    const bool is_known = cost == HLO_COST_PRODUCT && hlo_contraction_init(node, &contraction);
    const hlo_dtype_t dtype = is_known ? contraction.dtype : HLO_DTYPE_F32;
    return hlo_node_work(node) / lanes / hlo_tile_product_rate(&r->target->tile, dtype);
  }
  // Windows stay in registers: their elements count once.
  const double elements =
      cost == HLO_COST_WINDOW ? hlo_type_work_elements(type) : hlo_node_work(node);
  const double ops = hlo_elementwise_supports(node) ? hlo_elementwise_cost(node) : 1;
  return hlo_tile_work_ns(&r->target->tile,
                          &(hlo_tile_work_t){.vector_ops = ops * elements / lanes});
}

static bool gather(hlo_remat_t* r, candidate_t* c, hlo_node_t* node);

// Makes an operand available after the peak: it is there anyway, is kept longer, or is recomputed.
static bool gather_operand(hlo_remat_t* r, candidate_t* c, const hlo_value_t* value) {
  const hlo_node_t* def = value->def;
  if (!def || hlo_plan_is_constant(value)) return true;
  if (def->parent != r->func->body) return false;
  live_range_t* live_range = live_range_of(r, value);
  uint32_t needed = live_range_of(r, c->value)->after;
  hlo_allocation_kind_t kind = hlo_plan_allocation(r->plan, value).kind;
  if (!live_range->is_stored && kind != HLO_ALLOCATION_NONE) return true;
  if (live_range->is_stored && live_range->is_moved) return false;
  double bytes = (double)bytes_of(value);
  bool is_there = live_range->is_stored && live_range->end >= needed;
  bool is_small =
      live_range->is_stored && bytes * HLO_TUNING_REMAT_SMALL_SHARE <= (double)bytes_of(c->value);
  if (!is_there && !is_small && (r->users[def->index] || hlo_node_is_view(def))) {
    return gather(r, c, value->def);
  }
  if (!live_range->is_stored) return false;
  if (!is_there) c->freed_bytes -= bytes;
  return true;
}

static bool gather(hlo_remat_t* r, candidate_t* c, hlo_node_t* node) {
  if (r->visits[node->index] == r->visit) return true;
  r->visits[node->index] = r->visit;
  bool is_pure = hlo_op_info(node->op)->traits & HLO_TRAIT_PURE;
  if (!is_pure || node->op == HLO_OP_dynamic_update_slice) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!gather_operand(r, c, hlo_node_operand(node, i))) return false;
  }
  if (c->node_count == MAX_NODES) return false;
  c->nodes[c->node_count++] = node;
  c->cost_ns += node_ns(r, node);
  return true;
}

// ---- choosing

static bool is_candidate(const hlo_remat_t* r, const hlo_value_t* value) {
  const live_range_t* live_range = &r->live_ranges[value->index];
  return live_range->root == value->index && live_range->is_stored && !live_range->is_moved &&
         !live_range->is_needed && !live_range->is_read_there && live_range->begin < r->peak &&
         live_range->after != NOWHERE &&
         !(value->index < r->tried_count && r->is_tried[value->index]);
}

// Fills r->candidate; false: the value stays.
static bool consider(hlo_remat_t* r, hlo_value_t* value) {
  candidate_t* c = r->candidate;
  c->value = value;
  c->freed_bytes = (double)bytes_of(value);
  c->cost_ns = HLO_TUNING_REMAT_MIN_NS;
  c->node_count = c->moved_count = c->change_count = 0;
  ++r->visit;
  return gather(r, c, value->def) &&
         c->freed_bytes * HLO_TUNING_REMAT_FREED_SHARE > (double)bytes_of(value) &&
         list_readers(r, c);
}

// Returns the candidate that frees the most bytes for its cost; NULL if no candidate remains.
static hlo_value_t* choose(hlo_remat_t* r, const hlo_sequence_t* body) {
  hlo_value_t* best = NULL;
  double best_rate = 0;
  for (uint32_t i = 0; i < body->step_count; ++i) {
    const hlo_fusion_t* fusion = body->steps[i].fusion;
    for (uint32_t o = 0; fusion && o < fusion->output_count; ++o) {
      if (!is_candidate(r, fusion->outputs[o]) || !consider(r, fusion->outputs[o])) continue;
      double rate = r->candidate->freed_bytes / r->candidate->cost_ns;
      if (rate > best_rate) best = fusion->outputs[o];
      if (rate > best_rate) best_rate = rate;
    }
  }
  return best;
}

// ---- changing the body

static hlo_status_t clone_before(hlo_remat_t* r, hlo_node_t* allocation, const hlo_node_t* node,
                                 hlo_value_map_t* map) {
  if (!HLO_ARENA_GROW(r->arena, r->clones, r->clone_count, r->clone_capacity))
    return hlo_arena_status(r->arena);
  hlo_node_t* clone = hlo_node_clone(r->func->body, node, map);
  HLO_TRY(hlo_module_status(r->module));
  hlo_node_unlink(clone);
  hlo_node_insert_before(allocation, clone);
  r->clones[r->clone_count++] = clone;
  return hlo_ok();
}

// Returns the first node of the body that is to read a copy; NULL if a node that passes the value
// on needs a value that is only computed later.
static hlo_node_t* first_reader(const hlo_remat_t* r, const candidate_t* c) {
  const hlo_node_t* first = NULL;
  for (uint32_t i = 0; i < c->change_count; ++i) {
    const hlo_node_t* top = hlo_region_ancestor(r->func->body, c->changes[i].user);
    if (!first || r->order[top->index] < r->order[first->index]) first = top;
  }
  for (uint32_t i = 1; i < c->moved_count; ++i) {
    const hlo_node_t* node = c->moved[i]->def;
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      const hlo_node_t* def = hlo_node_operand(node, k)->def;
      if (!def || def->parent != r->func->body) continue;
      bool is_before = def->index < r->node_count && r->order[def->index] < r->order[first->index];
      if (!is_before) return NULL;
    }
  }
  return (hlo_node_t*)first;
}

static int compare_order(const hlo_remat_t* r, const hlo_value_t* a, const hlo_value_t* b) {
  return r->order[a->def->index] < r->order[b->def->index] ? -1 : 1;
}

// Passing nodes in the order of the body, so that copies find their operands' copies.
static void sort_moved(const hlo_remat_t* r, candidate_t* c) {
  for (uint32_t i = 2; i < c->moved_count; ++i) {
    hlo_value_t* value = c->moved[i];
    uint32_t at = i;
    for (; at > 1 && compare_order(r, value, c->moved[at - 1]) < 0; --at) {
      c->moved[at] = c->moved[at - 1];
    }
    c->moved[at] = value;
  }
}

static hlo_status_t apply(hlo_remat_t* r, candidate_t* c, bool* out_done) {
  hlo_node_t* allocation = first_reader(r, c);
  *out_done = false;
  if (!allocation) return hlo_ok();
  hlo_value_map_t map = {hlo_arena_array(r->arena, r->module->value_count, sizeof(*map.values)),
                         r->module->value_count};
  HLO_TRY(hlo_arena_status(r->arena));
  sort_moved(r, c);
  for (uint32_t i = 0; i < c->node_count; ++i)
    HLO_TRY(clone_before(r, allocation, c->nodes[i], &map));
  for (uint32_t i = 1; i < c->moved_count; ++i) {
    HLO_TRY(clone_before(r, allocation, c->moved[i]->def, &map));
  }
  for (uint32_t i = 0; i < c->change_count; ++i) {
    if (!HLO_ARENA_GROW(r->arena, r->changes, r->change_count, r->change_capacity))
      return hlo_arena_status(r->arena);
    change_t change = c->changes[i];
    change.to = map.values[change.from->index];
    hlo_node_set_operand(change.user, change.operand, change.to);
    r->changes[r->change_count++] = change;
  }
  *out_done = true;
  return hlo_ok();
}

// Values that the copies read stay where they are: this step does not recompute them.
static void note_needs(hlo_remat_t* r, const candidate_t* c) {
  live_range_of(r, c->value)->is_moved = true;
  for (uint32_t i = 0; i < c->node_count; ++i) {
    for (uint32_t k = 0; k < c->nodes[i]->operand_count; ++k) {
      live_range_of(r, hlo_node_operand(c->nodes[i], k))->is_needed = true;
    }
  }
}

void hlo_remat_undo(hlo_remat_t* r) {
  while (r->change_count) {
    const change_t* change = &r->changes[--r->change_count];
    hlo_node_set_operand(change->user, change->operand, change->from);
  }
  while (r->clone_count) hlo_node_erase(r->clones[--r->clone_count]);
}

// ---- a step

static hlo_status_t start(hlo_remat_t* r, const hlo_plan_t* plan) {
  uint32_t values = r->module->value_count, nodes = r->node_count = r->module->node_count;
  bool* is_tried = hlo_arena_array(r->arena, values, sizeof *is_tried);
  r->live_ranges = hlo_arena_array(r->arena, values, sizeof *r->live_ranges);
  r->position_of = hlo_arena_array(r->arena, nodes, sizeof *r->position_of);
  r->users = hlo_arena_array(r->arena, nodes, sizeof *r->users);
  r->order = hlo_arena_array(r->arena, nodes, sizeof *r->order);
  r->visits = hlo_arena_array(r->arena, nodes, sizeof *r->visits);
  HLO_TRY(hlo_arena_status(r->arena));
  if (r->tried_count) memcpy(is_tried, r->is_tried, r->tried_count * sizeof *is_tried);
  r->is_tried = is_tried;
  r->tried_count = values;
  for (uint32_t i = 0; i < values; ++i) {
    r->live_ranges[i] = (live_range_t){.root = i, .before = NOWHERE, .after = NOWHERE};
  }
  r->plan = plan;
  r->visit = r->clone_count = r->change_count = 0;
  return hlo_ok();
}

hlo_status_t hlo_remat_step(hlo_remat_t* r, const hlo_plan_t* plan, uint64_t excess_bytes,
                            uint32_t* out_count) {
  const hlo_sequence_t* body = &plan->schedule->sequences[0];
  double freed = 0, peak_bytes;
  *out_count = 0;
  HLO_TRY(start(r, plan));
  HLO_TRY(find_peak(r, body, 0, &peak_bytes));
  number_body(r, body);
  HLO_TRY(note_readers(r, body));
  while (*out_count < HLO_TUNING_REMAT_MAX_VALUES && freed < (double)excess_bytes) {
    hlo_value_t* value = choose(r, body);
    if (!value) break;
    (void)consider(r, value);
    r->is_tried[value->index] = true;
    bool is_done;
    HLO_TRY(apply(r, r->candidate, &is_done));
    if (!is_done) continue;
    note_needs(r, r->candidate);
    freed += r->candidate->freed_bytes;
    ++*out_count;
  }
  return hlo_ok();
}

hlo_status_t hlo_remat_create(hlo_module_t* module, const hlo_func_t* func,
                              const hlo_target_t* target, hlo_arena_t* arena,
                              hlo_remat_t** out_remat) {
  hlo_remat_t* r = hlo_arena_alloc_zeroed(arena, sizeof *r);
  candidate_t* candidate = hlo_arena_alloc_zeroed(arena, sizeof *candidate);
  if (!r || !candidate) return hlo_arena_status(arena);
  *r = (hlo_remat_t){
      .module = module, .func = func, .target = target, .arena = arena, .candidate = candidate};
  *out_remat = r;
  return hlo_ok();
}
