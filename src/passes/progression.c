// SPDX-License-Identifier: Apache-2.0
// Arithmetic progressions (see progression.h).
#include "passes/progression.h"

bool hlo_progression_fits(hlo_progression_t p, int64_t count, hlo_dtype_t dtype) {
  const bool is_unsigned = dtype == HLO_DTYPE_PRED || hlo_dtype_is_unsigned(dtype);
  const uint32_t bits = hlo_dtype_info(dtype)->bits - (is_unsigned ? 0 : 1);
  const int64_t high = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
  const int64_t low = is_unsigned ? 0 : -high;
  int64_t last;
  if (p.step && count > high) return false;  // an iota of this type would wrap around
  return !__builtin_mul_overflow(p.step, count, &last) &&
         !__builtin_add_overflow(p.first, last, &last) && p.first >= low && p.first <= high &&
         last >= low && last <= high;
}

// The least and the largest difference of two progressions at one index.
typedef struct range {
  int64_t low, high;
} range_t;

static bool difference(hlo_progression_t x, hlo_progression_t y, int64_t count, range_t* out) {
  int64_t first, step, last;
  if (__builtin_sub_overflow(x.first, y.first, &first) ||
      __builtin_sub_overflow(x.step, y.step, &step) ||
      __builtin_mul_overflow(step, count - 1, &last) ||
      __builtin_add_overflow(first, last, &last)) {
    return false;
  }
  *out = (range_t){first < last ? first : last, first < last ? last : first};
  return true;
}

// Returns what x - y < 0, == 0 or > 0 decides: 1, 0, or -1 where it depends on the index.
static int compare(int64_t direction, range_t d) {
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_LT: return d.high < 0 ? 1 : d.low >= 0 ? 0 : -1;
    case HLO_COMPARISON_DIRECTION_LE: return d.high <= 0 ? 1 : d.low > 0 ? 0 : -1;
    case HLO_COMPARISON_DIRECTION_GT: return d.low > 0 ? 1 : d.high <= 0 ? 0 : -1;
    case HLO_COMPARISON_DIRECTION_GE: return d.low >= 0 ? 1 : d.high < 0 ? 0 : -1;
    case HLO_COMPARISON_DIRECTION_EQ:
      return d.low == 0 && d.high == 0 ? 1 : d.low > 0 || d.high < 0 ? 0 : -1;
    case HLO_COMPARISON_DIRECTION_NE:
      return d.low == 0 && d.high == 0 ? 0 : d.low > 0 || d.high < 0 ? 1 : -1;
    default: return -1;
  }
}

bool hlo_progression_apply(const hlo_node_t* node, hlo_progression_t x, hlo_progression_t y,
                           int64_t count, hlo_progression_t* out) {
  range_t d;
  switch (node->op) {
    case HLO_OP_add:
      return node->results[0].type->dtype != HLO_DTYPE_PRED &&
             !__builtin_add_overflow(x.first, y.first, &out->first) &&
             !__builtin_add_overflow(x.step, y.step, &out->step);
    case HLO_OP_subtract:
      return !__builtin_sub_overflow(x.first, y.first, &out->first) &&
             !__builtin_sub_overflow(x.step, y.step, &out->step);
    case HLO_OP_multiply:
      return (!x.step || !y.step) && !__builtin_mul_overflow(x.first, y.first, &out->first) &&
             !__builtin_mul_overflow(x.step ? x.step : y.step, x.step ? y.first : x.first,
                                     &out->step);
    case HLO_OP_maximum:
    case HLO_OP_minimum:
      if (!difference(x, y, count, &d) || (d.low < 0 && d.high > 0)) return false;
      *out = (d.low >= 0) == (node->op == HLO_OP_maximum) ? x : y;
      return true;
    case HLO_OP_compare: {
      const int64_t direction = hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1);
      const int decided = difference(x, y, count, &d) ? compare(direction, d) : -1;
      *out = (hlo_progression_t){.first = decided};
      return decided >= 0;
    }
    case HLO_OP_and:
      *out = (hlo_progression_t){.first = x.first & y.first};
      return node->results[0].type->dtype == HLO_DTYPE_PRED;
    default: return false;
  }
}
