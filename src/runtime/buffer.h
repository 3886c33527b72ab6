// SPDX-License-Identifier: Apache-2.0
// Device buffers: reference-counted storage, handles with holds, transfers to and from the host.
#pragma once

#include "base/dtype.h"
#include "runtime/client.h"
#include "runtime/event.h"

/// The bytes of buffers, reference-counted: every job that reads or writes the bytes holds a
/// reference. The last release frees the bytes, or calls `release` for foreign ones.
/// threads: count and pending uses are atomic or locked; events order accesses to the bytes.
typedef struct hlo_storage hlo_storage_t;

hlo_status_t hlo_storage_create(hlo_memory_t* memory, size_t size_bytes,
                                hlo_storage_t** out_storage) HLO_MUST_USE;
/// Creates storage of foreign bytes. is_mutable: the owner allows programs to overwrite the bytes
/// once a buffer of this storage is donated; otherwise the donation only invalidates the handle and
/// the result gets its own memory. `release` (may be NULL) runs once, after the last use.
hlo_status_t hlo_storage_create_foreign(hlo_memory_t* memory, void* data, size_t size_bytes,
                                        bool is_mutable, void (*release)(void* context),
                                        void* context, hlo_storage_t** out_storage) HLO_MUST_USE;
/// Returns where the host may access the bytes; NULL: nowhere, or they do not exist.
void* hlo_storage_host_pointer(const hlo_storage_t* storage);
hlo_storage_t* hlo_storage_retain(hlo_storage_t* storage);
void hlo_storage_release(hlo_storage_t* storage);
/// Returns the number of references, including uses. If the caller owns all of them, no other
/// thread can add one.
uint32_t hlo_storage_holder_count(const hlo_storage_t* storage);
size_t hlo_storage_size_bytes(const hlo_storage_t* storage);
bool hlo_storage_is_mutable(const hlo_storage_t* storage);
/// Copies host memory to the bytes from `offset_bytes` on: before the call returns if the back end
/// can do that. The host memory is lent until *out_done is ready.
/// errors : FAILED_PRECONDITION (forked process), RESOURCE_EXHAUSTED
hlo_status_t hlo_storage_from_host(hlo_storage_t* storage, size_t offset_bytes, const void* data,
                                   size_t size_bytes, hlo_event_t** out_done) HLO_MUST_USE;

/// The shape of a buffer: dense elements.
typedef struct hlo_buffer_shape {
  hlo_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* minor_to_major;  // order in memory (base/dim_order.h); never NULL in a buffer
} hlo_buffer_shape_t;

/// Computes the bytes on the device, at least one per element.
/// errors: INVALID_ARGUMENT if no buffer can have the shape
hlo_status_t hlo_buffer_shape_size_bytes(const hlo_buffer_shape_t* shape,
                                         size_t* out_size_bytes) HLO_MUST_USE;

/// Like hlo_storage_from_host() for all elements of an array: in storage they have the order of
/// `shape`, in host memory they are at `byte_strides`.
hlo_status_t hlo_storage_array_from_host(hlo_storage_t* storage, const hlo_buffer_shape_t* shape,
                                         const void* data, const int64_t* byte_strides,
                                         hlo_event_t** out_done) HLO_MUST_USE;

/// A handle: shape, memory space, storage, definition event. Shape and memory space are immutable;
/// deletion and donation take the storage away. threads: safe
typedef struct hlo_buffer hlo_buffer_t;

/// The time for which hlo_buffer_from_host() may read host memory, numerically
/// PJRT_HostBufferSemantics.
typedef enum hlo_host_semantics {
  HLO_HOST_IMMUTABLE_ONLY_DURING_CALL = 0,
  HLO_HOST_IMMUTABLE_UNTIL_TRANSFER_COMPLETES = 1,
  HLO_HOST_IMMUTABLE_ZERO_COPY = 2,
  HLO_HOST_MUTABLE_ZERO_COPY = 3,
} hlo_host_semantics_t;

