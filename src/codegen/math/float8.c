// SPDX-License-Identifier: Apache-2.0
// Floats of at most 8 bits, by their row of dtype.def: their f32 values and back, and their bf16
// bits, which short integers have, too, and back. A sign is above `exponent_bits` and
// `mantissa_bits`; the bits below it are the magnitude.
#include <string.h>

#include "codegen/math/math_impl.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

typedef const hlo_dtype_info_t info_t;

enum {
  F16_MANTISSA_BITS = 10,
  F16_BIAS = 15,
  F16_SIGN = 0x8000,
  F16_INFINITY = 0x7c00,
  F16_NAN = 0x7e00,
  BF16_MANTISSA_BITS = 7,
  BF16_BIAS = 127,
  BF16_SIGN = 0x8000,
  BF16_INFINITY = 0x7f80,
  BF16_NAN = 0x7fc0,
  TABLE_LANES = 8,  // 16-bit elements in 16 bytes
};

static uint32_t top_code(info_t* info) {  // all bits below the sign bit
  return (1u << (info->bits - 1)) - 1u;
}
static uint32_t infinity_code(info_t* info) {
  return ((1u << info->exponent_bits) - 1u) << info->mantissa_bits;
}

static uint32_t nan_code(info_t* info) {  // of types with infinities
  return infinity_code(info) | 1u << (info->mantissa_bits - 1);
}

// Returns the value of a magnitude, read as a number whatever it means.
static double magnitude_value(info_t* info, uint32_t code) {
  const uint32_t unit = 1u << info->mantissa_bits, exponent = code / unit;
  const double fraction = (double)(code % unit) + (exponent ? unit : 0);
  return ldexp(fraction, (int)(exponent ? exponent : 1) - info->bias - info->mantissa_bits);
}

// ---- to f32 -------------------------------------------------------------------------------------

static value_t* in_lanes_of(builder_t* b, hlo_vir_elem_t elem, value_t* code) {
  if (code->type.elem == elem) return code;
  return hlo_vir_convert(b, HLO_VIR_zext, elem, code);
}

static value_t* decode_e8m0(builder_t* b, value_t* raw) {
  value_t* code = in_lanes_of(b, HLO_VIR_I32, raw);
  value_t* bits = hlo_vshl_k(b, code, 23);
  bits =
      hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, code, 0), hlo_viconst(b, code, 0x00400000), bits);
  bits = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, code, 0xff), hlo_viconst(b, code, 0x7fc00000),
                     bits);
  return hlo_vof_bits(b, bits);
}

// Returns the codes in wider lanes, signs and magnitudes apart: the magnitude is shifted up by
// `shift`, the sign is the highest bit.
static void take_apart(builder_t* b, info_t* info, value_t* raw, hlo_vir_elem_t elem, int shift,
                       value_t** out_sign, value_t** out_magnitude) {
  const int bits = (int)hlo_vir_elem_bits(elem);
  value_t* code = in_lanes_of(b, elem, raw);
  value_t* sign = hlo_vshl_k(b, code, bits - info->bits);
  *out_sign = hlo_vand(b, sign, hlo_viconst(b, code, (uint64_t)1 << (bits - 1)));
  value_t* magnitude = hlo_vand(b, code, hlo_viconst(b, code, top_code(info)));
  *out_magnitude = shift ? hlo_vshl_k(b, magnitude, shift) : magnitude;
}

// Replaces infinities and NaNs in magnitudes that were shifted up by `shift`.
static value_t* replace_specials(builder_t* b, info_t* info, value_t* shifted, value_t* value,
                                 int shift, int64_t infinity, int64_t nan) {
  const int64_t top = (int64_t)top_code(info) << shift;
  const int64_t first = (int64_t)infinity_code(info) << shift;
  value_t* is_special;
  switch (info->specials) {
    case HLO_FLOAT_IEEE:
      is_special = hlo_vscmp_k(b, HLO_VIR_EQ, shifted, first);
      value = hlo_vselect(b, is_special, hlo_viconst(b, value, infinity), value);
      is_special = hlo_vscmp_k(b, HLO_VIR_GT, shifted, first);
      return hlo_vselect(b, is_special, hlo_viconst(b, value, nan), value);
    case HLO_FLOAT_FN:
      is_special = hlo_vscmp_k(b, HLO_VIR_EQ, shifted, top);
      return hlo_vselect(b, is_special, hlo_viconst(b, value, nan), value);
    default: return value;
  }
}

