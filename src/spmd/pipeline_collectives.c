// SPDX-License-Identifier: Apache-2.0
// Pass pipeline_collectives: moves collectives of a loop into the next iteration (forward) or the
// one before (backward), so that they run beside the work there, or after the loop (sink). See
// pipeline_forward.c, pipeline_backward.c and pipeline_sink.c.
#include <string.h>

#include "passes/effects.h"
#include "spmd/integers.h"
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

bool hlo_pipeline_find_starts(const hlo_counted_loop_t* loop, const hlo_node_t* node,
                              uint32_t first, int32_t iteration, const int64_t* sizes,
                              int64_t* starts) {
  const hlo_type_t* whole = hlo_node_operand_type(node, 0);
  const hlo_integer_env_t env = {.known = loop->body->args[loop->counter],
                                 .known_value = loop->first + iteration * loop->step};
  for (uint32_t d = 0; d < whole->rank; ++d) {
    if (!hlo_integer_evaluate(&env, hlo_node_operand(node, first + d), &starts[d])) return false;
    const int64_t most = whole->dims[d] - sizes[d];
    starts[d] = starts[d] < 0 ? 0 : starts[d] > most ? most : starts[d];
  }
  return true;
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
  } else if (ctx->argument && strcmp(ctx->argument, "sink") == 0) {
    run.pipeline = hlo_pipeline_sink;
  } else if (ctx->argument && strcmp(ctx->argument, "forward") != 0) {
    return hlo_invalid_argument("pipeline_collectives takes forward, backward or sink, not '%s'",
                                ctx->argument);
  }
  return hlo_module_walk(module, true, pipeline_loop, &run);
}
