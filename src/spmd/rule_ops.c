// SPDX-License-Identifier: Apache-2.0
// Sharding rules of ops whose dimensions correspond one to one, of reshapes, contractions,
// reductions and windows.
// source : Shardy, "Operation sharding rule"; what its registry says of StableHLO's ops
#include <string.h>

#include "ir/custom_call.h"
#include "ir/sort_comparator.h"
#include "spmd/rule_impl.h"

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// ---- elementwise

void hlo_rule_elementwise(hlo_rule_builder_t* b) {
  uint32_t rank = 0;
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    if (hlo_rule_rank(b, t) > rank) rank = hlo_rule_rank(b, t);
  }
  hlo_rule_add_same(b, rank);
}

// Operand i and result i correspond; different pairs have nothing in common.
void hlo_rule_pairs(hlo_rule_builder_t* b) {
  const uint32_t results = b->tensor_count - b->operand_count;
  for (uint32_t i = 0; i < b->operand_count && i < results; ++i) {
    for (uint32_t d = 0; d < hlo_rule_rank(b, i); ++d) {
      const uint32_t factor =
          hlo_rule_add_factor(b, hlo_rule_size(b, i, d), HLO_FACTOR_PASS_THROUGH);
      hlo_rule_link(b, i, d, factor);
      hlo_rule_link(b, hlo_rule_result(b, i), d, factor);
    }
  }
}

// NumPy's broadcast of the operands, the last dimensions aligned or as broadcast_dimensions says.
void hlo_rule_broadcast_operands(hlo_rule_builder_t* b) {
  const uint32_t result = hlo_rule_result(b, 0), rank = hlo_rule_rank(b, result);
  const hlo_ints_t stated = hlo_node_ints(b->node, HLO_ATTR_broadcast_dimensions);
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t size = hlo_rule_size(b, result, d);
    const uint32_t factor = hlo_rule_add_factor(b, size, HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, result, d, factor);
    for (uint32_t t = 0; t < b->operand_count; ++t) {
      const uint32_t own = hlo_rule_rank(b, t);
      int64_t dim = (int64_t)d - (rank - own);
      if (stated.count && own < rank) {
        uint32_t at;
        dim = hlo_dims_contain(stated.values, stated.count, d, &at) ? (int64_t)at : HLO_RULE_NO_DIM;
      }
      if (dim >= 0 && dim < own && hlo_rule_size(b, t, dim) == size) {
        hlo_rule_link(b, t, dim, factor);
      }
    }
  }
}

void hlo_rule_bitcast_convert(hlo_rule_builder_t* b) {
  const uint32_t in = hlo_rule_rank(b, 0), out = hlo_rule_rank(b, 1);
  hlo_rule_add_same(b, in < out ? in : out);
}

// ---- dimensions that move

void hlo_rule_transpose(hlo_rule_builder_t* b) {
  const hlo_ints_t order = hlo_node_ints(b->node, HLO_ATTR_permutation);
  for (uint32_t d = 0; d < order.count; ++d) {
    const uint32_t factor = hlo_rule_add_factor(b, hlo_rule_size(b, 1, d), HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 0, order.values[d], factor);
    hlo_rule_link(b, 1, d, factor);
  }
}

void hlo_rule_broadcast(hlo_rule_builder_t* b) {
  const uint32_t rank = hlo_rule_rank(b, 1);
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t factor = hlo_rule_add_factor(b, hlo_rule_size(b, 1, d), HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 0, (int64_t)d - (rank - hlo_rule_rank(b, 0)), factor);
    hlo_rule_link(b, 1, d, factor);
  }
}

void hlo_rule_broadcast_in_dim(hlo_rule_builder_t* b) {
  const hlo_ints_t map = hlo_node_ints(b->node, HLO_ATTR_broadcast_dimensions);
  for (uint32_t d = 0; d < hlo_rule_rank(b, 1); ++d) {
    const int64_t size = hlo_rule_size(b, 1, d);
    uint32_t in;
    bool is_same = hlo_dims_contain(map.values, map.count, d, &in);
    if (is_same && hlo_rule_size(b, 0, in) != size) {
      hlo_rule_add_own(b, 0, in, HLO_FACTOR_PASS_THROUGH);
      is_same = false;
    }
    const uint32_t factor = hlo_rule_add_factor(b, size, HLO_FACTOR_PASS_THROUGH);
    if (is_same) hlo_rule_link(b, 0, in, factor);
    hlo_rule_link(b, 1, d, factor);
  }
}

// One side of a reshape: how far its dimensions are divided into factors.
typedef struct reshape_side {
  uint32_t tensor, rank, dim;
  int64_t sizes;    // product of the dimensions up to `dim`
  int64_t factors;  // product of the factors so far
} reshape_side_t;

static bool skip_unit_dim(hlo_rule_builder_t* b, reshape_side_t* side) {
  if (side->dim >= side->rank || hlo_rule_size(b, side->tensor, side->dim) != 1) return false;
  hlo_rule_add_own(b, side->tensor, side->dim++, HLO_FACTOR_PASS_THROUGH);
  return true;
}

// Adds a factor of one side while the other one is ahead of it. The factor makes both sides equal
// if it can, else it leaves the divisors that the next dimensions have in common.
static void catch_up(hlo_rule_builder_t* b, reshape_side_t* side, int64_t ahead, int64_t next,
                     int64_t common) {
  int64_t size = next;
  if (ahead % side->factors == 0 && next % (ahead / side->factors) == 0) {
    size = ahead / side->factors;
  } else if (next > common) {
    size = next / common;
  }
  const uint32_t factor = hlo_rule_add_factor(b, size, HLO_FACTOR_PASS_THROUGH);
  hlo_rule_link(b, side->tensor, side->dim, factor);
  side->factors *= size;
}

