// SPDX-License-Identifier: Apache-2.0
// Specs of values, and their translation from and to shardings (see spmd.h).
#include "spmd/spmd.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

hlo_status_t hlo_spmd_init(hlo_spmd_t* spmd, hlo_module_t* module, uint32_t device_count) {
  *spmd = (hlo_spmd_t){.module = module};
  hlo_arena_init(&spmd->arena, 0);
  return hlo_grid_create(module, device_count, &spmd->arena, &spmd->grid);
}

void hlo_spmd_deinit(hlo_spmd_t* spmd) {
  hlo_map_deinit(&spmd->specs);
  hlo_map_deinit(&spmd->manual_axes);
  hlo_map_deinit(&spmd->paths);
  hlo_arena_deinit(&spmd->arena);
}

// ---- specs

const hlo_spec_t* hlo_spec_intern(hlo_spmd_t* spmd, const hlo_spec_t* fields) {
  // Bytes that have no meaning must not tell equal specs apart.
  hlo_spec_t key;
  memset(&key, 0, sizeof key);
  key.rank = fields->rank;
  key.unreduced = fields->unreduced;
  memcpy(key.ends, fields->ends, fields->rank);
  memcpy(key.axes, fields->axes, hlo_spec_axis_count(fields));
  const hlo_spec_t* known = hlo_map_get(&spmd->specs, (const char*)&key, sizeof key);
  if (known) return known;
  hlo_spec_t* spec = hlo_arena_alloc(&spmd->arena, sizeof *spec);
  if (!spec) return NULL;
  memcpy(spec, &key, sizeof key);
  if (hlo_map_put(&spmd->specs, (const char*)spec, sizeof *spec, spec)) return spec;
  spmd->arena.failed = true;  // so that the callers need to look in one place
  return NULL;
}

const hlo_spec_t* hlo_spec_make(hlo_spmd_t* spmd, uint32_t rank, const hlo_dim_axes_t* dims,
                                hlo_axis_set_t unreduced) {
  hlo_spec_t spec = {.rank = rank, .unreduced = unreduced};
  uint32_t count = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    for (uint32_t i = 0; i < dims[d].count; ++i) spec.axes[count++] = dims[d].axes[i];
    spec.ends[d] = (uint8_t)count;
  }
  return hlo_spec_intern(spmd, &spec);
}

const hlo_spec_t* hlo_spec_replicated(hlo_spmd_t* spmd, uint32_t rank) {
  return hlo_spec_intern(spmd, &(hlo_spec_t){.rank = rank});
}

void hlo_spec_dims(const hlo_spec_t* spec, hlo_dim_axes_t* dims) {
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t* axes;
    dims[d].count = hlo_spec_dim(spec, d, &axes);
    memcpy(dims[d].axes, axes, dims[d].count);
  }
}

const hlo_spec_t* hlo_spec_even(hlo_spmd_t* spmd, const hlo_spec_t* spec, const hlo_type_t* type) {
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  bool is_even = true;
  if (!spec) return NULL;
  hlo_spec_dims(spec, dims);
  for (uint32_t d = 0; d < spec->rank; ++d) {
    hlo_dim_axes_t* dim = &dims[d];
    while (dim->count && type->dims[d] % hlo_grid_size(spmd->grid, dim->axes, dim->count) != 0) {
      --dim->count;
      is_even = false;
    }
  }
  return is_even ? spec : hlo_spec_make(spmd, spec->rank, dims, spec->unreduced);
}

void hlo_spec_print(const hlo_spec_t* spec, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '[');
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t* axes;
    uint32_t count = hlo_spec_dim(spec, d, &axes);
    hlo_strbuf_puts(out, d ? ", {" : "{");
    for (uint32_t i = 0; i < count; ++i) hlo_strbuf_printf(out, i ? ", %u" : "%u", axes[i]);
    hlo_strbuf_putc(out, '}');
  }
  hlo_strbuf_putc(out, ']');
  if (spec->unreduced) hlo_strbuf_printf(out, " unreduced 0x%x", spec->unreduced);
}

// ---- shardings

