// SPDX-License-Identifier: Apache-2.0
// The processes that participate in a collective: the four strategies of StableHLO.
#pragma once

#include "ir/module.h"

typedef enum hlo_group_strategy {
  HLO_GROUP_CROSS_REPLICA,
  HLO_GROUP_CROSS_PARTITION,
  HLO_GROUP_CROSS_REPLICA_AND_PARTITION,
  HLO_GROUP_FLATTENED_IDS,
} hlo_group_strategy_t;

/// Returns the element type in which a reduction by `op` over a group accumulates elements of
/// `dtype`: F32 for sums and products of narrower floats, which are rounded once, at the end.
hlo_dtype_t hlo_group_accumulator(hlo_op_t op, hlo_dtype_t dtype);

/// Returns the strategy that the op's channel and use_global_device_ids select.
hlo_group_strategy_t hlo_group_strategy(const hlo_node_t* node);

/// Lists, in order, the members of the group of `process` (replica * partition_count + partition).
/// `groups` is a matrix of ids, with -1 after the end of short rows; without rows, all processes
/// form one group (per partition or replica, as the strategy says). *out_count is 0 if the process
/// is in no group. `members` has room for replica_count * partition_count.
/// errors : INVALID_ARGUMENT (ids out of range, more members than processes)
hlo_status_t hlo_group_members(const hlo_node_t* node, hlo_group_strategy_t strategy,
                               const hlo_attr_t* groups, uint32_t replica_count,
                               uint32_t partition_count, uint32_t process, uint32_t* members,
                               uint32_t* out_count) HLO_MUST_USE;

/// Returns true if a send or recv names the processes that send and receive.
bool hlo_transfer_has_pairs(const hlo_node_t* node);
/// Finds the process with which `process` exchanges at a send (is_source) or recv with pairs.
/// Pairs name partitions if there are several, else replicas. Returns false if none names `process`
/// on this side.
bool hlo_transfer_peer(const hlo_node_t* node, uint32_t partition_count, uint32_t process,
                       bool is_source, uint32_t* out_peer);
