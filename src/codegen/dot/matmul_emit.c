// SPDX-License-Identifier: Apache-2.0
// Vector IR of matrix products: units of panels and blocks of rows, register tiles, the loop of
// fused multiply-adds (see matmul.h).
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

// ---- tiles

static uint32_t sum_count(const hlo_product_tile_t* tile) {
  return (uint32_t)tile->height * tile->panel->piece_count;
}

// Returns the address of an accumulator between blocks.
static hlo_element_address_t partial_sum(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                         uint32_t number) {
  const hlo_matmul_piece_t* piece = &tile->panel->pieces[number % tile->panel->piece_count];
  int64_t row = number / tile->panel->piece_count * p->m->accumulators_stride;
  int64_t column = piece->offset;
  hlo_vir_value_t* first =
      hlo_times(p->b, tile->row, p->m->accumulators_stride * p->m->element_bytes);
  return (hlo_element_address_t){
      .base = hlo_plus(p->b, tile->partial_accumulators, first),
      .mask = p->m->split == HLO_MATMUL_BLOCKS_IN_OUTPUT
                  ? hlo_matmul_first_lanes(p->b, piece->lanes, piece->active)
                  : NULL,
      .offset_bytes = (row + column) * p->m->element_bytes};
}

static void start_accumulators(const hlo_product_t* p, hlo_product_tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    const hlo_matmul_piece_t* piece = &tile->panel->pieces[i % tile->panel->piece_count];
    uint32_t lanes = hlo_matmul_is_along(p->m) ? p->m->lanes : piece->lanes;
    hlo_vir_value_t* first = hlo_vir_const_bits(b, hlo_vmath_type(p->m->dtype, lanes), 0);
    if (hlo_matmul_is_flipped(p->m)) {
      hlo_element_address_t address = {
          .base = tile->corrections,
          .offset_bytes = (int64_t)piece->offset * hlo_product_element_bytes(p, 1)};
      first = hlo_elementwise_load(b, p->m->dtype, piece->lanes, &address);
    }
    tile->accumulators[i] = hlo_vir_var(b, first);
  }
  // The correction for a flipped A applies once for all blocks, unless each block is packed by
  // itself.
  if (!p->block || !hlo_matmul_is_flipped(p->m) || hlo_matmul_has_blocks(p->m)) return;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, p->block, hlo_index(b, 0)));
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_vir_set(b, tile->accumulators[i], hlo_vir_const_bits(b, tile->accumulators[i]->type, 0));
  }
  hlo_vir_end(b);
}

// Adds the accumulators of earlier blocks, which had the time of a block to come from memory.
static void add_partial_accumulators(const hlo_product_t* p, const hlo_product_tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, p->block, p->first_block));
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t address = partial_sum(p, tile, i);
    hlo_vir_value_t* sum = tile->accumulators[i];
    hlo_vir_value_t* before = hlo_elementwise_load(b, p->m->dtype, sum->type.lanes, &address);
    hlo_vir_set(b, sum, hlo_product_sum(b, before, sum));
  }
  hlo_vir_end(b);
}

// Adds the accumulators of all parts in the order of the parts.
static void join_accumulators(const hlo_product_t* p, hlo_product_tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t address = partial_sum(p, tile, i);
    uint32_t lanes = tile->panel->pieces[i % tile->panel->piece_count].lanes;
    tile->accumulators[i] = hlo_vir_var(b, hlo_elementwise_load(b, p->m->dtype, lanes, &address));
  }
  hlo_vir_value_t *one = hlo_index(b, 1), *end = hlo_index(b, p->m->part_count);
  hlo_vir_value_t* offset =
      hlo_times(b, hlo_vir_begin_for(b, one, end, 1, 0), p->m->accumulators_bytes);
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t address = partial_sum(p, tile, i);
    address.base = hlo_plus(b, address.base, offset);
    hlo_vir_value_t* sum = tile->accumulators[i];
    hlo_vir_value_t* next = hlo_elementwise_load(b, p->m->dtype, sum->type.lanes, &address);
    hlo_vir_set(b, sum, hlo_product_sum(b, sum, next));
  }
  hlo_vir_end(b);
}

