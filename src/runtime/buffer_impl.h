// SPDX-License-Identifier: Apache-2.0
// Buffer internals, for the files of runtime only.
#pragma once

#include <stdatomic.h>

#include "runtime/buffer.h"

struct hlo_buffer {
  hlo_memory_t* memory;
  hlo_buffer_shape_t shape;  // dims and minor_to_major point to the end of this struct
  size_t size_bytes;
  hlo_event_t* ready;  // immutable
  hlo_mutex_t lock;    // guards the fields below
  // NULL: deleted or donated. Changed under the lock; read without it only to test for NULL
  // (relaxed: it orders nothing).
  _Atomic(hlo_storage_t*) storage;
  int32_t external_count;
  hlo_storage_t* external_storage;  // kept for external references, also after deletion
  hlo_storage_t* unfulfilled;       // of an alias: awaits its value, also after deletion
  int64_t dims[];                   // then minor_to_major
};

/// Creates a handle without storage and event.
hlo_status_t hlo_buffer_alloc(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                              hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Completes the handle; takes both references. A NULL event is an allocation failure.
hlo_status_t hlo_buffer_finish(hlo_buffer_t* buffer, hlo_storage_t* storage, hlo_event_t* ready,
                               hlo_buffer_t** out_buffer) HLO_MUST_USE;
