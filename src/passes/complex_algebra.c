// SPDX-License-Identifier: Apache-2.0
// Quotients, moduli and roots of complex numbers (see complex_math.h).
#include "passes/complex_math.h"

typedef hlo_complex_math_t math_t;
typedef hlo_parts_t parts_t;
typedef hlo_complex_scaled_t scaled_t;
typedef hlo_value_t value_t;

// For a number with an infinite part: 1 or -1 for an infinite part, 0 for a finite one.
static parts_t infinite_direction(const math_t* m, value_t* is_infinite, parts_t z) {
  parts_t to = {NULL, NULL};
  value_t** const results[] = {&to.re, &to.im};
  value_t* const parts[] = {z.re, z.im};
  for (int i = 0; i < 2; ++i) {
    value_t* sign = hlo_rselect(m, hlo_ris_infinite(m, parts[i]),
                                hlo_rcall(m, HLO_OP_sign, parts[i]), hlo_rconst(m, 0));
    *results[i] = hlo_rselect(m, is_infinite, sign, parts[i]);
  }
  return to;
}

// Computes x conj(y) / |y|^2 with the cases of C99 (G.5.1): an infinite operand is replaced with
// its direction and the result is multiplied or divided by infinity; division by zero gives
// infinity.
parts_t hlo_complex_divide(const math_t* m, const parts_t* z) {
  value_t *x_infinite = hlo_rany_infinite(m, z[0]), *y_infinite = hlo_rany_infinite(m, z[1]);
  const scaled_t top = hlo_complex_scale(m, infinite_direction(m, x_infinite, z[0]));
  const scaled_t bottom = hlo_complex_scale(m, infinite_direction(m, y_infinite, z[1]));
  const parts_t x = top.z, y = bottom.z;
  value_t* size = hlo_rdot(m, y.re, y.re, y.im, y.im);
  value_t* inverse = hlo_rdiv(m, hlo_rconst(m, 1), size);
  value_t* factor =
      hlo_rselect_k(m, x_infinite, INFINITY, hlo_rselect_k(m, y_infinite, 0, hlo_rconst(m, 1)));
  factor = hlo_rselect_k(m, hlo_rand(m, x_infinite, y_infinite), NAN, factor);
  parts_t quotient = {
      hlo_rmul(m, hlo_rmul(m, hlo_rdot(m, x.re, y.re, x.im, y.im), factor), inverse),
      hlo_rmul(m,
               hlo_rmul(m, hlo_rsub(m, hlo_rmul(m, x.im, y.re), hlo_rmul(m, x.re, y.im)), factor),
               inverse),
  };
  if (!m->has_spare) {  // the scales may cancel: halve both, twice
    const int half = HLO_COMPLEX_SCALE_BITS / 2;
    value_t* scale = hlo_complex_unscale(m, &bottom, -half,
                                         hlo_complex_unscale(m, &top, half, hlo_rconst(m, 1)));
    quotient.re = hlo_rmul(m, hlo_rmul(m, quotient.re, scale), scale);
    quotient.im = hlo_rmul(m, hlo_rmul(m, quotient.im, scale), scale);
  }
  value_t* is_by_zero = hlo_requal_k(m, size, 0);
  value_t* pole = hlo_rcopy_sign(m, hlo_rconst(m, INFINITY), z[1].re);
  return (parts_t){hlo_rselect(m, is_by_zero, hlo_rmul(m, pole, z[0].re), quotient.re),
                   hlo_rselect(m, is_by_zero, hlo_rmul(m, pole, z[0].im), quotient.im)};
}

parts_t hlo_complex_abs(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, *z);
  value_t* size =
      hlo_complex_unscale(m, &scaled, HLO_COMPLEX_SCALE_BITS, hlo_complex_modulus(m, scaled.z));
  return (parts_t){hlo_rselect_k(m, hlo_rany_infinite(m, *z), INFINITY, size), NULL};
}

