// SPDX-License-Identifier: Apache-2.0
// The runs of one launch on several devices, as the processes of a communicator. For runtime only.
#pragma once

#include "base/program_abi.h"
#include "base/status.h"
#include "comm/comm.h"
#include "runtime/run.h"

typedef struct hlo_run_group hlo_run_group_t;

/// runs: in the order [replica][partition]; lent, alive as long as a run of the group is.
hlo_status_t hlo_group_create(uint32_t replica_count, uint32_t partition_count,
                              hlo_run_t* const* runs, hlo_run_group_t** out_group) HLO_MUST_USE;
hlo_run_group_t* hlo_group_retain(hlo_run_group_t* group);
void hlo_group_release(hlo_run_group_t* group);
/// Fails the group because of one of its runs: runs that wait for it, now or later, get the error.
void hlo_group_fail(hlo_run_group_t* group, hlo_status_t error);
/// Like hlo_group_fail() from outside of the runs, which continue on the pool's threads.
void hlo_group_stop(hlo_run_group_t* group, hlo_status_t error);
/// Ends a run whose program has ended, and fails the group if others wait for it. Returns false if
/// others still access its memory; the group wakes the run later, for another call.
bool hlo_group_end(hlo_run_group_t* group, const hlo_run_t* run);
/// The first function stores a woken run for the thread that woke it; hlo_run_resume() calls it
/// under the group's lock. The second returns a stored run, or NULL; the thread calls it before it
/// unlocks the group.
void hlo_group_keep_woken(hlo_run_group_t* group, hlo_run_t* run);
hlo_run_t* hlo_group_take_woken(hlo_run_group_t* group);
/// Prints "replica 1", "partition 2" or "replica 1, partition 2".
void hlo_group_print_member(const hlo_run_group_t* group, uint32_t row, hlo_strbuf_t* out);
/// Prints the op and the channel of a wait.
void hlo_group_print_wait(const hlo_comm_wait_t* wait, hlo_strbuf_t* out);

/// The communicator of the launch; process i is the run of row i.
hlo_comm_t* hlo_group_comm(const hlo_run_group_t* group);
/// Fails the group like hlo_group_stop() unless the wait has ended; returns true if it fails.
bool hlo_group_fail_wait(hlo_run_group_t* group, uint64_t number, hlo_status_t error);

/// The progress of the launch, for the queue for memory.
hlo_launch_progress_t* hlo_group_progress(hlo_run_group_t* group);
/// Allocates the memory of all runs, or of none. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_group_allocate(hlo_run_group_t* group) HLO_MUST_USE;
/// Returns the runtime functions of programs; group NULL: a single run.
const hlo_runtime_table_t* hlo_group_runtime(hlo_run_group_t* group);
