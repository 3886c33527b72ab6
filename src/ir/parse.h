// SPDX-License-Identifier: Apache-2.0
// Parser of MLIR text: types, attributes, functions, generic ops and the pretty forms of StableHLO.
#pragma once

#include "ir/module.h"

/// Parses a module without verifying it. All faults go to `diag` with line and column; the status
/// repeats them. Uses at most 16 MiB + 64x the text of memory.
/// errors : INVALID_ARGUMENT, UNIMPLEMENTED (an op that is not in the table, named with its
/// location), RESOURCE_EXHAUSTED
hlo_status_t hlo_parse_module(const char* text, size_t length, const char* file, hlo_diag_t* diag,
                              hlo_module_t** out_module) HLO_MUST_USE;
/// Parses a module; `elided` chooses the handling of constants without elements.
hlo_status_t hlo_parse_module_elided(const char* text, size_t length, const char* file,
                                     hlo_elided_t elided, hlo_diag_t* diag,
                                     hlo_module_t** out_module) HLO_MUST_USE;
/// Parses one attribute or type of MLIR text into `module`, for text embedded in bytecode.
hlo_status_t hlo_parse_attr(hlo_module_t* module, const char* text, size_t length,
                            const hlo_attr_t** out_attr) HLO_MUST_USE;
hlo_status_t hlo_parse_type(hlo_module_t* module, const char* text, size_t length,
                            const hlo_type_t** out_type) HLO_MUST_USE;
