// SPDX-License-Identifier: Apache-2.0
// Single elements outside of vectors: integers and booleans as INDEX in general registers, where
// indices and loop conditions are computed; floats as one lane.
//
// An integer below 64 bits is sign- or zero-extended; u64 has its own bits. A boolean is 0 or 1.
#pragma once

#include "codegen/math/elementwise.h"

/// Returns true if single elements of the type are INDEX values.
bool hlo_scalar_is_index(hlo_dtype_t dtype);
/// Returns true if the node can be computed on INDEX operands with an INDEX result.
bool hlo_scalar_supports(const hlo_node_t* node);
hlo_vir_value_t* hlo_scalar_emit(hlo_vir_builder_t* b, const hlo_node_t* node,
                                 hlo_vir_value_t* const* operands);

/// Converts between INDEX and a lane in the form of hlo_vmath_type().
hlo_vir_value_t* hlo_scalar_from_lane(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                      hlo_vir_value_t* lane);
hlo_vir_value_t* hlo_scalar_to_lane(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                    hlo_vir_value_t* value);

/// Loads or stores an element of any supported type: INDEX, or one lane. Ignores address->mask.
hlo_vir_value_t* hlo_scalar_load(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                 const hlo_element_address_t* address);
void hlo_scalar_store(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value,
                      const hlo_element_address_t* address);
hlo_vir_value_t* hlo_scalar_constant(hlo_vir_builder_t* b, hlo_dtype_t dtype, const void* element);
