// SPDX-License-Identifier: Apache-2.0
// The interpreter as a back end: arguments become lent tensors, results are copied to the frame's
// buffers (see backend_interp.h).
#include "compiler/backends.h"

#include <string.h>

#include "base/mem.h"
#include "compiler/execute.h"
#include "compiler/signature.h"
#include "interp/program.h"
#include "ir/clone.h"
#include "ir/custom_call.h"

typedef struct interp_data {
  hlo_program_t base;
  hlo_interp_program_t* program;
  const hlo_func_t* entry;
  hlo_arena_t arena;           // of `foreign`
  const hlo_node_t** foreign;  // base.foreign_nodes
  uint32_t foreign_capacity;
} interp_data_t;

// The contents of frame->saved between suspensions.
typedef struct saved {
  hlo_eval_t* eval;
} saved_t;

static int32_t fail(hlo_frame_t* frame, hlo_status_t status) {
  atomic_store(&frame->error.code, (int)hlo_status_code(status));
  frame->error.status = status;
  return HLO_PROGRAM_ERROR;
}

// Hosts may leave arbitrary bits above a sub-byte integer (NumPy leaves zeros above a negative
// one); the reference expects sign extension.
static hlo_status_t make_extended_input(const hlo_type_t* type, const void* data,
                                        hlo_tensor_t** out_tensor) {
  hlo_tensor_t* tensor;
  HLO_TRY(hlo_tensor_create(type->dtype, type->rank, type->dims, &tensor));
  const uint8_t* from = data;
  uint8_t* to = tensor->data;
  for (int64_t i = 0; i < tensor->element_count; ++i) {
    hlo_dtype_store_int64(type->dtype, to + i, from[i]);
  }
  *out_tensor = tensor;
  return hlo_ok();
}

static hlo_status_t make_input(const hlo_type_t* type, void* data, hlo_tensor_t** out_tensor) {
  if (type->kind == HLO_TYPE_TOKEN) return hlo_tensor_create_token(out_tensor);
  if (hlo_dtype_is_integer(type->dtype) && hlo_dtype_info(type->dtype)->bits < 8) {
    HLO_TRY(make_extended_input(type, data, out_tensor));
  } else {
    HLO_TRY(hlo_tensor_create_lent(type->dtype, type->rank, type->dims, data, true, NULL, NULL,
                                   out_tensor));
  }
  (*out_tensor)->quant = type->quant;
  return hlo_ok();
}

static void release_all(uint32_t count, hlo_tensor_t** tensors) {
  for (uint32_t i = 0; i < count; ++i) hlo_tensor_release(tensors[i]);
  hlo_mem_free(tensors);
}

// ---- foreign functions

static uint32_t find_foreign(const interp_data_t* data, const hlo_node_t* node) {
  for (uint32_t i = 0; i < data->base.foreign_count; ++i) {
    if (data->base.foreign_nodes[i] == node) return i;
  }
  return UINT32_MAX;
}

static hlo_status_t make_addresses(hlo_eval_t* eval, const hlo_node_t* node,
                                   hlo_tensor_t** operands, hlo_tensor_t** results,
                                   void** addresses) {
  for (uint32_t i = 0; i < node->operand_count; ++i) addresses[i] = operands[i]->data;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hlo_eval_result(eval, node, i, &results[i]));
    addresses[node->operand_count + i] = results[i]->data;
  }
  return hlo_ok();
}

// The hook of the interpreter. The results of a call that waits are kept in *state.
static hlo_status_t call_foreign(void* context, hlo_eval_t* eval, const hlo_node_t* node,
                                 hlo_tensor_t** operands, hlo_tensor_t** results, void** state,
                                 bool* out_handled, bool* out_pending) {
  hlo_frame_t* frame = context;
  const interp_data_t* data = frame->program;
  const hlo_interp_runtime_t* runtime = (const hlo_interp_runtime_t*)frame->runtime;
  const uint32_t index = find_foreign(data, node);
  if (index == UINT32_MAX) return hlo_ok();
  const bool is_begun = *state != NULL;
  const size_t count = (size_t)node->operand_count + node->result_count;
  const size_t bytes = (count + node->result_count + 1) * sizeof(void*);
  void** addresses = is_begun ? *state : hlo_mem_alloc_zeroed(bytes);
  if (!addresses) return hlo_status_out_of_memory(bytes);
  hlo_tensor_t** kept = (hlo_tensor_t**)(addresses + count);
  hlo_status_t status = is_begun ? hlo_ok() : make_addresses(eval, node, operands, kept, addresses);
  if (hlo_status_is_ok(status)) {
    status = runtime->call_foreign(frame, index, is_begun, addresses, out_pending);
  }
  *state = *out_pending ? addresses : NULL;
  if (*out_pending) return status;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_status_is_ok(status)) {
      results[i] = kept[i];
    } else {
      hlo_tensor_release(kept[i]);
    }
  }
  hlo_mem_free(addresses);
  *out_handled = true;
  return status;
}

static hlo_status_t add_foreign(void* context, hlo_node_t* node) {
  interp_data_t* data = context;
  if (!hlo_custom_call_is_foreign(node)) return hlo_ok();
  if (!HLO_ARENA_GROW(&data->arena, data->foreign, data->base.foreign_count,
                      data->foreign_capacity)) {
    return hlo_arena_status(&data->arena);
  }
  data->foreign[data->base.foreign_count++] = node;
  data->base.foreign_nodes = data->foreign;
  return hlo_ok();
}

// ---- the entry

