// SPDX-License-Identifier: Apache-2.0
// Transfers: host to device, device to host, between memory spaces. They wait for their sources;
// the device's back end copies.
#include "base/copy.h"
#include "base/mem.h"
#include "base/shape.h"
#include "runtime/buffer_impl.h"
#include "runtime/raw_buffer.h"
#include "runtime/storage.h"

enum { ZERO_COPY_ALIGNMENT = 64 };

// A copy that waits for its source, is performed by a back end, and then sets an event.
typedef struct hlo_late_copy {
  hlo_device_op_t op;
  hlo_client_t* client;
  hlo_client_t* source_client;  // NULL: `client`
  hlo_event_waiter_t waiter;    // waits for `gate`, or the source if it is NULL
  hlo_event_t* gate;            // retained
  hlo_buffer_use_t source;      // on the device; storage NULL: the source is `from` in host memory
  hlo_device_address_t from;
  hlo_storage_t* destination;  // on the device, retained; NULL: host memory at `to`
  hlo_device_address_t to;
  size_t offset_bytes, size_bytes;  // the offset is the source's
  size_t destination_offset_bytes;
  bool holds_destination;  // hlo_storage_hold_end() releases it
  hlo_event_t* done;
  bool is_late;  // holds the client's memory, which its user may release before the copy begins
  bool is_strided;
  hlo_copy_plan_t plan[];  // one element if is_strided
} copy_job_t;

// Ends the use of the source first: who sees the end of the copy finds its memory free.
static void copy_free(copy_job_t* copy, hlo_status_t status) {
  hlo_buffer_use_end(&copy->source);
  hlo_event_set(copy->done, status);
  hlo_event_release(copy->done);
  hlo_event_release(copy->gate);
  if (copy->holds_destination) {
    hlo_storage_hold_end(copy->destination);
  } else {
    hlo_storage_release(copy->destination);
  }
  hlo_mem_free(copy);
}

static void copy_finish(copy_job_t* copy, hlo_status_t status) {
  hlo_client_t *client = copy->client, *source_client = copy->source_client;
  const bool is_late = copy->is_late;
  copy_free(copy, status);
  if (is_late) hlo_client_hold_end(client);
  if (source_client) hlo_client_work_end(source_client);
  hlo_client_work_end(client);
}

// Turns memory that the host can access into host memory, for the back end of the other end.
static bool leave_to_host(const hlo_memory_t** memory, hlo_device_address_t* address) {
  hlo_device_backend_t* backend = (*memory)->backend;
  const void* host = backend->ops->host_pointer(backend, *memory, *address);
  if (!host) return false;
  *memory = NULL;
  *address = hlo_device_address_of(host);
  return true;
}

static hlo_status_t no_path(const hlo_device_copy_t* copy) {
  return hlo_unimplemented(
      "copy from a device of back end %s to one of %s: the host can access neither memory",
      copy->from_memory->backend->ops->name, copy->to_memory->backend->ops->name);
}

// Finds the memory whose back end copies. Between different back ends the host accesses one end.
static hlo_status_t choose_memory(hlo_device_copy_t* copy, const hlo_memory_t** out_memory) {
  const hlo_memory_t *from = copy->from_memory, *to = copy->to_memory;
  const bool is_mixed = from && to && from->backend->ops != to->backend->ops;
  if (HLO_UNLIKELY(is_mixed) && !leave_to_host(&copy->from_memory, &copy->from) &&
      !leave_to_host(&copy->to_memory, &copy->to)) {
    return no_path(copy);
  }
  *out_memory = copy->to_memory ? copy->to_memory : copy->from_memory;
  return hlo_ok();
}

static void copy_ended(hlo_device_op_t* op) {
  copy_finish((copy_job_t*)op, op->status);
}

// Starts the copy `op.copy`.
static void copy_start(copy_job_t* copy) {
  const hlo_memory_t* memory = NULL;
  hlo_status_t status = choose_memory(&copy->op.copy, &memory);
  if (!hlo_status_is_ok(status)) {
    copy_finish(copy, status);
    return;
  }
  copy->op.ended = copy_ended;
  copy->op.queue = memory->device->queue;
  memory->backend->ops->copy(memory->backend, &copy->op);
}

