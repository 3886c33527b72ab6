// SPDX-License-Identifier: Apache-2.0
// Region functions: which bodies are recognised, and that calls compute the body's results.
#include <math.h>

#include "interp/eval_impl.h"
#include "interp/eval_test_util.h"
#include "ir/sort_comparator.h"

/// A function body used as the region: it has arguments and a return like any reducer.
static hlo_region_t* new_body(hlo_module_t* m, uint32_t count, hlo_dtype_t dtype) {
  const hlo_type_t* types[5] = {0};
  for (uint32_t i = 0; i < count; ++i) types[i] = hlo_test_scalar_type(m, dtype);
  return hlo_test_add_func(m, "main", types, NULL)->body;
}

static hlo_region_fn_t* prepare(hlo_eval_t* eval, const hlo_region_t* region) {
  hlo_region_fn_t* fn = NULL;
  hlo_test_must(hlo_region_fn_create(eval, region, &fn));
  return fn;
}

static void release_fixture(hlo_eval_t* eval, hlo_region_fn_t* fn, hlo_module_t* m) {
  hlo_region_fn_release(fn);
  hlo_region_fn_free_all(eval);
  hlo_module_release(m);
}

static void single_ops_are_recognised(void** state) {
  (void)state;
  for (int is_swapped = 0; is_swapped < 2; ++is_swapped) {
    hlo_op_t ops[2] = {HLO_OP_maximum, HLO_OP_subtract};
    for (int k = 0; k < 2; ++k) {
      hlo_eval_t eval = {0};
      hlo_module_t* m = hlo_test_new_module();
      hlo_region_t* r = new_body(m, 2, HLO_DTYPE_F32);
      hlo_test_add_return(
          r, VALUES(hlo_test_add_op(r, ops[k], VALUES(r->args[is_swapped], r->args[!is_swapped]))));
      hlo_region_fn_t* fn = prepare(&eval, r);
      hlo_op_t expected = k == 1 && is_swapped ? HLO_OP_COUNT : ops[k];
      assert_int_equal(hlo_region_fn_binary(fn), expected);
      float x = 2, y = 5, z = 0;
      hlo_test_must(hlo_region_fn_call(fn, (const void*[]){&x, &y}, (void*[]){&z}));
      assert_true(z == (k == 0 ? 5.0f : is_swapped ? 3.0f : -3.0f));
      release_fixture(&eval, fn, m);
    }
  }
}

// Builds the canonical form of a float key as jax.lax.sort does.
static hlo_value_t* canonical_key(hlo_region_t* r, hlo_value_t* x) {
  hlo_value_t *zero = hlo_test_add_f32(r, 0), *nan = hlo_test_add_f32(r, NAN);
  hlo_value_t* is_zero = hlo_test_add_compare(r, HLO_COMPARISON_DIRECTION_EQ, x, zero, 1);
  hlo_value_t* inner =
      &hlo_test_add_node(r, HLO_OP_select, VALUES(is_zero, zero, x), TYPES(x->type), 0, NULL, 0)
           ->results[0];
  hlo_value_t* is_nan = hlo_test_add_compare(r, HLO_COMPARISON_DIRECTION_NE, x, x, 1);
  return &hlo_test_add_node(r, HLO_OP_select, VALUES(is_nan, nan, inner), TYPES(x->type), 0, NULL,
                            0)
              ->results[0];
}

static void comparators_are_recognised(void** state) {
  (void)state;
  for (int is_canonical = 0; is_canonical < 2; ++is_canonical) {
    for (int is_swapped = 0; is_swapped < 2; ++is_swapped) {
      hlo_eval_t eval = {0};
      hlo_module_t* m = hlo_test_new_module();
      hlo_region_t* r = new_body(m, 4, HLO_DTYPE_F32);
      hlo_value_t *x = r->args[is_swapped], *y = r->args[!is_swapped];
      if (is_canonical) {
        x = canonical_key(r, x);
        y = canonical_key(r, y);
      }
      hlo_test_add_return(r, VALUES(hlo_test_add_compare(r, HLO_COMPARISON_DIRECTION_LT, x, y,
                                                         HLO_COMPARISON_TYPE_TOTALORDER)));
      hlo_region_fn_t* fn = prepare(&eval, r);
      hlo_sort_key_t keys[HLO_SORT_KEYS_MAX];
      assert_int_equal(hlo_sort_keys_of(r, keys), 1);
      assert_int_equal(keys[0].descending, is_swapped);
      assert_int_equal(keys[0].canonical, is_canonical);
      float a = -0.0f, b = 0.0f, unused = 1;
      uint8_t is_less = 2;
      hlo_test_must(
          hlo_region_fn_call(fn, (const void*[]){&a, &b, &unused, &unused}, (void*[]){&is_less}));
      assert_int_equal(is_less, !is_canonical && !is_swapped);
      release_fixture(&eval, fn, m);
    }
  }
}

