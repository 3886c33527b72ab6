// SPDX-License-Identifier: Apache-2.0
// Ranges of divided dimensions that go from any device to any other one, as where parts of a
// concatenation are longer than those of its operands (see partition_impl.h).
//
// The ranges are sent in rounds. In each round a device sends at most one range and receives at
// most one, all padded to the longest, so that a round is one collective_permute. The longest
// ranges are taken first, each in the first round that has room for it, and those that remain on
// their device last.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "spmd/partition_impl.h"

enum { ROUNDS_MAX = 64 };

// A range of elements.
typedef struct transfer {
  uint32_t operand;
  int64_t source, target;    // parts
  int64_t first, at, count;  // of the source's part; in the target's range
} transfer_t;

typedef struct transfer_round {
  bool is_local;
  int64_t length;
  const transfer_t** sends;     // by source
  const transfer_t** receives;  // by target
  int64_t* firsts;              // by source: of the elements that are sent
  int64_t* positions;           // by target: where they go; may be outside of the range
} transfer_round_t;

struct hlo_transfers {
  hlo_partitioner_t* p;
  hlo_dim_axes_t axes;
  uint32_t dim;
  int64_t parts, length;
  uint32_t count, capacity, round_count;
  transfer_t* items;
  transfer_round_t rounds[ROUNDS_MAX];
};

hlo_transfers_t* hlo_transfers_create(hlo_partitioner_t* p, uint32_t dim,
                                      const hlo_dim_axes_t* axes, int64_t length) {
  hlo_transfers_t* t = hlo_arena_alloc_zeroed(&p->spmd->arena, sizeof *t);
  if (!t) return NULL;
  t->p = p;
  t->axes = *axes;
  t->dim = dim;
  t->parts = hlo_grid_size(p->grid, axes->axes, axes->count);
  t->length = length;
  return t;
}

static bool add(hlo_transfers_t* t, const transfer_t* item) {
  if (t->count == t->capacity) {
    const uint32_t capacity = 2 * t->capacity + (uint32_t)t->parts;
    transfer_t* items = hlo_arena_array(&t->p->spmd->arena, capacity, sizeof *items);
    if (!items) return false;
    if (t->count) memcpy(items, t->items, t->count * sizeof *items);
    t->items = items;
    t->capacity = capacity;
  }
  t->items[t->count++] = *item;
  return true;
}

bool hlo_transfers_add(hlo_transfers_t* t, uint32_t operand, int64_t size, bool is_divided,
                       int64_t target, int64_t at, int64_t low, int64_t high) {
  const int64_t part = is_divided ? hlo_divide_up(size, t->parts) : size;
  while (low < high) {
    const int64_t source = is_divided ? low / part : target;
    const int64_t origin = is_divided ? source * part : 0;
    const int64_t end = hlo_min(high, origin + part);
    if (!add(t, &(transfer_t){operand, source, target, low - origin, at, end - low})) return false;
    at += end - low;
    low = end;
  }
  return true;
}

// ---- rounds

static int compare_transfers(const void* x, const void* y) {
  const transfer_t *a = x, *b = y;
  const int64_t keys[][2] = {{a->source == a->target, b->source == b->target},
                             {b->count, a->count},
                             {a->operand, b->operand},
                             {a->target, b->target},
                             {a->at, b->at}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
  }
  return 0;
}

static bool begin_round(hlo_transfers_t* t, const transfer_t* item) {
  hlo_arena_t* arena = &t->p->spmd->arena;
  const size_t parts = (size_t)t->parts;
  if (t->round_count == ROUNDS_MAX) return false;
  transfer_round_t* round = &t->rounds[t->round_count];
  round->is_local = item->source == item->target;
  round->length = item->count;
  round->sends = hlo_arena_alloc_zeroed(arena, parts * sizeof *round->sends);
  round->receives = hlo_arena_alloc_zeroed(arena, parts * sizeof *round->receives);
  round->firsts = hlo_arena_array(arena, parts, sizeof *round->firsts);
  round->positions = hlo_arena_array(arena, parts, sizeof *round->positions);
  if (!round->sends || !round->receives || !round->firsts || !round->positions) return false;
  ++t->round_count;
  return true;
}

