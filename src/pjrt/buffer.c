// SPDX-License-Identifier: Apache-2.0
// Buffers: queries, ownership, deletion and donation, and copies between memories.
#include "pjrt/objects.h"

// --- Shells --------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_buffer_reserve(PJRT_Client* client, PJRT_Buffer** out_buffer) {
  PJRT_Buffer* buffer = hlo_mem_alloc(sizeof *buffer);
  if (buffer == NULL) return hlo_status_out_of_memory(sizeof *buffer);
  atomic_init(&buffer->count, 1);
  buffer->buffer = NULL;
  buffer->client = client;
  hlo_client_hold_begin(client->client);
  *out_buffer = buffer;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_buffer_create(PJRT_Client* client, hlo_buffer_t* buffer,
                                    PJRT_Buffer** out_buffer) {
  PJRT_Buffer* shell = NULL;
  hlo_status_t status = hlo_pjrt_buffer_reserve(client, &shell);
  if (!hlo_status_is_ok(status)) {
    hlo_buffer_release(buffer);
    return status;
  }
  shell->buffer = buffer;
  *out_buffer = shell;
  return hlo_ok();
}

PJRT_Buffer* hlo_pjrt_buffer_retain(PJRT_Buffer* buffer) {
  // relaxed: the caller holds a reference already
  atomic_fetch_add_explicit(&buffer->count, 1, memory_order_relaxed);
  return buffer;
}

void hlo_pjrt_buffer_release(PJRT_Buffer* buffer) {
  if (buffer == NULL) return;
  // acq_rel: the last owner sees the other owners' accesses to the buffer
  if (atomic_fetch_sub_explicit(&buffer->count, 1, memory_order_acq_rel) != 1) return;
  if (buffer->buffer != NULL) hlo_buffer_release(buffer->buffer);
  hlo_client_hold_end(buffer->client->client);
  hlo_mem_free(buffer);
}

hlo_status_t hlo_pjrt_Buffer_Destroy(PJRT_Buffer_Destroy_Args* args) {
  if (args->buffer == NULL) return hlo_ok();
  hlo_buffer_delete(args->buffer->buffer);
  hlo_pjrt_buffer_release(args->buffer);
  return hlo_ok();
}

// --- Layout -------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  const hlo_buffer_shape_t* shape = hlo_buffer_shape(args->buffer->buffer);
  args->layout = (PJRT_Buffer_MemoryLayout){
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = shape->minor_to_major,
                .minor_to_major_size = shape->rank}};
  return hlo_ok();
}

// --- Location ------------------------------------------------------------------------------------

static hlo_status_t copy_to(PJRT_Buffer* source, PJRT_Memory* memory, PJRT_Buffer** out_buffer) {
  hlo_buffer_t* copy;
  HLO_TRY(hlo_buffer_copy_to_memory(source->buffer, hlo_pjrt_memory_target(memory), &copy));
  return hlo_pjrt_buffer_create(hlo_pjrt_memory_client(memory), copy, out_buffer);
}

hlo_status_t hlo_pjrt_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args* args) {
  PJRT_Memory* memory;
  HLO_TRY(hlo_pjrt_placement(args->dst_device, NULL, &memory));
  return copy_to(args->buffer, memory, &args->dst_buffer);
}

hlo_status_t hlo_pjrt_Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args* args) {
  PJRT_Memory* memory;
  HLO_TRY(hlo_pjrt_placement(NULL, args->dst_memory, &memory));
  return copy_to(args->buffer, memory, &args->dst_buffer);
}

// --- Lifetime of the storage ---------------------------------------------------------------------

hlo_status_t hlo_pjrt_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  hlo_event_t* event =
      hlo_buffer_is_deleted(args->buffer->buffer)
          ? hlo_event_create_ready(hlo_invalid_argument("the buffer has been deleted or donated"))
          : hlo_buffer_ready_event(args->buffer->buffer);
  args->event = (PJRT_Event*)event;
  return event != NULL ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
}

