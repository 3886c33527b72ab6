// SPDX-License-Identifier: Apache-2.0
// Kernels that blocks of threads run: their text, run by threads that wait for each other, gives
// the bits of Tile IR's interpreter (inputs are small integers, so sums are exact), and nothing
// accesses shared memory without an order.
#include "codegen/ptx/atoms.h"
#include "codegen/ptx/kernel.h"

#include "base/test_util.h"
#include "codegen/ptx/assembler_test.inl"
#include "codegen/ptx/run_test.inl"
#include "tile/ir_test_util.h"

enum { MOST_BUFFERS = 8, TEXT_BYTES = 8192 };

// has_scales: types of 8 bits are scales of narrower elements, which are not negative.
static void fill(const hlo_tile_buffer_t* buffer, uint32_t seed, bool has_scales,
                 uint8_t* elements) {
  const size_t size = hlo_dtype_size_bytes(buffer->dtype);
  for (int64_t i = 0; i < buffer->element_count; ++i) {
    const int32_t value = (int32_t)((((uint32_t)i + seed) * 2654435761u >> 16) % 7);
    const bool is_unsigned = hlo_dtype_is_unsigned(buffer->dtype);
    const bool is_scale = buffer->dtype == HLO_DTYPE_F8E8M0FNU ||
                          (has_scales && hlo_dtype_info(buffer->dtype)->bits == 8);
    hlo_dtype_store_double(
        buffer->dtype, elements + (size_t)i * size,
        is_scale ? ldexp(1, value - 3) : (double)(is_unsigned ? value : value - 3));
  }
}

// Runs the kernels of a text, by blocks or threads as their comments say; returns the races.
static uint32_t run_text(const char* text, const uint64_t* params, uint32_t count) {
  uint32_t races = 0;
  for (const char* line = text; *line == '/'; line = strchr(line, '\n') + 1) {
    char name[128];
    unsigned long long blocks;
    unsigned threads, bytes;
    if (strncmp(line, "// map ", 7) == 0) continue;
    if (sscanf(line, "// %127[^:]: %llu blocks of %u threads, %u bytes", name, &blocks, &threads,
               &bytes) == 4) {
      races += ptx_run_blocks(text, name, blocks, threads, bytes, params, count);
    } else {
      assert_int_equal(sscanf(line, "// %127[^:]: %llu threads", name, &blocks), 2);
      ptx_run(text, name, blocks, params, count, NULL);
    }
  }
  return races;
}

// Conversions, exponentials and quotients beside the operations of MEANING.
static bool map_more(void* context, const hlo_tile_map_t* map, uint32_t operand_count,
                     const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
                     void* result, size_t count) {
  const float* const* x = (const float* const*)operands;
  float* out = result;
  switch (map->op) {
    case HLO_OP_convert: hlo_dtype_convert(dtypes[0], operands[0], dtype, result, count); break;
    case HLO_OP_exponential:
      for (size_t i = 0; i < count; ++i) out[i] = expf(x[0][i]);
      break;
    case HLO_OP_divide:
      for (size_t i = 0; i < count; ++i) out[i] = x[0][i] / x[1][i];
      break;
    default:
      return MEANING.map(context, map, operand_count, dtypes, operands, dtype, result, count);
  }
  return true;
}

typedef struct outcome {
  uint32_t races;
  int64_t different;  // elements
  double error;       // the largest one
} outcome_t;

static outcome_t run_both(const char* kernel_text, const char* target_name,
                          const hlo_ptx_options_t* options, const char* part) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF text = {0};
  hlo_ptx_target_t target;
  const hlo_tile_kernel_t* kernel = hlo_test_parsed(&arena, kernel_text);
  void* buffers[MOST_BUFFERS];
  uint64_t params[MOST_BUFFERS];
  uint8_t* expected[MOST_BUFFERS];
  outcome_t outcome = {0};
  const bool has_scales = kernel->buffers[0].dtype == HLO_DTYPE_F4E2M1FN;
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    const size_t bytes = (size_t)buffer->element_count * hlo_dtype_size_bytes(buffer->dtype);
    uint8_t* own = hlo_arena_alloc_zeroed(&arena, bytes + 64);
    own += 64 - (uintptr_t)own % 64;
    if (!buffer->is_output) fill(buffer, i, has_scales, own);
    expected[i] = hlo_arena_alloc_zeroed(&arena, bytes);
    params[i] = (uintptr_t)own;
    buffers[i] = buffer->is_output ? expected[i] : own;
    if (hlo_dtype_packed_size_bytes(buffer->dtype, 8) == 8 || buffer->is_output) continue;
    uint8_t* packed = hlo_arena_alloc_zeroed(&arena, bytes + 64);
    packed += 64 - (uintptr_t)packed % 64;
    hlo_dtype_pack(buffer->dtype, own, packed, (size_t)buffer->element_count);
    params[i] = (uintptr_t)packed;
  }
  hlo_tile_meaning_t meaning = MEANING;
  meaning.map = map_more;
  hlo_test_check(hlo_tile_kernel_run(kernel, &meaning, buffers));
  hlo_test_check(hlo_ptx_target_parse(target_name, &target));
  hlo_test_check(hlo_ptx_emit_tile(kernel, &target, options, &text));
  if (part && !strstr(hlo_strbuf_text(&text), part)) {
    fail_msg("no %s in\n%s", part, hlo_strbuf_text(&text));
  }
  outcome.races = run_text(hlo_strbuf_text(&text), params, kernel->buffer_count);
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    const size_t size = hlo_dtype_size_bytes(buffer->dtype);
    if (!buffer->is_output) continue;
    if (hlo_dtype_packed_size_bytes(buffer->dtype, 8) < 8) {
      uint8_t* packed = hlo_arena_alloc_zeroed(&arena, (size_t)buffer->element_count);
      const size_t count = (size_t)buffer->element_count;
      hlo_dtype_pack(buffer->dtype, expected[i], packed, count);
      const size_t bytes = hlo_dtype_packed_size_bytes(buffer->dtype, count);
      outcome.different += memcmp((const void*)(uintptr_t)params[i], packed, bytes) != 0;
      continue;
    }
    for (int64_t n = 0; n < buffer->element_count; ++n) {
      const uint8_t* result = (const uint8_t*)(uintptr_t)params[i];
      const double error =
          fabs(hlo_dtype_load_double(buffer->dtype, result + (size_t)n * size) -
               hlo_dtype_load_double(buffer->dtype, expected[i] + (size_t)n * size));
      outcome.different +=
          memcmp(result + (size_t)n * size, expected[i] + (size_t)n * size, size) != 0;
      if (!(error <= outcome.error)) outcome.error = error;
    }
  }
  return outcome;
}

