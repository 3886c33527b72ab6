// SPDX-License-Identifier: Apache-2.0
// Ops on integers and booleans. Division by zero gives all bits set; the one quotient that
// overflows wraps.
#include "codegen/math/integer.h"

#include "codegen/math/functions.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

typedef const hlo_dtype_info_t info_t;

static bool is_signed(info_t* info) {
  return info->klass == HLO_DTYPE_CLASS_SIGNED;
}

// ---- expressions -------------------------------------------------------------------------------

static value_t* integer_negate(builder_t* b, HLO_UNUSED info_t* info, value_t* x,
                               HLO_UNUSED value_t* y) {
  return hlo_visub(b, hlo_viconst(b, x, 0), x);
}
static value_t* integer_abs(builder_t* b, info_t* info, value_t* x, value_t* y) {
  if (!is_signed(info)) return x;
  return hlo_vir_binary(b, HLO_VIR_smax, x, integer_negate(b, info, x, y));
}
static value_t* integer_sign(builder_t* b, info_t* info, value_t* x, HLO_UNUSED value_t* y) {
  value_t* one = hlo_viconst(b, x, 1);
  if (!is_signed(info)) return hlo_vir_binary(b, HLO_VIR_umin, x, one);
  x = hlo_vir_binary(b, HLO_VIR_smin, x, one);
  return hlo_vir_binary(b, HLO_VIR_smax, x, hlo_viconst(b, x, -1));
}
static value_t* integer_not(builder_t* b, HLO_UNUSED info_t* info, value_t* x,
                            HLO_UNUSED value_t* y) {
  return hlo_vxor(b, x, hlo_viconst(b, x, -1));
}
// Clears the copies of the sign above an element of less than a byte.
static value_t* own_bits(builder_t* b, info_t* info, value_t* x) {
  const bool has_more = info->bits < 8 && is_signed(info);
  return has_more ? hlo_vand(b, x, hlo_viconst(b, x, (1 << info->bits) - 1)) : x;
}
static value_t* integer_popcount(builder_t* b, info_t* info, value_t* x, HLO_UNUSED value_t* y) {
  return hlo_vir_unary(b, HLO_VIR_popcount, own_bits(b, info, x));
}
static value_t* integer_clz(builder_t* b, info_t* info, value_t* x, HLO_UNUSED value_t* y) {
  value_t* zeros = hlo_vir_unary(b, HLO_VIR_clz, own_bits(b, info, x));
  return info->bits < 8 ? hlo_viadd_k(b, zeros, info->bits - 8) : zeros;
}
static value_t* integer_shift_right_logical(builder_t* b, info_t* info, value_t* x, value_t* y) {
  return hlo_vir_binary(b, HLO_VIR_lshr, own_bits(b, info, x), y);
}
// The top bit is a sign also of unsigned elements.
static value_t* integer_shift_right_arithmetic(builder_t* b, info_t* info, value_t* x, value_t* y) {
  const int unused = info->bits < 8 && !is_signed(info) ? 8 - (int)info->bits : 0;
  if (unused) x = hlo_vashr_k(b, hlo_vshl_k(b, x, unused), unused);
  return hlo_vir_binary(b, HLO_VIR_ashr, x, y);
}
static value_t* integer_square(builder_t* b, HLO_UNUSED info_t* info, value_t* x,
                               HLO_UNUSED value_t* y) {
  return hlo_vimul(b, x, x);
}

// ---- division -----------------------------------------------------------------------------------

// Returns 1 / y, rounded away from zero. Its product with a number that the type holds exactly is
// not below the quotient, and below the next integer.
static double inverse_above(const value_t* y) {
  const double bottom = hlo_vmath_float_of_bits(y);
  if (hlo_vis_f64(y)) {
    const double inverse = 1 / bottom;
    return fma(inverse, bottom, -1) < 0 ? nextafter(inverse, copysign(INFINITY, bottom)) : inverse;
  }
  const float inverse = 1 / (float)bottom;
  const bool is_below = (double)inverse * bottom < 1;
  return (double)(is_below ? nextafterf(inverse, (float)copysign(INFINITY, bottom)) : inverse);
}

static value_t* quotient_of(builder_t* b, value_t* x, value_t* y) {
  const bool is_known = y->op == HLO_VIR_const && hlo_vmath_float_of_bits(y) != 0;
  return is_known ? hlo_vmul_k(b, x, inverse_above(y)) : hlo_vdiv(b, x, y);
}