static void copy_when_ready(void* context, hlo_status_t status) {
  copy_job_t* copy = context;
  if (!hlo_status_is_ok(status)) {
    copy_finish(copy, hlo_status_clone(status));
    return;
  }
  copy->op.copy = (hlo_device_copy_t){
      .from = copy->from,
      .to = copy->to,
      .size_bytes = copy->size_bytes,
      .plan = copy->is_strided ? copy->plan : NULL,
  };
  if (copy->source.storage) {
    copy->op.copy.from_memory = copy->source.storage->memory;
    copy->op.copy.from = hlo_storage_address(copy->source.storage) + copy->offset_bytes;
  }
  if (copy->destination) {
    copy->op.copy.to_memory = copy->destination->memory;
    copy->op.copy.to = hlo_storage_address(copy->destination) + copy->destination_offset_bytes;
  }
  copy_start(copy);
}

// Takes `done`; NULL (no memory for it) is an error. The client counts no work yet.
static hlo_status_t copy_alloc(hlo_client_t* client, size_t size_bytes, const hlo_copy_plan_t* plan,
                               hlo_event_t* done, copy_job_t** out_copy) {
  const size_t bytes = sizeof(copy_job_t) + (plan ? sizeof *plan : 0);
  copy_job_t* copy = hlo_mem_alloc(bytes);
  if (!copy || !done) {
    hlo_mem_free(copy);
    hlo_event_release(done);
    return hlo_status_out_of_memory(bytes);
  }
  *copy = (copy_job_t){.is_strided = plan != NULL};
  if (plan) copy->plan[0] = *plan;
  copy->done = done;
  copy->client = client;
  copy->size_bytes = size_bytes;
  *out_copy = copy;
  return hlo_ok();
}

// plan NULL: copies the bytes in order.
static hlo_status_t copy_create(hlo_client_t* client, size_t size_bytes,
                                const hlo_copy_plan_t* plan, copy_job_t** out_copy) {
  HLO_TRY(hlo_client_check_usable(client));
  HLO_TRY(copy_alloc(client, size_bytes, plan, hlo_event_create(), out_copy));
  hlo_client_work_begin(client);
  return hlo_ok();
}

// ---- element orders other than the buffer's

// Computes the byte strides of the elements in another order of dimensions.
static void strides_in(const hlo_buffer_shape_t* shape, const int64_t* minor_to_major,
                       int64_t* out_strides) {
  hlo_dim_order_strides(hlo_dtype_size_bytes(shape->dtype), shape->rank, shape->dims,
                        minor_to_major, out_strides);
}

static void own_strides(const hlo_buffer_t* buffer, int64_t* out_strides) {
  strides_in(&buffer->shape, buffer->shape.minor_to_major, out_strides);
}

// Returns true if elements at these strides have the buffer's order, whose strides are `own`.
static bool lies_as_buffer(const hlo_buffer_t* buffer, const int64_t* strides, const int64_t* own) {
  const hlo_buffer_shape_t* shape = &buffer->shape;
  for (uint32_t i = 0; i < shape->rank && buffer->size_bytes; ++i) {
    if (shape->dims[i] != 1 && strides[i] != own[i]) return false;
  }
  return true;
}

static void plan_copy(const hlo_buffer_shape_t* shape, const int64_t* from, const int64_t* to,
                      hlo_copy_plan_t* out_plan) {
  hlo_copy_plan_init(out_plan, hlo_dtype_size_bytes(shape->dtype), shape->rank, shape->dims, from,
                     to);
}

// ---- host to device

// Releases host memory; the context is the event that tells the host.
static void host_is_free(void* context) {
  hlo_event_set(context, hlo_ok());
  hlo_event_release(context);
}

// Creates storage over the host's memory.
static hlo_status_t from_host_zero_copy(const hlo_buffer_t* buffer, const void* data,
                                        bool is_mutable, hlo_event_t** out_done,
                                        hlo_event_t** out_ready, hlo_storage_t** out_storage) {
  hlo_event_t *done = hlo_event_create(), *ready = hlo_event_create_ready(hlo_ok());
  hlo_status_t status = done && ready ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
  if (hlo_status_is_ok(status)) {
    status = hlo_storage_create_foreign(buffer->memory, (void*)data, buffer->size_bytes, is_mutable,
                                        host_is_free, done, out_storage);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_event_release(done);
    hlo_event_release(ready);
    return status;
  }
  if (out_done) *out_done = hlo_event_retain(done);
  *out_ready = ready;
  return hlo_ok();
}

