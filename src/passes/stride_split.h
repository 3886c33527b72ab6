// SPDX-License-Identifier: Apache-2.0
// Tensors whose dimensions of stride s are seen as one of quotients and one of remainders by s, so
// that windows s apart meet whole quotients: for passes that turn windows inside out.
#ifndef HLO_PASSES_STRIDE_SPLIT_H_
#define HLO_PASSES_STRIDE_SPLIT_H_

#include "ir/module.h"

enum { HLO_STRIDE_SPLIT_RANK_MAX = 8, HLO_STRIDE_SPLIT_REMAINDERS_MAX = 64 };

typedef struct hlo_stride_split {
  hlo_node_t* insertion_point;       // what is made comes before it
  const hlo_type_t* type;  // as a whole
  int64_t strides[HLO_STRIDE_SPLIT_RANK_MAX], quotients[HLO_STRIDE_SPLIT_RANK_MAX];
  int64_t dims[HLO_STRIDE_SPLIT_RANK_MAX];  // numbers of the dimensions of quotients
  uint32_t rank;
  int64_t extents[2 * HLO_STRIDE_SPLIT_RANK_MAX];
} hlo_stride_split_t;

/// False where there are too many dimensions or remainders, or elements.
bool hlo_stride_split_init(hlo_node_t* insertion_point, const hlo_type_t* type, const int64_t* strides,
                     hlo_stride_split_t* out_split);
/// Counts up numbers below `extents`, the last one first; false behind the last.
bool hlo_stride_split_next(uint32_t rank, const int64_t* extents, int64_t* at);

// All of these give NULL when an operand is NULL or memory is out, which the module says.

/// Element q - shift of `value` at each quotient q, for all remainders; `outside` where there is
/// none.
hlo_value_t* hlo_stride_split_value(const hlo_stride_split_t* split, hlo_value_t* value, hlo_value_t* outside,
                               const int64_t* shift);
/// A scalar everywhere.
hlo_value_t* hlo_stride_split_splat(const hlo_stride_split_t* split, hlo_value_t* value);
/// An integer for each tuple of remainders, in order.
hlo_value_t* hlo_stride_split_table(const hlo_stride_split_t* split, hlo_dtype_t dtype, const int64_t* values);
/// As the whole tensor again, without what is behind its end.
hlo_value_t* hlo_stride_split_join(const hlo_stride_split_t* split, hlo_value_t* value);

#endif  // HLO_PASSES_STRIDE_SPLIT_H_
