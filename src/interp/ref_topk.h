// SPDX-License-Identifier: Apache-2.0
// Selects the best k elements of every line along a dimension: chlo.top_k and similar custom calls.
#ifndef HLO_INTERP_REF_TOPK_H_
#define HLO_INTERP_REF_TOPK_H_

#include "interp/eval.h"
#include "lib/sort.h"

typedef struct hlo_topk {
  const hlo_tensor_t* operand;    // of real numbers
  const hlo_tensor_t* companion;  // a tensor of the same dims whose elements become the second
                                  // result; NULL: positions
                                  // NULL: positions
  uint32_t axis;
  int64_t kept;          // 0 <= kept <= length of the axis
  hlo_sort_form_t form;  // sorts the best element first
} hlo_topk_t;

/// Fills the results, which have the operand's dims with `kept` along the axis: the first elements
/// of the sorted lines, and the companion elements (or positions) that belong to them.
/// errors: RESOURCE_EXHAUSTED, UNIMPLEMENTED (lines of 2^32 elements)
hlo_status_t hlo_topk_run(const hlo_parallel_t* parallel, const hlo_topk_t* topk,
                          hlo_tensor_t* values, hlo_tensor_t* others) HLO_MUST_USE;

#endif  // HLO_INTERP_REF_TOPK_H_
