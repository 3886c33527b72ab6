// SPDX-License-Identifier: Apache-2.0
// What the bodies of reductions do, where their order does not matter.
#ifndef HLO_IR_REDUCER_H_
#define HLO_IR_REDUCER_H_

#include "ir/module.h"

/// The binary op that reduces each result of a reduce or reduce_window on its own; HLO_OP_COUNT when
/// the body is something else.
hlo_op_t hlo_reduce_op(const hlo_node_t* node, uint32_t result);
/// maximum or minimum for the body of argmax and argmin over (values, indices); HLO_OP_COUNT
/// otherwise.
hlo_op_t hlo_reduce_arg_op(const hlo_node_t* node);

#endif  // HLO_IR_REDUCER_H_
