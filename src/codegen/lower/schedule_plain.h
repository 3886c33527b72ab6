// SPDX-License-Identifier: Apache-2.0
// The schedule without fusions: every node is a separate call of its reference function. Tests use
// it to run programs natively without kernels.
#ifndef HLO_CODEGEN_SCHEDULE_PLAIN_H_
#define HLO_CODEGEN_SCHEDULE_PLAIN_H_

#include "codegen/body/schedule.h"

/// Does the same as hlo_schedule_create(), with views, call sites and control steps only.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_create_plain(const hlo_func_t* func, hlo_arena_t* arena,
                                       hlo_schedule_t** out_schedule) HLO_MUST_USE;

#endif  // HLO_CODEGEN_SCHEDULE_PLAIN_H_
