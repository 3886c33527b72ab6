// SPDX-License-Identifier: Apache-2.0
// Vector IR of a tile's loops along the contraction: steps of fused multiply-adds, those of
// depthwise convolutions, and those of lanes along the contraction. The loops of a convolution skip
// the positions outside the input (see matmul.h).
#include <stdlib.h>

#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

// ---- one step

hlo_vir_value_t* hlo_product_compute(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                     const hlo_product_step_t* step, int64_t column,
                                     const hlo_matmul_dim_t* along, uint32_t lanes,
                                     hlo_vir_value_t* mask) {
  const hlo_matmul_t* m = p->m;
  hlo_matmul_source_t source = tile->source;
  hlo_vir_value_t* at = hlo_index(p->b, step->count);
  if (step->counter) at = hlo_plus(p->b, step->counter, at);
  hlo_matmul_move(m, HLO_MATMUL_B, p->b, &m->depth[m->depth_count - 1], at, &source);
  hlo_matmul_move(m, HLO_MATMUL_B, p->b, &m->columns, hlo_index(p->b, column), &source);
  hlo_vir_value_t* value =
      hlo_matmul_produce(m, p->b, p->points, HLO_MATMUL_B, along, &source, lanes, mask);
  return hlo_vmath_convert(p->b, m->operands[HLO_MATMUL_B].dtype, m->dtype, value);
}

// Loads a vector of B in place.
static hlo_vir_value_t* read_source(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                    const hlo_product_step_t* step,
                                    const hlo_matmul_piece_t* piece) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_value_t* mask = hlo_matmul_first_lanes(p->b, piece->lanes, piece->active);
  if (hlo_matmul_is_produced(&m->operands[HLO_MATMUL_B])) {
    return hlo_product_compute(p, tile, step, piece->offset, &m->columns, piece->lanes, mask);
  }
  hlo_dtype_t dtype = m->operands[HLO_MATMUL_B].dtype;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype), stride = m->depth[0].from[HLO_MATMUL_B];
  hlo_element_address_t from = {
      .base = tile->source.base,
      .index = step->counter ? hlo_times(p->b, step->counter, stride) : NULL,
      .mask = mask,
      .offset_bytes = (step->count * stride + piece->offset) * bytes};
  hlo_vir_value_t* value = hlo_elementwise_load(p->b, dtype, piece->lanes, &from);
  return hlo_vmath_convert(p->b, dtype, m->dtype, value);
}

// Loads a vector of B, and packs it if this tile packs the block.
static hlo_vir_value_t* load_b(const hlo_product_t* p, const hlo_product_tile_t* tile,
                               const hlo_product_step_t* step, int64_t beyond,
                               const hlo_matmul_piece_t* piece) {
  const hlo_matmul_operand_t* operand = &p->m->operands[HLO_MATMUL_B];
  const bool is_in_place = operand->packing == HLO_MATMUL_IN_PLACE;
  hlo_dtype_t dtype = p->dtypes[HLO_MATMUL_B];
  hlo_element_address_t address = {
      .base = tile->b,
      .index = step->index[HLO_MATMUL_B],
      .offset_bytes =
          (step->beyond[HLO_MATMUL_B] + beyond + piece->offset) * hlo_product_element_bytes(p, 1)};
  if (tile->is_packing || (is_in_place && hlo_matmul_is_produced(operand))) {
    hlo_vir_value_t* value = read_source(p, tile, step, piece);
    if (tile->is_packing) hlo_elementwise_store(p->b, p->m->dtype, value, &address);
    return value;
  }
  if (is_in_place) address.mask = hlo_matmul_first_lanes(p->b, piece->lanes, piece->active);
  hlo_vir_value_t* value = hlo_elementwise_load(p->b, dtype, piece->lanes, &address);
  return hlo_vmath_convert(p->b, dtype, p->m->dtype, value);
}

