// SPDX-License-Identifier: Apache-2.0
// Meshes for the shardings of GSPMD in a module (see gspmd_mesh.h).
#include "passes/gspmd_mesh.h"

#include <stdio.h>
#include <string.h>

void hlo_gspmd_init(hlo_gspmd_t* gspmd, hlo_module_t* module, int64_t device_count,
                    hlo_arena_t* arena) {
  *gspmd = (hlo_gspmd_t){.module = module, .arena = arena, .device_count = device_count};
}

void hlo_gspmd_deinit(hlo_gspmd_t* gspmd) {
  hlo_map_deinit(&gspmd->entries);
}

// ---- meshes that fit

// Adds an end to the axes; false if it does not divide those above it, or those below do not divide
// it.
static bool add_end(hlo_gspmd_mesh_t* mesh, int64_t end) {
  uint32_t i = 0;
  while (mesh->ends[i] < end) ++i;  // the last end is the number of devices
  if (mesh->ends[i] == end) return true;
  if (mesh->ends[i] % end || end % mesh->ends[i - 1] || mesh->end_count > HLO_RANK_MAX)
    return false;
  memmove(&mesh->ends[i + 1], &mesh->ends[i], (mesh->end_count - i) * sizeof *mesh->ends);
  mesh->ends[i] = end;
  ++mesh->end_count;
  return true;
}

// Divides the axes of a mesh where the tiles need it; false, without effect, if that is impossible.
static bool fit(hlo_gspmd_mesh_t* mesh, const int64_t* devices, int64_t* scratch,
                hlo_gspmd_entry_t* entry) {
  const int64_t count = hlo_op_sharding_device_count(&entry->sharding);
  for (int64_t i = 0; i < count; ++i) {
    scratch[i] = mesh->positions ? mesh->positions[devices[i]] : devices[i];
  }
  if (!hlo_tile_factors_find(&entry->sharding, scratch, &entry->factors)) return false;
  hlo_gspmd_mesh_t divided = *mesh;
  for (uint32_t i = 0; i < entry->factors.count; ++i) {
    const hlo_tile_factor_t* factor = &entry->factors.items[i];
    if (!add_end(&divided, factor->stride) || !add_end(&divided, factor->stride * factor->size)) {
      return false;
    }
  }
  *mesh = divided;
  entry->mesh = mesh;
  return true;
}

static hlo_status_t append_mesh(hlo_gspmd_t* gspmd, const int64_t* devices,
                                hlo_gspmd_mesh_t** out_mesh) {
  hlo_gspmd_mesh_t* mesh = hlo_arena_alloc_zeroed(gspmd->arena, sizeof *mesh);
  int64_t* positions =
      devices ? hlo_arena_array(gspmd->arena, (size_t)gspmd->device_count, sizeof *positions)
              : NULL;
  HLO_TRY(hlo_arena_status(gspmd->arena));
  for (int64_t i = 0; devices && i < gspmd->device_count; ++i) positions[devices[i]] = i;
  mesh->devices = devices;
  mesh->positions = positions;
  mesh->ends[mesh->end_count++] = 1;
  if (gspmd->device_count > 1) mesh->ends[mesh->end_count++] = gspmd->device_count;
  hlo_gspmd_mesh_t** link = &gspmd->meshes;
  while (*link) link = &(*link)->next;
  *link = mesh;
  *out_mesh = mesh;
  return hlo_ok();
}

