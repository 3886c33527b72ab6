// SPDX-License-Identifier: Apache-2.0
// Splits the loops of a kernel into chunks for parallel_for: outer loops, or reductions.
#include "base/tuning.h"
#include "codegen/loops/kernel_choose.h"
#include "codegen/math/elementwise.h"

bool hlo_kernel_is_worth_cutting(const hlo_kernel_t* kernel) {
  const int64_t given = hlo_kernel_config_value(kernel->config, HLO_CHOICE_chunks);
  if (given) return given > 1;
  return hlo_tile_is_worth_cutting(&kernel->target->tile, kernel->cost_ns, false);
}

bool hlo_kernel_reduces_columns(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (kernel->kind != HLO_KERNEL_LANES || kernel->segment_count != 1 || kernel->loop_count != 1) {
    return false;
  }
  uint32_t lane = kernel->loops[0];
  for (uint32_t i = 0; i < hlo_kernel_main_count(kernel); ++i) {
    const hlo_tiled_t* root = tiling->outputs[i];
    hlo_dtype_t dtype = kernel->fusion->outputs[i]->type->dtype;
    if (root->kind != HLO_TILED_REDUCE || root->operand_count != 2 ||
        root->reduction != tiling->outputs[0]->reduction || !(root->loops >> lane & 1) ||
        dtype == HLO_DTYPE_PRED || hlo_tiling_needs_reduction(tiling, root) ||
        hlo_elementwise_register_bytes(dtype) != hlo_dtype_size_bytes(dtype)) {
      return false;
    }
  }
  const hlo_tiled_space_t* rows = &tiling->spaces[tiling->outputs[0]->reduction];
  const int64_t given = hlo_kernel_config_value(kernel->config, HLO_CHOICE_sweep);
  const bool is_wanted = given ? given == HLO_CHOICE_YES : hlo_kernel_is_worth_cutting(kernel);
  return rows->element_count >= HLO_TUNING_SWEEP_MIN_ROWS && is_wanted;
}

// Returns the number of chunks that the kernel's work is worth.
static int64_t wanted_chunks(const hlo_kernel_t* kernel) {
  const int64_t given = hlo_kernel_config_value(kernel->config, HLO_CHOICE_chunks);
  if (given) return given;
  return hlo_tile_chunk_count(&kernel->target->tile, kernel->cost_ns, false);
}

// Splits `extent` into at most `wanted` chunks of a multiple of `step`; returns their number.
static uint64_t cut_chunks(hlo_kernel_t* kernel, int64_t extent, int64_t wanted, int64_t step) {
  kernel->chunk_size = hlo_divide_up(hlo_divide_up(extent, wanted), step) * step;
  return (uint64_t)hlo_divide_up(extent, kernel->chunk_size);
}

// Returns the factor of chunk sizes of a loop that keeps vectors and tiles whole.
static int64_t cutting_step(const hlo_kernel_t* kernel, uint32_t level) {
  const hlo_kernel_kind_info_t* info = &hlo_kernel_kinds[kernel->kind];
  const bool is_inner = level + info->inner_loops >= kernel->loop_count;
  return is_inner ? (int64_t)kernel->lanes * info->chunk_vectors : 1;
}

static void cut_loops(hlo_kernel_t* kernel) {
  kernel->chunk_count = 1;
  if (!hlo_kernel_is_worth_cutting(kernel) || kernel->loop_count == 0) return;
  int64_t wanted = wanted_chunks(kernel), step = cutting_step(kernel, 0);
  const int64_t* extents = kernel->spaces[0].extents;
  int64_t outer = extents[kernel->loops[0]];
  if (outer < wanted && kernel->loop_count > 1 && step == 1) {
    kernel->cut = HLO_KERNEL_CUT_TWO_LOOPS;
    kernel->parts_per_outer = cut_chunks(kernel, extents[kernel->loops[1]],
                                         hlo_divide_up(wanted, outer), cutting_step(kernel, 1));
    kernel->chunk_count = (uint64_t)outer * kernel->parts_per_outer;
  } else {
    kernel->chunk_count = cut_chunks(kernel, outer, wanted, step);
  }
}

// Returns the first loop with more than one value; it exists if there is work.
static uint32_t outermost_loop(const hlo_tiled_space_t* space) {
  uint32_t loop = 0;
  while (space->extents[loop] < 2) ++loop;
  return loop;
}

