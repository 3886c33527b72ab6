// SPDX-License-Identifier: Apache-2.0
// Quantized tensors: real value = (stored - zero point) * scale, per tensor or along one axis.
#pragma once

#include "interp/eval.h"

/// True if an operand or a result of the node has quantized elements.
bool hlo_quant_is_used(const hlo_node_t* node, hlo_tensor_t* const* operands);
/// Runs `function` of a node on the real values of its operands and quantizes the results that have
/// quantized types. This is the meaning of quantized ops for which the specification gives no
/// other.
hlo_status_t hlo_quant_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_ref_fn_t function,
                           hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
