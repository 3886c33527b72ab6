// SPDX-License-Identifier: Apache-2.0
// The tiles that the machine descriptions of all processor levels give for known products.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/dot/matmul.h"

static hlo_target_t target_of(hlo_cpu_level_t level) {
  hlo_cpu_t cpu = {.level = level,
                   .features = UINT64_MAX,
                   .l1_bytes = 48 << 10,
                   .l2_bytes = 1 << 20,
                   .l3_bytes = 32 << 20};
  hlo_target_t target;
  hlo_target_init(&cpu, &target);
  return target;
}

// A plain matrix product with contiguous rows.
static hlo_matmul_t product_of(const hlo_target_t* target, hlo_dtype_t dtype, int64_t rows,
                               int64_t columns, int64_t depth) {
  hlo_matmul_t m = {.target = target,
                    .dtype = dtype,
                    .element_bytes = (uint32_t)hlo_dtype_size_bytes(dtype),
                    .group = 1,
                    .repeat = 1,
                    .slide = 4,
                    .depth_count = 1,
                    .depth_extent = depth,
                    .rows = {.extent = rows, .from = {depth, 0}},
                    .columns = {.extent = columns, .from = {0, 1}},
                    .depth = {{.extent = depth, .from = {1, columns}}},
                    .operands = {{.dtype = dtype}, {.dtype = dtype}}};
  m.lanes = target->vector_bytes / m.element_bytes;
  return m;
}

static hlo_matmul_accumulators_t tile_of(const hlo_matmul_t* m) {
  hlo_matmul_accumulators_t tile = {0};
  hlo_status_t status = hlo_matmul_choose_accumulators(m, NULL, 0, &tile);
  assert_true(hlo_status_is_ok(status));
  return tile;
}

static void check(hlo_cpu_level_t level, hlo_dtype_t dtype, const int64_t* shape, int64_t width,
                  int64_t height) {
  hlo_target_t target = target_of(level);
  hlo_matmul_t m = product_of(&target, dtype, shape[0], shape[1], shape[2]);
  hlo_matmul_accumulators_t tile = tile_of(&m);
  if (tile.width != width || tile.height != height) {
    fail_msg("level %d, %d x %d x %d: %d x %d", (int)level, (int)shape[0], (int)shape[1],
             (int)shape[2], (int)tile.height, (int)tile.width);
  }
}

// A tile has as many accumulators as fit the registers next to the operands.
static void test_large(void** unused) {
  (void)unused;
  static const int64_t shapes[][3] = {
      {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {1024, 1000, 256}, {128, 128, 64}};
  for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    check(HLO_CPU_LEVEL_AVX512, HLO_DTYPE_F32, shapes[i], 4, 6);
    check(HLO_CPU_LEVEL_AVX2, HLO_DTYPE_F32, shapes[i], 2, 6);
    check(HLO_CPU_LEVEL_SSE2, HLO_DTYPE_F32, shapes[i], 2, 5);
  }
  check(HLO_CPU_LEVEL_AVX512, HLO_DTYPE_F64, shapes[1], 4, 6);
}

// Bytes and bf16 in groups have atoms of their own.
static void test_groups(void** unused) {
  (void)unused;
  hlo_target_t target = target_of(HLO_CPU_LEVEL_AVX512);
  for (uint32_t group = 2; group <= 4; group += 2) {
    hlo_dtype_t accumulators = group == 4 ? HLO_DTYPE_S32 : HLO_DTYPE_F32;
    hlo_matmul_t m = product_of(&target, accumulators, 512, 512, 512 / group);
    m.group = group;
    hlo_matmul_accumulators_t tile = tile_of(&m);
    assert_int_equal(tile.width, 4);
    assert_int_equal(tile.height, 6);
  }
}

// Few rows: B is read once, in the widest tiles that fit, and is not packed.
static void test_few_rows(void** unused) {
  (void)unused;
  static const int64_t expected[][3] = {{1, 16, 1}, {2, 8, 2},   {3, 7, 3},   {5, 4, 5},
                                        {7, 3, 7},  {14, 2, 14}, {28, 2, 14}, {50, 4, 6}};
  for (uint32_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
    const int64_t shape[3] = {expected[i][0], 512, 512};
    check(HLO_CPU_LEVEL_AVX512, HLO_DTYPE_F32, shape, expected[i][1], expected[i][2]);
  }
  static const int64_t one[3] = {1, 512, 512};
  check(HLO_CPU_LEVEL_AVX2, HLO_DTYPE_F32, one, 12, 1);  // one register fewer than exist
}

