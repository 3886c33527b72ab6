// SPDX-License-Identifier: Apache-2.0
// Values of the enclosing scope that the regions of a node use.
#ifndef HLO_IR_CAPTURES_H_
#define HLO_IR_CAPTURES_H_

#include "ir/module.h"

/// Finds the values of enclosing regions that the regions of `node` use, in the order of their
/// first use, in an array of `arena`.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_node_captures(const hlo_node_t* node, hlo_arena_t* arena, uint32_t* out_count,
                               const hlo_value_t*** out_values) HLO_MUST_USE;

#endif  // HLO_IR_CAPTURES_H_
