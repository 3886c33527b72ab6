// SPDX-License-Identifier: Apache-2.0
// Private to the folder: the functions of math.def and others of floats, of F64 and of F32 where
// native. y is NULL where there is one operand.
#ifndef HLO_CODEGEN_MATH_FUNCTIONS_H_
#define HLO_CODEGEN_MATH_FUNCTIONS_H_

#include "codegen/math/math_impl.h"

#define HLO_VMATH(op, ...) value_t* hlo_vmath_##op(builder_t* b, value_t* x, value_t* y);
#include "codegen/math/math.def"

/// x = 2^exponent (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)), of positive finite x.
typedef struct log_parts {
  value_t *exponent, *fraction;
} log_parts_t;
log_parts_t hlo_vmath_log_parts(builder_t* b, value_t* x);
/// Of positive normal numbers.
value_t* hlo_vmath_log_of_normal(builder_t* b, value_t* x);
/// Of positive finite F32 numbers: the exact multiple of log(2), and the rest.
value_t* hlo_vmath_narrow_log(builder_t* b, value_t* x, value_t** low);
/// 2^(x + low) for small low and x between the logarithms of 0 and infinity.
value_t* hlo_vmath_exp2_of_sum(builder_t* b, value_t* x, value_t* low);

value_t* hlo_vmath_clamp_float(builder_t* b, value_t* low, value_t* x, value_t* high);
value_t* hlo_vmath_compare_float(builder_t* b, hlo_vir_condition_t condition, bool is_total_order,
                                 value_t* x, value_t* y);

#endif  // HLO_CODEGEN_MATH_FUNCTIONS_H_