static bool is_aligned(const void* data) {
  return ((uintptr_t)data & (ZERO_COPY_ALIGNMENT - 1)) == 0;
}

// Copies host memory into the storage in a job, which owns what the copy needs.
static hlo_status_t from_host_later(const hlo_device_copy_t* wanted, hlo_storage_t* storage,
                                    hlo_event_t** out_ready) {
  copy_job_t* copy;
  HLO_TRY(copy_create(hlo_memory_client(storage->memory), wanted->size_bytes, wanted->plan, &copy));
  copy->destination = hlo_storage_retain(storage);
  copy->op.copy = *wanted;
  if (wanted->plan) copy->op.copy.plan = copy->plan;
  *out_ready = hlo_event_retain(copy->done);
  copy_start(copy);
  return hlo_ok();
}

// Copies host memory into the storage, before it returns if the back end can do that.
static inline hlo_status_t from_host_into(const hlo_device_copy_t* wanted, hlo_storage_t* storage,
                                          hlo_event_t** out_ready) {
  hlo_device_backend_t* backend = storage->memory->backend;
  hlo_status_t status = hlo_ok();
  if (!backend->ops->copy_now(backend, wanted, &status)) {
    return from_host_later(wanted, storage, out_ready);
  }
  HLO_TRY(status);
  *out_ready = hlo_event_create_ready(hlo_ok());
  return *out_ready ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
}

// Creates storage with a copy of host memory. now: the host memory is lent for the call.
static hlo_status_t from_host_copy(const hlo_buffer_t* buffer, const void* data,
                                   const hlo_copy_plan_t* plan, bool now, hlo_event_t** out_done,
                                   hlo_event_t** out_ready, hlo_storage_t** out_storage) {
  hlo_storage_t* storage;
  HLO_TRY(hlo_storage_create(buffer->memory, buffer->size_bytes, &storage));
  const hlo_device_copy_t copy = {.from = hlo_device_address_of(data),
                                  .to_memory = storage->memory,
                                  .to = hlo_storage_address(storage),
                                  .size_bytes = buffer->size_bytes,
                                  .plan = plan,
                                  .is_host_lent_for_call = now};
  hlo_status_t status = from_host_into(&copy, storage, out_ready);
  if (!hlo_status_is_ok(status)) {
    hlo_storage_release(storage);
    return status;
  }
  if (out_done) *out_done = hlo_event_retain(*out_ready);
  *out_storage = storage;
  return hlo_ok();
}

static hlo_status_t from_host(const hlo_buffer_t* buffer, const void* data,
                              const int64_t* byte_strides, hlo_host_semantics_t semantics,
                              hlo_event_t** out_done, hlo_event_t** out_ready,
                              hlo_storage_t** out_storage) {
  if (!data && buffer->size_bytes) {
    return hlo_invalid_argument("the host data of a buffer are null");
  }
  int64_t own[HLO_SHAPE_RANK_LIMIT], row_major[HLO_SHAPE_RANK_LIMIT];
  own_strides(buffer, own);
  if (!byte_strides) {
    strides_in(&buffer->shape, NULL, row_major);
    byte_strides = row_major;
  }
  const bool is_strided = !lies_as_buffer(buffer, byte_strides, own);
  if (semantics >= HLO_HOST_IMMUTABLE_ZERO_COPY && !is_strided && is_aligned(data) &&
      buffer->size_bytes && buffer->memory->properties.accepts_host_memory) {
    return from_host_zero_copy(buffer, data, semantics == HLO_HOST_MUTABLE_ZERO_COPY, out_done,
                               out_ready, out_storage);
  }
  hlo_copy_plan_t plan;
  if (is_strided) plan_copy(&buffer->shape, byte_strides, own, &plan);
  return from_host_copy(buffer, data, is_strided ? &plan : NULL,
                        semantics == HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, out_done, out_ready,
                        out_storage);
}

