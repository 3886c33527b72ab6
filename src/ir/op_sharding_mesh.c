// SPDX-License-Identifier: Apache-2.0
// Conversion between tiles of devices and axes of meshes (see op_sharding.h).
#include <string.h>

#include "ir/op_sharding.h"

// ---- from axes to tiles

// The axes of a mesh, divided where a sharding divides one of them. Parts are major to minor.
typedef struct parts {
  uint32_t count;
  int64_t sizes[HLO_RANK_MAX];
  int64_t pre_sizes[HLO_RANK_MAX];  // within the axis
  uint32_t axes[HLO_RANK_MAX];
  hlo_op_sharding_kind_t kinds[HLO_RANK_MAX];
  // The parts in the order of the tiles.
  uint32_t used_count;
  int32_t order[HLO_RANK_MAX];
} parts_t;

// All lists of axes of a sharding.
typedef struct lists {
  const hlo_sharding_t* sharding;
  const hlo_axis_refs_t* manual;
} lists_t;

static const hlo_axis_refs_t* list_at(const lists_t* lists, uint32_t i) {
  static const hlo_axis_refs_t none = {0};
  const hlo_sharding_t* s = lists->sharding;
  if (i < s->rank) return &s->dims[i].axes;
  if (i == s->rank) return &s->unreduced;
  return lists->manual ? lists->manual : &none;
}

static uint32_t list_count(const lists_t* lists) {
  return lists->sharding->rank + 2;
}

// Returns the smallest end of a part of the axis that is larger than `begin`.
static int64_t next_end(const lists_t* lists, uint32_t axis, int64_t begin) {
  int64_t end = lists->sharding->mesh->axes[axis].size;
  for (uint32_t l = 0; l < list_count(lists); ++l) {
    const hlo_axis_refs_t* list = list_at(lists, l);
    for (uint32_t i = 0; i < list->count; ++i) {
      const hlo_axis_ref_t* ref = &list->refs[i];
      if (ref->axis != axis) continue;
      const int64_t last = ref->pre_size * ref->size;
      if (ref->pre_size > begin && ref->pre_size < end) end = ref->pre_size;
      if (last > begin && last < end) end = last;
    }
  }
  return end;
}

static hlo_status_t divide_axes(const lists_t* lists, parts_t* parts) {
  const hlo_mesh_t* mesh = lists->sharding->mesh;
  for (uint32_t a = 0; a < mesh->axis_count; ++a) {
    for (int64_t begin = 1; begin < mesh->axes[a].size;) {
      const int64_t end = next_end(lists, a, begin);
      if (end % begin)
        return hlo_invalid_argument("sharding: parts of an axis without a common division");
      if (parts->count == HLO_RANK_MAX) return hlo_invalid_argument("sharding: too many axes");
      parts->axes[parts->count] = a;
      parts->pre_sizes[parts->count] = begin;
      parts->kinds[parts->count] = HLO_OP_SHARDING_REPLICATED;
      parts->sizes[parts->count++] = end / begin;
      begin = end;
    }
  }
  return hlo_ok();
}

static bool is_part_of(const parts_t* parts, uint32_t part, const hlo_axis_ref_t* ref) {
  return parts->axes[part] == ref->axis && parts->pre_sizes[part] >= ref->pre_size &&
         parts->pre_sizes[part] < ref->pre_size * ref->size;
}

// Marks the parts of a list; appended to the tiles if they divide a dimension. Returns their size.
static int64_t take_list(const hlo_axis_refs_t* list, hlo_op_sharding_kind_t kind, parts_t* parts) {
  int64_t size = 1;
  for (uint32_t i = 0; i < list->count; ++i) {
    for (uint32_t p = 0; p < parts->count; ++p) {
      if (!is_part_of(parts, p, &list->refs[i])) continue;
      if (parts->kinds[p] != HLO_OP_SHARDING_REPLICATED) continue;  // an axis counts once
      parts->kinds[p] = kind;
      size *= parts->sizes[p];
      if (kind == HLO_OP_SHARDING_TILED) parts->order[parts->used_count++] = (int32_t)p;
    }
  }
  return size;
}

