// SPDX-License-Identifier: Apache-2.0
// Emits loads, stores and guards: elements that lanes share, adjacent ones, and any others.
#include "codegen/tiles/lower_impl.h"

static const hlo_vir_type_t INDEX_TYPE = {HLO_VIR_INDEX, 1};

static uint32_t scale_of(hlo_vir_type_t memory) {
  return (uint32_t)__builtin_ctz(hlo_vir_elem_bits((hlo_vir_elem_t)memory.elem) / 8);
}

static hlo_vir_value_t* iand(hlo_tile_emitter_t* e, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return hlo_vir_index(e->b, HLO_VIR_iand, x, y);
}

// Returns a mask of `lanes` lanes that are all as the INDEX condition says.
static hlo_vir_value_t* mask_of_condition(hlo_tile_emitter_t* e, hlo_vir_value_t* condition,
                                          uint32_t lanes) {
  hlo_vir_value_t* count =
      hlo_vir_index(e->b, HLO_VIR_imul, condition, hlo_vir_iconst(e->b, (int64_t)lanes));
  return hlo_vir_emit(e->b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, lanes), 0, 0, 1, &count);
}

// Returns the lanes for which low <= expression < end: a mask of one lane, or of all.
static hlo_vir_value_t* emit_within(hlo_tile_emitter_t* e, const hlo_expr_t* expr, int64_t low,
                                    int64_t end, uint32_t lanes) {
  hlo_vir_builder_t* b = e->b;
  if (!hlo_tile_differs(e, expr)) {
    hlo_vir_value_t* index = hlo_tile_emit_index(e, expr);
    hlo_vir_value_t* is_above = hlo_vir_icmp(b, HLO_VIR_GE, index, hlo_vir_iconst(b, low));
    hlo_vir_value_t* is_below = hlo_vir_icmp(b, HLO_VIR_LT, index, hlo_vir_iconst(b, end));
    return mask_of_condition(e, iand(e, is_above, is_below), lanes);
  }
  const hlo_vir_elem_t elem = hlo_tile_index_elem(expr);
  if (elem == HLO_VIR_I32) {  // no element is beyond these
    low = low < INT32_MIN ? INT32_MIN : low;
    end = end > INT32_MAX ? INT32_MAX : end;
    if (low > INT32_MAX || end < INT32_MIN) low = end = 0;
  }
  const hlo_vir_type_t type = hlo_vir_type(elem, e->lanes);
  hlo_vir_value_t* index = hlo_tile_emit_lane_index(e, elem, expr);
  hlo_vir_value_t* is_above = hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_GE, index,
                                              hlo_vir_const_bits(b, type, (uint64_t)low));
  hlo_vir_value_t* is_below = hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_LT, index,
                                              hlo_vir_const_bits(b, type, (uint64_t)end));
  return hlo_vir_binary(b, HLO_VIR_mask_and, is_above, is_below);
}

static uint32_t load_flags(const hlo_tile_emitter_t* e, uint32_t buffer) {
  return e->is_written[buffer] ? 0 : HLO_VIR_INVARIANT;
}

static hlo_vir_value_t* zeros_of(hlo_tile_emitter_t* e, hlo_dtype_t dtype, uint32_t lanes) {
  static const uint8_t zero[16];
  return hlo_elementwise_constant(e->b, dtype, lanes, zero);
}

// Loads one element that may be outside of the buffer, where there are zeros.
static hlo_vir_value_t* load_checked_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                             int64_t count) {
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* index = hlo_tile_emit_index(e, op->offset);
  hlo_vir_value_t* inside = iand(e, hlo_vir_icmp(b, HLO_VIR_GE, index, hlo_vir_iconst(b, 0)),
                                 hlo_vir_icmp(b, HLO_VIR_LT, index, hlo_vir_iconst(b, count)));
  hlo_vir_value_t* operands[] = {inside, index, hlo_vir_iconst(b, 0)};
  hlo_element_address_t address = {
      .base = e->addresses[op->buffer],
      .index = hlo_vir_emit(b, HLO_VIR_iselect, INDEX_TYPE, 0, 0, 3, operands),
      .flags = load_flags(e, op->buffer)};
  return hlo_vmath_select(b, mask_of_condition(e, inside, 1),
                          hlo_elementwise_load(b, op->dtype, 1, &address),
                          zeros_of(e, op->dtype, 1));
}

