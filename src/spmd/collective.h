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

/// Returns true for a custom_call or call that is a collective of the user's own: its frontend
/// attribute _xla_stream_annotation is "collective", in any case of letters.
bool hlo_call_communicates(const hlo_node_t* call);

/// Returns the op of an all_reduce's or reduce_scatter's body of one commutative op on both
/// arguments; HLO_OP_COUNT for other bodies.
hlo_op_t hlo_collective_reducer(const hlo_node_t* node);

/// Returns true if the body is only its reducer, so that its element type can be changed.
bool hlo_collective_has_plain_body(const hlo_node_t* node);
/// Gives such a body the element type of `type`. False when memory is exhausted, which the module
/// records.
bool hlo_collective_set_dtype(hlo_node_t* node, const hlo_type_t* type);

/// Returns true for a conversion of floats to floats that have all their values.
bool hlo_convert_widens(const hlo_node_t* convert);

/// Creates an unlinked node of an op that exchanges as `like` does, with those of its attributes
/// that the op has, and its body, which it takes over: `like` is to be erased. Returns the poison
/// node when memory is exhausted, and `like` keeps its body.
hlo_node_t* hlo_collective_create_like(hlo_op_t op, hlo_node_t* like, uint32_t operand_count,
                                       hlo_value_t* const* operands, uint32_t result_count,
                                       const hlo_type_t* const* result_types);

/// Replaces the only result of `node` by that of a new node of one operand and of the same result
/// type, put before it, and erases it. `dim_attr` (HLO_ATTR_COUNT: none) is the attribute for
/// `dim`. The body is that of `like`. False when memory is exhausted, which the module records.
bool hlo_collective_replace(hlo_node_t* node, hlo_op_t op, hlo_node_t* like, hlo_value_t* operand,
                            hlo_attr_id_t dim_attr, int64_t dim);

/// Returns true for a collective without other effects that nothing uses.
bool hlo_collective_is_unused(const hlo_node_t* node);
/// Erases a collective that nothing uses, and then those that only it used: all processes leave
/// them out. Returns the number of erased nodes.
uint32_t hlo_collective_erase_unused(hlo_node_t* node);
