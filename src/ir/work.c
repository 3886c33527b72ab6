// SPDX-License-Identifier: Apache-2.0
// Counts the work of ops (see work.h).
#include "ir/work.h"

#include <math.h>

double hlo_type_work_elements(const hlo_type_t* type) {
  if (type->kind != HLO_TYPE_TENSOR) return 0;
  const int64_t count = hlo_type_element_count(type);
  return count < 0 ? 0 : (double)count;
}

double hlo_type_work_bytes(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR
             ? hlo_type_work_elements(type) * (double)hlo_dtype_size_bytes(type->dtype)
             : 0;
}

double hlo_node_work_bytes(const hlo_node_t* node) {
  double bytes = 0;
  // Slices read what they take, and an update, which is done in place, writes what it is given.
  if (node->op == HLO_OP_slice || node->op == HLO_OP_dynamic_slice) {
    return 2 * hlo_type_work_bytes(node->results[0].type);
  }
  if (node->op == HLO_OP_dynamic_update_slice) {
    return 2 * hlo_type_work_bytes(hlo_node_operand_type(node, 1));
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    bytes += hlo_type_work_bytes(hlo_node_operand_type(node, i));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    bytes += hlo_type_work_bytes(node->results[i].type);
  }
  return bytes;
}

static double contracted_elements(const hlo_node_t* node) {
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_lhs_contracting_dimensions, &count);
  const hlo_type_t* lhs = hlo_node_operand_type(node, 0);
  double elements = node->op == HLO_OP_dot && lhs->rank ? (double)lhs->dims[lhs->rank - 1] : 1;
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[i] >= 0 && dims[i] < lhs->rank) elements *= (double)lhs->dims[dims[i]];
  }
  return elements;
}

// Every element of a convolution uses the kernel of one output feature.
static double kernel_elements(const hlo_node_t* node) {
  const hlo_type_t* kernel = hlo_node_operand_type(node, 1);
  const int64_t dim = hlo_node_attr_int(node, HLO_ATTR_kernel_output_feature_dimension, -1);
  const bool is_known = dim >= 0 && dim < kernel->rank && kernel->dims[dim] > 0;
  return hlo_type_work_elements(kernel) / (is_known ? (double)kernel->dims[dim] : 1);
}

static double window_elements(const hlo_node_t* node) {
  uint32_t rank = 0;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_window_dimensions, &rank);
  double elements = 1;
  for (uint32_t d = 0; d < rank; ++d) elements *= (double)dims[d];
  return elements;
}

static double elements_of_operand(const hlo_node_t* node, uint32_t operand) {
  return hlo_type_work_elements(hlo_node_operand_type(node, operand));
}

double hlo_node_work(const hlo_node_t* node) {
  if (node->result_count == 0) return 0;
  const double elements = hlo_type_work_elements(node->results[0].type);
  switch (hlo_op_info(node->op)->cost) {
    case HLO_COST_REDUCE: return elements_of_operand(node, 0);
    case HLO_COST_WINDOW: return elements * window_elements(node);
    case HLO_COST_PRODUCT: return elements * contracted_elements(node);
    case HLO_COST_CONVOLUTION: return elements * kernel_elements(node);
    case HLO_COST_SCATTER: return elements_of_operand(node, node->operand_count - 1);
    case HLO_COST_SORT: {
      const double given = elements_of_operand(node, 0);
      return node->operand_count * given * log2(given + 2);
    }
    case HLO_COST_FFT: return elements * log2(elements + 2);
    case HLO_COST_EXCHANGE: return elements * node->result_count;
    default: return elements;
  }
}

void hlo_node_cost_add(const hlo_node_t* node, hlo_cost_t* cost) {
  if (hlo_op_info(node->op)->traits & (HLO_TRAIT_CONTROL | HLO_TRAIT_TERMINATOR)) return;
  const double work = hlo_node_work(node);
  cost->bytes_accessed += hlo_node_work_bytes(node);
  switch (hlo_op_info(node->op)->cost) {
    case HLO_COST_PRODUCT:
    case HLO_COST_CONVOLUTION: cost->flops += 2 * work; break;
    case HLO_COST_ROOT:
    case HLO_COST_FUNCTION:
    case HLO_COST_SPECIAL:
    case HLO_COST_POWER: cost->transcendentals += work; break;
    case HLO_COST_SIMPLE:
    case HLO_COST_SEVERAL:
    case HLO_COST_DIVIDE:
    case HLO_COST_REDUCE: cost->flops += work; break;
    default: break;
  }
}
