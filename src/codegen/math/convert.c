// SPDX-License-Identifier: Apache-2.0
// Register and memory forms of the element types, and conversions between types. Formats below 16
// bits are coded by their row of dtype.def.
#include <string.h>

#include "codegen/math/math_impl.h"

typedef const hlo_dtype_info_t info_t;

static value_t* convert_to(builder_t* b, hlo_vir_opcode_t op, hlo_vir_elem_t elem, value_t* x) {
  return hlo_vir_convert(b, op, elem, x);
}

// ---- forms --------------------------------------------------------------------------------------

static hlo_vir_elem_t integer_elem(unsigned bits) {
  return bits <= 8 ? HLO_VIR_I8 : bits == 16 ? HLO_VIR_I16 : bits == 32 ? HLO_VIR_I32 : HLO_VIR_I64;
}

static hlo_vir_elem_t elem_of(info_t* info) {
  switch (info->klass) {
    case HLO_DTYPE_CLASS_BOOL: return HLO_VIR_MASK;
    case HLO_DTYPE_CLASS_SIGNED:
    case HLO_DTYPE_CLASS_UNSIGNED: return integer_elem(info->bits);
    case HLO_DTYPE_CLASS_FLOAT: return info->bits == 64 ? HLO_VIR_F64 : HLO_VIR_F32;
    default: return HLO_VIR_VOID;
  }
}

static bool is_narrow_float(info_t* info) {
  return info->klass == HLO_DTYPE_CLASS_FLOAT && info->bits < 32;
}

hlo_vir_type_t hlo_vmath_type(hlo_dtype_t dtype, uint32_t lanes) {
  const hlo_vir_elem_t elem = elem_of(hlo_dtype_info(dtype));
  return hlo_vir_type(elem, elem == HLO_VIR_VOID ? 0 : lanes);
}

hlo_vir_type_t hlo_vmath_memory_type(hlo_dtype_t dtype, uint32_t lanes) {
  info_t* info = hlo_dtype_info(dtype);
  hlo_vir_elem_t elem = elem_of(info);
  if (elem == HLO_VIR_MASK || is_narrow_float(info)) elem = integer_elem(info->bits);
  return hlo_vir_type(elem, elem == HLO_VIR_VOID ? 0 : lanes);
}

// ---- formats of at most 8 bits -----------------------------------------------------------------

static uint32_t top_code(info_t* info) {  // all ones below the sign
  return (1u << (info->bits - 1)) - 1u;
}
static uint32_t infinity_code(info_t* info) {
  return ((1u << info->exponent_bits) - 1u) << info->mantissa_bits;
}

static value_t* decode_e8m0(builder_t* b, value_t* code) {
  value_t* bits = vshl_k(b, code, 23);
  bits = vselect(b, vscmp_k(b, HLO_VIR_EQ, code, 0), viconst(b, code, 0x00400000), bits);
  bits = vselect(b, vscmp_k(b, HLO_VIR_EQ, code, 0xff), viconst(b, code, 0x7fc00000), bits);
  return vof_bits(b, bits);
}

// F32 of a magnitude in I32, with the exponent where that of an f32 is, but with the wrong bias: it
// is scaled, subnormals included. Where subnormal numbers are flushed, those are put behind the 1 of
// the smallest normal number, which then goes.
static value_t* with_bias(builder_t* b, info_t* info, value_t* bits) {
  if (b->module->subnormals == HLO_SUBNORMALS_KEEP) {
    return vmul_k(b, vof_bits(b, bits), ldexp(1, 127 - info->bias));
  }
  const int64_t unit = (int64_t)1 << 23;  // of the exponent
  value_t* normal = viadd_k(b, bits, (127 - info->bias) * unit);
  value_t* subnormal = vadd_k(b, vof_bits(b, viadd_k(b, normal, unit)), -ldexp(1, 1 - info->bias));
  return vselect(b, vscmp_k(b, HLO_VIR_LT, bits, unit), subnormal, vof_bits(b, normal));
}

