// SPDX-License-Identifier: Apache-2.0
// The grid of all meshes of a module (see grid.h).
#include "spmd/grid.h"

#include <string.h>

#include "base/mem.h"
#include "ir/clone.h"

// The boundaries between axes of the grid: strides, each dividing the next, and the device count.
typedef struct cuts {
  uint32_t count;
  int64_t values[HLO_GRID_AXES_MAX + 1];  // ascending, 1 first
} cuts_t;

// Adds a boundary; false if it is no multiple or divisor of another one.
static bool add_cut(cuts_t* cuts, int64_t cut) {
  uint32_t at = 0;
  while (at < cuts->count && cuts->values[at] < cut) ++at;
  if (at < cuts->count && cuts->values[at] == cut) return true;
  bool divides = (at == 0 || cut % cuts->values[at - 1] == 0) &&
                 (at == cuts->count || cuts->values[at] % cut == 0);
  if (!divides || cuts->count == HLO_GRID_AXES_MAX + 1) return false;
  memmove(&cuts->values[at + 1], &cuts->values[at], (cuts->count - at) * sizeof *cuts->values);
  cuts->values[at] = cut;
  ++cuts->count;
  return true;
}

static int64_t smallest_prime(int64_t size) {
  for (int64_t p = 2; p * p <= size; ++p) {
    if (size % p == 0) return p;
  }
  return size;
}

// A part of prime size of a mesh axis, and its stride in the grid.
typedef struct mesh_part {
  uint32_t axis;
  int64_t size, stride;
} mesh_part_t;

// Divides the axes of a mesh into parts; false if there are too many.
static bool divide_mesh(const hlo_mesh_t* mesh, mesh_part_t* parts, uint32_t* out_count) {
  *out_count = 0;
  int64_t stride = mesh->device_count;
  for (uint32_t i = 0; i < mesh->axis_count; ++i) {
    for (int64_t rest = mesh->axes[i].size; rest > 1;) {
      int64_t prime = smallest_prime(rest);
      if (*out_count == HLO_GRID_AXES_MAX) return false;
      stride /= prime;
      rest /= prime;
      parts[(*out_count)++] = (mesh_part_t){i, prime, stride};
    }
  }
  return true;
}

// Replaces the strides of the parts, which are those of the mesh, by strides of grid positions;
// false if positions are no sums over the parts. `positions`: by device.
static bool place_parts(const hlo_mesh_t* mesh, const int64_t* positions, mesh_part_t* parts,
                        uint32_t count) {
  int64_t strides[HLO_GRID_AXES_MAX];
  for (uint32_t j = 0; j < count; ++j) strides[j] = positions[mesh->device_ids[parts[j].stride]];
  for (int64_t i = 0; i < mesh->device_count; ++i) {
    int64_t position = 0;
    for (uint32_t j = 0; j < count; ++j) {
      position += i / parts[j].stride % parts[j].size * strides[j];
    }
    if (position != positions[mesh->device_ids[i]]) return false;
  }
  for (uint32_t j = 0; j < count; ++j) parts[j].stride = strides[j];
  return true;
}

typedef struct builder_mesh {
  const hlo_mesh_t* mesh;
  bool is_manual;    // of a manual computation, which may use numbers of partitions
  bool is_remapped;  // its axes have no common division with those of the others
} builder_mesh_t;

typedef struct grid_builder {
  hlo_arena_t* arena;
  hlo_grid_t* grid;
  cuts_t cuts;
  uint32_t mesh_count, mesh_capacity;
  builder_mesh_t* meshes;
} grid_builder_t;

static bool has_grid_order(const grid_builder_t* b, const hlo_mesh_t* mesh) {
  for (int64_t i = 0; i < mesh->device_count; ++i) {
    int64_t id = mesh->device_ids ? mesh->device_ids[i] : i;
    if (b->grid->positions[id] != i) return false;
  }
  return true;
}

