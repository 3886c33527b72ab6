// SPDX-License-Identifier: Apache-2.0
// Vector IR compiled as C source by the system's C compiler: a shared object in a cache folder,
// which is loaded into this process.
#pragma once

#include "codegen/target/target.h"
#include "codegen/vir/vir.h"

typedef struct hlo_c_build_options {
  const char* compiler;         // path or name; NULL or "": cc, gcc or clang in PATH
  const char* cache_directory;  // NULL or "": hlocc in XDG_CACHE_HOME or ~/.cache
  const hlo_target_t*
      target;  // instruction sets that may be used; NULL: what the compiler takes for granted
} hlo_c_build_options_t;

/// Loaded code.
/// threads: immutable after building
typedef struct hlo_c_program hlo_c_program_t;

/// Emits the source, compiles it unless the cache has it, and loads the functions of a verified
/// module. A damaged cache file is rebuilt. If no cache folder is writable, a temporary folder is
/// used for the duration of the call.
/// errors : NOT_FOUND without a C compiler; INTERNAL with the compiler's messages; those of
/// hlo_c_emit()
/// owner  : the caller; the module owns the constants and must outlive the program
/// threads: safe, also across processes with the same cache
hlo_status_t hlo_c_build(const hlo_vir_module_t* module, const hlo_c_build_options_t* options,
                         hlo_c_program_t** out_program) HLO_MUST_USE;
void hlo_c_program_release(hlo_c_program_t* program);
void* hlo_c_program_address(const hlo_c_program_t* program, uint32_t func_index);
/// Returns the bytes that an entry needs in frame->saved.
uint32_t hlo_c_program_saved_bytes(const hlo_c_program_t* program, uint32_t func_index);
/// Returns true if the code came from the cache.
bool hlo_c_program_was_cached(const hlo_c_program_t* program);
