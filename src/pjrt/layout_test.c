// SPDX-License-Identifier: Apache-2.0
// Tests of layouts of buffers through the PJRT C API: requested, reported, and honoured by all
// transfers.
#include <stdio.h>

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
  *state = hlo_test_create_client(2);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

static PJRT_Client_BufferFromHostBuffer_Args upload_args(PJRT_Client* client,
                                                         PJRT_Buffer_MemoryLayout* layout) {
  return ARGS(Client_BufferFromHostBuffer, .client = client, .data = rows,
              .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2,
              .device = hlo_test_device_of(client, 0), .device_layout = layout,
              .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
}

static PJRT_Buffer* upload_columns(PJRT_Client* client) {
  PJRT_Client_BufferFromHostBuffer_Args args = upload_args(client, &column_major);
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
  return args.buffer;
}

static void expect_text(PJRT_Buffer* buffer, const char* expected) {
  const PJRT_Layouts_Extension* layouts = hlo_test_find_extension(PJRT_Extension_Type_Layouts);
  PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args of =
      ARGS(Layouts_PJRT_Buffer_MemoryLayout, .buffer = buffer);
  hlo_test_expect_ok(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of), "Buffer_MemoryLayout");
  PJRT_Layouts_MemoryLayout_Serialize_Args text =
      ARGS(Layouts_MemoryLayout_Serialize, .layout = of.layout);
  hlo_test_expect_ok(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text), "MemoryLayout_Serialize");
  assert_int_equal(text.serialized_bytes_size, strlen(expected));
  assert_memory_equal(text.serialized_bytes, expected, strlen(expected));
  text.serialized_layout_deleter(text.serialized_layout);
  hlo_test_expect_ok(layouts->PJRT_Layouts_MemoryLayout_Destroy(
                         &ARGS(Layouts_MemoryLayout_Destroy, .layout = of.layout)),
                     "MemoryLayout_Destroy");
}

/// Checks that the buffer is column-major by its bytes and in every host layout. Destroys it.
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
  hlo_test_await(raw.event);
  assert_memory_equal(out, columns, sizeof out);
  PJRT_Buffer_MemoryLayout row_major = column_major;
  row_major.tiled.minor_to_major = (int64_t[]){1, 0};
  PJRT_Buffer_ToHostBuffer_Args copy =
      ARGS(Buffer_ToHostBuffer, .src = buffer, .host_layout = &row_major, .dst = out,
           .dst_size = sizeof out);
  OK(Buffer_ToHostBuffer, &copy);
  hlo_test_await(copy.event);
  assert_memory_equal(out, rows, sizeof out);
  copy.host_layout = NULL;  // as on the device
  OK(Buffer_ToHostBuffer, &copy);
  hlo_test_await(copy.event);
  assert_memory_equal(out, columns, sizeof out);
  hlo_test_destroy_buffer(buffer);
}

static void test_upload(void** state) {
  expect_columns(upload_columns(*state));
  PJRT_Buffer_MemoryLayout strided = {
      .type = PJRT_Buffer_MemoryLayout_Type_Strides,
      .strides = {.byte_strides = (int64_t[]){4, 8}, .num_byte_strides = 2}};
  PJRT_Client_BufferFromHostBuffer_Args args = upload_args(*state, &strided);
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
  expect_columns(args.buffer);
  args = upload_args(*state, &column_major);  // from columns on the host
  args.data = columns;
  args.byte_strides = (int64_t[]){4, 8};
  args.num_byte_strides = 2;
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
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
      ARGS(Buffer_CopyToDevice, .buffer = buffer, .dst_device = hlo_test_device_of(*state, 1));
  OK(Buffer_CopyToDevice, &to_device);
  expect_columns(to_device.dst_buffer);
  PJRT_Device_AddressableMemories_Args memories =
      ARGS(Device_AddressableMemories, .device = hlo_test_device_of(*state, 0));
  OK(Device_AddressableMemories, &memories);
  PJRT_Buffer_CopyToMemory_Args to_memory =
      ARGS(Buffer_CopyToMemory, .buffer = buffer, .dst_memory = memories.memories[1]);
  OK(Buffer_CopyToMemory, &to_memory);
  expect_columns(to_memory.dst_buffer);
  hlo_test_destroy_buffer(buffer);
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
  hlo_test_destroy_buffer(buffer);
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
      .device = hlo_test_device_of(*state, 0), .on_delete_callback = ignore_end);
  OK(Client_CreateViewOfDeviceBuffer, &args);
  expect_columns(args.buffer);
}

