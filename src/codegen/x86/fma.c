// SPDX-License-Identifier: Apache-2.0
// a * b + c with one rounding for processors without FMA: one function per type, after the module's
// other functions. They take their operands below the caller's stack pointer, return RESULT, and
// preserve all registers except those that never hold values (sse.h).
#include "codegen/x86/x86_impl.h"

enum {
  WIDTH = 16,
  ARGUMENTS = -64,  // from the caller's rsp, with the same alignment: a, b, c; in the red zone
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
  hlo_x86_vv(f->as, HLO_X86_vmovaps, WIDTH, to, reg(RESULT), 0);
  hlo_x86_out_done(f, value, to);
}

// ---- F32

static void vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, unsigned b) {
  hlo_x86_vvv(as, insn, WIDTH, a, a, reg(b), 0);
}

static void copy(hlo_x86_asm_t* as, unsigned to, unsigned from) {
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, to, reg(from), 0);
}

// sum = a + b rounded, a = the error; b, x, y are clobbered.
static void two_sum_lanes(hlo_x86_asm_t* as, unsigned sum, unsigned a, unsigned b, unsigned x,
                          unsigned y) {
  copy(as, sum, a);
  vector(as, HLO_X86_vaddpd, sum, b);
  copy(as, x, sum);
  vector(as, HLO_X86_vsubpd, x, a);
  copy(as, y, sum);
  vector(as, HLO_X86_vsubpd, y, x);
  vector(as, HLO_X86_vsubpd, a, y);
  vector(as, HLO_X86_vsubpd, b, x);
  vector(as, HLO_X86_vaddpd, a, b);
}

// sum = p + c rounded to odd: the product p of two F32 is exact in F64, so the rounding error is
// computed exactly, and an even sum moves one step towards it. Rounding the result to F32 is
// correct because F64 has more than two extra bits. p and c are clobbered. source: Boldo and
// Melquiond, Emulation of FMA and correctly rounded sums
static void add_to_odd(hlo_x86_asm_t* as, unsigned sum, unsigned p, unsigned c, unsigned x,
                       unsigned y) {
  enum { LT = 1, UPPER_WORDS = 0xf5 };
  two_sum_lanes(as, sum, p, c, x, y);  // p: the error; NaN if the sum is not finite
  // The sign of the error as an integer: 1, 0, -1; negated if the sum is negative.
  vector(as, HLO_X86_vxorps, c, c);
  copy(as, x, c);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, x, x, reg(p), LT, 0);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, p, p, reg(c), LT, 0);
  vector(as, HLO_X86_vpsubq, p, x);
  hlo_x86_vvi(as, HLO_X86_vpsrad_imm, WIDTH, x, reg(sum), 31, 0);
  hlo_x86_vvi(as, HLO_X86_vpshufd, WIDTH, x, reg(x), UPPER_WORDS, 0);
  vector(as, HLO_X86_vpxor, p, x);
  vector(as, HLO_X86_vpsubq, p, x);
  // An odd sum is kept.
  vector(as, HLO_X86_vpcmpeqd, c, c);
  hlo_x86_vvi(as, HLO_X86_vpsrlq_imm, WIDTH, c, reg(c), 63, 0);
  copy(as, x, sum);
  vector(as, HLO_X86_vpand, x, c);
  vector(as, HLO_X86_vpsubq, x, c);
  vector(as, HLO_X86_vpand, p, x);
  vector(as, HLO_X86_vpaddq, sum, p);
}

// Vector constants after the code of a function.
typedef struct constant {
  uint32_t words[4];
  hlo_x86_label_t label;
} constant_t;

static hlo_x86_rm_t constant(hlo_x86_asm_t* as, constant_t* c) {
  if (c->label == HLO_X86_NO_LABEL) c->label = hlo_x86_label_create(as);
  return hlo_x86_rip(c->label, 0);
}

