// SPDX-License-Identifier: Apache-2.0
// Lane-wise operations as PTX instructions (see emit.h). Every one has the bits of its expression
// in vir.def, but for those of a NaN.
#include "codegen/ptx/emit_impl.h"

static uint32_t elem_bits(const hlo_vir_value_t* value) {
  return hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
}

static hlo_ptx_reg_t operand(const hlo_vir_value_t* value, uint32_t at) {
  return hlo_ptx_reg(value->operands[at]);
}

// ".f32" or ".f64" with the mark of flushing where the operation takes it.
static const char* float_type(const hlo_ptx_emitter_t* e, const hlo_vir_value_t* operand) {
  return operand->type.elem == HLO_VIR_F64 ? ".f64" : e->flushes ? ".ftz.f32" : ".f32";
}

// ---- integers ----------------------------------------------------------------------------------

hlo_ptx_reg_t hlo_ptx_sign_extended(hlo_ptx_emitter_t* e, hlo_ptx_reg_t x, uint32_t bits) {
  if (bits >= 32) return x;
  const hlo_ptx_reg_t wide = hlo_ptx_temp(e, HLO_PTX_B32);
  hlo_ptx_line(e, "bfe.s32 $, $, 0, #", wide, x, (int64_t)bits);
  return wide;
}

void hlo_ptx_clear_above(hlo_ptx_emitter_t* e, hlo_ptx_reg_t x, uint32_t bits) {
  if (bits < 32) hlo_ptx_line(e, "and.b32 $, $, #", x, x, (INT64_C(1) << bits) - 1);
}

// The count of a shift as the instruction takes it: 32 bits, of which more than the width are all
// the same.
static hlo_ptx_reg_t shift_count(hlo_ptx_emitter_t* e, const hlo_vir_value_t* count) {
  const hlo_ptx_reg_t x = hlo_ptx_reg(count);
  if (elem_bits(count) < 64) return x;
  const hlo_ptx_reg_t least = hlo_ptx_temp(e, HLO_PTX_B64), narrow = hlo_ptx_temp(e, HLO_PTX_B32);
  hlo_ptx_line(e, "min.u64 $, $, 64", least, x);
  hlo_ptx_line(e, "cvt.u32.u64 $, $", narrow, least);
  return narrow;
}

static void rotate(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = elem_bits(value);
  const hlo_ptx_reg_t x = operand(value, 0);
  if (bits == 32) {
    hlo_ptx_line(e, "shf.l.wrap.b32 $, $, $, #", to, x, x, value->imm);
    return;
  }
  const char* type = bits == 64 ? "b64" : "b32";
  const hlo_ptx_reg_t high = hlo_ptx_temp(e, to.kind), low = hlo_ptx_temp(e, to.kind);
  hlo_ptx_line(e, "shl.% $, $, #", type, high, x, value->imm);
  hlo_ptx_line(e, "shr.% $, $, #", bits == 64 ? "u64" : "u32", low, x, (int64_t)bits - value->imm);
  hlo_ptx_line(e, "or.% $, $, $", type, to, high, low);
}

static void count_bits(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = elem_bits(value);
  const char* name = value->op == HLO_VIR_popcount ? "popc" : "clz";
  const hlo_ptx_reg_t count = bits == 64 ? hlo_ptx_temp(e, HLO_PTX_B32) : to;
  hlo_ptx_line(e, "%.% $, $", name, bits == 64 ? "b64" : "b32", count, operand(value, 0));
  if (bits == 64) hlo_ptx_line(e, "cvt.u64.u32 $, $", to, count);
  if (bits < 32 && value->op == HLO_VIR_clz) {
    hlo_ptx_line(e, "sub.u32 $, $, #", to, to, (int64_t)(32 - bits));
  }
}

