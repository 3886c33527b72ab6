// SPDX-License-Identifier: Apache-2.0
// Tests of programs through the PJRT C API: compile, query, launch, donate, serialize, reload.
#include "pjrt/test_util.h"

#include <dirent.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/test_util.h"

static const char add_program[] =
    "module @adder {\n"
    "  func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>)\n"
    "      -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "    %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
    "    %1 = stablehlo.multiply %a, %b : tensor<4xf32>\n"
    "    return %0, %1 : tensor<4xf32>, tensor<4xf32>\n"
    "  }\n"
    "}\n";

static const char donating_program[] =
    "module @increment {\n"
    "  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32})\n"
    "      -> tensor<4xf32> {\n"
    "    %one = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
    "    %0 = stablehlo.add %a, %one : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";

static int set_up(void** state) {
  *state = hlo_test_create_client(2);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

static PJRT_Buffer* upload_four(PJRT_Client* client, float first) {
  const float data[4] = {first, first + 1, first + 2, first + 3};
  return hlo_test_upload(client, PJRT_Buffer_Type_F32, data, (int64_t[]){4}, 1);
}

static void expect_four(PJRT_Buffer* buffer, float a, float b, float c, float d) {
  float out[4];
  hlo_test_download(buffer, out, sizeof out);
  const float expected[4] = {a, b, c, d};
  assert_memory_equal(out, expected, sizeof out);
}

static void test_compile_and_run(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_program);
  PJRT_Buffer* arguments[2] = {upload_four(*state, 1), upload_four(*state, 10)};
  PJRT_Buffer* results[2];
  hlo_test_run(loaded, NULL, arguments, 2, results);
  expect_four(results[0], 11, 13, 15, 17);
  expect_four(results[1], 10, 22, 36, 52);
  for (int i = 0; i < 2; ++i) {
    assert_false(hlo_test_is_deleted(arguments[i]));
    hlo_test_destroy_buffer(arguments[i]);
    hlo_test_destroy_buffer(results[i]);
  }
  hlo_test_destroy_loaded(loaded);
}

static void test_questions(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_program);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_Name_Args name = ARGS(Executable_Name, .executable = executable);
  OK(Executable_Name, &name);
  assert_string_equal(name.executable_name, "adder");
  PJRT_Executable_NumOutputs_Args outputs = ARGS(Executable_NumOutputs, .executable = executable);
  OK(Executable_NumOutputs, &outputs);
  assert_int_equal(outputs.num_outputs, 2);
  PJRT_Executable_OutputElementTypes_Args types =
      ARGS(Executable_OutputElementTypes, .executable = executable);
  OK(Executable_OutputElementTypes, &types);
  assert_int_equal(types.output_types[1], PJRT_Buffer_Type_F32);
  PJRT_Executable_OutputDimensions_Args dims =
      ARGS(Executable_OutputDimensions, .executable = executable);
  OK(Executable_OutputDimensions, &dims);
  assert_int_equal(dims.dim_sizes[1], 1);
  assert_int_equal(dims.dims[1], 4);
  PJRT_Executable_ParameterMemoryKinds_Args kinds =
      ARGS(Executable_ParameterMemoryKinds, .executable = executable);
  OK(Executable_ParameterMemoryKinds, &kinds);
  assert_int_equal(kinds.num_parameters, 2);
  assert_string_equal(kinds.memory_kinds[0], "device");
  PJRT_Executable_GetCostAnalysis_Args cost =
      ARGS(Executable_GetCostAnalysis, .executable = executable);
  OK(Executable_GetCostAnalysis, &cost);
  assert_string_equal(cost.properties[0].name, "flops");
  assert_true(cost.properties[0].float_value == 8.0f);
  PJRT_Executable_GetCompiledMemoryStats_Args memory =
      ARGS(Executable_GetCompiledMemoryStats, .executable = executable);
  OK(Executable_GetCompiledMemoryStats, &memory);
  assert_int_equal(memory.argument_size_in_bytes, 32);
  assert_int_equal(memory.output_size_in_bytes, 32);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  PJRT_LoadedExecutable_AddressableDevices_Args devices =
      ARGS(LoadedExecutable_AddressableDevices, .executable = loaded);
  OK(LoadedExecutable_AddressableDevices, &devices);
  assert_int_equal(devices.num_addressable_devices, 1);
  hlo_test_destroy_loaded(loaded);
}

