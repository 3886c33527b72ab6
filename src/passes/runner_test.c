// SPDX-License-Identifier: Apache-2.0
// Tests of the pass runner: lists, callbacks, checks, and memory exhausted at every allocation.
#include <string.h>

#include "ir/print.h"
#include "ir/test_util.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "passes/runner.h"

static const char program[] =
    "func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {\n"
    "  %c = stablehlo.constant dense<0.5> : tensor<f32>\n"
    "  %d = stablehlo.add %c, %c : tensor<f32>\n"
    "  %b = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
    "  %0 = stablehlo.multiply %x, %b : tensor<4xf32>\n"
    "  %1 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  %2 = stablehlo.composite \"a.b\" %0 {decomposition = @f} : (tensor<4xf32>) -> "
    "tensor<4xf32>\n"
    "  %3 = \"stablehlo.if\"(%p) ({\n"
    "    %5 = stablehlo.negate %1 : tensor<4xf32>\n"
    "    stablehlo.return %5 : tensor<4xf32>\n"
    "  }, {\n"
    "    stablehlo.return %2 : tensor<4xf32>\n"
    "  }) : (tensor<i1>) -> tensor<4xf32>\n"
    "  return %3 : tensor<4xf32>\n"
    "}\n"
    "func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.negate %x : tensor<4xf32>\n"
    "  %1 = stablehlo.negate %0 : tensor<4xf32>\n"
    "  return %1 : tensor<4xf32>\n"
    "}\n";

static const char all_passes[] = "drop_shardy,lower_composite,inline,fold,canonicalize,cse,dce";

static void expect_error(const char* list, hlo_status_code_t code, const char* part) {
  hlo_module_t* module = hlo_test_parse(program);
  hlo_status_t status = hlo_passes_run(module, list, NULL);
  assert_int_equal(hlo_status_code(status), code);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
  hlo_module_release(module);
}

static void test_table(void** state) {
  (void)state;
  for (uint32_t i = 1; i < hlo_pass_set.count; ++i) {
    assert_true(strcmp(hlo_pass_table[i - 1].name, hlo_pass_table[i].name) < 0);
  }
  hlo_strbuf_t page = {0};
  hlo_passes_markdown(&page);
  hlo_pass_set_markdown(&hlo_pass_set, &page);
  assert_non_null(strstr(hlo_strbuf_text(&page), "| `cse` | opt |"));
  assert_non_null(strstr(hlo_strbuf_text(&page), "bits, value, fast"));
  hlo_strbuf_deinit(&page);
}

static void test_bad_lists(void** state) {
  (void)state;
  expect_error("dce,csee", HLO_STATUS_INVALID_ARGUMENT, "did you mean 'cse'?");
  expect_error("dce,,cse", HLO_STATUS_INVALID_ARGUMENT, "no pass is called ''");
  expect_error("dce=3", HLO_STATUS_INVALID_ARGUMENT, "dce takes no argument");
  expect_error("canonicalize=exact", HLO_STATUS_INVALID_ARGUMENT, "not 'exact'");
}

typedef struct trace {
  uint32_t count;
  char text[256];
} trace_t;

static void note(void* context, const hlo_pass_stats_t* stats, const hlo_module_t* module) {
  trace_t* trace = context;
  assert_non_null(module);
  assert_int_equal(stats->position, trace->count++);
  strcat(strcat(trace->text, stats->pass->name), stats->step_count ? "! " : " ");
}

static void test_order_and_checks(void** state) {
  (void)state;
  trace_t trace = {0};
  hlo_module_t* module = hlo_test_parse(program);
  hlo_pass_options_t options = {.verify_each = true,
                                .run_twice = true,
                                .check_changed = true,
                                .after = note,
                                .after_context = &trace};
  assert_true(
      hlo_status_is_ok(hlo_passes_run(module, all_passes + strlen("drop_shardy,"), &options)));
  assert_string_equal(trace.text, "lower_composite! inline! fold! canonicalize! cse! dce! ");
  assert_null(hlo_module_find_func(module, "f"));
  assert_true(hlo_status_is_ok(hlo_passes_run(module, "", &options)));
  assert_int_equal(trace.count, 6);
  hlo_module_release(module);
}

static uint32_t call_count;

static hlo_status_t count_call(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  (void)module;
  ctx->step_count = 1;
  ++call_count;
  return hlo_ok();
}

