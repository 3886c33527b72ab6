// SPDX-License-Identifier: Apache-2.0
// Builders of nodes before the one that they replace, and a driver for passes that only replace
// nodes.
#pragma once

#include "ir/literal.h"
#include "passes/passes.h"

/// Inserts a node before `insertion_point` and returns its only result. Returns NULL if memory is
/// exhausted, which the module records, or if an operand or `type` is NULL, so that callers need no
/// test per node.
hlo_value_t* hlo_build_node(hlo_node_t* insertion_point, hlo_op_t op, const hlo_type_t* type,
                            uint32_t operand_count, hlo_value_t* const* operands,
                            uint32_t attr_count, const hlo_named_attr_t* attrs);
/// Does the same with the op and attributes of `node`; the regions are left empty.
hlo_value_t* hlo_build_copy(hlo_node_t* insertion_point, const hlo_node_t* node,
                            const hlo_type_t* type, hlo_value_t* const* operands);
/// Does the same before `node` itself.
hlo_value_t* hlo_build_like(hlo_node_t* node, const hlo_type_t* type, hlo_value_t* const* operands);

// Constants before `insertion_point`; NULL as above.

/// Returns a literal for the caller to fill in: all elements, or the single one of a splat. NULL
/// when memory is exhausted.
hlo_literal_t* hlo_build_literal(hlo_module_t* module, const hlo_type_t* type, bool is_splat);
/// Takes ownership of the literal, which may be NULL.
hlo_value_t* hlo_build_constant(hlo_node_t* insertion_point, const hlo_type_t* type,
                                hlo_literal_t* literal);
/// Returns a constant of the given integers, in order.
hlo_value_t* hlo_build_integers(hlo_node_t* insertion_point, const hlo_type_t* type,
                                const int64_t* values);
/// Returns a constant with all elements equal.
hlo_value_t* hlo_build_splat(hlo_node_t* insertion_point, const hlo_type_t* type, double value);

// Data movement before `insertion_point`; NULL as above.

/// Takes the elements `steps` (NULL: 1) apart from `first` on.
hlo_value_t* hlo_build_slice(hlo_node_t* insertion_point, const hlo_type_t* type,
                             hlo_value_t* value, const int64_t* first, const int64_t* steps);
/// Takes the elements from `starts`, a scalar for each dimension, on.
hlo_value_t* hlo_build_dynamic_slice(hlo_node_t* insertion_point, const hlo_type_t* type,
                                     hlo_value_t* value, hlo_value_t* const* starts);
/// Replaces the elements of `value` from `starts` on by `update`.
hlo_value_t* hlo_build_dynamic_update_slice(hlo_node_t* insertion_point, hlo_value_t* value,
                                            hlo_value_t* update, hlo_value_t* const* starts);
/// Returns the elements, in order, as `type`.
hlo_value_t* hlo_build_reshape(hlo_node_t* insertion_point, const hlo_type_t* type,
                               hlo_value_t* value);
/// Dimension d of `value` is dimension along[d] of `type`; `along` may be NULL if `value` is a
/// scalar.
hlo_value_t* hlo_build_broadcast(hlo_node_t* insertion_point, const hlo_type_t* type,
                                 hlo_value_t* value, const int64_t* along);
/// Dimension d of the result is dimension order[d] of `value`.
hlo_value_t* hlo_build_transpose(hlo_node_t* insertion_point, hlo_value_t* value,
                                 const int64_t* order);
/// Returns each element's index in a dimension.
hlo_value_t* hlo_build_iota(hlo_node_t* insertion_point, const hlo_type_t* type, int64_t dim);
/// Adds low[d] and high[d] elements `element` at the edges of dimension d, where negative counts
/// take away, and between[d] (NULL: 0) after each element but the last. Returns `value` itself if
/// all are 0.
hlo_value_t* hlo_build_pad(hlo_node_t* insertion_point, hlo_value_t* value, hlo_value_t* element,
                           const int64_t* low, const int64_t* high, const int64_t* between);
/// Concatenates two values of one type along a dimension.
hlo_value_t* hlo_build_pair(hlo_node_t* insertion_point, hlo_value_t* x, hlo_value_t* y,
                            uint32_t dim);

// Elementwise ops before `insertion_point`. The result has the type of the first operand unless
// documented otherwise; NULL as above.

hlo_value_t* hlo_build_unary(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x);
hlo_value_t* hlo_build_binary(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x,
                              hlo_value_t* y);
hlo_value_t* hlo_build_multiply(hlo_node_t* insertion_point, hlo_value_t* x, hlo_value_t* y);
/// Returns booleans; `direction` is an HLO_COMPARISON_DIRECTION.
hlo_value_t* hlo_build_compare(hlo_node_t* insertion_point, int64_t direction, hlo_value_t* x,
                               hlo_value_t* y);
hlo_value_t* hlo_build_select(hlo_node_t* insertion_point, hlo_value_t* which, hlo_value_t* yes,
                              hlo_value_t* no);
/// Converts the elements of `x`.
hlo_value_t* hlo_build_convert(hlo_node_t* insertion_point, hlo_dtype_t dtype, hlo_value_t* x);

/// Fills in the empty body of a reduction, or of a collective, that applies a binary op to scalars
/// of the element type of operand 0. False when memory is exhausted, which the module records.
bool hlo_build_reducer(hlo_node_t* node, hlo_op_t op);
/// Reduces dimensions by a binary op, from the value `init` on.
hlo_value_t* hlo_build_reduce(hlo_node_t* insertion_point, hlo_op_t op, hlo_value_t* x, double init,
                              uint32_t dim_count, const int64_t* dims);

/// Concatenates the operands of a concatenate that have elements, before it. NULL also where all of
/// them have some, or none has. (drop_empty.c)
hlo_value_t* hlo_build_without_empty(hlo_node_t* node);

/// Builds the replacement of the only result of `node` before it. Returns NULL if the node is kept
/// or memory is exhausted, which the module records.
typedef hlo_value_t* (*hlo_replace_node_t)(hlo_node_t* node);
/// Runs a whole pass: replaces every node that `replace` returns a value for, and counts it as a
/// step.
hlo_status_t hlo_replace_nodes(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                               hlo_replace_node_t replace) HLO_MUST_USE;
