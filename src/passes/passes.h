// SPDX-License-Identifier: Apache-2.0
// What a pass is: it changes a verified module into a verified module and says whether it did. To
// run passes by name, see runner.h.
#ifndef HLO_PASSES_PASSES_H_
#define HLO_PASSES_PASSES_H_

#include "ir/module.h"
#include "passes/runner.h"

/// What a pass gets beside the module.
/// threads: confined to the run.
typedef struct hlo_pass_ctx {
  const hlo_pass_options_t* options;
  const char* argument;  // after "name=", NULL if none
  hlo_diag_t* diag;      // faults with their place; NULL: only the status
  hlo_arena_t scratch;   // emptied after every pass; nothing in it may be stored in the module
  uint32_t step_count;   // rewrites done by this pass, for statistics
} hlo_pass_ctx_t;

/// hlo_pass_<id>(): one per row of passes.def. *out_changed tells the truth, false at first.
/// errors: UNIMPLEMENTED (names an op and its place), INVALID_ARGUMENT (argument of the pass),
///         RESOURCE_EXHAUSTED; the module is then still to be released, but not to be used
#define HLO_PASS(id, ...)                                                                  \
  hlo_status_t hlo_pass_##id(hlo_pass_ctx_t* ctx, hlo_module_t* module, bool* out_changed) \
      HLO_MUST_USE;
#include "passes/passes.def"
#undef HLO_PASS

/// An error that names an op and its place: "model.py:3:7: stablehlo.call: message".
hlo_status_t hlo_pass_error(const hlo_node_t* node, hlo_status_code_t code,
                            const char* message) HLO_MUST_USE;

#endif  // HLO_PASSES_PASSES_H_
