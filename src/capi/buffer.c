// SPDX-License-Identifier: Apache-2.0
// Buffers of the public C API: creation, memory lent by the user, copies, maps.
#include <string.h>

#include "base/mem.h"
#include "capi/capi_impl.h"

hlocc_buffer_t* hlo_capi_buffer_reserve(hlocc_client_t* client) {
  hlocc_buffer_t* buffer = hlo_mem_alloc_zeroed(sizeof *buffer);
  if (buffer) buffer->client = hlo_capi_client_retain(client);
  return buffer;
}

// Gives the caller a reserved buffer that `status` says is made; frees it after a failure.
static hlo_status_t hand_over(hlocc_buffer_t* buffer, hlo_status_t status,
                              hlocc_buffer_t** out_buffer) {
  if (!hlo_status_is_ok(status)) {
    hlocc_buffer_free(buffer);
    return status;
  }
  *out_buffer = buffer;
  return hlo_ok();
}

void hlocc_buffer_free(hlocc_buffer_t* buffer) {
  if (!buffer) return;
  hlo_buffer_use_end(&buffer->write);
  hlo_buffer_release(buffer->buffer);
  hlocc_client_free(buffer->client);
  hlo_mem_free(buffer);
}

// ---- creation

// The contents of a new buffer; all NULL: undefined.
typedef struct source {
  const hlocc_shape_t* shape;
  const void* copied;      // by hlocc_buffer_create_copy()
  hlo_storage_t* storage;  // of lent memory
} source_t;

static hlo_status_t convert_shape(const hlocc_shape_t* given, hlo_buffer_shape_t* out_shape) {
  const hlo_dtype_t dtype = hlo_dtype_from_pjrt((int32_t)given->type);
  if (dtype == HLO_DTYPE_INVALID) {
    return hlo_invalid_argument("%d is not an element type", (int)given->type);
  }
  if (given->rank && !given->dims) return hlo_invalid_argument("a shape needs its dimensions");
  *out_shape = (hlo_buffer_shape_t){.dtype = dtype, .rank = given->rank, .dims = given->dims};
  return hlo_ok();
}

static hlo_status_t create(const source_t* source, hlo_memory_t* memory, hlo_buffer_t** out) {
  hlo_buffer_shape_t shape;
  HLO_TRY(convert_shape(source->shape, &shape));
  if (source->storage) {
    return hlo_buffer_create_over(memory, &shape, source->storage, NULL, out);
  }
  if (source->copied) {
    return hlo_buffer_from_host(memory, &shape, source->copied, NULL,
                                HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, out);
  }
  return hlo_buffer_create_uninitialized(memory, &shape, out);
}

static hlo_status_t create_on(hlocc_client_t* client, uint32_t device, const source_t* source,
                              hlocc_buffer_t** out_buffer) {
  hlo_memory_t* memory = NULL;
  HLO_TRY(hlo_capi_memory(client, device, source->shape->memory, &memory));
  hlocc_buffer_t* buffer = hlo_capi_buffer_reserve(client);
  if (!buffer) return hlo_status_out_of_memory(sizeof *buffer);
  return hand_over(buffer, create(source, memory, &buffer->buffer), out_buffer);
}

hlocc_error_t* hlocc_buffer_create(hlocc_client_t* client, uint32_t device,
                                   const hlocc_shape_t* shape, hlocc_buffer_t** out_buffer) {
  return hlo_capi_error(create_on(client, device, &(source_t){.shape = shape}, out_buffer));
}

hlocc_error_t* hlocc_buffer_create_copy(hlocc_client_t* client, uint32_t device,
                                        const hlocc_shape_t* shape, const void* data,
                                        hlocc_buffer_t** out_buffer) {
  if (!data) return hlo_capi_error(hlo_invalid_argument("the data of a buffer are null"));
  const source_t source = {.shape = shape, .copied = data};
  return hlo_capi_error(create_on(client, device, &source, out_buffer));
}

// ---- memory lent by the user

