// SPDX-License-Identifier: Apache-2.0
// The entry function of a planned program in vector IR: its steps in order, loops and branches as
// control flow, large kernels as functions that run in chunks.
#pragma once

#include "codegen/lower/call_sites.h"
#include "codegen/memory/plan.h"
#include "codegen/target/target.h"

/// The functions of a planned program: the entry, number 0, and those that it calls, each of which
/// can be built separately.
/// owner  : an arena
/// threads: immutable once the entry is built
typedef struct hlo_entry hlo_entry_t;

/// Builds function 0 in the module and lists the others. Copies too large for inline code are added
/// to `table`. The arguments must live as long as functions are built.
/// errors : RESOURCE_EXHAUSTED, those of the kernels
hlo_status_t hlo_entry_create(const hlo_plan_t* plan, const hlo_target_t* target,
                              hlo_call_site_table_t* table, hlo_arena_t* arena,
                              hlo_vir_module_t* module, hlo_entry_t** out_entry) HLO_MUST_USE;
/// Returns the number of functions, function 0 included.
uint32_t hlo_entry_func_count(const hlo_entry_t* entry);
/// Returns the approximate cost of building and compiling a function, in instructions; not for
/// function 0.
uint64_t hlo_entry_func_size(const hlo_entry_t* entry, uint32_t number);
/// Returns the kernel, and sets its phase, if a function's code depends on those only; otherwise
/// NULL.
const hlo_fusion_t* hlo_entry_func_kernel(const hlo_entry_t* entry, uint32_t number,
                                          uint32_t* out_phase);
const hlo_module_t* hlo_entry_module(const hlo_entry_t* entry);
const char* hlo_entry_func_name(const hlo_entry_t* entry, uint32_t number);
/// Builds any function but function 0, in a module that may hold nothing else; it calls others by
/// their numbers.
/// threads: safe, with separate modules
/// errors : as above
hlo_status_t hlo_entry_build_func(const hlo_entry_t* entry, uint32_t number,
                                  hlo_vir_module_t* module) HLO_MUST_USE;
/// Builds all functions in one module.
/// errors : as above
hlo_status_t hlo_entry_build(const hlo_plan_t* plan, const hlo_target_t* target,
                             hlo_call_site_table_t* table, hlo_arena_t* arena,
                             hlo_vir_module_t* module) HLO_MUST_USE;