// Loads any elements; `within` are the lanes inside the buffer, NULL: all.
static hlo_vir_value_t* gather_lanes(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                     hlo_vir_value_t* within) {
  hlo_vir_builder_t* b = e->b;
  const hlo_vir_elem_t elem = hlo_tile_index_elem(op->offset);
  hlo_vir_value_t* index = hlo_tile_emit_lane_index(e, elem, op->offset);
  hlo_element_address_t address = {
      .base = e->addresses[op->buffer], .mask = e->range, .flags = load_flags(e, op->buffer)};
  if (within) {
    index =
        hlo_vir_ternary(b, HLO_VIR_select, within, index, hlo_vir_const_bits(b, index->type, 0));
  }
  hlo_vir_value_t* value = hlo_elementwise_gather(b, op->dtype, e->lanes, &address, index);
  return within ? hlo_vmath_select(b, within, value, zeros_of(e, op->dtype, e->lanes)) : value;
}

hlo_vir_value_t* hlo_tile_emit_load(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const int64_t count = e->kernel->buffers[op->buffer].element_count;
  const bool is_inside = op->offset->low >= 0 && op->offset->high < count;
  const bool differs = hlo_tile_differs(e, op->offset);
  if (count == 0) return zeros_of(e, op->dtype, differs ? e->lanes : 1);
  if (!is_inside && !differs) return load_checked_element(e, op, count);
  if (!is_inside) {
    return gather_lanes(e, op, emit_within(e, op->offset, 0, count, e->lanes));
  }
  const hlo_tile_access_t access = hlo_tile_lane_access(op->offset, e->lane_iv);
  if (access == HLO_TILE_APART) return gather_lanes(e, op, NULL);
  hlo_element_address_t address = hlo_tile_emit_address(e, op->buffer, op->offset);
  address.flags = load_flags(e, op->buffer);
  if (access == HLO_TILE_ADJACENT) address.mask = e->range;
  return hlo_elementwise_load(e->b, op->dtype, differs ? e->lanes : 1, &address);
}

// ---- stores

// Returns the lanes that store: those in range, on this path, and inside the buffer. NULL: all.
static hlo_vir_value_t* storing_lanes(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                      uint32_t lanes) {
  const int64_t count = e->kernel->buffers[op->buffer].element_count;
  hlo_vir_value_t* mask = e->path ? e->path : e->range;
  if (op->offset->low >= 0 && op->offset->high < count) return mask;
  hlo_vir_value_t* within = emit_within(e, op->offset, 0, count, lanes);
  return mask ? hlo_vir_binary(e->b, HLO_VIR_mask_and, mask, within) : within;
}

// mask: of one lane; NULL: it is on
static void store_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, hlo_vir_value_t* value,
                          hlo_vir_value_t* mask) {
  hlo_element_address_t address = hlo_tile_emit_address(e, op->buffer, op->offset);
  if (mask) hlo_vir_begin_if(e->b, hlo_scalar_from_lane(e->b, HLO_DTYPE_PRED, mask));
  hlo_elementwise_store(e->b, op->operands[0]->dtype, value, &address);
  if (mask) hlo_vir_end(e->b);
}

// Of lanes with the same element the last one wins, as in their order.
static void scatter_lanes(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, hlo_vir_value_t* value,
                          hlo_vir_value_t* mask) {
  hlo_vir_builder_t* b = e->b;
  const hlo_dtype_t dtype = op->operands[0]->dtype;
  hlo_vir_value_t* index = hlo_tile_emit_lane_index(e, hlo_tile_index_elem(op->offset), op->offset);
  hlo_vir_value_t* operands[] = {hlo_vmath_to_memory(b, dtype, value), e->addresses[op->buffer],
                                 index, mask};
  hlo_vir_emit(b, HLO_VIR_scatter, hlo_vir_type(HLO_VIR_VOID, 0),
               scale_of(hlo_vmath_memory_type(dtype, 1)), 0, 4, operands);
}

void hlo_tile_emit_store(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const uint32_t lanes = hlo_tile_lanes_here(e);
  hlo_vir_value_t* value = hlo_tile_operand(e, op->operands[0], lanes);
  hlo_vir_value_t* mask = storing_lanes(e, op, lanes);
  if (lanes == 1) {
    store_element(e, op, value, mask);
    return;
  }
  if (hlo_tile_lane_access(op->offset, e->lane_iv) != HLO_TILE_ADJACENT) {
    scatter_lanes(e, op, value, mask);
    return;
  }
  hlo_element_address_t address = hlo_tile_emit_address(e, op->buffer, op->offset);
  address.mask = mask;
  hlo_elementwise_store(e->b, op->operands[0]->dtype, value, &address);
}

// ---- guards

hlo_vir_value_t* hlo_tile_emit_guard(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  uint32_t lanes = hlo_tile_differs(e, op->offset) ? e->lanes : 1;
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t wide = e->done[op->operands[i]->number]->type.lanes;
    if (wide > lanes) lanes = wide;
  }
  hlo_vir_value_t* within = emit_within(e, op->offset, op->low, op->end, lanes);
  return hlo_vmath_select(e->b, within, hlo_tile_operand(e, op->operands[0], lanes),
                          hlo_tile_operand(e, op->operands[1], lanes));
}
