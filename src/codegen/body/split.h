// SPDX-License-Identifier: Apache-2.0
// Split collectives, which start at one step and are awaited at another, with other work in
// between. The second step is an optimization_barrier over all results of the collective, which
// nothing else uses: as a value it is a view of them. src/codegen/lower/split.h makes such pairs.
#pragma once

#include "ir/module.h"

/// Returns true for a collective op that is not part of an async pair.
bool hlo_node_is_collective(const hlo_node_t* node);
/// Returns the barrier that awaits a collective; NULL: the collective itself waits.
const hlo_node_t* hlo_split_end(const hlo_node_t* collective);
/// Returns the collective that a barrier awaits; NULL: none.
const hlo_node_t* hlo_split_begin(const hlo_node_t* node);
