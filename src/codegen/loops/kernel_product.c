// SPDX-License-Identifier: Apache-2.0
// Kernels of matrix products: the loops are the product's, and what follows it is computed with
// them.
#include "codegen/dot/matmul.h"
#include "codegen/loops/kernel_choose.h"
#include "codegen/math/elementwise.h"

// Cost of what follows, for each element: it is emitted for every vector of a tile, and a pass over
// memory is little beside it.
static const double MOST_AFTER_PRODUCT = 120;

// What may follow a product: computations of the same elements, from others read in vectors or one
// for all lanes.
static hlo_verdict_t check_epilogue(const hlo_tiling_t* tiling, const hlo_matmul_t* matmul) {
  uint32_t lane_digit =
      matmul->is_by_depth ? HLO_TILED_MAX_DIGITS : (uint32_t)matmul->columns.digit;
  uint32_t products = 0;
  double cost = 0;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE || tiled->kind == HLO_TILED_GUARD)
      return hlo_verdict_no(HLO_REASON_PRODUCT_REDUCTION, tiled->value->def);
    if (tiled->kind == HLO_TILED_COMPUTE) cost += hlo_elementwise_cost(tiled->value->def);
    if (tiled->kind == HLO_TILED_DOT) {
      ++products;
      if (tiled->offset != tiling->spaces[0].linear) {
        return hlo_verdict_no(HLO_REASON_PRODUCT_MOVED, NULL);
      }
    } else if (tiled->kind == HLO_TILED_LOAD) {
      if (hlo_expr_unresolved(tiled->offset)) {
        return hlo_verdict_no(HLO_REASON_PRODUCT_INDEX, NULL);
      }
      if (lane_digit == HLO_TILED_MAX_DIGITS) continue;  // one by one
      hlo_lane_access_t access = hlo_tiled_lane_access(tiled->offset, lane_digit);
      if (access != HLO_LANE_SAME && access != HLO_LANE_PLAIN) {
        return hlo_verdict_no(HLO_REASON_PRODUCT_STRIDE, NULL);
      }
    }
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_value_t* output = tiling->fusion->outputs[i];
    const hlo_expr_t* offset = tiling->output_offsets[i];
    const bool is_slice = hlo_tiled_written(output) != output;
    if (is_slice) return hlo_verdict_no(HLO_REASON_PRODUCT_SLICE, output->def);
    if (hlo_expr_unresolved(offset)) return hlo_verdict_no(HLO_REASON_PRODUCT_STORE, output->def);
    if (lane_digit == HLO_TILED_MAX_DIGITS) continue;
    if (hlo_tiled_lane_access(offset, lane_digit) != HLO_LANE_PLAIN) {
      return hlo_verdict_no(HLO_REASON_PRODUCT_TRANSPOSED, output->def);
    }
  }
  if (cost > MOST_AFTER_PRODUCT) {
    return hlo_verdict_beyond(HLO_REASON_PRODUCT_EPILOGUE, NULL, cost, MOST_AFTER_PRODUCT);
  }
  return products == 1 ? hlo_verdict_yes() : hlo_verdict_no(HLO_REASON_PRODUCT_USES, NULL);
}

// Whether neighbours in all that the loops write are rows, not columns.
static bool is_across(const hlo_tiling_t* tiling, const hlo_matmul_t* m) {
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_expr_t* offset = tiling->output_offsets[i];
    if (m->rows.digit < 0 || hlo_expr_coefficient(offset, (uint32_t)m->rows.digit) != 1)
      return false;
  }
  return true;
}

// The product's loops, such that what follows it is stored where it lies.
static hlo_status_t form_product(hlo_kernel_t* kernel, const hlo_node_t* node, hlo_tiling_t* tiling,
                                 hlo_matmul_t** out_matmul) {
  hlo_matmul_form_t form = {0};
  const hlo_value_t* output = hlo_tiled_written(kernel->fusion->outputs[0]);
  for (;;) {
    hlo_matmul_t* m;
    HLO_TRY(hlo_matmul_create(kernel, node, &form, kernel->arena, &tiling->spaces[0], &m));
    kernel->verdict = m->verdict;
    if (!hlo_verdict_is_no(&kernel->verdict) &&
        hlo_type_element_count(output->type) != tiling->spaces[0].element_count) {
      kernel->verdict = hlo_verdict_no(HLO_REASON_PRODUCT_SHAPE, output->def);
    }
    if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
    HLO_TRY(hlo_tiling_walk(tiling, NULL, false));
    *out_matmul = m;
    kernel->verdict = tiling->verdict;
    if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
    if (tiling->wish == HLO_TILED_NOTHING) {
      if (is_across(tiling, m) && hlo_matmul_turn(m, &form)) continue;
      return hlo_ok();
    }
    const hlo_matmul_cut_t cut = {tiling->wish_digit, tiling->wish_at};
    bool is_split = tiling->wish == HLO_TILED_SPLIT && tiling->wish_space == 0;
    if (!is_split || !hlo_matmul_cut(m, kernel->target, cut, &form)) {
      kernel->verdict = hlo_verdict_no(HLO_REASON_PRODUCT_LOOPS, NULL);
      return hlo_ok();
    }
  }
}

hlo_status_t hlo_kernel_create_product(hlo_kernel_t* kernel, const hlo_node_t* node,
                                       hlo_tile_memo_t* memo, hlo_arena_t* scratch) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &tiling));
  tiling->dot = node;
  tiling->space_count = 1;
  hlo_matmul_t* matmul = NULL;
  HLO_TRY(form_product(kernel, node, tiling, &matmul));
  if (!hlo_verdict_is_no(&kernel->verdict)) kernel->verdict = check_epilogue(tiling, matmul);
  if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
  hlo_kernel_find_shareable(kernel, tiling);
  kernel->spaces = hlo_arena_alloc(kernel->arena, sizeof *kernel->spaces);
  kernel->segments = hlo_arena_array(kernel->arena, 1, sizeof *kernel->segments);
  HLO_TRY(hlo_arena_status(kernel->arena));
  kernel->spaces[0] = tiling->spaces[0];
  kernel->space_count = kernel->segment_count = 1;
  hlo_kernel_whole_segment(&tiling->spaces[0], &kernel->segments[0]);
  uint32_t widest = hlo_kernel_widest_bytes(tiling);
  if (widest < matmul->element_bytes) widest = matmul->element_bytes;
  for (uint32_t side = 0; side < 2; ++side) {
    uint32_t bytes = matmul->operands[side].producer.widest_bytes;
    if (widest < bytes) widest = bytes;
  }
  kernel->lanes = kernel->target->vector_bytes / widest;
  HLO_TRY(hlo_matmul_finish(matmul, kernel->target, memo, kernel->lanes));
  kernel->verdict = matmul->verdict;
  kernel->chunk_count = matmul->chunk_count;
  kernel->matmul = matmul;
  return hlo_ok();
}
