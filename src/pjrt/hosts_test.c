// SPDX-License-Identifier: Apache-2.0
// The plugin as hosts in Go, R, Zig, Elixir, Julia and Rust use it: loaded at run time, with
// headers of other versions, objects that garbage collectors destroy in any order on any thread,
// and pointers that mean nothing where a count is zero. The path is in HLOCC_LIBRARY_PATH.
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#include "hlocc/pjrt.h"

static const PJRT_Api* plugin;
#define GetPjrtApi() plugin
#include "pjrt/test_util.h"

typedef const PJRT_Api* get_api_t(void);

static int load_plugin(void** state) {
  (void)state;
  assert_non_null(getenv("HLOCC_LIBRARY_PATH"));
  void* library = dlopen(getenv("HLOCC_LIBRARY_PATH"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail_msg("%s", dlerror());
  get_api_t* get_api = (get_api_t*)dlsym(library, "GetPjrtApi");
  assert_non_null(get_api);
  plugin = get_api();
  OK(Plugin_Initialize, &ARGS(Plugin_Initialize));
  PJRT_Plugin_Attributes_Args attributes = ARGS(Plugin_Attributes);
  OK(Plugin_Attributes, &attributes);
  assert_true(attributes.num_attributes > 0);
  *state = library;
  return 0;
}

static int unload_plugin(void** state) {
  assert_int_equal(dlclose(*state), 0);
  assert_null(dlopen(getenv("HLOCC_LIBRARY_PATH"), RTLD_LAZY | RTLD_NOLOAD));
  return 0;
}

static const char kTwice[] =
    "module @twice {\n"
    "  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";
static const char kStep[] =
    "module @step {\n"
    "  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> "
    "{\n"
    "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";
static const char kNothing[] =
    "module @three {\n"
    "  func.func public @main() -> tensor<f32> {\n"
    "    %0 = stablehlo.constant dense<3.0> : tensor<f32>\n"
    "    return %0 : tensor<f32>\n"
    "  }\n"
    "}\n";
static const int64_t kFour[] = {4};

// Memory that is no valid address: what some languages have for the pointer of an empty list.
static void* nowhere(void) {
  return (void*)(uintptr_t)0xaaaaaaaaaaaaaaaa;
}

// An argument block on the stack of a C helper that sets the size and the object alone.
#define UNINITIALISED(type, name, member, object) \
  type name;                                      \
  memset(&name, 0xaa, sizeof name);               \
  name.struct_size = type##_STRUCT_SIZE;          \
  name.member = object

static void destroy_event(PJRT_Event* event) {
  UNINITIALISED(PJRT_Event_Destroy_Args, args, event, event);
  OK(Event_Destroy, &args);
}

static void await(PJRT_Event* event) {
  OK(Event_Await, &ARGS(Event_Await, .event = event));
  destroy_event(event);
}

static PJRT_LoadedExecutable* compile(PJRT_Client* client, const char* format, const void* code,
                                      size_t size, const char* options, size_t options_size) {
  const PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                                .code = (char*)code,
                                .code_size = size,
                                .format = format,
                                .format_size = strlen(format)};
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = client, .program = &program, .compile_options = options,
           .compile_options_size = options_size);
  OK(Client_Compile, &args);
  return args.executable;
}

// CompileOptionsProto of a portable program: no device (ordinal -1), one replica and partition.
static const char kPortable[] =
    "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x20\x01";
// The same for device 1 by ordinal and by device assignment.
static const char kOnDevice1[] =
    "\x1a\x11\x08\x01\x20\x01\x28\x01\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x01";

static void expect_floats(PJRT_Buffer* buffer, float first, float step) {
  float out[4];
  hlo_test_download(buffer, out, sizeof out);
  for (int i = 0; i < 4; ++i) assert_true(out[i] == first + step * (float)i);
}

static PJRT_Buffer* upload_four(PJRT_Client* client, float first, float step) {
  const float data[] = {first, first + step, first + 2 * step, first + 3 * step};
  return hlo_test_upload(client, PJRT_Buffer_Type_F32, data, kFour, 1);
}

// ---- Go (GoMLX): portable programs, views of aligned memory, finalizers

