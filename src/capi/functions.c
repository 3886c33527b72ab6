// SPDX-License-Identifier: Apache-2.0
// Functions of the application that programs call.
#include <string.h>

#include "capi/capi_impl.h"

void hlocc_call_fail(hlocc_call_status_t* status, const char* message) {
  XlaCustomCallStatusSetFailure((XlaCustomCallStatus*)status, message, strlen(message));
}

static hlo_status_t check_registration(const char* target, bool has_function) {
  if (target && target[0] && has_function) return hlo_ok();
  return hlo_invalid_argument("a foreign function needs %s",
                              has_function ? "the name of a target" : "an address");
}

static hlocc_error_t* register_function(hlo_ffi_registry_t* registry, const char* target,
                                        hlocc_function_t function) {
  hlo_status_t status = check_registration(target, function != NULL);
  if (hlo_status_is_ok(status)) {
    status = hlo_ffi_registry_add_untyped(registry, hlo_ffi_span(target), hlo_ffi_span("cpu"),
                                          (hlo_ffi_function_t)function);
  }
  return hlo_capi_error(status);
}

static hlocc_error_t* register_ffi_handler(hlo_ffi_registry_t* registry, const char* target,
                                           void* handler) {
  hlo_status_t status = check_registration(target, handler != NULL);
  if (hlo_status_is_ok(status)) {
    const XLA_FFI_Handler_Bundle bundle = {.execute = (XLA_FFI_Handler*)(uintptr_t)handler};
    status =
        hlo_ffi_registry_add_typed(registry, hlo_ffi_span(target), hlo_ffi_span("cpu"), &bundle, 0);
  }
  return hlo_capi_error(status);
}

hlocc_error_t* hlocc_register_function(const char* target, hlocc_function_t function) {
  return register_function(NULL, target, function);
}

hlocc_error_t* hlocc_register_ffi_handler(const char* target, void* handler) {
  return register_ffi_handler(NULL, target, handler);
}

hlocc_error_t* hlocc_client_register_function(hlocc_client_t* client, const char* target,
                                              hlocc_function_t function) {
  return register_function(client->functions, target, function);
}

hlocc_error_t* hlocc_client_register_ffi_handler(hlocc_client_t* client, const char* target,
                                                 void* handler) {
  return register_ffi_handler(client->functions, target, handler);
}
