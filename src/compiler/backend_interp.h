// SPDX-License-Identifier: Apache-2.0
// The interpreter as an entry of kernel_abi.h: the back end that runs everything.
#ifndef HLO_COMPILER_BACKEND_INTERP_H_
#define HLO_COMPILER_BACKEND_INTERP_H_

#include "compiler/compiler.h"

extern const hlo_backend_t hlo_backend_interp;

#endif  // HLO_COMPILER_BACKEND_INTERP_H_
