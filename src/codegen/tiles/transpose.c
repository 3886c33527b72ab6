// SPDX-License-Identifier: Apache-2.0
// Transposes: nests of two loops whose stores are adjacent along one loop and whose loads along the
// other one. Loads read squares along their loop and are transposed in registers. Copies between
// references whose elements are adjacent along different dimensions, too.
#include "base/tuning.h"
#include "codegen/math/square.h"
#include "codegen/tiles/lower_impl.h"

enum { MAX_CROSSING = 4, LEAST_EDGE = 4 };  // loads of a nest; lanes for which squares pay

/// Two loops, one around the other, whose points have no order.
typedef struct square_nest {
  const hlo_tile_op_t *outer, *inner;
  const hlo_tile_loop_t *lane, *column;
  uint32_t edge, load_count;
  const hlo_tile_op_t* loads[MAX_CROSSING];  // adjacent along the columns only
} square_nest_t;

// ---- which nests

static bool has_no_order(const hlo_tile_op_t* op) {
  const bool is_loop = op->kind == HLO_TILE_OP_parallel || op->kind == HLO_TILE_OP_for;
  return is_loop && !op->operand_count && !hlo_tile_op_has_result(op) &&
         (op->kind == HLO_TILE_OP_parallel || op->loops[0].step > 1) &&
         !(op->kind == HLO_TILE_OP_parallel && hlo_tile_runs_threads(op));
}

// Returns true for an operation that can be emitted for any point, in any order, and whose memory
// starts at the same address for all points.
static bool is_free(const square_nest_t* nest, const hlo_tile_op_t* op) {
  const uint64_t loops = (uint64_t)1 << nest->lane->iv | (uint64_t)1 << nest->column->iv;
  switch (op->kind) {
    case HLO_TILE_OP_slice:
      for (uint32_t i = 0; i < op->index_count; ++i) {
        if (op->indices[i]->loops & loops) return false;
      }
      return true;
    case HLO_TILE_OP_load:
    case HLO_TILE_OP_store:
    case HLO_TILE_OP_ref_load:
    case HLO_TILE_OP_ref_store:
    case HLO_TILE_OP_constant:
    case HLO_TILE_OP_index:
    case HLO_TILE_OP_map:
    case HLO_TILE_OP_product:
    case HLO_TILE_OP_guard:
    case HLO_TILE_OP_relayout:
    case HLO_TILE_OP_bitcast:
    case HLO_TILE_OP_reference:
    case HLO_TILE_OP_transpose:
    case HLO_TILE_OP_reshape: return true;
    default: return false;
  }
}

// Returns true if an offset is a multiple of both loops plus something that neither changes.
static bool is_linear(const square_nest_t* nest, const hlo_expr_t* offset) {
  const uint64_t loops = (uint64_t)1 << nest->lane->iv | (uint64_t)1 << nest->column->iv;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_atom_t* atom = offset->terms[i].atom;
    if (atom->kind != HLO_EXPR_LOOP && atom->loops & loops) return false;
  }
  return true;
}

// Notes a load that squares serve; returns false for an access that they do not suit.
static bool add_access(const hlo_tile_emitter_t* e, square_nest_t* nest, const hlo_tile_op_t* op) {
  if (op->is_masked || !hlo_tile_stays_inside(e->kernel, op)) return false;
  const hlo_expr_t* offset = hlo_tile_offset(e->exprs, op);
  const hlo_tile_access_t along_lanes = hlo_tile_lane_access(offset, nest->lane->iv);
  if (hlo_tile_writes(op)) return along_lanes == HLO_TILE_ADJACENT;
  if (along_lanes != HLO_TILE_APART) return true;
  const bool is_crossing = hlo_tile_lane_access(offset, nest->column->iv) == HLO_TILE_ADJACENT &&
                           is_linear(nest, offset) && nest->load_count < MAX_CROSSING;
  if (is_crossing) nest->loads[nest->load_count++] = op;
  return is_crossing;
}

static bool suits(const hlo_tile_emitter_t* e, square_nest_t* nest) {
  const hlo_tile_block_t* blocks[] = {&nest->outer->body, &nest->inner->body};
  for (uint32_t i = 0; i < 2; ++i) {
    for (const hlo_tile_op_t* op = blocks[i]->first; op; op = op->next) {
      if (op == nest->inner) continue;
      if (!is_free(nest, op) || (i == 0 && hlo_tile_writes(op))) return false;
      if (hlo_tile_is_access(op) && !add_access(e, nest, op)) return false;
    }
  }
  return nest->load_count > 0;
}

