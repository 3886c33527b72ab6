// SPDX-License-Identifier: Apache-2.0
// Extra outputs, whose size differs from the loops': the loops of a reduction store reduced values;
// values of whole rows are stored before the loops over the elements of a row.
#include "codegen/loops/kernel_emit_impl.h"

// Returns the loop along which memory is contiguous; HLO_NO_LOOP if there is a single element.
static uint32_t unit_loop(const hlo_expr_t* offset) {
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    if (offset->terms[i].coefficient == 1) return offset->terms[i].atom->number;
  }
  return HLO_NO_LOOP;
}

// Returns the number of outermost loops that an offset depends on.
static uint32_t row_level(const hlo_kernel_t* kernel, const hlo_expr_t* offset) {
  uint32_t level = kernel->loop_count;
  while (level > 0 && !(offset->loops >> kernel->loops[level - 1] & 1)) --level;
  return level;
}

// Each row must be stored once: it owns all loops around it, and none of them is split.
static hlo_verdict_t check_row(const hlo_kernel_t* kernel, const hlo_expr_t* offset) {
  uint32_t level = row_level(kernel, offset);
  if (level == 0 || level + hlo_kernel_has_lanes(kernel) > kernel->loop_count) {
    return hlo_verdict_no(HLO_REASON_OUTPUT_ROWS, NULL);
  }
  for (uint32_t i = 0; i < level; ++i) {
    const bool is_moved = offset->loops >> kernel->loops[i] & 1;
    if (!is_moved) return hlo_verdict_no(HLO_REASON_OUTPUT_ROWS, NULL);
  }
  const bool is_cut = kernel->cut == HLO_KERNEL_CUT_TWO_LOOPS && level < 2;
  return is_cut ? hlo_verdict_no(HLO_REASON_OUTPUT_ROWS_CUT, NULL) : hlo_verdict_yes();
}

hlo_verdict_t hlo_kernel_check_extra_outputs(const hlo_kernel_t* kernel,
                                             const hlo_tiling_t* tiling) {
  if (kernel->segment_count != 1 || !hlo_kernel_has(kernel, HLO_KERNEL_EXTRA_OUTPUTS)) {
    return hlo_verdict_no(HLO_REASON_OUTPUT_SIZES, NULL);
  }
  for (uint32_t i = hlo_kernel_main_count(kernel); i < kernel->fusion->output_count; ++i) {
    const hlo_expr_t* offset = tiling->output_offsets[i];
    const hlo_tiled_t* owner = tiling->output_owners[i];
    const hlo_verdict_t verdict = owner ? hlo_verdict_yes() : check_row(kernel, offset);
    if (hlo_verdict_is_no(&verdict)) return verdict;
    uint32_t lane =
        hlo_kernel_has_lanes(kernel) ? kernel->loops[kernel->loop_count - 1] : HLO_NO_LOOP;
    if (!owner || (lane != HLO_NO_LOOP && owner->loops >> lane & 1)) continue;
    uint32_t unit = unit_loop(offset);
    // Along a reduction shorter than a vector most lanes would be idle.
    const bool is_long = tiling->spaces[owner->reduction].element_count >= kernel->lanes ||
                         tiling->spaces[0].element_count < kernel->lanes;
    const bool is_contiguous =
        unit == HLO_NO_LOOP || (is_long && tiling->loops[unit].space == owner->reduction);
    if (!is_contiguous) return hlo_verdict_no(HLO_REASON_OUTPUT_BY_ELEMENTS, NULL);
  }
  return hlo_verdict_yes();
}

void hlo_emit_row_extra_outputs(hlo_emitter_t* e, uint32_t level) {
  const hlo_tiling_t* tiling = e->tiling;
  for (uint32_t i = hlo_kernel_main_count(e->kernel); i < e->kernel->fusion->output_count; ++i) {
    if (tiling->output_owners[i] || row_level(e->kernel, tiling->output_offsets[i]) != level) {
      continue;
    }
    hlo_emit_store(e, i, hlo_emit_wide(e, tiling->outputs[i], 1));
  }
}

void hlo_emit_reduced_extra_outputs(hlo_emitter_t* e, const hlo_fused_reductions_t* set) {
  for (uint32_t i = hlo_kernel_main_count(e->kernel); i < e->kernel->fusion->output_count; ++i) {
    for (uint32_t m = 0; m < set->count; ++m) {
      if (e->tiling->output_owners[i] != set->members[m]) continue;
      uint32_t lanes = hlo_emitter_point_lanes(e);
      hlo_emit_store(e, i, hlo_emit_wide(e, e->tiling->outputs[i], lanes));
    }
  }
}

bool hlo_extra_outputs_run_over(const hlo_emitter_t* e, const hlo_tiled_t* reduction,
                                uint32_t loop) {
  for (uint32_t i = hlo_kernel_main_count(e->kernel); i < e->kernel->fusion->output_count; ++i) {
    if (e->tiling->output_owners[i] != reduction) continue;
    if (hlo_tiled_lane_access(e->tiling->output_offsets[i], loop) != HLO_LANE_PLAIN) return false;
  }
  return true;
}
