// SPDX-License-Identifier: Apache-2.0
// Vector instructions for processors without AVX (see sse.h): encoding, the copies for two-operand
// forms, loads of unaligned memory, and sequences for later instructions. Two registers are
// reserved for this; values never use them.
// source: Intel SDM volume 2, section 2.2.1 (REX)
#include "codegen/x86/sse.h"

#include "codegen/x86/asm_impl.h"

enum { WIDTH = 16, TEMP = HLO_X86_SSE_REGISTERS, OTHER_TEMP = HLO_X86_SSE_REGISTERS + 1 };

typedef enum sequence {
  SEQUENCE_NONE,
  SEQUENCE_COMPARE,
  SEQUENCE_BLEND,
  SEQUENCE_BROADCAST,
  SEQUENCE_EXTEND,
  SEQUENCE_EQUAL,
  SEQUENCE_GREATER,
} sequence_t;

typedef struct sse_row {
  bool is_known, commutes;
  uint8_t feature, sequence;
} sse_row_t;

#define HLO_CPU_NEVER HLO_CPU_FEATURE_COUNT
#define COMMUTES true
#define ORDERED false
static const sse_row_t rows[HLO_X86_INSN_COUNT] = {
#define HLO_X86_SSE(id, feature, order, sequence) \
  [HLO_X86_##id] = {true, order, HLO_CPU_##feature, SEQUENCE_##sequence},
#include "codegen/x86/sse.def"
};

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static bool is_direct(const sse_row_t* row, uint64_t features) {
  return row->is_known && (features >> row->feature & 1);
}

bool hlo_x86_sse_is_available(hlo_x86_insn_t insn, uint64_t features) {
  const sse_row_t* row = &rows[insn];
  bool has_sequence = row->sequence > SEQUENCE_COMPARE;
  return is_direct(row, features) || (row->is_known && has_sequence);
}

// ---- one instruction

void hlo_x86_sse_put(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned r, hlo_x86_rm_t rm,
                     unsigned imm) {
  static const uint8_t prefixes[] = {0, 0x66, 0xf3, 0xf2};
  static const uint8_t maps[] = {[HLO_X86_M38] = 0x38, [HLO_X86_M3A] = 0x3a};
  const hlo_x86_row_t* row = &hlo_x86_rows[insn];
  if (!hlo_x86_begin(as)) return;
  bool has_digit = row->form == HLO_X86_FORM_VMI;
  bool has_imm = has_digit || row->form == HLO_X86_FORM_RMI || row->form == HLO_X86_FORM_RVMI;
  if (has_digit) r = row->digit;
  unsigned base = rm.reg == HLO_X86_NO_REG ? 0 : rm.reg >> 3 & 1;
  unsigned index = rm.index == HLO_X86_NO_REG ? 0 : rm.index >> 3 & 1;
  unsigned rex = (row->vex.w == HLO_X86_W1) << 3 | (r >> 3 & 1) << 2 | index << 1 | base;
  if (row->pp) hlo_x86_put8(as, prefixes[row->pp]);
  if (rex) hlo_x86_put8(as, 0x40 | rex);
  hlo_x86_put8(as, 0x0f);
  if (row->map > HLO_X86_M0F) hlo_x86_put8(as, maps[row->map]);
  hlo_x86_put8(as, row->opcode);
  hlo_x86_put_rm(as, r, &rm, 1, has_imm);
  if (has_imm) hlo_x86_put8(as, imm);
}

// ---- operands

static void copy(hlo_x86_asm_t* as, unsigned to, unsigned from) {
  if (to != from) hlo_x86_sse_put(as, HLO_X86_vmovaps, to, reg(from), 0);
}

// Loads an operand whose memory would have to be aligned; constants after the code are.
static hlo_x86_rm_t aligned(hlo_x86_asm_t* as, const hlo_x86_row_t* row, hlo_x86_rm_t rm) {
  bool is_constant = rm.kind == HLO_X86_RIP && rm.disp % WIDTH == 0;
  if (rm.kind == HLO_X86_REGISTER || is_constant) return rm;
  if (hlo_x86_row_memory_bytes(row, WIDTH, false) < WIDTH) return rm;
  hlo_x86_sse_put(as, HLO_X86_vmovups, TEMP, rm, 0);
  return reg(TEMP);
}

static void put_two(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, unsigned b, hlo_x86_rm_t rm,
                    unsigned imm) {
  bool is_general = hlo_x86_rows[insn].rm >= HLO_X86_KIND_G;
  rm = aligned(as, &hlo_x86_rows[insn], rm);
  if (a != b && rm.kind == HLO_X86_REGISTER && rm.reg == a && !is_general) {
    if (rows[insn].commutes) {
      hlo_x86_sse_put(as, insn, a, reg(b), imm);
      return;
    }
    copy(as, TEMP, a);
    rm = reg(TEMP);
  }
  copy(as, a, b);
  hlo_x86_sse_put(as, insn, a, rm, imm);
}

static void put_direct(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, unsigned b,
                       hlo_x86_rm_t rm, unsigned imm) {
  const hlo_x86_row_t* row = &hlo_x86_rows[insn];
  switch ((hlo_x86_form_t)row->form) {
    case HLO_X86_FORM_RVM:
    case HLO_X86_FORM_RVMI: put_two(as, insn, a, b, rm, imm); break;
    case HLO_X86_FORM_VMI:
      copy(as, a, rm.reg);
      hlo_x86_sse_put(as, insn, 0, reg(a), imm);
      break;
    case HLO_X86_FORM_MR: hlo_x86_sse_put(as, insn, a, rm, imm); break;
    default:
      if (insn != HLO_X86_vmovups) rm = aligned(as, row, rm);
      hlo_x86_sse_put(as, insn, a, rm, imm);
  }
}

// ---- sequences

// Only the first eight predicates exist; "greater" swaps the operands of "less".
static void compare(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, unsigned b, hlo_x86_rm_t rm,
                    unsigned predicate) {
  enum { LT = 1, LE = 2, LT_QUIET = 0x11, LE_QUIET = 0x12, GE_QUIET = 0x1d, GT_QUIET = 0x1e };
  if (predicate == GE_QUIET || predicate == GT_QUIET) {
    put_direct(as, HLO_X86_vmovups, OTHER_TEMP, 0, rm, 0);
    put_two(as, insn, a, OTHER_TEMP, reg(b), predicate == GE_QUIET ? LE : LT);
    return;
  }
  if (predicate == LT_QUIET) predicate = LT;
  if (predicate == LE_QUIET) predicate = LE;
  put_two(as, insn, a, b, rm, predicate);
}

// Selects b where the mask is zeros, rm where it is ones.
static void blend(hlo_x86_asm_t* as, unsigned a, unsigned b, hlo_x86_rm_t rm, unsigned mask) {
  put_direct(as, HLO_X86_vmovups, TEMP, 0, rm, 0);
  hlo_x86_sse_put(as, HLO_X86_vpxor, TEMP, reg(b), 0);
  hlo_x86_sse_put(as, HLO_X86_vpand, TEMP, reg(mask), 0);
  hlo_x86_sse_put(as, HLO_X86_vpxor, TEMP, reg(b), 0);
  copy(as, a, TEMP);
}

// Broadcasts the first element of a register, or the one in memory (not bytes).
static void broadcast(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, hlo_x86_rm_t rm) {
  enum { LOW_WORD = 0x00, LOW_PAIR = 0x44 };
  unsigned bytes = hlo_x86_rows[insn].element_bytes;
  if (rm.kind != HLO_X86_REGISTER) {
    static const hlo_x86_insn_t loads[] = {
        [2] = HLO_X86_vpinsrw, [4] = HLO_X86_vmovss, [8] = HLO_X86_vmovsd};
    hlo_x86_sse_put(as, loads[bytes], a, rm, 0);
    rm = reg(a);
  }
  if (bytes == 1) {
    copy(as, a, rm.reg);
    hlo_x86_sse_put(as, HLO_X86_vpunpcklbw, a, reg(a), 0);
    rm = reg(a);
  }
  if (bytes <= 2) {
    hlo_x86_sse_put(as, HLO_X86_vpshuflw, a, rm, LOW_WORD);
    rm = reg(a);
  }
  hlo_x86_sse_put(as, HLO_X86_vpshufd, a, rm, bytes == 8 ? LOW_PAIR : LOW_WORD);
}

// Doubles the width of the first lanes until it is the wanted one: the upper halves are zeros, or
// the sign.
static void extend(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned a, hlo_x86_rm_t rm) {
  static const hlo_x86_insn_t unpack[] = {HLO_X86_vpunpcklbw, HLO_X86_vpunpcklwd,
                                          HLO_X86_vpunpckldq};
  static const hlo_x86_insn_t greater[] = {HLO_X86_vpcmpgtb, HLO_X86_vpcmpgtw, HLO_X86_vpcmpgtd};
  const hlo_x86_row_t* row = &hlo_x86_rows[insn];
  unsigned ratio = row->tuple == HLO_X86_TUPLE_OVM ? 3 : row->tuple == HLO_X86_TUPLE_QVM ? 2 : 1;
  unsigned first = (unsigned)__builtin_ctz(row->element_bytes);
  bool is_signed = insn < HLO_X86_vpmovzxbw;
  if (rm.kind == HLO_X86_REGISTER) {
    copy(as, a, rm.reg);
  } else {
    unsigned bytes = hlo_x86_row_memory_bytes(row, WIDTH, false);
    hlo_x86_insn_t load = bytes == 8   ? HLO_X86_vmovsd
                          : bytes == 4 ? HLO_X86_vmovss
                                       : HLO_X86_vpinsrw;
    hlo_x86_sse_put(as, load, a, rm, 0);
  }
  if (!is_signed) hlo_x86_sse_put(as, HLO_X86_vpxor, TEMP, reg(TEMP), 0);
  for (unsigned step = first; step < first + ratio; ++step) {
    if (is_signed) {
      hlo_x86_sse_put(as, HLO_X86_vpxor, TEMP, reg(TEMP), 0);
      hlo_x86_sse_put(as, greater[step], TEMP, reg(a), 0);
    }
    hlo_x86_sse_put(as, unpack[step], a, reg(TEMP), 0);
  }
}

// 64-bit lanes: both halves are equal.
static void equal(hlo_x86_asm_t* as, unsigned a, unsigned b, hlo_x86_rm_t rm) {
  enum { HALVES_SWAPPED = 0xb1 };
  put_direct(as, HLO_X86_vmovups, TEMP, 0, rm, 0);
  hlo_x86_sse_put(as, HLO_X86_vpcmpeqd, TEMP, reg(b), 0);
  hlo_x86_sse_put(as, HLO_X86_vpshufd, a, reg(TEMP), HALVES_SWAPPED);
  hlo_x86_sse_put(as, HLO_X86_vpand, a, reg(TEMP), 0);
}

// 64-bit lanes, b > rm: decided by the upper halves, or by the borrow of rm - b if they are equal.
// rm: a register or a constant.
static void greater(hlo_x86_asm_t* as, unsigned a, unsigned b, hlo_x86_rm_t rm) {
  enum { UPPER_HALVES = 0xf5 };
  put_direct(as, HLO_X86_vmovups, OTHER_TEMP, 0, rm, 0);
  copy(as, TEMP, b);
  hlo_x86_sse_put(as, HLO_X86_vpcmpeqd, TEMP, reg(OTHER_TEMP), 0);
  hlo_x86_sse_put(as, HLO_X86_vpsubq, OTHER_TEMP, reg(b), 0);
  hlo_x86_sse_put(as, HLO_X86_vpand, OTHER_TEMP, reg(TEMP), 0);
  copy(as, TEMP, b);
  hlo_x86_sse_put(as, HLO_X86_vpcmpgtd, TEMP, rm, 0);
  hlo_x86_sse_put(as, HLO_X86_vpor, OTHER_TEMP, reg(TEMP), 0);
  hlo_x86_sse_put(as, HLO_X86_vpshufd, a, reg(OTHER_TEMP), UPPER_HALVES);
}

// ---- any instruction

static bool is_possible(unsigned width, unsigned a, unsigned b, const hlo_x86_rm_t* rm,
                        unsigned modifiers) {
  bool is_below = a < 16 && b < 16 && (rm->kind != HLO_X86_REGISTER || rm->reg < 16);
  return is_below && width <= WIDTH && !modifiers && !rm->is_splat;
}

void hlo_x86_sse_vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                        unsigned b, hlo_x86_rm_t rm, unsigned imm, unsigned modifiers) {
  const sse_row_t* row = &rows[insn];
  bool direct = is_direct(row, as->features);
  bool possible = is_possible(width, a, b, &rm, modifiers);
  if (!possible || (!direct && row->sequence == SEQUENCE_NONE)) {
    hlo_x86_fail(
        as, hlo_internal_error(
                "x86 assembler: no form of %s without AVX, width %u, rm of kind %u, modifiers %#x",
                hlo_x86_insn_name(insn), width, rm.kind, modifiers));
    return;
  }
  if (direct && row->sequence != SEQUENCE_COMPARE) {
    put_direct(as, insn, a, b, rm, imm);
    return;
  }
  switch ((sequence_t)row->sequence) {
    case SEQUENCE_NONE: break;
    case SEQUENCE_COMPARE: compare(as, insn, a, b, rm, imm); break;
    case SEQUENCE_BLEND: blend(as, a, b, rm, imm >> 4); break;
    case SEQUENCE_BROADCAST: broadcast(as, insn, a, rm); break;
    case SEQUENCE_EXTEND: extend(as, insn, a, rm); break;
    case SEQUENCE_EQUAL: equal(as, a, b, rm); break;
    case SEQUENCE_GREATER: greater(as, a, b, rm); break;
  }
}
