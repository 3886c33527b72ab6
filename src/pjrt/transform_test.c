// SPDX-License-Identifier: Apache-2.0
// Programs that functions of the application rewrite, through the PJRT C API.
#include "base/test_util.h"
#include "frontend/hlo/hlo.h"
#include "ir/infer.h"
#include "pjrt/partition_test_util.h"

enum { PARTITIONS = 4, COUNT = 8 };

static int set_up(void** state) {
  *state = hlo_test_create_client(PARTITIONS);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

// ---- transformations

/// A transformation of the test: what it answers, and how often it was called.
typedef struct transform {
  PJRT_XlaTransform_Callbacks callbacks;
  const char* text;  // the program that it returns, as HLO text
  bool is_identity;  // returns what it got
  const char* error;
  int calls, cleanups, destructions;
  char* seen;  // the program that it got, as HLO text
  hlo_strbuf_t answer;
} transform_t;

static void read_program(PJRT_XlaTransform_string bytes, char** out_text) {
  hlo_module_t* module;
  hlo_strbuf_t text = {0};
  hlo_test_check(hlo_hlo_proto_read(bytes.data, bytes.size, NULL, &module));
  hlo_test_check(hlo_module_verify(module, NULL));
  hlo_test_check(hlo_hlo_text_print(module, NULL, &text));
  hlo_module_release(module);
  hlo_mem_free(*out_text);
  *out_text = hlo_strbuf_take(&text);
}

static void write_program(const char* text, hlo_strbuf_t* out) {
  hlo_module_t* module;
  hlo_strbuf_deinit(out);
  hlo_test_check(hlo_hlo_text_read(text, strlen(text), NULL, NULL, NULL, &module));
  hlo_test_check(hlo_module_verify(module, NULL));
  hlo_test_check(hlo_hlo_proto_write(module, out));
  hlo_module_release(module);
}

static void clean_up(void* data) {
  ++((transform_t*)data)->cleanups;
}

static void destroy(PJRT_XlaTransform_Callbacks* callbacks) {
  transform_t* t = (transform_t*)callbacks;
  ++t->destructions;
  hlo_mem_free(t->seen);
  hlo_strbuf_deinit(&t->answer);
}

static void answer(PJRT_XlaTransform_Callbacks* callbacks, PJRT_XlaTransform_Args* args) {
  transform_t* t = (transform_t*)callbacks;
  ++t->calls;
  assert_int_equal(args->struct_size, PJRT_XlaTransform_Args_STRUCT_SIZE);
  assert_int_equal(args->header.api_version, 1);
  read_program(args->hlo_module, &t->seen);
  args->header.data = t;
  args->header.cleanup_fn = clean_up;
  if (t->error != NULL) {
    args->header.has_error = true;
    args->header.code = PJRT_Error_Code_OUT_OF_RANGE;
    args->header.error_msg = (PJRT_XlaTransform_string){t->error, strlen(t->error)};
    return;
  }
  args->changed = t->is_identity || t->text != NULL;
  args->transformed_hlo_module = args->hlo_module;
  if (t->text == NULL) return;
  write_program(t->text, &t->answer);
  args->transformed_hlo_module =
      (PJRT_XlaTransform_string){hlo_strbuf_text(&t->answer), t->answer.length};
}

static const PJRT_Xla_Transform_Extension* extension(void) {
  return hlo_test_find_extension(PJRT_Extension_Type_XlaTransform);
}

static PJRT_Error* try_register(transform_t* t, const char* name,
                                PJRT_XlaTransform_PipelineStage stage) {
  t->callbacks =
      (PJRT_XlaTransform_Callbacks){.version = 1, .dtor = destroy, .transform_hlo_module = answer};
  PJRT_Register_Xla_Transform_Args args = {
      .struct_size = PJRT_Register_Xla_Transform_Args_STRUCT_SIZE,
      .name = name,
      .name_size = name != NULL ? strlen(name) : 0,
      .stage = stage,
      .callbacks = &t->callbacks};
  return extension()->register_xla_transform(&args);
}

static void add(transform_t* t, const char* name) {
  hlo_test_expect_ok(try_register(t, name, PJRT_XlaTransform_PipelineStage_kPreScheduler),
                     "register_xla_transform");
}

static bool clear_of(const char* name, transform_t* t, PJRT_XlaTransform_PipelineStage stage) {
  PJRT_Clear_Xla_Transform_Args args = {.struct_size = PJRT_Clear_Xla_Transform_Args_STRUCT_SIZE,
                                        .name = name,
                                        .name_size = name != NULL ? strlen(name) : 0,
                                        .stage = stage,
                                        .callbacks = t != NULL ? &t->callbacks : NULL};
  hlo_test_expect_ok(extension()->clear_xla_transform(&args), "clear_xla_transform");
  return args.cleared;
}

static bool clear(const char* name) {
  return clear_of(name, NULL, PJRT_XlaTransform_PipelineStage_kPreScheduler);
}

// ---- programs

static const char negation[] =
    "module @negation {\n  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
    "    %0 = stablehlo.negate %x : tensor<8xf32>\n    return %0 : tensor<8xf32>\n  }\n}\n";

static const char increment[] =
    "HloModule increment\n\nENTRY main {\n  x = f32[8] parameter(0)\n  one = f32[] constant(1)\n"
    "  ones = f32[8] broadcast(one), dimensions={}\n  ROOT sum = f32[8] add(x, ones)\n}\n";

static const char longer[] =
    "HloModule longer\n\nENTRY main {\n  ROOT x = f32[9] parameter(0)\n}\n";

static PJRT_Error* try_compile(PJRT_Client* client, const char* text,
                               PJRT_LoadedExecutable** out_loaded) {
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = client, .program = &program);
  PJRT_Error* error = GetPjrtApi()->PJRT_Client_Compile(&args);
  *out_loaded = args.executable;
  return error;
}

