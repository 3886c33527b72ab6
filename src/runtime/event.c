// SPDX-License-Identifier: Apache-2.0
// Events (see event.h): one word that is the list of waiters until the event is ready, and a gate
// for waiting threads.
#include "runtime/event.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/threads.h"
#include "base/trace.h"
#include "base/tuning.h"
#include "runtime/waits.h"

struct hlo_event {
  atomic_int count;
  atomic_bool is_claimed;      // by the first call of set; relaxed: it orders nothing
  bool is_promise;             // immutable
  atomic_bool awaits_promise;  // while pending; relaxed: a hint that orders nothing
  hlo_status_t status;         // written by that call, before `waiters` becomes ready_mark()
  _Atomic(hlo_event_waiter_t*) waiters;  // the newest first; finally ready_mark(). Release when a
                                         // waiter is added, acquire when read
  hlo_gate_t gate;
};

static const hlo_event_waiter_t kReadyMark = {0};

// The value of `waiters` when the event is ready: an address that is never read.
static hlo_event_waiter_t* ready_mark(void) {
  return (hlo_event_waiter_t*)&kReadyMark;
}

hlo_event_t* hlo_event_create(void) {
  hlo_event_t* event = hlo_mem_alloc_zeroed(sizeof *event);
  if (event) atomic_init(&event->count, 1);
  return event;
}

hlo_event_t* hlo_event_create_promise(void) {
  hlo_event_t* event = hlo_event_create();
  if (!event) return NULL;
  event->is_promise = true;
  atomic_init(&event->awaits_promise, true);
  return event;
}

bool hlo_event_is_promise(const hlo_event_t* event) {
  return event->is_promise;
}

bool hlo_event_awaits_promise(hlo_event_t* event) {
  return !hlo_event_is_ready(event) &&
         atomic_load_explicit(&event->awaits_promise, memory_order_relaxed);
}

void hlo_event_note_promise(hlo_event_t* event, bool awaits_promise) {
  atomic_store_explicit(&event->awaits_promise, awaits_promise, memory_order_relaxed);
}

hlo_event_t* hlo_event_create_ready(hlo_status_t status) {
  hlo_event_t* event = hlo_event_create();
  if (!event) {
    hlo_status_release(status);
    return NULL;
  }
  // No other thread has the event yet.
  event->status = status;
  atomic_init(&event->is_claimed, true);
  atomic_init(&event->waiters, ready_mark());
  atomic_init(&event->gate.state, HLO_GATE_OPEN);
  return event;
}

hlo_event_t* hlo_event_retain(hlo_event_t* event) {
  if (event) atomic_fetch_add_explicit(&event->count, 1, memory_order_relaxed);
  return event;
}

void hlo_event_release(hlo_event_t* event) {
  if (!event || atomic_fetch_sub_explicit(&event->count, 1, memory_order_acq_rel) != 1) return;
  if (hlo_event_is_ready(event)) {
    hlo_status_release(event->status);
    hlo_mem_free(event);
    return;
  }
  // A pending event must not disappear silently. Its callbacks may keep it for a while.
  atomic_store_explicit(&event->count, 1, memory_order_relaxed);
  hlo_event_set(event, hlo_status_create(HLO_STATUS_ABORTED,
                                         "the event was abandoned: released before it was set"));
  hlo_event_release(event);
}

// ---- callbacks

// The callbacks of one thread. Only the deepest level postpones callbacks, and runs them before it
// returns: on other levels the list is empty.
typedef struct calls {
  unsigned depth;
  hlo_event_waiter_t *first, *last;  // postponed, each with a reference to its event
} calls_t;

static _Thread_local calls_t t_calls;

static void postpone(calls_t* calls, hlo_event_t* event, hlo_event_waiter_t* oldest) {
  *(calls->last ? &calls->last->next : &calls->first) = oldest;
  for (hlo_event_waiter_t* waiter = oldest; waiter; waiter = waiter->next) {
    waiter->event = hlo_event_retain(event);
    calls->last = waiter;
  }
}

