// SPDX-License-Identifier: Apache-2.0
// Complex numbers as pairs of reals, for pass split_complex: what ops of them are as ops of reals.
#ifndef HLO_PASSES_COMPLEX_PARTS_H_
#define HLO_PASSES_COMPLEX_PARTS_H_

#include "passes/build.h"

/// A tensor of complex numbers as two of reals; of a real one, `im` is NULL. Both are NULL where
/// there is none: an op that is not expanded, or memory is out, which the module says.
typedef struct hlo_parts {
  hlo_value_t *re, *im;
} hlo_parts_t;

/// The type of a part of tensors of `type`, for real ones `type`; NULL when memory is out.
const hlo_type_t* hlo_part_type(hlo_module_t* module, const hlo_type_t* type);
/// `part` with an innermost dimension of `count` more: of 2, what a complex buffer is seen as.
const hlo_type_t* hlo_stacked_type(hlo_module_t* module, const hlo_type_t* part, int64_t count);

/// x y by the plain formula, without recovery of infinities.
hlo_parts_t hlo_parts_multiply(hlo_node_t* insertion_point, hlo_parts_t x, hlo_parts_t y);

/// The only result of `node`, which has complex operands or a complex result, by ops of reals that
/// are made before it; `operands` are the parts of its operands, one each.
hlo_parts_t hlo_parts_of_op(hlo_node_t* node, const hlo_parts_t* operands);
/// False where it never gives any.
bool hlo_parts_has_rule(const hlo_node_t* node);

/// The same for sums of products over a contraction or windows.
hlo_parts_t hlo_complex_product(hlo_node_t* node, const hlo_parts_t* operands);

/// Whether a product is better one of real matrices: its first operand a buffer as it lies, of
/// [..., 2], or put together of its parts `lhs` (NULL: it is whole), and so the result, which
/// hlo_complex_stacked_product() gives.
bool hlo_complex_product_is_stacked(const hlo_node_t* node, const hlo_parts_t* lhs,
                                    hlo_parts_t rhs);
hlo_value_t* hlo_complex_stacked_product(hlo_node_t* node, hlo_value_t* lhs, hlo_parts_t rhs);

/// Whether a product is better one real product with operand number `large`, which is whole, as it
/// lies; hlo_complex_whole_product() gives the parts of the result then, `whole` being that operand
/// with its parts as the innermost dimension and `small` the parts of the other one.
bool hlo_complex_product_reads_whole(const hlo_node_t* node, uint32_t large, hlo_parts_t small);
hlo_parts_t hlo_complex_whole_product(hlo_node_t* node, uint32_t large, hlo_value_t* whole,
                                      hlo_parts_t small);

/// The same for functions, as far as they are known: what hlo_parts_of_op() asks for those ops that
/// are neither sums, products nor moves.
hlo_parts_t hlo_complex_function(hlo_node_t* node, const hlo_parts_t* operands);
/// Whether a function of complex numbers is known.
bool hlo_complex_has_function(hlo_op_t op);

#endif  // HLO_PASSES_COMPLEX_PARTS_H_
