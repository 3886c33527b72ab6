// SPDX-License-Identifier: Apache-2.0
// Private to the folder: short names for formulas of vector IR. hlo_v<op>() emits a float or bit
// instruction, hlo_vi<op>() one of integers; `_k` takes a constant as the last operand. A `like`
// argument gives the type of a constant: elements and lanes.
#pragma once

#include <math.h>

#include "codegen/math/math.h"

#define HLO_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// ---- floats -----------------------------------------------------------------------------------

#define hlo_vadd(b, x, y) hlo_vir_binary(b, HLO_VIR_fadd, x, y)
#define hlo_vsub(b, x, y) hlo_vir_binary(b, HLO_VIR_fsub, x, y)
#define hlo_vmul(b, x, y) hlo_vir_binary(b, HLO_VIR_fmul, x, y)
#define hlo_vdiv(b, x, y) hlo_vir_binary(b, HLO_VIR_fdiv, x, y)
/// x y + z
#define hlo_vfma(b, x, y, z) hlo_vir_ternary(b, HLO_VIR_fma, x, y, z)
/// z - x y
#define hlo_vfnma(b, x, y, z) hlo_vir_ternary(b, HLO_VIR_fnma, x, y, z)
/// Returns y if the operands are unordered or equal, so that a NaN in the second operand survives.
#define hlo_vmin(b, x, y) hlo_vir_binary(b, HLO_VIR_fmin, x, y)
#define hlo_vmax(b, x, y) hlo_vir_binary(b, HLO_VIR_fmax, x, y)
/// Returns x as arithmetic reads it: subnormal numbers become zeros where the module flushes them.
static inline hlo_vir_value_t* hlo_vflushed(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return b->module->subnormals == HLO_SUBNORMALS_KEEP ? x : hlo_vmax(b, x, x);
}
#define hlo_vabs(b, x) hlo_vir_unary(b, HLO_VIR_fabs, x)
#define hlo_vneg(b, x) hlo_vir_unary(b, HLO_VIR_fneg, x)
#define hlo_vsqrt(b, x) hlo_vir_unary(b, HLO_VIR_fsqrt, x)
#define hlo_vround(b, x, rounding) hlo_vir_unary_imm(b, HLO_VIR_fround, x, rounding)
#define hlo_vcmp(b, condition, x, y) hlo_vir_compare(b, HLO_VIR_fcmp, condition, x, y)
/// Selects elements of any type.
#define hlo_vselect(b, mask, x, y) hlo_vir_ternary(b, HLO_VIR_select, mask, x, y)
#define hlo_vconst(b, like, x) hlo_vir_const_float(b, (like)->type, x)

static inline hlo_vir_value_t* hlo_vadd_k(hlo_vir_builder_t* b, hlo_vir_value_t* x, double y) {
  return hlo_vadd(b, x, hlo_vconst(b, x, y));
}
static inline hlo_vir_value_t* hlo_vmul_k(hlo_vir_builder_t* b, hlo_vir_value_t* x, double y) {
  return hlo_vmul(b, x, hlo_vconst(b, x, y));
}
static inline hlo_vir_value_t* hlo_vcmp_k(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                                          hlo_vir_value_t* x, double y) {
  return hlo_vcmp(b, condition, x, hlo_vconst(b, x, y));
}
/// Returns min(x, high); NaN is preserved.
static inline hlo_vir_value_t* hlo_vat_most(hlo_vir_builder_t* b, hlo_vir_value_t* x, double high) {
  return hlo_vmin(b, hlo_vconst(b, x, high), x);
}
static inline hlo_vir_value_t* hlo_vat_least(hlo_vir_builder_t* b, hlo_vir_value_t* x, double low) {
  return hlo_vmax(b, hlo_vconst(b, x, low), x);
}
/// mask ? y : x
static inline hlo_vir_value_t* hlo_vreplace_k(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                              hlo_vir_value_t* mask, double y) {
  return hlo_vselect(b, mask, hlo_vconst(b, x, y), x);
}

