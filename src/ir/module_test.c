// SPDX-License-Identifier: Apache-2.0
// Tests of modules as containers: functions and their names, walks over their nodes.
#include "ir/module.h"

#include "ir/clone.h"
#include "ir/test_util.h"

static hlo_func_t* add_func(hlo_module_t* module, const char* name) {
  const hlo_type_t* type = hlo_type_function(module, 0, NULL, 0, NULL);
  hlo_func_t* func = hlo_func_create(module, name, type, HLO_PRIVATE, false, 0);
  assert_non_null(func);
  return func;
}

static void test_names(void** state) {
  (void)state;
  hlo_module_t* module = NULL;
  hlo_test_check(hlo_module_create(0, &module));
  hlo_func_t *f = add_func(module, "f"), *g = add_func(module, "g"),
             *second = add_func(module, "f");
  hlo_func_t* third = add_func(module, "f");
  assert_ptr_equal(hlo_module_find_func(module, "f"), f);
  assert_ptr_equal(hlo_module_find_func(module, "g"), g);
  assert_null(hlo_module_find_func(module, "h"));
  hlo_func_remove(second);
  assert_ptr_equal(hlo_module_find_func(module, "f"), f);
  hlo_func_remove(f);
  assert_ptr_equal(hlo_module_find_func(module, "f"), third);
  hlo_func_remove(g);
  assert_null(hlo_module_find_func(module, "g"));
  hlo_module_release(module);
}

// Each function but the first of a name is a fault.
static void test_namesakes_are_refused(void** state) {
  (void)state;
  hlo_module_t* module = NULL;
  hlo_diag_t diag;
  hlo_diag_init(&diag, "test", "", 0);
  hlo_test_check(hlo_module_create(0, &module));
  for (int i = 0; i < 3; ++i) add_func(module, "f");
  hlo_status_t status = hlo_module_verify(module, &diag);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  assert_int_equal(diag.error_count, 2);
  hlo_status_release(status);
  hlo_diag_deinit(&diag);
  hlo_module_release(module);
}

typedef struct visits {
  uint32_t count;
  hlo_op_t erased;  // op of which the visit erases the first node
} visits_t;

static hlo_status_t visit(void* context, hlo_node_t* node) {
  visits_t* visits = context;
  ++visits->count;
  if (node->op != visits->erased) return hlo_ok();
  visits->erased = HLO_OP_COUNT;
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
  hlo_node_erase(node);
  return hlo_ok();
}

// A walk leaves out the body of a node that is erased.
static void test_walks(void** state) {
  (void)state;
  hlo_module_t* module = hlo_test_parse(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %s = stablehlo.add %a, %b : tensor<f32>\n"
      "    stablehlo.return %s : tensor<f32>\n"
      "  }) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  %1 = stablehlo.negate %0 : tensor<4xf32>\n"
      "  return %1 : tensor<4xf32>\n}\n");
  for (int post_order = 0; post_order < 2; ++post_order) {
    visits_t visits = {.erased = HLO_OP_COUNT};
    hlo_test_check(hlo_module_walk(module, post_order, visit, &visits));
    assert_int_equal(visits.count, 5);
  }
  visits_t visits = {.erased = HLO_OP_all_reduce};
  hlo_test_check(hlo_module_walk(module, false, visit, &visits));
  assert_int_equal(visits.count, 3);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_namesakes_are_refused),
      cmocka_unit_test(test_walks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
