// SPDX-License-Identifier: Apache-2.0
// Tests of the cache: order of eviction, ownership, many threads.
#include "base/lru.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/test_util.h"

typedef struct thing {
  hlo_lru_item_t item;
  uint64_t number;
} thing_t;

static atomic_int living;

static void destroy(hlo_lru_item_t* item) {
  atomic_fetch_sub(&living, 1);
  hlo_mem_free(item);
}

static hlo_digest_t key_of(uint64_t number) {
  return (hlo_digest_t){{number, ~number}};
}

static void add(hlo_lru_t* lru, uint64_t number, size_t size_bytes) {
  thing_t* thing = hlo_mem_alloc(sizeof *thing);
  assert_non_null(thing);
  hlo_lru_item_init(&thing->item, size_bytes, destroy);
  thing->number = number;
  atomic_fetch_add(&living, 1);
  const hlo_digest_t key = key_of(number);
  hlo_lru_add(lru, &key, &thing->item);
  hlo_lru_item_release(&thing->item);
}

static thing_t* find(hlo_lru_t* lru, uint64_t number) {
  const hlo_digest_t key = key_of(number);
  return (thing_t*)hlo_lru_find(lru, &key);
}

static bool has(hlo_lru_t* lru, uint64_t number) {
  thing_t* thing = find(lru, number);
  if (thing) assert_int_equal(thing->number, number);
  if (thing) hlo_lru_item_release(&thing->item);
  return thing;
}

static void what_was_not_used_goes_first(void** state) {
  (void)state;
  hlo_lru_t lru;
  hlo_lru_init(&lru, 100);
  for (uint64_t i = 0; i < 4; ++i) add(&lru, i, 25);
  assert_true(has(&lru, 0));
  add(&lru, 4, 30);  // evicts two
  assert_true(has(&lru, 0));
  assert_false(has(&lru, 1));
  assert_false(has(&lru, 2));
  assert_true(has(&lru, 3));
  assert_true(has(&lru, 4));
  assert_int_equal(lru.size_bytes, 80);
  add(&lru, 5, 101);  // never fits
  assert_false(has(&lru, 5));
  add(&lru, 3, 40);  // replaces an item
  assert_int_equal(lru.size_bytes, 95);
  assert_int_equal(living, 3);
  thing_t* thing = find(&lru, 3);
  hlo_lru_deinit(&lru);
  assert_int_equal(living, 1);
  assert_int_equal(thing->number, 3);
  hlo_lru_item_release(&thing->item);
  assert_int_equal(living, 0);
}

enum { NOTE_KEY = 1000 };

// Adds an item to the cache that evicts this one.
typedef struct last_will {
  hlo_lru_item_t item;
  hlo_lru_t* lru;
} last_will_t;

static void destroy_and_note(hlo_lru_item_t* item) {
  hlo_lru_t* lru = ((last_will_t*)item)->lru;
  assert_false(has(lru, NOTE_KEY));
  add(lru, NOTE_KEY, 1);
  hlo_mem_free(item);
}

static void add_will(hlo_lru_t* lru, uint64_t number) {
  last_will_t* will = hlo_mem_alloc(sizeof *will);
  assert_non_null(will);
  hlo_lru_item_init(&will->item, 60, destroy_and_note);
  will->lru = lru;
  const hlo_digest_t key = key_of(number);
  hlo_lru_add(lru, &key, &will->item);
  hlo_lru_item_release(&will->item);
}

// Evicted, and replaced: the table is not locked while an item is destroyed.
static void destroying_items_may_use_the_table(void** state) {
  (void)state;
  for (int is_replaced = 0; is_replaced < 2; ++is_replaced) {
    hlo_lru_t lru;
    hlo_lru_init(&lru, 100);
    add_will(&lru, 0);
    add(&lru, is_replaced ? 0 : 1, 50);
    assert_true(has(&lru, NOTE_KEY));
    assert_int_equal(lru.size_bytes, 51);
    hlo_lru_deinit(&lru);
    assert_int_equal(living, 0);
  }
}

// Clears the cache while it is destroyed.
static void destroy_and_clear(hlo_lru_item_t* item) {
  hlo_lru_clear(((last_will_t*)item)->lru);
  hlo_mem_free(item);
}

static void clearing_evicts_all(void** state) {
  (void)state;
  hlo_lru_t lru;
  hlo_lru_init(&lru, 100);
  hlo_lru_clear(&lru);
  for (uint64_t i = 0; i < 3; ++i) add(&lru, i, 10);
  thing_t* held = find(&lru, 1);
  add_will(&lru, 3);
  last_will_t* will = (last_will_t*)find(&lru, 3);
  will->item.destroy = destroy_and_clear;
  hlo_lru_item_release(&will->item);
  hlo_lru_clear(&lru);
  assert_int_equal(lru.size_bytes, 0);
  assert_int_equal(living, 1);
  assert_int_equal(held->number, 1);
  hlo_lru_item_release(&held->item);
  assert_int_equal(living, 0);
  add(&lru, 1, 10);  // usable afterwards
  assert_true(has(&lru, 1));
  hlo_lru_deinit(&lru);
  assert_int_equal(living, 0);
}

static void use(void* context, uint64_t index) {
  enum { KEYS = 40, ROUNDS = 200 };
  for (uint64_t i = 0; i < ROUNDS; ++i) {
    uint64_t number = (index * 7 + i * 3) % KEYS;
    if (!has(context, number)) add(context, number, 1 + number % 3);
  }
}

static void threads_share_one(void** state) {
  (void)state;
  hlo_lru_t lru;
  hlo_pool_t* pool;
  hlo_lru_init(&lru, 50);
  hlo_test_check(hlo_pool_create(4, &pool));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  hlo_parallel_for(&parallel, 32, use, &lru);
  hlo_pool_release(pool);
  assert_true(lru.size_bytes <= 50);
  hlo_lru_deinit(&lru);
  assert_int_equal(living, 0);
}

static void allocations_may_fail(void** state) {
  (void)state;
  hlo_lru_t lru;
  hlo_lru_init(&lru, 100);
  for (uint64_t n = 2; n < 6; ++n) {  // the first one belongs to the item
    hlo_mem_fail_nth(n);
    add(&lru, n, 10);
    hlo_mem_fail_nth(0);
  }
  assert_true(lru.size_bytes <= 40);
  hlo_lru_deinit(&lru);
  assert_int_equal(living, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_not_used_goes_first),
      cmocka_unit_test(destroying_items_may_use_the_table),
      cmocka_unit_test(clearing_evicts_all),
      cmocka_unit_test(threads_share_one),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests_name("base/lru", tests, NULL, NULL);
}
