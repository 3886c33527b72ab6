// SPDX-License-Identifier: Apache-2.0
// Shape inference and verification of ops, driven by the op table.
#pragma once

#include "ir/module.h"

/// The input of an inference function: a node's operands, attributes and regions, without results.
/// The function fills `types` and `count` (in the module's arena) or returns an error.
typedef struct hlo_infer {
  hlo_module_t* module;
  const hlo_node_t* node;  // its results do not exist yet
  uint32_t count;
  const hlo_type_t** types;  // room for `capacity`
  uint32_t capacity;
} hlo_infer_t;

/// hlo_infer_<op>(): checks operands, attributes and regions of an op whose row says CUSTOM and
/// determines its result types. Every op has a declaration, but only CUSTOM ones are defined and
/// called.
/// errors : INVALID_ARGUMENT naming the operand or attribute at fault, without location and op
#define HLO_OP(id, ...) hlo_status_t hlo_infer_##id(hlo_infer_t* infer) HLO_MUST_USE;
#include "ir/ops.def"
#undef HLO_OP

/// Infers the result types of a node. EXPLICIT ops answer FAILED_PRECONDITION.
hlo_status_t hlo_infer_types(hlo_module_t* module, const hlo_node_t* node, uint32_t capacity,
                             const hlo_type_t** types, uint32_t* out_count) HLO_MUST_USE;

/// Infers the dims of the only result of an EXPLICIT op whose element type alone is free, such as
/// dot_general and convert; HLO_DIM_DYNAMIC where operands and attributes do not determine them.
/// `dims` has room for HLO_RANK_MAX.
/// errors : FAILED_PRECONDITION (another op), INVALID_ARGUMENT
hlo_status_t hlo_infer_result_dims(const hlo_node_t* node, uint32_t* out_rank,
                                   int64_t* dims) HLO_MUST_USE;

/// hlo_verify_<op>(): checks the rules of an op whose row says EXPLICIT or NONE, beyond the generic
/// ones (arity, attribute forms, region counts). Every op has a declaration, but only those are
/// defined and called; the results of SAME and CUSTOM ops must be compatible with the inferred
/// types. It is called only when the generic rules hold, and reports every fault to `diag`.
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

/// Verifies a whole module and reports all faults to `diag` (may be NULL).
/// errors : INVALID_ARGUMENT if the module has faults
hlo_status_t hlo_module_verify(const hlo_module_t* module, hlo_diag_t* diag) HLO_MUST_USE;

/// Returns true if a linked node obeys the rules of its op; the contents of its regions are not
/// checked.
bool hlo_node_is_valid(const hlo_node_t* node);

/// Returns true if both have the same kind, element type and rank, and no dimension is known to
/// differ.
bool hlo_types_compatible(const hlo_type_t* a, const hlo_type_t* b);
