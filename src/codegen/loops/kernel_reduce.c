// SPDX-License-Identifier: Apache-2.0
// Reductions as loops over accumulators: over lanes, unrolled, several reductions of one space at
// once.
#include "codegen/body/call_site.h"
#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/math/math.h"
#include "ir/reducer.h"

static bool* mark_needed(const hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  bool* marks = hlo_arena_array(e->scratch, e->tiling->instance_count, sizeof *marks);
  if (marks) {
    hlo_tiling_mark_needed(e->tiling, tiled, marks);
  } else {
    e->b->module->arena.failed = true;
  }
  return marks;
}

// Emits the reductions that the operands need and that are invariant in the loops that follow.
static void emit_inner_reductions(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  const bool* marks = mark_needed(e, tiled);
  for (uint32_t i = 0; marks && i < tiled->number; ++i) {
    if (marks[i] && hlo_emit_is_pending(e, i)) hlo_emit_value(e, e->tiling->instances[i]);
  }
}

static bool needs_pending(const hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  const bool* marks = mark_needed(e, tiled);
  bool found = !marks;
  for (uint32_t i = 0; !found && i < tiled->number; ++i)
    found = marks[i] && hlo_emit_is_pending(e, i);
  return found;
}

static bool is_dot(const hlo_tiled_t* reduction) {
  return reduction->operands[0]->kind == HLO_TILED_PRODUCT;
}

void hlo_reduce_collect(const hlo_emitter_t* e, const hlo_tiled_t* first,
                        hlo_fused_reductions_t* set) {
  *set = (hlo_fused_reductions_t){.unroll = 1, .count = 1, .members = {first}};
  uint32_t results = hlo_tiled_result_count(first);
  for (uint32_t i = 0; i < e->tiling->instance_count && set->count < HLO_MAX_FUSED_REDUCTIONS;
       ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled == first || !hlo_emit_is_pending(e, i) || is_dot(tiled) != is_dot(first) ||
        tiled->reduction != first->reduction ||
        hlo_emitter_has_lanes(e, tiled->loops) != hlo_emitter_has_lanes(e, first->loops) ||
        results + hlo_tiled_result_count(tiled) > HLO_MAX_ACCUMULATORS || needs_pending(e, tiled)) {
      continue;
    }
    set->members[set->count++] = tiled;
    results += hlo_tiled_result_count(tiled);
  }
}

static hlo_vir_value_t* combine_one(hlo_emitter_t* e, const hlo_accumulator_t* a,
                                    hlo_vir_value_t* x, hlo_vir_value_t* y) {
  hlo_vir_value_t* value = hlo_elementwise_combine(e->b, a->op, a->dtype, x, y);
  // Windows are folded step by step, as in the reference; long sums of narrow floats keep wide
  // accumulators.
  const bool is_window = a->tiled->value->def->op == HLO_OP_reduce_window;
  return is_window && a->dtype != HLO_DTYPE_PRED ? hlo_vmath_round_to(e->b, a->dtype, value)
                                                 : value;
}

// Does the same as hlo_elementwise_combine_pair() if y is the next term: its index is larger.
static void combine_next(hlo_emitter_t* e, const hlo_accumulator_t* a, hlo_vir_value_t* const* x,
                         hlo_vir_value_t* const* y, hlo_vir_value_t** out) {
  hlo_vir_builder_t* b = e->b;
  const int64_t direction =
      a->op == HLO_OP_maximum ? HLO_COMPARISON_DIRECTION_GE : HLO_COMPARISON_DIRECTION_LE;
  hlo_vir_value_t* stays = hlo_vmath_compare(b, a->dtype, direction, false, x[0], y[0]);
  if (hlo_dtype_is_float(a->dtype)) {
    hlo_vir_value_t* is_nan =
        hlo_vmath_compare(b, a->dtype, HLO_COMPARISON_DIRECTION_NE, false, x[0], x[0]);
    stays = hlo_vir_binary(b, HLO_VIR_mask_or, stays, is_nan);
  }
  out[0] = hlo_vmath_select(b, stays, x[0], y[0]);
  out[1] = hlo_vmath_select(b, stays, x[1], y[1]);
}

// Returns true if only the index of a pair is needed, and the loops visit it in ascending order.
// The value of the other of two equal terms may differ: in the sign of zero, in the bits of a NaN.
static bool ascends(const hlo_tiled_t* reduction) {
  const hlo_tiled_t* index = reduction->operands[1];
  const hlo_node_t* node = reduction->value->def;
  if (index->kind != HLO_TILED_INDEX || node->results[0].uses ||
      node->results[0].type->dtype == HLO_DTYPE_PRED || index->offset->term_count != 1) {
    return false;
  }
  const hlo_expr_term_t* term = &index->offset->terms[0];
  return term->atom->kind == HLO_EXPR_LOOP && term->coefficient > 0;
}