static void other_comparators_are_not(void** state) {
  (void)state;
  hlo_eval_t eval = {0};
  hlo_module_t* m = hlo_test_new_module();
  hlo_region_t* r = new_body(m, 4, HLO_DTYPE_F32);
  hlo_value_t* first =
      hlo_test_add_compare(r, HLO_COMPARISON_DIRECTION_LT, r->args[0], r->args[1], 1);
  hlo_value_t* second =
      hlo_test_add_compare(r, HLO_COMPARISON_DIRECTION_LT, r->args[2], r->args[3], 1);
  hlo_test_add_return(r, VALUES(hlo_test_add_op(r, HLO_OP_or, VALUES(first, second))));
  hlo_region_fn_t* fn = prepare(&eval, r);
  hlo_sort_key_t keys[HLO_SORT_KEYS_MAX];
  assert_int_equal(hlo_sort_keys_of(r, keys), 0);
  release_fixture(&eval, fn, m);
}

// Results may share the memory of arguments, and a result may be an argument.
static void results_may_alias_arguments(void** state) {
  (void)state;
  hlo_eval_t eval = {0};
  hlo_module_t* m = hlo_test_new_module();
  hlo_region_t* r = new_body(m, 2, HLO_DTYPE_S32);
  hlo_test_add_return(r, VALUES(r->args[1], r->args[0]));
  hlo_region_fn_t* fn = prepare(&eval, r);
  int32_t x = 1, y = 2;
  hlo_test_must(hlo_region_fn_call(fn, (const void*[]){&x, &y}, (void*[]){&x, &y}));
  assert_int_equal(x, 2);
  assert_int_equal(y, 1);
  release_fixture(&eval, fn, m);
}

// A reduction whose body has a call, or a conditional, which no instruction list can hold.
static hlo_module_t* reduction_with(bool has_branch) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  const hlo_type_t* vector = hlo_test_vector_type(m, HLO_DTYPE_S32, 5);
  hlo_func_t* twice = hlo_test_add_func(m, "twice", TYPES(s32), TYPES(s32));
  hlo_value_t* x = twice->body->args[0];
  hlo_test_add_return(twice->body, VALUES(hlo_test_add_op(twice->body, HLO_OP_add, VALUES(x, x))));
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(vector, s32), TYPES(s32));
  hlo_region_t* body = func->body;
  int64_t zero_dim = 0;
  hlo_named_attr_t dims = {HLO_ATTR_dimensions, hlo_attr_ints(m, 1, &zero_dim)};
  hlo_node_t* reduce =
      hlo_test_add_node(body, HLO_OP_reduce, VALUES(body->args[0], hlo_test_add_s32(body, 0)),
                        TYPES(s32), 1, &dims, 1);
  hlo_region_t* r = reduce->regions[0];
  for (int i = 0; i < 2; ++i) hlo_region_add_arg(r, s32);
  hlo_named_attr_t callee = {HLO_ATTR_callee, hlo_attr_symbol(m, "twice", 5)};
  hlo_value_t* doubled =
      &hlo_test_add_node(r, HLO_OP_call, VALUES(r->args[1]), TYPES(s32), 1, &callee, 0)->results[0];
  if (has_branch) {
    hlo_value_t* is_odd = hlo_test_add_compare(
        r, HLO_COMPARISON_DIRECTION_EQ,
        hlo_test_add_op(r, HLO_OP_and, VALUES(r->args[1], hlo_test_add_s32(r, 1))),
        hlo_test_add_s32(r, 1), HLO_COMPARISON_TYPE_SIGNED);
    hlo_node_t* branch = hlo_test_add_node(r, HLO_OP_if, VALUES(is_odd), TYPES(s32), 0, NULL, 2);
    hlo_test_add_return(branch->regions[0], VALUES(doubled));
    hlo_test_add_return(branch->regions[1], VALUES(r->args[1]));
    doubled = &branch->results[0];
  }
  // body->args[1] is captured.
  hlo_value_t* scaled = hlo_test_add_op(r, HLO_OP_multiply, VALUES(doubled, body->args[1]));
  hlo_test_add_return(r, VALUES(hlo_test_add_op(r, HLO_OP_add, VALUES(r->args[0], scaled))));
  hlo_test_add_return(body, VALUES(&reduce->results[0]));
  return m;
}

