// SPDX-License-Identifier: Apache-2.0
// The ops between calls that turn whole values into those of one device, and back, for
// import_gspmd.
#pragma once

#include "ir/module.h"

/// Ops of one region that belong together: entries, which make values of one device, ops that
/// compute from these, and exits, which make whole values. Each list is in the order of the region.
typedef struct hlo_manual_part {
  uint32_t entry_count, member_count, exit_count;
  hlo_node_t** entries;
  hlo_node_t** members;
  hlo_node_t** exits;
  const uint32_t* positions;  // of these ops and what precedes or follows them, by index
} hlo_manual_part_t;

typedef hlo_status_t (*hlo_manual_part_visit_t)(void* context, const hlo_manual_part_t* part);
/// Calls `visit`, which may replace the ops of the part, for every part of the module.
/// errors : RESOURCE_EXHAUSTED; those of `visit`
hlo_status_t hlo_manual_parts_find(hlo_module_t* module, hlo_arena_t* arena,
                                   hlo_manual_part_visit_t visit, void* context) HLO_MUST_USE;

/// Moves a part into the body of a new sdy.manual_computation. Other values that it uses, such as
/// constants, are computed again in the body.
/// errors : UNIMPLEMENTED (parts of which one needs a result of the other both ways, whole values
/// used without an entry), RESOURCE_EXHAUSTED
hlo_status_t hlo_manual_part_build(hlo_module_t* module, const hlo_manual_part_t* part,
                                   const hlo_attr_t* in_shardings, const hlo_attr_t* out_shardings,
                                   const hlo_attr_t* manual_axes) HLO_MUST_USE;
