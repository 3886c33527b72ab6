// SPDX-License-Identifier: Apache-2.0
// sort by any comparator as merge exchange, a network of comparisons that are independent within a
// step: each step compares all pairs at once, of all lines, and moves the elements of those that
// are out of order. source: Knuth, The Art of Computer Programming, 5.2.2, algorithm M
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"

typedef struct sort {
  hlo_pass_ctx_t* ctx;
  hlo_node_t* node;
  const hlo_region_t* body;
  uint32_t count;  // of operands; value `count` is the position before sorting
  int64_t axis, length;
  const hlo_type_t *number, *numbers;  // of a position, of all positions
} sort_t;

/// The numbers of a step: elements i and i + distance are compared if i & bit equals rest.
typedef struct step {
  hlo_value_t *bit, *half, *rest, *distance;
} step_t;
enum { STEP_VALUES = 4 };

static bool read_sort(hlo_pass_ctx_t* ctx, hlo_node_t* node, sort_t* s) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  *s = (sort_t){ctx, node, node->regions[0], .count = node->operand_count};
  s->axis = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  if (s->axis < 0) s->axis += type->rank;
  if (s->count >= HLO_EXPAND_VALUES_MAX || s->axis < 0 || s->axis >= (int64_t)type->rank ||
      !hlo_expand_can_apply(s->body, 2 * s->count, 1)) {
    return false;
  }
  for (uint32_t i = 0; i < s->count; ++i) {
    const hlo_type_t* operand = hlo_node_operand_type(node, i);
    if (!hlo_type_is_plain(operand) || hlo_type_element_count(operand) == 0 ||
        operand->rank != type->rank || operand->dtype != s->body->args[2 * i]->type->dtype) {
      return false;
    }
  }
  s->length = type->dims[s->axis];
  s->number = hlo_loop_number(node->parent->module, 4 * s->length);
  s->numbers = s->number ? hlo_type_with_dtype(node->parent->module, type, s->number->dtype) : NULL;
  return s->numbers != NULL;
}

static hlo_value_t* integer(const sort_t* s, hlo_node_t* at, int64_t value) {
  return hlo_build_integers(at, s->number, &value);
}

static hlo_value_t* spread(const sort_t* s, hlo_node_t* at, hlo_value_t* number) {
  return hlo_build_broadcast(at, s->numbers, number, NULL);
}

// Returns the elements `distance` after each element, or before it; the first or last ones are
// arbitrary.
static hlo_value_t* shift(const sort_t* s, hlo_node_t* at, hlo_value_t* x, hlo_value_t* distance,
                          bool is_after) {
  if (!x || !distance) return NULL;
  hlo_module_t* module = at->parent->module;
  const uint32_t rank = x->type->rank;
  int64_t low[HLO_RANK_MAX] = {0}, high[HLO_RANK_MAX] = {0};
  *(is_after ? &high[s->axis] : &low[s->axis]) = s->length;
  const hlo_type_t* scalar = hlo_type_tensor(module, x->type->dtype, 0, NULL);
  hlo_value_t* zero = scalar ? hlo_build_splat(at, scalar, 0) : NULL;
  hlo_value_t* operands[1 + HLO_RANK_MAX] = {hlo_build_pad(at, x, zero, low, high, NULL)};
  for (uint32_t d = 0; d < rank; ++d) operands[1 + d] = integer(s, at, 0);
  operands[1 + s->axis] =
      is_after ? distance
               : hlo_build_binary(at, HLO_OP_subtract, integer(s, at, s->length), distance);
  const hlo_named_attr_t sizes = {HLO_ATTR_slice_sizes, hlo_attr_ints(module, rank, x->type->dims)};
  return hlo_build_node(at, HLO_OP_dynamic_slice, x->type, 1 + rank, operands, 1, &sizes);
}

// Sets *is_first for elements that are the first of a pair, *is_second for the second ones.
static void find_pairs(const sort_t* s, hlo_node_t* at, const step_t* step, hlo_value_t** is_first,
                       hlo_value_t** is_second) {
  hlo_value_t *i = hlo_build_iota(at, s->numbers, s->axis), *bit = spread(s, at, step->bit);
  hlo_value_t *rest = spread(s, at, step->rest), *distance = spread(s, at, step->distance);
  hlo_value_t* after = hlo_build_binary(at, HLO_OP_add, i, distance);
  hlo_value_t* before = hlo_build_binary(at, HLO_OP_subtract, i, distance);
  hlo_value_t* end = spread(s, at, integer(s, at, s->length));
  *is_first = hlo_build_binary(at, HLO_OP_and,
                               hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, after, end),
                               hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ,
                                                 hlo_build_binary(at, HLO_OP_and, i, bit), rest));
  *is_second = hlo_build_binary(
      at, HLO_OP_and,
      hlo_build_compare(at, HLO_COMPARISON_DIRECTION_GE, before, spread(s, at, integer(s, at, 0))),
      hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ,
                        hlo_build_binary(at, HLO_OP_and, before, bit), rest));
}

