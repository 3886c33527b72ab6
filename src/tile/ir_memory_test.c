// SPDX-License-Identifier: Apache-2.0
// References in Tile IR: text there and back, and what kernels with scratch memory, copies,
// products, synchronisation and a grid compute.
#include "tile/ir_test_util.h"

#include <stdio.h>

typedef struct printed {
  char text[512];
} printed_t;

static void keep_line(void* context, const char* line) {
  printed_t* printed = context;
  size_t length = strlen(printed->text);
  snprintf(printed->text + length, sizeof printed->text - length, "%s\n", line);
}

static hlo_status_t try_run(const char* text, void* const* buffers, printed_t* printed) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_meaning_t meaning = {.context = printed, .map = hlo_test_map, .print = keep_line};
  if (!printed) meaning.print = NULL;
  hlo_tile_kernel_t* kernel = hlo_test_parsed(&arena, text);
  hlo_status_t status = hlo_tile_kernel_find_races(kernel, &meaning, buffers);
  hlo_arena_deinit(&arena);
  return status;
}

static void run(const char* text, void* const* buffers) {
  hlo_status_t status = try_run(text, buffers, NULL);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", text, hlo_status_message(status));
}

// ---- kernels

// A blocked product: blocks are copied to near memory while the previous ones are multiplied.
static const char* const PRODUCT =
    "kernel product version 3 {\n"
    "  buffer f32[4, 8]\n"
    "  buffer f32[8, 6]\n"
    "  buffer f32[4, 6] out\n"
    "  %0 = reference 0 : f32[4, 8]\n"
    "  %1 = reference 1 : f32[8, 6]\n"
    "  %2 = reference 2 : f32[4, 6]\n"
    "  parallel d1 = 0..2 by 1 chunk 1 grid {\n"
    "    %3 = alloc near : f32[2, 2, 4]\n"
    "    %4 = alloc semaphore : s32[2]\n"
    "    %5 = alloc accumulator : f32[2, 6]\n"
    "    %6 = constant 0x00000000 : f32\n"
    "    for d2 = 0..2 by 2 {\n"
    "      for d3 = 0..6 by 6 {\n"
    "        ref_store [d2, d3] %5, %6\n"
    "      }\n"
    "    }\n"
    "    for d4 = 0..2 by 1 stages 2 {\n"
    "      %7 = slice [2*d1, 4*d4] sizes [2, 4] %0 : f32[2, 4]\n"
    "      %8 = slice [d4, 0, 0] sizes [1, 2, 4] squeeze [0] %3 : f32[2, 4]\n"
    "      %9 = slice [d4] sizes [1] %4 : s32[1]\n"
    "      copy_start %7, %8, %9\n"
    "    }\n"
    "    for d5 = 0..2 by 1 {\n"
    "      %10 = slice [d5] sizes [1] %4 : s32[1]\n"
    "      copy_wait %10\n"
    "      %11 = slice [d5, 0, 0] sizes [1, 2, 4] squeeze [0] %3 : f32[2, 4]\n"
    "      %12 = slice [4*d5, 0] sizes [4, 6] %1 : f32[4, 6]\n"
    "      mma [1] x [0] %5, %11, %12\n"
    "    }\n"
    "    %13 = slice [2*d1, 0] sizes [2, 6] %2 : f32[2, 6]\n"
    "    copy %5, %13\n"
    "  }\n"
    "}\n";

static void test_product(void** unused) {
  (void)unused;
  float a[32], b[48], out[24];
  for (int i = 0; i < 32; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < 48; ++i) b[i] = (float)(i % 5 - 2);
  run(PRODUCT, (void*[]){a, b, out});
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 6; ++c) {
      float sum = 0;
      for (int k = 0; k < 8; ++k) sum += a[r * 8 + k] * b[k * 6 + c];
      assert_true(out[r * 6 + c] == sum);
    }
  }
}

