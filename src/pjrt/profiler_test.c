// SPDX-License-Identifier: Apache-2.0
// Tests of the profiler extension: what runs between start and stop is in the XSpace, and nothing
// else.
#include "base/os.h"
#include "base/wire.h"
#include "pjrt/test_util.h"

static const char double_program[] =
    "module @doubler {\n"
    "  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";

static const PLUGIN_Profiler_Api* api(void) {
  const PJRT_Profiler_Extension* extension = hlo_test_find_extension(PJRT_Extension_Type_Profiler);
  // jaxlib 0.10 crashes otherwise.
  assert_int_equal(extension->profiler_api->struct_size,
                   PJRT_STRUCT_SIZE(PLUGIN_Profiler_Api, collect_data));
  return extension->profiler_api;
}

static PLUGIN_Profiler* create(void) {
  PLUGIN_Profiler_Create_Args args = {.options = "", .options_size = 0};
  assert_null(api()->create(&args));
  assert_non_null(args.profiler);
  return args.profiler;
}

static void destroy(PLUGIN_Profiler* profiler) {
  assert_null(api()->destroy(&(PLUGIN_Profiler_Destroy_Args){.profiler = profiler}));
}

static PLUGIN_Profiler_Error* try_start(PLUGIN_Profiler* profiler) {
  return api()->start(&(PLUGIN_Profiler_Start_Args){.profiler = profiler});
}

static void stop(PLUGIN_Profiler* profiler) {
  assert_null(api()->stop(&(PLUGIN_Profiler_Stop_Args){.profiler = profiler}));
}

static void expect_error(PLUGIN_Profiler_Error* error, int code, const char* part) {
  assert_non_null(error);
  PLUGIN_Profiler_Error_GetCode_Args found = {.error = error};
  assert_null(api()->error_get_code(&found));
  assert_int_equal(found.code, code);
  PLUGIN_Profiler_Error_Message_Args message = {.error = error};
  api()->error_message(&message);
  assert_int_equal(message.message_size, strlen(message.message));
  assert_non_null(strstr(message.message, part));
  api()->error_destroy(&(PLUGIN_Profiler_Error_Destroy_Args){.error = error});
}

static PLUGIN_Profiler_CollectData_Args collect(PLUGIN_Profiler* profiler) {
  PLUGIN_Profiler_CollectData_Args args = {.profiler = profiler};
  assert_null(api()->collect_data(&args));
  return args;
}

static void run_once(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
  const float data[4] = {1, 2, 3, 4};
  PJRT_Buffer* argument = hlo_test_upload(client, PJRT_Buffer_Type_F32, data, (int64_t[]){4}, 1);
  PJRT_Buffer* result;
  hlo_test_run(loaded, NULL, &argument, 1, &result);
  float out[4];
  hlo_test_download(result, out, sizeof out);
  assert_true(out[3] == 8);
  hlo_test_destroy_buffer(argument);
  hlo_test_destroy_buffer(result);
}

// --- Reading ------------------------------------------------------------------------------------

/// Returns the number-th occurrence, from 0, of a field of a message; false if there are fewer.
static bool find(hlo_wire_bytes_t message, uint32_t field, int number, hlo_wire_field_t* out) {
  hlo_wire_reader_t reader;
  hlo_wire_reader_init(&reader, message.data, message.size);
  for (;;) {
    bool done = false;
    assert_true(hlo_status_is_ok(hlo_wire_next(&reader, out, &done)));
    if (done) return false;
    if (out->number == field && number-- == 0) return true;
  }
}

static hlo_wire_bytes_t bytes_of(hlo_wire_bytes_t message, uint32_t field) {
  hlo_wire_field_t found;
  assert_true(find(message, field, 0, &found));
  return found.bytes;
}

static uint64_t value_of(hlo_wire_bytes_t message, uint32_t field) {
  hlo_wire_field_t found;
  return find(message, field, 0, &found) ? found.value : 0;
}

