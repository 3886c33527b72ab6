// SPDX-License-Identifier: Apache-2.0
// The back end of processors: device memory is host memory. Small copies and all launches run on
// the calling thread, large copies on a worker.
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "runtime/client.h"
#include "runtime/device_cpu.h"

typedef struct cpu_backend {
  hlo_device_backend_t base;
  hlo_pool_t* pool;
  hlo_trace_t* trace;
} cpu_backend_t;

static cpu_backend_t* own(hlo_device_backend_t* backend) {
  return (cpu_backend_t*)backend;
}

static void destroy(hlo_device_backend_t* backend) {
  hlo_mem_free(backend);
}

static void get_properties(HLO_UNUSED const hlo_device_backend_t* backend,
                           HLO_UNUSED const hlo_memory_t* memory,
                           hlo_device_properties_t* out_properties) {
  *out_properties = (hlo_device_properties_t){
      .is_host_accessible = true,
      .accepts_host_memory = true,
      // The address sanitizer needs blocks of their own, to see where they end.
      .inline_bytes = HLO_ADDRESS_SANITIZER ? 0 : HLO_TUNING_STORAGE_INLINE_BYTES,
  };
}

// The pool orders nothing, so its jobs need no queues.
static hlo_status_t create_queue(HLO_UNUSED hlo_device_backend_t* backend,
                                 HLO_UNUSED int32_t device_id, hlo_device_queue_t** out_queue) {
  *out_queue = NULL;
  return hlo_ok();
}

static void destroy_queue(HLO_UNUSED hlo_device_backend_t* backend,
                          HLO_UNUSED hlo_device_queue_t* queue) {}

// ---- memory

hlo_status_t hlo_device_cpu_allocate(const hlo_memory_t* memory, size_t size_bytes,
                                     hlo_device_block_t* out_block) {
  hlo_block_t block;
  HLO_TRY(hlo_client_block_acquire(hlo_memory_client(memory), memory->kind, size_bytes, &block));
  *out_block = (hlo_device_block_t){.address = hlo_device_address_of(block.data),
                                    .size_bytes = block.size_bytes,
                                    .handle = block.class_index};
  return hlo_ok();
}

void hlo_device_cpu_free(const hlo_memory_t* memory, hlo_device_block_t block) {
  hlo_block_release(hlo_client_heap(hlo_memory_client(memory), memory->kind),
                    (hlo_block_t){.data = hlo_device_program_pointer(block.address),
                                  .size_bytes = block.size_bytes,
                                  .class_index = (uint32_t)block.handle});
}

static hlo_status_t allocate(HLO_UNUSED hlo_device_backend_t* backend, const hlo_memory_t* memory,
                             size_t size_bytes, hlo_device_block_t* out_block) {
  return hlo_device_cpu_allocate(memory, size_bytes, out_block);
}

static void free_block(HLO_UNUSED hlo_device_backend_t* backend, const hlo_memory_t* memory,
                       hlo_device_block_t block) {
  hlo_device_cpu_free(memory, block);
}

static void* host_pointer(HLO_UNUSED const hlo_device_backend_t* backend,
                          HLO_UNUSED const hlo_memory_t* memory, hlo_device_address_t address) {
  return hlo_device_program_pointer(address);
}

// ---- operations on the calling thread

static void trace_copy(const hlo_device_copy_t* copy, uint64_t begin_ns) {
  const hlo_memory_t *from = copy->from_memory, *to = copy->to_memory;
  hlo_span_fact_t facts[HLO_SPAN_FACTS_LIMIT] = {{"bytes", (int64_t)copy->size_bytes}};
  uint32_t count = 1;
  if (from) facts[count++] = (hlo_span_fact_t){"from_device", from->device->id};
  if (to) facts[count++] = (hlo_span_fact_t){"to_device", to->device->id};
  const char* name = !from ? "host to device" : to ? "device to device" : "device to host";
  hlo_trace_end_with(hlo_client_trace(hlo_memory_client(to ? to : from)), begin_ns, "transfer",
                     name, NULL, facts, count);
}

