// SPDX-License-Identifier: Apache-2.0
// convert, bitcast_convert, reduce_precision, stochastic_convert, iota, constants, quantization.
#include "interp/ref_test_util.h"

static const hlo_type_t* type_of(hlo_test_fixture_t* f, hlo_dtype_t dtype, uint32_t rank,
                                 const int64_t* dims) {
  return hlo_type_tensor(f->module, dtype, rank, dims);
}

static hlo_tensor_t* run_one(hlo_test_fixture_t* f, hlo_op_t op, uint32_t attr_count,
                             const hlo_named_attr_t* attrs, hlo_tensor_t* operand,
                             const hlo_type_t* type) {
  hlo_tensor_t* out = NULL;
  hlo_status_t status =
      hlo_test_run_op_types(f, op, attr_count, attrs, operand ? 1 : 0, &operand, 1, &type, &out);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return out;
}

static void conversions_saturate_and_wrap(void** state) {
  hlo_test_fixture_t* f = *state;
  const float x[] = {1e10f, -1e10f, NAN, -1.9f};
  int32_t r[4];
  hlo_test_run_arrays(f, HLO_OP_convert, HLO_DTYPE_F32, 4, x, NULL, HLO_DTYPE_S32, r);
  assert_memory_equal(r, ((int32_t[]){INT32_MAX, INT32_MIN, 0, -1}), sizeof r);
  const int32_t y[] = {257, -1, 0};
  uint8_t narrow[3], truth[3];
  hlo_test_run_arrays(f, HLO_OP_convert, HLO_DTYPE_S32, 3, y, NULL, HLO_DTYPE_U8, narrow);
  assert_memory_equal(narrow, ((uint8_t[]){1, 255, 0}), 3);
  hlo_test_run_arrays(f, HLO_OP_convert, HLO_DTYPE_S32, 3, y, NULL, HLO_DTYPE_PRED, truth);
  assert_memory_equal(truth, ((uint8_t[]){1, 1, 0}), 3);
}

static void bitcasts_split_and_join(void** state) {
  hlo_test_fixture_t* f = *state;
  hlo_tensor_t* words = hlo_test_tensor_of(HLO_DTYPE_U32, 2, (uint32_t[]){0x03020100, 0x07060504});
  hlo_tensor_t* bytes = run_one(f, HLO_OP_bitcast_convert, 0, NULL, words,
                                type_of(f, HLO_DTYPE_U8, 2, (int64_t[]){2, 4}));
  assert_memory_equal(bytes->data, ((uint8_t[]){0, 1, 2, 3, 4, 5, 6, 7}), 8);
  hlo_tensor_t* nibbles = run_one(f, HLO_OP_bitcast_convert, 0, NULL, bytes,
                                  type_of(f, HLO_DTYPE_S4, 3, (int64_t[]){2, 4, 2}));
  assert_memory_equal(nibbles->data, ((int8_t[]){0, 0, 1, 0, 2, 0, 3, 0}), 8);
  hlo_tensor_t* joined = run_one(f, HLO_OP_bitcast_convert, 0, NULL, nibbles,
                                 type_of(f, HLO_DTYPE_U8, 2, (int64_t[]){2, 4}));
  assert_memory_equal(joined->data, bytes->data, 8);
  hlo_tensor_t* again = run_one(f, HLO_OP_bitcast_convert, 0, NULL, joined,
                                type_of(f, HLO_DTYPE_U32, 1, (int64_t[]){2}));
  assert_memory_equal(again->data, words->data, 8);
  hlo_tensor_t* negative = hlo_test_tensor_of(HLO_DTYPE_U4, 2, (uint8_t[]){0xf, 7});
  hlo_tensor_t* as_signed = run_one(f, HLO_OP_bitcast_convert, 0, NULL, negative,
                                    type_of(f, HLO_DTYPE_S4, 1, (int64_t[]){2}));
  assert_memory_equal(as_signed->data, ((int8_t[]){-1, 7}), 2);
  hlo_tensor_t* all[] = {words, bytes, nibbles, joined, again, negative, as_signed};
  for (int i = 0; i < 7; ++i) hlo_tensor_release(all[i]);
}

