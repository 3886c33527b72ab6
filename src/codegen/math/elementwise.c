// SPDX-License-Identifier: Apache-2.0
// Elements are loaded, stored and computed in the forms of math.h (see elementwise.h).
#include "codegen/math/elementwise.h"

#include <math.h>
#include <string.h>

#include "codegen/math/math.h"

// Integers below 8 bits take a byte in memory, with the sign or zeros above their own bits.
static bool is_short(hlo_dtype_t dtype) {
  return hlo_dtype_is_integer(dtype) && hlo_dtype_info(dtype)->bits < 8;
}

bool hlo_elementwise_supports_dtype(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_PRED || hlo_vmath_type(dtype, 1).elem != HLO_VIR_VOID;
}

bool hlo_elementwise_is_scalar(const hlo_value_t* value) {
  return value->type->kind == HLO_TYPE_TENSOR && hlo_type_element_count(value->type) == 1 &&
         hlo_elementwise_supports_dtype(value->type->dtype);
}

static hlo_dtype_t operand_dtype(const hlo_node_t* node) {
  return node->operand_count ? hlo_node_operand_type(node, 0)->dtype : node->results[0].type->dtype;
}

// The types have equal sizes, and the register holds the operand's bits as in memory. Conversion to
// f32 changes NaNs of f16 and of types below 16 bits, but not those of bf16.
static bool supports_bitcast(hlo_dtype_t from, hlo_dtype_t to) {
  size_t bytes = hlo_dtype_size_bytes(from);
  return from != HLO_DTYPE_PRED && to != HLO_DTYPE_PRED && !is_short(from) && !is_short(to) &&
         bytes == hlo_dtype_size_bytes(to) &&
         (bytes == hlo_elementwise_register_bytes(from) || from == HLO_DTYPE_BF16) &&
         hlo_vmath_memory_type(from, 1).elem != HLO_VIR_VOID;
}

static hlo_elementwise_op_t op_of(const hlo_node_t* node) {
  hlo_elementwise_op_t op = {.op = node->op,
                             .operand_count = node->operand_count,
                             .operand = operand_dtype(node),
                             .result = node->results[0].type->dtype};
  if (node->op == HLO_OP_compare) {
    op.direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, 0);
    op.is_total_order =
        hlo_node_attr_int(node, HLO_ATTR_compare_type, -1) == HLO_COMPARISON_TYPE_TOTALORDER;
  }
  return op;
}

static bool supports(hlo_op_t op, uint32_t operand_count, hlo_dtype_t operand, hlo_dtype_t result) {
  switch (op) {
    case HLO_OP_bitcast_convert: return supports_bitcast(operand, result);
    case HLO_OP_select:
    case HLO_OP_clamp:
    case HLO_OP_convert:
    case HLO_OP_compare: return true;
    default: break;
  }
  return operand_count > 0 && operand_count <= 2 &&
         (hlo_op_info(op)->traits & HLO_TRAIT_ELEMENTWISE) && hlo_vmath_has(op, operand);
}

bool hlo_elementwise_supports_op(const hlo_elementwise_op_t* op) {
  return supports(op->op, op->operand_count, op->operand, op->result);
}

bool hlo_elementwise_supports(const hlo_node_t* node) {
  if (node->op == HLO_OP_bitcast_convert &&
      hlo_node_operand_type(node, 0)->rank != node->results[0].type->rank) {
    return false;
  }
  if (node->result_count == 0 || node->region_count) return false;
  return supports(node->op, node->operand_count, operand_dtype(node), node->results[0].type->dtype);
}

double hlo_elementwise_cost(const hlo_node_t* node) {
  enum { INTEGER_DIVISION = 20 };
  const hlo_op_cost_t cost = hlo_op_info(node->op)->cost;
  if (cost == HLO_COST_DIVIDE && hlo_dtype_is_integer(operand_dtype(node))) return INTEGER_DIVISION;
  return hlo_op_cost_info(cost)->vector;
}

