// SPDX-License-Identifier: Apache-2.0
// Private to the folder: the float functions of math.def and their parts, on F64 and, where
// math.def says NATIVE, on F32. y is NULL for functions of one operand.
#pragma once

#include "codegen/math/math_impl.h"

#define HLO_VMATH(op, ...) \
  hlo_vir_value_t* hlo_vmath_##op(hlo_vir_builder_t* b, hlo_vir_value_t* x, hlo_vir_value_t* y);
#include "codegen/math/math.def"

/// Returns the logarithm of a positive normal number.
hlo_vir_value_t* hlo_vmath_log_of_normal(hlo_vir_builder_t* b, hlo_vir_value_t* x);
/// Returns the logarithm of a positive finite F32 number as an exact multiple of log(2), and the
/// rest in *low.
hlo_vir_value_t* hlo_vmath_narrow_log(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                      hlo_vir_value_t** low);

hlo_vir_value_t* hlo_vmath_clamp_float(hlo_vir_builder_t* b, hlo_vir_value_t* low,
                                       hlo_vir_value_t* x, hlo_vir_value_t* high);
hlo_vir_value_t* hlo_vmath_compare_float(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                                         bool is_total_order, hlo_vir_value_t* x,
                                         hlo_vir_value_t* y);