hlo_status_t hlo_storage_from_host(hlo_storage_t* storage, size_t offset_bytes, const void* data,
                                   size_t size_bytes, hlo_event_t** out_done) {
  const hlo_device_copy_t copy = {.from = hlo_device_address_of(data),
                                  .to_memory = storage->memory,
                                  .to = hlo_storage_address(storage) + offset_bytes,
                                  .size_bytes = size_bytes};
  return from_host_into(&copy, storage, out_done);
}

hlo_status_t hlo_storage_array_from_host(hlo_storage_t* storage, const hlo_buffer_shape_t* shape,
                                         const void* data, const int64_t* byte_strides,
                                         hlo_event_t** out_done) {
  int64_t own[HLO_SHAPE_RANK_LIMIT];
  strides_in(shape, shape->minor_to_major, own);
  hlo_copy_plan_t plan;
  plan_copy(shape, byte_strides, own, &plan);
  const hlo_device_copy_t copy = {.from = hlo_device_address_of(data),
                                  .to_memory = storage->memory,
                                  .to = hlo_storage_address(storage),
                                  .size_bytes = storage->size_bytes,
                                  .plan = &plan};
  return from_host_into(&copy, storage, out_done);
}

hlo_status_t hlo_buffer_from_host(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                  const void* data, const int64_t* byte_strides,
                                  hlo_host_semantics_t semantics, hlo_event_t** out_done,
                                  hlo_buffer_t** out_buffer) {
  HLO_TRY(hlo_client_check_usable(hlo_memory_client(memory)));
  hlo_buffer_t* buffer;
  HLO_TRY(hlo_buffer_alloc(memory, shape, &buffer));
  hlo_event_t* ready;
  hlo_storage_t* storage;
  hlo_status_t status =
      from_host(buffer, data, byte_strides, semantics, out_done, &ready, &storage);
  if (!hlo_status_is_ok(status)) {
    hlo_buffer_release(buffer);
    return status;
  }
  return hlo_buffer_finish(buffer, storage, ready, out_buffer);
}

// ---- device to host

// Copies when the gate is open, or the source is ready.
static void await_source(copy_job_t* copy) {
  hlo_event_t* awaited = copy->gate ? copy->gate : copy->source.ready;
  if (hlo_event_awaits_promise(awaited)) {
    hlo_event_note_promise(copy->done, true);
    if (copy->source.storage) hlo_buffer_use_note_promise(&copy->source);
  }
  hlo_event_on_ready(awaited, &copy->waiter, copy_when_ready, copy);
}

// Runs the job once the buffer is defined; on failure ends the job.
static hlo_status_t copy_from_buffer(copy_job_t* copy, hlo_buffer_t* buffer,
                                     hlo_event_t** out_done) {
  hlo_status_t status = hlo_buffer_use_begin(buffer, &copy->source);
  if (!hlo_status_is_ok(status)) {
    copy_finish(copy, hlo_status_clone(status));
    return status;
  }
  hlo_event_t* done = hlo_event_retain(copy->done);
  await_source(copy);
  *out_done = done;
  return hlo_ok();
}

// Copies a defined value to the host at once if the back end can do that; returns false otherwise.
static bool to_host_now(hlo_buffer_t* buffer, const hlo_device_copy_t* wanted, size_t offset_bytes,
                        hlo_event_t** out_done, hlo_status_t* out_status) {
  hlo_buffer_use_t use;
  if (!hlo_event_is_ready(buffer->ready) || !hlo_status_is_ok(hlo_event_error(buffer->ready))) {
    return false;
  }
  *out_status = hlo_buffer_use_begin(buffer, &use);
  if (!hlo_status_is_ok(*out_status)) return true;
  hlo_device_copy_t copy = *wanted;
  copy.from_memory = use.storage->memory;
  copy.from = hlo_storage_address(use.storage) + offset_bytes;
  hlo_device_backend_t* backend = use.storage->memory->backend;
  const bool is_copied = backend->ops->copy_now(backend, &copy, out_status);
  hlo_buffer_use_end(&use);
  if (!is_copied || !hlo_status_is_ok(*out_status)) return is_copied;
  *out_done = hlo_event_create_ready(hlo_ok());
  if (!*out_done) *out_status = hlo_status_out_of_memory(sizeof(void*));
  return true;
}

