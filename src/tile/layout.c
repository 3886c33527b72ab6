// SPDX-License-Identifier: Apache-2.0
// Layouts: canonical lists of modes, interned by hash; layouts of sums, and the cost of converting
// one layout to another (see layout.h). Every rule is about modes, so one rule serves registers,
// memory and devices.

#include <string.h>

#include "base/hash.h"
#include "tile/layout_impl.h"

static const char* const AXIS_NAMES[HLO_AXIS_COUNT] = {"time", "slot",   "lane",   "group",
                                                       "core", "device", "address"};
const char* hlo_axis_name(hlo_axis_t axis) {
  return AXIS_NAMES[axis];
}

void hlo_tile_layout_space_init(hlo_tile_layout_space_t* space, hlo_arena_t* arena) {
  *space = (hlo_tile_layout_space_t){.arena = arena};
}

// ---- modes

void hlo_layout_modes_add(hlo_layout_mode_list_t* list, hlo_layout_mode_t mode) {
  if (mode.extent == 1) return;
  if (list->count == HLO_TILE_LAYOUT_MAX_MODES) {
    list->failed = true;
    return;
  }
  list->modes[list->count++] = mode;
}

// Orders replicated modes, which have no order of their own: the farther axis and the larger step
// first.
static bool comes_before(const hlo_layout_mode_t* a, const hlo_layout_mode_t* b) {
  if (a->dim != b->dim) return (uint32_t)a->dim < (uint32_t)b->dim;
  if (a->stride != b->stride) return a->stride > b->stride;
  if (a->axis != b->axis) return a->axis > b->axis;
  return a->position > b->position;
}

// Sorts by dimension, outer before inner, replicated modes last.
static void sort_modes(hlo_layout_mode_list_t* list) {
  for (uint32_t i = 1; i < list->count; ++i) {
    hlo_layout_mode_t mode = list->modes[i];
    uint32_t at = i;
    for (; at > 0 && comes_before(&mode, &list->modes[at - 1]); --at) {
      list->modes[at] = list->modes[at - 1];
    }
    list->modes[at] = mode;
  }
}

// Splits the modes of `dim` so that one starts at `stride`; false if that is impossible.
static bool split_modes(hlo_layout_mode_list_t* list, int32_t dim, int64_t stride) {
  for (uint32_t i = 0; i < list->count; ++i) {
    hlo_layout_mode_t* mode = &list->modes[i];
    if (mode->dim != dim || stride <= mode->stride || stride >= mode->stride * mode->extent) {
      continue;
    }
    int64_t inner = stride / mode->stride;
    hlo_layout_mode_t outer = *mode;
    if (stride % mode->stride || mode->extent % inner ||
        __builtin_mul_overflow(mode->position, inner, &outer.position)) {
      return false;
    }
    outer.extent /= inner;
    outer.stride = stride;
    mode->extent = inner;
    hlo_layout_modes_add(list, outer);
    return !list->failed;
  }
  return true;
}

void hlo_layout_modes_of(const hlo_tile_layout_t* a, hlo_layout_mode_list_t* out_list) {
  out_list->count = a->mode_count;
  out_list->failed = false;
  memcpy(out_list->modes, a->modes, a->mode_count * sizeof *a->modes);
}

// Merges two adjacent modes if the outer one continues where the inner one ends.
static bool join(hlo_layout_mode_t* outer, const hlo_layout_mode_t* inner) {
  int64_t stride, position, extent;
  if (outer->dim != inner->dim || outer->axis != inner->axis ||
      __builtin_mul_overflow(inner->stride, inner->extent, &stride) || outer->stride != stride ||
      __builtin_mul_overflow(inner->position, inner->extent, &position) ||
      outer->position != position ||
      __builtin_mul_overflow(outer->extent, inner->extent, &extent)) {
    return false;
  }
  outer->extent = extent;
  outer->stride = inner->stride;
  outer->position = inner->position;
  return true;
}

static void canonicalize(hlo_layout_mode_list_t* list) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < list->count; ++i) {
    hlo_layout_mode_t* mode = &list->modes[i];
    if (mode->position == 0) mode->axis = HLO_AXIS_SLOT;  // it moves on no axis
    if (mode->position || mode->dim != HLO_LAYOUT_MODE_REPLICATED) list->modes[kept++] = *mode;
  }
  list->count = kept;
  sort_modes(list);
  kept = 0;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (kept && join(&list->modes[kept - 1], &list->modes[i])) continue;
    list->modes[kept++] = list->modes[i];
  }
  list->count = kept;
}

// Returns true if sorted modes are exactly the mixed radix of every dimension.
static bool covers(const hlo_layout_mode_list_t* list, uint32_t rank, const int64_t* dims) {
  uint32_t at = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t rest = dims[d];
    for (; at < list->count && list->modes[at].dim == (int32_t)d; ++at) {
      const hlo_layout_mode_t* mode = &list->modes[at];
      if (mode->extent < 2 || rest % mode->extent) return false;
      rest /= mode->extent;
      if (mode->stride != rest) return false;
    }
    if (rest != 1) return false;
  }
  for (; at < list->count; ++at) {
    const hlo_layout_mode_t* mode = &list->modes[at];
    if (mode->dim != HLO_LAYOUT_MODE_REPLICATED || mode->stride != 0 || mode->extent < 2)
      return false;
  }
  return true;
}

