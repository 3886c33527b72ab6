// SPDX-License-Identifier: Apache-2.0
// Reductions of short rows: a block has as many rows as a vector has lanes. The loops store the
// partial results of each row on the stack; a transposition puts them into lanes, one row in each,
// where they are finished. Values that depend on the results alone are computed in lanes, too; the
// loops over the elements of a row load them.

#include "codegen/loops/kernel_emit_impl.h"

enum {
  MAX_ROW_ACCUMULATORS = 4,  // on the stack at a time
};

// ---- eligible kernels ---------------------------------------------------------------------------

// Returns the innermost loop that an instance depends on; loop_count: none.
static uint32_t loop_level(const hlo_kernel_t* kernel, const hlo_tiled_t* tiled) {
  uint32_t level = kernel->loop_count;
  for (uint32_t i = 0; i < kernel->loop_count; ++i) {
    if (tiled->loops >> kernel->loops[i] & 1) level = i;
  }
  return level;
}

// Returns true for a reduction of a short row, whose terms are added without levels. Short vectors
// are folded faster than a matrix times a vector is transposed.
static bool is_short_reduction(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                               const hlo_tiled_t* tiled) {
  const hlo_tiled_space_t* space = &tiling->spaces[tiled->reduction];
  const bool is_given = hlo_kernel_config_value(kernel->config, HLO_CHOICE_row_block);
  return space->loop_count == 1 && space->depth == 1 && space->element_count > 1 &&
         (is_given || space->element_count <= HLO_TUNING_ROWS_MAX_ELEMENTS) &&
         space->element_count <= (int64_t)kernel->lanes * HLO_TUNING_SUM_TERMS &&
         (kernel->target->has_masks || tiled->operands[0]->kind != HLO_TILED_PRODUCT) &&
         hlo_tiled_result_count(tiled) <= 2 && tiled->value->type->dtype != HLO_DTYPE_PRED;
}

// Returns true if an instance can be computed in lanes along rows, or along the reduced dimension.
static bool has_lanes(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled, uint32_t row) {
  if (!tiled->offset) return true;
  uint64_t inner = tiled->loops & ~hlo_tiled_space_mask(&tiling->spaces[0]);
  if (tiled->kind == HLO_TILED_MASK) return !(tiled->offset->loops & (inner | (uint64_t)1 << row));
  if (!inner) return hlo_tiled_lane_access(tiled->offset, row) != HLO_LANE_UNKNOWN;
  for (; inner; inner &= inner - 1) {
    uint32_t loop = (uint32_t)__builtin_ctzll(inner);
    hlo_lane_access_t access = hlo_tiled_lane_access(tiled->offset, loop);
    bool is_plain = access == HLO_LANE_PLAIN || access == HLO_LANE_SAME;
    if (!is_plain && (tiled->kind != HLO_TILED_INDEX || access == HLO_LANE_UNKNOWN)) return false;
  }
  return true;
}

uint32_t hlo_kernel_row_level(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  uint32_t none = kernel->loop_count, level = none, count = 0;
  if (!kernel->target->has_parts || kernel->lanes > HLO_KERNEL_MAX_EDGE ||
      !hlo_kernel_has(kernel, HLO_KERNEL_ROW_BLOCKS) ||
      hlo_kernel_config_value(kernel->config, HLO_CHOICE_row_block) == HLO_CHOICE_NO) {
    return none;
  }
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE) continue;
    uint32_t reduced_level = loop_level(kernel, tiled);
    if (!is_short_reduction(kernel, tiling, tiled) || (count && reduced_level != level))
      return none;
    count += hlo_tiled_result_count(tiled);
    level = reduced_level;
  }
  if (count == 0 || count > HLO_TUNING_ROWS_MAX_REDUCTIONS) return none;
  if (level + hlo_kernel_has_lanes(kernel) >= none) return none;
  uint32_t row = kernel->loops[level];
  if (tiling->loops[row].end - tiling->loops[row].low < kernel->lanes) return none;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (!has_lanes(tiling, tiling->instances[i], row)) return none;
  }
  return level;
}

// ---- the stack ----------------------------------------------------------------------------------

static uint32_t vector_bytes(const hlo_emitter_t* e) {
  return e->kernel->target->vector_bytes;
}

hlo_vir_value_t* hlo_emit_rows_stack(hlo_emitter_t* e, int64_t at) {
  int64_t own =
      (int64_t)(MAX_ROW_ACCUMULATORS * e->kernel->lanes + HLO_TUNING_ROWS_MAX_REDUCTIONS) *
      vector_bytes(e);
  hlo_vir_value_t* base = hlo_vir_emit(e->b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0,
                                       own + e->rows.more_bytes, 0, NULL);
  return hlo_vir_index(e->b, HLO_VIR_iadd, base, hlo_vir_iconst(e->b, at < 0 ? own : at));
}

