// SPDX-License-Identifier: Apache-2.0
// Inverse trigonometric and hyperbolic functions of complex numbers (see complex_math.h).
// source: Kahan, "Branch cuts for complex elementary functions": with the roots of 1 - z and 1 + z,
// whose terms never cancel
#include "passes/complex_math.h"

typedef hlo_complex_math_t math_t;
typedef hlo_parts_t parts_t;
typedef hlo_value_t value_t;

static const double HALF_PI = 0x1.921fb54442d18p+0, LOG_2 = 0x1.62e42fefa39efp-1;

static value_t* atan2_of(const math_t* m, value_t* y, value_t* x) {
  return hlo_build_binary(m->insertion_point, HLO_OP_atan2, y, x);
}

static parts_t exchange(parts_t z) {
  return (parts_t){z.im, z.re};
}

/// The square roots of 1 - z and 1 + z.
typedef struct roots {
  parts_t less, more;
} roots_t;

static roots_t roots_of(const math_t* m, parts_t z) {
  const parts_t less = {hlo_radd_k(m, hlo_rneg(m, z.re), 1), hlo_rneg(m, z.im)};
  const parts_t more = {hlo_radd_k(m, z.re, 1), z.im};
  return (roots_t){hlo_complex_sqrt(m, &less), hlo_complex_sqrt(m, &more)};
}

// Returns the real part of sqrt(1 - z) sqrt(1 + z).
static value_t* cosine_of(const math_t* m, const roots_t* r) {
  return hlo_rsub(m, hlo_rmul(m, r->less.re, r->more.re), hlo_rmul(m, r->less.im, r->more.im));
}

// Returns the imaginary part of asin z, asinh(2 s) with 2 s as large as z, which may overflow.
static value_t* height_of(const math_t* m, const roots_t* r, parts_t z) {
  static const double HUGE_SINE = 0x1p1000;
  value_t* half = hlo_rsub(m, hlo_rmul(m, hlo_rmul_k(m, r->less.re, 0.5), r->more.im),
                           hlo_rmul(m, hlo_rmul_k(m, r->less.im, 0.5), r->more.re));
  value_t* is_huge = hlo_rabove_k(m, hlo_rabs(m, half), HUGE_SINE);
  value_t* sine = hlo_rmul(m, half, hlo_rselect_k(m, is_huge, 1, hlo_rconst(m, 2)));
  value_t* height = hlo_rcall(m, HLO_OP_chlo_asinh, sine);
  value_t* more = hlo_rselect_k(m, is_huge, LOG_2, hlo_rconst(m, 0));
  height = hlo_radd(m, height, hlo_rcopy_sign(m, more, half));
  value_t* infinity = hlo_rcopy_sign(m, hlo_rconst(m, INFINITY), z.im);
  return hlo_rselect(m, hlo_rany_infinite(m, z), infinity, height);
}

// The cosine of a huge number may overflow; its quarter and that of the number make the same angle.
parts_t hlo_complex_asin(const math_t* m, const parts_t* z) {
  static const double HUGE_PART = 0x1p1000;
  const roots_t r = roots_of(m, *z);
  value_t* is_huge = hlo_ror(m, hlo_rabove_k(m, hlo_rabs(m, z->re), HUGE_PART),
                             hlo_rabove_k(m, hlo_rabs(m, z->im), HUGE_PART));
  value_t* scale = hlo_rselect_k(m, is_huge, 0.25, hlo_rconst(m, 1));
  roots_t scaled = r;
  scaled.less = (parts_t){hlo_rmul(m, r.less.re, scale), hlo_rmul(m, r.less.im, scale)};
  value_t* cosine = cosine_of(m, &scaled);
  value_t* far = hlo_rselect(m, hlo_rany_infinite(m, *z), hlo_rabs(m, z->im), cosine);
  return (parts_t){atan2_of(m, hlo_rmul(m, z->re, scale), far), height_of(m, &r, *z)};
}

parts_t hlo_complex_acos(const math_t* m, const parts_t* z) {
  const roots_t r = roots_of(m, *z);
  value_t* half = atan2_of(m, r.less.re, r.more.re);
  value_t* far = atan2_of(m, hlo_rabs(m, z->im), z->re);
  return (parts_t){hlo_rselect(m, hlo_rany_infinite(m, *z), far, hlo_radd(m, half, half)),
                   hlo_rneg(m, height_of(m, &r, *z))};
}

