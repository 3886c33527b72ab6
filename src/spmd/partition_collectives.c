// SPDX-License-Identifier: Apache-2.0
// Collectives over axes of the grid, and the place of a device on them (see partition_impl.h).
#include <string.h>

#include "base/mem.h"
#include "ir/clone.h"
#include "passes/splice.h"
#include "spmd/partition_impl.h"

// ---- the place of a device

hlo_value_t* hlo_build_s32(hlo_partitioner_t* p, int64_t value) {
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_S32, 0, NULL);
  return type ? hlo_build_integers(p->at, type, &value) : NULL;
}

hlo_value_t* hlo_scaled_index(hlo_partitioner_t* p, hlo_value_t* index, int64_t factor) {
  if (!index || factor == 1) return index;
  return hlo_build_binary(p->at, HLO_OP_multiply, index, hlo_build_s32(p, factor));
}

// Returns the position of this device in the grid.
static hlo_value_t* build_position(hlo_partitioner_t* p) {
  const hlo_type_t* id_type = hlo_type_tensor(p->module, HLO_DTYPE_U32, 0, NULL);
  hlo_value_t* id = hlo_build_node(p->at, HLO_OP_partition_id, id_type, 0, NULL, 0, NULL);
  hlo_value_t* position = id ? hlo_build_convert(p->at, HLO_DTYPE_S32, id) : NULL;
  if (!p->grid->device_ids || !position) return position;
  // A table from partitions to positions.
  const int64_t count = p->grid->device_count, one = 1;
  const hlo_type_t* table_type = hlo_type_tensor(p->module, HLO_DTYPE_S32, 1, &count);
  const hlo_type_t* item_type = hlo_type_tensor(p->module, HLO_DTYPE_S32, 1, &one);
  const hlo_type_t* scalar = hlo_type_tensor(p->module, HLO_DTYPE_S32, 0, NULL);
  if (!table_type || !item_type) return NULL;
  hlo_value_t* table = hlo_build_integers(p->at, table_type, p->grid->positions);
  return hlo_build_reshape(p->at, scalar,
                           hlo_build_dynamic_slice(p->at, item_type, table, &position));
}

hlo_value_t* hlo_axis_index(hlo_partitioner_t* p, const uint8_t* axes, uint32_t count) {
  if (!count) return hlo_build_s32(p, 0);
  hlo_value_t *position = build_position(p), *sum = NULL;
  int64_t scale = hlo_grid_size(p->grid, axes, count);
  for (uint32_t i = 0; i < count && position;) {
    // Axes that are neighbours in the grid, too, count as one.
    int64_t size = p->grid->sizes[axes[i]], stride = p->grid->strides[axes[i]];
    for (++i; i < count && p->grid->strides[axes[i]] * p->grid->sizes[axes[i]] == stride; ++i) {
      size *= p->grid->sizes[axes[i]];
      stride = p->grid->strides[axes[i]];
    }
    scale /= size;
    hlo_value_t* index = position;
    if (stride > 1) index = hlo_build_binary(p->at, HLO_OP_divide, index, hlo_build_s32(p, stride));
    if (stride * size < p->grid->device_count) {
      index = hlo_build_binary(p->at, HLO_OP_remainder, index, hlo_build_s32(p, size));
    }
    index = hlo_scaled_index(p, index, scale);
    sum = sum && index ? hlo_build_binary(p->at, HLO_OP_add, sum, index) : index;
    if (!sum) return NULL;
  }
  return sum;
}

// ---- groups

// The groups along a list of axes.
struct hlo_axis_groups {
  uint32_t count;
  uint8_t axes[HLO_GRID_AXES_MAX];
  const hlo_attr_t* attr;
  hlo_axis_groups_t* next;
};