// Compares on a target without asynchronous copies and on one with them, whose text has `part`.
static void compare(const char* kernel_text, const char* part) {
  static const char* const targets[] = {"sm_75", "sm_80"};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    const outcome_t outcome = run_both(kernel_text, targets[i], NULL, i ? part : NULL);
    if (outcome.races || outcome.different) {
      fail_msg("%s: %u races, %d elements differ\n%s", targets[i], outcome.races,
               (int)outcome.different, kernel_text);
    }
  }
}

// ---- rows --------------------------------------------------------------------------------------

static const char kRowSums[] =
    "kernel rows version 3 {\n buffer f32[6, 100]\n buffer f32[6] out\n buffer s32[6] out\n"
    " %0 = constant 0xff800000 : f32\n %1 = constant 0x7fffffff : s32\n"
    " parallel d0 = 0..6 by 1 {\n"
    "  %3 = reduce add over d1 = 0..100 by 32 : f32 {\n   %2 = load 0 [100*d0 + d1] : f32\n"
    "   yield %2\n  }\n"
    "  %6 = reduce arg maximum %0, %1 over d2 = 0..100 by 32 : f32 {\n"
    "   %4 = load 0 [100*d0 + d2] : f32\n   %5 = index [d2] : s32\n   yield %4, %5\n  }\n"
    "  %7 = result 1 of %6 : s32\n  %8 = map add %3, %6 : f32\n"
    "  store 1 [d0] %8\n  store 2 [d0] %7\n }\n}\n";

// A row in shared memory that one reduction changes for the next.
static const char kNormalised[] =
    "kernel normalised version 3 {\n buffer f32[4, 200]\n buffer f32[4, 200] out\n"
    " %0 = reference 0 : f32[4, 200]\n %1 = constant 0xff800000 : f32\n"
    " parallel d0 = 0..4 by 1 {\n  %2 = alloc near : f32[200]\n"
    "  %3 = slice [d0, 0] sizes [1, 200] squeeze [0] %0 : f32[200]\n  copy %3, %2\n"
    "  %5 = reduce maximum %1 over d1 = 0..200 by 64 : f32 {\n   %4 = ref_load [d1] %2 : f32\n"
    "   yield %4\n  }\n"
    "  for d2 = 0..200 by 64 {\n   %6 = ref_load [d2] %2 : f32\n"
    "   %7 = map subtract %6, %5 : f32\n   ref_store [d2] %2, %7\n  }\n"
    "  %9 = reduce add over d3 = 0..200 by 64 : f32 {\n   %8 = ref_load [199 + -1*d3] %2 : f32\n"
    "   yield %8\n  }\n"
    "  for d4 = 0..200 by 64 {\n   %10 = ref_load [199 + -1*d4] %2 : f32\n"
    "   %11 = map multiply %10, %9 : f32\n   store 1 [200*d0 + d4] %11\n  }\n }\n}\n";

// Each iteration reads from shared memory what the one before left there.
static const char kRounds[] =
    "kernel rounds version 3 {\n buffer f32[64]\n buffer f32[64] out\n"
    " %0 = reference 0 : f32[64]\n %1 = reference 1 : f32[64]\n"
    " parallel d0 = 0..1 by 1 {\n  %2 = alloc near : f32[64]\n  %3 = alloc near : f32[64]\n"
    "  copy %0, %2\n"
    "  for d1 = 0..3 by 1 {\n"
    "   for d2 = 0..64 by 64 {\n    %4 = ref_load [d2] %2 : f32\n"
    "    %5 = ref_load [(1 + d2 mod 64)] %2 : f32\n    %6 = map add %4, %5 : f32\n"
    "    ref_store [d2] %3, %6\n   }\n"
    "   copy %3, %2\n  }\n  copy %2, %1\n }\n}\n";

// Whole buffers, without memory of the block.
static const char kBuffers[] =
    "kernel buffers version 3 {\n buffer f32[8, 8]\n buffer f32[8, 8] out\n"
    " %0 = reference 0 : f32[8, 8]\n %1 = reference 1 : f32[8, 8]\n"
    " copy %0, %1\n mma [1] x [0] %1, %0, %0\n}\n";

