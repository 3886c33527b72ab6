// SPDX-License-Identifier: Apache-2.0
// Maps ops to their reference functions.
#include "interp/eval.h"

static const hlo_ref_fn_t functions[HLO_OP_COUNT] = {
#define HLO_OP(id, ...) [HLO_OP_##id] = hlo_ref_##id,
#include "ir/ops.def"
#undef HLO_OP
};

hlo_ref_fn_t hlo_ref_function(hlo_op_t op) {
  if ((unsigned)op >= HLO_OP_COUNT) return NULL;
  const uint32_t control = HLO_TRAIT_CONTROL | HLO_TRAIT_TERMINATOR;
  return hlo_op_info(op)->traits & control ? NULL : functions[op];
}