static void test_uninitialized(void** state) {
  PJRT_Client_CreateUninitializedBuffer_Args args =
      ARGS(Client_CreateUninitializedBuffer, .client = *state, .shape_dims = dims,
           .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
           .shape_layout = &column_major, .device = hlo_test_device_of(*state, 0));
  OK(Client_CreateUninitializedBuffer, &args);
  PJRT_Buffer_UnsafePointer_Args pointer = ARGS(Buffer_UnsafePointer, .buffer = args.buffer);
  OK(Buffer_UnsafePointer, &pointer);
  memcpy((void*)pointer.buffer_pointer, columns, sizeof columns);
  expect_columns(args.buffer);
}

static void test_aliases(void** state) {
  PJRT_Client_CreateAliasBuffer_Args args =
      ARGS(Client_CreateAliasBuffer, .client = *state,
           .memory = hlo_test_memory_of(hlo_test_device_of(*state, 0)), .shape_dims = dims,
           .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
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
  hlo_test_destroy_buffer(args.alias_buffer);
  hlo_test_destroy_buffer(source);
}

static void test_errors(void** state) {
  PJRT_Client_CreateErrorBuffer_Args args = ARGS(
      Client_CreateErrorBuffer, .client = *state, .error_code = PJRT_Error_Code_INTERNAL,
      .shape_dims = dims, .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
      .shape_layout = &column_major, .memory = hlo_test_memory_of(hlo_test_device_of(*state, 0)));
  OK(Client_CreateErrorBuffer, &args);
  expect_text(args.buffer, "{0,1}");
  hlo_test_destroy_buffer(args.buffer);
}

static PJRT_AsyncHostToDeviceTransferManager* create_manager(PJRT_Client* client) {
  static PJRT_ShapeSpec specs[] = {
      {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32},
      {.dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32}};
  static PJRT_Buffer_MemoryLayout* const layouts[] = {&column_major, &column_major};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args args =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = specs,
           .num_shape_specs = 2, .device_layouts = (PJRT_Buffer_MemoryLayout**)layouts,
           .num_device_layouts = 2, .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &args);
  return args.transfer_manager;
}

/// Raw bytes have the device's layout, literals a layout of their own.
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
  hlo_test_await(raw.done_with_h2d_transfer);
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args literal =
      ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager,
           .buffer_index = 1, .data = rows, .shape_dims = dims, .shape_num_dims = 2,
           .shape_element_type = PJRT_Buffer_Type_F32);
  OK(AsyncHostToDeviceTransferManager_TransferLiteral, &literal);
  hlo_test_await(literal.done_with_h2d_transfer);
  for (int i = 0; i < 2; ++i) expect_columns(buffers[i]);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager));
}

// --- Programs ------------------------------------------------------------------------------------

// Adds {0,1} and {1,0}; results in {0,1}, {1,0} and {0,1}, where the transpose disappears.
static const char add_columns[] =
    "func.func public @main(%a: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"},\n"
    "                       %b: tensor<2x3xf32> {mhlo.layout_mode = \"default\"})\n"
    "    -> (tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}, tensor<2x3xf32>,\n"
    "        tensor<3x2xf32> {mhlo.layout_mode = \"auto\"}) {\n"
    "  %0 = stablehlo.add %a, %b : tensor<2x3xf32>\n"
    "  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    "  return %0, %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>\n"
    "}\n";

static const char add_rows[] =
    "func.func public @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>)\n"
    "    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>) {\n"
    "  %0 = stablehlo.add %a, %b : tensor<2x3xf32>\n"
    "  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    "  return %0, %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>\n"
    "}\n";

// CompileOptionsProto with layouts {0,1} and {1,0} of the arguments, {0,1}, {1,0} and {0,1} of the
// results: ShapeProto has element_type (2), dimensions (3), layout (5) with minor_to_major (1).
#define SHAPE(rows, columns, first, second) \
  0x10, 11, 0x1a, 2, rows, columns, 0x2a, 4, 0x0a, 2, first, second