// Arrays in host memory count there, not as memory of the device.
static void test_memory_stats_by_kind(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(
      *state,
      "func.func public @main(%a: tensor<8xf32> {mhlo.memory_kind = \"pinned_host\", "
      "tf.aliasing_output = 0 : i32}, %b: tensor<8xf32> {tf.aliasing_output = 1 : i32})\n"
      "    -> (tensor<8xf32> {mhlo.memory_kind = \"pinned_host\"},\n"
      "        tensor<8xf32> {mhlo.memory_kind = \"unpinned_host\"}) {\n"
      "  %0 = stablehlo.add %a, %b : tensor<8xf32>\n"
      "  %1 = stablehlo.subtract %a, %b : tensor<8xf32>\n"
      "  return %0, %1 : tensor<8xf32>, tensor<8xf32>\n"
      "}\n");
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_OutputMemoryKinds_Args kinds =
      ARGS(Executable_OutputMemoryKinds, .executable = executable);
  OK(Executable_OutputMemoryKinds, &kinds);
  assert_string_equal(kinds.memory_kinds[1], "unpinned_host");
  PJRT_Executable_GetCompiledMemoryStats_Args memory =
      ARGS(Executable_GetCompiledMemoryStats, .executable = executable);
  OK(Executable_GetCompiledMemoryStats, &memory);
  assert_int_equal(memory.argument_size_in_bytes, 32);
  assert_int_equal(memory.output_size_in_bytes, 0);
  assert_int_equal(memory.alias_size_in_bytes, 0);
  assert_int_equal(memory.host_argument_size_in_bytes, 32);
  assert_int_equal(memory.host_output_size_in_bytes, 64);
  assert_int_equal(memory.host_alias_size_in_bytes, 32);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
}

static void test_nothing_is_sharded(void** state) {
  const PJRT_Shardings_Extension* extension =
      hlo_test_find_extension(PJRT_Extension_Type_Shardings);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_program);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Shardings_PJRT_Executable_ParameterShardings_Args parameters =
      ARGS(Shardings_PJRT_Executable_ParameterShardings, .executable = executable);
  hlo_test_expect_ok(extension->PJRT_Shardings_PJRT_Executable_ParameterShardings(&parameters),
                     "ParameterShardings");
  assert_int_equal(parameters.num_parameters, 2);
  assert_null(parameters.shardings);
  PJRT_Shardings_PJRT_Executable_OutputShardings_Args outputs =
      ARGS(Shardings_PJRT_Executable_OutputShardings, .executable = executable);
  hlo_test_expect_ok(extension->PJRT_Shardings_PJRT_Executable_OutputShardings(&outputs),
                     "OutputShardings");
  assert_int_equal(outputs.num_outputs, 2);
  assert_null(outputs.shardings);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
}

static void test_optimized_program(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_program);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
  PJRT_Executable_OptimizedProgram_Args args =
      ARGS(Executable_OptimizedProgram, .executable = executable, .program = &program);
  OK(Executable_OptimizedProgram, &args);
  assert_true(program.code_size > 0);
  assert_int_equal(program.format_size, strlen("hlo_with_config"));
  assert_memory_equal(program.format, "hlo_with_config", program.format_size);
  program.code = malloc(program.code_size);
  OK(Executable_OptimizedProgram, &args);
  PJRT_Client_Compile_Args again = ARGS(Client_Compile, .client = *state, .program = &program);
  OK(Client_Compile, &again);
  hlo_test_destroy_loaded(again.executable);
  free(program.code);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
}

