// SPDX-License-Identifier: Apache-2.0
// Nodes that passes put before the one that they replace, and passes that only do that.
#ifndef HLO_PASSES_BUILD_H_
#define HLO_PASSES_BUILD_H_

#include "passes/passes.h"

/// The result of a new node before `place`; NULL when memory is out, which the module says, and
/// where an operand or `type` is NULL: what is made of nothing needs no test of its own.
hlo_value_t* hlo_build_node(hlo_node_t* place, hlo_op_t op, const hlo_type_t* type,
                            uint32_t operand_count, hlo_value_t* const* operands,
                            uint32_t attr_count, const hlo_named_attr_t* attrs);
/// A constant of integers, in order; NULL as above.
hlo_value_t* hlo_build_integers(hlo_node_t* place, const hlo_type_t* type, const int64_t* values);
/// Elements `steps` apart from `first` on; NULL as above, and where `value` is.
hlo_value_t* hlo_build_slice(hlo_node_t* place, hlo_value_t* value, const hlo_type_t* type,
                             const int64_t* first, const int64_t* steps);

// Elementwise ops before `place`, with the type of the first operand but where a sentence says
// otherwise; NULL as above, and where an operand is.

hlo_value_t* hlo_build_unary(hlo_node_t* place, hlo_op_t op, hlo_value_t* x);
hlo_value_t* hlo_build_binary(hlo_node_t* place, hlo_op_t op, hlo_value_t* x, hlo_value_t* y);
/// Booleans; `direction` is an HLO_COMPARISON_DIRECTION.
hlo_value_t* hlo_build_compare(hlo_node_t* place, int64_t direction, hlo_value_t* x,
                               hlo_value_t* y);
hlo_value_t* hlo_build_select(hlo_node_t* place, hlo_value_t* which, hlo_value_t* yes,
                              hlo_value_t* no);
/// The elements of `x` as others, in its shape.
hlo_value_t* hlo_build_convert(hlo_node_t* place, hlo_dtype_t dtype, hlo_value_t* x);
/// A constant of reals that are all the same.
hlo_value_t* hlo_build_splat(hlo_node_t* place, const hlo_type_t* type, double value);

/// What the only result of `node` becomes, made before it; NULL: the node stays, or memory is out,
/// which the module says.
typedef hlo_value_t* (*hlo_replace_node_t)(hlo_node_t* node);
/// A whole pass: every node that `replace` has a value for goes, and is counted as a step.
hlo_status_t hlo_replace_nodes(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                               hlo_replace_node_t replace, bool* out_changed) HLO_MUST_USE;

#endif  // HLO_PASSES_BUILD_H_
