// SPDX-License-Identifier: Apache-2.0
// Tests of orders of dimensions.
#include "base/shape.h"

#include <string.h>

#include "base/test_util.h"

static void permutations_are_valid(void** state) {
  (void)state;
  const int64_t permuted[] = {0, 2, 1}, twice[] = {0, 1, 1}, beyond[] = {0, 1, 3},
                below[] = {-1, 0};
  assert_true(hlo_dim_order_is_valid(3, permuted));
  assert_true(hlo_dim_order_is_valid(3, NULL));
  assert_true(hlo_dim_order_is_valid(0, permuted));
  assert_false(hlo_dim_order_is_valid(3, twice));
  assert_false(hlo_dim_order_is_valid(3, beyond));
  assert_false(hlo_dim_order_is_valid(2, below));
  assert_false(hlo_dim_order_is_valid(HLO_SHAPE_RANK_LIMIT + 1, NULL));
}

static void row_major_is_the_default(void** state) {
  (void)state;
  int64_t order[3];
  hlo_dim_order_row_major(3, order);
  const int64_t permuted[] = {0, 1, 2}, expected[] = {2, 1, 0};
  assert_memory_equal(order, expected, sizeof order);
  assert_true(hlo_dim_order_is_row_major(3, order));
  assert_true(hlo_dim_order_is_row_major(3, NULL));
  assert_false(hlo_dim_order_is_row_major(3, permuted));
}

static void orders_are_compared_by_the_bytes_that_they_give(void** state) {
  (void)state;
  const int64_t dims[] = {4, 1, 8}, empty[] = {4, 0, 8}, ones[] = {1, 1, 1};
  const int64_t first[] = {2, 0, 1}, last[] = {1, 2, 0}, permuted[] = {0, 1, 2};
  assert_true(hlo_dim_order_is_same(3, dims, NULL, first));
  assert_true(hlo_dim_order_is_same(3, dims, last, first));
  assert_false(hlo_dim_order_is_same(3, dims, NULL, permuted));
  assert_false(hlo_dim_order_is_same(3, dims, permuted, last));
  assert_true(hlo_dim_order_is_same(3, empty, NULL, permuted));
  assert_true(hlo_dim_order_is_same(3, ones, first, permuted));
  assert_true(hlo_dim_order_is_same(0, NULL, NULL, NULL));
}

static void strides_are_dense(void** state) {
  (void)state;
  const int64_t dims[] = {2, 3, 5}, order[] = {1, 0, 2}, expected[] = {12, 4, 24};
  const int64_t rows[] = {60, 20, 4}, huge[] = {0, INT64_MAX, INT64_MAX};
  int64_t strides[3];
  hlo_dim_order_strides(4, 3, dims, order, strides);
  assert_memory_equal(strides, expected, sizeof strides);
  hlo_dim_order_strides(4, 3, dims, NULL, strides);
  assert_memory_equal(strides, rows, sizeof strides);
  hlo_dim_order_strides(4, 3, huge, NULL, strides);
  assert_int_equal(strides[0], 4);
}

static void check_print(size_t rank, const int64_t* order, const char* expected) {
  hlo_strbuf_t text = {0};
  hlo_dim_order_print(rank, order, &text);
  assert_string_equal(hlo_strbuf_text(&text), expected);
  hlo_strbuf_deinit(&text);
}

static void texts_are_those_of_xla(void** state) {
  (void)state;
  const int64_t order[] = {1, 2, 0};
  check_print(3, order, "{1,2,0}");
  check_print(3, NULL, "{2,1,0}");
  check_print(0, NULL, "{}");
  int64_t read[3] = {7, 7, 7};
  assert_true(hlo_status_is_ok(hlo_dim_order_parse("{1,2,0}", 3, read)));
  assert_memory_equal(read, order, sizeof read);
  assert_true(hlo_status_is_ok(hlo_dim_order_parse("{}", 0, read)));
  assert_true(hlo_status_is_ok(hlo_dim_order_parse("{0,1:E(4)}", 2, read)));
  assert_int_equal(read[0], 0);
}

static void check_refusal(const char* text, size_t rank, hlo_status_code_t code) {
  int64_t order[HLO_SHAPE_RANK_LIMIT] = {-7};
  hlo_status_t status = hlo_dim_order_parse(text, rank, order);
  assert_int_equal(hlo_status_code(status), code);
  assert_non_null(strstr(hlo_status_message(status), text));
  assert_int_equal(order[0], -7);
  hlo_status_release(status);
}

static void other_layouts_are_refused(void** state) {
  (void)state;
  static const char* const tiled[] = {"{1,0:T(8,128)}", "{1,0:T(8,128)(2,1)E(4)}",
                                      "{1,0:S(5)}",     "{1,0:E(4)S(5)}",
                                      "{1,0:T(2)}",     "{1,0:}",
                                      "{1,0:E(4}"};
  for (size_t i = 0; i < sizeof tiled / sizeof *tiled; ++i) {
    check_refusal(tiled[i], 2, HLO_STATUS_UNIMPLEMENTED);
  }
  static const char* const wrong[] = {"",
                                      "auto",
                                      "{1,0",
                                      "{1}",
                                      "{0,0}",
                                      "{1,2}",
                                      "{1,,0}",
                                      "{1;0}",
                                      "{-1,0}",
                                      "{1,0,2}",
                                      "{1,0}x",
                                      "{1,0:",
                                      "{99999999999999999999,0}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    check_refusal(wrong[i], 2, HLO_STATUS_INVALID_ARGUMENT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(permutations_are_valid),
      cmocka_unit_test(row_major_is_the_default),
      cmocka_unit_test(orders_are_compared_by_the_bytes_that_they_give),
      cmocka_unit_test(strides_are_dense),
      cmocka_unit_test(texts_are_those_of_xla),
      cmocka_unit_test(other_layouts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
