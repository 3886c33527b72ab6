// SPDX-License-Identifier: Apache-2.0
// Pass slice_reduces: turns a reduction with a body that the loops do not support, as for products
// of complex numbers or pairs of numbers, into ops of slices. Each level combines four neighbours
// into one, in parallel for all groups, until one element is left. The elements keep their order,
// but the grouping is a tree. The same is done, one element after the other, to the index of the
// largest of a few innermost elements: lanes then run over many rows.
#include <string.h>

#include "base/tuning.h"
#include "ir/clone.h"
#include "ir/reducer.h"
#include "passes/associative.h"
#include "passes/build.h"
#include "passes/passes.h"
#include "passes/splice.h"

enum { FOUR = 4, MAX_LEVELS = 32 };

/// The values that are reduced together.
typedef struct group {
  hlo_value_t* values[HLO_LIFT_MAX_VALUES];
} group_t;

typedef struct reduction {
  hlo_node_t* node;
  uint32_t count;  // number of values
  // Dimensions; adjacent reduced dimensions are merged.
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX];
  bool is_reduced[HLO_RANK_MAX];
  bool is_short;  // a few innermost elements, in order
} reduction_t;

// Returns true if the loops support the body: one op per value, or a value and its index.
static bool is_known(const hlo_node_t* node) {
  if (hlo_reduce_arg_op(node) != HLO_OP_COUNT) return true;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_op_t op = hlo_reduce_op(node, i);
    if (op == HLO_OP_COUNT) return false;
    if (hlo_dtype_is_complex(node->results[i].type->dtype) && op != HLO_OP_add) return false;
  }
  return true;
}

// Returns true for a value and its index in rows of a few innermost elements.
static bool is_short_pair(const hlo_node_t* node) {
  if (hlo_reduce_arg_op(node) == HLO_OP_COUNT) return false;
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  return count == 1 && dims[0] == (int64_t)type->rank - 1 &&
         type->dims[dims[0]] <= HLO_TUNING_SHORT_REDUCE_MAX_ELEMENTS &&
         hlo_type_element_count(node->results[0].type) >= HLO_TUNING_SHORT_REDUCE_MIN_ROWS;
}

static void read_dims(reduction_t* r) {
  const hlo_type_t* type = hlo_node_operand_type(r->node, 0);
  uint32_t count;
  const int64_t* reduced = hlo_node_attr_ints(r->node, HLO_ATTR_dimensions, &count);
  for (uint32_t d = 0; d < type->rank; ++d) {
    const bool is_reduced = hlo_dims_contain(reduced, count, d, NULL);
    if (is_reduced && r->rank > 0 && r->is_reduced[r->rank - 1]) {
      r->dims[r->rank - 1] *= type->dims[d];
    } else {
      r->dims[r->rank] = type->dims[d];
      r->is_reduced[r->rank++] = is_reduced;
    }
  }
}

// Returns the number of body copies: three per level, as many for the remainder, one for the
// initial value.
static int64_t count_copies(const reduction_t* r) {
  int64_t copies = 1;
  for (uint32_t d = 0; d < r->rank; ++d) {
    for (int64_t size = r->is_reduced[d] ? r->dims[d] : 1; size > 1; size /= FOUR) {
      copies += 2 * (FOUR - 1);
    }
  }
  return copies;
}

static bool read_reduction(hlo_node_t* node, reduction_t* r) {
  if (node->op != HLO_OP_reduce || !hlo_lift_can_reduce(node)) return false;
  *r = (reduction_t){.node = node, .count = node->result_count};
  r->is_short = is_short_pair(node);
  if (is_known(node) && !r->is_short) return false;
  read_dims(r);
  return count_copies(r) * hlo_splice_size(node->regions[0]) <= HLO_TUNING_SLICE_REDUCE_MAX_OPS;
}

// ---- construction: NULL operands, which mean exhausted memory, give NULL results ----------------

static group_t combine_groups(const reduction_t* r, group_t x, group_t y) {
  group_t result;
  hlo_lift_pair(r->node, r->node->regions[0], r->count, x.values, y.values, result.values);
  return result;
}

static group_t reshape(const reduction_t* r, group_t x, uint32_t rank, const int64_t* dims) {
  for (uint32_t i = 0; i < r->count && x.values[i]; ++i) {
    const hlo_type_t* type =
        hlo_type_with_dims(r->node->parent->module, x.values[i]->type, rank, dims);
    x.values[i] = hlo_build_reshape(r->node, type, x.values[i]);
  }
  return x;
}

