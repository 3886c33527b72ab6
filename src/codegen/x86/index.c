// SPDX-License-Identifier: Apache-2.0
// INDEX instructions: 64-bit integers in general registers, comparisons fused with their branches.
#include "codegen/x86/x86_impl.h"

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static bool mentions(hlo_x86_rm_t rm, unsigned number) {
  if (rm.kind == HLO_X86_RIP) return false;
  return rm.reg == number || (rm.kind == HLO_X86_MEMORY && rm.index == number);
}

static void move(hlo_x86_fn_t* f, unsigned to, unsigned from) {
  hlo_x86_move(f, HLO_X86_GENERAL, 8, to, from);
}

// ---- arithmetic

static bool is_low_word(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_iconst && value->imm == UINT32_MAX;
}

// to = a op b for the two-operand instructions.
static void emit_binary(hlo_x86_fn_t* f, const hlo_vir_value_t* value, hlo_x86_scalar_t insn,
                        bool commutes) {
  int32_t imm;
  unsigned to = hlo_x86_out(f, value), a = hlo_x86_in(f, value->operands[0]);
  if (insn == HLO_X86_and && is_low_word(value->operands[1])) {
    hlo_x86_rm(f->as, HLO_X86_mov, 4, to, reg(a));
    hlo_x86_out_done(f, value, to);
    return;
  }
  if (hlo_x86_in_imm(value->operands[1], &imm)) {
    move(f, to, a);
    hlo_x86_mi(f->as, insn, 8, reg(to), imm);
    hlo_x86_out_done(f, value, to);
    return;
  }
  hlo_x86_rm_t b = hlo_x86_in_rm(f, value->operands[1]);
  if (to == a || !mentions(b, to)) {
    move(f, to, a);
    hlo_x86_rm(f->as, insn, 8, to, b);
  } else if (commutes && b.kind == HLO_X86_REGISTER) {
    hlo_x86_rm(f->as, insn, 8, to, reg(a));
  } else {
    unsigned temp = hlo_x86_temp_gpr(f);
    move(f, temp, a);
    hlo_x86_rm(f->as, insn, 8, temp, b);
    move(f, to, temp);
  }
  hlo_x86_out_done(f, value, to);
}

// Sums of registers use lea, which needs no move.
static void emit_add(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  int32_t imm;
  unsigned to = hlo_x86_out(f, value);
  bool has_imm = hlo_x86_in_imm(value->operands[1], &imm);
  const hlo_x86_live_range_t* b = hlo_x86_live_range(f, value->operands[1]);
  if (!has_imm && (b->is_folded || f->ranges[b->home].place != HLO_X86_IN_REGISTER)) {
    emit_binary(f, value, HLO_X86_add, true);
    return;
  }
  unsigned x = hlo_x86_in(f, value->operands[0]);
  if (has_imm) {
    if (x == to && imm) {
      hlo_x86_mi(f->as, HLO_X86_add, 8, reg(to), imm);
    } else if (imm == 0) {
      move(f, to, x);
    } else {
      hlo_x86_rm(f->as, HLO_X86_lea, 8, to, hlo_x86_mem(x, imm));
    }
  } else {
    unsigned y = hlo_x86_in(f, value->operands[1]);
    if (x == to || y == to) {
      hlo_x86_rm(f->as, HLO_X86_add, 8, to, reg(x == to ? y : x));
    } else {
      hlo_x86_rm(f->as, HLO_X86_lea, 8, to, hlo_x86_mem_index(x, y, 0, 0));
    }
  }
  hlo_x86_out_done(f, value, to);
}

static void emit_shift(hlo_x86_fn_t* f, const hlo_vir_value_t* value, hlo_x86_scalar_t insn) {
  unsigned to = hlo_x86_out(f, value);
  move(f, to, hlo_x86_in(f, value->operands[0]));
  if (value->imm) hlo_x86_mi(f->as, insn, 8, reg(to), (int32_t)value->imm);
  hlo_x86_out_done(f, value, to);
}

static void emit_extension(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_x86_scalar_t insn = value->imm == 8    ? HLO_X86_movsx_8
                          : value->imm == 16 ? HLO_X86_movsx_16
                                             : HLO_X86_movsxd;
  unsigned to = hlo_x86_out(f, value);
  hlo_x86_rm(f->as, insn, 8, to, reg(hlo_x86_in(f, value->operands[0])));
  hlo_x86_out_done(f, value, to);
}

static bool log2_of(const hlo_vir_value_t* value, unsigned* out_log2) {
  if (value->op != HLO_VIR_iconst || value->imm <= 0 || value->imm & (value->imm - 1)) return false;
  *out_log2 = (unsigned)__builtin_ctzll((uint64_t)value->imm);
  return true;
}