static void add_reshape_factors(hlo_rule_builder_t* b, reshape_side_t* in, reshape_side_t* out) {
  const int64_t next_in = in->sizes / in->factors, next_out = out->sizes / out->factors;
  const int64_t common = greatest_common_divisor(next_in, next_out);
  if (in->factors < out->factors) return catch_up(b, in, out->factors, next_in, common);
  if (in->factors > out->factors) return catch_up(b, out, in->factors, next_out, common);
  if (common > 1) {
    const uint32_t factor = hlo_rule_add_factor(b, common, HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, in->tensor, in->dim, factor);
    hlo_rule_link(b, out->tensor, out->dim, factor);
    in->factors *= common;
    out->factors *= common;
    return;
  }
  // Nothing in common until both sides are equal again.
  hlo_rule_link(b, in->tensor, in->dim, hlo_rule_add_factor(b, next_in, HLO_FACTOR_PASS_THROUGH));
  hlo_rule_link(b, out->tensor, out->dim,
                hlo_rule_add_factor(b, next_out, HLO_FACTOR_PASS_THROUGH));
  in->factors *= next_in;
  out->factors *= next_out;
}

void hlo_rule_reshape(hlo_rule_builder_t* b) {
  reshape_side_t in = {0, hlo_rule_rank(b, 0), 0, 1, 1};
  reshape_side_t out = {1, hlo_rule_rank(b, 1), 0, 1, 1};
  while (in.dim < in.rank || out.dim < out.rank) {
    if (skip_unit_dim(b, &in) || skip_unit_dim(b, &out)) continue;
    if (in.dim < in.rank && in.sizes == in.factors) in.sizes *= hlo_rule_size(b, 0, in.dim);
    if (out.dim < out.rank && out.sizes == out.factors) out.sizes *= hlo_rule_size(b, 1, out.dim);
    add_reshape_factors(b, &in, &out);
    if (in.dim < in.rank && in.sizes == in.factors) ++in.dim;
    if (out.dim < out.rank && out.sizes == out.factors) ++out.dim;
  }
}

// Returns false if a pad moves elements along a dimension: as many as it drops at one end may be
// added at the other one.
static bool is_in_place(const hlo_node_t* node, uint32_t dim) {
  if (node->op != HLO_OP_pad) return true;
  return hlo_node_attr_item(node, HLO_ATTR_edge_padding_low, dim, 0) == 0 &&
         hlo_node_attr_item(node, HLO_ATTR_edge_padding_high, dim, 0) == 0;
}

// A dimension of all tensors, whose size differs if elements are selected or added.
static uint32_t add_resized(hlo_rule_builder_t* b, uint32_t dim, hlo_factor_kind_t kind) {
  const uint32_t result = hlo_rule_result(b, 0);
  const int64_t size = hlo_rule_size(b, 0, dim);
  const bool is_same = size == hlo_rule_size(b, result, dim) && is_in_place(b->node, dim);
  const uint32_t factor = hlo_rule_add_factor(b, size, is_same ? HLO_FACTOR_PASS_THROUGH : kind);
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    if (hlo_rule_rank(b, t) == hlo_rule_rank(b, 0)) hlo_rule_link(b, t, dim, factor);
  }
  return is_same ? b->factor_count : factor;
}

void hlo_rule_resize(hlo_rule_builder_t* b) {
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) add_resized(b, d, HLO_FACTOR_PERMUTATION);
}

// Which part of a resized dimension is selected is not known before the program runs.
void hlo_rule_select_part(hlo_rule_builder_t* b) {
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    hlo_rule_block(b, add_resized(b, d, HLO_FACTOR_REPLICATED));
  }
}

// The largest elements of the last dimension, in order.
void hlo_rule_top_k(hlo_rule_builder_t* b) {
  const uint32_t rank = hlo_rule_rank(b, 0);
  for (uint32_t d = 0; d < rank; ++d) {
    const bool is_last = d + 1 == rank;
    const uint32_t factor = hlo_rule_link_all(
        b, d, hlo_rule_size(b, 0, d), is_last ? HLO_FACTOR_REPLICATED : HLO_FACTOR_PASS_THROUGH);
    if (is_last) hlo_rule_block(b, factor);
  }
}

static bool is_constant(const hlo_value_t* value) {
  return value->def && hlo_op_has(value->def->op, HLO_TRAIT_CONSTANT);
}

void hlo_rule_dynamic_update_slice(hlo_rule_builder_t* b) {
  const uint32_t result = hlo_rule_result(b, 0);
  bool is_known = true;
  for (uint32_t i = 2; i < b->operand_count; ++i) {
    is_known = is_known && is_constant(hlo_node_operand(b->node, i));
  }
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    const int64_t size = hlo_rule_size(b, 0, d);
    const uint32_t factor = hlo_rule_add_factor(b, size, HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 0, d, factor);
    hlo_rule_link(b, result, d, factor);
    if (hlo_rule_size(b, 1, d) == size) {
      hlo_rule_link(b, 1, d, factor);
    } else {
      // Each device writes what lies in its part, from the whole update.
      hlo_rule_add_own(b, 1, d, is_known ? HLO_FACTOR_PASS_THROUGH : HLO_FACTOR_REPLICATED);
    }
  }
}

