// SPDX-License-Identifier: Apache-2.0
// Tests of device memory: classes, reuse by best fit, the retention limit, exhaustion, threads.
#include "base/heap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/os.h"

enum { MIB = 1 << 20 };

static hlo_heap_t* make_heap(uint64_t keep_bytes, uint64_t limit_bytes) {
  hlo_heap_options_t options = {keep_bytes, limit_bytes};
  hlo_heap_t* heap = NULL;
  assert_true(hlo_status_is_ok(hlo_heap_create(&options, &heap)));
  return heap;
}

static hlo_block_t acquire(hlo_heap_t* heap, size_t size_bytes) {
  hlo_block_t block = {0};
  assert_true(hlo_status_is_ok(hlo_block_acquire(heap, size_bytes, &block)));
  assert_int_equal(block.size_bytes, size_bytes);
  assert_int_equal((uintptr_t)block.data % HLO_BLOCK_ALIGNMENT, 0);
  return block;
}

static bool acquire_fails(hlo_heap_t* heap, size_t size_bytes) {
  hlo_block_t block = {0};
  hlo_status_t status = hlo_block_acquire(heap, size_bytes, &block);
  bool failed = hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED && !block.data;
  hlo_status_release(status);
  return failed;
}

static hlo_heap_stats_t stats_of(hlo_heap_t* heap) {
  hlo_heap_stats_t stats;
  hlo_heap_get_stats(heap, &stats);
  return stats;
}

// Every requested byte can be written, and at most a quarter (small) or a sixteenth is added.
static void blocks_hold_what_was_asked_for(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(0, 0);
  for (size_t base = 1; base <= 64 * MIB; base *= 2) {
    size_t sizes[] = {base - 1, base, base + 1, base + base / 3, base + base / 2 + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      hlo_block_t block = acquire(heap, sizes[i]);
      uint64_t reserved = stats_of(heap).reserved_bytes;
      assert_true(reserved >= sizes[i]);
      uint64_t spare = sizes[i] >= MIB ? sizes[i] / 16 : sizes[i] / 4;
      assert_true(sizes[i] < 64 || reserved <= sizes[i] + spare + 1);
      if (sizes[i]) {
        memset(block.data, 1, sizes[i] < MIB ? sizes[i] : 64);
        ((char*)block.data)[sizes[i] - 1] = 2;
      }
      if (sizes[i] >= MIB) {  // the first page is that of a huge one
        assert_true((uintptr_t)block.data % (2 * MIB) < HLO_BLOCK_ALIAS_BYTES);
      }
      hlo_block_release(heap, block);
      assert_int_equal(stats_of(heap).reserved_bytes, 0);
    }
  }
  hlo_heap_release(heap);
}

static void freed_blocks_serve_again_best_fit_first(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(1ull << 30, 0);
  hlo_block_t tight = acquire(heap, 4 * MIB), loose = acquire(heap, 5 * MIB);
  hlo_block_t other = acquire(heap, 32 * MIB);
  hlo_block_release(heap, tight);
  hlo_block_release(heap, loose);
  hlo_block_release(heap, other);
  assert_int_equal(stats_of(heap).kept_bytes, 41 * MIB);
  hlo_block_t again = acquire(heap, 4 * MIB - 100);
  assert_ptr_equal(again.data, tight.data);
  hlo_block_t larger = acquire(heap, 4 * MIB);  // a quarter to spare is allowed
  assert_ptr_equal(larger.data, loose.data);
  hlo_block_t fresh = acquire(heap, 4 * MIB);  // eightfold is not
  assert_ptr_not_equal(fresh.data, other.data);
  hlo_heap_stats_t stats = stats_of(heap);
  assert_int_equal(stats.fresh_count, 4);
  assert_int_equal(stats.reuse_count, 2);
  assert_int_equal(stats.reserved_bytes, 45 * MIB);
  assert_int_equal(stats.peak_reserved_bytes, 45 * MIB);
  hlo_block_release(heap, again);
  hlo_block_release(heap, larger);
  hlo_block_release(heap, fresh);
  hlo_heap_clear_peak(heap);
  stats = stats_of(heap);
  assert_int_equal(stats.kept_bytes, 45 * MIB);
  assert_int_equal(stats.peak_reserved_bytes, stats.reserved_bytes);
  hlo_heap_release(heap);
}