static hlo_vir_value_t* load_a(const hlo_product_t* p, const hlo_product_tile_t* tile,
                               const hlo_product_step_t* step, int64_t row, uint32_t lanes) {
  hlo_vir_builder_t* b = p->b;
  hlo_dtype_t dtype = p->dtypes[HLO_MATMUL_A];
  int64_t offset = (step->beyond[HLO_MATMUL_A] + row * p->m->rows.strides[HLO_MATMUL_A]) *
                   hlo_product_element_bytes(p, 0);
  hlo_vir_type_t type = hlo_vmath_type(p->m->dtype, lanes);
  hlo_vir_type_t memory = hlo_vmath_memory_type(dtype, lanes);
  if (hlo_vir_type_equal(type, memory) || p->m->group > 1) {
    hlo_vir_value_t* operands[] = {tile->a, step->index[HLO_MATMUL_A]};
    hlo_vir_value_t* splat = hlo_vir_emit(
        b, HLO_VIR_load_splat, type,
        (uint32_t)__builtin_ctzll((uint64_t)hlo_product_element_bytes(p, 0)), offset, 2, operands);
    bool is_copied =
        hlo_matmul_is_packed(&p->m->operands[HLO_MATMUL_A]) || p->m->padding[HLO_MATMUL_A].is_used;
    return is_copied ? splat : hlo_matmul_flip(p->m, b, splat);
  }
  hlo_element_address_t address = {
      .base = tile->a, .index = step->index[HLO_MATMUL_A], .offset_bytes = offset};
  hlo_vir_value_t* value = hlo_elementwise_load(b, dtype, 1, &address);
  value = hlo_vmath_convert(b, dtype, p->m->dtype, value);
  return hlo_vir_emit(b, HLO_VIR_splat, type, 0, 0, 1, &value);
}

void hlo_product_add(const hlo_product_t* p, hlo_vir_value_t* sum, hlo_vir_value_t* x,
                     hlo_vir_value_t* y) {
  hlo_vir_builder_t* b = p->b;
  if (p->m->group > 1) {
    hlo_vir_set(b, sum, hlo_matmul_add_groups(p->m, b, sum, x, y));
    return;
  }
  hlo_vir_set(b, sum, hlo_elementwise_multiply_add(b, p->m->target->has_fma, x, y, sum));
}

static void emit_step(const hlo_product_t* p, const hlo_product_tile_t* tile,
                      const hlo_product_step_t* step) {
  const hlo_matmul_panel_t* panel = tile->panel;
  hlo_vir_value_t* rows[HLO_MATMUL_MAX_PIECES];
  for (uint32_t i = 0; i < panel->piece_count; ++i) {
    rows[i] = load_b(p, tile, step, 0, &panel->pieces[i]);
  }
  for (int64_t r = tile->low_row; r < tile->end_row; ++r) {
    hlo_vir_value_t* factor = NULL;
    for (uint32_t i = 0; i < panel->piece_count; ++i) {
      uint32_t lanes = panel->pieces[i].lanes;
      if (!factor || factor->type.lanes != lanes) factor = load_a(p, tile, step, r, lanes);
      hlo_product_add(p, tile->accumulators[r * panel->piece_count + i], factor, rows[i]);
    }
  }
}

// ---- lanes along channels of both operands

// Moves lane (first + i) / repeat to lane i, for each i.
static hlo_vir_value_t* repeat_lanes(hlo_vir_builder_t* b, hlo_vir_value_t* value, uint32_t lanes,
                                     int64_t first, int64_t repeat) {
  uint8_t elem = value->type.elem;
  // The count comes from the loop, since a value has no lanes when memory is exhausted.
  for (uint32_t half = value->type.lanes; half > 0 && half < lanes; half *= 2) {
    hlo_vir_type_t type = {elem, (uint8_t)(2 * half)};
    hlo_vir_value_t* halves[] = {value, value};
    value = hlo_vir_emit(b, HLO_VIR_join, type, 0, 0, 2, halves);
  }
  if (lanes == 1) return value;
  uint8_t order[HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < lanes; ++i) order[i] = (uint8_t)((first + i) / repeat);
  return hlo_matmul_permute(b, value, order);
}