static void bodies_call_capture_and_branch(void** state) {
  (void)state;
  for (int has_branch = 0; has_branch < 2; ++has_branch) {
    hlo_module_t* m = reduction_with(has_branch);
    const int32_t data[5] = {1, 2, 3, 4, 5};
    hlo_tensor_t* inputs[2] = {hlo_test_vector_tensor(HLO_DTYPE_S32, 5, data),
                               hlo_test_s32_tensor(10)};
    hlo_tensor_t* output = NULL;
    hlo_test_must(hlo_test_run_entry(m, 2, inputs, 1, &output));
    assert_int_equal(hlo_test_take_s32(output), has_branch ? 240 : 300);
    hlo_tensor_release(inputs[0]);
    hlo_tensor_release(inputs[1]);
    hlo_module_release(m);
  }
}

// (x, y) -> (x > y ? x * 2.5 : y + 1, y), on bf16: blocks and single calls agree, also in place.
static void many_calls_are_single_calls(void** state) {
  (void)state;
  enum { COUNT = 1000 };
  hlo_eval_t eval = {0};
  hlo_module_t* m = hlo_test_new_module();
  hlo_region_t* r = new_body(m, 2, HLO_DTYPE_BF16);
  hlo_value_t *x = r->args[0], *y = r->args[1];
  uint16_t factor = hlo_f32_to_bf16(2.5f), one = hlo_f32_to_bf16(1);
  hlo_value_t* scaled = hlo_test_add_op(
      r, HLO_OP_multiply, VALUES(x, hlo_test_add_constant(r, x->type, &factor, true)));
  hlo_value_t* more =
      hlo_test_add_op(r, HLO_OP_add, VALUES(y, hlo_test_add_constant(r, x->type, &one, true)));
  hlo_value_t* is_larger = hlo_test_add_compare(r, HLO_COMPARISON_DIRECTION_GT, x, y, 1);
  hlo_node_t* select = hlo_test_add_node(r, HLO_OP_select, VALUES(is_larger, scaled, more),
                                         TYPES(x->type), 0, NULL, 0);
  hlo_value_t* wide = &hlo_test_add_node(r, HLO_OP_convert, VALUES(&select->results[0]),
                                         TYPES(hlo_test_scalar_type(m, HLO_DTYPE_F64)), 0, NULL, 0)
                           ->results[0];
  hlo_test_add_return(r, VALUES(&select->results[0], y, wide));
  hlo_region_fn_t* fn = prepare(&eval, r);
  uint16_t a[COUNT], b[COUNT], expected[2][COUNT];
  double wide_expected[COUNT], wide_found[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    a[i] = hlo_f32_to_bf16((float)(i % 37));
    b[i] = hlo_f32_to_bf16((float)(i % 23));
    hlo_test_must(
        hlo_region_fn_call(fn, (const void*[]){&a[i], &b[i]},
                           (void*[]){&expected[0][i], &expected[1][i], &wide_expected[i]}));
  }
  hlo_test_must(
      hlo_region_fn_call_many(fn, COUNT, (const void*[]){a, b}, (void*[]){b, a, wide_found}));
  assert_memory_equal(b, expected[0], sizeof(b));
  assert_memory_equal(a, expected[1], sizeof(a));
  assert_memory_equal(wide_found, wide_expected, sizeof(wide_found));
  release_fixture(&eval, fn, m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(single_ops_are_recognised),
      cmocka_unit_test(comparators_are_recognised),
      cmocka_unit_test(other_comparators_are_not),
      cmocka_unit_test(results_may_alias_arguments),
      cmocka_unit_test(bodies_call_capture_and_branch),
      cmocka_unit_test(many_calls_are_single_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
