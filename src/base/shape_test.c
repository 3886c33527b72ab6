// SPDX-License-Identifier: Apache-2.0
// Tests of shapes, layouts and the copies between them, each against the plain element offset.
#include "base/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (part && !strstr(hlo_status_message(status), part)) {
    fail_msg("\"%s\" does not hold \"%s\"", hlo_status_message(status), part);
  }
  hlo_status_release(status);
}

static hlo_shape_t shape_of(hlo_dtype_t dtype, size_t rank, const int64_t* dims) {
  hlo_shape_t shape;
  expect(hlo_shape_init(&shape, dtype, dims, rank), HLO_STATUS_OK, NULL);
  return shape;
}

static hlo_layout_t layout_of(const char* text) {
  hlo_layout_t layout;
  expect(hlo_layout_parse(text, strlen(text), &layout), HLO_STATUS_OK, NULL);
  return layout;
}

static void test_shapes(void** state) {
  (void)state;
  hlo_shape_t shape = shape_of(HLO_DTYPE_F32, 3, (int64_t[]){2, 3, 4});
  assert_int_equal(shape.element_count, 24);
  assert_int_equal(shape.size_bytes, 96);
  shape = shape_of(HLO_DTYPE_F64, 3, (int64_t[]){1ll << 40, 1ll << 40, 0});
  assert_int_equal(shape.size_bytes, 0);
  assert_int_equal(shape_of(HLO_DTYPE_C128, 0, NULL).size_bytes, 16);
  expect(hlo_shape_init(&shape, HLO_DTYPE_F32, (int64_t[]){1ll << 61}, 1),
         HLO_STATUS_INVALID_ARGUMENT, NULL);
  expect(hlo_shape_init(&shape, HLO_DTYPE_S8, (int64_t[]){1ll << 62, 1ll << 62}, 2),
         HLO_STATUS_INVALID_ARGUMENT, "2^63");
  expect(hlo_shape_init(&shape, HLO_DTYPE_S8, (int64_t[]){3, -1}, 2), HLO_STATUS_INVALID_ARGUMENT,
         "dimension 1 is -1");
  int64_t many[65] = {0};
  expect(hlo_shape_init(&shape, HLO_DTYPE_S8, many, 65), HLO_STATUS_INVALID_ARGUMENT, "at most 64");
}

static void test_layout_text(void** state) {
  (void)state;
  static const char* const kGood[] = {
      "{}", "{0}", "{1,0}", "{1,0:T(8,128)}", "{2,0,1:T(8,128)(4,1)E(4)}", "{0:E(2)}", "{:T(256)}"};
  for (size_t i = 0; i < sizeof kGood / sizeof kGood[0]; ++i) {
    hlo_layout_t layout = layout_of(kGood[i]);
    hlo_strbuf_t text = {0};
    hlo_layout_print(&layout, &text);
    assert_string_equal(hlo_strbuf_text(&text), kGood[i]);
    hlo_strbuf_deinit(&text);
    assert_true(hlo_layout_equal(&layout, &layout));
  }
  static const char* const kBad[] = {"",
                                     "{",
                                     "{1,}",
                                     "{1,0",
                                     "{1,0}x",
                                     "{64}",
                                     "{0:}",
                                     "{0:T}",
                                     "{0:T()}",
                                     "{0:E()}",
                                     "{0:T(1}",
                                     "{0:T(1)(2)(3)(4)(5)}",
                                     "{99999999999999999999}"};
  for (size_t i = 0; i < sizeof kBad / sizeof kBad[0]; ++i) {
    hlo_layout_t layout;
    expect(hlo_layout_parse(kBad[i], strlen(kBad[i]), &layout), HLO_STATUS_INVALID_ARGUMENT,
           "column");
  }
}

static void test_layout_checks(void** state) {
  (void)state;
  hlo_shape_t shape = shape_of(HLO_DTYPE_F32, 2, (int64_t[]){3, 5});
  hlo_layout_t layout = layout_of("{1,1}");
  expect(hlo_layout_verify(&layout, &shape), HLO_STATUS_INVALID_ARGUMENT, "no permutation");
  layout = layout_of("{0}");
  expect(hlo_layout_verify(&layout, &shape), HLO_STATUS_INVALID_ARGUMENT, "1 dimensions");
  layout = layout_of("{1,0:E(4)}");
  expect(hlo_layout_verify(&layout, &shape), HLO_STATUS_INVALID_ARGUMENT, "4 bits");
  layout = layout_of("{1,0:T(2,2,2)}");
  expect(hlo_layout_verify(&layout, &shape), HLO_STATUS_INVALID_ARGUMENT, "tile 0");
  layout = layout_of("{1,0:T(0)}");
  expect(hlo_layout_verify(&layout, &shape), HLO_STATUS_INVALID_ARGUMENT, "tile 0");

  // The example of XLA's description: F32[3,5] with 2x2 tiles; element (2,3) lies at 17.
  layout = layout_of("{1,0:T(2,2)}");
  expect(hlo_layout_verify(&layout, &shape), HLO_STATUS_OK, NULL);
  assert_int_equal(hlo_layout_element_offset(&layout, &shape, (int64_t[]){2, 3}), 17);
  size_t size = 0;
  expect(hlo_layout_size_bytes(&layout, &shape, &size), HLO_STATUS_OK, NULL);
  assert_int_equal(size, 2 * 3 * 4 * sizeof(float));
  layout = layout_of("{1,0:T(2000000000,2000000000)}");
  expect(hlo_layout_size_bytes(&layout, &shape, &size), HLO_STATUS_INVALID_ARGUMENT, "2^63");

  int64_t strides[2];
  layout = layout_of("{0,1}");
  assert_true(hlo_layout_byte_strides(&layout, &shape, strides));
  assert_int_equal(strides[0], 4);
  assert_int_equal(strides[1], 12);
  hlo_layout_t back;
  assert_true(hlo_layout_from_byte_strides(&shape, strides, &back));
  assert_true(hlo_layout_equal(&layout, &back));
  assert_false(hlo_layout_from_byte_strides(&shape, (int64_t[]){24, 4}, &back));
  assert_false(hlo_layout_is_row_major(&layout));
  hlo_shape_t ones = shape_of(HLO_DTYPE_F32, 3, (int64_t[]){1, 4, 1});
  assert_true(hlo_layout_from_byte_strides(&ones, (int64_t[]){16, 4, 4}, &back));
}

