// SPDX-License-Identifier: Apache-2.0
// One step of propagation: the shardings of an op's tensors, projected to the factors of its rule,
// made equal as far as they do not contradict each other, and projected back.
//
// A cell is the axes of one factor in one tensor. The basic strategy passes on what suits all
// tensors; the aggressive one what suits a tensor itself, the factors of the largest tensors first.
// source : Shardy, "Propagation"; basic and aggressive factor propagation
#include <string.h>

#include "spmd/propagate_impl.h"
#include "spmd/propagate_log.h"

typedef struct cell {
  bool is_present, is_closed;
  uint8_t count;  // axes of the factor
  uint8_t over;   // axes after them, which the factor cannot be divided by
  uint8_t axes[HLO_GRID_AXES_MAX];
  int64_t room;  // parts of equal size that the factor may be divided in; 0: any number
} cell_t;

typedef struct axis_list {
  uint8_t count;
  uint8_t axes[HLO_GRID_AXES_MAX];
} axis_list_t;

/// Buffers that steps share.
struct hlo_prop_scratch {
  cell_t* cells;  // [tensor][factor]
  size_t cell_capacity;
  hlo_axis_set_t* used;   // per tensor: axes of its cells
  hlo_axis_set_t* fixed;  // per tensor: axes that it must not use
  uint32_t tensor_capacity;
  axis_list_t* lists;  // per factor
  uint32_t* order;     // factors
  int64_t* sources;    // per factor: size of its largest source
  uint32_t* source_numbers;
  uint32_t factor_capacity;
};

typedef struct projection {
  hlo_prop_t* prop;
  hlo_prop_step_t* step;
  uint32_t factor_count;
  cell_t* cells;
  hlo_axis_set_t *used, *fixed;
} projection_t;

static cell_t* cell_at(const projection_t* p, uint32_t tensor, uint32_t factor) {
  return &p->cells[(size_t)tensor * p->factor_count + factor];
}

static int64_t factor_size(const projection_t* p, uint32_t factor) {
  if (p->step->rule) return p->step->rule->factors[factor].size;
  for (uint32_t t = 0; t < p->step->tensor_count; ++t) {
    if (p->step->tensors[t].slot) return p->step->tensors[t].type->dims[factor];
  }
  return 1;
}

// The factors of a dimension, major to minor.
static uint32_t dim_factors(const projection_t* p, uint32_t tensor, const uint32_t* dim,
                            const uint32_t** out_factors) {
  const hlo_sharding_rule_t* rule = p->step->rule;
  *out_factors = dim;
  if (!rule) return 1;
  if (!rule->dims[tensor]) return 0;
  *out_factors = rule->dims[tensor][*dim].factors;
  return rule->dims[tensor][*dim].count;
}

uint8_t hlo_prop_direction(const hlo_prop_t* prop, const hlo_prop_step_t* step, uint32_t factor) {
  if (step->kind == HLO_PROP_FLOW) return HLO_PROP_BOTH;
  if (step->kind == HLO_PROP_BARRIER) return step->allowed;
  const hlo_factor_t* f = step->rule ? &step->rule->factors[factor] : NULL;
  if (f && f->is_blocked) return HLO_PROP_NONE;
  uint8_t direction = HLO_PROP_NONE;
  // An operand with several uses is likely to have conflicts, and is left for the next phase.
  if (prop->phase >= 1 || !step->has_shared_operands) {
    if (step->kind == HLO_PROP_PASS) direction |= HLO_PROP_BOTH;
    if (step->kind == HLO_PROP_SLICE) direction |= HLO_PROP_FORWARD;
  }
  const uint8_t unless_broadcast =
      step->kind == HLO_PROP_BROADCAST ? HLO_PROP_BACKWARD : HLO_PROP_BOTH;
  if (prop->phase >= 3 || (prop->phase == 2 && (!f || f->kind == HLO_FACTOR_PASS_THROUGH))) {
    direction |= unless_broadcast;
  }
  if (prop->phase >= 4) direction = HLO_PROP_BOTH;
  return direction;
}

// ---- from slots to cells

