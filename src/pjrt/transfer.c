// SPDX-License-Identifier: Apache-2.0
// Asynchronous host-to-device transfer managers: buffers are created first and filled in pieces.
#include "pjrt/objects.h"

/// A buffer being filled; copies of pieces hold it, because they may outlive the manager.
typedef struct item {
  atomic_int count;
  hlo_storage_t* storage;
  hlo_event_t* ready;
  hlo_buffer_shape_t shape;  // the lists are in the manager's arena
  size_t size;
  hlo_mutex_t lock;    // guards the fields below
  PJRT_Buffer* shell;  // NULL once retrieved
  size_t pending;      // pieces being copied
  bool saw_last;
} item_t;

struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Memory* memory;
  hlo_arena_t arena;
  item_t** items;
  size_t count;
};

typedef PJRT_AsyncHostToDeviceTransferManager manager_t;

// --- Lifetime ------------------------------------------------------------------------------------

static void release_item(item_t* item) {
  if (atomic_fetch_sub_explicit(&item->count, 1, memory_order_acq_rel) != 1) return;
  hlo_event_release(item->ready);
  hlo_storage_release(item->storage);
  hlo_pjrt_buffer_release(item->shell);
  hlo_mutex_deinit(&item->lock);
  hlo_mem_free(item);
}

