// SPDX-License-Identifier: Apache-2.0
// Pass transpose_products: products contract the dimensions of narrow elements that are widened to
// bf16 as they lie in memory: a product of transposed elements becomes one of the elements, with
// other dimension numbers. Kernels then find the codes along the contraction.
#include "passes/build.h"
#include "passes/passes.h"

enum { NARROW_BITS = 8 };

static bool is_narrow(const hlo_value_t* value) {
  return hlo_dtype_info(value->type->dtype)->bits <= NARROW_BITS;
}

// Returns the transpose whose elements the value holds, perhaps converted from narrow ones; NULL:
// it is no such value.
static hlo_node_t* find_transpose(const hlo_value_t* value) {
  hlo_node_t* node = value->def;
  if (!node || value->type->dtype != HLO_DTYPE_BF16) return NULL;
  if (node->op == HLO_OP_convert) {
    const hlo_value_t* narrow = hlo_node_operand(node, 0);
    node = is_narrow(narrow) ? narrow->def : NULL;
    return node && node->op == HLO_OP_transpose ? node : NULL;
  }
  if (node->op != HLO_OP_transpose) return NULL;
  const hlo_node_t* computed = hlo_node_operand(node, 0)->def;
  if (computed && computed->op == HLO_OP_reshape) computed = hlo_node_operand(computed, 0)->def;
  return computed && (computed->op == HLO_OP_convert || computed->op == HLO_OP_multiply) ? node
                                                                                         : NULL;
}

// Replaces dimensions of the transpose's result by those of its operand, and notes them in `used`.
static void move_dims(int64_t* dims, uint32_t count, const int64_t* order, uint64_t* used) {
  for (uint32_t i = 0; i < count; ++i) {
    *used |= (uint64_t)1 << dims[i];
    dims[i] = order[dims[i]];
  }
}

typedef struct numbers {
  hlo_attr_id_t id;
  uint32_t count;
  int64_t dims[HLO_RANK_MAX];
} numbers_t;

static void read_numbers(const hlo_node_t* node, hlo_attr_id_t id, numbers_t* out) {
  const int64_t* dims = hlo_node_attr_ints(node, id, &out->count);
  out->id = id;
  if (!dims) out->count = 0;
  for (uint32_t i = 0; i < out->count; ++i) out->dims[i] = dims[i];
}

static bool has_free_dims_in_order(const int64_t* order, uint32_t rank, uint64_t used) {
  int64_t last = -1;
  for (uint32_t d = 0; d < rank; ++d) {
    if (used >> d & 1) continue;
    if (order[d] < last) return false;
    last = order[d];
  }
  return true;
}

static hlo_value_t* multiply_untransposed(hlo_node_t* node, uint32_t side) {
  static const hlo_attr_id_t batch[] = {HLO_ATTR_lhs_batching_dimensions,
                                        HLO_ATTR_rhs_batching_dimensions};
  static const hlo_attr_id_t depth[] = {HLO_ATTR_lhs_contracting_dimensions,
                                        HLO_ATTR_rhs_contracting_dimensions};
  const hlo_node_t* transpose = find_transpose(hlo_node_operand(node, side));
  if (!transpose) return NULL;
  uint32_t rank;
  const int64_t* order = hlo_node_attr_ints(transpose, HLO_ATTR_permutation, &rank);
  numbers_t numbers[2];
  uint64_t used = 0;
  read_numbers(node, batch[side], &numbers[0]);
  read_numbers(node, depth[side], &numbers[1]);
  for (uint32_t i = 0; i < 2; ++i) move_dims(numbers[i].dims, numbers[i].count, order, &used);
  if (!has_free_dims_in_order(order, rank, used)) return NULL;
  hlo_value_t* operands[] = {hlo_node_operand(node, 0), hlo_node_operand(node, 1)};
  operands[side] = hlo_build_convert(node, HLO_DTYPE_BF16, hlo_node_operand(transpose, 0));
  hlo_value_t* product = hlo_build_like(node, node->results[0].type, operands);
  for (uint32_t i = 0; product && i < 2; ++i) {
    if (!numbers[i].count) continue;
    hlo_node_set_attr(product->def, numbers[i].id,
                      hlo_attr_ints(node->parent->module, numbers[i].count, numbers[i].dims));
  }
  return product;
}

static hlo_value_t* untranspose(hlo_node_t* node) {
  if (node->op != HLO_OP_dot_general) return NULL;
  for (uint32_t side = 0; side < 2; ++side) {
    hlo_value_t* product = multiply_untransposed(node, side);
    if (product) return product;
  }
  return NULL;
}

hlo_status_t hlo_pass_transpose_products(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, untranspose);
}
