// SPDX-License-Identifier: Apache-2.0
// Scheduling groups: nodes with the frontend attribute _scheduling_group_id = "GROUP" or
// "GROUP:ITERATION" run one after the other. The id "noop" means no group.
#pragma once

#include "ir/module.h"

/// Finds the group of a node; *out_group is -1 for none. Groups of different regions have nothing
/// to do with each other.
/// errors : INVALID_ARGUMENT (not an integer, negative)
hlo_status_t hlo_schedule_group(const hlo_node_t* node, int64_t* out_group) HLO_MUST_USE;
/// Removes a node from its group.
void hlo_schedule_group_drop(hlo_node_t* node);
