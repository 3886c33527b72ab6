// SPDX-License-Identifier: Apache-2.0
// Vector IR of a kernel: loops over the output's digits, reductions as loops at the outermost place where
// their operands are known, one pass over the instances for the rest (see kernel_impl.h, tiled.h).
#include <string.h>

#include "base/mem.h"
#include "codegen/dot/matmul.h"
#include "codegen/elementwise.h"
#include "codegen/kernel_impl.h"
#include "codegen/math/math.h"

enum { NO_DIGIT = HLO_TILED_MAX_DIGITS, ACCUMULATORS = 4, MAX_SIBLINGS = 8, UNROLLED_ELEMENTS = 16,
       SWEPT_ROWS = 8 };

/// Range of a loop in this segment and chunk.
typedef struct range {
  hlo_vir_value_t *low, *end;
} range_t;

/// Where emission is: digits with values, which one runs over lanes, what is computed already.
typedef struct emitter {
  const hlo_kernel_t* kernel;
  const hlo_tiling_t* tiling;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* const* addresses;
  uint32_t (*site_of)(void* context, const hlo_node_t* node);
  void* context;
  hlo_vir_value_t* digits[HLO_TILED_MAX_DIGITS];  // NULL: not in a loop over it
  uint64_t bound;        // digits with a value
  uint32_t lane_digit;   // NO_DIGIT: one lane
  uint32_t lanes;        // of values that depend on lane_digit
  hlo_vir_value_t* mask; // active lanes; NULL: all
  uint32_t guard_depth;  // bodies of run-time guards around: what they read may not be read before
  hlo_arena_t* scratch;
  hlo_vir_value_t* chunk;  // of a kernel that cuts a reduction; NULL: all of it
  hlo_vir_value_t** done;  // by instance; NULL: not computed
} emitter_t;

static hlo_vir_value_t* emit(emitter_t* e, const hlo_tiled_t* tiled);

static bool has_lanes(const emitter_t* e, uint64_t digits) {
  return e->lane_digit != NO_DIGIT && (digits >> e->lane_digit & 1);
}

// Forgets what was computed in blocks that are closed now.
static void close_block(emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->done[i] && e->done[i]->parent && e->done[i]->parent->depth > e->b->block->depth) {
      e->done[i] = NULL;
    }
  }
}

static hlo_vir_value_t* open_loop(emitter_t* e, uint32_t digit, hlo_vir_value_t* low,
                                  hlo_vir_value_t* end, int64_t step) {
  hlo_vir_value_t* counter = hlo_vir_begin_for(e->b, low, end, step, 0);
  e->digits[digit] = counter;
  e->bound |= (uint64_t)1 << digit;
  return counter;
}

static void forget_digit(emitter_t* e, uint32_t digit) {
  e->digits[digit] = NULL;
  e->bound &= ~((uint64_t)1 << digit);
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->tiling->instances[i]->digits >> digit & 1) e->done[i] = NULL;
  }
}

static void close_loop(emitter_t* e, uint32_t digit) {
  hlo_vir_end(e->b);
  forget_digit(e, digit);
  close_block(e);
}

// ---- index expressions as INDEX values and as vectors of lanes

static hlo_vir_value_t* emit_index(emitter_t* e, const hlo_expr_t* expr);

static hlo_vir_value_t* clamp_index(hlo_vir_builder_t* b, hlo_vir_value_t* value, int64_t low,
                                    int64_t high) {
  value = hlo_vir_index(b, HLO_VIR_imax, value, hlo_vir_iconst(b, low));
  return hlo_vir_index(b, HLO_VIR_imin, value, hlo_vir_iconst(b, high));
}

static hlo_vir_value_t* emit_index_atom(emitter_t* e, const hlo_expr_atom_t* atom) {
  hlo_vir_builder_t* b = e->b;
  switch (atom->kind) {
    case HLO_EXPR_DIGIT: return e->digits[atom->number];
    case HLO_EXPR_VALUE: {
      const hlo_tiled_t* tiled = e->tiling->instances[atom->number];
      hlo_vir_value_t* value = emit(e, tiled);
      uint32_t flags = hlo_dtype_is_unsigned(tiled->value->type->dtype) ? HLO_VIR_UNSIGNED : 0;
      value = hlo_vir_emit(b, HLO_VIR_to_index, hlo_vir_type(HLO_VIR_INDEX, 1), flags, 0, 1, &value);
      return clamp_index(b, value, atom->low, atom->high);
    }
    default: {
      // Quotients of expressions that may be negative are made of ones that are not.
      hlo_vir_value_t* argument = emit_index(e, atom->argument);
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

static hlo_vir_value_t* scaled_index(emitter_t* e, const hlo_expr_term_t* term) {
  return hlo_vir_index(e->b, HLO_VIR_imul, emit_index_atom(e, term->atom),
                       hlo_vir_iconst(e->b, term->coefficient));
}

static uint32_t depth_of(const hlo_vir_value_t* value) {
  return value->body ? value->body->depth : value->parent ? value->parent->depth : 0;
}

// The depth of the innermost loop a term depends on, so that outer sums are not made again inside.
static uint32_t term_depth(const emitter_t* e, const hlo_expr_term_t* term) {
  uint32_t depth = 0;
  for (uint32_t d = 0; d < e->tiling->digit_count; ++d) {
    if (!(term->atom->digits >> d & 1) || !e->digits[d]) continue;
    uint32_t at = depth_of(e->digits[d]);
    if (at > depth) depth = at;
  }
  return depth;
}

typedef enum skip_kind { SKIP_DIGIT, SKIP_DEPENDENT } skip_kind_t;

// Terms of an expression without its constant, outermost first, but those that are a digit of `skip`, or
// depend on one.
static hlo_vir_value_t* emit_terms(emitter_t* e, const hlo_expr_t* expr, uint64_t skip,
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
      bool is_skipped = (term->atom->digits & skip) &&
                        (kind == SKIP_DEPENDENT || term->atom->kind == HLO_EXPR_DIGIT);
      if (is_skipped || term_depth(e, term) != depth) continue;
      hlo_vir_value_t* value = scaled_index(e, term);
      sum = sum ? hlo_vir_index(e->b, HLO_VIR_iadd, sum, value) : value;
    }
  }
  return sum;
}

static hlo_vir_value_t* emit_index(emitter_t* e, const hlo_expr_t* expr) {
  hlo_vir_value_t* sum = emit_terms(e, expr, 0, SKIP_DIGIT);
  hlo_vir_value_t* constant = hlo_vir_iconst(e->b, expr->constant);
  return sum ? hlo_vir_index(e->b, HLO_VIR_iadd, sum, constant) : constant;
}

static hlo_vir_value_t* vector_const(emitter_t* e, hlo_vir_elem_t elem, int64_t value) {
  return hlo_vir_const_bits(e->b, hlo_vir_type(elem, e->lanes), (uint64_t)value);
}

static hlo_vir_value_t* vector_value(emitter_t* e, hlo_vir_elem_t elem, const hlo_expr_atom_t* atom) {
  hlo_vir_builder_t* b = e->b;
  const hlo_tiled_t* tiled = e->tiling->instances[atom->number];
  hlo_vir_value_t* value = emit(e, tiled);
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  bool is_unsigned = hlo_dtype_is_unsigned(tiled->value->type->dtype);
  // Clamped in its own width first: what is cut off later is 0 then.
  hlo_vir_type_t type = value->type;
  if (bits < 64 || !is_unsigned) {
    int64_t top = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    int64_t high = atom->high < top ? atom->high : top;
    hlo_vir_value_t* limit = hlo_vir_const_bits(b, type, (uint64_t)high);
    if (is_unsigned) {
      value = hlo_vir_binary(b, HLO_VIR_umin, value, limit);
    } else {
      value = hlo_vir_binary(b, HLO_VIR_smax, value, hlo_vir_const_bits(b, type, 0));
      value = hlo_vir_binary(b, HLO_VIR_smin, value, limit);
    }
  } else {
    value = hlo_vir_binary(b, HLO_VIR_umin, value,
                           hlo_vir_const_bits(b, type, (uint64_t)atom->high));
  }
  uint32_t wanted = hlo_vir_elem_bits(elem);
  if (bits < wanted) return hlo_vir_convert(b, HLO_VIR_zext, elem, value);
  return bits > wanted ? hlo_vir_convert(b, HLO_VIR_trunc, elem, value) : value;
}

// The lanes' values of an expression that is affine in the lane digit.
static hlo_vir_value_t* emit_vector_index(emitter_t* e, hlo_vir_elem_t elem, const hlo_expr_t* expr) {
  hlo_vir_builder_t* b = e->b;
  uint64_t lane_bit = (uint64_t)1 << e->lane_digit;
  hlo_vir_value_t* scalar = emit_terms(e, expr, lane_bit, SKIP_DEPENDENT);
  int64_t stride = hlo_expr_coefficient(expr, e->lane_digit);
  if (stride) {
    hlo_vir_value_t* first = hlo_vir_index(b, HLO_VIR_imul, e->digits[e->lane_digit],
                                           hlo_vir_iconst(b, stride));
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
    if (term->atom->kind != HLO_EXPR_VALUE || !(term->atom->digits & lane_bit)) continue;
    hlo_vir_value_t* value = vector_value(e, elem, term->atom);
    value = hlo_vir_binary(b, HLO_VIR_mul, value, vector_const(e, elem, term->coefficient));
    sum = hlo_vir_binary(b, HLO_VIR_add, sum, value);
  }
  return sum;
}

// ---- leaves

// The address of element `offset`: constant parts as displacement, the innermost plain digit as index.
static hlo_element_address_t address_of(emitter_t* e, hlo_vir_value_t* base, const hlo_expr_t* offset,
                                        hlo_dtype_t dtype) {
  size_t bytes = hlo_dtype_size_bytes(dtype);
  hlo_element_address_t address = {.base = base,
                                   .offset_bytes = offset->constant * (int64_t)bytes};
  uint32_t index_digit = NO_DIGIT, depth = 0;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    if (term->atom->kind != HLO_EXPR_DIGIT || term->coefficient != 1) continue;
    if (term_depth(e, term) >= depth) {
      index_digit = term->atom->number;
      depth = term_depth(e, term);
    }
  }
  uint64_t skip = index_digit == NO_DIGIT ? 0 : (uint64_t)1 << index_digit;
  hlo_vir_value_t* rest = emit_terms(e, offset, skip, SKIP_DIGIT);
  if (rest) {
    rest = hlo_vir_index(e->b, HLO_VIR_imul, rest, hlo_vir_iconst(e->b, (int64_t)bytes));
    address.base = hlo_vir_index(e->b, HLO_VIR_iadd, base, rest);
  }
  if (index_digit != NO_DIGIT) address.index = e->digits[index_digit];
  return address;
}

