// SPDX-License-Identifier: Apache-2.0
// Changes how a value lies on the devices, by the cheapest sequence of steps that it finds:
//
//   sum        all_reduce, or reduce_scatter where the target divides a dimension by the same axes
//   permute    collective_permute, if every dimension is in as many parts before as after
//   slice      dynamic_slice: each device keeps a part of what it has; nothing is sent
//   fill       zeros around the device's part make it a term of a sum; nothing is sent
//   transpose  all_to_all: axes move from one dimension to another
//   gather     all_gather over the minor axes of a dimension
//
// reshard_path.c chooses the last four.
#include <string.h>

#include "spmd/partition_impl.h"

// The value on its way: its lists of axes, and those of the target.
typedef struct resharding {
  hlo_partitioner_t* p;
  const hlo_type_t* type;
  hlo_value_t* value;
  uint32_t rank;
  hlo_axis_set_t unreduced;
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  hlo_dim_axes_t target[HLO_RANK_MAX];
} resharding_t;

// Returns how many axes of a dimension are in place.
static uint32_t common_prefix(const resharding_t* r, uint32_t d) {
  const hlo_dim_axes_t *have = &r->dims[d], *want = &r->target[d];
  uint32_t i = 0;
  while (i < have->count && i < want->count && have->axes[i] == want->axes[i]) ++i;
  return i;
}

static hlo_axis_set_t used_axes(const resharding_t* r) {
  hlo_axis_set_t set = r->unreduced;
  for (uint32_t d = 0; d < r->rank; ++d) {
    set |= hlo_axis_set(r->dims[d].axes, r->dims[d].count);
  }
  return set;
}

static bool is_done(const resharding_t* r) {
  for (uint32_t d = 0; d < r->rank; ++d) {
    const uint32_t prefix = common_prefix(r, d);
    if (prefix != r->dims[d].count || prefix != r->target[d].count) return false;
  }
  return true;
}

// Returns how many of the target's next axes of a dimension are in `set`; 0 unless all axes of the
// dimension so far are in place.
static uint32_t next_run(const resharding_t* r, uint32_t d, hlo_axis_set_t set) {
  const uint32_t first = r->dims[d].count;
  if (common_prefix(r, d) != first) return 0;
  uint32_t end = first;
  while (end < r->target[d].count && (set & hlo_axis_bit(r->target[d].axes[end]))) ++end;
  return end - first;
}

static void append_run(resharding_t* r, uint32_t d, uint32_t count) {
  const uint32_t first = r->dims[d].count;
  memcpy(&r->dims[d].axes[first], &r->target[d].axes[first], count);
  r->dims[d].count += count;
}

static int64_t parts_of(const resharding_t* r, const hlo_dim_axes_t* axes) {
  return hlo_grid_size(r->p->grid, axes->axes, axes->count);
}

// Returns the size of a device's part of a dimension when `count` axes of the target are appended.
static int64_t next_part(const resharding_t* r, uint32_t d, uint32_t count) {
  const uint8_t* run = &r->target[d].axes[r->dims[d].count];
  return hlo_divide_up(r->type->dims[d],
                       parts_of(r, &r->dims[d]) * hlo_grid_size(r->p->grid, run, count));
}

// Adds elements to the ends of local dimensions: they are of no consequence.
static void pad(resharding_t* r, const int64_t* sizes) {
  int64_t low[HLO_RANK_MAX] = {0}, high[HLO_RANK_MAX] = {0};
  if (!r->value) return;
  const hlo_type_t* type = r->value->type;
  if (!type->rank || memcmp(sizes, type->dims, type->rank * sizeof *sizes) == 0) return;
  for (uint32_t d = 0; d < type->rank; ++d) high[d] = sizes[d] - type->dims[d];
  const hlo_type_t* scalar = hlo_type_with_dims(r->p->module, type, 0, NULL);
  hlo_value_t* zero = scalar ? hlo_build_splat(r->p->at, scalar, 0) : NULL;
  r->value = zero ? hlo_build_pad(r->p->at, r->value, zero, low, high, NULL) : NULL;
}

