// SPDX-License-Identifier: Apache-2.0
// How the ops of a function are grouped into fusions (body/schedule.h).
#ifndef HLO_CODEGEN_FUSION_H_
#define HLO_CODEGEN_FUSION_H_

#include "codegen/body/schedule.h"
#include "codegen/target/target.h"

/// Cuts a function (static shapes, calls inlined) into steps. Everything is allocated in `arena`.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_create(const hlo_func_t* func, const hlo_target_t* target,
                                 hlo_arena_t* arena, hlo_schedule_t** out_schedule) HLO_MUST_USE;
/// The same schedule, with what was rejected on the way.
hlo_status_t hlo_schedule_create_explained(const hlo_func_t* func, const hlo_target_t* target,
                                           hlo_arena_t* arena,
                                           hlo_schedule_t** out_schedule) HLO_MUST_USE;
/// Appends the fusions of a schedule in the order of its steps: how their loops run, members, inputs,
/// outputs, and the largest rejected producers with the reasons, if the schedule has them.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_print(const hlo_schedule_t* schedule, const hlo_func_t* func,
                                hlo_strbuf_t* out) HLO_MUST_USE;

#endif  // HLO_CODEGEN_FUSION_H_
