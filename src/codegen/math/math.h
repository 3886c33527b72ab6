// SPDX-License-Identifier: Apache-2.0
// Elementwise ops as expressions of vector IR, written once for all back ends: functions,
// arithmetic of every element type, conversions. The reference (interp) defines the results;
// math.def lists the largest errors.
//
// Each element type has one register form: PRED is MASK; integers are I8 to I64, with types below 8
// bits extended to I8; f32 and f64 are themselves; a float below 32 bits is an F32 value that the
// type can represent. An op on such a float is the F32 op followed by hlo_vmath_round_result(). All
// instructions are pure, except for loops and for slow paths under an `if` that few operands take.
// errors: sticky in the module. threads: as the builder
#pragma once

#include "base/dtype.h"
#include "codegen/vir/builder.h"
#include "ir/ops.h"

/// Returns the form of `lanes` elements in registers or in memory (PRED: a byte). VOID: complex
/// types, and types without a value.
hlo_vir_type_t hlo_vmath_type(hlo_dtype_t dtype, uint32_t lanes);
hlo_vir_type_t hlo_vmath_memory_type(hlo_dtype_t dtype, uint32_t lanes);
/// Converts between the two forms; the value is exact.
hlo_vir_value_t* hlo_vmath_from_memory(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                       hlo_vir_value_t* raw);
hlo_vir_value_t* hlo_vmath_to_memory(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* x);

/// Returns true if hlo_vmath_emit() supports the op on elements of `dtype`.
bool hlo_vmath_has(hlo_op_t op, hlo_dtype_t dtype);
/// Emits an op of math.def on one or two operands of one type, given in register form. y: NULL if
/// unary. The result of is_finite and the like is a MASK, all others have the type of x. Returns
/// NULL for an unsupported op: the caller uses the reference.
hlo_vir_value_t* hlo_vmath_emit(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                hlo_vir_value_t* x, hlo_vir_value_t* y);

/// Returns a MASK. direction: HLO_COMPARISON_DIRECTION_*
hlo_vir_value_t* hlo_vmath_compare(hlo_vir_builder_t* b, hlo_dtype_t dtype, int64_t direction,
                                   bool is_total_order, hlo_vir_value_t* x, hlo_vir_value_t* y);
/// Returns mask ? x : y for any type, masks included.
hlo_vir_value_t* hlo_vmath_select(hlo_vir_builder_t* b, hlo_vir_value_t* mask, hlo_vir_value_t* x,
                                  hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vmath_clamp(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* low,
                                 hlo_vir_value_t* x, hlo_vir_value_t* high);

/// Converts as hlo_dtype_convert() does between real types: one rounding, floats to integers
/// truncate and saturate, NaN gives 0, integers wrap.
hlo_vir_value_t* hlo_vmath_convert(hlo_vir_builder_t* b, hlo_dtype_t from, hlo_dtype_t to,
                                   hlo_vir_value_t* x);
/// Returns true if hlo_vmath_convert_raw() converts between the types.
bool hlo_vmath_converts_raw(hlo_dtype_t from, hlo_dtype_t to);
/// Converts elements in memory form to elements in memory form, in lanes of the wider one: more at
/// a time than registers hold of F32. The bits are those of hlo_vmath_to_memory().
hlo_vir_value_t* hlo_vmath_convert_raw(hlo_vir_builder_t* b, hlo_dtype_t from, hlo_dtype_t to,
                                       hlo_vir_value_t* raw);
/// Rounds the F32 value to a value of `dtype`, for floats below 32 bits; integers below 8 bits
/// wrap;
/// all other values are returned unchanged.
hlo_vir_value_t* hlo_vmath_round_to(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* x);
/// Rounds the result of hlo_vmath_emit() on values of `dtype`.
hlo_vir_value_t* hlo_vmath_round_result(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                        hlo_vir_value_t* x);
