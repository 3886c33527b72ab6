// SPDX-License-Identifier: Apache-2.0
//
// Layouts of buffers through the PJRT C API: asked for, answered, and honoured by every way in and
// out.
#include "pjrt/test_util.h"

// The array of all tests, 2x3, row by row and column by column.
static const float rows[6] = {0, 1, 2, 10, 11, 12};
static const float columns[6] = {0, 10, 1, 11, 2, 12};
static const int64_t dims[] = {2, 3};

static int64_t column_order[] = {0, 1};
static PJRT_Buffer_MemoryLayout column_major = {
    .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
    .tiled = {.minor_to_major = column_order, .minor_to_major_size = 2}};

static int set_up(void** state) {
  *state = create_client(2);
  return 0;
}

static int tear_down(void** state) {
  destroy_client(*state);
  return 0;
}

static PJRT_Client_BufferFromHostBuffer_Args upload_args(PJRT_Client* client,
                                                         PJRT_Buffer_MemoryLayout* layout) {
  return ARGS(Client_BufferFromHostBuffer, .client = client, .data = rows,
              .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2,
              .device = device_of(client, 0), .device_layout = layout,
              .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
}

static PJRT_Buffer* upload_columns(PJRT_Client* client) {
  PJRT_Client_BufferFromHostBuffer_Args args = upload_args(client, &column_major);
  OK(Client_BufferFromHostBuffer, &args);
  finish(args.done_with_host_buffer);
  return args.buffer;
}

static void expect_text(PJRT_Buffer* buffer, const char* expected) {
  const PJRT_Layouts_Extension* layouts = find_extension(PJRT_Extension_Type_Layouts);
  PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args of =
      ARGS(Layouts_PJRT_Buffer_MemoryLayout, .buffer = buffer);
  expect_ok(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of), "Buffer_MemoryLayout");
  PJRT_Layouts_MemoryLayout_Serialize_Args text =
      ARGS(Layouts_MemoryLayout_Serialize, .layout = of.layout);
  expect_ok(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text), "MemoryLayout_Serialize");
  assert_int_equal(text.serialized_bytes_size, strlen(expected));
  assert_memory_equal(text.serialized_bytes, expected, strlen(expected));
  text.serialized_layout_deleter(text.serialized_layout);
  expect_ok(layouts->PJRT_Layouts_MemoryLayout_Destroy(
                &ARGS(Layouts_MemoryLayout_Destroy, .layout = of.layout)),
            "MemoryLayout_Destroy");
}

