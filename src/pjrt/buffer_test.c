// SPDX-License-Identifier: Apache-2.0
// Tests of buffers through the PJRT C API: host copies under all contracts, views, aliases,
// transfers in pieces, deletion and donation.
#include <stdatomic.h>

#include "pjrt/test_util.h"

static int set_up(void** state) {
  *state = hlo_test_create_client(2);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

// --- Questions -----------------------------------------------------------------------------------

static void test_questions(void** state) {
  PJRT_Client* client = *state;
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  PJRT_Buffer* buffer = hlo_test_upload(client, PJRT_Buffer_Type_S32, data, (int64_t[]){2, 3}, 2);
  PJRT_Buffer_ElementType_Args type = ARGS(Buffer_ElementType, .buffer = buffer);
  OK(Buffer_ElementType, &type);
  assert_int_equal(type.type, PJRT_Buffer_Type_S32);
  PJRT_Buffer_Dimensions_Args dims = ARGS(Buffer_Dimensions, .buffer = buffer);
  OK(Buffer_Dimensions, &dims);
  assert_int_equal(dims.num_dims, 2);
  assert_int_equal(dims.dims[1], 3);
  PJRT_Buffer_OnDeviceSizeInBytes_Args size = ARGS(Buffer_OnDeviceSizeInBytes, .buffer = buffer);
  OK(Buffer_OnDeviceSizeInBytes, &size);
  assert_int_equal(size.on_device_size_in_bytes, sizeof data);
  PJRT_Buffer_GetMemoryLayout_Args layout = ARGS(Buffer_GetMemoryLayout, .buffer = buffer);
  OK(Buffer_GetMemoryLayout, &layout);
  assert_int_equal(layout.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  assert_int_equal(layout.layout.tiled.minor_to_major[0], 1);
  PJRT_Buffer_Device_Args device = ARGS(Buffer_Device, .buffer = buffer);
  OK(Buffer_Device, &device);
  assert_ptr_equal(device.device, hlo_test_device_of(client, 0));
  PJRT_Buffer_Memory_Args memory = ARGS(Buffer_Memory, .buffer = buffer);
  OK(Buffer_Memory, &memory);
  assert_ptr_equal(memory.memory, hlo_test_memory_of(device.device));
  PJRT_Buffer_IsOnCpu_Args on_cpu = ARGS(Buffer_IsOnCpu, .buffer = buffer);
  OK(Buffer_IsOnCpu, &on_cpu);
  const char* backend = getenv("HLOCC_DEVICE_BACKEND");
  assert_int_equal(on_cpu.is_on_cpu, !backend || strcmp(backend, "slow") != 0);
  hlo_test_await(hlo_test_ready_event(buffer));
  hlo_test_destroy_buffer(buffer);
}

static void test_hostile_shapes(void** state) {
  const char data[1] = {0};
  PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
      Client_BufferFromHostBuffer, .client = *state, .data = data, .type = PJRT_Buffer_Type_F64,
      .dims = (int64_t[]){INT64_MAX, 2}, .num_dims = 2, .device = hlo_test_device_of(*state, 0));
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "2^63 bytes or more");
  args.dims = (int64_t[]){-1, 2};
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "dimension 0 is -1");
  args.num_dims = 1000;
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "1000");
  args.num_dims = 0;
  args.type = (PJRT_Buffer_Type)1234;
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "1234");
  args.type = PJRT_Buffer_Type_F64;
  args.device = NULL;
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "neither a device nor a memory");
}

// --- Host layouts --------------------------------------------------------------------------------

static void test_strides_from_the_host(void** state) {
  const float columns[6] = {0, 10, 1, 11, 2, 12};  // 2x3, column-major
  PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
      Client_BufferFromHostBuffer, .client = *state, .data = columns, .type = PJRT_Buffer_Type_F32,
      .dims = (int64_t[]){2, 3}, .num_dims = 2, .byte_strides = (int64_t[]){4, 8},
      .num_byte_strides = 2, .device = hlo_test_device_of(*state, 0));
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
  float rows[6];
  hlo_test_download(args.buffer, rows, sizeof rows);
  assert_memory_equal(rows, ((float[]){0, 1, 2, 10, 11, 12}), sizeof rows);
  hlo_test_destroy_buffer(args.buffer);
}

