// SPDX-License-Identifier: Apache-2.0
// Pass lower_codes: turns ops that are defined by the codes of elements into integer ops on them:
// reduce_precision, next_after of types below 32 bits (for others it is a function of the loops),
// and bitcast_convert of elements below a byte, which take a byte each in memory.
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

/// The codes of one type as unsigned integers.
typedef struct codes {
  hlo_node_t* node;
  const hlo_type_t* type;
  const hlo_dtype_info_t* info;
} codes_t;

static bool read_node(hlo_node_t* node, codes_t* c) {
  *c = (codes_t){.node = node, .type = node->results[0].type};
  if (!hlo_type_is_plain(c->type) || !hlo_dtype_is_float(c->type->dtype)) return false;
  c->info = hlo_dtype_info(c->type->dtype);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand_type(node, i) != c->type) return false;
  }
  return c->info->bits >= 8;
}

static hlo_dtype_t unsigned_dtype(uint32_t bits) {
  switch (bits) {
    case 2: return HLO_DTYPE_U2;
    case 4: return HLO_DTYPE_U4;
    case 8: return HLO_DTYPE_U8;
    case 16: return HLO_DTYPE_U16;
    case 32: return HLO_DTYPE_U32;
    default: return HLO_DTYPE_U64;
  }
}

static hlo_dtype_t code_dtype(const codes_t* c) {
  return unsigned_dtype(c->info->bits);
}

static hlo_value_t* cast(const codes_t* c, hlo_dtype_t dtype, hlo_value_t* value) {
  if (!value || value->type->dtype == dtype) return value;
  return hlo_build_node(c->node, HLO_OP_bitcast_convert,
                        hlo_type_with_dtype(c->node->parent->module, value->type, dtype), 1, &value,
                        0, NULL);
}

// Returns an integer in every element, like `x`.
static hlo_value_t* all(const codes_t* c, const hlo_value_t* x, uint64_t value) {
  if (!x) return NULL;
  hlo_literal_t* literal = hlo_build_literal(c->node->parent->module, x->type, true);
  if (literal)
    hlo_dtype_store_int64(x->type->dtype, hlo_literal_mutable_data(literal), (int64_t)value);
  return hlo_build_constant(c->node, x->type, literal);
}

static hlo_value_t* with(const codes_t* c, hlo_op_t op, hlo_value_t* x, uint64_t y) {
  return hlo_build_binary(c->node, op, x, all(c, x, y));
}

static hlo_value_t* test(const codes_t* c, int64_t direction, hlo_value_t* x, uint64_t y) {
  return hlo_build_compare(c->node, direction, x, all(c, x, y));
}

// ---- reduce_precision ---------------------------------------------------------------------------

// Rounds the mantissa to nearest even.
static hlo_value_t* round_mantissa(const codes_t* c, hlo_value_t* code, unsigned dropped_bits) {
  if (dropped_bits == 0) return code;
  const uint64_t last = (uint64_t)1 << dropped_bits;
  hlo_value_t* odd =
      with(c, HLO_OP_and, with(c, HLO_OP_shift_right_logical, code, dropped_bits), 1);
  code = hlo_build_binary(c->node, HLO_OP_add, with(c, HLO_OP_add, code, (last >> 1) - 1), odd);
  return with(c, HLO_OP_and, code, ~(last - 1));
}

// Replaces exponents out of range by infinity or zero: subnormals of the format become zero.
static hlo_value_t* limit_exponent(const codes_t* c, hlo_value_t* code, unsigned exponent_bits) {
  const hlo_dtype_info_t* info = c->info;
  if (exponent_bits >= info->exponent_bits) return code;
  const unsigned mantissa = info->mantissa_bits;
  const uint64_t mask = (((uint64_t)1 << info->exponent_bits) - 1) << mantissa;
  const uint64_t bias = ((uint64_t)1 << (info->exponent_bits - 1)) - 1;
  const uint64_t reduced = ((uint64_t)1 << (exponent_bits - 1)) - 1;
  hlo_value_t* exponent = with(c, HLO_OP_and, code, mask);
  hlo_value_t* zero = with(c, HLO_OP_and, code, (uint64_t)1 << (info->bits - 1));
  hlo_value_t* infinity = with(c, HLO_OP_or, zero, mask);
  hlo_value_t* is_above =
      test(c, HLO_COMPARISON_DIRECTION_GT, exponent, (bias + reduced) << mantissa);
  hlo_value_t* is_below =
      test(c, HLO_COMPARISON_DIRECTION_LE, exponent, (bias - reduced) << mantissa);
  code = hlo_build_select(c->node, is_below, zero, code);
  return hlo_build_select(c->node, is_above, infinity, code);
}

