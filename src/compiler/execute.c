// SPDX-License-Identifier: Apache-2.0
// Running programs without a runtime (see execute.h).
#include "compiler/execute.h"

#include "base/env.h"
#include "base/mem.h"
#include "codegen/lower/call_sites.h"

// ---- parallel loops

typedef struct chunks {
  hlo_frame_t* frame;
  hlo_program_chunk_t chunk;
  void* context;
} chunks_t;

// relaxed: the flag is only polled; whoever set it waits for the run to end
static int32_t run_chunk(void* context, size_t index) {
  const chunks_t* chunks = context;
  if (atomic_load_explicit(&chunks->frame->cancelled, memory_order_relaxed)) {
    return hlo_execute_fail_cancelled(chunks->frame);
  }
  return chunks->chunk(chunks->frame, chunks->context, index);
}

int32_t hlo_execute_parallel_for(hlo_pool_t* pool, hlo_frame_t* frame, uint64_t chunk_count,
                                 hlo_program_chunk_t chunk, void* context) {
  chunks_t chunks = {frame, chunk, context};
  return hlo_pool_parallel_for(pool, chunk_count, run_chunk, &chunks);
}

static int32_t parallel_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_program_chunk_t chunk,
                            void* context) {
  return hlo_execute_parallel_for(frame->owner, frame, chunk_count, chunk, context);
}

void hlo_execute_library_for(hlo_pool_t* pool, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                             void* argument) {
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  hlo_parallel_for(&parallel, chunk_count, chunk, argument);
}

static void library_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                        void* argument) {
  hlo_execute_library_for(frame->owner, chunk_count, chunk, argument);
}

int32_t hlo_execute_async_start(hlo_frame_t* frame, uint32_t call_site_number) {
  (void)frame, (void)call_site_number;
  return HLO_PROGRAM_DONE;
}

int32_t hlo_execute_async_done(hlo_frame_t* frame, uint32_t call_site_number) {
  return hlo_call_site_exchange(frame, call_site_number);
}

// ---- functions of runtime tables

int32_t hlo_execute_call_library(hlo_frame_t* frame, uint32_t call_site_number,
                                 void* const* buffers) {
  return hlo_call_site_call(frame, call_site_number, buffers);
}

int32_t hlo_execute_check_failed(hlo_frame_t* frame, uint32_t call_site_number, int64_t found,
                                 int64_t limit) {
  return hlo_call_site_check_failed(frame, call_site_number, found, limit);
}

int32_t hlo_execute_fail(hlo_frame_t* frame, uint32_t call_site_number, hlo_status_t status) {
  return hlo_call_site_fail(frame, call_site_number, status);
}

int32_t hlo_execute_fail_cancelled(hlo_frame_t* frame) {
  return hlo_call_site_check_failed(frame, HLO_CALL_SITE_CANCELLED, 0, 0);
}

hlo_execute_collective_t hlo_execute_find_collective(const hlo_frame_t* frame,
                                                     uint32_t call_site_number) {
  const hlo_call_site_t* call_site = hlo_call_site_of(frame, call_site_number);
  return (hlo_execute_collective_t){call_site->node, call_site->exchange};
}

uint32_t hlo_execute_find_foreign(const hlo_frame_t* frame, uint32_t call_site_number) {
  return hlo_call_site_of(frame, call_site_number)->foreign_number;
}

void hlo_execute_addresses(const hlo_frame_t* frame, uint32_t call_site_number,
                           void** out_addresses) {
  hlo_call_site_addresses(frame, hlo_call_site_of(frame, call_site_number), out_addresses);
}

const hlo_runtime_table_t hlo_execute_table = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                                               .size_bytes = sizeof(hlo_runtime_table_t),
                                               .parallel_for = parallel_for,
                                               .async_start = hlo_execute_async_start,
                                               .async_done = hlo_execute_async_done,
                                               .call_library = hlo_execute_call_library,
                                               .check_failed = hlo_execute_check_failed,
                                               .library_for = library_for};

