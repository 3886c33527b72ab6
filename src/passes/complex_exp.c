// SPDX-License-Identifier: Apache-2.0
// Exponential, hyperbolic and trigonometric functions of complex numbers (see complex_math.h).
#include "passes/complex_math.h"

typedef hlo_complex_math_t math_t;
typedef hlo_parts_t parts_t;
typedef hlo_value_t value_t;

/// An exponent with the powers of two that `factors` holds removed: e^x overflows before its
/// products with sines and cosines do. Operands from c64 need no factors.
typedef struct grown {
  value_t *x, *factors[2];
} grown_t;

static grown_t grown(const math_t* m, value_t* x) {
  if (m->has_spare) return (grown_t){x, {NULL, NULL}};
  static const double step = 372, bounds[2] = {700, 1072};
  grown_t result = {.x = x};
  for (int i = 0; i < 2; ++i) {
    value_t* is_large = hlo_rabove_k(m, x, bounds[i]);
    result.factors[i] = hlo_rselect_k(m, is_large, exp(step), hlo_rconst(m, 1));
    result.x = hlo_rsub(m, result.x, hlo_rselect_k(m, is_large, step, hlo_rconst(m, 0)));
  }
  return result;
}

// Multiplies a sine or cosine by a function of grown.x.
static value_t* scale_wave(const math_t* m, const grown_t* grown, value_t* wave, value_t* size) {
  for (int i = 0; i < 2; ++i) {
    if (grown->factors[i]) wave = hlo_rmul(m, wave, grown->factors[i]);
  }
  return hlo_rmul(m, wave, size);
}

// Returns `zero` where x is 0 and `product` elsewhere, so that zero times infinity is zero.
static value_t* unless_zero(const math_t* m, value_t* x, value_t* zero, value_t* product) {
  return hlo_rselect(m, hlo_requal_k(m, x, 0), zero, product);
}

static value_t* sine(const math_t* m, value_t* x) {
  return hlo_rcall(m, HLO_OP_sine, x);
}
static value_t* cosine(const math_t* m, value_t* x) {
  return hlo_rcall(m, HLO_OP_cosine, x);
}
static value_t* exponential(const math_t* m, value_t* x) {
  return hlo_rcall(m, HLO_OP_exponential, x);
}
static value_t* exponential_minus_one(const math_t* m, value_t* x) {
  return hlo_rcall(m, HLO_OP_exponential_minus_one, x);
}

// A non-finite y gives NaN; the parts may be infinite.
parts_t hlo_complex_exponential(const math_t* m, const parts_t* z) {
  const grown_t x = grown(m, z->re);
  value_t* size = exponential(m, x.x);
  return (parts_t){scale_wave(m, &x, cosine(m, z->im), size),
                   unless_zero(m, z->im, z->im, scale_wave(m, &x, sine(m, z->im), size))};
}

// expm1(x) cos(y) - 2 sin(y/2)^2 cancels less than e^x cos(y) - 1.
parts_t hlo_complex_exponential_minus_one(const math_t* m, const parts_t* z) {
  const grown_t x = grown(m, z->re);
  value_t* half = sine(m, hlo_rmul_k(m, z->im, 0.5));
  value_t* re = scale_wave(m, &x, cosine(m, z->im), exponential_minus_one(m, x.x));
  value_t* im = scale_wave(m, &x, sine(m, z->im), exponential(m, x.x));
  return (parts_t){hlo_rsub(m, re, hlo_rmul(m, hlo_radd(m, half, half), half)),
                   unless_zero(m, z->im, z->im, im)};
}

// ---- hyperbolic sines and cosines

/// The hyperbolic functions of a number's magnitude.
typedef struct hyperbolic {
  grown_t of;
  value_t *sine, *cosine;
} hyperbolic_t;

// Computes them from M = e^x - 1: (M + M / (M + 1)) / 2 and (M + 1 + 1 / (M + 1)) / 2.
static hyperbolic_t hyperbolic(const math_t* m, value_t* x) {
  hyperbolic_t result = {.of = grown(m, hlo_rabs(m, x))};
  value_t* above = exponential_minus_one(m, result.of.x);
  value_t* power = hlo_radd_k(m, above, 1);
  value_t* finite =
      // avoids Inf / Inf
      hlo_build_binary(m->insertion_point, HLO_OP_minimum, power, hlo_rconst(m, 0x1p1000));
  value_t* inverse = hlo_rdiv(m, hlo_rconst(m, 1), finite);
  result.sine = hlo_rmul_k(m, hlo_radd(m, above, hlo_rmul(m, above, inverse)), 0.5);
  result.cosine = hlo_rmul_k(m, hlo_radd(m, power, inverse), 0.5);
  return result;
}

// Returns sinh(a) cos(b) and cosh(a) sin(b).
static parts_t hyperbolic_sine(const math_t* m, value_t* a, value_t* b) {
  const hyperbolic_t h = hyperbolic(m, a);
  return (parts_t){scale_wave(m, &h.of, cosine(m, b), hlo_rcopy_sign(m, h.sine, a)),
                   unless_zero(m, b, b, scale_wave(m, &h.of, sine(m, b), h.cosine))};
}

