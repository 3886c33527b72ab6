// SPDX-License-Identifier: Apache-2.0
// Runs of loaded executables (see run.h).
#include "runtime/run.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "runtime/capture.h"
#include "runtime/flight.h"
#include "runtime/foreign.h"
#include "runtime/group.h"

// A run between its first queueing and its end. A resumption may arrive while the entry is still
// returning from the suspension; its worker then enters the program once more.
enum { RUN_ACTIVE, RUN_RESUME_WANTED, RUN_SUSPENDED };

static void run_job(hlo_job_t* job);
static void launch_ended(hlo_device_op_t* op);

static hlo_device_backend_t* backend_of(const hlo_run_t* run) {
  return run->device->backend;
}

// Offsets of the lists that follow a run in its allocation.
typedef struct run_layout {
  size_t uses, outputs, addresses, waiters, saved, taken, size_bytes;
} run_layout_t;

static run_layout_t layout_of(const hlo_executable_t* executable, uint32_t replaced_count) {
  size_t arguments = executable->argument_count, results = executable->result_count;
  const size_t uses = arguments + replaced_count;
  run_layout_t at = {.uses = sizeof(hlo_run_t)};
  at.outputs = at.uses + uses * sizeof(hlo_buffer_use_t);
  at.addresses = at.outputs + results * sizeof(hlo_storage_t*);
  at.waiters = at.addresses + (arguments + results) * sizeof(void*);
  at.saved = at.waiters + uses * sizeof(hlo_event_waiter_t);
  at.taken = at.saved + executable->program->saved_bytes;
  at.size_bytes = at.taken + arguments * sizeof(bool);
  return at;
}

hlo_status_t hlo_run_create(hlo_loaded_t* loaded, hlo_device_t* device, uint32_t row,
                            uint32_t replaced_count, hlo_run_t** out_run) {
  const hlo_executable_t* executable = loaded->executable;
  const run_layout_t at = layout_of(executable, replaced_count);
  hlo_run_t* run = hlo_mem_alloc_zeroed(at.size_bytes);
  if (!run) return hlo_status_out_of_memory(at.size_bytes);
  run->done = hlo_event_create();
  if (!run->done) {
    hlo_mem_free(run);
    return hlo_status_out_of_memory(sizeof(void*));
  }
  uint8_t* base = (uint8_t*)run;
  run->uses = (hlo_buffer_use_t*)(base + at.uses);
  run->outputs = (hlo_storage_t**)(base + at.outputs);
  run->addresses = (void**)(base + at.addresses);
  run->waiters = (hlo_event_waiter_t*)(base + at.waiters);
  run->taken = (bool*)(base + at.taken);
  run->job.run = run_job;
  run->loaded = hlo_loaded_retain(loaded);
  run->device = device;
  run->row = row;
  run->progress.run_count = run->progress.ready_count = 1;
  run->frame = (hlo_frame_t){
      .abi_version = HLO_PROGRAM_ABI_VERSION,
      .buffers = run->addresses,
      .saved = base + at.saved,
      .saved_bytes = (uint32_t)executable->program->saved_bytes,
      .buffer_count = executable->argument_count + executable->result_count,
      .device_id = device->id,
      .replica_id = (int32_t)row / executable->config.partition_count,
      .partition_id = (int32_t)row % executable->config.partition_count,
      .program = executable->program->data,
      .owner = run,
      .runtime = hlo_group_runtime(NULL),
  };
  run->launch.queue = device->queue;
  run->launch.ended = launch_ended;
  run->launch.launch.executable = executable;
  run->launch.launch.frame = &run->frame;
  run->launch.launch.host_env = &run->host_env;
  hlo_client_work_begin(loaded->client);
  *out_run = run;
  return hlo_ok();
}

static void free_temporaries(hlo_run_t* run) {
  if (!run->temporaries.address) return;
  hlo_account_remove(run->loaded->temporary_account, HLO_MEMORY_DEVICE,
                     run->temporaries.size_bytes);
  backend_of(run)->ops->free(backend_of(run), &run->device->memories[HLO_MEMORY_DEVICE],
                             run->temporaries);
  run->temporaries = (hlo_device_block_t){0};
}

// Returns the progress that the queue for memory tracks; NULL for runs of cheap groups, which
// request memory one by one.
static hlo_launch_progress_t* progress_of(hlo_run_t* run) {
  if (!run->group) return &run->progress;
  return run->loaded->executable->program->is_cheap ? NULL : hlo_group_progress(run->group);
}

