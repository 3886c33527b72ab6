// SPDX-License-Identifier: Apache-2.0
// Exchanges elements of one dimension: each device gets a range of them, where it has a part of the
// same size (see partition_impl.h).
//
// The ranges of all devices together say which elements part i needs of part i + k, for every k:
// each k is a collective_permute of the elements needed by any device. Where the ranges are not
// about as far apart as the parts, they are sent one by one (partition_transfer.c), and the
// dimension is gathered where that takes less time.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "spmd/partition_impl.h"

// Elements [low, high) of part i + k, needed by part i.
typedef struct piece {
  int64_t low, high;
} piece_t;

typedef struct exchange {
  hlo_partitioner_t* p;
  const hlo_dim_exchange_t* x;
  hlo_value_t* value;
  int64_t parts, part_size;
  int64_t first, last;  // k of the pieces
  piece_t* pieces;      // by k + parts - 1
  int64_t base_offset;  // of the buffer's first element, from that of part i
  int64_t base_step;    // and how it moves with i: part_size, or 0 if the buffer is the whole
} exchange_t;

static int64_t start_of(const hlo_dim_exchange_t* x, int64_t part) {
  return x->starts ? x->starts[part] : x->start + part * x->step;
}

// Returns the elements of part j that part i needs.
static piece_t needed(const exchange_t* e, int64_t i, int64_t j) {
  const hlo_dim_exchange_t* x = e->x;
  const int64_t start = start_of(x, i), origin = j * e->part_size;
  const int64_t low = hlo_max(hlo_max(start, x->valid_low), origin);
  const int64_t high = hlo_min(hlo_min(start + x->count, x->valid_high), origin + e->part_size);
  return low < high ? (piece_t){low - origin, high - origin} : (piece_t){0, 0};
}

// Finds the pieces; returns how many elements are sent.
static int64_t find_pieces(exchange_t* e) {
  const int64_t parts = e->parts;
  e->first = parts;
  e->last = -parts;
  for (int64_t i = 0; i < parts; ++i) {
    for (int64_t j = 0; j < parts; ++j) {
      const piece_t own = needed(e, i, j);
      piece_t* all = &e->pieces[j - i + parts - 1];
      if (own.low == own.high) continue;
      *all = all->low == all->high
                 ? own
                 : (piece_t){hlo_min(all->low, own.low), hlo_max(all->high, own.high)};
      e->first = hlo_min(e->first, j - i);
      e->last = hlo_max(e->last, j - i);
    }
  }
  int64_t sent = 0;
  for (int64_t k = e->first; k <= e->last; ++k) {
    // The pieces are joined, so that all but the outer ends are whole parts.
    piece_t* piece = &e->pieces[k + parts - 1];
    if (k > e->first) piece->low = 0;
    if (k < e->last) piece->high = e->part_size;
    if (k) sent += piece->high - piece->low;
  }
  return sent;
}

hlo_value_t* hlo_slice_dim(hlo_partitioner_t* p, hlo_value_t* value, uint32_t dim, int64_t first,
                           int64_t count) {
  int64_t firsts[HLO_RANK_MAX] = {0};
  if (!value || count == value->type->dims[dim]) return value;
  firsts[dim] = first;
  const hlo_type_t* type = hlo_type_with_dim(p->module, value->type, dim, count);
  return type ? hlo_build_slice(p->at, type, value, firsts, NULL) : NULL;
}

// Sends a piece of part j to part i, for all i that need any of it; sources[i] = j or -1.
static hlo_value_t* send(exchange_t* e, hlo_value_t* piece, const int64_t* sources) {
  const uint32_t devices = e->p->grid->device_count;
  const hlo_dim_axes_t* axes = &e->x->axes;
  uint32_t* from = hlo_arena_array(&e->p->spmd->arena, devices, sizeof *from);
  if (!from) return NULL;
  for (uint32_t position = 0; position < devices; ++position) {
    const int64_t part = hlo_grid_index(e->p->grid, axes->axes, axes->count, position);
    from[position] = sources[part] < 0 ? UINT32_MAX
                                       : hlo_grid_move(e->p->grid, axes->axes, axes->count,
                                                       position, sources[part]);
  }
  return hlo_build_receive(e->p, piece, from);
}