static inline void copy_bytes(const hlo_device_copy_t* copy) {
  const uint64_t begin_ns = hlo_trace_begin();
  const void* from = hlo_device_program_pointer(copy->from);
  void* to = hlo_device_program_pointer(copy->to);
  if (copy->plan) {
    hlo_copy_run(copy->plan, from, to);
  } else if (copy->size_bytes) {
    memmove(to, from, copy->size_bytes);
  }
  if (HLO_UNLIKELY(begin_ns)) trace_copy(copy, begin_ns);
}

void hlo_device_cpu_copy(const hlo_device_copy_t* copy) {
  copy_bytes(copy);
}

static void trace_launch(const hlo_device_launch_t* launch, hlo_trace_t* trace, uint64_t begin_ns) {
  const hlo_span_fact_t facts[] = {{"device", launch->frame->device_id},
                                   {"run_id", (int64_t)launch->frame->run_id}};
  hlo_trace_end_with(trace, begin_ns, "execute", launch->executable->name, NULL, facts, 2);
}

static inline void enter_program(hlo_device_launch_t* launch, hlo_trace_t* trace) {
  const uint64_t begin_ns = hlo_trace_begin();
  const hlo_program_t* program = launch->executable->program;
  hlo_trace_t* outer = HLO_UNLIKELY(begin_ns) ? hlo_trace_enter(trace) : NULL;
  const hlo_env_state_t host = hlo_env_enter(&program->env);
  *launch->host_env = host;
  launch->answer = program->entry(launch->frame);
  hlo_env_leave(host);
  if (HLO_UNLIKELY(begin_ns)) hlo_trace_enter(outer);
  if (HLO_UNLIKELY(begin_ns)) trace_launch(launch, trace, begin_ns);
}

void hlo_device_cpu_launch(hlo_device_launch_t* launch, hlo_trace_t* trace) {
  enter_program(launch, trace);
}

// ---- starting operations

static void run_copy_job(hlo_job_t* job) {
  hlo_device_op_t* op = (hlo_device_op_t*)job;
  hlo_device_cpu_copy(&op->copy);
  op->status = hlo_ok();
  op->ended(op);
}

static bool copy_now(HLO_UNUSED hlo_device_backend_t* backend, const hlo_device_copy_t* copy,
                     hlo_status_t* out_status) {
  if (copy->size_bytes > HLO_TUNING_TRANSFER_INLINE_BYTES && !copy->is_host_lent_for_call) {
    return false;
  }
  copy_bytes(copy);
  *out_status = hlo_ok();
  return true;
}

static void copy(hlo_device_backend_t* backend, hlo_device_op_t* op) {
  if (copy_now(backend, &op->copy, &op->status)) {
    op->ended(op);
  } else {
    op->job.run = run_copy_job;
    hlo_pool_submit(own(backend)->pool, &op->job);
  }
}

static bool launch(hlo_device_backend_t* backend, hlo_device_op_t* op) {
  op->status = hlo_ok();
  enter_program(&op->launch, own(backend)->trace);
  return true;
}

static const hlo_device_ops_t kOps = {
    .name = "cpu",
    .destroy = destroy,
    .get_properties = get_properties,
    .create_queue = create_queue,
    .destroy_queue = destroy_queue,
    .allocate = allocate,
    .free = free_block,
    .host_pointer = host_pointer,
    .copy_now = copy_now,
    .copy = copy,
    .launch = launch,
};

hlo_status_t hlo_device_cpu_create(hlo_pool_t* pool, hlo_trace_t* trace,
                                   hlo_device_backend_t** out_backend) {
  cpu_backend_t* backend = hlo_mem_alloc(sizeof *backend);
  if (!backend) return hlo_status_out_of_memory(sizeof *backend);
  *backend = (cpu_backend_t){
      .base = {.ops = &kOps, .launches_inline = true}, .pool = pool, .trace = trace};
  *out_backend = &backend->base;
  return hlo_ok();
}
