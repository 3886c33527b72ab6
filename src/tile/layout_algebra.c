// SPDX-License-Identifier: Apache-2.0
// Layouts of results from layouts of operands, and the cost of converting one to another (see
// layout.h). Every rule is about modes, so one rule serves registers, memory and devices.
#include <inttypes.h>
#include <string.h>

#include "tile/layout_impl.h"

static const hlo_tile_layout_t* make(hlo_tile_layout_space_t* space, uint32_t rank,
                                     const int64_t* dims, const hlo_layout_mode_list_t* list,
                                     hlo_swizzle_t swizzle) {
  if (list->failed) return NULL;
  return hlo_tile_layout_make(space, rank, dims, list->count, list->modes, swizzle);
}

// Returns true if a sum has to be sent to others than its owner.
static bool is_shared_out(hlo_axis_t axis) {
  return axis == HLO_AXIS_LANE || axis == HLO_AXIS_GROUP || axis == HLO_AXIS_CORE ||
         axis == HLO_AXIS_DEVICE;
}

const hlo_tile_layout_t* hlo_tile_layout_reduce(hlo_tile_layout_space_t* space,
                                                const hlo_tile_layout_t* a, uint64_t dims) {
  int64_t kept_dims[HLO_TILE_LAYOUT_MAX_RANK];
  int32_t renamed[HLO_TILE_LAYOUT_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < a->rank; ++i) {
    renamed[i] = HLO_LAYOUT_MODE_REPLICATED;
    if (dims >> i & 1) continue;
    renamed[i] = (int32_t)rank;
    kept_dims[rank++] = a->dims[i];
  }
  hlo_layout_mode_list_t list = {0};
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    hlo_layout_mode_t mode = a->modes[i];
    if (mode.dim != HLO_LAYOUT_MODE_REPLICATED) {
      mode.dim = renamed[mode.dim];
      if (mode.dim == HLO_LAYOUT_MODE_REPLICATED) {
        if (!is_shared_out(mode.axis) || !mode.position) continue;
        mode.stride = 0;
      }
    }
    hlo_layout_modes_add(&list, mode);
  }
  return make(space, rank, kept_dims, &list, a->swizzle);
}

const hlo_tile_layout_t* hlo_tile_layout_broadcast(hlo_tile_layout_space_t* space,
                                                   const hlo_tile_layout_t* a, uint32_t rank,
                                                   const int64_t* dims, const int64_t* mapping) {
  hlo_layout_mode_list_t list = {0};
  uint64_t mapped = 0;
  if (rank > HLO_TILE_LAYOUT_MAX_RANK) return NULL;
  for (uint32_t i = 0; i < a->rank; ++i) {
    if (mapping[i] < 0 || mapping[i] >= rank) return NULL;
    if (a->dims[i] == dims[mapping[i]]) mapped |= (uint64_t)1 << mapping[i];
  }
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    hlo_layout_mode_t mode = a->modes[i];
    if (mode.dim != HLO_LAYOUT_MODE_REPLICATED) mode.dim = (int32_t)mapping[mode.dim];
    hlo_layout_modes_add(&list, mode);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    if (mapped >> i & 1) continue;
    hlo_layout_modes_add(&list, (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_SLOT, dims[i], 1, 0});
  }
  return make(space, rank, dims, &list, a->swizzle);
}

const hlo_tile_layout_t* hlo_tile_layout_transpose(hlo_tile_layout_space_t* space,
                                                   const hlo_tile_layout_t* a,
                                                   const int64_t* permutation) {
  int64_t dims[HLO_TILE_LAYOUT_MAX_RANK];
  int32_t renamed[HLO_TILE_LAYOUT_MAX_RANK];
  for (uint32_t i = 0; i < a->rank; ++i) {
    dims[i] = a->dims[permutation[i]];
    renamed[permutation[i]] = (int32_t)i;
  }
  hlo_layout_mode_list_t list;
  hlo_layout_modes_of(a, &list);
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.modes[i].dim >= 0) list.modes[i].dim = renamed[list.modes[i].dim];
  }
  return make(space, a->rank, dims, &list, a->swizzle);
}

