// SPDX-License-Identifier: Apache-2.0
// For tests of every layer: what must not fail.
#ifndef HLO_BASE_TEST_UTIL_H_
#define HLO_BASE_TEST_UTIL_H_

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/status.h"

/// Fails the test, with the message, when `status` is an error.
static inline void check(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return;
  print_error("%s\n", hlo_status_message(status));
  hlo_status_release(status);
  fail();
}

#endif  // HLO_BASE_TEST_UTIL_H_