typedef struct loan {
  void (*release)(void* context);  // NULL: nobody is called
  void* context;
} loan_t;

static void end_loan(void* context) {
  const loan_t loan = *(loan_t*)context;
  hlo_mem_free(context);
  if (loan.release) loan.release(loan.context);
}

// Creates storage over lent memory that calls nobody yet.
static hlo_status_t borrow(hlo_memory_t* memory, const hlocc_shape_t* given, void* data,
                           hlocc_access_t access, loan_t** out_loan, hlo_storage_t** out_storage) {
  if (!data || (uintptr_t)data % HLOCC_ALIGNMENT != 0) {
    return hlo_invalid_argument("the address %p of lent memory is not a multiple of %d bytes", data,
                                HLOCC_ALIGNMENT);
  }
  hlo_buffer_shape_t shape;
  HLO_TRY(convert_shape(given, &shape));
  size_t size_bytes;
  HLO_TRY(hlo_buffer_shape_size_bytes(&shape, &size_bytes));
  loan_t* loan = hlo_mem_alloc_zeroed(sizeof *loan);
  if (!loan) return hlo_status_out_of_memory(sizeof *loan);
  hlo_status_t status = hlo_storage_create_foreign(
      memory, data, size_bytes, access == HLOCC_READ_WRITE, end_loan, loan, out_storage);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(loan);
    return status;
  }
  *out_loan = loan;
  return hlo_ok();
}

static hlo_status_t wrap(hlocc_client_t* client, uint32_t device, const hlocc_shape_t* shape,
                         void* data, hlocc_access_t access, loan_t terms,
                         hlocc_buffer_t** out_buffer) {
  hlo_memory_t* memory = NULL;
  HLO_TRY(hlo_capi_memory(client, device, shape->memory, &memory));
  source_t source = {.shape = shape};
  loan_t* loan = NULL;
  HLO_TRY(borrow(memory, shape, data, access, &loan, &source.storage));
  hlo_status_t status = create_on(client, device, &source, out_buffer);
  if (hlo_status_is_ok(status)) *loan = terms;  // the buffer is not used yet
  hlo_storage_release(source.storage);
  return status;
}

hlocc_error_t* hlocc_buffer_wrap(hlocc_client_t* client, uint32_t device,
                                 const hlocc_shape_t* shape, void* data, hlocc_access_t access,
                                 void (*release)(void* context), void* context,
                                 hlocc_buffer_t** out_buffer) {
  const loan_t terms = {.release = release, .context = context};
  return hlo_capi_error(wrap(client, device, shape, data, access, terms, out_buffer));
}

// ---- queries

hlocc_shape_t hlocc_buffer_shape(const hlocc_buffer_t* buffer) {
  const hlo_buffer_shape_t* shape = hlo_buffer_shape(buffer->buffer);
  const size_t size_bytes = hlo_buffer_size_bytes(buffer->buffer);
  return (hlocc_shape_t){
      .type = (hlocc_type_t)hlo_dtype_info(shape->dtype)->pjrt_type,
      .rank = shape->rank,
      .dims = shape->dims,
      .element_count = (int64_t)(size_bytes / hlo_dtype_size_bytes(shape->dtype)),
      .size_bytes = size_bytes,
      .memory = (hlocc_memory_kind_t)hlo_buffer_memory(buffer->buffer)->kind};
}

uint32_t hlocc_buffer_device(const hlocc_buffer_t* buffer) {
  return (uint32_t)hlo_buffer_memory(buffer->buffer)->device->local_id;
}

bool hlocc_buffer_is_donated(hlocc_buffer_t* buffer) {
  return hlo_buffer_is_deleted(buffer->buffer) && hlo_status_take_ok(hlo_capi_buffer_check(buffer));
}

