// SPDX-License-Identifier: Apache-2.0
// Walking a fusion from its outputs with index expressions (see tiled.h): one rule per op says
// which elements of its operands an element needs.
#include "codegen/tiled.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codegen/dot/matmul.h"
#include "codegen/elementwise.h"
#include "interp/ref_dot.h"
#include "passes/constants.h"

enum {
  MAX_RANK = 32,           // of values
  MAX_WINDOW = 64,         // elements of a reduce_window that loops compute
  MAX_POSITION_STEPS = 8,  // ops between an iota and what it numbers
};

typedef const hlo_expr_t* const* index_t;

static hlo_tiled_t* get(hlo_tiling_t* t, const hlo_value_t* value, index_t index, uint32_t depth);

static hlo_tiled_t* refuse(hlo_tiling_t* t, const char* why) {
  if (!t->refusal) t->refusal = why;
  return NULL;
}

static const hlo_expr_t* number(hlo_tiling_t* t, int64_t value) {
  return hlo_expr_const(&t->exprs, value);
}

// ---- loop digits

static const hlo_expr_t* make_digits(hlo_tiling_t* t, hlo_tiled_space_t* space,
                                     uint32_t space_number, const int64_t (*ranges)[2]) {
  const hlo_expr_t* linear = number(t, 0);
  if (t->digit_count + space->digit_count > HLO_TILED_MAX_DIGITS) {
    refuse(t, "too many loops");
    return linear;
  }
  space->first_digit = t->digit_count;
  int64_t stride = space->element_count;
  for (uint32_t i = 0; i < space->digit_count; ++i) {
    hlo_tiled_digit_t* digit = &t->digits[t->digit_count];
    *digit = (hlo_tiled_digit_t){ranges ? ranges[i][0] : 0,
                                 ranges ? ranges[i][1] : space->extents[i], space_number};
    stride = space->extents[i] ? stride / space->extents[i] : 0;
    const hlo_expr_t* one = hlo_expr_digit(&t->exprs, t->digit_count++, digit->low, digit->end);
    linear = hlo_expr_add(&t->exprs, linear, hlo_expr_mul(&t->exprs, one, stride));
  }
  return linear;
}

// The space of a reduction over `element_count` elements below `depth` others. Digits are shared by
// all such, so that sibling reductions can run in one loop.
static uint32_t find_space(hlo_tiling_t* t, int64_t element_count, uint32_t depth) {
  uint32_t i = 1;
  while (i < t->space_count &&
         (t->spaces[i].element_count != element_count || t->spaces[i].depth != depth)) {
    ++i;
  }
  if (i == HLO_TILED_MAX_DIGITS) {
    refuse(t, "too many reductions");
    return 0;
  }
  hlo_tiled_space_t* space = &t->spaces[i];
  if (i == t->space_count) {
    *space = (hlo_tiled_space_t){.element_count = element_count,
                                 .depth = depth,
                                 .digit_count = 1,
                                 .extents = {element_count}};
    ++t->space_count;
  }
  if (!space->linear) space->linear = make_digits(t, space, i, NULL);
  return i;
}

// ---- wishes

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Whether what is still to be walked does not matter.
static bool is_stopped(const hlo_tiling_t* t) { return t->wish && t->is_hasty; }

static void wish(hlo_tiling_t* t, hlo_tiled_wish_t kind, uint32_t digit, int64_t at) {
  if (t->wish || (t->is_small && t->digits[digit].space == 0)) return;
  t->wish = kind;
  t->wish_space = t->digits[digit].space;
  t->wish_digit = digit - t->spaces[t->wish_space].first_digit;
  t->wish_at = at;
}

// Asks for a digit of the argument to be cut so that a quotient or remainder resolves.
static void wish_split(hlo_tiling_t* t, const hlo_expr_t* expr) {
  const hlo_expr_atom_t* atom = hlo_expr_unresolved(expr);
  if (!atom || t->wish) return;
  for (uint32_t i = 0; i < atom->argument->term_count; ++i) {
    const hlo_expr_term_t* term = &atom->argument->terms[i];
    if (term->atom->kind != HLO_EXPR_DIGIT || term->coefficient <= 0) continue;
    uint32_t digit = term->atom->number;
    const hlo_tiled_space_t* space = &t->spaces[t->digits[digit].space];
    int64_t extent = space->extents[digit - space->first_digit];
    if (atom->divisor % term->coefficient != 0) continue;
    int64_t inner = atom->divisor / term->coefficient;
    if (inner > 1 && inner < extent && extent % inner == 0) {
      wish(t, HLO_TILED_SPLIT, digit, inner);
      return;
    }
  }
}

// The first value of a term's digit for which the whole reaches `distance` with this much beside
// it, or, when it falls, stays below.
static int64_t first_beyond(int64_t coefficient, int64_t distance) {
  return coefficient > 0 ? -floor_div(-distance, coefficient)
                         : floor_div(-distance, -coefficient) + 1;
}

// Asks for the range of a digit to be cut where `expr` reaches `bound`, if all else in it does not
// matter: the digit with the largest steps.
static void wish_cut(hlo_tiling_t* t, const hlo_expr_t* expr, int64_t bound) {
  const hlo_expr_term_t* term = NULL;
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_term_t* other = &expr->terms[i];
    if (!term || llabs(other->coefficient) > llabs(term->coefficient)) term = other;
  }
  if (t->wish || !term || term->atom->kind != HLO_EXPR_DIGIT) return;
  const hlo_tiled_digit_t* digit = &t->digits[term->atom->number];
  if (digit->space != 0) return;
  int64_t k = term->coefficient, distance = bound - expr->constant, rest_low = 0, rest_high = 0;
  if (expr->term_count > 1) {
    int64_t at_low = k * digit->low, at_high = k * (digit->end - 1);
    rest_low = expr->low - expr->constant - (k > 0 ? at_low : at_high);
    rest_high = expr->high - expr->constant - (k > 0 ? at_high : at_low);
  }
  int64_t at = first_beyond(k, distance - rest_low);
  if (at != first_beyond(k, distance - rest_high)) return;
  if (at > digit->low && at < digit->end) wish(t, HLO_TILED_CUT, term->atom->number, at);
}

// ---- instances

