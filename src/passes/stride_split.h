// SPDX-License-Identifier: Apache-2.0
// Tensors with each dimension of stride s split into quotients and remainders by s, so that windows
// s apart cover whole quotients: for passes that compute windows per element.
#pragma once

#include "ir/module.h"

enum { HLO_STRIDE_SPLIT_RANK_MAX = 8, HLO_STRIDE_SPLIT_REMAINDERS_MAX = 64 };

typedef struct hlo_stride_split {
  hlo_node_t* insertion_point;  // new nodes are inserted before it
  const hlo_type_t* type;       // of the whole tensor
  int64_t strides[HLO_STRIDE_SPLIT_RANK_MAX], quotients[HLO_STRIDE_SPLIT_RANK_MAX];
  int64_t dims[HLO_STRIDE_SPLIT_RANK_MAX];  // numbers of the dimensions of quotients
  uint32_t rank;
  int64_t extents[2 * HLO_STRIDE_SPLIT_RANK_MAX];
} hlo_stride_split_t;

/// Returns false if there are too many dimensions, remainders or elements.
bool hlo_stride_split_init(hlo_node_t* insertion_point, const hlo_type_t* type,
                           const int64_t* strides, hlo_stride_split_t* out_split);
/// Advances the numbers `at` below `extents`, the last one fastest; false after the last.
bool hlo_stride_split_next(uint32_t rank, const int64_t* extents, int64_t* at);

// All of these return NULL when an operand is NULL or memory is exhausted, which the module
// records.

/// Returns element q - shift of `value` at each quotient q, for all remainders; `outside` beyond
/// the bounds.
hlo_value_t* hlo_stride_split_value(const hlo_stride_split_t* split, hlo_value_t* value,
                                    hlo_value_t* outside, const int64_t* shift);
/// Broadcasts a scalar.
hlo_value_t* hlo_stride_split_splat(const hlo_stride_split_t* split, hlo_value_t* value);
/// Returns an integer for each tuple of remainders, in order.
hlo_value_t* hlo_stride_split_table(const hlo_stride_split_t* split, hlo_dtype_t dtype,
                                    const int64_t* values);
/// Returns the whole tensor again, without the padding past its end.
hlo_value_t* hlo_stride_split_join(const hlo_stride_split_t* split, hlo_value_t* value);
