// SPDX-License-Identifier: Apache-2.0
// The logarithm of the gamma function and its derivative, of F64 values that are f32 numbers: the
// asymptotic series beyond a bound, recurrence up to it, reflection below 1/2. Near their zeros the
// error is absolute, far below the last place of an f32 result.
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
value_t* hlo_vmath_chlo_lgamma(builder_t* b, value_t* x, value_t* y) {
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
