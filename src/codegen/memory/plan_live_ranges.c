// SPDX-License-Identifier: Apache-2.0
// Which classes may share a buffer, and when: a buffer's live ranges in order of their beginnings.
// They are disjoint, so a further one can overlap only its two neighbours.
#include <string.h>

#include "codegen/memory/plan_impl.h"
#include "ir/call.h"

// ---- compatibility of two live ranges

static bool fusion_may_share(const hlo_planner_t* planner, const hlo_fusion_t* fusion,
                             uint32_t ending, uint32_t beginning) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  bool found = false;
  for (uint32_t o = 0; kernel && o < fusion->output_count; ++o) {
    if (hlo_planner_root(planner, fusion->outputs[o]) != beginning) continue;
    for (uint32_t i = 0; i < fusion->input_count; ++i) {
      if (hlo_planner_root(planner, fusion->inputs[i]) != ending) continue;
      if (!hlo_kernel_may_share(kernel, o, i)) return false;
      found = true;
    }
  }
  return found;
}

// Only the member that makes one value may read the other.
static bool concurrent_group_may_share(const hlo_planner_t* planner, uint32_t ending,
                                       uint32_t beginning) {
  const hlo_fusion_t* maker = planner->makers[beginning];
  return maker && planner->last_readers[ending] == maker &&
         fusion_may_share(planner, maker, ending, beginning);
}

static bool node_may_share(const hlo_planner_t* planner, const hlo_node_t* node, uint32_t ending,
                           uint32_t beginning) {
  bool found = false;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (hlo_planner_root(planner, &node->results[r]) != beginning) continue;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      if (hlo_planner_root(planner, hlo_node_operand(node, i)) != ending) continue;
      if (!hlo_call_may_share(node, r, i) && !hlo_call_may_cover(node, r, i)) {
        return false;
      }
      found = true;
    }
  }
  if (!found || node->region_count == 0) return found;
  // A region may use the operand that the node changes.
  uint32_t count = 0;
  const hlo_value_t** captures = NULL;
  if (!hlo_status_take_ok(hlo_node_captures(node, planner->arena, &count, &captures))) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (hlo_planner_root(planner, captures[i]) == ending) return false;
  }
  return true;
}

// A loop's slot takes over the memory of its initial value.
static bool loop_may_share(const hlo_planner_t* planner, const hlo_node_t* node, uint32_t ending,
                           uint32_t beginning) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_planner_root(planner, hlo_node_operand(node, i)) == ending &&
        hlo_planner_root(planner, node->regions[0]->args[i]) == beginning) {
      return true;
    }
  }
  return false;
}

// A range that begins where another ends may take its memory if the step there allows it.
static bool may_meet(const hlo_planner_t* planner, uint32_t position, uint32_t ending,
                     uint32_t beginning) {
  const hlo_step_t* step = planner->steps[position];
  if (!step || ending == HLO_PLAN_NONE || beginning == HLO_PLAN_NONE) return false;
  switch (step->kind) {
    case HLO_STEP_FUSION:
      return step->fusion->concurrent_group
                 ? concurrent_group_may_share(planner, ending, beginning)
                 : fusion_may_share(planner, step->fusion, ending, beginning);
    case HLO_STEP_CALL: return node_may_share(planner, step->node, ending, beginning);
    case HLO_STEP_CONTROL:
      return step->node->op == HLO_OP_while &&
             loop_may_share(planner, step->node, ending, beginning);
    case HLO_STEP_VIEW: break;
  }
  return false;
}

static bool live_ranges_conflict(const hlo_planner_t* planner, const hlo_live_range_t* a,
                                 const hlo_live_range_t* b) {
  if (a->range.end < b->range.begin || b->range.end < a->range.begin) return false;
  if (a->range.end == b->range.begin && a->range.begin < b->range.begin) {
    return !may_meet(planner, a->range.end, a->root, b->root);
  }
  if (b->range.end == a->range.begin && b->range.begin < a->range.begin) {
    return !may_meet(planner, b->range.end, b->root, a->root);
  }
  return true;
}

// Returns the first live range of a buffer that begins later.
static uint32_t find_later(const hlo_plan_buffer_t* buffer, uint32_t begin) {
  uint32_t low = 0, high = buffer->live_range_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (buffer->live_ranges[middle].range.begin <= begin) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool hlo_planner_live_range_conflicts(const hlo_planner_t* planner, uint32_t buffer,
                                      const hlo_live_range_t* live_range) {
  const hlo_plan_buffer_t* b = &planner->buffers[buffer];
  uint32_t later = find_later(b, live_range->range.begin);
  return (later > 0 && live_ranges_conflict(planner, &b->live_ranges[later - 1], live_range)) ||
         (later < b->live_range_count &&
          live_ranges_conflict(planner, live_range, &b->live_ranges[later]));
}

bool hlo_planner_buffers_conflict(const hlo_planner_t* planner, uint32_t x, uint32_t y) {
  bool is_swapped = planner->buffers[x].live_range_count > planner->buffers[y].live_range_count;
  uint32_t large = is_swapped ? x : y;
  const hlo_plan_buffer_t* small = &planner->buffers[is_swapped ? y : x];
  for (uint32_t i = 0; i < small->live_range_count; ++i) {
    if (hlo_planner_live_range_conflicts(planner, large, &small->live_ranges[i])) return true;
  }
  return false;
}

static bool reserve(hlo_planner_t* planner, hlo_plan_buffer_t* buffer, uint32_t count) {
  if (count <= buffer->live_range_capacity) return true;
  uint32_t capacity =
      count < 2 * buffer->live_range_capacity ? 2 * buffer->live_range_capacity : count;
  hlo_live_range_t* room = hlo_arena_array(planner->arena, capacity, sizeof *room);
  if (!room) return false;
  if (buffer->live_range_count)
    memcpy(room, buffer->live_ranges, buffer->live_range_count * sizeof *room);
  buffer->live_ranges = room;
  buffer->live_range_capacity = capacity;
  return true;
}

// Merges from the end, no further than the first new range: appending costs only the new ranges.
static bool insert(hlo_planner_t* planner, hlo_plan_buffer_t* buffer,
                   const hlo_live_range_t* live_ranges, uint32_t count) {
  uint32_t at = buffer->live_range_count, end = at + count;
  if (!reserve(planner, buffer, end)) return false;
  buffer->live_range_count = end;
  while (count > 0) {
    bool is_old =
        at > 0 && buffer->live_ranges[at - 1].range.begin > live_ranges[count - 1].range.begin;
    buffer->live_ranges[--end] = is_old ? buffer->live_ranges[--at] : live_ranges[--count];
  }
  return true;
}

bool hlo_planner_add_live_range(hlo_planner_t* planner, uint32_t buffer, hlo_plan_range_t range,
                                uint32_t root) {
  const hlo_live_range_t live_range = {range, root};
  return insert(planner, &planner->buffers[buffer], &live_range, 1);
}

bool hlo_planner_merge_live_ranges(hlo_planner_t* planner, uint32_t to, uint32_t from) {
  hlo_plan_buffer_t* a = &planner->buffers[to];
  hlo_plan_buffer_t b = planner->buffers[from];
  if (a->live_range_count < b.live_range_count) {  // insert the shorter list into the longer one
    const hlo_plan_buffer_t few = *a;
    a->live_ranges = b.live_ranges, a->live_range_count = b.live_range_count,
    a->live_range_capacity = b.live_range_capacity;
    b.live_ranges = few.live_ranges, b.live_range_count = few.live_range_count;
  }
  return insert(planner, a, b.live_ranges, b.live_range_count);
}