static void emit_constants(hlo_x86_asm_t* as, constant_t* constants, unsigned count) {
  hlo_x86_align(as, WIDTH, false);
  for (unsigned i = 0; i < count; ++i) {
    hlo_x86_label_bind(as, constants[i].label);
    hlo_x86_data(as, constants[i].words, WIDTH);
  }
}

#define WORDS(low, high) \
  { {low, high, low, high}, HLO_X86_NO_LABEL }

// Moves registers from `first` on to memory, or back.
static void save(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned first, unsigned end, int32_t to) {
  for (unsigned i = first; i < end; ++i) {
    hlo_x86_vv(as, insn, WIDTH, i, at(to + (int32_t)i * WIDTH), 0);
  }
}

// emit_f32() saves registers and rax in its own red zone, below its arguments.
enum {
  F32_ARGUMENTS = RETURN_BYTES + ARGUMENTS,
  F32_SAVED = 3,
  F32_SLOW_SAVED = 4,
  F32_SAVED_AT = F32_ARGUMENTS - F32_SLOW_SAVED * WIDTH,
  F32_RAX_AT = F32_SAVED_AT - 8,
};

// Loads p and c of two lanes as F64; x is clobbered and may be c.
static void load_wide(hlo_x86_asm_t* as, int32_t half, unsigned p, unsigned c, unsigned x) {
  int32_t from = F32_ARGUMENTS + half * WIDTH / 2;
  hlo_x86_vv(as, HLO_X86_vcvtps2pd, WIDTH, p, at(from), 0);
  hlo_x86_vv(as, HLO_X86_vcvtps2pd, WIDTH, x, at(from + WIDTH), 0);
  vector(as, HLO_X86_vmulpd, p, x);
  hlo_x86_vv(as, HLO_X86_vcvtps2pd, WIDTH, c, at(from + 2 * WIDTH), 0);
}

// Jumps if a sum in F64 is exactly between two F32, or below the normal ones but not 0: only then
// the rounding error matters. low, high and x are clobbered.
static void jump_if_between(hlo_x86_asm_t* as, unsigned low, unsigned high, unsigned x,
                            hlo_x86_label_t label, constant_t* constants) {
  enum { EVEN_WORDS = 0x88, ODD_WORDS = 0xdd, WHOLE_BITS = 3 };
  copy(as, x, low);
  hlo_x86_vvvi(as, HLO_X86_vshufps, WIDTH, x, x, reg(high), EVEN_WORDS, 0);
  hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, x, reg(x), WHOLE_BITS, 0);
  hlo_x86_vvv(as, HLO_X86_vpcmpeqd, WIDTH, x, x, constant(as, &constants[0]), 0);
  hlo_x86_vvvi(as, HLO_X86_vshufps, WIDTH, low, low, reg(high), ODD_WORDS, 0);
  hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, low, reg(low), 1, 0);  // without the sign
  hlo_x86_vvv(as, HLO_X86_vpaddd, WIDTH, low, low, constant(as, &constants[1]), 0);
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, high, constant(as, &constants[2]), 0);
  vector(as, HLO_X86_vpcmpgtd, high, low);
  vector(as, HLO_X86_vpor, x, high);
  hlo_x86_vv(as, HLO_X86_vmovmskps, WIDTH, HLO_X86_RAX, reg(x), 0);
  hlo_x86_rm(as, HLO_X86_test, 4, HLO_X86_RAX, reg(HLO_X86_RAX));
  hlo_x86_jcc(as, HLO_X86_NE, label);
}