static bool same_index(index_t a, index_t b, uint32_t rank) {
  for (uint32_t i = 0; i < rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

static uint64_t hash_key(const hlo_value_t* value, index_t index, uint32_t rank) {
  uint64_t hash = hlo_hash_word(0, value->index);
  for (uint32_t i = 0; i < rank; ++i) hash = hlo_hash_word(hash, index[i]->number);
  return hash % HLO_TILED_TABLE_SIZE;
}

static hlo_tiled_t* make(hlo_tiling_t* t, const hlo_tiled_t* fields, uint32_t operand_count) {
  if (t->instance_count == HLO_TILED_MAX_INSTANCES) return refuse(t, "too large");
  hlo_tiled_t* tiled = hlo_arena_alloc(t->arena, sizeof *tiled);
  hlo_tiled_t** operands = hlo_arena_alloc(t->arena, operand_count * sizeof(*operands));
  if (!tiled || !operands) return refuse(t, "memory");
  *tiled = *fields;
  tiled->operands = operands;
  tiled->operand_count = operand_count;
  return tiled;
}

// Gives the instance its number and makes it findable; operands are complete.
static hlo_tiled_t* add(hlo_tiling_t* t, hlo_tiled_t* tiled, uint32_t rank) {
  for (uint32_t i = 0; i < tiled->operand_count; ++i) {
    if (!tiled->operands[i]) return NULL;
    tiled->digits |= tiled->operands[i]->digits;
  }
  if (tiled->offset) tiled->digits |= tiled->offset->digits;
  if (tiled->kind == HLO_TILED_REDUCE) {
    tiled->digits &= ~hlo_tiled_space_mask(&t->spaces[tiled->reduction]);
  }
  tiled->number = t->instance_count;
  t->instances[t->instance_count++] = tiled;
  uint64_t slot = hash_key(tiled->value, tiled->index, rank);
  tiled->next = t->table[slot];
  t->table[slot] = tiled;
  return tiled;
}

static index_t copy_index(hlo_tiling_t* t, uint32_t rank, index_t index) {
  const hlo_expr_t** copy = hlo_arena_alloc(t->arena, rank * sizeof(*copy));
  if (!copy) {
    refuse(t, "memory");
    return index;
  }
  if (rank) memcpy(copy, index, rank * sizeof *copy);
  return copy;
}

// A leaf without operands.
static hlo_tiled_t* leaf(hlo_tiling_t* t, const hlo_value_t* value, index_t index,
                         hlo_tiled_kind_t kind, uint32_t input, const hlo_expr_t* offset) {
  if (offset) wish_split(t, offset);
  hlo_tiled_t* tiled = make(t, &(hlo_tiled_t){.kind = kind,
                                              .value = value,
                                              .index = copy_index(t, value->type->rank, index),
                                              .input = input,
                                              .offset = offset},
                            0);
  return tiled ? add(t, tiled, value->type->rank) : NULL;
}

// An operand that holds an integer, as an expression within inclusive bounds.
static const hlo_expr_t* runtime_value(hlo_tiling_t* t, const hlo_value_t* value, index_t index,
                                       int64_t low, int64_t high, uint32_t depth) {
  if (low == high) return number(t, low);
  hlo_tiled_t* tiled = get(t, value, index, depth);
  if (!tiled) return number(t, 0);
  return hlo_expr_value(&t->exprs, tiled->number, low, high, tiled->digits);
}

// ---- movement: the operand's index of a result's index

static hlo_tiled_t* through_reshape(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                    uint32_t depth) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  const hlo_expr_t* inner[MAX_RANK];
  const hlo_expr_t* offset = hlo_expr_linearize(&t->exprs, to->rank, to->dims, index);
  hlo_expr_delinearize(&t->exprs, offset, from->rank, from->dims, inner);
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_broadcast(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                      uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  const hlo_expr_t* inner[MAX_RANK];
  for (uint32_t i = 0; i < from->rank; ++i) {
    inner[i] = from->dims[i] == 1 ? number(t, 0) : index[dims[i]];
  }
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_transpose(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                      uint32_t depth) {
  uint32_t count;
  const int64_t* permutation = hlo_node_attr_ints(node, HLO_ATTR_permutation, &count);
  const hlo_expr_t* inner[MAX_RANK];
  for (uint32_t i = 0; i < count; ++i) inner[permutation[i]] = index[i];
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_slice(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                  uint32_t depth) {
  uint32_t count;
  const int64_t* starts = hlo_node_attr_ints(node, HLO_ATTR_start_indices, &count);
  const int64_t* strides = hlo_node_attr_ints(node, HLO_ATTR_strides, &count);
  const hlo_expr_t* inner[MAX_RANK];
  for (uint32_t i = 0; i < count; ++i) {
    inner[i] = hlo_expr_add(&t->exprs, hlo_expr_mul(&t->exprs, index[i], strides[i]),
                            number(t, starts[i]));
  }
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_reverse(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                    uint32_t depth) {
  const hlo_type_t* type = node->results[0].type;
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  const hlo_expr_t* inner[MAX_RANK];
  for (uint32_t i = 0; i < type->rank; ++i) inner[i] = index[i];
  for (uint32_t i = 0; i < count; ++i) {
    inner[dims[i]] = hlo_expr_add(&t->exprs, hlo_expr_mul(&t->exprs, index[dims[i]], -1),
                                  number(t, type->dims[dims[i]] - 1));
  }
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_dynamic_slice(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                          uint32_t depth) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  const hlo_expr_t* inner[MAX_RANK];
  for (uint32_t i = 0; i < from->rank; ++i) {
    const hlo_expr_t* start = runtime_value(t, hlo_node_operand(node, 1 + i), NULL, 0,
                                            from->dims[i] - to->dims[i], depth);
    inner[i] = hlo_expr_add(&t->exprs, index[i], start);
  }
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

static bool contains(const int64_t* list, uint32_t count, int64_t item, uint32_t* out_at) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] == item) {
      if (out_at) *out_at = i;
      return true;
    }
  }
  return false;
}

// result[batch..., offset...] = operand[start(batch) + offset], as the StableHLO
// specification says.
static hlo_tiled_t* through_gather(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                   uint32_t depth) {
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  const hlo_type_t* indices = hlo_node_operand_type(node, 1);
  const hlo_type_t* result = node->results[0].type;
  uint32_t offset_count, collapsed_count, batching_count, start_batching_count, map_count,
      size_count;
  const int64_t* offsets = hlo_node_attr_ints(node, HLO_ATTR_offset_dims, &offset_count);
  const int64_t* collapsed =
      hlo_node_attr_ints(node, HLO_ATTR_collapsed_slice_dims, &collapsed_count);
  const int64_t* batching =
      hlo_node_attr_ints(node, HLO_ATTR_operand_batching_dims, &batching_count);
  const int64_t* start_batching =
      hlo_node_attr_ints(node, HLO_ATTR_start_indices_batching_dims, &start_batching_count);
  const int64_t* map = hlo_node_attr_ints(node, HLO_ATTR_start_index_map, &map_count);
  const int64_t* sizes = hlo_node_attr_ints(node, HLO_ATTR_slice_sizes, &size_count);
  int64_t vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, indices->rank);

  const hlo_expr_t *batch[MAX_RANK], *inner[MAX_RANK];
  uint32_t batch_count = 0, offset_at = 0;
  for (uint32_t i = 0; i < result->rank; ++i) {
    if (!contains(offsets, offset_count, i, NULL)) batch[batch_count++] = index[i];
  }
  for (uint32_t i = 0; i < operand->rank; ++i) {
    uint32_t at;
    inner[i] = number(t, 0);
    if (contains(batching, batching_count, i, &at)) {
      int64_t dim = start_batching[at];
      inner[i] = batch[dim < vector_dim ? dim : dim - 1];
    } else if (!contains(collapsed, collapsed_count, i, NULL)) {
      inner[i] = index[offsets[offset_at++]];
    }
    if (!contains(map, map_count, i, &at)) continue;
    const hlo_expr_t* place[MAX_RANK];
    uint32_t from = 0;
    for (uint32_t k = 0; k < indices->rank; ++k) {
      place[k] = k == vector_dim ? number(t, at) : batch[from++];
    }
    inner[i] = hlo_expr_add(&t->exprs, inner[i],
                            runtime_value(t, hlo_node_operand(node, 1), place, 0,
                                          operand->dims[i] - sizes[i], depth));
  }
  return get(t, hlo_node_operand(node, 0), inner, depth);
}

// inside where low <= offset < end; decided here, by a cut, or at run time.
static hlo_tiled_t* guard(hlo_tiling_t* t, const hlo_value_t* value, index_t index, uint32_t rank,
                          const hlo_expr_t* offset, int64_t low, int64_t end, hlo_tiled_t* inside,
                          hlo_tiled_t* outside) {
  if (!inside || !outside) return NULL;
  wish_split(t, offset);
  wish_cut(t, offset, low);
  wish_cut(t, offset, end);
  hlo_tiled_t* tiled = make(t, &(hlo_tiled_t){.kind = HLO_TILED_GUARD,
                                              .value = value,
                                              .index = copy_index(t, rank, index),
                                              .offset = offset,
                                              .low = low,
                                              .end = end},
                            2);
  if (!tiled) return NULL;
  tiled->operands[0] = inside;
  tiled->operands[1] = outside;
  return add(t, tiled, rank);
}

static hlo_tiled_t* through_pad(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t count;
  const int64_t* lows = hlo_node_attr_ints(node, HLO_ATTR_edge_padding_low, &count);
  const hlo_expr_t* inner[MAX_RANK];
  bool is_outside = false;
  for (uint32_t i = 0; i < from->rank; ++i) {
    inner[i] = hlo_expr_add(&t->exprs, index[i], number(t, -lows[i]));
    is_outside |= inner[i]->high < 0 || inner[i]->low >= from->dims[i];
  }
  hlo_tiled_t* outside = get(t, hlo_node_operand(node, 1), NULL, depth);
  if (is_outside || !outside) return outside;
  hlo_tiled_t* tiled = get(t, hlo_node_operand(node, 0), inner, depth);
  for (uint32_t i = 0; i < from->rank; ++i) {
    if (inner[i]->low >= 0 && inner[i]->high < from->dims[i]) continue;
    tiled =
        guard(t, &node->results[0], index, from->rank, inner[i], 0, from->dims[i], tiled, outside);
  }
  return tiled;
}

static hlo_tiled_t* through_concatenate(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                        uint32_t depth) {
  const hlo_type_t* type = node->results[0].type;
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  const hlo_expr_t* place = index[dim];
  hlo_tiled_t* tiled = NULL;
  int64_t start = type->dims[dim];
  for (uint32_t i = node->operand_count; i-- > 0;) {
    int64_t size = hlo_node_operand_type(node, i)->dims[dim];
    start -= size;
    if (size == 0 || place->high < start || place->low >= start + size) continue;
    const hlo_expr_t* inner[MAX_RANK];
    memcpy(inner, index, type->rank * sizeof *inner);
    inner[dim] = hlo_expr_add(&t->exprs, place, number(t, -start));
    hlo_tiled_t* part = get(t, hlo_node_operand(node, i), inner, depth);
    if (!part) return NULL;
    tiled = !tiled ? part
                   : guard(t, &node->results[0], index, type->rank, place, start, start + size,
                           part, tiled);
    if (!tiled) return NULL;
  }
  return tiled ? tiled : refuse(t, "it is read outside");
}

// ---- computations

enum { POSITION_BITS = 61 };  // the sum of two of them is still no long expression

// An expression that the integers of a type hold without wrapping around, and that
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

// Integers made of iotas and constants alone, as an expression; NULL when they are made of more.
// JAX numbers elements so, in 64 bits, to make random numbers of them.
static const hlo_expr_t* position(hlo_tiling_t* t, const hlo_value_t* value, index_t index,
                                  uint32_t steps) {
  const hlo_node_t* node = value->def;
  hlo_dtype_t dtype = value->type->dtype;
  if (!node || steps == 0 || !hlo_dtype_is_integer(dtype)) return NULL;
  const void* element = hlo_constant_splat(value);
  if (element) return checked_position(number(t, hlo_dtype_load_int64(dtype, element)), dtype);
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

static hlo_tiled_t* elementwise(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                uint32_t depth) {
  const hlo_type_t* type = node->results[0].type;
  const hlo_expr_t* place = position(t, &node->results[0], index, MAX_POSITION_STEPS);
  if (place) return leaf(t, &node->results[0], index, HLO_TILED_INDEX, 0, place);
  hlo_tiled_t* tiled = make(t, &(hlo_tiled_t){.kind = HLO_TILED_COMPUTE,
                                              .value = &node->results[0],
                                              .index = copy_index(t, type->rank, index)},
                            node->operand_count);
  if (!tiled) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    bool is_scalar = hlo_node_operand_type(node, i)->rank == 0;
    tiled->operands[i] = get(t, hlo_node_operand(node, i), is_scalar ? NULL : index, depth);
    if (!tiled->operands[i]) return NULL;
  }
  return add(t, tiled, type->rank);
}

// A reduce instance over `space` of the operands at `inner`; what is read outside of them is the
// initial value.
static hlo_tiled_t* reduce_at(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                              uint32_t space, index_t inner, uint32_t depth) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  uint32_t half = node->operand_count / 2;
  hlo_tiled_t* tiled = make(t, &(hlo_tiled_t){.kind = HLO_TILED_REDUCE,
                                              .value = &node->results[0],
                                              .index = copy_index(t, to->rank, index),
                                              .reduction = space},
                            2 * half);
  if (!tiled) return NULL;
  bool is_outside = false;
  for (uint32_t d = 0; d < from->rank; ++d) {
    is_outside |= inner[d]->high < 0 || inner[d]->low >= from->dims[d];
  }
  for (uint32_t i = 0; i < half; ++i) {
    hlo_tiled_t* first = get(t, hlo_node_operand(node, half + i), NULL, depth);
    hlo_tiled_t* operand =
        is_outside ? first : get(t, hlo_node_operand(node, i), inner, depth + 1);
    for (uint32_t d = 0; d < from->rank && first && operand && !is_outside; ++d) {
      if (inner[d]->low >= 0 && inner[d]->high < from->dims[d]) continue;
      operand = guard(t, hlo_node_operand(node, i), inner, from->rank, inner[d], 0, from->dims[d],
                      operand, first);
    }
    tiled->operands[i] = operand;
    tiled->operands[half + i] = first;
    if (!operand || !first) return NULL;
  }
  return add(t, tiled, to->rank);
}