/// Says that it is column-major, and is: its bytes and what every host layout gives. Destroys it.
static void expect_columns(PJRT_Buffer* buffer) {
  PJRT_Buffer_GetMemoryLayout_Args layout = ARGS(Buffer_GetMemoryLayout, .buffer = buffer);
  OK(Buffer_GetMemoryLayout, &layout);
  assert_int_equal(layout.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  assert_int_equal(layout.layout.tiled.minor_to_major_size, 2);
  assert_memory_equal(layout.layout.tiled.minor_to_major, column_order, sizeof column_order);
  expect_text(buffer, "{0,1}");
  float out[6];
  PJRT_Buffer_CopyRawToHost_Args raw =
      ARGS(Buffer_CopyRawToHost, .buffer = buffer, .dst = out, .transfer_size = sizeof out);
  OK(Buffer_CopyRawToHost, &raw);
  finish(raw.event);
  assert_memory_equal(out, columns, sizeof out);
  PJRT_Buffer_MemoryLayout row_major = column_major;
  row_major.tiled.minor_to_major = (int64_t[]){1, 0};
  PJRT_Buffer_ToHostBuffer_Args copy =
      ARGS(Buffer_ToHostBuffer, .src = buffer, .host_layout = &row_major, .dst = out,
           .dst_size = sizeof out);
  OK(Buffer_ToHostBuffer, &copy);
  finish(copy.event);
  assert_memory_equal(out, rows, sizeof out);
  copy.host_layout = NULL;  // as on the device
  OK(Buffer_ToHostBuffer, &copy);
  finish(copy.event);
  assert_memory_equal(out, columns, sizeof out);
  destroy_buffer(buffer);
}

static void test_upload(void** state) {
  expect_columns(upload_columns(*state));
  PJRT_Buffer_MemoryLayout strided = {
      .type = PJRT_Buffer_MemoryLayout_Type_Strides,
      .strides = {.byte_strides = (int64_t[]){4, 8}, .num_byte_strides = 2}};
  PJRT_Client_BufferFromHostBuffer_Args args = upload_args(*state, &strided);
  OK(Client_BufferFromHostBuffer, &args);
  finish(args.done_with_host_buffer);
  expect_columns(args.buffer);
  args = upload_args(*state, &column_major);  // from columns on the host
  args.data = columns;
  args.byte_strides = (int64_t[]){4, 8};
  args.num_byte_strides = 2;
  OK(Client_BufferFromHostBuffer, &args);
  finish(args.done_with_host_buffer);
  expect_columns(args.buffer);
}

static void test_other_layouts_are_refused(void** state) {
  PJRT_Buffer_MemoryLayout layout = column_major;
  layout.tiled.tile_dims = (int64_t[]){8, 128, 2};
  layout.tiled.tile_dim_sizes = (size_t[]){2, 1};
  layout.tiled.num_tiles = 2;
  PJRT_Client_BufferFromHostBuffer_Args args = upload_args(*state, &layout);
  FAILS(Client_BufferFromHostBuffer, &args, UNIMPLEMENTED, "{0,1:T(8,128)(2)}");
  layout = column_major;
  layout.tiled.minor_to_major = (int64_t[]){1, 1};
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "not a permutation");
  layout = column_major;
  layout.tiled.minor_to_major_size = 1;
  FAILS(Client_BufferFromHostBuffer, &args, INVALID_ARGUMENT, "not a permutation");
  layout = (PJRT_Buffer_MemoryLayout){
      .type = PJRT_Buffer_MemoryLayout_Type_Strides,
      .strides = {.byte_strides = (int64_t[]){64, 4}, .num_byte_strides = 2}};
  FAILS(Client_BufferFromHostBuffer, &args, UNIMPLEMENTED, "gaps");
}

static void test_copies_keep_layouts(void** state) {
  PJRT_Buffer* buffer = upload_columns(*state);
  PJRT_Buffer_CopyToDevice_Args to_device =
      ARGS(Buffer_CopyToDevice, .buffer = buffer, .dst_device = device_of(*state, 1));
  OK(Buffer_CopyToDevice, &to_device);
  expect_columns(to_device.dst_buffer);
  PJRT_Device_AddressableMemories_Args memories =
      ARGS(Device_AddressableMemories, .device = device_of(*state, 0));
  OK(Device_AddressableMemories, &memories);
  PJRT_Buffer_CopyToMemory_Args to_memory =
      ARGS(Buffer_CopyToMemory, .buffer = buffer, .dst_memory = memories.memories[1]);
  OK(Buffer_CopyToMemory, &to_memory);
  expect_columns(to_memory.dst_buffer);
  destroy_buffer(buffer);
}

static void test_other_handles(void** state) {
  PJRT_Buffer* buffer = upload_columns(*state);
  PJRT_Buffer_Bitcast_Args cast =
      ARGS(Buffer_Bitcast, .buffer = buffer, .element_type = PJRT_Buffer_Type_F32, .dims = dims,
           .num_dims = 2, .device_layout = &column_major);
  OK(Buffer_Bitcast, &cast);
  expect_columns(cast.out_buffer);
  PJRT_Buffer_DonateWithControlDependency_Args donate =
      ARGS(Buffer_DonateWithControlDependency, .buffer = buffer);
  OK(Buffer_DonateWithControlDependency, &donate);
  PJRT_Buffer_DonateWithControlDependency_Callback_Args signal = {
      .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
      .callback_data = donate.callback_data};
  donate.dependency_ready_callback(&signal);
  destroy_buffer(buffer);
  expect_columns(donate.out_buffer);
}

static void ignore_end(void* data, void* user_arg) {
  (void)data;
  (void)user_arg;
}

static void test_views(void** state) {
  _Alignas(64) float data[6];
  memcpy(data, columns, sizeof data);
  PJRT_Client_CreateViewOfDeviceBuffer_Args args = ARGS(
      Client_CreateViewOfDeviceBuffer, .client = *state, .device_buffer_ptr = data, .dims = dims,
      .num_dims = 2, .element_type = PJRT_Buffer_Type_F32, .layout = &column_major,
      .device = device_of(*state, 0), .on_delete_callback = ignore_end);
  OK(Client_CreateViewOfDeviceBuffer, &args);
  expect_columns(args.buffer);
}

