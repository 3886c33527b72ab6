// SPDX-License-Identifier: Apache-2.0
// Float ops of a few instructions, with the bits of the reference: rounding, extremes, signs,
// classification, comparison, the exact remainder.
#include "codegen/math/functions.h"

value_t* hlo_vmath_round_nearest_afz(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  // The largest number below one half: adding a half itself would carry what is just below.
  const double below_half = is_f64(x) ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2;
  value_t* step = vwith_sign(b, vconst(b, x, below_half), x);
  return vround(b, vadd(b, x, step), HLO_VIR_TOWARD_ZERO);
}

value_t* hlo_vmath_sign(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* zero = vconst(b, x, 0);
  value_t* rest = vadd(b, x, x);  // a zero, NaN, or subnormal: then a zero if those are flushed
  value_t* sign = vreplace_k(b, rest, vcmp(b, HLO_VIR_GT, x, zero), 1);
  return vreplace_k(b, sign, vcmp(b, HLO_VIR_LT, x, zero), -1);
}

value_t* hlo_vmath_real(builder_t* b, value_t* x, value_t* y) {
  (void)b, (void)y;
  return x;
}
value_t* hlo_vmath_chlo_conj(builder_t* b, value_t* x, value_t* y) {
  return hlo_vmath_real(b, x, y);
}
value_t* hlo_vmath_imag(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vconst(b, x, 0);
}

value_t* hlo_vmath_chlo_square(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vmul(b, x, x);
}

// r is made better by the series of (1 - h)^(-1/2) with h = 1 - x r^2, up to h^3.
static value_t* better_rsqrt(builder_t* b, value_t* x, value_t* r) {
  static const double series[] = {0.5, 0.375, 0.3125};
  value_t* h = vfnma(b, vmul(b, x, r), r, vconst(b, x, 1));
  return vfma(b, vmul(b, r, h), POLYNOMIAL(b, h, series), r);
}

static value_t* plain_rsqrt(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vdiv(b, vconst(b, x, 1), vsqrt(b, x));
}

// The quotients and roots of f64 are slow: of positive normal numbers half the exponent, made
// better twice.
value_t* hlo_vmath_rsqrt(builder_t* b, value_t* x, value_t* y) {
  if (!is_f64(x)) return plain_rsqrt(b, x, y);
  const int64_t halved = 0x5fe6eb50c7b537a9, first = (int64_t)1 << 52, count = (int64_t)0x7fe << 52;
  value_t* bits = vbits(b, x);
  value_t* rough = vof_bits(b, visub(b, viconst(b, bits, halved), vlshr_k(b, bits, 1)));
  value_t* root = better_rsqrt(b, x, better_rsqrt(b, x, rough));
  value_t* place = viadd_k(b, bits, -first);
  value_t* is_edge = vucmp(b, HLO_VIR_GE, place, viconst(b, bits, count));
  return hlo_vmath_except_where(b, is_edge, x, root, plain_rsqrt);
}

value_t* hlo_vmath_is_finite(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vcmp_k(b, HLO_VIR_LT, vabs(b, x), INFINITY);
}
value_t* hlo_vmath_chlo_is_inf(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vcmp_k(b, HLO_VIR_EQ, vabs(b, x), INFINITY);
}
value_t* hlo_vmath_chlo_is_pos_inf(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vcmp_k(b, HLO_VIR_EQ, x, INFINITY);
}
value_t* hlo_vmath_chlo_is_neg_inf(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vcmp_k(b, HLO_VIR_EQ, x, -INFINITY);
}

// ---- extremes -----------------------------------------------------------------------------------

// The value of a constant other than NaN.
static bool constant_of(const value_t* x, double* out_value) {
  if (x->op != HLO_VIR_const) return false;
  *out_value = hlo_vmath_float_of_bits(x);
  return *out_value == *out_value;
}

// The larger (smaller) one of x and a constant. Zeros: the constant only wins as a +0 over -0.
static value_t* extreme_of_constant(builder_t* b, hlo_vir_opcode_t op, value_t* x,
                                    value_t* constant, double value) {
  if (value == (op == HLO_VIR_fmax ? -INFINITY : INFINITY)) return x;
  value_t* result = hlo_vir_binary(b, op, constant, x);
  const bool is_positive_zero = value == 0 && !signbit(value);
  return op == HLO_VIR_fmax && is_positive_zero ? vadd(b, result, constant) : result;
}

// Equal operands differ at most in the sign of zero: +0 if either is for the maximum, -0 for the
// minimum.
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
  // Of a NaN and something else each is the result once: the bits of both together are a NaN.
  if (!is_max) return vor(b, forward, backward);
  return vreplace_k(b, vand(b, forward, backward), vcmp(b, HLO_VIR_UNORDERED, x, y), NAN);
}

value_t* hlo_vmath_maximum(builder_t* b, value_t* x, value_t* y) {
  return extreme(b, HLO_VIR_fmax, x, y);
}
value_t* hlo_vmath_minimum(builder_t* b, value_t* x, value_t* y) {
  return extreme(b, HLO_VIR_fmin, x, y);
}

