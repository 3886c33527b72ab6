// SPDX-License-Identifier: Apache-2.0
// Calls of foreign functions: a call site is prepared once, at load; a launch passes addresses.
//
//   hlo_ffi_call_create   finds the target, builds its call frame, runs instantiate
//   hlo_ffi_launch_init   in memory of the execution: one launch of the call site
//   hlo_ffi_launch_prepare, _execute (any number of times), _deinit
//   hlo_ffi_call_release  destroys the state of instantiate
#pragma once

#include "base/dtype.h"
#include "ffi/api.h"
#include "ffi/attributes.h"
#include "ffi/registry.h"

/// The type of an argument or result: a dense array, the last dimension fastest, or a token.
typedef struct hlo_ffi_buffer {
  hlo_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
} hlo_ffi_buffer_t;

/// Description of a call site; all pointers are lent.
typedef struct hlo_ffi_call_desc {
  XLA_FFI_ByteSpan target;
  XLA_FFI_ByteSpan platform;
  hlo_ffi_interface_t interface;
  const hlo_ffi_buffer_t* arguments;
  uint32_t argument_count;
  const hlo_ffi_buffer_t* results;
  uint32_t result_count;
  const hlo_ffi_attribute_t* attributes;  // typed
  size_t attribute_count;
  XLA_FFI_ByteSpan opaque;  // untyped: the backend_config
  bool returns_tuple;       // untyped: `out` is an array, also of a single result
} hlo_ffi_call_desc_t;

/// A call site of a loaded program. threads: immutable after creation; its launches are independent
typedef struct hlo_ffi_call hlo_ffi_call_t;

/// Runs the handler's instantiate stage on this thread, waiting for its end. registry as in
/// hlo_ffi_registry_find().
/// errors: those of the registry, of the attributes and of the handler; INVALID_ARGUMENT for an
/// unknown interface; RESOURCE_EXHAUSTED
/// owner : caller, hlo_ffi_call_release() after all launches have ended
hlo_status_t hlo_ffi_call_create(hlo_ffi_registry_t* registry, const hlo_ffi_call_desc_t* desc,
                                 hlo_ffi_call_t** out_call) HLO_MUST_USE;
void hlo_ffi_call_release(hlo_ffi_call_t* call);

/// XLA_FFI_Handler_Traits of the handler.
uint32_t hlo_ffi_call_traits(const hlo_ffi_call_t* call);
/// Returns true if hlo_ffi_launch_prepare() calls the handler.
bool hlo_ffi_call_has_prepare(const hlo_ffi_call_t* call);
/// Bytes of a launch, to be aligned as pointers are.
size_t hlo_ffi_call_launch_bytes(const hlo_ffi_call_t* call);

/// One execution's use of a call site, in memory of the caller. threads: confined; a handler may
/// read it until its future completes.
typedef struct hlo_ffi_launch hlo_ffi_launch_t;

hlo_ffi_launch_t* hlo_ffi_launch_init(void* memory, const hlo_ffi_call_t* call);
/// Destroys the states of prepare and initialize.
void hlo_ffi_launch_deinit(hlo_ffi_launch_t* launch);

/// Runs the stages prepare and initialize if the handler has them, waiting for their end. Once in
/// an execution, when the addresses are known. `addresses`: of all arguments, then of all results;
/// those of tokens are ignored.
hlo_status_t hlo_ffi_launch_prepare(hlo_ffi_launch_t* launch, const hlo_ffi_context_t* context,
                                    void* const* addresses) HLO_MUST_USE;

/// Calls the function, in the floating-point environment of this thread. It may block. If
/// *out_future is not NULL the work goes on: the caller takes the future, and launch, context and
/// buffers stay until it completes. The next execution of the launch begins after that.
/// errors: those of the handler; INTERNAL for a failed call of an untyped function
hlo_status_t hlo_ffi_launch_execute(hlo_ffi_launch_t* launch, const hlo_ffi_context_t* context,
                                    void* const* addresses,
                                    XLA_FFI_Future** out_future) HLO_MUST_USE;
