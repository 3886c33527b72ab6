// SPDX-License-Identifier: Apache-2.0
// Walks a fusion from its outputs with index expressions (see tiled.h): loops, values at their
// indices, and the walk itself. tiled_move.c and tiled_reduce.c have a rule per op: the operand
// elements that an element needs.
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/tuning.h"
#include "codegen/index/tiled_impl.h"
#include "passes/constants.h"

hlo_tiled_t* hlo_tiling_refuse(hlo_tiling_t* t, hlo_verdict_t verdict) {
  if (!hlo_verdict_is_no(&t->verdict)) t->verdict = verdict;
  return NULL;
}

// The arena has failed; the walk reports it at its end.
__attribute__((cold, noinline)) static hlo_tiled_t* refuse_memory(hlo_tiling_t* t) {
  return hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_MEMORY, NULL));
}

__attribute__((cold, noinline)) static hlo_tiled_t* refuse_beyond(hlo_tiling_t* t,
                                                                  hlo_reason_t reason,
                                                                  const hlo_value_t* value,
                                                                  double found, double limit) {
  return hlo_tiling_refuse(t, hlo_verdict_beyond(reason, value ? value->def : NULL, found, limit));
}

const hlo_expr_t* hlo_tiling_number(hlo_tiling_t* t, int64_t value) {
  return hlo_expr_const(&t->exprs, value);
}

// ---- loops --------------------------------------------------------------------------------------

static const hlo_expr_t* make_loops(hlo_tiling_t* t, hlo_tiled_space_t* space,
                                    uint32_t space_number, const int64_t (*ranges)[2]) {
  const hlo_expr_t* linear = hlo_tiling_number(t, 0);
  if (t->loop_count + space->loop_count > HLO_TILED_MAX_LOOPS) {
    refuse_beyond(t, HLO_REASON_INDEX_LOOPS, NULL, t->loop_count + space->loop_count,
                  HLO_TILED_MAX_LOOPS);
    return linear;
  }
  space->first_loop = t->loop_count;
  int64_t stride = space->element_count;
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    hlo_tiled_loop_t* loop = &t->loops[t->loop_count];
    *loop = (hlo_tiled_loop_t){ranges ? ranges[i][0] : 0, ranges ? ranges[i][1] : space->extents[i],
                               space_number};
    stride = space->extents[i] ? stride / space->extents[i] : 0;
    const hlo_expr_t* one = hlo_expr_loop(&t->exprs, t->loop_count++, loop->low, loop->end);
    linear = hlo_expr_add(&t->exprs, linear, hlo_expr_mul(&t->exprs, one, stride));
  }
  return linear;
}

uint32_t hlo_tiling_find_space(hlo_tiling_t* t, int64_t element_count, uint32_t depth) {
  uint32_t i = 1;
  while (i < t->space_count &&
         (t->spaces[i].element_count != element_count || t->spaces[i].depth != depth)) {
    ++i;
  }
  if (i == HLO_TILED_MAX_LOOPS) {
    refuse_beyond(t, HLO_REASON_INDEX_SPACES, NULL, HLO_TILED_MAX_LOOPS, HLO_TILED_MAX_LOOPS - 1);
    return 0;
  }
  hlo_tiled_space_t* space = &t->spaces[i];
  if (i == t->space_count) {
    *space = (hlo_tiled_space_t){.element_count = element_count,
                                 .depth = depth,
                                 .loop_count = 1,
                                 .extents = {element_count}};
    ++t->space_count;
  }
  if (!space->linear) space->linear = make_loops(t, space, i, NULL);
  return i;
}

// ---- split requests -----------------------------------------------------------------------------

// Returns true if the rest of the walk does not matter.
static bool is_stopped(const hlo_tiling_t* t) {
  return t->request && !t->is_last_resort && t->is_optimistic;
}

// Returns true if no further request can be made.
static bool has_request(const hlo_tiling_t* t, bool is_last_resort) {
  return t->request && (is_last_resort || !t->is_last_resort);
}