/// Evaluates c[0] + c[1] x + ... + c[count - 1] x^(count - 1) by Horner's rule.
hlo_vir_value_t* hlo_vmath_polynomial(hlo_vir_builder_t* b, hlo_vir_value_t* x, const double* c,
                                      size_t count);
#define HLO_POLYNOMIAL(b, x, c) hlo_vmath_polynomial(b, x, c, HLO_COUNT_OF(c))

// ---- bits and integers --------------------------------------------------------------------------

static inline bool hlo_vis_f64(const hlo_vir_value_t* x) {
  return x->type.elem == HLO_VIR_F64;
}
static inline hlo_vir_type_t hlo_vwith_elem(const hlo_vir_value_t* like, hlo_vir_elem_t elem) {
  return hlo_vir_type(elem, like->type.lanes);
}
/// Returns the integer type as wide as the elements of x.
static inline hlo_vir_elem_t hlo_vbits_elem(const hlo_vir_value_t* x) {
  return hlo_vis_f64(x) || x->type.elem == HLO_VIR_I64 ? HLO_VIR_I64 : HLO_VIR_I32;
}
static inline hlo_vir_value_t* hlo_vbits(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vir_convert(b, HLO_VIR_bitcast, hlo_vbits_elem(x), x);
}
static inline hlo_vir_value_t* hlo_vof_bits(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vir_convert(b, HLO_VIR_bitcast,
                         x->type.elem == HLO_VIR_I64 ? HLO_VIR_F64 : HLO_VIR_F32, x);
}
#define hlo_viconst(b, like, x) hlo_vir_const_bits(b, (like)->type, (uint64_t)(x))
#define hlo_viadd(b, x, y) hlo_vir_binary(b, HLO_VIR_add, x, y)
#define hlo_visub(b, x, y) hlo_vir_binary(b, HLO_VIR_sub, x, y)
#define hlo_vimul(b, x, y) hlo_vir_binary(b, HLO_VIR_mul, x, y)
static inline hlo_vir_value_t* hlo_viadd_k(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t y) {
  return hlo_viadd(b, x, hlo_viconst(b, x, y));
}
#define hlo_vshl_k(b, x, by) hlo_vir_unary_imm(b, HLO_VIR_shli, x, by)
#define hlo_vlshr_k(b, x, by) hlo_vir_unary_imm(b, HLO_VIR_lshri, x, by)
#define hlo_vashr_k(b, x, by) hlo_vir_unary_imm(b, HLO_VIR_ashri, x, by)
#define hlo_vscmp(b, condition, x, y) hlo_vir_compare(b, HLO_VIR_scmp, condition, x, y)
#define hlo_vucmp(b, condition, x, y) hlo_vir_compare(b, HLO_VIR_ucmp, condition, x, y)
static inline hlo_vir_value_t* hlo_vscmp_k(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                                           hlo_vir_value_t* x, int64_t y) {
  return hlo_vscmp(b, condition, x, hlo_viconst(b, x, y));
}

#define hlo_vand(b, x, y) hlo_vir_binary(b, HLO_VIR_and, x, y)
#define hlo_vor(b, x, y) hlo_vir_binary(b, HLO_VIR_or, x, y)
#define hlo_vxor(b, x, y) hlo_vir_binary(b, HLO_VIR_xor, x, y)
/// Clears all bits of floats but the sign.
static inline hlo_vir_value_t* hlo_vsign_bit(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vand(b, x, hlo_vconst(b, x, -0.0));
}
/// Returns x, which is not negative, with the sign of y.
static inline hlo_vir_value_t* hlo_vwith_sign(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                              hlo_vir_value_t* y) {
  return hlo_vor(b, x, hlo_vsign_bit(b, y));
}
/// -|x|
static inline hlo_vir_value_t* hlo_vneg_abs(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vor(b, x, hlo_vconst(b, x, -0.0));
}

// ---- masks --------------------------------------------------------------------------------------