// Returns cosh(a) cos(b) and sinh(a) sin(b).
static parts_t hyperbolic_cosine(const math_t* m, value_t* a, value_t* b) {
  const hyperbolic_t h = hyperbolic(m, a);
  value_t* sines = scale_wave(m, &h.of, sine(m, b), hlo_rcopy_sign(m, h.sine, a));
  value_t* zero = hlo_rmul(m, hlo_rcall(m, HLO_OP_sign, a), b);
  return (parts_t){scale_wave(m, &h.of, cosine(m, b), h.cosine), unless_zero(m, b, zero, sines)};
}

parts_t hlo_complex_sinh(const math_t* m, const parts_t* z) {
  return hyperbolic_sine(m, z->re, z->im);
}

parts_t hlo_complex_cosh(const math_t* m, const parts_t* z) {
  return hyperbolic_cosine(m, z->re, z->im);
}

// sin(z) = -i sinh(i z)
parts_t hlo_complex_sine(const math_t* m, const parts_t* z) {
  const parts_t rotated = hyperbolic_sine(m, z->im, z->re);
  return (parts_t){rotated.im, rotated.re};
}

// cos(z) = cosh(i z) = cosh(-i z)
parts_t hlo_complex_cosine(const math_t* m, const parts_t* z) {
  const parts_t rotated = hyperbolic_cosine(m, z->im, z->re);
  return (parts_t){rotated.re, hlo_rneg(m, rotated.im)};
}

// ---- quotients of exponentials: with E = e^-|a| and M = 1 - E every term is positive, even near
// poles

// tanh(a + i b) with E = e^(-2 |a|): M (1 + E) and 4 E sin(b) cos(b), both divided by M^2 + 4 E
// cos(b)^2.
static parts_t hyperbolic_tangent(const math_t* m, value_t* a, value_t* b) {
  value_t* size = hlo_rabs(m, a);
  value_t* twice = hlo_rmul_k(m, size, -2);
  value_t *small = exponential(m, twice), *rest = hlo_rneg(m, exponential_minus_one(m, twice));
  value_t* side = cosine(m, b);
  value_t* product = hlo_rmul(m, hlo_rmul_k(m, small, 4), side);
  value_t* inverse = hlo_rdiv(m, hlo_rconst(m, 1), hlo_rdot(m, rest, rest, product, side));
  value_t* re = hlo_rmul(m, hlo_rmul(m, rest, hlo_radd_k(m, small, 1)), inverse);
  value_t* im = hlo_rmul(m, hlo_rmul(m, product, sine(m, b)), inverse);
  value_t* is_infinite = hlo_requal_k(m, size, INFINITY);
  value_t* zero = hlo_rcopy_sign(m, hlo_rconst(m, 0), b);
  value_t* is_open = hlo_requal_k(m, hlo_rsub(m, b, b), 0);  // infinite or NaN: the limit has a
                                                             // direction only
  return (parts_t){
      hlo_rcopy_sign(m, hlo_rselect_k(m, is_infinite, 1, re), a),
      hlo_rselect(m, hlo_rselect(m, is_open, hlo_requal_k(m, b, 0), is_infinite), zero, im)};
}

parts_t hlo_complex_tanh(const math_t* m, const parts_t* z) {
  return hyperbolic_tangent(m, z->re, z->im);
}

// tan(z) = -i tanh(i z)
parts_t hlo_complex_tan(const math_t* m, const parts_t* z) {
  const parts_t rotated = hyperbolic_tangent(m, z->im, z->re);
  return (parts_t){rotated.im, rotated.re};
}

// 1 / (1 + e^-z) with E = e^-|x|, c = cos(y/2), s = sin(y/2): the real part is M + 2 E c^2, or E (2
// c^2 - M) for negative x, the imaginary part is 2 E c s; both are divided by M^2 + 4 E c^2.
parts_t hlo_complex_logistic(const math_t* m, const parts_t* z) {
  value_t* size = hlo_rneg(m, hlo_rabs(m, z->re));
  value_t* half = hlo_rselect_k(m, hlo_ris_infinite(m, z->re), 0, hlo_rmul_k(m, z->im, 0.5));
  value_t *small = exponential(m, size), *rest = hlo_rneg(m, exponential_minus_one(m, size));
  value_t* side = cosine(m, half);
  value_t* product = hlo_rmul(m, hlo_radd(m, side, side), small);
  value_t* inverse =
      hlo_rdiv(m, hlo_rconst(m, 1), hlo_rdot(m, rest, rest, hlo_radd(m, product, product), side));
  value_t* square = hlo_rmul(m, side, side);
  value_t* left = hlo_rmul(m, small, hlo_rsub(m, hlo_radd(m, square, square), rest));
  value_t* right = hlo_radd(m, rest, hlo_rmul(m, product, side));
  value_t* re = hlo_rmul(m, hlo_rselect(m, hlo_rless_k(m, z->re, 0), left, right), inverse);
  value_t* im = hlo_rmul(m, hlo_rmul(m, product, sine(m, half)), inverse);
  return (parts_t){re, im};
}
