// SPDX-License-Identifier: Apache-2.0
// Tests of errors that cross the FFI. handlers_jaxlib_test.c takes them apart in C++.
#include "ffi/error.h"

#include <string.h>

#include "base/mem.h"
#include "ffi/test_util.h"

static void errors_keep_code_and_message(void** state) {
  (void)state;
  assert_null(hlo_ffi_error_of(hlo_ok()));
  assert_true(hlo_status_is_ok(hlo_ffi_error_take(NULL)));
  static const char* const messages[] = {"", "short", "longer than a C++ string has room for"};
  for (int i = 0; i < 3; ++i) {
    XLA_FFI_Error* error =
        hlo_ffi_error_of(hlo_status_create(HLO_STATUS_ABORTED, "%s", messages[i]));
    assert_int_equal(hlo_ffi_error_code(error), HLO_STATUS_ABORTED);
    assert_string_equal(hlo_ffi_error_message(error), messages[i]);
    hlo_status_t status = hlo_ffi_error_take(error);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_ABORTED);
    assert_string_equal(hlo_status_message(status), messages[i]);
    hlo_status_release(status);
  }
}

// At each allocation: the error is left, at worst without its message or as RESOURCE_EXHAUSTED.
static void errors_survive_without_memory(void** state) {
  (void)state;
  for (uint64_t n = 1;; ++n) {
    hlo_status_t status = hlo_status_create(HLO_STATUS_DATA_LOSS, "lost");
    hlo_mem_fail_nth(n);
    XLA_FFI_Error* error = hlo_ffi_error_of(status);
    const bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    assert_non_null(error);
    const char* message = n == 1 ? "RESOURCE_EXHAUSTED" : failed ? "DATA_LOSS" : "lost";
    hlo_ffi_test_expect(hlo_ffi_error_take(error),
                        n == 1 ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_DATA_LOSS, message);
    if (!failed) break;
  }
}

static void handlers_read_errors(void** state) {
  (void)state;
  const XLA_FFI_Api* api = hlo_ffi_api();
  XLA_FFI_Error* error = hlo_ffi_test_error(api, XLA_FFI_Error_Code_NOT_FOUND, "nothing here");
  XLA_FFI_Error_GetDetails_Args details = {.struct_size = XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE,
                                           .error = error};
  api->XLA_FFI_Error_GetDetails(&details);
  assert_string_equal(details.message, "nothing here");
  assert_int_equal(details.errc, XLA_FFI_Error_Code_NOT_FOUND);
  XLA_FFI_Error_Destroy_Args destroy = {.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE,
                                        .error = error};
  api->XLA_FFI_Error_Destroy(&destroy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_keep_code_and_message),
      cmocka_unit_test(errors_survive_without_memory),
      cmocka_unit_test(handlers_read_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
