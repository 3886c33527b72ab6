// SPDX-License-Identifier: Apache-2.0
// Loops that carry more values, and copies of single nodes of their bodies, for passes that move
// work between iterations.
#pragma once

#include "ir/clone.h"

/// A loop that counts: carried value `counter` goes from `first` by `step`, and the condition
/// compares it with a constant.
typedef struct hlo_counted_loop {
  hlo_node_t* node;
  hlo_region_t *cond, *body;
  hlo_node_t* end;  // terminator of the body
  uint32_t counter;
  int64_t first, step;
  int32_t trip_count;
} hlo_counted_loop_t;

/// Returns false for other loops, and for more than a million iterations.
bool hlo_counted_loop_match(hlo_node_t* loop, hlo_counted_loop_t* out);
/// Makes the condition end the loop one iteration earlier. False, without effect, if the constant
/// cannot be changed.
bool hlo_counted_loop_shorten(hlo_counted_loop_t* loop);
/// Returns true if the body passes carried value `i` on unchanged.
bool hlo_loop_is_invariant(const hlo_counted_loop_t* loop, uint32_t i);

/// Inserts before a loop one with `count` more carried values, which starts from initial[] (those
/// of the old ones first) and takes over the regions; the new values are passed on unchanged.
/// `loop` then describes the new one, and the old one, which is returned, is to be erased. NULL
/// when memory is exhausted, which the module records.
hlo_node_t* hlo_loop_widen(hlo_counted_loop_t* loop, uint32_t count, hlo_value_t* const* initial,
                           const hlo_type_t* const* types, hlo_arena_t* scratch);

/// Enters a value in a map. False when memory is exhausted.
bool hlo_value_map_set(hlo_value_map_t* map, hlo_arena_t* scratch, const hlo_value_t* from,
                       hlo_value_t* to);
/// Returns the new value, or `value` itself if it has none.
hlo_value_t* hlo_value_map_get(const hlo_value_map_t* map, hlo_value_t* value);
/// Copies a node before `insertion_point`. Returns NULL when memory is exhausted.
hlo_node_t* hlo_node_copy_before(hlo_node_t* insertion_point, const hlo_node_t* node,
                                 hlo_value_map_t* map);