// Overlapping boxes of 8 x 16 of an array of three dimensions. Each iteration reads the sums that
// the one before it stored.
static const char kBoxes[] =
    "kernel boxes version 3 {\n buffer f32[2, 8, 40]\n buffer f32[2, 8, 16] out\n"
    " %0 = reference 0 : f32[2, 8, 40]\n %1 = reference 1 : f32[2, 8, 16]\n"
    " %2 = constant 0x00000000 : f32\n parallel d0 = 0..2 by 1 {\n"
    "  %3 = alloc near : f32[8, 16]\n  %4 = alloc near : f32[8, 16]\n"
    "  for d1 = 0..8 by 8 {\n   for d2 = 0..16 by 16 {\n    ref_store [d1, d2] %4, %2\n   }\n  }\n"
    "  for d3 = 0..3 by 1 stages 2 {\n"
    "   %5 = slice [d0, 0, 12*d3] sizes [1, 8, 16] squeeze [0] %0 : f32[8, 16]\n   copy %5, %3\n"
    "   for d4 = 0..8 by 8 {\n    for d5 = 0..16 by 16 {\n"
    "     %6 = ref_load [d4, d5] %3 : f32\n     %7 = ref_load [7 + -1*d4, d5] %4 : f32\n"
    "     %8 = map add %6, %7 : f32\n     ref_store [7 + -1*d4, d5] %4, %8\n    }\n   }\n  }\n"
    "  %9 = slice [d0, 0, 0] sizes [1, 8, 16] squeeze [0] %1 : f32[8, 16]\n  copy %4, %9\n }\n}\n";

static void test_boxes(void** state) {
  (void)state;
  const outcome_t outcome = run_both(kBoxes, "sm_90a", NULL, "cp.async.bulk.tensor");
  assert_int_equal(outcome.races, 0);
  assert_int_equal(outcome.different, 0);
  compare(kBoxes, "cp.async.c");
}

static void test_rows(void** state) {
  (void)state;
  compare(kBuffers, "fma.rn.f32");
  compare(kRowSums, "shfl.sync.bfly");
  compare(kNormalised, "cp.async");
  compare(kRounds, "bar.sync");
}

// Allocations that are not in use together: the second one has the bytes of the first, and one that
// is inside of a loop those that it used before. The last one has bytes that boxes filled.
static const char kShared[] =
    "kernel shared version 3 {\n buffer f32[4, 64, 32]\n buffer f32[64, 32] out\n"
    " %0 = reference 0 : f32[4, 64, 32]\n %1 = reference 1 : f32[64, 32]\n"
    " %2 = constant 0x00000000 : f32\n parallel d0 = 0..1 by 1 {\n"
    "  %3 = alloc near : f32[64, 32]\n  %4 = alloc near : f32[64, 32]\n"
    "  for d1 = 0..64 by 64 {\n   for d2 = 0..32 by 32 {\n    ref_store [d1, d2] %4, %2\n   }\n  "
    "}\n"
    "  for d3 = 0..4 by 1 stages 2 {\n"
    "   %5 = slice [d3, 0, 0] sizes [1, 64, 32] squeeze [0] %0 : f32[64, 32]\n   copy %5, %3\n"
    "   for d4 = 0..64 by 64 {\n    for d5 = 0..32 by 32 {\n"
    "     %6 = ref_load [d4, d5] %3 : f32\n     %7 = ref_load [d4, d5] %4 : f32\n"
    "     %8 = map add %6, %7 : f32\n     ref_store [d4, d5] %4, %8\n    }\n   }\n  }\n"
    "  %9 = alloc near : f32[64, 32]\n"
    "  for d6 = 0..64 by 64 {\n   for d7 = 0..32 by 32 {\n"
    "    %10 = ref_load [63 + -1*d6, d7] %4 : f32\n    ref_store [d6, 31 + -1*d7] %9, %10\n   }\n  "
    "}\n"
    "  for d8 = 0..2 by 1 {\n   %11 = alloc near : f32[64, 32]\n"
    "   for d9 = 0..64 by 64 {\n    for d10 = 0..32 by 32 {\n"
    "     %12 = ref_load [d9, 31 + -1*d10] %9 : f32\n     ref_store [63 + -1*d9, d10] %11, %12\n"
    "    }\n   }\n   copy %11, %9\n  }\n  copy %9, %1\n }\n}\n";

// Nothing but the shared bytes orders the store after the loop, and the one after the second loop.
static const char kReused[] =
    "kernel reused version 3 {\n buffer f32[4, 64, 32]\n buffer f32[64, 32] out\n"
    " buffer f32[2048] out\n %0 = reference 0 : f32[4, 64, 32]\n %1 = reference 1 : f32[64, 32]\n"
    " parallel d0 = 0..1 by 1 {\n  %2 = alloc near : f32[64, 32]\n"
    "  for d1 = 0..3 by 1 stages 2 {\n"
    "   %3 = slice [d1, 0, 0] sizes [1, 64, 32] squeeze [0] %0 : f32[64, 32]\n   copy %3, %2\n"
    "   for d2 = 0..64 by 64 {\n    for d3 = 0..32 by 32 {\n"
    "     %4 = ref_load [63 + -1*d2, d3] %2 : f32\n     store 2 [32*d2 + d3] %4\n    }\n   }\n  }\n"
    "  %5 = alloc near : f32[64, 32]\n  for d4 = 0..64 by 64 {\n   for d5 = 0..32 by 32 {\n"
    "    %6 = load 0 [32*d4 + d5] : f32\n    ref_store [d4, d5] %5, %6\n   }\n  }\n"
    "  for d6 = 0..64 by 64 {\n   for d7 = 0..32 by 32 {\n"
    "    %7 = ref_load [63 + -1*d6, d7] %5 : f32\n    store 2 [32*d6 + d7] %7\n   }\n  }\n"
    "  %8 = alloc near : f32[64, 32]\n  for d8 = 0..64 by 64 {\n   for d9 = 0..32 by 32 {\n"
    "    %9 = load 0 [2048 + 32*d8 + d9] : f32\n    ref_store [d8, d9] %8, %9\n   }\n  }\n"
    "  copy %8, %1\n }\n}\n";

static void test_shared_bytes(void** state) {
  (void)state;
  compare(kReused, ", 16384 bytes");
  assert_int_equal(run_both(kReused, "sm_90a", NULL, ", 16416 bytes").races, 0);
  assert_int_equal(run_both(kReused, "sm_90a", NULL, "bulk").different, 0);
  // 8 KiB: two versions of the first allocation, the second one; barriers.
  compare(kShared, ", 24576 bytes");
  const outcome_t outcome = run_both(kShared, "sm_90a", NULL, ", 24608 bytes");
  assert_int_equal(outcome.races, 0);
  assert_int_equal(outcome.different, 0);
}

