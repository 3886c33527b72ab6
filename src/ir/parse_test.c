// SPDX-License-Identifier: Apache-2.0
// Tests of the parser: canonical text round-trips, other spellings come back in canonical form,
// faults are reported at their location.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/print.h"

static char* round_trip(const char* text, const hlo_print_options_t* options) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, strlen(text), "t.mlir", NULL, &module);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", hlo_status_message(status), text);
  hlo_strbuf_t out = {0};
  hlo_print_module(module, options, &out);
  hlo_module_release(module);
  return hlo_strbuf_take(&out);
}

static void expect_text(const char* text, const char* canonical) {
  char* printed = round_trip(text, NULL);
  assert_string_equal(printed, canonical);
  hlo_mem_free(printed);
}

// The op's line in a function whose arguments have all kinds of types.
#define HEAD                                                                                      \
  "module {\n"                                                                                    \
  "  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, "            \
  "%arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, "     \
  "%arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, " \
  "%arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {\n"   \
  "    "
#define TAIL "\n    return\n  }\n}\n"

static void expect_op(const char* op, const char* canonical) {
  char text[8192], wanted[8192];
  snprintf(text, sizeof text, "%s%s%s", HEAD, op, TAIL);
  snprintf(wanted, sizeof wanted, "%s%s%s", HEAD, canonical ? canonical : op, TAIL);
  expect_text(text, wanted);
  char* generic = round_trip(text, &(hlo_print_options_t){.generic = true});
  expect_text(generic, wanted);
  hlo_mem_free(generic);
}

