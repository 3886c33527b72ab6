// SPDX-License-Identifier: Apache-2.0
// Reads the dimension numbers of dot_general (see contraction.h).
#include "codegen/index/contraction.h"

#include "codegen/math/elementwise.h"
#include "ir/dot_algorithm.h"

enum { EXACT_IN_F32 = 1 << 24 };

static void read_group(const hlo_node_t* node, hlo_attr_id_t id, hlo_contraction_group_t* out) {
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, id, &count);
  *out = (hlo_contraction_group_t){.count = dims ? count : 0};
  for (uint32_t i = 0; i < out->count; ++i) out->dims[i] = (uint32_t)dims[i];
}

static bool supports_types(const hlo_node_t* node) {
  for (uint32_t i = 0; i < 3; ++i) {
    const hlo_type_t* type = i < 2 ? hlo_node_operand_type(node, i) : node->results[0].type;
    if (type->kind != HLO_TYPE_TENSOR || type->quant || type->rank > HLO_CONTRACTION_MAX_RANK ||
        !hlo_elementwise_supports_dtype(type->dtype) || type->dtype == HLO_DTYPE_PRED ||
        hlo_dtype_info(type->dtype)->bits < 8 || hlo_type_element_count(type) <= 0) {
      return false;
    }
  }
  return true;
}

// Sums of products of bytes are exact in f32 below its precision, and f32 has fused multiply-adds.
static bool is_exact_as_f32(const hlo_contraction_t* c) {
  double largest = 1;
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_dtype_t dtype = hlo_node_operand_type(c->node, i)->dtype;
    if (dtype != HLO_DTYPE_S8 && dtype != HLO_DTYPE_U8) return false;
    largest *= dtype == HLO_DTYPE_S8 ? 128 : 255;
  }
  hlo_dtype_t result = c->node->results[0].type->dtype;
  if (result != HLO_DTYPE_S32 && result != HLO_DTYPE_S64) return false;
  return largest * (double)hlo_contraction_extent(c, &c->depth[0], 0) <= EXACT_IN_F32;
}

bool hlo_contraction_init(const hlo_node_t* node, hlo_contraction_t* out) {
  if ((node->op != HLO_OP_dot && node->op != HLO_OP_dot_general) || !supports_types(node) ||
      hlo_dot_has_algorithm(node)) {
    return false;
  }
  *out = (hlo_contraction_t){.node = node};
  const hlo_type_t* types[2] = {hlo_node_operand_type(node, 0), hlo_node_operand_type(node, 1)};
  if (node->op == HLO_OP_dot_general) {
    read_group(node, HLO_ATTR_lhs_batching_dimensions, &out->batch[0]);
    read_group(node, HLO_ATTR_rhs_batching_dimensions, &out->batch[1]);
    read_group(node, HLO_ATTR_lhs_contracting_dimensions, &out->depth[0]);
    read_group(node, HLO_ATTR_rhs_contracting_dimensions, &out->depth[1]);
  } else {
    if (types[0]->rank == 0 || types[1]->rank == 0) return false;
    out->depth[0] = (hlo_contraction_group_t){1, {types[0]->rank - 1}};
    out->depth[1] = (hlo_contraction_group_t){1, {0}};
  }
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t i = 0; i < types[side]->rank; ++i) {
      if (hlo_contraction_has(&out->batch[side], i) || hlo_contraction_has(&out->depth[side], i))
        continue;
      out->free[side].dims[out->free[side].count++] = i;
    }
  }
  out->dtype =
      hlo_dot_compute_dtype(types[0]->dtype, types[1]->dtype, node->results[0].type->dtype);
  if (is_exact_as_f32(out)) out->dtype = HLO_DTYPE_F32;
  return hlo_elementwise_supports_dtype(out->dtype);
}

int64_t hlo_contraction_extent(const hlo_contraction_t* contraction,
                               const hlo_contraction_group_t* group, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(contraction->node, side);
  int64_t extent = 1;
  for (uint32_t i = 0; i < group->count; ++i) extent *= type->dims[group->dims[i]];
  return extent;
}
