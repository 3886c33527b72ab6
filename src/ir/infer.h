// SPDX-License-Identifier: Apache-2.0
// Shape inference and verification of ops, driven by the op table.
#ifndef HLO_IR_INFER_H_
#define HLO_IR_INFER_H_

#include "ir/module.h"

/// What an inference function sees: a node's operands, attributes and regions, no results yet.
/// The function fills `types`/`count` (arena memory of the module) or reports through `status`.
typedef struct hlo_infer {
  hlo_module_t* module;
  const hlo_node_t* node;      // results not yet made
  uint32_t count;
  const hlo_type_t** types;    // room for `capacity`
  uint32_t capacity;
} hlo_infer_t;

/// hlo_infer_<op>(): checks operands, attributes and regions of ops whose row says CUSTOM and gives
/// their result types. (Declared for every op; only CUSTOM ones are defined and called.)
/// errors: INVALID_ARGUMENT naming the operand or attribute at fault, without place and op.
#define HLO_OP(id, ...) hlo_status_t hlo_infer_##id(hlo_infer_t* infer) HLO_MUST_USE;
#include "ir/ops.def"
#undef HLO_OP

/// Result types of a node (for any op whose types can be inferred). EXPLICIT ops answer
/// FAILED_PRECONDITION.
hlo_status_t hlo_infer_types(hlo_module_t* module, const hlo_node_t* node, uint32_t capacity,
                             const hlo_type_t** types, uint32_t* out_count) HLO_MUST_USE;

/// The dims that operands and attributes give to the only result of an EXPLICIT op whose element
/// type alone is free, such as dot_general and convert; HLO_DIM_DYNAMIC where they do not tell.
/// `dims` has room for HLO_RANK_MAX.
/// errors: FAILED_PRECONDITION (another op), INVALID_ARGUMENT
hlo_status_t hlo_infer_result_dims(const hlo_node_t* node, uint32_t* out_rank,
                                   int64_t* dims) HLO_MUST_USE;

/// hlo_verify_<op>(): rules of ops whose row says EXPLICIT or NONE, beyond the generic ones (arity,
/// attribute forms, region counts). (Declared for every op; only those are defined and called. For
/// SAME and CUSTOM ops the results must be compatible with what inference gives.)
/// Called only when the generic rules hold. Reports every fault to `diag`.
typedef struct hlo_verify {
  const hlo_module_t* module;
  const hlo_func_t* func;
  hlo_diag_t* diag;
} hlo_verify_t;
#define HLO_OP(id, ...) void hlo_verify_##id(hlo_verify_t* verify, const hlo_node_t* node);
#include "ir/ops.def"
#undef HLO_OP

/// Reports a fault of `node` with its location and op name.
void hlo_verify_fault(hlo_verify_t* verify, const hlo_node_t* node, const char* format, ...)
    HLO_PRINTF(3, 4);

/// Verifies a whole module: all faults to `diag` (may be NULL); INVALID_ARGUMENT if there are any.
hlo_status_t hlo_module_verify(const hlo_module_t* module, hlo_diag_t* diag) HLO_MUST_USE;

/// Whether a linked node keeps the rules of its op; what is in its regions is not looked at.
bool hlo_node_is_valid(const hlo_node_t* node);

/// The same kind, element type and rank, and no dimension known to differ.
bool hlo_types_compatible(const hlo_type_t* a, const hlo_type_t* b);

#endif  // HLO_IR_INFER_H_
