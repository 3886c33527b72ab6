// SPDX-License-Identifier: Apache-2.0
// Float ops of a few instructions, with the bits of the reference: rounding, extremes, signs,
// classification, comparison, the exact remainder.
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

value_t* hlo_vmath_round_nearest_afz(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  // The largest number below one half: adding one half would round x = 0.5 - 1 ulp up to 1.
  const double below_half = hlo_vis_f64(x) ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2;
  value_t* step = hlo_vwith_sign(b, hlo_vconst(b, x, below_half), x);
  return hlo_vround(b, hlo_vadd(b, x, step), HLO_VIR_TOWARD_ZERO);
}

value_t* hlo_vmath_sign(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* zero = hlo_vconst(b, x, 0);
  value_t* rest = hlo_vadd(b, x, x);  // a zero, NaN, or subnormal: then a zero if those are flushed
  value_t* sign = hlo_vreplace_k(b, rest, hlo_vcmp(b, HLO_VIR_GT, x, zero), 1);
  return hlo_vreplace_k(b, sign, hlo_vcmp(b, HLO_VIR_LT, x, zero), -1);
}

value_t* hlo_vmath_real(HLO_UNUSED builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return x;
}
value_t* hlo_vmath_chlo_conj(builder_t* b, value_t* x, value_t* y) {
  return hlo_vmath_real(b, x, y);
}
value_t* hlo_vmath_imag(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vconst(b, x, 0);
}

value_t* hlo_vmath_chlo_square(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vmul(b, x, x);
}

// Refines r by the series of (1 - h)^(-1/2) with h = 1 - x r^2, up to h^3.
static value_t* better_rsqrt(builder_t* b, value_t* x, value_t* r) {
  static const double series[] = {0.5, 0.375, 0.3125};
  value_t* h = hlo_vfnma(b, hlo_vmul(b, x, r), r, hlo_vconst(b, x, 1));
  return hlo_vfma(b, hlo_vmul(b, r, h), HLO_POLYNOMIAL(b, h, series), r);
}

static value_t* plain_rsqrt(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vdiv(b, hlo_vconst(b, x, 1), hlo_vsqrt(b, x));
}

// The quotients and square roots of f64 are slow. For positive normal numbers, halving the exponent
// gives an estimate, which two refinements make accurate.
value_t* hlo_vmath_rsqrt(builder_t* b, value_t* x, value_t* y) {
  if (!hlo_vis_f64(x)) return plain_rsqrt(b, x, y);
  const int64_t halved = 0x5fe6eb50c7b537a9, first = (int64_t)1 << 52, count = (int64_t)0x7fe << 52;
  value_t* bits = hlo_vbits(b, x);
  value_t* rough =
      hlo_vof_bits(b, hlo_visub(b, hlo_viconst(b, bits, halved), hlo_vlshr_k(b, bits, 1)));
  value_t* root = better_rsqrt(b, x, better_rsqrt(b, x, rough));
  value_t* distance = hlo_viadd_k(b, bits, -first);
  value_t* is_edge = hlo_vucmp(b, HLO_VIR_GE, distance, hlo_viconst(b, bits, count));
  return hlo_vmath_except_where(b, is_edge, x, root, plain_rsqrt);
}

value_t* hlo_vmath_is_finite(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vcmp_k(b, HLO_VIR_LT, hlo_vabs(b, x), INFINITY);
}
value_t* hlo_vmath_chlo_is_inf(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vcmp_k(b, HLO_VIR_EQ, hlo_vabs(b, x), INFINITY);
}
value_t* hlo_vmath_chlo_is_pos_inf(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vcmp_k(b, HLO_VIR_EQ, x, INFINITY);
}
value_t* hlo_vmath_chlo_is_neg_inf(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vcmp_k(b, HLO_VIR_EQ, x, -INFINITY);
}

// ---- extremes -----------------------------------------------------------------------------------

// Returns false for NaN and for values that are not constants.
static bool constant_of(const value_t* x, double* out_value) {
  if (x->op != HLO_VIR_const) return false;
  *out_value = hlo_vmath_float_of_bits(x);
  return *out_value == *out_value;
}

// For zeros, the constant is the result only if it is +0 and x is -0.
static value_t* extreme_of_constant(builder_t* b, hlo_vir_opcode_t op, value_t* x,
                                    value_t* constant, double value) {
  if (value == (op == HLO_VIR_fmax ? -INFINITY : INFINITY)) return x;
  value_t* result = hlo_vir_binary(b, op, constant, x);
  const bool is_positive_zero = value == 0 && !signbit(value);
  return op == HLO_VIR_fmax && is_positive_zero ? hlo_vadd(b, result, constant) : result;
}

