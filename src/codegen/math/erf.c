// SPDX-License-Identifier: Apache-2.0
// The error function and its complement.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

// erf(x) for |x| <= 1
static value_t* erf_of_small(builder_t* b, value_t* x) {
  value_t* square = vmul(b, x, x);
  if (is_f64(x)) return vmul(b, x, POLYNOMIAL(b, square, erf_f64));
  return vfma(b, x, POLYNOMIAL(b, square, erf_f32), x);
}

// erfc(x) for x >= 1/2: exp(-x^2) with the square in two parts, times a smooth function.
// source: Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc(x)"
static value_t* erfc_of_large(builder_t* b, value_t* x) {
  x = vat_most(b, x, is_f64(x) ? 28 : 10.1);  // beyond, the result is 0
  pair_t square = hlo_vmath_product(b, x, x);
  value_t* exponential = hlo_vmath_exponential(b, vneg(b, square.high), NULL);
  value_t* t = vdiv(b, vadd_k(b, x, -3), vadd_k(b, x, 3));
  value_t* scaled = is_f64(x) ? POLYNOMIAL(b, t, erfcx_f64) : POLYNOMIAL(b, t, erfcx_f32);
  scaled = vdiv(b, vfnma(b, square.low, scaled, scaled), vadd_k(b, vadd(b, x, x), 1));
  return vmul(b, exponential, scaled);
}

static value_t* wide(builder_t* b, value_t* x) {
  value_t* size = vabs(b, x);
  value_t* large = vsub(b, vconst(b, x, 1), erfc_of_large(b, size));
  value_t* is_small = vcmp_k(b, HLO_VIR_LT, size, 1);
  return vselect(b, is_small, erf_of_small(b, x), vwith_sign(b, large, x));
}

// Near zero an odd polynomial; else 1 - p(|x|)^8, whose subtrahend is small enough for the
// eightfold error not to matter.
static value_t* narrow(builder_t* b, value_t* x) {
  const double start_of_large = 1.1, flat = 4;  // beyond, the result rounds to 1
  value_t* size = vabs(b, x);
  value_t* power = POLYNOMIAL(b, vat_most(b, size, flat), erfc_root_f32);
  for (int i = 0; i < 2; ++i) power = vmul(b, power, power);
  value_t* large = vwith_sign(b, vfnma(b, power, power, vconst(b, x, 1)), x);
  return vselect(b, vcmp_k(b, HLO_VIR_LT, size, start_of_large), erf_of_small(b, x), large);
}

value_t* hlo_vmath_chlo_erf(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return is_f64(x) ? wide(b, x) : narrow(b, x);
}

value_t* hlo_vmath_chlo_erfc(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* size = vabs(b, x);
  value_t* large = erfc_of_large(b, size);
  value_t* reflected = vsub(b, vconst(b, x, 2), large);
  large = vselect(b, vcmp_k(b, HLO_VIR_LT, x, 0), reflected, large);
  value_t* small = vsub(b, vconst(b, x, 1), erf_of_small(b, x));
  return vselect(b, vcmp_k(b, HLO_VIR_LT, size, 0.5), small, large);
}

// ---- inverse ------------------------------------------------------------------------------------

// x times a function of w = -log(1 - x^2), in the tail of sqrt(w): for f64 good to 2^-28.
// source: Giles, "Approximating the erfinv function", with fits of our own
static value_t* rough_inverse(builder_t* b, value_t* x) {
  const bool is_wide = is_f64(x);
  const double start_of_tail = is_wide ? 6.25 : 5;
  value_t* one = vconst(b, x, 1);
  value_t* size = vabs(b, x);
  value_t* w = vneg(b, hlo_vmath_log_of_normal(b, vfnma(b, x, x, one)));
  value_t* middle = vadd_k(b, w, -start_of_tail / 2);
  value_t* end = vadd_k(b, vsqrt(b, w), is_wide ? -4 : -3);
  value_t* central =
      is_wide ? POLYNOMIAL(b, middle, erf_inv_central) : POLYNOMIAL(b, middle, erf_inv_central_f32);
  value_t* tail = is_wide ? POLYNOMIAL(b, end, erf_inv_tail) : POLYNOMIAL(b, end, erf_inv_tail_f32);
  value_t* less_one = vselect(b, vcmp_k(b, HLO_VIR_LT, w, start_of_tail), central, tail);
  value_t* result = vwith_sign(b, vfma(b, size, less_one, size), x);
  value_t* infinite = vwith_sign(b, vconst(b, x, INFINITY), x);
  value_t* edge = vselect(b, vcmp(b, HLO_VIR_EQ, size, one), infinite, vconst(b, x, NAN));
  return vselect(b, vcmp(b, HLO_VIR_LT, size, one), result, edge);
}

// One Halley step on erf(y) = x, or erfc(y) = 1 - x, which triples the digits.
static value_t* exact_inverse(builder_t* b, value_t* x) {
  const double two_over_root_pi = 0x1.20dd750429b6dp+0;
  value_t* size = vabs(b, x);
  value_t* y = rough_inverse(b, size);
  value_t* of_complement = vsub(b, vsub(b, vconst(b, x, 1), size), hlo_vmath_chlo_erfc(b, y, NULL));
  value_t* of_function = vsub(b, erf_of_small(b, y), size);
  value_t* error = vselect(b, vcmp_k(b, HLO_VIR_LT, size, 0.5), of_function, of_complement);
  value_t* slope = hlo_vmath_exponential(b, vneg(b, vmul(b, y, y)), NULL);
  value_t* newton = vdiv(b, error, vmul_k(b, slope, two_over_root_pi));
  value_t* better = vsub(b, y, vdiv(b, newton, vfma(b, y, newton, vconst(b, x, 1))));
  value_t* is_inside = vcmp_k(b, HLO_VIR_LT, y, INFINITY);
  return vwith_sign(b, vselect(b, is_inside, better, y), x);
}

value_t* hlo_vmath_chlo_erf_inv(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return is_f64(x) ? exact_inverse(b, x) : rough_inverse(b, x);
}
