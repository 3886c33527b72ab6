// SPDX-License-Identifier: Apache-2.0
// Shared objects from object files, by the linker of the system.
#ifndef HLO_CLI_LINK_H_
#define HLO_CLI_LINK_H_

#include "base/strbuf.h"

/// Takes the place of an object file in `bytes` with the shared object that the C compiler (as
/// hlo_c_compiler_run() takes it) makes of it and libhlocc_rt.a, which is sought beside the tool.
/// errors: NOT_FOUND without compiler or library, INTERNAL with the compiler's words, files'
hlo_status_t hlo_link_shared(const char* compiler, hlo_strbuf_t* bytes) HLO_MUST_USE;

#endif  // HLO_CLI_LINK_H_
