// SPDX-License-Identifier: Apache-2.0
// Products of references, added to a reference. Rows of the left operand times vectors along a
// dimension of the right operand are accumulated in registers over all contracted dimensions.
#include "codegen/tiles/group_impl.h"

enum { MAX_ROWS = 6, MAX_VECTORS = 4, MAX_LOOPS = 4 * HLO_TILE_MAX_RANK };

// A dimension of the result or of the contraction, with its strides in bytes; 0: it does not occur.
typedef struct mma_dim {
  int64_t extent, sum, left, right;
} mma_dim_t;

typedef struct tile_mma {
  const hlo_tile_op_t *sum, *left, *right;
  hlo_dtype_t dtype;  // of the accumulators in registers
  uint32_t outer_count, inner_count;
  mma_dim_t outer[MAX_LOOPS], inner[MAX_LOOPS];  // loops around a tile; contracted ones
  mma_dim_t rows, columns;                       // of a tile; extent 1: none
  uint32_t lanes, most_vectors;
} tile_mma_t;

// A position: addresses of the three references.
typedef struct mma_place {
  hlo_vir_value_t *sum, *left, *right;
} mma_place_t;

static hlo_vir_value_t* moved(hlo_tile_emitter_t* e, hlo_vir_value_t* address,
                              hlo_vir_value_t* index, int64_t stride) {
  if (!stride) return address;
  hlo_vir_value_t* distance =
      hlo_vir_index(e->b, HLO_VIR_imul, index, hlo_vir_iconst(e->b, stride));
  return hlo_vir_index(e->b, HLO_VIR_iadd, address, distance);
}

static mma_place_t move_place(hlo_tile_emitter_t* e, mma_place_t place, const mma_dim_t* dim,
                              hlo_vir_value_t* index) {
  return (mma_place_t){moved(e, place.sum, index, dim->sum), moved(e, place.left, index, dim->left),
                       moved(e, place.right, index, dim->right)};
}

// ---- dimensions

static bool is_listed(const uint32_t* list, uint32_t count, uint32_t dim) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] == dim) return true;
  }
  return false;
}

// Strides of a reference in bytes.
static void byte_strides(const hlo_tile_op_t* ref, int64_t* out_strides) {
  hlo_tile_ref_strides(ref, out_strides);
  for (uint32_t i = 0; i < ref->ref.rank; ++i) {
    out_strides[i] *= (int64_t)hlo_dtype_size_bytes(ref->dtype);
  }
}

// The last of some loops becomes the rows or columns of tiles.
static void take_last(mma_dim_t* dims, uint32_t* count, uint32_t first, mma_dim_t* out_dim) {
  *out_dim = (mma_dim_t){.extent = 1};
  if (*count > first) *out_dim = dims[--*count];
}

static tile_mma_t find_dims(const hlo_tile_op_t* op) {
  const hlo_tile_dims_t* d = &op->dims;
  tile_mma_t m = {.sum = op->operands[0], .left = op->operands[1], .right = op->operands[2]};
  int64_t sum[HLO_TILE_MAX_RANK], left[HLO_TILE_MAX_RANK], right[HLO_TILE_MAX_RANK];
  uint32_t at = 0;
  byte_strides(m.sum, sum);
  byte_strides(m.left, left);
  byte_strides(m.right, right);
  for (uint32_t i = 0; i < d->batch_count; ++i, ++at) {
    const uint32_t dim = d->left_batch[i];
    m.outer[m.outer_count++] =
        (mma_dim_t){m.left->ref.dims[dim], sum[at], left[dim], right[d->right_batch[i]]};
  }
  uint32_t first = m.outer_count;
  for (uint32_t i = 0; i < m.left->ref.rank; ++i) {
    if (is_listed(d->left_batch, d->batch_count, i) ||
        is_listed(d->left_contract, d->contract_count, i)) {
      continue;
    }
    m.outer[m.outer_count++] = (mma_dim_t){m.left->ref.dims[i], sum[at++], left[i], 0};
  }
  take_last(m.outer, &m.outer_count, first, &m.rows);
  first = m.outer_count;
  for (uint32_t i = 0; i < m.right->ref.rank; ++i) {
    if (is_listed(d->right_batch, d->batch_count, i) ||
        is_listed(d->right_contract, d->contract_count, i)) {
      continue;
    }
    m.outer[m.outer_count++] = (mma_dim_t){m.right->ref.dims[i], sum[at++], 0, right[i]};
  }
  take_last(m.outer, &m.outer_count, first, &m.columns);
  for (uint32_t i = 0; i < d->contract_count; ++i) {
    const uint32_t dim = d->left_contract[i];
    m.inner[m.inner_count++] =
        (mma_dim_t){m.left->ref.dims[dim], 0, left[dim], right[d->right_contract[i]]};
  }
  return m;
}

