// SPDX-License-Identifier: Apache-2.0
// Tests of the table of functions, argument blocks of other ages, and all functions of clients,
// devices, memories and topologies.
#include <stdio.h>

#include "pjrt/test_util.h"

// --- The table -----------------------------------------------------------------------------------

static void test_no_slot_is_null(void** state) {
  (void)state;
  const PJRT_Api* api = GetPjrtApi();
  assert_int_equal(api->struct_size, PJRT_Api_STRUCT_SIZE);
  assert_int_equal(api->pjrt_api_version.major_version, 0);
  assert_int_equal(api->pjrt_api_version.minor_version, 114);
  void (*const* slots)(void) = (void (*const*)(void)) & api->PJRT_Error_Destroy;
  const size_t count =
      (sizeof *api - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void (*)(void));
  assert_int_equal(count, 138);
  for (size_t i = 0; i < count; ++i) assert_non_null(slots[i]);
}

static void test_extensions_are_a_chain(void** state) {
  (void)state;
  bool layouts = false, memories = false, shardings = false;
  for (const PJRT_Extension_Base* at = GetPjrtApi()->extension_start; at != NULL; at = at->next) {
    layouts |= at->type == PJRT_Extension_Type_Layouts;
    memories |= at->type == PJRT_Extension_Type_MemoryDescriptions;
    shardings |= at->type == PJRT_Extension_Type_Shardings;
  }
  assert_true(layouts && memories && shardings);
}

static void test_plugin_attributes(void** state) {
  (void)state;
  OK(Plugin_Initialize, &ARGS(Plugin_Initialize));
  PJRT_Plugin_Attributes_Args args = ARGS(Plugin_Attributes);
  OK(Plugin_Attributes, &args);
  assert_int_equal(args.num_attributes, 3);
  assert_string_equal(args.attributes[0].name, "xla_version");
  assert_int_equal(args.attributes[0].int64_value, 2);
  assert_string_equal(args.attributes[2].name, "stablehlo_minimum_version");
  assert_int_equal(args.attributes[2].int64_array_value[1], 9);

  // As the clients of jaxlib 0.6 ask.
  args = (PJRT_Plugin_Attributes_Args){.struct_size =
                                           offsetof(PJRT_Plugin_Attributes_Args, num_attributes)};
  OK(Plugin_Attributes, &args);
  assert_int_equal(args.num_attributes, 3);
}

// --- Argument blocks -----------------------------------------------------------------------------

static void test_blocks_that_are_too_short_are_refused(void** state) {
  (void)state;
  PJRT_Client_Create_Args args = ARGS(Client_Create);
  args.struct_size = offsetof(PJRT_Client_Create_Args, client);
  FAILS(Client_Create, &args, INVALID_ARGUMENT, "PJRT_Client_Create: struct_size");
  assert_null(args.client);
  FAILS(Client_Create, NULL, INVALID_ARGUMENT, "no argument block");
}

/// The data after the block of a caller without key-value callbacks are not read.
static void test_older_callers_are_served(void** state) {
  (void)state;
  PJRT_Client_Create_Args args;
  memset(&args, 0xa5, sizeof args);
  memset(&args, 0, offsetof(PJRT_Client_Create_Args, kv_try_get_callback));
  args.struct_size = offsetof(PJRT_Client_Create_Args, kv_try_get_callback);
  OK(Client_Create, &args);
  assert_non_null(args.client);
  assert_int_equal((uintptr_t)args.kv_try_get_user_arg, (uintptr_t)0xa5a5a5a5a5a5a5a5u);
  hlo_test_destroy_client(args.client);
}

static void test_newer_callers_are_served(void** state) {
  (void)state;
  struct {
    PJRT_Event_Create_Args args;
    uint64_t later_field;
  } block = {.args = {.struct_size = sizeof block}, .later_field = 42};
  OK(Event_Create, &block.args);
  assert_int_equal(block.later_field, 42);
  assert_int_equal(block.args.struct_size, sizeof block);
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = block.args.event));
}

