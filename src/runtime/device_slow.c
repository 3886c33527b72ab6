// SPDX-License-Identifier: Apache-2.0
// The back end `slow` (see device_slow.h). Operations wait in a list for a number of turns; a job
// of the pool counts the turns, so that delays do not depend on time.
#include "runtime/device_slow.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/client.h"
#include "runtime/device_cpu.h"

// Values of bytes that nobody has written, and of freed ones, at the beginning of a block: programs
// that read them compute nonsense in every run.
enum { FRESH_BYTE = 0x5A, FREED_BYTE = 0xA5, MARKED_BYTES = 1 << 16 };

struct hlo_device_queue {
  struct slow_backend* backend;
};

typedef struct slow_backend {
  hlo_device_backend_t base;
  hlo_device_slow_options_t options;
  hlo_pool_t* pool;
  hlo_trace_t* trace;
  hlo_job_t turn_job;
  hlo_mutex_t lock;  // guards the fields below
  uint64_t random, turn, fail_nth;
  bool has_failed;
  bool is_turning;     // the job is queued
  hlo_job_t* waiting;  // of operations
} slow_backend_t;

// hlo_device_op_t.scratch: the turn in which the operation is due, and two marks.
static const uint64_t kIsLaunch = 1, kFails = 2;
enum { DUE_SHIFT = 2 };

static slow_backend_t* own(hlo_device_backend_t* backend) {
  return (slow_backend_t*)backend;
}

static hlo_device_op_t* op_of(hlo_job_t* job) {
  return (hlo_device_op_t*)job;
}

// Knuth's linear congruential generator; the low bits have short periods.
static uint32_t draw_locked(slow_backend_t* slow, uint32_t limit) {
  slow->random = slow->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((slow->random >> 33) % limit);
}

// Returns true if the operation that begins is to fail.
static bool draw_fault_locked(slow_backend_t* slow) {
  enum { MILLION = 1000000 };
  if (slow->fail_nth && --slow->fail_nth == 0) {
    slow->has_failed = true;
    return true;
  }
  const uint32_t rate = slow->options.faults_per_million;
  return rate && draw_locked(slow, MILLION) < rate;
}

static void destroy(hlo_device_backend_t* backend) {
  hlo_mutex_deinit(&own(backend)->lock);
  hlo_mem_free(backend);
}

static void get_properties(HLO_UNUSED const hlo_device_backend_t* backend,
                           const hlo_memory_t* memory, hlo_device_properties_t* out_properties) {
  *out_properties =
      (hlo_device_properties_t){.is_host_accessible = memory->kind != HLO_MEMORY_DEVICE};
}

static hlo_status_t create_queue(hlo_device_backend_t* backend, HLO_UNUSED int32_t device_id,
                                 hlo_device_queue_t** out_queue) {
  hlo_device_queue_t* queue = hlo_mem_alloc(sizeof *queue);
  if (!queue) return hlo_status_out_of_memory(sizeof *queue);
  queue->backend = own(backend);
  *out_queue = queue;
  return hlo_ok();
}

static void destroy_queue(HLO_UNUSED hlo_device_backend_t* backend, hlo_device_queue_t* queue) {
  hlo_mem_free(queue);
}

// ---- memory

static void mark(hlo_device_block_t block, int value) {
  const size_t size = block.size_bytes < MARKED_BYTES ? block.size_bytes : MARKED_BYTES;
  memset(hlo_device_program_pointer(block.address), value, size);
}

static hlo_status_t allocate(hlo_device_backend_t* backend, const hlo_memory_t* memory,
                             size_t size_bytes, hlo_device_block_t* out_block) {
  slow_backend_t* slow = own(backend);
  hlo_mutex_lock(&slow->lock);
  const bool fails = draw_fault_locked(slow);
  hlo_mutex_unlock(&slow->lock);
  if (fails) return hlo_resource_exhausted("injected failure of an allocation");
  HLO_TRY(hlo_device_cpu_allocate(memory, size_bytes, out_block));
  mark(*out_block, FRESH_BYTE);
  return hlo_ok();
}

static void free_block(HLO_UNUSED hlo_device_backend_t* backend, const hlo_memory_t* memory,
                       hlo_device_block_t block) {
  mark(block, FREED_BYTE);
  hlo_device_cpu_free(memory, block);
}

static void* host_pointer(HLO_UNUSED const hlo_device_backend_t* backend,
                          const hlo_memory_t* memory, hlo_device_address_t address) {
  return memory->properties.is_host_accessible ? hlo_device_program_pointer(address) : NULL;
}

// ---- operations

// Host memory that was read during the call that started the copy.
static void* staged_bytes(const hlo_device_copy_t* copy) {
  return copy->is_host_lent_for_call ? hlo_device_program_pointer(copy->from) : NULL;
}

static void run_op(hlo_job_t* job) {
  hlo_device_op_t* op = op_of(job);
  const bool is_launch = op->scratch & kIsLaunch, fails = op->scratch & kFails;
  void* staged = is_launch ? NULL : staged_bytes(&op->copy);
  if (fails) {
    op->status = hlo_status_create(HLO_STATUS_INTERNAL, "injected failure of a %s",
                                   is_launch ? "launch" : "copy");
  } else {
    op->status = hlo_ok();
    if (is_launch) hlo_device_cpu_launch(&op->launch, op->queue->backend->trace);
    if (!is_launch) hlo_device_cpu_copy(&op->copy);
  }
  op->ended(op);
  hlo_mem_free(staged);
}

