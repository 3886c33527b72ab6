// SPDX-License-Identifier: Apache-2.0
// Products of operands with block scales: which types hold the scaled operands, and which blocks
// belong to an element of the scales.
#pragma once

#include "ir/module.h"

enum { HLO_SCALED_DOT_OPERANDS = 4 };  // lhs, rhs and their scales

/// Returns the type that two types of floats meet in, as XLA chooses it: bf16 for types of less
/// than 16 bits, f32 for different types of one width, else the wider type.
hlo_dtype_t hlo_scaled_dot_dtype(hlo_dtype_t a, hlo_dtype_t b);
/// Returns the type of operand `i` (0 or 1) of a scaled_dot after scaling: its own without scales.
hlo_dtype_t hlo_scaled_dot_operand_dtype(const hlo_node_t* node, uint32_t i);
/// Returns true if operand `i` has scales; a scalar in their place means none.
static inline bool hlo_scaled_dot_has_scale(const hlo_node_t* node, uint32_t i) {
  return hlo_node_operand_type(node, 2 + i)->rank > 0;
}
/// Returns true if bf16 holds every product of an element and a scale of normal size.
bool hlo_scaled_dot_is_exact(hlo_dtype_t element, hlo_dtype_t scale);
/// Checks that each dimension of the scales divides that of the operand; `side` is "left" or
/// "right". errors : INVALID_ARGUMENT
hlo_status_t hlo_scaled_dot_check_scale(const char* side, const hlo_type_t* operand,
                                        const hlo_type_t* scale) HLO_MUST_USE;
