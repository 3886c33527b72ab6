// SPDX-License-Identifier: Apache-2.0
// Buffers: handles over storage with a definition event, holds, deletion and donation.

#include <string.h>

#include "base/mem.h"
#include "base/shape.h"
#include "runtime/buffer_impl.h"
#include "runtime/storage.h"

hlo_status_t hlo_buffer_shape_size_bytes(const hlo_buffer_shape_t* shape, size_t* out_size_bytes) {
  if (shape->dtype == HLO_DTYPE_INVALID) {
    return hlo_invalid_argument("a buffer needs an element type");
  }
  size_t count;
  return hlo_shape_measure(shape->dtype, shape->dims, shape->rank, &count, out_size_bytes);
}

hlo_status_t hlo_buffer_alloc(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                              hlo_buffer_t** out_buffer) {
  size_t size_bytes;
  HLO_TRY(hlo_buffer_shape_size_bytes(shape, &size_bytes));
  if (!hlo_dim_order_is_valid(shape->rank, shape->minor_to_major)) {
    return hlo_invalid_argument("minor_to_major of a buffer is no permutation of its %u dimensions",
                                shape->rank);
  }
  size_t bytes = sizeof(hlo_buffer_t) + 2 * shape->rank * sizeof(int64_t);
  hlo_buffer_t* buffer = hlo_mem_alloc_zeroed(bytes);
  if (!buffer) return hlo_status_out_of_memory(bytes);
  int64_t* minor_to_major = buffer->dims + shape->rank;
  if (shape->rank) memcpy(buffer->dims, shape->dims, shape->rank * sizeof(int64_t));
  if (shape->minor_to_major && shape->rank) {
    memcpy(minor_to_major, shape->minor_to_major, shape->rank * sizeof(int64_t));
  } else {
    hlo_dim_order_row_major(shape->rank, minor_to_major);
  }
  buffer->shape = (hlo_buffer_shape_t){shape->dtype, shape->rank, buffer->dims, minor_to_major};
  buffer->memory = memory;
  buffer->size_bytes = size_bytes;
  hlo_mutex_init(&buffer->lock, HLO_LOCK_LEVEL_BUFFER);
  *out_buffer = buffer;
  return hlo_ok();
}

static hlo_storage_t* storage_of(hlo_buffer_t* buffer) {
  return atomic_load_explicit(&buffer->storage, memory_order_relaxed);
}

hlo_status_t hlo_buffer_finish(hlo_buffer_t* buffer, hlo_storage_t* storage, hlo_event_t* ready,
                               hlo_buffer_t** out_buffer) {
  atomic_init(&buffer->storage, storage);
  buffer->ready = ready;
  if (!ready) {
    hlo_buffer_release(buffer);
    return hlo_status_out_of_memory(sizeof(void*));
  }
  *out_buffer = buffer;
  return hlo_ok();
}

typedef hlo_status_t (*create_storage_t)(hlo_memory_t* memory, size_t size_bytes,
                                         hlo_storage_t** out_storage);

// A buffer over a storage of its own. Takes `ready`; NULL (no memory for it) is an error.
static hlo_status_t create_with(create_storage_t create_storage, hlo_memory_t* memory,
                                const hlo_buffer_shape_t* shape, hlo_event_t* ready,
                                hlo_buffer_t** out_buffer) {
  hlo_buffer_t* buffer = NULL;
  hlo_storage_t* storage;
  hlo_status_t status = hlo_buffer_alloc(memory, shape, &buffer);
  if (hlo_status_is_ok(status)) status = create_storage(memory, buffer->size_bytes, &storage);
  if (!hlo_status_is_ok(status)) {
    hlo_event_release(ready);
    hlo_buffer_release(buffer);
    return status;
  }
  return hlo_buffer_finish(buffer, storage, ready, out_buffer);
}

hlo_status_t hlo_buffer_create_uninitialized(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                             hlo_buffer_t** out_buffer) {
  return create_with(hlo_storage_create, memory, shape, hlo_event_create_ready(hlo_ok()),
                     out_buffer);
}

hlo_status_t hlo_buffer_create_error(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                     hlo_status_t error, hlo_buffer_t** out_buffer) {
  return create_with(hlo_storage_create_unresolved, memory, shape, hlo_event_create_ready(error),
                     out_buffer);
}

hlo_status_t hlo_buffer_create_alias(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                     hlo_buffer_t** out_buffer) {
  hlo_buffer_t* alias;
  HLO_TRY(create_with(hlo_storage_create_unresolved, memory, shape, hlo_event_create_promise(),
                      &alias));
  alias->unfulfilled = hlo_storage_retain(storage_of(alias));
  *out_buffer = alias;
  return hlo_ok();
}

