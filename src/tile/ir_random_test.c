// SPDX-License-Identifier: Apache-2.0
// Random kernels of Tile IR: what is printed is read again and prints the same, and what is
// computed depends neither on text, nor on the size of tiles, nor on layouts.
#include "tile/ir_random_test_util.h"

enum { KERNELS = 300 };

static void compute(const hlo_tile_kernel_t* kernel, float results[OUTPUT]) {
  float floats[INPUT];
  int32_t numbers[INPUT];
  hlo_test_fill_inputs(floats, numbers);
  memset(results, 0, OUTPUT * sizeof *results);
  hlo_status_t status = hlo_tile_kernel_run(kernel, &MEANING, (void*[]){floats, numbers, results});
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static void check_computes(const hlo_tile_kernel_t* kernel, const float expected[OUTPUT]) {
  static float results[OUTPUT];
  compute(kernel, results);
  for (uint32_t i = 0; i < OUTPUT; ++i) {
    if (memcmp(&results[i], &expected[i], sizeof *results) == 0) continue;
    hlo_strbuf_t text = {0};
    hlo_tile_kernel_print(kernel, &text);
    fail_msg("element %u: %g, expected %g\n%s", i, results[i], expected[i], hlo_strbuf_text(&text));
  }
}

// Reads the kernel's text, which prints the same again.
static hlo_tile_kernel_t* read_back(hlo_arena_t* arena, const hlo_tile_kernel_t* kernel) {
  hlo_strbuf_t text = {0}, again = {0};
  hlo_tile_kernel_print(kernel, &text);
  hlo_tile_kernel_t* copy = hlo_test_parsed(arena, hlo_strbuf_text(&text));
  hlo_tile_kernel_print(copy, &again);
  assert_string_equal(hlo_strbuf_text(&text), hlo_strbuf_text(&again));
  hlo_strbuf_deinit(&text);
  hlo_strbuf_deinit(&again);
  return copy;
}

// Layouts for all values, or a contradiction, which the aliases may be.
static bool infer(hlo_tile_kernel_t* kernel) {
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 2000);
  hlo_status_code_t code = hlo_status_code(status);
  assert_true(hlo_status_is_ok(status) || code == HLO_STATUS_FAILED_PRECONDITION ||
              code == HLO_STATUS_RESOURCE_EXHAUSTED);
  bool is_ok = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_ok;
}

static void test_random(void** unused) {
  (void)unused;
  static float expected[OUTPUT];
  hlo_tile_maker_t maker = {0};
  uint32_t inferred = 0;
  for (uint32_t n = 0; n < KERNELS; ++n) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_tile_kernel_t* kernel = hlo_test_make_random(&maker, &arena, n);
    compute(kernel, expected);
    check_computes(read_back(&arena, kernel), expected);
    hlo_tile_kernel_t* single = read_back(&arena, kernel);
    for (hlo_tile_op_t* op = hlo_tile_first_op(single); op; op = hlo_tile_next_op(op)) {
      for (uint32_t i = 0; i < op->loop_count; ++i) op->loops[i].step = 1;
    }
    check_computes(single, expected);
    if (infer(kernel)) {
      ++inferred;
      for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
        assert_true(op->layout || !hlo_tile_op_has_result(op));
      }
      hlo_status_t status = hlo_tile_kernel_verify(kernel);
      if (!hlo_status_is_ok(status)) fail_msg("%u: %s", n, hlo_status_message(status));
      check_computes(read_back(&arena, kernel), expected);
    }
    hlo_arena_deinit(&arena);
  }
  assert_true(inferred > KERNELS / 2);
  for (uint32_t k = 0; k < HLO_TILE_OP_reference; ++k) {  // the others: ir_memory_test.c
    if (k != HLO_TILE_OP_relayout) assert_true(maker.seen[k] > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests_name("tile/ir_random", tests, NULL, NULL);
}