// Adds the sign. With FNUZ types a negative zero is NaN.
static value_t* with_sign(builder_t* b, info_t* info, value_t* sign, value_t* value, int64_t nan) {
  value = hlo_vor(b, value, sign);
  if (info->specials != HLO_FLOAT_FNUZ) return value;
  const uint64_t bit = (uint64_t)1 << (hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem) - 1);
  value_t* is_nan = hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_EQ, value, hlo_viconst(b, value, bit));
  return hlo_vselect(b, is_nan, hlo_viconst(b, value, bit | (uint64_t)nan), value);
}

// Returns true if no number of the type is infinity or NaN when its bits are read as those of an
// f16.
static bool fits_half(info_t* info) {
  return info->exponent_bits < 15 - F16_MANTISSA_BITS || info->specials == HLO_FLOAT_IEEE;
}

// Reads the code as an f16 with another bias. Its conversion is exact, subnormal numbers included,
// whatever becomes of those of f32; multiplication corrects the bias.
static value_t* decode_by_half(builder_t* b, info_t* info, value_t* raw) {
  const int shift = F16_MANTISSA_BITS - info->mantissa_bits;
  value_t *sign, *magnitude;
  take_apart(b, info, raw, HLO_VIR_I16, shift, &sign, &magnitude);
  value_t* half = replace_specials(b, info, magnitude, magnitude, shift, F16_INFINITY, F16_NAN);
  half = with_sign(b, info, sign, half, F16_NAN);
  value_t* value = hlo_vir_convert(b, HLO_VIR_half_to_f32, HLO_VIR_F32, half);
  return info->bias == F16_BIAS ? value : hlo_vmul_k(b, value, ldexp(1, F16_BIAS - info->bias));
}

// Returns the F32 of a magnitude in I32 whose exponent is at the position of an f32's but has
// another bias. Multiplication corrects the bias of subnormal numbers, too. Where subnormal numbers
// are flushed, the smallest normal number is added and subtracted instead.
static value_t* with_bias(builder_t* b, info_t* info, value_t* bits) {
  if (b->module->subnormals == HLO_SUBNORMALS_KEEP) {
    return hlo_vmul_k(b, hlo_vof_bits(b, bits), ldexp(1, 127 - info->bias));
  }
  const int64_t unit = (int64_t)1 << 23;  // of the exponent
  value_t* normal = hlo_viadd_k(b, bits, (127 - info->bias) * unit);
  value_t* subnormal =
      hlo_vadd_k(b, hlo_vof_bits(b, hlo_viadd_k(b, normal, unit)), -ldexp(1, 1 - info->bias));
  return hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_LT, bits, unit), subnormal, hlo_vof_bits(b, normal));
}

value_t* hlo_vmath_decode(builder_t* b, info_t* info, value_t* raw) {
  if (info->specials == HLO_FLOAT_E8M0) return decode_e8m0(b, raw);
  if (b->module->has_permute && fits_half(info)) return decode_by_half(b, info, raw);
  const int shift = 23 - info->mantissa_bits;
  value_t *sign, *magnitude;
  take_apart(b, info, raw, HLO_VIR_I32, shift, &sign, &magnitude);
  value_t* bits = hlo_vbits(b, with_bias(b, info, magnitude));
  bits = replace_specials(b, info, magnitude, bits, shift, 0x7f800000, 0x7fc00000);
  return hlo_vof_bits(b, with_sign(b, info, sign, bits, 0x7fc00000));
}

// ---- from f32 -----------------------------------------------------------------------------------

