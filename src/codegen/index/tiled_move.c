// SPDX-License-Identifier: Apache-2.0
// The rules of ops that move elements (see tiled_impl.h): they map an index of the result to an
// index of the operand, and decide between several operands, or operand and padding.
#include <string.h>

#include "codegen/index/tiled_impl.h"

static hlo_tiled_t* through_reshape(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                    uint32_t depth) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  const hlo_expr_t* offset = hlo_expr_linearize(&t->exprs, to->rank, to->dims, index);
  hlo_expr_delinearize(&t->exprs, offset, from->rank, from->dims, inner);
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_broadcast(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                      uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < from->rank; ++i) {
    inner[i] = from->dims[i] == 1 ? hlo_tiling_number(t, 0) : index[dims[i]];
  }
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_transpose(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                      uint32_t depth) {
  uint32_t count;
  const int64_t* permutation = hlo_node_attr_ints(node, HLO_ATTR_permutation, &count);
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < count; ++i) inner[permutation[i]] = index[i];
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_slice(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                  uint32_t depth) {
  uint32_t count;
  const int64_t* starts = hlo_node_attr_ints(node, HLO_ATTR_start_indices, &count);
  const int64_t* strides = hlo_node_attr_ints(node, HLO_ATTR_strides, &count);
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < count; ++i) {
    inner[i] = hlo_expr_offset(&t->exprs, hlo_expr_mul(&t->exprs, index[i], strides[i]), starts[i]);
  }
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_reverse(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                    uint32_t depth) {
  const hlo_type_t* type = node->results[0].type;
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; ++i) inner[i] = index[i];
  for (uint32_t i = 0; i < count; ++i) {
    inner[dims[i]] = hlo_expr_offset(&t->exprs, hlo_expr_mul(&t->exprs, index[dims[i]], -1),
                                     type->dims[dims[i]] - 1);
  }
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

static hlo_tiled_t* through_dynamic_slice(hlo_tiling_t* t, const hlo_node_t* node,
                                          hlo_index_t index, uint32_t depth) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  for (uint32_t i = 0; i < from->rank; ++i) {
    const hlo_expr_t* start = hlo_tiling_runtime_value(t, hlo_node_operand(node, 1 + i), NULL, 0,
                                                       from->dims[i] - to->dims[i], depth);
    inner[i] = hlo_expr_add(&t->exprs, index[i], start);
  }
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

// result[batch..., offset...] = operand[start(batch) + offset]. source: StableHLO specification,
// gather
static hlo_tiled_t* through_gather(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
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

  const hlo_expr_t *batch[HLO_TILED_MAX_RANK], *inner[HLO_TILED_MAX_RANK];
  uint32_t batch_count = 0, offset_at = 0;
  for (uint32_t i = 0; i < result->rank; ++i) {
    if (!hlo_dims_contain(offsets, offset_count, i, NULL)) batch[batch_count++] = index[i];
  }
  for (uint32_t i = 0; i < operand->rank; ++i) {
    uint32_t at;
    inner[i] = hlo_tiling_number(t, 0);
    if (hlo_dims_contain(batching, batching_count, i, &at)) {
      int64_t dim = start_batching[at];
      inner[i] = batch[dim < vector_dim ? dim : dim - 1];
    } else if (!hlo_dims_contain(collapsed, collapsed_count, i, NULL)) {
      inner[i] = index[offsets[offset_at++]];
    }
    if (!hlo_dims_contain(map, map_count, i, &at)) continue;
    const hlo_expr_t* position[HLO_TILED_MAX_RANK];
    uint32_t from = 0;
    for (uint32_t k = 0; k < indices->rank; ++k) {
      position[k] = k == vector_dim ? hlo_tiling_number(t, at) : batch[from++];
    }
    inner[i] = hlo_expr_add(&t->exprs, inner[i],
                            hlo_tiling_runtime_value(t, hlo_node_operand(node, 1), position, 0,
                                                     operand->dims[i] - sizes[i], depth));
  }
  return hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
}