// F32 of codes in I32.
static value_t* decode(builder_t* b, info_t* info, value_t* code) {
  if (info->specials == HLO_FLOAT_E8M0) return decode_e8m0(b, code);
  value_t* magnitude = vand(b, code, viconst(b, code, top_code(info)));
  value_t* value = with_bias(b, info, vshl_k(b, magnitude, 23 - info->mantissa_bits));
  value_t* nan = vconst(b, value, NAN);
  const int64_t infinity = infinity_code(info);
  if (info->specials == HLO_FLOAT_IEEE) {
    value = vreplace_k(b, value, vscmp_k(b, HLO_VIR_EQ, magnitude, infinity), INFINITY);
    value = vselect(b, vscmp_k(b, HLO_VIR_GT, magnitude, infinity), nan, value);
  } else if (info->specials == HLO_FLOAT_FN) {
    value = vselect(b, vscmp_k(b, HLO_VIR_EQ, magnitude, top_code(info)), nan, value);
  } else if (info->specials == HLO_FLOAT_FNUZ) {
    value = vselect(b, vscmp_k(b, HLO_VIR_EQ, code, top_code(info) + 1), nan, value);
  }
  value_t* sign = vshl_k(b, code, 32 - info->bits);
  return vor(b, value, vsign_bit(b, vof_bits(b, sign)));
}

static value_t* encode_e8m0(builder_t* b, value_t* x) {
  // Ties go up. Below 2^-126 everything above 2^-127 is rounded up.
  value_t* bits = vbits(b, x);
  value_t* one = viconst(b, bits, 1);
  value_t* half = viconst(b, bits, 0x00400000);
  value_t* code = vlshr_k(b, viadd(b, bits, half), 23);
  value_t* low = vselect(b, vucmp(b, HLO_VIR_GT, bits, half), one, viconst(b, bits, 0));
  code = vselect(b, vucmp(b, HLO_VIR_LT, bits, viconst(b, bits, 0x00800000)), low, code);
  value_t* is_positive =
      vucmp(b, HLO_VIR_LT, visub(b, bits, one), viconst(b, bits, 0x7f800000 - 1));
  return vselect(b, is_positive, code, viconst(b, bits, 0xff));
}

// What of a code is not finite, put in its place; the sign is added.
static value_t* finish_code(builder_t* b, info_t* info, value_t* x, value_t* code) {
  const uint32_t top = top_code(info), infinity = infinity_code(info), sign_code = top + 1;
  value_t* is_nan = vcmp(b, HLO_VIR_UNORDERED, x, x);
  value_t* sign = vand(b, vlshr_k(b, vbits(b, x), 32 - info->bits), viconst(b, code, sign_code));
  const bool is_ieee = info->specials == HLO_FLOAT_IEEE;
  value_t* limit = viconst(b, code, is_ieee ? infinity : top);
  value_t* is_above = vucmp(b, HLO_VIR_GT, code, limit);
  if (info->specials == HLO_FLOAT_FNUZ) {  // neither a negative zero nor infinities
    value_t* is_zero = vscmp_k(b, HLO_VIR_EQ, code, 0);
    code = vselect(b, is_zero, code, vor(b, code, sign));
    return vselect(b, vmask_or(b, is_nan, is_above), viconst(b, code, sign_code), code);
  }
  code = vselect(b, is_above, limit, code);
  uint32_t nan_code = is_ieee ? infinity | 1u << (info->mantissa_bits - 1) : top;
  if (info->specials == HLO_FLOAT_FINITE) {  // a zero of the other sign
    nan_code = 0;
    sign = vselect(b, is_nan, vxor(b, sign, viconst(b, code, sign_code)), sign);
  }
  return vor(b, vselect(b, is_nan, viconst(b, code, nan_code), code), sign);
}

// The nearest code in I32, ties to even.
static value_t* encode(builder_t* b, info_t* info, value_t* x) {
  if (info->specials == HLO_FLOAT_E8M0) return encode_e8m0(b, x);
  const int shift = 23 - info->mantissa_bits;
  value_t* size = vabs(b, x);
  value_t* bits = vbits(b, size);
  value_t* odd = vand(b, vlshr_k(b, bits, shift), viconst(b, bits, 1));
  value_t* rounded = viadd(b, viadd_k(b, bits, (1 << (shift - 1)) - 1), odd);
  value_t* normal = viadd_k(b, vlshr_k(b, rounded, shift),
                            -(int64_t)((uint32_t)(127 - info->bias) << info->mantissa_bits));
  // Adding a power of two whose last bit is the smallest code rounds subnormal results.
  const double magic = ldexp(1, 1 - info->bias - info->mantissa_bits + 23);
  value_t* sum = vadd_k(b, size, magic);
  value_t* subnormal = visub(b, vbits(b, sum), vbits(b, vconst(b, size, magic)));
  value_t* is_small = vcmp_k(b, HLO_VIR_LT, size, ldexp(1, 1 - info->bias));
  return finish_code(b, info, x, vselect(b, is_small, subnormal, normal));
}