static void emit_shift(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = elem_bits(value);
  const bool is_imm = value->operand_count == 1;
  const bool is_left = value->op == HLO_VIR_shl || value->op == HLO_VIR_shli;
  const bool is_signed = value->op == HLO_VIR_ashr || value->op == HLO_VIR_ashri;
  const hlo_ptx_reg_t count =
      is_imm ? hlo_ptx_immediate(value->imm) : shift_count(e, value->operands[1]);
  hlo_ptx_reg_t x = operand(value, 0);
  if (is_signed) x = hlo_ptx_sign_extended(e, x, bits);
  hlo_ptx_line(e, "%.%% $, $, $", is_left ? "shl" : "shr",
               is_left     ? "b"
               : is_signed ? "s"
                           : "u",
               bits == 64 ? "64" : "32", to, x, count);
}

// Operations of two operands; whether they depend on the operands' sign.
static const char* int_name(uint32_t op, bool* out_signed) {
  *out_signed =
      op == HLO_VIR_smin || op == HLO_VIR_smax || op == HLO_VIR_sdiv || op == HLO_VIR_srem;
  switch (op) {
    case HLO_VIR_add: return "add";
    case HLO_VIR_sub: return "sub";
    case HLO_VIR_mul: return "mul.lo";
    case HLO_VIR_smin:
    case HLO_VIR_umin: return "min";
    case HLO_VIR_smax:
    case HLO_VIR_umax: return "max";
    case HLO_VIR_sdiv:
    case HLO_VIR_udiv: return "div";
    case HLO_VIR_srem:
    case HLO_VIR_urem: return "rem";
    default: return NULL;
  }
}

static void emit_int(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = elem_bits(value);
  bool is_signed;
  const char* name = int_name(value->op, &is_signed);
  switch (value->op) {
    case HLO_VIR_rotli: rotate(e, value, to); break;
    case HLO_VIR_popcount:
    case HLO_VIR_clz: count_bits(e, value, to); return;
    default: break;
  }
  if (name) {
    hlo_ptx_reg_t x = operand(value, 0), y = operand(value, 1);
    if (is_signed) {
      x = hlo_ptx_sign_extended(e, x, bits);
      y = hlo_ptx_sign_extended(e, y, bits);
    }
    hlo_ptx_line(e, "%.%% $, $, $", name, is_signed ? "s" : "u", bits == 64 ? "64" : "32", to, x,
                 y);
  } else if (value->op != HLO_VIR_rotli) {
    emit_shift(e, value, to);
  }
  hlo_ptx_clear_above(e, to, bits);
}

// ---- floats ------------------------------------------------------------------------------------

static void emit_select_of(hlo_ptx_emitter_t* e, const char* compare, const hlo_vir_value_t* value,
                           hlo_ptx_reg_t to) {
  const hlo_ptx_reg_t is_first = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  const bool is_wide = value->type.elem == HLO_VIR_F64;
  hlo_ptx_line(e, "setp.%% $, $, $", compare, float_type(e, value), is_first, operand(value, 0),
               operand(value, 1));
  hlo_ptx_line(e, "selp.% $, $, $, $", is_wide ? "f64" : "f32", to, operand(value, 0),
               operand(value, 1), is_first);
  if (e->flushes && !is_wide) hlo_ptx_line(e, "add.rn.ftz.f32 $, $, 0f80000000", to, to);
}

static void emit_sign(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const bool is_wide = value->type.elem == HLO_VIR_F64, is_abs = value->op == HLO_VIR_fabs;
  const int64_t sign = is_wide ? INT64_MIN : INT64_C(1) << 31;
  hlo_ptx_line(e, "%.% $, $, #", is_abs ? "and" : "xor", is_wide ? "b64" : "b32", to,
               operand(value, 0), is_abs ? (is_wide ? INT64_MAX : INT64_C(0x7fffffff)) : sign);
}

static void emit_round(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  static const char* const roundings[] = {[HLO_VIR_NEAREST_EVEN] = "rni",
                                          [HLO_VIR_FLOOR] = "rmi",
                                          [HLO_VIR_CEIL] = "rpi",
                                          [HLO_VIR_TOWARD_ZERO] = "rzi"};
  const bool is_wide = value->type.elem == HLO_VIR_F64;
  hlo_ptx_line(e, "cvt.%%% $, $", roundings[value->imm], float_type(e, value),
               is_wide ? ".f64" : ".f32", to, operand(value, 0));
}