static void emit_f32(hlo_x86_asm_t* as) {
  enum { LOW = SPARE, HIGH = RESULT, X = 0, SUM = 1, REST = 2 };
  enum { P = 0, C = 1, SLOW_X = 2, Y = 3 };
  // Doubled upper words minus 1, with flipped signs so that they compare as unsigned numbers.
  enum { BIAS = 0x7fffffff, LEAST_NORMAL = 0x38100000 };
  const uint32_t limit = 2u * LEAST_NORMAL + BIAS;
  constant_t constants[] = {WORDS(1u << 31, 1u << 31), WORDS(BIAS, BIAS), WORDS(limit, limit)};
  hlo_x86_label_t slow = hlo_x86_label_create(as), done = hlo_x86_label_create(as);
  hlo_x86_mr(as, HLO_X86_mov, 8, at(F32_RAX_AT), HLO_X86_RAX);
  save(as, HLO_X86_vmovups_store, 0, F32_SAVED, F32_SAVED_AT);
  load_wide(as, 0, LOW, X, X);
  vector(as, HLO_X86_vaddpd, LOW, X);
  load_wide(as, 1, HIGH, SUM, SUM);
  vector(as, HLO_X86_vaddpd, HIGH, SUM);
  hlo_x86_vv(as, HLO_X86_vcvtpd2ps, WIDTH, SUM, reg(LOW), 0);
  hlo_x86_vv(as, HLO_X86_vcvtpd2ps, WIDTH, REST, reg(HIGH), 0);
  vector(as, HLO_X86_vmovlhps, SUM, REST);
  jump_if_between(as, LOW, HIGH, X, slow, constants);
  copy(as, RESULT, SUM);
  hlo_x86_label_bind(as, done);
  save(as, HLO_X86_vmovups, 0, F32_SAVED, F32_SAVED_AT);
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(F32_RAX_AT));
  hlo_x86_bare(as, HLO_X86_ret);
  hlo_x86_label_bind(as, slow);
  save(as, HLO_X86_vmovups_store, F32_SAVED, F32_SLOW_SAVED, F32_SAVED_AT);
  for (int32_t half = 0; half < 2; ++half) {
    load_wide(as, half, P, C, SLOW_X);
    add_to_odd(as, SPARE, P, C, SLOW_X, Y);
    hlo_x86_vv(as, HLO_X86_vcvtpd2ps, WIDTH, half ? SPARE : RESULT, reg(SPARE), 0);
  }
  vector(as, HLO_X86_vmovlhps, RESULT, SPARE);
  save(as, HLO_X86_vmovups, F32_SAVED, F32_SLOW_SAVED, F32_SAVED_AT);
  hlo_x86_jmp(as, done);
  emit_constants(as, constants, sizeof constants / sizeof *constants);
}

// ---- F64, any numbers: in the x87 unit, which has 64 bits of precision and the range for every
// product and sum

// The frame of emit_f64(), as above.
enum {
  F64_SAVED = 6,
  F64_RAX_AT = F64_SAVED * WIDTH,
  CONTROL_AT = F64_RAX_AT + 8,  // the caller's control word,
  NEAREST_AT = CONTROL_AT + 2,  // those for 64 bits rounded to nearest
  TO_ZERO_AT = CONTROL_AT + 4,  // and toward zero
  A_HIGH_AT = CONTROL_AT + 8,   // upper and lower bits of a and b
  A_LOW_AT = A_HIGH_AT + 8,
  B_HIGH_AT = A_LOW_AT + 8,
  B_LOW_AT = B_HIGH_AT + 8,
  EXTENDED_AT = B_LOW_AT + 8,  // 80 bits
  F64_FRAME_BYTES = EXTENDED_AT + WIDTH + (WIDTH - RETURN_BYTES) - ARGUMENTS,
  F64_ARGUMENTS = F64_FRAME_BYTES + RETURN_BYTES + ARGUMENTS,
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

// Stores st0 + st1 rounded to odd: truncated, with the last bit set if anything was lost.
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

// Splits into upper and lower bits, so that the product of any two parts is exact in 64 bits.
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

enum { EXPONENT_SHIFT = 52, EXPONENT = 0x7ff, BIAS_F64 = 1023, LEAST_EXPONENT = -1022 };

// Makes the result at `to` zero if the number at EXTENDED_AT is below the normal ones, rounded as
// if there were no end to exponents: what the hardware calls tiny. Stored as it is, it may have
// become the least normal number.
static void zero_if_tiny(hlo_x86_asm_t* as, int32_t to) {
  enum { SCALE = 64, SIGN_SHIFT = 63 };
  hlo_x86_label_t large = hlo_x86_label_create(as);
  hlo_x86_mi(as, HLO_X86_mov, 4, at(A_LOW_AT), 0);
  hlo_x86_mi(as, HLO_X86_mov, 4, at(A_LOW_AT + 4), (BIAS_F64 + SCALE) << 20);
  x87(as, HLO_X86_fld_80, EXTENDED_AT);
  x87(as, HLO_X86_fmul_64, A_LOW_AT);
  x87(as, HLO_X86_fstp_64, A_HIGH_AT);
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(A_HIGH_AT));
  hlo_x86_mi(as, HLO_X86_shr, 8, reg(HLO_X86_RAX), EXPONENT_SHIFT);
  hlo_x86_mi(as, HLO_X86_and, 4, reg(HLO_X86_RAX), EXPONENT);
  hlo_x86_mi(as, HLO_X86_cmp, 4, reg(HLO_X86_RAX), BIAS_F64 + LEAST_EXPONENT + SCALE);
  hlo_x86_jcc(as, HLO_X86_AE, large);
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(A_HIGH_AT));
  hlo_x86_mi(as, HLO_X86_shr, 8, reg(HLO_X86_RAX), SIGN_SHIFT);
  hlo_x86_mi(as, HLO_X86_shl, 8, reg(HLO_X86_RAX), SIGN_SHIFT);
  hlo_x86_mr(as, HLO_X86_mov, 8, at(to), HLO_X86_RAX);
  hlo_x86_label_bind(as, large);
}

