// SPDX-License-Identifier: Apache-2.0
// The context of propagation and partitioning: the grid of a program's devices and the specs of its
// values.
#pragma once

#include "spmd/grid.h"
#include "spmd/rule.h"

/// owner  : whoever declared it; hlo_spmd_deinit()
/// threads: confined
typedef struct hlo_spmd {
  hlo_module_t* module;
  hlo_arena_t arena;
  const hlo_grid_t* grid;
  hlo_map_t specs;                 // interned, by their bytes
  hlo_map_t manual_axes;           // by manual computation
  hlo_map_t paths;                 // of reshards, by type and specs
  const hlo_spec_t** value_specs;  // by value->index; NULL: not decided, which means replicated
  uint32_t value_capacity;
  const struct hlo_custom_partitioner* custom_partitioner;  // lent; NULL: none
} hlo_spmd_t;

hlo_status_t hlo_spmd_init(hlo_spmd_t* spmd, hlo_module_t* module,
                           uint32_t device_count) HLO_MUST_USE;
void hlo_spmd_deinit(hlo_spmd_t* spmd);

/// Returns the interned spec; NULL when memory is exhausted (see hlo_arena_status()).
const hlo_spec_t* hlo_spec_intern(hlo_spmd_t* spmd, const hlo_spec_t* fields);
/// Returns the spec with the given axes of each dimension.
const hlo_spec_t* hlo_spec_make(hlo_spmd_t* spmd, uint32_t rank, const hlo_dim_axes_t* dims,
                                hlo_axis_set_t unreduced);
/// Reads the axes of each dimension.
void hlo_spec_dims(const hlo_spec_t* spec, hlo_dim_axes_t* dims);
/// Returns the spec of a value that every device holds whole.
const hlo_spec_t* hlo_spec_replicated(hlo_spmd_t* spmd, uint32_t rank);
/// Returns the axes of a sharding, without those of `except` (that a manual computation uses).
/// Open dimensions and priorities are not part of it.
/// errors : UNIMPLEMENTED (sub-axes, see hlo_grid_map_axes()), RESOURCE_EXHAUSTED
hlo_status_t hlo_spec_from_sharding(hlo_spmd_t* spmd, const hlo_sharding_t* sharding,
                                    hlo_axis_set_t except,
                                    const hlo_spec_t** out_spec) HLO_MUST_USE;
/// Returns the closed sharding over `mesh` that a spec means.
hlo_status_t hlo_spec_to_sharding(hlo_spmd_t* spmd, const hlo_spec_t* spec, const hlo_mesh_t* mesh,
                                  const hlo_sharding_t** out_sharding) HLO_MUST_USE;
/// Drops axes from the minor end of dimensions until the parts of every dimension of `type` are of
/// equal size. `spec` may be NULL.
const hlo_spec_t* hlo_spec_even(hlo_spmd_t* spmd, const hlo_spec_t* spec, const hlo_type_t* type);
/// Writes a spec as lists of axes: [{0, 1}, {}].
void hlo_spec_print(const hlo_spec_t* spec, hlo_strbuf_t* out);

/// Returns the spec of a value; replicated if none is decided. The size of the value need not be a
/// multiple of the parts: those are then ceil(size / parts) long, as far as there are elements.
/// Arguments and results of the entry are divided in parts of equal size.
const hlo_spec_t* hlo_spmd_value_spec(hlo_spmd_t* spmd, const hlo_value_t* value);
hlo_status_t hlo_spmd_set_value_spec(hlo_spmd_t* spmd, const hlo_value_t* value,
                                     const hlo_spec_t* spec) HLO_MUST_USE;
/// Returns the axes that a manual computation itself uses.
hlo_status_t hlo_spmd_own_manual_axes(hlo_spmd_t* spmd, const hlo_node_t* node,
                                      hlo_axis_set_t* out_axes) HLO_MUST_USE;
/// Returns the axes that the manual computations around a region use; its values do not mention
/// them, and their types are those of one device along them.
hlo_status_t hlo_spmd_manual_axes(hlo_spmd_t* spmd, const hlo_region_t* region,
                                  hlo_axis_set_t* out_axes) HLO_MUST_USE;

/// States the rules of custom calls that spmd->custom_partitioner describes. (partition_custom.c)
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_spmd_state_rules(hlo_spmd_t* spmd) HLO_MUST_USE;
/// Decides the spec of every value from the shardings that the program states: arguments, results,
/// constraints, manual computations. (propagate.c)
/// errors : INVALID_ARGUMENT (a sharding that does not fit its value), UNIMPLEMENTED,
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_spmd_propagate(hlo_spmd_t* spmd) HLO_MUST_USE;
/// Rewrites the functions to what one device computes, with collectives. (partition.c)
/// errors : UNIMPLEMENTED (names an op and its location), RESOURCE_EXHAUSTED
hlo_status_t hlo_spmd_partition(hlo_spmd_t* spmd) HLO_MUST_USE;
