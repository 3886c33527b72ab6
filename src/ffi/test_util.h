// SPDX-License-Identifier: Apache-2.0
// Helpers of this folder's tests: handlers in C that answer questions for their metadata.
#pragma once

#include <string.h>

#include "base/test_util.h"
#include "ffi/call.h"
#include "ffi/future.h"

/// Returns true if the call asks for metadata only, and answers it.
static inline bool hlo_ffi_test_is_query(XLA_FFI_CallFrame* frame, int major, int minor) {
  XLA_FFI_InternalExtension* extension = frame->extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata* metadata = ((XLA_FFI_Metadata_Extension*)extension)->metadata;
  metadata->api_version.major_version = major;
  metadata->api_version.minor_version = minor;
  metadata->traits = 0;
  return true;
}

/// Declares a handler of API 0.3 whose body follows.
#define HANDLER(name)                                                      \
  static XLA_FFI_Error* name##_body(XLA_FFI_CallFrame* frame);             \
  static XLA_FFI_Error* name(XLA_FFI_CallFrame* frame) {                   \
    return hlo_ffi_test_is_query(frame, 0, 3) ? NULL : name##_body(frame); \
  }                                                                        \
  static XLA_FFI_Error* name##_body(XLA_FFI_CallFrame* frame)

static inline XLA_FFI_Error* hlo_ffi_test_error(const XLA_FFI_Api* api, XLA_FFI_Error_Code code,
                                                const char* message) {
  XLA_FFI_Error_Create_Args args = {
      .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = message, .errc = code};
  return api->XLA_FFI_Error_Create(&args);
}

/// Checks an error's code and that its message contains a text; releases it.
static inline void hlo_ffi_test_expect(hlo_status_t status, hlo_status_code_t code,
                                       const char* text) {
  if (hlo_status_code(status) != code || !strstr(hlo_status_message(status), text)) {
    print_error("got %s: %s\nexpected %s: %s\n", hlo_status_code_name(hlo_status_code(status)),
                hlo_status_message(status), hlo_status_code_name(code), text);
    fail();
  }
  hlo_status_release(status);
}

static inline void hlo_ffi_test_add(hlo_ffi_registry_t* registry, const char* target,
                                    XLA_FFI_Handler* execute) {
  XLA_FFI_Handler_Bundle bundle = {.execute = execute};
  hlo_test_check(
      hlo_ffi_registry_add_typed(registry, hlo_ffi_span(target), hlo_ffi_span("cpu"), &bundle, 0));
}

/// Creates a call, runs it once with empty context, and releases it. Returns the status of a
/// synchronous call, or of the future after waiting for it.
static inline hlo_status_t hlo_ffi_test_run(hlo_ffi_registry_t* registry,
                                            const hlo_ffi_call_desc_t* desc,
                                            const hlo_ffi_context_t* context,
                                            void* const* addresses) {
  hlo_ffi_call_t* call;
  HLO_TRY(hlo_ffi_call_create(registry, desc, &call));
  void* memory = hlo_mem_alloc(hlo_ffi_call_launch_bytes(call));
  hlo_ffi_launch_t* launch = hlo_ffi_launch_init(memory, call);
  XLA_FFI_Future* future = NULL;
  hlo_status_t status = hlo_ffi_launch_prepare(launch, context, addresses);
  if (hlo_status_is_ok(status)) {
    status = hlo_ffi_launch_execute(launch, context, addresses, &future);
    if (future) status = hlo_ffi_future_await(future);
  }
  hlo_ffi_launch_deinit(launch);
  hlo_mem_free(memory);
  hlo_ffi_call_release(call);
  return status;
}