// The spec of a tensor as the step sees it.
static void view_spec(const hlo_prop_tensor_t* tensor, hlo_spec_t* out) {
  const hlo_spec_t* spec = &tensor->slot->spec;
  const hlo_prop_view_t* view = tensor->view;
  if (!view) {
    *out = *spec;
    return;
  }
  uint32_t count = 0;
  out->rank = spec->rank;
  out->unreduced = spec->unreduced;
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t *axes, *manual;
    const uint32_t own = hlo_spec_dim(spec, d, &axes);
    const uint32_t added = view->adds ? hlo_spec_dim(&view->prefix, d, &manual) : 0;
    for (uint32_t i = 0; i < added; ++i) out->axes[count++] = manual[i];
    for (uint32_t i = 0; i < own; ++i) {
      const bool is_hidden = !view->adds && (view->manual & hlo_axis_bit(axes[i]));
      if (!is_hidden) out->axes[count++] = axes[i];
    }
    out->ends[d] = (uint8_t)count;
  }
}

// Gives the factors of a dimension its axes, the major factor first, until each is fully divided.
static void fill_dim(const projection_t* p, uint32_t tensor, uint32_t dim, const uint8_t* axes,
                     uint32_t count, bool is_closed) {
  const uint32_t* factors;
  const uint32_t factor_count = dim_factors(p, tensor, &dim, &factors);
  bool is_over = false;
  uint32_t next = 0;
  for (uint32_t i = 0; i < factor_count; ++i) {
    cell_t* cell = cell_at(p, tensor, factors[i]);
    const bool is_minor = i + 1 == factor_count;
    const int64_t whole = factor_size(p, factors[i]);
    // Parts of a whole dimension may be of unequal size until all is decided.
    *cell = (cell_t){.is_present = true, .is_closed = is_closed || is_over};
    cell->room = is_minor ? 0 : whole;
    if (is_over) break;
    int64_t left = whole;
    while (next < count && (is_minor || left % p->prop->grid->sizes[axes[next]] == 0)) {
      left /= p->prop->grid->sizes[axes[next]];
      cell->axes[cell->count++] = axes[next++];
    }
    if (left > 1 && next < count) {
      is_over = true;
      while (next < count) cell->axes[cell->count + cell->over++] = axes[next++];
    }
  }
}

static void project(const projection_t* p) {
  for (uint32_t t = 0; t < p->step->tensor_count; ++t) {
    const hlo_prop_tensor_t* tensor = &p->step->tensors[t];
    for (uint32_t f = 0; f < p->factor_count; ++f) cell_at(p, t, f)->is_present = false;
    p->used[t] = p->fixed[t] = 0;
    if (!tensor->slot) continue;
    hlo_spec_t spec;
    view_spec(tensor, &spec);
    for (uint32_t d = 0; d < spec.rank; ++d) {
      const uint8_t* axes;
      const uint32_t count = hlo_spec_dim(&spec, d, &axes);
      fill_dim(p, t, d, axes, count, tensor->slot->closed >> d & 1);
    }
    p->used[t] = hlo_spec_axes(&spec);
    p->fixed[t] = tensor->slot->replicated | spec.unreduced;
    if (tensor->view && tensor->view->adds) p->fixed[t] |= tensor->view->replicated;
    if (tensor->view && !tensor->view->adds) p->fixed[t] &= ~tensor->view->manual;
  }
}

// ---- from cells to slots

static void collect_spec(const projection_t* p, uint32_t tensor, hlo_spec_t* out) {
  const hlo_prop_tensor_t* at = &p->step->tensors[tensor];
  const hlo_prop_view_t* view = at->view;
  uint32_t total = 0;
  memset(out, 0, sizeof *out);
  out->rank = at->slot->spec.rank;
  out->unreduced = at->slot->spec.unreduced;
  for (uint32_t d = 0; d < out->rank; ++d) {
    const uint8_t* manual;
    const uint32_t added = view && !view->adds ? hlo_spec_dim(&view->prefix, d, &manual) : 0;
    for (uint32_t i = 0; i < added; ++i) out->axes[total++] = manual[i];
    const uint32_t* factors;
    const uint32_t count = dim_factors(p, tensor, &d, &factors);
    for (uint32_t i = 0; i < count; ++i) {
      const cell_t* cell = cell_at(p, tensor, factors[i]);
      for (uint32_t k = 0; k < (uint32_t)cell->count + cell->over; ++k) {
        const bool is_hidden = view && view->adds && (view->manual & hlo_axis_bit(cell->axes[k]));
        if (!is_hidden) out->axes[total++] = cell->axes[k];
      }
      // Axes of the next factor would divide the dimension in strides.
      const int64_t parts = hlo_grid_size(p->prop->grid, cell->axes, cell->count);
      if (cell->over || parts < factor_size(p, factors[i])) break;
    }
    out->ends[d] = (uint8_t)total;
  }
}

