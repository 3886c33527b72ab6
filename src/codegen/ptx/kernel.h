// SPDX-License-Identifier: Apache-2.0
// PTX kernels from Tile IR: a thread for each iteration of the outermost loops whose iterations do
// not depend on each other.
#pragma once

#include "codegen/ptx/sm.h"
#include "tile/ir.h"

/// Appends a PTX module with a kernel for each phase of a Tile IR kernel, to be launched one after
/// the other; a comment before each one says with how many threads. Parameters: the addresses of
/// the buffers in global memory, in order. A phase whose iterations depend on each other has one
/// thread. errors: UNIMPLEMENTED (hlo_tile_check_lowering(), hlo_ptx_emit()), RESOURCE_EXHAUSTED
hlo_status_t hlo_ptx_emit_tile(const hlo_tile_kernel_t* kernel, const hlo_ptx_target_t* target,
                               hlo_strbuf_t* out) HLO_MUST_USE;