// Pretty forms as they are printed; the test also prints them in generic form and parses that.
static const char* const kOps[] = {
    "%0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>",
    "%0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>",
    "%0 = stablehlo.abs %arg0 {note = \"x\"} : tensor<4xf32>",
    "%0 = stablehlo.complex %arg0, %arg1 : tensor<4xcomplex<f32>>",
    "%0 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> "
    "tensor<4xi1>",
    "%0 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
    "%0 = stablehlo.select %arg3, %arg0, %arg1 : tensor<4xi1>, tensor<4xf32>",
    "%0 = stablehlo.clamp %arg2, %arg0, %arg2 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> "
    "tensor<4xf32>",
    "%0 = stablehlo.constant dense<[1, -2]> : tensor<2xi8>",
    "%0 = stablehlo.constant {a = 1 : i64} dense<2.500000e+00> : tensor<3xf32>",
    "%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>",
    "%0 = stablehlo.slice %arg4 [0:2, 1:3:2, 0:0] : (tensor<2x3x4xf32>) -> tensor<2x1x0xf32>",
    "%0 = stablehlo.dynamic_slice %arg0, %arg5, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> "
    "tensor<2xf32>",
    "%0 = stablehlo.pad %arg0, %arg2, low = [-1], high = [2], interior = [0] : (tensor<4xf32>, "
    "tensor<f32>) -> tensor<5xf32>",
    "%0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> "
    "tensor<8xf32>",
    "%0 = stablehlo.transpose %arg4, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>",
    "%0 = stablehlo.reverse %arg4, dims = [0, 1] : tensor<2x3x4xf32>",
    "%0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2xf32>",
    "%0 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4xf32>",
    "%0 = stablehlo.dot_general %arg4, %arg11, batching_dims = [0] x [0], contracting_dims = [2] "
    "x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = f32, "
    "rhs_precision_type = f32, accumulation_type = tf32, lhs_component_count = 1, "
    "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = "
    "false> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>",
    "%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<4xf32>, "
    "tensor<4xf32>) -> tensor<f32>",
    "%0 = stablehlo.convolution(%arg9, %arg10) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
    "1, f], window = {stride = [1, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 1], reverse = "
    "[true, false]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : "
    "(tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x8x8x4xf32>",
    "%0 = stablehlo.custom_call @\"a b\"(%arg0) {api_version = 4 : i32, operand_layouts = "
    "[dense<[0]> : tensor<1xindex>], output_operand_aliases = "
    "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
    "operand_tuple_indices = [1]>]} : (tensor<4xf32>) -> tensor<4xf32>",
    "%0 = stablehlo.get_tuple_element %arg8[1] : (tuple<tensor<f32>, tensor<i32>>) -> "
    "tensor<i32>",
    "%0 = stablehlo.tuple %arg2, %arg5 : tuple<tensor<f32>, tensor<i32>>",
    "%0 = stablehlo.after_all %arg7, %arg7 : !stablehlo.token",
    "%0:2 = stablehlo.optimization_barrier %arg0, %arg5 : tensor<4xf32>, tensor<i32>",
    "stablehlo.optimization_barrier ()",
    "%0 = stablehlo.replica_id : tensor<ui32>",
    "%0 = stablehlo.cholesky %arg4, lower = true : tensor<2x3x4xf32>",
    "%0 = stablehlo.fft %arg12, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> "
    "tensor<4xcomplex<f32>>",
    "%0 = stablehlo.rng %arg2, %arg2, %arg6, distribution = NORMAL : (tensor<f32>, tensor<f32>, "
    "tensor<2xi64>) -> tensor<?x?xf32>",
    "%0 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.maximum across dimensions = [0] "
    ": (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
    "%0 = func.call @main(%arg0) : (tensor<4xf32>) -> tensor<4xf32>",
    "%0 = stablehlo.composite \"a.b\" %arg0 {composite_attributes = {n = 1 : i64}, decomposition "
    "= @main} : (tensor<4xf32>) -> tensor<4xf32>",
    "%0 = chlo.erf %arg0 : tensor<4xf32> -> tensor<4xf32>",
    "%0:2 = chlo.top_k(%arg0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)",
    "%0 = \"chlo.constant_like\"(%arg0) <{value = 1.500000e+00 : f32}> : (tensor<4xf32>) -> "
    "tensor<4xf32>",
    "check.expect_eq_const %arg5, dense<3> : tensor<i32>",
    "check.expect_almost_eq %arg0, %arg1, tolerance = 1.000000e-03 : f64 : tensor<4xf32>",
    "check.expect_close %arg0, %arg1, max_ulp_difference = 18446744073709551615, "
    "min_ulp_difference = 1 : tensor<4xf32>, tensor<4xf32>",
    "sdy.sharding_group %arg0 group_id = 21 : tensor<4xf32>",
    "%0 = sdy.sharding_constraint %arg0 <@mesh, [{\"x\"}]> : tensor<4xf32>",
    "%0 = sdy.propagation_barrier %arg0 allowed_direction = FORWARD : tensor<4xf32>",
    "%0 = sdy.constant {a.b} dense<[1, 2]> : tensor<2xi32>",
    "%0 = sdy.data_flow_edge %arg0 : tensor<4xf32>",
    "%0 = sdy.data_flow_edge %arg0 sharding=<@mesh, [{\"x\", ?}]> {a.b} : tensor<4xf32>",
    "%0 = sdy.func_data_flow_edge %arg0 : tensor<4xf32>",
    "%0 = sdy.all_gather [{\"x\":(2)2, \"y\"}] %arg0 out_sharding = <@mesh, [{\"x\":(1)2}]> {a.b} "
    ": "
    "tensor<4xf32>",
    "%0 = sdy.all_slice [{}, {\"x\"}, {}] %arg4 out_sharding = <@mesh, [{}, {\"x\"}, {}]> : "
    "tensor<2x3x4xf32>",
    "%0 = sdy.all_to_all [{\"x\"}: 0->2, {\"y\", \"z\"}: 1->3] %arg4 out_sharding = <@mesh, [{}, "
    "{}, "
    "{\"x\"}]> : tensor<2x3x4xf32>",
    "%0 = sdy.collective_permute %arg0 out_sharding = <mesh<[\"x\"=2]>, [{\"x\"}]> : tensor<4xf32>",
    "%0 = sdy.all_reduce {\"x\"} %arg0 out_sharding = <@mesh, [{}]> : tensor<4xf32>",
    "%0 = sdy.all_reduce sum {} %arg0 out_sharding = <@mesh, [{}]> : tensor<4xf32>",
    "%0 = sdy.all_reduce max {\"x\"} %arg0 out_sharding = <@mesh, [{}]> : tensor<4xf32>",
    "%0 = sdy.reduce_scatter min [{\"x\"}] %arg0 out_sharding = <@mesh, [{\"x\"}]> : tensor<4xf32>",
    "%0 = sdy.sharded_to_unreduced [{\"x\"}] %arg0 out_sharding = <@mesh, [{}], unreduced={\"x\"}> "
    ": "
    "tensor<4xf32>",
    "%0 = sdy.replicated_to_unreduced {\"x\"} %arg0 out_sharding = <@mesh, [{}], "
    "unreduced={\"x\"}> : tensor<4xf32>",
    "%0 = \"sdy.all_reduce\"(%arg0) <{reduction_axes = #sdy<axis_ref_list{\"x\"}>, reduction_op = "
    "3 "
    ": i32, out_sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<4xf32>) -> tensor<4xf32>",
    "%0 = \"sdy.propagation_barrier\"(%arg0) <{allowed_direction = 4 : i32}> : (tensor<4xf32>) -> "
    "tensor<4xf32>",
    "%0 = \"stablehlo.gather\"(%arg4, %arg6) <{dimension_numbers = #stablehlo.gather<offset_dims "
    "= [0, 1], collapsed_slice_dims = [0], operand_batching_dims = [], start_index_map = [0, 1]>, "
    "slice_sizes = array<i64: 1, 3, 4>}> : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<3x4xf32>",
    "%0 = \"stablehlo.collective_permute\"(%arg0) <{source_target_pairs = dense<[[0, 1]]> : "
    "tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> {a.b} : "
    "(tensor<4xf32>) -> tensor<4xf32>",
};