static const hlo_node_t* slice_of(const hlo_value_t* value) {
  return value->def && value->def->op == HLO_OP_slice ? value->def : NULL;
}

// Slices that are joined, or a tensor with slices of itself at its ends (a roll, a halo), only
// exchange elements at the bounds of parts.
static bool joins_slices(const hlo_node_t* node) {
  uint32_t slices = 0;
  bool is_same = true;
  const hlo_value_t* first = NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_node_t* slice = slice_of(hlo_node_operand(node, i));
    const hlo_value_t* whole = slice ? hlo_node_operand(slice, 0) : hlo_node_operand(node, i);
    if (slice) ++slices;
    if (!first) first = whole;
    is_same = is_same && whole == first;
  }
  return slices == node->operand_count || (slices && is_same);
}

void hlo_rule_concatenate(hlo_rule_builder_t* b) {
  const int64_t joined = hlo_node_attr_int(b->node, HLO_ATTR_dimension, 0);
  const uint32_t result = hlo_rule_result(b, 0);
  const hlo_factor_kind_t kind =
      joins_slices(b->node) ? HLO_FACTOR_PERMUTATION : HLO_FACTOR_REPLICATED;
  for (uint32_t d = 0; d < hlo_rule_rank(b, result); ++d) {
    hlo_rule_link_all(b, d, hlo_rule_size(b, result, d),
                      d == joined ? kind : HLO_FACTOR_PASS_THROUGH);
  }
}

void hlo_rule_reverse(hlo_rule_builder_t* b) {
  const hlo_ints_t reversed = hlo_node_ints(b->node, HLO_ATTR_dimensions);
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    hlo_rule_link_all(b, d, hlo_rule_size(b, 0, d),
                      hlo_ints_has(reversed, d) ? HLO_FACTOR_PERMUTATION : HLO_FACTOR_PASS_THROUGH);
  }
}

// ---- contractions

static void add_product_dims(hlo_rule_builder_t* b, hlo_ints_t left, hlo_ints_t right,
                             int64_t* out_dim, hlo_factor_kind_t kind) {
  for (uint32_t i = 0; i < left.count && i < right.count; ++i) {
    const uint32_t factor = hlo_rule_add_factor(b, hlo_rule_size(b, 0, left.values[i]), kind);
    hlo_rule_link(b, 0, left.values[i], factor);
    hlo_rule_link(b, 1, right.values[i], factor);
    if (out_dim) hlo_rule_link(b, hlo_rule_result(b, 0), (*out_dim)++, factor);
  }
}

static void add_free_dims(hlo_rule_builder_t* b, uint32_t tensor, hlo_ints_t batch, hlo_ints_t sum,
                          hlo_ints_t other, int64_t* out_dim) {
  for (uint32_t d = 0; d < hlo_rule_rank(b, tensor); ++d) {
    if (hlo_ints_has(batch, d) || hlo_ints_has(sum, d) || hlo_ints_has(other, d)) continue;
    const uint32_t factor =
        hlo_rule_add_factor(b, hlo_rule_size(b, tensor, d), HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, tensor, d, factor);
    hlo_rule_link(b, hlo_rule_result(b, 0), (*out_dim)++, factor);
  }
}

void hlo_rule_dot_general(hlo_rule_builder_t* b) {
  const hlo_ints_t left = hlo_node_ints(b->node, HLO_ATTR_lhs_batching_dimensions);
  const hlo_ints_t right = hlo_node_ints(b->node, HLO_ATTR_rhs_batching_dimensions);
  const hlo_ints_t left_sum = hlo_node_ints(b->node, HLO_ATTR_lhs_contracting_dimensions);
  const hlo_ints_t right_sum = hlo_node_ints(b->node, HLO_ATTR_rhs_contracting_dimensions);
  int64_t out_dim = 0;
  add_product_dims(b, left, right, &out_dim, HLO_FACTOR_PASS_THROUGH);
  add_free_dims(b, 0, left, left_sum, (hlo_ints_t){0}, &out_dim);
  add_free_dims(b, 1, right, right_sum, (hlo_ints_t){0}, &out_dim);
  add_product_dims(b, left_sum, right_sum, NULL, HLO_FACTOR_REDUCTION);
  b->reducer = HLO_OP_add;
}

// The offsets of the groups depend on the sizes of all of them, so that a device needs the whole
// ragged dimension.
void hlo_rule_ragged_dot(hlo_rule_builder_t* b) {
  const hlo_ints_t left = hlo_node_ints(b->node, HLO_ATTR_lhs_batching_dimensions);
  const hlo_ints_t right = hlo_node_ints(b->node, HLO_ATTR_rhs_batching_dimensions);
  const hlo_ints_t left_sum = hlo_node_ints(b->node, HLO_ATTR_lhs_contracting_dimensions);
  const hlo_ints_t right_sum = hlo_node_ints(b->node, HLO_ATTR_rhs_contracting_dimensions);
  const hlo_ints_t ragged = hlo_node_ints(b->node, HLO_ATTR_lhs_ragged_dimensions);
  const hlo_ints_t groups = hlo_node_ints(b->node, HLO_ATTR_rhs_group_dimensions);
  // Ragged sums: each group is a slice of the result, which is a new first dimension.
  int64_t out_dim = groups.count ? 0 : 1;
  add_product_dims(b, left, right, &out_dim, HLO_FACTOR_PASS_THROUGH);
  add_free_dims(b, 0, left, left_sum, (hlo_ints_t){0}, &out_dim);
  add_free_dims(b, 1, right, right_sum, groups, &out_dim);
  add_product_dims(b, left_sum, right_sum, NULL, HLO_FACTOR_REDUCTION);
  const uint32_t first = b->first_dims[0];
  for (uint32_t i = 0; i < b->link_count; ++i) {
    const uint32_t dim = b->links[i].dim - first;
    if (dim < hlo_rule_rank(b, 0) && hlo_ints_has(ragged, dim)) {
      b->factors[b->links[i].factor].kind = HLO_FACTOR_REPLICATED;
    }
  }
  b->reducer = HLO_OP_add;
}

