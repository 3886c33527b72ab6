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
    [HLO_MATMUL_BY_CODES] = {MATRICES, 2, IN_PLACE | LINES, WHOLE, NULL, "contraction",
                             hlo_product_emit_phase, hlo_product_emit_vectors,
                             hlo_product_add_codes},
    [HLO_MATMUL_BY_QUADS] = {MATRICES, 4, IN_PLACE | LINES, WHOLE, NULL, "contraction",
                             hlo_product_emit_phase, hlo_product_emit_vectors,
                             hlo_product_add_quads},
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
  if (hlo_matmul_has_integers(m)) hlo_strbuf_puts(out, ", integers of codes");
}

// ---- legal combinations

hlo_status_t hlo_matmul_verify(const hlo_matmul_t* m) {
  const hlo_matmul_row_t* strategy = &hlo_matmul_strategies[m->strategy];
  const hlo_matmul_operand_t *a = &m->operands[HLO_MATMUL_A], *b = &m->operands[HLO_MATMUL_B];
  const hlo_matmul_dim_t* depth = &m->depth[0];
  const bool is_narrow = m->strategy == HLO_MATMUL_NARROW, is_whole = m->split == HLO_MATMUL_WHOLE;
  const struct {
    bool holds;
    const char* rule;
  } rules[] = {
      {m->lanes > 0 && m->element_bytes > 0 && m->chunk_count > 0,
       "a product has lanes, elements and chunks"},
      {m->outer_count <= HLO_MATMUL_MAX_LOOPS && m->depth_count > 0 &&
           m->depth_count <= HLO_MATMUL_MAX_LOOPS,
       "a product has a contracting loop, and a bounded number of loops"},
      {hlo_matmul_extent(m->outer, m->outer_count) == m->outer_extent,
       "the outer loops have the outer extent"},
      {hlo_matmul_extent(m->depth, m->depth_count) == m->depth_extent,
       "the contracting loops are the whole depth"},
      {strategy->nodes & (m->is_convolution ? CONVOLUTIONS : MATRICES),
       "a strategy is of matrix products, of convolutions, or of both"},
      {strategy->groups & m->group, "a strategy multiplies groups of its sizes"},
      {strategy->packings >> a->packing & strategy->packings >> b->packing & 1,
       "a strategy reads operands in its ways"},
      {strategy->splits >> m->split & 1, "a strategy cuts contractions in its ways"},
      {!m->tile == (m->strategy != HLO_MATMUL_IN_TILES),
       "tile registers have an instruction, and no other strategy has"},
      {!is_narrow || (!depth->limit.is_used && !depth->wrap_at && !m->rows.wrap_at),
       "a narrow product has no steps outside its operands"},
      {!is_narrow || (m->outer_count == 0 && m->depth_count == 1 && m->rows_together > 0 &&
                      m->depth_extent <= HLO_MATMUL_MAX_NARROW),
       "a vector has rows of a narrow product, which has one contracting loop"},
      {(a->packing == HLO_MATMUL_IN_PLACE || a->packing > HLO_MATMUL_PANELS) &&
           b->packing <= HLO_MATMUL_PANELS,
       "A is packed in lines, B in panels or blocks"},
      {hlo_matmul_is_packed(a) == (m->copies[HLO_MATMUL_PACK][HLO_MATMUL_A].count > 0) &&
           hlo_matmul_is_packed(b) == (m->copies[HLO_MATMUL_PACK][HLO_MATMUL_B].count > 0),
       "a packed operand has a copy"},
      {!hlo_matmul_has_slices(m) ||
           (!m->is_convolution && m->depth_count == 1 && m->slice_bytes > 0),
       "slices are of products with one contracting loop"},
      {m->strategy != HLO_MATMUL_BY_CODES ||
           (m->depth_count == 1 && depth->extent % (HLO_MATMUL_CODES_CHUNK / 2) == 0 &&
            a->packing == HLO_MATMUL_LINES_OF_ROWS && b->packing == HLO_MATMUL_IN_PLACE),
       "codes are read in place, chunk by chunk, times packed lines"},
      {b->packing != HLO_MATMUL_ON_STACK || m->group > 1, "blocks on the stack are of groups"},
      {m->panel_count == m->full_panels || m->panel_count == m->full_panels + 1,
       "panels are full but for the last one"},
      {m->full.piece_count <= HLO_MATMUL_MAX_PIECES && m->edge.piece_count <= HLO_MATMUL_MAX_PIECES,
       "a panel has a bounded number of vectors"},
      {m->part_count * m->part_blocks >= m->block_count &&
           (is_whole || m->block_steps * m->block_count >= depth->extent),
       "blocks and parts are all of the contraction"},
      {m->split < HLO_MATMUL_BLOCKS_IN_SCRATCH || m->accumulators_bytes > 0,
       "accumulators of blocks have memory"},
      {m->split != HLO_MATMUL_BLOCKS_IN_OUTPUT || m->accumulators_output >= 0,
       "accumulators lie in an output that may hold them"},
  };
  for (uint32_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    if (rules[i].holds) continue;
    return hlo_internal_error("product of node %u: broken rule: %s", m->contraction.node->index,
                              rules[i].rule);
  }
  return hlo_ok();
}