static void test_donation(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  PJRT_Buffer* argument = upload_four(*state, 1);
  PJRT_Buffer* result;
  const int64_t kept[] = {0};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .non_donatable_input_indices = kept,
                                 .num_non_donatable_input_indices = 1};
  hlo_test_run(loaded, &options, &argument, 1, &result);
  assert_false(hlo_test_is_deleted(argument));
  expect_four(argument, 1, 2, 3, 4);
  expect_four(result, 2, 3, 4, 5);
  hlo_test_destroy_buffer(result);
  options.num_non_donatable_input_indices = 0;
  hlo_test_run(loaded, &options, &argument, 1, &result);
  assert_true(hlo_test_is_deleted(argument));
  expect_four(result, 2, 3, 4, 5);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
}

/// A donor whose memory no result can use stays as it is.
static void test_donors_that_no_result_fits(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(
      *state,
      "func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<f32> {\n"
      "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : "
      "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}\n");
  PJRT_Buffer* argument = upload_four(*state, 1);
  PJRT_Buffer* result;
  float sum;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  hlo_test_run(loaded, &options, &argument, 1, &result);
  assert_false(hlo_test_is_deleted(argument));
  expect_four(argument, 1, 2, 3, 4);
  hlo_test_download(result, &sum, sizeof sum);
  assert_true(sum == 10);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
}

/// The owner of the memory under a view has not allowed overwriting it.
static void test_donated_views_are_not_overwritten(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  float* data = aligned_alloc(64, 64);
  for (int i = 0; i < 4; ++i) data[i] = (float)(i + 1);
  PJRT_Client_CreateViewOfDeviceBuffer_Args view =
      ARGS(Client_CreateViewOfDeviceBuffer, .client = *state, .device_buffer_ptr = data,
           .dims = (int64_t[]){4}, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32,
           .device = hlo_test_device_of(*state, 0));
  OK(Client_CreateViewOfDeviceBuffer, &view);
  PJRT_Client_BufferFromHostBuffer_Args lent = ARGS(
      Client_BufferFromHostBuffer, .client = *state, .data = data, .type = PJRT_Buffer_Type_F32,
      .dims = (int64_t[]){4}, .num_dims = 1, .device = hlo_test_device_of(*state, 0),
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
  OK(Client_BufferFromHostBuffer, &lent);
  PJRT_Buffer* arguments[] = {view.buffer, lent.buffer};
  for (int i = 0; i < 2; ++i) {
    PJRT_Buffer* result;
    hlo_test_run(loaded, NULL, &arguments[i], 1, &result);
    assert_true(hlo_test_is_deleted(arguments[i]));
    expect_four(result, 2, 3, 4, 5);
    for (int k = 0; k < 4; ++k) assert_true(data[k] == (float)(k + 1));
    hlo_test_destroy_buffer(arguments[i]);
    hlo_test_destroy_buffer(result);
  }
  hlo_test_await(lent.done_with_host_buffer);
  free(data);
  hlo_test_destroy_loaded(loaded);
}

static void* bytes_of(PJRT_Buffer* buffer) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args =
      ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
  OK(Buffer_OpaqueDeviceMemoryDataPointer, &args);
  return args.device_memory_ptr;
}

// The same bytes under another handle.
static PJRT_Buffer* hand_over(PJRT_Buffer* buffer) {
  PJRT_Buffer_DonateWithControlDependency_Args args =
      ARGS(Buffer_DonateWithControlDependency, .buffer = buffer);
  OK(Buffer_DonateWithControlDependency, &args);
  args.dependency_ready_callback(&(PJRT_Buffer_DonateWithControlDependency_Callback_Args){
      .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
      .callback_data = args.callback_data});
  return args.out_buffer;
}

