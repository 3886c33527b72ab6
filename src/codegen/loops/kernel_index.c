// SPDX-License-Identifier: Apache-2.0
// Emits index expressions as INDEX values and as vectors of lanes, and addresses of elements.
#include "codegen/loops/kernel_emit_impl.h"

static hlo_vir_value_t* clamp_index(hlo_vir_builder_t* b, hlo_vir_value_t* value, int64_t low,
                                    int64_t high) {
  value = hlo_vir_index(b, HLO_VIR_imax, value, hlo_vir_iconst(b, low));
  return hlo_vir_index(b, HLO_VIR_imin, value, hlo_vir_iconst(b, high));
}

static hlo_vir_value_t* emit_index_atom(hlo_emitter_t* e, const hlo_expr_atom_t* atom) {
  hlo_vir_builder_t* b = e->b;
  switch (atom->kind) {
    case HLO_EXPR_LOOP: return e->loops[atom->number];
    case HLO_EXPR_VALUE: {
      const hlo_tiled_t* tiled = e->tiling->instances[atom->number];
      hlo_dtype_t dtype = tiled->value->type->dtype;
      hlo_vir_value_t* value = hlo_emit_scalar(e, tiled);
      if (dtype == HLO_DTYPE_U64) {  // larger ones would be negative indices
        value = hlo_scalar_to_lane(b, dtype, value);
        value = hlo_vir_binary(b, HLO_VIR_umin, value,
                               hlo_vir_const_bits(b, value->type, (uint64_t)atom->high));
        value = hlo_scalar_from_lane(b, dtype, value);
      }
      return clamp_index(b, value, atom->low, atom->high);
    }
    default: {
      // Quotients of possibly negative expressions are derived from non-negative ones.
      hlo_vir_value_t* argument = hlo_emit_index(e, atom->argument);
      int64_t divisor = atom->divisor, lift = 0;
      if (atom->argument->low < 0) lift = (-atom->argument->low / divisor + 1) * divisor;
      argument = hlo_vir_index(b, HLO_VIR_iadd, argument, hlo_vir_iconst(b, lift));
      bool is_quotient = atom->kind == HLO_EXPR_QUOTIENT;
      argument = hlo_vir_index(b, is_quotient ? HLO_VIR_idiv : HLO_VIR_irem, argument,
                               hlo_vir_iconst(b, divisor));
      return is_quotient
                 ? hlo_vir_index(b, HLO_VIR_isub, argument, hlo_vir_iconst(b, lift / divisor))
                 : argument;
    }
  }
}

static hlo_vir_value_t* scaled_index(hlo_emitter_t* e, const hlo_expr_term_t* term) {
  return hlo_vir_index(e->b, HLO_VIR_imul, emit_index_atom(e, term->atom),
                       hlo_vir_iconst(e->b, term->coefficient));
}

static uint32_t depth_of(const hlo_vir_value_t* value) {
  return value->body ? value->body->depth : value->parent ? value->parent->depth : 0;
}

// Returns the depth of the innermost loop a term depends on, so that outer sums are not recomputed
// inside.
static uint32_t term_depth(const hlo_emitter_t* e, const hlo_expr_term_t* term) {
  uint32_t depth = 0;
  for (uint32_t d = 0; d < e->tiling->loop_count; ++d) {
    if (!(term->atom->loops >> d & 1) || !e->loops[d]) continue;
    uint32_t at = depth_of(e->loops[d]);
    if (at > depth) depth = at;
  }
  return depth;
}

typedef enum skip_kind { SKIP_LOOP, SKIP_DEPENDENT } skip_kind_t;

