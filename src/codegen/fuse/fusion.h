// SPDX-License-Identifier: Apache-2.0
// Groups the ops of a function into fusions (body/schedule.h).
#pragma once

#include "codegen/body/schedule.h"
#include "codegen/target/target.h"

/// Makes the steps of a function with static shapes and inlined calls. Everything is allocated in
/// `arena`.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_create(const hlo_func_t* func, const hlo_target_t* target,
                                 hlo_arena_t* arena, hlo_schedule_t** out_schedule) HLO_MUST_USE;
/// Makes the same schedule, with the rejected fusions and the reasons.
hlo_status_t hlo_schedule_create_explained(const hlo_func_t* func, const hlo_target_t* target,
                                           hlo_arena_t* arena,
                                           hlo_schedule_t** out_schedule) HLO_MUST_USE;
/// Appends the fusions of a schedule in the order of its steps: loops, members, inputs, outputs,
/// and the largest ops that were not fused with the reasons, if the schedule has them.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_print(const hlo_schedule_t* schedule, const hlo_func_t* func,
                                hlo_strbuf_t* out) HLO_MUST_USE;
