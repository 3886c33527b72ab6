// SPDX-License-Identifier: Apache-2.0
// The error function, its complement and its inverse; the gamma function.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

// Returns erf(x) for |x| <= 1.
static value_t* erf_of_small(builder_t* b, value_t* x) {
  value_t* square = hlo_vmul(b, x, x);
  if (hlo_vis_f64(x)) return hlo_vmul(b, x, HLO_POLYNOMIAL(b, square, erf_f64));
  return hlo_vfma(b, x, HLO_POLYNOMIAL(b, square, erf_f32), x);
}

// Returns erfc(x) for x >= 1/2: exp(-x^2), with the square in two parts, times a smooth function.
// source: Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc(x)"
static value_t* erfc_of_large(builder_t* b, value_t* x) {
  x = hlo_vat_most(b, x, hlo_vis_f64(x) ? 28 : 10.1);  // beyond, the result is 0
  hlo_vpair_t square = hlo_vmath_product(b, x, x);
  value_t* exponential = hlo_vmath_exponential(b, hlo_vneg(b, square.high), NULL);
  value_t* t = hlo_vdiv(b, hlo_vadd_k(b, x, -3), hlo_vadd_k(b, x, 3));
  value_t* scaled =
      hlo_vis_f64(x) ? HLO_POLYNOMIAL(b, t, erfcx_f64) : HLO_POLYNOMIAL(b, t, erfcx_f32);
  scaled =
      hlo_vdiv(b, hlo_vfnma(b, square.low, scaled, scaled), hlo_vadd_k(b, hlo_vadd(b, x, x), 1));
  return hlo_vmul(b, exponential, scaled);
}

static value_t* wide_erf(builder_t* b, value_t* x) {
  value_t* size = hlo_vabs(b, x);
  value_t* large = hlo_vsub(b, hlo_vconst(b, x, 1), erfc_of_large(b, size));
  value_t* is_small = hlo_vcmp_k(b, HLO_VIR_LT, size, 1);
  return hlo_vselect(b, is_small, erf_of_small(b, x), hlo_vwith_sign(b, large, x));
}

// An odd polynomial near zero; elsewhere 1 - p(|x|)^8, where the power is so small that its
// eightfold relative error does not matter.
static value_t* narrow_erf(builder_t* b, value_t* x) {
  const double start_of_large = 1.1, flat = 4;  // beyond, the result rounds to 1
  value_t* size = hlo_vabs(b, x);
  value_t* power = HLO_POLYNOMIAL(b, hlo_vat_most(b, size, flat), erfc_root_f32);
  for (int i = 0; i < 2; ++i) power = hlo_vmul(b, power, power);
  value_t* large = hlo_vwith_sign(b, hlo_vfnma(b, power, power, hlo_vconst(b, x, 1)), x);
  return hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, size, start_of_large), erf_of_small(b, x), large);
}

value_t* hlo_vmath_chlo_erf(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vis_f64(x) ? wide_erf(b, x) : narrow_erf(b, x);
}

value_t* hlo_vmath_chlo_erfc(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* size = hlo_vabs(b, x);
  value_t* large = erfc_of_large(b, size);
  value_t* reflected = hlo_vsub(b, hlo_vconst(b, x, 2), large);
  large = hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, x, 0), reflected, large);
  value_t* small = hlo_vsub(b, hlo_vconst(b, x, 1), erf_of_small(b, x));
  return hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, size, 0.5), small, large);
}

// ---- inverse ------------------------------------------------------------------------------------

// Returns x times a function of w = -log(1 - x^2), or of sqrt(w) in the tail; for f64 good to
// 2^-28.
// source: Giles, "Approximating the erfinv function", with new fits
static value_t* rough_inverse(builder_t* b, value_t* x) {
  const bool is_wide = hlo_vis_f64(x);
  const double start_of_tail = is_wide ? 6.25 : 5;
  value_t* one = hlo_vconst(b, x, 1);
  value_t* size = hlo_vabs(b, x);
  value_t* w = hlo_vneg(b, hlo_vmath_log_of_normal(b, hlo_vfnma(b, x, x, one)));
  value_t* middle = hlo_vadd_k(b, w, -start_of_tail / 2);
  value_t* end = hlo_vadd_k(b, hlo_vsqrt(b, w), is_wide ? -4 : -3);
  value_t* central = is_wide ? HLO_POLYNOMIAL(b, middle, erf_inv_central)
                             : HLO_POLYNOMIAL(b, middle, erf_inv_central_f32);
  value_t* tail =
      is_wide ? HLO_POLYNOMIAL(b, end, erf_inv_tail) : HLO_POLYNOMIAL(b, end, erf_inv_tail_f32);
  value_t* less_one = hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, w, start_of_tail), central, tail);
  value_t* result = hlo_vwith_sign(b, hlo_vfma(b, size, less_one, size), x);
  value_t* infinite = hlo_vwith_sign(b, hlo_vconst(b, x, INFINITY), x);
  value_t* edge =
      hlo_vselect(b, hlo_vcmp(b, HLO_VIR_EQ, size, one), infinite, hlo_vconst(b, x, NAN));
  return hlo_vselect(b, hlo_vcmp(b, HLO_VIR_LT, size, one), result, edge);
}

