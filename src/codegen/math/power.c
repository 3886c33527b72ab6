// SPDX-License-Identifier: Apache-2.0
// Powers of floats and the cubic root. x^y = 2^(y log2|x|), with the logarithm in two parts.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

// x + y + below for x = 0 or |x| >= |y| >= |below|.
static pair_t sum(builder_t* b, value_t* x, value_t* y, value_t* below) {
  value_t* high = vadd(b, x, y);
  value_t* low = vadd(b, vadd(b, vsub(b, x, high), y), below);
  value_t* whole = vadd(b, high, low);
  return (pair_t){whole, vadd(b, vsub(b, high, whole), low)};
}

/// What differs between f32 and f64: numbers in two parts, and the rest of a series.
typedef struct power_format {
  double scale, scale_low;  // 2 / log(2)
  double third, third_low;
  double highest, lowest;  // logarithms beyond which the result is infinite or 0
  const double* rest;
  size_t count;
} power_format_t;

static const power_format_t formats[2] = {
    {0x1.715476p+1, 0x1.4ae0cp-25, 0x1.555556p-2, -0x1.555556p-27, 128.25, -152, log2_f32,
     COUNT(log2_f32)},
    {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55, 0x1.5555555555555p-2, 0x1.5555555555555p-56,
     1024.25, -1077, log2_f64, COUNT(log2_f64)},
};

// artanh(s) / s - 1 = s^2 / 3 + s^4 Q(s^2), from s in two parts.
static pair_t relative_rest(builder_t* b, pair_t s, const power_format_t* f) {
  pair_t square = hlo_vmath_product(b, s.high, s.high);
  square.low = vfma(b, vadd(b, s.high, s.high), s.low, square.low);
  value_t* third = vconst(b, s.high, f->third);
  pair_t rest = hlo_vmath_product(b, square.high, third);
  rest.low = vfma(b, square.high, vconst(b, s.high, f->third_low), rest.low);
  rest.low = vfma(b, square.low, third, rest.low);
  value_t* series = hlo_vmath_polynomial(b, square.high, f->rest, f->count);
  rest.low = vfma(b, vmul(b, square.high, square.high), series, rest.low);
  return rest;
}

// log2(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)]: 2 / log(2) artanh(s) with s = f / (2 + f), good to
// some 2^-36 (2^-64 for f64).
static pair_t log2_of_fraction(builder_t* b, value_t* f) {
  const power_format_t* format = &formats[is_f64(f)];
  value_t* two = vconst(b, f, 2);
  value_t* bottom = vadd(b, f, two);
  value_t* bottom_low = vsub(b, f, vsub(b, bottom, two));
  value_t* inverse = vdiv(b, vconst(b, f, 1), bottom);
  pair_t s = {.high = vmul(b, f, inverse)};
  s.low = vfnma(b, s.high, bottom_low, vfnma(b, s.high, bottom, f));
  s.low = vmul(b, s.low, inverse);
  pair_t rest = relative_rest(b, s, format);
  value_t* scale = vconst(b, f, format->scale);
  pair_t slope = hlo_vmath_product(b, s.high, scale);
  slope.low = vfma(b, s.high, vconst(b, f, format->scale_low), slope.low);
  slope.low = vfma(b, s.low, scale, slope.low);
  pair_t term = hlo_vmath_product(b, slope.high, rest.high);
  term.low = vfma(b, slope.high, rest.low, vfma(b, slope.low, rest.high, term.low));
  return sum(b, slope.high, term.high, vadd(b, slope.low, term.low));
}

