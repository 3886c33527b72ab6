// SPDX-License-Identifier: Apache-2.0
// Nodes that compiled programs leave to calls: what a plan has to know of them.
#ifndef HLO_LIB_CALL_H_
#define HLO_LIB_CALL_H_

#include "ir/module.h"

/// Returns true if the node exchanges data with other processes, which may be late.
bool hlo_call_may_wait(const hlo_node_t* node);
/// Returns true if the node changes operand `operand` into result `result` (updates of slices,
/// scatters): given the same address for both it touches only what changes.
bool hlo_call_may_share(const hlo_node_t* node, uint32_t result, uint32_t operand);
/// Returns true if the result may, but need not, be written over the operand: all of the operand is
/// read before (sums over processes), or the result begins as a copy of it (factorisations).
bool hlo_call_may_cover(const hlo_node_t* node, uint32_t result, uint32_t operand);

#endif  // HLO_LIB_CALL_H_
