// SPDX-License-Identifier: Apache-2.0
// Rematerialisation: values that are needed again much later are computed again there instead of
// being kept, where temporaries are to take less memory. Private to codegen.
#pragma once

#include "codegen/memory/plan.h"

/// Changes of a function's body, and what they were.
/// owner: everything is in the arena. threads: confined.
typedef struct hlo_remat hlo_remat_t;

/// `func` is one of the module's, which is changed. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_remat_create(hlo_module_t* module, const hlo_func_t* func,
                              const hlo_target_t* target, hlo_arena_t* arena,
                              hlo_remat_t** out_remat) HLO_MUST_USE;
/// Chooses values that lie in memory where most of it is in use, without being read there, and puts
/// copies of what makes them before their later readers: those that free most bytes for what they
/// cost, until about `excess_bytes` are free. `plan` is of the body as it is now. *out_count: how
/// many there are; none of them was chosen before.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_remat_step(hlo_remat_t* remat, const hlo_plan_t* plan, uint64_t excess_bytes,
                            uint32_t* out_count) HLO_MUST_USE;
/// Takes the changes of the last step back; plans made before it are right again.
void hlo_remat_undo(hlo_remat_t* remat);
