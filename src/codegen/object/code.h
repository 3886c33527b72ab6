// SPDX-License-Identifier: Apache-2.0
// Machine code of a vector-IR module, position-independent, not yet executable: bytes, functions,
// and the debug ids of code ranges.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// One function of the code.
typedef struct hlo_code_func {
  const char* name;  // owned by the vector-IR module's arena: copied by users that outlive it
  uint32_t offset_bytes, size_bytes;
  uint32_t frame_bytes;  // fixed stack below the saved rbp; every function sets up rbp
  uint32_t saved_mask;   // registers pushed right below rbp, lowest number first; a bit per
                         // register
  uint32_t saved_bytes;  // bytes it needs in frame->saved (entry functions that suspend)
  // Values that had no register for some of the time; 0 for functions read from images.
  uint32_t spilled_words, spilled_vectors;
} hlo_code_func_t;

/// Code from `offset_bytes` up to the next entry belongs to the debug id.
typedef struct hlo_code_debug_id {
  uint32_t offset_bytes, debug_id;
} hlo_code_debug_id_t;

/// owner  : hlo_code_deinit() frees all arrays (hlo_mem)
/// threads: immutable after creation
typedef struct hlo_code {
  const struct hlo_code_isa* isa;  // its instruction set (isa.h)
  uint8_t* bytes;                  // functions, then constants; position-independent
  size_t size_bytes;
  uint32_t func_count, debug_id_count;
  hlo_code_func_t* funcs;
  hlo_code_debug_id_t* debug_ids;  // ascending
} hlo_code_t;

void hlo_code_deinit(hlo_code_t* code);
