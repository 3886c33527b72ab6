// SPDX-License-Identifier: Apache-2.0
// Queries that several passes share: may an op be merged, evaluated early or removed.
#pragma once

#include "ir/module.h"

/// Returns true if the results depend on operands and attributes only and the op has no effects:
/// trait PURE, also for all ops in its regions.
bool hlo_node_is_pure(const hlo_node_t* node);

/// Returns true if only the results of the node matter: pure ops, process ids, barriers, custom
/// calls that declare no side effect, and control flow over such ops (loops are assumed to end).
/// `callee_is_removable` decides about calls (NULL: they are kept).
typedef bool (*hlo_callee_query_t)(void* context, const hlo_node_t* call);
bool hlo_node_is_removable(const hlo_node_t* node, hlo_callee_query_t callee_is_removable,
                           void* context);
