// SPDX-License-Identifier: Apache-2.0
// Powers of floats and the cubic root. x^y = exp(y log|x|); f64 needs the logarithm in two parts.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

/// The unevaluated sum of two floats.
typedef struct pair {
  value_t *high, *low;
} pair_t;

// x y, exactly.
static pair_t product(builder_t* b, value_t* x, value_t* y) {
  value_t* high = vmul(b, x, y);
  return (pair_t){high, vneg(b, vfnma(b, x, y, high))};
}

// x + y + below for |x| >= |y| >= |below|.
static pair_t sum(builder_t* b, value_t* x, value_t* y, value_t* below) {
  value_t* high = vadd(b, x, y);
  value_t* low = vadd(b, vadd(b, vsub(b, x, high), y), below);
  value_t* whole = vadd(b, high, low);
  return (pair_t){whole, vadd(b, vsub(b, high, whole), low)};
}

// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)], good to some 2^-68: 2 s + 2 s^3 / 3 in two parts,
// and the rest of the series, with s = f / (2 + f).
static pair_t log_of_fraction(builder_t* b, value_t* f) {
  value_t* two = vconst(b, f, 2);
  value_t* bottom = vadd(b, f, two);
  value_t* bottom_low = vsub(b, f, vsub(b, bottom, two));
  value_t* s = vdiv(b, f, bottom);
  value_t* s_low = vfnma(b, s, bottom_low, vfnma(b, s, bottom, f));
  s_low = vdiv(b, s_low, bottom);
  pair_t square = product(b, s, s);
  square.low = vfma(b, vadd(b, s, s), s_low, square.low);
  pair_t cube = product(b, square.high, s);
  cube.low = vfma(b, square.low, s, vfma(b, square.high, s_low, cube.low));
  value_t* third = vconst(b, f, 0x1.5555555555555p-1);
  pair_t term = product(b, cube.high, third);
  term.low =
      vfma(b, cube.low, third, vfma(b, cube.high, vconst(b, f, 0x1.5555555555555p-55), term.low));
  // The first coefficient is 2/3 but for its last bits.
  value_t* rest = hlo_vmath_polynomial(b, square.high, log_long + 1, COUNT(log_long) - 1);
  rest = vfma(b, square.high, rest, vconst(b, f, log_long[0] - 0x1.5555555555555p-1));
  value_t* below = vfma(b, cube.high, rest, vadd(b, term.low, vadd(b, s_low, s_low)));
  return sum(b, vadd(b, s, s), term.high, below);
}

static pair_t exact_log(builder_t* b, value_t* x) {
  const double log2_high = 0x1.62e42fefa38p-1, log2_low = 0x1.ef35793c7673p-45;
  log_parts_t parts = hlo_vmath_log_parts(b, x);
  pair_t log = log_of_fraction(b, parts.fraction);
  value_t* whole = vmul_k(b, parts.exponent, log2_high);  // exact
  pair_t both = sum(b, whole, log.high, vfma(b, parts.exponent, vconst(b, x, log2_low), log.low));
  // For n = 0 the second term is the larger one, and alone.
  value_t* is_zero = vcmp_k(b, HLO_VIR_EQ, whole, 0);
  return (pair_t){vselect(b, is_zero, log.high, both.high), vselect(b, is_zero, log.low, both.low)};
}

// ---- special cases ------------------------------------------------------------------------------

// |x|^y, given the rest of the rules of C's pow: signs, negative bases, 1 and infinity.
static value_t* finish(builder_t* b, value_t* x, value_t* y, value_t* power) {
  value_t* zero = vconst(b, x, 0);
  value_t* one = vconst(b, x, 1);
  value_t* size = vabs(b, x);
  value_t* is_fraction = vcmp(b, HLO_VIR_NE, vround(b, y, HLO_VIR_FLOOR), y);
  value_t* half = vmul_k(b, y, 0.5);
  value_t* is_odd = vcmp(b, HLO_VIR_NE, vround(b, half, HLO_VIR_FLOOR), half);
  value_t* sign = vselect(b, is_odd, vsign_bit(b, x), zero);
  power = vxor(b, power, vselect(b, is_fraction, zero, sign));
  value_t* is_negative =
      vmask_and(b, vcmp(b, HLO_VIR_LT, x, zero), vcmp_k(b, HLO_VIR_GT, x, -INFINITY));
  power = vreplace_k(b, power, vmask_and(b, is_negative, is_fraction), NAN);
  value_t* is_unit =
      vmask_and(b, vcmp(b, HLO_VIR_EQ, size, one), vcmp_k(b, HLO_VIR_EQ, vabs(b, y), INFINITY));
  value_t* is_one = vmask_or(b, vcmp(b, HLO_VIR_EQ, x, one), vcmp(b, HLO_VIR_EQ, y, zero));
  return vselect(b, vmask_or(b, is_unit, is_one), one, power);
}

