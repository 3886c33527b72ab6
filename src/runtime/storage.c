// SPDX-License-Identifier: Apache-2.0
// Storage: the counted bytes behind buffers, with the number of uses pending on them.
#include "runtime/storage.h"

#include "base/mem.h"

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

static hlo_status_t storage_alloc(hlo_memory_t* memory, size_t size_bytes,
                                  hlo_storage_t** out_storage) {
  hlo_storage_t* storage = hlo_mem_alloc_zeroed(sizeof *storage);
  if (!storage) return hlo_status_out_of_memory(sizeof *storage);
  atomic_init(&storage->count, 1);
  hlo_mutex_init(&storage->lock, HLO_LOCK_LEVEL_MEMORY);
  storage->memory = memory;
  storage->size_bytes = size_bytes;
  storage->is_mutable = true;
  *out_storage = storage;
  return hlo_ok();
}

static hlo_status_t out_of_device_memory(const hlo_memory_t* memory, size_t size_bytes) {
  hlo_heap_stats_t stats;
  hlo_heap_get_stats(hlo_client_heap(hlo_memory_client(memory)), &stats);
  return hlo_status_create(
      HLO_STATUS_RESOURCE_EXHAUSTED,
      "out of memory: %zu bytes wanted in memory space %s of device %d (%lld bytes in use there; "
      "all devices have taken %llu bytes from the system)",
      size_bytes, hlo_memory_kind_name(memory->kind), memory->device->id,
      (long long)atomic_load(&memory->bytes_in_use), (unsigned long long)stats.reserved_bytes);
}

hlo_status_t hlo_storage_create(hlo_memory_t* memory, size_t size_bytes,
                                hlo_storage_t** out_storage) {
  hlo_storage_t* storage = NULL;
  HLO_TRY(storage_alloc(memory, size_bytes, &storage));
  hlo_status_t status =
      hlo_block_acquire(hlo_client_heap(hlo_memory_client(memory)), size_bytes, &storage->block);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    hlo_storage_release(storage);
    return out_of_device_memory(memory, size_bytes);
  }
  storage->data = storage->block.data;
  count_allocation(memory, (int64_t)size_bytes);
  *out_storage = storage;
  return hlo_ok();
}

hlo_status_t hlo_storage_create_foreign(hlo_memory_t* memory, void* data, size_t size_bytes,
                                        bool is_mutable, void (*release)(void* context),
                                        void* context, hlo_storage_t** out_storage) {
  hlo_storage_t* storage = NULL;
  HLO_TRY(storage_alloc(memory, size_bytes, &storage));
  storage->data = data;
  storage->is_mutable = is_mutable;
  storage->release = release;
  storage->release_context = context;
  *out_storage = storage;
  return hlo_ok();
}

hlo_status_t hlo_storage_create_unresolved(hlo_memory_t* memory, size_t size_bytes,
                                           hlo_storage_t** out_storage) {
  return storage_alloc(memory, size_bytes, out_storage);
}

void hlo_storage_resolve(hlo_storage_t* storage, hlo_storage_t* target) {
  storage->target = hlo_storage_retain(target);
}

hlo_storage_t* hlo_storage_retain(hlo_storage_t* storage) {
  if (storage) atomic_fetch_add_explicit(&storage->count, 1, memory_order_relaxed);
  return storage;
}

void hlo_storage_release(hlo_storage_t* storage) {
  while (storage && atomic_fetch_sub_explicit(&storage->count, 1, memory_order_acq_rel) == 1) {
    hlo_storage_t* target = storage->target;
    if (storage->block.data) {
      atomic_fetch_sub_explicit(&storage->memory->bytes_in_use, (int64_t)storage->size_bytes,
                                memory_order_relaxed);
      hlo_block_release(hlo_client_heap(hlo_memory_client(storage->memory)), storage->block);
    }
    if (storage->release) storage->release(storage->release_context);
    hlo_mutex_deinit(&storage->lock);
    hlo_mem_free(storage);
    storage = target;
  }
}

void* hlo_storage_data(hlo_storage_t* storage) {
  while (storage->target) storage = storage->target;
  return storage->data;
}

size_t hlo_storage_size_bytes(const hlo_storage_t* storage) { return storage->size_bytes; }

bool hlo_storage_is_mutable(const hlo_storage_t* storage) {
  // An unresolved storage may turn out to be foreign: only plain ones may be overwritten.
  return storage->is_mutable && !storage->target && storage->data;
}

void hlo_storage_use_begin(hlo_storage_t* storage) {
  hlo_storage_retain(storage);
  hlo_mutex_lock(&storage->lock);
  ++storage->use_count;
  hlo_mutex_unlock(&storage->lock);
}

void hlo_storage_use_end(hlo_storage_t* storage) {
  hlo_event_callback_t callback = NULL;
  void* context = NULL;
  hlo_mutex_lock(&storage->lock);
  if (--storage->use_count <= 1) {
    callback = storage->idle_callback;
    context = storage->idle_context;
    storage->idle_callback = NULL;
  }
  hlo_mutex_unlock(&storage->lock);
  if (callback) callback(context, hlo_ok());
  hlo_storage_release(storage);
}

void hlo_storage_when_idle(hlo_storage_t* storage, hlo_event_callback_t callback, void* context) {
  hlo_mutex_lock(&storage->lock);
  bool idle = storage->use_count <= 1;
  if (!idle) {
    storage->idle_callback = callback;
    storage->idle_context = context;
  }
  hlo_mutex_unlock(&storage->lock);
  if (idle) callback(context, hlo_ok());
}