static void emit_float(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const char* type = float_type(e, value);
  switch (value->op) {
    case HLO_VIR_fadd:
      hlo_ptx_line(e, "add.rn% $, $, $", type, to, operand(value, 0), operand(value, 1));
      return;
    case HLO_VIR_fsub:
      hlo_ptx_line(e, "sub.rn% $, $, $", type, to, operand(value, 0), operand(value, 1));
      return;
    case HLO_VIR_fmul:
      hlo_ptx_line(e, "mul.rn% $, $, $", type, to, operand(value, 0), operand(value, 1));
      return;
    case HLO_VIR_fdiv:
      hlo_ptx_line(e, "div.rn% $, $, $", type, to, operand(value, 0), operand(value, 1));
      return;
    case HLO_VIR_fsqrt: hlo_ptx_line(e, "sqrt.rn% $, $", type, to, operand(value, 0)); return;
    case HLO_VIR_fnma:
    case HLO_VIR_fma: {
      hlo_ptx_reg_t x = operand(value, 0);
      if (value->op == HLO_VIR_fnma) {
        x = hlo_ptx_temp(e, to.kind);
        hlo_ptx_line(e, "neg% $, $", type, x, operand(value, 0));
      }
      hlo_ptx_line(e, "fma.rn% $, $, $, $", type, to, x, operand(value, 1), operand(value, 2));
      return;
    }
    case HLO_VIR_fmin: emit_select_of(e, "lt", value, to); return;
    case HLO_VIR_fmax: emit_select_of(e, "gt", value, to); return;
    case HLO_VIR_fround: emit_round(e, value, to); return;
    case HLO_VIR_fabs:
    case HLO_VIR_fneg: emit_sign(e, value, to); return;
    default: hlo_ptx_refuse(e, value, "there is no instruction for it"); return;
  }
}

// f16 as f32: loads and results of HALF operations.
static hlo_ptx_reg_t from_half(hlo_ptx_emitter_t* e, hlo_ptx_reg_t bits) {
  const hlo_ptx_reg_t half = hlo_ptx_temp(e, HLO_PTX_B16), wide = hlo_ptx_temp(e, HLO_PTX_F32);
  hlo_ptx_line(e, "cvt.u16.u32 $, $", half, bits);
  hlo_ptx_line(e, "cvt.f32.f16 $, $", wide, half);
  return wide;
}

static void to_half(hlo_ptx_emitter_t* e, hlo_ptx_reg_t to, hlo_ptx_reg_t from) {
  const hlo_ptx_reg_t half = hlo_ptx_temp(e, HLO_PTX_B16);
  hlo_ptx_line(e, "cvt.rn.f16.f32 $, $", half, from);
  hlo_ptx_line(e, "cvt.u32.u16 $, $", to, half);
}

static void emit_half(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  static const char* const names[] = {"add.rn", "sub.rn", "mul.rn", "div.rn", "sqrt.rn"};
  const char* name = names[value->op - HLO_VIR_half_add];
  const hlo_ptx_reg_t x = from_half(e, operand(value, 0)), result = hlo_ptx_temp(e, HLO_PTX_F32);
  if (value->operand_count == 1) {
    hlo_ptx_line(e, "%.f32 $, $", name, result, x);
  } else {
    hlo_ptx_line(e, "%.f32 $, $, $", name, result, x, from_half(e, operand(value, 1)));
  }
  to_half(e, to, result);
}

static void emit_dot(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const hlo_ptx_reg_t a = operand(value, 0), b = operand(value, 1), c = operand(value, 2);
  if (value->op == HLO_VIR_dot_u8s8) {
    hlo_ptx_line(e, "dp4a.u32.s32 $, $, $, $", to, a, b, c);
    return;
  }
  const hlo_ptx_reg_t x = hlo_ptx_temp(e, HLO_PTX_F32), y = hlo_ptx_temp(e, HLO_PTX_F32);
  const hlo_ptx_reg_t sum = hlo_ptx_temp(e, HLO_PTX_F32);
  hlo_ptx_line(e, "and.b32 $, $, #", x, a, INT64_C(0xffff0000));
  hlo_ptx_line(e, "and.b32 $, $, #", y, b, INT64_C(0xffff0000));
  hlo_ptx_line(e, "fma.rn.ftz.f32 $, $, $, $", sum, x, y, c);
  hlo_ptx_line(e, "shl.b32 $, $, 16", x, a);
  hlo_ptx_line(e, "shl.b32 $, $, 16", y, b);
  hlo_ptx_line(e, "fma.rn.ftz.f32 $, $, $, $", to, x, y, sum);
}

