// SPDX-License-Identifier: Apache-2.0
// The strategies of products, one row each: their functions, and what each can be combined with.
#include <inttypes.h>

#include "codegen/dot/matmul_impl.h"

enum {
  IN_PLACE = 1 << HLO_MATMUL_IN_PLACE,
  PANELS = 1 << HLO_MATMUL_PANELS,
  LINES = 1 << HLO_MATMUL_LINES_OF_ROWS,
  ANY = (1 << (HLO_MATMUL_TRANSPOSED_LINES + 1)) - 1,
  TRANSPOSED = 1 << HLO_MATMUL_TRANSPOSED_LINES,
};

const hlo_product_strategy_t hlo_matmul_strategies[HLO_MATMUL_STRATEGIES] = {
    [HLO_MATMUL_BY_COLUMN] = {.lanes = "columns",
                              .emit = hlo_product_emit_phase,
                              .emit_tile = hlo_product_emit_vectors,
                              .add_products = hlo_product_add_columns,
                              .is_of_products = true,
                              .is_of_convolutions = true,
                              .min_group = 1,
                              .packings = ANY,
                              .max_group = 4},
    [HLO_MATMUL_BY_POSITION] = {.lanes = "columns",
                                .emit = hlo_product_emit_phase,
                                .emit_tile = hlo_product_emit_vectors,
                                .add_products = hlo_product_add_columns,
                                .is_of_convolutions = true,
                                .min_group = 1,
                                .packings = IN_PLACE | PANELS,
                                .max_group = 1},
    [HLO_MATMUL_BY_CHANNEL] = {.lanes = "columns",
                               .emit = hlo_product_emit_phase,
                               .emit_tile = hlo_product_emit_vectors,
                               .add_products = hlo_product_add_columns,
                               .is_of_convolutions = true,
                               .min_group = 1,
                               .packings = IN_PLACE | PANELS,
                               .max_group = 1},
    [HLO_MATMUL_BY_DEPTH] = {.lanes = "contraction",
                             .emit = hlo_product_emit_phase,
                             .emit_tile = hlo_product_emit_vectors,
                             .add_products = hlo_product_add_along,
                             .is_of_products = true,
                             .min_group = 1,
                             .packings = IN_PLACE | LINES,
                             .max_group = 1},
    [HLO_MATMUL_IN_TILES] = {.text = " in tile registers",
                             .lanes = "columns",
                             .emit = hlo_product_emit_phase,
                             .emit_tile = hlo_product_emit_tiles,
                             .is_of_products = true,
                             .is_of_convolutions = true,
                             .min_group = 2,
                             .packings = IN_PLACE | PANELS | LINES | TRANSPOSED,
                             .max_group = 4},
    [HLO_MATMUL_NARROW] = {.text = " of a short contraction",
                           .lanes = "columns",
                           .emit = hlo_product_emit_narrow,
                           .is_of_products = true,
                           .is_of_convolutions = true,
                           .min_group = 1,
                           .packings = IN_PLACE,
                           .max_group = 1},
};

void hlo_matmul_emit(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
                     hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                     hlo_vir_value_t* chunk) {
  hlo_matmul_strategies[hlo_matmul_of(kernel)->strategy].emit(kernel, phase, points, b, addresses,
                                                              chunk);
}

void hlo_matmul_print_strategy(const hlo_matmul_t* m, hlo_strbuf_t* out) {
  const hlo_product_strategy_t* strategy = &hlo_matmul_strategies[m->strategy];
  if (strategy->text) {
    hlo_strbuf_puts(out, strategy->text);
  } else {
    hlo_strbuf_printf(out, " in tiles of %" PRId64 " rows and %" PRId64 " columns",
                      hlo_matmul_main_panel(m)->height, m->panel_width);
  }
  hlo_strbuf_printf(out, ", lanes of %u along the %s", m->lanes, strategy->lanes);
}

// ---- legal combinations

static hlo_status_t require(const hlo_matmul_t* m, bool holds, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_status_create(HLO_STATUS_INTERNAL, "product of node %u: broken rule: %s",
                           m->contraction.node->index, rule);
}

