// SPDX-License-Identifier: Apache-2.0
// Elementwise ops as expressions of vector IR, written once for all back ends: functions,
// arithmetic of every element type, conversions. What they mean is what the reference (interp)
// computes; math.def has the largest errors.
//
// Each element type has one form in registers: PRED is MASK; integers are I8 to I64, those below 8
// bits extended to I8; f32 and f64 are themselves; floats below 32 bits are F32 values that the
// type can represent. An op on such a float is the op on F32 and then hlo_vmath_round_result(). All
// instructions are pure but for loops and slow paths under an `if` that few operands take. errors:
// sticky in the module. threads: as the builder
#ifndef HLO_CODEGEN_MATH_MATH_H_
#define HLO_CODEGEN_MATH_MATH_H_

#include "base/dtype.h"
#include "codegen/vir/builder.h"
#include "ir/ops.h"

/// The form of `lanes` elements in registers and in memory (PRED: a byte). VOID: complex types, and
/// those without a value.
hlo_vir_type_t hlo_vmath_type(hlo_dtype_t dtype, uint32_t lanes);
hlo_vir_type_t hlo_vmath_memory_type(hlo_dtype_t dtype, uint32_t lanes);
/// Between the two; the value is exact.
hlo_vir_value_t* hlo_vmath_from_memory(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                       hlo_vir_value_t* raw);
hlo_vir_value_t* hlo_vmath_to_memory(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* x);

/// Whether hlo_vmath_emit() has the op on elements of `dtype`.
bool hlo_vmath_has(hlo_op_t op, hlo_dtype_t dtype);
/// An op of one or two operands of one type, given in register form: those of math.def but convert
/// and what is below. y: NULL if unary. The result of is_finite and the like is a MASK, all others
/// have the type of x. NULL: no such expression; the caller has the reference do it.
hlo_vir_value_t* hlo_vmath_emit(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                hlo_vir_value_t* x, hlo_vir_value_t* y);

/// direction: HLO_COMPARISON_DIRECTION_*. A MASK.
hlo_vir_value_t* hlo_vmath_compare(hlo_vir_builder_t* b, hlo_dtype_t dtype, int64_t direction,
                                   bool is_total_order, hlo_vir_value_t* x, hlo_vir_value_t* y);
/// mask ? x : y, of any type, masks too.
hlo_vir_value_t* hlo_vmath_select(hlo_vir_builder_t* b, hlo_vir_value_t* mask, hlo_vir_value_t* x,
                                  hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vmath_clamp(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* low,
                                 hlo_vir_value_t* x, hlo_vir_value_t* high);

/// As hlo_dtype_convert() between real types: one rounding, floats to integers truncate and
/// saturate, NaN gives 0, integers wrap.
hlo_vir_value_t* hlo_vmath_convert(hlo_vir_builder_t* b, hlo_dtype_t from, hlo_dtype_t to,
                                   hlo_vir_value_t* x);
/// The F32 value rounded to what `dtype` represents, for floats below 32 bits; integers below 8
/// bits wrap; everything else stays.
hlo_vir_value_t* hlo_vmath_round_to(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* x);
/// The same for what hlo_vmath_emit() makes of values of `dtype`.
hlo_vir_value_t* hlo_vmath_round_result(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                        hlo_vir_value_t* x);

#endif  // HLO_CODEGEN_MATH_MATH_H_
