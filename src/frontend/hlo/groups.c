// SPDX-License-Identifier: Apache-2.0
// Groups of devices in the three forms of HLO: listed, as a reshaped and transposed iota, and as
// axes of a mesh.
#include "frontend/hlo/build.h"

enum { DEVICES_MAX = 1 << 20 };

static hlo_status_t malformed(void) {
  return hlo_invalid_argument("the list of devices is malformed");
}

// 0, 1, 2 ... in row-major order of dimensions `dims`, transposed by `perm` unless it is NULL.
typedef struct iota {
  uint32_t rank;
  int64_t count;
  int64_t dims[HLO_RANK_MAX], perm[HLO_RANK_MAX];
} iota_t;

static bool iota_is_valid(iota_t* iota) {
  uint64_t seen = 0;
  if (!hlo_dims_element_count(iota->rank, iota->dims, &iota->count)) return false;
  for (uint32_t i = 0; i < iota->rank; ++i) {
    int64_t dim = iota->perm[i];
    if (dim < 0 || dim >= iota->rank || (seen >> dim & 1)) return false;
    seen |= 1ull << dim;
  }
  return iota->count <= DEVICES_MAX;
}

static bool iota_init(iota_t* iota, const hlo_wire_array_t* dims, size_t perm_count) {
  if (dims->count > HLO_RANK_MAX || (perm_count && perm_count != dims->count)) return false;
  iota->rank = (uint32_t)dims->count;
  for (uint32_t i = 0; i < iota->rank; ++i) {
    iota->dims[i] = ((const int64_t*)dims->items)[i];
    iota->perm[i] = i;
  }
  return true;
}

static hlo_status_t iota_ids(hlo_arena_t* arena, const iota_t* iota, int64_t** out_ids) {
  int64_t strides[HLO_RANK_MAX], index[HLO_RANK_MAX] = {0};
  int64_t stride = 1;
  for (uint32_t d = iota->rank; d-- > 0;) {
    strides[d] = stride;
    stride *= iota->dims[d];
  }
  int64_t* ids = hlo_arena_array(arena, (size_t)iota->count, sizeof *ids);
  if (!ids) return hlo_arena_status(arena);
  for (int64_t e = 0; e < iota->count; ++e) {
    for (uint32_t d = 0; d < iota->rank; ++d) ids[e] += index[d] * strides[iota->perm[d]];
    for (uint32_t d = iota->rank; d-- > 0;) {
      if (++index[d] < iota->dims[iota->perm[d]]) break;
      index[d] = 0;
    }
  }
  *out_ids = ids;
  return hlo_ok();
}

// ---- [2,4]<=[4,2]T(1,0) -------------------------------------------------------------------------

static hlo_status_t iota_groups(hlo_desc_node_t* node, const hlo_desc_iota_list_t* list,
                                const hlo_attr_t** out_groups) {
  iota_t iota;
  int64_t devices, *ids;
  int64_t rows = list->num_replica_groups, cols = list->num_devices_per_group;
  if (!iota_init(&iota, &list->iota_reshape_dims, list->iota_transpose_perm.count)) {
    return malformed();
  }
  for (uint32_t i = 0; i < list->iota_transpose_perm.count; ++i) {
    iota.perm[i] = ((const int32_t*)list->iota_transpose_perm.items)[i];
  }
  if (!iota_is_valid(&iota) || rows < 0 || cols < 0 ||
      __builtin_mul_overflow(rows, cols, &devices) || devices != iota.count) {
    return malformed();
  }
  HLO_TRY(iota_ids(node->builder->arena, &iota, &ids));
  *out_groups = hlo_attr_matrix(node->builder->module, (uint32_t)rows, (uint32_t)cols, ids);
  return hlo_ok();
}

// ---- mesh['x'=2,'y'=4] {'y'} --------------------------------------------------------------------

// A part of an axis that the groups use as a whole or not at all; `start` is the product of the
// earlier parts of the same axis.
typedef struct axis_part {
  int64_t axis, start, size;
  bool is_grouped;
} axis_part_t;

typedef struct axis_parts {
  axis_part_t items[HLO_RANK_MAX];
  uint32_t count;
} axis_parts_t;

// Finds the part of its axis that a reference names: from the product `*out_start` to `*out_end`.
static bool ref_range(const hlo_desc_mesh_t* mesh, const hlo_desc_axis_ref_t* ref,
                      int64_t* out_start, int64_t* out_end) {
  if (ref->axis < 0 || (uint64_t)ref->axis >= mesh->axes.count) return false;
  int64_t size = ((const hlo_desc_mesh_axis_t*)mesh->axes.items)[ref->axis].size;
  *out_start = ref->part ? ref->part->pre_size : 1;
  *out_end = size;
  if (ref->part && (*out_start < 1 || ref->part->size < 1 ||
                    __builtin_mul_overflow(*out_start, ref->part->size, out_end))) {
    return false;
  }
  return *out_end <= size;
}

