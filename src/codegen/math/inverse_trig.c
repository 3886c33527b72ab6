// SPDX-License-Identifier: Apache-2.0
// Inverse trigonometric functions, all from the angle of a point in the first quadrant; inverse
// hyperbolic functions, of F64, from log(1 + x).
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

/// pi / 2 in two parts.
typedef struct quarter {
  double high, low;
} quarter_t;

static const quarter_t quarters[2] = {{0x1.921fb6p+0, -0x1.777a5cp-25},
                                      {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}};

static const quarter_t* quarter_of(const value_t* x) {
  return &quarters[is_f64(x)];
}

/// The smaller and the larger coordinate of a point.
typedef struct legs {
  value_t *low, *high;
} legs_t;

// atan(low / high) of F32.
static value_t* narrow_angle(builder_t* b, legs_t legs) {
  value_t* t = vdiv(b, legs.low, legs.high);
  value_t* square = vmul(b, t, t);
  return vfma(b, vmul(b, t, square), POLYNOMIAL(b, square, atan_f32), t);
}

/// start + rest, where start is 0 or pi / 4.
typedef struct wide_angle {
  value_t *start, *start_low, *rest;
} wide_angle_t;

// atan(low / high) of F64; the quotient is brought below tan(pi / 8) by subtracting pi / 4.
static wide_angle_t wide_angle(builder_t* b, legs_t legs) {
  value_t *low = legs.low, *high = legs.high, *zero = vconst(b, low, 0);
  value_t* is_middle = vcmp(b, HLO_VIR_GT, low, vmul_k(b, high, 0x1.a827999fcef32p-2));
  value_t* top = vselect(b, is_middle, vsub(b, low, high), low);
  value_t* bottom = vselect(b, is_middle, vadd(b, low, high), high);
  value_t* t = vdiv(b, top, bottom);
  value_t* square = vmul(b, t, t);
  const quarter_t* quarter = quarter_of(low);
  return (wide_angle_t){
      .start = vselect(b, is_middle, vconst(b, low, quarter->high / 2), zero),
      .start_low = vselect(b, is_middle, vconst(b, low, quarter->low / 2), zero),
      .rest = vfma(b, vmul(b, t, square), POLYNOMIAL(b, square, atan_f64), t),
  };
}

// The angle of the point (x, y), in [0, pi / 2]; neither coordinate is negative, one is not 0 and
// one is finite. Beyond the diagonal it is pi / 2 less the angle of the point's mirror image.
static value_t* angle_of(builder_t* b, value_t* y, value_t* x) {
  value_t* is_steep = vcmp(b, HLO_VIR_GT, y, x);
  legs_t legs = {vselect(b, is_steep, x, y), vselect(b, is_steep, y, x)};
  value_t* high = vconst(b, x, quarter_of(x)->high);
  value_t* low = vconst(b, x, quarter_of(x)->low);
  if (!is_f64(x)) {
    value_t* angle = narrow_angle(b, legs);
    return vselect(b, is_steep, vadd(b, high, vsub(b, low, angle)), angle);
  }
  wide_angle_t a = wide_angle(b, legs);
  value_t* start = vselect(b, is_steep, vsub(b, high, a.start), a.start);
  value_t* start_low = vselect(b, is_steep, vsub(b, low, a.start_low), a.start_low);
  value_t* rest = vselect(b, is_steep, vneg(b, a.rest), a.rest);
  return vadd(b, start, vadd(b, rest, start_low));
}

value_t* hlo_vmath_chlo_atan(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return vwith_sign(b, angle_of(b, vabs(b, x), vconst(b, x, 1)), x);
}

// pi - angle where x is negative.
static value_t* mirror(builder_t* b, value_t* angle, value_t* x) {
  value_t* is_left = vscmp_k(b, HLO_VIR_LT, vbits(b, x), 0);
  value_t* low = vsub(b, vconst(b, x, 2 * quarter_of(x)->low), angle);
  return vselect(b, is_left, vadd_k(b, low, 2 * quarter_of(x)->high), angle);
}

