// SPDX-License-Identifier: Apache-2.0
// Tests of events: order of callbacks, first error wins, joins, waiting threads, abandonment.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/event.h"
#include "runtime/test_util.h"

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
  assert_true(hlo_event_set(event, hlo_internal_error("first")));
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

// Two owners of a pending event release it at the same moment, repeatedly.
typedef struct parting {
  _Atomic(hlo_event_t*) event;  // NULL: both have released it
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

// The waiters are called by whichever release is last.
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
  hlo_event_set(events[2], hlo_internal_error("late in order"));
  assert_false(hlo_event_is_ready(all));
  hlo_event_set(events[0], hlo_internal_error("early in order"));
  assert_true(hlo_event_is_ready(all));
  assert_string_equal(hlo_status_message(hlo_event_error(all)), "early in order");
  hlo_event_release(all);
  hlo_event_release(events[0]);
  hlo_event_release(events[2]);
}

// One callback for each of two events that occur 1000 times in all.
static void joins_wait_once_for_each_event(void** state) {
  (void)state;
  enum { EVENTS = 1000 };
  hlo_event_t* two[2] = {hlo_event_create(), hlo_event_create()};
  hlo_event_t *events[EVENTS], *all = hlo_event_create();
  for (int i = 0; i < EVENTS; ++i) events[i] = two[i % 2];
  hlo_event_join(events, EVENTS, all);
  for (int i = 0; i < 2; ++i) assert_int_equal(hlo_event_waiter_count(two[i]), 1);
  hlo_event_set(two[1], hlo_internal_error("second"));
  assert_false(hlo_event_is_ready(all));
  hlo_event_set(two[0], hlo_ok());
  assert_true(hlo_event_is_ready(all));
  assert_string_equal(hlo_status_message(hlo_event_error(all)), "second");
  hlo_event_release(all);
  for (int i = 0; i < 2; ++i) hlo_event_release(two[i]);
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

// ---- callbacks that set events

enum { CHAIN = 1000000, LEVELS = 40, WAITERS = 3 };

typedef struct link {
  hlo_event_t *event, *next;
  hlo_event_waiter_t waiter;
} link_t;

static link_t* g_chain;

static void chain_init(hlo_event_t* (*make)(void)) {
  g_chain = calloc(CHAIN + 1, sizeof *g_chain);
  assert_non_null(g_chain);
  for (size_t i = 0; i <= CHAIN; ++i) g_chain[i].event = make();
  for (size_t i = 0; i < CHAIN; ++i) g_chain[i].next = g_chain[i + 1].event;
}

static void chain_deinit(void) {
  for (size_t i = 0; i <= CHAIN; ++i) hlo_event_release(g_chain[i].event);
  free(g_chain);
}

static void set_first(void) {
  hlo_event_set(g_chain[0].event, hlo_internal_error("carried to the end"));
}

static void expect_carried(void) {
  assert_string_equal(hlo_status_message(hlo_event_error(g_chain[CHAIN].event)),
                      "carried to the end");
}

static void set_next(void* context, hlo_status_t status) {
  hlo_event_set(((link_t*)context)->next, hlo_status_clone(status));
}

static void* set_long_chain(void* context) {
  for (size_t i = 0; i < CHAIN; ++i) {
    hlo_event_on_ready(g_chain[i].event, &g_chain[i].waiter, set_next, &g_chain[i]);
  }
  set_first();
  return context;
}

static void long_chains_need_little_stack(void** state) {
  (void)state;
  chain_init(hlo_event_create);
  hlo_test_on_small_stack(set_long_chain, NULL);
  expect_carried();
  chain_deinit();
}

static void* join_long_chain(void* context) {
  for (size_t i = 0; i < CHAIN; ++i) hlo_event_join(&g_chain[i].event, 1, g_chain[i].next);
  set_first();
  return context;
}

static void long_chains_of_joins_need_little_stack(void** state) {
  (void)state;
  chain_init(hlo_event_create);
  hlo_test_on_small_stack(join_long_chain, NULL);
  expect_carried();
  chain_deinit();
}

static hlo_event_t* create_ready(void) {
  return hlo_event_create_ready(hlo_ok());
}

static size_t g_visited;

// Continues with the next event, which is ready.
static void visit_next(void* context, hlo_status_t status) {
  (void)status;
  link_t* link = context;
  ++g_visited;
  if (link->next) hlo_event_on_ready(link->next, &link->waiter, visit_next, link + 1);
}

static void* visit_long_chain(void* context) {
  hlo_event_waiter_t waiter;
  hlo_event_on_ready(g_chain[0].event, &waiter, visit_next, &g_chain[0]);
  return context;
}

static void long_chains_of_ready_events_need_little_stack(void** state) {
  (void)state;
  chain_init(create_ready);
  g_visited = 0;
  hlo_test_on_small_stack(visit_long_chain, NULL);
  assert_int_equal(g_visited, CHAIN + 1);
  chain_deinit();
}

// An event with several waiters, the first of which sets the next such event.
typedef struct level {
  hlo_event_t* event;
  struct level* next;
  hlo_event_waiter_t waiters[WAITERS], late, awaited;
  int called[WAITERS + 1], call_count;
  bool is_awaited;
} level_t;

static void note_late(void* context, hlo_status_t status) {
  (void)status;
  level_t* level = context;
  level->called[level->call_count++] = WAITERS;
}

static void note_first(void* context, hlo_status_t status) {
  level_t* level = context;
  level->called[level->call_count++] = 0;
  if (level->next) hlo_event_set(level->next->event, hlo_status_clone(status));
}

static void note_second(void* context, hlo_status_t status) {
  (void)status;
  level_t* level = context;
  level->called[level->call_count++] = 1;
}

// The last one registers another.
static void note_third(void* context, hlo_status_t status) {
  (void)status;
  level_t* level = context;
  level->called[level->call_count++] = 2;
  hlo_event_on_ready(level->event, &level->late, note_late, level);
}

static void callbacks_of_nested_events_run_in_order(void** state) {
  (void)state;
  static const hlo_event_callback_t kCallbacks[WAITERS] = {note_first, note_second, note_third};
  level_t levels[LEVELS] = {0};
  for (int i = 0; i < LEVELS; ++i) levels[i].event = hlo_event_create();
  for (int i = 0; i < LEVELS; ++i) {
    levels[i].next = i + 1 < LEVELS ? &levels[i + 1] : NULL;
    for (int w = 0; w < WAITERS; ++w) {
      hlo_event_on_ready(levels[i].event, &levels[i].waiters[w], kCallbacks[w], &levels[i]);
    }
  }
  hlo_event_set(levels[0].event, hlo_ok());
  for (int i = 0; i < LEVELS; ++i) {
    assert_int_equal(levels[i].call_count, WAITERS + 1);
    for (int w = 0; w <= WAITERS; ++w) assert_int_equal(levels[i].called[w], w);
    hlo_event_release(levels[i].event);
  }
}

static void mark_awaited(void* context, hlo_status_t status) {
  (void)status;
  ((level_t*)context)->is_awaited = true;
}

// Waits in a callback for the effect of another callback of the same thread.
static void set_and_await(void* context, hlo_status_t status) {
  (void)status;
  level_t* level = context;
  if (!level->next) return;
  hlo_event_t* joined = hlo_event_create();
  hlo_event_join(&level->next->event, 1, joined);
  hlo_event_on_ready(joined, &level->awaited, mark_awaited, level);
  hlo_event_set(level->next->event, hlo_ok());
  assert_true(hlo_status_is_ok(hlo_event_await(joined, UINT64_MAX)));
  hlo_event_release(joined);
}

static void callbacks_may_await_what_they_set(void** state) {
  (void)state;
  level_t levels[LEVELS] = {0};
  for (int i = 0; i < LEVELS; ++i) levels[i].event = hlo_event_create();
  for (int i = 0; i < LEVELS; ++i) {
    levels[i].next = i + 1 < LEVELS ? &levels[i + 1] : NULL;
    hlo_event_on_ready(levels[i].event, &levels[i].waiters[0], set_and_await, &levels[i]);
  }
  hlo_event_set(levels[0].event, hlo_ok());
  for (int i = 0; i < LEVELS; ++i) {
    assert_int_equal(levels[i].is_awaited, i + 1 < LEVELS);
    hlo_event_release(levels[i].event);
  }
}

enum { STRESS_THREADS = 4, STRESS_EVENTS = 250000, STRESS_SLOTS = 16 };

// Events that threads exchange: each is completed or dropped by a thread other than its creator.
typedef struct exchange {
  _Atomic(hlo_event_t*) slots[STRESS_SLOTS];
  atomic_int set_count, called_count, failed_count;
} exchange_t;

typedef struct exchanged {
  hlo_event_waiter_t waiter;
  exchange_t* exchange;
} exchanged_t;

static void count_end(void* context, hlo_status_t status) {
  exchanged_t* exchanged = context;
  atomic_fetch_add(&exchanged->exchange->called_count, 1);
  if (!hlo_status_is_ok(status)) atomic_fetch_add(&exchanged->exchange->failed_count, 1);
  free(exchanged);
}

static void end_event(exchange_t* exchange, hlo_event_t* event, int number) {
  if (!event) return;
  if (number % 3) {
    hlo_event_set(event, hlo_ok());
    atomic_fetch_add(&exchange->set_count, 1);
  }
  hlo_event_release(event);
}

static void* exchange_events(void* context) {
  exchange_t* exchange = context;
  for (int i = 0; i < STRESS_EVENTS; ++i) {
    hlo_event_t* event = hlo_event_create();
    exchanged_t* exchanged = malloc(sizeof *exchanged);
    exchanged->exchange = exchange;
    hlo_event_on_ready(event, &exchanged->waiter, count_end, exchanged);
    end_event(exchange, atomic_exchange(&exchange->slots[i % STRESS_SLOTS], event), i);
  }
  return NULL;
}

// A million events end once each, by a status or because they are abandoned.
static void a_million_events_end_once(void** state) {
  (void)state;
  static exchange_t exchange;
  pthread_t threads[STRESS_THREADS];
  for (int t = 0; t < STRESS_THREADS; ++t) {
    pthread_create(&threads[t], NULL, exchange_events, &exchange);
  }
  for (int t = 0; t < STRESS_THREADS; ++t) pthread_join(threads[t], NULL);
  for (int i = 0; i < STRESS_SLOTS; ++i) end_event(&exchange, exchange.slots[i], i);
  assert_int_equal(exchange.called_count, STRESS_THREADS * STRESS_EVENTS);
  assert_int_equal(exchange.set_count + exchange.failed_count, STRESS_THREADS * STRESS_EVENTS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(callbacks_run_in_order),
      cmocka_unit_test(first_status_wins),
      cmocka_unit_test(awaiting_times_out),
      cmocka_unit_test(abandoned_event_fails_its_waiters),
      cmocka_unit_test(owners_that_leave_together_fail_the_waiters),
      cmocka_unit_test(join_takes_the_error_of_the_lowest_index),
      cmocka_unit_test(joins_wait_once_for_each_event),
      cmocka_unit_test(join_of_nothing_is_ready),
      cmocka_unit_test(threads_wait_together),
      cmocka_unit_test(long_chains_need_little_stack),
      cmocka_unit_test(long_chains_of_joins_need_little_stack),
      cmocka_unit_test(long_chains_of_ready_events_need_little_stack),
      cmocka_unit_test(callbacks_of_nested_events_run_in_order),
      cmocka_unit_test(callbacks_may_await_what_they_set),
      cmocka_unit_test(a_million_events_end_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
