// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: arithmetic at the edges of every kind of type, comparisons, select, clamp,
// broadcasts, reuse of storage, refusals.
#include "base/fpenv.h"
#include "interp/ref_test_util.h"
#include "interp/scalar.h"

#define COUNT(a) ((int64_t)(sizeof(a) / sizeof((a)[0])))

static void integers_wrap_and_divide_as_xla(void** state) {
  hlo_test_fixture_t* f = *state;
  const int32_t x[] = {INT32_MAX, INT32_MIN, 7, -7, 7, INT32_MIN};
  const int32_t y[] = {1, -1, 2, 2, 0, 0};
  int32_t r[6];
  hlo_test_run_arrays(f, HLO_OP_add, HLO_DTYPE_S32, 6, x, y, HLO_DTYPE_S32, r);
  assert_memory_equal(r, ((int32_t[]){INT32_MIN, INT32_MAX, 9, -5, 7, INT32_MIN}), sizeof r);
  hlo_test_run_arrays(f, HLO_OP_divide, HLO_DTYPE_S32, 6, x, y, HLO_DTYPE_S32, r);
  assert_memory_equal(r, ((int32_t[]){INT32_MAX, INT32_MIN, 3, -3, -1, -1}), sizeof r);
  hlo_test_run_arrays(f, HLO_OP_remainder, HLO_DTYPE_S32, 6, x, y, HLO_DTYPE_S32, r);
  assert_memory_equal(r, ((int32_t[]){0, 0, 1, -1, 7, INT32_MIN}), sizeof r);
  const uint64_t u[] = {5, 0}, zero[] = {0, 0};
  uint64_t ur[2];
  hlo_test_run_arrays(f, HLO_OP_divide, HLO_DTYPE_U64, 2, u, zero, HLO_DTYPE_U64, ur);
  assert_memory_equal(ur, ((uint64_t[]){UINT64_MAX, UINT64_MAX}), sizeof ur);
  hlo_test_run_arrays(f, HLO_OP_abs, HLO_DTYPE_S32, 6, x, NULL, HLO_DTYPE_S32, r);
  assert_memory_equal(r, ((int32_t[]){INT32_MAX, INT32_MIN, 7, 7, 7, INT32_MIN}), sizeof r);
}

static void sub_byte_integers_stay_in_range(void** state) {
  hlo_test_fixture_t* f = *state;
  const int8_t x[] = {7, -8, 3, -8}, y[] = {1, -1, 5, 3};
  int8_t r[4];
  hlo_test_run_arrays(f, HLO_OP_add, HLO_DTYPE_S4, 4, x, y, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){-8, 7, -8, -5}), 4);
  hlo_test_run_arrays(f, HLO_OP_divide, HLO_DTYPE_S4, 4, x, y, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){7, -8, 0, -2}), 4);
  hlo_test_run_arrays(f, HLO_OP_shift_left, HLO_DTYPE_S4, 4, x, y, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){-2, 0, 0, 0}), 4);
  hlo_test_run_arrays(f, HLO_OP_shift_right_arithmetic, HLO_DTYPE_S4, 4, x, y, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){3, -1, 0, -1}), 4);
  hlo_test_run_arrays(f, HLO_OP_shift_right_logical, HLO_DTYPE_S4, 4, x, y, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){3, 0, 0, 1}), 4);
  hlo_test_run_arrays(f, HLO_OP_count_leading_zeros, HLO_DTYPE_S4, 4, x, NULL, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){1, 0, 2, 0}), 4);
  hlo_test_run_arrays(f, HLO_OP_popcnt, HLO_DTYPE_S4, 4, x, NULL, HLO_DTYPE_S4, r);
  assert_memory_equal(r, ((int8_t[]){3, 1, 2, 1}), 4);
  const uint8_t u[] = {3, 2}, v[] = {2, 3};
  uint8_t ur[2];
  hlo_test_run_arrays(f, HLO_OP_multiply, HLO_DTYPE_U2, 2, u, v, HLO_DTYPE_U2, ur);
  assert_memory_equal(ur, ((uint8_t[]){2, 2}), 2);
  hlo_test_run_arrays(f, HLO_OP_not, HLO_DTYPE_U2, 2, u, NULL, HLO_DTYPE_U2, ur);
  assert_memory_equal(ur, ((uint8_t[]){0, 1}), 2);
}

