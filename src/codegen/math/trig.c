// SPDX-License-Identifier: Apache-2.0
// Sine, cosine and tangent: x = n pi + r (sine), (n + 1/2) pi + r (cosine) or n pi / 2 + r
// (tangent). The multiple of pi has three parts; for large x, under an `if`, as many bits of 1 / pi
// as needed are read from a table.
#include "codegen/math/coefficients.h"
#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

/// Constants of f32 and f64.
typedef struct trig_format {
  double rounder;   // adding it rounds to an integer, whose low bits are those of the sum
  double largest;   // largest magnitude for which three parts suffice
  double parts[3];  // of pi, all positive; x - n parts[0] is exact
  int sign_shift;   // from the lowest bit to the sign
} trig_format_t;

static const trig_format_t formats[2] = {
    {0x1.8p23, 0x1p17, {0x1.921fb4p+1, 0x1.4442dp-23, 0x1.846988p-47}, 31},
    {0x1.8p52, 0x1p30, {0x1.921fb54442d18p+1, 0x1.1a62633145c06p-53, 0x1.c1cd129024e08p-106}, 63},
};

static const double inverse = 0x1.45f306dc9c883p-2;  // 1 / pi

static const trig_format_t* trig_format_of(const value_t* x) {
  return &formats[hlo_vis_f64(x)];
}

// Negates x where the integer in the low bits of `shifted` is odd.
static value_t* negate_if_odd(builder_t* b, value_t* x, value_t* shifted) {
  value_t* sign = hlo_vshl_k(b, hlo_vbits(b, shifted), trig_format_of(x)->sign_shift);
  return hlo_vxor(b, x, hlo_vof_bits(b, sign));
}

// Returns sin(r) for |r| <= pi / 2; rounding errors must not take it beyond 1.
static value_t* sine_of(builder_t* b, value_t* r) {
  value_t* square = hlo_vmul(b, r, r);
  value_t* sum =
      hlo_vis_f64(r) ? HLO_POLYNOMIAL(b, square, sin_f64) : HLO_POLYNOMIAL(b, square, sin_f32);
  value_t* sine = hlo_vfma(b, hlo_vmul(b, r, square), sum, r);
  return hlo_vat_most(b, hlo_vat_least(b, sine, -1), 1);
}

// ---- large arguments ----------------------------------------------------------------------------

// Adds x to sum.high; the rounding error is added to sum.low.
static hlo_vpair_t add_exactly(builder_t* b, hlo_vpair_t sum, value_t* x) {
  value_t* high = hlo_vadd(b, sum.high, x);
  value_t* part = hlo_vsub(b, high, sum.high);
  value_t* lost = hlo_vadd(b, hlo_vsub(b, sum.high, hlo_vsub(b, high, part)), hlo_vsub(b, x, part));
  return (hlo_vpair_t){high, hlo_vadd(b, sum.low, lost)};
}

// Returns x less a multiple of 2, at most 1 in magnitude.
static value_t* modulo_2(builder_t* b, value_t* x) {
  value_t* half = hlo_vround(b, hlo_vmul_k(b, x, 0.5), HLO_VIR_NEAREST_EVEN);
  return hlo_vfnma(b, half, hlo_vconst(b, x, 2), x);
}

// Row g of inverse_pi has 2^(16 g - 1075) / pi modulo 2 in four parts. x scaled to an integer below
// 2^69, times the row, is x / pi modulo 2.
enum { ROW_PARTS = 4, FIRST_ROW = 64, ROW_BITS = 4, MANTISSA = 52 };

// Returns x scaled to an integer, and the parts of its row.
static value_t* load_inverse_pi(builder_t* b, value_t* x, value_t* parts[ROW_PARTS]) {
  value_t* bits = hlo_vbits(b, hlo_vabs(b, x));
  value_t* group = hlo_vlshr_k(b, bits, MANTISSA + ROW_BITS);
  group = hlo_vir_binary(b, HLO_VIR_smax, group, hlo_viconst(b, group, FIRST_ROW));
  const uint32_t blob = hlo_vir_module_add_blob(b->module, inverse_pi, sizeof inverse_pi);
  value_t* base = hlo_vir_emit(b, HLO_VIR_rodata, hlo_vir_type(HLO_VIR_INDEX, 1), 0, blob, 0, NULL);
  value_t* address[] = {base, hlo_vshl_k(b, hlo_viadd_k(b, group, -FIRST_ROW), 2)};
  enum { SCALE_8 = 3 };
  for (int i = 0; i < ROW_PARTS; ++i) {
    parts[i] = hlo_vir_emit(b, HLO_VIR_gather, x->type, SCALE_8 | HLO_VIR_INVARIANT,
                            (int64_t)sizeof(double) * i, 2, address);
  }
  // The exponent becomes that of 2^52 plus the index within the group.
  value_t* shift =
      hlo_viadd_k(b, hlo_vshl_k(b, group, MANTISSA + ROW_BITS), -((int64_t)1075 << MANTISSA));
  return hlo_vof_bits(b, hlo_visub(b, bits, shift));
}

