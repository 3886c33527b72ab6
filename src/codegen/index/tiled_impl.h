// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files that walk a fusion: tiled.c has the walk, tiled_move.c and
// tiled_reduce.c a rule per op. Functions that return an instance return NULL once the walk is
// refused or stopped. Private to codegen.
#pragma once

#include "codegen/index/tiled.h"

enum { HLO_TILED_MAX_RANK = 32 };  // of values

/// An index into a value: an expression for each dimension.
typedef const hlo_expr_t* const* hlo_index_t;

/// Ends the walk with a verdict unless it has one. Returns NULL.
hlo_tiled_t* hlo_tiling_refuse(hlo_tiling_t* t, hlo_verdict_t verdict);
const hlo_expr_t* hlo_tiling_number(hlo_tiling_t* t, int64_t value);
/// Returns the space of a reduction over `element_count` elements below `depth` others.
uint32_t hlo_tiling_find_space(hlo_tiling_t* t, int64_t element_count, uint32_t depth);
/// Requests a loop split that resolves a quotient or remainder.
void hlo_tiling_request_split(hlo_tiling_t* t, const hlo_expr_t* expr);
/// Requests a cut of a loop's range where the expression reaches `bound`.
void hlo_tiling_request_cut(hlo_tiling_t* t, const hlo_expr_t* expr, int64_t bound);

/// Returns the instance of a value at an index, with all instances that it needs. `depth`: of
/// nested reductions.
hlo_tiled_t* hlo_tiling_get(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                            uint32_t depth);
/// Makes an instance. The caller sets its operands, then adds it.
hlo_tiled_t* hlo_tiling_make(hlo_tiling_t* t, const hlo_tiled_t* fields, uint32_t operand_count);
/// Numbers the instance, whose operands are complete, and adds it to the table.
hlo_tiled_t* hlo_tiling_add(hlo_tiling_t* t, hlo_tiled_t* tiled, uint32_t rank);
hlo_index_t hlo_tiling_copy_index(hlo_tiling_t* t, uint32_t rank, hlo_index_t index);
/// Returns an instance without operands.
hlo_tiled_t* hlo_tiling_leaf(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                             hlo_tiled_kind_t kind, uint32_t input, const hlo_expr_t* offset);
/// Returns an integer element as an expression within inclusive bounds.
const hlo_expr_t* hlo_tiling_runtime_value(hlo_tiling_t* t, const hlo_value_t* value,
                                           hlo_index_t index, int64_t low, int64_t high,
                                           uint32_t depth);
/// Returns `inside` where low <= offset < end, else `outside`: resolved by the walk, by a cut, or
/// at run time.
hlo_tiled_t* hlo_tiling_mask(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                             uint32_t rank, const hlo_expr_t* offset, int64_t low, int64_t end,
                             hlo_tiled_t* inside, hlo_tiled_t* outside);

/// Returns true if loops can follow the op, which moves or joins elements, to its operands.
bool hlo_tiling_moves(hlo_op_t op);
/// Returns an element of an op that only moves elements.
hlo_tiled_t* hlo_tiling_move(hlo_tiling_t* t, const hlo_node_t* node, hlo_index_t index,
                             uint32_t depth);
/// Returns an element of a reduction, a window's, a matrix product's or a convolution's result.
hlo_tiled_t* hlo_tiling_reduce(hlo_tiling_t* t, const hlo_value_t* value, hlo_index_t index,
                               uint32_t depth);
