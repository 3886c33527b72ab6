// SPDX-License-Identifier: Apache-2.0
// Folding of one node, for passes that need a constant before they continue.
#pragma once

#include "passes/passes.h"

/// Folds as pass fold does: replaces a node of small constants with constants, erases it and counts
/// a step.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_fold_node(hlo_pass_ctx_t* ctx, hlo_node_t* node, bool* out_folded) HLO_MUST_USE;
