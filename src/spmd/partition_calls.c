// SPDX-License-Identifier: Apache-2.0
// Custom calls that one device makes for all, such as callbacks of Python: a sharding on a mesh of
// that device alone says so. The other devices get the results from it.
#include <string.h>

#include "base/mem.h"
#include "spmd/partition_impl.h"

hlo_status_t hlo_find_single_device(hlo_partitioner_t* p, const hlo_node_t* node,
                                    int64_t* out_device) {
  const hlo_attr_t* attr = hlo_attr_dict_get(node->extra, "sdy.sharding");
  *out_device = -1;
  if (!attr) return hlo_ok();
  uint32_t count = 1;
  const hlo_sharding_t* const* list;
  const hlo_sharding_t* one;
  if (strncmp(attr->text, "#sdy.sharding_per_value", strlen("#sdy.sharding_per_value")) == 0) {
    HLO_TRY(hlo_sharding_parse_list(p->module, attr, &count, &list));
  } else {
    HLO_TRY(hlo_sharding_parse(p->module, attr, &one));
    list = &one;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (hlo_mesh_is_maximal(list[i]->mesh)) *out_device = list[i]->mesh->device_ids[0];
  }
  return *out_device < p->grid->device_count
             ? hlo_ok()
             : hlo_node_invalid(node, "device %lld of a program for %u devices",
                                (long long)*out_device, p->grid->device_count);
}

hlo_node_t* hlo_end_region(hlo_partitioner_t* p, hlo_region_t* region, uint32_t count,
                           hlo_value_t* const* operands) {
  hlo_node_t* end = hlo_node_create(
      p->module,
      &(hlo_node_spec_t){
          .op = HLO_OP_return, .loc = p->at->loc, .operand_count = count, .operands = operands});
  if (hlo_node_is_poison(end)) return NULL;
  hlo_region_append(region, end);
  return end;
}

// Fills in the branch of the other devices: zeros.
static hlo_status_t fill_other_branch(hlo_partitioner_t* p, hlo_node_t* branches) {
  hlo_region_t* region = branches->regions[1];
  hlo_node_t* end = hlo_end_region(p, region, 0, NULL);
  hlo_value_t** zeros = hlo_arena_array(&p->spmd->arena, branches->result_count, sizeof *zeros);
  if (!end || !zeros) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < branches->result_count; ++i) {
    const hlo_type_t* type = branches->results[i].type;
    zeros[i] = hlo_type_is_tensor(type)
                   ? hlo_build_splat(end, type, 0)
                   : hlo_build_node(end, HLO_OP_create_token, type, 0, NULL, 0, NULL);
    if (!zeros[i]) return hlo_partitioner_status(p);
  }
  if (!hlo_end_region(p, region, branches->result_count, zeros)) return hlo_partitioner_status(p);
  hlo_node_erase(end);
  return hlo_ok();
}

// Sends a value of the device to all others.
static hlo_value_t* broadcast(hlo_partitioner_t* p, hlo_value_t* value, int64_t device) {
  if (!hlo_type_is_tensor(value->type)) return value;
  const uint32_t count = p->grid->device_count;
  int64_t* ids = hlo_arena_array(&p->spmd->arena, count, sizeof *ids);
  if (!ids) return NULL;
  ids[0] = device;
  for (uint32_t i = 0, next = 1; i < count; ++i) {
    if (i != device) ids[next++] = i;
  }
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_replica_groups, hlo_attr_matrix(p->module, 1, count, ids)},
      {HLO_ATTR_channel_id, hlo_attr_int(p->module, HLO_DTYPE_S64, p->next_channel++)},
      {HLO_ATTR_channel_type, hlo_attr_int(p->module, HLO_DTYPE_S64, 0)},
  };
  return hlo_build_node(p->at, HLO_OP_collective_broadcast, value->type, 1, &value, 3, attrs);
}

