// SPDX-License-Identifier: Apache-2.0
// The row cache: a reduction computes an expensive value along its loop, and the output needs the
// value again along its lanes (the exponentials of a softmax). The row is stored on the stack and
// loaded instead of recomputed.
#include "codegen/loops/kernel_emit_impl.h"

static bool is_plain_loop(const hlo_expr_t* expr, uint32_t loop) {
  return expr->term_count == 1 && expr->constant == 0 && expr->terms[0].coefficient == 1 &&
         expr->terms[0].atom->kind == HLO_EXPR_LOOP && expr->terms[0].atom->number == loop;
}

// Returns true if `b` is `a` with loop `to` instead of loop `from`.
static bool is_recomputed_along(const hlo_tiled_t* a, uint32_t from, const hlo_tiled_t* b,
                                uint32_t to) {
  if (a->value != b->value || b->kind != HLO_TILED_COMPUTE) return false;
  for (uint32_t i = 0; i < a->value->type->rank; ++i) {
    bool is_along = is_plain_loop(a->index[i], from) && is_plain_loop(b->index[i], to);
    if (!is_along && (a->index[i] != b->index[i] || (a->index[i]->loops >> from & 1))) {
      return false;
    }
  }
  return true;
}

// Returns the cost of computing an instance for each value of the loop.
static double cost_along(const hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t loop) {
  bool* marks = hlo_arena_array(e->scratch, e->tiling->instance_count, sizeof *marks);
  if (!marks) return 0;
  hlo_tiling_mark_needed(e->tiling, tiled, marks);
  marks[tiled->number] = true;
  double cost = 0;
  for (uint32_t i = 0; i <= tiled->number; ++i) {
    const hlo_tiled_t* needed = e->tiling->instances[i];
    if (!marks[i] || needed->kind != HLO_TILED_COMPUTE || !(needed->loops >> loop & 1)) continue;
    cost += hlo_elementwise_cost(needed->value->def);
  }
  return cost;
}

static bool has_row_blocks(const hlo_emitter_t* e) {
  return e->rows.level < e->kernel->loop_count;
}

// Returns the bytes of one row, or of all rows of a block.
static int64_t row_cache_bytes(const hlo_emitter_t* e, const hlo_tiled_space_t* space,
                               size_t bytes) {
  return space->element_count * (int64_t)bytes * (has_row_blocks(e) ? e->kernel->lanes : 1);
}

// Returns the bytes of the largest row that is kept. Where memory limits a kernel, a long row next
// to the one that is read only takes room in the first cache.
static int64_t most_row_bytes(const hlo_kernel_t* kernel) {
  const double share = HLO_TUNING_ROW_CACHE_NEAR_SHARE * kernel->moved_bytes;
  return hlo_kernel_config_value(kernel->config, HLO_CHOICE_row_cache) ||
                 !hlo_target_is_large(kernel->target, (size_t)share)
             ? HLO_TUNING_ROW_CACHE_MOST_BYTES
             : HLO_TUNING_ROW_CACHE_BYTES;
}

// Chooses the most expensive value along the loop of a reduction that an output needs along the
// lanes.
static void find_cached_value(hlo_emitter_t* e, const hlo_tiled_t* reduction, uint32_t lane,
                              double* best_cost) {
  const hlo_tiling_t* tiling = e->tiling;
  const hlo_tiled_space_t* space = &tiling->spaces[reduction->reduction];
  uint32_t loop = space->first_loop;
  const int64_t most_bytes = most_row_bytes(e->kernel);
  if (space->loop_count != 1 || tiling->loops[lane].low != 0 ||
      tiling->loops[lane].end != space->element_count) {
    return;
  }
  bool* marks = hlo_arena_array(e->scratch, tiling->instance_count, sizeof *marks);
  if (!marks) return;
  hlo_tiling_mark_needed(tiling, reduction, marks);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* recomputed = tiling->instances[i];
    if (recomputed->kind != HLO_TILED_COMPUTE || !(recomputed->loops >> lane & 1)) continue;
    for (uint32_t k = 0; k < reduction->number; ++k) {
      const hlo_tiled_t* tiled = tiling->instances[k];
      size_t bytes = hlo_dtype_size_bytes(tiled->value->type->dtype);
      if (!marks[k] || tiled->kind != HLO_TILED_COMPUTE || !(tiled->loops >> loop & 1) ||
          row_cache_bytes(e, space, bytes) > most_bytes ||
          !is_recomputed_along(tiled, loop, recomputed, lane)) {
        continue;
      }
      double cost = cost_along(e, tiled, loop);
      if (cost < *best_cost) continue;
      *best_cost = cost;
      e->cached = (hlo_cached_row_t){reduction, tiled, recomputed};
      if (has_row_blocks(e)) e->rows.more_bytes = row_cache_bytes(e, space, bytes);
    }
  }
}