static hlo_status_t refuse_mesh(const hlo_mesh_t* mesh) {
  return hlo_unimplemented(
      "the axes of mesh @%s and those of the other meshes have no common division",
      mesh->name ? mesh->name : "");
}

// Returns the parts of a mesh in another order than the grid's, with their strides in the grid;
// false if it must be permuted.
static bool find_parts(const grid_builder_t* b, const hlo_mesh_t* mesh, mesh_part_t* parts,
                       uint32_t* out_count) {
  return mesh->device_ids && divide_mesh(mesh, parts, out_count) &&
         place_parts(mesh, b->grid->positions, parts, *out_count);
}

// Adds the boundaries of a mesh; false if some are in conflict with others.
static bool add_cuts(grid_builder_t* b, const hlo_mesh_t* mesh) {
  mesh_part_t parts[HLO_GRID_AXES_MAX];
  uint32_t count;
  bool can = true;
  if (has_grid_order(b, mesh) || !find_parts(b, mesh, parts, &count)) {
    int64_t stride = mesh->device_count;
    for (uint32_t i = 0; i < mesh->axis_count; ++i) {
      stride /= mesh->axes[i].size;
      can = can && add_cut(&b->cuts, stride);
    }
    return can;
  }
  for (uint32_t j = 0; can && j < count; ++j) {
    can = add_cut(&b->cuts, parts[j].stride) && add_cut(&b->cuts, parts[j].stride * parts[j].size);
  }
  return can;
}

// Adds the boundaries of a mesh, or lets its axes be any axes of the grid of their sizes: which
// device has which part matters only at the entry, and in manual computations.
static hlo_status_t cut_mesh(grid_builder_t* b, builder_mesh_t* mesh) {
  const cuts_t before = b->cuts;
  if (add_cuts(b, mesh->mesh)) return hlo_ok();
  if (mesh->is_manual) return refuse_mesh(mesh->mesh);
  b->cuts = before;
  mesh->is_remapped = true;
  return hlo_ok();
}

// Meshes of manual computations decide.
static hlo_status_t cut_meshes(grid_builder_t* b) {
  for (uint32_t turn = 0; turn < 2; ++turn) {
    for (uint32_t i = 0; i < b->mesh_count; ++i) {
      if (b->meshes[i].is_manual == (turn == 0)) HLO_TRY(cut_mesh(b, &b->meshes[i]));
    }
  }
  return hlo_ok();
}

// Makes the axes between the boundaries, of prime sizes.
static hlo_status_t make_axes(grid_builder_t* b) {
  hlo_grid_t* grid = b->grid;
  for (uint32_t k = b->cuts.count - 1; k > 0; --k) {
    int64_t stride = b->cuts.values[k];
    for (int64_t rest = stride / b->cuts.values[k - 1]; rest > 1;) {
      int64_t prime = smallest_prime(rest);
      rest /= prime;
      stride /= prime;
      if (grid->axis_count == HLO_GRID_AXES_MAX) {
        return hlo_unimplemented("meshes of more than %d prime factors", HLO_GRID_AXES_MAX);
      }
      grid->sizes[grid->axis_count] = (uint32_t)prime;
      grid->strides[grid->axis_count++] = (uint32_t)stride;
    }
  }
  return hlo_ok();
}

static hlo_status_t append_axis(const hlo_grid_t* grid, int64_t stride, int64_t size, uint8_t* axes,
                                uint32_t* count) {
  uint32_t i = 0;
  while (i < grid->axis_count && (grid->strides[i] != stride || grid->sizes[i] != size)) ++i;
  if (i == grid->axis_count) return hlo_internal_error("an axis of a mesh is not in the grid");
  axes[(*count)++] = (uint8_t)i;
  return hlo_ok();
}

