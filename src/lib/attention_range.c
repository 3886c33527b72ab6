// SPDX-License-Identifier: Apache-2.0
// Intervals of the steps of an attention over a block, from the indices of its queries and keys and
// from arrays along one of the two: where masks are the same for a whole block.
#include <math.h>

#include "base/float_bits.h"
#include "lib/attention_impl.h"

static double load_number(hlo_dtype_t dtype, const char* data, int64_t i) {
  return hlo_dtype_load_double(dtype, data + i * (int64_t)hlo_dtype_size_bytes(dtype));
}

// Arrays of floats along keys or rows are known if the block has one element of them; those along
// rows also for gradients with masks, where they decide which blocks contribute nothing.
static hlo_attention_range_t array_range(const hlo_attention_t* plan,
                                         const hlo_attention_block_t* block,
                                         const hlo_attention_step_t* step) {
  const hlo_attention_array_t* array = &plan->arrays[step->array];
  const hlo_dtype_t dtype = array->value->type->dtype;
  const bool is_table = array->row && array->key, is_list = array->row || array->key;
  hlo_attention_range_t range = {.is_known = !is_table};
  const bool is_read = plan->has_masks && array->row;
  if (is_table || (is_list && step->type == HLO_ATTENTION_FLOAT && !is_read)) {
    return (hlo_attention_range_t){0};
  }
  const int64_t stride = array->row ? array->row : array->key;
  const int64_t first = array->row ? block->row : block->key;
  const int64_t count = array->row ? block->row_count : array->key ? block->key_count : 1;
  range.low = INFINITY;
  range.high = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    const double x = load_number(dtype, block->arrays[step->array], (first + i) * stride);
    range.is_known &= x == x;
    if (x < range.low) range.low = x;
    if (x > range.high) range.high = x;
  }
  return range;
}

static hlo_attention_range_t truth(bool can_be_false, bool can_be_true) {
  return (hlo_attention_range_t){true, can_be_false ? 0 : 1, can_be_true ? 1 : 0};
}

static hlo_attention_range_t compare(int64_t direction, const hlo_attention_range_t* a,
                                     const hlo_attention_range_t* b) {
  if (!a->is_known || !b->is_known) return truth(true, true);
  const bool is_apart = a->high < b->low || b->high < a->low;
  const bool is_one = a->low == a->high && b->low == b->high && a->low == b->low;
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_EQ: return truth(!is_one, !is_apart);
    case HLO_COMPARISON_DIRECTION_NE: return truth(!is_apart, !is_one);
    case HLO_COMPARISON_DIRECTION_LT: return truth(a->high >= b->low, a->low < b->high);
    case HLO_COMPARISON_DIRECTION_LE: return truth(a->high > b->low, a->low <= b->high);
    case HLO_COMPARISON_DIRECTION_GT: return truth(a->low <= b->high, a->high > b->low);
    default: return truth(a->low < b->high, a->high >= b->low);
  }
}

// Gradients with masks: floats, whose operations are monotonic. Zero times anything counts as
// zero.
static hlo_attention_range_t float_range(const hlo_attention_step_t* step,
                                         const hlo_attention_range_t* a,
                                         const hlo_attention_range_t* b) {
  hlo_attention_range_t range = {.is_known = a->is_known && b->is_known};
  const hlo_attention_range_t zero = {true, 0, 0};
  switch (step->op) {
    case HLO_ATTENTION_ADD:
      range.low = a->low + b->low;
      range.high = a->high + b->high;
      break;
    case HLO_ATTENTION_SUBTRACT:
      range.low = a->low - b->high;
      range.high = a->high - b->low;
      break;
    case HLO_ATTENTION_MULTIPLY:
      return hlo_attention_range_is_zero(a) || hlo_attention_range_is_zero(b)
                 ? zero
                 : (hlo_attention_range_t){0};
    case HLO_ATTENTION_DIVIDE:
      return hlo_attention_range_is_zero(a) && b->is_known && b->low > 0
                 ? zero
                 : (hlo_attention_range_t){0};
    case HLO_ATTENTION_NEGATE:
      return hlo_attention_range_is_zero(a) ? zero : (hlo_attention_range_t){0};
    default:  // exp
      return a->is_known && a->high < HLO_ATTENTION_EXP_ZERO ? zero : (hlo_attention_range_t){0};
  }
  range.is_known &= range.low == range.low && range.high == range.high;
  return range;
}