static hlo_tiled_t* reduce(hlo_tiling_t* t, const hlo_node_t* node, index_t index, uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t dim_count, kept = 0, at;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &dim_count);
  int64_t reduced_dims[MAX_RANK], count = 1;
  for (uint32_t i = 0; i < dim_count; ++i) count *= reduced_dims[i] = from->dims[dims[i]];
  uint32_t space = find_space(t, count, depth + 1);
  if (t->refusal) return NULL;
  const hlo_expr_t *reduced[MAX_RANK], *inner[MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[space].linear, dim_count, reduced_dims, reduced);
  for (uint32_t i = 0; i < from->rank; ++i) {
    inner[i] = contains(dims, dim_count, i, &at) ? reduced[at] : index[kept++];
  }
  return reduce_at(t, node, index, space, inner, depth);
}

// Attribute `id` of a window at dimension `i`; `fallback` when absent.
static int64_t window_attr(const hlo_node_t* node, hlo_attr_id_t id, uint32_t i, int64_t fallback) {
  uint32_t count;
  const int64_t* list = hlo_node_attr_ints(node, id, &count);
  return list && i < count ? list[i] : fallback;
}

static hlo_tiled_t* reduce_window(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                  uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t rank;
  const int64_t* window = hlo_node_attr_ints(node, HLO_ATTR_window_dimensions, &rank);
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) count *= window[i];
  uint32_t space = find_space(t, count, depth + 1);
  if (t->refusal) return NULL;
  const hlo_expr_t *place[MAX_RANK], *inner[MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[space].linear, rank, window, place);
  for (uint32_t i = 0; i < from->rank; ++i) {
    const hlo_expr_t* start =
        hlo_expr_mul(&t->exprs, index[i], window_attr(node, HLO_ATTR_window_strides, i, 1));
    const hlo_expr_t* step =
        hlo_expr_mul(&t->exprs, place[i], window_attr(node, HLO_ATTR_window_dilations, i, 1));
    int64_t padding = window_attr(node, HLO_ATTR_padding, 2 * i, 0);
    inner[i] = hlo_expr_add(&t->exprs, hlo_expr_add(&t->exprs, start, step), number(t, -padding));
  }
  return reduce_at(t, node, index, space, inner, depth);
}