// Emits the terms of an expression without its constant, outermost first, except loops in `skip`
// and terms that depend on them.
static hlo_vir_value_t* emit_terms(hlo_emitter_t* e, const hlo_expr_t* expr, uint64_t skip,
                                   skip_kind_t kind) {
  hlo_vir_value_t* sum = NULL;
  uint32_t deepest = 0;
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    uint32_t depth = term_depth(e, &expr->terms[i]);
    if (depth > deepest) deepest = depth;
  }
  for (uint32_t depth = 0; depth <= deepest; ++depth) {
    for (uint32_t i = 0; i < expr->term_count; ++i) {
      const hlo_expr_term_t* term = &expr->terms[i];
      bool is_skipped = (term->atom->loops & skip) &&
                        (kind == SKIP_DEPENDENT || term->atom->kind == HLO_EXPR_LOOP);
      if (is_skipped || term_depth(e, term) != depth) continue;
      hlo_vir_value_t* value = scaled_index(e, term);
      sum = sum ? hlo_vir_index(e->b, HLO_VIR_iadd, sum, value) : value;
    }
  }
  return sum;
}

hlo_vir_value_t* hlo_emit_index(hlo_emitter_t* e, const hlo_expr_t* expr) {
  hlo_vir_value_t* sum = emit_terms(e, expr, 0, SKIP_LOOP);
  hlo_vir_value_t* constant = hlo_vir_iconst(e->b, expr->constant);
  return sum ? hlo_vir_index(e->b, HLO_VIR_iadd, sum, constant) : constant;
}

static hlo_vir_value_t* vector_const(hlo_emitter_t* e, hlo_vir_elem_t elem, int64_t value) {
  return hlo_vir_const_bits(e->b, hlo_vir_type(elem, e->lanes), (uint64_t)value);
}

static hlo_vir_value_t* vector_value(hlo_emitter_t* e, hlo_vir_elem_t elem,
                                     const hlo_expr_atom_t* atom) {
  hlo_vir_builder_t* b = e->b;
  const hlo_tiled_t* tiled = e->tiling->instances[atom->number];
  hlo_vir_value_t* value = hlo_emit_value(e, tiled);
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  bool is_unsigned = hlo_dtype_is_unsigned(tiled->value->type->dtype);
  // Clamps in the value's own width first: the bits truncated later are then 0.
  hlo_vir_type_t type = value->type;
  if (bits < 64 || !is_unsigned) {
    int64_t top = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - !is_unsigned)) - 1;
    int64_t high = atom->high < top ? atom->high : top;
    hlo_vir_value_t* limit = hlo_vir_const_bits(b, type, (uint64_t)high);
    if (is_unsigned) {
      value = hlo_vir_binary(b, HLO_VIR_umin, value, limit);
    } else {
      value = hlo_vir_binary(b, HLO_VIR_smax, value, hlo_vir_const_bits(b, type, 0));
      value = hlo_vir_binary(b, HLO_VIR_smin, value, limit);
    }
  } else {
    value =
        hlo_vir_binary(b, HLO_VIR_umin, value, hlo_vir_const_bits(b, type, (uint64_t)atom->high));
  }
  uint32_t wanted = hlo_vir_elem_bits(elem);
  if (bits < wanted) return hlo_vir_convert(b, HLO_VIR_zext, elem, value);
  return bits > wanted ? hlo_vir_convert(b, HLO_VIR_trunc, elem, value) : value;
}

hlo_vir_value_t* hlo_emit_common_index(hlo_emitter_t* e, const hlo_expr_t* expr) {
  hlo_vir_value_t* sum = emit_terms(e, expr, (uint64_t)1 << e->lane_loop, SKIP_DEPENDENT);
  hlo_vir_value_t* constant = hlo_vir_iconst(e->b, expr->constant);
  return sum ? hlo_vir_index(e->b, HLO_VIR_iadd, sum, constant) : constant;
}

