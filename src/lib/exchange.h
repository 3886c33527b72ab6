// SPDX-License-Identifier: Apache-2.0
// Collectives as memory operations on the operands of all members of a group: processes that share
// an address space exchange data without intermediate copies.
#pragma once

#include "base/parallel.h"
#include "ir/module.h"

/// The processes of a rendezvous, numbered as in hlo_process_grid_t.
typedef struct hlo_exchange_group {
  uint64_t id;  // hlo_hash_bytes() of the members with their number as seed
  uint32_t member_count;
  const uint32_t* members;  // in group order
  bool is_outside;          // of one process that no group names: its results are zeros
} hlo_exchange_group_t;

/// A collective prepared for a grid of processes.
/// threads: immutable. owner: an arena
typedef struct hlo_exchange hlo_exchange_t;

/// Returns true if exchanges perform the computation of a reduction over a group: one op that they
/// have loops for, in the element types of the operands.
bool hlo_exchange_can_reduce(const hlo_node_t* node);
/// Sets *out_exchange to NULL if the collective needs the general path: a computation of more than
/// one op, quantized elements, processes without a group and groups of different sizes unless the
/// op has a meaning for them. errors: RESOURCE_EXHAUSTED, those of
/// hlo_group_members()
hlo_status_t hlo_exchange_create(const hlo_node_t* node, uint32_t replica_count,
                                 uint32_t partition_count, hlo_arena_t* arena,
                                 const hlo_exchange_t** out_exchange) HLO_MUST_USE;
/// Returns the group of a process and its position in the group.
const hlo_exchange_group_t* hlo_exchange_group(const hlo_exchange_t* exchange, uint32_t process,
                                               uint32_t* out_position);
/// Facts that members of a rendezvous compare.
typedef struct hlo_exchange_identity {
  int64_t channel_id;     // 0: none
  uint64_t signature;     // a hash of the op and of the types of its operands and results
  uint32_t buffer_count;  // operands and results
} hlo_exchange_identity_t;
const hlo_exchange_identity_t* hlo_exchange_identity(const hlo_exchange_t* exchange);
/// buffers[member * buffer_count + i]: operands, then results, of each member of `group`.
/// *out_moved_bytes (NULL: not counted) are those that members read from and store for others.
/// errors: INVALID_ARGUMENT (rows of a ragged all-to-all outside of its tensors, roots that are no
/// members)
hlo_status_t hlo_exchange_run(const hlo_exchange_t* exchange, const hlo_exchange_group_t* group,
                              void* const* buffers, const hlo_parallel_t* parallel,
                              uint64_t* out_moved_bytes) HLO_MUST_USE;