// Returns the partial results of accumulator `i`, one vector for each row.
static hlo_vir_value_t* row_accumulators_address(hlo_emitter_t* e, uint32_t i) {
  return hlo_emit_rows_stack(e, (int64_t)i * e->kernel->lanes * vector_bytes(e));
}

// Returns the address of finished result `i`, with one lane for each row.
static hlo_vir_value_t* result_address(hlo_emitter_t* e, uint32_t i) {
  return hlo_emit_rows_stack(
      e, (int64_t)(MAX_ROW_ACCUMULATORS * e->kernel->lanes + i) * vector_bytes(e));
}

static void store_vector(hlo_emitter_t* e, hlo_vir_value_t* value, hlo_vir_value_t* address) {
  hlo_vir_value_t* operands[] = {value, address};
  hlo_vir_emit(e->b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, 0, 2, operands);
}

// ---- loops over the rows of a block, and rows in lanes
// -------------------------------------------

static void bind_row(hlo_emitter_t* e, hlo_vir_value_t* row) {
  hlo_emitter_forget_loop(e, e->rows.loop);
  e->loops[e->rows.loop] = row;
  e->bound |= (uint64_t)1 << e->rows.loop;
}

// Opens a loop over the rows of a block and loads their finished results.
static void open_rows(hlo_emitter_t* e, hlo_vir_value_t* first) {
  hlo_vir_builder_t* b = e->b;
  e->rows.row =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, e->kernel->lanes), 1, 0);
  bind_row(e, hlo_vir_index(b, HLO_VIR_iadd, first, e->rows.row));
  for (uint32_t i = 0; i < e->rows.finished_count; ++i) {
    hlo_vir_type_t type = e->rows.types[i];
    uint32_t scale = (uint32_t)__builtin_ctz(hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8);
    hlo_vir_value_t* operands[] = {result_address(e, i), e->rows.row};
    e->done[e->rows.finished[i]] = hlo_vir_emit(
        b, HLO_VIR_load, hlo_vir_type((hlo_vir_elem_t)type.elem, 1), scale, 0, 2, operands);
  }
}

static void close_rows(hlo_emitter_t* e) {
  hlo_vir_end(e->b);
  hlo_emitter_forget_loop(e, e->rows.loop);
  hlo_emitter_close_block(e);
  e->rows.row = NULL;
}

static void begin_row_lanes(hlo_emitter_t* e, hlo_vir_value_t* first) {
  bind_row(e, first);
  e->lane_loop = e->rows.loop;
  e->lanes = e->kernel->lanes;
}

static void end_row_lanes(hlo_emitter_t* e) {
  hlo_emitter_forget_loop(e, e->rows.loop);
  e->lane_loop = HLO_NO_LOOP;
}

static bool is_finished(const hlo_emitter_t* e, uint32_t number) {
  for (uint32_t i = 0; i < e->rows.finished_count; ++i) {
    if (e->rows.finished[i] == number) return true;
  }
  return false;
}

// Returns the first reduction of the rows that is not finished; NULL: all are. Operands come first.
static const hlo_tiled_t* next_reduction(const hlo_emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE && !is_finished(e, i)) return tiled;
  }
  return NULL;
}

// Combines vectors of partial results, one for each row, into a vector with one row in each lane.
// It joins the lanes of a row in the order of hlo_emit_reduce(), so that both give the same bits.
static void transpose_rows(hlo_emitter_t* e, const hlo_fused_reductions_t* set,
                           hlo_vir_value_t* (*rows)[HLO_VIR_MAX_LANES]) {
  for (uint32_t half = e->kernel->lanes / 2; half > 0; half /= 2) {
    for (uint32_t i = 0; i < half; ++i) {
      hlo_vir_value_t *low[MAX_ROW_ACCUMULATORS], *high[MAX_ROW_ACCUMULATORS],
          *joined[MAX_ROW_ACCUMULATORS];
      for (uint32_t k = 0; k < set->accumulator_count; ++k) {
        low[k] = hlo_vir_binary(e->b, HLO_VIR_zip_low, rows[k][i], rows[k][i + half]);
        high[k] = hlo_vir_binary(e->b, HLO_VIR_zip_high, rows[k][i], rows[k][i + half]);
      }
      hlo_reduce_combine(e, set, low, high, joined);
      for (uint32_t k = 0; k < set->accumulator_count; ++k) rows[k][i] = joined[k];
    }
  }
}