parts_t hlo_complex_sign(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, *z);
  value_t* size = hlo_complex_modulus(m, scaled.z);
  value_t* is_zero = hlo_requal_k(m, size, 0);
  return (parts_t){hlo_rselect_k(m, is_zero, 0, hlo_rdiv(m, scaled.z.re, size)),
                   hlo_rselect_k(m, is_zero, 0, hlo_rdiv(m, scaled.z.im, size))};
}

/// The magnitudes of the parts of a square root, and the modulus of the scaled number.
typedef struct root {
  scaled_t scaled;
  value_t *re, *im, *modulus;
} root_t;

// The larger part is sqrt((|z| + |x|) / 2); the smaller one is |y| / 2 divided by the larger one.
static root_t root_of(const math_t* m, parts_t z) {
  root_t root = {.scaled = hlo_complex_scale(m, z)};
  value_t *x = hlo_rabs(m, root.scaled.z.re), *y = hlo_rabs(m, z.im);
  root.modulus =
      hlo_rselect_k(m, hlo_ris_infinite(m, x), INFINITY, hlo_complex_modulus(m, root.scaled.z));
  value_t* larger = hlo_rcall(m, HLO_OP_sqrt, hlo_rmul_k(m, hlo_radd(m, root.modulus, x), 0.5));
  larger = hlo_complex_unscale(m, &root.scaled, HLO_COMPLEX_SCALE_BITS / 2, larger);
  value_t* other = hlo_rdiv(m, y, hlo_radd(m, larger, larger));
  other = hlo_rselect_k(m, hlo_requal_k(m, larger, 0), 0, other);
  value_t* is_left = hlo_rless_k(m, z.re, 0);
  root.re = hlo_rselect(m, is_left, other, larger);
  root.im = hlo_rselect(m, is_left, larger, other);
  return root;
}

parts_t hlo_complex_sqrt(const math_t* m, const parts_t* z) {
  const root_t root = root_of(m, *z);
  value_t* is_infinite = hlo_ris_infinite(m, z->im);
  return (parts_t){hlo_rselect_k(m, is_infinite, INFINITY, root.re),
                   hlo_rcopy_sign(m, hlo_rselect_k(m, is_infinite, INFINITY, root.im), z->im)};
}

// Computes conj(sqrt(z)) / |z|. Zero gives (Inf, NaN), the value of 1 / sqrt(0).
parts_t hlo_complex_rsqrt(const math_t* m, const parts_t* z) {
  const root_t root = root_of(m, *z);
  value_t* is_zero = hlo_requal_k(m, root.modulus, 0);
  value_t* is_infinite = hlo_rany_infinite(m, *z);
  const int bits = -HLO_COMPLEX_SCALE_BITS;
  value_t* re = hlo_complex_unscale(m, &root.scaled, bits, hlo_rdiv(m, root.re, root.modulus));
  value_t* im = hlo_complex_unscale(m, &root.scaled, bits, hlo_rdiv(m, root.im, root.modulus));
  re = hlo_rselect_k(m, is_infinite, 0, hlo_rselect_k(m, is_zero, INFINITY, re));
  im = hlo_rselect_k(m, is_infinite, 0, im);
  return (parts_t){re, hlo_rneg(m, hlo_rcopy_sign(m, im, z->im))};
}

parts_t hlo_complex_cbrt(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, *z);
  value_t* size = hlo_rcall(m, HLO_OP_cbrt, hlo_complex_modulus(m, scaled.z));
  size = hlo_complex_unscale(m, &scaled, HLO_COMPLEX_SCALE_BITS / 3, size);
  size = hlo_rselect_k(m, hlo_rany_infinite(m, *z), INFINITY, size);
  value_t* angle = hlo_build_binary(m->insertion_point, HLO_OP_atan2, z->im, z->re);
  angle = hlo_rdiv(m, angle, hlo_rconst(m, 3));
  return (parts_t){hlo_rmul(m, size, hlo_rcall(m, HLO_OP_cosine, angle)),
                   hlo_rmul(m, size, hlo_rcall(m, HLO_OP_sine, angle))};
}
