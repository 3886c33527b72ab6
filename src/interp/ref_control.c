// SPDX-License-Identifier: Apache-2.0
// Reference functions of tuples, tokens, futures, values that pass through unchanged, and the
// process's own number. The evaluator (eval.c) runs control flow itself.
#include "interp/eval_impl.h"

// Returns operand i as result i.
static hlo_status_t pass_through(const hlo_node_t* node, hlo_tensor_t** operands,
                                 hlo_tensor_t** results) {
  if (node->operand_count < node->result_count) {
    return hlo_node_invalid(node, "%u operands for %u results", node->operand_count,
                            node->result_count);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) results[i] = hlo_tensor_retain(operands[i]);
  return hlo_ok();
}

static hlo_status_t unreachable_op(const hlo_node_t* node) {
  return hlo_node_error(node, HLO_STATUS_INTERNAL, "control flow is run by the evaluator");
}

// Returns the items of a tuple or future as the results.
hlo_status_t hlo_ref_async_done(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* packed = operands[0];
  if (packed->item_count != node->result_count) {
    return hlo_node_invalid(node, "a future holds %u values, expected %u", packed->item_count,
                            node->result_count);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    results[i] = hlo_tensor_retain(packed->items[i]);
  }
  return hlo_ok();
}
HLO_REF_AS(hlo_async_done, hlo_ref_async_done)

static hlo_status_t number_result(hlo_eval_t* eval, const hlo_node_t* node, int64_t value,
                                  hlo_tensor_t** results) {
  HLO_TRY(hlo_eval_result(eval, node, 0, &results[0]));
  hlo_dtype_store_int64(results[0]->dtype, results[0]->data, value);
  return hlo_ok();
}

// ---- ops that the evaluator runs
// The functions below come from a list of op names.
#define UNREACHABLE(id)                          \
  hlo_status_t hlo_ref_##id(HLO_REF_ARGUMENTS) { \
    (void)eval, (void)operands, (void)results;   \
    return unreachable_op(node);                 \
  }
UNREACHABLE(call)
UNREACHABLE(case)
UNREACHABLE(if)
UNREACHABLE(while)
UNREACHABLE(composite)
UNREACHABLE(return )
UNREACHABLE(func_return)
UNREACHABLE(async_start)
UNREACHABLE(hlo_async_start)
UNREACHABLE(hlo_fusion)
UNREACHABLE(sdy_manual_computation)
UNREACHABLE(sdy_named_computation)
UNREACHABLE(sdy_return)

// ---- values that pass through
#define PASS_THROUGH(id)                          \
  hlo_status_t hlo_ref_##id(HLO_REF_ARGUMENTS) {  \
    (void)eval;                                   \
    return pass_through(node, operands, results); \
  }
PASS_THROUGH(optimization_barrier)
PASS_THROUGH(hlo_add_dependency)
PASS_THROUGH(hlo_async_update)
PASS_THROUGH(hlo_copy_start)
PASS_THROUGH(hlo_copy_done)
PASS_THROUGH(hlo_domain)
PASS_THROUGH(sdy_sharding_constraint)
PASS_THROUGH(sdy_reshard)
PASS_THROUGH(sdy_propagation_barrier)
PASS_THROUGH(sdy_data_flow_edge)
PASS_THROUGH(sdy_func_data_flow_edge)
PASS_THROUGH(sdy_all_gather)
PASS_THROUGH(sdy_all_slice)
PASS_THROUGH(sdy_all_to_all)
PASS_THROUGH(sdy_collective_permute)
PASS_THROUGH(sdy_all_reduce)
PASS_THROUGH(sdy_reduce_scatter)
PASS_THROUGH(sdy_sharded_to_unreduced)
PASS_THROUGH(sdy_replicated_to_unreduced)

hlo_status_t hlo_ref_sdy_mesh(HLO_REF_ARGUMENTS) {
  return hlo_ok();
}

hlo_status_t hlo_ref_sdy_sharding_group(HLO_REF_ARGUMENTS) {
  return hlo_ok();
}

// ---- tuples, futures, tokens

hlo_status_t hlo_ref_tuple(HLO_REF_ARGUMENTS) {
  for (uint32_t i = 0; i < node->operand_count; ++i) hlo_tensor_retain(operands[i]);
  return hlo_tensor_create_tuple(node->operand_count, operands, &results[0]);
}

hlo_status_t hlo_ref_get_tuple_element(HLO_REF_ARGUMENTS) {
  int64_t index = hlo_node_attr_int(node, HLO_ATTR_index, 0);
  if (index < 0 || index >= (int64_t)operands[0]->item_count) {
    return hlo_node_invalid(node, "index %lld of a tuple of %u elements", (long long)index,
                            operands[0]->item_count);
  }
  results[0] = hlo_tensor_retain(operands[0]->items[index]);
  return hlo_ok();
}

hlo_status_t hlo_ref_after_all(HLO_REF_ARGUMENTS) {
  return hlo_tensor_create_token(&results[0]);
}

HLO_REF_AS(create_token, hlo_ref_after_all)

// ---- process numbers

hlo_status_t hlo_ref_partition_id(HLO_REF_ARGUMENTS) {
  const hlo_process_grid_t* grid = eval->options.grid;
  return number_result(eval, node, grid ? eval->options.process % grid->partition_count : 0,
                       results);
}

hlo_status_t hlo_ref_replica_id(HLO_REF_ARGUMENTS) {
  const hlo_process_grid_t* grid = eval->options.grid;
  return number_result(eval, node, grid ? eval->options.process / grid->partition_count : 0,
                       results);
}