/// Runs a program on 0 ... 7 and destroys it; result i is factor * i + offset.
static void expect_results(PJRT_Client* client, PJRT_LoadedExecutable* loaded, float factor,
                           float offset) {
  float data[COUNT], found[COUNT];
  PJRT_Buffer *arguments[1], *results[1];
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  for (int i = 0; i < COUNT; ++i) data[i] = (float)i;
  arguments[0] = hlo_test_upload(client, PJRT_Buffer_Type_F32, data, (int64_t[]){COUNT}, 1);
  hlo_test_run(loaded, &options, arguments, 1, results);
  hlo_test_download(results[0], found, sizeof found);
  for (int i = 0; i < COUNT; ++i) assert_true(found[i] == factor * (float)i + offset);
  hlo_test_destroy_buffer(arguments[0]);
  hlo_test_destroy_buffer(results[0]);
  hlo_test_destroy_loaded(loaded);
}

static void test_transformation(void** state) {
  transform_t t = {.text = increment};
  add(&t, "test");
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, negation);
  assert_int_equal(t.calls, 1);
  assert_int_equal(t.cleanups, 1);
  assert_non_null(strstr(t.seen, "negate("));
  assert_non_null(strstr(t.seen, "HloModule negation"));
  expect_results(*state, loaded, 1, 1);
  assert_true(clear("test"));
  assert_int_equal(t.destructions, 1);
  assert_false(clear("test"));
  expect_results(*state, hlo_test_compile(*state, negation), -1, 0);
  assert_int_equal(t.calls, 1);
}

// Those of the first stage come first; each one sees what the one before it made.
static void test_order(void** state) {
  transform_t last = {0}, first = {.text = increment}, second = {0};
  hlo_test_expect_ok(try_register(&last, "test", PJRT_XlaTransform_PipelineStage_kPostScheduler),
                     "register");
  add(&first, "test");
  add(&second, NULL);
  expect_results(*state, hlo_test_compile(*state, negation), 1, 1);
  assert_non_null(strstr(first.seen, "negate("));
  assert_non_null(strstr(second.seen, "add("));
  assert_non_null(strstr(last.seen, "add("));
  assert_true(clear("test"));
  assert_int_equal(last.destructions, 0);
  assert_false(clear_of(NULL, &first, PJRT_XlaTransform_PipelineStage_kPreScheduler));
  assert_true(clear_of(NULL, &second, PJRT_XlaTransform_PipelineStage_kPreScheduler));
  assert_true(clear_of("test", NULL, PJRT_XlaTransform_PipelineStage_kPostScheduler));
  assert_int_equal(last.destructions + first.destructions + second.destructions, 3);
}

