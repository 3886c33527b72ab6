// SPDX-License-Identifier: Apache-2.0
// Bodies that say what happens to single elements, computed for all elements of tensors.
#ifndef HLO_PASSES_LIFT_H_
#define HLO_PASSES_LIFT_H_

#include "ir/module.h"

/// Whether a body is made of elementwise ops of scalars and of constants, and not of many.
bool hlo_lift_can(const hlo_region_t* body);
/// The ops of such a body before `place`, its arguments being tensors of one shape; results[i] is
/// what it returns as number i. False when memory is out, which the module says.
bool hlo_lift(hlo_node_t* insertion_point, const hlo_region_t* body, hlo_value_t* const* args,
              hlo_value_t** results);

/// Most values that bodies of pairs make here.
enum { HLO_LIFT_MAX_VALUES = 8 };

/// The same of a body that makes `count` values of two times as many, x[0] ... y[count - 1];
/// results are NULL where one of those is, or memory is out.
void hlo_lift_pair(hlo_node_t* insertion_point, const hlo_region_t* body, uint32_t count,
                   hlo_value_t* const* x, hlo_value_t* const* y, hlo_value_t** results);

#endif  // HLO_PASSES_LIFT_H_
