// SPDX-License-Identifier: Apache-2.0
// Calls of single nodes over the caller's memory (see node_call.h).
#include "interp/node_call.h"

#include <string.h>

#include "base/mem.h"
#include "interp/eval_impl.h"
#include "ir/call.h"

// ---- evaluations

// Regions look up captured values and their own in the frame of the function that holds the node.
static hlo_status_t open_frame(hlo_eval_t* eval, const hlo_interp_program_t* program,
                               const hlo_func_t* func) {
  const hlo_interp_func_t* code = hlo_interp_func(program, func);
  size_t words = (size_t)program->max_operands + program->max_results + program->func_limit;
  hlo_tensor_t** scratch = hlo_mem_alloc_zeroed((words + 1) * sizeof(void*));
  if (!scratch) return hlo_status_out_of_memory(words * sizeof(void*));
  eval->program = program;
  eval->operands = scratch;
  eval->results = scratch + program->max_operands;
  eval->spare_frames = (hlo_tensor_t***)(eval->results + program->max_results);
  enum { CAPACITY = 16 };
  eval->stack = hlo_mem_alloc_zeroed(CAPACITY * sizeof(*eval->stack));
  if (!eval->stack) return hlo_status_out_of_memory(CAPACITY * sizeof(*eval->stack));
  eval->capacity = CAPACITY;
  hlo_tensor_t** slots = hlo_mem_alloc_zeroed(((size_t)code->slot_count + 1) * sizeof(*slots));
  if (!slots) return hlo_status_out_of_memory(code->slot_count * sizeof(*slots));
  eval->stack[eval->depth++] = (hlo_activation_t){
      .block = code->body, .slots = slots, .func = code, .role = HLO_ACTIVATION_ROOT};
  return hlo_ok();
}

hlo_status_t hlo_node_calls_begin(const hlo_interp_program_t* program, const hlo_func_t* func,
                                  uint32_t value_limit, const hlo_interp_options_t* options,
                                  hlo_eval_t** out_eval) {
  hlo_eval_t* eval = hlo_mem_alloc_zeroed(sizeof(*eval));
  if (!eval) return hlo_status_out_of_memory(sizeof(*eval));
  hlo_status_t status = hlo_ok();
  eval->call.tensors = hlo_mem_alloc_zeroed(((size_t)value_limit + 1) * sizeof(void*));
  eval->call.targets = hlo_mem_alloc_zeroed(((size_t)value_limit + 1) * sizeof(void*));
  if (!eval->call.tensors || !eval->call.targets) {
    status = hlo_status_out_of_memory(value_limit * sizeof(void*));
  }
  if (options) eval->options = *options;
  eval->rng_state = eval->options.rng_seed;
  if (hlo_status_is_ok(status) && program) status = open_frame(eval, program, func);
  if (!hlo_status_is_ok(status)) {
    hlo_interp_end(eval);
    return status;
  }
  *out_eval = eval;
  return hlo_ok();
}

// ---- calls

static hlo_status_t lend(const hlo_type_t* type, void* data, bool is_read_only,
                         hlo_tensor_t** out_tensor) {
  if (type->kind == HLO_TYPE_TOKEN) return hlo_tensor_create_token(out_tensor);
  HLO_TRY(hlo_tensor_create_lent(type->dtype, type->rank, type->dims, data, is_read_only, NULL,
                                 NULL, out_tensor));
  (*out_tensor)->quant = type->quant;
  return hlo_ok();
}

// Returns true if the operand may be overwritten because it shares a result's memory.
static bool is_shared(const hlo_node_call_t* call, uint32_t operand) {
  for (uint32_t i = 0; i < call->node->result_count; ++i) {
    if (call->results[i] == call->operands[operand] && hlo_call_may_share(call->node, i, operand)) {
      return true;
    }
  }
  return false;
}

static hlo_status_t lend_operands(hlo_eval_t* eval, const hlo_node_call_t* call) {
  for (uint32_t i = 0; i < call->node->operand_count; ++i) {
    HLO_TRY(lend(hlo_node_operand_type(call->node, i), call->operands[i], !is_shared(call, i),
                 &eval->call.tensors[i]));
  }
  return hlo_ok();
}

