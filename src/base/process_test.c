// SPDX-License-Identifier: Apache-2.0
// Tests of child processes, run or forked: separate, because emulators of processors do not support
// them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/parallel.h"
#include "base/threads.h"

static void test_processes(void** state) {
  (void)state;
  hlo_strbuf_t output = {0};
  int exit_code = -1;
  const char* const echo[] = {"sh", "-c", "read line; echo \"out $line\"; echo err >&2; exit 3",
                              NULL};
  assert_true(hlo_status_is_ok(hlo_os_process_run(echo, UINT64_MAX, &output, &exit_code)));
  assert_int_equal(exit_code, 3);
  assert_string_equal(hlo_strbuf_text(&output), "out \nerr\n");
  const char* const killed[] = {"sh", "-c", "kill -9 $$", NULL};
  assert_true(hlo_status_is_ok(hlo_os_process_run(killed, UINT64_MAX, &output, &exit_code)));
  assert_int_equal(exit_code, -9);
  const char* const absent[] = {"hlocc-no-such-program", NULL};
  hlo_status_t status = hlo_os_process_run(absent, UINT64_MAX, &output, &exit_code);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_NOT_FOUND);
  hlo_status_release(status);
  const char* const slow[] = {"sleep", "60", NULL};
  status = hlo_os_process_run(slow, 20000000, &output, &exit_code);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_DEADLINE_EXCEEDED);
  hlo_status_release(status);
  hlo_strbuf_deinit(&output);
}

static void test_fork_mark(void** state) {
  (void)state;
  const uint32_t* mark = hlo_os_fork_mark_create();
  if (!mark) return;  // the system is too old
  assert_int_equal(*mark, 1);
  pid_t child = fork();
  if (child == 0) _exit(*(volatile const uint32_t*)mark == 0 ? 0 : 1);
  int result = -1;
  waitpid(child, &result, 0);
  assert_int_equal(result, 0);
  assert_int_equal(*mark, 1);
  hlo_os_fork_mark_release(mark);
  hlo_os_fork_mark_release(NULL);
  hlo_os_io_fail_nth(1);
  assert_null(hlo_os_fork_mark_create());
  hlo_os_io_fail_nth(0);
}

static void test_forked_pool(void** state) {
  (void)state;
  hlo_pool_t* pool = NULL;
  assert_true(hlo_status_is_ok(hlo_pool_create(2, &pool)));
  pid_t child = fork();
  if (child == 0) {
    bool orphaned = hlo_pool_is_orphaned(pool);
    hlo_pool_release(pool);  // must not wait for threads that the child lacks
    _exit(orphaned ? 0 : 1);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  assert_false(hlo_pool_is_orphaned(pool));
  hlo_pool_release(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_processes),
      cmocka_unit_test(test_fork_mark),
      cmocka_unit_test(test_forked_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