// Splits an axis wherever a reference to it starts or ends.
static bool cut_axis(const hlo_desc_mesh_list_t* list, int64_t axis, axis_parts_t* parts) {
  const hlo_desc_axis_ref_t* refs = list->axes.items;
  int64_t size = ((const hlo_desc_mesh_axis_t*)list->mesh->axes.items)[axis].size;
  if (size < 1) return false;
  for (int64_t at = 1, next; at < size; at = next) {
    next = size;
    for (size_t i = 0; i < list->axes.count; ++i) {
      int64_t cuts[2];
      if (refs[i].axis != axis || !ref_range(list->mesh, &refs[i], &cuts[0], &cuts[1])) continue;
      for (int k = 0; k < 2; ++k) {
        if (cuts[k] > at && cuts[k] < next) next = cuts[k];
      }
    }
    if (next % at != 0 || parts->count == HLO_RANK_MAX) return false;
    parts->items[parts->count++] = (axis_part_t){axis, at, next / at, false};
  }
  return true;
}

// Marks the parts of one axis that the groups use and appends them to the order.
static bool order_grouped(const hlo_desc_mesh_list_t* list, int64_t axis, axis_parts_t* parts,
                          iota_t* iota, int64_t* devices) {
  const hlo_desc_axis_ref_t* refs = list->axes.items;
  for (size_t i = 0; i < list->axes.count; ++i) {
    int64_t start, end;
    if (!ref_range(list->mesh, &refs[i], &start, &end)) return false;
    for (uint32_t k = 0; refs[i].axis == axis && k < parts->count; ++k) {
      axis_part_t* part = &parts->items[k];
      if (part->axis != axis || part->start < start || part->start >= end) continue;
      if (part->is_grouped) return false;
      part->is_grouped = true;
      iota->perm[iota->rank++] = k;
      *devices *= part->size;
    }
  }
  return true;
}

// Collects the dimensions of the parts; those outside of groups come first in the order. As in XLA,
// axes of a group are in the order of the mesh, and parts of one axis in the order of the list.
static bool mesh_iota(const hlo_desc_mesh_list_t* list, iota_t* iota, int64_t* out_devices) {
  axis_parts_t parts = {.count = 0};
  int64_t size = 1;
  if (!list->mesh || list->axes.count > HLO_RANK_MAX) return false;
  const hlo_desc_mesh_axis_t* axes = list->mesh->axes.items;
  for (size_t i = 0; i < list->mesh->axes.count; ++i) {
    if (__builtin_mul_overflow(size, axes[i].size, &size) || size > DEVICES_MAX) return false;
    if (!cut_axis(list, (int64_t)i, &parts)) return false;
  }
  iota_t grouped = {.rank = 0};
  *out_devices = 1;
  for (size_t i = 0; i < list->mesh->axes.count; ++i) {
    if (!order_grouped(list, (int64_t)i, &parts, &grouped, out_devices)) return false;
  }
  iota->rank = 0;
  for (uint32_t k = 0; k < parts.count; ++k) {
    iota->dims[k] = parts.items[k].size;
    if (!parts.items[k].is_grouped) iota->perm[iota->rank++] = k;
  }
  for (uint32_t k = 0; k < grouped.rank; ++k) iota->perm[iota->rank++] = grouped.perm[k];
  return iota_is_valid(iota);
}

// Returns the devices of a mesh in the order of its axes; NULL means 0, 1, 2 ...
static hlo_status_t mesh_devices(hlo_arena_t* arena, const hlo_desc_mesh_t* mesh, int64_t count,
                                 const int64_t** out_devices) {
  *out_devices = mesh->device_ids.count ? mesh->device_ids.items : NULL;
  if (mesh->device_ids.count && mesh->device_ids.count != (uint64_t)count) return malformed();
  if (!mesh->iota || mesh->device_ids.count) return hlo_ok();
  iota_t iota;
  const hlo_wire_array_t* perm = &mesh->iota->transpose_perm;
  if (!iota_init(&iota, &mesh->iota->reshape_dims, perm->count)) return malformed();
  if (perm->count) memcpy(iota.perm, perm->items, perm->count * sizeof *iota.perm);
  if (!iota_is_valid(&iota) || iota.count != count) return malformed();
  int64_t* ids;
  HLO_TRY(iota_ids(arena, &iota, &ids));
  *out_devices = ids;
  return hlo_ok();
}

hlo_status_t hlo_desc_mesh_groups(hlo_arena_t* arena, const hlo_desc_mesh_list_t* list,
                                  uint32_t* out_rows, uint32_t* out_cols, int64_t** out_ids) {
  iota_t iota;
  int64_t cols, *ids;
  const int64_t* devices;
  if (!mesh_iota(list, &iota, &cols)) return malformed();
  HLO_TRY(mesh_devices(arena, list->mesh, iota.count, &devices));
  HLO_TRY(iota_ids(arena, &iota, &ids));
  for (int64_t e = 0; devices && e < iota.count; ++e) ids[e] = devices[ids[e]];
  *out_rows = (uint32_t)(iota.count / cols);
  *out_cols = (uint32_t)cols;
  *out_ids = ids;
  return hlo_ok();
}

static hlo_status_t mesh_groups(hlo_desc_node_t* node, const hlo_desc_mesh_list_t* list,
                                const hlo_attr_t** out_groups) {
  uint32_t rows, cols;
  int64_t* ids;
  HLO_TRY(hlo_desc_mesh_groups(node->builder->arena, list, &rows, &cols, &ids));
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