// Divides the axes of a mesh by those of the grid that have the sizes of their prime factors.
static hlo_status_t remap_mesh(const grid_builder_t* b, hlo_grid_mesh_t* map) {
  const hlo_grid_t* grid = b->grid;
  mesh_part_t parts[HLO_GRID_AXES_MAX];
  uint32_t part_count = 0, next = 0;
  hlo_axis_set_t used = 0;
  map->is_permuted = true;
  if (!divide_mesh(map->mesh, parts, &part_count)) return refuse_mesh(map->mesh);
  for (uint32_t i = 0; i <= map->mesh->axis_count; ++i) {
    map->firsts[i] = (uint8_t)next;
    for (; next < part_count && parts[next].axis == i; ++next) {
      uint8_t a = 0;
      while (a < grid->axis_count &&
             ((used & hlo_axis_bit(a)) || grid->sizes[a] != (uint32_t)parts[next].size)) {
        ++a;
      }
      if (a == grid->axis_count) return hlo_internal_error("an axis of a mesh is not in the grid");
      used |= hlo_axis_bit(a);
      map->axes[next] = a;
    }
  }
  return hlo_ok();
}

static hlo_status_t map_mesh(const grid_builder_t* b, hlo_grid_mesh_t* map) {
  const hlo_mesh_t* mesh = map->mesh;
  uint32_t count = 0, part_count = 0;
  mesh_part_t parts[HLO_GRID_AXES_MAX];
  const bool is_in_order = has_grid_order(b, mesh);
  map->is_permuted = !is_in_order && !find_parts(b, mesh, parts, &part_count);
  if (is_in_order || map->is_permuted) {
    int64_t stride = mesh->device_count;
    for (uint32_t i = 0; i < mesh->axis_count; ++i) {
      int64_t end = stride;
      stride /= mesh->axes[i].size;
      map->firsts[i] = (uint8_t)count;
      for (uint32_t a = 0; a < b->grid->axis_count; ++a) {
        bool is_inside = b->grid->strides[a] >= stride && b->grid->strides[a] < end;
        if (is_inside) map->axes[count++] = (uint8_t)a;
      }
    }
  } else {
    uint32_t next = 0;
    for (uint32_t i = 0; i < mesh->axis_count; ++i) {
      map->firsts[i] = (uint8_t)count;
      for (; next < part_count && parts[next].axis == i; ++next) {
        HLO_TRY(append_axis(b->grid, parts[next].stride, parts[next].size, map->axes, &count));
      }
    }
  }
  map->firsts[mesh->axis_count] = (uint8_t)count;
  return hlo_ok();
}

static bool is_same_mesh(const hlo_mesh_t* a, const hlo_mesh_t* b) {
  if (a == b) return true;
  bool is_same = a->axis_count == b->axis_count && a->device_count == b->device_count;
  for (uint32_t i = 0; is_same && i < a->axis_count; ++i) {
    is_same = a->axes[i].size == b->axes[i].size && strcmp(a->axes[i].name, b->axes[i].name) == 0;
  }
  for (int64_t i = 0; is_same && i < a->device_count; ++i) {
    is_same = (a->device_ids ? a->device_ids[i] : i) == (b->device_ids ? b->device_ids[i] : i);
  }
  return is_same;
}

static bool is_known_mesh(const hlo_mesh_t* mesh, const hlo_mesh_t* known) {
  return mesh == known || (!mesh->name && is_same_mesh(mesh, known));
}

static hlo_status_t add_mesh(grid_builder_t* b, const hlo_mesh_t* mesh) {
  // A mesh of one device divides nothing.
  if (hlo_mesh_is_maximal(mesh) || mesh->device_count == 1) return hlo_ok();
  for (uint32_t i = 0; i < b->mesh_count; ++i) {
    if (is_known_mesh(mesh, b->meshes[i].mesh)) return hlo_ok();
  }
  if (mesh->device_count != b->grid->device_count) {
    return hlo_invalid_argument("mesh @%s has %lld devices, but the program %u partitions",
                                mesh->name ? mesh->name : "", (long long)mesh->device_count,
                                b->grid->device_count);
  }
  if (mesh->axis_count > HLO_GRID_AXES_MAX) return refuse_mesh(mesh);
  if (!HLO_ARENA_GROW(b->arena, b->meshes, b->mesh_count, b->mesh_capacity)) {
    return hlo_arena_status(b->arena);
  }
  b->meshes[b->mesh_count++] = (builder_mesh_t){.mesh = mesh};
  return hlo_ok();
}