// A tile fits the registers for all shapes.
static void test_fits(void** unused) {
  (void)unused;
  static const hlo_cpu_level_t levels[] = {HLO_CPU_LEVEL_SSE2, HLO_CPU_LEVEL_AVX2,
                                           HLO_CPU_LEVEL_AVX512};
  static const int64_t extents[] = {1, 2, 3, 5, 8, 11, 16, 31, 100, 1000, 5000};
  enum { COUNT = sizeof extents / sizeof *extents };
  for (uint32_t n = 0; n < 3 * COUNT * COUNT * COUNT; ++n) {
    hlo_target_t target = target_of(levels[n % 3]);
    hlo_dtype_t dtype = n % 2 ? HLO_DTYPE_F32 : HLO_DTYPE_F64;
    uint32_t k = n / 3;
    hlo_matmul_t m = product_of(&target, dtype, extents[k % COUNT], extents[k / COUNT % COUNT],
                                extents[k / COUNT / COUNT]);
    hlo_matmul_accumulators_t tile = tile_of(&m);
    int64_t held = tile.width * tile.height + 1 + (m.rows.extent > 1 ? tile.width : 0);
    assert_true(tile.width >= 1 && tile.height >= 1 && tile.height <= m.rows.extent);
    assert_true(held <= target.tile.vector_count);
    hlo_matmul_accumulators_t again = tile_of(&m);
    assert_memory_equal(&tile, &again, sizeof tile);
  }
}

static void test_explain(void** unused) {
  (void)unused;
  hlo_target_t target = target_of(HLO_CPU_LEVEL_AVX2);
  hlo_matmul_t m = product_of(&target, HLO_DTYPE_F32, 512, 512, 512);
  hlo_strbuf_t text = {0};
  assert_true(hlo_status_is_ok(hlo_matmul_explain_accumulators(&m, &text)));
  assert_non_null(strstr(hlo_strbuf_text(&text), "fits(32 + 32*vectors*rows + 32*vectors <= 512"));
  assert_non_null(strstr(hlo_strbuf_text(&text), "vectors = 2, rows = 6: "));
  hlo_strbuf_deinit(&text);
}

// The machine's description overrides the choice, unless the registers cannot hold its tile.
static void test_tuned(void** unused) {
  (void)unused;
  hlo_target_t target = target_of(HLO_CPU_LEVEL_AVX512);
  hlo_matmul_t m = product_of(&target, HLO_DTYPE_F32, 512, 256, 128);
  hlo_tile_target_read("tile f32.nn 512x256x128: 8 rows of 3 vectors", &target.tile);
  hlo_matmul_accumulators_t tile = tile_of(&m);
  assert_int_equal(tile.width, 3);
  assert_int_equal(tile.height, 8);
  static const char* const wrong[] = {"16 rows of 4", "7 rows of 17", "600 rows of 1",
                                      "9223372036854775807 rows of 9223372036854775807"};
  for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    char line[128];
    snprintf(line, sizeof line, "tile f32.nn 512x256x128: %s vectors", wrong[i]);
    hlo_tile_target_read(line, &target.tile);
    tile = tile_of(&m);
    assert_int_equal(tile.width, 4);
    assert_int_equal(tile.height, 6);
  }
}

// Lists each tile once, the fastest first, in the format of descriptions.
static void test_ranking(void** unused) {
  (void)unused;
  hlo_target_t target = target_of(HLO_CPU_LEVEL_AVX2);
  hlo_matmul_t m = product_of(&target, HLO_DTYPE_F32, 40, 24, 64);
  hlo_strbuf_t text = {0};
  assert_true(hlo_status_is_ok(hlo_matmul_print_tiles(&m, &text)));
  double before = 0;
  uint32_t count = 0;
  for (const char* line = hlo_strbuf_text(&text); *line; line = strchr(line, '\n') + 1) {
    int height, width;
    double ns;
    assert_int_equal(
        sscanf(line, "tile f32.nn 40x24x64: %d rows of %d vectors, %lf ns", &height, &width, &ns),
        3);
    assert_true(ns >= before && width <= 3 && width * height + width + 1 <= 16);
    before = ns;
    ++count;
  }
  // Heights of one vector of columns: 14, 10, 8, 7, 6 ... 1; of two: 6 ... 1; of three: 4 ... 1.
  assert_int_equal(count, 10 + 6 + 4);
  hlo_strbuf_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_large),    cmocka_unit_test(test_groups),
      cmocka_unit_test(test_few_rows), cmocka_unit_test(test_fits),
      cmocka_unit_test(test_explain),  cmocka_unit_test(test_tuned),
      cmocka_unit_test(test_ranking),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
