// SPDX-License-Identifier: Apache-2.0
// Random programs over random meshes with random shardings: every device computes its part of what
// one device computes. HLOCC_TEST_PROGRAMS=N runs N of them, HLOCC_TEST_SEED=N begins with the
// N-th, HLOCC_TEST_OPS=N puts at most N ops into each.
#include "spmd/partition_generator_program.h"

enum { PROGRAMS = 300 };

static void test_random_programs(void** state) {
  (void)state;
  const uint32_t first = hlo_gen_number_from_env("HLOCC_TEST_SEED", 1);
  const uint32_t count = hlo_gen_number_from_env("HLOCC_TEST_PROGRAMS", PROGRAMS);
  uint32_t uneven = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    hlo_generator_t g = {.random = {seed * 977u + 13}};
    hlo_gen_put_program(&g);
    assert_false(g.text.failed);
    char *parts = hlo_gen_program_text(&g, false), *whole = hlo_gen_program_text(&g, true);
    if (getenv("HLOCC_TEST_PRINT")) fprintf(stderr, "seed %u\n%s\n", seed, parts);
    hlo_test_expect_partitioned(parts, whole, seed);
    uneven += hlo_test_uneven_values(parts);
    hlo_mem_free(parts);
    hlo_mem_free(whole);
    hlo_strbuf_deinit(&g.text);
  }
  if (count >= PROGRAMS) assert_true(uneven >= count / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