hlo_status_t hlo_spec_from_sharding(hlo_spmd_t* spmd, const hlo_sharding_t* sharding,
                                    hlo_axis_set_t except, const hlo_spec_t** out_spec) {
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  hlo_dim_axes_t unreduced = {0};
  const hlo_grid_mesh_t* mesh = hlo_grid_find_mesh(spmd->grid, sharding->mesh);
  for (uint32_t d = 0; d < sharding->rank; ++d) {
    hlo_dim_axes_t all = {0};
    HLO_TRY(hlo_grid_map_axes(spmd->grid, mesh, sharding->dims[d].axes, &all));
    dims[d].count = 0;
    for (uint32_t i = 0; i < all.count; ++i) {
      if (!(except & hlo_axis_bit(all.axes[i]))) dims[d].axes[dims[d].count++] = all.axes[i];
    }
  }
  if (sharding->unreduced.count && sharding->unreduced_op != HLO_UNREDUCED_SUM) {
    return hlo_unimplemented("partial results that are not sums: %.*s",
                             (int)sharding->attr->text_length, sharding->attr->text);
  }
  HLO_TRY(hlo_grid_map_axes(spmd->grid, mesh, sharding->unreduced, &unreduced));
  const hlo_axis_set_t sums = hlo_axis_set(unreduced.axes, unreduced.count);
  *out_spec = hlo_spec_make(spmd, sharding->rank, dims, sums & ~except);
  return *out_spec ? hlo_ok() : hlo_arena_status(&spmd->arena);
}

// Finds an axis of the grid in a mesh: axis *out_axis, at *out_at of the mesh's list.
static bool find_mesh_axis(const hlo_grid_mesh_t* map, uint8_t axis, uint32_t* out_axis,
                           uint32_t* out_at) {
  for (uint32_t i = 0; i < map->mesh->axis_count; ++i) {
    for (uint32_t k = map->firsts[i]; k < map->firsts[i + 1]; ++k) {
      if (map->axes[k] != axis) continue;
      *out_axis = i;
      *out_at = k;
      return true;
    }
  }
  return false;
}

// Joins axes of the grid to axes and sub-axes of a mesh.
static uint32_t name_axes(const hlo_grid_t* grid, const hlo_grid_mesh_t* map, const uint8_t* axes,
                          uint32_t count, hlo_axis_ref_t* refs) {
  uint32_t ref_count = 0;
  for (uint32_t i = 0; i < count;) {
    uint32_t axis, at;
    if (!find_mesh_axis(map, axes[i], &axis, &at)) {
      ++i;
      continue;
    }
    const uint32_t first = map->firsts[axis];
    hlo_axis_ref_t ref = {axis, hlo_grid_size(grid, &map->axes[first], at - first), 1};
    for (; i < count && at < map->firsts[axis + 1] && map->axes[at] == axes[i]; ++i, ++at) {
      ref.size *= grid->sizes[axes[i]];
    }
    refs[ref_count++] = ref;
  }
  return ref_count;
}

hlo_status_t hlo_spec_to_sharding(hlo_spmd_t* spmd, const hlo_spec_t* spec, const hlo_mesh_t* mesh,
                                  const hlo_sharding_t** out_sharding) {
  const hlo_grid_mesh_t* map = hlo_grid_find_mesh(spmd->grid, mesh);
  if (!map) return hlo_internal_error("a sharding over a mesh that is not in the grid");
  hlo_dim_sharding_t dims[HLO_RANK_MAX];
  hlo_axis_ref_t refs[2 * HLO_GRID_AXES_MAX];
  uint32_t used = 0;
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t* axes;
    uint32_t count = hlo_spec_dim(spec, d, &axes);
    dims[d] = (hlo_dim_sharding_t){.axes = {0, &refs[used]}, .priority = -1};
    dims[d].axes.count = name_axes(spmd->grid, map, axes, count, &refs[used]);
    used += dims[d].axes.count;
  }
  hlo_sharding_t fields = {.mesh = mesh, .rank = spec->rank, .dims = dims};
  uint8_t sums[HLO_GRID_AXES_MAX];
  uint32_t sum_count = 0;
  for (uint32_t i = 0; i < spmd->grid->axis_count; ++i) {
    if (spec->unreduced & hlo_axis_bit(map->axes[i])) sums[sum_count++] = map->axes[i];
  }
  fields.unreduced =
      (hlo_axis_refs_t){name_axes(spmd->grid, map, sums, sum_count, &refs[used]), &refs[used]};
  return hlo_sharding_intern(spmd->module, &fields, out_sharding);
}

// ---- values

const hlo_spec_t* hlo_spmd_value_spec(hlo_spmd_t* spmd, const hlo_value_t* value) {
  const hlo_spec_t* spec =
      value->index < spmd->value_capacity ? spmd->value_specs[value->index] : NULL;
  return spec ? spec
              : hlo_spec_replicated(spmd, hlo_type_is_tensor(value->type) ? value->type->rank : 0);
}