static uint32_t load_flags(const emitter_t* e) { return e->guard_depth ? 0 : HLO_VIR_INVARIANT; }

static hlo_vir_value_t* emit_load(emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = tiled->value->type->dtype;
  hlo_vir_value_t* base = e->addresses[tiled->input];
  if (!has_lanes(e, tiled->digits)) {
    hlo_element_address_t address = address_of(e, base, tiled->offset, dtype);
    address.flags = load_flags(e);
    return hlo_elementwise_load(e->b, dtype, 1, &address);
  }
  bool is_plain = hlo_expr_coefficient(tiled->offset, e->lane_digit) == 1;
  for (uint32_t i = 0; i < tiled->offset->term_count && is_plain; ++i) {
    const hlo_expr_atom_t* atom = tiled->offset->terms[i].atom;
    is_plain = atom->kind == HLO_EXPR_DIGIT || !(atom->digits >> e->lane_digit & 1);
  }
  if (is_plain) {
    hlo_element_address_t address = address_of(e, base, tiled->offset, dtype);
    address.mask = e->mask;
    address.flags = load_flags(e);
    return hlo_elementwise_load(e->b, dtype, e->lanes, &address);
  }
  const hlo_type_t* type = tiled->value->type;
  bool is_small = hlo_type_size_bytes(type) < (size_t)1 << 31;
  hlo_vir_value_t* index =
      emit_vector_index(e, is_small ? HLO_VIR_I32 : HLO_VIR_I64, tiled->offset);
  hlo_element_address_t address = {.base = base, .mask = e->mask, .flags = load_flags(e)};
  return hlo_elementwise_gather(e->b, dtype, e->lanes, &address, index);
}

static hlo_vir_value_t* emit_iota(emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = tiled->value->type->dtype;
  bool is_small = tiled->offset->low >= INT32_MIN && tiled->offset->high <= INT32_MAX &&
                  hlo_elementwise_register_bytes(dtype) <= 4;
  hlo_vir_elem_t elem = is_small ? HLO_VIR_I32 : HLO_VIR_I64;
  hlo_vir_value_t* value;
  if (has_lanes(e, tiled->digits)) {
    value = emit_vector_index(e, elem, tiled->offset);
  } else {
    value = emit_index(e, tiled->offset);
    value = hlo_vir_emit(e->b, HLO_VIR_splat_index, hlo_vir_type(elem, 1), 0, 0, 1, &value);
  }
  return hlo_elementwise_from_integer(e->b, dtype, value);
}

static hlo_vir_value_t* emit_constant(emitter_t* e, const hlo_tiled_t* tiled, uint32_t lanes) {
  const hlo_literal_t* literal = hlo_node_attr(tiled->value->def, HLO_ATTR_value)->literal;
  return hlo_elementwise_constant(e->b, literal->dtype, lanes, hlo_literal_element(literal, 0));
}

// The integer that fills a register with so many lanes.
static hlo_vir_elem_t lane_integer(const emitter_t* e, uint32_t lanes) {
  uint32_t bytes = e->kernel->target->vector_bytes / lanes;
  return bytes == 1 ? HLO_VIR_I8 : bytes == 2 ? HLO_VIR_I16 : bytes == 4 ? HLO_VIR_I32 : HLO_VIR_I64;
}

// Truth values as 0 and -1.
static hlo_vir_value_t* mask_to_integer(emitter_t* e, hlo_vir_value_t* mask) {
  hlo_vir_type_t type = hlo_vir_type(lane_integer(e, mask->type.lanes), mask->type.lanes);
  return hlo_vir_ternary(e->b, HLO_VIR_select, mask,
                         hlo_vir_const_bits(e->b, type, UINT64_MAX),
                         hlo_vir_const_bits(e->b, type, 0));
}

static hlo_vir_value_t* integer_to_mask(emitter_t* e, hlo_vir_value_t* value) {
  return hlo_vir_compare(e->b, HLO_VIR_scmp, HLO_VIR_NE, value,
                         hlo_vir_const_bits(e->b, value->type, 0));
}