// Called when the run has released its memory.
static void leave_limits(hlo_run_t* run) {
  if (run->is_in_queue) {
    hlo_memory_queue_end(hlo_client_memory_queue(run->loaded->client), progress_of(run));
  }
  if (run->is_counted) hlo_launch_limit_end(&run->device->launches);
}

void hlo_run_release(hlo_run_t* run) {
  hlo_client_t* client = run->loaded->client;
  for (uint32_t i = 0; i < run->use_count; ++i) hlo_buffer_use_end(&run->uses[i]);
  for (uint32_t i = 0; i < run->output_count; ++i) hlo_storage_release(run->outputs[i]);
  free_temporaries(run);
  leave_limits(run);
  hlo_status_release(run->frame.error.status);
  hlo_mem_free(run->call_location);
  hlo_foreign_run_release(run->foreign);
  hlo_group_release(run->group);
  hlo_event_release(run->done);
  hlo_event_release(run->end);
  hlo_effects_end_free(run->effects_end);
  hlo_loaded_release(run->loaded);
  hlo_mem_free(run);
  hlo_client_work_end(client);
}

hlo_status_t hlo_run_group_bind(hlo_loaded_t* loaded, uint32_t count, hlo_run_t* const* runs) {
  if (count < 2) return hlo_ok();
  hlo_run_group_t* group;
  HLO_TRY(hlo_group_create((uint32_t)loaded->executable->config.replica_count,
                           (uint32_t)loaded->executable->config.partition_count, runs, &group));
  for (uint32_t i = 0; i < count; ++i) {
    runs[i]->group = hlo_group_retain(group);
    runs[i]->is_in_queue = !loaded->executable->program->is_cheap;
    hlo_group_progress(group)->size_bytes += runs[i]->progress.size_bytes;
    runs[i]->frame.runtime = hlo_group_runtime(group);
  }
  hlo_group_release(group);
  return hlo_ok();
}

// Ends the run: releases uses of donated and read inputs before the results are set.
static void finish(hlo_run_t* run) {
  hlo_status_t status = run->verdict;
  hlo_event_t* done = hlo_event_retain(run->done);
  hlo_run_release(run);
  hlo_event_set(done, status);
  hlo_event_release(done);
}

// Returns the error of the first failed input, in argument order, then of the buffers whose memory
// results take: that of a failed one may not exist.
static hlo_status_t input_error(const hlo_run_t* run) {
  for (uint32_t i = 0; i < run->use_count; ++i) {
    hlo_status_t error = hlo_event_error(run->uses[i].ready);
    if (!hlo_status_is_ok(error)) return hlo_status_clone(error);
  }
  return hlo_ok();
}

static hlo_status_t frame_status(hlo_run_t* run) {
  hlo_status_t status = run->frame.error.status;
  run->frame.error.status = NULL;
  if (!hlo_status_is_ok(status)) return status;
  hlo_status_code_t code = (hlo_status_code_t)atomic_load(&run->frame.error.code);
  return hlo_status_create(code ? code : HLO_STATUS_INTERNAL, "%s failed at call site %u",
                           run->loaded->executable->name, run->frame.error.call_site_index);
}

// ---- memory

void hlo_run_deallocate(hlo_run_t* run) {
  for (uint32_t i = 0; i < run->output_count; ++i) hlo_storage_deallocate(run->outputs[i]);
  free_temporaries(run);
  run->request.has_memory = false;
}

static hlo_status_t allocate_temporaries(hlo_run_t* run, size_t size_bytes) {
  hlo_device_backend_t* backend = backend_of(run);
  HLO_TRY_MSG(backend->ops->allocate(backend, &run->device->memories[HLO_MEMORY_DEVICE], size_bytes,
                                     &run->temporaries),
              "temporaries of %s on device %d", run->loaded->executable->name, run->device->id);
  hlo_account_add(run->loaded->temporary_account, HLO_MEMORY_DEVICE, size_bytes);
  return hlo_ok();
}

hlo_status_t hlo_run_explain_exhaustion(const hlo_run_t* run, hlo_status_t status) {
  if (hlo_status_code(status) != HLO_STATUS_RESOURCE_EXHAUSTED) return status;
  const hlo_executable_t* executable = run->loaded->executable;
  hlo_status_t fuller = hlo_resource_exhausted(
      "%s\n%s needs %llu bytes on a device, %zu of them for temporaries",
      hlo_status_message(status), executable->name, (unsigned long long)run->progress.size_bytes,
      executable->program->temporary_bytes);
  hlo_status_release(status);
  return hlo_client_explain_exhaustion(run->loaded->client, fuller);
}

