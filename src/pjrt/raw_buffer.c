// SPDX-License-Identifier: Apache-2.0
// The RawBuffer extension: the storage of buffers as objects of their own, with slices and copies.
#include "runtime/raw_buffer.h"

#include "pjrt/device_event.h"
#include "pjrt/objects.h"

/// The interface defines the beginning of struct PJRT_RawBuffer; this is the whole struct.
/// threads: safe
typedef struct raw_buffer {
  PJRT_RawBuffer base;
  atomic_int count;
  hlo_raw_buffer_t raw;
  PJRT_Client* client;
} raw_buffer_t;

static raw_buffer_t* own(const PJRT_RawBuffer* base) {
  return (raw_buffer_t*)base;
}

static void retain_raw(PJRT_RawBuffer* base) {
  atomic_fetch_add_explicit(&own(base)->count, 1, memory_order_relaxed);
}

static void release_raw(PJRT_RawBuffer* base) {
  // acq_rel: the last owner sees what the other owners did
  if (atomic_fetch_sub_explicit(&own(base)->count, 1, memory_order_acq_rel) != 1) return;
  hlo_raw_buffer_deinit(&own(base)->raw);
  hlo_client_hold_end(own(base)->client->client);
  hlo_mem_free(base);
}

// --- Queries -------------------------------------------------------------------------------------

static size_t raw_size(const PJRT_RawBuffer* base) {
  return own(base)->raw.size_bytes;
}

static PJRT_Memory* raw_memory(const PJRT_RawBuffer* base) {
  return hlo_pjrt_memory(own(base)->client, own(base)->raw.memory);
}

static void* raw_host_pointer(const PJRT_RawBuffer* base) {
  return hlo_raw_buffer_host_pointer(&own(base)->raw);
}

static void* raw_device_pointer(const PJRT_RawBuffer* base) {
  return hlo_raw_buffer_device_pointer(&own(base)->raw);
}

static bool raw_is_mutable(const PJRT_RawBuffer* base) {
  return hlo_raw_buffer_is_mutable(&own(base)->raw);
}

static PJRT_Error* raw_allocation_event(PJRT_RawBuffer* base, PJRT_DeviceEvent* out_event) {
  *out_event = hlo_pjrt_device_event(hlo_event_retain(own(base)->raw.ready));
  return NULL;
}

/// Lends the event.
static PJRT_Error* raw_async_value(PJRT_RawBuffer* base, PJRT_DeviceEvent* out_event) {
  *out_event = hlo_pjrt_device_event(own(base)->raw.ready);
  return NULL;
}

// --- Copies --------------------------------------------------------------------------------------

/// Completes a copy in the form of the function table.
static PJRT_Error* give_event(hlo_status_t status, hlo_event_t* done, PJRT_DeviceEvent* out_event) {
  if (hlo_status_is_ok(status)) *out_event = hlo_pjrt_device_event(done);
  return hlo_pjrt_error_create(status);
}

static PJRT_Error* raw_from_host(PJRT_RawBuffer* base, const void* source, int64_t offset,
                                 int64_t size, PJRT_DeviceEventVector* dependencies,
                                 PJRT_DeviceEvent* out_event) {
  hlo_event_t **events = NULL, *done = NULL;
  size_t count = 0;
  hlo_status_t status = hlo_pjrt_device_events_take(dependencies, &events, &count);
  if (!hlo_status_is_ok(status)) return hlo_pjrt_error_create(status);
  status = hlo_raw_buffer_from_host(&own(base)->raw, source, offset, size,
                                    (hlo_dependencies_t){events, count}, &done);
  hlo_pjrt_device_events_release(events, count);
  return give_event(status, done, out_event);
}

static PJRT_Error* raw_to_host(PJRT_RawBuffer* base, void* destination, int64_t offset,
                               int64_t size, PJRT_DeviceEventVector* dependencies,
                               PJRT_DeviceEvent* out_event) {
  hlo_event_t **events = NULL, *done = NULL;
  size_t count = 0;
  hlo_status_t status = hlo_pjrt_device_events_take(dependencies, &events, &count);
  if (!hlo_status_is_ok(status)) return hlo_pjrt_error_create(status);
  status = hlo_raw_buffer_to_host(&own(base)->raw, destination, offset, size,
                                  (hlo_dependencies_t){events, count}, &done);
  hlo_pjrt_device_events_release(events, count);
  return give_event(status, done, out_event);
}

