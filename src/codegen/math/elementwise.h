// SPDX-License-Identifier: Apache-2.0
// Loads, stores and elementwise ops of the graph as vector IR: the bridge between the graph's
// element types and machine lanes. Booleans are masks, integers are lanes of their width; f16, bf16
// and 8-bit floats are computed as f32 and rounded after every op.
#pragma once

#include "codegen/vir/builder.h"
#include "ir/module.h"

bool hlo_elementwise_supports_dtype(hlo_dtype_t dtype);
/// Returns true for a value of a single element that a register can hold.
bool hlo_elementwise_is_scalar(const hlo_value_t* value);
/// An elementwise op by its element types, without a node. The operands have one type, but for the
/// condition of a select, which comes first.
typedef struct hlo_elementwise_op {
  hlo_op_t op;
  uint32_t operand_count;
  hlo_dtype_t operand, result;  // of the first operand; of the result
  int64_t direction;            // of compare
  bool is_total_order;          // of compare
} hlo_elementwise_op_t;

/// Returns true if the op can be computed lane by lane for its element types.
bool hlo_elementwise_supports(const hlo_node_t* node);
bool hlo_elementwise_supports_op(const hlo_elementwise_op_t* op);
/// Returns a rough cost in vector operations.
double hlo_elementwise_cost(const hlo_node_t* node);
/// Returns the bytes of one lane in a register; 1 for masks.
uint32_t hlo_elementwise_register_bytes(hlo_dtype_t dtype);

/// base + (index << log2 of the element's bytes) + offset_bytes; index and mask may be NULL.
typedef struct hlo_element_address {
  hlo_vir_value_t *base, *index, *mask;
  int64_t offset_bytes;
  uint32_t flags;  // HLO_VIR_INVARIANT, HLO_VIR_STREAM
} hlo_element_address_t;

/// Loads elements in their memory form.
hlo_vir_value_t* hlo_elementwise_load_raw(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                          const hlo_element_address_t* address);
/// Loads elements in their register form.
hlo_vir_value_t* hlo_elementwise_load(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                      const hlo_element_address_t* address);
/// Loads element `index[lane]` for every lane. index: I32 or I64 vector, in elements;
/// address->index is unused.
hlo_vir_value_t* hlo_elementwise_gather(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                        const hlo_element_address_t* address,
                                        hlo_vir_value_t* index);
/// Stores elements in their memory form.
void hlo_elementwise_store_raw(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* raw,
                               const hlo_element_address_t* address);
void hlo_elementwise_store(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* value,
                           const hlo_element_address_t* address);
/// Returns one element of memory in every lane.
hlo_vir_value_t* hlo_elementwise_constant(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                                          const void* element);
/// Converts an integer vector (S32 or S64 lanes) to another type.
hlo_vir_value_t* hlo_elementwise_from_integer(hlo_vir_builder_t* b, hlo_dtype_t dtype,
                                              hlo_vir_value_t* value);
/// Emits the node on operands of equal lanes. Never NULL for supported nodes.
hlo_vir_value_t* hlo_elementwise_emit(hlo_vir_builder_t* b, const hlo_node_t* node,
                                      hlo_vir_value_t* const* operands);
hlo_vir_value_t* hlo_elementwise_emit_op(hlo_vir_builder_t* b, const hlo_elementwise_op_t* op,
                                         hlo_vir_value_t* const* operands);
/// Combines two values of a reduction with `op`. Truth values are integers 0 and -1, not masks.
/// Floats are not rounded to a narrow type.
hlo_vir_value_t* hlo_elementwise_combine(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                         hlo_vir_value_t* x, hlo_vir_value_t* y);
/// Combines two pairs of a value and its index: selects the better value (a NaN is best) and of
/// equal ones the smaller index. op: maximum or minimum. Truth values as above.
void hlo_elementwise_combine_pair(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                  hlo_dtype_t index_dtype, hlo_vir_value_t* const* x,
                                  hlo_vir_value_t* const* y, hlo_vir_value_t** out);
/// Returns sum + x * y; floats are rounded once if the target has fused multiply-add (has_fma),
/// else twice.
hlo_vir_value_t* hlo_elementwise_multiply_add(hlo_vir_builder_t* b, bool has_fma,
                                              hlo_vir_value_t* x, hlo_vir_value_t* y,
                                              hlo_vir_value_t* sum);
/// Returns the value e with op(e, x) = x.
hlo_vir_value_t* hlo_elementwise_identity(hlo_vir_builder_t* b, hlo_op_t op, hlo_dtype_t dtype,
                                          uint32_t lanes);
/// Transposes squares of registers of equal lanes. `rows` holds row_count / `count` squares one
/// after the other; `count` is a power of two. part_lanes: 0, or the lanes of each of several
/// squares that stand side by side in the registers
void hlo_elementwise_transpose(hlo_vir_builder_t* b, hlo_vir_value_t** rows, uint32_t row_count,
                               uint32_t count, uint32_t part_lanes);