uint32_t hlo_elementwise_register_bytes(hlo_dtype_t dtype) {
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)hlo_vmath_type(dtype, 1).elem);
  return bits ? bits / 8 : 1;
}

static uint32_t scale_of(hlo_vir_type_t memory) {
  uint32_t bytes = hlo_vir_elem_bits((hlo_vir_elem_t)memory.elem) / 8;
  return bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;
}

hlo_vir_value_t* hlo_elementwise_load_raw(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                          const hlo_element_address_t* address) {
  hlo_vir_type_t type = hlo_vmath_memory_type(dtype, lanes);
  hlo_vir_value_t* operands[] = {address->base, address->index, address->mask};
  return hlo_vir_emit(b, HLO_VIR_load, type, address->flags | scale_of(type), address->offset_bytes,
                      3, operands);
}

hlo_vir_value_t* hlo_elementwise_load(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                      const hlo_element_address_t* address) {
  return hlo_vmath_from_memory(b, dtype, hlo_elementwise_load_raw(b, dtype, lanes, address));
}

hlo_vir_value_t* hlo_elementwise_gather(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                        const hlo_element_address_t* address,
                                        hlo_vir_value_t* index) {
  hlo_vir_type_t type = hlo_vmath_memory_type(dtype, lanes);
  hlo_vir_value_t* operands[] = {address->base, index, address->mask};
  hlo_vir_value_t* raw = hlo_vir_emit(b, HLO_VIR_gather, type, address->flags | scale_of(type),
                                      address->offset_bytes, 3, operands);
  return hlo_vmath_from_memory(b, dtype, raw);
}

void hlo_elementwise_store_raw(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* raw,
                               const hlo_element_address_t* address) {
  hlo_vir_value_t* operands[] = {raw, address->base, address->index, address->mask};
  hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0),
               address->flags | scale_of(hlo_vmath_memory_type(dtype, 1)), address->offset_bytes, 4,
               operands);
}

void hlo_elementwise_store(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value,
                           const hlo_element_address_t* address) {
  hlo_elementwise_store_raw(b, dtype, hlo_vmath_to_memory(b, dtype, value), address);
}

hlo_vir_value_t* hlo_elementwise_constant(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                          const void* element) {
  if (dtype == HLO_DTYPE_PRED) {
    return hlo_vir_const_mask(b, lanes, *(const uint8_t*)element ? lanes : 0);
  }
  hlo_vir_type_t type = hlo_vmath_type(dtype, lanes);
  if (type.elem == HLO_VIR_F32 && dtype != HLO_DTYPE_F32) {
    return hlo_vir_const_float(b, type, hlo_dtype_load_double(dtype, element));
  }
  uint64_t bits = 0;
  memcpy(&bits, element, hlo_dtype_size_bytes(dtype));
  return hlo_vir_const_bits(b, type, bits);
}

hlo_vir_value_t* hlo_elementwise_from_integer(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                              hlo_vir_value_t* value) {
  return hlo_vmath_convert(b, value->type.elem == HLO_VIR_I32 ? HLO_DTYPE_S32 : HLO_DTYPE_S64,
                           dtype, value);
}

// Ops whose result is an operand's value or is representable in every format.
static bool is_exact(hlo_op_t op) {
  switch (op) {
    case HLO_OP_abs:
    case HLO_OP_negate:
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_sign:
    case HLO_OP_floor:
    case HLO_OP_ceil:
    case HLO_OP_round_nearest_even:
    case HLO_OP_round_nearest_afz:
    case HLO_OP_is_finite: return true;
    default: return false;
  }
}

