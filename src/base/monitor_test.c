// SPDX-License-Identifier: Apache-2.0
// Tests of monitors: periods, signals, handlers of others.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/monitor.h"
#include "base/test_util.h"

typedef struct counts {
  atomic_int looks, signals;
} counts_t;

static void count(void* context, bool is_signal) {
  counts_t* counts = context;
  atomic_fetch_add(is_signal ? &counts->signals : &counts->looks, 1);
}

static void await_count(atomic_int* count, int wanted) {
  enum { POLL_US = 1000, POLLS = 20000 };
  for (int i = 0; i < POLLS && atomic_load(count) < wanted; ++i) usleep(POLL_US);
  assert_true(atomic_load(count) >= wanted);
}

static void test_periods(void** state) {
  (void)state;
  counts_t counts = {0};
  hlo_monitor_t* monitor = NULL;
  const hlo_monitor_options_t options = {.period_ns = 1000000, .look = count, .context = &counts};
  hlo_test_check(hlo_monitor_create(&options, &monitor));
  await_count(&counts.looks, 3);
  hlo_monitor_release(monitor, true);
  assert_int_equal(counts.signals, 0);
}

static void test_signals(void** state) {
  (void)state;
  counts_t counts[2] = {0};
  hlo_monitor_t* monitors[2] = {NULL};
  for (int i = 0; i < 2; ++i) {
    const hlo_monitor_options_t options = {.signal = SIGUSR1, .look = count, .context = &counts[i]};
    hlo_test_check(hlo_monitor_create(&options, &monitors[i]));
  }
  raise(SIGUSR1);
  await_count(&counts[0].signals, 1);
  await_count(&counts[1].signals, 1);
  hlo_monitor_release(monitors[0], true);
  raise(SIGUSR1);
  await_count(&counts[1].signals, 2);
  hlo_monitor_release(monitors[1], true);
  assert_int_equal(counts[0].signals, 1);
  assert_int_equal(counts[1].looks, 0);
  struct sigaction after;
  sigaction(SIGUSR1, NULL, &after);
  assert_ptr_equal(after.sa_handler, SIG_DFL);
}

static void ignore(int signal) {
  (void)signal;
}

static void test_other_handlers_are_respected(void** state) {
  (void)state;
  counts_t counts = {0};
  hlo_monitor_t* monitor = NULL;
  signal(SIGUSR2, ignore);
  const hlo_monitor_options_t options = {.signal = SIGUSR2, .look = count, .context = &counts};
  hlo_status_t status = hlo_monitor_create(&options, &monitor);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  hlo_status_release(status);
  struct sigaction after;
  sigaction(SIGUSR2, NULL, &after);
  assert_ptr_equal(after.sa_handler, ignore);
  signal(SIGUSR2, SIG_DFL);
}

static void test_names(void** state) {
  (void)state;
  static const struct {
    const char* name;
    int number;  // -1: refused
  } cases[] = {{"", 0},      {"USR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"3", SIGQUIT},
               {"KILL", -1}, {"9", -1},         {"SEGV", -1},         {"seven", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int number = -1;
    hlo_status_t status = hlo_monitor_signal(cases[i].name, &number);
    assert_int_equal(number, cases[i].number);
    assert_int_equal(hlo_status_is_ok(status), cases[i].number >= 0);
    hlo_status_release(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_periods),
      cmocka_unit_test(test_signals),
      cmocka_unit_test(test_other_handlers_are_respected),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
