// SPDX-License-Identifier: Apache-2.0
// Operations that programs compiled ahead of time leave to the library (sorts, scatters, FFT,
// linear algebra): their module is parsed at the first call, and each call is a library function
// prepared from its node. Programs without such calls are not linked with this file.
#include <string.h>

#include "base/mem.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "lib/call.h"
#include "rt/rt.h"

typedef struct call {
  const hlo_node_t* node;  // NULL: no call has this number
  const hlo_rt_call_t* record;
  hlo_lib_call_t* library;
} call_t;

typedef struct state {
  struct state* next;
  hlo_arena_t arena;
  hlo_module_t* module;
  call_t* calls;  // by call site number
  uint32_t call_site_limit;
} state_t;

// Every state, released when the library is closed.
static _Atomic(state_t*) g_states;

static void state_release(state_t* state) {
  for (uint32_t i = 0; state->calls && i < state->call_site_limit; ++i) {
    hlo_lib_call_deinit(state->calls[i].library);
  }
  hlo_module_release(state->module);
  hlo_arena_deinit(&state->arena);
  hlo_mem_free(state);
}

__attribute__((destructor)) static void release_states(void) {
  state_t* state = atomic_exchange(&g_states, NULL);
  while (state) {
    state_t* next = state->next;
    state_release(state);
    state = next;
  }
}

static hlo_status_t add_call(state_t* state, const hlo_rt_call_t* record, const hlo_node_t* node) {
  call_t* call = &state->calls[record->call_site];
  *call = (call_t){.node = node, .record = record};
  HLO_TRY(hlo_lib_call_prepare(node, &state->arena, &call->library));
  if (call->library && node->operand_count + node->result_count == record->allocation_count) {
    return hlo_ok();
  }
  return hlo_internal_error("call %u has other operands", record->call_site);
}

static hlo_status_t read_calls(state_t* state, const hlo_rt_calls_t* calls, hlo_diag_t* diag) {
  HLO_TRY(hlo_parse_module(calls->text, calls->text_bytes, "program", diag, &state->module));
  HLO_TRY(hlo_module_verify(state->module, diag));
  const hlo_func_t* func = hlo_module_find_func(state->module, "calls");
  state->calls = hlo_arena_array(&state->arena, calls->call_site_limit, sizeof *state->calls);
  HLO_TRY(hlo_arena_status(&state->arena));
  state->call_site_limit = calls->call_site_limit;
  const hlo_node_t* node = func && func->body ? func->body->first : NULL;
  for (uint32_t i = 0; i < calls->count; ++i, node = node->next) {
    while (node && node->op == HLO_OP_constant) node = node->next;  // operands of calls
    if (!node) return hlo_internal_error("calls are missing");
    HLO_TRY(add_call(state, &calls->calls[i], node));
  }
  return hlo_ok();
}

static hlo_status_t state_create(const hlo_rt_calls_t* calls, state_t** out_state) {
  state_t* state = hlo_mem_alloc_zeroed(sizeof *state);
  if (!state) return hlo_status_out_of_memory(sizeof *state);
  hlo_arena_init(&state->arena, 0);
  hlo_diag_t diag;
  hlo_diag_init(&diag, NULL, NULL, 0);
  hlo_status_t status = read_calls(state, calls, &diag);
  hlo_diag_deinit(&diag);
  if (!hlo_status_is_ok(status)) {
    state_release(state);
    return status;
  }
  *out_state = state;
  return hlo_ok();
}

// acquire and release: a state is seen as its maker left it. Of two made at once the first is kept.
static hlo_status_t find_state(const hlo_rt_calls_t* calls, state_t** out_state) {
  _Atomic(void*)* slot = (_Atomic(void*)*)calls->state;
  *out_state = atomic_load_explicit(slot, memory_order_acquire);
  if (*out_state) return hlo_ok();
  state_t* state = NULL;
  HLO_TRY(state_create(calls, &state));
  void* other = NULL;
  if (!atomic_compare_exchange_strong(slot, &other, state)) {
    state_release(state);
    *out_state = other;
    return hlo_ok();
  }
  state->next = atomic_load(&g_states);
  while (!atomic_compare_exchange_weak(&g_states, &state->next, state)) {
  }
  *out_state = state;
  return hlo_ok();
}

static hlo_status_t run(hlo_frame_t* frame, uint32_t call_site, void* const* buffers) {
  const hlo_rt_program_t* program = frame->program;
  state_t* state = NULL;
  HLO_TRY(find_state(program->calls, &state));
  const call_t* call =
      call_site < program->calls->call_site_limit ? &state->calls[call_site] : NULL;
  if (!call || !call->node) return hlo_internal_error("no call %u", call_site);
  void* addresses[HLO_LIB_CALL_VALUES_MAX];
  for (uint32_t i = 0; i < call->record->allocation_count && !buffers; ++i) {
    addresses[i] = hlo_rt_address(frame, &call->record->allocations[i]);
  }
  return hlo_lib_call_run(call->library, frame, buffers ? buffers : addresses);
}

int32_t hlo_rt_call(hlo_frame_t* frame, uint32_t call_site, void* const* buffers) {
  return hlo_status_take_ok(run(frame, call_site, buffers)) ? HLO_PROGRAM_DONE : HLO_PROGRAM_ERROR;
}
