// SPDX-License-Identifier: Apache-2.0
// Programs for several partitions through the PJRT C API: shardings, devices, launches, donation.
#include <string.h>

#include "pjrt/partition_test_util.h"

enum { PARTITIONS = 4, ROWS = 8, COLUMNS = 2, ROWS_OF_DEVICE = ROWS / PARTITIONS };

static int set_up(void** state) {
  *state = hlo_test_create_client(PARTITIONS);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

static const int natural_order[PARTITIONS] = {0, 1, 2, 3}, reverse_order[PARTITIONS] = {3, 2, 1, 0};

static PJRT_LoadedExecutable* compile(PJRT_Client* client, const char* text, const int* devices) {
  hlo_strbuf_t options = hlo_test_partition_options_on(PARTITIONS, devices);
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = client, .program = &program,
           .compile_options = hlo_strbuf_text(&options), .compile_options_size = options.length);
  OK(Client_Compile, &args);
  hlo_strbuf_deinit(&options);
  return args.executable;
}

// Rows of x are divided; y is the negated x, z the column sums of x on every device.
static const char program[] =
    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
    "  sdy.mesh @mesh = <[\"x\"=4]>\n"
    "  func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>, "
    "tf.aliasing_output = 0 : i32}) -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, "
    "[{\"x\"}, {}]>}, tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {\n"
    "    %0 = stablehlo.negate %x : tensor<8x2xf32>\n"
    "    %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %1 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : "
    "(tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "    return %0, %1 : tensor<8x2xf32>, tensor<2xf32>\n"
    "  }\n"
    "}\n";

// The same by shardings of GSPMD.
static const char tiled_program[] =
    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
    "  func.func @main(%x: tensor<8x2xf32> {mhlo.sharding = \"{devices=[4,1]<=[4]}\", "
    "tf.aliasing_output = 0 : i32}) -> (tensor<8x2xf32> {mhlo.sharding = "
    "\"{devices=[4,1]<=[4]}\"}, tensor<2xf32> {mhlo.sharding = \"{replicated}\"}) {\n"
    "    %0 = stablehlo.negate %x : tensor<8x2xf32>\n"
    "    %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %1 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : "
    "(tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "    return %0, %1 : tensor<8x2xf32>, tensor<2xf32>\n"
    "  }\n"
    "}\n";

// ---- queries

static void expect_shardings(PJRT_Executable* executable) {
  // kind OTHER, tiles [4, 1], iota [4] with permutation [0]
  static const uint8_t rows[] = {0x08, 3, 0x1a, 2, 4, 1, 0x4a, 1, 4, 0x52, 1, 0};
  const PJRT_Shardings_Extension* extension =
      hlo_test_find_extension(PJRT_Extension_Type_Shardings);
  PJRT_Shardings_PJRT_Executable_ParameterShardings_Args parameters =
      ARGS(Shardings_PJRT_Executable_ParameterShardings, .executable = executable);
  hlo_test_expect_ok(extension->PJRT_Shardings_PJRT_Executable_ParameterShardings(&parameters),
                     "ParameterShardings");
  assert_int_equal(parameters.num_parameters, 1);
  assert_int_equal(parameters.sharding_sizes[0], sizeof rows);
  assert_memory_equal(parameters.shardings[0], rows, sizeof rows);
  PJRT_Shardings_PJRT_Executable_OutputShardings_Args outputs =
      ARGS(Shardings_PJRT_Executable_OutputShardings, .executable = executable);
  hlo_test_expect_ok(extension->PJRT_Shardings_PJRT_Executable_OutputShardings(&outputs),
                     "OutputShardings");
  assert_int_equal(outputs.num_outputs, 2);
  assert_int_equal(outputs.sharding_sizes[0], sizeof rows);
  assert_memory_equal(outputs.shardings[0], rows, sizeof rows);
  assert_int_equal(outputs.sharding_sizes[1], 0);  // replicated
}

static void expect_text_of_program(PJRT_Executable* executable) {
  char code[1 << 16];
  PJRT_Program found = {
      .struct_size = PJRT_Program_STRUCT_SIZE, .code = code, .code_size = sizeof code};
  OK(Executable_OptimizedProgram,
     &ARGS(Executable_OptimizedProgram, .executable = executable, .program = &found));
  assert_memory_equal(found.format, "hlo_with_config", strlen("hlo_with_config"));
}

