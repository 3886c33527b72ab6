// SPDX-License-Identifier: Apache-2.0
// The shardings of GSPMD in a module as shardings of Shardy over generated meshes, for
// import_gspmd.
//
// All texts are collected first. Each order of devices that occurs gets a mesh, whose axes are the
// common division of the tiles in that order; most modules have one order, 0, 1, 2 ...
#pragma once

#include "ir/op_sharding.h"

/// One order of devices.
typedef struct hlo_gspmd_mesh {
  const int64_t* devices;    // by position; NULL: 0, 1, 2 ...
  const int64_t* positions;  // by device
  uint32_t end_count;        // products of the sizes of the last axes, ascending: 1, ..., devices
  int64_t ends[HLO_RANK_MAX + 1];
  const hlo_mesh_t* mesh;  // set by hlo_gspmd_meshes_create()
  struct hlo_gspmd_mesh* next;
} hlo_gspmd_mesh_t;

/// A sharding of GSPMD in the module.
typedef struct hlo_gspmd_entry {
  hlo_op_sharding_t sharding;
  hlo_gspmd_mesh_t* mesh;            // of tiles
  hlo_tile_factors_t factors;        // of tiles, in positions of the mesh
  struct hlo_gspmd_entry* elements;  // of a tuple
} hlo_gspmd_entry_t;

/// owner  : an arena
/// threads: confined
typedef struct hlo_gspmd {
  hlo_module_t* module;
  hlo_arena_t* arena;
  int64_t device_count;
  hlo_map_t entries;  // by attribute
  hlo_gspmd_mesh_t* meshes;
} hlo_gspmd_t;

/// Prepares to read the shardings of a module over a number of devices.
void hlo_gspmd_init(hlo_gspmd_t* gspmd, hlo_module_t* module, int64_t device_count,
                    hlo_arena_t* arena);
void hlo_gspmd_deinit(hlo_gspmd_t* gspmd);
/// Adds the sharding of an attribute, the text of GSPMD.
/// errors : INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_gspmd_add(hlo_gspmd_t* gspmd, const hlo_attr_t* text) HLO_MUST_USE;
/// Returns the entry of an attribute that was added.
const hlo_gspmd_entry_t* hlo_gspmd_find(const hlo_gspmd_t* gspmd, const hlo_attr_t* text);
/// Adds the meshes of all entries to the module; at least one, of all devices.
hlo_status_t hlo_gspmd_create_meshes(hlo_gspmd_t* gspmd) HLO_MUST_USE;

/// Returns the sharding of Shardy for a value of `rank` dimensions; NULL for one that leaves
/// everything open. Dimensions of the set `open` are open. Manual subgroups are left out. `mesh`:
/// of values that are not divided (NULL: the first one). errors : INVALID_ARGUMENT (of another
/// rank), RESOURCE_EXHAUSTED
hlo_status_t hlo_gspmd_sharding(hlo_gspmd_t* gspmd, const hlo_gspmd_entry_t* entry, uint32_t rank,
                                uint64_t open, const hlo_gspmd_mesh_t* mesh,
                                const hlo_sharding_t** out_sharding) HLO_MUST_USE;
/// Returns the set of axes of the entry's mesh over which its value is manual, one bit each; all of
/// them for {manual}.
uint64_t hlo_gspmd_manual_axes(const hlo_gspmd_entry_t* entry);
