// SPDX-License-Identifier: Apache-2.0
// Collectives that are begun at one place and waited for at another, with other work in between.
// The second place is an optimization_barrier over all results of the collective, and nothing else
// uses those: as a value the barrier is just a view of them. src/codegen/lower/split.h makes such pairs.
#ifndef HLO_CODEGEN_BODY_SPLIT_H_
#define HLO_CODEGEN_BODY_SPLIT_H_

#include "ir/module.h"

/// Collectives that are ops of their own, not a part of an async pair.
bool hlo_node_is_collective(const hlo_node_t* node);
/// Where a collective is waited for; NULL: where it stands.
const hlo_node_t* hlo_split_end(const hlo_node_t* collective);
/// The collective that is waited for at a node; NULL: none.
const hlo_node_t* hlo_split_begin(const hlo_node_t* node);

#endif  // HLO_CODEGEN_BODY_SPLIT_H_
