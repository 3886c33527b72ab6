// SPDX-License-Identifier: Apache-2.0
// What the files that write a product's vector IR share: where it is, a tile, addresses.
#ifndef HLO_CODEGEN_DOT_MATMUL_IMPL_H_
#define HLO_CODEGEN_DOT_MATMUL_IMPL_H_

#include "codegen/dot/matmul.h"

enum {
  MAX_ACCUMULATORS = 64,
  UNROLL = 2,  // steps of a turn of the innermost loop
};

typedef struct product {
  const hlo_kernel_t* kernel;
  const hlo_matmul_t* m;
  const hlo_point_emitter_t* points;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* bases[2];  // of the operands where the product reads them
  hlo_dtype_t dtypes[2];      // there
  hlo_vir_value_t* loops[HLO_TILED_MAX_LOOPS];
  hlo_vir_value_t* block;        // along the contraction, where it is cut
  hlo_vir_value_t* first_block;  // of those that are summed together
  bool is_join;            // sums of blocks are added, and nothing is multiplied
  hlo_vir_value_t* partial_accumulators;
  hlo_vir_value_t* slice;  // of the chunk, for a block of B
} product_t;

/// Where a tile is: its operands' first elements and its first row and column.
typedef struct tile {
  const hlo_matmul_panel_t* panel;
  int64_t height;
  hlo_vir_value_t *a, *b;
  hlo_vir_value_t *stripe, *part;              // of the panel's rows
  hlo_vir_value_t *first_number, *end_number;  // of the tiles of this part
  hlo_vir_value_t *row, *column;
  int64_t edge_row;          // the first row where it is known, at an edge of the input; else -1
  int64_t low_row, end_row;  // those that take part in a step
  hlo_vir_value_t* partial_accumulators;  // of the panel's first row
  hlo_matmul_source_t source;     // of B, where it is computed, or blocks of it are packed
  hlo_vir_value_t* next_source;   // and of the block after it; NULL: not fetched
  hlo_vir_value_t *fetch_base, *fetch_stride;  // rows of that, for this tile's steps; NULL: none
  bool packs_first;                            // a panel's first tile packs the block
  bool is_packing;                             // this is that tile
  hlo_vir_value_t* corrections;                // of sums
  hlo_vir_value_t* accumulators[MAX_ACCUMULATORS];
} tile_t;

/// Positions of both operands along the innermost contracting loop: an index, and elements beyond
/// it.
typedef struct step {
  hlo_vir_value_t* index[2];  // NULL: none
  int64_t beyond[2];
  hlo_vir_value_t* counter;  // and steps: a number, NULL: none, and those beyond it
  int64_t count;
} step_t;

static inline int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
static inline int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t bytes_of(const product_t* p, uint32_t side) {
  return (int64_t)hlo_dtype_size_bytes(p->dtypes[side]);
}

static inline hlo_vir_value_t* number(hlo_vir_builder_t* b, int64_t value) {
  return hlo_vir_iconst(b, value);
}

static inline hlo_vir_value_t* plus(hlo_vir_builder_t* b, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return hlo_vir_index(b, HLO_VIR_iadd, x, y);
}

static inline hlo_vir_value_t* times(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t factor) {
  return hlo_vir_index(b, HLO_VIR_imul, x, number(b, factor));
}

/// The first `active` of some lanes; NULL: all.
static inline hlo_vir_value_t* first_lanes(hlo_vir_builder_t* b, uint32_t lanes, uint32_t active) {
  if (active == lanes) return NULL;
  hlo_vir_value_t* count = number(b, active);
  return hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, lanes), 0, 0, 1, &count);
}

/// Asks for a cache line at base + index * unit_bytes + offset_bytes. index NULL: none
void hlo_product_fetch(const product_t* p, hlo_vir_value_t* base, hlo_vir_value_t* index,
                       int64_t unit_bytes, int64_t offset_bytes);
/// Computed elements of a piece of B's columns at a step, in the type that is multiplied.
hlo_vir_value_t* hlo_product_compute(const product_t* p, const tile_t* tile, const step_t* step,
                                     int64_t column, const hlo_matmul_dim_t* along, uint32_t lanes,
                                     hlo_vir_value_t* mask);
/// sum += x y.
void hlo_product_add(const product_t* p, hlo_vir_value_t* sum, hlo_vir_value_t* x,
                     hlo_vir_value_t* y);
hlo_vir_value_t* hlo_product_is_last_block(const product_t* p);
/// The contracting loops from `level` on: products are added to the tile's sums.
void hlo_product_emit_depth(const product_t* p, tile_t* tile, uint32_t level);
/// Tile registers: their rows for a tile of that height, before all tiles of it; none, behind the
/// last one.
void hlo_product_configure_tiles(const product_t* p, const tile_t* tile);
void hlo_product_release_tiles(const product_t* p);
/// The sums of a tile, of a block where there are blocks: where they are now, in memory.
hlo_vir_value_t* hlo_product_multiply_tiles(const product_t* p, tile_t* tile);
/// Those of a row, as the sums of `tile`, of one row.
void hlo_product_load_accumulators(const product_t* p, tile_t* tile, hlo_vir_value_t* accumulators,
                           hlo_vir_value_t* row);
/// Whether all that a row of the output meets is inside of the input.
bool hlo_product_is_inside(const hlo_matmul_t* m, int64_t row);

#endif  // HLO_CODEGEN_DOT_MATMUL_IMPL_H_