// Without the waits that are inserted, accesses are without order.
static void test_waits_are_needed(void** state) {
  (void)state;
  const hlo_ptx_options_t options = {.is_unordered = true};
  const char* const kernels[] = {kNormalised, kRounds, kShared};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
    assert_true(run_both(kernels[i], "sm_80", &options, NULL).races > 0);
    assert_int_equal(run_both(kernels[i], "sm_80", NULL, NULL).races, 0);
  }
}

// ---- transposes --------------------------------------------------------------------------------

static void test_transposes(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "bf16", "s8"};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text,
             "kernel transposed version 3 {\n buffer %1$s[64, 96]\n buffer %1$s[96, 64] out\n"
             " %%0 = reference 0 : %1$s[64, 96]\n"
             " parallel d0 = 0..2 by 1 {\n  parallel d1 = 0..3 by 1 {\n"
             "   %%1 = alloc near : %1$s[32, 32]\n"
             "   %%2 = slice [32*d0, 32*d1] sizes [32, 32] %%0 : %1$s[32, 32]\n   copy %%2, %%1\n"
             "   for d2 = 0..32 by 32 {\n    for d3 = 0..32 by 32 {\n"
             "     %%3 = ref_load [d3, d2] %%1 : %1$s\n"
             "     store 1 [2048*d1 + 32*d0 + 64*d2 + d3] %%3\n    }\n   }\n  }\n }\n}\n",
             types[i]);
    compare(text, i ? NULL : "xor.b64");
  }
}

// ---- products ----------------------------------------------------------------------------------

typedef struct product {
  const char *type, *sums;
  int rows, columns, steps, part, stages;
  bool is_transposed;  // the right operand has rows of steps
} product_t;

static void product_text(const product_t* p, char* text) {
  char right[32], tile[32], start[48];
  snprintf(right, sizeof right, p->is_transposed ? "%d, %d" : "%2$d, %1$d", 2 * p->columns,
           p->steps);
  snprintf(tile, sizeof tile, p->is_transposed ? "%d, %d" : "%2$d, %1$d", p->columns, p->part);
  snprintf(start, sizeof start, p->is_transposed ? "%d*d0, %d*d3" : "%2$d*d3, %1$d*d0", p->columns,
           p->part);
  snprintf(text, TEXT_BYTES,
           "kernel product version 3 {\n buffer %1$s[%3$d, %5$d]\n buffer %1$s[%9$s]\n"
           " buffer %2$s[%3$d, %12$d] out\n %%0 = reference 0 : %1$s[%3$d, %5$d]\n"
           " %%1 = reference 1 : %1$s[%9$s]\n %%2 = reference 2 : %2$s[%3$d, %12$d]\n"
           " %%3 = constant 0x00000000 : %2$s\n parallel d0 = 0..2 by 1 {\n"
           "  %%4 = alloc accumulator : %2$s[%3$d, %4$d]\n  %%5 = alloc near : %1$s[%3$d, %6$d]\n"
           "  %%6 = alloc near : %1$s[%10$s]\n"
           "  for d1 = 0..%3$d by %3$d {\n   for d2 = 0..%4$d by %4$d {\n"
           "    ref_store [d1, d2] %%4, %%3\n   }\n  }\n"
           "  for d3 = 0..%7$d by 1 stages %8$d {\n"
           "   %%7 = slice [0, %6$d*d3] sizes [%3$d, %6$d] %%0 : %1$s[%3$d, %6$d]\n"
           "   %%8 = slice [%11$s] sizes [%10$s] %%1 : %1$s[%10$s]\n"
           "   copy %%7, %%5\n   copy %%8, %%6\n   mma [1] x [%13$d] %%4, %%5, %%6\n  }\n"
           "  %%9 = slice [0, %4$d*d0] sizes [%3$d, %4$d] %%2 : %2$s[%3$d, %4$d]\n"
           "  copy %%4, %%9\n }\n}\n",
           p->type, p->sums, p->rows, p->columns, p->steps, p->part, p->steps / p->part, p->stages,
           right, tile, start, 2 * p->columns, p->is_transposed);
}

static const product_t kProducts[] = {
    {"f16", "f32", 32, 32, 96, 32, 3, false},
    {"f16", "f32", 16, 8, 32, 16, 1, true},
    {"bf16", "f32", 64, 24, 128, 64, 2, false},
    {"bf16", "f32", 32, 64, 128, 32, 4, true},
    {"s8", "s32", 32, 32, 192, 64, 2, true},
    {"u8", "s32", 16, 16, 64, 32, 1, true},
    {"f8e4m3fn", "f32", 32, 32, 128, 64, 2, true},
    {"f8e5m2", "f32", 32, 16, 64, 32, 2, true},
    // Without an atom: in shared memory, by single products.
    {"f32", "f32", 16, 24, 80, 16, 2, false},
    {"s8", "s32", 16, 16, 32, 32, 1, false},
    {"bf16", "f32", 20, 12, 32, 16, 2, false},
};

static void test_products(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kProducts / sizeof *kProducts; ++i) {
    char text[TEXT_BYTES];
    product_text(&kProducts[i], text);
    if (i == 0) compare(text, "mma.sync");
    const bool is_bulk = i == 8;
    const outcome_t outcome = run_both(text, "sm_120a", NULL,
                                       i < 8     ? "mma.sync"
                                       : is_bulk ? "cp.async.bulk.tensor"
                                                 : NULL);
    assert_int_equal(outcome.races, 0);
    assert_int_equal(outcome.different, 0);
  }
}