// Computes row-major strides; returns the number of elements.
static int64_t find_strides(uint32_t rank, const int64_t* dims, int64_t* out_strides) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0; stride *= dims[i]) out_strides[i] = stride;
  return stride;
}

// Combines the modes of dimensions with these strides into modes of one dimension.
static void flatten(hlo_layout_mode_list_t* list, const int64_t* strides) {
  for (uint32_t i = 0; i < list->count; ++i) {
    hlo_layout_mode_t* mode = &list->modes[i];
    if (mode->dim == HLO_LAYOUT_MODE_REPLICATED) continue;
    mode->stride *= strides[mode->dim];
    mode->dim = 0;
  }
}

const hlo_tile_layout_t* hlo_tile_layout_reshape(hlo_tile_layout_space_t* space,
                                                 const hlo_tile_layout_t* a, uint32_t rank,
                                                 const int64_t* dims) {
  int64_t from[HLO_TILE_LAYOUT_MAX_RANK], strides[HLO_TILE_LAYOUT_MAX_RANK];
  if (rank > HLO_TILE_LAYOUT_MAX_RANK ||
      find_strides(a->rank, a->dims, from) != find_strides(rank, dims, strides)) {
    return NULL;
  }
  hlo_layout_mode_list_t list;
  hlo_layout_modes_of(a, &list);
  flatten(&list, from);
  for (uint32_t i = 0; i < rank; ++i) {
    if (!hlo_layout_modes_split(&list, 0, strides[i])) return NULL;
  }
  for (uint32_t i = 0; i < list.count; ++i) {
    hlo_layout_mode_t* mode = &list.modes[i];
    if (mode->dim == HLO_LAYOUT_MODE_REPLICATED) continue;
    uint32_t d = 0;
    while (strides[d] > mode->stride || dims[d] == 1) ++d;
    mode->dim = (int32_t)d;
    if (mode->stride % strides[d]) return NULL;
    mode->stride /= strides[d];
  }
  return make(space, rank, dims, &list, a->swizzle);
}

// Restricts dimension `dim` to [start, start + size) if that is a range of one mode and all modes
// inside it; otherwise returns the mode that it would split.
static const hlo_layout_mode_t* slice_dim(hlo_layout_mode_list_t* list, int32_t dim, int64_t start,
                                    int64_t size) {
  for (uint32_t i = 0; i < list->count; ++i) {
    hlo_layout_mode_t* mode = &list->modes[i];
    if (mode->dim != dim) continue;
    int64_t end = mode->stride * mode->extent;
    if (mode->stride >= size) {
      mode->extent = 1;  // one step of it; the rest is in the base
    } else if (end > size) {
      if (size % mode->stride || start % mode->stride || start % end + size > end) return mode;
      mode->extent = size / mode->stride;
    } else if (start % end) {
      return mode;
    }
  }
  return NULL;
}

static hlo_status_t refuse_slice(uint32_t dim, int64_t start, int64_t size, const char* what,
                                 int64_t number) {
  return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                           "dimension %u: %" PRId64 " elements from %" PRId64
                           " on are not %s %" PRId64,
                           dim, size, start, what, number);
}

hlo_status_t hlo_tile_layout_slice(hlo_tile_layout_space_t* space, const hlo_tile_layout_t* a,
                                   const int64_t* starts, const int64_t* sizes,
                                   int64_t out_base[HLO_AXIS_COUNT],
                                   const hlo_tile_layout_t** out_layout) {
  if (a->swizzle.bits) {  // positions would no longer be sums
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "a slice of swizzled addresses");
  }
  hlo_layout_mode_list_t list, kept = {0};
  hlo_layout_modes_of(a, &list);
  for (uint32_t i = 0; i < a->rank; ++i) {
    if (starts[i] < 0 || sizes[i] < 1 || sizes[i] > a->dims[i] - starts[i]) {
      return refuse_slice(i, starts[i], sizes[i], "within its size of", a->dims[i]);
    }
    const hlo_layout_mode_t* cut = slice_dim(&list, (int32_t)i, starts[i], sizes[i]);
    if (!cut) continue;
    bool is_torn = starts[i] % cut->stride || sizes[i] % cut->stride;
    return refuse_slice(i, starts[i], sizes[i], "whole tiles of",
                        is_torn ? cut->stride : cut->stride * cut->extent);
  }
  for (uint32_t i = 0; i < list.count; ++i) hlo_layout_modes_add(&kept, list.modes[i]);
  *out_layout = make(space, a->rank, sizes, &kept, a->swizzle);
  HLO_TRY(hlo_arena_status(space->arena));
  if (!*out_layout) return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "a slice without digits");
  hlo_tile_layout_locate(a, starts, out_base);
  return hlo_ok();
}

