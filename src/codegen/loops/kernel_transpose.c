// SPDX-License-Identifier: Apache-2.0
// Transposing kernels: loads that are not contiguous along the lanes, but along another loop, are
// read in square tiles along that loop and transposed in registers. The points of a tile follow one
// by one.
#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/math/math.h"
#include "codegen/math/square.h"

enum { MAX_CROSSING = 4 };  // loads transposed in one tile; others are gathered

/// The loops and loads of a tile. At the edges of the output it is narrower.
typedef struct tile {
  uint32_t lane, cross, edge;
  uint32_t lane_count, cross_count;  // less than `edge` at the edges of the output
  uint32_t load_count;
  const hlo_tiled_t* loads[MAX_CROSSING];
  hlo_square_t squares[MAX_CROSSING];
} tile_t;

bool hlo_is_crossing(const hlo_tiled_t* tiled, uint32_t lane, uint32_t cross) {
  return tiled->kind == HLO_TILED_LOAD &&
         hlo_tiled_lane_access(tiled->offset, lane) == HLO_LANE_GATHERED &&
         hlo_tiled_lane_access(tiled->offset, cross) == HLO_LANE_PLAIN;
}

static tile_t find_tile(const hlo_emitter_t* e) {
  const hlo_kernel_t* kernel = e->kernel;
  uint32_t edge = kernel->lanes;
  tile_t tile = {.lane = kernel->loops[kernel->loop_count - 1],
                 .cross = kernel->loops[kernel->loop_count - 2],
                 .edge = edge,
                 .lane_count = edge,
                 .cross_count = edge};
  for (uint32_t i = 0; i < e->tiling->instance_count && tile.load_count < MAX_CROSSING; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (hlo_is_crossing(tiled, tile.lane, tile.cross)) tile.loads[tile.load_count++] = tiled;
  }
  return tile;
}

static void set_loop(hlo_emitter_t* e, uint32_t loop, hlo_vir_value_t* first, uint32_t step) {
  hlo_emitter_forget_loop(e, loop);
  e->loops[loop] = hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, step));
  e->bound |= (uint64_t)1 << loop;
}

static void find_tile_rows(hlo_emitter_t* e, tile_t* tile, hlo_vir_value_t* lane) {
  for (uint32_t i = 0; i < tile->lane_count; ++i) {
    set_loop(e, tile->lane, lane, i);
    for (uint32_t k = 0; k < tile->load_count; ++k) {
      const hlo_tiled_t* tiled = tile->loads[k];
      const hlo_dtype_t dtype = tiled->value->type->dtype;
      hlo_square_t* square = &tile->squares[k];
      square->rows[i] = hlo_emit_address(e, e->addresses[tiled->input], tiled->offset, dtype);
      square->rows[i].flags = e->mask_depth ? 0 : HLO_VIR_INVARIANT;
    }
  }
  set_loop(e, tile->lane, lane, 0);
  for (uint32_t k = 0; k < tile->load_count; ++k) {
    hlo_square_t* square = &tile->squares[k];
    square->dtype = tile->loads[k]->value->type->dtype;
    square->edge = tile->edge;
    square->row_count = tile->lane_count;
    square->column_count = tile->cross_count;
  }
}

// Emits the points of a tile, column by column of the operand.
static void emit_tile(hlo_emitter_t* e, tile_t* tile, hlo_vir_value_t* lane,
                      hlo_vir_value_t* cross) {
  hlo_vir_value_t* columns[MAX_CROSSING][HLO_SQUARE_MAX_EDGE];
  if (tile->lane_count < tile->edge) {
    e->mask = hlo_vir_const_mask(e->b, tile->edge, tile->lane_count);
  }
  find_tile_rows(e, tile, lane);
  e->lane_loop = tile->lane;
  for (uint32_t k = 0; k < tile->load_count; ++k) {
    hlo_square_read(e->b, &tile->squares[k], columns[k]);
  }
  for (uint32_t i = 0; i < tile->cross_count; ++i) {
    set_loop(e, tile->cross, cross, i);
    for (uint32_t k = 0; k < tile->load_count; ++k) {
      hlo_dtype_t dtype = hlo_emitter_dtype(e, tile->loads[k]->value);
      e->done[tile->loads[k]->number] = hlo_vmath_from_memory(e->b, dtype, columns[k][i]);
    }
    hlo_emit_point(e);
  }
  e->mask = NULL;
}

typedef struct tile_visit {
  hlo_emitter_t* e;
  tile_t* tile;
} tile_visit_t;

static void visit_tile(void* context, hlo_vir_value_t* lane, hlo_vir_value_t* cross) {
  const tile_visit_t* at = context;
  set_loop(at->e, at->tile->lane, lane, 0);
  set_loop(at->e, at->tile->cross, cross, 0);
  emit_tile(at->e, at->tile, lane, cross);
  hlo_emitter_forget_loop(at->e, at->tile->lane);
  hlo_emitter_forget_loop(at->e, at->tile->cross);
}

