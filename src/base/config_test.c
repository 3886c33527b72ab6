// SPDX-License-Identifier: Apache-2.0
// Tests of options, log, trace, processor features and suggestions.
#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/fpenv.h"
#include "base/log.h"
#include "base/os.h"
#include "base/suggest.h"
#include "base/threads.h"
#include "base/trace.h"

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (part && !strstr(hlo_status_message(status), part)) {
    fail_msg("\"%s\" does not hold \"%s\"", hlo_status_message(status), part);
  }
  hlo_status_release(status);
}

static void test_defaults_and_sources(void** state) {
  (void)state;
  hlo_config_t config;
  hlo_strbuf_t warnings = {0};
  const char* const empty[] = {"PATH=/bin", NULL};
  expect(hlo_config_init(&config, empty, &warnings), HLO_STATUS_OK, NULL);
  assert_int_equal(config.num_devices, 1);
  assert_int_equal(config.num_threads, 0);
  assert_string_equal(config.log, "warn");
  assert_string_equal(config.platform_name, "cpu");
  assert_false(config.check);
  assert_int_equal(config.subnormals, HLO_SUBNORMALS_FLUSH);
  assert_int_equal(warnings.length, 0);
  hlo_config_deinit(&config);

  const char* const full[] = {
      "HLOCC_NUM_DEVICES=4", "HLOCC_CHECK=on",
      "XLA_FLAGS= --xla_force_host_platform_device_count=8  --xla_cpu_enable_fast_math=false "
      "--xla_dump_to='/tmp/a b' --hlocc_num_threads=3",
      NULL};
  expect(hlo_config_init(&config, full, &warnings), HLO_STATUS_OK, NULL);
  assert_int_equal(config.num_devices, 4);  // our own variable is the stronger one
  assert_int_equal(config.sources[HLO_CONFIG_NUM_DEVICES], HLO_CONFIG_SOURCE_ENVIRONMENT);
  assert_int_equal(config.num_threads, 3);
  assert_int_equal(config.sources[HLO_CONFIG_NUM_THREADS], HLO_CONFIG_SOURCE_XLA_FLAGS);
  assert_string_equal(config.dump, "input,final:/tmp/a b");
  assert_true(config.check);
  expect(hlo_config_set(&config, "num_devices", "2", HLO_CONFIG_SOURCE_OPTION), HLO_STATUS_OK,
         NULL);
  assert_int_equal(config.num_devices, 2);
  expect(hlo_config_set(&config, "subnormals", "keep", HLO_CONFIG_SOURCE_OPTION), HLO_STATUS_OK,
         NULL);
  assert_int_equal(config.subnormals, HLO_SUBNORMALS_KEEP);
  assert_int_equal(warnings.length, 0);
  hlo_strbuf_t text = {0};
  hlo_config_print_value(&config, HLO_CONFIG_DUMP, &text);
  hlo_config_print_value(&config, HLO_CONFIG_NUM_DEVICES, &text);
  hlo_config_print_value(&config, HLO_CONFIG_CHECK, &text);
  hlo_config_print_value(&config, HLO_CONFIG_SUBNORMALS, &text);
  assert_string_equal(hlo_strbuf_text(&text), "input,final:/tmp/a b21keep");
  hlo_strbuf_deinit(&text);
  hlo_config_deinit(&config);
}

static void test_bad_values(void** state) {
  (void)state;
  static const struct {
    const char* variable;
    const char* part;
  } kCases[] = {
      {"HLOCC_NUM_DEVICES=many",
       "HLOCC_NUM_DEVICES is \"many\", expected a whole number from 1 to"},
      {"HLOCC_NUM_DEVICES=0", "\"0\""},
      {"HLOCC_NUM_THREADS=99999999999999999999", "HLOCC_NUM_THREADS"},
      {"HLOCC_CHECK=maybe", "expected 0 or 1"},
      {"HLOCC_SUBNORMALS=kee", "HLOCC_SUBNORMALS is \"kee\", expected one of: flush,keep"},
      {"XLA_FLAGS=--xla_force_host_platform_device_count=x", "XLA_FLAGS: xla_force_host"},
  };
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    const char* const environment[] = {kCases[i].variable, NULL};
    hlo_config_t config;
    hlo_strbuf_t warnings = {0};
    expect(hlo_config_init(&config, environment, &warnings), HLO_STATUS_INVALID_ARGUMENT,
           kCases[i].part);
    hlo_strbuf_deinit(&warnings);
  }
}

