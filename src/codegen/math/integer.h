// SPDX-License-Identifier: Apache-2.0
// Private to the folder: ops on integers and booleans.
#pragma once

#include "codegen/math/math_impl.h"

bool hlo_vmath_has_integer(hlo_op_t op);
bool hlo_vmath_has_mask(hlo_op_t op);
/// Returns NULL for an unsupported op.
hlo_vir_value_t* hlo_vmath_integer(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                   hlo_vir_value_t* x, hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vmath_mask(hlo_vir_builder_t* b, hlo_op_t op, hlo_vir_value_t* x,
                                hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vmath_compare_mask(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                                        hlo_vir_value_t* x, hlo_vir_value_t* y);