static void store_rows(hlo_product_t* p, const hlo_product_tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  hlo_dtype_t dtype = m->contraction.node->results[0].type->dtype;
  for (int64_t r = 0; r < tile->height; ++r) {
    if (m->rows.loop >= 0) p->loops[m->rows.loop] = hlo_add(b, tile->row, r);
    for (uint32_t i = 0; i < tile->panel->piece_count; ++i) {
      const hlo_matmul_piece_t* piece = &tile->panel->pieces[i];
      p->loops[m->columns.loop] = hlo_add(b, tile->column, piece->offset);
      hlo_vir_value_t* sum = tile->accumulators[r * tile->panel->piece_count + i];
      hlo_point_t point = {.loops = p->loops,
                           .lane_loop = (uint32_t)m->columns.loop,
                           .lanes = piece->lanes,
                           .value = hlo_vmath_convert(b, m->dtype, dtype, sum),
                           .mask = hlo_matmul_first_lanes(b, piece->lanes, piece->active)};
      hlo_point_emit(p->points, &point);
    }
  }
}

// Stores the tile row by row from memory if the epilogue itself needs many registers: accumulators
// that it spilled would be in memory during the whole loop.
static void store_tile(hlo_product_t* p, const hlo_product_tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  if (!m->stores_rows || tile->height == 1) {
    store_rows(p, tile);
    return;
  }
  uint32_t pieces = tile->panel->piece_count;
  int64_t piece_bytes = (int64_t)m->lanes * m->element_bytes, row_bytes = pieces * piece_bytes;
  // The buffer has an extra line, since buffers of equal size on a function's stack share memory.
  int64_t bytes = tile->height * row_bytes + hlo_matmul_line_bytes(m);
  hlo_vir_value_t* buffer =
      hlo_vir_emit(b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0, bytes, 0, NULL);
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t to = {.base = buffer, .offset_bytes = i * piece_bytes};
    hlo_elementwise_store(b, m->dtype, tile->accumulators[i], &to);
  }
  hlo_vir_value_t* at = hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, tile->height), 1, 0);
  hlo_vir_value_t* from = hlo_plus(b, buffer, hlo_times(b, at, row_bytes));
  hlo_product_tile_t row = *tile;
  row.row = hlo_plus(b, tile->row, at);
  row.height = row.end_row = 1;
  for (uint32_t i = 0; i < pieces; ++i) {
    hlo_element_address_t address = {.base = from, .offset_bytes = i * piece_bytes};
    row.accumulators[i] = hlo_elementwise_load(b, m->dtype, tile->panel->pieces[i].lanes, &address);
  }
  store_rows(p, &row);
  hlo_vir_end(b);
}

static void store_partial_accumulators(const hlo_product_t* p, const hlo_product_tile_t* tile) {
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t address = partial_sum(p, tile, i);
    hlo_elementwise_store(p->b, p->m->dtype, tile->accumulators[i], &address);
  }
}

static void finish_tile(hlo_product_t* p, const hlo_product_tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  if (p->block && p->m->split == HLO_MATMUL_PARTS) {
    if (p->m->part_blocks > 1) add_partial_accumulators(p, tile);
    store_partial_accumulators(p, tile);
  } else if (p->block) {
    add_partial_accumulators(p, tile);
    hlo_vir_begin_if(b, hlo_product_is_last_block(p));
    store_tile(p, tile);
    hlo_vir_begin_else(b);
    store_partial_accumulators(p, tile);
    hlo_vir_end(b);
  } else {
    store_tile(p, tile);
  }
}

// Prefetches the memory of the accumulators between blocks, so that it has arrived when the tile
// ends.
static void fetch_partial_accumulators(const hlo_product_t* p, const hlo_product_tile_t* tile) {
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t address = partial_sum(p, tile, i);
    hlo_product_fetch(p, address.base, NULL, 1, address.offset_bytes);
  }
}

void hlo_product_emit_vectors(hlo_product_t* p, hlo_product_tile_t* tile,
                              hlo_vir_value_t* is_first) {
  if (p->is_join) {
    join_accumulators(p, tile);
  } else {
    start_accumulators(p, tile);
    if (p->m->part_blocks > 1) fetch_partial_accumulators(p, tile);
    hlo_matmul_strategies[p->m->strategy].add_products(p, tile, is_first);
  }
  finish_tile(p, tile);
}

