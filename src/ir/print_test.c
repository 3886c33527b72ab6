// SPDX-License-Identifier: Apache-2.0
// Tests of the printer on modules built with the builders; parse_test.c covers the round trip.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "ir/print.h"

static hlo_module_t* new_module(void) {
  hlo_module_t* module = NULL;
  assert_true(hlo_status_is_ok(hlo_module_create(0, &module)));
  return module;
}

static void expect_type(const hlo_type_t* type, const char* text) {
  hlo_strbuf_t out = {0};
  hlo_print_type(type, &out);
  assert_string_equal(hlo_strbuf_text(&out), text);
  hlo_strbuf_deinit(&out);
}

static void expect_attr(const hlo_attr_t* attr, const char* text) {
  hlo_strbuf_t out = {0};
  hlo_print_attr(attr, &out);
  assert_string_equal(hlo_strbuf_text(&out), text);
  hlo_strbuf_deinit(&out);
}

static void test_types(void** state) {
  (void)state;
  hlo_module_t* m = new_module();
  int64_t dims[] = {2, HLO_DIM_DYNAMIC}, bounds[] = {HLO_DIM_DYNAMIC, 5};
  double scales[] = {0.5, 2.0};
  int64_t zeros[] = {0, -3};
  hlo_quant_t quant = {HLO_DTYPE_S8, HLO_DTYPE_F32, -127, 127, 1, 2, scales, zeros};
  hlo_type_t bounded = {
      .kind = HLO_TYPE_TENSOR, .dtype = HLO_DTYPE_F32, .rank = 2, .dims = dims, .bounds = bounds};
  hlo_type_t quantized = {
      .kind = HLO_TYPE_TENSOR, .dtype = HLO_DTYPE_S8, .rank = 2, .dims = dims, .quant = &quant};
  const hlo_type_t* f32 = hlo_type_tensor(m, HLO_DTYPE_F32, 0, NULL);
  const hlo_type_t* pair[] = {f32, hlo_type_token(m)};
  expect_type(hlo_type_tensor(m, HLO_DTYPE_C64, 2, dims), "tensor<2x?xcomplex<f32>>");
  expect_type(hlo_type_intern(m, &bounded), "tensor<2x?xf32, #stablehlo.bounds<?, 5>>");
  expect_type(hlo_type_intern(m, &quantized),
              "tensor<2x?x!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01, 2.000000e+00:-3}>>");
  expect_type(hlo_type_tuple(m, 2, pair), "tuple<tensor<f32>, !stablehlo.token>");
  expect_type(hlo_type_function(m, 1, pair, 1, &f32), "(tensor<f32>) -> tensor<f32>");
  expect_type(hlo_type_function(m, 0, NULL, 2, pair), "() -> (tensor<f32>, !stablehlo.token)");
  hlo_module_release(m);
}

static void test_attributes(void** state) {
  (void)state;
  hlo_module_t* m = new_module();
  int64_t values[] = {1, -2, 3, 4};
  const char* keys[] = {"b c", "a"};
  const hlo_attr_t* items[] = {hlo_attr_unit(m), hlo_attr_int(m, HLO_DTYPE_S32, -7)};
  expect_attr(hlo_attr_dict(m, 2, keys, items), "{a = -7 : i32, \"b c\"}");
  expect_attr(hlo_attr_array(m, 2, items), "[unit, -7 : i32]");
  expect_attr(hlo_attr_ints(m, 3, values), "array<i64: 1, -2, 3>");
  expect_attr(hlo_attr_ints(m, 0, values), "array<i64>");
  expect_attr(hlo_attr_matrix(m, 2, 2, values), "dense<[[1, -2], [3, 4]]> : tensor<2x2xi64>");
  expect_attr(hlo_attr_matrix(m, 0, 2, values), "dense<> : tensor<0x2xi64>");
  expect_attr(hlo_attr_string(m, "a\"\\\n\x80", 5), "\"a\\22\\\\\\0A\\80\"");
  expect_attr(hlo_attr_symbol(m, "f::g h", 6), "@f::@\"g h\"");
  expect_attr(hlo_attr_float(m, HLO_DTYPE_F32, 0.1f), "1.000000e-01 : f32");
  expect_attr(hlo_attr_float(m, HLO_DTYPE_F64, 1.0 / 3), "3.3333333333333331e-01 : f64");
  expect_attr(hlo_attr_float(m, HLO_DTYPE_F32, INFINITY), "0x7F800000 : f32");
  expect_attr(hlo_attr_enum(m, HLO_ENUM_COMPARISON_DIRECTION, HLO_COMPARISON_DIRECTION_LT),
              "#stablehlo<comparison_direction LT>");
  hlo_module_release(m);
}

