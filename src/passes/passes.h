// SPDX-License-Identifier: Apache-2.0
// The interface of a pass: it turns a verified module into a verified module and reports whether it
// changed. runner.h runs passes by name.
#pragma once

#include "ir/module.h"
#include "passes/runner.h"

/// The arguments of a pass other than the module.
/// threads: confined to the run
typedef struct hlo_pass_ctx {
  const hlo_pass_options_t* options;
  const char* argument;  // after "name=", NULL if none
  hlo_diag_t* diag;      // faults with their location; NULL: only the status
  hlo_arena_t scratch;   // emptied after every pass; nothing in it may be stored in the module
  uint32_t step_count;   // rewrites done by this pass: above 0 after any change
} hlo_pass_ctx_t;

/// Declares hlo_pass_<id>() for each row of passes.def.
/// errors : UNIMPLEMENTED (names an op and its location), INVALID_ARGUMENT (argument of the pass),
/// RESOURCE_EXHAUSTED; after an error the module may only be released
#define HLO_PASS(id, ...) \
  hlo_status_t hlo_pass_##id(hlo_pass_ctx_t* ctx, hlo_module_t* module) HLO_MUST_USE;
#include "passes/passes.def"
#undef HLO_PASS

/// Returns an error that names an op and its location: "model.py:3:7: stablehlo.call: message".
hlo_status_t hlo_pass_error(const hlo_node_t* node, hlo_status_code_t code,
                            const char* message) HLO_MUST_USE HLO_COLD;
