// SPDX-License-Identifier: Apache-2.0
// Tests of shrinking: modules that "fail" if they contain some words shrink to the smallest ones.
#include "dev/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/clone.h"
#include "ir/print.h"
#include "ir/test_util.h"

// A test that fails if the printed module contains all of these words.
typedef struct words {
  const char* items[4];
  uint32_t run_count;
} words_t;

static hlo_status_t has_words(void* context, const hlo_module_t* module, bool* out_fails) {
  words_t* words = context;
  hlo_strbuf_t text = {0};
  assert_true(hlo_status_is_ok(hlo_module_verify(module, NULL)));
  hlo_print_module(module, &(hlo_print_options_t){0}, &text);
  *out_fails = true;
  for (size_t i = 0; i < 4 && words->items[i]; ++i) {
    *out_fails &= strstr(hlo_strbuf_text(&text), words->items[i]) != NULL;
  }
  hlo_strbuf_deinit(&text);
  ++words->run_count;
  return hlo_ok();
}

// Checks that `text` shrinks to `expected` while it contains the words.
static void expect(const char* text, words_t words, const char* expected) {
  hlo_module_t* module = hlo_test_parse(text);
  hlo_strbuf_t printed = {0};
  hlo_test_check(hlo_shrink(&module, has_words, &words));
  hlo_print_module(module, &(hlo_print_options_t){0}, &printed);
  assert_string_equal(hlo_strbuf_text(&printed), expected);
  hlo_strbuf_deinit(&printed);
  hlo_module_release(module);
}

// Nodes before and after are removed, extents become one.
static void test_chain(void** state) {
  (void)state;
  expect(
      "func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x128xf32>) -> (tensor<128xf32>, "
      "tensor<64x32xf32>) {\n"
      "  %0 = stablehlo.exponential %a : tensor<64x32xf32>\n"
      "  %1 = stablehlo.add %0, %a : tensor<64x32xf32>\n"
      "  %2 = stablehlo.dot %1, %b : (tensor<64x32xf32>, tensor<32x128xf32>) -> "
      "tensor<64x128xf32>\n"
      "  %3 = stablehlo.sine %2 : tensor<64x128xf32>\n"
      "  %4 = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.add across dimensions = [0] : "
      "(tensor<64x128xf32>, tensor<f32>) -> tensor<128xf32>\n"
      "  return %5, %0 : tensor<128xf32>, tensor<64x32xf32>\n}\n",
      (words_t){.items = {"stablehlo.sine"}},
      "module {\n"
      "  func.func @main(%arg0: tensor<1x1xf32>) -> tensor<1x1xf32> {\n"
      "    %0 = stablehlo.sine %arg0 : tensor<1x1xf32>\n"
      "    return %0 : tensor<1x1xf32>\n"
      "  }\n"
      "}\n");
}

// Extents that are products, slices and repetitions of others change with them.
static void test_extents(void** state) {
  (void)state;
  expect(
      "func.func @main(%a: tensor<24x10xf32>) -> tensor<12x100xf32> {\n"
      "  %0 = stablehlo.reshape %a : (tensor<24x10xf32>) -> tensor<240xf32>\n"
      "  %1 = stablehlo.slice %0 [0:120] : (tensor<240xf32>) -> tensor<120xf32>\n"
      "  %2 = stablehlo.reshape %1 : (tensor<120xf32>) -> tensor<12x10xf32>\n"
      "  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 2] : (tensor<12x10xf32>) -> "
      "tensor<12x10x10xf32>\n"
      "  %4 = stablehlo.reshape %3 : (tensor<12x10x10xf32>) -> tensor<12x100xf32>\n"
      "  return %4 : tensor<12x100xf32>\n}\n",
      (words_t){.items = {"stablehlo.slice", "stablehlo.broadcast_in_dim", "tensor<2x"}},
      "module {\n"
      "  func.func @main(%arg0: tensor<2xf32>) -> tensor<1x2x2xf32> {\n"
      "    %0 = stablehlo.slice %arg0 [0:2] : (tensor<2xf32>) -> tensor<2xf32>\n"
      "    %1 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<1x2xf32>\n"
      "    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<1x2xf32>) -> "
      "tensor<1x2x2xf32>\n"
      "    return %2 : tensor<1x2x2xf32>\n"
      "  }\n"
      "}\n");
}