// Returns the largest power of two of rows that registers hold beside the columns, and of lanes.
static uint32_t fitting_edge(const hlo_target_t* target, uint32_t lanes) {
  uint32_t edge = HLO_SQUARE_MAX_EDGE;
  while (edge > lanes || edge >= target->vector_registers) edge /= 2;
  return edge;
}

static uint32_t edge_of(const hlo_tile_emitter_t* e, const square_nest_t* nest) {
  const uint32_t edge =
      fitting_edge(e->target, hlo_tile_count_lanes(e, nest->inner, nest->lane->iv));
  const int64_t rows = nest->lane->end - nest->lane->low,
                columns = nest->column->end - nest->column->low;
  return edge >= LEAST_EDGE && rows >= edge && columns >= edge ? edge : 0;
}

// Returns false if the loop and the one inside it are no transpose.
static bool find_nest(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op, square_nest_t* nest) {
  const hlo_tile_op_t* inner = op->body.last;
  if (!has_no_order(op) || !inner || !has_no_order(inner)) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    *nest = (square_nest_t){.outer = op,
                            .inner = inner,
                            .lane = i ? inner->loops : op->loops,
                            .column = i ? op->loops : inner->loops};
    if (!suits(e, nest)) continue;
    nest->edge = edge_of(e, nest);
    return nest->edge > 0;
  }
  return false;
}

uint32_t hlo_tile_transpose_edge(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  square_nest_t nest;
  return find_nest(e, op, &nest) ? nest.edge : 0;
}

// ---- nests

typedef struct square_visit {
  hlo_tile_emitter_t* e;
  const square_nest_t* nest;
} square_visit_t;

static void find_rows(hlo_tile_emitter_t* e, const square_nest_t* nest, uint32_t load,
                      hlo_vir_value_t* lane, hlo_square_t* out_square) {
  const hlo_tile_op_t* op = nest->loads[load];
  *out_square = (hlo_square_t){
      .dtype = op->dtype, .edge = nest->edge, .row_count = nest->edge, .column_count = nest->edge};
  for (uint32_t i = 0; i < nest->edge; ++i) {
    hlo_vir_value_t* mask;
    e->ivs[nest->lane->iv] = hlo_vir_index(e->b, HLO_VIR_iadd, lane, hlo_vir_iconst(e->b, i));
    hlo_tile_find_element(e, op, &out_square->rows[i], &mask);
  }
  e->ivs[nest->lane->iv] = lane;
}

// Emits the references of a nest, whose addresses its rows need.
static void emit_references(hlo_tile_emitter_t* e, const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    if (hlo_tile_op_is_ref(op)) hlo_tile_emit_op(e, op);
  }
}

static void emit_point(hlo_tile_emitter_t* e, const square_nest_t* nest,
                       const hlo_tile_block_t* block,
                       hlo_vir_value_t* columns[][HLO_SQUARE_MAX_EDGE], uint32_t column) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    uint32_t k = 0;
    while (k < nest->load_count && nest->loads[k] != op) ++k;
    if (k < nest->load_count) {
      e->done[op->number] = hlo_vmath_from_memory(e->b, op->dtype, columns[k][column]);
    } else if (op != nest->inner) {
      hlo_tile_emit_op(e, op);
    }
  }
}

static void emit_square(void* context, hlo_vir_value_t* lane, hlo_vir_value_t* column) {
  const square_visit_t* visit = context;
  hlo_tile_emitter_t* e = visit->e;
  const square_nest_t* nest = visit->nest;
  hlo_vir_value_t* columns[MAX_CROSSING][HLO_SQUARE_MAX_EDGE];
  e->ivs[nest->lane->iv] = lane;
  e->ivs[nest->column->iv] = column;
  emit_references(e, &nest->outer->body);
  emit_references(e, &nest->inner->body);
  for (uint32_t k = 0; k < nest->load_count; ++k) {
    hlo_square_t square;
    find_rows(e, nest, k, lane, &square);
    hlo_square_read(e->b, &square, columns[k]);
  }
  const uint32_t saved_lanes = e->lanes;
  e->lane_iv = nest->lane->iv;
  e->lanes = nest->edge;
  for (uint32_t i = 0; i < nest->edge; ++i) {
    e->ivs[nest->column->iv] = hlo_vir_index(e->b, HLO_VIR_iadd, column, hlo_vir_iconst(e->b, i));
    emit_point(e, nest, &nest->outer->body, columns, i);
    emit_point(e, nest, &nest->inner->body, columns, i);
  }
  e->lane_iv = HLO_TILE_NO_LANES;
  e->lanes = saved_lanes;
  e->ivs[nest->lane->iv] = e->ivs[nest->column->iv] = NULL;
}

