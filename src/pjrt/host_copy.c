// SPDX-License-Identifier: Apache-2.0
// Transfers between host and buffers: copies from and to host memory, views of foreign memory, and
// buffers without a value of their own (uninitialised, failed, or to be fulfilled later).
#include "pjrt/objects.h"

// The alignment of malloc on all platforms; a larger one would refuse NumPy arrays. JAX searches
// the error for "is not aligned to", to copy instead or to report that a copy is needed.
enum { VIEW_ALIGNMENT_BYTES = 16 };

// --- From the host -------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  PJRT_Memory* memory;
  hlo_buffer_shape_t shape;
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_placement(args->device, args->memory, &memory));
  HLO_TRY(hlo_pjrt_shape(args->type, args->dims, args->num_dims, &shape));
  HLO_TRY(hlo_pjrt_shape_take_layout(args->device_layout, &shape, order));
  if (args->num_byte_strides != 0 && args->num_byte_strides != args->num_dims) {
    return hlo_invalid_argument("%zu strides for %zu dimensions", args->num_byte_strides,
                                args->num_dims);
  }
  if ((unsigned)args->host_buffer_semantics > HLO_HOST_MUTABLE_ZERO_COPY) {
    return hlo_invalid_argument("unknown host buffer semantics %d",
                                (int)args->host_buffer_semantics);
  }
  PJRT_Buffer* shell;
  HLO_TRY(hlo_pjrt_buffer_reserve(args->client, &shell));
  hlo_event_t* done;
  hlo_status_t status = hlo_buffer_from_host(
      hlo_pjrt_memory_target(memory), &shape, args->data,
      args->num_byte_strides != 0 ? args->byte_strides : NULL,
      (hlo_host_semantics_t)args->host_buffer_semantics, &done, &shell->buffer);
  if (!hlo_status_is_ok(status)) {
    hlo_pjrt_buffer_release(shell);
    return status;
  }
  args->done_with_host_buffer = (PJRT_Event*)done;
  args->buffer = shell;
  return hlo_ok();
}

// --- To the host ---------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  hlo_buffer_t* buffer = args->src->buffer;
  const hlo_buffer_shape_t* shape = hlo_buffer_shape(buffer);
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_layout_order(args->host_layout, shape, order));
  if (args->dst == NULL) {
    args->dst_size = hlo_buffer_size_bytes(buffer);
    return hlo_ok();
  }
  hlo_event_t* done;
  HLO_TRY(hlo_buffer_to_host(buffer, args->dst, args->dst_size, order, &done));
  args->event = (PJRT_Event*)done;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args* args) {
  hlo_event_t* done;
  HLO_TRY(hlo_buffer_copy_raw_to_host(args->buffer->buffer, args->dst, args->offset,
                                      args->transfer_size, &done));
  args->event = (PJRT_Event*)done;
  return hlo_ok();
}

static void raw_destination_ready(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  hlo_late_copy_start(
      args->callback_data, args->dst,
      hlo_pjrt_foreign_status(args->error_code, args->error_message, args->error_message_size));
}

hlo_status_t hlo_pjrt_Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args* args) {
  hlo_late_copy_t* copy;
  hlo_event_t* done;
  HLO_TRY(
      hlo_late_copy_create(args->buffer->buffer, args->offset, args->transfer_size, &copy, &done));
  args->event = (PJRT_Event*)done;
  args->callback_data = copy;
  args->future_ready_callback = raw_destination_ready;
  return hlo_ok();
}

// --- Foreign memory ------------------------------------------------------------------------------

/// A framework's callback that runs when a view ends.
typedef struct view_end {
  void (*callback)(void* data, void* user_arg);
  void* data;
  void* user_arg;
} view_end_t;

static void end_view(void* context) {
  const view_end_t end = *(view_end_t*)context;
  hlo_mem_free(context);
  if (end.callback != NULL) end.callback(end.data, end.user_arg);
}

/// Views are read-only: the interface cannot express that the owner allows programs to overwrite
/// the memory, so a program that takes a donated view writes to memory of its own.
static hlo_status_t view_storage(const PJRT_Client_CreateViewOfDeviceBuffer_Args* args,
                                 PJRT_Memory* memory, size_t size, hlo_storage_t** out_storage) {
  view_end_t* end = hlo_mem_alloc(sizeof *end);
  if (end == NULL) return hlo_status_out_of_memory(sizeof *end);
  *end =
      (view_end_t){args->on_delete_callback, args->device_buffer_ptr, args->on_delete_callback_arg};
  hlo_status_t status =
      hlo_storage_create_foreign(hlo_pjrt_memory_target(memory), args->device_buffer_ptr, size,
                                 false, end_view, end, out_storage);
  if (!hlo_status_is_ok(status)) hlo_mem_free(end);
  return status;
}