void hlo_product_emit_tiles(hlo_product_t* p, hlo_product_tile_t* tile, hlo_vir_value_t* is_first) {
  (void)is_first;  // panels are packed before
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* accumulators = p->is_join ? NULL : hlo_product_multiply_tiles(p, tile);
  hlo_vir_value_t* at = hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, tile->height), 1, 0);
  hlo_product_tile_t row = *tile;
  row.row = hlo_plus(b, tile->row, at);
  row.height = row.end_row = 1;
  if (p->is_join) {
    join_accumulators(p, &row);
  } else {
    hlo_product_load_accumulators(p, &row, accumulators, at);
  }
  finish_tile(p, &row);
  hlo_vir_end(b);
}

// Emits a tile from `row` on. `is_first`: true for the tile that packs B; NULL: no tile does.
static void emit_tile(hlo_product_t* p, hlo_product_tile_t* tile, hlo_vir_value_t* row,
                      hlo_vir_value_t* is_first) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* base = tile->a;
  tile->row = row;
  tile->low_row = 0;
  tile->end_row = tile->height;
  tile->a = hlo_plus(
      b, base,
      hlo_times(b, row, p->m->rows.strides[HLO_MATMUL_A] * hlo_product_element_bytes(p, 0)));
  hlo_matmul_strategies[p->m->strategy].emit_tile(p, tile, is_first);
  tile->a = base;
}

// Returns the first row of a panel's tile. Tiles are sorted by height.
static int64_t first_row(const hlo_matmul_panel_t* panel, int64_t number_of) {
  int64_t tall = panel->tall_count;
  return number_of < tall ? number_of * panel->height
                          : tall * panel->height + (number_of - tall) * (panel->height - 1);
}

// Returns the number of blocks of rows, each as large as a unit's tiles.
static int64_t block_count(const hlo_product_t* p, const hlo_product_tile_t* tile) {
  return p->m->stripe_count * tile->panel->part_count;
}

// Directs the prefetches of a tile. The last tiles of a block prefetch the rows of B that the next
// block is packed from, one row per iteration of their innermost loop. With as many tiles as an
// iteration has steps, they prefetch all rows. Data prefetched earlier would be evicted from the
// second cache by A. Other tiles prefetch a line of A that is cached already.
static void aim_fetch(const hlo_product_t* p, hlo_product_tile_t* tile,
                      hlo_vir_value_t* tile_number) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype);
  int64_t row_bytes = m->depth[0].from[HLO_MATMUL_B] * bytes,
          tile_rows = m->block_steps / HLO_TUNING_PRODUCT_UNROLL;
  hlo_vir_value_t* first_late = hlo_add(b, tile->end_number, -HLO_TUNING_PRODUCT_UNROLL);
  hlo_vir_value_t* late = hlo_minus(b, tile_number, first_late);
  hlo_vir_value_t* is_late = hlo_vir_icmp(b, HLO_VIR_GE, late, hlo_index(b, 0));
  hlo_vir_value_t* at = hlo_plus(b, tile->next_source, hlo_times(b, late, tile_rows * row_bytes));
  // Steps are counted from the first block on.
  if (p->block) at = hlo_plus(b, at, hlo_times(b, p->block, -tile_rows * row_bytes));
  hlo_vir_value_t* way = hlo_minus(b, at, tile->a);
  tile->fetch_base = hlo_plus(b, tile->a, hlo_vir_index(b, HLO_VIR_imul, way, is_late));
  tile->fetch_stride = hlo_times(b, is_late, row_bytes / HLO_TUNING_PRODUCT_UNROLL);
}

// Emits the tiles of one height, first <= number < last, that are among the tiles low <= number <
// end of a block.
static void emit_tiles(hlo_product_t* p, hlo_product_tile_t* tile, int64_t first, int64_t last,
                       hlo_vir_value_t* low, hlo_vir_value_t* end) {
  hlo_vir_builder_t* b = p->b;
  if (first >= last) return;
  tile->edge_row = -1;
  tile->height = tile->panel->height - (first >= tile->panel->tall_count);
  if (p->m->strategy == HLO_MATMUL_IN_TILES && !p->is_join) hlo_product_configure_tiles(p, tile);
  low = hlo_most(b, low, hlo_index(b, first));
  end = hlo_least(b, end, hlo_index(b, last));
  hlo_vir_value_t* counter = hlo_vir_begin_for(b, low, end, 1, 0);
  if (tile->next_source) aim_fetch(p, tile, counter);
  int64_t offset = first_row(tile->panel, first) - first * tile->height;
  bool is_packed = p->m->operands[HLO_MATMUL_B].packing == HLO_MATMUL_BY_FIRST_TILE &&
                   !p->is_join && (first == 0 || block_count(p, tile) > 1);
  hlo_vir_value_t* is_first =
      is_packed ? hlo_vir_icmp(b, HLO_VIR_EQ, counter, tile->first_number) : NULL;
  emit_tile(p, tile, hlo_plus(b, hlo_times(b, counter, tile->height), hlo_index(b, offset)),
            is_first);
  hlo_vir_end(b);
}

