// SPDX-License-Identifier: Apache-2.0
// a * b + c with one rounding for processors without FMA: functions of a module, one for each type,
// behind its other functions. They find their operands below the caller's stack pointer and keep
// all registers but those that no value is in (sse.h).
#include "codegen/x86/x86_impl.h"

enum {
  WIDTH = 16,
  ARGUMENTS = -64,  // from the caller's rsp: a, b, c, and the result in place of a; in the red zone
  RETURN_BYTES = 8,
  SPARE = HLO_X86_SSE_REGISTERS,
  RESULT = HLO_X86_SSE_REGISTERS + 1,
};

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static hlo_x86_rm_t at(int32_t offset_bytes) {
  return hlo_x86_mem(HLO_X86_RSP, offset_bytes);
}

void hlo_x86_emit_fma_call(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  bool wide = value->type.elem == HLO_VIR_F64;
  unsigned to = hlo_x86_out(f, value);
  for (int32_t i = 0; i < 3; ++i) {
    unsigned operand = hlo_x86_in(f, value->operands[i]);
    if (i == 0 && value->op == HLO_VIR_fnma) {
      unsigned minus = hlo_x86_temp_vec(f);
      uint64_t sign = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
      hlo_x86_bits(f, HLO_X86_XOR, WIDTH, minus, operand,
                   hlo_x86_pool_splat(f, wide ? 64 : 32, sign, WIDTH));
      operand = minus;
    }
    hlo_x86_vv(f->as, HLO_X86_vmovups_store, WIDTH, operand, at(ARGUMENTS + WIDTH * i), 0);
  }
  hlo_x86_label_t* label = &f->unit->fma_labels[wide];
  if (*label == HLO_X86_NO_LABEL) *label = hlo_x86_label_create(f->as);
  hlo_x86_call(f->as, *label);
  hlo_x86_vv(f->as, HLO_X86_vmovups, WIDTH, to, at(ARGUMENTS), 0);
  hlo_x86_out_done(f, value, to);
}

// ---- F32

static void vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, unsigned b) {
  hlo_x86_vvv(as, insn, WIDTH, a, a, reg(b), 0);
}

static void copy(hlo_x86_asm_t* as, unsigned to, unsigned from) {
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, to, reg(from), 0);
}

// sum = p + c rounded to odd: the product p of two F32 is exact in F64, so what rounding takes away
// is found exactly, and an even sum goes one step to where it points. Rounding that to F32 is
// right, because F64 has more than two bits more. p and c are destroyed. source: Boldo and
// Melquiond, Emulation of FMA and correctly rounded sums
static void add_to_odd(hlo_x86_asm_t* as, unsigned sum, unsigned p, unsigned c, unsigned x,
                       unsigned y) {
  enum { LT = 1, UPPER_WORDS = 0xf5 };
  copy(as, sum, p);
  vector(as, HLO_X86_vaddpd, sum, c);
  copy(as, x, sum);
  vector(as, HLO_X86_vsubpd, x, p);  // what c gave
  copy(as, y, sum);
  vector(as, HLO_X86_vsubpd, y, x);
  vector(as, HLO_X86_vsubpd, p, y);
  vector(as, HLO_X86_vsubpd, c, x);
  vector(as, HLO_X86_vaddpd, p, c);  // the error; NaN if the sum is not finite
  // Its sign as an integer: 1, 0, -1; turned over where the sum is negative.
  vector(as, HLO_X86_vxorps, c, c);
  copy(as, x, c);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, x, x, reg(p), LT, 0);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, p, p, reg(c), LT, 0);
  vector(as, HLO_X86_vpsubq, p, x);
  hlo_x86_vvi(as, HLO_X86_vpsrad_imm, WIDTH, x, reg(sum), 31, 0);
  hlo_x86_vvi(as, HLO_X86_vpshufd, WIDTH, x, reg(x), UPPER_WORDS, 0);
  vector(as, HLO_X86_vpxor, p, x);
  vector(as, HLO_X86_vpsubq, p, x);
  // Where the sum is odd it stays.
  vector(as, HLO_X86_vpcmpeqd, c, c);
  hlo_x86_vvi(as, HLO_X86_vpsrlq_imm, WIDTH, c, reg(c), 63, 0);
  copy(as, x, sum);
  vector(as, HLO_X86_vpand, x, c);
  vector(as, HLO_X86_vpsubq, x, c);
  vector(as, HLO_X86_vpand, p, x);
  vector(as, HLO_X86_vpaddq, sum, p);
}