static void test_layouts_to_the_host(void** state) {
  const float data[6] = {0, 1, 2, 10, 11, 12};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2, 3}, 2);
  float out[6];
  PJRT_Buffer_MemoryLayout tiled = {
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.minor_to_major = (int64_t[]){0, 1}, .minor_to_major_size = 2}};
  PJRT_Buffer_MemoryLayout strided = {
      .type = PJRT_Buffer_MemoryLayout_Type_Strides,
      .strides = {.byte_strides = (int64_t[]){4, 8}, .num_byte_strides = 2}};
  PJRT_Buffer_MemoryLayout* layouts[] = {&tiled, &strided};
  for (size_t i = 0; i < 2; ++i) {
    PJRT_Buffer_ToHostBuffer_Args args =
        ARGS(Buffer_ToHostBuffer, .src = buffer, .host_layout = layouts[i], .dst = out,
             .dst_size = sizeof out);
    OK(Buffer_ToHostBuffer, &args);
    hlo_test_await(args.event);
    assert_memory_equal(out, ((float[]){0, 10, 1, 11, 2, 12}), sizeof out);
  }
  PJRT_Buffer_ToHostBuffer_Args args = ARGS(Buffer_ToHostBuffer, .src = buffer);
  OK(Buffer_ToHostBuffer, &args);
  assert_int_equal(args.dst_size, sizeof data);
  args.dst = out;
  args.dst_size = sizeof out - 1;
  FAILS(Buffer_ToHostBuffer, &args, INVALID_ARGUMENT, "");
  args.dst_size = sizeof out;
  args.host_layout = &tiled;
  tiled.tiled.minor_to_major = (int64_t[]){0, 0};
  FAILS(Buffer_ToHostBuffer, &args, INVALID_ARGUMENT, "permutation");
  args.host_layout = &strided;
  strided.strides.byte_strides = (int64_t[]){4, 100};
  FAILS(Buffer_ToHostBuffer, &args, UNIMPLEMENTED, "gaps");
  hlo_test_destroy_buffer(buffer);
}

static void test_types_below_a_byte(void** state) {
  const int8_t data[7] = {-8, -1, 0, 1, 2, 3, 7};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_S4, data, (int64_t[]){7}, 1);
  int8_t out[7];
  hlo_test_download(buffer, out, sizeof out);
  assert_memory_equal(out, data, sizeof data);
  hlo_test_destroy_buffer(buffer);
}

// --- Contracts for host memory -------------------------------------------------------------------

static void test_host_buffer_semantics(void** state) {
  for (int semantics = 0; semantics <= PJRT_HostBufferSemantics_kMutableZeroCopy; ++semantics) {
    float* data = aligned_alloc(64, 64);
    for (int i = 0; i < 16; ++i) data[i] = (float)i;
    PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
        Client_BufferFromHostBuffer, .client = *state, .data = data, .type = PJRT_Buffer_Type_F32,
        .dims = (int64_t[]){16}, .num_dims = 1, .device = hlo_test_device_of(*state, 0),
        .host_buffer_semantics = (PJRT_HostBufferSemantics)semantics);
    OK(Client_BufferFromHostBuffer, &args);
    const bool is_zero_copy = semantics >= PJRT_HostBufferSemantics_kImmutableZeroCopy;
    if (!is_zero_copy) {
      if (semantics != PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) {
        OK(Event_Await, &ARGS(Event_Await, .event = args.done_with_host_buffer));
      }
      memset(data, 0xff, 64);
    }
    float out[16];
    hlo_test_download(args.buffer, out, sizeof out);
    assert_true(out[15] == 15.0f);
    hlo_test_destroy_buffer(args.buffer);
    hlo_test_await(args.done_with_host_buffer);
    free(data);
  }
}

// --- Raw bytes -----------------------------------------------------------------------------------

