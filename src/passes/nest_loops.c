// SPDX-License-Identifier: Apache-2.0
// Pass nest_loops: turns a loop that counts through the points of a grid into nested loops, one per
// dimension of the grid.
//
// Such a loop, as interpret mode of Pallas makes it, carries the indices of the point: the last one
// goes up in every iteration and returns to zero at its bound, each other one goes up when the one
// after it returns. Nested loops have plain counters instead, of which pass batch_loops proves that
// iterations are independent, dimension by dimension.
#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/loop.h"
#include "passes/passes.h"
#include "passes/splice.h"
#include "passes/trip_count.h"

// An index of the point, of which the loop carries value number `value`.
typedef struct index {
  uint32_t value;
  int64_t bound;
} index_t;

typedef struct grid {
  hlo_node_t* loop;
  hlo_region_t* body;
  uint32_t rank;
  index_t indices[HLO_RANK_MAX];         // from the innermost on
  const hlo_value_t* last_carry;         // true when all of these return to zero
  bool is_counter[HLO_LOOP_VALUES_MAX];  // carried values that go up in every iteration
} grid_t;

// ---- recognition

static bool is_integer(const hlo_value_t* value, int64_t expected) {
  int64_t found;
  return hlo_constant_integer(value, &found) && found == expected;
}

// Matches argument + 1.
static bool is_next(const hlo_value_t* value, const hlo_value_t* arg) {
  const hlo_node_t* add = value->def;
  if (!add || add->op != HLO_OP_add) return false;
  for (uint32_t side = 0; side < 2; ++side) {
    if (hlo_node_operand(add, side) == arg && is_integer(hlo_node_operand(add, 1 - side), 1)) {
      return true;
    }
  }
  return false;
}

// Returns the operand that a comparison for equality has beside an integer constant.
static const hlo_value_t* compared(const hlo_value_t* test, int64_t* out_bound) {
  const hlo_node_t* node = test->def;
  if (!node || node->op != HLO_OP_compare ||
      hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1) != HLO_COMPARISON_DIRECTION_EQ) {
    return NULL;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (hlo_constant_integer(hlo_node_operand(node, 1 - side), out_bound)) {
      return hlo_node_operand(node, side);
    }
  }
  return NULL;
}

// Matches carried value i as the next index after those found: it returns to zero when it reaches
// its bound, and goes up when the index inside of it returns, or always.
static bool read_index(grid_t* grid, uint32_t i) {
  const hlo_value_t* arg = grid->body->args[i];
  const hlo_node_t* next = hlo_node_operand(hlo_region_terminator(grid->body), i)->def;
  index_t* index = &grid->indices[grid->rank];
  if (!next || next->op != HLO_OP_select || next->parent != grid->body || arg->type->rank ||
      !hlo_dtype_is_integer(arg->type->dtype) || !is_integer(hlo_node_operand(grid->loop, i), 0) ||
      !is_integer(hlo_node_operand(next, 1), 0)) {
    return false;
  }
  const hlo_value_t* counted = hlo_node_operand(next, 2);
  const hlo_value_t* carry = hlo_node_operand(next, 0);
  if (compared(carry, &index->bound) != counted || index->bound < 1) return false;
  if (grid->last_carry) {
    const hlo_node_t* select = counted->def;
    if (!select || select->op != HLO_OP_select || hlo_node_operand(select, 0) != grid->last_carry ||
        hlo_node_operand(select, 2) != arg) {
      return false;
    }
    counted = hlo_node_operand(select, 1);
  }
  if (!is_next(counted, arg)) return false;
  index->value = i;
  grid->last_carry = carry;
  ++grid->rank;
  return true;
}

// Finds the indices of a loop of `count` iterations. False unless they go through the grid once.
static bool read_grid(grid_t* grid, int32_t count) {
  int64_t points = 1;
  for (bool found = true; found && grid->rank < HLO_RANK_MAX;) {
    found = false;
    for (uint32_t i = 0; i < grid->body->arg_count && !found; ++i) found = read_index(grid, i);
    if (found && __builtin_mul_overflow(points, grid->indices[grid->rank - 1].bound, &points)) {
      return false;
    }
  }
  return grid->rank > 0 && points == count;
}

// Finds the values to which each iteration adds one.
static void read_counters(grid_t* grid) {
  const hlo_node_t* end = hlo_region_terminator(grid->body);
  int64_t first;
  for (uint32_t i = 0; i < grid->body->arg_count; ++i) {
    grid->is_counter[i] = hlo_constant_integer(hlo_node_operand(grid->loop, i), &first) &&
                          is_next(hlo_node_operand(end, i), grid->body->args[i]);
  }
}

// ---- construction

static bool is_index(const grid_t* grid, uint32_t value) {
  for (uint32_t k = 0; k < grid->rank; ++k) {
    if (grid->indices[k].value == value) return true;
  }
  return false;
}

// Returns true if the nested loops carry value i.
static bool is_carried(const grid_t* grid, uint32_t i) {
  return !grid->is_counter[i] && !is_index(grid, i);
}