/// Another framework has the address of the bytes: handles that follow do not make them writable
/// before it has given them back.
static void test_external_references_outlive_a_handle(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  for (int is_held = 0; is_held < 2; ++is_held) {
    PJRT_Buffer *buffer = upload_four(*state, 1), *result;
    const float* bytes = bytes_of(buffer);
    OK(Buffer_IncreaseExternalReferenceCount,
       &ARGS(Buffer_IncreaseExternalReferenceCount, .buffer = buffer));
    PJRT_Buffer* next = hand_over(buffer);
    if (!is_held) {
      OK(Buffer_DecreaseExternalReferenceCount,
         &ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer));
    }
    hlo_test_run(loaded, NULL, &next, 1, &result);
    expect_four(result, 2, 3, 4, 5);
    if (is_held) {
      for (int i = 0; i < 4; ++i) assert_true(bytes[i] == (float)(i + 1));
      OK(Buffer_DecreaseExternalReferenceCount,
         &ARGS(Buffer_DecreaseExternalReferenceCount, .buffer = buffer));
    } else {
      assert_ptr_equal(bytes_of(result), bytes);
    }
    hlo_test_destroy_buffer(buffer);
    hlo_test_destroy_buffer(next);
    hlo_test_destroy_buffer(result);
  }
  hlo_test_destroy_loaded(loaded);
}

static PJRT_Client_CreateAliasBuffer_Args create_alias(PJRT_Client* client) {
  PJRT_Client_CreateAliasBuffer_Args args = ARGS(
      Client_CreateAliasBuffer, .client = client,
      .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)), .shape_dims = (int64_t[]){4},
      .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  OK(Client_CreateAliasBuffer, &args);
  return args;
}

static void fulfil(const PJRT_Client_CreateAliasBuffer_Args* alias, PJRT_Buffer* value) {
  OK(Client_FulfillAliasBuffer,
     &ARGS(Client_FulfillAliasBuffer, .client = alias->client, .buffer = value,
           .fulfill_alias_buffer_cb = alias->fulfill_alias_buffer_cb));
}

/// An alias keeps its value when the buffer that it has it from is donated.
static void test_donated_values_of_aliases_are_not_overwritten(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  PJRT_Buffer *buffer = upload_four(*state, 1), *result;
  const PJRT_Client_CreateAliasBuffer_Args alias = create_alias(*state);
  fulfil(&alias, buffer);
  hlo_test_run(loaded, NULL, &buffer, 1, &result);
  expect_four(alias.alias_buffer, 1, 2, 3, 4);
  expect_four(result, 2, 3, 4, 5);
  PJRT_Buffer* buffers[] = {buffer, result, alias.alias_buffer};
  for (int i = 0; i < 3; ++i) hlo_test_destroy_buffer(buffers[i]);
  hlo_test_destroy_loaded(loaded);
}

// A client and its objects, which are destroyed when its launch ends.
typedef struct leaving {
  PJRT_Client* client;
  PJRT_Buffer *argument, *result;
  PJRT_LoadedExecutable* loaded;
  atomic_bool has_left;
} leaving_t;

static void leave(PJRT_Error* error, void* context) {
  leaving_t* leaving = context;
  assert_null(error);
  hlo_test_destroy_buffer(leaving->argument);
  hlo_test_destroy_buffer(leaving->result);
  hlo_test_destroy_loaded(leaving->loaded);
  hlo_test_destroy_client(leaving->client);
  atomic_store(&leaving->has_left, true);
}

static int count_threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// The callback runs on a worker of the client that it destroys.
static void test_callbacks_may_destroy_their_client(void** state) {
  (void)state;
  const int threads = count_threads();
  leaving_t leaving = {.client = hlo_test_create_client(1)};
  leaving.loaded = hlo_test_compile(leaving.client, HLO_TEST_SINES("100000"));
  leaving.argument = upload_four(leaving.client, 1);
  hlo_test_run(leaving.loaded, NULL, &leaving.argument, 1, &leaving.result);
  PJRT_Event* event = hlo_test_ready_event(leaving.result);
  PJRT_Event_OnReady_Args args =
      ARGS(Event_OnReady, .event = event, .callback = leave, .user_arg = &leaving);
  OK(Event_OnReady, &args);
  hlo_test_await(event);
  enum { POLL_US = 1000, POLLS = 10000 };
  for (int i = 0; i < POLLS && (!atomic_load(&leaving.has_left) || count_threads() > threads);
       ++i) {
    usleep(POLL_US);
  }
  assert_true(atomic_load(&leaving.has_left));
  assert_int_equal(count_threads(), threads);
}