hlo_tiled_t* hlo_tiling_mask(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                             uint32_t rank, const hlo_expr_t* offset, int64_t low, int64_t end,
                             hlo_tiled_t* inside, hlo_tiled_t* outside) {
  if (!inside || !outside) return NULL;
  hlo_tiling_request_split(t, offset);
  hlo_tiling_request_cut(t, offset, low);
  hlo_tiling_request_cut(t, offset, end);
  hlo_tiled_t* tiled =
      hlo_tiling_make(t,
                      &(hlo_tiled_t){.kind = HLO_TILED_MASK,
                                     .value = value,
                                     .index = hlo_tiling_copy_index(t, rank, index),
                                     .offset = offset,
                                     .low = low,
                                     .end = end},
                      2);
  if (!tiled) return NULL;
  tiled->operands[0] = inside;
  tiled->operands[1] = outside;
  return hlo_tiling_add(t, tiled, rank);
}

static hlo_tiled_t* through_pad(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                uint32_t depth) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  uint32_t count;
  const int64_t* lows = hlo_node_attr_ints(node, HLO_ATTR_edge_padding_low, &count);
  const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
  bool is_outside = false;
  for (uint32_t i = 0; i < from->rank; ++i) {
    inner[i] = hlo_expr_offset(&t->exprs, index[i], -lows[i]);
    is_outside |= inner[i]->high < 0 || inner[i]->low >= from->dims[i];
  }
  hlo_tiled_t* outside = hlo_tiling_get(t, hlo_node_operand(node, 1), NULL, depth);
  if (is_outside || !outside) return outside;
  hlo_tiled_t* tiled = hlo_tiling_get(t, hlo_node_operand(node, 0), inner, depth);
  for (uint32_t i = 0; i < from->rank; ++i) {
    if (inner[i]->low >= 0 && inner[i]->high < from->dims[i]) continue;
    tiled = hlo_tiling_mask(t, &node->results[0], index, from->rank, inner[i], 0, from->dims[i],
                            tiled, outside);
  }
  return tiled;
}

static hlo_tiled_t* through_concatenate(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                        uint32_t depth) {
  const hlo_type_t* type = node->results[0].type;
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  const hlo_expr_t* position = index[dim];
  hlo_tiled_t* tiled = NULL;
  int64_t start = type->dims[dim];
  for (uint32_t i = node->operand_count; i-- > 0;) {
    int64_t size = hlo_node_operand_type(node, i)->dims[dim];
    start -= size;
    if (size == 0 || position->high < start || position->low >= start + size) continue;
    const hlo_expr_t* inner[HLO_TILED_MAX_RANK];
    memcpy(inner, index, type->rank * sizeof *inner);
    inner[dim] = hlo_expr_offset(&t->exprs, position, -start);
    hlo_tiled_t* part = hlo_tiling_get(t, hlo_node_operand(node, i), inner, depth);
    if (!part) return NULL;
    tiled = !tiled ? part
                   : hlo_tiling_mask(t, &node->results[0], index, type->rank, position, start,
                                     start + size, part, tiled);
    if (!tiled) return NULL;
  }
  return tiled ? tiled : hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_INDEX_PART, node));
}

typedef hlo_tiled_t* (*move_fn_t)(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                                  uint32_t depth);

// Rules of ops with the trait MOVES or JOINS; NULL: loops cannot follow the op.
static const move_fn_t kMoves[HLO_OP_COUNT] = {
    [HLO_OP_reshape] = through_reshape,         [HLO_OP_broadcast_in_dim] = through_broadcast,
    [HLO_OP_transpose] = through_transpose,     [HLO_OP_slice] = through_slice,
    [HLO_OP_reverse] = through_reverse,         [HLO_OP_dynamic_slice] = through_dynamic_slice,
    [HLO_OP_gather] = through_gather,           [HLO_OP_pad] = through_pad,
    [HLO_OP_concatenate] = through_concatenate,
};

bool hlo_tiling_moves(hlo_op_t op) {
  return kMoves[op] != NULL;
}

hlo_tiled_t* hlo_tiling_move(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                             uint32_t depth) {
  const move_fn_t move = kMoves[node->op];
  return move ? move(t, node, index, depth)
              : hlo_tiling_refuse(t, hlo_verdict_no(HLO_REASON_INDEX_OP, node));
}
