// SPDX-License-Identifier: Apache-2.0
// Tests of format detection and of errors of hlo_frontend_load().
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_sniff(void** state) {
  (void)state;
  static const struct {
    const char* bytes;
    size_t size;
    hlo_format_t format;
  } cases[] = {
      {"ML\xefR\x0d", 5, HLO_FORMAT_MLIR_BYTECODE},
      {"", 0, HLO_FORMAT_UNKNOWN},
      {"module {}", 9, HLO_FORMAT_MLIR_TEXT},
      {"\n// HloModule\n  func.func @f() {}", 33, HLO_FORMAT_MLIR_TEXT},
      {"HloModule m\n", 12, HLO_FORMAT_HLO_TEXT},
      {"// c\n HloModule m\n", 18, HLO_FORMAT_HLO_TEXT},
      {"/* a\n b */ /**/HloModule m\n", 27, HLO_FORMAT_HLO_TEXT},
      {"/* HloModule m", 14, HLO_FORMAT_MLIR_TEXT},
      {"\x0a\x03jit\x12\x01m", 8, HLO_FORMAT_HLO_PROTO},
      {"\0\0\0\0", 4, HLO_FORMAT_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    assert_int_equal(hlo_frontend_sniff(cases[i].bytes, cases[i].size), cases[i].format);
  }
}

static hlo_status_code_t load(const char* bytes, size_t size, char* message, size_t message_size) {
  hlo_diag_t diag;
  hlo_module_t* module = NULL;
  hlo_diag_init(&diag, "f", bytes, size);
  hlo_status_t status = hlo_frontend_load(bytes, size, "f", NULL, &diag, &module);
  hlo_status_code_t code = hlo_status_code(status);
  assert_int_equal(diag.error_count != 0, code != HLO_STATUS_OK);
  strncpy(message, hlo_strbuf_text(&diag.text), message_size - 1);
  message[message_size - 1] = 0;
  hlo_status_release(status);
  hlo_diag_deinit(&diag);
  hlo_module_release(module);
  return code;
}

static void test_load(void** state) {
  (void)state;
  char message[512];
  static const char good[] = "func.func @main() { return }";
  assert_int_equal(load(good, sizeof good - 1, message, sizeof message), HLO_STATUS_OK);
  static const char bad[] = "func.func @main() { stablehlo.nothing }";
  assert_int_not_equal(load(bad, sizeof bad - 1, message, sizeof message), HLO_STATUS_OK);
  assert_non_null(strstr(message, "f:1:"));
  assert_int_equal(load("ML\xefR\x0d", 5, message, sizeof message), HLO_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "byte 5"));
  assert_int_equal(load("\1\2\3", 3, message, sizeof message), HLO_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "neither MLIR bytecode"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sniff), cmocka_unit_test(test_load)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
