// SPDX-License-Identifier: Apache-2.0
// Conversions of lanes: one instruction by table; with AVX2 only, exact sequences; 64-bit integers
// and unsigned results lane by lane through the scratch area.
#include "codegen/x86/x86_impl.h"

typedef struct row {
  uint8_t op, from, to;
  uint32_t insn[2];  // without and with AVX-512; HLO_X86_NONE
} row_t;

#define ROW(op, from, to, avx2, avx512)           \
  {                                               \
    HLO_VIR_##op, HLO_VIR_##from, HLO_VIR_##to, { \
      HLO_X86_##avx2, HLO_X86_##avx512            \
    }                                             \
  }
#define BOTH(op, from, to, insn) ROW(op, from, to, insn, insn)
static const row_t rows[] = {
    BOTH(sext, I8, I16, vpmovsxbw),         BOTH(sext, I8, I32, vpmovsxbd),
    BOTH(sext, I8, I64, vpmovsxbq),         BOTH(sext, I16, I32, vpmovsxwd),
    BOTH(sext, I16, I64, vpmovsxwq),        BOTH(sext, I32, I64, vpmovsxdq),
    BOTH(zext, I8, I16, vpmovzxbw),         BOTH(zext, I8, I32, vpmovzxbd),
    BOTH(zext, I8, I64, vpmovzxbq),         BOTH(zext, I16, I32, vpmovzxwd),
    BOTH(zext, I16, I64, vpmovzxwq),        BOTH(zext, I32, I64, vpmovzxdq),
    ROW(trunc, I16, I8, NONE, vpmovwb),     ROW(trunc, I32, I8, NONE, vpmovdb),
    ROW(trunc, I64, I8, NONE, vpmovqb),     ROW(trunc, I32, I16, NONE, vpmovdw),
    ROW(trunc, I64, I16, NONE, vpmovqw),    ROW(trunc, I64, I32, NONE, vpmovqd),
    BOTH(fext, F32, F64, vcvtps2pd),        BOTH(ftrunc, F64, F32, vcvtpd2ps),
    BOTH(stof, I32, F32, vcvtdq2ps),        BOTH(stof, I32, F64, vcvtdq2pd),
    ROW(stof, I64, F32, NONE, vcvtqq2ps),   ROW(stof, I64, F64, NONE, vcvtqq2pd),
    ROW(utof, I32, F32, NONE, vcvtudq2ps),  ROW(utof, I32, F64, NONE, vcvtudq2pd),
    ROW(utof, I64, F32, NONE, vcvtuqq2ps),  ROW(utof, I64, F64, NONE, vcvtuqq2pd),
    BOTH(ftos, F32, I32, vcvttps2dq),       BOTH(ftos, F64, I32, vcvttpd2dq),
    ROW(ftos, F32, I64, NONE, vcvttps2qq),  ROW(ftos, F64, I64, NONE, vcvttpd2qq),
    ROW(ftou, F32, I32, NONE, vcvttps2udq), ROW(ftou, F64, I32, NONE, vcvttpd2udq),
    ROW(ftou, F32, I64, NONE, vcvttps2uqq), ROW(ftou, F64, I64, NONE, vcvttpd2uqq),
    BOTH(half_to_f32, I16, F32, vcvtph2ps), BOTH(f32_to_half, F32, I16, vcvtps2ph),
};

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static const row_t* find_row(const hlo_vir_value_t* value) {
  uint32_t from = value->operands[0]->type.elem, to = value->type.elem;
  for (uint32_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].op == value->op && rows[i].from == from && rows[i].to == to) return &rows[i];
  }
  return NULL;
}

hlo_x86_insn_t hlo_x86_convert_insn(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const row_t* row = find_row(value);
  uint32_t insn = row ? row->insn[f->is_avx512] : HLO_X86_NONE;
  if (f->is_sse && insn != HLO_X86_NONE &&
      !hlo_x86_insn_is_available((hlo_x86_insn_t)insn, f->target->cpu.features)) {
    insn = HLO_X86_NONE;
  }
  return insn == HLO_X86_NONE ? HLO_X86_INSN_COUNT : (hlo_x86_insn_t)insn;
}

// Returns true if the result is the operand that may be memory.
static bool is_reversed(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_trunc || value->op == HLO_VIR_f32_to_half;
}

static unsigned wider_width(const hlo_vir_value_t* value) {
  unsigned from = hlo_x86_width(value->operands[0]->type), to = hlo_x86_width(value->type);
  return from > to ? from : to;
}