// Truncated quotients of integers that f32 (16 bits) or f64 (32 bits) hold are exact: the rounding
// error is smaller than the distance of a fraction from the next integer. x / 0 is out of range: an
// unsigned conversion gives all bits by itself, a signed one needs a select.
static value_t* divide_as(builder_t* b, hlo_vir_elem_t elem, bool is_signed_op, value_t* x,
                          value_t* y) {
  const hlo_vir_opcode_t in = is_signed_op ? HLO_VIR_stof : HLO_VIR_utof;
  const hlo_vir_opcode_t out = is_signed_op ? HLO_VIR_ftos : HLO_VIR_ftou;
  value_t* quotient =
      quotient_of(b, hlo_vir_convert(b, in, elem, x), hlo_vir_convert(b, in, elem, y));
  quotient = hlo_vir_convert(b, out, HLO_VIR_I32, quotient);
  if (!is_signed_op) return quotient;
  value_t* is_zero = hlo_vscmp_k(b, HLO_VIR_EQ, y, 0);
  return hlo_vselect(b, is_zero, hlo_viconst(b, y, -1), quotient);
}

static value_t* divide_signed_words(builder_t* b, value_t* x, value_t* y) {
  return divide_as(b, HLO_VIR_F64, true, x, y);
}
static value_t* divide_unsigned_words(builder_t* b, value_t* x, value_t* y) {
  return divide_as(b, HLO_VIR_F64, false, x, y);
}

static value_t* divide_narrow(builder_t* b, bool is_signed_op, value_t* x, value_t* y) {
  const hlo_vir_elem_t elem = (hlo_vir_elem_t)x->type.elem;
  const hlo_vir_opcode_t extend = is_signed_op ? HLO_VIR_sext : HLO_VIR_zext;
  x = hlo_vir_convert(b, extend, HLO_VIR_I32, x);
  y = hlo_vir_convert(b, extend, HLO_VIR_I32, y);
  value_t* quotient = divide_as(b, HLO_VIR_F32, is_signed_op, x, y);
  return hlo_vir_convert(b, HLO_VIR_trunc, elem, quotient);
}
static value_t* divide_signed_narrow(builder_t* b, value_t* x, value_t* y) {
  return divide_narrow(b, true, x, y);
}
static value_t* divide_unsigned_narrow(builder_t* b, value_t* x, value_t* y) {
  return divide_narrow(b, false, x, y);
}

// Divides single lanes of 64 bits. A divisor that would trap is replaced by 1, whose quotient is
// right for the overflow.
static value_t* divide_signed_wide(builder_t* b, value_t* x, value_t* y) {
  value_t* is_zero = hlo_vscmp_k(b, HLO_VIR_EQ, y, 0);
  value_t* overflows =
      hlo_vmask_and(b, hlo_vscmp_k(b, HLO_VIR_EQ, y, -1), hlo_vscmp_k(b, HLO_VIR_EQ, x, INT64_MIN));
  value_t* divisor = hlo_vselect(b, hlo_vmask_or(b, is_zero, overflows), hlo_viconst(b, y, 1), y);
  value_t* quotient = hlo_vir_binary(b, HLO_VIR_sdiv, x, divisor);
  return hlo_vselect(b, is_zero, hlo_viconst(b, y, -1), quotient);
}
static value_t* divide_unsigned_wide(builder_t* b, value_t* x, value_t* y) {
  value_t* is_zero = hlo_vscmp_k(b, HLO_VIR_EQ, y, 0);
  value_t* quotient =
      hlo_vir_binary(b, HLO_VIR_udiv, x, hlo_vselect(b, is_zero, hlo_viconst(b, y, 1), y));
  return hlo_vselect(b, is_zero, hlo_viconst(b, y, -1), quotient);
}

