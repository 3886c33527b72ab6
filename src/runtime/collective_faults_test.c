// SPDX-License-Identifier: Apache-2.0
// Faults at the collectives of the stored programs over eight devices. HLO_FAULTS_TEST_OPERATIONS
// sets how many operations of each program are struck (0: all).
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/compile_options.h"
#include "runtime/fault_test_util.h"

enum { OPERATIONS = 4, PROGRAMS = 12 };

static const char kFolder[] = "tests/programs/eight-devices";

static void read_file(const char* name, const char* ending, hlo_strbuf_t* out) {
  char path[512], block[4096];
  snprintf(path, sizeof path, "%s/%.*s%s", kFolder, (int)strcspn(name, "."), name, ending);
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;) {
    hlo_strbuf_append(out, block, got);
  }
  fclose(file);
}

static hlo_executable_t* compile(const char* name, const char* backend) {
  HLO_SCOPED_STRBUF code = {0};
  HLO_SCOPED_STRBUF bytes = {0};
  read_file(name, ".mlirbc", &code);
  read_file(name, ".options.pb", &bytes);
  HLO_SCOPED_ARENA arena;
  hlo_arena_init(&arena, 0);
  hlo_compile_options_t options;
  hlo_test_check(hlo_compile_options_parse(bytes.data, bytes.length, &arena, &options));
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  hlo_compile_options_apply(&options, &config);
  config.backend = backend;
  hlo_executable_t* executable = NULL;
  hlo_test_check(hlo_compile(code.data, code.length, name, &config, NULL, 0, NULL, &executable));
  return executable;
}

static void strike_all(const char* backend) {
  const char* text = getenv("HLO_FAULTS_TEST_OPERATIONS");
  const uint32_t limit = text ? (uint32_t)atoi(text) : OPERATIONS;
  uint32_t programs = 0, faults = 0;
  DIR* folder = opendir(kFolder);
  assert_non_null(folder);
  for (struct dirent* entry; (entry = readdir(folder));) {
    if (!strstr(entry->d_name, ".mlirbc")) continue;
    ++programs;
    faults += hlo_fault_run(compile(entry->d_name, backend), entry->d_name, 1 + programs % 3, limit,
                            programs);
  }
  closedir(folder);
  assert_int_equal(programs, PROGRAMS);
  assert_true(faults >= 4 * PROGRAMS);
}

static void machine_code(void** state) {
  (void)state;
  strike_all("native");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(machine_code)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
