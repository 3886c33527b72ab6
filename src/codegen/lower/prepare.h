// SPDX-License-Identifier: Apache-2.0
// Selects the modules that compiled code can run and brings them into the form for code generation.
#pragma once

#include "base/strbuf.h"
#include "ir/module.h"
#include "passes/runner.h"

/// Copies the module and inlines the function `name` into one body with the passes of the native
/// stage under `options` (NULL: none). *out_module is NULL if compiled code cannot run it; the
/// first reason, with its location, is then appended to `out_refusal`.
/// owner  : the caller
/// errors : RESOURCE_EXHAUSTED, those of the passes
hlo_status_t hlo_prepare_module(const hlo_module_t* module, const char* name,
                                const hlo_pass_options_t* options, hlo_strbuf_t* out_refusal,
                                hlo_module_t** out_module) HLO_MUST_USE;
