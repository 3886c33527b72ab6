// SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms, powers, and functions derived from them. exp(x) = 2^n exp(r) with n =
// x / log(2) rounded and |r| <= log(2) / 2; one instruction or integer operations apply the power
// of two.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

/// Constants of f32 and f64. exp is 0 below `lowest` and infinite above `highest`; exp(x) - 1 is -1
/// below `lowest_minus_one`.
typedef struct exp_format {
  int mantissa_bits;
  double rounder;          // adding it leaves n + bias - 1 in the low bits of the sum
  double smallest_normal;  // the least such sum that is an exponent
  double log2_high, log2_low;
  double lowest, highest, lowest_minus_one;
  const double* coefficients;  // of 2 exp(r)
  size_t count;
} exp_format_t;

static const exp_format_t formats[2] = {
    {23, 0x1.8p23 + 126, 0x1.8p23 + 1, 0x1.62e43p-1, -0x1.05c61p-29, -104, 89, -18, exp_f32,
     HLO_COUNT_OF(exp_f32)},
    {52, 0x1.8p52 + 1022, 0x1.8p52 + 1, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, -746, 710, -38,
     exp_f64, HLO_COUNT_OF(exp_f64)},
};

enum { MAX_TERMS = HLO_COUNT_OF(exp_f64) };

static const exp_format_t* exp_format_of(const value_t* x) {
  return &formats[hlo_vis_f64(x)];
}

/// x = n log(2) + rest; `shifted` holds n + bias - 1 in its low bits.
typedef struct reduced {
  value_t *shifted, *n, *rest;
} reduced_t;

// x - n log2_high is exact.
static reduced_t reduce_exponent(builder_t* b, value_t* x) {
  const exp_format_t* f = exp_format_of(x);
  value_t* rounder = hlo_vconst(b, x, f->rounder);
  value_t* shifted = hlo_vfma(b, x, hlo_vconst(b, x, 0x1.71547652b82fep+0), rounder);
  value_t* n = hlo_vsub(b, shifted, rounder);
  value_t* rest = hlo_vfnma(b, n, hlo_vconst(b, x, f->log2_high), x);
  return (reduced_t){shifted, n, hlo_vfnma(b, n, hlo_vconst(b, x, f->log2_low), rest)};
}

// Returns 2^(n - 1) for a normal exponent.
static value_t* half_power(builder_t* b, value_t* shifted) {
  return hlo_vof_bits(b,
                      hlo_vshl_k(b, hlo_vbits(b, shifted), exp_format_of(shifted)->mantissa_bits));
}

// Returns factor 2^(n - 1). If the result is subnormal, the part of n below the smallest normal
// exponent scales the factor first, and the product is rounded once more.
static value_t* scaled_by_power(builder_t* b, value_t* factor, value_t* shifted) {
  const exp_format_t* f = exp_format_of(factor);
  value_t* normal = hlo_vat_least(b, shifted, f->smallest_normal);
  value_t* lacking = hlo_visub(b, hlo_vbits(b, shifted), hlo_vbits(b, normal));
  factor =
      hlo_vof_bits(b, hlo_viadd(b, hlo_vbits(b, factor), hlo_vshl_k(b, lacking, f->mantissa_bits)));
  return hlo_vmul(b, factor, half_power(b, normal));
}

// Returns c(rest) 2^(n - 1), rounded once more if subnormal.
static value_t* scaled_polynomial(builder_t* b, reduced_t r, const double* c, size_t count) {
  if (!b->module->has_scale) {
    return scaled_by_power(b, hlo_vmath_polynomial(b, r.rest, c, count), r.shifted);
  }
  double halves[MAX_TERMS];
  for (size_t i = 0; i < count; ++i) halves[i] = c[i] / 2;
  return hlo_vir_binary(b, HLO_VIR_scale, hlo_vmath_polynomial(b, r.rest, halves, count), r.n);
}

static value_t* exp_of_reduced(builder_t* b, reduced_t r) {
  const exp_format_t* f = exp_format_of(r.rest);
  return scaled_polynomial(b, r, f->coefficients, f->count);
}