static void test_raw_bytes(void** state) {
  const uint8_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_U8, data, (int64_t[]){8}, 1);
  uint8_t out[4] = {0};
  PJRT_Buffer_CopyRawToHost_Args args =
      ARGS(Buffer_CopyRawToHost, .buffer = buffer, .dst = out, .offset = 2, .transfer_size = 4);
  OK(Buffer_CopyRawToHost, &args);
  hlo_test_await(args.event);
  assert_memory_equal(out, data + 2, 4);
  args.offset = 7;
  args.transfer_size = 2;
  FAILS(Buffer_CopyRawToHost, &args, INVALID_ARGUMENT, "");
  hlo_test_destroy_buffer(buffer);
}

static void test_raw_bytes_to_a_later_place(void** state) {
  const uint8_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int fail = 0; fail < 2; ++fail) {
    PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_U8, data, (int64_t[]){8}, 1);
    PJRT_Buffer_CopyRawToHostFuture_Args args =
        ARGS(Buffer_CopyRawToHostFuture, .buffer = buffer, .offset = 1, .transfer_size = 3);
    OK(Buffer_CopyRawToHostFuture, &args);
    hlo_test_destroy_buffer(buffer);
    uint8_t out[3] = {0};
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args ready = {
        .struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
        .callback_data = args.callback_data,
        .error_code = fail ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK,
        .error_message = "no place",
        .error_message_size = 8,
        .dst = out};
    args.future_ready_callback(&ready);
    if (fail) {
      hlo_test_await_error(args.event, PJRT_Error_Code_ABORTED, "no place");
    } else {
      hlo_test_await(args.event);
      assert_memory_equal(out, data + 1, 3);
    }
  }
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_U8, data, (int64_t[]){8}, 1);
  FAILS(Buffer_CopyRawToHostFuture,
        &ARGS(Buffer_CopyRawToHostFuture, .buffer = buffer, .offset = INT64_MAX,
              .transfer_size = INT64_MAX),
        INVALID_ARGUMENT, "8 bytes");
  hlo_test_destroy_buffer(buffer);
}

// --- Deletion, donation, copies ------------------------------------------------------------------

static void test_deletion(void** state) {
  const float data[2] = {1, 2};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2}, 1);
  assert_false(hlo_test_is_deleted(buffer));
  OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = buffer));
  OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = buffer));
  assert_true(hlo_test_is_deleted(buffer));
  hlo_test_await_error(hlo_test_ready_event(buffer), PJRT_Error_Code_INVALID_ARGUMENT,
                       "deleted or donated");
  float out[2];
  PJRT_Error* error = GetPjrtApi()->PJRT_Buffer_ToHostBuffer(
      &ARGS(Buffer_ToHostBuffer, .src = buffer, .dst = out, .dst_size = sizeof out));
  assert_non_null(error);
  hlo_test_destroy_error(error);
  hlo_test_destroy_buffer(buffer);
}

static void test_copies(void** state) {
  const float data[2] = {1, 2};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2}, 1);
  PJRT_Buffer_CopyToDevice_Args to_device =
      ARGS(Buffer_CopyToDevice, .buffer = buffer, .dst_device = hlo_test_device_of(*state, 1));
  OK(Buffer_CopyToDevice, &to_device);
  PJRT_Device_AddressableMemories_Args memories =
      ARGS(Device_AddressableMemories, .device = hlo_test_device_of(*state, 1));
  OK(Device_AddressableMemories, &memories);
  PJRT_Buffer_CopyToMemory_Args to_memory =
      ARGS(Buffer_CopyToMemory, .buffer = to_device.dst_buffer, .dst_memory = memories.memories[1]);
  OK(Buffer_CopyToMemory, &to_memory);
  hlo_test_destroy_buffer(buffer);
  hlo_test_destroy_buffer(to_device.dst_buffer);
  PJRT_Buffer_Memory_Args memory = ARGS(Buffer_Memory, .buffer = to_memory.dst_buffer);
  OK(Buffer_Memory, &memory);
  assert_ptr_equal(memory.memory, memories.memories[1]);
  float out[2];
  hlo_test_download(to_memory.dst_buffer, out, sizeof out);
  assert_memory_equal(out, data, sizeof data);
  hlo_test_destroy_buffer(to_memory.dst_buffer);
}