// The value with as many lanes as its user has.
static hlo_vir_value_t* emit_wide(emitter_t* e, const hlo_tiled_t* tiled, uint32_t lanes) {
  if (tiled->kind == HLO_TILED_CONSTANT) return emit_constant(e, tiled, lanes);
  hlo_vir_value_t* value = emit(e, tiled);
  if (value->type.lanes == lanes) return value;
  if (value->type.elem == HLO_VIR_MASK) {
    value = mask_to_integer(e, value);
    hlo_vir_type_t wide = hlo_vir_type(lane_integer(e, lanes), lanes);
    if (value->type.elem != wide.elem) {
      value = hlo_vir_convert(e->b, HLO_VIR_trunc, (hlo_vir_elem_t)wide.elem, value);
    }
    return integer_to_mask(e, hlo_vir_emit(e->b, HLO_VIR_splat, wide, 0, 0, 1, &value));
  }
  hlo_vir_type_t type = hlo_vir_type((hlo_vir_elem_t)value->type.elem, lanes);
  return hlo_vir_emit(e->b, HLO_VIR_splat, type, 0, 0, 1, &value);
}

// ---- reductions

typedef struct accumulator {
  const hlo_tiled_t* tiled;
  uint32_t result;
  bool is_pair;  // a value whose index is in the next accumulator
  hlo_op_t op;
  hlo_dtype_t dtype;
  hlo_vir_value_t* vars[ACCUMULATORS];
} accumulator_t;

enum { MAX_ACCUMULATED = 2 * MAX_SIBLINGS };

/// Reductions that run in the same loops.
typedef struct sibling_set {
  uint32_t count, accumulator_count, unroll;
  const hlo_tiled_t* members[MAX_SIBLINGS];
  accumulator_t accumulators[MAX_ACCUMULATED];
} sibling_set_t;

static bool* mark_needed(const emitter_t* e, const hlo_tiled_t* tiled) {
  bool* marks = hlo_arena_array(e->scratch, e->tiling->instance_count, sizeof *marks);
  if (marks) {
    hlo_tiling_mark_needed(e->tiling, tiled, marks);
  } else {
    e->b->module->arena.failed = true;
  }
  return marks;
}

// A reduction that could be computed here and has not been.
static bool is_pending(const emitter_t* e, uint32_t number) {
  const hlo_tiled_t* tiled = e->tiling->instances[number];
  return tiled->kind == HLO_TILED_REDUCE && !e->done[number] && !(tiled->digits & ~e->bound);
}

// Emits the reductions that the operands need and that do not change in the loops to come.
static void emit_inner_reductions(emitter_t* e, const hlo_tiled_t* tiled) {
  const bool* marks = mark_needed(e, tiled);
  for (uint32_t i = 0; marks && i < tiled->number; ++i) {
    if (marks[i] && is_pending(e, i)) emit(e, e->tiling->instances[i]);
  }
}

static bool needs_pending(const emitter_t* e, const hlo_tiled_t* tiled) {
  const bool* marks = mark_needed(e, tiled);
  bool found = !marks;
  for (uint32_t i = 0; !found && i < tiled->number; ++i) found = marks[i] && is_pending(e, i);
  return found;
}

static bool is_dot(const hlo_tiled_t* reduction) {
  return reduction->operands[0]->kind == HLO_TILED_PRODUCT;
}

// The reductions over the same space that can be computed here too.
static void collect_siblings(const emitter_t* e, const hlo_tiled_t* first, sibling_set_t* set) {
  *set = (sibling_set_t){.unroll = 1, .count = 1, .members = {first}};
  uint32_t results = hlo_tiled_result_count(first);
  for (uint32_t i = 0; i < e->tiling->instance_count && set->count < MAX_SIBLINGS; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled == first || !is_pending(e, i) || is_dot(tiled) != is_dot(first) ||
        tiled->reduction != first->reduction ||
        has_lanes(e, tiled->digits) != has_lanes(e, first->digits) ||
        results + hlo_tiled_result_count(tiled) > MAX_ACCUMULATED || needs_pending(e, tiled)) {
      continue;
    }
    set->members[set->count++] = tiled;
    results += hlo_tiled_result_count(tiled);
  }
}

// Truth values are reduced as integers 0 and -1.
static hlo_vir_value_t* combine_one(emitter_t* e, const accumulator_t* a, hlo_vir_value_t* x,
                                    hlo_vir_value_t* y) {
  if (a->dtype != HLO_DTYPE_PRED) {
    hlo_vir_value_t* value = hlo_elementwise_combine(e->b, a->op, a->dtype, x, y);
    // Windows are folded step by step, as the reference does; long sums of narrow floats stay wide.
    bool is_window = a->tiled->value->def->op == HLO_OP_reduce_window;
    return is_window ? hlo_vmath_round_to(e->b, a->dtype, value) : value;
  }
  bool is_any = a->op == HLO_OP_or || a->op == HLO_OP_add || a->op == HLO_OP_maximum;
  return hlo_vir_binary(e->b, a->op == HLO_OP_xor ? HLO_VIR_xor : is_any ? HLO_VIR_or : HLO_VIR_and,
                        x, y);
}

// The better value (NaN is best) and of equal ones the smaller index, as the body says.
static void combine_pair(emitter_t* e, const accumulator_t* a, hlo_vir_value_t* const* x,
                         hlo_vir_value_t* const* y, hlo_vir_value_t** out) {
  hlo_vir_builder_t* b = e->b;
  hlo_dtype_t index_dtype = a[1].dtype;
  int64_t better = a->op == HLO_OP_maximum ? HLO_COMPARISON_DIRECTION_GT
                                           : HLO_COMPARISON_DIRECTION_LT;
  hlo_vir_value_t* pick = hlo_vmath_compare(b, a->dtype, better, false, x[0], y[0]);
  if (hlo_dtype_is_float(a->dtype)) {
    hlo_vir_value_t* is_nan =
        hlo_vmath_compare(b, a->dtype, HLO_COMPARISON_DIRECTION_NE, false, x[0], x[0]);
    pick = hlo_vir_binary(b, HLO_VIR_mask_or, pick, is_nan);
  }
  hlo_vir_value_t* is_equal =
      hlo_vmath_compare(b, a->dtype, HLO_COMPARISON_DIRECTION_EQ, false, x[0], y[0]);
  hlo_vir_value_t* is_first =
      hlo_vmath_compare(b, index_dtype, HLO_COMPARISON_DIRECTION_LT, false, x[1], y[1]);
  hlo_vir_value_t* pick_index = hlo_vir_binary(
      b, HLO_VIR_mask_or, pick, hlo_vir_binary(b, HLO_VIR_mask_and, is_equal, is_first));
  out[0] = hlo_vmath_select(b, pick, x[0], y[0]);
  out[1] = hlo_vmath_select(b, pick_index, x[1], y[1]);
}

// x op y for all accumulators; the arrays have a value for each.
static void combine_all(emitter_t* e, const sibling_set_t* set, hlo_vir_value_t* const* x,
                        hlo_vir_value_t* const* y, hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    const accumulator_t* a = &set->accumulators[i];
    if (a->is_pair) {
      combine_pair(e, a, x + i, y + i, out + i);
      ++i;
    } else {
      out[i] = combine_one(e, a, x[i], y[i]);
    }
  }
}

static hlo_vir_value_t* identity(emitter_t* e, const accumulator_t* a, uint32_t lanes) {
  // The index beside an argmax's identity is larger than any.
  if (a->op == HLO_OP_COUNT) {
    return hlo_elementwise_identity(e->b, HLO_OP_minimum, a->dtype, lanes);
  }
  if (a->dtype != HLO_DTYPE_PRED) {
    return hlo_elementwise_identity(e->b, a->op, a->dtype, lanes);
  }
  bool is_all = a->op == HLO_OP_and || a->op == HLO_OP_multiply || a->op == HLO_OP_minimum;
  return hlo_vir_const_bits(e->b, hlo_vir_type(lane_integer(e, lanes), lanes),
                            is_all ? UINT64_MAX : 0);
}

