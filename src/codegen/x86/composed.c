// SPDX-License-Identifier: Apache-2.0
// Lane-wise operations of several instructions: element types that the processor lacks, division.
// Here the result never shares a register with an operand.
#include "codegen/x86/x86_impl.h"

typedef enum shift { SHIFT_LEFT, SHIFT_RIGHT, SHIFT_ARITHMETIC } shift_t;

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static unsigned log2_bytes(unsigned bits) {
  return (unsigned)__builtin_ctz(bits / 8);
}

static void add(hlo_x86_fn_t* f, unsigned bits, unsigned width, unsigned to, unsigned a,
                hlo_x86_rm_t b) {
  static const hlo_x86_insn_t insns[] = {HLO_X86_vpaddb, HLO_X86_vpaddw, HLO_X86_vpaddd,
                                         HLO_X86_vpaddq};
  hlo_x86_vvv(f->as, insns[log2_bytes(bits)], width, to, a, b, 0);
}

static void subtract(hlo_x86_fn_t* f, unsigned bits, unsigned width, unsigned to, unsigned a,
                     hlo_x86_rm_t b) {
  static const hlo_x86_insn_t insns[] = {HLO_X86_vpsubb, HLO_X86_vpsubw, HLO_X86_vpsubd,
                                         HLO_X86_vpsubq};
  hlo_x86_vvv(f->as, insns[log2_bytes(bits)], width, to, a, b, 0);
}

// ---- shifts by a constant

static void shift_words(hlo_x86_fn_t* f, unsigned bits, unsigned width, shift_t kind, unsigned to,
                        unsigned from, unsigned by) {
  static const hlo_x86_insn_t insns[3][3] = {
      {HLO_X86_vpsllw_imm, HLO_X86_vpslld_imm, HLO_X86_vpsllq_imm},
      {HLO_X86_vpsrlw_imm, HLO_X86_vpsrld_imm, HLO_X86_vpsrlq_imm},
      {HLO_X86_vpsraw_imm, HLO_X86_vpsrad_imm, HLO_X86_vpsraq_imm}};
  hlo_x86_vvi(f->as, insns[kind][log2_bytes(bits) - 1], width, to, reg(from), by, 0);
}

// Shifts lanes of any width. Bytes are shifted as words and the bits of the neighbour cleared; a
// missing sign is added afterwards: (x ^ m) - m, where m is the shifted position of the sign.
static void shift_lanes(hlo_x86_fn_t* f, unsigned bits, unsigned width, shift_t kind, unsigned to,
                        unsigned from, unsigned by) {
  bool is_word = bits > 8, has_sign = is_word && (bits < 64 || f->is_avx512);
  if (is_word && (kind != SHIFT_ARITHMETIC || has_sign)) {
    shift_words(f, bits, width, kind, to, from, by);
    return;
  }
  shift_words(f, is_word ? bits : 16, width, kind == SHIFT_LEFT ? SHIFT_LEFT : SHIFT_RIGHT, to,
              from, by);
  if (!is_word) {
    uint64_t kept = kind == SHIFT_LEFT ? 0xffu << by & 0xff : 0xffu >> by;
    hlo_x86_bits(f, HLO_X86_AND, width, to, to, hlo_x86_pool_splat(f, 8, kept, width));
  }
  if (kind == SHIFT_ARITHMETIC) {
    hlo_x86_rm_t sign = hlo_x86_pool_splat(f, bits, UINT64_C(1) << (bits - 1) >> by, width);
    hlo_x86_bits(f, HLO_X86_XOR, width, to, to, sign);
    subtract(f, bits, width, to, to, sign);
  }
}

static void emit_shift_imm(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  unsigned from = hlo_x86_in(f, value->operands[0]), by = (unsigned)value->imm;
  switch (value->op) {
    case HLO_VIR_shli: shift_lanes(f, bits, width, SHIFT_LEFT, to, from, by); break;
    case HLO_VIR_lshri: shift_lanes(f, bits, width, SHIFT_RIGHT, to, from, by); break;
    case HLO_VIR_ashri: shift_lanes(f, bits, width, SHIFT_ARITHMETIC, to, from, by); break;
    default: {  // rotli
      unsigned upper = hlo_x86_temp_vec(f);
      shift_lanes(f, bits, width, SHIFT_LEFT, to, from, by);
      shift_lanes(f, bits, width, SHIFT_RIGHT, upper, from, bits - by);
      hlo_x86_bits(f, HLO_X86_OR, width, to, to, reg(upper));
    }
  }
}

