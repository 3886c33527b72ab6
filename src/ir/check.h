// SPDX-License-Identifier: Apache-2.0
// The checks of check ops and check.* custom calls: what they compare, and how they report.
#pragma once

#include "ir/module.h"

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
  const hlo_literal_t* expected;  // NULL: the second operand
} hlo_check_t;

/// Returns false if the node is no check of operand 0.
bool hlo_check_of(const hlo_node_t* node, hlo_check_t* out_check);
/// Compares dense elements; `expected` NULL: check->expected, of the same type.
/// errors: INVALID_ARGUMENT without a location, naming the first element that differs and the
/// number of differing elements
hlo_status_t hlo_check_elements(const hlo_check_t* check, hlo_dtype_t dtype, uint32_t rank,
                                const int64_t* dims, const void* actual,
                                const void* expected) HLO_MUST_USE;

/// The error of a failed @shape_assertion(ok, values...), whose message may name the values as {0},
/// {1} and so on. errors: INVALID_ARGUMENT without a location
hlo_status_t hlo_check_shape_error(const hlo_node_t* node, uint32_t count,
                                   const int64_t* values) HLO_MUST_USE HLO_COLD;

/// Returns the distance of two floats of one format, given by their bits: 0 for equal bits and for
/// two NaN, UINT64_MAX if one is infinite or NaN and the other is something else.
uint64_t hlo_check_ulp_distance(hlo_dtype_t dtype, const void* a, const void* b);
