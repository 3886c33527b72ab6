// SPDX-License-Identifier: Apache-2.0
// Elements in registers and elementwise ops on them, as vector IR: the bridge between the graph's
// element types and machine lanes. Booleans are masks, integers lanes of their width, f16, bf16 and
// 8-bit floats are computed as f32 and rounded after every op.
#ifndef HLO_CODEGEN_ELEMENTWISE_H_
#define HLO_CODEGEN_ELEMENTWISE_H_

#include "codegen/vir/builder.h"
#include "ir/module.h"

bool hlo_elementwise_supports_dtype(hlo_dtype_t dtype);
/// Whether the op can be computed lane by lane for its element types.
bool hlo_elementwise_supports(const hlo_node_t* node);
/// Rough cost in vector operations.
double hlo_elementwise_cost(const hlo_node_t* node);
/// Bytes of one lane in a register; 1 for masks.
uint32_t hlo_elementwise_register_bytes(hlo_dtype_t dtype);

/// base + (index << log2 of the element's bytes) + offset_bytes; index, mask may be NULL.
typedef struct hlo_element_address {
  hlo_vir_value_t *base, *index, *mask;
  int64_t offset_bytes;
  uint32_t flags;  // HLO_VIR_INVARIANT, HLO_VIR_STREAM
} hlo_element_address_t;

/// Elements as they are in memory.
hlo_vir_value_t* hlo_elementwise_load_raw(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                          const hlo_element_address_t* address);
/// The same as they are in registers.
hlo_vir_value_t* hlo_elementwise_load(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                      const hlo_element_address_t* address);
/// Element `index[lane]` for every lane; index: I32 or I64 vector, in elements
/// (address->index unused).
hlo_vir_value_t* hlo_elementwise_gather(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                        const hlo_element_address_t* address,
                                        hlo_vir_value_t* index);
/// Of elements as they are in memory.
void hlo_elementwise_store_raw(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* raw,
                               const hlo_element_address_t* address);
void hlo_elementwise_store(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value,
                           const hlo_element_address_t* address);
/// One element of memory in every lane.
hlo_vir_value_t* hlo_elementwise_constant(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                          const void* element);
/// An integer vector (S32 or S64 lanes) as another type.
hlo_vir_value_t* hlo_elementwise_from_integer(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                              hlo_vir_value_t* value);
/// The node on operands of equal lanes. Never NULL for supported nodes.
hlo_vir_value_t* hlo_elementwise_emit(hlo_vir_builder_t* b, const hlo_node_t* node,
                                      hlo_vir_value_t* const* operands);
/// A reducer: `op` of two values that are not masks; floats are not rounded to their narrow type.
hlo_vir_value_t* hlo_elementwise_combine(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                         hlo_vir_value_t* x, hlo_vir_value_t* y);
/// sum + x * y for sums of products; floats round once if has_fma, which the target
/// says, else twice.
hlo_vir_value_t* hlo_elementwise_multiply_add(hlo_vir_builder_t* b, bool has_fma,
                                              hlo_vir_value_t* x, hlo_vir_value_t* y,
                                              hlo_vir_value_t* sum);
/// The value e with op(e, x) = x.
hlo_vir_value_t* hlo_elementwise_identity(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                          uint32_t lanes);
/// Squares of registers of equal lanes turned, columns as rows: of `row_count` registers each
/// `count` (a power of two), one after the other, are the rows of one, or in parts of so many lanes
/// of several side by side. part_lanes: 0: registers are no parts
void hlo_elementwise_transpose(hlo_vir_builder_t* b, hlo_vir_value_t** rows, uint32_t row_count,
                          uint32_t count, uint32_t part_lanes);
#endif  // HLO_CODEGEN_ELEMENTWISE_H_