/// Creates a buffer from host memory. byte_strides NULL: dense row-major. *out_done (may be NULL):
/// an event, ready when the host memory is no longer needed.
/// errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_buffer_from_host(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                  const void* data, const int64_t* byte_strides,
                                  hlo_host_semantics_t semantics, hlo_event_t** out_done,
                                  hlo_buffer_t** out_buffer) HLO_MUST_USE;
hlo_status_t hlo_buffer_create_uninitialized(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                             hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Creates a buffer whose value is an error; takes `error`.
hlo_status_t hlo_buffer_create_error(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                     hlo_status_t error, hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Creates a buffer over existing storage (retained). ready (retained) NULL: already defined.
/// errors: INVALID_ARGUMENT if the storage is too small.
hlo_status_t hlo_buffer_create_over(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                    hlo_storage_t* storage, hlo_event_t* ready,
                                    hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Creates a buffer without storage, which hlo_buffer_fulfill() provides once.
hlo_status_t hlo_buffer_create_alias(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                     hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Gives the alias the value of `source`, whose bytes nobody overwrites while the alias has them;
/// source NULL: the alias fails with `error` (taken). If fulfilling fails, waiters of the alias get
/// the returned error.
/// errors: FAILED_PRECONDITION the second time, INVALID_ARGUMENT if sizes or layouts differ.
hlo_status_t hlo_buffer_fulfill(hlo_buffer_t* alias, hlo_buffer_t* source,
                                hlo_status_t error) HLO_MUST_USE;
/// Drops the handle; pending work on the storage continues.
void hlo_buffer_release(hlo_buffer_t* buffer);

const hlo_buffer_shape_t* hlo_buffer_shape(const hlo_buffer_t* buffer);
hlo_memory_t* hlo_buffer_memory(const hlo_buffer_t* buffer);
size_t hlo_buffer_size_bytes(const hlo_buffer_t* buffer);
/// Returns an event, retained for the caller, that is ready when the value is defined or failed.
/// Works on deleted buffers.
hlo_event_t* hlo_buffer_ready_event(hlo_buffer_t* buffer);
/// Invalidates the handle; the bytes are freed after pending uses. Idempotent.
void hlo_buffer_delete(hlo_buffer_t* buffer);
bool hlo_buffer_is_deleted(hlo_buffer_t* buffer);

/// Copies the value to host memory as dense elements in the order `minor_to_major` (NULL:
/// row-major), independently of the order in the buffer; sub-byte types take a byte each. *out_done
/// is set when the copy is complete.
/// errors: INVALID_ARGUMENT (size), FAILED_PRECONDITION (deleted)
hlo_status_t hlo_buffer_to_host(hlo_buffer_t* buffer, void* data, size_t size_bytes,
                                const int64_t* minor_to_major, hlo_event_t** out_done) HLO_MUST_USE;
/// The same in row-major order, for a caller who waits: a defined value is copied before this
/// returns if the back end can do that.
hlo_status_t hlo_buffer_to_host_now(hlo_buffer_t* buffer, void* data, size_t size_bytes,
                                    hlo_event_t** out_done) HLO_MUST_USE;
/// Copies a byte range of the storage. errors: INVALID_ARGUMENT for a range outside, as in PJRT
hlo_status_t hlo_buffer_copy_raw_to_host(hlo_buffer_t* buffer, void* data, int64_t offset_bytes,
                                         int64_t size_bytes, hlo_event_t** out_done) HLO_MUST_USE;
/// A raw copy to host memory that the caller names later, with hlo_late_copy_start().
typedef struct hlo_late_copy hlo_late_copy_t;
/// errors: INVALID_ARGUMENT for a range outside or a deleted buffer, RESOURCE_EXHAUSTED
hlo_status_t hlo_late_copy_create(hlo_buffer_t* buffer, int64_t offset_bytes, int64_t size_bytes,
                                  hlo_late_copy_t** out_copy, hlo_event_t** out_done) HLO_MUST_USE;
/// Copies to `data` when the value is defined, or fails with `error` (taken). From now on the
/// client's release waits for the copy, which frees itself.
void hlo_late_copy_start(hlo_late_copy_t* copy, void* data, hlo_status_t error);
/// Creates a copy in another (or the same) memory space, of this or another client.
hlo_status_t hlo_buffer_copy_to_memory(hlo_buffer_t* buffer, hlo_memory_t* memory,
                                       hlo_buffer_t** out_buffer) HLO_MUST_USE;

/// Creates a buffer with a new value, of the target's shape and in its memory space, over the bytes
/// of the target, which is invalid from now on as after a donation. The copy begins when the old
/// value is defined and its readers have ended. If the bytes must not be overwritten
/// (hlo_buffer_donate()), the new buffer has bytes of its own. A failed call leaves the target
/// valid.
/// errors: INVALID_ARGUMENT (another size, shape or layout; deleted), RESOURCE_EXHAUSTED
/// data: all elements in the order of the target. *out_done (may be NULL): ready when the host
/// memory is no longer needed; with IMMUTABLE_ONLY_DURING_CALL it may be reused at once.
hlo_status_t hlo_buffer_overwrite_from_host(hlo_buffer_t* target, const void* data,
                                            size_t size_bytes, hlo_host_semantics_t semantics,
                                            hlo_event_t** out_done,
                                            hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// source: a buffer of any memory space, of this or another client; stays valid.
hlo_status_t hlo_buffer_overwrite(hlo_buffer_t* target, hlo_buffer_t* source,
                                  hlo_buffer_t** out_buffer) HLO_MUST_USE;

/// External references keep the bytes alive after deletion and protect them from being overwritten,
/// also through later handles of the same bytes. They nest.
hlo_status_t hlo_buffer_external_retain(hlo_buffer_t* buffer) HLO_MUST_USE;
hlo_status_t hlo_buffer_external_release(hlo_buffer_t* buffer) HLO_MUST_USE;
/// Returns the address of the bytes on the device, after waiting until they are defined. The host
/// may access them only if the memory space is accessible (hlo_memory_t.properties).
hlo_status_t hlo_buffer_data_pointer(hlo_buffer_t* buffer, void** out_data) HLO_MUST_USE;

// ---- for launches (executable.c) and transfer managers

/// A use of the value: storage and definition event, both retained; ended by hlo_buffer_use_end().
typedef struct hlo_buffer_use {
  hlo_storage_t* storage;
  hlo_event_t* ready;
  bool is_donated;
  bool awaits_promise;  // its end waits for a promise (hlo_event_awaits_promise())
} hlo_buffer_use_t;

/// errors: INVALID_ARGUMENT "deleted or donated"
hlo_status_t hlo_buffer_use_begin(hlo_buffer_t* buffer, hlo_buffer_use_t* out_use) HLO_MUST_USE;
void hlo_buffer_use_end(hlo_buffer_use_t* use);
/// Marks a use whose end waits for a promise; a donation that waits for the use then waits for the
/// promise as well.
void hlo_buffer_use_note_promise(hlo_buffer_use_t* use);
/// Takes the storage: the handle is invalid from now on. If the storage must not be overwritten,
/// because its bytes are foreign and immutable, externally referenced or shared with an alias,
/// is_donated is false and the use an ordinary one; the handle is invalid nevertheless.
hlo_status_t hlo_buffer_donate(hlo_buffer_t* buffer, hlo_buffer_use_t* out_use) HLO_MUST_USE;
/// Returns a donated storage to the handle when a launch could not be enqueued.
void hlo_buffer_donate_abort(hlo_buffer_t* buffer, hlo_buffer_use_t* use);
/// Calls back when no use but the caller's is pending (at once if none is).
void hlo_storage_when_idle(hlo_storage_t* storage, hlo_event_callback_t callback, void* context);
