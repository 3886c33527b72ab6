// SPDX-License-Identifier: Apache-2.0
// The x86-64 assembler: one call appends one instruction to a growing buffer; every instruction is
// a row of insn.def. Operands are in Intel's order except that the operand that may be memory is
// the last argument of its group. Vector instructions get the shorter VEX prefix if it can encode
// them, else EVEX; without AVX they may become several instructions (sse.h).
// errors : sticky; nothing is emitted after the first one. hlo_x86_asm_finish() returns it: memory
// exhausted, code too large, or INTERNAL naming an instruction that has no such form.
// owner  : hlo_x86_asm_deinit().
// threads: confined.
#pragma once

#include "base/cpu.h"
#include "base/status.h"
#include "base/vec.h"

// clang-format off
typedef enum hlo_x86_gpr {
  HLO_X86_RAX, HLO_X86_RCX, HLO_X86_RDX, HLO_X86_RBX,
  HLO_X86_RSP, HLO_X86_RBP, HLO_X86_RSI, HLO_X86_RDI,
  HLO_X86_R8, HLO_X86_R9, HLO_X86_R10, HLO_X86_R11,
  HLO_X86_R12, HLO_X86_R13, HLO_X86_R14, HLO_X86_R15,
} hlo_x86_gpr_t;

/// Conditions of jumps, setcc and cmovcc, as encoded. B, BE, A, AE: unsigned (and floats after
/// vucomis); P: unordered.
typedef enum hlo_x86_cc {
  HLO_X86_O, HLO_X86_NO, HLO_X86_B, HLO_X86_AE, HLO_X86_E, HLO_X86_NE, HLO_X86_BE, HLO_X86_A,
  HLO_X86_S, HLO_X86_NS, HLO_X86_P, HLO_X86_NP, HLO_X86_L, HLO_X86_GE, HLO_X86_LE, HLO_X86_G,
} hlo_x86_cc_t;
// clang-format on

enum { HLO_X86_NO_REG = 0xff };

typedef enum hlo_x86_insn {  // vector and mask instructions, and VEX-encoded ones of general
                             // registers
#define HLO_X86_VECTOR(id, ...) HLO_X86_##id,
#include "codegen/x86/insn.def"
  HLO_X86_INSN_COUNT
} hlo_x86_insn_t;

typedef enum hlo_x86_scalar {  // instructions of general registers
#define HLO_X86_GPR(id, ...) HLO_X86_##id,
#include "codegen/x86/insn.def"
  HLO_X86_SCALAR_COUNT
} hlo_x86_scalar_t;

typedef enum hlo_x86_bare {  // instructions without explicit operands
#define HLO_X86_BARE(id, ...) HLO_X86_##id,
#include "codegen/x86/insn.def"
  HLO_X86_BARE_COUNT
} hlo_x86_bare_t;

typedef uint32_t hlo_x86_label_t;

typedef struct hlo_x86_fixup {
  uint32_t offset_bytes;  // of the 32-bit field
  hlo_x86_label_t label;
  int32_t addend;  // added to the distance from the end of the field
} hlo_x86_fixup_t;

enum { HLO_X86_NO_LABEL = UINT32_MAX };

typedef struct hlo_x86_asm {
  uint8_t* bytes;
  size_t size_bytes, capacity_bytes;
  uint64_t features;        // bits of hlo_cpu_feature_t that code may use
  HLO_VEC(int64_t) labels;  // offsets; negative: not bound yet
  HLO_VEC(hlo_x86_fixup_t) fixups;
  hlo_status_t status;  // the first error
} hlo_x86_asm_t;

void hlo_x86_asm_init(hlo_x86_asm_t* as, uint64_t features);
void hlo_x86_asm_deinit(hlo_x86_asm_t* as);
/// Resolves all labels. The assembler keeps the bytes; the caller may take them (hlo_mem) by
/// setting as->bytes to NULL. errors: as above; INTERNAL for a label that was never bound
hlo_status_t hlo_x86_asm_finish(hlo_x86_asm_t* as) HLO_MUST_USE;