// Emits the tiles of which some rows reach outside the input. Each has its own code.
static void emit_edges(hlo_product_t* p, hlo_product_tile_t* tile, int64_t first, int64_t last,
                       hlo_vir_value_t* low, hlo_vir_value_t* end) {
  hlo_vir_builder_t* b = p->b;
  for (int64_t n = first; n < last; ++n) {
    hlo_vir_value_t* is_here = hlo_vir_icmp(b, HLO_VIR_LE, low, hlo_index(b, n));
    hlo_vir_value_t* is_before = hlo_vir_icmp(b, HLO_VIR_GT, end, hlo_index(b, n));
    hlo_vir_begin_if(b, hlo_vir_index(b, HLO_VIR_iand, is_here, is_before));
    tile->edge_row = first_row(tile->panel, n);
    tile->height = tile->panel->height - (n >= tile->panel->tall_count);
    emit_tile(p, tile, hlo_index(b, tile->edge_row), NULL);
    hlo_vir_end(b);
  }
}

static bool is_tile_inside(const hlo_product_t* p, const hlo_product_tile_t* tile,
                           int64_t number_of) {
  int64_t end = first_row(tile->panel, number_of + 1);
  for (int64_t row = first_row(tile->panel, number_of); row < end; ++row) {
    if (!hlo_product_is_inside(p->m, row)) return false;
  }
  return true;
}

// Emits a panel's tiles in a part of a stripe of rows.
static void emit_panel(hlo_product_t* p, hlo_product_tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  int64_t tiles = tile->panel->tile_count, tall = tile->panel->tall_count, first = 0, last = tiles;
  while (first < tiles && !is_tile_inside(p, tile, first)) ++first;
  while (last > first && !is_tile_inside(p, tile, last - 1)) --last;
  hlo_vir_value_t* count = hlo_index(b, block_count(p, tile));
  hlo_vir_value_t* block =
      hlo_plus(b, hlo_times(b, tile->stripe, tile->panel->part_count), tile->part);
  hlo_vir_value_t* low = hlo_vir_index(b, HLO_VIR_idiv, hlo_times(b, block, tiles), count);
  hlo_vir_value_t* next = hlo_times(b, hlo_add(b, block, 1), tiles);
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_idiv, next, count);
  tile->first_number = low;
  tile->end_number = end;
  emit_edges(p, tile, 0, first, low, end);
  emit_tiles(p, tile, first, last < tall ? last : tall, low, end);
  emit_tiles(p, tile, first > tall ? first : tall, last, low, end);
  emit_edges(p, tile, last, tiles, low, end);
}

// ---- units

// Returns the source in place of the block that follows the one at `low`: below it, or in the next
// panel.
static hlo_vir_value_t* find_next_source(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                         hlo_vir_value_t* low) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype);
  int64_t row_bytes = m->depth[0].from[HLO_MATMUL_B] * bytes, panel_bytes = m->panel_stride * bytes;
  if (!p->block) return hlo_add(b, tile->source.base, panel_bytes);
  hlo_vir_value_t* below = hlo_plus(b, tile->source.base, hlo_times(b, low, row_bytes));
  hlo_vir_value_t* last = hlo_add(b, p->first_block, m->part_blocks - 1);
  int64_t up = m->part_blocks * m->block_steps * row_bytes;
  return hlo_plus(b, hlo_add(b, below, m->block_steps * row_bytes),
                  hlo_times(b, hlo_vir_icmp(b, HLO_VIR_EQ, p->block, last), panel_bytes - up));
}

