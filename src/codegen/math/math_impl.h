// SPDX-License-Identifier: Apache-2.0
// Private to the folder: short names to write formulas of vector IR with, and what the files share.
// A `like` argument gives the type of a constant: elements and lanes.
#ifndef HLO_CODEGEN_MATH_MATH_IMPL_H_
#define HLO_CODEGEN_MATH_MATH_IMPL_H_

#include <math.h>

#include "codegen/math/math.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// ---- floats -----------------------------------------------------------------------------------

static inline value_t* vadd(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_fadd, x, y);
}
static inline value_t* vsub(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_fsub, x, y);
}
static inline value_t* vmul(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_fmul, x, y);
}
static inline value_t* vdiv(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_fdiv, x, y);
}
/// x y + z
static inline value_t* vfma(builder_t* b, value_t* x, value_t* y, value_t* z) {
  return hlo_vir_ternary(b, HLO_VIR_fma, x, y, z);
}
/// z - x y
static inline value_t* vfnma(builder_t* b, value_t* x, value_t* y, value_t* z) {
  return hlo_vir_ternary(b, HLO_VIR_fnma, x, y, z);
}
/// y when unordered or equal; so a NaN in the second operand survives.
static inline value_t* vmin(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_fmin, x, y);
}
static inline value_t* vmax(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_fmax, x, y);
}
static inline value_t* vabs(builder_t* b, value_t* x) {
  return hlo_vir_unary(b, HLO_VIR_fabs, x);
}
static inline value_t* vneg(builder_t* b, value_t* x) {
  return hlo_vir_unary(b, HLO_VIR_fneg, x);
}
static inline value_t* vsqrt(builder_t* b, value_t* x) {
  return hlo_vir_unary(b, HLO_VIR_fsqrt, x);
}
static inline value_t* vround(builder_t* b, value_t* x, hlo_vir_rounding_t rounding) {
  return hlo_vir_unary_imm(b, HLO_VIR_fround, x, rounding);
}
static inline value_t* vcmp(builder_t* b, hlo_vir_condition_t condition, value_t* x, value_t* y) {
  return hlo_vir_compare(b, HLO_VIR_fcmp, condition, x, y);
}
/// Of any type of elements.
static inline value_t* vselect(builder_t* b, value_t* mask, value_t* x, value_t* y) {
  return hlo_vir_ternary(b, HLO_VIR_select, mask, x, y);
}
static inline value_t* vconst(builder_t* b, const value_t* like, double x) {
  return hlo_vir_const_float(b, like->type, x);
}

// The operations with a constant as one side.
static inline value_t* vadd_k(builder_t* b, value_t* x, double y) {
  return vadd(b, x, vconst(b, x, y));
}
static inline value_t* vmul_k(builder_t* b, value_t* x, double y) {
  return vmul(b, x, vconst(b, x, y));
}
static inline value_t* vcmp_k(builder_t* b, hlo_vir_condition_t condition, value_t* x, double y) {
  return vcmp(b, condition, x, vconst(b, x, y));
}
/// x or `high` if that is less; a NaN stays.
static inline value_t* vat_most(builder_t* b, value_t* x, double high) {
  return vmin(b, vconst(b, x, high), x);
}
static inline value_t* vat_least(builder_t* b, value_t* x, double low) {
  return vmax(b, vconst(b, x, low), x);
}
/// mask ? y : x
static inline value_t* vreplace_k(builder_t* b, value_t* x, value_t* mask, double y) {
  return vselect(b, mask, vconst(b, x, y), x);
}

/// c[0] + c[1] x + ... + c[count - 1] x^(count - 1), by Horner's rule.
value_t* hlo_vmath_polynomial(builder_t* b, value_t* x, const double* c, size_t count);
#define POLYNOMIAL(b, x, c) hlo_vmath_polynomial(b, x, c, COUNT(c))

// ---- bits and integers --------------------------------------------------------------------------

