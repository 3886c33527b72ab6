// SPDX-License-Identifier: Apache-2.0
// Test helper: modules written as text.
#pragma once

#include <string.h>

#include "base/test_util.h"
#include "ir/infer.h"
#include "ir/parse.h"

/// Parses and verifies a module; a fault fails the test.
/// owner  : the caller
static inline hlo_module_t* hlo_test_parse(const char* text) {
  hlo_diag_t diag;
  hlo_module_t* module = NULL;
  hlo_diag_init(&diag, "test", text, strlen(text));
  hlo_test_check(hlo_parse_module(text, strlen(text), "test", &diag, &module));
  hlo_test_check(hlo_module_verify(module, &diag));
  hlo_diag_deinit(&diag);
  return module;
}