// ---- one run

static hlo_status_t make_outputs(const hlo_type_t* type, hlo_tensor_t** outputs) {
  for (uint32_t i = type->input_count; i < type->element_count; ++i) {
    const hlo_type_t* result = type->elements[i];
    hlo_tensor_t** place = &outputs[i - type->input_count];
    if (result->kind == HLO_TYPE_TOKEN) {
      HLO_TRY(hlo_tensor_create_token(place));
      continue;
    }
    if (!hlo_type_is_static(result)) {
      return hlo_unimplemented("result %u has no static shape", i - type->input_count);
    }
    HLO_TRY(hlo_tensor_create(result->dtype, result->rank, result->dims, place));
    (*place)->quant = result->quant;
  }
  return hlo_ok();
}

static hlo_status_t frame_status(hlo_frame_t* frame, int32_t answer) {
  if (answer == HLO_PROGRAM_DONE) return hlo_ok();
  if (answer == HLO_PROGRAM_SUSPENDED) return hlo_unimplemented("the program waits for others");
  hlo_status_t status = frame->error.status;
  if (!hlo_status_is_ok(status)) return status;
  hlo_status_code_t code = (hlo_status_code_t)atomic_load(&frame->error.code);
  return hlo_status_create(code ? code : HLO_STATUS_INTERNAL, "the program failed at call site %u",
                           frame->error.call_site_index);
}

static hlo_status_t run_frame(const hlo_program_t* program, hlo_pool_t* pool, uint32_t count,
                              void** addresses) {
  void* temporaries = hlo_mem_alloc_aligned(program->temporary_bytes, 64);
  void* saved = hlo_mem_alloc_zeroed(program->saved_bytes);
  hlo_status_t status = hlo_ok();
  if (temporaries && saved) {
    hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                         .buffers = addresses,
                         .temporaries = temporaries,
                         .saved = saved,
                         .runtime = &hlo_execute_table,
                         .buffer_count = count,
                         .saved_bytes = (uint32_t)program->saved_bytes,
                         .program = program->data,
                         .owner = pool};
    const hlo_env_state_t host = hlo_env_enter(&program->env);
    const int32_t answer = program->entry(&frame);
    hlo_env_leave(host);
    status = frame_status(&frame, answer);
  } else {
    status = hlo_status_out_of_memory(program->temporary_bytes + program->saved_bytes);
  }
  hlo_mem_free(temporaries);
  hlo_mem_free(saved);
  return status;
}

hlo_status_t hlo_program_execute(const hlo_program_t* program, const hlo_type_t* type,
                                 hlo_pool_t* pool, hlo_tensor_t* const* inputs,
                                 hlo_tensor_t** outputs) {
  uint32_t count = type->element_count, output_count = count - type->input_count;
  for (uint32_t i = 0; i < type->input_count; ++i) {
    if (!hlo_tensor_fits(inputs[i], type->elements[i])) {
      return hlo_invalid_argument("input %u does not have the type of the argument", i);
    }
  }
  void** addresses = hlo_mem_alloc_zeroed(((size_t)count + 1) * sizeof(*addresses));
  if (!addresses) return hlo_status_out_of_memory(count * sizeof(*addresses));
  for (uint32_t i = 0; i < output_count; ++i) outputs[i] = NULL;
  hlo_status_t status = make_outputs(type, outputs);
  for (uint32_t i = 0; i < type->input_count; ++i) addresses[i] = inputs[i]->data;
  for (uint32_t i = 0; i < output_count && hlo_status_is_ok(status); ++i) {
    addresses[type->input_count + i] = outputs[i]->data;
  }
  if (hlo_status_is_ok(status)) status = run_frame(program, pool, count, addresses);
  for (uint32_t i = 0; i < output_count && !hlo_status_is_ok(status); ++i) {
    hlo_tensor_release(outputs[i]);
    outputs[i] = NULL;
  }
  hlo_mem_free(addresses);
  return status;
}