static hlo_tiled_t* reduce_result(hlo_tiling_t* t, const hlo_value_t* value, index_t index,
                                  uint32_t depth) {
  const hlo_node_t* node = value->def;
  hlo_tiled_t* whole = get(t, &node->results[0], index, depth);
  if (!whole || value->number == 0) return whole;
  hlo_tiled_t* tiled = make(t, &(hlo_tiled_t){.kind = HLO_TILED_RESULT,
                                              .value = value,
                                              .index = copy_index(t, value->type->rank, index)},
                            1);
  if (!tiled) return NULL;
  tiled->operands[0] = whole;
  return add(t, tiled, value->type->rank);
}

// An operand's element at places of the batch, free and contracting dimensions of `side`.
static hlo_tiled_t* dot_operand(hlo_tiling_t* t, const hlo_contraction_t* c, uint32_t side,
                                index_t batch, index_t free, index_t deep, uint32_t depth) {
  const hlo_expr_t* inner[MAX_RANK];
  for (uint32_t i = 0; i < c->batch[side].count; ++i) inner[c->batch[side].dims[i]] = batch[i];
  for (uint32_t i = 0; i < c->free[side].count; ++i) inner[c->free[side].dims[i]] = free[i];
  for (uint32_t i = 0; i < c->depth[side].count; ++i) inner[c->depth[side].dims[i]] = deep[i];
  return get(t, hlo_node_operand(c->node, side), inner, depth);
}

// Sums of products over `space`, found again under the result's name as the finished sum.
static hlo_tiled_t* sum_of_products(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                    uint32_t space, hlo_tiled_t* a, hlo_tiled_t* b) {
  uint32_t rank = node->results[0].type->rank;
  hlo_tiled_t fields = {.kind = HLO_TILED_PRODUCT,
                        .value = &node->results[0],
                        .index = copy_index(t, rank, index)};
  hlo_tiled_t* product = make(t, &fields, 2);
  fields.kind = HLO_TILED_REDUCE;
  fields.reduction = space;
  hlo_tiled_t* sum = make(t, &fields, 1);
  if (!product || !sum) return NULL;
  product->operands[0] = a;
  product->operands[1] = b;
  sum->operands[0] = add(t, product, rank);  // the sum is added later, so it is what is found
  return sum->operands[0] ? add(t, sum, rank) : NULL;
}

