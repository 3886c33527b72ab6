// SPDX-License-Identifier: Apache-2.0
// The legal combinations of a product's decisions (see matmul.h). One of these strategies computes
// it:
//
//   strategy        marked by      excludes
//   narrow          is_narrow      every other strategy, groups, outer loops
//   tile registers  tile           by depth, by channel, windows in lanes
//   by depth        is_by_depth    by channel, transposed rows, split contractions
//   by channel      is_by_channel  (depthwise convolutions only) groups
//   blocked         none of these  -
#include "codegen/dot/matmul_impl.h"

static hlo_status_t require(const hlo_matmul_t* m, bool holds, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_status_create(HLO_STATUS_INTERNAL, "product of node %u: broken rule: %s",
                           m->contraction.node->index, rule);
}

static hlo_status_t verify_narrow(const hlo_matmul_t* m) {
  HLO_TRY(require(m, !m->tile && !m->is_by_depth && !m->is_by_channel,
                  "a narrow product has another strategy, too"));
  HLO_TRY(require(m, !m->depth[0].limit.is_used && !m->depth[0].wrap_at && !m->rows.wrap_at,
                  "a narrow product has steps outside its operands"));
  HLO_TRY(require(m, m->outer_count == 0 && m->depth_count == 1 && m->group <= 1,
                  "a narrow product has outer loops, groups, or several contracting loops"));
  return require(m, m->depth_extent <= HLO_MATMUL_MAX_NARROW && m->rows_together > 0,
                 "a vector has rows of a narrow product");
}

static hlo_status_t verify_strategy(const hlo_matmul_t* m) {
  if (m->tile) {
    HLO_TRY(require(m, !m->is_by_depth && !m->is_by_channel && !m->is_window_in_lanes,
                    "tile registers exclude lanes along depth, channels and windows"));
    HLO_TRY(require(m, m->group > 1, "tile registers multiply groups"));
  }
  if (m->is_by_depth) {
    HLO_TRY(require(m, !m->is_by_channel && !m->transposes_rows && m->split_count == 0,
                    "lanes along depth exclude channels, transposed rows and split contractions"));
  }
  HLO_TRY(require(m, m->is_convolution || !(m->is_by_channel || m->is_window_in_lanes),
                  "channels and windows in lanes are those of convolutions"));
  return require(m, !m->is_by_channel || m->group <= 1, "channels are not multiplied in groups");
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
  return require(m, m->is_narrow || depth * m->group >= m->depth_extent,
                 "the contracting loops reach the whole depth");
}

static hlo_status_t verify_packing(const hlo_matmul_t* m) {
  const hlo_matmul_operand_t* b = &m->operands[HLO_MATMUL_B];
  HLO_TRY(require(m, !m->packs_slices || (m->packs_blocks && !b->is_packed && m->slice_bytes > 0),
                  "slices are blocks of an operand that is not packed as a whole"));
  HLO_TRY(require(m, !m->packs_slices || (!m->is_convolution && m->depth_count == 1),
                  "slices are of products with one contracting loop"));
  HLO_TRY(require(m, !m->packs_blocks || m->packs_slices || m->group > 1,
                  "blocks on the stack are of groups"));
  for (uint32_t i = 0; i < 2; ++i) {
    HLO_TRY(require(m, !m->operands[i].is_packed || m->operands[i].offset_bytes < m->scratch_bytes,
                    "a packed operand lies in scratch memory"));
    HLO_TRY(require(m,
                    !m->padding[i].is_used || m->is_convolution ||
                        m->contraction.node->op == HLO_OP_convolution,
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
  if (m->is_narrow) return verify_narrow(m);
  HLO_TRY(verify_strategy(m));
  HLO_TRY(verify_packing(m));
  return verify_blocks(m);
}
