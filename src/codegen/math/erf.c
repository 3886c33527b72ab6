// SPDX-License-Identifier: Apache-2.0
// The error function and its complement.
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

value_t* hlo_vmath_chlo_erf(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return hlo_vis_f64(x) ? wide_erf(b, x) : narrow_erf(b, x);
}

value_t* hlo_vmath_chlo_erfc(builder_t* b, value_t* x, value_t* y) {
  (void)y;
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

value_t* hlo_vmath_chlo_erf_inv(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return hlo_vis_f64(x) ? exact_inverse(b, x) : rough_inverse(b, x);
}
