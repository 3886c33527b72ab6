// SPDX-License-Identifier: Apache-2.0
// Concurrent groups: kernels that are too small to be split, or that leave threads idle at their
// ends, run as chunks of one parallel loop if no dependence orders them, as in an optimizer's
// update of many tensors.
#pragma once

#include "codegen/body/schedule.h"
#include "codegen/target/target.h"

/// Moves independent steps next to each other and makes concurrent groups of those that become
/// faster. Requires the kernels of all fusions. Everything is allocated in `arena`.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_make_concurrent_groups(hlo_schedule_t* schedule,
                                                 const hlo_module_t* module,
                                                 const hlo_target_t* target,
                                                 hlo_arena_t* arena) HLO_MUST_USE;

/// Returns the largest number of phases of a member.
uint32_t hlo_concurrent_phase_count(const hlo_concurrent_group_t* group);

/// Chunks of a group's parallel loop, from number `first` on: the chunks of one member's phase, or
/// one chunk that runs several small members, `first_member` to `end_member`.
typedef struct hlo_concurrent_part {
  uint32_t first_member, end_member;  // numbers among the members
  uint64_t first, count;
} hlo_concurrent_part_t;

/// Splits a phase of all members into chunks; no parts: no member has this phase.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_concurrent_group_split(const hlo_concurrent_group_t* group,
                                        const hlo_target_t* target, uint32_t phase,
                                        hlo_arena_t* arena, uint32_t* out_count,
                                        hlo_concurrent_part_t** out_parts) HLO_MUST_USE;
