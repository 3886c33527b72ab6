// SPDX-License-Identifier: Apache-2.0
// Single elements outside of vectors: integers and truth values as INDEX, in general registers,
// where indices, loop conditions and their arithmetic are; floats as one lane.
//
// An integer is the number it is, so below 64 bits sign- or zero-extended; u64 is its bits. A truth
// value is 0 or 1.
#ifndef HLO_CODEGEN_SCALAR_H_
#define HLO_CODEGEN_SCALAR_H_

#include "codegen/math/elementwise.h"

/// Whether single elements of the type are INDEX values.
bool hlo_scalar_is_index(hlo_dtype_t dtype);
/// Whether the node can be computed on INDEX operands, its result being one.
bool hlo_scalar_supports(const hlo_node_t* node);
hlo_vir_value_t* hlo_scalar_emit(hlo_vir_builder_t* b, const hlo_node_t* node,
                                 hlo_vir_value_t* const* operands);

/// Between INDEX and lanes in the form of hlo_vmath_type().
hlo_vir_value_t* hlo_scalar_from_lane(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                      hlo_vir_value_t* lane);
hlo_vir_value_t* hlo_scalar_to_lane(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                    hlo_vir_value_t* value);

/// Any supported element type: INDEX, or one lane. The mask of the address is not looked at.
hlo_vir_value_t* hlo_scalar_load(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                 const hlo_element_address_t* address);
void hlo_scalar_store(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value,
                      const hlo_element_address_t* address);
hlo_vir_value_t* hlo_scalar_constant(hlo_vir_builder_t* b, hlo_dtype_t dtype, const void* element);

#endif  // HLO_CODEGEN_SCALAR_H_
