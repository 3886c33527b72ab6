// SPDX-License-Identifier: Apache-2.0
// The edits that shrinking tries.
#ifndef HLO_DEV_SHRINK_IMPL_H_
#define HLO_DEV_SHRINK_IMPL_H_

#include "dev/shrink.h"

/// Which of an edit's places are changed: those numbered first <= i < end, in the order in which
/// the edit comes to them. `count` is how many there are.
typedef struct hlo_shrink_pick {
  uint32_t first, end, count;
} hlo_shrink_pick_t;

static inline bool hlo_shrink_picks(hlo_shrink_pick_t* pick) {
  uint32_t place = pick->count++;
  return place >= pick->first && place < pick->end;
}

/// Changes a module, which may be wrong afterwards: the verifier is asked. The same module has the
/// same places whatever is picked of them. errors: RESOURCE_EXHAUSTED
typedef hlo_status_t (*hlo_shrink_edit_t)(hlo_module_t* module, hlo_shrink_pick_t* pick);

/// All nodes of a module with those in regions, as they are written.
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