// Arrays that a loop reads together: on Intel a load waits for an earlier store 4 KiB away.
static void large_blocks_begin_at_different_offsets_of_a_page(void** state) {
  (void)state;
  enum { BLOCKS = 16 };
  static const size_t kSizes[] = {HLO_BLOCK_STAGGERED_BYTES, 256 << 10, MIB, 3 * MIB + 4096};
  for (size_t s = 0; s < sizeof kSizes / sizeof *kSizes; ++s) {
    hlo_heap_t* heap = make_heap(1ull << 30, 0);
    for (int pass = 0; pass < 2; ++pass) {  // fresh ones, then the same ones again
      hlo_block_t blocks[BLOCKS];
      bool is_taken[HLO_BLOCK_ALIAS_BYTES / HLO_BLOCK_ALIGNMENT] = {false};
      for (int i = 0; i < BLOCKS; ++i) {
        blocks[i] = acquire(heap, kSizes[s]);
        memset(blocks[i].data, i, kSizes[s]);
        size_t unit = (uintptr_t)blocks[i].data % HLO_BLOCK_ALIAS_BYTES / HLO_BLOCK_ALIGNMENT;
        assert_false(is_taken[unit]);
        is_taken[unit] = true;
      }
      for (int i = 0; i < BLOCKS; ++i) hlo_block_release(heap, blocks[i]);
    }
    hlo_heap_release(heap);
  }
}

static void small_blocks_are_kept_as_well(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(MIB, 0);
  void* seen[8];
  hlo_block_t blocks[8];
  for (int i = 0; i < 8; ++i) seen[i] = (blocks[i] = acquire(heap, 100)).data;
  for (int i = 0; i < 8; ++i) hlo_block_release(heap, blocks[i]);
  for (int i = 0; i < 8; ++i) {  // last freed, first used
    blocks[i] = acquire(heap, 97);
    if (!HLO_ADDRESS_SANITIZER) assert_ptr_equal(blocks[i].data, seen[7 - i]);
  }
  for (int i = 0; i < 8; ++i) hlo_block_release(heap, blocks[i]);
  hlo_heap_release(heap);
}

static void kept_blocks_stay_within_their_limit(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(10 * MIB, 0);
  hlo_block_t blocks[5];
  for (int i = 0; i < 5; ++i) blocks[i] = acquire(heap, 4 * MIB);
  for (int i = 0; i < 5; ++i) hlo_block_release(heap, blocks[i]);
  assert_int_equal(stats_of(heap).kept_bytes, 8 * MIB);
  hlo_block_t last = acquire(heap, 4 * MIB), before = acquire(heap, 4 * MIB);
  assert_ptr_equal(last.data, blocks[4].data);  // the oldest went, the youngest stayed
  assert_ptr_equal(before.data, blocks[3].data);
  hlo_block_release(heap, last);
  hlo_block_t huge = acquire(heap, 11 * MIB);
  hlo_block_release(heap, huge);  // never kept: it would push out all others for nothing
  assert_int_equal(stats_of(heap).kept_bytes, 4 * MIB);
  hlo_block_release(heap, before);
  hlo_heap_release(heap);
}