// ---- shifts lane by lane

// Without AVX2: shifts all lanes by the count of one lane, keeps that lane, and so on.
static void shift_each(hlo_x86_fn_t* f, unsigned bits, shift_t kind, unsigned to, unsigned a,
                       unsigned b) {
  static const hlo_x86_insn_t insns[3][3] = {{HLO_X86_vpsllw, HLO_X86_vpslld, HLO_X86_vpsllq},
                                             {HLO_X86_vpsrlw, HLO_X86_vpsrld, HLO_X86_vpsrlq},
                                             {HLO_X86_vpsraw, HLO_X86_vpsrad}};
  enum { WIDTH = 16 };
  unsigned bytes = bits / 8, x = hlo_x86_temp_vec(f), sum = hlo_x86_temp_vec(f);
  hlo_x86_asm_t* as = f->as;
  for (unsigned at = 0; at < WIDTH; at += bytes) {
    uint8_t lane[WIDTH] = {0};
    for (unsigned i = 0; i < bytes; ++i) lane[at + i] = 0xff;
    hlo_x86_vvi(as, HLO_X86_vpslldq, WIDTH, x, reg(b), WIDTH - at - bytes, 0);
    hlo_x86_vvi(as, HLO_X86_vpsrldq, WIDTH, x, reg(x), WIDTH - bytes, 0);
    hlo_x86_vvv(as, insns[kind][log2_bytes(bits) - 1], WIDTH, x, a, reg(x), 0);
    hlo_x86_bits(f, HLO_X86_AND, WIDTH, x, x, hlo_x86_pool_bytes(f, lane, WIDTH));
    if (at) {
      hlo_x86_bits(f, HLO_X86_OR, WIDTH, sum, sum, reg(x));
    } else {
      hlo_x86_move(f, HLO_X86_VECTORS, WIDTH, sum, x);
    }
  }
  hlo_x86_move(f, HLO_X86_VECTORS, WIDTH, to, sum);
}

// Lanes of 16 bits with AVX-512; of 32 and, except arithmetic shifts, 64 bits with AVX2.
static void shift_by_lanes(hlo_x86_fn_t* f, unsigned bits, unsigned width, shift_t kind,
                           unsigned to, unsigned a, unsigned b) {
  static const hlo_x86_insn_t insns[3][3] = {{HLO_X86_vpsllvw, HLO_X86_vpsllvd, HLO_X86_vpsllvq},
                                             {HLO_X86_vpsrlvw, HLO_X86_vpsrlvd, HLO_X86_vpsrlvq},
                                             {HLO_X86_vpsravw, HLO_X86_vpsravd, HLO_X86_vpsravq}};
  if (f->is_sse) {
    shift_each(f, bits, kind, to, a, b);
  } else {
    hlo_x86_vvv(f->as, insns[kind][log2_bytes(bits) - 1], width, to, a, reg(b), 0);
  }
}

static shift_t kind_of(const hlo_vir_value_t* value) {
  if (value->op == HLO_VIR_shl) return SHIFT_LEFT;
  return value->op == HLO_VIR_lshr ? SHIFT_RIGHT : SHIFT_ARITHMETIC;
}

