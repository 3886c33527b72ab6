// SPDX-License-Identifier: Apache-2.0
// Lane-wise operations of one instruction, by table; fma, selects and signs, which depend on their
// operands; and properties of instructions needed before register allocation.
#include "codegen/x86/x86_impl.h"

enum { ELEM_COUNT = HLO_VIR_F64 + 1, ROUND_QUIETLY = 8 };

typedef enum form {
  FORM_NONE,
  FORM_UNARY,
  FORM_BINARY,
  FORM_COMMUTING,
  FORM_SHIFT,
  FORM_ROUND,
  FORM_SUM
} form_t;

typedef struct row {
  uint32_t insn[2];  // without and with AVX-512; HLO_X86_NONE
  uint8_t form;
} row_t;

static const row_t rows[HLO_VIR_OPCODE_COUNT][ELEM_COUNT] = {
#define HLO_X86_LANE(op, elem, avx2, avx512, form) \
  [HLO_VIR_##op][HLO_VIR_##elem] = {{HLO_X86_##avx2, HLO_X86_##avx512}, FORM_##form},
#include "codegen/x86/lanes.def"
};

static const uint16_t one_lane[HLO_X86_INSN_COUNT] = {
// 0: the same instruction
#define HLO_X86_ONE_LANE(insn, one) [HLO_X86_##insn] = HLO_X86_##one,
#include "codegen/x86/lanes.def"
};

// Emits to = a op b for a value; of one lane only that one is computed.
static void emit_lanes(hlo_x86_fn_t* f, const hlo_vir_value_t* value, hlo_x86_insn_t insn,
                       unsigned to, unsigned a, hlo_x86_rm_t b) {
  const bool is_one = value->type.lanes == 1 && one_lane[insn];
  if (is_one) {
    insn = (hlo_x86_insn_t)one_lane[insn];
    b.is_splat = false;
  }
  hlo_x86_vvv(f->as, insn, hlo_x86_width(value->type), to, a, b, 0);
}

// Returns the row of an operation if this processor has its instruction.
static const row_t* row_of(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (value->type.elem >= ELEM_COUNT) return NULL;
  const row_t* row = &rows[value->op][value->type.elem];
  if (row->form == FORM_NONE || row->insn[f->is_avx512] == HLO_X86_NONE) return NULL;
  bool is_optional = value->op == HLO_VIR_popcount || row->form == FORM_SUM ||
                     hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_HALF;
  if ((is_optional || f->is_sse) &&
      !hlo_x86_insn_is_available((hlo_x86_insn_t)row->insn[f->is_avx512],
                                 f->target->cpu.features)) {
    return NULL;
  }
  return row;
}

static bool is_fma(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_fma || value->op == HLO_VIR_fnma;
}

// ---- before register allocation

static hlo_x86_fold_t may_fold_index(const hlo_vir_value_t* user, uint32_t operand) {
  const hlo_vir_value_t* load = user->operands[operand];
  bool is_whole = load->op == HLO_VIR_iload && (load->flags >> HLO_VIR_WIDTH_SHIFT & 3) == 3;
  switch (user->op) {
    case HLO_VIR_iadd:
    case HLO_VIR_isub:
    case HLO_VIR_imul:
    case HLO_VIR_iand:
    case HLO_VIR_ior:
    case HLO_VIR_ixor: return (hlo_x86_fold_t){.whole = is_whole && operand == 1};
    case HLO_VIR_icmp: return (hlo_x86_fold_t){.whole = is_whole};
    default: return (hlo_x86_fold_t){0};
  }
}

static hlo_x86_fold_t may_fold_lanes(const hlo_x86_fn_t* f, const hlo_vir_value_t* user,
                                     uint32_t operand) {
  const row_t* row = row_of(f, user);
  bool allowed = is_fma(user) || (user->op == HLO_VIR_select && operand == 1);
  if (row) {
    switch (row->form) {
      case FORM_UNARY:
      case FORM_ROUND:
      case FORM_COMMUTING: allowed = true; break;
      case FORM_SUM:
      case FORM_BINARY: allowed = operand == 1; break;
      default: allowed = f->is_avx512; break;
    }
  }
  return (hlo_x86_fold_t){.whole = allowed, .splat = allowed && f->is_avx512};
}

hlo_x86_fold_t hlo_x86_may_fold(const hlo_x86_fn_t* f, const hlo_vir_value_t* user,
                                uint32_t operand) {
  hlo_x86_fold_t fold = {0};
  hlo_vir_type_t type = user->operands[operand]->type;
  unsigned bytes = hlo_x86_type_bytes(type);
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)user->op)) {
    case HLO_VIR_INDEX_OP: return may_fold_index(user, operand);
    case HLO_VIR_FLOAT:
    case HLO_VIR_INT:
    case HLO_VIR_DOT:
    case HLO_VIR_HALF:
    case HLO_VIR_BITS: fold = may_fold_lanes(f, user, operand); break;
    case HLO_VIR_COMPARE:
      fold.splat = f->is_avx512 && operand == 1;
      fold.whole = operand == 1 && (f->is_avx512 || user->op == HLO_VIR_fcmp);
      break;
    case HLO_VIR_CONVERT: return hlo_x86_may_fold_convert(f, user);
    case HLO_VIR_CROSS:
      if (user->op == HLO_VIR_splat) {
        return (hlo_x86_fold_t){.splat = !(f->is_sse && type.elem == HLO_VIR_I8)};
      }
      fold.whole = user->op == HLO_VIR_join && operand == 1 && type.elem != HLO_VIR_MASK;
      break;
    default: return fold;
  }
  fold.whole &= bytes >= 16;
  fold.splat &= hlo_x86_elem_bits(type) >= 32;
  return fold;
}