static void test_null_objects_are_refused(void** state) {
  (void)state;
  FAILS(Client_PlatformName, &ARGS(Client_PlatformName), INVALID_ARGUMENT, "the object is null");
  OK(Client_Destroy, &ARGS(Client_Destroy));
  OK(Buffer_Destroy, &ARGS(Buffer_Destroy));
  OK(Executable_Destroy, &ARGS(Executable_Destroy));
  OK(LoadedExecutable_Destroy, &ARGS(LoadedExecutable_Destroy));
  OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy));
  hlo_test_destroy_error(NULL);
}

static void test_unsupported_functions_say_so(void** state) {
  (void)state;
  FAILS(CopyToDeviceStream_AddChunk, &ARGS(CopyToDeviceStream_AddChunk), UNIMPLEMENTED,
        "PJRT_CopyToDeviceStream_AddChunk is not supported");
}

static void count_payload(const char* key, size_t key_size, const char* value, size_t value_size,
                          void* user_arg) {
  (void)key, (void)key_size, (void)value, (void)value_size;
  ++*(int*)user_arg;
}

static void test_errors_have_no_payloads(void** state) {
  (void)state;
  PJRT_Error* error = GetPjrtApi()->PJRT_Client_Create(NULL);
  int payloads = 0;
  OK(Error_ForEachPayload,
     &ARGS(Error_ForEachPayload, .error = error, .visitor = count_payload, .user_arg = &payloads));
  assert_int_equal(payloads, 0);
  hlo_test_destroy_error(error);
}

// --- Events --------------------------------------------------------------------------------------

static void note_error(PJRT_Error* error, void* user_arg) {
  *(PJRT_Error**)user_arg = error;
}

static void test_events(void** state) {
  (void)state;
  PJRT_Event_Create_Args create = ARGS(Event_Create);
  OK(Event_Create, &create);
  PJRT_Event* event = create.event;
  PJRT_Event_IsReady_Args ready = ARGS(Event_IsReady, .event = event, .is_ready = true);
  OK(Event_IsReady, &ready);
  assert_false(ready.is_ready);
  PJRT_Error* noted = NULL;
  OK(Event_OnReady,
     &ARGS(Event_OnReady, .event = event, .callback = note_error, .user_arg = &noted));
  PJRT_Event_Set_Args set = ARGS(Event_Set, .event = event, .error_code = PJRT_Error_Code_DATA_LOSS,
                                 .error_message = "gone?", .error_message_size = 4);
  OK(Event_Set, &set);
  hlo_test_expect_error(noted, PJRT_Error_Code_DATA_LOSS, "gone");
  FAILS(Event_Set, &set, FAILED_PRECONDITION, "already set");
  FAILS(Event_Error, &ARGS(Event_Error, .event = event), DATA_LOSS, "gone");
  hlo_test_await_error(event, PJRT_Error_Code_DATA_LOSS, "gone");
}

// --- Clients and devices -------------------------------------------------------------------------

