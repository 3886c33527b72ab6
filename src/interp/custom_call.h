// SPDX-License-Identifier: Apache-2.0
// Custom calls that the interpreter implements itself.
#pragma once

#include "interp/eval.h"
#include "ir/custom_call.h"

/// Performs the check of a check op or check.* custom call (ir/check.h).
hlo_status_t hlo_check_operands(const hlo_node_t* node, hlo_tensor_t* const* operands) HLO_MUST_USE;

/// lapack_{s,d,c,z}<name>_ffi: factorisations with the operands, results and attributes that JAX
/// passes; and a tridiagonal solver that perturbs pivots near zero.
hlo_status_t hlo_custom_lapack(HLO_REF_ARGUMENTS) HLO_MUST_USE;
