// SPDX-License-Identifier: Apache-2.0
// Powers of floats and the cube root. x^y = 2^(y log2|x|), with the logarithm in two parts.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

// Returns x + y + below for x = 0 or |x| >= |y| >= |below|.
static hlo_vpair_t sum_of_three(builder_t* b, value_t* x, value_t* y, value_t* below) {
  value_t* high = hlo_vadd(b, x, y);
  value_t* low = hlo_vadd(b, hlo_vadd(b, hlo_vsub(b, x, high), y), below);
  value_t* whole = hlo_vadd(b, high, low);
  return (hlo_vpair_t){whole, hlo_vadd(b, hlo_vsub(b, high, whole), low)};
}

/// Constants of f32 and f64: numbers in two parts, and the remaining terms of a series.
typedef struct power_format {
  double scale, scale_low;  // 2 / log(2)
  double third, third_low;
  double highest, lowest;  // logarithms beyond which the result is infinite or 0
  const double* rest;
  size_t count;
} power_format_t;

static const power_format_t formats[2] = {
    {0x1.715476p+1, 0x1.4ae0cp-25, 0x1.555556p-2, -0x1.555556p-27, 128.25, -152, log2_f32,
     HLO_COUNT_OF(log2_f32)},
    {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55, 0x1.5555555555555p-2, 0x1.5555555555555p-56,
     1024.25, -1077, log2_f64, HLO_COUNT_OF(log2_f64)},
};

// Returns artanh(s) / s - 1 = s^2 / 3 + s^4 Q(s^2) for s in two parts.
static hlo_vpair_t relative_rest(builder_t* b, hlo_vpair_t s, const power_format_t* f) {
  hlo_vpair_t square = hlo_vmath_product(b, s.high, s.high);
  square.low = hlo_vfma(b, hlo_vadd(b, s.high, s.high), s.low, square.low);
  value_t* third = hlo_vconst(b, s.high, f->third);
  hlo_vpair_t rest = hlo_vmath_product(b, square.high, third);
  rest.low = hlo_vfma(b, square.high, hlo_vconst(b, s.high, f->third_low), rest.low);
  rest.low = hlo_vfma(b, square.low, third, rest.low);
  value_t* series = hlo_vmath_polynomial(b, square.high, f->rest, f->count);
  rest.low = hlo_vfma(b, hlo_vmul(b, square.high, square.high), series, rest.low);
  return rest;
}

// Returns log2(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)]: 2 / log(2) artanh(s) with s = f / (2 + f),
// good to about 2^-36 (2^-64 for f64).
static hlo_vpair_t log2_of_fraction(builder_t* b, value_t* f) {
  const power_format_t* format = &formats[hlo_vis_f64(f)];
  value_t* two = hlo_vconst(b, f, 2);
  value_t* bottom = hlo_vadd(b, f, two);
  value_t* bottom_low = hlo_vsub(b, f, hlo_vsub(b, bottom, two));
  value_t* inverse = hlo_vdiv(b, hlo_vconst(b, f, 1), bottom);
  hlo_vpair_t s = {.high = hlo_vmul(b, f, inverse)};
  s.low = hlo_vfnma(b, s.high, bottom_low, hlo_vfnma(b, s.high, bottom, f));
  s.low = hlo_vmul(b, s.low, inverse);
  hlo_vpair_t rest = relative_rest(b, s, format);
  value_t* scale = hlo_vconst(b, f, format->scale);
  hlo_vpair_t slope = hlo_vmath_product(b, s.high, scale);
  slope.low = hlo_vfma(b, s.high, hlo_vconst(b, f, format->scale_low), slope.low);
  slope.low = hlo_vfma(b, s.low, scale, slope.low);
  hlo_vpair_t term = hlo_vmath_product(b, slope.high, rest.high);
  term.low = hlo_vfma(b, slope.high, rest.low, hlo_vfma(b, slope.low, rest.high, term.low));
  return sum_of_three(b, slope.high, term.high, hlo_vadd(b, slope.low, term.low));
}

