// SPDX-License-Identifier: Apache-2.0
// Asynchronous host-to-device transfer managers: buffers are created first and filled in pieces, in
// any order. Large pieces are copied on workers, small ones before the call returns.
#include "pjrt/objects.h"

/// A buffer being filled. `pending` and `saw_last` are under the manager's lock.
typedef struct item {
  PJRT_Buffer* shell;  // NULL once retrieved
  hlo_storage_t* storage;
  hlo_event_t* ready;
  hlo_buffer_shape_t shape;
  size_t size;
  size_t pending;
  bool saw_last;
} item_t;

/// Counted: the framework's handle and pieces in flight own it.
struct PJRT_AsyncHostToDeviceTransferManager {
  atomic_int count_of_owners;
  PJRT_Memory* memory;
  hlo_arena_t arena;
  hlo_mutex_t lock;
  item_t* items;
  size_t count;
};

typedef PJRT_AsyncHostToDeviceTransferManager manager_t;

// --- Lifetime ------------------------------------------------------------------------------------

static void release_manager(manager_t* manager) {
  // acq_rel: the last owner sees the other owners' accesses
  if (atomic_fetch_sub_explicit(&manager->count_of_owners, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; manager->items != NULL && i < manager->count; ++i) {
    item_t* item = &manager->items[i];
    hlo_event_release(item->ready);
    if (item->storage != NULL) hlo_storage_release(item->storage);
    hlo_pjrt_buffer_release(item->shell);
  }
  hlo_mutex_deinit(&manager->lock);
  hlo_arena_deinit(&manager->arena);
  hlo_client_hold_end(hlo_pjrt_memory_client(manager->memory)->client);
  hlo_mem_free(manager);
}

/// Fails the buffers whose last piece was not announced.
static void destroy_manager(manager_t* manager) {
  if (manager == NULL) return;
  for (size_t i = 0; manager->items != NULL && i < manager->count; ++i) {
    item_t* item = &manager->items[i];
    hlo_mutex_lock(&manager->lock);
    const bool is_complete = item->saw_last;
    hlo_mutex_unlock(&manager->lock);
    if (is_complete || item->ready == NULL || hlo_event_is_ready(item->ready)) continue;
    hlo_event_set(
        item->ready,
        hlo_status_create(HLO_STATUS_ABORTED,
                          "the transfer manager was destroyed before buffer %zu was filled", i));
  }
  release_manager(manager);
}

/// Keeps the shape of a buffer, which the framework may destroy before it is filled.
static hlo_status_t keep_shape(manager_t* manager, const hlo_buffer_shape_t* shape,
                               hlo_buffer_shape_t* out_shape) {
  const size_t size = shape->rank * sizeof(int64_t);
  int64_t* lists = hlo_arena_array(&manager->arena, 2 * shape->rank, sizeof *lists);
  HLO_TRY(hlo_arena_status(&manager->arena));
  if (size != 0) {
    memcpy(lists, shape->dims, size);
    memcpy(lists + shape->rank, shape->minor_to_major, size);
  }
  *out_shape = (hlo_buffer_shape_t){.dtype = shape->dtype,
                                    .rank = shape->rank,
                                    .dims = lists,
                                    .minor_to_major = lists + shape->rank};
  return hlo_ok();
}

static hlo_status_t fill_item(manager_t* manager, const PJRT_ShapeSpec* spec,
                              const PJRT_Buffer_MemoryLayout* layout, item_t* item) {
  HLO_TRY(hlo_pjrt_shape(spec->element_type, spec->dims, spec->num_dims, &item->shape));
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_shape_take_layout(layout, &item->shape, order));
  HLO_TRY(hlo_buffer_shape_size_bytes(&item->shape, &item->size));
  hlo_memory_t* memory = hlo_pjrt_memory_target(manager->memory);
  HLO_TRY(hlo_storage_create(memory, item->size, &item->storage));
  item->ready = hlo_event_create_promise();
  if (item->ready == NULL) return hlo_status_out_of_memory(sizeof(void*));
  hlo_buffer_t* buffer;
  HLO_TRY(hlo_buffer_create_over(memory, &item->shape, item->storage, item->ready, &buffer));
  HLO_TRY(hlo_pjrt_buffer_create(hlo_pjrt_memory_client(manager->memory), buffer, &item->shell));
  return keep_shape(manager, hlo_buffer_shape(buffer), &item->shape);
}

