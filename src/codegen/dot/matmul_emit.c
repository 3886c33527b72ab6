// SPDX-License-Identifier: Apache-2.0
// Vector IR of matrix products: units of panels and blocks of rows, register tiles, the loop of
// fused multiply-adds (see matmul.h).
#include "codegen/dot/matmul_impl.h"
#include "codegen/elementwise.h"
#include "codegen/math/math.h"

enum { UNROLL = 4, STRAIGHT_STEPS = 16, MAX_SUMS = 64 };

typedef struct product {
  const hlo_kernel_t* kernel;
  const hlo_matmul_t* m;
  const hlo_point_emitter_t* points;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* bases[2];  // of the operands where the product reads them
  hlo_dtype_t dtypes[2];      // there
  hlo_vir_value_t* digits[HLO_TILED_MAX_DIGITS];
  hlo_vir_value_t* block;  // along the contraction, where it is cut
  hlo_vir_value_t* partial_sums;
  hlo_vir_value_t* slice;  // of the chunk, for a block of B
} product_t;

/// Where a tile is: its operands' first elements and its first row and column.
typedef struct tile {
  const hlo_matmul_panel_t* panel;
  int64_t height;
  hlo_vir_value_t *a, *b;
  hlo_vir_value_t *row, *column;
  hlo_vir_value_t* partial_sums;  // of the panel's first row
  hlo_vir_value_t* source;        // of B in place, where blocks of it are packed
  hlo_vir_value_t* corrections;   // of sums
  hlo_vir_value_t* sums[MAX_SUMS];
} tile_t;

static int64_t bytes_of(const product_t* p, uint32_t side) {
  return (int64_t)hlo_dtype_size_bytes(p->dtypes[side]);
}

static uint32_t scale_of(int64_t bytes) {
  return (uint32_t)__builtin_ctzll((uint64_t)bytes);
}

// ---- one step along the contraction

/// Positions of both operands along the innermost contracting loop: an index, and elements beyond
/// it.
typedef struct step {
  hlo_vir_value_t* index[2];  // NULL: none
  int64_t beyond[2];
} step_t;

// NULL: all lanes.
static hlo_vir_value_t* mask_of(hlo_vir_builder_t* b, const hlo_matmul_piece_t* piece) {
  if (piece->active == piece->lanes) return NULL;
  hlo_vir_value_t* active = number(b, piece->active);
  return hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, piece->lanes), 0, 0, 1,
                      &active);
}

// A vector of an operand, `beyond` elements behind where the step is.
static hlo_vir_value_t* load_vector(const product_t* p, const tile_t* tile, const step_t* step,
                                    uint32_t side, int64_t beyond,
                                    const hlo_matmul_piece_t* piece) {
  hlo_dtype_t dtype = p->dtypes[side];
  hlo_element_address_t address = {
      .base = side == HLO_MATMUL_A ? tile->a : tile->b,
      .index = step->index[side],
      .offset_bytes = (step->beyond[side] + beyond + piece->offset) * bytes_of(p, side)};
  bool is_whole = p->m->operands[side].is_packed || p->m->packs_blocks;
  if (!is_whole) address.mask = mask_of(p->b, piece);
  hlo_vir_value_t* value = hlo_elementwise_load(p->b, dtype, piece->lanes, &address);
  return hlo_vmath_convert(p->b, dtype, p->m->dtype, value);
}