hlocc_error_t* hlocc_buffer_ready(hlocc_buffer_t* buffer, hlocc_event_t** out_event) {
  hlocc_event_t* event = hlo_capi_event_reserve(buffer->client);
  if (!event) return hlo_capi_error(hlo_status_out_of_memory(sizeof *event));
  event->event = hlo_buffer_ready_event(buffer->buffer);
  *out_event = event;
  return NULL;
}

// ---- copies

hlo_status_t hlo_capi_buffer_check(const hlocc_buffer_t* buffer) {
  // relaxed: a map that another thread begins or ends at the same time may be seen or not
  if (atomic_load_explicit(&buffer->map_count, memory_order_relaxed) != HLO_CAPI_MAPPED_FOR_WRITING)
    return hlo_ok();
  return hlo_failed_precondition("the buffer is mapped for writing");
}

// Copies when the elements exist: on this thread, if the device's memory allows that.
static hlo_status_t read_now(hlo_buffer_t* buffer, void* data, size_t size_bytes) {
  const size_t required = hlo_buffer_size_bytes(buffer);
  if (size_bytes < required) {
    return hlo_invalid_argument("%zu bytes are too few for a buffer of %zu bytes", size_bytes,
                                required);
  }
  hlo_buffer_use_t use;
  hlo_event_t* done = NULL;
  HLO_TRY(hlo_buffer_use_begin(buffer, &use));
  hlo_status_t status = hlo_capi_wait(use.ready, HLOCC_FOREVER);
  hlo_buffer_use_end(&use);
  if (hlo_status_is_ok(status)) status = hlo_buffer_to_host_now(buffer, data, size_bytes, &done);
  if (hlo_status_is_ok(status)) status = hlo_capi_wait(done, HLOCC_FOREVER);
  hlo_event_release(done);
  return status;
}

hlocc_error_t* hlocc_buffer_read(hlocc_buffer_t* buffer, void* data, size_t size_bytes,
                                 hlocc_event_t** out_event) {
  hlo_status_t status = hlo_capi_buffer_check(buffer);
  if (!hlo_status_is_ok(status)) return hlo_capi_error(status);
  if (!out_event) return hlo_capi_error(read_now(buffer->buffer, data, size_bytes));
  hlocc_event_t* event = hlo_capi_event_reserve(buffer->client);
  if (!event) return hlo_capi_error(hlo_status_out_of_memory(sizeof *event));
  status = hlo_buffer_to_host(buffer->buffer, data, size_bytes, NULL, &event->event);
  if (!hlo_status_is_ok(status)) {
    hlocc_event_free(event);
    return hlo_capi_error(status);
  }
  *out_event = event;
  return NULL;
}

static hlo_status_t copy(hlocc_buffer_t* buffer, hlocc_client_t* client, uint32_t device,
                         hlocc_memory_kind_t kind, hlocc_buffer_t** out_buffer) {
  hlo_memory_t* memory = NULL;
  HLO_TRY(hlo_capi_memory(client, device, kind, &memory));
  HLO_TRY(hlo_capi_buffer_check(buffer));
  hlocc_buffer_t* result = hlo_capi_buffer_reserve(client);
  if (!result) return hlo_status_out_of_memory(sizeof *result);
  return hand_over(result, hlo_buffer_copy_to_memory(buffer->buffer, memory, &result->buffer),
                   out_buffer);
}

hlocc_error_t* hlocc_buffer_copy(hlocc_buffer_t* buffer, hlocc_client_t* client, uint32_t device,
                                 hlocc_buffer_t** out_buffer) {
  return hlo_capi_error(copy(buffer, client, device, HLOCC_MEMORY_DEVICE, out_buffer));
}

hlocc_error_t* hlocc_buffer_copy_to(hlocc_buffer_t* buffer, hlocc_client_t* client, uint32_t device,
                                    hlocc_memory_kind_t kind, hlocc_buffer_t** out_buffer) {
  return hlo_capi_error(copy(buffer, client, device, kind, out_buffer));
}

// ---- new elements in the memory of a buffer

