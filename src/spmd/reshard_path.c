// SPDX-License-Identifier: Apache-2.0
// Finds the cheapest steps from one spec to another: a shortest path (Dijkstra) among specs, where
// a step costs the bytes that a device receives and what a collective costs in itself.
//
// The search ends early where axes only need to be added, or only to be removed. Past a number of
// specs, the answer is to gather all that is not in place and to slice, which is always possible.
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "spmd/partition_impl.h"

typedef struct path_node {
  const hlo_spec_t* spec;
  hlo_reshard_kind_t kind;  // of the step to it
  uint32_t parent;
  double cost;
  bool is_final;
} path_node_t;

typedef struct search {
  hlo_partitioner_t* p;
  const hlo_type_t* type;
  const hlo_spec_t *from, *to;
  hlo_axis_set_t summed;  // axes of partial sums, which cannot divide dimensions
  double bytes;           // of the whole value
  path_node_t* nodes;
  uint32_t count;
  uint32_t at;      // the node whose steps are added
  double most;      // cost of the cheapest path to the target so far
  bool has_target;  // there is one
} search_t;

static double part_bytes(const search_t* s, const hlo_spec_t* spec) {
  return s->bytes / (double)hlo_grid_size(s->p->grid, spec->axes, hlo_spec_axis_count(spec));
}

static hlo_status_t add_step(search_t* s, hlo_reshard_kind_t kind, const hlo_spec_t* spec,
                             double bytes) {
  if (!spec) return hlo_partitioner_status(s->p);
  const path_node_t* at = &s->nodes[s->at];
  // Slices that follow each other are one op, and so are permutes.
  const bool is_joined = kind == HLO_RESHARD_PERMUTE && s->at && at->kind == HLO_RESHARD_PERMUTE;
  double cost = at->cost;
  if (kind == HLO_RESHARD_SLICE) cost += 1;  // next to nothing
  if (kind != HLO_RESHARD_SLICE && !is_joined) cost += bytes + HLO_TUNING_COLLECTIVE_BYTES;
  if (s->has_target && cost > s->most) return hlo_ok();
  if (spec == s->to && (!s->has_target || cost < s->most)) {
    s->has_target = true;
    s->most = cost;
  }
  uint32_t i = 0;
  while (i < s->count && s->nodes[i].spec != spec) ++i;
  if (i < s->count && (s->nodes[i].is_final || s->nodes[i].cost <= cost)) return hlo_ok();
  if (i == s->count) {
    if (s->count == HLO_TUNING_RESHARD_MAX_SPECS) return hlo_ok();
    ++s->count;
  }
  s->nodes[i] = (path_node_t){spec, kind, s->at, cost, false};
  return hlo_ok();
}

// ---- lists of axes

static bool starts_with(const hlo_spec_t* longer, const hlo_spec_t* shorter, uint32_t dim) {
  const uint8_t *a, *b;
  const uint32_t count = hlo_spec_dim(shorter, dim, &b);
  return hlo_spec_dim(longer, dim, &a) >= count && memcmp(a, b, count) == 0;
}

static const hlo_spec_t* make(search_t* s, const hlo_dim_axes_t* dims) {
  return hlo_spec_make(s->p->spmd, s->from->rank, dims, 0);
}

// Returns true if an op on each device alone, or a collective, takes a dimension from one number of
// axes to another one of which the first are the same.
static bool nests(const search_t* s, uint32_t dim, const uint8_t* axes, uint32_t less,
                  uint32_t more) {
  return hlo_parts_nest(s->type->dims[dim], hlo_grid_size(s->p->grid, axes, less),
                        hlo_grid_size(s->p->grid, &axes[less], more - less));
}

// ---- steps

// Adds the next axes of the target to the dimensions that are in place so far.
static hlo_status_t add_slices(search_t* s, const hlo_spec_t* spec) {
  const hlo_axis_set_t used = hlo_spec_axes(spec) | s->summed;
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t *have, *want;
    const uint32_t count = hlo_spec_dim(spec, d, &have), all = hlo_spec_dim(s->to, d, &want);
    if (count >= all || !starts_with(s->to, spec, d)) continue;
    // Parts of equal size are divided again and again, others only once.
    const bool is_even = s->type->dims[d] % hlo_spec_parts(s->p->grid, s->to, d) == 0;
    const uint32_t end = is_even ? count + 1 : all;
    for (uint32_t k = count + 1; k <= end && !(used & hlo_axis_bit(want[k - 1])); ++k) {
      if (!nests(s, d, want, count, k)) continue;
      HLO_TRY(add_step(s, HLO_RESHARD_SLICE, hlo_spec_with_dim(s->p, spec, d, want, k), 0));
    }
  }
  return hlo_ok();
}