// Divides 64-bit numbers that f64 holds as the low bits of 1.5 2^52; others, if there are any, lane
// by lane.
static value_t* divide_wide(builder_t* b, bool s, value_t* x, value_t* y) {
  enum { BITS = 51 };
  const hlo_vector_fn_t divide_lane = s ? divide_signed_wide : divide_unsigned_wide;
  if (x->type.lanes == 1) return divide_lane(b, x, y);
  const int64_t bias = s ? (int64_t)1 << BITS : 0;
  value_t* high = hlo_vlshr_k(b, hlo_vor(b, hlo_viadd_k(b, x, bias), hlo_viadd_k(b, y, bias)),
                              s ? BITS + 1 : BITS);
  value_t* is_large = hlo_vscmp_k(b, HLO_VIR_NE, high, 0);
  value_t* holder = hlo_vir_const_float(b, hlo_vwith_elem(x, HLO_VIR_F64), 0x1.8p52);
  value_t* top = hlo_vsub(b, hlo_vof_bits(b, hlo_viadd(b, x, hlo_vbits(b, holder))), holder);
  value_t* bottom = hlo_vsub(b, hlo_vof_bits(b, hlo_viadd(b, y, hlo_vbits(b, holder))), holder);
  value_t* quotient = hlo_vround(b, quotient_of(b, top, bottom), HLO_VIR_TOWARD_ZERO);
  quotient = hlo_visub(b, hlo_vbits(b, hlo_vadd(b, quotient, holder)), hlo_vbits(b, holder));
  quotient = hlo_vselect(b, hlo_vscmp_k(b, HLO_VIR_EQ, y, 0), hlo_viconst(b, y, -1), quotient);
  value_t* result = hlo_vir_var(b, quotient);
  hlo_vir_begin_if(b, hlo_vany(b, is_large));
  value_t *inner_x = hlo_vir_var(b, x), *inner_y = hlo_vir_var(b, y);  // keep it in the `if`
  hlo_vir_set(b, result, hlo_vmath_in_parts(b, divide_lane, inner_x, inner_y, x->type.lanes));
  hlo_vir_end(b);
  return result;
}

// Returns k if y is 2^k in all lanes, -1 if that is unknown.
static int known_power_of_two(const value_t* y) {
  const unsigned bits = hlo_vir_elem_bits((hlo_vir_elem_t)y->type.elem);
  const uint64_t value = (uint64_t)y->imm & (bits == 64 ? ~0ull : (1ull << bits) - 1);
  const bool is_power = y->op == HLO_VIR_const && value && (value & (value - 1)) == 0;
  return is_power ? __builtin_ctzll(value) : -1;
}

// Rounds toward zero: 2^power - 1 is added to negative numbers before the shift.
static value_t* divide_by_power(builder_t* b, info_t* info, value_t* x, int power) {
  if (power == 0) return x;
  if (!is_signed(info)) return hlo_vlshr_k(b, x, power);
  const int bits = (int)hlo_vir_elem_bits((hlo_vir_elem_t)x->type.elem);
  value_t* more = hlo_vlshr_k(b, hlo_vashr_k(b, x, bits - 1), bits - power);
  return hlo_vashr_k(b, hlo_viadd(b, x, more), power);
}

static value_t* integer_divide(builder_t* b, info_t* info, value_t* x, value_t* y) {
  const bool s = is_signed(info);
  const int power = known_power_of_two(y);
  if (power >= 0 && !(s && power == (int)hlo_vir_elem_bits((hlo_vir_elem_t)y->type.elem) - 1)) {
    return divide_by_power(b, info, x, power);
  }
  switch (x->type.elem) {
    case HLO_VIR_I8:
      return hlo_vmath_in_parts(b, s ? divide_signed_narrow : divide_unsigned_narrow, x, y, 4);
    case HLO_VIR_I16:
      return hlo_vmath_in_parts(b, s ? divide_signed_narrow : divide_unsigned_narrow, x, y, 2);
    case HLO_VIR_I32:
      return hlo_vmath_in_parts(b, s ? divide_signed_words : divide_unsigned_words, x, y, 2);
    default: return divide_wide(b, s, x, y);
  }
}

// Computes x - (x / y) y; wrapping arithmetic is right also where the quotient overflows.
static value_t* integer_remainder(builder_t* b, info_t* info, value_t* x, value_t* y) {
  value_t* quotient = integer_divide(b, info, x, y);
  return hlo_visub(b, x, hlo_vimul(b, quotient, y));
}

// ---- the high half of products ------------------------------------------------------------------

// Elements of less than a byte have their whole product in a byte.
static value_t* high_of_short(builder_t* b, info_t* info, value_t* x, value_t* y) {
  value_t* product = hlo_vimul(b, x, y);
  return is_signed(info) ? hlo_vashr_k(b, product, (int)info->bits)
                         : hlo_vlshr_k(b, product, (int)info->bits);
}

static value_t* high_by_extending(builder_t* b, hlo_vir_opcode_t extend, value_t* x, value_t* y) {
  const hlo_vir_elem_t elem = (hlo_vir_elem_t)x->type.elem;
  const hlo_vir_elem_t wide = elem == HLO_VIR_I32 ? HLO_VIR_I64 : HLO_VIR_I32;
  value_t* product =
      hlo_vimul(b, hlo_vir_convert(b, extend, wide, x), hlo_vir_convert(b, extend, wide, y));
  return hlo_vir_convert(b, HLO_VIR_trunc, elem,
                         hlo_vlshr_k(b, product, (int)hlo_vir_elem_bits(elem)));
}
static value_t* high_signed(builder_t* b, value_t* x, value_t* y) {
  return high_by_extending(b, HLO_VIR_sext, x, y);
}
static value_t* high_unsigned(builder_t* b, value_t* x, value_t* y) {
  return high_by_extending(b, HLO_VIR_zext, x, y);
}

