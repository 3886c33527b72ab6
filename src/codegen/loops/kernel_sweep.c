// SPDX-License-Identifier: Apache-2.0
// Reductions down columns: blocks of rows, so that memory is read in long runs. The accumulators
// are in the memory of the outputs or, if each chunk has rows of its own, in scratch memory until
// all chunks are combined. Further levels of accumulators (kernel_levels.c) are in scratch memory.
#include "base/check.h"
#include "codegen/loops/kernel_emit_impl.h"

enum {
  PARTIAL_BYTES = 8,  // of an accumulator in scratch memory
};

typedef struct sweep {
  hlo_fused_reductions_t set;
  uint32_t space, row_loop;
  uint32_t rows;   // in one block
  uint32_t level;  // of the accumulators in use, from 0
  hlo_vir_interval_t columns;
  hlo_vir_value_t* chunk;  // has its own accumulators; NULL: they are in the outputs
} sweep_t;

void hlo_kernel_plan_sweep(const hlo_kernel_t* kernel, hlo_kernel_summary_t* out_summary) {
  const uint64_t column_bytes = (uint64_t)kernel->spaces[0].element_count * PARTIAL_BYTES;
  const uint32_t levels = kernel->sweep_levels;
  if (kernel->cut == HLO_KERNEL_CUT_REDUCTION) {
    out_summary->phase_count = 2;
    out_summary->scratch_bytes =
        kernel->chunk_count * kernel->split.partial_count * column_bytes * (levels + 1);
  } else {
    out_summary->scratch_bytes = levels * hlo_kernel_main_count(kernel) * column_bytes;
  }
}

hlo_dtype_t hlo_sweep_dtype(hlo_dtype_t dtype) {
  if (dtype == HLO_DTYPE_F16 || dtype == HLO_DTYPE_BF16)
    return HLO_DTYPE_F32;  // accumulators are wide
  bool is_plain = dtype != HLO_DTYPE_PRED &&
                  hlo_elementwise_register_bytes(dtype) == hlo_dtype_size_bytes(dtype);
  return is_plain ? dtype : HLO_DTYPE_INVALID;
}

// A chunk's scratch memory holds, level by level, all elements of the first accumulator, then of
// the others. Chunks of columns share it, and have the accumulators of level 0 in the outputs.
static hlo_element_address_t partial_address(hlo_emitter_t* e, const sweep_t* sweep, uint32_t i) {
  const hlo_kernel_t* kernel = e->kernel;
  const hlo_fusion_t* fusion = kernel->fusion;
  int64_t bytes = kernel->spaces[0].element_count * PARTIAL_BYTES;
  hlo_vir_value_t* base = e->addresses[fusion->input_count + fusion->output_count];
  uint32_t number = sweep->level * sweep->set.accumulator_count + i;
  if (sweep->chunk) {
    int64_t chunk_bytes =
        bytes * (int64_t)sweep->set.accumulator_count * (int64_t)(kernel->sweep_levels + 1);
    base = hlo_vir_index(
        e->b, HLO_VIR_iadd, base,
        hlo_vir_index(e->b, HLO_VIR_imul, sweep->chunk, hlo_vir_iconst(e->b, chunk_bytes)));
  } else {
    number -= sweep->set.accumulator_count;
  }
  return (hlo_element_address_t){.base = base,
                                 .index = e->loops[kernel->loops[0]],
                                 .offset_bytes = bytes * number,
                                 .mask = e->mask};
}

static hlo_element_address_t accumulator_address(hlo_emitter_t* e, const sweep_t* sweep,
                                                 uint32_t i) {
  if (sweep->chunk || sweep->level) return partial_address(e, sweep, i);
  hlo_element_address_t address =
      hlo_emit_address(e, e->addresses[e->kernel->fusion->input_count + i],
                       e->tiling->output_offsets[i], sweep->set.accumulators[i].dtype);
  address.mask = e->mask;
  return address;
}

