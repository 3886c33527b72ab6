// SPDX-License-Identifier: Apache-2.0
// Sizes of shapes, with overflow checks.
#ifndef HLO_BASE_SHAPE_H_
#define HLO_BASE_SHAPE_H_

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { HLO_SHAPE_RANK_LIMIT = 64 };

/// Computes the number of elements and of bytes (row-major, hlo_dtype_size_bytes() per element) of
/// an array; zero if a dimension is 0.
/// errors: INVALID_ARGUMENT for a rank above the limit, a negative dimension, or a size of 2^63
/// bytes or more.
hlo_status_t hlo_shape_measure(hlo_dtype_t dtype, const int64_t* dims, size_t rank,
                               size_t* out_element_count, size_t* out_size_bytes) HLO_MUST_USE;

#endif  // HLO_BASE_SHAPE_H_