// One lane: a * b = p + e, and p + e + c with all roundings but the last one to odd.
static void emit_x87_lane(hlo_x86_asm_t* as, bool flushes, int32_t a, int32_t b, int32_t c) {
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
  hlo_x86_jcc(as, HLO_X86_E, plain);  // the sign of a zero result
  x87(as, HLO_X86_fld_80, EXTENDED_AT);
  x87(as, HLO_X86_fstp_64, a);
  if (flushes) zero_if_tiny(as, a);
  hlo_x86_jmp(as, done);
  hlo_x86_label_bind(as, plain);
  product(as, a, b);
  x87(as, HLO_X86_fadd_64, c);
  x87(as, HLO_X86_fstp_64, a);
  hlo_x86_label_bind(as, done);
}

static void emit_x87(hlo_x86_asm_t* as, bool flushes) {
  enum { NEAREST = 0x037f, TO_ZERO = 0x0f7f };
  x87(as, HLO_X86_fnstcw, CONTROL_AT);
  hlo_x86_mi(as, HLO_X86_mov, 2, at(NEAREST_AT), NEAREST);
  hlo_x86_mi(as, HLO_X86_mov, 2, at(TO_ZERO_AT), TO_ZERO);
  x87(as, HLO_X86_fldcw, NEAREST_AT);
  for (int32_t lane = 0; lane < 2; ++lane) {
    int32_t from = F64_ARGUMENTS + 8 * lane;
    emit_x87_lane(as, flushes, from, from + WIDTH, from + 2 * WIDTH);
  }
  x87(as, HLO_X86_fldcw, CONTROL_AT);
}

// ---- F64, numbers of usual size: two lanes at once

enum { HALF_SPLIT, UPPER_BITS, MAGNITUDE, LEAST_PRODUCT, LEAST_TERM, SIGN, ONE, F64_CONSTANTS };

// high = x rounded to 26 bits, x = the rest, which has no more bits.
static void split_lanes(hlo_x86_asm_t* as, unsigned x, unsigned high, constant_t* constants) {
  copy(as, high, x);
  hlo_x86_vvv(as, HLO_X86_vpaddq, WIDTH, high, high, constant(as, &constants[HALF_SPLIT]), 0);
  hlo_x86_vvv(as, HLO_X86_vpand, WIDTH, high, high, constant(as, &constants[UPPER_BITS]), 0);
  vector(as, HLO_X86_vsubpd, x, high);
}

