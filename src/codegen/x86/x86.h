// SPDX-License-Identifier: Apache-2.0
// x86-64 machine code from vector IR: instruction selection, linear-scan registers, encoding.
#ifndef HLO_CODEGEN_X86_X86_H_
#define HLO_CODEGEN_X86_X86_H_

#include "codegen/code.h"
#include "codegen/target.h"
#include "codegen/vir/vir.h"

/// Code for all functions of a verified module; the same bytes for the same module and target.
/// errors: UNIMPLEMENTED naming an op that the target cannot do, or a function that keeps too many
/// values at once, RESOURCE_EXHAUSTED (memory; stack above 32 KiB)
hlo_status_t hlo_x86_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                             hlo_code_t* out_code) HLO_MUST_USE;

#endif  // HLO_CODEGEN_X86_X86_H_