// Appends all parts of a kind to the tiles, as one dimension.
static int64_t append_subgroup(hlo_op_sharding_kind_t kind, parts_t* parts) {
  int64_t size = 1;
  for (uint32_t p = 0; p < parts->count; ++p) {
    if (parts->kinds[p] != kind) continue;
    size *= parts->sizes[p];
    parts->order[parts->used_count++] = (int32_t)p;
  }
  return size;
}

static hlo_status_t copy_ints(hlo_arena_t* arena, size_t count, size_t item_bytes,
                              const void* items, hlo_wire_array_t* out) {
  void* copy = hlo_arena_array(arena, count, item_bytes);
  if (!copy) return hlo_arena_status(arena);
  if (count) memcpy(copy, items, count * item_bytes);
  *out = (hlo_wire_array_t){copy, count};
  return hlo_ok();
}

// Describes tiles with these factors as a transposed iota.
static hlo_status_t set_iota(const hlo_tile_factors_t* factors, hlo_arena_t* arena,
                             hlo_op_sharding_t* s) {
  int64_t dims[HLO_RANK_MAX] = {1};
  int32_t perm[HLO_RANK_MAX] = {0};
  for (uint32_t i = 0; i < factors->count; ++i) {
    for (uint32_t j = 0; j < factors->count; ++j) {
      perm[i] += factors->items[j].stride > factors->items[i].stride;
    }
    dims[perm[i]] = factors->items[i].size;
  }
  const uint32_t count = factors->count ? factors->count : 1;
  s->devices = (hlo_wire_array_t){0};
  HLO_TRY(copy_ints(arena, count, sizeof *dims, dims, &s->iota_dims));
  HLO_TRY(copy_ints(arena, count, sizeof *perm, perm, &s->iota_perm));
  hlo_op_sharding_merge_iota(s);
  return hlo_ok();
}

// Replaces the positions by the devices of the mesh.
static hlo_status_t list_devices(const hlo_mesh_t* mesh, hlo_arena_t* arena, hlo_op_sharding_t* s) {
  const int64_t* positions;
  hlo_tile_factors_t factors;
  HLO_TRY(hlo_op_sharding_devices(s, arena, &positions));
  int64_t* devices = hlo_arena_array(arena, (size_t)mesh->device_count, sizeof *devices);
  if (!devices) return hlo_arena_status(arena);
  for (int64_t i = 0; i < mesh->device_count; ++i) devices[i] = mesh->device_ids[positions[i]];
  if (hlo_tile_factors_find(s, devices, &factors)) return set_iota(&factors, arena, s);
  s->devices = (hlo_wire_array_t){devices, (size_t)mesh->device_count};
  s->iota_dims = s->iota_perm = (hlo_wire_array_t){0};
  return hlo_ok();
}

// Returns the kind of a value that is the same everywhere; TILED if it is not.
static hlo_op_sharding_kind_t whole_kind(const parts_t* parts) {
  for (uint32_t p = 1; p < parts->count; ++p) {
    if (parts->kinds[p] != parts->kinds[0]) return HLO_OP_SHARDING_TILED;
  }
  return parts->count ? parts->kinds[0] : HLO_OP_SHARDING_REPLICATED;
}

