// SPDX-License-Identifier: Apache-2.0
// Properties that a plan needs of the nodes that compiled programs run as calls.
#pragma once

#include "ir/module.h"

/// Returns true if the node exchanges data with other processes, which may be late, or calls a
/// foreign function.
bool hlo_call_may_wait(const hlo_node_t* node);
/// Returns true if the node updates operand `operand` into result `result` (slice updates,
/// scatters): given the same address for both, it writes only the elements that change.
bool hlo_call_may_share(const hlo_node_t* node, uint32_t result, uint32_t operand);
/// Returns true for a collective whose operands and results shall be in memory of their own
/// (attribute hlocc.collective_memory).
bool hlo_node_wants_collective_memory(const hlo_node_t* node);
/// Returns true if the result may, but need not, overwrite the operand: the operand is read
/// completely first (sums over processes without attribute hlocc.out_of_place), or the result
/// starts as its copy (factorisations).
bool hlo_call_may_cover(const hlo_node_t* node, uint32_t result, uint32_t operand);
