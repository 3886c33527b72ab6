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

/// Code of some functions of a program, made without the others. Units of one program may be filled
/// at the same time; joined in the order of the functions they are the program's code, of the same
/// bytes however the functions were spread over them.
/// owner: caller, hlo_x86_unit_release(). threads: confined
typedef struct hlo_x86_unit hlo_x86_unit_t;

/// func_count: of the program; the target is lent. errors: UNIMPLEMENTED where there is no encoder, RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_create(const hlo_target_t* target, uint32_t func_count,
                                 hlo_x86_unit_t** out_unit) HLO_MUST_USE;
void hlo_x86_unit_release(hlo_x86_unit_t* unit);
/// Appends the code of a function, known to the program by func->index. Nothing of its module is
/// needed afterwards, but func->name until the code is loaded. errors: as of hlo_x86_compile()
hlo_status_t hlo_x86_unit_add(hlo_x86_unit_t* unit, const hlo_vir_func_t* func) HLO_MUST_USE;
/// Appends what is in another unit. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_join(hlo_x86_unit_t* unit, hlo_x86_unit_t* next) HLO_MUST_USE;
/// The code of all functions, and the constants they use. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_finish(hlo_x86_unit_t* unit, hlo_code_t* out_code) HLO_MUST_USE;

#endif  // HLO_CODEGEN_X86_X86_H_
