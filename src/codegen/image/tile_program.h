// SPDX-License-Identifier: Apache-2.0
// A kernel of Tile IR as machine code in this process.
#pragma once

#include "base/threads.h"
#include "codegen/target/target.h"
#include "tile/ir.h"

/// threads: immutable; several may run it at once
typedef struct hlo_tile_program hlo_tile_program_t;

/// Compiles a verified kernel, which must outlive the program, for the target, on whose processor
/// it is to run. errors: UNIMPLEMENTED naming the operation that has no code, PERMISSION_DENIED (no
/// executable memory), RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_program_create(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                                     hlo_tile_program_t** out_program) HLO_MUST_USE;
void hlo_tile_program_release(hlo_tile_program_t* program);
/// Returns the number of phases, each of which is finished before the next begins.
uint32_t hlo_tile_program_phase_count(const hlo_tile_program_t* program);
/// Runs the kernel. buffers: row-major memory by number of the buffer, aligned to its elements.
/// pool: runs the chunks of a phase, and iterations that wait for each other; NULL: the former in
/// order on the caller, the latter on a pool of this call. Results depend on it only as far as the
/// kernel says: where iterations that wait for each other update memory in any order. meaning: what
/// prints; NULL: nothing. errors: FAILED_PRECONDITION (iterations that wait for ever, signals that
/// nothing waited for), RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_program_run(const hlo_tile_program_t* program, void* const* buffers,
                                  hlo_pool_t* pool, const hlo_tile_meaning_t* meaning) HLO_MUST_USE;
