// SPDX-License-Identifier: Apache-2.0
// Tile IR: text there and back, what the interpreter computes.
#include "tile/ir_test_util.h"

#include <math.h>

static void run(const char* text, void* const* buffers) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = hlo_test_parsed(&arena, text);
  hlo_status_t status = hlo_tile_kernel_run(kernel, &MEANING, buffers);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  hlo_arena_deinit(&arena);
}

// ---- kernels

static const char* const TRANSPOSE =
    "kernel transpose version 1 {\n"
    "  buffer f32[35]\n"
    "  buffer f32[35] out\n"
    "  parallel d0 = 0..7 by 1 {\n"
    "    for d1 = 0..5 by 4 {\n"
    "      %0 = load 0 [d0 + 7*d1] : f32 <4 | 0:4/1 lane 1>\n"
    "      %1 = map negate %0 : f32\n"
    "      store 1 [5*d0 + d1] %1\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char* const SCHEDULED =
    "kernel scheduled version 3 {\n"
    "  buffer f32[64] out\n"
    "  %0 = constant 0x00000000 : f32\n"
    "  parallel d0 = 0..8 by 1 chunk 2 loc(\"my \\22model\\22\\0A\\\\.py\":12:3) {\n"
    "    for d1 = 0..8 by 8 lanes 4 unroll 2 stages 3 {\n"
    "      store 0 [8*d0 + d1] %0 loc(\"model.py\":13:1)\n"
    "    }\n"
    "  }\n"
    "}\n";

static void test_transpose(void** unused) {
  (void)unused;
  float in[35], out[35];
  for (int i = 0; i < 35; ++i) in[i] = (float)i;
  run(TRANSPOSE, (void*[]){in, out});
  for (int r = 0; r < 7; ++r) {
    for (int c = 0; c < 5; ++c) assert_true(out[r * 5 + c] == -in[c * 7 + r]);
  }
}

// Rows minus their maximum: a reduction, its value used outside of it, a digit for each of both.
static const char* const SOFT =
    "kernel soft version 1 {\n"
    "  buffer f32[60]\n"
    "  buffer f32[60] out\n"
    "  %0 = constant 0xff800000 : f32\n"
    "  parallel d0 = 0..6 by 4 {\n"
    "    %2 = reduce maximum %0 over d2 = 0..10 by 3 : f32 {\n"
    "      %1 = load 0 [10*d0 + d2] : f32\n"
    "      yield %1\n"
    "    }\n"
    "    for d1 = 0..10 by 4 {\n"
    "      %3 = load 0 [10*d0 + d1] : f32\n"
    "      %4 = map subtract %3, %2 : f32\n"
    "      store 1 [10*d0 + d1] %4\n"
    "    }\n"
    "  }\n"
    "}\n";

static void test_reduce(void** unused) {
  (void)unused;
  float in[60], out[60];
  for (int i = 0; i < 60; ++i) in[i] = (float)(i * 37 % 60);
  run(SOFT, (void*[]){in, out});
  for (int r = 0; r < 6; ++r) {
    float best = -1;
    for (int c = 0; c < 10; ++c) best = in[r * 10 + c] > best ? in[r * 10 + c] : best;
    for (int c = 0; c < 10; ++c) assert_true(out[r * 10 + c] == in[r * 10 + c] - best);
  }
}

static const char* const PRODUCT =
    "kernel product version 1 {\n"
    "  buffer f32[30]\n"
    "  buffer f32[40]\n"
    "  buffer f32[48] out\n"
    "  parallel d0 = 0..6 by 4 {\n"
    "    parallel d1 = 0..8 by 3 {\n"
    "      %3 = reduce add over d2 = 0..5 by 2 : f32 {\n"
    "        %0 = load 0 [5*d0 + d2] : f32\n"
    "        %1 = load 1 [d1 + 8*d2] : f32\n"
    "        %2 = product %0, %1 : f32\n"
    "        yield %2\n"
    "      }\n"
    "      store 2 [8*d0 + d1] %3\n"
    "    }\n"
    "  }\n"
    "}\n";

static void test_product(void** unused) {
  (void)unused;
  float a[30], b[40], out[48];
  for (int i = 0; i < 30; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < 40; ++i) b[i] = (float)(i % 5 - 2);
  run(PRODUCT, (void*[]){a, b, out});
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 8; ++c) {
      float sum = 0;
      for (int k = 0; k < 5; ++k) sum += a[r * 5 + k] * b[k * 8 + c];
      assert_true(out[r * 8 + c] == sum);
    }
  }
}

