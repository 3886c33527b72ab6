// SPDX-License-Identifier: Apache-2.0
// Queries and construction of constants.
#pragma once

#include "ir/module.h"

/// Returns the literal of the constant that defines `value`, or NULL. The module owns it.
hlo_literal_t* hlo_constant_literal(const hlo_value_t* value);
/// Reads a constant scalar of an integer type of 8 bits or more. False for any other value.
bool hlo_constant_integer(const hlo_value_t* value, int64_t* out);
/// Returns the element that all elements of `value` equal: of a splat, of a constant with one
/// element, or of a broadcast of either. NULL for any other value. The module owns the element.
const void* hlo_constant_splat(const hlo_value_t* value);
/// Returns true if all elements of `value`, or their real parts, are known to be zero.
bool hlo_constant_is_zero(const hlo_value_t* value);
/// Creates an unlinked constant of a static tensor type with plain elements, as a splat if all
/// elements are bitwise equal. `literal` is retained.
hlo_node_t* hlo_constant_create(hlo_module_t* module, const hlo_type_t* type,
                                hlo_literal_t* literal, hlo_loc_t loc);
/// Returns true for a static tensor of plain elements, the type of every constant in this folder.
bool hlo_type_is_plain(const hlo_type_t* type);
