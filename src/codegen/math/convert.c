// SPDX-License-Identifier: Apache-2.0
// Register and memory forms of the element types, and conversions between types. Formats below 16
// bits are encoded by their row of dtype.def.
#include <string.h>

#include "codegen/math/math_impl.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

typedef const hlo_dtype_info_t info_t;

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

static uint32_t top_code(info_t* info) {  // all bits below the sign bit
  return (1u << (info->bits - 1)) - 1u;
}
static uint32_t infinity_code(info_t* info) {
  return ((1u << info->exponent_bits) - 1u) << info->mantissa_bits;
}

static value_t* decode_e8m0(builder_t* b, value_t* code) {
  value_t* bits = hlo_vshl_k(b, code, 23);
  bits =
      hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, code, 0), hlo_viconst(b, code, 0x00400000), bits);
  bits = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, code, 0xff), hlo_viconst(b, code, 0x7fc00000),
                     bits);
  return hlo_vof_bits(b, bits);
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

// Returns the F32 of codes in I32.
static value_t* decode_float(builder_t* b, info_t* info, value_t* code) {
  if (info->specials == HLO_FLOAT_E8M0) return decode_e8m0(b, code);
  value_t* magnitude = hlo_vand(b, code, hlo_viconst(b, code, top_code(info)));
  value_t* value = with_bias(b, info, hlo_vshl_k(b, magnitude, 23 - info->mantissa_bits));
  value_t* nan = hlo_vconst(b, value, NAN);
  const int64_t infinity = infinity_code(info);
  if (info->specials == HLO_FLOAT_IEEE) {
    value = hlo_vreplace_k(b, value, hlo_vscmp_k(b, HLO_VIR_EQ, magnitude, infinity), INFINITY);
    value = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_GT, magnitude, infinity), nan, value);
  } else if (info->specials == HLO_FLOAT_FN) {
    value = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, magnitude, top_code(info)), nan, value);
  } else if (info->specials == HLO_FLOAT_FNUZ) {
    value = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, code, top_code(info) + 1), nan, value);
  }
  value_t* sign = hlo_vshl_k(b, code, 32 - info->bits);
  return hlo_vor(b, value, hlo_vsign_bit(b, hlo_vof_bits(b, sign)));
}

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

// Replaces the codes of non-finite values and adds the sign.
static value_t* finish_code(builder_t* b, info_t* info, value_t* x, value_t* code) {
  const uint32_t top = top_code(info), infinity = infinity_code(info), sign_code = top + 1;
  value_t* is_nan = hlo_vcmp(b, HLO_VIR_UNORDERED, x, x);
  value_t* sign = hlo_vand(b, hlo_vlshr_k(b, hlo_vbits(b, x), 32 - info->bits),
                           hlo_viconst(b, code, sign_code));
  const bool is_ieee = info->specials == HLO_FLOAT_IEEE;
  value_t* limit = hlo_viconst(b, code, is_ieee ? infinity : top);
  value_t* is_above = hlo_vucmp(b, HLO_VIR_GT, code, limit);
  if (info->specials == HLO_FLOAT_FNUZ) {  // has neither a negative zero nor infinities
    value_t* is_zero = hlo_vscmp_k(b, HLO_VIR_EQ, code, 0);
    code = hlo_vselect(b, is_zero, code, hlo_vor(b, code, sign));
    return hlo_vselect(b, hlo_vmask_or(b, is_nan, is_above), hlo_viconst(b, code, sign_code), code);
  }
  code = hlo_vselect(b, is_above, limit, code);
  uint32_t nan_code = is_ieee ? infinity | 1u << (info->mantissa_bits - 1) : top;
  if (info->specials == HLO_FLOAT_FINITE) {  // NaN becomes a zero of the other sign
    nan_code = 0;
    sign = hlo_vselect(b, is_nan, hlo_vxor(b, sign, hlo_viconst(b, code, sign_code)), sign);
  }
  return hlo_vor(b, hlo_vselect(b, is_nan, hlo_viconst(b, code, nan_code), code), sign);
}