// Loads A's vector for the columns of a piece, `beyond` elements after the step's position.
static hlo_vir_value_t* load_channels(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                      const hlo_product_step_t* step, int64_t beyond,
                                      const hlo_matmul_piece_t* piece) {
  const hlo_matmul_t* m = p->m;
  hlo_vir_builder_t* b = p->b;
  hlo_dtype_t dtype = p->dtypes[HLO_MATMUL_A];
  int64_t stride = m->columns.strides[HLO_MATMUL_A], channel = piece->offset / m->repeat;
  int64_t first = piece->offset % m->repeat;
  hlo_matmul_piece_t part = {.active = (uint32_t)((first + piece->active - 1) / m->repeat + 1),
                             .lanes = piece->lanes};
  while (m->repeat > 1 && part.lanes / 2 >= part.active) part.lanes /= 2;
  hlo_element_address_t address = {
      .base = tile->a,
      .index = step->index[HLO_MATMUL_A],
      .mask = hlo_matmul_first_lanes(b, part.lanes, part.active),
      .offset_bytes = (step->beyond[HLO_MATMUL_A] + beyond + channel * stride) *
                      hlo_product_element_bytes(p, 0)};
  hlo_vir_value_t* value;
  if (stride == 1 || part.lanes == 1) {
    value = hlo_elementwise_load(b, dtype, part.lanes, &address);
  } else {
    if (address.index) {
      address.base =
          hlo_plus(b, address.base, hlo_times(b, address.index, hlo_product_element_bytes(p, 0)));
      address.index = NULL;
    }
    hlo_vir_value_t* index = hlo_matmul_lane_offsets(b, part.lanes, stride);
    value = hlo_elementwise_gather(b, dtype, part.lanes, &address, index);
  }
  value = hlo_vmath_convert(b, dtype, m->dtype, value);
  return m->repeat == 1 ? value : repeat_lanes(b, value, piece->lanes, first, m->repeat);
}

// One multiply-add of a tile: the offset of A's vector, the row, the step.
typedef struct term {
  int64_t offset;
  int32_t row, step;
} term_t;

static int compare_terms(const void* x, const void* y) {
  const term_t *a = x, *b = y;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return a->step - b->step;
}

// Emits the multiply-adds in the order of A, so that each of its vectors is loaded once for all
// rows and steps that use it. A row's steps stay in order.
static void emit_channels(const hlo_product_t* p, const hlo_product_tile_t* tile,
                          const hlo_product_step_t* step, int64_t steps) {
  const hlo_matmul_t* m = p->m;
  const hlo_matmul_dim_t* dim = &m->depth[m->depth_count - 1];
  term_t terms[MAX_ACCUMULATORS * HLO_MATMUL_MAX_SLIDE];
  uint32_t count = 0;
  for (int64_t r = tile->low_row; r < tile->end_row; ++r) {
    for (int64_t u = 0; u < steps; ++u) {
      int64_t offset = r * m->rows.strides[HLO_MATMUL_A] + u * dim->strides[HLO_MATMUL_A];
      terms[count++] = (term_t){offset, (int32_t)r, (int32_t)u};
    }
  }
  qsort(terms, count, sizeof *terms, compare_terms);
  for (uint32_t i = 0; i < tile->panel->piece_count; ++i) {
    const hlo_matmul_piece_t* piece = &tile->panel->pieces[i];
    hlo_vir_value_t *factors[HLO_MATMUL_MAX_SLIDE], *x = NULL;
    for (int64_t u = 0; u < steps; ++u) {
      factors[u] = load_b(p, tile, step, u * dim->strides[HLO_MATMUL_B], piece);
    }
    for (uint32_t n = 0; n < count; ++n) {
      bool is_new = n == 0 || terms[n].offset != terms[n - 1].offset;
      if (is_new) x = load_channels(p, tile, step, terms[n].offset, piece);
      hlo_vir_value_t* sum =
          tile->accumulators[(uint32_t)terms[n].row * tile->panel->piece_count + i];
      hlo_product_add(p, sum, x, factors[terms[n].step]);
    }
  }
}

// ---- the innermost loop

// Some steps of a loop: `count` from `first` on, or those low <= number < end.
typedef struct range {
  int64_t first, count;
  hlo_vir_value_t *low, *end;  // NULL: known when compiling
} range_t;

void hlo_product_fetch(const hlo_product_t* p, hlo_vir_value_t* base, hlo_vir_value_t* index,
                       int64_t unit_bytes, int64_t offset_bytes) {
  hlo_vir_value_t* operands[] = {base, index};
  hlo_vir_emit(p->b, HLO_VIR_prefetch, hlo_vir_type(HLO_VIR_VOID, 0),
               (uint32_t)__builtin_ctzll((uint64_t)unit_bytes), offset_bytes, 2, operands);
}

// Prefetches the elements of A that the next tile reads at this step, for a share of its rows.
static void fetch_rows(const hlo_product_t* p, const hlo_product_tile_t* tile,
                       const hlo_product_step_t* step, int64_t part, int64_t parts) {
  int64_t bytes = hlo_product_element_bytes(p, HLO_MATMUL_A);
  for (int64_t r = part; r < tile->height; r += parts) {
    int64_t row = (tile->height + r) * p->m->rows.strides[HLO_MATMUL_A];
    hlo_product_fetch(p, tile->a, step->index[HLO_MATMUL_A], bytes,
                      (step->beyond[HLO_MATMUL_A] + row) * bytes);
  }
}

