// SPDX-License-Identifier: Apache-2.0
// Groups of devices in the three forms of HLO: listed, as a reshaped and transposed iota, and as
// axes of a mesh.
#include "frontend/hlo/build.h"
#include "ir/mesh_groups.h"

static hlo_status_t malformed(void) {
  return hlo_invalid_argument("the list of devices is malformed");
}

static bool iota_init(hlo_device_iota_t* iota, const hlo_wire_array_t* dims, size_t perm_count) {
  if (dims->count > HLO_RANK_MAX || (perm_count && perm_count != dims->count)) return false;
  iota->rank = (uint32_t)dims->count;
  for (uint32_t i = 0; i < iota->rank; ++i) {
    iota->dims[i] = ((const int64_t*)dims->items)[i];
    iota->perm[i] = i;
  }
  return true;
}

// ---- [2,4]<=[4,2]T(1,0) -------------------------------------------------------------------------

static hlo_status_t iota_groups(hlo_desc_node_t* node, const hlo_desc_iota_list_t* list,
                                const hlo_attr_t** out_groups) {
  hlo_device_iota_t iota;
  int64_t devices, *ids;
  int64_t rows = list->num_replica_groups, cols = list->num_devices_per_group;
  if (!iota_init(&iota, &list->iota_reshape_dims, list->iota_transpose_perm.count)) {
    return malformed();
  }
  for (uint32_t i = 0; i < list->iota_transpose_perm.count; ++i) {
    iota.perm[i] = ((const int32_t*)list->iota_transpose_perm.items)[i];
  }
  if (!hlo_device_iota_is_valid(&iota) || rows < 0 || cols < 0 ||
      __builtin_mul_overflow(rows, cols, &devices) || devices != iota.count) {
    return malformed();
  }
  HLO_TRY(hlo_device_iota_ids(node->builder->arena, &iota, &ids));
  *out_groups = hlo_attr_matrix(node->builder->module, (uint32_t)rows, (uint32_t)cols, ids);
  return hlo_ok();
}

// ---- mesh['x'=2,'y'=4] {'y'} --------------------------------------------------------------------

// Returns the devices of a mesh in the order of its axes; NULL means 0, 1, 2 ...
static hlo_status_t mesh_devices(hlo_arena_t* arena, const hlo_desc_mesh_t* mesh, int64_t count,
                                 const int64_t** out_devices) {
  *out_devices = mesh->device_ids.count ? mesh->device_ids.items : NULL;
  if (mesh->device_ids.count && mesh->device_ids.count != (uint64_t)count) return malformed();
  if (!mesh->iota || mesh->device_ids.count) return hlo_ok();
  hlo_device_iota_t iota;
  const hlo_wire_array_t* perm = &mesh->iota->transpose_perm;
  if (!iota_init(&iota, &mesh->iota->reshape_dims, perm->count)) return malformed();
  if (perm->count) memcpy(iota.perm, perm->items, perm->count * sizeof *iota.perm);
  if (!hlo_device_iota_is_valid(&iota) || iota.count != count) return malformed();
  int64_t* ids;
  HLO_TRY(hlo_device_iota_ids(arena, &iota, &ids));
  *out_devices = ids;
  return hlo_ok();
}

// As in XLA, axes of a group are in the order of the mesh.
static hlo_status_t mesh_groups(hlo_desc_node_t* node, const hlo_desc_mesh_list_t* list,
                                const hlo_attr_t** out_groups) {
  hlo_arena_t* arena = node->builder->arena;
  if (!list->mesh || list->axes.count > HLO_RANK_MAX) return malformed();
  const size_t axis_count = list->mesh->axes.count;
  const hlo_desc_axis_ref_t* from = list->axes.items;
  int64_t* sizes = hlo_arena_array(arena, axis_count, sizeof *sizes);
  if (!sizes) return hlo_arena_status(arena);
  int64_t count = 1;
  for (size_t i = 0; i < axis_count; ++i) {
    sizes[i] = ((const hlo_desc_mesh_axis_t*)list->mesh->axes.items)[i].size;
    if (__builtin_mul_overflow(count, sizes[i], &count)) return malformed();
  }
  hlo_mesh_axis_ref_t refs[HLO_RANK_MAX];
  for (size_t i = 0; i < list->axes.count; ++i) {
    refs[i] = (hlo_mesh_axis_ref_t){.axis = from[i].axis};
    if (!from[i].part) continue;
    if (from[i].part->size < 1) return malformed();
    refs[i].pre_size = from[i].part->pre_size;
    refs[i].size = from[i].part->size;
  }
  hlo_mesh_groups_t groups = {.axis_count = (uint32_t)axis_count,
                              .axis_sizes = sizes,
                              .ref_count = (uint32_t)list->axes.count,
                              .refs = refs,
                              .is_in_mesh_order = true};
  HLO_TRY(mesh_devices(arena, list->mesh, count, &groups.devices));
  if (groups.devices) groups.device_count = (size_t)count;
  uint32_t rows, cols;
  int64_t* ids;
  HLO_TRY(hlo_mesh_groups_list(arena, &groups, &rows, &cols, &ids));
  *out_groups = hlo_attr_matrix(node->builder->module, rows, cols, ids);
  return hlo_ok();
}

// ---- {{0,1},{2,3}} ------------------------------------------------------------------------------

// Rows of smaller groups end in -1.
static hlo_status_t listed_groups(hlo_desc_node_t* node, const hlo_wire_array_t* list,
                                  const hlo_attr_t** out_groups) {
  const hlo_desc_group_t* groups = list->items;
  size_t cols = 0, size;
  for (size_t i = 0; i < list->count; ++i) {
    if (groups[i].replica_ids.count > cols) cols = groups[i].replica_ids.count;
  }
  if (!hlo_size_mul(list->count, cols, &size)) return hlo_status_out_of_memory(SIZE_MAX);
  int64_t* ids = hlo_arena_array(node->builder->arena, size, sizeof *ids);
  if (!ids) return hlo_arena_status(node->builder->arena);
  for (size_t i = 0; i < list->count; ++i) {
    const int64_t* from = groups[i].replica_ids.items;
    for (size_t k = 0; k < cols; ++k) {
      ids[i * cols + k] = k < groups[i].replica_ids.count ? from[k] : -1;
    }
  }
  *out_groups = hlo_attr_matrix(node->builder->module, (uint32_t)list->count, (uint32_t)cols, ids);
  return hlo_ok();
}

hlo_status_t hlo_desc_groups(hlo_desc_node_t* node, const hlo_attr_t** out_groups) {
  const hlo_desc_instruction_t* in = node->instruction;
  if (in->mesh_list) return mesh_groups(node, in->mesh_list, out_groups);
  if (in->iota_list) return iota_groups(node, in->iota_list, out_groups);
  return listed_groups(
      node, in->device_list ? &in->device_list->replica_groups : &in->replica_groups, out_groups);
}