// Returns sin(|x|) (shift 0) or cos(x) (shift 1/2) of F64.
static value_t* large_sine(builder_t* b, value_t* x, double shift) {
  const trig_format_t* f = trig_format_of(x);
  value_t* part[ROW_PARTS];
  value_t* integer = load_inverse_pi(b, x, part);
  hlo_vpair_t product[3];
  for (int i = 0; i < 3; ++i) product[i] = hlo_vmath_product(b, integer, part[i]);
  hlo_vpair_t sum = {modulo_2(b, product[0].high), hlo_vconst(b, x, 0)};
  sum = add_exactly(b, sum, modulo_2(b, product[0].low));
  sum = add_exactly(b, sum, modulo_2(b, product[1].high));
  if (shift != 0) sum = add_exactly(b, sum, hlo_vconst(b, x, -shift));
  value_t* rounder = hlo_vconst(b, x, f->rounder);
  value_t* shifted = hlo_vadd(b, sum.high, rounder);
  hlo_vpair_t turn = {hlo_vsub(b, sum.high, hlo_vsub(b, shifted, rounder)), hlo_vconst(b, x, 0)};
  value_t* rest[] = {sum.low, product[1].low, product[2].high, product[2].low,
                     hlo_vmul(b, integer, part[3])};
  for (size_t i = 0; i < HLO_COUNT_OF(rest); ++i) turn = add_exactly(b, turn, rest[i]);
  value_t* high = hlo_vadd(b, turn.high, turn.low);
  value_t* low = hlo_vadd(b, hlo_vsub(b, turn.high, high), turn.low);
  value_t* pi = hlo_vconst(b, x, f->parts[0]);
  hlo_vpair_t r = hlo_vmath_product(b, high, pi);
  r.low = hlo_vfma(b, high, hlo_vconst(b, x, f->parts[1]), hlo_vfma(b, low, pi, r.low));
  value_t* sine = sine_of(b, hlo_vadd(b, r.high, r.low));
  if (shift != 0) sine = hlo_vneg(b, sine);  // cos((n + 1/2) pi + r) = -(-1)^n sin(r)
  sine = negate_if_odd(b, sine, shifted);
  return hlo_vadd(b, sine, hlo_vsub(b, x, x));  // NaN for infinities
}

static value_t* large_sine_of(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vxor(b, large_sine(b, x, 0), hlo_vsign_bit(b, x));
}
static value_t* large_cosine_of(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  return large_sine(b, x, 0.5);
}
static value_t* large_tangent_of(builder_t* b, value_t* x, value_t* y) {
  return hlo_vdiv(b, large_sine_of(b, x, y), large_cosine_of(b, x, y));
}

// Returns large(x) where x is large, else `value`.
static value_t* unless_large(builder_t* b, value_t* x, value_t* value, hlo_vector_fn_t large) {
  value_t* is_large = hlo_vcmp_k(b, HLO_VIR_GT, hlo_vabs(b, x), trig_format_of(x)->largest);
  return hlo_vmath_except_where(b, is_large, x, value, large);
}

// ---- functions ----------------------------------------------------------------------------------

/// size = n pi / parts_of_pi + rest with size >= 0; `shifted` holds n in its low bits.
typedef struct reduced {
  value_t *shifted, *rest;
} reduced_t;

static reduced_t reduce_angle(builder_t* b, value_t* size, int parts_of_pi) {
  const trig_format_t* f = trig_format_of(size);
  value_t* rounder = hlo_vconst(b, size, f->rounder);
  value_t* shifted = hlo_vfma(b, size, hlo_vconst(b, size, parts_of_pi * inverse), rounder);
  value_t* n = hlo_vsub(b, shifted, rounder);
  value_t* rest = size;
  for (size_t i = 0; i < HLO_COUNT_OF(f->parts); ++i) {
    rest = hlo_vfnma(b, n, hlo_vconst(b, size, f->parts[i] / parts_of_pi), rest);
  }
  return (reduced_t){shifted, rest};
}

value_t* hlo_vmath_sine(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  reduced_t reduced = reduce_angle(b, hlo_vabs(b, x), 1);
  value_t* sine = negate_if_odd(b, sine_of(b, reduced.rest), reduced.shifted);
  return unless_large(b, x, hlo_vxor(b, sine, hlo_vsign_bit(b, x)), large_sine_of);
}

