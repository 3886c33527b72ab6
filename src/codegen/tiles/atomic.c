// SPDX-License-Identifier: Apache-2.0
// Emits atomic updates, as loops of compare and swap, and prints. Both are without lanes: loops
// around them have none.
#include <stddef.h>

#include "codegen/tiles/lower_impl.h"

// ---- atomics

static hlo_op_t combiner_of(const hlo_tile_op_t* op) {
  switch (op->atomic) {
    case HLO_TILE_ATOMIC_max: return HLO_OP_maximum;
    case HLO_TILE_ATOMIC_min: return HLO_OP_minimum;
    default: return HLO_OP_add;
  }
}

static bool is_operand_of(const hlo_tile_op_t* op, const hlo_tile_op_t* user) {
  for (uint32_t i = 0; i < user->operand_count; ++i) {
    if (user->operands[i] == op) return true;
  }
  return false;
}

bool hlo_tile_is_used(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  for (const hlo_tile_op_t* at = hlo_tile_first_op(kernel); at; at = hlo_tile_next_op(at)) {
    if (is_operand_of(op, at)) return true;
  }
  return false;
}

bool hlo_tile_is_ordered_atomic(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  if (op->kind != HLO_TILE_OP_atomic) return false;
  const bool is_sum = op->atomic == HLO_TILE_ATOMIC_add;
  if (is_sum && hlo_dtype_is_float(op->dtype)) return true;  // each sum is rounded
  return (!is_sum && op->atomic != HLO_TILE_ATOMIC_max && op->atomic != HLO_TILE_ATOMIC_min) ||
         hlo_tile_is_used(kernel, op);
}

// An integer as wide as an element of memory.
static hlo_vir_elem_t integer_of(hlo_vir_type_t memory) {
  switch (hlo_vir_elem_bits((hlo_vir_elem_t)memory.elem)) {
    case 8: return HLO_VIR_I8;
    case 16: return HLO_VIR_I16;
    case 32: return HLO_VIR_I32;
    default: return HLO_VIR_I64;
  }
}

// Converts between an element and its bits as INDEX.
static hlo_vir_value_t* to_bits(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value) {
  hlo_vir_value_t* raw = hlo_vmath_to_memory(b, dtype, value);
  const hlo_vir_elem_t integer = integer_of(raw->type);
  if (raw->type.elem != integer) raw = hlo_vir_convert(b, HLO_VIR_bitcast, integer, raw);
  return hlo_vir_emit(b, HLO_VIR_to_index, hlo_vir_type(HLO_VIR_INDEX, 1), HLO_VIR_UNSIGNED, 0, 1,
                      &raw);
}

static hlo_vir_value_t* from_bits(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* bits) {
  const hlo_vir_type_t memory = hlo_vmath_memory_type(dtype, 1);
  const hlo_vir_elem_t integer = integer_of(memory);
  hlo_vir_value_t* raw =
      hlo_vir_emit(b, HLO_VIR_splat_index, hlo_vir_type(integer, 1), 0, 0, 1, &bits);
  if (memory.elem != integer) {
    raw = hlo_vir_convert(b, HLO_VIR_bitcast, (hlo_vir_elem_t)memory.elem, raw);
  }
  return hlo_vmath_from_memory(b, dtype, raw);
}

static hlo_vir_value_t* combine(hlo_tile_emitter_t* e, hlo_op_t op, hlo_dtype_t dtype,
                                hlo_vir_value_t* x, hlo_vir_value_t* y) {
  if (dtype != HLO_DTYPE_PRED) return hlo_elementwise_combine(e->b, op, dtype, x, y);
  x = hlo_tile_from_mask(e, x);
  y = hlo_tile_from_mask(e, y);
  return hlo_tile_to_mask(e, hlo_elementwise_combine(e->b, op, dtype, x, y));
}

// Returns the element's bits before the update.
static hlo_vir_value_t* emit_update(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                    const hlo_element_address_t* address) {
  hlo_vir_builder_t* b = e->b;
  const hlo_vir_type_t index = hlo_vir_type(HLO_VIR_INDEX, 1);
  const uint32_t log2 = (uint32_t)__builtin_ctzll(hlo_dtype_size_bytes(op->dtype));
  const uint32_t flags = log2 | log2 << HLO_VIR_WIDTH_SHIFT | HLO_VIR_UNSIGNED;
  hlo_vir_value_t* given = hlo_tile_operand(e, op->operands[1], 1);
  if (op->atomic == HLO_TILE_ATOMIC_compare_exchange) {
    hlo_vir_value_t* next = hlo_tile_operand(e, op->operands[2], 1);
    hlo_vir_value_t* operands[] = {to_bits(b, op->dtype, given), to_bits(b, op->dtype, next),
                                   address->base, address->index};
    return hlo_vir_emit(b, HLO_VIR_icas, index, flags, address->offset_bytes, 4, operands);
  }
  hlo_vir_value_t* place[] = {address->base, address->index};
  hlo_vir_value_t* found =
      hlo_vir_var(b, hlo_vir_emit(b, HLO_VIR_iload, index, flags, address->offset_bytes, 2, place));
  hlo_vir_begin_loop(b);
  hlo_vir_value_t* next =
      op->atomic == HLO_TILE_ATOMIC_exchange
          ? given
          : combine(e, combiner_of(op), op->dtype, from_bits(b, op->dtype, found), given);
  hlo_vir_value_t* operands[] = {found, to_bits(b, op->dtype, next), address->base, address->index};
  hlo_vir_value_t* before =
      hlo_vir_emit(b, HLO_VIR_icas, index, flags, address->offset_bytes, 4, operands);
  hlo_vir_value_t* is_same = hlo_vir_icmp(b, HLO_VIR_EQ, before, found);
  hlo_vir_set(b, found, before);
  hlo_vir_break_if(b, is_same);
  hlo_vir_end(b);
  return found;
}

