// SPDX-License-Identifier: Apache-2.0
// Index expressions from operand to result (see tiled.h): a rule per op tells which element of the
// result depends on one element of an operand alone.
#include "codegen/index/tiled.h"
#include "codegen/math/elementwise.h"

typedef const hlo_expr_t* const* index_t;

static void up_transpose(const hlo_node_t* node, index_t index, const hlo_expr_t** out) {
  uint32_t count;
  const int64_t* permutation = hlo_node_attr_ints(node, HLO_ATTR_permutation, &count);
  for (uint32_t i = 0; i < count; ++i) out[i] = index[permutation[i]];
}

static void up_reverse(hlo_expr_space_t* e, const hlo_node_t* node, index_t index,
                       const hlo_expr_t** out) {
  const hlo_type_t* type = node->results[0].type;
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  for (uint32_t i = 0; i < type->rank; ++i) out[i] = index[i];
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_expr_t* last = hlo_expr_const(e, type->dims[dims[i]] - 1);
    out[dims[i]] = hlo_expr_add(e, last, hlo_expr_mul(e, index[dims[i]], -1));
  }
}

static void up_broadcast(hlo_expr_space_t* e, const hlo_node_t* node, index_t index,
                         const hlo_expr_t** out) {
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  for (uint32_t i = 0; i < node->results[0].type->rank; ++i) out[i] = hlo_expr_const(e, 0);
  for (uint32_t i = 0; i < count; ++i) out[dims[i]] = index[i];
}

// Finds the index of the result's element that depends on the operand's element at `index` alone;
// returns false if there is no single one.
static bool result_index(hlo_expr_space_t* e, const hlo_node_t* node, const hlo_type_t* from,
                         index_t index, const hlo_expr_t** out) {
  const hlo_type_t* to = node->results[0].type;
  if (hlo_type_element_count(from) != hlo_type_element_count(to)) return false;
  switch (node->op) {
    case HLO_OP_reshape:
      hlo_expr_delinearize(e, hlo_expr_linearize(e, from->rank, from->dims, index), to->rank,
                           to->dims, out);
      return true;
    case HLO_OP_transpose: up_transpose(node, index, out); return true;
    case HLO_OP_reverse: up_reverse(e, node, index, out); return true;
    case HLO_OP_broadcast_in_dim: up_broadcast(e, node, index, out); return true;
    default:
      if (!hlo_elementwise_supports(node) || !hlo_type_same_dims(from, to)) return false;
      for (uint32_t i = 0; i < to->rank; ++i) out[i] = index[i];
      return true;
  }
}

typedef struct search {
  hlo_tiling_t* tiling;
  const hlo_value_t* from;
  index_t index;
  bool* is_dead_end;  // by member: no path to `from` goes through it
} search_t;

// Returns the member that computes a value; node_count if an input or no member does.
static uint32_t find_member(const hlo_fusion_t* fusion, const hlo_value_t* value) {
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (fusion->inputs[i] == value) return fusion->node_count;
  }
  uint32_t i = 0;
  while (i < fusion->node_count && fusion->nodes[i] != value->def) ++i;
  return i;
}

static index_t find_index(search_t* search, const hlo_value_t* to) {
  if (to == search->from) return search->index;
  hlo_tiling_t* t = search->tiling;
  uint32_t member = find_member(t->fusion, to);
  if (member == t->fusion->node_count || search->is_dead_end[member]) return NULL;
  const hlo_node_t* node = to->def;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    index_t below = find_index(search, operand);
    if (!below) continue;
    const hlo_expr_t** index =
        hlo_arena_array(t->arena, (size_t)to->type->rank + 1, sizeof(*index));
    if (index && result_index(&t->exprs, node, operand->type, below, index)) return index;
  }
  search->is_dead_end[member] = true;
  return NULL;
}

index_t hlo_tiling_index_above(hlo_tiling_t* tiling, const hlo_value_t* from, index_t index,
                               const hlo_value_t* to) {
  search_t search = {.tiling = tiling, .from = from, .index = index};
  search.is_dead_end =
      hlo_arena_array(tiling->arena, tiling->fusion->node_count, sizeof *search.is_dead_end);
  return search.is_dead_end ? find_index(&search, to) : NULL;
}