// The largest value's place; a gather at clamped indices; a padded edge.
static const char* const PLACES =
    "kernel places version 1 {\n"
    "  buffer f32[12]\n"
    "  buffer s32[4]\n"
    "  buffer s32[3] out\n"
    "  buffer f32[4] out\n"
    "  buffer f32[8] out\n"
    "  %0 = constant 0xff800000 : f32\n"
    "  %1 = constant 0x00000000 : s32\n"
    "  for d0 = 0..3 by 2 {\n"
    "    %4 = reduce arg maximum %0, %1 over d1 = 0..4 by 2 : f32 {\n"
    "      %2 = load 0 [4*d0 + d1] : f32\n"
    "      %3 = index [d1] : s32\n"
    "      yield %2, %3\n"
    "    }\n"
    "    %5 = result 1 of %4 : s32\n"
    "    store 2 [d0] %5\n"
    "  }\n"
    "  for d2 = 0..4 by 4 {\n"
    "    %6 = load 1 [d2] : s32\n"
    "    %7 = load 0 [clamp(%6, 0, 11)] : f32\n"
    "    store 3 [d2] %7\n"
    "  }\n"
    "  for d3 = 0..8 by 8 {\n"
    "    %8 = load 0 [-2 + d3] : f32\n"
    "    %9 = guard [-2 + d3] in 0..4 %8, %0 : f32\n"
    "    store 4 [(d3 div 4) + 2*(d3 mod 4)] %9\n"
    "  }\n"
    "}\n";

static void test_places(void** unused) {
  (void)unused;
  float in[12] = {3, 9, 9, 1, -1, -2, -1, -4, 0, 0, 0, 5}, gathered[4], padded[8];
  int32_t indices[4] = {-5, 3, 11, 99}, best[3];
  run(PLACES, (void*[]){in, indices, best, gathered, padded});
  assert_int_equal(best[0], 1);
  assert_int_equal(best[1], 0);
  assert_int_equal(best[2], 3);
  assert_true(gathered[0] == 3 && gathered[1] == 1 && gathered[2] == 5 && gathered[3] == 5);
  for (int i = 0; i < 8; ++i) {
    float found = padded[i / 4 + i % 4 * 2];
    assert_true(i < 2 || i >= 6 ? found < -1e30f : found == in[i - 2]);
  }
}

// Of equal values the last one with the smallest index; what is no number stays.
static void test_equal_values(void** unused) {
  (void)unused;
  static const char text[] =
      "kernel ties { buffer f32[4] buffer s32[4] buffer f32[1] out buffer s32[1] out\n"
      "%0 = constant 0x7f800000 : f32\n%1 = constant 0x7fffffff : s32\n"
      "%4 = reduce arg minimum %0, %1 over d0 = 0..4 by 2 : f32 {\n"
      "%2 = load 0 [d0] : f32\n%3 = load 1 [d0] : s32\nyield %2, %3 }\n"
      "%5 = result 1 of %4 : s32\nstore 2 [0] %4\nstore 3 [0] %5 }";
  float zeros[4] = {1, 0.0f, -0.0f, 2}, none[4] = {1, NAN, 0, NAN}, best;
  int32_t indices[4] = {7, 5, 9, 3}, place;
  run(text, (void*[]){zeros, indices, &best, &place});
  assert_true(best == 0 && signbit(best));
  assert_int_equal(place, 5);
  run(text, (void*[]){none, indices, &best, &place});
  assert_true(isnan(best));
  assert_int_equal(place, 5);
}

// Sums of narrow floats are rounded once; what is multiplied is multiplied in the type of the sum.
static void test_narrow_sums(void** unused) {
  (void)unused;
  static const char text[] =
      "kernel narrow { buffer bf16[300] buffer bf16[1] out buffer f32[1] out\n"
      "%0 = constant 0x0000 : bf16\n"
      "%2 = reduce add %0 over d0 = 0..300 by 7 : bf16 { %1 = load 0 [d0] : bf16\nyield %1 }\n"
      "%5 = reduce add over d1 = 0..300 by 7 : f32 { %3 = load 0 [d1] : bf16\n"
      "%4 = product %3, %3 : f32\nyield %4 }\n"
      "store 1 [0] %2\nstore 2 [0] %5 }";
  uint16_t in[300], sum;
  float squares;
  for (int i = 0; i < 300; ++i) in[i] = 0x3f80;  // one, of which bf16 counts up to 256
  run(text, (void*[]){in, &sum, &squares});
  assert_int_equal(sum, 0x4396);
  assert_true(squares == 300);
}