// A dot_general as the sum of products over its contracting dimensions.
static hlo_tiled_t* dot(hlo_tiling_t* t, const hlo_node_t* node, index_t index, uint32_t depth) {
  hlo_contraction_t c;
  if (!hlo_contraction_init(node, &c)) return refuse(t, "a product of other elements");
  int64_t dims[MAX_RANK];
  for (uint32_t i = 0; i < c.depth[0].count; ++i) {
    dims[i] = hlo_node_operand_type(node, 0)->dims[c.depth[0].dims[i]];
  }
  uint32_t space = find_space(t, hlo_contraction_extent(&c, &c.depth[0], 0), depth + 1);
  if (t->refusal) return NULL;
  const hlo_expr_t* deep[MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[space].linear, c.depth[0].count, dims, deep);
  index_t free = index + c.batch[0].count;
  hlo_tiled_t* a = dot_operand(t, &c, 0, index, free, deep, depth + 1);
  hlo_tiled_t* b = dot_operand(t, &c, 1, index, free + c.free[0].count, deep, depth + 1);
  return a && b ? sum_of_products(t, node, index, space, a, b) : NULL;
}

// A zero like the elements of `value`, under an index that none has.
static hlo_tiled_t* zero_like(hlo_tiling_t* t, const hlo_value_t* value) {
  const hlo_expr_t* nowhere[MAX_RANK];
  for (uint32_t i = 0; i < value->type->rank; ++i) nowhere[i] = number(t, -1);
  return leaf(t, value, nowhere, HLO_TILED_CONSTANT, 0, NULL);
}

// The input's element under place `window` (spatial dimensions, then the feature of its group) of
// the window at `index`; zero beside the input and between its dilated elements.
static hlo_tiled_t* under_window(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                 index_t window, uint32_t depth) {
  const hlo_value_t* lhs = hlo_node_operand(node, 0);
  const hlo_type_t *from = lhs->type, *to = node->results[0].type;
  uint32_t space = from->rank - 2;
  int64_t out_batch = hlo_node_attr_int(node, HLO_ATTR_output_batch_dimension, 0);
  int64_t out_feature = hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, 0);
  int64_t batch_dim = hlo_node_attr_int(node, HLO_ATTR_input_batch_dimension, 0);
  int64_t feature_dim = hlo_node_attr_int(node, HLO_ATTR_input_feature_dimension, 0);
  int64_t batches = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  int64_t groups = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  int64_t features = to->dims[out_feature];
  hlo_expr_space_t* e = &t->exprs;
  const hlo_expr_t *inner[MAX_RANK], *places[MAX_RANK], *gaps[MAX_RANK];
  const hlo_expr_t* group = hlo_expr_div(e, index[out_feature], features / groups);
  const hlo_expr_t* part = hlo_expr_div(e, index[out_feature], features / batches);
  inner[feature_dim] =
      hlo_expr_add(e, hlo_expr_mul(e, group, from->dims[feature_dim] / groups), window[space]);
  inner[batch_dim] = hlo_expr_add(e, hlo_expr_mul(e, part, to->dims[out_batch]), index[out_batch]);
  for (uint32_t i = 0; i < space; ++i) {
    int64_t out = window_attr(node, HLO_ATTR_output_spatial_dimensions, i, 0);
    int64_t dilation = window_attr(node, HLO_ATTR_lhs_dilation, i, 1);
    const hlo_expr_t* start =
        hlo_expr_mul(e, index[out], window_attr(node, HLO_ATTR_window_strides, i, 1));
    const hlo_expr_t* step =
        hlo_expr_mul(e, window[i], window_attr(node, HLO_ATTR_rhs_dilation, i, 1));
    const hlo_expr_t* place = hlo_expr_add(
        e, hlo_expr_add(e, start, step), number(t, -window_attr(node, HLO_ATTR_padding, 2 * i, 0)));
    gaps[i] = hlo_expr_mod(e, place, dilation);
    places[i] = inner[window_attr(node, HLO_ATTR_input_spatial_dimensions, i, 0)] =
        hlo_expr_div(e, place, dilation);
  }
  hlo_tiled_t *zero = zero_like(t, lhs), *found = get(t, lhs, inner, depth);
  for (uint32_t i = 0; i < space && found; ++i) {
    int64_t end = from->dims[window_attr(node, HLO_ATTR_input_spatial_dimensions, i, 0)];
    if (places[i]->low < 0 || places[i]->high >= end) {
      found = guard(t, lhs, inner, from->rank, places[i], 0, end, found, zero);
    }
    if (found && gaps[i]->high > 0) {
      found = guard(t, lhs, inner, from->rank, gaps[i], 0, 1, found, zero);
    }
  }
  return found;
}

// A convolution as the sum of products over its window and the features of a group.
static hlo_tiled_t* convolution(hlo_tiling_t* t, const hlo_node_t* node, index_t index,
                                uint32_t depth) {
  const hlo_type_t* rhs = hlo_node_operand_type(node, 1);
  uint32_t space = rhs->rank - 2;
  int64_t in_dim = hlo_node_attr_int(node, HLO_ATTR_kernel_input_feature_dimension, 0);
  int64_t out_dim = hlo_node_attr_int(node, HLO_ATTR_kernel_output_feature_dimension, 0);
  int64_t dims[MAX_RANK], count = rhs->dims[in_dim];
  for (uint32_t i = 0; i < space; ++i) {
    dims[i] = rhs->dims[window_attr(node, HLO_ATTR_kernel_spatial_dimensions, i, 0)];
    count *= dims[i];
  }
  dims[space] = rhs->dims[in_dim];
  uint32_t reduced = find_space(t, count, depth + 1);
  if (t->refusal) return NULL;
  const hlo_expr_t *window[MAX_RANK], *inner[MAX_RANK];
  hlo_expr_delinearize(&t->exprs, t->spaces[reduced].linear, space + 1, dims, window);
  inner[in_dim] = window[space];
  inner[out_dim] = index[hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, 0)];
  for (uint32_t i = 0; i < space; ++i) {
    const hlo_expr_t* place = window[i];
    if (window_attr(node, HLO_ATTR_window_reversal, i, 0)) {
      place = hlo_expr_add(&t->exprs, hlo_expr_mul(&t->exprs, place, -1), number(t, dims[i] - 1));
    }
    inner[window_attr(node, HLO_ATTR_kernel_spatial_dimensions, i, 0)] = place;
  }
  hlo_tiled_t* a = under_window(t, node, index, window, depth + 1);
  hlo_tiled_t* b = get(t, hlo_node_operand(node, 1), inner, depth + 1);
  return a && b ? sum_of_products(t, node, index, reduced, a, b) : NULL;
}

