// SPDX-License-Identifier: Apache-2.0
// Products by tile registers (AMX): which ones, and their vector IR. Four tiles of sums, two of
// rows of A by two of columns of B, are summed up along the contraction, sixteen groups a step;
// then they go through memory, row by row, to what follows the product. B's panels are packed in
// groups as for vectors, A is read in place where its rows are whole steps, else packed; both are
// filled up with zeros. Rows need no filling up: tiles have as many as are left.
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/vir/tile.h"

enum {
  ROWS = HLO_VIR_TILE_ROWS,
  ROW_BYTES = HLO_VIR_TILE_ROW_BYTES,
  GROUP_BYTES = 4,
  COLUMNS = ROW_BYTES / GROUP_BYTES,  // and groups of a step
  BESIDE = 2,                         // tiles of rows and of columns
  LEAST_ROWS = 8,                     // B is packed, which pays when it is used for so many rows
  VECTORS_OF_ACCUMULATORS = 4 * ROWS,         // to configure, and to store and load a tile of sums
  FIRST_A = BESIDE * BESIDE,          // tiles: first the sums, then those of A, then those of B
  FIRST_B = FIRST_A + BESIDE,
};
// Not the size of any other part of a function's stack, which would share it.
static const int64_t BUFFER_BYTES = BESIDE * ROWS * BESIDE * ROW_BYTES + ROW_BYTES;

// ---- which products

static double extent_of(const hlo_matmul_dim_t* loops, uint32_t count) {
  double extent = 1;
  for (uint32_t i = 0; i < count; ++i) extent *= (double)loops[i].extent;
  return extent;
}

static const hlo_tile_atom_t* find_atom(const hlo_tile_target_t* target, hlo_dtype_t operand,
                                        bool is_tile) {
  for (uint32_t i = 0; i < target->atom_count; ++i) {
    const hlo_tile_atom_t* atom = &target->atoms[i];
    bool is_of_rows = atom->op == HLO_TILE_ATOM_PRODUCT && atom->rows > 1;
    if (atom->op == HLO_TILE_ATOM_PRODUCT && is_of_rows == is_tile && atom->operand == operand) {
      return atom;
    }
  }
  return NULL;
}

// The time of all of a product in so many atoms, each of whose operands are loaded once for two.
static double time_of(const hlo_tile_target_t* target, const hlo_matmul_t* m,
                      const hlo_tile_atom_t* atom) {
  double tiles = extent_of(m->outer, m->outer_count) *
                 (double)divide_up(m->rows.extent, atom->rows) *
                 (double)divide_up(m->columns.extent, atom->columns);
  uint32_t inner = m->depth_count - 1;
  double products =
      tiles * extent_of(m->depth, inner) * (double)divide_up(m->depth[inner].extent, atom->depth);
  bool is_tile = atom->rows > 1;
  return hlo_tile_work_ns(
      target, &(hlo_tile_work_t){.products = products,
                                 .atom = atom,
                                 .vector_ops = is_tile ? tiles * VECTORS_OF_ACCUMULATORS : 0,
                                 .accessed_bytes = is_tile ? products * ROWS * ROW_BYTES : 0});
}

const hlo_tile_atom_t* hlo_matmul_tile_atom(const hlo_target_t* target, hlo_dtype_t operand) {
  return find_atom(&target->tile, operand, true);
}

// Whether a convolution reads its input in whole steps of neighbours, and leaves nothing out.
static bool is_whole(const hlo_matmul_t* m, const hlo_tile_atom_t* atom) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  for (uint32_t i = 0; i < m->depth_count; ++i) {
    if (m->depth[i].limit.is_used || m->depth[i].wrap_at) return false;
  }
  return m->group > 1 && !m->is_by_channel && !m->is_window_in_lanes &&
         !m->padding[HLO_MATMUL_A].pair_step && inner->from[HLO_MATMUL_A] == 1 &&
         inner->extent % atom->depth == 0;
}

bool hlo_matmul_choose_tiles(hlo_matmul_t* m, const hlo_target_t* target, hlo_dtype_t operand) {
  const hlo_tile_atom_t* atom = hlo_matmul_tile_atom(target, operand);
  const hlo_tile_atom_t* vector = find_atom(&target->tile, operand, false);
  if (!vector) {
    vector = hlo_tile_atom_find(&target->tile, HLO_TILE_ATOM_PRODUCT, m->dtype, m->dtype);
  }
  bool is_small = !m->is_convolution && m->rows.extent < LEAST_ROWS;
  if (!atom || !vector || m->is_by_depth || is_small || (m->is_convolution && !is_whole(m, atom)) ||
      time_of(&target->tile, m, atom) >= time_of(&target->tile, m, vector)) {
    return false;
  }
  m->tile = atom;
  m->group = (uint32_t)(atom->depth / COLUMNS);
  return true;
}

