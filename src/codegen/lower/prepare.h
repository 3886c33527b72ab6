// SPDX-License-Identifier: Apache-2.0
// Which modules compiled code can run, and the form in which code is made of them.
#ifndef HLO_CODEGEN_PREPARE_H_
#define HLO_CODEGEN_PREPARE_H_

#include "base/env.h"
#include "base/strbuf.h"
#include "ir/module.h"

/// A copy of the module in which the function `name` is one body: composites lowered, calls
/// inlined, simplified again; constants are computed in `env` (NULL: hlo_env_default()). *out_module is NULL when compiled code cannot run it; the first
/// cause, with its place, is appended to `out_refusal`. owner: the caller. errors:
/// RESOURCE_EXHAUSTED, what the passes answer
hlo_status_t hlo_prepare_module(const hlo_module_t* module, const char* name,
                                const hlo_env_t* env, hlo_strbuf_t* out_refusal,
                                hlo_module_t** out_module) HLO_MUST_USE;

#endif  // HLO_CODEGEN_PREPARE_H_
