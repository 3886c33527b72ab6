// SPDX-License-Identifier: Apache-2.0
// Tests of hashes, growing arrays and hash tables.
#include "base/hashmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

static void test_vec(void** state) {
  (void)state;
  HLO_VEC(int64_t) vec = {0};
  for (int64_t i = 0; i < 1000; ++i) assert_true(hlo_vec_push(&vec, i * i));
  assert_int_equal(vec.count, 1000);
  for (int64_t i = 0; i < 1000; ++i) assert_int_equal(vec.items[i], i * i);
  assert_false(hlo_vec_reserve(&vec, SIZE_MAX / 4));
  hlo_mem_fail_nth(1);
  assert_false(hlo_vec_reserve(&vec, 100000));
  hlo_mem_fail_nth(0);
  assert_int_equal(vec.items[999], 999 * 999);
  hlo_vec_deinit(&vec);
  assert_null(vec.items);
}

static void test_numbers(void** state) {
  (void)state;
  hlo_map_t map = {0};
  static int values[5000];
  assert_null(hlo_map_get_number(&map, 1));
  for (uint64_t i = 0; i < 5000; ++i) {
    assert_true(hlo_map_put_number(&map, i * 4096, &values[i]));
  }
  for (uint64_t i = 0; i < 5000; ++i) {
    assert_ptr_equal(hlo_map_get_number(&map, i * 4096), &values[i]);
  }
  assert_int_equal(map.live_count, 5000);
  // Adding and removing for ever does not grow the table.
  for (uint64_t i = 0; i < 100000; ++i) {
    assert_true(hlo_map_put(&map, "visitor", 7, &values[2]));
    assert_ptr_equal(hlo_map_remove(&map, "visitor", 7), &values[2]);
  }
  assert_true(map.entry_capacity <= 16384);
  hlo_map_deinit(&map);
}

static void test_strings(void** state) {
  (void)state;
  hlo_map_t map = {0};
  static char names[300][16];
  for (int i = 0; i < 300; ++i) {
    snprintf(names[i], sizeof names[i], "n%d", i);
    assert_true(hlo_map_put(&map, names[i], strlen(names[i]), names[i]));
  }
  assert_true(hlo_map_put(&map, "", 0, &map));
  assert_true(hlo_map_put_number(&map, 2, names));  // not the same key as a string of two bytes
  assert_ptr_equal(hlo_map_get(&map, "n7", 2), names[7]);
  assert_ptr_equal(hlo_map_get(&map, "n77", 2), names[7]);
  assert_null(hlo_map_get(&map, "n300", 4));
  assert_ptr_equal(hlo_map_get(&map, NULL, 0), &map);
  assert_true(hlo_map_put(&map, "n7", 2, &map));
  assert_ptr_equal(hlo_map_get(&map, "n7", 2), &map);
  assert_int_equal(map.live_count, 302);
  assert_ptr_equal(hlo_map_remove(&map, "n7", 2), &map);
  assert_null(hlo_map_get(&map, "n7", 2));
  hlo_map_deinit(&map);
}

static void test_out_of_memory(void** state) {
  (void)state;
  hlo_map_t map = {0};
  uint64_t added = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    hlo_mem_fail_nth(i % 2 + 1);
    added += hlo_map_put_number(&map, i, &map);
    hlo_mem_fail_nth(0);
  }
  uint64_t found = 0;
  for (uint64_t i = 0; i < 100; ++i) found += hlo_map_get_number(&map, i) != NULL;
  assert_int_equal(found, added);
  hlo_map_deinit(&map);
}

static void test_hash(void** state) {
  (void)state;
  char bytes[64] = {0};
  uint64_t seen[65];
  for (size_t size = 0; size <= 64; ++size) {
    seen[size] = hlo_hash_bytes(bytes, size, 1);
    for (size_t other = 0; other < size; ++other) assert_true(seen[other] != seen[size]);
  }
  for (size_t i = 0; i < sizeof bytes; ++i) {
    bytes[i] = 1;
    assert_true(hlo_hash_bytes(bytes, sizeof bytes, 1) != seen[64]);
    bytes[i] = 0;
  }
  assert_true(hlo_hash_bytes(bytes, 64, 2) != seen[64]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vec),     cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_strings), cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_hash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
