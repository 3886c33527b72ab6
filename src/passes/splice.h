// SPDX-License-Identifier: Apache-2.0
// Copying or moving the body of a region to another place, for passes that replace what holds it.
#ifndef HLO_PASSES_SPLICE_H_
#define HLO_PASSES_SPLICE_H_

#include "ir/clone.h"

/// Used again for every copy of a pass: a value is defined before it is used, so what older copies
/// left in the map is never read.
/// owner: the map is in the arena. threads: confined.
typedef struct hlo_splicer {
  hlo_arena_t* arena;
  hlo_value_map_t map;
} hlo_splicer_t;

/// Copies the ops of `body`, but its terminator, to before `place`; values[i] stands for
/// argument i. `visit` (NULL: nothing) sees every copied op. What the terminator returns can
/// then be asked for.
/// errors: RESOURCE_EXHAUSTED; those of `visit`
hlo_status_t hlo_splice(hlo_splicer_t* splicer, const hlo_region_t* body,
                        hlo_value_t* const* values, hlo_node_t* insertion_point, hlo_visit_t visit,
                        void* context) HLO_MUST_USE;
/// What operand `i` of the body's terminator became in the last copy.
hlo_value_t* hlo_splice_result(const hlo_splicer_t* splicer, const hlo_region_t* body, uint32_t i);

/// How many ops a copy of `body` has, those in regions among them.
uint32_t hlo_splice_size(const hlo_region_t* body);

/// Moves the ops of a body that is run once, but its terminator, to before the node that holds it,
/// whose operands stand for the arguments. False where their numbers differ; then nothing happens.
bool hlo_splice_own_body(hlo_node_t* node);

#endif  // HLO_PASSES_SPLICE_H_
