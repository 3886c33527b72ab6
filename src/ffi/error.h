// SPDX-License-Identifier: Apache-2.0
// Errors that cross the FFI.
#pragma once

#include "base/status.h"
#include "ffi/abi.h"

/// Makes an error; takes `status`. Without memory for it, the result is an error that says so.
XLA_FFI_Error* hlo_ffi_error_create(hlo_status_t status);
/// Destroys the error, which is not NULL, and returns its code and message.
hlo_status_t hlo_ffi_error_release(XLA_FFI_Error* error) HLO_MUST_USE;

/// Return the parts of an error, lent; NULL is OK.
hlo_status_code_t hlo_ffi_error_code(const XLA_FFI_Error* error);
const char* hlo_ffi_error_message(const XLA_FFI_Error* error);

/// Passes a status to the other side of the FFI: NULL is OK.
static inline XLA_FFI_Error* hlo_ffi_error_of(hlo_status_t status) {
  return hlo_status_is_ok(status) ? NULL : hlo_ffi_error_create(status);
}
/// Takes an error of the other side.
static inline hlo_status_t hlo_ffi_error_take(XLA_FFI_Error* error) {
  return HLO_LIKELY(error == NULL) ? hlo_ok() : hlo_ffi_error_release(error);
}