static void test_client(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(3);
  PJRT_Client_PlatformName_Args name = ARGS(Client_PlatformName, .client = client);
  OK(Client_PlatformName, &name);
  assert_string_equal(name.platform_name, "cpu");
  assert_int_equal(name.platform_name_size, 3);
  PJRT_Client_PlatformVersion_Args version = ARGS(Client_PlatformVersion, .client = client);
  OK(Client_PlatformVersion, &version);
  assert_memory_equal(version.platform_version, "PJRT C API hlocc ", 17);
  PJRT_Client_AddressableDevices_Args devices = ARGS(Client_AddressableDevices, .client = client);
  OK(Client_AddressableDevices, &devices);
  assert_int_equal(devices.num_addressable_devices, 3);
  PJRT_Client_LookupDevice_Args lookup = ARGS(Client_LookupDevice, .client = client, .id = 2);
  OK(Client_LookupDevice, &lookup);
  assert_ptr_equal(lookup.device, devices.addressable_devices[2]);
  lookup.id = 3;
  FAILS(Client_LookupDevice, &lookup, INVALID_ARGUMENT, "no device has id 3");
  int ids[4] = {-1, -1, -1, -1};
  PJRT_Client_DefaultDeviceAssignment_Args assignment =
      ARGS(Client_DefaultDeviceAssignment, .client = client, .num_replicas = 3, .num_partitions = 1,
           .default_assignment = ids, .default_assignment_size = 4);
  OK(Client_DefaultDeviceAssignment, &assignment);
  assert_memory_equal(ids, ((int[]){0, 1, 2, -1}), sizeof ids);
  assignment.num_partitions = 2;
  FAILS(Client_DefaultDeviceAssignment, &assignment, INVALID_ARGUMENT, "do not fit");
  hlo_test_destroy_client(client);
}

static void test_create_options(void** state) {
  (void)state;
  PJRT_NamedValue options[] = {
      {.name = "num_devices",
       .name_size = 11,
       .type = PJRT_NamedValue_kString,
       .string_value = "2!",
       .value_size = 1},
      {.name = "something_else",
       .name_size = 14,
       .type = PJRT_NamedValue_kBool,
       .bool_value = true,
       .value_size = 1},
      {.name = "num_nodes",
       .name_size = 9,
       .type = PJRT_NamedValue_kInt64,
       .int64_value = 1,
       .value_size = 1},
  };
  PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = options, .num_options = 3);
  OK(Client_Create, &args);
  PJRT_Client_Devices_Args devices = ARGS(Client_Devices, .client = args.client);
  OK(Client_Devices, &devices);
  assert_int_equal(devices.num_devices, 2);
  hlo_test_destroy_client(args.client);
  options[2].int64_value = 2;
  FAILS(Client_Create, &args, UNIMPLEMENTED, "2 processes");
  options[0].value_size = 2;
  FAILS(Client_Create, &args, INVALID_ARGUMENT, "2!");
}

#define INT_OPTION(key, value)                                                                   \
  {                                                                                              \
    .name = key, .name_size = strlen(key), .type = PJRT_NamedValue_kInt64, .int64_value = value, \
    .value_size = 1                                                                              \
  }

// The devices share the limit; an error names the owners of the memory and changes nothing.
static void test_memory_limit(void** state) {
  (void)state;
  enum { MIB = 1 << 20 };
  const PJRT_NamedValue options[] = {INT_OPTION("num_devices", 2), INT_OPTION("memory_limit", 16),
                                     INT_OPTION("host_memory_limit", 16)};
  PJRT_Client_Create_Args create = ARGS(Client_Create, .create_options = options, .num_options = 3);
  OK(Client_Create, &create);
  const int64_t dims[] = {12 * MIB};
  PJRT_Client_CreateUninitializedBuffer_Args args =
      ARGS(Client_CreateUninitializedBuffer, .client = create.client, .shape_dims = dims,
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_U8,
           .device = hlo_test_device_of(create.client, 0));
  OK(Client_CreateUninitializedBuffer, &args);
  PJRT_Buffer* first = args.buffer;
  args.device = hlo_test_device_of(create.client, 1);
  FAILS(Client_CreateUninitializedBuffer, &args, RESOURCE_EXHAUSTED,
        "12582912 bytes of kind device in 1 block: arrays from the host and copies");
  PJRT_Device_AddressableMemories_Args memories =
      ARGS(Device_AddressableMemories, .device = args.device);
  OK(Device_AddressableMemories, &memories);
  PJRT_Buffer_CopyToMemory_Args copy =
      ARGS(Buffer_CopyToMemory, .buffer = first, .dst_memory = memories.memories[1]);
  OK(Buffer_CopyToMemory, &copy);
  hlo_test_await(hlo_test_ready_event(copy.dst_buffer));
  hlo_test_destroy_buffer(first);
  OK(Client_CreateUninitializedBuffer, &args);
  PJRT_Device_MemoryStats_Args stats = ARGS(Device_MemoryStats, .device = args.device);
  OK(Device_MemoryStats, &stats);
  assert_int_equal(stats.bytes_in_use, 12 * MIB);
  assert_int_equal(stats.bytes_limit, 16 * MIB);
  assert_true(stats.bytes_reservable_limit_is_set);
  assert_int_equal(stats.bytes_reservable_limit, 16 * MIB / 2);
  hlo_test_destroy_buffer(args.buffer);
  hlo_test_destroy_buffer(copy.dst_buffer);
  hlo_test_destroy_client(create.client);
}