static void test_external_references(void** state) {
  const float data[2] = {1, 2};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2}, 1);
  FAILS(Buffer_DecreaseExternalReferenceCount,
        &ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer), FAILED_PRECONDITION, "");
  OK(Buffer_IncreaseExternalReferenceCount,
     &ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = buffer));
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args pointer =
      ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
  OK(Buffer_OpaqueDeviceMemoryDataPointer, &pointer);
  assert_memory_equal(pointer.device_memory_ptr, data, sizeof data);
  PJRT_Buffer_UnsafePointer_Args number = ARGS(Buffer_UnsafePointer, .buffer = buffer);
  OK(Buffer_UnsafePointer, &number);
  assert_int_equal(number.buffer_pointer, (uintptr_t)pointer.device_memory_ptr);
  OK(Buffer_DecreaseExternalReferenceCount,
     &ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer));
  hlo_test_destroy_buffer(buffer);
}

static void test_bitcast(void** state) {
  const float data[2] = {1, 2};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2}, 1);
  PJRT_Buffer_Bitcast_Args args =
      ARGS(Buffer_Bitcast, .buffer = buffer, .element_type = PJRT_Buffer_Type_U8,
           .dims = (int64_t[]){2, 4}, .num_dims = 2);
  OK(Buffer_Bitcast, &args);
  uint8_t out[8];
  hlo_test_download(args.out_buffer, out, sizeof out);
  assert_memory_equal(out, data, sizeof data);
  assert_false(hlo_test_is_deleted(buffer));
  hlo_test_destroy_buffer(args.out_buffer);
  args.dims = (int64_t[]){2, 5};
  FAILS(Buffer_Bitcast, &args, INVALID_ARGUMENT, "8 bytes");
  hlo_test_destroy_buffer(buffer);
}

static void test_donation_with_a_dependency(void** state) {
  const float data[2] = {1, 2};
  PJRT_Buffer* buffer = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2}, 1);
  PJRT_Buffer_DonateWithControlDependency_Args args =
      ARGS(Buffer_DonateWithControlDependency, .buffer = buffer);
  OK(Buffer_DonateWithControlDependency, &args);
  assert_true(hlo_test_is_deleted(buffer));
  hlo_test_destroy_buffer(buffer);
  PJRT_Event* event = hlo_test_ready_event(args.out_buffer);
  PJRT_Event_IsReady_Args ready = ARGS(Event_IsReady, .event = event);
  OK(Event_IsReady, &ready);
  assert_false(ready.is_ready);
  PJRT_Buffer_DonateWithControlDependency_Callback_Args signal = {
      .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
      .callback_data = args.callback_data};
  args.dependency_ready_callback(&signal);
  hlo_test_await(event);
  float out[2];
  hlo_test_download(args.out_buffer, out, sizeof out);
  assert_memory_equal(out, data, sizeof data);
  hlo_test_destroy_buffer(args.out_buffer);
}

// --- Views and buffers without a value -----------------------------------------------------------

static void count_end(void* data, void* user_arg) {
  (void)data;
  atomic_fetch_add((atomic_int*)user_arg, 1);
}

static void test_views(void** state) {
  float* data = aligned_alloc(64, 128);
  data[0] = 7;
  atomic_int ends = 0;
  PJRT_Client_CreateViewOfDeviceBuffer_Args args =
      ARGS(Client_CreateViewOfDeviceBuffer, .client = *state, .device_buffer_ptr = data,
           .dims = (int64_t[]){4}, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32,
           .device = hlo_test_device_of(*state, 0), .on_delete_callback = count_end,
           .on_delete_callback_arg = &ends);
  OK(Client_CreateViewOfDeviceBuffer, &args);
  PJRT_Buffer_UnsafePointer_Args pointer = ARGS(Buffer_UnsafePointer, .buffer = args.buffer);
  OK(Buffer_UnsafePointer, &pointer);
  assert_int_equal(pointer.buffer_pointer, (uintptr_t)data);
  assert_int_equal(atomic_load(&ends), 0);
  hlo_test_destroy_buffer(args.buffer);
  assert_int_equal(atomic_load(&ends), 1);
  args.device_buffer_ptr = data + 1;
  FAILS(Client_CreateViewOfDeviceBuffer, &args, INVALID_ARGUMENT, "misaligned");
  assert_int_equal(atomic_load(&ends), 1);
  free(data);
}

