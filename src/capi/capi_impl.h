// SPDX-License-Identifier: Apache-2.0
// The objects of the public C API, for the files of this folder.
#pragma once

#include <stdatomic.h>

#include "base/config.h"
#include "base/observer.h"
#include "compiler/cache.h"
#include "compiler/compiler.h"
#include "ffi/registry.h"
#include "hlocc/hlocc.h"
#include "runtime/executable.h"

struct hlocc_client {
  atomic_int count;     // references: the user's, and one for every object created from the client
  hlo_config_t config;  // immutable
  hlo_observer_t observer;
  hlocc_log_sink_t log_sink;  // NULL: standard error
  void* log_context;
  hlo_client_t* client;
  hlo_compile_cache_t* cache;
  hlo_ffi_registry_t* functions;
};

hlocc_client_t* hlo_capi_client_retain(hlocc_client_t* client);

/// errors : INVALID_ARGUMENT if the client has no such device
hlo_status_t hlo_capi_device(const hlocc_client_t* client, uint32_t device,
                             hlo_device_t** out_device) HLO_MUST_USE;

struct hlocc_executable {
  hlocc_client_t* client;
  hlo_loaded_t* loaded;
  const hlo_executable_t* compiled;  // of `loaded`
};

/// Finds a memory space. errors : INVALID_ARGUMENT for an unknown device or kind
hlo_status_t hlo_capi_memory(const hlocc_client_t* client, uint32_t device,
                             hlocc_memory_kind_t kind, hlo_memory_t** out_memory) HLO_MUST_USE;

struct hlocc_event {
  hlocc_client_t* client;
  hlo_event_t* event;
};

/// Returns an event without a runtime's event, to be set later; NULL if memory is exhausted.
hlocc_event_t* hlo_capi_event_reserve(hlocc_client_t* client);

/// errors : FAILED_PRECONDITION if the thread is in a callback
hlo_status_t hlo_capi_may_wait(void) HLO_MUST_USE;
/// Waits for an event. errors : those of hlo_event_await(); of hlo_capi_may_wait() if it is pending
hlo_status_t hlo_capi_wait(hlo_event_t* event, uint64_t timeout_ns) HLO_MUST_USE;

enum { HLO_CAPI_MAPPED_FOR_WRITING = -1 };

struct hlocc_buffer {
  hlocc_client_t* client;
  hlo_buffer_t* buffer;
  atomic_int map_count;    // maps for reading, or HLO_CAPI_MAPPED_FOR_WRITING
  hlo_buffer_use_t write;  // of the map for writing
};

struct hlocc_block {
  hlocc_client_t* client;
  hlo_storage_t* storage;  // retained
};

/// Returns a buffer without a runtime's buffer, to be set later; NULL if memory is exhausted.
hlocc_buffer_t* hlo_capi_buffer_reserve(hlocc_client_t* client);
/// errors : FAILED_PRECONDITION if the buffer is mapped for writing
hlo_status_t hlo_capi_buffer_check(const hlocc_buffer_t* buffer) HLO_MUST_USE;

/// Converts a status (taken) to an error; NULL for OK only. Without memory a failure is a constant
/// error.
hlocc_error_t* hlo_capi_error(hlo_status_t status);

/// Copies a struct of options of the caller, which may be older or newer than the library: fields
/// unknown to the caller are zero. given NULL: all are zero.
/// errors : INVALID_ARGUMENT if struct_size is not the size of a struct
hlo_status_t hlo_capi_options(void* to, size_t size_bytes, const void* given) HLO_MUST_USE;