static hlo_vir_value_t* load_a(const product_t* p, const tile_t* tile, const step_t* step,
                               int64_t row, uint32_t lanes) {
  hlo_vir_builder_t* b = p->b;
  hlo_dtype_t dtype = p->dtypes[HLO_MATMUL_A];
  int64_t offset =
      (step->beyond[HLO_MATMUL_A] + row * p->m->rows.strides[HLO_MATMUL_A]) * bytes_of(p, 0);
  hlo_vir_type_t type = hlo_vmath_type(p->m->dtype, lanes);
  hlo_vir_type_t memory = hlo_vmath_memory_type(dtype, lanes);
  if (hlo_vir_type_equal(type, memory) || p->m->group > 1) {
    hlo_vir_value_t* operands[] = {tile->a, step->index[HLO_MATMUL_A]};
    hlo_vir_value_t* splat =
        hlo_vir_emit(b, HLO_VIR_load_splat, type, scale_of(bytes_of(p, 0)), offset, 2, operands);
    return p->m->operands[HLO_MATMUL_A].is_packed ? splat : hlo_matmul_flip(p->m, b, splat);
  }
  hlo_element_address_t address = {
      .base = tile->a, .index = step->index[HLO_MATMUL_A], .offset_bytes = offset};
  hlo_vir_value_t* value = hlo_elementwise_load(b, dtype, 1, &address);
  value = hlo_vmath_convert(b, dtype, p->m->dtype, value);
  return hlo_vir_emit(b, HLO_VIR_splat, type, 0, 0, 1, &value);
}

static void add_product(const product_t* p, hlo_vir_value_t* sum, hlo_vir_value_t* x,
                        hlo_vir_value_t* y) {
  hlo_vir_builder_t* b = p->b;
  if (p->m->group > 1) {
    hlo_vir_set(b, sum, hlo_matmul_add_groups(p->m, b, sum, x, y));
    return;
  }
  bool is_float = sum->type.elem == HLO_VIR_F32 || sum->type.elem == HLO_VIR_F64;
  hlo_vir_value_t* next =
      is_float ? hlo_vir_ternary(b, HLO_VIR_fma, x, y, sum)
               : hlo_vir_binary(b, HLO_VIR_add, sum, hlo_vir_binary(b, HLO_VIR_mul, x, y));
  hlo_vir_set(b, sum, next);
}

static void emit_step(const product_t* p, const tile_t* tile, const step_t* step) {
  const hlo_matmul_panel_t* panel = tile->panel;
  hlo_vir_value_t* rows[HLO_MATMUL_MAX_PIECES];
  for (uint32_t i = 0; i < panel->piece_count; ++i) {
    rows[i] = load_vector(p, tile, step, HLO_MATMUL_B, 0, &panel->pieces[i]);
  }
  for (int64_t r = 0; r < tile->height; ++r) {
    hlo_vir_value_t* factor = NULL;
    for (uint32_t i = 0; i < panel->piece_count; ++i) {
      uint32_t lanes = panel->pieces[i].lanes;
      if (p->m->is_by_channel) {
        factor = load_vector(p, tile, step, HLO_MATMUL_A, r * p->m->rows.strides[HLO_MATMUL_A],
                             &panel->pieces[i]);
      } else if (!factor || factor->type.lanes != lanes) {
        factor = load_a(p, tile, step, r, lanes);
      }
      add_product(p, tile->sums[r * panel->piece_count + i], factor, rows[i]);
    }
  }
}

// `steps` steps from `counter` (NULL: from 0) on.
static void emit_steps(const product_t* p, const tile_t* tile, hlo_vir_value_t* counter,
                       int64_t first, int64_t steps) {
  const hlo_matmul_dim_t* dim = &p->m->depth[p->m->depth_count - 1];
  for (int64_t u = 0; u < steps; ++u) {
    step_t step = {0};
    for (uint32_t side = 0; side < 2; ++side) {
      int64_t stride = dim->strides[side];
      if (counter) step.index[side] = times(p->b, counter, stride);
      step.beyond[side] = (first + u) * stride;
    }
    emit_step(p, tile, &step);
  }
}

static hlo_vir_value_t* is_last_block(const product_t* p) {
  return hlo_vir_icmp(p->b, HLO_VIR_EQ, p->block, number(p->b, p->m->depth_blocks - 1));
}

