// SPDX-License-Identifier: Apache-2.0
// Emits portable C17 source (with the vector extension of gcc and clang) from vector IR: for CPUs
// without an encoder, for compiling ahead of time, and to validate machine code.
#pragma once

#include "codegen/vir/vir.h"

/// How constants are passed to the code.
typedef enum hlo_c_blobs {
  HLO_C_BLOBS_EMBEDDED,  // as arrays in the source, which is then self-contained
  HLO_C_BLOBS_EXTERNAL,  // through the variable hlo_blobs, which the loader fills
} hlo_c_blobs_t;

/// Appends one translation unit for a verified module. It defines, besides static functions:
///   void* const hlo_functions[]: entries and chunks (program_abi.h), by number
///   const uint32_t hlo_saved_bytes[]: the bytes that each needs in frame->saved
///   const void* hlo_blobs[]: with HLO_C_BLOBS_EXTERNAL, 64-byte aligned constants by number
/// The source must be compiled with hlo_c_flags: floating-point results depend on them.
/// errors : RESOURCE_EXHAUSTED; INTERNAL for a stack address that is live across a suspend
hlo_status_t hlo_c_emit(const hlo_vir_module_t* module, hlo_c_blobs_t blobs,
                        hlo_strbuf_t* out) HLO_MUST_USE;

/// The NULL-terminated compiler flags that the semantics of the source depend on.
extern const char* const hlo_c_flags[];