// Adds the products of 32-bit halves; a negative factor has 2^64 too many of the other.
static value_t* high_of_words(builder_t* b, bool s, value_t* x, value_t* y) {
  enum { HALF = 32 };
  value_t* mask = hlo_viconst(b, x, UINT32_MAX);
  value_t *a = hlo_vlshr_k(b, x, HALF), *c = hlo_vlshr_k(b, y, HALF);
  value_t *low_x = hlo_vand(b, x, mask), *low_y = hlo_vand(b, y, mask);
  value_t *cross = hlo_vimul(b, a, low_y), *other = hlo_vimul(b, low_x, c);
  value_t* middle = hlo_viadd(b, hlo_vand(b, cross, mask), hlo_vand(b, other, mask));
  middle = hlo_viadd(b, middle, hlo_vlshr_k(b, hlo_vimul(b, low_x, low_y), HALF));
  value_t* high = hlo_viadd(b, hlo_vimul(b, a, c), hlo_vlshr_k(b, middle, HALF));
  high = hlo_viadd(b, high, hlo_viadd(b, hlo_vlshr_k(b, cross, HALF), hlo_vlshr_k(b, other, HALF)));
  if (!s) return high;
  high = hlo_visub(b, high, hlo_vand(b, hlo_vashr_k(b, x, 63), y));
  return hlo_visub(b, high, hlo_vand(b, hlo_vashr_k(b, y, 63), x));
}

static value_t* integer_mulhi(builder_t* b, info_t* info, value_t* x, value_t* y) {
  const bool s = is_signed(info);
  if (info->bits < 8) return high_of_short(b, info, x, y);
  if (info->bits == 64) return high_of_words(b, s, x, y);
  return hlo_vmath_in_parts(b, s ? high_signed : high_unsigned, x, y, info->bits == 8 ? 4 : 2);
}

// ---- power --------------------------------------------------------------------------------------

// Squares the base for each bit of the exponent. A negative power is 0 except for the bases 1 and
// -1, where the low bit of the exponent decides as for a positive one.
static value_t* integer_power(builder_t* b, info_t* info, value_t* x, value_t* y) {
  value_t* zero = hlo_viconst(b, x, 0);
  value_t* one = hlo_viconst(b, x, 1);
  value_t* exponent = hlo_vir_var(b, y);
  value_t* base = hlo_vir_var(b, x);
  value_t* result = hlo_vir_var(b, one);
  hlo_vir_begin_loop(b);
  value_t* is_left = hlo_vscmp(b, HLO_VIR_NE, exponent, zero);
  hlo_vir_break_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, hlo_vany(b, is_left), hlo_vir_iconst(b, 0)));
  value_t* is_odd = hlo_vscmp(b, HLO_VIR_NE, hlo_vand(b, exponent, one), zero);
  hlo_vir_set(b, result, hlo_vselect(b, is_odd, hlo_vimul(b, result, base), result));
  hlo_vir_set(b, base, hlo_vimul(b, base, base));
  hlo_vir_set(b, exponent, hlo_vlshr_k(b, exponent, 1));
  hlo_vir_end(b);
  if (!is_signed(info)) return hlo_vor(b, result, zero);
  value_t* has_inverse =
      hlo_vmask_or(b, hlo_vscmp_k(b, HLO_VIR_EQ, x, 1), hlo_vscmp_k(b, HLO_VIR_EQ, x, -1));
  value_t* is_valid = hlo_vmask_or(b, has_inverse, hlo_vscmp(b, HLO_VIR_GE, y, zero));
  return hlo_vselect(b, is_valid, result, zero);
}

// ---- tables -------------------------------------------------------------------------------------

typedef value_t* (*integer_fn_t)(builder_t* b, info_t* info, value_t* x, value_t* y);

/// An expression, or one instruction.
typedef struct integer_op {
  hlo_op_t op;
  integer_fn_t fn;
  hlo_vir_opcode_t if_signed, if_unsigned;  // without fn
} integer_op_t;