static void emit_innermost(const product_t* p, const tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  int64_t extent = p->m->depth[p->m->depth_count - 1].extent;
  if (extent <= STRAIGHT_STEPS) {
    emit_steps(p, tile, NULL, 0, extent);
    return;
  }
  int64_t whole = extent / UNROLL * UNROLL;
  hlo_vir_value_t *low = number(b, 0), *end = number(b, whole);
  if (p->block) {
    low = times(b, p->block, p->m->block_steps);
    end = hlo_vir_index(b, HLO_VIR_imin, plus(b, low, number(b, p->m->block_steps)), end);
  }
  hlo_vir_value_t* counter = hlo_vir_begin_for(b, low, end, UNROLL, 0);
  emit_steps(p, tile, counter, 0, UNROLL);
  hlo_vir_end(b);
  if (whole == extent) return;
  if (p->block) hlo_vir_begin_if(b, is_last_block(p));
  emit_steps(p, tile, NULL, whole, extent - whole);
  if (p->block) hlo_vir_end(b);
}

// ---- lanes along the contraction

// A vector of elements along the contraction, of A's row or B's column with that number.
static hlo_vir_value_t* load_along(const product_t* p, const tile_t* tile, uint32_t side,
                                   int64_t number_of, hlo_vir_value_t* at, hlo_vir_value_t* mask,
                                   uint32_t lanes) {
  const hlo_matmul_dim_t* dim = side == HLO_MATMUL_A ? &p->m->rows : &p->m->columns;
  hlo_element_address_t address = {
      .base = side == HLO_MATMUL_A ? tile->a : tile->b,
      .index = at,
      .mask = mask,
      .offset_bytes = number_of * dim->strides[side] * bytes_of(p, side)};
  hlo_vir_value_t* value = hlo_elementwise_load(p->b, p->dtypes[side], lanes, &address);
  return hlo_vmath_convert(p->b, p->dtypes[side], p->m->dtype, value);
}

static void add_along(const product_t* p, const tile_t* tile, hlo_vir_value_t* at,
                      hlo_vir_value_t* mask, uint32_t lanes) {
  uint32_t count = tile->panel->piece_count;
  hlo_vir_value_t* columns[HLO_MATMUL_MAX_PIECES];
  for (uint32_t i = 0; i < count; ++i) {
    columns[i] = load_along(p, tile, HLO_MATMUL_B, tile->panel->pieces[i].offset, at, mask, lanes);
  }
  for (int64_t r = 0; r < tile->height; ++r) {
    hlo_vir_value_t* row = load_along(p, tile, HLO_MATMUL_A, r, at, mask, lanes);
    for (uint32_t i = 0; i < count; ++i) {
      add_product(p, tile->sums[r * count + i], row, columns[i]);
    }
  }
}

// All lanes to one.
static hlo_vir_value_t* fold_lanes(hlo_vir_builder_t* b, hlo_vir_value_t* sum) {
  bool is_float = sum->type.elem == HLO_VIR_F32 || sum->type.elem == HLO_VIR_F64;
  while (sum->type.lanes > 1) {
    hlo_vir_type_t half = {sum->type.elem, sum->type.lanes / 2};
    hlo_vir_value_t* lower = hlo_vir_emit(b, HLO_VIR_lower_half, half, 0, 0, 1, &sum);
    hlo_vir_value_t* upper = hlo_vir_emit(b, HLO_VIR_upper_half, half, 0, 0, 1, &sum);
    sum = hlo_vir_binary(b, is_float ? HLO_VIR_fadd : HLO_VIR_add, lower, upper);
  }
  return sum;
}

// What vectors leave over comes in a masked one or, where there are no masks, one by one.
static void emit_along(const product_t* p, tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  int64_t lanes = p->m->lanes, extent = p->m->depth[0].extent, whole = extent / lanes * lanes;
  hlo_vir_value_t* at = hlo_vir_begin_for(b, number(b, 0), number(b, whole), lanes, 0);
  add_along(p, tile, at, NULL, p->m->lanes);
  hlo_vir_end(b);
  if (whole < extent && p->m->has_masks) {
    hlo_vir_value_t* active = number(b, extent - whole);
    hlo_vir_value_t* mask = hlo_vir_emit(b, HLO_VIR_mask_first,
                                         hlo_vir_type(HLO_VIR_MASK, p->m->lanes), 0, 0, 1, &active);
    add_along(p, tile, number(b, whole), mask, p->m->lanes);
    whole = extent;
  }
  uint32_t count = (uint32_t)tile->height * tile->panel->piece_count;
  for (uint32_t i = 0; i < count; ++i) {
    tile->sums[i] = fold_lanes(b, tile->sums[i]);
    if (whole < extent) tile->sums[i] = hlo_vir_var(b, tile->sums[i]);
  }
  if (whole == extent) return;
  add_along(p, tile, hlo_vir_begin_for(b, number(b, whole), number(b, extent), 1, 0), NULL, 1);
  hlo_vir_end(b);
}