hlo_status_t hlo_run_allocate(hlo_run_t* run) {
  if (run->request.has_memory) return hlo_ok();
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < run->output_count && hlo_status_is_ok(status); ++i) {
    status = hlo_storage_allocate(run->outputs[i]);
  }
  const size_t temporary_bytes = run->loaded->executable->program->temporary_bytes;
  if (hlo_status_is_ok(status) && temporary_bytes) {
    status = allocate_temporaries(run, temporary_bytes);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_run_deallocate(run);
    return status;
  }
  run->request.has_memory = true;
  return hlo_ok();
}

static hlo_run_t* run_of(hlo_memory_request_t* request) {
  return (hlo_run_t*)((uint8_t*)request - offsetof(hlo_run_t, request));
}

// The request of a run: memory for all runs of its launch, but only for this run if the program is
// cheap.
static hlo_status_t allocate_for_run(hlo_memory_request_t* request) {
  hlo_run_t* run = run_of(request);
  const bool is_whole = request->progress && request->progress->ended_count == 0;
  return run->group && is_whole ? hlo_group_allocate(run->group) : hlo_run_allocate(run);
}

static void retry_run(hlo_memory_request_t* request) {
  hlo_run_t* run = run_of(request);
  hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
}

// Gets memory for the run, through the queue unless the program is cheap and memory is available.
// *out_waits, false before, is set if the run is in the queue: it may have ended already.
static hlo_status_t get_memory(hlo_run_t* run, bool* out_waits) {
  if (run->loaded->executable->program->is_cheap) {
    if (run->request.has_memory) return hlo_ok();
    hlo_status_t status = hlo_run_allocate(run);
    if (HLO_LIKELY(hlo_status_is_ok(status))) return status;
    hlo_status_release(status);
  }
  run->request.allocate = allocate_for_run;
  run->request.retry = retry_run;
  run->request.progress = progress_of(run);
  hlo_memory_queue_t* queue = hlo_client_memory_queue(run->loaded->client);
  hlo_status_t status = hlo_memory_queue_acquire(queue, &run->request, out_waits);
  if (!*out_waits && !run->group) run->is_in_queue = hlo_status_is_ok(status);
  return status;
}

// ---- the program

static void* program_pointer(hlo_storage_t* storage) {
  return hlo_device_program_pointer(hlo_storage_address(storage));
}

static void first_entry(hlo_run_t* run) {
  const hlo_executable_t* executable = run->loaded->executable;
  for (uint32_t i = 0; i < executable->argument_count; ++i) {
    run->addresses[i] = program_pointer(run->uses[i].storage);
  }
  for (uint32_t i = 0; i < executable->result_count; ++i) {
    run->addresses[executable->argument_count + i] = program_pointer(run->outputs[i]);
  }
  run->frame.temporaries = hlo_device_program_pointer(run->temporaries.address);
  hlo_capture_run(run);
}

// Handles the end of the program; runs that wait for this one learn of a failure at once.
static void end_program(hlo_run_t* run, hlo_status_t status) {
  run->is_over = true;
  run->verdict = hlo_flight_leave(run, status);
  if (run->group && !hlo_status_is_ok(run->verdict)) hlo_group_fail(run->group, run->verdict);
}

// Handles the end or suspension of the program.
static void take_answer(hlo_run_t* run) {
  hlo_status_t status = run->launch.status;
  run->launch.status = hlo_ok();
  if (hlo_status_is_ok(status)) {
    const int32_t answer = run->launch.launch.answer;
    run->launch.launch.is_resumption = true;
    if (answer == HLO_PROGRAM_SUSPENDED) return;
    if (answer != HLO_PROGRAM_DONE) status = frame_status(run);
  }
  end_program(run, status);
}

// Goes on with the run on a thread of the pool.
static void launch_ended(hlo_device_op_t* op) {
  hlo_run_t* run = (hlo_run_t*)((uint8_t*)op - offsetof(hlo_run_t, launch));
  run->is_answered = true;
  hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
}

// Enters the program until its end or a suspension. Returns false if this ends later: the run may
// have ended already.
static bool advance(hlo_run_t* run) {
  if (!backend_of(run)->ops->launch(backend_of(run), &run->launch)) return false;
  take_answer(run);
  return true;
}

// Returns false if the run waits for memory: it may have ended already.
static bool begin(hlo_run_t* run) {
  bool waits = false;
  hlo_status_t status = input_error(run);
  if (hlo_status_is_ok(status)) {
    status = get_memory(run, &waits);
    if (waits) return false;
    if (HLO_UNLIKELY(!hlo_status_is_ok(status))) status = hlo_run_explain_exhaustion(run, status);
  }
  atomic_store_explicit(&run->started, true, memory_order_relaxed);
  if (hlo_status_is_ok(status)) {
    first_entry(run);
  } else {
    end_program(run, status);
  }
  return true;
}

