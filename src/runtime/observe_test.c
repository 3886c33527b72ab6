// SPDX-License-Identifier: Apache-2.0
// Tests of the trace and the dumps of compilations, runs and copies.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/observer.h"
#include "base/os.h"
#include "base/test_util.h"
#include "runtime/executable.h"

enum { COUNT = 4 };

static char g_directory[64];
static int g_warning_count;

static int setup(void** state) {
  (void)state;
  strcpy(g_directory, "/tmp/hlocc_observe.XXXXXX");
  return mkdtemp(g_directory) ? 0 : -1;
}

static int teardown(void** state) {
  (void)state;
  return rmdir(g_directory);
}

static void count_warning(void* context, const hlo_log_record_t* record) {
  (void)context;
  assert_int_equal(record->level, HLO_LOG_LEVEL_WARN);
  ++g_warning_count;
}

static hlo_observer_t observer_into(const char* directory, uint32_t stages) {
  g_warning_count = 0;
  return (hlo_observer_t){.log = {.level = HLO_LOG_LEVEL_WARN, .sink = count_warning},
                          .dump_stages = stages,
                          .dump_directory = directory};
}

static const uint32_t kAllStages = (1u << HLO_DUMP_STAGE_COUNT) - 1;

// Two modules of one name that add different constants.
static hlo_executable_t* compile(const hlo_observer_t* observer, int addend) {
  char text[512];
  snprintf(text, sizeof text,
           "module @\"jit a/b\" {\n"
           "func.func @main(%%x: tensor<4xf32>) -> tensor<4xf32> {\n"
           "  %%c = stablehlo.constant dense<%d.0> : tensor<4xf32>\n"
           "  %%y = stablehlo.add %%x, %%c : tensor<4xf32>\n"
           "  return %%y : tensor<4xf32>\n}\n}\n",
           addend);
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.observer = observer;
  config.backend = "interp";  // only faults of reading and writing are counted
  hlo_executable_t* executable = NULL;
  hlo_test_check(hlo_compile(text, strlen(text), "test.mlir", &config, NULL, 0, NULL, &executable));
  return executable;
}

// Counts the files whose names contain `part`; optionally removes all of them and the directory.
static int count_files(const char* path, const char* part, bool remove_all) {
  DIR* directory = opendir(path);
  if (!directory) return 0;
  int count = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    count += strstr(entry->d_name, part) != NULL;
    char file[512];
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    if (remove_all) unlink(file);
  }
  closedir(directory);
  if (remove_all) rmdir(path);
  return count;
}

static void dumps_have_stable_names(void** state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s/made/for/it", g_directory);
  hlo_observer_t observer = observer_into(path, kAllStages);
  for (int i = 0; i < 4; ++i) hlo_executable_release(compile(&observer, i % 2));
  assert_int_equal(g_warning_count, 0);
  assert_int_equal(count_files(path, ".00.input.mlir", false), 2);
  assert_int_equal(count_files(path, ".fold.mlir", false), 2);
  assert_int_equal(count_files(path, ".final.mlir", false), 2);
  int all = count_files(path, "jit_a_b.", false);
  assert_int_equal(all, count_files(path, "", false));
  assert_int_equal(all, count_files(path, ".mlir", true));
  // One stage only: the same names.
  observer.dump_stages = 1u << HLO_DUMP_STAGE_passes;
  hlo_executable_release(compile(&observer, 1));
  assert_int_equal(count_files(path, ".fold.mlir", false), 1);
  assert_int_equal(count_files(path, "", true), all / 2 - 2);
  // Disabled: creates nothing, not even the directory.
  observer.dump_stages = 0;
  hlo_executable_release(compile(&observer, 1));
  assert_int_equal(access(path, F_OK), -1);
  for (int i = 0; i < 2; ++i) {
    *strrchr(path, '/') = 0;
    assert_int_equal(rmdir(path), 0);
  }
}

// A failed write causes one warning per compilation, which succeeds.
static void compiling_survives_failed_dumps(void** state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s/dumps", g_directory);
  hlo_observer_t observer = observer_into("/dev/null/dumps", kAllStages);
  hlo_executable_release(compile(&observer, 1));
  assert_int_equal(g_warning_count, 1);
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    assert_true(n < 200);
    observer = observer_into(path, kAllStages);
    hlo_os_io_fail_nth(n);
    hlo_executable_t* executable = compile(&observer, 1);
    failed = hlo_os_io_failed();
    hlo_os_io_fail_nth(0);
    hlo_executable_release(executable);
    assert_int_equal(g_warning_count, failed);
    assert_int_equal(count_files(path, ".tmp", false), 0);
    count_files(path, "", true);
  }
}

// A client of two devices and a program on the first one. owner: the caller
static hlo_executable_t* load(const hlo_observer_t* observer, hlo_client_t** out_client,
                              hlo_loaded_t** out_loaded) {
  hlo_client_options_t options = {.device_count = 2, .thread_count = 1, .observer = observer};
  hlo_test_check(hlo_client_create(&options, out_client));
  hlo_executable_t* executable = compile(observer, 1);
  hlo_test_check(hlo_loaded_create(*out_client, executable, 0, NULL, out_loaded));
  return executable;
}

