// SPDX-License-Identifier: Apache-2.0
// Folds while building: INDEX arithmetic on constants and its identities, constant terms of sums
// that move outwards until they become displacements, and vectors of constants.
//
// Nothing is folded through a var operand, or through an instruction that reads one: a var has
// another value at every position.
#include "base/fpenv.h"
#include "codegen/vir/builder_impl.h"
#include "codegen/vir/lane.h"

enum { INDEX_BITS = 64 };

static bool is_const(const hlo_vir_value_t* value, int64_t imm) {
  return hlo_vir_is_const_index(value) && value->imm == imm;
}

// Returns x of x + c; NULL if the value is not such a sum.
static hlo_vir_value_t* sum_with_const(const hlo_vir_value_t* value, int64_t* out_term) {
  if (value->op != HLO_VIR_iadd || !hlo_vir_is_const_index(value->operands[1])) return NULL;
  if (value->operands[0]->op == HLO_VIR_var) return NULL;
  *out_term = value->operands[1]->imm;
  return value->operands[0];
}

static int64_t wrap_add(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x + (uint64_t)y);
}
static int64_t wrap_mul(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x * (uint64_t)y);
}

// ---- INDEX -------------------------------------------------------------------------------------

static bool is_commutative(uint32_t op) {
  return op == HLO_VIR_iadd || op == HLO_VIR_imul || op == HLO_VIR_imin || op == HLO_VIR_imax ||
         op == HLO_VIR_iand || op == HLO_VIR_ior || op == HLO_VIR_ixor;
}

// (x < y) == 0 -> x >= y; (x < y) != 0 -> x < y.
static hlo_vir_value_t* fold_truth(hlo_vir_builder_t* b, const hlo_vir_value_t* draft,
                                   hlo_vir_value_t* x, int64_t c) {
  static const uint8_t negated[] = {
      [HLO_VIR_EQ] = HLO_VIR_NE, [HLO_VIR_NE] = HLO_VIR_EQ, [HLO_VIR_LT] = HLO_VIR_GE,
      [HLO_VIR_LE] = HLO_VIR_GT, [HLO_VIR_GT] = HLO_VIR_LE, [HLO_VIR_GE] = HLO_VIR_LT,
  };
  if (x->op != HLO_VIR_icmp || c != 0) return NULL;
  if (draft->flags == HLO_VIR_NE) return x;
  if (draft->flags != HLO_VIR_EQ || x->operands[0]->op == HLO_VIR_var ||
      x->operands[1]->op == HLO_VIR_var) {
    return NULL;
  }
  return hlo_vir_icmp(b, (hlo_vir_condition_t)negated[x->flags], x->operands[0], x->operands[1]);
}

// Folds x op y for a constant y.
static hlo_vir_value_t* fold_right_const(hlo_vir_builder_t* b, const hlo_vir_value_t* draft,
                                         hlo_vir_value_t* x, hlo_vir_value_t* y) {
  int64_t c = y->imm, term;
  hlo_vir_value_t* inner;
  switch (draft->op) {
    case HLO_VIR_iadd:
      if (c == 0) return x;
      inner = sum_with_const(x, &term);
      if (!inner) return NULL;
      return hlo_vir_index(b, HLO_VIR_iadd, inner, hlo_vir_iconst(b, wrap_add(term, c)));
    case HLO_VIR_isub:
      return hlo_vir_index(b, HLO_VIR_iadd, x, hlo_vir_iconst(b, (int64_t)(0 - (uint64_t)c)));
    case HLO_VIR_imul:
      if (c == 0) return y;
      if (c == 1) return x;
      inner = sum_with_const(x, &term);
      if (!inner) return NULL;
      return hlo_vir_index(b, HLO_VIR_iadd, hlo_vir_index(b, HLO_VIR_imul, inner, y),
                           hlo_vir_iconst(b, wrap_mul(term, c)));
    case HLO_VIR_idiv: return c == 1 ? x : NULL;
    case HLO_VIR_irem: return c == 1 ? hlo_vir_iconst(b, 0) : NULL;
    case HLO_VIR_icmp: return fold_truth(b, draft, x, c);
    case HLO_VIR_iand: return c == 0 ? y : c == -1 ? x : NULL;
    case HLO_VIR_ior: return c == -1 ? y : c == 0 ? x : NULL;
    case HLO_VIR_ixor: return c == 0 ? x : NULL;
    default: return NULL;
  }
}

