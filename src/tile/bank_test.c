// SPDX-License-Identifier: Apache-2.0
// Bank conflicts by ranks equal those of simulated banks; the swizzles of transposes and of rows
// for matrix instructions have none.
#include "tile/bank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"

enum { LANES = 32 };

// Serves the lanes cycle by cycle: each bank gives one word to all lanes that want it.
static uint32_t simulate(const hlo_tile_lane_bits_t* lanes, uint32_t bytes, hlo_swizzle_t swizzle,
                         uint32_t lane_count) {
  bool is_served[LANES] = {false};
  uint32_t cycles = 0, left = lane_count;
  uint64_t words[LANES];
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    uint64_t element = 0;
    for (uint32_t i = 0; i < lanes->count; ++i) {
      element += (lane >> i & 1) * (uint64_t)lanes->strides[i];
    }
    uint64_t address = element * bytes;
    for (uint32_t i = 0; i < swizzle.bits; ++i) {
      address ^= ((element * bytes >> (swizzle.base + swizzle.shift + i)) & 1)
                 << (swizzle.base + i);
    }
    words[lane] = address / HLO_TILE_BANK_BYTES;
  }
  for (; left; ++cycles) {
    int64_t gives[HLO_TILE_BANKS];
    memset(gives, 0xff, sizeof gives);
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      const uint64_t bank = words[lane] % HLO_TILE_BANKS;
      if (is_served[lane]) continue;
      if (gives[bank] < 0) gives[bank] = (int64_t)words[lane];
      if (gives[bank] != (int64_t)words[lane]) continue;
      is_served[lane] = true;
      --left;
    }
  }
  return cycles;
}

static void test_ranks_equal_simulation(void** state) {
  (void)state;
  uint64_t random = 1;
  uint32_t free_count = 0, full_count = 0;
  for (uint32_t n = 0; n < 4000; ++n) {
    hlo_tile_lane_bits_t lanes = {.count = HLO_TILE_LANE_BITS};
    for (uint32_t i = 0; i < lanes.count; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const uint64_t step = random >> 33;
      lanes.strides[i] = n % 4 ? INT64_C(1) << step % 12 : (int64_t)(step % 70);
    }
    random = random * 6364136223846793005u + 1442695040888963407u;
    hlo_swizzle_t swizzle = {(uint8_t)(random >> 40) % 6, 2 + (uint8_t)(random >> 50) % 3,
                             3 + (uint8_t)(random >> 57) % 4};
    if (swizzle.shift < swizzle.bits) swizzle.shift = swizzle.bits;
    const uint32_t bytes = 1u << (random >> 36) % 3;
    const uint32_t want = simulate(&lanes, bytes, swizzle, LANES);
    assert_int_equal(hlo_tile_bank_conflicts(&lanes, bytes, swizzle), want);
    free_count += want == 1;
    full_count += want >= 8;
  }
  assert_true(free_count > 100 && full_count > 100);
}

// A square of f32 whose rows are written and whose columns are read.
static void test_transposes(void** state) {
  (void)state;
  const hlo_swizzle_t none = {0, 0, 0}, words = {5, 2, 5};
  const hlo_tile_lane_bits_t rows = {5, {1, 2, 4, 8, 16}}, columns = {5, {32, 64, 128, 256, 512}};
  assert_int_equal(hlo_tile_bank_conflicts(&rows, 4, none), 1);
  assert_int_equal(hlo_tile_bank_conflicts(&columns, 4, none), 32);
  assert_int_equal(hlo_tile_bank_conflicts(&rows, 4, words), 1);
  assert_int_equal(hlo_tile_bank_conflicts(&columns, 4, words), 1);
}

// Eight lanes that get 16 bytes of eight rows each, with the swizzles of 32, 64 and 128 bytes.
static void test_rows_of_squares(void** state) {
  (void)state;
  static const struct {
    int64_t row_bytes;
    uint32_t plain;
    hlo_swizzle_t swizzle;
  } kRows[] = {{32, 2, {1, 4, 3}},
               {64, 4, {2, 4, 3}},
               {128, 8, {3, 4, 3}},
               {256, 8, {3, 4, 4}},
               {512, 8, {3, 4, 5}}};
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    const int64_t row = kRows[i].row_bytes / 16;
    const hlo_tile_lane_bits_t lanes = {3, {row, 2 * row, 4 * row}};
    assert_int_equal(hlo_tile_bank_conflicts(&lanes, 16, (hlo_swizzle_t){0, 0, 0}), kRows[i].plain);
    assert_int_equal(hlo_tile_bank_conflicts(&lanes, 16, kRows[i].swizzle), 1);
    // A bijection within its period.
    uint8_t seen[4096] = {0};
    for (uint64_t at = 0; at < sizeof seen; ++at) {
      ++seen[hlo_tile_swizzled_address(at, kRows[i].swizzle)];
    }
    for (size_t at = 0; at < sizeof seen; ++at) assert_int_equal(seen[at], 1);
  }
}

static void test_layouts(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_layout_space_t space;
  hlo_tile_layout_space_init(&space, &arena);
  const char* memory_text = "<32x32 | 0:32/1 address 32, 1:32/1 address 1>";
  const char* text = "<32x32 | 0:32/1 lane 1, 1:32/1 slot 1>";
  const hlo_tile_layout_t *memory, *columns;
  hlo_tile_lane_bits_t lanes;
  hlo_test_check(hlo_tile_layout_parse(&space, &memory_text, &memory));
  hlo_test_check(hlo_tile_layout_parse(&space, &text, &columns));
  assert_true(hlo_tile_lane_bits_of(memory, columns, &lanes));
  assert_int_equal(hlo_tile_bank_conflicts(&lanes, 4, (hlo_swizzle_t){0, 0, 0}), 32);
  assert_int_equal(hlo_tile_bank_conflicts(&lanes, 4, (hlo_swizzle_t){5, 2, 5}), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranks_equal_simulation),
      cmocka_unit_test(test_transposes),
      cmocka_unit_test(test_rows_of_squares),
      cmocka_unit_test(test_layouts),
  };
  return cmocka_run_group_tests_name("tile/bank", tests, NULL, NULL);
}