hlo_x86_fold_t hlo_x86_may_fold_convert(const hlo_x86_fn_t* f, const hlo_vir_value_t* user) {
  if (is_reversed(user) || hlo_x86_convert_insn(f, user) == HLO_X86_INSN_COUNT) {
    return (hlo_x86_fold_t){0};
  }
  unsigned from = hlo_x86_type_bytes(user->operands[0]->type), to = hlo_x86_type_bytes(user->type);
  bool has_splat =
      user->op != HLO_VIR_sext && user->op != HLO_VIR_zext && user->op != HLO_VIR_half_to_f32;
  bool is_loaded = f->is_sse && from < 16;  // extended step by step
  return (hlo_x86_fold_t){
      .whole = (from > to ? from : to) >= 16 && !is_loaded,
      .splat = has_splat && f->is_avx512,
  };
}

// ---- lane by lane

bool hlo_x86_converts_through_memory(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (!find_row(value) || hlo_x86_convert_insn(f, value) != HLO_X86_INSN_COUNT) return false;
  bool to_f32 = value->type.elem == HLO_VIR_F32;
  bool from_64 = value->operands[0]->type.elem == HLO_VIR_I64;
  switch (value->op) {
    case HLO_VIR_ftos:
    case HLO_VIR_ftou: return true;
    case HLO_VIR_stof:
    case HLO_VIR_utof: return from_64 && to_f32;
    default: return false;
  }
}

typedef struct lane {
  bool wide;  // the float is an F64
  unsigned vec, a, b;
  hlo_x86_rm_t from, to;
} lane_t;

static void float_to_int64(hlo_x86_fn_t* f, const lane_t* lane, unsigned to, hlo_x86_rm_t from) {
  hlo_x86_vv(f->as, lane->wide ? HLO_X86_vcvttsd2si_64 : HLO_X86_vcvttss2si_64, 16, to, from, 0);
}

static void int64_to_f32(hlo_x86_fn_t* f, const lane_t* lane, hlo_x86_rm_t from) {
  hlo_x86_vvv(f->as, HLO_X86_vcvtsi2ss_64, 16, lane->vec, lane->vec, from, 0);
}

// Halves with a sticky bit, converts, doubles: rounds once.
static void uint64_to_f32(hlo_x86_fn_t* f, const lane_t* lane) {
  hlo_x86_asm_t* as = f->as;
  hlo_x86_label_t done = hlo_x86_label_create(as), big = hlo_x86_label_create(as);
  hlo_x86_rm(as, HLO_X86_mov, 8, lane->a, lane->from);
  hlo_x86_rm(as, HLO_X86_test, 8, lane->a, reg(lane->a));
  hlo_x86_jcc(as, HLO_X86_S, big);
  int64_to_f32(f, lane, reg(lane->a));
  hlo_x86_jmp(as, done);
  hlo_x86_label_bind(as, big);
  hlo_x86_rm(as, HLO_X86_mov, 8, lane->b, reg(lane->a));
  hlo_x86_mi(as, HLO_X86_shr, 8, reg(lane->a), 1);
  hlo_x86_mi(as, HLO_X86_and, 4, reg(lane->b), 1);
  hlo_x86_rm(as, HLO_X86_or, 8, lane->a, reg(lane->b));
  int64_to_f32(f, lane, reg(lane->a));
  hlo_x86_vvv(as, HLO_X86_vaddss, 16, lane->vec, lane->vec, reg(lane->vec), 0);
  hlo_x86_label_bind(as, done);
}

static void float_to_uint32(hlo_x86_fn_t* f, const lane_t* lane) {
  hlo_x86_asm_t* as = f->as;
  hlo_x86_label_t done = hlo_x86_label_create(as);
  float_to_int64(f, lane, lane->a, lane->from);
  hlo_x86_rm(as, HLO_X86_mov, 8, lane->b, reg(lane->a));
  hlo_x86_mi(as, HLO_X86_shr, 8, reg(lane->b), 32);
  hlo_x86_jcc(as, HLO_X86_E, done);
  hlo_x86_mov_imm(as, lane->a, -1);
  hlo_x86_label_bind(as, done);
}