static hlo_status_t begin(hlo_frame_t* frame, const interp_data_t* data, saved_t* saved) {
  uint32_t count = data->entry->type->input_count;
  hlo_tensor_t** inputs = hlo_mem_alloc_zeroed((count + 1) * sizeof *inputs);
  if (!inputs) return hlo_status_out_of_memory(count * sizeof *inputs);
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    status = make_input(data->entry->type->elements[i], frame->buffers[i], &inputs[i]);
  }
  const hlo_interp_runtime_t* runtime = (const hlo_interp_runtime_t*)frame->runtime;
  const bool is_ours = runtime && runtime->table.size_bytes >= sizeof *runtime;
  hlo_interp_options_t options = {
      .grid = is_ours ? runtime->grid : NULL,
      .cancelled = &frame->cancelled,
      .custom_call = is_ours && runtime->call_foreign ? call_foreign : NULL,
      .custom_call_context = frame};
  if (options.grid) {
    options.process =
        (uint32_t)frame->replica_id * options.grid->partition_count + (uint32_t)frame->partition_id;
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_interp_begin(data->program, data->entry, count, inputs, &options, &saved->eval);
  }
  release_all(count, inputs);
  return status;
}

// A result may be an argument passed through, whose bytes another result is about to overwrite
// (donation): it is copied first.
static hlo_status_t detach_lent(uint32_t count, hlo_tensor_t** outputs) {
  if (count < 2) return hlo_ok();
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tensor_t* output = outputs[i];
    if (output->kind != HLO_TYPE_TENSOR || !output->is_read_only) continue;
    hlo_tensor_t* copy;
    HLO_TRY(hlo_tensor_create(output->dtype, output->rank, output->dims, &copy));
    if (output->size_bytes) memcpy(copy->data, output->data, output->size_bytes);
    hlo_tensor_release(output);
    outputs[i] = copy;
  }
  return hlo_ok();
}

static hlo_status_t deliver(hlo_frame_t* frame, const interp_data_t* data, hlo_eval_t* eval) {
  const hlo_type_t* type = data->entry->type;
  uint32_t count = type->element_count - type->input_count;
  hlo_tensor_t** outputs = hlo_mem_alloc_zeroed((count + 1) * sizeof *outputs);
  if (!outputs) return hlo_status_out_of_memory(count * sizeof *outputs);
  hlo_interp_take_outputs(eval, outputs);
  hlo_status_t status = detach_lent(count, outputs);
  for (uint32_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    const hlo_tensor_t* output = outputs[i];
    if (output->kind != HLO_TYPE_TENSOR || output->size_bytes == 0) continue;
    size_t want = hlo_type_size_bytes(type->elements[type->input_count + i]);
    if (output->size_bytes != want) {
      status = hlo_internal_error("result %u has %zu bytes, %zu are expected", i,
                                  output->size_bytes, want);
      break;
    }
    void* target = frame->buffers[type->input_count + i];
    if (target != output->data) memmove(target, output->data, output->size_bytes);
  }
  release_all(count, outputs);
  return status;
}

// resume_point 1: frame->saved holds an evaluation.
static int32_t interp_entry(hlo_frame_t* frame) {
  const interp_data_t* data = frame->program;
  saved_t* saved = (saved_t*)frame->saved;
  if (frame->resume_point == 0) {
    hlo_status_t status = begin(frame, data, saved);
    if (!hlo_status_is_ok(status)) return fail(frame, status);
    frame->resume_point = 1;
  }
  hlo_eval_t* eval = saved->eval;
  bool suspended = false;
  hlo_status_t status = hlo_interp_run(eval, &suspended);
  if (hlo_status_is_ok(status) && suspended) return HLO_PROGRAM_SUSPENDED;
  if (hlo_status_is_ok(status)) status = deliver(frame, data, eval);
  hlo_interp_end(eval);
  frame->resume_point = 0;
  return hlo_status_is_ok(status) ? HLO_PROGRAM_DONE : fail(frame, status);
}

static void interp_destroy(hlo_program_t* program) {
  interp_data_t* data = (interp_data_t*)program;
  hlo_interp_program_release(data->program);
  hlo_mem_free(program->cause);
  hlo_arena_deinit(&data->arena);
  hlo_mem_free(data);
}

static hlo_status_t interp_compile(const hlo_backend_t* backend, hlo_module_t* module,
                                   const hlo_compile_config_t* config,
                                   hlo_program_t** out_program) {
  hlo_env_t env;
  HLO_TRY(hlo_compile_config_env(config, &env));
  interp_data_t* data = hlo_mem_alloc_zeroed(sizeof *data);
  if (!data) return hlo_status_out_of_memory(sizeof *data);
  hlo_status_t status = hlo_interp_program_create(module, &data->program);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(data);
    return status;
  }
  data->entry = hlo_backend_entry(module, config);
  hlo_arena_init(&data->arena, 0);
  data->base = (hlo_program_t){
      .backend = backend,
      .entry = interp_entry,
      .env = env,
      .data = data,
      .destroy = interp_destroy,
      .saved_bytes = sizeof(saved_t),
      .is_cheap = hlo_func_is_cheap(data->entry, false, hlo_backend_process_count(config))};
  status = hlo_module_walk(module, false, add_foreign, data);
  if (!hlo_status_is_ok(status)) {
    interp_destroy(&data->base);
    return status;
  }
  *out_program = &data->base;
  return hlo_ok();
}

const hlo_backend_t hlo_backend_interp = {"interp", interp_compile};