static hlo_tiled_t* get_node(hlo_tiling_t* t, const hlo_value_t* value, index_t index,
                             uint32_t depth) {
  const hlo_node_t* node = value->def;
  switch (node->op) {
    case HLO_OP_reshape: return through_reshape(t, node, index, depth);
    case HLO_OP_broadcast_in_dim: return through_broadcast(t, node, index, depth);
    case HLO_OP_transpose: return through_transpose(t, node, index, depth);
    case HLO_OP_slice: return through_slice(t, node, index, depth);
    case HLO_OP_reverse: return through_reverse(t, node, index, depth);
    case HLO_OP_dynamic_slice: return through_dynamic_slice(t, node, index, depth);
    case HLO_OP_gather: return through_gather(t, node, index, depth);
    case HLO_OP_pad: return through_pad(t, node, index, depth);
    case HLO_OP_concatenate: return through_concatenate(t, node, index, depth);
    case HLO_OP_constant: return leaf(t, value, index, HLO_TILED_CONSTANT, 0, NULL);
    case HLO_OP_iota:
      return leaf(t, value, index, HLO_TILED_INDEX, 0,
                  index[hlo_node_attr_int(node, HLO_ATTR_iota_dimension, 0)]);
    case HLO_OP_reduce:
      return value->number ? reduce_result(t, value, index, depth) : reduce(t, node, index, depth);
    case HLO_OP_reduce_window: return reduce_window(t, node, index, depth);
    case HLO_OP_dot: case HLO_OP_dot_general: case HLO_OP_convolution:
      if (t->expands_products && node->op == HLO_OP_convolution) {
        return convolution(t, node, index, depth);
      }
      if (t->dot != node) return dot(t, node, index, depth);
      return leaf(t, value, index, HLO_TILED_DOT, 0,
                  hlo_expr_linearize(&t->exprs, value->type->rank, value->type->dims, index));
    default: return elementwise(t, node, index, depth);
  }
}

static hlo_tiled_t* get(hlo_tiling_t* t, const hlo_value_t* value, index_t index, uint32_t depth) {
  if (t->refusal || is_stopped(t)) return NULL;
  uint32_t rank = value->type->rank;
  if (rank > MAX_RANK || depth > 8) return refuse(t, "too deep");
  // Of several guards of one value the newest, outermost one is found first.
  for (hlo_tiled_t* found = t->table[hash_key(value, index, rank)]; found; found = found->next) {
    if (found->value == value && same_index(found->index, index, rank)) return found;
  }
  for (uint32_t i = 0; i < t->fusion->input_count; ++i) {
    if (t->fusion->inputs[i] != value) continue;
    return leaf(t, value, index, HLO_TILED_LOAD, i,
                hlo_expr_linearize(&t->exprs, rank, value->type->dims, index));
  }
  if (!value->def) return refuse(t, "not a member");
  return get_node(t, value, index, depth);
}

const hlo_value_t* hlo_tiled_written(const hlo_value_t* output) {
  bool is_update = output->def && output->def->op == HLO_OP_dynamic_update_slice;
  return is_update ? hlo_node_operand(output->def, 1) : output;
}

// The element of an output that the loops are at. A product's loops go through its result: what is
// made of that lies where ops move it to.
static index_t output_index(hlo_tiling_t* t, const hlo_value_t* value, const hlo_expr_t** room) {
  const hlo_expr_t* linear = t->spaces[0].linear;
  const hlo_value_t* product = t->dot ? &t->dot->results[0] : NULL;
  if (product && product != value) {
    hlo_expr_delinearize(&t->exprs, linear, product->type->rank, product->type->dims, room);
    index_t above = hlo_tiling_index_above(t, product, room, value);
    if (above) return above;
  }
  hlo_expr_delinearize(&t->exprs, linear, value->type->rank, value->type->dims, room);
  return room;
}

static void walk_output(hlo_tiling_t* t, uint32_t i) {
  const hlo_value_t* output = t->fusion->outputs[i];
  const hlo_value_t* value = hlo_tiled_written(output);
  const hlo_expr_t* room[MAX_RANK];
  if (value->type->rank > MAX_RANK) {
    refuse(t, "too many dimensions");
    return;
  }
  index_t index = output_index(t, value, room);
  t->outputs[i] = get(t, value, index, 0);
  t->output_offsets[i] =
      index == room ? t->spaces[0].linear
                    : hlo_expr_linearize(&t->exprs, value->type->rank, value->type->dims, index);
  wish_split(t, t->output_offsets[i]);
  if (value == output) return;
  // A slice of the output is written, at a place that only running can tell.
  const hlo_expr_t* place[MAX_RANK];
  for (uint32_t d = 0; d < value->type->rank; ++d) {
    const hlo_expr_t* start =
        runtime_value(t, hlo_node_operand(output->def, 2 + d), NULL, 0,
                      output->type->dims[d] - value->type->dims[d], 0);
    place[d] = hlo_expr_add(&t->exprs, start, index[d]);
  }
  t->output_offsets[i] =
      hlo_expr_linearize(&t->exprs, value->type->rank, output->type->dims, place);
  wish_split(t, t->output_offsets[i]);
}

static int64_t extent_of(const hlo_tiling_t* t, uint32_t digit) {
  return t->digits[digit].low == 0 ? t->digits[digit].end : 0;
}

// Whether the digits of an offset count through all of so many elements, each of them once.
static bool counts_through(const hlo_tiling_t* t, const hlo_expr_t* offset, int64_t count) {
  int64_t reach = 1;
  for (uint32_t found = 0; found < offset->term_count; ++found) {
    uint32_t i = 0;
    while (i < offset->term_count && offset->terms[i].coefficient != reach) ++i;
    if (i == offset->term_count || offset->terms[i].atom->kind != HLO_EXPR_DIGIT) return false;
    int64_t extent = extent_of(t, offset->terms[i].atom->number);
    if (extent < 2) return false;
    reach *= extent;
  }
  return offset->constant == 0 && reach == count;
}