// A loaded executable is transformed already, and needs no transformations.
static void test_serialization(void** state) {
  transform_t t = {.text = increment}, other = {.error = "called"};
  add(&t, "test");
  PJRT_LoadedExecutable* loaded = hlo_test_compile(*state, negation);
  PJRT_Executable* executable = hlo_test_executable_of(loaded);
  PJRT_Executable_Serialize_Args bytes = ARGS(Executable_Serialize, .executable = executable);
  OK(Executable_Serialize, &bytes);
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
  hlo_test_destroy_loaded(loaded);
  assert_true(clear("test"));
  add(&other, "test");
  PJRT_Executable_DeserializeAndLoad_Args again =
      ARGS(Executable_DeserializeAndLoad, .client = *state,
           .serialized_executable = bytes.serialized_bytes,
           .serialized_executable_size = bytes.serialized_bytes_size);
  OK(Executable_DeserializeAndLoad, &again);
  expect_results(*state, again.loaded_executable, 1, 1);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  assert_int_equal(other.calls, 0);
  assert_true(clear("test"));
}

// The layouts and donations of the program remain.
static void test_signature(void** state) {
  static const char text[] =
      "module {\n  func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\", "
      "tf.aliasing_output = 0 : i32}) -> (tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) {\n"
      "    %0 = stablehlo.add %x, %x : tensor<2x3xf32>\n    return %0 : tensor<2x3xf32>\n  }\n}\n";
  const float data[6] = {0, 1, 2, 3, 4, 5};
  transform_t t = {.is_identity = true};
  add(&t, "test");
  hlo_strbuf_t options = hlo_test_partition_options(1);
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args compile =
      ARGS(Client_Compile, .client = *state, .program = &program,
           .compile_options = hlo_strbuf_text(&options), .compile_options_size = options.length);
  OK(Client_Compile, &compile);
  const PJRT_Buffer_MemoryLayout_Tiled columns = {
      .struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
      .minor_to_major = (int64_t[]){0, 1},
      .minor_to_major_size = 2};
  PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                     .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
                                     .tiled = columns};
  PJRT_Client_BufferFromHostBuffer_Args upload =
      ARGS(Client_BufferFromHostBuffer, .client = *state, .data = data,
           .type = PJRT_Buffer_Type_F32, .dims = (int64_t[]){2, 3}, .num_dims = 2,
           .device = hlo_test_device_of(*state, 0), .device_layout = &layout,
           .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  OK(Client_BufferFromHostBuffer, &upload);
  hlo_test_await(upload.done_with_host_buffer);
  PJRT_ExecuteOptions execute = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *arguments[1] = {upload.buffer}, *results[1];
  hlo_test_run(compile.executable, &execute, arguments, 1, results);
  assert_true(hlo_test_is_deleted(arguments[0]));
  float found[6];
  PJRT_Buffer_MemoryLayout rows = layout;
  rows.tiled.minor_to_major = (int64_t[]){1, 0};
  PJRT_Buffer_ToHostBuffer_Args download =
      ARGS(Buffer_ToHostBuffer, .src = results[0], .dst = found, .dst_size = sizeof found,
           .host_layout = &rows);
  OK(Buffer_ToHostBuffer, &download);
  hlo_test_await(download.event);
  for (int i = 0; i < 6; ++i) assert_true(found[i] == 2 * data[i]);
  hlo_test_destroy_buffer(arguments[0]);
  hlo_test_destroy_buffer(results[0]);
  hlo_test_destroy_loaded(compile.executable);
  hlo_strbuf_deinit(&options);
  assert_true(clear("test"));
}

