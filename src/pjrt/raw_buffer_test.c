// SPDX-License-Identifier: Apache-2.0
// Tests of the RawBuffer extension: queries, copies, dependencies of several kinds, slices, and
// copies between raw buffers.
#include "pjrt/test_util.h"

enum { BYTES = 1024 };

static const PJRT_RawBuffer_Extension* g_raw;

#define RAW_OK(name, args) \
  hlo_test_expect_ok(g_raw->PJRT_RawBuffer_##name(args), "PJRT_RawBuffer_" #name)
#define RAW_FAILS(name, args, code, part) \
  hlo_test_expect_error(g_raw->PJRT_RawBuffer_##name(args), PJRT_Error_Code_##code, part)

static int set_up(void** state) {
  g_raw = hlo_test_find_extension(PJRT_Extension_Type_RawBuffer);
  *state = hlo_test_create_client(2);
  return 0;
}

static int tear_down(void** state) {
  hlo_test_destroy_client(*state);
  return 0;
}

static PJRT_RawBuffer* alias_of(PJRT_Buffer* buffer) {
  PJRT_RawBuffer_CreateRawAliasOfBuffer_Args args =
      ARGS(RawBuffer_CreateRawAliasOfBuffer, .buffer = buffer);
  RAW_OK(CreateRawAliasOfBuffer, &args);
  return args.raw_buffer;
}

static void destroy_raw(PJRT_RawBuffer* raw) {
  RAW_OK(Destroy, &ARGS(RawBuffer_Destroy, .buffer = raw));
}

static PJRT_Buffer* zeros(PJRT_Client* client) {
  static const uint8_t data[BYTES];
  return hlo_test_upload(client, PJRT_Buffer_Type_U8, data, (int64_t[]){BYTES}, 1);
}

static void write_raw(PJRT_RawBuffer* raw, const void* data, int64_t offset, int64_t size) {
  PJRT_RawBuffer_CopyRawHostToDevice_Args args =
      ARGS(RawBuffer_CopyRawHostToDevice, .buffer = raw, .src = data, .offset = offset,
           .transfer_size = size);
  RAW_OK(CopyRawHostToDevice, &args);
  hlo_test_await(args.event);
}

static void read_raw(PJRT_RawBuffer* raw, void* data, int64_t offset, int64_t size) {
  PJRT_RawBuffer_CopyRawDeviceToHost_Args args =
      ARGS(RawBuffer_CopyRawDeviceToHost, .buffer = raw, .dst = data, .offset = offset,
           .transfer_size = size);
  RAW_OK(CopyRawDeviceToHost, &args);
  hlo_test_await(args.event);
}

static void* host_pointer(PJRT_RawBuffer* raw) {
  PJRT_RawBuffer_GetHostPointer_Args args = ARGS(RawBuffer_GetHostPointer, .buffer = raw);
  RAW_OK(GetHostPointer, &args);
  return args.host_pointer;
}

static void test_queries(void** state) {
  PJRT_Buffer* buffer = zeros(*state);
  PJRT_RawBuffer* raw = alias_of(buffer);
  PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args size =
      ARGS(RawBuffer_GetOnDeviceSizeInBytes, .buffer = raw);
  RAW_OK(GetOnDeviceSizeInBytes, &size);
  assert_int_equal(size.on_device_size_in_bytes, BYTES);
  PJRT_RawBuffer_GetMemorySpace_Args memory = ARGS(RawBuffer_GetMemorySpace, .buffer = raw);
  RAW_OK(GetMemorySpace, &memory);
  assert_ptr_equal(memory.memory_space, hlo_test_memory_of(hlo_test_device_of(*state, 0)));
  PJRT_Buffer_UnsafePointer_Args pointer = ARGS(Buffer_UnsafePointer, .buffer = buffer);
  OK(Buffer_UnsafePointer, &pointer);
  assert_int_equal((uintptr_t)host_pointer(raw), pointer.buffer_pointer);
  assert_ptr_equal(raw->vtable->opaque_device_memory_data_pointer(raw), host_pointer(raw));
  assert_true(raw->vtable->is_mutable(raw));
  RAW_FAILS(GetHostPointer, &ARGS(RawBuffer_GetHostPointer, .buffer = NULL), INVALID_ARGUMENT, "");
  OK(Buffer_Delete, &ARGS(Buffer_Delete, .buffer = buffer));
  RAW_FAILS(CreateRawAliasOfBuffer, &ARGS(RawBuffer_CreateRawAliasOfBuffer, .buffer = buffer),
            INVALID_ARGUMENT, "1024 bytes has been deleted");
  hlo_test_destroy_buffer(buffer);
  destroy_raw(raw);
}

static void test_copies_after_deletion(void** state) {
  PJRT_Buffer* buffer = zeros(*state);
  PJRT_RawBuffer* raw = alias_of(buffer);
  hlo_test_destroy_buffer(buffer);
  uint8_t ones[256], got[BYTES], want[BYTES] = {0};
  memset(ones, 1, sizeof ones);
  memset(want + 512, 1, sizeof ones);
  write_raw(raw, ones, 512, 256);
  read_raw(raw, got, 0, BYTES);
  assert_memory_equal(got, want, BYTES);
  RAW_FAILS(CopyRawHostToDevice,
            &ARGS(RawBuffer_CopyRawHostToDevice, .buffer = raw, .src = ones, .offset = 769,
                  .transfer_size = 256),
            INVALID_ARGUMENT, "256 bytes at offset 769 are outside a raw buffer of 1024 bytes");
  RAW_FAILS(CopyRawDeviceToHost,
            &ARGS(RawBuffer_CopyRawDeviceToHost, .buffer = raw, .dst = got, .offset = -1,
                  .transfer_size = 1),
            INVALID_ARGUMENT, "offset -1");
  write_raw(raw, NULL, BYTES, 0);
  destroy_raw(raw);
}

static void test_immutable_views(void** state) {
  static _Alignas(64) uint8_t page[BYTES];
  PJRT_Client_CreateViewOfDeviceBuffer_Args view =
      ARGS(Client_CreateViewOfDeviceBuffer, .client = *state, .device_buffer_ptr = page,
           .dims = (int64_t[]){BYTES}, .num_dims = 1, .element_type = PJRT_Buffer_Type_U8,
           .device = hlo_test_device_of(*state, 0));
  OK(Client_CreateViewOfDeviceBuffer, &view);
  PJRT_RawBuffer* raw = alias_of(view.buffer);
  assert_false(raw->vtable->is_mutable(raw));
  assert_ptr_equal(host_pointer(raw), page);
  RAW_FAILS(CopyRawHostToDevice,
            &ARGS(RawBuffer_CopyRawHostToDevice, .buffer = raw, .src = "x", .offset = 2,
                  .transfer_size = 1),
            FAILED_PRECONDITION, "cannot write 1 bytes at offset 2 of a raw buffer of 1024 bytes");
  destroy_raw(raw);
  hlo_test_destroy_buffer(view.buffer);
}

// --- Device events of the framework --------------------------------------------------------------

/// A device event of somebody else with one callback.
typedef struct own_event {
  int count;
  PJRT_DeviceEvent_AndThen callback;
  void* user_arg;
  const char* error;
} own_event_t;

static void own_retain(void* event) {
  ++((own_event_t*)event)->count;
}

static void own_release(void* event) {
  --((own_event_t*)event)->count;
}

static void own_and_then(void* event, PJRT_DeviceEvent_AndThen callback, void* user_arg) {
  ((own_event_t*)event)->callback = callback;
  ((own_event_t*)event)->user_arg = user_arg;
}

static int own_error(void* event, PJRT_Error_Code* code, const char** message, size_t* size) {
  const own_event_t* own = event;
  if (own->error == NULL) return 0;
  *code = PJRT_Error_Code_DATA_LOSS;
  *message = own->error;
  *size = strlen(own->error);
  return 1;
}

static const PJRT_DeviceEvent_FunctionTable own_functions = {
    .struct_size = sizeof(PJRT_DeviceEvent_FunctionTable),
    .inc_ref = own_retain,
    .dec_ref = own_release,
    .and_then = own_and_then,
    .get_error_if_present = own_error,
};

static void destroy_vector(PJRT_DeviceEvent* data) {
  free(data);
}

/// A vector of one or two events, whose references it takes.
static PJRT_DeviceEventVector vector_of(PJRT_DeviceEvent first, PJRT_DeviceEvent second) {
  const size_t size = second.vtable != NULL ? 2 : 1;
  PJRT_DeviceEvent* data = malloc(2 * sizeof *data);
  data[0] = first;
  data[1] = second;
  return (PJRT_DeviceEventVector){data, size, 2, destroy_vector};
}

static PJRT_DeviceEvent take_own(own_event_t* own) {
  own_retain(own);
  return (PJRT_DeviceEvent){&own_functions, own};
}

static const PJRT_DeviceEvent no_event = {NULL, NULL};

static void count_call(void* user_arg) {
  ++*(int*)user_arg;
}

static void test_dependencies(void** state) {
  PJRT_Buffer* buffer = zeros(*state);
  PJRT_RawBuffer* raw = alias_of(buffer);
  own_event_t own = {.count = 0};
  const uint8_t one = 1;
  uint8_t got = 9;
  PJRT_DeviceEventVector first = vector_of(take_own(&own), no_event);
  PJRT_DeviceEvent written, read;
  assert_null(
      raw->vtable->copy_raw_host_to_device_and_return_event(raw, &one, 3, 1, &first, &written));
  assert_int_equal(first.size, 0);
  assert_null(first.data);
  assert_int_equal(written.vtable->get_state(written.device_event),
                   PJRT_DeviceEvent_State_Unavailable);
  written.vtable->inc_ref(written.device_event);
  PJRT_DeviceEventVector second = vector_of(written, no_event);
  assert_null(
      raw->vtable->copy_raw_device_to_host_and_return_event(raw, &got, 3, 1, &second, &read));
  int calls = 0;
  read.vtable->and_then(read.device_event, count_call, &calls);
  assert_int_equal(calls, 0);
  assert_int_equal(((uint8_t*)host_pointer(raw))[3], 0);
  own.callback(own.user_arg);
  assert_int_equal(own.count, 0);
  assert_int_equal(calls, 1);
  assert_int_equal(got, 1);
  read.vtable->and_then(read.device_event, count_call, &calls);
  assert_int_equal(calls, 2);
  uint64_t sequence = 1;
  assert_int_equal(read.vtable->get_definition_stream(read.device_event, &sequence), 0);
  assert_int_equal(read.vtable->get_state(read.device_event), PJRT_DeviceEvent_State_Ready);
  read.vtable->dec_ref(read.device_event);
  written.vtable->dec_ref(written.device_event);
  destroy_raw(raw);
  hlo_test_destroy_buffer(buffer);
}

static void test_failed_dependencies(void** state) {
  PJRT_Buffer* buffer = zeros(*state);
  PJRT_RawBuffer* raw = alias_of(buffer);
  own_event_t own = {.error = "lost"};
  const uint8_t one = 1;
  PJRT_DeviceEventVector waits = vector_of(take_own(&own), no_event);
  PJRT_DeviceEvent written;
  assert_null(
      raw->vtable->copy_raw_host_to_device_and_return_event(raw, &one, 3, 1, &waits, &written));
  own.callback(own.user_arg);
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  const char* message = NULL;
  size_t size = 0;
  assert_int_not_equal(
      written.vtable->get_error_if_present(written.device_event, &code, &message, &size), 0);
  assert_int_equal(code, PJRT_Error_Code_DATA_LOSS);
  assert_non_null(strstr(message, "lost"));
  assert_int_equal(written.vtable->get_state(written.device_event), PJRT_DeviceEvent_State_Error);
  assert_int_equal(((uint8_t*)host_pointer(raw))[3], 0);
  // A refused copy releases its dependencies as well.
  waits = vector_of(take_own(&own), written);
  PJRT_DeviceEvent unused;
  hlo_test_expect_error(raw->vtable->copy_raw_device_to_host_and_return_event(
                            raw, (void*)message, 0, BYTES + 1, &waits, &unused),
                        PJRT_Error_Code_INVALID_ARGUMENT, "1025 bytes");
  own.callback(own.user_arg);
  assert_int_equal(own.count, 0);
  destroy_raw(raw);
  hlo_test_destroy_buffer(buffer);
}

// --- Slices --------------------------------------------------------------------------------------

static void test_slices(void** state) {
  PJRT_Buffer* buffer = zeros(*state);
  PJRT_RawBuffer *raw = alias_of(buffer), *half[2], *none = NULL;
  uint8_t data[BYTES], got[BYTES];
  for (int i = 0; i < BYTES; ++i) data[i] = (uint8_t)(i / 512 + 1);
  for (int i = 0; i < 2; ++i) {
    hlo_test_expect_ok(raw->vtable->slice(raw, i * 512, 512, &half[i]), "slice");
    write_raw(half[i], data + i * 512, 0, 512);
  }
  hlo_test_expect_error(raw->vtable->slice(raw, 513, 512, &none), PJRT_Error_Code_INVALID_ARGUMENT,
                        "512 bytes at offset 513 are outside a raw buffer of 1024 bytes");
  raw->vtable->inc_ref(raw);
  destroy_raw(raw);
  destroy_raw(raw);
  hlo_test_download(buffer, got, BYTES);
  assert_memory_equal(got, data, BYTES);
  hlo_test_destroy_buffer(buffer);
  assert_int_equal(half[1]->vtable->get_on_device_size_in_bytes(half[1]), 512);
  memset(got, 0, BYTES);
  read_raw(half[1], got, 256, 256);
  assert_memory_equal(got, data + 768, 256);
  for (int i = 0; i < 2; ++i) destroy_raw(half[i]);
}

// --- Copies between raw buffers ------------------------------------------------------------------

/// A promise of the framework that counts what it is told.
typedef struct own_promise {
  PJRT_DeviceEventPromise base;
  int count, errors;
  PJRT_DeviceEvent event;
} own_promise_t;

static void promise_release(PJRT_DeviceEventPromise* promise) {
  --((own_promise_t*)promise)->count;
}

static void promise_set(PJRT_DeviceEventPromise* promise, PJRT_DeviceEvent event) {
  ((own_promise_t*)promise)->event = event;
}

static void promise_set_error(PJRT_DeviceEventPromise* promise, PJRT_Error* error) {
  ++((own_promise_t*)promise)->errors;
  hlo_test_destroy_error(error);
}

static const PJRT_DeviceEventPromise_FunctionTable promise_functions = {
    .struct_size = sizeof(PJRT_DeviceEventPromise_FunctionTable),
    .dec_ref = promise_release,
    .set = promise_set,
    .set_error = promise_set_error,
};

typedef struct allocations {
  int calls, errors;
} allocations_t;

static void count_allocation(PJRT_Error* error, void* user_data) {
  allocations_t* allocations = user_data;
  ++allocations->calls;
  if (error != NULL) ++allocations->errors;
  if (error != NULL) hlo_test_destroy_error(error);
}

static void test_copies_between_raw_buffers(void** state) {
  PJRT_Buffer *buffer = zeros(*state), *other = zeros(*state);
  PJRT_RawBuffer *from = alias_of(buffer), *to = alias_of(other), *small = NULL;
  own_event_t own = {.count = 0};
  own_promise_t defined = {.base = {&promise_functions}, .count = 1}, used = defined;
  allocations_t allocations = {0};
  uint8_t data[BYTES], got[BYTES];
  memset(data, 5, BYTES);
  write_raw(from, data, 0, BYTES);
  PJRT_DeviceEventVector waits = vector_of(take_own(&own), no_event);
  from->vtable->schedule_copy_to(from, &waits, to, &defined.base, &used.base, count_allocation,
                                 &allocations);
  assert_int_equal(defined.count + used.count, 0);
  assert_int_equal(allocations.calls, 1);
  assert_int_equal(allocations.errors, 0);
  const PJRT_DeviceEvent done = defined.event;
  assert_int_equal(done.vtable->get_state(done.device_event), PJRT_DeviceEvent_State_Unavailable);
  own.callback(own.user_arg);
  assert_int_equal(done.vtable->get_state(done.device_event), PJRT_DeviceEvent_State_Ready);
  done.vtable->dec_ref(done.device_event);
  used.event.vtable->dec_ref(used.event.device_event);
  read_raw(to, got, 0, BYTES);
  assert_memory_equal(got, data, BYTES);

  hlo_test_expect_ok(to->vtable->slice(to, 0, 1, &small), "slice");
  waits = vector_of(take_own(&own), no_event);
  defined.count = used.count = 1;
  from->vtable->schedule_copy_to(from, &waits, small, &defined.base, &used.base, NULL, NULL);
  own.callback(own.user_arg);
  assert_int_equal(own.count, 0);
  assert_int_equal(defined.count + used.count, 0);
  assert_int_equal(defined.errors + used.errors, 2);
  PJRT_RawBuffer* all[] = {from, to, small};
  for (int i = 0; i < 3; ++i) destroy_raw(all[i]);
  hlo_test_destroy_buffer(buffer);
  hlo_test_destroy_buffer(other);
}

static void test_pending_values(void** state) {
  PJRT_Client_CreateAliasBuffer_Args args = ARGS(
      Client_CreateAliasBuffer, .client = *state,
      .memory = hlo_test_memory_of(hlo_test_device_of(*state, 0)), .shape_dims = (int64_t[]){BYTES},
      .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_U8);
  OK(Client_CreateAliasBuffer, &args);
  PJRT_RawBuffer* raw = alias_of(args.alias_buffer);
  assert_null(host_pointer(raw));
  PJRT_DeviceEvent exists, lent;
  assert_null(raw->vtable->make_allocation_ready_event(raw, &exists));
  assert_null(raw->vtable->get_raw_buffer_async_value(raw, &lent));
  assert_ptr_equal(lent.device_event, exists.device_event);
  int calls = 0;
  exists.vtable->and_then(exists.device_event, count_call, &calls);
  PJRT_Buffer* value = zeros(*state);
  OK(Client_FulfillAliasBuffer, &ARGS(Client_FulfillAliasBuffer, .client = *state, .buffer = value,
                                      .fulfill_alias_buffer_cb = args.fulfill_alias_buffer_cb));
  assert_int_equal(calls, 1);
  assert_non_null(host_pointer(raw));
  exists.vtable->dec_ref(exists.device_event);
  destroy_raw(raw);
  hlo_test_destroy_buffer(value);
  hlo_test_destroy_buffer(args.alias_buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queries),
      cmocka_unit_test(test_copies_after_deletion),
      cmocka_unit_test(test_immutable_views),
      cmocka_unit_test(test_dependencies),
      cmocka_unit_test(test_failed_dependencies),
      cmocka_unit_test(test_slices),
      cmocka_unit_test(test_copies_between_raw_buffers),
      cmocka_unit_test(test_pending_values),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