static const char column_options[] = {0x0a,
                                      12,
                                      SHAPE(2, 3, 0, 1),
                                      0x0a,
                                      12,
                                      SHAPE(2, 3, 1, 0),  // argument_layouts
                                      0x1a,
                                      46,  // build options
                                      0x12,
                                      44,
                                      0x10,
                                      13,
                                      0x22,
                                      12,
                                      SHAPE(2, 3, 0, 1),
                                      0x22,
                                      12,
                                      SHAPE(2, 3, 1, 0),
                                      0x22,
                                      12,
                                      SHAPE(3, 2, 0, 1)};
#undef SHAPE

static void expect_layouts(PJRT_LoadedExecutable* loaded) {
  const PJRT_Layouts_Extension* layouts = hlo_test_find_extension(PJRT_Extension_Type_Layouts);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args arguments =
      ARGS(Layouts_PJRT_Executable_GetParameterLayouts, .executable = executable);
  hlo_test_expect_ok(layouts->PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&arguments),
                     "Parameter");
  PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args results =
      ARGS(Layouts_PJRT_Executable_GetOutputLayouts, .executable = executable);
  hlo_test_expect_ok(layouts->PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&results), "Output");
  assert_int_equal(arguments.num_parameters, 2);
  assert_int_equal(results.num_outputs, 3);
  static const char* const expected[] = {"{0,1}", "{1,0}", "{0,1}", "{1,0}", "{0,1}"};
  for (int i = 0; i < 5; ++i) {
    PJRT_Layouts_MemoryLayout_Serialize_Args text =
        ARGS(Layouts_MemoryLayout_Serialize,
             .layout = i < 2 ? arguments.layouts[i] : results.layouts[i - 2]);
    hlo_test_expect_ok(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text),
                       "MemoryLayout_Serialize");
    assert_int_equal(text.serialized_bytes_size, strlen(expected[i]));
    assert_memory_equal(text.serialized_bytes, expected[i], strlen(expected[i]));
  }
  PJRT_Executable_OutputDimensions_Args shape =
      ARGS(Executable_OutputDimensions, .executable = executable);
  OK(Executable_OutputDimensions, &shape);
  assert_memory_equal(shape.dims, ((int64_t[]){2, 3, 2, 3, 3, 2}), 6 * sizeof(int64_t));
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
}

static void expect_raw(PJRT_Buffer* buffer, const char* layout, const float* expected) {
  expect_text(buffer, layout);
  float out[6];
  PJRT_Buffer_CopyRawToHost_Args raw =
      ARGS(Buffer_CopyRawToHost, .buffer = buffer, .dst = out, .transfer_size = sizeof out);
  OK(Buffer_CopyRawToHost, &raw);
  hlo_test_await(raw.event);
  assert_memory_equal(out, expected, sizeof out);
  hlo_test_destroy_buffer(buffer);
}

/// Queries, launches and destroys the program.
static void expect_columns_added(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  expect_layouts(loaded);
  PJRT_Buffer* arguments[2] = {upload_columns(client),
                               hlo_test_upload(client, PJRT_Buffer_Type_F32, rows, dims, 2)};
  PJRT_Buffer* results[3];
  hlo_test_run(loaded, NULL, arguments, 2, results);
  float sums[6], doubled[6];
  for (int i = 0; i < 6; ++i) {
    sums[i] = 2 * rows[i];
    doubled[i] = 2 * columns[i];
  }
  expect_raw(results[0], "{0,1}", doubled);
  expect_raw(results[1], "{1,0}", sums);
  expect_raw(results[2], "{0,1}", sums);
  PJRT_LoadedExecutable_Execute_Args args = ARGS(
      LoadedExecutable_Execute, .executable = loaded,
      .argument_lists = (PJRT_Buffer* const* const[]){(PJRT_Buffer*[]){arguments[1], arguments[1]}},
      .num_devices = 1, .num_args = 2, .output_lists = (PJRT_Buffer * * const[]){results});
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT,
        "argument 0 is f32[2,3]{1,0}, the program expects f32[2,3]{0,1}");
  for (int i = 0; i < 2; ++i) hlo_test_destroy_buffer(arguments[i]);
  hlo_test_destroy_loaded(loaded);
}

