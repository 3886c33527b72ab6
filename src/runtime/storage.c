// SPDX-License-Identifier: Apache-2.0
// Storage: the reference-counted bytes of buffers, with the number of pending uses.
#include "runtime/storage.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/tuning.h"

static void count_allocation(hlo_memory_t* memory, int64_t size_bytes) {
  int64_t now = atomic_fetch_add_explicit(&memory->bytes_in_use, size_bytes, memory_order_relaxed) +
                size_bytes;
  atomic_fetch_add_explicit(&memory->allocation_count, 1, memory_order_relaxed);
  int64_t peak = atomic_load_explicit(&memory->peak_bytes, memory_order_relaxed);
  while (now > peak && !atomic_compare_exchange_weak(&memory->peak_bytes, &peak, now)) {
  }
  int64_t largest = atomic_load_explicit(&memory->largest_bytes, memory_order_relaxed);
  while (size_bytes > largest &&
         !atomic_compare_exchange_weak(&memory->largest_bytes, &largest, size_bytes)) {
  }
}

// Parts of hlo_storage.state.
static const uint64_t kReference = 1, kUse = 1ull << 32, kWaiting = 1ull << 63;

static uint32_t references(uint64_t state) {
  return (uint32_t)state;
}

static uint32_t uses(uint64_t state) {
  return (uint32_t)((state & ~kWaiting) / kUse);
}

// `inline_bytes` of data follow the storage.
static hlo_status_t storage_alloc(hlo_memory_t* memory, size_t size_bytes, size_t inline_bytes,
                                  hlo_storage_t** out_storage) {
  const size_t bytes = sizeof(hlo_storage_t) + inline_bytes;
  hlo_storage_t* storage = hlo_mem_alloc(bytes);
  if (!storage) return hlo_status_out_of_memory(bytes);
  *storage = (hlo_storage_t){.memory = memory, .size_bytes = size_bytes, .is_mutable = true};
  atomic_init(&storage->state, kReference);
  hlo_mutex_init(&storage->lock, HLO_LOCK_LEVEL_MEMORY);
  *out_storage = storage;
  return hlo_ok();
}

static hlo_status_t out_of_device_memory(const hlo_memory_t* memory, size_t size_bytes) {
  hlo_memory_stats_t stats;
  hlo_memory_get_stats(memory, &stats);
  return hlo_resource_exhausted(
      "out of memory: %zu bytes requested in memory space %s of device %d (%lld bytes in use "
      "there; all devices have taken %llu bytes of this kind from the system, limit %llu bytes)",
      size_bytes, hlo_memory_kind_name(memory->kind), memory->device->id,
      (long long)stats.bytes_in_use, (unsigned long long)stats.reserved_bytes,
      (unsigned long long)stats.limit_bytes);
}

static void count_storage(hlo_storage_t* storage) {
  storage->is_counted = true;
  count_allocation(storage->memory, (int64_t)storage->size_bytes);
}

static void uncount_storage(hlo_storage_t* storage) {
  if (!storage->is_counted) return;
  storage->is_counted = false;
  atomic_fetch_sub_explicit(&storage->memory->bytes_in_use, (int64_t)storage->size_bytes,
                            memory_order_relaxed);
}

// Adds allocated bytes to the statistics and to the account of their owner. Data in the allocation
// of their storage are in no account, because they are few and their allocation is quick.
static void count_block(hlo_storage_t* storage) {
  count_storage(storage);
  hlo_account_add(storage->account, storage->memory->kind, storage->size_bytes);
}

static void free_block(hlo_storage_t* storage) {
  hlo_device_backend_t* backend = storage->memory->backend;
  if (!storage->block.address) return;
  backend->ops->free(backend, storage->memory, storage->block);
  storage->block = (hlo_device_block_t){0};
  hlo_account_remove(storage->account, storage->memory->kind, storage->size_bytes);
}

hlo_status_t hlo_storage_create_deferred(hlo_memory_t* memory, size_t size_bytes,
                                         hlo_storage_t** out_storage) {
  if (size_bytes > memory->properties.inline_bytes || memory->properties.inline_bytes == 0) {
    HLO_TRY(storage_alloc(memory, size_bytes, 0, out_storage));
    (*out_storage)->is_deferred = true;
    (*out_storage)->account = hlo_client_array_account(hlo_memory_client(memory));
    return hlo_ok();
  }
  hlo_storage_t* storage = NULL;
  HLO_TRY(storage_alloc(memory, size_bytes, HLO_BLOCK_ALIGNMENT - 1 + size_bytes, &storage));
  uintptr_t after = (uintptr_t)(storage + 1) + HLO_BLOCK_ALIGNMENT - 1;
  storage->address = after & ~(uintptr_t)(HLO_BLOCK_ALIGNMENT - 1);
  count_storage(storage);
  *out_storage = storage;
  return hlo_ok();
}

