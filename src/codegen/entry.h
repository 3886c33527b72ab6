// SPDX-License-Identifier: Apache-2.0
// The entry function of a planned program in vector IR: its steps one after the other, loops and
// branches as they are, large kernels as functions run in chunks.
#ifndef HLO_CODEGEN_ENTRY_H_
#define HLO_CODEGEN_ENTRY_H_

#include "codegen/plan.h"
#include "codegen/sites.h"
#include "codegen/target.h"

/// Function 0 of the module is the entry. Copies too large to be done in line are added to `table`.
/// errors: RESOURCE_EXHAUSTED, what the kernels answer (sticky in the module)
hlo_status_t hlo_entry_build(const hlo_plan_t* plan, const hlo_target_t* target,
                             hlo_site_table_t* table, hlo_arena_t* arena,
                             hlo_vir_module_t* module) HLO_MUST_USE;

#endif  // HLO_CODEGEN_ENTRY_H_
