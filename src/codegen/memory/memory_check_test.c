// SPDX-License-Identifier: Apache-2.0
// Tests of checked temporaries: a write past the end of a block is found at the step that did it;
// free
// blocks hold no numbers; branches that are not taken raise no false alarm.
#include "codegen/memory/memory_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 128, SIZE = 60, BLOCKS = 3 };

// Blocks 0 and 1 side by side; block 2 where 0 was, once that is not used any more.
static const hlo_memory_check_block_t kBlocks[BLOCKS] = {
    {0, SIZE, ROOM, 1, 4}, {ROOM, SIZE, ROOM, 2, 9}, {0, SIZE + 4, ROOM, 5, 8}};
static const hlo_memory_check_range_t kStays[] = {{0, 1}, {1, 2}, {2, 5}, {2, 7}};
static const hlo_memory_check_t kWatch = {.block_count = BLOCKS,
                                          .live_range_count = 4,
                                          .blocks = kBlocks,
                                          .live_ranges = kStays,
                                          .filled_bytes = ROOM * 2};

typedef struct arena {
  uint8_t bytes[ROOM * 2 + BLOCKS];
} arena_t;

static const hlo_memory_check_block_t* run(arena_t* arena, hlo_memory_check_event_t event) {
  return hlo_memory_check_run(&kWatch, &event, arena->bytes);
}

static arena_t started(void) {
  arena_t arena;
  assert_int_equal(hlo_memory_check_temporary_bytes(&kWatch), sizeof arena.bytes);
  assert_null(run(&arena, (hlo_memory_check_event_t){HLO_MEMORY_CHECK_START, 0, 0, 0}));
  return arena;
}

// Runs steps at one position; writes a block's own bytes and `extra` bytes after them.
static const hlo_memory_check_block_t* step(arena_t* arena, uint32_t position, int block,
                                            size_t extra) {
  assert_null(
      run(arena, (hlo_memory_check_event_t){HLO_MEMORY_CHECK_BEFORE, position, position, 0}));
  if (block >= 0) {
    memset(arena->bytes + kBlocks[block].offset_bytes, 1, kBlocks[block].size_bytes + extra);
  }
  return run(arena, (hlo_memory_check_event_t){HLO_MEMORY_CHECK_AFTER, position, position, 0});
}

static bool is_nan_at(const arena_t* arena, size_t at) {
  float f32;
  double f64;
  memcpy(&f32, arena->bytes + at, sizeof f32);
  memcpy(&f64, arena->bytes + at, sizeof f64);
  return isnan(f32) && isnan(f64);
}

static void test_right(void** state) {
  (void)state;
  arena_t arena = started();
  assert_true(is_nan_at(&arena, 0) && is_nan_at(&arena, ROOM + SIZE));
  assert_null(step(&arena, 1, 0, 0));
  assert_null(step(&arena, 2, 1, 0));
  assert_null(step(&arena, 4, -1, 0));
  assert_true(is_nan_at(&arena, 0));  // free now
  assert_false(is_nan_at(&arena, ROOM));
  assert_null(step(&arena, 5, 2, 0));
  assert_null(step(&arena, 8, -1, 0));
  assert_null(step(&arena, 9, 1, 0));
  assert_true(is_nan_at(&arena, ROOM));
}

static void test_overrun(void** state) {
  (void)state;
  arena_t arena = started();
  assert_ptr_equal(step(&arena, 1, 0, 1), &kBlocks[0]);
  arena = started();
  assert_null(step(&arena, 1, 0, 0));
  assert_ptr_equal(step(&arena, 2, 1, ROOM - SIZE), &kBlocks[1]);
}

// A branch from 3 to 6: the end of block 0 at 4 and the beginning of 2 at 5 are not met, and at 7
// something else begins to lie in 2.
static void test_branch_not_taken(void** state) {
  (void)state;
  arena_t arena = started();
  assert_null(step(&arena, 1, 0, 0));
  assert_null(run(&arena, (hlo_memory_check_event_t){HLO_MEMORY_CHECK_AFTER, 3, 6, 0}));
  assert_null(step(&arena, 7, 2, 0));
  assert_ptr_equal(step(&arena, 8, 2, 1), &kBlocks[2]);
}

// A loop from 1 to 5: what lies in block 0 from its beginning on is wanted in the next turn.
static void test_loop(void** state) {
  (void)state;
  arena_t arena = started();
  assert_null(step(&arena, 1, 0, 0));
  assert_null(run(&arena, (hlo_memory_check_event_t){HLO_MEMORY_CHECK_AFTER, 4, 4, 1}));
  assert_false(is_nan_at(&arena, 0));
}

static void test_clone(void** state) {
  (void)state;
  hlo_arena_t memory;
  hlo_arena_init(&memory, 0);
  const hlo_memory_check_t* copy = hlo_memory_check_clone(&kWatch, &memory);
  assert_memory_equal(copy->blocks, kBlocks, sizeof kBlocks);
  assert_memory_equal(copy->live_ranges, kStays, sizeof kStays);
  hlo_arena_deinit(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right),
      cmocka_unit_test(test_overrun),
      cmocka_unit_test(test_branch_not_taken),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_clone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
