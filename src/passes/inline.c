// SPDX-License-Identifier: Apache-2.0
// Pass inline: copies the body of a function to where it is called.
//
// Functions are finished callees first (an explicit stack, as calls may nest deeply), so that every
// body is copied in its final form. Functions that reach a recursion are left alone, and a caller
// stops growing at a limit: chains of doubling calls would fill any memory otherwise.
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "passes/passes.h"
#include "passes/splice.h"

enum { DEFAULT_SIZE_LIMIT = 20000, HIGHEST_SIZE_LIMIT = 1 << 30 };

typedef enum progress { WAITING, ACTIVE, DONE } progress_t;

// What is known of one function.
typedef struct state {
  hlo_func_t* func;
  progress_t progress;
  bool is_recursive;  // reaches a recursion
  uint32_t size;      // ops, nested ones included
  hlo_node_t** calls;
  uint32_t call_count, call_capacity, next_call;
  struct state* below;  // on the stack
} state_t;

typedef struct inliner {
  hlo_pass_ctx_t* ctx;
  hlo_map_t states;  // name -> state_t
  hlo_splicer_t splicer;
  state_t* top;  // of the stack; while it is being looked through
  uint32_t size_limit;  // ops of a caller beyond which calls stay calls
} inliner_t;

static state_t* callee_of(const inliner_t* inliner, const hlo_node_t* call) {
  const char* name = hlo_node_attr_text(call, HLO_ATTR_callee);
  return name ? hlo_map_get(&inliner->states, name, strlen(name)) : NULL;
}

// ---- copying one body

static hlo_status_t set_location(void* context, hlo_node_t* node) {
  const hlo_node_t* call = context;
  hlo_loc_t children[] = {node->loc, call->loc};
  node->loc = hlo_module_loc(
      call->parent->module,
      &(hlo_loc_info_t){.kind = HLO_LOC_CALLSITE, .child_count = 2, .children = children});
  return hlo_ok();
}

static hlo_status_t inline_call(inliner_t* inliner, hlo_node_t* call, const hlo_region_t* body) {
  hlo_value_t** operands =
      hlo_arena_array(&inliner->ctx->scratch, call->operand_count + 1, sizeof *operands);
  if (!operands) return hlo_arena_status(&inliner->ctx->scratch);
  for (uint32_t i = 0; i < call->operand_count; ++i) operands[i] = hlo_node_operand(call, i);
  HLO_TRY(hlo_splice(&inliner->splicer, body, operands, call, set_location, call));
  for (uint32_t i = 0; i < call->result_count; ++i) {
    hlo_value_replace_uses(&call->results[i], hlo_splice_result(&inliner->splicer, body, i));
  }
  hlo_node_erase(call);
  ++inliner->ctx->step_count;
  return hlo_ok();
}

// Types may differ in what is known of dynamic dims; such calls stay.
static bool fits(const hlo_node_t* call, const hlo_region_t* body) {
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || body->arg_count != call->operand_count || end->operand_count != call->result_count) {
    return false;
  }
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    if (body->args[i]->type != hlo_node_operand_type(call, i)) return false;
  }
  for (uint32_t i = 0; i < call->result_count; ++i) {
    if (call->results[i].type != hlo_node_operand_type(end, i)) return false;
  }
  return true;
}

// ---- the order of functions

static hlo_status_t collect(void* context, hlo_node_t* node) {
  inliner_t* inliner = context;
  state_t* state = inliner->top;
  ++state->size;
  if (node->op != HLO_OP_call) return hlo_ok();
  hlo_node_t** room =
      hlo_arena_room(&inliner->ctx->scratch, state->calls, state->call_count,
                     &state->call_capacity, sizeof *room);
  if (!room) return hlo_arena_status(&inliner->ctx->scratch);
  state->calls = room;
  state->calls[state->call_count++] = node;
  return hlo_ok();
}

static hlo_status_t push(inliner_t* inliner, state_t* state) {
  state->below = inliner->top;
  inliner->top = state;
  state->progress = ACTIVE;
  if (!state->func->body) return hlo_ok();
  return hlo_region_walk(state->func->body, false, collect, inliner);
}

// Every function that it calls is finished.
static hlo_status_t finish(inliner_t* inliner, state_t* state) {
  for (uint32_t i = 0; i < state->call_count; ++i) {
    const state_t* callee = callee_of(inliner, state->calls[i]);
    if (!callee || callee->is_recursive || state->size + callee->size > inliner->size_limit ||
        !fits(state->calls[i], callee->func->body)) {
      continue;
    }
    HLO_TRY(inline_call(inliner, state->calls[i], callee->func->body));
    state->size += callee->size;
  }
  state->progress = DONE;
  inliner->top = state->below;
  return hlo_ok();
}

static hlo_status_t visit(inliner_t* inliner, state_t* first) {
  if (first->progress == DONE) return hlo_ok();
  HLO_TRY(push(inliner, first));
  while (inliner->top) {
    state_t* state = inliner->top;
    if (state->next_call == state->call_count) {
      HLO_TRY(finish(inliner, state));
      continue;
    }
    state_t* callee = callee_of(inliner, state->calls[state->next_call]);
    if (callee && callee->progress == WAITING) {
      HLO_TRY(push(inliner, callee));
      continue;
    }
    if (callee) state->is_recursive |= callee->progress == ACTIVE || callee->is_recursive;
    ++state->next_call;
  }
  return hlo_ok();
}

static hlo_status_t run(inliner_t* inliner, hlo_module_t* module) {
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    state_t* state = hlo_arena_alloc_zeroed(&inliner->ctx->scratch, sizeof *state);
    if (!state) return hlo_arena_status(&inliner->ctx->scratch);
    state->func = func;
    if (!hlo_map_put(&inliner->states, func->name, strlen(func->name), state)) {
      return hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
    }
  }
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    HLO_TRY(visit(inliner, hlo_map_get(&inliner->states, func->name, strlen(func->name))));
  }
  return hlo_ok();
}

static hlo_status_t read_size_limit(const char* argument, uint32_t* out_limit) {
  *out_limit = DEFAULT_SIZE_LIMIT;
  if (!argument) return hlo_ok();
  char* end;
  long value = strtol(argument, &end, 10);
  if (*end || end == argument || value < 0 || value > HIGHEST_SIZE_LIMIT) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "the size limit is a number of ops, not '%s'", argument);
  }
  *out_limit = (uint32_t)value;
  return hlo_ok();
}

hlo_status_t hlo_pass_inline(hlo_pass_ctx_t* ctx, hlo_module_t* module, bool* out_changed) {
  inliner_t inliner = {.ctx = ctx, .splicer.arena = &ctx->scratch};
  HLO_TRY(read_size_limit(ctx->argument, &inliner.size_limit));
  hlo_status_t status = run(&inliner, module);
  hlo_map_deinit(&inliner.states);
  *out_changed = ctx->step_count > 0;
  return status;
}