// Makes the parts of a dimension, after `count` axes of the target, of equal size.
static void pad_dim(resharding_t* r, uint32_t dim, uint32_t count) {
  int64_t sizes[HLO_RANK_MAX];
  if (!r->value) return;
  const uint8_t* run = &r->target[dim].axes[r->dims[dim].count];
  memcpy(sizes, r->value->type->dims, r->rank * sizeof *sizes);
  sizes[dim] = next_part(r, dim, count) * hlo_grid_size(r->p->grid, run, count);
  pad(r, sizes);
}

// A whole dimension has no elements after its last one.
static void cut_whole(resharding_t* r, uint32_t dim) {
  if (parts_of(r, &r->dims[dim]) > 1) return;
  r->value = hlo_slice_dim(r->p, r->value, dim, 0, r->type->dims[dim]);
}

// ---- steps

// Sums over axes over which the target is reduced.
static hlo_status_t sum_partials(resharding_t* r, hlo_axis_set_t axes) {
  for (uint32_t d = 0; d < r->rank; ++d) {
    const uint32_t count = next_run(r, d, axes);
    if (!count) continue;
    const uint8_t* run = &r->target[d].axes[r->dims[d].count];
    const int64_t size = hlo_grid_size(r->p->grid, run, count);
    if (!hlo_parts_nest(r->type->dims[d], parts_of(r, &r->dims[d]), size)) continue;
    pad_dim(r, d, count);
    r->value = hlo_build_reduce_scatter(r->p, r->value, d, run, count);
    axes &= ~hlo_axis_set(run, count);
    r->unreduced &= ~hlo_axis_set(run, count);
    append_run(r, d, count);
  }
  r->unreduced &= ~axes;
  return hlo_build_all_reduce(r->p, 1, &r->value, axes, HLO_OP_add, NULL, &r->value);
}

static bool slice_step(resharding_t* r) {
  uint32_t counts[HLO_RANK_MAX];
  hlo_axis_set_t left = ~used_axes(r);
  bool has_any = false;
  for (uint32_t d = 0; d < r->rank; ++d) {
    counts[d] = next_run(r, d, left);
    left &= ~hlo_axis_set(&r->target[d].axes[r->dims[d].count], counts[d]);
    has_any |= counts[d] > 0;
  }
  if (!has_any || !r->value) return false;
  hlo_partitioner_t* p = r->p;
  int64_t sizes[HLO_RANK_MAX], before[HLO_RANK_MAX];
  for (uint32_t d = 0; d < r->rank; ++d) {
    const uint8_t* run = &r->target[d].axes[r->dims[d].count];
    sizes[d] = next_part(r, d, counts[d]);
    before[d] = sizes[d] * hlo_grid_size(p->grid, run, counts[d]);
  }
  pad(r, before);
  if (!r->value) return false;
  hlo_value_t* starts[HLO_RANK_MAX];
  for (uint32_t d = 0; d < r->rank; ++d) {
    const uint8_t* run = &r->target[d].axes[r->dims[d].count];
    starts[d] = hlo_scaled_index(p, hlo_axis_index(p, run, counts[d]), sizes[d]);
  }
  const hlo_type_t* type = hlo_type_with_dims(p->module, r->type, r->rank, sizes);
  r->value = hlo_build_dynamic_slice(p->at, type, r->value, starts);
  for (uint32_t d = 0; d < r->rank; ++d) append_run(r, d, counts[d]);
  return true;
}

// The axes at the minor end of dimension `from` that are the next ones of dimension `to`.
static uint32_t movable_run(const resharding_t* r, uint32_t from, uint32_t to) {
  const uint32_t first = r->dims[to].count, surplus = r->dims[from].count - common_prefix(r, from);
  if (common_prefix(r, to) != first) return 0;
  uint32_t best = 0;
  for (uint32_t count = 1; count <= surplus && first + count <= r->target[to].count; ++count) {
    const uint8_t* tail = &r->dims[from].axes[r->dims[from].count - count];
    if (memcmp(tail, &r->target[to].axes[first], count) == 0) best = count;
  }
  return best;
}

