// SPDX-License-Identifier: Apache-2.0
// Elements in general registers: an integer op wraps its result to the element type (see scalar.h).
#include "codegen/math/scalar.h"

#include "codegen/math/math.h"

static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1};

bool hlo_scalar_is_index(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_PRED || hlo_dtype_is_integer(dtype);
}

static hlo_vir_value_t* is_not_zero(hlo_vir_builder_t* b, hlo_vir_value_t* x) {
  return hlo_vir_icmp(b, HLO_VIR_NE, x, hlo_vir_iconst(b, 0));
}

// Sign- or zero-extends the low bits.
static hlo_vir_value_t* wrap_index(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* x) {
  uint32_t bits = hlo_dtype_info(dtype)->bits;
  if (bits >= 64) return x;
  if (hlo_dtype_is_signed(dtype) && bits < 8) {
    hlo_vir_value_t* high = hlo_vir_emit(b, HLO_VIR_ishl, kIndex, 0, 64 - bits, 1, &x);
    return hlo_vir_emit(b, HLO_VIR_ishr, kIndex, 0, 64 - bits, 1, &high);
  }
  if (hlo_dtype_is_signed(dtype)) return hlo_vir_emit(b, HLO_VIR_isext, kIndex, 0, bits, 1, &x);
  return hlo_vir_index(b, HLO_VIR_iand, x, hlo_vir_iconst(b, ((int64_t)1 << bits) - 1));
}

// ---- ops ----------------------------------------------------------------------------------------

// Returns the op on two INDEX operands; the result may leave the type if it `wraps`.
static hlo_vir_opcode_t index_op(hlo_op_t op, bool* out_wraps) {
  *out_wraps = false;
  switch (op) {
    case HLO_OP_and: return HLO_VIR_iand;
    case HLO_OP_or: return HLO_VIR_ior;
    case HLO_OP_xor: return HLO_VIR_ixor;
    case HLO_OP_maximum: return HLO_VIR_imax;
    case HLO_OP_minimum: return HLO_VIR_imin;
    default: break;
  }
  *out_wraps = true;
  return op == HLO_OP_add ? HLO_VIR_iadd : op == HLO_OP_subtract ? HLO_VIR_isub : HLO_VIR_imul;
}

static bool supports_op(const hlo_node_t* node, hlo_dtype_t dtype) {
  bool is_pred = dtype == HLO_DTYPE_PRED, is_u64 = dtype == HLO_DTYPE_U64;
  switch (node->op) {
    case HLO_OP_add:
    case HLO_OP_subtract:
    case HLO_OP_multiply:
    case HLO_OP_negate: return !is_pred;
    case HLO_OP_and:
    case HLO_OP_or:
    case HLO_OP_xor:
    case HLO_OP_not: return true;
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_clamp: return !is_u64;
    case HLO_OP_select: return true;
    case HLO_OP_convert: return true;
    case HLO_OP_compare: {
      int64_t direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, 0);
      return !is_u64 || direction == HLO_COMPARISON_DIRECTION_EQ ||
             direction == HLO_COMPARISON_DIRECTION_NE;
    }
    default: return false;
  }
}

bool hlo_scalar_supports(const hlo_node_t* node) {
  if (node->result_count != 1 || !hlo_scalar_is_index(node->results[0].type->dtype)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!hlo_scalar_is_index(hlo_node_operand_type(node, i)->dtype)) return false;
  }
  return node->operand_count > 0 && supports_op(node, hlo_node_operand_type(node, 0)->dtype);
}

static hlo_vir_value_t* compare_index(hlo_vir_builder_t* b, const hlo_node_t* node,
                                      hlo_vir_value_t* x, hlo_vir_value_t* y) {
  static const uint8_t conditions[] = {
      [HLO_COMPARISON_DIRECTION_EQ] = HLO_VIR_EQ, [HLO_COMPARISON_DIRECTION_NE] = HLO_VIR_NE,
      [HLO_COMPARISON_DIRECTION_GE] = HLO_VIR_GE, [HLO_COMPARISON_DIRECTION_GT] = HLO_VIR_GT,
      [HLO_COMPARISON_DIRECTION_LE] = HLO_VIR_LE, [HLO_COMPARISON_DIRECTION_LT] = HLO_VIR_LT,
  };
  int64_t direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, 0);
  return hlo_vir_icmp(b, (hlo_vir_condition_t)conditions[direction], x, y);
}

static hlo_vir_value_t* convert_index(hlo_vir_builder_t* b, hlo_dtype_t from, hlo_dtype_t to,
                                      hlo_vir_value_t* x) {
  if (to == HLO_DTYPE_PRED) return from == HLO_DTYPE_PRED ? x : is_not_zero(b, x);
  return from == HLO_DTYPE_PRED ? x : wrap_index(b, to, x);
}