static void execute_portable(PJRT_LoadedExecutable* loaded, PJRT_Device* device, PJRT_Buffer* in,
                             bool is_donated, PJRT_Buffer** out) {
  const int64_t kept[] = {0};
  PJRT_ExecuteOptions options = {
      .struct_size = offsetof(PJRT_ExecuteOptions, call_location),  // of an older header
      .non_donatable_input_indices = is_donated ? NULL : kept,
      .num_non_donatable_input_indices = is_donated ? 0 : 1,
      .call_location = nowhere()};
  PJRT_Event* event = NULL;
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &options,
           .argument_lists = (PJRT_Buffer* const* const[]){(PJRT_Buffer*[]){in}}, .num_devices = 1,
           .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){out},
           .device_complete_events = &event, .execute_device = device);
  OK(LoadedExecutable_Execute, &args);
  await(event);
}

static void note_end(void* data, void* count) {
  (void)data;
  atomic_fetch_add((atomic_int*)count, 1);
}

static void test_go(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(2);
  PJRT_LoadedExecutable* loaded =
      compile(client, "mlir", kTwice, strlen(kTwice), kPortable, sizeof kPortable - 1);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_GetCompiledMemoryStats_Args stats =
      ARGS(Executable_GetCompiledMemoryStats, .executable = executable);
  stats.struct_size =
      offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes) +
      sizeof stats.host_temp_size_in_bytes;  // of an older header
  OK(Executable_GetCompiledMemoryStats, &stats);
  assert_int_equal(stats.argument_size_in_bytes, 16);
  float* memory = aligned_alloc(64, 64);
  for (int i = 0; i < 4; ++i) memory[i] = (float)i;
  atomic_int ended = 0;
  PJRT_Device* device = hlo_test_device_of(client, 1);
  PJRT_Client_CreateViewOfDeviceBuffer_Args view =
      ARGS(Client_CreateViewOfDeviceBuffer, .client = client, .device_buffer_ptr = memory,
           .dims = kFour, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32, .device = device,
           .on_delete_callback = note_end, .on_delete_callback_arg = &ended);
  OK(Client_CreateViewOfDeviceBuffer, &view);
  PJRT_Buffer_ToHostBuffer_Args size = ARGS(Buffer_ToHostBuffer, .src = view.buffer);
  OK(Buffer_ToHostBuffer, &size);  // no destination: how many bytes?
  assert_int_equal(size.dst_size, 16);
  assert_null(size.event);
  PJRT_Buffer* out = NULL;
  execute_portable(loaded, device, view.buffer, false, &out);
  expect_floats(out, 0, 2);
  hlo_test_destroy_buffer(out);
  for (int i = 0; i < 4; ++i) memory[i] = 1;  // Go writes to shared buffers between launches
  execute_portable(loaded, device, view.buffer, false, &out);
  expect_floats(out, 2, 0);
  hlo_test_destroy_buffer(view.buffer);
  assert_int_equal(ended, 1);
  free(memory);
  // The order of finalizers: the client may be first.
  hlo_test_destroy_client(client);
  hlo_test_destroy_buffer(out);
  hlo_test_destroy_loaded(loaded);
  PJRT_Executable_Name_Args name = ARGS(Executable_Name, .executable = executable);
  OK(Executable_Name, &name);
  assert_int_equal(name.executable_name_size, 5);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
}

