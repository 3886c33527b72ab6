// SPDX-License-Identifier: Apache-2.0
// Windows: puts around a ring on threads, what is visible after a signal, who is told to wait, and
// which registrations are remembered.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "base/threads.h"
#include "comm/window.h"

enum { MEMBERS = 8, ROUNDS = 2000, WORDS = 16 };

static const hlo_window_request_t kRequest = {
    .size_bytes = WORDS * sizeof(uint64_t), .alignment = 256, .signal_count = 2};

typedef struct member {
  pthread_t thread;
  uint32_t number;
  const char* fault;
} member_t;

static hlo_window_t* g_window;
static member_t g_members[MEMBERS];
static atomic_uint g_wakes[MEMBERS];

// A member sleeps until the counter of its wakes has grown.
static void wake(void* context, uint32_t member) {
  (void)context;
  atomic_fetch_add(&g_wakes[member], 1);
}

static void sleep_until_woken(uint32_t member, uint32_t seen) {
  while (atomic_load(&g_wakes[member]) == seen) sched_yield();
}

#define UNTIL_DONE(member, call)                           \
  do {                                                     \
    bool pending = true;                                   \
    while (pending) {                                      \
      const uint32_t seen = atomic_load(&g_wakes[member]); \
      hlo_test_check(call);                                \
      if (pending) sleep_until_woken(member, seen);        \
    }                                                      \
  } while (0)

// Each member puts its number and the round to the next one, whose signal 0 then says so; signal 1
// says that the memory may be written again.
static void* go_round(void* context) {
  member_t* m = context;
  const uint32_t me = m->number, next = (me + 1) % MEMBERS, last = (me + MEMBERS - 1) % MEMBERS;
  UNTIL_DONE(me, hlo_window_register(g_window, me, &kRequest, &pending));
  for (uint64_t round = 1; round <= ROUNDS; ++round) {
    uint64_t words[WORDS];
    for (uint32_t i = 0; i < WORDS; ++i) words[i] = round * MEMBERS + me;
    hlo_test_check(hlo_window_put(g_window, next, 0, words, sizeof words));
    hlo_window_fence(g_window);
    hlo_window_signal(g_window, next, 0, 1);
    UNTIL_DONE(me, hlo_window_wait(g_window, me, 0, 1, &pending));
    const uint64_t* got = hlo_window_address(g_window, me);
    for (uint32_t i = 0; i < WORDS; ++i) {
      if (got[i] != round * MEMBERS + last) m->fault = "another value than that of the round";
    }
    hlo_window_signal(g_window, last, 1, 1);
    UNTIL_DONE(me, hlo_window_wait(g_window, me, 1, 1, &pending));
    if (round % 100 == 0) UNTIL_DONE(me, hlo_window_barrier(g_window, me, &pending));
  }
  return NULL;
}

static void puts_go_round(void** state) {
  (void)state;
  hlo_test_check(hlo_window_create(MEMBERS, &kRequest, wake, NULL, &g_window));
  for (uint32_t i = 0; i < MEMBERS; ++i) {
    g_members[i] = (member_t){.number = i};
    assert_int_equal(pthread_create(&g_members[i].thread, NULL, go_round, &g_members[i]), 0);
  }
  for (uint32_t i = 0; i < MEMBERS; ++i) {
    pthread_join(g_members[i].thread, NULL);
    assert_null(g_members[i].fault);
    assert_int_equal((uintptr_t)hlo_window_address(g_window, i) % kRequest.alignment, 0);
  }
  uint64_t word = 0;
  hlo_test_check(hlo_window_get(g_window, 3, 8, &word, sizeof word));
  assert_int_equal(word, ROUNDS * MEMBERS + 2);
  hlo_window_release(g_window);
}

static void expect_error(hlo_status_t status, hlo_status_code_t code) {
  assert_int_equal(hlo_status_code(status), code);
  hlo_status_release(status);
}