static bool is_text(hlo_wire_bytes_t bytes, const char* text) {
  return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

/// Looks a name up in a map of metadata (field 4: events, 5: stats); 0: none.
static uint64_t id_of(hlo_wire_bytes_t plane, uint32_t map, const char* name) {
  hlo_wire_field_t entry;
  for (int i = 0; find(plane, map, i, &entry); ++i) {
    hlo_wire_bytes_t value = bytes_of(entry.bytes, 2);
    assert_int_equal(value_of(entry.bytes, 1), value_of(value, 1));
    if (is_text(bytes_of(value, 2), name)) return value_of(value, 1);
  }
  return 0;
}

static int64_t stat_of(hlo_wire_bytes_t plane, hlo_wire_bytes_t event, const char* name) {
  hlo_wire_field_t stat;
  for (int i = 0; find(event, 4, i, &stat); ++i) {
    if (value_of(stat.bytes, 1) == id_of(plane, 5, name)) return (int64_t)value_of(stat.bytes, 4);
  }
  return -1;
}

/// Counts the events of a name and returns the last in *out_event.
static int count_events(hlo_wire_bytes_t space, const char* name, hlo_wire_bytes_t* out_event) {
  int count = 0;
  hlo_wire_field_t line, event;
  if (!space.size) return 0;
  const hlo_wire_bytes_t plane = bytes_of(space, 1);
  assert_true(is_text(bytes_of(plane, 2), "/host:CPU"));
  const uint64_t id = id_of(plane, 4, name);
  for (int i = 0; find(plane, 3, i, &line); ++i) {
    const uint64_t now_ns = hlo_os_wall_ns(), at_ns = value_of(line.bytes, 3);
    assert_true(at_ns <= now_ns && at_ns + 600 * UINT64_C(1000000000) > now_ns);
    for (int k = 0; find(line.bytes, 4, k, &event); ++k) {
      assert_true(value_of(event.bytes, 2) + value_of(event.bytes, 3) <= value_of(line.bytes, 9));
      if (!id || value_of(event.bytes, 1) != id) continue;
      if (out_event) *out_event = event.bytes;
      ++count;
    }
  }
  return count;
}

static hlo_wire_bytes_t space_of(PLUGIN_Profiler* profiler) {
  const PLUGIN_Profiler_CollectData_Args args = collect(profiler);
  return (hlo_wire_bytes_t){args.buffer, args.buffer_size_in_bytes};
}

// --- Tests ---------------------------------------------------------------------------------------

static void test_work_between_start_and_stop_is_recorded(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);  // exists before the start
  PJRT_LoadedExecutable* before = hlo_test_compile(client, double_program);
  run_once(client, before);
  PLUGIN_Profiler* profiler = create();
  assert_null(try_start(profiler));
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, double_program);
  run_once(client, loaded);
  run_once(client, before);
  stop(profiler);
  run_once(client, loaded);
  const hlo_wire_bytes_t space = space_of(profiler);
  hlo_wire_bytes_t launch, copy;
  assert_int_equal(count_events(space, "doubler", &launch), 2);
  assert_int_equal(count_events(space, "compile", NULL), 1);
  assert_int_equal(count_events(space, "frontend", NULL), 1);
  assert_int_equal(count_events(space, "host to device", &copy), 2);
  assert_int_equal(count_events(space, "device to host", NULL), 2);
  const hlo_wire_bytes_t plane = bytes_of(space, 1);
  assert_int_equal(stat_of(plane, launch, "device"), 0);
  assert_int_equal(stat_of(plane, launch, "run_id"), 3);
  assert_int_equal(stat_of(plane, copy, "bytes"), 16);
  destroy(profiler);
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_loaded(before);
  hlo_test_destroy_client(client);
}

static void test_profilers_record_in_turn(void** state) {
  (void)state;
  PJRT_Client* client = hlo_test_create_client(1);
  PJRT_LoadedExecutable* loaded = hlo_test_compile(client, double_program);
  PLUGIN_Profiler *first = create(), *second = create();
  assert_null(try_start(first));
  assert_null(try_start(first));  // does nothing
  expect_error(try_start(second), PJRT_Error_Code_FAILED_PRECONDITION, "another profiler");
  expect_error(api()->collect_data(&(PLUGIN_Profiler_CollectData_Args){.profiler = first}),
               PJRT_Error_Code_FAILED_PRECONDITION, "stop it");
  run_once(client, loaded);
  stop(first);
  stop(first);
  assert_null(try_start(second));
  stop(second);
  assert_int_equal(count_events(space_of(first), "doubler", NULL), 1);
  assert_int_equal(collect(second).buffer_size_in_bytes, 0);
  assert_null(try_start(first));  // forgets the recording
  run_once(client, loaded);
  run_once(client, loaded);
  stop(first);
  assert_int_equal(count_events(space_of(first), "doubler", NULL), 2);
  destroy(first);
  assert_null(try_start(second));
  destroy(second);  // also stops
  hlo_test_destroy_loaded(loaded);
  hlo_test_destroy_client(client);
}

static void test_data_are_copied(void** state) {
  (void)state;
  PLUGIN_Profiler* profiler = create();
  assert_int_equal(collect(profiler).buffer_size_in_bytes, 0);
  assert_null(try_start(profiler));
  PJRT_Client* client = hlo_test_create_client(1);
  hlo_test_destroy_loaded(hlo_test_compile(client, double_program));
  hlo_test_destroy_client(client);
  stop(profiler);
  const hlo_wire_bytes_t space = space_of(profiler);
  uint8_t* copy = malloc(space.size);
  PLUGIN_Profiler_CollectData_Args again = {.profiler = profiler, .buffer = copy};
  assert_null(api()->collect_data(&again));
  assert_int_equal(again.buffer_size_in_bytes, space.size);
  assert_memory_equal(copy, space.data, space.size);
  free(copy);
  destroy(profiler);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_work_between_start_and_stop_is_recorded),
      cmocka_unit_test(test_profilers_record_in_turn),
      cmocka_unit_test(test_data_are_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
