// SPDX-License-Identifier: Apache-2.0
// The edits that shrinking tries.
#ifndef HLO_DEV_SHRINK_IMPL_H_
#define HLO_DEV_SHRINK_IMPL_H_

#include "dev/shrink.h"

/// The sites of an edit to change: those numbered first <= i < end, in the order of the edit's
/// traversal. `count` receives their total number.
typedef struct hlo_shrink_pick {
  uint32_t first, end, count;
} hlo_shrink_pick_t;

static inline bool hlo_shrink_picks(hlo_shrink_pick_t* pick) {
  uint32_t place = pick->count++;
  return place >= pick->first && place < pick->end;
}

/// Changes a module, which the caller verifies, since it may be invalid afterwards. The sites of a
/// module do not depend on the picked ones. errors: RESOURCE_EXHAUSTED
typedef hlo_status_t (*hlo_shrink_edit_t)(hlo_module_t* module, hlo_shrink_pick_t* pick);

/// All nodes of a module, including those in regions, in textual order.
/// owner: the module's arena
typedef struct hlo_shrink_nodes {
  hlo_node_t** items;
  uint32_t count;
} hlo_shrink_nodes_t;
hlo_status_t hlo_shrink_list_nodes(hlo_module_t* module, hlo_shrink_nodes_t* out) HLO_MUST_USE;

// shrink_graph.c

hlo_status_t hlo_shrink_functions(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_results(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_operands(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_arguments(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_first_operand(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_last_operand(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_zeros(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_first_region(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_to_last_region(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_loops(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_arguments(hlo_module_t* module, hlo_shrink_pick_t* pick);

// shrink_types.c

hlo_status_t hlo_shrink_extents(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_constants(hlo_module_t* module, hlo_shrink_pick_t* pick);
hlo_status_t hlo_shrink_attributes(hlo_module_t* module, hlo_shrink_pick_t* pick);

#endif  // HLO_DEV_SHRINK_IMPL_H_
