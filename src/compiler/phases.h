// SPDX-License-Identifier: Apache-2.0
// Compilation in phases that run one at a time, in other processes if need be: the output of each
// phase is a program that the next one reads.
#pragma once

#include "compiler/compiler.h"

/// The stages of passes/pipeline.h; the last one also generates code.
typedef enum hlo_phase {
  HLO_PHASE_IMPORT,
  HLO_PHASE_OPTIMISE,
  HLO_PHASE_NATIVE,
  HLO_PHASE_COUNT,
} hlo_phase_t;

/// Returns "import", "optimise", "native".
const char* hlo_phase_name(hlo_phase_t phase);
/// errors : INVALID_ARGUMENT (unknown; the message lists the phases)
hlo_status_t hlo_phase_from_name(const char* name, hlo_phase_t* out_phase) HLO_MUST_USE;

/// Runs a phase over a program in a form that hlo_compile() reads. Appends StableHLO text, whose
/// ops keep their locations; the last phase appends a serialized executable.
/// errors : those of hlo_compile()
hlo_status_t hlo_phase_run(hlo_phase_t phase, const void* bytes, size_t size_bytes,
                           const hlo_compile_config_t* config, const void* options,
                           size_t options_bytes, hlo_strbuf_t* out) HLO_MUST_USE;