// Four warps multiply together where the target has that.
static const product_t kGroupProducts[] = {{"f16", "f32", 64, 32, 64, 64, 1, true},
                                           {"bf16", "f32", 64, 24, 128, 64, 2, true},
                                           {"f8e5m2", "f32", 64, 8, 128, 128, 1, true},
                                           {"f8e4m3fn", "f32", 128, 16, 256, 128, 2, true},
                                           {"bf16", "f32", 64, 8, 448, 64, 3, true}};

static void test_warp_groups(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kGroupProducts / sizeof *kGroupProducts; ++i) {
    char text[TEXT_BYTES];
    product_text(&kGroupProducts[i], text);
    const bool is_bulk = kGroupProducts[i].stages > 1;
    const outcome_t outcome =
        run_both(text, "sm_90a", NULL, is_bulk ? "cp.async.bulk.tensor" : "wgmma");
    assert_int_equal(outcome.races, 0);
    assert_int_equal(outcome.different, 0);
    assert_int_equal(run_both(text, "sm_120a", NULL, "mma.sync.aligned.m16n8").different, 0);
  }
}

// Sums in tensor memory, with copies by threads and by boxes, of 128 and of 256 rows.
static const product_t kTensorProducts[] = {{"bf16", "f32", 128, 16, 64, 64, 1, true},
                                            {"f16", "f32", 128, 48, 192, 64, 3, true},
                                            {"f8e5m2", "f32", 128, 32, 256, 128, 2, true},
                                            {"f8e4m3fn", "f32", 256, 16, 128, 128, 1, true}};

static void test_tensor_memory(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kTensorProducts / sizeof *kTensorProducts; ++i) {
    char text[TEXT_BYTES];
    product_text(&kTensorProducts[i], text);
    const outcome_t outcome = run_both(text, "sm_100a", NULL, "tcgen05.mma");
    assert_int_equal(outcome.races, 0);
    assert_int_equal(outcome.different, 0);
    assert_int_equal(run_both(text, "sm_100", NULL, "mma.sync.aligned.m16n8").different, 0);
  }
}

// A tile of 512 x 256 sums.
static void test_too_much_tensor_memory(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF out = {0};
  hlo_ptx_target_t target;
  char text[TEXT_BYTES];
  product_t product = {"bf16", "f32", 512, 256, 64, 64, 1, true};
  product_text(&product, text);
  hlo_test_check(hlo_ptx_target_parse("sm_100a", &target));
  hlo_status_t status = hlo_ptx_emit_tile(hlo_test_parsed(&arena, text), &target, NULL, &out);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_string_equal(hlo_status_message(status),
                      "product needs 1024 columns of tensor memory, 512 are available");
  hlo_status_release(status);
  product.rows = 256;
  product_text(&product, text);
  hlo_test_check(hlo_ptx_emit_tile(hlo_test_parsed(&arena, text), &target, NULL, &out));
  assert_non_null(strstr(hlo_strbuf_text(&out), "tcgen05.alloc"));
}

static void test_tf32(void** state) {
  (void)state;
  const hlo_ptx_options_t options = {.allows_tf32 = true};
  const product_t product = {"f32", "f32", 32, 32, 64, 16, 2, true};
  char text[TEXT_BYTES];
  product_text(&product, text);
  const outcome_t outcome = run_both(text, "sm_80", &options, "tf32");
  assert_int_equal(outcome.races, 0);
  assert_int_equal(outcome.different, 0);
}

// ---- attention ---------------------------------------------------------------------------------