// Equal operands differ at most in the sign of zero: the maximum is +0 if either is, the minimum
// -0.
static value_t* extreme(builder_t* b, hlo_vir_opcode_t op, value_t* x, value_t* y) {
  double value = 0;
  const bool is_max = op == HLO_VIR_fmax;
  if (constant_of(y, &value) && (is_max || value != 0 || !signbit(value))) {
    return extreme_of_constant(b, op, x, y, value);
  }
  if (constant_of(x, &value) && (is_max || value != 0 || !signbit(value))) {
    return extreme_of_constant(b, op, y, x, value);
  }
  value_t* forward = hlo_vir_binary(b, op, x, y);
  value_t* backward = hlo_vir_binary(b, op, y, x);
  // If one operand is NaN, each operand is the result once: both results ored are a NaN.
  if (!is_max) return hlo_vor(b, forward, backward);
  return hlo_vreplace_k(b, hlo_vand(b, forward, backward), hlo_vcmp(b, HLO_VIR_UNORDERED, x, y),
                        NAN);
}

value_t* hlo_vmath_maximum(builder_t* b, value_t* x, value_t* y) {
  return extreme(b, HLO_VIR_fmax, x, y);
}
value_t* hlo_vmath_minimum(builder_t* b, value_t* x, value_t* y) {
  return extreme(b, HLO_VIR_fmin, x, y);
}

// Any NaN gives NaN. Equal bounds are the result.
value_t* hlo_vmath_clamp_float(builder_t* b, value_t* low, value_t* x, value_t* high) {
  double value = 0;
  value_t* above = hlo_vmax(b, low, x);
  if (!constant_of(low, &value)) {
    above = hlo_vselect(b, hlo_vcmp(b, HLO_VIR_UNORDERED, low, x), hlo_vadd(b, low, x), above);
  }
  value_t* result = hlo_vmin(b, high, above);
  if (!constant_of(high, &value)) {
    result = hlo_vselect(b, hlo_vcmp(b, HLO_VIR_UNORDERED, high, above), hlo_vadd(b, high, above),
                         result);
  }
  return result;
}

// ---- bits ---------------------------------------------------------------------------------------

// Returns integers in the order of IEEE 754 totalOrder.
static value_t* total_order_key(builder_t* b, value_t* x) {
  value_t* bits = hlo_vbits(b, x);
  const int64_t width = hlo_vis_f64(x) ? 64 : 32;
  value_t* below_sign = hlo_vlshr_k(b, hlo_vashr_k(b, bits, width - 1), 1);
  return hlo_vxor(b, bits, below_sign);
}

value_t* hlo_vmath_compare_float(builder_t* b, hlo_vir_condition_t condition, bool is_total_order,
                                 value_t* x, value_t* y) {
  if (!is_total_order) return hlo_vcmp(b, condition, x, y);
  return hlo_vscmp(b, condition, total_order_key(b, x), total_order_key(b, y));
}

// Returns the distance of x from zero in units in the last place, in the order of x; not for NaN.
// Float comparisons would not tell subnormal numbers apart where those are flushed.
static value_t* ulps_from_zero(builder_t* b, value_t* x) {
  value_t* magnitude = hlo_vbits(b, hlo_vabs(b, x));
  value_t* zero = hlo_viconst(b, magnitude, 0);
  value_t* is_negative = hlo_vscmp(b, HLO_VIR_LT, hlo_vbits(b, x), zero);
  return hlo_vselect(b, is_negative, hlo_visub(b, zero, magnitude), magnitude);
}

value_t* hlo_vmath_chlo_next_after(builder_t* b, value_t* x, value_t* y) {
  value_t* bits = hlo_vbits(b, x);
  value_t* one = hlo_viconst(b, bits, 1);
  value_t *x_ulps = ulps_from_zero(b, x), *y_ulps = ulps_from_zero(b, y);
  // The magnitude grows if y is farther from zero than x, on the same side.
  value_t* shrinks = hlo_vir_binary(b, HLO_VIR_mask_xor, hlo_vscmp(b, HLO_VIR_LT, x_ulps, y_ulps),
                                    hlo_vscmp_k(b, HLO_VIR_GT, x_ulps, 0));
  value_t* next = hlo_viadd(b, bits, hlo_vselect(b, shrinks, hlo_viconst(b, bits, -1), one));
  value_t* smallest = hlo_vor(b, hlo_vbits(b, hlo_vsign_bit(b, y)), one);
  next = hlo_vof_bits(b, hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, x_ulps, 0), smallest, next));
  next = hlo_vselect(b, hlo_vscmp(b, HLO_VIR_EQ, x_ulps, y_ulps), y, next);
  return hlo_vselect(b, hlo_vcmp(b, HLO_VIR_UNORDERED, x, y), hlo_vadd(b, x, y), next);
}

