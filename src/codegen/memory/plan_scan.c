// SPDX-License-Identifier: Apache-2.0
// First phase of planning: the order of everything, live ranges, and values that are the same
// bytes.
#include <string.h>

#include "codegen/body/split.h"
#include "codegen/math/elementwise.h"
#include "codegen/memory/plan_impl.h"

// ---- values that never reach memory: single elements, and f32 arrays that one vector holds, that
// only inlined kernels, loops, branches and copies use. All values of a class agree, and so do a
// loop's slot and result, which are one buffer

// lanes: of vectors that hold arrays; 0: no kernel accepts them.
static bool fits_register(const hlo_value_t* value, uint32_t lanes) {
  if (hlo_elementwise_is_scalar(value)) return true;
  return value->type->kind == HLO_TYPE_TENSOR && value->type->dtype == HLO_DTYPE_F32 &&
         hlo_type_element_count(value->type) > 1 &&
         hlo_type_element_count(value->type) <= (int64_t)lanes;
}

static uint32_t most_lanes(const hlo_plan_t* plan) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < plan->schedule->fusion_count; ++i) {
    uint32_t lanes = plan->kernels[i] ? hlo_kernel_value_lanes(plan->kernels[i]) : 0;
    if (lanes > most) most = lanes;
  }
  return most;
}

// Returns true if a kernel can read, or produce, the value of a register.
static bool fits_kernel(const hlo_planner_t* planner, const hlo_fusion_t* fusion,
                        const hlo_value_t* value) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  if (fusion->concurrent_group) return false;  // kernels on other threads find everything in memory
  int64_t count = hlo_type_element_count(value->type);
  if (count == 1) return hlo_kernel_reads_values(kernel);
  return count <= (int64_t)hlo_kernel_value_lanes(kernel);
}

static void keep_in_memory(hlo_planner_t* planner, const hlo_value_t* value) {
  planner->in_register[hlo_planner_root(planner, value)] = false;
}

// A class of single elements of one type that the program makes itself.
static void find_candidates(hlo_planner_t* planner) {
  uint32_t count = planner->module->value_count, lanes = most_lanes(planner->plan);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value || planner->parents[i] != i) continue;
    bool is_argument = value->region == planner->plan->func->body && !value->def;
    planner->in_register[i] =
        fits_register(value, lanes) && !is_argument && !hlo_plan_is_constant(value);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value) continue;
    const hlo_value_t* root = planner->values[hlo_planner_root(planner, value)];
    if (!fits_register(value, lanes) || value->type->dtype != root->type->dtype) {
      keep_in_memory(planner, value);
    }
  }
}

static void exclude_fusion(hlo_planner_t* planner, const hlo_fusion_t* fusion) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (!fits_kernel(planner, fusion, fusion->inputs[i]))
      keep_in_memory(planner, fusion->inputs[i]);
  }
  for (uint32_t o = 0; o < fusion->output_count; ++o) {
    if (!fits_kernel(planner, fusion, fusion->outputs[o]) || !hlo_kernel_gives_value(kernel, o)) {
      keep_in_memory(planner, fusion->outputs[o]);
    }
    int32_t updated = hlo_kernel_updates(kernel, o);
    if (updated >= 0) keep_in_memory(planner, fusion->inputs[updated]);
  }
}

static hlo_status_t scan_site(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    keep_in_memory(planner, hlo_node_operand(node, i));
  }
  for (uint32_t r = 0; r < node->result_count; ++r) keep_in_memory(planner, &node->results[r]);
  uint32_t count = 0;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, planner->arena, &count, &captures));
  for (uint32_t i = 0; i < count; ++i) keep_in_memory(planner, captures[i]);
  return hlo_ok();
}

static void agree_on_loop(hlo_planner_t* planner, const hlo_node_t* node, bool* changed) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t slot = hlo_planner_root(planner, node->regions[0]->args[i]);
    uint32_t result = hlo_planner_root(planner, &node->results[i]);
    if (planner->in_register[slot] == planner->in_register[result]) continue;
    planner->in_register[slot] = planner->in_register[result] = false;
    *changed = true;
  }
}