// Prefetches the lines of A's adjacent rows some steps ahead. Each step is in other lines, perhaps
// on another page, which hardware prefetchers do not predict.
static void fetch_lines(const hlo_product_t* p, const hlo_product_tile_t* tile,
                        const hlo_product_step_t* step) {
  const hlo_matmul_t* m = p->m;
  int64_t bytes = hlo_product_element_bytes(p, HLO_MATMUL_A),
          stride = m->depth[m->depth_count - 1].strides[HLO_MATMUL_A];
  for (int64_t r = tile->height - 1; r >= 0; r -= hlo_matmul_line_bytes(m) / bytes) {
    hlo_product_fetch(p, tile->a, step->index[HLO_MATMUL_A], bytes,
                      (step->beyond[HLO_MATMUL_A] + HLO_TUNING_FETCH_STEPS * stride + r) * bytes);
  }
}

// Prefetches a share of the lines of a row of B, of all elements of groups, that the next block is
// packed from.
static void fetch_source(const hlo_product_t* p, const hlo_product_tile_t* tile,
                         hlo_vir_value_t* counter, int64_t part, int64_t parts) {
  const hlo_matmul_t* m = p->m;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype);
  int64_t lines = hlo_divide_up(m->panel_width * bytes, hlo_matmul_line_bytes(m));
  hlo_vir_value_t* index = hlo_vir_index(p->b, HLO_VIR_imul, counter, tile->fetch_stride);
  for (int64_t i = part; i < lines * m->group; i += parts) {
    int64_t element = i / lines * m->group_from[HLO_MATMUL_B] * bytes;
    hlo_product_fetch(p, tile->fetch_base, index, 1,
                      element + i % lines * hlo_matmul_line_bytes(m));
  }
}

// Emits `count` steps from `counter` (NULL: 0) plus `first` on.
static void emit_steps(const hlo_product_t* p, const hlo_product_tile_t* tile,
                       hlo_vir_value_t* counter, int64_t first, int64_t count) {
  const hlo_matmul_t* m = p->m;
  const hlo_matmul_dim_t* dim = &m->depth[m->depth_count - 1];
  bool is_by_channel = m->strategy == HLO_MATMUL_BY_CHANNEL;
  int64_t together = is_by_channel ? m->slide : 1;
  for (int64_t u = 0; u < count; u += together) {
    hlo_product_step_t step = {.counter = counter, .count = first + u};
    for (uint32_t side = 0; side < 2; ++side) {
      int64_t stride = dim->strides[side];
      if (counter) step.index[side] = hlo_times(p->b, counter, stride);
      step.beyond[side] = (first + u) * stride;
    }
    if (is_by_channel) {
      emit_channels(p, tile, &step, hlo_matmul_min(together, count - u));
    } else {
      emit_step(p, tile, &step);
    }
    if (counter && tile->fetch_base) fetch_source(p, tile, counter, u, count);
    if (counter && m->fetch == HLO_MATMUL_FETCH_ROWS) fetch_rows(p, tile, &step, u, count);
    if (counter && m->fetch == HLO_MATMUL_FETCH_STEPS) fetch_lines(p, tile, &step);
  }
}

hlo_vir_value_t* hlo_product_is_last_block(const hlo_product_t* p) {
  return hlo_vir_icmp(p->b, HLO_VIR_EQ, p->block, hlo_index(p->b, p->m->block_count - 1));
}

static int64_t unroll_of(const hlo_matmul_t* m) {
  return m->strategy == HLO_MATMUL_BY_CHANNEL ? m->slide : HLO_TUNING_PRODUCT_UNROLL;
}