// ---- remainder ----------------------------------------------------------------------------------

// Returns y times a power of two: at most `rest`, and so large that rest / y does not overflow.
static value_t* scaled_divisor(builder_t* b, value_t* rest, value_t* y) {
  enum { STEPS = 3 };  // reduce quotients below 2^2098 (f32: 2^277) to 2^538 (2^97)
  const double step = hlo_vis_f64(y) ? 0x1p520 : 0x1p60;
  for (int i = 0; i < STEPS; ++i) {
    value_t* next = hlo_vmul_k(b, y, step);
    y = hlo_vselect(b, hlo_vcmp(b, HLO_VIR_LE, next, rest), next, y);
  }
  return y;
}

// Multiplies `rest` and the divisor by a power of two where the divisor is so small that `rest` may
// become a subnormal number, which would be flushed: a rest slightly below zero, to which the
// divisor is added in the end. No rest that is too large for it is subnormal after one iteration.
static void scale_up_small(builder_t* b, value_t* rest, value_t* divisor) {
  const bool is_f64 = hlo_vis_f64(rest);
  value_t* is_small =
      hlo_vmask_and(b, hlo_vcmp_k(b, HLO_VIR_LT, divisor, is_f64 ? 0x1p-960 : 0x1p-100),
                    hlo_vcmp_k(b, HLO_VIR_LT, hlo_vabs(b, rest), is_f64 ? 0x1p960 : 0x1p100));
  const double scale = is_f64 ? 0x1p62 : 0x1p26;
  hlo_vir_set(b, rest, hlo_vselect(b, is_small, hlo_vmul_k(b, rest, scale), rest));
  hlo_vir_set(b, divisor, hlo_vselect(b, is_small, hlo_vmul_k(b, divisor, scale), divisor));
}

// rest -= trunc(rest / y) y is exact although the quotient is rounded: the result has fewer bits
// than `rest` and is at most slightly below zero. Each iteration removes about 50 bits of the
// quotient.
value_t* hlo_vmath_remainder(builder_t* b, value_t* x, value_t* y) {
  value_t* size = hlo_vflushed(b, hlo_vabs(b, x));
  value_t* divisor = hlo_vabs(b, y);
  value_t* is_valid = hlo_vmask_and(b, hlo_vcmp_k(b, HLO_VIR_LT, size, INFINITY),
                                    hlo_vcmp_k(b, HLO_VIR_GT, divisor, 0));
  value_t* unscaled = hlo_vselect(b, is_valid, divisor, hlo_vconst(b, x, 1));
  value_t* rest = hlo_vir_var(b, hlo_vselect(b, is_valid, size, hlo_vconst(b, x, 0)));
  const bool is_flushed = b->module->subnormals == HLO_SUBNORMALS_FLUSH;
  divisor = is_flushed ? hlo_vir_var(b, unscaled) : unscaled;
  hlo_vir_begin_loop(b);
  if (is_flushed) scale_up_small(b, rest, divisor);
  value_t* is_large = hlo_vcmp(b, HLO_VIR_GE, hlo_vabs(b, rest), divisor);
  hlo_vir_break_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, hlo_vany(b, is_large), hlo_vir_iconst(b, 0)));
  value_t* scaled = scaled_divisor(b, hlo_vabs(b, rest), divisor);
  value_t* quotient = hlo_vround(b, hlo_vdiv(b, rest, scaled), HLO_VIR_TOWARD_ZERO);
  hlo_vir_set(b, rest, hlo_vselect(b, is_large, hlo_vfnma(b, quotient, scaled, rest), rest));
  hlo_vir_end(b);
  value_t* is_below = hlo_vcmp_k(b, HLO_VIR_LT, rest, 0);
  value_t* result = hlo_vselect(b, is_below, hlo_vadd(b, rest, divisor), rest);
  if (is_flushed) {  // back to the unit of y
    value_t* is_scaled = hlo_vcmp(b, HLO_VIR_NE, divisor, unscaled);
    const double scale = hlo_vis_f64(x) ? 0x1p-62 : 0x1p-26;
    result = hlo_vselect(b, is_scaled, hlo_vmul_k(b, result, scale), result);
  }
  result = hlo_vwith_sign(b, hlo_vabs(b, result), x);
  return hlo_vreplace_k(b, result, hlo_vmask_not(b, is_valid), NAN);
}