// Finds a mesh for tiles: one that exists, else one of devices in their natural order, else one of
// devices in the order of the tiles.
static hlo_status_t place(hlo_gspmd_t* gspmd, hlo_gspmd_entry_t* entry) {
  if (entry->sharding.kind != HLO_OP_SHARDING_TILED) return hlo_ok();
  const int64_t count = hlo_op_sharding_device_count(&entry->sharding);
  if (count != gspmd->device_count) {
    return hlo_invalid_argument("a sharding over %lld devices in a program for %lld partitions",
                                (long long)count, (long long)gspmd->device_count);
  }
  const int64_t* devices;
  int64_t* scratch = hlo_arena_array(gspmd->arena, (size_t)count, sizeof *scratch);
  if (!scratch) return hlo_arena_status(gspmd->arena);
  HLO_TRY(hlo_op_sharding_devices(&entry->sharding, gspmd->arena, &devices));
  for (hlo_gspmd_mesh_t* mesh = gspmd->meshes; mesh; mesh = mesh->next) {
    if (fit(mesh, devices, scratch, entry)) return hlo_ok();
  }
  for (int own_order = 0; own_order < 2; ++own_order) {
    hlo_gspmd_mesh_t* mesh;
    const bool is_natural =
        !own_order && hlo_tile_factors_find(&entry->sharding, devices, &entry->factors);
    if (!own_order && !is_natural) continue;
    HLO_TRY(append_mesh(gspmd, own_order ? devices : NULL, &mesh));
    if (fit(mesh, devices, scratch, entry)) return hlo_ok();
  }
  return hlo_internal_error("tiles have no mesh");
}

// ---- entries

static hlo_status_t place_all(hlo_gspmd_t* gspmd, hlo_gspmd_entry_t* entry) {
  const size_t count = entry->sharding.elements.count;
  const hlo_op_sharding_t* elements = entry->sharding.elements.items;
  if (count) entry->elements = hlo_arena_array(gspmd->arena, count, sizeof *entry->elements);
  HLO_TRY(hlo_arena_status(gspmd->arena));
  for (size_t i = 0; i < count; ++i) {
    entry->elements[i].sharding = elements[i];
    HLO_TRY(place(gspmd, &entry->elements[i]));
  }
  return place(gspmd, entry);
}

hlo_status_t hlo_gspmd_add(hlo_gspmd_t* gspmd, const hlo_attr_t* text) {
  if (hlo_map_get_pointer(&gspmd->entries, text)) return hlo_ok();
  hlo_gspmd_entry_t* entry = hlo_arena_alloc_zeroed(gspmd->arena, sizeof *entry);
  if (!entry) return hlo_arena_status(gspmd->arena);
  // Programs of older frameworks have a serialized proto in the attribute.
  const bool is_text = text->text_length && text->text[0] == '{';
  HLO_TRY(
      is_text
          ? hlo_op_sharding_parse(text->text, text->text_length, gspmd->arena, &entry->sharding)
          : hlo_op_sharding_decode(text->text, text->text_length, gspmd->arena, &entry->sharding));
  HLO_TRY(place_all(gspmd, entry));
  return hlo_map_put_pointer(&gspmd->entries, text, entry)
             ? hlo_ok()
             : hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
}

const hlo_gspmd_entry_t* hlo_gspmd_find(const hlo_gspmd_t* gspmd, const hlo_attr_t* text) {
  return text ? hlo_map_get_pointer(&gspmd->entries, text) : NULL;
}

// ---- meshes of the module

static hlo_status_t free_name(hlo_gspmd_t* gspmd, hlo_strbuf_t* name) {
  const hlo_mesh_t* taken;
  hlo_strbuf_puts(name, "mesh");
  for (unsigned n = 1;; ++n) {
    HLO_TRY(hlo_strbuf_status(name));
    HLO_TRY(hlo_mesh_find(gspmd->module, hlo_strbuf_text(name), name->length, &taken));
    if (!taken && !hlo_module_find_func(gspmd->module, hlo_strbuf_text(name))) return hlo_ok();
    hlo_strbuf_deinit(name);
    hlo_strbuf_printf(name, "mesh_%u", n);
  }
}