// Copies to the host when the value is defined. `wanted` lacks the address on the device.
static hlo_status_t to_host(hlo_buffer_t* buffer, const hlo_device_copy_t* wanted,
                            size_t offset_bytes, hlo_event_t** out_done) {
  hlo_status_t status = hlo_ok();
  hlo_client_t* client = hlo_memory_client(buffer->memory);
  HLO_TRY(hlo_client_check_usable(client));
  if (to_host_now(buffer, wanted, offset_bytes, out_done, &status)) return status;
  copy_job_t* copy;
  HLO_TRY(copy_create(client, wanted->size_bytes, wanted->plan, &copy));
  copy->to = wanted->to;
  copy->offset_bytes = offset_bytes;
  return copy_from_buffer(copy, buffer, out_done);
}

static hlo_status_t array_to_host(hlo_buffer_t* buffer, void* data, size_t size_bytes,
                                  const int64_t* minor_to_major, bool is_awaited,
                                  hlo_event_t** out_done) {
  if (size_bytes < buffer->size_bytes) {
    return hlo_invalid_argument(
        "host destination of %zu bytes is too small for a buffer of %zu bytes", size_bytes,
        buffer->size_bytes);
  }
  if (!hlo_dim_order_is_valid(buffer->shape.rank, minor_to_major)) {
    return hlo_invalid_argument("minor_to_major is not a permutation");
  }
  int64_t own[HLO_SHAPE_RANK_LIMIT], strides[HLO_SHAPE_RANK_LIMIT];
  own_strides(buffer, own);
  strides_in(&buffer->shape, minor_to_major, strides);
  hlo_copy_plan_t plan;
  const bool is_strided = !lies_as_buffer(buffer, strides, own);
  if (is_strided) plan_copy(&buffer->shape, own, strides, &plan);
  const hlo_device_copy_t copy = {.to = hlo_device_address_of(data),
                                  .size_bytes = buffer->size_bytes,
                                  .plan = is_strided ? &plan : NULL,
                                  .is_host_lent_for_call = is_awaited};
  return to_host(buffer, &copy, 0, out_done);
}

hlo_status_t hlo_buffer_to_host(hlo_buffer_t* buffer, void* data, size_t size_bytes,
                                const int64_t* minor_to_major, hlo_event_t** out_done) {
  return array_to_host(buffer, data, size_bytes, minor_to_major, false, out_done);
}

hlo_status_t hlo_buffer_to_host_now(hlo_buffer_t* buffer, void* data, size_t size_bytes,
                                    hlo_event_t** out_done) {
  return array_to_host(buffer, data, size_bytes, NULL, true, out_done);
}

static hlo_status_t check_range(const hlo_buffer_t* buffer, int64_t offset_bytes,
                                int64_t size_bytes) {
  int64_t total = (int64_t)buffer->size_bytes;
  if (offset_bytes < 0 || size_bytes < 0 || offset_bytes > total ||
      size_bytes > total - offset_bytes) {
    return hlo_invalid_argument("%lld bytes at offset %lld are outside a buffer of %lld bytes",
                                (long long)size_bytes, (long long)offset_bytes, (long long)total);
  }
  return hlo_ok();
}

hlo_status_t hlo_buffer_copy_raw_to_host(hlo_buffer_t* buffer, void* data, int64_t offset_bytes,
                                         int64_t size_bytes, hlo_event_t** out_done) {
  HLO_TRY(check_range(buffer, offset_bytes, size_bytes));
  const hlo_device_copy_t copy = {.to = hlo_device_address_of(data),
                                  .size_bytes = (size_t)size_bytes};
  return to_host(buffer, &copy, (size_t)offset_bytes, out_done);
}

