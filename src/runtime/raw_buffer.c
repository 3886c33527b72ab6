// SPDX-License-Identifier: Apache-2.0
// Raw buffers: byte ranges of storage. Their copies are in transfer.c.
#include "runtime/raw_buffer.h"

#include "runtime/buffer_impl.h"
#include "runtime/storage.h"

// Returns true if the user fills the bytes, which exist, and then fulfils the promise.
static bool is_filled_by_user(const hlo_storage_t* storage, const hlo_event_t* ready) {
  return hlo_event_is_promise(ready) && storage->address;
}

hlo_status_t hlo_raw_buffer_init(hlo_buffer_t* buffer, hlo_raw_buffer_t* out_raw) {
  hlo_mutex_lock(&buffer->lock);
  hlo_storage_t* storage = atomic_load_explicit(&buffer->storage, memory_order_relaxed);
  if (storage) hlo_storage_hold_begin(storage);
  hlo_mutex_unlock(&buffer->lock);
  if (!storage) {
    return hlo_invalid_argument(
        "no raw buffer: the buffer of %zu bytes has been deleted or donated", buffer->size_bytes);
  }
  *out_raw = (hlo_raw_buffer_t){
      .storage = storage, .memory = buffer->memory, .size_bytes = buffer->size_bytes};
  out_raw->ready = is_filled_by_user(storage, buffer->ready) ? hlo_event_create_ready(hlo_ok())
                                                             : hlo_event_retain(buffer->ready);
  if (out_raw->ready) return hlo_ok();
  hlo_raw_buffer_deinit(out_raw);
  return hlo_status_out_of_memory(sizeof(void*));
}

hlo_status_t hlo_raw_buffer_check_range(const hlo_raw_buffer_t* raw, int64_t offset_bytes,
                                        int64_t size_bytes) {
  const int64_t total = (int64_t)raw->size_bytes;
  if (offset_bytes >= 0 && size_bytes >= 0 && offset_bytes <= total &&
      size_bytes <= total - offset_bytes) {
    return hlo_ok();
  }
  return hlo_invalid_argument("%lld bytes at offset %lld are outside a raw buffer of %lld bytes",
                              (long long)size_bytes, (long long)offset_bytes, (long long)total);
}

hlo_status_t hlo_raw_buffer_slice(const hlo_raw_buffer_t* whole, int64_t offset_bytes,
                                  int64_t size_bytes, hlo_raw_buffer_t* out_raw) {
  HLO_TRY(hlo_raw_buffer_check_range(whole, offset_bytes, size_bytes));
  hlo_storage_hold_begin(whole->storage);
  *out_raw = (hlo_raw_buffer_t){.storage = whole->storage,
                                .memory = whole->memory,
                                .ready = hlo_event_retain(whole->ready),
                                .offset_bytes = whole->offset_bytes + (size_t)offset_bytes,
                                .size_bytes = (size_t)size_bytes};
  return hlo_ok();
}

void hlo_raw_buffer_deinit(hlo_raw_buffer_t* raw) {
  hlo_storage_hold_end(raw->storage);
  hlo_event_release(raw->ready);
  *raw = (hlo_raw_buffer_t){0};
}

static bool has_bytes(const hlo_raw_buffer_t* raw) {
  return hlo_event_is_ready(raw->ready) && hlo_status_is_ok(hlo_event_error(raw->ready));
}

void* hlo_raw_buffer_device_pointer(const hlo_raw_buffer_t* raw) {
  if (!has_bytes(raw)) return NULL;
  return hlo_device_program_pointer(hlo_storage_address(raw->storage) + raw->offset_bytes);
}

void* hlo_raw_buffer_host_pointer(const hlo_raw_buffer_t* raw) {
  uint8_t* bytes = has_bytes(raw) ? hlo_storage_host_pointer(raw->storage) : NULL;
  return bytes ? bytes + raw->offset_bytes : NULL;
}

bool hlo_raw_buffer_is_mutable(const hlo_raw_buffer_t* raw) {
  return raw->storage->is_mutable;
}
