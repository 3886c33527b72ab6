// SPDX-License-Identifier: Apache-2.0
// Bodies of scalars lifted to ops on whole tensors.
#ifndef HLO_PASSES_LIFT_H_
#define HLO_PASSES_LIFT_H_

#include "ir/module.h"

/// Returns true if a body is made of a few elementwise ops of scalars and of constants.
bool hlo_lift_can(const hlo_region_t* body);
/// Builds the ops of such a body before `insertion_point`, with tensors of one shape as arguments;
/// results[i] is the value that it returns as number i. False when memory is exhausted, which the
/// module records.
bool hlo_lift(hlo_node_t* insertion_point, const hlo_region_t* body, hlo_value_t* const* args,
              hlo_value_t** results);

/// The largest `count` of hlo_lift_pair().
enum { HLO_LIFT_MAX_VALUES = 8 };

/// Does the same for a body that makes `count` values from twice as many, x[0] ... y[count - 1];
/// results are NULL if an argument is, or when memory is exhausted.
void hlo_lift_pair(hlo_node_t* insertion_point, const hlo_region_t* body, uint32_t count,
                   hlo_value_t* const* x, hlo_value_t* const* y, hlo_value_t** results);

#endif  // HLO_PASSES_LIFT_H_