static void emit_known(const hlo_product_t* p, const hlo_product_tile_t* tile, int64_t first,
                       int64_t count) {
  hlo_vir_builder_t* b = p->b;
  int64_t unroll = unroll_of(p->m);
  if (count <= HLO_TUNING_STRAIGHT_MAX_STEPS) {
    emit_steps(p, tile, NULL, first, count);
    return;
  }
  int64_t whole = count / unroll * unroll;
  hlo_vir_value_t *low = hlo_index(b, first), *end = hlo_index(b, first + whole);
  bool is_cut = p->block && p->m->depth_count == 1;
  if (is_cut) {
    low = hlo_times(b, p->block, p->m->block_steps);
    end = hlo_least(b, hlo_add(b, low, p->m->block_steps), end);
  }
  hlo_vir_value_t* counter = hlo_vir_begin_for(b, low, end, unroll, 0);
  emit_steps(p, tile, counter, 0, unroll);
  hlo_vir_end(b);
  if (whole == count) return;
  if (is_cut) hlo_vir_begin_if(b, hlo_product_is_last_block(p));
  emit_steps(p, tile, NULL, first + whole, count - whole);
  if (is_cut) hlo_vir_end(b);
}

static void emit_unknown(const hlo_product_t* p, const hlo_product_tile_t* tile,
                         hlo_vir_value_t* low, hlo_vir_value_t* end) {
  hlo_vir_builder_t* b = p->b;
  int64_t unroll = unroll_of(p->m);
  hlo_vir_value_t* count = hlo_minus(b, end, low);
  count = hlo_most(b, count, hlo_index(b, 0));
  hlo_vir_value_t* whole = hlo_times(b, hlo_divide(b, count, unroll), unroll);
  whole = hlo_plus(b, low, whole);
  emit_steps(p, tile, hlo_vir_begin_for(b, low, whole, unroll, 0), 0, unroll);
  hlo_vir_end(b);
  emit_steps(p, tile, hlo_vir_begin_for(b, whole, end, 1, 0), 0, 1);
  hlo_vir_end(b);
}

// ---- all loops

// Emits the contracting loops from `level` on, which add products to the tile's accumulators.
static void emit_depth(const hlo_product_t* p, hlo_product_tile_t* tile, uint32_t level);

static void emit_range(const hlo_product_t* p, hlo_product_tile_t* tile, uint32_t level,
                       const range_t* range) {
  const hlo_matmul_dim_t* dim = &p->m->depth[level];
  hlo_vir_builder_t* b = p->b;
  if (level + 1 == p->m->depth_count) {
    if (range->low) {
      emit_unknown(p, tile, range->low, range->end);
    } else {
      emit_known(p, tile, range->first, range->count);
    }
    return;
  }
  hlo_vir_value_t *a = tile->a, *rows = tile->b, *counter = hlo_index(b, range->first);
  const hlo_matmul_source_t source = tile->source;
  bool is_loop = range->low || range->count > 1;
  if (is_loop) {
    hlo_vir_value_t* low = range->low ? range->low : hlo_index(b, range->first);
    hlo_vir_value_t* end = range->low ? range->end : hlo_index(b, range->first + range->count);
    counter = hlo_vir_begin_for(b, low, end, 1, 0);
  }
  tile->a = hlo_plus(
      b, a, hlo_times(b, counter, dim->strides[HLO_MATMUL_A] * hlo_product_element_bytes(p, 0)));
  tile->b = hlo_plus(
      b, rows, hlo_times(b, counter, dim->strides[HLO_MATMUL_B] * hlo_product_element_bytes(p, 1)));
  if (dim->place[HLO_MATMUL_B]) {
    hlo_matmul_move(p->m, HLO_MATMUL_B, b, dim, counter, &tile->source);
  }
  emit_depth(p, tile, level + 1);
  if (is_loop) hlo_vir_end(b);
  tile->source = source;
  tile->a = a;
  tile->b = rows;
}

static bool is_inside(const hlo_matmul_limit_t* limit, int64_t at, int64_t step) {
  int64_t place = limit->first + at * limit->stride + step * limit->spread;
  return place >= 0 && place < limit->extent;
}

bool hlo_product_is_inside(const hlo_matmul_t* m, int64_t row) {
  for (uint32_t i = 0; i < m->depth_count; ++i) {
    const hlo_matmul_limit_t* limit = &m->depth[i].limit;
    if (!limit->is_used || limit->loop != m->rows.loop) continue;
    if (!is_inside(limit, row, 0) || !is_inside(limit, row, m->depth[i].extent - 1)) return false;
  }
  return true;
}

// Finds the rows low <= number < end of an edge tile that are inside the input at a step. Returns
// false without such rows.
static bool find_rows(const hlo_product_tile_t* tile, const hlo_matmul_limit_t* limit, int64_t step,
                      int64_t* low, int64_t* end) {
  *low = tile->low_row;
  while (*low < tile->end_row && !is_inside(limit, tile->edge_row + *low, step)) ++*low;
  *end = *low;
  while (*end < tile->end_row && is_inside(limit, tile->edge_row + *end, step)) ++*end;
  return *low < *end;
}