// Scores in registers and in shared memory, probabilities as an operand, sums that each iteration
// scales anew.
static const char kAttention[] =
    "kernel attention version 3 {\n buffer f16[32, 16]\n buffer f16[48, 16]\n"
    " buffer f16[48, 16]\n buffer f32[32, 16] out\n %0 = reference 0 : f16[32, 16]\n"
    " %1 = reference 1 : f16[48, 16]\n %2 = reference 2 : f16[48, 16]\n"
    " %3 = constant 0x00000000 : f32\n %4 = constant 0xff800000 : f32\n"
    " %5 = constant 0x3e000000 : f32\n parallel d0 = 0..2 by 1 {\n"
    "  %6 = alloc accumulator : f32[16, 16]\n  %7 = alloc accumulator : f32[16, 16]\n"
    "  %8 = alloc near : f16[16, 16]\n  %9 = alloc near : f16[16, 16]\n"
    "  %10 = alloc near : f16[16, 16]\n  %11 = alloc near : f16[16, 16]\n"
    "  %12 = alloc near : f32[16, 17]\n  %13 = alloc near : f32[16]\n"
    "  %14 = alloc near : f32[16]\n  %15 = alloc near : f32[16]\n"
    "  %16 = slice [16*d0, 0] sizes [16, 16] %0 : f16[16, 16]\n  copy %16, %8\n"
    "  for d1 = 0..16 by 16 {\n   ref_store [d1] %13, %4\n   ref_store [d1] %14, %3\n  }\n"
    "  for d2 = 0..16 by 16 {\n   for d3 = 0..16 by 16 {\n    ref_store [d2, d3] %6, %3\n   }\n"
    "  }\n  for d4 = 0..3 by 1 stages 2 {\n"
    "   %17 = slice [16*d4, 0] sizes [16, 16] %1 : f16[16, 16]\n"
    "   %18 = slice [16*d4, 0] sizes [16, 16] %2 : f16[16, 16]\n   copy %17, %9\n"
    "   copy %18, %10\n   for d5 = 0..16 by 16 {\n    for d6 = 0..16 by 16 {\n"
    "     ref_store [d5, d6] %7, %3\n    }\n   }\n   mma [1] x [1] %7, %8, %9\n"
    "   for d7 = 0..16 by 16 {\n    for d8 = 0..16 by 16 {\n"
    "     %19 = ref_load [d7, d8] %7 : f32\n     %20 = map multiply %19, %5 : f32\n"
    "     ref_store [d7, d8] %12, %20\n    }\n   }\n   for d9 = 0..16 by 16 {\n"
    "    %22 = reduce maximum %4 over d10 = 0..16 by 1 : f32 {\n"
    "     %21 = ref_load [d9, d10] %12 : f32\n     yield %21\n    }\n"
    "    %23 = ref_load [d9] %13 : f32\n    %24 = map maximum %22, %23 : f32\n"
    "    %25 = map subtract %23, %24 : f32\n    %26 = map exponential %25 : f32\n"
    "    %30 = reduce add over d11 = 0..16 by 1 : f32 {\n"
    "     %27 = ref_load [d9, d11] %12 : f32\n     %28 = map subtract %27, %24 : f32\n"
    "     %29 = map exponential %28 : f32\n     yield %29\n    }\n"
    "    %31 = ref_load [d9] %14 : f32\n    %32 = map multiply %31, %26 : f32\n"
    "    %33 = map add %32, %30 : f32\n    ref_store [d9] %13, %24\n    ref_store [d9] %14, %33\n"
    "    ref_store [d9] %15, %26\n   }\n   for d12 = 0..16 by 16 {\n    for d13 = 0..16 by 16 {\n"
    "     %34 = ref_load [d12, d13] %12 : f32\n     %35 = ref_load [d12] %13 : f32\n"
    "     %36 = map subtract %34, %35 : f32\n     %37 = map exponential %36 : f32\n"
    "     %38 = map convert %37 : f16\n     ref_store [d12, d13] %11, %38\n    }\n   }\n"
    "   for d14 = 0..16 by 16 {\n    for d15 = 0..16 by 16 {\n"
    "     %39 = ref_load [d14, d15] %6 : f32\n     %40 = ref_load [d14] %15 : f32\n"
    "     %41 = map multiply %39, %40 : f32\n     ref_store [d14, d15] %6, %41\n    }\n   }\n"
    "   mma [1] x [0] %6, %11, %10\n  }\n  for d16 = 0..16 by 16 {\n   for d17 = 0..16 by 16 {\n"
    "    %42 = ref_load [d16, d17] %6 : f32\n    %43 = ref_load [d16] %14 : f32\n"
    "    %44 = map divide %42, %43 : f32\n    store 3 [256*d0 + 16*d16 + d17] %44\n   }\n  }\n"
    " }\n}\n";

static void test_attention(void** state) {
  (void)state;
  static const char* const targets[] = {"sm_75", "sm_80", "sm_90a", "sm_120a"};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    const outcome_t outcome = run_both(kAttention, targets[i], NULL, i ? "mma.sync" : NULL);
    assert_int_equal(outcome.races, 0);
    if (!(outcome.error < 1e-5)) fail_msg("%s: error %g", targets[i], outcome.error);
  }
}

// ---- scaled products ---------------------------------------------------------------------------

typedef struct scaled {
  const char *left, *right, *scale;
  int rows, columns, steps, part, stages, block;
} scaled_t;

static void scaled_text(const scaled_t* p, char* text) {
  char head[1024];
  snprintf(head, sizeof head,
           "kernel scaled version 4 {\n buffer %1$s[%4$d, %6$d]\n buffer %2$s[%5$d, %6$d]\n"
           " buffer %3$s[%4$d, %7$d]\n buffer %3$s[%5$d, %7$d]\n buffer f32[%4$d, %5$d] out\n"
           " %%0 = reference 0 : %1$s[%4$d, %6$d]\n %%1 = reference 1 : %2$s[%5$d, %6$d]\n"
           " %%2 = reference 2 : %3$s[%4$d, %7$d]\n %%3 = reference 3 : %3$s[%5$d, %7$d]\n"
           " %%4 = reference 4 : f32[%4$d, %5$d]\n %%5 = constant 0x00000000 : f32\n",
           p->left, p->right, p->scale, p->rows, 2 * p->columns, p->steps, p->steps / p->block);
  snprintf(text, TEXT_BYTES,
           "%10$s parallel d0 = 0..2 by 1 {\n"
           "  %%6 = alloc accumulator : f32[%4$d, %5$d]\n  %%7 = alloc near : %1$s[%4$d, %6$d]\n"
           "  %%8 = alloc near : %2$s[%5$d, %6$d]\n  %%9 = alloc near : %3$s[%4$d, %7$d]\n"
           "  %%10 = alloc near : %3$s[%5$d, %7$d]\n"
           "  for d1 = 0..%4$d by %4$d {\n   for d2 = 0..%5$d by %5$d {\n"
           "    ref_store [d1, d2] %%6, %%5\n   }\n  }\n"
           "  for d3 = 0..%8$d by 1 stages %9$d {\n"
           "   %%11 = slice [0, %6$d*d3] sizes [%4$d, %6$d] %%0 : %1$s[%4$d, %6$d]\n"
           "   %%12 = slice [%5$d*d0, %6$d*d3] sizes [%5$d, %6$d] %%1 : %2$s[%5$d, %6$d]\n"
           "   %%13 = slice [0, %7$d*d3] sizes [%4$d, %7$d] %%2 : %3$s[%4$d, %7$d]\n"
           "   %%14 = slice [%5$d*d0, %7$d*d3] sizes [%5$d, %7$d] %%3 : %3$s[%5$d, %7$d]\n"
           "   copy %%11, %%7\n   copy %%12, %%8\n   copy %%13, %%9\n   copy %%14, %%10\n"
           "   scaled_mma [1] x [1] %%6, %%7, %%8, %%9, %%10\n  }\n"
           "  %%15 = slice [0, %5$d*d0] sizes [%4$d, %5$d] %%4 : f32[%4$d, %5$d]\n"
           "  copy %%6, %%15\n }\n}\n",
           p->left, p->right, p->scale, p->rows, p->columns, p->part, p->part / p->block,
           p->steps / p->part, p->stages, head);
}