// If x does not fit a signed integer, x - 2^63 may.
static void float_to_uint64(hlo_x86_fn_t* f, const lane_t* lane) {
  hlo_x86_asm_t* as = f->as;
  hlo_x86_label_t done = hlo_x86_label_create(as), none = hlo_x86_label_create(as);
  const uint64_t two63 = lane->wide ? UINT64_C(0x43e0000000000000) : UINT64_C(0x5f000000);
  hlo_x86_rm_t limit = hlo_x86_pool_bytes(f, &two63, lane->wide ? 8 : 4);
  hlo_x86_vv(as, lane->wide ? HLO_X86_vmovsd : HLO_X86_vmovss, 16, lane->vec, lane->from, 0);
  float_to_int64(f, lane, lane->a, reg(lane->vec));
  hlo_x86_rm(as, HLO_X86_test, 8, lane->a, reg(lane->a));
  hlo_x86_jcc(as, HLO_X86_NS, done);
  hlo_x86_vvv(as, lane->wide ? HLO_X86_vsubsd : HLO_X86_vsubss, 16, lane->vec, lane->vec, limit, 0);
  float_to_int64(f, lane, lane->a, reg(lane->vec));
  hlo_x86_rm(as, HLO_X86_test, 8, lane->a, reg(lane->a));
  hlo_x86_jcc(as, HLO_X86_S, none);
  hlo_x86_mov_imm(as, lane->b, INT64_MIN);
  hlo_x86_rm(as, HLO_X86_xor, 8, lane->a, reg(lane->b));
  hlo_x86_jmp(as, done);
  hlo_x86_label_bind(as, none);
  hlo_x86_mov_imm(as, lane->a, -1);
  hlo_x86_label_bind(as, done);
}

static void convert_lane(hlo_x86_fn_t* f, const hlo_vir_value_t* value, const lane_t* lane) {
  unsigned bytes = hlo_x86_elem_bits(value->type) / 8;
  switch (value->op) {
    case HLO_VIR_ftos: float_to_int64(f, lane, lane->a, lane->from); break;
    case HLO_VIR_ftou: (bytes == 8 ? float_to_uint64 : float_to_uint32)(f, lane); break;
    case HLO_VIR_stof: int64_to_f32(f, lane, lane->from); break;
    default: uint64_to_f32(f, lane); break;
  }
  if (value->type.elem == HLO_VIR_F32) {
    hlo_x86_vv(f->as, HLO_X86_vmovss_store, 16, lane->vec, lane->to, 0);
  } else {
    hlo_x86_mr(f->as, HLO_X86_mov, bytes, lane->to, lane->a);
  }
}

static void convert_through_memory(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  hlo_vir_type_t from = value->operands[0]->type, type = value->type;
  lane_t lane = {
      .wide = from.elem == HLO_VIR_F64 || type.elem == HLO_VIR_F64,
      .vec = hlo_x86_temp_vec(f),
      .a = hlo_x86_temp_gpr(f),
      .b = hlo_x86_temp_gpr(f),
  };
  hlo_x86_vv(f->as, HLO_X86_vmovups_store, hlo_x86_width(from), hlo_x86_in(f, value->operands[0]),
             hlo_x86_scratch(0), 0);
  hlo_x86_zero_vec(f, lane.vec);
  for (unsigned i = 0; i < type.lanes; ++i) {
    lane.from = hlo_x86_scratch((int32_t)(i * hlo_x86_elem_bits(from) / 8));
    lane.to = hlo_x86_scratch((int32_t)(HLO_X86_SCRATCH_OUT + i * hlo_x86_elem_bits(type) / 8));
    convert_lane(f, value, &lane);
  }
  hlo_x86_vv(f->as, HLO_X86_vmovups, hlo_x86_width(type), to, hlo_x86_scratch(HLO_X86_SCRATCH_OUT),
             0);
}

// ---- without AVX-512

// Halves the lane width until it is narrow enough; the upper bits are cleared, or copied from the
// sign, so that packing does not saturate.
static void narrow_by_packing(hlo_x86_fn_t* f, unsigned to, unsigned from, unsigned from_bits,
                              unsigned to_bits) {
  enum { WIDTH = 16, EVEN_WORDS = 0x08 };
  hlo_x86_asm_t* as = f->as;
  if (from_bits == 64) {
    hlo_x86_vvi(as, HLO_X86_vpshufd, WIDTH, to, reg(from), EVEN_WORDS, 0);
    from = to;
    from_bits = 32;
  }
  if (from_bits == 32 && to_bits < 32) {
    hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, to, reg(from), 16, 0);
    hlo_x86_vvi(as, HLO_X86_vpsrad_imm, WIDTH, to, reg(to), 16, 0);
    hlo_x86_vvv(as, HLO_X86_vpackssdw, WIDTH, to, to, reg(to), 0);
    from = to;
  }
  if (to_bits == 8) {
    hlo_x86_bits(f, HLO_X86_AND, WIDTH, to, from, hlo_x86_pool_splat(f, 16, 0xff, WIDTH));
    hlo_x86_vvv(as, HLO_X86_vpackuswb, WIDTH, to, to, reg(to), 0);
  }
}

