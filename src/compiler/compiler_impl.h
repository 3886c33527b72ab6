// SPDX-License-Identifier: Apache-2.0
// Steps that compilation as a whole and in phases share. Private to this folder.
#pragma once

#include "compiler/compiler.h"
#include "passes/pipeline.h"

/// Finds the entry of a program and marks it with the layouts that the configuration asks for,
/// unless the program is one that hlo_compile_keep_source() wrote: that has them already.
/// errors : INVALID_ARGUMENT (no entry; those of hlo_layouts_apply())
hlo_status_t hlo_compile_prepare_entry(hlo_module_t* module, const hlo_compile_config_t* config,
                                       hlo_func_t** out_entry) HLO_MUST_USE;
/// Runs the stages from `first` to `last` over a verified module. dumper NULL: dumps nothing.
/// errors : those of hlo_stages_run() and hlo_compile_config_env()
hlo_status_t hlo_compile_run_stages(hlo_module_t* module, hlo_stage_t first, hlo_stage_t last,
                                    const hlo_compile_config_t* config,
                                    hlo_dumper_t* dumper) HLO_MUST_USE;
/// Keeps the module, which import has prepared, as the source of an executable, as text; what loads
/// it does not divide it again.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_compile_keep_source(hlo_executable_t* executable) HLO_MUST_USE;
