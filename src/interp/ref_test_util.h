// SPDX-License-Identifier: Apache-2.0
// For the tests of reference functions: runs one op on tensors given as C arrays.
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "interp/eval.h"

/// The function table refers to them weakly; naming one function of each file links the file.
__attribute__((used)) static const hlo_ref_fn_t linked[] = {
    hlo_ref_add,
    hlo_ref_constant,
    hlo_ref_convert,
    hlo_ref_uniform_quantize,
    hlo_ref_chlo_broadcast_add,
    hlo_ref_rng_bit_generator,
};

typedef struct hlo_test_fixture {
  hlo_module_t* module;
} hlo_test_fixture_t;

static int hlo_test_fixture_setup(void** state) {
  static hlo_test_fixture_t fixture;
  hlo_status_t status = hlo_module_create(0, &fixture.module);
  assert_true(hlo_status_is_ok(status));
  *state = &fixture;
  return 0;
}

static int hlo_test_fixture_teardown(void** state) {
  hlo_module_release(((hlo_test_fixture_t*)*state)->module);
  return 0;
}

static inline hlo_tensor_t* hlo_test_tensor_of(hlo_dtype_t dtype, int64_t count, const void* data) {
  hlo_tensor_t* tensor = NULL;
  hlo_status_t status = hlo_tensor_create(dtype, 1, &count, &tensor);
  assert_true(hlo_status_is_ok(status));
  if (tensor->size_bytes) memcpy(tensor->data, data, tensor->size_bytes);
  return tensor;
}

/// Runs `op` on lent operands; attributes may be NULL. The results are new references.
static inline hlo_status_t hlo_test_run_op_types(hlo_test_fixture_t* f, hlo_op_t op,
                                                 uint32_t attr_count, const hlo_named_attr_t* attrs,
                                                 uint32_t count, hlo_tensor_t** operands,
                                                 uint32_t result_count,
                                                 const hlo_type_t* const* types,
                                                 hlo_tensor_t** results) {
  hlo_region_t* region = hlo_region_create(f->module, NULL, NULL);
  hlo_value_t* values[8];
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* plain =
        hlo_type_tensor(f->module, operands[i]->dtype, operands[i]->rank, operands[i]->dims);
    hlo_type_t type = *plain;
    type.quant = operands[i]->quant;
    values[i] = hlo_region_add_arg(region, hlo_type_intern(f->module, &type));
  }
  hlo_node_t* node = hlo_node_create(f->module, &(hlo_node_spec_t){.op = op,
                                                                   .operand_count = count,
                                                                   .operands = values,
                                                                   .attr_count = attr_count,
                                                                   .attrs = attrs,
                                                                   .result_count = result_count,
                                                                   .result_types = types});
  hlo_region_append(region, node);
  return hlo_ref_function(op)(NULL, node, operands, results);
}

static inline hlo_tensor_t* hlo_test_run_op(hlo_test_fixture_t* f, hlo_op_t op, uint32_t attr_count,
                                            const hlo_named_attr_t* attrs, uint32_t count,
                                            hlo_tensor_t** operands, hlo_dtype_t result) {
  hlo_tensor_t* out = NULL;
  const hlo_tensor_t* like = operands[op == HLO_OP_select || op == HLO_OP_clamp ? 1 : 0];
  const hlo_type_t* type = hlo_type_tensor(f->module, result, like->rank, like->dims);
  hlo_status_t status =
      hlo_test_run_op_types(f, op, attr_count, attrs, count, operands, 1, &type, &out);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  assert_int_equal(out->dtype, result);
  return out;
}

/// Runs a unary or binary op (b NULL) on `count` elements and writes the result's bytes to `out`.
static inline void hlo_test_run_arrays(hlo_test_fixture_t* f, hlo_op_t op, hlo_dtype_t dtype,
                                       int64_t count, const void* a, const void* b,
                                       hlo_dtype_t result, void* out) {
  hlo_tensor_t* operands[2] = {hlo_test_tensor_of(dtype, count, a),
                               b ? hlo_test_tensor_of(dtype, count, b) : NULL};
  hlo_tensor_t* r = hlo_test_run_op(f, op, 0, NULL, b ? 2 : 1, operands, result);
  memcpy(out, r->data, r->size_bytes);
  hlo_tensor_release(r);
  hlo_tensor_release(operands[0]);
  hlo_tensor_release(operands[1]);
}