void hlo_x86_narrow(hlo_x86_fn_t* f, unsigned to, unsigned from, unsigned from_bits,
                    unsigned to_bits, unsigned lanes) {
  if (f->is_sse) {
    narrow_by_packing(f, to, from, from_bits, to_bits);
    return;
  }
  unsigned width = lanes * from_bits <= 128 ? 16 : 32, ratio = from_bits / to_bits;
  unsigned to_bytes = to_bits / 8, from_bytes = from_bits / 8, kept = 16 / ratio;
  uint8_t pattern[32];
  for (unsigned i = 0; i < sizeof pattern; ++i) {
    unsigned at = i % 16;
    pattern[i] = at < kept ? (uint8_t)(at / to_bytes * from_bytes + at % to_bytes) : (uint8_t)0x80;
  }
  hlo_x86_rm_t choice = hlo_x86_pool_bytes(f, pattern, width);
  if (width == 16) {
    hlo_x86_vvv(f->as, HLO_X86_vpshufb, 16, to, from, choice, 0);
    return;
  }
  unsigned low = hlo_x86_temp_vec(f), high = hlo_x86_temp_vec(f);
  hlo_x86_vvv(f->as, HLO_X86_vpshufb, 32, low, from, choice, 0);
  hlo_x86_upper_bytes(f, 32, high, low);
  hlo_x86_join_bytes(f, 2 * kept, to, low, reg(high));
}

// u32 to f64: below the exponent of 2^52. u32 to f32: two exact parts, joined by fma.
static void convert_u32(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned width = hlo_x86_width(value->type), from = hlo_x86_in(f, value->operands[0]);
  hlo_x86_asm_t* as = f->as;
  if (value->type.elem == HLO_VIR_F64) {
    hlo_x86_rm_t two52 = hlo_x86_pool_splat(f, 64, UINT64_C(0x4330000000000000), width);
    hlo_x86_vv(as, HLO_X86_vpmovzxdq, width, to, reg(from), 0);
    hlo_x86_bits(f, HLO_X86_OR, width, to, to, two52);
    hlo_x86_vvv(as, HLO_X86_vsubpd, width, to, to, two52, 0);
    return;
  }
  unsigned low = hlo_x86_temp_vec(f);
  hlo_x86_bits(f, HLO_X86_AND, width, low, from, hlo_x86_pool_splat(f, 32, 0xffff, width));
  hlo_x86_vvi(as, HLO_X86_vpsrld_imm, width, to, reg(from), 16, 0);
  hlo_x86_vv(as, HLO_X86_vcvtdq2ps, width, low, reg(low), 0);
  hlo_x86_vv(as, HLO_X86_vcvtdq2ps, width, to, reg(to), 0);
  hlo_x86_rm_t two16 = hlo_x86_pool_splat(f, 32, UINT64_C(0x47800000), width);
  if (f->is_sse) {  // the product is exact
    hlo_x86_vvv(as, HLO_X86_vmulps, width, to, to, two16, 0);
    hlo_x86_vvv(as, HLO_X86_vaddps, width, to, to, reg(low), 0);
  } else {
    hlo_x86_vvv(as, HLO_X86_vfmadd132ps, width, to, low, two16, 0);
  }
}

