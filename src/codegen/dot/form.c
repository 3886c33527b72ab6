// SPDX-License-Identifier: Apache-2.0
// Which nodes are products that kernels of their own compute, rather than loops over elements (see
// matmul.h).
#include "codegen/dot/matmul.h"

enum { SHALLOW = 8, NARROW = 8, MANY_ROWS = 256, FEW_PRODUCTS = 512 };

// A matrix times a vector whose matrix is contiguous along the contraction.
static bool is_row_sum(const hlo_contraction_t* c, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(c->node, side);
  return type->rank && hlo_contraction_has(&c->depth[side], type->rank - 1);
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

static bool is_matrix(const hlo_node_t* node) {
  if (node->op != HLO_OP_dot && node->op != HLO_OP_dot_general) return false;
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c) && !is_loop(&c);
}

bool hlo_matmul_supports(const hlo_node_t* node) {
  return is_matrix(node) || hlo_convolution_supports(node);
}
