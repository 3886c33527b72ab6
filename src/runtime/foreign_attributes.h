// SPDX-License-Identifier: Apache-2.0
// Attributes of custom calls in the form that the FFI takes. For runtime only.
#pragma once

#include "ffi/attributes.h"
#include "ir/module.h"

/// Describes the dictionary of a custom_call; 0 attributes if it has none.
/// errors: INVALID_ARGUMENT for an attribute that the FFI has no form for; RESOURCE_EXHAUSTED
/// owner : the arena and the node's module
hlo_status_t hlo_foreign_attributes_read(const hlo_node_t* node, hlo_arena_t* arena,
                                         hlo_ffi_attribute_t** out_attributes,
                                         size_t* out_count) HLO_MUST_USE;
