// SPDX-License-Identifier: Apache-2.0
// Kernels as Tile IR: the loops of a fusion in readable form (hlocc compile --emit=tile), and for
// the interpreter of Tile IR (back end tile), which checks fusion, tiling and index expressions
// without sharing the code generator.
#pragma once

#include "codegen/loops/kernel.h"
#include "tile/ir.h"

/// Returns the kernel's loops and their body; buffers: the fusion's inputs, then its outputs.
/// owner: the arena
/// errors: UNIMPLEMENTED (has no Tile IR), RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_to_tile(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                                hlo_tile_kernel_t** out_tile) HLO_MUST_USE;

/// Makes the kernel run as its Tile IR, which must outlive every program built from the kernel.
void hlo_kernel_run_as_tile(hlo_kernel_t* kernel, const hlo_tile_kernel_t* tile);
/// Returns that Tile IR; NULL if the kernel runs as vector IR.
const hlo_tile_kernel_t* hlo_kernel_tile(const hlo_kernel_t* kernel);

/// Makes the code of the kernel from its Tile IR (back end tile_native), which must outlive every
/// program built from the kernel. errors: UNIMPLEMENTED (it stays as chosen), RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_lower_tile(hlo_kernel_t* kernel,
                                   const hlo_tile_kernel_t* tile) HLO_MUST_USE;
/// Emits such a kernel as hlo_kernel_emit() describes.
void hlo_kernel_emit_tile(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                          hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk);