// x^y of f32 numbers that are not negative: the simple logarithm is good enough, and none of them
// is subnormal in f64.
static value_t* rough_power(builder_t* b, value_t* x, value_t* y) {
  value_t* log = hlo_vmath_log_of_normal(b, x);
  log = vreplace_k(b, log, vcmp_k(b, HLO_VIR_EQ, x, 0), -INFINITY);
  log = vselect(b, vcmp_k(b, HLO_VIR_LT, x, INFINITY), log, x);
  return hlo_vmath_exponential(b, vmul(b, y, log), NULL);
}

static value_t* exact_power(builder_t* b, value_t* x, value_t* y) {
  value_t* size = vabs(b, x);
  pair_t log = exact_log(b, size);
  value_t* zero = vconst(b, x, 0);
  // Zero and infinity have infinite logarithms.
  value_t* is_infinite = vcmp_k(b, HLO_VIR_EQ, size, INFINITY);
  value_t* is_special = vmask_or(b, is_infinite, vcmp(b, HLO_VIR_EQ, size, zero));
  value_t* special = vselect(b, is_infinite, size, vconst(b, x, -INFINITY));
  special = vselect(b, vcmp(b, HLO_VIR_UNORDERED, x, x), x, special);
  is_special = vmask_or(b, is_special, vcmp(b, HLO_VIR_UNORDERED, x, x));
  value_t* high = vselect(b, is_special, special, log.high);
  pair_t exponent = product(b, y, high);
  exponent.low = vfma(b, y, log.low, exponent.low);
  // Where the result leaves the range, the low part says nothing, and may be NaN.
  value_t* is_inside = vcmp_k(b, HLO_VIR_LT, vabs(b, exponent.high), 1000);
  exponent.low = vselect(b, is_inside, exponent.low, zero);
  return finish(b, x, y, hlo_vmath_exp_of_sum(b, exponent.high, exponent.low));
}

value_t* hlo_vmath_power(builder_t* b, value_t* x, value_t* y) {
  if (is_f64(x)) return exact_power(b, x, y);
  return finish(b, x, y, hlo_vmath_in_f64(b, rough_power, vabs(b, x), y));
}

// ---- cubic root ---------------------------------------------------------------------------------

// exp(log|x| / 3), and one Newton step. Small arguments are scaled by a cube, so that nothing in
// the step is subnormal.
value_t* hlo_vmath_cbrt(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* one = vconst(b, x, 1);
  value_t* size = vabs(b, x);
  value_t* is_small = vcmp_k(b, HLO_VIR_LT, size, 0x1p-900);
  value_t* scaled = vmul(b, size, vselect(b, is_small, vconst(b, x, 0x1p162), one));
  value_t* log = hlo_vmath_log(b, scaled, NULL);
  value_t* root = hlo_vmath_exponential(b, vmul_k(b, log, 1.0 / 3), NULL);
  value_t* square = vmul(b, root, root);
  value_t* excess = vneg(b, vfnma(b, square, root, scaled));
  value_t* slope = vmul_k(b, square, 3);
  value_t* better = vsub(b, root, vdiv(b, excess, slope));
  // zero, infinity and NaN are their own roots
  value_t* is_number =
      vmask_and(b, vcmp_k(b, HLO_VIR_GT, size, 0), vcmp_k(b, HLO_VIR_LT, size, INFINITY));
  better = vmul(b, better, vselect(b, is_small, vconst(b, x, 0x1p-54), one));
  return vselect(b, is_number, vwith_sign(b, better, x), x);
}
