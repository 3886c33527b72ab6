// SPDX-License-Identifier: Apache-2.0
// Operands with block scales as plain ops.
#pragma once

#include "passes/build.h"

/// Returns `operand` times the scale of each element's block, computed in `dtype`, before
/// `insertion_point`; each dimension of `scale` divides that of the operand. NULL as for
/// hlo_build_node(), or if the rank is too high to split dimensions.
hlo_value_t* hlo_build_dequantized(hlo_node_t* insertion_point, hlo_value_t* operand,
                                   hlo_value_t* scale, hlo_dtype_t dtype);
/// Returns `scale` repeated over the blocks of `type`, with its own element type; NULL as above.
hlo_value_t* hlo_build_repeated_scale(hlo_node_t* insertion_point, const hlo_type_t* type,
                                      hlo_value_t* scale);
