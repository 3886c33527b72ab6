// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files that emit a product's vector IR: the product's state, a tile,
// addresses.
#pragma once

#include "base/tuning.h"
#include "codegen/dot/matmul.h"
#include "codegen/loops/kernel_choose.h"

enum {
  MAX_ACCUMULATORS = 64,
};

typedef struct hlo_product {
  const hlo_kernel_t* kernel;
  const hlo_matmul_t* m;
  const hlo_point_emitter_t* points;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* bases[2];  // of the operands where the product reads them
  hlo_dtype_t dtypes[2];      // of the elements at `bases`
  hlo_vir_value_t* loops[HLO_TILED_MAX_LOOPS];
  hlo_vir_value_t* block;        // along the contraction, if it is cut
  hlo_vir_value_t* first_block;  // of the blocks that share accumulators
  bool is_join;                  // adds the accumulators of parts and multiplies nothing
  hlo_vir_value_t* partial_accumulators;
  hlo_vir_value_t *codes, *scales;  // addresses of B's first ones, if tables widen them
  hlo_vir_value_t* slice;           // of the chunk, for a block of B
} hlo_product_t;

/// The position of a tile: its operands' first elements and its first row and column.
typedef struct hlo_product_tile {
  const hlo_matmul_panel_t* panel;
  int64_t height;
  hlo_vir_value_t *a, *b;
  hlo_vir_value_t *stripe, *part;              // of the panel's rows
  hlo_vir_value_t *first_number, *end_number;  // of the tiles of this part
  hlo_vir_value_t *row, *column;
  int64_t edge_row;          // the first row if it is known, at an edge of the input; else -1
  int64_t low_row, end_row;  // the rows that take part in a step
  hlo_vir_value_t* partial_accumulators;       // of the panel's first row
  hlo_matmul_source_t source;                  // of B, if it is computed or packed in blocks
  hlo_vir_value_t* next_source;                // of the next block; NULL: not prefetched
  hlo_vir_value_t *fetch_base, *fetch_stride;  // rows of `next_source` for this tile's steps;
                                               // NULL: none
  bool is_packing;                             // this tile packs the block
  hlo_vir_value_t* corrections;                // of accumulators
  hlo_vir_value_t* accumulators[MAX_ACCUMULATORS];
} hlo_product_tile_t;

/// The position of both operands along the innermost contracting loop: an index plus a constant
/// number of elements.
typedef struct hlo_product_step {
  hlo_vir_value_t* index[2];  // NULL: none
  int64_t beyond[2];
  hlo_vir_value_t* counter;  // the number of the step (NULL: none) plus a constant
  int64_t count;
} hlo_product_step_t;

static inline int64_t hlo_product_element_bytes(const hlo_product_t* p, uint32_t side) {
  return (int64_t)hlo_dtype_size_bytes(p->dtypes[side]);
}

// Arithmetic of indices.
#define hlo_index(b, value) hlo_vir_iconst(b, value)
#define hlo_plus(b, x, y) hlo_vir_index(b, HLO_VIR_iadd, x, y)
#define hlo_minus(b, x, y) hlo_vir_index(b, HLO_VIR_isub, x, y)
#define hlo_least(b, x, y) hlo_vir_index(b, HLO_VIR_imin, x, y)
#define hlo_most(b, x, y) hlo_vir_index(b, HLO_VIR_imax, x, y)
static inline hlo_vir_value_t* hlo_times(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t factor) {
  return hlo_vir_index(b, HLO_VIR_imul, x, hlo_index(b, factor));
}
static inline hlo_vir_value_t* hlo_add(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t value) {
  return hlo_vir_index(b, HLO_VIR_iadd, x, hlo_index(b, value));
}
static inline hlo_vir_value_t* hlo_divide(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t by) {
  return hlo_vir_index(b, HLO_VIR_idiv, x, hlo_index(b, by));
}
static inline hlo_vir_value_t* hlo_remainder(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t by) {
  return hlo_vir_index(b, HLO_VIR_irem, x, hlo_index(b, by));
}

/// Returns x + y of accumulators.
static inline hlo_vir_value_t* hlo_product_sum(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                               hlo_vir_value_t* y) {
  bool is_float = x->type.elem == HLO_VIR_F32 || x->type.elem == HLO_VIR_F64;
  return hlo_vir_binary(b, is_float ? HLO_VIR_fadd : HLO_VIR_add, x, y);
}

/// Returns the offsets of lanes that are `stride` apart.
static inline hlo_vir_value_t* hlo_matmul_lane_offsets(hlo_vir_builder_t* b, uint32_t lanes,
                                                       int64_t stride) {
  bool is_far = stride * lanes > INT32_MAX;
  hlo_vir_type_t type = hlo_vir_type(is_far ? HLO_VIR_I64 : HLO_VIR_I32, lanes);
  hlo_vir_value_t* index = hlo_vir_emit(b, HLO_VIR_lane_iota, type, 0, 0, 0, NULL);
  return hlo_vir_binary(b, HLO_VIR_mul, index, hlo_vir_const_bits(b, type, (uint64_t)stride));
}

/// Returns a mask of the first `active` lanes; NULL: all.
static inline hlo_vir_value_t* hlo_matmul_first_lanes(hlo_vir_builder_t* b, uint32_t lanes,
                                                      uint32_t active) {
  if (active == lanes) return NULL;
  hlo_vir_value_t* count = hlo_index(b, active);
  return hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, lanes), 0, 0, 1, &count);
}