// Computes the sine of h pi - x with h = n + 1/2, times (-1)^n.
value_t* hlo_vmath_cosine(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  const trig_format_t* f = trig_format_of(x);
  value_t* rounder = hlo_vconst(b, x, f->rounder);
  value_t* turns = hlo_vfma(b, x, hlo_vconst(b, x, inverse), hlo_vconst(b, x, -0.5));
  value_t* shifted = hlo_vadd(b, turns, rounder);
  value_t* h = hlo_vadd_k(b, hlo_vsub(b, shifted, rounder), 0.5);
  value_t* rest = hlo_vneg(b, x);
  for (size_t i = 0; i < HLO_COUNT_OF(f->parts); ++i)
    rest = hlo_vfma(b, h, hlo_vconst(b, x, f->parts[i]), rest);
  return unless_large(b, x, negate_if_odd(b, sine_of(b, rest), shifted), large_cosine_of);
}

// Computes tan(rest), or -1 / tan(rest) for odd n.
value_t* hlo_vmath_tan(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* one = hlo_vconst(b, x, 1);
  reduced_t reduced = reduce_angle(b, hlo_vabs(b, x), 2);
  value_t* r = reduced.rest;
  value_t* square = hlo_vmul(b, r, r);
  value_t* sum =
      hlo_vis_f64(x) ? HLO_POLYNOMIAL(b, square, tan_f64) : HLO_POLYNOMIAL(b, square, tan_f32);
  value_t* tangent = hlo_vfma(b, hlo_vmul(b, r, square), sum, r);
  value_t* odd_bit = hlo_vshl_k(b, hlo_vbits(b, reduced.shifted), trig_format_of(x)->sign_shift);
  value_t* is_odd = hlo_vscmp_k(b, HLO_VIR_LT, odd_bit, 0);
  value_t* bottom = hlo_vselect(b, is_odd, hlo_vneg(b, tangent), one);
  value_t* value = hlo_vdiv(b, hlo_vselect(b, is_odd, one, tangent), bottom);
  return unless_large(b, x, hlo_vxor(b, value, hlo_vsign_bit(b, x)), large_tangent_of);
}

value_t* hlo_vmath_chlo_tan(builder_t* b, value_t* x, value_t* y) {
  return hlo_vmath_tan(b, x, y);
}

// ---- inverse functions, all from the angle of a point in the first quadrant

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

value_t* hlo_vmath_chlo_atan(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
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

value_t* hlo_vmath_chlo_asin(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* leg = other_leg(b, x);
  value_t* angle = hlo_vwith_sign(b, angle_of(b, hlo_vabs(b, x), leg), x);
  return hlo_vreplace_k(b, angle, hlo_vcmp(b, HLO_VIR_UNORDERED, leg, leg), NAN);
}

value_t* hlo_vmath_chlo_acos(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* leg = other_leg(b, x);
  value_t* angle = mirror(b, angle_of(b, leg, hlo_vabs(b, x)), x);
  return hlo_vreplace_k(b, angle, hlo_vcmp(b, HLO_VIR_UNORDERED, leg, leg), NAN);
}

// ---- inverse hyperbolic functions of F64, from log(1 + x)
// ------------------------------------------

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
value_t* hlo_vmath_chlo_asinh(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* one = hlo_vconst(b, x, 1);
  value_t* size = hlo_vabs(b, x);
  value_t* square = hlo_vmul(b, size, size);
  value_t* root = hlo_vadd(b, hlo_vsqrt(b, hlo_vadd(b, square, one)), one);
  value_t* small = hlo_vadd(b, size, hlo_vdiv(b, square, root));
  return hlo_vwith_sign(b, log_of_sum(b, size, small), x);
}

// acosh(x) = log(1 + t + sqrt(2 t + t^2)) with t = x - 1
value_t* hlo_vmath_chlo_acosh(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* t = hlo_vadd_k(b, x, -1);
  value_t* small = hlo_vadd(b, t, hlo_vsqrt(b, hlo_vfma(b, t, t, hlo_vadd(b, t, t))));
  return hlo_vreplace_k(b, log_of_sum(b, x, small), hlo_vcmp_k(b, HLO_VIR_LT, x, 1), NAN);
}

// atanh(x) = log(1 + 2 x / (1 - x)) / 2
value_t* hlo_vmath_chlo_atanh(builder_t* b, value_t* x, HLO_UNUSED value_t* y) {
  value_t* size = hlo_vabs(b, x);
  value_t* ratio = hlo_vdiv(b, hlo_vadd(b, size, size), hlo_vsub(b, hlo_vconst(b, x, 1), size));
  return hlo_vwith_sign(b, hlo_vmul_k(b, hlo_vmath_log_plus_one(b, ratio, NULL), 0.5), x);
}