static void test_unknown_names(void** state) {
  (void)state;
  const char* const environment[] = {"HLOCC_NUM_DEVICE=2", "HLOCC_XYZZY=1",
                                     "XLA_FLAGS=--hlocc_num_treads=1 --xla_unheard_of=1", NULL};
  hlo_config_t config;
  hlo_strbuf_t warnings = {0};
  expect(hlo_config_init(&config, environment, &warnings), HLO_STATUS_OK, NULL);
  assert_string_equal(
      hlo_strbuf_text(&warnings),
      "XLA_FLAGS: unknown option \"num_treads\"; did you mean \"num_threads\"?\n"
      "unknown environment variable HLOCC_NUM_DEVICE; did you mean HLOCC_NUM_DEVICES?\n"
      "unknown environment variable HLOCC_XYZZY\n");
  hlo_strbuf_deinit(&warnings);
  expect(hlo_config_set(&config, "lgo", "x", HLO_CONFIG_SOURCE_OPTION), HLO_STATUS_NOT_FOUND,
         "did you mean \"log\"?");
  hlo_config_deinit(&config);
}

static void test_out_of_memory(void** state) {
  (void)state;
  const char* const environment[] = {"HLOCC_NUM_DEVICE=2", "XLA_FLAGS=--xla_dump_to=/x", NULL};
  for (uint64_t n = 1;; ++n) {
    hlo_config_t config;
    hlo_strbuf_t warnings = {0};
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_config_init(&config, environment, &warnings);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!failed) assert_true(hlo_status_is_ok(status));
    if (hlo_status_is_ok(status)) hlo_config_deinit(&config);
    hlo_status_release(status);
    hlo_strbuf_deinit(&warnings);
    if (!failed) break;
  }
}

static void test_edit_distance(void** state) {
  (void)state;
  assert_int_equal(hlo_edit_distance("add", "add", 5), 0);
  assert_int_equal(hlo_edit_distance("add", "dad", 5), 1);
  assert_int_equal(hlo_edit_distance("", "add", 5), 3);
  assert_int_equal(hlo_edit_distance("kitten", "sitting", 5), 3);
  assert_int_equal(hlo_edit_distance("kitten", "sitting", 1), 2);
  hlo_suggestion_t suggestion;
  hlo_suggestion_init(&suggestion, "brodcast");
  hlo_suggestion_offer(&suggestion, "broadcast_in_dim");
  hlo_suggestion_offer(&suggestion, "broadcast");
  assert_string_equal(suggestion.best, "broadcast");
}

typedef struct lines {
  char text[256];
  int count;
} lines_t;

static void keep_line(void* context, const hlo_log_record_t* record) {
  lines_t* lines = context;
  assert_int_equal(strlen(record->message), record->length);
  assert_string_equal(record->component, "base");
  assert_string_equal(record->file, "src/base/config_test.c");
  assert_true(record->line > 0 && record->wall_ns > 0 && record->thread_id > 0);
  snprintf(lines->text, sizeof lines->text, "%s %s", hlo_log_level_name(record->level),
           record->message);
  ++lines->count;
}

static void test_log(void** state) {
  (void)state;
  lines_t lines = {0};
  hlo_log_t log = {.sink = keep_line, .context = &lines};
  expect(hlo_log_level_parse("info", &log.level), HLO_STATUS_OK, NULL);
  expect(hlo_log_level_parse("loud", &log.level), HLO_STATUS_INVALID_ARGUMENT, "loud");
  HLO_LOG(&log, DEBUG, "not shown %d", 1);
  HLO_LOG((const hlo_log_t*)NULL, ERROR, "no log %d", 1);
  HLO_LOG(&log, INFO, "shown %d", 2);
  assert_int_equal(lines.count, 1);
  assert_string_equal(lines.text, "info shown 2");
  char long_text[5000];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
  HLO_LOG(&log, ERROR, "%s", long_text);
  assert_int_equal(lines.count, 2);
}

static int32_t trace_chunk(void* context, size_t index) {
  hlo_trace_t* trace = context;
  uint64_t begin = hlo_trace_begin();
  hlo_trace_end(trace, begin, "test", index % 2 ? "odd" : "say \"even\"\n", index ? NULL : "first");
  return 0;
}

