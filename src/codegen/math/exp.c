// SPDX-License-Identifier: Apache-2.0
// The exponential and functions derived from it: exp(x) = 2^n exp(r) with n = x / log(2) rounded
// and |r| <= log(2) / 2. One instruction or integer operations apply the power of two.
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

value_t* hlo_vmath_exponential(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  const exp_format_t* f = exp_format_of(x);
  return exp_of_reduced(
      b, reduce_exponent(b, hlo_vat_most(b, hlo_vat_least(b, x, f->lowest), f->highest)));
}

value_t* hlo_vmath_exp2_of_sum(builder_t* b, value_t* x, value_t* low) {
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

value_t* hlo_vmath_exponential_minus_one(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  parts_t parts = exp_parts_of(b, hlo_vat_most(b, x, exp_format_of(x)->highest), 1);
  return twice_half(b, scaled_plus(b, parts, -0.5), x);
}

// exp(-|x|) does not overflow, and the smaller of the values at x and -x is computed without
// cancellation.
value_t* hlo_vmath_logistic(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* small = hlo_vat_least(b, hlo_vneg_abs(b, x), exp_format_of(x)->lowest);
  small = exp_of_reduced(b, reduce_exponent(b, small));
  value_t* is_negative = hlo_vcmp_k(b, HLO_VIR_LT, x, 0);
  value_t* one = hlo_vconst(b, x, 1);
  return hlo_vdiv(b, hlo_vselect(b, is_negative, small, one), hlo_vadd(b, small, one));
}

// Computes (1 - e) / (1 + e) with e = exp(-2 |x|), both halved.
value_t* hlo_vmath_tanh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* size = hlo_vneg_abs(b, x);
  parts_t parts = exp_parts_of(b, hlo_vadd(b, size, size), 1);
  value_t* top = hlo_vabs(b, scaled_plus(b, parts, -0.5));
  return hlo_vwith_sign(b, hlo_vdiv(b, top, scaled_plus(b, parts, 0.5)), x);
}

// q = (exp(|x|) - 1) / 4: its exponential does not overflow before the result does.
value_t* hlo_vmath_chlo_sinh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  parts_t parts =
      exp_parts_of(b, hlo_vat_most(b, hlo_vabs(b, x), exp_format_of(x)->highest + 0.5), 2);
  value_t* q = scaled_plus(b, parts, -0.25);
  value_t* half =
      hlo_vadd(b, q, hlo_vdiv(b, q, hlo_vfma(b, q, hlo_vconst(b, q, 4), hlo_vconst(b, q, 1))));
  return twice_half(b, half, x);
}

value_t* hlo_vmath_chlo_cosh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  parts_t parts =
      exp_parts_of(b, hlo_vat_most(b, hlo_vabs(b, x), exp_format_of(x)->highest + 0.5), 2);
  value_t* q = hlo_vfma(b, parts.power, parts.sum, parts.power);  // exp(|x|) / 4
  value_t* half = hlo_vadd(b, q, hlo_vdiv(b, hlo_vconst(b, q, 0.0625), q));
  return hlo_vadd(b, half, half);
}