static bool transpose_step(resharding_t* r) {
  for (uint32_t from = 0; from < r->rank; ++from) {
    for (uint32_t to = 0; to < r->rank; ++to) {
      const uint32_t count = from == to ? 0 : movable_run(r, from, to);
      if (!count) continue;
      const uint8_t* run = &r->target[to].axes[r->dims[to].count];
      pad_dim(r, to, count);
      r->value = hlo_build_all_to_all(r->p, r->value, from, to, run, count);
      r->dims[from].count -= count;
      append_run(r, to, count);
      cut_whole(r, from);
      return true;
    }
  }
  return false;
}

static bool gather_step(resharding_t* r) {
  for (uint32_t d = 0; d < r->rank; ++d) {
    const uint32_t prefix = common_prefix(r, d), count = r->dims[d].count - prefix;
    if (!count) continue;
    r->value = hlo_build_all_gather(r->p, r->value, d, &r->dims[d].axes[prefix], count);
    r->dims[d].count = prefix;
    cut_whole(r, d);
    return true;
  }
  return false;
}

// Returns the number of the part, and of the term of a sum, that a position holds under lists of
// axes.
static uint64_t part_number(const resharding_t* r, const hlo_dim_axes_t* dims, uint32_t position) {
  const hlo_grid_t* grid = r->p->grid;
  uint64_t number = 0;
  for (uint32_t d = 0; d < r->rank; ++d) {
    number *= (uint64_t)hlo_grid_size(grid, dims[d].axes, dims[d].count);
    number += (uint64_t)hlo_grid_index(grid, dims[d].axes, dims[d].count, position);
  }
  uint8_t terms[HLO_GRID_AXES_MAX];
  const uint32_t count = hlo_list_axes(grid, r->unreduced, terms);
  return number * (uint64_t)hlo_grid_size(grid, terms, count) +
         (uint64_t)hlo_grid_index(grid, terms, count, position);
}

// Gives every device its new part from a device that has it, if all parts keep their shapes.
static bool permute_step(resharding_t* r) {
  const hlo_grid_t* grid = r->p->grid;
  for (uint32_t d = 0; d < r->rank; ++d) {
    const hlo_dim_axes_t *have = &r->dims[d], *want = &r->target[d];
    if (hlo_grid_size(grid, have->axes, have->count) !=
        hlo_grid_size(grid, want->axes, want->count)) {
      return false;
    }
  }
  const uint32_t count = grid->device_count;
  uint32_t* targets = hlo_arena_array(&r->p->spmd->arena, count, sizeof *targets);
  uint32_t* next = hlo_arena_alloc_zeroed(&r->p->spmd->arena, count * sizeof *next);
  if (!targets || !next) return false;
  // Copies of a part are matched in order: the k-th holder sends to the k-th that needs it.
  uint32_t* needs = hlo_arena_array(&r->p->spmd->arena, count, sizeof *needs);
  uint32_t* starts = hlo_arena_alloc_zeroed(&r->p->spmd->arena, (count + 1) * sizeof *starts);
  if (!needs || !starts) return false;
  for (uint32_t i = 0; i < count; ++i) ++starts[part_number(r, r->target, i) + 1];
  for (uint32_t i = 0; i < count; ++i) starts[i + 1] += starts[i];
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t part = part_number(r, r->target, i);
    needs[starts[part] + next[part]++] = i;
  }
  memset(next, 0, count * sizeof *next);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t part = part_number(r, r->dims, i);
    targets[i] = needs[starts[part] + next[part]++];
  }
  r->value = hlo_build_permute(r->p, r->value, targets);
  memcpy(r->dims, r->target, r->rank * sizeof *r->dims);
  return true;
}

