// SPDX-License-Identifier: Apache-2.0
// Groups of devices along axes of a mesh, as lists of device ids.
#pragma once

#include "ir/module.h"

enum { HLO_DEVICES_MAX = 1 << 20 };  // of one list

/// 0, 1, 2 ... in row-major order of dimensions `dims`, transposed by `perm`.
typedef struct hlo_device_iota {
  uint32_t rank;
  int64_t count;  // the product of dims; set by hlo_device_iota_is_valid()
  int64_t dims[HLO_RANK_MAX], perm[HLO_RANK_MAX];
} hlo_device_iota_t;

/// Returns false unless perm is a permutation and there are at most HLO_DEVICES_MAX ids.
bool hlo_device_iota_is_valid(hlo_device_iota_t* iota);
/// Lists the ids of a valid iota, in the arena.
hlo_status_t hlo_device_iota_ids(hlo_arena_t* arena, const hlo_device_iota_t* iota,
                                 int64_t** out_ids) HLO_MUST_USE;

/// An axis of a mesh, or the part of it of `size` that follows parts of product pre_size.
typedef struct hlo_mesh_axis_ref {
  int64_t axis;            // its position in the mesh
  int64_t pre_size, size;  // size 0: the whole axis
} hlo_mesh_axis_ref_t;

typedef struct hlo_mesh_groups {
  uint32_t axis_count, ref_count;
  const int64_t* axis_sizes;
  const hlo_mesh_axis_ref_t* refs;  // the axes along which devices form a group
  size_t device_count;
  const int64_t* devices;  // in the order of the mesh's axes; without: 0, 1, 2 ...
  /// Members of a group are in row-major order of the axes: of `refs` as listed (StableHLO), or as
  /// in the mesh (HLO), where only the parts of one axis are as listed.
  bool is_in_mesh_order;
} hlo_mesh_groups_t;

/// Lists the groups, `cols` device ids per row, in the arena.
/// errors : INVALID_ARGUMENT (references that are no parts of the mesh, or overlap)
hlo_status_t hlo_mesh_groups_list(hlo_arena_t* arena, const hlo_mesh_groups_t* groups,
                                  uint32_t* out_rows, uint32_t* out_cols,
                                  int64_t** out_ids) HLO_MUST_USE;
/// Lists the groups of an attribute #stablehlo.replica_group_mesh_axes<...>, whose mesh is one of
/// the module's or written out.
/// errors : INVALID_ARGUMENT (malformed, an unknown mesh or axis)
hlo_status_t hlo_mesh_groups_read(hlo_arena_t* arena, const hlo_module_t* module,
                                  const hlo_attr_t* attr, uint32_t* out_rows, uint32_t* out_cols,
                                  int64_t** out_ids) HLO_MUST_USE;