static void test_pretty_forms(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kOps / sizeof *kOps; ++i) {
    char op[4096];
    snprintf(op, sizeof op, "%s", kOps[i]);
    char* call = strstr(op, "func.call");  // a function's body omits the dialect
    if (call) memmove(call, call + 5, strlen(call + 5) + 1);
    expect_op(op, NULL);
  }
}

static void test_other_spellings(void** state) {
  (void)state;
  expect_op(
      "%0 = \"stablehlo.add\"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
      "%0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>");
  expect_op(
      "%x = \"stablehlo.transpose\"(%arg4) {permutation = dense<[2, 0, 1]> : tensor<3xi64>} : "
      "(tensor<2 x 3x4xf32>) -> tensor<4x2x3xf32>",
      "%0 = stablehlo.transpose %arg4, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> "
      "tensor<4x2x3xf32>");
  expect_op("%0 = stablehlo.constant dense<\"0x01000000FEFFFFFF\"> : tensor<2xi32>",
            "%0 = stablehlo.constant dense<[1, -2]> : tensor<2xi32>");
  expect_op("%0 = stablehlo.constant dense<\"0x05\"> : tensor<4xi1>",
            "%0 = stablehlo.constant dense<[true, false, true, false]> : tensor<4xi1>");
  expect_op(
      "%0 = stablehlo.constant dense<[(1.0, 0x7F800000), (-0.5, 2.0e1)]> : "
      "tensor<2xcomplex<f32>>",
      "%0 = stablehlo.constant dense<[(1.000000e+00,0x7F800000), "
      "(-5.000000e-01,2.000000e+01)]> : tensor<2xcomplex<f32>>");
  expect_op("%0 = stablehlo.constant dense<[255, 0xFF]> : tensor<2xi8>",
            "%0 = stablehlo.constant dense<-1> : tensor<2xi8>");
  expect_op(
      "%0 = \"stablehlo.compare\"(%arg0, %arg1) {comparison_direction = "
      "#stablehlo.comparison_direction<GE>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
      "%0 = stablehlo.compare GE, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<4xi1>");
}

