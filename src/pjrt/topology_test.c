// SPDX-License-Identifier: Apache-2.0
// Compiling for the machine and the devices of a topology, and loading what was compiled elsewhere.
#include "pjrt/test_util.h"

static const char kAdd[] =
    "func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
    "  %y = stablehlo.add %x, %x : tensor<64xf32>\n"
    "  return %y : tensor<64xf32>\n"
    "}\n";

static PJRT_NamedValue text_option(const char* name, const char* value) {
  return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kString,
                           .string_value = value,
                           .value_size = strlen(value)};
}

static PJRT_TopologyDescription* describe(const char* name, const char* cpu) {
  const PJRT_NamedValue options[] = {text_option("cpu", cpu)};
  PJRT_TopologyDescription_Create_Args args =
      ARGS(TopologyDescription_Create, .topology_name = name, .topology_name_size = strlen(name),
           .create_options = options, .num_options = 1);
  OK(TopologyDescription_Create, &args);
  return args.topology;
}

static void destroy_topology(PJRT_TopologyDescription* topology) {
  OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy, .topology = topology));
}

static const PJRT_NamedValue* attribute_of(PJRT_TopologyDescription* topology, const char* name) {
  PJRT_TopologyDescription_Attributes_Args args =
      ARGS(TopologyDescription_Attributes, .topology = topology);
  OK(TopologyDescription_Attributes, &args);
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue* at = &args.attributes[i];
    if (at->name_size == strlen(name) && memcmp(at->name, name, at->name_size) == 0) return at;
  }
  fail_msg("no attribute %s", name);
  return NULL;
}

static void expect_text(PJRT_TopologyDescription* topology, const char* name,
                        const char* expected) {
  const PJRT_NamedValue* value = attribute_of(topology, name);
  assert_int_equal(value->type, PJRT_NamedValue_kString);
  assert_int_equal(value->value_size, strlen(expected));
  assert_memory_equal(value->string_value, expected, value->value_size);
}

static PJRT_Client* client_with(const char* cpu, const char* recompile) {
  const PJRT_NamedValue options[] = {text_option("cpu", cpu), text_option("recompile", recompile)};
  PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = options, .num_options = 2);
  OK(Client_Create, &args);
  return args.client;
}

static PJRT_Executable* compile_for(PJRT_TopologyDescription* topology) {
  const PJRT_Program program = hlo_test_program_of(kAdd);
  PJRT_Compile_Args args = ARGS(Compile, .topology = topology, .program = &program);
  OK(Compile, &args);
  return args.executable;
}

static void destroy_executable(PJRT_Executable* executable) {
  OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = executable));
}

static PJRT_Executable_Serialize_Args serialize(PJRT_Executable* executable) {
  PJRT_Executable_Serialize_Args args = ARGS(Executable_Serialize, .executable = executable);
  OK(Executable_Serialize, &args);
  return args;
}

static PJRT_Executable_DeserializeAndLoad_Args load_args(PJRT_Client* client,
                                                         const PJRT_Executable_Serialize_Args* of) {
  return ARGS(Executable_DeserializeAndLoad, .client = client,
              .serialized_executable = of->serialized_bytes,
              .serialized_executable_size = of->serialized_bytes_size);
}

static void expect_doubles(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  float data[64];
  for (int i = 0; i < 64; ++i) data[i] = (float)i;
  PJRT_Buffer *argument = hlo_test_upload(client, PJRT_Buffer_Type_F32, data, (int64_t[]){64}, 1),
              *result;
  hlo_test_run(loaded, NULL, &argument, 1, &result);
  float out[64];
  hlo_test_download(result, out, sizeof out);
  for (int i = 0; i < 64; ++i) assert_true(out[i] == 2 * data[i]);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(result);
}