// ---- ways to exchange

// Whole parts of other devices, one for each: nothing is joined.
static hlo_value_t* exchange_parts(exchange_t* e, int64_t* sources) {
  for (int64_t i = 0; i < e->parts; ++i) {
    const int64_t start = start_of(e->x, i);
    const bool is_inside = start >= 0 && start < e->x->size;
    sources[i] = is_inside ? start / e->part_size : -1;
  }
  return send(e, e->value, sources);
}

static hlo_value_t* exchange_pieces(exchange_t* e, int64_t* sources) {
  const int64_t count = e->last - e->first + 1;
  hlo_value_t** pieces = hlo_arena_array(&e->p->spmd->arena, (size_t)count, sizeof *pieces);
  if (!pieces) return NULL;
  int64_t length = 0;
  for (int64_t k = e->first; k <= e->last; ++k) {
    const piece_t piece = e->pieces[k + e->parts - 1];
    for (int64_t i = 0; i < e->parts; ++i) {
      const bool is_part = i + k >= 0 && i + k < e->parts;
      const piece_t own = is_part ? needed(e, i, i + k) : (piece_t){0, 0};
      sources[i] = own.low < own.high ? i + k : -1;
    }
    hlo_value_t* value =
        hlo_slice_dim(e->p, e->value, e->x->dim, piece.low, piece.high - piece.low);
    pieces[k - e->first] = k ? send(e, value, sources) : value;
    if (!pieces[k - e->first]) return NULL;
    length += piece.high - piece.low;
  }
  e->base_offset = e->first * e->part_size + e->pieces[e->first + e->parts - 1].low;
  e->base_step = e->part_size;
  if (count == 1) return pieces[0];
  const hlo_type_t* type = hlo_type_with_dim(e->p->module, e->value->type, e->x->dim, length);
  const hlo_named_attr_t attr = {HLO_ATTR_dimension,
                                 hlo_attr_int(e->p->module, HLO_DTYPE_S64, e->x->dim)};
  return hlo_build_node(e->p->at, HLO_OP_concatenate, type, (uint32_t)count, pieces, 1, &attr);
}

hlo_value_t* hlo_build_rotation(hlo_partitioner_t* p, hlo_value_t* value,
                                const hlo_dim_exchange_t* x) {
  if (!value) return NULL;
  exchange_t e = {.p = p, .x = x, .value = value};
  e.parts = hlo_grid_size(p->grid, x->axes.axes, x->axes.count);
  e.part_size = hlo_divide_up(x->size, e.parts);
  int64_t* sources = hlo_arena_array(&p->spmd->arena, (size_t)e.parts, sizeof *sources);
  if (!sources) return NULL;
  // Part i is the end of part i + first, and the beginning of the one after it.
  const int64_t first = x->start / e.part_size, rest = x->start % e.part_size;
  hlo_value_t* ends[2];
  uint32_t count = 0;
  for (int64_t k = first; k <= first + (rest > 0); ++k) {
    const bool is_second = k > first;
    ends[count] = hlo_slice_dim(p, value, x->dim, is_second ? 0 : rest,
                                is_second ? rest : e.part_size - rest);
    for (int64_t i = 0; i < e.parts; ++i) sources[i] = (i + k) % e.parts;
    if (k % e.parts) ends[count] = send(&e, ends[count], sources);
    if (!ends[count++]) return NULL;
  }
  if (count == 1) return ends[0];
  const hlo_named_attr_t attr = {HLO_ATTR_dimension,
                                 hlo_attr_int(p->module, HLO_DTYPE_S64, x->dim)};
  return hlo_build_node(p->at, HLO_OP_concatenate, value->type, count, ends, 1, &attr);
}

