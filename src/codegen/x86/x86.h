// SPDX-License-Identifier: Apache-2.0
// x86-64 machine code from vector IR: instruction selection, linear-scan registers, encoding.
#ifndef HLO_CODEGEN_X86_X86_H_
#define HLO_CODEGEN_X86_X86_H_

#include "codegen/object/code.h"
#include "codegen/target/target.h"
#include "codegen/vir/vir.h"

/// Compiles all functions of a verified module; equal modules and targets give equal bytes. errors:
/// UNIMPLEMENTED naming an op that the target lacks, or a function with too many live values;
/// RESOURCE_EXHAUSTED (memory; stack above 32 KiB)
hlo_status_t hlo_x86_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                             hlo_code_t* out_code) HLO_MUST_USE;

/// Code of some functions of a program, independent of the others. Units of one program may be
/// filled in parallel; joined in the order of the functions they give the program's code, with the
/// same bytes however the functions were distributed.
/// owner  : caller, hlo_x86_unit_release()
/// threads: confined
typedef struct hlo_x86_unit hlo_x86_unit_t;

/// func_count: of the program; the target is lent. errors: UNIMPLEMENTED where no encoder exists,
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_create(const hlo_target_t* target, uint32_t func_count,
                                 hlo_x86_unit_t** out_unit) HLO_MUST_USE;
void hlo_x86_unit_release(hlo_x86_unit_t* unit);
/// Appends the code of a function, which has number func->index in the program. Only func->name is
/// needed afterwards, until the code is loaded. errors: as for hlo_x86_compile()
hlo_status_t hlo_x86_unit_add(hlo_x86_unit_t* unit, const hlo_vir_func_t* func) HLO_MUST_USE;
/// Appends the contents of another unit of the program. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_join(hlo_x86_unit_t* unit, const hlo_x86_unit_t* next) HLO_MUST_USE;

/// Seals a unit of one function without calls, so that any program may include it: its debug ids
/// become positions in `sites` (0 for unknown ones), and memory used for encoding is released.
/// Returns the bytes that remain. threads: immutable from then on
size_t hlo_x86_unit_seal(hlo_x86_unit_t* unit, uint32_t debug_id_count, const uint32_t* debug_ids);
/// The role of a sealed function in a program.
typedef struct hlo_x86_placing {
  uint32_t index;
  const char* name;  // lent until the code is loaded
  const uint32_t* debug_ids;
} hlo_x86_placing_t;
/// Appends the function of a sealed unit, as hlo_x86_unit_add() would. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_place(hlo_x86_unit_t* unit, const hlo_x86_unit_t* sealed,
                                const hlo_x86_placing_t* placing) HLO_MUST_USE;
/// Returns the code of all functions and their constants. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_x86_unit_finish(hlo_x86_unit_t* unit, hlo_code_t* out_code) HLO_MUST_USE;

#endif  // HLO_CODEGEN_X86_X86_H_