void hlo_reduce_combine(hlo_emitter_t* e, const hlo_fused_reductions_t* set,
                        hlo_vir_value_t* const* x, hlo_vir_value_t* const* y,
                        hlo_vir_value_t** out) {
  uint32_t debug_id = e->b->debug_id;
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    const hlo_accumulator_t* a = &set->accumulators[i];
    if (a->tiled->value->def) e->b->debug_id = hlo_call_site_number(a->tiled->value->def);
    if (a->is_pair) {
      if (a->ascends && set->is_in_order) {
        combine_next(e, a, x + i, y + i, out + i);
      } else {
        hlo_elementwise_combine_pair(e->b, a->op, a->dtype, a[1].dtype, x + i, y + i, out + i);
      }
      ++i;
    } else {
      out[i] = combine_one(e, a, x[i], y[i]);
    }
  }
  e->b->debug_id = debug_id;
}

hlo_vir_value_t* hlo_reduce_identity(hlo_emitter_t* e, const hlo_accumulator_t* a, uint32_t lanes) {
  // The index of an argmax's identity exceeds all others.
  if (a->op == HLO_OP_COUNT) {
    return hlo_elementwise_identity(e->b, HLO_OP_minimum, a->dtype, lanes);
  }
  if (a->dtype != HLO_DTYPE_PRED) {
    return hlo_elementwise_identity(e->b, a->op, a->dtype, lanes);
  }
  bool is_all = a->op == HLO_OP_and || a->op == HLO_OP_multiply || a->op == HLO_OP_minimum;
  return hlo_vir_const_bits(e->b, hlo_vir_type(hlo_emit_lane_integer(e, lanes), lanes),
                            is_all ? UINT64_MAX : 0);
}

void hlo_reduce_start(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t lanes) {
  set->accumulator_count = 0;
  set->fresh = (1u << set->unroll) - 1;
  for (uint32_t m = 0; m < set->count; ++m) {
    const hlo_tiled_t* tiled = set->members[m];
    const hlo_node_t* node = tiled->value->def;
    hlo_op_t arg = hlo_reduce_arg_op(node);
    for (uint32_t r = 0; r < hlo_tiled_result_count(tiled); ++r) {
      hlo_accumulator_t* a = &set->accumulators[set->accumulator_count++];
      *a = (hlo_accumulator_t){.tiled = tiled, .result = r, .dtype = node->results[r].type->dtype};
      if (is_dot(tiled)) a->dtype = hlo_tiled_sum_dtype(node);
      a->is_pair = arg != HLO_OP_COUNT && r == 0;
      a->ascends = a->is_pair && ascends(tiled);
      a->op = arg == HLO_OP_COUNT ? hlo_tiled_reducer(node, r) : r == 0 ? arg : HLO_OP_COUNT;
      a->is_negated = set->negates_maxima && node->op == HLO_OP_reduce && !a->is_pair &&
                      a->op == HLO_OP_maximum && hlo_dtype_is_float(a->dtype);
      if (a->is_negated) a->op = HLO_OP_minimum;
      for (uint32_t u = 0; u < set->unroll; ++u)
        a->vars[u] = hlo_vir_var(e->b, hlo_reduce_identity(e, a, lanes));
    }
  }
}

void hlo_reduce_vars(const hlo_fused_reductions_t* set, uint32_t u, hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < set->accumulator_count; ++i) out[i] = set->accumulators[i].vars[u];
}

// Returns the operands of a product in the type of its sums.
static void emit_factors(hlo_emitter_t* e, const hlo_tiled_t* product, hlo_dtype_t dtype,
                         uint32_t lanes, hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_tiled_t* operand = product->operands[i];
    out[i] = hlo_vmath_convert(e->b, operand->value->type->dtype, dtype,
                               hlo_emit_wide(e, operand, lanes));
  }
}

static void accumulate_product(hlo_emitter_t* e, const hlo_accumulator_t* a, uint32_t u,
                               bool is_masked) {
  hlo_vir_value_t *var = a->vars[u], *factors[2];
  emit_factors(e, a->tiled->operands[0], a->dtype, var->type.lanes, factors);
  hlo_vir_value_t* sum =
      hlo_elementwise_multiply_add(e->b, e->kernel->target->has_fma, factors[0], factors[1], var);
  if (is_masked) sum = hlo_vir_ternary(e->b, HLO_VIR_select, e->mask, sum, var);
  hlo_vir_set(e->b, var, sum);
}

