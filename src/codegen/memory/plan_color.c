// SPDX-License-Identifier: Apache-2.0
// The memory of collectives: a transport may need operands and results in memory that it knows,
// such as windows of other processes. Those of the collectives that ask for it lie side by side at
// the end of the arena; arguments and constants, which lie elsewhere, are copied there first.
#include "codegen/body/split.h"
#include "codegen/memory/plan_impl.h"
#include "ir/call.h"

static bool is_changed(const hlo_node_t* node, uint32_t operand) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (hlo_call_may_share(node, r, operand)) return true;
  }
  return false;
}

// Marks a buffer that the plan places; returns false for others that have bytes.
static bool mark(hlo_planner_t* planner, const hlo_value_t* value) {
  const uint32_t buffer = hlo_planner_buffer(planner, value);
  if (buffer == HLO_PLAN_NONE || !planner->sizes[value->index]) return true;
  if (planner->buffers[buffer].kind != HLO_ALLOCATION_TEMPORARY) return false;
  planner->buffers[buffer].is_collective = true;
  return true;
}

// Gives a copy of an operand a buffer, until the collective has ended.
static hlo_status_t stage(hlo_planner_t* planner, const hlo_node_t* node, uint32_t operand) {
  const hlo_node_t* end = hlo_split_end(node);
  const hlo_plan_range_t range = {planner->begins[node->index],
                                  planner->begins[(end ? end : node)->index]};
  const uint64_t size_bytes = planner->sizes[hlo_node_operand(node, operand)->index];
  const uint32_t buffer = hlo_planner_add_buffer(planner, HLO_ALLOCATION_TEMPORARY, 0, size_bytes);
  if (buffer == HLO_PLAN_NONE ||
      !hlo_planner_add_live_range(planner, buffer, range, HLO_PLAN_NONE)) {
    return hlo_arena_status(planner->arena);
  }
  planner->buffers[buffer].is_collective = true;
  planner->staged[node->index][operand] = buffer;
  return hlo_ok();
}

static hlo_status_t color(hlo_planner_t* planner, const hlo_node_t* node) {
  hlo_arena_t* arena = planner->arena;
  if (!planner->staged) {
    planner->staged = hlo_arena_array(arena, planner->module->node_count, sizeof(uint32_t*));
    if (!planner->staged) return hlo_arena_status(arena);
  }
  uint32_t* staged = hlo_arena_array(arena, node->operand_count, sizeof *staged);
  if (!staged) return hlo_arena_status(arena);
  planner->staged[node->index] = staged;
  for (uint32_t r = 0; r < node->result_count; ++r) mark(planner, &node->results[r]);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    staged[i] = HLO_PLAN_NONE;
    const bool is_placed = is_changed(node, i) || mark(planner, hlo_node_operand(node, i));
    if (!is_placed) HLO_TRY(stage(planner, node, i));
  }
  return hlo_ok();
}

hlo_status_t hlo_planner_color(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    if (step->kind != HLO_STEP_CALL || !hlo_node_wants_collective_memory(step->node)) continue;
    HLO_TRY(color(planner, step->node));
  }
  return hlo_ok();
}
