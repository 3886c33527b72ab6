// SPDX-License-Identifier: Apache-2.0
// The two directions of pass pipeline_collectives.
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

/// Moves collectives of a loop of two iterations or more, where possible.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_pipeline_forward(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) HLO_MUST_USE;
hlo_status_t hlo_pipeline_backward(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop) HLO_MUST_USE;