static void set_request(hlo_tiling_t* t, hlo_split_request_t kind, uint32_t loop, int64_t at,
                        bool is_last_resort) {
  const hlo_tiled_space_t* space = &t->spaces[t->loops[loop].space];
  uint32_t inner_count = space->loop_count - (loop - space->first_loop);
  bool is_whole = space == &t->spaces[0] && inner_count <= t->whole_loops;
  if (has_request(t, is_last_resort) || is_whole) return;
  t->request = kind;
  t->is_last_resort = is_last_resort;
  t->request_space = t->loops[loop].space;
  t->request_loop = loop - space->first_loop;
  t->request_at = at;
}

// Returns the first value of a term's loop for which the term reaches `distance` or, for a negative
// coefficient, is below it.
static int64_t first_beyond(int64_t coefficient, int64_t distance) {
  return coefficient > 0 ? -hlo_floor_div(-distance, coefficient)
                         : hlo_floor_div(-distance, -coefficient) + 1;
}

// Requests a cut of the range of the loop with the largest steps where `expr` reaches `bound`, if
// the other terms do not matter. As a last resort, cuts out the single value of the loop with which
// `expr` crosses the bound.
static void request_cut_at(hlo_tiling_t* t, const hlo_expr_t* expr, int64_t bound,
                           bool is_last_resort) {
  const hlo_expr_term_t* term = NULL;
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_term_t* other = &expr->terms[i];
    if (!term || llabs(other->coefficient) > llabs(term->coefficient)) term = other;
  }
  if (has_request(t, is_last_resort) || !term || term->atom->kind != HLO_EXPR_LOOP) return;
  const hlo_tiled_loop_t* loop = &t->loops[term->atom->number];
  if (loop->space != 0) return;
  int64_t k = term->coefficient, distance = bound - expr->constant, rest_low = 0, rest_high = 0;
  if (expr->term_count > 1) {
    int64_t at_low = k * loop->low, at_high = k * (loop->end - 1);
    rest_low = expr->low - expr->constant - (k > 0 ? at_low : at_high);
    rest_high = expr->high - expr->constant - (k > 0 ? at_high : at_low);
  }
  int64_t one = first_beyond(k, distance - rest_low), other = first_beyond(k, distance - rest_high);
  int64_t at = one < other ? one : other, end = one < other ? other : one;
  if (end - at > 1) return;
  is_last_resort |= at < end;
  if (at <= loop->low) at = end;
  if (at <= loop->low || at >= loop->end) return;
  set_request(t, HLO_TILED_CUT, term->atom->number, at, is_last_resort);
}

void hlo_tiling_request_cut(hlo_tiling_t* t, const hlo_expr_t* expr, int64_t bound) {
  request_cut_at(t, expr, bound, false);
}

void hlo_tiling_request_split(hlo_tiling_t* t, const hlo_expr_t* expr) {
  const hlo_expr_atom_t* atom = hlo_expr_unresolved(expr);
  if (!atom || has_request(t, false)) return;
  for (uint32_t i = 0; i < atom->argument->term_count; ++i) {
    const hlo_expr_term_t* term = &atom->argument->terms[i];
    if (term->atom->kind != HLO_EXPR_LOOP || term->coefficient <= 0) continue;
    uint32_t loop = term->atom->number;
    const hlo_tiled_space_t* space = &t->spaces[t->loops[loop].space];
    int64_t extent = space->extents[loop - space->first_loop];
    if (atom->divisor % term->coefficient != 0) continue;
    int64_t inner = atom->divisor / term->coefficient;
    if (inner > 1 && inner < extent && extent % inner == 0) {
      set_request(t, HLO_TILED_SPLIT, loop, inner, false);
      return;
    }
  }
  // A range that crosses a single multiple of the divisor resolves on each side of it.
  int64_t bound = (hlo_floor_div(atom->argument->low, atom->divisor) + 1) * atom->divisor;
  if (atom->argument->high < bound + atom->divisor) request_cut_at(t, atom->argument, bound, true);
}