// A branch's value for a register is read from memory when the branch's other results are written,
// whose memory counts as theirs only from the end of all branches on: until then the value is kept.
static void keep_until_read(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t k = 0; k < node->region_count; ++k) {
    const hlo_node_t* end = hlo_region_terminator(node->regions[k]);
    for (uint32_t i = 0; i < node->result_count; ++i) {
      uint32_t value = hlo_planner_root(planner, hlo_node_operand(end, i));
      if (!planner->in_register[hlo_planner_root(planner, &node->results[i])]) continue;
      if (planner->in_register[value]) continue;
      hlo_plan_range_t* range = &planner->ranges[value];
      uint32_t position = planner->ends[node->index];
      if (range->end < position) range->end = position;
    }
  }
}

static void keep_all(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    const hlo_node_t* node = step->node;
    if (node->op == HLO_OP_if || node->op == HLO_OP_case) keep_until_read(planner, node);
  }
}

// Marks values that need an address.
static hlo_status_t scan_uses(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    if (step->kind == HLO_STEP_FUSION) exclude_fusion(planner, step->fusion);
    if (step->kind == HLO_STEP_CALL) HLO_TRY(scan_site(planner, step->node));
  }
  return hlo_ok();
}

// Returns true if loops had to be made consistent.
static bool agree_on_loops(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  bool changed = false;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    const hlo_node_t* node = step->node;
    if (node->op == HLO_OP_while) agree_on_loop(planner, node, &changed);
  }
  return changed;
}

// Chooses the classes that are kept in registers; part of scanning.
static hlo_status_t choose_registers(hlo_planner_t* planner) {
  planner->in_register =
      hlo_arena_array(planner->arena, planner->module->value_count, sizeof(bool));
  HLO_TRY(hlo_arena_status(planner->arena));
  find_candidates(planner);
  HLO_TRY(scan_uses(planner));
  while (agree_on_loops(planner)) {
  }
  keep_all(planner);
  return hlo_ok();
}

// ---- positions

static hlo_status_t next_position(hlo_planner_t* planner, const hlo_step_t* step,
                                  uint32_t* out_position) {
  if (++planner->position >= planner->position_capacity) {
    uint32_t capacity = planner->position_capacity ? planner->position_capacity * 2 : 256;
    const hlo_step_t** grown = hlo_arena_array(planner->arena, capacity, sizeof *grown);
    if (!grown) return hlo_arena_status(planner->arena);
    if (planner->steps) memcpy(grown, planner->steps, planner->position * sizeof *grown);
    planner->steps = grown;
    planner->position_capacity = capacity;
  }
  planner->steps[planner->position] = step;
  *out_position = planner->position;
  return hlo_ok();
}

static hlo_status_t number_region(hlo_planner_t* planner, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(planner->plan->schedule, region);
  const hlo_node_t* terminator = hlo_region_terminator(region);
  if (!sequence || !terminator) {
    return hlo_internal_error("a region without steps or without an end");
  }
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    const hlo_node_t* node = step->node;
    bool is_joining = i > 0 && hlo_step_concurrent_group(step) &&
                      hlo_step_concurrent_group(step) == hlo_step_concurrent_group(step - 1);
    if (!is_joining) HLO_TRY(next_position(planner, step, &planner->begins[node->index]));
    planner->begins[node->index] = planner->ends[node->index] = planner->position;
    if (step->kind != HLO_STEP_CONTROL) continue;
    for (uint32_t k = 0; k < node->region_count; ++k) {
      HLO_TRY(number_region(planner, node->regions[k]));
    }
    HLO_TRY(next_position(planner, NULL, &planner->ends[node->index]));
  }
  HLO_TRY(next_position(planner, NULL, &planner->begins[terminator->index]));
  return next_position(planner, NULL, &planner->ends[terminator->index]);
}

// ---- ranges

static void define(hlo_planner_t* planner, const hlo_value_t* value, uint32_t position) {
  uint32_t i = value->index;
  planner->values[i] = value;
  planner->ranges[i] = (hlo_plan_range_t){position, position};
  bool has_memory = value->type->kind == HLO_TYPE_TENSOR || value->type->kind == HLO_TYPE_BUFFER;
  planner->sizes[i] = has_memory ? hlo_type_size_bytes(value->type) : 0;
}