// ---- all loops along the contraction

// The loops along the contraction from `level` on.
static void emit_depth(const product_t* p, tile_t* tile, uint32_t level) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  if (level + 1 == m->depth_count) {
    emit_innermost(p, tile);
    return;
  }
  hlo_vir_value_t *a = tile->a, *rows = tile->b;
  hlo_vir_value_t* counter =
      hlo_vir_begin_for(b, number(b, 0), number(b, m->depth[level].extent), 1, 0);
  tile->a = plus(b, a, times(b, counter, m->depth[level].strides[HLO_MATMUL_A] * bytes_of(p, 0)));
  tile->b =
      plus(b, rows, times(b, counter, m->depth[level].strides[HLO_MATMUL_B] * bytes_of(p, 1)));
  emit_depth(p, tile, level + 1);
  hlo_vir_end(b);
  tile->a = a;
  tile->b = rows;
}

// ---- tiles

static uint32_t sum_count(const tile_t* tile) {
  return (uint32_t)tile->height * tile->panel->piece_count;
}

// Where a sum is between blocks.
static hlo_element_address_t partial_sum(const product_t* p, const tile_t* tile, uint32_t number) {
  const hlo_matmul_piece_t* piece = &tile->panel->pieces[number % tile->panel->piece_count];
  int64_t row = number / tile->panel->piece_count * p->m->sums_stride;
  int64_t column = piece->offset;
  hlo_vir_value_t* first = times(p->b, tile->row, p->m->sums_stride * p->m->element_bytes);
  return (hlo_element_address_t){.base = plus(p->b, tile->partial_sums, first),
                                 .mask = p->m->sums_in_output ? mask_of(p->b, piece) : NULL,
                                 .offset_bytes = (row + column) * p->m->element_bytes};
}

static void start_sums(const product_t* p, tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    const hlo_matmul_piece_t* piece = &tile->panel->pieces[i % tile->panel->piece_count];
    uint32_t lanes = p->m->is_by_depth ? p->m->lanes : piece->lanes;
    hlo_vir_value_t* first = hlo_vir_const_bits(b, hlo_vmath_type(p->m->dtype, lanes), 0);
    if (p->m->is_flipped) {
      hlo_element_address_t address = {.base = tile->corrections,
                                       .offset_bytes = (int64_t)piece->offset * bytes_of(p, 1)};
      first = hlo_elementwise_load(b, p->m->dtype, piece->lanes, &address);
    }
    tile->sums[i] = hlo_vir_var(b, first);
  }
  if (!p->block) return;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, p->block, number(b, 0)));
  for (uint32_t i = 0; i < sum_count(tile); ++i) {
    hlo_element_address_t address = partial_sum(p, tile, i);
    uint32_t lanes = tile->sums[i]->type.lanes;
    hlo_vir_value_t* sum = hlo_elementwise_load(b, p->m->dtype, lanes, &address);
    // Blocks that are packed apart have their own corrections.
    bool is_corrected = p->m->is_flipped && p->m->packs_blocks;
    if (is_corrected) sum = hlo_vir_binary(b, HLO_VIR_add, sum, tile->sums[i]);
    hlo_vir_set(b, tile->sums[i], sum);
  }
  hlo_vir_end(b);
}

