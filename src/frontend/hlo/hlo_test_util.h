// SPDX-License-Identifier: Apache-2.0
// Test helpers: the HLO files of tests/data/hlo as modules.
#ifndef HLO_FRONTEND_HLO_HLO_TEST_UTIL_H_
#define HLO_FRONTEND_HLO_HLO_TEST_UTIL_H_

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "frontend/frontend.h"
#include "ir/infer.h"

static inline void must(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static inline size_t read_file(const char* name, char* buffer, size_t capacity) {
  char path[256];
  snprintf(path, sizeof path, "tests/data/hlo/%s", name);
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(buffer, 1, capacity, file);
  fclose(file);
  assert_true(size < capacity);
  return size;
}

/// Reads a file into a verified module.
static inline hlo_module_t* load(const char* name) {
  static char buffer[1 << 16];
  size_t size = read_file(name, buffer, sizeof buffer);
  hlo_module_t* module = NULL;
  hlo_diag_t diag;
  hlo_diag_init(&diag, name, NULL, 0);
  must(hlo_frontend_load(buffer, size, name, NULL, &diag, &module));
  must(hlo_module_verify(module, &diag));
  hlo_diag_deinit(&diag);
  return module;
}

#endif  // HLO_FRONTEND_HLO_HLO_TEST_UTIL_H_