// One scale for each row of 4 elements of the left operand, and for each row of 2 of the right one.
static const char* const SCALED =
    "kernel scaled version 4 {\n"
    "  buffer f32[2, 8]\n"
    "  buffer f16[3, 8]\n"
    "  buffer f32[2, 2]\n"
    "  buffer f32[3, 4]\n"
    "  buffer f32[2, 3] out\n"
    "  %0 = reference 0 : f32[2, 8]\n"
    "  %1 = reference 1 : f16[3, 8]\n"
    "  %2 = reference 2 : f32[2, 2]\n"
    "  %3 = reference 3 : f32[3, 4]\n"
    "  %4 = reference 4 : f32[2, 3]\n"
    "  scaled_mma [1] x [1] %4, %0, %1, %2, %3\n"
    "}\n";

static void test_scaled_product(void** unused) {
  (void)unused;
  float a[16], scales_a[4] = {1, 2, 0.5f, 4}, scales_b[12], out[6] = {1, 1, 1, 1, 1, 1};
  uint16_t b[24];
  for (int i = 0; i < 16; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < 24; ++i) b[i] = hlo_f32_to_f16((float)(i % 5 - 2));
  for (int i = 0; i < 12; ++i) scales_b[i] = (float)(1 << i % 3);
  run(SCALED, (void*[]){a, b, scales_a, scales_b, out});
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 3; ++c) {
      float sum = 1;
      for (int k = 0; k < 8; ++k) {
        sum += a[r * 8 + k] * scales_a[r * 2 + k / 4] * (float)((c * 8 + k) % 5 - 2) *
               scales_b[c * 4 + k / 2];
      }
      assert_true(out[r * 3 + c] == sum);
    }
  }
}

// Views: strides, dropped dimensions, transposition, another shape; a start known at run time.
static const char* const VIEWS =
    "kernel views version 3 {\n"
    "  buffer s32[1] prefetch\n"
    "  buffer f32[4, 6]\n"
    "  buffer f32[2, 2] out\n"
    "  buffer f32[8] out\n"
    "  %0 = load 0 [0] : s32\n"
    "  %1 = reference 1 : f32[4, 6]\n"
    "  %2 = slice [clamp(%0, 0, 1), 1] sizes [2, 2] strides [2, 3] %1 : f32[2, 2]\n"
    "  %3 = transpose [1, 0] %2 : f32[2, 2]\n"
    "  %4 = reference 2 : f32[2, 2]\n"
    "  copy %3, %4\n"
    "  %5 = slice [2, 0] sizes [1, 6] squeeze [0] %1 : f32[6]\n"
    "  %6 = reshape %5 : f32[2, 3]\n"
    "  %7 = reference 3 : f32[8]\n"
    "  %8 = constant 0xbf800000 : f32\n"
    "  for d0 = 0..8 by 8 {\n"
    "    %9 = index [d0] : s32\n"
    "    %10 = index [6] : s32\n"
    "    %11 = map compare LT %9, %10 : pred\n"
    "    %12 = ref_load [(d0 div 3), (d0 mod 3)] mask %6, %11, %8 : f32\n"
    "    ref_store [d0] %7, %12\n"
    "    ref_store [d0] mask %7, %8, %11\n"
    "    ref_store [d0] mask %7, %12, %11\n"
    "  }\n"
    "}\n";

static void test_views(void** unused) {
  (void)unused;
  int32_t start = 1;
  float in[24], corners[4], row[8];
  for (int i = 0; i < 24; ++i) in[i] = (float)i;
  run(VIEWS, (void*[]){&start, in, corners, row});
  const float expected[4] = {7, 19, 10, 22};
  for (int i = 0; i < 4; ++i) assert_true(corners[i] == expected[i]);
  for (int i = 0; i < 8; ++i) assert_true(row[i] == (i < 6 ? (float)(12 + i) : -1));
}

// One iteration makes what the other takes, one place at a time.
static const char* const PIPE =
    "kernel pipe version 3 {\n"
    "  buffer s32[5]\n"
    "  buffer s32[5] out\n"
    "  %0 = alloc near : s32[1]\n"
    "  %1 = alloc semaphore : s32[1]\n"
    "  %2 = alloc semaphore : s32[1]\n"
    "  parallel d0 = 0..2 by 1 {\n"
    "    %3 = index [d0] : s32\n"
    "    switch %3 {\n"
    "      for d1 = 0..5 by 1 {\n"
    "        semaphore_wait 1 %1\n"
    "        %4 = ref_load [0] %0 : s32\n"
    "        %5 = map add %4, %4 : s32\n"
    "        store 1 [d1] %5\n"
    "        semaphore_signal 1 %2\n"
    "      }\n"
    "    } {\n"
    "      for d2 = 0..5 by 1 {\n"
    "        %6 = load 0 [d2] : s32\n"
    "        ref_store [0] %0, %6\n"
    "        semaphore_signal 1 %1\n"
    "        semaphore_wait 1 %2\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

