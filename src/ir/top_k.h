// SPDX-License-Identifier: Apache-2.0
// The parameters of ops that select the best elements of lines: chlo.top_k and the custom calls
// TopK, mhlo.topk and ApproxTopK, which is computed exactly.
#ifndef HLO_IR_TOP_K_H_
#define HLO_IR_TOP_K_H_

#include "ir/module.h"

typedef struct hlo_top_k {
  uint32_t axis;
  int64_t kept;        // elements per line; not yet compared with the length of the axis
  bool is_largest;     // the best elements are the largest ones
  bool is_canonical;   // floats: all NaN equal and above everything, -0 equal to 0; else totalOrder
  bool has_companion;  // result 1: elements of operand 1; otherwise positions
} hlo_top_k_t;

/// errors: INVALID_ARGUMENT (operands, results and attributes do not match), UNIMPLEMENTED (a
/// comparator that does not compare two values)
hlo_status_t hlo_top_k_of(const hlo_node_t* node, hlo_top_k_t* out_top_k) HLO_MUST_USE;

#endif  // HLO_IR_TOP_K_H_