static void test_regions(void** state) {
  (void)state;
  static const char kText[] =
      "module {\n"
      "  func.func private @f(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> (tensor<i32>, "
      "tensor<4xf32>) {\n"
      "    %0:2 = stablehlo.while(%arg2 = %arg0, %arg3 = %arg1) : tensor<i32>, tensor<4xf32>\n"
      "    cond {\n"
      "      %1 = stablehlo.compare LT, %arg2, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      stablehlo.return %1 : tensor<i1>\n"
      "    } do {\n"
      "      %2 = func.call @g(%arg3) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "      stablehlo.return %arg2, %2 : tensor<i32>, tensor<4xf32>\n"
      "    }\n"
      "    %3:2 = stablehlo.reduce(%0#1 init: %arg0), (%0#1 init: %arg0) across dimensions = [0] : "
      "(tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)\n"
      "     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<f32>, %arg7: "
      "tensor<f32>) {\n"
      "      stablehlo.return %arg4, %arg7 : tensor<f32>, tensor<f32>\n"
      "    }\n"
      "    %4 = \"stablehlo.case\"(%arg0) ({\n"
      "      stablehlo.return %0#0 : tensor<i32>\n"
      "    }, {\n"
      "      stablehlo.return %arg0 : tensor<i32>\n"
      "    }) : (tensor<i32>) -> tensor<i32>\n"
      "    %5 = \"stablehlo.sort\"(%arg1) <{dimension = 0 : i64, is_stable = true}> ({\n"
      "    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):\n"
      "      %6 = stablehlo.compare GT, %arg8, %arg9, TOTALORDER : (tensor<f32>, tensor<f32>) -> "
      "tensor<i1>\n"
      "      stablehlo.return %6 : tensor<i1>\n"
      "    }) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "    %7 = sdy.manual_computation(%5) in_shardings=[<@mesh, [{\"x\"}]>] "
      "out_shardings=[<@mesh, "
      "[{\"x\"}]>] manual_axes={\"x\"} (%arg10: tensor<2xf32>) {\n"
      "      sdy.return %arg10 : tensor<2xf32>\n"
      "    } : (tensor<4xf32>) -> tensor<4xf32>\n"
      "    %8 = sdy.named_computation<\"f \\22\">(%7) out_shardings=[<@mesh, [{\"x\"}]>] (%arg11: "
      "tensor<4xf32>) {\n"
      "      sdy.return %arg11 : tensor<4xf32>\n"
      "    } {a.b} : (tensor<4xf32>) -> tensor<4xf32>\n"
      "    %9 = sdy.named_computation<\"g\">() in_shardings=[] () {\n"
      "      %10 = sdy.constant dense<1.000000e+00> : tensor<4xf32>\n"
      "      sdy.return %10 : tensor<4xf32>\n"
      "    } : () -> tensor<4xf32>\n"
      "    return %4, %7 : tensor<i32>, tensor<4xf32>\n"
      "  }\n"
      "}\n";
  expect_text(kText, kText);
}

static void test_module_level(void** state) {
  (void)state;
  static const char kText[] =
      "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
      "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n"
      "  func.func private @decl(tensor<2xf32>, tensor<?xf32, #stablehlo.bounds<5>>) -> "
      "tensor<f32>\n"
      "  func.func @\"odd name\"(%arg0: tensor<4xf32> {jax.buffer_donor = true, sdy.sharding = "
      "#sdy.sharding<@mesh, [{\"x\", ?}]>}) -> (tensor<4xf32> {jax.result_info = \"result\"}) "
      "attributes {a = [1 : i64, unit, @b::@c], b = {c = array<i32: 1, 2>}, d = f32, e = "
      "affine_map<(d0) -> (d0)>} {\n"
      "    return %arg0 : tensor<4xf32>\n"
      "  }\n"
      "}\n";
  expect_text(kText, kText);
  expect_text(
      "!t = tensor<2x!quant.uniform<u8<1:200>:f32:0, {1.5, 2.0:3}>>\n"
      "#a = dense<[[0, 1]]> : tensor<1x2xi64>  // a comment\n"
      "func @f(%x: !t loc(\"x\")) {\n"
      "  %r = \"stablehlo.collective_permute\"(%x) {source_target_pairs = #a} : (!t) -> !t "
      "loc(#l)\n"
      "  func.return\n"
      "}\n"
      "#l = loc(\"f.py\":1:2)\n",
      "module {\n"
      "  func.func @f(%arg0: tensor<2x!quant.uniform<u8<1:200>:f32:0, {1.500000e+00, "
      "2.000000e+00:3}>>) {\n"
      "    %0 = \"stablehlo.collective_permute\"(%arg0) <{source_target_pairs = dense<[[0, "
      "1]]> : tensor<1x2xi64>}> : (tensor<2x!quant.uniform<u8<1:200>:f32:0, {1.500000e+00, "
      "2.000000e+00:3}>>) -> tensor<2x!quant.uniform<u8<1:200>:f32:0, {1.500000e+00, "
      "2.000000e+00:3}>>\n"
      "    return\n"
      "  }\n"
      "}\n");
  expect_text(
      "func.func @f() -> tensor<2xi16> {\n"
      "  %0 = stablehlo.constant dense_resource<blob> : tensor<2xi16>\n"
      "  return %0 : tensor<2xi16>\n"
      "}\n"
      "{-#\n  dialect_resources: {\n    builtin: {\n      blob: \"0x020000000100FFFF\"\n"
      "    }\n  }\n#-}\n",
      "module {\n  func.func @f() -> tensor<2xi16> {\n"
      "    %0 = stablehlo.constant dense<[1, -1]> : tensor<2xi16>\n"
      "    return %0 : tensor<2xi16>\n  }\n}\n");
}

static void test_generic_module(void** state) {
  (void)state;
  expect_text(
      "\"builtin.module\"() <{sym_name = \"m\"}> ({\n"
      "  \"func.func\"() <{arg_attrs = [{a.b = 1 : i32}], function_type = (tensor<f32>) -> "
      "tensor<f32>, sym_name = \"f\", sym_visibility = \"private\"}> ({\n"
      "  ^bb0(%x: tensor<f32>):\n"
      "    \"func.return\"(%x) : (tensor<f32>) -> ()\n"
      "  }) : () -> ()\n"
      "  \"func.func\"() <{function_type = () -> (), sym_name = \"g\"}> ({\n"
      "  }) {c} : () -> ()\n"
      "}) {mhlo.num_partitions = 1 : i32} : () -> ()\n",
      "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func private @f(%arg0: tensor<f32> {a.b = 1 : i32}) -> tensor<f32> {\n"
      "    return %arg0 : tensor<f32>\n"
      "  }\n"
      "  func.func @g() attributes {c}\n"
      "}\n");
}

static void test_locations(void** state) {
  (void)state;
  static const char kText[] =
      "module {\n"
      "  func.func @f() {\n"
      "    %0 = stablehlo.replica_id : tensor<ui32> loc(#loc1)\n"
      "    %1 = stablehlo.replica_id : tensor<ui32> loc(\"b.py\":2:3)\n"
      "    %2 = stablehlo.replica_id : tensor<ui32> loc(#loc3)\n"
      "    return loc(unknown)\n"
      "  } loc(\"f.py\":1:1)\n"
      "}\n"
      "#loc0 = loc(\"x\"(\"a.py\":1:2))\n"
      "#loc1 = loc(callsite(#loc0 at \"b.py\":2:3))\n"
      "#loc2 = loc(\"named\")\n"
      "#loc3 = loc(fused[#loc2, \"c.py\":4:5])\n";
  char* printed = round_trip(kText, &(hlo_print_options_t){.locations = true});
  assert_string_equal(printed, kText);
  hlo_mem_free(printed);
}

// ---- Faults

static void expect_fault(const char* text, hlo_status_code_t code, const char* message) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, strlen(text), "t.mlir", NULL, &module);
  assert_null(module);
  if (!strstr(hlo_status_message(status), message)) {
    fail_msg("%s\nis not about: %s", hlo_status_message(status), message);
  }
  assert_int_equal(hlo_status_code(status), code);
  hlo_status_release(status);
}

static void expect_op_fault(const char* op, const char* message) {
  char text[8192];
  snprintf(text, sizeof text, "%s%s%s", HEAD, op, TAIL);
  expect_fault(text, HLO_STATUS_INVALID_ARGUMENT, message);
}

static void test_faults(void** state) {
  (void)state;
  expect_op_fault("%0 = stablehlo.add %arg0, %nope : tensor<4xf32>",
                  "t.mlir:3:31: error: undefined value '%nope'");
  expect_op_fault("%0 = stablehlo.add %arg0, %arg2 : tensor<4xf32>",
                  "t.mlir:3:31: error: operand 1 has type tensor<f32>, not tensor<4xf32>");
  expect_op_fault("%0 = stablehlo.add %arg0 : tensor<4xf32>", "expected ','");
  expect_op_fault("%0:2 = stablehlo.add %arg0, %arg1 : tensor<4xf32>",
                  "1 results, but 2 are named");
  expect_op_fault(
      "%0 = \"stablehlo.add\"(%arg0, %arg1) <{x = 1}> : (tensor<4xf32>, tensor<4xf32>) "
      "-> tensor<4xf32>",
      "'stablehlo.add' has no attribute 'x'");
  expect_op_fault(
      "%0 = stablehlo.compare XX, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<4xi1>",
      "'XX' is not a comparison_direction");
  expect_op_fault("%0 = \"stablehlo.iota\"() {iota_dimension = 1 : i32} : () -> tensor<4xf32>",
                  "attribute 'iota_dimension' must be a 64-bit integer");
  expect_op_fault("%0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>",
                  "more elements than the type has");
  expect_op_fault("%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>", "2 elements here");
  expect_op_fault("%0 = stablehlo.constant dense<300> : tensor<i8>", "not a value of type i8");
  expect_op_fault("%0 = stablehlo.constant dense<1.5> : tensor<i8>", "not a value of type i8");
  expect_op_fault("%0 = stablehlo.constant dense<\"0x0102\"> : tensor<3xi8>",
                  "2 bytes are not 3 elements of i8");
  expect_op_fault("%0 = stablehlo.constant dense<0.0> : tensor<1152921504606846976xf32>",
                  "a constant of 1152921504606846976 elements");
  expect_op_fault("%0 = stablehlo.iota dim = 0 : tensor<4294967296x4294967296xf32>",
                  "more than 2^63 elements");
  expect_op_fault("%0 = stablehlo.iota dim = 0 : tensor<99999999999999999999xf32>",
                  "dimension does not fit");
  expect_op_fault("%0 = stablehlo.iota dim = 0 : tensor<*xf32>", "unranked");
  expect_op_fault("%0 = stablehlo.iota dim = 0 : tensor<4xf31>", "unknown element type 'f31'");
  expect_op_fault("%0 = stablehlo.iota dim = 0 : f32", "write tensor<f32>");
  expect_op_fault("%0 = stablehlo.iota dim = 0 : !foo", "unknown alias '!foo'");
  expect_op_fault("%0 = stablehlo.iota dim = 0 {a = \"x} : tensor<4xf32>", "unterminated string");
  expect_op_fault("%0 = stablehlo.iota dim = 0 {a = #x} : tensor<4xf32>", "unknown alias '#x'");
  expect_op_fault("return stablehlo.sine %arg0 : tensor<4xf32>", "after the terminator");
  expect_op_fault("\x01", "unexpected character 0x01");
  expect_fault("module {", HLO_STATUS_INVALID_ARGUMENT,
               "t.mlir:1:9: error: expected '}', found the end of the text");
  expect_fault("module {}\nmodule {}", HLO_STATUS_INVALID_ARGUMENT,
               "t.mlir:2:1: error: a text holds");
  expect_fault("func.func @f() {\n  foo.bar\n  return\n}", HLO_STATUS_UNIMPLEMENTED,
               "t.mlir:2:3: error: op 'foo.bar' is not supported");
  expect_fault("func.func @f() {\n  stablehlo.tupel\n  return\n}", HLO_STATUS_UNIMPLEMENTED,
               "op 'stablehlo.tupel' is not supported, did you mean 'stablehlo.tuple'?");
  expect_fault("func.func @f() { return }\nfunc.func @f() { return }", HLO_STATUS_INVALID_ARGUMENT,
               "function @f is defined twice");
}

static void test_goes_on_after_faults(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @f(%a: tensor<f32>) {\n"
      "  %0 = stablehlo.add %a, %b : tensor<f32>\n"
      "  %1 = stablehlo.add %0, %a : tensor<f32>\n"
      "  %2 = stablehlo.sine %c : tensor<f32>\n"
      "  return\n"
      "}\n";
  hlo_module_t* module = NULL;
  hlo_diag_t diag;
  hlo_diag_init(&diag, "t.mlir", kText, sizeof kText - 1);
  hlo_status_t status = hlo_parse_module(kText, sizeof kText - 1, "t.mlir", &diag, &module);
  assert_int_equal(diag.error_count, 2);
  assert_string_equal(diag.first, "t.mlir:2:26: undefined value '%b'");
  assert_non_null(strstr(hlo_strbuf_text(&diag.text), "t.mlir:4:23: error: undefined value '%c'"));
  hlo_status_release(status);
  hlo_diag_deinit(&diag);
}

static void test_depth_is_bounded(void** state) {
  (void)state;
  enum { DEPTH = 100000 };
  static const char* const kOpen[] = {"[", "{a=", "tuple<", "(", "#a.b<", "dense<"};
  for (size_t k = 0; k < sizeof kOpen / sizeof *kOpen; ++k) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_puts(&text, "#x = ");
    for (int i = 0; i < DEPTH; ++i) hlo_strbuf_puts(&text, kOpen[k]);
    expect_fault(hlo_strbuf_text(&text), HLO_STATUS_INVALID_ARGUMENT, "");
    hlo_strbuf_deinit(&text);
  }
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "func.func @f(%p: tensor<i1>) {\n");
  for (int i = 0; i < DEPTH; ++i) hlo_strbuf_puts(&text, "\"stablehlo.if\"(%p) ({");
  expect_fault(hlo_strbuf_text(&text), HLO_STATUS_INVALID_ARGUMENT, "nested more than 256 deep");
  hlo_strbuf_deinit(&text);
}

