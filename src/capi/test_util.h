// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of the public C API. Include after cmocka.h.
#pragma once

#include <string.h>

#include "hlocc/hlocc.h"

static inline void hlo_test_succeed(hlocc_error_t* error) {
  if (error) fail_msg("%s", hlocc_error_message(error));
}

/// Checks an error (taken).
static inline void hlo_test_expect(hlocc_error_t* error, hlocc_code_t code, const char* words) {
  if (hlocc_error_code(error) != code || !strstr(hlocc_error_message(error), words)) {
    fail_msg("expected code %d and '%s', found code %d: %s", (int)code, words,
             (int)hlocc_error_code(error), hlocc_error_message(error));
  }
  hlocc_error_free(error);
}

static inline hlocc_client_t* hlo_test_client(uint32_t device_count) {
  const hlocc_client_options_t options = {
      .struct_size = sizeof options, .device_count = device_count, .thread_count = 2};
  hlocc_client_t* client = NULL;
  hlo_test_succeed(hlocc_client_create(&options, &client));
  return client;
}

/// Loads "test.mlir"; options may be NULL.
static inline hlocc_executable_t* hlo_test_load(hlocc_client_t* client, const char* text,
                                                const hlocc_compile_options_t* options) {
  hlocc_compile_options_t named = {.struct_size = sizeof named};
  if (options) named = *options;
  named.file_name = "test.mlir";
  hlocc_executable_t* executable = NULL;
  hlo_test_succeed(hlocc_executable_load(client, text, strlen(text), &named, &executable));
  return executable;
}
