// SPDX-License-Identifier: Apache-2.0
// The state of planning. Values that are the same bytes form a class (union-find over value
// indices; a class is named by its root); classes that share memory form a buffer.
#pragma once

#include "codegen/memory/plan.h"
#include "ir/clone.h"

#define HLO_PLAN_NONE UINT32_MAX

/// Positions count steps (a concurrent group is one), ends of regions and the writes that end them,
/// in order of execution. Ranges are inclusive at both ends: a definition at the position of
/// another value's last use overlaps it.
typedef struct hlo_plan_range {
  uint32_t begin, end;
} hlo_plan_range_t;

/// The live range of a class in a buffer, or a write at the end of a branch.
typedef struct hlo_live_range {
  hlo_plan_range_t range;
  uint32_t root;  // HLO_PLAN_NONE for a write
} hlo_live_range_t;

typedef struct hlo_plan_buffer {
  hlo_allocation_kind_t kind;
  uint32_t index;  // as in hlo_allocation_t
  uint32_t live_range_count, live_range_capacity;
  hlo_live_range_t* live_ranges;  // by begin; disjoint, except where one may take the other's
                                  // memory
  hlo_dtype_t dtype;              // of a register
  uint64_t size_bytes;
  uint64_t offset_bytes;
  uint32_t joined;     // the buffer that it was joined to; itself otherwise
  bool is_collective;  // among the temporaries of collectives
} hlo_plan_buffer_t;

/// A copy, before allocations are known.
typedef struct hlo_plan_move {
  uint32_t from, to;  // buffers
  uint64_t size_bytes;
} hlo_plan_move_t;

/// The copies at one node, in order.
typedef struct hlo_plan_moves {
  const hlo_node_t* node;
  uint32_t count, capacity;
  hlo_plan_move_t* moves;
  struct hlo_plan_moves* next;
} hlo_plan_moves_t;

typedef struct hlo_planner {
  hlo_plan_t* plan;
  hlo_arena_t* arena;
  hlo_module_t* module;
  // by value index
  uint32_t* parents;         // union-find
  hlo_plan_range_t* ranges;  // of a value; once classes are final, of the class at its root
  uint64_t* sizes;
  uint32_t* buffer_of;  // by root; HLO_PLAN_NONE: no memory
  bool* in_register;    // by root
  const hlo_value_t** values;
  const hlo_fusion_t** makers;        // of values made by members of concurrent groups; NULL: made
                                      // by something else
  const hlo_fusion_t** last_readers;  // by root: for classes that end at a concurrent group, the
                                      // only member that reads them; NULL: several, or no group
  uint32_t* scratch_buffers;          // by index of the fusion; HLO_PLAN_NONE
  // by node index
  uint32_t* begins;  // position of a step; of a terminator: that of its uses
  uint32_t* ends;    // last position of a step with regions; of a terminator: that of its writes
  // by position
  const hlo_step_t** steps;  // of a concurrent group the first
  uint32_t position, position_capacity;
  hlo_plan_buffer_t* buffers;
  uint32_t buffer_count, buffer_capacity;
  const hlo_value_t* undefined;  // used but made by no step
  uint32_t** staged;  // by index of the node: buffers of the operands' copies, or HLO_PLAN_NONE;
                      // NULL as in plan.h
} hlo_planner_t;

/// Computes positions, ranges and sizes; unites values that are the same bytes; creates a buffer
/// per class.
hlo_status_t hlo_planner_scan(hlo_planner_t* planner) HLO_MUST_USE;
/// Marks the buffers of collectives that want memory of their own, and stages other operands.
hlo_status_t hlo_planner_color(hlo_planner_t* planner) HLO_MUST_USE;
/// Lists the remaining copies, lays out the arena and gives every value its allocation.
hlo_status_t hlo_planner_finish(hlo_planner_t* planner) HLO_MUST_USE;

uint32_t hlo_planner_root(const hlo_planner_t* planner, const hlo_value_t* value);
/// Returns the buffer of a value; HLO_PLAN_NONE without memory.
uint32_t hlo_planner_buffer(const hlo_planner_t* planner, const hlo_value_t* value);
/// Returns HLO_PLAN_NONE when memory is exhausted.
uint32_t hlo_planner_add_buffer(hlo_planner_t* planner, hlo_allocation_kind_t kind, uint32_t index,
                                uint64_t size_bytes);
bool hlo_planner_add_live_range(hlo_planner_t* planner, uint32_t buffer, hlo_plan_range_t range,
                                uint32_t root);

/// Returns true if a live range cannot be in a buffer beside those that it has.
bool hlo_planner_live_range_conflicts(const hlo_planner_t* planner, uint32_t buffer,
                                      const hlo_live_range_t* live_range);
/// The same for all live ranges of another buffer.
bool hlo_planner_buffers_conflict(const hlo_planner_t* planner, uint32_t x, uint32_t y);
/// Adds a buffer's live ranges to those of another; false when memory is exhausted.
bool hlo_planner_merge_live_ranges(hlo_planner_t* planner, uint32_t to, uint32_t from);
