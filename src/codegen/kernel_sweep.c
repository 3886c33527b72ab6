// SPDX-License-Identifier: Apache-2.0
// Sums down columns: rows in blocks, so that memory is read in long pieces; the accumulators are in
// the memory of the outputs.
#include "codegen/kernel_emit_impl.h"

enum { SWEPT_ROWS = 8 };

typedef struct sweep {
  hlo_sibling_set_t set;
  uint32_t space, row_digit;
  uint32_t rows;  // of one block
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
  for (uint32_t i = 0; i < hlo_kernel_main_count(e->kernel); ++i) {
    hlo_element_address_t address = accumulator_address(e, i);
    hlo_elementwise_store(e->b, e->kernel->fusion->outputs[i]->type->dtype, values[i], &address);
  }
}

static void load_accumulators(hlo_emitter_t* e, uint32_t lanes, hlo_vir_value_t** out_values) {
  for (uint32_t i = 0; i < hlo_kernel_main_count(e->kernel); ++i) {
    hlo_element_address_t address = accumulator_address(e, i);
    out_values[i] =
        hlo_elementwise_load(e->b, e->kernel->fusion->outputs[i]->type->dtype, lanes, &address);
  }
}

static void sweep_clear(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
  const sweep_t* sweep = context;
  hlo_vir_value_t* values[HLO_MAX_ACCUMULATORS];
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    values[i] = hlo_reduce_identity(e, &sweep->set.accumulators[i], hlo_emitter_point_lanes(e));
  }
  store_accumulators(e, values);
}

static void sweep_rows(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
  const sweep_t* sweep = context;
  hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *values[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, hlo_emitter_point_lanes(e), sums);
  hlo_vir_value_t* first = e->digits[sweep->row_digit];
  for (uint32_t row = 0; row < sweep->rows; ++row) {
    hlo_emitter_forget_digit(e, sweep->row_digit);
    e->digits[sweep->row_digit] =
        hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, row));
    e->bound |= (uint64_t)1 << sweep->row_digit;
    for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
      values[i] = hlo_emit_wide(e, sweep->set.accumulators[i].tiled->operands[0],
                                hlo_emitter_point_lanes(e));
    }
    hlo_emit_reduced_sides(e, &sweep->set);
    hlo_reduce_combine(e, &sweep->set, sums, values, sums);
  }
  e->digits[sweep->row_digit] = first;
  store_accumulators(e, sums);
}

static void sweep_finish(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
  const sweep_t* sweep = context;
  hlo_vir_value_t *sums[HLO_MAX_ACCUMULATORS], *first[HLO_MAX_ACCUMULATORS];
  load_accumulators(e, hlo_emitter_point_lanes(e), sums);
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    first[i] =
        hlo_emit_wide(e, sweep->set.accumulators[i].tiled->operands[1], hlo_emitter_point_lanes(e));
  }
  hlo_reduce_combine(e, &sweep->set, first, sums, sums);
  store_accumulators(e, sums);
}

void hlo_emit_sweep(hlo_emitter_t* e, hlo_range_t range) {
  sweep_t sweep = {.set = {.unroll = 0}};
  sweep.space = e->tiling->outputs[0]->reduction;
  for (uint32_t i = 0; i < hlo_kernel_main_count(e->kernel); ++i) {
    sweep.set.members[sweep.set.count++] = e->tiling->outputs[i];
  }
  hlo_reduce_start(e, &sweep.set, 1);
  const hlo_tiled_space_t* space = &e->tiling->spaces[sweep.space];
  sweep.row_digit = space->first_digit + space->digit_count - 1;
  int64_t rows = space->extents[space->digit_count - 1], blocks = rows / SWEPT_ROWS * SWEPT_ROWS;
  uint32_t columns = e->kernel->loops[0];
  hlo_emit_lane_loop(e, columns, range, 1, sweep_clear, &sweep);
  hlo_reduce_open_loops(e, sweep.space, sweep.row_digit);
  if (blocks > 0) {
    hlo_emitter_open_loop(e, sweep.row_digit, hlo_vir_iconst(e->b, 0), hlo_vir_iconst(e->b, blocks),
                          SWEPT_ROWS);
    sweep.rows = SWEPT_ROWS;
    hlo_emit_lane_loop(e, columns, range, 1, sweep_rows, &sweep);
    hlo_emitter_close_loop(e, sweep.row_digit);
  }
  if (rows > blocks) {
    hlo_emitter_open_loop(e, sweep.row_digit, hlo_vir_iconst(e->b, blocks),
                          hlo_vir_iconst(e->b, rows), 1);
    sweep.rows = 1;
    hlo_emit_lane_loop(e, columns, range, 1, sweep_rows, &sweep);
    hlo_emitter_close_loop(e, sweep.row_digit);
  }
  hlo_reduce_close_loops(e, sweep.space, sweep.row_digit);
  hlo_emit_lane_loop(e, columns, range, 1, sweep_finish, &sweep);
}