static void expect_sizes(PJRT_Executable* executable) {
  enum { BYTES = ROWS_OF_DEVICE * COLUMNS * sizeof(float) };
  PJRT_Executable_NumPartitions_Args partitions =
      ARGS(Executable_NumPartitions, .executable = executable);
  OK(Executable_NumPartitions, &partitions);
  assert_int_equal(partitions.num_partitions, PARTITIONS);
  PJRT_Executable_GetCompiledMemoryStats_Args memory =
      ARGS(Executable_GetCompiledMemoryStats, .executable = executable);
  OK(Executable_GetCompiledMemoryStats, &memory);
  assert_int_equal(memory.argument_size_in_bytes, BYTES);
  assert_int_equal(memory.alias_size_in_bytes, BYTES);
  assert_int_equal(memory.output_size_in_bytes, BYTES + COLUMNS * sizeof(float));
  PJRT_Executable_OutputDimensions_Args dimensions =
      ARGS(Executable_OutputDimensions, .executable = executable);
  OK(Executable_OutputDimensions, &dimensions);
  assert_int_equal(dimensions.dim_sizes[0], 2);
  assert_int_equal(dimensions.dims[0], ROWS_OF_DEVICE);
  assert_int_equal(dimensions.dims[1], COLUMNS);
}

// Answers describe the program of one device, also when it comes from serialized bytes.
static void test_queries(void** state) {
  const char* const programs[] = {program, tiled_program};
  for (int i = 0; i < 2; ++i) {
    PJRT_LoadedExecutable* loaded = compile(*state, programs[i], natural_order);
    PJRT_Executable* executable = hlo_test_executable_of(loaded);
    expect_shardings(executable);
    expect_text_of_program(executable);
    expect_sizes(executable);
    PJRT_Executable_Serialize_Args bytes = ARGS(Executable_Serialize, .executable = executable);
    OK(Executable_Serialize, &bytes);
    PJRT_Executable_DeserializeAndLoad_Args again =
        ARGS(Executable_DeserializeAndLoad, .client = *state,
             .serialized_executable = bytes.serialized_bytes,
             .serialized_executable_size = bytes.serialized_bytes_size);
    OK(Executable_DeserializeAndLoad, &again);
    bytes.serialized_executable_deleter(bytes.serialized_executable);
    OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
    executable = hlo_test_executable_of(again.loaded_executable);
    expect_shardings(executable);
    expect_sizes(executable);
    OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
    hlo_test_destroy_loaded(again.loaded_executable);
    hlo_test_destroy_loaded(loaded);
  }
}

static void test_devices(void** state) {
  PJRT_LoadedExecutable* loaded = compile(*state, program, reverse_order);
  PJRT_LoadedExecutable_AddressableDevices_Args devices =
      ARGS(LoadedExecutable_AddressableDevices, .executable = loaded);
  OK(LoadedExecutable_AddressableDevices, &devices);
  PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args ids =
      ARGS(LoadedExecutable_AddressableDeviceLogicalIds, .executable = loaded);
  OK(LoadedExecutable_AddressableDeviceLogicalIds, &ids);
  assert_int_equal(devices.num_addressable_devices, PARTITIONS);
  assert_int_equal(ids.num_addressable_device_logical_ids, PARTITIONS);
  for (int i = 0; i < PARTITIONS; ++i) {
    assert_ptr_equal(devices.addressable_devices[i],
                     hlo_test_device_of(*state, (size_t)reverse_order[i]));
    assert_int_equal(ids.addressable_device_logical_ids[i].replica, 0);
    assert_int_equal(ids.addressable_device_logical_ids[i].partition, i);
  }
  PJRT_LoadedExecutable_GetDeviceAssignment_Args assignment =
      ARGS(LoadedExecutable_GetDeviceAssignment, .executable = loaded);
  OK(LoadedExecutable_GetDeviceAssignment, &assignment);
  assert_true(assignment.serialized_bytes_size > 0);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  hlo_test_destroy_loaded(loaded);
}

// ---- launches

// Uploads part `i` of the rows 0, 1, ... to a device.
static PJRT_Buffer* upload_part(PJRT_Client* client, int device, int part) {
  float data[ROWS_OF_DEVICE * COLUMNS];
  for (int i = 0; i < ROWS_OF_DEVICE * COLUMNS; ++i) {
    data[i] = (float)(part * ROWS_OF_DEVICE * COLUMNS + i);
  }
  const int64_t dims[] = {ROWS_OF_DEVICE, COLUMNS};
  PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
      Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_Buffer_Type_F32,
      .dims = dims, .num_dims = 2, .device = hlo_test_device_of(client, (size_t)device),
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
  return args.buffer;
}

typedef struct launch {
  PJRT_Buffer* arguments[PARTITIONS][1];
  PJRT_Buffer* results[PARTITIONS][2];
  PJRT_Buffer* const* argument_rows[PARTITIONS];
  PJRT_Buffer** result_rows[PARTITIONS];
  PJRT_Event* events[PARTITIONS];
  PJRT_ExecuteOptions options;
} launch_t;