hlo_vir_value_t* hlo_emit_vector_index(hlo_emitter_t* e, hlo_vir_elem_t elem,
                                       const hlo_expr_t* expr) {
  hlo_vir_builder_t* b = e->b;
  uint64_t lane_bit = (uint64_t)1 << e->lane_loop;
  hlo_vir_value_t* scalar = emit_terms(e, expr, lane_bit, SKIP_DEPENDENT);
  int64_t stride = hlo_expr_coefficient(expr, e->lane_loop);
  if (stride) {
    hlo_vir_value_t* first =
        hlo_vir_index(b, HLO_VIR_imul, e->loops[e->lane_loop], hlo_vir_iconst(b, stride));
    scalar = scalar ? hlo_vir_index(b, HLO_VIR_iadd, scalar, first) : first;
  }
  hlo_vir_value_t* constant = hlo_vir_iconst(b, expr->constant);
  scalar = scalar ? hlo_vir_index(b, HLO_VIR_iadd, scalar, constant) : constant;
  hlo_vir_type_t type = hlo_vir_type(elem, e->lanes);
  hlo_vir_value_t* sum = hlo_vir_emit(b, HLO_VIR_splat_index, type, 0, 0, 1, &scalar);
  if (stride) {
    hlo_vir_value_t* iota = hlo_vir_emit(b, HLO_VIR_lane_iota, type, 0, 0, 0, NULL);
    iota = hlo_vir_binary(b, HLO_VIR_mul, iota, vector_const(e, elem, stride));
    sum = hlo_vir_binary(b, HLO_VIR_add, sum, iota);
  }
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_term_t* term = &expr->terms[i];
    if (term->atom->kind != HLO_EXPR_VALUE || !(term->atom->loops & lane_bit)) continue;
    hlo_vir_value_t* value = vector_value(e, elem, term->atom);
    value = hlo_vir_binary(b, HLO_VIR_mul, value, vector_const(e, elem, term->coefficient));
    sum = hlo_vir_binary(b, HLO_VIR_add, sum, value);
  }
  return sum;
}

hlo_element_address_t hlo_emit_address(hlo_emitter_t* e, hlo_vir_value_t* base,
                                       const hlo_expr_t* offset, hlo_dtype_t dtype) {
  size_t bytes = hlo_dtype_size_bytes(dtype);
  hlo_element_address_t address = {.base = base, .offset_bytes = offset->constant * (int64_t)bytes};
  uint32_t index_loop = HLO_NO_LOOP, depth = 0;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    if (term->atom->kind != HLO_EXPR_LOOP || term->coefficient != 1) continue;
    if (term_depth(e, term) >= depth) {
      index_loop = term->atom->number;
      depth = term_depth(e, term);
    }
  }
  uint64_t skip = index_loop == HLO_NO_LOOP ? 0 : (uint64_t)1 << index_loop;
  if (offset->term_count == 1 && offset->terms[0].coefficient == 1 && !skip) {
    address.index = emit_index_atom(e, offset->terms[0].atom);
    return address;
  }
  hlo_vir_value_t* rest = emit_terms(e, offset, skip, SKIP_LOOP);
  if (rest) {
    rest = hlo_vir_index(e->b, HLO_VIR_imul, rest, hlo_vir_iconst(e->b, (int64_t)bytes));
    address.base = hlo_vir_index(e->b, HLO_VIR_iadd, base, rest);
  }
  if (index_loop != HLO_NO_LOOP) address.index = e->loops[index_loop];
  return address;
}

bool hlo_kernel_may_stream(const hlo_kernel_t* kernel, hlo_dtype_t dtype) {
  // Stores of parts of a line are combined if they are adjacent in time; rows of tiles are not.
  size_t vector_bytes = hlo_dtype_size_bytes(dtype) * kernel->lanes;
  const bool is_row = !hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES);
  return vector_bytes >= (is_row ? HLO_TUNING_STREAM_MIN_BYTES : kernel->target->vector_bytes);
}

bool hlo_emit_is_aligned(const hlo_emitter_t* e, const hlo_expr_t* offset, hlo_dtype_t dtype) {
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype), vector_bytes = bytes * e->lanes;
  if (e->lane_loop == HLO_NO_LOOP || e->mask || !hlo_kernel_may_stream(e->kernel, dtype)) {
    return false;
  }
  if (offset == e->aligned_offset) return true;
  if (!e->has_aligned_outputs || offset->constant * bytes % vector_bytes != 0 ||
      e->tiling->loops[e->lane_loop].low % e->lanes != 0) {
    return false;
  }
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    bool is_lane = term->atom->kind == HLO_EXPR_LOOP && term->atom->number == e->lane_loop;
    if (is_lane ? term->coefficient != 1 : term->coefficient * bytes % vector_bytes != 0) {
      return false;
    }
  }
  return true;
}
