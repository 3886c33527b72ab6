// SPDX-License-Identifier: Apache-2.0
// Products in tile registers (AMX): their selection, and their vector IR. Four tiles of
// accumulators, two of rows of A by two of columns of B, are summed up along the contraction,
// sixteen groups a step. The epilogue reads them row by row from memory. B's panels are packed in
// groups as for vectors. A is read in place if its rows are whole steps, else packed. Both are
// padded with zeros. Rows need no padding: the last tiles have fewer rows.
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/vir/tile.h"

enum {
  ROWS = HLO_VIR_TILE_ROWS,
  ROW_BYTES = HLO_VIR_TILE_ROW_BYTES,
  GROUP_BYTES = 4,
  COLUMNS = ROW_BYTES / GROUP_BYTES,   // and groups of a step
  BESIDE = 2,                          // tiles of rows and of columns
  VECTORS_OF_ACCUMULATORS = 4 * ROWS,  // to configure, and to store and load a tile of
                                       // accumulators
  FIRST_A = BESIDE * BESIDE,           // tile numbers: first the accumulators, then A, then B
  FIRST_B = FIRST_A + BESIDE,
};
// Differs from the size of all other buffers on a function's stack, since buffers of equal size
// share memory.
static const int64_t BUFFER_BYTES = BESIDE * ROWS * BESIDE * ROW_BYTES + ROW_BYTES;

// ---- selection of products

const hlo_tile_atom_t* hlo_matmul_atom(const hlo_tile_target_t* target, hlo_dtype_t operand,
                                       bool is_tile) {
  for (uint32_t i = 0; i < target->atom_count; ++i) {
    const hlo_tile_atom_t* atom = &target->atoms[i];
    bool is_product = atom->op == HLO_TILE_ATOM_PRODUCT && atom->operand == operand;
    if (is_product && (atom->rows > 1) == is_tile) return atom;
  }
  return NULL;
}

// Returns the time of a product in atoms. Each operand load serves two atoms.
static double time_of(const hlo_matmul_t* m, const hlo_tile_atom_t* atom) {
  double tiles = (double)hlo_matmul_extent(m->outer, m->outer_count) *
                 (double)hlo_divide_up(m->rows.extent, atom->rows) *
                 (double)hlo_divide_up(m->columns.extent, atom->columns);
  uint32_t inner = m->depth_count - 1;
  double products = tiles * (double)hlo_matmul_extent(m->depth, inner) *
                    (double)hlo_divide_up(m->depth[inner].extent, atom->depth);
  bool is_tile = atom->rows > 1;
  return hlo_tile_work_ns(
      &m->target->tile,
      &(hlo_tile_work_t){.products = products,
                         .atom = atom,
                         .vector_ops = is_tile ? tiles * VECTORS_OF_ACCUMULATORS : 0,
                         .accessed_bytes = is_tile ? products * ROWS * ROW_BYTES : 0});
}

// Returns true if a convolution reads its input in whole steps of contiguous features and skips
// nothing.
static bool is_whole(const hlo_matmul_t* m, const hlo_tile_atom_t* atom) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  for (uint32_t i = 0; i < m->depth_count; ++i) {
    if (m->depth[i].limit.is_used || m->depth[i].wrap_at) return false;
  }
  return m->group > 1 && !m->padding[HLO_MATMUL_A].pair_step && inner->from[HLO_MATMUL_A] == 1 &&
         inner->extent % atom->depth == 0;
}

bool hlo_matmul_choose_tiles(hlo_matmul_t* m, hlo_dtype_t operand) {
  const hlo_tile_target_t* target = &m->target->tile;
  const hlo_tile_atom_t* atom = hlo_matmul_atom(target, operand, true);
  const hlo_tile_atom_t* vector = hlo_matmul_atom(target, operand, false);
  if (!vector) {
    vector = hlo_tile_atom_find(target, HLO_TILE_ATOM_PRODUCT, m->dtype, m->dtype);
  }
  bool is_small = !m->is_convolution && m->rows.extent < HLO_TUNING_TILE_REGISTERS_MIN_ROWS;
  if (!atom || !vector || m->strategy != HLO_MATMUL_BY_COLUMN || is_small ||
      (m->is_convolution && !is_whole(m, atom)) || time_of(m, atom) >= time_of(m, vector)) {
    return false;
  }
  m->strategy = HLO_MATMUL_IN_TILES;
  m->tile = atom;
  m->group = (uint32_t)(atom->depth / COLUMNS);
  return true;
}

