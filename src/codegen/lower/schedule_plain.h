// SPDX-License-Identifier: Apache-2.0
// The schedule without fusions: every node by itself, computed by its reference function. A way of
// running programs natively that trusts no kernel, kept for tests.
#ifndef HLO_CODEGEN_SCHEDULE_PLAIN_H_
#define HLO_CODEGEN_SCHEDULE_PLAIN_H_

#include "codegen/body/schedule.h"

/// As hlo_schedule_create(), with views, sites and control steps only. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_create_plain(const hlo_func_t* func, hlo_arena_t* arena,
                                       hlo_schedule_t** out_schedule) HLO_MUST_USE;

#endif  // HLO_CODEGEN_SCHEDULE_PLAIN_H_