// One element reduced from many: the reductions are split instead if all of them are independent.
static hlo_verdict_t cut_reductions(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (!hlo_kernel_is_worth_cutting(kernel) || kernel->loop_count > 0) return hlo_verdict_yes();
  uint32_t partials = 0, space_number = 0;
  bool is_nested = false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE) continue;
    // An operand that needs a finished reduction would need another phase of chunks.
    is_nested |= tiled->loops || (partials && tiled->reduction != space_number) ||
                 hlo_tiling_needs_reduction(tiling, tiled);
    space_number = tiled->reduction;
    partials += hlo_tiled_result_count(tiled);
  }
  if (is_nested) {
    return hlo_verdict_no(HLO_REASON_SERIAL_REDUCTIONS, NULL);
  }
  if (!partials || partials > HLO_KERNEL_MAX_PARTIALS) return hlo_verdict_yes();
  const hlo_tiled_space_t* space = &tiling->spaces[space_number];
  uint32_t loop = outermost_loop(space);
  int64_t step = loop + 1 == space->loop_count ? kernel->lanes * HLO_TUNING_CHUNK_MIN_VECTORS : 1;
  kernel->chunk_count = cut_chunks(kernel, space->extents[loop], wanted_chunks(kernel), step);
  if (kernel->chunk_count < 2) return hlo_verdict_yes();
  kernel->cut = HLO_KERNEL_CUT_REDUCTION;
  kernel->split.space = space_number;
  kernel->split.loop = loop;
  kernel->split.partial_count = partials;
  return hlo_verdict_yes();
}

/// The reductions of a kernel that reduces columns.
typedef struct columns {
  uint32_t space;  // the longest of those that do not need the result of another
  uint32_t partials;
  bool is_swept;     // accumulators can be in memory
  bool is_nested;    // one needs the result of another
  bool is_separate;  // they run down different rows, and none needs the result of another
} columns_t;

static columns_t find_columns(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  uint32_t lane = kernel->loops[0], count = 0;
  columns_t columns = {.is_swept = true};
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE) continue;
    if (count++ == 0) columns.space = tiled->reduction;
    const bool is_nested = hlo_tiling_needs_reduction(tiling, tiled);
    columns.is_nested |= is_nested;
    if (!is_nested && tiled->reduction != columns.space) {
      columns.is_separate = true;
      const hlo_tiled_space_t* spaces = tiling->spaces;
      if (spaces[tiled->reduction].element_count > spaces[columns.space].element_count) {
        columns.space = tiled->reduction;
      }
    }
    columns.is_swept &= tiled->loops >> lane & 1 && tiled->operands[0]->kind != HLO_TILED_PRODUCT;
    for (uint32_t r = 0; r < hlo_tiled_result_count(tiled); ++r, ++columns.partials) {
      hlo_dtype_t dtype = tiled->value->def->results[r].type->dtype;
      columns.is_swept &= hlo_sweep_dtype(dtype) != HLO_DTYPE_INVALID;
    }
  }
  columns.is_swept &= count > 0 && columns.partials <= HLO_KERNEL_MAX_PARTIALS;
  return columns;
}

// Reductions of few columns, or with an epilogue: each chunk sweeps different rows.
static hlo_verdict_t cut_columns(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  bool is_sweep = kernel->kind == HLO_KERNEL_SWEEP;
  bool is_plain = (is_sweep || kernel->kind == HLO_KERNEL_LANES) && kernel->segment_count == 1 &&
                  kernel->loop_count == 1 &&
                  hlo_kernel_config_value(kernel->config, HLO_CHOICE_sweep) != HLO_CHOICE_NO;
  if (!is_plain || !hlo_kernel_is_worth_cutting(kernel)) return hlo_verdict_yes();
  columns_t columns = find_columns(kernel, tiling);
  bool is_cut =
      kernel->chunk_count >= HLO_TUNING_SWEEP_FEW_CHUNKS && (is_sweep || columns.is_nested);
  if (!columns.is_swept || is_cut) return hlo_verdict_yes();
  const hlo_tiled_space_t* space = &tiling->spaces[columns.space];
  int64_t wanted = wanted_chunks(kernel),
          most = space->element_count / HLO_TUNING_SWEEP_MIN_PART_ROWS;
  if (wanted > most) wanted = most;
  if (wanted < 2) return hlo_verdict_yes();
  if (columns.is_nested || columns.is_separate) {
    return hlo_verdict_no(
        columns.is_separate ? HLO_REASON_SEPARATE_COLUMNS : HLO_REASON_SERIAL_COLUMNS, NULL);
  }
  uint32_t loop = outermost_loop(space);
  int64_t step = loop + 1 == space->loop_count ? HLO_TUNING_SWEEP_MIN_ROWS : 1;
  if (space->extents[loop] < 2 * step) return hlo_verdict_yes();
  kernel->chunk_count = cut_chunks(kernel, space->extents[loop], wanted, step);
  kernel->split.loop = loop;
  kernel->kind = HLO_KERNEL_SWEEP;
  kernel->is_streamed = false;
  kernel->cut = HLO_KERNEL_CUT_REDUCTION;
  kernel->split.space = columns.space;
  kernel->split.partial_count = columns.partials;
  return hlo_verdict_yes();
}

hlo_verdict_t hlo_kernel_choose_chunks(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  cut_loops(kernel);
  hlo_verdict_t verdict = cut_columns(kernel, tiling);
  if (!hlo_verdict_is_no(&verdict)) verdict = cut_reductions(kernel, tiling);
  const int64_t given = hlo_kernel_config_value(kernel->config, HLO_CHOICE_chunks);
  if (given > 1 && kernel->chunk_count < 2 && !hlo_verdict_is_no(&verdict)) {
    return hlo_verdict_beyond(HLO_REASON_CONFIG_CHUNKS, NULL, (double)given, 1);
  }
  return verdict;
}
