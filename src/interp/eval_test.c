// SPDX-License-Identifier: Apache-2.0
// The evaluator: loops, branches, calls, captured values, storage that moves instead of being
// copied, errors and cancellation.
#include "interp/eval_test_util.h"

// while (i < 1000) { i += 1; x = x * 3 + i }
static hlo_module_t* counting_loop(void) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(s32), TYPES(s32));
  hlo_region_t* body = func->body;
  hlo_value_t *zero = hlo_test_add_s32(body, 0), *limit = hlo_test_add_s32(body, 1000),
              *three = hlo_test_add_s32(body, 3);
  hlo_value_t* one = hlo_test_add_s32(body, 1);
  hlo_node_t* loop = hlo_test_add_node(body, HLO_OP_while, VALUES(zero, body->args[0]),
                                       TYPES(s32, s32), 0, NULL, 2);
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < 2; ++i) hlo_region_add_arg(loop->regions[r], s32);
  }
  hlo_region_t *cond = loop->regions[0], *step = loop->regions[1];
  hlo_test_add_return(cond, VALUES(hlo_test_add_compare(cond, HLO_COMPARISON_DIRECTION_LT,
                                                        cond->args[0], limit, 3)));
  hlo_value_t* i = hlo_test_add_op(step, HLO_OP_add, VALUES(step->args[0], one));
  hlo_value_t* x = hlo_test_add_op(step, HLO_OP_multiply, VALUES(step->args[1], three));
  hlo_test_add_return(step, VALUES(i, hlo_test_add_op(step, HLO_OP_add, VALUES(x, i))));
  hlo_test_add_return(body, VALUES(&loop->results[1]));
  return m;
}

static void loops_use_values_from_outside(void** state) {
  (void)state;
  hlo_module_t* m = counting_loop();
  hlo_tensor_t *input = hlo_test_s32_tensor(5), *output = NULL;
  hlo_test_must(hlo_test_run_entry(m, 1, &input, 1, &output));
  uint32_t expected = 5;
  for (uint32_t i = 1; i <= 1000; ++i) expected = expected * 3 + i;
  assert_int_equal(hlo_test_take_s32(output), (int32_t)expected);
  assert_int_equal(hlo_test_take_s32(input), 5);
  hlo_module_release(m);
}

// case (k) { 10 + x } { 20 + f(x) } with f(x) = x * x
static hlo_module_t* branches_and_calls(void) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* square = hlo_test_add_func(m, "square", TYPES(s32), TYPES(s32));
  hlo_value_t* x = square->body->args[0];
  hlo_test_add_return(square->body,
                      VALUES(hlo_test_add_op(square->body, HLO_OP_multiply, VALUES(x, x))));
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(s32, s32), TYPES(s32));
  hlo_region_t* body = func->body;
  hlo_node_t* node =
      hlo_test_add_node(body, HLO_OP_case, VALUES(body->args[0]), TYPES(s32), 0, NULL, 2);
  hlo_region_t *first = node->regions[0], *second = node->regions[1];
  hlo_test_add_return(first,
                      VALUES(hlo_test_add_op(first, HLO_OP_add,
                                             VALUES(hlo_test_add_s32(first, 10), body->args[1]))));
  hlo_named_attr_t callee = {HLO_ATTR_callee, hlo_attr_symbol(m, "square", 6)};
  hlo_node_t* call =
      hlo_test_add_node(second, HLO_OP_call, VALUES(body->args[1]), TYPES(s32), 1, &callee, 0);
  hlo_test_add_return(
      second, VALUES(hlo_test_add_op(second, HLO_OP_add,
                                     VALUES(hlo_test_add_s32(second, 20), &call->results[0]))));
  hlo_test_add_return(body, VALUES(&node->results[0]));
  return m;
}

static void branches_run_once_and_calls_return(void** state) {
  (void)state;
  hlo_module_t* m = branches_and_calls();
  const struct { int32_t index, expected; } cases[] = {{0, 17}, {1, 69}, {2, 69}, {-1, 69}};
  for (int k = 0; k < 4; ++k) {
    hlo_tensor_t* inputs[2] = {hlo_test_s32_tensor(cases[k].index), hlo_test_s32_tensor(7)};
    hlo_tensor_t* output = NULL;
    hlo_test_must(hlo_test_run_entry(m, 2, inputs, 1, &output));
    assert_int_equal(hlo_test_take_s32(output), cases[k].expected);
    hlo_tensor_release(inputs[0]);
    hlo_tensor_release(inputs[1]);
  }
  hlo_module_release(m);
}