static void store_accumulators(hlo_emitter_t* e, const sweep_t* sweep,
                               hlo_vir_value_t* const* values) {
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    hlo_element_address_t address = accumulator_address(e, sweep, i);
    hlo_elementwise_store(e->b, hlo_sweep_dtype(sweep->set.accumulators[i].dtype), values[i],
                          &address);
  }
}

static void load_accumulators(hlo_emitter_t* e, const sweep_t* sweep,
                              hlo_vir_value_t** out_values) {
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    hlo_element_address_t address = accumulator_address(e, sweep, i);
    out_values[i] = hlo_elementwise_load(e->b, hlo_sweep_dtype(sweep->set.accumulators[i].dtype),
                                         hlo_emitter_point_lanes(e), &address);
  }
}

static void sweep_clear(hlo_emitter_t* e, HLO_UNUSED uint32_t copy, void* context) {
  const sweep_t* sweep = context;
  hlo_vir_value_t* values[HLO_MAX_ACCUMULATORS];
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    values[i] = hlo_reduce_identity(e, &sweep->set.accumulators[i], hlo_emitter_point_lanes(e));
  }
  store_accumulators(e, sweep, values);
}

// Adding up the rows of a block before they are added to the accumulators shortens the chains of
// additions: one vector of columns takes 2/3 of the time, many as long. A few vectors are read from
// memory in an order that the processor then prefetches worse.
static bool adds_rows_first(const hlo_kernel_t* kernel) {
  const int64_t columns = kernel->spaces[0].element_count, lanes = (int64_t)kernel->lanes;
  return columns <= lanes || columns >= HLO_TUNING_SWEEP_WIDE_VECTORS * lanes;
}

// The values of one row of a block.
static void sweep_row(hlo_emitter_t* e, const sweep_t* sweep, hlo_vir_value_t* first, uint32_t row,
                      hlo_vir_value_t** out_values) {
  hlo_emitter_forget_loop(e, sweep->row_loop);
  e->loops[sweep->row_loop] = hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, row));
  e->bound |= (uint64_t)1 << sweep->row_loop;
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    const hlo_accumulator_t* a = &sweep->set.accumulators[i];
    out_values[i] = hlo_emit_wide(e, a->tiled->operands[a->result], hlo_emitter_point_lanes(e));
  }
  hlo_emit_reduced_extra_outputs(e, &sweep->set);
}

static void sweep_rows(hlo_emitter_t* e, HLO_UNUSED uint32_t copy, void* context) {
  const sweep_t* sweep = context;
  const hlo_fused_reductions_t* set = &sweep->set;
  hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  hlo_vir_value_t* first = e->loops[sweep->row_loop];
  const bool is_first = adds_rows_first(e->kernel);
  if (is_first) {
    sweep_row(e, sweep, first, 0, sums);
  } else {
    load_accumulators(e, sweep, sums);
  }
  for (uint32_t row = is_first; row < sweep->rows; ++row) {
    sweep_row(e, sweep, first, row, values);
    hlo_reduce_combine(e, set, sums, values, sums);
  }
  e->loops[sweep->row_loop] = first;
  if (is_first) {
    load_accumulators(e, sweep, values);
    hlo_reduce_combine(e, set, values, sums, sums);
  }
  store_accumulators(e, sweep, sums);
}

// Adds the accumulators of a level to those above, and clears them.
static void sweep_up(hlo_emitter_t* e, uint32_t copy, void* context) {
  const sweep_t* sweep = context;
  sweep_t above = *sweep;
  --above.level;
  hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, sweep, values);
  load_accumulators(e, &above, sums);
  hlo_reduce_combine(e, &sweep->set, sums, values, sums);
  store_accumulators(e, &above, sums);
  sweep_clear(e, copy, context);
}

