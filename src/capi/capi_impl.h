// SPDX-License-Identifier: Apache-2.0
// The objects of the public C API, for the files of this folder.
#pragma once

#include <stdatomic.h>

#include "base/config.h"
#include "base/observer.h"
#include "compiler/cache.h"
#include "compiler/compiler.h"
#include "hlocc/hlocc.h"
#include "runtime/executable.h"

struct hlocc_client {
  atomic_int count;     // references: the user's, and one for every object created from the client
  hlo_config_t config;  // immutable
  hlo_observer_t observer;
  hlo_client_t* client;
  hlo_compile_cache_t* cache;
};

hlocc_client_t* hlo_capi_client_retain(hlocc_client_t* client);

struct hlocc_executable {
  hlocc_client_t* client;
  hlo_loaded_t* loaded;
  const hlo_executable_t* compiled;  // of `loaded`
};

/// Converts a status (taken) to an error; NULL for OK only. Without memory a failure is a constant
/// error.
hlocc_error_t* hlo_capi_error(hlo_status_t status);

/// Copies a struct of options of the caller, which may be older or newer than the library: fields
/// unknown to the caller are zero. given NULL: all are zero.
/// errors : INVALID_ARGUMENT if struct_size is not the size of a struct
hlo_status_t hlo_capi_options(void* to, size_t size_bytes, const void* given) HLO_MUST_USE;