static void test_launches_that_cannot_be(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_program);
  PJRT_Buffer* arguments[2] = {upload_four(*state, 1), upload_four(*state, 10)};
  PJRT_Buffer* results[2] = {NULL, NULL};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded,
           .argument_lists = (PJRT_Buffer* const* const[]){arguments}, .num_devices = 1,
           .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){results});
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT, "");
  args.num_args = 2;
  OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = arguments[1]));
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT, "");
  assert_null(results[0]);
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE, .num_recv_ops = 1};
  args.options = &options;
  FAILS(LoadedExecutable_Execute, &args, UNIMPLEMENTED, "option recv_callbacks");
  OK(LoadedExecutable_Delete, &ARGS(LoadedExecutable_Delete, .executable = loaded));
  PJRT_LoadedExecutable_IsDeleted_Args deleted =
      ARGS(LoadedExecutable_IsDeleted, .executable = loaded);
  OK(LoadedExecutable_IsDeleted, &deleted);
  assert_true(deleted.is_deleted);
  for (int i = 0; i < 2; ++i) hlo_test_destroy_buffer(arguments[i]);
  hlo_test_destroy_loaded(loaded);
}

// Each option is honoured, without meaning here, or refused by its name.
static void test_options_of_launches(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  PJRT_Buffer *argument = upload_four(*state, 1), *result = NULL;
  int tasks[] = {0, 1};
  int64_t incarnations[] = {77, 78};
  const int64_t beyond[] = {1}, first[] = {0};
#define OPTIONS(...) \
  { .struct_size = PJRT_ExecuteOptions_STRUCT_SIZE, __VA_ARGS__ }
  struct {
    PJRT_ExecuteOptions options;
    PJRT_Error_Code code;
    const char* part;
  } cases[] = {
      {OPTIONS(.num_send_ops = 1), PJRT_Error_Code_UNIMPLEMENTED, "send_callbacks"},
      {OPTIONS(.num_recv_ops = 1), PJRT_Error_Code_UNIMPLEMENTED, "recv_callbacks"},
      {OPTIONS(.num_tasks = 2, .task_ids = tasks, .incarnation_ids = incarnations),
       PJRT_Error_Code_UNIMPLEMENTED, "task_ids"},
      {OPTIONS(.num_tasks = 1, .task_ids = tasks + 1), PJRT_Error_Code_UNIMPLEMENTED, "task_ids"},
      {OPTIONS(.multi_slice_config = (PJRT_MultiSlice_Config*)tasks), PJRT_Error_Code_UNIMPLEMENTED,
       "multi_slice_config"},
      {OPTIONS(.num_hlo_output_callbacks = 1), PJRT_Error_Code_UNIMPLEMENTED,
       "hlo_output_callbacks"},
      {OPTIONS(.num_non_donatable_input_indices = 1), PJRT_Error_Code_INVALID_ARGUMENT,
       "non_donatable_input_indices is null"},
      {OPTIONS(.non_donatable_input_indices = beyond, .num_non_donatable_input_indices = 1),
       PJRT_Error_Code_INVALID_ARGUMENT, "donation of argument 1 of 1"},
      {OPTIONS(.non_donatable_input_indices = first, .num_non_donatable_input_indices = 1,
               .num_tasks = 1, .task_ids = tasks, .incarnation_ids = incarnations,
               .call_location = "train.py:7", .launch_id = 3,
               .use_major_to_minor_data_layout_for_callbacks = true),
       PJRT_Error_Code_OK, NULL},
  };
#undef OPTIONS
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    PJRT_LoadedExecutable_Execute_Args args =
        ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &cases[i].options,
             .argument_lists = (PJRT_Buffer* const* const[]){&argument}, .num_devices = 1,
             .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&result});
    PJRT_Error* error = GetPjrtApi()->PJRT_LoadedExecutable_Execute(&args);
    if (cases[i].part) {
      hlo_test_expect_error(error, cases[i].code, cases[i].part);
    } else {
      hlo_test_expect_ok(error, "PJRT_LoadedExecutable_Execute");
    }
    assert_false(hlo_test_is_deleted(argument));
  }
  expect_four(result, 2, 3, 4, 5);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
}

