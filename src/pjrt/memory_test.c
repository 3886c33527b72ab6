// SPDX-License-Identifier: Apache-2.0
// Memory is exhausted at every allocation of a whole session: each call succeeds or returns
// RESOURCE_EXHAUSTED, and nothing leaks (checked by the sanitizer build).
#include "base/mem.h"
#include "pjrt/test_util.h"

static const char program_text[] =
    "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";

/// Returns true if the call succeeded; otherwise it must have failed for lack of memory.
static bool went_well(PJRT_Error* error) {
  if (error == NULL) return true;
  PJRT_Error_GetCode_Args code = ARGS(Error_GetCode, .error = error);
  hlo_test_expect_ok(GetPjrtApi()->PJRT_Error_GetCode(&code), "PJRT_Error_GetCode");
  assert_int_equal(code.code, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  hlo_test_destroy_error(error);
  return false;
}

#define WENT_WELL(name, args) went_well(GetPjrtApi()->PJRT_##name(args))

static void use_buffer(PJRT_Client* client) {
  const float data[4] = {1, 2, 3, 4};
  PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
      Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_Buffer_Type_F32,
      .dims = (int64_t[]){4}, .num_dims = 1, .device = hlo_test_device_of(client, 0));
  if (!WENT_WELL(Client_BufferFromHostBuffer, &args)) return;
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = args.done_with_host_buffer));
  float out[4];
  PJRT_Buffer_ToHostBuffer_Args to_host =
      ARGS(Buffer_ToHostBuffer, .src = args.buffer, .dst = out, .dst_size = sizeof out);
  if (WENT_WELL(Buffer_ToHostBuffer, &to_host)) {
    (void)WENT_WELL(Event_Await, &ARGS(Event_Await, .event = to_host.event));
    OK(Event_Destroy, &ARGS(Event_Destroy, .event = to_host.event));
  }
  hlo_test_destroy_buffer(args.buffer);
}

/// The host's memory under a buffer, and that buffer under another one that waits for an event.
static void use_donation(PJRT_Client* client) {
  static _Alignas(64) float data[4] = {1, 2, 3, 4};
  PJRT_Client_BufferFromHostBuffer_Args args = ARGS(
      Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_Buffer_Type_F32,
      .dims = (int64_t[]){4}, .num_dims = 1, .device = hlo_test_device_of(client, 0),
      .host_buffer_semantics = PJRT_HostBufferSemantics_kMutableZeroCopy);
  if (!WENT_WELL(Client_BufferFromHostBuffer, &args)) return;
  PJRT_Buffer_DonateWithControlDependency_Args donate =
      ARGS(Buffer_DonateWithControlDependency, .buffer = args.buffer);
  if (WENT_WELL(Buffer_DonateWithControlDependency, &donate)) {
    PJRT_Buffer_DonateWithControlDependency_Callback_Args ready = {
        .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
        .callback_data = donate.callback_data};
    donate.dependency_ready_callback(&ready);
    hlo_test_destroy_buffer(donate.out_buffer);
  }
  hlo_test_destroy_buffer(args.buffer);
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = args.done_with_host_buffer));
}

/// An alias of a buffer that is filled in pieces, and its bytes under another type.
static void use_transfers(PJRT_Client* client) {
  const float data[4] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  PJRT_Memory* memory = hlo_test_memory_of(hlo_test_device_of(client, 0));
  PJRT_ShapeSpec spec = {.dims = dims, .num_dims = 1, .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args args =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = memory);
  if (!WENT_WELL(Client_CreateBuffersForAsyncHostToDevice, &args)) return;
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args get = ARGS(
      AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = args.transfer_manager);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &get);
  PJRT_Client_CreateAliasBuffer_Args alias =
      ARGS(Client_CreateAliasBuffer, .client = client, .memory = memory, .shape_dims = dims,
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  if (WENT_WELL(Client_CreateAliasBuffer, &alias)) {
    (void)WENT_WELL(Client_FulfillAliasBuffer,
                    &ARGS(Client_FulfillAliasBuffer, .client = client, .buffer = get.buffer_out,
                          .fulfill_alias_buffer_cb = alias.fulfill_alias_buffer_cb));
    hlo_test_destroy_buffer(alias.alias_buffer);
  }
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args literal =
      ARGS(AsyncHostToDeviceTransferManager_TransferLiteral,
           .transfer_manager = args.transfer_manager, .data = data, .shape_dims = dims,
           .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  if (WENT_WELL(AsyncHostToDeviceTransferManager_TransferLiteral, &literal)) {
    OK(Event_Destroy, &ARGS(Event_Destroy, .event = literal.done_with_h2d_transfer));
    PJRT_Buffer_Bitcast_Args bitcast =
        ARGS(Buffer_Bitcast, .buffer = get.buffer_out, .element_type = PJRT_Buffer_Type_S32,
             .dims = dims, .num_dims = 1);
    if (WENT_WELL(Buffer_Bitcast, &bitcast)) hlo_test_destroy_buffer(bitcast.out_buffer);
  }
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = args.transfer_manager));
  hlo_test_destroy_buffer(get.buffer_out);
}

static void use_program(PJRT_Client* client) {
  const PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                                .code = (char*)program_text,
                                .code_size = strlen(program_text),
                                .format = "mlir",
                                .format_size = 4};
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = client, .program = &program);
  if (!WENT_WELL(Client_Compile, &args)) return;
  PJRT_LoadedExecutable_GetExecutable_Args get =
      ARGS(LoadedExecutable_GetExecutable, .loaded_executable = args.executable);
  if (WENT_WELL(LoadedExecutable_GetExecutable, &get)) {
    OK(Executable_Destroy, &ARGS(Executable_Destroy, .executable = get.executable));
  }
  OK(LoadedExecutable_Destroy, &ARGS(LoadedExecutable_Destroy, .executable = args.executable));
}

/// Runs `use` with the first, second, third ... allocation failing, until it succeeds.
static void with_every_allocation_failing(PJRT_Client* client, void (*use)(PJRT_Client*)) {
  enum { ALLOCATION_LIMIT = 100000 };
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    assert_true(n < ALLOCATION_LIMIT);
    hlo_mem_fail_nth(n);
    use(client);
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
  }
}

static void use_client(PJRT_Client* none) {
  (void)none;
  PJRT_Client_Create_Args args = ARGS(Client_Create);
  if (!WENT_WELL(Client_Create, &args)) return;
  hlo_test_destroy_client(args.client);
}

static void use_topology(PJRT_Client* none) {
  (void)none;
  PJRT_TopologyDescription_Create_Args args = ARGS(TopologyDescription_Create);
  if (!WENT_WELL(TopologyDescription_Create, &args)) return;
  OK(TopologyDescription_Destroy, &ARGS(TopologyDescription_Destroy, .topology = args.topology));
}

static void test_clients(void** state) {
  (void)state;
  with_every_allocation_failing(NULL, use_client);
  with_every_allocation_failing(NULL, use_topology);
}

static void test_buffers(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  with_every_allocation_failing(client, use_buffer);
  with_every_allocation_failing(client, use_donation);
  with_every_allocation_failing(client, use_transfers);
  hlo_test_destroy_client(client);
}

static void test_programs(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  with_every_allocation_failing(client, use_program);
  hlo_test_destroy_client(client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clients),
      cmocka_unit_test(test_buffers),
      cmocka_unit_test(test_programs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
