// SPDX-License-Identifier: Apache-2.0
// The entry function of a planned program in vector IR: its steps one after the other, loops and
// branches as they are, large kernels as functions run in chunks.
#ifndef HLO_CODEGEN_ENTRY_H_
#define HLO_CODEGEN_ENTRY_H_

#include "codegen/lower/call_sites.h"
#include "codegen/memory/plan.h"
#include "codegen/target/target.h"

/// The functions of a planned program: the entry, number 0, and those that it calls, each of which
/// can be built without the others. owner: an arena. threads: immutable once the entry is built
typedef struct hlo_entry hlo_entry_t;

/// Builds function 0 in the module and lists the others. Copies too large to be done in line are
/// added to `table`. What is lent lives as long as functions are built.
/// errors: RESOURCE_EXHAUSTED, what the kernels answer
hlo_status_t hlo_entry_create(const hlo_plan_t* plan, const hlo_target_t* target,
                              hlo_call_site_table_t* table, hlo_arena_t* arena, hlo_vir_module_t* module,
                              hlo_entry_t** out_entry) HLO_MUST_USE;
/// All functions, function 0 too.
uint32_t hlo_entry_func_count(const hlo_entry_t* entry);
/// About what building and compiling a function takes, in instructions; not of function 0.
uint64_t hlo_entry_func_size(const hlo_entry_t* entry, uint32_t number);
/// The kernel and the phase of it that are all that a function's code depends on; NULL: it is not so.
const hlo_fusion_t* hlo_entry_func_kernel(const hlo_entry_t* entry, uint32_t number,
                                          uint32_t* out_phase);
const hlo_module_t* hlo_entry_module(const hlo_entry_t* entry);
const char* hlo_entry_func_name(const hlo_entry_t* entry, uint32_t number);
/// Builds a function but function 0, in a module that may hold nothing else; it calls others by
/// their numbers. threads: safe, with modules of their own. errors: as above
hlo_status_t hlo_entry_build_func(const hlo_entry_t* entry, uint32_t number,
                                  hlo_vir_module_t* module) HLO_MUST_USE;
/// All functions in one module. errors: as above
hlo_status_t hlo_entry_build(const hlo_plan_t* plan, const hlo_target_t* target,
                             hlo_call_site_table_t* table, hlo_arena_t* arena,
                             hlo_vir_module_t* module) HLO_MUST_USE;

#endif  // HLO_CODEGEN_ENTRY_H_