static PJRT_Error* raw_slice(PJRT_RawBuffer* base, int64_t offset, int64_t size,
                             PJRT_RawBuffer** out_slice);
static void raw_copy_to(PJRT_RawBuffer* from, PJRT_DeviceEventVector* dependencies,
                        PJRT_RawBuffer* to, PJRT_DeviceEventPromise* defined,
                        PJRT_DeviceEventPromise* used, void (*allocated)(PJRT_Error*, void*),
                        void* allocated_arg);

static const PJRT_RawBuffer_FunctionTable raw_functions = {
    .struct_size = sizeof(PJRT_RawBuffer_FunctionTable),
    .instance_size = sizeof(raw_buffer_t),
    .inc_ref = retain_raw,
    .dec_ref = release_raw,
    .get_on_device_size_in_bytes = raw_size,
    .get_memory_space = raw_memory,
    .get_host_pointer = raw_host_pointer,
    .copy_raw_host_to_device_and_return_event = raw_from_host,
    .copy_raw_device_to_host_and_return_event = raw_to_host,
    .opaque_device_memory_data_pointer = raw_device_pointer,
    .make_allocation_ready_event = raw_allocation_event,
    .get_raw_buffer_async_value = raw_async_value,
    .is_mutable = raw_is_mutable,
    .slice = raw_slice,
    .schedule_copy_to = raw_copy_to,
};

/// Tells the framework that the destination of a copy has its bytes, or never will.
typedef struct allocation {
  void (*allocated)(PJRT_Error*, void*);
  void* user_data;
  hlo_event_waiter_t waiter;
} allocation_t;

static void tell_allocated(void* context, hlo_status_t status) {
  const allocation_t allocation = *(allocation_t*)context;
  hlo_mem_free(context);
  allocation.allocated(hlo_pjrt_error_create(hlo_status_clone(status)), allocation.user_data);
}

/// Calls `allocated` exactly once, also on error.
static hlo_status_t when_allocated(const hlo_raw_buffer_t* to,
                                   void (*allocated)(PJRT_Error*, void*), void* user_data) {
  if (allocated == NULL) return hlo_ok();
  allocation_t* allocation = hlo_mem_alloc(sizeof *allocation);
  if (allocation == NULL) {
    const hlo_status_t status = hlo_status_out_of_memory(sizeof *allocation);
    allocated(hlo_pjrt_error_create(hlo_status_clone(status)), user_data);
    return status;
  }
  *allocation = (allocation_t){.allocated = allocated, .user_data = user_data};
  hlo_event_on_ready(to->ready, &allocation->waiter, tell_allocated, allocation);
  return hlo_ok();
}

/// Gives a promise (consumed) the end of a copy, or the error of a copy that has not begun.
static void settle(PJRT_DeviceEventPromise* promise, hlo_event_t* done, hlo_status_t status) {
  if (promise == NULL) return;
  if (hlo_status_is_ok(status)) {
    promise->vtable->set(promise, hlo_pjrt_device_event(hlo_event_retain(done)));
  } else {
    promise->vtable->set_error(promise, hlo_pjrt_error_create(hlo_status_clone(status)));
  }
  promise->vtable->dec_ref(promise);
}

static hlo_status_t begin_copy(const hlo_raw_buffer_t* from, PJRT_DeviceEventVector* dependencies,
                               const PJRT_RawBuffer* to, hlo_event_t** out_done) {
  hlo_event_t** events = NULL;
  size_t count = 0;
  HLO_TRY(hlo_pjrt_device_events_take(dependencies, &events, &count));
  const hlo_status_t status =
      hlo_raw_buffer_copy(from, &own(to)->raw, (hlo_dependencies_t){events, count}, out_done);
  hlo_pjrt_device_events_release(events, count);
  return status;
}