// Emits the loop of the row limit: steps with the same inside rows share a loop.
static void emit_edge(const hlo_product_t* p, hlo_product_tile_t* tile, uint32_t level) {
  const hlo_matmul_dim_t* dim = &p->m->depth[level];
  int64_t low, end, next_low, next_end, rows_low = tile->low_row, rows_end = tile->end_row;
  for (int64_t step = 0, next; step < dim->extent; step = next) {
    next = step + 1;
    if (!find_rows(tile, &dim->limit, step, &low, &end)) continue;
    while (next < dim->extent && find_rows(tile, &dim->limit, next, &next_low, &next_end) &&
           next_low == low && next_end == end) {
      ++next;
    }
    tile->low_row = low;
    tile->end_row = end;
    emit_range(p, tile, level, &(range_t){.first = step, .count = next - step});
    tile->low_row = rows_low;
    tile->end_row = rows_end;
  }
}

// Returns the first step whose position is at least `bound`, where a step moves the position by
// `spread`.
static hlo_vir_value_t* first_step(const hlo_product_t* p, const hlo_matmul_limit_t* limit,
                                   int64_t bound) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t *loop = p->loops[limit->loop], *at = hlo_times(b, loop, limit->stride);
  if (limit->wrap_at) {
    hlo_vir_value_t* is_wrapped = hlo_vir_icmp(b, HLO_VIR_GE, loop, hlo_index(b, limit->wrap_at));
    at = hlo_plus(b, at, hlo_times(b, is_wrapped, limit->wrap));
  }
  hlo_vir_value_t* way = hlo_minus(b, hlo_index(b, bound - limit->first), at);
  way = hlo_most(b, way, hlo_index(b, 0));
  if (limit->spread == 1) return way;
  return hlo_vir_index(b, HLO_VIR_idiv, hlo_add(b, way, limit->spread - 1),
                       hlo_index(b, limit->spread));
}

// Restricts the steps of the outermost loop to the block.
static void cut_range(const hlo_product_t* p, range_t* range) {
  hlo_vir_builder_t* b = p->b;
  hlo_vir_value_t* low = hlo_times(b, p->block, p->m->block_steps);
  hlo_vir_value_t* end = hlo_add(b, low, p->m->block_steps);
  hlo_vir_value_t* last = range->end ? range->end : hlo_index(b, range->count);
  range->end = hlo_least(b, end, last);
  range->low = range->low ? hlo_most(b, low, range->low) : low;
}

static void emit_depth(const hlo_product_t* p, hlo_product_tile_t* tile, uint32_t level) {
  const hlo_matmul_dim_t* dim = &p->m->depth[level];
  const hlo_matmul_limit_t* limit = &dim->limit;
  range_t range = {.count = dim->extent};
  if (limit->is_used && limit->loop == p->m->rows.loop) {
    if (tile->edge_row >= 0) {
      emit_edge(p, tile, level);
      return;
    }
  } else if (limit->is_used) {
    range.low = first_step(p, limit, 0);
    range.end = hlo_least(p->b, first_step(p, limit, limit->extent), hlo_index(p->b, dim->extent));
  }
  if (p->block && level == 0 && p->m->depth_count > 1) cut_range(p, &range);
  emit_range(p, tile, level, &range);
}

void hlo_product_add_columns(hlo_product_t* p, hlo_product_tile_t* tile,
                             hlo_vir_value_t* is_first) {
  if (is_first) {
    hlo_vir_begin_if(p->b, is_first);
    tile->is_packing = true;
    emit_depth(p, tile, 0);
    tile->is_packing = false;
    hlo_vir_begin_else(p->b);
  }
  emit_depth(p, tile, 0);
  if (is_first) hlo_vir_end(p->b);
}

// ---- lanes along the contraction

