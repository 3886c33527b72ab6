// SPDX-License-Identifier: Apache-2.0
// Arithmetic and data movement of complex numbers as ops of reals (see complex_parts.h).
#include "passes/complex_parts.h"

#include <string.h>

#include "passes/constants.h"

static const hlo_parts_t NONE = {NULL, NULL};

const hlo_type_t* hlo_part_type(hlo_module_t* module, const hlo_type_t* type) {
  if (!hlo_dtype_is_complex(type->dtype)) return type;
  return hlo_type_with_dtype(module, type, hlo_dtype_info(type->dtype)->part);
}

const hlo_type_t* hlo_stacked_type(hlo_module_t* module, const hlo_type_t* part, int64_t count) {
  int64_t dims[HLO_RANK_MAX];
  if (part->rank) memcpy(dims, part->dims, part->rank * sizeof *dims);
  dims[part->rank] = count;
  return hlo_type_tensor(module, part->dtype, part->rank + 1, dims);
}

static hlo_parts_t both(hlo_value_t* re, hlo_value_t* im) {
  return re && im ? (hlo_parts_t){re, im} : NONE;
}

static hlo_parts_t only(hlo_value_t* real) {
  return (hlo_parts_t){real, NULL};
}

hlo_parts_t hlo_parts_multiply(hlo_node_t* insertion_point, hlo_parts_t x, hlo_parts_t y) {
  // Here and below every new node is named before it is an argument: C does not define the order in
  // which the arguments of a call are evaluated, and that is the order of the nodes.
  hlo_value_t *ac = hlo_build_multiply(insertion_point, x.re, y.re),
              *bd = hlo_build_multiply(insertion_point, x.im, y.im);
  hlo_value_t *ad = hlo_build_multiply(insertion_point, x.re, y.im),
              *bc = hlo_build_multiply(insertion_point, x.im, y.re);
  hlo_value_t* re = hlo_build_binary(insertion_point, HLO_OP_subtract, ac, bd);
  return both(re, hlo_build_binary(insertion_point, HLO_OP_add, ad, bc));
}

// ---- ops applied to each part

static hlo_value_t* part_of(hlo_node_t* node, const hlo_parts_t* operands, bool is_im) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t** values = hlo_arena_array(&module->arena, node->operand_count + 1, sizeof *values);
  for (uint32_t i = 0; values && i < node->operand_count; ++i) {
    values[i] = is_im && operands[i].im ? operands[i].im : operands[i].re;
  }
  return values ? hlo_build_like(node, hlo_part_type(module, node->results[0].type), values) : NULL;
}

static hlo_parts_t parts_alike(hlo_node_t* node, const hlo_parts_t* operands) {
  hlo_value_t* re = part_of(node, operands, false);
  return both(re, part_of(node, operands, true));
}

// ---- reductions

// Returns true if the body adds its two arguments or returns the second one.
static bool is_sum(const hlo_region_t* body, bool* out_replaces) {
  const hlo_node_t* end = hlo_region_terminator(body);
  *out_replaces = end && end->operand_count == 1 && body->arg_count == 2 &&
                  hlo_node_operand(end, 0) == body->args[1];
  bool is_swapped;
  const hlo_node_t* op = hlo_region_binary_op(body, &is_swapped);
  return *out_replaces || (op && op->op == HLO_OP_add);
}

static bool fill_body(hlo_region_t* body, const hlo_region_t* like, bool replaces) {
  hlo_module_t* module = body->module;
  const hlo_type_t* type = hlo_part_type(module, like->args[0]->type);
  hlo_value_t* args[2] = {NULL};
  for (uint32_t i = 0; i < 2; ++i) args[i] = type ? hlo_region_add_arg(body, type) : NULL;
  if (!args[0] || !args[1]) return false;
  hlo_node_spec_t spec = {
      .op = hlo_region_terminator(like)->op, .operand_count = 1, .operands = &args[1]};
  hlo_node_t* end = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(end)) return false;
  hlo_region_append(body, end);
  hlo_value_t* sum = replaces ? args[1] : hlo_build_binary(end, HLO_OP_add, args[0], args[1]);
  if (sum) hlo_node_set_operand(end, 0, sum);
  return sum != NULL;
}

static hlo_parts_t sums(hlo_node_t* node, const hlo_parts_t* operands) {
  bool replaces;
  if (!is_sum(node->regions[0], &replaces)) return NONE;
  hlo_value_t* parts[2];
  for (uint32_t i = 0; i < 2; ++i) {
    parts[i] = part_of(node, operands, i == 1);
    if (!parts[i] || !fill_body(parts[i]->def->regions[0], node->regions[0], replaces)) return NONE;
  }
  return both(parts[0], parts[1]);
}

// ---- elementwise

