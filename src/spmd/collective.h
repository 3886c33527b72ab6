// SPDX-License-Identifier: Apache-2.0
// Queries about collectives, and parts of new ones, that passes share.
#pragma once

#include "ir/module.h"

/// The processes that a program is written for.
typedef struct hlo_process_counts {
  uint32_t replicas, partitions;
} hlo_process_counts_t;

/// Returns mhlo.num_replicas and mhlo.num_partitions; 1 where a module does not say.
hlo_process_counts_t hlo_module_process_counts(const hlo_module_t* module);

/// Returns true if two collectives exchange in the same way: the same op, groups and attributes,
/// where channels may differ in their number but not in being there.
bool hlo_collective_exchanges_alike(const hlo_node_t* a, const hlo_node_t* b);

/// Returns the op of an all_reduce's or reduce_scatter's body of one commutative op on both
/// arguments; HLO_OP_COUNT for other bodies.
hlo_op_t hlo_collective_reducer(const hlo_node_t* node);

/// Returns the members of every group of a collective with replica_groups; 0 if groups differ in
/// their sizes or are not listed as ids.
uint32_t hlo_collective_group_size(const hlo_node_t* node);

/// Creates an unlinked node that exchanges as `like` does, with its attributes and its body, which
/// it takes over: `like` is to be erased. Returns the poison node when memory is exhausted, and
/// `like` keeps its body.
hlo_node_t* hlo_collective_create_like(hlo_node_t* like, uint32_t operand_count,
                                       hlo_value_t* const* operands, uint32_t result_count,
                                       const hlo_type_t* const* result_types);
