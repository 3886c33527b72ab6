// SPDX-License-Identifier: Apache-2.0
// Pass lower_shardy: the ops of Shardy that propagation and partitioning know are constraints,
// reshards, barriers, groups and manual computations. All others say something that these can say:
//   named_computation   its body, with constraints of the operands and the results
//   constant            constant
//   edges               a constraint, if the edge has a sharding
//   collectives         a reshard to the sharding of the result
// An all_reduce whose operand is not stated to be unreduced is complete already: the partitioner
// knows of every partial result that it makes, and the reshard combines it.
#include "passes/passes.h"
#include "passes/splice.h"

#include "ir/sharding.h"

// Creates an op of one operand and a sharding before `at`, or returns the poison node.
static hlo_node_t* add_sharding(hlo_node_t* at, hlo_op_t op, hlo_value_t* value,
                                const hlo_attr_t* sharding, const hlo_attr_t* extra) {
  const hlo_named_attr_t attr = {HLO_ATTR_sharding, sharding};
  hlo_node_t* node =
      hlo_node_create(at->parent->module, &(hlo_node_spec_t){.op = op,
                                                             .loc = at->loc,
                                                             .operand_count = 1,
                                                             .operands = &value,
                                                             .attr_count = 1,
                                                             .attrs = &attr,
                                                             .extra = extra,
                                                             .result_count = 1,
                                                             .result_types = &value->type});
  if (!hlo_node_is_poison(node)) hlo_node_insert_before(at, node);
  return node;
}

// Replaces the only result of a node, and erases the node.
static hlo_status_t replace(hlo_node_t* node, hlo_value_t* value) {
  hlo_value_replace_uses(&node->results[0], value);
  hlo_node_erase(node);
  return hlo_ok();
}

static hlo_status_t replace_with_sharding(hlo_node_t* node, hlo_op_t op, hlo_attr_id_t id) {
  hlo_node_t* made =
      add_sharding(node, op, hlo_node_operand(node, 0), hlo_node_attr(node, id), node->extra);
  if (hlo_node_is_poison(made)) return hlo_module_status(node->parent->module);
  return replace(node, &made->results[0]);
}

static hlo_status_t lower_edge(hlo_node_t* node) {
  if (!hlo_node_attr(node, HLO_ATTR_sharding)) return replace(node, hlo_node_operand(node, 0));
  return replace_with_sharding(node, HLO_OP_sdy_sharding_constraint, HLO_ATTR_sharding);
}

static hlo_status_t lower_constant(hlo_node_t* node) {
  const hlo_named_attr_t attr = {HLO_ATTR_value, hlo_node_attr(node, HLO_ATTR_value)};
  hlo_node_t* made = hlo_node_create(node->parent->module,
                                     &(hlo_node_spec_t){.op = HLO_OP_constant,
                                                        .loc = node->loc,
                                                        .attr_count = 1,
                                                        .attrs = &attr,
                                                        .extra = node->extra,
                                                        .result_count = 1,
                                                        .result_types = &node->results[0].type});
  if (hlo_node_is_poison(made)) return hlo_module_status(node->parent->module);
  hlo_node_insert_before(node, made);
  return replace(node, &made->results[0]);
}

// Gets the shardings of a list, which may be absent.
static hlo_status_t read_list(const hlo_node_t* node, hlo_attr_id_t id, uint32_t* out_count,
                              const hlo_sharding_t* const** out_list) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  *out_count = 0;
  return attr ? hlo_sharding_parse_list(node->parent->module, attr, out_count, out_list) : hlo_ok();
}

static hlo_status_t lower_named_computation(hlo_node_t* node) {
  const hlo_sharding_t* const* list = NULL;
  uint32_t count;
  const hlo_region_t* body = node->regions[0];
  HLO_TRY(read_list(node, HLO_ATTR_in_shardings, &count, &list));
  for (uint32_t i = 0; i < count && i < node->operand_count; ++i) {
    if (!hlo_type_is_tensor(hlo_node_operand_type(node, i))) continue;
    hlo_node_t* made = add_sharding(node, HLO_OP_sdy_sharding_constraint, hlo_node_operand(node, i),
                                    list[i]->attr, NULL);
    if (hlo_node_is_poison(made)) return hlo_module_status(node->parent->module);
    hlo_node_set_operand(node, i, &made->results[0]);
  }
  HLO_TRY(read_list(node, HLO_ATTR_out_shardings, &count, &list));
  const hlo_node_t* end = hlo_region_terminator(body);
  if (!hlo_splice_own_body(node) || end->operand_count != node->result_count) {
    return hlo_pass_error(node, HLO_STATUS_INVALID_ARGUMENT,
                          "the body does not fit operands and results");
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_t* value = hlo_node_operand(end, i);
    if (i < count && hlo_type_is_tensor(value->type)) {
      hlo_node_t* made =
          add_sharding(node, HLO_OP_sdy_sharding_constraint, value, list[i]->attr, NULL);
      if (hlo_node_is_poison(made)) return hlo_module_status(node->parent->module);
      value = &made->results[0];
    }
    hlo_value_replace_uses(&node->results[i], value);
  }
  hlo_node_erase(node);
  return hlo_ok();
}

static hlo_status_t lower_node(hlo_node_t* node, bool* out_lowered) {
  *out_lowered = true;
  switch (node->op) {
    case HLO_OP_sdy_named_computation: return lower_named_computation(node);
    case HLO_OP_sdy_constant: return lower_constant(node);
    case HLO_OP_sdy_data_flow_edge: return lower_edge(node);
    case HLO_OP_sdy_func_data_flow_edge: return replace(node, hlo_node_operand(node, 0));
    case HLO_OP_sdy_all_gather:
    case HLO_OP_sdy_all_slice:
    case HLO_OP_sdy_all_to_all:
    case HLO_OP_sdy_collective_permute:
    case HLO_OP_sdy_all_reduce:
    case HLO_OP_sdy_reduce_scatter:
    case HLO_OP_sdy_sharded_to_unreduced:
    case HLO_OP_sdy_replicated_to_unreduced:
      return replace_with_sharding(node, HLO_OP_sdy_reshard, HLO_ATTR_out_sharding);
    default: *out_lowered = false; return hlo_ok();
  }
}

static hlo_status_t lower_and_count(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  bool is_lowered;
  HLO_TRY(lower_node(node, &is_lowered));
  ctx->step_count += is_lowered;
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_shardy(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  // Visits inner ops first, so that a body has none of these ops when it is moved out.
  return hlo_module_walk(module, true, lower_and_count, ctx);
}