static void topologies_describe_processors(void** state) {
  (void)state;
  PJRT_TopologyDescription* topology = describe("2x2", "avx512+avx512bf16");
  expect_text(topology, "cpu_level", "avx512");
  const PJRT_NamedValue* features = attribute_of(topology, "cpu_features");
  assert_true(features->value_size > 20);
  assert_non_null(strstr(features->string_value, "avx512bw"));
  assert_non_null(strstr(features->string_value, "avx512bf16"));
  assert_null(strstr(features->string_value, "amx"));
  assert_int_equal(attribute_of(topology, "num_devices")->int64_value, 4);
  // The serialized form keeps them.
  PJRT_TopologyDescription_Serialize_Args bytes =
      ARGS(TopologyDescription_Serialize, .topology = topology);
  OK(TopologyDescription_Serialize, &bytes);
  PJRT_TopologyDescription_Deserialize_Args again =
      ARGS(TopologyDescription_Deserialize, .serialized_topology = bytes.serialized_bytes,
           .serialized_topology_size = bytes.serialized_bytes_size);
  OK(TopologyDescription_Deserialize, &again);
  expect_text(again.topology, "cpu_level", "avx512");
  expect_text(again.topology, "cpu_features", features->string_value);
  destroy_topology(again.topology);
  destroy_topology(topology);
  topology = describe("", "amx-amx_int8");
  expect_text(topology, "cpu_level", "avx512");
  destroy_topology(topology);
}

