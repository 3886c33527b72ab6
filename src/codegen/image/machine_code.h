// SPDX-License-Identifier: Apache-2.0
// The functions of a planned program as machine code, made side by side where that pays.
#ifndef HLO_CODEGEN_MACHINE_CODE_H_
#define HLO_CODEGEN_MACHINE_CODE_H_

#include "base/lru.h"
#include "base/parallel.h"
#include "codegen/emit/entry.h"
#include "codegen/object/code.h"

/// Builds and compiles all functions; the same bytes, or the same error, whoever runs the loop.
/// first: the module with function 0, which has to build what the others use (has_half, has_scale, subnormals).
/// Names are lent from the arena of `entry` and from that module. kernels: code of kernels that is
/// kept from program to program, found by what they compute (hlo_fusion_digest()) and the target;
/// it changes no byte; NULL: none. parallel: NULL: on the caller. store: for threads that have
/// none; may be NULL. errors: of hlo_entry_build_func() and hlo_code_compile(), of the first
/// function that fails
hlo_status_t hlo_machine_code_make(const hlo_entry_t* entry, const hlo_vir_module_t* first,
                                   const hlo_target_t* target, hlo_lru_t* kernels,
                                   const hlo_parallel_t* parallel, hlo_arena_store_t* store,
                                   hlo_code_t* out_code) HLO_MUST_USE;

#endif  // HLO_CODEGEN_MACHINE_CODE_H_