static void test_go_runs_hlo_protos(void** state) {
  (void)state;
  FILE* file = fopen("tests/data/hlo/layouts.pb", "rb");
  assert_non_null(file);
  char code[8192];
  const size_t size = fread(code, 1, sizeof code, file);
  fclose(file);
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded =
      compile(client, "hlo", code, size, kPortable, sizeof kPortable - 1);
  const int32_t in[] = {1, 2, 3, 4};
  PJRT_Buffer* argument =
      hlo_test_upload(client, PJRT_Buffer_Type_S32, in, (const int64_t[]){2, 2}, 2);
  PJRT_Buffer* results[2];
  hlo_test_run(loaded, NULL, &argument, 1, results);
  int32_t out[4];
  hlo_test_download(results[0], out, sizeof out);
  assert_true(out[0] == 1 && out[1] == 3 && out[2] == 2 && out[3] == 4);  // column-major
  hlo_test_download(results[1], out, 2 * sizeof *out);
  assert_true(out[0] == 6 && out[1] == 8);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(results[0]);
  hlo_test_destroy_buffer(results[1]);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

// Scalars come with a layout of no dimensions, and are read with one.
static void test_go_reads_scalars(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded =
      compile(client, "mlir", kNothing, strlen(kNothing), kPortable, sizeof kPortable - 1);
  PJRT_Buffer* result = NULL;
  PJRT_Event* event = NULL;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &options, .num_devices = 1,
           .output_lists = (PJRT_Buffer * * const[]){&result}, .device_complete_events = &event,
           .execute_device = hlo_test_device_of(client, 0));
  OK(LoadedExecutable_Execute, &args);  // no list of arguments at all
  await(event);
  PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                     .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
  float out = 0;
  PJRT_Buffer_ToHostBuffer_Args read = ARGS(Buffer_ToHostBuffer, .src = result, .dst = &out,
                                            .dst_size = sizeof out, .host_layout = &layout);
  OK(Buffer_ToHostBuffer, &read);
  await(read.event);
  assert_true(out == 3);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

// ---- R: sizes by sizeof, programs bound to a device, memory of the collector without a copy

static void test_r(void** state) {
  (void)state;
  // R checks the size of the extension for equality.
  const PJRT_FFI_Extension* ffi = hlo_test_find_extension(PJRT_Extension_Type_FFI);
  assert_int_equal(ffi->base.struct_size, 48);
  PJRT_Client* client = hlo_test_create_client(2);
  PJRT_LoadedExecutable* loaded =
      compile(client, "mlir", kStep, strlen(kStep), kOnDevice1, sizeof kOnDevice1 - 1);
  PJRT_LoadedExecutable_AddressableDevices_Args devices =
      ARGS(LoadedExecutable_AddressableDevices, .executable = loaded);
  OK(LoadedExecutable_AddressableDevices, &devices);
  assert_int_equal(devices.num_addressable_devices, 1);
  PJRT_Device* device = devices.addressable_devices[0];
  assert_ptr_equal(device, hlo_test_device_of(client, 1));
  float vector[] = {0, 0, 1, 2, 3, 4};  // elements follow a header, with the alignment of doubles
  PJRT_Client_BufferFromHostBuffer_Args upload = {
      .struct_size = sizeof upload,
      .client = client,
      .data = vector + 2,
      .type = PJRT_Buffer_Type_F32,
      .dims = kFour,
      .num_dims = 1,
      .device = device,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kMutableZeroCopy};
  OK(Client_BufferFromHostBuffer, &upload);
  PJRT_Buffer* arguments[] = {upload.buffer};
  PJRT_Buffer* results[1] = {NULL};
  PJRT_ExecuteOptions options = {.struct_size = sizeof options};
  PJRT_Event* event = NULL;
  PJRT_LoadedExecutable_Execute_Args args = {
      .struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
      .executable = loaded,
      .options = &options,
      .argument_lists = (PJRT_Buffer* const* const[]){arguments},
      .num_devices = 1,
      .num_args = 1,
      .output_lists = (PJRT_Buffer * * const[]){results},
      .device_complete_events = &event};
  OK(LoadedExecutable_Execute, &args);
  OK(Event_Await, &ARGS(Event_Await, .event = event));
  PJRT_Event_Error_Args error = ARGS(Event_Error, .event = event);
  OK(Event_Error, &error);
  destroy_event(event);
  await(upload.done_with_host_buffer);
  expect_floats(results[0], 2, 2);
  hlo_test_destroy_buffer(results[0]);
  // No arguments: a list of one null list.
  PJRT_LoadedExecutable* three =
      compile(client, "mlir", kNothing, strlen(kNothing), kOnDevice1, sizeof kOnDevice1 - 1);
  args.executable = three;
  args.num_args = 0;
  args.argument_lists = (PJRT_Buffer* const* const[]){NULL};
  OK(LoadedExecutable_Execute, &args);
  await(event);
  hlo_test_destroy_buffer(results[0]);
  hlo_test_destroy_loaded(three);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
  hlo_test_destroy_buffer(
      upload.buffer);  // R forgets donated buffers: this one is for leak checkers
}

// ---- Zig (ZML): lists without elements have addresses without meaning; callbacks wake the waiter

typedef struct wakeup {
  sem_t is_ready;
  PJRT_Error* error;
} wakeup_t;

static void wake(PJRT_Error* error, void* user_arg) {
  wakeup_t* wakeup = user_arg;
  wakeup->error = error;
  sem_post(&wakeup->is_ready);
}

// The waiter destroys the event while its callback may still be returning on another thread.
static void await_by_callback(PJRT_Event* event) {
  wakeup_t wakeup = {.error = NULL};
  sem_init(&wakeup.is_ready, 0, 0);
  OK(Event_OnReady, &ARGS(Event_OnReady, .event = event, .callback = wake, .user_arg = &wakeup));
  while (sem_wait(&wakeup.is_ready) != 0) continue;
  destroy_event(event);
  hlo_test_expect_ok(wakeup.error, "callback");
  sem_destroy(&wakeup.is_ready);
}

static PJRT_Buffer_MemoryLayout zig_layout(const int64_t* minor_to_major, size_t rank) {
  return (PJRT_Buffer_MemoryLayout){
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = minor_to_major,
                .minor_to_major_size = rank,
                .tile_dims = nowhere(),
                .tile_dim_sizes = nowhere()}};
}