// Finds the meshes of manual computations.
static hlo_status_t mark_manual_meshes(void* context, hlo_node_t* node) {
  static const hlo_attr_id_t ids[] = {HLO_ATTR_in_shardings, HLO_ATTR_out_shardings};
  grid_builder_t* b = context;
  if (node->op != HLO_OP_sdy_manual_computation) return hlo_ok();
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
    const hlo_attr_t* attr = hlo_node_attr(node, ids[i]);
    const hlo_sharding_t* const* list = NULL;
    uint32_t count = 0;
    if (attr) HLO_TRY(hlo_sharding_parse_list(node->parent->module, attr, &count, &list));
    for (uint32_t k = 0; k < count; ++k) {
      for (uint32_t m = 0; m < b->mesh_count; ++m) {
        b->meshes[m].is_manual |= is_known_mesh(list[k]->mesh, b->meshes[m].mesh);
      }
    }
  }
  return hlo_ok();
}

// Adds the meshes inside of an attribute, of one sharding or of a list.
static hlo_status_t add_inline_mesh(grid_builder_t* b, hlo_module_t* module,
                                    const hlo_attr_t* attr) {
  if (!attr || attr->kind != HLO_ATTR_KIND_OPAQUE || !strstr(attr->text, "<mesh<")) return hlo_ok();
  const hlo_sharding_t* one;
  const hlo_sharding_t* const* list = &one;
  uint32_t count = 1;
  if (strstr(attr->text, "sharding_per_value")) {
    HLO_TRY(hlo_sharding_parse_list(module, attr, &count, &list));
  } else {
    HLO_TRY(hlo_sharding_parse(module, attr, &one));
  }
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(add_mesh(b, list[i]->mesh));
  return hlo_ok();
}

static hlo_status_t add_inline_meshes(void* context, hlo_node_t* node) {
  static const hlo_attr_id_t ids[] = {HLO_ATTR_sharding, HLO_ATTR_in_shardings,
                                      HLO_ATTR_out_shardings};
  hlo_module_t* module = node->parent->module;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
    HLO_TRY(add_inline_mesh(context, module, hlo_node_attr(node, ids[i])));
  }
  return add_inline_mesh(context, module, hlo_attr_dict_get(node->extra, "sdy.sharding"));
}

static hlo_status_t collect_meshes(grid_builder_t* b, hlo_module_t* module) {
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    if (node->op != HLO_OP_sdy_mesh) continue;
    const char* name = hlo_node_attr_text(node, HLO_ATTR_sym_name);
    const hlo_mesh_t* mesh;
    HLO_TRY(hlo_mesh_find(module, name, strlen(name), &mesh));
    if (mesh) HLO_TRY(hlo_node_annotate(node, add_mesh(b, mesh)));
  }
  const hlo_func_t* entry = hlo_module_entry(module);
  const uint32_t inputs = entry ? entry->type->input_count : 0;
  for (uint32_t i = 0; entry && i < entry->type->element_count; ++i) {
    const hlo_attr_t* const* attrs = i < inputs ? entry->arg_attrs : entry->result_attrs;
    const hlo_attr_t* dict = attrs ? attrs[i < inputs ? i : i - inputs] : NULL;
    HLO_TRY(add_inline_mesh(b, module, hlo_attr_dict_get(dict, "sdy.sharding")));
  }
  HLO_TRY(hlo_module_walk(module, false, add_inline_meshes, b));
  return hlo_module_walk(module, true, mark_manual_meshes, b);
}

