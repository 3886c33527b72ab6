// SPDX-License-Identifier: Apache-2.0
// Test helpers: the HLO files of tests/data/hlo as modules.
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/test_util.h"
#include "frontend/frontend.h"
#include "ir/infer.h"

static inline size_t hlo_test_read_file(const char* name, char* buffer, size_t capacity) {
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
static inline hlo_module_t* hlo_test_load(const char* name) {
  static char buffer[1 << 16];
  size_t size = hlo_test_read_file(name, buffer, sizeof buffer);
  hlo_module_t* module = NULL;
  hlo_diag_t diag;
  hlo_diag_init(&diag, name, NULL, 0);
  hlo_test_check(hlo_frontend_load(buffer, size, name, NULL, &diag, &module));
  hlo_test_check(hlo_module_verify(module, &diag));
  hlo_diag_deinit(&diag);
  return module;
}
