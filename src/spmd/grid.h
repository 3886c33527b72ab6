// SPDX-License-Identifier: Apache-2.0
// The devices of a program as one grid of small axes, in which the axes and sub-axes of every mesh
// are lists of whole axes, and the sharding of a value is a list of axes per dimension.
//
// A mesh ["x"=8, "y"=2] gives the grid 2 x 2 x 2 x 2: "x" is the axes (0, 1, 2), "x":(2)2 is axis
// 1, and "y" is axis 3. All of spmd computes with specs, that is with such lists; names of axes
// matter only where shardings are read and reported.
#pragma once

#include "base/integer.h"
#include "ir/sharding.h"

enum { HLO_GRID_AXES_MAX = 32 };

/// A set of axes of the grid, one bit each.
typedef uint32_t hlo_axis_set_t;

/// How a mesh lies in the grid. If its device order has no axes in common with the grid's, the mesh
/// is permuted: its axes are those of a mesh of its shape in the grid's order, or any of their
/// sizes if that has no common division with other meshes (3 x 2 beside 2 x 3), and arguments and
/// results on it are sent to and from their devices. Elsewhere the order is of no consequence.
typedef struct hlo_grid_mesh {
  const hlo_mesh_t* mesh;
  bool is_permuted;
  uint8_t firsts[HLO_GRID_AXES_MAX + 1];  // axis i of the mesh: axes[firsts[i]] ... firsts[i + 1]
  uint8_t axes[HLO_GRID_AXES_MAX];        // major to minor
} hlo_grid_mesh_t;

/// threads: immutable. owner: an arena
typedef struct hlo_grid {
  uint32_t device_count;
  uint32_t axis_count;
  uint32_t
      sizes[HLO_GRID_AXES_MAX];  // primes, except where a mesh cannot be divided so; major first
  uint32_t strides[HLO_GRID_AXES_MAX];  // of positions
  const int64_t* device_ids;            // partition of each position; NULL: the position
  const int64_t* positions;             // of each partition
  uint32_t mesh_count;
  const hlo_grid_mesh_t* meshes;
} hlo_grid_t;

/// The axes that divide one dimension, major to minor.
typedef struct hlo_dim_axes {
  uint32_t count;
  uint8_t axes[HLO_GRID_AXES_MAX];
} hlo_dim_axes_t;

/// How a value lies on the grid. Interned by hlo_spmd_t: equal specs of a program are the same
/// pointer. Axes that divide no dimension hold copies.
typedef struct hlo_spec {
  uint32_t rank;
  hlo_axis_set_t unreduced;         // the value is the sum over these axes
  uint8_t ends[HLO_RANK_MAX];       // dimension d: axes[ends[d - 1]] ... axes[ends[d] - 1]
  uint8_t axes[HLO_GRID_AXES_MAX];  // each at most once
} hlo_spec_t;

/// Makes the grid of all meshes of the module, and of those inside of its shardings.
/// errors : UNIMPLEMENTED (meshes of manual computations whose axes have no common division),
/// INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_grid_create(hlo_module_t* module, uint32_t device_count, hlo_arena_t* arena,
                             const hlo_grid_t** out_grid) HLO_MUST_USE;
/// Returns how a mesh of the module lies in the grid; NULL for a maximal mesh.
const hlo_grid_mesh_t* hlo_grid_find_mesh(const hlo_grid_t* grid, const hlo_mesh_t* mesh);
/// Appends the grid's axes of axes, or sub-axes, of a mesh; NULL, a maximal mesh, has none.
/// errors : UNIMPLEMENTED (a sub-axis that ends inside of an axis of the grid)
hlo_status_t hlo_grid_map_axes(const hlo_grid_t* grid, const hlo_grid_mesh_t* mesh,
                               hlo_axis_refs_t refs, hlo_dim_axes_t* axes) HLO_MUST_USE;

/// Returns the product of the sizes of a list of axes.
static inline int64_t hlo_grid_size(const hlo_grid_t* grid, const uint8_t* axes, uint32_t count) {
  int64_t size = 1;
  for (uint32_t i = 0; i < count; ++i) size *= grid->sizes[axes[i]];
  return size;
}
static inline hlo_axis_set_t hlo_axis_bit(uint32_t axis) {
  return (hlo_axis_set_t)1 << axis;
}
static inline hlo_axis_set_t hlo_axis_set(const uint8_t* axes, uint32_t count) {
  hlo_axis_set_t set = 0;
  for (uint32_t i = 0; i < count; ++i) set |= hlo_axis_bit(axes[i]);
  return set;
}
/// Returns the partition at a position.
static inline int64_t hlo_grid_device(const hlo_grid_t* grid, int64_t position) {
  return grid->device_ids ? grid->device_ids[position] : position;
}
/// Returns the index of a position along a list of axes, major to minor.
static inline int64_t hlo_grid_index(const hlo_grid_t* grid, const uint8_t* axes, uint32_t count,
                                     uint32_t position) {
  int64_t index = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t size = grid->sizes[axes[i]];
    index = index * size + position / grid->strides[axes[i]] % size;
  }
  return index;
}
/// Returns the position at another index along a list of axes, and as `position` along the others.
static inline uint32_t hlo_grid_move(const hlo_grid_t* grid, const uint8_t* axes, uint32_t count,
                                     uint32_t position, int64_t index) {
  for (uint32_t i = count; i-- > 0;) {
    const uint32_t size = grid->sizes[axes[i]], stride = grid->strides[axes[i]];
    const uint32_t now = position / stride % size, next = (uint32_t)(index % size);
    position = position - now * stride + next * stride;
    index /= size;
  }
  return position;
}

/// Returns the number of axes of a dimension; *out_axes is their list.
static inline uint32_t hlo_spec_dim(const hlo_spec_t* spec, uint32_t dim,
                                    const uint8_t** out_axes) {
  const uint32_t first = dim ? spec->ends[dim - 1] : 0;
  *out_axes = &spec->axes[first];
  return spec->ends[dim] - first;
}
static inline uint32_t hlo_spec_axis_count(const hlo_spec_t* spec) {
  return spec->rank ? spec->ends[spec->rank - 1] : 0;
}
/// Returns the set of axes that divide a dimension.
static inline hlo_axis_set_t hlo_spec_axes(const hlo_spec_t* spec) {
  return hlo_axis_set(spec->axes, hlo_spec_axis_count(spec));
}
/// Returns true if each part of a dimension of `size` elements that is divided in `parts` consists
/// of `more` of the parts that it has when it is divided in parts * more.
static inline bool hlo_parts_nest(int64_t size, int64_t parts, int64_t more) {
  return parts == 1 || hlo_divide_up(size, parts) == more * hlo_divide_up(size, parts * more);
}
/// Returns into how many parts a dimension is divided.
static inline int64_t hlo_spec_parts(const hlo_grid_t* grid, const hlo_spec_t* spec, uint32_t dim) {
  const uint8_t* axes;
  uint32_t count = hlo_spec_dim(spec, dim, &axes);
  return hlo_grid_size(grid, axes, count);
}
