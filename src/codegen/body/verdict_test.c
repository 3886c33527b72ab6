// SPDX-License-Identifier: Apache-2.0
// Tests the texts of verdicts.
#include "codegen/body/verdict.h"

#include "ir/test_util.h"

static void expect_text(hlo_verdict_t verdict, const char* text) {
  hlo_strbuf_t out = {0};
  hlo_verdict_print(&verdict, &out);
  assert_string_equal(hlo_strbuf_text(&out), text);
  hlo_strbuf_deinit(&out);
}

static void texts_have_nodes_and_numbers(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.exponential %x : tensor<4xf32>\n"
      "  return %0 : tensor<4xf32>\n}\n");
  const hlo_node_t* node = module->first_func->body->first;
  expect_text(hlo_verdict_beyond(HLO_REASON_REPEATED_OP, node, 17.25, 2.5),
              "stablehlo.exponential: recomputed 17.25 times per element (limit 2.5)");
  expect_text(hlo_verdict_beyond(HLO_REASON_PIECES, NULL, 65, 64),
              "the loops split into more than 64 segments");
  expect_text(hlo_verdict_no(HLO_REASON_PRODUCT_MOVED, NULL),
              "the epilogue moves elements of the product");
  hlo_module_release(module);
}

// Every reason has a text, and every placeholder in it is replaced.
static void reasons_have_texts(void** state) {
  (void)state;
  for (int i = 1; i < HLO_REASON_COUNT; ++i) {
    const hlo_verdict_t verdict = hlo_verdict_no((hlo_reason_t)i, NULL);
    assert_true(hlo_verdict_is_no(&verdict));
    hlo_strbuf_t out = {0};
    hlo_verdict_print(&verdict, &out);
    assert_true(out.length > 0);
    assert_null(strpbrk(hlo_strbuf_text(&out), "{}"));
    hlo_strbuf_deinit(&out);
  }
  const hlo_verdict_t yes = hlo_verdict_yes();
  assert_false(hlo_verdict_is_no(&yes));
}

static void verdicts_become_errors(void** state) {
  (void)state;
  const hlo_verdict_t verdict = hlo_verdict_no(HLO_REASON_INDEX_TERMS, NULL);
  hlo_status_t status = hlo_verdict_error(&verdict, HLO_STATUS_INTERNAL, 3);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  assert_string_equal(hlo_status_message(status),
                      "fusion 3: an index expression has too many terms");
  hlo_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_have_nodes_and_numbers),
      cmocka_unit_test(reasons_have_texts),
      cmocka_unit_test(verdicts_become_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
