// SPDX-License-Identifier: Apache-2.0
// Vector IR that copies the operands of matrix products into scratch memory: A as lines a cache
// line more than a power of two apart, B as panels of contiguous rows (see matmul.h).
#include "codegen/dot/matmul_impl.h"

#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

enum {
  MAX_GROUP = 4,
};

// The source and the destination of elements.
typedef struct packing_position {
  hlo_matmul_source_t from;
  hlo_vir_value_t* to;
} packing_position_t;

typedef struct packing {
  const hlo_matmul_t* m;
  hlo_vir_builder_t* b;
  uint32_t side;
  hlo_dtype_t from_dtype;
  bool is_produced;  // computed instead of read
  const hlo_point_emitter_t* points;
  packing_position_t at;
} packing_t;

// Moves source and destination by `count` steps of a loop.
static void move_packing(packing_t* p, const hlo_matmul_dim_t* dim, hlo_vir_value_t* count) {
  hlo_matmul_move(p->m, p->side, p->b, dim, count, &p->at.from);
  p->at.to =
      hlo_plus(p->b, p->at.to, hlo_times(p->b, count, dim->strides[p->side] * p->m->element_bytes));
}

// Extracts the index along a loop from a linear index over all loops, the last loop first.
static hlo_vir_value_t* take_index(packing_t* p, const hlo_matmul_dim_t* dim,
                                   hlo_vir_value_t** rest) {
  hlo_vir_value_t* extent = hlo_index(p->b, dim->extent);
  hlo_vir_value_t* at = hlo_vir_index(p->b, HLO_VIR_irem, *rest, extent);
  move_packing(p, dim, at);
  *rest = hlo_vir_index(p->b, HLO_VIR_idiv, *rest, extent);
  return at;
}

static void take_outer(packing_t* p, hlo_vir_value_t* rest) {
  for (uint32_t i = p->m->outer_count; i-- > 0;) {
    const hlo_matmul_dim_t* dim = &p->m->outer[i];
    if (hlo_matmul_moves(dim, p->side)) take_index(p, dim, &rest);
  }
}

static void store_zeros(const packing_t* p, uint32_t lanes, int64_t offset_bytes) {
  hlo_element_address_t to = {.base = p->at.to, .offset_bytes = offset_bytes};
  hlo_vir_value_t* zeros = hlo_vir_const_bits(p->b, hlo_vmath_type(p->m->dtype, lanes), 0);
  hlo_elementwise_store(p->b, p->m->dtype, zeros, &to);
}

// Returns computed elements along a loop from step `at` (NULL: the first) plus `offset` on, in the
// register form of the operand's type.
static hlo_vir_value_t* produce_elements(const packing_t* p, const hlo_matmul_dim_t* dim,
                                         hlo_vir_value_t* at, int64_t offset, uint32_t lanes,
                                         uint32_t active) {
  hlo_matmul_source_t source = p->at.from;
  hlo_vir_value_t* step = hlo_index(p->b, offset);
  hlo_matmul_move(p->m, p->side, p->b, dim, at ? hlo_plus(p->b, at, step) : step, &source);
  return hlo_matmul_produce(p->m, p->b, p->points, p->side, dim, &source, lanes,
                            hlo_matmul_first_lanes(p->b, lanes, active));
}

// Returns elements in memory, otherwise like produce_elements().
static hlo_vir_value_t* load_elements(const packing_t* p, const hlo_matmul_dim_t* dim,
                                      hlo_vir_value_t* at, int64_t offset, uint32_t lanes,
                                      uint32_t active) {
  hlo_vir_builder_t* b = p->b;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(p->from_dtype), stride = dim->from[p->side];
  hlo_element_address_t address = {.base = p->at.from.base,
                                   .mask = hlo_matmul_first_lanes(b, lanes, active),
                                   .offset_bytes = offset * stride * bytes};
  if (stride == 1 || lanes == 1) {
    address.index = at ? hlo_times(b, at, stride) : NULL;
    return hlo_elementwise_load(b, p->from_dtype, lanes, &address);
  }
  if (at) address.base = hlo_plus(b, address.base, hlo_times(b, at, stride * bytes));
  return hlo_elementwise_gather(b, p->from_dtype, lanes, &address,
                                hlo_matmul_lane_offsets(b, lanes, stride));
}

// Returns computed or loaded elements in the type of the multiplication.
static hlo_vir_value_t* get_elements(const packing_t* p, const hlo_matmul_dim_t* dim,
                                     hlo_vir_value_t* at, int64_t offset, uint32_t lanes,
                                     uint32_t active) {
  hlo_vir_value_t* value = p->is_produced ? produce_elements(p, dim, at, offset, lanes, active)
                                          : load_elements(p, dim, at, offset, lanes, active);
  return hlo_vmath_convert(p->b, p->from_dtype, p->m->dtype, value);
}

// Copies `lanes` elements along a loop from step `at` (NULL: the first) plus `offset` on to
// contiguous memory. `active`: the number of valid elements; the others do not matter.
static void copy_elements(const packing_t* p, const hlo_matmul_dim_t* dim, hlo_vir_value_t* at,
                          int64_t offset, uint32_t lanes, uint32_t active) {
  hlo_element_address_t target = {
      .base = p->at.to, .index = at, .offset_bytes = offset * p->m->element_bytes};
  hlo_elementwise_store(p->b, p->m->dtype, get_elements(p, dim, at, offset, lanes, active),
                        &target);
}