static bool same_axes(const hlo_spec_t* a, const hlo_spec_t* b) {
  return memcmp(a->ends, b->ends, a->rank) == 0 &&
         memcmp(a->axes, b->axes, hlo_spec_axis_count(a)) == 0;
}

static hlo_status_t log_change(const projection_t* p, uint32_t tensor, const hlo_spec_t* spec) {
  const hlo_spec_t* old = &p->step->tensors[tensor].slot->spec;
  for (uint32_t d = 0; p->prop->is_logged && d < spec->rank; ++d) {
    const uint8_t *before, *now;
    const uint32_t known = hlo_spec_dim(old, d, &before), count = hlo_spec_dim(spec, d, &now);
    if (count <= known) continue;
    HLO_TRY(hlo_prop_log(p->prop, p->step, tensor, d, count - known, now + known, HLO_PROP_TAKEN));
  }
  return hlo_ok();
}

static hlo_status_t update_slots(const projection_t* p, bool* changed) {
  for (uint32_t t = 0; t < p->step->tensor_count; ++t) {
    if (!changed[t]) continue;
    hlo_prop_slot_t* slot = p->step->tensors[t].slot;
    hlo_spec_t spec;
    collect_spec(p, t, &spec);
    changed[t] = !same_axes(&slot->spec, &spec);
    if (!changed[t]) continue;
    HLO_TRY(log_change(p, t, &spec));
    slot->spec = spec;
  }
  return hlo_ok();
}

// ---- conflicts

static bool conflicts_across(const projection_t* p, uint32_t tensor, uint32_t factor,
                             uint8_t axis) {
  const cell_t* cell = cell_at(p, tensor, factor);
  if (!(p->used[tensor] & hlo_axis_bit(axis))) return false;
  // An axis after those of the factor itself belongs to no other factor.
  return !cell->is_present ||
         !(hlo_axis_set(cell->axes, cell->count + cell->over) & hlo_axis_bit(axis));
}

// `before`: the parts that the axes before this one make.
static hlo_prop_reason_t conflict_within(const projection_t* p, uint32_t tensor, uint32_t factor,
                                         uint8_t axis, int64_t before) {
  const cell_t* cell = cell_at(p, tensor, factor);
  if (!cell->is_present) return HLO_PROP_TAKEN;
  if (p->fixed[tensor] & hlo_axis_bit(axis)) return HLO_PROP_REPLICATED;
  if (hlo_axis_set(cell->axes, cell->count) & hlo_axis_bit(axis)) return HLO_PROP_TAKEN;
  if (cell->is_closed) return HLO_PROP_CLOSED;
  const int64_t parts = before * p->prop->grid->sizes[axis];
  return cell->over || (cell->room && cell->room % parts != 0) ? HLO_PROP_UNEVEN : HLO_PROP_TAKEN;
}

static hlo_prop_reason_t conflict(const projection_t* p, uint32_t tensor, uint32_t factor,
                                  uint8_t axis, int64_t before) {
  if (conflicts_across(p, tensor, factor, axis)) return HLO_PROP_USED;
  return conflict_within(p, tensor, factor, axis, before);
}

static hlo_status_t log_conflict(const projection_t* p, uint32_t tensor, uint32_t factor,
                                 uint8_t axis, hlo_prop_reason_t reason) {
  if (!p->prop->is_logged || !cell_at(p, tensor, factor)->is_present) return hlo_ok();
  for (uint32_t d = 0; d < p->step->tensors[tensor].slot->spec.rank; ++d) {
    const uint32_t* factors;
    const uint32_t count = dim_factors(p, tensor, &d, &factors);
    for (uint32_t i = 0; i < count; ++i) {
      if (factors[i] != factor) continue;
      return hlo_prop_log(p->prop, p->step, tensor, d, 1, &axis, reason);
    }
  }
  return hlo_ok();
}

