// SPDX-License-Identifier: Apache-2.0
// Tests of the sizes of shapes.
#include "base/shape.h"

#include "base/test_util.h"

static void sizes_are_checked(void** state) {
  (void)state;
  size_t count, bytes;
  hlo_test_check(hlo_shape_measure(HLO_DTYPE_F32, (int64_t[]){2, 3, 4}, 3, &count, &bytes));
  assert_int_equal(count, 24);
  assert_int_equal(bytes, 96);
  hlo_test_check(
      hlo_shape_measure(HLO_DTYPE_F64, (int64_t[]){1ll << 40, 1ll << 40, 0}, 3, &count, &bytes));
  assert_int_equal(bytes, 0);
  hlo_test_check(hlo_shape_measure(HLO_DTYPE_C128, NULL, 0, &count, &bytes));
  assert_int_equal(bytes, 16);
}

static void bad_shapes_are_refused(void** state) {
  (void)state;
  const int64_t many[HLO_SHAPE_RANK_LIMIT + 1] = {0};
  const struct {
    hlo_dtype_t dtype;
    size_t rank;
    const int64_t* dims;
    const char* message;
  } bad[] = {{HLO_DTYPE_F32, 1, (int64_t[]){1ll << 61}, "2^63"},
             {HLO_DTYPE_S8, 2, (int64_t[]){1ll << 62, 1ll << 62}, "2^63"},
             {HLO_DTYPE_S8, 2, (int64_t[]){3, -1}, "dimension 1 is -1"},
             {HLO_DTYPE_S8, HLO_SHAPE_RANK_LIMIT + 1, many, "at most 64"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    size_t count, bytes;
    hlo_status_t status = hlo_shape_measure(bad[i].dtype, bad[i].dims, bad[i].rank, &count, &bytes);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(hlo_status_message(status), bad[i].message));
    hlo_status_release(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_checked),
                                     cmocka_unit_test(bad_shapes_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