static hlo_status_t set_tiles(const lists_t* lists, parts_t* parts, hlo_arena_t* arena,
                              hlo_op_sharding_t* out) {
  static const hlo_op_sharding_kind_t kinds[] = {HLO_OP_SHARDING_REPLICATED, HLO_OP_SHARDING_MANUAL,
                                                 HLO_OP_SHARDING_UNREDUCED};
  const hlo_sharding_t* s = lists->sharding;
  int64_t dims[HLO_RANK_MAX + 3];
  int32_t subgroups[3];
  size_t subgroup_count = 0;
  for (uint32_t d = 0; d < s->rank; ++d) {
    dims[d] = take_list(&s->dims[d].axes, HLO_OP_SHARDING_TILED, parts);
  }
  take_list(list_at(lists, s->rank), HLO_OP_SHARDING_UNREDUCED, parts);
  take_list(list_at(lists, s->rank + 1), HLO_OP_SHARDING_MANUAL, parts);
  out->kind = whole_kind(parts);
  if (out->kind != HLO_OP_SHARDING_TILED) return hlo_ok();
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    const int64_t size = append_subgroup(kinds[i], parts);
    if (size == 1) continue;
    dims[s->rank + subgroup_count] = size;
    subgroups[subgroup_count++] = kinds[i];
  }
  HLO_TRY(copy_ints(arena, s->rank + subgroup_count, sizeof *dims, dims, &out->tile_dims));
  out->replicates_last = subgroup_count == 1 && subgroups[0] == HLO_OP_SHARDING_REPLICATED;
  if (!out->replicates_last) {
    HLO_TRY(copy_ints(arena, subgroup_count, sizeof *subgroups, subgroups, &out->subgroups));
  }
  HLO_TRY(copy_ints(arena, parts->used_count, sizeof *parts->sizes, parts->sizes, &out->iota_dims));
  HLO_TRY(copy_ints(arena, parts->used_count, sizeof *parts->order, parts->order, &out->iota_perm));
  hlo_op_sharding_merge_iota(out);
  return s->mesh->device_ids ? list_devices(s->mesh, arena, out) : hlo_ok();
}

hlo_status_t hlo_op_sharding_from_sharding(const hlo_sharding_t* sharding,
                                           const hlo_axis_refs_t* manual, hlo_arena_t* arena,
                                           hlo_op_sharding_t* out) {
  hlo_op_sharding_t s = {0};
  if (hlo_mesh_is_maximal(sharding->mesh)) {
    s.kind = HLO_OP_SHARDING_MAXIMAL;
    HLO_TRY(copy_ints(arena, 1, sizeof(int64_t), sharding->mesh->device_ids, &s.devices));
  } else {
    const lists_t lists = {sharding, manual};
    parts_t parts = {0};
    HLO_TRY(divide_axes(&lists, &parts));
    HLO_TRY(set_tiles(&lists, &parts, arena, &s));
  }
  *out = s;
  return hlo_ok();
}

// ---- from tiles to factors