static value_t* encode_e8m0(builder_t* b, value_t* x) {
  // Ties go up. Below 2^-126 everything above 2^-127 is rounded up.
  value_t* bits = hlo_vbits(b, x);
  value_t* one = hlo_viconst(b, bits, 1);
  value_t* half = hlo_viconst(b, bits, 0x00400000);
  value_t* code = hlo_vlshr_k(b, hlo_viadd(b, bits, half), 23);
  value_t* low = hlo_vselect(b, hlo_vucmp(b, HLO_VIR_GT, bits, half), one, hlo_viconst(b, bits, 0));
  code =
      hlo_vselect(b, hlo_vucmp(b, HLO_VIR_LT, bits, hlo_viconst(b, bits, 0x00800000)), low, code);
  value_t* is_positive =
      hlo_vucmp(b, HLO_VIR_LT, hlo_visub(b, bits, one), hlo_viconst(b, bits, 0x7f800000 - 1));
  return hlo_vselect(b, is_positive, code, hlo_viconst(b, bits, 0xff));
}

// Returns the first code past the finite numbers, or the last number of types that saturate.
static uint32_t limit_code(info_t* info) {
  switch (info->specials) {
    case HLO_FLOAT_IEEE: return infinity_code(info);
    case HLO_FLOAT_FNUZ: return top_code(info) + 1;
    default: return top_code(info);
  }
}

// Adds the sign to magnitudes, and replaces those of NaNs, which have the limit's code.
static value_t* finish_code(builder_t* b, info_t* info, value_t* x, value_t* code) {
  const uint32_t sign_code = top_code(info) + 1;
  value_t* sign = hlo_vand(b, hlo_vlshr_k(b, hlo_vbits(b, x), 32 - info->bits),
                           hlo_viconst(b, code, sign_code));
  if (info->specials == HLO_FLOAT_FN) return hlo_vor(b, code, sign);
  if (info->specials == HLO_FLOAT_FNUZ) {  // has no negative zero; its code is NaN's, the limit
    value_t* is_zero = hlo_vscmp_k(b, HLO_VIR_EQ, code, 0);
    return hlo_vselect(b, is_zero, code, hlo_vor(b, code, sign));
  }
  value_t* is_nan = hlo_vcmp(b, HLO_VIR_UNORDERED, x, x);
  uint32_t code_of_nan = nan_code(info);
  if (info->specials == HLO_FLOAT_FINITE) {  // NaN becomes a zero of the other sign
    code_of_nan = 0;
    sign = hlo_vselect(b, is_nan, hlo_vxor(b, sign, hlo_viconst(b, code, sign_code)), sign);
  }
  return hlo_vor(b, hlo_vselect(b, is_nan, hlo_viconst(b, code, code_of_nan), code), sign);
}

// A magnitude, at most the limit and for NaN the limit; its exponent, at least that of the least
// normal number; and a power of two whose last place is that of the narrow format: adding it
// rounds.
typedef struct rounding {
  value_t *size, *exponent, *magic;
  int64_t least_exponent;
} rounding_t;

static rounding_t prepare_rounding(builder_t* b, info_t* info, value_t* x) {
  rounding_t r = {.least_exponent = (int64_t)(BF16_BIAS + 1 - info->bias) << 23};
  r.size = hlo_vmin(b, hlo_vabs(b, x), hlo_vconst(b, x, magnitude_value(info, limit_code(info))));
  value_t* bits = hlo_vbits(b, r.size);
  value_t* exponent = hlo_vand(b, bits, hlo_viconst(b, bits, 0x7f800000));
  r.exponent =
      hlo_vir_binary(b, HLO_VIR_smax, exponent, hlo_viconst(b, exponent, r.least_exponent));
  r.magic = hlo_viadd_k(b, r.exponent, (int64_t)(23 - info->mantissa_bits) << 23);
  return r;
}

// Returns the value whose sign x has, as far as hlo_vmath_round_float8() made x; else NULL.
static value_t* sign_source(value_t* x) {
  switch (x->op) {
    case HLO_VIR_and: return x->operands[x->operands[0]->op == HLO_VIR_const];
    case HLO_VIR_select: return sign_source(x->operands[2]);
    case HLO_VIR_or: {
      value_t* source = sign_source(x->operands[0]);
      return source ? source : sign_source(x->operands[1]);
    }
    default: return NULL;
  }
}

// Returns the value that x was rounded from, whose code is the same; x if it is unknown. Rounding
// the same value again here gives the instructions that there are.
static value_t* before_rounding(builder_t* b, info_t* info, value_t* x) {
  value_t* source = sign_source(x);
  const bool is_float = source && source->type.elem == HLO_VIR_F32;
  return is_float && hlo_vmath_round_float8(b, info, source) == x ? source : x;
}

