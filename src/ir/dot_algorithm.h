// SPDX-License-Identifier: Apache-2.0
// The algorithm of a dot_general: which precision its operands are rounded to, and in which its
// products are added up. dot_algorithm.def lists those that XLA names; others are refused.
#ifndef HLO_IR_DOT_ALGORITHM_H_
#define HLO_IR_DOT_ALGORITHM_H_

#include "ir/module.h"

/// A row of dot_algorithm.def.
/// threads: immutable
typedef struct hlo_dot_algorithm {
  const char* name;       // in HLO text, "dot_bf16_bf16_f32"
  const char* precision;  // of the operands, as MLIR writes it; NULL: any floats of 8 bits
  hlo_dtype_t factor;     // INVALID: operands are multiplied as they are
  hlo_dtype_t sum;
  int32_t number;  // in XLA's protos; 0 is no algorithm
  uint8_t components, products;
  bool is_imprecise;
} hlo_dot_algorithm_t;

/// The row of a name in HLO text, or of a number in XLA's protos; NULL if there is none.
const hlo_dot_algorithm_t* hlo_dot_algorithm_named(const char* name, size_t length);
const hlo_dot_algorithm_t* hlo_dot_algorithm_numbered(int64_t number);

/// True if `node` is a dot_general that asks for an algorithm, known or not.
bool hlo_dot_has_algorithm(const hlo_node_t* node);

/// Sets *out_row to the algorithm of a node that has one.
/// errors: UNIMPLEMENTED if no row has its attributes; the message has all of them
hlo_status_t hlo_dot_algorithm_find(const hlo_node_t* node,
                                    const hlo_dot_algorithm_t** out_row) HLO_MUST_USE;

/// Element types of the product without an algorithm that computes what `node` asks for: operands
/// are converted to operands[i], and its `result` is converted to the result's type.
typedef struct hlo_dot_types {
  hlo_dtype_t operands[2], result;
} hlo_dot_types_t;

/// errors: UNIMPLEMENTED if the algorithm is unknown, or says nothing about the element types of
///         this node: operands or a result that are no real floats, other operands than floats of
///         8 bits for an algorithm of those
hlo_status_t hlo_dot_algorithm_types(const hlo_node_t* node, hlo_dot_types_t* out_types) HLO_MUST_USE;

enum { HLO_DOT_ALGORITHM_ATTR_COUNT = 7 };
/// The attributes of a dot_general that ask for `row`. When memory is out, the module says so.
void hlo_dot_algorithm_attrs(hlo_module_t* module, const hlo_dot_algorithm_t* row,
                             hlo_named_attr_t* out_attrs);

#endif  // HLO_IR_DOT_ALGORITHM_H_