double hlo_transfers_plan(hlo_transfers_t* t, double bytes_per_element) {
  double bytes = 0;
  if (t->count) qsort(t->items, t->count, sizeof *t->items, compare_transfers);
  for (uint32_t i = 0; i < t->count; ++i) {
    const transfer_t* item = &t->items[i];
    const bool is_local = item->source == item->target;
    uint32_t r = 0;
    while (r < t->round_count &&
           ((t->rounds[r].is_local && !is_local) || t->rounds[r].length < item->count ||
            t->rounds[r].sends[item->source] || t->rounds[r].receives[item->target])) {
      ++r;
    }
    if (r == t->round_count && !begin_round(t, item)) return HUGE_VAL;
    t->rounds[r].sends[item->source] = t->rounds[r].receives[item->target] = item;
  }
  for (uint32_t r = 0; r < t->round_count; ++r) {
    if (t->rounds[r].is_local) continue;
    bytes += (double)t->rounds[r].length * bytes_per_element + HLO_TUNING_COLLECTIVE_BYTES;
  }
  return bytes;
}

// Finds what is sent from where to where: `length` elements, as many as the part of an operand has
// at least. Devices that take no part do as the last one that does.
static void place_round(const hlo_transfers_t* t, transfer_round_t* round,
                        hlo_value_t* const* values) {
  int64_t first = 0, position = 0;
  for (int64_t i = 0; i < t->parts; ++i) {
    const transfer_t* item = round->sends[i];
    if (!item) continue;
    const int64_t part = hlo_max(round->length, values[item->operand]->type->dims[t->dim]);
    round->firsts[i] = hlo_min(item->first, part - round->length);
    round->positions[item->target] = item->at - (item->first - round->firsts[i]);
  }
  for (int64_t i = 0; i < t->parts; ++i) {
    first = round->sends[i] ? round->firsts[i] : first;
    position = round->receives[i] ? round->positions[i] : position;
    round->firsts[i] = first;
    round->positions[i] = position;
  }
}

// ---- what is built

static hlo_value_t* build_bound(hlo_transfers_t* t, const hlo_type_t* row, const int64_t* bounds) {
  hlo_value_t* bound = hlo_build_part_scalar(t->p, &t->axes, bounds);
  return bound ? hlo_build_broadcast(t->p->at, row, bound, NULL) : NULL;
}

// Sets *out_mask to which of the elements that arrive belong to the device's range; NULL: all.
static bool build_mask(hlo_transfers_t* t, const transfer_round_t* round, const hlo_type_t* like,
                       hlo_value_t** out_mask) {
  hlo_partitioner_t* p = t->p;
  int64_t* low = hlo_arena_array(&p->spmd->arena, (size_t)t->parts, sizeof *low);
  int64_t* high = hlo_arena_array(&p->spmd->arena, (size_t)t->parts, sizeof *high);
  bool is_cut = false;
  *out_mask = NULL;
  if (!low || !high) return false;
  for (int64_t i = 0; i < t->parts; ++i) {
    const transfer_t* item = round->receives[i];
    low[i] = item ? item->at - round->positions[i] : 0;
    high[i] = item ? low[i] + item->count : 0;
    is_cut |= low[i] > 0 || high[i] < round->length;
  }
  if (!is_cut) return true;
  const int64_t dim = t->dim;
  const hlo_type_t* row = hlo_type_tensor(p->module, HLO_DTYPE_S32, 1, &round->length);
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_PRED, like->rank, like->dims);
  hlo_value_t* at = row ? hlo_build_iota(p->at, row, 0) : NULL;
  hlo_value_t *lows = at ? build_bound(t, row, low) : NULL,
              *highs = at ? build_bound(t, row, high) : NULL;
  if (!lows || !highs || !type) return false;
  hlo_value_t* after = hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_GE, at, lows);
  hlo_value_t* before = hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_LT, at, highs);
  hlo_value_t* both = after && before ? hlo_build_binary(p->at, HLO_OP_and, after, before) : NULL;
  *out_mask = both ? hlo_build_broadcast(p->at, type, both, &dim) : NULL;
  return *out_mask != NULL;
}

// Lists the operands of an op that finds `length` elements of the dimension.
static bool set_position(hlo_transfers_t* t, uint32_t rank, const int64_t* positions,
                         hlo_value_t** operands) {
  bool is_set = true;
  for (uint32_t d = 0; d < rank; ++d) {
    operands[d] =
        d == t->dim ? hlo_build_part_scalar(t->p, &t->axes, positions) : hlo_build_s32(t->p, 0);
    is_set = is_set && operands[d];
  }
  return is_set;
}

static hlo_value_t* slice_at(hlo_transfers_t* t, hlo_value_t* value, const int64_t* firsts,
                             int64_t length) {
  hlo_partitioner_t* p = t->p;
  hlo_value_t* starts[HLO_RANK_MAX];
  const hlo_type_t* type = hlo_type_with_dim(p->module, value->type, t->dim, length);
  if (!type || type == value->type) return type ? value : NULL;
  if (!set_position(t, type->rank, firsts, starts)) return NULL;
  return hlo_build_dynamic_slice(p->at, type, value, starts);
}