// Neither a buffer nor a device of another client takes part in a launch.
static void test_other_clients_are_refused(void** state) {
  PJRT_Client* other = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  PJRT_Buffer *ours = upload_four(*state, 1), *theirs = upload_four(other, 1), *result;
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded,
           .argument_lists = (PJRT_Buffer* const* const[]){&theirs}, .num_devices = 1,
           .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&result});
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT,
        "argument 0 is on device 0 of another client");
  args.argument_lists = (PJRT_Buffer* const* const[]){&ours};
  args.execute_device = hlo_test_device_of(other, 0);
  FAILS(LoadedExecutable_Execute, &args, INVALID_ARGUMENT, "device 0 of another client");
  assert_false(hlo_test_is_deleted(ours) || hlo_test_is_deleted(theirs));
  hlo_test_destroy_buffer(ours);
  hlo_test_destroy_buffer(theirs);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(other);
}

static void test_error_arguments_make_error_results(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  PJRT_Client_CreateErrorBuffer_Args error =
      ARGS(Client_CreateErrorBuffer, .client = *state, .error_code = PJRT_Error_Code_UNAVAILABLE,
           .error_message = "not today", .error_message_size = 9, .shape_dims = (int64_t[]){4},
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32,
           .memory = hlo_test_memory_of(hlo_test_device_of(*state, 0)));
  OK(Client_CreateErrorBuffer, &error);
  PJRT_Buffer* result;
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded,
           .argument_lists = (PJRT_Buffer* const* const[]){&error.buffer}, .num_devices = 1,
           .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&result});
  OK(LoadedExecutable_Execute, &args);
  hlo_test_await_error(hlo_test_ready_event(result), PJRT_Error_Code_UNAVAILABLE, "not today");
  hlo_test_destroy_buffer(error.buffer);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
}

static void test_serialization(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, add_program);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_Serialize_Args bytes = ARGS(Executable_Serialize, .executable = executable);
  OK(Executable_Serialize, &bytes);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
  PJRT_Executable_DeserializeAndLoad_Args again =
      ARGS(Executable_DeserializeAndLoad, .client = *state,
           .serialized_executable = bytes.serialized_bytes,
           .serialized_executable_size = bytes.serialized_bytes_size);
  OK(Executable_DeserializeAndLoad, &again);
  PJRT_Buffer* arguments[2] = {upload_four(*state, 1), upload_four(*state, 10)};
  PJRT_Buffer* results[2];
  hlo_test_run(again.loaded_executable, NULL, arguments, 2, results);
  expect_four(results[0], 11, 13, 15, 17);
  for (int i = 0; i < 2; ++i) {
    hlo_test_destroy_buffer(arguments[i]);
    hlo_test_destroy_buffer(results[i]);
  }
  hlo_test_destroy_loaded(again.loaded_executable);
  again.serialized_executable_size -= 1;
  FAILS(Executable_DeserializeAndLoad, &again, DATA_LOSS, "damaged");
  bytes.serialized_executable_deleter(bytes.serialized_executable);
}

