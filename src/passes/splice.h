// SPDX-License-Identifier: Apache-2.0
// Copies or moves the body of a region, for passes that replace the op that holds it, or builds its
// scalar ops as ops of tensors.
#pragma once

#include "ir/clone.h"

/// Shared by all copies of a pass: a value is defined before it is used, so entries of older copies
/// are never read.
/// owner  : the map is in the arena
/// threads: confined
typedef struct hlo_splicer {
  hlo_arena_t* arena;
  hlo_value_map_t map;
} hlo_splicer_t;

/// Copies the ops of `body`, without its terminator, before `insertion_point`; values[i] replaces
/// argument i. `visit` (NULL: nothing) sees every copied op. hlo_splice_result() then returns the
/// terminator's operands.
/// errors : RESOURCE_EXHAUSTED; those of `visit`
hlo_status_t hlo_splice(hlo_splicer_t* splicer, const hlo_region_t* body,
                        hlo_value_t* const* values, hlo_node_t* insertion_point, hlo_visit_t visit,
                        void* context) HLO_MUST_USE;
/// Returns the value of operand `i` of the body's terminator in the last copy.
hlo_value_t* hlo_splice_result(const hlo_splicer_t* splicer, const hlo_region_t* body, uint32_t i);

/// Returns the number of ops that a copy of `body` has, including those in nested regions.
uint32_t hlo_splice_size(const hlo_region_t* body);

/// Moves the ops of a body that runs once, without its terminator, before the node that holds it;
/// the node's operands replace the arguments. Returns false, and changes nothing, if their numbers
/// differ.
bool hlo_splice_own_body(hlo_node_t* node);

// ---- scalar bodies as ops of tensors

/// Returns true if a body is made of a few elementwise ops of scalars and of constants.
bool hlo_lift_can(const hlo_region_t* body);
/// Returns true if a reduce or reduce_window of plain values has such a body, which keeps the
/// element types of all values.
bool hlo_lift_can_reduce(const hlo_node_t* node);
/// Builds the ops of such a body before `insertion_point`, with tensors of one shape as arguments;
/// results[i] is the value that it returns as number i. False when memory is exhausted, which the
/// module records.
bool hlo_lift(hlo_node_t* insertion_point, const hlo_region_t* body, hlo_value_t* const* args,
              hlo_value_t** results);

/// The largest `count` of hlo_lift_pair().
enum { HLO_LIFT_MAX_VALUES = 8 };

/// Does the same for a body that makes `count` values from twice as many, x[0] ... y[count - 1];
/// results are NULL if an argument is, or when memory is exhausted.
void hlo_lift_pair(hlo_node_t* insertion_point, const hlo_region_t* body, uint32_t count,
                   hlo_value_t* const* x, hlo_value_t* const* y, hlo_value_t** results);