static void test_uninitialized(void** state) {
  PJRT_Client_CreateUninitializedBuffer_Args args =
      ARGS(Client_CreateUninitializedBuffer, .client = *state, .shape_dims = (int64_t[]){3},
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F64,
           .device = hlo_test_device_of(*state, 1));
  OK(Client_CreateUninitializedBuffer, &args);
  hlo_test_await(hlo_test_ready_event(args.buffer));
  hlo_test_destroy_buffer(args.buffer);
}

static void test_error_buffer(void** state) {
  PJRT_Client_CreateErrorBuffer_Args args =
      ARGS(Client_CreateErrorBuffer, .client = *state, .error_code = PJRT_Error_Code_UNAVAILABLE,
           .error_message = "not today", .error_message_size = 9, .shape_dims = (int64_t[]){3},
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F64,
           .memory = hlo_test_memory_of(hlo_test_device_of(*state, 0)));
  OK(Client_CreateErrorBuffer, &args);
  hlo_test_await_error(hlo_test_ready_event(args.buffer), PJRT_Error_Code_UNAVAILABLE, "not today");
  hlo_test_destroy_buffer(args.buffer);
}

static PJRT_Client_CreateAliasBuffer_Args create_alias(PJRT_Client* client) {
  PJRT_Client_CreateAliasBuffer_Args args = ARGS(
      Client_CreateAliasBuffer, .client = client,
      .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)), .shape_dims = (int64_t[]){2},
      .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  OK(Client_CreateAliasBuffer, &args);
  return args;
}

static void test_alias_buffers(void** state) {
  const float data[2] = {1, 2};
  PJRT_Client_CreateAliasBuffer_Args alias = create_alias(*state);
  PJRT_Buffer* source = hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){2}, 1);
  OK(Client_FulfillAliasBuffer, &ARGS(Client_FulfillAliasBuffer, .client = *state, .buffer = source,
                                      .fulfill_alias_buffer_cb = alias.fulfill_alias_buffer_cb));
  float out[2];
  hlo_test_download(alias.alias_buffer, out, sizeof out);
  assert_memory_equal(out, data, sizeof data);
  hlo_test_destroy_buffer(source);
  hlo_test_destroy_buffer(alias.alias_buffer);

  PJRT_Client_CreateAliasBuffer_Args failing = create_alias(*state);
  PJRT_Event* event = hlo_test_ready_event(failing.alias_buffer);
  hlo_test_destroy_buffer(failing.alias_buffer);  // the framework may destroy it first
  OK(Client_FulfillAliasBuffer,
     &ARGS(Client_FulfillAliasBuffer, .client = *state, .status_code = PJRT_Error_Code_CANCELLED,
           .error_message = "never mind", .error_message_size = 10,
           .fulfill_alias_buffer_cb = failing.fulfill_alias_buffer_cb));
  PJRT_Error* error = GetPjrtApi()->PJRT_Event_Await(&ARGS(Event_Await, .event = event));
  assert_non_null(error);
  hlo_test_destroy_error(error);
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = event));
}

static void test_alias_buffers_without_a_value(void** state) {
  PJRT_Client_CreateAliasBuffer_Args alias = create_alias(*state);
  PJRT_Event* event = hlo_test_ready_event(alias.alias_buffer);
  FAILS(Client_FulfillAliasBuffer,
        &ARGS(Client_FulfillAliasBuffer, .client = *state,
              .fulfill_alias_buffer_cb = alias.fulfill_alias_buffer_cb),
        INVALID_ARGUMENT, "a buffer or an error");
  PJRT_Event_IsReady_Args ready = ARGS(Event_IsReady, .event = event);
  OK(Event_IsReady, &ready);
  assert_true(ready.is_ready);
  hlo_test_await_error(event, PJRT_Error_Code_INVALID_ARGUMENT, "a buffer or an error");
  hlo_test_destroy_buffer(alias.alias_buffer);
}

// --- Transfers in pieces -------------------------------------------------------------------------

static PJRT_AsyncHostToDeviceTransferManager* create_manager(PJRT_Client* client,
                                                             PJRT_ShapeSpec* specs, size_t count) {
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args args =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = specs,
           .num_shape_specs = count, .memory = hlo_test_memory_of(hlo_test_device_of(client, 1)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &args);
  return args.transfer_manager;
}