// ---- ranges of a buffer

// Returns start + index * step (s32).
static hlo_value_t* affine_index(hlo_partitioner_t* p, const hlo_dim_axes_t* axes, int64_t start,
                                 int64_t step) {
  if (!step) return hlo_build_s32(p, start);
  hlo_value_t* index = hlo_scaled_index(p, hlo_axis_index(p, axes->axes, axes->count), step);
  return index && start ? hlo_build_binary(p->at, HLO_OP_add, index, hlo_build_s32(p, start))
                        : index;
}

static bool is_affine(const int64_t* values, int64_t count) {
  for (int64_t i = 2; i < count; ++i) {
    if (values[i] - values[i - 1] != values[1] - values[0]) return false;
  }
  return true;
}

hlo_value_t* hlo_build_part_scalar(hlo_partitioner_t* p, const hlo_dim_axes_t* axes,
                                   const int64_t* values) {
  const int64_t parts = hlo_grid_size(p->grid, axes->axes, axes->count), one = 1;
  if (is_affine(values, parts)) {
    return affine_index(p, axes, values[0], parts > 1 ? values[1] - values[0] : 0);
  }
  const hlo_type_t* row = hlo_type_tensor(p->module, HLO_DTYPE_S32, 1, &parts);
  const hlo_type_t* item = hlo_type_tensor(p->module, HLO_DTYPE_S32, 1, &one);
  hlo_value_t* table = row ? hlo_build_integers(p->at, row, values) : NULL;
  hlo_value_t* index = hlo_axis_index(p, axes->axes, axes->count);
  hlo_value_t* value = hlo_build_dynamic_slice(p->at, item, table, &index);
  return value ? hlo_build_reshape(p->at, hlo_type_with_dims(p->module, item, 0, NULL), value)
               : NULL;
}

// Takes the device's range of a buffer, whose elements outside of it are `filler`.
static hlo_value_t* take_range(exchange_t* e, hlo_value_t* buffer, hlo_value_t* filler) {
  const hlo_dim_exchange_t* x = e->x;
  hlo_partitioner_t* p = e->p;
  int64_t* starts = hlo_arena_array(&p->spmd->arena, (size_t)e->parts, sizeof *starts);
  if (!buffer || !filler || !starts) return NULL;
  const hlo_type_t* type = buffer->type;
  const int64_t length = type->dims[x->dim];
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (int64_t i = 0; i < e->parts; ++i) {
    starts[i] = start_of(x, i) - e->base_offset - i * e->base_step;
    first = hlo_min(first, starts[i]);
    last = hlo_max(last, starts[i]);
  }
  int64_t low[HLO_RANK_MAX] = {0}, high[HLO_RANK_MAX] = {0};
  if (first == last) {
    low[x->dim] = -first;
    high[x->dim] = first + x->count - length;
    return hlo_build_pad(p->at, buffer, filler, low, high, NULL);
  }
  low[x->dim] = hlo_max(0, -first);
  high[x->dim] = hlo_max(0, last + x->count - length);
  buffer = hlo_build_pad(p->at, buffer, filler, low, high, NULL);
  for (int64_t i = 0; i < e->parts; ++i) starts[i] += low[x->dim];
  hlo_value_t* indices[HLO_RANK_MAX];
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, type->dims, type->rank * sizeof *dims);
  dims[x->dim] = x->count;
  for (uint32_t d = 0; d < type->rank; ++d) {
    indices[d] = d == x->dim ? hlo_build_part_scalar(p, &x->axes, starts) : hlo_build_s32(p, 0);
  }
  return hlo_build_dynamic_slice(p->at, hlo_type_with_dims(p->module, type, type->rank, dims),
                                 buffer, indices);
}

