// SPDX-License-Identifier: Apache-2.0
// Orders the loops around rows of lanes with streamed stores by the order of the loads (see
// kernel_choose.h): hardware prefetches memory that is read in order; whole lines may be written in
// any order.
#include <stdlib.h>

#include "base/tuning.h"
#include "codegen/loops/kernel_choose.h"

static bool stores_long_rows(const hlo_kernel_t* kernel) {
  int64_t row = kernel->spaces[0].extents[kernel->loops[kernel->loop_count - 1]];
  int64_t line_bytes = hlo_target_line_bytes(kernel->target);
  for (uint32_t i = 0; i < kernel->fusion->output_count; ++i) {
    int64_t bytes = row * (int64_t)hlo_dtype_size_bytes(kernel->fusion->outputs[i]->type->dtype);
    if (bytes < line_bytes ||
        (bytes % line_bytes && bytes < HLO_TUNING_ODD_ROW_LINES * line_bytes)) {
      return false;
    }
  }
  return true;
}

// Returns the distance of the elements that consecutive values of a loop read.
static int64_t step_of(const hlo_tiled_t* load, uint32_t loop) {
  return llabs(hlo_expr_coefficient(load->offset, loop));
}

static bool is_affine(const hlo_tiled_t* load) {
  for (uint32_t i = 0; i < load->offset->term_count; ++i) {
    const hlo_expr_atom_t* atom = load->offset->terms[i].atom;
    if (atom->kind != HLO_EXPR_LOOP && atom->loops) return false;
  }
  return true;
}

static bool is_in_order(const hlo_kernel_t* kernel, const hlo_tiled_t* load) {
  for (uint32_t i = 1; i + 1 < kernel->loop_count; ++i) {
    if (step_of(load, kernel->loops[i - 1]) < step_of(load, kernel->loops[i])) return false;
  }
  return true;
}

// Returns the load with the most bytes, preferring loads in order; NULL if reductions determine the
// loops, or if the access is known only at run time.
static const hlo_tiled_t* find_main_load(const hlo_kernel_t* kernel,
                                         const hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_t* found = NULL;
  double most = 0;
  for (uint32_t p = 0; p < pieces->count; ++p) {
    const hlo_tiling_t* tiling = pieces->tilings[p];
    for (uint32_t i = 0; i < tiling->instance_count; ++i) {
      const hlo_tiled_t* tiled = tiling->instances[i];
      if (tiled->kind == HLO_TILED_REDUCE) return NULL;
      if (tiled->kind != HLO_TILED_LOAD) continue;
      double bytes = hlo_tiling_points(tiling, tiled->loops) *
                     (double)hlo_dtype_size_bytes(tiled->value->type->dtype);
      if (bytes < most || (bytes == most && !is_in_order(kernel, tiled))) continue;
      found = tiled;
      most = bytes;
    }
  }
  return found && is_affine(found) ? found : NULL;
}

void hlo_kernel_order_loops(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  if (!kernel->is_streamed || hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES)) return;
  if (!stores_long_rows(kernel)) return;
  const hlo_tiled_t* load = find_main_load(kernel, pieces);
  if (!load) return;
  for (uint32_t i = 1; i + 1 < kernel->loop_count; ++i) {
    uint32_t loop = kernel->loops[i], at = i;
    for (; at > 0 && step_of(load, kernel->loops[at - 1]) < step_of(load, loop); --at) {
      kernel->loops[at] = kernel->loops[at - 1];
    }
    kernel->loops[at] = loop;
  }
}