// ---- narrow floats -----------------------------------------------------------------------------

value_t* hlo_vmath_nearest_bf16(builder_t* b, value_t* x) {
  value_t* bits = vbits(b, x);
  value_t* odd = vand(b, vlshr_k(b, bits, 16), viconst(b, bits, 1));
  value_t* rounded = viadd(b, viadd_k(b, bits, 0x7fff), odd);
  return vof_bits(b, vand(b, rounded, viconst(b, bits, (int64_t)0xffff0000)));
}

static value_t* round_to_bf16(builder_t* b, value_t* x) {
  value_t* rounded = hlo_vmath_nearest_bf16(b, x);
  return vreplace_k(b, rounded, vcmp(b, HLO_VIR_UNORDERED, x, x), NAN);
}

// The f16 that an f32 was made of, or is; NULL if there is none at hand.
static value_t* half_of(builder_t* b, value_t* x) {
  if (x->op == HLO_VIR_half_to_f32 && x->operands[0]->op != HLO_VIR_var) return x->operands[0];
  if (x->op != HLO_VIR_const) return NULL;
  uint32_t bits = (uint32_t)x->imm;
  float value;
  memcpy(&value, &bits, sizeof value);
  uint16_t half = hlo_f32_to_f16(value);
  return hlo_f16_to_f32(half) == value ? hlo_vir_const_bits(b, with_elem(x, HLO_VIR_I16), half)
                                       : NULL;
}

// An op on f16 that rounds once gives what the same op in f32 gives when it is rounded to f16,
// because f32 has more than twice as many bits and two more. NULL: there is no such op.
static value_t* half_op(builder_t* b, value_t* x) {
  hlo_vir_opcode_t op;
  switch (x->op) {
    case HLO_VIR_fadd: op = HLO_VIR_half_add; break;
    case HLO_VIR_fsub: op = HLO_VIR_half_sub; break;
    case HLO_VIR_fmul: op = HLO_VIR_half_mul; break;
    case HLO_VIR_fdiv: op = HLO_VIR_half_div; break;
    case HLO_VIR_fsqrt: op = HLO_VIR_half_sqrt; break;
    default: return NULL;
  }
  value_t* operands[2] = {0};
  for (uint32_t i = 0; i < x->operand_count; ++i) {
    operands[i] = half_of(b, x->operands[i]);
    if (!operands[i]) return NULL;
  }
  return hlo_vir_emit(b, op, operands[0]->type, 0, 0, x->operand_count, operands);
}

value_t* hlo_vmath_round_to(builder_t* b, hlo_dtype_t dtype, value_t* x) {
  info_t* info = hlo_dtype_info(dtype);
  const bool is_signed = info->klass == HLO_DTYPE_CLASS_SIGNED;
  if (hlo_dtype_is_integer(dtype)) {
    if (info->bits >= 8) return x;
    value_t* high = vshl_k(b, x, 8 - info->bits);
    return is_signed ? vashr_k(b, high, 8 - info->bits) : vlshr_k(b, high, 8 - info->bits);
  }
  if (!is_narrow_float(info)) return x;
  if (dtype == HLO_DTYPE_BF16) return round_to_bf16(b, x);
  if (dtype == HLO_DTYPE_F16) {
    value_t* half = b->module->has_half ? half_op(b, x) : NULL;
    if (!half) half = convert_to(b, HLO_VIR_f32_to_half, HLO_VIR_I16, x);
    return convert_to(b, HLO_VIR_half_to_f32, HLO_VIR_F32, half);
  }
  return decode(b, info, encode(b, info, x));
}

value_t* hlo_vmath_from_memory(builder_t* b, hlo_dtype_t dtype, value_t* raw) {
  info_t* info = hlo_dtype_info(dtype);
  if (dtype == HLO_DTYPE_PRED) return vscmp_k(b, HLO_VIR_NE, raw, 0);
  if (!is_narrow_float(info)) return raw;
  if (dtype == HLO_DTYPE_F16) return convert_to(b, HLO_VIR_half_to_f32, HLO_VIR_F32, raw);
  value_t* code = convert_to(b, HLO_VIR_zext, HLO_VIR_I32, raw);
  return dtype == HLO_DTYPE_BF16 ? vof_bits(b, vshl_k(b, code, 16)) : decode(b, info, code);
}