// If each alias names the previous one twice, the text expands exponentially.
static void test_alias_expansion_is_bounded(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "!t0 = tensor<f32>\n");
  for (int i = 1; i < 100; ++i) {
    hlo_strbuf_printf(&text, "!t%d = tuple<!t%d, !t%d>\n", i, i - 1, i - 1);
  }
  expect_fault(hlo_strbuf_text(&text), HLO_STATUS_INVALID_ARGUMENT, "aliases expand to more than");
  hlo_strbuf_deinit(&text);
}

// Every front end refuses windows and padding of such sizes, before later code adds to them.
static void expect_refused(const char* text, const char* message) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, strlen(text), "t.mlir", NULL, &module);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, NULL);
  if (!strstr(hlo_status_message(status), message)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
  hlo_module_release(module);
}

static void test_extreme_attributes(void** state) {
  (void)state;
  static const char* const kPads[] = {
      "low = [-9223372036854775808], high = [9223372036854775807], interior = [0]",
      "low = [0], high = [7], interior = [9223372036854775807]",
      "low = [9223372036854775807], high = [7], interior = [0]",
  };
  static const char* const kWindows[] = {
      "padding = dense<[[-9223372036854775807, 9223372036854775807]]> : tensor<1x2xi64>",
      "padding = dense<[[0, 4611686018427387904]]> : tensor<1x2xi64>",
      "window_dilations = array<i64: 4611686018427387904>",
      "base_dilations = array<i64: 4611686018427387904>",
  };
  for (uint32_t i = 0; i < sizeof kPads / sizeof *kPads; ++i) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_printf(&text,
                      "func.func @f(%%a: tensor<8xf32>, %%v: tensor<f32>) -> tensor<7xf32> {\n"
                      "%%0 = stablehlo.pad %%a, %%v, %s : (tensor<8xf32>, tensor<f32>) -> "
                      "tensor<7xf32>\nreturn %%0 : tensor<7xf32>\n}",
                      kPads[i]);
    expect_refused(
        hlo_strbuf_text(&text),
        "2:6: error: stablehlo.pad: padding makes the size of dimension 0 negative or too large");
    hlo_strbuf_deinit(&text);
  }
  for (uint32_t i = 0; i < sizeof kWindows / sizeof *kWindows; ++i) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_printf(
        &text,
        "func.func @f(%%a: tensor<8xf32>, %%v: tensor<f32>) -> tensor<7xf32> {\n"
        "%%0 = \"stablehlo.reduce_window\"(%%a, %%v) ({\n"
        "^bb0(%%x: tensor<f32>, %%y: tensor<f32>):\n"
        "%%s = stablehlo.add %%x, %%y : tensor<f32>\n"
        "stablehlo.return %%s : tensor<f32>\n"
        "}) {window_dimensions = array<i64: 2>, %s} : (tensor<8xf32>, tensor<f32>) -> "
        "tensor<7xf32>\nreturn %%0 : tensor<7xf32>\n}",
        kWindows[i]);
    expect_refused(hlo_strbuf_text(&text), "a window overflows");
    hlo_strbuf_deinit(&text);
  }
}