// negate(negate(x)): the second negation works in the storage of the first.
static void last_uses_hand_over_storage(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* type = hlo_test_vector_type(m, HLO_DTYPE_F32, 1024);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(type), TYPES(type));
  hlo_value_t* x = hlo_test_add_op(func->body, HLO_OP_negate, VALUES(func->body->args[0]));
  hlo_test_add_return(func->body, VALUES(hlo_test_add_op(func->body, HLO_OP_negate, VALUES(x))));
  float data[1024];
  for (int i = 0; i < 1024; ++i) data[i] = (float)i;
  hlo_tensor_t* input = hlo_test_vector_tensor(HLO_DTYPE_F32, 1024, data);
  hlo_tensor_t *lent = NULL, *taken = NULL;
  hlo_test_must(hlo_test_run_entry(m, 1, &input, 1, &lent));
  assert_ptr_not_equal(lent->data, input->data);
  assert_memory_equal(lent->data, data, sizeof(data));

  hlo_interp_program_t* program = NULL;
  hlo_eval_t* eval = NULL;
  bool is_suspended = true;
  hlo_test_must(hlo_interp_program_create(m, &program));
  void* storage = input->data;
  hlo_test_must(hlo_interp_begin_taking(program, func, 1, &input, NULL, &eval));
  hlo_test_must(hlo_interp_run(eval, &is_suspended));
  assert_false(is_suspended);
  hlo_interp_take_outputs(eval, &taken);
  hlo_interp_end(eval);
  assert_ptr_equal(taken->data, storage);
  assert_memory_equal(taken->data, data, sizeof(data));
  hlo_tensor_release(lent);
  hlo_tensor_release(taken);
  hlo_interp_program_release(program);
  hlo_module_release(m);
}

// A value used twice by one op and again by a later one is not overwritten too early.
static void shared_values_are_not_overwritten(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(s32), TYPES(s32));
  hlo_region_t* body = func->body;
  hlo_value_t* x = hlo_test_add_op(body, HLO_OP_add, VALUES(body->args[0], body->args[0]));
  hlo_value_t* y = hlo_test_add_op(body, HLO_OP_multiply, VALUES(x, x));
  hlo_value_t* z = hlo_test_add_op(body, HLO_OP_subtract, VALUES(y, x));
  hlo_test_add_return(body, VALUES(hlo_test_add_op(body, HLO_OP_add, VALUES(z, z))));
  hlo_tensor_t *input = hlo_test_s32_tensor(5), *output = NULL;
  hlo_test_must(hlo_test_run_entry(m, 1, &input, 1, &output));
  assert_int_equal(hlo_test_take_s32(output), 180);
  hlo_tensor_release(input);
  hlo_module_release(m);
}

static void endless_recursion_is_an_error(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(s32), TYPES(s32));
  hlo_named_attr_t callee = {HLO_ATTR_callee, hlo_attr_symbol(m, "main", 4)};
  hlo_node_t* call = hlo_test_add_node(func->body, HLO_OP_call, VALUES(func->body->args[0]),
                                       TYPES(s32), 1, &callee, 0);
  hlo_test_add_return(func->body, VALUES(&call->results[0]));
  hlo_tensor_t *input = hlo_test_s32_tensor(1), *output = NULL;
  hlo_status_t status = hlo_test_run_entry(m, 1, &input, 1, &output);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  hlo_tensor_release(input);
  hlo_module_release(m);
}

static void loops_poll_the_cancel_flag(void** state) {
  (void)state;
  hlo_module_t* m = counting_loop();
  hlo_interp_program_t* program = NULL;
  hlo_test_must(hlo_interp_program_create(m, &program));
  atomic_uint cancelled = 1;
  hlo_interp_options_t options = {.cancelled = &cancelled};
  hlo_tensor_t *input = hlo_test_s32_tensor(5), *output = NULL;
  hlo_status_t status =
      hlo_interp_call(program, hlo_module_entry(m), 1, &input, 1, &output, &options);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_CANCELLED);
  hlo_status_release(status);
  hlo_tensor_release(input);
  hlo_interp_program_release(program);
  hlo_module_release(m);
}

static void wrong_inputs_are_refused(void** state) {
  (void)state;
  hlo_module_t* m = counting_loop();
  float one = 1;
  hlo_tensor_t* input = hlo_test_vector_tensor(HLO_DTYPE_F32, 1, &one);
  hlo_tensor_t* output = NULL;
  hlo_status_t status = hlo_test_run_entry(m, 1, &input, 1, &output);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  status = hlo_test_run_entry(m, 0, NULL, 1, &output);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  hlo_tensor_release(input);
  hlo_module_release(m);
}

// Fails every allocation of preparing and running once: each gives an error and leaks nothing
// (address sanitizer).
static void memory_may_run_out_anywhere(void** state) {
  (void)state;
  hlo_module_t* m = branches_and_calls();
  hlo_tensor_t* inputs[2] = {hlo_test_s32_tensor(1), hlo_test_s32_tensor(7)};
  bool has_failed = true;
  for (uint64_t n = 1; has_failed; ++n) {
    hlo_interp_program_t* program = NULL;
    hlo_tensor_t* output = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_interp_program_create(m, &program);
    if (hlo_status_is_ok(status)) {
      status = hlo_interp_call(program, hlo_module_entry(m), 2, inputs, 1, &output, NULL);
    }
    has_failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    assert_int_equal(has_failed, !hlo_status_is_ok(status));
    hlo_status_release(status);
    hlo_tensor_release(output);
    hlo_interp_program_release(program);
    assert_true(n < 1000);
  }
  hlo_tensor_release(inputs[0]);
  hlo_tensor_release(inputs[1]);
  hlo_module_release(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_use_values_from_outside),
      cmocka_unit_test(branches_run_once_and_calls_return),
      cmocka_unit_test(last_uses_hand_over_storage),
      cmocka_unit_test(shared_values_are_not_overwritten),
      cmocka_unit_test(endless_recursion_is_an_error),
      cmocka_unit_test(loops_poll_the_cancel_flag),
      cmocka_unit_test(wrong_inputs_are_refused),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
