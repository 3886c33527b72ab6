// SPDX-License-Identifier: Apache-2.0
// Pass inline: replaces calls with the bodies of their callees.
//
// Only functions that can be called from outside are expanded. Starting at such a function, each
// body is copied in its original form and the calls in the copy follow. Every copied op thus
// remains in the program, and the functions in between are only read. Functions that reach a
// recursion are left alone. A function stops growing at a limit, since chains of doubling calls
// would exhaust any memory.
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/tuning.h"
#include "passes/passes.h"
#include "passes/splice.h"

enum { HIGHEST_SIZE_LIMIT = 1 << 30 };

typedef enum progress { WAITING, ACTIVE, DONE } progress_t;

// The facts about one function.
typedef struct state {
  hlo_func_t* func;
  progress_t progress;
  bool is_recursive;  // reaches a recursion
  uint32_t size;      // ops, nested ones included
  hlo_node_t** calls;
  uint32_t call_count, call_capacity, next_call;
  struct state* below;  // next one down the stack
} state_t;

typedef struct inliner {
  hlo_pass_ctx_t* ctx;
  hlo_map_t states;  // name -> state_t
  hlo_splicer_t splicer;
  state_t* top;         // top of the stack, while the function is visited
  uint32_t size_limit;  // number of ops of a caller beyond which calls remain
  // State of the function that is being expanded:
  hlo_node_t** waiting;  // calls to expand, the next one last
  uint32_t waiting_count, waiting_capacity;
  const hlo_node_t* call;  // call whose callee is being copied
} inliner_t;

static state_t* callee_of(const inliner_t* inliner, const hlo_node_t* call) {
  const char* name = hlo_node_attr_text(call, HLO_ATTR_callee);
  return name ? hlo_map_get(&inliner->states, name, strlen(name)) : NULL;
}

// ---- recursion

static hlo_status_t collect(void* context, hlo_node_t* node) {
  inliner_t* inliner = context;
  state_t* state = inliner->top;
  ++state->size;
  if (node->op != HLO_OP_call) return hlo_ok();
  if (!HLO_ARENA_GROW(&inliner->ctx->scratch, state->calls, state->call_count,
                      state->call_capacity))
    return hlo_arena_status(&inliner->ctx->scratch);
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

static hlo_status_t look_through(inliner_t* inliner, state_t* first) {
  if (first->progress == DONE) return hlo_ok();
  HLO_TRY(push(inliner, first));
  while (inliner->top) {
    state_t* state = inliner->top;
    if (state->next_call == state->call_count) {
      state->progress = DONE;
      inliner->top = state->below;
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

// ---- copies

static hlo_status_t add_waiting(inliner_t* inliner, hlo_node_t* call) {
  if (!HLO_ARENA_GROW(&inliner->ctx->scratch, inliner->waiting, inliner->waiting_count,
                      inliner->waiting_capacity))
    return hlo_arena_status(&inliner->ctx->scratch);
  inliner->waiting[inliner->waiting_count++] = call;
  return hlo_ok();
}

// Handles a copied op: sets its call location, and queues it if it is a call.
static hlo_status_t note_copy(void* context, hlo_node_t* node) {
  inliner_t* inliner = context;
  hlo_loc_t children[] = {node->loc, inliner->call->loc};
  node->loc = hlo_module_loc(
      inliner->call->parent->module,
      &(hlo_loc_info_t){.kind = HLO_LOC_CALLSITE, .child_count = 2, .children = children});
  return node->op == HLO_OP_call ? add_waiting(inliner, node) : hlo_ok();
}

// Reverses the queue from `from` on: the last entry is next, and calls are expanded in program
// order.
static void reverse_queue(inliner_t* inliner, uint32_t from) {
  for (uint32_t to = inliner->waiting_count; from + 1 < to; ++from, --to) {
    hlo_node_t* call = inliner->waiting[from];
    inliner->waiting[from] = inliner->waiting[to - 1];
    inliner->waiting[to - 1] = call;
  }
}

static hlo_status_t inline_call(inliner_t* inliner, hlo_node_t* call, const hlo_region_t* body) {
  hlo_value_t** operands =
      hlo_arena_array(&inliner->ctx->scratch, call->operand_count + 1, sizeof *operands);
  if (!operands) return hlo_arena_status(&inliner->ctx->scratch);
  for (uint32_t i = 0; i < call->operand_count; ++i) operands[i] = hlo_node_operand(call, i);
  uint32_t waiting_count = inliner->waiting_count;
  inliner->call = call;
  HLO_TRY(hlo_splice(&inliner->splicer, body, operands, call, note_copy, inliner));
  reverse_queue(inliner, waiting_count);
  for (uint32_t i = 0; i < call->result_count; ++i) {
    hlo_value_replace_uses(&call->results[i], hlo_splice_result(&inliner->splicer, body, i));
  }
  hlo_node_erase(call);
  ++inliner->ctx->step_count;
  return hlo_ok();
}

// Returns false if the types differ in known dynamic dims; such calls are kept.
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

static hlo_status_t take_bodies(inliner_t* inliner, state_t* state) {
  inliner->waiting_count = 0;
  for (uint32_t i = 0; i < state->call_count; ++i) HLO_TRY(add_waiting(inliner, state->calls[i]));
  reverse_queue(inliner, 0);
  while (inliner->waiting_count) {
    hlo_node_t* call = inliner->waiting[--inliner->waiting_count];
    const state_t* callee = callee_of(inliner, call);
    if (!callee || callee->is_recursive || !fits(call, callee->func->body)) continue;
    uint64_t grown = (uint64_t)state->size + callee->size - 2;  // neither the call nor the
                                                                // terminator remains
    if (grown > inliner->size_limit) continue;
    HLO_TRY(inline_call(inliner, call, callee->func->body));
    state->size = (uint32_t)grown;
  }
  return hlo_ok();
}

static state_t* state_of(const inliner_t* inliner, const hlo_func_t* func) {
  return hlo_map_get(&inliner->states, func->name, strlen(func->name));
}

static hlo_status_t inline_calls(inliner_t* inliner, hlo_module_t* module) {
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    state_t* state = hlo_arena_alloc_zeroed(&inliner->ctx->scratch, sizeof *state);
    if (!state) return hlo_arena_status(&inliner->ctx->scratch);
    state->func = func;
    if (!hlo_map_put(&inliner->states, func->name, strlen(func->name), state)) {
      return hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
    }
  }
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    HLO_TRY(look_through(inliner, state_of(inliner, func)));
  }
  const hlo_func_t* entry = hlo_module_entry(module);
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    bool is_called_from_outside = func == entry || func->visibility != HLO_PRIVATE;
    if (is_called_from_outside) HLO_TRY(take_bodies(inliner, state_of(inliner, func)));
  }
  return hlo_ok();
}

static hlo_status_t read_size_limit(const char* argument, uint32_t* out_limit) {
  *out_limit = HLO_TUNING_INLINE_MAX_OPS;
  if (!argument) return hlo_ok();
  char* end;
  long value = strtol(argument, &end, 10);
  if (*end || end == argument || value < 0 || value > HIGHEST_SIZE_LIMIT) {
    return hlo_invalid_argument("the size limit is a number of ops, not '%s'", argument);
  }
  *out_limit = (uint32_t)value;
  return hlo_ok();
}

hlo_status_t hlo_pass_inline(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  inliner_t inliner = {.ctx = ctx, .splicer.arena = &ctx->scratch};
  HLO_TRY(read_size_limit(ctx->argument, &inliner.size_limit));
  hlo_status_t status = inline_calls(&inliner, module);
  hlo_map_deinit(&inliner.states);
  return status;
}