// Compares each element with the other one of its pair, and keeps the one that belongs there. Of
// two elements the later one comes first if it is less, as in a stable merge sort.
static bool exchange(const sort_t* s, hlo_node_t* at, const step_t* step, hlo_value_t* const* x,
                     hlo_value_t** next) {
  hlo_value_t *is_first, *is_second, *others[HLO_EXPAND_VALUES_MAX], *is_less = NULL;
  hlo_value_t* args[2 * HLO_EXPAND_VALUES_MAX];
  find_pairs(s, at, step, &is_first, &is_second);
  for (uint32_t i = 0; i <= s->count; ++i) {
    others[i] = hlo_build_select(at, is_first, shift(s, at, x[i], step->distance, true),
                                 shift(s, at, x[i], step->distance, false));
  }
  hlo_value_t* is_early =
      hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, x[s->count], others[s->count]);
  for (uint32_t i = 0; i < s->count; ++i) {
    args[2 * i] = hlo_build_select(at, is_early, others[i], x[i]);
    args[2 * i + 1] = hlo_build_select(at, is_early, x[i], others[i]);
  }
  if (!hlo_expand_apply(s->ctx, at, s->body, args, &is_less)) return false;
  // The element belongs before the other one if it is early and that is not less, or late and less.
  hlo_value_t* is_before = hlo_build_binary(at, HLO_OP_xor, is_early, is_less);
  hlo_value_t* is_moved = hlo_build_select(at, is_first, hlo_build_unary(at, HLO_OP_not, is_before),
                                           hlo_build_binary(at, HLO_OP_and, is_second, is_before));
  for (uint32_t i = 0; i <= s->count; ++i) {
    next[i] = hlo_build_select(at, is_moved, others[i], x[i]);
  }
  return true;
}

// After the last step of a bit, distance - bit was 0: the next bit begins.
static void next_step(const sort_t* s, hlo_node_t* at, const step_t* step, int64_t top,
                      hlo_value_t** next) {
  hlo_value_t* one = integer(s, at, 1);
  hlo_value_t* is_last = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ, step->half, step->bit);
  hlo_value_t* bit = hlo_build_binary(at, HLO_OP_shift_right_logical, step->bit, one);
  hlo_value_t* half = hlo_build_binary(at, HLO_OP_shift_right_logical, step->half, one);
  hlo_value_t* gap = hlo_build_binary(at, HLO_OP_subtract, step->half, step->bit);
  next[0] = hlo_build_select(at, is_last, bit, step->bit);
  next[1] = hlo_build_select(at, is_last, integer(s, at, top), half);
  next[2] = hlo_build_select(at, is_last, integer(s, at, 0), step->bit);
  next[3] = hlo_build_select(at, is_last, bit, gap);
}

bool hlo_expand_sort(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  sort_t s;
  if (!read_sort(ctx, node, &s)) return false;
  int64_t bits = 0;
  while (s.length > (int64_t)1 << bits) ++bits;
  const int64_t top = bits ? (int64_t)1 << (bits - 1) : 0;
  hlo_value_t *values[STEP_VALUES + HLO_EXPAND_VALUES_MAX],
      *next[STEP_VALUES + HLO_EXPAND_VALUES_MAX];
  for (uint32_t i = 0; i < STEP_VALUES; ++i) values[i] = integer(&s, node, i == 2 ? 0 : top);
  for (uint32_t i = 0; i < s.count; ++i) values[STEP_VALUES + i] = hlo_node_operand(node, i);
  values[STEP_VALUES + s.count] = hlo_build_iota(node, s.numbers, s.axis);
  hlo_loop_t loop;
  if (!hlo_loop_begin(node, s.number, bits * (bits + 1) / 2, STEP_VALUES + s.count + 1, values,
                      &loop)) {
    return false;
  }
  const step_t step = {loop.values[0], loop.values[1], loop.values[2], loop.values[3]};
  next_step(&s, loop.end, &step, top, next);
  if (!exchange(&s, loop.end, &step, loop.values + STEP_VALUES, next + STEP_VALUES) ||
      !hlo_loop_finish(&loop, next, values)) {
    return false;
  }
  for (uint32_t i = 0; i < s.count; ++i) results[i] = values[STEP_VALUES + i];
  return true;
}