static PJRT_LoadedExecutable_Execute_Args prepare(PJRT_Client* client,
                                                  PJRT_LoadedExecutable* loaded, const int* devices,
                                                  launch_t* launch) {
  memset(launch, 0, sizeof *launch);
  launch->options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  for (int i = 0; i < PARTITIONS; ++i) {
    launch->arguments[i][0] = upload_part(client, devices[i], i);
    launch->argument_rows[i] = launch->arguments[i];
    launch->result_rows[i] = launch->results[i];
  }
  return ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &launch->options,
              .argument_lists = launch->argument_rows, .num_devices = PARTITIONS, .num_args = 1,
              .output_lists = launch->result_rows, .device_complete_events = launch->events);
}

static void destroy_arguments(launch_t* launch) {
  for (int i = 0; i < PARTITIONS; ++i) hlo_test_destroy_buffer(launch->arguments[i][0]);
}

// Partition i runs on device 3 - i; each donates its part of the argument.
static void test_execution(void** state) {
  const float sums[COLUMNS] = {0 + 2 + 4 + 6 + 8 + 10 + 12 + 14, 1 + 3 + 5 + 7 + 9 + 11 + 13 + 15};
  PJRT_LoadedExecutable* loaded = compile(*state, program, reverse_order);
  launch_t launch;
  PJRT_LoadedExecutable_Execute_Args args = prepare(*state, loaded, reverse_order, &launch);
  OK(LoadedExecutable_Execute, &args);
  for (int i = 0; i < PARTITIONS; ++i) {
    float part[ROWS_OF_DEVICE * COLUMNS], found[COLUMNS];
    hlo_test_await(launch.events[i]);
    assert_true(hlo_test_is_deleted(launch.arguments[i][0]));
    hlo_test_download(launch.results[i][0], part, sizeof part);
    hlo_test_download(launch.results[i][1], found, sizeof found);
    for (int k = 0; k < ROWS_OF_DEVICE * COLUMNS; ++k) {
      assert_true(part[k] == -(float)(i * ROWS_OF_DEVICE * COLUMNS + k));
    }
    assert_memory_equal(found, sums, sizeof sums);
    PJRT_Buffer_Device_Args device = ARGS(Buffer_Device, .buffer = launch.results[i][0]);
    OK(Buffer_Device, &device);
    assert_ptr_equal(device.device, hlo_test_device_of(*state, (size_t)reverse_order[i]));
    for (int r = 0; r < 2; ++r) hlo_test_destroy_buffer(launch.results[i][r]);
  }
  destroy_arguments(&launch);
  hlo_test_destroy_loaded(loaded);
}

// Faults name device and partition; nothing is donated by a launch that did not begin.
static void test_faults(void** state) {
  PJRT_LoadedExecutable* loaded = compile(*state, program, reverse_order);
  launch_t launch;
  PJRT_LoadedExecutable_Execute_Args args = prepare(*state, loaded, natural_order, &launch);
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT,
        "replica 0, partition 0 (device 3): argument 0 is on device 0");
  for (int i = 0; i < PARTITIONS; ++i) assert_false(hlo_test_is_deleted(launch.arguments[i][0]));
  destroy_arguments(&launch);

  args = prepare(*state, loaded, reverse_order, &launch);
  OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = launch.arguments[2][0]));
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT,
        "replica 0, partition 2 (device 1): argument 0");
  assert_false(hlo_test_is_deleted(launch.arguments[0][0]));
  args.num_devices = 2;
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT, "2");
  destroy_arguments(&launch);
  hlo_test_destroy_loaded(loaded);
}

// A program without results returns an empty tuple, which has a sharding of its own.
static void test_no_results(void** state) {
  static const char text[] =
      "module attributes {mhlo.num_partitions = 4 : i32} {\n"
      "  sdy.mesh @mesh = <[\"x\"=4]>\n"
      "  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
      "    return\n"
      "  }\n"
      "}\n";
  PJRT_LoadedExecutable* loaded = compile(*state, text, natural_order);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  const PJRT_Shardings_Extension* extension =
      hlo_test_find_extension(PJRT_Extension_Type_Shardings);
  PJRT_Shardings_PJRT_Executable_OutputShardings_Args outputs =
      ARGS(Shardings_PJRT_Executable_OutputShardings, .executable = executable);
  hlo_test_expect_ok(extension->PJRT_Shardings_PJRT_Executable_OutputShardings(&outputs),
                     "OutputShardings");
  assert_int_equal(outputs.num_outputs, 1);
  assert_int_equal(outputs.sharding_sizes[0], 0);  // replicated
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_queries, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_results, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_devices, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_execution, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_faults, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