static hlo_axis_t unit_axis(const hlo_tile_layout_t* a) {
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    if (a->modes[i].axis == HLO_AXIS_ADDRESS) return HLO_AXIS_ADDRESS;
  }
  return HLO_AXIS_LANE;
}

const hlo_tile_layout_t* hlo_tile_layout_bitcast(hlo_tile_layout_space_t* space,
                                                 const hlo_tile_layout_t* a, uint32_t from_bits,
                                                 uint32_t to_bits) {
  if (from_bits == to_bits) return a;
  hlo_axis_t axis = unit_axis(a);
  hlo_layout_mode_list_t list;
  hlo_layout_modes_of(a, &list);
  int64_t dims[HLO_TILE_LAYOUT_MAX_RANK];
  memcpy(dims, a->dims, sizeof dims);
  uint32_t last = a->rank - 1;
  if (a->swizzle.bits) return NULL;
  if (to_bits < from_bits) {
    if (from_bits % to_bits || a->rank == HLO_TILE_LAYOUT_MAX_RANK) return NULL;
    int64_t ratio = from_bits / to_bits;
    for (uint32_t i = 0; i < list.count; ++i) {
      if (list.modes[i].axis == axis) list.modes[i].position *= ratio;
    }
    dims[a->rank] = ratio;
    hlo_layout_modes_add(&list, (hlo_layout_mode_t){(int32_t)a->rank, axis, ratio, 1, 1});
    return make(space, a->rank + 1, dims, &list, a->swizzle);
  }
  int64_t ratio = to_bits / from_bits;
  if (to_bits % from_bits || a->rank == 0 || a->dims[last] != ratio) return NULL;
  hlo_layout_mode_list_t wide = {0};
  for (uint32_t i = 0; i < list.count; ++i) {
    hlo_layout_mode_t mode = list.modes[i];
    if (mode.dim == (int32_t)last) {
      if (mode.axis != axis || mode.extent != ratio || mode.position != 1) return NULL;
      continue;
    }
    if (mode.axis == axis && mode.position % ratio) return NULL;
    if (mode.axis == axis) mode.position /= ratio;
    hlo_layout_modes_add(&wide, mode);
  }
  return make(space, last, dims, &wide, a->swizzle);
}

// ---- conversion

static hlo_relayout_kind_t worse(hlo_relayout_kind_t a, hlo_relayout_kind_t b) {
  return a > b ? a : b;
}

static bool is_in_registers(hlo_axis_t axis) {
  return axis == HLO_AXIS_LANE || axis == HLO_AXIS_SLOT || axis == HLO_AXIS_TIME;
}

// Both name vectors, not elements inside vectors.
static bool is_name(hlo_axis_t axis) {
  return axis == HLO_AXIS_SLOT || axis == HLO_AXIS_TIME;
}

// Returns true if `a` holds all its elements at every step of the mode on its axis.
static bool is_replicated_over(const hlo_tile_layout_t* a, const hlo_layout_mode_t* mode) {
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* copy = &a->modes[i];
    if (copy->dim == HLO_LAYOUT_MODE_REPLICATED && copy->axis == mode->axis &&
        copy->position <= mode->position &&
        copy->position * copy->extent >= mode->position * mode->extent) {
      return true;
    }
  }
  return false;
}