/// Compiled for a described machine, loaded on a real one.
static void test_compile_without_a_client(void** state) {
  PJRT_TopologyDescription_Create_Args topology = ARGS(TopologyDescription_Create);
  OK(TopologyDescription_Create, &topology);
  const PJRT_Program program = hlo_test_program_of(add_program);
  PJRT_Compile_Args compiled = ARGS(Compile, .topology = topology.topology, .program = &program);
  OK(Compile, &compiled);
  PJRT_Client_Load_Args load =
      ARGS(Client_Load, .client = *state, .executable = compiled.executable);
  OK(Client_Load, &load);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = compiled.executable));
  OK(TopologyDescription_Destroy,
     &ARGS(TopologyDescription_Destroy, .topology = topology.topology));
  PJRT_LoadedExecutable_GetDeviceAssignment_Args assignment =
      ARGS(LoadedExecutable_GetDeviceAssignment, .executable = load.loaded_executable);
  OK(LoadedExecutable_GetDeviceAssignment, &assignment);
  // replica_count = 1, computation_count = 1, one device: id 0
  const char expected[] = {8, 1, 16, 1, 26, 3, 10, 1, 0};
  assert_int_equal(assignment.serialized_bytes_size, sizeof expected);
  assert_memory_equal(assignment.serialized_bytes, expected, sizeof expected);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  hlo_test_destroy_loaded(load.loaded_executable);
}

static void test_poison_of_launches_that_are_over(void** state) {
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, donating_program);
  PJRT_Buffer *argument = upload_four(*state, 1), *result;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE, .launch_id = 7};
  hlo_test_run(loaded, &options, &argument, 1, &result);
  PJRT_Buffer_Device_Args where = ARGS(Buffer_Device, .buffer = result);
  OK(Buffer_Device, &where);
  PJRT_Device_PoisonExecution_Args poison =
      ARGS(Device_PoisonExecution, .device = where.device, .launch_id = 7,
           .error_code = PJRT_Error_Code_ABORTED, .error_message = "ill", .error_message_size = 3,
           .poisoned = true);
  OK(Device_PoisonExecution, &poison);
  assert_false(poison.poisoned);
  poison.error_code = PJRT_Error_Code_OK;
  FAILS(Device_PoisonExecution, &poison, INVALID_ARGUMENT, "needs an error");
  expect_four(result, 2, 3, 4, 5);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(result);
  hlo_test_destroy_loaded(loaded);
}

static void test_bad_programs(void** state) {
  PJRT_Program program = hlo_test_program_of("module { func.func @main( }");
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = *state, .program = &program);
  FAILS(Client_Compile, &args, INVALID_ARGUMENT, "");
  program.format = "fortran";
  program.format_size = 7;
  FAILS(Client_Compile, &args, UNIMPLEMENTED, "fortran");
  args.program = NULL;
  FAILS(Client_Compile, &args, INVALID_ARGUMENT, "no program");
  program = hlo_test_program_of(add_program);
  args.program = &program;
  args.compile_options = "\x10\x01";  // parameter_is_tupled_arguments
  args.compile_options_size = 2;
  FAILS(Client_Compile, &args, UNIMPLEMENTED, "parameter_is_tupled_arguments");
}

// --- The limit of launches in flight -------------------------------------------------------------

static PJRT_Client* create_limited_client(void) {
  static const char name[] = "inflight_launches";
  const PJRT_NamedValue option = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                  .name = name,
                                  .name_size = sizeof name - 1,
                                  .type = PJRT_NamedValue_kInt64,
                                  .int64_value = 1,
                                  .value_size = 1};
  PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = &option, .num_options = 1);
  OK(Client_Create, &args);
  return args.client;
}

static PJRT_Buffer* launch_one(PJRT_LoadedExecutable* loaded, PJRT_Buffer* argument) {
  PJRT_Buffer* result = NULL;
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded,
           .argument_lists = (PJRT_Buffer* const* const[]){&argument}, .num_devices = 1,
           .num_args = 1, .output_lists = (PJRT_Buffer * * const[]){&result});
  OK(LoadedExecutable_Execute, &args);
  return result;
}

// Launches a chain that donates its values, far above the limit; takes the first value.
static PJRT_Buffer* launch_many(PJRT_LoadedExecutable* loaded, PJRT_Buffer* value) {
  enum { LAUNCHES = 8 };
  for (int i = 0; i < LAUNCHES; ++i) {
    PJRT_Buffer* next = launch_one(loaded, value);
    hlo_test_destroy_buffer(value);
    value = next;
  }
  return value;
}