static void exhaustion_gives_kept_blocks_back_first(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(1ull << 30, 8 * MIB);
  hlo_block_t first = acquire(heap, 3 * MIB), second = acquire(heap, 5 * MIB);
  assert_true(acquire_fails(heap, 1));
  hlo_block_release(heap, first);
  hlo_block_release(heap, second);
  hlo_block_t whole = acquire(heap, 8 * MIB);  // needs both to go
  assert_int_equal(stats_of(heap).kept_bytes, 0);
  assert_true(acquire_fails(heap, MIB));
  assert_true(acquire_fails(heap, SIZE_MAX));
  assert_true(acquire_fails(heap, (size_t)1 << 60));
  assert_int_equal(stats_of(heap).reserved_bytes, 8 * MIB);
  hlo_block_release(heap, whole);
  hlo_heap_release(heap);
}

static void a_refusing_system_is_asked_again_after_a_trim(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(1ull << 30, 0);
  hlo_os_io_fail_nth(1);
  assert_true(acquire_fails(heap, 4 * MIB));
  assert_true(hlo_os_io_failed());
  hlo_mem_fail_nth(1);
  assert_true(acquire_fails(heap, 1000));
  assert_true(hlo_mem_failed());
  assert_int_equal(stats_of(heap).reserved_bytes, 0);
  assert_int_equal(stats_of(heap).fresh_count, 0);
  hlo_block_release(heap, acquire(heap, 2 * MIB));
  hlo_os_io_fail_nth(1);
  hlo_block_t block = acquire(heap, 4 * MIB);  // refused, then given once the other has gone
  assert_true(hlo_os_io_failed());
  assert_int_equal(stats_of(heap).reserved_bytes, 4 * MIB);
  hlo_os_io_fail_nth(0);
  hlo_mem_fail_nth(0);
  hlo_block_release(heap, block);
  hlo_heap_release(heap);
}

enum { THREADS = 4, TURNS = 400, HELD = 8 };

static void* churn(void* context) {
  hlo_heap_t* heap = context;
  hlo_block_t held[HELD] = {0};
  uint32_t random = (uint32_t)(uintptr_t)&held | 1;
  for (int i = 0; i < TURNS; ++i) {
    hlo_block_t* slot = &held[i % HELD];
    if (slot->data && ((unsigned char*)slot->data)[0] != (unsigned char)slot->size_bytes)
      return heap;
    hlo_block_release(heap, *slot);
    random = random * 1664525u + 1013904223u;
    size_t size = (size_t)1 << (random >> 28);  // up to 32 KiB
    if (random & 1) size = MIB + (random >> 12);
    *slot = (hlo_block_t){0};
    hlo_status_t status = hlo_block_acquire(heap, size, slot);
    if (!hlo_status_is_ok(status)) return heap;
    ((unsigned char*)slot->data)[0] = (unsigned char)slot->size_bytes;
  }
  for (int i = 0; i < HELD; ++i) hlo_block_release(heap, held[i]);
  return NULL;
}

static void threads_share_it(void** state) {
  (void)state;
  hlo_heap_t* heap = make_heap(16 * MIB, 0);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, churn, heap);
  for (int i = 0; i < THREADS; ++i) {
    void* fault = NULL;
    pthread_join(threads[i], &fault);
    assert_null(fault);
  }
  hlo_heap_stats_t stats = stats_of(heap);
  assert_int_equal(stats.reserved_bytes, stats.kept_bytes);
  assert_true(stats.kept_bytes <= 16 * MIB);
  assert_int_equal(stats.fresh_count + stats.reuse_count, THREADS * TURNS);
  hlo_heap_release(heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_hold_what_was_asked_for),
      cmocka_unit_test(freed_blocks_serve_again_best_fit_first),
      cmocka_unit_test(large_blocks_begin_at_different_offsets_of_a_page),
      cmocka_unit_test(small_blocks_are_kept_as_well),
      cmocka_unit_test(kept_blocks_stay_within_their_limit),
      cmocka_unit_test(exhaustion_gives_kept_blocks_back_first),
      cmocka_unit_test(a_refusing_system_is_asked_again_after_a_trim),
      cmocka_unit_test(threads_share_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
