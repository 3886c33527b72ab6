// SPDX-License-Identifier: Apache-2.0
// Runs vector IR directly, lane by lane (lane.h): the meaning that machine code and C source are
// compared with, and a way to find where a program leaves its memory.
#ifndef HLO_CODEGEN_VIR_INTERP_H_
#define HLO_CODEGEN_VIR_INTERP_H_

#include "codegen/vir/vir.h"

/// Memory that a program may use.
typedef struct hlo_vir_range {
  const void* address;
  size_t size_bytes;
  bool is_writable;
} hlo_vir_range_t;

/// Zero-initialised: nothing is checked but divisors, table lookups and lanes of permute.
typedef struct hlo_vir_interp_options {
  bool check_memory;  // every access must be inside one of the ranges, this call's stack, a
                      // constant blob, the frame or (read only) its table of buffers
  uint32_t range_count;
  const hlo_vir_range_t* ranges;
} hlo_vir_interp_options_t;

/// Runs a function of a verified module. params: as many words as it has parameters; the first is
/// its hlo_frame_t*. An entry function that was suspended goes on at frame->resume_point.
/// parallel_for of the runtime table is not called: its chunks are interpreted one after the other.
/// errors : INTERNAL with function, instruction and site for an access that is not allowed or a
/// division
///          without value; RESOURCE_EXHAUSTED
/// threads: safe; several may run the same module
hlo_status_t hlo_vir_interp_run(const hlo_vir_func_t* func, const uint64_t* params,
                                const hlo_vir_interp_options_t* options,
                                int32_t* out_answer) HLO_MUST_USE;

#endif  // HLO_CODEGEN_VIR_INTERP_H_