// A dimension of operands that have blocks of one scale along it.
typedef struct scaled_dim {
  uint32_t count;
  uint32_t tensors[3];  // with all elements: an operand or both, and the result
  int64_t dims[3];
  int64_t scale_dims[2];  // of each operand's scales
} scaled_dim_t;

static void add_to_dim(scaled_dim_t* dim, uint32_t tensor, int64_t at) {
  dim->tensors[dim->count] = tensor;
  dim->dims[dim->count++] = at;
}

// Returns whether the scales of operand `side` have several elements along the dimension.
static bool has_blocks(const hlo_rule_builder_t* b, const scaled_dim_t* dim, uint32_t side) {
  return dim->scale_dims[side] != HLO_RULE_NO_DIM && hlo_rule_rank(b, 2 + side) > 0 &&
         hlo_rule_size(b, 2 + side, dim->scale_dims[side]) > 1;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Devices get whole blocks, as many of each operand.
static void add_scaled_dim(hlo_rule_builder_t* b, const scaled_dim_t* dim, hlo_factor_kind_t kind) {
  const int64_t size = hlo_rule_size(b, dim->tensors[0], dim->dims[0]);
  int64_t blocks = size;
  for (uint32_t side = 0; side < 2; ++side) {
    if (!has_blocks(b, dim, side)) continue;
    blocks = greatest_divisor(blocks, hlo_rule_size(b, 2 + side, dim->scale_dims[side]));
  }
  const uint32_t major = hlo_rule_add_factor(b, blocks, kind);
  for (uint32_t i = 0; i < dim->count; ++i) hlo_rule_link(b, dim->tensors[i], dim->dims[i], major);
  for (uint32_t side = 0; side < 2; ++side) {
    if (has_blocks(b, dim, side)) hlo_rule_link(b, 2 + side, dim->scale_dims[side], major);
  }
  if (blocks == size) return;
  const uint32_t minor = hlo_rule_add_factor(b, size / blocks, HLO_FACTOR_REPLICATED);
  for (uint32_t i = 0; i < dim->count; ++i) hlo_rule_link(b, dim->tensors[i], dim->dims[i], minor);
  for (uint32_t side = 0; side < 2; ++side) {
    if (!has_blocks(b, dim, side)) continue;
    const int64_t rest = hlo_rule_size(b, 2 + side, dim->scale_dims[side]) / blocks;
    if (rest == 1) continue;
    hlo_rule_link(b, 2 + side, dim->scale_dims[side],
                  hlo_rule_add_factor(b, rest, HLO_FACTOR_REPLICATED));
  }
}

void hlo_rule_scaled_dot(hlo_rule_builder_t* b) {
  const hlo_ints_t batch[] = {hlo_node_ints(b->node, HLO_ATTR_lhs_batching_dimensions),
                              hlo_node_ints(b->node, HLO_ATTR_rhs_batching_dimensions)};
  const hlo_ints_t sum[] = {hlo_node_ints(b->node, HLO_ATTR_lhs_contracting_dimensions),
                            hlo_node_ints(b->node, HLO_ATTR_rhs_contracting_dimensions)};
  const uint32_t result = hlo_rule_result(b, 0);
  int64_t out_dim = 0;
  for (uint32_t i = 0; i < batch[0].count; ++i) {
    scaled_dim_t dim = {.scale_dims = {batch[0].values[i], batch[1].values[i]}};
    for (uint32_t side = 0; side < 2; ++side) add_to_dim(&dim, side, batch[side].values[i]);
    add_to_dim(&dim, result, out_dim++);
    add_scaled_dim(b, &dim, HLO_FACTOR_PASS_THROUGH);
  }
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t d = 0; d < hlo_rule_rank(b, side); ++d) {
      if (hlo_ints_has(batch[side], d) || hlo_ints_has(sum[side], d)) continue;
      scaled_dim_t dim = {.scale_dims = {HLO_RULE_NO_DIM, HLO_RULE_NO_DIM}};
      dim.scale_dims[side] = d;
      add_to_dim(&dim, side, d);
      add_to_dim(&dim, result, out_dim++);
      add_scaled_dim(b, &dim, HLO_FACTOR_PASS_THROUGH);
    }
  }
  for (uint32_t i = 0; i < sum[0].count; ++i) {
    scaled_dim_t dim = {.scale_dims = {sum[0].values[i], sum[1].values[i]}};
    for (uint32_t side = 0; side < 2; ++side) add_to_dim(&dim, side, sum[side].values[i]);
    add_scaled_dim(b, &dim, HLO_FACTOR_REDUCTION);
  }
  b->reducer = HLO_OP_add;
}

