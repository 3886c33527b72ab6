// SPDX-License-Identifier: Apache-2.0
// Recognition of reducer bodies that do not depend on the order of the elements.
#pragma once

#include "ir/module.h"

/// Returns the binary op that alone computes a result of a reduce or reduce_window; HLO_OP_COUNT
/// for any other body.
hlo_op_t hlo_reduce_op(const hlo_node_t* node, uint32_t result);
/// Returns maximum or minimum for the body of argmax and argmin over (values, indices), as
/// frameworks emit it: the better value wins (NaN is best) and, of equal values, the smaller index.
/// HLO_OP_COUNT for any other body.
hlo_op_t hlo_reduce_arg_op(const hlo_node_t* node);