static void start_accumulators(emitter_t* e, sibling_set_t* set, uint32_t lanes) {
  set->accumulator_count = 0;
  for (uint32_t m = 0; m < set->count; ++m) {
    const hlo_tiled_t* tiled = set->members[m];
    const hlo_node_t* node = tiled->value->def;
    hlo_op_t arg = hlo_tiled_arg_reducer(node);
    for (uint32_t r = 0; r < hlo_tiled_result_count(tiled); ++r) {
      accumulator_t* a = &set->accumulators[set->accumulator_count++];
      *a = (accumulator_t){.tiled = tiled, .result = r, .dtype = node->results[r].type->dtype};
      if (is_dot(tiled)) a->dtype = hlo_tiled_sum_dtype(node);
      a->is_pair = arg != HLO_OP_COUNT && r == 0;
      a->op = arg == HLO_OP_COUNT ? hlo_tiled_reducer(node, r) : r == 0 ? arg : HLO_OP_COUNT;
      for (uint32_t u = 0; u < set->unroll; ++u) a->vars[u] = hlo_vir_var(e->b, identity(e, a, lanes));
    }
  }
}

static void get_vars(const sibling_set_t* set, uint32_t u, hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < set->accumulator_count; ++i) out[i] = set->accumulators[i].vars[u];
}

// The operands of a product in the form that sums have.
static void emit_factors(emitter_t* e, const hlo_tiled_t* product, hlo_dtype_t dtype, uint32_t lanes,
                         hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_tiled_t* operand = product->operands[i];
    out[i] = hlo_vmath_convert(e->b, operand->value->type->dtype, dtype, emit_wide(e, operand, lanes));
  }
}

// sum + a * b, in one rounding where it is one instruction.
static void accumulate_product(emitter_t* e, const accumulator_t* a, uint32_t u, bool is_masked) {
  hlo_vir_value_t *var = a->vars[u], *factors[2];
  emit_factors(e, a->tiled->operands[0], a->dtype, var->type.lanes, factors);
  hlo_vir_value_t* sum;
  if (var->type.elem == HLO_VIR_F32 || var->type.elem == HLO_VIR_F64) {
    sum = hlo_vir_ternary(e->b, HLO_VIR_fma, factors[0], factors[1], var);
  } else {
    sum = hlo_vir_binary(e->b, HLO_VIR_add, var,
                         hlo_vir_binary(e->b, HLO_VIR_mul, factors[0], factors[1]));
  }
  if (is_masked) sum = hlo_vir_ternary(e->b, HLO_VIR_select, e->mask, sum, var);
  hlo_vir_set(e->b, var, sum);
}

// One step of all accumulators with number `u`; inactive lanes contribute nothing.
static void accumulate(emitter_t* e, sibling_set_t* set, uint32_t u, bool is_masked) {
  hlo_vir_value_t* values[MAX_ACCUMULATED];
  if (is_dot(set->members[0])) {
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      accumulate_product(e, &set->accumulators[i], u, is_masked);
    }
    return;
  }
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    accumulator_t* a = &set->accumulators[i];
    uint32_t lanes = a->vars[u]->type.lanes;
    values[i] = emit_wide(e, a->tiled->operands[a->result], lanes);
    if (a->dtype == HLO_DTYPE_PRED) values[i] = mask_to_integer(e, values[i]);
    if (is_masked) {
      values[i] =
          hlo_vir_ternary(e->b, HLO_VIR_select, e->mask, values[i], identity(e, a, lanes));
    }
  }
  hlo_vir_value_t *vars[MAX_ACCUMULATED], *sums[MAX_ACCUMULATED];
  get_vars(set, u, vars);
  combine_all(e, set, vars, values, sums);
  for (uint32_t i = 0; i < set->accumulator_count; ++i) hlo_vir_set(e->b, vars[i], sums[i]);
}

// All lanes of the values to one.
static void fold_lanes(emitter_t* e, const sibling_set_t* set, hlo_vir_value_t** values) {
  hlo_vir_builder_t* b = e->b;
  while (values[0]->type.lanes > 1) {
    hlo_vir_value_t *low[MAX_ACCUMULATED], *high[MAX_ACCUMULATED];
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      hlo_vir_type_t half =
          hlo_vir_type((hlo_vir_elem_t)values[i]->type.elem, values[i]->type.lanes / 2);
      low[i] = hlo_vir_emit(b, HLO_VIR_lower_half, half, 0, 0, 1, &values[i]);
      high[i] = hlo_vir_emit(b, HLO_VIR_upper_half, half, 0, 0, 1, &values[i]);
    }
    combine_all(e, set, low, high, values);
  }
}

static void set_result(emitter_t* e, const accumulator_t* a, hlo_vir_value_t* value) {
  if (a->result == 0) e->done[a->tiled->number] = value;
  for (uint32_t k = a->tiled->number + 1; a->result > 0 && k < e->tiling->instance_count; ++k) {
    const hlo_tiled_t* other = e->tiling->instances[k];
    if (other->kind == HLO_TILED_RESULT && other->operands[0] == a->tiled &&
        other->value->number == a->result) {
      e->done[k] = value;
    }
  }
}

// The finished values: with the initial value, rounded, as masks where they are truth values.
static void finish_accumulators(emitter_t* e, sibling_set_t* set) {
  hlo_vir_value_t *values[MAX_ACCUMULATED], *first[MAX_ACCUMULATED];
  get_vars(set, 0, values);
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    const accumulator_t* a = &set->accumulators[i];
    if (is_dot(a->tiled)) {
      first[i] = hlo_vir_const_bits(e->b, values[i]->type, 0);
      continue;
    }
    first[i] = emit_wide(e, a->tiled->operands[hlo_tiled_result_count(a->tiled) + a->result],
                         values[i]->type.lanes);
    if (a->dtype != HLO_DTYPE_PRED) continue;
    hlo_vir_elem_t elem = (hlo_vir_elem_t)values[i]->type.elem;
    first[i] = mask_to_integer(e, first[i]);
    if (first[i]->type.elem != elem) first[i] = hlo_vir_convert(e->b, HLO_VIR_trunc, elem, first[i]);
  }
  combine_all(e, set, first, values, values);
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    const accumulator_t* a = &set->accumulators[i];
    if (is_dot(a->tiled)) {
      hlo_dtype_t dtype = a->tiled->value->type->dtype;
      set_result(e, a, hlo_vmath_convert(e->b, a->dtype, dtype, values[i]));
    } else {
      set_result(e, a, a->dtype == HLO_DTYPE_PRED ? integer_to_mask(e, values[i])
                                                  : hlo_vmath_round_to(e->b, a->dtype, values[i]));
    }
  }
}

// Whether what `tiled` needs can run over the lanes of `digit`.
static bool can_run_over(const emitter_t* e, const hlo_tiled_t* tiled, uint32_t digit) {
  const bool* marks = mark_needed(e, tiled);
  for (uint32_t i = 0; marks && i < tiled->number; ++i) {
    const hlo_tiled_t* needed = e->tiling->instances[i];
    if (!marks[i] || !needed->offset || !(needed->offset->digits >> digit & 1)) continue;
    if (needed->kind == HLO_TILED_GUARD) return false;
    size_t bytes = needed->kind == HLO_TILED_INDEX
                       ? 8
                       : hlo_dtype_size_bytes(needed->value->type->dtype);
    for (uint32_t k = 0; k < needed->offset->term_count; ++k) {
      const hlo_expr_term_t* term = &needed->offset->terms[k];
      if (!(term->atom->digits >> digit & 1)) continue;
      bool is_known = term->atom->kind == HLO_EXPR_DIGIT || term->atom->kind == HLO_EXPR_VALUE;
      bool is_plain = term->atom->kind == HLO_EXPR_DIGIT && term->coefficient == 1;
      if (!is_known || (!is_plain && bytes < 4)) return false;
    }
  }
  return marks != NULL;
}

