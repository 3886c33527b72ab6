// SPDX-License-Identifier: Apache-2.0
// Faults at the collectives of random partitioned programs, which the runtime runs. It is in this
// folder because partitioner and runtime do not know each other. HLOCC_TEST_PROGRAMS=N strikes N
// programs, HLOCC_TEST_SEED=N begins with the N-th, HLO_FAULTS_TEST_OPERATIONS=N strikes N
// operations of each (0: all).
#include "runtime/fault_test_util.h"
#include "spmd/partition_generator_program.h"

enum { PROGRAMS = 40, OPERATIONS = 2 };

static hlo_executable_t* compile(const char* text, int32_t devices, uint32_t seed) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.partition_count = devices;
  hlo_executable_t* executable = NULL;
  hlo_status_t status =
      hlo_compile(text, strlen(text), "random.mlir", &config, NULL, 0, NULL, &executable);
  if (!hlo_status_is_ok(status)) fail_msg("seed %u: %s", seed, hlo_status_message(status));
  return executable;
}

static uint32_t strike_program(uint32_t seed) {
  hlo_generator_t g = {.random = {seed * 977u + 13}};
  hlo_gen_put_program(&g);
  assert_false(g.text.failed);
  int64_t devices = 1;
  for (uint32_t i = 0; i < g.axis_count; ++i) devices *= g.axes[i];
  char *text = hlo_gen_program_text(&g, false), name[32];
  snprintf(name, sizeof name, "seed %u", seed);
  const uint32_t limit = hlo_gen_number_from_env("HLO_FAULTS_TEST_OPERATIONS", OPERATIONS);
  uint32_t faults = 0;
  if (devices > 1) {
    faults = hlo_fault_run(compile(text, (int32_t)devices, seed), name, 1 + seed % 3, limit, seed);
  }
  hlo_mem_free(text);
  hlo_strbuf_deinit(&g.text);
  return faults;
}

static void test_random_programs(void** state) {
  (void)state;
  const uint32_t first = hlo_gen_number_from_env("HLOCC_TEST_SEED", 1);
  const uint32_t count = hlo_gen_number_from_env("HLOCC_TEST_PROGRAMS", PROGRAMS);
  uint32_t faults = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) faults += strike_program(seed);
  assert_true(faults >= count / 2 || count < PROGRAMS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
