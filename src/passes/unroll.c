// SPDX-License-Identifier: Apache-2.0
// Pass unroll: replaces a loop with a small known trip count with copies of its body, so that the
// iterations fuse with each other and selections by the counter are constant (for example the
// rounds of a random number generator). Inner loops are unrolled first; the size of an unrolled
// loop is limited.
#include "base/tuning.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/splice.h"
#include "passes/trip_count.h"

typedef struct unroller {
  hlo_pass_ctx_t* ctx;
  hlo_splicer_t splicer;
} unroller_t;

// The comparison `counter direction limit`, or its mirror image; the loop ends when it is false.
typedef struct counter {
  uint32_t index;  // of the loop's operand
  hlo_dtype_t dtype;
  int64_t first, step, limit;
  int64_t lowest, highest;  // values that are counted
  int64_t direction;
  bool is_right;  // the comparison is `limit direction counter`
} counter_t;

static bool arg_index(const hlo_region_t* region, const hlo_value_t* value, uint32_t* out) {
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    if (region->args[i] != value) continue;
    *out = i;
    return true;
  }
  return false;
}

// Returns the value that a loop has before it and keeps for argument `value` of a region of it; any
// other value itself.
static const hlo_value_t* kept_value(const hlo_node_t* loop, const hlo_value_t* value) {
  const hlo_region_t* body = loop->regions[1];
  const hlo_node_t* end = hlo_region_terminator(body);
  uint32_t i;
  if (!arg_index(loop->regions[0], value, &i) || !end || i >= end->operand_count) return value;
  return hlo_node_operand(end, i) == body->args[i] ? hlo_node_operand(loop, i) : value;
}

// Matches a condition that only compares an argument with a constant, which the loop may carry.
static bool read_condition(const hlo_node_t* loop, counter_t* out) {
  const hlo_region_t* cond = loop->regions[0];
  const hlo_node_t* end = hlo_region_terminator(cond);
  const hlo_node_t* test = end && end->operand_count == 1 ? hlo_node_operand(end, 0)->def : NULL;
  if (!test || test->op != HLO_OP_compare || test->parent != cond) return false;
  for (const hlo_node_t* node = cond->first; node != end; node = node->next) {
    if (node != test && node->op != HLO_OP_constant) return false;
  }
  const hlo_value_t* left = kept_value(loop, hlo_node_operand(test, 0));
  const hlo_value_t* right = kept_value(loop, hlo_node_operand(test, 1));
  out->is_right = !arg_index(cond, left, &out->index);
  if (out->is_right && !arg_index(cond, right, &out->index)) return false;
  out->direction = hlo_node_attr_int(test, HLO_ATTR_comparison_direction, -1);
  out->dtype = left->type->dtype;
  return hlo_constant_integer(out->is_right ? left : right, &out->limit);
}

// Matches a body that adds a constant to that argument.
static bool read_step(const hlo_region_t* body, counter_t* out) {
  const hlo_node_t* end = hlo_region_terminator(body);
  if (!end || out->index >= end->operand_count) return false;
  const hlo_node_t* add = hlo_node_operand(end, out->index)->def;
  if (!add || add->op != HLO_OP_add) return false;
  uint32_t index;
  for (uint32_t side = 0; side < 2; ++side) {
    if (arg_index(body, hlo_node_operand(add, side), &index) && index == out->index &&
        hlo_constant_integer(hlo_node_operand(add, 1 - side), &out->step)) {
      return true;
    }
  }
  return false;
}

static bool holds(const counter_t* c, int64_t value) {
  int64_t a = c->is_right ? c->limit : value, b = c->is_right ? value : c->limit;
  switch (c->direction) {
    case HLO_COMPARISON_DIRECTION_EQ: return a == b;
    case HLO_COMPARISON_DIRECTION_NE: return a != b;
    case HLO_COMPARISON_DIRECTION_GE: return a >= b;
    case HLO_COMPARISON_DIRECTION_GT: return a > b;
    case HLO_COMPARISON_DIRECTION_LE: return a <= b;
    default: return a < b;
  }
}

