// SPDX-License-Identifier: Apache-2.0
// Vector instructions for processors without AVX: the part of hlo_x86_vector() for features that
// allow neither VEX nor EVEX. The instructions keep their names and three operands; sse.def lists
// them.
#pragma once

#include "codegen/x86/asm.h"

/// Registers for values and temporaries; those above are for internal copies.
enum { HLO_X86_SSE_REGISTERS = 14 };

static inline bool hlo_x86_is_sse(uint64_t features) {
  return !(features >> HLO_CPU_AVX & 1) && !(features >> HLO_CPU_AVX512F & 1);
}

/// As hlo_x86_vector(), with as many instructions as it takes. errors: sticky, INTERNAL as there
void hlo_x86_sse_vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a,
                        unsigned b, hlo_x86_rm_t rm, unsigned imm, unsigned modifiers);
/// Emits one two-operand instruction in Intel's order; r is the register that is not rm (shifts by
/// an immediate: ignored). 16-byte memory operands must be aligned, except for moves.
void hlo_x86_sse_put(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned r, hlo_x86_rm_t rm,
                     unsigned imm);
/// Returns true if hlo_x86_sse_vector() supports the instruction.
bool hlo_x86_sse_is_available(hlo_x86_insn_t insn, uint64_t features);
