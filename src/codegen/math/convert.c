// SPDX-License-Identifier: Apache-2.0
// Register and memory forms of the element types, and conversions between types.
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
    const int64_t sign = (int64_t)1 << (info->bits - 1);
    value_t* low = hlo_vand(b, x, hlo_viconst(b, x, 2 * sign - 1));
    if (!is_signed) return low;
    return hlo_viadd_k(b, hlo_vxor(b, low, hlo_viconst(b, x, sign)), -sign);
  }
  if (!is_narrow_float(info)) return x;
  if (dtype == HLO_DTYPE_BF16) return round_to_bf16(b, x);
  if (dtype == HLO_DTYPE_F16) {
    value_t* half = b->module->has_half ? half_op(b, x) : NULL;
    if (!half) half = hlo_vir_convert(b, HLO_VIR_f32_to_half, HLO_VIR_I16, x);
    return hlo_vir_convert(b, HLO_VIR_half_to_f32, HLO_VIR_F32, half);
  }
  return hlo_vmath_round_float8(b, info, x);
}

value_t* hlo_vmath_from_memory(builder_t* b, hlo_dtype_t dtype, value_t* raw) {
  info_t* info = hlo_dtype_info(dtype);
  if (dtype == HLO_DTYPE_PRED) return hlo_vscmp_k(b, HLO_VIR_NE, raw, 0);
  if (!is_narrow_float(info)) return raw;
  if (dtype == HLO_DTYPE_F16) return hlo_vir_convert(b, HLO_VIR_half_to_f32, HLO_VIR_F32, raw);
  if (dtype != HLO_DTYPE_BF16) return hlo_vmath_decode(b, info, raw);
  value_t* code = hlo_vir_convert(b, HLO_VIR_zext, HLO_VIR_I32, raw);
  return hlo_vof_bits(b, hlo_vshl_k(b, code, 16));
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
      dtype == HLO_DTYPE_BF16 ? hlo_vlshr_k(b, hlo_vbits(b, x), 16) : hlo_vmath_encode(b, info, x);
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