static void emit_f32(hlo_x86_asm_t* as) {
  enum { SAVED = 4, FRAME_BYTES = SAVED * WIDTH - ARGUMENTS, P = 0, C = 1, X = 2, Y = 3, SUM = SPARE };
  const int32_t arguments = FRAME_BYTES + RETURN_BYTES + ARGUMENTS;
  hlo_x86_mi(as, HLO_X86_sub, 8, reg(HLO_X86_RSP), FRAME_BYTES);
  for (unsigned i = 0; i < SAVED; ++i) {
    hlo_x86_vv(as, HLO_X86_vmovups_store, WIDTH, i, at((int32_t)i * WIDTH), 0);
  }
  for (int32_t half = 0; half < 2; ++half) {
    int32_t from = arguments + half * WIDTH / 2;
    hlo_x86_vv(as, HLO_X86_vcvtps2pd, WIDTH, P, at(from), 0);
    hlo_x86_vv(as, HLO_X86_vcvtps2pd, WIDTH, X, at(from + WIDTH), 0);
    hlo_x86_vv(as, HLO_X86_vcvtps2pd, WIDTH, C, at(from + 2 * WIDTH), 0);
    vector(as, HLO_X86_vmulpd, P, X);
    add_to_odd(as, SUM, P, C, X, Y);
    hlo_x86_vv(as, HLO_X86_vcvtpd2ps, WIDTH, half ? SUM : RESULT, reg(SUM), 0);
  }
  hlo_x86_vvv(as, HLO_X86_vmovlhps, WIDTH, RESULT, RESULT, reg(SUM), 0);
  hlo_x86_vv(as, HLO_X86_vmovups_store, WIDTH, RESULT, at(arguments), 0);
  for (unsigned i = 0; i < SAVED; ++i) {
    hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, i, at((int32_t)i * WIDTH), 0);
  }
  hlo_x86_mi(as, HLO_X86_add, 8, reg(HLO_X86_RSP), FRAME_BYTES);
  hlo_x86_bare(as, HLO_X86_ret);
}

// ---- F64, in the x87 unit: 64 bits of precision, and no product or sum is out of its range

// The stack frame of emit_f64(), what it is called with being above.
enum {
  RAX_AT = 0,
  CONTROL_AT = 8,   // the caller's control word,
  NEAREST_AT = 10,  // those for 64 bits rounded to nearest
  TO_ZERO_AT = 12,  // and toward zero
  A_HIGH_AT = 16,   // upper and lower bits of a and b
  A_LOW_AT = 24,
  B_HIGH_AT = 32,
  B_LOW_AT = 40,
  EXTENDED_AT = 48,  // 80 bits
  F64_FRAME_BYTES = 64 - ARGUMENTS,
};

static void x87(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, int32_t offset_bytes) {
  hlo_x86_m(as, insn, 4, at(offset_bytes));
}

// st0, st1 = x, y become the error of x + y, and x + y rounded to nearest.
static void two_sum(hlo_x86_asm_t* as) {
  hlo_x86_bare(as, HLO_X86_fld_st0);
  hlo_x86_bare(as, HLO_X86_fadd_st2);   // s x y
  hlo_x86_bare(as, HLO_X86_fld_st0);    //
  hlo_x86_bare(as, HLO_X86_fsub_st2);   // s-x s x y
  hlo_x86_bare(as, HLO_X86_fld_st1);    //
  hlo_x86_bare(as, HLO_X86_fsub_st1);   // s-(s-x) s-x s x y
  hlo_x86_bare(as, HLO_X86_fsubp_st3);  // s-x s ex y
  hlo_x86_bare(as, HLO_X86_fsubp_st3);  // s ex ey
  hlo_x86_bare(as, HLO_X86_fxch_st2);   // ey ex s
  hlo_x86_bare(as, HLO_X86_faddp);
}

// st0 + st1 rounded to odd, left in memory: cut off, the last bit set if anything was.
static void add_and_store_odd(hlo_x86_asm_t* as) {
  enum { INEXACT = 0x20 };
  hlo_x86_label_t exact = hlo_x86_label_create(as);
  x87(as, HLO_X86_fldcw, TO_ZERO_AT);
  hlo_x86_bare(as, HLO_X86_fnclex);
  hlo_x86_bare(as, HLO_X86_faddp);
  hlo_x86_bare(as, HLO_X86_fnstsw);
  x87(as, HLO_X86_fstp_80, EXTENDED_AT);
  x87(as, HLO_X86_fldcw, NEAREST_AT);
  hlo_x86_mi(as, HLO_X86_test, 4, reg(HLO_X86_RAX), INEXACT);
  hlo_x86_jcc(as, HLO_X86_E, exact);
  hlo_x86_mi(as, HLO_X86_or, 1, at(EXTENDED_AT), 1);
  hlo_x86_label_bind(as, exact);
}

// Upper and lower bits, so that the product of any two parts is exact in 64 bits.
static void split(hlo_x86_asm_t* as, int32_t from, int32_t high, int32_t low) {
  enum { LOW_BITS = 27 };
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(from));
  hlo_x86_mi(as, HLO_X86_and, 8, reg(HLO_X86_RAX), -(1 << LOW_BITS));
  hlo_x86_mr(as, HLO_X86_mov, 8, at(high), HLO_X86_RAX);
  x87(as, HLO_X86_fld_64, from);
  x87(as, HLO_X86_fsub_64, high);
  x87(as, HLO_X86_fstp_64, low);
}