hlo_status_t hlo_late_copy_create(hlo_buffer_t* buffer, int64_t offset_bytes, int64_t size_bytes,
                                  hlo_late_copy_t** out_copy, hlo_event_t** out_done) {
  HLO_TRY(check_range(buffer, offset_bytes, size_bytes));
  hlo_client_t* client = hlo_memory_client(buffer->memory);
  HLO_TRY(hlo_client_check_usable(client));
  copy_job_t* copy;
  HLO_TRY(copy_alloc(client, (size_t)size_bytes, NULL, hlo_event_create_promise(), &copy));
  hlo_status_t status = hlo_buffer_use_begin(buffer, &copy->source);
  if (!hlo_status_is_ok(status)) {
    hlo_event_release(copy->done);
    hlo_mem_free(copy);
    return status;
  }
  hlo_buffer_use_note_promise(&copy->source);
  hlo_client_hold_begin(client);
  copy->is_late = true;
  copy->offset_bytes = (size_t)offset_bytes;
  *out_done = hlo_event_retain(copy->done);
  *out_copy = copy;
  return hlo_ok();
}

void hlo_late_copy_start(hlo_late_copy_t* copy, void* data, hlo_status_t error) {
  hlo_client_t* client = copy->client;
  if (hlo_status_is_ok(error)) error = hlo_client_check_usable(client);
  if (!hlo_status_is_ok(error)) {
    copy_free(copy, error);
    hlo_client_hold_end(client);
    return;
  }
  hlo_client_work_begin(client);
  copy->to = hlo_device_address_of(data);
  hlo_event_on_ready(copy->source.ready, &copy->waiter, copy_when_ready, copy);
}

// ---- device to device

hlo_status_t hlo_buffer_copy_to_memory(hlo_buffer_t* buffer, hlo_memory_t* memory,
                                       hlo_buffer_t** out_buffer) {
  copy_job_t* copy;
  hlo_client_t *client = hlo_memory_client(memory),
               *source_client = hlo_memory_client(buffer->memory);
  HLO_TRY(copy_create(client, buffer->size_bytes, NULL, &copy));
  if (source_client != client) {
    hlo_client_work_begin(source_client);  // the copy reads and finally frees its memory
    copy->source_client = source_client;
  }
  hlo_status_t status = hlo_storage_create(memory, buffer->size_bytes, &copy->destination);
  if (hlo_status_is_ok(status)) status = hlo_buffer_use_begin(buffer, &copy->source);
  if (hlo_status_is_ok(status)) {
    status =
        hlo_buffer_create_over(memory, &buffer->shape, copy->destination, copy->done, out_buffer);
  }
  if (!hlo_status_is_ok(status)) {
    copy_finish(copy, hlo_status_clone(status));
    return status;
  }
  await_source(copy);
  return hlo_ok();
}

// ---- raw buffers

// Creates an event that is set when the bytes of both raw buffers (NULL: none) exist and all
// dependencies are ready.
static hlo_status_t create_gate(const hlo_raw_buffer_t* from, const hlo_raw_buffer_t* to,
                                hlo_dependencies_t dependencies, hlo_event_t** out_gate) {
  const size_t bytes = (dependencies.count + 2) * sizeof(hlo_event_t*);
  hlo_event_t* gate = hlo_event_create();
  hlo_event_t** events = hlo_mem_alloc(bytes);
  if (!gate || !events) {
    hlo_event_release(gate);
    hlo_mem_free(events);
    return hlo_status_out_of_memory(bytes);
  }
  events[0] = from ? from->ready : NULL;
  events[1] = to ? to->ready : NULL;
  for (size_t i = 0; i < dependencies.count; ++i) events[2 + i] = dependencies.events[i];
  hlo_event_join(events, (uint32_t)dependencies.count + 2, gate);
  hlo_mem_free(events);
  *out_gate = gate;
  return hlo_ok();
}

static hlo_status_t check_mutable(const hlo_raw_buffer_t* to, int64_t offset_bytes,
                                  int64_t size_bytes) {
  if (hlo_raw_buffer_is_mutable(to) || size_bytes == 0) return hlo_ok();
  return hlo_failed_precondition(
      "cannot write %lld bytes at offset %lld of a raw buffer of %zu bytes: the bytes are "
      "immutable "
      "foreign memory or shared with another buffer",
      (long long)size_bytes, (long long)offset_bytes, to->size_bytes);
}

// The ends of a raw copy: each a raw buffer, or NULL for host memory.
typedef struct raw_ends {
  const hlo_raw_buffer_t *from, *to;
  const void* from_host;
  void* to_host;
  int64_t from_offset_bytes, to_offset_bytes, size_bytes;
} raw_ends_t;

