// SPDX-License-Identifier: Apache-2.0
// Evaluates prepared programs: one loop over steps with an explicit stack of activations, so that
// an op that has to wait leaves the loop and is called again later.
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "interp/eval_impl.h"

enum { DEPTH_LIMIT = 4096 };  // activations; programs do not recurse

// ---- activations --------------------------------------------------------------------------------

static hlo_status_t push(hlo_eval_t* eval, const hlo_activation_t* activation) {
  if (HLO_UNLIKELY(eval->depth == eval->capacity)) {
    if (eval->depth >= DEPTH_LIMIT) {
      return hlo_resource_exhausted("calls nested deeper than %d", DEPTH_LIMIT);
    }
    uint32_t capacity = eval->capacity ? eval->capacity * 2 : 16;
    void* grown = hlo_mem_realloc(eval->stack, capacity * sizeof(*eval->stack));
    if (!grown) return hlo_status_out_of_memory(capacity * sizeof(*eval->stack));
    eval->stack = grown;
    eval->capacity = capacity;
  }
  eval->stack[eval->depth++] = *activation;
  return hlo_ok();
}

static hlo_tensor_t** frame_acquire(hlo_eval_t* eval, const hlo_interp_func_t* func) {
  hlo_tensor_t*** spare = &eval->spare_frames[func - eval->program->funcs];
  hlo_tensor_t** frame = *spare;
  if (frame) {
    *spare = NULL;
    return frame;
  }
  return hlo_mem_alloc_zeroed(func->slot_count * sizeof(*frame));
}

// All slots of the frame are empty by now: every value left its slot at its last use.
static void frame_release(hlo_eval_t* eval, const hlo_interp_func_t* func, hlo_tensor_t** frame) {
  hlo_tensor_t*** spare = &eval->spare_frames[func - eval->program->funcs];
  for (uint32_t i = 0; i < func->slot_count; ++i) {
    HLO_ASSERT(!frame[i], "a frame is empty when its function returns");
  }
  if (*spare) {
    hlo_mem_free(frame);
  } else {
    *spare = frame;
  }
}

static void apply_drops(hlo_tensor_t** slots, const hlo_code_drops_t* drops) {
  for (uint32_t i = 0; i < drops->count; ++i) {
    hlo_tensor_release(slots[drops->slots[i]]);
    slots[drops->slots[i]] = NULL;
  }
}

// Drops the values of an unfinished evaluation, down to `depth` activations.
static void unwind_activations(hlo_eval_t* eval, uint32_t depth) {
  while (eval->depth > depth) {
    hlo_activation_t* act = &eval->stack[--eval->depth];
    if (!act->func) continue;
    for (uint32_t i = 0; i < act->func->slot_count; ++i) hlo_tensor_release(act->slots[i]);
    hlo_mem_free(act->slots);
  }
}

// Enters a block in the frame of `slots`, whose slots already hold the block's arguments.
static hlo_status_t enter_block(hlo_eval_t* eval, const hlo_code_block_t* block,
                                const hlo_interp_step_t* origin, hlo_activation_role_t role,
                                hlo_tensor_t** slots) {
  hlo_activation_t act = {
      .block = block, .next = block->steps, .origin = origin, .slots = slots, .role = role};
  HLO_TRY(push(eval, &act));
  apply_drops(slots, &block->drops);
  return hlo_ok();
}

// Calls a function; takes ownership of the references in `args` on success.
static hlo_status_t enter_func(hlo_eval_t* eval, const hlo_interp_func_t* func,
                               const hlo_interp_step_t* origin, hlo_activation_role_t role,
                               hlo_tensor_t* const* args) {
  if (!func->body) {
    return hlo_unimplemented("function @%s is declared but not defined", func->func->name);
  }
  const hlo_code_block_t* body = func->body;
  hlo_tensor_t** frame = frame_acquire(eval, func);
  if (!frame) return hlo_status_out_of_memory(func->slot_count * sizeof(*frame));
  hlo_activation_t act = {.block = body,
                          .next = body->steps,
                          .origin = origin,
                          .slots = frame,
                          .func = func,
                          .role = role};
  hlo_status_t status = push(eval, &act);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(frame);
    return status;
  }
  for (uint32_t i = 0; i < body->arg_count; ++i) frame[body->arg_slot + i] = args[i];
  apply_drops(frame, &body->drops);
  return hlo_ok();
}

