// SPDX-License-Identifier: Apache-2.0
// Collectives that are begun at one place and waited for at another, with other work in between.
// The second place is an optimization_barrier over all results of the collective, and nothing else
// uses those: as a value the barrier is just a view of them.
#ifndef HLO_CODEGEN_SPLIT_H_
#define HLO_CODEGEN_SPLIT_H_

#include "ir/module.h"

/// Makes such pairs in a region and those inside it: of async_start and async_done, and of small
/// collectives of which others are begun before anything needs their results, so that one wait does
/// for all. What cannot be a pair is done at once. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_split_collectives(hlo_region_t* region) HLO_MUST_USE;

/// Where a collective is waited for; NULL: where it stands.
const hlo_node_t* hlo_split_end(const hlo_node_t* collective);
/// The collective that is waited for at a node; NULL: none.
const hlo_node_t* hlo_split_begin(const hlo_node_t* node);

#endif  // HLO_CODEGEN_SPLIT_H_