static inline bool is_f64(const value_t* x) {
  return x->type.elem == HLO_VIR_F64;
}
static inline hlo_vir_type_t with_elem(const value_t* like, hlo_vir_elem_t elem) {
  return hlo_vir_type(elem, like->type.lanes);
}
/// Integers as wide as the elements of x.
static inline hlo_vir_elem_t bits_elem(const value_t* x) {
  return is_f64(x) || x->type.elem == HLO_VIR_I64 ? HLO_VIR_I64 : HLO_VIR_I32;
}
static inline value_t* vbits(builder_t* b, value_t* x) {
  return hlo_vir_convert(b, HLO_VIR_bitcast, bits_elem(x), x);
}
static inline value_t* vof_bits(builder_t* b, value_t* x) {
  return hlo_vir_convert(b, HLO_VIR_bitcast,
                         x->type.elem == HLO_VIR_I64 ? HLO_VIR_F64 : HLO_VIR_F32, x);
}
static inline value_t* viconst(builder_t* b, const value_t* like, int64_t x) {
  return hlo_vir_const_bits(b, like->type, (uint64_t)x);
}
static inline value_t* viadd(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_add, x, y);
}
static inline value_t* visub(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_sub, x, y);
}
static inline value_t* vimul(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_mul, x, y);
}
static inline value_t* viadd_k(builder_t* b, value_t* x, int64_t y) {
  return viadd(b, x, viconst(b, x, y));
}
static inline value_t* vshl_k(builder_t* b, value_t* x, int64_t by) {
  return hlo_vir_unary_imm(b, HLO_VIR_shli, x, by);
}
static inline value_t* vlshr_k(builder_t* b, value_t* x, int64_t by) {
  return hlo_vir_unary_imm(b, HLO_VIR_lshri, x, by);
}
static inline value_t* vashr_k(builder_t* b, value_t* x, int64_t by) {
  return hlo_vir_unary_imm(b, HLO_VIR_ashri, x, by);
}
static inline value_t* vscmp(builder_t* b, hlo_vir_condition_t condition, value_t* x, value_t* y) {
  return hlo_vir_compare(b, HLO_VIR_scmp, condition, x, y);
}
static inline value_t* vucmp(builder_t* b, hlo_vir_condition_t condition, value_t* x, value_t* y) {
  return hlo_vir_compare(b, HLO_VIR_ucmp, condition, x, y);
}
static inline value_t* vscmp_k(builder_t* b, hlo_vir_condition_t condition, value_t* x, int64_t y) {
  return vscmp(b, condition, x, viconst(b, x, y));
}

// Bits of floats and integers.
static inline value_t* vand(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_and, x, y);
}
static inline value_t* vor(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_or, x, y);
}
static inline value_t* vxor(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_xor, x, y);
}
/// Only the sign bit of floats.
static inline value_t* vsign_bit(builder_t* b, value_t* x) {
  return vand(b, x, vconst(b, x, -0.0));
}
/// x, not negative, with the sign of y.
static inline value_t* vwith_sign(builder_t* b, value_t* x, value_t* y) {
  return vor(b, x, vsign_bit(b, y));
}
/// -|x|
static inline value_t* vneg_abs(builder_t* b, value_t* x) {
  return vor(b, x, vconst(b, x, -0.0));
}

// ---- masks --------------------------------------------------------------------------------------

static inline value_t* vmask_and(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_mask_and, x, y);
}
static inline value_t* vmask_or(builder_t* b, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_mask_or, x, y);
}
static inline value_t* vmask_not(builder_t* b, value_t* x) {
  return hlo_vir_unary(b, HLO_VIR_mask_not, x);
}
/// INDEX 1 if any lane is set.
static inline value_t* vany(builder_t* b, value_t* mask) {
  value_t* bits =
      hlo_vir_emit(b, HLO_VIR_mask_bits, hlo_vir_type(HLO_VIR_INDEX, 1), 0, 0, 1, &mask);
  return hlo_vir_icmp(b, HLO_VIR_NE, bits, hlo_vir_iconst(b, 0));
}

// ---- halves -------------------------------------------------------------------------------------

static inline value_t* vlower(builder_t* b, value_t* x) {
  return hlo_vir_emit(b, HLO_VIR_lower_half,
                      hlo_vir_type((hlo_vir_elem_t)x->type.elem, x->type.lanes / 2u), 0, 0, 1, &x);
}
static inline value_t* vupper(builder_t* b, value_t* x) {
  return hlo_vir_emit(b, HLO_VIR_upper_half,
                      hlo_vir_type((hlo_vir_elem_t)x->type.elem, x->type.lanes / 2u), 0, 0, 1, &x);
}
static inline value_t* vjoin(builder_t* b, value_t* x, value_t* y) {
  value_t* halves[] = {x, y};
  return hlo_vir_emit(b, HLO_VIR_join,
                      hlo_vir_type((hlo_vir_elem_t)x->type.elem, 2u * x->type.lanes), 0, 0, 2,
                      halves);
}

/// The unevaluated sum of two floats.
typedef struct pair {
  value_t *high, *low;
} pair_t;
/// x y, exactly.
pair_t hlo_vmath_product(builder_t* b, value_t* x, value_t* y);

/// F32 to the nearest BF16; no NaN has bits set below those of BF16.
value_t* hlo_vmath_nearest_bf16(builder_t* b, value_t* x);
/// The value of a float constant.
double hlo_vmath_float_of_bits(const value_t* constant);

/// A function of vectors; y is NULL for functions of one operand.
typedef value_t* (*vector_fn_t)(builder_t* b, value_t* x, value_t* y);
/// Applies `fn` to parts of at most lanes / `ratio` lanes each (at least 1) and joins the results,
/// so that elements `ratio` times as wide fit where x did.
value_t* hlo_vmath_in_parts(builder_t* b, vector_fn_t fn, value_t* x, value_t* y, uint32_t ratio);
/// f32 operands through a function of f64, rounded once.
value_t* hlo_vmath_in_f64(builder_t* b, vector_fn_t fn, value_t* x, value_t* y);
/// `value`, but where `mask` is set fn(x), of f64, which is computed only if there is
/// any such lane.
value_t* hlo_vmath_except_where(builder_t* b, value_t* mask, value_t* x, value_t* value,
                                vector_fn_t fn);

#endif  // HLO_CODEGEN_MATH_MATH_IMPL_H_