// log2(x) of positive finite numbers: where the exponent is 0 it adds nothing, else it is the
// larger.
static pair_t log2_of(builder_t* b, value_t* x) {
  log_parts_t parts = hlo_vmath_log_parts(b, x);
  pair_t log = log2_of_fraction(b, parts.fraction);
  return sum(b, parts.exponent, log.high, log.low);
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

// 2^(y log2|x|); zero and infinity have infinite logarithms.
value_t* hlo_vmath_power(builder_t* b, value_t* x, value_t* y) {
  const power_format_t* f = &formats[is_f64(x)];
  value_t* size = vabs(b, x);
  pair_t log = log2_of(b, size);
  value_t* is_zero = vcmp_k(b, HLO_VIR_EQ, size, 0);
  value_t* is_number = vcmp_k(b, HLO_VIR_LT, size, INFINITY);
  log.high = vselect(b, is_number, vreplace_k(b, log.high, is_zero, -INFINITY), size);
  pair_t exponent = hlo_vmath_product(b, y, log.high);
  exponent.low = vfma(b, y, log.low, exponent.low);
  // Beyond the range the low part says nothing, and may be NaN.
  const double most = 0x1p-10;
  exponent.low = vmax(b, vmin(b, exponent.low, vconst(b, x, most)), vconst(b, x, -most));
  exponent.high = vat_most(b, vat_least(b, exponent.high, f->lowest), f->highest);
  return finish(b, x, y, hlo_vmath_exp2_of_sum(b, exponent.high, exponent.low));
}

// ---- cubic root ---------------------------------------------------------------------------------

/// Powers of a third: the exponent is divided by -3 in the high bits, which a float holds exactly.
typedef struct root_format {
  int low_bits;        // that are left out
  double holder;       // its last place is 1
  double first;        // the high bits of a number whose root is about itself
  double small, grow;  // numbers below are multiplied by a cube
  double shrink;       // the inverse of its root
} root_format_t;

static const root_format_t root_formats[2] = {
    {9, 0x1p23, 0x2a5100, 0x1p-75, 0x1p78, 0x1p-26},
    {32, 0x1p52, 0x553eeaaa, 0x1p-900, 0x1p162, 0x1p-54},
};

// x^(-1/3) to 2^-4.9, of normal numbers.
static value_t* rough_inverse_root(builder_t* b, value_t* x) {
  const root_format_t* f = &root_formats[is_f64(x)];
  value_t* holder = vconst(b, x, f->holder);
  value_t* bits = vor(b, vlshr_k(b, vbits(b, x), f->low_bits), vbits(b, holder));
  value_t* high = vsub(b, vof_bits(b, bits), holder);
  value_t* third = vconst(b, x, 1.0 / 3);
  value_t* divided = vfnma(b, high, third, vconst(b, x, f->first + f->holder));
  return vof_bits(b, vshl_k(b, vbits(b, divided), f->low_bits));
}

// r is made better by the series of (1 - h)^(-1/3) with h = 1 - x r^3, to the power `terms` of h.
static value_t* better_inverse_root(builder_t* b, value_t* x, value_t* r, size_t terms) {
  static const double series[] = {1.0 / 3, 2.0 / 9, 14.0 / 81};
  value_t* h = vfnma(b, vmul(b, r, r), vmul(b, r, x), vconst(b, x, 1));
  value_t* sum = hlo_vmath_polynomial(b, h, series, terms);
  return vfma(b, vmul(b, r, h), sum, r);
}

// x times the square of x^(-1/3), and a Newton step whose residue has the digits that x lacks.
// Small arguments are scaled by a cube, so that nothing in it is subnormal.
value_t* hlo_vmath_cbrt(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  const root_format_t* f = &root_formats[is_f64(x)];
  value_t* one = vconst(b, x, 1);
  value_t* size = vabs(b, x);
  value_t* is_small = vcmp_k(b, HLO_VIR_LT, size, f->small);
  value_t* scaled = vmul(b, size, vselect(b, is_small, vconst(b, x, f->grow), one));
  value_t* inverse = better_inverse_root(b, scaled, rough_inverse_root(b, scaled), 3);
  inverse = better_inverse_root(b, scaled, inverse, is_f64(x) ? 3 : 1);
  value_t* square = vmul(b, inverse, inverse);
  value_t* root = vmul(b, scaled, square);
  pair_t root_square = hlo_vmath_product(b, root, root);
  value_t* lacking = vfnma(b, root_square.low, root, vfnma(b, root_square.high, root, scaled));
  root = vfma(b, lacking, vmul_k(b, square, 1.0 / 3), root);
  // zero, infinity and NaN are their own roots
  value_t* is_number =
      vmask_and(b, vcmp_k(b, HLO_VIR_GT, size, 0), vcmp_k(b, HLO_VIR_LT, size, INFINITY));
  root = vmul(b, root, vselect(b, is_small, vconst(b, x, f->shrink), one));
  return vselect(b, is_number, vwith_sign(b, root, x), x);
}
