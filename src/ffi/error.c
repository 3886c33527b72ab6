// SPDX-License-Identifier: Apache-2.0
// Errors (see error.h). The ABI leaves open what an error is, but handlers that are compiled with
// XLA's internal headers, such as those of jaxlib, take one apart themselves: to them it is a C++
// object whose only field is an absl::Status; they move that out and delete the object. Errors are
// such objects, so that these handlers may. Each part has a block of its own from malloc(), which
// is where operator delete of libstdc++ returns memory to.
//
// An absl::Status is one word. If it is odd, the code is above its two lowest bits. Otherwise it
// points to a representation, which its last owner deletes.
//
// source: abseil-cpp, absl/status/internal/status_internal.h; libstdc++, bits/basic_string.h
#include "ffi/error.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

/// A std::string of libstdc++.
typedef struct string {
  char* data;  // `local`, or a block of its own
  size_t length;
  union {
    size_t capacity;
    char local[16];
  };
} string_t;

typedef struct representation {
  atomic_int owners;
  int32_t code;
  string_t message;
  void* payloads;  // of C++; ours have none
  // A later absl may append fields: those that are empty as zeros are found so.
  unsigned char reserve[64];
} representation_t;

struct XLA_FFI_Error {
  uintptr_t status;
};

enum { CODE_SHIFT = 2, HAS_NO_REPRESENTATION = 1 };

static const XLA_FFI_Error out_of_memory = {(HLO_STATUS_RESOURCE_EXHAUSTED << CODE_SHIFT) |
                                            HAS_NO_REPRESENTATION};

static representation_t* representation_of(const XLA_FFI_Error* error) {
  return error->status & HAS_NO_REPRESENTATION ? NULL : (representation_t*)error->status;
}

static representation_t* create_representation(hlo_status_t status) {
  const char* message = hlo_status_message(status);
  const size_t length = strlen(message);
  representation_t* representation = hlo_mem_alloc_zeroed(sizeof *representation);
  char* data = hlo_mem_strndup(message, length);
  if (!representation || !data) {
    hlo_mem_free(representation);
    hlo_mem_free(data);
    return NULL;
  }
  atomic_init(&representation->owners, 1);
  representation->code = (int32_t)hlo_status_code(status);
  representation->message = (string_t){.data = data, .length = length, .capacity = length};
  return representation;
}

// Gives up one ownership.
static void release_representation(representation_t* representation) {
  if (atomic_fetch_sub_explicit(&representation->owners, 1, memory_order_acq_rel) != 1) return;
  if (representation->message.data != representation->message.local) {
    hlo_mem_free(representation->message.data);
  }
  hlo_mem_free(representation);
}

XLA_FFI_Error* hlo_ffi_error_create(hlo_status_t status) {
  XLA_FFI_Error* error = hlo_mem_alloc(sizeof *error);
  if (error) {
    const uintptr_t code = (uintptr_t)hlo_status_code(status);
    const representation_t* representation = create_representation(status);
    error->status =
        representation ? (uintptr_t)representation : (code << CODE_SHIFT) | HAS_NO_REPRESENTATION;
  }
  hlo_status_release(status);
  return error ? error : (XLA_FFI_Error*)&out_of_memory;
}

hlo_status_code_t hlo_ffi_error_code(const XLA_FFI_Error* error) {
  if (!error) return HLO_STATUS_OK;
  const representation_t* representation = representation_of(error);
  return representation ? (hlo_status_code_t)representation->code
                        : (hlo_status_code_t)(error->status >> CODE_SHIFT);
}

const char* hlo_ffi_error_message(const XLA_FFI_Error* error) {
  if (!error) return "";
  const representation_t* representation = representation_of(error);
  return representation ? representation->message.data
                        : hlo_status_code_name(hlo_ffi_error_code(error));
}

hlo_status_t hlo_ffi_error_release(XLA_FFI_Error* error) {
  hlo_status_t status =
      hlo_status_create(hlo_ffi_error_code(error), "%s", hlo_ffi_error_message(error));
  representation_t* representation = representation_of(error);
  if (representation) release_representation(representation);
  if (error != &out_of_memory) hlo_mem_free(error);
  return status;
}
