// SPDX-License-Identifier: Apache-2.0
// Loops that carry more values (see loop_rewrite.h).
#include "spmd/loop_rewrite.h"

#include <string.h>

#include "passes/build.h"
#include "passes/constants.h"
#include "passes/trip_count.h"

enum { TRIP_COUNT_MAX = 1 << 20 };  // counting up to it may take this many steps

// Returns the comparison of a condition and the number of the operand that is not the counter.
static hlo_node_t* find_test(const hlo_counted_loop_t* loop, uint32_t* out_limit) {
  hlo_node_t* test = hlo_node_operand(hlo_region_terminator(loop->cond), 0)->def;
  *out_limit = hlo_node_operand(test, 0) == loop->cond->args[loop->counter] ? 1 : 0;
  return test;
}

bool hlo_counted_loop_match(hlo_node_t* loop, hlo_counted_loop_t* out) {
  if (loop->op != HLO_OP_while || loop->region_count != 2) return false;
  hlo_counted_loop_t l = {.node = loop, .cond = loop->regions[0], .body = loop->regions[1]};
  l.end = hlo_region_terminator(l.body);
  if (!l.end || l.end->operand_count != loop->operand_count) return false;
  l.trip_count = hlo_loop_trip_count(loop, TRIP_COUNT_MAX);
  if (l.trip_count < 0) return false;
  while (l.counter < l.cond->arg_count && !l.cond->args[l.counter]->uses) ++l.counter;
  if (l.counter == l.cond->arg_count) return false;
  const hlo_node_t* add = hlo_node_operand(l.end, l.counter)->def;
  if (!add || add->op != HLO_OP_add) return false;
  const bool is_left = hlo_node_operand(add, 0) == l.body->args[l.counter];
  if (!hlo_constant_integer(hlo_node_operand(add, is_left ? 1 : 0), &l.step) ||
      !hlo_constant_integer(hlo_node_operand(loop, l.counter), &l.first)) {
    return false;
  }
  *out = l;
  return true;
}

bool hlo_counted_loop_shorten(hlo_counted_loop_t* loop) {
  uint32_t position;
  int64_t limit;
  hlo_node_t* test = find_test(loop, &position);
  hlo_value_t* value = hlo_node_operand(test, position);
  const hlo_dtype_t dtype = value->type->dtype;
  const uint32_t bits = hlo_dtype_info(dtype)->bits - 1;
  const int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
  if (!hlo_constant_integer(value, &limit) || __builtin_sub_overflow(limit, loop->step, &limit) ||
      limit > most || limit < (hlo_dtype_is_unsigned(dtype) ? 0 : -most)) {
    return false;
  }
  hlo_value_t* shorter = hlo_build_integers(test, value->type, &limit);
  if (!shorter) return false;
  hlo_node_set_operand(test, position, shorter);
  --loop->trip_count;
  return true;
}

bool hlo_loop_is_invariant(const hlo_counted_loop_t* loop, uint32_t i) {
  return hlo_node_operand(loop->end, i) == loop->body->args[i];
}

// ---- more values

// Adds an argument for each new value to both regions, and returns them from the body.
static bool extend_regions(hlo_counted_loop_t* loop, uint32_t count, const hlo_type_t* const* types,
                           hlo_arena_t* scratch) {
  const uint32_t old_count = loop->end->operand_count;
  hlo_value_t** returned = hlo_arena_array(scratch, old_count + count, sizeof *returned);
  if (!returned) return false;
  for (uint32_t i = 0; i < old_count; ++i) returned[i] = hlo_node_operand(loop->end, i);
  for (uint32_t i = 0; i < count; ++i) {
    returned[old_count + i] = hlo_region_add_arg(loop->body, types[i]);
    if (!returned[old_count + i] || !hlo_region_add_arg(loop->cond, types[i])) return false;
  }
  const hlo_node_spec_t spec = {.op = loop->end->op,
                                .loc = loop->end->loc,
                                .operand_count = old_count + count,
                                .operands = returned};
  hlo_node_t* end = hlo_node_create(loop->body->module, &spec);
  if (hlo_node_is_poison(end)) return false;
  hlo_node_erase(loop->end);
  hlo_region_append(loop->body, end);
  loop->end = end;
  return true;
}

hlo_node_t* hlo_loop_widen(hlo_counted_loop_t* loop, uint32_t count, hlo_value_t* const* initial,
                           const hlo_type_t* const* types, hlo_arena_t* scratch) {
  hlo_node_t* old = loop->node;
  const uint32_t total = old->operand_count + count;
  const hlo_type_t** result_types = hlo_arena_array(scratch, total, sizeof *result_types);
  if (!result_types) return NULL;
  for (uint32_t i = 0; i < old->result_count; ++i) result_types[i] = old->results[i].type;
  for (uint32_t i = 0; i < count; ++i) result_types[old->result_count + i] = types[i];
  const hlo_node_spec_t spec = {.op = HLO_OP_while,
                                .loc = old->loc,
                                .operand_count = total,
                                .operands = initial,
                                .extra = old->extra,
                                .region_count = 2,
                                .result_count = total,
                                .result_types = result_types};
  hlo_node_t* node = hlo_node_create(old->parent->module, &spec);
  if (hlo_node_is_poison(node) || !extend_regions(loop, count, types, scratch)) return NULL;
  hlo_node_copy_attrs(node, old);
  for (uint32_t r = 0; r < 2; ++r) {
    hlo_region_t* empty = node->regions[r];
    node->regions[r] = old->regions[r];
    node->regions[r]->parent = node;
    old->regions[r] = empty;
    empty->parent = old;
  }
  hlo_node_insert_before(old, node);
  loop->node = node;
  return old;
}

// ---- copies

bool hlo_value_map_set(hlo_value_map_t* map, hlo_arena_t* scratch, const hlo_value_t* from,
                       hlo_value_t* to) {
  if (from->index >= map->count) {
    const uint32_t count = 2 * from->index + 64;
    hlo_value_t** values = hlo_arena_array(scratch, count, sizeof *values);
    if (!values) return false;
    if (map->count) memcpy(values, map->values, map->count * sizeof *values);
    *map = (hlo_value_map_t){values, count};
  }
  map->values[from->index] = to;
  return true;
}

hlo_value_t* hlo_value_map_get(const hlo_value_map_t* map, hlo_value_t* value) {
  hlo_value_t* to = value->index < map->count ? map->values[value->index] : NULL;
  return to ? to : value;
}

hlo_node_t* hlo_node_copy_before(hlo_node_t* insertion_point, const hlo_node_t* node,
                                 hlo_value_map_t* map) {
  hlo_node_t* copy = hlo_node_clone(insertion_point->parent, node, map);
  if (hlo_node_is_poison(copy)) return NULL;
  hlo_node_unlink(copy);
  hlo_node_insert_before(insertion_point, copy);
  return copy;
}