// Returns computed elements in groups, of which the first `parts` elements are valid. Lanes hold
// groups.
static hlo_vir_value_t* produce_groups(const packing_t* p, const hlo_matmul_dim_t* dim,
                                       hlo_vir_value_t* at, int64_t offset,
                                       const hlo_matmul_lanes_t* lanes) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  hlo_matmul_dim_t elements = *inner;
  elements.together = 0;
  bool is_along = dim == inner && lanes->lanes > 1;  // whole groups, contiguous
  packing_t here = *p;
  hlo_vir_value_t *parts[MAX_GROUP], *step = hlo_index(b, offset);
  hlo_matmul_move(m, p->side, b, dim, at ? hlo_plus(b, at, step) : step, &here.at.from);
  for (uint32_t i = 0; i < m->group; ++i) {
    if (i < lanes->parts) {
      parts[i] =
          produce_elements(&here, is_along ? &elements : dim, NULL, 0, lanes->lanes, lanes->active);
      parts[i] = hlo_vmath_to_memory(b, p->from_dtype, parts[i]);
    } else {
      parts[i] = hlo_vir_const_bits(b, parts[0]->type, 0);
    }
    hlo_matmul_move(m, p->side, b, &elements, hlo_index(b, is_along ? lanes->lanes : 1),
                    &here.at.from);
  }
  hlo_vir_value_t* value =
      is_along ? hlo_matmul_join(b, parts, m->group) : hlo_matmul_interleave(b, parts, m->group);
  return p->side == HLO_MATMUL_A ? hlo_matmul_flip(m, b, value) : value;
}

// Returns computed or loaded groups along a loop from step `at` (NULL: the first) plus `offset` on.
static hlo_vir_value_t* get_groups(const packing_t* p, const hlo_matmul_dim_t* dim,
                                   hlo_vir_value_t* at, int64_t offset, hlo_matmul_lanes_t lanes) {
  hlo_vir_builder_t* b = p->b;
  if (p->is_produced) return produce_groups(p, dim, at, offset, &lanes);
  lanes.stride = dim->from[p->side];
  int64_t step = lanes.stride * (int64_t)hlo_dtype_size_bytes(p->from_dtype);
  lanes.from = hlo_add(b, p->at.from.base, offset * step);
  if (at) lanes.from = hlo_plus(b, lanes.from, hlo_times(b, at, step));
  return hlo_matmul_load_groups(p->m, b, p->side, &lanes);
}

// Copies groups of elements like copy_elements(). The first `parts` elements of each group are
// valid.
static void copy_groups(const packing_t* p, const hlo_matmul_dim_t* dim, hlo_vir_value_t* at,
                        int64_t offset, hlo_matmul_lanes_t lanes) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* value = get_groups(p, dim, at, offset, lanes);
  hlo_vir_value_t* operands[] = {value, p->at.to, at};
  uint32_t bytes = p->m->element_bytes;
  hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), (uint32_t)__builtin_ctz(bytes),
               offset * bytes, 3, operands);
}

static void copy_vector(const packing_t* p, const hlo_matmul_dim_t* dim, hlo_vir_value_t* at,
                        int64_t offset, hlo_matmul_lanes_t lanes) {
  if (p->m->group > 1) {
    copy_groups(p, dim, at, offset, lanes);
  } else {
    copy_elements(p, dim, at, offset, lanes.lanes, lanes.active);
  }
}

static bool is_vector(const packing_t* p, const hlo_matmul_dim_t* dim, uint32_t parts) {
  int64_t stride = dim->from[p->side];
  const hlo_matmul_operand_t* operand = &p->m->operands[p->side];
  if (p->is_produced) return hlo_matmul_lanes_find(operand, dim, p->side, p->m->lanes);
  if (p->m->group > 1) {
    return stride == 1 || (p->m->group_from[p->side] == 1 && parts == p->m->group);
  }
  return stride == 1 || hlo_dtype_size_bytes(p->from_dtype) >= HLO_TILE_GATHER_BYTES;
}

// Loads elements or groups from `first` on along a loop over contiguous elements, at step `at` of
// another loop, in the type of the multiplication.
static hlo_vir_value_t* load_neighbours(const packing_t* p, const hlo_matmul_dim_t* across,
                                        int64_t at, const hlo_matmul_dim_t* along, int64_t first,
                                        uint32_t lanes) {
  const hlo_matmul_t* m = p->m;
  packing_t here = *p;
  hlo_matmul_move(m, p->side, p->b, across, hlo_index(p->b, at), &here.at.from);
  if (m->group == 1) return get_elements(&here, along, NULL, first, lanes, lanes);
  int64_t bytes = along->from[p->side] * (int64_t)hlo_dtype_size_bytes(p->from_dtype);
  hlo_element_address_t address = {.base = here.at.from.base, .offset_bytes = first * bytes};
  return hlo_elementwise_load(p->b, m->dtype, lanes, &address);
}

// ---- A

// Copies lanes low <= number < end of a line.
static void copy_range(const packing_t* p, const hlo_matmul_dim_t* dim, int64_t low, int64_t end,
                       hlo_matmul_lanes_t lanes) {
  if (low == end) return;
  hlo_vir_value_t* at =
      hlo_vir_begin_for(p->b, hlo_index(p->b, low), hlo_index(p->b, end), lanes.lanes, 0);
  copy_vector(p, dim, at, 0, lanes);
  hlo_vir_end(p->b);
}