static const scaled_t kScaled[] = {
    {"f8e4m3fn", "f8e4m3fn", "f8e8m0fnu", 32, 32, 512, 128, 3, 32},
    {"f8e4m3fn", "f8e5m2", "f8e8m0fnu", 16, 24, 128, 64, 2, 32},
    {"f8e5m2", "f8e4m3fn", "f8e8m0fnu", 64, 16, 64, 32, 1, 32},
    {"f8e4m3fn", "f8e4m3fn", "f8e8m0fnu", 16, 8, 512, 256, 2, 32},
    {"f4e2m1fn", "f4e2m1fn", "f8e8m0fnu", 32, 32, 512, 256, 2, 32},
    {"f4e2m1fn", "f4e2m1fn", "f8e8m0fnu", 16, 24, 128, 64, 1, 32},
    {"f4e2m1fn", "f4e2m1fn", "f8e4m3fn", 32, 16, 512, 128, 3, 16},
    {"f4e2m1fn", "f4e2m1fn", "f8e4m3fn", 64, 8, 64, 64, 1, 16},
};

static void test_scaled_products(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kScaled / sizeof *kScaled; ++i) {
    char text[TEXT_BYTES];
    scaled_text(&kScaled[i], text);
    const bool is_packed = strncmp(kScaled[i].left, "f4", 2) == 0;
    const outcome_t outcome = run_both(text, "sm_120a", NULL,
                                       !is_packed               ? "kind::mxf8f6f4.block_scale"
                                       : kScaled[i].block == 32 ? "kind::mxf4.block_scale"
                                                                : "kind::mxf4nvf4.block_scale");
    assert_int_equal(outcome.races, 0);
    assert_int_equal(outcome.different, 0);
  }
}

static void expect_no_scaled(const scaled_t* product, const char* target_name, const char* part) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF out = {0};
  hlo_ptx_target_t target;
  char text[TEXT_BYTES];
  scaled_text(product, text);
  hlo_test_check(hlo_ptx_target_parse(target_name, &target));
  hlo_status_t status = hlo_ptx_emit_tile(hlo_test_parsed(&arena, text), &target, NULL, &out);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

static void expect_no_packed(const char* body, const char* part) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF out = {0};
  hlo_ptx_target_t target;
  char text[TEXT_BYTES];
  snprintf(text, sizeof text,
           "kernel packed version 4 {\n buffer f4e2m1fn[8, 64]\n buffer f4e2m1fn[8, 64] out\n"
           " %%0 = reference 0 : f4e2m1fn[8, 64]\n %%1 = reference 1 : f4e2m1fn[8, 64]\n"
           " parallel d0 = 0..2 by 1 {\n  %%2 = alloc near : f4e2m1fn[8, 32]\n%s }\n}\n",
           body);
  hlo_test_check(hlo_ptx_target_parse("sm_80", &target));
  hlo_status_t status = hlo_ptx_emit_tile(hlo_test_parsed(&arena, text), &target, NULL, &out);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

// Packed elements are copied by bytes; what would divide a byte is refused.
static void test_packed_elements(void** state) {
  (void)state;
  static const char copies[] =
      "kernel packed version 4 {\n buffer f4e2m1fn[8, 64]\n buffer f4e2m1fn[8, 64] out\n"
      " %0 = reference 0 : f4e2m1fn[8, 64]\n %1 = reference 1 : f4e2m1fn[8, 64]\n"
      " parallel d0 = 0..2 by 1 {\n  %2 = alloc near : f4e2m1fn[8, 32]\n"
      "  %3 = slice [0, 32*d0] sizes [8, 32] %0 : f4e2m1fn[8, 32]\n  copy %3, %2\n"
      "  %4 = slice [0, 32 + -32*d0] sizes [8, 32] %1 : f4e2m1fn[8, 32]\n  copy %2, %4\n }\n}\n";
  compare(copies, "cp.async");
  expect_no_packed(
      "  %3 = slice [0, 1 + 30*d0] sizes [8, 32] %0 : f4e2m1fn[8, 32]\n  copy %3, %2\n",
      "do not begin and end between bytes");
  expect_no_packed("  %3 = slice [d0, 0] sizes [1, 3] %0 : f4e2m1fn[1, 3]\n", "no whole bytes");
  expect_no_packed("  %3 = load 0 [d0] : f4e2m1fn\n  store 1 [d0] %3\n",
                   "single ones are not accessed");
  expect_no_packed("  %3 = ref_load [d0, 0] %2 : f4e2m1fn\n  ref_store [d0, 1] %2, %3\n",
                   "only copies and scaled products");
  expect_no_packed("  %3 = transpose [1, 0] %2 : f4e2m1fn[32, 8]\n", "only slices");
}

// Other types, blocks and targets are refused with what there is.
static void test_refused_scaled_products(void** state) {
  (void)state;
  scaled_t other = kScaled[0];
  expect_no_scaled(&other, "sm_90a", "the target multiplies no scaled operands");
  expect_no_scaled(&other, "sm_120", "the target multiplies no scaled operands");
  other.left = other.right = "f8e5m2";
  expect_no_scaled(&other, "sm_120a",
                   "f8e5m2 by f8e5m2 with f8e8m0fnu of 32; the target multiplies f8e4m3fn by "
                   "f8e4m3fn with f8e8m0fnu of 32; f8e4m3fn by f8e5m2");
  other = kScaled[0];
  other.block = 16;
  expect_no_scaled(&other, "sm_120a", "with f8e8m0fnu of 16; the target");
  other = (scaled_t){"f4e2m1fn", "f4e2m1fn", "f8e4m3fn", 32, 32, 512, 128, 3, 32};
  expect_no_scaled(&other, "sm_120a", "f4e2m1fn by f4e2m1fn with f8e4m3fn of 32; the target");
  other = kScaled[0];
  other.steps = 384;
  other.part = 192;  // rows of 6 scales
  expect_no_scaled(&other, "sm_120a", "or scales of 1, 2 or whole words");
}