static void sweep_finish(hlo_emitter_t* e, HLO_UNUSED uint32_t copy, void* context) {
  const sweep_t* sweep = context;
  hlo_vir_value_t *accumulators[HLO_MAX_ACCUMULATORS], *first[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, sweep, accumulators);
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    first[i] =
        hlo_emit_wide(e, sweep->set.accumulators[i].tiled->operands[1], hlo_emitter_point_lanes(e));
  }
  hlo_reduce_combine(e, &sweep->set, first, accumulators, accumulators);
  store_accumulators(e, sweep, accumulators);
}

// Processes blocks of `rows` rows, each over all columns.
static void sweep_blocks(hlo_emitter_t* e, sweep_t* sweep, uint32_t rows,
                         hlo_vir_interval_t range) {
  if (hlo_vir_interval_is_empty(range)) return;
  sweep->rows = rows;
  hlo_emitter_open_loop(e, sweep->row_loop, range.low, range.end, rows);
  hlo_emit_lane_loop(e, e->kernel->loops[0], sweep->columns, 1, sweep_rows, sweep);
  hlo_emitter_close_loop(e, sweep->row_loop);
}

static void sweep_range(hlo_emitter_t* e, hlo_vir_interval_t rows, void* context) {
  hlo_vir_value_t* middle = hlo_vir_interval_whole_end(e->b, rows, HLO_TUNING_SWEEP_ROWS);
  sweep_blocks(e, context, HLO_TUNING_SWEEP_ROWS, (hlo_vir_interval_t){rows.low, middle});
  sweep_blocks(e, context, 1, (hlo_vir_interval_t){middle, rows.end});
}

static void begin_sweep_level(HLO_UNUSED hlo_emitter_t* e, uint32_t level, void* context) {
  ((sweep_t*)context)->level = level;
}

static void end_sweep_level(hlo_emitter_t* e, uint32_t level, void* context) {
  sweep_t* sweep = context;
  hlo_emit_lane_loop(e, e->kernel->loops[0], sweep->columns, 1, sweep_up, sweep);
  sweep->level = level - 1;
}

static void plan_levels(const hlo_kernel_t* kernel, const hlo_tiled_space_t* space, bool is_cut,
                        bool has_sums, hlo_levels_t* out_levels) {
  int64_t trips[HLO_TILED_MAX_LOOPS];
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    trips[i] = is_cut && i == kernel->split.loop ? kernel->chunk_size : space->extents[i];
  }
  int64_t* rows = &trips[space->loop_count - 1];
  *rows = hlo_divide_up(*rows, HLO_TUNING_SWEEP_ROWS);
  const int64_t blocks = adds_rows_first(kernel)
                             ? hlo_levels_first_terms(1)
                             : HLO_TUNING_SUM_SWEEP_ROWS / HLO_TUNING_SWEEP_ROWS;
  hlo_levels_plan(trips, space->loop_count, has_sums ? blocks : 0, out_levels);
}

uint32_t hlo_sweep_level_count(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  const bool is_cut = kernel->cut == HLO_KERNEL_CUT_REDUCTION;
  bool has_sums = false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    has_sums |= tiled->kind == HLO_TILED_REDUCE && hlo_tiled_is_sum(tiled);
  }
  const uint32_t number = is_cut ? kernel->split.space : tiling->outputs[0]->reduction;
  hlo_levels_t levels;
  plan_levels(kernel, &tiling->spaces[number], is_cut, has_sums, &levels);
  return levels.level_count;
}

