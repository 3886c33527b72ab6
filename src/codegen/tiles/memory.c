// SPDX-License-Identifier: Apache-2.0
// Emits loads, stores and guards: elements that lanes share, adjacent ones, and any others. Lanes
// that an operation masks out, or that are outside of memory, access nothing.
#include "codegen/tiles/group_impl.h"

static uint32_t scale_of(hlo_vir_type_t memory) {
  return (uint32_t)__builtin_ctz(hlo_vir_elem_bits((hlo_vir_elem_t)memory.elem) / 8);
}

static hlo_vir_value_t* iand(hlo_tile_emitter_t* e, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return hlo_vir_index(e->b, HLO_VIR_iand, x, y);
}

// Returns the lanes of both masks, each NULL for all.
static hlo_vir_value_t* both(hlo_tile_emitter_t* e, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return x && y ? hlo_vir_binary(e->b, HLO_VIR_mask_and, x, y) : x ? x : y;
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
  const hlo_vir_elem_t elem = hlo_position_elem(expr);
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

static hlo_vir_value_t* zeros_of(hlo_tile_emitter_t* e, hlo_dtype_t dtype, uint32_t lanes) {
  static const uint8_t zero[16];
  return hlo_elementwise_constant(e->b, dtype, lanes, zero);
}

// ---- accesses

static bool is_of_reference(const hlo_tile_op_t* op) {
  return op->kind == HLO_TILE_OP_ref_load || op->kind == HLO_TILE_OP_ref_store ||
         op->kind == HLO_TILE_OP_atomic;
}

static const hlo_expr_t* same_atom(void* context, const hlo_expr_atom_t* atom) {
  hlo_expr_space_t* exprs = context;
  return atom->kind == HLO_EXPR_LOOP
             ? hlo_expr_loop(exprs, atom->number, atom->low, atom->high + 1)
             : hlo_expr_value(exprs, atom->number, atom->low, atom->high, atom->loops);
}

const hlo_expr_t* hlo_tile_expr_in(hlo_expr_space_t* exprs, const hlo_expr_t* expr) {
  return hlo_expr_rewrite(exprs, expr, same_atom, exprs);
}

const hlo_expr_t* hlo_tile_offset(hlo_expr_space_t* exprs, const hlo_tile_op_t* op) {
  if (!is_of_reference(op)) return op->offset;
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(op->operands[0], strides);
  const hlo_expr_t* sum = hlo_expr_const(exprs, 0);
  for (uint32_t i = 0; i < op->index_count; ++i) {
    const hlo_expr_t* index = hlo_tile_expr_in(exprs, op->indices[i]);
    sum = hlo_expr_add(exprs, sum, hlo_expr_mul(exprs, index, strides[i]));
  }
  return sum;
}

static bool is_index_inside(const hlo_tile_op_t* op, uint32_t i) {
  return op->indices[i]->low >= 0 && op->indices[i]->high < op->operands[0]->ref.dims[i];
}

bool hlo_tile_stays_inside(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  bool is_inside = true;
  if (!is_of_reference(op)) {
    return op->offset->low >= 0 && op->offset->high < kernel->buffers[op->buffer].element_count;
  }
  for (uint32_t i = 0; i < op->index_count; ++i) is_inside &= is_index_inside(op, i);
  return is_inside;
}

// Returns the lanes inside the buffer or reference; NULL: all.
static hlo_vir_value_t* emit_inside(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                    uint32_t lanes) {
  if (hlo_tile_stays_inside(e->kernel, op)) return NULL;
  if (!is_of_reference(op)) {
    const int64_t count = e->kernel->buffers[op->buffer].element_count;
    return emit_within(e, op->offset, 0, count, lanes);
  }
  hlo_vir_value_t* inside = NULL;
  for (uint32_t i = 0; i < op->index_count; ++i) {
    if (is_index_inside(op, i)) continue;
    const int64_t extent = op->operands[0]->ref.dims[i];
    inside = both(e, inside, emit_within(e, op->indices[i], 0, extent, lanes));
  }
  return inside;
}

// Memory that an operation accesses.
typedef struct tile_memory {
  hlo_vir_value_t* base;
  hlo_dtype_t dtype;
  const hlo_expr_t* offset;
  uint32_t flags;  // of loads
  bool is_empty;
  hlo_swizzle_t swizzle;
} tile_memory_t;

static tile_memory_t find_memory(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  tile_memory_t memory = {.offset = hlo_tile_offset(e->exprs, op)};
  if (is_of_reference(op)) {
    const hlo_tile_op_t* ref = op->operands[0];
    memory.base = e->done[ref->number];
    memory.dtype = ref->dtype;
    memory.flags = hlo_tile_ref_flags(e, ref);
    memory.swizzle = hlo_tile_swizzle_of(e, ref);
    memory.is_empty = hlo_tile_ref_count(ref) == 0;
    return memory;
  }
  const hlo_tile_buffer_t* buffer = &e->kernel->buffers[op->buffer];
  memory.base = e->addresses[op->buffer];
  memory.dtype = buffer->dtype;
  memory.flags = e->is_written[op->buffer] ? 0 : HLO_VIR_INVARIANT;
  memory.is_empty = buffer->element_count == 0;
  return memory;
}

static hlo_element_address_t address_of(hlo_tile_emitter_t* e, const tile_memory_t* memory) {
  if (!memory->swizzle.bits) {
    return hlo_tile_emit_address(e, memory->base, memory->dtype, memory->offset);
  }
  const int64_t size = (int64_t)hlo_dtype_size_bytes(memory->dtype);
  hlo_vir_value_t* bytes = hlo_vir_index(e->b, HLO_VIR_imul, hlo_tile_emit_index(e, memory->offset),
                                         hlo_vir_iconst(e->b, size));
  bytes = hlo_tile_swizzled(e, memory->swizzle, bytes);
  return (hlo_element_address_t){.base = hlo_vir_index(e->b, HLO_VIR_iadd, memory->base, bytes)};
}

bool hlo_tile_find_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                           hlo_element_address_t* out_address, hlo_vir_value_t** out_mask) {
  const tile_memory_t memory = find_memory(e, op);
  if (memory.is_empty) return false;
  hlo_vir_value_t* given =
      op->is_masked ? hlo_tile_operand(e, op->operands[op->operand_count - 1], 1) : NULL;
  *out_mask = both(e, given, emit_inside(e, op, 1));
  *out_address = address_of(e, &memory);
  return true;
}