static hlo_tensor_t** capture_slot(hlo_eval_t* eval, const hlo_value_t* value) {
  hlo_code_ref_t ref = eval->program->refs[value->index];
  return ref & HLO_CODE_CONSTANT ? NULL : &eval->stack[0].slots[ref & HLO_CODE_INDEX];
}

static hlo_status_t lend_captures(hlo_eval_t* eval, const hlo_node_call_t* call) {
  for (uint32_t i = 0; i < call->capture_count; ++i) {
    hlo_tensor_t** slot = capture_slot(eval, call->captures[i]);
    if (slot) HLO_TRY(lend(call->captures[i]->type, call->captured[i], true, slot));
  }
  return hlo_ok();
}

static void release_tensors(hlo_eval_t* eval, const hlo_node_call_t* call) {
  uint32_t count = call->node->operand_count + call->node->result_count;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tensor_release(eval->call.tensors[i]);
    eval->call.tensors[i] = NULL;
  }
  for (uint32_t i = 0; i < call->capture_count; ++i) {
    hlo_tensor_t** slot = capture_slot(eval, call->captures[i]);
    if (!slot) continue;
    hlo_tensor_release(*slot);
    *slot = NULL;
  }
}

// Copies the results that were not written in place (operands passed through, results allocated by
// the op).
static hlo_status_t deliver_results(const hlo_node_call_t* call, hlo_tensor_t* const* results) {
  for (uint32_t i = 0; i < call->node->result_count; ++i) {
    const hlo_type_t* type = call->node->results[i].type;
    if (type->kind == HLO_TYPE_TOKEN) continue;
    const hlo_tensor_t* result = results[i];
    if (!result || result->kind != HLO_TYPE_TENSOR ||
        result->size_bytes != hlo_type_size_bytes(type)) {
      return hlo_node_error(call->node, HLO_STATUS_INTERNAL,
                            "result %u does not have the declared type", i);
    }
    if (result->data != call->results[i] && result->size_bytes) {
      memcpy(call->results[i], result->data, result->size_bytes);
    }
  }
  return hlo_ok();
}

static hlo_status_t run_node(hlo_eval_t* eval, const hlo_node_call_t* call, bool* out_pending) {
  const hlo_node_t* node = call->node;
  *out_pending = false;
  HLO_TRY(lend_operands(eval, call));
  HLO_TRY(lend_captures(eval, call));
  for (uint32_t i = 0; i < node->result_count; ++i) eval->call.targets[i] = call->results[i];
  hlo_tensor_t** results = eval->call.tensors + node->operand_count;
  eval->call.node = node;
  hlo_status_t status = hlo_ref_function(node->op)(eval, node, eval->call.tensors, results);
  eval->call.node = NULL;
  *out_pending = eval->is_pending;
  eval->is_pending = false;
  return hlo_status_is_ok(status) && !*out_pending ? deliver_results(call, results) : status;
}

hlo_status_t hlo_node_call_rendezvous(hlo_eval_t* eval, const hlo_node_call_t* call,
                                      hlo_node_peers_t* peers) {
  hlo_tensor_pool_t* previous = hlo_tensor_pool_enter(&eval->pool);
  eval->options.grid = peers->grid;
  eval->options.process = peers->process;
  eval->op_state = peers->ticket;
  hlo_status_t status = run_node(eval, call, &peers->is_pending);
  peers->ticket = eval->op_state;
  eval->op_state = NULL;
  release_tensors(eval, call);
  hlo_tensor_pool_leave(previous);
  return status;
}

hlo_status_t hlo_node_call_run(hlo_eval_t* eval, const hlo_node_call_t* call) {
  hlo_node_peers_t none = {0};
  HLO_TRY(hlo_node_call_rendezvous(eval, call, &none));
  if (!none.is_pending) return hlo_ok();
  return hlo_node_error(call->node, HLO_STATUS_UNIMPLEMENTED,
                        "the op has to wait, which is unsupported here");
}