// Overwrites with the elements of `source`, or of host memory at `data` if it is NULL.
static hlo_status_t overwrite(hlocc_buffer_t* target, const void* data, size_t size_bytes,
                              hlocc_buffer_t* source, hlocc_buffer_t** out_buffer) {
  HLO_TRY(hlo_capi_buffer_check(target));
  if (source) HLO_TRY(hlo_capi_buffer_check(source));
  hlocc_buffer_t* result = hlo_capi_buffer_reserve(target->client);
  if (!result) return hlo_status_out_of_memory(sizeof *result);
  hlo_status_t status = source
                            ? hlo_buffer_overwrite(target->buffer, source->buffer, &result->buffer)
                            : hlo_buffer_overwrite_from_host(target->buffer, data, size_bytes,
                                                             HLO_HOST_IMMUTABLE_ONLY_DURING_CALL,
                                                             NULL, &result->buffer);
  return hand_over(result, status, out_buffer);
}

hlocc_error_t* hlocc_buffer_overwrite(hlocc_buffer_t* target, const void* data, size_t size_bytes,
                                      hlocc_buffer_t** out_buffer) {
  return hlo_capi_error(overwrite(target, data, size_bytes, NULL, out_buffer));
}

hlocc_error_t* hlocc_buffer_overwrite_from(hlocc_buffer_t* target, hlocc_buffer_t* source,
                                           hlocc_buffer_t** out_buffer) {
  return hlo_capi_error(overwrite(target, NULL, 0, source, out_buffer));
}

// ---- maps

// Counts a map: map_count is the number of maps for reading, or says that one is for writing.
static hlo_status_t begin_map(hlocc_buffer_t* buffer, hlocc_access_t access) {
  int count = atomic_load_explicit(&buffer->map_count, memory_order_relaxed);
  do {
    if (count == HLO_CAPI_MAPPED_FOR_WRITING || (count && access == HLOCC_READ_WRITE)) {
      return hlo_failed_precondition("the buffer is mapped for %s already",
                                     count < 0 ? "writing" : "reading");
    }
    // acquire: the accesses of the map that ended before
  } while (!atomic_compare_exchange_weak_explicit(
      &buffer->map_count, &count,
      access == HLOCC_READ_WRITE ? HLO_CAPI_MAPPED_FOR_WRITING : count + 1, memory_order_acquire,
      memory_order_relaxed));
  return hlo_ok();
}

static void end_map(hlocc_buffer_t* buffer, hlocc_access_t access) {
  // release: pairs with begin_map()
  if (access == HLOCC_READ_WRITE) {
    atomic_store_explicit(&buffer->map_count, 0, memory_order_release);
  } else {
    atomic_fetch_sub_explicit(&buffer->map_count, 1, memory_order_release);
  }
}

static hlo_status_t check_access(const hlocc_buffer_t* buffer) {
  if (hlo_buffer_memory(buffer->buffer)->properties.is_host_accessible) return hlo_ok();
  return hlo_unimplemented("the host cannot access the memory of device %u",
                           hlocc_buffer_device(buffer));
}

// External references protect the elements from programs that take the buffer by donation.
static hlo_status_t map_for_reading(hlocc_buffer_t* buffer, void** out_data) {
  HLO_TRY(check_access(buffer));
  HLO_TRY(hlo_buffer_external_retain(buffer->buffer));
  hlo_buffer_use_t use;
  hlo_status_t status = hlo_buffer_use_begin(buffer->buffer, &use);
  if (hlo_status_is_ok(status)) {
    status = hlo_capi_wait(use.ready, HLOCC_FOREVER);
    if (hlo_status_is_ok(status)) *out_data = hlo_storage_host_pointer(use.storage);
    hlo_buffer_use_end(&use);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(hlo_buffer_external_release(buffer->buffer));
  }
  return status;
}

static void set_idle(void* context, HLO_UNUSED hlo_status_t status) {
  hlo_event_set(context, hlo_ok());
  hlo_event_release(context);
}