static void test_memory_failures(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
      "  %1 = stablehlo.add %0, %a {x = {y = \"z\"}} : tensor<2xf32> loc(#l)\n"
      "  return %1 : tensor<2xf32>\n"
      "}\n#l = loc(\"x\")\n";
  for (uint64_t n = 1;; ++n) {
    hlo_module_t* module = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_parse_module(kText, sizeof kText - 1, NULL, NULL, &module);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!hlo_status_is_ok(status)) assert_null(module);
    hlo_status_release(status);
    hlo_module_release(module);
    if (!failed) break;
  }
}

static void test_embedded_text(void** state) {
  (void)state;
  hlo_module_t* m = NULL;
  const hlo_attr_t* attr = NULL;
  const hlo_type_t* type = NULL;
  assert_true(hlo_status_is_ok(hlo_module_create(0, &m)));
  assert_true(hlo_status_is_ok(hlo_parse_attr(m, "[1 : i32]", 9, &attr)));
  assert_int_equal(attr->items[0]->i, 1);
  assert_true(hlo_status_is_ok(hlo_parse_type(m, "tensor<2xf32>", 13, &type)));
  assert_int_equal(type->dims[0], 2);
  hlo_status_t status = hlo_parse_attr(m, "1 2", 3, &attr);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  hlo_module_release(m);
}