// Records a use in `region`. Outside values used by a loop's regions are live to the end of the
// loop.
static void use(hlo_planner_t* planner, const hlo_value_t* value, const hlo_region_t* region,
                uint32_t position) {
  if (value->type->kind == HLO_TYPE_TOKEN) return;
  if (!planner->values[value->index]) {
    if (!hlo_plan_is_constant(value)) planner->undefined = value;
    define(planner, value, 0);
  }
  for (const hlo_region_t* r = region; r != value->region && r->parent; r = r->parent->parent) {
    if (r->parent->op == HLO_OP_while) position = planner->ends[r->parent->index];
  }
  hlo_plan_range_t* range = &planner->ranges[value->index];
  if (range->end < position) range->end = position;
}

static void use_operands(hlo_planner_t* planner, const hlo_node_t* node, uint32_t position) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    use(planner, hlo_node_operand(node, i), node->parent, position);
  }
}

static hlo_status_t scan_region(hlo_planner_t* planner, const hlo_region_t* region);

static hlo_status_t scan_control(hlo_planner_t* planner, const hlo_node_t* node) {
  uint32_t begin = planner->begins[node->index], end = planner->ends[node->index];
  bool is_loop = node->op == HLO_OP_while;
  use_operands(planner, node, begin);
  for (uint32_t k = 0; k < node->region_count; ++k) {
    const hlo_region_t* region = node->regions[k];
    for (uint32_t i = 0; i < region->arg_count; ++i) define(planner, region->args[i], begin);
    HLO_TRY(scan_region(planner, region));
  }
  // A loop's results are written at the end of its body, or existed before.
  if (is_loop) {
    const hlo_node_t* condition = hlo_region_terminator(node->regions[0]);
    for (uint32_t i = 0; i < node->regions[0]->arg_count; ++i) {
      hlo_plan_range_t* range = &planner->ranges[node->regions[0]->args[i]->index];
      range->end = planner->begins[condition->index];
    }
    end = planner->ends[hlo_region_terminator(node->regions[1])->index];
  }
  for (uint32_t i = 0; i < node->result_count; ++i) define(planner, &node->results[i], end);
  return hlo_ok();
}

static void scan_fusion(hlo_planner_t* planner, const hlo_step_t* step, uint32_t position) {
  const hlo_fusion_t* fusion = step->fusion;
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    use(planner, fusion->inputs[i], step->node->parent, position);
  }
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    define(planner, fusion->outputs[i], position);
    if (fusion->concurrent_group) planner->makers[fusion->outputs[i]->index] = fusion;
  }
}

static hlo_status_t scan_node(hlo_planner_t* planner, const hlo_node_t* node, uint32_t position) {
  use_operands(planner, node, position);
  const hlo_node_t* begun = hlo_split_begin(node);
  if (begun) use_operands(planner, begun, position);  // read until the wait
  uint32_t count = 0;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, planner->arena, &count, &captures));
  for (uint32_t i = 0; i < count; ++i) use(planner, captures[i], node->parent, position);
  for (uint32_t i = 0; i < node->result_count; ++i) define(planner, &node->results[i], position);
  return hlo_ok();
}

static hlo_status_t scan_region(hlo_planner_t* planner, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(planner->plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    uint32_t position = planner->begins[step->node->index];
    switch (step->kind) {
      case HLO_STEP_FUSION: scan_fusion(planner, step, position); break;
      case HLO_STEP_VIEW:
      case HLO_STEP_CALL: HLO_TRY(scan_node(planner, step->node, position)); break;
      case HLO_STEP_CONTROL: HLO_TRY(scan_control(planner, step->node)); break;
    }
  }
  const hlo_node_t* terminator = hlo_region_terminator(region);
  use_operands(planner, terminator, planner->begins[terminator->index]);
  return hlo_ok();
}

// ---- classes