// asinh(z) = i asin(-i z)
parts_t hlo_complex_asinh(const math_t* m, const parts_t* z) {
  const parts_t rotated = exchange(*z);
  return exchange(hlo_complex_asin(m, &rotated));
}

// acosh(z) is i acos(z) or -i acos(z), whichever has no negative real part.
parts_t hlo_complex_acosh(const math_t* m, const parts_t* z) {
  const parts_t turn = hlo_complex_acos(m, z);
  return (parts_t){hlo_rabs(m, turn.im), hlo_rcopy_sign(m, turn.re, z->im)};
}

// Returns x / |z|^2 for huge z.
static value_t* inverse_of_huge(const math_t* m, value_t* size, parts_t z) {
  value_t *u = hlo_rdiv(m, z.re, size), *v = hlo_rdiv(m, z.im, size);
  return hlo_rdiv(m, hlo_rdiv(m, u, hlo_rdot(m, u, u, v, v)), size);
}

// The parts are log1p(4 x / ((1 - x)^2 + y^2)) / 4 and atan2(2 y, (1 - x) (1 + x) - y^2) / 2, for
// the magnitude of x. Squares of huge parts, and of tiny ones beside the poles, are out of range.
parts_t hlo_complex_atanh(const math_t* m, const parts_t* z) {
  static const double HUGE_SIZE = 0x1p100, TINY_SIZE = 0x1p-100;
  value_t *x = hlo_rabs(m, z->re), *y = hlo_rabs(m, z->im);
  value_t* size = hlo_build_binary(m->insertion_point, HLO_OP_maximum, x, y);
  value_t* is_huge = hlo_rabove_k(m, size, HUGE_SIZE);
  value_t* less = hlo_radd_k(m, hlo_rneg(m, x), 1);
  value_t* distance = hlo_rdot(m, less, less, y, y);
  value_t* ratio = hlo_rdiv(m, hlo_rmul_k(m, x, 4), distance);
  value_t* re = hlo_rmul_k(m, hlo_rcall(m, HLO_OP_log_plus_one, ratio), 0.25);
  value_t* pole = hlo_rmul_k(m, hlo_radd_k(m, hlo_rcall(m, HLO_OP_log, y), -LOG_2), -0.5);
  value_t* is_pole = hlo_rand(m, hlo_requal_k(m, less, 0), hlo_rless_k(m, y, TINY_SIZE));
  re = hlo_rselect(m, is_pole, pole, re);
  re = hlo_rselect(m, is_huge, inverse_of_huge(m, size, (parts_t){x, y}), re);
  value_t* is_zero = hlo_ror(m, hlo_rany_infinite(m, *z), hlo_requal_k(m, x, 0));
  re = hlo_rcopy_sign(m, hlo_rselect_k(m, is_zero, 0, re), z->re);
  value_t* across = hlo_rsub(m, hlo_rmul(m, less, hlo_radd_k(m, x, 1)), hlo_rmul(m, y, y));
  value_t* im = hlo_rmul_k(m, atan2_of(m, hlo_radd(m, z->im, z->im), across), 0.5);
  value_t* is_number =
      hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_EQ, z->im, z->im);
  value_t* side = hlo_rcopy_sign(m, hlo_rconst(m, HALF_PI), z->im);
  is_huge = hlo_rand(m, hlo_ror(m, is_huge, hlo_rany_infinite(m, *z)), is_number);
  return (parts_t){re, hlo_rselect(m, is_huge, side, im)};
}

// atan(z) = i atanh(-i z)
parts_t hlo_complex_atan(const math_t* m, const parts_t* z) {
  const parts_t rotated = exchange(*z);
  return exchange(hlo_complex_atanh(m, &rotated));
}

// See CHLO: the magnitudes of the real part of sqrt(1 - z^2) and of the imaginary part of asin z.
parts_t hlo_complex_asin_acos_kernel(const math_t* m, const parts_t* z) {
  const roots_t r = roots_of(m, *z);
  return (parts_t){hlo_rabs(m, cosine_of(m, &r)), hlo_rabs(m, height_of(m, &r, *z))};
}