// ---- operands -----------------------------------------------------------------------------------

static inline hlo_tensor_t* peek(const hlo_eval_t* eval, hlo_tensor_t* const* slots,
                                 hlo_code_ref_t ref) {
  uint32_t index = ref & HLO_CODE_INDEX;
  return ref & HLO_CODE_CONSTANT ? eval->program->constants[index] : slots[index];
}

// Returns an owned reference to an operand, moved out of its slot at its last use.
static inline hlo_tensor_t* take_operand(const hlo_eval_t* eval, hlo_tensor_t** slots,
                                         hlo_code_ref_t ref) {
  if (ref & HLO_CODE_MOVE) {
    hlo_tensor_t** slot = &slots[ref & HLO_CODE_INDEX];
    hlo_tensor_t* tensor = *slot;
    *slot = NULL;
    return tensor;
  }
  return hlo_tensor_retain(peek(eval, slots, ref));
}

static inline void take_all(const hlo_eval_t* eval, hlo_tensor_t** slots,
                            const hlo_interp_step_t* step, hlo_tensor_t** out) {
  for (uint32_t i = 0; i < step->operand_count; ++i)
    out[i] = take_operand(eval, slots, step->operands[i]);
}

static void release_all(uint32_t count, hlo_tensor_t** tensors) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tensor_release(tensors[i]);
    tensors[i] = NULL;
  }
}

static hlo_status_t check_cancelled(const hlo_eval_t* eval) {
  // relaxed: the flag is only polled; no other data depends on it
  if (eval->options.cancelled &&
      atomic_load_explicit(eval->options.cancelled, memory_order_relaxed)) {
    return hlo_status_create(HLO_STATUS_CANCELLED, "the execution was cancelled");
  }
  return hlo_ok();
}

// ---- steps --------------------------------------------------------------------------------------

static void store_results(hlo_tensor_t** slots, const hlo_interp_step_t* step,
                          hlo_tensor_t** results) {
  for (uint32_t i = 0; i < step->result_count; ++i) {
    slots[step->result_slot + i] = results[i];
    results[i] = NULL;
  }
}

static hlo_status_t check_results(const hlo_eval_t* eval, const hlo_interp_step_t* step) {
  for (uint32_t i = 0; i < step->result_count; ++i) {
    if (HLO_UNLIKELY(!eval->results[i])) {
      return hlo_node_error(step->node, HLO_STATUS_INTERNAL, "result %u was not computed", i);
    }
  }
  return hlo_ok();
}

static hlo_status_t run_ref(hlo_eval_t* eval, hlo_tensor_t** slots, const hlo_interp_step_t* step) {
  hlo_tensor_t** operands = eval->operands;
  if (!eval->is_retry) take_all(eval, slots, step, operands);
  eval->is_retry = false;
  hlo_status_t status = step->ref(eval, step->node, operands, eval->results);
  if (HLO_UNLIKELY(eval->is_pending)) {
    if (hlo_status_is_ok(status)) return status;
    eval->is_pending = false;
  }
  eval->op_state = NULL;
  release_all(step->operand_count, operands);
  if (HLO_LIKELY(hlo_status_is_ok(status))) status = check_results(eval, step);
  if (HLO_UNLIKELY(!hlo_status_is_ok(status))) {
    release_all(step->result_count, eval->results);
    return status;
  }
  store_results(slots, step, eval->results);
  apply_drops(slots, &step->drops);
  return hlo_ok();
}