// ---- instances ----------------------------------------------------------------------------------

static bool same_index(hlo_index_t a, hlo_index_t b, uint32_t rank) {
  for (uint32_t i = 0; i < rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

static uint32_t slot_of(const hlo_value_t* value, hlo_index_t index, uint32_t rank) {
  uint64_t sum = value->index;
  for (uint32_t i = 0; i < rank; ++i) sum += ((uint64_t)index[i]->number + 1) << (i * 11 & 63);
  return (uint32_t)(hlo_hash_word(0, sum) % HLO_TILED_TABLE_SIZE);
}

__attribute__((cold, noinline)) static hlo_tiled_t* refuse_size(hlo_tiling_t* t,
                                                                const hlo_value_t* value) {
  return refuse_beyond(t, HLO_REASON_INDEX_VALUES, value, t->instance_count + 1,
                       HLO_TILED_MAX_INSTANCES);
}

hlo_tiled_t* hlo_tiling_make(hlo_tiling_t* t, const hlo_tiled_t* fields, uint32_t operand_count) {
  if (t->instance_count == HLO_TILED_MAX_INSTANCES) return refuse_size(t, fields->value);
  hlo_tiled_t* tiled =
      hlo_arena_alloc(t->arena, sizeof *tiled + operand_count * sizeof(*tiled->operands));
  if (!tiled) return refuse_memory(t);
  *tiled = *fields;
  tiled->operands = (hlo_tiled_t**)(tiled + 1);
  tiled->operand_count = operand_count;
  return tiled;
}

hlo_tiled_t* hlo_tiling_add(hlo_tiling_t* t, hlo_tiled_t* tiled, uint32_t rank) {
  // Operands may have taken numbers since it was made.
  if (t->instance_count == HLO_TILED_MAX_INSTANCES) return refuse_size(t, tiled->value);
  for (uint32_t i = 0; i < tiled->operand_count; ++i) {
    if (!tiled->operands[i]) return NULL;
    HLO_ASSERT(t->instances[tiled->operands[i]->number] == tiled->operands[i],
               "operands have smaller numbers than their users");
    tiled->loops |= tiled->operands[i]->loops;
  }
  if (tiled->offset) tiled->loops |= tiled->offset->loops;
  if (tiled->kind == HLO_TILED_REDUCE) {
    tiled->loops &= ~hlo_tiled_space_mask(&t->spaces[tiled->reduction]);
  }
  tiled->number = t->instance_count;
  t->instances[t->instance_count++] = tiled;
  const uint32_t slot = slot_of(tiled->value, tiled->index, rank);
  tiled->next = t->table[slot];
  t->table[slot] = tiled;
  return tiled;
}

hlo_index_t hlo_tiling_copy_index(hlo_tiling_t* t, uint32_t rank, hlo_index_t index) {
  const hlo_expr_t** copy = hlo_arena_alloc(t->arena, rank * sizeof(*copy));
  if (!copy) {
    refuse_memory(t);
    return index;
  }
  if (rank) memcpy(copy, index, rank * sizeof *copy);
  return copy;
}

hlo_tiled_t* hlo_tiling_leaf(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                             hlo_tiled_kind_t kind, uint32_t input, const hlo_expr_t* offset) {
  if (offset) hlo_tiling_request_split(t, offset);
  hlo_tiled_t* tiled =
      hlo_tiling_make(t,
                      &(hlo_tiled_t){.kind = kind,
                                     .value = value,
                                     .index = hlo_tiling_copy_index(t, value->type->rank, index),
                                     .input = input,
                                     .offset = offset},
                      0);
  return tiled ? hlo_tiling_add(t, tiled, value->type->rank) : NULL;
}

const hlo_expr_t* hlo_tiling_runtime_value(hlo_tiling_t* t, const hlo_value_t* value,
                                           hlo_index_t index, int64_t low, int64_t high,
                                           uint32_t depth) {
  if (low == high) return hlo_tiling_number(t, low);
  hlo_tiled_t* tiled = hlo_tiling_get(t, value, index, depth);
  if (!tiled) return hlo_tiling_number(t, 0);
  return hlo_expr_value(&t->exprs, tiled->number, low, high, tiled->loops);
}

// ---- computations -------------------------------------------------------------------------------

enum { POSITION_BITS = 61 };  // the sum of two such numbers fits 64 bits

// Returns true for an expression that the integers of a type hold without wrapping around, and that
// needs no division.
static const hlo_expr_t* checked_position(const hlo_expr_t* expr, hlo_dtype_t dtype) {
  uint32_t bits = hlo_dtype_info(dtype)->bits - hlo_dtype_is_signed(dtype);
  int64_t highest = bits > POSITION_BITS ? (int64_t)1 << POSITION_BITS : ((int64_t)1 << bits) - 1;
  int64_t lowest = hlo_dtype_is_signed(dtype) ? -highest : 0;
  return expr->low >= lowest && expr->high <= highest && !hlo_expr_unresolved(expr) ? expr : NULL;
}

static const hlo_expr_t* multiplied(hlo_tiling_t* t, const hlo_expr_t* x, int64_t factor,
                                    hlo_dtype_t dtype) {
  int64_t limit = factor ? ((int64_t)1 << POSITION_BITS) / llabs(factor) : INT64_MAX;
  if (x->low < -limit || x->high > limit) return NULL;
  return checked_position(hlo_expr_mul(&t->exprs, x, factor), dtype);
}

// Returns integers computed from iotas and constants alone as an expression, else NULL. JAX numbers
// elements in 64 bits this way to generate random numbers.
static const hlo_expr_t* position(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                                  uint32_t steps) {
  const hlo_node_t* node = value->def;
  hlo_dtype_t dtype = value->type->dtype;
  if (!node || steps == 0 || !hlo_dtype_is_integer(dtype)) return NULL;
  const void* element = hlo_constant_splat(value);
  if (element) {
    return checked_position(hlo_tiling_number(t, hlo_dtype_load_int64(dtype, element)), dtype);
  }
  if (node->op == HLO_OP_iota) {
    int64_t dim = hlo_node_attr_int(node, HLO_ATTR_iota_dimension, 0);
    return checked_position(index[dim], dtype);
  }
  bool is_known = node->op == HLO_OP_convert || node->op == HLO_OP_add ||
                  node->op == HLO_OP_multiply || node->op == HLO_OP_shift_right_logical;
  if (!is_known) return NULL;
  const hlo_expr_t* x = position(t, hlo_node_operand(node, 0), index, steps - 1);
  if (!x || node->op == HLO_OP_convert) return x ? checked_position(x, dtype) : NULL;
  const hlo_expr_t* y = position(t, hlo_node_operand(node, 1), index, steps - 1);
  if (!y) return NULL;
  if (node->op == HLO_OP_add) return checked_position(hlo_expr_add(&t->exprs, x, y), dtype);
  if (node->op == HLO_OP_multiply) {
    const hlo_expr_t* factor = hlo_expr_is_const(x) ? x : y;
    return hlo_expr_is_const(factor) ? multiplied(t, factor == x ? y : x, factor->constant, dtype)
                                     : NULL;
  }
  if (!hlo_expr_is_const(y) || x->low < 0 || y->constant < 0 || y->constant > 60) return NULL;
  return checked_position(hlo_expr_div(&t->exprs, x, (int64_t)1 << y->constant), dtype);
}

static hlo_tiled_t* elementwise(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                uint32_t depth) {
  const hlo_type_t* type = node->results[0].type;
  const hlo_expr_t* position_expr =
      position(t, &node->results[0], index, HLO_TUNING_INDEX_MAX_STEPS);
  if (position_expr)
    return hlo_tiling_leaf(t, &node->results[0], index, HLO_TILED_INDEX, 0, position_expr);
  hlo_tiled_t* tiled =
      hlo_tiling_make(t,
                      &(hlo_tiled_t){.kind = HLO_TILED_COMPUTE,
                                     .value = &node->results[0],
                                     .index = hlo_tiling_copy_index(t, type->rank, index)},
                      node->operand_count);
  if (!tiled) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    bool is_scalar = hlo_node_operand_type(node, i)->rank == 0;
    tiled->operands[i] =
        hlo_tiling_get(t, hlo_node_operand(node, i), is_scalar ? NULL : index, depth);
    if (!tiled->operands[i]) return NULL;
  }
  return hlo_tiling_add(t, tiled, type->rank);
}

// ---- the walk -----------------------------------------------------------------------------------

// Returns the instance that computes an element of a value that is not an input.
static hlo_tiled_t* get_node(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                             uint32_t depth) {
  const hlo_node_t* node = value->def;
  if (hlo_tiling_moves(node->op)) return hlo_tiling_move(t, node, index, depth);
  if (hlo_op_has(node->op, HLO_TRAIT_REDUCES)) return hlo_tiling_reduce(t, value, index, depth);
  switch (node->op) {
    case HLO_OP_constant: return hlo_tiling_leaf(t, value, index, HLO_TILED_CONSTANT, 0, NULL);
    case HLO_OP_iota:
      return hlo_tiling_leaf(t, value, index, HLO_TILED_INDEX, 0,
                             index[hlo_node_attr_int(node, HLO_ATTR_iota_dimension, 0)]);
    default: return elementwise(t, node, index, depth);
  }
}

hlo_tiled_t* hlo_tiling_get(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                            uint32_t depth) {
  if (hlo_verdict_is_no(&t->verdict) || is_stopped(t)) return NULL;
  uint32_t rank = value->type->rank;
  if (rank > HLO_TILED_MAX_RANK) {
    return refuse_beyond(t, HLO_REASON_INDEX_RANK, value, rank, HLO_TILED_MAX_RANK);
  }
  if (depth > HLO_TUNING_INDEX_MAX_NESTING)
    return refuse_beyond(t, HLO_REASON_INDEX_DEPTH, value, depth, HLO_TUNING_INDEX_MAX_NESTING);
  const uint32_t inputs = t->fusion->input_count;
  uint32_t input = 0;
  while (input < inputs && t->fusion->inputs[input] != value) ++input;
  if (input == inputs && !value->def) {
    return hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_INDEX_OUTSIDE, NULL));
  }
  // The element is one of the operand's, so the table needs no entry for it.
  if (input == inputs && hlo_op_has(value->def->op, HLO_TRAIT_MOVES)) {
    return hlo_tiling_move(t, value->def, index, depth);
  }
  // If a value has several masks, the newest, outermost one is found first.
  for (hlo_tiled_t* found = t->table[slot_of(value, index, rank)]; found; found = found->next) {
    if (found->value == value && same_index(found->index, index, rank)) return found;
  }
  if (input == inputs) return get_node(t, value, index, depth);
  return hlo_tiling_leaf(t, value, index, HLO_TILED_LOAD, input,
                         hlo_expr_linearize(&t->exprs, rank, value->type->dims, index));
}

