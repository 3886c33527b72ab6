// SPDX-License-Identifier: Apache-2.0
// Tests of modules as containers: functions and their names.
#include "ir/module.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_namesakes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
