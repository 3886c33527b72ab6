// SPDX-License-Identifier: Apache-2.0
// Queries about collectives (see collective.h).
#include "spmd/collective.h"

#include "ir/process_groups.h"

static uint32_t count_of(const hlo_module_t* module, const char* key) {
  const hlo_attr_t* attr = hlo_attr_dict_get(module->extra, key);
  const bool is_count = attr && attr->kind == HLO_ATTR_KIND_INT && attr->i > 0;
  return is_count && attr->i <= UINT32_MAX ? (uint32_t)attr->i : 1;
}

hlo_process_counts_t hlo_module_process_counts(const hlo_module_t* module) {
  return (hlo_process_counts_t){count_of(module, "mhlo.num_replicas"),
                                count_of(module, "mhlo.num_partitions")};
}

static bool has_channel(const hlo_node_t* node) {
  return hlo_node_attr_int(node, HLO_ATTR_channel_id, 0) > 0;
}

bool hlo_collective_exchanges_alike(const hlo_node_t* a, const hlo_node_t* b) {
  if (a->op != b->op || a->extra != b->extra || has_channel(a) != has_channel(b)) return false;
  const hlo_op_info_t* info = hlo_op_info(a->op);
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    if (info->attrs[i].id != HLO_ATTR_channel_id && a->attrs[i] != b->attrs[i]) return false;
  }
  return true;
}

hlo_op_t hlo_collective_reducer(const hlo_node_t* node) {
  bool is_swapped = false;
  if (node->region_count != 1) return HLO_OP_COUNT;
  const hlo_node_t* op = hlo_region_binary_op(node->regions[0], &is_swapped);
  return op && hlo_op_has(op->op, HLO_TRAIT_COMMUTATIVE) ? op->op : HLO_OP_COUNT;
}

uint32_t hlo_collective_group_size(const hlo_node_t* node) {
  const hlo_attr_t* groups = hlo_node_attr(node, HLO_ATTR_replica_groups);
  const hlo_process_counts_t counts = hlo_module_process_counts(node->parent->module);
  const hlo_group_strategy_t strategy = hlo_group_strategy(node);
  if (!groups || groups->kind != HLO_ATTR_KIND_INTS) return 0;
  const uint32_t factor =
      strategy == HLO_GROUP_CROSS_REPLICA_AND_PARTITION ? counts.partitions : 1;
  if (groups->count == 0) {
    return strategy == HLO_GROUP_CROSS_REPLICA   ? counts.replicas
           : strategy == HLO_GROUP_CROSS_PARTITION ? counts.partitions
                                                   : counts.replicas * counts.partitions;
  }
  for (uint32_t i = 0; i < groups->count; ++i) {
    if (groups->values[i] < 0) return 0;  // a short row
  }
  return (groups->cols ? groups->cols : groups->count) * factor;
}

hlo_node_t* hlo_collective_create_like(hlo_node_t* like, uint32_t operand_count,
                                       hlo_value_t* const* operands, uint32_t result_count,
                                       const hlo_type_t* const* result_types) {
  hlo_module_t* module = like->parent->module;
  const hlo_node_spec_t spec = {.op = like->op,
                                .loc = like->loc,
                                .operand_count = operand_count,
                                .operands = operands,
                                .extra = like->extra,
                                .region_count = like->region_count,
                                .result_count = result_count,
                                .result_types = result_types};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return node;
  hlo_node_copy_attrs(node, like);
  for (uint32_t i = 0; i < like->region_count; ++i) {
    hlo_region_t* body = like->regions[i];
    like->regions[i] = node->regions[i];
    like->regions[i]->parent = like;
    node->regions[i] = body;
    body->parent = node;
  }
  return node;
}