static hlo_status_t check_raw_copy(const raw_ends_t* ends) {
  if (ends->from) {
    HLO_TRY(hlo_raw_buffer_check_range(ends->from, ends->from_offset_bytes, ends->size_bytes));
  }
  if (ends->to) {
    HLO_TRY(hlo_raw_buffer_check_range(ends->to, ends->to_offset_bytes, ends->size_bytes));
    HLO_TRY(check_mutable(ends->to, ends->to_offset_bytes, ends->size_bytes));
  }
  const bool has_null = (!ends->from && !ends->from_host) || (!ends->to && !ends->to_host);
  if (has_null && ends->size_bytes) {
    return hlo_invalid_argument("the host memory of a raw copy of %lld bytes is null",
                                (long long)ends->size_bytes);
  }
  return hlo_ok();
}

// Fills in the ends, which the job then holds.
static void set_ends(const raw_ends_t* ends, copy_job_t* copy) {
  if (ends->from) {
    hlo_storage_use_begin(ends->from->storage);
    copy->source.storage = ends->from->storage;
    copy->offset_bytes = ends->from->offset_bytes + (size_t)ends->from_offset_bytes;
  }
  if (ends->to) {
    copy->destination = ends->to->storage;
    copy->holds_destination = !ends->to->is_undefined;
    if (copy->holds_destination) {
      hlo_storage_hold_begin(copy->destination);
    } else {
      hlo_storage_retain(copy->destination);
    }
    copy->destination_offset_bytes = ends->to->offset_bytes + (size_t)ends->to_offset_bytes;
  }
  copy->from = hlo_device_address_of(ends->from_host);
  copy->to = hlo_device_address_of(ends->to_host);
}

static hlo_status_t copy_raw(const raw_ends_t* ends, hlo_dependencies_t dependencies,
                             hlo_event_t** out_done) {
  HLO_TRY(check_raw_copy(ends));
  if (ends->size_bytes == 0 && dependencies.count == 0) {
    *out_done = hlo_event_create_ready(hlo_ok());
    return *out_done ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
  }
  hlo_event_t* gate = NULL;
  copy_job_t* copy = NULL;
  HLO_TRY(create_gate(ends->from, ends->to, dependencies, &gate));
  hlo_client_t* client = hlo_memory_client((ends->to ? ends->to : ends->from)->memory);
  hlo_status_t status = copy_create(client, (size_t)ends->size_bytes, NULL, &copy);
  if (!hlo_status_is_ok(status)) {
    hlo_event_release(gate);
    return status;
  }
  hlo_client_t* source_client = ends->from ? hlo_memory_client(ends->from->memory) : client;
  if (source_client != client) {
    hlo_client_work_begin(source_client);
    copy->source_client = source_client;
  }
  copy->gate = gate;
  set_ends(ends, copy);
  *out_done = hlo_event_retain(copy->done);
  await_source(copy);
  return hlo_ok();
}

hlo_status_t hlo_raw_buffer_from_host(const hlo_raw_buffer_t* raw, const void* data,
                                      int64_t offset_bytes, int64_t size_bytes,
                                      hlo_dependencies_t dependencies, hlo_event_t** out_done) {
  const raw_ends_t ends = {
      .to = raw, .from_host = data, .to_offset_bytes = offset_bytes, .size_bytes = size_bytes};
  return copy_raw(&ends, dependencies, out_done);
}

hlo_status_t hlo_raw_buffer_to_host(const hlo_raw_buffer_t* raw, void* data, int64_t offset_bytes,
                                    int64_t size_bytes, hlo_dependencies_t dependencies,
                                    hlo_event_t** out_done) {
  const raw_ends_t ends = {
      .from = raw, .to_host = data, .from_offset_bytes = offset_bytes, .size_bytes = size_bytes};
  return copy_raw(&ends, dependencies, out_done);
}

hlo_status_t hlo_raw_buffer_copy(const hlo_raw_buffer_t* from, const hlo_raw_buffer_t* to,
                                 hlo_dependencies_t dependencies, hlo_event_t** out_done) {
  const raw_ends_t ends = {.from = from, .to = to, .size_bytes = (int64_t)from->size_bytes};
  return copy_raw(&ends, dependencies, out_done);
}