// Initialises accumulators with the first values, where known, instead of identities.
static bool replace_identities(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t u,
                               hlo_vir_value_t* const* values) {
  bool is_first = set->fresh >> u & 1;
  set->fresh &= ~(1u << u);
  for (uint32_t i = 0; i < set->accumulator_count && is_first; ++i) {
    const hlo_vir_value_t* var = set->accumulators[i].vars[u];
    is_first = var->parent == e->b->block && hlo_vir_type_equal(var->type, values[i]->type);
  }
  for (uint32_t i = 0; i < set->accumulator_count && is_first; ++i) {
    set->accumulators[i].vars[u] = hlo_vir_var(e->b, values[i]);
  }
  return is_first;
}

// Emits one step of all accumulators with number `u`; inactive lanes contribute nothing.
static void accumulate_vectors(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t u,
                               bool is_masked) {
  hlo_vir_value_t* values[HLO_MAX_ACCUMULATORS];
  hlo_emit_reduced_extra_outputs(e, set);
  if (is_dot(set->members[0])) {
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      accumulate_product(e, &set->accumulators[i], u, is_masked);
    }
    return;
  }
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    hlo_accumulator_t* a = &set->accumulators[i];
    uint32_t lanes = a->vars[u]->type.lanes;
    values[i] = hlo_emit_wide(e, a->tiled->operands[a->result], lanes);
    if (a->dtype == HLO_DTYPE_PRED) values[i] = hlo_emit_mask_to_integer(e, values[i]);
    if (a->is_negated) values[i] = hlo_vmath_emit(e->b, HLO_OP_negate, a->dtype, values[i], NULL);
    if (is_masked) {
      values[i] = hlo_vir_ternary(e->b, HLO_VIR_select, e->mask, values[i],
                                  hlo_reduce_identity(e, a, lanes));
    }
  }
  if (replace_identities(e, set, u, values)) return;
  hlo_vir_value_t *vars[HLO_MAX_ACCUMULATORS], *sums[HLO_MAX_ACCUMULATORS];
  hlo_reduce_vars(set, u, vars);
  set->is_in_order = true;
  hlo_reduce_combine(e, set, vars, values, sums);
  set->is_in_order = false;
  for (uint32_t i = 0; i < set->accumulator_count; ++i) hlo_vir_set(e->b, vars[i], sums[i]);
}

// Folds all lanes of the values into one.
static void fold_lanes(hlo_emitter_t* e, const hlo_fused_reductions_t* set,
                       hlo_vir_value_t** values) {
  hlo_vir_builder_t* b = e->b;
  while (values[0]->type.lanes > 1) {
    hlo_vir_value_t *low[HLO_MAX_ACCUMULATORS], *high[HLO_MAX_ACCUMULATORS];
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      hlo_vir_type_t half =
          hlo_vir_type((hlo_vir_elem_t)values[i]->type.elem, values[i]->type.lanes / 2);
      low[i] = hlo_vir_emit(b, HLO_VIR_lower_half, half, 0, 0, 1, &values[i]);
      high[i] = hlo_vir_emit(b, HLO_VIR_upper_half, half, 0, 0, 1, &values[i]);
    }
    hlo_reduce_combine(e, set, low, high, values);
  }
}

static void set_result(hlo_emitter_t* e, const hlo_accumulator_t* a, hlo_vir_value_t* value) {
  if (a->result == 0) e->done[a->tiled->number] = value;
  for (uint32_t k = a->tiled->number + 1; a->result > 0 && k < e->tiling->instance_count; ++k) {
    const hlo_tiled_t* other = e->tiling->instances[k];
    if (other->kind == HLO_TILED_RESULT && other->operands[0] == a->tiled &&
        other->value->number == a->result) {
      e->done[k] = value;
    }
  }
}

void hlo_reduce_finish(hlo_emitter_t* e, hlo_fused_reductions_t* set) {
  hlo_vir_value_t *values[HLO_MAX_ACCUMULATORS], *first[HLO_MAX_ACCUMULATORS];
  hlo_reduce_vars(set, 0, values);
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    const hlo_accumulator_t* a = &set->accumulators[i];
    if (is_dot(a->tiled)) {
      first[i] = hlo_vir_const_bits(e->b, values[i]->type, 0);
      continue;
    }
    first[i] = hlo_emit_wide(e, a->tiled->operands[hlo_tiled_result_count(a->tiled) + a->result],
                             values[i]->type.lanes);
    if (a->dtype != HLO_DTYPE_PRED) continue;
    hlo_vir_elem_t elem = (hlo_vir_elem_t)values[i]->type.elem;
    first[i] = hlo_emit_mask_to_integer(e, first[i]);
    if (first[i]->type.elem != elem)
      first[i] = hlo_vir_convert(e->b, HLO_VIR_trunc, elem, first[i]);
  }
  hlo_reduce_combine(e, set, first, values, values);
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    const hlo_accumulator_t* a = &set->accumulators[i];
    if (is_dot(a->tiled)) {
      hlo_dtype_t dtype = a->tiled->value->type->dtype;
      set_result(e, a, hlo_vmath_convert(e->b, a->dtype, dtype, values[i]));
    } else {
      set_result(e, a,
                 a->dtype == HLO_DTYPE_PRED ? hlo_emit_integer_to_mask(e, values[i])
                                            : hlo_vmath_round_to(e->b, a->dtype, values[i]));
    }
  }
}