static void test_devices_and_memories(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(2);
  PJRT_Device* device = hlo_test_device_of(client, 1);
  PJRT_Device_GetDescription_Args get = ARGS(Device_GetDescription, .device = device);
  OK(Device_GetDescription, &get);
  PJRT_DeviceDescription_Id_Args id =
      ARGS(DeviceDescription_Id, .device_description = get.device_description);
  OK(DeviceDescription_Id, &id);
  assert_int_equal(id.id, 1);
  PJRT_DeviceDescription_ToString_Args text =
      ARGS(DeviceDescription_ToString, .device_description = get.device_description);
  OK(DeviceDescription_ToString, &text);
  assert_string_equal(text.to_string, "CpuDevice(id=1)");
  PJRT_DeviceDescription_DebugString_Args debug =
      ARGS(DeviceDescription_DebugString, .device_description = get.device_description);
  OK(DeviceDescription_DebugString, &debug);
  assert_string_equal(debug.debug_string, "cpu:1");
  PJRT_Device_GetAttributes_Args attributes = ARGS(Device_GetAttributes, .device = device);
  OK(Device_GetAttributes, &attributes);
  assert_int_equal(attributes.num_attributes, 3 * 7);
  assert_string_equal(attributes.attributes[7].name, "pinned_host.bytes_in_use");
  assert_int_equal(attributes.attributes[7].int64_value, 0);
  assert_string_equal(attributes.attributes[20].name, "unpinned_host.bytes_limit");
  assert_true(attributes.attributes[20].int64_value > 0);
  attributes.attributes_deleter(attributes.device_attributes);

  PJRT_Device_AddressableMemories_Args memories =
      ARGS(Device_AddressableMemories, .device = device);
  OK(Device_AddressableMemories, &memories);
  assert_int_equal(memories.num_memories, 3);
  assert_ptr_equal(memories.memories[0], hlo_test_memory_of(device));
  PJRT_Memory_Kind_Args kind = ARGS(Memory_Kind, .memory = memories.memories[0]);
  OK(Memory_Kind, &kind);
  assert_string_equal(kind.kind, "device");
  PJRT_Memory_AddressableByDevices_Args by =
      ARGS(Memory_AddressableByDevices, .memory = memories.memories[2]);
  OK(Memory_AddressableByDevices, &by);
  assert_int_equal(by.num_devices, 1);
  assert_ptr_equal(by.devices[0], device);
  hlo_test_destroy_client(client);
}

static void count_end(void* data) {
  ++*(int*)data;
}

static void test_user_data_of_memories(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_Memory* memory = hlo_test_memory_of(hlo_test_device_of(client, 0));
  int first_ends = 0, second_ends = 0;
  static const char key;
  assert_null(memory->vtable->get_user_data(memory, &key));
  memory->vtable->set_user_data(memory, &key, &first_ends, count_end);
  assert_ptr_equal(memory->vtable->get_user_data(memory, &key), &first_ends);
  memory->vtable->set_user_data(memory, &key, &second_ends, count_end);
  assert_int_equal(first_ends, 1);
  assert_ptr_equal(memory->vtable->get_user_data(memory, &key), &second_ends);
  hlo_test_destroy_client(client);
  assert_int_equal(second_ends, 1);
}

