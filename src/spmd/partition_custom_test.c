// SPDX-License-Identifier: Apache-2.0
// Custom calls whose sharding rule, or program of one device, comes from the application.
#include "ir/custom_partitioner.h"
#include "ir/print.h"
#include "ir/test_util.h"
#include "spmd/passes.h"

static bool knows(HLO_UNUSED void* context, const char* target) {
  return strcmp(target, "whole") == 0;
}

static bool is_batched(HLO_UNUSED void* context, const char* target) {
  return strcmp(target, "rows") == 0;
}

// How the application is told that results are divided.
static const char* wanted = "{devices=[4,1]<=[4]}";

// A program of one device that wants its operand divided by columns, not by rows.
static hlo_status_t answer(HLO_UNUSED void* context, const hlo_node_t* node,
                           const hlo_op_sharding_t* operands, const hlo_op_sharding_t* results,
                           hlo_arena_t* arena, hlo_custom_part_t* out) {
  static const char text[] = "{devices=[1,4]<=[4]}";
  hlo_op_sharding_t* columns = hlo_arena_alloc(arena, sizeof *columns);
  assert_non_null(columns);
  assert_int_equal(node->operand_count, 1);
  HLO_SCOPED_STRBUF given = {0};
  hlo_op_sharding_print(&operands[0], &given);
  hlo_op_sharding_print(&results[0], &given);
  HLO_SCOPED_STRBUF expected = {0};
  hlo_strbuf_printf(&expected, "{devices=[4,1]<=[4]}%s", wanted);
  assert_string_equal(hlo_strbuf_text(&given), hlo_strbuf_text(&expected));
  HLO_TRY(hlo_op_sharding_parse(text, sizeof text - 1, arena, columns));
  *out = (hlo_custom_part_t){
      .module = hlo_test_parse("func.func @main(%x: tensor<8x1xf32>) -> tensor<8x1xf32> {\n"
                               "  %0 = stablehlo.negate %x : tensor<8x1xf32>\n"
                               "  return %0 : tensor<8x1xf32>\n}\n"),
      .operands = columns,
      .results = columns};
  return hlo_ok();
}

static int question_count, adaption_count;

// Results are divided as the operand is.
static hlo_status_t infer(HLO_UNUSED void* context, const hlo_node_t* node,
                          const hlo_op_sharding_t* operands, HLO_UNUSED hlo_arena_t* arena,
                          const hlo_op_sharding_t** out_results) {
  HLO_SCOPED_STRBUF given = {0};
  assert_int_equal(node->result_count, 1);
  hlo_op_sharding_print(&operands[0], &given);
  assert_string_equal(hlo_strbuf_text(&given), "{devices=[4,1]<=[4]}");
  ++question_count;
  *out_results = operands;
  return hlo_ok();
}

// Results that are asked for by rows are divided by columns.
static hlo_status_t adapt(HLO_UNUSED void* context, const hlo_node_t* node,
                          const hlo_op_sharding_t* users, hlo_arena_t* arena,
                          const hlo_op_sharding_t** out_results) {
  HLO_SCOPED_STRBUF given = {0};
  assert_int_equal(node->result_count, 1);
  hlo_op_sharding_print(&users[0], &given);
  assert_string_equal(hlo_strbuf_text(&given), "{devices=[4,1]<=[4]}");
  ++adaption_count;
  hlo_op_sharding_t* columns = hlo_arena_alloc(arena, sizeof *columns);
  assert_non_null(columns);
  HLO_TRY(hlo_op_sharding_parse(wanted, strlen(wanted), arena, columns));
  *out_results = columns;
  return hlo_ok();
}

static const hlo_custom_partitioner_t partitioner = {
    .knows = knows, .is_batched = is_batched, .partition = answer, .infer = infer, .adapt = adapt};