// Widens the codes of a line's whole chunks. Returns the number of their groups.
static int64_t widen_line(const packing_t* p, const hlo_matmul_dim_t* dim, int64_t end) {
  const hlo_matmul_t* m = p->m;
  const bool is_along = dim == &m->depth[m->depth_count - 1];
  const int64_t whole = end / HLO_MATMUL_CODES_ROWS * HLO_MATMUL_CODES_ROWS;
  if (!hlo_matmul_widens(&m->operands[p->side]) || !is_along || !whole) return 0;
  hlo_vir_value_t* at =
      hlo_vir_begin_for(p->b, hlo_index(p->b, 0), hlo_index(p->b, whole), HLO_MATMUL_CODES_ROWS, 0);
  packing_t here = *p;
  hlo_matmul_move(m, p->side, p->b, dim, at, &here.at.from);
  hlo_vir_value_t* pairs[2];
  hlo_matmul_widen_chunk(m, p->b, p->side, &here.at.from, pairs);
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_element_address_t to = {
        .base = p->at.to, .index = at, .offset_bytes = (int64_t)(i * m->lanes * m->element_bytes)};
    hlo_elementwise_store_raw(p->b, m->dtype, pairs[i], &to);
  }
  hlo_vir_end(p->b);
  return whole;
}

// Copies a line except for its last lane: in vectors as long as they fit, then one by one.
static void copy_line(const packing_t* p, const hlo_matmul_dim_t* dim, uint32_t parts,
                      uint32_t last_parts) {
  int64_t end = dim->extent - (last_parts < parts);
  uint32_t lanes = is_vector(p, dim, parts) ? p->m->lanes : 1;
  int64_t whole = end / lanes * lanes, widened = widen_line(p, dim, end);
  copy_range(p, dim, widened, whole, (hlo_matmul_lanes_t){NULL, 0, lanes, lanes, parts});
  copy_range(p, dim, whole, end, (hlo_matmul_lanes_t){NULL, 0, 1, 1, parts});
  copy_range(p, dim, end, dim->extent, (hlo_matmul_lanes_t){NULL, 0, 1, 1, last_parts});
}

// Fills a line with zeros after the last group, up to the steps that tile registers read. Lines are
// farther apart than that.
static void fill_line(const packing_t* p) {
  const hlo_matmul_t* m = p->m;
  int64_t extent = m->depth[m->depth_count - 1].extent;
  for (int64_t at = extent; at < hlo_matmul_filled_steps(m); at += m->lanes) {
    store_zeros(p, m->lanes, at * m->element_bytes);
  }
}

// Loads elements `row` and following, as many as are transposed together, of some adjacent columns,
// row by row.
static hlo_vir_value_t* load_transposed(const packing_t* p, int64_t row) {
  const hlo_matmul_t* m = p->m;
  uint32_t rows = m->lanes / HLO_MATMUL_TRANSPOSED;
  hlo_vir_value_t* columns[HLO_MATMUL_TRANSPOSED];
  for (uint32_t k = 0; k < HLO_MATMUL_TRANSPOSED; ++k) {
    columns[k] = load_neighbours(p, &m->depth[0], k, &m->rows, row, rows);
  }
  return hlo_matmul_interleave(p->b, columns, HLO_MATMUL_TRANSPOSED);
}

// Loads columns of groups like load_transposed(). Their elements are joined in sequence and
// permuted at once.
static hlo_vir_value_t* load_transposed_groups(const packing_t* p, int64_t row) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  uint32_t rows = m->lanes / HLO_MATMUL_TRANSPOSED, count = HLO_MATMUL_TRANSPOSED * m->group;
  int64_t from_bytes = (int64_t)hlo_dtype_size_bytes(p->from_dtype);
  hlo_matmul_dim_t elements = m->depth[0];
  elements.together = 0;
  hlo_vir_value_t* columns[HLO_MATMUL_TRANSPOSED * sizeof(int32_t)];
  for (uint32_t k = 0; k < count; ++k) {
    if (p->is_produced) {
      packing_t here = *p;
      hlo_matmul_move(m, p->side, b, &elements, hlo_index(b, k), &here.at.from);
      columns[k] = produce_elements(&here, &m->rows, NULL, row, rows, rows);
      columns[k] = hlo_vmath_to_memory(b, p->from_dtype, columns[k]);
      continue;
    }
    int64_t at = k / m->group * elements.from[p->side] + k % m->group * m->group_from[p->side];
    hlo_element_address_t address = {.base = p->at.from.base,
                                     .offset_bytes = (at + row) * from_bytes};
    columns[k] = hlo_elementwise_load_raw(b, p->from_dtype, rows, &address);
  }
  hlo_vir_value_t* value = hlo_matmul_join(b, columns, count);
  uint8_t order[HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < value->type.lanes; ++i) {
    order[i] = (uint8_t)(i % count * rows + i / count);
  }
  return hlo_matmul_flip(m, b, hlo_matmul_permute(b, value, order));
}

// Cuts a vector into `count` equal parts.
static void split_vector(const packing_t* p, hlo_vir_value_t* value, uint32_t count,
                         hlo_vir_value_t** parts) {
  parts[0] = value;
  for (uint32_t n = 1; n < count; n *= 2) {
    hlo_vir_type_t half = {parts[0]->type.elem, parts[0]->type.lanes / 2};
    for (uint32_t i = n; i-- > 0;) {
      hlo_vir_value_t* whole = parts[i];
      parts[2 * i] = hlo_vir_emit(p->b, HLO_VIR_lower_half, half, 0, 0, 1, &whole);
      parts[2 * i + 1] = hlo_vir_emit(p->b, HLO_VIR_upper_half, half, 0, 0, 1, &whole);
    }
  }
}