bool hlo_x86_is_early(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op)) {
    case HLO_VIR_CONTROL: return value->op == HLO_VIR_for && value->operands[1]->op == HLO_VIR_var;
    case HLO_VIR_MEMORY:
      return value->op == HLO_VIR_gather || hlo_x86_lanes_through_memory(f, value);
    case HLO_VIR_FLOAT:
    case HLO_VIR_INT:
    case HLO_VIR_DOT:
    case HLO_VIR_HALF:
    case HLO_VIR_BITS:
      return !row_of(f, value) && !is_fma(value) && value->op != HLO_VIR_select &&
             value->op != HLO_VIR_fabs && value->op != HLO_VIR_fneg;
    case HLO_VIR_COMPARE: return !f->is_avx512;
    case HLO_VIR_CONVERT:
      return value->op != HLO_VIR_bitcast && hlo_x86_convert_insn(f, value) == HLO_X86_INSN_COUNT;
    case HLO_VIR_CROSS:
      return value->op == HLO_VIR_slide_up || value->op == HLO_VIR_permute ||
             value->op == HLO_VIR_permute_pair || value->op == HLO_VIR_zip_low ||
             value->op == HLO_VIR_zip_high;
    default: return false;
  }
}

bool hlo_x86_needs_scratch(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op)) {
    case HLO_VIR_MEMORY: return hlo_x86_lanes_through_memory(f, value);
    case HLO_VIR_CONVERT: return hlo_x86_converts_through_memory(f, value);
    case HLO_VIR_CROSS: return value->op == HLO_VIR_permute && f->is_sse;
    default: return false;
  }
}

// ---- bits

void hlo_x86_bits(hlo_x86_fn_t* f, hlo_x86_logic_t op, unsigned width, unsigned to, unsigned a,
                  hlo_x86_rm_t b) {
  static const hlo_x86_insn_t insns[2][4] = {
      {HLO_X86_vpand, HLO_X86_vpor, HLO_X86_vpxor, HLO_X86_vpandn},
      {HLO_X86_vpandd, HLO_X86_vpord, HLO_X86_vpxord, HLO_X86_vpandnd}};
  hlo_x86_vvv(f->as, insns[f->is_avx512][op], width, to, a, b, 0);
}

void hlo_x86_zero_vec(hlo_x86_fn_t* f, unsigned reg) {
  hlo_x86_vvv(f->as, HLO_X86_vxorps, 16, reg, reg, hlo_x86_reg(reg), 0);
}

void hlo_x86_ones_vec(hlo_x86_fn_t* f, unsigned width, unsigned reg) {
  if (f->is_avx512) {
    hlo_x86_vvvi(f->as, HLO_X86_vpternlogd, width, reg, reg, hlo_x86_reg(reg), 0xff, 0);
  } else {
    hlo_x86_vvv(f->as, HLO_X86_vpcmpeqd, width, reg, reg, hlo_x86_reg(reg), 0);
  }
}

// ---- fma

enum { FMA_132, FMA_213, FMA_231 };

static void emit_fma_form(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned form, unsigned to,
                          unsigned x, hlo_x86_rm_t y) {
  static const hlo_x86_insn_t insns[2][2][3] = {
      {{HLO_X86_vfmadd132ps, HLO_X86_vfmadd213ps, HLO_X86_vfmadd231ps},
       {HLO_X86_vfmadd132pd, HLO_X86_vfmadd213pd, HLO_X86_vfmadd231pd}},
      {{HLO_X86_vfnmadd132ps, HLO_X86_vfnmadd213ps, HLO_X86_vfnmadd231ps},
       {HLO_X86_vfnmadd132pd, HLO_X86_vfnmadd213pd, HLO_X86_vfnmadd231pd}}};
  bool wide = value->type.elem == HLO_VIR_F64;
  emit_lanes(f, value, insns[value->op == HLO_VIR_fnma][wide][form], to, x, y);
}

