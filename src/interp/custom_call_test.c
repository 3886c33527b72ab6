// SPDX-License-Identifier: Apache-2.0
// Checks and custom calls: tolerances, messages, annotations, factorisations, top-k, the hook.
#include <math.h>

#include "interp/eval_test_util.h"
#include "ir/check.h"

/// A call of `target` on vectors; the config is a dictionary or NULL.
static hlo_node_t* add_call(hlo_region_t* region, const char* target, hlo_value_t* const* operands,
                            const hlo_type_t* const* types, const hlo_attr_t* config) {
  hlo_module_t* m = region->module;
  hlo_named_attr_t attrs[2] = {
      {HLO_ATTR_call_target_name, hlo_attr_string(m, target, strlen(target))},
      {HLO_ATTR_backend_config, config}};
  return hlo_test_add_node(region, HLO_OP_custom_call, operands, types, config ? 2 : 1, attrs, 0);
}

static hlo_status_t run_check(const char* target, hlo_dtype_t dtype, int64_t count, const void* a,
                              const void* b) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* type = hlo_test_vector_type(m, dtype, count);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(type, type), NULL);
  add_call(func->body, target, VALUES(func->body->args[0], func->body->args[1]), NULL, NULL);
  hlo_test_add_return(func->body, NULL);
  hlo_tensor_t* inputs[2] = {hlo_test_vector_tensor(dtype, count, a),
                             hlo_test_vector_tensor(dtype, count, b)};
  hlo_status_t status = hlo_test_run_entry(m, 2, inputs, 0, NULL);
  hlo_tensor_release(inputs[0]);
  hlo_tensor_release(inputs[1]);
  hlo_module_release(m);
  return status;
}

static void compare_by(const char* target, const float* a, const float* b, int64_t count,
                       bool passes) {
  hlo_status_t status = run_check(target, HLO_DTYPE_F32, count, a, b);
  if (hlo_status_is_ok(status) != passes) {
    fail_msg("%s of %g and %g: %s", target, a[0], b[0], hlo_status_message(status));
  }
  hlo_status_release(status);
}

static void checks_have_their_tolerances(void** state) {
  (void)state;
  const float one = 1, ulp3 = 1 + 3 * 0x1p-23f, ulp4 = 1 + 4 * 0x1p-23f, nan = NAN;
  const float zero = 0, negative_zero = -0.0f, inf = INFINITY;
  compare_by("check.expect_eq", &one, &one, 1, true);
  compare_by("check.expect_eq", &zero, &negative_zero, 1, true);
  compare_by("check.expect_eq", &nan, &nan, 1, false);
  compare_by("check.expect_eq", &one, &ulp3, 1, false);
  compare_by("check.expect_close", &one, &ulp3, 1, true);
  compare_by("check.expect_close", &one, &ulp4, 1, false);
  compare_by("check.expect_close", &nan, &nan, 1, true);
  compare_by("check.expect_close", &inf, &one, 1, false);
  compare_by("check.expect_almost_eq", &one, &(float){1.0009f}, 1, true);
  compare_by("check.expect_almost_eq", &one, &(float){1.0011f}, 1, false);
  compare_by("check.eq", &one, &(float){1.00009f}, 1, true);
  compare_by("check.eq", &one, &(float){1.0002f}, 1, false);
}

static void failed_checks_say_where(void** state) {
  (void)state;
  const int32_t a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 9, 9};
  hlo_status_t status = run_check("check.expect_eq", HLO_DTYPE_S32, 4, a, b);
  assert_non_null(strstr(hlo_status_message(status), "element [2] is 3, expected 9 (2 of 4"));
  hlo_status_release(status);
}

static void distances_count_representable_values(void** state) {
  (void)state;
  const float a = 0x1p-149f, b = -0x1p-149f;
  assert_int_equal(hlo_check_ulp_distance(HLO_DTYPE_F32, &a, &b), 2);
  const uint16_t x = 0x3c00, y = 0x3c02;
  assert_int_equal(hlo_check_ulp_distance(HLO_DTYPE_F16, &x, &y), 2);
}