/// Returns the first error.
hlo_status_t hlo_x86_asm_status(const hlo_x86_asm_t* as) HLO_MUST_USE;
/// Resolves references to bound labels from this fixup on; the others are kept.
void hlo_x86_asm_settle(hlo_x86_asm_t* as, size_t first_fixup);
/// Appends resolved code of another assembler. map: for each label that is unbound there, its label
/// here.
void hlo_x86_asm_append(hlo_x86_asm_t* as, const hlo_x86_asm_t* other, const hlo_x86_label_t* map);

// ---- operands

typedef enum hlo_x86_rm_kind { HLO_X86_REGISTER, HLO_X86_MEMORY, HLO_X86_RIP } hlo_x86_rm_kind_t;

/// The operand that may be a register or memory.
typedef struct hlo_x86_rm {
  uint8_t kind;   // hlo_x86_rm_kind_t
  uint8_t reg;    // the register (of the instruction's kind) or the base; HLO_X86_NO_REG: no base
  uint8_t index;  // never rsp; gathers and scatters: a vector register; HLO_X86_NO_REG: no index
  uint8_t log2_scale;
  bool is_splat;  // memory holds one element, used in all lanes ({1toN})
  int32_t disp;
  hlo_x86_label_t label;  // RIP: label + disp
} hlo_x86_rm_t;

static inline hlo_x86_rm_t hlo_x86_reg(unsigned reg) {
  return (hlo_x86_rm_t){HLO_X86_REGISTER, (uint8_t)reg, HLO_X86_NO_REG, 0, false, 0, 0};
}
static inline hlo_x86_rm_t hlo_x86_mem(unsigned base, int32_t disp) {
  return (hlo_x86_rm_t){HLO_X86_MEMORY, (uint8_t)base, HLO_X86_NO_REG, 0, false, disp, 0};
}
static inline hlo_x86_rm_t hlo_x86_mem_index(unsigned base, unsigned index, unsigned log2_scale,
                                             int32_t disp) {
  return (hlo_x86_rm_t){
      HLO_X86_MEMORY, (uint8_t)base, (uint8_t)index, (uint8_t)log2_scale, false, disp, 0};
}
static inline hlo_x86_rm_t hlo_x86_rip(hlo_x86_label_t label, int32_t disp) {
  return (hlo_x86_rm_t){HLO_X86_RIP, HLO_X86_NO_REG, HLO_X86_NO_REG, 0, false, disp, label};
}
/// The same memory, one element for all lanes.
static inline hlo_x86_rm_t hlo_x86_splat(hlo_x86_rm_t memory) {
  memory.is_splat = true;
  return memory;
}

// ---- labels and data

hlo_x86_label_t hlo_x86_label_create(hlo_x86_asm_t* as);
/// Binds the label to the next byte; once per label.
void hlo_x86_label_bind(hlo_x86_asm_t* as, hlo_x86_label_t label);
/// Pads to a multiple of a power of two: code with nops, data with zeros.
void hlo_x86_align(hlo_x86_asm_t* as, size_t alignment, bool is_code);
void hlo_x86_data(hlo_x86_asm_t* as, const void* bytes, size_t size_bytes);

// ---- general registers
// size: 1, 2, 4 or 8 bytes, as far as insn.def allows; 4 clears the upper half of the result.
// Instructions that widen (movzx_8, movsx_16, movsxd) take the size of the result.

/// reg = reg op rm (mov, lea, movzx_8, popcnt: reg = op rm; cmp, test: flags only).
void hlo_x86_rm(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, unsigned reg,
                hlo_x86_rm_t rm);
/// rm = rm op reg.
void hlo_x86_mr(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, hlo_x86_rm_t rm,
                unsigned reg);
/// rm = rm op imm; imm is sign-extended from 32 bits (shifts: from 8).
void hlo_x86_mi(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, hlo_x86_rm_t rm,
                int32_t imm);
