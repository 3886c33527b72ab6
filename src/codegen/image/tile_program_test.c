// SPDX-License-Identifier: Apache-2.0
// Kernels of Tile IR as machine code give the results of the interpreter, on one thread and on
// several.
#include "codegen/image/tile_program.h"

#include "base/threads.h"
#include "tile/ir_random_test_util.h"

enum { KERNELS = 100, THREADS = 3 };

static void check(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static void compare(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                    const hlo_parallel_t* parallel) {
  static float expected[OUTPUT], results[OUTPUT];
  float floats[INPUT];
  int32_t numbers[INPUT];
  hlo_test_fill_inputs(floats, numbers);
  memset(expected, 0, sizeof expected);
  memset(results, 0, sizeof results);
  check(hlo_tile_kernel_run(kernel, &MEANING, (void*[]){floats, numbers, expected}));
  hlo_tile_program_t* program;
  check(hlo_tile_program_create(kernel, target, &program));
  hlo_tile_program_run(program, (void*[]){floats, numbers, results}, parallel);
  hlo_tile_program_release(program);
  assert_memory_equal(results, expected, sizeof expected);
}

static void random_kernels(void** unused) {
  (void)unused;
  hlo_target_t target;
  hlo_pool_t* pool;
  hlo_tile_maker_t maker = {0};
  check(hlo_target_find(NULL, false, &target));
  check(hlo_pool_create(THREADS, &pool));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  for (uint32_t n = 0; n < KERNELS; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    const hlo_tile_kernel_t* kernel = hlo_test_make_random(&maker, &arena, n);
    compare(kernel, &target, n % 2 ? &parallel : NULL);
  }
  hlo_pool_release(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_kernels),
  };
  return cmocka_run_group_tests_name("codegen/image/tile_program", tests, NULL, NULL);
}