hlo_status_t hlo_buffer_create_over(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                    hlo_storage_t* storage, hlo_event_t* ready,
                                    hlo_buffer_t** out_buffer) {
  hlo_buffer_t* buffer;
  HLO_TRY(hlo_buffer_alloc(memory, shape, &buffer));
  if (hlo_storage_size_bytes(storage) < buffer->size_bytes) {
    size_t want = buffer->size_bytes;
    hlo_buffer_release(buffer);
    return hlo_invalid_argument("a buffer of %zu bytes does not fit into storage of %zu bytes",
                                want, hlo_storage_size_bytes(storage));
  }
  hlo_event_t* event = ready ? hlo_event_retain(ready) : hlo_event_create_ready(hlo_ok());
  return hlo_buffer_finish(buffer, hlo_storage_retain(storage), event, out_buffer);
}

static void set_storage(hlo_buffer_t* buffer, hlo_storage_t* storage) {
  atomic_store_explicit(&buffer->storage, storage, memory_order_relaxed);
}

typedef struct fulfilment {
  hlo_client_t* client;
  hlo_storage_t* alias_storage;
  hlo_event_t* alias_ready;
  hlo_event_waiter_t waiter;
  hlo_buffer_use_t source;
} fulfilment_t;

static void fulfil_when_ready(void* context, hlo_status_t status) {
  fulfilment_t* f = context;
  if (hlo_status_is_ok(status)) {
    hlo_storage_resolve(f->alias_storage, f->source.storage);
  } else {
    hlo_storage_hold_end(f->source.storage);
  }
  hlo_event_set(f->alias_ready, hlo_status_clone(status));
  hlo_event_release(f->alias_ready);
  hlo_storage_release(f->alias_storage);
  hlo_buffer_use_end(&f->source);
  hlo_client_t* client = f->client;
  hlo_mem_free(f);
  hlo_client_work_end(client);
}

// Elements of equal arrays have the same offsets in both buffers; arrays of other shapes share
// bytes.
static bool has_layout_of(const hlo_buffer_t* a, const hlo_buffer_t* b) {
  const hlo_buffer_shape_t *x = &a->shape, *y = &b->shape;
  if (x->rank != y->rank || (x->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) != 0)) {
    return true;
  }
  return hlo_dim_order_is_same(x->rank, x->dims, x->minor_to_major, y->minor_to_major);
}

// Gives the alias's storage (taken, except on error) the source's value when it is defined.
static hlo_status_t fulfil_from(hlo_buffer_t* alias, hlo_storage_t* storage, hlo_buffer_t* source) {
  if (source->size_bytes != alias->size_bytes) {
    return hlo_invalid_argument(
        "cannot fulfil an alias buffer of %zu bytes with a value of %zu bytes", alias->size_bytes,
        source->size_bytes);
  }
  if (!has_layout_of(alias, source)) {
    return hlo_invalid_argument("cannot fulfil an alias buffer with a value of another layout");
  }
  hlo_client_t* client = hlo_memory_client(alias->memory);
  if (hlo_memory_client(source->memory) != client) {
    return hlo_invalid_argument("cannot fulfil an alias buffer with a value of another client");
  }
  fulfilment_t* f = hlo_mem_alloc_zeroed(sizeof *f);
  if (!f) return hlo_status_out_of_memory(sizeof *f);
  hlo_status_t status = hlo_buffer_use_begin(source, &f->source);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(f);
    return status;
  }
  hlo_client_work_begin(client);
  hlo_storage_hold_begin(f->source.storage);
  f->client = client;
  f->alias_storage = storage;
  f->alias_ready = hlo_event_retain(alias->ready);
  hlo_event_note_promise(alias->ready, hlo_event_awaits_promise(f->source.ready));
  hlo_event_on_ready(f->source.ready, &f->waiter, fulfil_when_ready, f);
  return hlo_ok();
}

hlo_status_t hlo_buffer_fulfill(hlo_buffer_t* alias, hlo_buffer_t* source, hlo_status_t error) {
  hlo_mutex_lock(&alias->lock);
  hlo_storage_t* storage = alias->unfulfilled;
  alias->unfulfilled = NULL;
  hlo_mutex_unlock(&alias->lock);
  if (!storage) {
    hlo_status_release(error);
    return hlo_failed_precondition("the alias buffer is already fulfilled");
  }
  hlo_status_t status = hlo_ok();
  if (source) {
    hlo_status_release(error);
    status = fulfil_from(alias, storage, source);
    if (hlo_status_is_ok(status)) return status;
    error = hlo_status_clone(status);
  }
  hlo_event_set(alias->ready, error);
  hlo_storage_release(storage);
  return status;
}

void hlo_buffer_release(hlo_buffer_t* buffer) {
  if (!buffer) return;
  if (buffer->unfulfilled) {
    hlo_event_set(buffer->ready,
                  hlo_status_create(HLO_STATUS_ABORTED,
                                    "the alias buffer was released before it was fulfilled"));
  }
  hlo_storage_release(storage_of(buffer));
  hlo_storage_hold_end(buffer->external_storage);
  hlo_storage_release(buffer->unfulfilled);
  hlo_event_release(buffer->ready);
  hlo_mutex_deinit(&buffer->lock);
  hlo_mem_free(buffer);
}

