// SPDX-License-Identifier: Apache-2.0
// Products as a form of kernels (kernel_form.h). This file selects the nodes that products compute,
// rather than loops over elements. The loops are the product's; its epilogue is computed with them.
#include <assert.h>
#include <inttypes.h>

#include "base/tuning.h"
#include "codegen/dot/matmul.h"
#include "codegen/math/elementwise.h"

// ---- selection of nodes

// Returns true for a matrix times a vector whose matrix is contiguous along the contraction.
static bool is_row_sum(const hlo_contraction_t* c, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(c->node, side);
  return type->rank && hlo_contraction_has(&c->depth[side], type->rank - 1);
}

// Returns true if a value is in memory anyway, rather than computed by the loops that use it.
static bool is_in_memory(const hlo_value_t* value) {
  if (!value->def) return true;
  switch (value->def->op) {
    case HLO_OP_constant:
    case HLO_OP_convolution:
    case HLO_OP_custom_call:
    case HLO_OP_dot:
    case HLO_OP_dot_general:
    case HLO_OP_while: return true;
    default: return false;
  }
}

// Returns true for many rows times a matrix smaller than a vector, if the rows of both are
// contiguous.
static bool is_narrow(const hlo_contraction_t* c, int64_t rows, int64_t columns, int64_t depth) {
  const hlo_type_t* type = hlo_node_operand_type(c->node, 0);
  return c->batch[0].count == 0 && c->depth[0].count == 1 &&
         c->depth[0].dims[0] == type->rank - 1 && type->dtype == c->dtype &&
         (c->dtype == HLO_DTYPE_F32 || c->dtype == HLO_DTYPE_F64) && depth > 1 &&
         depth <= HLO_TUNING_SHALLOW_DEPTH && columns > 1 &&
         columns <= HLO_TUNING_NARROW_MAX_COLUMNS && rows >= HLO_TUNING_NARROW_MIN_ROWS &&
         is_in_memory(hlo_node_operand(c->node, 0)) && is_in_memory(hlo_node_operand(c->node, 1));
}

// Returns true if the result is only transposed, so that its rows become the last dimension.
static bool is_transposed(const hlo_contraction_t* c) {
  const hlo_use_t* use = c->node->results[0].uses;
  if (!use || use->next || use->user->op != HLO_OP_transpose) return false;
  uint32_t count;
  const int64_t* order = hlo_node_attr_ints(use->user, HLO_ATTR_permutation, &count);
  const int64_t first = c->batch[0].count, end = first + c->free[0].count;
  return count && order[count - 1] >= first && order[count - 1] < end;
}

// Returns true if lanes along the columns, or the rows of a transposed result, would gather the
// elements of their operand, which ends in another dimension, while a product packs it once.
static bool packs_columns(const hlo_contraction_t* c, int64_t rows, int64_t columns) {
  if (rows < HLO_TUNING_SHALLOW_MIN_EDGE || columns < HLO_TUNING_SHALLOW_MIN_EDGE) return false;
  const uint32_t side = is_transposed(c) ? 0 : 1;
  const hlo_type_t* type = hlo_node_operand_type(c->node, side);
  return type->rank && !hlo_contraction_has(&c->free[side], type->rank - 1);
}

// Returns true if a product reads the narrow elements of the operand faster than loops do.
static bool is_of_narrow(const hlo_node_t* node, uint32_t side) {
  return hlo_matmul_is_of_codes(node, side) || hlo_matmul_is_of_quads(node, side);
}

// Returns true if loops over the result's elements are fast enough because little data is reused.
static bool is_loop(const hlo_contraction_t* c) {
  int64_t depth = hlo_contraction_extent(c, &c->depth[0], 0);
  int64_t rows = hlo_contraction_extent(c, &c->free[0], 0);
  int64_t columns = hlo_contraction_extent(c, &c->free[1], 1);
  if (is_narrow(c, rows, columns, depth)) return false;
  if (rows == 1 && columns == 1) return true;
  if (depth <= HLO_TUNING_SHALLOW_DEPTH) return !packs_columns(c, rows, columns);
  if (rows == 1 && is_row_sum(c, 1)) return !is_of_narrow(c->node, 1);
  if (columns == 1 && is_row_sum(c, 0)) return !is_of_narrow(c->node, 0);
  return (double)rows * (double)columns * (double)depth <= HLO_TUNING_PRODUCT_FEW_MULTIPLIES;
}

static bool is_matrix(const hlo_node_t* node) {
  if (node->op != HLO_OP_dot && node->op != HLO_OP_dot_general) return false;
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c) && !is_loop(&c);
}

bool hlo_matmul_supports(const hlo_node_t* node) {
  return is_matrix(node) || hlo_convolution_supports(node);
}

// ---- epilogues