void hlo_rule_dot(hlo_rule_builder_t* b) {
  const bool is_left_matrix = hlo_rule_rank(b, 0) == 2, is_right_matrix = hlo_rule_rank(b, 1) == 2;
  int64_t out_dim = 0;
  for (uint32_t side = 0; side < 2; ++side) {
    if (side ? !is_right_matrix : !is_left_matrix) continue;
    const uint32_t factor =
        hlo_rule_add_factor(b, hlo_rule_size(b, side, side), HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, side, side, factor);
    hlo_rule_link(b, 2, out_dim++, factor);
  }
  const uint32_t sum = hlo_rule_add_factor(b, hlo_rule_size(b, 1, 0), HLO_FACTOR_REDUCTION);
  hlo_rule_link(b, 0, is_left_matrix, sum);
  hlo_rule_link(b, 1, 0, sum);
  b->reducer = HLO_OP_add;
}

// "ab,bc->ac": a letter of no result is summed.
void hlo_rule_einsum(hlo_rule_builder_t* b) {
  const char* config = hlo_node_attr_text(b->node, HLO_ATTR_einsum_config);
  const char* arrow = config ? strstr(config, "->") : NULL;
  uint32_t factors[128];
  memset(factors, 0xff, sizeof factors);
  uint32_t tensor = 0, dim = 0;
  for (const char* c = config; arrow && *c; ++c) {
    if (*c == ' ') continue;
    if (*c == ',' || c == arrow) {
      ++tensor;
      dim = 0;
      c += c == arrow;
      continue;
    }
    const uint32_t letter = (unsigned char)*c;
    if (letter >= 128 || *c == '.' || tensor >= b->tensor_count ||
        dim >= hlo_rule_rank(b, tensor)) {
      arrow = NULL;
      break;
    }
    if (factors[letter] == UINT32_MAX) {
      factors[letter] = hlo_rule_add_factor(
          b, hlo_rule_size(b, tensor, dim),
          strchr(arrow + 2, *c) ? HLO_FACTOR_PASS_THROUGH : HLO_FACTOR_REDUCTION);
    }
    hlo_rule_link(b, tensor, dim++, factors[letter]);
  }
  b->is_refused = !arrow;
  b->reducer = HLO_OP_add;
}

// ---- reductions and windows

void hlo_rule_reduce(hlo_rule_builder_t* b) {
  const hlo_ints_t reduced = hlo_node_ints(b->node, HLO_ATTR_dimensions);
  const uint32_t inputs = b->operand_count / 2;
  int64_t out_dim = 0;
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    const bool is_reduced = hlo_ints_has(reduced, d);
    const uint32_t factor = hlo_rule_add_factor(
        b, hlo_rule_size(b, 0, d), is_reduced ? HLO_FACTOR_REDUCTION : HLO_FACTOR_PASS_THROUGH);
    for (uint32_t i = 0; i < inputs; ++i) {
      hlo_rule_link(b, i, d, factor);
      if (!is_reduced) hlo_rule_link(b, hlo_rule_result(b, i), out_dim, factor);
    }
    out_dim += !is_reduced;
  }
}

static bool is_window_trivial(const hlo_node_t* node, uint32_t dim) {
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  return hlo_ints_at(hlo_node_ints(node, HLO_ATTR_window_dimensions), dim, 1) == 1 &&
         hlo_ints_at(hlo_node_ints(node, HLO_ATTR_window_strides), dim, 1) == 1 &&
         hlo_ints_at(hlo_node_ints(node, HLO_ATTR_base_dilations), dim, 1) == 1 &&
         hlo_ints_at(padding, 2 * dim, 0) == 0 && hlo_ints_at(padding, 2 * dim + 1, 0) == 0;
}

// A part of the result is a number of windows.
void hlo_rule_reduce_window(hlo_rule_builder_t* b) {
  const uint32_t result = hlo_rule_result(b, 0);
  for (uint32_t d = 0; d < hlo_rule_rank(b, result); ++d) {
    hlo_rule_link_all(
        b, d, hlo_rule_size(b, result, d),
        is_window_trivial(b->node, d) ? HLO_FACTOR_PASS_THROUGH : HLO_FACTOR_PERMUTATION);
  }
}

void hlo_rule_select_and_scatter(hlo_rule_builder_t* b) {
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    const int64_t size = hlo_rule_size(b, 0, d);
    if (is_window_trivial(b->node, d)) {
      hlo_rule_link_all(b, d, size, HLO_FACTOR_PASS_THROUGH);
      continue;
    }
    hlo_rule_add_own(b, 1, d, HLO_FACTOR_REPLICATED);
    const uint32_t factor = hlo_rule_add_factor(b, size, HLO_FACTOR_PERMUTATION);
    hlo_rule_link(b, 0, d, factor);
    hlo_rule_link(b, hlo_rule_result(b, 0), d, factor);
  }
}

// A spatial dimension of the input is both the windows and the elements of a window; the larger
// number is the major factor.
static void add_spatial_factors(hlo_rule_builder_t* b, int64_t in, int64_t kernel, int64_t out) {
  const int64_t sizes[] = {hlo_rule_size(b, 2, out), hlo_rule_size(b, 1, kernel)};
  int64_t left = hlo_rule_size(b, 0, in);
  for (uint32_t i = 0; i < 2; ++i) {
    const bool is_kernel = (sizes[0] >= sizes[1]) == (i == 1);
    int64_t size = sizes[is_kernel];
    if (size > left) size = left;
    if (size <= 1) continue;
    const uint32_t factor =
        hlo_rule_add_factor(b, size, is_kernel ? HLO_FACTOR_REDUCTION : HLO_FACTOR_PERMUTATION);
    hlo_rule_link(b, 0, in, factor);
    hlo_rule_link(b, is_kernel ? 1 : 2, is_kernel ? kernel : out, factor);
    left /= size;
  }
}

