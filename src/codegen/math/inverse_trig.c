// SPDX-License-Identifier: Apache-2.0
// Inverse trigonometric functions, all from the angle of a point in the first quadrant; inverse
// hyperbolic functions of F64 from log(1 + x).
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

/// pi / 2 in two parts.
typedef struct quarter {
  double high, low;
} quarter_t;

static const quarter_t quarters[2] = {{0x1.921fb6p+0, -0x1.777a5cp-25},
                                      {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}};

static const quarter_t* quarter_of(const value_t* x) {
  return &quarters[hlo_vis_f64(x)];
}

/// The smaller and the larger coordinate of a point.
typedef struct legs {
  value_t *low, *high;
} legs_t;

// Returns atan(low / high) of F32.
static value_t* narrow_angle(builder_t* b, legs_t legs) {
  value_t* t = hlo_vdiv(b, legs.low, legs.high);
  value_t* square = hlo_vmul(b, t, t);
  return hlo_vfma(b, hlo_vmul(b, t, square), HLO_POLYNOMIAL(b, square, atan_f32), t);
}

/// start + rest, where start is 0 or pi / 4.
typedef struct wide_angle {
  value_t *start, *start_low, *rest;
} wide_angle_t;

// Returns atan(low / high) of F64; quotients above tan(pi / 8) are reduced by the angle pi / 4.
static wide_angle_t wide_angle(builder_t* b, legs_t legs) {
  value_t *low = legs.low, *high = legs.high, *zero = hlo_vconst(b, low, 0);
  value_t* is_middle = hlo_vcmp(b, HLO_VIR_GT, low, hlo_vmul_k(b, high, 0x1.a827999fcef32p-2));
  value_t* top = hlo_vselect(b, is_middle, hlo_vsub(b, low, high), low);
  value_t* bottom = hlo_vselect(b, is_middle, hlo_vadd(b, low, high), high);
  value_t* t = hlo_vdiv(b, top, bottom);
  value_t* square = hlo_vmul(b, t, t);
  const quarter_t* quarter = quarter_of(low);
  return (wide_angle_t){
      .start = hlo_vselect(b, is_middle, hlo_vconst(b, low, quarter->high / 2), zero),
      .start_low = hlo_vselect(b, is_middle, hlo_vconst(b, low, quarter->low / 2), zero),
      .rest = hlo_vfma(b, hlo_vmul(b, t, square), HLO_POLYNOMIAL(b, square, atan_f64), t),
  };
}

// Returns the angle of the point (x, y) in [0, pi / 2]. Neither coordinate is negative, one is not
// 0, and one is finite. Above the diagonal it is pi / 2 less the angle of the mirrored point.
static value_t* angle_of(builder_t* b, value_t* y, value_t* x) {
  value_t* is_steep = hlo_vcmp(b, HLO_VIR_GT, y, x);
  legs_t legs = {hlo_vselect(b, is_steep, x, y), hlo_vselect(b, is_steep, y, x)};
  value_t* high = hlo_vconst(b, x, quarter_of(x)->high);
  value_t* low = hlo_vconst(b, x, quarter_of(x)->low);
  if (!hlo_vis_f64(x)) {
    value_t* angle = narrow_angle(b, legs);
    return hlo_vselect(b, is_steep, hlo_vadd(b, high, hlo_vsub(b, low, angle)), angle);
  }
  wide_angle_t a = wide_angle(b, legs);
  value_t* start = hlo_vselect(b, is_steep, hlo_vsub(b, high, a.start), a.start);
  value_t* start_low = hlo_vselect(b, is_steep, hlo_vsub(b, low, a.start_low), a.start_low);
  value_t* rest = hlo_vselect(b, is_steep, hlo_vneg(b, a.rest), a.rest);
  return hlo_vadd(b, start, hlo_vadd(b, rest, start_low));
}

value_t* hlo_vmath_chlo_atan(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return hlo_vwith_sign(b, angle_of(b, hlo_vabs(b, x), hlo_vconst(b, x, 1)), x);
}

// Returns pi - angle where x is negative.
static value_t* mirror(builder_t* b, value_t* angle, value_t* x) {
  value_t* is_left = hlo_vscmp_k(b, HLO_VIR_LT, hlo_vbits(b, x), 0);
  value_t* low = hlo_vsub(b, hlo_vconst(b, x, 2 * quarter_of(x)->low), angle);
  return hlo_vselect(b, is_left, hlo_vadd_k(b, low, 2 * quarter_of(x)->high), angle);
}