// Fills a buffer of a layout with the row-major number of each element, or checks it.
static void visit(const hlo_shape_t* shape, const hlo_layout_t* layout, uint8_t* data, bool fill) {
  int64_t index[HLO_SHAPE_RANK_LIMIT] = {0};
  unsigned bits = layout->element_bits ? layout->element_bits
                                       : 8 * (unsigned)hlo_dtype_size_bytes(shape->dtype);
  for (size_t i = 0; i < shape->element_count; ++i) {
    uint64_t offset = hlo_layout_element_offset(layout, shape, index);
    if (bits < 8) {
      uint8_t* byte = data + offset * bits / 8;
      unsigned shift = (unsigned)(offset * bits % 8), mask = (1u << bits) - 1;
      if (fill) {
        *byte = (uint8_t)((*byte & ~(mask << shift)) | ((i & mask) << shift));
      } else {
        assert_int_equal(*byte >> shift & mask, i & mask);
      }
    } else {
      uint8_t bytes[16] = {0};
      uint64_t value =
          bits == 8 ? i & (layout->element_bits || shape->dtype == HLO_DTYPE_U8 ? 0xff : 0xf) : i;
      memcpy(bytes, &value, sizeof value);
      if (fill) {
        memcpy(data + offset * bits / 8, bytes, bits / 8);
      } else {
        assert_memory_equal(data + offset * bits / 8, bytes, bits / 8);
      }
    }
    for (uint32_t d = shape->rank; d-- > 0;) {
      if (++index[d] < shape->dims[d]) break;
      index[d] = 0;
    }
  }
}

static hlo_copy_kind_t check_copy(const hlo_shape_t* shape, const char* in_text,
                                  const char* out_text) {
  hlo_layout_t in_layout = layout_of(in_text), out_layout = layout_of(out_text);
  size_t in_size, out_size;
  expect(hlo_layout_size_bytes(&in_layout, shape, &in_size), HLO_STATUS_OK, NULL);
  expect(hlo_layout_size_bytes(&out_layout, shape, &out_size), HLO_STATUS_OK, NULL);
  uint8_t* in = calloc(1, in_size + 1);
  uint8_t* out = malloc(out_size + 1);
  assert_true(in && out);
  memset(out, 0xa5, out_size + 1);
  visit(shape, &in_layout, in, true);
  hlo_copy_plan_t plan;
  expect(hlo_copy_plan_init(&plan, shape, (hlo_copy_side_t){.layout = &in_layout},
                            (hlo_copy_side_t){.layout = &out_layout}),
         HLO_STATUS_OK, NULL);
  hlo_copy_run(&plan, in, out);
  visit(shape, &out_layout, out, false);
  assert_int_equal(out[out_size], 0xa5);
  free(in);
  free(out);
  return plan.kind;
}