// Loads an operand as arithmetic takes it: a product with 1 flushes subnormal numbers where that is
// to be done, which operations on bits and the x87 unit know nothing of.
static void load_operand(hlo_x86_asm_t* as, unsigned to, int32_t from, constant_t* constants) {
  hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, to, at(from), 0);
  hlo_x86_vvv(as, HLO_X86_vmulpd, WIDTH, to, to, constant(as, &constants[ONE]), 0);
}

// Loads a and b; p = their product, e = its error; the other two registers are clobbered. Both
// middle parts together have at most 53 bits.
static void multiply_lanes(hlo_x86_asm_t* as, unsigned p, unsigned e, unsigned a, unsigned b,
                           unsigned a_high, unsigned b_high, constant_t* constants) {
  load_operand(as, a, F64_ARGUMENTS, constants);
  load_operand(as, b, F64_ARGUMENTS + WIDTH, constants);
  copy(as, p, a);
  vector(as, HLO_X86_vmulpd, p, b);
  split_lanes(as, a, a_high, constants);
  split_lanes(as, b, b_high, constants);
  copy(as, e, a_high);
  vector(as, HLO_X86_vmulpd, e, b_high);
  vector(as, HLO_X86_vsubpd, e, p);
  vector(as, HLO_X86_vmulpd, a_high, b);
  vector(as, HLO_X86_vmulpd, b_high, a);
  vector(as, HLO_X86_vaddpd, a_high, b_high);
  vector(as, HLO_X86_vaddpd, e, a_high);
  vector(as, HLO_X86_vmulpd, a, b);
  vector(as, HLO_X86_vaddpd, e, a);
}

// Sets lanes of `mask` where the operand at `from` is 0, or its magnitude at least a constant. x is
// clobbered.
static void allow_zero_or_large(hlo_x86_asm_t* as, unsigned mask, int32_t from, unsigned x,
                                unsigned zero, constant_t* constants) {
  enum { EQ = 0, NOT_LT = 5 };
  hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, x, at(from), 0);
  hlo_x86_vvv(as, HLO_X86_vpand, WIDTH, x, x, constant(as, &constants[MAGNITUDE]), 0);
  copy(as, mask, x);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, mask, mask, constant(as, &constants[LEAST_TERM]), NOT_LT,
               0);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, x, x, reg(zero), EQ, 0);
  vector(as, HLO_X86_vpor, mask, x);
}

// Sets out if no part of the operands, of the product p or of its sum with the third operand is
// subnormal, so that none is inexact or flushed: each is large enough or 0.
// x, y and zero are clobbered; the last becomes 0.
static void is_whole_product(hlo_x86_asm_t* as, unsigned out, unsigned p, unsigned x, unsigned y,
                             unsigned zero, constant_t* constants) {
  enum { EQ = 0, NOT_LT = 5 };
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, out, constant(as, &constants[MAGNITUDE]), 0);
  vector(as, HLO_X86_vpand, out, p);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, out, out, constant(as, &constants[LEAST_PRODUCT]), NOT_LT,
               0);
  vector(as, HLO_X86_vpxor, zero, zero);
  for (int32_t i = 0; i < 2; ++i) {
    hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, x, at(F64_ARGUMENTS + i * WIDTH), 0);
    hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, x, x, reg(zero), EQ, 0);
    vector(as, HLO_X86_vpor, out, x);
  }
  for (int32_t i = 0; i < 3; ++i) {
    allow_zero_or_large(as, y, F64_ARGUMENTS + i * WIDTH, x, zero, constants);
    vector(as, HLO_X86_vpand, out, y);
  }
}

static void jump_unless_all(hlo_x86_asm_t* as, unsigned mask, hlo_x86_label_t label) {
  enum { ALL = 3 };
  hlo_x86_vv(as, HLO_X86_vmovmskpd, WIDTH, HLO_X86_RAX, reg(mask), 0);
  hlo_x86_mi(as, HLO_X86_cmp, 4, reg(HLO_X86_RAX), ALL);
  hlo_x86_jcc(as, HLO_X86_NE, label);
}

