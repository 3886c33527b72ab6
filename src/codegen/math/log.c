// SPDX-License-Identifier: Apache-2.0
// The logarithm and functions derived from it: x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

/// Constants of f32 and f64.
typedef struct log_format {
  int mantissa_bits, bias;
  int64_t root_half;  // bits of sqrt(1/2)
  double smallest_normal;
  double log2;
} log_format_t;

static const log_format_t formats[2] = {
    {23, 127, 0x3f3504f3, 0x1p-126, 0x1.62e43p-1},
    {52, 1023, 0x3fe6a09e667f3bcd, 0x1p-1022, 0x1.62e42fefa39efp-1},
};

static const log_format_t* log_format_of(const value_t* x) {
  return &formats[hlo_vis_f64(x)];
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

static hlo_log_parts_t normal_parts(builder_t* b, value_t* x) {
  exponent_t e = exponent_of(b, x);
  value_t* mantissa = hlo_vof_bits(b, hlo_visub(b, hlo_vbits(b, x), e.bits));
  return (hlo_log_parts_t){e.n, hlo_vadd_k(b, mantissa, -1)};
}

hlo_log_parts_t hlo_vmath_log_parts(builder_t* b, value_t* x) {
  const log_format_t* f = log_format_of(x);
  const double scale = ldexp(1, f->mantissa_bits);
  value_t* is_subnormal = hlo_vcmp_k(b, HLO_VIR_LT, x, f->smallest_normal);
  hlo_log_parts_t parts = normal_parts(b, hlo_vselect(b, is_subnormal, hlo_vmul_k(b, x, scale), x));
  value_t* scaled_back = hlo_vadd_k(b, parts.exponent, -f->mantissa_bits);
  parts.exponent = hlo_vselect(b, is_subnormal, scaled_back, parts.exponent);
  return parts;
}

value_t* hlo_vmath_narrow_log(builder_t* b, value_t* x, value_t** low) {
  const double log2_high = 0x1.62e4p-1, log2_low = 0x1.7f7d1cp-20;
  hlo_log_parts_t parts = hlo_vmath_log_parts(b, x);
  value_t* rest = hlo_vconst(b, x, log2_low);
  *low = hlo_vfma(b, parts.exponent, rest, log_of_fraction(b, parts.fraction));
  return hlo_vmul_k(b, parts.exponent, log2_high);
}

value_t* hlo_vmath_log_of_normal(builder_t* b, value_t* x) {
  hlo_log_parts_t parts = normal_parts(b, x);
  return log_of_parts(b, parts.exponent, parts.fraction);
}

value_t* hlo_vmath_log(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  hlo_log_parts_t parts = hlo_vmath_log_parts(b, x);
  return log_edges(b, x, log_of_parts(b, parts.exponent, parts.fraction));
}

// The rounding error of 1 + x is added to f.
value_t* hlo_vmath_log_plus_one(builder_t* b, value_t* x, value_t* y) {
  (void)y;
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