hlo_matmul_accumulators_t hlo_matmul_tile_size(const hlo_matmul_t* m) {
  int64_t columns = m->columns.extent > COLUMNS ? BESIDE * COLUMNS : COLUMNS;
  return (hlo_matmul_accumulators_t){columns / m->lanes, BESIDE * ROWS};
}

int64_t hlo_matmul_filled_steps(const hlo_matmul_t* m) {
  int64_t steps = m->depth[m->depth_count - 1].extent;
  return m->strategy == HLO_MATMUL_IN_TILES ? hlo_divide_up(steps, COLUMNS) * COLUMNS : steps;
}

int64_t hlo_matmul_tile_blocks(const hlo_matmul_t* m) {
  double bytes = (double)m->rows.extent * (double)m->depth_extent * GROUP_BYTES;
  return (int64_t)(bytes / (double)(hlo_matmul_cache_bytes(m) / 2)) + 1;
}

double hlo_matmul_tile_ns(const hlo_matmul_t* m) {
  return (double)m->outer_extent * (double)hlo_divide_up(m->rows.extent, ROWS) *
         (double)hlo_divide_up(m->columns.extent, COLUMNS) *
         (double)hlo_divide_up(m->depth_extent, COLUMNS) / m->tile->per_ns;
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

// Returns the rows of the upper or the lower tiles.
static uint32_t rows_of(const hlo_product_tile_t* tile, uint32_t i) {
  int64_t left = tile->height - (int64_t)i * ROWS;
  return left <= 0 ? 0 : left < ROWS ? (uint32_t)left : ROWS;
}

// Returns the number of adjacent tiles.
static uint32_t width_of(const hlo_product_tile_t* tile) {
  const hlo_matmul_piece_t* last = &tile->panel->pieces[tile->panel->piece_count - 1];
  return last->offset + last->active > COLUMNS ? BESIDE : 1;
}

static void emit_plain(hlo_vir_builder_t* b, hlo_vir_opcode_t op, uint32_t flags, int64_t imm) {
  hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_VOID, 0), flags, imm, 0, NULL);
}

static void emit_access(hlo_vir_builder_t* b, hlo_vir_opcode_t op, uint32_t flags,
                        hlo_vir_value_t* base, int64_t offset, int64_t step) {
  hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_VOID, 0), flags, offset, 2,
               (hlo_vir_value_t*[]){base, hlo_index(b, step)});
}

void hlo_product_configure_tiles(const hlo_product_t* p, const hlo_product_tile_t* tile) {
  uint8_t rows[HLO_VIR_TILE_COUNT];
  for (uint32_t i = 0; i < BESIDE; ++i) {
    for (uint32_t j = 0; j < BESIDE; ++j) rows[BESIDE * i + j] = (uint8_t)rows_of(tile, i);
    rows[FIRST_A + i] = (uint8_t)rows_of(tile, i);
    rows[FIRST_B + i] = ROWS;
  }
  emit_plain(p->b, HLO_VIR_tile_config, 0, hlo_vir_tile_config(rows));
}

void hlo_product_release_tiles(const hlo_product_t* p) {
  emit_plain(p->b, HLO_VIR_tile_release, 0, 0);
}

