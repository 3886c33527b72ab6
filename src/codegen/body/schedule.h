// SPDX-License-Identifier: Apache-2.0
// A function's body as data before code generation: a sequence of steps. Most steps are fusions,
// groups of ops that one loop nest computes, so that the values between them never reach memory.
// src/codegen/fuse makes them.
#pragma once

#include "codegen/body/verdict.h"
#include "ir/module.h"

/// while, if, case: ops of a prepared body whose regions become code of their own.
static inline bool hlo_op_is_control(hlo_op_t op) {
  return hlo_op_has(op, HLO_TRAIT_STRUCTURED);
}

/// Kernels that run concurrently, as chunks of one parallel loop. Their steps are adjacent, and
/// none reads or updates the results of another.
typedef struct hlo_concurrent_group {
  uint32_t index;  // dense in the schedule
  uint32_t member_count;
  struct hlo_fusion* const* members;  // in the order of their steps
} hlo_concurrent_group_t;

/// A fused kernel. Cheap nodes (broadcasts, constants, iota ...) may be members of several fusions.
typedef struct hlo_fusion {
  uint32_t index;  // dense in the schedule
  uint32_t node_count, input_count, output_count;
  uint32_t extra_output_count;  // outputs of another size than the first output; they come last
  hlo_node_t** nodes;
  hlo_value_t** inputs;            // read from memory
  hlo_value_t** outputs;           // written to memory: members' results that others use
  struct hlo_kernel* kernel;       // set by hlo_kernel_create(); that of `model`, if any
  const struct hlo_fusion* model;  // the first of several equal fusions (the same computation of
                                   // other values, in the same order); NULL: the only one
  const hlo_concurrent_group_t* concurrent_group;  // NULL: it runs by itself
  const struct hlo_kernel_config* config;  // choices of the kernel that are given; NULL: none
  const struct hlo_kernel_start*
      start;  // the loops of a smaller fusion, with which the choice of loops starts; NULL: none
} hlo_fusion_t;

typedef enum hlo_step_kind {
  HLO_STEP_FUSION,   // `fusion`
  HLO_STEP_VIEW,     // `node`: the same bytes under another type (reshape), no work if shared
  HLO_STEP_CALL,     // `node`: computed by a library function or the reference
  HLO_STEP_CONTROL,  // `node`: while, if, case; each of its regions has its own sequence
} hlo_step_kind_t;

typedef struct hlo_step {
  hlo_step_kind_t kind;
  hlo_node_t* node;  // the last member for a fusion
  hlo_fusion_t* fusion;
} hlo_step_t;

/// Returns true if the program returns the value itself, which its caller reads after all processes
/// have ended.
bool hlo_value_is_program_result(const hlo_value_t* value);

/// Returns true for ops that reinterpret the same bytes: they are steps of kind VIEW unless fused.
bool hlo_node_is_view(const hlo_node_t* node);

typedef struct hlo_value_list {
  uint32_t count;
  const hlo_value_t* const* values;
} hlo_value_list_t;
/// Returns the values that a step reads, including those that its regions use from the enclosing
/// scope: the fusion's own list, or one in `arena`.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_step_list_read(const hlo_step_t* step, hlo_arena_t* arena,
                                hlo_value_list_t* out_read) HLO_MUST_USE;

/// Returns the concurrent group of a step, or NULL.
static inline const hlo_concurrent_group_t* hlo_step_concurrent_group(const hlo_step_t* step) {
  return step->fusion ? step->fusion->concurrent_group : NULL;
}

/// The steps of one region, in an order that respects uses and tokens. Constants and the terminator
/// are not steps.
typedef struct hlo_sequence {
  const hlo_region_t* region;
  uint32_t step_count;
  hlo_step_t* steps;
} hlo_sequence_t;

/// The reason why an op is not a member of a fusion that uses its result.
typedef struct hlo_rejection {
  const hlo_node_t *rejected, *user;  // the user is a member of the fusion
  bool is_merge;                      // both read one array, and their fusions were not merged
  hlo_verdict_t verdict;
} hlo_rejection_t;

typedef struct hlo_schedule {
  uint32_t sequence_count, fusion_count, concurrent_group_count;
  hlo_sequence_t* sequences;  // the function's body first
  uint32_t* sequence_of;      // by index of the region's terminator: its number + 1
  uint64_t walked_count;      // members of all kernels made or tried: a measure of compile time
  uint32_t rejection_count;   // those of hlo_schedule_create_explained(), in order of decision
  hlo_rejection_t* rejections;
} hlo_schedule_t;

/// Completes a schedule: hlo_schedule_find() works afterwards.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_finish(hlo_schedule_t* schedule, const hlo_module_t* module,
                                 hlo_arena_t* arena) HLO_MUST_USE;
const hlo_sequence_t* hlo_schedule_find(const hlo_schedule_t* schedule, const hlo_region_t* region);

/// The position in a walk over the steps of all sequences; begins as zeros.
typedef struct hlo_step_cursor {
  uint32_t sequence, step;
} hlo_step_cursor_t;

/// Returns the next step of the walk, or NULL after the last one.
static inline const hlo_step_t* hlo_schedule_step(const hlo_schedule_t* schedule,
                                                  hlo_step_cursor_t* cursor) {
  for (; cursor->sequence < schedule->sequence_count; ++cursor->sequence, cursor->step = 0) {
    const hlo_sequence_t* sequence = &schedule->sequences[cursor->sequence];
    if (cursor->step < sequence->step_count) return &sequence->steps[cursor->step++];
  }
  return NULL;
}

/// Checks the rules of a fusion: members in order, inputs and outputs, equality with its model.
/// errors: INTERNAL, naming the broken rule and a node
hlo_status_t hlo_fusion_verify(const hlo_fusion_t* fusion) HLO_MUST_USE;
/// Checks the rules of a schedule and of its fusions: kinds of steps, their order, concurrent
/// groups.
/// errors: INTERNAL, naming the broken rule and a node; RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_verify(const hlo_schedule_t* schedule,
                                 const hlo_func_t* func) HLO_MUST_USE;
