// SPDX-License-Identifier: Apache-2.0
// Reads a program in any of its formats into a module: the format is sniffed from the first bytes.
#ifndef HLO_FRONTEND_FRONTEND_H_
#define HLO_FRONTEND_FRONTEND_H_

#include "ir/module.h"

typedef struct hlo_frontend_options hlo_frontend_options_t;

/// Reads MLIR bytecode (portable artifacts and plain), StableHLO text, HLO text or an HloModuleProto.
/// The module is not verified. `bytes` are lent for the call; literals that keep pointing into them
/// hold a copy or a keeper. options and diag may be NULL.
/// errors: INVALID_ARGUMENT, UNIMPLEMENTED (an op or format that is not known, named with its place),
///         RESOURCE_EXHAUSTED (more than 16 MiB + 64x the input)
hlo_status_t hlo_frontend_load(const void* bytes, size_t size_bytes, const char* file_name,
                               const hlo_frontend_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) HLO_MUST_USE;

#endif  // HLO_FRONTEND_FRONTEND_H_
