// SPDX-License-Identifier: Apache-2.0
// The logarithm of the gamma function and its derivative for f32 arguments. In F64: the asymptotic
// series beyond a bound, recurrence up to it, reflection below 1/2; near their zeros the error is
// absolute, far below the last place of an f32 result.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

static const double pi = 0x1.921fb54442d18p+1;

// sin(pi x) for |x| <= 1/2, by its Taylor series
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
  value_t* angle = vmul_k(b, x, pi);
  return vmul(b, angle, POLYNOMIAL(b, vmul(b, angle, angle), terms));
}

// x less the nearest integer: the period of |sin(pi x)|
static value_t* turns_of(builder_t* b, value_t* x) {
  return vsub(b, x, vround(b, x, HLO_VIR_NEAREST_EVEN));
}

// source: DLMF 5.11.1 (asymptotic series), 5.5.1 (recurrence), 5.5.3 (reflection)
static value_t* wide_lgamma(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  enum { BOUND = 8 };
  static const double series[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                  1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  const double half_log_2_pi = 0x1.d67f1c864beb5p-1;
  value_t* one = vconst(b, x, 1);
  value_t* is_reflected = vcmp_k(b, HLO_VIR_LT, x, 0.5);
  value_t* z = vselect(b, is_reflected, vsub(b, one, x), x);
  value_t* product = one;
  for (int i = 0; i < BOUND; ++i) {
    value_t* is_below = vcmp_k(b, HLO_VIR_LT, z, BOUND);
    product = vselect(b, is_below, vmul(b, product, z), product);
    z = vselect(b, is_below, vadd(b, z, one), z);
  }
  value_t* inverse = vdiv(b, one, z);
  value_t* rest = vmul(b, inverse, POLYNOMIAL(b, vmul(b, inverse, inverse), series));
  value_t* log = hlo_vmath_log(b, z, NULL);
  value_t* sum =
      vfma(b, vadd_k(b, z, -0.5), vadd_k(b, log, -1), vadd_k(b, rest, half_log_2_pi - 0.5));
  value_t* sine = vabs(b, sine_of_turns(b, turns_of(b, x)));
  value_t* reflected = vdiv(b, vmul_k(b, product, pi), sine);
  value_t* other = hlo_vmath_log(b, vselect(b, is_reflected, reflected, product), NULL);
  value_t* result = vsub(b, sum, other);
  result = vselect(b, is_reflected, vneg(b, result), result);
  return vreplace_k(b, result, vcmp_k(b, HLO_VIR_EQ, vabs(b, x), INFINITY), INFINITY);
}

// The logarithm is in two parts, of which the high one is exact: nothing is lost where it is
// multiplied.
static value_t* stirling(builder_t* b, value_t* x, value_t* log_high, value_t* log_low) {
  const double constant = 0x1.acfe390c97d68p-2;  // (log(2 pi) - 1) / 2
  value_t* inverse = vdiv(b, vconst(b, x, 1), x);
  value_t* series = POLYNOMIAL(b, vmul(b, inverse, inverse), stirling_f32);
  value_t* sum = vfma(b, inverse, series, vconst(b, x, constant));
  value_t* factor = vadd_k(b, x, -0.5);
  sum = vfma(b, factor, log_low, sum);
  return vfma(b, factor, vadd_k(b, log_high, -1), sum);
}

// lgamma(x) of F32: up to 3 (x - 1) (x - 2) P(x), below 1 by recurrence; beyond, by Stirling's
// series; of negative numbers, where it has zeros, in f64.
value_t* hlo_vmath_chlo_lgamma(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* zero = vconst(b, x, -0.0);  // subtracted, it makes -0 positive
  value_t* infinity = vconst(b, x, INFINITY);
  value_t* log_low;
  value_t* log_high = hlo_vmath_narrow_log(b, x, &log_low);
  value_t* is_below_one = vcmp_k(b, HLO_VIR_LT, x, 1);
  value_t *less_one = vadd_k(b, x, -1), *less_two = vadd_k(b, x, -2);
  value_t* u = vselect(b, is_below_one, x, less_one);
  value_t* v = vselect(b, is_below_one, less_one, less_two);
  value_t* small = vmul(b, vmul(b, u, v), POLYNOMIAL(b, v, lgamma_f32));
  small = vsub(b, small, vselect(b, is_below_one, log_low, zero));
  small = vsub(b, small, vselect(b, is_below_one, log_high, zero));
  value_t* large = stirling(b, x, log_high, log_low);
  value_t* result = vselect(b, vcmp_k(b, HLO_VIR_LT, x, 3), small, large);
  value_t* is_edge = vmask_or(b, vcmp_k(b, HLO_VIR_EQ, x, 0), vcmp(b, HLO_VIR_EQ, x, infinity));
  result = vselect(b, is_edge, infinity, result);
  return hlo_vmath_except_where(b, vcmp_k(b, HLO_VIR_LT, x, 0), x, result, wide_lgamma);
}

// source: DLMF 5.11.2 (asymptotic series), 5.5.2 (recurrence), 5.5.4 (reflection)
value_t* hlo_vmath_chlo_digamma(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  enum { BOUND = 10 };
  static const double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760, 1.0 / 12};
  value_t* one = vconst(b, x, 1);
  value_t* is_reflected = vcmp_k(b, HLO_VIR_LE, x, 0);
  value_t* z = vselect(b, is_reflected, vsub(b, one, x), x);
  value_t *top = vconst(b, x, 0), *bottom = one;  // 1 / z + 1 / (z + 1) + ...
  for (int i = 0; i < BOUND; ++i) {
    value_t* is_below = vcmp_k(b, HLO_VIR_LT, z, BOUND);
    top = vselect(b, is_below, vfma(b, top, z, bottom), top);
    bottom = vselect(b, is_below, vmul(b, bottom, z), bottom);
    z = vselect(b, is_below, vadd(b, z, one), z);
  }
  value_t* inverse = vdiv(b, one, z);
  value_t* square = vmul(b, inverse, inverse);
  value_t* rest = vfma(b, square, POLYNOMIAL(b, square, series), vmul_k(b, inverse, 0.5));
  value_t* result = vsub(b, hlo_vmath_log(b, z, NULL), rest);
  result = vsub(b, result, vdiv(b, top, bottom));
  value_t* turns = turns_of(b, x);
  value_t* cosine = sine_of_turns(b, vsub(b, vconst(b, x, 0.5), vabs(b, turns)));
  value_t* cotangent = vdiv(b, vmul_k(b, cosine, pi), sine_of_turns(b, turns));
  value_t* reflected = vsub(b, result, cotangent);
  reflected = vreplace_k(b, reflected, vcmp_k(b, HLO_VIR_EQ, turns, 0), NAN);
  return vselect(b, is_reflected, reflected, result);
}