static void test_zig(void** state) {
  (void)state;
  PJRT_Client_Create_Args create = ARGS(Client_Create, .create_options = nowhere());
  OK(Client_Create, &create);
  PJRT_Client* client = create.client;
  PJRT_LoadedExecutable* loaded = compile(client, "mlir", kTwice, strlen(kTwice), nowhere(), 0);
  PJRT_Memory* memory = hlo_test_memory_of(hlo_test_device_of(client, 0));
  PJRT_Memory_Kind_Args kind = ARGS(Memory_Kind, .memory = memory);
  OK(Memory_Kind, &kind);
  assert_int_equal(kind.kind_size, strlen("device"));  // by which ZML tells the kinds apart
  PJRT_Buffer_MemoryLayout scalar = zig_layout(nowhere(), 0);
  const float one = 1;
  PJRT_Client_BufferFromHostBuffer_Args upload =
      ARGS(Client_BufferFromHostBuffer, .client = client, .data = &one,
           .type = PJRT_Buffer_Type_F32, .dims = nowhere(), .byte_strides = nowhere(),
           .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
           .memory = memory, .device_layout = &scalar);
  OK(Client_BufferFromHostBuffer, &upload);
  await_by_callback(upload.done_with_host_buffer);
  PJRT_Buffer_Dimensions_Args dims = ARGS(Buffer_Dimensions, .buffer = upload.buffer);
  OK(Buffer_Dimensions, &dims);
  assert_int_equal(dims.num_dims, 0);
  hlo_test_destroy_buffer(upload.buffer);
  // Weights arrive in pieces while the program is launched already.
  PJRT_ShapeSpec spec = {.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                         .dims = kFour,
                         .num_dims = 1,
                         .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args transfer =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = memory);
  OK(Client_CreateBuffersForAsyncHostToDevice, &transfer);
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args retrieve =
      ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer,
           .transfer_manager = transfer.transfer_manager);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &retrieve);
  PJRT_Buffer* result = NULL;
  PJRT_Event* end = NULL;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .non_donatable_input_indices = nowhere()};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &options,
           .argument_lists = (PJRT_Buffer* const* const[]){(PJRT_Buffer*[]){retrieve.buffer_out}},
           .num_devices = 1, .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&result},
           .device_complete_events = &end);
  OK(LoadedExecutable_Execute, &args);
  const float data[] = {1, 2, 3, 4};
  for (int64_t offset = 0; offset < 16; offset += 8) {
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args piece =
        ARGS(AsyncHostToDeviceTransferManager_TransferData,
             .transfer_manager = transfer.transfer_manager, .data = (const char*)data + offset,
             .offset = offset, .transfer_size = 8, .is_last_transfer = offset == 8);
    OK(AsyncHostToDeviceTransferManager_TransferData, &piece);
    await_by_callback(piece.done_with_h2d_transfer);
  }
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy,
           .transfer_manager = transfer.transfer_manager));
  await_by_callback(end);
  expect_floats(result, 2, 2);
  hlo_test_destroy_buffer(retrieve.buffer_out);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