static hlo_status_t run_scalar(hlo_eval_t* eval, hlo_tensor_t** slots,
                               const hlo_interp_step_t* step) {
  const void* args[3];
  hlo_tensor_t* result = NULL;
  const hlo_type_t* type = step->node->results[0].type;
  for (uint32_t i = 0; i < step->operand_count; ++i) {
    hlo_code_ref_t ref = step->operands[i];
    hlo_tensor_t* operand = peek(eval, slots, ref);
    args[i] = operand->data;
    if ((ref & HLO_CODE_MOVE) && !result && hlo_tensor_is_unique(operand) &&
        operand->size_bytes == hlo_dtype_size_bytes(type->dtype)) {
      result = operand;
      slots[ref & HLO_CODE_INDEX] = NULL;
    }
  }
  // A value used twice by this step leaves its slot at the moving use, so a reused operand is read
  // through `args`, which stays valid.
  if (!result) HLO_TRY(hlo_tensor_create(type->dtype, 0, NULL, &result));
  hlo_scalar_step_run(&step->scalar, args, result->data);
  result->dtype = type->dtype;
  for (uint32_t i = 0; i < step->operand_count; ++i) {
    if (!(step->operands[i] & HLO_CODE_MOVE)) continue;
    hlo_tensor_t** slot = &slots[step->operands[i] & HLO_CODE_INDEX];
    hlo_tensor_release(*slot);
    *slot = NULL;
  }
  slots[step->result_slot] = result;
  apply_drops(slots, &step->drops);
  return hlo_ok();
}

static hlo_status_t run_constant(hlo_tensor_t** slots, const hlo_interp_step_t* step) {
  const hlo_attr_t* value = hlo_node_attr(step->node, HLO_ATTR_value);
  hlo_tensor_t* tensor = NULL;
  hlo_status_t status = hlo_tensor_from_literal(value->literal, &tensor);
  if (!hlo_status_is_ok(status)) return hlo_node_annotate(step->node, status);
  tensor->quant = step->node->results[0].type->quant;
  slots[step->result_slot] = tensor;
  apply_drops(slots, &step->drops);
  return hlo_ok();
}

static hlo_status_t run_call(hlo_eval_t* eval, hlo_tensor_t** slots,
                             const hlo_interp_step_t* step) {
  HLO_TRY(check_cancelled(eval));
  take_all(eval, slots, step, eval->operands);
  hlo_status_t status = enter_func(eval, step->callee, step, HLO_ACTIVATION_CALL, eval->operands);
  if (!hlo_status_is_ok(status)) {
    release_all(step->operand_count, eval->operands);
    return hlo_node_annotate(step->node, status);
  }
  memset(eval->operands, 0, step->operand_count * sizeof(*eval->operands));
  return hlo_ok();
}

static hlo_status_t run_branch(hlo_eval_t* eval, hlo_tensor_t** slots,
                               const hlo_interp_step_t* step) {
  hlo_code_ref_t ref = step->operands[0];
  const hlo_tensor_t* selector = peek(eval, slots, ref);
  int64_t value = hlo_tensor_int(selector, 0);
  int64_t last = (int64_t)step->block_count - 1;
  int64_t branch =
      step->node->op == HLO_OP_if ? value == 0 : (value < 0 || value > last ? last : value);
  if (ref & HLO_CODE_MOVE) hlo_tensor_release(take_operand(eval, slots, ref));
  return enter_block(eval, step->blocks[branch], step, HLO_ACTIVATION_BRANCH, slots);
}

static void take_into_args(const hlo_eval_t* eval, hlo_tensor_t** slots,
                           const hlo_interp_step_t* step, const hlo_code_block_t* block) {
  for (uint32_t i = 0; i < step->operand_count; ++i) {
    slots[block->arg_slot + i] = take_operand(eval, slots, step->operands[i]);
  }
}

// ---- returns ------------------------------------------------------------------------------------

static hlo_status_t finish_while(hlo_eval_t* eval, hlo_activation_t* act) {
  const hlo_interp_step_t* step = act->origin;
  hlo_tensor_t** slots = act->slots;
  uint32_t arg_slot = step->blocks[0]->arg_slot;
  for (uint32_t i = 0; i < step->result_count; ++i) {
    slots[step->result_slot + i] = slots[arg_slot + i];
    slots[arg_slot + i] = NULL;
  }
  --eval->depth;
  apply_drops(slots, &step->drops);
  return hlo_ok();
}