static const hlo_attr_t* make_groups(hlo_partitioner_t* p, const uint8_t* axes, uint32_t count) {
  const hlo_grid_t* grid = p->grid;
  const uint32_t cols = (uint32_t)hlo_grid_size(grid, axes, count);
  const uint32_t rows = grid->device_count / cols;
  int64_t* ids = hlo_arena_array(&p->spmd->arena, grid->device_count, sizeof *ids);
  if (!ids) return NULL;
  uint32_t row = 0;
  for (uint32_t first = 0; first < grid->device_count; ++first) {
    if (hlo_grid_index(grid, axes, count, first) != 0) continue;
    for (uint32_t col = 0; col < cols; ++col) {
      ids[row * cols + col] = hlo_grid_device(grid, hlo_grid_move(grid, axes, count, first, col));
    }
    ++row;
  }
  return hlo_attr_matrix(p->module, rows, cols, ids);
}

// Returns the groups of devices that differ only along the given axes, in their order. They are
// made once: a list of all devices takes long beside all else that a collective needs.
static const hlo_attr_t* groups_along(hlo_partitioner_t* p, const uint8_t* axes, uint32_t count) {
  for (const hlo_axis_groups_t* g = p->axis_groups; g; g = g->next) {
    if (g->count == count && memcmp(g->axes, axes, count) == 0) return g->attr;
  }
  hlo_axis_groups_t* groups = hlo_arena_alloc_zeroed(&p->spmd->arena, sizeof *groups);
  if (!groups) return NULL;
  memcpy(groups->axes, axes, count);
  groups->count = count;
  groups->attr = make_groups(p, axes, count);
  groups->next = p->axis_groups;
  p->axis_groups = groups;
  return groups->attr;
}

enum { COMMON_ATTRS = 4 };

// Sets the attributes of every collective over groups; returns their number.
static uint32_t set_common(hlo_partitioner_t* p, const uint8_t* axes, uint32_t count,
                           hlo_named_attr_t* attrs) {
  attrs[0] = (hlo_named_attr_t){HLO_ATTR_replica_groups, groups_along(p, axes, count)};
  attrs[1] = (hlo_named_attr_t){HLO_ATTR_channel_id,
                                hlo_attr_int(p->module, HLO_DTYPE_S64, p->next_channel++)};
  attrs[2] = (hlo_named_attr_t){HLO_ATTR_channel_type, hlo_attr_int(p->module, HLO_DTYPE_S64, 0)};
  attrs[3] = (hlo_named_attr_t){HLO_ATTR_use_global_device_ids, hlo_attr_unit(p->module)};
  return COMMON_ATTRS;
}

static hlo_named_attr_t int_attr(hlo_partitioner_t* p, hlo_attr_id_t id, int64_t value) {
  return (hlo_named_attr_t){id, hlo_attr_int(p->module, HLO_DTYPE_S64, value)};
}

static const hlo_type_t* scaled_type(hlo_partitioner_t* p, const hlo_type_t* type, uint32_t grown,
                                     uint32_t shrunk, int64_t factor) {
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, type->dims, type->rank * sizeof *dims);
  if (grown < type->rank) dims[grown] *= factor;
  if (shrunk < type->rank) dims[shrunk] /= factor;
  return hlo_type_with_dims(p->module, type, type->rank, dims);
}

hlo_value_t* hlo_build_all_gather(hlo_partitioner_t* p, hlo_value_t* local, uint32_t dim,
                                  const uint8_t* axes, uint32_t count) {
  if (!local) return NULL;
  hlo_named_attr_t attrs[COMMON_ATTRS + 1];
  uint32_t attr_count = set_common(p, axes, count, attrs);
  attrs[attr_count++] = int_attr(p, HLO_ATTR_all_gather_dim, dim);
  const hlo_type_t* type =
      scaled_type(p, local->type, dim, UINT32_MAX, hlo_grid_size(p->grid, axes, count));
  return hlo_build_node(p->at, HLO_OP_all_gather, type, 1, &local, attr_count, attrs);
}

