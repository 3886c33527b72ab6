// SPDX-License-Identifier: Apache-2.0
// Events (see event.h): a lock, a list of waiters, a gate for threads that wait.
#include "runtime/event.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/threads.h"

typedef struct waiter {
  struct waiter* next;
  hlo_event_callback_t callback;
  void* context;
} waiter_t;

struct hlo_event {
  atomic_int count;
  atomic_bool ready;    // released after status is written; acquired by readers
  hlo_mutex_t lock;     // guards first, last until ready
  hlo_status_t status;  // written once, before ready
  waiter_t *first, *last;
  hlo_gate_t gate;
};

hlo_event_t* hlo_event_create(void) {
  hlo_event_t* event = hlo_mem_alloc_zeroed(sizeof *event);
  if (!event) return NULL;
  atomic_init(&event->count, 1);
  hlo_mutex_init(&event->lock, HLO_LOCK_LEVEL_EVENT);
  return event;
}

hlo_event_t* hlo_event_create_ready(hlo_status_t status) {
  hlo_event_t* event = hlo_event_create();
  if (!event) {
    hlo_status_release(status);
    return NULL;
  }
  hlo_event_set(event, status);
  return event;
}

hlo_event_t* hlo_event_retain(hlo_event_t* event) {
  if (event) atomic_fetch_add_explicit(&event->count, 1, memory_order_relaxed);
  return event;
}

void hlo_event_release(hlo_event_t* event) {
  if (!event) return;
  // A pending event with waiters must not vanish silently: the last owner fails it first.
  if (atomic_load_explicit(&event->count, memory_order_acquire) == 1 &&
      !hlo_event_is_ready(event)) {
    hlo_event_set(event, hlo_status_create(HLO_STATUS_ABORTED,
                                           "event abandoned: whoever was to set it is gone"));
  }
  if (atomic_fetch_sub_explicit(&event->count, 1, memory_order_acq_rel) != 1) return;
  hlo_status_release(event->status);
  hlo_mutex_deinit(&event->lock);
  hlo_mem_free(event);
}

bool hlo_event_set(hlo_event_t* event, hlo_status_t status) {
  hlo_mutex_lock(&event->lock);
  if (atomic_load_explicit(&event->ready, memory_order_relaxed)) {
    hlo_mutex_unlock(&event->lock);
    hlo_status_release(status);
    return false;
  }
  event->status = status;
  waiter_t* waiter = event->first;
  event->first = event->last = NULL;
  atomic_store_explicit(&event->ready, true, memory_order_release);
  atomic_fetch_add_explicit(&event->count, 1, memory_order_relaxed);  // a callback may drop the last
  hlo_mutex_unlock(&event->lock);
  hlo_gate_open(&event->gate);
  while (waiter) {
    waiter_t* next = waiter->next;
    waiter->callback(waiter->context, event->status);
    hlo_mem_free(waiter);
    waiter = next;
  }
  hlo_event_release(event);
  return true;
}

bool hlo_event_is_ready(hlo_event_t* event) {
  return atomic_load_explicit(&event->ready, memory_order_acquire);
}

hlo_status_t hlo_event_error(hlo_event_t* event) {
  return hlo_event_is_ready(event) ? event->status : hlo_ok();
}

hlo_status_t hlo_event_await(hlo_event_t* event, uint64_t timeout_ns) {
  if (!hlo_event_is_ready(event) && !hlo_gate_await(&event->gate, timeout_ns)) {
    return hlo_status_create(HLO_STATUS_DEADLINE_EXCEEDED, "event not ready after %llu ns",
                             (unsigned long long)timeout_ns);
  }
  return hlo_status_clone(event->status);
}

void hlo_event_on_ready(hlo_event_t* event, hlo_event_callback_t callback, void* context) {
  if (!hlo_event_is_ready(event)) {
    waiter_t* waiter = hlo_mem_alloc(sizeof *waiter);
    if (!waiter) {
      hlo_gate_await(&event->gate, UINT64_MAX);
    } else {
      *waiter = (waiter_t){NULL, callback, context};
      hlo_mutex_lock(&event->lock);
      if (!atomic_load_explicit(&event->ready, memory_order_relaxed)) {
        *(event->last ? &event->last->next : &event->first) = waiter;
        event->last = waiter;
        hlo_mutex_unlock(&event->lock);
        return;
      }
      hlo_mutex_unlock(&event->lock);
      hlo_mem_free(waiter);
    }
  }
  callback(context, event->status);
}

typedef struct join {
  atomic_uint pending;
  hlo_event_t* target;
  uint32_t count;
  hlo_event_t* events[];
} join_t;

static void join_finish(join_t* join) {
  hlo_status_t first = hlo_ok();
  for (uint32_t i = 0; i < join->count; ++i) {
    if (!join->events[i]) continue;
    if (hlo_status_is_ok(first)) first = hlo_status_clone(hlo_event_error(join->events[i]));
    hlo_event_release(join->events[i]);
  }
  hlo_event_set(join->target, first);
  hlo_event_release(join->target);
  hlo_mem_free(join);
}

static void join_step(void* context, hlo_status_t status) {
  (void)status;
  join_t* join = context;
  if (atomic_fetch_sub_explicit(&join->pending, 1, memory_order_acq_rel) == 1) join_finish(join);
}

void hlo_event_join(hlo_event_t* const* events, uint32_t count, hlo_event_t* target) {
  join_t* join = hlo_mem_alloc(sizeof *join + count * sizeof(hlo_event_t*));
  if (!join) {
    hlo_event_set(target, hlo_status_out_of_memory(sizeof *join));
    return;
  }
  atomic_init(&join->pending, count + 1);  // one more for this loop
  join->target = hlo_event_retain(target);
  join->count = count;
  for (uint32_t i = 0; i < count; ++i) join->events[i] = hlo_event_retain(events[i]);
  for (uint32_t i = 0; i < count; ++i) {
    if (events[i]) {
      hlo_event_on_ready(events[i], join_step, join);
    } else {
      join_step(join, hlo_ok());
    }
  }
  join_step(join, hlo_ok());
}