// Takes the operations that are due out of the list, in random order.
static hlo_job_t* take_due_locked(slow_backend_t* slow) {
  hlo_job_t *due = NULL, *last = NULL, **link = &slow->waiting;
  while (*link) {
    hlo_job_t* job = *link;
    if (op_of(job)->scratch >> DUE_SHIFT > slow->turn) {
      link = &job->next;
      continue;
    }
    *link = job->next;
    const bool is_first = !due || draw_locked(slow, 2);
    job->next = is_first ? due : NULL;
    if (!is_first) last->next = job;
    if (!is_first || !due) last = job;
    if (is_first) due = job;
  }
  return due;
}

static void take_turn(hlo_job_t* job) {
  slow_backend_t* slow = (slow_backend_t*)((uint8_t*)job - offsetof(slow_backend_t, turn_job));
  hlo_mutex_lock(&slow->lock);
  ++slow->turn;
  hlo_job_t* due = take_due_locked(slow);
  slow->is_turning = slow->waiting;
  const bool goes_on = slow->is_turning;
  hlo_mutex_unlock(&slow->lock);
  // The operations that wait keep the client, so that the job may be queued after those that run.
  while (due) {
    hlo_job_t* next = due->next;
    hlo_pool_submit(slow->pool, due);
    due = next;
  }
  if (goes_on) hlo_pool_submit(slow->pool, &slow->turn_job);
}

static void enqueue(slow_backend_t* slow, hlo_device_op_t* op, uint64_t marks, bool may_fail) {
  op->job.run = run_op;
  hlo_mutex_lock(&slow->lock);
  if (may_fail && draw_fault_locked(slow)) marks |= kFails;
  const uint64_t due = slow->turn + 1 + draw_locked(slow, slow->options.delay + 1);
  op->scratch = due << DUE_SHIFT | marks;
  op->job.next = slow->waiting;
  slow->waiting = &op->job;
  const bool starts = !slow->is_turning;
  slow->is_turning = true;
  hlo_mutex_unlock(&slow->lock);
  if (starts) hlo_pool_submit(slow->pool, &slow->turn_job);
}

static bool copy_now(HLO_UNUSED hlo_device_backend_t* backend,
                     HLO_UNUSED const hlo_device_copy_t* copy,
                     HLO_UNUSED hlo_status_t* out_status) {
  return false;
}

// Reads host memory that is lent for the call only.
static hlo_status_t stage(hlo_device_copy_t* copy) {
  void* staged = hlo_mem_alloc(copy->size_bytes);
  if (!staged) return hlo_status_out_of_memory(copy->size_bytes);
  hlo_device_copy_t read = *copy;
  read.to = hlo_device_address_of(staged);
  read.is_host_lent_for_call = false;
  hlo_device_cpu_copy(&read);
  copy->from = hlo_device_address_of(staged);
  copy->plan = NULL;
  return hlo_ok();
}

static void copy(hlo_device_backend_t* backend, hlo_device_op_t* op) {
  if (op->copy.is_host_lent_for_call) {
    op->status = stage(&op->copy);
    if (!hlo_status_is_ok(op->status)) {
      op->ended(op);
      return;
    }
  }
  enqueue(own(backend), op, 0, true);
}

// A program that goes on is not failed: others may use its memory, as if it had not ended.
static bool launch(hlo_device_backend_t* backend, hlo_device_op_t* op) {
  enqueue(own(backend), op, kIsLaunch, !op->launch.is_resumption);
  return false;
}

static const hlo_device_ops_t kOps = {
    .name = "slow",
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

hlo_status_t hlo_device_slow_create(const hlo_device_slow_options_t* options, hlo_pool_t* pool,
                                    hlo_trace_t* trace, hlo_device_backend_t** out_backend) {
  slow_backend_t* slow = hlo_mem_alloc_zeroed(sizeof *slow);
  if (!slow) return hlo_status_out_of_memory(sizeof *slow);
  slow->base.ops = &kOps;
  slow->options = *options;
  slow->random = options->seed;
  slow->pool = pool;
  slow->trace = trace;
  slow->turn_job.run = take_turn;
  hlo_mutex_init(&slow->lock, HLO_LOCK_LEVEL_MEMORY + 1);
  *out_backend = &slow->base;
  return hlo_ok();
}

void hlo_device_slow_fail_nth(hlo_device_backend_t* backend, uint64_t n) {
  hlo_mutex_lock(&own(backend)->lock);
  own(backend)->fail_nth = n;
  own(backend)->has_failed = false;
  hlo_mutex_unlock(&own(backend)->lock);
}

bool hlo_device_slow_failed(hlo_device_backend_t* backend) {
  hlo_mutex_lock(&own(backend)->lock);
  const bool has_failed = own(backend)->has_failed;
  hlo_mutex_unlock(&own(backend)->lock);
  return has_failed;
}