static hlo_parts_t constant(hlo_node_t* node, HLO_UNUSED const hlo_parts_t* operands) {
  const hlo_type_t* type = node->results[0].type;
  const hlo_literal_t* literal = hlo_constant_literal(&node->results[0]);
  const hlo_type_t* part = hlo_part_type(node->parent->module, type);
  if (!literal || !part) return NONE;
  hlo_value_t* values[2];
  const size_t width = hlo_dtype_size_bytes(part->dtype);
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_literal_t* half = hlo_build_literal(node->parent->module, part, literal->is_splat);
    if (!half) return NONE;
    char* to = hlo_literal_mutable_data(half);
    const char* from = (const char*)literal->data + i * width;
    const int64_t count = literal->is_splat ? 1 : literal->element_count;
    for (int64_t k = 0; k < count; ++k, to += width, from += 2 * width) memcpy(to, from, width);
    values[i] = hlo_build_constant(node, part, half);
  }
  return both(values[0], values[1]);
}

static hlo_parts_t convert(hlo_node_t* node, const hlo_parts_t* operands) {
  const hlo_parts_t x = operands[0];
  const hlo_type_t* type = node->results[0].type;
  if (hlo_dtype_is_complex(type->dtype)) {
    const hlo_dtype_t part = hlo_dtype_info(type->dtype)->part;
    hlo_value_t* re = hlo_build_convert(node, part, x.re);
    if (!re) return NONE;
    return both(re,
                x.im ? hlo_build_convert(node, part, x.im) : hlo_build_splat(node, re->type, 0));
  }
  hlo_value_t* re = hlo_build_convert(node, type->dtype, x.re);
  if (type->dtype != HLO_DTYPE_PRED) return only(re);
  hlo_value_t* im = hlo_build_convert(node, type->dtype, x.im);
  return only(hlo_build_binary(node, HLO_OP_or, re, im));
}

static hlo_parts_t compare(hlo_node_t* node, const hlo_parts_t* operands) {
  const hlo_parts_t x = operands[0], y = operands[1];
  const int64_t direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1);
  const bool is_eq = direction == HLO_COMPARISON_DIRECTION_EQ;
  if (!is_eq && direction != HLO_COMPARISON_DIRECTION_NE) return NONE;
  hlo_value_t* re = hlo_build_compare(node, direction, x.re, y.re);
  hlo_value_t* im = hlo_build_compare(node, direction, x.im, y.im);
  return only(hlo_build_binary(node, is_eq ? HLO_OP_and : HLO_OP_or, re, im));
}

static hlo_parts_t conjugate(hlo_node_t* node, const hlo_parts_t* operands) {
  return both(operands[0].re, hlo_build_unary(node, HLO_OP_negate, operands[0].im));
}

static hlo_parts_t iota(hlo_node_t* node, HLO_UNUSED const hlo_parts_t* operands) {
  const hlo_type_t* type = hlo_part_type(node->parent->module, node->results[0].type);
  hlo_value_t* re = hlo_build_like(node, type, NULL);
  return re ? both(re, hlo_build_splat(node, re->type, 0)) : NONE;
}

// (x - y) (x + y) and 2 x y: for c64 computed in f64 and rounded once; for c128 computed from
// halves, which do not overflow.
static hlo_parts_t square_parts(hlo_node_t* node, const hlo_parts_t* operands) {
  const hlo_dtype_t part = operands[0].re->type->dtype;
  hlo_value_t* x = hlo_build_convert(node, HLO_DTYPE_F64, operands[0].re);
  hlo_value_t* y = hlo_build_convert(node, HLO_DTYPE_F64, operands[0].im);
  hlo_value_t* product = hlo_build_multiply(node, x, y);
  hlo_value_t* im = hlo_build_binary(node, HLO_OP_add, product, product);
  const bool is_halved = part == HLO_DTYPE_F64;
  if (is_halved && x) {
    hlo_value_t* half = hlo_build_splat(node, x->type, 0.5);
    x = hlo_build_multiply(node, x, half);
    y = hlo_build_multiply(node, y, half);
  }
  hlo_value_t* difference = hlo_build_binary(node, HLO_OP_subtract, x, y);
  hlo_value_t* sum = hlo_build_binary(node, HLO_OP_add, x, y);
  hlo_value_t* re = hlo_build_multiply(node, difference, sum);
  if (is_halved && re) re = hlo_build_multiply(node, re, hlo_build_splat(node, re->type, 4));
  re = hlo_build_convert(node, part, re);
  return both(re, hlo_build_convert(node, part, im));
}

// ---- ordering by real part, then by imaginary part

static hlo_value_t* is_above(hlo_node_t* node, hlo_parts_t x, hlo_parts_t y) {
  hlo_value_t* is_tie = hlo_build_compare(node, HLO_COMPARISON_DIRECTION_EQ, x.re, y.re);
  hlo_value_t* by_im = hlo_build_compare(node, HLO_COMPARISON_DIRECTION_GT, x.im, y.im);
  hlo_value_t* by_re = hlo_build_compare(node, HLO_COMPARISON_DIRECTION_GT, x.re, y.re);
  return hlo_build_select(node, is_tie, by_im, by_re);
}