// Ends or suspends the run, which the caller must not access then; returns false if it goes on.
static bool settle(hlo_run_t* run) {
  if (run->is_over && (!run->group || hlo_group_end(run->group, run))) {
    finish(run);
    return true;
  }
  unsigned active = RUN_ACTIVE;
  // From this exchange on another worker may own the run.
  return atomic_compare_exchange_strong(&run->state, &active, RUN_SUSPENDED);
}

static void enter(hlo_run_t* run) {
  if (run->is_answered) {
    run->is_answered = false;
    take_answer(run);
    if (settle(run)) return;
  } else if (!atomic_load_explicit(&run->started, memory_order_relaxed) && !begin(run)) {
    return;  // relaxed: only explanations read it on another thread
  }
  do {
    atomic_store(&run->state, RUN_ACTIVE);
    if (!run->is_over && !advance(run)) return;
  } while (!settle(run));
}

// Returns true if the program is quicker to run at once than to hand to a worker.
static bool is_cheap(const hlo_run_t* run) {
  return run->loaded->executable->program->is_cheap && backend_of(run)->launches_inline;
}

// Returns true if woken runs of a launch continue, one after the other, on the thread that woke
// them, which is faster than queueing.
static bool stays_on_thread(const hlo_run_t* run) {
  return run->group && is_cheap(run);
}

static void run_job(hlo_job_t* job) {
  hlo_run_t* run = (hlo_run_t*)job;
  hlo_run_group_t* group = stays_on_thread(run) ? hlo_group_retain(run->group) : NULL;
  do {
    enter(run);
    run = group ? hlo_group_take_woken(group) : NULL;
  } while (run);
  hlo_group_release(group);
}

void hlo_run_resume(hlo_run_t* run) {
  unsigned active = RUN_ACTIVE;
  if (atomic_compare_exchange_strong(&run->state, &active, RUN_RESUME_WANTED)) return;
  unsigned suspended = RUN_SUSPENDED;
  if (!atomic_compare_exchange_strong(&run->state, &suspended, RUN_ACTIVE)) return;
  if (stays_on_thread(run)) {
    hlo_group_keep_woken(run->group, run);
  } else {
    hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
  }
}

// Tells the queue for memory that the inputs of the run are ready.
static void note_ready(hlo_run_t* run) {
  if (!run->group || !run->is_in_queue) return;
  hlo_memory_queue_note_ready(hlo_client_memory_queue(run->loaded->client), progress_of(run));
}

static void one_ready(void* context, HLO_UNUSED hlo_status_t status) {
  hlo_run_t* run = context;
  if (atomic_fetch_sub_explicit(&run->waiting, 1, memory_order_acq_rel) == 1) {
    note_ready(run);
    hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
  }
}

// Registers callbacks for everything that the run waits for. Returns true if everything is ready.
static bool await_inputs(hlo_run_t* run) {
  atomic_store(&run->waiting, 1 + 2 * run->use_count);
  unsigned ready = 1;  // inputs without a callback are subtracted at the end
  hlo_event_filter_t filter;
  filter.is_used = false;
  for (uint32_t i = 0; i < run->use_count; ++i) {
    hlo_event_t* event = run->uses[i].ready;
    if (hlo_event_is_ready(event) || hlo_event_filter_has(&filter, event)) {
      ++ready;
    } else {
      hlo_event_on_ready(event, &run->waiters[i], one_ready, run);
    }
    if (run->uses[i].is_donated) {
      hlo_storage_when_idle(run->uses[i].storage, one_ready, run);
    } else {
      ++ready;
    }
  }
  return atomic_fetch_sub_explicit(&run->waiting, ready, memory_order_acq_rel) == ready;
}

void hlo_run_start(hlo_run_t* run) {
  const bool is_stoppable = run->launch_id || hlo_client_explains(run->loaded->client);
  const bool is_alone = !run->group && (!run->is_pending || !is_stoppable);
  if (!is_cheap(run) || !is_alone) hlo_flight_enter(run);
  if (run->is_pending && !await_inputs(run)) return;  // the run may have ended
  note_ready(run);
  // A cheap program runs at once, faster than a worker could take it.
  if (is_cheap(run) || run->is_immediate) {
    run_job(&run->job);
  } else {
    hlo_pool_submit(hlo_client_pool(run->loaded->client), &run->job);
  }
}