// A pass does not run over a module that has none of its ops; to check it, it must change nothing.
static void test_needed_ops(void** state) {
  (void)state;
  static const hlo_op_t loops[] = {HLO_OP_map, HLO_OP_while, HLO_OP_COUNT};
  static const hlo_op_t sums[] = {HLO_OP_while, HLO_OP_add, HLO_OP_COUNT};
  const hlo_pass_info_t passes[] = {{"of_loops", count_call, HLO_PASS_KIND_LOWER, "", loops, ""},
                                    {"of_sums", count_call, HLO_PASS_KIND_LOWER, "", sums, ""}};
  const hlo_pass_set_t set = {passes, 2, NULL};
  trace_t trace = {0};
  hlo_pass_options_t options = {.more = &set, .after = note, .after_context = &trace};
  hlo_module_t* module = hlo_test_parse(program);
  call_count = 0;
  hlo_test_check(hlo_passes_run(module, "of_loops,of_sums", &options));
  assert_string_equal(trace.text, "of_loops of_sums! ");
  assert_int_equal(call_count, 1);
  options = (hlo_pass_options_t){.more = &set, .check_changed = true};
  hlo_status_t status = hlo_passes_run(module, "of_loops", &options);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  assert_non_null(strstr(hlo_status_message(status), "of_loops changed a module without the ops"));
  hlo_status_release(status);
  hlo_module_release(module);
}

static void test_stop_after(void** state) {
  (void)state;
  trace_t trace = {0};
  hlo_module_t* module = hlo_test_parse(program);
  hlo_pass_options_t options = {.stop_after = 2, .after = note, .after_context = &trace};
  assert_true(hlo_status_is_ok(hlo_passes_run(module, "cse,fold,dce", &options)));
  assert_string_equal(trace.text, "cse fold! ");
  hlo_module_release(module);
}

static void test_fold_limit(void** state) {
  (void)state;
  trace_t trace = {0};
  hlo_module_t* module = hlo_test_parse(program);
  hlo_pass_options_t options = {.fold_element_limit = 1, .after = note, .after_context = &trace};
  assert_true(hlo_status_is_ok(hlo_passes_run(module, "fold,dce", &options)));
  hlo_strbuf_t text = {0};
  hlo_print_module(module, &(hlo_print_options_t){0}, &text);
  assert_non_null(strstr(hlo_strbuf_text(&text), "broadcast_in_dim"));
  assert_null(strstr(hlo_strbuf_text(&text), "stablehlo.add"));
  hlo_strbuf_deinit(&text);
  hlo_module_release(module);
}

static void test_stages(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(program);
  hlo_stage_options_t options = {.partition_count = 1, .passes = {.verify_each = true}};
  hlo_test_check(hlo_stages_run(module, HLO_STAGE_IMPORT, HLO_STAGE_OPTIMISE, &options));
  assert_non_null(hlo_module_find_func(module, "f"));
  options.partition_count = 2;
  hlo_test_check(hlo_stages_run(module, HLO_STAGE_IMPORT, HLO_STAGE_OPTIMISE, &options));
  hlo_module_release(module);
}

// Every list names existing passes, for a stage by itself and for a range of stages.
static void test_stages_by_name(void** state) {
  (void)state;
  for (int i = 0; i < HLO_STAGE_COUNT; ++i) {
    hlo_stage_t stage = HLO_STAGE_COUNT;
    hlo_test_check(hlo_stage_from_name(hlo_stage_info((hlo_stage_t)i)->name, &stage));
    assert_int_equal(stage, i);
    const hlo_stage_options_t options = {.partition_count = 1, .passes = {.verify_each = true}};
    hlo_module_t* module = hlo_test_parse(program);
    hlo_test_check(hlo_stages_run(module, stage, stage, &options));
    hlo_test_check(hlo_pass_list_run(module, hlo_stage_info(stage)->dynamic_passes, NULL));
    hlo_module_release(module);
  }
  hlo_stage_t stage;
  hlo_status_t status = hlo_stage_from_name("nativ", &stage);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
}

static void test_memory_failures(void** state) {
  (void)state;
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    hlo_module_t* module = hlo_test_parse(program);
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_passes_run(module, all_passes, NULL);
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!failed) assert_true(hlo_status_is_ok(status));
    if (!hlo_status_is_ok(status)) {
      assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
    }
    hlo_status_release(status);
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_bad_lists),
      cmocka_unit_test(test_order_and_checks),
      cmocka_unit_test(test_needed_ops),
      cmocka_unit_test(test_stop_after),
      cmocka_unit_test(test_fold_limit),
      cmocka_unit_test(test_stages),
      cmocka_unit_test(test_stages_by_name),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
