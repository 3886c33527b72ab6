// SPDX-License-Identifier: Apache-2.0
// x86-64 machine code from vector IR: instruction selection, linear-scan registers, encoding.
#ifndef HLO_CODEGEN_X86_X86_H_
#define HLO_CODEGEN_X86_X86_H_

#include "codegen/object/code.h"
#include "codegen/target/target.h"
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

/// func_count: of the program; the target is lent. errors: UNIMPLEMENTED where there is no encoder,
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_create(const hlo_target_t* target, uint32_t func_count,
                                 hlo_x86_unit_t** out_unit) HLO_MUST_USE;
void hlo_x86_unit_release(hlo_x86_unit_t* unit);
/// Appends the code of a function, known to the program by func->index. Nothing of its module is
/// needed afterwards, but func->name until the code is loaded. errors: as of hlo_x86_compile()
hlo_status_t hlo_x86_unit_add(hlo_x86_unit_t* unit, const hlo_vir_func_t* func) HLO_MUST_USE;
/// Appends what is in another unit of the program. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_join(hlo_x86_unit_t* unit, const hlo_x86_unit_t* next) HLO_MUST_USE;

/// Makes a unit of one function, which calls no others, one that any program may place: its sites
/// become positions in `sites` (0 for those that are not there), what making it took is given back.
/// Returns the bytes it keeps. threads: immutable from then on
size_t hlo_x86_unit_seal(hlo_x86_unit_t* unit, uint32_t site_count, const uint32_t* sites);
/// What the function is in a program.
typedef struct hlo_x86_placing {
  uint32_t index;
  const char* name;  // lent until the code is loaded
  const uint32_t* sites;
} hlo_x86_placing_t;
/// Appends the function of a sealed unit, as hlo_x86_unit_add() would. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_place(hlo_x86_unit_t* unit, const hlo_x86_unit_t* sealed,
                                const hlo_x86_placing_t* placing) HLO_MUST_USE;
/// The code of all functions, and the constants they use. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_finish(hlo_x86_unit_t* unit, hlo_code_t* out_code) HLO_MUST_USE;

#endif  // HLO_CODEGEN_X86_X86_H_
