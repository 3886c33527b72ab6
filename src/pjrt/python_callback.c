// SPDX-License-Identifier: Apache-2.0
// Handlers of callbacks into Python (see python_callback.h).
#include "pjrt/python_callback.h"

#include <stdatomic.h>
#include <string.h>

// The type of the object that JAX's client adds to the user data of an execution.
static const int64_t kCallbacksTypeId = 7357244197867843242;

typedef struct callbacks {
  void** callables;
  uint32_t count;
} callbacks_t;

enum { MESSAGE_BYTES = 16 * 1024 };

static _Atomic(hlocc_python_call_t) python_call;

static hlo_status_t read_index(const XLA_FFI_Attrs* attributes, uint64_t* out_index) {
  for (int64_t i = 0; i < attributes->size; ++i) {
    const XLA_FFI_ByteSpan* name = attributes->names[i];
    if (name->len != 5 || memcmp(name->ptr, "index", 5) != 0) continue;
    const XLA_FFI_Scalar* scalar = attributes->attrs[i];
    if (attributes->types[i] != XLA_FFI_AttrType_SCALAR || scalar->dtype != XLA_FFI_DataType_U64) {
      break;
    }
    memcpy(out_index, scalar->value, sizeof *out_index);
    return hlo_ok();
  }
  return hlo_invalid_argument("a Python callback needs the attribute \"index\" of type ui64");
}

static hlo_status_t find_callable(const XLA_FFI_CallFrame* frame, void** out_callable) {
  uint64_t index = 0;
  void* object = NULL;
  HLO_TRY(read_index(&frame->attrs, &index));
  HLO_TRY_MSG(hlo_ffi_user_data_get(frame->ctx->execution->user_data, kCallbacksTypeId, &object),
              "the execution has no Python callbacks");
  const callbacks_t* callbacks = object;
  if (index >= callbacks->count) {
    return hlo_invalid_argument("Python callback %llu of %u", (unsigned long long)index,
                                callbacks->count);
  }
  *out_callable = callbacks->callables[index];
  return hlo_ok();
}

static hlo_status_t call_python(const XLA_FFI_CallFrame* frame) {
  void* callable = NULL;
  HLO_TRY(find_callable(frame, &callable));
  char message[MESSAGE_BYTES] = "";
  const hlocc_python_call_t call = atomic_load_explicit(&python_call, memory_order_acquire);
  const int code = call(callable, frame->args.size, (const XLA_FFI_Buffer* const*)frame->args.args,
                        frame->rets.size, (const XLA_FFI_Buffer* const*)frame->rets.rets, message,
                        sizeof message);
  message[sizeof message - 1] = 0;
  return code == 0 ? hlo_ok()
                   : hlo_internal_error("CpuCallback error calling callback: %s", message);
}

static XLA_FFI_Error* handle(XLA_FFI_CallFrame* frame) {
  if (hlo_ffi_answer_metadata(frame)) return NULL;
  return hlo_ffi_error_of(call_python(frame));
}

XLA_FFI_Error* hlocc_python_callback_register(hlocc_python_call_t call) {
  static const char* const targets[] = {"xla_ffi_python_cpu_callback",
                                        "xla_ffi_partitioned_python_cpu_callback"};
  atomic_store_explicit(&python_call, call, memory_order_release);
  const XLA_FFI_Handler_Bundle bundle = {.execute = handle};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; ++i) {
    hlo_status_t status =
        hlo_ffi_registry_add_typed(NULL, hlo_ffi_span(targets[i]), hlo_ffi_span("cpu"), &bundle, 0);
    if (!hlo_status_is_ok(status)) return hlo_ffi_error_of(status);
  }
  return NULL;
}