static void put_mesh(const hlo_gspmd_t* gspmd, const hlo_gspmd_mesh_t* mesh, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "#sdy.mesh<[");
  for (uint32_t i = mesh->end_count - 1, axis = 0; i > 0; --i, ++axis) {
    hlo_strbuf_printf(out, "%s\"axis_%u\"=%lld", axis ? ", " : "", axis,
                      (long long)(mesh->ends[i] / mesh->ends[i - 1]));
  }
  hlo_strbuf_putc(out, ']');
  for (int64_t i = 0; mesh->devices && i < gspmd->device_count; ++i) {
    hlo_strbuf_printf(out, "%s%lld", i ? ", " : ", device_ids=[", (long long)mesh->devices[i]);
  }
  hlo_strbuf_puts(out, mesh->devices ? "]>" : ">");
}

static hlo_status_t create_mesh(hlo_gspmd_t* gspmd, hlo_gspmd_mesh_t* mesh) {
  hlo_module_t* module = gspmd->module;
  HLO_SCOPED_STRBUF name = {0}, text = {0};
  HLO_TRY(free_name(gspmd, &name));
  put_mesh(gspmd, mesh, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_sym_name, hlo_attr_string(module, hlo_strbuf_text(&name), name.length)},
      {HLO_ATTR_mesh, hlo_attr_opaque(module, hlo_strbuf_text(&text), text.length)}};
  if (!module->top) module->top = hlo_region_create(module, NULL, NULL);
  hlo_node_t* node = hlo_node_create(
      module, &(hlo_node_spec_t){.op = HLO_OP_sdy_mesh, .attr_count = 2, .attrs = attrs});
  HLO_TRY(hlo_module_status(module));
  hlo_region_append(module->top, node);
  return hlo_mesh_find(module, hlo_strbuf_text(&name), name.length, &mesh->mesh);
}

hlo_status_t hlo_gspmd_create_meshes(hlo_gspmd_t* gspmd) {
  hlo_gspmd_mesh_t* mesh = gspmd->meshes;
  if (!mesh) HLO_TRY(append_mesh(gspmd, NULL, &mesh));
  for (; mesh; mesh = mesh->next) HLO_TRY(create_mesh(gspmd, mesh));
  return hlo_ok();
}

// ---- shardings

// Returns the number of the axis that begins at an end of the mesh.
static uint32_t axis_at(const hlo_gspmd_mesh_t* mesh, int64_t end) {
  uint32_t i = 0;
  while (mesh->ends[i] < end) ++i;
  return mesh->end_count - 2 - i;
}

// Appends the axes of a factor, major to minor.
static void append_axes(const hlo_gspmd_mesh_t* mesh, const hlo_tile_factor_t* factor,
                        hlo_axis_ref_t* refs, uint32_t* count) {
  const uint32_t last = axis_at(mesh, factor->stride);
  uint32_t first = last;
  int64_t size = mesh->mesh->axes[first].size;
  while (size < factor->size) size *= mesh->mesh->axes[--first].size;
  for (uint32_t axis = first; axis <= last; ++axis) {
    refs[(*count)++] = (hlo_axis_ref_t){axis, 1, mesh->mesh->axes[axis].size};
  }
}

static hlo_axis_refs_t dim_axes(const hlo_gspmd_entry_t* entry, uint32_t dim,
                                hlo_axis_ref_t* storage) {
  hlo_axis_refs_t list = {0, storage};
  for (uint32_t i = 0; i < entry->factors.count; ++i) {
    const hlo_tile_factor_t* factor = &entry->factors.items[i];
    if (factor->dim == dim) append_axes(entry->mesh, factor, storage, &list.count);
  }
  return list;
}

static size_t data_rank(const hlo_op_sharding_t* s) {
  size_t rank = 0;
  while (rank < s->tile_dims.count && hlo_op_sharding_dim_kind(s, rank) == HLO_OP_SHARDING_TILED) {
    ++rank;
  }
  return rank;
}