// A NaN anywhere is the result. Equal bounds leave x.
value_t* hlo_vmath_clamp_float(builder_t* b, value_t* low, value_t* x, value_t* high) {
  double value = 0;
  value_t* above = vmax(b, low, x);
  if (!constant_of(low, &value)) {
    above = vselect(b, vcmp(b, HLO_VIR_UNORDERED, low, x), vadd(b, low, x), above);
  }
  value_t* result = vmin(b, high, above);
  if (!constant_of(high, &value)) {
    result = vselect(b, vcmp(b, HLO_VIR_UNORDERED, high, above), vadd(b, high, above), result);
  }
  return result;
}

// ---- bits ---------------------------------------------------------------------------------------

// Orders as integers as IEEE 754 totalOrder does.
static value_t* total_order_key(builder_t* b, value_t* x) {
  value_t* bits = vbits(b, x);
  const int64_t width = is_f64(x) ? 64 : 32;
  value_t* below_sign = vlshr_k(b, vashr_k(b, bits, width - 1), 1);
  return vxor(b, bits, below_sign);
}

value_t* hlo_vmath_compare_float(builder_t* b, hlo_vir_condition_t condition, bool is_total_order,
                                 value_t* x, value_t* y) {
  if (!is_total_order) return vcmp(b, condition, x, y);
  return vscmp(b, condition, total_order_key(b, x), total_order_key(b, y));
}

// x as a number of units in the last place from zero: of all but NaN, in their order. Comparisons
// of floats would not tell subnormal numbers apart where those are flushed.
static value_t* place_of(builder_t* b, value_t* x) {
  value_t* magnitude = vbits(b, vabs(b, x));
  value_t* zero = viconst(b, magnitude, 0);
  value_t* is_negative = vscmp(b, HLO_VIR_LT, vbits(b, x), zero);
  return vselect(b, is_negative, visub(b, zero, magnitude), magnitude);
}

value_t* hlo_vmath_chlo_next_after(builder_t* b, value_t* x, value_t* y) {
  value_t* bits = vbits(b, x);
  value_t* one = viconst(b, bits, 1);
  value_t *here = place_of(b, x), *there = place_of(b, y);
  // The magnitude grows where y lies on the far side of x, seen from zero.
  value_t* shrinks = hlo_vir_binary(b, HLO_VIR_mask_xor, vscmp(b, HLO_VIR_LT, here, there),
                                    vscmp_k(b, HLO_VIR_GT, here, 0));
  value_t* next = viadd(b, bits, vselect(b, shrinks, viconst(b, bits, -1), one));
  value_t* smallest = vor(b, vbits(b, vsign_bit(b, y)), one);
  next = vof_bits(b, vselect(b, vscmp_k(b, HLO_VIR_EQ, here, 0), smallest, next));
  next = vselect(b, vscmp(b, HLO_VIR_EQ, here, there), y, next);
  return vselect(b, vcmp(b, HLO_VIR_UNORDERED, x, y), vadd(b, x, y), next);
}

// ---- remainder ----------------------------------------------------------------------------------

// y times a power of two that leaves it below rest but large enough for rest / y not to overflow.
static value_t* scaled_divisor(builder_t* b, value_t* rest, value_t* y) {
  enum { STEPS = 3 };  // of quotients below 2^2098 (f32: 2^277) they leave 2^538 (2^97)
  const double step = is_f64(y) ? 0x1p520 : 0x1p60;
  for (int i = 0; i < STEPS; ++i) {
    value_t* next = vmul_k(b, y, step);
    y = vselect(b, vcmp(b, HLO_VIR_LE, next, rest), next, y);
  }
  return y;
}

// rest -= trunc(rest / y) y is exact although the quotient is rounded: what remains has fewer bits
// than rest, at most a little below zero. Each round takes some 50 bits of the quotient.
value_t* hlo_vmath_remainder(builder_t* b, value_t* x, value_t* y) {
  value_t* size = vadd_k(b, vabs(b, x), 0);  // which flushes it where that is to be done
  value_t* divisor = vabs(b, y);
  value_t* is_valid =
      vmask_and(b, vcmp_k(b, HLO_VIR_LT, size, INFINITY), vcmp_k(b, HLO_VIR_GT, divisor, 0));
  divisor = vselect(b, is_valid, divisor, vconst(b, x, 1));
  value_t* rest = hlo_vir_var(b, vselect(b, is_valid, size, vconst(b, x, 0)));
  hlo_vir_begin_loop(b);
  value_t* is_large = vcmp(b, HLO_VIR_GE, vabs(b, rest), divisor);
  hlo_vir_break_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, vany(b, is_large), hlo_vir_iconst(b, 0)));
  value_t* scaled = scaled_divisor(b, vabs(b, rest), divisor);
  value_t* quotient = vround(b, vdiv(b, rest, scaled), HLO_VIR_TOWARD_ZERO);
  hlo_vir_set(b, rest, vselect(b, is_large, vfnma(b, quotient, scaled, rest), rest));
  hlo_vir_end(b);
  value_t* is_below = vscmp_k(b, HLO_VIR_LT, vbits(b, rest), 0);  // -0: what was flushed is below
  value_t* result = vselect(b, is_below, vadd(b, rest, divisor), rest);
  result = vwith_sign(b, vabs(b, result), x);
  return vreplace_k(b, result, vmask_not(b, is_valid), NAN);
}