// ---- conversions -------------------------------------------------------------------------------

// Floats to integers: the instruction clamps, here what is out of range has one value.
static void to_int(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  static const char* const limits[2][2][2] = {
      // of f32 and f64: least and end of s32 and s64 ...
      {{"0fCF000000", "0f4F000000"}, {"0fDF000000", "0f5F000000"}},
      {{"0dC1E0000000000000", "0d41E0000000000000"}, {"0dC3E0000000000000", "0d43E0000000000000"}}};
  static const char* const ends[2][2] = {// ... end of u32 and u64
                                         {"0f4F800000", "0f5F800000"},
                                         {"0d41F0000000000000", "0d43F0000000000000"}};
  const bool is_signed = value->op == HLO_VIR_ftos, is_wide = elem_bits(value) == 64;
  const bool is_double = value->operands[0]->type.elem == HLO_VIR_F64;
  const char* from = is_double ? "f64" : "f32";
  const hlo_ptx_reg_t x = operand(value, 0), number = hlo_ptx_temp(e, to.kind);
  const hlo_ptx_reg_t is_low = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  const hlo_ptx_reg_t is_in = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  hlo_ptx_line(e, "cvt.rzi.%%.% $, $", is_signed ? "s" : "u", is_wide ? "64" : "32", from, number,
               x);
  if (is_signed) {
    hlo_ptx_line(e, "setp.ge.% $, $, %", from, is_low, x, limits[is_double][is_wide][0]);
    hlo_ptx_line(e, "setp.lt.% $, $, %", from, is_in, x, limits[is_double][is_wide][1]);
  } else {
    hlo_ptx_line(e, "setp.gt.% $, $, %", from, is_low, x,
                 is_double ? "0dBFF0000000000000" : "0fBF800000");
    hlo_ptx_line(e, "setp.lt.% $, $, %", from, is_in, x, ends[is_double][is_wide]);
  }
  hlo_ptx_line(e, "and.pred $, $, $", is_in, is_in, is_low);
  const int64_t least = is_wide ? INT64_MIN : INT64_C(0x80000000);
  const int64_t ones = is_wide ? -1 : INT64_C(0xffffffff);
  hlo_ptx_line(e, "selp.% $, $, #, $", is_wide ? "b64" : "b32", to, number,
               is_signed ? least : ones, is_in);
}

static void extend(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = elem_bits(value), from_bits = elem_bits(value->operands[0]);
  const bool is_signed = value->op == HLO_VIR_sext;
  hlo_ptx_reg_t x = operand(value, 0);
  if (is_signed) x = hlo_ptx_sign_extended(e, x, from_bits);
  if (bits == 64) {
    hlo_ptx_line(e, is_signed ? "cvt.s64.s32 $, $" : "cvt.u64.u32 $, $", to, x);
    return;
  }
  hlo_ptx_line(e, "mov.b32 $, $", to, x);
  hlo_ptx_clear_above(e, to, bits);
}

