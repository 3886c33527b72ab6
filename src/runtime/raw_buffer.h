// SPDX-License-Identifier: Apache-2.0
// Raw buffers: byte ranges of the storage of buffers, read and written without regard to other
// accesses. The user orders the accesses, by waiting or by dependencies.
#pragma once

#include "runtime/buffer.h"

/// A byte range of a storage. A raw buffer keeps the bytes alive, also after the deletion of its
/// buffer, and like an external reference protects them from being overwritten by programs.
/// owner  : hlo_raw_buffer_deinit(); copies in flight hold the storage themselves
/// threads: immutable; accesses to the bytes are ordered by the user
typedef struct hlo_raw_buffer {
  hlo_storage_t* storage;  // held
  hlo_memory_t* memory;
  hlo_event_t* ready;  // retained: when the bytes exist
  size_t offset_bytes, size_bytes;
  bool is_undefined;  // a copy defines the value of a new buffer: whoever takes the bytes waits for
                      // it, so that they need no protection
} hlo_raw_buffer_t;

/// Events for which a copy waits, lent for the call.
typedef struct hlo_dependencies {
  hlo_event_t* const* events;
  size_t count;
} hlo_dependencies_t;

/// Makes a raw buffer of all bytes of `buffer`. Copies wait for the value of the buffer unless the
/// buffer is one whose bytes exist and whose definition is a promise: the user fills it.
/// errors : INVALID_ARGUMENT if deleted or donated, RESOURCE_EXHAUSTED
hlo_status_t hlo_raw_buffer_init(hlo_buffer_t* buffer, hlo_raw_buffer_t* out_raw) HLO_MUST_USE;
/// Makes a raw buffer of a part, which may outlive `whole`.
/// errors : INVALID_ARGUMENT for a range outside
hlo_status_t hlo_raw_buffer_slice(const hlo_raw_buffer_t* whole, int64_t offset_bytes,
                                  int64_t size_bytes, hlo_raw_buffer_t* out_raw) HLO_MUST_USE;
void hlo_raw_buffer_deinit(hlo_raw_buffer_t* raw);

/// Returns the address of the bytes on the device; NULL while they do not exist. Never waits.
void* hlo_raw_buffer_device_pointer(const hlo_raw_buffer_t* raw);
/// Returns where the host may access the bytes; NULL: nowhere, or they do not exist. Never waits.
void* hlo_raw_buffer_host_pointer(const hlo_raw_buffer_t* raw);
/// Returns false if the bytes are foreign and immutable, or shared with another buffer.
bool hlo_raw_buffer_is_mutable(const hlo_raw_buffer_t* raw);
/// errors : INVALID_ARGUMENT for a range outside
hlo_status_t hlo_raw_buffer_check_range(const hlo_raw_buffer_t* raw, int64_t offset_bytes,
                                        int64_t size_bytes) HLO_MUST_USE;

/// The copies below wait for the bytes and for all dependencies. If one of these fails, the copy
/// does too and accesses no memory. A copy of no bytes without dependencies is complete at once.
/// *out_done is set when the copy is complete.
/// errors : INVALID_ARGUMENT for a range outside or null host memory, FAILED_PRECONDITION for
///          writes to immutable bytes, RESOURCE_EXHAUSTED
hlo_status_t hlo_raw_buffer_from_host(const hlo_raw_buffer_t* raw, const void* data,
                                      int64_t offset_bytes, int64_t size_bytes,
                                      hlo_dependencies_t dependencies,
                                      hlo_event_t** out_done) HLO_MUST_USE;
hlo_status_t hlo_raw_buffer_to_host(const hlo_raw_buffer_t* raw, void* data, int64_t offset_bytes,
                                    int64_t size_bytes, hlo_dependencies_t dependencies,
                                    hlo_event_t** out_done) HLO_MUST_USE;
/// Copies all of `from` to the beginning of `to`; the ranges may overlap.
hlo_status_t hlo_raw_buffer_copy(const hlo_raw_buffer_t* from, const hlo_raw_buffer_t* to,
                                 hlo_dependencies_t dependencies,
                                 hlo_event_t** out_done) HLO_MUST_USE;