hlo_status_t hlo_pjrt_Client_CreateViewOfDeviceBuffer(
    PJRT_Client_CreateViewOfDeviceBuffer_Args* args) {
  PJRT_Memory* memory;
  hlo_buffer_shape_t shape;
  size_t size;
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_placement(args->device, args->memory, &memory));
  HLO_TRY(hlo_pjrt_shape(args->element_type, args->dims, args->num_dims, &shape));
  HLO_TRY(hlo_pjrt_shape_take_layout(args->layout, &shape, order));
  HLO_TRY(hlo_buffer_shape_size_bytes(&shape, &size));
  if ((uintptr_t)args->device_buffer_ptr % VIEW_ALIGNMENT_BYTES != 0) {
    return hlo_invalid_argument("misaligned view: address %p is not aligned to %d bytes.",
                                args->device_buffer_ptr, VIEW_ALIGNMENT_BYTES);
  }
  PJRT_Buffer* shell;
  HLO_TRY(hlo_pjrt_buffer_reserve(args->client, &shell));
  hlo_storage_t* storage = NULL;
  hlo_status_t status = view_storage(args, memory, size, &storage);
  if (hlo_status_is_ok(status)) {
    status = hlo_buffer_create_over(hlo_pjrt_memory_target(memory), &shape, storage, NULL,
                                    &shell->buffer);
    hlo_storage_release(storage);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_pjrt_buffer_release(shell);
    return status;
  }
  args->buffer = shell;
  return hlo_ok();
}

// --- Buffers without a value ---------------------------------------------------------------------

hlo_status_t hlo_pjrt_Client_CreateUninitializedBuffer(
    PJRT_Client_CreateUninitializedBuffer_Args* args) {
  PJRT_Memory* memory;
  hlo_buffer_shape_t shape;
  hlo_buffer_t* buffer;
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_placement(args->device, args->memory, &memory));
  HLO_TRY(hlo_pjrt_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims, &shape));
  HLO_TRY(hlo_pjrt_shape_take_layout(args->shape_layout, &shape, order));
  HLO_TRY(hlo_buffer_create_uninitialized(hlo_pjrt_memory_target(memory), &shape, &buffer));
  return hlo_pjrt_buffer_create(args->client, buffer, &args->buffer);
}

hlo_status_t hlo_pjrt_Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args* args) {
  PJRT_Memory* memory;
  hlo_buffer_shape_t shape;
  hlo_buffer_t* buffer;
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_placement(NULL, args->memory, &memory));
  HLO_TRY(hlo_pjrt_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims, &shape));
  HLO_TRY(hlo_pjrt_shape_take_layout(args->shape_layout, &shape, order));
  if (args->error_code == PJRT_Error_Code_OK) {
    return hlo_invalid_argument("an error buffer needs an error");
  }
  hlo_status_t error =
      hlo_pjrt_foreign_status(args->error_code, args->error_message, args->error_message_size);
  HLO_TRY(hlo_buffer_create_error(hlo_pjrt_memory_target(memory), &shape, error, &buffer));
  return hlo_pjrt_buffer_create(args->client, buffer, &args->buffer);
}

/// The handle that fulfils an alias buffer, once. It owns a reference to the buffer, which the
/// framework may destroy first.
struct PJRT_FulfillAliasBufferCallback {
  PJRT_Buffer* alias;
};

hlo_status_t hlo_pjrt_Client_CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args* args) {
  PJRT_Memory* memory;
  hlo_buffer_shape_t shape;
  hlo_buffer_t* buffer;
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_placement(NULL, args->memory, &memory));
  HLO_TRY(hlo_pjrt_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims, &shape));
  HLO_TRY(hlo_pjrt_shape_take_layout(args->shape_layout, &shape, order));
  PJRT_FulfillAliasBufferCallback* handle = hlo_mem_alloc(sizeof *handle);
  if (handle == NULL) return hlo_status_out_of_memory(sizeof *handle);
  hlo_status_t status = hlo_buffer_create_alias(hlo_pjrt_memory_target(memory), &shape, &buffer);
  if (hlo_status_is_ok(status)) {
    status = hlo_pjrt_buffer_create(args->client, buffer, &args->alias_buffer);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(handle);
    return status;
  }
  handle->alias = hlo_pjrt_buffer_retain(args->alias_buffer);
  args->fulfill_alias_buffer_cb = handle;
  return hlo_ok();
}

/// Consumes the handle, also on failure.
hlo_status_t hlo_pjrt_Client_FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args* args) {
  PJRT_FulfillAliasBufferCallback* handle = args->fulfill_alias_buffer_cb;
  if (handle == NULL) return hlo_invalid_argument("no alias buffer to fulfil");
  hlo_status_t error =
      hlo_pjrt_foreign_status(args->status_code, args->error_message, args->error_message_size);
  hlo_status_t misuse = hlo_ok();
  if (hlo_status_is_ok(error) && args->buffer == NULL) {
    misuse = hlo_invalid_argument("an alias buffer needs a buffer or an error");
    error = hlo_status_clone(misuse);
  }
  hlo_buffer_t* source = hlo_status_is_ok(error) ? args->buffer->buffer : NULL;
  hlo_status_t status = hlo_buffer_fulfill(handle->alias->buffer, source, error);
  if (hlo_status_is_ok(status)) {
    status = misuse;
  } else {
    hlo_status_release(misuse);
  }
  hlo_pjrt_buffer_release(handle->alias);
  hlo_mem_free(handle);
  return status;
}