// Returns true if lanes over a loop find the elements of a load in a few whole vectors.
static bool is_strided(const hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t loop) {
  const int64_t step = hlo_kernel_lane_step(e->kernel->target, tiled, loop);
  return step && step <= e->kernel->lanes && -step <= e->kernel->lanes;
}

// Returns true if the operands of `tiled` can run over the lanes of a loop.
static bool can_run_over(const hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t loop) {
  const bool* marks = mark_needed(e, tiled);
  for (uint32_t i = 0; marks && i < tiled->number; ++i) {
    const hlo_tiled_t* needed = e->tiling->instances[i];
    if (!marks[i] || !needed->offset || !(needed->offset->loops >> loop & 1)) continue;
    if (needed->kind == HLO_TILED_MASK) return false;
    size_t bytes =
        needed->kind == HLO_TILED_INDEX ? 8 : hlo_dtype_size_bytes(needed->value->type->dtype);
    hlo_lane_access_t access = hlo_tiled_lane_access(needed->offset, loop);
    const bool is_gathered = access == HLO_LANE_GATHERED && !is_strided(e, needed, loop);
    if (access == HLO_LANE_UNKNOWN || (is_gathered && bytes < HLO_TILE_GATHER_BYTES)) return false;
  }
  return marks != NULL;
}

// Counts loads with stride 1 over the lanes of a loop less other loads.
static int plain_loads(const hlo_emitter_t* e, uint32_t loop) {
  int score = 0;
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind != HLO_TILED_LOAD || !(tiled->loops >> loop & 1)) continue;
    score += hlo_expr_coefficient(tiled->offset, loop) == 1 ? 4 : -1;
  }
  return score;
}

static uint32_t choose_lane_loop(const hlo_emitter_t* e, const hlo_fused_reductions_t* set) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[set->members[0]->reduction];
  uint32_t best = HLO_NO_LOOP;
  int best_score = 0;
  for (uint32_t i = space->loop_count; i-- > 0;) {
    uint32_t loop = space->first_loop + i;
    bool is_possible = space->extents[i] > 1;
    for (uint32_t m = 0; m < set->count && is_possible; ++m) {
      is_possible = can_run_over(e, set->members[m], loop) &&
                    hlo_extra_outputs_run_over(e, set->members[m], loop);
    }
    int score = plain_loads(e, loop);
    if (is_possible && (best == HLO_NO_LOOP || score > best_score)) best = loop, best_score = score;
  }
  return best;
}

static hlo_vir_interval_t constant_range(hlo_vir_builder_t* b, int64_t low, int64_t end) {
  return (hlo_vir_interval_t){hlo_vir_iconst(b, low), hlo_vir_iconst(b, end)};
}

static bool is_cut_here(const hlo_emitter_t* e, uint32_t space_number, uint32_t i) {
  return e->chunk && space_number == e->kernel->split.space && i == e->kernel->split.loop;
}

hlo_vir_interval_t hlo_reduce_range(const hlo_emitter_t* e, uint32_t space_number, uint32_t i) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  hlo_vir_interval_t all = constant_range(e->b, 0, space->extents[i]);
  return is_cut_here(e, space_number, i)
             ? hlo_vir_interval_of_chunk(e->b, e->chunk, e->kernel->chunk_size, all)
             : all;
}

// ---- loops over all terms, in levels

/// The loops of a reduction with accumulators in registers.
typedef struct term_loops {
  hlo_fused_reductions_t *set, *rest;  // rest: or NULL
  void (*body)(hlo_emitter_t* e, hlo_vir_interval_t innermost, struct term_loops* loops);
  uint32_t lane_loop;         // that the body runs; HLO_NO_LOOP: none
  hlo_vir_value_t* distance;  // between the halves of a line
  uint32_t column_loop;       // of vectors side by side
  hlo_vir_value_t* first_column;
  uint32_t columns,
      terms;  // vectors, and terms one after the other, with accumulators of their own
  hlo_level_vars_t (*outer)[2];  // of each level, while it is emitted
} term_loops_t;

static void begin_term_level(hlo_emitter_t* e, uint32_t level, void* context) {
  term_loops_t* loops = context;
  hlo_reduce_begin_level(e, loops->set, &loops->outer[level - 1][0]);
  if (loops->rest) hlo_reduce_begin_level(e, loops->rest, &loops->outer[level - 1][1]);
}