static void powers_shifts_and_high_products(void** state) {
  hlo_test_fixture_t* f = *state;
  const int64_t x[] = {-1, -1, -3, 1, -3, 0}, y[] = {1, 0, -3, -3, 3, 2};
  int64_t r[6];
  hlo_test_run_arrays(f, HLO_OP_power, HLO_DTYPE_S64, 6, x, y, HLO_DTYPE_S64, r);
  assert_memory_equal(r, ((int64_t[]){-1, 1, 0, 1, -27, 0}), sizeof r);
  const int64_t s[] = {1, -1, -1}, by[] = {63, 64, -1};
  hlo_test_run_arrays(f, HLO_OP_shift_left, HLO_DTYPE_S64, 3, s, by, HLO_DTYPE_S64, r);
  assert_memory_equal(r, ((int64_t[]){INT64_MIN, 0, 0}), 24);
  hlo_test_run_arrays(f, HLO_OP_shift_right_arithmetic, HLO_DTYPE_S64, 3, s, by, HLO_DTYPE_S64, r);
  assert_memory_equal(r, ((int64_t[]){0, -1, -1}), 24);
  const int64_t m[] = {INT64_MIN, INT64_MAX, -1}, n[] = {INT64_MIN, INT64_MAX, 1};
  hlo_test_run_arrays(f, HLO_OP_chlo_mulhi, HLO_DTYPE_S64, 3, m, n, HLO_DTYPE_S64, r);
  assert_memory_equal(r, ((int64_t[]){1ll << 62, (1ll << 62) - 1, -1}), 24);
  const uint64_t um[] = {UINT64_MAX}, un[] = {UINT64_MAX};
  uint64_t ur[1];
  hlo_test_run_arrays(f, HLO_OP_chlo_mulhi, HLO_DTYPE_U64, 1, um, un, HLO_DTYPE_U64, ur);
  assert_true(ur[0] == UINT64_MAX - 1);
}

static void maximum_and_minimum_order_nan_and_zeros(void** state) {
  hlo_test_fixture_t* f = *state;
  const float x[] = {NAN, 1, 0.0f, -0.0f, -1, INFINITY, 3},
              y[] = {1, NAN, -0.0f, 0.0f, 2, INFINITY, 3};
  float r[7];
  hlo_test_run_arrays(f, HLO_OP_maximum, HLO_DTYPE_F32, 7, x, y, HLO_DTYPE_F32, r);
  assert_true(isnan(r[0]) && isnan(r[1]) && !signbit(r[2]) && !signbit(r[3]) && r[4] == 2 &&
              r[5] == INFINITY && r[6] == 3);
  hlo_test_run_arrays(f, HLO_OP_minimum, HLO_DTYPE_F32, 7, x, y, HLO_DTYPE_F32, r);
  assert_true(isnan(r[0]) && isnan(r[1]) && signbit(r[2]) && signbit(r[3]) && r[4] == -1 &&
              r[5] == INFINITY && r[6] == 3);
}

static void narrow_floats_round_once(void** state) {
  hlo_test_fixture_t* f = *state;
  enum { N = 1000 };  // more than one block
  uint16_t x[N], y[N], r[N];
  for (int i = 0; i < N; ++i) {
    x[i] = hlo_f32_to_bf16((float)i);
    y[i] = hlo_f32_to_bf16(0.5f);
  }
  hlo_test_run_arrays(f, HLO_OP_multiply, HLO_DTYPE_BF16, N, x, y, HLO_DTYPE_BF16, r);
  for (int i = 0; i < N; ++i) {
    assert_int_equal(r[i], hlo_f32_to_bf16(hlo_bf16_to_f32(x[i]) * 0.5f));
  }
  const uint16_t h[] = {0x3c00, 0x0000, 0x8000, 0x7bff}, up[] = {0x4000, 0x3c00, 0x3c00, 0x7c00};
  uint16_t hr[4];
  hlo_test_run_arrays(f, HLO_OP_chlo_next_after, HLO_DTYPE_F16, 4, h, up, HLO_DTYPE_F16, hr);
  assert_memory_equal(hr, ((uint16_t[]){0x3c01, 0x0001, 0x0001, 0x7c00}), sizeof hr);
  uint8_t finite[4];
  hlo_test_run_arrays(f, HLO_OP_is_finite, HLO_DTYPE_F16, 4, up, NULL, HLO_DTYPE_PRED, finite);
  assert_memory_equal(finite, ((uint8_t[]){1, 1, 1, 0}), 4);
}

