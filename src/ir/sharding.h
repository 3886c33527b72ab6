// SPDX-License-Identifier: Apache-2.0
// Shardings: how the dimensions of a value are divided among the axes of a mesh of devices, as
// Shardy describes them.
//
// Modules carry shardings as the text of Shardy's attributes (OPAQUE). This is their one reader and
// writer. A parsed sharding is interned by its attribute, so that equal shardings of a module are
// the same pointer, and printing loses nothing.
// source : Shardy, attrs.td (forms and their meaning)
#pragma once

#include "ir/module.h"

typedef struct hlo_mesh_axis {
  const char* name;
  int64_t size;
} hlo_mesh_axis_t;

/// Devices in a grid of named axes, the first axis major. Without axes, a mesh of one device: a
/// value with such a sharding is on that device only ("maximal").
typedef struct hlo_mesh {
  const char* name;  // of its sdy.mesh; NULL: written inside the sharding
  uint32_t axis_count;
  const hlo_mesh_axis_t* axes;
  int64_t device_count;
  const int64_t* device_ids;  // by position in the grid; NULL: 0, 1, 2 ...
  const hlo_attr_t* attr;     // "#sdy.mesh<...>"
} hlo_mesh_t;

/// An axis of a mesh, or a part of one: the axis is viewed as (pre_size, size, rest).
typedef struct hlo_axis_ref {
  uint32_t axis;
  int64_t pre_size;  // 1 for a whole axis
  int64_t size;
} hlo_axis_ref_t;

typedef struct hlo_axis_refs {
  uint32_t count;
  const hlo_axis_ref_t* refs;
} hlo_axis_refs_t;

/// The axes that divide a dimension, major to minor. An open dimension may be divided further.
typedef struct hlo_dim_sharding {
  hlo_axis_refs_t axes;
  bool is_open;
  int32_t priority;  // 0 is the most urgent; -1: none given, which is as urgent
} hlo_dim_sharding_t;

/// The op that combines the parts of a value along its unreduced axes.
typedef enum hlo_unreduced_op {
  HLO_UNREDUCED_SUM,
  HLO_UNREDUCED_MAX,
  HLO_UNREDUCED_MIN
} hlo_unreduced_op_t;

typedef struct hlo_sharding {
  const hlo_mesh_t* mesh;
  uint32_t rank;
  const hlo_dim_sharding_t* dims;
  hlo_axis_refs_t replicated;  // axes that propagation must not use
  hlo_axis_refs_t unreduced;   // axes over which the value is a partial sum, maximum or minimum
  hlo_unreduced_op_t unreduced_op;
  const hlo_attr_t* attr;  // "#sdy.sharding<...>"
} hlo_sharding_t;

/// Returns the sharding that an attribute describes, "#sdy.sharding<...>" or one that is the only
/// item of "#sdy.sharding_per_value<[...]>". Meshes are looked up among the module's sdy.mesh ops.
/// errors : INVALID_ARGUMENT (not a sharding, an unknown mesh or axis, sub-axes that do not divide
/// their axis, an axis that divides two dimensions), RESOURCE_EXHAUSTED
hlo_status_t hlo_sharding_parse(hlo_module_t* module, const hlo_attr_t* attr,
                                const hlo_sharding_t** out_sharding) HLO_MUST_USE;
/// Does the same for the list of "#sdy.sharding_per_value<[...]>".
/// owner  : the list is in the module's arena
hlo_status_t hlo_sharding_parse_list(hlo_module_t* module, const hlo_attr_t* attr,
                                     uint32_t* out_count,
                                     const hlo_sharding_t* const** out_shardings) HLO_MUST_USE;
/// Returns the sharding with the given fields (`attr` is ignored).
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_sharding_intern(hlo_module_t* module, const hlo_sharding_t* fields,
                                 const hlo_sharding_t** out_sharding) HLO_MUST_USE;
/// Returns "#sdy.sharding_per_value<[...]>"; NULL when memory is exhausted.
const hlo_attr_t* hlo_sharding_list_attr(hlo_module_t* module, uint32_t count,
                                         const hlo_sharding_t* const* shardings);

/// Returns the discardable attributes of an op without those of shardings, Shardy's and GSPMD's;
/// NULL: none are left, or memory is exhausted.
const hlo_attr_t* hlo_sharding_drop_attrs(hlo_module_t* module, const hlo_attr_t* extra);

/// Returns the mesh of a name, or NULL; a module that is valid has none twice.
/// errors : INVALID_ARGUMENT (its attribute is no mesh), RESOURCE_EXHAUSTED
hlo_status_t hlo_mesh_find(hlo_module_t* module, const char* name, size_t length,
                           const hlo_mesh_t** out_mesh) HLO_MUST_USE;
/// Reads "#sdy.mesh<...>" with the given name (NULL: none).
hlo_status_t hlo_mesh_parse(hlo_module_t* module, const hlo_attr_t* attr, const char* name,
                            const hlo_mesh_t** out_mesh) HLO_MUST_USE;
/// Reads `{"x", "y"}` of sdy.manual_computation or of a collective, as axes of `mesh`.
hlo_status_t hlo_mesh_parse_axes(hlo_module_t* module, const hlo_mesh_t* mesh,
                                 const hlo_attr_t* attr, hlo_axis_refs_t* out_axes) HLO_MUST_USE;
/// Reads `[{"x"}, {}]` of a collective: the axes of each dimension, no axis twice.
/// errors : INVALID_ARGUMENT, also for more than HLO_RANK_MAX lists
hlo_status_t hlo_mesh_parse_dim_axes(hlo_module_t* module, const hlo_mesh_t* mesh,
                                     const hlo_attr_t* attr, uint32_t* out_count,
                                     hlo_axis_refs_t out_dims[]) HLO_MUST_USE;

/// Axes that sdy.all_to_all moves from the end of one dimension to the end of another.
typedef struct hlo_axes_move {
  hlo_axis_refs_t axes;
  int64_t from, to;
} hlo_axes_move_t;
/// Reads `[{"x"}: 0->1]`, no axis twice, as hlo_mesh_parse_dim_axes() does.
hlo_status_t hlo_mesh_parse_moves(hlo_module_t* module, const hlo_mesh_t* mesh,
                                  const hlo_attr_t* attr, uint32_t* out_count,
                                  hlo_axes_move_t out_moves[]) HLO_MUST_USE;
/// Prints `"x", "y":(1)2`.
void hlo_axis_refs_print(const hlo_mesh_t* mesh, hlo_axis_refs_t axes, hlo_strbuf_t* out);
/// Prints the name of a factor of a sharding rule, from 0 on: i to z, then z_1, z_2, ...
void hlo_factor_print(int64_t factor, hlo_strbuf_t* out);
/// Returns the axis of a name; mesh->axis_count if the mesh has none.
uint32_t hlo_mesh_axis_number(const hlo_mesh_t* mesh, const char* name, size_t length);

static inline bool hlo_mesh_is_maximal(const hlo_mesh_t* mesh) {
  return mesh->axis_count == 0 && mesh->device_ids != NULL;
}
static inline bool hlo_axis_ref_is_whole(const hlo_mesh_t* mesh, hlo_axis_ref_t ref) {
  return ref.size == mesh->axes[ref.axis].size;
}