void hlo_rule_convolution(hlo_rule_builder_t* b) {
  const hlo_node_t* node = b->node;
  const int64_t batch_groups = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  const int64_t feature_groups = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  const int64_t in_batch = hlo_node_attr_int(node, HLO_ATTR_input_batch_dimension, 0);
  const int64_t in_feature = hlo_node_attr_int(node, HLO_ATTR_input_feature_dimension, 0);
  const int64_t kernel_in = hlo_node_attr_int(node, HLO_ATTR_kernel_input_feature_dimension, 0);
  const int64_t kernel_out = hlo_node_attr_int(node, HLO_ATTR_kernel_output_feature_dimension, 0);
  const int64_t out_batch = hlo_node_attr_int(node, HLO_ATTR_output_batch_dimension, 0);
  const int64_t out_feature = hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, 0);
  const hlo_ints_t in = hlo_node_ints(node, HLO_ATTR_input_spatial_dimensions);
  const hlo_ints_t kernel = hlo_node_ints(node, HLO_ATTR_kernel_spatial_dimensions);
  const hlo_ints_t out = hlo_node_ints(node, HLO_ATTR_output_spatial_dimensions);
  uint32_t factor;
  if (batch_groups > 1) {
    factor = hlo_rule_add_factor(b, batch_groups, HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 0, in_batch, factor);
    hlo_rule_link(b, 1, kernel_out, factor);
    hlo_rule_link(b, 2, out_feature, factor);
  }
  factor = hlo_rule_add_factor(b, hlo_rule_size(b, 2, out_batch), HLO_FACTOR_PASS_THROUGH);
  hlo_rule_link(b, 0, in_batch, factor);
  hlo_rule_link(b, 2, out_batch, factor);
  for (uint32_t i = 0; i < in.count; ++i) {
    add_spatial_factors(b, in.values[i], kernel.values[i], out.values[i]);
  }
  if (feature_groups > 1) {
    factor = hlo_rule_add_factor(b, feature_groups, HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 0, in_feature, factor);
    hlo_rule_link(b, 1, kernel_out, factor);
    hlo_rule_link(b, 2, out_feature, factor);
  }
  factor = hlo_rule_add_factor(b, hlo_rule_size(b, 1, kernel_in), HLO_FACTOR_REDUCTION);
  hlo_rule_link(b, 0, in_feature, factor);
  hlo_rule_link(b, 1, kernel_in, factor);
  const int64_t features = hlo_rule_size(b, 2, out_feature) / (batch_groups * feature_groups);
  if (features > 1) {
    factor = hlo_rule_add_factor(b, features, HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 1, kernel_out, factor);
    hlo_rule_link(b, 2, out_feature, factor);
  }
  b->reducer = HLO_OP_add;
}

// ---- normalisation

// The statistics are those of all dimensions but the feature's.
static void add_norm_factors(hlo_rule_builder_t* b, hlo_factor_kind_t kind) {
  const int64_t feature = hlo_node_attr_int(b->node, HLO_ATTR_feature_index, 0);
  const uint32_t rank = hlo_rule_rank(b, 0);
  for (uint32_t d = 0; d < rank; ++d) {
    const bool is_feature = d == feature;
    const uint32_t factor =
        hlo_rule_add_factor(b, hlo_rule_size(b, 0, d), is_feature ? HLO_FACTOR_PASS_THROUGH : kind);
    for (uint32_t t = 0; t < b->tensor_count; ++t) {
      // A tensor of rank 1 is the operand only if it comes first or is like it.
      const bool is_statistic = hlo_rule_rank(b, t) == 1 && (rank > 1 || t > 0) &&
                                hlo_rule_size(b, t, 0) == hlo_rule_size(b, 0, feature);
      if (!is_statistic) hlo_rule_link(b, t, d, factor);
      if (is_statistic && is_feature) hlo_rule_link(b, t, 0, factor);
    }
  }
}

void hlo_rule_batch_norm(hlo_rule_builder_t* b) {
  add_norm_factors(b, HLO_FACTOR_PASS_THROUGH);
}

void hlo_rule_batch_statistics(hlo_rule_builder_t* b) {
  add_norm_factors(b, HLO_FACTOR_REPLICATED);
}

// ---- ops along one dimension

void hlo_rule_sort(hlo_rule_builder_t* b) {
  const uint32_t rank = hlo_rule_rank(b, 0);
  int64_t sorted = hlo_node_attr_int(b->node, HLO_ATTR_dimension, -1);
  if (sorted < 0) sorted += rank;
  bool is_only = true;
  for (uint32_t d = 0; d < rank; ++d) {
    is_only = is_only && (d == sorted || hlo_rule_size(b, 0, d) == 1);
  }
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t factor =
        hlo_rule_link_all(b, d, hlo_rule_size(b, 0, d),
                          d == sorted ? HLO_FACTOR_REPLICATED : HLO_FACTOR_PASS_THROUGH);
    if (d == sorted && is_only) hlo_rule_block(b, factor);
  }
}

void hlo_rule_fft(hlo_rule_builder_t* b) {
  const hlo_ints_t length = hlo_node_ints(b->node, HLO_ATTR_fft_length);
  const uint32_t rank = hlo_rule_rank(b, 0);
  for (uint32_t d = 0; d < rank; ++d) {
    const bool is_batch = d + length.count < rank;
    const uint32_t factor = hlo_rule_link_all(
        b, d, hlo_rule_size(b, 0, d), is_batch ? HLO_FACTOR_PASS_THROUGH : HLO_FACTOR_REPLICATED);
    if (d == rank - 1 && hlo_rule_size(b, 0, d) != hlo_rule_size(b, 1, d)) {
      hlo_rule_block(b, factor);
    }
  }
}

