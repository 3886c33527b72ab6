// SPDX-License-Identifier: Apache-2.0
// Transpositions: loads that jump from lane to lane but are plain along another digit are read in
// square tiles along that digit, and turned in registers; the points of a tile follow one by one.
#include "codegen/kernel_emit_impl.h"

enum {
  MAX_EDGE = HLO_KERNEL_MAX_EDGE,
  MAX_CROSSING = 4,    // loads of one tile; others are gathered
  BLOCK = 128,         // edge of a block in the caches, in elements
  STREAMED_BLOCK = 64,
};

/// The digits of a tile and what is read in it.
typedef struct tile {
  uint32_t lane, cross, edge;
  uint32_t load_count;
  const hlo_tiled_t* loads[MAX_CROSSING];
  hlo_vir_value_t* rows[MAX_CROSSING][MAX_EDGE];
} tile_t;

bool hlo_is_crossing(const hlo_tiled_t* tiled, uint32_t lane, uint32_t cross) {
  return tiled->kind == HLO_TILED_LOAD &&
         hlo_tiled_lane_access(tiled->offset, lane) == HLO_LANE_GATHERED &&
         hlo_tiled_lane_access(tiled->offset, cross) == HLO_LANE_PLAIN;
}

static tile_t find_tile(const hlo_emitter_t* e) {
  const hlo_kernel_t* kernel = e->kernel;
  tile_t tile = {.lane = kernel->loops[kernel->loop_count - 1],
                 .cross = kernel->loops[kernel->loop_count - 2],
                 .edge = kernel->lanes};
  for (uint32_t i = 0; i < e->tiling->instance_count && tile.load_count < MAX_CROSSING; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (hlo_is_crossing(tiled, tile.lane, tile.cross)) tile.loads[tile.load_count++] = tiled;
  }
  return tile;
}

static void set_digit(hlo_emitter_t* e, uint32_t digit, hlo_vir_value_t* first, uint32_t step) {
  hlo_emitter_forget_digit(e, digit);
  e->digits[digit] = hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, step));
  e->bound |= (uint64_t)1 << digit;
}

// Rows of the operand become rows of the output: zipping row i with row i + edge / 2 makes rows 2 i and
// 2 i + 1, log2(edge) times. Truth values are turned as integers.
static void turn(hlo_emitter_t* e, hlo_vir_value_t** rows, uint32_t edge) {
  hlo_vir_value_t* next[MAX_EDGE];
  for (uint32_t stage = 1; stage < edge; stage *= 2) {
    for (uint32_t i = 0; i < edge / 2; ++i) {
      next[2 * i] = hlo_vir_binary(e->b, HLO_VIR_zip_low, rows[i], rows[i + edge / 2]);
      next[2 * i + 1] = hlo_vir_binary(e->b, HLO_VIR_zip_high, rows[i], rows[i + edge / 2]);
    }
    for (uint32_t i = 0; i < edge; ++i) rows[i] = next[i];
  }
}

static void read_tile(hlo_emitter_t* e, tile_t* tile, hlo_vir_value_t* lane) {
  e->lane_digit = tile->cross;
  for (uint32_t k = 0; k < tile->load_count; ++k) {
    for (uint32_t i = 0; i < tile->edge; ++i) {
      set_digit(e, tile->lane, lane, i);
      hlo_vir_value_t* row = hlo_emit_value(e, tile->loads[k]);
      bool is_mask = row->type.elem == HLO_VIR_MASK;
      tile->rows[k][i] = is_mask ? hlo_emit_mask_to_integer(e, row) : row;
    }
    turn(e, tile->rows[k], tile->edge);
  }
}

static void emit_tile(hlo_emitter_t* e, tile_t* tile) {
  hlo_vir_value_t *lane = e->digits[tile->lane], *cross = e->digits[tile->cross];
  read_tile(e, tile, lane);
  e->lane_digit = tile->lane;
  set_digit(e, tile->lane, lane, 0);
  for (uint32_t i = 0; i < tile->edge; ++i) {
    set_digit(e, tile->cross, cross, i);
    for (uint32_t k = 0; k < tile->load_count; ++k) {
      bool is_mask = tile->loads[k]->value->type->dtype == HLO_DTYPE_PRED;
      hlo_vir_value_t* row = tile->rows[k][i];
      e->done[tile->loads[k]->number] = is_mask ? hlo_emit_integer_to_mask(e, row) : row;
    }
    hlo_emit_point(e);
  }
}

