// SPDX-License-Identifier: Apache-2.0
// Exponential, hyperbolic and trigonometric functions, logarithms and powers of complex numbers
// (see complex_math.h).
#include "passes/complex_math.h"

typedef hlo_complex_math_t math_t;
typedef hlo_parts_t parts_t;
typedef hlo_complex_scaled_t scaled_t;
typedef hlo_complex_sum_t sum_t;
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

// ---- logarithms and powers
// log|z| is half the logarithm of a sum of squares. Where that sum is near 1, its rounding error is
// added to its logarithm.

// Adds small terms to x as if with twice the bits.
static sum_t add_small(const math_t* m, value_t* x, int count, value_t* const* terms) {
  value_t *sum = terms[0], *lost = NULL;
  for (int i = 1; i < count; ++i) {
    const sum_t next = hlo_complex_two_sum(m, sum, terms[i]);
    sum = next.high;
    lost = lost ? hlo_radd(m, lost, next.low) : next.low;
  }
  return hlo_complex_two_sum(m, x, lost ? hlo_radd(m, sum, lost) : sum);
}

// Returns half of log(size) + error, for the number before scaling.
static value_t* half_log(const math_t* m, const scaled_t* scaled, value_t* size, value_t* error) {
  value_t* value = hlo_rmul_k(m, hlo_radd(m, hlo_rcall(m, HLO_OP_log, size), error), 0.5);
  if (m->has_spare) return value;
  const double log_scale = HLO_COMPLEX_SCALE_BITS * 0x1.62e42fefa39efp-1;  // log(2)
  return hlo_radd(m, value, hlo_complex_by_scale(m, scaled, log_scale, 0, -log_scale));
}

// Returns infinity for a number with an infinite part.
static value_t* unless_infinite(const math_t* m, parts_t z, value_t* log_size) {
  return hlo_rselect_k(m, hlo_rany_infinite(m, z), INFINITY, log_size);
}

static value_t* angle_of(const math_t* m, value_t* y, value_t* x) {
  value_t* angle = hlo_build_binary(m->insertion_point, HLO_OP_atan2, y, x);
  return hlo_build_convert(m->insertion_point, HLO_DTYPE_F64, angle);
}

static value_t* log_of_size(const math_t* m, parts_t z) {
  const scaled_t scaled = hlo_complex_scale(m, z);
  const sum_t x = hlo_complex_two_square(m, scaled.z.re);
  const sum_t y = hlo_complex_two_square(m, scaled.z.im);
  sum_t size = hlo_complex_two_sum(m, x.high, y.high);
  size = add_small(m, size.high, m->has_spare ? 1 : 3, (value_t*[]){size.low, x.low, y.low});
  value_t* is_near = hlo_rless_k(m, hlo_rabs(m, hlo_radd_k(m, size.high, -1)), 0.5);
  value_t* error = hlo_rselect(m, is_near, size.low, hlo_rconst(m, 0));
  return unless_infinite(m, z, half_log(m, &scaled, size.high, error));
}

// The angle is computed in the operand type: f32 is accurate enough for f32.
parts_t hlo_complex_log(const math_t* m, const parts_t* z) {
  return (parts_t){log_of_size(m, *z), angle_of(m, m->operands->im, m->operands->re)};
}

// |1 + z|^2 is 1 + (2x + x^2 + y^2) near 1, else (1 + x)^2 + y^2.
parts_t hlo_complex_log_plus_one(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, (parts_t){hlo_radd_k(m, z->re, 1), z->im});
  const sum_t x = hlo_complex_two_square(m, z->re), y = hlo_complex_two_square(m, z->im);
  const sum_t squares = hlo_complex_two_sum(m, x.high, y.high);
  sum_t above = hlo_complex_two_sum(m, hlo_radd(m, z->re, z->re), squares.high);
  value_t* terms[] = {above.low, squares.low, x.low, y.low};
  above = add_small(m, above.high, m->has_spare ? 2 : 4, terms);
  value_t* is_near = hlo_rless_k(m, hlo_rabs(m, above.high), 0.5);
  value_t* size = hlo_radd_k(m, above.high, 1);
  value_t* error = hlo_radd(m, hlo_rsub(m, above.high, hlo_radd_k(m, size, -1)), above.low);
  value_t* far = hlo_rdot(m, scaled.z.re, scaled.z.re, scaled.z.im, scaled.z.im);
  value_t* re = half_log(m, &scaled, hlo_rselect(m, is_near, size, far),
                         hlo_rselect(m, is_near, error, hlo_rconst(m, 0)));
  const parts_t narrow = *m->operands;
  value_t* one = narrow.re ? hlo_build_splat(m->insertion_point, narrow.re->type, 1) : NULL;
  value_t* right = hlo_build_binary(m->insertion_point, HLO_OP_add, narrow.re, one);
  return (parts_t){unless_infinite(m, *z, re), angle_of(m, narrow.im, right)};
}

// exp(w log(z)); a real w is left out of the products with its zero imaginary part. A base of zero
// gives 1, 0 or NaN depending on w.
parts_t hlo_complex_power(const math_t* m, const parts_t* z) {
  const parts_t w = z[1], log_z = {log_of_size(m, z[0]), angle_of(m, z[0].im, z[0].re)};
  value_t *is_real = hlo_requal_k(m, w.im, 0), *zero = hlo_rconst(m, 0);
  value_t* re = hlo_rselect(m, is_real, zero, hlo_rmul(m, log_z.im, w.im));
  value_t* im = hlo_rselect(m, is_real, zero, hlo_rmul(m, log_z.re, w.im));
  re = hlo_rsub(m, hlo_rmul(m, log_z.re, w.re), re);
  im = hlo_radd(m, hlo_rmul(m, log_z.im, w.re), im);
  const parts_t power = hlo_complex_exponential(m, &(parts_t){re, im});
  value_t* is_gone = hlo_rless_k(m, re, -2000);  // zero in every direction
  value_t* is_zero = hlo_rand(m, hlo_requal_k(m, z->re, 0), hlo_requal_k(m, z->im, 0));
  value_t* of_zero = hlo_rselect(m, hlo_rabove_k(m, w.re, 0), zero, hlo_rconst(m, NAN));
  value_t* is_one = hlo_rand(m, hlo_requal_k(m, w.re, 0), is_real);
  value_t* const parts[] = {power.re, power.im};
  value_t* results[2];
  for (int i = 0; i < 2; ++i) {
    results[i] = hlo_rselect(m, is_zero, of_zero, hlo_rselect(m, is_gone, zero, parts[i]));
    results[i] = hlo_rselect_k(m, is_one, 1 - i, results[i]);
  }
  return (parts_t){results[0], results[1]};
}
