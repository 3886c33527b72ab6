// SPDX-License-Identifier: Apache-2.0
// Pass lower_dot_algorithms: converts the operands of a dot_general with an algorithm to the
// element type that the algorithm multiplies, and removes the algorithm.
#include "ir/clone.h"
#include "ir/dot_algorithm.h"
#include "passes/build.h"

static const hlo_attr_id_t algorithm_ids[HLO_DOT_ALGORITHM_ATTR_COUNT] = {
    HLO_ATTR_lhs_precision_type,
    HLO_ATTR_rhs_precision_type,
    HLO_ATTR_accumulation_type,
    HLO_ATTR_lhs_component_count,
    HLO_ATTR_rhs_component_count,
    HLO_ATTR_num_primitive_operations,
    HLO_ATTR_allow_imprecise_accumulation,
};

static hlo_status_t lower_product(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  if (!hlo_dot_has_algorithm(node)) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = node->results[0].type;
  hlo_dot_types_t types;
  hlo_status_t status = hlo_dot_algorithm_types(node, &types);
  if (!hlo_status_is_ok(status)) return hlo_node_annotate(node, status);
  hlo_value_t* operands[2];
  for (uint32_t i = 0; i < 2; ++i) {
    operands[i] = hlo_build_convert(node, types.operands[i], hlo_node_operand(node, i));
  }
  hlo_value_t* product =
      operands[0] && operands[1]
          ? hlo_build_like(node, hlo_type_with_dtype(module, type, types.result), operands)
          : NULL;
  if (!product) return hlo_module_status(module);
  product->def->extra = node->extra;
  for (uint32_t i = 0; i < HLO_DOT_ALGORITHM_ATTR_COUNT; ++i) {
    hlo_node_set_attr(product->def, algorithm_ids[i], NULL);
  }
  hlo_value_t* result = hlo_build_convert(node, type->dtype, product);
  if (!result) return hlo_module_status(module);
  hlo_value_replace_uses(&node->results[0], result);
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_dot_algorithms(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, lower_product, ctx);
}
