// SPDX-License-Identifier: Apache-2.0
// A foreign function that does nothing, for bench/runtime.py, which times calls of it.
#include "ffi/abi.h"

enum { MAJOR = 0, MINOR = 1 };

__attribute__((visibility("default"))) XLA_FFI_Error* empty_handler(XLA_FFI_CallFrame* frame);

XLA_FFI_Error* empty_handler(XLA_FFI_CallFrame* frame) {
  XLA_FFI_InternalExtension* extension = frame->extension_start;
  if (extension && extension->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata* metadata = ((XLA_FFI_Metadata_Extension*)(void*)extension)->metadata;
    metadata->api_version.major_version = MAJOR;
    metadata->api_version.minor_version = MINOR;
  }
  return NULL;
}