// Returns the value of a counter in the innermost body: its first value and the number of the
// point.
static hlo_value_t* counter_at(const grid_t* grid, const hlo_loop_t* loops, uint32_t i) {
  hlo_node_t* end = loops[0].end;
  hlo_value_t* first = hlo_node_operand(grid->loop, i);
  const hlo_dtype_t dtype = first->type->dtype;
  hlo_value_t* number = NULL;
  for (uint32_t k = grid->rank; k-- > 0;) {
    hlo_value_t* index = hlo_build_convert(end, dtype, loops[k].number);
    if (number) {
      hlo_value_t* bound = hlo_build_integers(end, first->type, &grid->indices[k].bound);
      number = hlo_build_binary(end, HLO_OP_multiply, number, bound);
      index = hlo_build_binary(end, HLO_OP_add, number, index);
    }
    number = index;
  }
  return hlo_build_binary(end, HLO_OP_add, number, first);
}

// Opens the loops, outermost first. values[i] becomes that of carried value i in the innermost
// body.
static bool open_loops(const grid_t* grid, hlo_loop_t* loops, hlo_value_t** values) {
  hlo_value_t* carried[HLO_LOOP_VALUES_MAX];
  hlo_node_t* at = grid->loop;
  for (uint32_t k = grid->rank; k-- > 0;) {
    const index_t* index = &grid->indices[k];
    uint32_t count = 0;
    for (uint32_t i = 0; i < grid->loop->operand_count; ++i) {
      if (is_carried(grid, i)) carried[count++] = values[i];
    }
    if (!hlo_loop_begin(at, grid->body->args[index->value]->type, index->bound, count, carried,
                        &loops[k])) {
      return false;
    }
    at = loops[k].end;
    count = 0;
    for (uint32_t i = 0; i < grid->loop->operand_count; ++i) {
      if (is_carried(grid, i)) values[i] = loops[k].values[count++];
    }
    values[index->value] = loops[k].number;
  }
  for (uint32_t i = 0; i < grid->loop->operand_count; ++i) {
    if (grid->is_counter[i] && !(values[i] = counter_at(grid, loops, i))) return false;
  }
  return true;
}

// Returns what the loop leaves of an index or a counter.
static hlo_value_t* last_value(const grid_t* grid, uint32_t i, int64_t points) {
  hlo_value_t* first = hlo_node_operand(grid->loop, i);
  if (!grid->is_counter[i]) return first;
  return hlo_build_binary(grid->loop, HLO_OP_add, first,
                          hlo_build_integers(grid->loop, first->type, &points));
}

static hlo_status_t nest(hlo_splicer_t* splicer, const grid_t* grid, int64_t points) {
  const uint32_t count = grid->loop->operand_count;
  hlo_value_t *values[HLO_LOOP_VALUES_MAX], *next[HLO_LOOP_VALUES_MAX];
  hlo_loop_t loops[HLO_RANK_MAX];
  for (uint32_t i = 0; i < count; ++i) values[i] = hlo_node_operand(grid->loop, i);
  if (!open_loops(grid, loops, values)) return hlo_module_status(grid->body->module);
  HLO_TRY(hlo_splice(splicer, grid->body, values, loops[0].end, NULL, NULL));
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (is_carried(grid, i)) next[kept++] = hlo_splice_result(splicer, grid->body, i);
  }
  for (uint32_t k = 0; k < grid->rank; ++k) {
    if (!hlo_loop_finish(&loops[k], next, next)) return hlo_module_status(grid->body->module);
  }
  kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_t* result = is_carried(grid, i) ? next[kept++] : last_value(grid, i, points);
    if (!result) return hlo_module_status(grid->body->module);
    hlo_value_replace_uses(&grid->loop->results[i], result);
  }
  hlo_node_erase(grid->loop);
  return hlo_ok();
}

typedef struct nester {
  hlo_pass_ctx_t* ctx;
  hlo_splicer_t splicer;
} nester_t;

static hlo_status_t nest_loop(void* context, hlo_node_t* node) {
  nester_t* nester = context;
  if (!hlo_loop_keeps_types(node) || node->operand_count > HLO_LOOP_VALUES_MAX) return hlo_ok();
  grid_t grid = {.loop = node, .body = node->regions[1]};
  const int32_t count = hlo_loop_trip_count(node, HLO_TUNING_BATCH_MAX_ITERATIONS);
  if (count < 1 || !read_grid(&grid, count)) return hlo_ok();
  read_counters(&grid);
  ++nester->ctx->step_count;
  return nest(&nester->splicer, &grid, count);
}

hlo_status_t hlo_pass_nest_loops(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  nester_t nester = {.ctx = ctx, .splicer.arena = &ctx->scratch};
  HLO_TRY(hlo_module_walk(module, true, nest_loop, &nester));
  // The indices that the old loops carried are computed still.
  return ctx->step_count ? hlo_pass_dce(ctx, module) : hlo_ok();
}
