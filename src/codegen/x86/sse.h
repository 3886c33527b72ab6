// SPDX-License-Identifier: Apache-2.0
// Vector instructions for processors without AVX: what hlo_x86_vector() does where the features
// allow neither VEX nor EVEX. The instructions are asked for by the same names and with three
// operands. sse.def says which there are.
#ifndef HLO_CODEGEN_X86_SSE_H_
#define HLO_CODEGEN_X86_SSE_H_

#include "codegen/x86/asm.h"

/// Registers that values and temporaries may be in; those above are for copies in between.
enum { HLO_X86_SSE_REGISTERS = 14 };

static inline bool hlo_x86_is_sse(uint64_t features) {
  return !(features >> HLO_CPU_AVX & 1) && !(features >> HLO_CPU_AVX512F & 1);
}

/// See hlo_x86_vector(); as many instructions as it takes. errors: sticky, INTERNAL as there
void hlo_x86_sse_vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                        unsigned b, hlo_x86_rm_t rm, unsigned imm, unsigned modifiers);
/// One instruction of two operands: those that Intel writes, r being the register that is not rm
/// (shifts by an immediate: ignored). 16 bytes of memory have to be aligned, but for moves.
void hlo_x86_sse_put(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned r, hlo_x86_rm_t rm,
                     unsigned imm);
/// Whether hlo_x86_sse_vector() knows it.
bool hlo_x86_sse_is_available(hlo_x86_insn_t insn, uint64_t features);

#endif  // HLO_CODEGEN_X86_SSE_H_
