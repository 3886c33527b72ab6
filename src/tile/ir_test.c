// SPDX-License-Identifier: Apache-2.0
// Tile IR: text there and back, what the verifier refuses, what the interpreter computes.
#include "tile/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/type.h"

// ---- the meaning of a few operations on f32 and s32

static bool map_floats(hlo_op_t op, const float* a, const float* b, float* result, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    switch (op) {
      case HLO_OP_add: result[i] = a[i] + b[i]; break;
      case HLO_OP_subtract: result[i] = a[i] - b[i]; break;
      case HLO_OP_multiply: result[i] = a[i] * b[i]; break;
      case HLO_OP_maximum: result[i] = a[i] > b[i] ? a[i] : b[i]; break;
      case HLO_OP_negate: result[i] = -a[i]; break;
      default: return false;
    }
  }
  return true;
}

static bool map_numbers(hlo_op_t op, const int32_t* a, const int32_t* b, int32_t* result,
                        size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (op != HLO_OP_add && op != HLO_OP_multiply) return false;
    result[i] = op == HLO_OP_add ? a[i] + b[i] : a[i] * b[i];
  }
  return true;
}

static bool map(void* context, const hlo_tile_map_t* what, uint32_t operand_count,
                const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
                void* result, size_t count) {
  (void)context;
  const void* second = operand_count > 1 ? operands[1] : NULL;
  if (what->op == HLO_OP_compare && dtypes[0] == HLO_DTYPE_F32) {
    const float *a = operands[0], *b = second;
    for (size_t i = 0; i < count; ++i) ((uint8_t*)result)[i] = a[i] < b[i];
    return what->direction == HLO_COMPARISON_DIRECTION_LT;
  }
  if (dtype == HLO_DTYPE_F32) return map_floats(what->op, operands[0], second, result, count);
  if (dtype == HLO_DTYPE_S32) return map_numbers(what->op, operands[0], second, result, count);
  return false;
}

static const hlo_tile_meaning_t MEANING = {.map = map};

static hlo_tile_kernel_t* parsed(hlo_arena_t* arena, const char* text) {
  hlo_tile_kernel_t* kernel = NULL;
  hlo_status_t status = hlo_tile_kernel_parse(arena, text, &kernel);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return kernel;
}

static void run(const char* text, void* const* buffers) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = parsed(&arena, text);
  hlo_status_t status = hlo_tile_kernel_run(kernel, &MEANING, buffers);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  hlo_arena_deinit(&arena);
}

// ---- kernels

static const char* const TRANSPOSE =
    "kernel transpose {\n"
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
    "kernel soft {\n"
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
    "kernel product {\n"
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
    "kernel places {\n"
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

static void test_text(void** unused) {
  (void)unused;
  static const char* const* const texts[] = {&TRANSPOSE, &SOFT, &PRODUCT, &PLACES};
  for (uint32_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_strbuf_t out = {0};
    hlo_tile_kernel_print(parsed(&arena, *texts[i]), &out);
    assert_string_equal(hlo_strbuf_text(&out), *texts[i]);
    hlo_strbuf_deinit(&out);
    hlo_arena_deinit(&arena);
  }
}

// ---- layouts

static const hlo_tile_target_t MACHINE = {
    .vector_bytes = 16,
    .vector_count = 16,
    .memory_count = 3,
    .atom_count = 4,
    .memories = {{"registers", 256, 16, 0, 0},
                 {"near", 32 << 10, 64, 32, 0},
                 {"main", INT64_MAX, 64, 8, 0}},
    .atoms = {{.name = "op", .op = HLO_TILE_ATOM_VECTOR, .per_ns = 2},
              {.name = "load", .op = HLO_TILE_ATOM_LOAD, .per_ns = 2},
              {.name = "gather", .op = HLO_TILE_ATOM_GATHER, .per_ns = 0.25},
              {.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 2}},
};

static void check_layouts(const char* text, const char* expected) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = parsed(&arena, text);
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 1000);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  status = hlo_tile_kernel_verify(kernel);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  hlo_strbuf_t out = {0};
  hlo_tile_kernel_print(kernel, &out);
  assert_string_equal(hlo_strbuf_text(&out), expected);
  hlo_strbuf_deinit(&out);
  hlo_arena_deinit(&arena);
}