// ---- axes that tensors agree on

// Returns false if the axes of the cell contradict those of the list, which is cut off there.
static bool join_axes(axis_list_t* list, const cell_t* cell, bool* can_grow) {
  uint32_t i = 0;
  while (i < list->count && i < cell->count && list->axes[i] == cell->axes[i]) ++i;
  if (i < list->count && i < cell->count) {
    list->count = (uint8_t)i;
    *can_grow = false;
    return false;
  }
  for (; *can_grow && i < cell->count; ++i) list->axes[list->count++] = cell->axes[i];
  return true;
}

static hlo_status_t join_tensors(const projection_t* p, uint32_t factor, uint32_t first,
                                 uint32_t end, axis_list_t* list, bool* can_grow) {
  for (uint32_t t = first; t < end; ++t) {
    const cell_t* cell = cell_at(p, t, factor);
    if (!cell->is_present || join_axes(list, cell, can_grow)) continue;
    HLO_TRY(log_conflict(p, t, factor, list->axes[list->count], HLO_PROP_DIFFERENT));
  }
  return hlo_ok();
}

// The longest list of axes that no tensor contradicts, of those that the direction starts from.
static hlo_status_t find_major_axes(const projection_t* p, uint32_t factor, uint8_t direction,
                                    axis_list_t* list) {
  const uint32_t operands = p->step->operand_count, count = p->step->tensor_count;
  bool can_grow = true;
  list->count = 0;
  if (direction == HLO_PROP_NONE) return hlo_ok();
  const bool is_backward = direction == HLO_PROP_BACKWARD;
  HLO_TRY(join_tensors(p, factor, is_backward ? operands : 0, is_backward ? count : operands, list,
                       &can_grow));
  if (direction != HLO_PROP_BOTH) can_grow = false;
  return join_tensors(p, factor, is_backward ? 0 : operands, is_backward ? operands : count, list,
                      &can_grow);
}

static bool is_strict_prefix(const cell_t* cell, const axis_list_t* list) {
  return cell->count < list->count && memcmp(cell->axes, list->axes, cell->count) == 0;
}

static bool expand_cell(const projection_t* p, uint32_t tensor, uint32_t factor,
                        const axis_list_t* list) {
  cell_t* cell = cell_at(p, tensor, factor);
  if (!cell->is_present || !is_strict_prefix(cell, list)) return false;
  memcpy(cell->axes, list->axes, list->count);
  cell->count = list->count;
  p->used[tensor] |= hlo_axis_set(list->axes, list->count);
  return true;
}

// ---- basic strategy

static hlo_status_t run_basic(const projection_t* p, bool* changed) {
  for (uint32_t f = 0; f < p->factor_count; ++f) {
    axis_list_t list;
    HLO_TRY(find_major_axes(p, f, hlo_prop_direction(p->prop, p->step, f), &list));
    int64_t before = 1;
    for (uint32_t i = 0; i < list.count; ++i) {
      const uint8_t axis = list.axes[i];
      for (uint32_t t = 0; t < p->step->tensor_count; ++t) {
        if (!p->step->tensors[t].slot) continue;
        const hlo_prop_reason_t reason = conflict(p, t, f, axis, before);
        if (reason == HLO_PROP_TAKEN) continue;
        HLO_TRY(log_conflict(p, t, f, axis, reason));
        list.count = (uint8_t)i;
        break;
      }
      before *= p->prop->grid->sizes[axis];
    }
    for (uint32_t t = 0; list.count && t < p->step->tensor_count; ++t) {
      if (expand_cell(p, t, f, &list)) changed[t] = true;
    }
  }
  return hlo_ok();
}

// ---- aggressive strategy