// ---- atoms -------------------------------------------------------------------------------------

// Every element is in exactly one slot of one lane of one warp.
static void check_layout(const char* text, int64_t warps, int64_t slots) {
  enum { MOST = 128 * 16 };
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_layout_space_t space;
  const hlo_tile_layout_t* layout;
  uint8_t seen[MOST] = {0};
  hlo_tile_layout_space_init(&space, &arena);
  hlo_test_check(hlo_tile_layout_parse(&space, &text, &layout));
  assert_int_equal(layout->dims[0] * layout->dims[1], 32 * warps * slots);
  for (int64_t i = 0; i < layout->dims[0] * layout->dims[1]; ++i) {
    const int64_t index[] = {i / layout->dims[1], i % layout->dims[1]};
    int64_t at[3] = {0};  // slot, lane, warp
    for (uint32_t m = 0; m < layout->mode_count; ++m) {
      const hlo_layout_mode_t* mode = &layout->modes[m];
      const uint32_t axis = mode->axis == HLO_AXIS_LANE ? 1 : mode->axis == HLO_AXIS_GROUP ? 2 : 0;
      at[axis] += index[mode->dim] / mode->stride % mode->extent * mode->position;
    }
    assert_true(at[0] < slots && at[1] < 32 && at[2] < warps);
    assert_int_equal(seen[(at[2] * 32 + at[1]) * slots + at[0]]++, 0);
  }
}

static void test_atoms(void** state) {
  (void)state;
  static const char* const targets[] = {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"};
  static const uint32_t counts[] = {0, 5, 11, 11, 12};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    hlo_ptx_target_t target;
    hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
    hlo_test_check(hlo_ptx_target_parse(targets[i], &target));
    assert_int_equal(hlo_ptx_atoms(&target, true, atoms), counts[i]);
    for (uint32_t n = 0; n < counts[i]; ++n) {
      const bool is_group = atoms[n].rows >= 64;
      check_layout(atoms[n].sum, is_group ? 4 : 1, atoms[n].rows == 128 ? 16 : 4);
      if (is_group) continue;  // operands are in shared memory
      check_layout(atoms[n].a, 1, atoms[n].depth / 2);
      check_layout(atoms[n].b, 1, atoms[n].depth / 4);
    }
  }
}

// ---- limits ------------------------------------------------------------------------------------

static void test_too_much_shared_memory(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF text = {0};
  hlo_ptx_target_t target;
  const hlo_tile_kernel_t* kernel =
      hlo_test_parsed(&arena,
                      "kernel large version 3 {\n buffer f32[30000]\n buffer f32[30000] out\n"
                      " %0 = reference 0 : f32[30000]\n %1 = reference 1 : f32[30000]\n"
                      " parallel d0 = 0..1 by 1 {\n  %2 = alloc near : f32[30000]\n  copy %0, %2\n"
                      "  copy %2, %1\n }\n}\n");
  hlo_test_check(hlo_ptx_target_parse("sm_80", &target));
  hlo_test_check(hlo_ptx_emit_tile(kernel, &target, NULL, &text));
  assert_non_null(strstr(hlo_strbuf_text(&text), ".extern .shared"));
  hlo_test_check(hlo_ptx_target_parse("sm_120a", &target));
  hlo_status_t status = hlo_ptx_emit_tile(kernel, &target, NULL, &text);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(hlo_status_message(status), "120064"));
  assert_non_null(strstr(hlo_status_message(status), "101376"));
  hlo_status_release(status);
}

static void assemble(const char* kernel_text, const char* target_name) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF text = {0};
  hlo_ptx_target_t target;
  hlo_test_check(hlo_ptx_target_parse(target_name, &target));
  hlo_test_check(hlo_ptx_emit_tile(hlo_test_parsed(&arena, kernel_text), &target, NULL, &text));
  ptx_assemble(&text, target_name);
}

static void test_assembled(void** state) {
  (void)state;
  static const char* const targets[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};
  ptx_skip_without_assembler();
  char text[TEXT_BYTES];
  for (size_t i = 0; i < sizeof kProducts / sizeof *kProducts; ++i) {
    product_text(&kProducts[i], text);
    assemble(text, targets[i % 4]);
  }
  for (size_t i = 0; i < sizeof kGroupProducts / sizeof *kGroupProducts; ++i) {
    product_text(&kGroupProducts[i], text);
    assemble(text, "sm_90a");
  }
  for (size_t i = 0; i < sizeof kTensorProducts / sizeof *kTensorProducts; ++i) {
    product_text(&kTensorProducts[i], text);
    assemble(text, i % 2 ? "sm_103a" : "sm_100a");
  }
  for (size_t i = 0; i < sizeof kScaled / sizeof *kScaled; ++i) {
    scaled_text(&kScaled[i], text);
    assemble(text, i ? "sm_120a" : "sm_120f");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boxes),
      cmocka_unit_test(test_shared_bytes),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_scaled_products),
      cmocka_unit_test(test_refused_scaled_products),
      cmocka_unit_test(test_packed_elements),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_waits_are_needed),
      cmocka_unit_test(test_transposes),
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_warp_groups),
      cmocka_unit_test(test_tensor_memory),
      cmocka_unit_test(test_too_much_tensor_memory),
      cmocka_unit_test(test_tf32),
      cmocka_unit_test(test_atoms),
      cmocka_unit_test(test_too_much_shared_memory),
      cmocka_unit_test(test_assembled),
  };
  return cmocka_run_group_tests_name("codegen/ptx/group", tests, NULL, NULL);
}