static void precision_is_reduced_to_f16_and_e5m0(void** state) {
  hlo_test_fixture_t* f = *state;
  const double x[] = {INFINITY, NAN, 0x1p-1074, 65505, 65520, -1e-8};
  hlo_tensor_t* operand = hlo_test_tensor_of(HLO_DTYPE_F64, 6, x);
  hlo_tensor_t* kept = hlo_tensor_retain(operand);
  hlo_named_attr_t attrs[] = {{HLO_ATTR_exponent_bits, hlo_attr_int(f->module, HLO_DTYPE_S32, 5)},
                              {HLO_ATTR_mantissa_bits, hlo_attr_int(f->module, HLO_DTYPE_S32, 10)}};
  hlo_tensor_t* r =
      hlo_test_run_op(f, HLO_OP_reduce_precision, 2, attrs, 1, &operand, HLO_DTYPE_F64);
  const double* got = r->data;
  assert_true(got[0] == INFINITY && isnan(got[1]) && got[2] == 0 && got[3] == 65504 &&
              got[4] == INFINITY && got[5] == 0 && signbit(got[5]));
  hlo_tensor_release(r);
  attrs[1].value = hlo_attr_int(f->module, HLO_DTYPE_S32, 0);
  r = hlo_test_run_op(f, HLO_OP_reduce_precision, 2, attrs, 1, &operand, HLO_DTYPE_F64);
  assert_true(((double*)r->data)[1] == INFINITY && ((double*)r->data)[3] == INFINITY);
  hlo_tensor_release(r);
  hlo_tensor_release(operand);
  hlo_tensor_release(kept);
}

static void stochastic_rounding_follows_the_fraction(void** state) {
  hlo_test_fixture_t* f = *state;
  const float x[] = {1.5f, 1.5f, -1.5f, NAN, 300.0f};
  const uint32_t random[] = {0x7fffffff, 0x80000000, 0, 0, 0};
  hlo_tensor_t* operands[] = {hlo_test_tensor_of(HLO_DTYPE_F32, 5, x),
                              hlo_test_tensor_of(HLO_DTYPE_U32, 5, random)};
  hlo_tensor_t* r =
      hlo_test_run_op(f, HLO_OP_hlo_stochastic_convert, 0, NULL, 2, operands, HLO_DTYPE_S8);
  assert_memory_equal(r->data, ((int8_t[]){2, 1, -2, 0, 127}), 5);
  hlo_tensor_release(r);
  hlo_tensor_release(operands[0]);
  hlo_tensor_release(operands[1]);
}

static void iota_counts_along_its_dimension(void** state) {
  hlo_test_fixture_t* f = *state;
  hlo_named_attr_t along = {HLO_ATTR_iota_dimension, hlo_attr_int(f->module, HLO_DTYPE_S64, 1)};
  const hlo_type_t* type = type_of(f, HLO_DTYPE_F32, 3, (int64_t[]){2, 3, 2});
  hlo_tensor_t* r = run_one(f, HLO_OP_iota, 1, &along, NULL, type);
  assert_memory_equal(r->data, ((float[]){0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}), 48);
  hlo_tensor_release(r);
  along.value = hlo_attr_int(f->module, HLO_DTYPE_S64, 0);
  r = run_one(f, HLO_OP_iota, 1, &along, NULL, type_of(f, HLO_DTYPE_S32, 1, (int64_t[]){1000}));
  for (int32_t i = 0; i < 1000; ++i) assert_int_equal(((int32_t*)r->data)[i], i);
  hlo_tensor_release(r);
}

static void quantization_goes_by_the_parameters_of_the_axis(void** state) {
  hlo_test_fixture_t* f = *state;
  const hlo_quant_t quant = {.storage = HLO_DTYPE_S8,
                             .expressed = HLO_DTYPE_F32,
                             .storage_min = -128,
                             .storage_max = 127,
                             .axis = 0,
                             .count = 2,
                             .scales = (double[]){0.1, 0.5},
                             .zero_points = (int64_t[]){-30, -20}};
  hlo_type_t fields = *type_of(f, HLO_DTYPE_S8, 1, (int64_t[]){2});
  fields.quant = &quant;
  const hlo_type_t* type = hlo_type_intern(f->module, &fields);
  hlo_tensor_t* x = hlo_test_tensor_of(HLO_DTYPE_F32, 2, (float[]){4, 15});
  hlo_tensor_t* q = run_one(f, HLO_OP_uniform_quantize, 0, NULL, x, type);
  assert_memory_equal(q->data, ((int8_t[]){10, 10}), 2);
  hlo_tensor_t* back = run_one(f, HLO_OP_uniform_dequantize, 0, NULL, q,
                               type_of(f, HLO_DTYPE_F32, 1, (int64_t[]){2}));
  assert_memory_equal(back->data, ((float[]){4, 15}), 8);
  hlo_tensor_t* sum = NULL;
  hlo_status_t status =
      hlo_test_run_op_types(f, HLO_OP_add, 0, NULL, 2, (hlo_tensor_t*[]){q, q}, 1, &type, &sum);
  assert_true(hlo_status_is_ok(status));
  assert_memory_equal(sum->data, ((int8_t[]){50, 40}), 2);
  hlo_tensor_t* all[] = {x, q, back, sum};
  for (int i = 0; i < 4; ++i) hlo_tensor_release(all[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(conversions_saturate_and_wrap, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(bitcasts_split_and_join, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(precision_is_reduced_to_f16_and_e5m0, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(stochastic_rounding_follows_the_fraction,
                                      hlo_test_fixture_setup, hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(iota_counts_along_its_dimension, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(quantization_goes_by_the_parameters_of_the_axis,
                                      hlo_test_fixture_setup, hlo_test_fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
