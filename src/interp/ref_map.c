// SPDX-License-Identifier: Apache-2.0
// map: a scalar function applied to corresponding elements.
#include "interp/eval.h"

enum { INPUTS_MAX = 64 };

hlo_status_t hlo_ref_map(HLO_REF_ARGUMENTS) {
  const uint32_t count = node->operand_count;
  if (count == 0 || count > INPUTS_MAX || node->region_count != 1 ||
      node->regions[0]->arg_count != count) {
    return hlo_node_invalid(
        node, "needs 1 to %d inputs and a function of the same number of scalars", INPUTS_MAX);
  }
  const void* data[INPUTS_MAX];
  for (uint32_t k = 0; k < count; ++k) {
    if (operands[k]->element_count != operands[0]->element_count) {
      return hlo_node_invalid(node, "inputs differ in shape");
    }
    data[k] = operands[k]->data;
  }
  hlo_tensor_t* out;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, operands[0]->rank, operands[0]->dims, &out));
  hlo_region_fn_t* fn;
  hlo_status_t status = hlo_region_fn_create(eval, node->regions[0], &fn);
  if (!hlo_status_is_ok(status)) {
    hlo_tensor_release(out);
    return status;
  }
  status = hlo_region_fn_call_many(fn, (size_t)out->element_count, data, &out->data);
  hlo_region_fn_release(fn);
  if (!hlo_status_is_ok(status)) {
    hlo_tensor_release(out);
    return status;
  }
  results[0] = out;
  return hlo_ok();
}