// Emits the tiles of blocks. Streamed stores write whole lines, and the rows of the operand are
// read in long runs; otherwise the longer dimension is the inner loop, so that few rows are read or
// written at once.
static void emit_tiles(hlo_emitter_t* e, tile_t* tile, hlo_vir_interval_t lanes,
                       hlo_vir_interval_t crosses) {
  if (hlo_vir_interval_is_empty(lanes) || hlo_vir_interval_is_empty(crosses)) return;
  const int64_t* extents = e->tiling->spaces[0].extents;
  const int64_t size =
      e->is_streaming ? HLO_TUNING_TRANSPOSE_FAR_BLOCK : HLO_TUNING_TRANSPOSE_BLOCK;
  const hlo_square_walk_t walk = {
      .lanes = lanes,
      .columns = crosses,
      .edge = tile->edge,
      .lane_block = e->is_streaming ? 0 : size,
      .column_block = size,
      .is_along_columns = e->is_streaming || extents[tile->cross] > extents[tile->lane]};
  tile_visit_t visit = {e, tile};
  e->lanes = tile->edge;
  hlo_square_each(e->b, &walk, visit_tile, &visit);
  hlo_emitter_close_block(e);
  e->lane_loop = HLO_NO_LOOP;
}

// Emits the points outside whole tiles on a target without masks: with gathers, or one by one if
// the elements are too small to be gathered.
static void emit_outside(hlo_emitter_t* e, const tile_t* tile, hlo_vir_interval_t lanes,
                         hlo_vir_interval_t crosses) {
  if (hlo_vir_interval_is_empty(lanes) || hlo_vir_interval_is_empty(crosses)) return;
  bool may_gather = true;
  for (uint32_t k = 0; k < tile->load_count; ++k) {
    may_gather &= hlo_dtype_size_bytes(tile->loads[k]->value->type->dtype) >= HLO_TILE_GATHER_BYTES;
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

// Emits tiles of lane_count x cross_count points at the edges of the output.
static void emit_edge(hlo_emitter_t* e, tile_t tile, hlo_vir_interval_t lanes,
                      hlo_vir_interval_t crosses, uint32_t lane_count, uint32_t cross_count) {
  if (lane_count == 0 || cross_count == 0) return;
  tile.lane_count = lane_count;
  tile.cross_count = cross_count;
  emit_tiles(e, &tile, lanes, crosses);
}

// Returns true if `columns` columns of every load are read without a mask.
static bool has_whole_parts(const tile_t* tile, uint32_t columns) {
  for (uint32_t k = 0; k < tile->load_count; ++k) {
    if (columns % hlo_square_part(tile->loads[k]->value->type->dtype, tile->edge)) return false;
  }
  return true;
}

void hlo_emit_transposed(hlo_emitter_t* e, const hlo_vir_interval_t* ranges) {
  const hlo_vir_interval_t crosses = ranges[0], lanes = ranges[1];
  tile_t tile = find_tile(e);
  hlo_vir_interval_t lane_parts[] = {
      {lanes.low, hlo_vir_interval_whole_end(e->b, lanes, tile.edge)}, {NULL, lanes.end}};
  hlo_vir_interval_t cross_parts[] = {
      {crosses.low, hlo_vir_interval_whole_end(e->b, crosses, tile.edge)}, {NULL, crosses.end}};
  lane_parts[1].low = lane_parts[0].end;
  cross_parts[1].low = cross_parts[0].end;
  emit_tiles(e, &tile, lane_parts[0], cross_parts[0]);
  // Ranges are cut only at multiples of the edge: the size of the rest is a constant.
  const int64_t* extents = e->tiling->spaces[0].extents;
  uint32_t lane_rest = (uint32_t)(extents[tile.lane] % tile.edge);
  uint32_t cross_rest = (uint32_t)(extents[tile.cross] % tile.edge);
  if (!e->kernel->target->has_masks) {
    const bool is_whole = has_whole_parts(&tile, cross_rest);
    if (is_whole) emit_edge(e, tile, lane_parts[0], cross_parts[1], tile.edge, cross_rest);
    emit_outside(e, &tile, lane_parts[1], is_whole ? crosses : cross_parts[0]);
    if (!is_whole) emit_outside(e, &tile, lanes, cross_parts[1]);
    return;
  }
  emit_edge(e, tile, lane_parts[1], cross_parts[0], lane_rest, tile.edge);
  emit_edge(e, tile, lane_parts[0], cross_parts[1], tile.edge, cross_rest);
  emit_edge(e, tile, lane_parts[1], cross_parts[1], lane_rest, cross_rest);
}