// Returns the nearest code in I32, ties to even.
static value_t* encode_float(builder_t* b, info_t* info, value_t* x) {
  if (info->specials == HLO_FLOAT_E8M0) return encode_e8m0(b, x);
  const int shift = 23 - info->mantissa_bits;
  value_t* size = hlo_vabs(b, x);
  value_t* bits = hlo_vbits(b, size);
  value_t* odd = hlo_vand(b, hlo_vlshr_k(b, bits, shift), hlo_viconst(b, bits, 1));
  value_t* rounded = hlo_viadd(b, hlo_viadd_k(b, bits, (1 << (shift - 1)) - 1), odd);
  value_t* normal = hlo_viadd_k(b, hlo_vlshr_k(b, rounded, shift),
                                -(int64_t)((uint32_t)(127 - info->bias) << info->mantissa_bits));
  // Adding a power of two whose last place is the smallest code rounds subnormal results.
  const double magic = ldexp(1, 1 - info->bias - info->mantissa_bits + 23);
  value_t* sum = hlo_vadd_k(b, size, magic);
  value_t* subnormal = hlo_visub(b, hlo_vbits(b, sum), hlo_vbits(b, hlo_vconst(b, size, magic)));
  value_t* is_small = hlo_vcmp_k(b, HLO_VIR_LT, size, ldexp(1, 1 - info->bias));
  return finish_code(b, info, x, hlo_vselect(b, is_small, subnormal, normal));
}

// ---- narrow floats -----------------------------------------------------------------------------

value_t* hlo_vmath_nearest_bf16(builder_t* b, value_t* x) {
  value_t* bits = hlo_vbits(b, x);
  value_t* odd = hlo_vand(b, hlo_vlshr_k(b, bits, 16), hlo_viconst(b, bits, 1));
  value_t* rounded = hlo_viadd(b, hlo_viadd_k(b, bits, 0x7fff), odd);
  return hlo_vof_bits(b, hlo_vand(b, rounded, hlo_viconst(b, bits, (int64_t)0xffff0000)));
}

static value_t* round_to_bf16(builder_t* b, value_t* x) {
  value_t* rounded = hlo_vmath_nearest_bf16(b, x);
  return hlo_vreplace_k(b, rounded, hlo_vcmp(b, HLO_VIR_UNORDERED, x, x), NAN);
}

// Returns the f16 that the f32 was converted from or equals; NULL if it is unknown.
static value_t* half_of(builder_t* b, value_t* x) {
  if (x->op == HLO_VIR_half_to_f32 && x->operands[0]->op != HLO_VIR_var) return x->operands[0];
  if (x->op != HLO_VIR_const) return NULL;
  uint32_t bits = (uint32_t)x->imm;
  float value;
  memcpy(&value, &bits, sizeof value);
  uint16_t half = hlo_f32_to_f16(value);
  return hlo_f16_to_f32(half) == value ? hlo_vir_const_bits(b, hlo_vwith_elem(x, HLO_VIR_I16), half)
                                       : NULL;
}

// Returns the op on f16, which rounds once. Rounding the f32 op to f16 gives the same result,
// because f32 has more than twice as many significand bits plus two. NULL: no such instruction.
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
    value_t* high = hlo_vshl_k(b, x, 8 - info->bits);
    return is_signed ? hlo_vashr_k(b, high, 8 - info->bits) : hlo_vlshr_k(b, high, 8 - info->bits);
  }
  if (!is_narrow_float(info)) return x;
  if (dtype == HLO_DTYPE_BF16) return round_to_bf16(b, x);
  if (dtype == HLO_DTYPE_F16) {
    value_t* half = b->module->has_half ? half_op(b, x) : NULL;
    if (!half) half = hlo_vir_convert(b, HLO_VIR_f32_to_half, HLO_VIR_I16, x);
    return hlo_vir_convert(b, HLO_VIR_half_to_f32, HLO_VIR_F32, half);
  }
  return decode_float(b, info, encode_float(b, info, x));
}

value_t* hlo_vmath_from_memory(builder_t* b, hlo_dtype_t dtype, value_t* raw) {
  info_t* info = hlo_dtype_info(dtype);
  if (dtype == HLO_DTYPE_PRED) return hlo_vscmp_k(b, HLO_VIR_NE, raw, 0);
  if (!is_narrow_float(info)) return raw;
  if (dtype == HLO_DTYPE_F16) return hlo_vir_convert(b, HLO_VIR_half_to_f32, HLO_VIR_F32, raw);
  value_t* code = hlo_vir_convert(b, HLO_VIR_zext, HLO_VIR_I32, raw);
  return dtype == HLO_DTYPE_BF16 ? hlo_vof_bits(b, hlo_vshl_k(b, code, 16))
                                 : decode_float(b, info, code);
}

