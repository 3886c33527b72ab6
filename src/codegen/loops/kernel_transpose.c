// SPDX-License-Identifier: Apache-2.0
// Transposing kernels: loads that are not contiguous along the lanes, but along another loop, are
// read in square tiles along that loop and transposed in registers. The points of a tile follow one
// by one.
#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/math/math.h"

enum {
  MAX_EDGE = HLO_KERNEL_MAX_EDGE,
  MAX_CROSSING = 4,  // loads transposed in one tile; others are gathered
  PART_BYTES = 16,   // of a row that are loaded at a time and transposed in one part of a register
};

/// The loops and loads of a tile. At the edges of the output it is narrower.
typedef struct tile {
  uint32_t lane, cross, edge;
  uint32_t lane_count, cross_count;  // less than `edge` at the edges of the output
  uint32_t load_count;
  const hlo_tiled_t* loads[MAX_CROSSING];
  hlo_element_address_t rows[MAX_CROSSING][MAX_EDGE];  // addresses of the first elements
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

uint32_t hlo_kernel_transpose_part(const hlo_tiled_t* load, uint32_t edge) {
  const uint32_t part = PART_BYTES / (uint32_t)hlo_dtype_size_bytes(load->value->type->dtype);
  return part < edge ? part : edge;
}

static void find_tile_rows(hlo_emitter_t* e, tile_t* tile, hlo_vir_value_t* lane) {
  for (uint32_t i = 0; i < tile->lane_count; ++i) {
    set_loop(e, tile->lane, lane, i);
    for (uint32_t k = 0; k < tile->load_count; ++k) {
      const hlo_tiled_t* tiled = tile->loads[k];
      tile->rows[k][i] =
          hlo_emit_address(e, e->addresses[tiled->input], tiled->offset, tiled->value->type->dtype);
      tile->rows[k][i].flags = e->mask_depth ? 0 : HLO_VIR_INVARIANT;
    }
  }
  set_loop(e, tile->lane, lane, 0);
}

// Loads `lanes` elements of row `row` from `column` on; zeros for a row outside the output.
static hlo_vir_value_t* read_row_part(hlo_emitter_t* e, const tile_t* tile, uint32_t load,
                                      uint32_t row, uint32_t column, uint32_t lanes) {
  const hlo_tiled_t* tiled = tile->loads[load];
  hlo_dtype_t dtype = tiled->value->type->dtype;
  if (row >= tile->lane_count) {
    return hlo_vir_const_bits(e->b, hlo_vmath_memory_type(dtype, lanes), 0);
  }
  hlo_element_address_t address = tile->rows[load][row];
  address.offset_bytes += column * (int64_t)hlo_dtype_size_bytes(dtype);
  if (column + lanes > tile->cross_count) {
    uint64_t mask = ((uint64_t)1 << (tile->cross_count - column)) - 1;
    address.mask = hlo_vir_emit(e->b, HLO_VIR_mask_const, hlo_vir_type(HLO_VIR_MASK, lanes), 0,
                                (int64_t)mask, 0, NULL);
  }
  return hlo_elementwise_load_raw(e->b, dtype, lanes, &address);
}

// Joins parts of `count` rows `row`, `row` + step ... in one register.
static hlo_vir_value_t* join_row_parts(hlo_emitter_t* e, const tile_t* tile, uint32_t load,
                                       uint32_t row, uint32_t step, uint32_t count,
                                       uint32_t column) {
  if (count == 1) return read_row_part(e, tile, load, row, column, step);
  hlo_vir_value_t* halves[] = {
      join_row_parts(e, tile, load, row, step, count / 2, column),
      join_row_parts(e, tile, load, row + count / 2 * step, step, count / 2, column)};
  hlo_vir_type_t half = halves[0]->type;
  return hlo_vir_emit(e->b, HLO_VIR_join, hlo_vir_type((hlo_vir_elem_t)half.elem, 2 * half.lanes),
                      0, 0, 2, halves);
}

// Loads columns of the operand as rows of the output. All parts of a few rows are loaded before the
// next rows: rows at a distance of a power of two share a set of the first cache, which cannot hold
// all of them.
static void read_tile(hlo_emitter_t* e, const tile_t* tile, uint32_t load, hlo_vir_value_t** rows) {
  uint32_t count = hlo_kernel_transpose_part(tile->loads[load], tile->edge);
  uint32_t parts = tile->edge / count;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t column = 0; column < tile->cross_count; column += count) {
      rows[column + i] = join_row_parts(e, tile, load, i, count, parts, column);
    }
  }
  for (uint32_t column = 0; column < tile->cross_count; column += count) {
    hlo_elementwise_transpose(e->b, rows + column, count, count, parts == 1 ? 0 : count);
  }
}