// (x + c) + y -> (x + y) + c, unless the sum would be placed deeper in a loop than before.
static hlo_vir_value_t* move_term_out(hlo_vir_builder_t* b, hlo_vir_value_t* sum,
                                      hlo_vir_value_t* y) {
  int64_t term;
  hlo_vir_value_t* x = sum_with_const(sum, &term);
  if (!x || hlo_vir_value_block(x)->depth < hlo_vir_value_block(y)->depth) return NULL;
  return hlo_vir_index(b, HLO_VIR_iadd, hlo_vir_index(b, HLO_VIR_iadd, x, y),
                       hlo_vir_iconst(b, term));
}

// x - (y + c) and (x + c) - y likewise.
static hlo_vir_value_t* fold_difference(hlo_vir_builder_t* b, hlo_vir_value_t* x,
                                        hlo_vir_value_t* y) {
  int64_t x_term = 0, y_term = 0;
  hlo_vir_value_t* x_inner = sum_with_const(x, &x_term);
  hlo_vir_value_t* y_inner = sum_with_const(y, &y_term);
  if ((x_inner ? x_inner : x) != (y_inner ? y_inner : y)) return NULL;
  return hlo_vir_iconst(b, (int64_t)((uint64_t)x_term - (uint64_t)y_term));
}

static hlo_vir_value_t* fold_index_pair(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_value_t *x = draft->operands[0], *y = draft->operands[1], *folded;
  int64_t result;
  if (hlo_vir_is_const_index(x) && hlo_vir_is_const_index(y)) {
    bool is_defined = hlo_vir_index_pair(draft->op, draft->flags, x->imm, y->imm, &result);
    return is_defined ? hlo_vir_iconst(b, result) : NULL;
  }
  if (hlo_vir_is_const_index(x) && is_commutative(draft->op)) {
    return hlo_vir_index(b, (hlo_vir_opcode_t)draft->op, y, x);
  }
  if (hlo_vir_is_const_index(y)) return fold_right_const(b, draft, x, y);
  switch (draft->op) {
    case HLO_VIR_iadd:
      folded = move_term_out(b, x, y);
      return folded ? folded : move_term_out(b, y, x);
    case HLO_VIR_isub: return fold_difference(b, x, y);
    case HLO_VIR_imin:
    case HLO_VIR_imax:
    case HLO_VIR_iand:
    case HLO_VIR_ior: return x == y ? x : NULL;
    case HLO_VIR_ixor: return x == y ? hlo_vir_iconst(b, 0) : NULL;
    case HLO_VIR_icmp:
      if (x != y) return NULL;
      hlo_vir_index_pair(HLO_VIR_icmp, draft->flags, 0, 0, &result);
      return hlo_vir_iconst(b, result);
    default: return NULL;
  }
}

static hlo_vir_value_t* fold_shift(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_value_t* x = draft->operands[0];
  int64_t by = draft->imm, term;
  if (by == 0) return x;
  if (by < 0 || by >= INDEX_BITS) return NULL;
  if (hlo_vir_is_const_index(x)) {
    return hlo_vir_iconst(
        b, draft->op == HLO_VIR_ishl ? (int64_t)((uint64_t)x->imm << by) : x->imm >> by);
  }
  hlo_vir_value_t* inner = draft->op == HLO_VIR_ishl ? sum_with_const(x, &term) : NULL;
  if (!inner) return NULL;
  return hlo_vir_index(b, HLO_VIR_iadd,
                       hlo_vir_emit(b, HLO_VIR_ishl, draft->type, 0, by, 1, &inner),
                       hlo_vir_iconst(b, (int64_t)((uint64_t)term << by)));
}

static hlo_vir_value_t* fold_extension(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_value_t* x = draft->operands[0];
  if (hlo_vir_is_const_index(x)) {
    uint32_t above = INDEX_BITS - (uint32_t)draft->imm;
    return hlo_vir_iconst(b, (int64_t)((uint64_t)x->imm << above) >> above);
  }
  return x->op == HLO_VIR_isext && x->imm <= draft->imm ? x : NULL;
}

static hlo_vir_value_t* fold_index(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  switch (draft->op) {
    case HLO_VIR_ishl:
    case HLO_VIR_ishr: return fold_shift(b, draft);
    case HLO_VIR_isext: return fold_extension(b, draft);
    case HLO_VIR_iselect:
      if (hlo_vir_is_const_index(draft->operands[0])) {
        return draft->operands[is_const(draft->operands[0], 0) ? 2 : 1];
      }
      return draft->operands[1] == draft->operands[2] ? draft->operands[1] : NULL;
    default: return draft->operand_count == 2 ? fold_index_pair(b, draft) : NULL;
  }
}

// ---- addresses ---------------------------------------------------------------------------------

