// SPDX-License-Identifier: Apache-2.0
// Long sums: the loops of a reduction are split into blocks, and the terms of each block have
// accumulators of their own, which are added to those of the level above. A sum then takes few
// terms one after the other at each level, and its rounding error grows with the logarithm of the
// number of terms (docs/numerics.md, "Reductions and products").
#include "codegen/loops/kernel_emit_impl.h"

// Loops that are slightly longer than a block are not split.
static int64_t with_slack(int64_t terms) {
  return terms + terms / 2;
}

bool hlo_tiled_is_sum(const hlo_tiled_t* reduction) {
  const hlo_node_t* node = reduction->value->def;
  bool found = false;
  for (uint32_t r = 0; node->op == HLO_OP_reduce && r < hlo_tiled_result_count(reduction); ++r) {
    found |= hlo_dtype_is_float(node->results[r].type->dtype) &&
             hlo_tiled_reducer(node, r) == HLO_OP_add;
  }
  return found;
}

bool hlo_reduce_has_sums(const hlo_fused_reductions_t* set) {
  bool found = false;
  for (uint32_t i = 0; i < set->count; ++i) found |= hlo_tiled_is_sum(set->members[i]);
  return found;
}

int64_t hlo_levels_first_terms(uint32_t parallel) {
  if (parallel == 0) return HLO_TUNING_SUM_PARTIAL_TERMS;
  const int64_t terms = (int64_t)HLO_TUNING_SUM_LANE_TERMS * parallel;
  return terms > HLO_TUNING_SUM_TERMS ? terms : HLO_TUNING_SUM_TERMS;
}

static void push(hlo_levels_t* levels, uint32_t loop, int64_t size) {
  levels->steps[levels->step_count++] = (hlo_level_step_t){.loop = loop, .size = size};
}

// The steps are found from the innermost one outwards.
static void reverse(hlo_levels_t* levels) {
  for (uint32_t i = 0, k = levels->step_count; i + 1 < k; ++i) {
    const hlo_level_step_t step = levels->steps[i];
    levels->steps[i] = levels->steps[--k];
    levels->steps[k] = step;
  }
}

void hlo_levels_plan(const int64_t* trips, uint32_t loop_count, int64_t first_terms,
                     hlo_levels_t* out_levels) {
  hlo_levels_t levels = {0};
  int64_t terms = first_terms, chain = 1;  // of the current level: the most terms, those so far
  bool begins = false;                     // the next step outwards begins a level in its body
  for (uint32_t loop = loop_count; loop-- > 0;) {
    int64_t size = 1;
    for (bool is_whole = false; !is_whole;) {
      const int64_t count = hlo_divide_up(trips[loop], size);
      is_whole = terms == 0 || count * chain <= with_slack(terms) ||
                 levels.level_count + begins == HLO_MAX_LEVELS;
      const int64_t fitting = is_whole ? count : terms / chain;
      if (fitting > 1 || is_whole) {
        push(&levels, loop, size);
        levels.steps[levels.step_count - 1].begins_level = begins;
        levels.level_count += begins;
        begins = false;
      }
      if (is_whole) {
        chain *= count;
        continue;
      }
      if (fitting > 1) size *= hlo_divide_up(count, hlo_divide_up(count, fitting));
      begins = true;
      chain = 1;
      terms = HLO_TUNING_SUM_PARTIAL_TERMS;
    }
  }
  reverse(&levels);
  *out_levels = levels;
}

/// The state of emission.
typedef struct level_walk {
  hlo_emitter_t* e;
  const hlo_levels_t* levels;
  const hlo_level_nest_t* nest;
  hlo_vir_interval_t ranges[HLO_TILED_MAX_LOOPS];  // by loop: those of the current block
} level_walk_t;

static hlo_vir_value_t* block_end(hlo_vir_builder_t* b, hlo_vir_value_t* low, int64_t size,
                                  hlo_vir_interval_t all) {
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, low, hlo_vir_iconst(b, size));
  const bool is_whole = all.low->op == HLO_VIR_iconst && all.end->op == HLO_VIR_iconst &&
                        (all.end->imm - all.low->imm) % size == 0;
  return is_whole ? end : hlo_vir_index(b, HLO_VIR_imin, end, all.end);
}

static void emit_step(level_walk_t* walk, uint32_t at, uint32_t depth);

static void emit_inside(level_walk_t* walk, uint32_t at, uint32_t depth) {
  const hlo_level_nest_t* nest = walk->nest;
  if (!walk->levels->steps[at].begins_level) {
    emit_step(walk, at + 1, depth);
    return;
  }
  nest->begin(walk->e, depth + 1, nest->context);
  emit_step(walk, at + 1, depth + 1);
  nest->end(walk->e, depth + 1, nest->context);
}

