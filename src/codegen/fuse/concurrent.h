// SPDX-License-Identifier: Apache-2.0
// Teams: kernels that are too small to be cut, or leave threads idle at their ends, run side by
// side where nothing orders them, as in an optimizer's update of many tensors.
#ifndef HLO_CODEGEN_CONCURRENT_H_
#define HLO_CODEGEN_CONCURRENT_H_

#include "codegen/body/schedule.h"
#include "codegen/target/target.h"

/// Puts steps that may run at a time next to each other and makes teams of those that gain by it.
/// Kernels of all fusions have been made. Everything is allocated in `arena`.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_make_concurrent_groups(hlo_schedule_t* schedule, const hlo_module_t* module,
                                     const hlo_target_t* target, hlo_arena_t* arena) HLO_MUST_USE;

/// The most phases that a member has.
uint32_t hlo_concurrent_phase_count(const hlo_concurrent_group_t* concurrent_group);

/// One or more chunks of a team's parallel loop, beginning with number `first`: the chunks of one
/// member's phase, or one that runs several small members, `first_member` to `end_member`.
typedef struct hlo_concurrent_part {
  uint32_t first_member, end_member;  // numbers among the members
  uint64_t first, count;
} hlo_concurrent_part_t;

/// How a phase of all members is cut into chunks; no parts: none of them has it.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_concurrent_group_split(const hlo_concurrent_group_t* concurrent_group, const hlo_target_t* target, uint32_t phase,
                          hlo_arena_t* arena, uint32_t* out_count,
                          hlo_concurrent_part_t** out_parts) HLO_MUST_USE;

#endif  // HLO_CODEGEN_CONCURRENT_H_
