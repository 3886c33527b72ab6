// SPDX-License-Identifier: Apache-2.0
// Comparisons and masks. With AVX-512 a mask is bits in a mask register, with arbitrary bits above
// its lanes; without, a vector of all-ones and all-zeros lanes, as wide as the compared lanes.
#include "codegen/x86/x86_impl.h"

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static unsigned lane_bits_of(const hlo_x86_fn_t* f, const hlo_vir_value_t* mask) {
  return hlo_x86_live_range(f, hlo_x86_resolve(mask))->lane_bits;
}

static unsigned usual_lane_bits(const hlo_x86_fn_t* f, unsigned lanes) {
  unsigned bits = 8 * hlo_x86_mask_bytes(f) / lanes;
  return bits > 32 ? 32 : bits;
}

void hlo_x86_choose_lane_bits(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (f->is_avx512 || value->type.elem != HLO_VIR_MASK) return;
  unsigned lanes = value->type.lanes, room = 8 * hlo_x86_mask_bytes(f), bits;
  if (8 * lanes > room) {
    hlo_x86_unimplemented(f, value);
    return;
  }
  switch (value->op) {
    case HLO_VIR_fcmp:
    case HLO_VIR_scmp:
    case HLO_VIR_ucmp: bits = hlo_x86_elem_bits(value->operands[0]->type); break;
    case HLO_VIR_mask_const:
    case HLO_VIR_mask_first: bits = usual_lane_bits(f, lanes); break;
    default: bits = lane_bits_of(f, value->operands[0]); break;
  }
  if (bits * lanes > room) bits = room / lanes;
  hlo_x86_live_range(f, value)->lane_bits = (uint8_t)bits;
}

static unsigned mask_width(unsigned lanes, unsigned lane_bits) {
  return lanes * lane_bits <= 128 ? 16 : 32;
}

// ---- conversions between forms

unsigned hlo_x86_in_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* mask, unsigned lane_bits) {
  static const hlo_x86_insn_t widen[4][4] = {
      {0, HLO_X86_vpmovsxbw, HLO_X86_vpmovsxbd, HLO_X86_vpmovsxbq},
      {0, 0, HLO_X86_vpmovsxwd, HLO_X86_vpmovsxwq},
      {0, 0, 0, HLO_X86_vpmovsxdq}};
  unsigned from = hlo_x86_in(f, mask), from_bits = lane_bits_of(f, mask);
  if (from_bits == lane_bits) return from;
  unsigned to = hlo_x86_temp_vec(f), lanes = mask->type.lanes;
  if (from_bits < lane_bits) {
    hlo_x86_vv(f->as, widen[__builtin_ctz(from_bits / 8)][__builtin_ctz(lane_bits / 8)],
               mask_width(lanes, lane_bits), to, reg(from), 0);
  } else {
    hlo_x86_narrow(f, to, from, from_bits, lane_bits, lanes);
  }
  return to;
}

unsigned hlo_x86_in_exact_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* mask) {
  unsigned from = hlo_x86_in(f, mask), lanes = mask->type.lanes;
  const hlo_vir_value_t* made = hlo_x86_resolve(mask);
  bool is_exact = made == mask && made->op == HLO_VIR_mask_first;
  if (lanes == 64 || is_exact) return from;
  unsigned to = hlo_x86_temp(f, HLO_X86_MASKS), temp = hlo_x86_temp_gpr(f);
  hlo_x86_mov_imm(f->as, temp, (int64_t)((UINT64_C(1) << lanes) - 1));
  hlo_x86_vv(f->as, HLO_X86_kmovq_from_gpr, 0, to, reg(temp), 0);
  hlo_x86_vvv(f->as, HLO_X86_kandq, 0, to, to, reg(from), 0);
  return to;
}

void hlo_x86_mask_to_bits(hlo_x86_fn_t* f, const hlo_vir_value_t* mask, unsigned to) {
  unsigned lanes = mask->type.lanes, valid = lanes < 8 ? 8 : lanes;
  hlo_x86_asm_t* as = f->as;
  if (f->is_avx512) {
    unsigned from = hlo_x86_in(f, mask);
    hlo_x86_insn_t insn = lanes == 64   ? HLO_X86_kmovq_to_gpr
                          : lanes == 32 ? HLO_X86_kmovd_to_gpr
                          : lanes == 16 ? HLO_X86_kmovw_to_gpr
                                        : HLO_X86_kmovb_to_gpr;
    hlo_x86_vv(as, insn, 0, to, reg(from), 0);
  } else {
    unsigned bits = lane_bits_of(f, mask);
    unsigned from = hlo_x86_in_mask(f, mask, bits == 16 ? 8 : bits);
    if (bits == 16) bits = 8;
    hlo_x86_insn_t insn = bits == 8    ? HLO_X86_vpmovmskb
                          : bits == 32 ? HLO_X86_vmovmskps
                                       : HLO_X86_vmovmskpd;
    unsigned width = mask_width(lanes, bits);
    hlo_x86_vv(as, insn, width, to, reg(from), 0);
    valid = width * 8 / bits;
  }
  if (lanes < valid) hlo_x86_mi(as, HLO_X86_and, 4, reg(to), (int32_t)((UINT32_C(1) << lanes) - 1));
}

