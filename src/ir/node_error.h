// SPDX-License-Identifier: Apache-2.0
// Errors of single ops: they name the op and its location.
#ifndef HLO_IR_NODE_ERROR_H_
#define HLO_IR_NODE_ERROR_H_

#include "ir/module.h"

/// Returns an error that begins with the node's location and name: "model.py:3:7: stablehlo.sort:
/// message".
hlo_status_t hlo_node_error(const hlo_node_t* node, hlo_status_code_t code, const char* format, ...)
    HLO_PRINTF(3, 4) HLO_MUST_USE;
/// Prepends the node's location and name to the message of `status`, which the function takes over.
/// OK stays OK.
hlo_status_t hlo_node_annotate(const hlo_node_t* node, hlo_status_t status) HLO_MUST_USE;

#endif  // HLO_IR_NODE_ERROR_H_