// The grid has the device order of a mesh without device_ids, or else that of the first mesh.
static hlo_status_t order_devices(grid_builder_t* b) {
  const hlo_mesh_t* first = b->mesh_count ? b->meshes[0].mesh : NULL;
  for (uint32_t i = 0; i < b->mesh_count; ++i) {
    if (!b->meshes[i].mesh->device_ids) first = b->meshes[i].mesh;
  }
  const uint32_t count = b->grid->device_count;
  b->grid->device_ids = first ? first->device_ids : NULL;
  int64_t* positions = hlo_arena_array(b->arena, count, sizeof *positions);
  if (!positions) return hlo_arena_status(b->arena);
  for (uint32_t i = 0; i < count; ++i) positions[hlo_grid_device(b->grid, i)] = i;
  b->grid->positions = positions;
  return hlo_ok();
}

hlo_status_t hlo_grid_create(hlo_module_t* module, uint32_t device_count, hlo_arena_t* arena,
                             const hlo_grid_t** out_grid) {
  hlo_grid_t* grid = hlo_arena_alloc_zeroed(arena, sizeof *grid);
  if (!grid) return hlo_arena_status(arena);
  grid->device_count = device_count;
  grid_builder_t b = {.arena = arena, .grid = grid};
  add_cut(&b.cuts, 1);
  add_cut(&b.cuts, device_count);
  HLO_TRY(collect_meshes(&b, module));
  HLO_TRY(order_devices(&b));
  HLO_TRY(cut_meshes(&b));
  HLO_TRY(make_axes(&b));
  hlo_grid_mesh_t* maps = hlo_arena_array(arena, b.mesh_count, sizeof *maps);
  if (!maps) return hlo_arena_status(arena);
  for (uint32_t i = 0; i < b.mesh_count; ++i) {
    maps[i] = (hlo_grid_mesh_t){.mesh = b.meshes[i].mesh};
    HLO_TRY(b.meshes[i].is_remapped ? remap_mesh(&b, &maps[i]) : map_mesh(&b, &maps[i]));
  }
  grid->mesh_count = b.mesh_count;
  grid->meshes = maps;
  *out_grid = grid;
  return hlo_ok();
}

const hlo_grid_mesh_t* hlo_grid_find_mesh(const hlo_grid_t* grid, const hlo_mesh_t* mesh) {
  for (uint32_t i = 0; i < grid->mesh_count; ++i) {
    if (grid->meshes[i].mesh == mesh) return &grid->meshes[i];
  }
  for (uint32_t i = 0; i < grid->mesh_count && !mesh->name; ++i) {
    if (is_same_mesh(grid->meshes[i].mesh, mesh)) return &grid->meshes[i];
  }
  return NULL;
}

static hlo_status_t map_axis(const hlo_grid_t* grid, const hlo_grid_mesh_t* mesh,
                             hlo_axis_ref_t ref, hlo_dim_axes_t* axes) {
  int64_t before = 1;
  for (uint32_t i = mesh->firsts[ref.axis]; i < mesh->firsts[ref.axis + 1]; ++i) {
    const uint32_t size = grid->sizes[mesh->axes[i]];
    const int64_t end = ref.pre_size * ref.size;
    if (before >= ref.pre_size && before * size <= end && end % (before * size) == 0) {
      axes->axes[axes->count++] = mesh->axes[i];
    } else if (before < end && before * size > ref.pre_size) {
      return hlo_unimplemented("sub-axis \"%s\":(%lld)%lld cuts through a factor of the mesh",
                               mesh->mesh->axes[ref.axis].name, (long long)ref.pre_size,
                               (long long)ref.size);
    }
    before *= size;
  }
  return hlo_ok();
}

hlo_status_t hlo_grid_map_axes(const hlo_grid_t* grid, const hlo_grid_mesh_t* mesh,
                               hlo_axis_refs_t refs, hlo_dim_axes_t* axes) {
  for (uint32_t i = 0; mesh && i < refs.count; ++i) {
    HLO_TRY(map_axis(grid, mesh, refs.refs[i], axes));
  }
  return hlo_ok();
}
