// SPDX-License-Identifier: Apache-2.0
// Orders of nodes: dependences between the nodes of a region, and a stable topological order.
#pragma once

#include "base/mem.h"
#include "ir/module.h"

/// Calls `visit` with every node of `region` whose results `node` or a node in its regions uses,
/// once for each use.
typedef void (*hlo_dependence_fn_t)(void* context, hlo_node_t* dependence);
void hlo_node_dependences(const hlo_node_t* node, const hlo_region_t* region,
                          hlo_dependence_fn_t visit, void* context);

/// Returns true if the node has to keep its place among the others of which this is true: it does
/// something besides computing results. Collectives do not count: every process runs them in the
/// order of the same program.
bool hlo_node_has_fixed_place(const hlo_node_t* node);

/// Moves each node that is placed before one that it depends on to directly after the last of them;
/// nodes with a fixed place keep their order. Linear in the size of the region.
/// errors : INTERNAL (nodes depend on each other in a cycle), RESOURCE_EXHAUSTED
hlo_status_t hlo_region_order(hlo_region_t* region, hlo_arena_t* scratch) HLO_MUST_USE;

/// A dependence that is no use: one node of a region is placed before another one.
typedef struct hlo_order_edge {
  hlo_node_t *first, *then;
} hlo_order_edge_t;

/// As hlo_region_order(), with more dependences. *out_is_possible is false, and the region as it
/// was, if nodes then depend on each other in a cycle.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_region_order_by(hlo_region_t* region, const hlo_order_edge_t* edges,
                                 uint32_t edge_count, hlo_arena_t* scratch,
                                 bool* out_is_possible) HLO_MUST_USE;