// Returns the counter after some iterations; false if it leaves the range.
static bool value_after(const counter_t* c, int32_t iterations, int64_t* out) {
  return !__builtin_mul_overflow(c->step, (int64_t)iterations, out) &&
         !__builtin_add_overflow(*out, c->first, out) && *out >= c->lowest && *out <= c->highest;
}

static bool continues_after(const counter_t* c, int32_t iterations) {
  int64_t value;
  return value_after(c, iterations, &value) && holds(c, value);
}

int32_t hlo_loop_trip_count(const hlo_node_t* loop, int32_t most) {
  counter_t c = {0};
  if (!read_condition(loop, &c) || !read_step(loop->regions[1], &c) ||
      !hlo_constant_integer(hlo_node_operand(loop, c.index), &c.first)) {
    return -1;
  }
  uint32_t bits = hlo_dtype_info(c.dtype)->bits - 1;  // unsigned counters are limited to the signed
                                                      // range as well
  c.highest = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
  c.lowest = hlo_dtype_is_unsigned(c.dtype) ? 0 : -c.highest;
  if (c.limit < c.lowest || c.limit > c.highest) return -1;
  int32_t low = 0, high = most;
  if (c.direction == HLO_COMPARISON_DIRECTION_NE) {
    while (low < most && continues_after(&c, low)) ++low;
    high = low;
  } else if (!continues_after(&c, 0)) {
    high = 0;
  }
  // The other conditions hold in an interval, which the counter leaves once.
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (continues_after(&c, middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int64_t end;
  return value_after(&c, low, &end) && !holds(&c, end) ? low : -1;
}

static hlo_status_t unroll(unroller_t* unroller, hlo_node_t* loop, int32_t trip_count) {
  hlo_region_t* body = loop->regions[1];
  uint32_t count = loop->operand_count;
  hlo_value_t** values = hlo_arena_array(&unroller->ctx->scratch, count + 1, sizeof *values);
  if (!values) return hlo_arena_status(&unroller->ctx->scratch);
  for (uint32_t i = 0; i < count; ++i) values[i] = hlo_node_operand(loop, i);
  for (int32_t iteration = 0; iteration < trip_count; ++iteration) {
    HLO_TRY(hlo_splice(&unroller->splicer, body, values, loop, NULL, NULL));
    for (uint32_t i = 0; i < count; ++i) {
      values[i] = hlo_splice_result(&unroller->splicer, body, i);
    }
  }
  for (uint32_t i = 0; i < count; ++i) hlo_value_replace_uses(&loop->results[i], values[i]);
  hlo_node_erase(loop);
  ++unroller->ctx->step_count;
  return hlo_ok();
}

bool hlo_loop_is_plain(const hlo_node_t* node) {
  if (node->op != HLO_OP_while || node->extra || node->region_count != 2) return false;
  const hlo_node_t* end = hlo_region_terminator(node->regions[1]);
  return end && end->operand_count == node->operand_count &&
         node->result_count == node->operand_count &&
         node->regions[1]->arg_count == node->operand_count;
}

bool hlo_loop_keeps_types(const hlo_node_t* node) {
  if (!hlo_loop_is_plain(node)) return false;
  const hlo_node_t* end = hlo_region_terminator(node->regions[1]);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    if (hlo_node_operand_type(node, i) != type || hlo_node_operand_type(end, i) != type) {
      return false;
    }
  }
  return true;
}

static hlo_status_t unroll_loop(void* context, hlo_node_t* node) {
  if (!hlo_loop_keeps_types(node)) return hlo_ok();
  int32_t trip_count = hlo_loop_trip_count(node, HLO_TUNING_UNROLL_MAX_ITERATIONS);
  if (trip_count < 0) return hlo_ok();
  const uint32_t size = hlo_splice_size(node->regions[1]);
  if (trip_count > 1 && size * (uint32_t)trip_count > HLO_TUNING_UNROLL_MAX_OPS) return hlo_ok();
  return unroll(context, node, trip_count);
}

hlo_status_t hlo_pass_unroll(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  unroller_t unroller = {.ctx = ctx, .splicer.arena = &ctx->scratch};
  return hlo_module_walk(module, true, unroll_loop, &unroller);
}
