// SPDX-License-Identifier: Apache-2.0
// For tests of reference functions: programs as text whose check.* ops state the expected values.
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "interp/program.h"
#include "ir/infer.h"
#include "ir/parse.h"

/// Parses, verifies and runs the only function of `text`, which has no arguments or results.
static inline hlo_status_t hlo_test_run_text(const char* text) {
  hlo_diag_t diag;
  hlo_module_t* module = NULL;
  hlo_interp_program_t* program = NULL;
  hlo_diag_init(&diag, "test", text, strlen(text));
  hlo_status_t status = hlo_parse_module(text, strlen(text), "test", &diag, &module);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, &diag);
  if (hlo_status_is_ok(status)) status = hlo_interp_program_create(module, &program);
  if (hlo_status_is_ok(status)) {
    status = hlo_interp_call(program, hlo_module_entry(module), 0, NULL, 0, NULL, NULL);
  }
  hlo_interp_program_release(program);
  hlo_module_release(module);
  hlo_diag_deinit(&diag);
  return status;
}

static inline void hlo_test_expect_runs(const char* body) {
  char text[16384];
  assert_true(strlen(body) + 64 < sizeof(text));
  strcpy(text, "func.func @main() {\n");
  strcat(text, body);
  strcat(text, "\nfunc.return\n}\n");
  hlo_status_t status = hlo_test_run_text(text);
  if (!hlo_status_is_ok(status)) {
    print_error("%s\n%s\n", text, hlo_status_message(status));
    hlo_status_release(status);
    fail();
  }
}