// Adds axes that nothing uses to dimensions of which the target has other axes: a permute then
// exchanges smaller parts.
static hlo_status_t add_early_slices(search_t* s, const hlo_spec_t* spec) {
  const hlo_grid_t* grid = s->p->grid;
  const hlo_axis_set_t used = hlo_spec_axes(spec) | s->summed;
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const int64_t parts = hlo_spec_parts(grid, spec, d), all = hlo_spec_parts(grid, s->to, d);
    if (s->type->dims[d] % all || starts_with(s->to, spec, d)) continue;
    hlo_dim_axes_t axes;
    const uint8_t* have;
    axes.count = hlo_spec_dim(spec, d, &have);
    memcpy(axes.axes, have, axes.count);
    for (uint32_t a = 0; a < grid->axis_count; ++a) {
      if ((used & hlo_axis_bit(a)) || all % (parts * grid->sizes[a])) continue;
      axes.axes[axes.count] = (uint8_t)a;
      HLO_TRY(add_step(s, HLO_RESHARD_SLICE,
                       hlo_spec_with_dim(s->p, spec, d, axes.axes, axes.count + 1), 0));
    }
  }
  return hlo_ok();
}

static hlo_status_t add_gathers(search_t* s, const hlo_spec_t* spec) {
  const double bytes = part_bytes(s, spec);
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t* axes;
    const uint32_t count = hlo_spec_dim(spec, d, &axes);
    for (uint32_t left = 0; left < count; ++left) {
      const int64_t size = hlo_grid_size(s->p->grid, &axes[left], count - left);
      if (!nests(s, d, axes, left, count)) continue;
      HLO_TRY(add_step(s, HLO_RESHARD_GATHER, hlo_spec_with_dim(s->p, spec, d, axes, left),
                       bytes * (double)(size - 1)));
    }
  }
  return hlo_ok();
}

// Moves minor axes of one dimension to the minor end of another one.
static hlo_status_t add_transposes(search_t* s, const hlo_spec_t* spec) {
  const hlo_grid_t* grid = s->p->grid;
  const double bytes = part_bytes(s, spec);
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  hlo_spec_dims(spec, dims);
  for (uint32_t from = 0; from < spec->rank; ++from) {
    for (uint32_t to = 0; to < spec->rank; ++to) {
      for (uint32_t k = 1; from != to && k <= dims[from].count; ++k) {
        const hlo_dim_axes_t old_from = dims[from], old_to = dims[to];
        const uint8_t* moved = &old_from.axes[old_from.count - k];
        const int64_t size = hlo_grid_size(grid, moved, k);
        const int64_t parts = hlo_grid_size(grid, old_to.axes, old_to.count);
        const bool is_wanted = parts * size == hlo_spec_parts(grid, s->to, to);
        if (s->type->dims[to] % (parts * size) && !is_wanted) continue;
        if (!hlo_parts_nest(s->type->dims[to], parts, size)) continue;
        if (!nests(s, from, old_from.axes, old_from.count - k, old_from.count)) continue;
        dims[from].count -= k;
        memcpy(&dims[to].axes[old_to.count], moved, k);
        dims[to].count += k;
        hlo_status_t status = add_step(s, HLO_RESHARD_TRANSPOSE, make(s, dims),
                                       bytes * (double)(size - 1) / (double)size);
        dims[from] = old_from;
        dims[to] = old_to;
        HLO_TRY(status);
      }
    }
  }
  return hlo_ok();
}