static void test_memory_stats(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_Device* device = hlo_test_device_of(client, 0);
  const float data[1024] = {0};
  PJRT_Buffer* buffer = hlo_test_upload(client, PJRT_Buffer_Type_F32, data, (int64_t[]){1024}, 1);
  // jaxlib leaves the results uninitialised.
  PJRT_Device_MemoryStats_Args stats;
  memset(&stats, 0xff, sizeof stats);
  stats.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
  stats.extension_start = NULL;
  stats.device = device;
  OK(Device_MemoryStats, &stats);
  assert_false(stats.bytes_reserved_is_set || stats.peak_bytes_reserved_is_set);
  assert_false(stats.largest_free_block_bytes_is_set);
  assert_false(stats.peak_allocated_bytes_is_set);
  assert_true(stats.bytes_in_use >= (int64_t)sizeof data);
  assert_true(stats.peak_bytes_in_use_is_set && stats.peak_bytes_in_use >= stats.bytes_in_use);
  assert_true(stats.pool_bytes_is_set && stats.pool_bytes >= stats.bytes_in_use);
  assert_true(stats.peak_pool_bytes_is_set && stats.peak_pool_bytes >= stats.pool_bytes);
  assert_true(!stats.bytes_limit_is_set || stats.bytes_limit >= stats.pool_bytes);
  hlo_test_destroy_buffer(buffer);
  OK(Device_ClearMemoryStats, &ARGS(Device_ClearMemoryStats, .device = device));
  OK(Device_MemoryStats, &stats);
  assert_int_equal(stats.bytes_in_use, 0);
  assert_int_equal(stats.peak_bytes_in_use, 0);
  hlo_test_destroy_client(client);
}

// --- Topologies ----------------------------------------------------------------------------------

static size_t devices_in(PJRT_TopologyDescription* topology) {
  PJRT_TopologyDescription_GetDeviceDescriptions_Args args =
      ARGS(TopologyDescription_GetDeviceDescriptions, .topology = topology);
  OK(TopologyDescription_GetDeviceDescriptions, &args);
  return args.num_descriptions;
}

static void test_topology_by_name(void** state) {
  (void)state;
  static const struct {
    const char* name;
    size_t devices;
  } cases[] = {{"", 1}, {"cpu", 1}, {"cpu:4", 4}, {"v5e:2x2", 4}, {"2x3x4", 24}, {"a:b", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    PJRT_TopologyDescription_Create_Args args =
        ARGS(TopologyDescription_Create, .topology_name = cases[i].name,
             .topology_name_size = strlen(cases[i].name));
    OK(TopologyDescription_Create, &args);
    assert_int_equal(devices_in(args.topology), cases[i].devices);
    OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy, .topology = args.topology));
  }
  PJRT_TopologyDescription_Create_Args huge = ARGS(
      TopologyDescription_Create, .topology_name = "x:65536x65536x65536", .topology_name_size = 19);
  FAILS(TopologyDescription_Create, &huge, INVALID_ARGUMENT, "devices");
}

