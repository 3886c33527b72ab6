// SPDX-License-Identifier: Apache-2.0
// The algorithms of dots: numbers and names in HLO, seven attributes in StableHLO (private to hlo/).
#ifndef HLO_FRONTEND_HLO_ALGORITHM_H_
#define HLO_FRONTEND_HLO_ALGORITHM_H_

#include "frontend/hlo/build.h"

/// Number of an algorithm by its name in text, dot_bf16_bf16_f32_x3 for example; -1: none.
int32_t hlo_desc_algorithm_number(hlo_wire_bytes_t name);
/// Name in text; NULL for numbers that XLA does not have.
const char* hlo_desc_algorithm_name(int32_t number);
/// The number of the algorithm that a node's attributes describe, 0 if it has none of them, or -1 if
/// XLA has no such algorithm.
int32_t hlo_desc_algorithm_of(const hlo_node_t* node);
/// Appends the attributes of an algorithm to node->attrs; nothing for 0.
/// errors: UNIMPLEMENTED (an unknown number), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_algorithm_attrs(hlo_desc_node_t* node, int32_t number) HLO_MUST_USE;

#endif  // HLO_FRONTEND_HLO_ALGORITHM_H_
