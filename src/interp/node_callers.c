// SPDX-License-Identifier: Apache-2.0
// Spare evaluations for calls of nodes (see node_callers.h).
#include "interp/node_callers.h"

#include <string.h>

#include "base/mem.h"

static void caller_release(hlo_node_caller_t* caller) {
  hlo_interp_end(caller->eval);
  hlo_mem_free(caller);
}

static hlo_status_t caller_create(const hlo_node_callers_t* callers,
                                  hlo_node_caller_t** out_caller) {
  size_t bytes = sizeof(hlo_node_caller_t) + callers->value_limit * sizeof(void*);
  hlo_node_caller_t* caller = hlo_mem_alloc_zeroed(bytes);
  if (!caller) return hlo_status_out_of_memory(bytes);
  hlo_status_t status = hlo_node_calls_begin(callers->program, callers->func, callers->value_limit,
                                             NULL, &caller->eval);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(caller);
    return status;
  }
  *out_caller = caller;
  return hlo_ok();
}

hlo_status_t hlo_node_callers_take(hlo_node_callers_t* callers, hlo_node_caller_t** out_caller) {
  for (uint32_t i = 0; i < HLO_NODE_CALLER_SPARE_COUNT; ++i) {
    if (!atomic_load_explicit(&callers->spares[i], memory_order_relaxed)) continue;
    // acquire pairs with the release of give_back(): it publishes the previous user's memory
    hlo_node_caller_t* caller =
        atomic_exchange_explicit(&callers->spares[i], NULL, memory_order_acquire);
    if (!caller) continue;
    *out_caller = caller;
    return hlo_ok();
  }
  return caller_create(callers, out_caller);
}

static void give_back(hlo_node_callers_t* callers, hlo_node_caller_t* caller) {
  for (uint32_t i = 0; i < HLO_NODE_CALLER_SPARE_COUNT; ++i) {
    hlo_node_caller_t* none = NULL;
    if (atomic_compare_exchange_strong_explicit(&callers->spares[i], &none, caller,
                                                memory_order_release, memory_order_relaxed)) {
      return;
    }
  }
  caller_release(caller);
}

// Stateful generators keep their state in the frame, so that every run starts from the same state.
static bool has_hidden_state(const hlo_node_t* node) {
  return node->op == HLO_OP_rng || node->op == HLO_OP_hlo_rng_get_and_update_state;
}

hlo_status_t hlo_node_callers_run(hlo_node_callers_t* callers, hlo_node_caller_t* caller,
                                  hlo_frame_t* frame, const hlo_node_t* node,
                                  uint32_t capture_count, const hlo_value_t* const* captures,
                                  void* const* addresses, hlo_node_peers_t* peers) {
  hlo_node_call_t call = {.node = node,
                          .operands = addresses,
                          .results = addresses + node->operand_count,
                          .capture_count = capture_count,
                          .captures = captures,
                          .captured = addresses + node->operand_count + node->result_count};
  bool is_stateful = has_hidden_state(node);
  uint64_t* state = hlo_eval_rng_state(caller->eval);
  if (is_stateful) memcpy(state, frame->saved, sizeof *state);
  hlo_status_t status = peers ? hlo_node_call_rendezvous(caller->eval, &call, peers)
                              : hlo_node_call_run(caller->eval, &call);
  if (is_stateful) memcpy(frame->saved, state, sizeof *state);
  give_back(callers, caller);
  return status;
}

void hlo_node_callers_deinit(hlo_node_callers_t* callers) {
  for (uint32_t i = 0; i < HLO_NODE_CALLER_SPARE_COUNT; ++i) {
    hlo_node_caller_t* caller = atomic_exchange(&callers->spares[i], NULL);
    if (caller) caller_release(caller);
  }
}