static PJRT_Buffer* retrieve(PJRT_AsyncHostToDeviceTransferManager* manager, int index) {
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args args =
      ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = manager,
           .buffer_index = index);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &args);
  return args.buffer_out;
}

static void send_piece(PJRT_AsyncHostToDeviceTransferManager* manager, int index, const void* data,
                       int64_t offset, int64_t size, bool is_last) {
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args args =
      ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
           .buffer_index = index, .data = (const char*)data + offset, .offset = offset,
           .transfer_size = size, .is_last_transfer = is_last);
  OK(AsyncHostToDeviceTransferManager_TransferData, &args);
  hlo_test_await(args.done_with_h2d_transfer);
}

static void test_transfer_in_pieces(void** state) {
  const float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int64_t dims[] = {2, 4};
  PJRT_ShapeSpec specs[3] = {
      {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32},
      {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32},
      {.dims = dims, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32},
  };
  PJRT_AsyncHostToDeviceTransferManager* manager = create_manager(*state, specs, 3);
  PJRT_Buffer* pieces = retrieve(manager, 0);
  PJRT_Buffer* broken = retrieve(manager, 1);
  PJRT_Buffer* forgotten = retrieve(manager, 2);
  FAILS(AsyncHostToDeviceTransferManager_RetrieveBuffer,
        &ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = manager,
              .buffer_index = 0),
        INVALID_ARGUMENT, "already retrieved");
  PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args size =
      ARGS(AsyncHostToDeviceTransferManager_BufferSize, .transfer_manager = manager);
  OK(AsyncHostToDeviceTransferManager_BufferSize, &size);
  assert_int_equal(size.buffer_size, sizeof data);
  for (int64_t at = 0; at < 32; at += 3) {
    send_piece(manager, 0, data, at, at + 3 <= 32 ? 3 : 32 - at, at + 3 >= 32);
  }
  float out[8];
  hlo_test_download(pieces, out, sizeof out);
  assert_memory_equal(out, data, sizeof data);
  FAILS(AsyncHostToDeviceTransferManager_TransferData,
        &ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
              .data = data, .offset = 0, .transfer_size = 4),
        FAILED_PRECONDITION, "already filled");
  FAILS(AsyncHostToDeviceTransferManager_TransferData,
        &ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
              .buffer_index = 1, .data = data, .offset = 31, .transfer_size = 2),
        INVALID_ARGUMENT, "do not fit");
  OK(AsyncHostToDeviceTransferManager_SetBufferError,
     &ARGS(AsyncHostToDeviceTransferManager_SetBufferError, .transfer_manager = manager,
           .buffer_index = 1, .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "lost",
           .error_message_size = 4));
  hlo_test_await_error(hlo_test_ready_event(broken), PJRT_Error_Code_DATA_LOSS, "lost");
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
  hlo_test_await_error(hlo_test_ready_event(forgotten), PJRT_Error_Code_ABORTED, "buffer 2");
  hlo_test_destroy_buffer(pieces);
  hlo_test_destroy_buffer(broken);
  hlo_test_destroy_buffer(forgotten);
}