// Exchanges two axes, or an axis with one that is not used, where the parts keep their sizes.
static hlo_status_t add_permutes(search_t* s, const hlo_spec_t* spec) {
  const hlo_grid_t* grid = s->p->grid;
  const double bytes = part_bytes(s, spec);
  const uint32_t count = hlo_spec_axis_count(spec);
  const hlo_axis_set_t used = hlo_spec_axes(spec) | s->summed;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = i + 1; k < count; ++k) {
      hlo_spec_t next = *spec;
      bool is_one_dim = false;
      for (uint32_t d = 0; d < spec->rank; ++d) {
        is_one_dim |= (d ? spec->ends[d - 1] : 0) <= i && k < spec->ends[d];
      }
      if (!is_one_dim && grid->sizes[spec->axes[i]] != grid->sizes[spec->axes[k]]) continue;
      next.axes[i] = spec->axes[k];
      next.axes[k] = spec->axes[i];
      HLO_TRY(add_step(s, HLO_RESHARD_PERMUTE, hlo_spec_intern(s->p->spmd, &next), bytes));
    }
    for (uint32_t a = 0; a < grid->axis_count; ++a) {
      if ((used & hlo_axis_bit(a)) || grid->sizes[a] != grid->sizes[spec->axes[i]]) continue;
      hlo_spec_t next = *spec;
      next.axes[i] = (uint8_t)a;
      HLO_TRY(add_step(s, HLO_RESHARD_PERMUTE, hlo_spec_intern(s->p->spmd, &next), bytes));
    }
  }
  return hlo_ok();
}

// ---- search

// Goes on from the cheapest node; false after the last one.
static bool next_node(search_t* s) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < s->count; ++i) {
    if (s->nodes[i].is_final) continue;
    if (best == UINT32_MAX || s->nodes[i].cost < s->nodes[best].cost) best = i;
  }
  s->at = best;
  if (best != UINT32_MAX) s->nodes[best].is_final = true;
  return best != UINT32_MAX;
}

// Gathers what is not in place, one dimension after the other, then slices.
static hlo_status_t add_plain_path(search_t* s) {
  const hlo_spec_t* spec = s->from;
  s->count = 1;
  s->has_target = false;
  s->at = 0;
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t *have, *want;
    const uint32_t count = hlo_spec_dim(spec, d, &have), wanted = hlo_spec_dim(s->to, d, &want);
    uint32_t same = 0;
    while (same < count && same < wanted && have[same] == want[same]) ++same;
    while (!nests(s, d, have, same, count) || !nests(s, d, want, same, wanted)) --same;
    if (same == count) continue;
    const double bytes =
        part_bytes(s, spec) * (double)(hlo_grid_size(s->p->grid, &have[same], count - same) - 1);
    spec = hlo_spec_with_dim(s->p, spec, d, have, same);
    HLO_TRY(add_step(s, HLO_RESHARD_GATHER, spec, bytes));
    s->at = s->count - 1;
  }
  if (spec != s->to) {
    HLO_TRY(add_step(s, HLO_RESHARD_SLICE, s->to, 0));
    s->at = s->count - 1;
  }
  return hlo_ok();
}

static hlo_status_t find(search_t* s) {
  bool is_plain = true;  // every dimension needs fewer axes, or more of them
  for (uint32_t d = 0; d < s->from->rank; ++d) {
    is_plain = is_plain && (starts_with(s->from, s->to, d) || starts_with(s->to, s->from, d));
  }
  // An axis that moves to another dimension is an all-to-all.
  bool is_moved = false;
  for (uint32_t d = 0; d < s->from->rank && is_plain; ++d) {
    const uint8_t *have, *want;
    const uint32_t count = hlo_spec_dim(s->from, d, &have), wanted = hlo_spec_dim(s->to, d, &want);
    for (uint32_t i = count; i < wanted; ++i) {
      is_moved |= (hlo_spec_axes(s->from) & hlo_axis_bit(want[i])) != 0;
    }
  }
  if (is_plain && !is_moved) return add_plain_path(s);
  while (next_node(s)) {
    const hlo_spec_t* spec = s->nodes[s->at].spec;
    if (spec == s->to) return hlo_ok();
    if (s->count == HLO_TUNING_RESHARD_MAX_SPECS) break;
    HLO_TRY(add_slices(s, spec));
    HLO_TRY(add_early_slices(s, spec));
    HLO_TRY(add_transposes(s, spec));
    HLO_TRY(add_permutes(s, spec));
    HLO_TRY(add_gathers(s, spec));
  }
  return add_plain_path(s);
}