static void store_tile(product_t* p, const tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  hlo_dtype_t dtype = m->contraction.node->results[0].type->dtype;
  for (int64_t r = 0; r < tile->height; ++r) {
    if (m->rows.digit >= 0) p->digits[m->rows.digit] = plus(b, tile->row, number(b, r));
    for (uint32_t i = 0; i < tile->panel->piece_count; ++i) {
      const hlo_matmul_piece_t* piece = &tile->panel->pieces[i];
      p->digits[m->columns.digit] = plus(b, tile->column, number(b, piece->offset));
      hlo_vir_value_t* sum = tile->sums[r * tile->panel->piece_count + i];
      hlo_point_t point = {.digits = p->digits,
                           .lane_digit = (uint32_t)m->columns.digit,
                           .lanes = piece->lanes,
                           .value = hlo_vmath_convert(b, m->dtype, dtype, sum),
                           .mask = mask_of(b, piece)};
      hlo_point_emit(p->points, &point);
    }
  }
}

static void finish_tile(product_t* p, const tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  if (p->block) {
    hlo_vir_begin_if(b, is_last_block(p));
    store_tile(p, tile);
    hlo_vir_begin_else(b);
    for (uint32_t i = 0; i < sum_count(tile); ++i) {
      hlo_element_address_t address = partial_sum(p, tile, i);
      hlo_elementwise_store(b, p->m->dtype, tile->sums[i], &address);
    }
    hlo_vir_end(b);
  } else {
    store_tile(p, tile);
  }
}

// The tiles low <= number < end of one height; `first` is the row of tile number `offset`.
static void emit_tiles(product_t* p, tile_t* tile, int64_t first, int64_t offset,
                       hlo_vir_value_t* low, hlo_vir_value_t* end) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* counter = hlo_vir_begin_for(b, low, end, 1, 0);
  hlo_vir_value_t* row =
      plus(b, times(b, counter, tile->height), number(b, first - offset * tile->height));
  hlo_vir_value_t* base = tile->a;
  tile->row = row;
  tile->a = plus(b, base, times(b, row, p->m->rows.strides[HLO_MATMUL_A] * bytes_of(p, 0)));
  start_sums(p, tile);
  if (p->m->is_by_depth) {
    emit_along(p, tile);
  } else {
    emit_depth(p, tile, 0);
  }
  finish_tile(p, tile);
  tile->a = base;
  hlo_vir_end(b);
}

// A panel's tiles in a block of rows.
static void emit_panel(product_t* p, tile_t* tile, hlo_vir_value_t* block) {
  const hlo_matmul_panel_t* panel = tile->panel;
  hlo_vir_builder_t* b = p->b;
  int64_t tiles = panel->tile_count, tall = panel->tall_count;
  int64_t per_block = (tiles + p->m->block_count - 1) / p->m->block_count;
  hlo_vir_value_t* low = times(b, block, per_block);
  hlo_vir_value_t* end =
      hlo_vir_index(b, HLO_VIR_imin, plus(b, low, number(b, per_block)), number(b, tiles));
  hlo_vir_value_t* limit = number(b, tall);
  tile->height = panel->height;
  emit_tiles(p, tile, 0, 0, low, hlo_vir_index(b, HLO_VIR_imin, end, limit));
  if (tall == tiles) return;
  tile->height = panel->height - 1;
  emit_tiles(p, tile, tall * panel->height, tall, hlo_vir_index(b, HLO_VIR_imax, low, limit), end);
}

// ---- units

// A block of a panel of B to the stack or the chunk's slice, if it is packed there. Steps are counted from the first
// block's on.
static void pack_block(const product_t* p, tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  if (!m->packs_blocks) return;
  int64_t row_bytes = m->panel_width * m->element_bytes, first = hlo_matmul_first_row(m);
  int64_t bytes = m->block_steps * row_bytes + first * m->element_bytes;
  hlo_vir_value_t* buffer = p->slice;
  if (!buffer) {
    buffer = hlo_vir_emit(b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0, bytes, 0, NULL);
  }
  hlo_vir_value_t* low = times(b, p->block, m->block_steps);
  hlo_matmul_pack_block(m, b, tile->panel, tile->source, buffer, low);
  tile->corrections = buffer;
  tile->b = hlo_vir_index(b, HLO_VIR_isub, plus(b, buffer, number(b, first * m->element_bytes)),
                          times(b, low, row_bytes));
}