// Shifts narrow lanes inside wider lanes that have the shift, one part after the other.
static void shift_parts(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to,
                        unsigned container) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  unsigned x = hlo_x86_temp_vec(f), n = hlo_x86_temp_vec(f);
  shift_t kind = kind_of(value);
  shift_t back = kind == SHIFT_ARITHMETIC ? SHIFT_ARITHMETIC : SHIFT_RIGHT;
  for (unsigned at = 0; at < container; at += bits) {
    unsigned above = container - at - bits;
    shift_words(f, container, width, SHIFT_LEFT, x, a, above);
    shift_words(f, container, width, back, x, x, container - bits);
    shift_words(f, container, width, SHIFT_LEFT, n, b, above);
    shift_words(f, container, width, SHIFT_RIGHT, n, n, container - bits);
    shift_by_lanes(f, container, width, kind, x, x, n);
    // Keeps only the part's own bits and moves them back.
    shift_words(f, container, width, SHIFT_LEFT, x, x, container - bits);
    if (at == 0) {
      shift_words(f, container, width, SHIFT_RIGHT, to, x, above);
    } else {
      shift_words(f, container, width, SHIFT_RIGHT, x, x, above);
      hlo_x86_bits(f, HLO_X86_OR, width, to, to, reg(x));
    }
  }
}

// 64-bit arithmetic shift without AVX-512: negative lanes are complemented before and after.
static void shift_quads(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned width = hlo_x86_width(value->type);
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  unsigned sign = hlo_x86_temp_vec(f);
  hlo_x86_zero_vec(f, sign);
  hlo_x86_vvv(f->as, HLO_X86_vpcmpgtq, width, sign, sign, reg(a), 0);
  hlo_x86_bits(f, HLO_X86_XOR, width, to, a, reg(sign));
  shift_by_lanes(f, 64, width, SHIFT_RIGHT, to, to, b);
  hlo_x86_bits(f, HLO_X86_XOR, width, to, to, reg(sign));
}

static void emit_shift(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned bits = hlo_x86_elem_bits(value->type);
  if (bits == 64 && value->op == HLO_VIR_ashr) {
    shift_quads(f, value, to);
  } else if (f->is_sse && bits > 8) {
    unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
    shift_each(f, bits, kind_of(value), to, a, b);
  } else {
    shift_parts(f, value, to, f->is_avx512 || f->is_sse ? 16 : 32);
  }
}

// ---- products, minima

static void emit_mul(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned width = hlo_x86_width(value->type);
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  unsigned x = hlo_x86_temp_vec(f), y = hlo_x86_temp_vec(f);
  hlo_x86_asm_t* as = f->as;
  unsigned bits = hlo_x86_elem_bits(value->type);
  if (bits < 64) {  // odd and even lanes, in lanes that hold their products
    unsigned wide = bits == 8 ? 16 : 64, half = wide / 2;
    hlo_x86_insn_t multiply = bits == 8 ? HLO_X86_vpmullw : HLO_X86_vpmuludq;
    hlo_x86_rm_t low = hlo_x86_pool_splat(f, wide, (UINT64_C(1) << half) - 1, width);
    shift_words(f, wide, width, SHIFT_RIGHT, x, a, half);
    shift_words(f, wide, width, SHIFT_RIGHT, y, b, half);
    hlo_x86_vvv(as, multiply, width, x, x, reg(y), 0);
    shift_words(f, wide, width, SHIFT_LEFT, x, x, half);
    hlo_x86_vvv(as, multiply, width, to, a, reg(b), 0);
    hlo_x86_bits(f, HLO_X86_AND, width, to, to, low);
    hlo_x86_bits(f, HLO_X86_OR, width, to, to, reg(x));
  } else {  // both cross products of 32-bit halves, above the product of the low halves
    shift_words(f, 64, width, SHIFT_RIGHT, x, a, 32);
    hlo_x86_vvv(as, HLO_X86_vpmuludq, width, x, x, reg(b), 0);
    shift_words(f, 64, width, SHIFT_RIGHT, y, b, 32);
    hlo_x86_vvv(as, HLO_X86_vpmuludq, width, y, y, reg(a), 0);
    add(f, 64, width, x, x, reg(y));
    shift_words(f, 64, width, SHIFT_LEFT, x, x, 32);
    hlo_x86_vvv(as, HLO_X86_vpmuludq, width, to, a, reg(b), 0);
    add(f, 64, width, to, to, reg(x));
  }
}