static hlo_parts_t choose(hlo_node_t* node, hlo_value_t* which, hlo_parts_t x, hlo_parts_t y) {
  hlo_value_t* re = hlo_build_select(node, which, x.re, y.re);
  return both(re, hlo_build_select(node, which, x.im, y.im));
}

static hlo_parts_t maximum(hlo_node_t* node, const hlo_parts_t* operands) {
  return choose(node, is_above(node, operands[0], operands[1]), operands[0], operands[1]);
}

static hlo_parts_t minimum(hlo_node_t* node, const hlo_parts_t* operands) {
  return choose(node, is_above(node, operands[1], operands[0]), operands[0], operands[1]);
}

static hlo_parts_t clamp(hlo_node_t* node, const hlo_parts_t* operands) {
  hlo_parts_t bounds[2] = {operands[0], operands[2]};
  const hlo_type_t* type = operands[1].re->type;
  for (uint32_t i = 0; i < 2; ++i) {
    if (bounds[i].re->type == type) continue;
    bounds[i].re = hlo_build_broadcast(node, type, bounds[i].re, NULL);
    bounds[i].im = hlo_build_broadcast(node, type, bounds[i].im, NULL);
  }
  const hlo_parts_t raised = maximum(node, (hlo_parts_t[]){operands[1], bounds[0]});
  return minimum(node, (hlo_parts_t[]){raised, bounds[1]});
}

static hlo_parts_t multiply(hlo_node_t* node, const hlo_parts_t* operands) {
  return hlo_parts_multiply(node, operands[0], operands[1]);
}

static hlo_parts_t make_complex(HLO_UNUSED hlo_node_t* node, const hlo_parts_t* operands) {
  return both(operands[0].re, operands[1].re);
}

static hlo_parts_t real(HLO_UNUSED hlo_node_t* node, const hlo_parts_t* operands) {
  return only(operands[0].re);
}

static hlo_parts_t imag(HLO_UNUSED hlo_node_t* node, const hlo_parts_t* operands) {
  return only(operands[0].im);
}

typedef hlo_parts_t (*expand_t)(hlo_node_t* node, const hlo_parts_t* operands);

static const struct {
  hlo_op_t op;
  expand_t expand;
} RULES[] = {
    {HLO_OP_add, parts_alike},
    {HLO_OP_subtract, parts_alike},
    {HLO_OP_negate, parts_alike},
    {HLO_OP_select, parts_alike},
    {HLO_OP_reshape, parts_alike},
    {HLO_OP_transpose, parts_alike},
    {HLO_OP_broadcast, parts_alike},
    {HLO_OP_broadcast_in_dim, parts_alike},
    {HLO_OP_slice, parts_alike},
    {HLO_OP_dynamic_slice, parts_alike},
    {HLO_OP_dynamic_update_slice, parts_alike},
    {HLO_OP_concatenate, parts_alike},
    {HLO_OP_pad, parts_alike},
    {HLO_OP_reverse, parts_alike},
    {HLO_OP_gather, parts_alike},
    {HLO_OP_hlo_copy, parts_alike},
    {HLO_OP_reduce, sums},
    {HLO_OP_reduce_window, sums},
    {HLO_OP_scatter, sums},
    {HLO_OP_dot, hlo_complex_product},
    {HLO_OP_dot_general, hlo_complex_product},
    {HLO_OP_convolution, hlo_complex_product},
    {HLO_OP_multiply, multiply},
    {HLO_OP_complex, make_complex},
    {HLO_OP_real, real},
    {HLO_OP_imag, imag},
    {HLO_OP_chlo_conj, conjugate},
    {HLO_OP_chlo_square, square_parts},
    {HLO_OP_compare, compare},
    {HLO_OP_maximum, maximum},
    {HLO_OP_minimum, minimum},
    {HLO_OP_clamp, clamp},
    {HLO_OP_convert, convert},
    {HLO_OP_constant, constant},
    {HLO_OP_iota, iota},
};

static expand_t rule_of(const hlo_node_t* node) {
  for (uint32_t i = 0; i < sizeof RULES / sizeof *RULES; ++i) {
    if (RULES[i].op == node->op) return RULES[i].expand;
  }
  return hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE ? hlo_complex_function : NULL;
}

bool hlo_parts_has_rule(const hlo_node_t* node) {
  return rule_of(node) != NULL;
}

hlo_parts_t hlo_parts_of_op(hlo_node_t* node, const hlo_parts_t* operands) {
  const expand_t expand = rule_of(node);
  return expand ? expand(node, operands) : NONE;
}