// A loop around branches, one of which calls a function.
static const char kLoop[] =
    "func.func @main(%n: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %w = \"stablehlo.case\"(%i) ({\n"
    "      %s = stablehlo.sine %v : tensor<8xf32>\n"
    "      stablehlo.return %s : tensor<8xf32>\n"
    "    }, {\n"
    "      %s = func.call @callee(%v) : (tensor<8xf32>) -> tensor<8xf32>\n"
    "      stablehlo.return %s : tensor<8xf32>\n"
    "    }) : (tensor<i32>) -> tensor<8xf32>\n"
    "    stablehlo.return %j, %w : tensor<i32>, tensor<8xf32>\n"
    "  }\n"
    "  return %r#1 : tensor<8xf32>\n}\n"
    "func.func private @callee(%v: tensor<8xf32>) -> tensor<8xf32> {\n"
    "  %s = stablehlo.cosine %v : tensor<8xf32>\n"
    "  return %s : tensor<8xf32>\n}\n";

// A loop becomes one iteration, branches become one branch and a call its callee, unless the test
// needs them.
static void test_control_flow(void** state) {
  (void)state;
  expect(kLoop, (words_t){.items = {"stablehlo.sine"}},
         "module {\n"
         "  func.func @main(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
         "    %0 = stablehlo.sine %arg0 : tensor<1xf32>\n"
         "    return %0 : tensor<1xf32>\n"
         "  }\n"
         "}\n");
  expect(kLoop, (words_t){.items = {"stablehlo.cosine"}},
         "module {\n"
         "  func.func @main(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
         "    %0 = stablehlo.cosine %arg0 : tensor<1xf32>\n"
         "    return %0 : tensor<1xf32>\n"
         "  }\n"
         "}\n");
}

// A composite becomes its decomposition, or remains.
static void test_composites(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
      "  %0 = stablehlo.composite \"my.op\" %x {decomposition = @op} : (tensor<8xf32>) -> "
      "tensor<8xf32>\n"
      "  return %0 : tensor<8xf32>\n}\n"
      "func.func private @op(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
      "  %0 = stablehlo.sine %x : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n";
  expect(kText, (words_t){.items = {"stablehlo.sine"}},
         "module {\n"
         "  func.func @main(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
         "    %0 = stablehlo.sine %arg0 : tensor<1xf32>\n"
         "    return %0 : tensor<1xf32>\n"
         "  }\n"
         "}\n");
  expect(kText, (words_t){.items = {"my.op"}},
         "module {\n"
         "  func.func @main(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
         "    %0 = stablehlo.composite \"my.op\" %arg0 {decomposition = @op} : (tensor<1xf32>) -> "
         "tensor<1xf32>\n"
         "    return %0 : tensor<1xf32>\n"
         "  }\n"
         "  func.func private @op(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
         "    return %arg0 : tensor<1xf32>\n"
         "  }\n"
         "}\n");
}