// Loads a vector of elements along the contraction, of a row of A or a column of B.
static hlo_vir_value_t* load_along(const hlo_product_t* p, const hlo_product_tile_t* tile,
                                   uint32_t side, int64_t number_of, hlo_vir_value_t* at,
                                   hlo_vir_value_t* mask, uint32_t lanes) {
  const hlo_matmul_dim_t* dim = side == HLO_MATMUL_A ? &p->m->rows : &p->m->columns;
  if (side == HLO_MATMUL_B && hlo_matmul_is_produced(&p->m->operands[side])) {
    hlo_product_step_t step = {.counter = at};
    hlo_vir_value_t* value =
        hlo_product_compute(p, tile, &step, number_of, &p->m->depth[0], lanes, mask);
    // Lanes past the end may hold anything, even values whose product with zero is not zero.
    hlo_vir_value_t* zero = mask ? hlo_vir_const_bits(p->b, value->type, 0) : NULL;
    return mask ? hlo_vir_ternary(p->b, HLO_VIR_select, mask, value, zero) : value;
  }
  hlo_element_address_t address = {
      .base = side == HLO_MATMUL_A ? tile->a : tile->b,
      .index = at,
      .mask = mask,
      .offset_bytes = number_of * dim->strides[side] * hlo_product_element_bytes(p, side)};
  hlo_vir_value_t* value = hlo_elementwise_load(p->b, p->dtypes[side], lanes, &address);
  return hlo_vmath_convert(p->b, p->dtypes[side], p->m->dtype, value);
}

static void add_vectors(const hlo_product_t* p, const hlo_product_tile_t* tile, hlo_vir_value_t* at,
                        hlo_vir_value_t* mask, uint32_t lanes) {
  uint32_t count = tile->panel->piece_count;
  hlo_vir_value_t* columns[HLO_MATMUL_MAX_PIECES];
  for (uint32_t i = 0; i < count; ++i) {
    columns[i] = load_along(p, tile, HLO_MATMUL_B, tile->panel->pieces[i].offset, at, mask, lanes);
  }
  for (int64_t r = 0; r < tile->height; ++r) {
    hlo_vir_value_t* row = load_along(p, tile, HLO_MATMUL_A, r, at, mask, lanes);
    for (uint32_t i = 0; i < count; ++i) {
      hlo_product_add(p, tile->accumulators[r * count + i], row, columns[i]);
    }
  }
}

// Folds all lanes into one.
static hlo_vir_value_t* fold_lanes(hlo_vir_builder_t* b, hlo_vir_value_t* sum) {
  while (sum->type.lanes > 1) {
    hlo_vir_type_t half = {sum->type.elem, sum->type.lanes / 2};
    hlo_vir_value_t* lower = hlo_vir_emit(b, HLO_VIR_lower_half, half, 0, 0, 1, &sum);
    hlo_vir_value_t* upper = hlo_vir_emit(b, HLO_VIR_upper_half, half, 0, 0, 1, &sum);
    sum = hlo_product_sum(b, lower, upper);
  }
  return sum;
}

void hlo_product_fold_accumulators(const hlo_product_t* p, hlo_product_tile_t* tile) {
  const uint32_t count = (uint32_t)tile->height * tile->panel->piece_count;
  for (uint32_t i = 0; i < count; ++i) {
    tile->accumulators[i] = fold_lanes(p->b, tile->accumulators[i]);
  }
}

// Emits the steps along the contraction in whole vectors. The remainder is one masked vector or, on
// targets without masks, single elements.
void hlo_product_add_along(hlo_product_t* p, hlo_product_tile_t* tile, hlo_vir_value_t* is_first) {
  (void)is_first;  // nothing is packed by tiles
  hlo_vir_builder_t* b = p->b;
  int64_t lanes = p->m->lanes, extent = p->m->depth[0].extent, whole = extent / lanes * lanes;
  hlo_vir_value_t* at = hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, whole), lanes, 0);
  add_vectors(p, tile, at, NULL, p->m->lanes);
  hlo_vir_end(b);
  if (whole < extent && p->m->target->has_masks) {
    hlo_vir_value_t* mask = hlo_matmul_first_lanes(b, p->m->lanes, (uint32_t)(extent - whole));
    add_vectors(p, tile, hlo_index(b, whole), mask, p->m->lanes);
    whole = extent;
  }
  hlo_product_fold_accumulators(p, tile);
  if (whole == extent) return;
  uint32_t count = (uint32_t)tile->height * tile->panel->piece_count;
  for (uint32_t i = 0; i < count; ++i) {
    tile->accumulators[i] = hlo_vir_var(b, tile->accumulators[i]);
  }
  add_vectors(p, tile, hlo_vir_begin_for(b, hlo_index(b, whole), hlo_index(b, extent), 1, 0), NULL,
              1);
  hlo_vir_end(b);
}