// Partitions a program of an op on %x, whose rows are divided, and finds texts in the result.
static void expect(const char* op, const char* const* parts, size_t count) {
  HLO_SCOPED_STRBUF text = {0}, printed = {0};
  hlo_strbuf_printf(&text,
                    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
                    "  sdy.mesh @mesh = <[\"x\"=4]>\n"
                    "  func.func @main(%%x: tensor<8x4xf32> {sdy.sharding = "
                    "#sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = "
                    "#sdy.sharding<@mesh, [{\"x\"}, {}]>}) {\n    %%0 = %s\n"
                    "    return %%0 : tensor<8x4xf32>\n  }\n}\n",
                    op);
  hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
  const hlo_pass_options_t options = {
      .verify_each = true, .more = &hlo_spmd_pass_set, .custom_partitioner = &partitioner};
  hlo_test_check(hlo_passes_run(module, "partition", &options));
  hlo_print_module(module, &(hlo_print_options_t){0}, &printed);
  for (size_t i = 0; i < count; ++i) {
    if (!strstr(hlo_strbuf_text(&printed), parts[i])) {
      fail_msg("'%s' not in\n%s", parts[i], hlo_strbuf_text(&printed));
    }
  }
  hlo_module_release(module);
}

static void leading_dimensions_are_divided(void** state) {
  (void)state;
  static const char* const parts[] = {
      "custom_call @rows(%arg0) {mhlo.frontend_attributes = {num_batch_dims = \"1\"}} : "
      "(tensor<2x4xf32>) -> tensor<2x4xf32>"};
  expect(
      "stablehlo.custom_call @rows(%x) {mhlo.frontend_attributes = {num_batch_dims = \"1\"}} : "
      "(tensor<8x4xf32>) -> tensor<8x4xf32>",
      parts, 1);
}

static void other_calls_get_whole_values(void** state) {
  (void)state;
  static const char* const parts[] = {"all_gather", "(tensor<8x4xf32>) -> tensor<8x4xf32>"};
  expect("stablehlo.custom_call @rows(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>", parts, 2);
  expect(
      "stablehlo.custom_call @others(%x) {mhlo.frontend_attributes = {num_batch_dims = \"1\"}} "
      ": (tensor<8x4xf32>) -> tensor<8x4xf32>",
      parts, 2);
}

static void values_are_divided_as_the_application_wants(void** state) {
  (void)state;
  static const char* const parts[] = {"all_to_all", "stablehlo.negate", "tensor<8x1xf32>"};
  expect(
      "stablehlo.custom_call @whole(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->"
      "([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>",
      parts, 3);
  assert_int_equal(adaption_count, 0);
}

// Each device calls with its own parts, and one that orders ops with its own tokens.
static void callbacks_get_parts(void** state) {
  (void)state;
  static const char* const parts[] = {
      "custom_call @xla_ffi_partitioned_python_cpu_callback(%arg0) {has_side_effect = true} : "
      "(tensor<2x4xf32>) -> ()",
      "custom_call @xla_ffi_partitioned_python_cpu_callback(%1, %arg0) {has_side_effect = true} : "
      "(!stablehlo.token, tensor<2x4xf32>) -> !stablehlo.token"};
  expect(
      "stablehlo.negate %x : tensor<8x4xf32>\n    %t = stablehlo.create_token : "
      "!stablehlo.token\n"
      "    stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%x) {has_side_effect "
      "= true} : (tensor<8x4xf32>) -> ()\n"
      "    %u = stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%t, %x) "
      "{has_side_effect = true} : (!stablehlo.token, tensor<8x4xf32>) -> !stablehlo.token",
      parts, 2);
}

// Without a rule, the application derives the shardings of results, where the same question is
// asked once, and then adapts what users of the results ask for.
static void shardings_of_results_are_derived(void** state) {
  (void)state;
  static const char* const parts[] = {"all_to_all", "stablehlo.negate", "tensor<8x1xf32>"};
  question_count = adaption_count = 0;
  wanted = "{devices=[1,4]<=[4]}";
  expect("stablehlo.custom_call @whole(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>", parts, 3);
  assert_int_equal(question_count, 1);
  assert_int_equal(adaption_count, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leading_dimensions_are_divided),
      cmocka_unit_test(other_calls_get_whole_values),
      cmocka_unit_test(values_are_divided_as_the_application_wants),
      cmocka_unit_test(callbacks_get_parts),
      cmocka_unit_test(shardings_of_results_are_derived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