static void test_trace(void** state) {
  (void)state;
  assert_int_equal(hlo_trace_begin(), 0);
  hlo_trace_end(NULL, 0, "a", "b", NULL);
  char path[] = "/tmp/hlocc_trace_test.XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  hlo_trace_t* trace = NULL;
  expect(hlo_trace_create(path, &trace), HLO_STATUS_OK, NULL);
  hlo_pool_t* pool = NULL;
  expect(hlo_pool_create(2, &pool), HLO_STATUS_OK, NULL);
  assert_int_equal(hlo_pool_parallel_for(pool, 2000, trace_chunk, trace), 0);
  hlo_pool_release(pool);
  expect(hlo_trace_close(trace), HLO_STATUS_OK, NULL);
  uint8_t* data = NULL;
  size_t size = 0;
  expect(hlo_os_file_read(path, 0, &data, &size), HLO_STATUS_OK, NULL);
  unlink(path);
  const char* text = (const char*)data;
  assert_true(size > 4 && text[0] == '[' && strcmp(text + size - 3, "\n]\n") == 0);
  assert_non_null(strstr(text, "\"name\":\"say \\\"even\\\"\\u000a\""));
  assert_non_null(strstr(text, "\"args\":{\"detail\":\"first\"}"));
  size_t spans = 0;
  for (const char* p = text; (p = strstr(p, "\"ph\":\"X\"")) != NULL; ++p) ++spans;
  assert_int_equal(spans, 2000);
  hlo_mem_free(data);
  expect(hlo_trace_create("/no/such/directory/trace", &trace), HLO_STATUS_NOT_FOUND, "trace file");
}

static void test_cpu(void** state) {
  (void)state;
  hlo_cpu_t cpu, generic;
  expect(hlo_cpu_detect(NULL, &cpu), HLO_STATUS_OK, NULL);
  expect(hlo_cpu_detect("generic", &generic), HLO_STATUS_OK, NULL);
  assert_int_equal(generic.level, HLO_CPU_LEVEL_GENERIC);
  assert_false(hlo_cpu_has(&generic, HLO_CPU_AVX2));
  assert_int_equal(generic.features & ~cpu.features, 0);
  expect(hlo_cpu_detect("pentium", &generic), HLO_STATUS_INVALID_ARGUMENT, "pentium");
  for (int level = 0; level <= (int)HLO_CPU_LEVEL_AMX; ++level) {
    const char* name = hlo_cpu_level_name((hlo_cpu_level_t)level);
    hlo_cpu_t older;
    bool reached = level <= (int)cpu.level;
    expect(hlo_cpu_detect(name, &older), reached ? HLO_STATUS_OK : HLO_STATUS_FAILED_PRECONDITION,
           NULL);
    if (reached) assert_int_equal(older.level, level);
    expect(hlo_cpu_find(name, &older), HLO_STATUS_OK, NULL);  // for code that runs elsewhere
    assert_int_equal(older.level, level);
  }
  hlo_strbuf_t text = {0};
  hlo_cpu_describe(&cpu, &text);
  assert_non_null(strstr(hlo_strbuf_text(&text), hlo_cpu_level_name(cpu.level)));
  hlo_strbuf_deinit(&text);
}

static void test_described_cpu(void** state) {
  (void)state;
  char path[] = "/tmp/hlocc-cpu-XXXXXX", wanted[sizeof path + 1];
  int file = mkstemp(path);
  assert_true(file >= 0);
  snprintf(wanted, sizeof wanted, "@%s", path);
  static const char machine[] =
      "hlocc 9\nprocessor: other\nfeatures: x86_64 sse4: sse2 ssse3 sse4.1 sse4.2 future\n"
      "caches: L1 64 KiB, L2 512 KiB, L3 0 KiB\n";
  assert_int_equal(write(file, machine, sizeof machine - 1), sizeof machine - 1);
  hlo_cpu_t cpu;
  expect(hlo_cpu_find(wanted, &cpu), HLO_STATUS_OK, NULL);
  assert_int_equal(cpu.level, HLO_CPU_LEVEL_SSE4);
  assert_int_equal(cpu.l1_bytes, 64 << 10);
  assert_int_equal(cpu.l2_bytes, 512 << 10);
  assert_false(hlo_cpu_has(&cpu, HLO_CPU_AVX));
  assert_int_equal(ftruncate(file, 0), 0);
  expect(hlo_cpu_find(wanted, &cpu), HLO_STATUS_INVALID_ARGUMENT, "no line with features");
  close(file);
  unlink(path);
  expect(hlo_cpu_find(wanted, &cpu), HLO_STATUS_NOT_FOUND, path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults_and_sources),
      cmocka_unit_test(test_bad_values),
      cmocka_unit_test(test_unknown_names),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_edit_distance),
      cmocka_unit_test(test_log),
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_cpu),
      cmocka_unit_test(test_described_cpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