const hlo_value_t* hlo_tiled_written(const hlo_value_t* output) {
  bool is_update = output->def && output->def->op == HLO_OP_dynamic_update_slice;
  return is_update ? hlo_node_operand(output->def, 1) : output;
}

// Returns the element of an output at the current point of the loops. A product's loops run over
// its result; its epilogue is stored where ops move the elements to.
static hlo_index_t output_index(hlo_tiling_t* t, const hlo_value_t* value,
                                const hlo_expr_t** room) {
  const hlo_expr_t* linear = t->spaces[0].linear;
  const hlo_value_t* product = t->dot ? &t->dot->results[0] : NULL;
  if (product && product != value) {
    hlo_expr_delinearize(&t->exprs, linear, product->type->rank, product->type->dims, room);
    hlo_index_t above = hlo_tiling_index_above(t, product, room, value);
    if (above) return above;
  }
  hlo_expr_delinearize(&t->exprs, linear, value->type->rank, value->type->dims, room);
  return room;
}

static void walk_output(hlo_tiling_t* t, uint32_t i) {
  const hlo_value_t* output = t->fusion->outputs[i];
  const hlo_value_t* value = hlo_tiled_written(output);
  const hlo_expr_t* room[HLO_TILED_MAX_RANK];
  if (value->type->rank > HLO_TILED_MAX_RANK) {
    refuse_beyond(t, HLO_REASON_INDEX_RANK, value, value->type->rank, HLO_TILED_MAX_RANK);
    return;
  }
  hlo_index_t index = output_index(t, value, room);
  t->outputs[i] = hlo_tiling_get(t, value, index, 0);
  t->output_offsets[i] =
      index == room ? t->spaces[0].linear
                    : hlo_expr_linearize(&t->exprs, value->type->rank, value->type->dims, index);
  hlo_tiling_request_split(t, t->output_offsets[i]);
  if (value == output) return;
  // A slice of the output is written, at an index known only at run time.
  const hlo_expr_t* position_expr[HLO_TILED_MAX_RANK];
  for (uint32_t d = 0; d < value->type->rank; ++d) {
    const hlo_expr_t* start =
        hlo_tiling_runtime_value(t, hlo_node_operand(output->def, 2 + d), NULL, 0,
                                 output->type->dims[d] - value->type->dims[d], 0);
    position_expr[d] = hlo_expr_add(&t->exprs, start, index[d]);
  }
  t->output_offsets[i] =
      hlo_expr_linearize(&t->exprs, value->type->rank, output->type->dims, position_expr);
  hlo_tiling_request_split(t, t->output_offsets[i]);
}

