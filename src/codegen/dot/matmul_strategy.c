// SPDX-License-Identifier: Apache-2.0
// The strategies of products, one row each: their functions, and what each can be combined with.
#include <inttypes.h>

#include "codegen/dot/matmul_impl.h"

enum {
  MATRICES = 1,  // of which nodes
  CONVOLUTIONS = 2,
  IN_PLACE = 1 << HLO_MATMUL_IN_PLACE,
  PANELS = 1 << HLO_MATMUL_PANELS,
  LINES = 1 << HLO_MATMUL_LINES_OF_ROWS,
  TRANSPOSED = 1 << HLO_MATMUL_TRANSPOSED_LINES,
  WHOLE = 1 << HLO_MATMUL_WHOLE,
  PARTS = 1 << HLO_MATMUL_PARTS,
  ANY = -1,
};

const hlo_matmul_row_t hlo_matmul_strategies[HLO_MATMUL_STRATEGIES] = {
    // nodes, groups, packings, splits; in words: the form, the loop of lanes; functions
    [HLO_MATMUL_BY_COLUMN] = {MATRICES | CONVOLUTIONS, 1 | 2 | 4, ANY, ANY, NULL, "columns",
                              hlo_product_emit_phase, hlo_product_emit_vectors,
                              hlo_product_add_columns},
    [HLO_MATMUL_BY_POSITION] = {CONVOLUTIONS, 1, IN_PLACE | PANELS, ANY, NULL, "columns",
                                hlo_product_emit_phase, hlo_product_emit_vectors,
                                hlo_product_add_columns},
    [HLO_MATMUL_BY_CHANNEL] = {CONVOLUTIONS, 1, IN_PLACE | PANELS, ANY, NULL, "columns",
                               hlo_product_emit_phase, hlo_product_emit_vectors,
                               hlo_product_add_columns},
    [HLO_MATMUL_BY_DEPTH] = {MATRICES, 1, IN_PLACE | LINES, WHOLE, NULL, "contraction",
                             hlo_product_emit_phase, hlo_product_emit_vectors,
                             hlo_product_add_along},
    [HLO_MATMUL_IN_TILES] = {MATRICES | CONVOLUTIONS, 2 | 4, IN_PLACE | PANELS | LINES | TRANSPOSED,
                             WHOLE | PARTS, " in tile registers", "columns", hlo_product_emit_phase,
                             hlo_product_emit_tiles, NULL},
    [HLO_MATMUL_NARROW] = {MATRICES | CONVOLUTIONS, 1, IN_PLACE, WHOLE, " of a short contraction",
                           "columns", hlo_product_emit_narrow, NULL, NULL},
};

void hlo_matmul_emit(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
                     hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                     hlo_vir_value_t* chunk) {
  hlo_matmul_strategies[hlo_matmul_of(kernel)->strategy].emit(kernel, phase, points, b, addresses,
                                                              chunk);
}

void hlo_matmul_print_strategy(const hlo_matmul_t* m, hlo_strbuf_t* out) {
  const hlo_matmul_row_t* strategy = &hlo_matmul_strategies[m->strategy];
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
  const hlo_matmul_row_t* strategy = &hlo_matmul_strategies[m->strategy];
  HLO_TRY(require(m, strategy->nodes & (m->is_convolution ? CONVOLUTIONS : MATRICES),
                  "a strategy is of matrix products, of convolutions, or of both"));
  HLO_TRY(require(m, strategy->groups & m->group, "a strategy multiplies groups of its sizes"));
  HLO_TRY(require(m, !m->tile == (m->strategy != HLO_MATMUL_IN_TILES),
                  "tile registers have an instruction, and no other strategy has"));
  const uint32_t packings =
      1u << m->operands[HLO_MATMUL_A].packing | 1u << m->operands[HLO_MATMUL_B].packing;
  HLO_TRY(require(m, !(packings & ~strategy->packings), "a strategy reads operands in its ways"));
  HLO_TRY(require(m, strategy->splits >> m->split & 1, "a strategy cuts contractions in its ways"));
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
  HLO_TRY(require(
      m,
      m->part_blocks > 0 && m->part_count * m->part_blocks >= m->block_count &&
          (m->split == HLO_MATMUL_WHOLE ? m->block_count == 1
                                        : m->block_steps * m->block_count >= m->depth[0].extent),
      "blocks and parts are all of the contraction"));
  HLO_TRY(require(m, m->split < HLO_MATMUL_BLOCKS_IN_SCRATCH || m->accumulators_bytes > 0,
                  "accumulators of blocks have memory"));
  return require(m, m->split != HLO_MATMUL_BLOCKS_IN_OUTPUT || m->accumulators_output >= 0,
                 "accumulators lie in an output that may hold them");
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