value_t* hlo_vmath_atan2(builder_t* b, value_t* y, value_t* x) {
  if (x->op == HLO_VIR_const && hlo_vmath_float_of_bits(x) == 1) {
    return hlo_vmath_chlo_atan(b, y, NULL);
  }
  value_t* one = vconst(b, x, 1);
  value_t *up = vabs(b, y), *right = vabs(b, x);
  // Points at infinity and zero stand for others at the same angle.
  value_t* are_infinite = vcmp_k(b, HLO_VIR_EQ, vmin(b, up, right), INFINITY);
  value_t* are_zero = vcmp_k(b, HLO_VIR_EQ, vmax(b, up, right), 0);
  if (is_f64(x)) {  // sums shall not overflow, nor parts be rounded to subnormal numbers
    value_t* larger = vmax(b, up, right);
    value_t* scale = vreplace_k(b, one, vcmp_k(b, HLO_VIR_GT, larger, 0x1p1000), 0.25);
    scale = vreplace_k(b, scale, vcmp_k(b, HLO_VIR_LT, larger, 0x1p-960), 0x1p120);
    up = vmul(b, up, scale);
    right = vmul(b, right, scale);
  }
  up = vselect(b, are_infinite, one, up);
  right = vselect(b, vmask_or(b, are_infinite, are_zero), one, right);
  value_t* angle = vwith_sign(b, mirror(b, angle_of(b, up, right), x), y);
  return vreplace_k(b, angle, vcmp(b, HLO_VIR_UNORDERED, x, y), NAN);
}

// sqrt(1 - x^2)
static value_t* other_leg(builder_t* b, value_t* x) {
  return vsqrt(b, vfnma(b, x, x, vconst(b, x, 1)));
}

value_t* hlo_vmath_chlo_asin(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* leg = other_leg(b, x);
  value_t* angle = vwith_sign(b, angle_of(b, vabs(b, x), leg), x);
  return vreplace_k(b, angle, vcmp(b, HLO_VIR_UNORDERED, leg, leg), NAN);
}

value_t* hlo_vmath_chlo_acos(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* leg = other_leg(b, x);
  value_t* angle = mirror(b, angle_of(b, leg, vabs(b, x)), x);
  return vreplace_k(b, angle, vcmp(b, HLO_VIR_UNORDERED, leg, leg), NAN);
}

// ---- hyperbolic ---------------------------------------------------------------------------------

// Beyond this size x^2 + 1 is x^2, and log(2x) = log(x) + log(2).
static const double large = 0x1p28, log_2 = 0x1.62e42fefa39efp-1;

// log(1 + small), or log(x) + log(2) where x is large.
static value_t* log_of_sum(builder_t* b, value_t* x, value_t* small) {
  value_t* is_large = vcmp_k(b, HLO_VIR_GT, x, large);
  value_t* less_one = vselect(b, is_large, vadd_k(b, x, -1), small);
  value_t* log = hlo_vmath_log_plus_one(b, less_one, NULL);
  return vselect(b, is_large, vadd_k(b, log, log_2), log);
}

// asinh(x) = log(1 + x + x^2 / (1 + sqrt(1 + x^2)))
value_t* hlo_vmath_chlo_asinh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* one = vconst(b, x, 1);
  value_t* size = vabs(b, x);
  value_t* square = vmul(b, size, size);
  value_t* root = vadd(b, vsqrt(b, vadd(b, square, one)), one);
  value_t* small = vadd(b, size, vdiv(b, square, root));
  return vwith_sign(b, log_of_sum(b, size, small), x);
}

// acosh(x) = log(1 + t + sqrt(2 t + t^2)) with t = x - 1
value_t* hlo_vmath_chlo_acosh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* t = vadd_k(b, x, -1);
  value_t* small = vadd(b, t, vsqrt(b, vfma(b, t, t, vadd(b, t, t))));
  return vreplace_k(b, log_of_sum(b, x, small), vcmp_k(b, HLO_VIR_LT, x, 1), NAN);
}

// atanh(x) = log(1 + 2 x / (1 - x)) / 2
value_t* hlo_vmath_chlo_atanh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* size = vabs(b, x);
  value_t* ratio = vdiv(b, vadd(b, size, size), vsub(b, vconst(b, x, 1), size));
  return vwith_sign(b, vmul_k(b, hlo_vmath_log_plus_one(b, ratio, NULL), 0.5), x);
}