// Makes parts of dimensions terms of a sum over the axes that divided them.
static void fill_with_zeros(resharding_t* r, hlo_axis_set_t axes) {
  hlo_partitioner_t* p = r->p;
  if (!r->value) return;
  hlo_value_t* starts[HLO_RANK_MAX];
  int64_t sizes[HLO_RANK_MAX];
  hlo_axis_set_t filled = 0;
  for (uint32_t d = 0; d < r->rank; ++d) {
    hlo_dim_axes_t* have = &r->dims[d];
    uint32_t first = have->count;
    while (first && (axes & hlo_axis_bit(have->axes[first - 1]))) --first;
    const int64_t parts = hlo_grid_size(p->grid, have->axes, first);
    const int64_t more = hlo_grid_size(p->grid, &have->axes[first], have->count - first);
    if (!hlo_parts_nest(r->type->dims[d], parts, more)) first = have->count;
    const uint32_t count = have->count - first;
    const int64_t size = r->value->type->dims[d];
    filled |= hlo_axis_set(&have->axes[first], count);
    starts[d] = hlo_scaled_index(p, hlo_axis_index(p, &have->axes[first], count), size);
    sizes[d] = size * hlo_grid_size(p->grid, &have->axes[first], count);
    have->count = first;
  }
  if (!filled) return;
  const hlo_type_t* type = hlo_type_with_dims(p->module, r->type, r->rank, sizes);
  hlo_value_t* zeros = type ? hlo_build_identity(p, HLO_OP_add, type) : NULL;
  r->value = hlo_build_dynamic_update_slice(p->at, zeros, r->value, starts);
  r->unreduced |= filled;
  for (uint32_t d = 0; d < r->rank; ++d) cut_whole(r, d);
}

// Makes a reduced value a sum over axes: the device at index 0 has the value, the others nothing.
static void unreduce(resharding_t* r, hlo_axis_set_t axes) {
  if (!r->value) return;
  hlo_value_t* is_first = hlo_build_is_first(r->p, axes);
  hlo_value_t* nothing = hlo_build_identity(r->p, HLO_OP_add, r->value->type);
  r->value = is_first && nothing ? hlo_build_select(r->p->at, is_first, r->value, nothing) : NULL;
}

// Takes the cheapest steps to the target.
static void run_path(resharding_t* r) {
  hlo_spmd_t* spmd = r->p->spmd;
  const hlo_spec_t* from = hlo_spec_make(spmd, r->rank, r->dims, 0);
  const hlo_spec_t* to = hlo_spec_make(spmd, r->rank, r->target, 0);
  hlo_reshard_path_t path = {0};
  hlo_status_t status = from && to
                            ? hlo_find_reshard_path(r->p, r->type, from, to, r->unreduced, &path)
                            : hlo_partitioner_status(r->p);
  if (!hlo_status_is_ok(status)) r->value = NULL;
  hlo_status_release(status);
  for (uint32_t i = 0; i < path.step_count && r->value; ++i) {
    const hlo_reshard_kind_t kind = path.steps[i].kind;
    const bool is_joined = kind == HLO_RESHARD_SLICE || kind == HLO_RESHARD_PERMUTE;
    while (is_joined && i + 1 < path.step_count && path.steps[i + 1].kind == kind) ++i;
    hlo_spec_dims(path.steps[i].to, r->target);
    const bool is_taken = kind == HLO_RESHARD_SLICE       ? slice_step(r)
                          : kind == HLO_RESHARD_PERMUTE   ? permute_step(r)
                          : kind == HLO_RESHARD_TRANSPOSE ? transpose_step(r)
                                                          : gather_step(r);
    if (!is_taken) r->value = NULL;
  }
}

hlo_value_t* hlo_reshard(hlo_partitioner_t* p, hlo_value_t* local, const hlo_type_t* type,
                         const hlo_spec_t* from, const hlo_spec_t* to) {
  if (!local || !from || !to) return NULL;
  if (from == to || !hlo_type_is_tensor(type)) return local;
  resharding_t* r = hlo_arena_alloc_zeroed(&p->spmd->arena, sizeof *r);
  if (!r) return NULL;
  *r = (resharding_t){.p = p, .type = type, .value = local, .rank = from->rank};
  r->unreduced = from->unreduced;
  hlo_spec_dims(from, r->dims);
  hlo_spec_dims(to, r->target);
  const hlo_axis_set_t sums = from->unreduced & ~to->unreduced;
  if (sums) {
    hlo_status_t status = sum_partials(r, sums);
    if (!hlo_status_is_ok(status)) r->value = NULL;
    hlo_status_release(status);
  }
  fill_with_zeros(r, to->unreduced & ~from->unreduced);
  if (!is_done(r)) run_path(r);
  if (to->unreduced & ~r->unreduced) unreduce(r, to->unreduced & ~r->unreduced);
  return r->value;
}
