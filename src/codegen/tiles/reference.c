// SPDX-License-Identifier: Apache-2.0
// References as addresses of their first elements; their strides are known when the code is made.
// Copies of whole references.
#include "codegen/tiles/group_impl.h"

uint32_t hlo_tile_ref_flags(const hlo_tile_emitter_t* e, const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  const bool is_fixed = root->kind == HLO_TILE_OP_reference && !e->is_written[root->buffer];
  return is_fixed ? HLO_VIR_INVARIANT : 0;
}

static hlo_vir_value_t* add_bytes(hlo_tile_emitter_t* e, hlo_vir_value_t* address,
                                  hlo_vir_value_t* index, int64_t stride_bytes) {
  hlo_vir_value_t* distance =
      hlo_vir_index(e->b, HLO_VIR_imul, index, hlo_vir_iconst(e->b, stride_bytes));
  return hlo_vir_index(e->b, HLO_VIR_iadd, address, distance);
}

hlo_vir_value_t* hlo_tile_emit_start(hlo_tile_emitter_t* e, const hlo_tile_op_t* slice,
                                     uint32_t dim) {
  const hlo_expr_t* index = slice->indices[dim];
  const int64_t last =
      slice->operands[0]->ref.dims[dim] - 1 - (slice->sizes[dim] - 1) * slice->strides[dim];
  hlo_vir_value_t* start = hlo_tile_emit_index(e, index);
  if (index->high > last) {
    start = hlo_vir_index(e->b, HLO_VIR_imin, start, hlo_vir_iconst(e->b, last));
  }
  if (index->low < 0) {
    start = hlo_vir_index(e->b, HLO_VIR_imax, start, hlo_vir_iconst(e->b, 0));
  }
  return start;
}

static hlo_vir_value_t* emit_slice(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* of = op->operands[0];
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(of, strides);
  hlo_vir_value_t* address = e->done[of->number];
  for (uint32_t i = 0; i < op->index_count; ++i) {
    address = add_bytes(e, address, hlo_tile_emit_start(e, op, i),
                        strides[i] * hlo_tile_ref_element_bytes(op));
  }
  return address;
}

hlo_vir_value_t* hlo_tile_emit_ref(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_reference: return e->addresses[op->buffer];
    case HLO_TILE_OP_alloc:
      if (e->group) {
        return hlo_vir_index(e->b, HLO_VIR_iadd, e->group->near,
                             hlo_vir_iconst(e->b, hlo_tile_group_alloc(e, op)->offset));
      }
      return hlo_vir_index(e->b, HLO_VIR_iadd, e->stack,
                           hlo_vir_iconst(e->b, e->stack_offsets[op->number]));
    case HLO_TILE_OP_slice: return emit_slice(e, op);
    default: return e->done[op->operands[0]->number];
  }
}

// ---- copies

hlo_tile_copy_loops_t hlo_tile_merge_dims(const hlo_tile_op_t* from, const hlo_tile_op_t* to) {
  hlo_tile_copy_loops_t loops = {0};
  int64_t from_strides[HLO_TILE_MAX_RANK], to_strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(from, from_strides);
  hlo_tile_ref_strides(to, to_strides);
  for (uint32_t i = 0; i < from->ref.rank; ++i) {
    const int64_t extent = from->ref.dims[i];
    if (extent == 1) continue;
    const uint32_t last = loops.count - 1;
    const bool is_inside = loops.count && loops.from[last] == extent * from_strides[i] &&
                           loops.to[last] == extent * to_strides[i];
    const uint32_t at = is_inside ? last : loops.count++;
    loops.dims[at] = is_inside ? loops.dims[at] * extent : extent;
    loops.from[at] = from_strides[i];
    loops.to[at] = to_strides[i];
  }
  if (loops.count == 0) loops = (hlo_tile_copy_loops_t){1, {1}, {1}, {1}};
  return loops;
}

static void copy_elements(hlo_tile_emitter_t* e, hlo_dtype_t dtype, uint32_t lanes,
                          hlo_element_address_t from, hlo_element_address_t to) {
  hlo_elementwise_store_raw(e->b, dtype, hlo_elementwise_load_raw(e->b, dtype, lanes, &from), &to);
}