// Minimum and maximum by comparison.
static void emit_min_max(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t greater[] = {HLO_X86_vpcmpgtb, HLO_X86_vpcmpgtw, HLO_X86_vpcmpgtd,
                                           HLO_X86_vpcmpgtq};
  unsigned width = hlo_x86_width(value->type), bits = hlo_x86_elem_bits(value->type);
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  unsigned x = a, y = b;
  if (value->op == HLO_VIR_umin || value->op == HLO_VIR_umax) {
    hlo_x86_rm_t sign = hlo_x86_pool_splat(f, bits, UINT64_C(1) << (bits - 1), width);
    x = hlo_x86_temp_vec(f);
    y = hlo_x86_temp_vec(f);
    hlo_x86_bits(f, HLO_X86_XOR, width, x, a, sign);
    hlo_x86_bits(f, HLO_X86_XOR, width, y, b, sign);
  }
  bool is_min = value->op == HLO_VIR_smin || value->op == HLO_VIR_umin;
  hlo_x86_vvv(f->as, greater[log2_bytes(bits)], width, to, x, reg(y), 0);
  hlo_x86_vvvv(f->as, HLO_X86_vpblendvb, width, to, is_min ? a : b, reg(is_min ? b : a), to);
}

// ---- counting bits

// Adds neighbouring sums of `half` bits: (x & kept) + (x >> half & kept).
static void add_halves(hlo_x86_fn_t* f, unsigned half, uint64_t kept, unsigned to, unsigned from) {
  enum { WIDTH = 16 };
  unsigned high = hlo_x86_temp_vec(f);
  hlo_x86_rm_t constant = hlo_x86_pool_splat(f, 64, kept, WIDTH);
  shift_words(f, 64, WIDTH, SHIFT_RIGHT, high, from, half);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, high, high, constant);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, to, from, constant);
  add(f, 64, WIDTH, to, to, reg(high));
}

// With SSE2 only: sums of doubling width.
static void count_bits_by_sums(hlo_x86_fn_t* f, unsigned bits, unsigned to, unsigned from) {
  static const uint64_t kept[] = {UINT64_C(0x5555555555555555), UINT64_C(0x3333333333333333),
                                  UINT64_C(0x0f0f0f0f0f0f0f0f), UINT64_C(0x00ff00ff00ff00ff),
                                  UINT64_C(0x0000ffff0000ffff), UINT64_C(0x00000000ffffffff)};
  for (unsigned step = 0; 1u << step < bits; ++step) {
    add_halves(f, 1u << step, kept[step], to, step ? to : from);
  }
}

// Looks up the bits of each nibble, then sums bytes to the lane width. `from` is kept.
static void count_bits(hlo_x86_fn_t* f, unsigned bits, unsigned width, unsigned to, unsigned from) {
  static const hlo_x86_insn_t insns[] = {HLO_X86_vpopcntb, HLO_X86_vpopcntw, HLO_X86_vpopcntd,
                                         HLO_X86_vpopcntq};
  hlo_x86_asm_t* as = f->as;
  if (f->is_avx512 && hlo_x86_insn_is_available(insns[log2_bytes(bits)], f->target->cpu.features)) {
    hlo_x86_vv(as, insns[log2_bytes(bits)], width, to, reg(from), 0);
    return;
  }
  if (!hlo_x86_insn_is_available(HLO_X86_vpshufb, f->target->cpu.features)) {
    count_bits_by_sums(f, bits, to, from);
    return;
  }
  static const uint8_t nibble_bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  uint8_t table_bytes[64];
  for (unsigned i = 0; i < sizeof table_bytes; ++i) table_bytes[i] = nibble_bits[i % 16];
  hlo_x86_rm_t nibble = hlo_x86_pool_splat(f, 8, 0x0f, width);
  unsigned table = hlo_x86_temp_vec(f), high = hlo_x86_temp_vec(f);
  hlo_x86_vv(as, HLO_X86_vmovups, width, table, hlo_x86_pool_bytes(f, table_bytes, width), 0);
  shift_words(f, 16, width, SHIFT_RIGHT, high, from, 4);
  hlo_x86_bits(f, HLO_X86_AND, width, high, high, nibble);
  hlo_x86_bits(f, HLO_X86_AND, width, to, from, nibble);
  hlo_x86_vvv(as, HLO_X86_vpshufb, width, high, table, reg(high), 0);
  hlo_x86_vvv(as, HLO_X86_vpshufb, width, to, table, reg(to), 0);
  add(f, 8, width, to, to, reg(high));
  if (bits == 64) {
    hlo_x86_zero_vec(f, high);
    hlo_x86_vvv(as, HLO_X86_vpsadbw, width, to, to, reg(high), 0);
    return;
  }
  if (bits >= 16) {
    hlo_x86_vvv(as, HLO_X86_vpmaddubsw, width, to, to, hlo_x86_pool_splat(f, 8, 1, width), 0);
  }
  if (bits == 32) {
    hlo_x86_vvv(as, HLO_X86_vpmaddwd, width, to, to, hlo_x86_pool_splat(f, 16, 1, width), 0);
  }
}