value_t* hlo_vmath_to_memory(builder_t* b, hlo_dtype_t dtype, value_t* x) {
  info_t* info = hlo_dtype_info(dtype);
  if (dtype == HLO_DTYPE_PRED) {
    const hlo_vir_type_t type = with_elem(x, HLO_VIR_I8);
    return vselect(b, x, hlo_vir_const_bits(b, type, 1), hlo_vir_const_bits(b, type, 0));
  }
  if (!is_narrow_float(info)) return x;
  if (dtype == HLO_DTYPE_F16) {
    if (x->op == HLO_VIR_half_to_f32) return x->operands[0];
    return convert_to(b, HLO_VIR_f32_to_half, HLO_VIR_I16, x);
  }
  value_t* code = dtype == HLO_DTYPE_BF16 ? vlshr_k(b, vbits(b, x), 16) : encode(b, info, x);
  return convert_to(b, HLO_VIR_trunc, integer_elem(info->bits), code);
}

// ---- floats to others ---------------------------------------------------------------------------

// F64 to F32 such that another rounding to fewer bits gives what one rounding would: inexact
// results have the last bit set. source: Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums" (rounding to odd)
static value_t* round_to_odd(builder_t* b, value_t* x) {
  value_t* near = convert_to(b, HLO_VIR_ftrunc, HLO_VIR_F32, x);
  value_t* back = convert_to(b, HLO_VIR_fext, HLO_VIR_F64, near);
  value_t* bits = vbits(b, near);
  value_t* is_even = vscmp_k(b, HLO_VIR_EQ, vand(b, bits, viconst(b, bits, 1)), 0);
  value_t* is_above = vcmp(b, HLO_VIR_GT, vabs(b, back), vabs(b, x));
  value_t* is_below = vcmp(b, HLO_VIR_LT, vabs(b, back), vabs(b, x));
  value_t* up = vselect(b, vmask_and(b, is_even, is_below), viadd_k(b, bits, 1), bits);
  return vof_bits(b, vselect(b, vmask_and(b, is_even, is_above), viadd_k(b, bits, -1), up));
}

static value_t* float_to_float(builder_t* b, hlo_dtype_t from, hlo_dtype_t to, value_t* x) {
  if (to == HLO_DTYPE_F64) return convert_to(b, HLO_VIR_fext, HLO_VIR_F64, x);
  if (from == HLO_DTYPE_F64) {
    if (to == HLO_DTYPE_F32) return convert_to(b, HLO_VIR_ftrunc, HLO_VIR_F32, x);
    x = round_to_odd(b, x);
  }
  return hlo_dtype_convert_is_lossless(from, to) ? x : hlo_vmath_round_to(b, to, x);
}

// Truncates toward zero and saturates; NaN is 0. Below 32 bits the clamped value is converted to
// I32, where a NaN becomes the smallest integer, whose low bits are 0.
static value_t* float_to_integer(builder_t* b, info_t* to, value_t* x) {
  const bool is_signed = to->klass == HLO_DTYPE_CLASS_SIGNED;
  const hlo_vir_elem_t elem = integer_elem(to->bits);
  const double limit = ldexp(1, to->bits - is_signed);
  if (to->bits < 32) {
    x = vat_most(b, vat_least(b, x, is_signed ? -limit : 0), limit - 1);
    return convert_to(b, HLO_VIR_trunc, elem, convert_to(b, HLO_VIR_ftos, HLO_VIR_I32, x));
  }
  if (!is_signed) {  // a NaN is no maximum either; all bits are the largest number
    return convert_to(b, HLO_VIR_ftou, elem, vmax(b, x, vconst(b, x, 0)));
  }
  value_t* whole = convert_to(b, HLO_VIR_ftos, elem, x);
  value_t* high = viconst(b, whole, to->bits == 64 ? INT64_MAX : INT32_MAX);
  whole = vselect(b, vcmp_k(b, HLO_VIR_GE, x, limit), high, whole);
  return vselect(b, vcmp(b, HLO_VIR_UNORDERED, x, x), viconst(b, whole, 0), whole);
}

// ---- integers to others -------------------------------------------------------------------------