const hlo_buffer_shape_t* hlo_buffer_shape(const hlo_buffer_t* buffer) {
  return &buffer->shape;
}
hlo_memory_t* hlo_buffer_memory(const hlo_buffer_t* buffer) {
  return buffer->memory;
}
size_t hlo_buffer_size_bytes(const hlo_buffer_t* buffer) {
  return buffer->size_bytes;
}

hlo_event_t* hlo_buffer_ready_event(hlo_buffer_t* buffer) {
  return hlo_event_retain(buffer->ready);  // immutable after creation
}

void hlo_buffer_delete(hlo_buffer_t* buffer) {
  hlo_mutex_lock(&buffer->lock);
  hlo_storage_t* storage = storage_of(buffer);
  set_storage(buffer, NULL);
  hlo_mutex_unlock(&buffer->lock);
  hlo_storage_release(storage);
}

bool hlo_buffer_is_deleted(hlo_buffer_t* buffer) {
  return storage_of(buffer) == NULL;
}

static hlo_status_t deleted_error(void) {
  return hlo_invalid_argument("buffer has been deleted or donated");
}

hlo_status_t hlo_buffer_external_retain(hlo_buffer_t* buffer) {
  hlo_mutex_lock(&buffer->lock);
  hlo_storage_t* storage = storage_of(buffer);
  if (storage && buffer->external_count++ == 0) {
    hlo_storage_hold_begin(storage);
    buffer->external_storage = storage;
  }
  hlo_mutex_unlock(&buffer->lock);
  return storage ? hlo_ok() : deleted_error();
}

hlo_status_t hlo_buffer_external_release(hlo_buffer_t* buffer) {
  hlo_storage_t* storage = NULL;
  hlo_mutex_lock(&buffer->lock);
  bool held = buffer->external_count > 0;
  if (held && --buffer->external_count == 0) {
    storage = buffer->external_storage;
    buffer->external_storage = NULL;
  }
  hlo_mutex_unlock(&buffer->lock);
  hlo_storage_hold_end(storage);
  if (held) return hlo_ok();
  return hlo_failed_precondition("the external reference count of the buffer is already zero");
}

hlo_status_t hlo_buffer_data_pointer(hlo_buffer_t* buffer, void** out_data) {
  hlo_buffer_use_t use;
  HLO_TRY(hlo_buffer_use_begin(buffer, &use));
  hlo_status_t status = hlo_event_await(use.ready, UINT64_MAX);
  if (hlo_status_is_ok(status)) {
    *out_data = hlo_device_program_pointer(hlo_storage_address(use.storage));
  }
  hlo_buffer_use_end(&use);
  return status;
}

hlo_status_t hlo_buffer_use_begin(hlo_buffer_t* buffer, hlo_buffer_use_t* out_use) {
  hlo_mutex_lock(&buffer->lock);
  hlo_storage_t* storage = storage_of(buffer);
  if (storage) hlo_storage_use_begin(storage);
  hlo_mutex_unlock(&buffer->lock);
  if (!storage) return deleted_error();
  *out_use = (hlo_buffer_use_t){.storage = storage, .ready = hlo_event_retain(buffer->ready)};
  return hlo_ok();
}

void hlo_buffer_use_end(hlo_buffer_use_t* use) {
  if (!use->storage) return;
  if (use->awaits_promise) hlo_storage_note_promise(use->storage, -1);
  hlo_storage_use_end(use->storage);
  hlo_event_release(use->ready);
  *use = (hlo_buffer_use_t){0};
}

void hlo_buffer_use_note_promise(hlo_buffer_use_t* use) {
  if (!use->awaits_promise) hlo_storage_note_promise(use->storage, 1);
  use->awaits_promise = true;
}

hlo_status_t hlo_buffer_donate(hlo_buffer_t* buffer, hlo_buffer_use_t* out_use) {
  hlo_mutex_lock(&buffer->lock);
  hlo_storage_t* storage = storage_of(buffer);
  bool owned = storage && hlo_storage_is_mutable(storage);
  if (storage) hlo_storage_use_begin(storage);
  set_storage(buffer, NULL);
  hlo_mutex_unlock(&buffer->lock);
  if (!storage) return deleted_error();
  hlo_storage_release(storage);  // the handle's reference; the use holds its own
  *out_use = (hlo_buffer_use_t){
      .storage = storage, .ready = hlo_event_retain(buffer->ready), .is_donated = owned};
  return hlo_ok();
}

void hlo_buffer_donate_abort(hlo_buffer_t* buffer, hlo_buffer_use_t* use) {
  hlo_mutex_lock(&buffer->lock);
  set_storage(buffer, hlo_storage_retain(use->storage));
  hlo_mutex_unlock(&buffer->lock);
  hlo_buffer_use_end(use);
}
