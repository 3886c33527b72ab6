// SPDX-License-Identifier: Apache-2.0
// Every file operation between a create option and a compiled program fails once: failures of
// traces, dumps and queries of the machine do not stop a client.
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/os.h"
#include "pjrt/test_util.h"

static PJRT_NamedValue text_option(const char* name, const char* value) {
  return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kString,
                           .string_value = value,
                           .value_size = strlen(value)};
}

static void compile_identity(PJRT_Client* client) {
  static char text[] =
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n";
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = text,
                          .code_size = sizeof text - 1,
                          .format = "mlir",
                          .format_size = 4};
  PJRT_Client_Compile_Args args = ARGS(Client_Compile, .client = client, .program = &program);
  OK(Client_Compile, &args);
  OK(LoadedExecutable_Destroy, &ARGS(LoadedExecutable_Destroy, .executable = args.executable));
}

// Empties a directory; returns the number of its files.
static int sweep(const char* path) {
  DIR* directory = opendir(path);
  assert_non_null(directory);
  int count = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    char file[512];
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    count += unlink(file) == 0;
  }
  closedir(directory);
  return count;
}

static void clients_survive_failing_files(void** state) {
  (void)state;
  char directory[] = "/tmp/hlocc_pjrt_fault.XXXXXX";
  assert_non_null(mkdtemp(directory));
  char trace[128], dump[128];
  snprintf(trace, sizeof trace, "%s/trace.json", directory);
  snprintf(dump, sizeof dump, "input,final:%s", directory);
  const PJRT_NamedValue options[] = {text_option("trace", trace), text_option("dump", dump),
                                     text_option("log", "error")};
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    assert_true(n < 500);
    hlo_os_io_fail_nth(n);
    PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = options, .num_options = 3);
    OK(Client_Create, &args);
    compile_identity(args.client);
    OK(Client_Destroy, &ARGS(Client_Destroy, .client = args.client));
    failed = hlo_os_io_failed();
    hlo_os_io_fail_nth(0);
    int files = sweep(directory);
    if (!failed) assert_int_equal(files, 3);
  }
  assert_int_equal(rmdir(directory), 0);
}

static void bad_dumps_are_refused(void** state) {
  (void)state;
  const PJRT_NamedValue option = text_option("dump", "ptx:/tmp");
  PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = &option, .num_options = 1);
  FAILS(Client_Create, &args, INVALID_ARGUMENT, "unknown stage \"ptx\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clients_survive_failing_files),
      cmocka_unit_test(bad_dumps_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
