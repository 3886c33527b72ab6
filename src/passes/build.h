// SPDX-License-Identifier: Apache-2.0
// Nodes that passes put before the one that they replace, and passes that only do that.
#ifndef HLO_PASSES_BUILD_H_
#define HLO_PASSES_BUILD_H_

#include "ir/literal.h"
#include "passes/passes.h"

/// The result of a new node before `place`; NULL when memory is out, which the module says, and
/// where an operand or `type` is NULL: what is made of nothing needs no test of its own.
hlo_value_t* hlo_build_node(hlo_node_t* insertion_point, hlo_op_t op, const hlo_type_t* type,
                            uint32_t operand_count, hlo_value_t* const* operands,
                            uint32_t attr_count, const hlo_named_attr_t* attrs);
/// The same for an op like `node`, with its attributes; its regions are left empty.
hlo_value_t* hlo_build_copy(hlo_node_t* insertion_point, const hlo_node_t* node, const hlo_type_t* type,
                            hlo_value_t* const* operands);
/// The same before `node` itself.
hlo_value_t* hlo_build_like(hlo_node_t* node, const hlo_type_t* type, hlo_value_t* const* operands);

// Constants before `place`; NULL as above.

/// Elements to be written, or the one that all are; NULL when memory is out.
hlo_literal_t* hlo_build_literal(hlo_module_t* module, const hlo_type_t* type, bool is_splat);
/// Takes the literal over; it may be NULL.
hlo_value_t* hlo_build_constant(hlo_node_t* insertion_point, const hlo_type_t* type, hlo_literal_t* literal);
/// Integers in order.
hlo_value_t* hlo_build_integers(hlo_node_t* insertion_point, const hlo_type_t* type, const int64_t* values);
/// Numbers that are all the same.
hlo_value_t* hlo_build_splat(hlo_node_t* insertion_point, const hlo_type_t* type, double value);

// Movement before `place`; NULL as above.

/// Elements `steps` (NULL: 1) apart from `first` on.
hlo_value_t* hlo_build_slice(hlo_node_t* insertion_point, const hlo_type_t* type, hlo_value_t* value,
                             const int64_t* first, const int64_t* steps);
/// The elements in their order.
hlo_value_t* hlo_build_reshape(hlo_node_t* insertion_point, const hlo_type_t* type, hlo_value_t* value);
/// Dimension d of `value` is number along[d] of `type`; `along` may be NULL where it has none.
hlo_value_t* hlo_build_broadcast(hlo_node_t* insertion_point, const hlo_type_t* type, hlo_value_t* value,
                                 const int64_t* along);
/// Two values of one type behind each other along a dimension.
hlo_value_t* hlo_build_pair(hlo_node_t* insertion_point, hlo_value_t* x, hlo_value_t* y, uint32_t dim);

// Elementwise ops before `place`, with the type of the first operand but where a sentence says
// otherwise; NULL as above, and where an operand is.

hlo_value_t* hlo_build_unary(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x);
hlo_value_t* hlo_build_binary(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x, hlo_value_t* y);
hlo_value_t* hlo_build_multiply(hlo_node_t* insertion_point, hlo_value_t* x, hlo_value_t* y);
/// Booleans; `direction` is an HLO_COMPARISON_DIRECTION.
hlo_value_t* hlo_build_compare(hlo_node_t* insertion_point, int64_t direction, hlo_value_t* x,
                               hlo_value_t* y);
hlo_value_t* hlo_build_select(hlo_node_t* insertion_point, hlo_value_t* which, hlo_value_t* yes,
                              hlo_value_t* no);
/// The elements of `x` as others, in its shape.
hlo_value_t* hlo_build_convert(hlo_node_t* insertion_point, hlo_dtype_t dtype, hlo_value_t* x);

/// What the only result of `node` becomes, made before it; NULL: the node stays, or memory is out,
/// which the module says.
typedef hlo_value_t* (*hlo_replace_node_t)(hlo_node_t* node);
/// A whole pass: every node that `replace` has a value for goes, and is counted as a step.
hlo_status_t hlo_replace_nodes(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                               hlo_replace_node_t replace, bool* out_changed) HLO_MUST_USE;

#endif  // HLO_PASSES_BUILD_H_