// The largest tensor whose axes of a factor are those that are passed on.
static void find_sources(const projection_t* p, const axis_list_t* lists) {
  struct hlo_prop_scratch* s = p->prop->scratch;
  for (uint32_t f = 0; f < p->factor_count; ++f) {
    s->sources[f] = -1;
    s->source_numbers[f] = UINT32_MAX;
  }
  for (uint32_t t = 0; t < p->step->tensor_count; ++t) {
    int64_t size = 1;
    for (uint32_t f = 0; f < p->factor_count; ++f) {
      if (cell_at(p, t, f)->is_present && __builtin_mul_overflow(size, factor_size(p, f), &size)) {
        size = INT64_MAX;
        break;
      }
    }
    for (uint32_t f = 0; f < p->factor_count; ++f) {
      const cell_t* cell = cell_at(p, t, f);
      const bool is_source = cell->is_present && lists[f].count && lists[f].count <= cell->count &&
                             memcmp(lists[f].axes, cell->axes, lists[f].count) == 0;
      if (!is_source || size <= s->sources[f]) continue;
      s->sources[f] = size;
      s->source_numbers[f] = t;
    }
  }
}

static bool comes_before(const projection_t* p, const axis_list_t* lists, uint32_t a, uint32_t b) {
  const struct hlo_prop_scratch* s = p->prop->scratch;
  if (s->sources[a] != s->sources[b]) return s->sources[a] > s->sources[b];
  if (p->step->is_elementwise) {
    const int64_t size_a = hlo_grid_size(p->prop->grid, lists[a].axes, lists[a].count);
    const int64_t size_b = hlo_grid_size(p->prop->grid, lists[b].axes, lists[b].count);
    if (size_a != size_b) return size_a > size_b;
  }
  if (s->source_numbers[a] != s->source_numbers[b]) {
    return s->source_numbers[a] + 1 < s->source_numbers[b] + 1;  // none first
  }
  return a < b;
}

static void sort_factors(const projection_t* p, const axis_list_t* lists) {
  uint32_t* order = p->prop->scratch->order;
  for (uint32_t i = 0; i < p->factor_count; ++i) {
    uint32_t at = i;
    for (; at && comes_before(p, lists, i, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = i;
  }
}

// Returns the axes of a factor that one tensor can take.
static hlo_status_t accept_axes(const projection_t* p, uint32_t tensor, uint32_t factor,
                                axis_list_t* list) {
  const cell_t* cell = cell_at(p, tensor, factor);
  if (!cell->is_present) list->count = 0;
  int64_t before = 1;
  for (uint32_t i = 0; i < list->count; ++i) {
    const hlo_prop_reason_t reason = conflict_within(p, tensor, factor, list->axes[i], before);
    if (reason != HLO_PROP_TAKEN) {
      HLO_TRY(log_conflict(p, tensor, factor, list->axes[i], reason));
      list->count = (uint8_t)i;
      break;
    }
    before *= p->prop->grid->sizes[list->axes[i]];
  }
  if (!is_strict_prefix(cell, list)) list->count = 0;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (!conflicts_across(p, tensor, factor, list->axes[i])) continue;
    HLO_TRY(log_conflict(p, tensor, factor, list->axes[i], HLO_PROP_USED));
    list->count = (uint8_t)i;
  }
  return hlo_ok();
}

static hlo_status_t run_aggressive_on(const projection_t* p, uint32_t tensor,
                                      const axis_list_t* lists, bool* changed) {
  const hlo_prop_step_t* step = p->step;
  for (uint32_t i = 0; i < p->factor_count; ++i) {
    const uint32_t factor = p->prop->scratch->order[i];
    axis_list_t list = lists[factor];
    if (!list.count) continue;
    HLO_TRY(accept_axes(p, tensor, factor, &list));
    // Operands of elementwise ops take from each other only what the result has too.
    for (uint32_t r = step->operand_count;
         tensor < step->operand_count && step->is_elementwise && r < step->tensor_count; ++r) {
      const cell_t* result = cell_at(p, r, factor);
      if (result->is_present && is_strict_prefix(result, &list)) list.count = result->count;
    }
    if (expand_cell(p, tensor, factor, &list)) changed[tensor] = true;
  }
  return hlo_ok();
}

static hlo_status_t run_aggressive(const projection_t* p, bool* changed) {
  axis_list_t* lists = p->prop->scratch->lists;
  bool is_any = false;
  for (uint32_t f = 0; f < p->factor_count; ++f) {
    HLO_TRY(find_major_axes(p, f, hlo_prop_direction(p->prop, p->step, f), &lists[f]));
    is_any = is_any || lists[f].count;
  }
  if (!is_any) return hlo_ok();
  find_sources(p, lists);
  sort_factors(p, lists);
  const uint32_t operands = p->step->operand_count, count = p->step->tensor_count;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t t = i < count - operands ? operands + i : i - (count - operands);
    if (p->step->tensors[t].slot) HLO_TRY(run_aggressive_on(p, t, lists, changed));
  }
  return hlo_ok();
}