// The largest of numbers with and without signs.
static void test_largest_number(void** unused) {
  (void)unused;
  static const char text[] =
      "kernel largest { buffer s32[4] buffer u32[4] buffer s32[1] out buffer s32[1] out\n"
      "%2 = reduce arg maximum over d0 = 0..4 by 3 : s32 { %0 = load 0 [d0] : s32\n"
      "%1 = index [d0] : s32\nyield %0, %1 }\n"
      "%3 = result 1 of %2 : s32\n"
      "%6 = reduce arg maximum over d1 = 0..4 by 3 : u32 { %4 = load 1 [d1] : u32\n"
      "%5 = index [d1] : s32\nyield %4, %5 }\n"
      "%7 = result 1 of %6 : s32\n"
      "store 2 [0] %3\nstore 3 [0] %7 }";
  int32_t numbers[4] = {-3, 5, -1, 4}, with_signs, without;
  run(text, (void*[]){numbers, numbers, &with_signs, &without});
  assert_int_equal(with_signs, 1);
  assert_int_equal(without, 2);  // -1 is the largest number there is
}

// ---- regions

// Two values from step to step, each of which becomes the other one.
static const char* const FIBONACCI =
    "kernel fibonacci version 2 {\n"
    "  buffer f32[6]\n"
    "  buffer f32[6] out\n"
    "  %0 = constant 0x00000000 : f32\n"
    "  for d0 = 0..6 by 4 {\n"
    "    %1 = load 0 [d0] : f32\n"
    "    %5 = for %0, %1 over d1 = 0..10 by 1 : f32 {\n"
    "      %2 = argument 0 : f32\n"
    "      %3 = argument 1 : f32\n"
    "      %4 = map add %2, %3 : f32\n"
    "      yield %3, %4\n"
    "    }\n"
    "    %6 = result 1 of %5 : f32\n"
    "    %7 = map add %5, %6 : f32\n"
    "    store 1 [d0] %7\n"
    "  }\n"
    "}\n";

static void test_for(void** unused) {
  (void)unused;
  float in[6] = {1, 2, 3, 4, 5, -1}, out[6];
  run(FIBONACCI, (void*[]){in, out});
  for (int i = 0; i < 6; ++i) assert_true(out[i] == 144 * in[i]);  // the twelfth
}

// As often as each element needs, and what it was last.
static const char* const GROW =
    "kernel grow version 2 {\n"
    "  buffer f32[7]\n"
    "  buffer f32[7] out\n"
    "  buffer s32[7] out\n"
    "  buffer f32[7] out\n"
    "  %0 = constant 0x42c80000 : f32\n"
    "  %1 = constant 0x00000000 : s32\n"
    "  %2 = constant 0x00000001 : s32\n"
    "  for d0 = 0..7 by 4 {\n"
    "    %3 = load 0 [d0] : f32\n"
    "    %10 = while %3, %1 : f32 {\n"
    "      %4 = argument 0 : f32\n"
    "      %5 = map compare LT %4, %0 : pred\n"
    "      yield %5\n"
    "    } {\n"
    "      %6 = argument 0 : f32\n"
    "      %7 = argument 1 : s32\n"
    "      store 3 [d0] %6\n"
    "      %8 = map add %6, %6 : f32\n"
    "      %9 = map add %7, %2 : s32\n"
    "      yield %8, %9\n"
    "    }\n"
    "    %11 = result 1 of %10 : s32\n"
    "    store 1 [d0] %10\n"
    "    store 2 [d0] %11\n"
    "  }\n"
    "}\n";

static void test_while(void** unused) {
  (void)unused;
  float in[7] = {1, 100, 3, 60, 99, 200, 50}, out[7], last[7] = {0};
  int32_t turns[7];
  run(GROW, (void*[]){in, out, turns, last});
  for (int i = 0; i < 7; ++i) {
    float grown = in[i], before = 0;
    int32_t count = 0;
    for (; grown < 100; grown += grown, ++count) before = grown;
    assert_true(out[i] == grown && last[i] == before);
    assert_int_equal(turns[i], count);
  }
}

// A number that no region has means the last one; only the elements that are there store.
static const char* const CHOOSE =
    "kernel choose version 2 {\n"
    "  buffer s32[5]\n"
    "  buffer f32[5]\n"
    "  buffer f32[5] out\n"
    "  buffer f32[5] out\n"
    "  for d0 = 0..5 by 4 {\n"
    "    %0 = load 0 [d0] : s32\n"
    "    %1 = load 1 [d0] : f32\n"
    "    %6 = switch %0 : f32 {\n"
    "      %2 = map negate %1 : f32\n"
    "      yield %2\n"
    "    } {\n"
    "      %4 = reduce add over d1 = 0..3 by 2 : f32 {\n"
    "        %3 = map add %1, %1 : f32\n"
    "        yield %3\n"
    "      }\n"
    "      yield %4\n"
    "    } {\n"
    "      %5 = map multiply %1, %1 : f32\n"
    "      yield %5\n"
    "    }\n"
    "    store 2 [d0] %6\n"
    "    switch %0 {\n"
    "      store 3 [d0] %1\n"
    "    } {\n"
    "    }\n"
    "  }\n"
    "}\n";