static hlo_value_t* reduce_precision(const codes_t* c) {
  const int64_t exponent_bits = hlo_node_attr_int(c->node, HLO_ATTR_exponent_bits, 0);
  const int64_t mantissa_bits = hlo_node_attr_int(c->node, HLO_ATTR_mantissa_bits, -1);
  if (exponent_bits < 1 || mantissa_bits < 0 || c->info->specials != HLO_FLOAT_IEEE) return NULL;
  const unsigned source = c->info->mantissa_bits;
  const unsigned dropped = mantissa_bits < source ? source - (unsigned)mantissa_bits : 0;
  const unsigned exponent =
      exponent_bits < c->info->exponent_bits ? (unsigned)exponent_bits : c->info->exponent_bits;
  const uint64_t infinity = (((uint64_t)1 << c->info->exponent_bits) - 1) << source;
  hlo_value_t* x = cast(c, code_dtype(c), hlo_node_operand(c->node, 0));
  hlo_value_t* magnitude = with(c, HLO_OP_and, x, ((uint64_t)1 << (c->info->bits - 1)) - 1);
  hlo_value_t* is_nan = test(c, HLO_COMPARISON_DIRECTION_GT, magnitude, infinity);
  // A format without mantissa has no NaN.
  hlo_value_t* nan = mantissa_bits == 0 && dropped ? all(c, x, infinity) : x;
  hlo_value_t* code = limit_exponent(c, round_mantissa(c, x, dropped), exponent);
  return cast(c, c->type->dtype, hlo_build_select(c->node, is_nan, nan, code));
}

// ---- next_after ---------------------------------------------------------------------------------

// Numbers the codes in the order of their values, with one number for both zeros.
static hlo_value_t* number_codes(const codes_t* c, hlo_value_t* code, uint64_t sign) {
  if (!sign) return code;
  hlo_value_t* magnitude = with(c, HLO_OP_and, code, sign - 1);
  hlo_value_t* is_negative = test(c, HLO_COMPARISON_DIRECTION_GE, code, sign);
  return hlo_build_select(c->node, is_negative, hlo_build_unary(c->node, HLO_OP_negate, magnitude),
                          magnitude);
}

static hlo_value_t* next_after(const codes_t* c) {
  const bool has_sign = c->info->specials != HLO_FLOAT_E8M0;
  const uint64_t sign = has_sign ? (uint64_t)1 << (c->info->bits - 1) : 0;
  hlo_node_t* at = c->node;
  hlo_value_t *x = hlo_node_operand(at, 0), *y = hlo_node_operand(at, 1);
  hlo_value_t* code = hlo_build_convert(at, HLO_DTYPE_S32, cast(c, code_dtype(c), x));
  hlo_value_t* goal = hlo_build_convert(at, HLO_DTYPE_S32, cast(c, code_dtype(c), y));
  hlo_value_t *here = number_codes(c, code, sign), *there = number_codes(c, goal, sign);
  hlo_value_t* up = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, here, there);
  hlo_value_t* is_positive = test(c, HLO_COMPARISON_DIRECTION_GT, here, 0);
  hlo_value_t* grows =
      has_sign ? hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ, up, is_positive) : up;
  hlo_value_t* next =
      hlo_build_select(at, grows, with(c, HLO_OP_add, code, 1), with(c, HLO_OP_subtract, code, 1));
  if (c->info->specials == HLO_FLOAT_FNUZ) {  // the code of a negative zero is NaN
    hlo_value_t* is_nan = test(c, HLO_COMPARISON_DIRECTION_EQ, next, sign);
    next = hlo_build_select(at, is_nan, all(c, next, 0), next);
  }
  if (has_sign) {
    hlo_value_t* first = with(c, HLO_OP_or, with(c, HLO_OP_and, goal, sign), 1);
    next = hlo_build_select(at, test(c, HLO_COMPARISON_DIRECTION_EQ, here, 0), first, next);
  }
  hlo_value_t* is_there = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ, here, there);
  next = hlo_build_convert(at, code_dtype(c), hlo_build_select(at, is_there, goal, next));
  hlo_value_t* sum = hlo_build_binary(at, HLO_OP_add, x, y);
  hlo_value_t* has_nan =
      hlo_build_binary(at, HLO_OP_or, hlo_build_compare(at, HLO_COMPARISON_DIRECTION_NE, x, x),
                       hlo_build_compare(at, HLO_COMPARISON_DIRECTION_NE, y, y));
  return hlo_build_select(at, has_nan, sum, cast(c, c->type->dtype, next));
}

// ---- bitcast_convert ----------------------------------------------------------------------------

static bool is_short_integer(hlo_dtype_t dtype) {
  return hlo_dtype_is_integer(dtype) && hlo_dtype_info(dtype)->bits < 8;
}

