// SPDX-License-Identifier: Apache-2.0
// C source of vector IR made into code by the C compiler of the system: a shared object in a cache
// folder, opened here.
#ifndef HLO_CODEGEN_C_BUILD_H_
#define HLO_CODEGEN_C_BUILD_H_

#include "codegen/target/target.h"
#include "codegen/vir/vir.h"

typedef struct hlo_c_build_options {
  const char* compiler;         // path or name; NULL or "": cc, gcc or clang of the PATH
  const char* cache_directory;  // NULL or "": hlocc in XDG_CACHE_HOME or ~/.cache
  const hlo_target_t*
      target;  // instruction sets that may be used; NULL: what the compiler takes for granted
} hlo_c_build_options_t;

/// Code that is loaded. threads: immutable after building
typedef struct hlo_c_program hlo_c_program_t;

/// Emits, compiles unless the cache has it, and opens the functions of a verified module. A file of
/// the cache that is damaged is made again; without a folder to write to, one in the system's
/// folder for temporary files lives as long as the call. errors : NOT_FOUND when there is no C
/// compiler; INTERNAL with the compiler's words; those of hlo_c_emit() owner  : the caller;
/// constants are lent from the module, which has to live as long threads: safe, also from several
/// processes with the same cache
hlo_status_t hlo_c_build(const hlo_vir_module_t* module, const hlo_c_build_options_t* options,
                         hlo_c_program_t** out_program) HLO_MUST_USE;
void hlo_c_program_release(hlo_c_program_t* program);
void* hlo_c_program_address(const hlo_c_program_t* program, uint32_t func_index);
/// Room that an entry needs in frame->saved.
uint32_t hlo_c_program_saved_bytes(const hlo_c_program_t* program, uint32_t func_index);
/// Whether the code came from the cache.
bool hlo_c_program_was_cached(const hlo_c_program_t* program);

#endif  // HLO_CODEGEN_C_BUILD_H_