// How well loads run over the lanes of `digit`: those with stride 1 against the others.
static int plain_loads(const emitter_t* e, uint32_t digit) {
  int score = 0;
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind != HLO_TILED_LOAD || !(tiled->digits >> digit & 1)) continue;
    score += hlo_expr_coefficient(tiled->offset, digit) == 1 ? 4 : -1;
  }
  return score;
}

static uint32_t choose_lane_digit(const emitter_t* e, const sibling_set_t* set) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[set->members[0]->reduction];
  uint32_t best = NO_DIGIT;
  int best_score = 0;
  for (uint32_t i = space->digit_count; i-- > 0;) {
    uint32_t digit = space->first_digit + i;
    bool is_possible = space->extents[i] > 1;
    for (uint32_t m = 0; m < set->count && is_possible; ++m) {
      is_possible = can_run_over(e, set->members[m], digit);
    }
    int score = plain_loads(e, digit);
    if (is_possible && (best == NO_DIGIT || score > best_score)) best = digit, best_score = score;
  }
  return best;
}

static range_t constant_range(hlo_vir_builder_t* b, int64_t low, int64_t end) {
  return (range_t){hlo_vir_iconst(b, low), hlo_vir_iconst(b, end)};
}

static range_t chunk_range(hlo_vir_builder_t* b, hlo_vir_value_t* chunk, int64_t size, range_t all) {
  hlo_vir_value_t* first = hlo_vir_index(b, HLO_VIR_imul, chunk, hlo_vir_iconst(b, size));
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, first, hlo_vir_iconst(b, size));
  return (range_t){hlo_vir_index(b, HLO_VIR_imax, first, all.low),
                   hlo_vir_index(b, HLO_VIR_imin, end, all.end)};
}

// The values of a reduction's digit: all, or those of this chunk.
static range_t reduction_range(const emitter_t* e, uint32_t space_number, uint32_t i) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  range_t all = constant_range(e->b, 0, space->extents[i]);
  bool is_cut = e->chunk && space_number == e->kernel->split_space && i == e->kernel->split_digit;
  return is_cut ? chunk_range(e->b, e->chunk, e->kernel->chunk_size, all) : all;
}

// The end of the part of a range that is a multiple of `step`, a power of two, long.
static hlo_vir_value_t* whole_end(hlo_vir_builder_t* b, range_t range, int64_t step) {
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, range.end, range.low);
  count = hlo_vir_index(b, HLO_VIR_iand, count, hlo_vir_iconst(b, -step));
  return hlo_vir_index(b, HLO_VIR_iadd, range.low, count);
}

static bool is_empty(range_t range) {
  return range.low == range.end ||
         (range.low->op == HLO_VIR_iconst && range.end->op == HLO_VIR_iconst &&
          range.low->imm >= range.end->imm);
}

static void close_if(emitter_t* e) {
  hlo_vir_end(e->b);
  close_block(e);
}

// The lanes behind the last whole vector.
static void masked_rest(emitter_t* e, sibling_set_t* set, uint32_t digit, range_t rest) {
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
  e->mask = hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, e->lanes), 0, 0, 1,
                         &count);
  open_loop(e, digit, rest.low, rest.end, e->lanes);
  accumulate(e, set, 0, true);
  close_loop(e, digit);
  e->mask = NULL;
  close_if(e);
}

// The loop over the lanes of a reduction: unrolled vectors, single ones, the rest masked.
static void lane_loop(emitter_t* e, sibling_set_t* set, uint32_t digit, range_t range) {
  hlo_vir_builder_t* b = e->b;
  int64_t lanes = e->lanes, wide = lanes * set->unroll;
  range_t unrolled = {range.low, whole_end(b, range, wide)};
  range_t single = {unrolled.end, whole_end(b, (range_t){unrolled.end, range.end}, lanes)};
  if (!is_empty(unrolled)) {
    hlo_vir_value_t* counter = open_loop(e, digit, unrolled.low, unrolled.end, wide);
    for (uint32_t u = 0; u < set->unroll; ++u) {
      if (u > 0) forget_digit(e, digit);
      e->digits[digit] = hlo_vir_index(b, HLO_VIR_iadd, counter, hlo_vir_iconst(b, u * lanes));
      e->bound |= (uint64_t)1 << digit;
      accumulate(e, set, u, false);
    }
    close_loop(e, digit);
  }
  if (set->unroll > 1 && !is_empty(single)) {
    open_loop(e, digit, single.low, single.end, lanes);
    accumulate(e, set, 0, false);
    close_loop(e, digit);
  }
  range_t rest = {set->unroll > 1 ? single.end : unrolled.end, range.end};
  if (e->kernel->target->has_masks && !is_empty(rest)) masked_rest(e, set, digit, rest);
}

// What the masked part is where there are no masks: one element at a time into accumulators of their own.
static void scalar_rest(emitter_t* e, sibling_set_t* rest, uint32_t digit, range_t range) {
  uint32_t lane_digit = e->lane_digit;
  e->lane_digit = NO_DIGIT;
  open_loop(e, digit, whole_end(e->b, range, e->lanes), range.end, 1);
  accumulate(e, rest, 0, false);
  close_loop(e, digit);
  e->lane_digit = lane_digit;
}

static void open_reduction_loops(emitter_t* e, uint32_t space_number, uint32_t except) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  for (uint32_t i = 0; i < space->digit_count; ++i) {
    if (space->first_digit + i == except) continue;
    range_t range = reduction_range(e, space_number, i);
    open_loop(e, space->first_digit + i, range.low, range.end, 1);
  }
}

static void close_reduction_loops(emitter_t* e, uint32_t space_number, uint32_t except) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  for (uint32_t i = space->digit_count; i-- > 0;) {
    if (space->first_digit + i != except) close_loop(e, space->first_digit + i);
  }
}

// All points of a small space one after the other, without loops, from digit `i` on.
static void accumulate_each(emitter_t* e, sibling_set_t* set, uint32_t space_number, uint32_t i) {
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  if (i == space->digit_count) {
    accumulate(e, set, 0, false);
    return;
  }
  uint32_t digit = space->first_digit + i;
  for (int64_t k = 0; k < space->extents[i]; ++k) {
    e->digits[digit] = hlo_vir_iconst(e->b, k);
    e->bound |= (uint64_t)1 << digit;
    accumulate_each(e, set, space_number, i + 1);
    forget_digit(e, digit);
  }
}

// The lanes are the user's: every lane reduces on its own.
static void reduce_lanes_apart(emitter_t* e, sibling_set_t* set, uint32_t lanes) {
  uint32_t space = set->members[0]->reduction;
  start_accumulators(e, set, lanes);
  if (e->tiling->spaces[space].element_count <= UNROLLED_ELEMENTS) {
    accumulate_each(e, set, space, 0);
    return;
  }
  open_reduction_loops(e, space, NO_DIGIT);
  accumulate(e, set, 0, false);
  close_reduction_loops(e, space, NO_DIGIT);
}