// One Halley step on erf(y) = x, or erfc(y) = 1 - x, triples the number of correct bits.
static value_t* exact_inverse(builder_t* b, value_t* x) {
  const double two_over_root_pi = 0x1.20dd750429b6dp+0;
  value_t* size = hlo_vabs(b, x);
  value_t* y = rough_inverse(b, size);
  value_t* of_complement =
      hlo_vsub(b, hlo_vsub(b, hlo_vconst(b, x, 1), size), hlo_vmath_chlo_erfc(b, y, NULL));
  value_t* of_function = hlo_vsub(b, erf_of_small(b, y), size);
  value_t* error = hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, size, 0.5), of_function, of_complement);
  value_t* slope = hlo_vmath_exponential(b, hlo_vneg(b, hlo_vmul(b, y, y)), NULL);
  value_t* newton = hlo_vdiv(b, error, hlo_vmul_k(b, slope, two_over_root_pi));
  value_t* better =
      hlo_vsub(b, y, hlo_vdiv(b, newton, hlo_vfma(b, y, newton, hlo_vconst(b, x, 1))));
  value_t* is_inside = hlo_vcmp_k(b, HLO_VIR_LT, y, INFINITY);
  return hlo_vwith_sign(b, hlo_vselect(b, is_inside, better, y), x);
}

value_t* hlo_vmath_chlo_erf_inv(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vis_f64(x) ? exact_inverse(b, x) : rough_inverse(b, x);
}

// ---- gamma: its logarithm and that one's derivative for f32 arguments. In F64: asymptotic series
// above a bound, recurrence below it, reflection below 1/2. Near zeros of the functions the
// absolute error is far below the last place of an f32 result

static const double pi = 0x1.921fb54442d18p+1;

// Returns sin(pi x) for |x| <= 1/2 by its Taylor series.
static value_t* sine_of_turns(builder_t* b, value_t* x) {
  static const double terms[] = {1.0,
                                 -1.0 / 6,
                                 1.0 / 120,
                                 -1.0 / 5040,
                                 1.0 / 362880,
                                 -1.0 / 39916800,
                                 1.0 / 6227020800,
                                 -1.0 / 1307674368000,
                                 1.0 / 355687428096000};
  value_t* angle = hlo_vmul_k(b, x, pi);
  return hlo_vmul(b, angle, HLO_POLYNOMIAL(b, hlo_vmul(b, angle, angle), terms));
}

// Returns x less the nearest integer: |sin(pi x)| has period 1.
static value_t* turns_of(builder_t* b, value_t* x) {
  return hlo_vsub(b, x, hlo_vround(b, x, HLO_VIR_NEAREST_EVEN));
}