// Part of a range from `low` on.
static hlo_range_t part_of(hlo_vir_builder_t* b, hlo_vir_value_t* low, int64_t size,
                           hlo_range_t all) {
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, low, hlo_vir_iconst(b, size));
  return (hlo_range_t){low, hlo_vir_index(b, HLO_VIR_imin, end, all.end)};
}

// Tiles of a block. What is stored past the caches is whole lines: then the rows of the operand are
// read in a long piece; else lines of the output are completed first.
static void emit_block(hlo_emitter_t* e, tile_t* tile, hlo_range_t lanes, hlo_range_t crosses) {
  uint32_t outer = e->is_streaming ? tile->lane : tile->cross;
  uint32_t inner = e->is_streaming ? tile->cross : tile->lane;
  const hlo_range_t* out = e->is_streaming ? &lanes : &crosses;
  const hlo_range_t* in = e->is_streaming ? &crosses : &lanes;
  hlo_emitter_open_loop(e, outer, out->low, out->end, tile->edge);
  hlo_emitter_open_loop(e, inner, in->low, in->end, tile->edge);
  emit_tile(e, tile);
  hlo_emitter_close_loop(e, inner);
  hlo_emitter_close_loop(e, outer);
}

static void emit_tiles(hlo_emitter_t* e, tile_t* tile, hlo_range_t lanes, hlo_range_t crosses) {
  if (hlo_range_is_empty(lanes) || hlo_range_is_empty(crosses)) return;
  hlo_vir_builder_t* b = e->b;
  int64_t size = e->is_streaming ? STREAMED_BLOCK : BLOCK;
  e->lanes = tile->edge;
  hlo_vir_value_t* cross = hlo_vir_begin_for(b, crosses.low, crosses.end, size, 0);
  crosses = part_of(b, cross, size, crosses);
  if (e->is_streaming) {
    emit_block(e, tile, lanes, crosses);
  } else {
    hlo_vir_value_t* lane = hlo_vir_begin_for(b, lanes.low, lanes.end, size, 0);
    emit_block(e, tile, part_of(b, lane, size, lanes), crosses);
    hlo_vir_end(b);
  }
  hlo_vir_end(b);
  hlo_emitter_close_block(e);
  e->lane_digit = HLO_NO_DIGIT;
}

// What no whole tile covers: gathered, or one by one where elements are too small for that.
static void emit_outside(hlo_emitter_t* e, const tile_t* tile, hlo_range_t lanes,
                         hlo_range_t crosses) {
  if (hlo_range_is_empty(lanes) || hlo_range_is_empty(crosses)) return;
  bool may_gather = true;
  for (uint32_t k = 0; k < tile->load_count; ++k) {
    may_gather &= hlo_dtype_size_bytes(tile->loads[k]->value->type->dtype) >= 4;
  }
  hlo_emitter_open_loop(e, tile->cross, crosses.low, crosses.end, 1);
  if (may_gather) {
    hlo_emit_lane_loop(e, tile->lane, lanes, 1, hlo_emit_lanes, NULL);
  } else {
    hlo_emitter_open_loop(e, tile->lane, lanes.low, lanes.end, 1);
    hlo_emit_point(e);
    hlo_emitter_close_loop(e, tile->lane);
  }
  hlo_emitter_close_loop(e, tile->cross);
}

void hlo_emit_transposed(hlo_emitter_t* e, hlo_range_t crosses, hlo_range_t lanes) {
  tile_t tile = find_tile(e);
  hlo_vir_value_t* lanes_end = hlo_range_whole_end(e->b, lanes, tile.edge);
  hlo_vir_value_t* crosses_end = hlo_range_whole_end(e->b, crosses, tile.edge);
  hlo_range_t whole = {crosses.low, crosses_end};
  emit_tiles(e, &tile, (hlo_range_t){lanes.low, lanes_end}, whole);
  emit_outside(e, &tile, (hlo_range_t){lanes_end, lanes.end}, whole);
  emit_outside(e, &tile, lanes, (hlo_range_t){crosses_end, crosses.end});
}