// Packs a block of a panel of B to the stack or to the chunk's slice, if it is packed there. Steps
// are counted from the first block on.
static void pack_block(const hlo_product_t* p, hlo_product_tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  if (!hlo_matmul_has_blocks(m) || p->is_join) return;
  int64_t row_bytes = m->panel_width * m->element_bytes, first = hlo_matmul_first_row(m);
  int64_t bytes = m->block_steps * row_bytes + first * m->element_bytes;
  hlo_vir_value_t* buffer = p->slice;
  if (!buffer) {
    buffer = hlo_vir_emit(b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0, bytes, 0, NULL);
  }
  hlo_vir_value_t* low = p->block ? hlo_times(b, p->block, m->block_steps) : hlo_index(b, 0);
  bool is_fetched = hlo_matmul_has_slices(m) && m->columns.from[HLO_MATMUL_B] == 1 &&
                    !hlo_matmul_is_produced(&m->operands[HLO_MATMUL_B]);
  tile->next_source = is_fetched ? find_next_source(p, tile, low) : NULL;
  if (m->operands[HLO_MATMUL_B].packing != HLO_MATMUL_BY_FIRST_TILE) {
    hlo_matmul_pack_block(m, p->points, b, tile->panel, &tile->source, buffer, low);
  }
  tile->corrections = buffer;
  tile->b =
      hlo_minus(b, hlo_add(b, buffer, first * m->element_bytes), hlo_times(b, low, row_bytes));
}

// Emits all tiles of a unit, for all blocks along the contraction.
static void emit_blocks(hlo_product_t* p, hlo_product_tile_t* tile, hlo_vir_value_t* panel) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  bool is_cut = m->part_blocks > 1 && !p->is_join, has_both = m->full_panels && m->edge.piece_count;
  if (is_cut) {
    hlo_vir_value_t* end = hlo_index(b, m->block_count);
    hlo_vir_value_t* next = hlo_add(b, p->first_block, m->part_blocks);
    end = hlo_least(b, next, end);
    p->block = hlo_vir_begin_for(b, p->first_block, end, 1, 0);
  }
  if (has_both) {
    hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, panel, hlo_index(b, m->full_panels)));
  }
  for (uint32_t i = 0; i < 1u + has_both; ++i) {
    if (i) hlo_vir_begin_else(b);
    tile->panel = i ? &m->edge : hlo_matmul_main_panel(m);
    pack_block(p, tile);
    emit_panel(p, tile);
  }
  if (has_both) hlo_vir_end(b);
  if (is_cut) hlo_vir_end(b);
}