// Sets out if sum = a + b is exact, i.e. it gives back both; they are kept.
static void is_exact_sum(hlo_x86_asm_t* as, unsigned out, unsigned sum, unsigned a, unsigned b,
                         unsigned x) {
  enum { EQ = 0 };
  copy(as, out, sum);
  vector(as, HLO_X86_vsubpd, out, a);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, out, out, reg(b), EQ, 0);
  copy(as, x, sum);
  vector(as, HLO_X86_vsubpd, x, b);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, x, x, reg(a), EQ, 0);
  vector(as, HLO_X86_vpand, out, x);
}

// p + c = s + t exactly, v = t + e rounded; the result is s + v. It is right if v is exact, or if
// both neighbours of v give the same, since t + e is between them. Jumps where it may be wrong.
static void emit_quick(hlo_x86_asm_t* as, hlo_x86_label_t rare, constant_t* constants) {
  enum { T = 0, DOWN = 1, C = 2, P = 3, S = 4, V = 5, E = SPARE, EQ = 0 };
  enum { UP = T, GOOD = C };
  multiply_lanes(as, P, E, T, DOWN, S, V, constants);
  hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, C, at(F64_ARGUMENTS + 2 * WIDTH), 0);
  // The sum of two negative zeros is negative, but s + v is not.
  copy(as, RESULT, P);
  vector(as, HLO_X86_vpand, RESULT, C);
  hlo_x86_vvv(as, HLO_X86_vpand, WIDTH, RESULT, RESULT, constant(as, &constants[SIGN]), 0);
  copy(as, T, P);
  two_sum_lanes(as, S, T, C, V, DOWN);
  copy(as, V, T);
  vector(as, HLO_X86_vaddpd, V, E);
  copy(as, C, S);
  vector(as, HLO_X86_vaddpd, C, V);
  vector(as, HLO_X86_vpor, RESULT, C);
  is_exact_sum(as, GOOD, V, T, E, DOWN);
  vector(as, HLO_X86_vpcmpeqd, DOWN, DOWN);  // -1
  copy(as, UP, V);
  vector(as, HLO_X86_vpsubq, UP, DOWN);
  vector(as, HLO_X86_vpaddq, DOWN, V);
  vector(as, HLO_X86_vaddpd, UP, S);
  vector(as, HLO_X86_vaddpd, DOWN, S);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, UP, UP, reg(DOWN), EQ, 0);
  vector(as, HLO_X86_vpor, GOOD, UP);
  is_whole_product(as, S, P, UP, V, DOWN, constants);
  vector(as, HLO_X86_vpand, GOOD, S);
  jump_unless_all(as, GOOD, rare);
}

// As above with t + e rounded to odd, which is always right. Jumps if a part of the product may
// have been lost, or if something is not finite; otherwise RESULT is right, including the sign of
// zero, which is that of p + c.
static void emit_odd(hlo_x86_asm_t* as, hlo_x86_label_t slow, constant_t* constants) {
  enum { A = 0, B = 1, C = 2, P = 3, A_HIGH = 4, B_HIGH = 5, EQ = 0 };
  enum { X = 0, IS_GOOD = 1, ZERO = 2 };
  multiply_lanes(as, P, SPARE, A, B, A_HIGH, B_HIGH, constants);
  hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, C, at(F64_ARGUMENTS + 2 * WIDTH), 0);
  two_sum_lanes(as, A, C, SPARE, B, A_HIGH);  // A: c + e
  copy(as, RESULT, P);
  two_sum_lanes(as, B_HIGH, RESULT, A, B, A_HIGH);  // B_HIGH: p + A
  add_to_odd(as, SPARE, RESULT, C, B, A_HIGH);      // of both errors
  vector(as, HLO_X86_vaddpd, SPARE, B_HIGH);
  is_whole_product(as, IS_GOOD, P, X, A_HIGH, ZERO, constants);
  copy(as, X, SPARE);
  vector(as, HLO_X86_vsubpd, X, SPARE);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, X, X, reg(ZERO), EQ, 0);
  vector(as, HLO_X86_vpand, IS_GOOD, X);
  jump_unless_all(as, IS_GOOD, slow);
  hlo_x86_vv(as, HLO_X86_vmovups, WIDTH, RESULT, at(F64_ARGUMENTS + 2 * WIDTH), 0);
  vector(as, HLO_X86_vaddpd, RESULT, P);
  hlo_x86_vvvi(as, HLO_X86_vcmppd, WIDTH, ZERO, ZERO, reg(SPARE), EQ, 0);
  vector(as, HLO_X86_vpand, RESULT, ZERO);
  vector(as, HLO_X86_vpandn, ZERO, SPARE);
  vector(as, HLO_X86_vpor, RESULT, ZERO);
}