value_t* hlo_vmath_exponential(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  const exp_format_t* f = exp_format_of(x);
  return exp_of_reduced(
      b, reduce_exponent(b, hlo_vat_most(b, hlo_vat_least(b, x, f->lowest), f->highest)));
}

// Returns 2^(x + low) for small `low` and for x between the logarithms of 0 and infinity.
static value_t* exp2_of_sum(builder_t* b, value_t* x, value_t* low) {
  value_t* rounder = hlo_vconst(b, x, exp_format_of(x)->rounder);
  value_t* shifted = hlo_vadd(b, x, rounder);
  value_t* n = hlo_vsub(b, shifted, rounder);
  reduced_t r = {shifted, n, hlo_vadd(b, hlo_vsub(b, x, n), low)};
  return hlo_vis_f64(x) ? scaled_polynomial(b, r, exp2_f64, HLO_COUNT_OF(exp2_f64))
                        : scaled_polynomial(b, r, exp2_f32, HLO_COUNT_OF(exp2_f32));
}

/// exp(x) = 2^scale power (1 + sum)
typedef struct parts {
  value_t *power, *sum;
} parts_t;

// Requires 1 <= scale <= 2, x >= lowest_minus_one and n + scale below the largest exponent.
static parts_t exp_parts_of(builder_t* b, value_t* x, int scale) {
  const exp_format_t* f = exp_format_of(x);
  double terms[MAX_TERMS];
  for (size_t i = 2; i < f->count; ++i) terms[i - 2] = f->coefficients[i] / 2;
  reduced_t r = reduce_exponent(b, hlo_vat_least(b, x, f->lowest_minus_one));
  value_t* sum = hlo_vmath_polynomial(b, r.rest, terms, f->count - 2);
  sum = hlo_vfma(b, hlo_vmul(b, r.rest, r.rest), sum, r.rest);
  value_t* shifted = r.shifted;
  if (scale == 2) shifted = hlo_vof_bits(b, hlo_viadd_k(b, hlo_vbits(b, shifted), -1));
  return (parts_t){half_power(b, shifted), sum};
}

// Returns 2^-scale exp(x) + added, rounded once where the sum of powers of two is exact.
static value_t* scaled_plus(builder_t* b, parts_t parts, double added) {
  return hlo_vfma(b, parts.power, parts.sum, hlo_vadd_k(b, parts.power, added));
}

// Doubles half of an odd function that is x for tiny x. The half may be subnormal although x is
// not, and would be lost where subnormal numbers are flushed: x is the result there.
static value_t* twice_half(builder_t* b, value_t* half, value_t* x) {
  value_t* result = hlo_vwith_sign(b, hlo_vadd(b, half, half), x);
  if (b->module->subnormals == HLO_SUBNORMALS_KEEP) return result;
  return hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, hlo_vabs(b, x), 0x1p-100), hlo_vflushed(b, x),
                     result);
}

value_t* hlo_vmath_exponential_minus_one(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  parts_t parts = exp_parts_of(b, hlo_vat_most(b, x, exp_format_of(x)->highest), 1);
  return twice_half(b, scaled_plus(b, parts, -0.5), x);
}

// exp(-|x|) does not overflow, and the smaller of the values at x and -x is computed without
// cancellation.
value_t* hlo_vmath_logistic(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* small = hlo_vat_least(b, hlo_vneg_abs(b, x), exp_format_of(x)->lowest);
  small = exp_of_reduced(b, reduce_exponent(b, small));
  value_t* is_negative = hlo_vcmp_k(b, HLO_VIR_LT, x, 0);
  value_t* one = hlo_vconst(b, x, 1);
  return hlo_vdiv(b, hlo_vselect(b, is_negative, small, one), hlo_vadd(b, small, one));
}

// Computes (1 - e) / (1 + e) with e = exp(-2 |x|), both halved.
value_t* hlo_vmath_tanh(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* size = hlo_vneg_abs(b, x);
  parts_t parts = exp_parts_of(b, hlo_vadd(b, size, size), 1);
  value_t* top = hlo_vabs(b, scaled_plus(b, parts, -0.5));
  return hlo_vwith_sign(b, hlo_vdiv(b, top, scaled_plus(b, parts, 0.5)), x);
}

