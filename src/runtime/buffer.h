// SPDX-License-Identifier: Apache-2.0
// Device buffers: storage with owners, handles with holds, transfers to and from the host.
#ifndef HLO_RUNTIME_BUFFER_H_
#define HLO_RUNTIME_BUFFER_H_

#include "base/dtype.h"
#include "runtime/client.h"
#include "runtime/event.h"

/// The bytes behind buffers. Counted: every job that reads or writes it holds a reference. When the
/// last one goes the bytes are freed, or `release` is called for foreign ones.
/// threads: count and pending uses are atomic or locked; the bytes follow events.
typedef struct hlo_storage hlo_storage_t;

hlo_status_t hlo_storage_create(hlo_memory_t* memory, size_t size_bytes,
                                hlo_storage_t** out_storage) HLO_MUST_USE;
/// Foreign bytes. `is_mutable`: their owner lets programs overwrite them once a buffer over them is
/// donated; otherwise such a donation only invalidates the handle and the result gets memory of its
/// own. `release` (may be NULL) runs once, after the last use.
hlo_status_t hlo_storage_create_foreign(hlo_memory_t* memory, void* data, size_t size_bytes,
                                        bool is_mutable, void (*release)(void* context),
                                        void* context, hlo_storage_t** out_storage) HLO_MUST_USE;
hlo_storage_t* hlo_storage_retain(hlo_storage_t* storage);
void hlo_storage_release(hlo_storage_t* storage);
void* hlo_storage_data(hlo_storage_t* storage);
/// References, uses among them. Where the caller knows them all, there can be no others.
uint32_t hlo_storage_holder_count(const hlo_storage_t* storage);
size_t hlo_storage_size_bytes(const hlo_storage_t* storage);
bool hlo_storage_is_mutable(const hlo_storage_t* storage);

/// What a buffer holds: dense elements.
typedef struct hlo_buffer_shape {
  hlo_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* minor_to_major;  // order in memory (base/dim_order.h); buffers always say it
} hlo_buffer_shape_t;

/// Bytes on the device: one at least for each element.
/// errors: INVALID_ARGUMENT for what no buffer can be
hlo_status_t hlo_buffer_shape_size_bytes(const hlo_buffer_shape_t* shape,
                                         size_t* out_size_bytes) HLO_MUST_USE;

/// A handle: shape, place, storage, definition event. Shape and place are immutable; the storage
/// leaves on deletion or donation. threads: safe
typedef struct hlo_buffer hlo_buffer_t;

/// How long host memory may be read by hlo_buffer_from_host(), numerically
/// PJRT_HostBufferSemantics.
typedef enum hlo_host_semantics {
  HLO_HOST_IMMUTABLE_ONLY_DURING_CALL = 0,
  HLO_HOST_IMMUTABLE_UNTIL_TRANSFER_COMPLETES = 1,
  HLO_HOST_IMMUTABLE_ZERO_COPY = 2,
  HLO_HOST_MUTABLE_ZERO_COPY = 3,
} hlo_host_semantics_t;

/// Creates a buffer from host memory. byte_strides NULL: dense row-major there. *out_done (may be NULL):
/// an event, ready when the host memory is no longer needed.
/// errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_buffer_from_host(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                  const void* data, const int64_t* byte_strides,
                                  hlo_host_semantics_t semantics, hlo_event_t** out_done,
                                  hlo_buffer_t** out_buffer) HLO_MUST_USE;