static void next_after_steps_by_one_code(void** state) {
  hlo_test_fixture_t* f = *state;
  const double x[] = {1, 1, 0, 0, -1, INFINITY, NAN, 2}, y[] = {2, 0, 1, -1, 0, 0, 1, 2};
  double r[8];
  hlo_test_run_arrays(f, HLO_OP_chlo_next_after, HLO_DTYPE_F64, 8, x, y, HLO_DTYPE_F64, r);
  for (int i = 0; i < 8; ++i) {
    double want = nextafter(x[i], y[i]);
    assert_true(r[i] == want || (isnan(want) && isnan(r[i])));
  }
}

static hlo_tensor_t* compare(hlo_test_fixture_t* f, hlo_tensor_t** operands, int64_t direction,
                             int64_t type) {
  hlo_named_attr_t attrs[] = {
      {HLO_ATTR_comparison_direction,
       hlo_attr_enum(f->module, HLO_ENUM_COMPARISON_DIRECTION, direction)},
      {HLO_ATTR_compare_type, hlo_attr_enum(f->module, HLO_ENUM_COMPARISON_TYPE, type)}};
  return hlo_test_run_op(f, HLO_OP_compare, 2, attrs, 2, operands, HLO_DTYPE_PRED);
}

static void comparisons_have_both_orders(void** state) {
  hlo_test_fixture_t* f = *state;
  const float x[] = {-NAN, -0.0f, 1, NAN, INFINITY}, y[] = {-INFINITY, 0.0f, 1, INFINITY, NAN};
  hlo_tensor_t* operands[] = {hlo_test_tensor_of(HLO_DTYPE_F32, 5, x),
                              hlo_test_tensor_of(HLO_DTYPE_F32, 5, y)};
  static const struct {
    int64_t direction, type;
    uint8_t want[5];
  } cases[] = {
      {HLO_COMPARISON_DIRECTION_LT, HLO_COMPARISON_TYPE_FLOAT, {0, 0, 0, 0, 0}},
      {HLO_COMPARISON_DIRECTION_GE, HLO_COMPARISON_TYPE_FLOAT, {0, 1, 1, 0, 0}},
      {HLO_COMPARISON_DIRECTION_NE, HLO_COMPARISON_TYPE_FLOAT, {1, 0, 0, 1, 1}},
      {HLO_COMPARISON_DIRECTION_LT, HLO_COMPARISON_TYPE_TOTALORDER, {1, 1, 0, 0, 1}},
      {HLO_COMPARISON_DIRECTION_EQ, HLO_COMPARISON_TYPE_TOTALORDER, {0, 0, 1, 0, 0}},
      {HLO_COMPARISON_DIRECTION_GT, HLO_COMPARISON_TYPE_TOTALORDER, {0, 0, 0, 1, 0}},
  };
  for (int64_t i = 0; i < COUNT(cases); ++i) {
    hlo_tensor_t* r = compare(f, operands, cases[i].direction, cases[i].type);
    assert_memory_equal(r->data, cases[i].want, 5);
    hlo_tensor_release(r);
  }
  hlo_tensor_release(operands[0]);
  hlo_tensor_release(operands[1]);
}