// Stores `count` equal parts of a vector, `step` elements apart, from element `offset` on. `index`:
// a number of elements; NULL: none.
static void store_parts(const packing_t* p, hlo_vir_value_t* value, uint32_t count,
                        hlo_vir_value_t* index, int64_t offset, int64_t step) {
  hlo_vir_value_t* parts[HLO_VIR_MAX_LANES];
  split_vector(p, value, count, parts);
  uint32_t bytes = p->m->element_bytes;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_vir_value_t* operands[] = {parts[i], p->at.to, index};
    hlo_vir_emit(p->b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), (uint32_t)__builtin_ctz(bytes),
                 (offset + i * step) * bytes, 3, operands);
  }
}

// Transposes some elements or groups of a few rows to their packed position.
static void transpose_block(const packing_t* p, hlo_vir_value_t* step, int64_t row) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  uint32_t rows = m->lanes / HLO_MATMUL_TRANSPOSED;
  packing_t here = *p;
  hlo_matmul_move(m, p->side, b, &m->depth[0], step, &here.at.from);
  hlo_vir_value_t* value =
      m->group > 1 ? load_transposed_groups(&here, row) : load_transposed(&here, row);
  const int64_t stride = m->rows.strides[p->side];
  store_parts(p, value, rows, step, row * stride, stride);
}

// Transposes `rows` rows, whose columns are contiguous in place.
static void transpose_panel_rows(packing_t* p, int64_t rows) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_dim_t* inner = &m->depth[0];
  int64_t end = inner->extent, extent = end - (m->last_group < m->group);
  int64_t whole = extent / HLO_MATMUL_TRANSPOSED * HLO_MATMUL_TRANSPOSED;
  int64_t together = m->lanes / HLO_MATMUL_TRANSPOSED, transposed = rows / together * together;
  hlo_vir_value_t* step =
      hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, whole), HLO_MATMUL_TRANSPOSED, 0);
  for (int64_t r = 0; r < transposed; r += together) transpose_block(p, step, r);
  hlo_vir_end(b);
  const packing_position_t start = p->at;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t low = r < transposed ? whole : 0;
    move_packing(p, &m->rows, hlo_index(b, r));
    copy_range(p, inner, low, extent, (hlo_matmul_lanes_t){NULL, 0, 1, 1, m->group});
    copy_range(p, inner, extent, end, (hlo_matmul_lanes_t){NULL, 0, 1, 1, m->last_group});
    fill_line(p);
    p->at = start;
  }
}

static void pack_transposed(packing_t* p, hlo_vir_value_t* block) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t left = m->rows.extent % m->lanes, blocks = m->rows.extent / m->lanes + (left > 0);
  const packing_position_t start = p->at;
  hlo_vir_value_t* at = hlo_remainder(b, block, blocks);
  hlo_vir_value_t* rest = hlo_divide(b, block, blocks);
  move_packing(p, &m->rows, hlo_times(b, at, m->lanes));
  take_outer(p, rest);
  if (left) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, at, hlo_index(b, blocks - 1)));
  transpose_panel_rows(p, m->lanes);
  if (left) {
    hlo_vir_begin_else(b);
    transpose_panel_rows(p, left);
    hlo_vir_end(b);
  }
  p->at = start;
}

// Copies a line in the order of pairs that are looked up (codes.c): of each chunk the first halves
// of all parts, then the second halves. A half part has four groups, 16 bytes.
static void copy_line_for_codes(const packing_t* p, const hlo_matmul_dim_t* dim) {
  enum { HALF = 4, CHUNK_GROUPS = HLO_MATMUL_CODES_CHUNK / HLO_MATMUL_CODES_GROUP };
  hlo_vir_builder_t* b = p->b;
  const uint32_t lanes = p->m->lanes, halves = lanes / HALF;
  hlo_vir_value_t* at =
      hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, dim->extent), CHUNK_GROUPS, 0);
  for (uint32_t first = 0; first < CHUNK_GROUPS; first += lanes) {
    hlo_vir_value_t* parts[HLO_VIR_MAX_LANES];
    const hlo_matmul_lanes_t all = {NULL, 0, lanes, lanes, p->m->group};
    split_vector(p, get_groups(p, dim, at, first, all), halves, parts);
    for (uint32_t i = 0; i < halves; ++i) {
      const uint32_t half = first / HALF + i;
      const uint32_t to = half / 2 * HALF + half % 2 * (CHUNK_GROUPS / 2);
      hlo_vir_value_t* operands[] = {parts[i], p->at.to, at};
      const uint32_t bytes = p->m->element_bytes;
      hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), (uint32_t)__builtin_ctz(bytes),
                   to * bytes, 3, operands);
    }
  }
  hlo_vir_end(b);
}

static void pack_a(packing_t* p, hlo_vir_value_t* line) {
  const hlo_matmul_t* m = p->m;
  if (m->operands[HLO_MATMUL_A].packing == HLO_MATMUL_TRANSPOSED_LINES) {
    pack_transposed(p, line);
    return;
  }
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  bool is_by_rows = m->operands[HLO_MATMUL_A].packing == HLO_MATMUL_LINES_OF_ROWS;
  hlo_vir_value_t* rest = line;
  const packing_position_t start = p->at;
  for (uint32_t i = m->depth_count - 1; i-- > 0;) take_index(p, &m->depth[i], &rest);
  hlo_vir_value_t* at = take_index(p, is_by_rows ? &m->rows : inner, &rest);
  take_outer(p, rest);
  if (hlo_matmul_has_integers(m)) {
    hlo_matmul_pack_integers(m, b, &p->at.from, p->at.to);
  } else if (m->strategy == HLO_MATMUL_BY_CODES) {
    copy_line_for_codes(p, inner);
  } else if (is_by_rows) {
    copy_line(p, inner, m->group, m->last_group);
    fill_line(p);
  } else {
    hlo_vir_value_t* last = m->last_group < m->group ? hlo_index(b, inner->extent - 1) : NULL;
    if (last) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, at, last));
    copy_line(p, &m->rows, m->group, m->group);
    if (last) hlo_vir_begin_else(b);
    if (last) copy_line(p, &m->rows, m->last_group, m->last_group);
    if (last) hlo_vir_end(b);
  }
  p->at = start;
}

