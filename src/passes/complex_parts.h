// SPDX-License-Identifier: Apache-2.0
// Complex numbers as pairs of reals, for pass split_complex: each complex op as ops of reals.
#pragma once

#include "passes/build.h"

/// A tensor of complex numbers as two of reals; for a real tensor `im` is NULL. Both are NULL if
/// the op has no expansion, or if memory is exhausted, which the module records.
typedef struct hlo_parts {
  hlo_value_t *re, *im;
} hlo_parts_t;

/// Returns the type of a part of tensors of `type`; `type` itself if it is real; NULL when memory
/// is exhausted.
const hlo_type_t* hlo_part_type(hlo_module_t* module, const hlo_type_t* type);
/// Returns `part` with another innermost dimension of `count` elements; with 2, the view of a
/// complex buffer.
const hlo_type_t* hlo_stacked_type(hlo_module_t* module, const hlo_type_t* part, int64_t count);

/// Returns x y by the plain formula, without recovery of infinities.
hlo_parts_t hlo_parts_multiply(hlo_node_t* insertion_point, hlo_parts_t x, hlo_parts_t y);

/// Builds the only result of `node`, which has complex operands or a complex result, from ops of
/// reals before it; `operands` holds the parts of each operand.
hlo_parts_t hlo_parts_of_op(hlo_node_t* node, const hlo_parts_t* operands);
/// Returns false if hlo_parts_of_op() never expands the op.
bool hlo_parts_has_rule(const hlo_node_t* node);

/// Does the same for sums of products over a contraction or windows.
hlo_parts_t hlo_complex_product(hlo_node_t* node, const hlo_parts_t* operands);

/// Returns true if a product is faster as one real product: its first operand is a buffer of [...,
/// 2], read in place or assembled from its parts `lhs` (NULL: it is a complex buffer), and so is
/// the result of hlo_complex_stacked_product().
bool hlo_complex_product_is_stacked(const hlo_node_t* node, const hlo_parts_t* lhs,
                                    hlo_parts_t rhs);
hlo_value_t* hlo_complex_stacked_product(hlo_node_t* node, hlo_value_t* lhs, hlo_parts_t rhs);

/// Returns true if a product is faster as one real product that reads operand number `large`, a
/// complex buffer, in place. hlo_complex_whole_product() then returns the parts of the result;
/// `whole` is that operand with its parts as the innermost dimension and `small` holds the parts of
/// the other operand.
bool hlo_complex_product_reads_whole(const hlo_node_t* node, uint32_t large, hlo_parts_t small);
hlo_parts_t hlo_complex_whole_product(hlo_node_t* node, uint32_t large, hlo_value_t* whole,
                                      hlo_parts_t small);

/// Does the same for functions with a known formula: hlo_parts_of_op() calls it for ops that are
/// neither sums, products nor data movement.
hlo_parts_t hlo_complex_function(hlo_node_t* node, const hlo_parts_t* operands);
/// Returns true if there is a formula for the complex function.
bool hlo_complex_has_function(hlo_op_t op);
