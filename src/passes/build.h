// SPDX-License-Identifier: Apache-2.0
// Nodes that passes put before the one that they replace, and passes that only do that.
#ifndef HLO_PASSES_BUILD_H_
#define HLO_PASSES_BUILD_H_

#include "passes/passes.h"

/// The result of a new node before `place`; NULL when memory is out, which the module says.
hlo_value_t* hlo_build_node(hlo_node_t* place, hlo_op_t op, const hlo_type_t* type,
                            uint32_t operand_count, hlo_value_t* const* operands,
                            uint32_t attr_count, const hlo_named_attr_t* attrs);
/// A constant of integers, in order; NULL as above.
hlo_value_t* hlo_build_integers(hlo_node_t* place, const hlo_type_t* type, const int64_t* values);
/// Elements `steps` apart from `first` on; NULL as above, and where `value` is.
hlo_value_t* hlo_build_slice(hlo_node_t* place, hlo_value_t* value, const hlo_type_t* type,
                             const int64_t* first, const int64_t* steps);

/// What the only result of `node` becomes, made before it; NULL: the node stays, or memory is out,
/// which the module says.
typedef hlo_value_t* (*hlo_replace_node_t)(hlo_node_t* node);
/// A whole pass: every node that `replace` has a value for goes, and is counted as a step.
hlo_status_t hlo_replace_nodes(hlo_pass_ctx_t* ctx, hlo_module_t* module,
                               hlo_replace_node_t replace, bool* out_changed) HLO_MUST_USE;

#endif  // HLO_PASSES_BUILD_H_
