// SPDX-License-Identifier: Apache-2.0
// Pass drop_empty: replaces ops that read values without elements, which the loops do not support:
// reductions of nothing are their initial values, those of windows into padding combine these, an
// update by nothing changes nothing.
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

static bool is_empty(const hlo_value_t* value) {
  return hlo_type_is_plain(value->type) && hlo_type_element_count(value->type) == 0;
}

// Returns whether the node has one result, which has elements.
static bool is_computed(const hlo_node_t* node) {
  return node->result_count == 1 && hlo_type_is_plain(node->results[0].type) &&
         !is_empty(&node->results[0]);
}

hlo_value_t* hlo_build_without_empty(hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t** operands = hlo_arena_array(&module->arena, node->operand_count, sizeof *operands);
  uint32_t count = 0;
  for (uint32_t i = 0; operands && i < node->operand_count; ++i) {
    if (!is_empty(hlo_node_operand(node, i))) operands[count++] = hlo_node_operand(node, i);
  }
  if (count == 0 || count == node->operand_count) return NULL;
  if (count == 1) return operands[0];
  const hlo_named_attr_t along = {HLO_ATTR_dimension, hlo_node_attr(node, HLO_ATTR_dimension)};
  return hlo_build_node(node, HLO_OP_concatenate, node->results[0].type, count, operands, 1,
                        &along);
}

// Returns whether the first operand has no elements and the second is of the result's element type.
static bool is_init_of_empty(const hlo_node_t* node, const hlo_type_t* type) {
  return is_empty(hlo_node_operand(node, 0)) && node->operand_count == 2 &&
         hlo_node_operand_type(node, 1)->dtype == type->dtype;
}

// Windows combine what they have of the padding: the operand becomes as many initial values.
static hlo_status_t reduce_padding(void* context, hlo_node_t* node) {
  if (node->op != HLO_OP_reduce_window || !is_computed(node) ||
      !is_init_of_empty(node, node->results[0].type)) {
    return hlo_ok();
  }
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  int64_t* dims = hlo_arena_array(&module->arena, type->rank, sizeof *dims);
  int64_t* zeros = hlo_arena_array(&module->arena, 2 * (size_t)type->rank, sizeof *zeros);
  if (!dims || !zeros) return hlo_module_status(module);
  for (uint32_t d = 0; d < type->rank; ++d) {
    const int64_t dilation = hlo_node_attr_item(node, HLO_ATTR_base_dilations, d, 1);
    dims[d] = (type->dims[d] > 0 ? (type->dims[d] - 1) * dilation + 1 : 0) +
              hlo_node_attr_item(node, HLO_ATTR_padding, 2 * d, 0) +
              hlo_node_attr_item(node, HLO_ATTR_padding, 2 * d + 1, 0);
  }
  const hlo_type_t* padded = hlo_type_with_dims(module, type, type->rank, dims);
  hlo_value_t* elements = hlo_build_broadcast(node, padded, hlo_node_operand(node, 1), NULL);
  if (!elements) return hlo_module_status(module);
  hlo_node_set_operand(node, 0, elements);
  hlo_node_set_attr(node, HLO_ATTR_padding, hlo_attr_matrix(module, type->rank, 2, zeros));
  hlo_node_set_attr(node, HLO_ATTR_base_dilations, NULL);
  ++((hlo_pass_ctx_t*)context)->step_count;
  return hlo_ok();
}

static hlo_value_t* replace_node(hlo_node_t* node) {
  if (!is_computed(node)) return NULL;
  const hlo_type_t* type = node->results[0].type;
  switch (node->op) {
    case HLO_OP_concatenate: return hlo_build_without_empty(node);
    case HLO_OP_reduce:
    case HLO_OP_pad:
      return is_init_of_empty(node, type)
                 ? hlo_build_broadcast(node, type, hlo_node_operand(node, 1), NULL)
                 : NULL;
    case HLO_OP_dot:
    case HLO_OP_dot_general:
    case HLO_OP_convolution:
      return is_empty(hlo_node_operand(node, 0)) || is_empty(hlo_node_operand(node, 1))
                 ? hlo_build_splat(node, type, 0)
                 : NULL;
    case HLO_OP_dynamic_update_slice:
      return is_empty(hlo_node_operand(node, 1)) ? hlo_node_operand(node, 0) : NULL;
    case HLO_OP_scatter: {
      const bool is_kept = node->operand_count != 3 || !is_empty(hlo_node_operand(node, 2));
      return is_kept ? NULL : hlo_node_operand(node, 0);
    }
    default: return NULL;
  }
}

hlo_status_t hlo_pass_drop_empty(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  HLO_TRY(hlo_module_walk(module, false, reduce_padding, ctx));
  return hlo_replace_nodes(ctx, module, replace_node);
}