// The low half is put below the exponent of 2^52, the high half below that of 2^84; the biases are
// subtracted exactly, and the sum rounds once.
static void convert_i64(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned width = hlo_x86_width(value->type), from = hlo_x86_in(f, value->operands[0]);
  unsigned low = hlo_x86_temp_vec(f);
  uint64_t sign = value->op == HLO_VIR_stof ? UINT64_C(0x80000000) : 0;
  uint64_t high_exponent = UINT64_C(0x4530000000000000);
  hlo_x86_asm_t* as = f->as;
  hlo_x86_rm_t low_exponent = hlo_x86_pool_splat(f, 64, UINT64_C(0x4330000000000000), width);
  if (f->is_sse) {
    hlo_x86_bits(f, HLO_X86_AND, width, low, from, hlo_x86_pool_splat(f, 64, UINT32_MAX, width));
    hlo_x86_bits(f, HLO_X86_OR, width, low, low, low_exponent);
  } else {
    hlo_x86_vvvi(as, HLO_X86_vpblendd, width, low, from, low_exponent, 0xaa, 0);
  }
  hlo_x86_vvi(as, HLO_X86_vpsrlq_imm, width, to, reg(from), 32, 0);
  hlo_x86_bits(f, HLO_X86_XOR, width, to, to,
               hlo_x86_pool_splat(f, 64, high_exponent | sign, width));
  hlo_x86_vvv(as, HLO_X86_vsubpd, width, to, to,
              hlo_x86_pool_splat(f, 64, high_exponent | sign | UINT64_C(0x100000), width), 0);
  hlo_x86_vvv(as, HLO_X86_vaddpd, width, to, to, reg(low), 0);
}

// ---- half floats by arithmetic

static hlo_x86_rm_t words(hlo_x86_fn_t* f, uint32_t word) {
  return hlo_x86_pool_splat(f, 32, word, 16);
}

// Exponent and fraction are shifted into position, and the exponent gets its bias. A subnormal
// number is put after the 1 of 2^-14, which is then subtracted: no intermediate f32 is subnormal,
// so
// flushing changes nothing. Infinity and NaN get their own exponent, NaN its quiet bit.
static void half_to_f32(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  enum { WIDTH = 16, HALF_INFINITY = 0x7c00, QUIET = 0x00400000 };
  enum { UNIT = 1 << 23, BIAS = 112 * UNIT, LEAST_NORMAL = 113 * UNIT };  // of the exponent
  unsigned from = hlo_x86_in(f, value->operands[0]);
  unsigned bits = hlo_x86_temp_vec(f), special = hlo_x86_temp_vec(f);
  unsigned small = hlo_x86_temp_vec(f);
  hlo_x86_asm_t* as = f->as;
  hlo_x86_vv(as, HLO_X86_vpmovzxwd, WIDTH, bits, reg(from), 0);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, to, bits, words(f, 0x7fff));
  hlo_x86_bits(f, HLO_X86_XOR, WIDTH, bits, bits, reg(to));
  hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, bits, reg(bits), 16, 0);  // the sign
  hlo_x86_vvv(as, HLO_X86_vpcmpgtd, WIDTH, special, to, words(f, HALF_INFINITY - 1), 0);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, special, special, words(f, 0x7f800000));
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, bits, bits, reg(special));
  hlo_x86_vvv(as, HLO_X86_vpcmpgtd, WIDTH, special, to, words(f, HALF_INFINITY), 0);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, special, special, words(f, QUIET));
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, bits, bits, reg(special));
  hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, to, reg(to), 13, 0);
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, small, words(f, UNIT), 0);
  hlo_x86_vvv(as, HLO_X86_vpcmpgtd, WIDTH, small, small, reg(to), 0);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, special, small, words(f, UNIT));
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, small, small, words(f, LEAST_NORMAL));
  hlo_x86_vvv(as, HLO_X86_vpaddd, WIDTH, to, to, words(f, BIAS), 0);
  hlo_x86_vvv(as, HLO_X86_vpaddd, WIDTH, to, to, reg(special), 0);
  hlo_x86_vvv(as, HLO_X86_vsubps, WIDTH, to, to, reg(small), 0);
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, to, to, reg(bits));
}

