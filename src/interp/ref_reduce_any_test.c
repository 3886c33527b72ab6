// SPDX-License-Identifier: Apache-2.0
// Reductions with any body preserve the order of the elements for all ways of dividing the
// dimensions.
#include "interp/eval_test_util.h"

// Composition of affine maps x -> a x + b, which is associative and not commutative:
// (a, b) then (c, d) is (a c, b c + d).
static hlo_module_t* composition(const int64_t* dims, uint32_t rank, const int64_t* reduced,
                                 uint32_t reduced_count, const hlo_type_t** out_type) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  const hlo_type_t* in = hlo_type_tensor(m, HLO_DTYPE_S32, rank, dims);
  int64_t kept[4];
  uint32_t kept_count = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    bool is_reduced = false;
    for (uint32_t i = 0; i < reduced_count; ++i) is_reduced |= reduced[i] == (int64_t)d;
    if (!is_reduced) kept[kept_count++] = dims[d];
  }
  const hlo_type_t* out = hlo_type_tensor(m, HLO_DTYPE_S32, kept_count, kept);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(in, in), TYPES(out, out));
  hlo_region_t* body = func->body;
  hlo_named_attr_t attr = {HLO_ATTR_dimensions, hlo_attr_ints(m, reduced_count, reduced)};
  hlo_node_t* reduce = hlo_test_add_node(
      body, HLO_OP_reduce,
      VALUES(body->args[0], body->args[1], hlo_test_add_s32(body, 1), hlo_test_add_s32(body, 0)),
      TYPES(out, out), 1, &attr, 1);
  hlo_region_t* r = reduce->regions[0];
  for (int i = 0; i < 4; ++i) hlo_region_add_arg(r, s32);
  hlo_value_t *a = r->args[0], *b = r->args[1], *c = r->args[2], *d = r->args[3];
  hlo_value_t* slope = hlo_test_add_op(r, HLO_OP_multiply, VALUES(a, c));
  hlo_value_t* offset =
      hlo_test_add_op(r, HLO_OP_add, VALUES(hlo_test_add_op(r, HLO_OP_multiply, VALUES(b, c)), d));
  hlo_test_add_return(r, VALUES(slope, offset));
  hlo_test_add_return(body, VALUES(&reduce->results[0], &reduce->results[1]));
  *out_type = out;
  return m;
}

// Composes one output's elements in order.
static void compose_maps(const uint32_t* a, const uint32_t* b, const int64_t* dims,
                         const bool* is_reduced, const int64_t* at, uint32_t* out) {
  out[0] = 1;
  out[1] = 0;
  int64_t i[3];
  for (i[0] = 0; i[0] < dims[0]; ++i[0]) {
    for (i[1] = 0; i[1] < dims[1]; ++i[1]) {
      for (i[2] = 0; i[2] < dims[2]; ++i[2]) {
        bool is_mine = true;
        for (int d = 0; d < 3; ++d) is_mine &= is_reduced[d] || i[d] == at[d];
        if (!is_mine) continue;
        int64_t flat = (i[0] * dims[1] + i[1]) * dims[2] + i[2];
        out[1] = out[1] * a[flat] + b[flat];
        out[0] *= a[flat];
      }
    }
  }
}

static void check_case(const int64_t* dims, const int64_t* reduced, uint32_t reduced_count) {
  const hlo_type_t* type = NULL;
  hlo_module_t* m = composition(dims, 3, reduced, reduced_count, &type);
  int64_t count = dims[0] * dims[1] * dims[2];
  hlo_tensor_t *inputs[2], *outputs[2];
  for (int k = 0; k < 2; ++k) {
    hlo_test_must(hlo_tensor_create(HLO_DTYPE_S32, 3, dims, &inputs[k]));
    uint32_t* data = inputs[k]->data;
    for (int64_t i = 0; i < count; ++i) data[i] = (uint32_t)(i * 7 + k * 3) % 11 * 2 + 1;
  }
  hlo_test_must(hlo_test_run_entry(m, 2, inputs, 2, outputs));
  bool is_reduced[3] = {false, false, false};
  for (uint32_t i = 0; i < reduced_count; ++i) is_reduced[reduced[i]] = true;
  int64_t at[3] = {0, 0, 0}, shown = 0;
  do {
    bool is_first = true;
    for (int d = 0; d < 3; ++d) is_first &= !is_reduced[d] || at[d] == 0;
    if (!is_first) continue;
    uint32_t expected[2];
    compose_maps(inputs[0]->data, inputs[1]->data, dims, is_reduced, at, expected);
    assert_int_equal(((uint32_t*)outputs[0]->data)[shown], expected[0]);
    assert_int_equal(((uint32_t*)outputs[1]->data)[shown], expected[1]);
    ++shown;
  } while (hlo_index_next(3, dims, at));
  assert_int_equal(shown, outputs[0]->element_count);
  for (int k = 0; k < 2; ++k) {
    hlo_tensor_release(inputs[k]);
    hlo_tensor_release(outputs[k]);
  }
  hlo_module_release(m);
}

static void order_is_kept(void** state) {
  (void)state;
  const int64_t small[3] = {3, 5, 7}, large[3] = {19, 21, 23}, deep[3] = {2, 3, 1500};
  const int64_t orders[7][3] = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  const uint32_t counts[7] = {1, 1, 1, 2, 2, 2, 3};
  for (int k = 0; k < 7; ++k) {
    check_case(small, orders[k], counts[k]);
    check_case(large, orders[k], counts[k]);
    check_case(deep, orders[k], counts[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(order_is_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