static void end_term_level(hlo_emitter_t* e, uint32_t level, void* context) {
  term_loops_t* loops = context;
  hlo_reduce_end_level(e, loops->set, &loops->outer[level - 1][0]);
  if (loops->rest) hlo_reduce_end_level(e, loops->rest, &loops->outer[level - 1][1]);
}

static void emit_terms(hlo_emitter_t* e, hlo_vir_interval_t innermost, void* context) {
  term_loops_t* loops = context;
  loops->body(e, innermost, loops);
}

static void emit_levels(hlo_emitter_t* e, term_loops_t* loops, hlo_level_nest_t nest,
                        const int64_t* trips, uint32_t parallel) {
  hlo_levels_t levels;
  hlo_level_vars_t outer[HLO_MAX_LEVELS][2];
  loops->outer = outer;
  const int64_t terms = hlo_levels_first_terms(parallel);
  hlo_levels_plan(trips, nest.loop_count, hlo_reduce_has_sums(loops->set) ? terms : 0, &levels);
  nest.context = loops;
  nest.begin = begin_term_level;
  nest.body = emit_terms;
  nest.end = end_term_level;
  hlo_emit_levels(e, &levels, &nest);
  loops->outer = NULL;
}

static int64_t trip_count(const hlo_emitter_t* e, uint32_t space_number, uint32_t i) {
  return is_cut_here(e, space_number, i) ? e->kernel->chunk_size
                                         : e->tiling->spaces[space_number].extents[i];
}

// Returns the terms of the first accumulator in a line: it takes the vectors after the last step.
static int64_t line_trips(const hlo_emitter_t* e, int64_t elements, int64_t step) {
  return elements / step + hlo_divide_up(elements % step, e->kernel->lanes);
}

// Emits the body for all terms. The loop over lanes, of which the body takes `step` elements at a
// time, becomes the innermost one; parallel == 0: the body takes the whole line.
static void emit_term_loops(hlo_emitter_t* e, term_loops_t* loops, int64_t step,
                            uint32_t parallel) {
  const uint32_t space_number = loops->set->members[0]->reduction;
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  uint32_t numbers[HLO_TILED_MAX_LOOPS], count = 0;
  int64_t trips[HLO_TILED_MAX_LOOPS];
  hlo_vir_interval_t ranges[HLO_TILED_MAX_LOOPS];
  for (uint32_t pass = 0; pass < 2; ++pass) {
    for (uint32_t i = 0; i < space->loop_count; ++i) {
      const bool has_lanes = space->first_loop + i == loops->lane_loop;
      if (has_lanes != pass) continue;
      numbers[count] = space->first_loop + i;
      ranges[count] = hlo_reduce_range(e, space_number, i);
      trips[count] = trip_count(e, space_number, i);
      if (has_lanes) trips[count] = parallel ? line_trips(e, trips[count], step) : 1;
      ++count;
    }
  }
  if (loops->terms > 1) trips[count - 1] = trips[count - 1] / step + trips[count - 1] % step;
  const bool is_each = loops->lane_loop == HLO_NO_LOOP && loops->terms <= 1;
  emit_levels(e, loops,
              (hlo_level_nest_t){.loop_count = count,
                                 .numbers = numbers,
                                 .ranges = ranges,
                                 .trip_elements = is_each ? 0 : step},
              trips, parallel);
}

static void accumulate_lanes(hlo_emitter_t* e, uint32_t copy, void* context) {
  const term_loops_t* loops = context;
  bool is_single = e->lane_loop == HLO_NO_LOOP;
  if (is_single) loops->rest->is_used = true;
  accumulate_vectors(e, is_single ? loops->rest : loops->set, copy, e->mask != NULL);
}

static void accumulate_line(hlo_emitter_t* e, hlo_vir_interval_t range, term_loops_t* loops) {
  hlo_emit_lane_loop(e, loops->lane_loop, range, loops->set->unroll, accumulate_lanes, loops);
}

// Elements of the first half of a line, and those beside them in the second half.
static void accumulate_halves(hlo_emitter_t* e, hlo_vir_interval_t range, term_loops_t* loops) {
  hlo_emit_lane_pairs(e, loops->lane_loop, range, loops->distance, loops->set->unroll,
                      accumulate_lanes, loops);
}

