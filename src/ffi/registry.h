// SPDX-License-Identifier: Apache-2.0
// Registries of the functions that custom calls name: one of the process, and those that clients
// own, which are asked first.
#pragma once

#include "base/status.h"
#include "ffi/abi.h"

/// How a custom call calls its target; equals the api_version of the op. `out` is the result, or an
/// array of results if they are a tuple.
typedef enum hlo_ffi_interface {
  HLO_FFI_INTERFACE_ORIGINAL = 1,  // void(void* out, const void** in)
  HLO_FFI_INTERFACE_STATUS = 2,    // void(void* out, const void** in, XlaCustomCallStatus*)
  HLO_FFI_INTERFACE_UNIFIED = 3,   // void(void* out, const void** in, const char* opaque,
                                   //      size_t opaque_length, XlaCustomCallStatus*)
  HLO_FFI_INTERFACE_TYPED = 4,     // XLA_FFI_Handler
} hlo_ffi_interface_t;

/// A function of an untyped interface; the call decides which.
typedef void (*hlo_ffi_function_t)(void);

/// A registered target; plain data. The code must stay loaded.
typedef struct hlo_ffi_handler {
  XLA_FFI_Handler_Bundle bundle;  // typed
  XLA_FFI_Handler_Traits traits;  // typed: as registered, and as the handler says
  hlo_ffi_function_t function;    // untyped; NULL: typed
} hlo_ffi_handler_t;

/// threads: safe
typedef struct hlo_ffi_registry hlo_ffi_registry_t;

/// Creates the registry of a client. owner: caller, hlo_ffi_registry_release().
hlo_status_t hlo_ffi_registry_create(hlo_ffi_registry_t** out_registry) HLO_MUST_USE;
void hlo_ffi_registry_release(hlo_ffi_registry_t* registry);

/// Registers a typed handler; asks each of its functions for its API version. registry NULL: the
/// process's. Platforms differ by more than case; "host" is "cpu". The same registration again is
/// fine.
/// errors: INVALID_ARGUMENT without a name or an execute function, or for an incompatible version;
/// ALREADY_EXISTS; those of the handler
hlo_status_t hlo_ffi_registry_add_typed(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                                        XLA_FFI_ByteSpan platform,
                                        const XLA_FFI_Handler_Bundle* bundle,
                                        XLA_FFI_Handler_Traits traits) HLO_MUST_USE;
/// Likewise for a function of an untyped interface; a target may have both.
hlo_status_t hlo_ffi_registry_add_untyped(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                                          XLA_FFI_ByteSpan platform,
                                          hlo_ffi_function_t function) HLO_MUST_USE;

/// Finds a target in the registry, then in the process's; registry NULL: only there.
/// errors: NOT_FOUND with what is registered instead, or a target that is spelt alike
hlo_status_t hlo_ffi_registry_find(hlo_ffi_registry_t* registry, XLA_FFI_ByteSpan target,
                                   XLA_FFI_ByteSpan platform, hlo_ffi_interface_t interface,
                                   hlo_ffi_handler_t* out_handler) HLO_MUST_USE;

static inline XLA_FFI_ByteSpan hlo_ffi_span(const char* text) {
  return (XLA_FFI_ByteSpan){text, __builtin_strlen(text)};
}