// ---- loads

// Loads one element if the mask, of one lane, is on; else `other`.
static hlo_vir_value_t* load_if(hlo_tile_emitter_t* e, const tile_memory_t* memory,
                                hlo_vir_value_t* mask, hlo_vir_value_t* other) {
  hlo_vir_value_t* result = hlo_vir_var(e->b, other);
  hlo_vir_begin_if(e->b, hlo_scalar_from_lane(e->b, HLO_DTYPE_PRED, mask));
  const hlo_element_address_t address = address_of(e, memory);
  hlo_vir_set(e->b, result, hlo_elementwise_load(e->b, memory->dtype, 1, &address));
  hlo_vir_end(e->b);
  return result;
}

// Loads any elements; those outside the mask (NULL: none) are the first one.
static hlo_vir_value_t* gather_lanes(hlo_tile_emitter_t* e, const tile_memory_t* memory,
                                     hlo_vir_value_t* mask) {
  const hlo_vir_elem_t elem = hlo_position_elem(memory->offset);
  hlo_vir_value_t* index = hlo_tile_emit_lane_index(e, elem, memory->offset);
  hlo_element_address_t address = {.base = memory->base, .mask = e->range, .flags = memory->flags};
  if (mask) {
    index = hlo_vir_ternary(e->b, HLO_VIR_select, mask, index,
                            hlo_vir_const_bits(e->b, index->type, 0));
  }
  return hlo_elementwise_gather(e->b, memory->dtype, e->lanes, &address, index);
}

static hlo_vir_value_t* load_lanes(hlo_tile_emitter_t* e, const tile_memory_t* memory,
                                   hlo_vir_value_t* mask) {
  const bool is_adjacent = hlo_tile_lane_access(memory->offset, e->lane_iv) == HLO_TILE_ADJACENT;
  if (!is_adjacent || (mask && !e->target->has_masks)) return gather_lanes(e, memory, mask);
  hlo_element_address_t address =
      hlo_tile_emit_address(e, memory->base, memory->dtype, memory->offset);
  address.flags = memory->flags;
  address.mask = both(e, mask, e->range);
  return hlo_elementwise_load(e->b, memory->dtype, e->lanes, &address);
}