hlo_vir_value_t* hlo_elementwise_emit_op(hlo_vir_builder_t* b, const hlo_elementwise_op_t* op,
                                         hlo_vir_value_t* const* operands) {
  switch (op->op) {
    case HLO_OP_select: return hlo_vmath_select(b, operands[0], operands[1], operands[2]);
    case HLO_OP_clamp:
      return hlo_vmath_clamp(b, op->operand, operands[0], operands[1], operands[2]);
    case HLO_OP_convert: return hlo_vmath_convert(b, op->operand, op->result, operands[0]);
    case HLO_OP_bitcast_convert: {
      hlo_vir_elem_t memory = (hlo_vir_elem_t)hlo_vmath_memory_type(op->result, 1).elem;
      hlo_vir_value_t* bits = hlo_vmath_to_memory(b, op->operand, operands[0]);
      if (bits->type.elem != memory) bits = hlo_vir_convert(b, HLO_VIR_bitcast, memory, bits);
      return hlo_vmath_from_memory(b, op->result, bits);
    }
    case HLO_OP_compare:
      return hlo_vmath_compare(b, op->operand, op->direction, op->is_total_order, operands[0],
                               operands[1]);
    default: {
      hlo_vir_value_t* value = hlo_vmath_emit(b, op->op, op->operand, operands[0],
                                              op->operand_count > 1 ? operands[1] : NULL);
      return is_exact(op->op) ? value : hlo_vmath_round_result(b, op->op, op->result, value);
    }
  }
}

hlo_vir_value_t* hlo_elementwise_emit(hlo_vir_builder_t* b, const hlo_node_t* node,
                                      hlo_vir_value_t* const* operands) {
  const hlo_elementwise_op_t op = op_of(node);
  return hlo_elementwise_emit_op(b, &op, operands);
}

hlo_vir_value_t* hlo_elementwise_combine(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                         hlo_vir_value_t* x, hlo_vir_value_t* y) {
  if (dtype == HLO_DTYPE_PRED) {
    const bool is_any = op == HLO_OP_or || op == HLO_OP_add || op == HLO_OP_maximum;
    const hlo_vir_opcode_t any_or_all = is_any ? HLO_VIR_or : HLO_VIR_and;
    return hlo_vir_binary(b, op == HLO_OP_xor ? HLO_VIR_xor : any_or_all, x, y);
  }
  bool is_narrow = hlo_dtype_is_float(dtype) && dtype != HLO_DTYPE_F64;
  return hlo_vmath_emit(b, op, is_narrow ? HLO_DTYPE_F32 : dtype, x, y);
}

// Compares values of a reduction; of truth values, true, -1, is the smaller integer.
static hlo_vir_value_t* compare_reduced(hlo_vir_builder_t* b, hlo_dtype_t dtype, int64_t direction,
                                        hlo_vir_value_t* x, hlo_vir_value_t* y) {
  if (dtype != HLO_DTYPE_PRED) return hlo_vmath_compare(b, dtype, direction, false, x, y);
  if (direction == HLO_COMPARISON_DIRECTION_EQ) {
    return hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_EQ, x, y);
  }
  const bool is_greater = direction == HLO_COMPARISON_DIRECTION_GT;
  return hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_LT, is_greater ? x : y, is_greater ? y : x);
}

