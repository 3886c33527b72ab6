// SPDX-License-Identifier: Apache-2.0
// Sums down columns: rows in blocks, so that memory is read in long pieces; the accumulators are in
// the memory of the outputs.
#include "codegen/kernel_emit_impl.h"

enum { SWEPT_ROWS = 8 };

typedef struct sweep {
  hlo_sibling_set_t set;
  uint32_t space, row_digit;
} sweep_t;

static hlo_element_address_t accumulator_address(hlo_emitter_t* e, uint32_t output) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  hlo_element_address_t address =
      hlo_emit_address(e, e->addresses[fusion->input_count + output],
                       e->tiling->output_offsets[output], fusion->outputs[output]->type->dtype);
  address.mask = e->mask;
  return address;
}

static void store_accumulators(hlo_emitter_t* e, hlo_vir_value_t* const* values) {
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    hlo_element_address_t address = accumulator_address(e, i);
    hlo_elementwise_store(e->b, e->kernel->fusion->outputs[i]->type->dtype, values[i], &address);
  }
}

static void load_accumulators(hlo_emitter_t* e, uint32_t lanes, hlo_vir_value_t** out_values) {
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    hlo_element_address_t address = accumulator_address(e, i);
    out_values[i] =
        hlo_elementwise_load(e->b, e->kernel->fusion->outputs[i]->type->dtype, lanes, &address);
  }
}

static void sweep_clear(hlo_emitter_t* e, sweep_t* sweep, uint32_t rows) {
  (void)rows;
  hlo_vir_value_t* values[HLO_MAX_ACCUMULATORS];
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    values[i] = hlo_reduce_identity(e, &sweep->set.accumulators[i], hlo_emitter_point_lanes(e));
  }
  store_accumulators(e, values);
}

static void sweep_rows(hlo_emitter_t* e, sweep_t* sweep, uint32_t rows) {
  hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, hlo_emitter_point_lanes(e), sums);
  hlo_vir_value_t* first = e->digits[sweep->row_digit];
  for (uint32_t row = 0; row < rows; ++row) {
    hlo_emitter_forget_digit(e, sweep->row_digit);
    e->digits[sweep->row_digit] =
        hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, row));
    e->bound |= (uint64_t)1 << sweep->row_digit;
    for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
      values[i] = hlo_emit_wide(e, sweep->set.accumulators[i].tiled->operands[0],
                                hlo_emitter_point_lanes(e));
    }
    hlo_reduce_combine(e, &sweep->set, sums, values, sums);
  }
  e->digits[sweep->row_digit] = first;
  store_accumulators(e, sums);
}

static void sweep_finish(hlo_emitter_t* e, sweep_t* sweep, uint32_t rows) {
  (void)rows;
  hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *first[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, hlo_emitter_point_lanes(e), sums);
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    first[i] =
        hlo_emit_wide(e, sweep->set.accumulators[i].tiled->operands[1], hlo_emitter_point_lanes(e));
  }
  hlo_reduce_combine(e, &sweep->set, first, sums, sums);
  store_accumulators(e, sums);
}

// `point` for all columns of the range, in vectors, then for the rest.
static void sweep_columns(hlo_emitter_t* e, sweep_t* sweep, hlo_range_t range, uint32_t rows,
                          void (*point)(hlo_emitter_t* e, sweep_t* sweep, uint32_t rows)) {
  hlo_vir_builder_t* b = e->b;
  uint32_t digit = e->kernel->loops[0];
  e->lane_digit = digit;
  e->lanes = e->kernel->lanes;
  hlo_range_t whole = {range.low, hlo_range_whole_end(b, range, e->lanes)};
  hlo_range_t rest = {whole.end, range.end};
  hlo_emitter_open_loop(e, digit, whole.low, whole.end, e->lanes);
  point(e, sweep, rows);
  hlo_emitter_close_loop(e, digit);
  if (!hlo_range_is_empty(rest)) {
    hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
    bool has_masks = e->kernel->target->has_masks;
    hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
    if (has_masks) {
      e->mask = hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, e->lanes), 0, 0, 1,
                             &count);
    } else {
      e->lane_digit = HLO_NO_DIGIT;
    }
    hlo_emitter_open_loop(e, digit, rest.low, rest.end, has_masks ? e->lanes : 1);
    point(e, sweep, rows);
    hlo_emitter_close_loop(e, digit);
    hlo_emitter_close_if(e);
  }
  e->lane_digit = HLO_NO_DIGIT;
  e->mask = NULL;
}

void hlo_emit_sweep(hlo_emitter_t* e, hlo_range_t range) {
  sweep_t sweep = {.set = {.unroll = 0}};
  sweep.space = e->tiling->outputs[0]->reduction;
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    sweep.set.members[sweep.set.count++] = e->tiling->outputs[i];
  }
  hlo_reduce_start(e, &sweep.set, 1);
  const hlo_tiled_space_t* space = &e->tiling->spaces[sweep.space];
  sweep.row_digit = space->first_digit + space->digit_count - 1;
  int64_t rows = space->extents[space->digit_count - 1], blocks = rows / SWEPT_ROWS * SWEPT_ROWS;
  sweep_columns(e, &sweep, range, 0, sweep_clear);
  hlo_reduce_open_loops(e, sweep.space, sweep.row_digit);
  if (blocks > 0) {
    hlo_emitter_open_loop(e, sweep.row_digit, hlo_vir_iconst(e->b, 0), hlo_vir_iconst(e->b, blocks),
                          SWEPT_ROWS);
    sweep_columns(e, &sweep, range, SWEPT_ROWS, sweep_rows);
    hlo_emitter_close_loop(e, sweep.row_digit);
  }
  if (rows > blocks) {
    hlo_emitter_open_loop(e, sweep.row_digit, hlo_vir_iconst(e->b, blocks),
                          hlo_vir_iconst(e->b, rows), 1);
    sweep_columns(e, &sweep, range, 1, sweep_rows);
    hlo_emitter_close_loop(e, sweep.row_digit);
  }
  hlo_reduce_close_loops(e, sweep.space, sweep.row_digit);
  sweep_columns(e, &sweep, range, 0, sweep_finish);
}