// Pieces of more than a few bytes are copied on workers, also when the manager is gone: no piece is
// lost, and the value is ready after the last one, in whatever order they end.
static void test_transfer_of_large_pieces(void** state) {
  enum { PIECES = 8, PIECE_FLOATS = 1 << 18 };
  const int64_t dims[] = {PIECES * PIECE_FLOATS};
  const size_t piece_bytes = PIECE_FLOATS * sizeof(float);
  float *data = malloc(PIECES * piece_bytes), *out = malloc(PIECES * piece_bytes);
  for (int i = 0; i < PIECES * PIECE_FLOATS; ++i) data[i] = (float)i;
  PJRT_ShapeSpec spec = {.dims = dims, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32};
  for (int round = 0; round < 4; ++round) {
    PJRT_ShapeSpec specs[2] = {spec, spec};
    PJRT_AsyncHostToDeviceTransferManager* manager = create_manager(*state, specs, 2);
    PJRT_Buffer *buffer = retrieve(manager, 0), *literal = retrieve(manager, 1);
    PJRT_Event* events[PIECES + 1];
    for (int i = 0; i < PIECES; ++i) {
      const int piece = (i * 5 + round) % PIECES;  // any order
      PJRT_AsyncHostToDeviceTransferManager_TransferData_Args args =
          ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
               .data = data + piece * PIECE_FLOATS, .offset = (int64_t)(piece * piece_bytes),
               .transfer_size = (int64_t)piece_bytes, .is_last_transfer = i == PIECES - 1);
      OK(AsyncHostToDeviceTransferManager_TransferData, &args);
      events[i] = args.done_with_h2d_transfer;
    }
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args whole =
        ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager,
             .buffer_index = 1, .data = data, .shape_dims = dims, .shape_num_dims = 1,
             .shape_element_type = PJRT_Buffer_Type_F32);
    OK(AsyncHostToDeviceTransferManager_TransferLiteral, &whole);
    events[PIECES] = whole.done_with_h2d_transfer;
    OK(AsyncHostToDeviceTransferManager_Destroy,
       &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
    PJRT_Buffer* const buffers[] = {buffer, literal};
    for (int b = 0; b < 2; ++b) {
      memset(out, 0, PIECES * piece_bytes);
      hlo_test_download(buffers[b], out, PIECES * piece_bytes);
      assert_memory_equal(out, data, PIECES * piece_bytes);
      hlo_test_destroy_buffer(buffers[b]);
    }
    for (int i = 0; i <= PIECES; ++i) hlo_test_await(events[i]);
  }
  free(data);
  free(out);
}

static void test_transfer_of_a_literal(void** state) {
  const float columns[6] = {0, 10, 1, 11, 2, 12};  // 2x3, column-major
  const int64_t dims[] = {2, 3};
  PJRT_ShapeSpec spec = {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32};
  PJRT_AsyncHostToDeviceTransferManager* manager = create_manager(*state, &spec, 1);
  PJRT_Buffer_MemoryLayout layout = {
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.minor_to_major = (int64_t[]){0, 1}, .minor_to_major_size = 2}};
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args args =
      ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager,
           .data = columns, .shape_dims = dims, .shape_num_dims = 2,
           .shape_element_type = PJRT_Buffer_Type_S32, .shape_layout = &layout);
  FAILS(AsyncHostToDeviceTransferManager_TransferLiteral, &args, INVALID_ARGUMENT, "type or shape");
  args.shape_element_type = PJRT_Buffer_Type_F32;
  OK(AsyncHostToDeviceTransferManager_TransferLiteral, &args);
  hlo_test_await(args.done_with_h2d_transfer);
  PJRT_Buffer* buffer = retrieve(manager, 0);
  float out[6];
  hlo_test_download(buffer, out, sizeof out);
  assert_memory_equal(out, ((float[]){0, 1, 2, 10, 11, 12}), sizeof out);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
  hlo_test_destroy_buffer(buffer);
}

// One byte per element, as in all transfers between host and device.
static void test_transfer_of_types_below_a_byte(void** state) {
  const int8_t data[5] = {-8, -1, 0, 1, 7};
  const int64_t dims[] = {5};
  const PJRT_ShapeSpec spec = {.dims = dims, .num_dims = 1, .element_type = PJRT_Buffer_Type_S4};
  PJRT_ShapeSpec specs[2] = {spec, spec};
  PJRT_AsyncHostToDeviceTransferManager* manager = create_manager(*state, specs, 2);
  send_piece(manager, 0, data, 0, sizeof data, true);
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args args =
      ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager,
           .buffer_index = 1, .data = data, .shape_dims = dims, .shape_num_dims = 1,
           .shape_element_type = PJRT_Buffer_Type_S4);
  OK(AsyncHostToDeviceTransferManager_TransferLiteral, &args);
  hlo_test_await(args.done_with_h2d_transfer);
  for (int i = 0; i < 2; ++i) {
    PJRT_Buffer* buffer = retrieve(manager, i);
    int8_t out[5];
    hlo_test_download(buffer, out, sizeof out);
    assert_memory_equal(out, data, sizeof data);
    hlo_test_destroy_buffer(buffer);
  }
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
}