static void emit_convert(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = elem_bits(value), from_bits = elem_bits(value->operands[0]);
  const hlo_ptx_reg_t x = operand(value, 0);
  switch (value->op) {
    case HLO_VIR_bitcast:
      hlo_ptx_line(e, bits == 64 ? "mov.b64 $, $" : "mov.b32 $, $", to, x);
      return;
    case HLO_VIR_sext:
    case HLO_VIR_zext: extend(e, value, to); return;
    case HLO_VIR_trunc:
      hlo_ptx_line(e, from_bits == 64 ? "cvt.u32.u64 $, $" : "mov.b32 $, $", to, x);
      hlo_ptx_clear_above(e, to, bits);
      return;
    case HLO_VIR_fext: hlo_ptx_line(e, "cvt~.f64.f32 $, $", to, x); return;
    case HLO_VIR_ftrunc: hlo_ptx_line(e, "cvt.rn~.f32.f64 $, $", to, x); return;
    case HLO_VIR_stof:
    case HLO_VIR_utof:
      hlo_ptx_line(e, "cvt.rn.%.%% $, $", bits == 64 ? "f64" : "f32",
                   value->op == HLO_VIR_stof ? "s" : "u", from_bits == 64 ? "64" : "32", to, x);
      return;
    case HLO_VIR_ftos:
    case HLO_VIR_ftou: to_int(e, value, to); return;
    case HLO_VIR_half_to_f32: hlo_ptx_line(e, "mov.f32 $, $", to, from_half(e, x)); return;
    default: to_half(e, to, x); return;
  }
}

// ---- bits, comparisons, masks ------------------------------------------------------------------

static void emit_bits(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const char* type = elem_bits(value) == 64 ? "b64" : "b32";
  switch (value->op) {
    case HLO_VIR_select:
      hlo_ptx_line(e, "selp.% $, $, $, $", type, to, operand(value, 1), operand(value, 2),
                   operand(value, 0));
      return;
    case HLO_VIR_andnot: {
      const hlo_ptx_reg_t inverse = hlo_ptx_temp(e, to.kind);
      hlo_ptx_line(e, "not.% $, $", type, inverse, operand(value, 0));
      hlo_ptx_line(e, "and.% $, $, $", type, to, inverse, operand(value, 1));
      return;
    }
    default:
      hlo_ptx_line(e, "%.% $, $, $",
                   value->op == HLO_VIR_and  ? "and"
                   : value->op == HLO_VIR_or ? "or"
                                             : "xor",
                   type, to, operand(value, 0), operand(value, 1));
      return;
  }
}

static void emit_compare(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  static const char* const floats[] = {"eq", "neu", "lt", "le", "gt", "ge", "nan", "num"};
  static const char* const ints[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const uint32_t bits = elem_bits(value->operands[0]);
  hlo_ptx_reg_t x = operand(value, 0), y = operand(value, 1);
  if (value->op == HLO_VIR_fcmp) {
    hlo_ptx_line(e, "setp.%% $, $, $", floats[value->imm], float_type(e, value->operands[0]), to, x,
                 y);
    return;
  }
  const bool is_signed = value->op == HLO_VIR_scmp;
  if (is_signed) {
    x = hlo_ptx_sign_extended(e, x, bits);
    y = hlo_ptx_sign_extended(e, y, bits);
  }
  hlo_ptx_line(e, "setp.%.%% $, $, $", ints[value->imm], is_signed ? "s" : "u",
               bits == 64 ? "64" : "32", to, x, y);
}

static void emit_mask(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  if (value->op == HLO_VIR_mask_not) {
    hlo_ptx_line(e, "not.pred $, $", to, operand(value, 0));
    return;
  }
  hlo_ptx_line(e, "%.pred $, $, $",
               value->op == HLO_VIR_mask_and  ? "and"
               : value->op == HLO_VIR_mask_or ? "or"
                                              : "xor",
               to, operand(value, 0), operand(value, 1));
}

void hlo_ptx_emit_lane(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t to = hlo_ptx_reg(value);
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op)) {
    case HLO_VIR_FLOAT: emit_float(e, value, to); return;
    case HLO_VIR_INT: emit_int(e, value, to); return;
    case HLO_VIR_DOT: emit_dot(e, value, to); return;
    case HLO_VIR_HALF: emit_half(e, value, to); return;
    case HLO_VIR_BITS: emit_bits(e, value, to); return;
    case HLO_VIR_CONVERT: emit_convert(e, value, to); return;
    case HLO_VIR_COMPARE: emit_compare(e, value, to); return;
    case HLO_VIR_MASK_OP: emit_mask(e, value, to); return;
    default: hlo_ptx_refuse(e, value, "it is not lane-wise"); return;
  }
}