static void emit_lanes(hlo_tile_emitter_t* e, HLO_UNUSED uint32_t copy, void* context) {
  const square_nest_t* nest = context;
  emit_point(e, &(square_nest_t){.inner = nest->inner}, &nest->outer->body, NULL, 0);
  hlo_tile_emit_block(e, &nest->inner->body);
}

// Emits what is outside of whole squares, column by column.
static void emit_outside(hlo_tile_emitter_t* e, square_nest_t* nest, hlo_vir_interval_t lanes,
                         hlo_vir_interval_t columns) {
  if (hlo_vir_interval_is_empty(lanes) || hlo_vir_interval_is_empty(columns)) return;
  e->ivs[nest->column->iv] = hlo_vir_begin_for(e->b, columns.low, columns.end, 1, 0);
  hlo_tile_emit_lane_loop(e, nest->lane->iv, lanes, nest->edge, HLO_TILE_UNROLL_FREELY, emit_lanes,
                          nest);
  hlo_vir_end(e->b);
  e->ivs[nest->column->iv] = NULL;
}

bool hlo_tile_emit_transpose(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  square_nest_t nest;
  if (e->lane_iv != HLO_TILE_NO_LANES || e->group || !find_nest(e, op, &nest)) return false;
  const hlo_vir_interval_t lanes = hlo_tile_range_of(e, nest.lane),
                           columns = hlo_tile_range_of(e, nest.column);
  hlo_vir_value_t* lane_end = hlo_vir_interval_whole_end(e->b, lanes, nest.edge);
  hlo_vir_value_t* column_end = hlo_vir_interval_whole_end(e->b, columns, nest.edge);
  const hlo_square_walk_t walk = {
      .lanes = {lanes.low, lane_end},
      .columns = {columns.low, column_end},
      .edge = nest.edge,
      .lane_block = HLO_TUNING_TRANSPOSE_BLOCK,
      .column_block = HLO_TUNING_TRANSPOSE_BLOCK,
      .is_along_columns = nest.column->end - nest.column->low > nest.lane->end - nest.lane->low};
  square_visit_t visit = {e, &nest};
  hlo_square_each(e->b, &walk, emit_square, &visit);
  emit_outside(e, &nest, (hlo_vir_interval_t){lane_end, lanes.end},
               (hlo_vir_interval_t){columns.low, column_end});
  emit_outside(e, &nest, lanes, (hlo_vir_interval_t){column_end, columns.end});
  return true;
}

// ---- copies

typedef struct copy_visit {
  hlo_tile_emitter_t* e;
  hlo_dtype_t dtype;
  hlo_vir_value_t *from, *to;
  int64_t row_stride, column_stride;  // of `from` along the lanes, of `to` along the columns
  hlo_square_t square;
} copy_visit_t;

static hlo_element_address_t element_of(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                        hlo_vir_value_t* base, hlo_vir_value_t* index,
                                        int64_t stride, hlo_vir_value_t* adjacent) {
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype) * stride;
  hlo_vir_value_t* distance = hlo_vir_index(b, HLO_VIR_imul, index, hlo_vir_iconst(b, bytes));
  return (hlo_element_address_t){.base = hlo_vir_index(b, HLO_VIR_iadd, base, distance),
                                 .index = adjacent};
}