hlo_status_t hlo_pjrt_Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args* args) {
  void* data;
  HLO_TRY(hlo_buffer_data_pointer(args->buffer->buffer, &data));
  args->buffer_pointer = (uintptr_t)data;
  return hlo_ok();
}

// --- Several handles of the same bytes -----------------------------------------------------------

/// Moves the value of `source` (consumed) into a buffer of another shape. The new buffer is ready
/// when both the value and `after` (may be NULL) are.
static hlo_status_t move_value(hlo_buffer_t* source, const hlo_buffer_shape_t* shape,
                               hlo_event_t* after, hlo_buffer_t** out_buffer) {
  hlo_buffer_use_t use;
  HLO_TRY(hlo_buffer_donate(source, &use));
  hlo_event_t* ready = hlo_event_retain(use.ready);
  hlo_status_t status = hlo_ok();
  if (after != NULL) {
    hlo_event_release(ready);
    ready = hlo_event_create();
    if (ready == NULL) status = hlo_status_out_of_memory(sizeof(void*));
    if (ready != NULL) hlo_event_join((hlo_event_t*[]){use.ready, after}, 2, ready);
  }
  if (hlo_status_is_ok(status)) {
    status =
        hlo_buffer_create_over(hlo_buffer_memory(source), shape, use.storage, ready, out_buffer);
  }
  hlo_event_release(ready);
  if (hlo_status_is_ok(status)) {
    hlo_buffer_use_end(&use);
  } else {
    hlo_buffer_donate_abort(source, &use);
  }
  return status;
}

/// Copies the bytes, so that donating one of the two buffers never overwrites the other.
hlo_status_t hlo_pjrt_Buffer_Bitcast(PJRT_Buffer_Bitcast_Args* args) {
  hlo_buffer_t* source = args->buffer->buffer;
  hlo_buffer_shape_t shape;
  HLO_TRY(hlo_pjrt_shape(args->element_type, args->dims, args->num_dims, &shape));
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_shape_take_layout(args->device_layout, &shape, order));
  size_t size;
  HLO_TRY(hlo_buffer_shape_size_bytes(&shape, &size));
  if (size != hlo_buffer_size_bytes(source)) {
    return hlo_invalid_argument("cannot reinterpret a buffer of %zu bytes as an array of %zu",
                                hlo_buffer_size_bytes(source), size);
  }
  hlo_buffer_t* copy;
  HLO_TRY(hlo_buffer_copy_to_memory(source, hlo_buffer_memory(source), &copy));
  hlo_buffer_t* result;
  hlo_status_t status = move_value(copy, &shape, NULL, &result);
  hlo_buffer_release(copy);
  HLO_TRY(status);
  return hlo_pjrt_buffer_create(args->buffer->client, result, &args->out_buffer);
}

static void dependency_ready(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args) {
  hlo_event_t* dependency = args->callback_data;
  hlo_event_set(dependency, hlo_pjrt_foreign_status(args->error_code, args->error_message,
                                                    args->error_message_size));
  hlo_event_release(dependency);
}

hlo_status_t hlo_pjrt_Buffer_DonateWithControlDependency(
    PJRT_Buffer_DonateWithControlDependency_Args* args) {
  hlo_buffer_t* source = args->buffer->buffer;
  PJRT_Buffer* shell = NULL;
  HLO_TRY(hlo_pjrt_buffer_reserve(args->buffer->client, &shell));
  hlo_event_t* dependency = hlo_event_create_promise();
  hlo_status_t status = dependency != NULL ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
  if (hlo_status_is_ok(status)) {
    status = move_value(source, hlo_buffer_shape(source), dependency, &shell->buffer);
  }
  if (!hlo_status_is_ok(status)) {
    if (dependency != NULL) hlo_event_set(dependency, hlo_ok());  // releases its waiters
    hlo_event_release(dependency);
    hlo_pjrt_buffer_release(shell);
    return status;
  }
  args->callback_data = dependency;  // owned by this library until the callback
  args->dependency_ready_callback = dependency_ready;
  args->out_buffer = shell;
  return hlo_ok();
}