#define hlo_vmask_and(b, x, y) hlo_vir_binary(b, HLO_VIR_mask_and, x, y)
#define hlo_vmask_or(b, x, y) hlo_vir_binary(b, HLO_VIR_mask_or, x, y)
#define hlo_vmask_not(b, x) hlo_vir_unary(b, HLO_VIR_mask_not, x)
/// Returns INDEX 1 if any lane is set, else 0.
static inline hlo_vir_value_t* hlo_vany(hlo_vir_builder_t* b, hlo_vir_value_t* mask) {
  hlo_vir_value_t* bits =
      hlo_vir_emit(b, HLO_VIR_mask_bits, hlo_vir_type(HLO_VIR_INDEX, 1), 0, 0, 1, &mask);
  return hlo_vir_icmp(b, HLO_VIR_NE, bits, hlo_vir_iconst(b, 0));
}

// ---- halves -------------------------------------------------------------------------------------

static inline hlo_vir_value_t* hlo_vlower(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vir_emit(b, HLO_VIR_lower_half,
                      hlo_vir_type((hlo_vir_elem_t)x->type.elem, x->type.lanes / 2u), 0, 0, 1, &x);
}
static inline hlo_vir_value_t* hlo_vupper(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vir_emit(b, HLO_VIR_upper_half,
                      hlo_vir_type((hlo_vir_elem_t)x->type.elem, x->type.lanes / 2u), 0, 0, 1, &x);
}
static inline hlo_vir_value_t* hlo_vjoin(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                         hlo_vir_value_t* y) {
  hlo_vir_value_t* halves[] = {x, y};
  return hlo_vir_emit(b, HLO_VIR_join,
                      hlo_vir_type((hlo_vir_elem_t)x->type.elem, 2u * x->type.lanes), 0, 0, 2,
                      halves);
}

/// The unevaluated sum of two floats.
typedef struct hlo_vpair {
  hlo_vir_value_t *high, *low;
} hlo_vpair_t;
/// Returns the exact product x y.
hlo_vpair_t hlo_vmath_product(hlo_vir_builder_t* b, hlo_vir_value_t* x, hlo_vir_value_t* y);

/// Returns the F32 of codes in I8, and the nearest code in I32, ties to even, of floats of at most
/// 8 bits (float8.c).
hlo_vir_value_t* hlo_vmath_decode(hlo_vir_builder_t* b, const hlo_dtype_info_t* info,
                                  hlo_vir_value_t* raw);
hlo_vir_value_t* hlo_vmath_encode(hlo_vir_builder_t* b, const hlo_dtype_info_t* info,
                                  hlo_vir_value_t* x);

/// Rounds F32 to the nearest value of such a type.
hlo_vir_value_t* hlo_vmath_round_float8(hlo_vir_builder_t* b, const hlo_dtype_info_t* info,
                                        hlo_vir_value_t* x);

/// Rounds F32 to the nearest BF16. A NaN may have no bits set below those of BF16.
hlo_vir_value_t* hlo_vmath_nearest_bf16(hlo_vir_builder_t* b, hlo_vir_value_t* x);
double hlo_vmath_float_of_bits(const hlo_vir_value_t* constant);

/// A function of vectors; y is NULL for functions of one operand.
typedef hlo_vir_value_t* (*hlo_vector_fn_t)(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                            hlo_vir_value_t* y);
/// Applies `fn` to parts of at most lanes / `ratio` lanes each (at least 1) and joins the results,
/// so that elements `ratio` times as wide fit into a register.
hlo_vir_value_t* hlo_vmath_in_parts(hlo_vir_builder_t* b, hlo_vector_fn_t fn, hlo_vir_value_t* x,
                                    hlo_vir_value_t* y, uint32_t ratio);
/// Applies a function of f64 to f32 operands and rounds once.
hlo_vir_value_t* hlo_vmath_in_f64(hlo_vir_builder_t* b, hlo_vector_fn_t fn, hlo_vir_value_t* x,
                                  hlo_vir_value_t* y);
/// Returns fn(x), computed in f64, where `mask` is set and `value` elsewhere. `fn` runs only if
/// some lane is set.
hlo_vir_value_t* hlo_vmath_except_where(hlo_vir_builder_t* b, hlo_vir_value_t* mask,
                                        hlo_vir_value_t* x, hlo_vir_value_t* value,
                                        hlo_vector_fn_t fn);