static void test_zig_waits_by_callbacks(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, kTwice);
  PJRT_Buffer* in = upload_four(client, 1, 1);
  for (int i = 0; i < 100; ++i) {
    PJRT_Buffer* result = NULL;
    PJRT_Event* end = NULL;
    PJRT_LoadedExecutable_Execute_Args args =
        ARGS(LoadedExecutable_Execute, .executable = loaded,
             .argument_lists = (PJRT_Buffer* const* const[]){&in}, .num_devices = 1, .num_args = 1,
             .output_lists = (PJRT_Buffer * * const[]){&result}, .device_complete_events = &end);
    OK(LoadedExecutable_Execute, &args);
    await_by_callback(end);
    await_by_callback(hlo_test_ready_event(result));
    hlo_test_destroy_buffer(result);
  }
  hlo_test_destroy_buffer(in);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

// ---- Rust (pjrt): lists become slices, whose address must not be null even if they are empty

static void test_rust_makes_slices(void** state) {
  (void)state;
  static const char kEffect[] =
      "module @effect {\n"
      "  func.func public @main() {\n    return\n  }\n}\n";
  PJRT_Client* client = hlo_test_create_client(1);
  const float one = 1;
  PJRT_Buffer* scalar = hlo_test_upload(client, PJRT_Buffer_Type_F32, &one, nowhere(), 0);
  PJRT_Buffer_Dimensions_Args dims = ARGS(Buffer_Dimensions, .buffer = scalar);
  OK(Buffer_Dimensions, &dims);
  assert_non_null(dims.dims);
  PJRT_Buffer_UnpaddedDimensions_Args unpadded = ARGS(Buffer_UnpaddedDimensions, .buffer = scalar);
  OK(Buffer_UnpaddedDimensions, &unpadded);
  assert_non_null(unpadded.unpadded_dims);
  PJRT_Buffer_DynamicDimensionIndices_Args dynamic =
      ARGS(Buffer_DynamicDimensionIndices, .buffer = scalar);
  OK(Buffer_DynamicDimensionIndices, &dynamic);
  assert_int_equal(dynamic.num_dynamic_dims, 0);
  assert_non_null(dynamic.dynamic_dim_indices);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, kEffect);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_OutputElementTypes_Args types =
      ARGS(Executable_OutputElementTypes, .executable = executable);
  OK(Executable_OutputElementTypes, &types);
  assert_int_equal(types.num_output_types, 0);
  assert_non_null(types.output_types);
  PJRT_Executable_OutputDimensions_Args sizes =
      ARGS(Executable_OutputDimensions, .executable = executable);
  OK(Executable_OutputDimensions, &sizes);
  assert_true(sizes.num_outputs == 0 && sizes.dims != NULL && sizes.dim_sizes != NULL);
  PJRT_Executable_OutputMemoryKinds_Args kinds =
      ARGS(Executable_OutputMemoryKinds, .executable = executable);
  OK(Executable_OutputMemoryKinds, &kinds);
  assert_true(kinds.memory_kinds != NULL && kinds.memory_kind_sizes != NULL);
  PJRT_Executable_GetCostAnalysis_Args costs =
      ARGS(Executable_GetCostAnalysis, .executable = executable);
  OK(Executable_GetCostAnalysis, &costs);
  assert_non_null(costs.properties);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_buffer(scalar);
  hlo_test_destroy_client(client);
}

static void count_call(PJRT_Error* error, void* count) {
  assert_null(error);
  atomic_fetch_add((atomic_int*)count, 1);
}

