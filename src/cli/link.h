// SPDX-License-Identifier: Apache-2.0
// Shared objects from object files, by the system's linker.
#ifndef HLO_CLI_LINK_H_
#define HLO_CLI_LINK_H_

#include "base/strbuf.h"

/// Replaces the object file in `bytes` by a shared object: the C compiler (as for
/// hlo_c_compiler_run()) links it with libhlocc_rt.a, which is beside the tool.
/// errors: NOT_FOUND without compiler or library, INTERNAL with the compiler's message, those of
/// files
hlo_status_t hlo_link_shared(const char* compiler, hlo_strbuf_t* bytes) HLO_MUST_USE;

#endif  // HLO_CLI_LINK_H_