// source: DLMF 5.11.1 (asymptotic series), 5.5.1 (recurrence), 5.5.3 (reflection)
static value_t* wide_lgamma(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  enum { BOUND = 8 };
  static const double series[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                  1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  const double half_log_2_pi = 0x1.d67f1c864beb5p-1;
  value_t* one = hlo_vconst(b, x, 1);
  value_t* is_reflected = hlo_vcmp_k(b, HLO_VIR_LT, x, 0.5);
  value_t* z = hlo_vselect(b, is_reflected, hlo_vsub(b, one, x), x);
  value_t* product = one;
  for (int i = 0; i < BOUND; ++i) {
    value_t* is_below = hlo_vcmp_k(b, HLO_VIR_LT, z, BOUND);
    product = hlo_vselect(b, is_below, hlo_vmul(b, product, z), product);
    z = hlo_vselect(b, is_below, hlo_vadd(b, z, one), z);
  }
  value_t* inverse = hlo_vdiv(b, one, z);
  value_t* rest = hlo_vmul(b, inverse, HLO_POLYNOMIAL(b, hlo_vmul(b, inverse, inverse), series));
  value_t* log = hlo_vmath_log(b, z, NULL);
  value_t* sum = hlo_vfma(b, hlo_vadd_k(b, z, -0.5), hlo_vadd_k(b, log, -1),
                          hlo_vadd_k(b, rest, half_log_2_pi - 0.5));
  value_t* sine = hlo_vabs(b, sine_of_turns(b, turns_of(b, x)));
  value_t* reflected = hlo_vdiv(b, hlo_vmul_k(b, product, pi), sine);
  value_t* other = hlo_vmath_log(b, hlo_vselect(b, is_reflected, reflected, product), NULL);
  value_t* result = hlo_vsub(b, sum, other);
  result = hlo_vselect(b, is_reflected, hlo_vneg(b, result), result);
  return hlo_vreplace_k(b, result, hlo_vcmp_k(b, HLO_VIR_EQ, hlo_vabs(b, x), INFINITY), INFINITY);
}

// The logarithm comes in two parts, so that its product with x - 1/2 loses no bits.
static value_t* stirling(builder_t* b, value_t* x, value_t* log_high, value_t* log_low) {
  const double constant = 0x1.acfe390c97d68p-2;  // (log(2 pi) - 1) / 2
  value_t* inverse = hlo_vdiv(b, hlo_vconst(b, x, 1), x);
  value_t* series = HLO_POLYNOMIAL(b, hlo_vmul(b, inverse, inverse), stirling_f32);
  value_t* sum = hlo_vfma(b, inverse, series, hlo_vconst(b, x, constant));
  value_t* factor = hlo_vadd_k(b, x, -0.5);
  sum = hlo_vfma(b, factor, log_low, sum);
  return hlo_vfma(b, factor, hlo_vadd_k(b, log_high, -1), sum);
}

// lgamma(x) of F32: below 3, (x - 1) (x - 2) P(x), with recurrence below 1; above, Stirling's
// series;
// for negative numbers, where it has zeros, in f64.
value_t* hlo_vmath_chlo_lgamma(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* zero = hlo_vconst(b, x, -0.0);  // subtracted, it makes -0 positive
  value_t* infinity = hlo_vconst(b, x, INFINITY);
  value_t* log_low;
  value_t* log_high = hlo_vmath_narrow_log(b, x, &log_low);
  value_t* is_below_one = hlo_vcmp_k(b, HLO_VIR_LT, x, 1);
  value_t *less_one = hlo_vadd_k(b, x, -1), *less_two = hlo_vadd_k(b, x, -2);
  value_t* u = hlo_vselect(b, is_below_one, x, less_one);
  value_t* v = hlo_vselect(b, is_below_one, less_one, less_two);
  value_t* small = hlo_vmul(b, hlo_vmul(b, u, v), HLO_POLYNOMIAL(b, v, lgamma_f32));
  small = hlo_vsub(b, small, hlo_vselect(b, is_below_one, log_low, zero));
  small = hlo_vsub(b, small, hlo_vselect(b, is_below_one, log_high, zero));
  value_t* large = stirling(b, x, log_high, log_low);
  value_t* result = hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_LT, x, 3), small, large);
  value_t* is_edge =
      hlo_vmask_or(b, hlo_vcmp_k(b, HLO_VIR_EQ, x, 0), hlo_vcmp(b, HLO_VIR_EQ, x, infinity));
  result = hlo_vselect(b, is_edge, infinity, result);
  return hlo_vmath_except_where(b, hlo_vcmp_k(b, HLO_VIR_LT, x, 0), x, result, wide_lgamma);
}

// source: DLMF 5.11.2 (asymptotic series), 5.5.2 (recurrence), 5.5.4 (reflection)
value_t* hlo_vmath_chlo_digamma(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  enum { BOUND = 10 };
  static const double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760, 1.0 / 12};
  value_t* one = hlo_vconst(b, x, 1);
  value_t* is_reflected = hlo_vcmp_k(b, HLO_VIR_LE, x, 0);
  value_t* z = hlo_vselect(b, is_reflected, hlo_vsub(b, one, x), x);
  value_t *top = hlo_vconst(b, x, 0), *bottom = one;  // 1 / z + 1 / (z + 1) + ...
  for (int i = 0; i < BOUND; ++i) {
    value_t* is_below = hlo_vcmp_k(b, HLO_VIR_LT, z, BOUND);
    top = hlo_vselect(b, is_below, hlo_vfma(b, top, z, bottom), top);
    bottom = hlo_vselect(b, is_below, hlo_vmul(b, bottom, z), bottom);
    z = hlo_vselect(b, is_below, hlo_vadd(b, z, one), z);
  }
  value_t* inverse = hlo_vdiv(b, one, z);
  value_t* square = hlo_vmul(b, inverse, inverse);
  value_t* rest =
      hlo_vfma(b, square, HLO_POLYNOMIAL(b, square, series), hlo_vmul_k(b, inverse, 0.5));
  value_t* result = hlo_vsub(b, hlo_vmath_log(b, z, NULL), rest);
  result = hlo_vsub(b, result, hlo_vdiv(b, top, bottom));
  value_t* turns = turns_of(b, x);
  value_t* cosine = sine_of_turns(b, hlo_vsub(b, hlo_vconst(b, x, 0.5), hlo_vabs(b, turns)));
  value_t* cotangent = hlo_vdiv(b, hlo_vmul_k(b, cosine, pi), sine_of_turns(b, turns));
  value_t* reflected = hlo_vsub(b, result, cotangent);
  reflected = hlo_vreplace_k(b, reflected, hlo_vcmp_k(b, HLO_VIR_EQ, turns, 0), NAN);
  return hlo_vselect(b, is_reflected, reflected, result);
}
