// SPDX-License-Identifier: Apache-2.0
// Products of a few rows of bytes with columns that are contiguous along the contraction. Memory
// limits such products, so B is read in place: an instruction adds four products to each lane. It
// multiplies unsigned by signed bytes. Where the signs of both operands are alike, B's sign bits
// are flipped, which moves its elements by 128, and 128 times the sum of A's row is taken back.
// Sums of 32 bits wrap around, so results are exact.
#include "codegen/dot/matmul_impl.h"

enum { GROUP = 4, SIGN_BITS = 0x80808080 };

// ---- selection

bool hlo_matmul_takes_quads(const hlo_matmul_t* m) {
  const hlo_target_t* target = m->target;
  const int64_t depth = m->depth[0].extent;
  return !m->is_convolution && m->depth_count == 1 && !m->depth[0].wrap_at &&
         !m->depth[0].limit.is_used &&
         hlo_matmul_group_of(target, m->contraction.node, m->dtype, (double)depth) == GROUP &&
         m->depth[0].from[HLO_MATMUL_B] == 1 && m->columns.loop >= 0 &&
         !hlo_matmul_is_produced(&m->operands[HLO_MATMUL_B]) &&
         (target->has_masks ? depth >= GROUP : depth % target->vector_bytes == 0);
}

hlo_matmul_accumulators_t hlo_matmul_quads_tile(const hlo_matmul_t* m) {
  // Each row has sums for two columns and its own sum in registers, beside the columns, a row and
  // the bits to flip.
  const int64_t most = (m->target->tile.vector_count - 4) / 3, rows = m->rows.extent;
  const int64_t height = hlo_divide_up(rows, hlo_divide_up(rows, most));
  const int64_t width = height <= 2 ? 4 : 2;  // streams that memory is read in
  return (hlo_matmul_accumulators_t){hlo_matmul_min(width, m->columns.extent), height};
}

// ---- vector IR

static bool has_flips(const hlo_matmul_t* m) {
  return m->operands[HLO_MATMUL_A].dtype == m->operands[HLO_MATMUL_B].dtype;
}

/// Groups that are multiplied together: whole vectors, or the last bytes of the contraction.
typedef struct quads {
  hlo_vir_value_t* at;    // bytes before them
  hlo_vir_value_t* mask;  // of bytes; NULL: all
} quads_t;

static hlo_vir_value_t* load_quads(const hlo_product_t* p, const quads_t* quads,
                                   hlo_vir_value_t* base, int64_t offset) {
  hlo_vir_value_t* operands[] = {base, quads->at, quads->mask};
  const hlo_vir_type_t bytes = hlo_vir_type(HLO_VIR_I8, p->m->lanes * GROUP);
  hlo_vir_value_t* loaded =
      hlo_vir_emit(p->b, HLO_VIR_load, bytes, 0, offset, quads->mask ? 3 : 2, operands);
  return hlo_vir_emit(p->b, HLO_VIR_recast, hlo_vir_type(HLO_VIR_I32, p->m->lanes), 0, 0, 1,
                      &loaded);
}

// Adds the products of `row` of A and `column` of B, flipped if signs are alike.
static void add_products(const hlo_product_t* p, hlo_vir_value_t* sum, hlo_vir_value_t* row,
                         hlo_vir_value_t* column) {
  const bool is_row_first = p->m->operands[HLO_MATMUL_A].dtype == HLO_DTYPE_U8;
  hlo_vir_value_t *x = is_row_first ? row : column, *y = is_row_first ? column : row;
  hlo_vir_set(p->b, sum, hlo_vir_ternary(p->b, HLO_VIR_dot_u8s8, x, y, sum));
}

static void add_quads(const hlo_product_t* p, const hlo_product_tile_t* tile, const quads_t* quads,
                      hlo_vir_value_t* const* row_sums) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const uint32_t count = tile->panel->piece_count;
  const int64_t step = m->rows.strides[HLO_MATMUL_A] * hlo_product_element_bytes(p, HLO_MATMUL_A);
  hlo_vir_value_t* flips = hlo_vir_const_bits(b, hlo_vir_type(HLO_VIR_I32, m->lanes), SIGN_BITS);
  hlo_vir_value_t* columns[HLO_MATMUL_MAX_PIECES];
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t offset = tile->panel->pieces[i].offset * m->columns.strides[HLO_MATMUL_B];
    columns[i] = load_quads(p, quads, tile->b, offset);
    if (has_flips(m)) columns[i] = hlo_vir_binary(b, HLO_VIR_xor, columns[i], flips);
  }
  for (int64_t r = 0; r < tile->height; ++r) {
    hlo_vir_value_t* row = load_quads(p, quads, tile->a, r * step);
    for (uint32_t i = 0; i < count; ++i) {
      add_products(p, tile->accumulators[r * count + i], row, columns[i]);
    }
    if (has_flips(m)) add_products(p, row_sums[r], row, flips);
  }
}

void hlo_product_add_quads(hlo_product_t* p, hlo_product_tile_t* tile, hlo_vir_value_t* is_first) {
  (void)is_first;  // nothing is packed by tiles
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const int64_t bytes = (m->depth[0].extent - 1) * GROUP + m->last_group;
  const int64_t step = (int64_t)m->lanes * GROUP, whole = bytes / step * step;
  hlo_vir_value_t* row_sums[HLO_VIR_MAX_LANES] = {NULL};
  hlo_vir_value_t* zero = hlo_vir_const_bits(b, hlo_vir_type(HLO_VIR_I32, m->lanes), 0);
  for (int64_t r = 0; has_flips(m) && r < tile->height; ++r) row_sums[r] = hlo_vir_var(b, zero);
  if (whole) {
    const quads_t quads = {hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, whole), step, 0),
                           NULL};
    add_quads(p, tile, &quads, row_sums);
    hlo_vir_end(b);
  }
  if (whole < bytes) {
    const quads_t quads = {hlo_index(b, whole),
                           hlo_matmul_first_lanes(b, m->lanes * GROUP, (uint32_t)(bytes - whole))};
    add_quads(p, tile, &quads, row_sums);
  }
  const uint32_t count = tile->panel->piece_count;
  for (uint32_t i = 0; has_flips(m) && i < (uint32_t)tile->height * count; ++i) {
    tile->accumulators[i] =
        hlo_vir_binary(b, HLO_VIR_sub, tile->accumulators[i], row_sums[i / count]);
  }
  hlo_product_fold_accumulators(p, tile);
}