// Lanes run along the columns if these are adjacent in the right operand and in the sums.
static void choose_tile(const hlo_tile_emitter_t* e, tile_mma_t* m) {
  enum { MANY_REGISTERS = 32 };
  const bool is_narrow = hlo_dtype_is_float(m->sum->dtype) && m->sum->dtype != HLO_DTYPE_F64;
  m->dtype = is_narrow ? HLO_DTYPE_F32 : m->sum->dtype;
  uint32_t widest = hlo_elementwise_register_bytes(m->dtype);
  const uint32_t of_operand = hlo_elementwise_register_bytes(m->left->dtype);
  if (of_operand > widest) widest = of_operand;
  const bool is_adjacent = m->columns.right == (int64_t)hlo_dtype_size_bytes(m->right->dtype) &&
                           m->columns.sum == (int64_t)hlo_dtype_size_bytes(m->sum->dtype) &&
                           m->columns.extent > 1;
  m->lanes = is_adjacent && e->target->vector_bytes > widest ? e->target->vector_bytes / widest : 1;
  m->most_vectors = e->target->vector_registers >= MANY_REGISTERS - 2 ? MAX_VECTORS : 2;
}

// ---- tiles

typedef struct mma_tile {
  uint32_t rows, vectors, lanes;
  hlo_vir_value_t* mask;  // of the only vector; NULL: all
  hlo_vir_value_t* sums[MAX_ROWS][MAX_VECTORS];
} mma_tile_t;

static hlo_element_address_t sum_address(const tile_mma_t* m, const mma_tile_t* tile,
                                         const mma_place_t* place, uint32_t row, uint32_t vector) {
  return (hlo_element_address_t){
      .base = place->sum,
      .mask = tile->mask,
      .offset_bytes = row * m->rows.sum + (int64_t)vector * tile->lanes * m->columns.sum};
}

static void accumulate_step(hlo_tile_emitter_t* e, const tile_mma_t* m, mma_tile_t* tile,
                            const mma_place_t* place) {
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* columns[MAX_VECTORS];
  for (uint32_t v = 0; v < tile->vectors; ++v) {
    const hlo_element_address_t address = {
        .base = place->right,
        .mask = tile->mask,
        .offset_bytes = (int64_t)v * tile->lanes * m->columns.right,
        .flags = hlo_tile_ref_flags(e, m->right)};
    columns[v] = hlo_vmath_convert(b, m->right->dtype, m->dtype,
                                   hlo_elementwise_load(b, m->right->dtype, tile->lanes, &address));
  }
  for (uint32_t r = 0; r < tile->rows; ++r) {
    const hlo_element_address_t address = {.base = place->left,
                                           .offset_bytes = r * m->rows.left,
                                           .flags = hlo_tile_ref_flags(e, m->left)};
    hlo_vir_value_t* element = hlo_elementwise_load(b, m->left->dtype, 1, &address);
    element =
        hlo_tile_wide(e, hlo_vmath_convert(b, m->left->dtype, m->dtype, element), tile->lanes);
    for (uint32_t v = 0; v < tile->vectors; ++v) {
      hlo_vir_value_t* sum = tile->sums[r][v];
      hlo_vir_set(b, sum,
                  hlo_elementwise_multiply_add(b, e->target->has_fma, element, columns[v], sum));
    }
  }
}

static void contract(hlo_tile_emitter_t* e, const tile_mma_t* m, mma_tile_t* tile, uint32_t at,
                     const mma_place_t* place) {
  hlo_vir_builder_t* b = e->b;
  if (at == m->inner_count) {
    accumulate_step(e, m, tile, place);
    return;
  }
  hlo_vir_value_t* index =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, m->inner[at].extent), 1, 0);
  const mma_place_t next = move_place(e, *place, &m->inner[at], index);
  contract(e, m, tile, at + 1, &next);
  hlo_vir_end(b);
}

static void emit_mma_tile(hlo_tile_emitter_t* e, const tile_mma_t* m, mma_tile_t* tile,
                          const mma_place_t* place) {
  hlo_vir_builder_t* b = e->b;
  for (uint32_t r = 0; r < tile->rows; ++r) {
    for (uint32_t v = 0; v < tile->vectors; ++v) {
      const hlo_element_address_t address = sum_address(m, tile, place, r, v);
      tile->sums[r][v] =
          hlo_vir_var(b, hlo_elementwise_load(b, m->sum->dtype, tile->lanes, &address));
    }
  }
  contract(e, m, tile, 0, place);
  for (uint32_t r = 0; r < tile->rows; ++r) {
    for (uint32_t v = 0; v < tile->vectors; ++v) {
      const hlo_element_address_t address = sum_address(m, tile, place, r, v);
      hlo_elementwise_store(b, m->sum->dtype,
                            hlo_vmath_round_to(b, m->sum->dtype, tile->sums[r][v]), &address);
    }
  }
}