// The condition has returned: enters the body (in the same activation) or leaves the loop.
static hlo_status_t return_from_cond(hlo_eval_t* eval, hlo_activation_t* act,
                                     const hlo_interp_step_t* ret) {
  hlo_code_ref_t ref = ret->operands[0];
  bool go_on = hlo_tensor_int(peek(eval, act->slots, ref), 0) != 0;
  if (ref & HLO_CODE_MOVE) hlo_tensor_release(take_operand(eval, act->slots, ref));
  if (!go_on) return finish_while(eval, act);
  act->block = act->origin->blocks[1];
  act->next = act->block->steps;
  act->role = HLO_ACTIVATION_BODY;
  apply_drops(act->slots, &act->block->drops);
  return hlo_ok();
}

static hlo_status_t return_from_body(hlo_eval_t* eval, hlo_activation_t* act,
                                     const hlo_interp_step_t* ret) {
  HLO_TRY(check_cancelled(eval));
  take_all(eval, act->slots, ret, eval->operands);
  act->block = act->origin->blocks[0];
  act->next = act->block->steps;
  act->role = HLO_ACTIVATION_COND;
  for (uint32_t i = 0; i < ret->operand_count; ++i) {
    act->slots[act->block->arg_slot + i] = eval->operands[i];
    eval->operands[i] = NULL;
  }
  return hlo_ok();
}

// async_start and similar ops return one future for all values of the body.
static hlo_status_t pack_future(hlo_eval_t* eval, const hlo_interp_step_t* origin, uint32_t count) {
  hlo_tensor_t* future = NULL;
  hlo_status_t status = hlo_tensor_create_tuple(count, eval->results, &future);
  memset(eval->results, 0, count * sizeof(*eval->results));
  HLO_TRY(status);
  future->kind = origin->node->results[0].type->kind;
  eval->results[0] = future;
  return hlo_ok();
}

static hlo_status_t return_to_origin(hlo_eval_t* eval, hlo_activation_t* act,
                                     const hlo_interp_step_t* ret) {
  const hlo_interp_step_t* origin = act->origin;
  take_all(eval, act->slots, ret, eval->results);
  if (act->func) frame_release(eval, act->func, act->slots);
  --eval->depth;
  uint32_t count = ret->operand_count;
  if (origin->node->op == HLO_OP_async_start || origin->node->op == HLO_OP_hlo_async_start) {
    HLO_TRY(pack_future(eval, origin, count));
    count = 1;
  }
  if (HLO_UNLIKELY(count != origin->result_count)) {
    release_all(count, eval->results);
    return hlo_node_error(origin->node, HLO_STATUS_INVALID_ARGUMENT,
                          "the body returns %u values, expected %u", count, origin->result_count);
  }
  hlo_tensor_t** slots = eval->stack[eval->depth - 1].slots;
  store_results(slots, origin, eval->results);
  apply_drops(slots, &origin->drops);
  return hlo_ok();
}

static hlo_status_t return_from_root(hlo_eval_t* eval, hlo_activation_t* act,
                                     const hlo_interp_step_t* ret) {
  if (ret->operand_count != eval->output_count) {
    return hlo_node_error(ret->node, HLO_STATUS_INVALID_ARGUMENT, "%u values returned, %u expected",
                          ret->operand_count, eval->output_count);
  }
  take_all(eval, act->slots, ret, eval->outputs);
  if (act->func) frame_release(eval, act->func, act->slots);
  --eval->depth;
  return hlo_ok();
}

static hlo_status_t run_return(hlo_eval_t* eval, hlo_activation_t* act,
                               const hlo_interp_step_t* ret) {
  switch (act->role) {
    case HLO_ACTIVATION_COND:
      if (ret->operand_count == 1) return return_from_cond(eval, act, ret);
      break;
    case HLO_ACTIVATION_BODY:
      if (ret->operand_count == act->origin->result_count) return return_from_body(eval, act, ret);
      break;
    case HLO_ACTIVATION_ROOT: return return_from_root(eval, act, ret);
    default: return return_to_origin(eval, act, ret);
  }
  return hlo_node_error(ret->node, HLO_STATUS_INVALID_ARGUMENT, "a loop's region returns %u values",
                        ret->operand_count);
}

// ---- the loop -----------------------------------------------------------------------------------