#define INSTRUCTION(op, id) \
  { HLO_OP_##op, NULL, HLO_VIR_##id, HLO_VIR_##id }
static const integer_op_t integer_ops[] = {
    INSTRUCTION(add, add),
    INSTRUCTION(and, and),
    INSTRUCTION(multiply, mul),
    INSTRUCTION(or, or),
    INSTRUCTION(shift_left, shl),
    INSTRUCTION(subtract, sub),
    INSTRUCTION(xor, xor),
    {HLO_OP_maximum, NULL, HLO_VIR_smax, HLO_VIR_umax},
    {HLO_OP_minimum, NULL, HLO_VIR_smin, HLO_VIR_umin},
    {HLO_OP_abs, .fn = integer_abs},
    {HLO_OP_chlo_mulhi, .fn = integer_mulhi},
    {HLO_OP_chlo_square, .fn = integer_square},
    {HLO_OP_count_leading_zeros, .fn = integer_clz},
    {HLO_OP_divide, .fn = integer_divide},
    {HLO_OP_negate, .fn = integer_negate},
    {HLO_OP_not, .fn = integer_not},
    {HLO_OP_popcnt, .fn = integer_popcount},
    {HLO_OP_power, .fn = integer_power},
    {HLO_OP_remainder, .fn = integer_remainder},
    {HLO_OP_shift_right_arithmetic, .fn = integer_shift_right_arithmetic},
    {HLO_OP_shift_right_logical, .fn = integer_shift_right_logical},
    {HLO_OP_sign, .fn = integer_sign},
};

static const integer_op_t* find_integer_op(hlo_op_t op) {
  for (size_t i = 0; i < HLO_COUNT_OF(integer_ops); ++i) {
    if (integer_ops[i].op == op) return &integer_ops[i];
  }
  return NULL;
}

bool hlo_vmath_has_integer(hlo_op_t op) {
  return find_integer_op(op) != NULL;
}

value_t* hlo_vmath_integer(builder_t* b, hlo_op_t op, hlo_dtype_t dtype, value_t* x, value_t* y) {
  info_t* info = hlo_dtype_info(dtype);
  const integer_op_t* row = find_integer_op(op);
  if (!row) return NULL;
  value_t *operands[] = {x, y}, *result;
  if (row->fn) {
    result = row->fn(b, info, x, y);
  } else {
    const hlo_vir_opcode_t instruction = is_signed(info) ? row->if_signed : row->if_unsigned;
    result = hlo_vir_emit(b, instruction, x->type, 0, 0, hlo_vir_opcode_operand_count(instruction),
                          operands);
  }
  return hlo_vmath_round_to(b, dtype, result);
}

// Addition of booleans is OR, multiplication AND.
static const struct {
  hlo_op_t op;
  hlo_vir_opcode_t instruction;
  bool is_unary;
} mask_ops[] = {
    {HLO_OP_add, HLO_VIR_mask_or, false},       {HLO_OP_and, HLO_VIR_mask_and, false},
    {HLO_OP_maximum, HLO_VIR_mask_or, false},   {HLO_OP_minimum, HLO_VIR_mask_and, false},
    {HLO_OP_multiply, HLO_VIR_mask_and, false}, {HLO_OP_not, HLO_VIR_mask_not, true},
    {HLO_OP_or, HLO_VIR_mask_or, false},        {HLO_OP_xor, HLO_VIR_mask_xor, false},
};

static size_t find_mask_op(hlo_op_t op) {
  size_t i = 0;
  while (i < HLO_COUNT_OF(mask_ops) && mask_ops[i].op != op) ++i;
  return i;
}

bool hlo_vmath_has_mask(hlo_op_t op) {
  return find_mask_op(op) < HLO_COUNT_OF(mask_ops);
}

value_t* hlo_vmath_mask(builder_t* b, hlo_op_t op, value_t* x, value_t* y) {
  const size_t i = find_mask_op(op);
  if (i == HLO_COUNT_OF(mask_ops)) return NULL;
  if (mask_ops[i].is_unary) return hlo_vir_unary(b, mask_ops[i].instruction, x);
  return hlo_vir_binary(b, mask_ops[i].instruction, x, y);
}

value_t* hlo_vmath_compare_mask(builder_t* b, hlo_vir_condition_t condition, value_t* x,
                                value_t* y) {
  switch (condition) {
    case HLO_VIR_EQ: return hlo_vmask_not(b, hlo_vir_binary(b, HLO_VIR_mask_xor, x, y));
    case HLO_VIR_NE: return hlo_vir_binary(b, HLO_VIR_mask_xor, x, y);
    case HLO_VIR_LT: return hlo_vmask_and(b, hlo_vmask_not(b, x), y);
    case HLO_VIR_LE: return hlo_vmask_or(b, hlo_vmask_not(b, x), y);
    case HLO_VIR_GT: return hlo_vmask_and(b, x, hlo_vmask_not(b, y));
    default: return hlo_vmask_or(b, x, hlo_vmask_not(b, y));
  }
}