static value_t* integer_to_integer(builder_t* b, info_t* from, info_t* to, value_t* x) {
  const hlo_vir_elem_t elem = integer_elem(to->bits);
  const unsigned from_bits = hlo_vir_elem_bits(integer_elem(from->bits));
  const bool is_signed = from->klass == HLO_DTYPE_CLASS_SIGNED;
  if (hlo_vir_elem_bits(elem) > from_bits) {
    return convert_to(b, is_signed ? HLO_VIR_sext : HLO_VIR_zext, elem, x);
  }
  return hlo_vir_elem_bits(elem) < from_bits ? convert_to(b, HLO_VIR_trunc, elem, x) : x;
}

// Where x is large, its lowest bits become one sticky bit above them, so that a float with as many
// bits less represents x and a later rounding is the only one.
static value_t* with_sticky_bit(builder_t* b, bool is_signed, value_t* x, int bits, int64_t large) {
  const int64_t low_bits = ((int64_t)1 << bits) - 1;
  value_t* low = vand(b, x, viconst(b, x, low_bits));
  value_t* high = vand(b, x, viconst(b, x, ~low_bits));
  value_t* marked = vor(b, high, viconst(b, x, low_bits + 1));
  value_t* sticky = vselect(b, vscmp_k(b, HLO_VIR_EQ, low, 0), high, marked);
  value_t* is_large;
  if (is_signed) {
    is_large = vucmp(b, HLO_VIR_GT, viadd_k(b, x, large), viconst(b, x, 2 * large));
  } else {
    is_large = vucmp(b, HLO_VIR_GT, x, viconst(b, x, large));
  }
  return vselect(b, is_large, sticky, x);
}

static value_t* integer_to_float(builder_t* b, info_t* from, hlo_dtype_t to, value_t* x) {
  const bool is_signed = from->klass == HLO_DTYPE_CLASS_SIGNED;
  const bool is_narrow = is_narrow_float(hlo_dtype_info(to));
  if (from->bits < 32) x = convert_to(b, is_signed ? HLO_VIR_sext : HLO_VIR_zext, HLO_VIR_I32, x);
  const hlo_vir_opcode_t op = is_signed || from->bits < 32 ? HLO_VIR_stof : HLO_VIR_utof;
  if (!is_narrow) return convert_to(b, op, to == HLO_DTYPE_F64 ? HLO_VIR_F64 : HLO_VIR_F32, x);
  if (from->bits == 64) {
    x = convert_to(b, op, HLO_VIR_F64, with_sticky_bit(b, is_signed, x, 11, (int64_t)1 << 53));
    x = round_to_odd(b, x);
  } else {
    if (from->bits == 32) x = with_sticky_bit(b, is_signed, x, 8, 1 << 20);
    x = convert_to(b, op, HLO_VIR_F32, x);
  }
  const bool is_exact = to == HLO_DTYPE_BF16 && from->bits <= 8;  // bf16 has eight bits, too
  return is_exact ? x : hlo_vmath_round_to(b, to, x);
}

static value_t* mask_to(builder_t* b, hlo_dtype_t to, value_t* x) {
  const hlo_vir_type_t type = hlo_vmath_type(to, x->type.lanes);
  if (hlo_dtype_is_float(to)) {
    value_t* one = hlo_vir_const_float(b, type, 1);
    return hlo_vmath_round_to(b, to, vselect(b, x, one, hlo_vir_const_float(b, type, 0)));
  }
  return hlo_vmath_round_to(
      b, to, vselect(b, x, hlo_vir_const_bits(b, type, 1), hlo_vir_const_bits(b, type, 0)));
}

value_t* hlo_vmath_convert(builder_t* b, hlo_dtype_t from, hlo_dtype_t to, value_t* x) {
  if (from == to) return x;
  info_t *a = hlo_dtype_info(from), *c = hlo_dtype_info(to);
  if (from == HLO_DTYPE_PRED) return mask_to(b, to, x);
  if (hlo_dtype_is_float(from)) {
    if (to == HLO_DTYPE_PRED) return vcmp_k(b, HLO_VIR_NE, x, 0);
    return hlo_dtype_is_float(to) ? float_to_float(b, from, to, x) : float_to_integer(b, c, x);
  }
  if (to == HLO_DTYPE_PRED) return vscmp_k(b, HLO_VIR_NE, x, 0);
  if (hlo_dtype_is_float(to)) return integer_to_float(b, a, to, x);
  return hlo_vmath_round_to(b, to, integer_to_integer(b, a, c, x));
}