// A future that is dropped destroys its event, whose callback is still called, once.
static void test_rust_drops_futures(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_ShapeSpec spec = {.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                         .dims = kFour,
                         .num_dims = 1,
                         .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args transfer =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &transfer);
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args retrieve =
      ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer,
           .transfer_manager = transfer.transfer_manager);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &retrieve);
  PJRT_Event* ready = hlo_test_ready_event(retrieve.buffer_out);
  atomic_int count = 0;
  OK(Event_OnReady,
     &ARGS(Event_OnReady, .event = ready, .callback = count_call, .user_arg = &count));
  destroy_event(ready);
  assert_int_equal(count, 0);
  const float data[] = {1, 2, 3, 4};
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args all = ARGS(
      AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = transfer.transfer_manager,
      .data = data, .transfer_size = 16, .is_last_transfer = true);
  OK(AsyncHostToDeviceTransferManager_TransferData, &all);
  await(all.done_with_h2d_transfer);
  await(hlo_test_ready_event(retrieve.buffer_out));
  assert_int_equal(count, 1);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy,
           .transfer_manager = transfer.transfer_manager));
  hlo_test_destroy_buffer(retrieve.buffer_out);
  hlo_test_destroy_client(client);
}

// ---- Elixir (EXLA) and Go: threads come and go; the collector's thread destroys

enum { HANDED = 64 };

// Objects that one thread creates and another destroys.
typedef struct handed {
  PJRT_Client* client;
  PJRT_LoadedExecutable* loaded;
  PJRT_Buffer* buffers[HANDED];
} handed_t;

static void* run_as_scheduler(void* context) {
  handed_t* handed = context;
  for (int i = 0; i < HANDED; i += 2) {
    handed->buffers[i] = upload_four(handed->client, (float)i, 1);
    PJRT_Event* end = NULL;
    PJRT_LoadedExecutable_Execute_Args args =
        ARGS(LoadedExecutable_Execute, .executable = handed->loaded,
             .argument_lists = (PJRT_Buffer* const* const[]){&handed->buffers[i]}, .num_devices = 1,
             .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&handed->buffers[i + 1]},
             .device_complete_events = &end);
    OK(LoadedExecutable_Execute, &args);
    destroy_event(end);  // nobody waits
  }
  return NULL;
}

static void* run_as_collector(void* context) {
  handed_t* handed = context;
  for (int i = HANDED; i-- > 0;) hlo_test_destroy_buffer(handed->buffers[i]);
  return NULL;
}

static void run_thread(void* (*run)(void*), handed_t* handed, pthread_t* out_thread) {
  assert_int_equal(pthread_create(out_thread, NULL, run, handed), 0);
}

static void free_binary(PJRT_Error* error, void* binary) {
  assert_null(error);
  free(binary);
}

// Binaries are lent without a copy, and freed as soon as the library says so; their buffers are
// destroyed, and results deleted, while the program may still run.
static void test_elixir_lends_binaries(void** state) {
  (void)state;
  enum { COUNT = 1 << 16, BYTES = COUNT * sizeof(float) };
  static const char kSine[] =
      "func.func public @main(%a: tensor<65536xf32>) -> tensor<65536xf32> {\n"
      "  %0 = stablehlo.sine %a : tensor<65536xf32>\n"
      "  return %0 : tensor<65536xf32>\n}\n";
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, kSine);
  for (int i = 0; i < 10; ++i) {
    float* binary = aligned_alloc(64, BYTES);
    memset(binary, 0, BYTES);
    PJRT_Client_BufferFromHostBuffer_Args upload =
        ARGS(Client_BufferFromHostBuffer, .client = client, .data = binary,
             .type = PJRT_Buffer_Type_F32, .dims = (const int64_t[]){COUNT}, .num_dims = 1,
             .byte_strides = (const int64_t[]){sizeof(float)}, .num_byte_strides = 1,
             .device = hlo_test_device_of(client, 0),
             .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
    OK(Client_BufferFromHostBuffer, &upload);
    OK(Event_OnReady, &ARGS(Event_OnReady, .event = upload.done_with_host_buffer,
                            .callback = free_binary, .user_arg = binary));
    destroy_event(upload.done_with_host_buffer);
    PJRT_Buffer* result = NULL;
    PJRT_LoadedExecutable_Execute_Args args =
        ARGS(LoadedExecutable_Execute, .executable = loaded,
             .argument_lists = (PJRT_Buffer* const* const[]){&upload.buffer}, .num_devices = 1,
             .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&result});
    OK(LoadedExecutable_Execute, &args);
    hlo_test_destroy_buffer(upload.buffer);
    if (i % 2) await(hlo_test_ready_event(result));
    OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = result));
    assert_true(hlo_test_is_deleted(result));
    hlo_test_destroy_buffer(result);
  }
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