static int64_t extent_of(const hlo_tiling_t* t, uint32_t loop) {
  return t->loops[loop].low == 0 ? t->loops[loop].end : 0;
}

// Returns true if the loops of an offset count through all `count` elements, each once.
static bool counts_through(const hlo_tiling_t* t, const hlo_expr_t* offset, int64_t count) {
  int64_t reach = 1;
  for (uint32_t found = 0; found < offset->term_count; ++found) {
    uint32_t i = 0;
    while (i < offset->term_count && offset->terms[i].coefficient != reach) ++i;
    if (i == offset->term_count || offset->terms[i].atom->kind != HLO_EXPR_LOOP) return false;
    int64_t extent = extent_of(t, offset->terms[i].atom->number);
    if (extent < 2) return false;
    reach *= extent;
  }
  return offset->constant == 0 && reach == count;
}

// Returns the reduction in whose own loops an instance is needed once for each point, or NULL.
static const hlo_tiled_t* find_owner(const hlo_tiling_t* t, const hlo_tiled_t* tiled,
                                     const hlo_expr_t* offset) {
  uint64_t outer = hlo_tiled_space_mask(&t->spaces[0]);
  for (uint32_t i = tiled->number + 1; i < t->instance_count; ++i) {
    const hlo_tiled_t* reduction = t->instances[i];
    if (reduction->kind != HLO_TILED_REDUCE || reduction->loops != (offset->loops & outer) ||
        (offset->loops & ~outer & ~hlo_tiled_space_mask(&t->spaces[reduction->reduction]))) {
      continue;
    }
    bool marks[HLO_TILED_MAX_INSTANCES] = {false};
    hlo_tiling_mark_needed(t, reduction, marks);
    if (marks[tiled->number]) return reduction;
  }
  return NULL;
}