static void test_pipe(void** unused) {
  (void)unused;
  int32_t in[5] = {3, 1, 4, 1, 5}, out[5];
  run(PIPE, (void*[]){in, out});
  for (int i = 0; i < 5; ++i) assert_int_equal(out[i], 2 * in[i]);
}

// Four iterations exchange what they have, phase after phase; the carried value crosses waits.
static const char* const ROUNDS =
    "kernel rounds version 3 {\n"
    "  buffer s32[4]\n"
    "  buffer s32[4] out\n"
    "  %0 = alloc near : s32[2, 4]\n"
    "  %1 = alloc barrier arrivals 4 : s32[1]\n"
    "  parallel d0 = 0..4 by 1 {\n"
    "    %2 = load 0 [d0] : s32\n"
    "    %6 = for %2 over d1 = 0..3 by 1 : s32 {\n"
    "      %3 = argument 0 : s32\n"
    "      ref_store [(d1 mod 2), d0] %0, %3\n"
    "      barrier_arrive %1\n"
    "      barrier_wait [d1] %1\n"
    "      %4 = ref_load [(d1 mod 2), (1 + d0 mod 4)] %0 : s32\n"
    "      %5 = map add %3, %4 : s32\n"
    "      yield %5\n"
    "    }\n"
    "    store 1 [d0] %6\n"
    "  }\n"
    "}\n";

static void test_rounds(void** unused) {
  (void)unused;
  int32_t in[4] = {1, 10, 100, 1000}, now[4], next[4], out[4];
  run(ROUNDS, (void*[]){in, out});
  memcpy(now, in, sizeof now);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) next[i] = now[i] + now[(i + 1) % 4];
    memcpy(now, next, sizeof now);
  }
  for (int i = 0; i < 4; ++i) assert_int_equal(out[i], now[i]);
}

// A lock made of atomics, counts and places of a grid, what is printed, both ways of an `if`.
static const char* const GRID =
    "kernel grid version 3 {\n"
    "  buffer s32[6] out\n"
    "  buffer s32[3] out\n"
    "  buffer f32[1] out\n"
    "  %0 = reference 1 : s32[3]\n"
    "  %1 = constant 0x00000001 : s32\n"
    "  parallel d0 = 0..2 by 1 grid {\n"
    "    for d1 = 0..12 by 4 grid {\n"
    "      %2 = program_id 0 : s32\n"
    "      %3 = program_id 1 : s32\n"
    "      %4 = num_programs 1 : s32\n"
    "      %5 = map multiply %2, %4 : s32\n"
    "      %6 = map add %5, %3 : s32\n"
    "      store 0 [clamp(%6, 0, 5)] %6\n"
    "    }\n"
    "    %7 = atomic add [0] %0, %1 : s32\n"
    "    %8 = atomic exchange [1] %0, %1 : s32\n"
    "    %9 = atomic compare_exchange [2] %0, %1, %7 : s32\n"
    "  }\n"
    "  %10 = constant 0x3f800000 : f32\n"
    "  %11 = bitcast %10 : s32\n"
    "  %12 = constant 0x3f800000 : s32\n"
    "  %13 = map compare EQ %11, %12 : pred\n"
    "  print \"bits\" %11, %10\n"
    "  %15 = if %13 : f32 {\n"
    "    yield %10\n"
    "  } {\n"
    "    %14 = map negate %10 : f32\n"
    "    yield %14\n"
    "  }\n"
    "  if %13 {\n"
    "    store 2 [0] %15\n"
    "  }\n"
    "}\n";

static void test_grid(void** unused) {
  (void)unused;
  int32_t numbers[6], counts[3] = {0, 7, 1};
  float chosen = 0;
  printed_t printed = {{0}};
  hlo_status_t status = try_run(GRID, (void*[]){numbers, counts, &chosen}, &printed);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  for (int i = 0; i < 6; ++i) assert_int_equal(numbers[i], i);
  assert_int_equal(counts[0], 2);
  assert_int_equal(counts[1], 1);
  assert_int_equal(counts[2], 0);
  assert_true(chosen == 1);
  assert_string_equal(printed.text, "bits %11 s32: 1065353216 %10 f32: 1\n");
}