static void impossible_processors_are_refused(void** state) {
  (void)state;
  static const struct {
    const char *cpu, *part;
  } cases[] = {{"avx1024", "avx1024"},
               {"avx2+warp", "\"warp\""},
               {"avx2+avx512bf16", "avx512bf16 needs level avx512"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const PJRT_NamedValue options[] = {text_option("cpu", cases[i].cpu)};
    PJRT_TopologyDescription_Create_Args args =
        ARGS(TopologyDescription_Create, .create_options = options, .num_options = 1);
    FAILS(TopologyDescription_Create, &args, INVALID_ARGUMENT, cases[i].part);
  }
}

static void fingerprint_of(PJRT_Executable* executable, char out[32]) {
  PJRT_Executable_Fingerprint_Args args = ARGS(Executable_Fingerprint, .executable = executable);
  OK(Executable_Fingerprint, &args);
  assert_true(args.executable_fingerprint_size < 32);
  memcpy(out, args.executable_fingerprint, args.executable_fingerprint_size);
  out[args.executable_fingerprint_size] = 0;
}

static void fingerprints_tell_machines_apart(void** state) {
  (void)state;
  static const char* const cpus[] = {"sse2", "sse2", "avx512"};
  char texts[3][32];
  for (int i = 0; i < 3; ++i) {
    PJRT_TopologyDescription* topology = describe("", cpus[i]);
    PJRT_Executable* executable = compile_for(topology);
    fingerprint_of(executable, texts[i]);
    destroy_executable(executable);
    destroy_topology(topology);
  }
  assert_string_equal(texts[0], texts[1]);
  assert_string_not_equal(texts[0], texts[2]);
}

// A client of an older level stands for a machine without the features.
static void code_for_other_machines_is_refused(void** state) {
  (void)state;
  PJRT_TopologyDescription* topology = describe("", "avx512");
  PJRT_Executable* executable = compile_for(topology);
  PJRT_Executable_Serialize_Args bytes = serialize(executable);
  PJRT_Client* client = client_with("generic", "0");
  PJRT_Executable_DeserializeAndLoad_Args load = load_args(client, &bytes);
  FAILS(Executable_DeserializeAndLoad, &load, FAILED_PRECONDITION, "avx512f");
  PJRT_Client_Load_Args bind = ARGS(Client_Load, .client = client, .executable = executable);
  FAILS(Client_Load, &bind, FAILED_PRECONDITION, "this machine lacks");
  hlo_test_destroy_client(client);
  // Unless it may be compiled again.
  client = client_with("", "1");
  bind.client = client;
  OK(Client_Load, &bind);
  expect_doubles(client, bind.loaded_executable);
  hlo_test_destroy_loaded(bind.loaded_executable);
  load = load_args(client, &bytes);
  OK(Executable_DeserializeAndLoad, &load);
  expect_doubles(client, load.loaded_executable);
  hlo_test_destroy_loaded(load.loaded_executable);
  hlo_test_destroy_client(client);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  destroy_executable(executable);
  destroy_topology(topology);
}

// Code for less than the machine has runs as it is, and stays what it is.
static void code_for_older_machines_is_kept(void** state) {
  (void)state;
  PJRT_TopologyDescription* topology = describe("", "sse2");
  PJRT_Executable* executable = compile_for(topology);
  PJRT_Executable_Serialize_Args bytes = serialize(executable);
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_Executable_DeserializeAndLoad_Args load = load_args(client, &bytes);
  if (GetPjrtApi()->PJRT_Executable_DeserializeAndLoad(&load) == NULL) {  // else not x86-64
    expect_doubles(client, load.loaded_executable);
    PJRT_Executable* same = hlo_test_executable_of(load.loaded_executable);
    PJRT_Executable_Serialize_Args again = serialize(same);
    assert_int_equal(again.serialized_bytes_size, bytes.serialized_bytes_size);
    assert_memory_equal(again.serialized_bytes, bytes.serialized_bytes,
                        bytes.serialized_bytes_size);
    again.serialized_executable_deleter(again.serialized_executable);
    destroy_executable(same);
    hlo_test_destroy_loaded(load.loaded_executable);
  }
  hlo_test_destroy_client(client);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  destroy_executable(executable);
  destroy_topology(topology);
}

static void devices_are_those_of_the_topology(void** state) {
  (void)state;
  // executable_build_options {num_replicas: 8}, and another with a device_assignment to 0 and 9
  const char eight[] = {0x1a, 2, 0x20, 8};
  const char beyond[] = {0x1a, 14, 0x20, 2, 0x4a, 10, 0x08, 2, 0x10, 1, 0x1a, 4, 0x0a, 2, 0, 9};
  const PJRT_Program program = hlo_test_program_of(kAdd);
  PJRT_TopologyDescription *small = describe("2x2", ""), *large = describe("2x4", "");
  PJRT_Compile_Args args = ARGS(Compile, .topology = small, .program = &program,
                                .compile_options = eight, .compile_options_size = sizeof eight);
  FAILS(Compile, &args, INVALID_ARGUMENT, "topology of 4 devices");
  args.topology = large;
  OK(Compile, &args);
  PJRT_Client* client = hlo_test_create_client(8);
  PJRT_Client_Load_Args bind = ARGS(Client_Load, .client = client, .executable = args.executable);
  OK(Client_Load, &bind);
  PJRT_LoadedExecutable_AddressableDevices_Args devices =
      ARGS(LoadedExecutable_AddressableDevices, .executable = bind.loaded_executable);
  OK(LoadedExecutable_AddressableDevices, &devices);
  assert_int_equal(devices.num_addressable_devices, 8);
  hlo_test_destroy_loaded(bind.loaded_executable);
  hlo_test_destroy_client(client);
  destroy_executable(args.executable);
  args.compile_options = beyond;
  args.compile_options_size = sizeof beyond;
  FAILS(Compile, &args, INVALID_ARGUMENT, "device id 9; the topology has 8 devices");
  destroy_topology(small);
  destroy_topology(large);
}

static void options_are_read_without_a_client(void** state) {
  (void)state;
  const PJRT_Program program = hlo_test_program_of(kAdd);
  setenv("HLOCC_BACKEND", "turbo", 1);
  PJRT_TopologyDescription* topology = describe("", "");
  PJRT_Compile_Args args = ARGS(Compile, .topology = topology, .program = &program);
  FAILS(Compile, &args, NOT_FOUND, "no back end is called turbo");
  destroy_topology(topology);
  setenv("HLOCC_BACKEND", "interp", 1);
  topology = describe("", "avx512");
  PJRT_Executable* executable = compile_for(topology);
  PJRT_Executable_SizeOfGeneratedCodeInBytes_Args size =
      ARGS(Executable_SizeOfGeneratedCodeInBytes, .executable = executable);
  OK(Executable_SizeOfGeneratedCodeInBytes, &size);
  assert_int_equal(size.size_in_bytes, 0);
  unsetenv("HLOCC_BACKEND");
  // The interpreter runs it on every machine.
  PJRT_Client* client = client_with("generic", "0");
  PJRT_Client_Load_Args bind = ARGS(Client_Load, .client = client, .executable = executable);
  OK(Client_Load, &bind);
  expect_doubles(client, bind.loaded_executable);
  hlo_test_destroy_loaded(bind.loaded_executable);
  hlo_test_destroy_client(client);
  destroy_executable(executable);
  destroy_topology(topology);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(topologies_describe_processors),
      cmocka_unit_test(impossible_processors_are_refused),
      cmocka_unit_test(fingerprints_tell_machines_apart),
      cmocka_unit_test(code_for_other_machines_is_refused),
      cmocka_unit_test(code_for_older_machines_is_kept),
      cmocka_unit_test(devices_are_those_of_the_topology),
      cmocka_unit_test(options_are_read_without_a_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