// Emits a unit. Units pass through a stripe panel by panel, so that a panel's parts are
// consecutive. A loop over parts outside the loop over panels, or both in Morton order, is up to a
// tenth slower where there is a difference at all.
static void emit_unit(hlo_product_t* p, hlo_vir_value_t* unit) {
  const hlo_matmul_t* m = p->m;
  int64_t b_bytes = hlo_matmul_has_blocks(m)
                        ? (int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype)
                        : hlo_product_element_bytes(p, HLO_MATMUL_B);
  const int64_t a_bytes = hlo_product_element_bytes(p, HLO_MATMUL_A);
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* part = NULL;  // of the contraction, with its own accumulators
  p->first_block = hlo_index(b, 0);
  if (m->split == HLO_MATMUL_PARTS) {
    hlo_vir_value_t* count = hlo_index(b, m->unit_count / m->part_count);
    part = hlo_vir_index(b, HLO_VIR_idiv, unit, count);
    p->first_block = hlo_times(b, part, m->part_blocks);
    p->block = p->is_join ? NULL : p->first_block;
    unit = hlo_vir_index(b, HLO_VIR_irem, unit, count);
  }
  hlo_vir_value_t* units = hlo_index(b, hlo_matmul_stripe_units(m));
  hlo_vir_value_t* rest = hlo_vir_index(b, HLO_VIR_idiv, unit, units);
  unit = hlo_vir_index(b, HLO_VIR_irem, unit, units);
  int64_t parts = hlo_matmul_main_panel(m)->part_count;
  hlo_vir_value_t* panel = hlo_divide(b, unit, parts);
  panel = hlo_least(b, panel, hlo_index(b, m->panel_count - 1));
  hlo_vir_value_t* stripes = hlo_index(b, m->stripe_count);
  hlo_product_tile_t tile = {.a = p->bases[HLO_MATMUL_A],
                             .b = p->bases[HLO_MATMUL_B],
                             .stripe = hlo_vir_index(b, HLO_VIR_irem, rest, stripes),
                             .part = hlo_minus(b, unit, hlo_times(b, panel, parts))};
  rest = hlo_vir_index(b, HLO_VIR_idiv, rest, stripes);
  if (m->split != HLO_MATMUL_WHOLE) {
    int64_t rows_bytes = m->rows.extent * m->accumulators_stride * m->element_bytes;
    tile.partial_accumulators =
        m->split == HLO_MATMUL_BLOCKS_IN_OUTPUT
            ? p->partial_accumulators
            : hlo_plus(b, p->partial_accumulators, hlo_times(b, rest, rows_bytes));
    if (part && !p->is_join) {
      tile.partial_accumulators =
          hlo_plus(b, tile.partial_accumulators, hlo_times(b, part, m->accumulators_bytes));
    }
  }
  for (uint32_t i = m->outer_count; i-- > 0;) {
    const hlo_matmul_dim_t* dim = &m->outer[i];
    hlo_vir_value_t* extent = hlo_index(b, dim->extent);
    hlo_vir_value_t* at = hlo_vir_index(b, HLO_VIR_irem, rest, extent);
    rest = hlo_vir_index(b, HLO_VIR_idiv, rest, extent);
    p->loops[dim->loop] = at;
    uint32_t place = dim->place[HLO_MATMUL_B];
    if (place) tile.source.places[place - 1] = at;
    if (m->split == HLO_MATMUL_BLOCKS_IN_OUTPUT) {
      int64_t stride = hlo_matmul_output_stride(m, dim->loop);
      tile.partial_accumulators =
          hlo_plus(b, tile.partial_accumulators, hlo_times(b, at, stride * m->element_bytes));
    }
    tile.a = hlo_plus(b, tile.a, hlo_times(b, at, dim->strides[HLO_MATMUL_A] * a_bytes));
    tile.b = hlo_plus(b, tile.b, hlo_times(b, at, dim->strides[HLO_MATMUL_B] * b_bytes));
    if (!dim->wrap_at) continue;
    hlo_vir_value_t* is_wrapped = hlo_vir_icmp(b, HLO_VIR_GE, at, hlo_index(b, dim->wrap_at));
    tile.a = hlo_plus(b, tile.a, hlo_times(b, is_wrapped, dim->wrap[HLO_MATMUL_A] * a_bytes));
    if (hlo_matmul_is_packed(&m->operands[HLO_MATMUL_B])) continue;  // handled while packing
    tile.b = hlo_plus(b, tile.b, hlo_times(b, is_wrapped, dim->wrap[HLO_MATMUL_B] * b_bytes));
  }
  tile.b = hlo_plus(b, tile.b, hlo_times(b, panel, m->panel_stride * b_bytes));
  if (m->strategy == HLO_MATMUL_BY_CHANNEL) {
    int64_t width = m->panel_width / m->repeat * m->columns.strides[HLO_MATMUL_A];
    tile.a = hlo_plus(b, tile.a, hlo_times(b, panel, width * a_bytes));
  }
  tile.column = hlo_times(b, panel, m->panel_width);
  if (m->split != HLO_MATMUL_WHOLE) {
    tile.partial_accumulators =
        hlo_plus(b, tile.partial_accumulators, hlo_times(b, tile.column, m->element_bytes));
  }
  tile.source.base = tile.b;
  tile.source.codes = p->codes, tile.source.scales = p->scales;
  if (m->columns.place[HLO_MATMUL_B]) {
    tile.source.places[m->columns.place[HLO_MATMUL_B] - 1] = tile.column;
  }
  tile.corrections = hlo_minus(b, tile.b, hlo_index(b, hlo_matmul_first_row(m) * b_bytes));
  emit_blocks(p, &tile, panel);
}