// The rounded sum has the significand in its last places; the exponent above the least one is added
// to it.
value_t* hlo_vmath_encode(builder_t* b, info_t* info, value_t* x) {
  if (info->specials == HLO_FLOAT_E8M0) return encode_e8m0(b, x);
  x = before_rounding(b, info, x);
  const rounding_t r = prepare_rounding(b, info, x);
  value_t* sum = hlo_vbits(b, hlo_vadd(b, r.size, hlo_vof_bits(b, r.magic)));
  value_t* exponent = hlo_viadd_k(b, r.exponent, -r.least_exponent);
  value_t* above = hlo_vlshr_k(b, exponent, 23 - info->mantissa_bits);
  return finish_code(b, info, x, hlo_viadd(b, hlo_visub(b, sum, r.magic), above));
}

value_t* hlo_vmath_round_float8(builder_t* b, info_t* info, value_t* x) {
  if (info->specials == HLO_FLOAT_E8M0) return decode_e8m0(b, encode_e8m0(b, x));
  const rounding_t r = prepare_rounding(b, info, x);
  value_t* magic = hlo_vof_bits(b, r.magic);
  value_t* value = hlo_vsub(b, hlo_vadd(b, r.size, magic), magic);
  value_t* sign = hlo_vsign_bit(b, x);
  value_t* is_limit = hlo_vcmp_k(b, HLO_VIR_EQ, value, magnitude_value(info, limit_code(info)));
  value_t* is_nan = hlo_vcmp(b, HLO_VIR_UNORDERED, x, x);
  switch (info->specials) {
    case HLO_FLOAT_FN: value = hlo_vreplace_k(b, value, is_limit, NAN); break;
    case HLO_FLOAT_IEEE:
      value = hlo_vreplace_k(b, value, is_limit, INFINITY);
      value = hlo_vreplace_k(b, value, is_nan, NAN);
      break;
    case HLO_FLOAT_FNUZ: {  // has no negative zero; the sign of its NaN is set
      value_t* is_zero = hlo_vcmp_k(b, HLO_VIR_EQ, value, 0);
      value = hlo_vselect(b, is_zero, value, hlo_vor(b, value, sign));
      return hlo_vreplace_k(b, value, is_limit, -NAN);
    }
    default:  // NaN becomes a zero of the other sign
      value = hlo_vreplace_k(b, value, is_nan, 0);
      sign = hlo_vselect(b, is_nan, hlo_vxor(b, sign, hlo_vconst(b, sign, -0.0)), sign);
  }
  return hlo_vor(b, value, sign);
}

// ---- to bf16 ------------------------------------------------------------------------------------

// Returns element index[lane] of a table of eight.
static value_t* look_up(builder_t* b, const uint16_t* table, value_t* index) {
  uint16_t lanes[HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < index->type.lanes; ++i) lanes[i] = table[i % TABLE_LANES];
  uint32_t blob = hlo_vir_module_add_blob(b->module, (const uint8_t*)lanes,
                                          (size_t)index->type.lanes * sizeof *lanes);
  value_t* address =
      hlo_vir_emit(b, HLO_VIR_rodata, hlo_vir_type(HLO_VIR_INDEX, 1), 0, blob, 0, NULL);
  value_t* operands[] = {
      hlo_vir_emit(b, HLO_VIR_load, index->type, HLO_VIR_INVARIANT, 0, 1, &address), index};
  const uint32_t part = index->type.lanes > TABLE_LANES ? TABLE_LANES : 0;
  return hlo_vir_emit(b, HLO_VIR_permute, index->type, 0, part, 2, operands);
}