uint32_t hlo_planner_root(const hlo_planner_t* planner, const hlo_value_t* value) {
  uint32_t i = value->index;
  while (planner->parents[i] != i) {
    planner->parents[i] = planner->parents[planner->parents[i]];
    i = planner->parents[i];
  }
  return i;
}

// The root is the value defined first, so an argument or constant stays the root.
static void unite(hlo_planner_t* planner, const hlo_value_t* a, const hlo_value_t* b) {
  uint32_t x = hlo_planner_root(planner, a), y = hlo_planner_root(planner, b);
  if (x == y) return;
  if (planner->ranges[y].begin < planner->ranges[x].begin) {
    uint32_t t = x;
    x = y;
    y = t;
  }
  planner->parents[y] = x;
  if (planner->ranges[x].end < planner->ranges[y].end) {
    planner->ranges[x].end = planner->ranges[y].end;
  }
}

// Returns true if a while's slot keeps one value throughout.
static bool is_invariant(const hlo_planner_t* planner, const hlo_node_t* loop, uint32_t slot) {
  const hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  return hlo_planner_root(planner, hlo_node_operand(end, slot)) ==
         hlo_planner_root(planner, loop->regions[1]->args[slot]);
}

static void unite_loop(hlo_planner_t* planner, const hlo_node_t* node) {
  const hlo_region_t *condition = node->regions[0], *body = node->regions[1];
  for (uint32_t i = 0; i < node->result_count; ++i) {
    unite(planner, condition->args[i], body->args[i]);
    if (!is_invariant(planner, node, i)) continue;
    unite(planner, hlo_node_operand(node, i), body->args[i]);
    unite(planner, &node->results[i], body->args[i]);
  }
}

static void unite_region(hlo_planner_t* planner, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(planner->plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    const hlo_node_t* node = step->node;
    if (step->kind == HLO_STEP_VIEW) {
      for (uint32_t k = 0; k < node->result_count; ++k) {
        unite(planner, hlo_node_operand(node, k), &node->results[k]);
      }
    }
    if (step->kind != HLO_STEP_CONTROL) continue;
    for (uint32_t k = 0; k < node->region_count; ++k) unite_region(planner, node->regions[k]);
    if (node->op == HLO_OP_while) unite_loop(planner, node);
  }
}

// At most one of the steps where a class may end is a concurrent group.
static hlo_status_t find_last_readers(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  bool* is_read = hlo_arena_array(planner->arena, planner->module->value_count, sizeof *is_read);
  HLO_TRY(hlo_arena_status(planner->arena));
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    if (!hlo_step_concurrent_group(step)) continue;
    for (uint32_t k = 0; k < step->fusion->input_count; ++k) {
      uint32_t root = hlo_planner_root(planner, step->fusion->inputs[k]);
      if (planner->ranges[root].end != planner->begins[step->node->index]) continue;
      bool is_only = !is_read[root] || planner->last_readers[root] == step->fusion;
      planner->last_readers[root] = is_only ? step->fusion : NULL;
      is_read[root] = true;
    }
  }
  return hlo_ok();
}

// ---- buffers

static hlo_status_t make_buffer(hlo_planner_t* planner, const hlo_value_t* value) {
  const hlo_plan_t* plan = planner->plan;
  uint32_t i = value->index;
  hlo_allocation_kind_t kind = HLO_ALLOCATION_TEMPORARY;
  uint32_t index = 0;
  if (value->region == plan->func->body && !value->def) {
    kind = HLO_ALLOCATION_ARGUMENT;
    index = value->number;
  } else if (hlo_plan_is_constant(value)) {
    kind = HLO_ALLOCATION_CONSTANT;
    index = planner->plan->constant_count++;
  } else if (planner->in_register[i]) {
    kind = HLO_ALLOCATION_REGISTER;
  }
  uint32_t buffer = hlo_planner_add_buffer(planner, kind, index, planner->sizes[i]);
  if (buffer == HLO_PLAN_NONE ||
      !hlo_planner_add_live_range(planner, buffer, planner->ranges[i], i)) {
    return hlo_arena_status(planner->arena);
  }
  planner->buffers[buffer].dtype = value->type->dtype;
  planner->buffer_of[i] = buffer;
  return hlo_ok();
}

