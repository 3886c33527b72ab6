// SPDX-License-Identifier: Apache-2.0
// Pass lower_scaled_dots: operands of scaled_dot are multiplied by their scales in the type that
// both meet in, then contracted. Products of packed operands take these multiplications in.
#include "ir/scaled_dot.h"
#include "passes/scaled_dots.h"

hlo_value_t* hlo_build_repeated_scale(hlo_node_t* insertion_point, const hlo_type_t* type,
                                      hlo_value_t* scale) {
  int64_t dims[2 * HLO_RANK_MAX], along[HLO_RANK_MAX];
  uint32_t rank = 0;
  if (!scale) return NULL;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const int64_t size = type->dims[d], count = scale->type->dims[d];
    along[d] = rank;
    dims[rank++] = count == 1 ? size : count;
    if (count != 1 && count != size) dims[rank++] = size / count;
  }
  if (rank > HLO_RANK_MAX) return NULL;
  hlo_module_t* module = insertion_point->parent->module;
  const hlo_dtype_t dtype = scale->type->dtype;
  hlo_value_t* repeated = hlo_build_broadcast(
      insertion_point, hlo_type_tensor(module, dtype, rank, dims), scale, along);
  if (rank == type->rank) return repeated;
  return hlo_build_reshape(insertion_point, hlo_type_with_dtype(module, type, dtype), repeated);
}

hlo_value_t* hlo_build_dequantized(hlo_node_t* insertion_point, hlo_value_t* operand,
                                   hlo_value_t* scale, hlo_dtype_t dtype) {
  if (!operand || !scale) return NULL;
  hlo_value_t* wide = hlo_build_convert(insertion_point, dtype, scale);
  return hlo_build_multiply(insertion_point, hlo_build_convert(insertion_point, dtype, operand),
                            hlo_build_repeated_scale(insertion_point, operand->type, wide));
}

static hlo_value_t* lower_node(hlo_node_t* node) {
  if (node->op != HLO_OP_hlo_scaled_dot) return NULL;
  hlo_value_t* operands[2];
  const hlo_dtype_t common = hlo_scaled_dot_dtype(hlo_scaled_dot_operand_dtype(node, 0),
                                                  hlo_scaled_dot_operand_dtype(node, 1));
  for (uint32_t i = 0; i < 2; ++i) {
    operands[i] = hlo_node_operand(node, i);
    if (!hlo_type_is_static(operands[i]->type)) return NULL;
    if (hlo_scaled_dot_has_scale(node, i)) {
      operands[i] = hlo_build_dequantized(node, operands[i], hlo_node_operand(node, 2 + i),
                                          hlo_scaled_dot_operand_dtype(node, i));
    }
    if (!operands[i]) return NULL;
    operands[i] = hlo_build_convert(node, common, operands[i]);
  }
  static const hlo_attr_id_t ids[] = {
      HLO_ATTR_lhs_batching_dimensions, HLO_ATTR_rhs_batching_dimensions,
      HLO_ATTR_lhs_contracting_dimensions, HLO_ATTR_rhs_contracting_dimensions,
      HLO_ATTR_precision_config};
  enum { ID_COUNT = sizeof ids / sizeof ids[0] };
  hlo_named_attr_t attrs[ID_COUNT];
  uint32_t count = 0;
  for (uint32_t i = 0; i < ID_COUNT; ++i) {
    const hlo_attr_t* attr = hlo_node_attr(node, ids[i]);
    if (attr) attrs[count++] = (hlo_named_attr_t){ids[i], attr};
  }
  hlo_value_t* product =
      hlo_build_node(node, HLO_OP_dot_general, node->results[0].type, 2, operands, count, attrs);
  if (product) product->def->extra = node->extra;
  return product;
}

hlo_status_t hlo_pass_lower_scaled_dots(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, lower_node);
}