// An extra output is stored where all its elements are computed anyway.
static void walk_extra_output(hlo_tiling_t* t, uint32_t i, bool is_final) {
  const hlo_value_t* value = t->fusion->outputs[i];
  uint64_t outer = hlo_tiled_space_mask(&t->spaces[0]);
  for (uint32_t k = 0; k < t->instance_count; ++k) {
    const hlo_tiled_t* tiled = t->instances[k];
    bool is_computed = tiled->kind == HLO_TILED_COMPUTE || tiled->kind == HLO_TILED_REDUCE;
    if (tiled->value != value || !is_computed) continue;
    const hlo_expr_t* offset =
        hlo_expr_linearize(&t->exprs, value->type->rank, value->type->dims, tiled->index);
    if (!counts_through(t, offset, hlo_type_element_count(value->type)) ||
        (tiled->loops & ~offset->loops)) {
      continue;
    }
    const hlo_tiled_t* owner = find_owner(t, tiled, offset);
    if ((offset->loops & ~outer) && !owner) continue;
    t->outputs[i] = t->instances[k];
    t->output_offsets[i] = offset;
    t->output_owners[i] = offset->loops & ~outer ? owner : NULL;
    return;
  }
  if (!t->request || is_final) {
    hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_INDEX_WHOLE, t->fusion->outputs[i]->def));
  }
}

