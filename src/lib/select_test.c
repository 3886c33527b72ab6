// SPDX-License-Identifier: Apache-2.0
// Picking indices of a range: every variant that the machine runs against the definition.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "lib/isa.h"
#include "lib/select_impl.h"

enum { COUNT = 173 };

static void check_range(hlo_select_range_t select, uint32_t count, uint32_t first, uint32_t size) {
  uint32_t indices[COUNT], numbers[COUNT + HLO_SELECT_SLACK];
  uint32_t random = 12345, found = 0;
  for (uint32_t i = 0; i < COUNT; ++i) {
    random = random * 1664525u + 1013904223u;
    indices[i] = (random >> 8) % 40 - 4;  // some are negative
  }
  uint32_t got = select(count, indices, first, size, numbers);
  for (uint32_t i = 0; i < count; ++i) {
    if (indices[i] < first || indices[i] - first >= size) continue;
    assert_int_equal(numbers[found], i);
    ++found;
  }
  assert_int_equal(got, found);
}

static void check_all(hlo_select_range_t select) {
  static const uint32_t counts[] = {0, 1, 15, 16, 17, 64, COUNT};
  for (uint32_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
    check_range(select, counts[c], 0, 36);
    check_range(select, counts[c], 18, 18);
    check_range(select, counts[c], 30, 1000);
    check_range(select, counts[c], 5, 0);
  }
}

static void test_select_range(void** state) {
  (void)state;
  check_all(hlo_select_range);
  check_all(hlo_select_range_generic);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX512) check_all(hlo_select_range_avx512);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_select_range)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