static void test_elixir_threads_come_and_go(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, kTwice);
  handed_t handed[2] = {{.client = client, .loaded = loaded}, {.client = client, .loaded = loaded}};
  pthread_t thread, collector;
  run_thread(run_as_scheduler, &handed[0], &thread);
  pthread_join(thread, NULL);
  for (int i = 1; i <= 10; ++i) {
    run_thread(run_as_collector, &handed[(i - 1) % 2], &collector);
    run_thread(run_as_scheduler, &handed[i % 2], &thread);
    pthread_join(thread, NULL);
    pthread_join(collector, NULL);
  }
  // The last buffers and the program outlive the client.
  hlo_test_destroy_client(client);
  run_thread(run_as_collector, &handed[0], &collector);
  pthread_join(collector, NULL);
  hlo_test_destroy_loaded(loaded);
}

// ---- objects that outlive their client

// Calls that need threads fail with a reason; queries answer.
static void test_calls_after_the_client(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, kTwice);
  PJRT_Buffer* in = upload_four(client, 1, 1);
  PJRT_Event* ready = hlo_test_ready_event(in);
  hlo_test_destroy_client(client);
  PJRT_Buffer* result = NULL;
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded,
           .argument_lists = (PJRT_Buffer* const* const[]){&in}, .num_devices = 1, .num_args = 1,
           .output_lists = (PJRT_Buffer * * const[]){&result});
  FAILS(LoadedExecutable_Execute, &args, FAILED_PRECONDITION, "destroyed");
  float out[4];
  PJRT_Buffer_ToHostBuffer_Args read =
      ARGS(Buffer_ToHostBuffer, .src = in, .dst = out, .dst_size = sizeof out);
  FAILS(Buffer_ToHostBuffer, &read, FAILED_PRECONDITION, "destroyed");
  PJRT_Buffer_Device_Args device = ARGS(Buffer_Device, .buffer = in);
  OK(Buffer_Device, &device);
  PJRT_Buffer_CopyToDevice_Args copy =
      ARGS(Buffer_CopyToDevice, .buffer = in, .dst_device = device.device);
  FAILS(Buffer_CopyToDevice, &copy, FAILED_PRECONDITION, "destroyed");
  PJRT_Buffer_ElementType_Args type = ARGS(Buffer_ElementType, .buffer = in);
  OK(Buffer_ElementType, &type);
  assert_int_equal(type.type, PJRT_Buffer_Type_F32);
  await(ready);
  hlo_test_destroy_buffer(in);
  hlo_test_destroy_loaded(loaded);
}

static int count_threads(void) {
  DIR* folder = opendir("/proc/self/task");
  assert_non_null(folder);
  int count = 0;
  for (const struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    count += entry->d_name[0] != '.';
  }
  closedir(folder);
  return count;
}

// Buffers that are never destroyed keep no threads, which would run on when the library is
// unloaded.
static void test_threads_end_with_the_client(void** state) {
  (void)state;
  const int others = count_threads();
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_Buffer* buffer = upload_four(client, 1, 1);
  assert_true(count_threads() > others);
  hlo_test_destroy_client(client);
  for (int n = 0; n < 1000000 && count_threads() > others; ++n) sched_yield();
  assert_int_equal(count_threads(), others);
  hlo_test_destroy_buffer(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_go),
      cmocka_unit_test(test_go_runs_hlo_protos),
      cmocka_unit_test(test_go_reads_scalars),
      cmocka_unit_test(test_r),
      cmocka_unit_test(test_zig),
      cmocka_unit_test(test_zig_waits_by_callbacks),
      cmocka_unit_test(test_rust_makes_slices),
      cmocka_unit_test(test_rust_drops_futures),
      cmocka_unit_test(test_elixir_lends_binaries),
      cmocka_unit_test(test_elixir_threads_come_and_go),
      cmocka_unit_test(test_calls_after_the_client),
      cmocka_unit_test(test_threads_end_with_the_client),
  };
  return cmocka_run_group_tests(tests, load_plugin, unload_plugin);
}