// Computes three ranges: normal results round by adding just less than half, subnormal ones by
// adding a float with the same last place, overflows and NaN are constants.
static void f32_to_half(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  enum { WIDTH = 16, LEAST_NORMAL = 113 << 23, TOO_LARGE = 143 << 23, INFINITE = 255 << 23 };
  const uint32_t magic = 126u << 23;  // 1/2: its last place is that of subnormal halves
  unsigned from = hlo_x86_in(f, value->operands[0]);
  unsigned size = hlo_x86_temp_vec(f), x = hlo_x86_temp_vec(f), mask = hlo_x86_temp_vec(f);
  hlo_x86_asm_t* as = f->as;
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, size, from, words(f, 0x7fffffff));
  // Normal results, in `to`.
  hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, to, reg(size), 31 - 13, 0);
  hlo_x86_vvi(as, HLO_X86_vpsrld_imm, WIDTH, to, reg(to), 31, 0);  // the last bit that is kept
  hlo_x86_vvv(as, HLO_X86_vpaddd, WIDTH, to, to, reg(size), 0);
  hlo_x86_vvv(as, HLO_X86_vpaddd, WIDTH, to, to, words(f, 0xfff - (112u << 23)), 0);
  hlo_x86_vvi(as, HLO_X86_vpsrld_imm, WIDTH, to, reg(to), 13, 0);
  // Subnormal results, in `x`.
  hlo_x86_vvv(as, HLO_X86_vaddps, WIDTH, x, size, words(f, magic), 0);
  hlo_x86_vvv(as, HLO_X86_vpsubd, WIDTH, x, x, words(f, magic), 0);
  hlo_x86_vv(as, HLO_X86_vmovaps, WIDTH, mask, words(f, LEAST_NORMAL), 0);
  hlo_x86_vvv(as, HLO_X86_vpcmpgtd, WIDTH, mask, mask, reg(size), 0);
  hlo_x86_vvvv(as, HLO_X86_vpblendvb, WIDTH, to, to, reg(x), mask);
  // Infinity; for NaN the upper bits of the fraction, made quiet.
  hlo_x86_vvi(as, HLO_X86_vpsrld_imm, WIDTH, x, reg(size), 13, 0);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, x, x, words(f, 0x1ff));
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, x, x, words(f, 0x200));
  hlo_x86_vvv(as, HLO_X86_vpcmpgtd, WIDTH, mask, size, words(f, INFINITE), 0);
  hlo_x86_bits(f, HLO_X86_AND, WIDTH, x, x, reg(mask));
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, x, x, words(f, 0x7c00));
  hlo_x86_vvv(as, HLO_X86_vpcmpgtd, WIDTH, mask, size, words(f, TOO_LARGE - 1), 0);
  hlo_x86_vvvv(as, HLO_X86_vpblendvb, WIDTH, to, to, reg(x), mask);
  hlo_x86_vvi(as, HLO_X86_vpsrld_imm, WIDTH, x, reg(from), 31, 0);
  hlo_x86_vvi(as, HLO_X86_vpslld_imm, WIDTH, x, reg(x), 15, 0);
  hlo_x86_bits(f, HLO_X86_OR, WIDTH, to, to, reg(x));
  narrow_by_packing(f, to, to, 32, 16);
}

static void convert_composed(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  hlo_vir_type_t from = value->operands[0]->type;
  if (hlo_x86_converts_through_memory(f, value)) {
    convert_through_memory(f, value, to);
  } else if (!find_row(value)) {
    hlo_x86_unimplemented(f, value);
  } else if (value->op == HLO_VIR_half_to_f32) {
    half_to_f32(f, value, to);
  } else if (value->op == HLO_VIR_f32_to_half) {
    f32_to_half(f, value, to);
  } else if (value->op == HLO_VIR_trunc) {
    hlo_x86_narrow(f, to, hlo_x86_in(f, value->operands[0]), hlo_x86_elem_bits(from),
                   hlo_x86_elem_bits(value->type), from.lanes);
  } else if (from.elem == HLO_VIR_I32) {
    convert_u32(f, value, to);
  } else {
    convert_i64(f, value, to);
  }
}

void hlo_x86_emit_convert(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned to = hlo_x86_out(f, value);
  hlo_x86_insn_t insn = hlo_x86_convert_insn(f, value);
  unsigned width = wider_width(value);
  if (value->op == HLO_VIR_bitcast) {
    hlo_x86_move(f, HLO_X86_VECTORS, width, to, hlo_x86_in(f, value->operands[0]));
  } else if (insn == HLO_X86_INSN_COUNT) {
    convert_composed(f, value, to);
  } else if (is_reversed(value)) {
    hlo_x86_vvi(f->as, insn, width, hlo_x86_in(f, value->operands[0]), reg(to), 0, 0);
  } else {
    unsigned bits = hlo_x86_elem_bits(value->operands[0]->type);
    bool has_splat = hlo_x86_may_fold_convert(f, value).splat;
    hlo_x86_rm_t from =
        hlo_x86_in_vec(f, value->operands[0], hlo_x86_width(value->operands[0]->type),
                       has_splat && bits >= 32 ? bits : 0);
    hlo_x86_vv(f->as, insn, width, to, from, 0);
  }
  hlo_x86_out_done(f, value, to);
}