static void product(hlo_x86_asm_t* as, int32_t a, int32_t b) {
  x87(as, HLO_X86_fld_64, a);
  x87(as, HLO_X86_fmul_64, b);
}

// One lane: a * b = p + e, p + e + c with all roundings but the last one to odd.
static void emit_lane(hlo_x86_asm_t* as, int32_t a, int32_t b, int32_t c) {
  enum { EXPONENT_SHIFT = 52, EXPONENT = 0x7ff };
  hlo_x86_label_t plain = hlo_x86_label_create(as), done = hlo_x86_label_create(as);
  const int32_t operands[] = {a, b, c};
  for (unsigned i = 0; i < 3; ++i) {  // neither infinite nor NaN
    hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(operands[i]));
    hlo_x86_mi(as, HLO_X86_shr, 8, reg(HLO_X86_RAX), EXPONENT_SHIFT);
    hlo_x86_mi(as, HLO_X86_and, 4, reg(HLO_X86_RAX), EXPONENT);
    hlo_x86_mi(as, HLO_X86_cmp, 4, reg(HLO_X86_RAX), EXPONENT);
    hlo_x86_jcc(as, HLO_X86_E, plain);
  }
  split(as, a, A_HIGH_AT, A_LOW_AT);
  split(as, b, B_HIGH_AT, B_LOW_AT);
  product(as, a, b);
  product(as, A_HIGH_AT, B_HIGH_AT);
  hlo_x86_bare(as, HLO_X86_fsub_st1);
  static const uint8_t parts[][2] = {
      {A_HIGH_AT, B_LOW_AT}, {A_LOW_AT, B_HIGH_AT}, {A_LOW_AT, B_LOW_AT}};
  for (unsigned i = 0; i < sizeof parts / sizeof *parts; ++i) {
    product(as, parts[i][0], parts[i][1]);
    hlo_x86_bare(as, HLO_X86_faddp);
  }  // e p
  x87(as, HLO_X86_fld_64, c);
  two_sum(as);  // of c and e: error, sum, p
  x87(as, HLO_X86_fstp_80, EXTENDED_AT);
  two_sum(as);  // of sum and p
  x87(as, HLO_X86_fld_80, EXTENDED_AT);
  add_and_store_odd(as);  // both errors
  x87(as, HLO_X86_fld_80, EXTENDED_AT);
  add_and_store_odd(as);
  hlo_x86_mi(as, HLO_X86_cmp, 8, at(EXTENDED_AT), 0);
  hlo_x86_jcc(as, HLO_X86_E, plain);  // a zero of which sign?
  x87(as, HLO_X86_fld_80, EXTENDED_AT);
  x87(as, HLO_X86_fstp_64, a);
  hlo_x86_jmp(as, done);
  hlo_x86_label_bind(as, plain);
  product(as, a, b);
  x87(as, HLO_X86_fadd_64, c);
  x87(as, HLO_X86_fstp_64, a);
  hlo_x86_label_bind(as, done);
}

static void emit_f64(hlo_x86_asm_t* as) {
  enum { NEAREST = 0x037f, TO_ZERO = 0x0f7f };
  const int32_t arguments = F64_FRAME_BYTES + RETURN_BYTES + ARGUMENTS;
  hlo_x86_mi(as, HLO_X86_sub, 8, reg(HLO_X86_RSP), F64_FRAME_BYTES);
  hlo_x86_mr(as, HLO_X86_mov, 8, at(RAX_AT), HLO_X86_RAX);
  x87(as, HLO_X86_fnstcw, CONTROL_AT);
  hlo_x86_mi(as, HLO_X86_mov, 2, at(NEAREST_AT), NEAREST);
  hlo_x86_mi(as, HLO_X86_mov, 2, at(TO_ZERO_AT), TO_ZERO);
  x87(as, HLO_X86_fldcw, NEAREST_AT);
  for (int32_t lane = 0; lane < 2; ++lane) {
    int32_t from = arguments + 8 * lane;
    emit_lane(as, from, from + WIDTH, from + 2 * WIDTH);
  }
  x87(as, HLO_X86_fldcw, CONTROL_AT);
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(RAX_AT));
  hlo_x86_mi(as, HLO_X86_add, 8, reg(HLO_X86_RSP), F64_FRAME_BYTES);
  hlo_x86_bare(as, HLO_X86_ret);
}

void hlo_x86_emit_fma_functions(hlo_x86_unit_t* unit) {
  enum { FUNC_ALIGN = 16 };
  for (uint32_t wide = 0; wide < 2; ++wide) {
    if (unit->fma_labels[wide] == HLO_X86_NO_LABEL) continue;
    hlo_x86_align(&unit->as, FUNC_ALIGN, true);
    hlo_x86_label_bind(&unit->as, unit->fma_labels[wide]);
    (wide ? emit_f64 : emit_f32)(&unit->as);
  }
}
