// SPDX-License-Identifier: Apache-2.0
// Which modules compiled code can run, and the form in which code is made of them.
#ifndef HLO_CODEGEN_PREPARE_H_
#define HLO_CODEGEN_PREPARE_H_

#include "base/strbuf.h"
#include "ir/module.h"

/// A copy of the module in which the function `name` is one body: composites lowered, calls
/// inlined, simplified again. *out_module is NULL when compiled code cannot run it; the first
/// cause, with its place, is appended to `out_refusal`. owner: the caller. errors:
/// RESOURCE_EXHAUSTED, what the passes answer
hlo_status_t hlo_prepare_module(const hlo_module_t* module, const char* name,
                                hlo_strbuf_t* out_refusal, hlo_module_t** out_module) HLO_MUST_USE;

/// while, if, case: the ops of a prepared body whose regions become code, each on its own.
static inline bool hlo_op_is_control(hlo_op_t op) {
  return hlo_op_has(op, HLO_TRAIT_STRUCTURED);
}

#endif  // HLO_CODEGEN_PREPARE_H_