static void test_copies_between_layouts(void** state) {
  (void)state;
  static const hlo_dtype_t kTypes[] = {HLO_DTYPE_U8, HLO_DTYPE_U16, HLO_DTYPE_U32, HLO_DTYPE_U64,
                                       HLO_DTYPE_C128};
  static const char* const kOrders[] = {"{3,2,1,0}", "{0,1,2,3}", "{3,1,2,0}",
                                        "{1,3,2,0}", "{2,3,0,1}", "{3,0,1,2}"};
  static const int64_t kDims[][4] = {
      {2, 3, 4, 5}, {1, 17, 1, 33}, {3, 1, 40, 18}, {5, 2, 1, 1}, {2, 0, 3, 4}};
  for (size_t t = 0; t < 5; ++t) {
    for (size_t s = 0; s < 5; ++s) {
      hlo_shape_t shape = shape_of(kTypes[t], 4, kDims[s]);
      for (size_t i = 0; i < 6; ++i) {
        for (size_t j = 0; j < 6; ++j) check_copy(&shape, kOrders[i], kOrders[j]);
      }
    }
  }
  hlo_shape_t square = shape_of(HLO_DTYPE_U32, 2, (int64_t[]){100, 70});
  assert_int_equal(check_copy(&square, "{1,0}", "{0,1}"), HLO_COPY_KIND_TRANSPOSE);
  assert_int_equal(check_copy(&square, "{1,0}", "{1,0}"), HLO_COPY_KIND_BYTES);
  assert_int_equal(check_copy(&square, "{1,0}", "{1,0:T(8,16)}"), HLO_COPY_KIND_ELEMENTS);
  assert_int_equal(check_copy(&square, "{0,1:T(8,16)(2,1)}", "{1,0:T(7)}"), HLO_COPY_KIND_ELEMENTS);
  hlo_shape_t cube = shape_of(HLO_DTYPE_U32, 3, (int64_t[]){6, 7, 8});
  assert_int_equal(check_copy(&cube, "{2,1,0}", "{2,0,1}"), HLO_COPY_KIND_RUNS);
}

static void test_packed_copies(void** state) {
  (void)state;
  hlo_shape_t shape = shape_of(HLO_DTYPE_U4, 2, (int64_t[]){5, 7});
  assert_int_equal(check_copy(&shape, "{1,0}", "{1,0:E(4)}"), HLO_COPY_KIND_PACK);
  assert_int_equal(check_copy(&shape, "{1,0:E(4)}", "{1,0}"), HLO_COPY_KIND_UNPACK);
  assert_int_equal(check_copy(&shape, "{1,0}", "{0,1:E(4)}"), HLO_COPY_KIND_ELEMENTS);
  assert_int_equal(check_copy(&shape, "{0,1:E(4)}", "{1,0:E(4)}"), HLO_COPY_KIND_ELEMENTS);
  assert_int_equal(check_copy(&shape, "{1,0:T(2,4)E(4)}", "{1,0}"), HLO_COPY_KIND_ELEMENTS);
  // A sign comes back.
  hlo_shape_t s2 = shape_of(HLO_DTYPE_S2, 1, (int64_t[]){3});
  hlo_layout_t packed = layout_of("{0:E(2)}");
  hlo_copy_plan_t plan;
  expect(hlo_copy_plan_init(&plan, &s2, (hlo_copy_side_t){.layout = &packed}, (hlo_copy_side_t){0}),
         HLO_STATUS_OK, NULL);
  int8_t out[3];
  hlo_copy_run(&plan, (uint8_t[]){0x1e}, out);
  assert_true(out[0] == -2 && out[1] == -1 && out[2] == 1);
}

static void test_strided_host_arrays(void** state) {
  (void)state;
  int32_t data[4 * 6], out[12];
  for (int i = 0; i < 24; ++i) data[i] = i;
  hlo_shape_t shape = shape_of(HLO_DTYPE_S32, 2, (int64_t[]){4, 3});
  hlo_copy_plan_t plan;
  int64_t every_other[] = {24, 8};
  expect(hlo_copy_plan_init(&plan, &shape, (hlo_copy_side_t){.byte_strides = every_other},
                            (hlo_copy_side_t){0}),
         HLO_STATUS_OK, NULL);
  hlo_copy_run(&plan, data, out);
  for (int i = 0; i < 12; ++i) assert_int_equal(out[i], i / 3 * 6 + i % 3 * 2);
  int64_t backwards[] = {-24, 8};
  expect(hlo_copy_plan_init(&plan, &shape, (hlo_copy_side_t){.byte_strides = backwards},
                            (hlo_copy_side_t){0}),
         HLO_STATUS_OK, NULL);
  hlo_copy_run(&plan, data + 18, out);
  for (int i = 0; i < 12; ++i) assert_int_equal(out[i], (3 - i / 3) * 6 + i % 3 * 2);
  int64_t broadcast[] = {0, 4};
  expect(hlo_copy_plan_init(&plan, &shape, (hlo_copy_side_t){.byte_strides = broadcast},
                            (hlo_copy_side_t){0}),
         HLO_STATUS_OK, NULL);
  hlo_copy_run(&plan, data, out);
  for (int i = 0; i < 12; ++i) assert_int_equal(out[i], i % 3);
  expect(hlo_copy_plan_init(&plan, &shape, (hlo_copy_side_t){0},
                            (hlo_copy_side_t){.byte_strides = broadcast}),
         HLO_STATUS_INVALID_ARGUMENT, "overlap");
  hlo_layout_t tiled = layout_of("{1,0:T(2,2)}");
  expect(hlo_copy_plan_init(&plan, &shape, (hlo_copy_side_t){.byte_strides = every_other},
                            (hlo_copy_side_t){.layout = &tiled}),
         HLO_STATUS_UNIMPLEMENTED, "gaps");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),        cmocka_unit_test(test_layout_text),
      cmocka_unit_test(test_layout_checks), cmocka_unit_test(test_copies_between_layouts),
      cmocka_unit_test(test_packed_copies), cmocka_unit_test(test_strided_host_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