static void sweep_all(hlo_emitter_t* e, sweep_t* sweep, hlo_vir_interval_t columns) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[sweep->space];
  uint32_t numbers[HLO_TILED_MAX_LOOPS];
  hlo_vir_interval_t ranges[HLO_TILED_MAX_LOOPS];
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    numbers[i] = space->first_loop + i;
    ranges[i] = hlo_reduce_range(e, sweep->space, i);
  }
  sweep->row_loop = numbers[space->loop_count - 1];
  sweep->columns = columns;
  hlo_levels_t levels;
  plan_levels(e->kernel, space, e->chunk != NULL, hlo_reduce_has_sums(&sweep->set), &levels);
  HLO_ASSERT(levels.level_count <= e->kernel->sweep_levels, "scratch memory has the levels");
  const hlo_level_nest_t nest = {.loop_count = space->loop_count,
                                 .numbers = numbers,
                                 .ranges = ranges,
                                 .trip_elements = HLO_TUNING_SWEEP_ROWS,
                                 .context = sweep,
                                 .begin = begin_sweep_level,
                                 .body = sweep_range,
                                 .end = end_sweep_level};
  for (uint32_t level = levels.level_count + 1; level-- > 0;) {
    sweep->level = level;
    hlo_emit_lane_loop(e, e->kernel->loops[0], columns, 1, sweep_clear, sweep);
  }
  hlo_emit_levels(e, &levels, &nest);
}

static void sweep_outputs(hlo_emitter_t* e, hlo_vir_interval_t range) {
  sweep_t sweep = {.space = e->tiling->outputs[0]->reduction};
  for (uint32_t i = 0; i < hlo_kernel_main_count(e->kernel); ++i) {
    sweep.set.members[sweep.set.count++] = e->tiling->outputs[i];
  }
  hlo_reduce_start(e, &sweep.set, 1);
  sweep_all(e, &sweep, range);
  hlo_emit_lane_loop(e, e->kernel->loops[0], range, 1, sweep_finish, &sweep);
}

// ---- chunks with rows of their own --------------------------------------------------------------

static sweep_t all_reductions(const hlo_emitter_t* e) {
  sweep_t sweep = {.space = e->kernel->split.space, .set = {.unroll = 1}};
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE) sweep.set.members[sweep.set.count++] = tiled;
  }
  return sweep;
}

static hlo_vir_interval_t all_columns(const hlo_emitter_t* e) {
  const hlo_tiled_loop_t* loop = &e->tiling->loops[e->kernel->loops[0]];
  return (hlo_vir_interval_t){hlo_vir_iconst(e->b, loop->low), hlo_vir_iconst(e->b, loop->end)};
}

static void sweep_part(hlo_emitter_t* e) {
  sweep_t sweep = all_reductions(e);
  sweep.chunk = e->chunk;
  sweep.set.unroll = 0;  // accumulators are in memory, not in variables
  hlo_reduce_start(e, &sweep.set, 1);
  sweep_all(e, &sweep, all_columns(e));
}

static void load_part(hlo_emitter_t* e, hlo_vir_value_t* chunk, void* context,
                      hlo_vir_value_t** out_values) {
  sweep_t* sweep = context;
  sweep->chunk = chunk;
  load_accumulators(e, sweep, out_values);
}

// Combines the accumulators of all chunks, then finishes the outputs.
static void combine_chunks(hlo_emitter_t* e, HLO_UNUSED uint32_t copy, HLO_UNUSED void* context) {
  sweep_t sweep = all_reductions(e);
  hlo_reduce_start(e, &sweep.set, hlo_emitter_point_lanes(e));
  hlo_reduce_join_chunks(e, &sweep.set, load_part, &sweep);
  hlo_reduce_finish(e, &sweep.set);
  hlo_emit_point(e);
}

hlo_status_t hlo_emit_sweep(hlo_emitter_t* e, hlo_arena_t* scratch, uint32_t phase,
                            hlo_vir_value_t* chunk) {
  const hlo_kernel_t* kernel = e->kernel;
  HLO_TRY(hlo_emitter_start_segment(e, scratch, &kernel->segments[0]));
  if (kernel->cut != HLO_KERNEL_CUT_REDUCTION) {
    hlo_vir_interval_t range;
    hlo_emitter_ranges(e, &kernel->segments[0], chunk, &range);
    sweep_outputs(e, range);
    return hlo_ok();
  }
  e->chunk = chunk;
  if (phase == 0) {
    sweep_part(e);
  } else {
    hlo_emit_lane_loop(e, kernel->loops[0], all_columns(e), 1, combine_chunks, NULL);
  }
  return hlo_ok();
}