// q = (exp(|x|) - 1) / 4: its exponential does not overflow before the result does.
value_t* hlo_vmath_chlo_sinh(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  parts_t parts =
      exp_parts_of(b, hlo_vat_most(b, hlo_vabs(b, x), exp_format_of(x)->highest + 0.5), 2);
  value_t* q = scaled_plus(b, parts, -0.25);
  value_t* half =
      hlo_vadd(b, q, hlo_vdiv(b, q, hlo_vfma(b, q, hlo_vconst(b, q, 4), hlo_vconst(b, q, 1))));
  return twice_half(b, half, x);
}

value_t* hlo_vmath_chlo_cosh(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  parts_t parts =
      exp_parts_of(b, hlo_vat_most(b, hlo_vabs(b, x), exp_format_of(x)->highest + 0.5), 2);
  value_t* q = hlo_vfma(b, parts.power, parts.sum, parts.power);  // exp(|x|) / 4
  value_t* half = hlo_vadd(b, q, hlo_vdiv(b, hlo_vconst(b, q, 0.0625), q));
  return hlo_vadd(b, half, half);
}

// ---- logarithms: x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2))

// x = 2^exponent (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)), for positive finite x.
typedef struct log_parts {
  value_t *exponent, *fraction;
} log_parts_t;

/// Constants of f32 and f64.
typedef struct log_format {
  int mantissa_bits, bias;
  int64_t root_half;  // bits of sqrt(1/2)
  double smallest_normal;
  double log2;
} log_format_t;

static const log_format_t log_formats[2] = {
    {23, 127, 0x3f3504f3, 0x1p-126, 0x1.62e43p-1},
    {52, 1023, 0x3fe6a09e667f3bcd, 0x1p-1022, 0x1.62e42fefa39efp-1},
};

static const log_format_t* log_format_of(const value_t* x) {
  return &log_formats[hlo_vis_f64(x)];
}

/// The exponent of a positive normal number: n as a float, and the bits of 2^n less those of 1.
typedef struct exponent {
  value_t *n, *bits;
} exponent_t;

static exponent_t exponent_of(builder_t* b, value_t* x) {
  const log_format_t* f = log_format_of(x);
  value_t* above = hlo_viadd_k(b, hlo_vbits(b, x), -f->root_half);
  value_t* n = hlo_vashr_k(b, above, f->mantissa_bits);
  value_t* bits = hlo_vshl_k(b, n, f->mantissa_bits);
  if (!hlo_vis_f64(x)) return (exponent_t){hlo_vir_convert(b, HLO_VIR_stof, HLO_VIR_F32, n), bits};
  // Small integers become floats as the low bits of 1.5 2^52.
  value_t* rounder = hlo_vconst(b, x, 0x1.8p52);
  return (exponent_t){hlo_vsub(b, hlo_vof_bits(b, hlo_viadd(b, n, hlo_vbits(b, rounder))), rounder),
                      bits};
}

// Returns log(1 + f).
static value_t* log_of_fraction(builder_t* b, value_t* f) {
  value_t* square = hlo_vmul(b, f, f);
  if (!hlo_vis_f64(f)) {
    value_t* terms = hlo_vfma(b, f, HLO_POLYNOMIAL(b, f, log_f32), hlo_vconst(b, f, -0.5));
    return hlo_vfma(b, square, terms, f);
  }
  // s = f / (2 + f); log(1 + f) = 2 s + s^3 Q(s^2), where 2 s = f - f^2 / 2 + s f^2 / 2
  value_t* half_square = hlo_vmul_k(b, square, 0.5);
  value_t* s = hlo_vdiv(b, f, hlo_vadd_k(b, f, 2));
  value_t* s2 = hlo_vmul(b, s, s);
  value_t* rest = hlo_vfma(b, s2, HLO_POLYNOMIAL(b, s2, log_f64), half_square);
  return hlo_vsub(b, f, hlo_vfnma(b, s, rest, half_square));
}

// Returns n log(2) + log(1 + f).
static value_t* log_of_parts(builder_t* b, value_t* n, value_t* f) {
  return hlo_vfma(b, n, hlo_vconst(b, f, log_format_of(f)->log2), log_of_fraction(b, f));
}