static void accumulate_far_line(hlo_emitter_t* e, hlo_vir_interval_t range, term_loops_t* loops) {
  const uint32_t space_number = loops->set->members[0]->reduction;
  const uint32_t i = loops->lane_loop - e->tiling->spaces[space_number].first_loop;
  const uint32_t step = e->kernel->lanes * loops->set->unroll;
  const int64_t trips = trip_count(e, space_number, i) / step;
  hlo_vir_value_t* end = hlo_vir_interval_whole_end(e->b, range, step);
  hlo_vir_value_t* half = hlo_vir_index(e->b, HLO_VIR_isub, end, range.low);
  half = hlo_vir_index(e->b, HLO_VIR_idiv, half, hlo_vir_iconst(e->b, 2));
  const hlo_vir_interval_t first = {range.low, hlo_vir_index(e->b, HLO_VIR_iadd, range.low, half)};
  term_loops_t halves = {.set = loops->set,
                         .rest = loops->rest,
                         .body = accumulate_halves,
                         .lane_loop = loops->lane_loop,
                         .distance = half};
  const hlo_level_nest_t nest = {.loop_count = 1, .ranges = &first, .trip_elements = step / 2};
  emit_levels(e, &halves, nest, &trips, step);
  range.low = end;
  hlo_emit_lane_loop(e, loops->lane_loop, range, 1, accumulate_lanes, loops);
}

// Computes all points of a small space, from loop `i` on, without loops.
static void accumulate_each(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t space_number,
                            uint32_t i) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  if (i == space->loop_count) {
    accumulate_vectors(e, set, 0, false);
    return;
  }
  uint32_t loop = space->first_loop + i;
  for (int64_t k = 0; k < space->extents[i]; ++k) {
    e->loops[loop] = hlo_vir_iconst(e->b, k);
    e->bound |= (uint64_t)1 << loop;
    accumulate_each(e, set, space_number, i + 1);
    hlo_emitter_forget_loop(e, loop);
  }
}

static void set_column(hlo_emitter_t* e, uint32_t loop, hlo_vir_value_t* first, uint32_t column) {
  hlo_emitter_forget_loop(e, loop);
  e->loops[loop] =
      hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, (int64_t)column * e->lanes));
  e->bound |= (uint64_t)1 << loop;
}

// Accumulates the current term of all vectors side by side.
static void accumulate_columns(hlo_emitter_t* e, const term_loops_t* loops, uint32_t term) {
  for (uint32_t c = 0; c < loops->columns; ++c) {
    if (loops->column_loop != HLO_NO_LOOP)
      set_column(e, loops->column_loop, loops->first_column, c);
    accumulate_vectors(e, loops->set, term * loops->columns + c, false);
  }
}

// Accumulates `terms` consecutive terms at a time, which need not wait for each other.
static void accumulate_terms(hlo_emitter_t* e, hlo_vir_interval_t innermost, term_loops_t* loops) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[loops->set->members[0]->reduction];
  const uint32_t loop = space->first_loop + space->loop_count - 1;
  if (loops->terms == 1) {
    accumulate_columns(e, loops, 0);
    return;
  }
  hlo_vir_interval_t whole = {innermost.low,
                              hlo_vir_interval_whole_end(e->b, innermost, loops->terms)};
  if (!hlo_vir_interval_is_empty(whole)) {
    hlo_vir_value_t* first = hlo_emitter_open_loop(e, loop, whole.low, whole.end, loops->terms);
    for (uint32_t term = 0; term < loops->terms; ++term) {
      hlo_emitter_forget_loop(e, loop);
      e->loops[loop] = hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, term));
      e->bound |= (uint64_t)1 << loop;
      accumulate_columns(e, loops, term);
    }
    hlo_emitter_close_loop(e, loop);
  }
  whole = (hlo_vir_interval_t){whole.end, innermost.end};
  if (hlo_vir_interval_is_empty(whole)) return;
  hlo_emitter_open_loop(e, loop, whole.low, whole.end, 1);
  accumulate_columns(e, loops, 0);
  hlo_emitter_close_loop(e, loop);
}

// Returns how many consecutive terms of `columns` vectors have accumulators of their own. Several
// vectors side by side hide the latency of additions as well, and all vectors of long rows take the
// terms in the same order.
static uint32_t parallel_terms(const hlo_emitter_t* e, const hlo_fused_reductions_t* set,
                               uint32_t columns) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[set->members[0]->reduction];
  const uint32_t most = HLO_TUNING_REDUCE_ACCUMULATORS;
  const bool is_narrow = e->lane_loop != HLO_NO_LOOP && e->tiling->spaces[0].extents[e->lane_loop] <
                                                            (int64_t)most * e->kernel->lanes;
  const bool is_long = space->extents[space->loop_count - 1] >= (int64_t)most * most;
  return is_narrow && is_long && set->count <= 2 ? most / columns : 1;
}