hlo_vir_value_t* hlo_tile_emit_atomic(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  static const uint8_t zero[16];
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* result = hlo_elementwise_constant(b, op->dtype, 1, zero);
  hlo_element_address_t address;
  hlo_vir_value_t* mask;
  if (!hlo_tile_find_element(e, op, &address, &mask)) return result;
  if (!mask) return from_bits(b, op->dtype, emit_update(e, op, &address));
  result = hlo_vir_var(b, result);
  hlo_vir_begin_if(b, hlo_scalar_from_lane(b, HLO_DTYPE_PRED, mask));
  hlo_vir_set(b, result, from_bits(b, op->dtype, emit_update(e, op, &address)));
  hlo_vir_end(b);
  return result;
}

// ---- prints

static const hlo_tile_loop_t* tile_loop_of(const hlo_tile_op_t* op) {
  return op && op->loop_count == 1 && op->loops[0].step > 1 ? &op->loops[0] : NULL;
}

static bool is_one_step(const hlo_tile_loop_t* loop) {
  return loop->end - loop->low <= loop->step;
}

bool hlo_tile_visits_in_order(const hlo_tile_op_t* op) {
  const hlo_tile_op_t* outermost = NULL;
  for (const hlo_tile_op_t* at = op->block->parent; at; at = at->block->parent) {
    if (at->kind == HLO_TILE_OP_reduce) return false;
    if (tile_loop_of(at)) outermost = at;
  }
  if (!outermost) return true;
  for (const hlo_tile_op_t* at = op->block->parent; at != outermost; at = at->block->parent) {
    const hlo_tile_loop_t* loop = tile_loop_of(at);
    if (!loop || !is_one_step(loop)) return false;
  }
  return true;
}

// The point of a tile that is visited.
typedef struct tile_point {
  hlo_vir_value_t *number, *count, *is_last;
} tile_point_t;

static hlo_vir_value_t* by(hlo_tile_emitter_t* e, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                           int64_t y) {
  return hlo_vir_index(e->b, op, x, hlo_vir_iconst(e->b, y));
}

// Counts the points of a tile from the outermost loop inwards.
static tile_point_t find_point(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  hlo_vir_builder_t* b = e->b;
  tile_point_t point = {hlo_vir_iconst(b, 0), hlo_vir_iconst(b, 1), hlo_vir_iconst(b, 1)};
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  const uint32_t depth = hlo_tile_block_loops(op->block, loops);
  for (uint32_t i = 0; i < depth; ++i) {
    const hlo_tile_loop_t* loop = loops[i];
    if (loop->step == 1) continue;
    hlo_vir_value_t* at = by(e, HLO_VIR_isub, e->ivs[loop->iv], loop->low);
    hlo_vir_value_t* start = by(e, HLO_VIR_imul, by(e, HLO_VIR_idiv, at, loop->step), loop->step);
    hlo_vir_value_t* rest =
        hlo_vir_index(b, HLO_VIR_isub, hlo_vir_iconst(b, loop->end - loop->low), start);
    hlo_vir_value_t* size = by(e, HLO_VIR_imin, rest, loop->step);
    hlo_vir_value_t* inside = hlo_vir_index(b, HLO_VIR_isub, at, start);
    point.number = hlo_vir_index(b, HLO_VIR_imul, point.number, size);
    point.number = hlo_vir_index(b, HLO_VIR_iadd, point.number, inside);
    point.count = hlo_vir_index(b, HLO_VIR_imul, point.count, size);
    hlo_vir_value_t* is_end = hlo_vir_icmp(b, HLO_VIR_EQ, inside, by(e, HLO_VIR_isub, size, 1));
    point.is_last = hlo_vir_index(b, HLO_VIR_iand, point.is_last, is_end);
  }
  return point;
}

void hlo_tile_emit_print(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  hlo_vir_builder_t* b = e->b;
  const int64_t room = hlo_tile_point_room(op);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    bytes += room * (int64_t)hlo_dtype_size_bytes(op->operands[i]->dtype);
  }
  const hlo_vir_type_t index = hlo_vir_type(HLO_VIR_INDEX, 1);
  hlo_vir_value_t* elements = hlo_vir_emit(b, HLO_VIR_stack, index, 0, bytes + 1, 0, NULL);
  const tile_point_t point = find_point(e, op);
  int64_t offset = 0;
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    const hlo_dtype_t dtype = op->operands[i]->dtype;
    const hlo_element_address_t address = {
        .base = elements, .index = point.number, .offset_bytes = offset};
    hlo_elementwise_store(b, dtype, hlo_tile_operand(e, op->operands[i], 1), &address);
    offset += room * (int64_t)hlo_dtype_size_bytes(dtype);
  }
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, (int64_t)hlo_tile_op_site(e->kernel, op)),
                                  elements, point.count};
  hlo_vir_begin_if(b, point.is_last);
  hlo_vir_call(b, offsetof(hlo_tile_runtime_t, print), 3, arguments);
  hlo_vir_end(b);
}