hlo_status_t hlo_storage_allocate(hlo_storage_t* storage) {
  while (storage->target) storage = storage->target;
  if (!storage->is_deferred || storage->address) return hlo_ok();
  hlo_memory_t* memory = storage->memory;
  hlo_device_backend_t* backend = memory->backend;
  if (!hlo_status_take_ok(
          backend->ops->allocate(backend, memory, storage->size_bytes, &storage->block))) {
    return out_of_device_memory(memory, storage->size_bytes);
  }
  storage->address = storage->block.address;
  count_block(storage);
  return hlo_ok();
}

void hlo_storage_deallocate(hlo_storage_t* storage) {
  if (!storage->is_deferred || !storage->address) return;
  uncount_storage(storage);
  free_block(storage);
  storage->address = 0;
}

// The request of a thread.
typedef struct thread_request {
  hlo_memory_request_t request;
  hlo_storage_t* storage;
  hlo_gate_t gate;
} thread_request_t;

static hlo_status_t allocate_for_thread(hlo_memory_request_t* request) {
  return hlo_storage_allocate(((thread_request_t*)request)->storage);
}

static void wake_thread(hlo_memory_request_t* request) {
  hlo_gate_open(&((thread_request_t*)request)->gate);
}

// Allocates the bytes once running launches have freed enough memory.
static hlo_status_t await_memory(hlo_storage_t* storage) {
  hlo_memory_queue_t* queue = hlo_client_memory_queue(hlo_memory_client(storage->memory));
  thread_request_t wanted = {.request = {.allocate = allocate_for_thread, .retry = wake_thread},
                             .storage = storage};
  for (;;) {
    bool waits;
    hlo_status_t status = hlo_memory_queue_acquire(queue, &wanted.request, &waits);
    if (!waits) return status;
    hlo_gate_await(&wanted.gate, UINT64_MAX);
    wanted.gate = (hlo_gate_t){0};
  }
}

hlo_status_t hlo_storage_create(hlo_memory_t* memory, size_t size_bytes,
                                hlo_storage_t** out_storage) {
  hlo_storage_t* storage = NULL;
  HLO_TRY(hlo_storage_create_deferred(memory, size_bytes, &storage));
  hlo_status_t status = storage->address ? hlo_ok() : hlo_storage_allocate(storage);
  if (!hlo_status_is_ok(status) && hlo_thread_may_wait()) {
    hlo_status_release(status);
    status = await_memory(storage);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_storage_release(storage);
    return hlo_client_explain_exhaustion(hlo_memory_client(memory), status);
  }
  *out_storage = storage;
  return hlo_ok();
}

hlo_status_t hlo_storage_create_foreign(hlo_memory_t* memory, void* data, size_t size_bytes,
                                        bool is_mutable, void (*release)(void* context),
                                        void* context, hlo_storage_t** out_storage) {
  hlo_storage_t* storage = NULL;
  HLO_TRY(storage_alloc(memory, size_bytes, 0, &storage));
  storage->address = hlo_device_address_of(data);
  storage->is_mutable = is_mutable;
  storage->release = release;
  storage->release_context = context;
  *out_storage = storage;
  return hlo_ok();
}

hlo_status_t hlo_storage_create_unresolved(hlo_memory_t* memory, size_t size_bytes,
                                           hlo_storage_t** out_storage) {
  HLO_TRY(storage_alloc(memory, size_bytes, 0, out_storage));
  (*out_storage)->is_mutable = false;  // the target may be foreign
  return hlo_ok();
}

hlo_storage_t* hlo_storage_create_heir(hlo_storage_t* donated) {
  hlo_storage_t *owner = donated->is_heir ? donated->target : donated, *heir = NULL;
  if (!hlo_status_take_ok(storage_alloc(owner->memory, donated->size_bytes, 0, &heir))) return NULL;
  heir->target = hlo_storage_retain(owner);
  heir->is_heir = true;
  return heir;
}

void hlo_storage_resolve(hlo_storage_t* storage, hlo_storage_t* target) {
  storage->target = target;
}

hlo_storage_t* hlo_storage_retain(hlo_storage_t* storage) {
  // relaxed: the caller has a reference already
  if (storage) atomic_fetch_add_explicit(&storage->state, kReference, memory_order_relaxed);
  return storage;
}

static void end_hold(hlo_storage_t* storage) {
  atomic_fetch_sub_explicit(&storage->hold_count, 1, memory_order_release);
}

// Frees the storage; returns the storage that it was resolved to (or NULL), whose reference the
// caller drops.
static hlo_storage_t* storage_free(hlo_storage_t* storage) {
  hlo_storage_t* target = storage->target;
  if (target && !storage->is_heir) end_hold(target);
  uncount_storage(storage);
  free_block(storage);
  if (storage->release) {
    hlo_thread_no_wait_begin();
    storage->release(storage->release_context);
    hlo_thread_no_wait_end();
  }
  hlo_mutex_deinit(&storage->lock);
  hlo_mem_free(storage);
  return target;
}

