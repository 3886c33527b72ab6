// SPDX-License-Identifier: Apache-2.0
// Planning: the order of its phases, and which buffers share memory.

#include "codegen/memory/plan_impl.h"
#include "ir/call.h"

// ---- buffers

uint32_t hlo_planner_add_buffer(hlo_planner_t* planner, hlo_allocation_kind_t kind, uint32_t index,
                                uint64_t size_bytes) {
  if (!HLO_ARENA_GROW(planner->arena, planner->buffers, planner->buffer_count,
                      planner->buffer_capacity))
    return HLO_PLAN_NONE;
  uint32_t number = planner->buffer_count++;
  planner->buffers[number] =
      (hlo_plan_buffer_t){.kind = kind, .index = index, .size_bytes = size_bytes, .joined = number};
  return number;
}

static uint32_t find_buffer(const hlo_planner_t* planner, uint32_t buffer) {
  if (buffer == HLO_PLAN_NONE) return buffer;
  while (planner->buffers[buffer].joined != buffer) {
    uint32_t up = planner->buffers[buffer].joined;
    planner->buffers[buffer].joined = planner->buffers[up].joined;
    buffer = planner->buffers[buffer].joined;
  }
  return buffer;
}

uint32_t hlo_planner_buffer(const hlo_planner_t* planner, const hlo_value_t* value) {
  return find_buffer(planner, planner->buffer_of[hlo_planner_root(planner, value)]);
}

static void append_buffer(hlo_planner_t* planner, uint32_t to, uint32_t from) {
  hlo_plan_buffer_t *a = &planner->buffers[to], *b = &planner->buffers[from];
  if (!hlo_planner_merge_live_ranges(planner, to, from))
    return;  // memory is exhausted, as the
             // arena says
  b->joined = to;
  a->is_collective |= b->is_collective;
  if (a->size_bytes < b->size_bytes) a->size_bytes = b->size_bytes;
}

// ---- joining buffers

// Result `r` may be the memory of a donated argument, which must be dead before the first write.
static bool fits_result(const hlo_planner_t* planner, uint32_t buffer, uint32_t r) {
  const hlo_plan_t* plan = planner->plan;
  const uint32_t donor = plan->donor_of[r];
  if (donor == HLO_DONATED_NOWHERE) return true;
  uint32_t root = hlo_planner_root(planner, plan->func->body->args[donor]);
  hlo_live_range_t argument = {planner->ranges[root], root};
  return !hlo_planner_live_range_conflicts(planner, buffer, &argument);
}

static bool is_writable(hlo_allocation_kind_t kind) {
  return kind == HLO_ALLOCATION_TEMPORARY || kind == HLO_ALLOCATION_RESULT;
}

// Makes one buffer of two if that is correct; returns false if they stay separate.
static bool join(hlo_planner_t* planner, uint32_t x, uint32_t y) {
  if (x == HLO_PLAN_NONE || y == HLO_PLAN_NONE) return false;
  if (x == y) return true;
  if (planner->buffers[y].kind == HLO_ALLOCATION_RESULT) {
    uint32_t t = x;
    x = y;
    y = t;
  }
  const hlo_plan_buffer_t *a = &planner->buffers[x], *b = &planner->buffers[y];
  if (a->kind == HLO_ALLOCATION_REGISTER || b->kind == HLO_ALLOCATION_REGISTER) {
    size_t bytes = hlo_dtype_size_bytes(a->dtype);
    if (a->kind != b->kind || a->dtype != b->dtype ||
        (a->size_bytes > bytes) != (b->size_bytes > bytes) ||
        hlo_planner_buffers_conflict(planner, x, y)) {
      return false;
    }
    append_buffer(planner, x, y);
    return true;
  }
  if (!is_writable(a->kind) || b->kind != HLO_ALLOCATION_TEMPORARY) return false;
  bool is_result = a->kind == HLO_ALLOCATION_RESULT;
  if (is_result && b->is_collective) return false;
  if (is_result && b->size_bytes > a->size_bytes) return false;
  if (hlo_planner_buffers_conflict(planner, x, y)) return false;
  if (is_result && !fits_result(planner, y, a->index)) return false;
  append_buffer(planner, x, y);
  return true;
}

// ---- candidates for joining

// Slot and result of a loop are always one buffer: the write at the end of the body is planned.
static void join_loop(hlo_planner_t* planner, const hlo_node_t* node) {
  const hlo_node_t* end = hlo_region_terminator(node->regions[1]);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t slot = hlo_planner_buffer(planner, node->regions[0]->args[i]);
    uint32_t result = hlo_planner_buffer(planner, &node->results[i]);
    if (slot == HLO_PLAN_NONE || slot == result) continue;
    append_buffer(planner, slot, result);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t slot = hlo_planner_buffer(planner, node->regions[0]->args[i]);
    join(planner, slot, hlo_planner_buffer(planner, hlo_node_operand(end, i)));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t slot = hlo_planner_buffer(planner, node->regions[0]->args[i]);
    join(planner, slot, hlo_planner_buffer(planner, hlo_node_operand(node, i)));
  }
}