hlo_value_t* hlo_build_all_to_all(hlo_partitioner_t* p, hlo_value_t* local, uint32_t from,
                                  uint32_t to, const uint8_t* axes, uint32_t count) {
  if (!local) return NULL;
  hlo_named_attr_t attrs[COMMON_ATTRS + 3];
  uint32_t attr_count = set_common(p, axes, count, attrs) - 1;  // always of partitions
  const int64_t size = hlo_grid_size(p->grid, axes, count);
  attrs[attr_count++] = int_attr(p, HLO_ATTR_split_dimension, to);
  attrs[attr_count++] = int_attr(p, HLO_ATTR_concat_dimension, from);
  attrs[attr_count++] = int_attr(p, HLO_ATTR_split_count, size);
  const hlo_type_t* type = scaled_type(p, local->type, from, to, size);
  return hlo_build_node(p->at, HLO_OP_all_to_all, type, 1, &local, attr_count, attrs);
}

// ---- reductions

hlo_status_t hlo_copy_body(hlo_partitioner_t* p, hlo_node_t* node, const hlo_region_t* body) {
  hlo_value_t** args = hlo_arena_array(&p->spmd->arena, body->arg_count, sizeof *args);
  const hlo_node_t* end = hlo_region_terminator(body);
  if (!args || !end) return hlo_arena_status(&p->spmd->arena);
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    args[i] = hlo_region_add_arg(node->regions[0], body->args[i]->type);
    if (!args[i]) return hlo_module_status(p->module);
  }
  hlo_node_t* copy =
      hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_return, .loc = end->loc});
  if (hlo_node_is_poison(copy)) return hlo_module_status(p->module);
  hlo_region_append(node->regions[0], copy);
  hlo_splicer_t splicer = {.arena = &p->spmd->arena};
  HLO_TRY(hlo_splice(&splicer, body, args, copy, NULL, NULL));
  hlo_value_t** results = hlo_arena_array(&p->spmd->arena, end->operand_count, sizeof *results);
  if (!results) return hlo_arena_status(&p->spmd->arena);
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    results[i] = hlo_splice_result(&splicer, body, i);
  }
  hlo_node_t* whole =
      hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_return,
                                                    .loc = end->loc,
                                                    .operand_count = end->operand_count,
                                                    .operands = results});
  if (hlo_node_is_poison(whole)) return hlo_module_status(p->module);
  hlo_node_insert_before(copy, whole);
  hlo_node_erase(copy);
  return hlo_ok();
}

uint32_t hlo_list_axes(const hlo_grid_t* grid, hlo_axis_set_t set, uint8_t* axes) {
  uint32_t count = 0;
  for (uint32_t a = 0; a < grid->axis_count; ++a) {
    if (set & hlo_axis_bit(a)) axes[count++] = (uint8_t)a;
  }
  return count;
}

hlo_status_t hlo_build_all_reduce(hlo_partitioner_t* p, uint32_t value_count,
                                  hlo_value_t* const* values, hlo_axis_set_t axes, hlo_op_t reducer,
                                  const hlo_region_t* body, hlo_value_t** results) {
  uint8_t list[HLO_GRID_AXES_MAX];
  uint32_t count = hlo_list_axes(p->grid, axes, list);
  if (!count) {
    memcpy(results, values, value_count * sizeof *results);
    return hlo_ok();
  }
  hlo_named_attr_t attrs[COMMON_ATTRS];
  uint32_t attr_count = set_common(p, list, count, attrs);
  const hlo_type_t** types = hlo_arena_array(&p->spmd->arena, value_count, sizeof *types);
  if (!types) return hlo_arena_status(&p->spmd->arena);
  for (uint32_t i = 0; i < value_count; ++i) {
    if (!values[i]) return hlo_module_status(p->module);
    types[i] = values[i]->type;
  }
  hlo_node_t* node = hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_all_reduce,
                                                                   .loc = p->at->loc,
                                                                   .operand_count = value_count,
                                                                   .operands = values,
                                                                   .attr_count = attr_count,
                                                                   .attrs = attrs,
                                                                   .region_count = 1,
                                                                   .result_count = value_count,
                                                                   .result_types = types});
  if (hlo_node_is_poison(node)) return hlo_module_status(p->module);
  hlo_node_insert_before(p->at, node);
  for (uint32_t i = 0; i < value_count; ++i) results[i] = &node->results[i];
  if (reducer == HLO_OP_COUNT) return hlo_copy_body(p, node, body);
  return hlo_build_reducer(node, reducer) ? hlo_ok() : hlo_module_status(p->module);
}