// Checks an epilogue: its ops compute the same elements as the product, from others that are read
// as vectors or as one element for all lanes.
static hlo_verdict_t check_epilogue(const hlo_tiling_t* tiling, const hlo_matmul_t* matmul) {
  bool is_by_depth = hlo_matmul_is_along(matmul);  // elements are stored one by one
  uint32_t lane_loop = is_by_depth ? HLO_TILED_MAX_LOOPS : (uint32_t)matmul->columns.loop;
  uint32_t products = 0;
  double cost = 0;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE || tiled->kind == HLO_TILED_MASK)
      return hlo_verdict_no(HLO_REASON_PRODUCT_REDUCTION, NULL);
    if (tiled->kind == HLO_TILED_COMPUTE) cost += hlo_elementwise_cost(tiled->value->def);
    if (tiled->kind == HLO_TILED_DOT) {
      ++products;
      if (tiled->offset == tiling->spaces[0].linear) continue;
      // A reduction's loops move the epilogue's elements.
      return hlo_verdict_no(hlo_tiling_has_reduction(tiling) ? HLO_REASON_PRODUCT_REDUCTION
                                                             : HLO_REASON_PRODUCT_MOVED,
                            NULL);
    } else if (tiled->kind == HLO_TILED_LOAD) {
      if (hlo_expr_unresolved(tiled->offset)) {
        return hlo_verdict_no(HLO_REASON_PRODUCT_INDEX, NULL);
      }
      if (is_by_depth) continue;
      hlo_lane_access_t access = hlo_tiled_lane_access(tiled->offset, lane_loop);
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
    if (is_by_depth) continue;
    if (hlo_tiled_lane_access(offset, lane_loop) != HLO_LANE_PLAIN) {
      return hlo_verdict_no(HLO_REASON_PRODUCT_TRANSPOSED, output->def);
    }
  }
  if (cost > HLO_TUNING_EPILOGUE_MAX_COST) {
    return hlo_verdict_beyond(HLO_REASON_PRODUCT_EPILOGUE, NULL, cost,
                              HLO_TUNING_EPILOGUE_MAX_COST);
  }
  return products == 1 ? hlo_verdict_yes() : hlo_verdict_no(HLO_REASON_PRODUCT_USES, NULL);
}

// Returns true if neighbours in all outputs of the loops are rows, not columns.
static bool is_across(const hlo_tiling_t* tiling, const hlo_matmul_t* m) {
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_expr_t* offset = tiling->output_offsets[i];
    if (m->rows.loop < 0 || hlo_expr_coefficient(offset, (uint32_t)m->rows.loop) != 1) return false;
  }
  return true;
}

// Forms the product's loops so that the epilogue is stored in the order of its own output.
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
    if (tiling->request == HLO_TILED_NOTHING) {
      if (is_across(tiling, m) && hlo_matmul_transpose_form(m, &form)) continue;
      return hlo_ok();
    }
    const hlo_matmul_cut_t cut = {tiling->request_loop, tiling->request_at};
    bool is_split = tiling->request == HLO_TILED_SPLIT && tiling->request_space == 0;
    if (!is_split || !hlo_matmul_cut(m, cut, &form)) {
      kernel->verdict = hlo_verdict_no(HLO_REASON_PRODUCT_LOOPS, NULL);
      return hlo_ok();
    }
  }
}

// Forbids inputs to share memory with an output if the product reads them, or if they are read
// while the accumulators are stored.
static void limit_sharing(hlo_kernel_t* kernel, const hlo_matmul_t* m) {
  uint64_t read = 0;
  for (uint32_t i = 0; i < kernel->fusion->input_count && i < HLO_KERNEL_SHARED_INPUTS; ++i) {
    for (uint32_t side = 0; side < 2; ++side) {
      if (hlo_matmul_reads(&m->operands[side], i)) read |= (uint64_t)1 << i;
    }
  }
  for (uint32_t o = 0; o < kernel->fusion->output_count; ++o) {
    bool holds_accumulators =
        m->split == HLO_MATMUL_BLOCKS_IN_OUTPUT && m->accumulators_output == (int32_t)o;
    // A narrow product stores past its rows.
    bool shares_none = m->strategy == HLO_MATMUL_NARROW || holds_accumulators;
    kernel->shareable[o] = shares_none ? 0 : kernel->shareable[o] & ~read;
  }
}

