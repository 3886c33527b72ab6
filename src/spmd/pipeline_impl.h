// SPDX-License-Identifier: Apache-2.0
// The directions of pass pipeline_collectives.
#pragma once

#include "passes/passes.h"
#include "spmd/loop_rewrite.h"

typedef struct hlo_pipeliner {
  hlo_pass_ctx_t* ctx;
  bool* moves;  // by node->index: the node runs in another iteration; false for a loop's nodes at
                // first
  uint32_t capacity;
} hlo_pipeliner_t;

/// Returns true for collectives and ops that cost no more than a pass over memory: they may move
/// with a collective. Nothing moves across a barrier.
bool hlo_pipeline_can_move(const hlo_node_t* node);

/// The most iterations for which slices are computed.
enum { HLO_PIPELINE_ITERATIONS_MAX = 4096 };

/// Computes where the slice of a dynamic_slice or dynamic_update_slice starts in an iteration, from
/// its operands from `first` on. False if they depend on more than the counter.
bool hlo_pipeline_find_starts(const hlo_counted_loop_t* loop, const hlo_node_t* node,
                              uint32_t first, int32_t iteration, const int64_t* sizes,
                              int64_t* starts);

/// Moves collectives of a loop of two iterations or more, where possible.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_pipeline_forward(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) HLO_MUST_USE;
hlo_status_t hlo_pipeline_backward(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) HLO_MUST_USE;
hlo_status_t hlo_pipeline_sink(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) HLO_MUST_USE;
