// SPDX-License-Identifier: Apache-2.0
// Tests of the ranges mapped for direct memory access.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/test_util.h"
#include "runtime/dma.h"

static const char* at(uintptr_t address) {
  return (const char*)address;
}

static void expect_error(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

static void queries_know_the_edges(void** state) {
  (void)state;
  hlo_dma_table_t table;
  hlo_dma_table_init(&table);
  assert_false(hlo_dma_is_mapped(&table, at(100), 1));
  hlo_test_check(hlo_dma_map(&table, at(100), 50));
  hlo_test_check(hlo_dma_map(&table, at(150), 50));
  assert_true(hlo_dma_is_mapped(&table, at(100), 50));
  assert_true(hlo_dma_is_mapped(&table, at(149), 1));
  assert_true(hlo_dma_is_mapped(&table, at(150), 50));
  assert_false(hlo_dma_is_mapped(&table, at(99), 2));
  assert_false(hlo_dma_is_mapped(&table, at(149), 2));  // two mapped ranges
  assert_false(hlo_dma_is_mapped(&table, at(199), 2));
  assert_false(hlo_dma_is_mapped(&table, at(200), 1));
  assert_false(hlo_dma_is_mapped(&table, at(120), SIZE_MAX));
  hlo_dma_table_deinit(&table);
}

static void doubles_are_refused(void** state) {
  (void)state;
  hlo_dma_table_t table;
  hlo_dma_table_init(&table);
  hlo_test_check(hlo_dma_map(&table, at(0x100), 0x10));
  static const uintptr_t overlaps[][2] = {
      {0x100, 0x10}, {0x100, 1}, {0x10f, 1}, {0x0ff, 2}, {0x80, 0x100}};
  for (size_t i = 0; i < sizeof overlaps / sizeof *overlaps; ++i) {
    expect_error(hlo_dma_map(&table, at(overlaps[i][0]), overlaps[i][1]), HLO_STATUS_ALREADY_EXISTS,
                 "16 bytes at address 0x100 are already mapped");
  }
  expect_error(hlo_dma_unmap(&table, at(0x101)), HLO_STATUS_NOT_FOUND, "0x101: none of the 1");
  hlo_test_check(hlo_dma_unmap(&table, at(0x100)));
  expect_error(hlo_dma_unmap(&table, at(0x100)), HLO_STATUS_NOT_FOUND, "none of the 0 ranges");
  assert_false(hlo_dma_is_mapped(&table, at(0x100), 1));
  hlo_test_check(hlo_dma_map(&table, at(0x100), 0x10));
  expect_error(hlo_dma_map(&table, NULL, 5), HLO_STATUS_INVALID_ARGUMENT, "5 bytes at address 0");
  expect_error(hlo_dma_map(&table, at(0x200), 0), HLO_STATUS_INVALID_ARGUMENT, "0 bytes");
  expect_error(hlo_dma_map(&table, at(0x200), SIZE_MAX), HLO_STATUS_INVALID_ARGUMENT, "0x200");
  hlo_dma_table_deinit(&table);
}

enum { RANGES = 1000, STEP = 10, THREADS = 4 };

typedef struct mapper {
  hlo_dma_table_t* table;
  int first;
} mapper_t;

/// Maps its ranges in descending order, then unmaps every second one.
static void* map_ranges(void* context) {
  const mapper_t* mapper = context;
  for (int i = RANGES - THREADS + mapper->first; i >= 0; i -= THREADS) {
    hlo_test_check(hlo_dma_map(mapper->table, at((uintptr_t)(i + 1) * STEP), STEP - 1));
  }
  for (int i = mapper->first; i < RANGES; i += 2 * THREADS) {
    hlo_test_check(hlo_dma_unmap(mapper->table, at((uintptr_t)(i + 1) * STEP)));
  }
  return NULL;
}

static void threads_map_at_once(void** state) {
  (void)state;
  hlo_dma_table_t table;
  hlo_dma_table_init(&table);
  pthread_t threads[THREADS];
  mapper_t mappers[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    mappers[i] = (mapper_t){&table, i};
    pthread_create(&threads[i], NULL, map_ranges, &mappers[i]);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < RANGES; ++i) {
    const bool is_mapped = hlo_dma_is_mapped(&table, at((uintptr_t)(i + 1) * STEP), STEP - 1);
    assert_int_equal(is_mapped, i / THREADS % 2);
  }
  hlo_dma_table_deinit(&table);
}

static void exhausted_memory(void** state) {
  (void)state;
  hlo_dma_table_t table;
  hlo_dma_table_init(&table);
  hlo_mem_fail_nth(1);
  hlo_status_t status = hlo_dma_map(&table, at(100), 1);
  hlo_mem_fail_nth(0);
  expect_error(status, HLO_STATUS_RESOURCE_EXHAUSTED, "");
  assert_false(hlo_dma_is_mapped(&table, at(100), 1));
  hlo_dma_table_deinit(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(queries_know_the_edges),
      cmocka_unit_test(doubles_are_refused),
      cmocka_unit_test(threads_map_at_once),
      cmocka_unit_test(exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