static void test_kept_control_flow(void** state) {
  (void)state;
  expect(kLoop, (words_t){.items = {"stablehlo.while"}},
         "module {\n"
         "  func.func @main(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
         "    %0 = stablehlo.while(%arg1 = %arg0) : tensor<1xf32>\n"
         "    cond {\n"
         "      %1 = stablehlo.constant dense<false> : tensor<i1>\n"
         "      stablehlo.return %1 : tensor<i1>\n"
         "    } do {\n"
         "      stablehlo.return %arg1 : tensor<1xf32>\n"
         "    }\n"
         "    return %0 : tensor<1xf32>\n"
         "  }\n"
         "}\n");
  expect(
      kLoop, (words_t){.items = {"stablehlo.while", "stablehlo.sine", "compare"}},
      "module {\n"
      "  func.func @main(%arg0: tensor<i32>, %arg1: tensor<1xf32>, %arg2: tensor<i32>) -> "
      "tensor<1xf32> {\n"
      "    %0 = stablehlo.while(%arg3 = %arg1) : tensor<1xf32>\n"
      "    cond {\n"
      "      %1 = stablehlo.compare LT, %arg2, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      stablehlo.return %1 : tensor<i1>\n"
      "    } do {\n"
      "      %2 = stablehlo.sine %arg3 : tensor<1xf32>\n"
      "      stablehlo.return %2 : tensor<1xf32>\n"
      "    }\n"
      "    return %0 : tensor<1xf32>\n"
      "  }\n"
      "}\n");
  expect(kLoop, (words_t){.items = {"stablehlo.case", "stablehlo.cosine"}},
         "module {\n"
         "  func.func @main(%arg0: tensor<1xf32>, %arg1: tensor<i32>) -> tensor<1xf32> {\n"
         "    %0 = \"stablehlo.case\"(%arg1) ({\n"
         "      stablehlo.return %arg0 : tensor<1xf32>\n"
         "    }, {\n"
         "      %1 = stablehlo.cosine %arg0 : tensor<1xf32>\n"
         "      stablehlo.return %1 : tensor<1xf32>\n"
         "    }) : (tensor<i32>) -> tensor<1xf32>\n"
         "    return %0 : tensor<1xf32>\n"
         "  }\n"
         "}\n");
}

// Removes other functions, optional attributes and elements of constants.
static void test_what_is_carried(void** state) {
  (void)state;
  expect(
      "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func @main(%a: tensor<4xf32> {jax.buffer_donor = true}, %b: tensor<4xf32>) -> "
      "(tensor<4xf32> {jax.result_info = \"x\"}) {\n"
      "    %0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
      "    %1 = stablehlo.multiply %b, %0 {mhlo.sharding = \"{replicated}\"} : tensor<4xf32>\n"
      "    return %1 : tensor<4xf32>\n  }\n"
      "  func.func public @other() {\n    return\n  }\n}\n",
      (words_t){.items = {"stablehlo.multiply", "stablehlo.constant"}},
      "module @m {\n"
      "  func.func @main(%arg0: tensor<1xf32>) -> tensor<1xf32> {\n"
      "    %0 = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>\n"
      "    %1 = stablehlo.multiply %arg0, %0 : tensor<1xf32>\n"
      "    return %1 : tensor<1xf32>\n"
      "  }\n"
      "}\n");
}

// An error of the test ends the search with the module found so far.
static hlo_status_t give_up(void* context, const hlo_module_t* module, bool* out_fails) {
  uint32_t* left = context;
  (void)module;
  *out_fails = true;
  return (*left)-- ? hlo_ok() : hlo_status_create(HLO_STATUS_ABORTED, "enough");
}

static void test_errors(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(
      "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n");
  const uint64_t weight = hlo_shrink_weight(module);
  uint32_t left = 2;
  hlo_status_t status = hlo_shrink(&module, give_up, &left);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_ABORTED);
  hlo_status_release(status);
  assert_true(hlo_shrink_weight(module) < weight);
  hlo_mem_fail_nth(20);
  status = hlo_shrink(&module, give_up, &(uint32_t){100});
  hlo_mem_fail_nth(0);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  hlo_test_check(hlo_module_verify(module, NULL));
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain),        cmocka_unit_test(test_extents),
      cmocka_unit_test(test_control_flow), cmocka_unit_test(test_kept_control_flow),
      cmocka_unit_test(test_composites),   cmocka_unit_test(test_what_is_carried),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
