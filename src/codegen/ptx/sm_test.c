// SPDX-License-Identifier: Apache-2.0
// Tests of the tables of GPU capabilities and PTX versions.
#include "codegen/ptx/sm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"

static void expect_error(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  assert_non_null(strstr(hlo_status_message(status), part));
  hlo_status_release(status);
}

static void test_versions_of_toolkits(void** state) {
  (void)state;
  static const uint32_t pairs[][2] = {{118, 78}, {120, 80}, {124, 84}, {125, 85}, {126, 85},
                                      {128, 87}, {129, 88}, {130, 90}, {99, 0},   {127, 86}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    assert_int_equal(hlo_ptx_version_of_cuda(pairs[i][0]), pairs[i][1]);
  }
  assert_true(hlo_ptx_version_of_cuda(999) >= 91);  // newer than all: of the newest
}

static void expect_found(uint32_t capability, const char* want) {
  hlo_ptx_target_t target;
  char name[HLO_PTX_NAME_BYTES];
  hlo_test_check(hlo_ptx_target_find(capability, &target));
  hlo_ptx_target_name(&target, name);
  assert_string_equal(name, want);
}

static void test_targets_of_gpus(void** state) {
  (void)state;
  expect_found(80, "sm_80");
  expect_found(90, "sm_90a");
  expect_found(99, "sm_90");
  expect_found(100, "sm_100a");
  expect_found(103, "sm_103a");
  expect_found(109, "sm_103f");
  expect_found(121, "sm_121a");
  expect_found(129, "sm_121f");
  expect_found(200, "sm_121");
  hlo_ptx_target_t target;
  expect_error(hlo_ptx_target_find(61, &target), HLO_STATUS_UNIMPLEMENTED, "capability 6.1");
}

static void test_names(void** state) {
  (void)state;
  static const char* const good[] = {"sm_80", "sm_90", "sm_90a", "sm_100f", "sm_120a", "sm_121f"};
  static const char* const bad[] = {"",        "sm_",    "sm_80a", "sm_90f",
                                    "sm_90ab", "sm_999", "90",     "sm_-1"};
  hlo_ptx_target_t target;
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    char name[HLO_PTX_NAME_BYTES];
    hlo_test_check(hlo_ptx_target_parse(good[i], &target));
    hlo_ptx_target_name(&target, name);
    assert_string_equal(name, good[i]);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    expect_error(hlo_ptx_target_parse(bad[i], &target), HLO_STATUS_INVALID_ARGUMENT, "sm_90a");
  }
}

// Targets of one architecture have its own matrix instructions, others those that remain.
static void test_matrix_instructions(void** state) {
  (void)state;
  static const struct {
    const char* name;
    hlo_ptx_mma_t mma;
  } rows[] = {{"sm_75", HLO_PTX_MMA_NONE},  {"sm_80", HLO_PTX_MMA_WARP},
              {"sm_90", HLO_PTX_MMA_WARP},  {"sm_90a", HLO_PTX_MMA_WARPGROUP},
              {"sm_100", HLO_PTX_MMA_WARP}, {"sm_100a", HLO_PTX_MMA_TENSOR_MEMORY},
              {"sm_120", HLO_PTX_MMA_WARP}, {"sm_120a", HLO_PTX_MMA_WARP}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hlo_ptx_target_t target;
    hlo_test_check(hlo_ptx_target_parse(rows[i].name, &target));
    assert_int_equal(target.mma, rows[i].mma);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions_of_toolkits),
      cmocka_unit_test(test_targets_of_gpus),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_matrix_instructions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
