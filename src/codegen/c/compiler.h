// SPDX-License-Identifier: Apache-2.0
// The system's C compiler, run as a process: for C source and as a linker.
#pragma once

#include "base/status.h"

/// Runs a compiler (NULL or "": the first of cc, gcc and clang in PATH) with NULL-terminated
/// arguments.
/// errors : NOT_FOUND without a compiler; INTERNAL with the compiler's messages; those of
/// hlo_os_process_run()
hlo_status_t hlo_c_compiler_run(const char* compiler, const char* const* arguments) HLO_MUST_USE;