// Emits the points of a tile, column by column of the operand.
static void emit_tile(hlo_emitter_t* e, tile_t* tile) {
  hlo_vir_value_t *lane = e->loops[tile->lane], *cross = e->loops[tile->cross];
  hlo_vir_value_t* rows[MAX_CROSSING][MAX_EDGE];
  if (tile->lane_count < tile->edge) {
    e->mask = hlo_vir_emit(e->b, HLO_VIR_mask_const, hlo_vir_type(HLO_VIR_MASK, tile->edge), 0,
                           ((int64_t)1 << tile->lane_count) - 1, 0, NULL);
  }
  find_tile_rows(e, tile, lane);
  e->lane_loop = tile->lane;
  for (uint32_t k = 0; k < tile->load_count; ++k) read_tile(e, tile, k, rows[k]);
  for (uint32_t i = 0; i < tile->cross_count; ++i) {
    set_loop(e, tile->cross, cross, i);
    for (uint32_t k = 0; k < tile->load_count; ++k) {
      hlo_dtype_t dtype = hlo_emitter_dtype(e, tile->loads[k]->value);
      e->done[tile->loads[k]->number] = hlo_vmath_from_memory(e->b, dtype, rows[k][i]);
    }
    hlo_emit_point(e);
  }
  e->mask = NULL;
}

// Returns the part of a range that starts at `low`.
static hlo_vir_interval_t part_of(hlo_vir_builder_t* b, hlo_vir_value_t* low, int64_t size,
                                  hlo_vir_interval_t all) {
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, low, hlo_vir_iconst(b, size));
  return (hlo_vir_interval_t){low, hlo_vir_index(b, HLO_VIR_imin, end, all.end)};
}

// Emits the tiles of a block, along its rows or down its columns. Streamed stores write whole
// lines, and the rows of the operand are read in long runs; otherwise the longer dimension is the
// inner loop, so that few rows are read or written at once.
static void emit_tile_block(hlo_emitter_t* e, tile_t* tile, hlo_vir_interval_t lanes,
                            hlo_vir_interval_t crosses) {
  const int64_t* extents = e->tiling->spaces[0].extents;
  bool is_along_cross = e->is_streaming || extents[tile->cross] > extents[tile->lane];
  uint32_t outer = is_along_cross ? tile->lane : tile->cross;
  uint32_t inner = is_along_cross ? tile->cross : tile->lane;
  const hlo_vir_interval_t* out = is_along_cross ? &lanes : &crosses;
  const hlo_vir_interval_t* in = is_along_cross ? &crosses : &lanes;
  hlo_emitter_open_loop(e, outer, out->low, out->end, tile->edge);
  hlo_emitter_open_loop(e, inner, in->low, in->end, tile->edge);
  emit_tile(e, tile);
  hlo_emitter_close_loop(e, inner);
  hlo_emitter_close_loop(e, outer);
}

static void emit_tiles(hlo_emitter_t* e, tile_t* tile, hlo_vir_interval_t lanes,
                       hlo_vir_interval_t crosses) {
  if (hlo_vir_interval_is_empty(lanes) || hlo_vir_interval_is_empty(crosses)) return;
  hlo_vir_builder_t* b = e->b;
  int64_t size = e->is_streaming ? HLO_TUNING_TRANSPOSE_FAR_BLOCK : HLO_TUNING_TRANSPOSE_BLOCK;
  e->lanes = tile->edge;
  hlo_vir_value_t* cross = hlo_vir_begin_for(b, crosses.low, crosses.end, size, 0);
  crosses = part_of(b, cross, size, crosses);
  if (e->is_streaming) {
    emit_tile_block(e, tile, lanes, crosses);
  } else {
    hlo_vir_value_t* lane = hlo_vir_begin_for(b, lanes.low, lanes.end, size, 0);
    emit_tile_block(e, tile, part_of(b, lane, size, lanes), crosses);
    hlo_vir_end(b);
  }
  hlo_vir_end(b);
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
    if (columns % hlo_kernel_transpose_part(tile->loads[k], tile->edge)) return false;
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