static void emit_f64(hlo_x86_asm_t* as, bool flushes) {
  constant_t constants[F64_CONSTANTS] = {
      [HALF_SPLIT] = WORDS(1u << 26, 0),
      [UPPER_BITS] = WORDS(UINT32_MAX << 27, UINT32_MAX),
      [MAGNITUDE] = WORDS(UINT32_MAX, 0x7fffffff),
      [LEAST_PRODUCT] = WORDS(0, (1023u - 800u) << 20),
      [LEAST_TERM] = WORDS(0, (1023u - 900u) << 20),
      [SIGN] = WORDS(0, 1u << 31),
      [ONE] = WORDS(0, 1023u << 20),
  };
  hlo_x86_label_t rare = hlo_x86_label_create(as), slow = hlo_x86_label_create(as);
  hlo_x86_label_t done = hlo_x86_label_create(as);
  hlo_x86_mi(as, HLO_X86_sub, 8, reg(HLO_X86_RSP), F64_FRAME_BYTES);
  hlo_x86_mr(as, HLO_X86_mov, 8, at(F64_RAX_AT), HLO_X86_RAX);
  save(as, HLO_X86_vmovups_store, 0, F64_SAVED, 0);
  emit_quick(as, rare, constants);
  hlo_x86_label_bind(as, done);
  save(as, HLO_X86_vmovups, 0, F64_SAVED, 0);
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RAX, at(F64_RAX_AT));
  hlo_x86_mi(as, HLO_X86_add, 8, reg(HLO_X86_RSP), F64_FRAME_BYTES);
  hlo_x86_bare(as, HLO_X86_ret);
  hlo_x86_label_bind(as, rare);
  emit_odd(as, slow, constants);
  hlo_x86_jmp(as, done);
  hlo_x86_label_bind(as, slow);
  for (int32_t i = 0; i < 3; ++i) {
    load_operand(as, RESULT, F64_ARGUMENTS + i * WIDTH, constants);
    hlo_x86_vv(as, HLO_X86_vmovups_store, WIDTH, RESULT, at(F64_ARGUMENTS + i * WIDTH), 0);
  }
  emit_x87(as, flushes);
  load_operand(as, RESULT, F64_ARGUMENTS, constants);
  hlo_x86_jmp(as, done);
  emit_constants(as, constants, F64_CONSTANTS);
}

void hlo_x86_emit_fma_functions(hlo_x86_unit_t* unit) {
  enum { FUNC_ALIGN = 16 };
  for (uint32_t wide = 0; wide < 2; ++wide) {
    if (unit->fma_labels[wide] == HLO_X86_NO_LABEL) continue;
    hlo_x86_align(&unit->as, FUNC_ALIGN, true);
    hlo_x86_label_bind(&unit->as, unit->fma_labels[wide]);
    if (wide) {
      emit_f64(&unit->as, unit->target->subnormals == HLO_SUBNORMALS_FLUSH);
    } else {
      emit_f32(&unit->as);
    }
  }
}