// Waits until the elements exist and no work reads them.
static hlo_status_t await_idle(hlo_buffer_use_t* use) {
  HLO_TRY(hlo_capi_wait(use->ready, HLOCC_FOREVER));
  if (hlo_storage_holder_count(use->storage) == 1) return hlo_ok();
  HLO_TRY(hlo_capi_may_wait());  // a callback of the storage cannot be taken back
  hlo_event_t* idle = hlo_event_create();
  if (!idle) return hlo_status_out_of_memory(sizeof(void*));
  hlo_storage_when_idle(use->storage, set_idle, hlo_event_retain(idle));
  hlo_status_t status = hlo_event_await(idle, HLOCC_FOREVER);
  hlo_event_release(idle);
  return status;
}

// Takes the elements away from the handle, as a donation does, so that no work can begin.
static hlo_status_t take_elements(hlocc_buffer_t* buffer, hlo_buffer_use_t* out_use) {
  hlo_buffer_use_t use;
  HLO_TRY(check_access(buffer));
  HLO_TRY(hlo_buffer_donate(buffer->buffer, &use));
  hlo_status_t status = use.is_donated ? await_idle(&use)
                                       : hlo_failed_precondition(
                                             "the elements of the buffer cannot be written: their "
                                             "memory is lent for reading, or is still mapped");
  if (!hlo_status_is_ok(status)) {
    hlo_buffer_donate_abort(buffer->buffer, &use);
    return status;
  }
  *out_use = use;
  return hlo_ok();
}

static hlo_status_t map_for_writing(hlocc_buffer_t* buffer, void** out_data) {
  HLO_TRY(take_elements(buffer, &buffer->write));
  *out_data = hlo_storage_host_pointer(buffer->write.storage);
  return hlo_ok();
}

hlocc_error_t* hlocc_buffer_map(hlocc_buffer_t* buffer, hlocc_access_t access, void** out_data) {
  hlo_status_t status = begin_map(buffer, access);
  if (!hlo_status_is_ok(status)) return hlo_capi_error(status);
  status = access == HLOCC_READ_WRITE ? map_for_writing(buffer, out_data)
                                      : map_for_reading(buffer, out_data);
  if (!hlo_status_is_ok(status)) end_map(buffer, access);
  return hlo_capi_error(status);
}

void hlocc_buffer_unmap(hlocc_buffer_t* buffer) {
  const int count = atomic_load_explicit(&buffer->map_count, memory_order_relaxed);
  if (count == HLO_CAPI_MAPPED_FOR_WRITING) {
    hlo_buffer_donate_abort(buffer->buffer, &buffer->write);
    end_map(buffer, HLOCC_READ_WRITE);
  } else if (count > 0) {
    hlo_status_release(hlo_buffer_external_release(buffer->buffer));
    end_map(buffer, HLOCC_READ);
  }
}

// ---- memory without its buffer

static hlo_status_t take(hlocc_buffer_t* buffer, void** out_data, hlocc_block_t** out_block) {
  HLO_TRY(hlo_capi_buffer_check(buffer));
  hlocc_block_t* block = hlo_mem_alloc(sizeof *block);
  if (!block) return hlo_status_out_of_memory(sizeof *block);
  hlo_buffer_use_t use;
  hlo_status_t status = take_elements(buffer, &use);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(block);
    return status;
  }
  *block = (hlocc_block_t){hlo_capi_client_retain(buffer->client), hlo_storage_retain(use.storage)};
  hlo_buffer_use_end(&use);
  *out_data = hlo_storage_host_pointer(block->storage);
  *out_block = block;
  return hlo_ok();
}

hlocc_error_t* hlocc_buffer_take(hlocc_buffer_t* buffer, void** out_data,
                                 hlocc_block_t** out_block) {
  return hlo_capi_error(take(buffer, out_data, out_block));
}

void hlocc_block_free(hlocc_block_t* block) {
  if (!block) return;
  hlo_storage_release(block->storage);
  hlocc_client_free(block->client);
  hlo_mem_free(block);
}