static void run_once(hlo_client_t* client, hlo_loaded_t* loaded) {
  const int64_t dims[1] = {COUNT};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  float values[COUNT] = {0};
  hlo_device_t* device = hlo_client_device(client, 0);
  hlo_buffer_t *argument = NULL, *result = NULL, *copy = NULL;
  hlo_test_check(hlo_buffer_from_host(&device->memories[HLO_MEMORY_DEVICE], &shape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &argument));
  hlo_buffer_t* const* rows[1] = {&argument};
  hlo_buffer_t** results[1] = {&result};
  hlo_launch_t launch = {
      .device_count = 1, .arguments = rows, .argument_count = 1, .out_results = results};
  hlo_test_check(hlo_loaded_execute(loaded, &launch));
  hlo_test_check(hlo_buffer_copy_to_memory(
      result, &hlo_client_device(client, 1)->memories[HLO_MEMORY_DEVICE], &copy));
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(copy, values, sizeof values, NULL, &done));
  hlo_test_check(hlo_event_await(done, UINT64_MAX));
  hlo_event_release(done);
  assert_true(values[COUNT - 1] == 1);
  hlo_buffer_release(argument);
  hlo_buffer_release(result);
  hlo_buffer_release(copy);
}

static void expect_span(const char* text, const char* category, const char* name,
                        const char* detail) {
  const char* line = text;
  for (; line; line = strchr(line + 1, '\n')) {
    const char* end = strchr(line + 1, '\n');
    char span[512];
    snprintf(span, sizeof span, "%.*s", end ? (int)(end - line) : 0, line);
    if (strstr(span, category) && strstr(span, name) && (!detail || strstr(span, detail))) return;
  }
  fail_msg("no span %s %s %s", category, name, detail ? detail : "");
}

static void runs_and_copies_leave_spans(void** state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s/trace", g_directory);
  hlo_observer_t observer = observer_into("", 0);
  hlo_test_check(hlo_trace_create(path, &observer.trace));
  hlo_client_t* client = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_executable_release(load(&observer, &client, &loaded));
  run_once(client, loaded);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
  uint8_t* data = NULL;
  size_t size = 0;
  // Already flushed: the process may end without releasing the client.
  hlo_test_check(hlo_os_file_read(path, 0, &data, &size));
  const char* text = (const char*)data;
  expect_span(text, "\"compile\"", "\"frontend\"", "MLIR text");
  expect_span(text, "\"compile\"", "\"back end\"", NULL);
  expect_span(text, "\"compile\"", "\"compile\"", "jit a/b");
  expect_span(text, "\"pass\"", "\"canonicalize\"", NULL);
  expect_span(text, "\"execute\"", "\"jit a/b\"", "\"device\":0,\"run_id\":1");
  expect_span(text, "\"transfer\"", "\"host to device\"", "\"bytes\":16,\"to_device\":0");
  expect_span(text, "\"transfer\"", "\"device to device\"", "\"from_device\":0,\"to_device\":1");
  expect_span(text, "\"transfer\"", "\"device to host\"", "\"bytes\":16,\"from_device\":1");
  hlo_mem_free(data);
  hlo_observer_deinit(&observer);
  unlink(path);
}

static void waits_leave_spans(void** state) {
  (void)state;
  enum { WAIT_NS = 1000 };
  hlo_recording_t* recording = NULL;
  hlo_test_check(hlo_recording_start());
  hlo_event_t* event = hlo_event_create();
  hlo_status_t status = hlo_event_await(event, WAIT_NS);
  hlo_test_check(hlo_recording_stop(&recording));
  assert_int_equal(hlo_status_code(status), HLO_STATUS_DEADLINE_EXCEEDED);
  hlo_status_release(status);
  hlo_event_set(event, hlo_ok());
  hlo_event_release(event);
  assert_int_equal(recording->spans.count, 1);
  const hlo_span_t* span = &recording->spans.items[0];
  assert_string_equal(span->category, "wait");
  assert_true(span->end_ns - span->begin_ns >= WAIT_NS);
  hlo_recording_release(recording);
}

static void expect_file(const char* directory, const char* name, const void* bytes, size_t size) {
  char path[400];
  uint8_t* data = NULL;
  size_t found = 0;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  hlo_test_check(hlo_os_file_read(path, 0, &data, &found));
  assert_int_equal(found, size);
  assert_memory_equal(data, bytes, size);
  hlo_mem_free(data);
  unlink(path);
}

static void launches_are_captured(void** state) {
  (void)state;
  hlo_observer_t observer = observer_into(g_directory, 1u << HLO_DUMP_STAGE_launches);
  hlo_client_t* client = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_executable_t* executable = load(&observer, &client, &loaded);
  run_once(client, loaded);
  char folder[256];
  snprintf(folder, sizeof folder, "%s/jit_a_b.%016llx.launch1", g_directory,
           (unsigned long long)executable->fingerprint);
  expect_file(folder, "program", executable->source, executable->source_bytes);
  expect_file(folder, "device0.argument0", (float[COUNT]){0}, COUNT * sizeof(float));
  assert_int_equal(rmdir(folder), 0);
  assert_int_equal(g_warning_count, 0);
  observer.dump_directory = "/dev/null/x";  // causes a warning; the launch succeeds
  run_once(client, loaded);
  assert_int_equal(g_warning_count, 1);
  hlo_executable_release(executable);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dumps_have_stable_names),
      cmocka_unit_test(compiling_survives_failed_dumps),
      cmocka_unit_test(runs_and_copies_leave_spans),
      cmocka_unit_test(waits_leave_spans),
      cmocka_unit_test(launches_are_captured),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