hlo_status_t hlo_tiling_create(const hlo_fusion_t* fusion, hlo_arena_t* arena,
                               hlo_tiling_t** out_tiling) {
  hlo_tiling_t* t = hlo_arena_alloc_zeroed(arena, sizeof *t);
  if (!t) return hlo_arena_status(arena);
  t->arena = arena;
  t->fusion = fusion;
  t->spaces = hlo_arena_alloc(arena, HLO_TILED_MAX_LOOPS * sizeof *t->spaces);
  t->loops = hlo_arena_alloc(arena, HLO_TILED_MAX_LOOPS * sizeof *t->loops);
  t->instances = hlo_arena_alloc(arena, HLO_TILED_MAX_INSTANCES * sizeof(*t->instances));
  t->table = hlo_arena_alloc(arena, HLO_TILED_TABLE_SIZE * sizeof(*t->table));
  *out_tiling = t;
  return hlo_arena_status(arena);
}

static void* copy_items(hlo_arena_t* arena, const void* items, size_t size_bytes) {
  void* copy = hlo_arena_alloc(arena, size_bytes ? size_bytes : 1);
  if (copy && size_bytes) memcpy(copy, items, size_bytes);
  return copy;
}

const hlo_tiling_t* hlo_tiling_keep(const hlo_tiling_t* t) {
  hlo_tiling_t* kept = copy_items(t->arena, t, sizeof *t);
  if (!kept) return NULL;
  kept->spaces = copy_items(t->arena, t->spaces, t->space_count * sizeof *t->spaces);
  kept->loops = copy_items(t->arena, t->loops, t->loop_count * sizeof *t->loops);
  kept->instances = copy_items(t->arena, t->instances, t->instance_count * sizeof(*t->instances));
  kept->table = NULL;
  return kept->spaces && kept->loops && kept->instances ? kept : NULL;
}

hlo_status_t hlo_tiling_walk(hlo_tiling_t* t, const int64_t (*ranges)[2], bool is_final) {
  hlo_expr_space_init(&t->exprs, t->arena);
  t->loop_count = t->instance_count = 0;
  t->verdict = hlo_verdict_yes();
  t->request = HLO_TILED_NOTHING;
  t->is_last_resort = false;
  memset(t->table, 0, HLO_TILED_TABLE_SIZE * sizeof *t->table);
  uint32_t outputs = t->fusion->output_count;
  t->outputs = hlo_arena_array(t->arena, outputs, sizeof *t->outputs);
  t->output_offsets = hlo_arena_array(t->arena, outputs, sizeof *t->output_offsets);
  t->output_owners = hlo_arena_array(t->arena, outputs, sizeof *t->output_owners);
  HLO_TRY(hlo_arena_status(t->arena));
  for (uint32_t i = 0; i < t->space_count; ++i) t->spaces[i].linear = NULL;
  hlo_tiled_space_t* space = &t->spaces[0];
  if (t->space_count == 0) {
    int64_t count = hlo_type_element_count(hlo_tiled_written(t->fusion->outputs[0])->type);
    *space = (hlo_tiled_space_t){.element_count = count, .loop_count = 1, .extents = {count}};
    t->space_count = 1;
  }
  space->linear = make_loops(t, space, 0, ranges);
  uint32_t extra_outputs = outputs - t->fusion->extra_output_count;
  if (is_final) t->is_optimistic = false;
  for (uint32_t i = 0; i < extra_outputs && !hlo_verdict_is_no(&t->verdict); ++i) walk_output(t, i);
  for (uint32_t i = extra_outputs; i < outputs && !hlo_verdict_is_no(&t->verdict) && !is_stopped(t);
       ++i) {
    walk_extra_output(t, i, is_final);
  }
  if (t->exprs.is_exceeded) hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_INDEX_TERMS, NULL));
  if (is_final) t->request = HLO_TILED_NOTHING;
  return hlo_arena_status(t->arena);
}

