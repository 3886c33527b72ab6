// SPDX-License-Identifier: Apache-2.0
// The exponential and its relatives: exp(x) = 2^n exp(r) with n = x / log(2) rounded and
// |r| <= log(2) / 2, the power of two applied in one instruction or made by integer operations.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

/// What differs between f32 and f64. exp is 0 below `lowest`, infinite above `highest`; exp(x) - 1
/// is -1 below `lowest_minus_one`.
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
     COUNT(exp_f32)},
    {52, 0x1.8p52 + 1022, 0x1.8p52 + 1, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, -746, 710, -38,
     exp_f64, COUNT(exp_f64)},
};

enum { MAX_TERMS = COUNT(exp_f64) };

static const exp_format_t* format_of(const value_t* x) {
  return &formats[is_f64(x)];
}

/// x = n log(2) + rest; `shifted` holds n + bias - 1 in its low bits.
typedef struct reduced {
  value_t *shifted, *n, *rest;
} reduced_t;

// n log2_high differs from x by a number that needs no rounding.
static reduced_t reduce(builder_t* b, value_t* x) {
  const exp_format_t* f = format_of(x);
  value_t* rounder = vconst(b, x, f->rounder);
  value_t* shifted = vfma(b, x, vconst(b, x, 0x1.71547652b82fep+0), rounder);
  value_t* n = vsub(b, shifted, rounder);
  value_t* rest = vfnma(b, n, vconst(b, x, f->log2_high), x);
  return (reduced_t){shifted, n, vfnma(b, n, vconst(b, x, f->log2_low), rest)};
}

// 2^(n - 1) for a normal exponent.
static value_t* half_power(builder_t* b, value_t* shifted) {
  return vof_bits(b, vshl_k(b, vbits(b, shifted), format_of(shifted)->mantissa_bits));
}

// factor 2^(n - 1), rounded once more where it is subnormal: what n lacks of a normal exponent goes
// to the factor first.
static value_t* scaled_by_power(builder_t* b, value_t* factor, value_t* shifted) {
  const exp_format_t* f = format_of(factor);
  value_t* normal = vat_least(b, shifted, f->smallest_normal);
  value_t* lacking = visub(b, vbits(b, shifted), vbits(b, normal));
  factor = vof_bits(b, viadd(b, vbits(b, factor), vshl_k(b, lacking, f->mantissa_bits)));
  return vmul(b, factor, half_power(b, normal));
}

// c(rest) 2^(n - 1), rounded once more where it is subnormal.
static value_t* scaled_polynomial(builder_t* b, reduced_t r, const double* c, size_t count) {
  if (!b->module->has_scale) {
    return scaled_by_power(b, hlo_vmath_polynomial(b, r.rest, c, count), r.shifted);
  }
  double halves[MAX_TERMS];
  for (size_t i = 0; i < count; ++i) halves[i] = c[i] / 2;
  return hlo_vir_binary(b, HLO_VIR_scale, hlo_vmath_polynomial(b, r.rest, halves, count), r.n);
}

static value_t* exp_of_reduced(builder_t* b, reduced_t r) {
  const exp_format_t* f = format_of(r.rest);
  return scaled_polynomial(b, r, f->coefficients, f->count);
}

value_t* hlo_vmath_exponential(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  const exp_format_t* f = format_of(x);
  return exp_of_reduced(b, reduce(b, vat_most(b, vat_least(b, x, f->lowest), f->highest)));
}

value_t* hlo_vmath_exp2_of_sum(builder_t* b, value_t* x, value_t* low) {
  value_t* rounder = vconst(b, x, format_of(x)->rounder);
  value_t* shifted = vadd(b, x, rounder);
  value_t* n = vsub(b, shifted, rounder);
  reduced_t r = {shifted, n, vadd(b, vsub(b, x, n), low)};
  return is_f64(x) ? scaled_polynomial(b, r, exp2_f64, COUNT(exp2_f64))
                   : scaled_polynomial(b, r, exp2_f32, COUNT(exp2_f32));
}

