// SPDX-License-Identifier: Apache-2.0
// The kinds of loops, one row each: what each can be combined with, and its functions. The choice
// of loops, their emission and hlo_kernel_verify() read the same rows.
#include "codegen/loops/kernel_emit_impl.h"

enum {
  LOOP = 1 << HLO_KERNEL_CUT_LOOP,
  TWO_LOOPS = 1 << HLO_KERNEL_CUT_TWO_LOOPS,
  REDUCTION = 1 << HLO_KERNEL_CUT_REDUCTION,
};

static bool tile_fits(const hlo_kernel_t* kernel) {
  return kernel->lanes <= HLO_KERNEL_MAX_EDGE;
}

static bool interleaved_fits(const hlo_kernel_t* kernel) {
  return kernel->fusion->output_count <= HLO_KERNEL_MAX_INTERLEAVED_OUTPUTS &&
         kernel->spaces[0].extents[kernel->interleaved_loop] <= HLO_KERNEL_MAX_INTERLEAVED;
}

static bool vector_fits(const hlo_kernel_t* kernel) {
  return kernel->spaces[0].element_count <= (int64_t)kernel->lanes;
}

// Reductions have lanes of their own.
static bool is_outside_reductions(HLO_UNUSED const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                                  const hlo_tiled_t* tiled) {
  return !(hlo_tiling_computed_loops(tiling, tiled) & ~hlo_tiled_space_mask(&tiling->spaces[0]));
}

static bool is_gathered(const hlo_kernel_t* kernel, HLO_UNUSED const hlo_tiling_t* tiling,
                        const hlo_tiled_t* tiled) {
  if (tiled->kind != HLO_TILED_LOAD) return false;
  uint32_t lane = kernel->loops[kernel->loop_count - 1];
  return hlo_tiled_lane_access(tiled->offset, lane) == HLO_LANE_GATHERED &&
         !hlo_kernel_lane_step(kernel->target, tiled, lane) &&
         !hlo_kernel_table_pieces(kernel->target, tiled, kernel->lanes);
}

static void plan_form(const hlo_kernel_t* kernel, hlo_kernel_summary_t* out_summary) {
  kernel->form.functions->plan(kernel, out_summary);
}

const hlo_kernel_kind_info_t hlo_kernel_kinds[HLO_KERNEL_KINDS] = {
    // name, texts, properties, cuts, inner loops, most loops, vectors in a chunk; functions
    [HLO_KERNEL_POINTS] = {"POINTS", "one element at a time", "",
                           HLO_KERNEL_SEGMENTS | HLO_KERNEL_EXTRA_OUTPUTS | HLO_KERNEL_ROW_BLOCKS |
                               HLO_KERNEL_VALUES,
                           LOOP | TWO_LOOPS | REDUCTION, 0, HLO_TILED_MAX_LOOPS, 0,
                           .is_one_by_one = is_outside_reductions, .plan = hlo_kernel_plan_partials,
                           .emit = hlo_emit_points},
    [HLO_KERNEL_LANES] = {"LANES", "lanes of %u", "",
                          HLO_KERNEL_STREAMS | HLO_KERNEL_SEGMENTS | HLO_KERNEL_EXTRA_OUTPUTS |
                              HLO_KERNEL_ROW_BLOCKS | HLO_KERNEL_ROW_CACHE | HLO_KERNEL_VALUES,
                          LOOP | TWO_LOOPS, 1, HLO_TILED_MAX_LOOPS, HLO_TUNING_CHUNK_MIN_VECTORS,
                          .is_one_by_one = is_gathered, .emit = hlo_emit_segments,
                          .emit_inner = hlo_emit_vectors},
    [HLO_KERNEL_TRANSPOSE] = {"TRANSPOSE", "squares of %u by %u, transposed in registers", "",
                              HLO_KERNEL_STREAMS | HLO_KERNEL_IN_TILES | HLO_KERNEL_VALUES,
                              LOOP | TWO_LOOPS, 2, HLO_TILED_MAX_LOOPS, 1, .fits = tile_fits,
                              .emit = hlo_emit_segments, .emit_inner = hlo_emit_transposed},
    [HLO_KERNEL_INTERLEAVED] = {"INTERLEAVED", "lanes of %u, interleaved", "",
                                HLO_KERNEL_SEGMENTS | HLO_KERNEL_JOINS_SEGMENTS | HLO_KERNEL_VALUES,
                                LOOP | TWO_LOOPS, 1, HLO_TILED_MAX_LOOPS,
                                HLO_TUNING_CHUNK_MIN_VECTORS, .fits = interleaved_fits,
                                .reads_first = hlo_kernel_reads_interleaved,
                                .check = hlo_kernel_check_interleaved, .emit = hlo_emit_segments,
                                .emit_inner = hlo_emit_interleaved},
    [HLO_KERNEL_VECTOR] = {"VECTOR", "one vector", "", HLO_KERNEL_WHOLE | HLO_KERNEL_VALUES, 0, 1,
                           1, HLO_TUNING_CHUNK_MIN_VECTORS, .fits = vector_fits,
                           .emit = hlo_emit_segments, .emit_inner = hlo_emit_vectors},
    [HLO_KERNEL_SWEEP] = {"SWEEP", "lanes of %u", ", sweeping rows", HLO_KERNEL_EXTRA_OUTPUTS,
                          LOOP | REDUCTION, 1, 1, HLO_TUNING_SWEEP_CHUNK_VECTORS,
                          .plan = hlo_kernel_plan_sweep, .emit = hlo_emit_sweep},
    [HLO_KERNEL_FORM] = {"FORM", "", "", 0, LOOP, 0, 0, 0, .plan = plan_form,
                         .emit = hlo_emit_form},
};