// Reduces vectors, each lane separately, over all terms; the sums are then in vars[column].
static void accumulate_apart(hlo_emitter_t* e, term_loops_t* loops, uint32_t lanes) {
  hlo_fused_reductions_t* set = loops->set;
  loops->terms = parallel_terms(e, set, loops->columns);
  loops->body = accumulate_terms;
  loops->lane_loop = HLO_NO_LOOP;
  set->unroll = loops->columns * loops->terms;
  hlo_reduce_start(e, set, lanes);
  emit_term_loops(e, loops, loops->terms, loops->terms);
  for (uint32_t u = loops->columns; u < set->unroll; ++u) {
    hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *more[HLO_MAX_ACCUMULATORS];
    hlo_reduce_vars(set, u % loops->columns, sums);
    hlo_reduce_vars(set, u, more);
    hlo_reduce_combine(e, set, sums, more, sums);
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      set->accumulators[i].vars[u % loops->columns] = sums[i];
    }
  }
}

// Reduces with the user's lanes: every lane reduces separately.
static void reduce_lanes_apart(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t lanes) {
  uint32_t space = set->members[0]->reduction;
  if (e->tiling->spaces[space].element_count <= HLO_TUNING_REDUCE_UNROLLED) {
    hlo_reduce_start(e, set, lanes);
    accumulate_each(e, set, space, 0);
    return;
  }
  term_loops_t loops = {.set = set, .column_loop = HLO_NO_LOOP, .columns = 1};
  accumulate_apart(e, &loops, lanes);
}

// Combines the accumulators of unrolled steps.
static void join_unrolled(hlo_emitter_t* e, const hlo_fused_reductions_t* set,
                          hlo_vir_value_t** out) {
  hlo_vir_value_t* more[HLO_MAX_ACCUMULATORS];
  hlo_reduce_vars(set, 0, out);
  for (uint32_t u = 1; u < set->unroll; ++u) {
    hlo_reduce_vars(set, u, more);
    hlo_reduce_combine(e, set, out, more, out);
  }
}

// Combines lanes and unrolled steps into one lane of the first accumulator.
static void fold_accumulators(hlo_emitter_t* e, hlo_fused_reductions_t* set,
                              const hlo_fused_reductions_t* rest) {
  hlo_vir_value_t *values[HLO_MAX_ACCUMULATORS], *more[HLO_MAX_ACCUMULATORS];
  join_unrolled(e, set, values);
  fold_lanes(e, set, values);
  if (rest && rest->is_used) {
    hlo_reduce_vars(rest, 0, more);
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      hlo_vir_elem_t elem = (hlo_vir_elem_t)values[i]->type.elem;
      if (more[i]->type.elem != elem) more[i] = hlo_vir_convert(e->b, HLO_VIR_trunc, elem, more[i]);
    }
    hlo_reduce_combine(e, set, values, more, values);
  }
  for (uint32_t i = 0; i < set->accumulator_count; ++i) set->accumulators[i].vars[0] = values[i];
}

// Negates minima of negated values back to maxima, in vars[0] of each accumulator.
static void restore_maxima(hlo_emitter_t* e, hlo_fused_reductions_t* set) {
  set->negates_maxima = false;
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    hlo_accumulator_t* a = &set->accumulators[i];
    if (!a->is_negated) continue;
    a->vars[0] = hlo_vmath_emit(e->b, HLO_OP_negate, a->dtype, a->vars[0], NULL);
    a->op = HLO_OP_maximum;
    a->is_negated = false;
  }
}

// Emits the loops over lanes; `rest` is for elements after them one by one, NULL if all have masks.
// Minima take fewer instructions than maxima: signs of zeros and NaNs come out right by themselves.
static void accumulate_over_lanes(hlo_emitter_t* e, hlo_fused_reductions_t* set,
                                  hlo_fused_reductions_t* rest, uint32_t loop) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[set->members[0]->reduction];
  int64_t extent = space->extents[loop - space->first_loop];
  uint32_t lanes = e->kernel->lanes;
  set->unroll = extent >= (int64_t)lanes * HLO_TUNING_REDUCE_ACCUMULATORS && set->count <= 2
                    ? HLO_TUNING_REDUCE_ACCUMULATORS
                    : 1;
  set->negates_maxima = true;
  hlo_reduce_start(e, set, lanes);
  if (rest) {
    rest->negates_maxima = true;
    hlo_reduce_start(e, rest, 1);
  }
  term_loops_t loops = {.set = set, .rest = rest, .body = accumulate_line, .lane_loop = loop};
  int64_t bytes = extent * (int64_t)(e->kernel->target->vector_bytes / lanes);
  if (set->unroll > 1 && bytes >= HLO_TUNING_REDUCE_HALVES_BYTES &&
      e->kernel->fusion->input_count == 1) {
    loops.body = accumulate_far_line;
    emit_term_loops(e, &loops, extent, 0);
  } else {
    emit_term_loops(e, &loops, lanes * set->unroll, lanes * set->unroll);
  }
}

