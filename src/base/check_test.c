// SPDX-License-Identifier: Apache-2.0
// The grades of assertions: values and side effects in every build, termination in debug builds
// only.
#include "base/check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int evaluated;

static bool note(bool value) {
  ++evaluated;
  return value;
}

static void conditions_are_evaluated_once(void** state) {
  (void)state;
  assert_true(HLO_ALWAYS(note(true)));
  assert_false(HLO_NEVER(note(false)));
  assert_int_equal(evaluated, 2);
  HLO_ASSERT(state == NULL || state != NULL, "a fact");
  HLO_REACHED(evaluated == 2);
}

static bool fail_assertion(void) {
  HLO_ASSERT(evaluated < 0, "evaluations are counted from zero");
  return true;
}

static bool fail_always(void) {
  return !HLO_ALWAYS(evaluated < 0);
}

static bool fail_never(void) {
  return HLO_NEVER(evaluated >= 0);
}

// Runs a function in a child process: returns true if it aborted, else its result holds.
static bool aborts(bool (*function)(void)) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    close(STDERR_FILENO);
    _exit(function() ? 0 : 1);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  if (WIFSIGNALED(how)) return WTERMSIG(how) == SIGABRT;
  assert_int_equal(WEXITSTATUS(how), 0);
  return false;
}

static void failures_end_debug_builds(void** state) {
  (void)state;
#ifdef NDEBUG
  const bool is_debug = false;
#else
  const bool is_debug = true;
#endif
  assert_true(aborts(fail_assertion) == is_debug);
  assert_true(aborts(fail_always) == is_debug);
  assert_true(aborts(fail_never) == is_debug);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conditions_are_evaluated_once),
      cmocka_unit_test(failures_end_debug_builds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
