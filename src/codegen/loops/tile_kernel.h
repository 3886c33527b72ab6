// SPDX-License-Identifier: Apache-2.0
// Kernels as Tile IR: what the loops of a fusion compute, for people (hlocc compile --emit=tile)
// and to be run by the Tile IR's own interpreter (back end tile), a second opinion on fusion,
// tiling and index expressions that shares no code generation.
#ifndef HLO_CODEGEN_TILE_KERNEL_H_
#define HLO_CODEGEN_TILE_KERNEL_H_

#include "codegen/loops/kernel.h"
#include "tile/ir.h"

/// The kernel's loops and what is computed in them; buffers: the fusion's inputs, then its outputs.
/// Layouts are inferred. owner: the arena.
/// errors: UNIMPLEMENTED (what has no Tile IR), RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_to_tile(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                                hlo_tile_kernel_t** out_tile) HLO_MUST_USE;

/// From now on the kernel is its Tile IR, which lives as long as what it is made into.
void hlo_kernel_run_as_tile(hlo_kernel_t* kernel, const hlo_tile_kernel_t* tile);
/// That; NULL: it is loops of its own.
const hlo_tile_kernel_t* hlo_kernel_tile(const hlo_kernel_t* kernel);

/// Elementwise operations as the reference computes them.
extern const hlo_tile_meaning_t hlo_tile_reference_meaning;

#endif  // HLO_CODEGEN_TILE_KERNEL_H_