/// exp(x) = 2^scale power (1 + sum)
typedef struct parts {
  value_t *power, *sum;
} parts_t;

// For 1 <= scale <= 2, x at least lowest_minus_one and n + scale below the largest exponent.
static parts_t parts_of(builder_t* b, value_t* x, int scale) {
  const exp_format_t* f = format_of(x);
  double terms[MAX_TERMS];
  for (size_t i = 2; i < f->count; ++i) terms[i - 2] = f->coefficients[i] / 2;
  reduced_t r = reduce(b, vat_least(b, x, f->lowest_minus_one));
  value_t* sum = hlo_vmath_polynomial(b, r.rest, terms, f->count - 2);
  sum = vfma(b, vmul(b, r.rest, r.rest), sum, r.rest);
  value_t* shifted = r.shifted;
  if (scale == 2) shifted = vof_bits(b, viadd_k(b, vbits(b, shifted), -1));
  return (parts_t){half_power(b, shifted), sum};
}

// 2^-scale exp(x) + added, rounded once where the sum of powers of two is exact.
static value_t* scaled_plus(builder_t* b, parts_t parts, double added) {
  return vfma(b, parts.power, parts.sum, vadd_k(b, parts.power, added));
}

// Twice half of a function that is x where x is tiny, and has its sign. There a half may be
// subnormal though x is not, which is lost where subnormal numbers are flushed.
static value_t* twice_half(builder_t* b, value_t* half, value_t* x) {
  value_t* result = vwith_sign(b, vadd(b, half, half), x);
  if (b->module->subnormals == HLO_SUBNORMALS_KEEP) return result;
  return vselect(b, vcmp_k(b, HLO_VIR_LT, vabs(b, x), 0x1p-100), x, result);
}

value_t* hlo_vmath_exponential_minus_one(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  parts_t parts = parts_of(b, vat_most(b, x, format_of(x)->highest), 1);
  return twice_half(b, scaled_plus(b, parts, -0.5), x);
}

// exp(-|x|) is never large; the smaller of the function's values at x and -x is small with it.
value_t* hlo_vmath_logistic(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* small = vat_least(b, vneg_abs(b, x), format_of(x)->lowest);
  small = exp_of_reduced(b, reduce(b, small));
  value_t* is_negative = vcmp_k(b, HLO_VIR_LT, x, 0);
  value_t* one = vconst(b, x, 1);
  return vdiv(b, vselect(b, is_negative, small, one), vadd(b, small, one));
}

// (1 - e) / (1 + e) with e = exp(-2 |x|), halved
value_t* hlo_vmath_tanh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* size = vneg_abs(b, x);
  parts_t parts = parts_of(b, vadd(b, size, size), 1);
  value_t* top = vabs(b, scaled_plus(b, parts, -0.5));
  return vwith_sign(b, vdiv(b, top, scaled_plus(b, parts, 0.5)), x);
}

// q = (exp(|x|) - 1) / 4, whose exponential never overflows before the result does.
value_t* hlo_vmath_chlo_sinh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  parts_t parts = parts_of(b, vat_most(b, vabs(b, x), format_of(x)->highest + 0.5), 2);
  value_t* q = scaled_plus(b, parts, -0.25);
  value_t* half = vadd(b, q, vdiv(b, q, vfma(b, q, vconst(b, q, 4), vconst(b, q, 1))));
  return twice_half(b, half, x);
}

value_t* hlo_vmath_chlo_cosh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  parts_t parts = parts_of(b, vat_most(b, vabs(b, x), format_of(x)->highest + 0.5), 2);
  value_t* q = vfma(b, parts.power, parts.sum, parts.power);  // exp(|x|) / 4
  value_t* half = vadd(b, q, vdiv(b, vconst(b, q, 0.0625), q));
  return vadd(b, half, half);
}
