// SPDX-License-Identifier: Apache-2.0
//
// Our declaration of the PJRT C API against the table of facts tests/data/pjrt-abi.tsv: sizes,
// offsets, enumerators and the order of the function table, checked while this file compiles.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hlocc/pjrt.h"
#include "hlocc/pjrt_extensions.h"

// Written by tools/pjrt_abi_checks.py when the test is built.
#include "pjrt_abi_checks.inc"

/// An empty table would check nothing: these are the counts of API 0.114.
static void test_the_table_is_whole(void** state) {
  (void)state;
  assert_int_equal(ABI_STRUCTS, 265);
  assert_int_equal(ABI_FIELD_FACTS, 3098);
  assert_int_equal(ABI_ENUMERATORS, 358);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_table_is_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