/// Prefetches the cache line at base + index * unit_bytes + offset_bytes. `index` NULL: none.
void hlo_product_fetch(const hlo_product_t* p, hlo_vir_value_t* base, hlo_vir_value_t* index,
                       int64_t unit_bytes, int64_t offset_bytes);
/// Returns computed elements of a piece of B's columns at a step, in the type of the
/// multiplication.
hlo_vir_value_t* hlo_product_compute(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                     const hlo_product_step_t* step, int64_t column,
                                     const hlo_matmul_dim_t* along, uint32_t lanes,
                                     hlo_vir_value_t* mask);
/// Begins the loop over the lines or panels of a copy that a chunk (NULL: all) makes.
static inline hlo_vir_value_t* hlo_matmul_begin_copy(const hlo_matmul_copy_t* copy,
                                                     hlo_vir_builder_t* b, hlo_vir_value_t* chunk) {
  hlo_vir_value_t *low = hlo_index(b, 0), *end = hlo_index(b, copy->count);
  if (chunk) {
    low = hlo_times(b, chunk, copy->per_chunk);
    end = hlo_least(b, hlo_add(b, low, copy->per_chunk), end);
  }
  return hlo_vir_begin_for(b, low, end, 1, 0);
}

/// Emits sum += x y.
void hlo_product_add(const hlo_product_t* p, hlo_vir_value_t* sum, hlo_vir_value_t* x,
                     hlo_vir_value_t* y);
hlo_vir_value_t* hlo_product_is_last_block(const hlo_product_t* p);
/// Configures the rows of tile registers for a tile of that height before all tiles of the height.
/// Releases them after the last tile.
void hlo_product_configure_tiles(const hlo_product_t* p, const hlo_product_tile_t* tile);
void hlo_product_release_tiles(const hlo_product_t* p);
/// Multiplies a tile (or its block, if the contraction is cut) in tile registers. Returns the
/// memory that then holds the accumulators.
hlo_vir_value_t* hlo_product_multiply_tiles(const hlo_product_t* p, hlo_product_tile_t* tile);
/// Loads the accumulators of a row as those of `tile`, which has one row.
void hlo_product_load_accumulators(const hlo_product_t* p, hlo_product_tile_t* tile,
                                   hlo_vir_value_t* accumulators, hlo_vir_value_t* row);
/// Emits a phase: of products in tiles, of narrow ones.
typedef void hlo_product_phase_t(const hlo_kernel_t* kernel, uint32_t phase,
                                 const hlo_point_emitter_t* points, hlo_vir_builder_t* b,
                                 hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk);
hlo_product_phase_t hlo_product_emit_phase, hlo_product_emit_narrow;
/// Emits a tile from its row on: of vectors; of tile registers, whose accumulators are processed
/// row by row, from memory. `is_first`: true for the tile that packs B; NULL: no tile does.
typedef void hlo_product_emit_t(hlo_product_t* p, hlo_product_tile_t* tile,
                                hlo_vir_value_t* is_first);
hlo_product_emit_t hlo_product_emit_vectors, hlo_product_emit_tiles;
/// Adds all products of a tile, or of its block, to its accumulators.
hlo_product_emit_t hlo_product_add_columns, hlo_product_add_along, hlo_product_add_codes,
    hlo_product_add_quads;
/// Folds the lanes of each of a tile's accumulators into one.
void hlo_product_fold_accumulators(const hlo_product_t* p, hlo_product_tile_t* tile);

/// Adds the products of a tile's integers to its accumulators, lane by lane.
void hlo_product_add_integers(hlo_product_t* p, hlo_product_tile_t* tile);
/// Returns a vector of read-only memory.
hlo_vir_value_t* hlo_matmul_constant(hlo_vir_builder_t* b, hlo_vir_type_t type,
                                     const uint8_t* bytes);
/// Turns a chunk of codes into two registers of pairs: of the first and of the second halves of all
/// parts of 16 codes.
void hlo_matmul_decode(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* codes,
                       hlo_vir_value_t* out_pairs[2]);
/// Converts scales in registers to F32, by way of the type in which the graph multiplies by them.
hlo_vir_value_t* hlo_matmul_widen_scales(hlo_vir_builder_t* b, const hlo_matmul_codes_t* codes,
                                         hlo_vir_value_t* scales);

/// A strategy: the legal combinations, by bits, and its functions. threads: immutable
typedef struct hlo_matmul_row {
  uint32_t nodes;            // matrix products, convolutions
  uint32_t groups;           // sizes of groups
  uint32_t packings;         // hlo_matmul_packing_t of both operands
  uint32_t splits;           // hlo_matmul_split_t
  const char *text, *lanes;  // for listings; NULL: the tiles of vectors
  hlo_product_phase_t* emit;
  hlo_product_emit_t *emit_tile, *add_products;
} hlo_matmul_row_t;
extern const hlo_matmul_row_t hlo_matmul_strategies[HLO_MATMUL_STRATEGIES];

/// Returns true if all input elements that a row of the output uses are inside the input.
bool hlo_product_is_inside(const hlo_matmul_t* m, int64_t row);