static hlo_status_t run_step(hlo_eval_t* eval, hlo_activation_t* act,
                             const hlo_interp_step_t* step) {
  switch (step->kind) {
    case HLO_STEP_REF: return run_ref(eval, act->slots, step);
    case HLO_STEP_SCALAR: return run_scalar(eval, act->slots, step);
    case HLO_STEP_CONSTANT: return run_constant(act->slots, step);
    case HLO_STEP_CALL: return run_call(eval, act->slots, step);
    case HLO_STEP_BRANCH: return run_branch(eval, act->slots, step);
    case HLO_STEP_INLINE:
      take_into_args(eval, act->slots, step, step->blocks[0]);
      return enter_block(eval, step->blocks[0], step, HLO_ACTIVATION_BRANCH, act->slots);
    case HLO_STEP_WHILE:
      take_into_args(eval, act->slots, step, step->blocks[0]);
      return enter_block(eval, step->blocks[0], step, HLO_ACTIVATION_COND, act->slots);
    case HLO_STEP_RETURN: return run_return(eval, act, step);
  }
  return hlo_node_error(step->node, HLO_STATUS_INTERNAL, "a step of unknown kind");
}

// Runs until only `base` activations are left, an op fails, or an op has to wait
// (eval->is_pending).
static hlo_status_t run_until(hlo_eval_t* eval, uint32_t base) {
  while (eval->depth > base) {
    hlo_activation_t* act = &eval->stack[eval->depth - 1];
    const hlo_interp_step_t* step = act->next++;
    HLO_TRY(run_step(eval, act, step));
    if (HLO_UNLIKELY(eval->is_pending)) {
      --eval->stack[eval->depth - 1].next;
      return hlo_ok();
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_interp_run(hlo_eval_t* eval, bool* out_suspended) {
  hlo_tensor_pool_t* previous = hlo_tensor_pool_enter(&eval->pool);
  eval->is_retry = eval->is_pending;
  eval->is_pending = false;
  hlo_status_t status = run_until(eval, 0);
  if (!hlo_status_is_ok(status)) unwind_activations(eval, 0);
  hlo_tensor_pool_leave(previous);
  *out_suspended = eval->is_pending;
  return status;
}

hlo_status_t hlo_eval_run_region(hlo_eval_t* eval, const hlo_region_t* region,
                                 hlo_tensor_t* const* args, hlo_tensor_t** results) {
  const hlo_node_t* node = region->parent;
  if (!node) return hlo_unimplemented("a called computation must be a function of scalars");
  const hlo_code_block_t* block =
      eval->program && eval->depth ? hlo_interp_block(eval->program, region) : NULL;
  if (!block) return hlo_node_unimplemented(node, "its region can run only as part of a program");
  uint32_t count = block->steps[block->step_count - 1].operand_count;
  uint32_t room = eval->program->max_operands + eval->program->max_results;
  hlo_tensor_t** scratch = hlo_mem_alloc_zeroed(room * sizeof(*scratch));
  if (!scratch) return hlo_status_out_of_memory(room * sizeof(*scratch));
  hlo_eval_t saved = *eval;
  eval->operands = scratch;
  eval->results = scratch + eval->program->max_operands;
  eval->outputs = results;
  eval->output_count = count;
  eval->op_state = NULL;
  hlo_tensor_t** slots = eval->stack[eval->depth - 1].slots;
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    slots[block->arg_slot + i] = hlo_tensor_retain(args[i]);
  }
  hlo_status_t status = enter_block(eval, block, NULL, HLO_ACTIVATION_ROOT, slots);
  if (hlo_status_is_ok(status)) status = run_until(eval, saved.depth);
  if (eval->is_pending) {
    eval->is_pending = false;
    status =
        hlo_node_unimplemented(node, "an op in its region has to wait, which is unsupported there");
    release_all(eval->program->max_operands, eval->operands);
  }
  if (!hlo_status_is_ok(status)) unwind_activations(eval, saved.depth);
  eval->operands = saved.operands;
  eval->results = saved.results;
  eval->outputs = saved.outputs;
  eval->output_count = saved.output_count;
  eval->op_state = saved.op_state;
  hlo_mem_free(scratch);
  return status;
}

hlo_tensor_t* hlo_eval_captured(const hlo_eval_t* eval, const hlo_value_t* value) {
  if (!eval->program || !eval->depth || value->index >= eval->program->value_limit) return NULL;
  return peek(eval, eval->stack[eval->depth - 1].slots, eval->program->refs[value->index]);
}

uint64_t* hlo_eval_rng_state(hlo_eval_t* eval) {
  return &eval->rng_state;
}

// ---- beginning and end --------------------------------------------------------------------------

static void release_probes(hlo_eval_t* eval) {
  while (eval->first_probe) {
    hlo_probe_t* probe = eval->first_probe;
    eval->first_probe = probe->next;
    hlo_tensor_release(probe->tensor);
    hlo_mem_free(probe);
  }
}

static void deinit(hlo_eval_t* eval) {
  hlo_tensor_pool_t* previous = hlo_tensor_pool_enter(&eval->pool);
  const hlo_interp_program_t* program = eval->program;
  unwind_activations(eval, 0);
  if (program) {
    release_all(program->max_operands, eval->operands);
    release_all(eval->output_count, eval->outputs);
    for (uint32_t i = 0; i < program->func_limit; ++i) hlo_mem_free(eval->spare_frames[i]);
  }
  hlo_region_fn_free_all(eval);
  release_probes(eval);
  hlo_tensor_pool_leave(previous);
  hlo_tensor_pool_deinit(&eval->pool);
  hlo_mem_free(eval->stack);
  hlo_mem_free(eval->operands);
}

void hlo_interp_end(hlo_eval_t* eval) {
  if (!eval) return;
  deinit(eval);
  hlo_mem_free(eval);
}

static hlo_status_t check_inputs(const hlo_interp_program_t* program, const hlo_func_t* func,
                                 uint32_t input_count, hlo_tensor_t* const* inputs) {
  const hlo_interp_func_t* code = hlo_interp_func(program, func);
  if (!code || !code->body) return hlo_invalid_argument("@%s has no body to run", func->name);
  if (input_count != code->body->arg_count) {
    return hlo_invalid_argument("@%s takes %u inputs, found %u", func->name, code->body->arg_count,
                                input_count);
  }
  for (uint32_t i = 0; i < input_count; ++i) {
    if (!hlo_tensor_fits(inputs[i], func->body->args[i]->type)) {
      return hlo_invalid_argument("input %u of @%s does not have the type of the argument", i,
                                  func->name);
    }
  }
  return hlo_ok();
}

// All scratch arrays of an evaluation are one block: operands, results, spare frames, outputs.
static hlo_status_t eval_create(const hlo_interp_program_t* program, const hlo_func_t* func,
                                const hlo_interp_options_t* options, hlo_eval_t** out_eval) {
  hlo_eval_t* eval = hlo_mem_alloc_zeroed(sizeof(*eval));
  if (!eval) return hlo_status_out_of_memory(sizeof(*eval));
  const hlo_code_block_t* body = hlo_interp_func(program, func)->body;
  uint32_t output_count = body->steps[body->step_count - 1].operand_count;
  size_t words =
      (size_t)program->max_operands + program->max_results + program->func_limit + output_count;
  hlo_tensor_t** scratch = hlo_mem_alloc_zeroed(words * sizeof(void*));
  if (!scratch) {
    hlo_mem_free(eval);
    return hlo_status_out_of_memory(words * sizeof(void*));
  }
  eval->program = program;
  if (options) eval->options = *options;
  eval->operands = scratch;
  eval->results = scratch + program->max_operands;
  eval->spare_frames = (hlo_tensor_t***)(eval->results + program->max_results);
  eval->outputs = (hlo_tensor_t**)(eval->spare_frames + program->func_limit);
  eval->output_count = output_count;
  eval->rng_state = eval->options.rng_seed;
  *out_eval = eval;
  return hlo_ok();
}

hlo_status_t hlo_interp_begin_taking(const hlo_interp_program_t* program, const hlo_func_t* func,
                                     uint32_t input_count, hlo_tensor_t** inputs,
                                     const hlo_interp_options_t* options, hlo_eval_t** out_eval) {
  hlo_eval_t* eval = NULL;
  hlo_status_t status = check_inputs(program, func, input_count, inputs);
  if (hlo_status_is_ok(status)) status = eval_create(program, func, options, &eval);
  if (hlo_status_is_ok(status)) {
    status = enter_func(eval, hlo_interp_func(program, func), NULL, HLO_ACTIVATION_ROOT, inputs);
  }
  if (!hlo_status_is_ok(status)) {
    for (uint32_t i = 0; i < input_count; ++i) hlo_tensor_release(inputs[i]);
    hlo_interp_end(eval);
    return status;
  }
  *out_eval = eval;
  return hlo_ok();
}

hlo_status_t hlo_interp_begin(const hlo_interp_program_t* program, const hlo_func_t* func,
                              uint32_t input_count, hlo_tensor_t* const* inputs,
                              const hlo_interp_options_t* options, hlo_eval_t** out_eval) {
  hlo_tensor_t** taken = hlo_mem_alloc(input_count * sizeof(*taken));
  if (!taken) return hlo_status_out_of_memory(input_count * sizeof(*taken));
  for (uint32_t i = 0; i < input_count; ++i) taken[i] = hlo_tensor_retain(inputs[i]);
  hlo_status_t status =
      hlo_interp_begin_taking(program, func, input_count, taken, options, out_eval);
  hlo_mem_free(taken);
  return status;
}

void hlo_interp_take_outputs(hlo_eval_t* eval, hlo_tensor_t** outputs) {
  for (uint32_t i = 0; i < eval->output_count; ++i) {
    outputs[i] = eval->outputs[i];
    eval->outputs[i] = NULL;
  }
}

hlo_status_t hlo_interp_call(const hlo_interp_program_t* program, const hlo_func_t* func,
                             uint32_t input_count, hlo_tensor_t* const* inputs,
                             uint32_t output_count, hlo_tensor_t** outputs,
                             const hlo_interp_options_t* options) {
  hlo_eval_t* eval = NULL;
  HLO_TRY(hlo_interp_begin(program, func, input_count, inputs, options, &eval));
  bool is_suspended = false;
  hlo_status_t status = hlo_ok();
  if (eval->output_count != output_count) {
    status = hlo_invalid_argument("@%s has %u results, room for %u", func->name, eval->output_count,
                                  output_count);
  } else {
    status = hlo_interp_run(eval, &is_suspended);
  }
  if (hlo_status_is_ok(status) && is_suspended) {
    status = hlo_failed_precondition("@%s waits for another process, but runs alone", func->name);
  }
  if (hlo_status_is_ok(status)) hlo_interp_take_outputs(eval, outputs);
  hlo_interp_end(eval);
  return status;
}

hlo_status_t hlo_interp_node(const hlo_node_t* node, hlo_tensor_t* const* operands,
                             hlo_tensor_t** results) {
  hlo_ref_fn_t ref = hlo_ref_function(node->op);
  if (!ref) {
    return hlo_node_unimplemented(node, "the interpreter runs this op only as part of a program");
  }
  hlo_tensor_t** lent = hlo_mem_alloc(node->operand_count * sizeof(*lent));
  if (!lent) return hlo_status_out_of_memory(node->operand_count * sizeof(*lent));
  hlo_eval_t eval = {0};  // on the stack, since passes evaluate many nodes
  // The extra reference keeps the op from overwriting its operand.
  for (uint32_t i = 0; i < node->operand_count; ++i) lent[i] = hlo_tensor_retain(operands[i]);
  hlo_tensor_t** found = hlo_mem_alloc_zeroed(node->result_count * sizeof(*found));
  hlo_status_t status = found ? ref(&eval, node, lent, found)
                              : hlo_status_out_of_memory(node->result_count * sizeof(*found));
  if (hlo_status_is_ok(status) && eval.is_pending) {
    status = hlo_node_unimplemented(node, "the op has to wait, which is unsupported here");
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) hlo_tensor_release(lent[i]);
  if (hlo_status_is_ok(status)) {
    memcpy(results, found, node->result_count * sizeof(*found));
  } else if (found) {
    release_all(node->result_count, found);
  }
  hlo_mem_free(found);
  hlo_mem_free(lent);
  deinit(&eval);
  return status;
}