// All tiles of a panel in a block of rows, for all blocks along the contraction.
static void emit_blocks(product_t* p, tile_t* tile, hlo_vir_value_t* panel,
                        hlo_vir_value_t* block) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  bool is_cut = m->depth_blocks > 0, has_both = m->full_panels && m->edge.piece_count;
  if (is_cut) p->block = hlo_vir_begin_for(b, number(b, 0), number(b, m->depth_blocks), 1, 0);
  if (has_both) {
    hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, panel, number(b, m->full_panels)));
  }
  tile->panel = m->full_panels ? &m->full : &m->edge;
  pack_block(p, tile);
  emit_panel(p, tile, block);
  if (has_both) {
    hlo_vir_begin_else(b);
    tile->panel = &m->edge;
    pack_block(p, tile);
    emit_panel(p, tile, block);
    hlo_vir_end(b);
  }
  if (is_cut) hlo_vir_end(b);
}

static void emit_unit(product_t* p, hlo_vir_value_t* unit) {
  const hlo_matmul_t* m = p->m;
  int64_t b_bytes = m->packs_blocks ? (int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype)
                                    : bytes_of(p, HLO_MATMUL_B);
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* panels = number(b, m->panel_count);
  hlo_vir_value_t* panel = hlo_vir_index(b, HLO_VIR_irem, unit, panels);
  hlo_vir_value_t* rest = hlo_vir_index(b, HLO_VIR_idiv, unit, panels);
  hlo_vir_value_t* blocks = number(b, m->block_count);
  hlo_vir_value_t* block = hlo_vir_index(b, HLO_VIR_irem, rest, blocks);
  rest = hlo_vir_index(b, HLO_VIR_idiv, rest, blocks);
  tile_t tile = {.a = p->bases[HLO_MATMUL_A], .b = p->bases[HLO_MATMUL_B]};
  if (m->depth_blocks) {
    int64_t rows_bytes = m->rows.extent * m->sums_stride * m->element_bytes;
    tile.partial_sums =
        m->sums_in_output ? p->partial_sums : plus(b, p->partial_sums, times(b, rest, rows_bytes));
  }
  for (uint32_t i = m->outer_count; i-- > 0;) {
    const hlo_matmul_dim_t* dim = &m->outer[i];
    hlo_vir_value_t* extent = number(b, dim->extent);
    hlo_vir_value_t* at = hlo_vir_index(b, HLO_VIR_irem, rest, extent);
    rest = hlo_vir_index(b, HLO_VIR_idiv, rest, extent);
    p->digits[dim->digit] = at;
    if (m->sums_in_output) {
      int64_t stride = hlo_matmul_output_stride(m, dim->digit);
      tile.partial_sums = plus(b, tile.partial_sums, times(b, at, stride * m->element_bytes));
    }
    tile.a = plus(b, tile.a, times(b, at, dim->strides[HLO_MATMUL_A] * bytes_of(p, 0)));
    tile.b = plus(b, tile.b, times(b, at, dim->strides[HLO_MATMUL_B] * b_bytes));
    if (!dim->wrap_at) continue;
    hlo_vir_value_t* is_wrapped = hlo_vir_icmp(b, HLO_VIR_GE, at, number(b, dim->wrap_at));
    tile.a = plus(b, tile.a, times(b, is_wrapped, dim->wrap[HLO_MATMUL_A] * bytes_of(p, 0)));
    if (m->operands[HLO_MATMUL_B].is_packed) continue;  // was regarded then
    tile.b = plus(b, tile.b, times(b, is_wrapped, dim->wrap[HLO_MATMUL_B] * b_bytes));
  }
  tile.b = plus(b, tile.b, times(b, panel, m->panel_stride * b_bytes));
  if (m->is_by_channel) {
    tile.a = plus(b, tile.a, times(b, panel, m->panel_width * bytes_of(p, 0)));
  }
  tile.column = times(b, panel, m->panel_width);
  if (m->depth_blocks) {
    tile.partial_sums = plus(b, tile.partial_sums, times(b, tile.column, m->element_bytes));
  }
  tile.source = tile.b;
  tile.corrections =
      hlo_vir_index(b, HLO_VIR_isub, tile.b, number(b, hlo_matmul_first_row(m) * b_bytes));
  emit_blocks(p, &tile, panel, block);
}

