// SPDX-License-Identifier: Apache-2.0
// Every file operation of the tool fails once: one clear error that names the file (a warning if
// the file is a trace or a dump), no partial file, no leaked descriptor.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/cli.h"

static char g_directory[64];

static const char kProgram[] =
    "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<2xf32>\n"
    "  %1 = \"interpreter.probe\"(%0) {probe_id = \"sum\"} : (tensor<2xf32>) -> tensor<2xf32>\n"
    "  %2 = \"interpreter.probe\"(%1) {probe_id = \"again\"} : (tensor<2xf32>) -> tensor<2xf32>\n"
    "  return %2 : tensor<2xf32>\n"
    "}\n";

static char* path_of(const char* name) {
  static char paths[8][256];
  static unsigned next;
  char* path = paths[next++ % 8];
  snprintf(path, 256, "%s/%s", g_directory, name);
  return path;
}

static void remove_tree(const char* path) {
  DIR* directory = opendir(path);
  if (!directory) {
    unlink(path);
    return;
  }
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char inner[512];
    snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
    remove_tree(inner);
  }
  closedir(directory);
  rmdir(path);
}

static int count_entries(const char* path, const char* part) {
  DIR* directory = opendir(path);
  if (!directory) return 0;
  int count = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    count += strstr(entry->d_name, part) != NULL;
  }
  closedir(directory);
  return count;
}

static void write_file(const char* name, const void* data, size_t size) {
  hlo_status_t status = hlo_os_file_write(path_of(name), data, size);
  assert_string_equal(hlo_status_message(status), "");
}

static int setup(void** state) {
  (void)state;
  strcpy(g_directory, "/tmp/hlocc_fault.XXXXXX");
  if (!mkdtemp(g_directory)) return -1;
  write_file("program.mlir", kProgram, sizeof kProgram - 1);
  static const char kHeader[] =
      "\x93NUMPY\1\0\x46\0{'descr': '<f4', 'fortran_order': False, "
      "'shape': (2,), }            \n";
  char npy[80 + 2 * sizeof(float)] = {0};
  assert_int_equal(sizeof kHeader - 1, 80);
  memcpy(npy, kHeader, 80);
  write_file("x.npy", npy, sizeof npy);
  return 0;
}

static int teardown(void** state) {
  (void)state;
  remove_tree(g_directory);
  return 0;
}

// Calls the tool and stores its standard error.
static int call(char** words, int count, char* errors, size_t capacity) {
  fflush(stdout);
  fflush(stderr);
  FILE* sink = tmpfile();
  assert_non_null(sink);
  int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  dup2(fileno(sink), STDOUT_FILENO);
  dup2(fileno(sink), STDERR_FILENO);
  hlo_cli_t cli = {0};
  int exit_status = hlo_cli_main(&hlo_cli_hlocc, &cli, count, words);
  fflush(stdout);
  fflush(stderr);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  rewind(sink);
  errors[fread(errors, 1, capacity - 1, sink)] = 0;
  fclose(sink);
  return exit_status;
}

static int count_words(const char* text, const char* word) {
  int count = 0;
  for (const char* p = text; (p = strstr(p, word)) != NULL; ++p) ++count;
  return count;
}

// Fails one operation after the other of a call that succeeds otherwise. Failures of the files in
// `observing` (may be NULL) are warnings.
static void every_operation(int count, char** words, const char* observing) {
  char said[8192];
  int files = count_entries("/proc/self/fd", "");
  uint64_t failures = 0;
  for (uint64_t n = 1;; ++n) {
    assert_true(n < 500);
    hlo_os_io_fail_nth(n);
    int exit_status = call(words, count, said, sizeof said);
    bool failed = hlo_os_io_failed();
    hlo_os_io_fail_nth(0);
    assert_int_equal(count_entries("/proc/self/fd", ""), files);
    assert_int_equal(count_entries(g_directory, ".tmp"), 0);
    if (!failed) {
      if (exit_status != 0) fail_msg("%s", said);
      break;
    }
    ++failures;
    bool is_warning = observing && strstr(said, "warn: ");
    if (exit_status != (is_warning ? 0 : 1) || !strstr(said, "Input/output error") ||
        !strstr(said, is_warning ? observing : g_directory) ||
        count_words(said, "error: ") != !is_warning || count_words(said, "warn: ") != is_warning) {
      fail_msg("operation %u: exit status %d: %s", (unsigned)n, exit_status, said);
    }
  }
  assert_true(failures > 2);
}

#define EVERY_OPERATION(observing, ...)                              \
  do {                                                               \
    char* words[] = {(char*)"hlocc", __VA_ARGS__};                   \
    every_operation(sizeof words / sizeof *words, words, observing); \
  } while (0)

static void run_with_files(void** state) {
  (void)state;
  char input[300], output[300];
  snprintf(input, sizeof input, "--input=@%s", path_of("x.npy"));
  snprintf(output, sizeof output, "--output=@%s", path_of("y.npy"));
  EVERY_OPERATION(NULL, (char*)"run", path_of("program.mlir"), input, output);
}

static void run_with_probes(void** state) {
  (void)state;
  char probes[300];
  snprintf(probes, sizeof probes, "--probe-dir=%s", g_directory);
  EVERY_OPERATION(NULL, (char*)"run", path_of("program.mlir"), (char*)"--random", probes);
  uint8_t* data = NULL;
  size_t size = 0;
  hlo_status_t status = hlo_os_file_read(path_of("index.csv"), 0, &data, &size);
  assert_string_equal(hlo_status_message(status), "");
  assert_int_equal(count_words((const char*)data, "\n"), 2);
  assert_ptr_equal(strstr((const char*)data, "sum,tensor<2xf32>,"), data);
  hlo_mem_free(data);
}

static void translate_to_a_file(void** state) {
  (void)state;
  EVERY_OPERATION(NULL, (char*)"translate", path_of("program.mlir"), (char*)"-o",
                  path_of("z.mlir"));
  EVERY_OPERATION(NULL, (char*)"opt", path_of("program.mlir"), (char*)"-o", path_of("z.mlir"));
}

static void simulate_on_a_machine(void** state) {
  (void)state;
  static const char kMachine[] = "compute 1 1 1\nlevel x ring 4 1 1\n";
  char topology[300];
  assert_int_equal(0, hlo_status_code(hlo_os_file_write(path_of("small.machine"), kMachine,
                                                        sizeof kMachine - 1)));
  snprintf(topology, sizeof topology, "--topology=%s", path_of("small.machine"));
  EVERY_OPERATION(NULL, (char*)"simulate", topology, path_of("program.mlir"));
}

static void compile_with_trace_and_dumps(void** state) {
  (void)state;
  char trace[300], dump[300], observed[256];
  snprintf(observed, sizeof observed, "%s", path_of("observed"));
  assert_int_equal(0, hlo_status_code(hlo_os_directory_create(observed)));
  snprintf(trace, sizeof trace, "--trace=%s/trace.json", observed);
  snprintf(dump, sizeof dump, "--dump=input,passes,final:%s", observed);
  EVERY_OPERATION(observed, (char*)"compile", path_of("program.mlir"), trace, dump);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(run_with_files),
      cmocka_unit_test(run_with_probes),
      cmocka_unit_test(translate_to_a_file),
      cmocka_unit_test(simulate_on_a_machine),
      cmocka_unit_test(compile_with_trace_and_dumps),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