static void module_digest(const char* text, uint64_t* out_words) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, "test", text, strlen(text));
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, strlen(text), "test", &diag, &module);
  assert_true(hlo_status_is_ok(status));
  status = hlo_module_digest(module, out_words);
  assert_true(hlo_status_is_ok(status));
  out_words[2] = hlo_module_hash(module);
  hlo_module_release(module);
  hlo_diag_deinit(&diag);
}

// Compiled code is found by digests: each element type, extent and rank has its own.
static void test_digests_tell_types_apart(void** state) {
  (void)state;
  static const char* const types[] = {"5xui8",  "5xi8",  "5xui16", "5xui32", "5xui64", "5xf16",
                                      "5xbf16", "5xf32", "5xf64",  "5xi1",   "6xf32",  "5x1xf32"};
  enum { COUNT = sizeof types / sizeof types[0] };
  uint64_t digests[COUNT][3];
  for (int i = 0; i < COUNT; ++i) {
    char text[256];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<%s>) -> tensor<%s> { return %%a : tensor<%s> }", types[i],
             types[i], types[i]);
    module_digest(text, digests[i]);
    for (int k = 0; k < i; ++k) {
      for (int w = 0; w < 3; ++w) assert_true(digests[i][w] != digests[k][w]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pretty_forms),
      cmocka_unit_test(test_other_spellings),
      cmocka_unit_test(test_regions),
      cmocka_unit_test(test_module_level),
      cmocka_unit_test(test_generic_module),
      cmocka_unit_test(test_locations),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_goes_on_after_faults),
      cmocka_unit_test(test_depth_is_bounded),
      cmocka_unit_test(test_alias_expansion_is_bounded),
      cmocka_unit_test(test_memory_failures),
      cmocka_unit_test(test_embedded_text),
      cmocka_unit_test(test_digests_tell_types_apart),
      cmocka_unit_test(test_extreme_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