static void test_switch(void** unused) {
  (void)unused;
  int32_t index[5] = {0, 1, 2, -7, 9};
  float in[5] = {3, 4, 5, 6, 7}, out[5], first[5] = {0};
  run(CHOOSE, (void*[]){index, in, out, first});
  const float expected[5] = {-3, 24, 25, 36, 49};
  for (int i = 0; i < 5; ++i) {
    assert_true(out[i] == expected[i]);
    assert_true(first[i] == (i == 0 ? 3 : 0));
  }
}

static void test_text(void** unused) {
  (void)unused;
  static const char* const* const texts[] = {&TRANSPOSE, &SCHEDULED, &SOFT,      &PRODUCT,
                                             &PLACES,    &GROW,      &FIBONACCI, &CHOOSE};
  for (uint32_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_strbuf_t out = {0};
    hlo_tile_kernel_print(hlo_test_parsed(&arena, *texts[i]), &out);
    assert_string_equal(hlo_strbuf_text(&out), *texts[i]);
    hlo_strbuf_deinit(&out);
    hlo_arena_deinit(&arena);
  }
}

static uint64_t state = 88172645463325252u;
static uint32_t below(uint32_t n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 20) % n;
}

// Text with pieces of it changed, doubled or gone is read or refused, never anything else.
static void test_changed_text(void** unused) {
  (void)unused;
  static const char* const* const texts[] = {&TRANSPOSE, &SCHEDULED, &SOFT,      &PRODUCT,
                                             &PLACES,    &GROW,      &FIBONACCI, &CHOOSE};
  static const char marks[] = "0123456789%[](){}:,=<>|*+-/. dfx\n";
  uint32_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    char text[2048];
    const char* from = *texts[below(sizeof texts / sizeof *texts)];
    size_t length = strlen(from);
    memcpy(text, from, length + 1);
    for (uint32_t n = 1 + below(3); n > 0; --n) {
      size_t at = below((uint32_t)length);
      if (below(3)) {
        text[at] = marks[below(sizeof marks - 1)];
      } else if (length + 16 < sizeof text) {
        size_t count = 1 + below(12) < length - at ? 1 : length - at;
        memmove(text + at + count, text + at, length - at + 1);
        length += count;
      }
    }
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_tile_kernel_t* kernel = NULL;
    hlo_status_t status = hlo_tile_kernel_parse(&arena, text, &kernel);
    read += hlo_status_is_ok(status);
    hlo_status_code_t code = hlo_status_code(status);
    assert_true(hlo_status_is_ok(status) ? kernel != NULL : code == HLO_STATUS_INVALID_ARGUMENT);
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
  assert_in_range(read, 200, 3800);
}

static void test_run_errors(void** unused) {
  (void)unused;
  static const char* const texts[] = {
      "kernel far { buffer f32[4] out\n %0 = constant 0x00000000 : f32\n for d0 = 0..9 by 3 { "
      "store "
      "0 [d0] %0 } }",
      "kernel odd { buffer f32[4] out\n %0 = constant 0x00000000 : f32\n %1 = map sine %0 : f32\n "
      "store 0 [0] %1 }",
      "kernel big { buffer f32[4] out\n for d0 = 0..1000000000 by 1000000000 { %0 = constant "
      "0x00000000 : f32 } }",
      "kernel many { buffer f32[4] out\n parallel d0 = 0..10000000 by 10000000 { %0 = constant "
      "0x00000000 : f32\n %1 = reduce add add add add add add add add over d1 = 0..1 by 1 : f32 { "
      "yield %0, %0, %0, %0, %0, %0, %0, %0 } } }",
  };
  static const hlo_status_code_t codes[] = {HLO_STATUS_OUT_OF_RANGE, HLO_STATUS_UNIMPLEMENTED,
                                            HLO_STATUS_RESOURCE_EXHAUSTED,
                                            HLO_STATUS_RESOURCE_EXHAUSTED};
  for (uint32_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    float out[4];
    hlo_status_t status =
        hlo_tile_kernel_run(hlo_test_parsed(&arena, texts[i]), &MEANING, (void*[]){out});
    assert_int_equal(hlo_status_code(status), codes[i]);
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transpose),      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_product),        cmocka_unit_test(test_places),
      cmocka_unit_test(test_equal_values),   cmocka_unit_test(test_narrow_sums),
      cmocka_unit_test(test_largest_number), cmocka_unit_test(test_for),
      cmocka_unit_test(test_while),          cmocka_unit_test(test_switch),
      cmocka_unit_test(test_text),           cmocka_unit_test(test_changed_text),
      cmocka_unit_test(test_run_errors),
  };
  return cmocka_run_group_tests_name("tile/ir", tests, NULL, NULL);
}
