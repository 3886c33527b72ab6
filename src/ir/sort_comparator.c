// SPDX-License-Identifier: Apache-2.0
// Recognises comparators of keys in their graph, and reads selections of the best elements.
#include "ir/sort_comparator.h"

#include "ir/custom_call.h"

// One operand of a comparison.
typedef struct {
  uint32_t arg;
  int part;
  bool canonical;
} source_t;

static const hlo_node_t* defined_by(const hlo_value_t* value, hlo_op_t op) {
  return value->def && value->def->op == op ? value->def : NULL;
}

static int64_t direction_of(const hlo_node_t* compare) {
  return hlo_node_attr(compare, HLO_ATTR_comparison_direction)->i;
}

static bool is_compare_of(const hlo_value_t* value, int64_t direction, const hlo_value_t* lhs,
                          const hlo_value_t* rhs) {
  const hlo_node_t* compare = defined_by(value, HLO_OP_compare);
  return compare && direction_of(compare) == direction && hlo_node_operand(compare, 0) == lhs &&
         hlo_node_operand(compare, 1) == rhs;
}

// Returns true for a constant scalar that is zero, or NaN.
static bool is_constant(const hlo_value_t* value, bool is_nan) {
  const hlo_node_t* constant = defined_by(value, HLO_OP_constant);
  const hlo_attr_t* literal = constant ? hlo_node_attr(constant, HLO_ATTR_value) : NULL;
  if (!literal || literal->kind != HLO_ATTR_KIND_LITERAL || !literal->literal->data_bytes ||
      !hlo_dtype_is_float(literal->literal->dtype)) {
    return false;
  }
  const double x = hlo_dtype_load_double(literal->literal->dtype, literal->literal->data);
  return is_nan ? x != x : x == 0;
}

// Returns x of select(x != x, NaN, select(x == 0, 0, x)), or NULL.
static const hlo_value_t* canonical_of(const hlo_value_t* value) {
  const hlo_node_t* outer = defined_by(value, HLO_OP_select);
  if (!outer || !is_constant(hlo_node_operand(outer, 1), true)) return NULL;
  const hlo_node_t* inner = defined_by(hlo_node_operand(outer, 2), HLO_OP_select);
  if (!inner || !is_constant(hlo_node_operand(inner, 1), false)) return NULL;
  const hlo_value_t* x = hlo_node_operand(inner, 2);
  const hlo_node_t* is_zero = defined_by(hlo_node_operand(inner, 0), HLO_OP_compare);
  const bool fits = is_compare_of(hlo_node_operand(outer, 0), HLO_COMPARISON_DIRECTION_NE, x, x) &&
                    is_zero && direction_of(is_zero) == HLO_COMPARISON_DIRECTION_EQ &&
                    hlo_node_operand(is_zero, 0) == x &&
                    is_constant(hlo_node_operand(is_zero, 1), false);
  return fits ? x : NULL;
}

static bool source_of(const hlo_region_t* comparator, const hlo_value_t* value, source_t* out) {
  const hlo_value_t* x = canonical_of(value);
  out->canonical = x != NULL;
  if (!x) x = value;
  const hlo_node_t* real = defined_by(x, HLO_OP_real);
  const hlo_node_t* imag = defined_by(x, HLO_OP_imag);
  out->part = imag != NULL;
  if (real || imag) x = hlo_node_operand(real ? real : imag, 0);
  out->arg = x->number;
  return !x->def && x->region == comparator &&
         (real || imag || !hlo_dtype_is_complex(x->type->dtype)) && !x->type->quant;
}

// Matches a comparison of one operand's two arguments; *out_direction is that with the first
// argument on the left.
static bool match_compare(const hlo_region_t* comparator, const hlo_value_t* value,
                          hlo_sort_key_t* out_key, int64_t* out_direction) {
  const hlo_node_t* compare = defined_by(value, HLO_OP_compare);
  source_t lhs, rhs;
  if (!compare || !source_of(comparator, hlo_node_operand(compare, 0), &lhs) ||
      !source_of(comparator, hlo_node_operand(compare, 1), &rhs) || lhs.part != rhs.part ||
      lhs.canonical != rhs.canonical || lhs.arg / 2 != rhs.arg / 2 || lhs.arg == rhs.arg) {
    return false;
  }
  const hlo_attr_t* type = hlo_node_attr(compare, HLO_ATTR_compare_type);
  const bool is_total = type && type->i == HLO_COMPARISON_TYPE_TOTALORDER;
  int64_t direction = direction_of(compare);
  if (lhs.arg > rhs.arg) {
    if (direction == HLO_COMPARISON_DIRECTION_LT)
      direction = HLO_COMPARISON_DIRECTION_GT;
    else if (direction == HLO_COMPARISON_DIRECTION_GT)
      direction = HLO_COMPARISON_DIRECTION_LT;
  }
  *out_key = (hlo_sort_key_t){.operand = lhs.arg / 2,
                              .part = lhs.part,
                              .descending = direction == HLO_COMPARISON_DIRECTION_GT,
                              .canonical = lhs.canonical || !is_total};
  *out_direction = direction;
  return true;
}

static bool match_order(const hlo_region_t* comparator, const hlo_value_t* value,
                        hlo_sort_key_t* out_key) {
  int64_t direction = 0;
  return match_compare(comparator, value, out_key, &direction) &&
         (direction == HLO_COMPARISON_DIRECTION_LT || direction == HLO_COMPARISON_DIRECTION_GT);
}