// Loads and the store want lanes along d1, whatever is outermost.
static void test_lanes_follow_memory(void** unused) {
  (void)unused;
  check_layouts(
      "kernel rows { buffer f32[64] buffer f32[8] buffer f32[64] out\n"
      "for d1 = 0..8 by 8 { for d0 = 0..8 by 2 {\n"
      "%0 = load 0 [8*d0 + d1] : f32\n"
      "%1 = load 1 [d1] : f32\n"
      "%2 = map add %0, %1 : f32\n"
      "store 2 [8*d0 + d1] %2 } } }",
      "kernel rows {\n"
      "  buffer f32[64]\n"
      "  buffer f32[8]\n"
      "  buffer f32[64] out\n"
      "  for d1 = 0..8 by 8 {\n"
      "    for d0 = 0..8 by 2 {\n"
      "      %0 = load 0 [8*d0 + d1] : f32 <8x2 | 0:2/4 slot 2, 0:4/1 lane 1, 1:2/1 slot 1>\n"
      "      %1 = load 1 [d1] : f32 <8x2 | 0:2/4 slot 2, 0:4/1 lane 1, 1:2/1 slot 1>\n"
      "      %2 = map add %0, %1 : f32 <8x2 | 0:2/4 slot 2, 0:4/1 lane 1, 1:2/1 slot 1>\n"
      "      store 2 [8*d0 + d1] %2\n"
      "    }\n"
      "  }\n"
      "}\n");
}

// A maximum over lanes is there for all of them; the initial value has to be brought there.
static void test_reduction_over_lanes(void** unused) {
  (void)unused;
  check_layouts(
      "kernel best { buffer f32[40] buffer f32[10] out\n"
      "%0 = constant 0xff800000 : f32\n"
      "for d0 = 0..10 by 1 {\n"
      "%2 = reduce maximum %0 over d1 = 0..4 by 4 : f32 { %1 = load 0 [4*d0 + d1] : f32\n"
      "yield %1 }\n"
      "%3 = map add %2, %0 : f32\n"
      "store 1 [d0] %3 } }",
      "kernel best {\n"
      "  buffer f32[40]\n"
      "  buffer f32[10] out\n"
      "  %0 = constant 0xff800000 : f32 <>\n"
      "  for d0 = 0..10 by 1 {\n"
      "    %2 = reduce maximum %0 over d1 = 0..4 by 4 : f32 < | *:4 lane 1> {\n"
      "      %1 = load 0 [4*d0 + d1] : f32 <4 | 0:4/1 lane 1>\n"
      "      yield %1\n"
      "    }\n"
      "    %3 = map add %2, %0 : f32 <>\n"
      "    store 1 [d0] %3\n"
      "  }\n"
      "}\n");
}

// What a reduction yields may come from outside of its loops, and be one element for all of a tile.
static void test_reduction_of_splat(void** unused) {
  (void)unused;
  check_layouts(
      "kernel pairs { buffer f32[1] buffer f32[64] buffer f32[16] out buffer f32[16] out\n"
      "%0 = load 0 [0] : f32\n"
      "for d0 = 0..16 by 16 {\n"
      "%2 = reduce multiply add %0, %0 over d1 = 0..4 by 1 : f32 {\n"
      "%1 = load 1 [d0 + 16*d1] : f32\n"
      "yield %0, %1 }\n"
      "%3 = result 1 of %2 : f32\n"
      "store 2 [d0] %2\n"
      "store 3 [d0] %3 } }",
      "kernel pairs {\n"
      "  buffer f32[1]\n"
      "  buffer f32[64]\n"
      "  buffer f32[16] out\n"
      "  buffer f32[16] out\n"
      "  %0 = load 0 [0] : f32 <>\n"
      "  for d0 = 0..16 by 16 {\n"
      "    %2 = reduce multiply add %0, %0 over d1 = 0..4 by 1 : f32 "
      "<16 | 0:4/4 slot 1, 0:4/1 lane 1> {\n"
      "      %1 = load 1 [d0 + 16*d1] : f32 <16 | 0:4/4 slot 1, 0:4/1 lane 1>\n"
      "      yield %0, %1\n"
      "    }\n"
      "    %3 = result 1 of %2 : f32 <16 | 0:4/4 slot 1, 0:4/1 lane 1>\n"
      "    store 2 [d0] %2\n"
      "    store 3 [d0] %3\n"
      "  }\n"
      "}\n");
}

// A sum along rows whose lanes it was loaded with is needed along columns: by another layout.
static void test_relayout_is_put_in(void** unused) {
  (void)unused;
  check_layouts(
      "kernel turn { buffer f32[256] buffer f32[16] out\n"
      "for d0 = 0..16 by 4 {\n"
      "%1 = reduce add over d1 = 0..16 by 4 : f32 { %0 = load 0 [16*d0 + d1] : f32\n"
      "yield %0 }\n"
      "%2 = map negate %1 : f32\n"
      "store 1 [d0] %2 } }",
      "kernel turn {\n"
      "  buffer f32[256]\n"
      "  buffer f32[16] out\n"
      "  for d0 = 0..16 by 4 {\n"
      "    %1 = reduce add over d1 = 0..16 by 4 : f32 <4 | 0:4/1 slot 1, *:4 lane 1> {\n"
      "      %0 = load 0 [16*d0 + d1] : f32 <4x4 | 0:4/1 slot 1, 1:4/1 lane 1>\n"
      "      yield %0\n"
      "    }\n"
      "    %2 = relayout %1 : f32 <4 | 0:4/1 lane 1>\n"
      "    %3 = map negate %2 : f32 <4 | 0:4/1 lane 1>\n"
      "    store 1 [d0] %3\n"
      "  }\n"
      "}\n");
}

