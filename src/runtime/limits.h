// SPDX-License-Identifier: Apache-2.0
// Limits for programs that launch without awaiting results: callers wait while a device has too
// many launches in flight, and runs queue for memory while it is short. For runtime only.
#pragma once

#include <stdatomic.h>

#include "base/status.h"
#include "base/threads.h"

// ---- launches in flight

/// Counts the launches of a device that have not ended. A caller waits at the end of its launch,
/// when it holds nothing that others need. Launches that wait for a promise
/// (hlo_event_awaits_promise()) do not count, because the waiting thread may be the one that keeps
/// the promise. All others end by themselves. threads: safe
typedef struct hlo_launch_limit {
  atomic_uint state;  // the count, and a mark when threads wait
  uint32_t limit;
  hlo_mutex_t lock;  // guards the list
  struct hlo_launch_waiter* waiters;
} hlo_launch_limit_t;

void hlo_launch_limit_init(hlo_launch_limit_t* limit, uint32_t launches);
void hlo_launch_limit_deinit(hlo_launch_limit_t* limit);
uint32_t hlo_launch_limit_count(const hlo_launch_limit_t* limit);
void hlo_launch_limit_begin(hlo_launch_limit_t* limit);
void hlo_launch_limit_end(hlo_launch_limit_t* limit);
/// Returns when at most the limit are in flight, and at once on threads that must not wait. A
/// thread that had to wait goes on when a quarter of the limit is free: it is woken once for
/// several launches.
void hlo_launch_limit_await(hlo_launch_limit_t* limit);

// ---- memory

/// The progress of a launch. Its creator fills it; from then on the queue's lock guards it.
typedef struct hlo_launch_progress {
  uint32_t run_count;    // one per device
  uint32_t ready_count;  // runs whose inputs are ready
  uint32_t ended_count;
  bool has_memory, is_running;
  uint64_t size_bytes;  // of the memory for all runs
} hlo_launch_progress_t;

/// A request for memory, embedded in its requester.
typedef struct hlo_memory_request {
  struct hlo_memory_request* next;
  /// Allocates all or nothing: the memory of all runs of the launch, or of the own run only if
  /// another run has ended. Called under the queue's lock. errors: RESOURCE_EXHAUSTED
  hlo_status_t (*allocate)(struct hlo_memory_request* request);
  /// Repeats the request soon. It is served before those in the queue.
  void (*retry)(struct hlo_memory_request* request);
  hlo_launch_progress_t* progress;  // of its launch; NULL: it belongs to none
  bool has_memory;                  // allocated before the request: the queue only counts it
  bool is_retried;                  // for the queue
} hlo_memory_request_t;

/// Serves requests for memory in their order. A launch is running once it has its memory and all
/// its inputs: it will end by itself and free memory. While launches are running, a request waits
/// if allocation fails or would exceed the limit. While none is running, the limit does not apply
/// and a failed allocation is an error. threads: safe
typedef struct hlo_memory_queue {
  hlo_mutex_t lock;  // guards all below
  uint64_t limit_bytes, taken_bytes;
  uint32_t running_count;
  hlo_memory_request_t *first, *last;
} hlo_memory_queue_t;

void hlo_memory_queue_init(hlo_memory_queue_t* queue, uint64_t limit_bytes);
void hlo_memory_queue_deinit(hlo_memory_queue_t* queue);
/// *out_waits: the request is in the queue, which calls `retry` later, perhaps before this returns.
/// A run whose launch has memory already goes on at once.
hlo_status_t hlo_memory_queue_acquire(hlo_memory_queue_t* queue, hlo_memory_request_t* request,
                                      bool* out_waits) HLO_MUST_USE;
/// The inputs of one more run of the launch are ready.
void hlo_memory_queue_note_ready(hlo_memory_queue_t* queue, hlo_launch_progress_t* progress);
/// A run has ended and released its memory. Called for each run of a launch that requested memory.
void hlo_memory_queue_end(hlo_memory_queue_t* queue, hlo_launch_progress_t* progress);
/// Returns true if launches are running.
bool hlo_memory_queue_is_running(hlo_memory_queue_t* queue);