static void run_postponed(calls_t* calls) {
  for (hlo_event_waiter_t* waiter; (waiter = calls->first) != NULL;) {
    calls->first = waiter->next;
    if (!calls->first) calls->last = NULL;
    hlo_event_t* event = waiter->event;
    waiter->callback(waiter->context, event->status);  // may free the waiter
    hlo_event_release(event);
  }
}

void hlo_event_run_postponed(void) {
  run_postponed(&t_calls);
}

// Returns the list in registration order, given the newest first.
static hlo_event_waiter_t* reverse(hlo_event_waiter_t* newest) {
  hlo_event_waiter_t* oldest = NULL;
  while (newest) {
    hlo_event_waiter_t* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

// Runs the callbacks of a ready event, to which the caller has a reference, or postpones them.
static void call_waiters(hlo_event_t* event, hlo_event_waiter_t* oldest) {
  calls_t* calls = &t_calls;
  if (calls->depth == HLO_TUNING_EVENT_MAX_NESTED) {
    postpone(calls, event, oldest);
    return;
  }
  ++calls->depth;
  hlo_thread_no_wait_begin();
  while (oldest) {
    hlo_event_waiter_t* waiter = oldest;
    oldest = waiter->next;  // the callback may free it
    waiter->callback(waiter->context, event->status);
  }
  if (calls->depth == HLO_TUNING_EVENT_MAX_NESTED) run_postponed(calls);
  hlo_thread_no_wait_end();
  --calls->depth;
}

bool hlo_event_set(hlo_event_t* event, hlo_status_t status) {
  if (atomic_exchange_explicit(&event->is_claimed, true, memory_order_relaxed)) {
    hlo_status_release(status);
    return false;
  }
  event->status = status;
  hlo_event_waiter_t* waiters =
      atomic_exchange_explicit(&event->waiters, ready_mark(), memory_order_acq_rel);
  hlo_gate_open(&event->gate);
  if (!waiters) return true;
  hlo_event_retain(event);  // a callback may drop the caller's reference
  call_waiters(event, reverse(waiters));
  hlo_event_release(event);
  return true;
}

bool hlo_event_is_ready(hlo_event_t* event) {
  return atomic_load_explicit(&event->waiters, memory_order_acquire) == ready_mark();
}

bool hlo_event_is_shared(hlo_event_t* event, int own_count) {
  return atomic_load_explicit(&event->count, memory_order_acquire) > own_count;
}

hlo_status_t hlo_event_error(hlo_event_t* event) {
  return hlo_event_is_ready(event) ? event->status : hlo_ok();
}

static bool block(hlo_event_t* event, uint64_t timeout_ns) {
  const uint64_t begin_ns = hlo_trace_begin();
  hlo_wait_t wait;
  hlo_wait_begin(&wait,
                 event->is_promise ? "a value that the application has yet to provide"
                                   : "a copy or short program",
                 event);
  const bool is_ready = hlo_gate_await(&event->gate, timeout_ns);
  hlo_wait_end(&wait);
  hlo_trace_end(NULL, begin_ns, "wait", "wait", NULL);  // events belong to no client
  return is_ready;
}

hlo_status_t hlo_event_await(hlo_event_t* event, uint64_t timeout_ns) {
  if (!hlo_event_is_ready(event)) hlo_event_run_postponed();  // they may set the event
  if (!hlo_event_is_ready(event) && !block(event, timeout_ns)) {
    return hlo_status_create(HLO_STATUS_DEADLINE_EXCEEDED, "event not ready after %llu ns",
                             (unsigned long long)timeout_ns);
  }
  return hlo_status_clone(event->status);
}

// Returns false if the event has become ready meanwhile.
static bool add_waiter(hlo_event_t* event, hlo_event_waiter_t* waiter) {
  waiter->next = atomic_load_explicit(&event->waiters, memory_order_acquire);
  do {
    if (waiter->next == ready_mark()) return false;
  } while (!atomic_compare_exchange_weak_explicit(&event->waiters, &waiter->next, waiter,
                                                  memory_order_acq_rel, memory_order_acquire));
  return true;
}

void hlo_event_on_ready(hlo_event_t* event, hlo_event_waiter_t* waiter,
                        hlo_event_callback_t callback, void* context) {
  *waiter = (hlo_event_waiter_t){.callback = callback, .context = context};
  if (add_waiter(event, waiter)) return;
  waiter->next = NULL;
  call_waiters(event, waiter);
}

uint32_t hlo_event_waiter_count(hlo_event_t* event) {
  uint32_t count = 0;
  const hlo_event_waiter_t* waiter = atomic_load_explicit(&event->waiters, memory_order_acquire);
  for (; waiter && waiter != ready_mark(); waiter = waiter->next) ++count;
  return count;
}

enum { FILTER_PROBES = 4 };  // this number of events is never forgotten

bool hlo_event_filter_has(hlo_event_filter_t* filter, const hlo_event_t* event) {
  if (!filter->is_used) *filter = (hlo_event_filter_t){.is_used = true};
  // Fibonacci hashing: the high bits of the product depend on all bits of the address.
  const uint64_t hash = (uint64_t)(uintptr_t)event * UINT64_C(0x9E3779B97F4A7C15);
  const uint64_t first = hash >> 32;
  for (uint64_t i = 0; i < FILTER_PROBES; ++i) {
    const hlo_event_t** slot = &filter->slots[(first + i) % HLO_EVENT_FILTER_SLOTS];
    if (*slot == event) return true;
    if (*slot) continue;
    *slot = event;
    return false;
  }
  filter->slots[first % HLO_EVENT_FILTER_SLOTS] = event;
  return false;
}

typedef struct joined {
  hlo_event_t* event;  // retained; NULL: ready
  hlo_event_waiter_t waiter;
} joined_t;

typedef struct join {
  atomic_uint pending;
  hlo_event_t* target;
  uint32_t count;
  joined_t joined[];
} join_t;

static void join_finish(join_t* join) {
  hlo_status_t first = hlo_ok();
  for (uint32_t i = 0; i < join->count; ++i) {
    hlo_event_t* event = join->joined[i].event;
    if (event && hlo_status_is_ok(first)) first = hlo_status_clone(hlo_event_error(event));
    hlo_event_release(event);
  }
  hlo_event_set(join->target, first);
  hlo_event_release(join->target);
  hlo_mem_free(join);
}

static void join_step(void* context, HLO_UNUSED hlo_status_t status) {
  join_t* join = context;
  if (atomic_fetch_sub_explicit(&join->pending, 1, memory_order_acq_rel) == 1) join_finish(join);
}

void hlo_event_join(hlo_event_t* const* events, uint32_t count, hlo_event_t* target) {
  join_t* join = hlo_mem_alloc(sizeof *join + count * sizeof(joined_t));
  if (!join) {
    hlo_event_set(target, hlo_status_out_of_memory(sizeof *join));
    return;
  }
  atomic_init(&join->pending, count + 1);  // one more for this loop
  join->target = hlo_event_retain(target);
  join->count = count;
  bool awaits_promise = false;
  for (uint32_t i = 0; i < count; ++i) {
    join->joined[i].event = hlo_event_retain(events[i]);
    awaits_promise |= events[i] && hlo_event_awaits_promise(events[i]);
  }
  if (awaits_promise) hlo_event_note_promise(target, true);
  hlo_event_filter_t filter;
  filter.is_used = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (events[i] && !hlo_event_filter_has(&filter, events[i])) {
      hlo_event_on_ready(events[i], &join->joined[i].waiter, join_step, join);
    } else {
      join_step(join, hlo_ok());
    }
  }
  join_step(join, hlo_ok());
}
