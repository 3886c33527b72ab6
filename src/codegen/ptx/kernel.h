// SPDX-License-Identifier: Apache-2.0
// PTX kernels from Tile IR: a thread for each iteration of the outermost loops whose iterations do
// not depend on each other.
#pragma once

#include "codegen/ptx/sm.h"
#include "tile/ir.h"

/// How kernels are made; NULL stands for zeros.
typedef struct hlo_ptx_options {
  bool allows_tf32;   // products of f32 may round their operands to 11 bits
  bool is_unordered;  // for tests: the threads of a block never wait for each other
} hlo_ptx_options_t;

/// Appends a PTX module with a kernel for each phase of a Tile IR kernel, to be launched one after
/// the other; a comment before each one says with how many threads. Parameters: the addresses of
/// the buffers in global memory, in order. A phase whose iterations depend on each other has one
/// thread. A phase whose blocks have memory of their own, products or long reductions is run by
/// blocks of threads (codegen/tiles/group.h), others by independent threads. Buffers are at
/// multiples of 16 bytes; their elements of 2 or 4 bits are packed, as hlo_dtype_pack() does it.
/// errors: UNIMPLEMENTED (hlo_tile_check_lowering(), hlo_ptx_emit()), RESOURCE_EXHAUSTED, also if a
/// block needs more shared memory than the target has, with both numbers
hlo_status_t hlo_ptx_emit_tile(const hlo_tile_kernel_t* kernel, const hlo_ptx_target_t* target,
                               const hlo_ptx_options_t* options, hlo_strbuf_t* out) HLO_MUST_USE;
