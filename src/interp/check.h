// SPDX-License-Identifier: Apache-2.0
// Comparisons of tensors for the check ops and check.* custom calls.
#ifndef HLO_INTERP_CHECK_H_
#define HLO_INTERP_CHECK_H_

#include "interp/eval.h"

/// How two tensors must agree.
typedef enum hlo_check_kind {
  HLO_CHECK_EQUAL,   // by value: -0 equals 0, NaN equals nothing
  HLO_CHECK_ALMOST,  // absolute difference of at most `tolerance`; NaN equals NaN; integers exactly
  HLO_CHECK_CLOSE,   // floats at most max_ulp and at least min_ulp representable values apart
} hlo_check_kind_t;

typedef struct hlo_check {
  hlo_check_kind_t kind;
  double tolerance;
  uint64_t min_ulp, max_ulp;
} hlo_check_t;

/// errors: INVALID_ARGUMENT, naming the op, the first element that differs and the number of
/// differing elements
hlo_status_t hlo_check_tensors(const hlo_node_t* node, const hlo_check_t* check,
                               const hlo_tensor_t* actual,
                               const hlo_tensor_t* expected) HLO_MUST_USE;

/// Returns the distance of two floats of one format, given by their bits: 0 for equal bits and for
/// two NaN, UINT64_MAX if one is infinite or NaN and the other is something else.
uint64_t hlo_check_ulp_distance(hlo_dtype_t dtype, const void* a, const void* b);

#endif  // HLO_INTERP_CHECK_H_
