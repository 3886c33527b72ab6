// SPDX-License-Identifier: Apache-2.0
// The dimensions of a dot_general by role: batch dimensions, free dimensions of each operand,
// contracting dimensions. The result has the batch dimensions, then the free ones of lhs, then
// those of rhs.
#pragma once

#include "ir/module.h"

enum { HLO_CONTRACTION_MAX_RANK = 32 };

/// Dimension numbers: dims[0] of lhs, dims[1] of rhs.
typedef struct hlo_contraction_group {
  uint32_t count;
  uint32_t dims[HLO_CONTRACTION_MAX_RANK];
} hlo_contraction_group_t;

typedef struct hlo_contraction {
  const hlo_node_t* node;
  hlo_contraction_group_t batch[2], free[2], depth[2];  // of lhs, of rhs
  hlo_dtype_t dtype;  // of products and accumulators, as in the reference
} hlo_contraction_t;

/// Returns true if a group contains a dimension.
static inline bool hlo_contraction_has(const hlo_contraction_group_t* group, uint32_t dim) {
  for (uint32_t i = 0; i < group->count; ++i) {
    if (group->dims[i] == dim) return true;
  }
  return false;
}
/// Returns true if `node` is a dot or dot_general of elements that generated code supports.
bool hlo_contraction_init(const hlo_node_t* node, hlo_contraction_t* out_contraction);
/// Returns the number of elements in a group of operand `side`'s dimensions.
int64_t hlo_contraction_extent(const hlo_contraction_t* contraction,
                               const hlo_contraction_group_t* group, uint32_t side);
/// Returns the distance in elements between consecutive indices of a dimension, row-major.
static inline int64_t hlo_contraction_stride(uint32_t rank, const int64_t* dims, uint32_t dim) {
  int64_t stride = 1;
  for (uint32_t i = dim + 1; i < rank; ++i) stride *= dims[i];
  return stride;
}
