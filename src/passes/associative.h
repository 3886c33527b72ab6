// SPDX-License-Identifier: Apache-2.0
// Whether it matters how what a reducer combines is grouped.
#ifndef HLO_PASSES_ASSOCIATIVE_H_
#define HLO_PASSES_ASSOCIATIVE_H_

#include "passes/passes.h"

/// Tries f(f(a, b), c) and f(a, f(b, c)) on samples: StableHLO leaves the order of a reduction
/// open, but programs that rely on one shall have it. body: hlo_lift_can(), its arguments and
/// results are `count` plain scalars; one that uses values from around it, or is not finite, is
/// none such. Nothing is left before `place`. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_find_associative(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point, const hlo_region_t* body,
                                  uint32_t count, bool* out_is_associative) HLO_MUST_USE;

#endif  // HLO_PASSES_ASSOCIATIVE_H_