// Fills the axes of dimensions and those of unreduced subgroups.
static hlo_status_t fill_tiles(const hlo_gspmd_entry_t* entry, hlo_axis_ref_t* storage,
                               hlo_dim_sharding_t* dims, hlo_sharding_t* fields) {
  const size_t rank = data_rank(&entry->sharding);
  if (rank != fields->rank) {
    return hlo_invalid_argument("a sharding of %zu dimensions for a value of %u", rank,
                                fields->rank);
  }
  fields->mesh = entry->mesh->mesh;
  for (uint32_t d = 0; d < entry->sharding.tile_dims.count; ++d) {
    const hlo_axis_refs_t axes = dim_axes(entry, d, storage);
    const hlo_op_sharding_kind_t kind = hlo_op_sharding_dim_kind(&entry->sharding, d);
    if (kind == HLO_OP_SHARDING_TILED) dims[d].axes = axes;
    if (kind == HLO_OP_SHARDING_UNREDUCED) fields->unreduced = axes;
    storage += axes.count;
  }
  return hlo_ok();
}

hlo_status_t hlo_gspmd_sharding(hlo_gspmd_t* gspmd, const hlo_gspmd_entry_t* entry, uint32_t rank,
                                uint64_t open, const hlo_gspmd_mesh_t* mesh,
                                const hlo_sharding_t** out_sharding) {
  const hlo_op_sharding_t* s = &entry->sharding;
  hlo_dim_sharding_t dims[HLO_RANK_MAX];
  hlo_axis_ref_t storage[HLO_RANK_MAX];  // each axis at most once
  hlo_sharding_t fields = {.mesh = (mesh ? mesh : gspmd->meshes)->mesh, .rank = rank, .dims = dims};
  hlo_mesh_t maximal = {.device_count = 1, .device_ids = s->devices.items};
  for (uint32_t d = 0; d < rank; ++d) {
    dims[d] = (hlo_dim_sharding_t){.is_open = open >> d & 1, .priority = -1};
  }
  switch ((hlo_op_sharding_kind_t)s->kind) {
    case HLO_OP_SHARDING_UNKNOWN: *out_sharding = NULL; return hlo_ok();
    case HLO_OP_SHARDING_TILED: HLO_TRY(fill_tiles(entry, storage, dims, &fields)); break;
    case HLO_OP_SHARDING_UNREDUCED:
      fields.unreduced = (hlo_axis_refs_t){fields.mesh->axis_count, storage};
      for (uint32_t a = 0; a < fields.mesh->axis_count; ++a) {
        storage[a] = (hlo_axis_ref_t){a, 1, fields.mesh->axes[a].size};
      }
      break;
    case HLO_OP_SHARDING_MAXIMAL: {
      int64_t* ids = hlo_arena_alloc(&gspmd->module->arena, sizeof *ids);
      hlo_mesh_t* one = hlo_arena_alloc(&gspmd->module->arena, sizeof *one);
      if (!ids || !one) return hlo_module_status(gspmd->module);
      *ids = *maximal.device_ids;
      *one = maximal;
      one->device_ids = ids;
      fields.mesh = one;
      break;
    }
    case HLO_OP_SHARDING_REPLICATED: break;
    default: return hlo_invalid_argument("a manual sharding, or one of a tuple, for an array");
  }
  return hlo_sharding_intern(gspmd->module, &fields, out_sharding);
}

uint64_t hlo_gspmd_manual_axes(const hlo_gspmd_entry_t* entry) {
  if (entry->sharding.kind == HLO_OP_SHARDING_MANUAL) return UINT64_MAX;
  uint64_t set = 0;
  for (uint32_t d = 0; d < entry->sharding.tile_dims.count; ++d) {
    if (hlo_op_sharding_dim_kind(&entry->sharding, d) != HLO_OP_SHARDING_MANUAL) continue;
    hlo_axis_ref_t storage[HLO_RANK_MAX];
    const hlo_axis_refs_t axes = dim_axes(entry, d, storage);
    for (uint32_t i = 0; i < axes.count; ++i) set |= 1ull << axes.refs[i].axis;
  }
  return set;
}
