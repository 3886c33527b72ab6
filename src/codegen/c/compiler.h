// SPDX-License-Identifier: Apache-2.0
// The C compiler of the system, run as a program: for C source and as a linker.
#ifndef HLO_CODEGEN_C_COMPILER_H_
#define HLO_CODEGEN_C_COMPILER_H_

#include "base/status.h"

/// Runs a compiler (NULL or "": cc, gcc or clang, whichever PATH has first) with arguments that end
/// with NULL. errors: NOT_FOUND when there is none; INTERNAL with the compiler's words; those of
/// hlo_os_process_run()
hlo_status_t hlo_c_compiler_run(const char* compiler, const char* const* arguments) HLO_MUST_USE;

#endif  // HLO_CODEGEN_C_COMPILER_H_