// The reduction in whose own loops an instance is needed, for each of its points once; NULL: none.
static const hlo_tiled_t* find_owner(const hlo_tiling_t* t, const hlo_tiled_t* tiled,
                                     const hlo_expr_t* offset) {
  uint64_t outer = hlo_tiled_space_mask(&t->spaces[0]);
  for (uint32_t i = tiled->number + 1; i < t->instance_count; ++i) {
    const hlo_tiled_t* reduction = t->instances[i];
    if (reduction->kind != HLO_TILED_REDUCE || reduction->digits != (offset->digits & outer) ||
        (offset->digits & ~outer & ~hlo_tiled_space_mask(&t->spaces[reduction->reduction]))) {
      continue;
    }
    bool marks[HLO_TILED_MAX_INSTANCES] = {false};
    hlo_tiling_mark_needed(t, reduction, marks);
    if (marks[tiled->number]) return reduction;
  }
  return NULL;
}

// A side output is stored where all its elements are computed anyway.
static void walk_side(hlo_tiling_t* t, uint32_t i, bool is_final) {
  const hlo_value_t* value = t->fusion->outputs[i];
  uint64_t outer = hlo_tiled_space_mask(&t->spaces[0]);
  for (uint32_t k = 0; k < t->instance_count; ++k) {
    const hlo_tiled_t* tiled = t->instances[k];
    bool is_computed = tiled->kind == HLO_TILED_COMPUTE || tiled->kind == HLO_TILED_REDUCE;
    if (tiled->value != value || !is_computed) continue;
    const hlo_expr_t* offset =
        hlo_expr_linearize(&t->exprs, value->type->rank, value->type->dims, tiled->index);
    if (!counts_through(t, offset, hlo_type_element_count(value->type)) ||
        (tiled->digits & ~offset->digits)) {
      continue;
    }
    const hlo_tiled_t* owner = find_owner(t, tiled, offset);
    if ((offset->digits & ~outer) && !owner) continue;
    t->outputs[i] = t->instances[k];
    t->output_offsets[i] = offset;
    t->output_owners[i] = offset->digits & ~outer ? owner : NULL;
    return;
  }
  if (!t->wish || is_final) refuse(t, "an output is computed nowhere as a whole");
}

hlo_status_t hlo_tiling_create(const hlo_fusion_t* fusion, hlo_arena_t* arena,
                               hlo_tiling_t** out_tiling) {
  hlo_tiling_t* t = hlo_arena_alloc_zeroed(arena, sizeof *t);
  if (!t) return hlo_arena_status(arena);
  t->arena = arena;
  t->fusion = fusion;
  t->spaces = hlo_arena_alloc(arena, HLO_TILED_MAX_DIGITS * sizeof *t->spaces);
  t->digits = hlo_arena_alloc(arena, HLO_TILED_MAX_DIGITS * sizeof *t->digits);
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
  kept->digits = copy_items(t->arena, t->digits, t->digit_count * sizeof *t->digits);
  kept->instances =
      copy_items(t->arena, t->instances, t->instance_count * sizeof(*t->instances));
  kept->table = NULL;
  return kept->spaces && kept->digits && kept->instances ? kept : NULL;
}

hlo_status_t hlo_tiling_walk(hlo_tiling_t* t, const int64_t (*ranges)[2], bool is_final) {
  hlo_expr_space_init(&t->exprs, t->arena);
  t->digit_count = t->instance_count = 0;
  t->refusal = NULL;
  t->wish = HLO_TILED_NOTHING;
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
    *space = (hlo_tiled_space_t){.element_count = count, .digit_count = 1, .extents = {count}};
    t->space_count = 1;
  }
  space->linear = make_digits(t, space, 0, ranges);
  uint32_t sides = outputs - t->fusion->side_count;
  if (is_final) t->is_hasty = false;
  for (uint32_t i = 0; i < sides && !t->refusal; ++i) walk_output(t, i);
  for (uint32_t i = sides; i < outputs && !t->refusal && !is_stopped(t); ++i) {
    walk_side(t, i, is_final);
  }
  if (t->exprs.is_exceeded) refuse(t, "its index expressions are too long");
  if (is_final) t->wish = HLO_TILED_NOTHING;
  return hlo_arena_status(t->arena);
}

hlo_lane_access_t hlo_tiled_lane_access(const hlo_expr_t* offset, uint32_t digit) {
  if (!(offset->digits >> digit & 1)) return HLO_LANE_SAME;
  bool is_plain = hlo_expr_coefficient(offset, digit) == 1;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_atom_t* atom = offset->terms[i].atom;
    if (!(atom->digits >> digit & 1) || atom->kind == HLO_EXPR_DIGIT) continue;
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

// Operands have smaller numbers than their users.
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

bool hlo_tiling_needs_reduction(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  bool marks[HLO_TILED_MAX_INSTANCES] = {false};
  hlo_tiling_mark_needed(tiling, tiled, marks);
  for (uint32_t i = 0; i < tiled->number; ++i) {
    if (marks[i] && tiling->instances[i]->kind == HLO_TILED_REDUCE) return true;
  }
  return false;
}

static bool is_compare(const hlo_value_t* value, int64_t direction, const hlo_value_t* x,
                       const hlo_value_t* y) {
  const hlo_node_t* node = value->def;
  return node && node->op == HLO_OP_compare && hlo_node_operand(node, 0) == x &&
         hlo_node_operand(node, 1) == y &&
         hlo_node_attr_int(node, HLO_ATTR_comparison_direction, -1) == direction;
}

// `value` is a or b (in this order of operands).
static bool is_binary(const hlo_value_t* value, hlo_op_t op, const hlo_value_t** a,
                      const hlo_value_t** b) {
  if (!value->def || value->def->op != op) return false;
  *a = hlo_node_operand(value->def, 0);
  *b = hlo_node_operand(value->def, 1);
  return true;
}

static bool is_selection(const hlo_value_t* value, const hlo_value_t** condition,
                         const hlo_value_t* x, const hlo_value_t* y) {
  if (!value->def || value->def->op != HLO_OP_select) return false;
  *condition = hlo_node_operand(value->def, 0);
  return hlo_node_operand(value->def, 1) == x && hlo_node_operand(value->def, 2) == y;
}

// The body that frameworks emit for argmax and argmin: the better value (NaN is best), of equal
// ones that with the smaller index; so the order of combination does not matter.
hlo_op_t hlo_tiled_arg_reducer(const hlo_node_t* node) {
  const hlo_region_t* body = node->op == HLO_OP_reduce ? node->regions[0] : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || node->result_count != 2 || body->arg_count != 4 || end->operand_count != 2 ||
      node->results[0].type->dtype == HLO_DTYPE_PRED ||
      !hlo_dtype_is_integer(node->results[1].type->dtype)) {
    return HLO_OP_COUNT;
  }
  const hlo_value_t *x = body->args[0], *i = body->args[1], *y = body->args[2], *j = body->args[3];
  const hlo_value_t *pick, *pick_index, *better, *again, *tie, *is_equal, *is_first;
  if (!is_selection(hlo_node_operand(end, 0), &pick, x, y) ||
      !is_selection(hlo_node_operand(end, 1), &pick_index, i, j) ||
      !is_binary(pick_index, HLO_OP_or, &again, &tie) || again != pick ||
      !is_binary(tie, HLO_OP_and, &is_equal, &is_first) ||
      !is_compare(is_equal, HLO_COMPARISON_DIRECTION_EQ, x, y) ||
      !is_compare(is_first, HLO_COMPARISON_DIRECTION_LT, i, j)) {
    return HLO_OP_COUNT;
  }
  const hlo_value_t* is_nan;
  better = pick;
  if (is_binary(pick, HLO_OP_or, &better, &is_nan)) {
    if (!is_compare(is_nan, HLO_COMPARISON_DIRECTION_NE, x, x)) return HLO_OP_COUNT;
  } else if (hlo_dtype_is_float(node->results[0].type->dtype)) {
    return HLO_OP_COUNT;  // what NaN does depends on the order
  }
  if (is_compare(better, HLO_COMPARISON_DIRECTION_GT, x, y)) return HLO_OP_maximum;
  if (is_compare(better, HLO_COMPARISON_DIRECTION_LT, x, y)) return HLO_OP_minimum;
  return HLO_OP_COUNT;
}

