// SPDX-License-Identifier: Apache-2.0
// The support of operations by element type and back end, determined by running the smallest
// program of each operation (support.def) like a client.
#pragma once

#include "base/dtype.h"
#include "ir/ops.h"
#include "runtime/client.h"

enum {
  HLO_SUPPORT_QUANTIZED = HLO_DTYPE_COUNT,  // after the element types: !quant.uniform<i8:f32, ...>
  HLO_SUPPORT_TYPE_COUNT,
};

/// Returns the reason, for the page, why an operation has no program; NULL if it has one.
const char* hlo_support_note(hlo_op_t op);
/// Returns true if the program does not depend on the element type.
bool hlo_support_is_typeless(hlo_op_t op);

typedef enum hlo_support_answer {
  HLO_SUPPORT_INVALID,        // refused by the verifier, or by the operation itself
  HLO_SUPPORT_UNIMPLEMENTED,  // refused by the back end
  HLO_SUPPORT_RUNS,
} hlo_support_answer_t;

/// Compiles and runs the program of `op` on one element type.
/// errors: INTERNAL if the program neither runs nor is refused, which would falsify the page
hlo_status_t hlo_support_probe(hlo_client_t* client, const char* backend, hlo_op_t op, int type,
                               hlo_support_answer_t* out_answer) HLO_MUST_USE;
