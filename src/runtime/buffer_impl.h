// SPDX-License-Identifier: Apache-2.0
// Inside of buffers, for the files of runtime only.
#ifndef HLO_RUNTIME_BUFFER_IMPL_H_
#define HLO_RUNTIME_BUFFER_IMPL_H_

#include <stdatomic.h>

#include "runtime/buffer.h"

struct hlo_buffer {
  hlo_memory_t* memory;
  hlo_buffer_shape_t shape;  // dims and minor_to_major point at the end of this
  size_t size_bytes;
  hlo_event_t* ready;  // never changes
  hlo_mutex_t lock;    // guards the fields below
  // NULL: deleted or donated. Changed under the lock, and read without it by those who only ask
  // whether it is NULL (relaxed: it orders nothing).
  _Atomic(hlo_storage_t*) storage;
  int32_t external_count;
  hlo_storage_t* external_storage;  // kept for external references, also after deletion
  hlo_storage_t* unfulfilled;  // of an alias: what is to get a value, also after deletion
  int64_t dims[];  // then minor_to_major
};

/// A handle without storage and event yet.
hlo_status_t hlo_buffer_alloc(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                              hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Completes it; takes both references; a NULL event is a memory failure.
hlo_status_t hlo_buffer_finish(hlo_buffer_t* buffer, hlo_storage_t* storage, hlo_event_t* ready,
                               hlo_buffer_t** out_buffer) HLO_MUST_USE;

#endif  // HLO_RUNTIME_BUFFER_IMPL_H_