static hlo_value_t* build_is_device(hlo_partitioner_t* p, int64_t device) {
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_U32, 0, NULL);
  hlo_value_t* id = hlo_build_node(p->at, HLO_OP_partition_id, type, 0, NULL, 0, NULL);
  hlo_value_t* number = type ? hlo_build_integers(p->at, type, &device) : NULL;
  return id && number ? hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_EQ, id, number) : NULL;
}

hlo_status_t hlo_partition_on_device(hlo_partitioner_t* p, hlo_node_t* node, int64_t device) {
  hlo_value_t* is_device = build_is_device(p, device);
  const uint32_t operands = node->operand_count, results = node->result_count;
  hlo_value_t** values = hlo_arena_array(&p->spmd->arena, operands, sizeof *values);
  const hlo_type_t** types = hlo_arena_array(&p->spmd->arena, results, sizeof *types);
  hlo_value_t** ends = hlo_arena_array(&p->spmd->arena, results, sizeof *ends);
  if (!is_device || !values || !types || !ends) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < operands; ++i) {
    values[i] = hlo_local_get_whole(p, hlo_node_operand(node, i));
    if (!values[i]) return hlo_partitioner_status(p);
  }
  for (uint32_t i = 0; i < results; ++i) types[i] = node->results[i].type;
  hlo_node_t* branches = hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_if,
                                                                       .loc = node->loc,
                                                                       .operand_count = 1,
                                                                       .operands = &is_device,
                                                                       .region_count = 2,
                                                                       .result_count = results,
                                                                       .result_types = types});
  hlo_node_t* call = hlo_local_create(p, node, values, types);
  if (hlo_node_is_poison(branches) || !call) return hlo_partitioner_status(p);
  hlo_node_insert_before(p->at, branches);
  hlo_region_append(branches->regions[0], call);
  for (uint32_t i = 0; i < results; ++i) ends[i] = &call->results[i];
  if (!hlo_end_region(p, branches->regions[0], results, ends)) return hlo_partitioner_status(p);
  HLO_TRY(fill_other_branch(p, branches));
  for (uint32_t i = 0; i < results; ++i) {
    const hlo_type_t* type = node->results[i].type;
    HLO_TRY(hlo_local_set(p, &node->results[i],
                          hlo_spec_replicated(p->spmd, hlo_type_is_tensor(type) ? type->rank : 0),
                          broadcast(p, &branches->results[i], device)));
  }
  return hlo_ok();
}

hlo_status_t hlo_partition_per_part(hlo_partitioner_t* p, hlo_node_t* node) {
  const uint32_t operands = node->operand_count, results = node->result_count;
  hlo_value_t** values = hlo_arena_array(&p->spmd->arena, operands, sizeof *values);
  const hlo_type_t** types = hlo_arena_array(&p->spmd->arena, results, sizeof *types);
  const hlo_spec_t* scalar = hlo_spec_replicated(p->spmd, 0);
  if (!values || !types || !scalar) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < operands; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    const hlo_spec_t* decided =
        hlo_type_is_tensor(value->type)
            ? hlo_spec_even(p->spmd, hlo_spmd_value_spec(p->spmd, value), value->type)
            : scalar;
    if (!decided) return hlo_partitioner_status(p);
    hlo_spec_t spec = *decided;
    spec.unreduced = 0;
    values[i] = hlo_local_get(p, value, hlo_spec_intern(p->spmd, &spec));
    if (!values[i]) return hlo_partitioner_status(p);
  }
  for (uint32_t i = 0; i < results; ++i) {
    types[i] = node->results[i].type;
    if (hlo_type_is_tensor(types[i])) {
      return hlo_node_unimplemented(node,
                                    "a callback on parts of the operands that returns values");
    }
  }
  hlo_node_t* call = hlo_local_create(p, node, values, types);
  if (!call) return hlo_partitioner_status(p);
  hlo_node_insert_before(p->at, call);
  for (uint32_t i = 0; i < results; ++i) {
    HLO_TRY(hlo_local_set(p, &node->results[i], scalar, &call->results[i]));
  }
  return hlo_ok();
}