// Accumulators over lanes and unrolled steps to one lane of the first.
static void fold_accumulators(emitter_t* e, sibling_set_t* set, const sibling_set_t* rest) {
  hlo_vir_value_t *values[MAX_ACCUMULATED], *more[MAX_ACCUMULATED];
  get_vars(set, 0, values);
  for (uint32_t u = 1; u < set->unroll; ++u) {
    get_vars(set, u, more);
    combine_all(e, set, values, more, values);
  }
  fold_lanes(e, set, values);
  if (rest) {
    get_vars(rest, 0, more);
    for (uint32_t i = 0; i < set->accumulator_count; ++i) {
      hlo_vir_elem_t elem = (hlo_vir_elem_t)values[i]->type.elem;
      if (more[i]->type.elem != elem) more[i] = hlo_vir_convert(e->b, HLO_VIR_trunc, elem, more[i]);
    }
    combine_all(e, set, values, more, values);
  }
  for (uint32_t i = 0; i < set->accumulator_count; ++i) set->accumulators[i].vars[0] = values[i];
}

static void reduce_over_lanes(emitter_t* e, sibling_set_t* set, uint32_t digit) {
  uint32_t space_number = set->members[0]->reduction;
  const hlo_tiled_space_t* space = &e->tiling->spaces[space_number];
  int64_t extent = space->extents[digit - space->first_digit];
  uint32_t saved_digit = e->lane_digit, saved_lanes = e->lanes;
  hlo_vir_value_t* saved_mask = e->mask;
  e->lane_digit = digit;
  e->lanes = e->kernel->lanes;
  e->mask = NULL;
  bool needs_rest = !e->kernel->target->has_masks;
  set->unroll = extent >= (int64_t)e->lanes * ACCUMULATORS && set->count <= 2 ? ACCUMULATORS : 1;
  sibling_set_t rest = *set;
  rest.unroll = 1;
  start_accumulators(e, set, e->lanes);
  if (needs_rest) start_accumulators(e, &rest, 1);
  open_reduction_loops(e, space_number, digit);
  range_t range = reduction_range(e, space_number, digit - space->first_digit);
  lane_loop(e, set, digit, range);
  if (needs_rest) scalar_rest(e, &rest, digit, range);
  close_reduction_loops(e, space_number, digit);
  e->lane_digit = saved_digit;
  e->lanes = saved_lanes;
  e->mask = saved_mask;
  fold_accumulators(e, set, needs_rest ? &rest : NULL);
}

// The loops of a reduction and its siblings; one lane or the user's in vars[0] of each accumulator then.
static void run_reduction(emitter_t* e, const hlo_tiled_t* tiled, sibling_set_t* set) {
  collect_siblings(e, tiled, set);
  for (uint32_t i = 0; i < set->count; ++i) emit_inner_reductions(e, set->members[i]);
  if (has_lanes(e, tiled->digits)) {
    reduce_lanes_apart(e, set, e->lanes);
    return;
  }
  uint32_t digit = choose_lane_digit(e, set);
  if (digit != NO_DIGIT) {
    reduce_over_lanes(e, set, digit);
    return;
  }
  uint32_t saved = e->lane_digit;
  e->lane_digit = NO_DIGIT;
  reduce_lanes_apart(e, set, 1);
  e->lane_digit = saved;
}

static void emit_reduce(emitter_t* e, const hlo_tiled_t* tiled) {
  emit_inner_reductions(e, tiled);
  if (e->done[tiled->number]) return;  // came along as a sibling
  sibling_set_t set;
  run_reduction(e, tiled, &set);
  finish_accumulators(e, &set);
}

// ---- the rest

static hlo_vir_value_t* emit_guard(emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_vir_builder_t* b = e->b;
  uint32_t lanes = has_lanes(e, tiled->digits) ? e->lanes : 1;
  hlo_vir_value_t* offset = emit_index(e, tiled->offset);
  hlo_vir_value_t* is_inside = hlo_vir_index(
      b, HLO_VIR_iand, hlo_vir_icmp(b, HLO_VIR_GE, offset, hlo_vir_iconst(b, tiled->low)),
      hlo_vir_icmp(b, HLO_VIR_LT, offset, hlo_vir_iconst(b, tiled->end)));
  hlo_vir_value_t* result = hlo_vir_var(b, emit_wide(e, tiled->operands[1], lanes));
  hlo_vir_begin_if(b, is_inside);
  ++e->guard_depth;
  hlo_vir_set(b, result, emit_wide(e, tiled->operands[0], lanes));
  --e->guard_depth;
  hlo_vir_end(b);
  close_block(e);
  return result;
}

static hlo_vir_value_t* emit_compute(emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_vir_value_t* operands[4];
  uint32_t lanes = has_lanes(e, tiled->digits) ? e->lanes : 1;
  for (uint32_t i = 0; i < tiled->operand_count; ++i) {
    operands[i] = emit_wide(e, tiled->operands[i], lanes);
  }
  return hlo_elementwise_emit(e->b, tiled->value->def, operands);
}

static hlo_vir_value_t* emit(emitter_t* e, const hlo_tiled_t* tiled) {
  if (e->done[tiled->number]) return e->done[tiled->number];
  uint32_t site = e->b->site;
  if (tiled->value->def && e->site_of) e->b->site = e->site_of(e->context, tiled->value->def);
  hlo_vir_value_t* value = NULL;
  switch (tiled->kind) {
    case HLO_TILED_LOAD: value = emit_load(e, tiled); break;
    case HLO_TILED_CONSTANT: value = emit_constant(e, tiled, 1); break;
    case HLO_TILED_INDEX: value = emit_iota(e, tiled); break;
    case HLO_TILED_COMPUTE: value = emit_compute(e, tiled); break;
    case HLO_TILED_GUARD: value = emit_guard(e, tiled); break;
    case HLO_TILED_PRODUCT: case HLO_TILED_DOT: break;  // never asked for
    case HLO_TILED_REDUCE:
      emit_reduce(e, tiled);
      value = e->done[tiled->number];
      break;
    case HLO_TILED_RESULT:
      e->done[tiled->operands[0]->number] = NULL;
      emit_reduce(e, tiled->operands[0]);
      value = e->done[tiled->number];
      break;
  }
  e->b->site = site;
  return e->done[tiled->number] = value;
}

// Reductions whose operands are known already, before the next loop opens.
static void emit_ready_reductions(emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = e->tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE && !e->done[i] && !(tiled->digits & ~e->bound)) {
      emit(e, tiled);
    }
  }
}

static void emit_point(emitter_t* e) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  uint32_t lanes = e->lane_digit == NO_DIGIT ? 1 : e->lanes;
  hlo_vir_value_t* values[64];
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    values[i] = emit_wide(e, e->tiling->outputs[i], lanes);
  }
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    hlo_dtype_t dtype = fusion->outputs[i]->type->dtype;
    hlo_element_address_t address =
        address_of(e, e->addresses[fusion->input_count + i], e->tiling->output_offsets[i], dtype);
    address.mask = e->lane_digit == NO_DIGIT ? NULL : e->mask;
    hlo_elementwise_store(e->b, dtype, values[i], &address);
  }
}

// The lanes behind the last whole vector: masked, or one by one.
static void emit_rest(emitter_t* e, uint32_t digit, range_t rest) {
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
  bool is_known = count->op == HLO_VIR_iconst;
  if (!is_known) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
  if (e->kernel->target->has_masks) {
    e->mask = hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, e->lanes), 0, 0, 1,
                           &count);
    open_loop(e, digit, rest.low, rest.end, e->lanes);
  } else {
    e->lane_digit = NO_DIGIT;
    open_loop(e, digit, rest.low, rest.end, 1);
  }
  emit_point(e);
  close_loop(e, digit);
  if (!is_known) close_if(e);
}

// The innermost loop over lanes: whole vectors, then what is left.
static void emit_lane_loop(emitter_t* e, uint32_t digit, range_t range) {
  e->lane_digit = digit;
  e->lanes = e->kernel->lanes;
  range_t whole = {range.low, whole_end(e->b, range, e->lanes)};
  range_t rest = {whole.end, range.end};
  if (!is_empty(whole)) {
    open_loop(e, digit, whole.low, whole.end, e->lanes);
    emit_point(e);
    close_loop(e, digit);
  }
  if (!is_empty(rest)) emit_rest(e, digit, rest);
  e->lane_digit = NO_DIGIT;
  e->mask = NULL;
}

