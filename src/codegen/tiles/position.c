// SPDX-License-Identifier: Apache-2.0
// Emits index expressions (see position.h).
#include "codegen/tiles/position.h"

#include "codegen/math/math.h"

// ---- one value

static hlo_vir_value_t* clamp_index(hlo_vir_builder_t* b, hlo_vir_value_t* value, int64_t low,
                                    int64_t high) {
  value = hlo_vir_index(b, HLO_VIR_imax, value, hlo_vir_iconst(b, low));
  return hlo_vir_index(b, HLO_VIR_imin, value, hlo_vir_iconst(b, high));
}

// Quotients of possibly negative expressions are derived from non-negative ones.
static int64_t lift_of(const hlo_expr_atom_t* atom) {
  const int64_t low = atom->argument->low;
  return low < 0 ? (-low / atom->divisor + 1) * atom->divisor : 0;
}

static hlo_vir_value_t* emit_atom(const hlo_positions_t* p, const hlo_expr_atom_t* atom) {
  hlo_vir_builder_t* b = p->b;
  if (atom->kind == HLO_EXPR_LOOP) return p->ivs[atom->number];
  if (atom->kind == HLO_EXPR_VALUE) {
    return clamp_index(b, p->emit_scalar(p->context, atom), atom->low, atom->high);
  }
  const int64_t lift = lift_of(atom);
  hlo_vir_value_t* argument = hlo_position_emit(p, atom->argument);
  hlo_vir_value_t* divisor = hlo_vir_iconst(b, atom->divisor);
  argument = hlo_vir_index(b, HLO_VIR_iadd, argument, hlo_vir_iconst(b, lift));
  if (atom->kind == HLO_EXPR_REMAINDER) return hlo_vir_index(b, HLO_VIR_irem, argument, divisor);
  argument = hlo_vir_index(b, HLO_VIR_idiv, argument, divisor);
  return hlo_vir_index(b, HLO_VIR_isub, argument, hlo_vir_iconst(b, lift / atom->divisor));
}

static uint32_t depth_of(const hlo_vir_value_t* value) {
  return value->body ? value->body->depth : value->parent ? value->parent->depth : 0;
}

// Returns the depth of the innermost loop a term depends on, so that outer sums are not recomputed
// inside.
static uint32_t term_depth(const hlo_positions_t* p, const hlo_expr_term_t* term) {
  uint32_t depth = 0;
  for (uint64_t loops = term->atom->loops; loops; loops &= loops - 1) {
    const hlo_vir_value_t* iv = p->ivs[__builtin_ctzll(loops)];
    if (iv && depth_of(iv) > depth) depth = depth_of(iv);
  }
  return depth;
}

// Decides which terms a sum leaves out.
typedef bool (*skip_term_t)(const hlo_expr_atom_t* atom, uint32_t iv);

static bool skip_nothing(HLO_UNUSED const hlo_expr_atom_t* atom, HLO_UNUSED uint32_t iv) {
  return false;
}

static bool skip_loop(const hlo_expr_atom_t* atom, uint32_t iv) {
  return atom->kind == HLO_EXPR_LOOP && atom->number == iv;
}

static bool skip_dependent(const hlo_expr_atom_t* atom, uint32_t iv) {
  return atom->loops >> iv & 1;
}

// Emits the terms of an expression without its constant, outermost first; NULL: it is constant.
static hlo_vir_value_t* emit_terms(const hlo_positions_t* p, const hlo_expr_t* expr,
                                   skip_term_t skip, uint32_t iv) {
  hlo_vir_value_t* sum = NULL;
  uint32_t deepest = 0;
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    uint32_t depth = term_depth(p, &expr->terms[i]);
    if (depth > deepest) deepest = depth;
  }
  for (uint32_t depth = 0; depth <= deepest; ++depth) {
    for (uint32_t i = 0; i < expr->term_count; ++i) {
      const hlo_expr_term_t* term = &expr->terms[i];
      if (skip(term->atom, iv) || term_depth(p, term) != depth) continue;
      hlo_vir_value_t* value = hlo_vir_index(p->b, HLO_VIR_imul, emit_atom(p, term->atom),
                                             hlo_vir_iconst(p->b, term->coefficient));
      sum = sum ? hlo_vir_index(p->b, HLO_VIR_iadd, sum, value) : value;
    }
  }
  return sum;
}

