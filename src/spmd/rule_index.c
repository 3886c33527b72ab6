// SPDX-License-Identifier: Apache-2.0
// Sharding rules of gather and scatter, which have the same dimensions.
// source : Shardy, "Operation sharding rule"
#include "spmd/rule_impl.h"

// The dimensions of a gather; those of a scatter have the same meaning with updates for slices.
typedef struct index_dims {
  hlo_rule_builder_t* b;
  bool is_scatter;
  uint32_t inputs;   // operands 0 ... inputs - 1 are indexed
  uint32_t indices;  // operand
  uint32_t slices;   // first tensor of slices: result, or operand
  hlo_ints_t offset, collapsed, batching, indices_batching;
  int64_t vector_dim;
  hlo_factor_kind_t loose_batch;  // kind of dimensions of the indices and slices alone
} index_dims_t;

static uint32_t add_index_factor(const index_dims_t* x, int64_t input_dim, int64_t indices_dim,
                                 int64_t slices_dim, int64_t size, hlo_factor_kind_t kind) {
  hlo_rule_builder_t* b = x->b;
  const uint32_t factor = hlo_rule_add_factor(b, size, kind);
  for (uint32_t i = 0; i < x->inputs; ++i) {
    hlo_rule_link(b, i, input_dim, factor);
    if (x->is_scatter) hlo_rule_link(b, hlo_rule_result(b, i), input_dim, factor);
    hlo_rule_link(b, x->slices + i, slices_dim, factor);
  }
  hlo_rule_link(b, x->indices, indices_dim, factor);
  return factor;
}

// A dimension of the slices that is a window of an input's dimension.
static void add_window_factor(const index_dims_t* x, int64_t input_dim, int64_t slices_dim) {
  hlo_rule_builder_t* b = x->b;
  const int64_t none = HLO_RULE_NO_DIM;
  const int64_t whole = hlo_rule_size(b, 0, input_dim);
  const int64_t part = hlo_rule_size(b, x->slices, slices_dim);
  if (whole == part) {
    add_index_factor(x, input_dim, none, slices_dim, whole, HLO_FACTOR_PASS_THROUGH);
  } else if (x->is_scatter || part == 1) {
    // A gather of one element per slice: the device that holds it sends it, the others zero.
    add_index_factor(x, input_dim, none, none, whole,
                     x->is_scatter ? HLO_FACTOR_REPLICATED : HLO_FACTOR_REDUCTION);
    add_index_factor(x, none, none, slices_dim, part, HLO_FACTOR_REPLICATED);
  } else {
    hlo_rule_block(b,
                   add_index_factor(x, input_dim, none, slices_dim, whole, HLO_FACTOR_REPLICATED));
  }
}

static void add_batch_factor(const index_dims_t* x, int64_t indices_dim, int64_t slices_dim) {
  uint32_t at;
  const bool is_stated =
      hlo_dims_contain(x->indices_batching.values, x->indices_batching.count, indices_dim, &at);
  add_index_factor(x, is_stated ? x->batching.values[at] : HLO_RULE_NO_DIM, indices_dim, slices_dim,
                   hlo_rule_size(x->b, x->slices, slices_dim),
                   is_stated ? HLO_FACTOR_PASS_THROUGH : x->loose_batch);
}

static void add_index_factors(const index_dims_t* x) {
  hlo_rule_builder_t* b = x->b;
  int64_t input_dim = 0, batch = 0;
  for (uint32_t d = 0; d < hlo_rule_rank(b, x->slices); ++d) {
    if (hlo_ints_has(x->offset, d)) {
      while (hlo_ints_has(x->collapsed, input_dim) || hlo_ints_has(x->batching, input_dim)) {
        ++input_dim;
      }
      add_window_factor(x, input_dim++, d);
    } else {
      add_batch_factor(x, batch < x->vector_dim ? batch : batch + 1, d);
      ++batch;
    }
  }
  for (uint32_t i = 0; i < x->collapsed.count; ++i) {
    const int64_t size = hlo_rule_size(b, 0, x->collapsed.values[i]);
    const hlo_factor_kind_t kind = x->is_scatter ? HLO_FACTOR_PASS_THROUGH
                                   : size == 1   ? HLO_FACTOR_REPLICATED
                                                 : HLO_FACTOR_REDUCTION;
    add_index_factor(x, x->collapsed.values[i], HLO_RULE_NO_DIM, HLO_RULE_NO_DIM, size, kind);
  }
  if (x->vector_dim < hlo_rule_rank(b, x->indices)) {
    add_index_factor(x, HLO_RULE_NO_DIM, x->vector_dim, HLO_RULE_NO_DIM,
                     hlo_rule_size(b, x->indices, x->vector_dim), HLO_FACTOR_REPLICATED);
  }
}

void hlo_rule_gather(hlo_rule_builder_t* b) {
  const hlo_node_t* node = b->node;
  const index_dims_t x = {
      .b = b,
      .inputs = 1,
      .indices = 1,
      .slices = hlo_rule_result(b, 0),
      .offset = hlo_node_ints(node, HLO_ATTR_offset_dims),
      .collapsed = hlo_node_ints(node, HLO_ATTR_collapsed_slice_dims),
      .batching = hlo_node_ints(node, HLO_ATTR_operand_batching_dims),
      .indices_batching = hlo_node_ints(node, HLO_ATTR_start_indices_batching_dims),
      .vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
      .loose_batch = HLO_FACTOR_PASS_THROUGH,
  };
  add_index_factors(&x);
  b->reducer = HLO_OP_add;
}

// Returns true if partial results can be combined: each of them is computed from its own operand
// and update by one op that any order suits.
static bool combines_updates(const hlo_node_t* node) {
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  const uint32_t count = node->result_count;
  if (!end || end->operand_count != count || body->arg_count != 2 * count) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_node_t* op = hlo_node_operand(end, i)->def;
    if (!op || op->operand_count != 2) return false;
    if (op->op != HLO_OP_add && op->op != HLO_OP_multiply && op->op != HLO_OP_maximum &&
        op->op != HLO_OP_minimum && op->op != HLO_OP_and && op->op != HLO_OP_or) {
      return false;
    }
    const hlo_value_t *a = hlo_node_operand(op, 0), *b = hlo_node_operand(op, 1);
    const hlo_value_t *old = body->args[i], *update = body->args[count + i];
    if (!(a == old && b == update) && !(a == update && b == old)) return false;
  }
  return true;
}

void hlo_rule_scatter(hlo_rule_builder_t* b) {
  const hlo_node_t* node = b->node;
  const uint32_t inputs = b->operand_count / 2;
  const index_dims_t x = {
      .b = b,
      .is_scatter = true,
      .inputs = inputs,
      .indices = inputs,
      .slices = inputs + 1,
      .offset = hlo_node_ints(node, HLO_ATTR_update_window_dims),
      .collapsed = hlo_node_ints(node, HLO_ATTR_inserted_window_dims),
      .batching = hlo_node_ints(node, HLO_ATTR_input_batching_dims),
      .indices_batching = hlo_node_ints(node, HLO_ATTR_scatter_indices_batching_dims),
      .vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
      .loose_batch = combines_updates(node) ? HLO_FACTOR_REDUCTION : HLO_FACTOR_REPLICATED,
  };
  add_index_factors(&x);
}