// Returns log2(x) of a positive finite number. The exponent is 0 or larger in magnitude than the
// logarithm of the fraction, as sum_of_three() requires.
static hlo_vpair_t log2_of(builder_t* b, value_t* x) {
  hlo_log_parts_t parts = hlo_vmath_log_parts(b, x);
  hlo_vpair_t log = log2_of_fraction(b, parts.fraction);
  return sum_of_three(b, parts.exponent, log.high, log.low);
}

// ---- special cases ------------------------------------------------------------------------------

// Applies the other rules of C's pow to |x|^y: signs, negative bases, 1 and infinity.
static value_t* apply_special_cases(builder_t* b, value_t* x, value_t* y, value_t* power) {
  value_t* zero = hlo_vconst(b, x, 0);
  value_t* one = hlo_vconst(b, x, 1);
  value_t* size = hlo_vabs(b, x);
  value_t* is_fraction = hlo_vcmp(b, HLO_VIR_NE, hlo_vround(b, y, HLO_VIR_FLOOR), y);
  value_t* half = hlo_vmul_k(b, y, 0.5);
  value_t* is_odd = hlo_vcmp(b, HLO_VIR_NE, hlo_vround(b, half, HLO_VIR_FLOOR), half);
  value_t* sign = hlo_vselect(b, is_odd, hlo_vsign_bit(b, x), zero);
  power = hlo_vxor(b, power, hlo_vselect(b, is_fraction, zero, sign));
  value_t* is_negative =
      hlo_vmask_and(b, hlo_vcmp(b, HLO_VIR_LT, x, zero), hlo_vcmp_k(b, HLO_VIR_GT, x, -INFINITY));
  power = hlo_vreplace_k(b, power, hlo_vmask_and(b, is_negative, is_fraction), NAN);
  value_t* is_unit = hlo_vmask_and(b, hlo_vcmp(b, HLO_VIR_EQ, size, one),
                                   hlo_vcmp_k(b, HLO_VIR_EQ, hlo_vabs(b, y), INFINITY));
  value_t* is_one =
      hlo_vmask_or(b, hlo_vcmp(b, HLO_VIR_EQ, x, one), hlo_vcmp(b, HLO_VIR_EQ, y, zero));
  return hlo_vselect(b, hlo_vmask_or(b, is_unit, is_one), one, power);
}

// Computes 2^(y log2|x|); zero and infinity have infinite logarithms.
value_t* hlo_vmath_power(builder_t* b, value_t* x, value_t* y) {
  const power_format_t* f = &formats[hlo_vis_f64(x)];
  value_t* size = hlo_vabs(b, x);
  hlo_vpair_t log = log2_of(b, size);
  value_t* is_zero = hlo_vcmp_k(b, HLO_VIR_EQ, size, 0);
  value_t* is_number = hlo_vcmp_k(b, HLO_VIR_LT, size, INFINITY);
  log.high = hlo_vselect(b, is_number, hlo_vreplace_k(b, log.high, is_zero, -INFINITY), size);
  hlo_vpair_t exponent = hlo_vmath_product(b, y, log.high);
  exponent.low = hlo_vfma(b, y, log.low, exponent.low);
  // Beyond the range the low part is meaningless and may be NaN.
  const double most = 0x1p-10;
  exponent.low =
      hlo_vmax(b, hlo_vmin(b, exponent.low, hlo_vconst(b, x, most)), hlo_vconst(b, x, -most));
  exponent.high = hlo_vat_most(b, hlo_vat_least(b, exponent.high, f->lowest), f->highest);
  return apply_special_cases(b, x, y, hlo_vmath_exp2_of_sum(b, exponent.high, exponent.low));
}

// ---- cube root ----------------------------------------------------------------------------------