// ---- B

static void copy_row(const packing_t* p, const hlo_matmul_panel_t* panel, uint32_t parts) {
  const hlo_matmul_dim_t* columns = &p->m->columns;
  for (uint32_t i = 0; i < panel->piece_count; ++i) {
    const hlo_matmul_piece_t* piece = &panel->pieces[i];
    if (is_vector(p, columns, parts)) {
      copy_vector(p, columns, NULL, piece->offset,
                  (hlo_matmul_lanes_t){NULL, 0, piece->lanes, piece->active, parts});
    } else {
      copy_range(p, columns, piece->offset, piece->offset + piece->active,
                 (hlo_matmul_lanes_t){NULL, 0, 1, 1, parts});
    }
  }
}

// Lists the numbers of rows that are transposed together where columns are contiguous in place,
// largest first: those of a chunk of codes, a square block in registers, then as many rows as a
// register holds of a few columns.
enum { TRANSPOSE_KINDS = 3, PART_BYTES = 16 };
static uint32_t transposed_rows(const packing_t* p, uint32_t rows[TRANSPOSE_KINDS]) {
  uint32_t count = 0, lanes = p->m->lanes;
  if (!hlo_matmul_transposes_columns(p->m)) return 0;
  const bool is_of_chunks =
      !hlo_matmul_has_blocks(p->m) || p->m->block_steps % HLO_MATMUL_CODES_ROWS == 0;
  if (hlo_matmul_widens(&p->m->operands[p->side]) && is_of_chunks) {
    rows[count++] = HLO_MATMUL_CODES_ROWS;
  }
  rows[count++] = lanes;
  rows[count++] = lanes / HLO_MATMUL_TRANSPOSED;
  return count;
}

// Stores the parts of a vector to rows from the current one on.
static void store_rows(const packing_t* p, hlo_vir_value_t* value, uint32_t rows, int64_t column) {
  const int64_t stride = p->m->depth[p->m->depth_count - 1].strides[p->side];
  store_parts(p, value, rows, NULL, column, stride);
}

// Transposes computed groups like those in memory.
static void transpose_groups(const packing_t* p, const hlo_matmul_panel_t* panel, uint32_t rows) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  const hlo_matmul_piece_t* last = &panel->pieces[panel->piece_count - 1];
  const hlo_matmul_lanes_t all = {.lanes = rows, .active = rows, .parts = m->group};
  uint32_t end = last->offset + last->active;
  for (uint32_t c = 0; c < end; c += HLO_MATMUL_TRANSPOSED) {
    hlo_vir_value_t* columns[HLO_MATMUL_TRANSPOSED];
    for (uint32_t k = 0; k < HLO_MATMUL_TRANSPOSED; ++k) {
      packing_t here = *p;
      hlo_matmul_move(m, p->side, b, &m->columns, hlo_index(b, c + k), &here.at.from);
      columns[k] = c + k < end ? produce_groups(&here, inner, NULL, 0, &all)
                               : hlo_vir_const_bits(b, columns[0]->type, 0);
    }
    uint8_t order[HLO_VIR_MAX_LANES];
    for (uint32_t i = 0; i < rows * HLO_MATMUL_TRANSPOSED * m->group; ++i) {
      uint32_t group = i / m->group, column = group % HLO_MATMUL_TRANSPOSED;
      order[i] =
          (uint8_t)((column * rows + group / HLO_MATMUL_TRANSPOSED) * m->group + i % m->group);
    }
    hlo_vir_value_t* value = hlo_matmul_join(b, columns, HLO_MATMUL_TRANSPOSED);
    store_rows(p, hlo_matmul_permute(b, value, order), rows, c);
  }
}

// Prefetches a column's line some blocks ahead. Each column is on a page of its own.
static void fetch_column(const packing_t* p, uint32_t column) {
  const hlo_matmul_dim_t *columns = &p->m->columns, *inner = &p->m->depth[p->m->depth_count - 1];
  if (p->is_produced) return;
  int64_t at = column * columns->from[p->side] +
               HLO_TUNING_PACK_FETCH_BLOCKS * p->m->lanes * inner->from[p->side];
  hlo_vir_value_t* base[] = {p->at.from.base};
  hlo_vir_emit(p->b, HLO_VIR_prefetch, hlo_vir_type(HLO_VIR_VOID, 0), 0,
               at * (int64_t)hlo_dtype_size_bytes(p->from_dtype), 1, base);
}

// Returns a register of computed elements or groups of a column from the current row on.
static hlo_vir_value_t* produce_column(const packing_t* p, uint32_t column) {
  const hlo_matmul_t* m = p->m;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  if (m->group == 1) return load_neighbours(p, &m->columns, column, inner, 0, m->lanes);
  packing_t here = *p;
  hlo_matmul_move(m, p->side, p->b, &m->columns, hlo_index(p->b, column), &here.at.from);
  const hlo_matmul_lanes_t all = {.lanes = m->lanes, .active = m->lanes, .parts = m->group};
  hlo_vir_value_t* groups = produce_groups(&here, inner, NULL, 0, &all);
  return hlo_vir_emit(p->b, HLO_VIR_recast, hlo_vmath_type(m->dtype, m->lanes), 0, 0, 1, &groups);
}