static hlo_vir_value_t* add_constant(const hlo_positions_t* p, hlo_vir_value_t* sum,
                                     int64_t constant) {
  hlo_vir_value_t* value = hlo_vir_iconst(p->b, constant);
  return sum ? hlo_vir_index(p->b, HLO_VIR_iadd, sum, value) : value;
}

hlo_vir_value_t* hlo_position_emit(const hlo_positions_t* p, const hlo_expr_t* expr) {
  return add_constant(p, emit_terms(p, expr, skip_nothing, 0), expr->constant);
}

hlo_vir_value_t* hlo_position_emit_common(const hlo_positions_t* p, const hlo_expr_t* expr) {
  return add_constant(p, emit_terms(p, expr, skip_dependent, p->lane_iv), expr->constant);
}

// ---- lanes

static bool fits_32_bits(int64_t low, int64_t high) {
  return low >= INT32_MIN && high <= INT32_MAX;
}

hlo_vir_elem_t hlo_position_elem(const hlo_expr_t* expr) {
  bool fits = fits_32_bits(expr->low, expr->high);
  for (uint32_t i = 0; fits && i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (!atom->argument) continue;
    // A quotient's argument has to be exact; sums of other terms may wrap on the way.
    fits = atom->divisor <= INT32_MAX &&
           fits_32_bits(atom->argument->low, atom->argument->high + lift_of(atom)) &&
           hlo_position_elem(atom->argument) == HLO_VIR_I32;
  }
  return fits ? HLO_VIR_I32 : HLO_VIR_I64;
}

static hlo_vir_value_t* lane_const(const hlo_positions_t* p, hlo_vir_elem_t elem, int64_t value) {
  return hlo_vir_const_bits(p->b, hlo_vir_type(elem, p->lanes), (uint64_t)value);
}

// Clamps in the value's own width first: the bits truncated later are then 0.
static hlo_vir_value_t* lanes_of_value(const hlo_positions_t* p, hlo_vir_elem_t elem,
                                       const hlo_expr_atom_t* atom) {
  hlo_vir_builder_t* b = p->b;
  hlo_dtype_t dtype;
  hlo_vir_value_t* value = p->emit_lanes(p->context, atom, &dtype);
  const uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  const bool is_unsigned = hlo_dtype_is_unsigned(dtype);
  const int64_t top =
      bits == 64 ? INT64_MAX : (int64_t)(((uint64_t)1 << (bits - !is_unsigned)) - 1);
  const int64_t bottom = is_unsigned ? 0 : bits == 64 ? INT64_MIN : -top - 1;
  const int64_t high = atom->high < top ? atom->high : top;
  const int64_t low = atom->low > bottom ? atom->low : bottom;
  hlo_vir_value_t* limit = hlo_vir_const_bits(b, value->type, (uint64_t)high);
  if (!is_unsigned || low > 0) {
    value = hlo_vir_binary(b, is_unsigned ? HLO_VIR_umax : HLO_VIR_smax, value,
                           hlo_vir_const_bits(b, value->type, (uint64_t)low));
  }
  value = hlo_vir_binary(b, is_unsigned ? HLO_VIR_umin : HLO_VIR_smin, value, limit);
  const uint32_t wanted = hlo_vir_elem_bits(elem);
  if (bits < wanted) {
    const bool is_natural = is_unsigned || low >= 0;
    return hlo_vir_convert(b, is_natural ? HLO_VIR_zext : HLO_VIR_sext, elem, value);
  }
  return bits > wanted ? hlo_vir_convert(b, HLO_VIR_trunc, elem, value) : value;
}

// Returns a quotient or remainder of numbers that are not negative, in lanes inside the range.
static hlo_vir_value_t* divide_lanes(const hlo_positions_t* p, hlo_vir_elem_t elem,
                                     bool is_quotient, hlo_vir_value_t* argument, int64_t divisor) {
  if ((divisor & (divisor - 1)) == 0) {
    return is_quotient
               ? hlo_vir_unary_imm(p->b, HLO_VIR_lshri, argument, __builtin_ctzll(divisor))
               : hlo_vir_binary(p->b, HLO_VIR_and, argument, lane_const(p, elem, divisor - 1));
  }
  return hlo_vmath_emit(p->b, is_quotient ? HLO_OP_divide : HLO_OP_remainder,
                        elem == HLO_VIR_I32 ? HLO_DTYPE_U32 : HLO_DTYPE_U64, argument,
                        lane_const(p, elem, divisor));
}