// Leaves as many reductions in a set as the stack has accumulators for.
static void limit_set(hlo_fused_reductions_t* set) {
  uint32_t count = 0, results = 0;
  while (count < set->count) {
    results += hlo_tiled_result_count(set->members[count]);
    if (results > MAX_ROW_ACCUMULATORS) break;
    ++count;
  }
  set->count = count;
}

// Stores a result with one lane for each row.
static void store_finished(hlo_emitter_t* e, uint32_t number) {
  const uint32_t at = e->rows.finished_count++;
  e->rows.finished[at] = number;
  e->rows.types[at] = e->done[number]->type;
  store_vector(e, e->done[number], result_address(e, at));
}

// Computes a reduction and those fused with it for all rows of a block.
static void finish_reductions(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_vir_value_t* first) {
  hlo_fused_reductions_t set;
  open_rows(e, first);
  hlo_reduce_collect(e, tiled, &set);
  limit_set(&set);
  hlo_reduce_to_lanes(e, &set);
  hlo_vir_type_t types[MAX_ROW_ACCUMULATORS];
  for (uint32_t i = 0; i < set.accumulator_count; ++i) {
    hlo_vir_value_t* at =
        hlo_vir_index(e->b, HLO_VIR_imul, e->rows.row, hlo_vir_iconst(e->b, vector_bytes(e)));
    at = hlo_vir_index(e->b, HLO_VIR_iadd, row_accumulators_address(e, i), at);
    types[i] = set.accumulators[i].vars[0]->type;
    store_vector(e, set.accumulators[i].vars[0], at);
  }
  close_rows(e);
  hlo_vir_value_t* rows[MAX_ROW_ACCUMULATORS][HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < set.accumulator_count; ++i) {
    hlo_vir_value_t* base = row_accumulators_address(e, i);
    for (uint32_t k = 0; k < e->kernel->lanes; ++k) {
      rows[i][k] = hlo_vir_emit(e->b, HLO_VIR_load, types[i], 0, k * vector_bytes(e), 1, &base);
    }
  }
  transpose_rows(e, &set, rows);
  begin_row_lanes(e, first);
  for (uint32_t i = 0; i < set.accumulator_count; ++i) set.accumulators[i].vars[0] = rows[i][0];
  hlo_reduce_finish(e, &set);
  for (uint32_t i = 0; i < set.count; ++i) {
    const hlo_tiled_t* member = set.members[i];
    store_finished(e, member->number);
    for (uint32_t k = member->number + 1; k < e->tiling->instance_count; ++k) {
      const hlo_tiled_t* other = e->tiling->instances[k];
      if (other->kind == HLO_TILED_RESULT && other->operands[0] == member && e->done[k]) {
        store_finished(e, k);
      }
    }
  }
  end_row_lanes(e);
}

// Returns true if only results of rows are stored, contiguously along the rows.
static bool has_plain_outputs(const hlo_emitter_t* e, uint32_t level) {
  if (level + 1 != e->kernel->loop_count || e->kernel->fusion->extra_output_count) return false;
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    const hlo_expr_t* offset = e->tiling->output_offsets[i];
    if (hlo_tiled_lane_access(offset, e->rows.loop) != HLO_LANE_PLAIN) return false;
  }
  return true;
}

hlo_vir_value_t* hlo_emit_row_blocks(hlo_emitter_t* e, uint32_t level,
                                     const hlo_vir_interval_t* ranges) {
  hlo_vir_value_t* end = hlo_vir_interval_whole_end(e->b, ranges[level], e->kernel->lanes);
  hlo_vir_value_t* first = hlo_vir_begin_for(e->b, ranges[level].low, end, e->kernel->lanes, 0);
  e->rows.finished_count = 0;
  for (const hlo_tiled_t* next; (next = next_reduction(e));) finish_reductions(e, next, first);
  if (has_plain_outputs(e, level)) {
    begin_row_lanes(e, first);
    for (uint32_t i = 0; i < e->rows.finished_count; ++i) {
      hlo_vir_value_t* at = result_address(e, i);
      e->done[e->rows.finished[i]] =
          hlo_vir_emit(e->b, HLO_VIR_load, e->rows.types[i], 0, 0, 1, &at);
    }
    hlo_emit_point(e);
    end_row_lanes(e);
  } else {
    open_rows(e, first);
    hlo_emit_loops(e, level + 1, ranges);
    close_rows(e);
  }
  hlo_vir_end(e->b);
  hlo_emitter_close_block(e);
  return end;
}
