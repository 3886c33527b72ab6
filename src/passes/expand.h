// SPDX-License-Identifier: Apache-2.0
// Ops as programs of other ops, for those that a back end has no code for.
#pragma once

#include "passes/runner.h"

/// Returns true if a back end computes the node itself.
typedef bool (*hlo_is_computed_t)(const hlo_node_t* node);

/// Replaces nodes that are not computed with other ops, which later passes may still have to lower:
/// reductions, windows, sorts, scatters and maps of any body with loops that apply the body to
/// whole arrays, reductions over groups of processes with what gathers the operands of a group,
/// functions of floats with their formulas. Nodes in bodies of ops other than control ops and
/// async_start are kept.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_expand(hlo_module_t* module, const hlo_pass_options_t* options,
                        hlo_is_computed_t is_computed, bool* out_changed) HLO_MUST_USE;