// ---- loops around tiles

// Emits columns low..end, a tile of this shape each, for all rows.
static void emit_columns(hlo_tile_emitter_t* e, const tile_mma_t* m, const mma_place_t* place,
                         mma_tile_t shape, int64_t low, int64_t end) {
  hlo_vir_builder_t* b = e->b;
  if (low == end) return;
  const int64_t step = shape.mask ? end - low : (int64_t)shape.vectors * shape.lanes;
  hlo_vir_value_t* column =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, low), hlo_vir_iconst(b, end), step, 0);
  const mma_place_t at_column = move_place(e, *place, &m->columns, column);
  const int64_t whole = m->rows.extent - m->rows.extent % MAX_ROWS;
  for (uint32_t pass = 0; pass < 2; ++pass) {
    const int64_t first = pass ? whole : 0, last = pass ? m->rows.extent : whole;
    if (first == last) continue;
    shape.rows = pass ? (uint32_t)(last - first) : MAX_ROWS;
    hlo_vir_value_t* row =
        hlo_vir_begin_for(b, hlo_vir_iconst(b, first), hlo_vir_iconst(b, last), shape.rows, 0);
    const mma_place_t at_row = move_place(e, at_column, &m->rows, row);
    emit_mma_tile(e, m, &shape, &at_row);
    hlo_vir_end(b);
  }
  hlo_vir_end(b);
}

// Divides the elements of rows and columns among the threads of a group.
static void emit_divided(hlo_tile_emitter_t* e, const tile_mma_t* m, const mma_place_t* place) {
  hlo_vir_value_t* columns = hlo_vir_iconst(e->b, m->columns.extent);
  hlo_vir_value_t* count = hlo_vir_iconst(e->b, m->rows.extent * m->columns.extent);
  hlo_vir_value_t* at = hlo_tile_begin_divided(e, hlo_vir_iconst(e->b, 0), count);
  const mma_place_t row =
      move_place(e, *place, &m->rows, hlo_vir_index(e->b, HLO_VIR_idiv, at, columns));
  const mma_place_t element =
      move_place(e, row, &m->columns, hlo_vir_index(e->b, HLO_VIR_irem, at, columns));
  mma_tile_t tile = {.rows = 1, .vectors = 1, .lanes = 1};
  emit_mma_tile(e, m, &tile, &element);
  hlo_tile_end_divided(e);
}

static void emit_tiles(hlo_tile_emitter_t* e, const tile_mma_t* m, const mma_place_t* place) {
  if (hlo_tile_is_together(e)) {
    emit_divided(e, m, place);
    return;
  }
  const int64_t extent = m->columns.extent, wide = (int64_t)m->lanes * m->most_vectors;
  const int64_t many = extent - extent % wide, whole = extent - extent % m->lanes;
  emit_columns(e, m, place, (mma_tile_t){.vectors = m->most_vectors, .lanes = m->lanes}, 0, many);
  emit_columns(e, m, place, (mma_tile_t){.vectors = 1, .lanes = m->lanes}, many, whole);
  if (whole == extent) return;
  mma_tile_t rest = {.vectors = 1, .lanes = e->target->has_masks ? m->lanes : 1};
  if (e->target->has_masks) {
    hlo_vir_value_t* count = hlo_vir_iconst(e->b, extent - whole);
    rest.mask = hlo_vir_emit(e->b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, m->lanes), 0, 0,
                             1, &count);
  }
  emit_columns(e, m, place, rest, whole, extent);
}

static void emit_outer(hlo_tile_emitter_t* e, const tile_mma_t* m, uint32_t at,
                       const mma_place_t* place) {
  hlo_vir_builder_t* b = e->b;
  if (at == m->outer_count) {
    emit_tiles(e, m, place);
    return;
  }
  hlo_vir_value_t* index =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, m->outer[at].extent), 1, 0);
  const mma_place_t next = move_place(e, *place, &m->outer[at], index);
  emit_outer(e, m, at + 1, &next);
  hlo_vir_end(b);
}

void hlo_tile_emit_mma(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  tile_mma_t m = find_dims(op);
  if (hlo_tile_ref_count(m.sum) == 0) return;
  choose_tile(e, &m);
  const mma_place_t place = {e->done[m.sum->number], e->done[m.left->number],
                             e->done[m.right->number]};
  emit_outer(e, &m, 0, &place);
}
