// SPDX-License-Identifier: Apache-2.0
// The algorithm of a dot_general: the precision that its operands are rounded to and the type that
// its products are accumulated in. dot_algorithm.def lists the algorithms that XLA names; others
// are refused.
#pragma once

#include "base/dtype.h"
#include "ir/module.h"

/// A row of dot_algorithm.def.
/// threads: immutable
typedef struct hlo_dot_algorithm {
  const char* name;       // in HLO text, "dot_bf16_bf16_f32"
  const char* precision;  // of the operands, as MLIR writes it; NULL: any 8-bit floats
  hlo_dtype_t factor;     // INVALID: operands are not rounded
  hlo_dtype_t sum;
  int32_t number;  // in XLA's protos; 0 means no algorithm
  uint8_t components, products;
  bool is_imprecise;
} hlo_dot_algorithm_t;

/// Returns the row of a name in HLO text, or of a number in XLA's protos; NULL if it is unknown.
const hlo_dot_algorithm_t* hlo_dot_algorithm_named(const char* name, size_t length);
const hlo_dot_algorithm_t* hlo_dot_algorithm_numbered(int64_t number);

/// Returns true if `node` is a dot_general that requests an algorithm, known or not.
bool hlo_dot_has_algorithm(const hlo_node_t* node);

/// Sets *out_row to the algorithm of a node that requests one.
/// errors : UNIMPLEMENTED if no row has its attributes; the message lists all of them
hlo_status_t hlo_dot_algorithm_find(const hlo_node_t* node,
                                    const hlo_dot_algorithm_t** out_row) HLO_MUST_USE;

/// Element types of the plain product that computes the same as `node` with its algorithm: operand
/// i is converted to operands[i], and the product's `result` type to the type of the result.
typedef struct hlo_dot_types {
  hlo_dtype_t operands[2], result;
} hlo_dot_types_t;

/// Sets *out_types. Integers keep their types unless the algorithm multiplies 8-bit floats.
/// errors : UNIMPLEMENTED if the algorithm is unknown or does not apply to the element types of
/// this node: complex or quantized types, integers beside floats, or an algorithm for 8-bit floats
/// with other operands
hlo_status_t hlo_dot_algorithm_types(const hlo_node_t* node,
                                     hlo_dot_types_t* out_types) HLO_MUST_USE;

enum { HLO_DOT_ALGORITHM_ATTR_COUNT = 7 };
/// Fills in the attributes of a dot_general that request `row`. When memory is exhausted, the
/// module's status says so.
void hlo_dot_algorithm_attrs(hlo_module_t* module, const hlo_dot_algorithm_t* row,
                             hlo_named_attr_t* out_attrs);

/// Returns the element type in which dot_general and convolution are computed: F32, F64, U32 or U64
/// (for complex numbers the type of their parts), wide enough for both operands and the result.
hlo_dtype_t hlo_dot_compute_dtype(hlo_dtype_t lhs, hlo_dtype_t rhs, hlo_dtype_t result);