static unsigned force_register(hlo_x86_fn_t* f, unsigned width, hlo_x86_rm_t rm, unsigned bits) {
  if (rm.kind == HLO_X86_REGISTER) return rm.reg;
  unsigned reg = hlo_x86_temp_vec(f);
  if (rm.is_splat) {
    rm.is_splat = false;
    hlo_x86_vv(f->as, bits == 32 ? HLO_X86_vbroadcastss : HLO_X86_vpbroadcastq, width, reg, rm, 0);
  } else {
    hlo_x86_vv(f->as, HLO_X86_vmovups, width, reg, rm, 0);
  }
  return reg;
}

// a * b + c with the form that overwrites an operand that is not kept; at most one operand stays in
// memory.
static void emit_fma(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned width = hlo_x86_width(value->type), bits = hlo_x86_elem_bits(value->type);
  unsigned to = hlo_x86_out(f, value);
  hlo_x86_rm_t a = hlo_x86_in_vec(f, value->operands[0], width, bits);
  hlo_x86_rm_t b = hlo_x86_in_vec(f, value->operands[1], width, bits);
  hlo_x86_rm_t c = hlo_x86_in_vec(f, value->operands[2], width, bits);
  if (a.kind != HLO_X86_REGISTER) {  // the product commutes: b may be memory, a may not
    hlo_x86_rm_t swap = a;
    a = b;
    b = swap;
  }
  unsigned x = force_register(f, width, a, bits);
  bool c_is_to = c.kind == HLO_X86_REGISTER && c.reg == to;
  bool b_is_to = b.kind == HLO_X86_REGISTER && b.reg == to;
  if (c_is_to) {
    emit_fma_form(f, value, FMA_231, to, x, b);
  } else if (x == to && b.kind == HLO_X86_REGISTER) {
    emit_fma_form(f, value, FMA_213, to, b.reg, c);
  } else if (x == to) {
    emit_fma_form(f, value, FMA_132, to, force_register(f, width, c, bits), b);
  } else if (b_is_to) {
    emit_fma_form(f, value, FMA_213, to, x, c);
  } else if (c.kind != HLO_X86_REGISTER && b.kind == HLO_X86_REGISTER) {
    hlo_x86_move(f, HLO_X86_VECTORS, width, to, x);
    emit_fma_form(f, value, FMA_213, to, b.reg, c);
  } else {
    hlo_x86_move(f, HLO_X86_VECTORS, width, to, force_register(f, width, c, bits));
    emit_fma_form(f, value, FMA_231, to, x, b);
  }
  hlo_x86_out_done(f, value, to);
}

// ---- selects and signs

static void emit_select(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  static const hlo_x86_insn_t by_mask[] = {
      [HLO_VIR_I8] = HLO_X86_vpblendmb,  [HLO_VIR_I16] = HLO_X86_vpblendmw,
      [HLO_VIR_I32] = HLO_X86_vpblendmd, [HLO_VIR_I64] = HLO_X86_vpblendmq,
      [HLO_VIR_F32] = HLO_X86_vblendmps, [HLO_VIR_F64] = HLO_X86_vblendmpd};
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  unsigned to = hlo_x86_out(f, value);
  unsigned otherwise = hlo_x86_in(f, value->operands[2]);
  if (f->is_avx512) {
    unsigned mask = hlo_x86_in(f, value->operands[0]);
    hlo_x86_rm_t chosen = hlo_x86_in_vec(f, value->operands[1], width, bits >= 32 ? bits : 0);
    hlo_x86_vvv(f->as, by_mask[value->type.elem], width, to, otherwise, chosen, hlo_x86_k(mask));
  } else {
    unsigned mask = hlo_x86_in_mask(f, value->operands[0], bits);
    hlo_x86_rm_t chosen = hlo_x86_in_vec(f, value->operands[1], width, 0);
    hlo_x86_vvvv(f->as, HLO_X86_vpblendvb, width, to, otherwise, chosen, mask);
  }
  hlo_x86_out_done(f, value, to);
}