static void destroy_manager(manager_t* manager) {
  if (manager == NULL) return;
  for (size_t i = 0; manager->items != NULL && i < manager->count; ++i) {
    item_t* item = manager->items[i];
    hlo_mutex_lock(&item->lock);
    const bool is_complete = item->saw_last;
    hlo_mutex_unlock(&item->lock);
    if (item->ready != NULL && !is_complete && !hlo_event_is_ready(item->ready)) {
      hlo_event_set(
          item->ready,
          hlo_status_create(HLO_STATUS_ABORTED,
                            "the transfer manager was destroyed before buffer %zu was filled", i));
    }
    release_item(item);
  }
  hlo_arena_deinit(&manager->arena);
  hlo_client_hold_end(hlo_pjrt_memory_client(manager->memory)->client);
  hlo_mem_free(manager);
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

static hlo_status_t add_item(manager_t* manager, const PJRT_ShapeSpec* spec,
                             const PJRT_Buffer_MemoryLayout* layout) {
  item_t* item = hlo_mem_alloc_zeroed(sizeof *item);
  if (item == NULL) return hlo_status_out_of_memory(sizeof *item);
  atomic_init(&item->count, 1);
  hlo_mutex_init(&item->lock, HLO_LOCK_LEVEL_CLIENT);
  manager->items[manager->count++] = item;
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
  manager->memory = memory;
  hlo_client_hold_begin(hlo_pjrt_memory_client(memory)->client);
  hlo_arena_init(&manager->arena, 0);
  manager->items = hlo_arena_array(&manager->arena, args->num_shape_specs, sizeof(item_t*));
  hlo_status_t status = hlo_arena_status(&manager->arena);
  for (size_t i = 0; hlo_status_is_ok(status) && i < args->num_shape_specs; ++i) {
    status = add_item(manager, &args->shape_specs[i],
                      args->num_device_layouts != 0 ? args->device_layouts[i] : NULL);
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
  *out_item = manager->items[index];
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args) {
  item_t* item = NULL;
  HLO_TRY(find_item(args->transfer_manager, args->buffer_index, &item));
  hlo_mutex_lock(&item->lock);
  args->buffer_out = item->shell;
  item->shell = NULL;
  hlo_mutex_unlock(&item->lock);
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

/// A copy of a piece in progress.
typedef struct piece {
  hlo_event_waiter_t waiter;
  item_t* item;
  hlo_client_t* client;
  bool is_last;
} piece_t;

static void release_piece(piece_t* piece) {
  hlo_client_t* client = piece->client;
  release_item(piece->item);
  hlo_mem_free(piece);
  hlo_client_work_end(client);
}

/// The value is ready when the last piece has been announced and no copy is in progress.
static void piece_copied(void* context, hlo_status_t status) {
  piece_t* piece = context;
  item_t* item = piece->item;
  if (!hlo_status_is_ok(status)) hlo_event_set(item->ready, hlo_status_clone(status));
  hlo_mutex_lock(&item->lock);
  const bool is_filled = --item->pending == 0 && item->saw_last;
  hlo_mutex_unlock(&item->lock);
  if (is_filled) hlo_event_set(item->ready, hlo_ok());
  release_piece(piece);
}

/// The copy could not be started: the caller may add the piece again, unless another thread has
/// announced the last one.
static void abort_piece(piece_t* piece, hlo_status_t status) {
  item_t* item = piece->item;
  hlo_mutex_lock(&item->lock);
  --item->pending;
  if (piece->is_last) item->saw_last = false;
  const bool is_closed = item->saw_last;
  hlo_mutex_unlock(&item->lock);
  if (is_closed) hlo_event_set(item->ready, hlo_status_clone(status));
  release_piece(piece);
}

/// Opens the item for a piece, which threads may add concurrently.
static hlo_status_t begin_piece(manager_t* manager, item_t* item, bool is_last,
                                piece_t** out_piece) {
  hlo_client_t* client = hlo_pjrt_memory_client(manager->memory)->client;
  HLO_TRY(hlo_client_check_usable(client));
  piece_t* piece = hlo_mem_alloc(sizeof *piece);
  if (piece == NULL) return hlo_status_out_of_memory(sizeof *piece);
  hlo_mutex_lock(&item->lock);
  const bool is_open = !item->saw_last && !hlo_event_is_ready(item->ready);
  if (is_open) {
    ++item->pending;
    item->saw_last = is_last;
  }
  hlo_mutex_unlock(&item->lock);
  if (!is_open) {
    hlo_mem_free(piece);
    return hlo_failed_precondition("the buffer is already filled or in error");
  }
  atomic_fetch_add_explicit(&item->count, 1, memory_order_relaxed);
  piece->item = item;
  piece->is_last = is_last;
  piece->client = client;
  hlo_client_work_begin(client);
  *out_piece = piece;
  return hlo_ok();
}

/// Goes on when the copy of the piece, of which `status` tells the start, has ended.
static hlo_status_t await_piece(piece_t* piece, hlo_status_t status, hlo_event_t* done,
                                PJRT_Event** out_done) {
  if (!hlo_status_is_ok(status)) {
    abort_piece(piece, status);
    return status;
  }
  *out_done = (PJRT_Event*)hlo_event_retain(done);
  hlo_event_on_ready(done, &piece->waiter, piece_copied, piece);
  hlo_event_release(done);
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
  piece_t* piece;
  hlo_event_t* done = NULL;
  HLO_TRY(begin_piece(args->transfer_manager, item, args->is_last_transfer, &piece));
  hlo_status_t status = hlo_storage_from_host(item->storage, (size_t)args->offset, args->data,
                                              (size_t)args->transfer_size, &done);
  return await_piece(piece, status, done, &args->done_with_h2d_transfer);
}

/// Computes the byte strides of an array in host memory.
static hlo_status_t literal_strides(
    const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args, const item_t* item,
    const hlo_buffer_shape_t* shape, int64_t* out_strides) {
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  if (args->data == NULL && item->size != 0) {
    return hlo_invalid_argument("the host data of buffer %d are null", args->buffer_index);
  }
  HLO_TRY(hlo_pjrt_layout_order(args->shape_layout, shape, order));
  hlo_dim_order_strides(hlo_dtype_size_bytes(shape->dtype), shape->rank, shape->dims, order,
                        out_strides);
  return hlo_ok();
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
  int64_t strides[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(literal_strides(args, item, &shape, strides));
  piece_t* piece;
  hlo_event_t* done = NULL;
  HLO_TRY(begin_piece(args->transfer_manager, item, true, &piece));
  hlo_status_t status =
      hlo_storage_array_from_host(item->storage, &item->shape, args->data, strides, &done);
  return await_piece(piece, status, done, &args->done_with_h2d_transfer);
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