/// Takes the promises; each signal is given once. The allocation is told first, because callbacks
/// of an event run in the order of their registration.
static void raw_copy_to(PJRT_RawBuffer* from, PJRT_DeviceEventVector* dependencies,
                        PJRT_RawBuffer* to, PJRT_DeviceEventPromise* defined,
                        PJRT_DeviceEventPromise* used, void (*allocated)(PJRT_Error*, void*),
                        void* allocated_arg) {
  hlo_event_t* done = NULL;
  hlo_status_t status = hlo_ok();
  if (to->vtable != &raw_functions) {
    status = hlo_unimplemented(
        "copy of a raw buffer of %zu bytes to a raw buffer of another plugin", raw_size(from));
    if (allocated != NULL)
      allocated(hlo_pjrt_error_create(hlo_status_clone(status)), allocated_arg);
  } else {
    status = when_allocated(&own(to)->raw, allocated, allocated_arg);
  }
  if (hlo_status_is_ok(status)) {
    status = begin_copy(&own(from)->raw, dependencies, to, &done);
  } else {
    hlo_pjrt_device_events_drop(dependencies);
  }
  settle(defined, done, status);
  settle(used, done, status);
  hlo_event_release(done);
  hlo_status_release(status);
}

// --- Creation ------------------------------------------------------------------------------------

static hlo_status_t wrap(PJRT_Client* client, raw_buffer_t** out_raw) {
  raw_buffer_t* raw = hlo_mem_alloc_zeroed(sizeof *raw);
  if (raw == NULL) return hlo_status_out_of_memory(sizeof *raw);
  raw->base.vtable = &raw_functions;
  raw->client = client;
  hlo_client_hold_begin(client->client);
  atomic_init(&raw->count, 1);
  *out_raw = raw;
  return hlo_ok();
}

static hlo_status_t give_raw(raw_buffer_t* raw, hlo_status_t status, PJRT_RawBuffer** out_raw) {
  if (hlo_status_is_ok(status)) {
    *out_raw = &raw->base;
  } else {
    hlo_client_hold_end(raw->client->client);
    hlo_mem_free(raw);
  }
  return status;
}

static hlo_status_t slice(const PJRT_RawBuffer* base, int64_t offset, int64_t size,
                          PJRT_RawBuffer** out_slice) {
  raw_buffer_t* part = NULL;
  HLO_TRY(wrap(own(base)->client, &part));
  return give_raw(part, hlo_raw_buffer_slice(&own(base)->raw, offset, size, &part->raw), out_slice);
}

static PJRT_Error* raw_slice(PJRT_RawBuffer* base, int64_t offset, int64_t size,
                             PJRT_RawBuffer** out_slice) {
  return hlo_pjrt_error_create(slice(base, offset, size, out_slice));
}

hlo_status_t hlo_pjrt_RawBuffer_CreateRawAliasOfBuffer(
    PJRT_RawBuffer_CreateRawAliasOfBuffer_Args* args) {
  raw_buffer_t* raw = NULL;
  HLO_TRY(wrap(args->buffer->client, &raw));
  return give_raw(raw, hlo_raw_buffer_init(args->buffer->buffer, &raw->raw), &args->raw_buffer);
}

// --- Copies with events of the interface ---------------------------------------------------------

hlo_status_t hlo_pjrt_RawBuffer_CopyRawDeviceToHost(PJRT_RawBuffer_CopyRawDeviceToHost_Args* args) {
  return hlo_raw_buffer_to_host(&own(args->buffer)->raw, args->dst, args->offset,
                                args->transfer_size, (hlo_dependencies_t){.count = 0},
                                (hlo_event_t**)&args->event);
}

hlo_status_t hlo_pjrt_RawBuffer_CopyRawHostToDevice(PJRT_RawBuffer_CopyRawHostToDevice_Args* args) {
  return hlo_raw_buffer_from_host(&own(args->buffer)->raw, args->src, args->offset,
                                  args->transfer_size, (hlo_dependencies_t){.count = 0},
                                  (hlo_event_t**)&args->event);
}
