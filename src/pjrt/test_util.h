// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of this folder: calls through GetPjrtApi(), as frameworks make them.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hlocc/pjrt.h"
#include "hlocc/pjrt_extensions.h"

/// An argument block with its size set.
#define ARGS(name, ...)                                          \
  (PJRT_##name##_Args) {                                         \
    .struct_size = PJRT_##name##_Args_STRUCT_SIZE, ##__VA_ARGS__ \
  }

/// Calls a function that must succeed.
#define OK(name, args) hlo_test_expect_ok(GetPjrtApi()->PJRT_##name(args), "PJRT_" #name)

/// Calls a function that must fail with `code` and a message that contains `part`.
#define FAILS(name, args, code, part) \
  hlo_test_expect_error(GetPjrtApi()->PJRT_##name(args), PJRT_Error_Code_##code, part)

/// Returns the extension of a type; every test that calls this needs the extension.
static inline const void* hlo_test_find_extension(PJRT_Extension_Type type) {
  const PJRT_Extension_Base* at = GetPjrtApi()->extension_start;
  while (at != NULL && at->type != type) at = at->next;
  assert_non_null(at);
  return at;
}

static inline void hlo_test_destroy_error(PJRT_Error* error) {
  GetPjrtApi()->PJRT_Error_Destroy(&ARGS(Error_Destroy, .error = error));
}

static inline void hlo_test_expect_ok(PJRT_Error* error, const char* function) {
  if (error == NULL) return;
  PJRT_Error_Message_Args message = ARGS(Error_Message, .error = error);
  GetPjrtApi()->PJRT_Error_Message(&message);
  fail_msg("%s: %.*s", function, (int)message.message_size, message.message);
}

static inline void hlo_test_expect_error(PJRT_Error* error, PJRT_Error_Code code,
                                         const char* part) {
  assert_non_null(error);
  PJRT_Error_Message_Args message = ARGS(Error_Message, .error = error);
  GetPjrtApi()->PJRT_Error_Message(&message);
  if (strstr(message.message, part) == NULL) fail_msg("'%s' not in: %s", part, message.message);
  PJRT_Error_GetCode_Args found = ARGS(Error_GetCode, .error = error);
  hlo_test_expect_ok(GetPjrtApi()->PJRT_Error_GetCode(&found), "PJRT_Error_GetCode");
  assert_int_equal(found.code, code);
  hlo_test_destroy_error(error);
}

/// Waits for an event that must succeed, and destroys it.
static inline void hlo_test_await(PJRT_Event* event) {
  OK(Event_Await, &ARGS(Event_Await, .event = event));
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = event));
}

/// Waits for an event that must fail, and destroys it.
static inline void hlo_test_await_error(PJRT_Event* event, PJRT_Error_Code code, const char* part) {
  hlo_test_expect_error(GetPjrtApi()->PJRT_Event_Await(&ARGS(Event_Await, .event = event)), code,
                        part);
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = event));
}

static inline PJRT_Client* hlo_test_create_client(int64_t device_count) {
  const PJRT_NamedValue options[] = {{.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                      .name = "num_devices",
                                      .name_size = strlen("num_devices"),
                                      .type = PJRT_NamedValue_kInt64,
                                      .int64_value = device_count,
                                      .value_size = 1}};
  PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = options, .num_options = 1);
  OK(Client_Create, &args);
  return args.client;
}

static inline void hlo_test_destroy_client(PJRT_Client* client) {
  OK(Client_Destroy, &ARGS(Client_Destroy, .client = client));
}

static inline PJRT_Device* hlo_test_device_of(PJRT_Client* client, size_t index) {
  PJRT_Client_Devices_Args args = ARGS(Client_Devices, .client = client);
  OK(Client_Devices, &args);
  assert_true(index < args.num_devices);
  return args.devices[index];
}

static inline PJRT_Memory* hlo_test_memory_of(PJRT_Device* device) {
  PJRT_Device_DefaultMemory_Args args = ARGS(Device_DefaultMemory, .device = device);
  OK(Device_DefaultMemory, &args);
  return args.memory;
}

/// Uploads a dense row-major array to the first device; waits until the host memory is free again.
static inline PJRT_Buffer* hlo_test_upload(PJRT_Client* client, PJRT_Buffer_Type type,
                                           const void* data, const int64_t* dims, size_t num_dims) {
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS(Client_BufferFromHostBuffer, .client = client, .data = data, .type = type, .dims = dims,
           .num_dims = num_dims, .device = hlo_test_device_of(client, 0),
           .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  OK(Client_BufferFromHostBuffer, &args);
  hlo_test_await(args.done_with_host_buffer);
  return args.buffer;
}

static inline void hlo_test_download(PJRT_Buffer* buffer, void* out, size_t size) {
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS(Buffer_ToHostBuffer, .src = buffer, .dst = out, .dst_size = size);
  OK(Buffer_ToHostBuffer, &args);
  hlo_test_await(args.event);
}

static inline PJRT_Event* hlo_test_ready_event(PJRT_Buffer* buffer) {
  PJRT_Buffer_ReadyEvent_Args args = ARGS(Buffer_ReadyEvent, .buffer = buffer);
  OK(Buffer_ReadyEvent, &args);
  return args.event;
}

static inline bool hlo_test_is_deleted(PJRT_Buffer* buffer) {
  PJRT_Buffer_IsDeleted_Args args = ARGS(Buffer_IsDeleted, .buffer = buffer);
  OK(Buffer_IsDeleted, &args);
  return args.is_deleted;
}

static inline void hlo_test_destroy_buffer(PJRT_Buffer* buffer) {
  OK(Buffer_Destroy, &ARGS(Buffer_Destroy, .buffer = buffer));
}

// --- Programs ------------------------------------------------------------------------------------

static inline PJRT_Program hlo_test_program_of(const char* text) {
  return (PJRT_Program){.struct_size = PJRT_Program_STRUCT_SIZE,
                        .code = (char*)text,
                        .code_size = strlen(text),
                        .format = "mlir",
                        .format_size = 4};
}

static inline PJRT_LoadedExecutable* hlo_test_compile(PJRT_Client* client, const char* text) {
  const PJRT_Program program = hlo_test_program_of(text);
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = client, .program = &program);
  OK(Client_Compile, &args);
  return args.executable;
}

static inline void hlo_test_destroy_loaded(PJRT_LoadedExecutable* loaded) {
  OK(LoadedExecutable_Destroy, &ARGS(LoadedExecutable_Destroy, .executable = loaded));
}

static inline PJRT_Executable* hlo_test_executable_of(PJRT_LoadedExecutable* loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args args =
      ARGS(LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  OK(LoadedExecutable_GetExecutable, &args);
  return args.executable;
}

/// Launches on one device with results in `results`; waits until the launch has ended.
static inline void hlo_test_run(PJRT_LoadedExecutable* loaded, PJRT_ExecuteOptions* options,
                                PJRT_Buffer** arguments, size_t count, PJRT_Buffer** results) {
  PJRT_Event* event = NULL;
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS(LoadedExecutable_Execute, .executable = loaded, .options = options,
           .argument_lists = (PJRT_Buffer* const* const[]){arguments}, .num_devices = 1,
           .num_args = count, .output_lists = (PJRT_Buffer * * const[]){results},
           .device_complete_events = &event);
  OK(LoadedExecutable_Execute, &args);
  hlo_test_await(event);
}