/// rm = op rm: neg, not; mul, div, idiv with rdx:rax; shl, sar, shr by cl; call, jmp, prefetcht0,
/// ldmxcsr.
void hlo_x86_m(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, hlo_x86_rm_t rm);
/// reg = rm * imm.
void hlo_x86_imul_imm(hlo_x86_asm_t* as, unsigned size, unsigned reg, hlo_x86_rm_t rm, int32_t imm);
/// reg = imm, all 64 bits, by the shortest mov; flags are kept.
void hlo_x86_mov_imm(hlo_x86_asm_t* as, unsigned reg, int64_t imm);
/// Sets the low byte of reg to the condition; the other bits are kept.
void hlo_x86_setcc(hlo_x86_asm_t* as, hlo_x86_cc_t cc, unsigned reg);
/// reg = condition ? rm : reg; size 4 or 8. Memory is read in both cases.
void hlo_x86_cmov(hlo_x86_asm_t* as, hlo_x86_cc_t cc, unsigned size, unsigned reg, hlo_x86_rm_t rm);
void hlo_x86_push(hlo_x86_asm_t* as, unsigned reg);
void hlo_x86_pop(hlo_x86_asm_t* as, unsigned reg);
void hlo_x86_jmp(hlo_x86_asm_t* as, hlo_x86_label_t label);
void hlo_x86_jcc(hlo_x86_asm_t* as, hlo_x86_cc_t cc, hlo_x86_label_t label);
void hlo_x86_call(hlo_x86_asm_t* as, hlo_x86_label_t label);
/// ret, cqo, endbr64, vzeroupper, ...
void hlo_x86_bare(hlo_x86_asm_t* as, hlo_x86_bare_t insn);

// ---- vectors
// width: 16, 32 or 64 bytes, the vector length of the instruction (of a conversion: of its wider
// side). Ignored where insn.def has a single length (scalars, masks). VEX instructions of general
// registers: 4 or 8. modifiers: 0, or hlo_x86_k(n), n in 1 to 7: only lanes of this mask; the
// others keep the destination, or become 0 with HLO_X86_ZERO.

enum { HLO_X86_ZERO = 8 };
static inline unsigned hlo_x86_k(unsigned mask_register) {
  return mask_register;
}

/// The general form. a, b: the register operands in Intel's order, rm left out; operands that the
/// instruction lacks are ignored.
void hlo_x86_vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a, unsigned b,
                    hlo_x86_rm_t rm, unsigned imm, unsigned modifiers);

/// One register and rm: vsqrtps a, rm; vmovups_store rm, a; with imm: vpslld_imm a, rm, imm.
static inline void hlo_x86_vv(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                              hlo_x86_rm_t rm, unsigned modifiers) {
  hlo_x86_vector(as, insn, width, a, 0, rm, 0, modifiers);
}
static inline void hlo_x86_vvi(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                               hlo_x86_rm_t rm, unsigned imm, unsigned modifiers) {
  hlo_x86_vector(as, insn, width, a, 0, rm, imm, modifiers);
}
/// Two registers and rm: vaddps a, b, rm; vgatherdps a, rm, b (b: vector mask, destroyed);
/// vmaskmovps_store rm, a, b (a: vector mask).
static inline void hlo_x86_vvv(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                               unsigned b, hlo_x86_rm_t rm, unsigned modifiers) {
  hlo_x86_vector(as, insn, width, a, b, rm, 0, modifiers);
}
static inline void hlo_x86_vvvi(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                                unsigned b, hlo_x86_rm_t rm, unsigned imm, unsigned modifiers) {
  hlo_x86_vector(as, insn, width, a, b, rm, imm, modifiers);
}
/// Four operands: vblendvps a, b, rm, c (c: vector mask).
static inline void hlo_x86_vvvv(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                                unsigned b, hlo_x86_rm_t rm, unsigned c) {
  hlo_x86_vector(as, insn, width, a, b, rm, c << 4, 0);
}

/// Returns the id of the row: "vaddps", "vpslld_imm".
const char* hlo_x86_insn_name(hlo_x86_insn_t insn);
/// Returns true if the features allow the instruction in one of its encodings.
bool hlo_x86_insn_is_available(hlo_x86_insn_t insn, uint64_t features);
