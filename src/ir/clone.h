// SPDX-License-Identifier: Apache-2.0
// Copies, comparison, hashing and walking of modules; values that regions capture.
#pragma once

#include "ir/module.h"

/// Makes a deep copy in a fresh arena: literals are shared, garbage is dropped, indices are dense.
hlo_status_t hlo_module_clone(const hlo_module_t* module, hlo_module_t** out_module) HLO_MUST_USE;
/// A map from old values to new ones while nodes are cloned; indexed by hlo_value_t.index.
typedef struct hlo_value_map {
  hlo_value_t** values;
  uint32_t count;
} hlo_value_map_t;
/// Clones `node` with its regions into `region` of the same module. Operands found in `map` are
/// replaced; the others are kept. Returns the new node and enters its results in `map`.
hlo_node_t* hlo_node_clone(hlo_region_t* region, const hlo_node_t* node, hlo_value_map_t* map);
/// Copies the ops of a body from another module before `place`, without its terminator; args[i] is
/// used for its argument i, and results[i] becomes what the terminator returns as number i. The
/// copies have the location of `place`. The body must not call functions. errors :
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_region_import(const hlo_region_t* body, hlo_value_t* const* args,
                               hlo_node_t* place, hlo_value_t** results) HLO_MUST_USE;
/// Structural equality and hashes: names of values and locations do not count, names of symbols do.
bool hlo_module_equal(const hlo_module_t* a, const hlo_module_t* b);
uint64_t hlo_module_hash(const hlo_module_t* module);
/// Computes two hashes with different seeds, for keys that outlive the process.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_module_digest(const hlo_module_t* module, uint64_t out_digest[2]) HLO_MUST_USE;
/// Adds an attribute, with every byte of large constants, to a hash. `attr` may be NULL (absent).
uint64_t hlo_attr_hash_whole(const hlo_attr_t* attr, uint64_t hash);

/// Calls `visit` for every node of a region and its nested regions, in order; stops at the first
/// failure. With `post_order`, nested nodes come before their parent, otherwise after it, and those
/// of a node that its visit erased are left out.
typedef hlo_status_t (*hlo_visit_t)(void* context, hlo_node_t* node);
hlo_status_t hlo_region_walk(hlo_region_t* region, bool post_order, hlo_visit_t visit,
                             void* context) HLO_MUST_USE;
hlo_status_t hlo_module_walk(hlo_module_t* module, bool post_order, hlo_visit_t visit,
                             void* context) HLO_MUST_USE;

// ---- captured values

/// Finds the values of enclosing regions that the regions of `node` use, in the order of their
/// first use, in an array of `arena`.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_node_captures(const hlo_node_t* node, hlo_arena_t* arena, uint32_t* out_count,
                               const hlo_value_t*** out_values) HLO_MUST_USE;
