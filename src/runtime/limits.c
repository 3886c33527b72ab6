// SPDX-License-Identifier: Apache-2.0
// Limits of launches (see limits.h).
#include "runtime/limits.h"

#include "base/trace.h"
#include "runtime/waits.h"

// ---- launches in flight

// A bit of hlo_launch_limit.state: the list has waiting threads.
static const unsigned kAwaited = 1u << 31;

typedef struct hlo_launch_waiter {
  struct hlo_launch_waiter* next;
  hlo_gate_t gate;
} launch_waiter_t;

static uint32_t count_of(unsigned state) {
  return state & ~kAwaited;
}

// Waiting threads go on at this count.
static uint32_t resume_count(const hlo_launch_limit_t* limit) {
  return limit->limit - (limit->limit + 3) / 4;
}

void hlo_launch_limit_init(hlo_launch_limit_t* limit, uint32_t launches) {
  *limit = (hlo_launch_limit_t){.limit = launches};
  hlo_mutex_init(&limit->lock, HLO_LOCK_LEVEL_FLIGHT);
}

void hlo_launch_limit_deinit(hlo_launch_limit_t* limit) {
  hlo_mutex_deinit(&limit->lock);
}

uint32_t hlo_launch_limit_count(const hlo_launch_limit_t* limit) {
  return count_of(atomic_load_explicit(&limit->state, memory_order_relaxed));
}

void hlo_launch_limit_begin(hlo_launch_limit_t* limit) {
  // relaxed: only a number; events order the work of launches
  atomic_fetch_add_explicit(&limit->state, 1, memory_order_relaxed);
}

static void wake_all(hlo_launch_limit_t* limit) {
  hlo_mutex_lock(&limit->lock);
  launch_waiter_t* waiter = limit->waiters;
  limit->waiters = NULL;
  atomic_fetch_and_explicit(&limit->state, ~kAwaited, memory_order_relaxed);
  hlo_mutex_unlock(&limit->lock);
  while (waiter) {
    launch_waiter_t* next = waiter->next;  // read first: the waiter is on a stack that unwinds
    hlo_gate_open(&waiter->gate);
    waiter = next;
  }
}

void hlo_launch_limit_end(hlo_launch_limit_t* limit) {
  // relaxed: the bit and the count are one word, so a waiter sees this count or this sees its bit
  const unsigned state = atomic_fetch_sub_explicit(&limit->state, 1, memory_order_relaxed) - 1;
  if ((state & kAwaited) && count_of(state) <= resume_count(limit)) wake_all(limit);
}

void hlo_launch_limit_await(hlo_launch_limit_t* limit) {
  if (HLO_LIKELY(hlo_launch_limit_count(limit) <= limit->limit) || !hlo_thread_may_wait()) return;
  launch_waiter_t waiter = {0};
  hlo_mutex_lock(&limit->lock);
  const unsigned state = atomic_fetch_or_explicit(&limit->state, kAwaited, memory_order_relaxed);
  const bool waits = count_of(state) > resume_count(limit);
  if (waits) {
    waiter.next = limit->waiters;
    limit->waiters = &waiter;
  } else if (!limit->waiters) {
    atomic_fetch_and_explicit(&limit->state, ~kAwaited, memory_order_relaxed);
  }
  hlo_mutex_unlock(&limit->lock);
  if (!waits) return;
  const uint64_t begin_ns = hlo_trace_begin();
  hlo_wait_t wait;
  hlo_wait_begin(&wait, "the end of launches, of which too many are in flight on a device", NULL);
  hlo_gate_await(&waiter.gate, UINT64_MAX);
  hlo_wait_end(&wait);
  hlo_trace_end(NULL, begin_ns, "wait", "launches in flight", NULL);
}

// ---- memory

void hlo_memory_queue_init(hlo_memory_queue_t* queue, uint64_t limit_bytes) {
  *queue = (hlo_memory_queue_t){.limit_bytes = limit_bytes};
  hlo_mutex_init(&queue->lock, HLO_LOCK_LEVEL_FLIGHT + 1);
}

void hlo_memory_queue_deinit(hlo_memory_queue_t* queue) {
  hlo_mutex_deinit(&queue->lock);
}

static void append_locked(hlo_memory_queue_t* queue, hlo_memory_request_t* request) {
  request->next = NULL;
  *(queue->last ? &queue->last->next : &queue->first) = request;
  queue->last = request;
}

static void prepend_locked(hlo_memory_queue_t* queue, hlo_memory_request_t* request) {
  request->next = queue->first;
  queue->first = request;
  if (!queue->last) queue->last = request;
}

// Moves the first request, if any, to the list `again`.
static void pop_locked(hlo_memory_queue_t* queue, hlo_memory_request_t** again) {
  hlo_memory_request_t* request = queue->first;
  if (!request) return;
  queue->first = request->next;
  if (!queue->first) queue->last = NULL;
  request->is_retried = true;
  request->next = *again;
  *again = request;
}

