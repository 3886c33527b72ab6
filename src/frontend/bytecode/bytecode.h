// SPDX-License-Identifier: Apache-2.0
// Reads MLIR bytecode (StableHLO portable artifacts and plain StableHLO) into a module.
#pragma once

#include "ir/module.h"

/// Returns true if the bytes begin with the magic number of MLIR bytecode.
bool hlo_bytecode_sniff(const void* bytes, size_t size);

/// Reads a module; uses at most 16 MiB + 64x `size` of memory. With a keeper, large constants point
/// into `bytes` and retain the keeper; without one, all are copied.
/// errors : INVALID_ARGUMENT with the byte at fault, UNIMPLEMENTED naming the op, dialect or
/// version, RESOURCE_EXHAUSTED
hlo_status_t hlo_bytecode_read(const void* bytes, size_t size, hlo_literal_keeper_t* keeper,
                               hlo_module_t** out_module) HLO_MUST_USE;
