// SPDX-License-Identifier: Apache-2.0
// How the functions of rules.def build rules.
#pragma once

#include "spmd/rule.h"

enum { HLO_RULE_NO_DIM = -1 };

/// A dimension of a tensor and one of its factors.
typedef struct hlo_rule_link {
  uint32_t dim;  // number among the dimensions of all tensors
  uint32_t factor;
} hlo_rule_link_t;

/// A rule that is being built. Failure of memory is sticky in the arena.
typedef struct hlo_rule_builder {
  const hlo_node_t* node;
  hlo_arena_t* arena;
  uint32_t operand_count, tensor_count;
  const uint32_t* first_dims;  // per tensor: number of its dimension 0; then the end
  uint8_t* factor_counts;      // per dimension
  hlo_factor_t* factors;
  uint32_t factor_count, factor_capacity;
  hlo_rule_link_t* links;  // in the order in which they were added
  uint32_t link_count, link_capacity;
  hlo_op_t reducer;
  bool is_refused;  // the op has no rule
} hlo_rule_builder_t;

static inline uint32_t hlo_rule_rank(const hlo_rule_builder_t* b, uint32_t tensor) {
  return b->first_dims[tensor + 1] - b->first_dims[tensor];
}
/// Returns the number of a result among the tensors.
static inline uint32_t hlo_rule_result(const hlo_rule_builder_t* b, uint32_t result) {
  return b->operand_count + result;
}
static inline int64_t hlo_rule_size(const hlo_rule_builder_t* b, uint32_t tensor, int64_t dim) {
  return hlo_node_type(b->node, tensor)->dims[dim];
}

/// Adds a factor and returns its number.
uint32_t hlo_rule_add_factor(hlo_rule_builder_t* b, int64_t size, hlo_factor_kind_t kind);
/// Appends a factor, minor to those that it has, to a dimension. Does nothing for
/// HLO_RULE_NO_DIM, for tensors without dimensions, and for a factor of size 1 of a dimension that
/// has one.
void hlo_rule_link(hlo_rule_builder_t* b, uint32_t tensor, int64_t dim, uint32_t factor);
/// Adds a factor of dimension `dim` of every tensor that has dimensions.
uint32_t hlo_rule_link_all(hlo_rule_builder_t* b, int64_t dim, int64_t size,
                           hlo_factor_kind_t kind);
/// Adds a factor of one dimension of one tensor.
void hlo_rule_add_own(hlo_rule_builder_t* b, uint32_t tensor, int64_t dim, hlo_factor_kind_t kind);
/// Gives each of the first `count` dimensions of all tensors a factor.
void hlo_rule_add_same(hlo_rule_builder_t* b, uint32_t count);
static inline void hlo_rule_block(hlo_rule_builder_t* b, uint32_t factor) {
  if (factor < b->factor_count) b->factors[factor].is_blocked = true;
}

// ---- the functions of rules.def
#define HLO_SHARDING_RULE(op, function) void hlo_rule_##function(hlo_rule_builder_t* b);
#define HLO_NO_SHARDING_RULE(op)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
#include "spmd/rules.def"
#pragma GCC diagnostic pop
#undef HLO_SHARDING_RULE
#undef HLO_NO_SHARDING_RULE