static hlo_status_t join_branches(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t result = hlo_planner_buffer(planner, &node->results[i]);
    if (result == HLO_PLAN_NONE) continue;
    for (uint32_t k = 0; k < node->region_count; ++k) {
      uint32_t write = planner->ends[hlo_region_terminator(node->regions[k])->index];
      if (!hlo_planner_add_live_range(planner, result, (hlo_plan_range_t){write, write},
                                      HLO_PLAN_NONE)) {
        return hlo_arena_status(planner->arena);
      }
    }
    for (uint32_t k = 0; k < node->region_count; ++k) {
      const hlo_node_t* end = hlo_region_terminator(node->regions[k]);
      join(planner, hlo_planner_buffer(planner, &node->results[i]),
           hlo_planner_buffer(planner, hlo_node_operand(end, i)));
    }
  }
  return hlo_ok();
}

static hlo_status_t join_control(hlo_planner_t* planner, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(planner->plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_node_t* node = sequence->steps[i].node;
    if (sequence->steps[i].kind != HLO_STEP_CONTROL) continue;
    for (uint32_t k = 0; k < node->region_count; ++k) {
      HLO_TRY(join_control(planner, node->regions[k]));
    }
    if (node->op == HLO_OP_while) {
      join_loop(planner, node);
    } else {
      HLO_TRY(join_branches(planner, node));
    }
  }
  return hlo_ok();
}

// Joins the result of a node with the operand that it changes in place.
static void join_node(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      if (!hlo_call_may_share(node, r, i)) continue;
      join(planner, hlo_planner_buffer(planner, &node->results[r]),
           hlo_planner_buffer(planner, hlo_node_operand(node, i)));
    }
  }
}

// Joins a result with an operand that ends here.
static void join_covered(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      if (!hlo_call_may_cover(node, r, i)) continue;
      join(planner, hlo_planner_buffer(planner, &node->results[r]),
           hlo_planner_buffer(planner, hlo_node_operand(node, i)));
    }
  }
}

// Joins a slice update with its operand.
static void join_updates(hlo_planner_t* planner, const hlo_fusion_t* fusion) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  for (uint32_t o = 0; kernel && o < fusion->output_count; ++o) {
    int32_t updated = hlo_kernel_updates(kernel, o);
    if (updated < 0 || !hlo_kernel_may_share(kernel, o, (uint32_t)updated)) continue;
    join(planner, hlo_planner_buffer(planner, fusion->outputs[o]),
         hlo_planner_buffer(planner, fusion->inputs[updated]));
  }
}

// Other ops stay out of the memory of collectives, unless loops or updates in place unite them.
static bool have_one_color(const hlo_planner_t* planner, const hlo_value_t* x,
                           const hlo_value_t* y) {
  const uint32_t a = hlo_planner_buffer(planner, x), b = hlo_planner_buffer(planner, y);
  return a == HLO_PLAN_NONE || b == HLO_PLAN_NONE ||
         planner->buffers[a].is_collective == planner->buffers[b].is_collective;
}

// Joins an output with the first input that ends here.
static void join_fusion(hlo_planner_t* planner, const hlo_fusion_t* fusion) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  for (uint32_t o = 0; kernel && o < fusion->output_count; ++o) {
    for (uint32_t i = 0; i < fusion->input_count; ++i) {
      uint32_t output = hlo_planner_root(planner, fusion->outputs[o]);
      uint32_t input = hlo_planner_root(planner, fusion->inputs[i]);
      if (!have_one_color(planner, fusion->outputs[o], fusion->inputs[i]) ||
          planner->sizes[output] != planner->sizes[input] ||
          planner->ranges[input].end != planner->ranges[output].begin ||
          !hlo_kernel_may_share(kernel, o, i)) {
        continue;
      }
      if (join(planner, hlo_planner_buffer(planner, fusion->outputs[o]),
               hlo_planner_buffer(planner, fusion->inputs[i]))) {
        break;
      }
    }
  }
}

typedef enum join_phase { JOIN_IN_PLACE, JOIN_OUTPUTS } join_phase_t;