// ---- sums down columns: blocks of rows, so that memory is read in long pieces

typedef struct sweep {
  sibling_set_t set;
  uint32_t space, row_digit;
} sweep_t;

static hlo_element_address_t accumulator_address(emitter_t* e, uint32_t output) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  hlo_element_address_t address =
      address_of(e, e->addresses[fusion->input_count + output], e->tiling->output_offsets[output],
                 fusion->outputs[output]->type->dtype);
  address.mask = e->mask;
  return address;
}

static void store_accumulators(emitter_t* e, hlo_vir_value_t* const* values) {
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    hlo_element_address_t address = accumulator_address(e, i);
    hlo_elementwise_store(e->b, e->kernel->fusion->outputs[i]->type->dtype, values[i], &address);
  }
}

static void load_accumulators(emitter_t* e, uint32_t lanes, hlo_vir_value_t** out_values) {
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    hlo_element_address_t address = accumulator_address(e, i);
    out_values[i] = hlo_elementwise_load(e->b, e->kernel->fusion->outputs[i]->type->dtype, lanes,
                                         &address);
  }
}

static uint32_t point_lanes(const emitter_t* e) { return e->lane_digit == NO_DIGIT ? 1 : e->lanes; }

static void sweep_clear(emitter_t* e, sweep_t* sweep, uint32_t rows) {
  (void)rows;
  hlo_vir_value_t* values[MAX_ACCUMULATED];
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    values[i] = identity(e, &sweep->set.accumulators[i], point_lanes(e));
  }
  store_accumulators(e, values);
}

static void sweep_rows(emitter_t* e, sweep_t* sweep, uint32_t rows) {
  hlo_vir_value_t *sums[MAX_ACCUMULATED], *values[MAX_ACCUMULATED];
  load_accumulators(e, point_lanes(e), sums);
  hlo_vir_value_t* first = e->digits[sweep->row_digit];
  for (uint32_t row = 0; row < rows; ++row) {
    forget_digit(e, sweep->row_digit);
    e->digits[sweep->row_digit] =
        hlo_vir_index(e->b, HLO_VIR_iadd, first, hlo_vir_iconst(e->b, row));
    e->bound |= (uint64_t)1 << sweep->row_digit;
    for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
      values[i] = emit_wide(e, sweep->set.accumulators[i].tiled->operands[0], point_lanes(e));
    }
    combine_all(e, &sweep->set, sums, values, sums);
  }
  e->digits[sweep->row_digit] = first;
  store_accumulators(e, sums);
}

static void sweep_finish(emitter_t* e, sweep_t* sweep, uint32_t rows) {
  (void)rows;
  hlo_vir_value_t *sums[MAX_ACCUMULATED], *first[MAX_ACCUMULATED];
  load_accumulators(e, point_lanes(e), sums);
  for (uint32_t i = 0; i < sweep->set.accumulator_count; ++i) {
    first[i] = emit_wide(e, sweep->set.accumulators[i].tiled->operands[1], point_lanes(e));
  }
  combine_all(e, &sweep->set, first, sums, sums);
  store_accumulators(e, sums);
}

// `point` for all columns of the range, in vectors, then for the rest.
static void sweep_columns(emitter_t* e, sweep_t* sweep, range_t range, uint32_t rows,
                          void (*point)(emitter_t* e, sweep_t* sweep, uint32_t rows)) {
  hlo_vir_builder_t* b = e->b;
  uint32_t digit = e->kernel->loops[0];
  e->lane_digit = digit;
  e->lanes = e->kernel->lanes;
  range_t whole = {range.low, whole_end(b, range, e->lanes)};
  range_t rest = {whole.end, range.end};
  open_loop(e, digit, whole.low, whole.end, e->lanes);
  point(e, sweep, rows);
  close_loop(e, digit);
  if (!is_empty(rest)) {
    hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
    bool has_masks = e->kernel->target->has_masks;
    hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
    if (has_masks) {
      e->mask = hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, e->lanes), 0, 0, 1,
                             &count);
    } else {
      e->lane_digit = NO_DIGIT;
    }
    open_loop(e, digit, rest.low, rest.end, has_masks ? e->lanes : 1);
    point(e, sweep, rows);
    close_loop(e, digit);
    close_if(e);
  }
  e->lane_digit = NO_DIGIT;
  e->mask = NULL;
}

static void emit_sweep(emitter_t* e, range_t range) {
  sweep_t sweep = {.set = {.unroll = 0}};
  sweep.space = e->tiling->outputs[0]->reduction;
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    sweep.set.members[sweep.set.count++] = e->tiling->outputs[i];
  }
  start_accumulators(e, &sweep.set, 1);
  const hlo_tiled_space_t* space = &e->tiling->spaces[sweep.space];
  sweep.row_digit = space->first_digit + space->digit_count - 1;
  int64_t rows = space->extents[space->digit_count - 1], blocks = rows / SWEPT_ROWS * SWEPT_ROWS;
  sweep_columns(e, &sweep, range, 0, sweep_clear);
  open_reduction_loops(e, sweep.space, sweep.row_digit);
  if (blocks > 0) {
    open_loop(e, sweep.row_digit, hlo_vir_iconst(e->b, 0), hlo_vir_iconst(e->b, blocks), SWEPT_ROWS);
    sweep_columns(e, &sweep, range, SWEPT_ROWS, sweep_rows);
    close_loop(e, sweep.row_digit);
  }
  if (rows > blocks) {
    open_loop(e, sweep.row_digit, hlo_vir_iconst(e->b, blocks), hlo_vir_iconst(e->b, rows), 1);
    sweep_columns(e, &sweep, range, 1, sweep_rows);
    close_loop(e, sweep.row_digit);
  }
  close_reduction_loops(e, sweep.space, sweep.row_digit);
  sweep_columns(e, &sweep, range, 0, sweep_finish);
}

// Loops from `level` on. Reductions come before the outermost loop they do not depend on.
static void emit_loops(emitter_t* e, uint32_t level, const range_t* ranges) {
  const hlo_kernel_t* kernel = e->kernel;
  if (!kernel->is_sweep) emit_ready_reductions(e);
  if (level == kernel->loop_count) {
    emit_point(e);
    return;
  }
  uint32_t digit = kernel->loops[level];
  if (kernel->is_sweep) {
    emit_sweep(e, ranges[level]);
    return;
  }
  if (kernel->is_vector && level + 1 == kernel->loop_count) {
    emit_lane_loop(e, digit, ranges[level]);
    return;
  }
  open_loop(e, digit, ranges[level].low, ranges[level].end, 1);
  emit_loops(e, level + 1, ranges);
  close_loop(e, digit);
}

static void make_ranges(const emitter_t* e, const hlo_kernel_segment_t* segment,
                        hlo_vir_value_t* chunk, range_t* ranges) {
  const hlo_kernel_t* kernel = e->kernel;
  hlo_vir_builder_t* b = e->b;
  for (uint32_t i = 0; i < kernel->loop_count; ++i) {
    uint32_t digit = kernel->loops[i];
    ranges[i] = (range_t){hlo_vir_iconst(b, (*segment)[digit][0]),
                          hlo_vir_iconst(b, (*segment)[digit][1])};
  }
  if (!chunk) return;
  if (!kernel->is_split_twice) {
    ranges[0] = chunk_range(b, chunk, kernel->chunk_size, ranges[0]);
    return;
  }
  hlo_vir_value_t* parts = hlo_vir_iconst(b, (int64_t)kernel->parts_per_outer);
  hlo_vir_value_t* outer = hlo_vir_index(b, HLO_VIR_idiv, chunk, parts);
  hlo_vir_value_t* part = hlo_vir_index(b, HLO_VIR_irem, chunk, parts);
  ranges[0] = chunk_range(b, outer, 1, ranges[0]);
  ranges[1] = chunk_range(b, part, kernel->chunk_size, ranges[1]);
}

