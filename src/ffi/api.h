// SPDX-License-Identifier: Apache-2.0
// The functions that handlers may call, and what a call passes to them.
#pragma once

#include "base/status.h"
#include "base/threads.h"
#include "ffi/abi.h"
#include "ffi/error.h"
#include "ffi/types.h"

/// The table of functions in every call frame; a constant.
const XLA_FFI_Api* hlo_ffi_api(void);

/// For handlers of our own: returns true after answering a call that asks for metadata only.
static inline bool hlo_ffi_answer_metadata(XLA_FFI_CallFrame* frame) {
  const XLA_FFI_InternalExtension* extension = frame->extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Api_Version* version =
      &((XLA_FFI_Metadata_Extension*)frame->extension_start)->metadata->api_version;
  version->major_version = XLA_FFI_API_MAJOR;
  version->minor_version = XLA_FFI_API_MINOR;
  return true;
}

/// An execution, as its handlers see it; lent until they have ended. Plain data.
typedef struct hlo_ffi_context {
  int64_t run_id;
  int32_t device_ordinal;
  hlo_pool_t* pool;                      // of tasks; NULL: they run on the handler's thread
  const hlo_ffi_user_data_t* user_data;  // may be NULL
  const XLA_FFI_Extension* extensions;   // may be NULL
} hlo_ffi_context_t;

/// Stages that have a state.
enum { HLO_FFI_STATE_COUNT = XLA_FFI_ExecutionStage_INITIALIZE + 1 };

/// One call of one stage; handlers pass it to the functions.
struct XLA_FFI_InvokeContext {
  const hlo_ffi_context_t* execution;
  hlo_ffi_state_t* states[HLO_FFI_STATE_COUNT];  // by stage; NULL: the stage has not run yet
  XLA_FFI_ExecutionStage stage;                  // whose state may be set
};