static void emit_mul(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  int32_t imm;
  unsigned log2;
  if (log2_of(value->operands[1], &log2)) {
    unsigned to = hlo_x86_out(f, value);
    move(f, to, hlo_x86_in(f, value->operands[0]));
    if (log2) hlo_x86_mi(f->as, HLO_X86_shl, 8, reg(to), (int32_t)log2);
    hlo_x86_out_done(f, value, to);
  } else if (hlo_x86_in_imm(value->operands[1], &imm)) {
    unsigned to = hlo_x86_out(f, value);
    hlo_x86_imul_imm(f->as, 8, to, hlo_x86_in_rm(f, value->operands[0]), imm);
    hlo_x86_out_done(f, value, to);
  } else {
    emit_binary(f, value, HLO_X86_imul, true);
  }
}

// ---- division: neither operand is negative

static void emit_division_by_power(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned log2) {
  unsigned to = hlo_x86_out(f, value);
  move(f, to, hlo_x86_in(f, value->operands[0]));
  if (value->op == HLO_VIR_idiv) {
    if (log2) hlo_x86_mi(f->as, HLO_X86_shr, 8, reg(to), (int32_t)log2);
  } else if (log2 < 32) {
    hlo_x86_mi(f->as, HLO_X86_and, 8, reg(to), (int32_t)((UINT32_C(1) << log2) - 1));
  } else {
    hlo_x86_mi(f->as, HLO_X86_shl, 8, reg(to), (int32_t)(64 - log2));
    hlo_x86_mi(f->as, HLO_X86_shr, 8, reg(to), (int32_t)(64 - log2));
  }
  hlo_x86_out_done(f, value, to);
}

// x / d = high word of x * m >> (l - 1), with l = ceil(log2 d), m = floor(2^(63 + l) / d) + 1;
// exact for 0 <= x < 2^63. source: Granlund and Montgomery, Division by Invariant Integers using
// Multiplication.
static void emit_quotient_by_const(hlo_x86_fn_t* f, unsigned x, int64_t divisor) {
  unsigned l = 64u - (unsigned)__builtin_clzll((uint64_t)divisor - 1);
  uint64_t factor = (uint64_t)(((unsigned __int128)1 << (63 + l)) / (uint64_t)divisor) + 1;
  hlo_x86_mov_imm(f->as, HLO_X86_RAX, (int64_t)factor);
  hlo_x86_m(f->as, HLO_X86_mul, 8, reg(x));
  if (l > 1) hlo_x86_mi(f->as, HLO_X86_shr, 8, reg(HLO_X86_RDX), (int32_t)(l - 1));
}

static void emit_division(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned log2;
  const hlo_vir_value_t* divisor = value->operands[1];
  if (log2_of(divisor, &log2)) {
    emit_division_by_power(f, value, log2);
    return;
  }
  bool is_quotient = value->op == HLO_VIR_idiv;
  hlo_x86_claim(f, HLO_X86_RAX);
  hlo_x86_claim(f, HLO_X86_RDX);
  unsigned x = hlo_x86_in(f, value->operands[0]);
  if (divisor->op == HLO_VIR_iconst && divisor->imm > 0) {
    emit_quotient_by_const(f, x, divisor->imm);
    if (!is_quotient) {
      unsigned temp = hlo_x86_temp_gpr(f);
      if (divisor->imm == (int32_t)divisor->imm) {
        hlo_x86_imul_imm(f->as, 8, HLO_X86_RDX, reg(HLO_X86_RDX), (int32_t)divisor->imm);
      } else {
        hlo_x86_mov_imm(f->as, temp, divisor->imm);
        hlo_x86_rm(f->as, HLO_X86_imul, 8, HLO_X86_RDX, reg(temp));
      }
      move(f, temp, x);
      hlo_x86_rm(f->as, HLO_X86_sub, 8, temp, reg(HLO_X86_RDX));
      move(f, HLO_X86_RDX, temp);
    }
    hlo_x86_out_done(f, value, HLO_X86_RDX);
    return;
  }
  hlo_x86_rm_t d = hlo_x86_in_rm(f, divisor);
  move(f, HLO_X86_RAX, x);
  hlo_x86_rm(f->as, HLO_X86_xor, 4, HLO_X86_RDX, reg(HLO_X86_RDX));
  hlo_x86_m(f->as, HLO_X86_div, 8, d);
  hlo_x86_out_done(f, value, is_quotient ? HLO_X86_RAX : HLO_X86_RDX);
}

// ---- comparisons

static const hlo_x86_cc_t conditions[] = {
    [HLO_VIR_EQ] = HLO_X86_E,  [HLO_VIR_NE] = HLO_X86_NE, [HLO_VIR_LT] = HLO_X86_L,
    [HLO_VIR_LE] = HLO_X86_LE, [HLO_VIR_GT] = HLO_X86_G,  [HLO_VIR_GE] = HLO_X86_GE,
};
static const hlo_x86_cc_t swapped[] = {
    [HLO_VIR_EQ] = HLO_X86_E,  [HLO_VIR_NE] = HLO_X86_NE, [HLO_VIR_LT] = HLO_X86_G,
    [HLO_VIR_LE] = HLO_X86_GE, [HLO_VIR_GT] = HLO_X86_L,  [HLO_VIR_GE] = HLO_X86_LE,
};

