// SPDX-License-Identifier: Apache-2.0
// Layouts: canonical lists of modes, interned by hash, and the positions of elements (see
// layout.h).
#include "tile/layout.h"

#include <inttypes.h>
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

void hlo_layout_modes_sort(hlo_layout_mode_list_t* list) {
  for (uint32_t i = 1; i < list->count; ++i) {
    hlo_layout_mode_t mode = list->modes[i];
    uint32_t at = i;
    for (; at > 0 && comes_before(&mode, &list->modes[at - 1]); --at) {
      list->modes[at] = list->modes[at - 1];
    }
    list->modes[at] = mode;
  }
}

bool hlo_layout_modes_split(hlo_layout_mode_list_t* list, int32_t dim, int64_t stride) {
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
  hlo_layout_modes_sort(list);
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
    if (mode->dim != HLO_LAYOUT_MODE_REPLICATED || mode->stride != 0 || mode->extent < 2) return false;
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
                                              const hlo_layout_mode_t* modes, hlo_swizzle_t swizzle) {
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

// Requires tiles that divide the dimensions.
static const hlo_tile_layout_t* packed(hlo_tile_layout_space_t* space, uint32_t rank,
                                       const int64_t* dims, const int64_t* tile) {
  hlo_layout_mode_list_t list = {0};
  int64_t position = 1;
  for (uint32_t i = rank; i-- > 0; position *= tile[i]) {
    hlo_layout_modes_add(&list, (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_ADDRESS, tile[i], 1, position});
  }
  for (uint32_t i = rank; i-- > 0;) {
    int64_t count = dims[i] / tile[i];
    hlo_layout_modes_add(&list, (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_ADDRESS, count, tile[i], position});
    position *= count;
  }
  if (list.failed) return NULL;
  return hlo_tile_layout_make(space, rank, dims, list.count, list.modes, (hlo_swizzle_t){0});
}

const hlo_tile_layout_t* hlo_tile_layout_row_major(hlo_tile_layout_space_t* space, uint32_t rank,
                                                   const int64_t* dims) {
  return rank > HLO_TILE_LAYOUT_MAX_RANK ? NULL : packed(space, rank, dims, dims);
}

hlo_status_t hlo_tile_layout_packed(hlo_tile_layout_space_t* space, uint32_t rank,
                                    const int64_t* dims, const int64_t* tile, hlo_tile_edge_t edge,
                                    const hlo_tile_layout_t** out_layout) {
  int64_t padded[HLO_TILE_LAYOUT_MAX_RANK], count = 1;
  if (rank > HLO_TILE_LAYOUT_MAX_RANK) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "a layout of %u dimensions, at most %d",
                             rank, HLO_TILE_LAYOUT_MAX_RANK);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t rest = tile[i] > 0 ? dims[i] % tile[i] : 1;
    bool is_padded = rest && edge == HLO_TILE_EDGE_PAD;
    bool is_tiled = tile[i] > 0 && dims[i] > 0 && (rest == 0 || is_padded);
    if (!is_tiled || __builtin_add_overflow(dims[i], is_padded ? tile[i] - rest : 0, &padded[i]) ||
        __builtin_mul_overflow(count, padded[i], &count) || count > HLO_TILE_LAYOUT_MAX_POSITION) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "dimension %u: %" PRId64
                               " elements cannot be cut in tiles of %" PRId64,
                               i, dims[i], tile[i]);
    }
  }
  *out_layout = packed(space, rank, padded, tile);
  HLO_TRY(hlo_arena_status(space->arena));
  return *out_layout ? hlo_ok()
                     : hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                                         "tiles of %u dimensions have too many digits", rank);
}