// Transposes computed columns like those in memory, but computes a whole register of each.
static void transpose_computed_block(const packing_t* p, uint32_t first, uint32_t end) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  const uint32_t lanes = m->lanes, count = PART_BYTES / m->element_bytes, parts = lanes / count;
  hlo_vir_value_t* rows[HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < count; ++i) {
    hlo_vir_value_t* cut[HLO_VIR_MAX_LANES / 2][HLO_VIR_MAX_LANES / 2];
    for (uint32_t q = 0; q < parts; ++q) {
      const uint32_t column = first + i + q * count;
      // Columns past the end repeat the first one.
      split_vector(p, produce_column(p, column < end ? column : first), parts, cut[q]);
    }
    for (uint32_t k = 0; k < parts; ++k) {
      hlo_vir_value_t* across[HLO_VIR_MAX_LANES];
      for (uint32_t q = 0; q < parts; ++q) across[q] = cut[q][k];
      rows[k * count + i] = hlo_matmul_join(b, across, parts);
    }
  }
  hlo_elementwise_transpose(b, rows, lanes, count, count);
  for (uint32_t k = 0; k < lanes; ++k) {
    int64_t offset = k * inner->strides[p->side] + first;
    hlo_element_address_t to = {.base = p->at.to, .offset_bytes = offset * m->element_bytes};
    hlo_elementwise_store_raw(b, m->dtype, rows[k], &to);
  }
}

// Transposes columns first <= number < end of as many rows as a register has lanes. Each load reads
// the part of a column that a part of a register holds; all parts of a few columns are read before
// the next columns, since columns a power of two apart share a set of the first cache, which cannot
// hold all of them. The parts are then transposed side by side.
static void transpose_columns_block(const packing_t* p, uint32_t first, uint32_t end) {
  const hlo_matmul_t* m = p->m;
  if (p->is_produced) {
    transpose_computed_block(p, first, end);
    return;
  }
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  uint32_t lanes = m->lanes, count = PART_BYTES / m->element_bytes;
  hlo_vir_value_t *rows[HLO_VIR_MAX_LANES], *zero = NULL;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < lanes; k += count) {
      hlo_vir_value_t* parts[HLO_VIR_MAX_LANES];
      for (uint32_t q = 0; q < lanes / count; ++q) {
        uint32_t column = first + i + q * count;
        if (column < end && k == 0) fetch_column(p, column);
        parts[q] = column < end ? load_neighbours(p, &m->columns, column, inner, k, count) : zero;
        if (!zero) zero = hlo_vir_const_bits(b, parts[q]->type, 0);
      }
      rows[k + i] = hlo_matmul_join(b, parts, lanes / count);
    }
  }
  hlo_elementwise_transpose(b, rows, lanes, count, count);
  for (uint32_t k = 0; k < lanes; ++k) {
    int64_t offset = k * inner->strides[p->side] + first;
    hlo_element_address_t to = {.base = p->at.to, .offset_bytes = offset * m->element_bytes};
    hlo_elementwise_store_raw(b, m->dtype, rows[k], &to);
  }
}

// Widens chunks of columns first <= number < end, a register of columns.
static void widen_columns_block(const packing_t* p, uint32_t first, uint32_t end) {
  const hlo_matmul_t* m = p->m;
  const int64_t stride = m->depth[m->depth_count - 1].strides[p->side];
  hlo_vir_value_t* rows[HLO_MATMUL_CODES_ROWS];
  hlo_matmul_widen_columns(m, p->b, &p->at.from, first, end, rows);
  for (uint32_t k = 0; k < HLO_MATMUL_CODES_ROWS; ++k) {
    const hlo_element_address_t to = {.base = p->at.to,
                                      .offset_bytes = (k * stride + first) * m->element_bytes};
    hlo_elementwise_store_raw(p->b, m->dtype, rows[k], &to);
  }
}

// Transposes or widens all blocks of `rows` rows of a panel of `columns` columns.
static void transpose_columns(const packing_t* p, uint32_t rows, uint32_t columns) {
  const hlo_matmul_t* m = p->m;
  uint32_t lanes = m->lanes, whole = columns / lanes * lanes;
  void (*const block)(const packing_t*, uint32_t, uint32_t) =
      rows == lanes ? transpose_columns_block : widen_columns_block;
  packing_t here = *p;
  if (whole) {
    hlo_vir_value_t* first =
        hlo_vir_begin_for(p->b, hlo_index(p->b, 0), hlo_index(p->b, whole), lanes, 0);
    hlo_matmul_move(m, p->side, p->b, &m->columns, first, &here.at.from);
    here.at.to = hlo_plus(p->b, p->at.to, hlo_times(p->b, first, m->element_bytes));
    block(&here, 0, lanes);
    hlo_vir_end(p->b);
  }
  if (whole < columns) block(p, whole, columns);
}

static void transpose_rows(const packing_t* p, const hlo_matmul_panel_t* panel, uint32_t rows) {
  const hlo_matmul_dim_t* inner = &p->m->depth[p->m->depth_count - 1];
  const hlo_matmul_piece_t* last = &panel->pieces[panel->piece_count - 1];
  uint32_t end = last->offset + last->active;
  if (rows >= p->m->lanes) {
    transpose_columns(p, rows, end);
    return;
  }
  if (p->is_produced && p->m->group > 1) {
    transpose_groups(p, panel, rows);
    return;
  }
  for (uint32_t c = 0; c < end; c += HLO_MATMUL_TRANSPOSED) {
    hlo_vir_value_t* columns[HLO_MATMUL_TRANSPOSED];
    for (uint32_t k = 0; k < HLO_MATMUL_TRANSPOSED; ++k) {
      columns[k] = c + k < end ? load_neighbours(p, &p->m->columns, c + k, inner, 0, rows)
                               : hlo_vir_const_bits(p->b, columns[0]->type, 0);
    }
    store_rows(p, hlo_matmul_interleave(p->b, columns, HLO_MATMUL_TRANSPOSED), rows, c);
  }
}