hlo_status_t hlo_pjrt_Client_CreateBuffersForAsyncHostToDevice(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args) {
  PJRT_Memory* memory;
  HLO_TRY(hlo_pjrt_placement(NULL, args->memory, &memory));
  if (args->num_device_layouts != 0 && args->num_device_layouts != args->num_shape_specs) {
    return hlo_invalid_argument("%zu layouts for %zu buffers", args->num_device_layouts,
                                args->num_shape_specs);
  }
  manager_t* manager = hlo_mem_alloc_zeroed(sizeof *manager);
  if (manager == NULL) return hlo_status_out_of_memory(sizeof *manager);
  atomic_init(&manager->count_of_owners, 1);
  manager->memory = memory;
  hlo_client_hold_begin(hlo_pjrt_memory_client(memory)->client);
  hlo_arena_init(&manager->arena, 0);
  hlo_mutex_init(&manager->lock, HLO_LOCK_LEVEL_CLIENT);
  manager->items = hlo_arena_array(&manager->arena, args->num_shape_specs, sizeof(item_t));
  hlo_status_t status = hlo_arena_status(&manager->arena);
  for (size_t i = 0; hlo_status_is_ok(status) && i < args->num_shape_specs; ++i) {
    manager->count = i + 1;
    status = fill_item(manager, &args->shape_specs[i],
                       args->num_device_layouts != 0 ? args->device_layouts[i] : NULL,
                       &manager->items[i]);
  }
  if (!hlo_status_is_ok(status)) {
    destroy_manager(manager);
    return status;
  }
  args->transfer_manager = manager;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_Destroy(
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args) {
  destroy_manager(args->transfer_manager);
  return hlo_ok();
}

// --- Queries -------------------------------------------------------------------------------------

static hlo_status_t find_item(manager_t* manager, int index, item_t** out_item) {
  if (index < 0 || (size_t)index >= manager->count) {
    return hlo_invalid_argument("buffer %d of a transfer with %zu buffers", index, manager->count);
  }
  *out_item = &manager->items[index];
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args) {
  item_t* item = NULL;
  HLO_TRY(find_item(args->transfer_manager, args->buffer_index, &item));
  hlo_mutex_lock(&args->transfer_manager->lock);
  args->buffer_out = item->shell;
  item->shell = NULL;
  hlo_mutex_unlock(&args->transfer_manager->lock);
  if (args->buffer_out == NULL) {
    return hlo_invalid_argument("buffer %d was already retrieved", args->buffer_index);
  }
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_Device(
    PJRT_AsyncHostToDeviceTransferManager_Device_Args* args) {
  PJRT_Memory* memory = args->transfer_manager->memory;
  args->device_out =
      hlo_pjrt_device(hlo_pjrt_memory_client(memory), hlo_pjrt_memory_target(memory)->device);
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_BufferCount(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args) {
  args->buffer_count = args->transfer_manager->count;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args) {
  item_t* item = NULL;
  HLO_TRY(find_item(args->transfer_manager, args->buffer_index, &item));
  args->buffer_size = item->size;
  return hlo_ok();
}

// --- Filling -------------------------------------------------------------------------------------

// A piece being copied.
typedef struct piece {
  hlo_event_waiter_t waiter;
  manager_t* manager;
  item_t* item;
  hlo_buffer_t* staged;  // that it is copied from; NULL: from memory of the framework
} piece_t;

/// The value is ready when the last piece has been announced and no copy is in progress.
static void end_piece(manager_t* manager, item_t* item) {
  hlo_mutex_lock(&manager->lock);
  const bool is_filled = --item->pending == 0 && item->saw_last;
  hlo_mutex_unlock(&manager->lock);
  if (is_filled) hlo_event_set(item->ready, hlo_ok());
  release_manager(manager);
}

static void piece_done(void* context, HLO_UNUSED hlo_status_t status) {
  piece_t* piece = context;
  hlo_buffer_release(piece->staged);
  end_piece(piece->manager, piece->item);
  hlo_mem_free(piece);
}

static hlo_status_t begin_piece(manager_t* manager, item_t* item, bool is_last) {
  hlo_mutex_lock(&manager->lock);
  const bool is_open = !item->saw_last && !hlo_event_is_ready(item->ready);
  if (is_open) {
    ++item->pending;
    item->saw_last = is_last;
  }
  hlo_mutex_unlock(&manager->lock);
  if (!is_open) return hlo_failed_precondition("the buffer is already filled or in error");
  atomic_fetch_add_explicit(&manager->count_of_owners, 1, memory_order_relaxed);
  return hlo_ok();
}

/// Undoes begin_piece(): the framework may try again.
static void abort_piece(manager_t* manager, item_t* item, bool is_last) {
  hlo_mutex_lock(&manager->lock);
  --item->pending;
  if (is_last) item->saw_last = false;
  hlo_mutex_unlock(&manager->lock);
  release_manager(manager);
}

/// Copies a piece. Threads may add pieces concurrently. The value is ready before *out_done has
/// called the framework. staged: the owner of `data`, taken unless the call fails.
static hlo_status_t copy_piece(manager_t* manager, item_t* item, size_t offset, const void* data,
                               size_t size, bool is_last, hlo_buffer_t* staged,
                               PJRT_Event** out_done) {
  piece_t* piece = hlo_mem_alloc_zeroed(sizeof *piece);
  if (piece == NULL) return hlo_status_out_of_memory(sizeof *piece);
  *piece = (piece_t){.manager = manager, .item = item, .staged = staged};
  hlo_status_t status = begin_piece(manager, item, is_last);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(piece);
    return status;
  }
  hlo_event_t* done;
  status = hlo_storage_from_host(item->storage, offset, data, size, &done);
  if (!hlo_status_is_ok(status)) {
    abort_piece(manager, item, is_last);
    hlo_mem_free(piece);
    return status;
  }
  hlo_event_on_ready(done, &piece->waiter, piece_done, piece);
  *out_done = (PJRT_Event*)done;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args) {
  item_t* item = NULL;
  HLO_TRY(find_item(args->transfer_manager, args->buffer_index, &item));
  if (args->offset < 0 || args->transfer_size < 0 || (uint64_t)args->offset > item->size ||
      (uint64_t)args->transfer_size > item->size - (uint64_t)args->offset) {
    return hlo_invalid_argument("%lld bytes at %lld do not fit into a buffer of %zu bytes",
                                (long long)args->transfer_size, (long long)args->offset,
                                item->size);
  }
  return copy_piece(args->transfer_manager, item, (size_t)args->offset, args->data,
                    (size_t)args->transfer_size, args->is_last_transfer, NULL,
                    &args->done_with_h2d_transfer);
}

/// Converts a host array to the device's layout, in a buffer of its own.
static hlo_status_t stage_literal(
    const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args,
    const hlo_buffer_shape_t* on_device, const int64_t* strides, hlo_buffer_t** out_staged) {
  return hlo_buffer_from_host(hlo_pjrt_memory_target(args->transfer_manager->memory), on_device,
                              args->data, strides, HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL,
                              out_staged);
}

/// Copies an array of another order than the device's.
static hlo_status_t copy_staged(
    const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args, item_t* item,
    const int64_t* strides, PJRT_Event** out_done) {
  hlo_buffer_t* staged;
  HLO_TRY(stage_literal(args, &item->shape, strides, &staged));
  void* bytes;
  hlo_status_t status = hlo_buffer_data_pointer(staged, &bytes);
  if (hlo_status_is_ok(status)) {
    status = copy_piece(args->transfer_manager, item, 0, bytes, item->size, true, staged, out_done);
  }
  if (!hlo_status_is_ok(status)) hlo_buffer_release(staged);
  return status;
}

static hlo_status_t copy_literal(
    const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args, item_t* item,
    const hlo_buffer_shape_t* shape, PJRT_Event** out_done) {
  const size_t element_bytes = hlo_dtype_size_bytes(shape->dtype);
  int64_t order[HLO_SHAPE_RANK_LIMIT], strides[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_layout_order(args->shape_layout, shape, order));
  if (item->size == 0 || hlo_dim_order_is_same(shape->rank, shape->dims, order,
                                               item->shape.minor_to_major)) {
    return copy_piece(args->transfer_manager, item, 0, args->data, item->size, true, NULL, out_done);
  }
  hlo_dim_order_strides(element_bytes, shape->rank, shape->dims, order, strides);
  return copy_staged(args, item, strides, out_done);
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args) {
  item_t* item = NULL;
  hlo_buffer_shape_t shape;
  HLO_TRY(find_item(args->transfer_manager, args->buffer_index, &item));
  HLO_TRY(hlo_pjrt_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims, &shape));
  bool same = shape.dtype == item->shape.dtype && shape.rank == item->shape.rank;
  for (uint32_t d = 0; same && d < shape.rank; ++d) same = shape.dims[d] == item->shape.dims[d];
  if (!same) {
    return hlo_invalid_argument("the type or shape of the array differs from buffer %d",
                                args->buffer_index);
  }
  return copy_literal(args, item, &shape, &args->done_with_h2d_transfer);
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args) {
  item_t* item = NULL;
  HLO_TRY(find_item(args->transfer_manager, args->buffer_index, &item));
  if (args->error_code == PJRT_Error_Code_OK) {
    return hlo_invalid_argument("the error of buffer %d is OK", args->buffer_index);
  }
  hlo_event_set(item->ready, hlo_pjrt_foreign_status(args->error_code, args->error_message,
                                                     args->error_message_size));
  return hlo_ok();
}