// Returns what a device sends in a round.
static hlo_value_t* build_sent(hlo_transfers_t* t, const transfer_round_t* round,
                               hlo_value_t* const* values, uint32_t operands, hlo_value_t* filler) {
  hlo_partitioner_t* p = t->p;
  int64_t* is_sent = hlo_arena_array(&p->spmd->arena, (size_t)t->parts, sizeof *is_sent);
  hlo_value_t* sent = NULL;
  if (!is_sent) return NULL;
  for (uint32_t o = 0; o < operands; ++o) {
    bool is_any = false;
    for (int64_t i = 0; i < t->parts; ++i) {
      is_sent[i] = round->sends[i] && round->sends[i]->operand == o;
      is_any |= is_sent[i];
    }
    if (!is_any) continue;
    hlo_value_t* value = values[o];
    int64_t low[HLO_RANK_MAX] = {0}, high[HLO_RANK_MAX] = {0};
    high[t->dim] = hlo_max(0, round->length - value->type->dims[t->dim]);
    value = hlo_build_pad(p->at, value, filler, low, high, NULL);
    value = value ? slice_at(t, value, round->firsts, round->length) : NULL;
    if (!value) return NULL;
    if (sent) {
      hlo_value_t* own = hlo_build_part_scalar(p, &t->axes, is_sent);
      hlo_value_t* is_own =
          own ? hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_EQ, own, hlo_build_s32(p, 1))
              : NULL;
      value = is_own ? hlo_build_select(p->at, is_own, value, sent) : NULL;
      if (!value) return NULL;
    }
    sent = value;
  }
  return sent;
}

static hlo_value_t* send(hlo_transfers_t* t, const transfer_round_t* round, hlo_value_t* value) {
  const hlo_grid_t* grid = t->p->grid;
  uint32_t* from = hlo_arena_array(&t->p->spmd->arena, grid->device_count, sizeof *from);
  if (!value || !from) return NULL;
  for (uint32_t position = 0; position < grid->device_count; ++position) {
    const int64_t part = hlo_grid_index(grid, t->axes.axes, t->axes.count, position);
    const transfer_t* item = round->receives[part];
    from[position] = item ? hlo_grid_move(grid, t->axes.axes, t->axes.count, position, item->source)
                          : UINT32_MAX;
  }
  return hlo_build_receive(t->p, value, from);
}

// Writes what arrives into the device's range.
static hlo_value_t* put(hlo_transfers_t* t, const transfer_round_t* round, hlo_value_t* range,
                        hlo_value_t* arrived) {
  hlo_partitioner_t* p = t->p;
  hlo_value_t* mask;
  if (!range || !arrived || !build_mask(t, round, arrived->type, &mask)) return NULL;
  if (!mask && arrived->type == range->type) return arrived;
  if (mask) {
    hlo_value_t* old = slice_at(t, range, round->positions, round->length);
    arrived = old ? hlo_build_select(p->at, mask, arrived, old) : NULL;
    if (!arrived) return NULL;
  }
  if (arrived->type == range->type) return arrived;
  hlo_value_t* starts[HLO_RANK_MAX];
  if (!set_position(t, range->type->rank, round->positions, starts)) return NULL;
  return hlo_build_dynamic_update_slice(p->at, range, arrived, starts);
}

hlo_value_t* hlo_transfers_build(hlo_transfers_t* t, uint32_t operands, hlo_value_t* const* values,
                                 hlo_value_t* filler) {
  hlo_partitioner_t* p = t->p;
  int64_t before = 0, after = 0;
  for (uint32_t r = 0; r < t->round_count; ++r) {
    transfer_round_t* round = &t->rounds[r];
    place_round(t, round, values);
    for (int64_t i = 0; i < t->parts; ++i) {
      before = hlo_max(before, -round->positions[i]);
      after = hlo_max(after, round->positions[i] + round->length - t->length);
    }
  }
  for (uint32_t r = 0; r < t->round_count; ++r) {
    for (int64_t i = 0; i < t->parts; ++i) t->rounds[r].positions[i] += before;
  }
  const hlo_type_t* type =
      hlo_type_with_dim(p->module, values[0]->type, t->dim, before + t->length + after);
  hlo_value_t* range = type && filler ? hlo_build_broadcast(p->at, type, filler, NULL) : NULL;
  for (uint32_t i = 0; i < t->count; ++i) t->items[i].at += before;
  for (uint32_t r = 0; r < t->round_count && range; ++r) {
    const transfer_round_t* round = &t->rounds[r];
    hlo_value_t* value = build_sent(t, round, values, operands, filler);
    if (!round->is_local) value = send(t, round, value);
    range = put(t, round, range, value);
  }
  return hlo_slice_dim(p, range, t->dim, before, t->length);
}