static hlo_x86_cc_t emit_compare(hlo_x86_fn_t* f, const hlo_vir_value_t* compare) {
  const hlo_vir_value_t *a = compare->operands[0], *b = compare->operands[1];
  int32_t imm;
  if (hlo_x86_in_imm(b, &imm)) {
    hlo_x86_rm_t rm = hlo_x86_in_rm(f, a);
    if (imm == 0 && rm.kind == HLO_X86_REGISTER) {
      hlo_x86_rm(f->as, HLO_X86_test, 8, rm.reg, rm);
    } else {
      hlo_x86_mi(f->as, HLO_X86_cmp, 8, rm, imm);
    }
    return conditions[compare->flags & 7];
  }
  if (hlo_x86_in_imm(a, &imm)) {
    hlo_x86_mi(f->as, HLO_X86_cmp, 8, hlo_x86_in_rm(f, b), imm);
    return swapped[compare->flags & 7];
  }
  if (hlo_x86_live_range(f, a)->is_folded) {
    hlo_x86_mr(f->as, HLO_X86_cmp, 8, hlo_x86_memory(f, a), hlo_x86_in(f, b));
  } else {
    unsigned x = hlo_x86_in(f, a);
    hlo_x86_rm(f->as, HLO_X86_cmp, 8, x, hlo_x86_in_rm(f, b));
  }
  return conditions[compare->flags & 7];
}

hlo_x86_cc_t hlo_x86_emit_condition(hlo_x86_fn_t* f, const hlo_vir_value_t* condition) {
  if (hlo_x86_live_range(f, condition)->is_folded) {
    if (condition->op == HLO_VIR_icmp) return emit_compare(f, condition);
    unsigned log2_bytes = condition->flags >> HLO_VIR_WIDTH_SHIFT & 3;
    hlo_x86_mi(f->as, HLO_X86_cmp, 1u << log2_bytes, hlo_x86_memory(f, condition), 0);
    return HLO_X86_NE;
  }
  unsigned x = hlo_x86_in(f, condition);
  hlo_x86_rm(f->as, HLO_X86_test, 8, x, reg(x));
  return HLO_X86_NE;
}

static void emit_compare_value(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned to = hlo_x86_out(f, value);
  hlo_x86_cc_t cc = emit_compare(f, value);
  hlo_x86_setcc(f->as, cc, to);
  hlo_x86_rm(f->as, HLO_X86_movzx_8, 4, to, reg(to));
  hlo_x86_out_done(f, value, to);
}

// to = cc ? x : y with the flags already set; mov preserves them.
static void emit_choice(hlo_x86_fn_t* f, hlo_x86_cc_t cc, unsigned to, unsigned x, unsigned y) {
  if (to == x) {
    hlo_x86_cmov(f->as, (hlo_x86_cc_t)(cc ^ 1), 8, to, reg(y));
  } else {
    move(f, to, y);
    hlo_x86_cmov(f->as, cc, 8, to, reg(x));
  }
}

static void emit_select(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned to = hlo_x86_out(f, value);
  unsigned x = hlo_x86_in(f, value->operands[1]), y = hlo_x86_in(f, value->operands[2]);
  emit_choice(f, hlo_x86_emit_condition(f, value->operands[0]), to, x, y);
  hlo_x86_out_done(f, value, to);
}

static void emit_min_max(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned to = hlo_x86_out(f, value);
  unsigned x = hlo_x86_in(f, value->operands[0]), y = hlo_x86_in(f, value->operands[1]);
  hlo_x86_rm(f->as, HLO_X86_cmp, 8, x, reg(y));
  emit_choice(f, value->op == HLO_VIR_imin ? HLO_X86_LE : HLO_X86_GE, to, x, y);
  hlo_x86_out_done(f, value, to);
}

void hlo_x86_emit_index(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_iadd: emit_add(f, value); break;
    case HLO_VIR_isub: emit_binary(f, value, HLO_X86_sub, false); break;
    case HLO_VIR_imul: emit_mul(f, value); break;
    case HLO_VIR_idiv:
    case HLO_VIR_irem: emit_division(f, value); break;
    case HLO_VIR_imin:
    case HLO_VIR_imax: emit_min_max(f, value); break;
    case HLO_VIR_iand: emit_binary(f, value, HLO_X86_and, true); break;
    case HLO_VIR_ior: emit_binary(f, value, HLO_X86_or, true); break;
    case HLO_VIR_ixor: emit_binary(f, value, HLO_X86_xor, true); break;
    case HLO_VIR_ishl: emit_shift(f, value, HLO_X86_shl); break;
    case HLO_VIR_ishr: emit_shift(f, value, HLO_X86_sar); break;
    case HLO_VIR_isext: emit_extension(f, value); break;
    case HLO_VIR_icmp: emit_compare_value(f, value); break;
    case HLO_VIR_iselect: emit_select(f, value); break;
    default: {  // rodata, func_address: constants kept in a register
      unsigned to = hlo_x86_out(f, value);
      hlo_x86_rematerialize(f, value, to);
      hlo_x86_out_done(f, value, to);
    }
  }
}
