// SPDX-License-Identifier: Apache-2.0
// Tests of the assembler's messages, stored ones and, where it is, its own.
#include "codegen/ptx/assembler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/test_util.h"

enum { REPEATS = 100 };

static void expect_error(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

static void test_failures(void** state) {
  (void)state;
  static const struct {
    const char* log;
    hlo_status_code_t code;
  } kLogs[] = {
      {"ptxas fatal   : (C7600) Register allocation failed with register count of '32'. Compile "
       "the "
       "program with a higher register target\n",
       HLO_STATUS_RESOURCE_EXHAUSTED},
      {"ptxas error   : Entry function 'k' uses too much shared data (0xc400 bytes, 0xc000 max)\n",
       HLO_STATUS_RESOURCE_EXHAUSTED},
      {"ptxas fatal   : Value 'sm_999' is not defined for option 'gpu-name'\n",
       HLO_STATUS_UNIMPLEMENTED},
      {"ptxas v.ptx, line 1; fatal   : Unsupported .version 99.9; current version is '9.0'\n",
       HLO_STATUS_UNIMPLEMENTED},
      {"ptxas fatal   : Unresolved extern function 'foo'\n", HLO_STATUS_FAILED_PRECONDITION},
      {"ptxas w.ptx, line 4; error   : Arguments mismatch for instruction 'mov'\n",
       HLO_STATUS_INTERNAL},
  };
  for (size_t i = 0; i < sizeof kLogs / sizeof *kLogs; ++i) {
    const char* said = strchr(kLogs[i].log, ':') + 2;
    expect_error(hlo_ptx_read_log(kLogs[i].log, 255, NULL), kLogs[i].code, said);
  }
}

static void test_resources(void** state) {
  (void)state;
  static const char log[] =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first_0' for 'sm_80'\n"
      "ptxas info    : Function properties for first_0\n"
      "    968 bytes stack frame, 964 bytes spill stores, 960 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 968 bytes cumulative stack size, "
      "360 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'second_1' for 'sm_80'\n"
      "ptxas info    : Function properties for second_1\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 9 registers, used 0 barriers, 4096 bytes smem\n";
  hlo_ptx_report_t report;
  hlo_test_check(hlo_ptx_read_log(log, 0, &report));
  assert_int_equal(report.kernel_count, 2);
  assert_string_equal(report.kernels[0].name, "first_0");
  assert_int_equal(report.kernels[0].registers, 64);
  assert_int_equal(report.kernels[0].barriers, 1);
  assert_int_equal(report.kernels[0].stack_bytes, 968);
  assert_int_equal(report.kernels[0].spill_store_bytes, 964);
  assert_int_equal(report.kernels[0].spill_load_bytes, 960);
  assert_int_equal(report.kernels[1].registers, 9);
  assert_int_equal(report.kernels[1].shared_bytes, 4096);
}

static void test_missing(void** state) {
  (void)state;
  hlo_ptx_assembler_t assembler;
  expect_error(hlo_ptx_assembler_find("/nowhere/ptxas", &assembler), HLO_STATUS_NOT_FOUND,
               "/nowhere/ptxas");
}

// Without a path only the places of toolkits are searched, which the message lists.
static void test_places(void** state) {
  (void)state;
  hlo_ptx_assembler_t assembler;
  const char* path = getenv("PATH");
  char* before = path ? strdup(path) : NULL;
  setenv("PATH", "/nowhere", 1);
  hlo_status_t status = hlo_ptx_assembler_find(NULL, &assembler);
  if (before) setenv("PATH", before, 1);
  free(before);
  if (hlo_status_is_ok(status)) {
    assert_true(strcmp(assembler.path, "/usr/local/cuda/bin/ptxas") == 0 ||
                strcmp(assembler.path, "/opt/cuda/bin/ptxas") == 0);
    return;
  }
  expect_error(status, HLO_STATUS_NOT_FOUND,
               "ptxas is not in PATH, and neither /usr/local/cuda/bin/ptxas nor "
               "/opt/cuda/bin/ptxas is there");
}

static void find_or_skip(hlo_ptx_assembler_t* assembler) {
  const char* path = getenv("HLOCC_PTXAS");
  if (!path || !*path) skip();
  hlo_test_check(hlo_ptx_assembler_find(path, assembler));
}

static void test_version_is_asked_once(void** state) {
  (void)state;
  hlo_ptx_assembler_t assembler;
  find_or_skip(&assembler);
  uint32_t first = 0;
  hlo_test_check(hlo_ptx_assembler_version(&assembler, &first));
  assert_true(first >= 70 && first < 200);
  for (uint32_t i = 0; i < REPEATS; ++i) {
    uint32_t version = 0;
    hlo_test_check(hlo_ptx_assembler_version(&assembler, &version));
    assert_int_equal(version, first);
  }
  assert_int_equal(atomic_load(&assembler.process_count), 1);
}

static hlo_status_t assemble(hlo_ptx_assembler_t* assembler, const char* body,
                             const hlo_ptx_target_t* target) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, ".version 7.0\n.target sm_80\n.address_size 64\n%s", body);
  hlo_ptx_report_t report;
  return hlo_ptx_assemble(assembler, target, &text, &report, NULL);
}

static void test_real_failures(void** state) {
  (void)state;
  hlo_ptx_assembler_t assembler;
  find_or_skip(&assembler);
  hlo_ptx_target_t target;
  hlo_test_check(hlo_ptx_target_parse("sm_80", &target));
  hlo_test_check(assemble(&assembler, ".visible .entry k() { ret; }\n", &target));
  hlo_status_t status =
      assemble(&assembler, ".visible .entry k() { mov.u32 %r1, 5; ret; }\n", &target);
  // The text is still there.
  char path[256] = "";
  assert_int_equal(sscanf(hlo_status_message(status), "%255[^:]", path), 1);
  assert_int_equal(access(path, R_OK), 0);
  remove(path);
  *strrchr(path, '/') = 0;
  rmdir(path);
  expect_error(status, HLO_STATUS_FAILED_PRECONDITION, "Unknown symbol");
  static const hlo_ptx_target_t unknown = {.capability = 999, .version = 70};
  status = assemble(&assembler, ".visible .entry k() { ret; }\n", &unknown);
  assert_int_equal(sscanf(hlo_status_message(status), "%255[^:]", path), 1);
  remove(path);
  *strrchr(path, '/') = 0;
  rmdir(path);
  expect_error(status, HLO_STATUS_UNIMPLEMENTED, "sm_999");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_resources),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_version_is_asked_once),
      cmocka_unit_test(test_real_failures),
  };
  return cmocka_run_group_tests_name("codegen/ptx/assembler", tests, NULL, NULL);
}