value_t* hlo_vmath_to_memory(builder_t* b, hlo_dtype_t dtype, value_t* x) {
  info_t* info = hlo_dtype_info(dtype);
  if (dtype == HLO_DTYPE_PRED) {
    const hlo_vir_type_t type = hlo_vwith_elem(x, HLO_VIR_I8);
    return hlo_vselect(b, x, hlo_vir_const_bits(b, type, 1), hlo_vir_const_bits(b, type, 0));
  }
  if (!is_narrow_float(info)) return x;
  if (dtype == HLO_DTYPE_F16) {
    if (x->op == HLO_VIR_half_to_f32) return x->operands[0];
    return hlo_vir_convert(b, HLO_VIR_f32_to_half, HLO_VIR_I16, x);
  }
  value_t* code =
      dtype == HLO_DTYPE_BF16 ? hlo_vlshr_k(b, hlo_vbits(b, x), 16) : encode_float(b, info, x);
  return hlo_vir_convert(b, HLO_VIR_trunc, integer_elem(info->bits), code);
}

// ---- floats to others ---------------------------------------------------------------------------

// Converts F64 to F32 such that a second rounding to fewer bits equals a single rounding: inexact
// results have the last bit set. source: Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums" (rounding to odd)
static value_t* round_to_odd(builder_t* b, value_t* x) {
  value_t* near = hlo_vir_convert(b, HLO_VIR_ftrunc, HLO_VIR_F32, x);
  value_t* back = hlo_vir_convert(b, HLO_VIR_fext, HLO_VIR_F64, near);
  value_t* bits = hlo_vbits(b, near);
  value_t* is_even = hlo_vscmp_k(b, HLO_VIR_EQ, hlo_vand(b, bits, hlo_viconst(b, bits, 1)), 0);
  value_t* is_above = hlo_vcmp(b, HLO_VIR_GT, hlo_vabs(b, back), hlo_vabs(b, x));
  value_t* is_below = hlo_vcmp(b, HLO_VIR_LT, hlo_vabs(b, back), hlo_vabs(b, x));
  value_t* up = hlo_vselect(b, hlo_vmask_and(b, is_even, is_below), hlo_viadd_k(b, bits, 1), bits);
  return hlo_vof_bits(
      b, hlo_vselect(b, hlo_vmask_and(b, is_even, is_above), hlo_viadd_k(b, bits, -1), up));
}

static value_t* float_to_float(builder_t* b, hlo_dtype_t from, hlo_dtype_t to, value_t* x) {
  if (to == HLO_DTYPE_F64) return hlo_vir_convert(b, HLO_VIR_fext, HLO_VIR_F64, x);
  if (from == HLO_DTYPE_F64) {
    if (to == HLO_DTYPE_F32) return hlo_vir_convert(b, HLO_VIR_ftrunc, HLO_VIR_F32, x);
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
    x = hlo_vat_most(b, hlo_vat_least(b, x, is_signed ? -limit : 0), limit - 1);
    return hlo_vir_convert(b, HLO_VIR_trunc, elem,
                           hlo_vir_convert(b, HLO_VIR_ftos, HLO_VIR_I32, x));
  }
  if (!is_signed) {  // the maximum of NaN and 0 is 0; overflow gives all bits, the largest number
    return hlo_vir_convert(b, HLO_VIR_ftou, elem, hlo_vmax(b, x, hlo_vconst(b, x, 0)));
  }
  value_t* whole = hlo_vir_convert(b, HLO_VIR_ftos, elem, x);
  value_t* high = hlo_viconst(b, whole, to->bits == 64 ? INT64_MAX : INT32_MAX);
  whole = hlo_vselect(b, hlo_vcmp_k(b, HLO_VIR_GE, x, limit), high, whole);
  return hlo_vselect(b, hlo_vcmp(b, HLO_VIR_UNORDERED, x, x), hlo_viconst(b, whole, 0), whole);
}

// ---- integers to others -------------------------------------------------------------------------