hlo_value_t* hlo_build_range_mask(hlo_partitioner_t* p, const hlo_dim_exchange_t* x,
                                  const hlo_type_t* like, int64_t low, int64_t high) {
  const int64_t dim = x->dim;
  const hlo_type_t* row = hlo_type_tensor(p->module, HLO_DTYPE_S32, 1, &x->count);
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_PRED, like->rank, like->dims);
  hlo_value_t* at = x->starts ? hlo_build_part_scalar(p, &x->axes, x->starts)
                              : affine_index(p, &x->axes, x->start, x->step);
  hlo_value_t *count = row ? hlo_build_iota(p->at, row, 0) : NULL, *mask = NULL;
  at = at && count ? hlo_build_broadcast(p->at, row, at, NULL) : NULL;
  at = at ? hlo_build_binary(p->at, HLO_OP_add, at, count) : NULL;
  if (!at || !type) return NULL;
  const int64_t bounds[] = {low, high};
  for (uint32_t i = 0; i < 2; ++i) {
    if (i ? high == INT64_MAX : low == INT64_MIN) continue;
    hlo_value_t* bound = hlo_build_splat(p->at, row, (double)bounds[i]);
    hlo_value_t* is_inside =
        bound ? hlo_build_compare(
                    p->at, i ? HLO_COMPARISON_DIRECTION_LT : HLO_COMPARISON_DIRECTION_GE, at, bound)
              : NULL;
    mask = mask && is_inside ? hlo_build_binary(p->at, HLO_OP_and, mask, is_inside) : is_inside;
    if (!mask) return NULL;
  }
  return mask ? hlo_build_broadcast(p->at, type, mask, &dim) : NULL;
}

// Replaces elements outside of the dimension.
static hlo_value_t* mask_outside(exchange_t* e, hlo_value_t* value, hlo_value_t* fill) {
  const hlo_dim_exchange_t* x = e->x;
  bool is_below = false, is_above = false;
  for (int64_t i = 0; i < e->parts; ++i) {
    is_below |= start_of(x, i) < 0;
    is_above |= start_of(x, i) + x->count > x->size;
  }
  if (!value || !fill || (!is_below && !is_above)) return value;
  hlo_value_t* mask = hlo_build_range_mask(e->p, x, value->type, is_below ? 0 : INT64_MIN,
                                           is_above ? x->size : INT64_MAX);
  hlo_value_t* all = hlo_build_broadcast(e->p->at, value->type, fill, NULL);
  return mask && all ? hlo_build_select(e->p->at, mask, value, all) : NULL;
}

// ---- the cheapest way

typedef struct exchange_choice {
  double bytes;                // that a device receives, and what the collectives cost
  hlo_transfers_t* transfers;  // NULL: by pieces or a gather
  bool is_gather;
} exchange_choice_t;

// Returns the most elements that a device needs of others.
static int64_t most_needed(const exchange_t* e) {
  int64_t all = 0;
  for (int64_t i = 0; i < e->parts; ++i) {
    const int64_t start = start_of(e->x, i), low = hlo_max(hlo_max(start, e->x->valid_low), 0);
    const int64_t high = hlo_min(hlo_min(start + e->x->count, e->x->valid_high), e->x->size);
    const piece_t own = needed(e, i, i);
    all = hlo_max(all, hlo_max(0, high - low) - (own.high - own.low));
  }
  return all;
}

static void try_transfers(exchange_t* e, double bytes_per_element, exchange_choice_t* choice) {
  const hlo_dim_exchange_t* x = e->x;
  hlo_transfers_t* t = hlo_transfers_create(e->p, x->dim, &x->axes, x->count);
  for (int64_t i = 0; i < e->parts && t; ++i) {
    const int64_t start = start_of(x, i), low = hlo_max(hlo_max(start, x->valid_low), 0);
    const int64_t high = hlo_min(hlo_min(start + x->count, x->valid_high), x->size);
    if (!hlo_transfers_add(t, 0, x->size, true, i, low - start, low, high)) return;
  }
  const double bytes = t ? hlo_transfers_plan(t, bytes_per_element) : HUGE_VAL;
  if (bytes >= choice->bytes) return;
  *choice = (exchange_choice_t){.bytes = bytes, .transfers = t};
}