void hlo_storage_release(hlo_storage_t* storage) {
  // acq_rel: the last owner sees the other owners' accesses to the bytes
  while (storage && references(atomic_fetch_sub_explicit(&storage->state, kReference,
                                                         memory_order_acq_rel)) == 1) {
    storage = storage_free(storage);
  }
}

void hlo_storage_hold_begin(hlo_storage_t* storage) {
  // relaxed: the handle orders it before a donation
  atomic_fetch_add_explicit(&storage->hold_count, 1, memory_order_relaxed);
  hlo_storage_retain(storage);
}

void hlo_storage_hold_end(hlo_storage_t* storage) {
  if (!storage) return;
  end_hold(storage);
  hlo_storage_release(storage);
}

uint32_t hlo_storage_holder_count(const hlo_storage_t* storage) {
  return references(atomic_load_explicit(&storage->state, memory_order_acquire));
}

void* hlo_storage_host_pointer(const hlo_storage_t* storage) {
  while (storage->target) storage = storage->target;
  hlo_device_backend_t* backend = storage->memory->backend;
  if (!storage->address) return NULL;
  return backend->ops->host_pointer(backend, storage->memory, storage->address);
}

size_t hlo_storage_size_bytes(const hlo_storage_t* storage) {
  return storage->size_bytes;
}

bool hlo_storage_is_mutable(const hlo_storage_t* storage) {
  return storage->is_mutable &&
         atomic_load_explicit(&storage->hold_count, memory_order_acquire) == 0;
}

bool hlo_storage_has_other_uses(const hlo_storage_t* storage) {
  // acquire: reads of the ended uses precede
  return uses(atomic_load_explicit(&storage->state, memory_order_acquire)) > 1;
}

void hlo_storage_note_promise(hlo_storage_t* storage, int change) {
  atomic_fetch_add_explicit(&storage->promised_count, (unsigned)change, memory_order_relaxed);
}

bool hlo_storage_awaits_promise(const hlo_storage_t* storage) {
  return atomic_load_explicit(&storage->promised_count, memory_order_relaxed) > 0;
}

void hlo_storage_use_begin(hlo_storage_t* storage) {
  // relaxed: the caller has a reference, and events order its reads
  atomic_fetch_add_explicit(&storage->state, kUse + kReference, memory_order_relaxed);
}

// Calls the waiting donation if the end of this use left it alone.
static void tell_waiting(hlo_storage_t* storage) {
  hlo_event_callback_t callback = NULL;
  void* context = NULL;
  hlo_mutex_lock(&storage->lock);
  if (uses(atomic_load_explicit(&storage->state, memory_order_acquire)) <= 1) {
    callback = storage->idle_callback;
    context = storage->idle_context;
    storage->idle_callback = NULL;
    atomic_fetch_and_explicit(&storage->state, ~kWaiting, memory_order_relaxed);
  }
  hlo_mutex_unlock(&storage->lock);
  if (callback) callback(context, hlo_ok());
}

void hlo_storage_use_end(hlo_storage_t* storage) {
  uint64_t state = atomic_load_explicit(&storage->state, memory_order_relaxed);
  HLO_ASSERT(uses(state) > 0, "a use ends exactly once");
  // acq_rel as in hlo_storage_release(); release also for the donation that takes the bytes over
  while (!(state & kWaiting)) {
    if (atomic_compare_exchange_weak_explicit(&storage->state, &state, state - kUse - kReference,
                                              memory_order_acq_rel, memory_order_relaxed)) {
      if (references(state) == 1) hlo_storage_release(storage_free(storage));
      return;
    }
  }
  atomic_fetch_sub_explicit(&storage->state, kUse, memory_order_acq_rel);
  tell_waiting(storage);
  hlo_storage_release(storage);
}

void hlo_storage_when_idle(hlo_storage_t* storage, hlo_event_callback_t callback, void* context) {
  // acquire: reads of the ended uses precede
  bool idle = uses(atomic_load_explicit(&storage->state, memory_order_acquire)) <= 1;
  if (!idle) {
    hlo_mutex_lock(&storage->lock);
    storage->idle_callback = callback;
    storage->idle_context = context;
    // Uses that end from now on see the bit and call tell_waiting().
    idle = uses(atomic_fetch_or_explicit(&storage->state, kWaiting, memory_order_acq_rel)) <= 1;
    if (idle) {
      storage->idle_callback = NULL;
      atomic_fetch_and_explicit(&storage->state, ~kWaiting, memory_order_relaxed);
    }
    hlo_mutex_unlock(&storage->lock);
  }
  if (idle) callback(context, hlo_ok());
}