static hlo_status_t start_segment(emitter_t* e, hlo_arena_t* scratch,
                                  const hlo_kernel_segment_t* segment) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_kernel_walk(e->kernel, scratch, segment, &tiling));
  if (tiling->refusal) {
    return hlo_status_create(HLO_STATUS_INTERNAL, "fusion %u: %s", e->kernel->fusion->index,
                             tiling->refusal);
  }
  e->tiling = tiling;
  e->scratch = scratch;
  e->done = hlo_arena_array(scratch, tiling->instance_count + 1, sizeof *e->done);
  if (!e->done) return hlo_arena_status(scratch);
  e->bound = 0;
  e->lane_digit = NO_DIGIT;
  e->mask = NULL;
  return hlo_ok();
}

static hlo_status_t emit_segment(emitter_t* e, hlo_arena_t* scratch, uint32_t number,
                                 hlo_vir_value_t* chunk) {
  const hlo_kernel_segment_t* segment = &e->kernel->segments[number];
  HLO_TRY(start_segment(e, scratch, segment));
  range_t ranges[HLO_TILED_MAX_DIGITS];
  make_ranges(e, segment, chunk, ranges);
  emit_loops(e, 0, ranges);
  return hlo_ok();
}

// ---- kernels that cut a reduction into chunks: partial results through scratch memory

static const hlo_tiled_t* first_reduction(const emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->tiling->instances[i]->kind == HLO_TILED_REDUCE) return e->tiling->instances[i];
  }
  return NULL;
}

static hlo_vir_value_t* scratch_address(const emitter_t* e) {
  return e->addresses[e->kernel->fusion->input_count + e->kernel->fusion->output_count];
}

// Partial `i` of a chunk, as it is in registers.
static hlo_element_address_t partial_address(emitter_t* e, hlo_vir_value_t* chunk, uint32_t i) {
  hlo_vir_value_t* row = hlo_vir_index(e->b, HLO_VIR_imul, chunk,
                                       hlo_vir_iconst(e->b, e->kernel->partial_count * 8));
  return (hlo_element_address_t){.base = hlo_vir_index(e->b, HLO_VIR_iadd, scratch_address(e), row),
                                 .offset_bytes = 8 * i};
}

static hlo_status_t emit_partials(emitter_t* e, hlo_arena_t* scratch, hlo_vir_value_t* chunk) {
  HLO_TRY(start_segment(e, scratch, &e->kernel->segments[0]));
  e->chunk = chunk;
  sibling_set_t set;
  run_reduction(e, first_reduction(e), &set);
  e->chunk = NULL;
  for (uint32_t i = 0; i < set.accumulator_count; ++i) {
    hlo_element_address_t at = partial_address(e, chunk, i);
    hlo_vir_value_t* value = set.accumulators[i].vars[0];
    hlo_vir_value_t* operands[] = {value, at.base};
    hlo_vir_emit(e->b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, at.offset_bytes, 2, operands);
  }
  return hlo_ok();
}

static hlo_status_t emit_finish(emitter_t* e, hlo_arena_t* scratch) {
  HLO_TRY(start_segment(e, scratch, &e->kernel->segments[0]));
  hlo_vir_builder_t* b = e->b;
  sibling_set_t set;
  collect_siblings(e, first_reduction(e), &set);
  start_accumulators(e, &set, 1);
  hlo_vir_value_t* chunk =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, (int64_t)e->kernel->chunk_count),
                        1, 0);
  hlo_vir_value_t *vars[MAX_ACCUMULATED] = {0}, *values[MAX_ACCUMULATED] = {0};
  get_vars(&set, 0, vars);
  for (uint32_t i = 0; i < set.accumulator_count; ++i) {
    hlo_element_address_t at = partial_address(e, chunk, i);
    hlo_vir_value_t* operands[] = {at.base};
    hlo_vir_type_t type = vars[i]->type;
    bool is_mask = set.accumulators[i].dtype == HLO_DTYPE_PRED;
    if (is_mask) type.elem = (uint8_t)lane_integer(e, e->kernel->lanes);
    values[i] = hlo_vir_emit(b, HLO_VIR_load, type, 0, at.offset_bytes, 1, operands);
    if (type.elem == vars[i]->type.elem) continue;
    values[i] = hlo_vir_convert(b, HLO_VIR_sext, (hlo_vir_elem_t)vars[i]->type.elem, values[i]);
  }
  combine_all(e, &set, vars, values, values);
  for (uint32_t i = 0; i < set.accumulator_count; ++i) hlo_vir_set(b, vars[i], values[i]);
  hlo_vir_end(b);
  close_block(e);
  finish_accumulators(e, &set);
  emit_point(e);
  return hlo_ok();
}

// ---- points of a kernel with loops of its own

void hlo_point_emit(const hlo_point_emitter_t* points, const hlo_point_t* point) {
  emitter_t* e = points->emitter;
  const hlo_tiling_t* tiling = e->tiling;
  memset(e->done, 0, tiling->instance_count * sizeof *e->done);
  e->bound = 0;
  for (uint32_t i = 0; i < tiling->spaces[0].digit_count; ++i) {
    e->digits[i] = point->digits[i];
    e->bound |= (uint64_t)1 << i;
  }
  e->lanes = point->lanes;
  e->lane_digit = point->lanes > 1 ? point->lane_digit : NO_DIGIT;
  e->mask = point->mask;
  e->guard_depth = 1;  // nothing is read before its time
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (tiling->instances[i]->kind == HLO_TILED_DOT) e->done[i] = point->value;
  }
  emit_point(e);
}

static emitter_t make_emitter(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                              hlo_vir_value_t* const* addresses,
                              uint32_t (*site_of)(void* context, const hlo_node_t* node),
                              void* context) {
  hlo_vir_fence(b);
  return (emitter_t){.kernel = kernel,
                     .b = b,
                     .addresses = addresses,
                     .site_of = site_of,
                     .context = context,
                     .lane_digit = NO_DIGIT,
                     .lanes = 1};
}

// What cannot be emitted is out of memory, or a fault of the kernel's creation: the module is unusable.
static void give_up(hlo_vir_builder_t* b, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return;
  hlo_status_release(status);
  b->module->arena.failed = true;
}

void hlo_kernel_emit(const hlo_kernel_t* kernel, uint32_t phase, hlo_vir_builder_t* b,
                     hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk,
                     uint32_t (*site_of)(void* context, const hlo_node_t* node), void* context) {
  emitter_t e = make_emitter(kernel, b, addresses, site_of, context);
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  if (kernel->matmul) {
    hlo_point_emitter_t points = {.emitter = &e};
    give_up(b, start_segment(&e, &scratch, &kernel->segments[0]));
    if (!b->module->arena.failed) hlo_matmul_emit(kernel, phase, &points, b, addresses, chunk);
  } else if (kernel->split_space) {
    give_up(b, phase == 0 ? emit_partials(&e, &scratch, chunk) : emit_finish(&e, &scratch));
  } else {
    for (uint32_t i = 0; i < kernel->segment_count; ++i) {
      give_up(b, emit_segment(&e, &scratch, i, chunk));
    }
  }
  hlo_arena_deinit(&scratch);
}