static uint16_t upper_bits(float value) {  // those of the bf16, which holds the value
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

// Returns the bf16 of magnitudes: their bits move, and the bias changes. The first eight, among
// which are the subnormal numbers, are looked up. Subnormal numbers above them, of three more bits
// of mantissa, lie on the line of twice the slope.
static value_t* move_magnitude(builder_t* b, info_t* info, value_t* magnitude) {
  const int shift = BF16_MANTISSA_BITS - info->mantissa_bits;
  const int64_t bias = (int64_t)(BF16_BIAS - info->bias) << BF16_MANTISSA_BITS;
  uint16_t table[TABLE_LANES];
  for (uint32_t i = 0; i < TABLE_LANES; ++i) {
    table[i] = upper_bits((float)magnitude_value(info, i));
  }
  value_t* low = hlo_vand(b, magnitude, hlo_viconst(b, magnitude, TABLE_LANES - 1));
  value_t* looked_up = look_up(b, table, low);
  if (top_code(info) < TABLE_LANES) return looked_up;
  value_t* moved = hlo_viadd_k(b, hlo_vshl_k(b, magnitude, shift), bias);
  if (1u << info->mantissa_bits > TABLE_LANES) {
    const int64_t line = bias - ((int64_t)1 << BF16_MANTISSA_BITS);
    value_t* steeper = hlo_viadd_k(b, hlo_vshl_k(b, magnitude, shift + 1), line);
    moved = hlo_vir_binary(b, HLO_VIR_smin, moved, steeper);
  }
  value_t* is_low = hlo_vscmp_k(b, HLO_VIR_LT, magnitude, TABLE_LANES);
  return hlo_vselect(b, is_low, looked_up, moved);
}

static value_t* e8m0_to_bf16(builder_t* b, value_t* raw) {
  value_t* code = hlo_vir_convert(b, HLO_VIR_zext, HLO_VIR_I16, raw);
  value_t* bits = hlo_vshl_k(b, code, BF16_MANTISSA_BITS);
  value_t* is_least = hlo_vscmp_k(b, HLO_VIR_EQ, code, 0);
  bits = hlo_vselect(b, is_least, hlo_viconst(b, code, 1 << (BF16_MANTISSA_BITS - 1)), bits);
  value_t* is_nan = hlo_vscmp_k(b, HLO_VIR_EQ, code, 0xff);
  return hlo_vselect(b, is_nan, hlo_viconst(b, code, BF16_NAN), bits);
}

// Looks integers of at most four bits up, below their highest bit and from it on.
static value_t* integer_to_bf16(builder_t* b, info_t* info, value_t* raw) {
  uint16_t tables[2][TABLE_LANES];
  for (int i = 0; i < 2 * TABLE_LANES; ++i) {
    const int sign = info->klass == HLO_DTYPE_CLASS_SIGNED ? 1 << (info->bits - 1) : 0;
    const float value = (float)(((i & ((1 << info->bits) - 1)) ^ sign) - sign);
    tables[i / TABLE_LANES][i % TABLE_LANES] = upper_bits(value);
  }
  value_t* code = hlo_vir_convert(b, HLO_VIR_zext, HLO_VIR_I16, raw);
  value_t* low = hlo_vand(b, code, hlo_viconst(b, code, TABLE_LANES - 1));
  value_t* looked_up = look_up(b, tables[0], low);
  if (1 << info->bits <= TABLE_LANES) return looked_up;
  value_t* high = hlo_vand(b, code, hlo_viconst(b, code, TABLE_LANES));
  value_t* is_low = hlo_vscmp_k(b, HLO_VIR_EQ, high, 0);
  return hlo_vselect(b, is_low, looked_up, look_up(b, tables[1], low));
}

// ---- from bf16 ----------------------------------------------------------------------------------

// Returns the codes of bf16, both in I16, before they are truncated. A magnitude is a number with
// eight bits below the code's unit: the bf16's bits with another bias, shifted up, or for subnormal
// codes the significand, shifted up by what its exponent is above that of half of the least code.
// Where that is negative, the shift is too far, and gives zero.
static value_t* encode_bf16(builder_t* b, info_t* info, value_t* x) {
  const int unit_bits = 8, shift = unit_bits + info->mantissa_bits - BF16_MANTISSA_BITS;
  const int64_t hidden = 1 << BF16_MANTISSA_BITS;
  const int64_t least = (BF16_BIAS + 1 - info->bias) * hidden;  // of normal codes
  const int64_t lowest = least - (info->mantissa_bits + 1) * hidden;
  value_t* magnitude = hlo_vand(b, x, hlo_viconst(b, x, BF16_SIGN - 1));
  value_t* limit = hlo_viconst(b, x, upper_bits((float)magnitude_value(info, limit_code(info))));
  value_t* size = hlo_vir_binary(b, HLO_VIR_smin, magnitude, limit);
  if (info->specials == HLO_FLOAT_IEEE) {  // NaN becomes what its code is if read as a number
    const uint16_t nan = upper_bits((float)magnitude_value(info, nan_code(info)));
    value_t* is_nan = hlo_vscmp_k(b, HLO_VIR_GT, magnitude, BF16_INFINITY);
    size = hlo_vselect(b, is_nan, hlo_viconst(b, x, nan), size);
  }
  value_t* above = hlo_viadd_k(b, size, -lowest);
  value_t* significand =
      hlo_vor(b, hlo_vand(b, above, hlo_viconst(b, x, hidden - 1)), hlo_viconst(b, x, hidden));
  value_t* subnormal =
      hlo_vir_binary(b, HLO_VIR_shl, significand, hlo_vlshr_k(b, above, BF16_MANTISSA_BITS));
  value_t* normal = hlo_viadd_k(b, hlo_vshl_k(b, size, shift), -((least - hidden) << shift));
  value_t* is_subnormal = hlo_vscmp_k(b, HLO_VIR_LT, size, least);
  value_t* code = hlo_vselect(b, is_subnormal, subnormal, normal);
  // Ties go to even codes: one more than just below half is added to odd ones.
  value_t* is_odd = hlo_vand(b, hlo_vlshr_k(b, code, unit_bits), hlo_viconst(b, x, 1));
  code = hlo_viadd(b, hlo_viadd_k(b, code, (1 << (unit_bits - 1)) - 1), is_odd);
  value_t* sign = hlo_vand(b, x, hlo_viconst(b, x, BF16_SIGN));
  value_t* whole = hlo_vor(b, code, sign);
  if (info->specials == HLO_FLOAT_FNUZ) {  // has no negative zero
    value_t* is_zero = hlo_vucmp(b, HLO_VIR_LT, code, hlo_viconst(b, x, 1 << unit_bits));
    whole = hlo_vselect(b, is_zero, code, whole);
  }
  return hlo_vlshr_k(b, whole, unit_bits);
}

// ---- elements in memory form --------------------------------------------------------------------

static bool is_from_bf16(hlo_dtype_t from, hlo_dtype_t to) {
  return from == HLO_DTYPE_BF16 && hlo_dtype_is_float(to) && hlo_dtype_info(to)->bits == 8 &&
         to != HLO_DTYPE_F8E8M0FNU;
}

bool hlo_vmath_converts_raw(hlo_dtype_t from, hlo_dtype_t to) {
  if (is_from_bf16(from, to)) return true;
  info_t* info = hlo_dtype_info(from);
  const bool is_short = hlo_dtype_is_integer(from) && info->bits <= 4;
  const bool is_float = hlo_dtype_is_float(from) && info->bits <= 8;
  return (is_short || is_float) && to == HLO_DTYPE_BF16;
}

value_t* hlo_vmath_convert_raw(builder_t* b, hlo_dtype_t from, hlo_dtype_t to, value_t* raw) {
  if (is_from_bf16(from, to)) {
    return hlo_vir_convert(b, HLO_VIR_trunc, HLO_VIR_I8, encode_bf16(b, hlo_dtype_info(to), raw));
  }
  info_t* info = hlo_dtype_info(from);
  if (info->specials == HLO_FLOAT_E8M0) return e8m0_to_bf16(b, raw);
  if (!b->module->has_permute || raw->type.lanes < TABLE_LANES) {
    value_t* value = hlo_vmath_from_memory(b, from, raw);
    return hlo_vmath_to_memory(b, to, hlo_vmath_convert(b, from, to, value));
  }
  if (hlo_dtype_is_integer(from)) return integer_to_bf16(b, info, raw);
  value_t *sign, *magnitude;
  take_apart(b, info, raw, HLO_VIR_I16, 0, &sign, &magnitude);
  value_t* bits = move_magnitude(b, info, magnitude);
  bits = replace_specials(b, info, magnitude, bits, 0, BF16_INFINITY, BF16_NAN);
  return with_sign(b, info, sign, bits, BF16_NAN);
}
