// SPDX-License-Identifier: Apache-2.0
// Tests of the primitive encodings.
#include "frontend/bytecode/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static hlo_bc_cursor_t over(const uint8_t* bytes, size_t size) {
  return (hlo_bc_cursor_t){bytes, bytes, bytes + size, "test"};
}

static void test_numbers(void** state) {
  (void)state;
  static const struct {
    uint8_t bytes[9];
    size_t size;
    uint64_t value;
  } cases[] = {
      {{0x01}, 1, 0},
      {{0xff}, 1, 127},
      {{0x02, 0x02}, 2, 128},
      {{0xfe, 0xff}, 2, 0x3fff},
      {{0x04, 0x00, 0x02}, 3, 0x4000},
      {{0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, 0xffffffffffffff},
      {{0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9, UINT64_MAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    uint64_t value;
    hlo_bc_cursor_t c = over(cases[i].bytes, cases[i].size);
    assert_true(hlo_status_is_ok(hlo_bc_varint(&c, &value)));
    assert_true(value == cases[i].value);
    assert_true(hlo_bc_at_end(&c));
    for (size_t size = 0; size < cases[i].size; ++size) {
      c = over(cases[i].bytes, size);
      hlo_status_t status = hlo_bc_varint(&c, &value);
      assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
      assert_non_null(strstr(hlo_status_message(status), "byte 0 (test)"));
      hlo_status_release(status);
    }
  }
}

static void test_signed_numbers(void** state) {
  (void)state;
  static const struct {
    uint8_t bytes[9];
    size_t size;
    int64_t value;
  } cases[] = {
      {{0x01}, 1, 0},
      {{0x03}, 1, -1},
      {{0x05}, 1, 1},
      {{0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9, INT64_MIN},
      {{0x00, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9, INT64_MAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    int64_t value;
    hlo_bc_cursor_t c = over(cases[i].bytes, cases[i].size);
    assert_true(hlo_status_is_ok(hlo_bc_svarint(&c, &value)));
    assert_true(value == cases[i].value);
  }
}

static void expect_fault(hlo_status_t status) {
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
}

static void test_ranges(void** state) {
  (void)state;
  static const uint8_t bytes[] = {0x07, 'a', 'b', 0, 'c', 0xcb, 0xcb, 0xcb, 0x01};
  hlo_bc_cursor_t c = over(bytes, sizeof bytes), slice;
  uint32_t count;
  const char* text;
  size_t length;
  assert_true(hlo_status_is_ok(hlo_bc_count(&c, 2, &count)));  // 3 items of 2 bytes in 8
  assert_int_equal(count, 3);
  assert_true(hlo_status_is_ok(hlo_bc_text(&c, &text, &length)));
  assert_string_equal(text, "ab");
  assert_true(hlo_status_is_ok(hlo_bc_slice(&c, 1, &slice)));
  assert_int_equal(*slice.pos, 'c');
  assert_true(hlo_status_is_ok(hlo_bc_align(&c, 8)));
  assert_int_equal(c.pos - bytes, 8);
  expect_fault(hlo_bc_slice(&c, 2, &slice));
  expect_fault(hlo_bc_slice(&c, UINT64_MAX, &slice));
  expect_fault(hlo_bc_text(&c, &text, &length));
  expect_fault(hlo_bc_align(&c, 3));
  expect_fault(hlo_bc_align(&c, 0));
  c = over(bytes, sizeof bytes);
  expect_fault(hlo_bc_count(&c, 4, &count));
  c = over(bytes, sizeof bytes);
  expect_fault(hlo_bc_index(&c, 3, "thing", &count));
  c = over(bytes + 1, 7);
  expect_fault(hlo_bc_align(&(hlo_bc_cursor_t){bytes, bytes + 1, bytes + 9, "test"}, 8));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers),
                                     cmocka_unit_test(test_signed_numbers),
                                     cmocka_unit_test(test_ranges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