// A function whose body treats every element alike passes the other dimensions through.
void hlo_rule_scan(hlo_rule_builder_t* b) {
  const hlo_region_t* body = b->node->region_count ? b->node->regions[0] : NULL;
  bool is_elementwise = body != NULL;
  for (const hlo_node_t* n = body ? body->first : NULL; n && is_elementwise; n = n->next) {
    is_elementwise = hlo_op_has(n->op, HLO_TRAIT_ELEMENTWISE | HLO_TRAIT_TERMINATOR);
  }
  const uint32_t rank = hlo_rule_rank(b, 0);
  const int64_t scanned = hlo_node_attr_int(b->node, HLO_ATTR_dimension, 0);
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    is_elementwise =
        is_elementwise && (hlo_rule_rank(b, t) == rank || hlo_rule_rank(b, t) + 1 == rank);
  }
  b->is_refused = !is_elementwise;
  for (uint32_t d = 0; d < rank && is_elementwise; ++d) {
    const uint32_t factor = hlo_rule_add_factor(
        b, hlo_rule_size(b, 0, d), d == scanned ? HLO_FACTOR_REPLICATED : HLO_FACTOR_PASS_THROUGH);
    for (uint32_t t = 0; t < b->tensor_count; ++t) {
      if (hlo_rule_rank(b, t) == rank)
        hlo_rule_link(b, t, d, factor);
      else if (d != scanned)
        hlo_rule_link(b, t, d - (d > scanned), factor);
    }
  }
}

// ---- linear algebra

// Leading dimensions of all tensors are batches; each of the others is needed whole.
static void add_batches(hlo_rule_builder_t* b, uint32_t count) {
  hlo_rule_add_same(b, count);
}

void hlo_rule_cholesky(hlo_rule_builder_t* b) {
  const uint32_t rank = hlo_rule_rank(b, 0);
  add_batches(b, rank - 2);
  for (uint32_t d = rank - 2; d < rank; ++d) {
    hlo_rule_link_all(b, d, hlo_rule_size(b, 0, d), HLO_FACTOR_REPLICATED);
  }
}

void hlo_rule_triangular_solve(hlo_rule_builder_t* b) {
  const uint32_t rank = hlo_rule_rank(b, 0);
  const bool is_left = hlo_node_attr_bool(b->node, HLO_ATTR_left_side, true);
  const hlo_attr_t* transpose = hlo_node_attr(b->node, HLO_ATTR_transpose_a);
  const bool is_transposed = transpose && (transpose->i == HLO_TRANSPOSE_TRANSPOSE ||
                                           transpose->i == HLO_TRANSPOSE_ADJOINT);
  const int64_t row = rank - 2, column = rank - 1;
  // op(a) x = b sums over the columns of op(a), x op(a) = b over its rows.
  const int64_t summed = is_transposed == is_left ? row : column;
  const int64_t kept = summed == row ? column : row;
  const int64_t solved = is_left ? row : column, other = is_left ? column : row;
  add_batches(b, rank - 2);
  uint32_t factors[3];
  for (uint32_t i = 0; i < 3; ++i) {
    const bool is_other = is_left ? i == 1 : i == 0;
    const bool is_kept = is_left ? i == 0 : i == 1;
    const int64_t size =
        is_other ? hlo_rule_size(b, 1, other) : hlo_rule_size(b, 0, is_kept ? kept : summed);
    factors[i] = hlo_rule_add_factor(b, size, HLO_FACTOR_REPLICATED);
    if (is_other) {
      hlo_rule_link(b, 1, other, factors[i]);
      hlo_rule_link(b, 2, other, factors[i]);
    } else if (is_kept) {
      hlo_rule_link(b, 0, kept, factors[i]);
      hlo_rule_link(b, 1, solved, factors[i]);
    } else {
      hlo_rule_link(b, 0, summed, factors[i]);
      hlo_rule_link(b, 2, solved, factors[i]);
    }
  }
}

// ---- random bits

// The state is read whole, and is not divided as its successor is.
void hlo_rule_rng_bit_generator(hlo_rule_builder_t* b) {
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    const uint32_t factor = hlo_rule_add_factor(b, hlo_rule_size(b, 0, d), HLO_FACTOR_REPLICATED);
    hlo_rule_link(b, 0, d, factor);
    hlo_rule_link(b, 1, d, factor);
    hlo_rule_block(b, factor);
  }
  for (uint32_t d = 0; d < hlo_rule_rank(b, 2); ++d) {
    hlo_rule_add_own(b, 2, d, HLO_FACTOR_PASS_THROUGH);
  }
}

// ---- collectives of manual computations

// Dimensions whose size or contents a collective changes are whole on each device of the axes that
// the computation does not name; the others pass through.
static void add_collective_pair(hlo_rule_builder_t* b, uint32_t operand, int64_t first,
                                int64_t second) {
  const uint32_t result = hlo_rule_result(b, operand);
  for (uint32_t d = 0; d < hlo_rule_rank(b, operand); ++d) {
    if (d == first || d == second) {
      hlo_rule_add_own(b, operand, d, HLO_FACTOR_REPLICATED);
      hlo_rule_add_own(b, result, d, HLO_FACTOR_REPLICATED);
      continue;
    }
    const uint32_t factor =
        hlo_rule_add_factor(b, hlo_rule_size(b, operand, d), HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, operand, d, factor);
    hlo_rule_link(b, result, d, factor);
  }
}