static hlo_vir_value_t* lanes_of_atom(const hlo_positions_t* p, hlo_vir_elem_t elem,
                                      const hlo_expr_atom_t* atom) {
  if (atom->kind == HLO_EXPR_VALUE) return lanes_of_value(p, elem, atom);
  const int64_t lift = lift_of(atom);
  const bool is_quotient = atom->kind == HLO_EXPR_QUOTIENT;
  hlo_vir_value_t* argument = hlo_position_emit_lanes(p, elem, atom->argument);
  argument = hlo_vir_binary(p->b, HLO_VIR_add, argument, lane_const(p, elem, lift));
  hlo_vir_value_t* result = divide_lanes(p, elem, is_quotient, argument, atom->divisor);
  if (!is_quotient || !lift) return result;
  return hlo_vir_binary(p->b, HLO_VIR_sub, result, lane_const(p, elem, lift / atom->divisor));
}

hlo_vir_value_t* hlo_position_emit_lanes(const hlo_positions_t* p, hlo_vir_elem_t elem,
                                         const hlo_expr_t* expr) {
  hlo_vir_builder_t* b = p->b;
  const int64_t stride = hlo_expr_coefficient(expr, p->lane_iv);
  hlo_vir_value_t* scalar = emit_terms(p, expr, skip_dependent, p->lane_iv);
  if (stride) {
    hlo_vir_value_t* first =
        hlo_vir_index(b, HLO_VIR_imul, p->ivs[p->lane_iv], hlo_vir_iconst(b, stride));
    scalar = scalar ? hlo_vir_index(b, HLO_VIR_iadd, scalar, first) : first;
  }
  scalar = add_constant(p, scalar, expr->constant);
  const hlo_vir_type_t type = hlo_vir_type(elem, p->lanes);
  hlo_vir_value_t* sum = hlo_vir_emit(b, HLO_VIR_splat_index, type, 0, 0, 1, &scalar);
  if (stride) {
    hlo_vir_value_t* iota = hlo_vir_emit(b, HLO_VIR_lane_iota, type, 0, 0, 0, NULL);
    iota = hlo_vir_binary(b, HLO_VIR_mul, iota, lane_const(p, elem, stride));
    sum = hlo_vir_binary(b, HLO_VIR_add, sum, iota);
  }
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_term_t* term = &expr->terms[i];
    if (term->atom->kind == HLO_EXPR_LOOP || !skip_dependent(term->atom, p->lane_iv)) continue;
    hlo_vir_value_t* value = lanes_of_atom(p, elem, term->atom);
    value = hlo_vir_binary(b, HLO_VIR_mul, value, lane_const(p, elem, term->coefficient));
    sum = hlo_vir_binary(b, HLO_VIR_add, sum, value);
  }
  return sum;
}

// ---- addresses

hlo_element_address_t hlo_position_emit_address(const hlo_positions_t* p, hlo_vir_value_t* base,
                                                hlo_dtype_t dtype, const hlo_expr_t* offset) {
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  hlo_element_address_t address = {.base = base, .offset_bytes = offset->constant * bytes};
  uint32_t index_iv = HLO_POSITION_NO_LANES, depth = 0;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    if (term->atom->kind != HLO_EXPR_LOOP || term->coefficient != 1) continue;
    if (term_depth(p, term) >= depth) {
      index_iv = term->atom->number;
      depth = term_depth(p, term);
    }
  }
  const bool has_index = index_iv != HLO_POSITION_NO_LANES;
  if (offset->term_count == 1 && offset->terms[0].coefficient == 1 && !has_index) {
    address.index = emit_atom(p, offset->terms[0].atom);
    return address;
  }
  hlo_vir_value_t* rest = emit_terms(p, offset, skip_loop, index_iv);
  if (rest) {
    rest = hlo_vir_index(p->b, HLO_VIR_imul, rest, hlo_vir_iconst(p->b, bytes));
    address.base = hlo_vir_index(p->b, HLO_VIR_iadd, address.base, rest);
  }
  if (has_index) address.index = p->ivs[index_iv];
  return address;
}
