// SPDX-License-Identifier: Apache-2.0
// Futures: how a handler reports the end of work that continues after it has returned.
#pragma once

#include "base/status.h"
#include "ffi/abi.h"

/// Called once, on the thread that completes the future or at once on the caller's; takes `status`.
typedef void (*hlo_ffi_future_callback_t)(void* context, hlo_status_t status);

/// Returns NULL if memory is exhausted. A future has two parties: the handler sets it, the runtime
/// takes it. It is freed when both have done so.
/// threads: safe
XLA_FFI_Future* hlo_ffi_future_create(void);

/// Completes the future; takes `status`. Returns false if it is complete already.
bool hlo_ffi_future_set(XLA_FFI_Future* future, hlo_status_t status);

/// Takes the future; cannot fail.
void hlo_ffi_future_on_ready(XLA_FFI_Future* future, hlo_ffi_future_callback_t callback,
                             void* context);

/// Takes the future, waits without limit, and returns its status. Never on a worker.
hlo_status_t hlo_ffi_future_await(XLA_FFI_Future* future) HLO_MUST_USE;