// Emits sixteen groups from `step` on. `rows`: the start of the upper and of the lower rows.
static void emit_step(const hlo_product_t* p, const hlo_product_tile_t* tile,
                      hlo_vir_value_t* const* rows, hlo_vir_value_t* step) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t row_bytes = m->rows.strides[HLO_MATMUL_A] * hlo_product_element_bytes(p, HLO_MATMUL_A);
  int64_t width_bytes = m->panel_width * GROUP_BYTES;
  uint32_t width = width_of(tile);
  hlo_vir_value_t* columns = hlo_plus(b, tile->b, hlo_times(b, step, width_bytes));
  for (uint32_t j = 0; j < width; ++j) {
    emit_access(b, HLO_VIR_tile_load, hlo_vir_tile_flags(FIRST_B + j, ROWS), columns,
                (int64_t)j * ROW_BYTES, width_bytes);
  }
  for (uint32_t i = 0; i < BESIDE && rows_of(tile, i); ++i) {
    emit_access(b, HLO_VIR_tile_load, hlo_vir_tile_flags(FIRST_A + i, rows_of(tile, i)),
                hlo_plus(b, rows[i], hlo_times(b, step, GROUP_BYTES)), 0, row_bytes);
    for (uint32_t j = 0; j < width; ++j) {
      emit_plain(b, HLO_VIR_tile_dot, kind_of(m),
                 hlo_vir_tile_operands(BESIDE * i + j, FIRST_A + i, FIRST_B + j));
    }
  }
}

// Emits the innermost contracting loop, or its steps in the block if the contraction is cut.
static void emit_steps(const hlo_product_t* p, const hlo_product_tile_t* tile) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t row_bytes = m->rows.strides[HLO_MATMUL_A] * hlo_product_element_bytes(p, HLO_MATMUL_A);
  hlo_vir_value_t *rows[BESIDE], *low = hlo_index(b, 0),
                                 *end = hlo_index(b, hlo_matmul_filled_steps(m));
  for (uint32_t i = 0; i < BESIDE; ++i) rows[i] = hlo_add(b, tile->a, i * ROWS * row_bytes);
  if (p->block) {
    low = hlo_times(b, p->block, m->block_steps);
    end = hlo_least(b, hlo_add(b, low, m->block_steps), end);
  }
  emit_step(p, tile, rows, hlo_vir_begin_for(b, low, end, COLUMNS, 0));
  hlo_vir_end(b);
}

// Emits the contracting loops from `level` on, from the operands' current position.
static void emit_depth(const hlo_product_t* p, hlo_product_tile_t* tile, uint32_t level) {
  const hlo_matmul_t* m = p->m;
  const hlo_matmul_dim_t* dim = &m->depth[level];
  hlo_vir_builder_t* b = p->b;
  if (level + 1 == m->depth_count) {
    emit_steps(p, tile);
    return;
  }
  hlo_vir_value_t *rows = tile->a, *columns = tile->b;
  hlo_vir_value_t* at = hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, dim->extent), 1, 0);
  tile->a = hlo_plus(
      b, rows,
      hlo_times(b, at, dim->strides[HLO_MATMUL_A] * hlo_product_element_bytes(p, HLO_MATMUL_A)));
  tile->b = hlo_plus(b, columns, hlo_times(b, at, dim->strides[HLO_MATMUL_B] * GROUP_BYTES));
  emit_depth(p, tile, level + 1);
  hlo_vir_end(b);
  tile->a = rows;
  tile->b = columns;
}

hlo_vir_value_t* hlo_product_multiply_tiles(const hlo_product_t* p, hlo_product_tile_t* tile) {
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
    emit_access(b, HLO_VIR_tile_store, hlo_vir_tile_flags(i, rows_of(tile, i / BESIDE)),
                accumulators, offset, BESIDE * ROW_BYTES);
  }
  return accumulators;
}

void hlo_product_load_accumulators(const hlo_product_t* p, hlo_product_tile_t* tile,
                                   hlo_vir_value_t* accumulators, hlo_vir_value_t* row) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* from = hlo_plus(b, accumulators, hlo_times(b, row, BESIDE * ROW_BYTES));
  for (uint32_t i = 0; i < tile->panel->piece_count; ++i) {
    const hlo_matmul_piece_t* piece = &tile->panel->pieces[i];
    hlo_element_address_t address = {.base = from,
                                     .offset_bytes = (int64_t)piece->offset * GROUP_BYTES};
    tile->accumulators[i] =
        hlo_vir_var(b, hlo_elementwise_load(b, p->m->dtype, piece->lanes, &address));
  }
}
