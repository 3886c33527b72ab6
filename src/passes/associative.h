// SPDX-License-Identifier: Apache-2.0
// Tests whether the result of a reducer depends on the grouping of its operands, and on padding.
#pragma once

#include "passes/passes.h"

/// Tests f(f(a, b), c) = f(a, f(b, c)) on samples: StableHLO leaves the order of a reduction open,
/// but a program that relies on one keeps it. `body` satisfies hlo_lift_can(); its arguments and
/// results are `count` plain scalars. A body that captures values or gives non-finite results
/// counts as not associative. Every node inserted before `insertion_point` is erased again.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_find_associative(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point,
                                  const hlo_region_t* body, uint32_t count,
                                  bool* out_is_associative) HLO_MUST_USE;

/// Tests f(a, a) = a, bit for bit, for the constants `values`; other values count as not fixed.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_find_fixed(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point,
                            const hlo_region_t* body, uint32_t count, hlo_value_t* const* values,
                            bool* out_is_fixed) HLO_MUST_USE;
