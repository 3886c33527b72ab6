// SPDX-License-Identifier: Apache-2.0
// The element types that contractions are computed in.
#ifndef HLO_IR_DOT_DTYPE_H_
#define HLO_IR_DOT_DTYPE_H_

#include "base/dtype.h"

/// Returns the element type in which dot_general and convolution are computed: F32, F64, U32 or U64
/// (for complex numbers the type of their parts), wide enough for both operands and the result.
hlo_dtype_t hlo_dot_compute_dtype(hlo_dtype_t lhs, hlo_dtype_t rhs, hlo_dtype_t result);

#endif  // HLO_IR_DOT_DTYPE_H_