// Sets all bits below the highest one and counts the remaining zeros.
static void emit_clz(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  unsigned from = hlo_x86_in(f, value->operands[0]);
  unsigned x = hlo_x86_temp_vec(f), shifted = hlo_x86_temp_vec(f);
  shift_lanes(f, bits, width, SHIFT_RIGHT, x, from, 1);
  hlo_x86_bits(f, HLO_X86_OR, width, x, x, reg(from));
  for (unsigned by = 2; by < bits; by *= 2) {
    shift_lanes(f, bits, width, SHIFT_RIGHT, shifted, x, by);
    hlo_x86_bits(f, HLO_X86_OR, width, x, x, reg(shifted));
  }
  hlo_x86_ones_vec(f, width, shifted);
  hlo_x86_bits(f, HLO_X86_XOR, width, x, x, reg(shifted));
  count_bits(f, bits, width, to, x);
}

// ---- rounding with SSE2

// |x| + 2^23 - 2^23 (f64: 2^52) rounds |x| to even if it is smaller than that; one is added or
// subtracted for other roundings; the sign is x's.
static void emit_round(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  enum { WIDTH = 16, LT = 1 };
  bool wide = value->type.elem == HLO_VIR_F64;
  unsigned bits = wide ? 64 : 32, from = hlo_x86_in(f, value->operands[0]);
  unsigned x = hlo_x86_temp_vec(f), size = hlo_x86_temp_vec(f), step = hlo_x86_temp_vec(f);
  hlo_x86_insn_t plus = wide ? HLO_X86_vaddpd : HLO_X86_vaddps;
  hlo_x86_insn_t minus = wide ? HLO_X86_vsubpd : HLO_X86_vsubps;
  hlo_x86_insn_t compare = wide ? HLO_X86_vcmppd : HLO_X86_vcmpps;
  hlo_x86_rm_t sign = hlo_x86_pool_splat(f, bits, UINT64_C(1) << (bits - 1), WIDTH);
  hlo_x86_rm_t limit = hlo_x86_pool_splat(
      f, bits, wide ? UINT64_C(0x4330000000000000) : UINT64_C(0x4b000000), WIDTH);
  hlo_x86_rm_t one = hlo_x86_pool_splat(
      f, bits, wide ? UINT64_C(0x3ff0000000000000) : UINT64_C(0x3f800000), WIDTH);
  hlo_x86_asm_t* as = f->as;
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, size, sign, 0);
  hlo_x86_bits(f, HLO_X86_ANDN, WIDTH, size, size, reg(from));
  hlo_x86_vvv(as, plus, WIDTH, x, size, limit, 0);
  hlo_x86_vvv(as, minus, WIDTH, x, x, limit, 0);
  bool is_zero = value->imm == HLO_VIR_TOWARD_ZERO;
  if (!is_zero) {  // of numbers with a sign
    hlo_x86_bits(f, HLO_X86_AND, WIDTH, step, from, sign);
    hlo_x86_bits(f, HLO_X86_OR, WIDTH, x, x, reg(step));
  }
  unsigned exact = is_zero ? size : from;
  if (value->imm == HLO_VIR_CEIL) {
    hlo_x86_vvvi(as, compare, WIDTH, step, x, reg(exact), LT, 0);
    hlo_x86_bits(f, HLO_X86_AND, WIDTH, step, step, one);
    hlo_x86_vvv(as, plus, WIDTH, x, x, reg(step), 0);
  } else if (value->imm != HLO_VIR_NEAREST_EVEN) {
    hlo_x86_vvvi(as, compare, WIDTH, step, exact, reg(x), LT, 0);
    hlo_x86_bits(f, HLO_X86_AND, WIDTH, step, step, one);
    hlo_x86_vvv(as, minus, WIDTH, x, x, reg(step), 0);
  }
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, step, from, sign);
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, x, x, reg(step));
  hlo_x86_vvvi(as, compare, WIDTH, step, size, limit, LT, 0);  // false for NaN
  hlo_x86_vvvv(as, HLO_X86_vpblendvb, WIDTH, to, from, reg(x), step);
}