hlo_status_t hlo_op_sharding_devices(const hlo_op_sharding_t* sharding, hlo_arena_t* arena,
                                     const int64_t** out_devices) {
  if (sharding->devices.count) {
    *out_devices = sharding->devices.items;
    return hlo_ok();
  }
  const int64_t count = hlo_op_sharding_device_count(sharding);
  const uint32_t rank = (uint32_t)sharding->iota_dims.count;
  const int64_t* dims = sharding->iota_dims.items;
  const int32_t* perm = sharding->iota_perm.items;
  int64_t* devices = hlo_arena_array(arena, (size_t)count, sizeof *devices);
  if (!devices) return hlo_arena_status(arena);
  int64_t strides[HLO_RANK_MAX], index[HLO_RANK_MAX] = {0}, stride = 1, device = 0;
  for (uint32_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
  for (int64_t i = 0; i < count; ++i) {
    devices[i] = device;
    for (uint32_t d = rank; d-- > 0;) {
      const int32_t from = perm[d];
      device += strides[from];
      if (++index[d] < dims[from]) break;
      device -= strides[from] * dims[from];
      index[d] = 0;
    }
  }
  *out_devices = devices;
  return hlo_ok();
}

static hlo_status_t find_tile(const hlo_op_sharding_t* sharding, int64_t device, uint32_t rank,
                              int64_t* parts, int64_t* at) {
  HLO_SCOPED_ARENA arena = {0};
  const int64_t* devices;
  const int64_t* dims = sharding->tile_dims.items;
  HLO_TRY(hlo_op_sharding_devices(sharding, &arena, &devices));
  const int64_t count = hlo_op_sharding_device_count(sharding);
  int64_t tile = 0;
  while (tile < count && devices[tile] != device) ++tile;
  if (tile == count) {
    return hlo_invalid_argument("the sharding has no device %lld", (long long)device);
  }
  for (size_t d = sharding->tile_dims.count; d-- > 0; tile /= dims[d]) {
    const hlo_op_sharding_kind_t kind = hlo_op_sharding_dim_kind(sharding, d);
    if (kind == HLO_OP_SHARDING_UNREDUCED) return hlo_unimplemented("the parts are partial sums");
    if (kind != HLO_OP_SHARDING_TILED || d >= rank) continue;
    parts[d] = dims[d];
    at[d] = tile % dims[d];
  }
  return hlo_ok();
}

hlo_status_t hlo_op_sharding_place(const hlo_op_sharding_t* sharding, int64_t device, uint32_t rank,
                                   int64_t* out_parts, int64_t* out_at) {
  for (uint32_t d = 0; d < rank; ++d) out_parts[d] = 1, out_at[d] = 0;
  if (sharding->kind == HLO_OP_SHARDING_UNREDUCED) {
    return hlo_unimplemented("the parts are partial sums");
  }
  if (sharding->kind != HLO_OP_SHARDING_TILED) return hlo_ok();
  return find_tile(sharding, device, rank, out_parts, out_at);
}

// Finds the factors of one dimension, minor to major, from the positions along it.
static bool find_dim_factors(const int64_t* positions, int64_t step, int64_t size, uint32_t dim,
                             hlo_tile_factors_t* out) {
  for (int64_t done = 1; done < size;) {
    const int64_t stride = positions[done * step];
    int64_t count = 2;
    while (done * count < size && positions[done * count * step] == stride * count) ++count;
    while (size / done % count) --count;
    if (size % done || out->count == HLO_RANK_MAX) return false;
    if (count < 2) return false;
    out->items[out->count++] = (hlo_tile_factor_t){count, stride, dim};
    done *= count;
  }
  return true;
}

// Strides and sizes of all factors must be those of a row-major array.
static bool are_factors_dense(const hlo_tile_factors_t* factors) {
  int64_t stride = 1;
  for (uint32_t done = 0; done < factors->count; ++done) {
    uint32_t i = 0;
    while (i < factors->count && factors->items[i].stride != stride) ++i;
    if (i == factors->count) return false;
    stride *= factors->items[i].size;
  }
  return true;
}

static int64_t position_of(const hlo_tile_factors_t* factors, int64_t tile) {
  int64_t position = 0;
  for (uint32_t i = factors->count; i-- > 0;) {
    position += tile % factors->items[i].size * factors->items[i].stride;
    tile /= factors->items[i].size;
  }
  return position;
}

bool hlo_tile_factors_find(const hlo_op_sharding_t* sharding, const int64_t* positions,
                           hlo_tile_factors_t* out) {
  const int64_t* dims = sharding->tile_dims.items;
  const int64_t count = hlo_op_sharding_device_count(sharding);
  out->count = 0;
  if (positions[0] != 0) return false;
  int64_t step = 1;
  for (size_t d = sharding->tile_dims.count; d-- > 0; step *= dims[d]) {
    if (!find_dim_factors(positions, step, dims[d], (uint32_t)d, out)) return false;
  }
  for (uint32_t i = 0; i < out->count / 2; ++i) {
    const hlo_tile_factor_t minor = out->items[i];
    out->items[i] = out->items[out->count - 1 - i];
    out->items[out->count - 1 - i] = minor;
  }
  if (!are_factors_dense(out)) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (positions[i] != position_of(out, i)) return false;
  }
  return true;
}