static void select_and_clamp_take_scalars(void** state) {
  hlo_test_fixture_t* f = *state;
  const uint8_t pred[] = {1, 0, 1};
  const float x[] = {1, 2, 3}, y[] = {-1, -2, -3}, low = 1.5f, high = 2.5f;
  hlo_tensor_t* operands[] = {hlo_test_tensor_of(HLO_DTYPE_PRED, 3, pred),
                              hlo_test_tensor_of(HLO_DTYPE_F32, 3, x),
                              hlo_test_tensor_of(HLO_DTYPE_F32, 3, y)};
  hlo_tensor_t* kept[] = {hlo_tensor_retain(operands[1]), hlo_tensor_retain(operands[2])};
  hlo_tensor_t* r = hlo_test_run_op(f, HLO_OP_select, 0, NULL, 3, operands, HLO_DTYPE_F32);
  assert_memory_equal(r->data, ((float[]){1, -2, 3}), 12);
  hlo_tensor_release(r);
  hlo_tensor_t* bounds[] = {hlo_test_tensor_of(HLO_DTYPE_F32, 1, &low), operands[1],
                            hlo_test_tensor_of(HLO_DTYPE_F32, 1, &high)};
  r = hlo_test_run_op(f, HLO_OP_clamp, 0, NULL, 3, bounds, HLO_DTYPE_F32);
  assert_memory_equal(r->data, ((float[]){1.5f, 2, 2.5f}), 12);
  hlo_tensor_release(r);
  hlo_tensor_t* mixed[] = {operands[2], hlo_test_tensor_of(HLO_DTYPE_F32, 3, x), bounds[2]};
  r = hlo_test_run_op(f, HLO_OP_clamp, 0, NULL, 3, mixed, HLO_DTYPE_F32);
  assert_memory_equal(r->data, ((float[]){1, 2, 2.5f}), 12);
  hlo_tensor_release(r);
  hlo_tensor_release(mixed[1]);
  hlo_tensor_release(bounds[0]);
  hlo_tensor_release(bounds[2]);
  for (int i = 0; i < 3; ++i) hlo_tensor_release(operands[i]);
  for (int i = 0; i < 2; ++i) hlo_tensor_release(kept[i]);
}

static void storage_of_a_dying_operand_is_reused(void** state) {
  hlo_test_fixture_t* f = *state;
  enum { N = 10000 };
  static float x[N];
  for (int i = 0; i < N; ++i) x[i] = (float)i;
  hlo_tensor_t* operands[] = {hlo_test_tensor_of(HLO_DTYPE_F32, N, x),
                              hlo_test_tensor_of(HLO_DTYPE_F32, N, x)};
  hlo_tensor_t* kept = hlo_tensor_retain(operands[0]);
  hlo_tensor_t* r = hlo_test_run_op(f, HLO_OP_subtract, 0, NULL, 2, operands, HLO_DTYPE_F32);
  assert_ptr_equal(r->data, operands[1]->data);
  for (int i = 0; i < N; ++i) assert_true(((float*)r->data)[i] == 0);
  assert_memory_equal(kept->data, x, sizeof x);
  hlo_tensor_release(kept);
  hlo_tensor_release(r);
  hlo_tensor_release(operands[0]);
  hlo_tensor_release(operands[1]);
}

static void chlo_broadcasts_to_the_common_shape(void** state) {
  hlo_test_fixture_t* f = *state;
  const int64_t matrix_dims[] = {2, 3}, row_dims[] = {3}, column_dims[] = {2};
  hlo_tensor_t* operands[2];
  assert_true(hlo_status_is_ok(hlo_tensor_create(HLO_DTYPE_S32, 2, matrix_dims, &operands[0])));
  assert_true(hlo_status_is_ok(hlo_tensor_create(HLO_DTYPE_S32, 1, row_dims, &operands[1])));
  memcpy(operands[0]->data, ((int32_t[]){1, 2, 3, 4, 5, 6}), 24);
  memcpy(operands[1]->data, ((int32_t[]){10, 20, 30}), 12);
  hlo_tensor_t* r =
      hlo_test_run_op(f, HLO_OP_chlo_broadcast_add, 0, NULL, 2, operands, HLO_DTYPE_S32);
  assert_memory_equal(r->data, ((int32_t[]){11, 22, 33, 14, 25, 36}), 24);
  hlo_tensor_release(r);
  hlo_tensor_release(operands[0]);
  hlo_tensor_release(operands[1]);
  assert_true(hlo_status_is_ok(hlo_tensor_create(HLO_DTYPE_S32, 1, column_dims, &operands[1])));
  memcpy(operands[1]->data, ((int32_t[]){10, 20}), 8);
  hlo_named_attr_t along = {HLO_ATTR_broadcast_dimensions,
                            hlo_attr_ints(f->module, 1, (int64_t[]){0})};
  assert_true(hlo_status_is_ok(hlo_tensor_create(HLO_DTYPE_S32, 2, matrix_dims, &operands[0])));
  memcpy(operands[0]->data, ((int32_t[]){1, 2, 3, 4, 5, 6}), 24);
  r = hlo_test_run_op(f, HLO_OP_chlo_broadcast_subtract, 1, &along, 2, operands, HLO_DTYPE_S32);
  assert_memory_equal(r->data, ((int32_t[]){-9, -8, -7, -16, -15, -14}), 24);
  hlo_tensor_release(r);
  hlo_tensor_release(operands[0]);
  hlo_tensor_release(operands[1]);
}