static void requests_are_checked(void** state) {
  (void)state;
  hlo_window_t* window = NULL;
  hlo_window_request_t request = kRequest;
  request.alignment = 24;
  expect_error(hlo_window_create(2, &request, NULL, NULL, &window), HLO_STATUS_INVALID_ARGUMENT);
  request = kRequest;
  request.reach = HLO_WINDOW_MULTICAST;
  expect_error(hlo_window_create(2, &request, NULL, NULL, &window), HLO_STATUS_UNIMPLEMENTED);
  expect_error(hlo_window_create(0, &kRequest, NULL, NULL, &window), HLO_STATUS_INVALID_ARGUMENT);
  hlo_test_check(hlo_window_create(2, &kRequest, NULL, NULL, &window));
  bool pending = false;
  request = kRequest;
  request.size_bytes = 8;
  expect_error(hlo_window_register(window, 0, &request, &pending), HLO_STATUS_INVALID_ARGUMENT);
  uint64_t word = 1;
  expect_error(hlo_window_put(window, 0, kRequest.size_bytes - 7, &word, 8),
               HLO_STATUS_INVALID_ARGUMENT);
  expect_error(hlo_window_get(window, 0, SIZE_MAX, &word, 8), HLO_STATUS_INVALID_ARGUMENT);
  hlo_window_release(window);
}

// A member that never registers, signals or arrives: the others wait until the window fails.
static void waits_end_with_an_error(void** state) {
  (void)state;
  hlo_window_t* window = NULL;
  hlo_test_check(hlo_window_create(2, &kRequest, wake, NULL, &window));
  bool pending = false;
  hlo_test_check(hlo_window_register(window, 0, &kRequest, &pending));
  assert_true(pending);
  const uint32_t seen = atomic_load(&g_wakes[0]);
  hlo_status_t error = hlo_internal_error("member 1 is gone");
  hlo_window_fail(window, error);
  hlo_status_release(error);
  assert_int_equal(atomic_load(&g_wakes[0]), seen + 1);
  expect_error(hlo_window_register(window, 0, &kRequest, &pending), HLO_STATUS_INTERNAL);
  expect_error(hlo_window_wait(window, 0, 0, 1, &pending), HLO_STATUS_INTERNAL);
  expect_error(hlo_window_barrier(window, 0, &pending), HLO_STATUS_INTERNAL);
  hlo_window_signal(window, 0, 0, 2);  // what is there is still taken
  hlo_test_check(hlo_window_wait(window, 0, 0, 2, &pending));
  assert_false(pending);
  hlo_window_release(window);
}

static void registrations_are_remembered(void** state) {
  (void)state;
  enum { LIMIT = 3 };
  static uint64_t memory[64];
  hlo_window_cache_t* cache = NULL;
  hlo_window_t* windows[4];
  hlo_test_check(hlo_window_cache_create(LIMIT, &cache));
  for (uint32_t i = 0; i < 4; ++i) {
    hlo_test_check(hlo_window_create(1, &kRequest, NULL, NULL, &windows[i]));
  }
  hlo_test_check(hlo_window_cache_add(cache, 1, memory, 64, windows[0]));
  hlo_test_check(hlo_window_cache_add(cache, 1, memory, 128, windows[1]));
  hlo_test_check(hlo_window_cache_add(cache, 2, memory, 64, windows[2]));
  assert_ptr_equal(hlo_window_cache_find(cache, 1, memory, 64), windows[0]);
  assert_ptr_equal(hlo_window_cache_find(cache, 1, memory, 128), windows[1]);
  assert_ptr_equal(hlo_window_cache_find(cache, 2, memory, 64), windows[2]);
  assert_null(hlo_window_cache_find(cache, 2, memory, 128));
  hlo_test_check(hlo_window_cache_add(cache, 2, memory + 32, 8, windows[3]));
  assert_null(hlo_window_cache_find(cache, 1, memory, 64));
  hlo_window_cache_drop(cache, memory + 15, 8);  // of the second's memory
  assert_null(hlo_window_cache_find(cache, 1, memory, 128));
  assert_ptr_equal(hlo_window_cache_find(cache, 2, memory, 64), windows[2]);
  hlo_window_cache_release(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(puts_go_round),
      cmocka_unit_test(requests_are_checked),
      cmocka_unit_test(waits_end_with_an_error),
      cmocka_unit_test(registrations_are_remembered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