hlo_lane_access_t hlo_tiled_lane_access(const hlo_expr_t* offset, uint32_t loop) {
  if (!(offset->loops >> loop & 1)) return HLO_LANE_SAME;
  bool is_plain = hlo_expr_coefficient(offset, loop) == 1;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_atom_t* atom = offset->terms[i].atom;
    if (!(atom->loops >> loop & 1) || atom->kind == HLO_EXPR_LOOP) continue;
    if (atom->kind != HLO_EXPR_VALUE) return HLO_LANE_UNKNOWN;
    is_plain = false;
  }
  return is_plain ? HLO_LANE_PLAIN : HLO_LANE_GATHERED;
}

static void mark_atoms(const hlo_expr_t* expr, bool* marks) {
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (atom->kind == HLO_EXPR_VALUE) marks[atom->number] = true;
    if (atom->argument) mark_atoms(atom->argument, marks);
  }
}

void hlo_tiling_mark_needed(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled, bool* marks) {
  marks[tiled->number] = true;
  for (uint32_t i = tiled->number + 1; i-- > 0;) {
    const hlo_tiled_t* user = tiling->instances[i];
    if (!marks[i]) continue;
    for (uint32_t k = 0; k < user->operand_count; ++k) marks[user->operands[k]->number] = true;
    if (user->offset) mark_atoms(user->offset, marks);
  }
  marks[tiled->number] = false;
}

void hlo_tiling_mark_certain(const hlo_tiling_t* tiling, bool* marks) {
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    marks[tiling->outputs[i]->number] = true;
    mark_atoms(tiling->output_offsets[i], marks);
  }
  for (uint32_t i = tiling->instance_count; i-- > 0;) {
    const hlo_tiled_t* user = tiling->instances[i];
    if (!marks[i]) continue;
    for (uint32_t k = 0; k < user->operand_count && user->kind != HLO_TILED_MASK; ++k) {
      marks[user->operands[k]->number] = true;
    }
    if (user->offset) mark_atoms(user->offset, marks);
  }
}

void hlo_tiling_mark_scalars(const hlo_tiling_t* tiling, bool* marks) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_kind_t kind = tiling->instances[i]->kind;
    marks[i] = tiling->instances[i]->loops == 0 &&
               (kind == HLO_TILED_LOAD || kind == HLO_TILED_CONSTANT || kind == HLO_TILED_COMPUTE);
  }
  bool is_in_lanes[HLO_TILED_MAX_INSTANCES] = {false};
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* user = tiling->instances[i];
    for (uint32_t k = 0; k < user->operand_count && !marks[i]; ++k) {
      is_in_lanes[user->operands[k]->number] = true;
    }
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    if (tiling->outputs[i]) is_in_lanes[tiling->outputs[i]->number] = true;
  }
  for (uint32_t i = 0; i < tiling->instance_count; ++i) marks[i] &= !is_in_lanes[i];
}

bool hlo_tiling_needs_reduction(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  bool marks[HLO_TILED_MAX_INSTANCES] = {false};
  hlo_tiling_mark_needed(tiling, tiled, marks);
  for (uint32_t i = 0; i < tiled->number; ++i) {
    if (marks[i] && tiling->instances[i]->kind == HLO_TILED_REDUCE) return true;
  }
  return false;
}
