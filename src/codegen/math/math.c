// SPDX-License-Identifier: Apache-2.0
// Chooses the expression by op and element type.
#include "codegen/math/math.h"

#include "codegen/math/functions.h"
#include "codegen/math/integer.h"
#include "ir/type.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

// ---- floats -------------------------------------------------------------------------------------

enum { NATIVE, ONLY, WIDE, WIDE_ONLY };

/// A function, or a single instruction.
typedef struct float_op {
  hlo_vector_fn_t fn;
  uint16_t instruction;
  uint8_t immediate;
  uint8_t arity;
  uint8_t f32;  // NATIVE, ONLY, WIDE or WIDE_ONLY
} float_op_t;

static const float_op_t float_ops[HLO_OP_COUNT] = {
#define HLO_VMATH(op, operands, route, f32_ulps, f64_ulps) \
  [HLO_OP_##op] = {.fn = hlo_vmath_##op, .arity = operands, .f32 = route},
#define HLO_VMATH_INSTRUCTION(op, operands, id, imm) \
  [HLO_OP_##op] = {.instruction = HLO_VIR_##id, .immediate = imm, .arity = operands},
#include "codegen/math/math.def"
};

static value_t* emit_float(builder_t* b, const float_op_t* row, value_t* x, value_t* y) {
  if (row->arity == 0) return NULL;
  if (row->fn) {
    const bool is_wide = row->f32 >= WIDE && !hlo_vis_f64(x);
    return is_wide ? hlo_vmath_in_f64(b, row->fn, x, y) : row->fn(b, x, y);
  }
  value_t* operands[] = {x, y};
  return hlo_vir_emit(b, (hlo_vir_opcode_t)row->instruction, x->type, 0, row->immediate, row->arity,
                      operands);
}

// ---- by type ------------------------------------------------------------------------------------

bool hlo_vmath_has(hlo_op_t op, hlo_dtype_t dtype) {
  if ((unsigned)op >= HLO_OP_COUNT) return false;
  const uint8_t f32 = float_ops[op].f32;
  // The neighbours are those of the narrow type; the f32 in a register does not know it.
  const bool is_narrow = hlo_dtype_is_float(dtype) && hlo_dtype_info(dtype)->bits < 32;
  if (op == HLO_OP_chlo_next_after && is_narrow) return false;
  if (dtype == HLO_DTYPE_F64 && (f32 == ONLY || f32 == WIDE_ONLY)) return false;
  if (hlo_dtype_is_float(dtype)) return float_ops[op].arity != 0;
  if (dtype == HLO_DTYPE_PRED) return hlo_vmath_has_mask(op);
  return hlo_dtype_is_integer(dtype) && hlo_vmath_has_integer(op);
}

value_t* hlo_vmath_emit(builder_t* b, hlo_op_t op, hlo_dtype_t dtype, value_t* x, value_t* y) {
  if (!hlo_vmath_has(op, dtype)) return NULL;
  if (hlo_dtype_is_float(dtype)) return emit_float(b, &float_ops[op], x, y);
  if (dtype == HLO_DTYPE_PRED) return hlo_vmath_mask(b, op, x, y);
  return hlo_vmath_integer(b, op, dtype, x, y);
}

value_t* hlo_vmath_round_result(builder_t* b, hlo_op_t op, hlo_dtype_t dtype, value_t* x) {
  // A NaN of an instruction comes from an operand or from the processor: both are values of the
  // type.
  const bool is_instruction = float_ops[op].arity && !float_ops[op].fn;
  return is_instruction && dtype == HLO_DTYPE_BF16 ? hlo_vmath_nearest_bf16(b, x)
                                                   : hlo_vmath_round_to(b, dtype, x);
}

value_t* hlo_vmath_compare(builder_t* b, hlo_dtype_t dtype, int64_t direction, bool is_total_order,
                           value_t* x, value_t* y) {
  static const hlo_vir_condition_t conditions[] = {
      [HLO_COMPARISON_DIRECTION_EQ] = HLO_VIR_EQ, [HLO_COMPARISON_DIRECTION_NE] = HLO_VIR_NE,
      [HLO_COMPARISON_DIRECTION_GE] = HLO_VIR_GE, [HLO_COMPARISON_DIRECTION_GT] = HLO_VIR_GT,
      [HLO_COMPARISON_DIRECTION_LE] = HLO_VIR_LE, [HLO_COMPARISON_DIRECTION_LT] = HLO_VIR_LT};
  if ((uint64_t)direction >= HLO_COUNT_OF(conditions)) return NULL;
  const hlo_vir_condition_t condition = conditions[direction];
  if (hlo_dtype_is_float(dtype)) return hlo_vmath_compare_float(b, condition, is_total_order, x, y);
  if (dtype == HLO_DTYPE_PRED) return hlo_vmath_compare_mask(b, condition, x, y);
  if (hlo_dtype_is_signed(dtype)) return hlo_vscmp(b, condition, x, y);
  return hlo_dtype_is_unsigned(dtype) ? hlo_vucmp(b, condition, x, y) : NULL;
}

value_t* hlo_vmath_select(builder_t* b, value_t* mask, value_t* x, value_t* y) {
  if (x->type.elem != HLO_VIR_MASK) return hlo_vselect(b, mask, x, y);
  return hlo_vmask_or(b, hlo_vmask_and(b, mask, x), hlo_vmask_and(b, hlo_vmask_not(b, mask), y));
}

value_t* hlo_vmath_clamp(builder_t* b, hlo_dtype_t dtype, value_t* low, value_t* x, value_t* high) {
  if (hlo_dtype_is_float(dtype)) return hlo_vmath_clamp_float(b, low, x, high);
  value_t* above = hlo_vmath_emit(b, HLO_OP_maximum, dtype, x, low);
  return above ? hlo_vmath_emit(b, HLO_OP_minimum, dtype, above, high) : NULL;
}