// ---- comparisons

static const uint8_t float_predicates[] = {
    [HLO_VIR_EQ] = 0x00, [HLO_VIR_NE] = 0x04, [HLO_VIR_LT] = 0x11,        [HLO_VIR_LE] = 0x12,
    [HLO_VIR_GT] = 0x1e, [HLO_VIR_GE] = 0x1d, [HLO_VIR_UNORDERED] = 0x03, [HLO_VIR_ORDERED] = 0x07};

static void compare_into_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  static const hlo_x86_insn_t integers[2][4] = {
      {HLO_X86_vpcmpb, HLO_X86_vpcmpw, HLO_X86_vpcmpd, HLO_X86_vpcmpq},
      {HLO_X86_vpcmpub, HLO_X86_vpcmpuw, HLO_X86_vpcmpud, HLO_X86_vpcmpuq}};
  static const uint8_t predicates[] = {[HLO_VIR_EQ] = 0, [HLO_VIR_NE] = 4, [HLO_VIR_LT] = 1,
                                       [HLO_VIR_LE] = 2, [HLO_VIR_GT] = 6, [HLO_VIR_GE] = 5};
  hlo_vir_type_t type = value->operands[0]->type;
  unsigned bits = hlo_x86_elem_bits(type), width = hlo_x86_width(type);
  bool is_float = value->op == HLO_VIR_fcmp;
  hlo_x86_insn_t insn = is_float ? (bits == 64 ? HLO_X86_vcmppd_k : HLO_X86_vcmpps_k)
                                 : integers[value->op == HLO_VIR_ucmp][__builtin_ctz(bits / 8)];
  unsigned predicate = (is_float ? float_predicates : predicates)[value->imm];
  unsigned to = hlo_x86_out(f, value), a = hlo_x86_in(f, value->operands[0]);
  hlo_x86_rm_t b = hlo_x86_in_vec(f, value->operands[1], width, bits >= 32 ? bits : 0);
  hlo_x86_vvvi(f->as, insn, width, to, a, b, predicate, 0);
  hlo_x86_out_done(f, value, to);
}

static void flip(hlo_x86_fn_t* f, unsigned width, unsigned to) {
  unsigned ones = hlo_x86_temp_vec(f);
  hlo_x86_ones_vec(f, width, ones);
  hlo_x86_bits(f, HLO_X86_XOR, width, to, to, reg(ones));
}

// Integers with AVX2: only equal and greater exist; the others are derived.
static void compare_integers(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t equal[] = {HLO_X86_vpcmpeqb, HLO_X86_vpcmpeqw, HLO_X86_vpcmpeqd,
                                         HLO_X86_vpcmpeqq};
  static const hlo_x86_insn_t greater[] = {HLO_X86_vpcmpgtb, HLO_X86_vpcmpgtw, HLO_X86_vpcmpgtd,
                                           HLO_X86_vpcmpgtq};
  hlo_vir_type_t type = value->operands[0]->type;
  unsigned bits = hlo_x86_elem_bits(type), width = hlo_x86_width(type);
  unsigned log2_bytes = (unsigned)__builtin_ctz(bits / 8);
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  hlo_vir_condition_t condition = (hlo_vir_condition_t)value->imm;
  bool is_equal = condition == HLO_VIR_EQ || condition == HLO_VIR_NE;
  if (!is_equal && value->op == HLO_VIR_ucmp) {
    hlo_x86_rm_t sign = hlo_x86_pool_splat(f, bits, UINT64_C(1) << (bits - 1), width);
    unsigned x = hlo_x86_temp_vec(f), y = hlo_x86_temp_vec(f);
    hlo_x86_bits(f, HLO_X86_XOR, width, x, a, sign);
    hlo_x86_bits(f, HLO_X86_XOR, width, y, b, sign);
    a = x;
    b = y;
  }
  bool swap = condition == HLO_VIR_LT || condition == HLO_VIR_GE;
  hlo_x86_vvv(f->as, (is_equal ? equal : greater)[log2_bytes], width, to, swap ? b : a,
              reg(swap ? a : b), 0);
  if (condition == HLO_VIR_NE || condition == HLO_VIR_LE || condition == HLO_VIR_GE) {
    flip(f, width, to);
  }
}

void hlo_x86_emit_compare(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (f->is_avx512) {
    compare_into_mask(f, value);
    return;
  }
  hlo_vir_type_t type = value->operands[0]->type;
  unsigned to = hlo_x86_out(f, value), width = hlo_x86_width(type);
  if (value->op == HLO_VIR_fcmp) {
    unsigned a = hlo_x86_in(f, value->operands[0]);
    hlo_x86_rm_t b = hlo_x86_in_vec(f, value->operands[1], width, 0);
    hlo_x86_vvvi(f->as, type.elem == HLO_VIR_F64 ? HLO_X86_vcmppd : HLO_X86_vcmpps, width, to, a, b,
                 float_predicates[value->imm], 0);
  } else {
    compare_integers(f, value, to);
  }
  hlo_x86_out_done(f, value, to);
}