bool hlo_kernel_may_cache_rows(const hlo_kernel_t* kernel) {
  // Only in functions of their own: all kernels in a program's entry share its stack.
  return hlo_kernel_has(kernel, HLO_KERNEL_ROW_CACHE) && kernel->chunk_count >= 2;
}

hlo_status_t hlo_emit_find_cached_row(hlo_emitter_t* e) {
  const hlo_kernel_t* kernel = e->kernel;
  const int64_t given = hlo_kernel_config_value(kernel->config, HLO_CHOICE_row_cache);
  e->cached = (hlo_cached_row_t){0};
  if (!hlo_kernel_may_cache_rows(kernel) || given == HLO_CHOICE_NO) return hlo_ok();
  e->rows.more_bytes = 0;
  double cost = given ? 0 : HLO_TUNING_ROW_CACHE_MIN_COST;
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE) continue;
    find_cached_value(e, tiled, kernel->loops[kernel->loop_count - 1], &cost);
  }
  if (!given || e->cached.first) return hlo_ok();
  return hlo_invalid_argument("configuration row_cache=yes: no row can be kept");
}

// Returns the address of the current element in the cached row.
static hlo_element_address_t cached_address(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  const hlo_cached_row_t* cached = &e->cached;
  const hlo_tiled_space_t* space = &e->tiling->spaces[cached->reduction->reduction];
  size_t bytes = hlo_dtype_size_bytes(tiled->value->type->dtype);
  uint32_t lane = e->kernel->loops[e->kernel->loop_count - 1];
  uint32_t loop = tiled == cached->first ? space->first_loop : lane;
  int64_t row_bytes = space->element_count * (int64_t)bytes;
  hlo_vir_value_t* row = has_row_blocks(e)
                             ? hlo_emit_rows_stack(e, -1)
                             : hlo_vir_emit(e->b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0,
                                            row_bytes, 0, NULL);
  if (e->rows.row) {
    hlo_vir_value_t* at =
        hlo_vir_index(e->b, HLO_VIR_imul, e->rows.row, hlo_vir_iconst(e->b, row_bytes));
    row = hlo_vir_index(e->b, HLO_VIR_iadd, row, at);
  }
  return (hlo_element_address_t){
      .base = row,
      .index = e->loops[loop],
      .mask = hlo_emitter_has_lanes(e, tiled->loops) ? e->mask : NULL,
  };
}

hlo_vir_value_t* hlo_emit_cached_row(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  const hlo_cached_row_t* cached = &e->cached;
  if ((tiled != cached->first && tiled != cached->recomputed) ||
      !e->done[cached->reduction->number]) {
    return NULL;
  }
  hlo_element_address_t address = cached_address(e, tiled);
  uint32_t lanes = hlo_emitter_has_lanes(e, tiled->loops) ? e->lanes : 1;
  return hlo_elementwise_load(e->b, hlo_emitter_dtype(e, tiled->value), lanes, &address);
}

void hlo_emit_fill_row_cache(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_vir_value_t* value) {
  if (tiled != e->cached.first) return;
  hlo_element_address_t address = cached_address(e, tiled);
  hlo_elementwise_store(e->b, hlo_emitter_dtype(e, tiled->value), value, &address);
}
