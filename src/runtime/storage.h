// SPDX-License-Identifier: Apache-2.0
// Storage internals, for the files of runtime only.
#pragma once

#include <stdatomic.h>

#include "runtime/buffer.h"
#include "runtime/device_ops.h"

struct hlo_storage {
  // References in the low half, pending uses from bit 32 on, and the highest bit is set while a
  // donation waits for the uses to end. Each use holds a reference as well.
  _Atomic uint64_t state;
  hlo_memory_t* memory;
  hlo_account_t* account;        // of allocated bytes; retained by them
  hlo_device_address_t address;  // 0 while unresolved, or not allocated
  size_t size_bytes;
  bool is_mutable;
  bool is_deferred;  // hlo_storage_allocate() allocates its bytes
  bool is_counted;   // in the statistics of its memory space
  bool is_heir;
  atomic_uint hold_count;      // release to end a hold, acquire to see that it has ended
  atomic_uint promised_count;  // uses whose end waits for a promise; relaxed: a hint
  hlo_device_block_t block;    // unset if the bytes are foreign or follow this struct
  void (*release)(void* context);
  void* release_context;
  hlo_storage_t* target;  // set once, before the event of the alias buffer, and held; read after
                          // it. Of an heir the storage that owns the bytes, from the start
  hlo_mutex_t lock;       // guards the fields below
  hlo_event_callback_t idle_callback;  // of the donation that waits, at most one
  void* idle_context;
};

/// Creates storage whose bytes hlo_storage_resolve() provides, which takes a hold on the target.
hlo_status_t hlo_storage_create_unresolved(hlo_memory_t* memory, size_t size_bytes,
                                           hlo_storage_t** out_storage) HLO_MUST_USE;
void hlo_storage_resolve(hlo_storage_t* storage, hlo_storage_t* target);
/// Creates storage whose bytes hlo_storage_allocate() allocates before the buffer's event is set.
/// Storage of a few bytes is allocated at once. The bytes are of the client's account for arrays,
/// unless the creator sets another one.
hlo_status_t hlo_storage_create_deferred(hlo_memory_t* memory, size_t size_bytes,
                                         hlo_storage_t** out_storage) HLO_MUST_USE;
/// Allocates the bytes of deferred storage, or of the one that it is heir of, unless allocated: a
/// launch that fails early leaves none. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_storage_allocate(hlo_storage_t* storage) HLO_MUST_USE;
/// Frees the bytes of deferred storage.
void hlo_storage_deallocate(hlo_storage_t* storage);
/// Returns the number of bytes that hlo_storage_allocate() would allocate.
static inline size_t hlo_storage_missing_bytes(const hlo_storage_t* storage) {
  return storage->is_deferred && !storage->address ? storage->size_bytes : 0;
}
/// Creates the storage of a result that takes the bytes of a donated argument: the same bytes with
/// their own uses, for which the donation does not wait. Returns NULL if memory is exhausted.
hlo_storage_t* hlo_storage_create_heir(hlo_storage_t* donated);
/// A hold is a reference that protects the bytes from being overwritten: a program that takes them
/// by donation writes to memory of its own. Begun by owners of a handle only.
void hlo_storage_hold_begin(hlo_storage_t* storage);
void hlo_storage_hold_end(hlo_storage_t* storage);
/// Returns the address of the bytes, also if they belong to another storage.
static inline hlo_device_address_t hlo_storage_address(const hlo_storage_t* storage) {
  while (storage->target) storage = storage->target;
  return storage->address;
}
/// Returns true if uses besides one of the caller are pending.
bool hlo_storage_has_other_uses(const hlo_storage_t* storage);
/// Adds `change` to the number of uses whose end waits for a promise.
void hlo_storage_note_promise(hlo_storage_t* storage, int change);
/// Returns true if uses wait for a promise.
bool hlo_storage_awaits_promise(const hlo_storage_t* storage);
/// A pending use, which also holds a reference.
void hlo_storage_use_begin(hlo_storage_t* storage);
void hlo_storage_use_end(hlo_storage_t* storage);
