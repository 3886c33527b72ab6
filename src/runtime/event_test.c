// SPDX-License-Identifier: Apache-2.0
// Tests of events: order of callbacks, first error wins, joins, waiting threads, abandonment.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/event.h"

typedef struct record {
  int order[100];
  int count;
  hlo_status_code_t code;
} record_t;

typedef struct tagged {
  record_t* record;
  int tag;
} tagged_t;

static void append(void* context, hlo_status_t status) {
  tagged_t* tagged = context;
  tagged->record->order[tagged->record->count++] = tagged->tag;
  tagged->record->code = hlo_status_code(status);
}

static void callbacks_run_in_order(void** state) {
  (void)state;
  record_t record = {0};
  tagged_t tags[100];
  hlo_event_waiter_t waiters[100];
  hlo_event_t* event = hlo_event_create();
  for (int i = 0; i < 99; ++i) {
    tags[i] = (tagged_t){&record, i};
    hlo_event_on_ready(event, &waiters[i], append, &tags[i]);
  }
  assert_int_equal(record.count, 0);
  assert_true(hlo_event_set(event, hlo_ok()));
  tags[99] = (tagged_t){&record, 99};
  hlo_event_on_ready(event, &waiters[99], append, &tags[99]);
  assert_int_equal(record.count, 100);
  for (int i = 0; i < 100; ++i) assert_int_equal(record.order[i], i);
  hlo_event_release(event);
}

static void first_status_wins(void** state) {
  (void)state;
  hlo_event_t* event = hlo_event_create();
  assert_true(hlo_event_set(event, hlo_status_create(HLO_STATUS_INTERNAL, "first")));
  assert_false(hlo_event_set(event, hlo_status_create(HLO_STATUS_UNKNOWN, "second")));
  hlo_status_t status = hlo_event_await(event, UINT64_MAX);
  assert_string_equal(hlo_status_message(status), "first");
  hlo_status_release(status);
  hlo_event_release(event);
}

static void awaiting_times_out(void** state) {
  (void)state;
  hlo_event_t* event = hlo_event_create();
  hlo_status_t status = hlo_event_await(event, 1000);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_DEADLINE_EXCEEDED);
  hlo_status_release(status);
  hlo_event_set(event, hlo_ok());
  hlo_event_release(event);
}

static void abandoned_event_fails_its_waiters(void** state) {
  (void)state;
  record_t record = {0};
  tagged_t tag = {&record, 7};
  hlo_event_t* event = hlo_event_create();
  hlo_event_waiter_t waiter;
  hlo_event_on_ready(event, &waiter, append, &tag);
  hlo_event_release(event);
  assert_int_equal(record.count, 1);
  assert_int_equal(record.code, HLO_STATUS_ABORTED);
}

// Two owners of a pending event that leave at the same moment, over and over.
typedef struct parting {
  _Atomic(hlo_event_t*) event;  // NULL: both are gone
  atomic_int owners;
} parting_t;

enum { PARTINGS = 5000 };

static void part(parting_t* parting, hlo_event_t* event) {
  atomic_fetch_sub(&parting->owners, 1);
  while (atomic_load(&parting->owners) > 0) sched_yield();
  hlo_event_release(event);
}

static void* part_always(void* context) {
  parting_t* parting = context;
  for (int i = 0; i < PARTINGS; ++i) {
    hlo_event_t* event;
    while (!(event = atomic_load(&parting->event))) sched_yield();
    part(parting, event);
    atomic_store(&parting->event, NULL);
  }
  return NULL;
}

static void count_call(void* context, hlo_status_t status) {
  (void)status;
  atomic_fetch_add((atomic_int*)context, 1);
}

// Whoever of them is the last: the waiters hear of it.
static void owners_that_leave_together_fail_the_waiters(void** state) {
  (void)state;
  parting_t parting = {.owners = 0};
  atomic_int calls = 0;
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, part_always, &parting), 0);
  for (int i = 0; i < PARTINGS; ++i) {
    hlo_event_t* event = hlo_event_create();
    hlo_event_waiter_t waiter;
    hlo_event_on_ready(event, &waiter, count_call, &calls);
    atomic_store(&parting.owners, 2);
    atomic_store(&parting.event, hlo_event_retain(event));
    part(&parting, event);
    while (atomic_load(&parting.event)) sched_yield();
  }
  pthread_join(other, NULL);
  assert_int_equal(calls, PARTINGS);
}

static void join_takes_the_error_of_the_lowest_index(void** state) {
  (void)state;
  hlo_event_t* events[3] = {hlo_event_create(), NULL, hlo_event_create()};
  hlo_event_t* all = hlo_event_create();
  hlo_event_join(events, 3, all);
  hlo_event_set(events[2], hlo_status_create(HLO_STATUS_INTERNAL, "late in order"));
  assert_false(hlo_event_is_ready(all));
  hlo_event_set(events[0], hlo_status_create(HLO_STATUS_INTERNAL, "early in order"));
  assert_true(hlo_event_is_ready(all));
  assert_string_equal(hlo_status_message(hlo_event_error(all)), "early in order");
  hlo_event_release(all);
  hlo_event_release(events[0]);
  hlo_event_release(events[2]);
}

static void join_of_nothing_is_ready(void** state) {
  (void)state;
  hlo_event_t* all = hlo_event_create();
  hlo_event_join(NULL, 0, all);
  assert_true(hlo_event_is_ready(all));
  hlo_event_release(all);
}

static void* await_event(void* event) {
  hlo_status_t status = hlo_event_await(event, UINT64_MAX);
  void* ok = hlo_status_is_ok(status) ? event : NULL;
  hlo_event_release(event);
  return ok;
}

static void threads_wait_together(void** state) {
  (void)state;
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  hlo_event_t* event = hlo_event_create();
  for (int i = 0; i < THREADS; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, await_event, hlo_event_retain(event)), 0);
  }
  hlo_event_set(event, hlo_ok());
  for (int i = 0; i < THREADS; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, event);
  }
  hlo_event_release(event);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(callbacks_run_in_order),
      cmocka_unit_test(first_status_wins),
      cmocka_unit_test(awaiting_times_out),
      cmocka_unit_test(abandoned_event_fails_its_waiters),
      cmocka_unit_test(owners_that_leave_together_fail_the_waiters),
      cmocka_unit_test(join_takes_the_error_of_the_lowest_index),
      cmocka_unit_test(join_of_nothing_is_ready),
      cmocka_unit_test(threads_wait_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
