// SPDX-License-Identifier: Apache-2.0
// Facts about the values in the body of a counting loop, and their forms for all iterations at
// once. Private to pass batch_loops.
#pragma once

#include "ir/module.h"

/// A fact about a value of the body. `is_known`: an integer or boolean, a scalar
/// or the only element of an array, that is
/// `first + step * iteration`, within its type.
typedef struct hlo_batch_fact {
  bool is_varying, is_known;
  int64_t first, step;
} hlo_batch_fact_t;

/// The loop of a batch. Side tables have an entry for each value that the module had before.
/// threads: confined
typedef struct hlo_batch {
  hlo_node_t* loop;
  hlo_region_t* body;
  int64_t count;  // of iterations
  uint32_t table_size;
  hlo_batch_fact_t* facts;  // by value->index
  hlo_value_t**
      built;  // by value->index: before the loop; with iterations as dimension 0 if varying
} hlo_batch_t;

/// The slices that all iterations take of one array: adjacent along `dim`, in order or reversed.
typedef struct hlo_batch_window {
  uint32_t dim;
  bool is_reversed;
  int64_t starts[HLO_RANK_MAX];   // of all slices together
  hlo_value_t* at[HLO_RANK_MAX];  // invariant starts of other dimensions that are not known
} hlo_batch_window_t;

/// Returns the fact of any value that the body uses.
hlo_batch_fact_t hlo_batch_fact(const hlo_batch_t* batch, const hlo_value_t* value);
/// Returns the fact of the only result of a node of the body, from those of its operands.
hlo_batch_fact_t hlo_batch_infer(const hlo_batch_t* batch, const hlo_node_t* node);
/// Returns true if a dynamic_slice or dynamic_update_slice takes such slices, inside of its array.
bool hlo_batch_window(const hlo_batch_t* batch, const hlo_node_t* node, hlo_batch_window_t* out);

/// Returns true if hlo_batch_build() has a form of the node, with the same bits but for the order
/// of sums.
bool hlo_batch_can(const hlo_batch_t* batch, const hlo_node_t* node);
/// Builds the node before the loop: once if it is invariant, else for all iterations. Returns NULL
/// when memory is exhausted, which the module records.
hlo_value_t* hlo_batch_build(const hlo_batch_t* batch, hlo_node_t* node);
/// Returns the value before the loop that is equal to an invariant one of the body.
hlo_value_t* hlo_batch_invariant(const hlo_batch_t* batch, hlo_value_t* value);
/// Returns the array after the loop whose slices `update` replaces one after another.
hlo_value_t* hlo_batch_assemble(const hlo_batch_t* batch, const hlo_batch_window_t* window,
                                hlo_value_t* array, hlo_value_t* update);
/// Returns the sum of a varying value over all iterations.
hlo_value_t* hlo_batch_sum(const hlo_batch_t* batch, hlo_value_t* value);
/// Builds the sum over all iterations of a product whose operands both vary, or a transpose or
/// reshape of such a sum. NULL as above.
hlo_value_t* hlo_batch_build_sum(const hlo_batch_t* batch, const hlo_node_t* node);