static uint32_t lanes_of_operands(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  uint32_t lanes = 1;
  for (uint32_t i = is_of_reference(op); i < op->operand_count; ++i) {
    const uint32_t wide = e->done[op->operands[i]->number]->type.lanes;
    if (wide > lanes) lanes = wide;
  }
  return lanes;
}

static bool indices_differ(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  bool differs = op->offset && hlo_tile_differs(e, op->offset);
  for (uint32_t i = 0; i < op->index_count; ++i) differs |= hlo_tile_differs(e, op->indices[i]);
  return differs;
}

hlo_vir_value_t* hlo_tile_emit_load(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (is_of_reference(op) && hlo_tile_fragment_of(e, op->operands[0])) {
    return hlo_tile_emit_fragment_load(e, op);
  }
  const tile_memory_t memory = find_memory(e, op);
  const uint32_t lanes = indices_differ(e, op) ? e->lanes : lanes_of_operands(e, op);
  hlo_vir_value_t* other =
      op->is_masked ? hlo_tile_operand(e, op->operands[2], lanes) : zeros_of(e, op->dtype, lanes);
  if (memory.is_empty) return other;
  hlo_vir_value_t* given = op->is_masked ? hlo_tile_operand(e, op->operands[1], lanes) : NULL;
  hlo_vir_value_t* inside = emit_inside(e, op, lanes);
  hlo_vir_value_t* mask = both(e, given, inside);
  if (lanes > 1) {
    hlo_vir_value_t* value = load_lanes(e, &memory, mask);
    return mask ? hlo_vmath_select(e->b, mask, value, other) : value;
  }
  if (mask) return load_if(e, &memory, mask, other);
  hlo_element_address_t address = address_of(e, &memory);
  address.flags = memory.flags;
  return hlo_elementwise_load(e->b, memory.dtype, 1, &address);
}

// ---- stores

// Of lanes with the same element the last one wins, as in their order.
static void scatter_lanes(hlo_tile_emitter_t* e, const tile_memory_t* memory,
                          hlo_vir_value_t* value, hlo_vir_value_t* mask) {
  hlo_vir_value_t* index =
      hlo_tile_emit_lane_index(e, hlo_position_elem(memory->offset), memory->offset);
  hlo_vir_value_t* operands[] = {hlo_vmath_to_memory(e->b, memory->dtype, value), memory->base,
                                 index, mask};
  hlo_vir_emit(e->b, HLO_VIR_scatter, hlo_vir_type(HLO_VIR_VOID, 0),
               scale_of(hlo_vmath_memory_type(memory->dtype, 1)), 0, 4, operands);
}

void hlo_tile_emit_store(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (is_of_reference(op) && hlo_tile_fragment_of(e, op->operands[0])) {
    hlo_tile_emit_fragment_store(e, op);
    return;
  }
  const tile_memory_t memory = find_memory(e, op);
  const uint32_t lanes = hlo_tile_lanes_here(e);
  const hlo_tile_op_t* stored = op->operands[is_of_reference(op)];
  hlo_vir_value_t* value = hlo_tile_operand(e, stored, lanes);
  hlo_vir_value_t* mask = lanes == 1 ? NULL : e->path ? e->path : e->range;
  if (memory.is_empty) return;
  if (op->is_masked) mask = both(e, mask, hlo_tile_operand(e, op->operands[2], lanes));
  mask = both(e, mask, emit_inside(e, op, lanes));
  if (lanes > 1 && hlo_tile_lane_access(memory.offset, e->lane_iv) != HLO_TILE_ADJACENT) {
    scatter_lanes(e, &memory, value, mask);
    return;
  }
  const bool is_branch = lanes == 1 && mask;
  if (is_branch) hlo_vir_begin_if(e->b, hlo_scalar_from_lane(e->b, HLO_DTYPE_PRED, mask));
  hlo_element_address_t address = address_of(e, &memory);
  if (!is_branch) address.mask = mask;
  hlo_elementwise_store(e->b, memory.dtype, value, &address);
  if (is_branch) hlo_vir_end(e->b);
}

// ---- guards

hlo_vir_value_t* hlo_tile_emit_guard(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const uint32_t lanes = indices_differ(e, op) ? e->lanes : lanes_of_operands(e, op);
  hlo_vir_value_t* within = emit_within(e, op->offset, op->low, op->end, lanes);
  return hlo_vmath_select(e->b, within, hlo_tile_operand(e, op->operands[0], lanes),
                          hlo_tile_operand(e, op->operands[1], lanes));
}