static void emit_product(const hlo_kernel_t* kernel, const hlo_point_emitter_t* points,
                         hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                         hlo_vir_value_t* chunk, bool is_join) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  const hlo_fusion_t* fusion = kernel->fusion;
  hlo_product_t p = {.kernel = kernel, .m = m, .points = points, .b = b, .is_join = is_join};
  for (uint32_t side = 0; side < 2; ++side) {
    const hlo_matmul_operand_t* operand = &m->operands[side];
    p.bases[side] = hlo_matmul_source(kernel, side, points, b, addresses);
    p.dtypes[side] = operand->dtype;
    if (side == HLO_MATMUL_B && hlo_matmul_has_blocks(m)) p.dtypes[side] = m->dtype;
    if (!hlo_matmul_is_packed(operand)) continue;
    p.bases[side] = hlo_add(b, addresses[fusion->input_count + fusion->output_count],
                            (int64_t)m->copies[HLO_MATMUL_PACK][side].offset_bytes);
    p.dtypes[side] = m->dtype;
    if (side == HLO_MATMUL_B) {
      p.bases[side] =
          hlo_add(b, p.bases[side], hlo_matmul_first_row(m) * hlo_product_element_bytes(&p, side));
    }
  }
  int64_t units = is_join ? m->unit_count / m->part_count : m->unit_count;
  hlo_vir_value_t *low = hlo_index(b, 0), *end = hlo_index(b, units);
  if (chunk) {
    hlo_vir_value_t* chunks = hlo_index(b, is_join ? units : (int64_t)m->chunk_count);
    low = hlo_vir_index(b, HLO_VIR_idiv, hlo_times(b, chunk, units), chunks);
    end = hlo_vir_index(b, HLO_VIR_idiv, hlo_times(b, hlo_add(b, chunk, 1), units), chunks);
  }
  if (m->split != HLO_MATMUL_WHOLE) {
    uint32_t place = fusion->input_count + (m->split == HLO_MATMUL_BLOCKS_IN_OUTPUT
                                                ? (uint32_t)m->accumulators_output
                                                : fusion->output_count);
    p.partial_accumulators = hlo_add(b, addresses[place], (int64_t)m->accumulators_offset);
  }
  hlo_matmul_source_t codes = {0};
  hlo_matmul_locate_codes(m, HLO_MATMUL_B, addresses, &codes);
  p.codes = codes.codes, p.scales = codes.scales;
  if (hlo_matmul_has_slices(m)) {
    p.slice = hlo_add(b, addresses[fusion->input_count + fusion->output_count],
                      (int64_t)m->slices_offset);
    if (chunk) p.slice = hlo_plus(b, p.slice, hlo_times(b, chunk, (int64_t)m->slice_bytes));
  }
  emit_unit(&p, hlo_vir_begin_for(b, low, end, 1, 0));
  hlo_vir_end(b);
  if (m->strategy == HLO_MATMUL_IN_TILES && !is_join) hlo_product_release_tiles(&p);
}

hlo_vir_value_t* hlo_matmul_source(const hlo_kernel_t* kernel, uint32_t side,
                                   const hlo_point_emitter_t* points, hlo_vir_builder_t* b,
                                   hlo_vir_value_t* const* addresses) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  const hlo_fusion_t* fusion = kernel->fusion;
  const hlo_matmul_operand_t* operand = &m->operands[side];
  if (hlo_matmul_is_produced(operand)) return hlo_index(b, 0);
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(operand->dtype), offset = operand->first * bytes;
  hlo_vir_value_t* base = addresses[operand->input];
  if (operand->prologue.origin == HLO_MATMUL_FROM_VIEW) {
    base = hlo_plus(b, base, hlo_times(b, hlo_point_view_start(points, side), bytes));
  }
  if (m->padding[side].is_used) {
    base = addresses[fusion->input_count + fusion->output_count];
    offset += (int64_t)m->copies[HLO_MATMUL_PAD][side].offset_bytes;
  }
  return hlo_add(b, base, offset);
}

void hlo_product_emit_phase(const hlo_kernel_t* kernel, uint32_t phase,
                            const hlo_point_emitter_t* points, hlo_vir_builder_t* b,
                            hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk) {
  switch (hlo_matmul_phase(hlo_matmul_of(kernel), phase)) {
    case HLO_MATMUL_PAD: hlo_matmul_emit_padding(kernel, b, addresses, chunk); break;
    case HLO_MATMUL_PACK: hlo_matmul_emit_packing(kernel, points, b, addresses, chunk); break;
    case HLO_MATMUL_MULTIPLY: emit_product(kernel, points, b, addresses, chunk, false); break;
    case HLO_MATMUL_JOIN: emit_product(kernel, points, b, addresses, chunk, true); break;
  }
}