int64_t hlo_matmul_tile_width(const hlo_matmul_t* m) {
  return m->columns.extent > COLUMNS ? BESIDE * COLUMNS : COLUMNS;
}

int64_t hlo_matmul_tile_height(void) {
  return BESIDE * ROWS;
}

int64_t hlo_matmul_filled_steps(const hlo_matmul_t* m) {
  int64_t steps = m->depth[m->depth_count - 1].extent;
  return m->tile ? divide_up(steps, COLUMNS) * COLUMNS : steps;
}

int64_t hlo_matmul_tile_blocks(const hlo_matmul_t* m, int64_t cache_bytes) {
  double bytes = (double)m->rows.extent * (double)m->depth_extent * GROUP_BYTES;
  return (int64_t)(bytes / (double)(cache_bytes / 2)) + 1;
}

double hlo_matmul_tile_ns(const hlo_matmul_t* m) {
  return (double)m->outer_extent * (double)divide_up(m->rows.extent, ROWS) *
         (double)divide_up(m->columns.extent, COLUMNS) *
         (double)divide_up(m->depth_extent, COLUMNS) / m->tile->per_ns;
}

// ---- tiles

static hlo_vir_tile_kind_t kind_of(const hlo_matmul_t* m) {
  hlo_dtype_t a = m->operands[HLO_MATMUL_A].dtype, b = m->operands[HLO_MATMUL_B].dtype;
  if (m->dtype == HLO_DTYPE_F32) {
    return a == HLO_DTYPE_F16 ? HLO_VIR_TILE_F16 : HLO_VIR_TILE_BF16;
  }
  if (a == HLO_DTYPE_S8) return b == HLO_DTYPE_S8 ? HLO_VIR_TILE_S8S8 : HLO_VIR_TILE_S8U8;
  return b == HLO_DTYPE_S8 ? HLO_VIR_TILE_U8S8 : HLO_VIR_TILE_U8U8;
}

// Rows of the upper and the lower tiles.
static uint32_t rows_of(const tile_t* tile, uint32_t i) {
  int64_t left = tile->height - (int64_t)i * ROWS;
  return left <= 0 ? 0 : left < ROWS ? (uint32_t)left : ROWS;
}

// Tiles beside each other.
static uint32_t width_of(const tile_t* tile) {
  const hlo_matmul_piece_t* last = &tile->panel->pieces[tile->panel->piece_count - 1];
  return last->offset + last->active > COLUMNS ? BESIDE : 1;
}

static void emit_plain(hlo_vir_builder_t* b, hlo_vir_opcode_t op, uint32_t flags, int64_t imm) {
  hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_VOID, 0), flags, imm, 0, NULL);
}

static void emit_access(hlo_vir_builder_t* b, hlo_vir_opcode_t op, uint32_t flags,
                        hlo_vir_value_t* base, int64_t offset, int64_t step) {
  hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_VOID, 0), flags, offset, 2,
               (hlo_vir_value_t*[]){base, number(b, step)});
}

void hlo_product_configure_tiles(const product_t* p, const tile_t* tile) {
  uint8_t rows[HLO_VIR_TILE_COUNT];
  for (uint32_t i = 0; i < BESIDE; ++i) {
    for (uint32_t j = 0; j < BESIDE; ++j) rows[BESIDE * i + j] = (uint8_t)rows_of(tile, i);
    rows[FIRST_A + i] = (uint8_t)rows_of(tile, i);
    rows[FIRST_B + i] = ROWS;
  }
  emit_plain(p->b, HLO_VIR_tile_config, 0, hlo_vir_tile_config(rows));
}

void hlo_product_release_tiles(const product_t* p) {
  emit_plain(p->b, HLO_VIR_tile_release, 0, 0);
}