void hlo_elementwise_combine_pair(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                  hlo_dtype_t index_dtype, hlo_vir_value_t* const* x,
                                  hlo_vir_value_t* const* y, hlo_vir_value_t** out) {
  const int64_t better =
      op == HLO_OP_maximum ? HLO_COMPARISON_DIRECTION_GT : HLO_COMPARISON_DIRECTION_LT;
  hlo_vir_value_t* pick = compare_reduced(b, dtype, better, x[0], y[0]);
  hlo_vir_value_t* is_equal = compare_reduced(b, dtype, HLO_COMPARISON_DIRECTION_EQ, x[0], y[0]);
  if (hlo_dtype_is_float(dtype)) {
    const int64_t differs = HLO_COMPARISON_DIRECTION_NE;
    hlo_vir_value_t* is_nan = hlo_vmath_compare(b, dtype, differs, false, x[0], x[0]);
    hlo_vir_value_t* is_other = hlo_vmath_compare(b, dtype, differs, false, y[0], y[0]);
    hlo_vir_value_t* is_both = hlo_vir_binary(b, HLO_VIR_mask_and, is_nan, is_other);
    is_nan = hlo_vir_binary(b, HLO_VIR_mask_xor, is_nan, is_both);  // only x
    pick = hlo_vir_binary(b, HLO_VIR_mask_or, pick, is_nan);
    is_equal = hlo_vir_binary(b, HLO_VIR_mask_or, is_equal, is_both);
  }
  hlo_vir_value_t* is_first =
      hlo_vmath_compare(b, index_dtype, HLO_COMPARISON_DIRECTION_LT, false, x[1], y[1]);
  hlo_vir_value_t* pick_index = hlo_vir_binary(
      b, HLO_VIR_mask_or, pick, hlo_vir_binary(b, HLO_VIR_mask_and, is_equal, is_first));
  out[0] = hlo_vmath_select(b, pick, x[0], y[0]);
  out[1] = hlo_vmath_select(b, pick_index, x[1], y[1]);
}

static double float_identity(hlo_op_t op) {
  switch (op) {
    case HLO_OP_multiply: return 1.0;
    case HLO_OP_maximum: return -INFINITY;
    case HLO_OP_minimum: return INFINITY;
    default: return -0.0;
  }
}

static uint64_t integer_identity(hlo_op_t op, hlo_dtype_t dtype) {
  uint64_t top = (uint64_t)1 << (hlo_dtype_info(dtype)->bits - 1);
  bool is_signed = hlo_dtype_is_signed(dtype);
  switch (op) {
    case HLO_OP_multiply: return 1;
    case HLO_OP_and: return UINT64_MAX;
    case HLO_OP_maximum: return is_signed ? 0 - top : 0;
    case HLO_OP_minimum: return is_signed ? top - 1 : UINT64_MAX;
    default: return 0;
  }
}

hlo_vir_value_t* hlo_elementwise_multiply_add(hlo_vir_builder_t* b, bool has_fma,
                                              hlo_vir_value_t* x, hlo_vir_value_t* y,
                                              hlo_vir_value_t* sum) {
  bool is_float = sum->type.elem == HLO_VIR_F32 || sum->type.elem == HLO_VIR_F64;
  if (is_float && has_fma) return hlo_vir_ternary(b, HLO_VIR_fma, x, y, sum);
  return hlo_vir_binary(b, is_float ? HLO_VIR_fadd : HLO_VIR_add, sum,
                        hlo_vir_binary(b, is_float ? HLO_VIR_fmul : HLO_VIR_mul, x, y));
}

hlo_vir_value_t* hlo_elementwise_identity(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                          uint32_t lanes) {
  hlo_vir_type_t type = hlo_vmath_type(dtype, lanes);
  if (hlo_dtype_is_float(dtype)) return hlo_vir_const_float(b, type, float_identity(op));
  return hlo_vir_const_bits(b, type, integer_identity(op, dtype));
}

void hlo_elementwise_transpose(hlo_vir_builder_t* b, hlo_vir_value_t** rows, uint32_t row_count,
                               uint32_t count, uint32_t part_lanes) {
  for (uint32_t stage = 1; stage < count; stage *= 2) {
    hlo_vir_value_t* next[HLO_VIR_MAX_LANES];
    for (uint32_t i = 0; i < row_count; ++i) {
      uint32_t half = i / count * count + i % count / 2;
      hlo_vir_value_t* pair[] = {rows[half], rows[half + count / 2]};
      hlo_vir_opcode_t zip = i % 2 ? HLO_VIR_zip_high : HLO_VIR_zip_low;
      next[i] = hlo_vir_emit(b, zip, pair[0]->type, 0, part_lanes, 2, pair);
    }
    memcpy(rows, next, row_count * sizeof *rows);
  }
}
