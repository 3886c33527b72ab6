// SPDX-License-Identifier: Apache-2.0
// Compiles the functions of a planned program to machine code, in parallel if that is faster.
#pragma once

#include "base/lru.h"
#include "base/parallel.h"
#include "codegen/emit/entry.h"
#include "codegen/object/code.h"

/// Builds and compiles all functions. The bytes, or the error, do not depend on the threads: it is
/// the error of the first function that fails. first: the module with function 0; its has_half,
/// has_permute, has_scale and subnormals hold for all functions. Names are lent from the arena of
/// `entry` and from that module. kernels: cache of machine code by hlo_fusion_digest() and target,
/// which changes no byte; NULL: none. parallel: NULL: the caller's thread. store: arenas for other
/// threads; may be NULL.
/// errors: those of hlo_entry_build_func() and hlo_code_compile()
hlo_status_t hlo_machine_code_make(const hlo_entry_t* entry, const hlo_vir_module_t* first,
                                   const hlo_target_t* target, hlo_lru_t* kernels,
                                   const hlo_parallel_t* parallel, hlo_arena_store_t* store,
                                   hlo_code_t* out_code) HLO_MUST_USE;
