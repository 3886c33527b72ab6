// SPDX-License-Identifier: Apache-2.0
// The runs of one launch on several devices: where their collectives meet. For runtime only.
#ifndef HLO_RUNTIME_GROUP_H_
#define HLO_RUNTIME_GROUP_H_

#include "base/kernel_abi.h"
#include "base/status.h"
#include "runtime/run.h"

typedef struct hlo_run_group hlo_run_group_t;

/// `runs` in order [replica][partition]; lent, alive as long as a run of the group is.
hlo_status_t hlo_group_create(uint32_t replica_count, uint32_t partition_count,
                              hlo_run_t* const* runs, hlo_run_group_t** out_group) HLO_MUST_USE;
hlo_run_group_t* hlo_group_retain(hlo_run_group_t* group);
void hlo_group_release(hlo_run_group_t* group);
/// One of the runs has failed: whoever waits for it, now or later, gets its error.
void hlo_group_fail(hlo_run_group_t* group, hlo_status_t error);
/// The same from outside its runs, which go on on the pool's threads.
void hlo_group_stop(hlo_run_group_t* group, hlo_status_t error);
/// Whether others still work on memory of a run that is over: it is woken when they may have done.
bool hlo_group_detains(hlo_run_group_t* group, const hlo_run_t* run);
/// Keeps a run that was woken for the thread that woke it, which takes it before it leaves the
/// group alone. The first is called by hlo_run_resume(), under the group's lock; NULL: there is
/// none.
void hlo_group_keep_woken(hlo_run_group_t* group, hlo_run_t* run);
hlo_run_t* hlo_group_take_woken(hlo_run_group_t* group);
/// The progress of the launch, for the queue for memory.
hlo_launch_progress_t* hlo_group_progress(hlo_run_group_t* group);
/// Allocates the memory of all runs, or of none. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_group_allocate(hlo_run_group_t* group) HLO_MUST_USE;
/// What programs call back; group NULL: a run of its own.
const hlo_runtime_table_t* hlo_group_runtime(hlo_run_group_t* group);

#endif  // HLO_RUNTIME_GROUP_H_
