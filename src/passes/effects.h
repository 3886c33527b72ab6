// SPDX-License-Identifier: Apache-2.0
// Which ops may be merged, computed early or removed: questions that several passes ask.
#ifndef HLO_PASSES_EFFECTS_H_
#define HLO_PASSES_EFFECTS_H_

#include "ir/module.h"

/// The results depend on operands and attributes only and nothing else happens: trait PURE, also
/// for everything in the regions.
bool hlo_node_is_pure(const hlo_node_t* node);

/// Nothing but the results would be missed: pure ops, ids of processes, barriers, custom calls that
/// declare no side effect, and control flow over such ops (loops count as ending). Calls are judged
/// by `callee_is_removable` (NULL: they are kept).
typedef bool (*hlo_callee_query_t)(void* context, const hlo_node_t* call);
bool hlo_node_is_removable(const hlo_node_t* node, hlo_callee_query_t callee_is_removable,
                           void* context);

#endif  // HLO_PASSES_EFFECTS_H_