// ---- steps

static bool reserve(hlo_prop_t* prop, uint32_t tensors, uint32_t factors) {
  if (!prop->scratch) {
    prop->scratch = hlo_arena_alloc_zeroed(&prop->arena, sizeof *prop->scratch);
    if (!prop->scratch) return false;
  }
  struct hlo_prop_scratch* s = prop->scratch;
  const size_t cells = (size_t)tensors * factors;
  if (cells > s->cell_capacity) {
    s->cells = hlo_arena_array(&prop->arena, 2 * cells, sizeof *s->cells);
    s->cell_capacity = s->cells ? 2 * cells : 0;
  }
  if (tensors > s->tensor_capacity) {
    s->used = hlo_arena_array(&prop->arena, 4 * (size_t)tensors, sizeof *s->used);
    s->fixed = s->used ? s->used + 2 * (size_t)tensors : NULL;
    s->tensor_capacity = s->used ? 2 * tensors : 0;
  }
  if (factors > s->factor_capacity) {
    s->lists = hlo_arena_array(&prop->arena, factors, sizeof *s->lists);
    s->order = hlo_arena_array(&prop->arena, 2 * (size_t)factors, sizeof *s->order);
    s->sources = hlo_arena_array(&prop->arena, factors, sizeof *s->sources);
    s->source_numbers = s->order ? s->order + factors : NULL;
    s->factor_capacity = s->lists && s->order && s->sources ? factors : 0;
  }
  return s->cell_capacity >= cells && s->tensor_capacity >= tensors &&
         s->factor_capacity >= factors;
}

// Returns true if there is nothing to pass on: no tensor has axes or, without a rule, all are
// equal.
static bool is_settled(const hlo_prop_step_t* step) {
  const hlo_prop_slot_t* first = NULL;
  bool has_axes = false, is_same = !step->rule;
  for (uint32_t t = 0; t < step->tensor_count; ++t) {
    const hlo_prop_slot_t* slot = step->tensors[t].slot;
    if (!slot) continue;
    if (step->tensors[t].view) return false;  // its manual axes
    has_axes = has_axes || hlo_spec_axis_count(&slot->spec);
    is_same = is_same && (!first || same_axes(&first->spec, &slot->spec));
    first = slot;
  }
  return !has_axes || is_same;
}

hlo_status_t hlo_prop_step_run(hlo_prop_t* prop, hlo_prop_step_t* step, bool* changed) {
  enum { LAST_PHASES = 3 };  // all ops with rules come first
  memset(changed, 0, step->tensor_count);
  if (step->kind == HLO_PROP_CUSTOM) {
    return prop->phase >= LAST_PHASES ? hlo_prop_custom_run(prop, step, changed) : hlo_ok();
  }
  if (is_settled(step)) return hlo_ok();
  uint32_t factors = step->rule ? step->rule->factor_count : 0;
  for (uint32_t t = 0; !step->rule && t < step->tensor_count; ++t) {
    if (step->tensors[t].slot) factors = step->tensors[t].type->rank;
  }
  if (!factors) return hlo_ok();
  if (!reserve(prop, step->tensor_count, factors)) return hlo_arena_status(&prop->arena);
  const projection_t p = {
      prop, step, factors, prop->scratch->cells, prop->scratch->used, prop->scratch->fixed};
  project(&p);
  HLO_TRY(prop->is_aggressive ? run_aggressive(&p, changed) : run_basic(&p, changed));
  return update_slots(&p, changed);
}
