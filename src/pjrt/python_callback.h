// SPDX-License-Identifier: Apache-2.0
// Callbacks into Python: JAX's custom calls pass the index of a callable in the user data of the
// execution. The function that calls it comes from the Python package, so that the plugin needs
// nothing of Python. The other functions are exported for that package, too.
#pragma once

#include "ffi/api.h"
#include "ffi/registry.h"

#define HLO_PJRT_EXPORT __attribute__((visibility("default")))

/// Calls a Python callable, which the caller keeps alive. Returns 0, or writes a zero-terminated
/// message of at most `message_size` bytes.
/// threads: any; it takes Python's lock and may block
typedef int (*hlocc_python_call_t)(void* callable, int64_t argument_count,
                                   const XLA_FFI_Buffer* const* arguments, int64_t result_count,
                                   const XLA_FFI_Buffer* const* results, char* message,
                                   size_t message_size);

/// Registers the handlers of Python callbacks; `call` serves the whole process.
HLO_PJRT_EXPORT XLA_FFI_Error* hlocc_python_callback_register(hlocc_python_call_t call);

/// Returns the functions of the FFI, by which handlers and types can be registered.
HLO_PJRT_EXPORT const XLA_FFI_Api* hlocc_ffi_api(void);
/// Registers a function of an untyped interface for the process.
HLO_PJRT_EXPORT XLA_FFI_Error* hlocc_ffi_register_untyped(const char* target, const char* platform,
                                                          hlo_ffi_function_t function);
