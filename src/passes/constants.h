// SPDX-License-Identifier: Apache-2.0
// Constants as passes see them.
#ifndef HLO_PASSES_CONSTANTS_H_
#define HLO_PASSES_CONSTANTS_H_

#include "ir/module.h"

/// The literal of the constant that defines `value`, or NULL. Lent by the module.
hlo_literal_t* hlo_constant_literal(const hlo_value_t* value);
/// The element that all elements of `value` equal: of a splat constant, of one element, or of such
/// a one broadcast. NULL if there is none. Lent by the module.
const void* hlo_constant_splat(const hlo_value_t* value);
/// A new, unlinked constant of a static tensor type with plain elements; all bits of all elements
/// equal turns it into a splat. `literal` is retained.
hlo_node_t* hlo_constant_create(hlo_module_t* module, const hlo_type_t* type,
                                hlo_literal_t* literal, hlo_loc_t loc);
/// A static tensor of plain elements: what constants of this folder can be.
bool hlo_type_is_plain(const hlo_type_t* type);

#endif  // HLO_PASSES_CONSTANTS_H_