static void copy_square(void* context, hlo_vir_value_t* lane, hlo_vir_value_t* column) {
  copy_visit_t* c = context;
  hlo_vir_builder_t* b = c->e->b;
  hlo_vir_value_t* columns[HLO_SQUARE_MAX_EDGE];
  for (uint32_t i = 0; i < c->square.row_count; ++i) {
    hlo_vir_value_t* row = hlo_vir_index(b, HLO_VIR_iadd, lane, hlo_vir_iconst(b, i));
    c->square.rows[i] = element_of(b, c->dtype, c->from, row, c->row_stride, column);
  }
  hlo_square_read(b, &c->square, columns);
  for (uint32_t i = 0; i < c->square.column_count; ++i) {
    hlo_vir_value_t* at = hlo_vir_index(b, HLO_VIR_iadd, column, hlo_vir_iconst(b, i));
    hlo_element_address_t address = element_of(b, c->dtype, c->to, at, c->column_stride, lane);
    if (c->square.row_count < c->square.edge) {
      address.mask = hlo_vir_const_mask(b, c->square.edge, c->square.row_count);
    }
    hlo_elementwise_store_raw(b, c->dtype, columns[i], &address);
  }
}

// Copies elements one by one.
static void copy_outside(copy_visit_t* c, hlo_vir_interval_t lanes, hlo_vir_interval_t columns) {
  hlo_vir_builder_t* b = c->e->b;
  if (hlo_vir_interval_is_empty(lanes) || hlo_vir_interval_is_empty(columns)) return;
  hlo_vir_value_t* column = hlo_vir_begin_for(b, columns.low, columns.end, 1, 0);
  hlo_vir_value_t* lane = hlo_vir_begin_for(b, lanes.low, lanes.end, 1, 0);
  const hlo_element_address_t from = element_of(b, c->dtype, c->from, lane, c->row_stride, column);
  const hlo_element_address_t to = element_of(b, c->dtype, c->to, column, c->column_stride, lane);
  hlo_elementwise_store_raw(b, c->dtype, hlo_elementwise_load_raw(b, c->dtype, 1, &from), &to);
  hlo_vir_end(b);
  hlo_vir_end(b);
}

static void copy_part(copy_visit_t* c, const int64_t lanes[2], const int64_t columns[2],
                      uint32_t row_count, uint32_t column_count) {
  hlo_vir_builder_t* b = c->e->b;
  const hlo_square_walk_t walk = {
      .lanes = {hlo_vir_iconst(b, lanes[0]), hlo_vir_iconst(b, lanes[1])},
      .columns = {hlo_vir_iconst(b, columns[0]), hlo_vir_iconst(b, columns[1])},
      .edge = c->square.edge,
      .lane_block = HLO_TUNING_TRANSPOSE_BLOCK,
      .column_block = HLO_TUNING_TRANSPOSE_BLOCK,
      .is_along_columns = columns[1] > lanes[1]};
  if (!row_count || !column_count) return;
  c->square.row_count = row_count;
  c->square.column_count = column_count;
  const uint32_t part = hlo_square_part(c->dtype, c->square.edge);
  const bool needs_masks = row_count < c->square.edge || column_count % part;
  if (needs_masks && !c->e->target->has_masks) {
    copy_outside(c, walk.lanes, walk.columns);
  } else {
    hlo_square_each(b, &walk, copy_square, c);
  }
}

uint32_t hlo_tile_copy_edge(const hlo_target_t* target, hlo_dtype_t dtype, int64_t lanes,
                            int64_t columns) {
  uint32_t edge =
      fitting_edge(target, target->vector_bytes / (uint32_t)hlo_dtype_size_bytes(dtype));
  while (edge > lanes || edge > columns) edge /= 2;
  return edge >= LEAST_EDGE ? edge : 0;
}

void hlo_tile_copy_transposed(hlo_tile_emitter_t* e, const hlo_tile_transposed_copy_t* copy,
                              hlo_vir_value_t* from, hlo_vir_value_t* to) {
  const uint32_t edge = copy->edge;
  copy_visit_t visit = {.e = e,
                        .dtype = copy->dtype,
                        .from = from,
                        .to = to,
                        .row_stride = copy->row_stride,
                        .column_stride = copy->column_stride,
                        .square = {.dtype = copy->dtype, .edge = edge}};
  const uint32_t row_rest = (uint32_t)(copy->lanes % edge),
                 column_rest = (uint32_t)(copy->columns % edge);
  const int64_t lanes[] = {0, copy->lanes - row_rest, copy->lanes},
                columns[] = {0, copy->columns - column_rest, copy->columns};
  copy_part(&visit, lanes, columns, edge, edge);
  copy_part(&visit, lanes + 1, columns, row_rest, edge);
  copy_part(&visit, lanes, columns + 1, edge, column_rest);
  copy_part(&visit, lanes + 1, columns + 1, row_rest, column_rest);
}
