// SPDX-License-Identifier: Apache-2.0
// The interpreter behind the entry of kernel_abi.h: the back end that runs everything.
#ifndef HLO_COMPILER_BACKEND_INTERP_H_
#define HLO_COMPILER_BACKEND_INTERP_H_

#include "base/kernel_abi.h"
#include "compiler/compiler.h"
#include "interp/program.h"

/// What the runtime hands to interpreted programs: the table of the ABI, then how they meet.
typedef struct hlo_interp_runtime {
  hlo_runtime_table_t table;       // size_bytes covers the whole
  const hlo_process_grid_t* grid;  // NULL: alone
} hlo_interp_runtime_t;

extern const hlo_backend_t hlo_backend_interp;

#endif  // HLO_COMPILER_BACKEND_INTERP_H_
