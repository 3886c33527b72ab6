// SPDX-License-Identifier: Apache-2.0
// Runs vector IR directly, lane by lane (lane.h): the semantics that machine code and C source are
// compared with, and a tool to find accesses outside of a program's memory.
#pragma once

#include "codegen/vir/vir.h"

/// Memory that a program may use.
typedef struct hlo_vir_range {
  const void* address;
  size_t size_bytes;
  bool is_writable;
} hlo_vir_range_t;

/// Zero-initialised: only divisors, table lookups and lanes of permute are checked.
typedef struct hlo_vir_interp_options {
  bool check_memory;  // every access must be inside one of the ranges, this call's stack, a
                      // constant blob, the frame or (read only) its table of buffers
  uint32_t range_count;
  const hlo_vir_range_t* ranges;
} hlo_vir_interp_options_t;

/// Runs a function of a verified module. params: one word per parameter; the first is its
/// hlo_frame_t*. A suspended entry function resumes at frame->resume_point. parallel_for of the
/// runtime table is not called: its chunks are interpreted in order.
/// errors : INTERNAL with function, instruction and debug id for a forbidden access or an undefined
/// division; RESOURCE_EXHAUSTED
/// threads: safe; several may run the same module
hlo_status_t hlo_vir_interp_run(const hlo_vir_func_t* func, const uint64_t* params,
                                const hlo_vir_interp_options_t* options,
                                int32_t* out_answer) HLO_MUST_USE;