// ---- layouts

static uint64_t hash_layout(const hlo_tile_layout_t* a) {
  uint64_t hash = hlo_hash_word(a->rank, a->mode_count);
  hash = hlo_hash_word(hash, a->swizzle.bits | a->swizzle.base << 8 | a->swizzle.shift << 16);
  for (uint32_t i = 0; i < a->rank; ++i) hash = hlo_hash_word(hash, (uint64_t)a->dims[i]);
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &a->modes[i];
    hash = hlo_hash_word(hash, (uint32_t)mode->dim);
    hash = hlo_hash_word(hash, (uint64_t)mode->axis);
    hash = hlo_hash_word(hash, (uint64_t)mode->extent);
    hash = hlo_hash_word(hash, (uint64_t)mode->stride);
    hash = hlo_hash_word(hash, (uint64_t)mode->position);
  }
  return hash;
}

static bool same_mode(const hlo_layout_mode_t* a, const hlo_layout_mode_t* b) {
  return a->dim == b->dim && a->axis == b->axis && a->extent == b->extent &&
         a->stride == b->stride && a->position == b->position;
}

static bool same_layout(const hlo_tile_layout_t* a, const hlo_tile_layout_t* b) {
  if (a->rank != b->rank || a->mode_count != b->mode_count ||
      memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) != 0 ||
      (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)) {
    return false;
  }
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    if (!same_mode(&a->modes[i], &b->modes[i])) return false;
  }
  return true;
}

static bool grow(hlo_tile_layout_space_t* space) {
  uint32_t wanted = space->capacity ? 2 * space->capacity : 32;
  const hlo_tile_layout_t** fresh = hlo_arena_array(space->arena, wanted, sizeof *fresh);
  if (!fresh) return false;
  for (uint32_t i = 0; i < space->capacity; ++i) {
    if (!space->table[i]) continue;
    uint32_t at = (uint32_t)hash_layout(space->table[i]) & (wanted - 1);
    while (fresh[at]) at = (at + 1) & (wanted - 1);
    fresh[at] = space->table[i];
  }
  space->table = fresh;
  space->capacity = wanted;
  return true;
}

static bool is_swizzle(hlo_swizzle_t s) {
  return s.bits == 0 ? s.base == 0 && s.shift == 0
                     : s.shift >= s.bits && s.base + s.shift + s.bits < 62;
}

const hlo_tile_layout_t* hlo_tile_layout_make(hlo_tile_layout_space_t* space, uint32_t rank,
                                              const int64_t* dims, uint32_t mode_count,
                                              const hlo_layout_mode_t* modes,
                                              hlo_swizzle_t swizzle) {
  if (rank > HLO_TILE_LAYOUT_MAX_RANK || mode_count > HLO_TILE_LAYOUT_MAX_MODES ||
      !is_swizzle(swizzle)) {
    return NULL;
  }
  hlo_layout_mode_list_t list = {0};
  for (uint32_t i = 0; i < mode_count; ++i) {
    const hlo_layout_mode_t* mode = &modes[i];
    if (mode->dim < HLO_LAYOUT_MODE_REPLICATED || mode->dim >= (int32_t)rank || mode->extent < 1 ||
        mode->position < -HLO_TILE_LAYOUT_MAX_POSITION ||
        mode->position > HLO_TILE_LAYOUT_MAX_POSITION) {
      return NULL;
    }
    hlo_layout_modes_add(&list, *mode);
  }
  canonicalize(&list);
  if (!covers(&list, rank, dims)) return NULL;
  if (2 * (space->count + 1) > space->capacity && !grow(space)) return NULL;
  size_t bytes = list.count * sizeof *modes;
  hlo_tile_layout_t* made = hlo_arena_alloc_zeroed(space->arena, sizeof *made + bytes);
  if (!made) return NULL;
  made->rank = rank;
  made->mode_count = list.count;
  made->swizzle = swizzle;
  if (rank) memcpy(made->dims, dims, rank * sizeof *dims);
  memcpy(made->modes, list.modes, bytes);
  uint32_t mask = space->capacity - 1, at = (uint32_t)hash_layout(made) & mask;
  for (; space->table[at]; at = (at + 1) & mask) {
    if (same_layout(space->table[at], made)) return space->table[at];
  }
  made->number = space->count++;
  return space->table[at] = made;
}

bool hlo_tile_layout_is_splat(const hlo_tile_layout_t* a) {
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    if (a->modes[i].dim != HLO_LAYOUT_MODE_REPLICATED && a->modes[i].position) return false;
  }
  return true;
}

// ---- sums

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
  if (list.failed) return NULL;
  return hlo_tile_layout_make(space, rank, kept_dims, list.count, list.modes, a->swizzle);
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

static hlo_relayout_kind_t mode_relayout(const hlo_tile_layout_t* source,
                                         const hlo_layout_mode_t* from,
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
    if (!split_modes(b, a->modes[i].dim, a->modes[i].stride)) return false;
  }
  for (uint32_t i = 0; i < b->count; ++i) {
    if (!split_modes(a, b->modes[i].dim, b->modes[i].stride)) return false;
  }
  sort_modes(a);
  sort_modes(b);
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