// Sums and differences of integers, which may wrap, and operations on constants.
static hlo_attention_range_t arithmetic(const hlo_attention_step_t* step,
                                        const hlo_attention_range_t* a,
                                        const hlo_attention_range_t* b) {
  hlo_attention_range_t range = {.is_known = a->is_known && b->is_known};
  const bool is_add = step->op == HLO_ATTENTION_ADD;
  range.low = is_add ? a->low + b->low : a->low - b->high;
  range.high = is_add ? a->high + b->high : a->high - b->low;
  const bool is_exact = step->type == HLO_ATTENTION_INTEGER
                            ? range.low >= INT32_MIN && range.high <= INT32_MAX
                            : range.low == range.high;
  range.is_known &= is_exact;
  return range;
}

static hlo_attention_range_t select_range(const hlo_attention_range_t* which,
                                          const hlo_attention_range_t* yes,
                                          const hlo_attention_range_t* no) {
  if (which->low > 0) return *yes;
  if (which->high == 0) return *no;
  return (hlo_attention_range_t){yes->is_known && no->is_known, fmin(yes->low, no->low),
                                 fmax(yes->high, no->high)};
}

static hlo_attention_range_t index_range(const hlo_attention_step_t* step, int64_t first,
                                         int64_t count) {
  const double low = (double)(first + step->integer);
  return (hlo_attention_range_t){true, low, low + (double)(count - 1)};
}

static hlo_attention_range_t step_range(const hlo_attention_t* plan,
                                        const hlo_attention_block_t* block,
                                        const hlo_attention_step_t* step,
                                        const hlo_attention_range_t* ranges) {
  const hlo_attention_range_t *a = &ranges[step->operands[0]], *b = &ranges[step->operands[1]];
  const bool is_float = step->type == HLO_ATTENTION_FLOAT && plan->has_masks;
  switch (step->op) {
    case HLO_ATTENTION_MULTIPLY:
    case HLO_ATTENTION_DIVIDE:
    case HLO_ATTENTION_NEGATE:
    case HLO_ATTENTION_EXP: return is_float ? float_range(step, a, b) : (hlo_attention_range_t){0};
    case HLO_ATTENTION_ARRAY: return array_range(plan, block, step);
    case HLO_ATTENTION_CONSTANT: {
      const double x = step->type == HLO_ATTENTION_FLOAT ? step->number : step->integer;
      return (hlo_attention_range_t){x == x, x, x};
    }
    case HLO_ATTENTION_ROW: return index_range(step, block->row, block->row_count);
    case HLO_ATTENTION_KEY: return index_range(step, block->key, block->key_count);
    case HLO_ATTENTION_ADD:
    case HLO_ATTENTION_SUBTRACT: return is_float ? float_range(step, a, b) : arithmetic(step, a, b);
    case HLO_ATTENTION_COMPARE: return compare(step->direction, a, b);
    case HLO_ATTENTION_SELECT: return select_range(a, b, &ranges[step->operands[2]]);
    case HLO_ATTENTION_AND: return truth(a->low == 0 || b->low == 0, a->high > 0 && b->high > 0);
    case HLO_ATTENTION_OR: return truth(a->low == 0 && b->low == 0, a->high > 0 || b->high > 0);
    case HLO_ATTENTION_NOT: return truth(a->high > 0, a->low == 0);
    case HLO_ATTENTION_CONVERT: return *a;
    default: return (hlo_attention_range_t){0};
  }
}

void hlo_attention_find_ranges(const hlo_attention_t* plan, const hlo_attention_block_t* block,
                               hlo_attention_range_t* ranges) {
  for (uint32_t i = 0; i < plan->step_count; ++i) {
    const hlo_attention_step_t* step = &plan->steps[i];
    ranges[i] = step_range(plan, block, step, ranges);
    if (!ranges[i].is_known && step->type == HLO_ATTENTION_BOOLEAN) ranges[i] = truth(true, true);
  }
}