static void wrong_types_are_refused(void** state) {
  hlo_test_fixture_t* f = *state;
  hlo_tensor_t* x = hlo_test_tensor_of(HLO_DTYPE_S32, 1, (int32_t[]){1});
  hlo_tensor_t* y = hlo_test_tensor_of(HLO_DTYPE_F32, 2, (float[]){1, 2});
  hlo_tensor_t* out = NULL;
  const hlo_type_t* type = hlo_type_tensor(f->module, HLO_DTYPE_S32, 1, (int64_t[]){1});
  hlo_status_t status = hlo_test_run_op_types(f, HLO_OP_sine, 0, NULL, 1, &x, 1, &type, &out);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
  assert_non_null(strstr(hlo_status_message(status), "stablehlo.sine"));
  hlo_status_release(status);
  status =
      hlo_test_run_op_types(f, HLO_OP_add, 0, NULL, 2, (hlo_tensor_t*[]){x, y}, 1, &type, &out);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  hlo_tensor_release(x);
  hlo_tensor_release(y);
}

static void scalar_functions_match_loops(void** state) {
  (void)state;
  float x = 2.5f, y = -1.5f, r;
  const void* args[] = {&x, &y};
  hlo_ref_scalar(HLO_OP_add, HLO_DTYPE_F32)(args, &r);
  assert_true(r == 1.0f);
  uint8_t less;
  hlo_ref_scalar_compare(HLO_DTYPE_F32, HLO_COMPARISON_DIRECTION_LT, false)(args, &less);
  assert_int_equal(less, 0);
  assert_null(hlo_ref_scalar(HLO_OP_add, HLO_DTYPE_BF16));
  assert_null(hlo_ref_scalar(HLO_OP_reshape, HLO_DTYPE_F32));
  assert_null(hlo_ref_scalar(HLO_OP_count_leading_zeros, HLO_DTYPE_F32));
  int32_t sums[3] = {1, 2, 3}, more[3] = {10, 20, 30};
  const void* in[] = {sums, more};
  hlo_ref_loop(HLO_OP_add, HLO_DTYPE_S32)(in, sums, 3);
  assert_memory_equal(sums, ((int32_t[]){11, 22, 33}), 12);
}

// Arithmetic treats the third and fourth operand as zeros where subnormal numbers are flushed.
static const uint32_t kSmall[] = {0x00800000, 0x80c00000, 0x00000123, 0x807fffff, 0};
enum { SMALL_COUNT = sizeof kSmall / sizeof *kSmall };