// Moves the constant term of one operand into the displacement if that stays within 32 bits.
static bool fold_term(hlo_vir_value_t* draft, uint32_t operand, uint32_t scale) {
  int64_t term, moved;
  if (operand >= draft->operand_count || !draft->operands[operand]) return false;
  hlo_vir_value_t* inner = sum_with_const(draft->operands[operand], &term);
  if (!inner || __builtin_mul_overflow(term, INT64_C(1) << scale, &moved) ||
      __builtin_add_overflow(moved, draft->imm, &moved) || moved != (int32_t)moved) {
    return false;
  }
  draft->operands[operand] = inner;
  draft->imm = moved;
  return true;
}

void hlo_vir_fold_address(hlo_vir_value_t* draft) {
  uint32_t base = hlo_vir_base_operand((hlo_vir_opcode_t)draft->op);
  bool has_index = draft->op != HLO_VIR_gather && draft->op != HLO_VIR_scatter;
  fold_term(draft, base, 0);
  if (has_index) fold_term(draft, base + 1, draft->flags & HLO_VIR_SCALE_MASK);
}

// ---- vectors of constants ----------------------------------------------------------------------

static uint64_t all_lanes(uint32_t lanes) {
  return lanes >= 64 ? UINT64_MAX : (UINT64_C(1) << lanes) - 1;
}

static hlo_vir_value_t* mask_const(hlo_vir_builder_t* b, uint32_t lanes, uint64_t bits) {
  return hlo_vir_emit(b, HLO_VIR_mask_const, hlo_vir_type(HLO_VIR_MASK, lanes), 0,
                      (int64_t)(bits & all_lanes(lanes)), 0, NULL);
}

static hlo_vir_value_t* fold_cross(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  if (!draft->operand_count) return NULL;
  const hlo_vir_value_t* x = draft->operands[0];
  switch (draft->op) {
    case HLO_VIR_mask_first:
      if (!hlo_vir_is_const_index(x)) return NULL;
      return mask_const(b, draft->type.lanes,
                        x->imm <= 0   ? 0
                        : x->imm < 64 ? all_lanes((uint32_t)x->imm)
                                      : UINT64_MAX);
    case HLO_VIR_mask_bits: return x->op == HLO_VIR_mask_const ? hlo_vir_iconst(b, x->imm) : NULL;
    case HLO_VIR_splat_index:
      if (!hlo_vir_is_const_index(x)) return NULL;
      return hlo_vir_const_bits(b, draft->type, (uint64_t)x->imm);
    case HLO_VIR_splat:
    case HLO_VIR_lower_half:
    case HLO_VIR_upper_half:
      if (x->op != HLO_VIR_const) return NULL;
      return hlo_vir_const_bits(b, draft->type, (uint64_t)x->imm);
    default: return NULL;
  }
}

static bool is_mask(const hlo_vir_value_t* value, uint64_t bits) {
  return value->op == HLO_VIR_mask_const &&
         ((uint64_t)value->imm ^ bits) << (64 - value->type.lanes) == 0;
}

static hlo_vir_value_t* fold_mask(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_value_t *x = draft->operands[0], *y = draft->operands[1];
  if (draft->op == HLO_VIR_mask_not) {
    return x->op == HLO_VIR_mask_const ? mask_const(b, x->type.lanes, ~(uint64_t)x->imm) : NULL;
  }
  if (x->op == HLO_VIR_mask_const) {
    hlo_vir_value_t* swap = x;
    x = y;
    y = swap;
  }
  bool none = is_mask(y, 0), all = is_mask(y, UINT64_MAX);
  switch (draft->op) {
    case HLO_VIR_mask_and: return none ? y : all || x == y ? x : NULL;
    case HLO_VIR_mask_or: return all ? y : none || x == y ? x : NULL;
    default: return none ? x : NULL;
  }
}

static hlo_vir_value_t* fold_select(const hlo_vir_value_t* draft) {
  if (is_mask(draft->operands[0], UINT64_MAX)) return draft->operands[1];
  if (is_mask(draft->operands[0], 0)) return draft->operands[2];
  return draft->operands[1] == draft->operands[2] ? draft->operands[1] : NULL;
}

