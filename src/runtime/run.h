// SPDX-License-Identifier: Apache-2.0
// One run of a loaded executable on one device: waits for its inputs, runs the entry on a worker,
// is queued again after each suspension, then sets the event of its results. For runtime only.
#pragma once

#include <stdatomic.h>

#include "base/env.h"
#include "runtime/executable.h"
#include "runtime/storage.h"

struct hlo_loaded {
  atomic_int count;
  atomic_bool is_deleted;
  hlo_client_t* client;
  hlo_executable_t* executable;       // retained
  struct hlo_foreign_calls* foreign;  // NULL: the program calls no foreign functions
  hlo_account_t *result_account, *temporary_account;
  hlo_memory_kind_t* argument_kinds;  // per argument; stored after the devices
  hlo_memory_kind_t* result_kinds;    // per result; stored after the arguments'
  uint32_t device_count;
  hlo_device_t* devices[];
};

typedef struct hlo_run {
  hlo_job_t job;               // the first member, so that a job can be cast to its run
  struct hlo_run* next_woken;  // the group's
  hlo_loaded_t* loaded;        // retained
  hlo_device_t* device;
  uint32_t row;  // replica * partition_count + partition
  hlo_frame_t frame;
  hlo_env_state_t host_env;         // of the thread that is in the program
  struct hlo_foreign_run* foreign;  // NULL as that of `loaded`
  atomic_bool started;              // entered once; written only by its current worker
  bool is_over;                     // the program has ended
  hlo_status_t verdict;             // the program's result
  atomic_uint state;                // between entry and suspension, see run.c
  atomic_uint waiting;             // inputs and donated storages that are not ready, plus the start
  hlo_event_t* done;               // definition event of all results
  hlo_effects_end_t* effects_end;  // prepared; NULL: not needed, or in use
  hlo_event_t* end;                // of its launch, if that waits for launches before it; else NULL
  bool is_immediate;  // runs on the launching thread, where it ends before the call does
  bool is_pending;    // at the launch, an input was not ready or a donated one in use
  uint32_t use_count;
  hlo_buffer_use_t* uses;       // per argument, then per buffer whose memory a result takes
  hlo_event_waiter_t* waiters;  // of `uses`
  bool* taken;                  // the argument's handle was invalidated
  uint32_t output_count;
  hlo_storage_t** outputs;         // retained, per result
  uint32_t result_count;           // handles created so far
  void** addresses;                // frame.buffers
  hlo_device_block_t temporaries;  // frame.temporaries
  bool is_in_queue;                // the queue for memory awaits its end
  bool is_counted;                 // in the launches in flight of its device
  hlo_memory_request_t request;
  hlo_launch_progress_t progress;  // unless it has a group, which has one for all runs
  bool is_listed;                  // in its client's list of runs in flight, which guards these
  struct hlo_run *listed_before, *listed_after;
  hlo_status_t poison;     // error of the results; OK: the program's result
  uint64_t listed_ns;      // when it was listed
  const void* stall_mark;  // what it waited for when the monitor of stalls last looked
  uint64_t stall_count;
  uint64_t stall_ns;    // since when
  int32_t launch_id;    // the framework's number of the launch; 0: none
  char* call_location;  // of the launch in the application; may be NULL
  struct hlo_run_group* group;
  bool is_answered;        // the entry has ended on a thread of the device
  hlo_device_op_t launch;  // the entry in progress
} hlo_run_t;

/// replaced_count: buffers whose memory results take.
hlo_status_t hlo_run_create(hlo_loaded_t* loaded, hlo_device_t* device, uint32_t row,
                            uint32_t replaced_count, hlo_run_t** out_run) HLO_MUST_USE;
/// Frees a run that has not started, or has ended.
void hlo_run_release(hlo_run_t* run);
/// Groups the runs of one launch, so that their collectives rendezvous.
hlo_status_t hlo_run_group_bind(hlo_loaded_t* loaded, uint32_t count,
                                hlo_run_t* const* runs) HLO_MUST_USE;
/// Allocates results and temporaries unless the run has them. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_run_allocate(hlo_run_t* run) HLO_MUST_USE;
/// Adds to RESOURCE_EXHAUSTED (`status`, taken) what the run needs and what has the memory.
hlo_status_t hlo_run_explain_exhaustion(const hlo_run_t* run,
                                        hlo_status_t status) HLO_MUST_USE HLO_COLD;
/// Frees the memory of hlo_run_allocate() before the run begins.
void hlo_run_deallocate(hlo_run_t* run);
/// Starts the run when its inputs are ready; from now on the run owns itself.
void hlo_run_start(hlo_run_t* run);
/// Queues a suspended run again; called by its group under the group's lock.
void hlo_run_resume(hlo_run_t* run);