static void expect_of_small(hlo_op_t op, hlo_dtype_t dtype, const uint32_t* other,
                            const uint32_t* wanted) {
  // The same distances in units in the last place, in f64 and bf16.
  uint64_t x[SMALL_COUNT] = {0}, y[SMALL_COUNT] = {0}, out[SMALL_COUNT] = {0}, want[SMALL_COUNT];
  const bool is_f64 = dtype == HLO_DTYPE_F64;
  const size_t width = hlo_dtype_size_bytes(dtype);
  for (int i = 0; i < SMALL_COUNT; ++i) {
    const uint32_t words[] = {kSmall[i], other[i], wanted[i]};
    uint64_t wide[3];
    for (int k = 0; k < 3; ++k) {
      const uint64_t size = words[k] & 0x7fffffff, sign = words[k] >> 31;
      wide[k] = is_f64 ? sign << 63 | size << 29 : words[k];
    }
    memcpy((char*)x + (size_t)i * width, &wide[0], width);
    memcpy((char*)y + (size_t)i * width, &wide[1], width);
    memcpy((char*)want + (size_t)i * width, &wide[2], width);
  }
  const void* in[] = {x, y};
  hlo_ref_loop(op, dtype)(in, out, SMALL_COUNT);
  for (int i = 0; i < SMALL_COUNT; ++i) {
    const size_t at = (size_t)i * width;
    if (memcmp((char*)out + at, (char*)want + at, width) == 0) continue;
    fail_msg("%s of %s, element %d", hlo_op_info(op)->name, hlo_dtype_info(dtype)->name, i);
  }
}

static void arithmetic_flushes_subnormal_numbers_and_moves_keep_them(void** state) {
  (void)state;
  static const uint32_t zeros[] = {0, 0, 0, 0, 0};
  static const uint32_t minus_ones[] = {0xbf800000, 0xbf800000, 0xbf800000, 0xbf800000, 0xbf800000};
  static const hlo_dtype_t types[] = {HLO_DTYPE_F32, HLO_DTYPE_F64};
  const hlo_fp_state_t before = hlo_fp_enter(HLO_SUBNORMALS_FLUSH);
  for (int t = 0; t < 2; ++t) {
    const uint32_t flushed[] = {0x00800000, 0x80c00000, 0, 0x80000000, 0};
    const uint32_t plus_zero[] = {0x00800000, 0x80c00000, 0, 0, 0};
    expect_of_small(HLO_OP_add, types[t], zeros, plus_zero);
    expect_of_small(HLO_OP_chlo_square, types[t], zeros, zeros);
    expect_of_small(HLO_OP_sine, types[t], zeros, flushed);
    if (t == 0) expect_of_small(HLO_OP_maximum, types[t], minus_ones, flushed);
    expect_of_small(HLO_OP_maximum, types[t], zeros, (uint32_t[]){0x00800000, 0, 0, 0, 0});
    expect_of_small(HLO_OP_minimum, types[t], zeros, (uint32_t[]){0, 0x80c00000, 0, 0x80000000, 0});
    expect_of_small(HLO_OP_abs, types[t], zeros,
                    (uint32_t[]){0x00800000, 0x00c00000, 0x00000123, 0x007fffff, 0});
    expect_of_small(HLO_OP_negate, types[t], zeros,
                    (uint32_t[]){0x80800000, 0x00c00000, 0x80000123, 0x007fffff, 0x80000000});
  }
  const uint32_t ones[] = {0x3f800000, 0xbf800000, 0, 0x80000000, 0};
  expect_of_small(HLO_OP_sign, HLO_DTYPE_F32, zeros, ones);
  expect_of_small(HLO_OP_ceil, HLO_DTYPE_F32, zeros,
                  (uint32_t[]){0x3f800000, 0x80000000, 0, 0x80000000, 0});
  expect_of_small(HLO_OP_chlo_next_after, HLO_DTYPE_F32, zeros,
                  (uint32_t[]){0x007fffff, 0x80bfffff, 0x122, 0x807ffffe, 0});
  hlo_fp_leave(before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(integers_wrap_and_divide_as_xla, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(sub_byte_integers_stay_in_range, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(powers_shifts_and_high_products, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(maximum_and_minimum_order_nan_and_zeros,
                                      hlo_test_fixture_setup, hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(narrow_floats_round_once, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(next_after_steps_by_one_code, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(comparisons_have_both_orders, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(select_and_clamp_take_scalars, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(storage_of_a_dying_operand_is_reused, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(chlo_broadcasts_to_the_common_shape, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(wrong_types_are_refused, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test(arithmetic_flushes_subnormal_numbers_and_moves_keep_them),
      cmocka_unit_test_setup_teardown(scalar_functions_match_loops, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
