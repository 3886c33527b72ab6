// SPDX-License-Identifier: Apache-2.0
// Tests of the observer: stages by name, trace files of several writers, files that cannot be
// written.
#include "base/observer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/os.h"

static char g_directory[64];

static int setup(void** state) {
  (void)state;
  strcpy(g_directory, "/tmp/hlocc_observer.XXXXXX");
  return mkdtemp(g_directory) ? 0 : -1;
}

static int teardown(void** state) {
  (void)state;
  return rmdir(g_directory);
}

static const char* path_of(const char* name) {
  static char paths[4][256];
  static unsigned next;
  char* path = paths[next++ % 4];
  snprintf(path, 256, "%s/%s", g_directory, name);
  return path;
}

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (part && !strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

// Counts warnings and keeps the last.
typedef struct warnings {
  int count;
  char text[512];
} warnings_t;

static void keep_warning(void* context, const hlo_log_record_t* record) {
  warnings_t* warnings = context;
  assert_int_equal(record->level, HLO_LOG_LEVEL_WARN);
  ++warnings->count;
  snprintf(warnings->text, sizeof warnings->text, "%s", record->message);
}

static void config_init(hlo_config_t* config, const char* dump, const char* trace) {
  const char* const none[] = {NULL};
  expect(hlo_config_init(config, none, &(hlo_strbuf_t){0}), HLO_STATUS_OK, NULL);
  expect(hlo_config_set(config, "dump", dump, HLO_CONFIG_SOURCE_OPTION), HLO_STATUS_OK, NULL);
  expect(hlo_config_set(config, "trace", trace, HLO_CONFIG_SOURCE_OPTION), HLO_STATUS_OK, NULL);
}

static void init(hlo_observer_t* observer, hlo_config_t* config, warnings_t* warnings,
                 const char* dump, const char* trace) {
  config_init(config, dump, trace);
  expect(hlo_observer_init(config, observer), HLO_STATUS_OK, NULL);
  *warnings = (warnings_t){0};
  observer->log.sink = keep_warning;
  observer->log.context = warnings;
  hlo_observer_start(config, observer);
}

static void deinit(hlo_observer_t* observer, hlo_config_t* config) {
  hlo_observer_deinit(observer);
  hlo_config_deinit(config);
}

static void stages_have_names(void** state) {
  (void)state;
  const struct {
    const char* text;
    uint32_t stages;
    const char* directory;
  } kGood[] = {
      {"", 0, "hlocc-dump"},
      {"input", 1u << HLO_DUMP_STAGE_input, "hlocc-dump"},
      {"final:", 1u << HLO_DUMP_STAGE_final, "hlocc-dump"},
      {"final,input:/a:b", 1u << HLO_DUMP_STAGE_final | 1u << HLO_DUMP_STAGE_input, "/a:b"},
      {"passes,passes:x", 1u << HLO_DUMP_STAGE_passes, "x"},
  };
  for (size_t i = 0; i < sizeof kGood / sizeof kGood[0]; ++i) {
    hlo_config_t config;
    hlo_observer_t observer;
    config_init(&config, kGood[i].text, "");
    expect(hlo_observer_init(&config, &observer), HLO_STATUS_OK, NULL);
    assert_int_equal(observer.dump_stages, kGood[i].stages);
    assert_string_equal(observer.dump_directory, kGood[i].directory);
    deinit(&observer, &config);
  }
  static const char* const kBad[] = {"inputs:x", "input,:x", ":x", ",", "input;final:x"};
  for (size_t i = 0; i < sizeof kBad / sizeof kBad[0]; ++i) {
    hlo_config_t config;
    hlo_observer_t observer;
    config_init(&config, kBad[i], "");
    expect(hlo_observer_init(&config, &observer), HLO_STATUS_INVALID_ARGUMENT,
           "HLOCC_DUMP): unknown stage");
    expect(hlo_observer_init(&config, &observer), HLO_STATUS_INVALID_ARGUMENT,
           "input, passes, final");
    hlo_config_deinit(&config);
  }
}

// Two clients at once write two files; a later one replaces the first.
static void traces_keep_apart(void** state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s", path_of("trace"));
  const char* second_path = path_of("trace.2");
  hlo_trace_t *first = NULL, *second = NULL;
  expect(hlo_trace_create(path, &first), HLO_STATUS_OK, NULL);
  expect(hlo_trace_create(path, &second), HLO_STATUS_OK, NULL);
  hlo_trace_end(first, 1, "test", "of the first", NULL);
  hlo_trace_flush(first);
  hlo_trace_end(second, 1, "test", "of the second", NULL);
  expect(hlo_trace_close(second), HLO_STATUS_OK, NULL);
  expect(hlo_trace_close(first), HLO_STATUS_OK, NULL);
  const char* const kPaths[] = {path, second_path};
  const char* const kNames[] = {"of the first", "of the second"};
  for (int i = 0; i < 2; ++i) {
    uint8_t* data = NULL;
    size_t size = 0;
    expect(hlo_os_file_read(kPaths[i], 0, &data, &size), HLO_STATUS_OK, NULL);
    assert_non_null(strstr((char*)data, kNames[i]));
    assert_null(strstr((char*)data, kNames[1 - i]));
    hlo_mem_free(data);
  }
  unlink(second_path);
  expect(hlo_trace_create(path, &first), HLO_STATUS_OK, NULL);
  expect(hlo_trace_close(first), HLO_STATUS_OK, NULL);
  assert_int_equal(access(second_path, F_OK), -1);
  unlink(path);
}

static void failures_are_warnings(void** state) {
  (void)state;
  hlo_config_t config;
  hlo_observer_t observer;
  warnings_t warnings;
  init(&observer, &config, &warnings, "input:/dev/null/dump", "/dev/null/trace");
  assert_null(observer.trace);
  assert_int_equal(warnings.count, 1);
  assert_non_null(
      strstr(warnings.text, "cannot write the trace: trace file: cannot open /dev/null"));
  assert_false(hlo_observer_write_dump(&observer, "a", "text", 4));
  assert_int_equal(warnings.count, 2);
  assert_non_null(
      strstr(warnings.text, "cannot write the dump: cannot create directory /dev/null"));
  deinit(&observer, &config);
}

// Every file operation fails once: one warning, and no file or a complete one.
static void each_operation_may_fail(void** state) {
  (void)state;
  char dump[256];
  snprintf(dump, sizeof dump, "input:%s", path_of("dumps"));
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    assert_true(n < 100);
    hlo_config_t config;
    hlo_observer_t observer;
    warnings_t warnings;
    hlo_os_io_fail_nth(n);
    init(&observer, &config, &warnings, dump, path_of("trace"));
    hlo_trace_t* trace = observer.trace;
    hlo_trace_end(trace, 1, "test", "span", NULL);
    bool written = hlo_observer_write_dump(&observer, "file", "text", 4);
    hlo_observer_deinit(&observer);
    failed = hlo_os_io_failed();
    hlo_os_io_fail_nth(0);
    assert_int_equal(warnings.count, failed);
    uint8_t* data = NULL;
    size_t size = 0;
    hlo_status_t status = hlo_os_file_read(path_of("dumps/file"), 0, &data, &size);
    assert_int_equal(hlo_status_is_ok(status), written);
    if (written) assert_string_equal((char*)data, "text");
    hlo_status_release(status);
    if (written) hlo_mem_free(data);
    unlink(path_of("dumps/file"));
    rmdir(path_of("dumps"));
    unlink(path_of("trace"));
    hlo_config_deinit(&config);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_have_names),
      cmocka_unit_test(traces_keep_apart),
      cmocka_unit_test(failures_are_warnings),
      cmocka_unit_test(each_operation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
