// SPDX-License-Identifier: Apache-2.0
// Sharding rules: which dimensions of an op's operands and results are the same loop.
//
// As in an einsum, each dimension of a tensor is a product of factors, major to minor, and a factor
// that appears in several tensors must be divided in the same way in all of them. Propagation and
// the partitioner know an op by its rule only, except for the ops that partition.h lists.
// source : Shardy, "OpShardingRule"
#pragma once

#include "ir/module.h"

typedef enum hlo_factor_kind {
  HLO_FACTOR_PASS_THROUGH,  // each device computes its part of the results from its part of
                            // operands
  HLO_FACTOR_REDUCTION,     // only in operands: a device's results are partial sums
  HLO_FACTOR_REPLICATED,    // a device needs the whole dimension
  HLO_FACTOR_PERMUTATION,   // results need other devices' parts (windows, slices, reverse ...)
} hlo_factor_kind_t;

typedef struct hlo_factor {
  int64_t size;
  hlo_factor_kind_t kind;
  bool is_blocked;  // shardings do not propagate along it
} hlo_factor_t;

/// The factors of one dimension, major to minor; none: a dimension that no other tensor knows.
typedef struct hlo_dim_factors {
  uint32_t count;
  const uint32_t* factors;
} hlo_dim_factors_t;

/// owner  : an arena
typedef struct hlo_sharding_rule {
  uint32_t factor_count;
  const hlo_factor_t* factors;
  uint32_t tensor_count;                 // operands, then results (see hlo_node_type())
  const hlo_dim_factors_t* const* dims;  // dims[tensor][dim]; NULL for tokens and scalars
  /// The op that combines partial results of REDUCTION factors, HLO_OP_add and so on; HLO_OP_COUNT:
  /// that of region 0, or none.
  hlo_op_t reducer;
} hlo_sharding_rule_t;

/// Returns the rule of an op; *out_rule is NULL for ops without one: those with regions that run
/// as control flow, calls, terminators, and ops whose tensors have nothing in common.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_sharding_rule_make(const hlo_node_t* node, hlo_arena_t* arena,
                                    const hlo_sharding_rule_t** out_rule) HLO_MUST_USE;
/// Returns true for a custom call that brings its rule along.
bool hlo_sharding_rule_is_stated(const hlo_node_t* node);
/// Writes a rule as Shardy does: ([i, j], [j, k])->([i, k]) {i=8, j=16, k=4} reduction={j}.
void hlo_sharding_rule_print(const hlo_sharding_rule_t* rule, const hlo_node_t* node,
                             hlo_strbuf_t* out);