static void reduce_over_lanes(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t loop) {
  hlo_fused_reductions_t rest = *set;
  rest.unroll = 1;
  hlo_fused_reductions_t* needed = e->kernel->target->has_masks ? NULL : &rest;
  accumulate_over_lanes(e, set, needed, loop);
  fold_accumulators(e, set, needed);
  restore_maxima(e, set);
}

void hlo_reduce_to_lanes(hlo_emitter_t* e, hlo_fused_reductions_t* set) {
  accumulate_over_lanes(e, set, NULL, e->tiling->spaces[set->members[0]->reduction].first_loop);
  hlo_vir_value_t* values[HLO_MAX_ACCUMULATORS];
  join_unrolled(e, set, values);
  for (uint32_t i = 0; i < set->accumulator_count; ++i) set->accumulators[i].vars[0] = values[i];
  restore_maxima(e, set);
}

void hlo_reduce_run(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_fused_reductions_t* set) {
  hlo_reduce_collect(e, tiled, set);
  for (uint32_t i = 0; i < set->count; ++i) emit_inner_reductions(e, set->members[i]);
  if (hlo_emitter_has_lanes(e, tiled->loops)) {
    reduce_lanes_apart(e, set, e->lanes);
    return;
  }
  uint32_t loop = choose_lane_loop(e, set);
  if (loop != HLO_NO_LOOP) {
    reduce_over_lanes(e, set, loop);
    return;
  }
  uint32_t saved = e->lane_loop;
  e->lane_loop = HLO_NO_LOOP;
  reduce_lanes_apart(e, set, 1);
  e->lane_loop = saved;
}

// Collects the reductions that every lane computes separately, if all run in the same loops;
// computes nothing.
static bool collect_apart(const hlo_emitter_t* e, hlo_fused_reductions_t* set) {
  set->count = 0;
  uint32_t found = 0;
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (!hlo_emit_is_pending(e, i) || !hlo_emitter_has_lanes(e, tiled->loops)) continue;
    if (needs_pending(e, tiled)) return false;
    if (found++ == 0) hlo_reduce_collect(e, tiled, set);
  }
  if (found == 0 || found != set->count) return false;
  return e->tiling->spaces[set->members[0]->reduction].element_count > HLO_TUNING_REDUCE_UNROLLED;
}

// Reduces the points of `columns` vectors together.
static void emit_columns(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t loop,
                         uint32_t columns) {
  hlo_vir_value_t* first = e->loops[loop];
  term_loops_t loops = {.set = set, .column_loop = loop, .first_column = first, .columns = columns};
  accumulate_apart(e, &loops, e->lanes);
  for (uint32_t u = 0; u < columns; ++u) {
    set_column(e, loop, first, u);
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      set->accumulators[i].vars[0] = set->accumulators[i].vars[u];
    }
    hlo_reduce_finish(e, set);
    hlo_emit_point(e);
  }
}

// Returns how many vectors are reduced together: a few if the range is known to have no more.
static uint32_t columns_together(const hlo_emitter_t* e, hlo_vir_interval_t range) {
  const uint32_t most = HLO_TUNING_REDUCE_ACCUMULATORS;
  if (range.low->op != HLO_VIR_iconst || range.end->op != HLO_VIR_iconst) return most;
  const int64_t vectors = (range.end->imm - range.low->imm) / e->lanes;
  return vectors >= most ? most : vectors > 1 ? (uint32_t)vectors : 1;
}

hlo_vir_value_t* hlo_emit_columns(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range) {
  hlo_fused_reductions_t set;
  uint32_t saved_loop = e->lane_loop, saved_lanes = e->lanes;
  e->lane_loop = loop;
  e->lanes = e->kernel->lanes;
  e->bound |= (uint64_t)1 << loop;
  bool is_possible = collect_apart(e, &set);
  e->bound &= ~((uint64_t)1 << loop);
  while (is_possible && set.count <= 2) {
    const uint32_t columns = columns_together(e, range);
    const int64_t step = (int64_t)e->lanes * columns;
    const hlo_vir_interval_t wide = {range.low, hlo_vir_interval_whole_end(e->b, range, step)};
    if (columns == 1 || hlo_vir_interval_is_empty(wide)) break;
    hlo_emitter_open_loop(e, loop, wide.low, wide.end, step);
    emit_columns(e, &set, loop, columns);
    hlo_emitter_close_loop(e, loop);
    range.low = wide.end;
    if (wide.end->op != HLO_VIR_iconst) break;
  }
  e->lane_loop = saved_loop;
  e->lanes = saved_lanes;
  return range.low;
}

void hlo_emit_reduce(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  emit_inner_reductions(e, tiled);
  if (e->done[tiled->number]) return;  // computed with another reduction
  hlo_fused_reductions_t set;
  hlo_reduce_run(e, tiled, &set);
  hlo_reduce_finish(e, &set);
}
