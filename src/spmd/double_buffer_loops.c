// SPDX-License-Identifier: Apache-2.0
// Pass double_buffer_loops: computes two iterations of a loop with collectives in one, so that a
// collective of one iteration can run beside the work of the other, with buffers of its own. The
// trip count is known; the first iteration of an odd one is put before the loop, and the condition
// then is only asked every second time. Values stay the same bit for bit.
#include "ir/clone.h"
#include "passes/passes.h"
#include "passes/splice.h"
#include "passes/trip_count.h"
#include "spmd/passes.h"

enum { TRIP_COUNT_MAX = 1 << 20 };  // counting up to it may take this many steps

typedef struct unroller {
  hlo_pass_ctx_t* ctx;
  hlo_splicer_t splicer;
} unroller_t;

static hlo_status_t note_collective(void* context, hlo_node_t* node) {
  *(bool*)context |= hlo_op_has(node->op, HLO_TRAIT_COLLECTIVE);
  return hlo_ok();
}

static bool has_collective(const hlo_region_t* body) {
  bool found = false;
  hlo_status_release(hlo_region_walk((hlo_region_t*)body, false, note_collective, &found));
  return found;
}

// Copies the body before `insertion_point`, as an iteration from values[] on, and replaces them by
// what the iteration leaves.
static hlo_status_t iterate(unroller_t* u, const hlo_region_t* body, hlo_value_t** values,
                            hlo_node_t* insertion_point) {
  HLO_TRY(hlo_splice(&u->splicer, body, values, insertion_point, NULL, NULL));
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    values[i] = hlo_splice_result(&u->splicer, body, i);
  }
  return hlo_ok();
}

// Copies an iteration before `user`, from its operands on, which it replaces.
static hlo_status_t iterate_before(unroller_t* u, const hlo_region_t* body, hlo_node_t* user) {
  hlo_value_t** values = hlo_arena_array(&u->ctx->scratch, user->operand_count, sizeof *values);
  HLO_TRY(hlo_arena_status(&u->ctx->scratch));
  for (uint32_t i = 0; i < user->operand_count; ++i) values[i] = hlo_node_operand(user, i);
  HLO_TRY(iterate(u, body, values, user));
  for (uint32_t i = 0; i < user->operand_count; ++i) hlo_node_set_operand(user, i, values[i]);
  return hlo_module_status(user->parent->module);
}

static hlo_status_t unroll_loop(void* context, hlo_node_t* loop) {
  unroller_t* u = context;
  if (loop->op != HLO_OP_while || !loop->operand_count) return hlo_ok();
  hlo_region_t* body = loop->regions[1];
  hlo_node_t* end = hlo_region_terminator(body);
  if (!end || end->operand_count != loop->operand_count || !has_collective(body)) return hlo_ok();
  const int32_t trip_count = hlo_loop_trip_count(loop, TRIP_COUNT_MAX);
  if (trip_count < 2) return hlo_ok();
  if (trip_count % 2) HLO_TRY(iterate_before(u, body, loop));
  HLO_TRY(iterate_before(u, body, end));
  ++u->ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_double_buffer_loops(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  unroller_t unroller = {.ctx = ctx, .splicer = {.arena = &ctx->scratch}};
  return hlo_module_walk(module, true, unroll_loop, &unroller);
}