// Returns true if the bits are a NaN of the element: the NaN of an operation depends on the
// machine.
static bool is_nan(hlo_vir_elem_t elem, uint64_t bits) {
  if (elem == HLO_VIR_F32) return (bits & 0x7fffffff) > 0x7f800000;
  return elem == HLO_VIR_F64 && (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

// Folds shifts of all lanes by the same constant.
static hlo_vir_value_t* fold_lane_shift(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  hlo_vir_value_t *x = draft->operands[0], *by = draft->operands[1];
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)draft->type.elem);
  if (by->op != HLO_VIR_const || x->op == HLO_VIR_const) return NULL;
  uint64_t count = (uint64_t)by->imm & (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
  bool is_arithmetic = draft->op == HLO_VIR_ashr;
  if (count >= bits && !is_arithmetic) return hlo_vir_const_bits(b, draft->type, 0);
  hlo_vir_opcode_t op = is_arithmetic              ? HLO_VIR_ashri
                        : draft->op == HLO_VIR_shl ? HLO_VIR_shli
                                                   : HLO_VIR_lshri;
  return hlo_vir_unary_imm(b, op, x, (int64_t)(count < bits ? count : bits - 1));
}

// Recognises x << n | x >> (width - n), as in random number generators.
static hlo_vir_value_t* fold_rotation(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  const hlo_vir_value_t *left = draft->operands[0], *right = draft->operands[1];
  if (left->op == HLO_VIR_lshri) left = draft->operands[1], right = draft->operands[0];
  if (left->op != HLO_VIR_shli || right->op != HLO_VIR_lshri) return NULL;
  hlo_vir_value_t* x = left->operands[0];
  int64_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)draft->type.elem);
  bool is_rotation = x == right->operands[0] && x->op != HLO_VIR_var && left->imm &&
                     left->imm + right->imm == bits;
  return is_rotation ? hlo_vir_unary_imm(b, HLO_VIR_rotli, x, left->imm) : NULL;
}

// Folds (x & bits) >> n if all bits that survive the shift are set.
static hlo_vir_value_t* fold_masked_shift(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  const hlo_vir_value_t* both = draft->operands[0];
  if (both->op != HLO_VIR_and) return NULL;
  const uint32_t at = both->operands[0]->op == HLO_VIR_const ? 0 : 1;
  hlo_vir_value_t *bits = both->operands[at], *x = both->operands[1 - at];
  const uint32_t above = 64 - hlo_vir_elem_bits((hlo_vir_elem_t)draft->type.elem);
  if (bits->op != HLO_VIR_const || x->op == HLO_VIR_var) return NULL;
  const bool is_whole = ~(uint64_t)bits->imm << above >> above >> draft->imm == 0;
  return is_whole ? hlo_vir_unary_imm(b, HLO_VIR_lshri, x, draft->imm) : NULL;
}

// Folds a pair of opposite bitcasts.
static hlo_vir_value_t* fold_bitcast(const hlo_vir_value_t* draft) {
  const hlo_vir_value_t* inner = draft->operands[0];
  if (inner->op != HLO_VIR_bitcast || inner->operands[0]->op == HLO_VIR_var) return NULL;
  return inner->operands[0]->type.elem == draft->type.elem ? inner->operands[0] : NULL;
}

static hlo_vir_value_t* fold_lanes(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  uint64_t bits[3] = {0}, result;
  for (uint32_t i = 0; i < draft->operand_count; ++i) {
    if (draft->operands[i]->op != HLO_VIR_const) return NULL;
    bits[i] = (uint64_t)draft->operands[i]->imm;
  }
  hlo_fp_state_t before = hlo_fp_enter(b->module->subnormals);
  bool has_value = hlo_vir_lane(draft, bits[0], bits[1], bits[2], &result);
  hlo_fp_leave(before);
  if (!has_value || is_nan((hlo_vir_elem_t)draft->type.elem, result)) return NULL;
  if (draft->type.elem == HLO_VIR_MASK) {
    return mask_const(b, draft->type.lanes, result ? UINT64_MAX : 0);
  }
  return hlo_vir_const_bits(b, draft->type, result);
}

hlo_vir_value_t* hlo_vir_fold(hlo_vir_builder_t* b, const hlo_vir_value_t* draft) {
  for (uint32_t i = 0; i < draft->operand_count; ++i) {
    if (!draft->operands[i]) return NULL;
  }
  if (draft->operand_count != hlo_vir_opcode_operand_count((hlo_vir_opcode_t)draft->op))
    return NULL;
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)draft->op)) {
    case HLO_VIR_INDEX_OP: return fold_index(b, draft);
    case HLO_VIR_CROSS: return fold_cross(b, draft);
    case HLO_VIR_MASK_OP: return fold_mask(b, draft);
    default: break;
  }
  hlo_vir_value_t* folded = NULL;
  switch (draft->op) {
    case HLO_VIR_select: return fold_select(draft);
    case HLO_VIR_shl:
    case HLO_VIR_lshr:
    case HLO_VIR_ashr: folded = fold_lane_shift(b, draft); break;
    case HLO_VIR_or:
    case HLO_VIR_xor: folded = fold_rotation(b, draft); break;
    case HLO_VIR_lshri: folded = fold_masked_shift(b, draft); break;
    case HLO_VIR_bitcast: folded = fold_bitcast(draft); break;
    default: break;
  }
  return folded ? folded : fold_lanes(b, draft);
}