// Fills rows with zeros after the last one, up to the steps that tile registers read.
static void fill_rows(const packing_t* p, const hlo_matmul_panel_t* panel) {
  const hlo_matmul_t* m = p->m;
  int64_t row_bytes = m->panel_width * m->element_bytes;
  for (int64_t row = m->depth[m->depth_count - 1].extent; row < hlo_matmul_filled_steps(m); ++row) {
    for (uint32_t i = 0; i < panel->piece_count; ++i) {
      const hlo_matmul_piece_t* piece = &panel->pieces[i];
      store_zeros(p, piece->lanes, row * row_bytes + (int64_t)piece->offset * m->element_bytes);
    }
  }
}

// Copies rows row <= number < end of the innermost loop, `rows` together. `low`: the first row of
// their block; NULL: they are not in a block.
static void copy_rows(packing_t* p, const hlo_matmul_panel_t* panel, hlo_vir_value_t* row,
                      hlo_vir_value_t* end, hlo_vir_value_t* low, uint32_t rows, uint32_t parts) {
  const hlo_matmul_dim_t* dim = &p->m->depth[p->m->depth_count - 1];
  if (row->op == HLO_VIR_iconst && end->op == HLO_VIR_iconst && row->imm >= end->imm) return;
  row = hlo_vir_begin_for(p->b, row, end, rows, 0);
  const packing_position_t start = p->at;
  hlo_matmul_move(p->m, p->side, p->b, dim, row, &p->at.from);
  hlo_vir_value_t* at = low ? hlo_minus(p->b, row, low) : row;
  p->at.to =
      hlo_plus(p->b, p->at.to, hlo_times(p->b, at, dim->strides[p->side] * p->m->element_bytes));
  if (rows > 1) {
    transpose_rows(p, panel, rows);
  } else {
    copy_row(p, panel, parts);
  }
  hlo_vir_end(p->b);
  p->at = start;
}

// Copies all rows along the contracting loops from `level` on.
static void copy_loops(packing_t* p, const hlo_matmul_panel_t* panel, uint32_t level) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const packing_position_t start = p->at;
  int64_t extent = m->depth[level].extent, whole = extent - (m->last_group < m->group), done = 0;
  if (level + 1 < m->depth_count) {
    move_packing(p, &m->depth[level],
                 hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, extent), 1, 0));
    copy_loops(p, panel, level + 1);
    hlo_vir_end(b);
    p->at = start;
    return;
  }
  uint32_t together[TRANSPOSE_KINDS + 1];
  uint32_t count = transposed_rows(p, together);
  together[count++] = 1;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t next = whole / together[i] * together[i];
    if (done == next) continue;
    copy_rows(p, panel, hlo_index(b, done), hlo_index(b, next), NULL, together[i], m->group);
    done = next;
  }
  fill_rows(p, panel);
  if (whole == extent) return;
  move_packing(p, &m->depth[level], hlo_index(b, whole));
  copy_row(p, panel, m->last_group);
  p->at = start;
}

// Stores the correction for a flipped A of a panel's accumulators, computed from the packed panel.
static void store_corrections(const packing_t* p, const hlo_matmul_panel_t* panel,
                              hlo_vir_value_t* row_count) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  int64_t row_bytes = m->panel_width * m->element_bytes;
  hlo_vir_value_t* accumulators[HLO_MATMUL_MAX_PIECES];
  for (uint32_t i = 0; i < panel->piece_count; ++i) {
    hlo_vir_type_t type = hlo_vmath_type(m->dtype, panel->pieces[i].lanes);
    accumulators[i] = hlo_vir_var(b, hlo_vir_const_bits(b, type, 0));
  }
  hlo_vir_value_t* row = hlo_vir_begin_for(b, hlo_index(b, 1), hlo_add(b, row_count, 1), 1, 0);
  hlo_vir_value_t* base = hlo_plus(b, p->at.to, hlo_times(b, row, row_bytes));
  for (uint32_t i = 0; i < panel->piece_count; ++i) {
    hlo_element_address_t address = {
        .base = base, .offset_bytes = (int64_t)panel->pieces[i].offset * m->element_bytes};
    hlo_vir_value_t* value = hlo_elementwise_load(b, m->dtype, panel->pieces[i].lanes, &address);
    hlo_vir_value_t* ones = hlo_vir_const_bits(b, value->type, 0x01010101);
    hlo_vir_set(b, accumulators[i], hlo_matmul_add_groups(m, b, accumulators[i], ones, value));
  }
  hlo_vir_end(b);
  // Flipping x adds 128 y to every product (if x is signed) or subtracts it.
  const int64_t factor = m->operands[HLO_MATMUL_A].dtype == HLO_DTYPE_S8 ? -128 : 128;
  for (uint32_t i = 0; i < panel->piece_count; ++i) {
    hlo_element_address_t address = {
        .base = p->at.to, .offset_bytes = (int64_t)panel->pieces[i].offset * m->element_bytes};
    hlo_vir_value_t* by = hlo_vir_const_bits(b, accumulators[i]->type, (uint64_t)factor);
    hlo_elementwise_store(b, m->dtype, hlo_vir_binary(b, HLO_VIR_mul, accumulators[i], by),
                          &address);
  }
}

