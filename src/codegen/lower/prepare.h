// SPDX-License-Identifier: Apache-2.0
// Which modules compiled code can run, and the form in which code is made of them.
#ifndef HLO_CODEGEN_PREPARE_H_
#define HLO_CODEGEN_PREPARE_H_

#include "base/strbuf.h"
#include "ir/module.h"
#include "passes/runner.h"

/// A copy of the module in which the function `name` is one body, by the passes of the native stage
/// under `options`; NULL: none. *out_module is NULL when compiled code cannot run it; the first
/// cause, with its place, is appended to `out_refusal`. owner: the caller. errors:
/// RESOURCE_EXHAUSTED, what the passes answer
hlo_status_t hlo_prepare_module(const hlo_module_t* module, const char* name,
                                const hlo_pass_options_t* options, hlo_strbuf_t* out_refusal,
                                hlo_module_t** out_module) HLO_MUST_USE;

#endif  // HLO_CODEGEN_PREPARE_H_