// ---- division of one lane

static void lane_to_gpr(hlo_x86_fn_t* f, unsigned bits, bool is_signed, unsigned to,
                        unsigned from) {
  hlo_x86_vv(f->as, bits == 64 ? HLO_X86_vmovq_store : HLO_X86_vmovd_store, 16, from, reg(to), 0);
  if (bits == 8) {
    hlo_x86_rm(f->as, is_signed ? HLO_X86_movsx_8 : HLO_X86_movzx_8, 4, to, reg(to));
  } else if (bits == 16) {
    hlo_x86_rm(f->as, is_signed ? HLO_X86_movsx_16 : HLO_X86_movzx_16, 4, to, reg(to));
  }
}

static void emit_division(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  if (value->type.lanes != 1) {
    hlo_x86_unimplemented(f, value);
    return;
  }
  unsigned bits = hlo_x86_elem_bits(value->type), size = bits == 64 ? 8 : 4;
  bool is_signed = value->op == HLO_VIR_sdiv || value->op == HLO_VIR_srem;
  bool is_quotient = value->op == HLO_VIR_sdiv || value->op == HLO_VIR_udiv;
  hlo_x86_claim(f, HLO_X86_RAX);
  hlo_x86_claim(f, HLO_X86_RDX);
  unsigned divisor = hlo_x86_temp_gpr(f);
  lane_to_gpr(f, bits, is_signed, HLO_X86_RAX, hlo_x86_in(f, value->operands[0]));
  lane_to_gpr(f, bits, is_signed, divisor, hlo_x86_in(f, value->operands[1]));
  if (is_signed) {
    hlo_x86_bare(f->as, size == 8 ? HLO_X86_cqo : HLO_X86_cdq);
    hlo_x86_m(f->as, HLO_X86_idiv, size, reg(divisor));
  } else {
    hlo_x86_rm(f->as, HLO_X86_xor, 4, HLO_X86_RDX, reg(HLO_X86_RDX));
    hlo_x86_m(f->as, HLO_X86_div, size, reg(divisor));
  }
  hlo_x86_vv(f->as, size == 8 ? HLO_X86_vmovq : HLO_X86_vmovd, 16, to,
             reg(is_quotient ? HLO_X86_RAX : HLO_X86_RDX), 0);
}

void hlo_x86_emit_composed(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned to = hlo_x86_out(f, value);
  switch (value->op) {
    case HLO_VIR_fround: emit_round(f, value, to); break;
    case HLO_VIR_mul: emit_mul(f, value, to); break;
    case HLO_VIR_smin:
    case HLO_VIR_smax:
    case HLO_VIR_umin:
    case HLO_VIR_umax: emit_min_max(f, value, to); break;
    case HLO_VIR_shl:
    case HLO_VIR_lshr:
    case HLO_VIR_ashr: emit_shift(f, value, to); break;
    case HLO_VIR_shli:
    case HLO_VIR_lshri:
    case HLO_VIR_ashri:
    case HLO_VIR_rotli: emit_shift_imm(f, value, to); break;
    case HLO_VIR_popcount:
      count_bits(f, hlo_x86_elem_bits(value->type), hlo_x86_width(value->type), to,
                 hlo_x86_in(f, value->operands[0]));
      break;
    case HLO_VIR_clz: emit_clz(f, value, to); break;
    case HLO_VIR_sdiv:
    case HLO_VIR_srem:
    case HLO_VIR_udiv:
    case HLO_VIR_urem: emit_division(f, value, to); break;
    default: hlo_x86_unimplemented(f, value); break;
  }
  hlo_x86_out_done(f, value, to);
}