// ---- mask registers

// Returns n clamped to 0 ... lanes.
static unsigned clamped_count(hlo_x86_fn_t* f, const hlo_vir_value_t* n, unsigned lanes) {
  unsigned from = hlo_x86_in(f, n), to = hlo_x86_temp_gpr(f), zero = hlo_x86_temp_gpr(f);
  hlo_x86_mov_imm(f->as, to, lanes);
  hlo_x86_rm(f->as, HLO_X86_cmp, 8, from, reg(to));
  hlo_x86_cmov(f->as, HLO_X86_L, 8, to, reg(from));
  hlo_x86_rm(f->as, HLO_X86_xor, 4, zero, reg(zero));
  hlo_x86_rm(f->as, HLO_X86_test, 8, to, reg(to));
  hlo_x86_cmov(f->as, HLO_X86_S, 8, to, reg(zero));
  return to;
}

static void first_lanes(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned count = clamped_count(f, value->operands[0], value->type.lanes);
  unsigned ones = hlo_x86_temp_gpr(f);
  hlo_x86_mov_imm(f->as, ones, -1);
  hlo_x86_vvv(f->as, HLO_X86_bzhi, 8, ones, count, reg(ones), 0);
  hlo_x86_vv(f->as, HLO_X86_kmovq_from_gpr, 0, to, reg(ones), 0);
}

static void emit_in_registers(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  hlo_x86_insn_t insn = HLO_X86_kandq;
  switch (value->op) {
    case HLO_VIR_mask_first: first_lanes(f, value, to); return;
    case HLO_VIR_mask_not:
      hlo_x86_vv(f->as, HLO_X86_knotq, 0, to, reg(hlo_x86_in(f, value->operands[0])), 0);
      return;
    case HLO_VIR_mask_and: break;
    case HLO_VIR_mask_or: insn = HLO_X86_korq; break;
    case HLO_VIR_mask_xor: insn = HLO_X86_kxorq; break;
    default: hlo_x86_unimplemented(f, value); return;
  }
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  hlo_x86_vvv(f->as, insn, 0, to, a, reg(b), 0);
}

// ---- masks in vectors

static void first_lanes_vector(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t greater[] = {HLO_X86_vpcmpgtb, HLO_X86_vpcmpgtw, HLO_X86_vpcmpgtd,
                                           HLO_X86_vpcmpgtq};
  static const hlo_x86_insn_t broadcasts[] = {HLO_X86_vpbroadcastb, HLO_X86_vpbroadcastw,
                                              HLO_X86_vpbroadcastd, HLO_X86_vpbroadcastq};
  unsigned bits = lane_bits_of(f, value), width = mask_width(value->type.lanes, bits);
  unsigned log2_bytes = (unsigned)__builtin_ctz(bits / 8);
  unsigned count = clamped_count(f, value->operands[0], value->type.lanes);
  hlo_x86_vv(f->as, HLO_X86_vmovq, 16, to, reg(count), 0);
  hlo_x86_vv(f->as, broadcasts[log2_bytes], width, to, reg(to), 0);
  hlo_x86_vvv(f->as, greater[log2_bytes], width, to, to, hlo_x86_pool_iota(f, bits, width), 0);
}

static void emit_in_vectors(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned bits = lane_bits_of(f, value), width = mask_width(value->type.lanes, bits);
  hlo_x86_logic_t op = HLO_X86_AND;
  switch (value->op) {
    case HLO_VIR_mask_first: first_lanes_vector(f, value, to); return;
    case HLO_VIR_mask_not: {
      unsigned a = hlo_x86_in(f, value->operands[0]), ones = hlo_x86_temp_vec(f);
      hlo_x86_ones_vec(f, width, ones);
      hlo_x86_bits(f, HLO_X86_XOR, width, to, a, reg(ones));
      return;
    }
    case HLO_VIR_mask_and: break;
    case HLO_VIR_mask_or: op = HLO_X86_OR; break;
    case HLO_VIR_mask_xor: op = HLO_X86_XOR; break;
    default: hlo_x86_unimplemented(f, value); return;
  }
  unsigned a = hlo_x86_in_mask(f, value->operands[0], bits);
  unsigned b = hlo_x86_in_mask(f, value->operands[1], bits);
  hlo_x86_bits(f, op, width, to, a, reg(b));
}

void hlo_x86_emit_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned to = hlo_x86_out(f, value);
  if (value->op == HLO_VIR_mask_bits) {
    hlo_x86_mask_to_bits(f, value->operands[0], to);
  } else if (f->is_avx512) {
    emit_in_registers(f, value, to);
  } else {
    emit_in_vectors(f, value, to);
  }
  hlo_x86_out_done(f, value, to);
}
