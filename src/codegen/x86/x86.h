// SPDX-License-Identifier: Apache-2.0
// x86-64 machine code from vector IR: instruction selection, linear-scan registers, encoding.
#ifndef HLO_CODEGEN_X86_X86_H_
#define HLO_CODEGEN_X86_X86_H_

#include "codegen/object/isa.h"

/// The instruction set, for isa/isa.h.
extern const hlo_code_isa_t hlo_x86_isa;

#endif  // HLO_CODEGEN_X86_X86_H_
