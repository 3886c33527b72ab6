// SPDX-License-Identifier: Apache-2.0
// Pass pipeline_collectives: moves collectives of a loop into the next iteration (forward) or the
// one before (backward), so that they run beside the work there. See pipeline_forward.c and
// pipeline_backward.c.
#include <string.h>

#include "passes/effects.h"
#include "spmd/passes.h"
#include "spmd/pipeline_impl.h"

bool hlo_pipeline_can_move(const hlo_node_t* node) {
  switch (hlo_op_info(node->op)->cost) {
    case HLO_COST_EXCHANGE: return true;
    case HLO_COST_INDEX:
    case HLO_COST_MOVE:
    case HLO_COST_UPDATE:
    case HLO_COST_SIMPLE: return !node->region_count && hlo_node_is_pure(node);
    default: return false;
  }
}

typedef struct run {
  hlo_pipeliner_t pipeliner;
  hlo_status_t (*pipeline)(hlo_pipeliner_t* p, const hlo_counted_loop_t* loop);
} run_t;

static hlo_status_t pipeline_loop(void* context, hlo_node_t* node) {
  run_t* run = context;
  hlo_pipeliner_t* p = &run->pipeliner;
  hlo_counted_loop_t loop;
  if (!hlo_counted_loop_match(node, &loop) || loop.trip_count < 2) return hlo_ok();
  const uint32_t count = node->parent->module->node_count + 1;
  if (count > p->capacity) {
    p->capacity = 2 * count;
    p->moves = hlo_arena_array(&p->ctx->scratch, p->capacity, sizeof *p->moves);
    HLO_TRY(hlo_arena_status(&p->ctx->scratch));
  }
  for (const hlo_node_t* n = loop.body->first; n; n = n->next) p->moves[n->index] = false;
  return run->pipeline(p, &loop);
}

hlo_status_t hlo_pass_pipeline_collectives(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  run_t run = {.pipeliner = {.ctx = ctx}, .pipeline = hlo_pipeline_forward};
  if (ctx->argument && strcmp(ctx->argument, "backward") == 0) {
    run.pipeline = hlo_pipeline_backward;
  } else if (ctx->argument && strcmp(ctx->argument, "forward") != 0) {
    return hlo_invalid_argument("pipeline_collectives takes forward or backward, not '%s'",
                                ctx->argument);
  }
  return hlo_module_walk(module, true, pipeline_loop, &run);
}
