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

static void fill(const hlo_tile_buffer_t* buffer, uint32_t seed, uint8_t* elements) {
  const size_t size = hlo_dtype_size_bytes(buffer->dtype);
  for (int64_t i = 0; i < buffer->element_count; ++i) {
    const int32_t value = (int32_t)((((uint32_t)i + seed) * 2654435761u >> 16) % 7);
    const bool is_unsigned = hlo_dtype_is_unsigned(buffer->dtype);
    hlo_dtype_store_double(buffer->dtype, elements + (size_t)i * size,
                           (double)(is_unsigned ? value : value - 3));
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

typedef struct outcome {
  uint32_t races;
  int64_t different;  // elements
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
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    const size_t bytes = (size_t)buffer->element_count * hlo_dtype_size_bytes(buffer->dtype);
    uint8_t* own = hlo_arena_alloc_zeroed(&arena, bytes + 64);
    own += 64 - (uintptr_t)own % 64;
    if (!buffer->is_output) fill(buffer, i, own);
    expected[i] = hlo_arena_alloc_zeroed(&arena, bytes);
    params[i] = (uintptr_t)own;
    buffers[i] = buffer->is_output ? expected[i] : own;
  }
  hlo_test_check(hlo_tile_kernel_run(kernel, &MEANING, buffers));
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
    for (int64_t n = 0; n < buffer->element_count; ++n) {
      const uint8_t* result = (const uint8_t*)(uintptr_t)params[i];
      outcome.different +=
          memcmp(result + (size_t)n * size, expected[i] + (size_t)n * size, size) != 0;
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

// Without the waits that are inserted, accesses are without order.
static void test_waits_are_needed(void** state) {
  (void)state;
  const hlo_ptx_options_t options = {.is_unordered = true};
  const char* const kernels[] = {kNormalised, kRounds};
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

// ---- atoms -------------------------------------------------------------------------------------

// Every element is in exactly one slot of one lane of one warp.
static void check_layout(const char* text, int64_t warps, int64_t slots) {
  enum { MOST = 16 * 64 };
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
  static const char* const targets[] = {"sm_75", "sm_80", "sm_90a", "sm_120a"};
  static const uint32_t counts[] = {0, 5, 11, 7};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    hlo_ptx_target_t target;
    hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
    hlo_test_check(hlo_ptx_target_parse(targets[i], &target));
    assert_int_equal(hlo_ptx_atoms(&target, true, atoms), counts[i]);
    for (uint32_t n = 0; n < counts[i]; ++n) {
      const bool is_group = atoms[n].rows == 64;
      check_layout(atoms[n].sum, is_group ? 4 : 1, 4);
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

static void assemble(const product_t* product, const char* target_name) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF text = {0};
  hlo_ptx_target_t target;
  char kernel_text[TEXT_BYTES];
  product_text(product, kernel_text);
  hlo_test_check(hlo_ptx_target_parse(target_name, &target));
  hlo_test_check(hlo_ptx_emit_tile(hlo_test_parsed(&arena, kernel_text), &target, NULL, &text));
  ptx_assemble(&text, target_name);
}

static void test_assembled(void** state) {
  (void)state;
  static const char* const targets[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};
  ptx_skip_without_assembler();
  for (size_t i = 0; i < sizeof kProducts / sizeof *kProducts; ++i) {
    assemble(&kProducts[i], targets[i % 4]);
  }
  for (size_t i = 0; i < sizeof kGroupProducts / sizeof *kGroupProducts; ++i) {
    assemble(&kGroupProducts[i], "sm_90a");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boxes),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_waits_are_needed),
      cmocka_unit_test(test_transposes),
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_warp_groups),
      cmocka_unit_test(test_tf32),
      cmocka_unit_test(test_atoms),
      cmocka_unit_test(test_too_much_shared_memory),
      cmocka_unit_test(test_assembled),
  };
  return cmocka_run_group_tests_name("codegen/ptx/group", tests, NULL, NULL);
}