// Strides of arrays without elements are arbitrary, even if the product of the other dimensions
// overflows.
static void test_empty_arrays(void** state) {
  const double data[1] = {0};
  const int64_t shapes[][3] = {{5, 0, 3}, {0, 1ll << 40, 1ll << 40}, {1ll << 40, 1ll << 40, 0}};
  int64_t strides[] = {24, 24, 8};
  for (size_t i = 0; i < 3; ++i) {
    PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
        Client_BufferFromHostBuffer, .client = *state, .data = data, .type = PJRT_Buffer_Type_F64,
        .dims = shapes[i], .num_dims = 3, .byte_strides = strides, .num_byte_strides = 3,
        .device = hlo_test_device_of(*state, 0));
    OK(Client_BufferFromHostBuffer, &args);
    hlo_test_await(args.done_with_host_buffer);
    PJRT_Buffer_MemoryLayout layout = {.type = PJRT_Buffer_MemoryLayout_Type_Strides,
                                       .strides = {.byte_strides = strides, .num_byte_strides = 3}};
    double out[1];
    PJRT_Buffer_ToHostBuffer_Args to_host =
        ARGS(Buffer_ToHostBuffer, .src = args.buffer, .host_layout = &layout, .dst = out);
    OK(Buffer_ToHostBuffer, &to_host);
    hlo_test_await(to_host.event);
    hlo_test_destroy_buffer(args.buffer);
    PJRT_ShapeSpec spec = {.dims = shapes[i], .num_dims = 3, .element_type = PJRT_Buffer_Type_F64};
    PJRT_AsyncHostToDeviceTransferManager* manager = create_manager(*state, &spec, 1);
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args literal = ARGS(
        AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager, .data = data,
        .shape_dims = shapes[i], .shape_num_dims = 3, .shape_element_type = PJRT_Buffer_Type_F64);
    OK(AsyncHostToDeviceTransferManager_TransferLiteral, &literal);
    hlo_test_await(literal.done_with_h2d_transfer);
    OK(AsyncHostToDeviceTransferManager_Destroy,
       &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
  }
}

// --- The Layouts extension -----------------------------------------------------------------------

static void test_layout_extension(void** state) {
  const PJRT_Layouts_Extension* layouts = hlo_test_find_extension(PJRT_Extension_Type_Layouts);
  const float data[6] = {0};
  PJRT_Buffer* buffer =
      hlo_test_upload(*state, PJRT_Buffer_Type_F32, data, (int64_t[]){1, 2, 3}, 3);
  PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args of =
      ARGS(Layouts_PJRT_Buffer_MemoryLayout, .buffer = buffer);
  hlo_test_expect_ok(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of), "Buffer_MemoryLayout");
  PJRT_Layouts_MemoryLayout_Serialize_Args text =
      ARGS(Layouts_MemoryLayout_Serialize, .layout = of.layout);
  hlo_test_expect_ok(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text), "MemoryLayout_Serialize");
  assert_int_equal(text.serialized_bytes_size, 7);
  assert_memory_equal(text.serialized_bytes, "{2,1,0}", 7);
  text.serialized_layout_deleter(text.serialized_layout);
  hlo_test_expect_ok(layouts->PJRT_Layouts_MemoryLayout_Destroy(
                         &ARGS(Layouts_MemoryLayout_Destroy, .layout = of.layout)),
                     "MemoryLayout_Destroy");
  hlo_test_destroy_buffer(buffer);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_questions),
      TEST(test_hostile_shapes),
      TEST(test_strides_from_the_host),
      TEST(test_layouts_to_the_host),
      TEST(test_types_below_a_byte),
      TEST(test_host_buffer_semantics),
      TEST(test_raw_bytes),
      TEST(test_raw_bytes_to_a_later_place),
      TEST(test_deletion),
      TEST(test_copies),
      TEST(test_external_references),
      TEST(test_bitcast),
      TEST(test_donation_with_a_dependency),
      TEST(test_views),
      TEST(test_uninitialized),
      TEST(test_error_buffer),
      TEST(test_alias_buffers),
      TEST(test_alias_buffers_without_a_value),
      TEST(test_transfer_in_pieces),
      TEST(test_transfer_of_a_literal),
      TEST(test_transfer_of_large_pieces),
      TEST(test_transfer_of_types_below_a_byte),
      TEST(test_empty_arrays),
      TEST(test_layout_extension),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