hlo_status_t hlo_buffer_create_uninitialized(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                             hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// A buffer whose value is an error; takes `error`.
hlo_status_t hlo_buffer_create_error(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                     hlo_status_t error, hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Over existing storage (retained); `ready` (retained) NULL: defined already.
/// errors: INVALID_ARGUMENT if the storage is too small.
hlo_status_t hlo_buffer_create_over(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                    hlo_storage_t* storage, hlo_event_t* ready,
                                    hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// A buffer without storage yet: hlo_buffer_fulfill() gives it one, once.
hlo_status_t hlo_buffer_create_alias(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                     hlo_buffer_t** out_buffer) HLO_MUST_USE;
/// Takes over the value of `source`, whose bytes nobody overwrites while the alias has them, or is
/// `error` (taken) where that is NULL. What waits for an alias that could not be fulfilled gets the
/// error that is answered.
/// errors: FAILED_PRECONDITION the second time, INVALID_ARGUMENT if sizes or layouts differ.
hlo_status_t hlo_buffer_fulfill(hlo_buffer_t* alias, hlo_buffer_t* source,
                                hlo_status_t error) HLO_MUST_USE;
/// Drops the handle; pending work on the storage goes on.
void hlo_buffer_release(hlo_buffer_t* buffer);

const hlo_buffer_shape_t* hlo_buffer_shape(const hlo_buffer_t* buffer);
hlo_memory_t* hlo_buffer_memory(const hlo_buffer_t* buffer);
size_t hlo_buffer_size_bytes(const hlo_buffer_t* buffer);
/// Ready when the value is defined (or failed); retained for the caller. Also for deleted buffers.
hlo_event_t* hlo_buffer_ready_event(hlo_buffer_t* buffer);
/// Invalidates the handle; bytes are freed after pending uses. Idempotent.
void hlo_buffer_delete(hlo_buffer_t* buffer);
bool hlo_buffer_is_deleted(hlo_buffer_t* buffer);

/// Copies the value to host memory as dense elements in the order `minor_to_major` (NULL:
/// row-major), whatever their order in the buffer; sub-byte types take a byte each. *out_done is set when the bytes are there.
/// errors: INVALID_ARGUMENT (size), FAILED_PRECONDITION (deleted)
hlo_status_t hlo_buffer_to_host(hlo_buffer_t* buffer, void* data, size_t size_bytes,
                                const int64_t* minor_to_major, hlo_event_t** out_done) HLO_MUST_USE;
/// A byte range of the storage. errors: OUT_OF_RANGE -> INVALID_ARGUMENT as PJRT has it
hlo_status_t hlo_buffer_copy_raw_to_host(hlo_buffer_t* buffer, void* data, int64_t offset_bytes,
                                         int64_t size_bytes, hlo_event_t** out_done) HLO_MUST_USE;
/// A new buffer with a copy in another (or the same) memory space, of this or another client.
hlo_status_t hlo_buffer_copy_to_memory(hlo_buffer_t* buffer, hlo_memory_t* memory,
                                       hlo_buffer_t** out_buffer) HLO_MUST_USE;

/// External references keep the bytes alive after deletion, and from being overwritten, also through a
/// handle that has them next; nested.
hlo_status_t hlo_buffer_external_retain(hlo_buffer_t* buffer) HLO_MUST_USE;
hlo_status_t hlo_buffer_external_release(hlo_buffer_t* buffer) HLO_MUST_USE;
/// The address of the bytes, after waiting until they are defined.
hlo_status_t hlo_buffer_data_pointer(hlo_buffer_t* buffer, void** out_data) HLO_MUST_USE;

// ---- for launches (executable.c) and transfer managers

/// A use of the value: storage and definition event, both retained; ended by hlo_use_end().
typedef struct hlo_buffer_use {
  hlo_storage_t* storage;
  hlo_event_t* ready;
  bool is_donated;
  bool awaits_promise;  // its end waits for a promise (hlo_event_awaits_promise())
} hlo_buffer_use_t;

/// errors: FAILED_PRECONDITION -> INVALID_ARGUMENT text "deleted or donated"
hlo_status_t hlo_buffer_use_begin(hlo_buffer_t* buffer, hlo_buffer_use_t* out_use) HLO_MUST_USE;
void hlo_buffer_use_end(hlo_buffer_use_t* use);
/// Marks a use whose end waits for a promise: a donation that waits for the use does so, too.
void hlo_buffer_use_note_promise(hlo_buffer_use_t* use);
/// Takes the storage for good: the handle is invalid from now on. is_donated is false (and the use
/// an ordinary one, the handle still invalid) when the storage may not be overwritten: foreign
/// immutable bytes, external references, or the value of an alias as well.
hlo_status_t hlo_buffer_donate(hlo_buffer_t* buffer, hlo_buffer_use_t* out_use) HLO_MUST_USE;
/// Gives a donated storage back when a launch could not be enqueued.
void hlo_buffer_donate_abort(hlo_buffer_t* buffer, hlo_buffer_use_t* use);
/// Calls back when no use of the storage but the caller's is pending any more (at once if so).
void hlo_storage_when_idle(hlo_storage_t* storage, hlo_event_callback_t callback, void* context);

#endif  // HLO_RUNTIME_BUFFER_H_