// Copies a row whose elements are adjacent on both sides: vectors, then single elements.
static void copy_row(hlo_tile_emitter_t* e, hlo_dtype_t dtype, int64_t count, hlo_vir_value_t* from,
                     hlo_vir_value_t* to) {
  hlo_vir_builder_t* b = e->b;
  const uint32_t fitting = e->target->vector_bytes / (uint32_t)hlo_dtype_size_bytes(dtype);
  const uint32_t lanes = fitting ? fitting : 1;
  const int64_t whole = count - count % lanes;
  for (uint32_t pass = 0; pass < 2; ++pass) {
    const int64_t low = pass ? whole : 0, end = pass ? count : whole;
    const uint32_t step = pass ? 1 : lanes;
    if (low == end) continue;
    hlo_vir_value_t* at =
        hlo_vir_begin_for(b, hlo_vir_iconst(b, low), hlo_vir_iconst(b, end), step, 0);
    copy_elements(e, dtype, step, (hlo_element_address_t){.base = from, .index = at},
                  (hlo_element_address_t){.base = to, .index = at});
    hlo_vir_end(b);
  }
}

// squares: the two innermost loops, if these are a transpose.
static void emit_copy_loops(hlo_tile_emitter_t* e, const hlo_tile_copy_loops_t* loops, uint32_t at,
                            const hlo_tile_transposed_copy_t* squares, hlo_dtype_t dtype,
                            hlo_vir_value_t* from, hlo_vir_value_t* to) {
  hlo_vir_builder_t* b = e->b;
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  if (at == loops->count && squares) {
    hlo_tile_copy_transposed(e, squares, from, to);
    return;
  }
  if (at == loops->count) {
    copy_elements(e, dtype, 1, (hlo_element_address_t){.base = from},
                  (hlo_element_address_t){.base = to});
    return;
  }
  if (!squares && at + 1 == loops->count && loops->from[at] == 1 && loops->to[at] == 1) {
    copy_row(e, dtype, loops->dims[at], from, to);
    return;
  }
  hlo_vir_value_t* index =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, loops->dims[at]), 1, 0);
  emit_copy_loops(e, loops, at + 1, squares, dtype,
                  add_bytes(e, from, index, loops->from[at] * bytes),
                  add_bytes(e, to, index, loops->to[at] * bytes));
  hlo_vir_end(b);
}

// Takes away the two dimensions along which the elements are adjacent on one side each. Returns
// false for copies that are no transpose, or that have too few elements for squares.
static bool move_transposed(const hlo_tile_emitter_t* e, hlo_dtype_t dtype,
                            hlo_tile_copy_loops_t* loops, hlo_tile_transposed_copy_t* out) {
  uint32_t column = 0, lane = 0;
  while (column < loops->count && loops->from[column] != 1) ++column;
  while (lane < loops->count && loops->to[lane] != 1) ++lane;
  if (e->group || column >= loops->count || lane >= loops->count || column == lane) return false;
  *out = (hlo_tile_transposed_copy_t){
      .dtype = dtype,
      .edge = hlo_tile_copy_edge(e->target, dtype, loops->dims[lane], loops->dims[column]),
      .lanes = loops->dims[lane],
      .columns = loops->dims[column],
      .row_stride = loops->from[lane],
      .column_stride = loops->to[column]};
  if (!out->edge) return false;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < loops->count; ++i) {
    if (i == lane || i == column) continue;
    loops->dims[kept] = loops->dims[i];
    loops->from[kept] = loops->from[i];
    loops->to[kept++] = loops->to[i];
  }
  loops->count = kept;
  return true;
}

void hlo_tile_emit_copy(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_op_t *from = op->operands[0], *to = op->operands[1];
  if (hlo_tile_ref_count(from) == 0) return;
  hlo_tile_copy_loops_t loops = hlo_tile_merge_dims(from, to);
  hlo_tile_transposed_copy_t transposed;
  const bool is_transposed = move_transposed(e, from->dtype, &loops, &transposed);
  emit_copy_loops(e, &loops, 0, is_transposed ? &transposed : NULL, from->dtype,
                  e->done[from->number], e->done[to->number]);
}