static void test_topology_as_bytes(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(5);
  PJRT_Client_TopologyDescription_Args of = ARGS(Client_TopologyDescription, .client = client);
  OK(Client_TopologyDescription, &of);
  PJRT_TopologyDescription_Serialize_Args bytes =
      ARGS(TopologyDescription_Serialize, .topology = of.topology);
  OK(TopologyDescription_Serialize, &bytes);
  PJRT_TopologyDescription_Deserialize_Args again =
      ARGS(TopologyDescription_Deserialize, .serialized_topology = bytes.serialized_bytes,
           .serialized_topology_size = bytes.serialized_bytes_size);
  OK(TopologyDescription_Deserialize, &again);
  assert_int_equal(devices_in(again.topology), 5);
  PJRT_TopologyDescription_Fingerprint_Args a =
      ARGS(TopologyDescription_Fingerprint, .topology = of.topology);
  PJRT_TopologyDescription_Fingerprint_Args b =
      ARGS(TopologyDescription_Fingerprint, .topology = again.topology);
  OK(TopologyDescription_Fingerprint, &a);
  OK(TopologyDescription_Fingerprint, &b);
  assert_true(a.fingerprint == b.fingerprint);
  bytes.serialized_topology_deleter(bytes.serialized_topology);
  OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy, .topology = again.topology));
  hlo_test_destroy_client(client);
  again.serialized_topology = "not a topology";
  again.serialized_topology_size = 14;
  FAILS(TopologyDescription_Deserialize, &again, INVALID_ARGUMENT, "topology");
}

static void test_canonical_shape(void** state) {
  (void)state;
  PJRT_TopologyDescription_Create_Args create = ARGS(TopologyDescription_Create);
  OK(TopologyDescription_Create, &create);
  PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args args =
      ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace, .topology = create.topology,
           .dims = (int64_t[]){2, 3}, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32);
  OK(TopologyDescription_MakeCanonicalShapeForMemorySpace, &args);
  // element_type = F32 (11), dimensions = [2, 3], layout = {minor_to_major = [1, 0]}
  const char expected[] = {0x10, 11, 0x1a, 2, 2, 3, 0x2a, 4, 0x0a, 2, 1, 0};
  assert_int_equal(args.serialized_shape_size, sizeof expected);
  assert_memory_equal(args.serialized_shape, expected, sizeof expected);
  args.serialized_shape_deleter(args.serialized_shape);
  PJRT_Buffer_MemoryLayout layout = {
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.minor_to_major = (int64_t[]){0, 1}, .minor_to_major_size = 2}};
  args.layout = &layout;
  OK(TopologyDescription_MakeCanonicalShapeForMemorySpace, &args);
  assert_memory_equal(args.serialized_shape + 10, ((char[]){0, 1}), 2);
  args.serialized_shape_deleter(args.serialized_shape);
  OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy, .topology = create.topology));
}

static void test_dma_mappings(void** state) {
  (void)state;
  static char page[4096];
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_Client_DmaMap_Args map =
      ARGS(Client_DmaMap, .client = client, .data = page, .size = sizeof page);
  PJRT_Client_DmaUnmap_Args unmap = ARGS(Client_DmaUnmap, .client = client, .data = page);
  OK(Client_DmaMap, &map);
  FAILS(Client_DmaMap, &map, ALREADY_EXISTS, "cannot map 4096 bytes");
  OK(Client_DmaUnmap, &unmap);
  FAILS(Client_DmaUnmap, &unmap, NOT_FOUND, "cannot unmap");
  map.size = 0;
  FAILS(Client_DmaMap, &map, INVALID_ARGUMENT, "cannot map 0 bytes");
  hlo_test_destroy_client(client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_slot_is_null),
      cmocka_unit_test(test_extensions_are_a_chain),
      cmocka_unit_test(test_plugin_attributes),
      cmocka_unit_test(test_blocks_that_are_too_short_are_refused),
      cmocka_unit_test(test_older_callers_are_served),
      cmocka_unit_test(test_newer_callers_are_served),
      cmocka_unit_test(test_null_objects_are_refused),
      cmocka_unit_test(test_unsupported_functions_say_so),
      cmocka_unit_test(test_errors_have_no_payloads),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_client),
      cmocka_unit_test(test_create_options),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_devices_and_memories),
      cmocka_unit_test(test_user_data_of_memories),
      cmocka_unit_test(test_memory_stats),
      cmocka_unit_test(test_topology_by_name),
      cmocka_unit_test(test_topology_as_bytes),
      cmocka_unit_test(test_canonical_shape),
      cmocka_unit_test(test_dma_mappings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