static void expect_literal(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims, const void* data,
                           const char* text) {
  hlo_literal_t* literal = NULL;
  assert_true(hlo_status_is_ok(hlo_literal_create(dtype, rank, dims, false, &literal)));
  memcpy(hlo_literal_mutable_data(literal), data, literal->data_bytes);
  hlo_strbuf_t out = {0};
  hlo_print_literal(literal, &out);
  assert_string_equal(hlo_strbuf_text(&out), text);
  hlo_strbuf_deinit(&out);
  hlo_literal_release(literal);
}

static void test_literals(void** state) {
  (void)state;
  int64_t dims[] = {2, 2}, empty[] = {2, 0};
  expect_literal(HLO_DTYPE_S32, 2, dims, (int32_t[]){1, 2, 3, -4}, "[[1, 2], [3, -4]]");
  expect_literal(HLO_DTYPE_S32, 2, dims, (int32_t[]){5, 5, 5, 5}, "5");
  expect_literal(HLO_DTYPE_U64, 0, NULL, (uint64_t[]){UINT64_MAX}, "18446744073709551615");
  expect_literal(HLO_DTYPE_S32, 2, empty, (int32_t[]){0}, "");
  expect_literal(HLO_DTYPE_PRED, 1, dims, (uint8_t[]){1, 0}, "[true, false]");
  expect_literal(HLO_DTYPE_C64, 0, NULL, (float[]){1.0f, -0.0f}, "(1.000000e+00,-0.000000e+00)");
  expect_literal(HLO_DTYPE_BF16, 0, NULL, (uint16_t[]){0x7FC0}, "0x7FC0");
  expect_literal(HLO_DTYPE_F8E4M3FN, 0, NULL, (uint8_t[]){0x38}, "1.000000e+00");
}

static hlo_node_t* append_node(hlo_region_t* region, const hlo_node_spec_t* spec) {
  hlo_node_t* node = hlo_node_create(region->module, spec);
  hlo_region_append(region, node);
  return node;
}

static void test_module(void** state) {
  (void)state;
  hlo_module_t* m = new_module();
  const hlo_type_t* t = hlo_type_tensor(m, HLO_DTYPE_F32, 0, NULL);
  const hlo_type_t* both[] = {t, t};
  hlo_func_t* f = hlo_func_create(m, "main", hlo_type_function(m, 2, both, 1, both), HLO_PUBLIC,
                                  true, hlo_module_loc_file(m, "a.py", 4, 3, 1));
  hlo_loc_t name = hlo_module_loc(
      m, &(hlo_loc_info_t){
             .kind = HLO_LOC_NAME, .text = "sum", .child_count = 1, .children = &f->loc});
  hlo_node_t* sum = append_node(f->body, &(hlo_node_spec_t){.op = HLO_OP_add,
                                                            .loc = name,
                                                            .operand_count = 2,
                                                            .operands = f->body->args,
                                                            .result_count = 1,
                                                            .result_types = both});
  hlo_value_t* operands[] = {&sum->results[0], f->body->args[1]};
  hlo_node_t* odd = append_node(f->body, &(hlo_node_spec_t){.op = HLO_OP_add,
                                                            .operand_count = 2,
                                                            .operands = operands,
                                                            .result_count = 2,
                                                            .result_types = both});
  operands[0] = &odd->results[1];
  append_node(f->body, &(hlo_node_spec_t){
                           .op = HLO_OP_func_return, .operand_count = 1, .operands = operands});
  hlo_strbuf_t out = {0};
  hlo_print_module(m, NULL, &out);
  assert_string_equal(hlo_strbuf_text(&out),
                      "module {\n"
                      "  func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {\n"
                      "    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>\n"
                      "    %1:2 = \"stablehlo.add\"(%0, %arg1) : (tensor<f32>, tensor<f32>) -> "
                      "(tensor<f32>, tensor<f32>)\n"
                      "    return %1#1 : tensor<f32>\n"
                      "  }\n"
                      "}\n");
  out.length = 0;
  hlo_print_node(m, sum, &(hlo_print_options_t){.locations = true, .generic = true}, &out);
  assert_string_equal(hlo_strbuf_text(&out),
                      "%0 = \"stablehlo.add\"(%arg0, %arg1) : (tensor<f32>, tensor<f32>) -> "
                      "tensor<f32> loc(#loc0)\n#loc0 = loc(\"sum\"(\"a.py\":3:1))\n");
  hlo_strbuf_deinit(&out);
  hlo_module_release(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_literals),
      cmocka_unit_test(test_module),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