static void emit_product(const hlo_kernel_t* kernel, const hlo_point_emitter_t* points,
                         hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                         hlo_vir_value_t* chunk) {
  const hlo_matmul_t* m = kernel->matmul;
  const hlo_fusion_t* fusion = kernel->fusion;
  product_t p = {.kernel = kernel, .m = m, .points = points, .b = b};
  for (uint32_t side = 0; side < 2; ++side) {
    const hlo_matmul_operand_t* operand = &m->operands[side];
    p.bases[side] = hlo_matmul_source(kernel, side, b, addresses);
    p.dtypes[side] = operand->dtype;
    if (side == HLO_MATMUL_B && m->packs_blocks) p.dtypes[side] = m->dtype;
    if (!operand->is_packed) continue;
    p.bases[side] = plus(b, addresses[fusion->input_count + fusion->output_count],
                         number(b, (int64_t)operand->offset_bytes));
    p.dtypes[side] = m->dtype;
    if (side == HLO_MATMUL_B) {
      p.bases[side] =
          plus(b, p.bases[side], number(b, hlo_matmul_first_row(m) * bytes_of(&p, side)));
    }
  }
  hlo_vir_value_t* low = chunk ? times(b, chunk, m->units_per_chunk) : number(b, 0);
  hlo_vir_value_t* end = number(b, m->unit_count);
  if (chunk) {
    end = hlo_vir_index(b, HLO_VIR_imin, plus(b, low, number(b, m->units_per_chunk)), end);
  }
  if (m->depth_blocks) {
    uint32_t place = fusion->input_count +
                     (m->sums_in_output ? (uint32_t)m->sums_output : fusion->output_count);
    p.partial_sums = plus(b, addresses[place], number(b, (int64_t)m->sums_offset));
  }
  if (m->packs_slices) {
    p.slice = plus(b, addresses[fusion->input_count + fusion->output_count],
                   number(b, (int64_t)m->slices_offset));
    if (chunk) p.slice = plus(b, p.slice, times(b, chunk, (int64_t)m->slice_bytes));
  }
  emit_unit(&p, hlo_vir_begin_for(b, low, end, 1, 0));
  hlo_vir_end(b);
}

hlo_vir_value_t* hlo_matmul_source(const hlo_kernel_t* kernel, uint32_t side, hlo_vir_builder_t* b,
                                   hlo_vir_value_t* const* addresses) {
  const hlo_matmul_t* m = kernel->matmul;
  const hlo_fusion_t* fusion = kernel->fusion;
  const hlo_matmul_operand_t* operand = &m->operands[side];
  int64_t offset = operand->first * (int64_t)hlo_dtype_size_bytes(operand->dtype);
  hlo_vir_value_t* base = addresses[operand->input];
  if (m->padding[side].is_used) {
    base = addresses[fusion->input_count + fusion->output_count];
    offset += (int64_t)m->padding[side].offset_bytes;
  }
  return plus(b, base, number(b, offset));
}

void hlo_matmul_emit(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
                     hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                     hlo_vir_value_t* chunk) {
  switch (hlo_matmul_phase(kernel->matmul, phase)) {
    case HLO_MATMUL_PAD: hlo_matmul_emit_padding(kernel, b, addresses, chunk); break;
    case HLO_MATMUL_PACK: hlo_matmul_emit_packing(kernel, b, addresses, chunk); break;
    case HLO_MATMUL_MULTIPLY: emit_product(kernel, points, b, addresses, chunk); break;
  }
}