static hlo_status_t verify_strategy(const hlo_matmul_t* m) {
  const hlo_product_strategy_t* strategy = &hlo_matmul_strategies[m->strategy];
  HLO_TRY(require(m, m->is_convolution ? strategy->is_of_convolutions : strategy->is_of_products,
                  "a strategy is of matrix products, of convolutions, or of both"));
  HLO_TRY(require(m, m->group >= strategy->min_group && m->group <= strategy->max_group,
                  "a strategy multiplies groups of its sizes"));
  HLO_TRY(require(m, !m->tile == (m->strategy != HLO_MATMUL_IN_TILES),
                  "tile registers have an instruction, and no other strategy has"));
  const uint32_t packings =
      1u << m->operands[HLO_MATMUL_A].packing | 1u << m->operands[HLO_MATMUL_B].packing;
  HLO_TRY(require(m, !(packings & ~strategy->packings), "a strategy reads operands in its ways"));
  HLO_TRY(require(m, m->strategy != HLO_MATMUL_BY_DEPTH || !m->split_count,
                  "lanes along depth exclude split contractions"));
  if (m->strategy != HLO_MATMUL_NARROW) return hlo_ok();
  HLO_TRY(require(m, !m->depth[0].limit.is_used && !m->depth[0].wrap_at && !m->rows.wrap_at,
                  "a narrow product has steps outside its operands"));
  return require(m,
                 m->outer_count == 0 && m->depth_count == 1 &&
                     m->depth_extent <= HLO_MATMUL_MAX_NARROW && m->rows_together > 0,
                 "a vector has rows of a narrow product, which has one contracting loop");
}

static hlo_status_t verify_loops(const hlo_matmul_t* m) {
  int64_t outer = 1, depth = 1;
  HLO_TRY(require(m,
                  m->outer_count <= HLO_MATMUL_MAX_LOOPS && m->depth_count > 0 &&
                      m->depth_count <= HLO_MATMUL_MAX_LOOPS,
                  "a product has a contracting loop, and a bounded number of loops"));
  for (uint32_t i = 0; i < m->outer_count; ++i) outer *= m->outer[i].extent;
  for (uint32_t i = 0; i < m->depth_count; ++i) depth *= m->depth[i].extent;
  HLO_TRY(require(m, outer == m->outer_extent, "the outer loops have the outer extent"));
  return require(m, depth * m->group >= m->depth_extent,
                 "the contracting loops reach the whole depth");
}

static hlo_status_t verify_packing(const hlo_matmul_t* m) {
  const hlo_matmul_packing_t a = m->operands[HLO_MATMUL_A].packing,
                             b = m->operands[HLO_MATMUL_B].packing;
  HLO_TRY(require(m, (a == HLO_MATMUL_IN_PLACE || a > HLO_MATMUL_PANELS) && b <= HLO_MATMUL_PANELS,
                  "A is packed in lines, B in panels or blocks"));
  HLO_TRY(require(m,
                  !hlo_matmul_has_slices(m) ||
                      (!m->is_convolution && m->depth_count == 1 && m->slice_bytes > 0),
                  "slices are of products with one contracting loop"));
  HLO_TRY(
      require(m, b != HLO_MATMUL_ON_STACK || m->group > 1, "blocks on the stack are of groups"));
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_matmul_operand_t* operand = &m->operands[i];
    HLO_TRY(require(m, !hlo_matmul_is_packed(operand) || operand->offset_bytes < m->scratch_bytes,
                    "a packed operand lies in scratch memory"));
    HLO_TRY(require(m, !m->padding[i].is_used || m->contraction.node->op == HLO_OP_convolution,
                    "padding is of convolutions"));
  }
  return hlo_ok();
}

static hlo_status_t verify_blocks(const hlo_matmul_t* m) {
  HLO_TRY(require(m, m->panel_count == m->full_panels || m->panel_count == m->full_panels + 1,
                  "panels are full but for the last one"));
  HLO_TRY(require(
      m,
      m->full.piece_count <= HLO_MATMUL_MAX_PIECES && m->edge.piece_count <= HLO_MATMUL_MAX_PIECES,
      "a panel has a bounded number of vectors"));
  if (m->depth_blocks) {
    HLO_TRY(require(m, m->block_steps > 0 && m->block_steps * m->depth_blocks >= m->depth[0].extent,
                    "blocks are all of the contraction"));
  }
  if (m->split_count) {
    HLO_TRY(require(m,
                    m->split_blocks > 0 && m->accumulators_bytes > 0 &&
                        m->split_count * m->split_blocks >= m->depth_blocks,
                    "parts are all of the blocks, with memory for their sums"));
  }
  return require(m, !m->accumulators_in_output || m->accumulators_output >= 0,
                 "sums between blocks lie in an output that may hold them");
}

hlo_status_t hlo_matmul_verify(const hlo_matmul_t* m) {
  HLO_TRY(require(m, m->lanes > 0 && m->element_bytes > 0 && m->chunk_count > 0,
                  "a product has lanes, elements and chunks"));
  HLO_TRY(verify_loops(m));
  HLO_TRY(verify_strategy(m));
  if (m->strategy == HLO_MATMUL_NARROW) return hlo_ok();
  HLO_TRY(verify_packing(m));
  return verify_blocks(m);
}