static void copy_panel(packing_t* p, const hlo_matmul_panel_t* panel) {
  hlo_vir_value_t* to = p->at.to;
  p->at.to = hlo_add(p->b, to, hlo_matmul_first_row(p->m) * p->m->element_bytes);
  copy_loops(p, panel, 0);
  p->at.to = to;
  if (hlo_matmul_is_flipped(p->m)) store_corrections(p, panel, hlo_index(p->b, p->m->depth_extent));
}

void hlo_matmul_pack_block(const hlo_matmul_t* m, const hlo_point_emitter_t* points,
                           hlo_vir_builder_t* b, const hlo_matmul_panel_t* panel,
                           const hlo_matmul_source_t* from, hlo_vir_value_t* to,
                           hlo_vir_value_t* low) {
  const hlo_matmul_operand_t* operand = &m->operands[HLO_MATMUL_B];
  int64_t first_bytes = hlo_matmul_first_row(m) * m->element_bytes;
  packing_t p = {.m = m,
                 .b = b,
                 .side = HLO_MATMUL_B,
                 .from_dtype = operand->dtype,
                 .is_produced = hlo_matmul_is_produced(operand),
                 .points = points,
                 .at = {*from, hlo_add(b, to, first_bytes)}};
  int64_t extent = m->depth[0].extent, whole = extent - (m->last_group < m->group);
  hlo_vir_value_t* block_end = hlo_add(b, low, m->block_steps);
  hlo_vir_value_t* end = hlo_least(b, block_end, hlo_index(b, whole));
  hlo_vir_value_t* row = low;  // a block begins at a multiple of the transposed rows
  uint32_t together[TRANSPOSE_KINDS];
  uint32_t count = transposed_rows(&p, together);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t rows = together[i];
    hlo_vir_value_t* next = hlo_least(b, block_end, hlo_index(b, whole / rows * rows));
    next = hlo_most(b, row, next);
    copy_rows(&p, panel, row, next, low, rows, m->group);
    row = next;
  }
  copy_rows(&p, panel, row, end, low, 1, m->group);
  if (whole < extent) {
    hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GE, block_end, hlo_index(b, extent)));
    copy_rows(&p, panel, hlo_index(b, whole), hlo_index(b, extent), low, 1, m->last_group);
    hlo_vir_end(b);
  }
  if (!hlo_matmul_is_flipped(m)) return;
  p.at.to = to;
  end = hlo_least(b, block_end, hlo_index(b, extent));
  store_corrections(&p, panel, hlo_minus(b, end, low));
}

static void pack_b(packing_t* p, hlo_vir_value_t* number_of_panel) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  const packing_position_t start = p->at;
  hlo_vir_value_t* rest = number_of_panel;
  hlo_matmul_dim_t panels = {.extent = m->panel_count, .together = m->panel_width};
  panels.from[HLO_MATMUL_B] = m->panel_width * m->columns.from[HLO_MATMUL_B];
  panels.place[HLO_MATMUL_B] = m->columns.place[HLO_MATMUL_B];
  panels.strides[HLO_MATMUL_B] = m->panel_stride;
  hlo_vir_value_t* panel = hlo_remainder(b, rest, m->panel_count);
  take_index(p, &panels, &rest);
  take_outer(p, rest);
  bool has_both = m->full_panels && m->edge.piece_count;
  if (has_both) {
    hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, panel, hlo_index(b, m->full_panels)));
  }
  copy_panel(p, hlo_matmul_main_panel(m));
  if (has_both) hlo_vir_begin_else(b);
  if (has_both) copy_panel(p, &m->edge);
  if (has_both) hlo_vir_end(b);
  p->at = start;
}

// ---- chunks

void hlo_matmul_emit_packing(const hlo_kernel_t* kernel, const hlo_point_emitter_t* points,
                             hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                             hlo_vir_value_t* chunk) {
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  const hlo_fusion_t* fusion = kernel->fusion;
  const hlo_matmul_copy_t* copies = m->copies[HLO_MATMUL_PACK];
  hlo_vir_value_t* scratch = addresses[fusion->input_count + fusion->output_count];
  hlo_vir_value_t* chunks_of_a = hlo_index(b, copies[HLO_MATMUL_A].chunk_count);
  bool is_split = chunk && copies[0].count && copies[1].count;
  if (is_split) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, chunk, chunks_of_a));
  for (uint32_t side = 0; side < 2; ++side) {
    bool is_second = is_split && side == HLO_MATMUL_B;
    if (!copies[side].count) continue;
    if (is_second) hlo_vir_begin_else(b);
    packing_t p = {.m = m,
                   .b = b,
                   .side = side,
                   .from_dtype = m->operands[side].dtype,
                   .is_produced = hlo_matmul_is_produced(&m->operands[side]),
                   .points = points};
    p.at.from.base = hlo_matmul_source(kernel, side, points, b, addresses);
    hlo_matmul_locate_codes(m, side, addresses, &p.at.from);
    p.at.to = hlo_add(b, scratch, (int64_t)copies[side].offset_bytes);
    hlo_vir_value_t* own = is_second ? hlo_minus(b, chunk, chunks_of_a) : chunk;
    hlo_vir_value_t* at = hlo_matmul_begin_copy(&copies[side], b, own);
    if (side == HLO_MATMUL_A) {
      pack_a(&p, at);
    } else {
      pack_b(&p, at);
    }
    hlo_vir_end(b);
  }
  if (is_split) hlo_vir_end(b);
}