// Moves the requests of a launch, which has memory for all its runs now, to the list `again`.
static void pop_launch_locked(hlo_memory_queue_t* queue, const hlo_launch_progress_t* progress,
                              hlo_memory_request_t** again) {
  hlo_memory_request_t* request = queue->first;
  queue->first = queue->last = NULL;
  while (request) {
    hlo_memory_request_t* next = request->next;
    if (request->progress == progress) {
      request->next = *again;
      *again = request;
    } else {
      append_locked(queue, request);
    }
    request = next;
  }
}

static void retry_all(hlo_memory_request_t* requests) {
  while (requests) {
    hlo_memory_request_t* next = requests->next;  // read first: the request may be freed
    requests->retry(requests);
    requests = next;
  }
}

// Returns true if other requests come first, or the limit forbids the launch to begin.
static bool has_to_wait_locked(const hlo_memory_queue_t* queue,
                               const hlo_memory_request_t* request) {
  if (request->has_memory) return false;
  if (!request->is_retried && queue->first) return true;
  const uint64_t size_bytes = request->progress ? request->progress->size_bytes : 0;
  const bool fits = queue->taken_bytes <= queue->limit_bytes &&
                    size_bytes <= queue->limit_bytes - queue->taken_bytes;
  return !fits && queue->running_count > 0;
}

static void update_running_locked(hlo_memory_queue_t* queue, hlo_launch_progress_t* progress) {
  const bool runs = progress->has_memory && progress->ready_count == progress->run_count &&
                    progress->ended_count < progress->run_count;
  if (runs == progress->is_running) return;
  progress->is_running = runs;
  queue->running_count += runs ? 1 : (uint32_t)-1;
}

static void note_memory_locked(hlo_memory_queue_t* queue, hlo_launch_progress_t* progress) {
  queue->taken_bytes += progress->size_bytes;
  progress->has_memory = true;
  update_running_locked(queue, progress);
}

// Allocates the memory of the request. *out_waits: allocation may succeed later.
static hlo_status_t allocate_locked(const hlo_memory_queue_t* queue, hlo_memory_request_t* request,
                                    bool* out_waits) {
  *out_waits = has_to_wait_locked(queue, request);
  if (*out_waits) return hlo_ok();
  hlo_status_t status = request->allocate(request);
  if (hlo_status_is_ok(status) || queue->running_count == 0) return status;
  hlo_status_release(status);
  *out_waits = true;
  return hlo_ok();
}

// See hlo_memory_queue_acquire(). Adds requests that are to be repeated to *again.
static hlo_status_t acquire_locked(hlo_memory_queue_t* queue, hlo_memory_request_t* request,
                                   bool* out_waits, hlo_memory_request_t** again) {
  hlo_launch_progress_t* progress = request->progress;
  const bool was_retried = request->is_retried;
  hlo_status_t status = hlo_ok();
  *out_waits = false;
  if (!progress || !progress->has_memory) {
    status = allocate_locked(queue, request, out_waits);
    const bool has_memory = !*out_waits && hlo_status_is_ok(status);
    if (has_memory && progress && progress->ended_count == 0) {
      note_memory_locked(queue, progress);
      if (progress->run_count > 1) pop_launch_locked(queue, progress, again);
    }
  }
  request->is_retried = false;
  if (!*out_waits) {
    // The freed memory may suffice for the next request as well.
    if (was_retried) pop_locked(queue, again);
  } else if (was_retried) {
    prepend_locked(queue, request);
  } else {
    append_locked(queue, request);
  }
  return status;
}

hlo_status_t hlo_memory_queue_acquire(hlo_memory_queue_t* queue, hlo_memory_request_t* request,
                                      bool* out_waits) {
  hlo_memory_request_t* again = NULL;
  hlo_mutex_lock(&queue->lock);
  hlo_status_t status = acquire_locked(queue, request, out_waits, &again);
  hlo_mutex_unlock(&queue->lock);
  retry_all(again);
  return status;
}

void hlo_memory_queue_note_ready(hlo_memory_queue_t* queue, hlo_launch_progress_t* progress) {
  hlo_mutex_lock(&queue->lock);
  ++progress->ready_count;
  update_running_locked(queue, progress);
  hlo_mutex_unlock(&queue->lock);
}

void hlo_memory_queue_end(hlo_memory_queue_t* queue, hlo_launch_progress_t* progress) {
  hlo_mutex_lock(&queue->lock);
  const bool is_over = ++progress->ended_count == progress->run_count;
  if (is_over && progress->has_memory) queue->taken_bytes -= progress->size_bytes;
  update_running_locked(queue, progress);
  hlo_memory_request_t* again = NULL;
  pop_locked(queue, &again);
  hlo_mutex_unlock(&queue->lock);
  retry_all(again);
}

bool hlo_memory_queue_is_running(hlo_memory_queue_t* queue) {
  hlo_mutex_lock(&queue->lock);
  const bool is_running = queue->running_count > 0;
  hlo_mutex_unlock(&queue->lock);
  return is_running;
}