static hlo_status_t make_buffers(hlo_planner_t* planner) {
  uint32_t count = planner->module->value_count;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value || planner->parents[i] != i) continue;
    if (value->type->kind == HLO_TYPE_TENSOR || value->type->kind == HLO_TYPE_BUFFER) {
      HLO_TRY(make_buffer(planner, value));
    }
  }
  return hlo_ok();
}

// Returns true if everything that the first phase of a fusion reads is defined before the loop.
static bool is_known_before(const hlo_planner_t* planner, const hlo_fusion_t* fusion,
                            const hlo_node_t* loop) {
  bool found = false;
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (!hlo_kernel_prepares(planner->plan->kernels[fusion->index], i)) continue;
    uint32_t root = hlo_planner_root(planner, fusion->inputs[i]);
    if (planner->ranges[root].begin >= planner->begins[loop->index]) return false;
    found = true;
  }
  return found;
}

// Returns the outermost enclosing loop before which the first phase of a step may run; NULL: none.
static const hlo_node_t* find_prepared(const hlo_planner_t* planner, const hlo_step_t* step) {
  const hlo_node_t* found = NULL;
  const hlo_node_t* loop = step->node->parent->parent;
  while (loop && loop->op == HLO_OP_while && is_known_before(planner, step->fusion, loop)) {
    found = loop;
    loop = loop->parent->parent;
  }
  return found;
}

// Reserves a kernel's scratch memory for its step, or from before the loop that it prepares for.
static hlo_status_t make_scratch(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    if (step->kind != HLO_STEP_FUSION) continue;
    const hlo_kernel_t* kernel = planner->plan->kernels[step->fusion->index];
    size_t bytes = kernel ? hlo_kernel_scratch_bytes(kernel) : 0;
    if (!bytes) continue;
    const hlo_node_t* loop = find_prepared(planner, step);
    planner->plan->prepared[step->fusion->index] = loop;
    if (loop) planner->plan->is_prepared_for[loop->index] = true;
    const hlo_node_t* user = loop ? loop : step->node;
    hlo_plan_range_t range = {planner->begins[user->index], planner->ends[user->index]};
    uint32_t buffer = hlo_planner_add_buffer(planner, HLO_ALLOCATION_TEMPORARY, 0, bytes);
    if (buffer == HLO_PLAN_NONE ||
        !hlo_planner_add_live_range(planner, buffer, range, HLO_PLAN_NONE)) {
      return hlo_arena_status(planner->arena);
    }
    planner->scratch_buffers[step->fusion->index] = buffer;
  }
  return hlo_ok();
}

// ---- donation

static hlo_status_t read_donation(hlo_planner_t* planner) {
  hlo_plan_t* plan = planner->plan;
  plan->donated_to =
      hlo_arena_array(planner->arena, plan->argument_count, sizeof *plan->donated_to);
  plan->donor_of = hlo_arena_array(planner->arena, plan->result_count, sizeof *plan->donor_of);
  HLO_TRY(hlo_arena_status(planner->arena));
  hlo_func_pair_donations(plan->func, plan->donated_to, plan->donor_of);
  return hlo_ok();
}

hlo_status_t hlo_planner_scan(hlo_planner_t* planner) {
  const hlo_region_t* body = planner->plan->func->body;
  HLO_TRY(number_region(planner, body));
  for (uint32_t i = 0; i < body->arg_count; ++i) define(planner, body->args[i], 0);
  HLO_TRY(scan_region(planner, body));
  if (planner->undefined) {
    return hlo_internal_error(
        "the schedule uses a value (%s) that no step makes",
        planner->undefined->def ? hlo_op_info(planner->undefined->def->op)->name : "an argument");
  }
  unite_region(planner, body);
  HLO_TRY(choose_registers(planner));
  if (planner->plan->schedule->concurrent_group_count) HLO_TRY(find_last_readers(planner));
  HLO_TRY(make_buffers(planner));
  HLO_TRY(make_scratch(planner));
  return read_donation(planner);
}