static void test_uninitialized(void** state) {
  PJRT_Client_CreateUninitializedBuffer_Args args =
      ARGS(Client_CreateUninitializedBuffer, .client = *state, .shape_dims = dims,
           .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
           .shape_layout = &column_major, .device = device_of(*state, 0));
  OK(Client_CreateUninitializedBuffer, &args);
  PJRT_Buffer_UnsafePointer_Args pointer = ARGS(Buffer_UnsafePointer, .buffer = args.buffer);
  OK(Buffer_UnsafePointer, &pointer);
  memcpy((void*)pointer.buffer_pointer, columns, sizeof columns);
  expect_columns(args.buffer);
}

static void test_aliases(void** state) {
  PJRT_Client_CreateAliasBuffer_Args args =
      ARGS(Client_CreateAliasBuffer, .client = *state, .memory = memory_of(device_of(*state, 0)),
           .shape_dims = dims, .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
           .shape_layout = &column_major);
  PJRT_Buffer* source = upload_columns(*state);
  OK(Client_CreateAliasBuffer, &args);
  OK(Client_FulfillAliasBuffer, &ARGS(Client_FulfillAliasBuffer, .client = *state, .buffer = source,
                                      .fulfill_alias_buffer_cb = args.fulfill_alias_buffer_cb));
  expect_columns(args.alias_buffer);
  args.shape_layout = NULL;
  OK(Client_CreateAliasBuffer, &args);
  FAILS(Client_FulfillAliasBuffer,
        &ARGS(Client_FulfillAliasBuffer, .client = *state, .buffer = source,
              .fulfill_alias_buffer_cb = args.fulfill_alias_buffer_cb),
        INVALID_ARGUMENT, "another layout");
  destroy_buffer(args.alias_buffer);
  destroy_buffer(source);
}

static void test_errors(void** state) {
  PJRT_Client_CreateErrorBuffer_Args args =
      ARGS(Client_CreateErrorBuffer, .client = *state, .error_code = PJRT_Error_Code_INTERNAL,
           .shape_dims = dims, .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
           .shape_layout = &column_major, .memory = memory_of(device_of(*state, 0)));
  OK(Client_CreateErrorBuffer, &args);
  expect_text(args.buffer, "{0,1}");
  destroy_buffer(args.buffer);
}

static PJRT_AsyncHostToDeviceTransferManager* create_manager(PJRT_Client* client) {
  static PJRT_ShapeSpec specs[] = {
      {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32},
      {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32}};
  static PJRT_Buffer_MemoryLayout* const layouts[] = {&column_major, &column_major};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args args =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = specs,
           .num_shape_specs = 2, .device_layouts = (PJRT_Buffer_MemoryLayout**)layouts,
           .num_device_layouts = 2, .memory = memory_of(device_of(client, 0)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &args);
  return args.transfer_manager;
}

/// Raw bytes come as they are on the device, literals in a layout of their own.
static void test_transfer_managers(void** state) {
  PJRT_AsyncHostToDeviceTransferManager* manager = create_manager(*state);
  PJRT_Buffer* buffers[2];
  for (int i = 0; i < 2; ++i) {
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args args =
        ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = manager,
             .buffer_index = i);
    OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &args);
    buffers[i] = args.buffer_out;
  }
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args raw =
      ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = manager,
           .data = columns, .transfer_size = sizeof columns, .is_last_transfer = true);
  OK(AsyncHostToDeviceTransferManager_TransferData, &raw);
  finish(raw.done_with_h2d_transfer);
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args literal =
      ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager,
           .buffer_index = 1, .data = rows, .shape_dims = dims, .shape_num_dims = 2,
           .shape_element_type = PJRT_Buffer_Type_F32);
  OK(AsyncHostToDeviceTransferManager_TransferLiteral, &literal);
  finish(literal.done_with_h2d_transfer);
  for (int i = 0; i < 2; ++i) expect_columns(buffers[i]);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_upload),
      TEST(test_other_layouts_are_refused),
      TEST(test_copies_keep_layouts),
      TEST(test_other_handles),
      TEST(test_views),
      TEST(test_uninitialized),
      TEST(test_aliases),
      TEST(test_errors),
      TEST(test_transfer_managers),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