// A path that was found, by all that it depends on.
typedef struct known_path {
  const hlo_type_t* type;
  const hlo_spec_t *from, *to;
  uint64_t summed;
  hlo_reshard_path_t path;
} known_path_t;

enum { KEY_BYTES = offsetof(known_path_t, path) };

static hlo_status_t search_path(hlo_partitioner_t* p, known_path_t* known) {
  search_t s = {.p = p,
                .type = known->type,
                .from = known->from,
                .to = known->to,
                .summed = (hlo_axis_set_t)known->summed};
  hlo_reshard_path_t* out = &known->path;
  s.bytes = (double)hlo_type_size_bytes(s.type);
  if (!p->path_nodes) {
    p->path_nodes = hlo_arena_array(&p->spmd->arena, HLO_TUNING_RESHARD_MAX_SPECS, sizeof *s.nodes);
    if (!p->path_nodes) return hlo_partitioner_status(p);
  }
  s.nodes = p->path_nodes;
  s.nodes[s.count++] = (path_node_t){.spec = s.from};
  HLO_TRY(find(&s));
  out->bytes = s.nodes[s.at].cost;
  for (uint32_t i = s.at; i; i = s.nodes[i].parent) ++out->step_count;
  hlo_reshard_step_t* steps = hlo_arena_array(&p->spmd->arena, out->step_count, sizeof *steps);
  if (!steps) return hlo_partitioner_status(p);
  uint32_t next = out->step_count;
  for (uint32_t i = s.at; i; i = s.nodes[i].parent) {
    steps[--next] = (hlo_reshard_step_t){s.nodes[i].kind, s.nodes[i].spec};
  }
  out->steps = steps;
  return hlo_ok();
}

hlo_status_t hlo_find_reshard_path(hlo_partitioner_t* p, const hlo_type_t* type,
                                   const hlo_spec_t* from, const hlo_spec_t* to,
                                   hlo_axis_set_t summed, hlo_reshard_path_t* out) {
  hlo_map_t* paths = &p->spmd->paths;
  *out = (hlo_reshard_path_t){0};
  if (from == to) return hlo_ok();
  const known_path_t key = {type, from, to, summed, {0}};
  const known_path_t* known = hlo_map_get(paths, (const char*)&key, KEY_BYTES);
  if (!known) {
    known_path_t* found = hlo_arena_alloc(&p->spmd->arena, sizeof *found);
    if (!found) return hlo_partitioner_status(p);
    *found = key;
    HLO_TRY(search_path(p, found));
    if (!hlo_map_put(paths, (const char*)found, KEY_BYTES, found)) {
      p->spmd->arena.failed = true;  // so that the callers need to look in one place
      return hlo_partitioner_status(p);
    }
    known = found;
  }
  *out = known->path;
  return hlo_ok();
}

double hlo_reshard_bytes(hlo_partitioner_t* p, const hlo_type_t* type, const hlo_spec_t* from,
                         const hlo_spec_t* to) {
  if (from == to || !hlo_type_is_tensor(type)) return 0;
  hlo_spec_t source = *from, target = *to;
  double bytes = 0;
  const hlo_axis_set_t sums = from->unreduced & ~to->unreduced;
  if (sums) {
    uint8_t axes[HLO_GRID_AXES_MAX];
    const double size = (double)hlo_grid_size(p->grid, axes, hlo_list_axes(p->grid, sums, axes));
    const double part = (double)hlo_type_size_bytes(type) /
                        (double)hlo_grid_size(p->grid, from->axes, hlo_spec_axis_count(from));
    // Axes that divide the target are scattered, which is half of an all-reduce.
    const bool is_scattered = (hlo_spec_axes(to) & sums) == sums;
    bytes += part * (is_scattered ? 1 : 2) * (size - 1) / size + HLO_TUNING_COLLECTIVE_BYTES;
    if (is_scattered) return bytes;
  }
  source.unreduced = target.unreduced = 0;
  hlo_reshard_path_t path;
  hlo_status_t status = hlo_find_reshard_path(p, type, hlo_spec_intern(p->spmd, &source),
                                              hlo_spec_intern(p->spmd, &target),
                                              from->unreduced & to->unreduced, &path);
  hlo_status_release(status);
  return bytes + path.bytes;
}