hlo_status_t hlo_spmd_set_value_spec(hlo_spmd_t* spmd, const hlo_value_t* value,
                                     const hlo_spec_t* spec) {
  if (!spec) return hlo_arena_status(&spmd->arena);
  if (value->index >= spmd->value_capacity) {
    const uint32_t capacity = spmd->module->value_count + 64;
    const hlo_spec_t** specs = hlo_arena_array(&spmd->arena, capacity, sizeof *specs);
    if (!specs) return hlo_arena_status(&spmd->arena);
    memset(specs, 0, capacity * sizeof *specs);
    if (spmd->value_capacity) {
      memcpy(specs, spmd->value_specs, spmd->value_capacity * sizeof *specs);
    }
    spmd->value_specs = specs;
    spmd->value_capacity = capacity;
  }
  spmd->value_specs[value->index] = spec;
  return hlo_ok();
}

hlo_status_t hlo_spmd_own_manual_axes(hlo_spmd_t* spmd, const hlo_node_t* node,
                                      hlo_axis_set_t* out_axes) {
  const uintptr_t known = (uintptr_t)hlo_map_get_pointer(&spmd->manual_axes, node);
  if (known) {
    *out_axes = (hlo_axis_set_t)(known >> 1);
    return hlo_ok();
  }
  const hlo_attr_t* attrs[] = {hlo_node_attr(node, HLO_ATTR_in_shardings),
                               hlo_node_attr(node, HLO_ATTR_out_shardings)};
  const hlo_mesh_t* mesh = NULL;
  for (uint32_t i = 0; i < 2 && !mesh; ++i) {
    uint32_t count;
    const hlo_sharding_t* const* shardings;
    HLO_TRY(hlo_sharding_parse_list(spmd->module, attrs[i], &count, &shardings));
    for (uint32_t k = 0; k < count && !mesh; ++k) {
      if (shardings[k]->mesh->axis_count) mesh = shardings[k]->mesh;
    }
  }
  hlo_dim_axes_t axes = {0};
  const hlo_grid_mesh_t* map = mesh ? hlo_grid_find_mesh(spmd->grid, mesh) : NULL;
  if (map) {
    hlo_axis_refs_t refs;
    HLO_TRY(
        hlo_mesh_parse_axes(spmd->module, mesh, hlo_node_attr(node, HLO_ATTR_manual_axes), &refs));
    HLO_TRY(hlo_grid_map_axes(spmd->grid, map, refs, &axes));
  }
  *out_axes = hlo_axis_set(axes.axes, axes.count);
  void* entry = (void*)(((uintptr_t)*out_axes << 1) | 1);
  return hlo_map_put_pointer(&spmd->manual_axes, node, entry)
             ? hlo_ok()
             : hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
}

hlo_status_t hlo_spmd_manual_axes(hlo_spmd_t* spmd, const hlo_region_t* region,
                                  hlo_axis_set_t* out_axes) {
  *out_axes = 0;
  for (const hlo_node_t* node = region->parent; node; node = node->parent->parent) {
    if (node->op != HLO_OP_sdy_manual_computation) continue;
    hlo_axis_set_t own;
    HLO_TRY(hlo_spmd_own_manual_axes(spmd, node, &own));
    *out_axes |= own;
  }
  return hlo_ok();
}

// ---- pass partition

hlo_status_t hlo_devices_argument(const hlo_pass_ctx_t* ctx, const hlo_module_t* module,
                                  uint32_t* out_count) {
  if (!ctx->argument) {
    *out_count = hlo_module_process_counts(module).partitions;
    return hlo_ok();
  }
  char* end;
  const unsigned long count = strtoul(ctx->argument, &end, 10);
  if (*end || count < 1 || count > INT32_MAX) {
    return hlo_invalid_argument("'%s' is not a number of devices", ctx->argument);
  }
  *out_count = (uint32_t)count;
  return hlo_ok();
}

hlo_status_t hlo_pass_partition(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  uint32_t count = 1;
  HLO_TRY(hlo_devices_argument(ctx, module, &count));
  hlo_spmd_t spmd;
  hlo_status_t status = hlo_spmd_init(&spmd, module, count);
  spmd.custom_partitioner = ctx->options->custom_partitioner;
  if (hlo_status_is_ok(status)) status = hlo_spmd_state_rules(&spmd);
  if (hlo_status_is_ok(status)) status = hlo_spmd_propagate(&spmd);
  if (hlo_status_is_ok(status)) status = hlo_spmd_partition(&spmd);
  hlo_spmd_deinit(&spmd);
  ++ctx->step_count;
  return status;
}