static void unknown_targets_are_named(void** state) {
  (void)state;
  const int32_t zero = 0;
  hlo_status_t status = run_check("no_such_thing", HLO_DTYPE_S32, 1, &zero, &zero);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
  assert_non_null(strstr(hlo_status_message(status), "@no_such_thing"));
  hlo_status_release(status);
}

// a = [[4, 2], [2, 5]]: its Cholesky factor is [[2, .], [1, 2]].
static void factorisations_take_jax_attributes(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* matrix = hlo_type_tensor(m, HLO_DTYPE_F32, 2, (int64_t[]){2, 2});
  const hlo_type_t* info = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(matrix), TYPES(matrix, info));
  const char* key = "uplo";
  const hlo_attr_t* uplo = hlo_attr_int(m, HLO_DTYPE_U8, 'L');
  hlo_node_t* call = add_call(func->body, "lapack_spotrf_ffi", VALUES(func->body->args[0]),
                              TYPES(matrix, info), hlo_attr_dict(m, 1, &key, &uplo));
  hlo_test_add_return(func->body, VALUES(&call->results[0], &call->results[1]));
  hlo_tensor_t *input = NULL, *outputs[2];
  hlo_test_must(hlo_tensor_create(HLO_DTYPE_F32, 2, (int64_t[]){2, 2}, &input));
  memcpy(input->data, (float[]){4, 2, 2, 5}, 16);
  hlo_test_must(hlo_test_run_entry(m, 1, &input, 2, outputs));
  assert_memory_equal(outputs[0]->data, ((float[]){2, 2, 1, 2}), 16);
  assert_int_equal(hlo_test_take_s32(outputs[1]), 0);
  hlo_tensor_release(outputs[0]);
  hlo_tensor_release(input);
  hlo_module_release(m);
}

// The singular values of diag(3, -2); with mode N the vectors are zeros.
static void singular_values_by_mode(void** state) {
  (void)state;
  for (int form = 0; form < 2; ++form) {
    hlo_module_t* m = hlo_test_new_module();
    const hlo_type_t* matrix = hlo_type_tensor(m, HLO_DTYPE_F32, 2, (int64_t[]){2, 2});
    const hlo_type_t* values = hlo_test_vector_type(m, HLO_DTYPE_F32, 2);
    const hlo_type_t* info = hlo_test_scalar_type(m, HLO_DTYPE_S32);
    hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(matrix), TYPES(values, matrix, info));
    const char* key = "mode";
    const hlo_attr_t* mode = hlo_attr_int(m, HLO_DTYPE_U8, form ? 'A' : 'N');
    hlo_node_t* call =
        add_call(func->body, "lapack_sgesdd_ffi", VALUES(func->body->args[0]),
                 TYPES(matrix, values, matrix, matrix, info), hlo_attr_dict(m, 1, &key, &mode));
    hlo_test_add_return(func->body,
                        VALUES(&call->results[1], &call->results[2], &call->results[4]));
    hlo_tensor_t *input = NULL, *outputs[3];
    hlo_test_must(hlo_tensor_create(HLO_DTYPE_F32, 2, (int64_t[]){2, 2}, &input));
    memcpy(input->data, (float[]){3, 0, 0, -2}, 16);
    hlo_test_must(hlo_test_run_entry(m, 1, &input, 3, outputs));
    const float *s = outputs[0]->data, *u = outputs[1]->data;
    assert_true(s[0] > 2.999f && s[0] < 3.001f && s[1] > 1.999f && s[1] < 2.001f);
    assert_true(form ? u[0] * u[0] > 0.999f && u[0] * u[0] < 1.001f : u[0] == 0);
    assert_int_equal(hlo_test_take_s32(outputs[2]), 0);
    hlo_tensor_release(outputs[0]);
    hlo_tensor_release(outputs[1]);
    hlo_tensor_release(input);
    hlo_module_release(m);
  }
}