static void emit_step(level_walk_t* walk, uint32_t at, uint32_t depth) {
  hlo_emitter_t* e = walk->e;
  const hlo_level_nest_t* nest = walk->nest;
  const hlo_level_step_t* step = &walk->levels->steps[at];
  const uint32_t last = nest->loop_count - 1;
  const bool is_innermost = step->loop == last && step->size == 1;
  if (is_innermost && nest->trip_elements > 0) {
    nest->body(e, walk->ranges[last], nest->context);
    return;
  }
  const hlo_vir_interval_t range = walk->ranges[step->loop];
  const int64_t trip = step->loop == last && nest->trip_elements ? nest->trip_elements : 1;
  const uint32_t number = nest->numbers ? nest->numbers[step->loop] : HLO_NO_LOOP;
  const bool is_bound = step->size == 1 && number != HLO_NO_LOOP;
  hlo_vir_value_t* counter =
      is_bound ? hlo_emitter_open_loop(e, number, range.low, range.end, 1)
               : hlo_vir_begin_for(e->b, range.low, range.end, step->size * trip, 0);
  walk->ranges[step->loop] =
      (hlo_vir_interval_t){counter, block_end(e->b, counter, step->size * trip, range)};
  if (is_innermost) {
    nest->body(e, walk->ranges[last], nest->context);
  } else {
    emit_inside(walk, at, depth);
  }
  walk->ranges[step->loop] = range;
  if (is_bound) {
    hlo_emitter_close_loop(e, number);
  } else {
    hlo_vir_end(e->b);
    hlo_emitter_close_block(e);
  }
}

void hlo_emit_levels(hlo_emitter_t* e, const hlo_levels_t* levels, const hlo_level_nest_t* nest) {
  level_walk_t walk = {.e = e, .levels = levels, .nest = nest};
  for (uint32_t i = 0; i < nest->loop_count; ++i) walk.ranges[i] = nest->ranges[i];
  emit_step(&walk, 0, 0);
}

// ---- accumulators in registers

void hlo_reduce_begin_level(hlo_emitter_t* e, hlo_fused_reductions_t* set,
                            hlo_level_vars_t* outer) {
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    hlo_accumulator_t* a = &set->accumulators[i];
    for (uint32_t u = 0; u < set->unroll; ++u) {
      (*outer)[i][u] = a->vars[u];
      a->vars[u] = hlo_vir_var(e->b, hlo_reduce_identity(e, a, a->vars[u]->type.lanes));
    }
  }
  set->fresh = (1u << set->unroll) - 1;
}

void hlo_reduce_end_level(hlo_emitter_t* e, hlo_fused_reductions_t* set,
                          const hlo_level_vars_t* outer) {
  for (uint32_t u = 0; u < set->unroll; ++u) {
    hlo_vir_value_t *above[HLO_MAX_ACCUMULATORS], *sums[HLO_MAX_ACCUMULATORS];
    hlo_reduce_vars(set, u, sums);
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      above[i] = set->accumulators[i].vars[u] = (*outer)[i][u];
    }
    hlo_reduce_combine(e, set, above, sums, sums);
    for (uint32_t i = 0; i < set->accumulator_count; ++i) hlo_vir_set(e->b, above[i], sums[i]);
  }
  set->fresh = 0;
}

// ---- accumulators of chunks

/// The loop over chunks whose accumulators become one.
typedef struct chunk_join {
  hlo_fused_reductions_t* set;
  hlo_join_load_t load;
  void* context;
  hlo_level_vars_t outer[HLO_MAX_LEVELS];
} chunk_join_t;

static void begin_join_level(hlo_emitter_t* e, uint32_t level, void* context) {
  chunk_join_t* join = context;
  hlo_reduce_begin_level(e, join->set, &join->outer[level - 1]);
}

static void end_join_level(hlo_emitter_t* e, uint32_t level, void* context) {
  chunk_join_t* join = context;
  hlo_reduce_end_level(e, join->set, &join->outer[level - 1]);
}

static void join_chunk(hlo_emitter_t* e, hlo_vir_interval_t chunk, void* context) {
  const chunk_join_t* join = context;
  hlo_vir_value_t *vars[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  hlo_reduce_vars(join->set, 0, vars);
  join->load(e, chunk.low, join->context, values);
  hlo_reduce_combine(e, join->set, vars, values, values);
  for (uint32_t i = 0; i < join->set->accumulator_count; ++i) hlo_vir_set(e->b, vars[i], values[i]);
}

void hlo_reduce_join_chunks(hlo_emitter_t* e, hlo_fused_reductions_t* set, hlo_join_load_t load,
                            void* context) {
  const int64_t count = (int64_t)e->kernel->chunk_count;
  const hlo_vir_interval_t all = {hlo_vir_iconst(e->b, 0), hlo_vir_iconst(e->b, count)};
  chunk_join_t join = {.set = set, .load = load, .context = context};
  hlo_levels_t levels;
  hlo_levels_plan(&count, 1, hlo_reduce_has_sums(set) ? hlo_levels_first_terms(0) : 0, &levels);
  const hlo_level_nest_t nest = {.loop_count = 1,
                                 .ranges = &all,
                                 .context = &join,
                                 .begin = begin_join_level,
                                 .body = join_chunk,
                                 .end = end_join_level};
  hlo_emit_levels(e, &levels, &nest);
}