static void join_steps(hlo_planner_t* planner, join_phase_t phase) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    if (step->kind == HLO_STEP_CALL && phase == JOIN_IN_PLACE) join_node(planner, step->node);
    if (step->kind == HLO_STEP_CALL && phase == JOIN_OUTPUTS) join_covered(planner, step->node);
    if (step->kind != HLO_STEP_FUSION) continue;
    if (phase == JOIN_IN_PLACE) {
      join_updates(planner, step->fusion);
    } else {
      join_fusion(planner, step->fusion);
    }
  }
}

// Computes a returned value in the result's memory unless that is occupied.
static void join_results(hlo_planner_t* planner) {
  const hlo_plan_t* plan = planner->plan;
  const hlo_node_t* end = hlo_region_terminator(plan->func->body);
  for (uint32_t r = 0; r < end->operand_count; ++r) {
    uint32_t buffer = hlo_planner_buffer(planner, hlo_node_operand(end, r));
    if (buffer == HLO_PLAN_NONE) continue;
    hlo_plan_buffer_t* b = &planner->buffers[buffer];
    uint64_t room = hlo_type_size_bytes(hlo_node_operand_type(end, r));
    if (b->kind != HLO_ALLOCATION_TEMPORARY || b->is_collective || b->size_bytes > room ||
        !fits_result(planner, buffer, r)) {
      continue;
    }
    b->kind = HLO_ALLOCATION_RESULT;
    b->index = r;
  }
}

// Lets buffers share memory.
static hlo_status_t join_buffers(hlo_planner_t* planner) {
  HLO_TRY(join_control(planner, planner->plan->func->body));
  join_steps(planner, JOIN_IN_PLACE);
  join_results(planner);
  join_steps(planner, JOIN_OUTPUTS);
  return hlo_arena_status(planner->arena);
}

// ---- the whole

static hlo_status_t make_tables(hlo_planner_t* planner) {
  uint32_t values = planner->module->value_count, nodes = planner->module->node_count;
  hlo_arena_t* arena = planner->arena;
  hlo_plan_t* plan = planner->plan;
  planner->parents = hlo_arena_array(arena, values, sizeof *planner->parents);
  planner->ranges = hlo_arena_array(arena, values, sizeof *planner->ranges);
  planner->sizes = hlo_arena_array(arena, values, sizeof *planner->sizes);
  planner->buffer_of = hlo_arena_array(arena, values, sizeof *planner->buffer_of);
  planner->values = hlo_arena_array(arena, values, sizeof *planner->values);
  planner->makers = hlo_arena_array(arena, values, sizeof(*planner->makers));
  planner->last_readers = hlo_arena_array(arena, values, sizeof(*planner->last_readers));
  planner->begins = hlo_arena_array(arena, nodes, sizeof *planner->begins);
  planner->ends = hlo_arena_array(arena, nodes, sizeof *planner->ends);
  plan->allocations = hlo_arena_array(arena, values, sizeof *plan->allocations);
  plan->copies = hlo_arena_array(arena, nodes, sizeof *plan->copies);
  uint32_t fusions = plan->schedule->fusion_count;
  planner->scratch_buffers = hlo_arena_array(arena, fusions, sizeof *planner->scratch_buffers);
  plan->scratch = hlo_arena_array(arena, fusions, sizeof *plan->scratch);
  plan->prepared = hlo_arena_array(arena, fusions, sizeof *plan->prepared);
  plan->is_prepared_for = hlo_arena_array(arena, nodes, sizeof *plan->is_prepared_for);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < fusions; ++i) planner->scratch_buffers[i] = HLO_PLAN_NONE;
  for (uint32_t i = 0; i < values; ++i) {
    planner->parents[i] = i;
    planner->buffer_of[i] = HLO_PLAN_NONE;
  }
  return hlo_ok();
}

hlo_status_t hlo_plan_create(const hlo_func_t* func, const hlo_schedule_t* schedule,
                             hlo_kernel_t* const* kernels, bool is_checked, hlo_arena_t* arena,
                             hlo_plan_t** out_plan) {
  hlo_plan_t* plan = hlo_arena_alloc_zeroed(arena, sizeof *plan);
  if (!plan) return hlo_arena_status(arena);
  plan->func = func;
  plan->schedule = schedule;
  plan->kernels = kernels;
  plan->is_checked = is_checked;
  plan->argument_count = func->type->input_count;
  plan->result_count = func->type->element_count - func->type->input_count;
  hlo_planner_t planner = {.plan = plan, .arena = arena, .module = func->module};
  HLO_TRY(make_tables(&planner));
  HLO_TRY(hlo_planner_scan(&planner));
  HLO_TRY(hlo_planner_color(&planner));
  HLO_TRY(join_buffers(&planner));
  HLO_TRY(hlo_planner_finish(&planner));
  *out_plan = plan;
  return hlo_ok();
}