// Replaces `value`, the logarithm of x, where x is not a positive finite number.
static value_t* log_edges(builder_t* b, value_t* x, value_t* value) {
  value_t* zero = hlo_vconst(b, x, 0);
  value_t* at_zero = hlo_vselect(b, hlo_vcmp(b, HLO_VIR_EQ, x, zero), hlo_vconst(b, x, -INFINITY),
                                 hlo_vconst(b, x, NAN));
  value = hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, x, INFINITY), value, x);
  return hlo_vselect(b, hlo_vcmp(b, HLO_VIR_GT, x, zero), value, at_zero);
}

static log_parts_t normal_parts(builder_t* b, value_t* x) {
  exponent_t e = exponent_of(b, x);
  value_t* mantissa = hlo_vof_bits(b, hlo_visub(b, hlo_vbits(b, x), e.bits));
  return (log_parts_t){e.n, hlo_vadd_k(b, mantissa, -1)};
}

static log_parts_t log_parts(builder_t* b, value_t* x) {
  const log_format_t* f = log_format_of(x);
  const double scale = ldexp(1, f->mantissa_bits);
  value_t* is_subnormal = hlo_vcmp_k(b, HLO_VIR_LT, x, f->smallest_normal);
  log_parts_t parts = normal_parts(b, hlo_vselect(b, is_subnormal, hlo_vmul_k(b, x, scale), x));
  value_t* scaled_back = hlo_vadd_k(b, parts.exponent, -f->mantissa_bits);
  parts.exponent = hlo_vselect(b, is_subnormal, scaled_back, parts.exponent);
  return parts;
}

value_t* hlo_vmath_narrow_log(builder_t* b, value_t* x, value_t** low) {
  const double log2_high = 0x1.62e4p-1, log2_low = 0x1.7f7d1cp-20;
  log_parts_t parts = log_parts(b, x);
  value_t* rest = hlo_vconst(b, x, log2_low);
  *low = hlo_vfma(b, parts.exponent, rest, log_of_fraction(b, parts.fraction));
  return hlo_vmul_k(b, parts.exponent, log2_high);
}

value_t* hlo_vmath_log_of_normal(builder_t* b, value_t* x) {
  log_parts_t parts = normal_parts(b, x);
  return log_of_parts(b, parts.exponent, parts.fraction);
}

value_t* hlo_vmath_log(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  log_parts_t parts = log_parts(b, x);
  return log_edges(b, x, log_of_parts(b, parts.exponent, parts.fraction));
}

// The rounding error of 1 + x is added to f.
value_t* hlo_vmath_log_plus_one(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* one = hlo_vconst(b, x, 1);
  value_t* sum = hlo_vadd(b, x, one);
  value_t* lost = hlo_vsub(b, x, hlo_vsub(b, sum, one));
  exponent_t e = exponent_of(b, sum);
  value_t* mantissa = hlo_vof_bits(b, hlo_visub(b, hlo_vbits(b, sum), e.bits));
  // 2^-n; 0 where n is so large that the rounding error does not matter
  value_t* inverse = hlo_visub(b, hlo_vbits(b, one), e.bits);
  inverse = hlo_vir_binary(b, HLO_VIR_smax, inverse, hlo_viconst(b, inverse, 0));
  value_t* f = hlo_vfma(b, lost, hlo_vof_bits(b, inverse), hlo_vsub(b, mantissa, one));
  return hlo_vwith_sign(b, log_edges(b, sum, log_of_parts(b, e.n, f)), x);
}

// ---- powers of floats: x^y = 2^(y log2|x|), with the logarithm in two parts

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

static const power_format_t power_formats[2] = {
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
  const power_format_t* format = &power_formats[hlo_vis_f64(f)];
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
  log_parts_t parts = log_parts(b, x);
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
  const power_format_t* f = &power_formats[hlo_vis_f64(x)];
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
  return apply_special_cases(b, x, y, exp2_of_sum(b, exponent.high, exponent.low));
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
value_t* hlo_vmath_cbrt(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
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
