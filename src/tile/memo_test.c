// SPDX-License-Identifier: Apache-2.0
// Tests of memos: an answer is found only for the same numbers.
#include "tile/memo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_keeps(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_memo_t* memo = hlo_tile_memo_create(&arena);
  assert_non_null(memo);
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t keys[3] = {i, i / 7, -i}, values[2] = {i * i, i};
    hlo_tile_memo_keep(memo, 3, keys, 2, values);
    for (int64_t k = 0; k <= i; ++k) {
      const int64_t others[3] = {k, k / 7, -k};
      const int64_t* known = hlo_tile_memo_find(memo, 3, others);
      assert_true(!known || (known[0] == k * k && known[1] == k));
      assert_true(known || k < i);
    }
    assert_null(hlo_tile_memo_find(memo, 2, keys));
  }
  hlo_arena_deinit(&arena);
}

static void test_none(void** unused) {
  (void)unused;
  const int64_t key = 1;
  hlo_tile_memo_keep(NULL, 1, &key, 1, &key);
  assert_null(hlo_tile_memo_find(NULL, 1, &key));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeps), cmocka_unit_test(test_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
