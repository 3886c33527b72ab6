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

static value_t* large_sine_of(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  return hlo_vxor(b, large_sine(b, x, 0), hlo_vsign_bit(b, x));
}
static value_t* large_cosine_of(builder_t* b, value_t* x, value_t* y) {
  (void)y;
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

value_t* hlo_vmath_sine(builder_t* b, value_t* x, value_t* y) {
  (void)y;
  reduced_t reduced = reduce_angle(b, hlo_vabs(b, x), 1);
  value_t* sine = negate_if_odd(b, sine_of(b, reduced.rest), reduced.shifted);
  return unless_large(b, x, hlo_vxor(b, sine, hlo_vsign_bit(b, x)), large_sine_of);
}

// Computes the sine of h pi - x with h = n + 1/2, times (-1)^n.
value_t* hlo_vmath_cosine(builder_t* b, value_t* x, value_t* y) {
  (void)y;
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
value_t* hlo_vmath_tan(builder_t* b, value_t* x, value_t* y) {
  (void)y;
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
