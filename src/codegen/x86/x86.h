// SPDX-License-Identifier: Apache-2.0
// x86-64 machine code from vector IR: instruction selection, linear-scan registers, encoding.
#ifndef HLO_CODEGEN_X86_X86_H_
#define HLO_CODEGEN_X86_X86_H_

#include "codegen/object/isa.h"
#include "codegen/target/target.h"
#include "codegen/vir/vir.h"

/// Compiles all functions of a verified module for a target with this encoder, as hlo_code_compile()
/// does. errors: of hlo_code_isa_t.add()
hlo_status_t hlo_x86_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                             hlo_code_t* out_code) HLO_MUST_USE;

/// The instruction set, for isa/isa.h.
extern const hlo_code_isa_t hlo_x86_isa;

#endif  // HLO_CODEGEN_X86_X86_H_