const hlo_tile_layout_t* hlo_tile_layout_splat(hlo_tile_layout_space_t* space, uint32_t rank,
                                               const int64_t* dims) {
  if (rank > HLO_TILE_LAYOUT_MAX_RANK) return NULL;
  hlo_layout_mode_list_t list = {0};
  for (uint32_t i = 0; i < rank; ++i) {
    hlo_layout_modes_add(&list, (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_SLOT, dims[i], 1, 0});
  }
  return hlo_tile_layout_make(space, rank, dims, list.count, list.modes, (hlo_swizzle_t){0});
}

// ---- ownership

static int64_t swizzled(hlo_swizzle_t s, int64_t address) {
  int64_t mask = ((int64_t)1 << s.bits) - 1;
  return address ^ (address >> (s.base + s.shift) & mask) << s.base;
}

void hlo_tile_layout_locate(const hlo_tile_layout_t* a, const int64_t* index,
                            int64_t out_position[HLO_AXIS_COUNT]) {
  memset(out_position, 0, HLO_AXIS_COUNT * sizeof *out_position);
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &a->modes[i];
    if (mode->dim == HLO_LAYOUT_MODE_REPLICATED) continue;
    out_position[mode->axis] +=
        index[mode->dim] / mode->stride % mode->extent * mode->position;
  }
  int64_t* address = &out_position[HLO_AXIS_ADDRESS];
  if (a->swizzle.bits) *address = swizzled(a->swizzle, *address);
}

bool hlo_tile_layout_index(const hlo_tile_layout_t* a, const int64_t position[HLO_AXIS_COUNT],
                           int64_t* out_index) {
  int64_t rest[HLO_AXIS_COUNT];
  memcpy(rest, position, sizeof rest);
  if (a->swizzle.bits) rest[HLO_AXIS_ADDRESS] = swizzled(a->swizzle, rest[HLO_AXIS_ADDRESS]);
  memset(out_index, 0, a->rank * sizeof *out_index);
  bool is_used[HLO_TILE_LAYOUT_MAX_MODES] = {false};
  // The largest step first: the remainder belongs to the other modes of the axis.
  for (;;) {
    int32_t best = -1;
    for (uint32_t i = 0; i < a->mode_count; ++i) {
      const hlo_layout_mode_t* mode = &a->modes[i];
      if (is_used[i] || mode->position <= 0) continue;
      if (best < 0 || mode->position > a->modes[best].position) best = (int32_t)i;
    }
    if (best < 0) break;
    const hlo_layout_mode_t* mode = &a->modes[best];
    is_used[best] = true;
    int64_t step = rest[mode->axis] / mode->position;
    if (step < 0 || step >= mode->extent) return false;
    rest[mode->axis] -= step * mode->position;
    if (mode->dim != HLO_LAYOUT_MODE_REPLICATED) out_index[mode->dim] += step * mode->stride;
  }
  for (uint32_t i = 0; i < HLO_AXIS_COUNT; ++i) {
    if (rest[i]) return false;
  }
  return true;
}

int64_t hlo_tile_layout_owner_count(const hlo_tile_layout_t* a) {
  int64_t count = 1;
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    if (a->modes[i].dim == HLO_LAYOUT_MODE_REPLICATED) count *= a->modes[i].extent;
  }
  return count;
}

int64_t hlo_tile_layout_extent(const hlo_tile_layout_t* a, hlo_axis_t axis) {
  int64_t extent = 1;
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &a->modes[i];
    if (mode->axis == axis && mode->position) extent *= mode->extent;
  }
  return extent;
}

hlo_tile_layout_kind_t hlo_tile_layout_kind(const hlo_tile_layout_t* a) {
  hlo_tile_layout_kind_t kind = HLO_TILE_LAYOUT_SPLAT;
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &a->modes[i];
    if (mode->dim == HLO_LAYOUT_MODE_REPLICATED) continue;
    if (i && a->modes[i - 1].dim == mode->dim) return HLO_TILE_LAYOUT_TILED;
    if (mode->position) kind = HLO_TILE_LAYOUT_STRIDED;
  }
  return kind;
}