static const char* const ALL[] = {PRODUCT, VIEWS, PIPE, ROUNDS, GRID};

// ---- text

static void test_text(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof ALL / sizeof *ALL; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_strbuf_t out = {0};
    hlo_tile_kernel_print(hlo_test_parsed(&arena, ALL[i]), &out);
    assert_string_equal(hlo_strbuf_text(&out), ALL[i]);
    hlo_strbuf_deinit(&out);
    hlo_arena_deinit(&arena);
  }
}

// Layouts are found for kernels with references, and change no result.
static void test_layouts(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof ALL / sizeof *ALL; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_tile_kernel_t* kernel = hlo_test_parsed(&arena, ALL[i]);
    hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 1000);
    if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", ALL[i], hlo_status_message(status));
    status = hlo_tile_kernel_verify(kernel);
    if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", ALL[i], hlo_status_message(status));
    hlo_arena_deinit(&arena);
  }
}

// ---- what cannot run

typedef struct failure {
  const char *body, *message;
  hlo_status_code_t code;
} failure_t;

static void test_failures(void** unused) {
  (void)unused;
  static const failure_t cases[] = {
      {"%0 = alloc near : f32[4]\nfor d0 = 0..5 by 5 {\n%1 = ref_load [d0] %0 : f32\n}\n",
       "%1 = ref_load (line 5): index 4 of dimension 0, which has 4", HLO_STATUS_OUT_OF_RANGE},
      {"%0 = alloc near : f32[4]\n%1 = load 0 [0] : s32\n"
       "%2 = slice [clamp(%1, 0, 9)] sizes [2] %0 : f32[2]\n",
       "%2 = slice (line 5): index 4 of dimension 0, which has 4", HLO_STATUS_OUT_OF_RANGE},
      {"%0 = alloc semaphore : s32[1]\nsemaphore_signal 2 %0\nsemaphore_wait 1 %0\n",
       "%0 = alloc (line 3) ends with 1 that nothing has waited for",
       HLO_STATUS_FAILED_PRECONDITION},
      {"%0 = alloc semaphore : s32[1]\nparallel d0 = 0..2 by 1 {\nsemaphore_wait 1 %0\n}\n",
       "deadlock: 2 iterations wait for ever: semaphore_wait (line 5)",
       HLO_STATUS_FAILED_PRECONDITION},
      {"%0 = alloc barrier arrivals 3 : s32[1]\nparallel d0 = 0..2 by 1 {\nbarrier_arrive %0\n"
       "barrier_wait [0] %0\n}\n",
       "barrier_wait (line 6)", HLO_STATUS_FAILED_PRECONDITION},
      {"%0 = alloc semaphore : s32[1]\nparallel d0 = 0..5000 by 1 {\nsemaphore_wait 1 %0\n}\n",
       "more than 4096 iterations that wait", HLO_STATUS_RESOURCE_EXHAUSTED},
      {"%0 = alloc near : f32[400000, 400000]\n", "", HLO_STATUS_RESOURCE_EXHAUSTED},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    HLO_SCOPED_STRBUF text = {0};
    int32_t numbers[4] = {3, 3, 3, 3};
    hlo_strbuf_printf(&text, "kernel fails version 3 {\nbuffer s32[4]\n%s}", cases[i].body);
    hlo_status_t status = try_run(hlo_strbuf_text(&text), (void*[]){numbers}, NULL);
    if (hlo_status_code(status) != cases[i].code ||
        !strstr(hlo_status_message(status), cases[i].message)) {
      fail_msg("%s: %s", cases[i].body, hlo_status_message(status));
    }
    hlo_status_release(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_product),  cmocka_unit_test(test_scaled_product),
      cmocka_unit_test(test_views),    cmocka_unit_test(test_pipe),
      cmocka_unit_test(test_rounds),   cmocka_unit_test(test_grid),
      cmocka_unit_test(test_text),     cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests_name("tile/ir_memory", tests, NULL, NULL);
}