// Sixteen groups from `step` on. rows: where the upper and the lower ones begin
static void emit_step(const product_t* p, const tile_t* tile, hlo_vir_value_t* const* rows,
                      hlo_vir_value_t* step) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t row_bytes = m->rows.strides[HLO_MATMUL_A] * bytes_of(p, HLO_MATMUL_A);
  int64_t width_bytes = m->panel_width * GROUP_BYTES;
  uint32_t width = width_of(tile);
  hlo_vir_value_t* columns = plus(b, tile->b, times(b, step, width_bytes));
  for (uint32_t j = 0; j < width; ++j) {
    emit_access(b, HLO_VIR_tile_load, hlo_vir_tile_flags(FIRST_B + j, ROWS), columns,
                (int64_t)j * ROW_BYTES, width_bytes);
  }
  for (uint32_t i = 0; i < BESIDE && rows_of(tile, i); ++i) {
    emit_access(b, HLO_VIR_tile_load, hlo_vir_tile_flags(FIRST_A + i, rows_of(tile, i)),
                plus(b, rows[i], times(b, step, GROUP_BYTES)), 0, row_bytes);
    for (uint32_t j = 0; j < width; ++j) {
      emit_plain(b, HLO_VIR_tile_dot, kind_of(m),
                 hlo_vir_tile_operands(BESIDE * i + j, FIRST_A + i, FIRST_B + j));
    }
  }
}

// The innermost contracting loop, of a block where there are blocks.
static void emit_steps(const product_t* p, const tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t row_bytes = m->rows.strides[HLO_MATMUL_A] * bytes_of(p, HLO_MATMUL_A);
  hlo_vir_value_t *rows[BESIDE], *low = number(b, 0), *end = number(b, hlo_matmul_filled_steps(m));
  for (uint32_t i = 0; i < BESIDE; ++i) rows[i] = plus(b, tile->a, number(b, i * ROWS * row_bytes));
  if (p->block) {
    low = times(b, p->block, m->block_steps);
    end = hlo_vir_index(b, HLO_VIR_imin, plus(b, low, number(b, m->block_steps)), end);
  }
  emit_step(p, tile, rows, hlo_vir_begin_for(b, low, end, COLUMNS, 0));
  hlo_vir_end(b);
}

// The contracting loops from `level` on, both operands being where they are at.
static void emit_depth(const product_t* p, tile_t* tile, uint32_t level) {
  const hlo_matmul_t* m = p->m;
  const hlo_matmul_dim_t* dim = &m->depth[level];
  hlo_vir_builder_t* b = p->b;
  if (level + 1 == m->depth_count) {
    emit_steps(p, tile);
    return;
  }
  hlo_vir_value_t *rows = tile->a, *columns = tile->b;
  hlo_vir_value_t* at = hlo_vir_begin_for(b, number(b, 0), number(b, dim->extent), 1, 0);
  tile->a = plus(b, rows, times(b, at, dim->strides[HLO_MATMUL_A] * bytes_of(p, HLO_MATMUL_A)));
  tile->b = plus(b, columns, times(b, at, dim->strides[HLO_MATMUL_B] * GROUP_BYTES));
  emit_depth(p, tile, level + 1);
  hlo_vir_end(b);
  tile->a = rows;
  tile->b = columns;
}

hlo_vir_value_t* hlo_product_multiply_tiles(const product_t* p, tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  bool is_used[BESIDE * BESIDE];
  for (uint32_t i = 0; i < BESIDE * BESIDE; ++i) {
    is_used[i] = rows_of(tile, i / BESIDE) && i % BESIDE < width_of(tile);
    if (is_used[i]) emit_plain(b, HLO_VIR_tile_zero, 0, i);
  }
  emit_depth(p, tile, 0);
  hlo_vir_value_t* accumulators =
      hlo_vir_emit(b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0, BUFFER_BYTES, 0, NULL);
  for (uint32_t i = 0; i < BESIDE * BESIDE; ++i) {
    int64_t offset = (i / BESIDE * ROWS * BESIDE + i % BESIDE) * ROW_BYTES;
    if (!is_used[i]) continue;
    emit_access(b, HLO_VIR_tile_store, hlo_vir_tile_flags(i, rows_of(tile, i / BESIDE)), accumulators,
                offset, BESIDE * ROW_BYTES);
  }
  return accumulators;
}

void hlo_product_load_accumulators(const product_t* p, tile_t* tile, hlo_vir_value_t* accumulators,
                           hlo_vir_value_t* row) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* from = plus(b, accumulators, times(b, row, BESIDE * ROW_BYTES));
  for (uint32_t i = 0; i < tile->panel->piece_count; ++i) {
    const hlo_matmul_piece_t* piece = &tile->panel->pieces[i];
    hlo_element_address_t address = {.base = from,
                                     .offset_bytes = (int64_t)piece->offset * GROUP_BYTES};
    tile->accumulators[i] = hlo_vir_var(b, hlo_elementwise_load(b, p->m->dtype, piece->lanes, &address));
  }
}
