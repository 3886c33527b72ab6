// SPDX-License-Identifier: Apache-2.0
// Custom calls that a function of the application partitions, through the PJRT C API.
#include "pjrt/partition_test_util.h"

enum { PARTITIONS = 4, ROWS = 8, ROWS_OF_DEVICE = ROWS / PARTITIONS };

static int set_up(void** state) {
  *state = hlo_test_create_client(PARTITIONS);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

// ---- a partitioner

typedef JAX_CustomCallPartitioner_string string_t;

/// A partitioner of the test: what it was asked, and what it answers.
typedef struct partitioner {
  JAX_CustomCallPartitioner_Callbacks callbacks;
  const char* module;  // null: an error
  int calls, cleanups, destructions;
  char config[16];
  string_t sharding;
} partitioner_t;

// Tiles [4], iota [4]; and the shape f32[8].
static const uint8_t rows_sharding[] = {0x08, 3, 0x1a, 1, 4, 0x4a, 1, 4, 0x52, 1, 0};
static const uint8_t shape_head[] = {0x10, 11, 0x1a, 1, ROWS};

static void clean_up(void* data) {
  ++((partitioner_t*)data)->cleanups;
}

static void destroy(JAX_CustomCallPartitioner_Callbacks* callbacks) {
  ++((partitioner_t*)callbacks->private_data)->destructions;
}

static void expect_aval(const JAX_CustomCallPartitioner_aval* aval) {
  assert_true(aval->has_sharding);
  assert_int_equal(aval->sharding.size, sizeof rows_sharding);
  assert_memory_equal(aval->sharding.data, rows_sharding, sizeof rows_sharding);
  assert_true(aval->shape.size > sizeof shape_head);
  assert_memory_equal(aval->shape.data, shape_head, sizeof shape_head);
}

static void answer(JAX_CustomCallPartitioner_Callbacks* callbacks,
                   JAX_CustomCallPartitioner_Partition_Args* args) {
  partitioner_t* p = callbacks->private_data;
  ++p->calls;
  args->header.data = p;
  args->header.cleanup_fn = clean_up;
  if (p->module == NULL) {
    static const char message[] = "no rule for this";
    args->header.has_error = true;
    args->header.code = PJRT_Error_Code_OUT_OF_RANGE;
    args->header.error_msg = (string_t){message, sizeof message - 1};
    return;
  }
  assert_int_equal(args->num_args, 1);
  expect_aval(&args->op_args[0]);
  expect_aval(&args->op_result);
  assert_true(args->backend_config.size < sizeof p->config);
  memcpy(p->config, args->backend_config.data, args->backend_config.size);
  p->sharding = (string_t){(const char*)rows_sharding, sizeof rows_sharding};
  args->mlir_module = (string_t){p->module, strlen(p->module)};
  args->args_sharding = &p->sharding;
  args->result_sharding = p->sharding;
}

static void infer(JAX_CustomCallPartitioner_Callbacks* callbacks,
                  JAX_CustomCallPartitioner_InferShardingFromOperands_Args* args) {
  (void)callbacks;
  args->has_result_sharding = false;
}

static void adapt(JAX_CustomCallPartitioner_Callbacks* callbacks,
                  JAX_CustomCallPartitioner_PropagateUserSharding_Args* args) {
  (void)callbacks;
  (void)args;
}

static void register_partitioner(partitioner_t* p, const char* module) {
  const PJRT_Custom_Partitioner_Extension* extension =
      hlo_test_find_extension(PJRT_Extension_Type_Custom_Partitioner);
  *p = (partitioner_t){.module = module};
  p->callbacks = (JAX_CustomCallPartitioner_Callbacks){.private_data = p,
                                                       .dtor = destroy,
                                                       .partition = answer,
                                                       .infer_sharding = infer,
                                                       .propagate_user_sharding = adapt};
  PJRT_Register_Custom_Partitioner_Args args = {
      .struct_size = PJRT_Register_Custom_Partitioner_Args_STRUCT_SIZE,
      .name = "test.Scale",
      .name_size = strlen("test.Scale"),
      .callbacks = &p->callbacks};
  hlo_test_expect_ok(extension->register_custom_partitioner(&args), "register_custom_partitioner");
}

// ---- programs

static const char program[] =
    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
    "  sdy.mesh @mesh = <[\"x\"=4]>\n"
    "  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> "
    "(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
    "    %0 = stablehlo.custom_call @test.Scale(%x) {backend_config = \"key 7\", "
    "sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8xf32>) -> "
    "tensor<8xf32>\n"
    "    return %0 : tensor<8xf32>\n"
    "  }\n"
    "}\n";

// Adds the sum over all devices, by a function and over a channel that the program may use as well.
static const char part[] =
    "module {\n"
    "  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "    %0 = call @sum(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
    "    %1 = stablehlo.add %x, %0 : tensor<2xf32>\n"
    "    return %1 : tensor<2xf32>\n"
    "  }\n"
    "  func.func private @sum(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "    %0 = \"stablehlo.all_reduce\"(%x) <{channel_handle = #stablehlo.channel_handle<handle = "
    "1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, "
    "use_global_device_ids}> ({\n"
    "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "      %s = stablehlo.add %a, %b : tensor<f32>\n"
    "      stablehlo.return %s : tensor<f32>\n"
    "    }) : (tensor<2xf32>) -> tensor<2xf32>\n"
    "    return %0 : tensor<2xf32>\n"
    "  }\n"
    "}\n";

static const char wrong_part[] =
    "module {\n  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
    "    return %x : tensor<3xf32>\n  }\n}\n";

static PJRT_Error* try_compile(PJRT_Client* client, PJRT_LoadedExecutable** out_loaded) {
  hlo_strbuf_t options = hlo_test_partition_options(PARTITIONS);
  const PJRT_Program text = hlo_test_program_of(program);
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = client, .program = &text,
           .compile_options = hlo_strbuf_text(&options), .compile_options_size = options.length);
  PJRT_Error* error = GetPjrtApi()->PJRT_Client_Compile(&args);
  hlo_strbuf_deinit(&options);
  *out_loaded = args.executable;
  return error;
}

static void expect_results(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  PJRT_Buffer *arguments[PARTITIONS][1], *results[PARTITIONS][1] = {{NULL}};
  PJRT_Buffer* const* argument_rows[PARTITIONS];
  PJRT_Buffer** result_rows[PARTITIONS];
  PJRT_Event* events[PARTITIONS];
  for (int d = 0; d < PARTITIONS; ++d) {
    const float data[ROWS_OF_DEVICE] = {(float)(2 * d), (float)(2 * d + 1)};
    arguments[d][0] = hlo_test_upload_to(client, d, data, ROWS_OF_DEVICE);
    argument_rows[d] = arguments[d];
    result_rows[d] = results[d];
  }
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  OK(LoadedExecutable_Execute,
     &ARGS(LoadedExecutable_Execute, .executable = loaded, .options = &options,
           .argument_lists = argument_rows, .num_devices = PARTITIONS, .num_args = 1,
           .output_lists = result_rows, .device_complete_events = events));
  for (int d = 0; d < PARTITIONS; ++d) {
    float found[ROWS_OF_DEVICE];
    hlo_test_await(events[d]);
    hlo_test_download(results[d][0], found, sizeof found);
    assert_true(found[0] == (float)(2 * d + 0 + 2 + 4 + 6));
    assert_true(found[1] == (float)(2 * d + 1 + 1 + 3 + 5 + 7));
    hlo_test_destroy_buffer(arguments[d][0]);
    hlo_test_destroy_buffer(results[d][0]);
  }
}

static void test_partitioner(void** state) {
  static partitioner_t first, second;
  PJRT_LoadedExecutable* loaded;
  register_partitioner(&first, wrong_part);
  register_partitioner(&second, part);
  assert_int_equal(first.destructions, 1);  // replaced
  assert_null(try_compile(*state, &loaded));
  assert_int_equal(second.calls, 1);
  assert_int_equal(second.cleanups, 1);
  assert_string_equal(second.config, "key 7");
  expect_results(*state, loaded);
  hlo_test_destroy_loaded(loaded);
}

// ---- inspection

/// A function of the test: what it was shown, and whether it fails.
typedef struct inspector {
  int calls, frees;
  bool fails;
  uint8_t sharding[sizeof rows_sharding + 1];
  size_t sharding_size;
} inspector_t;

static void free_error(JAX_InspectSharding_Callback_Args* args) {
  ++((inspector_t*)args->error_scratch)->frees;
}

static void inspect(void* data, JAX_InspectSharding_Callback_Args* args) {
  inspector_t* inspector = data;
  ++inspector->calls;
  assert_true(args->sharding_spec_size < sizeof inspector->sharding);
  memcpy(inspector->sharding, args->sharding_spec, args->sharding_spec_size);
  inspector->sharding_size = args->sharding_spec_size;
  if (!inspector->fails) return;
  args->error_txt = "no such view";
  args->error_scratch = inspector;
  args->free_error = free_error;
}

/// Compiles a program with a call of InspectSharding, whose backend_config are the given bytes.
static PJRT_Error* try_inspect(PJRT_Client* client, const void* config, size_t size,
                               PJRT_LoadedExecutable** out_loaded) {
  hlo_strbuf_t text = {0}, options = hlo_test_partition_options(PARTITIONS);
  hlo_strbuf_puts(&text,
                  "module attributes {mhlo.num_partitions = 4 : i32} {\n"
                  "  sdy.mesh @mesh = <[\"x\"=4]>\n"
                  "  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, "
                  "[{\"x\"}]>}) -> tensor<8xf32> {\n"
                  "    %0 = stablehlo.negate %x : tensor<8xf32>\n"
                  "    %1 = stablehlo.custom_call @InspectSharding(%0) {has_side_effect = true, "
                  "backend_config = \"");
  for (size_t i = 0; i < size; ++i) {
    hlo_strbuf_printf(&text, "\\%02X", ((const uint8_t*)config)[i]);
  }
  hlo_strbuf_puts(&text,
                  "\"} : (tensor<8xf32>) -> tensor<8xf32>\n"
                  "    return %0 : tensor<8xf32>\n  }\n}\n");
  const PJRT_Program code = hlo_test_program_of(hlo_strbuf_text(&text));
  PJRT_Client_Compile_Args args =
      ARGS(Client_Compile, .client = client, .program = &code,
           .compile_options = hlo_strbuf_text(&options), .compile_options_size = options.length);
  PJRT_Error* error = GetPjrtApi()->PJRT_Client_Compile(&args);
  hlo_strbuf_deinit(&options);
  hlo_strbuf_deinit(&text);
  *out_loaded = args.executable;
  return error;
}

static void test_inspection(void** state) {
  inspector_t seen = {0}, failing = {.fails = true};
  JAX_InspectSharding_Callback callback = {inspect, &seen};
  PJRT_LoadedExecutable* loaded;
  assert_null(try_inspect(*state, &callback, sizeof callback, &loaded));
  assert_int_equal(seen.calls, 1);
  assert_int_equal(seen.sharding_size, sizeof rows_sharding);
  assert_memory_equal(seen.sharding, rows_sharding, sizeof rows_sharding);
  hlo_test_destroy_loaded(loaded);

  callback.data = &failing;
  hlo_test_expect_error(try_inspect(*state, &callback, sizeof callback, &loaded),
                        PJRT_Error_Code_INTERNAL, "no such view");
  assert_int_equal(failing.frees, 1);
  hlo_test_expect_error(try_inspect(*state, &callback, sizeof callback - 1, &loaded),
                        PJRT_Error_Code_INVALID_ARGUMENT, "no function");
}

// A serialized executable is loaded where nobody partitions its calls.
static void test_serialization(void** state) {
  static partitioner_t first, second;
  PJRT_LoadedExecutable* loaded;
  register_partitioner(&first, part);
  assert_null(try_compile(*state, &loaded));
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_Serialize_Args bytes = ARGS(Executable_Serialize, .executable = executable);
  OK(Executable_Serialize, &bytes);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
  register_partitioner(&second, NULL);
  PJRT_Executable_DeserializeAndLoad_Args again =
      ARGS(Executable_DeserializeAndLoad, .client = *state,
           .serialized_executable = bytes.serialized_bytes,
           .serialized_executable_size = bytes.serialized_bytes_size);
  OK(Executable_DeserializeAndLoad, &again);
  assert_int_equal(second.calls, 0);
  expect_results(*state, again.loaded_executable);
  hlo_test_destroy_loaded(again.loaded_executable);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
}

static void test_faults(void** state) {
  static partitioner_t wrong, failing;
  PJRT_LoadedExecutable* loaded;
  register_partitioner(&wrong, wrong_part);
  hlo_test_expect_error(try_compile(*state, &loaded), PJRT_Error_Code_INVALID_ARGUMENT,
                        "argument 0 of the application's program has another type");
  assert_int_equal(wrong.cleanups, 1);
  register_partitioner(&failing, NULL);
  hlo_test_expect_error(try_compile(*state, &loaded), PJRT_Error_Code_OUT_OF_RANGE,
                        "in its partitioner: no rule for this");
  assert_int_equal(failing.cleanups, 1);
}

static void test_registration(void** state) {
  (void)state;
  const PJRT_Custom_Partitioner_Extension* extension =
      hlo_test_find_extension(PJRT_Extension_Type_Custom_Partitioner);
  static JAX_CustomCallPartitioner_Callbacks none;
  PJRT_Register_Custom_Partitioner_Args args = {
      .struct_size = PJRT_Register_Custom_Partitioner_Args_STRUCT_SIZE,
      .name = "test.Scale",
      .name_size = strlen("test.Scale"),
      .callbacks = &none};
  hlo_test_expect_error(extension->register_custom_partitioner(&args),
                        PJRT_Error_Code_INVALID_ARGUMENT, "lacks a function");
  PJRT_Register_Batch_Partitionable_Args batched = {
      .struct_size = PJRT_Register_Batch_Partitionable_Args_STRUCT_SIZE};
  hlo_test_expect_error(extension->register_batch_partitionable(&batched),
                        PJRT_Error_Code_INVALID_ARGUMENT, "needs the name");
  batched.name = "test.Rows";
  batched.name_size = strlen(batched.name);
  hlo_test_expect_ok(extension->register_batch_partitionable(&batched),
                     "register_batch_partitionable");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_partitioner, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_inspection, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_serialization, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_faults, set_up, tear_down),
      cmocka_unit_test(test_registration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