static void test_programs_say_layouts(void** state) {
  expect_columns_added(*state, hlo_test_compile(*state, add_columns));
}

static PJRT_LoadedExecutable* compile_with_options(PJRT_Client* client, const char* text) {
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = client, .program = &program, .compile_options = column_options,
           .compile_options_size = sizeof column_options);
  OK(Client_Compile, &args);
  return args.executable;
}

static void test_options_say_layouts(void** state) {
  expect_columns_added(*state, compile_with_options(*state, add_rows));
}

static PJRT_LoadedExecutable* load_again(PJRT_Client* client, PJRT_LoadedExecutable* loaded,
                                         const char* options, size_t options_size) {
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_Serialize_Args bytes = ARGS(Executable_Serialize, .executable = executable);
  OK(Executable_Serialize, &bytes);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
  PJRT_Executable_DeserializeAndLoad_Args again =
      ARGS(Executable_DeserializeAndLoad, .client = client,
           .serialized_executable = bytes.serialized_bytes,
           .serialized_executable_size = bytes.serialized_bytes_size,
           .overridden_serialized_compile_options = options,
           .overridden_serialized_compile_options_size = options_size);
  OK(Executable_DeserializeAndLoad, &again);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  return again.loaded_executable;
}

/// Loads with the options of the compilation, with others without layouts, and with the stored
/// ones.
static void test_serialized_programs_keep_layouts(void** state) {
  static const char one_replica[] = {0x1a, 2, 0x20, 1};
  for (int i = 0; i < 2; ++i) {
    PJRT_LoadedExecutable* loaded =
        i == 0 ? hlo_test_compile(*state, add_columns) : compile_with_options(*state, add_rows);
    loaded = load_again(*state, loaded, NULL, 0);
    loaded = load_again(*state, loaded, one_replica, sizeof one_replica);
    expect_columns_added(*state, load_again(*state, loaded, NULL, 0));
  }
}

static void test_donated_columns(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(
      *state,
      "func.func @main(%a: tensor<2x3xf32> {jax.buffer_donor = true,\n"
      "                                     mhlo.layout_mode = \"{0,1}\"})\n"
      "    -> (tensor<2x3xf32>, tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) {\n"
      "  %0 = stablehlo.add %a, %a : tensor<2x3xf32>\n"
      "  return %0, %0 : tensor<2x3xf32>, tensor<2x3xf32>\n"
      "}\n");
  PJRT_Client_CreateUninitializedBuffer_Args target =
      ARGS(Client_CreateUninitializedBuffer, .client = *state, .shape_dims = dims,
           .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32,
           .shape_layout = &column_major, .device = hlo_test_device_of(*state, 0));
  OK(Client_CreateUninitializedBuffer, &target);
  PJRT_Buffer *argument = target.buffer, *results[2];
  PJRT_Buffer_UnsafePointer_Args before = ARGS(Buffer_UnsafePointer, .buffer = argument);
  OK(Buffer_UnsafePointer, &before);
  memcpy((void*)before.buffer_pointer, columns, sizeof columns);
  hlo_test_run(loaded, NULL, &argument, 1, results);
  assert_true(hlo_test_is_deleted(argument));
  PJRT_Buffer_UnsafePointer_Args after = ARGS(Buffer_UnsafePointer, .buffer = results[1]);
  OK(Buffer_UnsafePointer, &after);
  assert_int_equal(after.buffer_pointer, before.buffer_pointer);
  hlo_test_destroy_buffer(argument);
  expect_raw(results[0], "{1,0}", ((float[]){0, 2, 4, 20, 22, 24}));
  expect_raw(results[1], "{0,1}", ((float[]){0, 20, 2, 22, 4, 24}));
  hlo_test_destroy_loaded(loaded);
}