/// Constants of x^(-1/3): the exponent is divided by -3 in the high bits, which a float holds
/// exactly.
typedef struct root_format {
  int low_bits;        // low bits left out of the division
  double holder;       // its last place is 1
  double first;        // the high bits of a number that is about its own root
  double small, grow;  // numbers below `small` are multiplied by the cube `grow`
  double shrink;       // the inverse cube root of `grow`
} root_format_t;

static const root_format_t root_formats[2] = {
    {9, 0x1p23, 0x2a5100, 0x1p-75, 0x1p78, 0x1p-26},
    {32, 0x1p52, 0x553eeaaa, 0x1p-900, 0x1p162, 0x1p-54},
};

// Returns x^(-1/3) of a normal number to 2^-4.9.
static value_t* rough_inverse_root(builder_t* b, value_t* x) {
  const root_format_t* f = &root_formats[hlo_vis_f64(x)];
  value_t* holder = hlo_vconst(b, x, f->holder);
  value_t* bits = hlo_vor(b, hlo_vlshr_k(b, hlo_vbits(b, x), f->low_bits), hlo_vbits(b, holder));
  value_t* high = hlo_vsub(b, hlo_vof_bits(b, bits), holder);
  value_t* third = hlo_vconst(b, x, 1.0 / 3);
  value_t* divided = hlo_vfnma(b, high, third, hlo_vconst(b, x, f->first + f->holder));
  return hlo_vof_bits(b, hlo_vshl_k(b, hlo_vbits(b, divided), f->low_bits));
}

// Refines r by the series of (1 - h)^(-1/3) with h = 1 - x r^3, up to h^terms.
static value_t* better_inverse_root(builder_t* b, value_t* x, value_t* r, size_t terms) {
  static const double series[] = {1.0 / 3, 2.0 / 9, 14.0 / 81};
  value_t* h = hlo_vfnma(b, hlo_vmul(b, r, r), hlo_vmul(b, r, x), hlo_vconst(b, x, 1));
  value_t* sum = hlo_vmath_polynomial(b, h, series, terms);
  return hlo_vfma(b, hlo_vmul(b, r, h), sum, r);
}

// x times the square of x^(-1/3), corrected by a Newton step whose residual is computed with twice
// the bits. Small arguments are scaled by a cube, so that no intermediate value is subnormal.
value_t* hlo_vmath_cbrt(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  const root_format_t* f = &root_formats[hlo_vis_f64(x)];
  value_t* one = hlo_vconst(b, x, 1);
  value_t* size = hlo_vabs(b, x);
  value_t* is_small = hlo_vcmp_k(b, HLO_VIR_LT, size, f->small);
  value_t* scaled = hlo_vmul(b, size, hlo_vselect(b, is_small, hlo_vconst(b, x, f->grow), one));
  value_t* inverse = better_inverse_root(b, scaled, rough_inverse_root(b, scaled), 3);
  inverse = better_inverse_root(b, scaled, inverse, hlo_vis_f64(x) ? 3 : 1);
  value_t* square = hlo_vmul(b, inverse, inverse);
  value_t* root = hlo_vmul(b, scaled, square);
  hlo_vpair_t root_square = hlo_vmath_product(b, root, root);
  value_t* lacking =
      hlo_vfnma(b, root_square.low, root, hlo_vfnma(b, root_square.high, root, scaled));
  root = hlo_vfma(b, lacking, hlo_vmul_k(b, square, 1.0 / 3), root);
  // Zero, infinity and NaN are their own roots and equal x + x; a subnormal number becomes zero
  // where those are flushed.
  value_t* is_number = hlo_vmask_and(b, hlo_vcmp_k(b, HLO_VIR_GT, size, 0),
                                     hlo_vcmp_k(b, HLO_VIR_LT, size, INFINITY));
  root = hlo_vmul(b, root, hlo_vselect(b, is_small, hlo_vconst(b, x, f->shrink), one));
  return hlo_vselect(b, is_number, hlo_vwith_sign(b, root, x), hlo_vadd(b, x, x));
}