static value_t* integer_to_integer(builder_t* b, info_t* from, info_t* to, value_t* x) {
  const hlo_vir_elem_t elem = integer_elem(to->bits);
  const unsigned from_bits = hlo_vir_elem_bits(integer_elem(from->bits));
  const bool is_signed = from->klass == HLO_DTYPE_CLASS_SIGNED;
  if (hlo_vir_elem_bits(elem) > from_bits) {
    return hlo_vir_convert(b, is_signed ? HLO_VIR_sext : HLO_VIR_zext, elem, x);
  }
  return hlo_vir_elem_bits(elem) < from_bits ? hlo_vir_convert(b, HLO_VIR_trunc, elem, x) : x;
}

// Replaces the lowest `bits` bits of a large x with one sticky bit above them: a float with that
// many bits less represents the result, and only a later rounding is inexact.
static value_t* with_sticky_bit(builder_t* b, bool is_signed, value_t* x, int bits, int64_t large) {
  const int64_t low_bits = ((int64_t)1 << bits) - 1;
  value_t* low = hlo_vand(b, x, hlo_viconst(b, x, low_bits));
  value_t* high = hlo_vand(b, x, hlo_viconst(b, x, ~low_bits));
  value_t* marked = hlo_vor(b, high, hlo_viconst(b, x, low_bits + 1));
  value_t* sticky = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, low, 0), high, marked);
  value_t* is_large;
  if (is_signed) {
    is_large = hlo_vucmp(b, HLO_VIR_GT, hlo_viadd_k(b, x, large), hlo_viconst(b, x, 2 * large));
  } else {
    is_large = hlo_vucmp(b, HLO_VIR_GT, x, hlo_viconst(b, x, large));
  }
  return hlo_vselect(b, is_large, sticky, x);
}

static value_t* integer_to_float(builder_t* b, info_t* from, hlo_dtype_t to, value_t* x) {
  const bool is_signed = from->klass == HLO_DTYPE_CLASS_SIGNED;
  const bool is_narrow = is_narrow_float(hlo_dtype_info(to));
  if (from->bits < 32)
    x = hlo_vir_convert(b, is_signed ? HLO_VIR_sext : HLO_VIR_zext, HLO_VIR_I32, x);
  const hlo_vir_opcode_t op = is_signed || from->bits < 32 ? HLO_VIR_stof : HLO_VIR_utof;
  if (!is_narrow) return hlo_vir_convert(b, op, to == HLO_DTYPE_F64 ? HLO_VIR_F64 : HLO_VIR_F32, x);
  if (from->bits == 64) {
    x = hlo_vir_convert(b, op, HLO_VIR_F64, with_sticky_bit(b, is_signed, x, 11, (int64_t)1 << 53));
    x = round_to_odd(b, x);
  } else {
    if (from->bits == 32) x = with_sticky_bit(b, is_signed, x, 8, 1 << 20);
    x = hlo_vir_convert(b, op, HLO_VIR_F32, x);
  }
  const bool is_exact = to == HLO_DTYPE_BF16 && from->bits <= 8;  // bf16 has eight significand bits
  return is_exact ? x : hlo_vmath_round_to(b, to, x);
}

static value_t* mask_to(builder_t* b, hlo_dtype_t to, value_t* x) {
  const hlo_vir_type_t type = hlo_vmath_type(to, x->type.lanes);
  if (hlo_dtype_is_float(to)) {
    value_t* one = hlo_vir_const_float(b, type, 1);
    return hlo_vmath_round_to(b, to, hlo_vselect(b, x, one, hlo_vir_const_float(b, type, 0)));
  }
  return hlo_vmath_round_to(
      b, to, hlo_vselect(b, x, hlo_vir_const_bits(b, type, 1), hlo_vir_const_bits(b, type, 0)));
}

value_t* hlo_vmath_convert(builder_t* b, hlo_dtype_t from, hlo_dtype_t to, value_t* x) {
  if (from == to) return x;
  info_t *a = hlo_dtype_info(from), *c = hlo_dtype_info(to);
  if (from == HLO_DTYPE_PRED) return mask_to(b, to, x);
  if (hlo_dtype_is_float(from)) {
    if (to == HLO_DTYPE_PRED) return hlo_vcmp_k(b, HLO_VIR_NE, x, 0);
    return hlo_dtype_is_float(to) ? float_to_float(b, from, to, x) : float_to_integer(b, c, x);
  }
  if (to == HLO_DTYPE_PRED) return hlo_vscmp_k(b, HLO_VIR_NE, x, 0);
  if (hlo_dtype_is_float(to)) return integer_to_float(b, a, to, x);
  return hlo_vmath_round_to(b, to, integer_to_integer(b, a, c, x));
}