// Takes `size` elements along a dimension, `step` apart, from `first` on.
static group_t take_slice(const reduction_t* r, group_t x, uint32_t dim, int64_t first,
                          int64_t step, int64_t size) {
  int64_t dims[HLO_RANK_MAX], firsts[HLO_RANK_MAX] = {0}, steps[HLO_RANK_MAX];
  for (uint32_t i = 0; i < r->count && x.values[i]; ++i) {
    const hlo_type_t* type = x.values[i]->type;
    for (uint32_t d = 0; d < type->rank; ++d) {
      dims[d] = d == dim ? size : type->dims[d];
      steps[d] = d == dim ? step : 1;
    }
    firsts[dim] = first;
    const hlo_type_t* part = hlo_type_with_dims(r->node->parent->module, type, type->rank, dims);
    x.values[i] = hlo_build_slice(r->node, part, x.values[i], firsts, steps);
  }
  return x;
}

// Combines the elements first ... first + count - 1 along a dimension in order.
static group_t fold_elements(const reduction_t* r, group_t x, uint32_t dim, int64_t first,
                             int64_t count) {
  group_t sum = take_slice(r, x, dim, first, 1, 1);
  for (int64_t i = 1; i < count; ++i)
    sum = combine_groups(r, sum, take_slice(r, x, dim, first + i, 1, 1));
  return sum;
}

// Inserts a barrier, so that users do not recompute the values for each of their elements.
static group_t insert_barrier(const reduction_t* r, group_t x) {
  for (uint32_t i = 0; i < r->count && x.values[i]; ++i) {
    x.values[i] = hlo_build_unary(r->node, HLO_OP_optimization_barrier, x.values[i]);
  }
  return x;
}

static group_t reduce_dim(const reduction_t* r, group_t x, uint32_t dim) {
  group_t left_over[MAX_LEVELS];
  uint32_t levels = 0;
  int64_t size = r->dims[dim];
  if (r->is_short) return fold_elements(r, x, dim, 0, size);
  for (; size >= FOUR; size /= FOUR) {
    const int64_t fours = size / FOUR, rest = size % FOUR;
    if (rest) left_over[levels++] = insert_barrier(r, fold_elements(r, x, dim, fours * FOUR, rest));
    group_t parts[FOUR];
    for (uint32_t i = 0; i < FOUR; ++i) parts[i] = take_slice(r, x, dim, i, FOUR, fours);
    const group_t front = combine_groups(r, parts[0], parts[1]),
                  back = combine_groups(r, parts[2], parts[3]);
    x = insert_barrier(r, combine_groups(r, front, back));
  }
  if (size > 1) x = insert_barrier(r, fold_elements(r, x, dim, 0, size));
  while (levels > 0) x = insert_barrier(r, combine_groups(r, x, left_over[--levels]));
  return x;
}

static group_t reduce(const reduction_t* r) {
  const hlo_type_t* to = r->node->results[0].type;
  group_t x, first;
  for (uint32_t i = 0; i < r->count; ++i) {
    const hlo_type_t* type = r->node->results[i].type;
    x.values[i] = hlo_node_operand(r->node, i);
    first.values[i] =
        hlo_build_broadcast(r->node, type, hlo_node_operand(r->node, r->count + i), NULL);
  }
  x = reshape(r, x, r->rank, r->dims);
  for (uint32_t d = r->rank; d-- > 0;) {
    if (r->is_reduced[d]) x = reduce_dim(r, x, d);
  }
  return combine_groups(r, first, reshape(r, x, to->rank, to->dims));
}

static hlo_status_t slice_reduce(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  reduction_t r;
  if (!read_reduction(node, &r)) return hlo_ok();
  bool is_associative = r.is_short;
  if (!r.is_short) {
    HLO_TRY(hlo_find_associative(ctx, node, node->regions[0], r.count, &is_associative));
  }
  if (!is_associative) return hlo_ok();
  const group_t result = reduce(&r);
  HLO_TRY(hlo_module_status(node->parent->module));
  for (uint32_t i = 0; i < r.count; ++i) {
    hlo_value_replace_uses(&node->results[i], result.values[i]);
  }
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_slice_reduces(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, slice_reduce, ctx);
}