static void add_collective(hlo_rule_builder_t* b, int64_t first, int64_t second) {
  const uint32_t results = b->tensor_count - b->operand_count;
  for (uint32_t i = 0; i < b->operand_count && i < results; ++i) {
    add_collective_pair(b, i, first, second);
  }
}

void hlo_rule_all_gather(hlo_rule_builder_t* b) {
  add_collective(b, hlo_node_attr_int(b->node, HLO_ATTR_all_gather_dim, 0), HLO_RULE_NO_DIM);
}

void hlo_rule_reduce_scatter(hlo_rule_builder_t* b) {
  add_collective(b, hlo_node_attr_int(b->node, HLO_ATTR_scatter_dimension, 0), HLO_RULE_NO_DIM);
}

void hlo_rule_all_to_all(hlo_rule_builder_t* b) {
  add_collective(b, hlo_node_attr_int(b->node, HLO_ATTR_split_dimension, 0),
                 hlo_node_attr_int(b->node, HLO_ATTR_concat_dimension, 0));
}

// Operand, then the output that it is received in; the other operands are offsets and sizes.
void hlo_rule_ragged_all_to_all(hlo_rule_builder_t* b) {
  const uint32_t result = hlo_rule_result(b, 0);
  hlo_rule_add_own(b, 0, 0, HLO_FACTOR_REPLICATED);
  const uint32_t rows = hlo_rule_add_factor(b, hlo_rule_size(b, 1, 0), HLO_FACTOR_REPLICATED);
  hlo_rule_link(b, 1, 0, rows);
  hlo_rule_link(b, result, 0, rows);
  for (uint32_t d = 1; d < hlo_rule_rank(b, 0); ++d) {
    const uint32_t factor = hlo_rule_add_factor(b, hlo_rule_size(b, 0, d), HLO_FACTOR_PASS_THROUGH);
    hlo_rule_link(b, 0, d, factor);
    hlo_rule_link(b, 1, d, factor);
    hlo_rule_link(b, result, d, factor);
  }
}

// ---- custom calls

// The reduced dimension of ApproxTopK is read whole or in parts; the k candidates are not divided,
// unless the program asks for a sort and a slice, along which axes pass.
static void add_top_k(hlo_rule_builder_t* b) {
  const uint32_t result = hlo_rule_result(b, 0);
  hlo_top_k_t top_k = {.axis = UINT32_MAX};
  hlo_status_release(hlo_top_k_of(b->node, &top_k));  // without settings: the one that gets shorter
  for (uint32_t d = 0; d < hlo_rule_rank(b, 0); ++d) {
    const int64_t size = hlo_rule_size(b, 0, d);
    if (d != top_k.axis && size == hlo_rule_size(b, result, d)) {
      hlo_rule_link_all(b, d, size, HLO_FACTOR_PASS_THROUGH);
      continue;
    }
    if (top_k.is_fallback) {
      hlo_rule_link_all(b, d, size, HLO_FACTOR_REPLICATED);
      continue;
    }
    const uint32_t in = hlo_rule_add_factor(b, size, HLO_FACTOR_REPLICATED);
    const uint32_t out = hlo_rule_add_factor(b, hlo_rule_size(b, result, d), HLO_FACTOR_REPLICATED);
    hlo_rule_block(b, out);
    for (uint32_t t = 0; t < b->tensor_count; ++t) {
      hlo_rule_link(b, t, d, t < b->operand_count ? in : out);
    }
  }
}

// Tensors of one element may have fewer dimensions.
static bool are_of_one_shape(const hlo_rule_builder_t* b) {
  const hlo_type_t* first = NULL;
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(b->node, t);
    if (!hlo_rule_rank(b, t)) continue;
    if (!first) first = type;
    if (!hlo_type_same_dims(first, type)) return false;
  }
  return true;
}

static uint32_t smallest_rank(const hlo_rule_builder_t* b) {
  uint32_t rank = UINT32_MAX;
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    if (hlo_type_is_tensor(hlo_node_type(b->node, t)) && hlo_rule_rank(b, t) < rank) {
      rank = hlo_rule_rank(b, t);
    }
  }
  return rank;
}

void hlo_rule_custom_call(hlo_rule_builder_t* b) {
  const hlo_custom_function_t function = hlo_custom_function_of(b->node);
  const char* target = hlo_custom_call_target(b->node);
  if (function == HLO_CUSTOM_top_k) return hlo_rule_top_k(b);
  if (function == HLO_CUSTOM_approx_top_k || strcmp(target, "PartialReduce") == 0) {
    return add_top_k(b);
  }
  if (function >= HLO_CUSTOM_potrf && function <= HLO_CUSTOM_gtsv_perturbed) {
    // Matrices, but for the diagonals of tridiagonal systems.
    const uint32_t inner =
        function == HLO_CUSTOM_gtsv || function == HLO_CUSTOM_gtsv_perturbed ? 1 : 2;
    const uint32_t batches = hlo_rule_rank(b, 0) >= inner ? hlo_rule_rank(b, 0) - inner : 0;
    const uint32_t most = smallest_rank(b);
    return add_batches(b, batches < most ? batches : most);
  }
  const bool is_elementwise = (function == HLO_CUSTOM_identity && b->operand_count == 1) ||
                              (function >= HLO_CUSTOM_acos && function <= HLO_CUSTOM_tan);
  if (is_elementwise && are_of_one_shape(b)) return hlo_rule_elementwise(b);
  b->is_refused = true;
}