static hlo_relayout_kind_t mode_relayout(const hlo_tile_layout_t* source, const hlo_layout_mode_t* from,
                                          const hlo_layout_mode_t* to) {
  if (from->position == to->position && (from->axis == to->axis || !from->position)) {
    return HLO_RELAYOUT_NONE;
  }
  if (!to->position) return HLO_RELAYOUT_IMPOSSIBLE;
  if (!from->position) {
    if (is_name(to->axis)) return HLO_RELAYOUT_RENAME;
    return is_replicated_over(source, to) ? HLO_RELAYOUT_NONE : HLO_RELAYOUT_BROADCAST;
  }
  if (from->axis == HLO_AXIS_DEVICE || to->axis == HLO_AXIS_DEVICE) return HLO_RELAYOUT_EXCHANGE;
  if (is_name(from->axis) && is_name(to->axis)) return HLO_RELAYOUT_RENAME;
  if (is_in_registers(from->axis) && is_in_registers(to->axis)) return HLO_RELAYOUT_SHUFFLE;
  return HLO_RELAYOUT_MEMORY;
}

bool hlo_layout_modes_refine(hlo_layout_mode_list_t* a, hlo_layout_mode_list_t* b) {
  for (uint32_t i = 0; i < a->count; ++i) {
    if (!hlo_layout_modes_split(b, a->modes[i].dim, a->modes[i].stride)) return false;
  }
  for (uint32_t i = 0; i < b->count; ++i) {
    if (!hlo_layout_modes_split(a, b->modes[i].dim, b->modes[i].stride)) return false;
  }
  hlo_layout_modes_sort(a);
  hlo_layout_modes_sort(b);
  return true;
}

// The replicas that the destination has in addition to its modes.
static hlo_relayout_kind_t copies_relayout(const hlo_tile_layout_t* from,
                                           const hlo_tile_layout_t* to) {
  hlo_relayout_kind_t kind = HLO_RELAYOUT_NONE;
  for (uint32_t i = 0; i < to->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &to->modes[i];
    if (mode->dim != HLO_LAYOUT_MODE_REPLICATED || is_replicated_over(from, mode)) continue;
    kind = worse(kind, mode->axis == HLO_AXIS_DEVICE ? HLO_RELAYOUT_EXCHANGE
                       : is_in_registers(mode->axis) ? HLO_RELAYOUT_BROADCAST
                                                      : HLO_RELAYOUT_MEMORY);
  }
  return kind;
}

hlo_relayout_t hlo_tile_layout_relayout(const hlo_tile_layout_t* from,
                                        const hlo_tile_layout_t* to) {
  hlo_relayout_t relayout = {HLO_RELAYOUT_NONE, 1};
  if (from == to) return relayout;
  hlo_layout_mode_list_t a, b;
  hlo_layout_modes_of(from, &a);
  hlo_layout_modes_of(to, &b);
  bool is_same_shape =
      from->rank == to->rank &&
      (!from->rank || memcmp(from->dims, to->dims, from->rank * sizeof *from->dims) == 0);
  if (!is_same_shape) return (hlo_relayout_t){HLO_RELAYOUT_IMPOSSIBLE, 1};
  relayout.kind = copies_relayout(from, to);
  if (!hlo_layout_modes_refine(&a, &b)) {
    relayout.kind = worse(relayout.kind, HLO_RELAYOUT_MEMORY);
    return relayout;
  }
  if (memcmp(&from->swizzle, &to->swizzle, sizeof from->swizzle) != 0) {
    relayout.kind = worse(relayout.kind, HLO_RELAYOUT_MEMORY);
  }
  for (uint32_t i = 0; i < a.count && a.modes[i].dim != HLO_LAYOUT_MODE_REPLICATED; ++i) {
    hlo_relayout_kind_t kind = mode_relayout(from, &a.modes[i], &b.modes[i]);
    relayout.kind = worse(relayout.kind, kind);
    if (kind == HLO_RELAYOUT_SHUFFLE) relayout.moved *= a.modes[i].extent;
  }
  return relayout;
}

static const char* const RELAYOUT_NAMES[] = {"none",   "rename",   "broadcast", "shuffle",
                                             "memory", "exchange", "impossible"};
const char* hlo_relayout_name(hlo_relayout_kind_t kind) {
  return RELAYOUT_NAMES[kind];
}