static exchange_choice_t choose(exchange_t* e, const hlo_type_t* local) {
  const double bytes_per_element = (double)hlo_type_element_count(local) *
                                   (double)hlo_dtype_size_bytes(local->dtype) /
                                   (double)e->part_size;
  const int64_t sent = find_pieces(e), all = (e->parts - 1) * e->part_size;
  exchange_choice_t choice = {.is_gather = e->first > e->last || sent >= all};
  choice.bytes = (double)all * bytes_per_element + HLO_TUNING_COLLECTIVE_BYTES;
  if (!choice.is_gather) {
    int64_t permutes = 0;
    for (int64_t k = e->first; k <= e->last; ++k) permutes += k != 0;
    choice.bytes =
        (double)sent * bytes_per_element + (double)permutes * HLO_TUNING_COLLECTIVE_BYTES;
  }
  if (most_needed(e) < hlo_min(sent, all)) try_transfers(e, bytes_per_element, &choice);
  return choice;
}

hlo_value_t* hlo_build_exchange(hlo_partitioner_t* p, hlo_value_t* value,
                                const hlo_dim_exchange_t* x, hlo_value_t* fill) {
  if (!value) return NULL;
  exchange_t e = {.p = p, .x = x, .value = value};
  e.parts = hlo_grid_size(p->grid, x->axes.axes, x->axes.count);
  e.part_size = hlo_divide_up(x->size, e.parts);
  const hlo_type_t* scalar = hlo_type_with_dims(p->module, value->type, 0, NULL);
  hlo_value_t* filler = fill ? fill : scalar ? hlo_build_splat(p->at, scalar, 0) : NULL;
  if (!x->is_divided) return take_range(&e, value, filler);
  int64_t* sources = hlo_arena_array(&p->spmd->arena, (size_t)e.parts, sizeof *sources);
  e.pieces = hlo_arena_alloc_zeroed(&p->spmd->arena, (size_t)(2 * e.parts) * sizeof *e.pieces);
  if (!sources || !e.pieces || !filler) return NULL;
  const bool is_aligned = !x->starts && x->count == e.part_size && x->start % e.part_size == 0 &&
                          x->step % e.part_size == 0;
  if (is_aligned && x->start == 0 && x->step == x->count) return mask_outside(&e, value, fill);
  if (is_aligned && x->valid_low <= 0 && x->valid_high >= x->size) {
    return mask_outside(&e, exchange_parts(&e, sources), fill);
  }
  const exchange_choice_t choice = choose(&e, value->type);
  if (choice.transfers) return hlo_transfers_build(choice.transfers, 1, &value, filler);
  if (choice.is_gather) {
    value = hlo_build_all_gather(p, value, x->dim, x->axes.axes, x->axes.count);
    return take_range(&e, hlo_slice_dim(p, value, x->dim, 0, x->size), filler);
  }
  return mask_outside(&e, take_range(&e, exchange_pieces(&e, sources), filler), fill);
}

double hlo_dim_exchange_bytes(hlo_partitioner_t* p, const hlo_type_t* local,
                              const hlo_dim_exchange_t* x) {
  if (!x->is_divided) return 0;
  exchange_t e = {.p = p, .x = x};
  e.parts = hlo_grid_size(p->grid, x->axes.axes, x->axes.count);
  e.part_size = hlo_divide_up(x->size, e.parts);
  e.pieces = hlo_arena_alloc_zeroed(&p->spmd->arena, (size_t)(2 * e.parts) * sizeof *e.pieces);
  if (!e.pieces || e.part_size < 1) return 0;
  return choose(&e, local).bytes;
}