static const char add_in_hlo[] =
    "HloModule add, entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0})->\n"
    "    (f32[2,3]{0,1}, f32[2,3]{1,0}, f32[3,2]{0,1})}\n"
    "ENTRY main {\n"
    "  a = f32[2,3] parameter(0)\n"
    "  b = f32[2,3] parameter(1)\n"
    "  sum = f32[2,3] add(a, b)\n"
    "  turned = f32[3,2] transpose(sum), dimensions={1,0}\n"
    "  ROOT all = (f32[2,3], f32[2,3], f32[3,2]) tuple(sum, sum, turned)\n"
    "}\n";

static PJRT_LoadedExecutable* compile_hlo(PJRT_Client* client, const char* code, size_t size,
                                          const char* format) {
  const PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                                .code = (char*)code,
                                .code_size = size,
                                .format = format,
                                .format_size = strlen(format)};
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = client, .program = &program);
  OK(Client_Compile, &args);
  return args.executable;
}

static void test_hlo_says_layouts(void** state) {
  expect_columns_added(*state, compile_hlo(*state, add_in_hlo, sizeof add_in_hlo - 1, "hlo"));
}

/// Reads the back end's module as a program of its own.
static void test_optimized_programs_say_layouts(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_columns);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
  PJRT_Executable_OptimizedProgram_Args args =
      ARGS(Executable_OptimizedProgram, .executable = executable, .program = &program);
  OK(Executable_OptimizedProgram, &args);
  program.code = malloc(program.code_size);
  OK(Executable_OptimizedProgram, &args);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
  expect_columns_added(*state,
                       compile_hlo(*state, program.code, program.code_size, "hlo_with_config"));
  free(program.code);
}

static void expect_refused(PJRT_Client* client, const char* mode, PJRT_Error_Code code,
                           const char* part) {
  char text[512];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<2x3xf32>, %%b: tensor<2x3xf32> {mhlo.layout_mode = %s})\n"
           "    -> tensor<2x3xf32> {\n  return %%a : tensor<2x3xf32>\n}\n",
           mode);
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = client, .program = &program);
  hlo_test_expect_error(GetPjrtApi()->PJRT_Client_Compile(&args), code, part);
}

static void test_programs_of_other_layouts_are_refused(void** state) {
  expect_refused(*state, "\"{1,0:T(8,128)}\"", PJRT_Error_Code_UNIMPLEMENTED,
                 "argument 1 of @main: layout {1,0:T(8,128)} is not supported");
  expect_refused(*state, "\"{0,0}\"", PJRT_Error_Code_INVALID_ARGUMENT,
                 "argument 1 of @main: layout {0,0} is no order of 2 dimensions");
  expect_refused(*state, "\"{0}\"", PJRT_Error_Code_INVALID_ARGUMENT, "argument 1 of @main");
  expect_refused(*state, "\"columns\"", PJRT_Error_Code_INVALID_ARGUMENT, "columns");
  expect_refused(*state, "7 : i32", PJRT_Error_Code_INVALID_ARGUMENT, "is no string");
  const PJRT_Program program =
      hlo_test_program_of("func.func @main(%a: tensor<2x3xf32>) { return }");
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = *state, .program = &program, .compile_options = column_options,
           .compile_options_size = sizeof column_options);
  FAILS(Client_Compile, &args, INVALID_ARGUMENT, "layouts of 2 arguments, the program has 1");
  const PJRT_Program other =
      hlo_test_program_of("func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) { return }");
  args.program = &other;
  FAILS(Client_Compile, &args, INVALID_ARGUMENT, "the layout of argument 1");
  const PJRT_Program recursive = hlo_test_program_of(
      "func.func @main(%a: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) { return }\n"
      "func.func private @other(%a: tensor<2x3xf32>) {\n"
      "  func.call @main(%a) : (tensor<2x3xf32>) -> ()\n  return\n}\n");
  args = ARGS(Client_Compile, .client = *state, .program = &recursive);
  FAILS(Client_Compile, &args, UNIMPLEMENTED, "is called as well");
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
      TEST(test_programs_say_layouts),
      TEST(test_options_say_layouts),
      TEST(test_serialized_programs_keep_layouts),
      TEST(test_donated_columns),
      TEST(test_hlo_says_layouts),
      TEST(test_optimized_programs_say_layouts),
      TEST(test_programs_of_other_layouts_are_refused),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