hlo_value_t* hlo_build_reduce_scatter(hlo_partitioner_t* p, hlo_value_t* local, uint32_t dim,
                                      const uint8_t* axes, uint32_t count) {
  if (!local) return NULL;
  hlo_named_attr_t attrs[COMMON_ATTRS + 1];
  uint32_t attr_count = set_common(p, axes, count, attrs);
  attrs[attr_count++] = int_attr(p, HLO_ATTR_scatter_dimension, dim);
  const hlo_type_t* type =
      scaled_type(p, local->type, UINT32_MAX, dim, hlo_grid_size(p->grid, axes, count));
  hlo_node_t* node = hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_reduce_scatter,
                                                                   .loc = p->at->loc,
                                                                   .operand_count = 1,
                                                                   .operands = &local,
                                                                   .attr_count = attr_count,
                                                                   .attrs = attrs,
                                                                   .region_count = 1,
                                                                   .result_count = 1,
                                                                   .result_types = &type});
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(p->at, node);
  return hlo_build_reducer(node, HLO_OP_add) ? &node->results[0] : NULL;
}

// Builds a permute of `count` pairs of source and target.
static hlo_value_t* build_pairs(hlo_partitioner_t* p, hlo_value_t* local, uint32_t count,
                                const int64_t* pairs) {
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_source_target_pairs, hlo_attr_matrix(p->module, count, 2, pairs)},
      int_attr(p, HLO_ATTR_channel_id, p->next_channel++),
      int_attr(p, HLO_ATTR_channel_type, 0),
  };
  return hlo_build_node(p->at, HLO_OP_collective_permute, local->type, 1, &local, 3, attrs);
}

hlo_value_t* hlo_build_receive(hlo_partitioner_t* p, hlo_value_t* local, const uint32_t* from) {
  const uint32_t devices = p->grid->device_count;
  int64_t* pairs = hlo_arena_array(&p->spmd->arena, (size_t)devices * 2, sizeof *pairs);
  if (!local || !pairs) return NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < devices; ++i) {
    if (from[i] == UINT32_MAX) continue;
    pairs[2 * count] = hlo_grid_device(p->grid, from[i]);
    pairs[2 * count++ + 1] = hlo_grid_device(p->grid, i);
  }
  return build_pairs(p, local, count, pairs);
}

hlo_value_t* hlo_build_permute(hlo_partitioner_t* p, hlo_value_t* local, const uint32_t* targets) {
  const uint32_t count = p->grid->device_count;
  int64_t* pairs = hlo_arena_array(&p->spmd->arena, (size_t)count * 2, sizeof *pairs);
  if (!local || !pairs) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    pairs[2 * i] = hlo_grid_device(p->grid, i);
    pairs[2 * i + 1] = hlo_grid_device(p->grid, targets[i]);
  }
  return build_pairs(p, local, count, pairs);
}

hlo_value_t* hlo_build_mesh_permute(hlo_partitioner_t* p, hlo_value_t* local,
                                    const hlo_grid_mesh_t* mesh, bool is_argument) {
  const uint32_t count = p->grid->device_count;
  uint32_t* targets = hlo_arena_array(&p->spmd->arena, count, sizeof *targets);
  if (!local || !targets) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t at = hlo_grid_index(p->grid, mesh->axes, mesh->firsts[mesh->mesh->axis_count], i);
    const int64_t device = mesh->mesh->device_ids ? mesh->mesh->device_ids[at] : at;
    const uint32_t other = (uint32_t)p->grid->positions[device];
    targets[is_argument ? other : i] = is_argument ? i : other;
  }
  return hlo_build_permute(p, local, targets);
}