hlo_vir_value_t* hlo_scalar_emit(hlo_vir_builder_t* b, const hlo_node_t* node,
                                 hlo_vir_value_t* const* operands) {
  hlo_dtype_t dtype = hlo_node_operand_type(node, 0)->dtype;
  hlo_vir_value_t *x = operands[0], *y = node->operand_count > 1 ? operands[1] : NULL;
  switch (node->op) {
    case HLO_OP_negate:
      return wrap_index(b, dtype, hlo_vir_index(b, HLO_VIR_isub, hlo_vir_iconst(b, 0), x));
    case HLO_OP_not:
      if (dtype == HLO_DTYPE_PRED) return hlo_vir_index(b, HLO_VIR_ixor, x, hlo_vir_iconst(b, 1));
      return wrap_index(b, dtype, hlo_vir_index(b, HLO_VIR_ixor, x, hlo_vir_iconst(b, -1)));
    case HLO_OP_clamp:
      return hlo_vir_index(b, HLO_VIR_imin, hlo_vir_index(b, HLO_VIR_imax, x, y), operands[2]);
    case HLO_OP_select: return hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3, operands);
    case HLO_OP_compare: return compare_index(b, node, x, y);
    case HLO_OP_convert: return convert_index(b, dtype, node->results[0].type->dtype, x);
    default: break;
  }
  bool wraps;
  hlo_vir_value_t* result = hlo_vir_index(b, index_op(node->op, &wraps), x, y);
  return wraps ? wrap_index(b, dtype, result) : result;
}

// ---- lanes --------------------------------------------------------------------------------------

hlo_vir_value_t* hlo_scalar_from_lane(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                      hlo_vir_value_t* lane) {
  if (dtype == HLO_DTYPE_PRED) return hlo_vir_emit(b, HLO_VIR_mask_bits, kIndex, 0, 0, 1, &lane);
  uint32_t flags = hlo_dtype_is_unsigned(dtype) ? HLO_VIR_UNSIGNED : 0;
  return hlo_vir_emit(b, HLO_VIR_to_index, kIndex, flags, 0, 1, &lane);
}

hlo_vir_value_t* hlo_scalar_to_lane(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                    hlo_vir_value_t* value) {
  if (dtype == HLO_DTYPE_PRED) {
    return hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, 1), 0, 0, 1, &value);
  }
  hlo_vir_type_t type = hlo_vmath_type(dtype, 1);
  return hlo_vir_emit(b, HLO_VIR_splat_index, type, 0, 0, 1, &value);
}

// ---- memory -------------------------------------------------------------------------------------

static uint32_t memory_flags(hlo_dtype_t dtype) {
  uint32_t log2_bytes = (uint32_t)__builtin_ctzll(hlo_dtype_size_bytes(dtype));
  return log2_bytes | log2_bytes << HLO_VIR_WIDTH_SHIFT;
}

hlo_vir_value_t* hlo_scalar_load(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                 const hlo_element_address_t* address) {
  if (!hlo_scalar_is_index(dtype)) {
    hlo_element_address_t plain = *address;
    plain.mask = NULL;
    return hlo_elementwise_load(b, dtype, 1, &plain);
  }
  bool is_pred = dtype == HLO_DTYPE_PRED;
  uint32_t flags = memory_flags(dtype) | address->flags;
  if (is_pred || hlo_dtype_is_unsigned(dtype)) flags |= HLO_VIR_UNSIGNED;
  hlo_vir_value_t* operands[] = {address->base, address->index};
  hlo_vir_value_t* value =
      hlo_vir_emit(b, HLO_VIR_iload, kIndex, flags, address->offset_bytes, 2, operands);
  return is_pred ? is_not_zero(b, value) : value;
}

void hlo_scalar_store(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value,
                      const hlo_element_address_t* address) {
  if (!hlo_scalar_is_index(dtype)) {
    hlo_element_address_t plain = *address;
    plain.mask = NULL;
    hlo_elementwise_store(b, dtype, value, &plain);
    return;
  }
  hlo_vir_value_t* operands[] = {value, address->base, address->index};
  hlo_vir_emit(b, HLO_VIR_istore, hlo_vir_type(HLO_VIR_VOID, 0), memory_flags(dtype),
               address->offset_bytes, 3, operands);
}

hlo_vir_value_t* hlo_scalar_constant(hlo_vir_builder_t* b, hlo_dtype_t dtype, const void* element) {
  if (!hlo_scalar_is_index(dtype)) return hlo_elementwise_constant(b, dtype, 1, element);
  if (dtype == HLO_DTYPE_PRED) return hlo_vir_iconst(b, *(const uint8_t*)element != 0);
  return hlo_vir_iconst(b, hlo_dtype_load_int64(dtype, element));
}