// Functions get the program of one device; their answer is not partitioned again.
static void test_partitions(void** state) {
  static const char text[] =
      "module attributes {mhlo.num_partitions = 4 : i32} {\n"
      "  sdy.mesh @mesh = <[\"x\"=4]>\n"
      "  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> "
      "(tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {\n"
      "    %0 = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "    %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0] : "
      "(tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
      "    return %1 : tensor<f32>\n  }\n}\n";
  transform_t t = {.is_identity = true};
  add(&t, "test");
  hlo_strbuf_t options = hlo_test_partition_options(PARTITIONS);
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args compile =
      ARGS(Client_Compile, .client = *state, .program = &program,
           .compile_options = hlo_strbuf_text(&options), .compile_options_size = options.length);
  OK(Client_Compile, &compile);
  assert_non_null(strstr(t.seen, "f32[2]"));
  assert_non_null(strstr(t.seen, "all-reduce"));
  PJRT_Buffer *arguments[PARTITIONS][1], *results[PARTITIONS][1] = {{NULL}};
  PJRT_Buffer* const* argument_rows[PARTITIONS];
  PJRT_Buffer** result_rows[PARTITIONS];
  PJRT_Event* events[PARTITIONS];
  for (int d = 0; d < PARTITIONS; ++d) {
    const float data[2] = {(float)(2 * d), (float)(2 * d + 1)};
    arguments[d][0] = hlo_test_upload_to(*state, d, data, 2);
    argument_rows[d] = arguments[d];
    result_rows[d] = results[d];
  }
  PJRT_ExecuteOptions execute = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  OK(LoadedExecutable_Execute,
     &ARGS(LoadedExecutable_Execute, .executable = compile.executable, .options = &execute,
           .argument_lists = argument_rows, .num_devices = PARTITIONS, .num_args = 1,
           .output_lists = result_rows, .device_complete_events = events));
  for (int d = 0; d < PARTITIONS; ++d) {
    float found;
    hlo_test_await(events[d]);
    hlo_test_download(results[d][0], &found, sizeof found);
    assert_true(found == 28);
    hlo_test_destroy_buffer(arguments[d][0]);
    hlo_test_destroy_buffer(results[d][0]);
  }
  hlo_test_destroy_loaded(compile.executable);
  hlo_strbuf_deinit(&options);
  assert_true(clear("test"));
}

static void test_faults(void** state) {
  transform_t failing = {.error = "no such op"}, wrong = {.text = longer};
  PJRT_LoadedExecutable* loaded;
  add(&failing, "test");
  hlo_test_expect_error(try_compile(*state, negation, &loaded), PJRT_Error_Code_OUT_OF_RANGE,
                        "in transformation 'test': no such op");
  assert_int_equal(failing.cleanups, 1);
  assert_true(clear("test"));
  add(&wrong, "test");
  hlo_test_expect_error(try_compile(*state, negation, &loaded), PJRT_Error_Code_INVALID_ARGUMENT,
                        "the new program has other arguments or results");
  assert_int_equal(wrong.cleanups, 1);
  assert_true(clear("test"));
}

static void test_registration(void** state) {
  (void)state;
  transform_t t = {0};
  hlo_test_expect_error(try_register(&t, "test", (PJRT_XlaTransform_PipelineStage)2),
                        PJRT_Error_Code_INVALID_ARGUMENT, "no pipeline stage 2");
  PJRT_Register_Xla_Transform_Args args = {
      .struct_size = PJRT_Register_Xla_Transform_Args_STRUCT_SIZE, .callbacks = &t.callbacks};
  t.callbacks.version = 2;
  hlo_test_expect_error(extension()->register_xla_transform(&args),
                        PJRT_Error_Code_INVALID_ARGUMENT, "version 2, expected 1");
  t.callbacks.transform_hlo_module = NULL;
  hlo_test_expect_error(extension()->register_xla_transform(&args),
                        PJRT_Error_Code_INVALID_ARGUMENT, "lacks its function");
  PJRT_Clear_Xla_Transform_Args none = {.struct_size = PJRT_Clear_Xla_Transform_Args_STRUCT_SIZE};
  hlo_test_expect_error(extension()->clear_xla_transform(&none), PJRT_Error_Code_INVALID_ARGUMENT,
                        "neither the name");
  PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Args trace = {
      .struct_size = PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Args_STRUCT_SIZE};
  hlo_test_expect_error(extension()->get_hlo_pass_pipeline_trace(&trace),
                        PJRT_Error_Code_UNIMPLEMENTED, "HLOCC_DUMP");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_transformation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_serialization, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_signature, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_partitions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_faults, set_up, tear_down),
      cmocka_unit_test(test_registration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