static void topk_keeps_the_best(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* in = hlo_test_vector_type(m, HLO_DTYPE_F32, 5);
  const hlo_type_t *best = hlo_test_vector_type(m, HLO_DTYPE_F32, 2),
                   *places = hlo_test_vector_type(m, HLO_DTYPE_S32, 2);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(in), TYPES(best, places));
  const char* keys[2] = {"k", "largest"};
  const hlo_attr_t* values[2] = {hlo_attr_int(m, HLO_DTYPE_S64, 2), hlo_attr_bool(m, true)};
  hlo_node_t* call = add_call(func->body, "mhlo.topk", VALUES(func->body->args[0]),
                              TYPES(best, places), hlo_attr_dict(m, 2, keys, values));
  hlo_test_add_return(func->body, VALUES(&call->results[0], &call->results[1]));
  hlo_tensor_t* input = hlo_test_vector_tensor(HLO_DTYPE_F32, 5, (float[]){3, 7, 1, 7, 5});
  hlo_tensor_t* outputs[2];
  hlo_test_must(hlo_test_run_entry(m, 1, &input, 2, outputs));
  assert_memory_equal(outputs[0]->data, ((float[]){7, 7}), 8);
  assert_memory_equal(outputs[1]->data, ((int32_t[]){1, 3}), 8);
  for (int i = 0; i < 2; ++i) hlo_tensor_release(outputs[i]);
  hlo_tensor_release(input);
  hlo_module_release(m);
}

// A hook that answers the second call: the evaluation suspends in between.
static hlo_status_t late_answer(void* context, hlo_eval_t* eval, const hlo_node_t* node,
                                hlo_tensor_t** operands, hlo_tensor_t** results, void** hook_state,
                                bool* out_handled, bool* out_pending) {
  (void)eval, (void)node;
  ++*(int*)context;
  *out_handled = true;
  *out_pending = *hook_state == NULL;
  *hook_state = context;
  if (!*out_pending) results[0] = hlo_tensor_retain(operands[0]);
  return hlo_ok();
}

static void hooks_may_wait(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(s32), TYPES(s32));
  hlo_node_t* call =
      add_call(func->body, "python_callback", VALUES(func->body->args[0]), TYPES(s32), NULL);
  hlo_value_t* x = &call->results[0];
  hlo_test_add_return(func->body, VALUES(hlo_test_add_op(func->body, HLO_OP_add, VALUES(x, x))));
  int calls = 0;
  hlo_interp_options_t options = {.custom_call = late_answer, .custom_call_context = &calls};
  hlo_interp_program_t* program = NULL;
  hlo_eval_t* eval = NULL;
  bool is_suspended = false;
  hlo_test_must(hlo_interp_program_create(m, &program));
  hlo_tensor_t *input = hlo_test_s32_tensor(21), *output = NULL;
  hlo_test_must(hlo_interp_begin(program, func, 1, &input, &options, &eval));
  hlo_test_must(hlo_interp_run(eval, &is_suspended));
  assert_true(is_suspended);
  hlo_test_must(hlo_interp_run(eval, &is_suspended));
  assert_false(is_suspended);
  hlo_interp_take_outputs(eval, &output);
  hlo_interp_end(eval);
  assert_int_equal(hlo_test_take_s32(output), 42);
  assert_int_equal(calls, 2);
  // An evaluation released while suspended leaks nothing.
  hlo_test_must(hlo_interp_begin(program, func, 1, &input, &options, &eval));
  hlo_test_must(hlo_interp_run(eval, &is_suspended));
  hlo_interp_end(eval);
  hlo_tensor_release(input);
  hlo_interp_program_release(program);
  hlo_module_release(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(checks_have_their_tolerances),
      cmocka_unit_test(failed_checks_say_where),
      cmocka_unit_test(distances_count_representable_values),
      cmocka_unit_test(unknown_targets_are_named),
      cmocka_unit_test(factorisations_take_jax_attributes),
      cmocka_unit_test(singular_values_by_mode),
      cmocka_unit_test(topk_keeps_the_best),
      cmocka_unit_test(hooks_may_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
