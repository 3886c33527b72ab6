// SPDX-License-Identifier: Apache-2.0
// Reductions down columns: blocks of rows, so that memory is read in long runs. The accumulators
// are in the memory of the outputs or, if each chunk has rows of its own, in scratch memory until
// all chunks are combined.
#include "base/tuning.h"
#include "codegen/loops/kernel_emit_impl.h"

enum {
  PARTIAL_BYTES = 8,  // of an accumulator in scratch memory
};

typedef struct sweep {
  hlo_fused_reductions_t set;
  uint32_t space, row_loop;
  uint32_t rows;           // in one block
  hlo_vir_value_t* chunk;  // has its own accumulators; NULL: they are in the outputs
} sweep_t;

hlo_dtype_t hlo_sweep_dtype(hlo_dtype_t dtype) {
  if (dtype == HLO_DTYPE_F16 || dtype == HLO_DTYPE_BF16)
    return HLO_DTYPE_F32;  // accumulators are wide
  bool is_plain = dtype != HLO_DTYPE_PRED &&
                  hlo_elementwise_register_bytes(dtype) == hlo_dtype_size_bytes(dtype);
  return is_plain ? dtype : HLO_DTYPE_INVALID;
}

// A chunk's scratch memory holds all elements of its first accumulator, then of the others.
static hlo_element_address_t partial_address(hlo_emitter_t* e, const sweep_t* sweep, uint32_t i) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  int64_t bytes = e->kernel->spaces[0].element_count * PARTIAL_BYTES;
  hlo_vir_value_t* scratch = e->addresses[fusion->input_count + fusion->output_count];
  hlo_vir_value_t* part = hlo_vir_index(
      e->b, HLO_VIR_imul, sweep->chunk,
      hlo_vir_iconst(e->b, bytes * (int64_t)sweep->set.accumulator_count));
  return (hlo_element_address_t){.base = hlo_vir_index(e->b, HLO_VIR_iadd, scratch, part),
                                 .index = e->loops[e->kernel->loops[0]],
                                 .offset_bytes = bytes * i,
                                 .mask = e->mask};
}

static hlo_element_address_t accumulator_address(hlo_emitter_t* e, const sweep_t* sweep,
                                                 uint32_t i) {
  if (sweep->chunk) return partial_address(e, sweep, i);
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

static void sweep_clear(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
  const sweep_t* sweep = context;
  hlo_vir_value_t* values[HLO_MAX_ACCUMULATORS];
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    values[i] = hlo_reduce_identity(e, &sweep->set.accumulators[i], hlo_emitter_point_lanes(e));
  }
  store_accumulators(e, sweep, values);
}

static void sweep_rows(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
  const sweep_t* sweep = context;
  hlo_vir_value_t *accumulators[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, sweep, accumulators);
  hlo_vir_value_t* first = e->loops[sweep->row_loop];
  for (uint32_t row = 0; row < sweep->rows; ++row) {
    hlo_emitter_forget_loop(e, sweep->row_loop);
    e->loops[sweep->row_loop] =
        hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, row));
    e->bound |= (uint64_t)1 << sweep->row_loop;
    for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
      const hlo_accumulator_t* a = &sweep->set.accumulators[i];
      values[i] = hlo_emit_wide(e, a->tiled->operands[a->result], hlo_emitter_point_lanes(e));
    }
    hlo_emit_reduced_extra_outputs(e, &sweep->set);
    hlo_reduce_combine(e, &sweep->set, accumulators, values, accumulators);
  }
  e->loops[sweep->row_loop] = first;
  store_accumulators(e, sweep, accumulators);
}

static void sweep_finish(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
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

// Processes blocks of `rows` rows, each over all columns of `range`.
static void sweep_blocks(hlo_emitter_t* e, sweep_t* sweep, uint32_t rows, hlo_range_t range,
                         hlo_range_t columns) {
  if (hlo_range_is_empty(range)) return;
  sweep->rows = rows;
  hlo_emitter_open_loop(e, sweep->row_loop, range.low, range.end, rows);
  hlo_emit_lane_loop(e, e->kernel->loops[0], columns, 1, sweep_rows, sweep);
  hlo_emitter_close_loop(e, sweep->row_loop);
}

static void sweep_all(hlo_emitter_t* e, sweep_t* sweep, hlo_range_t columns) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[sweep->space];
  sweep->row_loop = space->first_loop + space->loop_count - 1;
  hlo_emit_lane_loop(e, e->kernel->loops[0], columns, 1, sweep_clear, sweep);
  hlo_reduce_open_loops(e, sweep->space, sweep->row_loop);
  hlo_range_t rows = hlo_reduce_range(e, sweep->space, space->loop_count - 1);
  hlo_vir_value_t* middle = hlo_range_whole_end(e->b, rows, HLO_TUNING_SWEEP_ROWS);
  sweep_blocks(e, sweep, HLO_TUNING_SWEEP_ROWS, (hlo_range_t){rows.low, middle}, columns);
  sweep_blocks(e, sweep, 1, (hlo_range_t){middle, rows.end}, columns);
  hlo_reduce_close_loops(e, sweep->space, sweep->row_loop);
}

void hlo_emit_sweep(hlo_emitter_t* e, hlo_range_t range) {
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
  sweep_t sweep = {.space = e->kernel->split_space, .set = {.unroll = 1}};
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE) sweep.set.members[sweep.set.count++] = tiled;
  }
  return sweep;
}

static hlo_range_t all_columns(const hlo_emitter_t* e) {
  const hlo_tiled_loop_t* loop = &e->tiling->loops[e->kernel->loops[0]];
  return (hlo_range_t){hlo_vir_iconst(e->b, loop->low), hlo_vir_iconst(e->b, loop->end)};
}

void hlo_emit_sweep_part(hlo_emitter_t* e) {
  sweep_t sweep = all_reductions(e);
  sweep.chunk = e->chunk;
  sweep.set.unroll = 0;  // accumulators are in memory, not in variables
  hlo_reduce_start(e, &sweep.set, 1);
  sweep_all(e, &sweep, all_columns(e));
}

// Combines the accumulators in the order of the chunks, then finishes the outputs.
static void combine_chunks(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy, (void)context;
  hlo_vir_value_t *vars[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  sweep_t sweep = all_reductions(e);
  hlo_reduce_start(e, &sweep.set, hlo_emitter_point_lanes(e));
  hlo_reduce_vars(&sweep.set, 0, vars);
  sweep.chunk = hlo_vir_begin_for(e->b, hlo_vir_iconst(e->b, 0),
                                  hlo_vir_iconst(e->b, (int64_t)e->kernel->chunk_count), 1, 0);
  load_accumulators(e, &sweep, values);
  hlo_reduce_combine(e, &sweep.set, vars, values, values);
  for (uint32_t i = 0; i < sweep.set.accumulator_count; ++i) hlo_vir_set(e->b, vars[i], values[i]);
  hlo_vir_end(e->b);
  hlo_emitter_close_block(e);
  hlo_reduce_finish(e, &sweep.set);
  hlo_emit_point(e);
}

void hlo_emit_sweep_finish(hlo_emitter_t* e) {
  hlo_emit_lane_loop(e, e->kernel->loops[0], all_columns(e), 1, combine_chunks, NULL);
}
