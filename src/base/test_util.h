// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of all layers: checks that a status is OK, removal of folders.
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
// clang-format on

#include "base/status.h"

/// Fails the test with the message if `status` is an error.
static inline void hlo_test_check(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return;
  print_error("%s\n", hlo_status_message(status));
  hlo_status_release(status);
  fail();
}

/// Removes a folder of the test with all its contents.
static inline void hlo_test_remove_folder(const char* path) {
  char command[300];
  assert_true(snprintf(command, sizeof command, "rm -r %s", path) < (int)sizeof command);
  assert_int_equal(system(command), 0);
}