// ---- what is refused

typedef struct refusal {
  const char *body, *message;
} refusal_t;

static void test_refusals(void** unused) {
  (void)unused;
  static const refusal_t cases[] = {
      {"store 0 [0] %0\n", "a value that exists"},
      {"%0 = load 7 [0] : f32\n", "a buffer that exists"},
      {"%0 = load 0 [d0] : f32\n", "a digit of a loop"},
      {"%0 = load 0 [0] : s32\n", "another element type than the buffer's"},
      {"%0 = load 0 [0] : f32\nstore 0 [0] %0\n", "no output"},
      {"%0 = load 0 [99999999999999999*1] : f32\n", "smaller number"},
      {"for d0 = 0..4 by 0 {\n}\n", "a step"},
      {"for d0 = 4..4 by 1 {\n}\n", "a step"},
      {"for d0 = 0..4 by 1 {\nfor d0 = 0..4 by 1 {\n}\n}\n", "a digit of a loop around"},
      {"for d0 = 0..4 by 2 {\n%0 = load 0 [d0] : f32\n}\nstore 1 [0] %0\n", "not computed there"},
      {"%0 = load 0 [0] : f32\n%1 = load 0 [clamp(%0, 0, 1)] : f32\n", "no integer"},
      {"%0 = load 0 [0] : f32\n%0 = load 0 [0] : f32\n", "a new value"},
      {"%0 = load 0 [0] : f32\n%1 = product %0 : f32\n", "number of operands"},
      {"%0 = load 0 [0] : f32\n%1 = map moon %0 : f32\n", "an elementwise operation"},
      {"%0 = load 0 [0] : f32\nyield %0\n", "end of a reduce"},
      {"%1 = reduce add over d0 = 0..4 by 1 : f32 {\n}\n", "without a yield"},
      {"%1 = reduce over d0 = 0..4 by 1 : f32 {\n%0 = load 0 [d0] : f32\nyield %0\n}\n",
       "nothing is said"},
      {"%0 = load 0 [0] : f32\n%1 = result 0 of %0 : f32\n", "something else than a reduce"},
      {"for d0 = 0..8 by 4 {\n%0 = load 0 [d0] : f32 <8 | 0:8/1 lane 1>\n}\n", "another shape"},
      {"for d0 = 0..8 by 4 {\n", "an operation"},
      {"load 0 [0] : f32\n", "a name before"},
      {"nothing\n", "an operation"},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    const char* text = hlo_arena_printf(
        &arena, "kernel wrong {\nbuffer f32[9]\nbuffer f32[9] out\n%s}\n", cases[i].body);
    hlo_tile_kernel_t* kernel = NULL;
    hlo_status_t status = hlo_tile_kernel_parse(&arena, text, &kernel);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    if (!strstr(hlo_status_message(status), cases[i].message)) {
      fail_msg("%s: %s", cases[i].body, hlo_status_message(status));
    }
    hlo_status_release(status);
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
  static const char* const* const texts[] = {&TRANSPOSE, &SOFT, &PRODUCT, &PLACES};
  static const char marks[] = "0123456789%[](){}:,=<>|*+-/. dfx\n";
  uint32_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    char text[2048];
    const char* from = *texts[below(4)];
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
  };
  static const hlo_status_code_t codes[] = {HLO_STATUS_OUT_OF_RANGE, HLO_STATUS_UNIMPLEMENTED,
                                            HLO_STATUS_RESOURCE_EXHAUSTED};
  for (uint32_t i = 0; i < 3; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    float out[4];
    hlo_status_t status = hlo_tile_kernel_run(parsed(&arena, texts[i]), &MEANING, (void*[]){out});
    assert_int_equal(hlo_status_code(status), codes[i]);
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transpose),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_product),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_equal_values),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_changed_text),
      cmocka_unit_test(test_run_errors),
      cmocka_unit_test(test_lanes_follow_memory),
      cmocka_unit_test(test_reduction_over_lanes),
      cmocka_unit_test(test_reduction_of_splat),
      cmocka_unit_test(test_relayout_is_put_in),
  };
  return cmocka_run_group_tests_name("tile/ir", tests, NULL, NULL);
}