// fabs clears the sign, fneg flips it.
static void emit_sign(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  uint64_t sign = UINT64_C(1) << (bits - 1);
  bool is_abs = value->op == HLO_VIR_fabs;
  uint64_t element = is_abs ? sign - 1 : sign;
  unsigned to = hlo_x86_out(f, value), x = hlo_x86_in(f, value->operands[0]);
  hlo_x86_rm_t other = f->is_avx512 ? hlo_x86_splat(hlo_x86_pool_bytes(f, &element, bits / 8))
                                    : hlo_x86_pool_splat(f, bits, element, width);
  static const hlo_x86_insn_t insns[2][2] = {{HLO_X86_vxorps, HLO_X86_vxorpd},
                                             {HLO_X86_vandps, HLO_X86_vandpd}};
  hlo_x86_vvv(f->as, insns[is_abs][bits == 64], width, to, x, other, 0);
  hlo_x86_out_done(f, value, to);
}

// ---- by table

static void emit_two(hlo_x86_fn_t* f, const hlo_vir_value_t* value, const row_t* row) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  unsigned splat_bits = bits >= 32 ? bits : 0;
  const hlo_vir_value_t *a = value->operands[0], *b = value->operands[1];
  if (row->form == FORM_COMMUTING && hlo_x86_prefers_memory(f, a) &&
      !hlo_x86_prefers_memory(f, b)) {
    const hlo_vir_value_t* swap = a;
    a = b;
    b = swap;
  }
  unsigned to = hlo_x86_out(f, value), x = hlo_x86_in(f, a);
  hlo_x86_rm_t y = hlo_x86_in_vec(f, b, width, splat_bits);
  emit_lanes(f, value, (hlo_x86_insn_t)row->insn[f->is_avx512], to, x, y);
  hlo_x86_out_done(f, value, to);
}

static void emit_one(hlo_x86_fn_t* f, const hlo_vir_value_t* value, const row_t* row) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  unsigned imm =
      row->form == FORM_ROUND ? ROUND_QUIETLY | (unsigned)value->imm : (unsigned)value->imm;
  bool may_be_memory = row->form != FORM_SHIFT || f->is_avx512;
  unsigned to = hlo_x86_out(f, value);
  hlo_x86_rm_t x = may_be_memory
                       ? hlo_x86_in_vec(f, value->operands[0], width, bits >= 32 ? bits : 0)
                       : hlo_x86_reg(hlo_x86_in(f, value->operands[0]));
  if (value->op == HLO_VIR_fsqrt && value->type.lanes == 1) {
    const unsigned above = x.kind == HLO_X86_REGISTER ? x.reg : to;  // of the first lane
    emit_lanes(f, value, (hlo_x86_insn_t)row->insn[f->is_avx512], to, above, x);
  } else {
    hlo_x86_vvi(f->as, (hlo_x86_insn_t)row->insn[f->is_avx512], width, to, x, imm, 0);
  }
  hlo_x86_out_done(f, value, to);
}

// The accumulator is overwritten; if it is not in the result's register it is copied there first.
static void emit_sum(hlo_x86_fn_t* f, const hlo_vir_value_t* value, const row_t* row) {
  unsigned width = hlo_x86_width(value->type), to = hlo_x86_out(f, value);
  unsigned a = hlo_x86_in(f, value->operands[0]);
  hlo_x86_rm_t b = hlo_x86_in_vec(f, value->operands[1], width, hlo_x86_elem_bits(value->type));
  unsigned c = hlo_x86_in(f, value->operands[2]);
  bool is_operand = a == to || (b.kind == HLO_X86_REGISTER && b.reg == to);
  unsigned sum = c != to && is_operand ? hlo_x86_temp_vec(f) : to;
  hlo_x86_move(f, HLO_X86_VECTORS, width, sum, c);
  hlo_x86_vvv(f->as, (hlo_x86_insn_t)row->insn[f->is_avx512], width, sum, a, b, 0);
  hlo_x86_move(f, HLO_X86_VECTORS, width, to, sum);
  hlo_x86_out_done(f, value, to);
}

void hlo_x86_emit_lanes(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const row_t* row = row_of(f, value);
  if (row && (row->form == FORM_BINARY || row->form == FORM_COMMUTING)) {
    emit_two(f, value, row);
  } else if (row && row->form == FORM_SUM) {
    emit_sum(f, value, row);
  } else if (row) {
    emit_one(f, value, row);
  } else if (is_fma(value) && f->is_sse) {
    hlo_x86_emit_fma_call(f, value);
  } else if (is_fma(value)) {
    emit_fma(f, value);
  } else if (value->op == HLO_VIR_select) {
    emit_select(f, value);
  } else if (value->op == HLO_VIR_fabs || value->op == HLO_VIR_fneg) {
    emit_sign(f, value);
  } else {
    hlo_x86_emit_composed(f, value);
  }
}