hlo_dtype_t hlo_tiled_sum_dtype(const hlo_node_t* node) {
  if (node->op == HLO_OP_convolution) {
    return hlo_dot_compute_dtype(hlo_node_operand_type(node, 0)->dtype,
                                 hlo_node_operand_type(node, 1)->dtype,
                                 node->results[0].type->dtype);
  }
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c) ? c.dtype : HLO_DTYPE_F32;
}

hlo_op_t hlo_tiled_reducer(const hlo_node_t* node, uint32_t result) {
  if (node->region_count == 0) return HLO_OP_add;  // dot_general
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  uint32_t count = node->result_count;
  if (!end || end->operand_count != count || body->arg_count != 2 * count) return HLO_OP_COUNT;
  const hlo_node_t* node_of = hlo_node_operand(end, result)->def;
  if (!node_of || node_of->operand_count != 2 || node_of->parent != body) return HLO_OP_COUNT;
  const hlo_value_t *a = hlo_node_operand(node_of, 0), *b = hlo_node_operand(node_of, 1);
  const hlo_value_t *x = body->args[result], *y = body->args[count + result];
  if (!((a == x && b == y) || (a == y && b == x))) return HLO_OP_COUNT;
  switch (node_of->op) {
    case HLO_OP_add: case HLO_OP_multiply: case HLO_OP_maximum: case HLO_OP_minimum:
    case HLO_OP_and: case HLO_OP_or: case HLO_OP_xor:
      return node_of->op;
    default: return HLO_OP_COUNT;
  }
}

static bool supports_types(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count + node->result_count; ++i) {
    const hlo_type_t* type = i < node->operand_count
                                 ? hlo_node_operand_type(node, i)
                                 : node->results[i - node->operand_count].type;
    if (type->kind != HLO_TYPE_TENSOR || type->quant || type->rank > MAX_RANK) return false;
    if (!hlo_elementwise_supports_dtype(type->dtype)) return false;
    int64_t count = hlo_type_element_count(type);
    if (count <= 0 || count > (int64_t)1 << 46) return false;
  }
  return node->result_count > 0;
}

static bool is_zero(const int64_t* list, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i]) return false;
  }
  return true;
}

static bool supports_reduce(const hlo_node_t* node) {
  if (hlo_tiled_arg_reducer(node) != HLO_OP_COUNT) return true;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_tiled_reducer(node, i) == HLO_OP_COUNT) return false;
    if (node->results[i].type->dtype != hlo_node_operand_type(node, i)->dtype) return false;
  }
  return true;
}

// Small windows without dilation of the operand: each output element reduces its own window.
static bool supports_reduce_window(const hlo_node_t* node) {
  uint32_t count;
  const int64_t* window = hlo_node_attr_ints(node, HLO_ATTR_window_dimensions, &count);
  int64_t elements = 1;
  for (uint32_t i = 0; i < count; ++i) {
    elements *= window[i];
    if (elements > MAX_WINDOW || window_attr(node, HLO_ATTR_base_dilations, i, 1) != 1) {
      return false;
    }
  }
  return node->result_count == 1 && supports_reduce(node);
}

static bool supports_dot(const hlo_node_t* node) {
  hlo_contraction_t c;
  return hlo_contraction_init(node, &c);
}

bool hlo_tiled_supports(const hlo_node_t* node) {
  if (!supports_types(node)) return false;
  uint32_t count;
  const int64_t* list;
  switch (node->op) {
    case HLO_OP_reshape: case HLO_OP_broadcast_in_dim: case HLO_OP_transpose: case HLO_OP_slice:
    case HLO_OP_reverse: case HLO_OP_dynamic_slice: case HLO_OP_gather: case HLO_OP_concatenate:
    case HLO_OP_iota:
      return true;
    case HLO_OP_constant: {
      const hlo_literal_t* literal = hlo_node_attr(node, HLO_ATTR_value)->literal;
      return literal->is_splat || literal->element_count == 1;
    }
    case HLO_OP_pad:
      list = hlo_node_attr_ints(node, HLO_ATTR_interior_padding, &count);
      return is_zero(list, count);
    case HLO_OP_dynamic_update_slice: return true;
    case HLO_OP_reduce: return supports_reduce(node);
    case HLO_OP_reduce_window: return supports_reduce_window(node);
    case HLO_OP_dot: case HLO_OP_dot_general: return supports_dot(node);
    case HLO_OP_convolution: return hlo_matmul_supports(node);
    default: return hlo_elementwise_supports(node);
  }
}
