// SPDX-License-Identifier: Apache-2.0
// Private to the folder: ops on integers and booleans.
#ifndef HLO_CODEGEN_MATH_INTEGER_H_
#define HLO_CODEGEN_MATH_INTEGER_H_

#include "codegen/math/math_impl.h"

bool hlo_vmath_has_integer(hlo_op_t op, hlo_dtype_t dtype);
bool hlo_vmath_has_mask(hlo_op_t op);
/// NULL if there is no such op.
value_t* hlo_vmath_integer(builder_t* b, hlo_op_t op, hlo_dtype_t dtype, value_t* x, value_t* y);
value_t* hlo_vmath_mask(builder_t* b, hlo_op_t op, value_t* x, value_t* y);
value_t* hlo_vmath_compare_mask(builder_t* b, hlo_vir_condition_t condition, value_t* x,
                                value_t* y);

#endif  // HLO_CODEGEN_MATH_INTEGER_H_
