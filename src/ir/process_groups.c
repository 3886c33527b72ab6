// SPDX-License-Identifier: Apache-2.0
// Process groups of collectives (see process_groups.h; StableHLO spec, "Collective ops").
#include "ir/process_groups.h"

hlo_dtype_t hlo_group_accumulator(hlo_op_t op, hlo_dtype_t dtype) {
  const bool is_rounded = op == HLO_OP_add || op == HLO_OP_multiply;
  const bool is_narrow = hlo_dtype_is_float(dtype) &&
                         hlo_dtype_size_bytes(dtype) < hlo_dtype_size_bytes(HLO_DTYPE_F32);
  return is_rounded && is_narrow ? HLO_DTYPE_F32 : dtype;
}

hlo_group_strategy_t hlo_group_strategy(const hlo_node_t* node) {
  bool has_channel = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0) > 0;
  switch (node->op) {
    case HLO_OP_all_to_all:
    case HLO_OP_collective_broadcast:
    case HLO_OP_collective_permute:
    case HLO_OP_hlo_ragged_all_to_all:
      return has_channel ? HLO_GROUP_CROSS_PARTITION : HLO_GROUP_CROSS_REPLICA;
    case HLO_OP_cross_replica_sum: return HLO_GROUP_CROSS_REPLICA;
    default: break;
  }
  if (!has_channel) return HLO_GROUP_CROSS_REPLICA;
  return hlo_node_attr(node, HLO_ATTR_use_global_device_ids)
             ? HLO_GROUP_FLATTENED_IDS
             : HLO_GROUP_CROSS_REPLICA_AND_PARTITION;
}

typedef struct grid {
  uint32_t replica_count, partition_count;
  uint32_t replica, partition;  // of the process whose group is computed
} grid_t;

// Returns the number of ids under a strategy.
static uint32_t id_count(hlo_group_strategy_t strategy, const grid_t* grid) {
  switch (strategy) {
    case HLO_GROUP_CROSS_PARTITION: return grid->partition_count;
    case HLO_GROUP_FLATTENED_IDS: return grid->replica_count * grid->partition_count;
    default: return grid->replica_count;
  }
}

static uint32_t own_id(hlo_group_strategy_t strategy, const grid_t* grid) {
  switch (strategy) {
    case HLO_GROUP_CROSS_PARTITION: return grid->partition;
    case HLO_GROUP_FLATTENED_IDS: return grid->replica * grid->partition_count + grid->partition;
    default: return grid->replica;
  }
}

// Adds the processes that one id of a row denotes.
static void add_members(hlo_group_strategy_t strategy, const grid_t* grid, uint32_t id,
                        uint32_t row_length, uint32_t row_index, uint32_t* members) {
  switch (strategy) {
    case HLO_GROUP_CROSS_REPLICA:
      members[row_index] = id * grid->partition_count + grid->partition;
      return;
    case HLO_GROUP_CROSS_PARTITION:
      members[row_index] = grid->replica * grid->partition_count + id;
      return;
    case HLO_GROUP_FLATTENED_IDS: members[row_index] = id; return;
    case HLO_GROUP_CROSS_REPLICA_AND_PARTITION:
      for (uint32_t p = 0; p < grid->partition_count; ++p) {
        members[p * row_length + row_index] = id * grid->partition_count + p;
      }
      return;
  }
}

static uint32_t row_length(const hlo_attr_t* groups, uint32_t row, uint32_t cols) {
  uint32_t length = 0;
  while (length < cols && groups->values[(size_t)row * cols + length] != -1) ++length;
  return length;
}

hlo_status_t hlo_group_members(const hlo_node_t* node, hlo_group_strategy_t strategy,
                               const hlo_attr_t* groups, uint32_t replica_count,
                               uint32_t partition_count, uint32_t process, uint32_t* members,
                               uint32_t* out_count) {
  grid_t grid = {replica_count, partition_count, process / partition_count,
                 process % partition_count};
  uint32_t ids = id_count(strategy, &grid);
  uint32_t factor = strategy == HLO_GROUP_CROSS_REPLICA_AND_PARTITION ? partition_count : 1;
  *out_count = 0;
  if (groups && groups->kind != HLO_ATTR_KIND_INTS) {
    return hlo_node_unimplemented(node, "replica_groups over mesh axes are not supported");
  }
  if (!groups || groups->count == 0) {
    for (uint32_t i = 0; i < ids; ++i) add_members(strategy, &grid, i, ids, i, members);
    *out_count = ids * factor;
    return hlo_ok();
  }
  uint32_t cols = groups->cols ? groups->cols : groups->count;
  for (uint32_t row = 0; row < groups->count / cols; ++row) {
    const int64_t* values = &groups->values[(size_t)row * cols];
    uint32_t length = row_length(groups, row, cols);
    bool is_own = false;
    if (length > ids) {
      return hlo_node_invalid(node, "replica_groups: a group of %u among %u processes", length,
                              ids);
    }
    for (uint32_t i = 0; i < length; ++i) {
      if (values[i] < 0 || values[i] >= (int64_t)ids) {
        return hlo_node_invalid(node, "replica_groups: id %lld, expected 0 to %u",
                                (long long)values[i], ids - 1);
      }
      is_own |= values[i] == (int64_t)own_id(strategy, &grid);
    }
    if (!is_own) continue;
    for (uint32_t i = 0; i < length; ++i) {
      add_members(strategy, &grid, (uint32_t)values[i], length, i, members);
    }
    *out_count = length * factor;
    return hlo_ok();
  }
  return hlo_ok();
}

bool hlo_transfer_has_pairs(const hlo_node_t* node) {
  const hlo_attr_t* pairs = hlo_node_attr(node, HLO_ATTR_source_target_pairs);
  return pairs && pairs->kind == HLO_ATTR_KIND_INTS && pairs->count > 0;
}

bool hlo_transfer_peer(const hlo_node_t* node, uint32_t partition_count, uint32_t process,
                       bool is_source, uint32_t* out_peer) {
  uint32_t count = 0;
  const int64_t* pairs = hlo_node_attr_ints(node, HLO_ATTR_source_target_pairs, &count);
  const uint32_t own = partition_count > 1 ? process % partition_count : process;
  for (uint32_t k = 0; k + 1 < count; k += 2) {
    if (pairs[k + !is_source] != own) continue;
    *out_peer = process - own + (uint32_t)pairs[k + is_source];
    return true;
  }
  return false;
}
