// SPDX-License-Identifier: Apache-2.0
// Dimension numbers of dot_general (see contraction.h).
#include "codegen/dot/contraction.h"

#include "codegen/loops/elementwise.h"
#include "ir/dot_algorithm.h"
#include "ir/dot_dtype.h"

enum { SHALLOW = 8, NARROW = 8, MANY_ROWS = 256, FEW_PRODUCTS = 512, EXACT_IN_F32 = 1 << 24 };

static bool contains(const hlo_contraction_group_t* group, uint32_t dim) {
  for (uint32_t i = 0; i < group->count; ++i) {
    if (group->dims[i] == dim) return true;
  }
  return false;
}

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

// Sums of products of bytes are exact as f32 while they are below its precision, and f32 has fused
// multiply-adds.
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
      if (contains(&out->batch[side], i) || contains(&out->depth[side], i)) continue;
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

// A matrix times a vector whose matrix is contiguous along the contraction.
static bool is_row_sum(const hlo_contraction_t* c, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(c->node, side);
  return type->rank && contains(&c->depth[side], type->rank - 1);
}

// Whether a value is in memory anyway, rather than something that loops would compute on the way.
static bool is_in_memory(const hlo_value_t* value) {
  if (!value->def) return true;
  switch (value->def->op) {
    case HLO_OP_constant:
    case HLO_OP_convolution:
    case HLO_OP_custom_call:
    case HLO_OP_dot:
    case HLO_OP_dot_general:
    case HLO_OP_while: return true;
    default: return false;
  }
}

// Many rows times less than a vector: rows of both are one after the other.
static bool is_narrow(const hlo_contraction_t* c) {
  const hlo_type_t* type = hlo_node_operand_type(c->node, 0);
  return c->batch[0].count == 0 && c->depth[0].count == 1 &&
         c->depth[0].dims[0] == type->rank - 1 && type->dtype == c->dtype &&
         (c->dtype == HLO_DTYPE_F32 || c->dtype == HLO_DTYPE_F64) &&
         hlo_contraction_extent(c, &c->depth[0], 0) <= SHALLOW &&
         hlo_contraction_extent(c, &c->depth[0], 0) > 1 &&
         hlo_contraction_extent(c, &c->free[1], 1) <= NARROW &&
         hlo_contraction_extent(c, &c->free[1], 1) > 1 &&
         hlo_contraction_extent(c, &c->free[0], 0) >= MANY_ROWS &&
         is_in_memory(hlo_node_operand(c->node, 0)) && is_in_memory(hlo_node_operand(c->node, 1));
}

// Whether loops over the result's elements are a good way: little to reuse.
static bool is_loop(const hlo_contraction_t* c) {
  int64_t depth = hlo_contraction_extent(c, &c->depth[0], 0);
  int64_t rows = hlo_contraction_extent(c, &c->free[0], 0);
  int64_t columns = hlo_contraction_extent(c, &c->free[1], 1);
  if (is_narrow(c)) return false;
  if (depth <= SHALLOW || (rows == 1 && columns == 1)) return true;
  if ((rows == 1 && is_row_sum(c, 1)) || (columns == 1 && is_row_sum(c, 0))) return true;
  return (double)rows * (double)columns * (double)depth <= FEW_PRODUCTS;
}

bool hlo_contraction_is_matrix(const hlo_node_t* node) {
  if (node->op != HLO_OP_dot && node->op != HLO_OP_dot_general) return false;
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c) && !is_loop(&c);
}