value_t* hlo_vmath_atan2(builder_t* b, value_t* y, value_t* x) {
  if (x->op == HLO_VIR_const && hlo_vmath_float_of_bits(x) == 1) {
    return hlo_vmath_chlo_atan(b, y, NULL);
  }
  value_t* one = hlo_vconst(b, x, 1);
  value_t *up = hlo_vabs(b, y), *right = hlo_vabs(b, x);
  // Points at infinity and zero are replaced by finite points at the same angle.
  value_t* are_infinite = hlo_vcmp_k(b, HLO_VIR_EQ, hlo_vmin(b, up, right), INFINITY);
  value_t* are_zero = hlo_vcmp_k(b, HLO_VIR_EQ, hlo_vmax(b, up, right), 0);
  if (hlo_vis_f64(x)) {  // sums must not overflow, parts must not become subnormal
    value_t* larger = hlo_vmax(b, up, right);
    value_t* scale = hlo_vreplace_k(b, one, hlo_vcmp_k(b, HLO_VIR_GT, larger, 0x1p1000), 0.25);
    scale = hlo_vreplace_k(b, scale, hlo_vcmp_k(b, HLO_VIR_LT, larger, 0x1p-960), 0x1p120);
    up = hlo_vmul(b, up, scale);
    right = hlo_vmul(b, right, scale);
  }
  up = hlo_vselect(b, are_infinite, one, up);
  right = hlo_vselect(b, hlo_vmask_or(b, are_infinite, are_zero), one, right);
  value_t* angle = hlo_vwith_sign(b, mirror(b, angle_of(b, up, right), x), y);
  return hlo_vreplace_k(b, angle, hlo_vcmp(b, HLO_VIR_UNORDERED, x, y), NAN);
}

// Returns sqrt(1 - x^2).
static value_t* other_leg(builder_t* b, value_t* x) {
  return hlo_vsqrt(b, hlo_vfnma(b, x, x, hlo_vconst(b, x, 1)));
}

value_t* hlo_vmath_chlo_asin(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* leg = other_leg(b, x);
  value_t* angle = hlo_vwith_sign(b, angle_of(b, hlo_vabs(b, x), leg), x);
  return hlo_vreplace_k(b, angle, hlo_vcmp(b, HLO_VIR_UNORDERED, leg, leg), NAN);
}

value_t* hlo_vmath_chlo_acos(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* leg = other_leg(b, x);
  value_t* angle = mirror(b, angle_of(b, leg, hlo_vabs(b, x)), x);
  return hlo_vreplace_k(b, angle, hlo_vcmp(b, HLO_VIR_UNORDERED, leg, leg), NAN);
}

// ---- hyperbolic ---------------------------------------------------------------------------------

// Above this bound x^2 + 1 rounds to x^2, and log(2 x) = log(x) + log(2).
static const double large = 0x1p28, log_2 = 0x1.62e42fefa39efp-1;

// Returns log(1 + small), or log(x) + log(2) where x is large.
static value_t* log_of_sum(builder_t* b, value_t* x, value_t* small) {
  value_t* is_large = hlo_vcmp_k(b, HLO_VIR_GT, x, large);
  value_t* less_one = hlo_vselect(b, is_large, hlo_vadd_k(b, x, -1), small);
  value_t* log = hlo_vmath_log_plus_one(b, less_one, NULL);
  return hlo_vselect(b, is_large, hlo_vadd_k(b, log, log_2), log);
}

// asinh(x) = log(1 + x + x^2 / (1 + sqrt(1 + x^2)))
value_t* hlo_vmath_chlo_asinh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* one = hlo_vconst(b, x, 1);
  value_t* size = hlo_vabs(b, x);
  value_t* square = hlo_vmul(b, size, size);
  value_t* root = hlo_vadd(b, hlo_vsqrt(b, hlo_vadd(b, square, one)), one);
  value_t* small = hlo_vadd(b, size, hlo_vdiv(b, square, root));
  return hlo_vwith_sign(b, log_of_sum(b, size, small), x);
}

// acosh(x) = log(1 + t + sqrt(2 t + t^2)) with t = x - 1
value_t* hlo_vmath_chlo_acosh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* t = hlo_vadd_k(b, x, -1);
  value_t* small = hlo_vadd(b, t, hlo_vsqrt(b, hlo_vfma(b, t, t, hlo_vadd(b, t, t))));
  return hlo_vreplace_k(b, log_of_sum(b, x, small), hlo_vcmp_k(b, HLO_VIR_LT, x, 1), NAN);
}

// atanh(x) = log(1 + 2 x / (1 - x)) / 2
value_t* hlo_vmath_chlo_atanh(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  value_t* size = hlo_vabs(b, x);
  value_t* ratio = hlo_vdiv(b, hlo_vadd(b, size, size), hlo_vsub(b, hlo_vconst(b, x, 1), size));
  return hlo_vwith_sign(b, hlo_vmul_k(b, hlo_vmath_log_plus_one(b, ratio, NULL), 0.5), x);
}