// The sign of short integers fills their byte, so that a cast alone does not give their codes.
static hlo_value_t* cast_codes(const codes_t* c, hlo_dtype_t dtype, hlo_value_t* value) {
  if (!value) return NULL;
  return is_short_integer(value->type->dtype) && is_short_integer(dtype)
             ? hlo_build_convert(c->node, dtype, value)
             : cast(c, dtype, value);
}

// Part i of a wide element begins at bit i times the width of a part.
static hlo_value_t* split_codes(const codes_t* c, hlo_value_t* wide, uint32_t bits) {
  const uint32_t rank = c->type->rank;
  int64_t along[HLO_RANK_MAX];
  for (uint32_t d = 0; d < rank; ++d) along[d] = d;
  const hlo_type_t* type = hlo_type_with_dtype(c->node->parent->module, c->type, wide->type->dtype);
  const hlo_named_attr_t last = {HLO_ATTR_iota_dimension,
                                 hlo_attr_int(c->node->parent->module, HLO_DTYPE_S64, rank - 1)};
  hlo_value_t* number = hlo_build_node(c->node, HLO_OP_iota, type, 0, NULL, 1, &last);
  hlo_value_t* code = hlo_build_binary(c->node, HLO_OP_shift_right_logical,
                                       hlo_build_broadcast(c->node, type, wide, along),
                                       with(c, HLO_OP_multiply, number, bits));
  return hlo_build_convert(c->node, unsigned_dtype(bits),
                           with(c, HLO_OP_and, code, ((uint64_t)1 << bits) - 1));
}

static hlo_value_t* join_codes(const codes_t* c, hlo_value_t* parts, hlo_dtype_t dtype) {
  const uint32_t rank = parts->type->rank, bits = hlo_dtype_info(parts->type->dtype)->bits;
  int64_t dims[HLO_RANK_MAX], first[HLO_RANK_MAX] = {0};
  for (uint32_t d = 0; d < rank; ++d) dims[d] = parts->type->dims[d];
  const int64_t count = dims[rank - 1];
  dims[rank - 1] = 1;
  hlo_value_t* wide = hlo_build_convert(c->node, dtype, parts);
  const hlo_type_t* type = hlo_type_with_dims(c->node->parent->module, wide->type, rank, dims);
  hlo_value_t* sum = NULL;
  for (int64_t i = 0; i < count; ++i) {
    first[rank - 1] = i;
    hlo_value_t* part = with(c, HLO_OP_shift_left,
                             hlo_build_slice(c->node, type, wide, first, NULL), (uint64_t)i * bits);
    sum = i ? hlo_build_binary(c->node, HLO_OP_or, sum, part) : part;
  }
  return hlo_build_reshape(c->node, hlo_type_with_dtype(c->node->parent->module, c->type, dtype),
                           sum);
}

static hlo_value_t* regroup_bits(hlo_node_t* node) {
  hlo_value_t* value = hlo_node_operand(node, 0);
  const codes_t c = {.node = node, .type = node->results[0].type};
  const hlo_dtype_t from = value->type->dtype, to = c.type->dtype;
  const uint32_t bits = hlo_dtype_info(from)->bits, to_bits = hlo_dtype_info(to)->bits;
  const bool is_same = bits == to_bits;
  const bool is_short = is_same ? hlo_dtype_is_signed(from) != hlo_dtype_is_signed(to) && bits < 8
                                : bits < 8 || to_bits < 8;
  if (!is_short || !hlo_type_is_plain(value->type) || !hlo_type_is_plain(c.type) ||
      from == HLO_DTYPE_PRED || to == HLO_DTYPE_PRED || bits > 64 || to_bits > 64 || bits == 6 ||
      hlo_type_element_count(c.type) == 0) {
    return NULL;
  }
  hlo_value_t* codes = cast_codes(&c, unsigned_dtype(bits), value);
  if (!codes) return NULL;
  if (!is_same) {
    codes = bits > to_bits ? split_codes(&c, codes, to_bits)
                           : join_codes(&c, codes, unsigned_dtype(to_bits));
  }
  return cast_codes(&c, to, codes);
}

static hlo_value_t* replace_node(hlo_node_t* node) {
  codes_t c;
  switch (node->op) {
    case HLO_OP_bitcast_convert: return regroup_bits(node);
    case HLO_OP_reduce_precision: return read_node(node, &c) ? reduce_precision(&c) : NULL;
    case HLO_OP_chlo_next_after:
      return read_node(node, &c) && c.info->bits < 32 ? next_after(&c) : NULL;
    default: return NULL;
  }
}

hlo_status_t hlo_pass_lower_codes(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_node);
}