static void expect_chain_end(PJRT_Buffer* last) {
  expect_four(last, 9, 10, 11, 12);
  hlo_test_destroy_buffer(last);
}

static void launch_behind_an_alias(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  const PJRT_Client_CreateAliasBuffer_Args alias = create_alias(client);
  PJRT_Buffer *last = launch_many(loaded, alias.alias_buffer), *value = upload_four(client, 1);
  fulfil(&alias, value);
  expect_chain_end(last);
  hlo_test_destroy_buffer(value);
}

static void launch_behind_a_transfer(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  const float values[4] = {1, 2, 3, 4};
  PJRT_ShapeSpec spec = {
      .dims = (int64_t[]){4}, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args created =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &created);
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args first =
      ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer,
           .transfer_manager = created.transfer_manager);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &first);
  PJRT_Buffer* last = launch_many(loaded, first.buffer_out);
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args sent = ARGS(
      AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = created.transfer_manager,
      .data = values, .transfer_size = sizeof values, .is_last_transfer = true);
  OK(AsyncHostToDeviceTransferManager_TransferData, &sent);
  hlo_test_await(sent.done_with_h2d_transfer);
  expect_chain_end(last);
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = created.transfer_manager));
}

static void launch_behind_a_dependency(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  PJRT_Buffer* value = upload_four(client, 1);
  PJRT_Buffer_DonateWithControlDependency_Args args =
      ARGS(Buffer_DonateWithControlDependency, .buffer = value);
  OK(Buffer_DonateWithControlDependency, &args);
  hlo_test_destroy_buffer(value);
  PJRT_Buffer* last = launch_many(loaded, args.out_buffer);
  args.dependency_ready_callback(&(PJRT_Buffer_DonateWithControlDependency_Callback_Args){
      .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
      .callback_data = args.callback_data});
  expect_chain_end(last);
}

// The first launch donates what is still to be read to a place that the caller has yet to name.
static void launch_behind_a_reader(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  float out[4] = {0};
  PJRT_Buffer* value = upload_four(client, 1);
  PJRT_Buffer_CopyRawToHostFuture_Args args =
      ARGS(Buffer_CopyRawToHostFuture, .buffer = value, .transfer_size = sizeof out);
  OK(Buffer_CopyRawToHostFuture, &args);
  PJRT_Buffer* last = launch_many(loaded, value);
  args.future_ready_callback(&(PJRT_Buffer_CopyRawToHostFuture_Callback_Args){
      .struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
      .callback_data = args.callback_data,
      .dst = out});
  hlo_test_await(args.event);
  assert_true(out[0] == 1 && out[3] == 4);
  expect_chain_end(last);
}

/// Whatever launches wait for that only their caller can provide: it is never kept from doing so.
static void test_launches_behind_the_caller_do_not_count(void** state) {
  (void)state;
  void (*const cases[])(PJRT_Client*, PJRT_LoadedExecutable*) = {
      launch_behind_an_alias, launch_behind_a_transfer, launch_behind_a_dependency,
      launch_behind_a_reader};
  PJRT_Client* client = create_limited_client();
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, donating_program);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) cases[i](client, loaded);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_compile_and_run),
      TEST(test_questions),
      TEST(test_nothing_is_sharded),
      TEST(test_memory_stats_by_kind),
      TEST(test_optimized_program),
      TEST(test_donation),
      TEST(test_donors_that_no_result_fits),
      TEST(test_donated_views_are_not_overwritten),
      TEST(test_external_references_outlive_a_handle),
      TEST(test_donated_values_of_aliases_are_not_overwritten),
      TEST(test_callbacks_may_destroy_their_client),
      TEST(test_launches_that_cannot_be),
      TEST(test_options_of_launches),
      TEST(test_other_clients_are_refused),
      TEST(test_error_arguments_make_error_results),
      TEST(test_serialization),
      TEST(test_compile_without_a_client),
      TEST(test_poison_of_launches_that_are_over),
      TEST(test_bad_programs),
      cmocka_unit_test(test_launches_behind_the_caller_do_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
