// SPDX-License-Identifier: Apache-2.0
// What the files that walk a fusion share: tiled.c with the walk itself, tiled_move.c and
// tiled_reduce.c with a rule per op. Functions that give an instance give NULL once the walk is
// refused or stopped. Private to codegen.
#ifndef HLO_CODEGEN_TILED_IMPL_H_
#define HLO_CODEGEN_TILED_IMPL_H_

#include "codegen/index/tiled.h"

enum { HLO_TILED_MAX_RANK = 32 };  // of values

/// A place in a value, an expression for each dimension.
typedef const hlo_expr_t* const* hlo_index_t;

/// Ends the walk with a verdict, unless it has one; NULL.
hlo_tiled_t* hlo_tiling_refuse(hlo_tiling_t* t, hlo_verdict_t verdict);
const hlo_expr_t* hlo_tiling_number(hlo_tiling_t* t, int64_t value);
/// The space of a reduction over so many elements below `depth` others.
uint32_t hlo_tiling_find_space(hlo_tiling_t* t, int64_t element_count, uint32_t depth);
/// Asks for a digit to be split so that a quotient or remainder resolves.
void hlo_tiling_request_split(hlo_tiling_t* t, const hlo_expr_t* expr);
/// Asks for the range of a digit to be cut where the expression reaches `bound`.
void hlo_tiling_request_cut(hlo_tiling_t* t, const hlo_expr_t* expr, int64_t bound);

/// The instance of a value at an index, found or made with all that it needs. depth: of reductions.
hlo_tiled_t* hlo_tiling_get(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                            uint32_t depth);
/// A new instance, whose operands are to be filled in and which is to be added then.
hlo_tiled_t* hlo_tiling_make(hlo_tiling_t* t, const hlo_tiled_t* fields, uint32_t operand_count);
hlo_tiled_t* hlo_tiling_add(hlo_tiling_t* t, hlo_tiled_t* tiled, uint32_t rank);
hlo_index_t hlo_tiling_copy_index(hlo_tiling_t* t, uint32_t rank, hlo_index_t index);
/// A new instance without operands.
hlo_tiled_t* hlo_tiling_leaf(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                             hlo_tiled_kind_t kind, uint32_t input, const hlo_expr_t* offset);
/// An element that holds an integer, as an expression within inclusive bounds.
const hlo_expr_t* hlo_tiling_runtime_value(hlo_tiling_t* t, const hlo_value_t* value,
                                           hlo_index_t index, int64_t low, int64_t high,
                                           uint32_t depth);
/// `inside` where low <= offset < end, else `outside`: decided here, by a cut, or at run time.
hlo_tiled_t* hlo_tiling_mask(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                              uint32_t rank, const hlo_expr_t* offset, int64_t low, int64_t end,
                              hlo_tiled_t* inside, hlo_tiled_t* outside);

/// Returns true if loops can follow the op, which moves or joins elements, to its operands.
bool hlo_tiling_moves(hlo_op_t op);
/// An element of what only moves elements.
hlo_tiled_t* hlo_tiling_move(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                             uint32_t depth);
/// An element of a reduction, a window's, a matrix product's or a convolution's result.
hlo_tiled_t* hlo_tiling_reduce(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                               uint32_t depth);

#endif  // HLO_CODEGEN_TILED_IMPL_H_