// Matches equality of the same key.
static bool match_equal(const hlo_region_t* comparator, const hlo_value_t* value,
                        const hlo_sort_key_t* key) {
  hlo_sort_key_t equal;
  int64_t direction = 0;
  return match_compare(comparator, value, &equal, &direction) &&
         direction == HLO_COMPARISON_DIRECTION_EQ && equal.operand == key->operand &&
         equal.part == key->part && equal.canonical == key->canonical;
}

uint32_t hlo_sort_keys_of(const hlo_region_t* comparator, hlo_sort_key_t* out_keys) {
  const hlo_node_t* end = hlo_region_terminator(comparator);
  if (!end || end->operand_count != 1) return 0;
  const hlo_value_t* value = hlo_node_operand(end, 0);
  for (uint32_t count = 0; count < HLO_SORT_KEYS_MAX; count++) {
    hlo_sort_key_t* key = &out_keys[count];
    if (match_order(comparator, value, key)) return count + 1;
    const hlo_node_t* either = defined_by(value, HLO_OP_or);
    if (!either) return 0;
    const int first = match_order(comparator, hlo_node_operand(either, 0), key) ? 0 : 1;
    if (first == 1 && !match_order(comparator, hlo_node_operand(either, 1), key)) return 0;
    const hlo_node_t* both = defined_by(hlo_node_operand(either, first == 0 ? 1 : 0), HLO_OP_and);
    if (!both) return 0;
    const bool equal_first = match_equal(comparator, hlo_node_operand(both, 0), key);
    if (!equal_first && !match_equal(comparator, hlo_node_operand(both, 1), key)) return 0;
    value = hlo_node_operand(both, equal_first ? 1 : 0);
  }
  return 0;
}

// ---- selections of the best elements

static const hlo_attr_t* setting(const hlo_node_t* node, const char* key) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  const hlo_attr_t* attributes = hlo_attr_dict_get(node->extra, "mhlo.attributes");
  if (!value && attributes && attributes->kind == HLO_ATTR_KIND_DICT) {
    value = hlo_attr_dict_get(attributes, key);
  }
  return value;
}

static hlo_status_t misfit(const hlo_node_t* node) {
  return hlo_node_invalid(node, "the operands, results and attributes do not match");
}

// Sets *out_largest if the called comparator prefers larger elements.
static hlo_status_t read_comparator(const hlo_node_t* node, bool* out_largest) {
  const hlo_attr_t* called = hlo_node_attr(node, HLO_ATTR_called_computations);
  const hlo_attr_t* symbol =
      called && called->kind == HLO_ATTR_KIND_ARRAY && called->count ? called->items[0] : NULL;
  const hlo_func_t* func = symbol && symbol->kind == HLO_ATTR_KIND_SYMBOL
                               ? hlo_module_find_func(hlo_region_module(node->parent), symbol->text)
                               : NULL;
  if (!func || !func->body) return misfit(node);
  hlo_sort_key_t keys[HLO_SORT_KEYS_MAX];
  if (hlo_sort_keys_of(func->body, keys) != 1 || keys[0].operand != 0) {
    return hlo_node_unimplemented(node, "the comparator @%s does not compare two values",
                                  func->name);
  }
  *out_largest = keys[0].descending;
  return hlo_ok();
}

// (values) -> the largest (or smallest) elements of the last dimension, their positions
static hlo_status_t read_custom(const hlo_node_t* node, uint32_t rank, hlo_top_k_t* out) {
  const hlo_attr_t *k = setting(node, "k"), *largest = setting(node, "largest");
  *out = (hlo_top_k_t){.axis = rank - 1, .is_canonical = true};
  out->is_largest = !largest || largest->i != 0;
  out->kept = k && k->kind == HLO_ATTR_KIND_INT ? k->i : node->results[0].type->dims[rank - 1];
  return !largest && hlo_node_attr(node, HLO_ATTR_called_computations)
             ? read_comparator(node, &out->is_largest)
             : hlo_ok();
}

// (values, companions, initial values...) -> the best elements of a dimension by the called
// comparator, their companions
static hlo_status_t read_approximate(const hlo_node_t* node, uint32_t rank, hlo_top_k_t* out) {
  const hlo_attr_t* axis = setting(node, "reduction_dim");
  if (node->operand_count < 4 || !axis || axis->kind != HLO_ATTR_KIND_INT || axis->i < 0 ||
      axis->i >= (int64_t)rank) {
    return misfit(node);
  }
  *out = (hlo_top_k_t){.axis = (uint32_t)axis->i, .is_canonical = true, .has_companion = true};
  out->kept = node->results[0].type->dims[axis->i];
  const hlo_attr_t* fallback = setting(node, "is_fallback");
  out->is_fallback = fallback && fallback->i != 0;
  return read_comparator(node, &out->is_largest);
}

hlo_status_t hlo_top_k_of(const hlo_node_t* node, hlo_top_k_t* out_top_k) {
  const hlo_type_t* type = node->operand_count ? hlo_node_operand_type(node, 0) : NULL;
  if (!type || !hlo_type_is_tensor(type) || type->rank == 0 || node->result_count != 2 ||
      node->results[0].type->rank != type->rank || hlo_dtype_is_complex(type->dtype) ||
      node->results[0].type->dtype != type->dtype) {
    return misfit(node);
  }
  if (node->op == HLO_OP_custom_call) {
    return hlo_custom_function_of(node) == HLO_CUSTOM_top_k
               ? read_custom(node, type->rank, out_top_k)
               : read_approximate(node, type->rank, out_top_k);
  }
  *out_top_k = (hlo_top_k_t){
      .axis = type->rank - 1, .kept = hlo_node_attr_int(node, HLO_ATTR_k, 0), .is_largest = true};
  return hlo_ok();
}
