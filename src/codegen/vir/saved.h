// SPDX-License-Identifier: Apache-2.0
// The values that an entry function keeps in frame->saved while it is suspended: the same for all
// back ends that use it, so any of them could resume a frame.
#pragma once

#include "codegen/vir/vir.h"

/// One `suspend`, and the values available there and used after it, in order of their numbers.
typedef struct hlo_vir_resume {
  const hlo_vir_value_t* suspend;
  uint32_t value_count;
  const hlo_vir_value_t** values;
} hlo_vir_resume_t;

/// Every value has one offset for all suspends, from HLO_PROGRAM_SAVED_START on: vectors as their
/// lanes in memory, an INDEX in 8 bytes, a mask in 8 bytes with bit i for lane i. Values that
/// depend only on the call (constants, parameters, addresses of stack and constants, and INDEX
/// arithmetic on them) are not saved: the back end recomputes them, in order of the text, before it
/// jumps to the resume point.
typedef struct hlo_vir_saved {
  uint32_t resume_count;
  hlo_vir_resume_t* resumes;  // in order of the text
  uint32_t* offsets;          // by number of the value; UINT32_MAX: not saved
  bool* is_rematerialized;    // by number
  uint32_t size_bytes;
} hlo_vir_saved_t;

/// owner: everything is in `arena`.
/// errors: RESOURCE_EXHAUSTED; INTERNAL when an address of the stack would have to be saved
hlo_status_t hlo_vir_saved_create(const hlo_vir_func_t* func, hlo_arena_t* arena,
                                  hlo_vir_saved_t* out_saved) HLO_MUST_USE;
