// SPDX-License-Identifier: Apache-2.0
// PTX text from vector IR: every thread runs the function, and one of the parameters is the
// thread's number in the grid.
#pragma once

#include "codegen/ptx/sm.h"
#include "codegen/vir/vir.h"

enum { HLO_PTX_KERNEL_NAME_BYTES = 96, HLO_PTX_STATIC_SHARED_BYTES = 48 << 10 };

/// How a kernel of blocks is launched.
typedef struct hlo_ptx_launch {
  int64_t block_count;
  uint32_t thread_count;  // of a block
  int64_t shared_bytes;   // above HLO_PTX_STATIC_SHARED_BYTES they are given at the launch
  uint32_t buffer_count;  // words of the table
  uint32_t map_count;  // matrices that are copied by boxes: parameters after the words, 128 bytes
} hlo_ptx_launch_t;

/// Writes the name of a function's kernel: letters and digits of its own name, and its number.
void hlo_ptx_kernel_name(const hlo_vir_func_t* func, char name[HLO_PTX_KERNEL_NAME_BYTES]);

/// Appends a PTX module with one kernel for each function of a verified module: parameters are
/// 64-bit words in order, without the last one, which is the number of the thread. A function of
/// two parameters has a table of words as the first one, which it reads word by word at constant
/// offsets: the words are the kernel's parameters. In a module with groups functions have four:
/// the table, the numbers of block and thread, and the address of the block's shared memory, in
/// that state space; launches has an entry for each function. It is NULL for other modules. Memory
/// that the parameters point to is global; integers and floats have the semantics of vir.def, in
/// which subnormal f64 are not flushed. Vectors are emitted lane by lane; those that are loaded or
/// stored without a mask are at multiples of their bytes, or of 16. errors : UNIMPLEMENTED, naming
/// function and operation, for elements that move between lanes, calls, suspensions, tile
/// registers; for f64 where subnormals are flushed; RESOURCE_EXHAUSTED
hlo_status_t hlo_ptx_emit(const hlo_vir_module_t* module, const hlo_ptx_target_t* target,
                          const hlo_ptx_launch_t* launches, hlo_strbuf_t* out) HLO_MUST_USE;