static hlo_status_t choose_product(hlo_kernel_t* kernel, const hlo_node_t* node,
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
  uint32_t widest = hlo_kernel_widest_bytes(kernel, tiling);
  if (widest < matmul->element_bytes) widest = matmul->element_bytes;
  for (uint32_t side = 0; side < 2; ++side) {
    uint32_t bytes = matmul->operands[side].prologue.widest_bytes;
    if (widest < bytes) widest = bytes;
  }
  kernel->lanes = kernel->target->vector_bytes / widest;
  HLO_TRY(hlo_matmul_finish(matmul, kernel, memo));
  kernel->verdict = matmul->verdict;
  kernel->chunk_count = matmul->chunk_count;
  kernel->form.plan = matmul;
  limit_sharing(kernel, matmul);
  return hlo_ok();
}

static void plan(const hlo_kernel_t* kernel, hlo_kernel_summary_t* out_summary) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  out_summary->phase_count = hlo_matmul_phase_count(m);
  for (uint32_t i = 0; i < out_summary->phase_count; ++i) {
    out_summary->chunk_counts[i] = hlo_matmul_chunk_count(m, i);
  }
  out_summary->scratch_bytes = m->scratch_bytes;
  out_summary->cost_ns = m->cost_ns;
  out_summary->code_size = HLO_TUNING_PRODUCT_CODE_SIZE;
  for (uint32_t i = 0; i < kernel->fusion->input_count && i < 64; ++i) {
    if (hlo_matmul_prepares(m, i)) out_summary->prepared_inputs |= (uint64_t)1 << i;
  }
}

static hlo_status_t verify(const hlo_kernel_t* kernel) {
  return hlo_matmul_verify(hlo_matmul_of(kernel));
}

static hlo_status_t walk_operand(const hlo_kernel_t* kernel, uint32_t side, hlo_arena_t* arena,
                                 hlo_tiling_t** out_tiling) {
  const hlo_matmul_prologue_t* prologue = &hlo_matmul_of(kernel)->operands[side].prologue;
  *out_tiling = NULL;
  if (prologue->origin == HLO_MATMUL_FROM_INPUT) return hlo_ok();
  return hlo_matmul_walk_prologue(kernel, prologue, arena, out_tiling);
}

static_assert((int)HLO_MATMUL_MAX_LOOPS <= (int)HLO_KERNEL_MAX_DEPTHS, "");

static void describe(const hlo_kernel_t* kernel, hlo_kernel_shape_t* out_shape) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  out_shape->depth_count = m->depth_count;
  for (uint32_t i = 0; i < m->depth_count; ++i) out_shape->depths[i] = m->depth[i].extent;
  out_shape->tile_loops[0] = m->rows.loop;
  out_shape->tile_steps[0] = hlo_matmul_max(hlo_matmul_main_panel(m)->height, 1);
  out_shape->tile_loops[1] = m->columns.loop;
  out_shape->tile_steps[1] = hlo_matmul_max(m->panel_width, 1);
}

static void print(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  hlo_strbuf_puts(out, m->is_convolution ? "convolution" : "product");
  hlo_matmul_print_strategy(m, out);
  static const char* const names[] = {"left", "right"};
  for (int side = 0; side < 2; ++side) {
    if (hlo_matmul_is_packed(&m->operands[side]))
      hlo_strbuf_printf(out, ", %s operand packed", names[side]);
  }
  if (m->split == HLO_MATMUL_PARTS) {
    hlo_strbuf_printf(out, ", contraction in %" PRId64 " parts", m->part_count);
  }
}

static hlo_status_t explain(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  return hlo_matmul_explain_accumulators(hlo_matmul_of(kernel), out);
}

static hlo_status_t print_tiles(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  return hlo_matmul_print_tiles(hlo_matmul_of(kernel), out);
}

static uint64_t sum_order(const hlo_kernel_t* kernel) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  const bool is_cut = m->split != HLO_MATMUL_WHOLE, is_by_depth = hlo_matmul_is_along(m);
  const int64_t words[] = {m->strategy,
                           m->group,
                           is_cut ? m->block_steps : 0,
                           is_cut ? m->part_blocks : 0,
                           is_by_depth ? m->panel_width : 0,  // with accumulators of their own
                           is_by_depth ? m->full.height : 0,
                           is_by_depth ? m->edge.height : 0};
  return hlo_hash_bytes(words, sizeof words, 0);
}

static hlo_status_t list_configs(const hlo_kernel_t* kernel, bool is_exhaustive,
                                 hlo_kernel_configs_t* list) {
  return hlo_matmul_list_configs(hlo_matmul_of(kernel), is_exhaustive, list);
}

const hlo_kernel_form_t hlo_product_form = {.computes = hlo_matmul_supports,
                                            .choose = choose_product,
                                            .plan = plan,
                                            .verify = verify,
                                            .walk_operand = walk_operand,
                                            .emit = hlo_matmul_emit,
                                            .describe = describe,
                                            .print = print,
                                            .explain = explain,
                                            .print_tiles = print_tiles,
                                            .sum_order = sum_order,
                                            .list_configs = list_configs};
